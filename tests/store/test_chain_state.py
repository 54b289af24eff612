"""Random change sets against a plain dict: the chain closes and every answer agrees."""

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
from postgres_server import PostgresServer
from vestig.changes import AccessTouch, ChangeSet, MemoryPatch
from vestig.ids import id_bytes
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.records import item_rows
from vestig.store.records.rows import UniquenessCollision
from vestig.types import EventType, Status

NOW = made.NOW
TEXTS = st.sampled_from(["a", "b", "c", "d"])
SCOPES = st.sampled_from([None, "", "s"])
TAGS = st.lists(st.sampled_from(["x", "y", "z"]), unique=True, max_size=3)


class LedgerMachine(RuleBasedStateMachine):
    """`model` holds, per memory id, what the ledger must say."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.model: dict[str, dict[str, Any]] = {}
        self.related: set[tuple[str, str]] = set()
        # scope and key → value, version
        self.items: dict[tuple[str | None, str], tuple[str, int]] = {}
        self.heads: dict[int, bytes] = {}
        self.seq = 0
        self.now = NOW

    @initialize(in_memory=st.booleans())
    def open(self, in_memory: bool) -> None:
        self.path: Path | None = None if in_memory else Path(self.folder.name) / "store"
        self.ledger = self.opened()

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.ledger.close()
        self.folder.cleanup()

    def write(self, changes: ChangeSet) -> None:
        with self.ledger.write(self.now) as txn:
            assert txn.seq == self.seq
            self.seq = txn.apply(changes)
        with self.ledger.read() as view:
            self.heads[self.seq] = view.head

    def pick(self, data: st.DataObject) -> str:
        """By position: ids are random, and an example must be repeatable."""
        return list(self.model)[data.draw(st.integers(0, len(self.model) - 1))]

    @rule(step=st.integers(-5, 5))
    def clock(self, step: int) -> None:
        self.now += step

    @rule(data=st.data(), text=TEXTS, scope=SCOPES, tags=TAGS, embedded=st.booleans())
    def insert(
        self, data: st.DataObject, text: str, scope: str | None, tags: list[str], embedded: bool
    ) -> None:
        new = made.memory(text, scope=scope, metadata={"source": "m", "tags": tags})
        count = data.draw(st.integers(0, 3)) if self.model else 0
        others = [self.pick(data) for _ in range(count)]
        changes = made.added(new, *others, vectors=(made.vector(new.id),) if embedded else ())
        taken = any(
            entry["text"] == text and entry["scope"] == scope and not entry["expired"]
            for entry in self.model.values()
        )
        try:
            self.write(changes)
        except UniquenessCollision:
            assert taken
            return
        assert not taken
        self.related.update((new.id, other) for other in others)
        self.model[new.id] = {
            "text": text, "scope": scope, "tags": tags, "expired": False, "count": 0,
            "embedded": embedded, "seq": self.seq, "touched": self.seq, "events": 1, "access": 0,
            "status": Status.ACTIVE, "title": None, "tokens": None, "given": text,
        }  # fmt: skip

    @precondition(lambda self: self.model)
    @rule(data=st.data(), times=st.integers(1, 3))
    def reinforce(self, data: st.DataObject, times: int) -> None:
        ids = [self.pick(data) for _ in range(times)]
        changes = [made.reinforced(id, self.now) for id in ids]
        self.write(
            ChangeSet(
                namespace="default",
                patches=tuple(p for c in changes for p in c.patches),
                events=tuple(e for c in changes for e in c.events),
            )
        )
        for id in ids:
            self.model[id]["count"] += 1
            self.model[id]["events"] += 1
            self.model[id]["touched"] = self.seq

    @precondition(lambda self: self.model)
    @rule(data=st.data(), tags=TAGS, titles=st.lists(st.sampled_from([None, "", "t"]), max_size=3))
    def patch(self, data: st.DataObject, tags: list[str], titles: list[str | None]) -> None:
        id = self.pick(data)
        patches = [MemoryPatch(memory_id=id, fields={"title": title}) for title in titles]
        patches.append(
            MemoryPatch(memory_id=id, fields={"metadata": {"source": "m", "tags": tags}})
        )
        self.write(ChangeSet(namespace="default", patches=tuple(patches)))
        entry = self.model[id]
        entry["tags"], entry["touched"] = tags, self.seq
        entry["title"] = titles[-1] if titles else entry["title"]

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        id = self.pick(data)
        self.write(
            ChangeSet(
                namespace="default",
                patches=(
                    MemoryPatch(memory_id=id, fields={"status": Status.DEPRECATED}, expired=True),
                ),
                events=(made.event(id, EventType.DEPRECATE),),
            )
        )
        entry = self.model[id]
        entry["expired"], entry["status"], entry["touched"] = True, Status.DEPRECATED, self.seq
        entry["events"] += 1

    @precondition(lambda self: self.model)
    @rule(data=st.data(), value=st.sampled_from([0.0, 0.5]))
    def embed(self, data: st.DataObject, value: float) -> None:
        id = self.pick(data)
        vectors = (made.vector(id, value=0.25), made.vector(id, value=value))
        self.write(ChangeSet(namespace="default", vectors=vectors))
        self.model[id]["embedded"], self.model[id]["touched"] = True, self.seq

    @precondition(lambda self: self.model)
    @rule(data=st.data(), count=st.integers(1, 3), seed=st.integers(0, 1))
    def tokenize(self, data: st.DataObject, count: int, seed: int) -> None:
        id = self.pick(data)
        given = (made.tokens(id, 5), made.tokens(id, count, seed=seed))
        self.write(ChangeSet(namespace="default", token_codes=given))
        last = given[-1]
        self.model[id]["tokens"] = (last.ids, last.codes)
        self.model[id]["touched"] = self.seq

    @precondition(lambda self: self.model)
    @rule(data=st.data(), given=st.sampled_from([None, "a\n", " a b"]))
    def give(self, data: st.DataObject, given: str | None) -> None:
        id = self.pick(data)
        texts = (made.original(id, "first"), made.original(id, given))
        patch = MemoryPatch(memory_id=id, bump_version=True)
        self.write(ChangeSet(namespace="default", original_texts=texts, patches=(patch,)))
        entry = self.model[id]
        entry["given"], entry["touched"] = given or entry["text"], self.seq

    @precondition(lambda self: len(self.model) > 1)
    @rule(data=st.data())
    def relate(self, data: st.DataObject) -> None:
        start, end = self.pick(data), self.pick(data)
        if start != end:
            edges = (made.edge(start, end), made.edge(start, end, weight=0.0))
            self.write(ChangeSet(namespace="default", edges=edges))
            if (start, end) not in self.related:
                self.related.add((start, end))
                self.model[start]["touched"] = self.seq

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def touch(self, data: st.DataObject) -> None:
        id = self.pick(data)
        self.ledger.touch("default", AccessTouch(memory_ids=(id,), accessed_us=self.now))
        self.model[id]["access"] += 1

    @rule(scope=st.sampled_from([None, "s", "s/t"]), key=TEXTS, value=st.sampled_from("12"))
    def put(self, scope: str | None, key: str, value: str) -> None:
        version = self.items.get((scope, key), ("", 0))[1] + 1
        new = made.item(key, scope=scope, value=value, version=version)
        self.write(ChangeSet(namespace="default", items=(new,)))
        self.items[scope, key] = value, version

    @precondition(lambda self: self.items)
    @rule(data=st.data(), value=st.sampled_from([None, "3"]))
    def take_value(self, data: st.DataObject, value: str | None) -> None:
        """An item goes, or another value takes the place of its own, with the proof to follow."""
        place = list(self.items)[data.draw(st.integers(0, len(self.items) - 1))]
        with self.ledger.write(self.now) as txn:
            item = item_rows.find(txn, "default", *place)
            assert item is not None
            if value is None:
                txn.forget("default", [], actor=None, items=[item])
            else:
                txn.forget("default", [], actor=None, values=[(item, value)])
        self.seq += 1
        with self.ledger.read() as view:
            self.heads[self.seq] = view.head
        version = self.items.pop(place)[1] + 1
        if value is not None:
            self.items[place] = value, version

    @rule()
    def fail(self) -> None:
        new = made.memory("never")
        try:
            with self.ledger.write(self.now) as txn:
                txn.apply(made.added(new))
                raise RuntimeError
        except RuntimeError:
            pass

    @precondition(lambda self: self.path is not None)
    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = self.opened()

    def opened(self) -> Ledger:
        return open_ledger(self.path)

    @precondition(lambda self: self.seq > 0)
    @rule(data=st.data())
    def catch_up(self, data: st.DataObject) -> None:
        after = data.draw(st.integers(0, self.seq))
        with self.ledger.read() as view:
            rows = list(view.projection_rows(after))
            assert view.head_at(after) == (self.heads[after] if after else view.head_at(0))
        expected = [
            id for id, e in sorted(self.model.items(), key=lambda item: item[1]["seq"])
            if e["touched"] > after
        ]  # fmt: skip
        assert [row[0] for row in rows] == [id_bytes(id) for id in expected]
        for row, id in zip(rows, expected, strict=True):
            entry = self.model[id]
            assert row[1:4] == (entry["seq"], entry["touched"], entry["text"])
            assert sorted(row[20]) == sorted(entry["tags"])
            assert (row[19] is not None) == entry["embedded"]
            assert len(row[23]) == entry["events"]
            assert row[31] == entry["tokens"]

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "ledger"):
            return
        assert self.ledger.verify_all() == []
        with self.ledger.read() as view:
            assert view.seq == self.seq
            stored = item_rows.below(view, "default", None)
            found = {(one.scope, one.key): (one.value, one.version) for one in stored}
            assert found == self.items
            memories = view.memories("default", list(self.model))
            for memory, (id, entry) in zip(memories, self.model.items(), strict=True):
                assert memory.id == id
                assert (memory.content, memory.scope) == (entry["given"], entry["scope"])
                assert (memory.tags, memory.title) == (tuple(entry["tags"]), entry["title"])
                assert (memory.reinforce_count, memory.access_count) == (
                    entry["count"],
                    entry["access"],
                )
                assert (memory.status, memory.t_expired is not None) == (
                    entry["status"],
                    entry["expired"],
                )
                assert (memory.embedding_model is not None) == entry["embedded"]
                assert memory.t_created <= view.events("default", id)[-1].recorded_at
                edges = view.edges("default", id, "RELATED")
                assert {(e.from_id, e.to_id) for e in edges} == {
                    pair for pair in self.related if id in pair
                }


LedgerMachine.TestCase.settings = settings(
    max_examples=settings.default.max_examples // 3, stateful_step_count=15
)
TestLedgerMachine = LedgerMachine.TestCase


class TenantMachine(LedgerMachine):
    """The same of a tenant, which another machine follows at random points."""

    server: PostgresServer

    @initialize(seed=st.integers(0, 1_000))
    def open(self, seed: int) -> None:  # type: ignore[override]
        from two_machines import TwoMachines

        self.path = Path(self.folder.name)
        self.machines = TwoMachines(self.server, self.path, random.Random(seed))
        self.ledger = self.machines.ledger

    def opened(self) -> Ledger:
        return self.machines.reopen()

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
