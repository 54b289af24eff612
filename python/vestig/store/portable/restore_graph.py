"""Entities, hypothetical questions and edges of an export on their way into a ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from vestig.errors import ConflictError, ValidationError
from vestig.ids import id_bytes
from vestig.store.ledger.graph_writes import touched_node
from vestig.store.ledger.schema import COLUMNS, EDGE_CODES, EDGE_ENDS, NO_QUESTION
from vestig.store.ledger.writes import SqliteTransaction
from vestig.store.portable.lines import columns_of
from vestig.store.portable.placement import Placement
from vestig.store.portable.records import (
    EdgeRecord,
    EntityRecord,
    EntityVectorRecord,
    Header,
    QuestionRecord,
    VectorRecord,
)
from vestig.store.sqlite.lookups import fetch

__all__ = ["GraphRestoration", "taken", "waiting_line"]


def taken(id: str) -> ConflictError:
    """The id belongs to another namespace of the store."""
    return ConflictError(
        f"{id}: expected an id that is free in this store, another namespace holds it;"
        " nothing was written"
    )


@contextmanager
def waiting_line(number: int, named: str, unique: str) -> Iterator[None]:
    """What a line that waited for a later one was refused for: what it names is not `named`, or
    what it brings is not `unique`."""
    try:
        yield
    except ValidationError as error:
        raise ValidationError(f"line {number}, {error.field}", error.value, named) from None
    except apsw.ConstraintError as error:
        raise ConflictError(f"line {number}: expected {unique}; nothing was written") from error


class GraphRestoration(Placement):
    """The part of a restore that is about the graph."""

    def __init__(self, txn: SqliteTransaction, *, merge: bool, namespace: str | None) -> None:
        super().__init__(txn, merge=merge, namespace=namespace)
        self._header: Header | None = None
        self._expired: Counter[tuple[Any, ...]] = Counter()
        self._merged: list[tuple[int, EntityRecord, int]] = []

    def _check_model(self, record: VectorRecord | EntityVectorRecord | QuestionRecord) -> None:
        assert self._header is not None
        known = self._header.embedding
        if known is None or (record.model, len(record.embedding)) != (
            known.model,
            4 * known.dimensions,
        ):
            shown = f"{record.model}, {len(record.embedding) // 4} dimensions"
            raise ValidationError("model", shown, "the model and dimensions of the header")

    def _check_name(self, model: str) -> None:
        assert self._header is not None
        known = self._header.embedding
        if known is None or model != known.model:
            raise ValidationError("model", model, "the model of the header")

    # --- entities ----------------------------------------------------------------------------

    def _entity(self, record: EntityRecord, number: int) -> bool:
        space = self._space(record.namespace)
        if self._merge and self._has_entity(record, space):
            return False
        if record.id in self._rows:
            raise ValidationError("id", record.id, "one line for each entity")
        row = self._rows[record.id] = self._new_row("entities")
        if record.merged_into is None or record.merged_into in self._rows:
            self._insert_entity(record, row)
        else:
            self._merged.append((number, record, row))
        return True

    def _has_entity(self, record: EntityRecord, space: str) -> bool:
        """Whether the store has this entity, by id or by its key.

        Raises:
            ConflictError: the id stands for another name.
        """
        found = fetch(
            self._conn,
            'SELECT "row", namespace, norm_key FROM entities WHERE id = ?',
            (id_bytes(record.id),),
        )
        if found and found[0][1] != space:
            raise taken(record.id)
        if found and found[0][2] != record.norm_key:
            raise ConflictError(
                f"{record.id}: expected the name that the store holds under this id, the export"
                " has another; nothing was written"
            )
        if not found and record.expired_at is None:
            sql = (
                'SELECT "row" FROM entities WHERE namespace = ? AND norm_key = ?'
                " AND expired_us IS NULL"
            )
            found = fetch(self._conn, sql, (space, record.norm_key))
        if found:
            self._rows[record.id] = found[0][0]
            self._settled.add(record.id)
        return bool(found)

    def _insert_entity(self, record: EntityRecord, row: int) -> None:
        seq, wseq = self._seq(record.seq), self._seq(record.wseq)
        into = None if record.merged_into is None else self._row(record.merged_into)
        plain = columns_of(record, COLUMNS["entities"][6:-1])
        space = self._space(record.namespace)
        values = (
            self._salts.take(), row, id_bytes(record.id), space, seq, wseq, *plain, into,
        )  # fmt: skip
        self._write("entities", values, wseq).touched.add(-row)
        counted = columns_of(record, ("access_count", "last_accessed_us"))
        if counted != [0, None]:
            self._conn.execute("INSERT INTO entity_access VALUES (?, ?, ?)", (row, *counted))

    def _insert_merged(self) -> None:
        """Entities that were merged into one of a later line."""
        for number, record, row in self._merged:
            unique = "a name that no other unexpired entity of its namespace has"
            with waiting_line(number, "an entity of this export", unique):
                self._insert_entity(record, row)

    def _entity_vector(self, record: EntityVectorRecord) -> bool:
        self._check_model(record)
        row = self._row(record.entity)
        if record.entity in self._settled:
            return False
        seq = self._seq(record.seq)
        values = (self._salts.take(), row, seq, record.model, record.embedding)
        self._write("entity_vectors", values, seq).touched.add(-row)
        return True

    # --- questions and edges -----------------------------------------------------------------

    def _question(self, record: QuestionRecord) -> bool:
        if record.position != NO_QUESTION:
            self._check_model(record)
        memory = self._row(record.memory)
        if record.memory in self._settled:
            return False
        row, seq = self._new_row("questions"), self._seq(record.seq)
        said = (record.text, record.model, record.embedding)
        values = (self._salts.take(), row, memory, record.position, seq, *said)
        self._write("questions", values, seq).touched.add(memory)
        return True

    def _edge(self, record: EdgeRecord) -> bool:
        code = EDGE_CODES[record.edge_type.value]
        ends = (record.from_id, record.to_id)
        if tuple(end.partition("_")[0] for end in ends) != EDGE_ENDS[code]:
            raise ValidationError("from_id, to_id", " → ".join(EDGE_ENDS[code]), "other ends")
        start, end = (self._row(id) for id in ends)
        # An edge between what the store had before stays as it is there; so do two names that
        # are one entity there.
        telling = [id for id in ends if id.startswith("mem_")] or list(ends)
        one = start == end and EDGE_ENDS[code][0] == EDGE_ENDS[code][1]
        if one or all(id in self._settled for id in telling):
            return False
        seq, expired = self._seq(record.seq), record.expired_seq
        key = (start, code, end, record.relation)
        if expired and not self._keep_seq:
            # Expired edges of one place stay apart by the seq that ended them.
            expired = self._seq(expired) + self._expired[key]
            self._expired[key] += 1
        plain = columns_of(record, COLUMNS["edges"][8:])
        values = (
            id_bytes(record.id), None if record.evidence is None else self._salts.take(), *key,
            expired, seq, *plain,
        )  # fmt: skip
        if self._merge and not expired:
            held = fetch(
                self._conn,
                "SELECT 1 FROM edges WHERE from_row = ? AND edge_type = ? AND to_row = ?"
                " AND relation = ? AND expired_seq = 0",
                key,
            )
            if held:
                return False
        link = self._write("edges", values, max(seq, expired))
        node = touched_node(code, start)
        if node is not None:
            link.touched.add(node)
        return True
