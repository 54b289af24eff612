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

from vestig.config.server_sections import ServeSettings
from vestig.ids import new_id
from vestig.surfaces import wire
from vestig.surfaces.http.access import Access
from vestig.surfaces.http.listener import Server as Listener
from vestig.surfaces.http.listener import listen
from vestig.surfaces.http.refusals import Refusal, problem_of
from vestig.surfaces.mcp.lines import LINE_BYTES_MAX, Refused, answer_to_refused, read_line

__all__ = ["PATH", "serve_http"]

PATH: Final = "/mcp"
_STOP_S: Final = 1
_JSON: Final = "application/json"
_PROBLEM: Final = "application/problem+json"


class _Gate:
    """Checks who asks, and whether the body is a message, in front of the SDK's application."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._access.check_place(scope["headers"])
            self._access.check_token(scope["headers"])
            self._check_route(scope)
            body = await _body(receive)
            read_line(body)
        except Refusal as refusal:
            status, shown, headers = problem_of(refusal, new_id("req"))
            answer = Response(wire.encode(shown), status, headers, media_type=_PROBLEM)
        except Refused as refused:
            answer = Response(answer_to_refused(refused), 400, media_type=_JSON)
        else:
            await self._app(scope, _replayed(body, receive), send)
            return
        await answer(scope, receive, send)

    @staticmethod
    def _check_route(scope: Scope) -> None:
        if scope["path"] != PATH:
            raise Refusal("not-found", f"expected the path {PATH}")
        if scope["method"] != "POST":
            raise Refusal(
                "validation", "expected the method POST", status=405, headers={"Allow": "POST"}
            )


async def _body(receive: Receive) -> bytes:
    """The body of a request; of one that is too long only the beginning."""
    held = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refusal("validation", "expected the whole body", status=400)
        held += message.get("body", b"")[: max(0, LINE_BYTES_MAX + 1 - len(held))]
        if not message.get("more_body", False):
            return bytes(held)


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
    access = Access.of(settings, "mcp")
    place = listen(settings.host, settings.port, "mcp")
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
    Listener(_Gate(app, access), lambda: say(line), stop_s=_STOP_S, lifespan="on").run(
        sockets=[place]
    )
