"""One line of the protocol: a message that can be handed on, or the error that answers it.

The SDK drops what it cannot read without an answer, and a client then waits for ever. Here every
line that is no message has its answer: with the id of the request where one can be read, else null.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from vestig.json_text import RepeatedNameError, read_json
from vestig.lazy_pattern import lazy_pattern

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
