"""RELATED edges of a whole namespace computed again, as commits would have made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.calls.graph import RebuildEdgesRequest
from vestig.changes import ChangeSet, EdgePatch, NewEdge
from vestig.commit.rows import related_edge
from vestig.errors import NotFoundError, StoreLockedError
from vestig.ids import id_text
from vestig.ports import Progress
from vestig.session.session import Session
from vestig.session.transaction import catch_up
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import Listing
from vestig.times import to_us
from vestig.types import Degradation, Edge, EdgeType

# Memories compared, and written, at once: a killed run loses no more than this.
BLOCK: Final = 2_048
_COMPUTED: Final = "computed"

# memory → (other end, cosine), best first
Wanted = Sequence[tuple[str, Sequence[tuple[str, float]]]]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that a block of memories needs: edges to add, to end, and to give another weight."""

    added: list[tuple[str, str, float]]
    patches: list[EdgePatch]
    kept: int
    expired: int


def difference(wanted: Wanted, stored: Mapping[str, Sequence[Edge]]) -> Difference:
    """Compares what commits would make with what is stored. Only computed edges end: what a
    guard or a caller made stays, and stands for the computed one of the same ends."""
    added: list[tuple[str, str, float]] = []
    patches: list[EdgePatch] = []
    kept = expired = 0
    for start, others in wanted:
        there = {edge.to_id: edge for edge in stored.get(start, ())}
        for other, cosine in others:
            old = there.pop(other, None)
            if old is None:
                added.append((start, other, cosine))
                continue
            kept += 1
            new = related_edge(start, other, cosine)
            if old.origin == _COMPUTED and old.weight != new.weight:
                patches.append(
                    EdgePatch(
                        from_id=start,
                        to_id=other,
                        edge_type=EdgeType.RELATED,
                        weight=new.weight,
                        confidence=new.confidence,
                        evidence=new.evidence,
                    )
                )
        for other, old in there.items():
            if old.origin == _COMPUTED:
                expired += 1
                patches.append(
                    EdgePatch(from_id=start, to_id=other, edge_type=EdgeType.RELATED, expired=True)
                )
    return Difference(added=added, patches=patches, kept=kept, expired=expired)


class _Block(msgspec.Struct, frozen=True, kw_only=True):
    """Some memories in `seq` order, and what they need, of one state of the store."""

    seq: int
    memories: int
    changes: ChangeSet
    difference: Difference


class _Rebuild:
    """One namespace, block by block. Blocks of different seqs fit together: the candidates of a
    memory are older than it, so nothing that is committed meanwhile changes them."""

    def __init__(self, session: Session, space: str, progress: Progress | None) -> None:
        self.session = session
        self.space = space
        self.progress = progress
        self.degraded: list[Degradation] = []
        self.counts = dict.fromkeys(("memories", "kept", "added", "expired", "reweighted"), 0)

    def run(self) -> dict[str, Any]:
        """All blocks; what a killed run wrote is found done by the next."""
        with self.session.ledger.read() as view:
            total = view.count_memories(self.space, Listing(statuses=None))
        first, seq = 0, None
        while True:
            block = self.read_block(first, seq)
            if block is None:
                # A memory was forgotten: places have moved.
                first, seq = 0, None
                self.counts = dict.fromkeys(self.counts, 0)
                continue
            if not block.memories:
                return {"edge_type": EdgeType.RELATED.value, **self.counts, "seq": block.seq}
            seq = self.write_block(block)
            if seq is None:
                continue
            first += block.memories
            self.count(block)
            if self.progress is not None:
                self.progress(min(first, total), total)

    def read_block(self, first: int, seq: int | None) -> _Block | None:
        """The memories from place `first` on; None when one was forgotten since `seq`."""
        chosen = self.session.config.settings.links.related
        top = chosen.max_edges_per_memory if chosen.enabled else 0

        def read(view: LedgerView, core: Any) -> _Block | None:
            if seq is not None and view.seq != seq and view.removed_after(seq):
                return None
            rows = core.related(
                view.seq,
                self.space,
                first,
                BLOCK,
                chosen.similarity_threshold,
                top,
                texts=[b"".join(ids) for ids in view.repeated_texts(self.space)],
            )
            wanted = [
                (id_text("mem", raw), [(id_text("mem", other), cosine) for other, cosine in near])
                for raw, near in rows
            ]
            stored: dict[str, list[Edge]] = {}
            for edge in view.outgoing(self.space, EdgeType.RELATED, [id for id, _ in wanted]):
                stored.setdefault(edge.from_id, []).append(edge)
            found = difference(wanted, stored)
            changes = ChangeSet(
                namespace=self.space,
                edges=tuple(self.new_edges(view, found.added)),
                edge_patches=tuple(found.patches),
            )
            return _Block(seq=view.seq, memories=len(rows), changes=changes, difference=found)

        return self.session.keeper.run(read)

    def new_edges(self, view: LedgerView, added: Sequence[tuple[str, str, float]]) -> list[NewEdge]:
        """The rows of added edges. One begins when the later of its ends was stored, so that recall
        as of an earlier time finds it."""
        ids = list(dict.fromkeys(id for start, end, _ in added for id in (start, end)))
        stored_us = {one.id: to_us(one.t_created) for one in view.memories(self.space, ids)}
        return [
            msgspec.structs.replace(
                related_edge(start, end, cosine), t_created_us=max(stored_us[start], stored_us[end])
            )
            for start, end, cosine in added
        ]

    def write_block(self, block: _Block) -> int | None:
        """The seq after the block's changes; None when an end was forgotten meanwhile."""
        changes = block.changes
        if not changes.edges and not changes.edge_patches:
            return block.seq
        try:
            with self.session.ledger.write(self.session.now_us(), make=False) as txn:
                seq = txn.apply(changes)
        except NotFoundError:
            return None
        catch_up(self.session, self.degraded)
        return seq

    def count(self, block: _Block) -> None:
        """Adds a block that is done."""
        found = block.difference
        self.counts["memories"] += block.memories
        self.counts["kept"] += found.kept
        self.counts["added"] += len(found.added)
        self.counts["expired"] += found.expired
        self.counts["reweighted"] += len(found.patches) - found.expired


def rebuild_edges(session: Session, asked: RebuildEdgesRequest) -> dict[str, Any]:
    """Computes RELATED edges again, the only ones that are computed."""
    if session.read_only:
        raise StoreLockedError("this store was opened read-only: open it for writing to rebuild")
    space = session.in_namespace(asked.namespace)
    with session.operation("rebuild_edges", without_store="make"):
        rebuild = _Rebuild(session, space, asked.progress)
        found = rebuild.run()
        return {**found, "degraded": [*dict.fromkeys(rebuild.degraded)]}


def rebuild_all(session: Session, progress: Progress | None) -> dict[str, int]:
    """The RELATED edges of every namespace, after all vectors were made again; counts of all."""
    total: dict[str, int] = {}
    with session.ledger.read() as view:
        spaces = view.namespaces()
    for space in spaces:
        rebuild = _Rebuild(session, space, progress)
        rebuild.run()
        for name, count in rebuild.counts.items():
            total[name] = total.get(name, 0) + count
    return total
