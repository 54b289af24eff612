"""Recall over an index of candidates: what it proposes is scored exactly, and it says so."""

from __future__ import annotations

import errno
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vestig
from calls import selecting
from scripted import Opener
from vestig.errors import VestigError
from vestig.recall.scan import build_index
from vestig.store.projection.candidate_file import FILE
from vestig.testing import FrozenClock, HashingEmbedder

NUMBER = 1_200
CONFIG = {
    "hygiene.near_duplicate.enabled": False,
    "entities.enabled": False,
    "links.related.enabled": False,
    "index.approximate_above": 1_000,
}
EXACT = {**CONFIG, "index.approximate_above": 2_147_483_647}
DIMENSIONS = 64
Filled = Callable[[], vestig.Vestig]


def texts(count: int, seed: int = 1) -> list[str]:
    chance = random.Random(seed)
    words = [f"word{n}" for n in range(400)]
    return [" ".join(chance.sample(words, 8)) for _ in range(count)]


def fill(folder: str | Path) -> vestig.Vestig:
    store = vestig.open(
        folder, embedder=HashingEmbedder(DIMENSIONS), config=CONFIG, clock=FrozenClock()
    )
    store.commit_many(texts(NUMBER))
    return store


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without an index, of which tests take copies."""
    folder = tmp_path_factory.mktemp("candidates") / "store"
    fill(folder).close()
    return folder


@pytest.fixture
def filled(opener: Opener, original: Path, tmp_path: Path) -> Filled:
    """Opens a copy of the original as the store of the test."""

    def opened() -> vestig.Vestig:
        shutil.copytree(original, tmp_path / "store")
        return again(opener, CONFIG)

    return opened


def again(opener: Opener, config: dict[str, Any]) -> vestig.Vestig:
    return opener(embedder=HashingEmbedder(DIMENSIONS), config=config)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store" / "projection"


def ranked(store: vestig.Vestig, query: str, **fields: Any) -> list[str]:
    return [hit.id for hit in store.recall(query, **selecting(fields)).results]


def test_commits_make_no_index_and_compaction_does(
    filled: Filled, opener: Opener, folder: Path
) -> None:
    store = filled()
    assert not (folder / FILE).exists()
    assert not store.recall("word1 word2").counts.approximate
    store.admin.compact()
    assert (folder / FILE).exists()
    result = store.recall("word1 word2")
    assert result.counts.approximate
    assert any(warning.startswith("approximate:") for warning in result.warnings)
    assert (result.counts.stored, result.counts.eligible) == (NUMBER, NUMBER)
    assert store.admin.doctor().exit_code == 0
    # nothing below the threshold, nothing where everything is compared
    store.close()
    assert not again(opener, EXACT).recall("word1 word2").counts.approximate
    small = again(opener, {**CONFIG, "index.approximate_above": NUMBER})
    assert not small.recall("word1 word2").counts.approximate
    small.admin.rebuild()
    assert not (folder / FILE).exists()


def test_the_best_are_found(filled: Filled, opener: Opener) -> None:
    store = filled()
    store.admin.rebuild()
    queries = [" ".join(text.split()[:3]) for text in texts(NUMBER)[::60]]
    found = [ranked(store, query, profile="baseline") for query in queries]
    assert store.recall(queries[0], profile="baseline").counts.approximate
    store.close()
    exact = again(opener, EXACT)
    for query, ids in zip(queries, found, strict=True):
        assert ids == ranked(exact, query, profile="baseline")


def test_new_memories_are_candidates_at_once(filled: Filled) -> None:
    store = filled()
    store.admin.compact()
    fresh = str(store.commit("an entirely different remark about herons").memory_id)
    result = store.recall("remark about herons", limit=1)
    assert result.counts.approximate
    assert [hit.id for hit in result.results] == [fresh]
    # more than a tenth of new ones: every vector is compared until the next compaction
    store.commit_many(texts(NUMBER // 8, seed=2))
    assert not store.recall("remark about herons").counts.approximate
    store.admin.compact()
    assert store.recall("remark about herons").counts.approximate


def test_filters_come_before_the_cut(filled: Filled) -> None:
    store = filled()
    store.admin.compact()
    listed = store.list(limit=1000).memories
    few = [memory.id for memory in listed[: NUMBER // 20]]
    for id in few:
        store.update(id, tags=["rare"])
    result = store.recall("word1 word2", tags=["rare"], limit=10)
    assert len(result.results) == 10
    assert {hit.id for hit in result.results} <= set(few)
    assert not result.counts.approximate, "less than a tenth is eligible"
    assert len(store.recall("word1 word2", limit=NUMBER).results) == NUMBER


def test_forgetting_drops_the_index(filled: Filled, folder: Path) -> None:
    store = filled()
    store.admin.compact()
    victim = store.recall(texts(1)[0], limit=1).results[0].id
    report = store.forget(victim)
    assert report.residues == 0
    assert not (folder / FILE).exists()
    result = store.recall(texts(1)[0])
    assert not result.counts.approximate
    assert victim not in {hit.id for hit in result.results}
    store.admin.compact()
    assert store.recall(texts(1)[0]).counts.approximate


@pytest.mark.parametrize("place", [3, 60, 5_000, -1])
def test_a_damaged_index_is_dropped_and_reported(
    filled: Filled, opener: Opener, folder: Path, place: int
) -> None:
    store = filled()
    store.admin.compact()
    store.close()
    raw = bytearray((folder / FILE).read_bytes())
    raw[place] ^= 4
    (folder / FILE).write_bytes(raw)
    opened = again(opener, CONFIG)
    result = opened.recall("word1 word2")
    assert not result.counts.approximate
    assert [(one.code, "compact" in one.detail) for one in result.degraded] == [
        ("projection_stale", True)
    ]
    assert not (folder / FILE).exists()
    assert opened.recall("word1 word2").degraded == ()


def test_an_index_that_cannot_be_removed_is_not_used(
    filled: Filled, opener: Opener, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled()
    store.admin.compact()
    store.close()
    raw = bytearray((folder / FILE).read_bytes())
    raw[-1] ^= 4
    (folder / FILE).write_bytes(raw)

    def refused(path: Path, *args: Any, unlink: Any = Path.unlink, **kwargs: Any) -> None:
        if path == folder / FILE:
            raise OSError(errno.ENOSPC, "No space left on device")
        unlink(path, *args, **kwargs)

    monkeypatch.setattr(Path, "unlink", refused)
    opened = again(opener, CONFIG)
    for _ in range(2):
        result = opened.recall("word1 word2")
        assert not result.counts.approximate
        assert [one.code for one in result.degraded] == ["projection_stale"]
    opened.close()
    small = again(opener, {**CONFIG, "index.approximate_above": NUMBER})
    with pytest.raises(VestigError, match="the index of candidates, the system refused"):
        small.admin.rebuild()


def test_an_index_of_another_store_is_dropped(filled: Filled, folder: Path, tmp_path: Path) -> None:
    with fill(tmp_path / "other") as another:
        another.admin.compact()
    store = filled()
    other = tmp_path / "other" / "projection" / FILE
    (folder / FILE).write_bytes(other.read_bytes())
    result = store.recall("word1 word2")
    assert not result.counts.approximate
    assert [one.code for one in result.degraded] == ["projection_stale"]


def test_a_store_in_memory_has_none() -> None:
    with fill(":memory:") as store:
        store.admin.rebuild()
        assert not store.recall("word1 word2").counts.approximate
        assert build_index(store._session) == 0
