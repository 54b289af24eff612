"""The graph of a whole namespace made again: entities of memories that were stored without them, in
two passes, names then links; and RELATED edges, as commits would have made them.

Both passes of entities only add, in transactions of one batch each, so an interrupted run is
finished by the next one, and a run after a finished one changes nothing.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.calls.graph import EntityBackfillRequest, ExtractEntitiesRequest, RebuildEdgesRequest
from vestig.changes import ChangeSet, EdgePatch, NewEdge
from vestig.commit.names import new_entity, sure_enough
from vestig.commit.rows import EntityMention, mention_edge, related_edge
from vestig.errors import NotFoundError, StoreLockedError
from vestig.ids import id_text
from vestig.language.names import (
    KnownEntity,
    Mention,
    NameTable,
    aliases_of,
    analyse_all,
    best_mentions,
    embedded_name,
    norm_key,
    resolve_names,
)
from vestig.ports import Progress
from vestig.session.embedding import remember_identity
from vestig.session.references import known_words, types_of_rules
from vestig.session.session import Session, catch_up, clock_notice
from vestig.store.records.memory_queries import repeated_texts
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import Listing
from vestig.times import to_us
from vestig.turns import give_way, in_steps
from vestig.types import Degradation, Edge, EdgeType, Memory, Status, _Value

# Memories compared, and written, at once: a killed run loses no more than this.
BLOCK: Final = 2_048
_COMPUTED: Final = "computed"
_LIVE = (Status.ACTIVE, Status.ARCHIVED)

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
                texts=[b"".join(ids) for ids in repeated_texts(view, self.space)],
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


class BackfillReport(_Value, frozen=True, kw_only=True):
    """Counts of what a backfill added, or with `dry_run` would add."""

    memories: int
    entities_added: int
    mentions_added: int
    dry_run: bool = False
    seq: int
    degraded: tuple[Degradation, ...] = ()


class _Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some memories with the names in their texts."""

    memories: list[Memory]
    names: list[list[Mention]]


def backfill(
    session: Session,
    asked: ExtractEntitiesRequest | EntityBackfillRequest,
    *,
    every: bool = True,
    dry: bool = False,
) -> BackfillReport:
    """Reads every live memory again, or with `every` false those without entities."""
    size = asked.batch_size
    if session.read_only and not dry:
        raise StoreLockedError("this store was opened read-only: open it for writing to backfill")
    space = session.in_namespace(asked.namespace)
    with session.operation("entity_backfill", without_store="make"):
        run = _Backfill(session, space, dry=dry, progress=asked.progress)
        ids = run.wanted(every=every)
        for start in range(0, len(ids), size):
            run.add_names(ids[start : start + size])
        for start in range(0, len(ids), size):
            run.add_links(ids[start : start + size])
        return run.report(len(ids))


class _NewNames:
    """Names that are not stored yet, each under its key instead of an id."""

    def __init__(self) -> None:
        self.table = NameTable()
        self.known: dict[str, KnownEntity] = {}
        self.names: dict[str, Mention] = {}

    def add(self, names: Iterable[Mention]) -> None:
        """Later texts find these names."""
        for name in names:
            key = norm_key(name.name, name.type)
            if key not in self.names:
                order = (2**63 + len(self.names), name.name)
                self.names[key] = name
                self.known[key] = KnownEntity(id=key, type=name.type, name=name.name, order=order)
                self.table.add(key, name.name, *aliases_of(name.name, name.type))


