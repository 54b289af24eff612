"""RELATION edges that follow from claims: from the subject of a claim to its object, where both are
entities, labelled with the type of the relationship, else of the fact.

Invariant: such an edge is unexpired as long as an active memory states it, ends with the last of
these, and is removed when the last claim that states it is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import apsw

from vestig.arguments import relation_label
from vestig.ids import id_bytes, new_id
from vestig.store.integrity import chain
from vestig.store.sqlite.lookups import fetch, select_in
from vestig.store.tables.graph import EDGE_CODES
from vestig.store.tables.schema import INDEX, INSERT, columns_sql

if TYPE_CHECKING:
    from vestig.store.records.removal import Removal

_X: Final = INDEX["edges"]
_C: Final = INDEX["claims"]
_RELATION: Final = EDGE_CODES["RELATION"]
_CLAIMS: Final = f"SELECT {columns_sql('claims')} FROM claims WHERE memory IN (?*)"
# An entity that was merged stands for what it was merged into.
_STANDS_FOR: Final = (
    'WITH RECURSIVE up("row", next) AS (SELECT "row", merged_into FROM entities WHERE "row" = ?'
    ' UNION SELECT e."row", e.merged_into FROM entities e JOIN up ON e."row" = up.next)'
    ' SELECT "row" FROM up WHERE next IS NULL'
)
# ?1 and ?2: the ends, each with all that was merged into it.
_MERGED: Final = (
    'WITH RECURSIVE a("row") AS (SELECT ?1 UNION SELECT e."row" FROM entities e'
    ' JOIN a ON e.merged_into = a."row"),'
    ' b("row") AS (SELECT ?2 UNION SELECT e."row" FROM entities e'
    ' JOIN b ON e.merged_into = b."row") '
)
_STATING: Final = (
    f"{_MERGED}SELECT c.fact_type, c.relationship_type, m.status FROM claims c"
    ' JOIN memories m ON m."row" = c.memory'
    ' WHERE c.subject_entity IN (SELECT "row" FROM a) AND c.object_entity IN (SELECT "row" FROM b)'
)
_EDGES: Final = (
    f"{_MERGED}SELECT {columns_sql('edges')} FROM edges"
    f' WHERE edge_type = {_RELATION} AND relation = ?3 AND from_row IN (SELECT "row" FROM a)'
    ' AND to_row IN (SELECT "row" FROM b)'
)
_IN_USE: Final = 'SELECT COUNT(*) FROM entities WHERE "row" IN (?, ?) AND expired_us IS NULL'
# The origin of such an edge; a caller's has another.
COMPUTED: Final = "computed"


class Relation(NamedTuple):
    """Rows of two entities, and how the first is related to the second."""

    subject: int
    object: int
    label: str


class Moment(NamedTuple):
    """The transaction in which edges begin and end."""

    link: chain.Link
    seq: int
    recorded_us: int


def label_of(fact_type: str, relationship_type: str | None) -> str:
    """The label of the relation that a claim states.

    Example:
        >>> label_of("works at", None), label_of("RELATED_TO", "sister")
        ('WORKS_AT', 'SISTER')
    """
    return relation_label(fact_type if relationship_type is None else relationship_type)


def stating_at(conn: apsw.Connection, seq: int) -> list[int]:
    """Memories (rows) with a claim, of which this transaction wrote a version."""
    sql = 'SELECT "row" FROM memories JOIN claims ON memory = "row" WHERE wseq = ?'
    return [row for (row,) in fetch(conn, sql, (seq,))]


def relations_at(conn: apsw.Connection, memories: Sequence[int]) -> set[Relation]:
    """Relations that the claims of these memories (rows) state."""
    return relations_of(conn, select_in(conn, _CLAIMS, memories))


def relations_of(conn: apsw.Connection, claims: Iterable[Sequence[Any]]) -> set[Relation]:
    """Relations that these claims (rows of the table) state."""
    found: set[Relation] = set()
    for row in list(claims):
        ends = (row[_C["subject_entity"]], row[_C["object_entity"]])
        if None in ends:
            continue
        subject, object = (_stands_for(conn, end) for end in ends)
        if subject is not None and object is not None and subject != object:
            label = label_of(row[_C["fact_type"]], row[_C["relationship_type"]])
            found.add(Relation(subject, object, label))
    return found


def settle(conn: apsw.Connection, relations: Iterable[Relation], moment: Moment) -> None:
    """Begins the edges of relations that an active memory states, and ends those of the others."""
    for one in sorted(relations):
        edges = [row for row in fetch(conn, _EDGES, one) if not row[_X["expired_seq"]]]
        if "active" not in _stating(conn, one):
            _end(conn, edges, moment)
        elif not edges and fetch(conn, _IN_USE, one[:2]) == [(2,)]:
            _begin(conn, one, moment)


def remove_unstated(
    removal: Removal, relations: Iterable[Relation], seq: int, recorded_us: int
) -> None:
    """Removes the edges of relations that no claim states any more, expired ones too, and ends
    those that only withdrawn memories state."""
    for one in sorted(relations):
        stating = _stating(removal.conn, one)
        edges = [row for row in fetch(removal.conn, _EDGES, one) if _is_computed(row)]
        if not stating:
            removal.remove_rows("edges", edges)
        elif "active" not in stating:
            open_ = [row for row in edges if not row[_X["expired_seq"]]]
            _end(removal.conn, open_, Moment(removal.link, seq, recorded_us))


def _stands_for(conn: apsw.Connection, row: int) -> int | None:
    found = fetch(conn, _STANDS_FOR, (row,))
    return found[0][0] if found else None


def _stating(conn: apsw.Connection, one: Relation) -> set[str]:
    """Statuses of the memories that state a relation."""
    return {
        status
        for fact_type, relationship_type, status in fetch(conn, _STATING, one[:2])
        if label_of(fact_type, relationship_type) == one.label
    }


def _is_computed(row: Sequence[Any]) -> bool:
    """Return whether an edge follows from a claim, and was not linked by a caller."""
    return bool(row[_X["origin"]] == COMPUTED)


def _begin(conn: apsw.Connection, one: Relation, moment: Moment) -> None:
    values = (
        id_bytes(new_id("edge")), None, one.subject, _RELATION, one.object, one.label, 0,
        moment.seq, 1.0, None, None, COMPUTED, None, None, moment.recorded_us, None,
    )  # fmt: skip
    conn.execute(INSERT["edges"], values)
    moment.link.wrote("edges", values)
    moment.link.touched.add(-one.subject)


def _end(conn: apsw.Connection, edges: Iterable[Sequence[Any]], moment: Moment) -> None:
    for old in edges:
        if not _is_computed(old):
            continue
        new = list(old)
        new[_X["expired_seq"]], new[_X["t_expired_us"]] = moment.seq, moment.recorded_us
        conn.execute(
            "UPDATE edges SET expired_seq = ?, t_expired_us = ? WHERE id = ? AND expired_seq = 0",
            (moment.seq, moment.recorded_us, old[_X["id"]]),
        )
        moment.link.replaced("edges", old, new)
        moment.link.touched.add(-old[_X["from_row"]])
