"""Scores and their parts, from a store to the reason."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import vestig
from calls import selecting
from fixed_graph import PLAIN, fixed_graph
from recomputed_scores import final, score
from scripted import ELSEWHERE, Opener
from vestig.testing import FrozenClock, vector_at

QUERY = "which port has the deploy of service 3?"
PROFILES = ("reference", "default", "baseline")
SWITCHES = (
    {},
    {"ranking.enabled": False},
    {"questions.enabled": False},
    {"walk.start.enabled": False},
    {"walk.enabled": False},
    {"usage.enabled": False},
    {"ranking.base": "blend"},
    {"ranking.base": "semantic"},
    {"ranking.path_power": 0.5},
    {"ranking.tracerank_power": 2},
    {"reference.recency_weight": 0.4},
    {f"ranking.weights.all.{n}": 1.5 for n in ("words", "topic", "date", "long")},
    {"signals.topic.enabled": False},
    {"ranking.pool": 2, "walk.max_nodes": 30},
    {"walk.edge_types": ["RELATED", "MENTIONS"], "ranking.pool": "starts"},
)


@pytest.fixture
def services(opener: Opener, clock: FrozenClock) -> vestig.Vestig:
    """Thirty like memories, reinforced, dated, linked and with names."""
    store = opener(config={"hygiene.near_duplicate.enabled": False})
    texts = [
        f"Ada Lovelace said that the deploy of service {n} runs on port {8000 + n}"
        for n in range(30)
    ]
    store.commit_many([{"content": t, "t_valid": "2026-03-10"} for t in texts])
    clock.move(days=3)
    store.commit(texts[3])
    clock.move(days=3)
    return store


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("switch", SWITCHES, ids=lambda s: ",".join(s) or "as it is")
def test_final_scores_recompute_from_json(
    services: vestig.Vestig, profile: str, switch: dict[str, Any]
) -> None:
    for query in (QUERY, "what did Ada Lovelace say last week about the deploy?"):
        found = services.recall(query, profile=profile, config=switch, limit=8, seed=5)
        result = json.loads(json.dumps(found.to_dict(explain=True)))
        assert len(result["results"]) == 8
        pooled = [h for h in result["results"] if "Filled" not in h["reason"]["explanation"]]
        scores = [hit["score"] for hit in pooled]
        assert scores == sorted(scores, reverse=True)
        for hit in result["results"]:
            reason = hit["reason"]
            own = reason.get("own_final_score", hit["final"])
            assert final(hit, result["formula"]) == pytest.approx(own, abs=1e-9)
            assert reason["final_score"] == hit["final"]
            assert score(hit, result) == pytest.approx(hit["score"], rel=1e-9)
            assert reason["similarity"] == hit["similarity"]
            assert reason["path"][0] == "START"
            assert reason["hops"] == len(reason["path"]) - 1
            boost = reason["tracerank_boost"]
            if boost["multiplier"] != 1:
                assert (
                    f"Reinforced {boost['events']}×; TraceRank {boost['multiplier']:.4f}."
                    in reason["explanation"]
                )
            if "similarity" in reason["explanation"]:
                assert f"(similarity {hit['similarity']:.4f})" in reason["explanation"]


def test_reference_echoes_its_values(services: vestig.Vestig) -> None:
    found = services.recall("deploy by Ada Lovelace last week", profile="reference")
    assert found.profile == "reference"
    assert found.analysis.available == ("keyword", "temporal", "entity")
    assert found.analysis.weights == pytest.approx({"keyword": 0.5, "temporal": 0.3, "entity": 0.2})
    assert found.results[0].reason.alpha_used == 0.6
    formula = found.formula
    assert (formula.base, formula.bias, formula.pool) == ("semantic", None, "starts")
    assert (formula.content_weight, formula.query_weight) == (0.4, 0.6)
    assert (formula.association, formula.path_power, formula.tracerank_power) == (0, 1, 1)
    names = [f"{entity.type}:{entity.name}" for entity in found.analysis.entities]
    assert [name.partition(":")[2] for name in names] == ["Ada Lovelace"]
    with pytest.raises(vestig.ConfigError, match="unknown profile"):
        services.recall(QUERY, profile="nope")


def test_config_explain_echoes_the_profile() -> None:
    from vestig.config import load
    from vestig.config.explain import explain

    config = load(environ={}, profile="reference")
    expected = {
        "reference.alpha_meta": 0.6,
        "reference.keyword_weight": 0.5,
        "reference.temporal_weight": 0.3,
        "reference.entity_weight": 0.2,
        "reference.keyword_mode": "jaccard",
        "reference.entity_mode": "overlap",
        "questions.content_weight": 0.4,
        "questions.question_weight": 0.6,
        "walk.start.limit": 3,
        "ranking.pool": "starts",
        "walk.max_nodes": 5,
        "walk.exploration_factor": 2.0,
        "walk.normalize_weights": False,
        "ranking.base": "semantic",
        "ranking.association": 0.0,
    }
    for key, value in expected.items():
        [shown] = explain(config, key)
        assert (shown.value, shown.layer, shown.file) == (value, "profile", "reference"), key


def plain(opener: Opener, cosines: dict[str, float], **options: Any) -> vestig.Vestig:
    vectors = {t: vector_at(c, 8, 1 + n % 6) for n, (t, c) in enumerate(cosines.items())}
    vectors[QUERY] = vector_at(1.0)
    store = opener(vectors=vectors, config=PLAIN, **options)
    for text in cosines:
        store.commit(text)
    return store


def test_a_query_with_keywords_only(opener: Opener) -> None:
    """S_meta is the keyword's alone, and S takes its share of it."""
    store = plain(opener, {"The service has a port": 0.8})
    (hit,) = store.recall(QUERY, profile="reference", limit=1)
    signals = hit.reason.signals
    assert list(signals) == ["keyword"], "no time, no entity"
    assert signals["keyword"].weight == 1.0
    keyword = signals["keyword"].raw
    assert 0 < keyword < 1
    assert hit.reason.metadata_score == pytest.approx(keyword)
    expected = 0.6 * keyword + 0.4 * 0.8
    assert hit.reason.start_score == pytest.approx(expected, abs=1e-7)
    assert hit.score == pytest.approx(0.8, abs=1e-7), "the final score is of the meaning"


