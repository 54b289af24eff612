"""Records of an export that a restore skips, because their memory was forgotten.

An export that was made before a forgetting still holds the memory, and the names that no other
memory mentions. Neither is restored: tombstones have the ids of forgotten memories, and entities
and sources that only such memories support are removed again before the transaction ends.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import apsw
import msgspec

from vestig.errors import ValidationError
from vestig.ids import id_bytes, id_text
from vestig.store.ledger import erase_patterns
from vestig.store.ledger.graph_removal import (
    Removal,
    TombstoneFields,
    remove_entities,
    unsupported_entities,
)
from vestig.store.ledger.removal import unsupported_sources
from vestig.store.ledger.schema import COLUMNS, INDEX
from vestig.store.portable.lines import columns_of
from vestig.store.portable.placement import Placement, id_conflict
from vestig.store.portable.records import EdgeRecord, MemoryRecord, Record, TombstoneRecord
from vestig.store.sqlite.lookups import fetch

__all__ = ["ForgottenRecords"]

_ENTITY_ROW: Final = INDEX["entities"]["row"]
# Record kinds of the tables of which rows may be removed at the end.
_KIND_OF: Final = {
    "entities": "entity", "entity_vectors": "entity_vector", "edges": "edge", "sources": "source",
}  # fmt: skip
# Fields that name a memory which the record can be without, and which it cannot.
_REFERENCES: Final = ("superseded_by", "revives")
_OF_MEMORY: Final = ("id", "memory", "from_id", "to_id", "superseding", "superseded")


class _UnrecordedRemoval(Removal):
    """Removes rows that the same transaction wrote: no other transaction has seen them, so there
    are no tombstones for them."""

    def write_tombstone(
        self, row: int, id: bytes, act: TombstoneFields, counts: dict[str, int]
    ) -> None:
        """No tombstone."""


class ForgottenRecords:
    """The tombstones of a store, and what one restore skips because of them.

    `skipped`: memories of the file that were forgotten in this store. `elsewhere`: namespace →
    memories of this store that the file says were forgotten, each once.
    """

    def __init__(self, conn: apsw.Connection, placement: Placement) -> None:
        self._conn = conn
        self._placement = placement
        found = fetch(conn, 'SELECT "row" > 0, id FROM tombstones')
        self._memories = {id_text("mem", id) for of_memory, id in found if of_memory}
        self._entities = {id_text("ent", id) for of_memory, id in found if not of_memory}
        # Memories whose tombstone the file has.
        self._restored: set[str] = set()
        # Entities and sources of which an edge was skipped.
        self._lost_edge: set[str] = set()
        self.skipped: set[str] = set()
        self.elsewhere: dict[str, dict[str, None]] = {}

    def of_memory(self, record: Record) -> bool:
        """Whether the record is a forgotten memory, or belongs to one.

        Raises:
            ValidationError: a memory of which the same file has a tombstone.
        """
        if not self._memories:
            return False
        if isinstance(record, MemoryRecord) and record.id in self._memories:
            if record.id in self._restored:
                raise ValidationError("id", record.id, "the id of no tombstone of this file")
            self.skipped.add(record.id)
        ids = [getattr(record, name, None) for name in _OF_MEMORY]
        if not any(id in self._memories for id in ids):
            return False
        if isinstance(record, EdgeRecord):
            self._lost_edge.update((record.from_id, record.to_id))
        return True

    def without_references(self, record: MemoryRecord) -> MemoryRecord:
        """The memory without its references to forgotten ones."""
        nulled = [name for name in _REFERENCES if getattr(record, name) in self._memories]
        return msgspec.structs.replace(record, **dict.fromkeys(nulled)) if nulled else record

    def tombstone(self, record: TombstoneRecord) -> bool:
        """Writes the tombstone of a memory that this store never had. A memory that it has
        stays, and is added to `elsewhere`.

        Raises:
            ValidationError: an earlier line of the file holds the memory.
            ConflictError: another namespace of the store holds the id.
        """
        place = self._placement
        space = place.namespace(record.namespace)
        if record.id in self._memories:
            return False
        if record.id in place.rows and record.id not in place.existing:
            raise ValidationError("id", record.id, "the id of no memory of this file")
        sql = "SELECT namespace FROM memories WHERE id = ?"
        found = fetch(self._conn, sql, (id_bytes(record.id),))
        if found and found[0][0] != space:
            raise id_conflict(record.id)
        if found:
            self.elsewhere.setdefault(space, {})[record.id] = None
            return False
        row, seq = place.new_row("memories"), place.seq(record.seq)
        plain = columns_of(record, COLUMNS["tombstones"][5:])
        values = (place.salt(), row, id_bytes(record.id), space, seq, *plain)
        place.write("tombstones", values, seq)
        self._memories.add(record.id)
        self._restored.add(record.id)
        return True

    def remove_unsupported(self) -> Counter[str]:
        """Removes entities and sources of the file that nothing supports, now that forgotten
        memories are skipped, and stores the erase patterns of their values; removed records by
        kind."""
        place = self._placement
        rows = {id: row for id, row in place.rows.items() if id not in place.existing}
        removed: Counter[str] = Counter()
        # Only these may lack support: nodes whose edge to a skipped memory was skipped with it, and
        # entities that were purged here while the store kept the memory that mentions them.
        if not self.skipped and self._entities.isdisjoint(rows):
            return removed
        seq = place.seq(place.next_seq)
        link = place.link(seq)
        removal = _UnrecordedRemoval(self._conn, link)
        suspect = {id: rows[id] for id in (self._lost_edge | self._entities) & rows.keys()}
        entities = sorted(row for id, row in suspect.items() if id.startswith("ent_"))
        for space in sorted(place.namespaces):
            unsupported = unsupported_entities(self._conn, space, entities)
            remove_entities(removal, unsupported, TombstoneFields(space, None, seq, 0))
        sources = sorted(row for id, row in suspect.items() if id.startswith("source_"))
        unsupported = unsupported_sources(self._conn, sources)
        removal.remove_rows("sources", removal.select("sources", "row", unsupported))
        if removal.removed_rows:
            erase_patterns.store_patterns(self._conn, seq, removal.removed_rows, ())
        entity_rows = (row for table, row in removal.removed_rows if table == "entities")
        link.touched.difference_update([-row[_ENTITY_ROW] for row in entity_rows])
        for table, count in removal.counts.items():
            if count:
                removed[_KIND_OF[table]] += count
        return removed
