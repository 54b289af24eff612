"""The common ground of all formats: the texts that their readers give, and what they count."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Final

import msgspec

from vestig.errors import ValidationError
from vestig.exchange.file_records import Unreadable
from vestig.lazy_pattern import lazy_pattern
from vestig.times import from_us

_BETWEEN: Final = "\n\n"
_KIND: Final = lazy_pattern(r"[A-Za-z0-9_ -]{1,60}")
_KINDS_MAX: Final = 40


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A text of a file with its arguments of `commit`. `line` counts from 1. `is_whole`: kept as it
    is, so near-duplicates are inserted and only an empty text is refused. `is_cut`: cut into parts
    where it is longer than a memory may be. Without an `artifact_ref` it gets one of line and
    digest."""

    line: int
    content: str
    arguments: dict[str, Any]
    digest: str = ""
    is_whole: bool = True
    is_cut: bool = True


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A statement of a file on names: `name` of `type` is one, and where there is an `other`, it
    stands in this `relation` to it."""

    line: int
    name: str
    type: str
    other: str | None = None
    other_type: str = ""
    relation: str | None = None


Found = Draft | Link | Unreadable


class Reading:
    """How one file is read, and what was left out of it by kind.

    Args:
        name: the file's, without folders.
        scope: that of records that name none, or of all where it was given by name.
        system: whether turns of the role system come in.
    """

    def __init__(self, name: str = "", *, scope: str | None = None, system: bool = False) -> None:
        self.name = name
        self.scope = scope
        self.system = system
        self.left_out: Counter[str] = Counter()
        self.other_keys: dict[str, None] = {}

    def leave_out(self, kind: str, count: int = 1) -> None:
        """Counts what does not come in. A kind that a file names is a word; of many kinds the rest
        is counted together."""
        if not _KIND.fullmatch(kind) or (
            kind not in self.left_out and len(self.left_out) >= _KINDS_MAX
        ):
            kind = "other kinds"
        self.left_out[kind] += count


def joined(texts: list[str]) -> str:
    """The texts that say something, with a blank line between them.

    Example:
        >>> joined(["one", " ", "two"])
        'one\\n\\ntwo'
    """
    return _BETWEEN.join(text for text in texts if text.strip())


def moment(field: str, value: Any) -> Any:
    """A time as `commit` takes one: text stays as it is, a number is seconds since the epoch.

    Raises:
        ValidationError: another kind of value, or outside the years 1 to 9999.

    Example:
        >>> moment("create_time", 0.5).isoformat(), moment("create_time", None)
        ('1970-01-01T00:00:00.500000+00:00', None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValidationError(
            field, type(value).__name__, "seconds since 1970, or an ISO 8601 time"
        )
    try:
        return from_us(round(value * 1_000_000))
    except (ValueError, OverflowError):
        raise ValidationError(field, value, "a time of the years 1 to 9999") from None


def text_of(field: str, value: Any) -> str | None:
    """A text; None where nothing is there.

    Raises:
        ValidationError: another kind of value.
    """
    if value is None or isinstance(value, str):
        return value
    raise ValidationError(field, type(value).__name__, "text")


def list_of(field: str, value: Any) -> list[Any]:
    """A list; empty where nothing is there.

    Raises:
        ValidationError: another kind of value.
    """
    if value is None:
        return []
    if isinstance(value, list):
        return value
    raise ValidationError(field, type(value).__name__, "a list")


def present(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that have a value."""
    return {name: value for name, value in arguments.items() if value is not None}


def refused(line: int, error: ValidationError, where: str = "") -> Unreadable:
    """A record that is none of its format."""
    return Unreadable(line, f"{where}: {error}" if where else str(error))


def missing(*names: str) -> ValidationError:
    """A record without a text under one of these names."""
    quoted = " or ".join(f'"{name}"' for name in names)
    return ValidationError("content", None, "text", message=f"no text under {quoted}")
