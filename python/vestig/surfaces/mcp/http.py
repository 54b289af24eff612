"""The protocol over streamable HTTP at /mcp: each request is answered by itself, as JSON.

No session is kept between requests, so that a server that starts again answers its clients as
before. Host, Origin and token are checked as those of `vestig serve`; a body that is no message is
answered as a line is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vestig.config.service_sections import ServeSettings
from vestig.ids import new_id
from vestig.surfaces.http.access import Access, Bodies, ClientGone, Refusal, send_problem
from vestig.surfaces.http.listener import Server as Listener
from vestig.surfaces.http.listener import listen
from vestig.surfaces.mcp.lines import LINE_BYTES_MAX, Refused, answer_to_refused, read_line

PATH: Final = "/mcp"
_STOP_S: Final = 1
_JSON: Final = "application/json"


class _Gate:
    """Checks who asks, and whether the body is a message, in front of the SDK's application."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access
        self._bodies = Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._access.check_place(scope["headers"])
            self._access.check_token(scope["headers"])
            self._check_route(scope)
            body = await self._bodies.read(receive, LINE_BYTES_MAX, cut=True)
            read_line(body)
        except ClientGone:
            return
        except Refusal as refusal:
            await send_problem(send, refusal, new_id("req"))
        except Refused as refused:
            answer = Response(answer_to_refused(refused), 400, media_type=_JSON)
            await answer(scope, receive, send)
        else:
            await self._app(scope, _replayed(body, receive), send)

    @staticmethod
    def _check_route(scope: Scope) -> None:
        if scope["path"] != PATH:
            raise Refusal("not-found", f"expected the path {PATH}")
        if scope["method"] != "POST":
            raise Refusal(
                "validation", "expected the method POST", status=405, headers={"Allow": "POST"}
            )


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def serve_http(server: Server, settings: ServeSettings, say: Callable[[str], None]) -> None:
    """Serves clients until a signal comes.

    Args:
        settings: where to listen, and whom to answer.
        say: takes a line with the address.

    Raises:
        ConfigError: an address that others reach and no token; one that cannot be had.
    """
    access = Access.of(settings, "--host")
    place = listen(settings.host, settings.port, "--host, --port")
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=LINE_BYTES_MAX,
        # checked by the gate, by the same rules as elsewhere
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    host, port = place.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    line = f"Listening on http://{shown}:{port}{PATH}"
    gate = _Gate(app, access)
    listener = Listener(gate, settings, lambda: say(line), stop_s=_STOP_S, lifespan="on")
    listener.run(sockets=[place])
