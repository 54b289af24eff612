"""The lines of an export, and their fields as columns of the ledger."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Callable
from datetime import date
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, Union

import msgspec

from vestig.arguments import parse_time
from vestig.changes import StoredWindow
from vestig.errors import ValidationError
from vestig.hints import nearest
from vestig.ids import is_full_id
from vestig.json_text import RepeatedNameError, check_distinct_names
from vestig.ports import EmbeddingIdentity, Pieces, are_pieces
from vestig.store.ledger.graph_rows import StoredAlias
from vestig.store.portable.declared import DECLARED, WRITTEN_OUT, field_name, id_fields
from vestig.store.portable.field_checks import check_fields, check_text
from vestig.store.portable.records import (
    ClaimRecord,
    EdgeRecord,
    EntityRecord,
    EntityVectorRecord,
    EventRecord,
    EvidenceRecord,
    Header,
    IdempotencyKeyRecord,
    JobRecord,
    MemoryRecord,
    ModelCallsRecord,
    QuestionRecord,
    Record,
    RequestLogRecord,
    SourceRecord,
    SupersessionRecord,
    TokenCodesRecord,
    TombstoneRecord,
    Trailer,
    VectorRecord,
)
from vestig.store.tables.memories import NO_QUESTION
from vestig.store.tables.schema import ALL, COLUMNS
from vestig.store.tables.table import Shape
from vestig.times import format_us
from vestig.types import JobState, Status

EXPORT_SCHEMA: Final = "vestig/export/1"
EXPORT_VERSION: Final = 1
# From which days of model calls are counted.
FIRST_DAY: Final = date(1970, 1, 1)
_JSON_DEPTH_MAX: Final = 64
_VECTOR_LENGTH_MAX: Final = 1e6
_UNIT_TOLERANCE: Final = 1e-3
# What the tombstone of a memory counts.
_TOMBSTONE_COUNTS: Final = ("events",)

_decoder: Final = msgspec.json.Decoder[Header | Trailer | Record](
    Union[Header, Trailer, *WRITTEN_OUT, *DECLARED]
)
_encode: Final = msgspec.json.Encoder().encode

# --- columns and fields ----------------------------------------------------------------------

# Columns by how their values stand in a line. The payload of a logged request is a text.
_SHAPES: Final = {
    column.name: column.shape
    for table in ALL
    for column in table.columns
    if column.shape is not Shape.PLAIN
}
_FLAGS: Final = frozenset(name for name, shape in _SHAPES.items() if shape is Shape.FLAG)
_HASHES: Final = frozenset(name for name, shape in _SHAPES.items() if shape is Shape.HEX)
_object: Final = msgspec.json.Decoder(dict[str, Any]).decode
_RAW: Final[dict[str, Callable[[bytes], object]]] = {
    **{
        name: msgspec.json.Decoder().decode
        for name, shape in _SHAPES.items()
        if shape is Shape.JSON
    },
    "metadata": _object,
    "payload": _object,
    "attributes": _object,
    "keywords": msgspec.json.Decoder(tuple[str, ...]).decode,
    "times": msgspec.json.Decoder(tuple[StoredWindow, ...]).decode,
    "aliases": msgspec.json.Decoder(tuple[StoredAlias, ...]).decode,
    "counts": msgspec.json.Decoder(dict[str, int]).decode,
}


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
            elif column in _HASHES:
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
        if column == "content" and isinstance(record, MemoryRecord):
            value = normal_text(record)
        if value is None:
            values.append(None)
        elif column.endswith("_us"):
            values.append(_moment(value, name))
        elif column in _RAW:
            values.append(_raw_text(name, value))
        elif column in _FLAGS:
            values.append(int(value))
        elif column in _HASHES:
            values.append(bytes.fromhex(value))
        else:
            values.append(value.value if isinstance(value, Enum) else value)
    return values


# Records of one transaction have one time.
@lru_cache(256)
def _moment(text: str, name: str) -> int:
    return parse_time(text, name)


def _raw_text(name: str, raw: msgspec.Raw) -> str:
    data = bytes(raw)
    try:
        _RAW[name](data)
        return data.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValidationError(name, f"{len(data)} bytes", "JSON as an export writes it") from error


# --- lines -----------------------------------------------------------------------------------


def encode_line(record: Header | tuple[str, dict[str, Any]]) -> bytes:
    """The bytes of a header, or of (kind, fields), without a line end."""
    if isinstance(record, Header):
        return _encode(record)
    kind, fields = record
    return _encode({"record": kind, **fields})


def encode_trailer(trailer: Trailer) -> bytes:
    """The bytes of the last line, without a line end."""
    return _encode(trailer)


def read_line(line: str | bytes) -> Header | Trailer | Record:
    """A line as a record, by its shape alone.

    Raises:
        ValidationError: it is none; the place is named, never the text.
    """
    try:
        record: Header | Trailer | Record = _decoder.decode(line)
        check_distinct_names(line)
    except RepeatedNameError as error:
        raise ValidationError("", str(error), "a record of an export") from error
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        place = str(error).rpartition(" - at ")[2].strip("`") if " - at " in str(error) else "$"
        raise ValidationError("", f"something else at {place}", "a record of an export") from error
    return record


def check_line(record: Header | Trailer | Record) -> None:
    """Check that a record is well formed in itself.

    Raises:
        ValidationError: names the field.
    """
    if isinstance(record, Header):
        if record.schema != EXPORT_SCHEMA or record.format_version != EXPORT_VERSION:
            shown = f"{record.schema}, version {record.format_version}"
            raise ValidationError("schema", shown, f"{EXPORT_SCHEMA}, version {EXPORT_VERSION}")
        return
    if isinstance(record, Trailer):
        return
    for name, prefix in _ID_FIELDS[type(record)]:
        id = getattr(record, name)
        if id is not None and not is_full_id(id, prefix):
            raise ValidationError(name, id, f"a whole id {prefix}_…")
    columns_of(record, _COLUMNS_OF[type(record)])
    check_fields(record)
    match record:
        case MemoryRecord():
            _check_memory(record)
        case EntityRecord():
            _check_wseq(record)
        case VectorRecord() | EntityVectorRecord():
            _check_vector(record.embedding)
        case TokenCodesRecord():
            if not are_pieces(Pieces(record.ids, record.codes)):
                shown = f"{len(record.ids)} and {len(record.codes)} bytes"
                raise ValidationError("ids, codes", shown, "those of 1 to 160 word pieces")
        case QuestionRecord():
            if record.position != NO_QUESTION:
                _check_vector(record.embedding)
                if not record.text.strip():
                    raise ValidationError("text", "blank", "text that is not blank")
            elif record.text or record.model or record.embedding:
                raise ValidationError("position", record.position, "a place from 0 for a question")
        case EdgeRecord():
            if not math.isfinite(record.weight):
                raise ValidationError("weight", record.weight, "a finite number >= 0")
            if (record.expired_seq > 0) != (record.t_expired is not None):
                raise ValidationError(
                    "t_expired", record.t_expired, "a time exactly where expired_seq is not 0"
                )
        case EventRecord():
            _check_depth("payload", record.payload)
        case SourceRecord():
            _check_depth("metadata", record.metadata)
        case JobRecord():
            _check_job(record)
        case EvidenceRecord():
            _check_source_id(record)
        case IdempotencyKeyRecord():
            if (record.request_hash is None) != (record.response is None):
                raise ValidationError("response", "one of them", "both with request_hash, or none")
        case TombstoneRecord():
            _check_counts(record)
        case _:
            pass


def normal_text(record: MemoryRecord) -> str:
    """The normal form of the text of a memory."""
    return record.normal if isinstance(record.normal, str) else record.content


def _check_memory(record: MemoryRecord) -> None:
    normal = normal_text(record)
    if sha256(normal.encode()).hexdigest() != record.content_hash:
        name = "content" if record.normal is msgspec.UNSET else "normal"
        raise ValidationError("content_hash", record.content_hash, f"the hash of {name}")
    if record.normal is not msgspec.UNSET and normal == record.content:
        raise ValidationError("normal", "the content", "no such field where it is the content")
    _check_wseq(record)
    check_text(normal)
    begins, ends = columns_of(record, ("t_valid_us", "t_invalid_us"))
    if ends is not None and ends < begins:
        raise ValidationError("t_invalid", record.t_invalid, f"a time from {record.t_valid} on")
    if (record.t_expired is not None) != (record.status in _EXPIRED):
        raise ValidationError(
            "t_expired", record.t_expired, "a time exactly where the status is superseded or"
            " deprecated"
        )  # fmt: skip
    if record.superseded_by is not None and record.status is not Status.SUPERSEDED:
        raise ValidationError("status", record.status.value, "superseded, as superseded_by says")


def _check_job(record: JobRecord) -> None:
    submitted = record.state is JobState.SUBMITTED
    if record.state is JobState.RUNNING:
        raise ValidationError("state", record.state.value, "pending, submitted, done or failed")
    if submitted != (record.batch_id is not None):
        raise ValidationError("batch_id", record.batch_id, "a batch exactly where it is submitted")


def _check_source_id(record: EvidenceRecord) -> None:
    id = record.source_id
    if id is not None and not is_full_id(id, "source") and not is_full_id(id, "mem"):
        raise ValidationError("source_id", id, "a whole id source_… or mem_…")
    if id is None and not record.snippet:
        raise ValidationError("snippet", "none", "a snippet where there is no source_id")


def _check_wseq(record: MemoryRecord | EntityRecord) -> None:
    if record.wseq < record.seq:
        raise ValidationError("wseq", record.wseq, f"at least seq ({record.seq})")


def _check_counts(record: TombstoneRecord) -> None:
    counts = _RAW["counts"](bytes(record.counts))
    assert isinstance(counts, dict)
    for name, count in counts.items():
        if name not in _TOMBSTONE_COUNTS:
            near = nearest(name, _TOMBSTONE_COUNTS)
            raise ValidationError(f"counts.{name}", count, f"counts.{near}, or no counts")
        if count < 0:
            raise ValidationError(f"counts.{name}", count, "a number from 0")


def _check_depth(name: str, raw: msgspec.Raw) -> None:
    """Refuses JSON that is nested too deeply: one level for each open bracket outside of texts."""
    depth = deepest = 0
    in_text = escaped = False
    data = bytes(raw)
    if data.count(b"[") + data.count(b"{") <= _JSON_DEPTH_MAX:
        return
    for byte in data:
        if in_text:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_text = False
        elif byte == 0x22:
            in_text = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    if deepest > _JSON_DEPTH_MAX:
        raise ValidationError(name, f"{deepest} levels", f"at most {_JSON_DEPTH_MAX} levels")


_ID_FIELDS: Final[dict[type[Record], tuple[tuple[str, str], ...]]] = {
    SourceRecord: (("id", "source"),),
    MemoryRecord: (("id", "mem"), ("superseded_by", "mem"), ("revives", "mem")),
    VectorRecord: (("memory", "mem"),),
    EventRecord: (("id", "evt"), ("memory", "mem")),
    EdgeRecord: (("id", "edge"),),
    EntityRecord: (("id", "ent"), ("merged_into", "ent")),
    EntityVectorRecord: (("entity", "ent"),),
    QuestionRecord: (("memory", "mem"),),
    TokenCodesRecord: (("memory", "mem"),),
    SupersessionRecord: (("superseding", "mem"), ("superseded", "mem")),
    JobRecord: (("id", "job"), ("memory", "mem")),
    TombstoneRecord: (("id", "mem"),),
    ClaimRecord: (("memory", "mem"), ("subject_id", "ent"), ("object_id", "ent")),
    EvidenceRecord: (("memory", "mem"),),
    ModelCallsRecord: (),
    IdempotencyKeyRecord: (),
    RequestLogRecord: (("id", "req"),),
    **{record: tuple(id_fields(table)) for record, table in DECLARED.items()},
}


_EXPIRED: Final = (Status.SUPERSEDED, Status.DEPRECATED)


def _read_columns(*columns: str) -> tuple[str, ...]:
    """Those of these columns whose values a line carries as text that must be read: times, and
    JSON of a shape of its own."""
    return tuple(name for name in columns if name.endswith("_us") or name in _RAW)


# The columns of a record that its shape alone does not check.
_COLUMNS_OF: Final[dict[type[Record], tuple[str, ...]]] = {
    SourceRecord: _read_columns(*COLUMNS["sources"]),
    MemoryRecord: _read_columns(*COLUMNS["memories"], "last_accessed_us"),
    VectorRecord: (),
    EventRecord: _read_columns(*COLUMNS["events"]),
    EdgeRecord: _read_columns(*COLUMNS["edges"]),
    EntityRecord: _read_columns(*COLUMNS["entities"], "last_accessed_us"),
    EntityVectorRecord: (),
    QuestionRecord: (),
    TokenCodesRecord: (),
    SupersessionRecord: _read_columns(*COLUMNS["supersessions"]),
    JobRecord: _read_columns("next_attempt_us", "created_us", "updated_us"),
    TombstoneRecord: _read_columns(*COLUMNS["tombstones"]),
    ClaimRecord: _read_columns(*COLUMNS["claims"]),
    EvidenceRecord: _read_columns(*COLUMNS["claim_evidence"]),
    ModelCallsRecord: (),
    IdempotencyKeyRecord: _read_columns("created_us"),
    RequestLogRecord: _read_columns("began_us", "counts"),
    **{record: _read_columns(*table.names) for record, table in DECLARED.items()},
}


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


def _check_vector(raw: bytes) -> None:
    if not raw or len(raw) % 4:
        raise ValidationError("embedding", f"{len(raw)} bytes", "float32 numbers, 4 bytes each")
    length = _vector_length(raw)
    if not math.isfinite(length):
        raise ValidationError("embedding", "NaN or infinity", "finite numbers")
    if length > _VECTOR_LENGTH_MAX:
        raise ValidationError("embedding", f"a length of {length:g}", "a length of at most 10^6")
