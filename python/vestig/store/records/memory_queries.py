"""Queries about memories: those of one text, when they began to hold, which are due to be pruned,
and the pages of a listing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import apsw

from vestig.changes import HOLDS_AGAIN, TurnPosition
from vestig.errors import ValidationError
from vestig.ids import id_bytes, id_text
from vestig.store.records.rows import (
    MEMORY_SELECT,
    STORING_EVENTS,
    EqualText,
    Listing,
    from_json,
    to_json,
)
from vestig.store.sqlite.connections import (
    each,
    fetch,
    known_ids,
    rows_of,
    select_in,
    store_faults,
)
from vestig.types import RetentionPolicy, Status

if TYPE_CHECKING:
    from vestig.filters import Moments
    from vestig.store.records.reads import LedgerView


def beginnings(view: LedgerView, namespace: str, ids: Sequence[str]) -> dict[str, tuple[int, str]]:
    """id → since when it holds (µs), and the normal form of its text, for those that are known."""
    keys = known_ids(ids, "mem")
    sql = "SELECT id, t_valid_us, content FROM memories WHERE +namespace = ? AND id IN (?*)"
    rows = view.fetch_in(sql, keys, namespace)
    return {keys[id]: (since, text) for id, since, text in rows}


def as_stored(view: LedgerView, namespace: str, ids: Sequence[str]) -> list[str]:
    """The ids of these memories in the order in which they were stored, within a transaction
    too."""
    with store_faults(view.where):
        rows = rows_of(view.connection, "memories", namespace, known_ids(ids, "mem"))
    return sorted(rows, key=rows.__getitem__)


def ids_with_pattern(view: LedgerView, namespace: str, pattern: re.Pattern[str]) -> list[str]:
    """Ids of the memories in whose text a pattern finds something, expired or not, ascending. Reads
    every text."""
    sql = "SELECT id, content FROM memories WHERE namespace = ? ORDER BY id"
    with store_faults(view.where):
        rows = each(view.connection, sql, (namespace,))
        return [id_text("mem", id) for id, text in rows if pattern.search(text)]


def authors_with_pattern(
    view: LedgerView, namespace: str, pattern: re.Pattern[str]
) -> dict[str, str]:
    """id → author of the memories in whose author a pattern finds something, ascending."""
    sql = "SELECT id, author FROM memories WHERE namespace = ? AND author IS NOT NULL ORDER BY id"
    with store_faults(view.where):
        rows = each(view.connection, sql, (namespace,))
        return {id_text("mem", id): author for id, author in rows if pattern.search(author)}


def referring_count(view: LedgerView, namespace: str, ids: Sequence[str]) -> int:
    """How many of these memories have a reference to where they are from, as an import gives one;
    passages of documents, whose paths are kept, are none."""
    sql = (
        "SELECT m.id FROM memories m WHERE +m.namespace = ? AND m.origin_type <> 'document'"
        ' AND EXISTS (SELECT 1 FROM events e WHERE e.memory = m."row"'
        " AND e.artifact_ref IS NOT NULL) AND m.id IN (?*)"
    )
    return len(set(view.fetch_in(sql, known_ids(ids, "mem"), namespace)))


def unconfirmed_with_text(
    view: LedgerView, namespace: str, scope: str | None, content_hash: str
) -> list[str]:
    """Ids of the statements of models with this text that are neither expired nor confirmed."""
    sql = (
        "SELECT id FROM memories WHERE content_hash = ? AND namespace = ? AND scope IS ?"
        " AND confirmed = 0 AND t_expired_us IS NULL ORDER BY id"
    )
    rows = view.fetch(sql, (bytes.fromhex(content_hash), namespace, scope))
    return [id_text("mem", id) for (id,) in rows]


def unconfirmed(view: LedgerView, namespace: str, ids: Sequence[bytes]) -> set[bytes]:
    """Those of these memories (ids of 16 bytes) that a model stated and nobody confirmed."""
    sql = "SELECT id FROM memories WHERE +namespace = ? AND confirmed = 0 AND id IN (?*)"
    return {id for (id,) in view.fetch_in(sql, ids, namespace)}


# Microseconds, and the transaction that stored it.
SaidAgain = tuple[int, int]


def said_again(
    view: LedgerView, namespace: str, moments: Moments, ids: Sequence[bytes]
) -> dict[bytes, SaidAgain]:
    """Id of 16 bytes → when it was said last that it holds, of those that were said again at a
    time of their own."""
    sql = (
        "SELECT m.id, MAX(e.occurred_us), MAX(e.seq) FROM memories m"
        ' JOIN events e ON e.memory = m."row" AND e.recorded_us <= ? AND e.occurred_us <= ?'
        " AND e.event_type IN ('REINFORCE_EXACT', 'REINFORCE_NEAR')"
        f" AND instr(e.payload, '\"{HOLDS_AGAIN}\":') > 0"
        ' WHERE +m.namespace = ? AND m.reinforce_count > 0 AND m.id IN (?*) GROUP BY m."row"'
    )
    times = (moments.known_at_us, moments.holding_at_us, namespace)
    rows = view.fetch_in(sql, ids, *times)
    return {id: (at_us, seq) for id, at_us, seq in rows}


class OfKey(NamedTuple):
    """The value of a key. Attributes:
    slot: scope and key.
    begins_us: since when it holds; `ends_us`: until when, or None.
    """

    slot: tuple[str | None, str]
    begins_us: int
    ends_us: int | None

    def holds(self, at_us: int) -> bool:
        """Return whether it has begun and not ended."""
        return self.begins_us <= at_us and (self.ends_us is None or at_us < self.ends_us)


def values_of_keys(view: LedgerView, namespace: str, ids: Sequence[bytes]) -> dict[bytes, OfKey]:
    """Id of 16 bytes → scope, key and times of those that have a key."""
    sql = (
        "SELECT id, scope, key, t_valid_us, t_invalid_us FROM memories"
        " WHERE +namespace = ? AND key IS NOT NULL AND id IN (?*)"
    )
    rows = view.fetch_in(sql, ids, namespace)
    return {id: OfKey((scope, key), *times) for id, scope, key, *times in rows}


_KINDS: Final = ", ".join(f"'{kind}'" for kind in sorted(STORING_EVENTS))
_STATED: Final = (
    'SELECT DISTINCT m.id, e.source FROM memories m JOIN events e ON e.memory = m."row"'
    f" WHERE e.event_type IN ({_KINDS}) AND +m.namespace = ? AND m.id IN (?*)"
)


def stated_sources(view: LedgerView, namespace: str, ids: Sequence[str]) -> dict[str, set[str]]:
    """id → the source words of all events that stated its text, of the known ones."""
    found: dict[str, set[str]] = {}
    for id, source in view.fetch_in(_STATED, known_ids(ids, "mem"), namespace):
        found.setdefault(id_text("mem", id), set()).add(source)
    return found


_SUPERSEDED: Final = f"status = '{Status.SUPERSEDED.value}'"


def _replaced_by_then(moment: str) -> str:
    """The SQL of what was superseded by a moment and does not hold from then on: what waits for an
    announced successor holds until that begins."""
    ended = f"t_invalid_us IS NULL OR t_invalid_us <= MAX(t_valid_us, {moment})"
    return f"({_SUPERSEDED} AND t_expired_us <= {moment} AND ({ended}))"


# ?1: the namespace; ?2: now; ?3: superseded so long ago, null = not asked for
_DUE: Final = (
    "SELECT id, t_valid_us > ?2, pinned, retention_policy, retention_until_us > ?2 FROM memories"
    " WHERE namespace = ?1 AND ((retention_until_us <= ?2"
    f" AND (retention_policy <> '{RetentionPolicy.DECISION.value}' OR {_replaced_by_then('?2')}))"
    f" OR {_replaced_by_then('?3')})"
)


class DueMemory(NamedTuple):
    """A memory that is due. `is_announced`: it has not begun to hold; `kept_by`: what keeps it:
    pinned, permanent or retention_until; None = nothing does."""

    id: str
    is_announced: bool
    kept_by: str | None


class DueTimes(NamedTuple):
    """Times by which memories are due, in microseconds: the end of their retention, and when they
    were superseded, and held no more (None = that makes none due)."""

    now_us: int
    superseded_us: int | None


def due_memories(
    view: LedgerView, namespace: str, times: DueTimes, ids: Sequence[str] | None = None
) -> list[DueMemory]:
    """Memories whose retention is over, or that were superseded long ago and hold no more since
    then, in the order in which they were stored. Of the policy `decision` only superseded ones are
    due.

    Args:
        ids: only these; None = all.
    """
    first = (namespace, *times)
    if ids is None:
        rows = view.fetch(f'{_DUE} ORDER BY "row"', first)
    else:
        rows = view.fetch_in(f"{_DUE} AND id IN (?*)", known_ids(ids, "mem"), *first)
    return [
        DueMemory(id_text("mem", id), bool(announced), _kept_by(*kept))
        for id, announced, *kept in rows
    ]


def count_all(view: LedgerView, namespace: str) -> int:
    """How many memories a namespace has, whatever their status."""
    sql = "SELECT COUNT(*) FROM memories WHERE namespace = ?"
    ((count,),) = view.fetch(sql, (namespace,))
    return int(count)


def _kept_by(pinned: int, policy: str, protected: int | None) -> str | None:
    if pinned:
        return "pinned"
    if policy == RetentionPolicy.PERMANENT.value:
        return "permanent"
    return "retention_until" if protected else None


def embedded_rows(conn: apsw.Connection) -> list[int]:
    """Rows of the memories that have a vector."""
    return [row for (row,) in fetch(conn, "SELECT memory FROM vectors")]


def embedded_texts(
    conn: apsw.Connection, rows: Sequence[int]
) -> list[tuple[int, bytes, str | None, str, bytes]]:
    """(row, id, author, normal form of the text, vector) of these memories, by row."""
    sql = (
        'SELECT m."row", m.id, m.author, m.content, v.embedding FROM memories m'
        ' JOIN vectors v ON v.memory = m."row" WHERE m."row" IN (?*)'
    )
    return sorted(select_in(conn, sql, rows))


# The expressions of the index of texts, so that a text that many turns repeat is found in it.
_SAME_TEXT: Final = (
    "m.content_hash = ? AND m.namespace = ? AND (m.scope IS NULL) = ? AND IFNULL(m.scope, '') = ?"
    " AND (m.author IS NULL) = ? AND IFNULL(m.author, '') = ?"
)
_UNEXPIRED: Final = (
    "(CASE WHEN m.t_expired_us IS NULL AND m.\"key\" IS NULL AND instr(m.content, '[secret:') = 0"
    ' THEN 0 ELSE m."row" END) = 0'
)
_AT_POSITION: Final = (
    "(m.session_id IS NULL) = 0 AND IFNULL(m.session_id, '') = ?"
    " AND (m.session_id IS NULL OR m.sequence IS NULL) = ?"
    " AND (CASE WHEN m.session_id IS NULL THEN 0 ELSE IFNULL(m.sequence, 0) END) = ?"
)
_NOTE_OR_EXPIRED: Final = "(m.session_id IS NULL OR m.t_expired_us IS NOT NULL)"
_EQUAL: Final = (
    "SELECT h.id, m.id, m.session_id, m.sequence, m.t_valid_us FROM memories h"
    " JOIN memories m ON m.content_hash = h.content_hash AND m.namespace = h.namespace"
    ' AND m.scope IS h.scope AND m.author IS h.author AND m."row" <> h."row"'
    " AND IFNULL(m.t_expired_us <= ?1, 0) = IFNULL(h.t_expired_us <= ?1, 0)"
    " AND m.t_invalid_us IS h.t_invalid_us"
    ' WHERE +h.namespace = ?2 AND h.id IN (?*) ORDER BY m.t_valid_us, m."row"'
)

# namespace, scope, author, content hash in hexadecimal
TextKey = tuple[str, str | None, str | None, str]


def _values(key: TextKey) -> tuple[Any, ...]:
    """Values of `_SAME_TEXT`."""
    namespace, scope, author, content_hash = key
    digest = bytes.fromhex(content_hash)
    return digest, namespace, scope is None, scope or "", author is None, author or ""


def at_position(key: TextKey, position: TurnPosition | None) -> tuple[str, tuple[Any, ...]]:
    """Return what follows a SELECT of memories `m` to find those with a text at a position that
    have no key, and its values; without a position notes, and expired turns."""
    place, values = _NOTE_OR_EXPIRED, _values(key)
    if position is not None:
        session, sequence = position
        place, values = _AT_POSITION, (*values, session, sequence is None, sequence or 0)
    order = 'ORDER BY m.t_expired_us IS NOT NULL, m.seq DESC, m."row" DESC'
    return f' WHERE {_SAME_TEXT} AND m."key" IS NULL AND {place} {order}', values


def first_unexpired(key: TextKey) -> tuple[str, tuple[Any, ...]]:
    """Return what `at_position` returns, for the oldest unexpired memory with a text and no key."""
    first = f'SELECT MIN(m."row") FROM memories m WHERE {_SAME_TEXT} AND {_UNEXPIRED}'
    return f' WHERE m."row" = ({first})', _values(key)


def ids_with_text(view: LedgerView, key: TextKey) -> list[bytes]:
    """Ids (16 bytes) of the unexpired memories with a text."""
    sql = f"SELECT m.id FROM memories m WHERE {_SAME_TEXT} AND m.t_expired_us IS NULL"
    return [id for (id,) in view.fetch(sql, _values(key))]


def repeated_texts(view: LedgerView, namespace: str) -> list[list[bytes]]:
    """Ids (16 bytes) of the memories of each text of a scope and author that more than one has,
    expired ones too. Reads the hashes of all memories."""
    repeated = (
        "SELECT content_hash FROM memories WHERE namespace = ?1"
        " GROUP BY content_hash HAVING COUNT(*) > 1"
    )
    sql = (
        "SELECT content_hash, scope, author, id FROM memories"
        f' WHERE namespace = ?1 AND content_hash IN ({repeated}) ORDER BY "row"'
    )
    found: dict[tuple[Any, ...], list[bytes]] = {}
    with store_faults(view.where):
        for *key, id in each(view.connection, sql, (namespace,)):
            found.setdefault(tuple(key), []).append(id)
    return [ids for ids in found.values() if len(ids) > 1]


def equal_texts(
    view: LedgerView, namespace: str, ids: Sequence[str], known_at_us: int
) -> dict[str, list[EqualText]]:
    """id → the other memories of its scope and author with its content hash, that are expired at
    this time if it is, and unexpired if it is, and have its end; by `t_valid`, oldest first. Only
    those that have any."""
    keys = known_ids(ids, "mem")
    found: dict[str, list[EqualText]] = {}
    for id, other, session_id, sequence, t_valid_us in view.fetch_in(
        _EQUAL, keys, known_at_us, namespace
    ):
        equal = EqualText(id_text("mem", other), session_id, sequence, t_valid_us)
        found.setdefault(keys[id], []).append(equal)
    return found


# Row of a memory → its end as known at an earlier moment, where it was written after it.
KnownEnds = dict[int, int | None]

_ORDER: Final[dict[str, tuple[str, ...]]] = {
    "created_at": ("m.t_created_us",),
    "t_created": ("m.t_created_us",),
    "last_seen_at": ("m.last_seen_us",),
    "access_count": ("IFNULL(a.access_count, 0)",),
    "last_accessed_at": ("a.last_accessed_us",),
    "t_valid": ("m.t_valid_us",),
    "session": ("m.session_id", "m.sequence", "m.t_valid_us"),
}
# In whichever direction, notes outside any conversation and turns without a position come last.
_LAST: Final = ("m.session_id", "m.sequence")
_FEW: Final = 1_000
_ACCESS: Final = ("access_count", "last_accessed_at")
# `known_ends` has the end as known at the earlier moment, for memories whose end was written after
# it.
_ENDS: Final = "(SELECT CAST(key AS INTEGER) AS memory, value AS t FROM json_each(?)) AS known_ends"


class _Where:
    """Conditions and their values, in step."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, condition: str, *values: Any) -> None:
        self.parts.append(condition)
        self.values.extend(values)


