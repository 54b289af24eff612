"""`search`: the ranking of recall under the name that other tools use."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from vestig import Vestig

FACTS = (
    "Fennel is a staging server in Oslo",
    "The port of the staging database is 5433",
    "Fennel listens on two network cards",
    "Ada Lovelace keeps the spare key of the cellar",
)
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("port", {}),
    ("Fennel", {"limit": 3}),
    ("who keeps the key?", {"where": {"kinds": "MEMORY"}, "limit": 2, "seed": 3}),
    ("where is Oslo?", {"context": True, "budget": 200}),
    ("what did Grace Hopper eat?", {"silence": 0.02}),
)


@pytest.fixture
def noted(store: Vestig) -> Vestig:
    for fact in FACTS:
        store.commit(fact)
    return store


def without_times(result: Any) -> dict[str, Any]:
    plain: dict[str, Any] = result.to_dict(explain=True)
    del plain["timings_ms"]
    return plain


@pytest.mark.parametrize(("query", "fields"), ASKED)
def test_search_gives_what_recall_gives(noted: Vestig, query: str, fields: dict[str, Any]) -> None:
    searched, recalled = noted.search(query, **fields), noted.recall(query, **fields)
    assert without_times(searched) == without_times(recalled)


def test_no_entity_stands_among_the_results(noted: Vestig) -> None:
    assert noted.graph.entities().entities
    for word in ("port", "Fennel", "Oslo", "Ada Lovelace"):
        found = noted.search(word, limit=4)
        assert {hit.memory.content for hit in found} <= set(FACTS)
    assert noted.search("port")[0].memory.content == FACTS[1]


def test_both_take_the_same_arguments() -> None:
    recall, search = (inspect.signature(call).parameters for call in (Vestig.recall, Vestig.search))
    assert dict(recall) == dict(search)
