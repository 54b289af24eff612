"""Where a server listens, and how a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final, Literal

import uvicorn
from starlette.types import ASGIApp

from vestig.errors import ConfigError

__all__ = ["Server", "listen"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """A server that logs nothing, says when it listens, and ends without an error when it is told
    to.

    Args:
        app: what answers.
        started: called when it listens.
        stop_s: seconds that running requests have to end in.
        lifespan: whether `app` is told of start and end.
        http: reader of the protocol, or uvicorn's own.
    """

    def __init__(
        self,
        app: ASGIApp,
        started: Callable[[], None],
        *,
        stop_s: int,
        lifespan: Literal["on", "off"] = "off",
        http: type[asyncio.Protocol] | None = None,
    ) -> None:
        config = uvicorn.Config(
            app,
            http="auto" if http is None else http,
            ws="none",
            loop="asyncio",
            lifespan=lifespan,
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=stop_s,
        )
        # its messages hold exceptions, and those may hold stored text
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
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


def listen(host: str, port: int, section: str = "serve") -> socket.socket:
    """A socket that listens.

    Args:
        section: of the configuration that named the address.

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
            f"{section}.host, {section}.port: expected an address to listen on, got {host}:{port}:"
            f" {why}"
        ) from None
    return found
