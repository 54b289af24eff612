"""Does what uvicorn cannot: that limits connections as a whole alone, by refusing the newest, and
sets no time for a request.

Here an address has a share of the connections; where there is no room for a new one, or no
descriptor, the one that has kept the server waiting longest makes room; head and body of a request
have to come, and an answer has to be taken, in time; two lengths of one body are refused; and every
refusal is a problem object. An end by a signal is no error. Reading, writing, keeping alive and
ending are uvicorn's.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import logging
import resource
import socket
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, Protocol, cast

import h11
import msgspec
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from vestig.config.service_sections import ServeSettings
from vestig.errors import ConfigError
from vestig.ids import new_id
from vestig.surfaces import wire
from vestig.surfaces.http.access import Refusal, busy, place_of, problem_of, send_problem
from vestig.telemetry import logger

# Descriptors that are left for the store, for logs, and for what one turn of the loop accepts.
_DESCRIPTORS_LEFT: Final = 96
_CONNECTIONS_LEAST: Final = 8
_HEAD_S: Final = 10.0
# Connections at once, also where more descriptors are free: each costs a little memory, and a store
# answers far fewer at a time. One address takes a quarter of them at most.
CONNECTIONS_MAX: Final = 512
CONNECTIONS_PER_CLIENT_MAX: Final = 128


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How many connections there may be, and how long a client may take.

    Attributes:
        connections: at once.
        per_client: of one address.
        head_s: seconds from a connection, or from an answer, to the end of the next head.
        body_s: seconds for a body, beside those that it may take for its size; also those in which
            a client has to take more of an answer.
    """

    connections: int
    per_client: int
    head_s: float
    body_s: float

    @classmethod
    def of(cls, settings: ServeSettings) -> Limits:
        """Those of the configuration, within the descriptors that the process may open."""
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        room = CONNECTIONS_MAX
        if descriptors != resource.RLIM_INFINITY:
            room = min(room, max(_CONNECTIONS_LEAST, descriptors - _DESCRIPTORS_LEFT))
        return cls(
            connections=room,
            per_client=min(room, CONNECTIONS_PER_CLIENT_MAX),
            head_s=min(_HEAD_S, settings.request_timeout_s),
            body_s=settings.request_timeout_s,
        )


class Connection(Protocol):
    """A connection as those see it that share the server with it."""

    address: str

    def drop(self) -> None:
        """Ends it at once, without an answer."""


class Connections:
    """All connections of one server; used by one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._count: dict[str, int] = {}
        self._all = 0
        # those whose client has to send more, the longest first
        self._waiting: dict[Connection, None] = {}

    def enter(self, new: Connection) -> bool:
        """Counts a connection that waits for its first request; false: there is no room for it,
        for every other one is being answered."""
        own = self._count.get(new.address, 0)
        if own >= self.limits.per_client and not self._make_room(new.address):
            return False
        if self._all >= self.limits.connections and not self._make_room(None):
            return False
        self._all += 1
        self._count[new.address] = self._count.get(new.address, 0) + 1
        self._waiting[new] = None
        return True

    def leave(self, gone: Connection) -> None:
        """Takes a counted connection out."""
        self._waiting.pop(gone, None)
        self._all -= 1
        self._count[gone.address] -= 1
        if not self._count[gone.address]:
            del self._count[gone.address]

    def waits(self, one: Connection) -> None:
        """Its client has to send more, from now on."""
        self._waiting.pop(one, None)
        self._waiting[one] = None

    def works(self, one: Connection) -> None:
        """Its request has come whole."""
        self._waiting.pop(one, None)

    def make_room(self, count: int) -> None:
        """Ends so many of those that have kept the server waiting longest."""
        for _ in range(count):
            if not self._make_room(None):
                return

    def _make_room(self, address: str | None) -> bool:
        for one in self._waiting:
            if address is None or one.address == address:
                one.drop()
                return True
        return False


# A body that comes slower than this is given up.
_BYTES_PER_S_LEAST: Final = 4 * 1024
_REASONS: Final = {400: "Bad Request", 408: "Request Timeout", 503: "Service Unavailable"}


class _Reader(h11.Connection):
    """Reads requests, and refuses those whose end two readers may see at two places. A target that
    is a whole URL is its path, and its host stands in the place of the header (RFC 9112, 3.2.2)."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = [name for name, _ in event.headers]
            coded = b"transfer-encoding" in names
            if coded and (b"content-length" in names or event.http_version != b"1.1"):
                raise h11.RemoteProtocolError("two lengths of one body")
            return _with_path(event)
        return event


