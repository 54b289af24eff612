"""The JSON of a result: what answers a question, and with `explain` what made its rank."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

import vestig
from vestig import Vestig

TEXT = "The lift of the warehouse stops between the second and the third floor."
SESSION = str(UUID(int=7))
BRIEF_BYTES = 400


@pytest.fixture
def store() -> Any:
    with vestig.open(":memory:") as opened:
        yield opened


def size_beside(text: str, hit: dict[str, Any]) -> int:
    return len(json.dumps(hit, ensure_ascii=False).encode()) - len(text.encode())


def described(store: Vestig, text: str = TEXT, t_invalid: str | None = "2031-01-01") -> str:
    outcome = store.commit(
        text,
        author="Nkechi Obi-Ferreira",
        role="user",
        session_id=SESSION,
        sequence=11,
        tags=["lift", "warehouse", "repairs"],
        metadata={"floor": 2, "vendor": "x" * 300},
        t_valid="2026-02-03",
        t_invalid=t_invalid,
        keywords=["hoist"] * 2,
    )
    assert outcome.memory_id is not None
    return outcome.memory_id


def test_a_hit_is_its_text_and_little_beside(store: Vestig) -> None:
    id = described(store)
    (hit,) = store.recall("where does the lift stop?", limit=1)
    shown = hit.to_dict()
    assert shown == {
        "id": id,
        "content": TEXT,
        "score": hit.score,
        "t_valid": "2026-02-03T00:00:00.000000Z",
        "t_invalid": "2031-01-01T00:00:00.000000Z",
        "t_created": hit.to_dict(explain=True)["t_created"],
        "author": "Nkechi Obi-Ferreira",
        "session_id": SESSION,
        "tags": ["lift", "warehouse", "repairs"],
    }
    assert size_beside(TEXT, shown) <= BRIEF_BYTES
    long = " ".join(f"Step {n}: turn wheel {n * 7}." for n in range(120))
    described(store, long)
    for one in store.recall("turn the wheel", limit=2).to_dict()["results"]:
        assert size_beside(one["content"], one) <= BRIEF_BYTES


def test_what_a_memory_does_not_have_is_left_out(store: Vestig) -> None:
    store.commit(TEXT)
    (hit,) = store.recall("lift").to_dict()["results"]
    assert list(hit) == ["id", "content", "score", "t_valid", "t_created"]


def test_explained_json_holds_the_brief_one_and_what_made_it(store: Vestig) -> None:
    described(store)
    found = store.recall("where does the lift stop?")
    brief, explained = found.to_dict(), found.to_dict(explain=True)
    assert explained.keys() - brief.keys() == {"analysis", "formula", "associated"}
    (short,), (long,) = brief["results"], explained["results"]
    assert short.items() <= long.items()
    assert long["reason"]["signals"]
    assert {"final", "similarity", "metadata", "role", "sequence"} <= long.keys()


def test_misses_are_as_brief_as_results(store: Vestig) -> None:
    described(store)
    found = store.recall("who won the regatta of 1987?", silence=0.02)
    assert found.abstained
    (miss,) = found.to_dict()["nearest"]
    assert "reason" not in miss
    assert size_beside(TEXT, miss) <= BRIEF_BYTES
    assert "reason" in found.to_dict(explain=True)["nearest"][0]


def test_a_vector_that_was_asked_for_is_there(store: Vestig) -> None:
    store.commit(TEXT)
    (hit,) = store.recall("lift", include_vectors=True).to_dict()["results"]
    assert len(hit["embedding"]) > 100


def test_nodes_of_a_search_are_brief(store: Vestig) -> None:
    text = "Nkechi Obi-Ferreira repaired the lift of the Osprey Building."
    id = described(store, text, t_invalid=None)
    found = store.graph.search("who repaired the lift?")
    shown = {hit["node_id"]: hit for hit in found.to_dict()["results"]}
    for hit in shown.values():
        text = hit["node"].get("content", "")
        assert size_beside(text, hit) <= BRIEF_BYTES
    assert shown[id]["node"]["author"] == "Nkechi Obi-Ferreira"
    names = {hit["node"]["canonical_name"] for hit in shown.values() if hit["kind"] == "entity"}
    assert "Osprey Building" in names
    (long,) = (hit for hit in found.to_dict(explain=True)["results"] if hit["node_id"] == id)
    assert long["node"]["metadata"]["floor"] == 2
    assert long["reason"]["similarity"] == long["similarity"]
    assert id in long["memory_ids"]


def test_a_hit_has_what_is_looked_for_on_it(store: Vestig) -> None:
    id = described(store)
    (hit,) = store.recall("lift")
    assert (hit.memory_id, hit.text, hit.author) == (id, TEXT, "Nkechi Obi-Ferreira")
    assert hit.tags == ("lift", "warehouse", "repairs")
    assert hit.metadata["floor"] == 2
    assert hit.t_valid == datetime(2026, 2, 3, tzinfo=UTC)
    assert hit.created_at == store.show(id).memory.t_created