def page_sql(namespace: str, listing: Listing, ends: KnownEnds) -> tuple[str, list[Any]]:
    """Statement and values of one page.

    Raises:
        ValidationError: an unknown order.
    """
    if listing.order_by not in _ORDER:
        raise ValidationError("order_by", listing.order_by, f"one of {', '.join(_ORDER)}")
    joins, where = _conditions(namespace, listing, ends)
    direction = "DESC" if listing.descending else "ASC"
    limit = -1 if listing.limit is None else listing.limit
    keys = [
        f"{column} {direction}{' NULLS LAST' if column in _LAST else ''}"
        for column in _ORDER[listing.order_by]
    ]
    order = f" ORDER BY {', '.join(keys)}, m.id"
    if listing.order_by in _ACCESS:
        joins = f' LEFT JOIN access a ON a.memory = m."row"{joins}'
    # Sorting row numbers is cheaper than sorting whole memories.
    page = (
        f'SELECT m."row" FROM memories m{joins} WHERE {" AND ".join(where.parts)}{order}'
        " LIMIT ? OFFSET ?"
    )
    sql = f'{MEMORY_SELECT} WHERE m."row" IN ({page}){order}'
    return sql, [*where.values, limit, listing.offset]


def ids_sql(namespace: str, listing: Listing, ends: KnownEnds) -> tuple[str, list[Any]]:
    """Statement and values of the ids of a full listing, ascending."""
    joins, where = _conditions(namespace, listing, ends)
    sql = f"SELECT m.id FROM memories m{joins} WHERE {' AND '.join(where.parts)} ORDER BY m.id"
    return sql, where.values


