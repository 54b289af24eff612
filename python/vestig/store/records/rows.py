"""Rows of memories, events and sources as values, and values as rows; the values that reads of the
ledger give, and that its queue and its log take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from vestig._core import first_mismatched_text
from vestig.changes import ChangeSet, NewMemory, StoredWindow
from vestig.errors import StoreDamagedError
from vestig.ids import id_bytes, id_text
from vestig.store.tables.schema import COLUMNS
from vestig.times import FIRST_US, LAST_US, from_us
from vestig.types import (
    Event,
    EventType,
    Kind,
    Memory,
    OriginType,
    RetentionPolicy,
    Role,
    Source,
    Stability,
    Status,
    TemporalWindow,
    Trigger,
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
    since when it holds. `plain`: it is active and not pinned, and nothing ends it. `make` gives the
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
    kinds: tuple[Kind, ...] | None = None
    retention_policies: tuple[RetentionPolicy, ...] | None = None
    pinned: bool | None = None
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


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the log of requests: numbers and codes. `id` is a `req_…`; `payload`, what was
    asked and answered as text, only where that is to be logged, and `began_seq` with it: the
    newest transaction when the request began."""

    id: str
    namespace: str
    route: str
    began_us: int
    duration_us: int
    status: int
    counts: dict[str, int] = {}
    confidence: float | None = None
    reason: str | None = None
    payload: str | None = None
    began_seq: int = 0


class UniquenessCollision(Exception):
    """The ledger refused a second unexpired memory with one text. Commit decides again."""


_encode: Final = msgspec.json.Encoder().encode
from_json: Final = msgspec.json.Decoder().decode
_windows: Final = msgspec.json.Decoder(tuple[StoredWindow, ...]).decode
_words: Final = msgspec.json.Decoder(tuple[str, ...]).decode

_KIND: Final = {m.value: m for m in Kind}
_ROLE: Final[dict[str | None, Role | None]] = {None: None, **{m.value: m for m in Role}}
_ORIGIN: Final = {m.value: m for m in OriginType}
_TRIGGER: Final[dict[str | None, Trigger | None]] = {None: None, **{m.value: m for m in Trigger}}
_STABILITY: Final = {m.value: m for m in Stability}
_STATUS: Final = {m.value: m for m in Status}
_RETENTION: Final = {m.value: m for m in RetentionPolicy}
_EVENT: Final = {m.value: m for m in EventType}
# Events that store a text. The filters `sources` and `actors` compare the source and the actor of
# these: who withdrew or pinned a memory did not store it.
STORING_EVENTS: Final = frozenset(("ADD", "IMPORT", "REINFORCE_EXACT", "REINFORCE_NEAR"))

# In the order of `_words_of`.
_WORDS: Final[tuple[Mapping[Any, object], ...]] = (
    _KIND,
    _ROLE,
    _ORIGIN,
    _TRIGGER,
    _STABILITY,
    _STATUS,
    _RETENTION,
)

# A memory with what other tables say of it; the first columns are those of the table.
_OWN: Final = tuple(c for c in COLUMNS["memories"] if c not in ("salt", "superseded_by", "revives"))
_SELECTED: Final = (
    "SELECT "
    + ", ".join(f'm."{column}"' for column in _OWN)
    + ", o.content, o.sha256, v.model, IFNULL(a.access_count, 0), a.last_accessed_us,"
    " IFNULL(a.processing, 'ready'),"
    ' (SELECT id FROM memories WHERE "row" = m.superseded_by),'
    ' (SELECT id FROM memories WHERE "row" = m.revives)'
)
_JOINED: Final = (
    ' LEFT JOIN vectors v ON v.memory = m."row"'
    ' LEFT JOIN access a ON a.memory = m."row"'
    ' LEFT JOIN original_texts o ON o.memory = m."row"'
)
_FROM: Final = f" FROM memories m{_JOINED}"
MEMORY_SELECT: Final = _SELECTED + _FROM
# The last columns: whether the memory has directly replaced another, and whether others have the
# hash of its text.
_RECALLED: Final = (
    f'{_SELECTED}, EXISTS (SELECT 1 FROM supersessions s WHERE s.superseding = m."row"),'
    " EXISTS (SELECT 1 FROM memories e WHERE e.content_hash = m.content_hash"
    ' AND e."row" <> m."row")'
)
RECALL_SELECT: Final = f"{_RECALLED}{_FROM}"
# The same for `select_by_row`.
RECALL_SELECT_BY_ROW: Final = (
    f'{_RECALLED} FROM (VALUES ?*) k CROSS JOIN memories m ON m."row" = k.column1{_JOINED}'
)


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
    given = _ORIGIN[stored]
    return derived_origin(*of) if derived else given


def to_json(value: Any) -> str:
    """JSON text of a stored value."""
    return _encode(value).decode()


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


def memory_of(row: Sequence[Any], where: str) -> Memory:
    """A row of `MEMORY_SELECT`; `content` is the text as it was given.

    Raises:
        StoreDamagedError: the text is not the one that was hashed, or a word is unknown.
    """
    original, id = row[35], row[1]
    if original is None:
        check_text(row[7], row[8], id, where)
    else:
        check_text(original, row[36], id, where)
    return _memory(row, where)


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
    return [
        RecalledMemory(
            row[0],
            row[1],
            row[7] if row[35] is None else row[35],
            row[40],
            row[43] == 1,
            row[44] == 1,
            row[8],
            own,
            row[19],
            _plain_of(row) == _PLAIN,
            partial(_memory, row, where),
        )
        for row, own in zip(rows, keywords, strict=True)
    ]


