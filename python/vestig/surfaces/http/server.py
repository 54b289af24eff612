"""A server of one store: it listens, tells where, and ends in order."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from vestig.api.store import Vestig
from vestig.config.server_sections import ServeSettings
from vestig.ids import new_id
from vestig.session.session import Session
from vestig.surfaces import wire
from vestig.surfaces.http.access import Access
from vestig.surfaces.http.app import application
from vestig.surfaces.http.listener import Server, listen
from vestig.surfaces.http.refusals import Refusal, problem_of
from vestig.surfaces.http.service import Service

__all__ = ["serve", "server_of"]

_STOP_S: Final = 10
_FIRST_BYTES_S: Final = 30.0


class _Protocol(H11Protocol):
    """HTTP/1.1 whose refusals are problem objects, and whose clients have to ask in time."""

    def connection_made(self, transport: object) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self._first = self.loop.call_later(_FIRST_BYTES_S, self._too_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._first.cancel()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """A client that has said all may still hear the answer; one that stopped within a request
        is told so."""
        cycle = self.cycle
        answered = cycle is None or cycle.response_complete
        if cycle is not None and not answered and not cycle.more_body:
            cycle.keep_alive = False
            return True
        if not answered or self.conn.trailing_data[0]:
            self.send_400_response("")
        return False

    def _too_late(self) -> None:
        if self.cycle is None:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """What came is no request: in the middle of another one there is nothing to answer."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.close()
                return
        request_id = new_id("req")
        refusal = Refusal("validation", "expected a request of HTTP/1.1", status=400)
        body = wire.encode(problem_of(refusal, request_id)[1])
        head = (
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\n"
            f"content-length: {len(body)}\r\nx-request-id: {request_id}\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


def server_of(
    service: Service, access: Access, started: Callable[[], None] = lambda: None
) -> Server:
    """A server of a service; the caller gives it a socket. `started` is called when it listens."""
    app = application(service, access)
    return Server(app, started, stop_s=_STOP_S, http=_Protocol)


def serve(
    store: Vestig, session: Session, settings: ServeSettings, say: Callable[[str], None]
) -> None:
    """Serves a store until a signal ends it.

    Args:
        store: what operations are asked of.
        session: the same store from inside.
        settings: where to listen, and the rest of `serve`.
        say: takes a line with the address.

    Raises:
        ConfigError: an address that others reach and no token; one that cannot be had.
    """
    access = Access.of(settings)
    place = listen(settings.host, settings.port)
    service = Service(store, session, settings)
    host, port = place.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    line = f"Listening on http://{shown}:{port}"
    try:
        server_of(service, access, lambda: say(line)).run(sockets=[place])
    finally:
        service.close()
        if service.running:
            # threads that nobody waits for: what they write is durable or is not there
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
