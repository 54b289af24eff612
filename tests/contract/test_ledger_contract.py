"""What every ledger must do, whatever stores it. Adapters: `ledger_adapters`."""

from __future__ import annotations

import pytest
from ledger_adapters import add, write

import ledger_rows as made
from vestig.changes import AccessTouch, ChangeSet, MemoryPatch, NewEdge
from vestig.errors import NotFoundError, ValidationError
from vestig.ids import id_bytes, new_id
from vestig.store.ledger.ledger import Ledger
from vestig.store.records.rows import Listing, UniquenessCollision
from vestig.times import from_us
from vestig.types import EdgeType, Kind, Role, Status, Trigger

NOW = made.NOW
DAY = 86_400_000_000


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
        role=Role.USER,
        session_id="s1",
        sequence=0,
        title="",
        trigger=Trigger.PROBLEM_SOLUTION,
        t_valid=from_us(-1),
        t_invalid=from_us(NOW + 5),
        metadata={"source": "manual", "tags": ["a", "b"], "n": 0, "none": None, "f": False},
        pinned=True,
        pinned_at=from_us(NOW),
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


def test_namespaces_isolate(ledger: Ledger) -> None:
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


def test_one_text_in_two_scopes_is_two_memories(ledger: Ledger) -> None:
    ids = {add(ledger, "same", scope=scope) for scope in (None, "", "a")}
    ids |= {add(ledger, "same", author=author) for author in ("", "Ann")}
    assert len(ids) == 5
    for fields in ({}, {"scope": ""}, {"scope": "a"}, {"author": ""}, {"author": "Ann"}):
        with pytest.raises(UniquenessCollision):
            add(ledger, "same", **fields)
    with ledger.read() as view:
        assert view.seq == 5


def test_a_note_is_one_per_author_and_a_turn_one_per_position(ledger: Ledger) -> None:
    """Without a session the sequence counts for nothing; with one, none is a position too."""
    places: tuple[dict[str, object], ...] = (
        {},
        {"session_id": ""},
        {"session_id": "s"},
        {"session_id": "s", "sequence": 0},
        {"session_id": "s", "sequence": 1},
        {"session_id": "s", "sequence": -1},
        {"session_id": "t"},
        {"session_id": "t", "sequence": 0},
        {"session_id": "t", "sequence": 0, "author": "Ann"},
        {"session_id": "t", "sequence": 0, "scope": ""},
    )
    ids = {add(ledger, "yes", **place) for place in places}
    assert len(ids) == len(places)
    for place in (*places, {"sequence": 0}, {"sequence": 7}):
        with pytest.raises(UniquenessCollision):
            add(ledger, "yes", **place)
    with ledger.read() as view:
        assert view.seq == len(places)


def test_an_expired_turn_gives_its_position_free(ledger: Ledger) -> None:
    place: dict[str, object] = {"session_id": "s", "sequence": 3}
    old = add(ledger, "yes", **place)
    new = add(ledger, "no")
    write(ledger, made.superseded(old, new))
    again = add(ledger, "yes", **place)
    with pytest.raises(UniquenessCollision):
        add(ledger, "yes", **place)
    other = add(ledger, "yes", session_id="s", sequence=4)
    patch = MemoryPatch(memory_id=other, fields=place)
    with pytest.raises(UniquenessCollision):
        write(ledger, ChangeSet(namespace="default", patches=(patch,)))
    assert again != old


def test_a_text_comes_back_as_it_was_given(ledger: Ledger) -> None:
    given = "def add(a, b):\n\treturn a + b"
    new = made.memory("def add(a, b): return a + b")
    plain = add(ledger, "one line")
    write(ledger, made.added(new, original_texts=(made.original(new.id, given),)))
    with ledger.read() as view:
        texts = [m.content for m in view.memories("default", [new.id, plain])]
        assert texts == [given, "one line"]
        listed = {m.id: m.content for m in view.list_memories("default", Listing())}
        assert listed == {new.id: given, plain: "one line"}
        found = view.recalled("default", [id_bytes(new.id)])
        assert found[id_bytes(new.id)].content == given
        assert view.same_text("default", None, None, new.content_hash, None)[0].content == given
        normal = {new.id: new.content, plain: "one line"}
        assert view.normal_texts("default", [new.id, plain, new_id("mem")]) == normal
        assert view.normal_texts("other", [new.id]) == {}
        assert [row[3] for row in view.projection_rows(0)] == ["one line", new.content]