def _with_path(request: h11.Request) -> h11.Request:
    """The request with the path of its target, where that is a whole URL."""
    scheme, mark, rest = request.target.partition(b"://")
    if not mark or scheme.lower() not in (b"http", b"https"):
        return request
    # who has a name before an `@` is refused as a host of others
    host = rest
    for end in (b"/", b"?", b"#"):
        host = host.partition(end)[0]
    if not host:
        raise h11.RemoteProtocolError("no host in the target")
    target = rest[len(host) :]
    others = [(name, value) for name, value in request.headers if name != b"host"]
    return h11.Request(
        method=request.method,
        headers=[(b"host", host), *others],
        target=target if target.startswith(b"/") else b"/" + target,
        http_version=request.http_version,
    )


class ServerProtocol(H11Protocol):
    """One connection of a server.

    Args:
        connections: all of them.
    """

    def __init__(self, connections: Connections, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self.conn = _Reader(h11.SERVER)
        self.address = ""
        self._all = connections
        self._limits = connections.limits
        self._is_counted = False
        # what the client has to send: the head or the body of a request, or nothing
        self._phase = ""
        self._since_s = 0.0
        self._body_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    # --- events ------------------------------------------------------------------------------

    def connection_made(self, transport: object) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self.address = self.client[0] if self.client else ""
        self._is_counted = self._all.enter(self)
        if self._is_counted:
            self._look()
        else:
            self._refuse(busy())

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_deadline(None)
        self.resume_writing()
        if self._is_counted:
            self._is_counted = False
            self._all.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._body_bytes += len(data)
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

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

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self._limits.body_s, self.drop)

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        if self.flow is not None:
            super().resume_writing()

    def drop(self) -> None:
        """Ends it at once, without an answer."""
        if self._is_counted:
            self._is_counted = False
            self._all.leave(self)
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Refuse what came: it is no request."""
        self._refuse(Refusal("validation", "expected a request of HTTP/1.1", status=400))

    # --- time --------------------------------------------------------------------------------

    def _look(self) -> None:
        """Notes what the client has to send now, and until when."""
        if not self._is_counted or self.transport.is_closing():
            self._set_deadline(None)
            return
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            phase = "head"
        else:
            phase = "body" if cycle.more_body else ""
        if phase == self._phase:
            return
        self._phase = phase
        self._since_s, self._body_bytes = self.loop.time(), 0
        if not phase:
            self._all.works(self)
            self._set_deadline(None)
            return
        self._all.waits(self)
        self._set_deadline(self._limits.head_s if phase == "head" else self._limits.body_s)

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._too_late)

    def _too_late(self) -> None:
        if self._phase == "body":
            allowed_s = self._limits.body_s + self._body_bytes / _BYTES_PER_S_LEAST
            left_s = self._since_s + allowed_s - self.loop.time()
            if left_s > 0:
                self._set_deadline(left_s)
                return
        elif not self.conn.trailing_data[0]:
            self.transport.close()
            return
        self._refuse(Refusal("not-ready", "the request did not come in time", status=408))

    # --- refusals ----------------------------------------------------------------------------

    def _refuse(self, refusal: Refusal) -> None:
        """Answers with a problem and closes; within an answer there is nothing to say."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.close()
                return
        request_id = new_id("req")
        status, shown, headers = problem_of(refusal, request_id)
        body = wire.encode(shown)
        lines = [
            f"HTTP/1.1 {status} {_REASONS[status]}",
            "content-type: application/problem+json",
            f"content-length: {len(body)}",
            f"x-request-id: {request_id}",
            *(f"{name.lower()}: {value}" for name, value in headers.items()),
            "connection: close",
        ]
        self.transport.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        self.transport.close()


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
        with super().capture_signals():
            try:
                yield
            finally:
                self._captured_signals.clear()


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
