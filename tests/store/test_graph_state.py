"""Random changes of the graph against plain dicts: chain, views and projection agree."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import ledger_rows as made
from filled_store import IDENTITY, exported, keeper_of
from postgres_server import PostgresServer
from vestig.changes import ChangeSet, EntityPatch
from vestig.ids import id_bytes
from vestig.store.doctor import compare_projection
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.portable.restore import restore
from vestig.store.records.rows import EntityListing
from vestig.types import EdgeType

NAMES = st.sampled_from(["Ada", "Bob", "Cleo"])
WEIGHTS = st.sampled_from([0.0, 0.1, 1.0])
EVERY = EntityListing(limit=None, include_expired=True)


class GraphMachine(RuleBasedStateMachine):
    """Models: memories → their questions or None; entities → key, or None when expired; edges →
    (start, end, type, weight, ended)."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.memories: dict[str, list[str] | None] = {}
        self.entities: dict[str, str | None] = {}
        self.edges: dict[str, tuple[str, str, EdgeType, float, bool]] = {}
        self.removed: set[str] = set()

    @initialize(in_memory=st.booleans())
    def open(self, in_memory: bool) -> None:
        self.begin(open_ledger(None if in_memory else Path(self.folder.name) / "store"))

    def begin(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.ledger.set_embedding_identity(IDENTITY)
        self.keeper = keeper_of(self.ledger)

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.keeper.close()
            self.ledger.close()
        self.folder.cleanup()

    def put(self, **parts: Any) -> None:
        with self.ledger.write(made.NOW) as txn:
            txn.apply(ChangeSet(namespace="default", **parts))

    def pick(self, data: st.DataObject, among: list[str]) -> str:
        """By position: ids are random, and an example must be repeatable."""
        return among[data.draw(st.integers(0, len(among) - 1))]

    def link(self, start: str, end: str, kind: EdgeType, weight: float) -> None:
        relation = "KNOWS" if kind is EdgeType.RELATION else None
        new = made.edge(start, end, kind, weight=weight, relation=relation)
        self.put(edges=(new,))
        held = [edge for edge in self.edges.values() if edge[:3] == (start, end, kind)]
        if all(edge[4] for edge in held):
            self.edges[new.id] = (start, end, kind, weight, False)

    @rule(name=NAMES, weight=WEIGHTS)
    def remember(self, name: str, weight: float) -> None:
        new = made.memory(f"text {len(self.memories) + len(self.removed)}")
        entity = made.entity(name)
        live = {key: id for id, key in self.entities.items()}
        stands = live.get(entity.norm_key, entity.id)
        self.entities.setdefault(stands, entity.norm_key)
        mention = made.mention(new.id, entity.id, weight=weight)
        self.put(
            memories=(new,),
            events=(made.event(new.id),),
            vectors=(made.vector(new.id),),
            entities=(entity,),
            edges=(mention,),
        )
        self.memories[new.id] = None
        self.edges[mention.id] = (new.id, stands, EdgeType.MENTIONS, weight, False)

    @precondition(lambda self: len(self.memories) > 1)
    @rule(data=st.data(), weight=WEIGHTS, kind=st.sampled_from(["RELATED", "SUMMARIZES"]))
    def relate(self, data: st.DataObject, weight: float, kind: str) -> None:
        start, end = (self.pick(data, list(self.memories)) for _ in range(2))
        if start != end:
            self.link(start, end, EdgeType(kind), weight)

    @precondition(lambda self: len(self.entities) > 1)
    @rule(data=st.data(), weight=WEIGHTS)
    def know(self, data: st.DataObject, weight: float) -> None:
        start, end = (self.pick(data, list(self.entities)) for _ in range(2))
        if start != end:
            self.link(start, end, EdgeType.RELATION, weight)

    @precondition(lambda self: self.edges)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        id = self.pick(data, list(self.edges))
        self.put(expired_edges=(id,))
        self.edges[id] = (*self.edges[id][:4], True)

    @precondition(lambda self: self.entities)
    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        id = self.pick(data, list(self.entities))
        patch = EntityPatch(entity_id=id, columns={"description": "gone"}, expired=True)
        self.put(entity_patches=(patch,))
        self.entities[id] = None

    @precondition(lambda self: self.memories)
    @rule(data=st.data(), count=st.integers(0, 2))
    def ask(self, data: st.DataObject, count: int) -> None:
        id = self.pick(data, list(self.memories))
        asked = [made.question(id, place, f"{count} of {place}?") for place in range(count)]
        self.put(questions=tuple(asked), questions_tried=(id,))
        if asked or self.memories[id] is None:
            self.memories[id] = [question.text for question in asked]

    @precondition(lambda self: self.memories)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        id = self.pick(data, list(self.memories))
        with self.ledger.write(made.NOW) as txn:
            txn.forget("default", [id], actor=None)
        gone = self.quoting({id})
        mentioned = {e[1] for e in self.edges.values() if e[0] in gone and e[2] == "MENTIONS"}
        self.memories = {id: asked for id, asked in self.memories.items() if id not in gone}
        self.drop(gone)
        self.drop_orphans(mentioned)

    def quoting(self, ids: set[str]) -> set[str]:
        """These memories and whatever sums them up, or such a summary."""
        found = {e[0] for e in self.edges.values() if e[2] == "SUMMARIZES" and e[1] in ids}
        return ids if found <= ids else self.quoting(ids | found)

    @precondition(lambda self: self.entities)
    @rule()
    def collect(self) -> None:
        with self.ledger.write(made.NOW) as txn:
            txn.collect("default")
        self.drop_orphans(set(self.entities))

    @precondition(lambda self: self.entities)
    @rule()
    def purge(self) -> None:
        with self.ledger.write(made.NOW) as txn:
            txn.purge_entities("default")
        gone = {id for id, key in self.entities.items() if key is None}
        self.entities = {id: key for id, key in self.entities.items() if id not in gone}
        self.drop(gone)

    def drop(self, nodes: set[str]) -> None:
        self.removed |= nodes
        self.edges = {id: e for id, e in self.edges.items() if not nodes & {e[0], e[1]}}

    def drop_orphans(self, among: set[str]) -> None:
        held = {e[1] for e in self.edges.values() if e[2] is EdgeType.MENTIONS}
        self.entities = {id: k for id, k in self.entities.items() if id in held or id not in among}
        self.drop(among - held)

    @rule(compact=st.booleans())
    def publish(self, compact: bool) -> None:
        with self.ledger.read() as view:
            self.keeper.align(view)
        self.keeper.core.publish(compact)

    @precondition(lambda self: self.memories)
    @rule()
    def travel(self) -> None:
        """An export restores to a store that exports the same bytes."""
        raw = exported(self.ledger)
        with open_ledger(None) as copy:
            restore(copy, raw.splitlines())
            assert exported(copy) == raw
            assert copy.verify_all() == []

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "ledger"):
            return
        assert self.ledger.verify_all() == []
        with self.ledger.read() as view:
            listed = [entity for entity, _n in view.list_entities("default", EVERY)]
            keys = {e.id: e.norm_key if e.expired_at is None else None for e in listed}
            assert keys == self.entities
            found = view.list_edges("default", limit=None, include_expired=True)
            assert {
                e.id: (e.from_id, e.to_id, e.edge_type, e.weight, e.t_expired is not None)
                for e in found
            } == self.edges
            asked = {id: texts for id, texts in self.memories.items() if texts is not None}
            assert view.questions("default", list(self.memories)) == asked
            assert {row[0] for row in view.projection_rows(0)} == {
                id_bytes(id) for id in (*self.memories, *self.entities)
            }
            assert {id for id, _seq in view.removed_after(0)} == set(map(id_bytes, self.removed))
            if view.seq:
                self.projection_agrees(view)

    def projection_agrees(self, view: Any) -> None:
        self.keeper.align(view)
        comparison = compare_projection(self.ledger, self.keeper, view, IDENTITY)
        assert comparison.differences == []
        core = self.keeper.core
        assert (core.rows, core.entity_rows) == (len(self.memories), len(self.entities))


GraphMachine.TestCase.settings = settings(
    max_examples=settings.default.max_examples // 3, stateful_step_count=15
)
TestGraphMachine = GraphMachine.TestCase


class TenantMachine(GraphMachine):
    """The same of a tenant, which another machine follows at random points."""

    server: PostgresServer

    @initialize(seed=st.integers(0, 1_000))
    def open(self, seed: int) -> None:  # type: ignore[override]
        from two_machines import TwoMachines

        folder = Path(self.folder.name)
        self.machines = TwoMachines(self.server, folder, random.Random(seed))
        self.begin(self.machines.ledger)

    def teardown(self) -> None:
        if hasattr(self, "machines"):
            try:
                self.machines.check()
            finally:
                self.machines.close()
        super().teardown()


TenantMachine.TestCase.settings = settings(
    max_examples=settings.default.max_examples // 10, stateful_step_count=15
)


@pytest.mark.usefixtures("tenants")
class TestTenantMachine(TenantMachine.TestCase):  # type: ignore[misc,name-defined]
    """Run with a server."""

    @pytest.fixture(scope="class")
    @classmethod
    def tenants(cls, server: PostgresServer) -> None:
        TenantMachine.server = server
