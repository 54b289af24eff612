"""Single values of a request, each checked with its field's name."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from numbers import Integral, Real
from typing import Any, Final, TypedDict, TypeVar

import msgspec

from vestig.errors import Description, ValidationError, kind_of
from vestig.hints import did_you_mean
from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import by_caller
from vestig.times import format_us, from_us, to_us
from vestig.types import Word

SCOPE_CHARS_MAX: Final = 200
# Of the key of an item, and of its scope.
ITEM_LABEL_CHARS_MAX: Final = 512
# Of the changes of a tenant.
POSITION_MAX: Final = 2**53
SOURCE_CHARS_MAX: Final = 64
LABEL_CHARS_MAX: Final = 2_000
LIST_ITEMS_MAX: Final = 1_000
# The rarest that the shipped calibrations can promise.
SILENCE_MIN: Final = 0.02
_REASON_CHARS_MAX: Final = 500
_METADATA_BYTES_MAX: Final = 65_536
_METADATA_DEPTH_MAX: Final = 32
# Keys of metadata that are kept by the store → what gives them.
_RESERVED_METADATA: Final = {
    "source": "the argument source",
    "structured": "commit_structured",
    "tags": "the argument tags",
}
_INT_MIN: Final = -(2**63)
# More than any store holds; what is above means the same.
_COUNT_MAX: Final = 2**40
_INT_MAX: Final = 2**63 - 1
# What a double holds exactly, and so every reader of JSON.
INTEGER_MAX: Final = 2**53 - 1
# What common file systems take.
_NAME_BYTES_MAX: Final = 255
_PATH_CHARS_MAX: Final = 4_000


TIMES_OF_TEXTS: Final = "a time such as 2026-03-18, 2026-03-18T12:00:00Z or 2026-03-18 12:00+01:00"
TIMES_OF_CALLS: Final = f"{TIMES_OF_TEXTS}, a datetime or a date, in the years 1-9999"
_ISO: Final = lazy_pattern(
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


def check_unicode(field: str, text: str) -> str:
    """The text itself, when it can be written as UTF-8.

    Raises:
        ValidationError: it holds a lone surrogate; the message names the place, not the text.

    Example:
        >>> check_unicode("content", "plain")
        'plain'
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        fact = Description(f"a lone surrogate at code point {error.start} of {len(text)}")
        way = by_caller(
            "decode the bytes with errors='replace'",
            "give it as UTF-8, which PYTHONUTF8=1 in the environment reads in every locale",
        )
        raise ValidationError(field, fact, "text without lone surrogates", way) from None
    return text


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
            raise ValidationError(field, value, TIMES_OF_CALLS)
        from_us(us)
    except (ValueError, OverflowError) as error:
        if isinstance(error, ValidationError):
            raise
        raise ValidationError(field, value, TIMES_OF_CALLS) from None
    return us


def wall_us(value: object) -> int | None:
    """Microseconds of what a clock beside the speaker shows, as if it were UTC, of a time that
    `parse_time` takes and that names another offset than that of UTC; None of others.

    Example:
        >>> wall_us("1970-01-01T01:00+01:00"), wall_us("1970-01-01T01:00Z"), wall_us("1970-01-01")
        (3600000000, None, None)
    """
    offset = None
    if isinstance(value, datetime):
        offset = value.utcoffset()
    elif isinstance(value, str) and (match := _ISO.fullmatch(value.strip())):
        offset = _zone(match.group(8)).utcoffset(None)
    return parse_time(value, "time") + offset // timedelta(microseconds=1) if offset else None


def is_day(value: object) -> bool:
    """Return whether a time that `parse_time` takes is a day without a time.

    Example:
        >>> [is_day(one) for one in ("2026-03-18", "2026-03-18T00:00", date(2026, 3, 18))]
        [True, False, True]
    """
    if isinstance(value, str):
        return len(value.strip()) == len("2026-03-18")
    return isinstance(value, date) and not isinstance(value, datetime)


