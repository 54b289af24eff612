"""States of a memory: deprecated, superseded, archived, pinned, updated; pages and ids."""

from __future__ import annotations

import re
from typing import Any

import pytest

import vestig
from calls import selecting
from scripted import Opener
from vestig.testing import FrozenClock

UNKNOWN = "mem_00000000-0000-4000-8000-000000000000"


def three(store: vestig.Vestig) -> list[str]:
    texts = ("Alpha runs the harbour crane", "Beta drives the night tram", "Gamma tunes the organ")
    ids = [store.commit(text).memory_id for text in texts]
    assert all(ids)
    return [id for id in ids if id]


def kinds(store: vestig.Vestig, id: str) -> list[str]:
    return [event.event_type.value for event in store.events(id)]


def test_deprecate_twice(store: vestig.Vestig) -> None:
    id = three(store)[0]
    done = store.deprecate(id, "wrong")
    assert (done.changed, done.status) == (True, "DEPRECATED")
    with pytest.raises(vestig.ConflictError, match=rf"{id}.*DEPRECATED since 2026-03-18"):
        store.deprecate(id)
    with pytest.raises(vestig.NotFoundError, match=f"Memory not found: {UNKNOWN}"):
        store.deprecate(UNKNOWN)
    assert kinds(store, id) == ["ADD", "DEPRECATE"]
    assert store.events(id)[1].payload["reason"] == "wrong"


def test_chain_of_three(store: vestig.Vestig) -> None:
    a, b, c = three(store)
    first = store.supersede(a, b, "newer")
    store.supersede(b, c)
    assert (first.superseded_id, first.superseding_id, first.reason) == (a, b, "newer")
    for member in (a, b, c):
        chain = [(r.superseded_id, r.superseding_id) for r in store.supersession_chain(member)]
        assert chain == [(a, b), (b, c)]
    seq = store.admin.stats().seq
    assert store.supersede(a, b) == first
    assert store.admin.stats().seq == seq
    assert [m.id for m in store.list()] == [c]
    assert store.show(a).memory.superseded_by == b
    alone = store.commit("Delta waters the plants").memory_id
    assert store.supersession_chain(alone) == []


def test_what_replaced_a_memory_before_and_still_holds_is_named(store: vestig.Vestig) -> None:
    old = store.commit("The wardrobe key is with Dilys Farrow").memory_id
    assert old is not None
    before = store.commit("Ravi Anand keeps what opens the cupboard", supersedes=[old])
    assert before.warnings == ()
    said = rf"{old} was already replaced by {before.memory_id}, which still holds"
    texts = ("Joan Hale looks after all of the costumes", "Pete Orr has a drawer for small things")
    dry = store.commit(texts[0], supersedes=[old], dry_run=True)
    second = store.commit(texts[0], supersedes=[old])
    for outcome in (dry, second):
        assert re.match(said, outcome.warnings[0])
    # what is named with it is replaced too
    both = [old, str(second.memory_id)]
    third = store.commit(texts[1], supersedes=both)
    assert third.warnings == ()
    fourth = three(store)[0]
    record = store.supersede(old, fourth)
    assert re.match(rf"{old} was already replaced by {third.memory_id}", record.warnings[0])
    assert f"supersede('{third.memory_id}', new)" in record.warnings[0]
    store.supersede(str(third.memory_id), fourth)
    store.deprecate(fourth)
    assert store.commit("The spare cupboard is empty", supersedes=[old]).warnings == ()


def test_each_item_of_a_batch_that_replaces_one_memory_is_told_of_those_before(
    store: vestig.Vestig,
) -> None:
    old = three(store)[0]
    texts = ("Joan Hale looks after all of the costumes", "Pete Orr has a drawer for small things")
    first, second = store.commit_many([{"content": text, "supersedes": [old]} for text in texts])
    assert isinstance(first, vestig.CommitOutcome)
    assert isinstance(second, vestig.CommitOutcome)
    assert first.warnings == ()
    assert f"{old} was already replaced by {first.memory_id}" in second.warnings[0]


