"""Decoders of JSON for types whose fields msgspec works out where a value is first decoded.

msgspec does that without a lock: two threads that first decode one type at once end the process.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Final, TypeVar

import msgspec

_T = TypeVar("_T")
_ONE_AT_A_TIME: Final = Lock()
_DECODERS: Final[dict[object, msgspec.json.Decoder[Any]]] = {}


def decoded(data: bytes, kind: type[_T]) -> _T:
    """The value of a type that JSON says.

    Raises:
        msgspec.DecodeError: no JSON, or not of this type.

    Example:
        >>> decoded(b'{"port": 5433}', dict[str, int])
        {'port': 5433}
    """
    value: _T = _decoder(kind).decode(data)
    return value


def converted(value: object, kind: type[_T]) -> _T:
    """The value of a type that lists, objects and texts of JSON say.

    Raises:
        msgspec.ValidationError: not of this type.
    """
    _decoder(kind)
    return msgspec.convert(value, kind)


def _decoder(kind: object) -> msgspec.json.Decoder[Any]:
    with _ONE_AT_A_TIME:
        found = _DECODERS.get(kind)
        if found is None:
            found = _DECODERS[kind] = msgspec.json.Decoder[Any](kind)
        return found
