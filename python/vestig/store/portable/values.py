"""Rules of values in the lines of an import: a call would have taken each of them."""

from __future__ import annotations

import math
import re
import sys
from array import array
from collections.abc import Callable
from enum import Enum
from typing import Any, Final

import msgspec

from vestig.arguments import (
    ITEM_LABEL_CHARS_MAX,
    LABEL_CHARS_MAX,
    SCOPE_CHARS_MAX,
    label,
    plain_metadata,
    plain_object,
    reason_argument,
    relation_label,
    sequence_number,
    source_text,
)
from vestig.calls.condition import parse_condition
from vestig.calls.items import (
    check_stored_key,
    item_label,
    json_value,
    value_text,
)
from vestig.decoders import converted
from vestig.errors import Description, ValidationError, kind_of
from vestig.language.text_forms import single_spaced, unusable_reason
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import EmbeddingIdentity
from vestig.store.records.graph_rows import StoredAlias
from vestig.store.records.rows import StoredWindow
from vestig.store.tables.table import Value
from vestig.times import from_us
from vestig.types import StructuredText

_SNIPPET_CHARS_MAX: Final = 500
_JSON_DEPTH_MAX: Final = 64
_VECTOR_LENGTH_MAX: Final = 1e6
_UNIT_TOLERANCE: Final = 1e-3
_DIGEST_BYTES: Final = 32
# What the tombstone of a memory counts.
_EVENTS: Final = ("events",)
_KEY: Final = lazy_pattern(r"[!-~]{1,128}")
_BRACKET_OR_TEXT: Final = lazy_pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def check_value(rule: Value, field: str, value: Any) -> None:
    """Check a value, as the ledger stores it, by the rule of its column.

    Raises:
        ValidationError: names the field, never a text.

    Example:
        >>> check_value(Value.SEQUENCE, "sequence", 3)
        >>> check_value(Value.SEQUENCE, "sequence", -1)
        Traceback (most recent call last):
        vestig.errors.ValidationError: sequence: expected an integer from 0 on, got -1
    """
    _CHECKS[rule](field, value)


class Oddity(Enum):
    """Oddities of a vector: it is zero, or its length is not 1 though the model normalises."""

    ZERO = "zero"
    UNSCALED = "unscaled"


def oddity_of(raw: bytes, identity: EmbeddingIdentity) -> Oddity | None:
    """Return what is unusual about a vector of finite numbers, as an export counts it.

    Example:
        >>> import struct
        >>> identity = EmbeddingIdentity(model="m", dimensions=2, normalized=True)
        >>> [oddity_of(struct.pack("<2f", x, 0.0), identity) for x in (0, 1, 2)]
        [<Oddity.ZERO: 'zero'>, None, <Oddity.UNSCALED: 'unscaled'>]
    """
    length = _vector_length(raw)
    if length == 0.0:
        return Oddity.ZERO
    scaled = abs(length - 1.0) <= _UNIT_TOLERANCE
    return Oddity.UNSCALED if identity.normalized and not scaled else None


def _vector_length(raw: bytes) -> float:
    """Euclidean length of a vector of float32 little-endian numbers; NaN or infinity where one
    of them is."""
    values = array("f", raw)
    if sys.byteorder == "big":
        values.byteswap()
    return math.hypot(*values)


def _vector(field: str, raw: bytes) -> None:
    if len(raw) % 4:
        raise ValidationError(
            field, Description(f"{len(raw)} bytes"), "float32 numbers, 4 bytes each"
        )
    length = _vector_length(raw)
    if not math.isfinite(length):
        raise ValidationError(field, Description("NaN or infinity"), "finite numbers")
    if length > _VECTOR_LENGTH_MAX:
        raise ValidationError(
            field, Description(f"a length of {length:g}"), "a length of at most 10^6"
        )


def _text(field: str, text: str) -> None:
    refused = unusable_reason(text)
    if refused is not None:
        raise ValidationError(field, refused, "text that a commit takes")


def _name(field: str, text: str, chars_max: int | None = None) -> None:
    if not text.strip() or "\0" in text:
        shown = Description(f"{len(text)} characters")
        raise ValidationError(field, shown, "text that is not blank, without NUL characters")
    if chars_max is not None:
        label(field, text, chars_max)


def _question(field: str, text: str) -> None:
    if text:
        _name(field, text, LABEL_CHARS_MAX)


def _named(check: Callable[[Any], object]) -> Callable[[str, Any], None]:
    """An error of a check names this field alone: a path within it would show what is stored."""

    def named(field: str, value: Any) -> None:
        try:
            check(value)
        except ValidationError as error:
            raise ValidationError(field, error.value, error.allowed) from None

    return named


def _relation(field: str, text: str) -> None:
    if text and text != relation_label(text):
        shown = Description(f"{len(text)} characters")
        raise ValidationError(field, shown, "a label in capitals, as a relation has it")


def _snippet(field: str, text: str) -> None:
    label(field, text, _SNIPPET_CHARS_MAX)
    if text != single_spaced(text):
        raise ValidationError(
            field, Description("another text"), "a text on one line, in NFC, with single spaces"
        )


def _request_key(field: str, text: str) -> None:
    if _KEY.fullmatch(text) is None:
        shown = Description(f"{len(text)} characters")
        raise ValidationError(field, shown, "1 to 128 visible characters of ASCII")


# --- JSON ------------------------------------------------------------------------------------


def _json(shape: Any, check: Callable[[str, Any], None]) -> Callable[[str, str], None]:
    """A check of JSON of this shape, which is what an export writes."""
    decode = msgspec.json.Decoder(shape).decode

    def read(field: str, text: str) -> None:
        try:
            value = decode(text)
        except (msgspec.MsgspecError, RecursionError) as error:
            shown = Description(f"{len(text)} characters")
            raise ValidationError(field, shown, "JSON as an export writes it") from error
        if shape == dict[str, Any]:
            _check_depth(field, text)
        check(field, value)

    return read