def count_sql(namespace: str, listing: Listing, ends: KnownEnds) -> tuple[str, list[Any]]:
    """Statement and values of the number of a full listing."""
    joins, where = _conditions(namespace, listing, ends)
    sql = f"SELECT COUNT(*) FROM memories m{joins} WHERE {' AND '.join(where.parts)}"
    return sql, where.values


def _conditions(namespace: str, listing: Listing, ends: KnownEnds) -> tuple[str, _Where]:
    where = _Where()
    joins = ""
    t_invalid = "m.t_invalid_us"
    if ends:
        joins = f' LEFT JOIN {_ENDS} ON known_ends.memory = m."row"'
        where.values.append(to_json({str(row): end for row, end in ends.items()}))
        t_invalid = (
            "(CASE WHEN known_ends.memory IS NULL THEN m.t_invalid_us ELSE known_ends.t END)"
        )
    # A few ids are looked up one by one; for many the namespace is read in its order.
    few = listing.ids is not None and len(listing.ids) <= _FEW
    where.add("+m.namespace = ?" if few else "m.namespace = ?", namespace)
    for column, values in listing.columns.items():
        where.add(f'm."{column}" IN ({_placeholders(len(values))})', *values)
    if listing.ids is not None:
        if listing.ids:
            where.add("m.id IN (SELECT value FROM carray(?))", apsw.carray(listing.ids))
        else:
            where.add("0")
    _add_time(where, listing, t_invalid)
    return joins, where


