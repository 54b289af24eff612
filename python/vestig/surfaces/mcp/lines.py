"""The protocol over standard streams: one message a line, and the end of the process.

The input is read beside the calls that run, so that its end, a signal and a parent that has gone
are seen during a call as well. From then on calls have `GRACE_S` to end and to be answered; what
runs longer ends with the process, as by a loss of power, which a store survives.

Standard output belongs to the protocol: while it is served, descriptor 1 leads to standard error
and descriptor 0 to nowhere, whatever a library prints.

The SDK drops what it cannot read without an answer, and a client then waits for ever. Here every
line that is no message has its answer: with the id of the request where one can be read, else null.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import anyio
import msgspec
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

from vestig.json_text import RepeatedNameError, read_json
from vestig.lazy_pattern import lazy_pattern
from vestig.surfaces.cli import INTERRUPTED

# A line of 4 MiB is what the transport over HTTP takes as a body too.
LINE_BYTES_MAX: Final = 4 * 1024 * 1024
_ID_DIGITS_MAX: Final = 64
# Of a line that cannot be read, the id is looked for in so many bytes.
_BEGINNING_BYTES: Final = 4_096
_TOKEN: Final = lazy_pattern(r'\s*("(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)')
_VERSION: Final = "2.0"
INTERNAL_ERROR: Final = -32603
_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_INVALID_PARAMS: Final = -32602


class Refused(Exception):
    """A line that is no message.

    Args:
        code: of JSON-RPC.
        message: what was expected; never what came.
        id: of the request, None where none can be read.
    """

    def __init__(self, code: int, message: str, id: int | str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id


def answer_to_refused(refused: Refused) -> bytes:
    """The line that answers.

    Example:
        >>> answer_to_refused(Refused(-32700, "expected JSON"))
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"expected JSON"}}'
    """
    error = {"code": refused.code, "message": refused.message}
    answer = {"jsonrpc": _VERSION, "id": refused.id, "error": error}
    return json.dumps(answer, separators=(",", ":")).encode()


def read_line(line: bytes) -> dict[str, Any]:
    """The message of one line: a request, a notification or a response.

    Raises:
        Refused: anything else.

    Example:
        >>> read_line(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
        {'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}
        >>> read_line(b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}')
        Traceback (most recent call last):
        ...
        vestig.surfaces.mcp.lines.Refused: params: expected an object
    """
    if len(line) > LINE_BYTES_MAX:
        raise Refused(
            _INVALID_REQUEST,
            f"expected a line of at most {LINE_BYTES_MAX} bytes",
            _readable_id(line),
        )
    message = _decoded(line)
    if not isinstance(message, dict):
        raise Refused(_INVALID_REQUEST, "expected one JSON object a line, no batch")
    id = _id(message)
    if message.get("jsonrpc") != _VERSION:
        raise Refused(_INVALID_REQUEST, 'jsonrpc: expected "2.0"', id)
    if "method" in message:
        _check_request(message, id)
    else:
        _check_response(message, id)
    return message


def _decoded(line: bytes) -> Any:
    try:
        return read_json(line)
    except RecursionError:
        fault = "expected JSON that is not nested so deeply"
    except RepeatedNameError:
        fault = "expected each name once in an object"
    except msgspec.DecodeError as error:
        fault = f"expected JSON text in UTF-8: {error}"
    except UnicodeDecodeError:
        fault = "expected JSON text in UTF-8"
    raise Refused(_PARSE_ERROR, fault, _readable_id(line))


def _check_request(message: dict[str, Any], id: int | str | None) -> None:
    if not isinstance(message["method"], str):
        raise Refused(_INVALID_REQUEST, "method: expected text", id)
    if "id" in message and id is None:
        raise Refused(_INVALID_REQUEST, "id: expected text or an integer")
    params = message.get("params", {})
    if params is None:
        del message["params"]
    elif not isinstance(params, dict):
        raise Refused(_INVALID_PARAMS, "params: expected an object", id)


def _check_response(message: dict[str, Any], id: int | str | None) -> None:
    result, error = message.get("result"), message.get("error")
    if isinstance(result, dict) and error is None and id is not None:
        return
    fits = isinstance(error, dict) and result is None
    if fits and isinstance(error.get("code"), int) and isinstance(error.get("message"), str):  # type: ignore[union-attr]
        return
    raise Refused(_INVALID_REQUEST, "method: expected the name of a method", id)


def _id(message: dict[str, Any]) -> int | str | None:
    id = message.get("id")
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


def _short_integer(text: str) -> int | None:
    return int(text) if len(text) <= _ID_DIGITS_MAX else None


def _readable_id(line: bytes) -> int | str | None:
    """The id of a request that cannot be read as a whole: with lone surrogates, other bytes than
    UTF-8, numbers beyond a float's range, too deep, too long, or without end. One that stands
    twice is none."""
    found: int | str | None
    try:
        text = line[:LINE_BYTES_MAX].decode("utf-8", "surrogateescape")
        message = json.loads(
            text,
            parse_int=_short_integer,
            parse_constant=lambda _: None,
            object_pairs_hook=_with_one_id,
        )
        found = _id(message) if isinstance(message, dict) else None
    except (ValueError, RecursionError):
        found = _id_at_beginning(line[:_BEGINNING_BYTES].decode("utf-8", "surrogateescape"))
    if isinstance(found, str) and not found.isascii():
        try:
            found.encode()
        except UnicodeEncodeError:
            return None
    return found


def _with_one_id(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    ids = [value for name, value in pairs if name == "id"]
    return {**dict(pairs), **({"id": None} if len(ids) > 1 else {})}


def _id_at_beginning(text: str) -> int | str | None:
    """The id of an object of which only the beginning is there.

    Example:
        >>> _id_at_beginning('{"jsonrpc": "2.0", "params": {"id": 4, "deep": [[1]]}, "id": 19, "me')
        19
    """
    found: list[int | str | None] = []
    depth = 0
    # the name whose value comes next, in the outermost object
    name: str | None = None
    place = 0
    while match := _TOKEN.match(text, place):
        place = match.end()
        token = match.group(1)
        if token in "{[":
            depth, name = depth + 1, None
        elif token in "}]":
            depth -= 1
        elif token == "," or depth != 1:
            name = None if depth == 1 else name
        elif token.startswith('"') and text[place:].lstrip()[:1] == ":":
            name = _value(token)
        elif token != ":" and name == "id":
            # a number that the end of the beginning cuts has more digits behind it
            ended = token.startswith('"') or place < len(text)
            found.append(_value(token) if ended else None)
            name = None
        if depth == 0 and token not in "{":
            break
    return found[0] if len(found) == 1 else None


def _value(token: str) -> Any:
    """The text or integer of a token; None for others."""
    try:
        value = json.loads(token, parse_int=_short_integer)
    except ValueError:
        return None
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


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
