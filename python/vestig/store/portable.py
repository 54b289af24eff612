"""The lines of an export: one JSON object per record (D-14).

A line carries a row of the ledger with ids in place of row numbers and times as text. Values
that the ledger keeps as JSON text (metadata, payload, keywords, times) go through as raw JSON,
so that every byte of them survives. Salts and digests stay behind: they belong to one chain.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from enum import Enum
from hashlib import sha256
from typing import Annotated, Any, Final, Literal

import msgspec

from vestig.changes import StoredWindow
from vestig.errors import ValidationError
from vestig.ids import is_full_id
from vestig.ports import EmbeddingIdentity
from vestig.times import format_us, parse_time
from vestig.types import (
    EdgeType,
    EventType,
    JobState,
    Kind,
    OriginType,
    RetentionPolicy,
    Role,
    Stability,
    Status,
    Trigger,
)

__all__ = [
    "EXPORT_SCHEMA",
    "EdgeRecord",
    "EventRecord",
    "Header",
    "JobRecord",
    "MemoryRecord",
    "Record",
    "SourceRecord",
    "SupersessionRecord",
    "VectorRecord",
    "columns_of",
    "decode_line",
    "encode_line",
    "fields_of",
]

EXPORT_SCHEMA: Final = "vestig/export/1"
EXPORT_VERSION: Final = 1

_INT_MAX: Final = 2**63 - 1
_Int = Annotated[int, msgspec.Meta(ge=-_INT_MAX, le=_INT_MAX)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=_INT_MAX)]
_Seq = Annotated[int, msgspec.Meta(ge=1, le=_INT_MAX)]
_Namespace = Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9._-]{1,64}\Z")]
_Time = str  # checked by `columns_of`, which reads it


class _Line(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="record"
):
    """Base of all lines; `record` names the kind."""


class Header(_Line, frozen=True, kw_only=True, tag="header"):
    """First line. `namespace` is null when all of the store's namespaces follow."""

    schema: str
    format_version: int
    origin: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{32}\Z")]
    seq: _Count
    namespace: _Namespace | None
    embedding: EmbeddingIdentity | None


class SourceRecord(_Line, frozen=True, kw_only=True, tag="source"):
    """A source (D-05)."""

    id: str
    namespace: _Namespace
    seq: _Seq
    source_type: str
    created_at: _Time
    ingested_at: _Time
    source_hash: str | None
    path: str | None
    agent: str | None
    session_id: str | None
    metadata: msgspec.Raw


class MemoryRecord(_Line, frozen=True, kw_only=True, tag="memory"):
    """A memory (D-01) with its access counters; the vector is a line of its own."""

    id: str
    namespace: _Namespace
    scope: str | None
    seq: _Seq
    wseq: _Seq
    kind: Kind
    content: str
    content_hash: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    author: str | None
    role: Role | None
    session_id: str | None
    sequence: _Int | None
    title: str | None
    origin_type: OriginType
    origin_derived: bool
    keywords: msgspec.Raw
    times: msgspec.Raw
    trigger: Trigger | None
    t_valid: _Time
    t_invalid: _Time | None
    t_created: _Time
    t_expired: _Time | None
    temporal_stability: Stability
    last_seen_at: _Time | None
    reinforce_count: _Count
    status: Status
    pinned: bool
    pinned_at: _Time | None
    pinned_reason: str | None
    retention_policy: RetentionPolicy
    retention_until: _Time | None
    superseded_by: str | None
    revives: str | None
    version: _Count
    metadata: msgspec.Raw
    access_count: _Count
    last_accessed_at: _Time | None
    processing: Literal["pending", "ready", "failed"]


class VectorRecord(_Line, frozen=True, kw_only=True, tag="vector"):
    """A memory's embedding: float32 little-endian, base64."""

    memory: str
    seq: _Seq
    model: str
    embedding: bytes


class EventRecord(_Line, frozen=True, kw_only=True, tag="event"):
    """An entry of the event log (D-04)."""

    id: str
    memory: str
    seq: _Seq
    recorded_at: _Time
    event_type: EventType
    occurred_at: _Time
    source: str
    actor: str | None
    artifact_ref: str | None
    payload: msgspec.Raw


