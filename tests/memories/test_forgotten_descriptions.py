"""What a language model wrote of an entity goes with each memory that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

import vestig
from vestig.testing import HashingEmbedder, ScriptedModel

SAID = "I was diagnosed with multiple sclerosis in May."
DESCRIPTION = "patient with multiple sclerosis"
ANSWER = {
    "entities": [
        {
            "name": "Ann",
            "type": "PERSON",
            "description": DESCRIPTION,
            "confidence": 0.95,
            "evidence": "I",
            "from": [1],
        }
    ],
    "claims": [
        {
            "content": "Ann has multiple sclerosis",
            "subject": "Ann",
            "fact_type": "EXPERIENCED",
            "object": "multiple sclerosis",
            "attributes": {"event_type": "illness"},
            "confidence": 0.9,
            "quote": "diagnosed",
            "from": [1],
        }
    ],
}


def opened(folder: Path) -> vestig.Vestig:
    model = ScriptedModel({"extract_claims": ANSWER})
    return vestig.open(folder, embedder=HashingEmbedder(), llm=model)


def ids_of_texts(store: vestig.Vestig) -> tuple[str, str]:
    """The ids of a text that a model describes Ann by, and of another one that names her."""
    told = store.commit(SAID, author="Ann", session_id="a", sequence=1).memory_id
    other = store.commit("Tea at nine please, Ann said.", author="Bo", session_id="b").memory_id
    assert told is not None
    assert other is not None
    store.cognify(where={"session_ids": ["a"]})
    assert described(store) == [("Ann", DESCRIPTION)]
    return told, other


def described(store: vestig.Vestig) -> list[tuple[str, str]]:
    return [(one.entity.canonical_name, one.entity.description) for one in store.graph.entities()]


def held_in(folder: Path) -> list[str]:
    files = [one for one in folder.rglob("*") if one.is_file()]
    return [one.name for one in files if b"multiple sclerosis" in one.read_bytes()]


def test_the_description_of_an_entity_that_stays_goes(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as store:
        told, _ = ids_of_texts(store)
        planned = store.forget(told, dry_run=True)
        assert described(store) == [("Ann", DESCRIPTION)]
        report = store.forget(told)
        assert described(store) == [("Ann", "")]
        for one in (planned, report):
            assert any("without the description" in warning for warning in one.warnings)
        assert (report.residues, report.degraded) == (0, ())
        # embedded by its name alone
        found = {hit.kind: hit for hit in store.graph.search("Ann")}
        assert found["entity"].similarity == pytest.approx(1.0)
        damaged = [one for one in store.admin.doctor().findings if one.level == "damage"]
        assert damaged == []
    assert held_in(tmp_path / "store") == []


def test_what_is_due_takes_it_too(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as store:
        told, _ = ids_of_texts(store)
        store.update(told, retention_policy="session", retention_until="2020-01-01")
        report = store.admin.prune()
        assert told in report.memory_ids
        assert any("without the description" in warning for warning in report.warnings)
        assert described(store) == [("Ann", "")]
    assert held_in(tmp_path / "store") == []


def test_a_memory_that_does_not_name_it_leaves_it(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as store:
        ids_of_texts(store)
        report = store.forget(str(store.commit("The kettle is new.").memory_id))
        assert described(store) == [("Ann", DESCRIPTION)]
        assert report.warnings == ()


def test_a_view_does_not_learn_that_others_name_it(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as store:
        view = store.scoped("ward")
        told = view.commit(SAID, author="Ann", session_id="a", sequence=1).memory_id
        store.commit("Tea at nine please, Ann said.", author="Bo", session_id="b")
        store.cognify(where={"session_ids": ["a"]})
        report = view.forget(str(told))
        assert report.warnings == ()
        assert all(not description for _, description in described(store))
