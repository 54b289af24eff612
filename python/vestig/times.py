"""Times: reading, writing, and plain JSON values (spec README 3).

A time inside Vestig is an integer, microseconds since 1970-01-01T00:00:00Z.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum
from typing import Any, Final

import msgspec

from vestig.errors import ValidationError

__all__ = ["DAY_US", "age_words", "format_us", "from_us", "parse_time", "to_plain", "to_us"]

DAY_US: Final = 86_400_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_ALLOWED: Final = (
    "a time such as 2026-03-18, 2026-03-18T12:00:00Z or 2026-03-18 12:00+01:00,"
    " a datetime or a date, in the years 1-9999"
)
_ISO: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})"
    r"(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?"
    r"\s?([Zz]|[+-]\d{2}(?::?\d{2}(?::?\d{2})?)?)?)?"
)


def _zone(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return UTC
    digits = text[1:].replace(":", "").ljust(6, "0")
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:])
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError(text)
    shift = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return timezone(-shift if text[0] == "-" else shift)


def to_us(moment: datetime) -> int:
    """Microseconds since the epoch; a naive datetime is UTC.

    Example:
        >>> to_us(datetime(1970, 1, 2))
        86400000000
    """
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def from_us(us: int) -> datetime:
    """The aware UTC datetime of microseconds since the epoch.

    Example:
        >>> from_us(0).isoformat()
        '1970-01-01T00:00:00+00:00'
    """
    return _EPOCH + timedelta(0, 0, us)


def format_us(us: int) -> str:
    """The written form, always six decimals.

    Example:
        >>> format_us(0)
        '1970-01-01T00:00:00.000000Z'
    """
    return from_us(us).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def parse_time(value: object, field: str) -> int:
    """Microseconds of any accepted form of a time.

    Raises:
        ValidationError: unparsable, or outside the years 1-9999.

    Example:
        >>> parse_time("1970-01-01T01:00+01:00", "t_ref")
        0
    """
    try:
        if isinstance(value, datetime):
            us = to_us(value)
        elif isinstance(value, date):
            us = to_us(datetime(value.year, value.month, value.day))
        elif isinstance(value, str) and (match := _ISO.fullmatch(value.strip())):
            year, month, day, hour, minute, second = (int(g or 0) for g in match.groups()[:6])
            fraction = int((match.group(7) or "0").ljust(6, "0")[:6])
            zone = _zone(match.group(8))
            us = to_us(datetime(year, month, day, hour, minute, second, fraction, tzinfo=zone))
        else:
            raise ValidationError(field, value, _ALLOWED)
        from_us(us)
    except (ValueError, OverflowError) as error:
        if isinstance(error, ValidationError):
            raise
        raise ValidationError(field, value, _ALLOWED) from None
    return us


def age_words(age_us: int | None) -> str:
    """How long ago, in words (T-14).

    Example:
        >>> age_words(61 * DAY_US), age_words(None)
        ('2mo', 'unknown')
    """
    if age_us is None:
        return "unknown"
    seconds = age_us // 1_000_000
    if seconds < 60:
        return "just now"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if minutes < 60:
        return f"{minutes}m"
    if hours < 24:
        return f"{hours}h"
    if days < 7:
        return f"{days}d"
    return f"{days // 7}w" if days < 30 else f"{days // 30}mo"


def to_plain(value: Any) -> Any:
    """Plain JSON types of any public value: structs to objects, times written, enums as words."""
    if isinstance(value, datetime):
        return format_us(to_us(value))
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, msgspec.Struct):
        chosen = getattr(value, "plain_fields", None)
        fields = (
            {name: getattr(value, name) for name in value.__struct_fields__}
            if chosen is None
            else chosen()
        )
        return {name: to_plain(item) for name, item in fields.items() if item is not msgspec.UNSET}
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    raise TypeError(f"no JSON form for {type(value).__name__}")
