"""The signals `topic_lexical` and `bigram`, from the store to the reason."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from calls import selecting
from chat_store import CHAT, PLAIN, QUESTION, commit_texts, weighed
from scripted import Opener
from vestig.config.signals import CONTENT_TERMS, ORIGINS
from vestig.errors import ConflictError
from vestig.recall import query as recall_query
from vestig.recall import receipts
from vestig.store.ledger.reads import SqliteView
from vestig.testing import FrozenClock

EVERY = 50
AT = "2026-03-18T12:00:00Z"
BICYCLES = (
    "Tom bought a red bicycle",
    "The bicycle that is red was bought by somebody else",
    "The red, old bicycle",
    "Which kind of thing is it that one buys?",
)


@pytest.fixture
def store(opener: Opener, clock: FrozenClock) -> vestig.Vestig:
    made = opener(config=PLAIN)
    commit_texts(made, clock)
    return made


def bicycles(opener: Opener, **more: Any) -> vestig.Vestig:
    store = opener("bicycles", config=PLAIN)
    for text in BICYCLES:
        store.commit(text, **more)
    return store


def raw(store: vestig.Vestig, query: str, name: str, **fields: Any) -> dict[str, float]:
    """Text → value, of the hits that have the term."""
    keys = {**weighed(1.0, name), **fields.pop("config", {})}
    found = store.recall(query, limit=EVERY, config=keys, query_time=AT, **selecting(fields))
    traces = ((hit.content, hit.reason.signals.get(name)) for hit in found)
    return {content: trace.raw for content, trace in traces if trace is not None}


def test_bigram_counts_neighbours_in_their_order(opener: Opener) -> None:
    store = bicycles(opener)
    assert raw(store, "red bicycle of Tom", "bigram") == dict(
        zip(BICYCLES, (1, 0, 0, 0), strict=True)
    )
    assert raw(store, "the red bicycle that Tom bought", "bigram")[BICYCLES[0]] == 2
    assert raw(store, "bicycle red", "bigram")[BICYCLES[1]] == 1
    assert raw(store, "red bicycle, red bicycle", "bigram")[BICYCLES[0]] == 1
    assert raw(store, "who is Tom?", "bigram") == {}, "one content term has no neighbour"


def test_bigram_changes_the_order(opener: Opener) -> None:
    store = bicycles(opener)
    query = "the bicycle red old"

    def ranked(**weights: float) -> list[str]:
        keys = weighed(0.0, "lexical", "bigram")
        keys |= {f"ranking.weights.note.{name}": weight for name, weight in weights.items()}
        return [hit.content for hit in store.recall(query, limit=EVERY, config=keys)]

    assert ranked(lexical=1.0)[0] == BICYCLES[2]
    assert ranked(lexical=1.0, bigram=5.0)[:2] == [BICYCLES[1], BICYCLES[2]]
    hit = store.recall(query, config=weighed(2.0, "lexical", "bigram")).results[0]
    trace = hit.reason.signals["bigram"]
    assert (trace.raw, trace.normalised, trace.weight) == (1.0, 1.0, 2.0)


def test_topic_lexical_changes_the_order(opener: Opener) -> None:
    store = bicycles(opener)
    query = "Which kind of thing is it that Tom has?"
    values = raw(store, query, "lexical")
    assert max(values, key=values.__getitem__) == BICYCLES[3]
    values = raw(store, query, "topic_lexical")
    assert values[BICYCLES[0]] > values[BICYCLES[1]] == 0.0
    content = raw(store, "thing Tom", "lexical")
    assert values == pytest.approx(content, abs=1e-12), "idf and lengths are those of all words"
    hits = store.recall(query, limit=EVERY, config=weighed(1.0, "lexical", "topic_lexical"))
    for hit in hits:
        one = hit.reason.signals
        both = one["lexical"].normalised + one["topic_lexical"].normalised
        assert hit.reason.start_score == pytest.approx(both, abs=1e-12)


@pytest.mark.parametrize("query", ["what is it?", "how many, and which kind?", ""])
def test_without_content_there_is_no_such_term(store: vestig.Vestig, query: str) -> None:
    for name in ("topic_lexical", "bigram"):
        assert raw(store, query or "the", name) == {}


def test_words_of_a_time_count_unless_a_memory_meets_it(opener: Opener) -> None:
    store = opener(config=PLAIN)
    store.commit("A march and 2026 songs", t_valid="2020-01-01")
    far = "who sang in March 2026?"
    assert raw(store, far, "topic_lexical")["A march and 2026 songs"] > 0.0
    assert raw(store, far, "bigram")["A march and 2026 songs"] == 1.0
    store.commit("We sang together all night", t_valid="2026-03-05")
    assert raw(store, far, "topic_lexical")["A march and 2026 songs"] == 0.0
    assert raw(store, far, "bigram") == {}, "one content term is left"
    assert "date" not in store.recall(far, config=weighed(1.0, "bigram")).results[0].reason.signals
    # the memory that meets the date does not pass the filter
    only = {"until": "2021-01-01"}
    assert raw(store, far, "bigram", **only) == {"A march and 2026 songs": 1.0}


def test_filters_namespaces_and_newer_texts_are_seen(store: vestig.Vestig) -> None:
    query = "friends of Grace Hopper"
    whole = raw(store, query, "bigram")
    assert whole[CHAT[4][1]] == 1.0
    chat = raw(store, query, "bigram", session_ids=["chat"])
    assert chat == {text: whole[text] for _, text in CHAT}
    store.commit("Two friends of Grace Hopper", namespace="other")
    assert raw(store, query, "bigram") == whole
    added = store.commit("Two friends of Grace Hopper.").memory_id
    assert raw(store, query, "bigram")["Two friends of Grace Hopper."] == 2.0
    store.forget(added)
    assert raw(store, query, "bigram") == whole


def test_words_behind_the_cut_of_an_agent_message_are_not_read(opener: Opener) -> None:
    store = opener(config=PLAIN)
    text = "filler " * 180 + "red bicycle"
    store.commit(text, role="user", session_id="a", sequence=0)
    store.commit(f"{text}s", author="Ann", session_id="b", sequence=0)
    values = raw(store, "red bicycle", "bigram")
    assert sorted(values.values()) == [0.0, 1.0]
    assert values[f"{text}s"] == 1.0


def test_the_author_is_read_too(opener: Opener) -> None:
    store = opener(config=PLAIN)
    store.commit("bought it", author="Tom", session_id="b", sequence=0)
    assert raw(store, "Tom bought", "bigram") == {"bought it": 1.0}


def test_rankings_that_weigh_no_content_do_not_look_at_it(
    store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A term without weight is not computed."""
    off = {f"signals.{name}.enabled": False for name in CONTENT_TERMS}
    usual = store.recall(QUESTION, limit=EVERY, seed=1, config=off)

    def never(*_: Any) -> Any:
        raise AssertionError("no content is looked at")

    zero = {f"ranking.weights.{o}.{name}": 0.0 for o in ORIGINS for name in CONTENT_TERMS}
    blend = {**weighed(1.0, *CONTENT_TERMS), "ranking.base": "blend"}
    for keys in (off, zero):
        found = store.recall(QUESTION, limit=EVERY, seed=1, config=keys)
        assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in usual]
        normalisers = found.formula.normalisers.values()
        assert all(set(CONTENT_TERMS).isdisjoint(most) for most in normalisers)
    # only the confidence looks at content then, and no ranking but the sum of terms has one
    monkeypatch.setattr(recall_query, "content_terms", never)
    store.recall(QUESTION, config=blend)


