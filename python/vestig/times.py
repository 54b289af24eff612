"""Times as text and as words, and the plain JSON of values. `arguments.parse_time` is the inverse.

A time inside Vestig is an integer, microseconds since 1970-01-01T00:00:00Z.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from enum import Enum
from typing import Any, Final

import msgspec

DAY_US: Final = 86_400_000_000
# The last moment of a day, from its first.
LAST_OF_DAY_US: Final = DAY_US - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def zone_named(name: str) -> tzinfo:
    """The time zone of a name. UTC needs none of the files of zones, nor the module that reads
    them.

    Raises:
        ZoneInfoNotFoundError: no zone has this name.

    Example:
        >>> zone_named("UTC"), zone_named("Europe/Oslo")
        (datetime.timezone.utc, zoneinfo.ZoneInfo(key='Europe/Oslo'))
    """
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


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
    """A time as text: ISO 8601 in UTC with six decimals.

    Example:
        >>> format_us(0)
        '1970-01-01T00:00:00.000000Z'
    """
    return from_us(us).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def duration_text(us: int) -> str:
    """A span in words, to the whole minute, with the two greatest units that it fills.

    Example:
        >>> duration_text(3_600_000_000), duration_text(400 * DAY_US), duration_text(59_000_000)
        ('1 h', '400 days', '0 min')
        >>> duration_text(DAY_US + 2 * 3_600_000_000 + 59_000_000)
        '1 day 2 h'
    """
    minutes = us // 60_000_000
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = [f"{days} day{'' if days == 1 else 's'}"] if days else []
    parts += [f"{hours} h"] if hours else []
    parts += [f"{rest} min"] if rest or not parts else []
    return " ".join(parts[:2])


def age_words(age_us: int | None) -> str:
    """An age in words, rounded down: minutes, hours, days, weeks, months of 30 days.

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


def plain_object(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Plain JSON types of named values, as `to_plain` gives them."""
    return {name: to_plain(value) for name, value in fields.items()}


def to_plain(value: Any) -> Any:
    """Plain JSON types of any public value: structs become objects, times text, words of a list
    what their `word` says.

    Example:
        >>> from vestig.types import Role, Status
        >>> to_plain((Status.ACTIVE, Role.USER, from_us(0)))
        ['ACTIVE', 'user', '1970-01-01T00:00:00.000000Z']

    Raises:
        TypeError: a value that has no JSON form.
    """
    if isinstance(value, datetime):
        return format_us(to_us(value))
    if isinstance(value, Enum):
        return getattr(value, "word", value.value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    chosen = getattr(value, "plain_fields", None)
    if chosen is not None or isinstance(value, msgspec.Struct):
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