def label(field: str, value: object, chars_max: int = LABEL_CHARS_MAX) -> str | None:
    """A text that names something: no NUL, no lone surrogate, bounded."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValidationError(field, kind_of(value), "text")
    text = str(value)
    if len(text) > chars_max:
        raise ValidationError(
            field, Description(f"{len(text)} characters"), f"at most {chars_max} characters"
        )
    if "\0" in text:
        raise ValidationError(field, Description("text with U+0000"), "text without NUL characters")
    return check_unicode(field, text)


def source_text(value: object) -> str:
    text = label("source", value, SOURCE_CHARS_MAX)
    if not text:
        raise ValidationError("source", value, f"text of 1 to {SOURCE_CHARS_MAX} characters")
    return text


def listed(value: object) -> object:
    """One text stands for a list of one.

    Example:
        >>> listed("infra"), listed(["infra"])
        (['infra'], ['infra'])
    """
    return [value] if isinstance(value, str) else value


def texts(field: str, value: object, chars_max: int = SCOPE_CHARS_MAX) -> tuple[str, ...]:
    """A list of non-empty texts, without repeats, in the order given; one text is a list of one."""
    value = listed(value)
    if not isinstance(value, (list, tuple)):
        raise ValidationError(field, kind_of(value), "a list of texts")
    if len(value) > LIST_ITEMS_MAX:
        raise ValidationError(
            field, Description(f"{len(value)} items"), f"at most {LIST_ITEMS_MAX} items"
        )
    texts: dict[str, None] = {}
    for at, item in enumerate(value):
        text = label(f"{field}[{at}]", item, chars_max)
        if text is None or not text.strip():
            raise ValidationError(f"{field}[{at}]", item, "text that is not blank")
        texts[text] = None
    return tuple(texts)


_E = TypeVar("_E", bound=Word)


def word_of(field: str, value: object, words: Sequence[str], otherwise: str = "") -> str:
    """The one of these words that a text is, in any case. `otherwise`: the hint where none is near.

    Raises:
        ValidationError: another one; names the nearest.

    Example:
        >>> word_of("fusion", "RRF", ("rrf", "score_sum"))
        'rrf'
    """
    if isinstance(value, str):
        for word in words:
            if word == value or word.casefold() == value.casefold():
                return word
    hint = did_you_mean(value[:60], words, otherwise) if isinstance(value, str) else ""
    raise ValidationError(field, value, f"one of {', '.join(words)}", hint)


def choice(field: str, value: object, choices: type[_E], otherwise: str = "") -> _E | None:
    """The member that a word names, in any case; None for None. `otherwise`: as of `word_of`.

    Example:
        >>> from vestig.types import Status
        >>> choice("status", "Active", Status).word
        'ACTIVE'
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return choices(value)
        except ValueError:
            pass
    words = [member.word for member in choices]
    hint = did_you_mean(value[:60], words, otherwise) if isinstance(value, str) else ""
    raise ValidationError(field, value, f"one of {', '.join(words)}", hint)


def flag(field: str, value: object) -> bool:
    """true or false, nothing that merely counts as one.

    Example:
        >>> flag("touch", False)
        False
    """
    if not isinstance(value, bool):
        raise ValidationError(field, value, "true or false")
    return value


def time_us(field: str, value: object) -> int | None:
    return None if value is None else parse_time(value, field)


def as_integer(value: object) -> int | None:
    """The integer that a value is, whichever class it has; None for others and for true.

    Example:
        >>> as_integer(3), as_integer(True), as_integer(3.0)
        (3, None, None)
    """
    if isinstance(value, bool):
        return None
    return int(value) if isinstance(value, (int, Integral)) else None


