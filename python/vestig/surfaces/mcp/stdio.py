"""The protocol over standard streams: one message a line, and the end of the process.

The input is read beside the calls that run, so that its end, a signal and a parent that has gone
are seen during a call as well. From then on calls have `GRACE_S` to end and to be answered; what
runs longer ends with the process, as by a loss of power, which a store survives.

Standard output belongs to the protocol: while it is served, descriptor 1 leads to standard error
and descriptor 0 to nowhere, whatever a library prints.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import anyio
from anyio import CapacityLimiter, to_thread
from mcp.server import Server
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from mcp_types.jsonrpc import jsonrpc_message_adapter

from vestig.surfaces.cli import INTERRUPTED
from vestig.surfaces.mcp.lines import (
    INTERNAL_ERROR,
    LINE_BYTES_MAX,
    Refused,
    answer_to_refused,
    read_line,
)

# With what follows it this is less than the 2 s within which the process ends.
GRACE_S: Final = 1.2
_END_S: Final = 1.8
_PARENT_S: Final = 0.2
_ANSWERED_S: Final = 0.01
_READ_BYTES: Final = 65_536
# So many requests may wait for an answer before more lines are read.
_WAITING_MAX: Final = 256
_CANCELLED: Final = "notifications/cancelled"


class Lines:
    """Cuts bytes into lines. Of a line that is too long only the beginning is kept.

    Example:
        >>> lines = Lines()
        >>> lines.feed(b'{"id": 1}\\r\\n{"id"'), lines.feed(b': 2}'), lines.rest()
        ([b'{"id": 1}'], [], [b'{"id": 2}'])
    """

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that these bytes complete."""
        *ended, rest = data.split(b"\n")
        found = []
        for part in ended:
            self._hold(part)
            found.append(bytes(self._held).removesuffix(b"\r"))
            self._held.clear()
        self._hold(rest)
        return found

    def rest(self) -> list[bytes]:
        """Return what stands behind the last line end."""
        return [bytes(self._held)] if self._held else []

    def _hold(self, part: bytes) -> None:
        self._held += part[: max(0, LINE_BYTES_MAX + 1 - len(self._held))]


class _Connection:
    """One client on two descriptors. `ended` is set when nothing more can come from it."""

    def __init__(self, server: Server, source: int, sink: int) -> None:
        self._server = server
        self._source = source
        self._sink = sink
        self._waiting = Counter[str]()
        self._one_writer = anyio.Lock()
        self.ended = anyio.Event()
        self._to_server, self._from_client = anyio.create_memory_object_stream[
            SessionMessage | Exception
        ](16)
        self._from_server, self._to_client = anyio.create_memory_object_stream[SessionMessage](0)

    async def run_server(self) -> None:
        """Answers messages, in the version of the protocol that the client opens with."""
        options = self._server.create_initialization_options()
        await self._server.run(self._from_client, self._from_server, options)

    async def read(self) -> None:
        """Hands messages on until the input ends; a line that is none is answered here."""
        lines, reader = Lines(), CapacityLimiter(1)
        while data := await to_thread.run_sync(
            self._read_some, abandon_on_cancel=True, limiter=reader
        ):
            for line in lines.feed(data):
                await self._take(line)
        for line in lines.rest():
            await self._take(line)
        self.ended.set()

    def _read_some(self) -> bytes:
        try:
            return os.read(self._source, _READ_BYTES)
        except OSError:  # a terminal that has gone
            return b""

    async def _take(self, line: bytes) -> None:
        while self._waiting.total() >= _WAITING_MAX:
            await anyio.sleep(_ANSWERED_S)
        try:
            message = jsonrpc_message_adapter.validate_python(read_line(line), by_name=False)
        except Refused as refused:
            await self._write_line(answer_to_refused(refused))
            return
        if isinstance(message, JSONRPCRequest):
            self._waiting[repr(message.id)] += 1
        elif isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            # a request that its client cancels gets no answer; a notice that names none, no notice
            params = message.params or {}
            id, reason = params.get("requestId"), params.get("reason")
            if not _is_id(id) or not isinstance(reason, str | None):
                return
            self._answered(id)
        await self._to_server.send(SessionMessage(message))

    def _answered(self, id: RequestId | None) -> None:
        key = repr(id)
        self._waiting[key] -= 1
        if self._waiting[key] <= 0:
            del self._waiting[key]

    async def write(self) -> None:
        """Writes answers until nobody reads them."""
        # closed on leaving, so that nobody waits for it to take one more
        async with self._to_client:
            async for item in self._to_client:
                message = item.message
                await self._write_line(_encoded(message))
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    self._answered(message.id)

    async def _write_line(self, line: bytes) -> None:
        async with self._one_writer:
            try:
                await to_thread.run_sync(self._write_all, line + b"\n", abandon_on_cancel=True)
            except OSError:
                self._waiting.clear()
                self.ended.set()

    def _write_all(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._sink, left) :]

    async def answers_written(self) -> None:
        """Return when no request waits for its answer."""
        while self._waiting:
            await anyio.sleep(_ANSWERED_S)


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _encoded(message: JSONRPCMessage) -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except ValueError:  # a text that no JSON can hold
        id = message.id if isinstance(message, JSONRPCResponse | JSONRPCError) else None
        return answer_to_refused(Refused(INTERNAL_ERROR, "an internal error", id))


@contextmanager
def _own_streams() -> Iterator[tuple[int, int]]:
    """Descriptors of the input and the output that nothing else in this process uses."""
    source, sink = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nowhere, 0)
        os.dup2(2, 1)
        yield source, sink
    finally:
        os.dup2(source, 0)
        os.dup2(sink, 1)
        os.close(nowhere)


async def _watch_parent(parent: int, ended: anyio.Event) -> None:
    """Sets `ended` when the process that started this one has gone: its end of the input may be
    held open by another one."""
    while os.getppid() == parent:
        await anyio.sleep(_PARENT_S)
    ended.set()


async def _watch_signals(received: list[int], ended: anyio.Event) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            received.append(number)
            ended.set()


def _end_at_last(code: int) -> None:
    """Ends the process when nothing else did in time, whatever blocks."""
    timer = threading.Timer(_END_S, os._exit, (code,))
    timer.daemon = True
    timer.start()


def _exit_code(received: list[int]) -> int:
    return INTERRUPTED if signal.SIGINT in received else 0


async def serve_stdio(server: Server, parent: int) -> int:
    """Serves one client until its input ends, the parent has gone, or a signal comes.

    Args:
        parent: the process that started this one.

    Returns:
        The exit code: 0, or that of an interrupt.
    """
    received: list[int] = []
    with _own_streams() as (source, sink):
        connection = _Connection(server, source, sink)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_watch_signals, received, connection.ended)
            tasks.start_soon(_watch_parent, parent, connection.ended)
            tasks.start_soon(connection.run_server)
            tasks.start_soon(connection.write)
            tasks.start_soon(connection.read)
            await connection.ended.wait()
            _end_at_last(_exit_code(received))
            with anyio.move_on_after(GRACE_S):
                await connection.answers_written()
            tasks.cancel_scope.cancel()
    return _exit_code(received)