def test_without_any_signal_alpha_is_zero(opener: Opener) -> None:
    store = opener(vectors={"the of and": vector_at(1.0), "Some plain text": vector_at(0.8)})
    store.commit("Some plain text")
    (hit,) = store.recall("the of and", profile="reference", limit=1)
    assert hit.reason.alpha_used == 0.0
    assert hit.reason.start_score == pytest.approx(0.8, abs=1e-7)


def test_keyword_only_and_meaning_only_both_start(opener: Opener) -> None:
    cosines = {"port deploy service": 0.0, "A text that means it": 0.9} | {
        f"Another of the rest, {n}": 0.1 for n in range(8)
    }
    store = plain(opener, cosines)
    config = {"walk.start.limit": 2}
    found = store.recall(QUERY, profile="reference", limit=2, config=config)
    assert {hit.content for hit in found} == {"port deploy service", "A text that means it"}
    for hit in found:
        assert (hit.reason.path, hit.reason.signal_strength) == (("START",), 1.0)
        assert "Filled" not in str(hit.reason.explanation)


def test_a_query_without_time_ranks_as_if_there_were_no_such_signal(
    services: vestig.Vestig,
) -> None:
    query = "Ada Lovelace and the deploy"
    weights = {"reference.temporal_weight": 0.0}
    blend = {"ranking.base": "blend"}
    with_it = services.recall(query, profile="reference", config=blend, limit=30, seed=1)
    without = services.recall(
        query, profile="reference", config={**blend, **weights}, limit=30, seed=1
    )
    assert "temporal" not in with_it.analysis.available
    assert with_it.analysis.weights == pytest.approx({"keyword": 0.714286, "entity": 0.285714},
                                                     abs=5e-7)  # fmt: skip
    for hit in with_it:
        assert "temporal" not in hit.reason.signals
    assert [(h.id, h.score) for h in with_it] == [(h.id, h.score) for h in without]


def test_each_switch_alone(opener: Opener) -> None:
    graph = fixed_graph(opener)

    def found(**config: Any) -> list[tuple[str, float]]:
        keys = {f"{name.replace('__', '.')}": value for name, value in config.items()}
        result = graph.recall(limit=5, config=keys)
        return list(zip(graph.names(result), [hit.score for hit in result], strict=True))

    cosines = {"S": 1.0, "B": 0.5, "C": 0.4, "D": 0.3, "E": 0.2}
    plain_order = [(name, pytest.approx(value, abs=1e-7)) for name, value in cosines.items()]
    assert found() != plain_order
    assert found(walk__enabled=False) == plain_order
    off = {"ranking.enabled": False, "usage.enabled": False}
    baseline = graph.store.recall("what lies nearest?", profile="baseline")
    both = graph.store.recall("what lies nearest?", config=off)
    assert [(h.id, h.score) for h in both] == [(h.id, h.score) for h in baseline]