class _Backfill:
    """The backfill of one namespace: counts, and for a dry run the names it would store."""

    def __init__(
        self, session: Session, space: str, *, dry: bool, progress: Progress | None
    ) -> None:
        self.session = session
        self.space = space
        self.dry = dry
        self.settings = session.config.settings
        self.types = types_of_rules(self.settings.entities)
        self.degraded: list[Degradation] = []
        self.entities = self.mentions = self.done = self.total = 0
        self._progress = progress
        # what a dry run would have stored
        self._new_names = _NewNames()

    def wanted(self, *, every: bool) -> list[str]:
        """Live memories, oldest first."""
        if not self.settings.entities.enabled:
            return []
        with self.session.ledger.read() as view:
            listing = Listing(statuses=_LIVE, limit=None, descending=False)
            ids = [memory.id for memory in view.list_memories(self.space, listing)]
            if not every:
                named = {edge.memory_id for edge in view.mentions(self.space, ids)}
                ids = [id for id in ids if id not in named]
        self.total = 2 * len(ids)
        return ids

    def report(self, memories: int) -> BackfillReport:
        """Return what was added."""
        with self.session.ledger.read() as view:
            seq = view.seq
        return BackfillReport(
            memories=memories,
            entities_added=self.entities,
            mentions_added=self.mentions,
            dry_run=self.dry,
            seq=seq,
            degraded=tuple(dict.fromkeys(self.degraded)),
        )

    # --- first pass ------------------------------------------------------------------------

    def add_names(self, ids: Sequence[str]) -> None:
        """Stores the names that the rules find. Known names do not cover any here, so that what
        is found does not depend on what was found before."""

        def read_page(view: LedgerView, _: object) -> dict[str, Mention]:
            new_names = self._new_names if self.dry else _NewNames()
            self._page(view, ids, new_names, rules_only=True)
            known = view.entities_by_key(self.space, list(new_names.names))
            return {key: name for key, name in new_names.names.items() if key not in known}

        new = self.session.keeper.run(read_page)
        if self.dry:
            self.entities = len(new)
        elif new:
            self._store(new)
        self._step(len(ids))

    def _store(self, new: dict[str, Mention]) -> None:
        remember_identity(self.session)
        vectors = in_steps([embedded_name(name.name) for name in new.values()], self.session.embed)
        entities = tuple(
            new_entity(
                self.space,
                name.name,
                name.type,
                origin="extracted",
                model=self.session.embedder.model,
                embedding=vector,
            )
            for name, vector in zip(new.values(), vectors, strict=True)
        )
        self.entities += len(entities)
        self._write(ChangeSet(namespace=self.space, entities=entities))

    # --- second pass -----------------------------------------------------------------------

    def add_links(self, ids: Sequence[str]) -> None:
        """Links memories with the entities that they name, up to the most that one may have."""

        def read_page(view: LedgerView, _: object) -> list[NewEdge]:
            return self._links(view, self._page(view, ids, self._new_names, rules_only=False))

        edges = self.session.keeper.run(read_page)
        self.mentions += len(edges)
        if edges and not self.dry:
            self._write(ChangeSet(namespace=self.space, edges=tuple(edges)))
        self._step(len(ids))

    def _links(self, view: LedgerView, page: _Page) -> list[NewEdge]:
        if not self.settings.links.mentions.enabled:
            return []
        chosen = self.settings.entities
        there: dict[str, set[str]] = {}
        for edge in view.mentions(self.space, [memory.id for memory in page.memories]):
            there.setdefault(edge.memory_id, set()).add(edge.entity_id)
        keys = {
            norm_key(name.name, name.type)
            for names in page.names
            for name in names
            if name.entity is None or name.entity in self._new_names.names
        }
        stored = view.entities_by_key(self.space, sorted(keys))
        found: list[NewEdge] = []
        for memory, names in zip(page.memories, page.names, strict=True):
            linked = there.get(memory.id, set())
            for name in sorted(names, key=lambda name: (-name.confidence, name.start)):
                id, key = name.entity, norm_key(name.name, name.type)
                if key in keys and key in stored:
                    id = stored[key].id
                if id is None or id in linked or len(linked) >= chosen.max_per_memory:
                    continue
                linked.add(id)
                mention = EntityMention(
                    entity_id=id, confidence=name.confidence, evidence=name.evidence
                )
                found.append(mention_edge(memory.id, mention, chosen.max_evidence_length))
        return found

    # --- either pass -----------------------------------------------------------------------

    def _page(
        self, view: LedgerView, ids: Sequence[str], new_names: _NewNames, *, rules_only: bool
    ) -> _Page:
        memories = [one for one in view.memories(self.space, ids) if one.status in _LIVE]
        texts = view.normal_texts(self.space, [one.id for one in memories])
        readings = analyse_all([(texts[one.id], one.title) for one in memories], types=self.types)
        words = known_words(self.session, view, self.space, readings)
        gates, names = self.settings.entities, list[list[Mention]]()
        for reading, hits in zip(readings, words.hits, strict=True):
            found = resolve_names(
                reading,
                hits + new_names.table.find(reading),
                ChainMap(new_names.known, words.known),
                common=words.common,
                rules_only=rules_only,
            )
            names.append(best_mentions(sure_enough(found, gates), gates.max_per_memory))
            if rules_only:
                new_names.add(name for name in names[-1] if name.entity is None)
        return _Page(memories=memories, names=names)

    def _write(self, changes: ChangeSet) -> None:
        """One transaction; what was forgotten meanwhile is left to the next run."""
        try:
            with self.session.ledger.write(self.session.now_us(), make=False) as txn:
                txn.apply(changes)
                self.degraded.extend(clock_notice(txn.clock_behind_us))
        except NotFoundError:
            return
        catch_up(self.session, self.degraded)

    def _step(self, count: int) -> None:
        self.done += count
        give_way(self.done, self.total)
        if self._progress is not None:
            self._progress(self.done, self.total)
