"""Many queries in one call: each result is that of its own recall."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import vestig
from tables import each
from vestig.answers import RecallResult
from vestig.errors import ConflictError, ProviderError, ValidationError
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import ItemError

PEOPLE = ("Ada", "Grace Hopper", "Alan", "Maria")
DEEDS = ("repaired", "sold", "painted", "moved")
THINGS = ("the red key", "a boiler pump", "the old boat", "tomato plants", "the Blue Harbor sign")
WHEN = ("last week", "on 3 May 2024", "in the night", "before lunch")


def filled(path: Path | str, **options: Any) -> vestig.Vestig:
    """Notes, turns of two sessions, repeats, entities and links."""
    options = {"embedder": HashingEmbedder(), "clock": FrozenClock(), **options}
    store = vestig.open(path, **options)
    chance = random.Random(7)

    def text() -> str:
        parts = [chance.choice(words) for words in (PEOPLE, DEEDS, THINGS, WHEN)]
        return " ".join(parts) + "."

    for number in range(60):
        place: dict[str, Any] = {}
        if number % 3:
            place = {"session_id": f"talk {number % 3}", "sequence": number, "author": "Ada"}
        store.commit(f"{text()} {text()}", scope=("home", None)[number % 2], **place)
    store.commit("Ada keeps the red key", session_id="talk 1", sequence=90)
    store.commit("Ada keeps the red key", session_id="talk 2", sequence=91)
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vestig.Vestig]:
    """A filled store, for tests that read."""
    with filled(tmp_path_factory.mktemp("many") / "store") as opened:
        yield opened


def questions(count: int) -> list[str]:
    chance = random.Random(11)
    made = []
    for _ in range(count):
        words = [chance.choice(of) for of in (PEOPLE, DEEDS, THINGS, WHEN)]
        made.append(" ".join(chance.sample(words, chance.randint(1, 4))))
    return made


def plain(found: object) -> bytes:
    """Everything of a result but its times."""
    assert isinstance(found, RecallResult)
    return msgspec.json.encode(msgspec.structs.replace(found, timings_ms={}).to_dict(explain=True))


CALLS: dict[str, dict[str, Any]] = {
    "default": {},
    "limit and filter": {"limit": 40, "scope": "home", "exclude_session_ids": "talk 1"},
    "few": {"where": {"session_ids": ["talk 2"], "min_similarity": 0.05}},
    "reference": {"profile": "reference", "seed": 3},
    "baseline": {"profile": "baseline", "include_vectors": True},
    "abstained": {"silence": 0.02},
    "least score": {"config": {"recall.min_score": 0.2}},
    "context": {"context": True, "budget": 200},
    "past": {"as_of": "2030-01-01"},
}


@pytest.mark.slow
@each("case", CALLS)
def test_each_result_is_that_of_its_own_recall(case: str, store: vestig.Vestig) -> None:
    asked = [*questions(15), "who keeps the red key?"]
    together = store.recall_many(asked, **CALLS[case])
    alone = [store.recall(query, **CALLS[case]) for query in asked]
    assert [plain(one) for one in together] == [plain(one) for one in alone]
    if case == "default":
        assert any(one.counts.folded for one in alone)


@pytest.mark.slow
def test_bounds_of_many_rows_are_those_of_one_query(tmp_path: Path) -> None:
    """So many rows that 8-bit bounds come first, in several segments and the tail."""
    texts = [f"note {number} of shelf {number % 37}" for number in range(2_300)]
    off = {"hygiene.near_duplicate.enabled": False, "links.related.enabled": False}
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(), config=off) as store:
        store.commit_many([{"content": text} for text in texts])
        asked = [f"which notes lie on shelf {number}?" for number in range(35)]
        at = {"query_time": "2030-01-01"}
        together = store.recall_many(asked, **at)
        assert [plain(one) for one in together] == [plain(store.recall(q, **at)) for q in asked]


def test_expected_ids_are_explained_for_each(tmp_path: Path) -> None:
    with filled(tmp_path / "store") as store:
        id = store.recall("Ada", limit=62)[-1].id
        together = store.recall_many(["Ada", "boat"], expect=id, limit=1)
        alone = [store.recall(query, expect=id, limit=1) for query in ("Ada", "boat")]
        assert [plain(one) for one in together] == [plain(one) for one in alone]
        assert all(isinstance(one, RecallResult) and one.why_not for one in together)


def test_a_query_that_is_none_is_an_entry_at_its_place(tmp_path: Path) -> None:
    with filled(tmp_path / "store") as store:
        hostile: Any = ["Ada", "  ", "boat", 7, None, "\ud800"]
        found = store.recall_many(hostile)
        kinds = [type(one) for one in found]
        assert kinds == [RecallResult, ItemError, RecallResult, ItemError, ItemError, ItemError]
        for index, entry in enumerate(found):
            if isinstance(entry, ItemError):
                assert (entry.index, entry.code) == (index, "validation")
                assert "query" in entry.message
        assert plain(found[2]) == plain(store.recall("boat"))
        assert store.recall_many([]) == []
        assert len(store.recall_many("Ada")) == 1


@each(
    ("queries", "arguments", "named"),
    [
        (5, {}, "queries"),
        ({"query": "Ada"}, {}, "queries"),
        (["Ada"] * 1_001, {}, "queries"),
        (["Ada"], {"limit": 0}, "limit"),
        (["Ada"], {"budget": 5}, "budget"),
        (["Ada"], {"profile": 5}, "profile"),
        ([], {"limit": 0}, "limit"),
    ],
    ids=["number", "object", "too many", "limit", "budget", "profile", "nothing asked"],
)
def test_a_wrong_argument_of_all_is_refused(
    queries: Any, arguments: dict[str, Any], named: str, store: vestig.Vestig
) -> None:
    with pytest.raises(ValidationError, match=named):
        store.recall_many(queries, **arguments)


def test_texts_are_embedded_in_one_batch(tmp_path: Path) -> None:
    batches: list[int] = []

    class Counted(HashingEmbedder):
        def embed(self, texts: Any) -> list[bytes]:
            batches.append(len(texts))
            return super().embed(texts)

    with filled(tmp_path / "store", embedder=Counted()) as store:
        batches.clear()
        store.recall_many(["Ada", " ", "boat", "tomato"])
        assert batches == [3]


def test_without_vectors_each_is_ranked_by_words(tmp_path: Path) -> None:
    class Broken(HashingEmbedder):
        fails = False

        def embed(self, texts: Any) -> list[bytes]:
            if self.fails:
                raise OSError("no model")
            return super().embed(texts)

    embedder = Broken()
    with filled(tmp_path / "store", embedder=embedder) as store:
        embedder.fails = True
        asked = ["Ada boat", "red key"]
        together = store.recall_many(asked)
        assert [plain(one) for one in together] == [plain(store.recall(q)) for q in asked]
        assert all(
            isinstance(one, RecallResult) and one.degraded[0].code == "partial_backend"
            for one in together
        )
        with pytest.raises(ProviderError):
            store.recall_many(asked, profile="baseline")


def test_all_results_are_of_one_state_and_times_are_told(tmp_path: Path) -> None:
    store = filled(tmp_path / "store")
    found = store.recall_many(["Ada", "boat"], touch=True)
    assert len({one.seq for one in found if isinstance(one, RecallResult)}) == 1
    for one in found:
        assert isinstance(one, RecallResult)
        assert {"embed", "analyse", "score", "rank", "format", "total"} <= one.timings_ms.keys()
        assert all(spent >= 0 for spent in one.timings_ms.values())
    assert isinstance(found[0], RecallResult)
    assert store.show(found[0][0].id).memory.access_count >= 1
    assert store.admin.metrics()['vestig_queries_total{source="recall"}'] == 2
    store.close()
    with pytest.raises(ConflictError):
        store.recall_many(["Ada"])
