"""Recall: filters, order, counts, layouts and failures."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

import vestig
from calls import selecting
from scripted import Opener
from vestig.recall.layouts import render
from vestig.testing import FrozenClock, ScriptedEmbedder, vector_at

QUERY = "what is known about the subject?"


def scripted(opener: Opener, cosines: dict[str, float], **options: object) -> vestig.Vestig:
    """A store with one memory per text at this cosine to QUERY, none linked or merged."""
    vectors = {
        text: vector_at(cosine, 8, 1 + place % 6)
        for place, (text, cosine) in enumerate(cosines.items())
    }
    off = {"hygiene": {"near_duplicate": {"enabled": False}}}
    store = opener(vectors={QUERY: vector_at(1.0), **vectors}, config=off, **options)
    for text in cosines:
        store.commit(text)
    return store


def ids_by_text(store: vestig.Vestig) -> dict[str, str]:
    return {m.content: m.id for m in store.list(limit=1000, where={"include_expired": True})}


def test_expired_neighbours_do_not_use_up_the_cut(opener: Opener) -> None:
    near = {f"Expired statement number {n}": 0.99 - n / 1000 for n in range(50)}
    far = {f"Active statement number {n}": 0.5 - n / 100 for n in range(5)}
    store = scripted(opener, near | far)
    ids = ids_by_text(store)
    for text in near:
        store.deprecate(ids[text])
    for profile in ("default", "baseline"):
        found = store.recall(QUERY, limit=5, profile=profile)
        assert {hit.content for hit in found} == set(far)
        assert (found.counts.eligible, found.counts.stored) == (5, 55)


def test_a_time_whose_days_are_not_known_is_named(opener: Opener) -> None:
    store = opener(clock=FrozenClock("2026-12-01T12:00:00Z"))
    store.commit("Helen Marsh directs the house.", key="director", t_valid="2019-08-01")
    (warning,) = store.recall("Who directed the house last spring?").warnings
    assert '"last spring"' in warning
    assert not store.recall("Who directed the house from March to May 2026?").warnings


def test_limit_means_limit(opener: Opener) -> None:
    store = opener()
    store.commit_many([f"Plain statement with number {n} in it" for n in range(100)])
    assert store.count() == 100
    for limit, expected in ((1, 1), (5, 5), (80, 80), (200, 100)):
        found = store.recall("statement", limit=limit)
        assert len(found) == expected == found.counts.returned
        assert len({hit.id for hit in found}) == expected
    for bad in (0, -1, 1.5, True, "5"):
        with pytest.raises(vestig.ValidationError, match="limit"):
            store.recall("statement", limit=bad)  # type: ignore[arg-type]


def test_small_pool_is_filled(opener: Opener) -> None:
    store = scripted(opener, {f"Statement number {n} here": 0.9 - n / 20 for n in range(10)})
    config = {"ranking.pool": 2, "walk.enabled": False, "ranking.newer_first": False}
    found = store.recall(QUERY, limit=6, config=config)
    assert len(found) == 6
    explanations = [str(hit.reason.explanation) for hit in found]
    assert ["Filled by start score" in text for text in explanations] == [False] * 2 + [True] * 4


def test_min_score_counts_what_it_drops(opener: Opener) -> None:
    store = scripted(opener, {f"Statement number {n} here": 0.9 - n / 10 for n in range(5)})
    config = {"recall": {"min_score": 0.65}}
    found = store.recall(QUERY, profile="baseline", config=config)
    assert [round(hit.score, 6) for hit in found] == [0.9, 0.8, 0.7]
    assert found.counts.below_min_score == 2


def test_a_min_score_above_every_score_names_the_best(opener: Opener) -> None:
    store = scripted(opener, {f"Statement number {n} here": 0.9 - n / 10 for n in range(5)})
    config = {"recall": {"min_score": 0.95}}
    found = store.recall(QUERY, profile="baseline", config=config, context=True)
    assert (len(found), found.counts.below_min_score) == (0, 5)
    assert found.best_score == pytest.approx(0.9, abs=1e-6)
    shown = render(found, "text")
    assert shown.startswith("no score above 0.95 (best 0.")
    assert (found.context.text, found.context.note) == ("", shown)
    assert {"best_score", "min_score", "least_confidence"}.isdisjoint(found.to_dict())


def test_negative_cosine_is_below_all(opener: Opener, clock: FrozenClock) -> None:
    store = scripted(opener, {"An opposite statement": -0.5, "A close statement": 0.3})
    store.commit("An opposite statement")  # reinforced
    found = store.recall(QUERY, config={"ranking.enabled": False})
    assert [hit.content for hit in found] == ["A close statement", "An opposite statement"]
    assert found.results[1].score == 0.0
    assert found.results[1].similarity == pytest.approx(-0.5, abs=1e-6)
    assert all(hit.score <= 2 * max(0.0, hit.reason.semantic_score) for hit in found)


@pytest.mark.parametrize(
    ("low", "first"), [(0.41, "A weak statement"), (0.39, "A strong statement")]
)
def test_boost_of_two(opener: Opener, clock: FrozenClock, low: float, first: str) -> None:
    store = scripted(opener, {"A weak statement": low, "A strong statement": 0.80})
    weak = ids_by_text(store)["A weak statement"]
    for _ in range(40):
        clock.move(days=1.01)
        store.commit("A weak statement")
    config = {"ranking.enabled": False, "usage.k": 5.0}
    found = store.recall(QUERY, config=config)
    boost = {hit.id: hit.reason.tracerank_boost.multiplier for hit in found}
    assert boost[weak] == 2.0
    assert found.results[0].content == first


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def recomputed(result: dict, hit: dict) -> float:
    """The final score from the JSON alone."""
    reason, formula = hit["reason"], result["formula"]
    if formula["base"] == "linear":
        terms = [
            s["weight"] * s["raw"] for s in reason["signals"].values() if s["weight"] is not None
        ]
        base = logistic(sum(terms))
    elif formula["base"] == "semantic":
        base = max(0.0, reason["semantic_score"])
    else:
        base = hit["similarity"]
    boost = reason["tracerank_boost"]["multiplier"] ** formula["tracerank_power"]
    return base * reason["path_score"] * boost


def test_trace_is_complete_and_recomputes(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    store.commit_many([f"The deploy of service {n} runs on port {8000 + n}" for n in range(30)])
    clock.move(days=3)
    store.commit("The deploy of service 3 runs on port 8003")
    clock.move(days=3)
    for options in (
        {},
        {"profile": "baseline"},
        {"config": {"ranking": {"enabled": False}}},
        {"config": {"signals": {"topic": {"enabled": False}}}},
    ):
        result = store.recall(
            "which port has the deploy of service 3?", **selecting(options)
        ).to_dict(explain=True)
        json.dumps(result)
        assert len(result["results"]) == 5
        for hit in result["results"]:
            assert recomputed(result, hit) == pytest.approx(hit["final"], abs=1e-9)
            reason = hit["reason"]
            assert reason["retrieval_method"] == "direct_match"
            assert (reason["path"][0], len(reason["path"])) == ("START", reason["hops"] + 1)
            assert reason["final_score"] == hit["final"]
            assert reason["similarity"] == hit["similarity"]
            if "similarity" in reason["explanation"]:
                assert f"similarity {hit['similarity']:.4f}" in reason["explanation"]
    top = store.recall("which port has the deploy of service 3?").results[0]
    boost = top.reason.tracerank_boost
    assert (
        f"Reinforced {boost.events}×; TraceRank {boost.multiplier:.4f}." in top.reason.explanation
    )
    assert "Shares the words port, deploy, service, 3." in top.reason.explanation


def test_switches_of_this_stage(opener: Opener) -> None:
    store = scripted(opener, {f"Statement number {n} here": 0.9 - n / 7 for n in range(10)})
    baseline = [hit.id for hit in store.recall(QUERY, profile="baseline", limit=10)]
    off = {"ranking.enabled": False, "usage.enabled": False}
    plain = store.recall(QUERY, config=off, limit=10)
    assert [hit.id for hit in plain] == baseline
    assert all(hit.reason.tracerank_boost.multiplier == 1.0 for hit in plain)
    short = store.recall(QUERY, config={"recall.reasons.enabled": False}).to_dict(explain=True)
    assert set(short["results"][0]["reason"]) == {"retrieval_method", "similarity", "final_score"}


def test_baseline_is_a_plain_cosine_sort(opener: Opener) -> None:
    import numpy as np

    rng = np.random.default_rng(7)
    vectors = rng.standard_normal((1000, 48)).astype(np.float32)
    texts = [f"Random statement number {n} of many" for n in range(1000)]
    query = rng.standard_normal(48).astype(np.float32)
    script = {text: v.tobytes() for text, v in zip(texts, vectors, strict=True)}
    store = opener(embedder=ScriptedEmbedder({QUERY: query.tobytes(), **script}))
    store.commit_many(texts)
    unit = vectors.astype(np.float64) / np.linalg.norm(vectors.astype(np.float64), axis=1)[:, None]
    cosines = unit @ (query.astype(np.float64) / np.linalg.norm(query.astype(np.float64)))
    order = np.argsort(-cosines, kind="stable")[:50]
    found = store.recall(QUERY, profile="baseline", limit=50)
    assert [hit.content for hit in found] == [texts[i] for i in order]
    for hit, place in zip(found, order, strict=True):
        assert hit.score == hit.similarity == pytest.approx(cosines[place], abs=1e-6)


def test_layouts_byte_for_byte(opener: Opener) -> None:
    off = {"hygiene": {"normalize_whitespace": False}}
    text = "First line of it\n---\nlast line of it"
    vectors = {
        QUERY: vector_at(1.0),
        text: vector_at(0.87),
        "Another statement": vector_at(0.5, 8, 2),
    }
    store = opener(vectors=vectors, config=off)
    first = store.commit(text).memory_id
    second = store.commit("Another statement").memory_id
    result = store.recall(QUERY, profile="baseline")
    at = "date=2026-03-18"
    assert render(result, "text") == (
        f"[{first}] (score=0.8700, method=direct_match, {at})\n"
        "Content: First line of it\n  ---\n  last line of it"
        "\n\n---\n\n"
        f"[{second}] (score=0.5000, method=direct_match, {at})\n"
        "Content: Another statement"
    )
    explained = render(result, "text", explained=True).split("\n")
    assert explained[1] == "Reason: Close in meaning (similarity 0.8700)."
    assert render(result, "compact").startswith(
        "(score=0.8700, age=just now, stability=unknown, date=2026-03-18)\nFirst line of it\n"
    )
    assert render(result, "list").endswith(
        f"ID: {second}\nScore: 0.5000\nDate: 2026-03-18\nContent: Another statement"
    )
    assert render(result, "explain").count("TraceRank: 1.0000") == 2
    empty = opener("empty").recall("anything at all")
    for format in ("text", "compact", "explain", "list"):
        assert render(empty, format) == "No memories found."
    with pytest.raises(vestig.ValidationError, match="format"):
        render(result, "xml")


def files_of(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file() and not file.name.endswith("-shm")
    }


def test_reads_are_pure(opener: Opener, tmp_path: Path) -> None:
    store = opener()
    first = store.commit("The pump station stands by the river").memory_id
    store.commit("The water tower stands on the hill")
    before, counts = files_of(tmp_path / "store"), store.admin.stats()
    for _ in range(2):
        store.recall("pump station")
        store.show(first)
        store.list()
    assert files_of(tmp_path / "store") == before
    assert store.admin.stats() == counts
    store.recall("pump station", limit=1, touch=True)
    shown = store.show(first).memory
    assert (shown.access_count, shown.last_accessed_at is not None) == (1, True)
    assert store.admin.stats().seq == counts.seq


def test_zero_vector_scores_zero(opener: Opener) -> None:
    vectors = {
        QUERY: vector_at(1.0),
        "A statement without meaning": [0.0] * 8,
        "A close statement": vector_at(0.4),
    }
    store = opener(vectors=vectors)
    store.commit("A statement without meaning")
    store.commit("A close statement")
    found = store.recall(QUERY, profile="baseline")
    assert [(hit.content, hit.score) for hit in found][1] == ("A statement without meaning", 0.0)
    assert len(store.recall(QUERY, where={"kinds": ["MEMORY"]})) == 2
    assert len(store.recall(QUERY, where={"kinds": "SUMMARY"})) == 0


def test_filters(opener: Opener) -> None:
    store = opener()
    a = store.commit("Fact one about the engine", tags=["x", "y"], scope="lab", role="user",
                     t_valid="2026-01-10", metadata={"level": 1, "ok": True}, author="Ada",
                     actor="bot", source="hook", session_id="s1").memory_id  # fmt: skip
    b = store.commit("Fact two about the engine", tags=["y"], t_valid="2026-02-10",
                     metadata={"level": True}).memory_id  # fmt: skip
    c = store.commit("Fact three about the engine", t_valid="2026-03-10").memory_id

    def found(**filters: object) -> set[str]:
        return {hit.id for hit in store.recall("engine facts", limit=10, **selecting(filters))}  # type: ignore[arg-type]

    everything = {a, b, c}
    cases: list[tuple[dict[str, object], set[str | None]]] = [
        ({}, everything),
        ({"tags": ["x", "y"]}, {a, b}),
        ({"tags": ["x", "y"], "tags_mode": "all"}, {a}),
        ({"tags": ["nothing"]}, set()),
        ({"scope": None}, everything),
        ({"unscoped": True}, {b, c}),
        ({"scope": "lab"}, {a}),
        ({"scope": ["lab"], "unscoped": True}, everything),
        ({"since": "2026-01-10", "until": "2026-03-09"}, {a, b}),
        ({"since": "2026-02-11"}, {c}),
        ({"created_since": "2027-01-01"}, set()),
        ({"metadata": {"level": 1}}, {a}),
        ({"metadata": {"level": True}}, {b}),
        ({"metadata": {"level": 1, "ok": True}}, {a}),
        ({"exclude_ids": [a]}, {b, c}),
        ({"ids": [a, c]}, {a, c}),
        ({"authors": "Ada"}, {a}),
        ({"actors": ["bot"]}, {a}),
        ({"sources": ["hook"]}, {a}),
        ({"sources": ["manual"]}, {b, c}),
        ({"roles": "user"}, {a}),
        ({"session_ids": "s1"}, {a}),
        ({"origin_types": ["chat_agent"]}, {a}),
        ({"origin_types": "note"}, {b, c}),
        ({"kinds": "SUMMARY"}, set()),
    ]
    for filters, expected in cases:
        assert found(**filters) == expected, filters
    with pytest.raises(vestig.ValidationError, match="since"):
        found(since="2026-03-10", until="2026-03-09")
    with pytest.raises(vestig.ValidationError, match="roles"):
        found(roles="boss")


def test_a_pin_is_no_source(store: vestig.Vestig) -> None:
    id = store.commit("A fact that came by import", source="import").memory_id
    store.pin(id)
    assert [hit.id for hit in store.recall("imported fact", where={"sources": "import"})] == [id]
    assert len(store.recall("imported fact", where={"sources": "manual"})) == 0


def test_min_similarity(opener: Opener) -> None:
    store = scripted(opener, {f"Statement number {n} here": 0.9 - n / 10 for n in range(5)})
    found = store.recall(QUERY, where={"min_similarity": 0.7})
    assert sorted(round(hit.similarity, 4) for hit in found) == [0.7, 0.8, 0.9]
    assert found.counts.eligible == 3


def test_superseded_is_hidden(store: vestig.Vestig) -> None:
    old = store.commit("The office is in Oslo, by the harbour").memory_id
    new = store.commit("The office is in Bergen, by the harbour").memory_id
    store.supersede(old, new)
    found = store.recall("where is the office?")
    assert [hit.id for hit in found] == [new]
    assert f"supersedes: {old}" in found.results[0].reason.flags
    both = store.recall("where is the office?", where={"include_expired": True})
    assert {hit.id for hit in both} == {old, new}
    assert "expired" in next(hit for hit in both if hit.id == old).reason.flags


def test_unknown_fields_name_the_nearest(store: vestig.Vestig) -> None:
    with pytest.raises(vestig.ValidationError, match="did you mean authors"):
        store.recall("anything", where={"author": "Ada"})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(TypeError, match="limmit"):
        store.recall("anything", limmit=3)  # type: ignore[call-arg]
    with pytest.raises(vestig.ConfigError, match="default"):
        store.recall("anything", profile="fast")


def test_same_arguments_same_numbers(opener: Opener) -> None:
    rng = random.Random(3)
    words = ["red", "green", "blue", "table", "chair", "lamp", "river", "stone", "cloud"]
    texts = {" ".join(rng.choices(words, k=6)) for _ in range(300)}
    store = opener(config={"hygiene": {"near_duplicate": {"enabled": False}}})
    store.commit_many(sorted(texts))
    first = store.recall("green table by the river", limit=20).to_dict(explain=True)["results"]
    second = store.recall("green table by the river", limit=20).to_dict(explain=True)["results"]
    assert first == second
    store.admin.rebuild()
    assert (
        store.recall("green table by the river", limit=20).to_dict(explain=True)["results"] == first
    )
