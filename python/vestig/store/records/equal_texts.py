"""Memories of one text: those of one namespace, scope and author with one content hash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import apsw

from vestig.changes import TurnPosition
from vestig.ids import id_text
from vestig.store.records.values import EqualText
from vestig.store.sqlite.lookups import each, fetch, known_ids, select_in

# The expressions of the index of texts, so that a text that many turns repeat is found in it.
_SAME_TEXT: Final = (
    "m.content_hash = ? AND m.namespace = ? AND (m.scope IS NULL) = ? AND IFNULL(m.scope, '') = ?"
    " AND (m.author IS NULL) = ? AND IFNULL(m.author, '') = ?"
)
_UNEXPIRED: Final = (
    '(CASE WHEN m.t_expired_us IS NULL AND m."key" IS NULL THEN 0 ELSE m."row" END) = 0'
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


def ids_with_text(conn: apsw.Connection, key: TextKey) -> list[bytes]:
    """Ids of the unexpired memories with a text."""
    sql = f"SELECT m.id FROM memories m WHERE {_SAME_TEXT} AND m.t_expired_us IS NULL"
    return [id for (id,) in fetch(conn, sql, _values(key))]


def repeated_texts(conn: apsw.Connection, namespace: str) -> list[list[bytes]]:
    """Ids of the memories of each text that more than one has, expired ones too."""
    repeated = (
        "SELECT content_hash FROM memories WHERE namespace = ?1"
        " GROUP BY content_hash HAVING COUNT(*) > 1"
    )
    sql = (
        "SELECT content_hash, scope, author, id FROM memories"
        f' WHERE namespace = ?1 AND content_hash IN ({repeated}) ORDER BY "row"'
    )
    found: dict[tuple[Any, ...], list[bytes]] = {}
    for *key, id in each(conn, sql, (namespace,)):
        found.setdefault(tuple(key), []).append(id)
    return [ids for ids in found.values() if len(ids) > 1]


def equal_texts(
    conn: apsw.Connection, namespace: str, ids: Sequence[str], known_at_us: int
) -> dict[str, list[EqualText]]:
    """id → the other memories of its text, expired or unexpired at this time as it is; oldest
    first."""
    keys = known_ids(ids, "mem")
    found: dict[str, list[EqualText]] = {}
    for id, other, session_id, sequence, t_valid_us in select_in(
        conn, _EQUAL, tuple(keys), (known_at_us, namespace)
    ):
        equal = EqualText(id_text("mem", other), session_id, sequence, t_valid_us)
        found.setdefault(keys[id], []).append(equal)
    return found
