"""`serve`: the store over HTTP."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vestig.calls.argument import Integer, Text
from vestig.errors import ConfigError, ValidationError
from vestig.hints import missing_package
from vestig.surfaces.operation import Call, Operation

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
    from vestig.api.store import Vestig
    from vestig.surfaces.cli.opening import open_session
    from vestig.surfaces.http.server import serve

    port = call.args.get("port", 0)
    if not 0 <= port <= PORT_MAX:
        raise ValidationError("port", port, f"an integer from 0 to {PORT_MAX}")
    settings = msgspec.structs.replace(call.config.settings.serve, **call.args)
    say = call.say
    session = open_session(call.config)
    with Vestig(session, worker=True) as store:
        serve(store, session, settings, (lambda _: None) if say is None else say)
    return {"host": settings.host}


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
    ),
    run=_serve,
    document="served",
    text=lambda _, __: "Stopped.",
    needs_store=False,
)

OPERATIONS: Final = (_SERVE,)
