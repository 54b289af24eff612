"""`inspect`: a page that shows why a memory came back."""

from __future__ import annotations

from typing import Any, Final

from vestig.calls.argument import Integer
from vestig.surfaces.operation import Call, Operation
from vestig.surfaces.operations.serve import PORT_MAX, require_packages


def _inspect(call: Call) -> Any:
    require_packages("vestig inspect")
    from vestig.api.store import Vestig
    from vestig.surfaces.cli.opening import open_session
    from vestig.surfaces.http.access import Access
    from vestig.surfaces.http.server import serve
    from vestig.surfaces.http.service import OneStore
    from vestig.surfaces.inspect.app import HOST, application, settings_of

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


OPERATIONS: Final = (
    Operation(
        name="inspect",
        options=(
            Integer(
                "Port to listen on; 0: a free one. The address is printed.",
                "--port",
                name="port",
                least=0,
                most=PORT_MAX,
                default_text="0",
            ),
        ),
        run=_inspect,
        document="inspected",
        text=lambda _, __: "Stopped.",
        needs_store=False,
    ),
)
