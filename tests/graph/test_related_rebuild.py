"""RELATED edges computed again equal those that commits made."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

import vestig
from graph_rows import summary
from scripted import ELSEWHERE, Opener
from vestig.errors import ValidationError
from vestig.graph import rebuild as relating
from vestig.testing import FrozenClock, HashingEmbedder, ScriptedEmbedder, vector_at
from vestig.types import Edge, EdgeType

TARGET = "lanterns hang along the old quay"
DIMENSIONS = 24


def related(store: vestig.Vestig, **fields: Any) -> list[Edge]:
    page = store.graph.edges(edge_type="RELATED", limit=10_000, **fields)
    return [one.edge for one in page]


def picture(store: vestig.Vestig) -> dict[str, tuple[Any, ...]]:
    """Everything that a rebuild keeps."""
    return {
        edge.id: (edge.from_id, edge.to_id, edge.weight, edge.confidence, edge.evidence,
                  edge.t_created, edge.t_expired, edge.origin)
        for edge in related(store)
    }  # fmt: skip


def pairs(store: vestig.Vestig) -> set[tuple[str, str, float, datetime]]:
    return {(edge.from_id, edge.to_id, edge.weight, edge.t_created) for edge in related(store)}


def cosines(*values: float) -> dict[str, list[float]]:
    """Texts at these cosines to TARGET, each on an axis of its own."""
    texts = {
        f"the mill number {n} grinds rye": vector_at(c, DIMENSIONS, n + 1)
        for n, c in enumerate(values)
    }
    return texts | {TARGET: vector_at(1.0, DIMENSIONS)}


def filled(opener: Opener, *values: float, path: str = "store", **config: Any) -> vestig.Vestig:
    """One store with memories at these cosines to TARGET, which comes last."""
    vectors = cosines(*values)
    embedder = ScriptedEmbedder(vectors, default=[*ELSEWHERE, *[0.0] * (DIMENSIONS - 8)])
    settings = {"hygiene.near_duplicate.enabled": False, **config}
    store = opener(path, embedder=embedder, config=settings)
    for text in vectors:
        store.commit(text)
    return store


def drop_edges(store: vestig.Vestig) -> None:
    for edge in related(store):
        store.graph.unlink(edge.id)


def test_threshold_is_inclusive(opener: Opener) -> None:
    store = filled(opener, 0.6, 0.599)
    made = pairs(store)
    assert [(round(weight, 6)) for _, _, weight, _ in made] == [0.6]
    report = store.graph.rebuild_edges()
    assert (report.kept, report.added, report.expired) == (1, 0, 0)
    assert pairs(store) == made


def test_the_best_ten_of_fifteen(opener: Opener) -> None:
    store = filled(opener, *(0.70 + n / 100 for n in range(15)))
    target = store.recall(TARGET, limit=1).results[0].id
    made = [edge for edge in related(store) if edge.from_id == target]
    assert sorted(round(edge.weight, 2) for edge in made) == [
        round(0.75 + n / 100, 2) for n in range(10)
    ]
    before = picture(store)
    report = store.graph.rebuild_edges()
    assert report.kept == len(before)
    assert picture(store) == before


def test_a_rebuild_makes_what_commits_made(opener: Opener, clock: FrozenClock) -> None:
    store = filled(opener, 0.9, 0.8, 0.7)
    made = pairs(store)
    assert len(made) > 3
    drop_edges(store)
    clock.move(days=3)
    report = store.graph.rebuild_edges()
    assert report.added == len(made)
    # the later end's time, not that of the rebuild
    assert pairs(store) == made


def test_off_makes_none(opener: Opener) -> None:
    store = filled(opener, 0.9, 0.8, **{"links.related.enabled": False})
    assert related(store) == []
    store.close()
    on = opener(
        embedder=ScriptedEmbedder(cosines(0.9, 0.8)),
        config={"hygiene.near_duplicate.enabled": False},
    )
    assert on.graph.rebuild_edges().added == 3
    on.close()
    off = opener(
        embedder=ScriptedEmbedder(cosines(0.9, 0.8)),
        config={"links.related.enabled": False},
    )
    assert off.graph.rebuild_edges().expired == 3
    assert related(off) == []


def test_expired_and_archived_candidates_and_summaries(opener: Opener, clock: FrozenClock) -> None:
    """A memory keeps edges to what was active when it was stored, and gets none to the rest."""
    vectors = cosines(0.95, 0.9, 0.85)
    first, second, third, _ = vectors
    store = opener(
        embedder=ScriptedEmbedder(vectors, default=[1.0, *[0.0] * (DIMENSIONS - 1)]),
        config={"hygiene.near_duplicate.enabled": False},
    )
    ids = [str(store.commit(text).memory_id) for text in (first, second, third)]
    clock.move(hours=1)
    store.deprecate(ids[0])
    store.archive(ids[1])
    clock.move(hours=1)
    store.commit(TARGET)
    clock.move(hours=1)
    store.unarchive(ids[1])
    store.deprecate(ids[2])
    summary(store, "a summary of mills and lanterns", [ids[2]])
    made = pairs(store)
    target = {to for start, to, _, _ in made if start not in ids}
    assert target == {ids[2]}
    report = store.graph.rebuild_edges()
    assert (report.added, report.expired) == (0, 0)
    assert pairs(store) == made
    drop_edges(store)
    store.graph.rebuild_edges()
    assert pairs(store) == made


def test_edges_of_guards_and_callers_survive(opener: Opener) -> None:
    far = "nothing at all like the others"
    vectors = cosines(0.9)
    (near, _) = vectors
    store = opener(embedder=ScriptedEmbedder(vectors, default=[0.0] * 23 + [1.0]))
    ids = [str(store.commit(text).memory_id) for text in (near, TARGET, far)]
    mine = store.graph.link(ids[2], ids[0], "RELATED", weight=0.0)
    computed = [edge for edge in related(store) if edge.origin == "computed"]
    assert len(computed) == 1
    # a caller's edge stands for the computed one of the same ends
    store.graph.unlink(computed[0].id)
    twin = store.graph.link(ids[1], ids[0], "RELATED", weight=0.123)
    report = store.graph.rebuild_edges()
    assert (report.added, report.expired, report.reweighted) == (0, 0, 0)
    kept = picture(store)
    assert set(kept) == {mine.id, twin.id}
    assert kept[twin.id][2] == 0.123


def test_edges_that_hold_no_longer_end(opener: Opener, clock: FrozenClock) -> None:
    store = filled(opener, 0.9, 0.65)
    before = picture(store)
    store.close()
    clock.move(days=1)
    stricter = opener(
        embedder=ScriptedEmbedder(cosines(0.9, 0.65)),
        config={"links.related.similarity_threshold": 0.7},
    )
    report = stricter.graph.rebuild_edges()
    assert report.expired == len([row for row in before.values() if row[2] < 0.7])
    kept = picture(stricter)
    assert kept == {id: row for id, row in before.items() if row[2] >= 0.7}
    ended = [edge for edge in related(stricter, include_expired=True) if edge.t_expired]
    assert {edge.t_expired for edge in ended} == {clock()}


@pytest.mark.parametrize("block", [1, 2, 3, 100])
def test_blocks_change_nothing_and_an_interrupted_run_goes_on(
    opener: Opener, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(relating, "BLOCK", block)
    store = filled(opener, 0.9, 0.85, 0.8, 0.75)
    made = pairs(store)
    drop_edges(store)
    seen: list[tuple[int, int | None]] = []

    def stop_early(done: int, total: int | None) -> None:
        seen.append((done, total))
        if len(seen) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.graph.rebuild_edges(progress=stop_early)
    first = picture(store)
    seen.append((0, 5))  # what follows does not stop
    store.graph.rebuild_edges(progress=stop_early)
    assert pairs(store) == made
    assert first.items() <= picture(store).items(), "an edge that was made keeps its id"
    assert seen[-1] == (5, 5)
    seq = store.admin.stats().seq
    again = store.graph.rebuild_edges()
    assert (again.added, again.expired, again.seq) == (0, 0, seq)


def test_commits_in_between_keep_their_edges(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relating, "BLOCK", 1)
    store = filled(opener, 0.9, 0.85)
    made = pairs(store)

    def commit_more(done: int, _: int | None) -> None:
        if done <= 2:
            store.commit(f"a barge number {done} waits below")

    store.graph.rebuild_edges(progress=commit_more)
    assert made <= pairs(store)


def test_forgetting_in_between_starts_again(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relating, "BLOCK", 1)
    store = filled(opener, 0.9, 0.85, 0.8)
    victim = min(store.list(limit=10), key=lambda memory: memory.seq).id
    left = {one for one in pairs(store) if victim not in one[:2]}
    drop_edges(store)
    calls: list[int] = []

    def forget_one(done: int, _: int | None) -> None:
        calls.append(done)
        if len(calls) == 2:
            store.forget(victim)

    store.graph.rebuild_edges(progress=forget_one)
    assert pairs(store) == left
    assert calls.count(1) == 2


def test_new_vectors_end_with_new_edges(opener: Opener, clock: FrozenClock) -> None:
    texts = (
        "the pump of the boiler failed at noon",
        "the pump of the boiler failed at night",
        "the pump of the boiler was mended at night",
        "a canoe drifts past the lower weir",
    )
    settings = {"hygiene.near_duplicate.enabled": False}
    store = opener("grown", embedder=HashingEmbedder(64), config=settings)
    for text in texts:
        store.commit(text)
    before = {(edge.from_id, edge.to_id): edge for edge in related(store)}
    assert before
    store.close()
    clock.move(days=1)
    other = opener(
        "grown",
        embedder=HashingEmbedder(128, seed=3),
        config=settings,
        change_embedder=True,
    )
    other.admin.rebuild(embeddings=True)
    fresh = opener("fresh", embedder=HashingEmbedder(128, seed=3), config=settings)
    for text in texts:
        fresh.commit(text)
    named = {memory.id: memory.content for memory in [*other.list(), *fresh.list()]}
    assert {(named[e.from_id], named[e.to_id], e.weight, e.evidence) for e in related(other)} == {
        (named[e.from_id], named[e.to_id], e.weight, e.evidence) for e in related(fresh)
    }
    for edge in related(other):
        old = before.get((edge.from_id, edge.to_id))
        if old is not None:
            assert (edge.id, edge.t_created) == (old.id, old.t_created)
    assert other.admin.doctor().exit_code == 0
    other.close()
    assert opener("grown", embedder=HashingEmbedder(128, seed=3)).admin.doctor().exit_code == 0


def test_only_related_is_computed(store: vestig.Vestig) -> None:
    with pytest.raises(ValidationError, match="RELATED"):
        store.graph.rebuild_edges("MENTIONS")
    assert store.graph.rebuild_edges().memories == 0
    assert store.graph.rebuild_edges(EdgeType.RELATED, namespace="nobody").memories == 0
