"""Checks of fields, the same for a call and for a line of an import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from vestig.arguments import (
    SCOPE_CHARS_MAX,
    check_validity,
    label,
    parse_time,
    plain_metadata,
    plain_object,
    reason_argument,
    relation_label,
    sequence_number,
    source_text,
)
from vestig.changes import StoredWindow
from vestig.errors import ValidationError
from vestig.language.text_forms import single_spaced, unusable_reason
from vestig.store.portable.records import (
    ClaimRecord,
    EdgeRecord,
    EntityRecord,
    EventRecord,
    EvidenceRecord,
    JobRecord,
    MemoryRecord,
    QuestionRecord,
    Record,
    RequestLogRecord,
    SourceRecord,
    SupersessionRecord,
    TombstoneRecord,
)
from vestig.times import from_us
from vestig.types import EdgeType

SNIPPET_CHARS_MAX: Final = 500
_Check = Callable[[str, Any], object]
_metadata: Final = msgspec.json.Decoder(dict[str, Any])
_windows: Final = msgspec.json.Decoder(tuple[StoredWindow, ...])
_counts: Final = msgspec.json.Decoder(dict[str, int])
_keywords: Final = msgspec.json.Decoder(tuple[str, ...])


def check_fields(record: Record) -> None:
    """Check that a call would have taken the values of a record, whose shape and times are
    read.

    Raises:
        ValidationError: names the field.
    """
    for name, check in _CHECKS.get(type(record), {}).items():
        value = getattr(record, name)
        if value is not None:
            check(name, value)
    if isinstance(record, EdgeRecord):
        _check_edge(record)


def check_text(text: str) -> None:
    """A normal text that a commit takes.

    Raises:
        ValidationError: it is empty, or holds a control character.
    """
    refused = unusable_reason(text)
    if refused is not None:
        raise ValidationError("content", refused, "text that a commit takes")


def _check_metadata(name: str, raw: msgspec.Raw) -> None:
    """Check that what the caller gave is in the bounds of a commit; source and tags are what a
    commit makes of its arguments."""
    metadata = _metadata.decode(bytes(raw))
    source, tags = metadata.pop("source", None), metadata.pop("tags", [])
    _named(f"{name}.source", source_text, source)
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ValidationError(f"{name}.tags", type(tags).__name__, "a list of texts")
    for tag in tags:
        _check_name(f"{name}.tags", tag, SCOPE_CHARS_MAX)
    if len(set(tags)) < len(tags):
        raise ValidationError(f"{name}.tags", f"{len(tags)} tags", "each of them once")
    _named(name, plain_metadata, metadata)


def _named(field: str, check: Callable[[Any], object], value: object) -> None:
    """An error of a check names this field alone: a path within it would show what is stored."""
    try:
        check(value)
    except ValidationError as error:
        raise ValidationError(field, error.value, error.allowed) from None


def _as(check: Callable[[Any], object]) -> _Check:
    """A check that takes the field's name too."""
    return lambda field, value: _named(field, check, value)


def _check_name(field: str, text: str, chars_max: int | None = None) -> None:
    if not text.strip() or "\0" in text:
        raise ValidationError(field, text, "text that is not blank, without NUL characters")
    if chars_max is not None:
        label(field, text, chars_max)


def _check_keywords(name: str, raw: msgspec.Raw) -> None:
    for word in _keywords.decode(bytes(raw)):
        _check_name(name, word)


def _check_windows(name: str, raw: msgspec.Raw) -> None:
    for window in _windows.decode(bytes(raw)):
        _check_name(name, window.text)
        try:
            ends = [from_us(us) for us in (window.start_us, window.end_us) if us is not None]
        except OverflowError:
            raise ValidationError(name, "another year", "times in the years 1-9999") from None
        if ends != sorted(ends):
            raise ValidationError(name, "an end before its start", "windows that end later")


def _check_attributes(name: str, raw: msgspec.Raw) -> None:
    _named(name, lambda value: plain_object(name, value), _metadata.decode(bytes(raw)))


def _check_snippet(name: str, text: str) -> None:
    if len(text) > SNIPPET_CHARS_MAX:
        raise ValidationError(name, f"{len(text)} characters", f"at most {SNIPPET_CHARS_MAX}")
    label(name, text)
    if text != single_spaced(text):
        raise ValidationError(
            name, "another text", "a text on one line, in NFC, with single spaces"
        )


def _check_counts(name: str, raw: msgspec.Raw) -> None:
    if any(count < 0 for count in _counts.decode(bytes(raw)).values()):
        raise ValidationError(name, "a number below 0", "numbers from 0")


def _check_edge(record: EdgeRecord) -> None:
    wanted = ""
    if record.edge_type is EdgeType.RELATION:
        wanted = relation_label(record.relation)
    if record.relation != wanted:
        shown = f"{len(record.relation)} characters"
        raise ValidationError("relation", shown, "the label of a RELATION in capitals, else none")
    if record.t_valid is not None and record.t_invalid is not None:
        check_validity(
            parse_time(record.t_valid, "t_valid"), parse_time(record.t_invalid, "t_invalid")
        )


_CHECKS: Final[dict[type[Record], dict[str, _Check]]] = {
    SourceRecord: {"path": label, "agent": label, "session_id": label},
    MemoryRecord: {
        "scope": lambda name, value: label(name, value, SCOPE_CHARS_MAX),
        "author": label,
        "session_id": label,
        "sequence": _as(sequence_number),
        "title": label,
        "pinned_reason": _as(reason_argument),
        "keywords": _check_keywords,
        "times": _check_windows,
        "metadata": _check_metadata,
    },
    ClaimRecord: {
        "subject": _check_name,
        "fact_type": _check_name,
        "object": _check_name,
        "object_type": _check_name,
        "relationship_type": _check_name,
        "attributes": _check_attributes,
    },
    EvidenceRecord: {"author": label, "snippet": _check_snippet},
    JobRecord: {
        "kind": _check_name,
        "batch_id": lambda name, value: _check_name(name, value, SCOPE_CHARS_MAX),
    },
    RequestLogRecord: {"route": _check_name, "reason": label, "counts": _check_counts},
    EventRecord: {
        "source": _as(source_text),
        "actor": label,
        "artifact_ref": label,
    },
    EntityRecord: {"canonical_name": _check_name, "entity_type": _check_name},
    QuestionRecord: {"text": label},
    SupersessionRecord: {"reason": _as(reason_argument)},
    TombstoneRecord: {"actor": label},
}
