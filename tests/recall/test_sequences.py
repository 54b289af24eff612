"""Results that hold a list are sequences of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import vestig
from scripted import Opener


@pytest.fixture
def store(opener: Opener) -> vestig.Vestig:
    made = opener()
    for text in ("Ada Lovelace keeps the red key", "The pump needs oil", "Tomatoes need water"):
        made.commit(text)
    first, second, _ = (memory.id for memory in made.list())
    made.graph.link(first, second, "RELATED", weight=0.5)
    return made


@pytest.mark.parametrize("name", ["recall", "search", "graph", "list", "entities", "edges"])
def test_results_are_sequences(store: vestig.Vestig, name: str) -> None:
    found, items = {
        "recall": lambda: (one := store.recall("Who keeps the key?"), one.results),
        "search": lambda: (one := store.search("Who keeps the key?"), one.results),
        "graph": lambda: (one := store.graph.search("Who keeps the key?"), one.results),
        "list": lambda: (one := store.list(), one.memories),
        "entities": lambda: (one := store.graph.entities(), one.entities),
        "edges": lambda: (one := store.graph.edges(), one.edges),
    }[name]()
    assert items
    assert isinstance(found, Sequence)
    assert len(found) == len(items)
    assert (found[0], found[-1], found[:2]) == (items[0], items[-1], items[:2])
    assert tuple(found) == items
    assert list(reversed(found)) == list(reversed(items))
    assert items[-1] in found
    assert "something else" not in found
    assert found
    with pytest.raises(IndexError):
        found[len(items)]


def test_a_result_without_hits_is_false(opener: Opener) -> None:
    found = opener().recall("Who keeps the key?")
    assert not found
    assert found[:3] == ()


def test_what_was_not_asked_for_is_none_and_not_in_the_json(opener: Opener) -> None:
    store = opener()
    id = str(store.commit("Ada keeps the keys of the harbour office").memory_id)
    plain = store.recall("keys")
    assert plain.why_not is plain.context is None
    assert plain.to_dict().keys().isdisjoint(("why_not", "context"))
    whole = store.recall("keys", context=True, expect=[id], all=True).to_dict()
    assert whole["why_not"] == []
    assert "context" in whole
    detail = store.show(id)
    assert detail.mentions is detail.related is None
    assert detail.to_dict().keys().isdisjoint(("mentions", "related"))
    assert store.show(id, expand=1).to_dict()["related"] == []


def test_what_a_developer_prints_is_short(opener: Opener) -> None:
    store = opener()
    for number in range(14):
        store.commit(f"Note {number} of the harbour office says\nthat " + "x" * 500)
    for result, name in (
        (store.recall("harbour office", limit=14), "RecallResult 14 of 14 eligible, confidence"),
        (store.graph.search("harbour office", limit=14), "SearchResult 14 by hybrid"),
    ):
        lines = str(result).splitlines()
        assert repr(result) == str(result)
        assert lines[0].startswith(f"<{name}")
        assert len(lines) == 12
        assert lines[1].strip() == repr(result[0])
        assert lines[-1] == "  … and 4 more"
        assert max(map(len, lines)) < 140
        assert result[0].id in lines[1]
        assert "of the harbour office says that xxx" in lines[1]