def test_refused_pairs_change_nothing(store: vestig.Vestig) -> None:
    a, b, c = three(store)
    store.supersede(a, b)
    store.deprecate(c)
    before = store.admin.stats()
    with pytest.raises(vestig.ConflictError, match=f"{b} → {a} → {b}"):
        store.supersede(b, a)
    for old, new in ((b, b), (c, b), (b, c)):
        with pytest.raises(vestig.ConflictError):
            store.supersede(old, new)
    with pytest.raises(vestig.NotFoundError):
        store.supersede(b, UNKNOWN)
    assert store.admin.stats() == before


def test_pins(store: vestig.Vestig) -> None:
    a, b, _ = three(store)
    store.supersede(a, b)
    with pytest.raises(vestig.ConflictError, match="SUPERSEDED"):
        store.pin(a)
    assert store.pin(b, "never lose").changed
    assert not store.pin(b).changed
    assert kinds(store, b) == ["ADD", "PIN"]
    assert store.unpin(b).status == "ACTIVE"
    assert not store.unpin(a).changed
    assert store.show(a).memory.status.value == "superseded"


def test_archive_and_restore(store: vestig.Vestig) -> None:
    a = three(store)[0]
    assert store.archive(a).status == "ARCHIVED"
    assert not store.archive(a).changed
    assert a not in {hit.id for hit in store.recall("harbour crane", limit=10)}
    shown = store.recall("harbour crane", limit=10, where={"include_archived": True})
    assert a in {hit.id for hit in shown}
    assert store.unarchive(a).status == "ACTIVE"
    assert kinds(store, a) == ["ADD", "ARCHIVE", "UNARCHIVE"]
    store.deprecate(a)
    with pytest.raises(vestig.ConflictError):
        store.archive(a)


def test_touch_and_access(store: vestig.Vestig) -> None:
    a, b, _ = three(store)
    for _ in range(20):
        store.recall("harbour crane")
    assert store.show(a).memory.access_count == 0
    assert store.record_access([a, a, b]) == 2
    assert store.show(a).memory.access_count == 1
    with pytest.raises(vestig.NotFoundError):
        store.record_access([a, UNKNOWN])
    assert store.show(a).memory.access_count == 1
    assert store.record_access([]) == 0


def test_update_to_a_b_a(opener: Opener) -> None:
    store = opener()
    a, b = "The launch is planned for spring", "Nothing is known about the weather"
    first = store.commit(a, tags=["plan"], author="Ada").memory_id
    second = store.update(first, content=b)
    third = store.update(second.memory_id, content=a)
    assert len({first, second.memory_id, third.memory_id}) == 3
    memory = store.show(third.memory_id).memory
    assert (memory.content, memory.revives, memory.tags, memory.author) == (
        a,
        first,
        ("plan",),
        "Ada",
    )
    assert [m.id for m in store.list()] == [third.memory_id]
    same = store.update(third.memory_id, content=a)
    assert (same.changed, same.memory_id) == (False, third.memory_id)


def test_update_of_fields(store: vestig.Vestig) -> None:
    id = three(store)[0]
    done = store.update(id, tags=["x"], metadata={"k": 0}, trigger="learning-success")
    assert (done.changed, done.version) == (True, 2)
    assert set(done.fields) == {"tags", "metadata", "trigger"}
    memory = store.show(id).memory
    assert memory.metadata == {"source": "manual", "tags": ["x"], "k": 0}
    again = store.update(id, tags=["x"], metadata={"k": 0})
    assert (again.changed, again.version) == (False, 2)
    assert kinds(store, id) == ["ADD", "UPDATE"]
    cleared = store.update(id, clear=["tags", "trigger"])
    assert cleared.version == 3
    assert "tags" not in store.show(id).memory.metadata
    assert [hit.id for hit in store.recall("harbour crane", tags="x")] == []
    with pytest.raises(vestig.ValidationError, match="did you mean tags"):
        store.update(id, clear=["tag"])
    with pytest.raises(vestig.ValidationError, match="clear"):
        store.update(id, tags=["x"], clear=["tags"])
    with pytest.raises(vestig.ValidationError, match="clear"):
        store.update(id, clear=["content"])
    with pytest.raises(vestig.ValidationError, match="t_invalid"):
        store.update(id, t_invalid="1999-01-01")


