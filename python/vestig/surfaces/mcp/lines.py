"""One line of the protocol: a message that can be handed on, or the error that answers it.

The SDK drops what it cannot read without an answer, and a client then waits for ever. Here every
line that is no message has its answer: with the id of the request where one can be read, else null.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

__all__ = ["INTERNAL_ERROR", "LINE_BYTES_MAX", "Refused", "answer_to_refused", "read_line"]

# A line of 4 MiB is what the transport over HTTP takes as a body too.
LINE_BYTES_MAX: Final = 4 * 1024 * 1024
_ID_DIGITS_MAX: Final = 64
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
        return msgspec.json.decode(line)
    except RecursionError:
        fault = "expected JSON that is not nested so deeply"
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
    UTF-8, numbers beyond a float's range, or no end."""
    text = line[: LINE_BYTES_MAX + 1].decode("utf-8", "surrogateescape")
    try:
        message = json.loads(text, parse_int=_short_integer, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    id = _id(message) if isinstance(message, dict) else None
    if isinstance(id, str) and not id.isascii():
        try:
            id.encode()
        except UnicodeEncodeError:
            return None
    return id