class EdgeRecord(_Line, frozen=True, kw_only=True, tag="edge"):
    """An edge (D-03). `expired_seq` is 0 while it is unexpired."""

    id: str
    from_id: str
    edge_type: EdgeType
    to_id: str
    relation: str
    expired_seq: _Count
    seq: _Seq
    weight: Annotated[float, msgspec.Meta(ge=0)]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] | None
    evidence: str | None
    origin: str
    t_valid: _Time | None
    t_invalid: _Time | None
    t_created: _Time
    t_expired: _Time | None


class SupersessionRecord(_Line, frozen=True, kw_only=True, tag="supersession"):
    """`superseding` replaced `superseded` (L-03)."""

    superseding: str
    superseded: str
    reason: str
    created_at: _Time
    seq: _Seq


class JobRecord(_Line, frozen=True, kw_only=True, tag="job"):
    """An enrichment job (D-08). A running one is written as pending: leases do not travel."""

    id: str
    memory: str
    kind: str
    state: JobState
    attempts: _Count
    next_attempt_at: _Time | None
    last_error: str | None
    created_at: _Time
    updated_at: _Time


Record = (
    SourceRecord
    | MemoryRecord
    | VectorRecord
    | EventRecord
    | EdgeRecord
    | SupersessionRecord
    | JobRecord
)
_AnyLine: Any = Header | Record

_decoder: Final = msgspec.json.Decoder(_AnyLine)
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
}
_FLAGS: Final = frozenset(("pinned", "origin_derived"))
_RAW: Final[dict[str, Callable[[bytes], Any]]] = {
    "metadata": msgspec.json.Decoder(dict[str, Any]).decode,
    "payload": msgspec.json.Decoder(dict[str, Any]).decode,
    "keywords": msgspec.json.Decoder(tuple[str, ...]).decode,
    "times": msgspec.json.Decoder(tuple[StoredWindow, ...]).decode,
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
        if record.schema != EXPORT_SCHEMA or record.format_version != EXPORT_VERSION:
            shown = f"{record.schema}, version {record.format_version}"
            raise ValidationError("schema", shown, f"{EXPORT_SCHEMA}, version {EXPORT_VERSION}")
        return
    for name, prefix in _ID_FIELDS[type(record)]:
        id = getattr(record, name)
        if id is not None and not is_full_id(id, prefix):
            raise ValidationError(name, id, f"a whole id {prefix}_…")
    if isinstance(record, MemoryRecord):
        if sha256(record.content.encode()).hexdigest() != record.content_hash:
            raise ValidationError("content_hash", record.content_hash, "the hash of the content")
        if record.wseq < record.seq:
            raise ValidationError("wseq", record.wseq, f"at least seq ({record.seq})")
    elif isinstance(record, VectorRecord):
        _check_vector(record.embedding)
    elif isinstance(record, EdgeRecord) and not math.isfinite(record.weight):
        raise ValidationError("weight", record.weight, "a finite number >= 0")


_ID_FIELDS: Final[dict[type[Any], tuple[tuple[str, str], ...]]] = {
    SourceRecord: (("id", "source"),),
    MemoryRecord: (("id", "mem"), ("superseded_by", "mem"), ("revives", "mem")),
    VectorRecord: (("memory", "mem"),),
    EventRecord: (("id", "evt"), ("memory", "mem")),
    EdgeRecord: (("id", "edge"),),
    SupersessionRecord: (("superseding", "mem"), ("superseded", "mem")),
    JobRecord: (("id", "job"), ("memory", "mem")),
}


def _check_vector(raw: bytes) -> None:
    if not raw or len(raw) % 4:
        raise ValidationError("embedding", f"{len(raw)} bytes", "float32 numbers, 4 bytes each")
    # A sum of float32 in float64 overflows never, and NaN or infinity in it stay visible.
    if not math.isfinite(sum(array("f", raw))):
        raise ValidationError("embedding", "NaN or infinity", "finite numbers")
