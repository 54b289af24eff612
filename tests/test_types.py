"""Words of fixed lists: how they are stored, written in results and accepted."""

from __future__ import annotations

from enum import StrEnum

import pytest

import vestig
from tables import each
from vestig import types
from vestig.arguments import choice
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