def test_scope_that_holds_the_text(store: vestig.Vestig) -> None:
    text = "The same sentence in two scopes"
    a = store.commit(text, scope="one").memory_id
    b = store.commit(text, scope="two").memory_id
    assert a != b
    with pytest.raises(vestig.ConflictError, match=str(b)):
        store.update(a, scope="two")
    assert store.update(a, clear="scope").changed
    assert store.show(a).memory.scope is None


def test_paging_and_count(store: vestig.Vestig) -> None:
    outcomes = store.commit_many([f"Listed statement number {n} here" for n in range(57)])
    ids = {o.memory_id for o in outcomes}
    assert len(ids) == 57
    seen: list[str] = []
    for offset in range(0, 60, 10):
        seen.extend(m.id for m in store.list(offset=offset, limit=10))
    assert len(seen) == len(set(seen)) == 57
    assert set(seen) == ids
    for filters in (
        {},
        {"statuses": "active"},
        {"pinned": True},
        {"kinds": "summary"},
        {"unscoped": True},
        {"authors": "Ada"},
        {"retention_policies": ["standard"]},
    ):
        assert store.count(**selecting(filters)) == len(
            store.list(limit=1000, **selecting(filters))
        )
    for bad in (
        {"order_by": "size"},
        {"limit": 1001},
        {"limit": 0},
        {"offset": -1},
        {"statuses": "x"},
    ):
        with pytest.raises(vestig.ValidationError, match=next(iter(bad))):
            store.list(**selecting(bad))  # type: ignore[arg-type]


def test_namespaces_are_isolated(opener: Opener) -> None:
    store = opener()
    text = "A sentence that two tenants share"
    mine = store.commit(text).memory_id
    theirs = store.commit(text, namespace="other").memory_id
    assert mine != theirs
    for call in (store.show, store.pin, store.deprecate, store.events, store.supersession_chain):
        with pytest.raises(vestig.NotFoundError):
            call(theirs)
    with pytest.raises(vestig.NotFoundError):
        store.supersede(mine, theirs)
    assert [hit.id for hit in store.recall(text, limit=10)] == [mine]
    assert [hit.id for hit in store.recall(text, namespace="other")] == [theirs]
    assert [hit.id for hit in store.recall(text, where={"ids": [theirs]})] == []
    assert len(store.recall(text, namespace="nobody")) == 0
    assert store.count() == 1


def test_ids_may_be_shortened(store: vestig.Vestig) -> None:
    id = three(store)[0]
    assert store.show(id[:12]).memory.id == id
    assert store.pin(id[:14]).memory_id == id
    with pytest.raises(vestig.ValidationError, match="8 characters"):
        store.show(id[:8])
    with pytest.raises(vestig.NotFoundError):
        store.show("mem_ffffffff")


def test_close_is_idempotent(store: vestig.Vestig) -> None:
    store.close()
    store.close()
    with pytest.raises(vestig.ConflictError, match="closed"):
        store.commit("A fact that comes too late")
    with pytest.raises(vestig.ConflictError, match="closed"):
        store.recall("anything")


def test_another_text_keeps_what_was_given_beside_the_one_before(store: vestig.Vestig) -> None:
    old = store.commit(
        "The coach leaves Ghent at 05:45.",
        entities=["ORG:Brightwater Coaches", "PLACE:Ghent"],
        keywords=["Brightwater"],
        tags=["bus"],
    )
    new = store.update(str(old.memory_id), content="The coach leaves Antwerp at 05:15.")
    memory = store.show(new.memory_id).memory
    assert store.count(where={"entities": "Brightwater Coaches"}) == 1
    assert "Brightwater" in memory.keywords
    assert not {"05:45", "ghent", "Ghent"} & set(memory.keywords)
    assert store.graph.entity("Brightwater Coaches").entity.entity_type == "ORG"
    # what the text said goes with it
    named = {store.graph.entity(id).entity.canonical_name for id in new.outcome.entities}
    assert named == {"Brightwater Coaches", "Antwerp"}


