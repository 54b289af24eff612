"""What every ledger must answer: listing, the past, catch-up, jobs, threads."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest
from ledger_adapters import add, write

import ledger_rows as made
from vestig.changes import AccessTouch, ChangeSet, MemoryPatch
from vestig.errors import NotFoundError, StoreLockedError, ValidationError
from vestig.ids import id_bytes, new_id
from vestig.ports import EmbeddingIdentity
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.records.jobs import JobRules
from vestig.store.records.rows import JobResult, Listing
from vestig.times import format_us, from_us
from vestig.types import EventType, Kind, Status

NOW = made.NOW
DAY = 86_400_000_000


def test_rows_of_the_projection_of_touched_memories(ledger: Ledger) -> None:
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


def test_scope_session_and_sequence_of_memories(ledger: Ledger) -> None:
    one = add(ledger, "one", scope="home", session_id="s-1", sequence=0)
    two = add(ledger, "two", session_id="s-1")
    three = add(ledger, "three", sequence=7)
    other = add(ledger, "other", namespace="other", session_id="s-1", sequence=1)
    with ledger.read() as view:
        assert view.places("default", [three, one, other, two, new_id("mem"), "mem_x"]) == {
            one: ("home", "s-1", 0),
            two: (None, "s-1", None),
            three: (None, None, 7),
        }
        assert view.places("default", []) == {}


def test_turns_of_sessions_by_sequence(ledger: Ledger) -> None:
    ids = [add(ledger, f"turn {n}", session_id="s-1", sequence=10 * n) for n in range(5)]
    far = add(ledger, "far", scope="home", session_id="s-2", sequence=2**63 - 1)
    add(ledger, "no place", session_id="s-1")
    add(ledger, "other session", session_id="s-3", sequence=10)
    add(ledger, "other", namespace="other", session_id="s-1", sequence=10)
    with ledger.read() as view:
        found = view.turns("default", ["s-1", "s-2"], [(10, 20), (25, 39), (41, 2**63 - 1)])
        assert found == {
            ids[1]: (None, "s-1", 10),
            ids[2]: (None, "s-1", 20),
            ids[3]: (None, "s-1", 30),
            far: ("home", "s-2", 2**63 - 1),
        }
        assert len(view.turns("default", ["s-1"], [(n, n) for n in range(200)])) == 5
        assert view.turns("default", ["s-1"], []) == view.turns("default", [], [(0, 9)]) == {}


def test_recorded_references(ledger: Ledger) -> None:
    first = made.memory("one", scope="s")
    write(ledger, made.added(first, events=(made.event(first.id, artifact_ref="m1"),)))
    second = made.memory("two")
    write(ledger, made.added(second, events=(made.event(second.id, artifact_ref="m1"),)))
    with ledger.read() as view:
        assert view.recorded_refs("default", "s", ["m1", "m2"]) == {"m1": first.id}
        assert view.recorded_refs("default", None, ["m1"]) == {"m1": second.id}
        assert view.recorded_refs("default", "", ["m1"]) == {}
        assert view.recorded_refs("default", None, []) == {}


def test_listing(ledger: Ledger) -> None:
    ids = [
        add(
            ledger,
            f"text {i}",
            NOW + i,
            session_id=(None, "b", "a")[i % 3],
            sequence=None if i < 3 else 9 - i,
            t_valid=from_us(NOW - i),
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
    assert listed(order_by="session", descending=False) == [5, 2, 4, 1, 3, 0]
    assert listed(order_by="session") == [4, 1, 5, 2, 3, 0]
    assert listed(ids=tuple(id_bytes(ids[i]) for i in (4, 1))) == [4, 1]
    assert listed(ids=(*map(id_bytes, ids[:2]), *(bytes(16) for _ in range(2_000)))) == [1, 0]
    assert listed(ids=()) == []
    assert listed(columns={"kind": (Kind.SUMMARY.value,)}) == []
    assert listed(columns={"pinned": (False,)}, limit=1) == [5]
    with ledger.read() as view, pytest.raises(ValidationError, match="created_at"):
        view.list_memories("default", Listing(order_by="content"))


def test_listing_in_the_past(ledger: Ledger) -> None:
    """Known at one moment, valid at another: an end that was recorded later is not known."""
    kept = add(ledger, "kept", NOW, t_valid=from_us(NOW - 2 * DAY))
    ended = add(ledger, "ended", NOW + 1, t_valid=from_us(NOW - 2 * DAY))
    withdrawn = add(ledger, "withdrawn", NOW + 2, t_valid=from_us(NOW - 2 * DAY))
    late = add(ledger, "late", NOW + 10, t_valid=from_us(NOW + 10))
    end = NOW - DAY
    payload = {"t_invalid": format_us(end), "previous_t_invalid": None}
    write(
        ledger,
        ChangeSet(
            namespace="default",
            patches=(
                MemoryPatch(
                    memory_id=ended,
                    fields={"status": Status.DEPRECATED, "t_invalid": from_us(end)},
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
                    memory_id=withdrawn, fields={"status": Status.DEPRECATED}, expired=True
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


def test_the_earliest_later_event_has_the_end_as_known_before(ledger: Ledger) -> None:
    id = add(ledger, "one", t_invalid=from_us(NOW + DAY))
    ends = [NOW + DAY, NOW + 2 * DAY, NOW + 3 * DAY]
    for at, (before, after) in enumerate(itertools.pairwise(ends), start=1):
        payload = {"t_invalid": format_us(after), "previous_t_invalid": format_us(before)}
        change = ChangeSet(
            namespace="default",
            patches=(MemoryPatch(memory_id=id, fields={"t_invalid": from_us(after)}),),
            events=(made.event(id, EventType.UPDATE, payload=payload),),
        )
        write(ledger, change, NOW + 10 * at)
    with ledger.read() as view:
        assert view.ends_before("default", NOW) == {id: ends[0]}
        assert view.ends_before("default", NOW + 10) == {id: ends[1]}
        assert view.ends_before("default", NOW + 20) == {}


def test_touching_takes_no_seq(ledger: Ledger) -> None:
    a, b = add(ledger, "a"), add(ledger, "b")
    ledger.touch("default", AccessTouch(memory_ids=(a, a, b), accessed_us=NOW + 1))
    ledger.touch("default", AccessTouch(memory_ids=(), accessed_us=NOW + 2))
    with pytest.raises(NotFoundError):
        ledger.touch("default", AccessTouch(memory_ids=(a, new_id("mem")), accessed_us=NOW + 3))
    with ledger.read() as view:
        assert view.seq == 2
        for memory in view.memories("default", [a, b]):
            assert (memory.access_count, memory.last_accessed_at) == (1, from_us(NOW + 1))


def test_jobs() -> None:
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
        ledger.finish_jobs([JobResult(job_id=job.id, changes=None, error="x" * 900)], NOW)
        assert due(NOW + 60 * second - 1) == []
        (again,) = ledger.due_jobs("default", NOW + 60 * second, ["embed"], 5)
        assert (again.attempts, again.last_error) == (1, "x" * 500)
        ledger.finish_jobs([JobResult(job_id=job.id, changes=None, error="x")], NOW)
        assert due(NOW + 100 * second - 1) == []
        assert due(NOW + 100 * second) == [job.id]
        ledger.finish_jobs([JobResult(job_id=job.id, changes=None, error="x")], NOW)
        assert due(NOW + 10_000 * second) == []
        assert state() == ("failed", 1)
        assert ledger.retry_failed("default", ["embed"], NOW) == 1
        assert due(NOW) == [job.id]
        result = ChangeSet(namespace="default", vectors=(made.vector(new.id),))
        ledger.finish_jobs([JobResult(job_id=job.id, changes=result, error=None)], NOW)
        assert state() == ("ready", 2)
        ledger.finish_jobs([JobResult(job_id=job.id, changes=result, error=None)], NOW)
        ledger.finish_jobs([JobResult(job_id=new_id("job"), changes=result, error=None)], NOW)
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
