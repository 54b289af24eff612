"""Signals from the store to the reason."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import vestig
from calls import selecting
from chat_store import AGENT, CHAT, DOCUMENTS, PLAIN, QUESTION, commit_texts, weighed
from recomputed_scores import final, linear
from scripted import Opener
from vestig.config.signals import KINDS, LATE_TERMS, SWITCHES, switch_of
from vestig.config.weights import SIGNALS
from vestig.testing import FrozenClock, TokenHashingEmbedder, WordReranker

EVERY = len(CHAT) + len(AGENT) + len(DOCUMENTS) + 1
# Terms that are made from what others come to, or only for the best of it.
LATER = {"entity_walk", "pair", "title", "late", "rerank"}


@pytest.fixture
def store(opener: Opener, clock: FrozenClock) -> vestig.Vestig:
    """A store whose memories have vectors of word pieces, ranked by every signal."""
    config = {**PLAIN, **weighed(0.25, *SIGNALS)}
    made = opener(embedder=TokenHashingEmbedder(64), reranker=WordReranker(), config=config)
    commit_texts(made, clock)
    return made


def parts(signal: str) -> list[str]:
    return [name for name in SIGNALS if (switch_of(name) or name) == signal]


def scores(found: Any) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in found]


def contents(found: Any) -> list[str]:
    return [hit.content for hit in found]


def values(term: dict[str, Any] | None) -> dict[str, Any]:
    """Of a term, without what matched: words inside of a time count as content without dates."""
    return {name: value for name, value in (term or {}).items() if name != "matched"}


def by_id(found: Any) -> dict[str, dict[str, Any]]:
    return {hit["id"]: hit for hit in found.to_dict(explain=True)["results"]}


@pytest.mark.parametrize("signal", dict.fromkeys(switch_of(name) or name for name in SIGNALS))
def test_a_signal_that_is_off_or_weighs_nothing_changes_no_other(
    store: vestig.Vestig, signal: str
) -> None:
    on = store.recall(QUESTION, limit=EVERY, seed=1)
    nothing = {f"ranking.weights.{kind}.{name}": 0.0 for kind in KINDS for name in parts(signal)}
    off = store.recall(QUESTION, limit=EVERY, seed=1, config=nothing)
    assert len(off) == EVERY
    if signal in SWITCHES:
        switched = {f"signals.{signal}.enabled": False}
        assert scores(off) == scores(store.recall(QUESTION, limit=EVERY, seed=1, config=switched))
    if signal not in ("long", "entity_walk", "pair", "title"):
        assert scores(off) != scores(on), "the signal says something here"
    for hit in off:
        assert not set(parts(signal)) & set(hit.reason.signals)
    if signal in LATER:
        return
    # what the others say is not changed by it
    before = by_id(on)
    first = [name for name in SIGNALS if (switch_of(name) or name) not in (*LATER, signal)]
    for id, hit in by_id(off).items():
        now, then = hit["reason"]["signals"], before[id]["reason"]["signals"]
        for name in first:
            assert values(now.get(name)) == values(then.get(name)), name


@pytest.mark.parametrize("query", [QUESTION, "boats", "how lovely is the old boat?"])
def test_scores_recompute_from_every_term(store: vestig.Vestig, query: str) -> None:
    found = store.recall(query, limit=EVERY)
    result = json.loads(json.dumps(found.to_dict(explain=True)))
    for hit in result["results"]:
        signals = hit["reason"]["signals"]
        assert set(signals) <= {"bias", *SIGNALS}
        added = [abs(one["raw"] * one["weight"]) for one in signals.values()]
        assert added == sorted(added, reverse=True)
        assert {one["weight"] for name, one in signals.items() if name != "bias"} == {0.25}
        reason = hit["reason"]
        assert linear(reason) == pytest.approx(reason["start_score"], abs=1e-9)
        assert final(hit, result["formula"]) == pytest.approx(
            reason.get("own_final_score", hit["final"]), abs=1e-9
        )


def test_people_s_chats_have_weights_of_their_own(store: vestig.Vestig) -> None:
    keys = {**weighed(0.0), "ranking.weights.chat_peer.topic": 1.0}
    found = store.recall(QUESTION, limit=EVERY, config=keys)
    weighed_in = {hit.memory.origin_type.value for hit in found if "topic" in hit.reason.signals}
    assert weighed_in == {"chat_peer"}
    assert len({hit.memory.origin_type for hit in found}) == 4
    assert all(set(hit.reason.signals) <= {"bias", "topic"} for hit in found)


def ranked(store: vestig.Vestig, query: str, *names: str, **fields: Any) -> list[str]:
    keys = {**weighed(1.0, *names), **fields.pop("config", {})}
    return contents(store.recall(query, limit=EVERY, config=keys, **selecting(fields)))


def test_an_answer_comes_with_its_question(store: vestig.Vestig) -> None:
    query, answer = "which colour did the old boat take?", CHAT[1][1]
    alone = ranked(store, query, "late")
    assert alone[0] == CHAT[0][1]
    for name in ("words", "reply", "late_window"):
        assert ranked(store, query, "late", name).index(answer) < alone.index(answer)


def person(hit: Any) -> float:
    """0 where the term says nothing."""
    trace = hit.reason.signals.get("person")
    return 0.0 if trace is None else float(trace.raw)


def test_the_person_that_the_query_names(store: vestig.Vestig) -> None:
    keys = weighed(1.0, "person")
    found = store.recall("what did BOB say?", limit=EVERY, config=keys)
    values = {hit.memory.author: person(hit) for hit in found}
    assert values == {"Bob": 1.0, "Ann": -1.0, "Cid": -1.0, None: 0.0}
    two = store.recall("what did Bob say to Ann?", limit=EVERY, config=keys)
    values = {hit.memory.author: person(hit) for hit in two}
    assert values == {"Bob": 1.0, "Ann": 1.0, "Cid": 0.0, None: 0.0}


def test_a_day_without_a_year_stands_for_every_year(store: vestig.Vestig) -> None:
    keys = weighed(1.0, "date")

    def hit_by(query: str) -> set[str]:
        found = store.recall(query, limit=EVERY, config=keys, query_time="2026-03-18T12:00:00Z")
        return {hit.content for hit in found if hit.reason.signals["date"].raw in (1.0, 0.8, 0.4)}

    assert {text for _, text in DOCUMENTS} <= hit_by("what was on 14 February?")
    assert not {text for _, text in DOCUMENTS} & hit_by("what was on 14 February 2026?")
    assert hit_by("what was in February 2025?") == {text for _, text in DOCUMENTS}
    assert CHAT[2][1] in hit_by("what was on 3 Feb?")


def test_a_title_that_is_the_name_asked_for(store: vestig.Vestig) -> None:
    query = "who was Grace Hopper?"
    titled, keys = DOCUMENTS[0][1], {"origin_types": ["document"]}
    assert ranked(store, query, "words", **keys).index(titled) > 0
    assert ranked(store, query, "title", **keys)[0] == titled


def test_a_title_that_is_a_name_in_a_result(store: vestig.Vestig) -> None:
    query, keys = "Which navy had the compiler of Ada Lovelace?", {"origin_types": ["document"]}
    titled, mentioning, other = (text for _, text in DOCUMENTS)
    assert ranked(store, query, "words", **keys) == [other, mentioning, titled]
    found = store.recall(
        query, limit=EVERY, config=weighed(1.0, "words", "title"), where=keys, seed=1
    )
    assert {hit.content for hit in found if "title" in hit.reason.signals} == {titled}


@pytest.mark.parametrize(
    ("query", "leads"),
    [("Which navy had the compiler of Ada Lovelace?", True), ("Which navy had it?", False)],
)
def test_names_lead_to_documents_where_the_query_has_one(
    store: vestig.Vestig, query: str, leads: bool
) -> None:
    keys = weighed(1.0, "words", "entity_walk", "pair", "title")
    found = store.recall(query, limit=EVERY, config=keys, seed=1)
    walked = {name for hit in found for name in hit.reason.signals}
    assert bool(walked & {"entity_walk", "pair", "title"}) is leads


def test_word_pieces_need_the_query_as_a_text(store: vestig.Vestig, opener: Opener) -> None:
    keys = weighed(1.0, *LATE_TERMS)
    found: Any = store.recall(CHAT[2][1], limit=EVERY, config=keys)
    best = max(found.results, key=lambda hit: hit.reason.signals["late"].raw)
    assert best.content == CHAT[2][1]
    vector = memoryview(store._session.embedder.embed([CHAT[2][1]])[0]).cast("f").tolist()
    blind = store.recall(CHAT[2][1], query_vector=vector, limit=EVERY, config=keys)
    for name in LATE_TERMS:
        assert not any(name in hit.reason.signals for hit in blind), name
    plain = opener("plain", config=keys)
    plain.commit("No word pieces have codes here")
    (hit,) = plain.recall(QUESTION)
    assert not set(LATE_TERMS) & set(hit.reason.signals)


def test_only_the_best_of_all_are_compared_piece_by_piece(store: vestig.Vestig) -> None:
    keys = {**weighed(1.0, "words", "late"), "signals.late.pool": 2}
    found = store.recall(QUESTION, limit=EVERY, config=keys)
    assert ["late" in hit.reason.signals for hit in found] == [*[True] * 2, *[False] * (EVERY - 2)]


def test_memories_of_every_kind_have_word_pieces(store: vestig.Vestig) -> None:
    found = store.recall(QUESTION, limit=EVERY, config=weighed(1.0, "late"))
    compared = {hit.memory.origin_type for hit in found if "late" in hit.reason.signals}
    assert compared == {hit.memory.origin_type for hit in found}
    assert len(compared) == 4


def test_the_sum_is_that_of_the_terms(store: vestig.Vestig) -> None:
    for hit in store.recall(QUESTION, limit=EVERY):
        total = linear(json.loads(json.dumps(hit.reason.to_dict())))
        assert 1 / (1 + math.exp(-total)) == pytest.approx(hit.reason.base, abs=1e-12)