def _add_time(where: _Where, listing: Listing, t_invalid: str) -> None:
    known, valid = listing.known_at_us, listing.valid_at_us
    if known is not None:
        where.add("m.t_created_us <= ?", known)
    if valid is not None:
        where.add(f"m.t_valid_us <= ? AND ({t_invalid} IS NULL OR {t_invalid} > ?)", valid, valid)
    if listing.statuses is None:
        return
    words = [status.value for status in listing.statuses]
    wanted = f"IN ({_placeholders(len(words))})"
    if known is None:
        status, values = f"m.status {wanted}", list[Any](words)
    else:
        # The status at the earlier moment: whatever expired later was still active or archived.
        status = (
            "(CASE WHEN m.t_expired_us IS NULL OR m.t_expired_us <= ? THEN m.status"
            f" ELSE 'active' END) {wanted}"
        )
        values = [known, *words]
    if valid is not None and Status.ACTIVE in listing.statuses:
        # An expired fact with an end stays true history.
        status += f" OR (m.t_expired_us IS NOT NULL AND {t_invalid} IS NOT NULL)"
    if listing.announced_at_us is not None:
        # What is announced has not begun: what it replaces holds until then.
        status += f" OR (m.{_SUPERSEDED} AND {t_invalid} > ? AND {t_invalid} > m.t_valid_us)"
        values.append(listing.announced_at_us)
    where.add(f"({status})", *values)


