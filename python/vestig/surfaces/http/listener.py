"""Where a server listens, how it goes on when connections or descriptors run out, and how a signal
ends it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final, Literal, cast

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vestig.config.service_sections import ServeSettings
from vestig.errors import ConfigError
from vestig.ids import new_id
from vestig.surfaces.http.connections import Connections, Limits
from vestig.surfaces.http.protocol import ServerProtocol
from vestig.surfaces.http.refusals import Refusal, place_of, send_problem
from vestig.telemetry.logs import logger

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_QUEUE: Final = 2048
# Accepted in one turn of the loop, before any of them can be refused.
_ACCEPTED_AT_ONCE: Final = 16
_NO_DESCRIPTOR: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_SAID_AGAIN_S: Final = 60.0


class Server(uvicorn.Server):
    """A server that logs nothing, says when it listens, and ends without an error when it is told
    to.

    Args:
        app: what answers.
        settings: how many connections there may be, and how long they may take.
        started: called when it listens.
        stop_s: seconds that running requests have to end in.
        lifespan: whether `app` is told of start and end.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServeSettings,
        started: Callable[[], None],
        *,
        stop_s: int,
        lifespan: Literal["on", "off"] = "off",
    ) -> None:
        self._connections = Connections(Limits.of(settings))
        config = uvicorn.Config(
            _Answered(app),
            http=cast("Any", functools.partial(ServerProtocol, self._connections)),
            backlog=_ACCEPTED_AT_ONCE,
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
        self._said_at_s: float | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """From here on it is reached, and signals are heard."""
        asyncio.get_running_loop().set_exception_handler(self._tell)
        await super().startup(sockets)
        for one in sockets or ():
            # the loop made the queue as short as what it accepts in one turn
            one.listen(_QUEUE)
        self._when_started()

    def _tell(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Says in a line what no request is told, and never a message: it may hold stored text.
        Where no descriptor is free for a new connection, those that wait longest make room."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _NO_DESCRIPTOR:
            self._connections.make_room(_ACCEPTED_AT_ONCE)
            if self._said_at_s is None or loop.time() - self._said_at_s >= _SAID_AGAIN_S:
                self._said_at_s = loop.time()
                logger("vestig.http").warning(
                    "no connection can be accepted: %s; raise the limit of open files",
                    error.strerror,
                )
        elif error is not None:
            logger("vestig.http").error("%s at %s", type(error).__name__, place_of(error))

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


class _Answered:
    """Answers with a problem what an application leaves without an answer: a request that is given
    up when the server ends, or a defect."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def tell(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, tell)
            return
        except asyncio.CancelledError:
            if scope["type"] != "http" or started:
                raise
            problem: Exception = Refusal(
                "not-ready",
                "the server is ending; ask again, what was done stays done",
                headers={"Retry-After": "1"},
            )
        except Exception as error:  # whatever happens, the client is answered
            if scope["type"] != "http" or started:
                raise
            problem = error
        await send_problem(send, problem, scope.get("state", {}).get("request_id") or new_id("req"))


def listen(host: str, port: int, named_by: str = "serve.host, serve.port") -> socket.socket:
    """A socket that listens.

    Args:
        named_by: the keys or the options that named the address.

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
        found.listen(_QUEUE)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "no host name"
        raise ConfigError(
            f"{named_by}: expected an address to listen on, got {host}:{port}: {why}"
        ) from None
    return found