def test_an_original_text_is_replaced_and_removed(ledger: Ledger) -> None:
    new = made.memory("a b c")
    write(ledger, made.added(new, original_texts=(made.original(new.id, "a\nb c"),)))
    for given in ("a\tb\tc", None, None, "a  b c"):
        texts = (made.original(new.id, given),)
        seq = write(ledger, ChangeSet(namespace="default", original_texts=texts))
        with ledger.read() as view:
            (got,) = view.memories("default", [new.id])
            assert got.content == (given or "a b c")
            rows = [(row[0], row[2]) for row in view.projection_rows(seq - 1)]
            assert rows in ([(id_bytes(new.id), seq)], [(id_bytes(new.id), 1)])
    unknown = (made.original(new_id("mem"), "x"),)
    with pytest.raises(NotFoundError):
        write(ledger, ChangeSet(namespace="default", original_texts=unknown))


def test_an_expired_text_may_be_written_again(ledger: Ledger) -> None:
    old = add(ledger, "the text")
    other = add(ledger, "another")
    write(ledger, made.superseded(old, other))
    new = add(ledger, "the text", revives=old)
    with ledger.read() as view:
        (memory,) = view.memories("default", [new])
        found = view.same_text("default", None, None, memory.content_hash, None)
        assert [m.id for m in found] == [new, old]
        assert memory.revives == old
        assert found[1].status is Status.SUPERSEDED
        assert found[1].superseded_by == other
        assert found[1].t_expired == from_us(NOW)
        assert view.same_text("default", "a", None, memory.content_hash, None) == []
        assert view.same_text("default", None, "", memory.content_hash, None) == []


def test_nothing_is_written_when_the_block_fails(ledger: Ledger) -> None:
    old = add(ledger, "kept")

    def fail() -> None:
        with ledger.write(NOW) as txn:
            txn.apply(made.added(made.memory("lost"), old))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
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
        assert txn.clock_behind_us == 10
        txn.apply(made.added(new := made.memory("two")))
    with ledger.write(NOW + 10) as txn:
        assert txn.clock_behind_us == 0
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


def test_patching_fields(ledger: Ledger) -> None:
    id = add(ledger, "one", metadata={"source": "manual", "tags": ["a", "b"]})
    patch = MemoryPatch(
        memory_id=id,
        fields={
            "metadata": {"source": "manual", "tags": ["b", "c"]},
            "status": Status.ARCHIVED,
            "pinned": True,
            "scope": "s",
            "retention_until": from_us(0),
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
        assert memory.tags == ("b", "c")
        assert view.count_memories("default", everything) == 1
    with pytest.raises(ValueError, match="content"):
        write(
            ledger,
            ChangeSet(
                namespace="default",
                patches=(MemoryPatch(memory_id=id, fields={"content": "other"}),),
            ),
        )


def test_edges(ledger: Ledger) -> None:
    """Weights survive, an edge stored again keeps its id, impossible edges are refused."""
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


def test_supersession_chain(ledger: Ledger) -> None:
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


def test_token_codes_go_to_the_projection_as_they_came(ledger: Ledger) -> None:
    id = add(ledger, "one")
    bare = made.memory("two")
    given = made.tokens(bare.id, 160)
    write(ledger, made.added(bare, token_codes=(given,)))
    with ledger.read() as view:
        one, two = (row[31] for row in view.projection_rows(0))
    assert (one, two) == (None, (given.ids, given.codes))
    seq = write(ledger, ChangeSet(namespace="default", token_codes=(made.tokens(id, 1),)))
    with ledger.read() as view:
        ((touched, pieces),) = ((row[2], row[31]) for row in view.projection_rows(seq - 1))
    assert (touched, [len(part) for part in pieces or ()]) == (seq, [4, 34])
