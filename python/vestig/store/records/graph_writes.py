"""Entities, hypothetical questions and edges of one write transaction; among the edges the
RELATIONs that follow from claims, from the subject of a claim to its object, where both are
entities, labelled with the type of the relationship, else of the fact.

Invariant: whatever changes what starts at a node touches that node in the chain, so that the
projection is given it again.

Invariant: a relation that follows from claims is unexpired as long as an active memory states it,
ends with the last of these, and is removed when the last claim that states it is forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import apsw

from vestig.arguments import relation_label
from vestig.changes import EdgePatch, EntityPatch, NewEdge, NewEntity, NewQuestion
from vestig.errors import Description, NotFoundError, ValidationError
from vestig.ids import id_bytes, id_text, is_full_id, new_id
from vestig.store.integrity import chain
from vestig.store.records.graph_rows import (
    NodeRows,
    StoredAlias,
    aliases_of,
    entity_row,
    merged_aliases,
)
from vestig.store.records.rows import to_json
from vestig.store.sqlite.connections import fetch, next_row, select_in
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS, EDGE_TYPES
from vestig.store.tables.memories import NO_QUESTION
from vestig.store.tables.schema import COLUMNS, INDEX, INSERT, NODE_TABLES, columns_sql

if TYPE_CHECKING:
    from vestig.store.records.removal import Removal


_Row = tuple[Any, ...]
_START: Final = tuple(f"{start}_" for start, _end in EDGE_ENDS)
_END: Final = tuple(f"{end}_" for _start, end in EDGE_ENDS)
_RELATION: Final = EDGE_CODES["RELATION"]
# whether an edge of a type starts at a memory, ends at one, and has ends of one kind
_ENDS_OF: Final = tuple((start == "mem", end == "mem", start == end) for start, end in EDGE_ENDS)
_EDGE_INSERT: Final = f"{INSERT['edges']} ON CONFLICT DO NOTHING"
_EDGE_KEY: Final = ("from_row", "edge_type", "to_row", "relation", "expired_seq")
_KEY_AT: Final = tuple(INDEX["edges"][column] for column in _EDGE_KEY)
_THIS_EDGE: Final = " AND ".join(f"{column} = ?" for column in _EDGE_KEY)
_EVERY: Final = f"SELECT {columns_sql('edges')} FROM edges"
_BETWEEN: Final = (
    f"{_EVERY} WHERE from_row = ? AND edge_type = ? AND to_row = ? AND relation = ''"
    " AND expired_seq = 0"
)
_START_TABLE: Final = tuple(NODE_TABLES.get(start) for start, _end in EDGE_ENDS)
_X: Final = INDEX["edges"]
_N: Final = INDEX["entities"]
_Q: Final = INDEX["questions"]
# What an entity's patch may set in its own row.
_PATCHED: Final = frozenset(("description", "aliases", "type_certain", "merged_into"))
_VECTOR: Final = frozenset(("model", "embedding"))


def touched_node(code: int, row: int) -> int | None:
    """The start of an edge as the chain names a touched node; None when the projection has no
    such edges. Entities are negative."""
    start = EDGE_ENDS[code][0]
    if start == "mem":
        return row
    return -row if start == "ent" else None


def delete_edges(conn: apsw.Connection, rows: Iterable[Sequence[Any]]) -> None:
    """Deletes rows of the table by their key."""
    conn.executemany(
        f"DELETE FROM edges WHERE {_THIS_EDGE}",
        [[row[at] for at in _KEY_AT] for row in rows],
    )


class GraphWriter:
    """The graph's part of a write transaction: writes under its link and adds new entities to its
    `nodes`."""

    def __init__(
        self,
        conn: apsw.Connection,
        link: chain.Link,
        nodes: NodeRows,
        *,
        seq: int,
        recorded_us: int,
        salts: chain.Salts,
    ) -> None:
        self._conn = conn
        self._link = link
        self._nodes = nodes
        self._seq = seq
        self._recorded_us = recorded_us
        self._salts = salts

    # --- entities ----------------------------------------------------------------------------

    def entities(self, entities: Sequence[NewEntity]) -> None:
        """New entities. Where an unexpired one has the key, its row is used and extended."""
        if not entities:
            return
        sql = (
            'SELECT norm_key, "row" FROM entities WHERE expired_us IS NULL AND namespace = ?'
            " AND norm_key IN (?*)"
        )
        keys = tuple(dict.fromkeys(new.norm_key for new in entities))
        known: dict[str, int] = dict(select_in(self._conn, sql, keys, (self._nodes.namespace,)))
        row = next_row(self._conn, "entities")
        rows, vectors = list[_Row](), list[_Row]()
        for new in entities:
            if new.norm_key in known:
                self._new_entities(rows, vectors)
                rows, vectors = [], []
                self._nodes.by_id[new.id] = known[new.norm_key]
                self._link.new_rows = None
                self._extend_entity(known[new.norm_key], new)
                continue
            values = entity_row(
                new,
                row=row,
                salt=self._salts.take(),
                seq=self._seq,
                created_us=self._recorded_us,
            )
            rows.append(values)
            self._nodes.by_id[new.id] = known[new.norm_key] = row
            if new.embedding is not None:
                salt = self._salts.take()
                vectors.append((salt, row, self._seq, new.model, new.embedding))
            row += 1
        self._new_entities(rows, vectors)

    def _new_entities(self, rows: Sequence[_Row], vectors: Sequence[_Row]) -> None:
        for table, new in (("entities", rows), ("entity_vectors", vectors)):
            if new:
                self._conn.executemany(INSERT[table], new)
                self._link.wrote_all(table, new)
        self._link.touched.update([-row[_N["row"]] for row in rows])

    def _extend_entity(self, row: int, new: NewEntity) -> None:
        """Adds what a second extraction of an entity knows: other names, a longer description."""
        old = self._entity(row)
        names = [alias.name for alias in aliases_of(old[_N["aliases"]])]
        more = [name for name in new.aliases if name not in names]
        longer = len(new.description) > len(old[_N["description"]])
        columns: dict[str, Any] = {}
        if more:
            columns["aliases"] = (*names, *more)
        if longer:
            columns["description"] = new.description
            if new.embedding is not None:
                columns.update(model=new.model, embedding=new.embedding)
        if columns:
            self._patch_entity(row, EntityPatch(entity_id=new.id, columns=columns))

    def _entity(self, row: int) -> tuple[Any, ...]:
        sql = f'SELECT {columns_sql("entities")} FROM entities WHERE "row" = ?'
        found: tuple[Any, ...] = fetch(self._conn, sql, (row,))[0]
        return found

    def _entity_vector(self, row: int, model: str, embedding: bytes) -> None:
        values = (self._salts.take(), row, self._seq, model, embedding)
        sql = f"SELECT {columns_sql('entity_vectors')} FROM entity_vectors WHERE entity = ?"
        old = fetch(self._conn, sql, (row,))
        if old:
            self._conn.execute("DELETE FROM entity_vectors WHERE entity = ?", (row,))
            self._link.replaced("entity_vectors", old[0], values)
        else:
            self._link.wrote("entity_vectors", values)
        self._conn.execute(INSERT["entity_vectors"], values)
        self._link.touched.add(-row)

    def entity_patches(self, changes: Sequence[EntityPatch]) -> None:
        """New values of some columns."""
        for patch in changes:
            self._patch_entity(self._nodes.row(patch.entity_id), patch)

    def _patch_entity(self, row: int, patch: EntityPatch) -> None:
        unknown = patch.columns.keys() - _PATCHED - _VECTOR
        if unknown or len(patch.columns.keys() & _VECTOR) == 1:
            named = sorted(unknown) or "model and embedding one without the other"
            raise ValueError(f"a patch cannot set {named} of entities")
        old = self._entity(row)
        new = list(old)
        for column, value in patch.columns.items():
            if column in _PATCHED:
                new[_N[column]] = self._stored(column, value, aliases_of(old[_N["aliases"]]))
        if patch.expired and new[_N["expired_us"]] is None:
            new[_N["expired_us"]] = self._recorded_us
        if new != list(old):
            new[_N["wseq"]] = self._seq
            sets = ", ".join(f'"{column}" = ?' for column in COLUMNS["entities"])
            self._conn.execute(f'UPDATE entities SET {sets} WHERE "row" = ?', (*new, row))
            self._link.replaced("entities", old, new)
            self._link.touched.add(-row)
        if "embedding" in patch.columns:
            self._entity_vector(row, patch.columns["model"], patch.columns["embedding"])

    def _stored(self, column: str, value: Any, aliases: tuple[StoredAlias, ...]) -> Any:
        if column == "aliases":
            return to_json(merged_aliases(aliases, value, self._recorded_us))
        if column == "type_certain":
            return int(value)
        if column == "merged_into":
            return None if value is None else self._nodes.row(value)
        return value

    # --- questions ---------------------------------------------------------------------------

    def questions(self, questions: Sequence[NewQuestion], tried: Sequence[str]) -> None:
        """The questions of a memory take the place of all it had; `tried` alone leaves [] where
        nothing was."""
        ordered = sorted(questions, key=lambda new: new.memory_id)
        number = next_row(self._conn, "questions") if ordered or tried else 0
        for id, group in groupby(ordered, key=lambda new: new.memory_id):
            memory = self._nodes.row(id)
            self._drop_questions(memory)
            for new in sorted(group, key=lambda new: new.position):
                place = (number, memory, new.position, self._seq)
                self._question((*place, new.text, new.model, new.embedding))
                number += 1
        for id in dict.fromkeys(tried):
            memory = self._nodes.row(id)
            if not fetch(self._conn, "SELECT 1 FROM questions WHERE memory = ? LIMIT 1", (memory,)):
                self._question((number, memory, NO_QUESTION, self._seq, "", "", b""))
                number += 1

    def _drop_questions(self, memory: int) -> None:
        if memory in self._nodes.new_memories:
            return
        sql = f"SELECT {columns_sql('questions')} FROM questions WHERE memory = ?"
        for old in fetch(self._conn, sql, (memory,)):
            self._conn.execute('DELETE FROM questions WHERE "row" = ?', (old[_Q["row"]],))
            self._link.removed("questions", old)

    def _question(self, columns: tuple[Any, ...]) -> None:
        values = (self._salts.take(), *columns)
        self._conn.execute(INSERT["questions"], values)
        self._link.wrote("questions", values)
        self._link.touched.add(values[_Q["memory"]])

    # --- edges -------------------------------------------------------------------------------

    def expire_edges(self, ids: Sequence[str]) -> None:
        """Ends these edges; one that ended before stays as it is.

        Raises:
            NotFoundError: an edge that the namespace does not hold.
        """
        if not ids:
            return
        found = self._edges_by_id(ids)
        for id in dict.fromkeys(ids):
            old = found.get(id)
            if old is None:
                raise NotFoundError("Edge", id)
            if old[_X["expired_seq"]]:
                continue
            self._replace_edge(old, expired_seq=self._seq, t_expired_us=self._recorded_us)

    def patch_edges(self, changes: Sequence[EdgePatch]) -> None:
        """New values of unexpired edges, found by their ends."""
        for patch in changes:
            code = EDGE_CODES[patch.edge_type]
            ends = (self._nodes.row(patch.from_id), code, self._nodes.row(patch.to_id))
            for old in fetch(self._conn, _BETWEEN, ends):
                if patch.expired:
                    self._replace_edge(old, expired_seq=self._seq, t_expired_us=self._recorded_us)
                    continue
                self._replace_edge(
                    old,
                    # The seq of a row names the link that wrote it.
                    seq=self._seq,
                    salt=None if patch.evidence is None else self._salts.take(),
                    weight=patch.weight + 0.0,
                    confidence=None if patch.confidence is None else patch.confidence + 0.0,
                    evidence=patch.evidence,
                )

    def _replace_edge(self, old: Sequence[Any], **columns: Any) -> None:
        new = list(old)
        for column, value in columns.items():
            new[_X[column]] = value
        sets = ", ".join(f"{column} = ?" for column in columns)
        self._conn.execute(
            f"UPDATE edges SET {sets} WHERE {_THIS_EDGE}",
            (*columns.values(), *(old[at] for at in _KEY_AT)),
        )
        self._link.replaced("edges", old, new)
        self._touch_start(new)

    def _edges_by_id(self, ids: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """Edges of the namespace."""
        keys = tuple({id_bytes(id) for id in ids if is_full_id(id, "edge")})
        by_table: dict[str | None, list[tuple[Any, ...]]] = {}
        for row in select_in(self._conn, f"{_EVERY} WHERE id IN (?*)", keys):
            by_table.setdefault(_START_TABLE[row[_X["edge_type"]]], []).append(row)
        by_table.pop(None, None)
        found: dict[str, tuple[Any, ...]] = {}
        for table, edges in by_table.items():
            sql = f'SELECT "row" FROM {table} WHERE +namespace = ? AND "row" IN (?*)'
            numbers = tuple({edge[_X["from_row"]] for edge in edges})
            mine = {row for (row,) in select_in(self._conn, sql, numbers, (self._nodes.namespace,))}
            found |= {id_text("edge", e[0]): e for e in edges if e[_X["from_row"]] in mine}
        return found

    def _touch_start(self, edge: Sequence[Any]) -> None:
        node = touched_node(edge[_X["edge_type"]], edge[_X["from_row"]])
        if node is not None:
            self._link.touched.add(node)

    def edges(self, edges: Sequence[NewEdge]) -> None:
        """New edges; an unexpired one between the same ends stays. Edges at a memory of this
        transaction cannot exist yet and are inserted by one statement."""
        unchecked: dict[_Row, _Row] = {}
        fresh = self._nodes.new_memories
        for new in edges:
            values = self._edge(new)
            start, code, end, _relation = key = values[2:6]
            from_memory, to_memory, same_kind = _ENDS_OF[code]
            # Two names may turn out to be one entity: then there is nothing to link.
            if key in unchecked or (same_kind and start == end):
                continue
            if (from_memory and start in fresh) or (to_memory and end in fresh):
                unchecked[key] = values
                continue
            self._conn.execute(_EDGE_INSERT, values)
            if self._conn.changes():
                self._link.wrote("edges", values)
                self._touch_start(values)
        if unchecked:
            rows = list(unchecked.values())
            self._conn.executemany(INSERT["edges"], rows)
            self._link.wrote_all("edges", rows)
            for code in {row[_X["edge_type"]] for row in rows}:
                of_type = [row for row in rows if row[_X["edge_type"]] == code]
                nodes = {touched_node(code, row[_X["from_row"]]) for row in of_type}
                self._link.touched.update(node for node in nodes if node is not None)

    def _edge(self, new: NewEdge) -> _Row:
        code, start, end = EDGE_CODES[new.edge_type], new.from_id, new.to_id
        weight, confidence, by_id = new.weight, new.confidence, self._nodes.by_id
        if (
            new.relation is not None
            or not (confidence is None or 0.0 <= confidence <= 1.0)
            or not 0.0 <= weight < math.inf
            or not start.startswith(_START[code])
            or not end.startswith(_END[code])
            or start == end
            or code == _RELATION
        ):
            _check_edge(new, code)
        if start not in by_id or end not in by_id:
            # one of these raises
            self._nodes.row(start)
            self._nodes.row(end)
        return (
            id_bytes(new.id), None if new.evidence is None else self._salts.take(),
            by_id[start], code, by_id[end], new.relation or "", 0, self._seq,
            # + 0.0 makes -0.0, which SQLite does not keep, a plain zero.
            weight + 0.0, None if confidence is None else confidence + 0.0,
            new.evidence, new.origin, None, None,
            self._recorded_us if new.t_created_us is None else new.t_created_us, None,
        )  # fmt: skip


def _check_edge(new: NewEdge, code: int) -> None:
    """Refuses an edge with ends of other kinds than its type has, with one end only, or with an
    unusable number or label.

    Raises:
        ValidationError: names the field.
    """
    ends = (new.from_id.partition("_")[0], new.to_id.partition("_")[0])
    if ends != EDGE_ENDS[code]:
        wanted = f"{EDGE_TYPES[code]} from {EDGE_ENDS[code][0]}_… to {EDGE_ENDS[code][1]}_…"
        raise ValidationError("edge", Description(f"{ends[0]}_… to {ends[1]}_…"), wanted)
    if new.from_id == new.to_id:
        raise ValidationError("edge", new.from_id, "two different ends")
    if not math.isfinite(new.weight) or new.weight < 0:
        raise ValidationError("weight", new.weight, "a finite number >= 0")
    if new.confidence is not None and not 0 <= new.confidence <= 1:
        raise ValidationError("confidence", new.confidence, "a number from 0 to 1, or null")
    if (new.relation is not None) != (EDGE_TYPES[code] == "RELATION"):
        raise ValidationError("relation", new.relation, "a label for RELATION edges only")


_C: Final = INDEX["claims"]
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
