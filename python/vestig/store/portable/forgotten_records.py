"""What an import leaves out because it was forgotten.

An export made before a forgetting holds the memory still, and the names that it alone mentions.
Neither comes back: the memory is told by its tombstone, and what only such memories support is
taken out again before the transaction ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import apsw
import msgspec

from vestig.errors import ValidationError
from vestig.ids import id_bytes, id_text
from vestig.store.ledger import chain, erase_patterns
from vestig.store.ledger.graph_removal import Act, Removal, orphans, remove_entities
from vestig.store.ledger.removal import unsupported_sources
from vestig.store.ledger.schema import COLUMNS, INDEX
from vestig.store.ledger.writes import SqliteTransaction
from vestig.store.portable.lines import columns_of
from vestig.store.portable.records import EdgeRecord, MemoryRecord, Record, TombstoneRecord
from vestig.store.portable.restore_graph import GraphRestoration, taken
from vestig.store.sqlite.lookups import fetch

__all__ = ["ForgottenRestoration"]

_ENTITY_ROW: Final = INDEX["entities"]["row"]
# Tables of what may be left out at the end, by the records that fill them.
_KIND_OF: Final = {
    "entities": "entity", "entity_vectors": "entity_vector", "edges": "edge", "sources": "source",
}  # fmt: skip
_POINTERS: Final = ("superseded_by", "revives")
# Where records name a memory that they cannot be without.
_OF_MEMORY: Final = ("id", "memory", "from_id", "to_id", "superseding", "superseded")


class _Unburied(Removal):
    """Removes what the same transaction brought: nobody saw it, so nothing says that it went."""

    def bury(self, row: int, id: bytes, act: Act, counts: dict[str, int]) -> None:
        """No tombstone."""


class Forgotten:
    """The tombstones of a store, and what one import leaves out because of them."""

    def __init__(self, conn: apsw.Connection) -> None:
        self._conn = conn
        found = fetch(conn, 'SELECT "row" > 0, id FROM tombstones')
        self._memories = {id_text("mem", id) for of_memory, id in found if of_memory}
        self._entities = {id_text("ent", id) for of_memory, id in found if not of_memory}
        # Those that a line of the file told of.
        self._told: set[str] = set()
        # Memories of the file that were left out.
        self.left_out: set[str] = set()
        # Entities and sources that lost an edge with one of them.
        self._lost: set[str] = set()

    def __contains__(self, memory_id: str) -> bool:
        return memory_id in self._memories

    def bury(self, memory_id: str) -> None:
        """A line says that this memory was forgotten."""
        self._memories.add(memory_id)
        self._told.add(memory_id)

    def of_memory(self, record: Record) -> bool:
        """Whether it is a forgotten memory, or belongs to one.

        Raises:
            ValidationError: a memory that a line of the same file says was forgotten.
        """
        if not self._memories:
            return False
        if isinstance(record, MemoryRecord) and record.id in self._memories:
            if record.id in self._told:
                raise ValidationError("id", record.id, "the id of no tombstone of this file")
            self.left_out.add(record.id)
        ids = [getattr(record, name, None) for name in _OF_MEMORY]
        if not any(id in self._memories for id in ids):
            return False
        if isinstance(record, EdgeRecord):
            self._lost.update((record.from_id, record.to_id))
        return True

    def pointing_nowhere(self, record: MemoryRecord) -> MemoryRecord:
        """The memory without its pointers to forgotten ones."""
        gone = [name for name in _POINTERS if getattr(record, name) in self._memories]
        return msgspec.structs.replace(record, **dict.fromkeys(gone)) if gone else record

    def leaves_suspects(self, rows: Mapping[str, int]) -> bool:
        """Whether something that this import wrote may have nothing left that supports it: what
        mentioned it was left out, or the store holds that already and purged the entity."""
        return bool(self.left_out or not self._entities.isdisjoint(rows))

    def take_out(
        self, link: chain.Link, rows: Mapping[str, int], spaces: Iterable[str], seq: int
    ) -> Counter[str]:
        """Removes entities and sources that nothing supports, now that forgotten memories are
        left out, and keeps marks of what they held; rows per table.

        Args:
            rows: id → row of the nodes that this import wrote.
        """
        removal = _Unburied(self._conn, link)
        suspect = {id: rows[id] for id in (self._lost | self._entities) & rows.keys()}
        entities = sorted(row for id, row in suspect.items() if id.startswith("ent_"))
        for space in sorted(spaces):
            alone = orphans(self._conn, space, entities)
            remove_entities(removal, alone, Act(space, None, seq, 0))
        sources = sorted(row for id, row in suspect.items() if id.startswith("source_"))
        alone = unsupported_sources(self._conn, sources)
        removal.chained("sources", removal.select("sources", "row", alone))
        if removal.gone:
            erase_patterns.remember(self._conn, seq, removal.gone, ())
        gone = {-row[_ENTITY_ROW] for table, row in removal.gone if table == "entities"}
        link.touched.difference_update(gone)
        return removal.counts


class ForgottenRestoration(GraphRestoration):
    """The part of a restore that is about what was forgotten, here or elsewhere."""

    def __init__(self, txn: SqliteTransaction, *, merge: bool, namespace: str | None) -> None:
        super().__init__(txn, merge=merge, namespace=namespace)
        self._counts: Counter[str] = Counter()
        self._present = 0
        self._forgotten = Forgotten(self._conn)
        # By namespace, each once.
        self._held: dict[str, dict[str, None]] = {}

    def _tombstone(self, record: TombstoneRecord) -> bool:
        """Forgotten elsewhere: what this store holds stays, and the report names it."""
        space = self._space(record.namespace)
        if record.id in self._forgotten:
            return False
        if record.id in self._rows and record.id not in self._settled:
            raise ValidationError("id", record.id, "the id of no memory of this file")
        sql = "SELECT namespace FROM memories WHERE id = ?"
        found = fetch(self._conn, sql, (id_bytes(record.id),))
        if found and found[0][0] != space:
            raise taken(record.id)
        if found:
            self._held.setdefault(space, {})[record.id] = None
            return False
        row, seq = self._new_row("memories"), self._seq(record.seq)
        told = columns_of(record, COLUMNS["tombstones"][5:])
        values = (self._salts.take(), row, id_bytes(record.id), space, seq, *told)
        self._write("tombstones", values, seq)
        self._forgotten.bury(record.id)
        return True

    def _leave_out_unsupported(self) -> bool:
        """Names and sources that only left-out memories support are left out with them; whether
        there were any."""
        fresh = {id: row for id, row in self._rows.items() if id not in self._settled}
        if not self._forgotten.leaves_suspects(fresh):
            return False
        seq = self._seq(self._txn.seq + 1)
        counts = self._forgotten.take_out(self._link(seq), fresh, self._spaces, seq)
        for table, count in counts.items():
            self._counts[_KIND_OF[table]] -= count
            self._present += count
        self._counts += Counter()
        return any(counts.values())
