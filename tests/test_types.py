"""Words of fixed lists: how they are stored, written in results and accepted."""

from __future__ import annotations

from enum import StrEnum

import pytest

import vestig
from tables import each
from vestig import types
from vestig.arguments import choice
from vestig.testing import HashingEmbedder
from vestig.times import to_plain

RECORD_WORDS = ("Kind", "Status", "EventType", "EdgeType", "JobState", "CommitOutcomeKind")
CHOSEN_WORDS = (
    "Role",
    "OriginType",
    "Stability",
    "Trigger",
    "RetentionPolicy",
    "AnchorKind",
    "AnchorState",
)


def test_every_list_of_words_is_of_one_of_both_groups() -> None:
    lists = {
        name
        for name, kind in vars(types).items()
        if isinstance(kind, type) and issubclass(kind, StrEnum)
    }
    assert lists - {"StrEnum", "Word", "RecordWord"} == {*RECORD_WORDS, *CHOSEN_WORDS}


@each("name", RECORD_WORDS)
def test_results_write_what_a_record_is_in_capitals(name: str) -> None:
    for member in getattr(types, name):
        assert to_plain(member) == member.word == member.value.upper()


@pytest.mark.parametrize("name", CHOSEN_WORDS)
def test_results_write_what_a_caller_chooses_in_lower_case(name: str) -> None:
    for member in getattr(types, name):
        assert to_plain(member) == member.word == member.value.lower()


@each("name", RECORD_WORDS + CHOSEN_WORDS)
def test_words_are_accepted_in_any_case(name: str) -> None:
    kind = getattr(types, name)
    for member in kind:
        for written in (member.value.upper(), member.value.lower(), member.value.title()):
            assert kind(written) is member
            assert choice("field", written, kind) is member


def test_the_value_of_a_status_stays_what_the_ledger_holds() -> None:
    assert [status.value for status in types.Status] == [
        "active",
        "superseded",
        "deprecated",
        "archived",
    ]


@each("value", ["", "actives", " active", 3, True, ["active"]])
def test_other_words_are_refused_with_those_that_are_allowed(value: object) -> None:
    with pytest.raises(vestig.ValidationError, match="one of ACTIVE, SUPERSEDED, DEPRECATED"):
        choice("status", value, types.Status)
    with pytest.raises(ValueError, match="is not a valid Status"):
        types.Status(value)


def test_a_word_may_be_absent() -> None:
    assert choice("role", None, types.Role) is None


def test_a_store_takes_words_in_any_case_and_holds_one(store: vestig.Vestig) -> None:
    outcome = store.commit("The office is in Oslo", role="USER", retention_policy="Decision")
    memory = store.show(outcome.memory_id).memory
    assert (memory.role, memory.retention_policy) == ("user", "decision")
    assert memory.to_dict()["status"] == "ACTIVE"
    assert memory.status == "ACTIVE"
    assert f"{memory.status}" == "ACTIVE"
    assert {memory.status: 1} == {"ACTIVE": 1}
    assert store.admin.stats().statuses == {"ACTIVE": 1}
    assert (
        store.count(
            where={"statuses": "Active", "kinds": "memory", "retention_policies": "DECISION"}
        )
        == 1
    )
    (hit,) = store.recall("office in Oslo", where={"kinds": ["Memory"], "roles": ["User"]})
    assert hit.id == memory.id


def test_a_printed_value_is_what_counts_in_a_few_lines() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        text = "The espresso machine is broken until somebody has found the part. " * 9
        outcome = store.commit(text, tags=["kitchen"], key="espresso", author="Ada")
        memory = store.get("espresso")
        gone = store.forget(outcome.memory_id, dry_run=True)
        values = [outcome, gone, store.show(memory.id), store.admin.stats(), store.admin.doctor()]
        page = store.list()
    assert repr(memory) == (
        f"<Memory {memory.id} 'The espresso machine is broken until somebody has found the…'"
        " key='espresso' author='Ada'>"
    )
    assert str(memory) == repr(memory)
    assert repr(outcome).startswith("CommitOutcome(outcome=INSERTED_NEW,\n  memory_id='mem_")
    assert "content_hash" not in repr(outcome)
    assert outcome.to_dict()["content_hash"] == outcome.content_hash
    assert gone.memory_ids[0] in repr(gone)
    for value in values:
        lines = repr(value).split("\n")
        assert len(lines) <= 8
        assert max(map(len, lines)) <= 80
    assert repr(page) == f"<MemoryPage 1>\n  {memory!r}"


def test_a_printed_memory_says_when_it_holds() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        ended = store.commit("The oven was out", t_valid="2020-01-01", t_invalid="2020-02-01")
        store.commit("A ticket costs 14 pounds", key="ticket", t_valid="2021-01-01")
        store.commit("A ticket costs 15 pounds", key="ticket", t_valid="2090-01-01")
        wrong = store.commit("The lift carries nine people")
        store.deprecate(wrong.memory_id)
        where = {"include_expired": True}
        marks = {one.content[:24]: repr(one) for one in store.list(where=where)}
        for hit in store.recall("what was out, the oven?", all=True, where=where):
            if hit.id == ended.memory_id:
                assert repr(hit).endswith("'The oven was out' (ended 2020-02-01)>")
                break
        else:
            raise AssertionError("not found")
    assert marks["The oven was out"].endswith(" (ended 2020-02-01)>")
    assert marks["A ticket costs 14 pounds"].endswith(" (until 2090-01-01)>")
    assert marks["A ticket costs 15 pounds"].endswith(" (from 2090-01-01)>")
    assert marks["The lift carries nine pe"].endswith(" (withdrawn)>")


def test_a_record_word_is_printed_as_json_has_it() -> None:
    assert repr(types.Status.ACTIVE) == "<Status.ACTIVE: 'ACTIVE'>"
    assert f"{types.Status.ACTIVE}" == "ACTIVE" == to_plain(types.Status.ACTIVE)


def test_what_has_an_id_is_hashed_by_it() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        id = store.commit("The oven is broken", tags=["kitchen"], metadata={"floor": 2}).memory_id
        (hit,), (again,) = (store.recall("what is broken, the oven?", all=True) for _ in range(2))
        assert hit == again
        assert {hit} == {again}
        assert {hit.memory, store.get(id), *store.list()} == {store.get(id)}
        store.update(id, tags=["cellar"])
        changed = store.get(id)
        assert changed != hit.memory, "equality is that of all fields"
        assert len({changed, hit.memory}) == 2
        assert hash(changed) == hash(hit.memory) == hash(hit)
        assert len({*store.events(id)}) == len(store.events(id))