def _placeholders(count: int) -> str:
    return ",".join("?" * count)


# Of so many memories, or scopes, values are looked at.
_LOOKED_AT: Final = 2_000


def values_of(
    view: LedgerView, namespace: str, column: str, scopes: Sequence[str] = ()
) -> list[str]:
    """The values that the newest memories have in a column, or `tag`, each once, ascending; where
    scopes are named, of the memories in these alone. Of `scope` the first ones."""
    if column == "scope":
        return _first_scopes(view, namespace)
    within = f" AND scope IN ({_placeholders(len(scopes))})" if scopes else ""
    own = "NULL" if column == "tag" else f'"{column}"'
    # the index of scopes where some are named, else that of times
    newest_first = "+t_created_us DESC" if scopes else "t_created_us DESC"
    newest = (
        f'SELECT "row", {own} AS value FROM memories WHERE namespace = ?{within}'
        f" ORDER BY {newest_first} LIMIT ?"
    )
    sql = f"SELECT DISTINCT value FROM ({newest}) WHERE value IS NOT NULL ORDER BY 1"
    if column == "tag":
        tagged = f'({newest}) n JOIN tags t ON t.memory = n."row"'
        sql = f"SELECT DISTINCT t.tag FROM {tagged} ORDER BY 1"
    return [one for (one,) in view.fetch(sql, (namespace, *scopes, _LOOKED_AT))]


