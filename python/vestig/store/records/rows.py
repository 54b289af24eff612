"""Rows of memories, events and sources as values, and values as rows; the values that reads of the
ledger give, and that its queue and its log take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from vestig._core import first_mismatched_text
from vestig.changes import ChangeSet
from vestig.errors import StoreDamagedError
from vestig.ids import id_bytes, id_text
from vestig.store.tables.schema import TABLES
from vestig.store.tables.table import Column, Shape, Value
from vestig.times import from_us, to_us
from vestig.types import (
    MODEL_ROLES,
    Event,
    EventType,
    Memory,
    OriginType,
    Source,
    Status,
    TemporalWindow,
    derived_origin,
)

if TYPE_CHECKING:
    from vestig.store.records.reads import LedgerView


# An entity as name resolution reads it, a plain row because there are many for each text: id, type,
# canonical name, seq, `expired_us`, id of the entity it was merged into.
NamedEntity = tuple[str, str, str, int, int | None, str | None]


class EqualText(NamedTuple):
    """A memory that says what another one says, and where it stands."""

    id: str
    session_id: str | None
    sequence: int | None
    t_valid_us: int


class RecalledMemory(msgspec.Struct, frozen=True):
    """A stored memory as one read saw it, its text checked against its hash.

    `row`: its number, which no other memory ever gets. `replaces`: it directly replaced another
    one. `repeated`: other memories, of any scope and author, have its hash, `digest`. `t_valid_us`:
    since when it holds. `plain`: it is active and not pinned, nothing ends it, and no model stated
    it. `make` gives the
    value, and needs no store.
    """

    row: int
    id: bytes
    content: str
    processing: str
    replaces: bool
    repeated: bool
    digest: bytes
    keywords: tuple[str, ...]
    t_valid_us: int
    plain: bool
    make: Callable[[], Memory]


class EntityListing(msgspec.Struct, frozen=True, kw_only=True):
    """Which entities to list. `entity_type` as stored; `limit` None = all."""

    offset: int = 0
    limit: int | None = 20
    entity_type: str | None = None
    include_expired: bool = False


class Mentioned(msgspec.Struct, frozen=True, kw_only=True):
    """One unexpired MENTIONS edge seen from its memory."""

    memory_id: str
    entity_id: str
    confidence: float | None


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """Which memories to list or count, in what order. None = no condition; `limit` None = all."""

    offset: int = 0
    limit: int | None = 20
    statuses: tuple[Status, ...] | None = (Status.ACTIVE,)
    # one of these values in each
    columns: Mapping[str, Sequence[str | int]] = {}
    # 16 bytes each
    ids: tuple[bytes, ...] | None = None
    order_by: str = "created_at"
    descending: bool = True
    # As known at, and as valid at, an earlier moment; None = now.
    known_at_us: int | None = None
    valid_at_us: int | None = None
    # With what is superseded and holds until later than this; None = without.
    announced_at_us: int | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """An enrichment job as the ledger holds it. `batch_id`: the batch that a `submitted` one is in,
    the marker of its submission until the batch has an id."""

    id: str
    namespace: str
    memory_id: str
    kind: str
    state: str
    attempts: int
    next_attempt_us: int | None
    last_error: str | None
    batch_id: str | None = None


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a job: what it writes, or why this attempt failed. A function as `changes` decides
    inside the transaction, from its view."""

    job_id: str
    changes: ChangeSet | Callable[[LedgerView], ChangeSet | None] | None = None
    error: str | None = None


class StoredAnswer(NamedTuple):
    """The answer to a request that came with a key.

    `request_hash`: SHA-256 of route and body (32 bytes). It and `response` are None after a
    memory was forgotten that the response names: the request must not be done again, and its
    answer is gone.
    """

    key: str
    request_hash: bytes | None
    status: int
    response: str | None
    created_us: int


class UniquenessCollision(Exception):
    """The ledger refused a second unexpired memory with one text. Commit decides again."""


_encode: Final = msgspec.json.Encoder().encode
from_json: Final = msgspec.json.Decoder().decode


def to_json(value: Any) -> str:
    """JSON text of a stored value."""
    return _encode(value).decode()


