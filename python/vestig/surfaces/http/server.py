"""A server of one store: it listens, tells where, and ends in order."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from vestig.api.store import Vestig
from vestig.config.server_sections import ServeSettings
from vestig.errors import ConfigError
from vestig.ids import new_id
from vestig.session.session import Session
from vestig.surfaces import wire
from vestig.surfaces.http.access import Access
from vestig.surfaces.http.app import application
from vestig.surfaces.http.refusals import Refusal, problem_of
from vestig.surfaces.http.service import Service

__all__ = ["Server", "serve"]

_STOP_S: Final = 10
_FIRST_BYTES_S: Final = 30.0
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


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


class Server(uvicorn.Server):
    """A server that says when it listens, and ends without an error when it is told to."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._when_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """From here on it is reached, and signals are heard."""
        await super().startup(sockets)
        self._when_started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals end it; they are not raised again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """The first signal ends it in order, an interrupt after it at once."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        ConfigError: the address cannot be had.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, proto)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(2048)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "no host name"
        raise ConfigError(
            f"serve.host, serve.port: expected an address to listen on, got {host}:{port}: {why}"
        ) from None
    return found


def server_of(
    service: Service, access: Access, started: Callable[[], None] = lambda: None
) -> Server:
    """A server of a service; the caller gives it a socket. `started` is called when it listens."""
    config = uvicorn.Config(
        application(service, access),
        http=_Protocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        workers=1,
        timeout_graceful_shutdown=_STOP_S,
    )
    # its messages hold exceptions, and those may hold stored text
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    return Server(config, started)


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
