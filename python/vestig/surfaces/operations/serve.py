"""The operations that serve a store: `serve` over HTTP, one or all tenants of a database, `inspect`
as a page that shows why a memory came back, `mcp` to agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from vestig.calls.argument import Choice, Flag, Integer, Label, Text
from vestig.errors import ConfigError, ValidationError
from vestig.hints import missing_package
from vestig.surfaces.operation import Call, Operation

if TYPE_CHECKING:
    from vestig.api.store import Vestig
    from vestig.config import Config
    from vestig.config.service_sections import ServeSettings

_PORT_MAX: Final = 65_535
_PACKAGES: Final = ("fastapi", "uvicorn", "prometheus_client")


def _require_packages(command: str) -> None:
    """Check that what a server needs is installed.

    Raises:
        ConfigError: it is not; names the extra.
    """
    from importlib.util import find_spec

    for name in _PACKAGES:
        if find_spec(name) is None:
            raise ConfigError(missing_package(command, name, "server"))


def _serve(call: Call) -> Any:
    _require_packages("vestig serve")
    given = dict(call.args)
    fleet = given.pop("fleet", False)
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
        serve(OneStore(store), access, settings, say, served=_named(config, store))


def _named(config: Config, store: Vestig) -> str:
    """The line that says which store is served."""
    session, chosen = store._session, config.settings.store
    if session.tenant is not None:
        return f"Serving the tenant {chosen.tenant}"
    path = session.ledger.path
    return "Serving a store in memory" if path is None else f"Serving {path.parent}"


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
    access = fleet_access(config, database)
    with TenantPool(config, worker=True) as pool:
        serve(FleetStores(pool, config), access, settings, say, served="Serving every tenant")


_SERVE: Final = Operation(
    name="serve",
    options=(
        Text(
            "Address to listen on. One that other machines reach needs a token, in a variable that"
            " serve.token_env names: VESTIG_SERVE__TOKEN_ENV=SERVE_TOKEN.",
            "--host",
            name="host",
            default_text="serve.host, 127.0.0.1",
        ),
        Integer(
            "Port to listen on; 0: a free one, which is printed.",
            "--port",
            name="port",
            least=0,
            most=_PORT_MAX,
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


def _inspect(call: Call) -> Any:
    _require_packages("vestig inspect")
    from vestig.api.store import Vestig
    from vestig.surfaces.cli.opening import open_session
    from vestig.surfaces.http.access import Access
    from vestig.surfaces.http.server import serve
    from vestig.surfaces.http.service import OneStore
    from vestig.surfaces.inspect import HOST, application, settings_of

    settings = settings_of(call.config.settings.serve, call.args.get("port", 0))
    say = call.say
    with Vestig(open_session(call.config, read_only=True)) as store:
        serve(
            OneStore(store),
            Access.of(settings),
            settings,
            (lambda _: None) if say is None else say,
            application,
        )
    return {"host": HOST}


_INSPECT: Final = Operation(
    name="inspect",
    options=(
        Integer(
            "Port to listen on; 0: a free one. The address is printed.",
            "--port",
            name="port",
            least=0,
            most=_PORT_MAX,
            default_text="0",
        ),
    ),
    run=_inspect,
    document="inspected",
    text=lambda _, __: "Stopped.",
    needs_store=False,
)


def _prepare_mcp(call: Call) -> None:
    from vestig.surfaces.mcp.run import prepare

    prepare(call)


def _run_mcp(call: Call) -> Any:
    from vestig.surfaces.mcp.run import run

    run(call)


_MCP: Final = Operation(
    name="mcp",
    options=(
        Choice(
            "Standard streams, or streamable HTTP at /mcp.",
            "--transport",
            name="transport",
            default_text="stdio",
            words=("stdio", "http"),
        ),
        Text(
            "Address on which it listens over HTTP.",
            "--host",
            name="host",
            default_text="127.0.0.1",
        ),
        Integer(
            "Port on which it listens over HTTP; 0: any that is free.",
            "--port",
            name="port",
            least=0,
            most=_PORT_MAX,
            default_text="8766",
        ),
        Label(
            "Scope of what is remembered; reads see it and what has none. auto: the project of the"
            " folder.",
            "--scope",
            name="scope",
        ),
    ),
    run=_run_mcp,
    alone=_prepare_mcp,
    document="served",
    text=lambda _, __: "",
    without_store="make",
    writes=True,
    works_queue=True,
)

OPERATIONS: Final = (_SERVE, _INSPECT, _MCP)