class StoredWindow(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A temporal window as stored; None = open on that side, `either`: one of two that an
    expression may mean."""

    text: str
    start_us: int | None
    end_us: int | None
    grain: str
    either: bool = False


_windows: Final = msgspec.json.Decoder(tuple[StoredWindow, ...]).decode
_words: Final = msgspec.json.Decoder(tuple[str, ...]).decode

_ORIGINS: Final = {m.value: m for m in OriginType}
_EVENT: Final = {m.value: m for m in EventType}
# Events that store a text. The filters `sources` and `actors` compare the source and the actor of
# these: who withdrew or pinned a memory did not store it.
STORING_EVENTS: Final = frozenset(("ADD", "IMPORT", "REINFORCE_EXACT", "REINFORCE_NEAR"))


def origin_of(
    stored: str, derived: int, of: tuple[str | None, str | None, str | None, str | None]
) -> OriginType:
    """The origin type of a row. What was derived when it was written is derived again: the rule of
    an older version may have been another one.

    Args:
        stored, derived: its columns `origin_type` and `origin_derived`.
        of: role, author, session and title.

    Raises:
        KeyError: a word that was never written.
    """
    given = _ORIGINS[stored]
    return derived_origin(*of) if derived else given


def check_text(text: str, digest: bytes, id: bytes, where: str) -> None:
    """Checks a text of the memory with these id bytes against its SHA-256.

    Raises:
        StoreDamagedError: the text is not the one that was hashed.
    """
    if sha256(text.encode()).digest() != digest:
        raise StoreDamagedError(
            f"{where}: expected the text that was stored under {id_text('mem', id)}, its hash"
            " differs; run `vestig doctor`"
        )


# --- memories --------------------------------------------------------------------------------

# A row of a memory has the values of the fields of `Memory`, in their order, and what a read needs
# beside. Each is a column of `memories` or of `access` under its name outside of the ledger, or a
# text of SQL.
_FIELDS: Final = Memory.__struct_fields__
_TABLE: Final = TABLES["memories"]
_ACCESS: Final = {one.field_name: one for one in TABLES["access"].columns if not one.refers}
_COLUMNS: Final = {one.field_name: one for one in _TABLE.columns} | _ACCESS
_BESIDE: Final = {
    "content": "IFNULL(o.content, m.content)",
    "embedding_model": "v.model",
    # of the content
    "sha256": "IFNULL(o.sha256, m.content_hash)",
    # it has directly replaced another one
    "replaces": 'EXISTS (SELECT 1 FROM supersessions s WHERE s.superseding = m."row")',
    # others have the hash of its text
    "repeated": "EXISTS (SELECT 1 FROM memories e WHERE e.content_hash = m.content_hash"
    ' AND e."row" <> m."row")',
}
_SELECTED: Final = (*_FIELDS, "row", "sha256")
_RECALLED: Final = (*_SELECTED, "replaces", "repeated")
_AT: Final = {name: at for at, name in enumerate(_RECALLED)}


def _getter(*names: str) -> itemgetter[Any]:
    """Takes these values from a row."""
    return itemgetter(*(_AT[name] for name in names))


def _value_sql(name: str) -> str:
    """The SQL of a value of the memory `m`."""
    if name in _BESIDE:
        return _BESIDE[name]
    column = _COLUMNS[name]
    if name in _ACCESS:
        value = f'a."{column.name}"'
        return value if column.untouched is None else f"IFNULL({value}, {column.untouched!r})"
    value = f'm."{column.name}"'
    return value if not column.refers else f'(SELECT id FROM {column.refers} WHERE "row" = {value})'


def _select(names: Iterable[str], source: str = "memories m") -> str:
    return (
        f"SELECT {', '.join(map(_value_sql, names))} FROM {source}"
        ' LEFT JOIN vectors v ON v.memory = m."row"'
        ' LEFT JOIN access a ON a.memory = m."row"'
        ' LEFT JOIN original_texts o ON o.memory = m."row"'
    )


MEMORY_SELECT: Final = _select(_SELECTED)
RECALL_SELECT: Final = _select(_RECALLED)
# The same for `select_by_row`.
RECALL_SELECT_BY_ROW: Final = _select(
    _RECALLED, '(VALUES ?*) k CROSS JOIN memories m ON m."row" = k.column1'
)


def _decoded_words(text: str) -> tuple[str, ...]:
    return () if text == "[]" else _words(text)


def _decoded_windows(text: str) -> tuple[TemporalWindow, ...]:
    if text == "[]":
        return ()
    return tuple(
        TemporalWindow(
            text=one.text,
            start=None if one.start_us is None else from_us(one.start_us),
            end=None if one.end_us is None else from_us(one.end_us),
            grain=one.grain,
            either=one.either,
        )
        for one in _windows(text)
    )


def _encoded_windows(windows: Iterable[TemporalWindow]) -> str:
    return to_json(
        [
            StoredWindow(
                text=one.text,
                start_us=None if one.start is None else to_us(one.start),
                end_us=None if one.end is None else to_us(one.end),
                grain=one.grain,
                either=one.either,
            )
            for one in windows
        ]
    )


class _Form(NamedTuple):
    """Functions that make of a stored value the one of a `Memory`, and the other way; None: both
    are one."""

    decode: Callable[[Any], Any] | None
    encode: Callable[[Any], Any] | None


_PLAIN: Final = _Form(None, None)
_OF_VALUES: Final = {
    Value.WORDS: _Form(_decoded_words, to_json),
    Value.WINDOWS: _Form(_decoded_windows, _encoded_windows),
}
_OF_SHAPES: Final = {
    Shape.TIME: _Form(from_us, to_us),
    Shape.FLAG: _Form(bool, int),
    Shape.HEX: _Form(bytes.hex, bytes.fromhex),
    Shape.JSON: _Form(from_json, to_json),
}


def _form(column: Column) -> _Form:
    if column.enum is not None:
        return _Form({one.value: one for one in column.enum}.__getitem__, attrgetter("value"))
    node = column.refers or (_TABLE.name if column.name == "id" else None)
    if node is not None:
        return _Form(partial(id_text, TABLES[node].prefix or ""), id_bytes)
    of_value = None if column.value is None else _OF_VALUES.get(column.value)
    return of_value or _OF_SHAPES.get(column.shape, _PLAIN)


_FORMS: Final = {name: _form(column) for name, column in _COLUMNS.items()}


def _decoders(wanted: Callable[[Column], bool]) -> list[tuple[int, Callable[[Any], Any]]]:
    """Where a row has the values of such columns that a memory has in another form, and what makes
    them."""
    return [
        (_AT[name], decode)
        for name, (decode, _encode) in _FORMS.items()
        if name in _AT and decode is not None and wanted(_COLUMNS[name])
    ]


_DECODED: Final = _decoders(lambda _: True)
_WIDTH: Final = len(_FIELDS)
_DERIVED: Final = _AT["origin_derived"]
_ORIGIN: Final = _AT["origin_type"]
_speaker_of: Final = _getter("role", "author", "session_id", "title")
_text_of: Final = _getter("content", "sha256", "id")
# Of a row of a select above: the id, and the number of the row.
stored_id: Final = _getter("id")
stored_row: Final = _getter("row")


def memory_of(row: Sequence[Any], where: str) -> Memory:
    """A row of `MEMORY_SELECT`; `content` is the text as it was given.

    Raises:
        StoreDamagedError: the text is not the one that was hashed, or a word is unknown.
    """
    text, digest, id = _text_of(row)
    check_text(text, digest, id, where)
    return _memory(row, where)


def _memory(row: Sequence[Any], where: str) -> Memory:
    """The memory of a row whose text was checked."""
    values = list(row[:_WIDTH])
    try:
        for at, decode in _DECODED:
            value = values[at]
            if value is not None:
                values[at] = decode(value)
        if values[_DERIVED]:
            values[_ORIGIN] = derived_origin(*_speaker_of(values))
    except (KeyError, OverflowError, msgspec.MsgspecError) as error:
        raise StoreDamagedError(
            f"{where}: expected a readable row for {id_text('mem', stored_id(row))}, found a value"
            " that was never written; run `vestig doctor`"
        ) from error
    return Memory(*values)


_recalled_of: Final = _getter(
    "row", "id", "content", "processing", "replaces", "repeated", "content_hash", "t_valid"
)
# Of an active memory that is not pinned and that nothing ends, of a user or a document.
_state_of: Final = _getter("t_invalid", "t_expired", "status", "pinned", "confirmed")
_UNENDED: Final = (None, None, Status.ACTIVE.value, 0, 1)
_ROLE: Final = _AT["role"]


def recalled_of(rows: Sequence[tuple[Any, ...]], where: str) -> list[RecalledMemory]:
    """Rows of `RECALL_SELECT`: all that `memory_of` checks is checked here, so that the values can
    be made later.

    Raises:
        StoreDamagedError: as `memory_of`.
    """
    if not rows:
        return []
    keywords = _keywords_of_sound(rows)
    if keywords is None:
        # says what is wrong
        keywords = [memory_of(row, where).keywords for row in rows]
    found = []
    for row, own in zip(rows, keywords, strict=True):
        number, id, content, processing, replaces, repeated, digest, t_valid_us = _recalled_of(row)
        found.append(
            RecalledMemory(
                number, id, content, processing, replaces == 1, repeated == 1, digest, own,
                t_valid_us, _state_of(row) == _UNENDED and row[_ROLE] not in MODEL_ROLES,
                partial(_memory, row, where),
            )
        )  # fmt: skip
    return found


_WORDS: Final = _decoders(lambda one: one.enum is not None)
_JSON: Final = _decoders(lambda one: one.shape is Shape.JSON)
_TIMES: Final = _decoders(lambda one: one.shape is Shape.TIME)
_words_of: Final = itemgetter(*(at for at, _decode in _WORDS))
_times_of: Final = itemgetter(*(at for at, _decode in _TIMES))
_KEYWORDS: Final = _AT["keywords"]
_content_of: Final = _getter("content", "sha256")
_known_words: Final = set[tuple[Any, ...]]()


def _keywords_of_sound(rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, ...]] | None:
    """The keywords of each row, where the texts are those that were hashed and memories can be made
    of all rows; else None. Column by column: costs a tenth of making them."""
    if first_mismatched_text(list(map(_content_of, rows))) is not None:
        return None
    columns = tuple(zip(*rows, strict=True))
    moments = [at for column in _times_of(columns) for at in column if at is not None]
    try:
        for used in zip(*_words_of(columns), strict=True):
            if used not in _known_words:
                for (_at, decode), word in zip(_WORDS, used, strict=True):
                    if word is not None:
                        decode(word)
                # no more than there are combinations of known words
                _known_words.add(used)
        decoded = {
            at: [decode(text) for text in columns[at] if text is not None] for at, decode in _JSON
        }
        for moment in (min(moments), max(moments)):
            from_us(moment)
        return decoded[_KEYWORDS]
    except (KeyError, OverflowError, msgspec.MsgspecError):
        return None


# --- new memories, and new values of those that are stored -----------------------------------

# What a new row takes from its transaction, behind the fields of the memory.
_NEW_AT: Final = {name: at for at, name in enumerate((*_FIELDS, "salt", "row", "wseq"))}
_ENCODED: Final = [
    (_NEW_AT[one.field_name], encode)
    for one in _TABLE.columns
    if one.refers is None and one.field_name != "t_created"
    for encode in (_FORMS[one.field_name].encode,)
    if encode is not None
]
_REFERENCES: Final = [_NEW_AT[one.field_name] for one in _TABLE.columns if one.refers is not None]
_columns_of: Final = itemgetter(*(_NEW_AT[one.field_name] for one in _TABLE.columns))
_SEQ: Final = _NEW_AT["seq"]
_CREATED: Final = _NEW_AT["t_created"]


def memory_row(
    new: Memory,
    *,
    row: int,
    salt: bytes,
    seq: int,
    t_created_us: int,
    row_of: Callable[[str], int],
) -> tuple[Any, ...]:
    """The columns of a new memory, whose text is in its normal form, in the order of `COLUMNS`.

    Args:
        row_of: gives the row of another memory by its id.
    """
    values = list(msgspec.structs.astuple(new))
    for at, encode in _ENCODED:
        value = values[at]
        if value is not None:
            values[at] = encode(value)
    for at in _REFERENCES:
        if values[at] is not None:
            values[at] = row_of(values[at])
    values[_SEQ] = seq
    values[_CREATED] = t_created_us
    return tuple(_columns_of((*values, salt, row, seq)))


def stored_value(field: str, value: Any, row_of: Callable[[str], int]) -> Any:
    """A value of a field as its column has it."""
    if value is None:
        return None
    if _COLUMNS[field].refers is not None:
        return row_of(value)
    encode = _FORMS[field].encode
    return value if encode is None else encode(value)


# --- events and sources ----------------------------------------------------------------------


def event_of(row: Sequence[Any], memory_id: str) -> Event:
    """A row (id, event_type, occurred, recorded, seq, source, actor, artifact_ref, payload)."""
    id, event_type, occurred, recorded, seq, source, actor, artifact_ref, payload = row
    kind = _EVENT.get(event_type)
    if kind is None:
        raise StoreDamagedError(
            f"{memory_id}: expected events of known types, found another one in the ledger;"
            " run `vestig doctor`"
        )
    return Event(
        id=id_text("evt", id),
        memory_id=memory_id,
        event_type=kind,
        occurred_at=from_us(occurred),
        recorded_at=from_us(recorded),
        seq=seq,
        source=source,
        actor=actor,
        artifact_ref=artifact_ref,
        payload=from_json(payload),
    )


def source_of(row: Sequence[Any]) -> Source:
    """A row (id, type, created, ingested, path, agent, session_id, metadata)."""
    id, source_type, created, ingested, path, agent, session_id, metadata = row
    return Source(
        id=id_text("source", id),
        source_type=source_type,
        created_at=from_us(created),
        ingested_at=from_us(ingested),
        path=path,
        agent=agent,
        session_id=session_id,
        metadata=from_json(metadata),
    )


def holds(metadata: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Return whether metadata equals `wanted` in every key given.

    Example:
        >>> holds({"n": 1, "on": True}, {"n": 1.0}), holds({"n": 1}, {"n": True})
        (True, False)
    """
    return all(key in metadata and _same(metadata[key], value) for key, value in wanted.items())


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON values: true is not 1, but 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[k], right[k]) for k in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(_same, left, right))
    return (type(left) is type(right) and left == right) or _same_number(left, right)


def _same_number(left: Any, right: Any) -> bool:
    return isinstance(left, (int, float)) and isinstance(right, (int, float)) and left == right