def _check_depth(field: str, text: str) -> None:
    """Refuses JSON that is nested too deeply: one level for each open bracket outside of texts."""
    if text.count("[") + text.count("{") <= _JSON_DEPTH_MAX:
        return
    depth = deepest = 0
    for found in _BRACKET_OR_TEXT.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found.group(), 0)
        deepest = max(deepest, depth)
    if deepest > _JSON_DEPTH_MAX:
        raise ValidationError(
            field, Description(f"{deepest} levels"), f"at most {_JSON_DEPTH_MAX} levels"
        )


def _metadata(field: str, metadata: dict[str, Any]) -> None:
    """Check that what the caller gave is in the bounds of a commit; source, tags and the fields of
    a structured text are what a commit makes of its arguments."""
    source, tags = metadata.pop("source", None), metadata.pop("tags", [])
    structured = metadata.pop("structured", None)
    _named(source_text)(f"{field}.source", source)
    if structured is not None:
        try:
            converted(structured, StructuredText)
        except msgspec.ValidationError:
            raise ValidationError(
                f"{field}.structured", kind_of(structured), "fields of a structured text"
            ) from None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ValidationError(f"{field}.tags", kind_of(tags), "a list of texts")
    for tag in tags:
        _name(f"{field}.tags", tag, SCOPE_CHARS_MAX)
    if len(set(tags)) < len(tags):
        raise ValidationError(
            f"{field}.tags", Description(f"{len(tags)} tags"), "each of them once"
        )
    _named(plain_metadata)(field, metadata)


def _words(field: str, words: tuple[str, ...]) -> None:
    for word in words:
        _name(field, word)


def _windows(field: str, windows: tuple[StoredWindow, ...]) -> None:
    for window in windows:
        _name(field, window.text)
        try:
            ends = [from_us(us) for us in (window.start_us, window.end_us) if us is not None]
        except OverflowError:
            raise ValidationError(
                field, Description("another year"), "times in the years 1-9999"
            ) from None
        if ends != sorted(ends):
            raise ValidationError(
                field, Description("an end before its start"), "windows that end later"
            )


def _counts(field: str, counts: dict[str, int]) -> None:
    for name, count in counts.items():
        if count < 0:
            raise ValidationError(f"{field}.{name}", count, "a number from 0")


def _event_count(field: str, counts: dict[str, int]) -> None:
    for name, count in counts.items():
        if name not in _EVENTS:
            raise ValidationError(f"{field}.{name}", count, f"{field}.events, or no counts")
    _counts(field, counts)


def _anything(_field: str, _value: object) -> None:
    """The shape says all of it."""


def _item(field: str, text: str) -> None:
    try:
        same = value_text(field, json_value(text)) == text
    except (ValueError, RecursionError):
        same = False
    if not same:
        raise ValidationError(
            field, Description(f"{len(text)} characters"), "JSON as an export writes it"
        )


def _anchor_target(field: str, text: str) -> None:
    """A path has no way out of a folder, so that none is looked for elsewhere."""
    label(field, text, LABEL_CHARS_MAX)
    parts = text.split("/")
    if not text.strip() or not text.isprintable() or {".", ".."} & set(parts) or not parts[0]:
        shown = Description(f"{len(text)} characters")
        raise ValidationError(field, shown, "a path within a folder, or an address")


def _digest(field: str, raw: bytes) -> None:
    if len(raw) != _DIGEST_BYTES:
        raise ValidationError(field, Description(f"{len(raw)} bytes"), f"{_DIGEST_BYTES} bytes")


def _condition(field: str, text: str) -> None:
    try:
        parse_condition(field, text)
    except ValidationError:
        shown = Description(f"{len(text)} characters")
        raise ValidationError(field, shown, "a condition of a rule") from None


_CHECKS: Final[dict[Value, Callable[[str, Any], object]]] = {
    Value.TEXT: _text,
    Value.LABEL: lambda field, text: label(field, text, LABEL_CHARS_MAX),
    Value.SCOPE: lambda field, text: label(field, text, ITEM_LABEL_CHARS_MAX),
    Value.NAME: _name,
    Value.SHORT_NAME: lambda field, text: _name(field, text, SCOPE_CHARS_MAX),
    Value.QUESTION: _question,
    Value.REASON: _named(reason_argument),
    Value.SOURCE: _named(source_text),
    Value.SEQUENCE: _named(sequence_number),
    Value.RELATION: _relation,
    Value.SNIPPET: _snippet,
    Value.KEY: check_stored_key,
    Value.ITEM_KEY: item_label,
    Value.ITEM: _item,
    Value.CONDITION: _condition,
    Value.ANCHOR_TARGET: _anchor_target,
    Value.DIGEST: _digest,
    Value.REQUEST_KEY: _request_key,
    Value.VECTOR: _vector,
    Value.OBJECT: _json(dict[str, Any], _anything),
    Value.SHALLOW_OBJECT: _json(
        dict[str, Any],
        lambda field, value: _named(lambda given: plain_object(field, given))(field, value),
    ),
    Value.METADATA: _json(dict[str, Any], _metadata),
    Value.WORDS: _json(tuple[str, ...], _words),
    Value.WINDOWS: _json(tuple[StoredWindow, ...], _windows),
    Value.ALIASES: _json(tuple[StoredAlias, ...], _anything),
    Value.COUNTS: _json(dict[str, int], _counts),
    Value.EVENT_COUNT: _json(dict[str, int], _event_count),
}