def _first_scopes(view: LedgerView, namespace: str) -> list[str]:
    """Scopes of memories, each looked up after the one before it."""
    after = "SELECT MIN(scope) FROM memories WHERE namespace = ?1 AND scope >"
    sql = (
        f"WITH RECURSIVE found(scope) AS ({after} '' UNION ALL SELECT ({after} found.scope)"
        " FROM found WHERE found.scope IS NOT NULL LIMIT ?2)"
        " SELECT scope FROM found WHERE scope IS NOT NULL"
    )
    return [one for (one,) in view.fetch(sql, (namespace, _LOOKED_AT))]


def recorded_places(
    view: LedgerView, namespace: str, refs: Sequence[str]
) -> dict[str, dict[str | None, str]]:
    """artifact_ref → scope → id of the oldest memory that recorded it there."""
    sql = (
        'SELECT e."row", e.artifact_ref, m.scope, m.id FROM events e'
        ' JOIN memories m ON m."row" = e.memory'
        " WHERE +m.namespace = ? AND e.artifact_ref IN (?*)"
    )
    rows = view.fetch_in(sql, dict.fromkeys(refs), namespace)
    found: dict[str, dict[str | None, str]] = {}
    for _event, ref, scope, id in sorted(rows, key=lambda row: row[0]):
        found.setdefault(ref, {}).setdefault(scope, id_text("mem", id))
    return found


class SessionEnd(NamedTuple):
    """The last place of a session, and the latest time of its turns."""

    place: int
    time_us: int | None


def session_ends(view: LedgerView, namespace: str) -> dict[tuple[str | None, str], SessionEnd]:
    """(scope, session) → its end, of the sessions with places. Reads all memories."""
    sql = (
        "SELECT scope, session_id, MAX(sequence), MAX(t_valid_us) FROM memories"
        " WHERE namespace = ? AND session_id IS NOT NULL AND sequence IS NOT NULL"
        " GROUP BY scope, session_id"
    )
    rows = view.fetch(sql, (namespace,))
    return {(scope, session): SessionEnd(place, us) for scope, session, place, us in rows}


class SaidTurn(NamedTuple):
    """A turn as it is told from others: the hash of its text, where, who and when."""

    content_hash: str
    scope: str | None
    session_id: str
    author: str | None
    role: str | None
    time_us: int