def test_no_text_is_read_for_it(store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("the projection knows which terms stand side by side")

    monkeypatch.setattr(SqliteView, "normal_texts", never)
    found = store.recall("Grace Hopper", limit=EVERY, config=weighed(1.0, "bigram"))
    values = {hit.content: hit.reason.signals["bigram"].raw for hit in found}
    assert {text for text, value in values.items() if value} == {
        text for text in values if "Grace Hopper" in text
    }


def test_why_not_and_receipts_count_them(
    store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = weighed(2.0, "lexical", *CONTENT_TERMS)
    best = store.recall(QUESTION, limit=EVERY, config=on)
    last = list(best)[-1].id
    entry = store.recall(QUESTION, limit=1, config=on, expect=last).why_not[0]
    assert {entry.signals[name].weight for name in CONTENT_TERMS} == {2.0}
    receipt: Any = store.recall(QUESTION, config=on, receipt=True).receipt
    store.commit("Many friends of Grace Hopper met.")
    assert store.replay_receipt(receipt).equal
    assert " frame-words-1 newer-words-1 " in receipt.analyser
    monkeypatch.setattr(receipts, "frame_words_version", lambda: "frame-words-0")
    with pytest.raises(ConflictError, match="the receipt was made with"):
        store.replay_receipt(receipt)
    off = {f"signals.{name}.enabled": False for name in CONTENT_TERMS}
    plain: Any = store.recall(QUESTION, config=off, receipt=True).receipt
    assert "frame-words" not in plain.analyser
