"""`serve`: a store over HTTP, or all tenants of a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from vestig.calls.argument import Flag, Integer, Text
from vestig.errors import ConfigError, ValidationError
from vestig.hints import missing_package
from vestig.surfaces.operation import Call, Operation

if TYPE_CHECKING:
    from vestig.config import Config
    from vestig.config.service_sections import ServeSettings

PORT_MAX: Final = 65_535
_PACKAGES: Final = ("fastapi", "uvicorn", "prometheus_client")


def require_packages(command: str) -> None:
    """Check that what a server needs is installed.

    Raises:
        ConfigError: it is not; names the extra.
    """
    from importlib.util import find_spec

    for name in _PACKAGES:
        if find_spec(name) is None:
            raise ConfigError(missing_package(command, name, "server"))


def _serve(call: Call) -> Any:
    require_packages("vestig serve")
    given = dict(call.args)
    fleet, port = given.pop("fleet", False), given.get("port", 0)
    if not 0 <= port <= PORT_MAX:
        raise ValidationError("port", port, f"an integer from 0 to {PORT_MAX}")
    settings = msgspec.structs.replace(call.config.settings.serve, **given)
    say: Callable[[str], None] = (lambda _: None) if call.say is None else call.say
    if fleet:
        _serve_fleet(call.config, settings, say)
    else:
        _serve_store(call.config, settings, say)
    return {"host": settings.host}


def _serve_store(config: Config, settings: ServeSettings, say: Callable[[str], None]) -> None:
    from vestig.api.store import Vestig
    from vestig.surfaces.cli.opening import open_session
    from vestig.surfaces.http.access import Access
    from vestig.surfaces.http.server import serve
    from vestig.surfaces.http.service import OneStore

    access = Access.of(settings)
    with Vestig(open_session(config), worker=True) as store:
        serve(OneStore(store), access, settings, say)


def _serve_fleet(config: Config, settings: ServeSettings, say: Callable[[str], None]) -> None:
    """Serves every tenant of the database that `store.path` names."""
    from vestig.surfaces.operations.tenant import tenants_module

    database = tenants_module().database_of(config)
    from vestig.fleet.pool import TenantPool
    from vestig.surfaces.http.fleet import FleetStores, fleet_access
    from vestig.surfaces.http.server import serve

    named = config.settings.store.tenant
    if named is not None:
        raise ValidationError(
            "tenant", named, "none with --fleet: a request's token says which one it asks"
        )
    # a database that cannot be used is told of here, and not with every request
    database.ask("SELECT 1")
    access = fleet_access(settings, database)
    with TenantPool(config, worker=True) as pool:
        serve(FleetStores(pool, config), access, settings, say)


_SERVE: Final = Operation(
    name="serve",
    options=(
        Text("Address to listen on.", "--host", name="host", default_text="serve.host, 127.0.0.1"),
        Integer(
            "Port to listen on; 0: a free one, which is printed.",
            "--port",
            name="port",
            default_text="serve.port, 8765",
        ),
        Flag(
            "Serve every tenant of the database that --store names; a request's token says which.",
            "--fleet",
            name="fleet",
        ),
    ),
    run=_serve,
    document="served",
    text=lambda _, __: "Stopped.",
    needs_store=False,
)

OPERATIONS: Final = (_SERVE,)
