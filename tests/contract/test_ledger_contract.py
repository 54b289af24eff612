"""What every ledger must do, whatever stores it. An adapter joins by a factory in `LEDGERS`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ledger_rows as made
from vestig.changes import AccessTouch, ChangeSet, MemoryPatch, NewEdge
from vestig.errors import NotFoundError, StoreLockedError, ValidationError
from vestig.ids import id_bytes, new_id
from vestig.ports import EmbeddingIdentity, Ledger, Listing, UniquenessCollision
from vestig.store import JobRules, open_ledger
from vestig.times import format_us, from_us
from vestig.types import EdgeType, EventType, Kind, Status

NOW = made.NOW
DAY = 86_400_000_000

# Name → factory of an empty ledger in a folder of its own.
LEDGERS: dict[str, Callable[[Path], Ledger]] = {
    "file": lambda folder: open_ledger(folder / "store", lock_timeout_s=0.2),
    "memory": lambda folder: open_ledger(None, lock_timeout_s=0.2),
}


@pytest.fixture(params=sorted(LEDGERS))
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    opened = LEDGERS[request.param](tmp_path)
    yield opened
    opened.close()


def write(ledger: Ledger, changes: ChangeSet, now_us: int = NOW) -> int:
    with ledger.write(now_us) as txn:
        return txn.apply(changes)


def add(ledger: Ledger, text: str, now_us: int = NOW, **fields: Any) -> str:
    new = made.memory(text, **fields)
    write(ledger, made.added(new), now_us)
    return str(new.id)


def test_empty(ledger: Ledger) -> None:
    with ledger.read() as view:
        assert view.seq == 0
        assert len(view.head) == 32
        assert view.list_memories("default", Listing()) == []
        assert view.count_memories("default", Listing()) == 0
        assert list(view.projection_rows(0)) == []
        assert view.stats("default")["memories"] == 0
    assert len(ledger.store_uuid) == 16


def test_a_memory_comes_back_as_it_was_written(ledger: Ledger) -> None:
    new = made.memory(
        "Ada wrote the first program.",
        scope="",
        kind=Kind.SUMMARY,
        author="Ann",
        role="user",
        session_id="s1",
        sequence=0,
        title="",
        trigger="problem-solution",
        t_valid_us=-1,
        t_invalid_us=NOW + 5,
        metadata={"source": "manual", "tags": ["a", "b"], "n": 0, "none": None, "f": False},
        pinned=True,
        pinned_at_us=NOW,
        pinned_reason="",
        processing="pending",
    )
    assert write(ledger, made.added(new)) == 1
    with ledger.read() as view:
        (got,) = view.memories("default", [new.id])
    assert got.id == new.id
    assert got.seq == 1
    for name in ("scope", "kind", "content", "content_hash", "author", "role", "session_id"):
        assert getattr(got, name) == getattr(new, name), name
    assert (got.sequence, got.title, got.trigger) == (0, "", "problem-solution")
    assert (got.t_valid, got.t_invalid) == (from_us(-1), from_us(NOW + 5))
    assert (got.t_created, got.t_expired) == (from_us(NOW), None)
    assert got.metadata == new.metadata
    assert got.tags == ("a", "b")
    assert (got.pinned, got.pinned_at, got.pinned_reason) == (True, from_us(NOW), "")
    assert (got.processing, got.version, got.reinforce_count) == ("pending", 1, 0)
    assert (got.embedding_model, got.access_count) == ("test-model", 0)


def test_ids_keep_their_order_and_unknown_ones_are_left_out(ledger: Ledger) -> None:
    first, second = add(ledger, "one"), add(ledger, "two")
    with ledger.read() as view:
        wanted = [second, new_id("mem"), "nonsense", first, second]
        assert [m.id for m in view.memories("default", wanted)] == [second, first, second]
        assert view.memories("default", []) == []


def test_x_d10_namespaces_are_walls(ledger: Ledger) -> None:
    here = add(ledger, "the text")
    there = add(ledger, "the text", namespace="other")
    with ledger.read() as view:
        assert view.memories("other", [here]) == []
        assert view.ids_with_prefix("other", here) == []
        assert view.vectors("other", [here]) == {}
        assert view.events("other", here) == []
        assert view.sources("other", here) == []
        assert view.edges("other", here) == []
        assert view.reinforcements_at("other", [here], NOW) == {}
        assert view.count_memories("other", Listing()) == 1
        assert view.stats("other")["memories"] == 1
    with pytest.raises(NotFoundError, match=here):
        write(ledger, made.reinforced(here, namespace="other"))
    crossing = ChangeSet(namespace="other", edges=(made.edge(there, here),))
    with pytest.raises(NotFoundError):
        write(ledger, crossing)
    with pytest.raises(NotFoundError):
        ledger.touch("other", AccessTouch(memory_ids=(here,), accessed_us=NOW))


def test_x_d10_one_text_in_two_scopes_is_two_memories(ledger: Ledger) -> None:
    ids = {add(ledger, "same", scope=scope) for scope in (None, "", "a")}
    ids |= {add(ledger, "same", author=author) for author in ("", "Ann")}
    assert len(ids) == 5
    for fields in ({}, {"scope": ""}, {"scope": "a"}, {"author": ""}, {"author": "Ann"}):
        with pytest.raises(UniquenessCollision):
            add(ledger, "same", **fields)
    with ledger.read() as view:
        assert view.seq == 5


def test_an_expired_text_may_be_written_again(ledger: Ledger) -> None:
    old = add(ledger, "the text")
    other = add(ledger, "another")
    write(ledger, made.superseded(old, other))
    new = add(ledger, "the text", revives=old)
    with ledger.read() as view:
        (memory,) = view.memories("default", [new])
        found = view.same_text("default", None, None, memory.content_hash)
        assert [m.id for m in found] == [new, old]
        assert memory.revives == old
        assert found[1].status is Status.SUPERSEDED
        assert found[1].superseded_by == other
        assert found[1].t_expired == from_us(NOW)
        assert view.same_text("default", "a", None, memory.content_hash) == []
        assert view.same_text("default", None, "", memory.content_hash) == []


def test_nothing_is_written_when_the_block_fails(ledger: Ledger) -> None:
    old = add(ledger, "kept")
    with pytest.raises(RuntimeError), ledger.write(NOW) as txn:
        txn.apply(made.added(made.memory("lost"), old))
        raise RuntimeError
    with pytest.raises(NotFoundError):
        write(ledger, made.added(made.memory("lost"), new_id("mem")))
    with ledger.write(NOW):
        pass
    with ledger.read() as view:
        assert view.seq == 1
        assert view.stats("default")["sources"] == 1
        assert len(view.edges("default", old)) == 1


def test_transaction_time_never_decreases(ledger: Ledger) -> None:
    add(ledger, "one", NOW + 10)
    with ledger.write(NOW) as txn:
        assert txn.clock_stepped_back  # type: ignore[attr-defined]
        txn.apply(made.added(new := made.memory("two")))
    with ledger.write(NOW + 10) as txn:
        assert not txn.clock_stepped_back  # type: ignore[attr-defined]
    with ledger.read() as view:
        assert view.memories("default", [new.id])[0].t_created == from_us(NOW + 10)
        assert view.events("default", new.id)[0].recorded_at == from_us(NOW + 10)


def test_reinforcing(ledger: Ledger) -> None:
    id = add(ledger, "one")
    write(ledger, made.reinforced(id, NOW + 7), NOW + 8)
    write(ledger, made.reinforced(id, NOW + 3), NOW + 9)
    with ledger.read() as view:
        (memory,) = view.memories("default", [id])
        assert (memory.reinforce_count, memory.last_seen_at) == (2, from_us(NOW + 7))
        events = view.events("default", id)
        assert [e.event_type for e in events] == ["ADD", "REINFORCE_EXACT", "REINFORCE_EXACT"]
        assert [e.seq for e in events] == [1, 2, 3]
        assert view.events("default", id, limit=1) == events[:1]
        assert view.reinforcements_at("default", [id], NOW + 8) == {id: (1, NOW + 7)}
        assert view.reinforcements_at("default", [id], NOW) == {id: (0, None)}


def test_patching_columns(ledger: Ledger) -> None:
    id = add(ledger, "one", metadata={"source": "manual", "tags": ["a", "b"]})
    patch = MemoryPatch(
        memory_id=id,
        columns={
            "metadata": {"source": "manual", "tags": ["b", "c"]},
            "status": Status.ARCHIVED,
            "pinned": True,
            "scope": "s",
            "retention_until_us": 0,
            "keywords": ("x", "y"),
        },
        bump_version=True,
    )
    write(ledger, ChangeSet(namespace="default", patches=(patch,)))
    everything = Listing(statuses=None)
    with ledger.read() as view:
        (memory,) = view.memories("default", [id])
        assert (memory.status, memory.pinned, memory.scope) == (Status.ARCHIVED, True, "s")
        assert (memory.retention_until, memory.version) == (from_us(0), 2)
        assert memory.keywords == ("x", "y")
        assert view.count_memories("default", Listing(statuses=None, tags=("a",))) == 0
        assert view.count_memories("default", Listing(statuses=None, tags=("c",))) == 1
        assert view.count_memories("default", everything) == 1
    with pytest.raises(ValueError, match="content"):
        write(
            ledger,
            ChangeSet(
                namespace="default",
                patches=(MemoryPatch(memory_id=id, columns={"content": "other"}),),
            ),
        )


def test_edges(ledger: Ledger) -> None:
    """X-D06, X-D07: weights survive, a duplicate keeps its id, impossible edges are refused."""
    a, b, c = add(ledger, "a"), add(ledger, "b"), add(ledger, "c")
    first = made.edge(a, b, weight=0.0)
    second = made.edge(a, c, weight=0.37, confidence=0.0, evidence="")
    third = made.edge(c, a)
    write(ledger, ChangeSet(namespace="default", edges=(first, second, third)))
    again = ChangeSet(namespace="default", edges=(made.edge(a, b, weight=9.0),))
    write(ledger, again)
    with ledger.read() as view:
        edges = view.edges("default", a, "RELATED")
        assert [(e.id, e.weight) for e in edges] == [
            (third.id, 1.0),
            (second.id, 0.37),
            (first.id, 0.0),
        ]
        assert (edges[1].confidence, edges[1].evidence, edges[1].relation) == (0.0, "", None)
        assert len(view.edges("default", a)) == 4
        with pytest.raises(ValidationError, match="AFFECTS"):
            view.edges("default", a, "FOO")
    bad: list[tuple[NewEdge, type[Exception]]] = [
        (made.edge(a, a), ValidationError),
        (made.edge(a, b, weight=float("nan")), ValidationError),
        (made.edge(a, b, weight=-1.0), ValidationError),
        (made.edge(a, b, confidence=2.0), ValidationError),
        (made.edge(a, b, relation="X"), ValidationError),
        (made.edge(a, b, EdgeType.PRODUCED), ValidationError),
        (made.edge(a, new_id("mem")), NotFoundError),
        (made.edge(a, new_id("ent"), EdgeType.MENTIONS), NotFoundError),
    ]
    for edge, error in bad:
        with pytest.raises(error):
            write(ledger, ChangeSet(namespace="default", edges=(edge,)))


def test_agentic_sources_are_shared(ledger: Ledger) -> None:
    first = add(ledger, "one")
    second = add(ledger, "two")
    other = made.memory("three")
    nameless = made.source(agent=None)
    empty = made.source(agent="")
    write(
        ledger,
        made.added(
            other,
            sources=(nameless, empty),
            edges=(
                made.edge(nameless.id, other.id, EdgeType.PRODUCED),
                made.edge(empty.id, other.id, EdgeType.PRODUCED),
            ),
        ),
    )
    with ledger.read() as view:
        (source,) = view.sources("default", first)
        assert view.sources("default", second) == [source]
        assert (source.agent, source.source_type) == ("cli", "agentic")
        assert [s.agent for s in view.sources("default", other.id)] == [None, ""]
        assert view.stats("default")["sources"] == 3


def test_l04_supersession_chain(ledger: Ledger) -> None:
    a, b, c, alone = (add(ledger, text) for text in ("a", "b", "c", "alone"))
    write(ledger, made.superseded(a, b))
    write(ledger, made.superseded(b, c))
    with ledger.read() as view:
        for member in (a, b, c):
            records = view.supersessions("default", member)
            assert [(r.superseded_id, r.superseding_id) for r in records] == [(a, b), (b, c)]
        assert view.supersessions("default", alone) == []
        assert view.replaced_by("default", [a, b, c]) == {b: [a], c: [b]}


def test_prefixes(ledger: Ledger) -> None:
    ids = sorted(
        add(ledger, text, id=f"mem_0123456{digit}-89ab-4cde-8f01-23456789abcd")
        for digit, text in enumerate("abcd")
    )
    with ledger.read() as view:
        assert view.ids_with_prefix("default", "mem_0123456") == ids
        assert view.ids_with_prefix("default", "mem_0123456", limit=2) == ids[:2]
        assert view.ids_with_prefix("default", "mem_01234561-89") == ids[1:2]
        assert view.ids_with_prefix("default", "mem_0123456189") == []
        assert view.ids_with_prefix("default", ids[3]) == ids[3:]
        assert view.ids_with_prefix("default", "mem_zzzzzzzz") == []


def test_vectors(ledger: Ledger) -> None:
    id = add(ledger, "one")
    bare = made.memory("two")
    write(ledger, made.added(bare, vectors=()))
    with ledger.read() as view:
        ((model, raw),) = view.vectors("default", [id, bare.id]).values()
        assert (model, len(raw)) == ("test-model", 32)
        assert view.memories("default", [bare.id])[0].embedding_model is None
    late = ChangeSet(namespace="default", vectors=(made.vector(bare.id), made.vector(id, 8, 0.25)))
    write(ledger, late)
    with ledger.read() as view:
        assert view.vectors("default", [id])[id][1] == late.vectors[1].embedding
        assert set(view.vectors("default", [id, bare.id])) == {id, bare.id}
        assert len(list(view.projection_rows(2))) == 2


def test_projection_rows(ledger: Ledger) -> None:
    first = made.memory("one", author="Ann", metadata={"source": "x", "tags": ["t"]})
    write(ledger, made.added(first, events=(made.event(first.id, source="x", actor="bot"),)))
    second = add(ledger, "two", NOW + 1)
    write(ledger, made.reinforced(first.id, NOW + 5), NOW + 6)
    with ledger.read() as view:
        rows = list(view.projection_rows(0))
        assert [row[0] for row in rows] == [id_bytes(first.id), id_bytes(second)]
        one = rows[0]
        assert one[1:6] == (1, 3, "one", "Ann", "default")
        assert one[20:23] == (["t"], ["x", "manual"], ["bot"])
        assert [(e[0], e[1], e[2], e[3]) for e in one[23]] == [
            (0, NOW, NOW, 1),
            (2, NOW + 5, NOW + 6, 3),
        ]
        assert one[23][0][4] < one[23][1][4]
        assert [row[0] for row in view.projection_rows(1)] == [row[0] for row in rows]
        assert [row[0] for row in view.projection_rows(2)] == [id_bytes(first.id)]
        assert list(view.projection_rows(3)) == []
        assert view.head_at(3) == view.head
        assert view.head_at(4) is None


def test_metadata_equality_keeps_the_types_of_json(ledger: Ledger) -> None:
    values: list[Any] = [True, 1, 0, False, None, "1", [1], {"a": None}, 1.5, ""]
    ids = [
        add(ledger, f"text {i}", metadata={"source": "m", "k": value})
        for i, value in enumerate(values)
    ]
    with ledger.read() as view:
        for id, value in zip(ids, values, strict=True):
            assert view.ids_with_metadata("default", {"k": value}) == [id], value
        assert view.ids_with_metadata("default", {"k": 1.0}) == [ids[1]]
        assert view.ids_with_metadata("default", {"k": 1, "source": "x"}) == []
        assert view.ids_with_metadata("default", {"missing": None}) == []
        assert view.ids_with_metadata("default", {"source": "m"}) == sorted(ids)


def test_d07_recorded_references(ledger: Ledger) -> None:
    first = made.memory("one", scope="s")
    write(ledger, made.added(first, events=(made.event(first.id, artifact_ref="m1"),)))
    second = made.memory("two")
    write(ledger, made.added(second, events=(made.event(second.id, artifact_ref="m1"),)))
    with ledger.read() as view:
        assert view.recorded_refs("default", "s", ["m1", "m2"]) == {"m1": first.id}
        assert view.recorded_refs("default", None, ["m1"]) == {"m1": second.id}
        assert view.recorded_refs("default", "", ["m1"]) == {}
        assert view.recorded_refs("default", None, []) == {}


def test_l15_listing(ledger: Ledger) -> None:
    ids = [
        add(
            ledger,
            f"text {i}",
            NOW + i,
            scope=(None, "", "a")[i % 3],
            t_valid_us=NOW - i,
            metadata={"source": "m", "tags": [f"t{i % 2}", "all"]},
        )
        for i in range(6)
    ]
    ledger.touch("default", AccessTouch(memory_ids=(ids[3], ids[1]), accessed_us=NOW + 50))
    ledger.touch("default", AccessTouch(memory_ids=(ids[3],), accessed_us=NOW + 60))

    def listed(**fields: Any) -> list[int]:
        listing = Listing(**fields)
        with ledger.read() as view:
            page = [ids.index(m.id) for m in view.list_memories("default", listing)]
            full = Listing(**(fields | {"offset": 0, "limit": None}))
            assert view.count_memories("default", listing) == len(
                view.list_memories("default", full)
            )
        return page

    assert listed() == [5, 4, 3, 2, 1, 0]
    assert listed(descending=False, limit=2, offset=1) == [1, 2]
    assert listed(order_by="t_valid") == [0, 1, 2, 3, 4, 5]
    assert listed(order_by="access_count")[:2] == [3, 1]
    assert listed(order_by="last_accessed_at")[:2] == [3, 1]
    ties = listed(order_by="last_seen_at")
    assert [ids[i] for i in ties] == sorted(ids)
    assert listed(scopes=(None,)) == [3, 0]
    assert listed(scopes=("",)) == [4, 1]
    assert listed(scopes=("a", None)) == [5, 3, 2, 0]
    assert listed(scopes=()) == []
    assert listed(tags=("t1",)) == [5, 3, 1]
    assert listed(tags=("t1", "all")) == [5, 4, 3, 2, 1, 0]
    assert listed(kind=Kind.SUMMARY) == []
    assert listed(pinned=False, limit=1) == [5]
    with ledger.read() as view, pytest.raises(ValidationError, match="created_at"):
        view.list_memories("default", Listing(order_by="content"))


def test_t13_listing_in_the_past(ledger: Ledger) -> None:
    """Eligibility of T-13: known at K, valid at V, an end written later is not known."""
    kept = add(ledger, "kept", NOW, t_valid_us=NOW - 2 * DAY)
    ended = add(ledger, "ended", NOW + 1, t_valid_us=NOW - 2 * DAY)
    withdrawn = add(ledger, "withdrawn", NOW + 2, t_valid_us=NOW - 2 * DAY)
    late = add(ledger, "late", NOW + 10, t_valid_us=NOW + 10)
    end = NOW - DAY
    payload = {"t_invalid": format_us(end), "previous_t_invalid": None}
    write(
        ledger,
        ChangeSet(
            namespace="default",
            patches=(
                MemoryPatch(
                    memory_id=ended,
                    columns={"status": Status.DEPRECATED, "t_invalid_us": end},
                    expired=True,
                ),
            ),
            events=(made.event(ended, EventType.DEPRECATE, payload=payload),),
        ),
        NOW + 20,
    )
    write(
        ledger,
        ChangeSet(
            namespace="default",
            patches=(
                MemoryPatch(
                    memory_id=withdrawn, columns={"status": Status.DEPRECATED}, expired=True
                ),
            ),
            events=(made.event(withdrawn, EventType.DEPRECATE),),
        ),
        NOW + 30,
    )

    def listed(**fields: int) -> set[str]:
        with ledger.read() as view:
            found = view.list_memories("default", Listing(**fields))  # type: ignore[arg-type]
            assert view.count_memories("default", Listing(**fields)) == len(found)  # type: ignore[arg-type]
        return {m.id for m in found}

    assert listed() == {kept, late}
    assert listed(known_at_us=NOW + 5) == {kept, ended, withdrawn}
    assert listed(known_at_us=NOW + 20) == {kept, withdrawn, late}
    assert listed(valid_at_us=end - 1) == {kept, ended}
    assert listed(valid_at_us=end) == {kept}
    assert listed(valid_at_us=end, known_at_us=NOW + 5) == {kept, ended, withdrawn}
    assert listed(valid_at_us=NOW - 3 * DAY) == set()
    with ledger.read() as view:
        assert view.ends_before("default", NOW + 5) == {ended: None}
        assert view.ends_before("default", NOW + 20) == {}
        assert view.ends_before("other", NOW) == {}


def test_the_earliest_event_after_k_tells_the_end_known_at_k(ledger: Ledger) -> None:
    id = add(ledger, "one", t_invalid_us=NOW + DAY)
    ends = [NOW + DAY, NOW + 2 * DAY, NOW + 3 * DAY]
    for at, (before, after) in enumerate(zip(ends, ends[1:], strict=False), start=1):
        payload = {"t_invalid": format_us(after), "previous_t_invalid": format_us(before)}
        change = ChangeSet(
            namespace="default",
            patches=(MemoryPatch(memory_id=id, columns={"t_invalid_us": after}),),
            events=(made.event(id, EventType.UPDATE, payload=payload),),
        )
        write(ledger, change, NOW + 10 * at)
    with ledger.read() as view:
        assert view.ends_before("default", NOW) == {id: ends[0]}
        assert view.ends_before("default", NOW + 10) == {id: ends[1]}
        assert view.ends_before("default", NOW + 20) == {}


def test_l12_touching_takes_no_seq(ledger: Ledger) -> None:
    a, b = add(ledger, "a"), add(ledger, "b")
    ledger.touch("default", AccessTouch(memory_ids=(a, a, b), accessed_us=NOW + 1))
    ledger.touch("default", AccessTouch(memory_ids=(), accessed_us=NOW + 2))
    with pytest.raises(NotFoundError):
        ledger.touch("default", AccessTouch(memory_ids=(a, new_id("mem")), accessed_us=NOW + 3))
    with ledger.read() as view:
        assert view.seq == 2
        for memory in view.memories("default", [a, b]):
            assert (memory.access_count, memory.last_accessed_at) == (1, from_us(NOW + 1))


def test_c12_jobs() -> None:
    """Leases, growing pauses, failing for good, results in one transaction, done once."""
    second = 1_000_000
    rules = JobRules(lease_s=10, backoff_base_s=60, backoff_max_s=100, max_attempts=3)
    with open_ledger(None, job_rules=rules) as ledger:
        new = made.memory("one")
        job = made.job(new.id)
        write(ledger, made.added(new, vectors=(), jobs=(job,)))

        def due(now_us: int, kind: str = "embed", space: str = "default") -> list[str]:
            return [j.id for j in ledger.due_jobs(space, now_us, [kind], 5)]

        def state() -> tuple[str, int]:
            with ledger.read() as view:
                assert sum(view.stats("default")["jobs"].values()) == 1
                return view.memories("default", [new.id])[0].processing, view.seq

        assert state() == ("pending", 1)
        assert due(NOW, "summary") == []
        assert due(NOW, space="other") == []
        (taken,) = ledger.due_jobs("default", NOW, ["embed"], 5)
        assert (taken.id, taken.memory_id, taken.state) == (job.id, new.id, "running")
        assert due(NOW + 9 * second) == []
        assert due(NOW + 10 * second) == [job.id]
        ledger.finish_job(job.id, NOW, changes=None, error="x" * 900)
        assert due(NOW + 60 * second - 1) == []
        (again,) = ledger.due_jobs("default", NOW + 60 * second, ["embed"], 5)
        assert (again.attempts, again.last_error) == (1, "x" * 500)
        ledger.finish_job(job.id, NOW, changes=None, error="x")
        assert due(NOW + 100 * second - 1) == []
        assert due(NOW + 100 * second) == [job.id]
        ledger.finish_job(job.id, NOW, changes=None, error="x")
        assert due(NOW + 10_000 * second) == []
        assert state() == ("failed", 1)
        assert ledger.retry_failed("default", ["embed"], NOW) == 1
        assert due(NOW) == [job.id]
        result = ChangeSet(namespace="default", vectors=(made.vector(new.id),))
        ledger.finish_job(job.id, NOW, changes=result, error=None)
        assert state() == ("ready", 2)
        ledger.finish_job(job.id, NOW, changes=result, error=None)
        ledger.finish_job(new_id("job"), NOW, changes=result, error=None)
        assert state() == ("ready", 2)
        with ledger.read() as view:
            assert set(view.vectors("default", [new.id])) == {new.id}
        assert ledger.verify_all() == []


def test_embedding_identity_is_remembered_once(ledger: Ledger) -> None:
    assert ledger.embedding_identity() is None
    identity = EmbeddingIdentity(
        model="m", dimensions=3, normalized=True, fingerprint="", probes=(b"\x00\x01", b"")
    )
    ledger.set_embedding_identity(identity)
    ledger.set_embedding_identity(EmbeddingIdentity(model="n", dimensions=4, normalized=False))
    assert ledger.embedding_identity() == identity
    with ledger.read() as view:
        assert view.seq == 0
    add(ledger, "one")
    assert ledger.embedding_identity() == identity


def test_a_view_is_one_state(ledger: Ledger) -> None:
    first = add(ledger, "one")
    with ledger.read() as view:
        rows = view.projection_rows(0)
        assert id_bytes(first) == next(rows)[0]
        assert view.seq == 1
    with ledger.read() as view:
        assert view.seq == 1


def test_many_threads(ledger: Ledger) -> None:
    """Readers see whole transactions while others write; every write arrives."""
    failures: list[BaseException] = []
    stop = threading.Event()

    def work(action: Callable[[], None]) -> None:
        try:
            action()
        except BaseException as error:  # a test thread must hand every failure to the test
            failures.append(error)

    def writer(name: int) -> None:
        for i in range(15):
            for _ in range(100):
                try:
                    add(ledger, f"text {name} {i}")
                    break
                except StoreLockedError:
                    continue

    def reader() -> None:
        while not stop.is_set():
            with ledger.read() as view:
                seq = view.seq
                assert view.count_memories("default", Listing()) == seq
                assert len(list(view.projection_rows(0))) == seq

    readers = [threading.Thread(target=work, args=(reader,)) for _ in range(2)]
    writers = [threading.Thread(target=work, args=(lambda n=n: writer(n),)) for n in range(3)]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert failures == []
    with ledger.read() as view:
        assert view.seq == 45