def turns_of_texts(
    view: LedgerView, namespace: str, scope: str | None, hashes: Sequence[str]
) -> dict[SaidTurn, list[str]]:
    """Turn → ids of the memories that are it, oldest first, of those with one of these texts."""
    sql = (
        'SELECT "row", id, content_hash, session_id, author, role, t_valid_us FROM memories'
        " WHERE namespace = ? AND scope IS ? AND session_id IS NOT NULL AND content_hash IN (?*)"
    )
    keys = map(bytes.fromhex, dict.fromkeys(hashes))
    rows = sorted(view.fetch_in(sql, keys, namespace, scope))
    found: dict[SaidTurn, list[str]] = {}
    for _row, id, digest, session, author, role, us in rows:
        said = SaidTurn(digest.hex(), scope, session, author, role, us)
        found.setdefault(said, []).append(id_text("mem", id))
    return found


class StatedText(NamedTuple):
    """A memory that a reference recorded, and the hash of the text that was given with it, which a
    near-duplicate does not have."""

    memory_id: str
    content_hash: str


def recorded_texts(
    view: LedgerView, namespace: str, scope: str | None, refs: Sequence[str]
) -> dict[str, list[StatedText]]:
    """artifact_ref → what was stated under it in that scope, oldest first."""
    sql = (
        'SELECT e."row", e.artifact_ref, m.id, e.payload FROM events e'
        ' JOIN memories m ON m."row" = e.memory'
        " WHERE +m.namespace = ? AND m.scope IS ? AND e.artifact_ref IN (?*)"
    )
    rows = view.fetch_in(sql, dict.fromkeys(refs), namespace, scope)
    found: dict[str, list[StatedText]] = {}
    for _event, ref, id, payload in sorted(rows, key=lambda row: row[0]):
        stated = from_json(payload).get("content_hash", "")
        found.setdefault(ref, []).append(StatedText(id_text("mem", id), stated))
    return found


def stated_apart(view: LedgerView, namespace: str, ids: Sequence[str], ref: str) -> set[str]:
    """Those of these memories that something else than this reference states too."""
    sql = (
        "SELECT m.id FROM memories m WHERE +m.namespace = ? AND EXISTS (SELECT 1 FROM events e"
        ' WHERE e.memory = m."row" AND e.artifact_ref IS NOT ?'
        f" AND e.event_type IN ({_KINDS}))"
        " AND m.id IN (?*)"
    )
    keys = known_ids(ids, "mem")
    rows = view.fetch_in(sql, keys, namespace, ref)
    return {keys[id] for (id,) in rows}


def standing_below(
    view: LedgerView, namespace: str, scope: str | None, prefix: str
) -> dict[str, set[str]]:
    """id → the references with this beginning, of the unexpired memories that they recorded in
    that scope."""
    sql = (
        "SELECT m.id, e.artifact_ref FROM events e"
        ' JOIN memories m ON m."row" = e.memory'
        " WHERE e.artifact_ref >= ? AND e.artifact_ref < ?"
        " AND +m.namespace = ? AND m.scope IS ? AND m.t_expired_us IS NULL"
    )
    found: dict[str, set[str]] = {}
    for id, ref in view.fetch(sql, (*_beginning(prefix), namespace, scope)):
        found.setdefault(id_text("mem", id), set()).add(ref)
    return found


def references_below(view: LedgerView, namespace: str, prefix: str) -> list[tuple[str | None, str]]:
    """(scope, reference) of what was recorded under references with this beginning."""
    sql = (
        "SELECT m.scope, e.artifact_ref FROM events e"
        ' JOIN memories m ON m."row" = e.memory'
        " WHERE e.artifact_ref >= ? AND e.artifact_ref < ? AND +m.namespace = ?"
        ' ORDER BY e."row"'
    )
    with store_faults(view.where):
        return fetch(view.connection, sql, (*_beginning(prefix), namespace))


def is_stated_below(view: LedgerView, id: str, prefix: str) -> bool:
    """Return whether a reference with this beginning recorded a memory."""
    sql = (
        "SELECT 1 FROM events e WHERE e.artifact_ref >= ? AND e.artifact_ref < ?"
        ' AND e.memory = (SELECT "row" FROM memories WHERE id = ?) LIMIT 1'
    )
    return bool(view.fetch(sql, (*_beginning(prefix), id_bytes(id))))


def _beginning(prefix: str) -> tuple[str, str]:
    """The bounds of what begins so: the first, and what comes behind the last."""
    return prefix, f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}"