# kind, role, origin type, trigger, stability, status, retention policy
_words_of: Final = itemgetter(6, 10, 14, 18, 23, 26, 30)
_known_words: Final = set[tuple[Any, ...]]()
# end of validity, when it expired, status, pinned
_plain_of: Final = itemgetter(20, 22, 26, 27)
_PLAIN: Final = (None, None, Status.ACTIVE.value, 0)
_times_of: Final = itemgetter(19, 20, 21, 22, 24, 28, 31, 39)


def _keywords_of_sound(rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, ...]] | None:
    """The keywords of each row, where the texts are those that were hashed and memories can be made
    of all rows; else None. Column by column: costs a tenth of making them."""
    texts = [(row[7], row[8]) if row[35] is None else (row[35], row[36]) for row in rows]
    if first_mismatched_text(texts) is not None:
        return None
    columns = tuple(zip(*rows, strict=True))
    for used in zip(*_words_of(columns), strict=True):
        if used not in _known_words:
            if not all(word in known for word, known in zip(used, _WORDS, strict=True)):
                return None
            # no more than there are combinations of known words
            _known_words.add(used)
    moments = [at for column in _times_of(columns) for at in column if at is not None]
    try:
        keywords = list(map(_words, columns[16]))
        for metadata in columns[33]:
            if metadata != "{}":
                from_json(metadata)
        for times in columns[17]:
            if times != "[]":
                for window in _windows(times):
                    moments += [at for at in (window.start_us, window.end_us) if at is not None]
    except msgspec.MsgspecError:
        return None
    # a memory has some
    least, most = min(moments), max(moments)
    return keywords if least >= FIRST_US and most <= LAST_US else None


def _memory(row: Sequence[Any], where: str) -> Memory:
    """The memory of a row whose text was checked."""
    (
        _row, id, namespace, scope, seq, _wseq, kind, content, content_hash, author, role,
        session_id, sequence, title, origin_type, origin_derived, keywords, times, trigger,
        t_valid, t_invalid, t_created, t_expired, stability, last_seen, reinforce_count, status,
        pinned, pinned_at, pinned_reason, retention, retention_until, version, metadata, key,
        original, _hash, model, access_count, last_accessed, processing, superseded_by,
        revives, *_rest,
    ) = row  # fmt: skip
    try:
        return Memory(
            id=id_text("mem", id),
            namespace=namespace,
            scope=scope,
            seq=seq,
            kind=_KIND[kind],
            content=content if original is None else original,
            content_hash=content_hash.hex(),
            author=author,
            role=_ROLE[role],
            session_id=session_id,
            sequence=sequence,
            title=title,
            origin_type=origin_of(origin_type, origin_derived, (role, author, session_id, title)),
            origin_derived=origin_derived == 1,
            embedding_model=model,
            keywords=() if keywords == "[]" else _words(keywords),
            times=() if times == "[]" else tuple(map(_window, _windows(times))),
            trigger=_TRIGGER[trigger],
            t_valid=from_us(t_valid),
            t_invalid=None if t_invalid is None else from_us(t_invalid),
            t_created=from_us(t_created),
            t_expired=None if t_expired is None else from_us(t_expired),
            temporal_stability=_STABILITY[stability],
            last_seen_at=None if last_seen is None else from_us(last_seen),
            reinforce_count=reinforce_count,
            status=_STATUS[status],
            processing=processing,
            pinned=pinned == 1,
            pinned_at=None if pinned_at is None else from_us(pinned_at),
            pinned_reason=pinned_reason,
            retention_policy=_RETENTION[retention],
            retention_until=None if retention_until is None else from_us(retention_until),
            access_count=access_count,
            last_accessed_at=None if last_accessed is None else from_us(last_accessed),
            superseded_by=None if superseded_by is None else id_text("mem", superseded_by),
            revives=None if revives is None else id_text("mem", revives),
            version=version,
            metadata=from_json(metadata),
            key=key,
        )
    except (KeyError, OverflowError, msgspec.MsgspecError) as error:
        raise StoreDamagedError(
            f"{where}: expected a readable row for {id_text('mem', id)}, found a value that was"
            " never written; run `vestig doctor`"
        ) from error


def _window(window: StoredWindow) -> TemporalWindow:
    return TemporalWindow(
        text=window.text,
        start=None if window.start_us is None else from_us(window.start_us),
        end=None if window.end_us is None else from_us(window.end_us),
        grain=window.grain,
        either=window.either,
    )


def memory_row(
    new: NewMemory, *, row: int, salt: bytes, seq: int, t_created_us: int, revives: int | None
) -> tuple[Any, ...]:
    """The columns of a new memory in the order of `COLUMNS`."""
    return (
        salt, row, id_bytes(new.id), new.namespace, new.scope, seq, seq, new.kind.value,
        new.content, bytes.fromhex(new.content_hash), new.author, new.role, new.session_id,
        new.sequence, new.title, new.origin_type.value, int(new.origin_derived),
        to_json(new.keywords), to_json(new.times), new.trigger, new.t_valid_us,
        new.t_invalid_us, t_created_us, None, new.temporal_stability.value, None, 0,
        new.status.value, int(new.pinned), new.pinned_at_us, new.pinned_reason,
        new.retention_policy.value, new.retention_until_us, None, revives, 1,
        to_json(new.metadata), new.key,
    )  # fmt: skip


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