def test_tracerank_is_bounded(
    services: vestig.Vestig, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    def most(store: vestig.Vestig) -> tuple[float | None, float, float]:
        """The bound, and by what TraceRank moved a memory most: in the score, and without bound."""
        found = store.recall(QUERY, config={"ranking.tracerank_power": 20}, limit=30)
        reasons = [hit.reason for hit in found]
        moved = max(reason.final_score / reason.base for reason in reasons)
        whole = max(reason.tracerank_boost.multiplier**20 for reason in reasons)
        return found.formula.tracerank_bound, moved, whole

    bound, moved, whole = most(services)
    assert bound == 0.5
    assert moved == pytest.approx(math.exp(0.25))
    assert moved < whole
    monkeypatch.setattr("vestig.recall.ranking._TRACERANK_BOUND", 100.0)
    services.close()
    bound, moved, whole = most(opener())
    assert bound == 100.0
    assert moved == pytest.approx(whole)


def test_m5_off_is_cosine_times_tracerank(services: vestig.Vestig) -> None:
    found = services.recall(QUERY, config={"ranking.enabled": False}, limit=30)
    for hit in found:
        boost = hit.reason.tracerank_boost.multiplier
        assert hit.score == pytest.approx(max(0.0, hit.similarity) * boost, abs=1e-12)
        assert hit.reason.path == ("START",)
    assert found.counts.walked == 0


def test_start_nodes_off_starts_from_the_nearest(opener: Opener) -> None:
    cosines = {"port deploy service": 0.0, "A text that means it": 0.3, "A third text here": 0.2}
    store = plain(opener, cosines)
    shape = {"profile": "reference", "limit": 1}
    one = {"walk.start.limit": 1}
    first = store.recall(QUERY, config=one, **selecting(shape)).results[0]
    assert first.content == "port deploy service"
    off = store.recall(
        QUERY, config={**one, "walk.start.enabled": False}, **selecting(shape)
    ).results[0]
    assert off.content == "A text that means it"
    assert off.reason.start_score == off.similarity


def test_connectivity_is_a_factor_when_switched_on(opener: Opener) -> None:
    graph = fixed_graph(opener)
    on = {"usage.graph_connectivity_enabled": True}
    before, after = graph.recall(limit=5), graph.recall(limit=5, config=on)
    assert {hit.reason.tracerank_boost.connectivity for hit in before} == {1.0}
    boosts = {name: graph.reason(after, name).tracerank_boost for name in "SB"}
    # two edges lead to E, one to B; none to S
    assert boosts["S"].connectivity == 1.0
    assert boosts["B"].connectivity == pytest.approx(1.103972, abs=5e-7)
    assert boosts["B"].multiplier == pytest.approx(boosts["B"].unclipped)


def test_an_unknown_query_vector_needs_words(opener: Opener) -> None:
    store = plain(opener, {"The service has a port": 0.8})
    found = store.recall(QUERY, query_vector=ELSEWHERE, profile="baseline")
    assert found.results[0].similarity == pytest.approx(0.0, abs=1e-7)


def test_a_stored_question_nearer_than_the_text(opener: Opener) -> None:
    text, question = "The pump was fixed by a new gasket", "How does one mend the pump?"
    vectors = {QUERY: vector_at(1.0), text: vector_at(0.5), question: vector_at(0.9, 8, 2)}
    store = opener(vectors=vectors, config=PLAIN)
    store.commit(text, hypothetical_queries=[question], trigger="problem-solution")
    (hit,) = store.recall(QUERY, profile="reference")
    reason = hit.reason
    assert hit.similarity == pytest.approx(0.5, abs=1e-7)
    assert reason.semantic_score == hit.score == pytest.approx(0.74, abs=1e-7)
    assert reason.hypothetical.to_dict() == {
        "question": question,
        "cosine": pytest.approx(0.9, abs=1e-7),
    }
    assert f'Through stored question "{question}" (0.9000).' in reason.explanation
    (off,) = store.recall(QUERY, profile="reference", config={"questions.enabled": False})
    assert (off.score, off.reason.hypothetical) == (pytest.approx(0.5, abs=1e-7), None)
