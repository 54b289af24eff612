"""Records of an export that a restore skips, because their memory was forgotten.

An export that was made before a forgetting still holds the memory, and the names that no other
memory mentions. Neither is restored: tombstones have the ids of forgotten memories, and the file
is read once for the entities and sources that nothing else supports before the first of its
records is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import apsw
import msgspec

from vestig.ids import id_bytes, id_text
from vestig.lazy_pattern import lazy_pattern
from vestig.store.portable.declared import DECLARED, required_fields
from vestig.store.portable.lines import columns_of
from vestig.store.portable.placement import Placement, id_conflict
from vestig.store.portable.records import (
    ClaimRecord,
    EdgeRecord,
    EntityRecord,
    EvidenceRecord,
    MemoryRecord,
    Record,
    SourceRecord,
    TokenCodesRecord,
    TombstoneRecord,
    VectorRecord,
)
from vestig.store.portable.stored_nodes import (
    stored_entity,
    stored_memory,
    stored_source,
    stored_text,
)
from vestig.store.sqlite.lookups import fetch
from vestig.store.tables.schema import COLUMNS
from vestig.types import EdgeType

# Fields that name a memory which the record can be without, and nodes which it cannot.
_REFERENCES: Final = ("superseded_by", "revives")
_OWNERS: Final = (
    "id", "memory", "entity", "from_id", "to_id", "superseding", "superseded", "source_id",
)  # fmt: skip
# Fields of a claim that name entities; it can be without.
CLAIM_NAMES: Final = ("subject_id", "object_id")
_MEMORY_ID: Final = lazy_pattern(r"mem_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MANUAL: Final = "manual"


def owners_of(record: Record) -> list[str]:
    """Ids of the nodes that a record is or belongs to."""
    declared = DECLARED.get(type(record))
    names = _OWNERS if declared is None else required_fields(declared)
    ids = (getattr(record, name, None) for name in names)
    return [id for id in ids if id is not None]


def _is_computed(record: Record) -> bool:
    """Return whether it is an edge that says how alike two vectors are."""
    return (
        isinstance(record, EdgeRecord)
        and record.edge_type is EdgeType.RELATED
        and record.origin == "computed"
    )


class ForgottenRecords:
    """The tombstones of a store, and what one restore skips because of them.

    `skipped`: memories of the file that were forgotten in this store. `reembedded`: memories of the
    file whose claims lose evidence by that; their vectors are skipped, which were made of it.
    `elsewhere`: namespace → memories of this store that the file says were forgotten, each once.
    """

    def __init__(self, conn: apsw.Connection, placement: Placement) -> None:
        self._conn = conn
        self._placement = placement
        found = fetch(conn, 'SELECT "row" > 0, id FROM tombstones')
        self._memories = {id_text("mem", id) for of_memory, id in found if of_memory}
        self._entities = {id_text("ent", id) for of_memory, id in found if not of_memory}
        self._unsupported: frozenset[str] = frozenset()
        # memories whose claims have no evidence left
        self._unfounded: frozenset[str] = frozenset()
        self.reembedded: frozenset[str] = frozenset()
        self.skipped: set[str] = set()
        self.elsewhere: dict[str, dict[str, None]] = {}

    def any(self) -> bool:
        """Return whether this store has forgotten anything."""
        return bool(self._memories or self._entities)

    def skip_unsupported(self, records: Iterable[Record], left_nodes: frozenset[str]) -> None:
        """Finds the entities and sources of the file that nothing would support.

        Args:
            records: all that would be restored, in the order of the file.
            left_nodes: nodes of the file that are not restored.

        Raises:
            ConflictError: as `stored_nodes`.
        """
        support = _Support(self._conn, self._placement, self._memories | left_nodes)
        for record in records:
            support.take(record)
        self._unsupported = support.unsupported(self._entities)
        gone = self._memories | self._unsupported
        self._unfounded = support.unfounded(gone)
        self.reembedded = support.losing_evidence(gone)

    def skips(self, record: Record) -> bool:
        """Return whether the record is a forgotten memory, a name that nothing supports without
        one, or belongs to either; or a claim all of whose evidence does; or was made of evidence
        that does."""
        if isinstance(record, MemoryRecord) and record.id in self._memories:
            self.skipped.add(record.id)
        if isinstance(record, ClaimRecord) and record.memory in self._unfounded:
            return True
        if isinstance(record, (VectorRecord, TokenCodesRecord)):
            return record.memory in self._memories or record.memory in self.reembedded
        owners = owners_of(record)
        if _is_computed(record) and not self.reembedded.isdisjoint(owners):
            return True
        return any(id in self._memories or id in self._unsupported for id in owners)

    def without_references(self, record: MemoryRecord) -> MemoryRecord:
        """The memory without its references to forgotten ones."""
        nulled = [name for name in _REFERENCES if getattr(record, name) in self._memories]
        return msgspec.structs.replace(record, **dict.fromkeys(nulled)) if nulled else record

    def without_merge(self, record: EntityRecord) -> EntityRecord:
        """The entity, merged into none where that one is not restored."""
        if record.merged_into not in self._unsupported:
            return record
        return msgspec.structs.replace(record, merged_into=None)

    def without_names(self, record: ClaimRecord) -> ClaimRecord:
        """The claim without the ids of entities that are not restored."""
        nulled = [name for name in CLAIM_NAMES if getattr(record, name) in self._unsupported]
        return msgspec.structs.replace(record, **dict.fromkeys(nulled)) if nulled else record

    def is_named(self, text: str) -> bool:
        """Return whether a text has the id of a memory that was forgotten."""
        return any(id in self._memories for id in _MEMORY_ID.findall(text))

    def tombstone(self, record: TombstoneRecord) -> bool:
        """Writes the tombstone of a memory that this store never had. A memory that it has
        stays, and is added to `elsewhere`.

        Raises:
            ConflictError: another namespace of the store holds the id.
        """
        place = self._placement
        space = place.namespace(record.namespace)
        if record.id in self._memories:
            return False
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
        return True


class _Support:
    """Which entities and sources of a file lose an edge to a memory that is not restored, and
    which of these have something else that supports them.

    Only these are judged: a file may hold an entity that nothing mentions, and brings it back.
    """

    def __init__(
        self, conn: apsw.Connection, placement: Placement, left_memories: set[str]
    ) -> None:
        self._conn = conn
        self._placement = placement
        self._left = left_memories
        # Nodes of the file by what becomes of them.
        self._new: set[str] = set()
        self._manual: set[str] = set()
        self._lost_edge: set[str] = set()
        self._supported: set[str] = set()
        # memory → what evidence of its claim was taken from
        self._evidence: dict[str, set[str]] = {}
        # memories with evidence that names no source
        self._told_elsewhere: set[str] = set()

    def take(self, record: Record) -> None:
        """The next record of the file."""
        match record:
            case MemoryRecord():
                space = self._placement.namespace(record.namespace)
                if record.id not in self._left and not self._stored(record, space):
                    self._new.add(record.id)
            case EntityRecord():
                space = self._placement.namespace(record.namespace)
                found = stored_entity(self._conn, record, space)
                if found is None:
                    self._new.add(record.id)
                if (record.origin if found is None else found[1]) == _MANUAL:
                    self._manual.add(record.id)
                    self._supported.add(record.id)
                    if found is None and record.merged_into is not None:
                        self._supported.add(record.merged_into)
            case SourceRecord():
                space = self._placement.namespace(record.namespace)
                if stored_source(self._conn, record, space) is None:
                    self._new.add(record.id)
            case EdgeRecord():
                self._edge(record)
            case ClaimRecord():
                named = {id for id in (record.subject_id, record.object_id) if id is not None}
                kept = record.memory in self._new
                (self._supported if kept else self._lost_edge).update(named)
            case EvidenceRecord():
                sources = self._evidence.setdefault(record.memory, set())
                if record.source_id is None:
                    self._told_elsewhere.add(record.memory)
                else:
                    sources.add(record.source_id)
            case _:
                pass

    def _stored(self, record: MemoryRecord, space: str) -> bool:
        if stored_memory(self._conn, record, space) is not None:
            return True
        return stored_text(self._conn, record, space) is not None

    def _edge(self, record: EdgeRecord) -> None:
        ends = (record.from_id, record.to_id)
        if any(id in self._left for id in ends):
            self._lost_edge.update(ends)
        elif record.edge_type is EdgeType.RELATION:
            for one, other in (ends, ends[::-1]):
                if one in self._manual:
                    self._supported.add(other)
        elif record.edge_type is EdgeType.MENTIONS and record.from_id in self._new:
            self._supported.add(record.to_id)
        elif record.edge_type is EdgeType.PRODUCED and record.to_id in self._new:
            self._supported.add(record.from_id)

    def unfounded(self, gone: Collection[str]) -> frozenset[str]:
        """Memories with a claim all of whose evidence was taken from what is gone."""
        return frozenset(
            memory
            for memory, sources in self._evidence.items()
            if memory not in self._told_elsewhere and all(id in gone for id in sources)
        )

    def losing_evidence(self, gone: Collection[str]) -> frozenset[str]:
        """Memories with a claim some of whose evidence was taken from what is gone."""
        return frozenset(
            memory
            for memory, sources in self._evidence.items()
            if any(id in gone for id in sources)
        )

    def unsupported(self, removed_here: set[str]) -> frozenset[str]:
        """New entities and sources without support, among those that lost an edge and the
        entities that this store has removed."""
        judged = (self._lost_edge | removed_here) & self._new
        nodes = {id for id in judged if id.startswith(("ent_", "source_"))}
        return frozenset(nodes - self._supported)