def as_number(value: object) -> int | float | None:
    """The real number that a value is, whichever class it has; None for others and for true.

    Example:
        >>> as_number(0.5), as_number(3), as_number(False), as_number("3")
        (0.5, 3, None, None)
    """
    whole = as_integer(value)
    if whole is not None or isinstance(value, bool):
        return whole
    if not isinstance(value, (float, Real)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value >= 0 else -math.inf  # type: ignore[operator]


def sequence_number(value: object) -> int | None:
    if value is None:
        return None
    number = as_integer(value)
    if number is None or not 0 <= number <= _INT_MAX:
        raise ValidationError("sequence", value, "an integer from 0 on")
    return number


def check_validity(t_valid_us: int, t_invalid_us: int | None) -> None:
    """A fact cannot end before it begins.

    Example:
        >>> check_validity(0, 0)
    """
    if t_invalid_us is not None and t_invalid_us < t_valid_us:
        raise ValidationError(
            "t_invalid", format_us(t_invalid_us), f"a time from t_valid {format_us(t_valid_us)} on"
        )


def count_argument(field: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """An integer >= `least` and <= `most`; true is no integer. Without `most`, more than any store
    holds is fine, and is cut to a number that every layer can hold.

    Example:
        >>> count_argument("limit", 5)
        5
    """
    number = as_integer(value)
    if number is None or number < least or (most is not None and number > most):
        allowed = f"an integer >= {least}" if most is None else f"an integer from {least} to {most}"
        raise ValidationError(field, value, allowed)
    return number if most is not None else min(number, _COUNT_MAX)


def function_argument(field: str, value: object) -> None:
    """Refuses what cannot be called, before any work is done.

    Example:
        >>> function_argument("progress", None)
        >>> function_argument("progress", 5)
        Traceback (most recent call last):
        ...
        vestig.errors.ValidationError: progress: expected a function, got an int
    """
    if value is not None and not callable(value):
        raise ValidationError(field, kind_of(value), "a function")


def is_address(value: object) -> bool:
    """Return whether a store is named by where its database is, not by a folder.

    Example:
        >>> is_address("postgresql://db.example/vestig"), is_address("/srv/memory")
        (True, False)
    """
    return isinstance(value, str) and value.startswith(("postgresql://", "postgres://"))


def path_argument(field: str, value: object, allowed: str = "a file's path") -> str:
    """A path that the file system can be asked for.

    Example:
        >>> path_argument("target", "out.jsonl")
        'out.jsonl'
    """
    path = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise ValidationError(field, value, allowed)
    if is_address(path):
        # not shown: it may name a password
        raise ValidationError(field, Description("an address of PostgreSQL"), allowed)
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ValidationError(field, path, f"{allowed} in the file system's encoding") from None
    longest = max(len(os.fsencode(part)) for part in path.split(os.sep))
    if longest > _NAME_BYTES_MAX or len(path) > _PATH_CHARS_MAX:
        raise ValidationError(
            field, path, f"{allowed} with names of at most {_NAME_BYTES_MAX} bytes"
        )
    return path


def text_argument(field: str, value: object) -> str:
    """A text that can be written as UTF-8."""
    if not isinstance(value, str):
        raise ValidationError(field, kind_of(value), "text")
    return check_unicode(field, value)


def texts_argument(field: str, value: object) -> list[str]:
    """One text, or a list of them."""
    if isinstance(value, str):
        return [text_argument(field, value)]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [text_argument(field, item) for item in value]
    raise ValidationError(field, kind_of(value), "text or a list of texts")


class Provenance(TypedDict, total=False):
    """The rest of where a text comes from, for `commit(provenance=…)`.

    agent: the program that stores it. artifact_ref: a reference to its origin, such as a URL or
    the id of a message. origin_type: what kind of text it is (chat_peer, chat_agent, document,
    note), derived when absent.
    """

    agent: str | None
    artifact_ref: str | None
    origin_type: str | None


def choice_of_names(field: str, value: object, names: Sequence[str]) -> tuple[str, ...]:
    """One of these names, or several.

    Raises:
        ValidationError: another one; names the nearest.
    """
    found = tuple(texts_argument(field, value))
    for name in found:
        if name not in names:
            hint = did_you_mean(name, names)
            raise ValidationError(field, name, "one of " + ", ".join(names), hint)
    return found


def plain_metadata(value: object) -> dict[str, Any]:
    """A copy of an object of JSON values; {} for an empty one.

    Raises:
        ValidationError: not an object of JSON values, a reserved key, NaN or infinity, nested
            deeper than 32 levels, or more than 64 KiB as JSON.

    Example:
        >>> plain_metadata({"ticket": 7, "labels": ("a", "b")})
        {'ticket': 7, 'labels': ['a', 'b']}
    """
    for name, given_by in _RESERVED_METADATA.items():
        if isinstance(value, Mapping) and name in value:
            raise ValidationError(
                f"metadata.{name}",
                _type_name(value[name]),
                "no such key in metadata",
                f"use {given_by}",
            )
    return plain_object("metadata", value)


def plain_object(field: str, value: object) -> dict[str, Any]:
    """Return what `plain_metadata` returns, of another field; no name is reserved.

    Example:
        >>> plain_object("claim.attributes", {"source": 1})
        {'source': 1}
    """
    if not isinstance(value, Mapping):
        raise ValidationError(field, _type_name(value), "an object (names to JSON values)")
    plain = _plain(value, field, 0)
    assert isinstance(plain, dict)
    size = len(msgspec.json.encode(plain))
    if size > _METADATA_BYTES_MAX:
        raise ValidationError(
            field, Description(f"{size} bytes"), f"at most {_METADATA_BYTES_MAX} bytes as JSON"
        )
    return plain


def _type_name(value: object) -> str:
    return type(value).__name__


def _plain(value: object, path: str, depth: int) -> Any:
    if depth > _METADATA_DEPTH_MAX:
        raise ValidationError(
            path[:60],
            Description("a deeper one"),
            f"at most {_METADATA_DEPTH_MAX} levels of nesting",
        )
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_unicode(path, str(value))
    number = as_number(value)
    if isinstance(number, int):
        if not _INT_MIN <= number <= _INT_MAX:
            raise ValidationError(
                path, Description("a larger integer"), "an integer of at most 64 bits"
            )
        return number
    if number is not None:
        if not math.isfinite(number):
            raise ValidationError(path, value, "a finite number")
        return number
    if isinstance(value, Mapping):
        copied: dict[str, Any] = {}
        for name, item in value.items():
            if not isinstance(name, str):
                raise ValidationError(path, _type_name(name), "text as the name of every value")
            copied[check_unicode(path, name)] = _plain(item, f"{path}.{name}", depth + 1)
        return copied
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
    raise ValidationError(
        path, _type_name(value), "a JSON value (text, number, boolean, null, list, object)"
    )


def reason_argument(value: object, *, required: bool = False) -> str | None:
    """A reason: text up to 500 characters, or None."""
    if value is None and not required:
        return None
    if not isinstance(value, str) or len(value) > _REASON_CHARS_MAX:
        fact = kind_of(value)
        if isinstance(value, str):
            fact = Description(f"{len(value)} characters")
        raise ValidationError("reason", fact, f"text of at most {_REASON_CHARS_MAX} characters")
    return check_unicode("reason", value)


def relation_label(value: object) -> str:
    """The label of a RELATION: upper case, runs of white space made `_`.

    Raises:
        ValidationError: none, a longer one, or one with a NUL.

    Example:
        >>> relation_label("works at")
        'WORKS_AT'
    """
    if value is None:
        raise ValidationError("relation", None, "the label of a RELATION, such as WORKS_AT")
    text = "_".join(str(label("relation", value)).upper().split())
    if not 1 <= len(text) <= SCOPE_CHARS_MAX:
        raise ValidationError(
            "relation", Description(f"{len(text)} characters"), f"1 to {SCOPE_CHARS_MAX} characters"
        )
    return text
