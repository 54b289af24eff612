"""The caller's metadata, checked and copied into plain JSON values (D-01)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from vestig.arguments import check_unicode
from vestig.errors import ValidationError

__all__ = ["METADATA_BYTES_MAX", "plain_metadata"]

METADATA_BYTES_MAX: Final = 65_536
_DEPTH_MAX: Final = 32
_RESERVED: Final = frozenset(("source", "tags"))
_INT_MIN: Final = -(2**63)
_INT_MAX: Final = 2**63 - 1


def plain_metadata(value: object) -> dict[str, Any]:
    """A copy of an object of JSON values; {} for an empty one.

    Raises:
        ValidationError: not an object of JSON values, a reserved key, NaN or infinity, nested
            deeper than 32 levels, or more than 64 KiB as JSON.

    Example:
        >>> plain_metadata({"ticket": 7, "labels": ("a", "b")})
        {'ticket': 7, 'labels': ['a', 'b']}
    """
    if not isinstance(value, Mapping):
        raise ValidationError("metadata", _kind(value), "an object (names to JSON values)")
    for name in sorted(_RESERVED):
        if name in value:
            raise ValidationError(
                f"metadata.{name}",
                _kind(value[name]),
                "no such key in metadata",
                f"use the argument {name}",
            )
    plain = _plain(value, "metadata", 0)
    assert isinstance(plain, dict)
    size = len(msgspec.json.encode(plain))
    if size > METADATA_BYTES_MAX:
        raise ValidationError(
            "metadata", f"{size} bytes", f"at most {METADATA_BYTES_MAX} bytes as JSON"
        )
    return plain


def _kind(value: object) -> str:
    return type(value).__name__


def _plain(value: object, path: str, depth: int) -> Any:
    if depth > _DEPTH_MAX:
        raise ValidationError(path[:60], "a deeper one", f"at most {_DEPTH_MAX} levels of nesting")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_unicode(path, str(value))
    if isinstance(value, int):
        if not _INT_MIN <= value <= _INT_MAX:
            raise ValidationError(path, "a larger integer", "an integer of at most 64 bits")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValidationError(path, value, "a finite number")
        return float(value)
    if isinstance(value, Mapping):
        copied: dict[str, Any] = {}
        for name, item in value.items():
            if not isinstance(name, str):
                raise ValidationError(path, _kind(name), "text as the name of every value")
            copied[check_unicode(path, name)] = _plain(item, f"{path}.{name}", depth + 1)
        return copied
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
    raise ValidationError(
        path, _kind(value), "a JSON value (text, number, boolean, null, list, object)"
    )
