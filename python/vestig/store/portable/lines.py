"""The lines of an export, and their fields as columns of the ledger."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from hashlib import sha256
from typing import Any, Final

import msgspec

from vestig.arguments import parse_time
from vestig.changes import StoredWindow
from vestig.errors import ValidationError
from vestig.ids import is_full_id
from vestig.ports import Pieces, are_pieces, is_finite
from vestig.store.ledger.graph_rows import StoredAlias
from vestig.store.ledger.schema import NO_QUESTION
from vestig.store.portable.records import (
    EdgeRecord,
    EntityRecord,
    EntityVectorRecord,
    EventRecord,
    Header,
    JobRecord,
    MemoryRecord,
    QuestionRecord,
    Record,
    SourceRecord,
    SupersessionRecord,
    TokenVectorsRecord,
    TombstoneRecord,
    VectorRecord,
)
from vestig.times import format_us

__all__ = [
    "EXPORT_SCHEMA",
    "columns_of",
    "decode_line",
    "encode_line",
    "fields_of",
]

EXPORT_SCHEMA: Final = "vestig/export/1"
# Version 1 had no entities and no questions, version 2 no token vectors, version 3 no tombstones;
# all are read as well.
EXPORT_VERSION: Final = 4
_VERSIONS: Final = (1, 2, 3, 4)

_decoder: Final = msgspec.json.Decoder[Header | Record](Header | Record)
_encode: Final = msgspec.json.Encoder().encode

# --- columns and fields ----------------------------------------------------------------------

_AT_NAMES: Final = {
    "last_seen_us": "last_seen_at",
    "pinned_at_us": "pinned_at",
    "created_us": "created_at",
    "ingested_us": "ingested_at",
    "recorded_us": "recorded_at",
    "occurred_us": "occurred_at",
    "next_attempt_us": "next_attempt_at",
    "updated_us": "updated_at",
    "last_accessed_us": "last_accessed_at",
    "expired_us": "expired_at",
    "forgotten_us": "forgotten_at",
}
_FLAGS: Final = frozenset(("pinned", "origin_derived", "type_certain"))
_RAW: Final[dict[str, Callable[[bytes], object]]] = {
    "metadata": msgspec.json.Decoder(dict[str, Any]).decode,
    "payload": msgspec.json.Decoder(dict[str, Any]).decode,
    "keywords": msgspec.json.Decoder(tuple[str, ...]).decode,
    "times": msgspec.json.Decoder(tuple[StoredWindow, ...]).decode,
    "aliases": msgspec.json.Decoder(tuple[StoredAlias, ...]).decode,
    "counts": msgspec.json.Decoder(dict[str, int]).decode,
}


def field_name(column: str) -> str:
    """Name of a column in an export: times lose their unit, since they are written as text.

    Example:
        >>> field_name("t_valid_us"), field_name("recorded_us"), field_name("title")
        ('t_valid', 'recorded_at', 'title')
    """
    return _AT_NAMES.get(column, column.removesuffix("_us"))


def fields_of(columns: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    """Fields of a line from columns of a row; references must be ids already."""
    fields: dict[str, Any] = {}
    for column, value in zip(columns, values, strict=True):
        out = value
        if value is not None:
            if column.endswith("_us"):
                out = format_us(value)
            elif column in _RAW:
                out = msgspec.Raw(value.encode())
            elif column in _FLAGS:
                out = value == 1
            elif column == "content_hash":
                out = value.hex()
        fields[field_name(column)] = out
    return fields


def columns_of(record: Record, columns: tuple[str, ...]) -> list[Any]:
    """Values of these columns, as the ledger stores them; references stay ids.

    Raises:
        ValidationError: an unreadable time, or JSON of another shape; the field only is named.
    """
    values: list[Any] = []
    for column in columns:
        name = field_name(column)
        value = getattr(record, name)
        if value is None:
            values.append(None)
        elif column.endswith("_us"):
            values.append(parse_time(value, name))
        elif column in _RAW:
            values.append(_raw_text(name, value))
        elif column in _FLAGS:
            values.append(int(value))
        elif column == "content_hash":
            values.append(bytes.fromhex(value))
        else:
            values.append(value.value if isinstance(value, Enum) else value)
    return values


def _raw_text(name: str, raw: msgspec.Raw) -> str:
    data = bytes(raw)
    try:
        _RAW[name](data)
        return data.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValidationError(name, f"{len(data)} bytes", "JSON as an export writes it") from error


# --- lines -----------------------------------------------------------------------------------


def encode_line(record: Header | tuple[str, dict[str, Any]]) -> bytes:
    """The bytes of a header, or of (kind, fields), without a line end."""
    if isinstance(record, Header):
        return _encode(record)
    kind, fields = record
    return _encode({"record": kind, **fields})


def decode_line(line: str | bytes, number: int) -> Header | Record:
    """A line that is well formed in itself.

    Raises:
        ValidationError: names the line, never its text.
    """
    try:
        record: Header | Record = _decoder.decode(line)
        _check(record)
    except ValidationError as error:
        raise ValidationError(f"line {number}, {error.field}", error.value, error.allowed) from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        place = str(error).rpartition(" - at ")[2].strip("`") if " - at " in str(error) else "$"
        raise ValidationError(
            f"line {number}", f"something else at {place}", "a record of an export"
        ) from error
    return record


def _check(record: Header | Record) -> None:
    if isinstance(record, Header):
        if record.schema != EXPORT_SCHEMA or record.format_version not in _VERSIONS:
            shown = f"{record.schema}, version {record.format_version}"
            known = f"{_VERSIONS[0]} to {_VERSIONS[-1]}"
            raise ValidationError("schema", shown, f"{EXPORT_SCHEMA}, version {known}")
        return
    for name, prefix in _ID_FIELDS[type(record)]:
        id = getattr(record, name)
        if id is not None and not is_full_id(id, prefix):
            raise ValidationError(name, id, f"a whole id {prefix}_…")
    if isinstance(record, MemoryRecord):
        if sha256(record.content.encode()).hexdigest() != record.content_hash:
            raise ValidationError("content_hash", record.content_hash, "the hash of the content")
        _check_wseq(record)
    elif isinstance(record, EntityRecord):
        _check_wseq(record)
    elif isinstance(record, (VectorRecord, EntityVectorRecord)):
        _check_vector(record.embedding)
    elif isinstance(record, TokenVectorsRecord):
        if not are_pieces(Pieces(record.ids, record.codes, record.scales)):
            shown = f"{len(record.ids)}, {len(record.codes)} and {len(record.scales)} bytes"
            raise ValidationError("ids, codes, scales", shown, "those of 1 to 160 word pieces")
    elif isinstance(record, QuestionRecord):
        if record.position != NO_QUESTION:
            _check_vector(record.embedding)
        elif record.text or record.model or record.embedding:
            raise ValidationError("position", record.position, "a place from 0 for a question")
    elif isinstance(record, EdgeRecord) and not math.isfinite(record.weight):
        raise ValidationError("weight", record.weight, "a finite number >= 0")


def _check_wseq(record: MemoryRecord | EntityRecord) -> None:
    if record.wseq < record.seq:
        raise ValidationError("wseq", record.wseq, f"at least seq ({record.seq})")


_ID_FIELDS: Final[dict[type[Record], tuple[tuple[str, str], ...]]] = {
    SourceRecord: (("id", "source"),),
    MemoryRecord: (("id", "mem"), ("superseded_by", "mem"), ("revives", "mem")),
    VectorRecord: (("memory", "mem"),),
    EventRecord: (("id", "evt"), ("memory", "mem")),
    EdgeRecord: (("id", "edge"),),
    EntityRecord: (("id", "ent"), ("merged_into", "ent")),
    EntityVectorRecord: (("entity", "ent"),),
    QuestionRecord: (("memory", "mem"),),
    TokenVectorsRecord: (("memory", "mem"),),
    SupersessionRecord: (("superseding", "mem"), ("superseded", "mem")),
    JobRecord: (("id", "job"), ("memory", "mem")),
    TombstoneRecord: (("id", "mem"),),
}


def _check_vector(raw: bytes) -> None:
    if not raw or len(raw) % 4:
        raise ValidationError("embedding", f"{len(raw)} bytes", "float32 numbers, 4 bytes each")
    if not is_finite(raw):
        raise ValidationError("embedding", "NaN or infinity", "finite numbers")
