"""`vestig mcp` from its start to the end of its process.

The process ends here and not by returning: a thread may still wait for input that never comes.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NoReturn

from msgspec.structs import replace

from vestig.calls.scope import AUTO, check_scope, scope_name
from vestig.config.environment import project_folder, running_session
from vestig.errors import ConfigError, ValidationError
from vestig.hints import missing_package
from vestig.repository.project import project_scope
from vestig.session.session import no_folder

if TYPE_CHECKING:
    from vestig.surfaces.operation import Call

# the process that started this one, before anything takes time
_PARENT: Final = os.getppid()
# Where it listens over HTTP unless the command says otherwise: beside `vestig serve`.
_HOST: Final = "127.0.0.1"
_PORT: Final = 8_766
_PACKAGE: Final = "mcp"
# Among the arguments: the scope is that of the project of the folder.
_BY_FOLDER: Final = "scope_by_folder"


def prepare(call: Call) -> None:
    """Prepare what has to be so before the store is opened: the extra is there, and a signal to end
    ends the process with exit 0 already.

    Raises:
        ConfigError: the extra is not installed.
        ValidationError: a scope without a name.
    """
    scope = call.args.get("scope")
    if scope == AUTO:
        call.args["scope"] = project_scope(project_folder())
        call.args[_BY_FOLDER] = True
    elif scope is not None and not scope.strip():
        raise ValidationError("scope", scope, "the name of a scope, or auto")
    elif scope is not None:
        check_scope("scope", scope)
        call.args["scope"] = scope_name("scope", scope)
    if find_spec(_PACKAGE) is None:
        raise ConfigError(missing_package("vestig mcp", _PACKAGE, "mcp"))
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))


def run(call: Call) -> NoReturn:
    """Serves until the client goes, and ends the process."""
    import anyio

    from vestig.surfaces.mcp.answers import OpenStore
    from vestig.surfaces.mcp.server import Calls, make_server

    calls = Calls()
    # jobs that commits leave are worked here while an agent thinks
    call.store._start_worker()
    is_local = call.args.get("transport", "stdio") == "stdio"
    folder = str(project_folder())
    at = OpenStore(
        store=call.store,
        session=call.session,
        scope=call.args.get("scope"),
        folder=folder if is_local and call.args.get(_BY_FOLDER) else None,
        running_session=running_session(),
        options=call.options,
    )
    server = make_server(at, call.config.settings.mcp.tools, calls)
    if is_local:
        from vestig.surfaces.hooks.server import HookServer
        from vestig.surfaces.mcp.lines import serve_stdio

        call.session.folder = lambda: folder
        hooks = HookServer(call.options, call.config.settings, call.store, at.scope)
        with hooks:
            code = anyio.run(serve_stdio, server, _PARENT)
        busy = bool(calls.running) or hooks.is_answering
    else:
        from vestig.surfaces.mcp.http import serve_http

        call.session.folder = no_folder
        host, port = call.args.get("host", _HOST), call.args.get("port", _PORT)
        serve_http(server, replace(call.config.settings.serve, host=host, port=port), _say)
        code, busy = 0, bool(calls.running)
    if not busy:
        call.store.close()
    sys.stderr.flush()
    os._exit(code)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
