"""HTTP/1.1 on one connection: refusals are problem objects, and a client has to ask in time."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from vestig.ids import new_id
from vestig.surfaces import wire
from vestig.surfaces.http.connections import Connections
from vestig.surfaces.http.refusals import Refusal, busy, problem_of

# A body that comes slower than this is given up.
_BYTES_PER_S_LEAST: Final = 4 * 1024
_REASONS: Final = {400: "Bad Request", 408: "Request Timeout", 503: "Service Unavailable"}


class _Reader(h11.Connection):
    """Reads requests, and refuses those whose end two readers may see at two places."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = [name for name, _ in event.headers]
            coded = b"transfer-encoding" in names
            if coded and (b"content-length" in names or event.http_version != b"1.1"):
                raise h11.RemoteProtocolError("two lengths of one body")
        return event


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