def test_another_text_keeps_the_type_of_a_name_that_it_says_too(store: vestig.Vestig) -> None:
    store.commit("Florence sings bass in our choir.", entities=["PERSON:Florence"])
    trip = store.commit("The choir travels to Florence in May.", entities=["PLACE:Florence"])
    new = store.update(str(trip.memory_id), content="The choir travels to Florence in June.")
    assert [store.graph.entity(id).entity.entity_type for id in new.outcome.entities] == ["PLACE"]


def test_a_text_with_nothing_beside_it_is_changed_as_before(store: vestig.Vestig) -> None:
    old = store.commit("Ada Lovelace works in Paris.", title="Ada Lovelace")
    new = store.update(str(old.memory_id), content="Grace Hopper works in Oslo.")
    again = store.commit("Grace Hopper works in Oslo.", title="Ada Lovelace", scope="other")
    assert set(new.outcome.entities) == set(again.entities)
    kept, fresh = (store.show(str(id)).memory for id in (new.memory_id, again.memory_id))
    assert kept.keywords == fresh.keywords


LEASE, FIXED = "Bea Novack rents the loft above the mill", "Bea Novak rents the loft above the mill"
TODAY = "2026-06-15"


@pytest.mark.parametrize("key", [None, "loft.tenant"])
@pytest.mark.parametrize(
    ("begins", "ends", "given", "held"),
    [
        # what holds has its new text from now on, until it ends
        ("2026-01-01", "2026-07-01", {}, (TODAY, "2026-07-01")),
        ("2026-01-01", None, {}, (TODAY, None)),
        # what is announced stays so, and what is over
        ("2026-09-01", None, {}, ("2026-09-01", None)),
        ("2026-09-01", "2026-10-01", {}, ("2026-09-01", "2026-10-01")),
        ("2025-01-01", "2026-03-01", {}, ("2025-01-01", "2026-03-01")),
        # what is told counts
        ("2026-01-01", "2026-07-01", {"clear": ["t_invalid"]}, (TODAY, None)),
        ("2025-01-01", "2026-03-01", {"clear": ["t_invalid"]}, (TODAY, None)),
        ("2026-09-01", None, {"t_valid": TODAY}, (TODAY, None)),
        ("2026-01-01", None, {"t_invalid": "2026-05-01"}, ("2026-01-01", "2026-05-01")),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_another_text_holds_as_long_as_the_one_before(
    opener: Opener,
    key: str | None,
    begins: str,
    ends: str | None,
    given: dict[str, Any],
    held: tuple[str, str | None],
) -> None:
    store = opener(clock=FrozenClock(TODAY))
    old = store.commit(LEASE, key=key, t_valid=begins, t_invalid=ends).memory_id
    new = store.show(store.update(old, content=FIXED, **given).memory_id).memory
    end = None if new.t_invalid is None else f"{new.t_invalid:%Y-%m-%d}"
    assert (f"{new.t_valid:%Y-%m-%d}", end) == held
    before = store.show(old).memory
    assert before.t_invalid is not None or before.t_valid == new.t_valid
    for day in ("2025-02-01", "2026-05-02", "2026-06-20", "2026-09-02"):
        assert store.count(valid_at=day) <= 1
    assert {one.id for one in store.list()} <= {new.id}
    assert store.admin.doctor().exit_code == 0


def test_a_text_that_another_memory_has_leaves_that_its_own_end(opener: Opener) -> None:
    store = opener(clock=FrozenClock(TODAY))
    old = store.commit(LEASE, t_valid="2026-01-01", t_invalid="2026-07-01").memory_id
    known = store.commit(FIXED, t_valid="2026-01-01").memory_id
    assert store.update(old, content=FIXED).memory_id == known
    assert store.show(known).memory.t_invalid is None


def test_another_text_cannot_begin_behind_the_end_that_it_keeps(opener: Opener) -> None:
    store = opener(clock=FrozenClock(TODAY))
    old = store.commit(LEASE, t_valid="2026-01-01", t_invalid="2026-07-01").memory_id
    with pytest.raises(vestig.ValidationError, match=r'clear=\["t_invalid"\] none'):
        store.update(old, content=FIXED, t_valid="2026-08-01")
    new = store.update(old, content=FIXED, t_valid="2026-08-01", clear=["t_invalid"])
    assert store.show(new.memory_id).memory.t_invalid is None
