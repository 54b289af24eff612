"""The signal `topic`: memories against the content words of the query, up to the reason."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import vestig
from chat_store import PLAIN, weighed
from scripted import Opener
from vestig.answers import RecallResult
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.embedders.checked import checked_embedder, unit_bytes
from vestig.errors import ConflictError, ValidationError
from vestig.evaluation.cached_embedder import cached_embedder
from vestig.ports import SPECIAL_PIECE, STATE_DIMENSIONS, TokenStates
from vestig.testing import FailingEmbedder, TokenScriptedEmbedder

AT = "2026-03-18T12:00:00Z"
EVERY = 50
# A word of the query is an axis, and so is the text that is about it.
WORDS = ("dog", "maria", "adopt", "march", "2026", "which")
QUERY = "Which kind of dog did Maria adopt in March 2026?"
TEXTS = {word: f"A {word} and songs told to all of us" for word in WORDS}
ON = weighed(1.0, "topic")


def axis(word: str) -> list[float]:
    return [float(other == word) for other in WORDS] + [0.0] * (STATE_DIMENSIONS - len(WORDS))


class WordAxes(TokenScriptedEmbedder):
    """Each word piece of a query is the axis of its word; the query itself lies elsewhere."""

    def __init__(self) -> None:
        texts = {text: axis(word) for word, text in TEXTS.items()}
        super().__init__(texts, default=[0.0] * 6 + [1.0] * (STATE_DIMENSIONS - 6))
        self.runs: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.runs.append("embed")
        return super().embed(texts)

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        """Hidden states of words and marks of punctuation, with a special piece at both ends."""
        return list(zip(self.embed(texts), map(_states, texts), strict=True))


def _states(text: str) -> TokenStates:
    states, places, ids = array("f", [5.0] * STATE_DIMENSIONS), array("I", [0, 0]), [SPECIAL_PIECE]
    for number, word in enumerate(re.finditer(r"\w+|[^\w\s]", text)):
        known = word[0].lower() in WORDS
        states.extend(axis(word[0].lower()) if known else [9.0] * STATE_DIMENSIONS)
        places.extend(word.span())
        ids.append(number)
    states.extend([5.0] * STATE_DIMENSIONS)
    places.extend((0, 0))
    ids.append(SPECIAL_PIECE)
    return TokenStates(array("I", ids).tobytes(), states.tobytes(), places.tobytes())


@pytest.fixture
def store(opener: Opener) -> vestig.Vestig:
    made = opener(config=PLAIN, embedder=WordAxes())
    for text in TEXTS.values():
        made.commit(text, t_valid="2020-01-01")
    return made


def raw(found: RecallResult) -> dict[str, float]:
    """Word → value of the text about it."""
    about = {text: word for word, text in TEXTS.items()}
    return {about[hit.content]: hit.reason.signals["topic"].raw for hit in found}


def sides(found: RecallResult) -> set[object]:
    return {hit.reason.signals["topic"].to_dict().get("of") for hit in found}


def test_the_words_that_the_query_is_about_are_compared(store: vestig.Vestig) -> None:
    found = store.recall(QUERY, limit=EVERY, config=ON, query_time=AT)
    # one of six memories holds each word: all idfs are alike
    share = pytest.approx(1 / math.sqrt(5), abs=1e-6)
    assert raw(found) == {"which": 0.0, **dict.fromkeys(WORDS[:5], share)}
    assert sides(found) == {None}
    store.commit("It rained in the night", t_valid="2026-03-05")
    found = store.recall(
        QUERY, limit=EVERY, config=ON, query_time=AT, where={"until": "2021-01-01"}
    )
    assert raw(found)["march"] == share, "the memory of that month does not pass the filter"


def test_words_of_a_time_are_no_topic_where_a_memory_meets_it(store: vestig.Vestig) -> None:
    store.commit("It rained in the night", t_valid="2026-03-05")
    found = store.recall(QUERY, limit=6, config=ON, query_time=AT)
    values = {hit.content: hit.reason.signals["topic"].raw for hit in found}
    share = pytest.approx(1 / math.sqrt(3), abs=1e-6)
    assert {word: values.get(text, 0.0) for word, text in TEXTS.items()} == {
        **dict.fromkeys(("dog", "maria", "adopt"), share),
        **dict.fromkeys(("march", "2026", "which"), 0.0),
    }


def test_rare_words_count_more(store: vestig.Vestig) -> None:
    for place in range(4):
        store.commit(f"A dog walked by at door {place} {place} {place}", t_valid="2020-01-01")
    found = store.recall("Maria and the dog", limit=EVERY, config=ON)
    values = {hit.content: hit.reason.signals["topic"].raw for hit in found}
    idf = {word: math.log(1 + (10 - n + 0.5) / (n + 0.5)) for word, n in (("dog", 5), ("maria", 1))}
    for word, own in idf.items():
        wanted = own / math.hypot(*idf.values())
        assert values[TEXTS[word]] == pytest.approx(wanted, abs=1e-6)
    best = found.results[0].reason.signals["topic"]
    assert best.normalised == 1.0


def test_without_content_the_query_itself_is_compared(store: vestig.Vestig) -> None:
    found = store.recall("which kind of it was that?", limit=EVERY, config=ON)
    assert sides(found) == {"query"}
    assert all(hit.reason.signals["topic"].raw == hit.reason.similarity for hit in found)


def test_a_given_vector_is_compared_itself(store: vestig.Vestig) -> None:
    vector = unit_bytes(axis("maria"))
    found = store.recall(QUERY, query_vector=vector, limit=EVERY, config=ON)
    assert sides(found) == {"query"}
    assert raw(found)["maria"] == 1.0


def test_a_cache_of_embeddings_keeps_the_places_of_word_pieces(
    store: vestig.Vestig, opener: Opener, tmp_path: Path
) -> None:
    """In memory, and in files between runs."""
    wanted = raw(store.recall(QUERY, limit=EVERY, config=ON))
    assert any(wanted.values())
    for run in ("first", "second"):
        inner = WordAxes()
        embedder = cached_embedder(checked_embedder(inner), tmp_path / "cache")
        cached = opener(run, config=PLAIN, embedder=embedder)
        for text in TEXTS.values():
            cached.commit(text, t_valid="2020-01-01")
        for _ in range(2):
            found = cached.recall(QUERY, limit=EVERY, config=ON)
            assert sides(found) == {None}
            assert raw(found) == wanted
        assert bool(inner.runs) == (run == "first")


def test_an_embedder_without_hidden_states_serves_too(opener: Opener) -> None:
    texts = {text: axis(word) for word, text in TEXTS.items()}
    embedder = TokenScriptedEmbedder({**texts, "the dog": axis("dog")}, default=axis(""))
    store = opener("plain", config=PLAIN, embedder=embedder)
    for text in TEXTS.values():
        store.commit(text)
    found = store.recall("the dog", limit=EVERY, config=ON)
    assert sides(found) == {"query"}
    assert raw(found) == {word: float(word == "dog") for word in WORDS}


def test_without_a_vector_there_is_no_such_term(opener: Opener) -> None:
    store = opener("failing", config=PLAIN, embedder=FailingEmbedder(after=1, dimensions=384))
    store.commit("A dog walked by")
    keys = weighed(1.0, "lexical", "topic")
    (hit,) = store.recall("the dog", config=keys)
    assert set(hit.reason.signals) == {"lexical"}


def test_one_run_of_the_model_gives_all(store: vestig.Vestig) -> None:
    embedder = store._session.embedder.inner
    assert isinstance(embedder, WordAxes)
    embedder.runs.clear()
    keys = weighed(1.0, "cosine", "topic", "late.own_idf")
    store.recall(QUERY, config=keys)
    assert embedder.runs == ["embed"]


def test_a_term_without_weight_asks_for_no_states(
    store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("nobody asks for hidden states")

    monkeypatch.setattr(WordAxes, "embed_tokens", never)
    keys = weighed(1.0, "cosine", "topic_lexical")
    plain = store.recall(QUERY, config=keys, seed=1)
    off = {**weighed(1.0, "cosine", "topic_lexical", "topic"), "signals.topic.enabled": False}
    found = store.recall(QUERY, config=off, seed=1)
    assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in plain]
    assert all("topic" not in most for most in found.formula.normalisers.values())


def test_many_queries_and_why_not_know_it(store: vestig.Vestig) -> None:
    queries = [QUERY, "the dog", "which was it?"]
    alone = [store.recall(query, config=ON, seed=1) for query in queries]
    together = store.recall_many(queries, config=ON, seed=1)
    for one, many in zip(alone, together, strict=True):
        assert isinstance(many, RecallResult)
        assert [(h.id, h.score, h.reason.signals) for h in many] == [
            (h.id, h.score, h.reason.signals) for h in one
        ]
    last = alone[1].results[-1].id
    (entry,) = store.recall("the dog", limit=1, config=ON, expect=last).why_not
    assert entry.signals["topic"].weight == 1.0


def test_a_retrieval_asks_by_topic(opener: Opener) -> None:
    store = opener("asked", config=PLAIN | ON, embedder=WordAxes())
    for text in TEXTS.values():
        store.commit(text, t_valid="2020-01-01")
    found = store.retrieve([{"content": "Tell me about the dog", "author": "user"}])
    assert TEXTS["dog"] in str(found.facts[0])


def test_a_receipt_holds_the_hidden_states(store: vestig.Vestig) -> None:
    made = store.recall(QUERY, config=ON, receipt=True)
    receipt: Any = made.receipt
    assert receipt.query_pieces.places
    store.commit("Another dog of Maria came", t_valid="2020-01-01")
    assert store.replay_receipt(receipt).equal
    assert store.replay_receipt(receipt.to_dict()).equal
    states = msgspec.structs.replace(receipt.query_pieces, states="AAAA")
    with pytest.raises(ConflictError, match="vector_hash"):
        store.replay_receipt(msgspec.structs.replace(receipt, query_pieces=states))
    plain: Any = store.recall(QUERY, config=weighed(1.0, "cosine"), receipt=True).receipt
    assert plain.query_pieces is None
    broken = msgspec.structs.replace(states, states="!")
    with pytest.raises(ValidationError, match="base64"):
        store.replay_receipt(msgspec.structs.replace(receipt, query_pieces=broken))


def test_the_built_in_embedder_has_a_topic(opener: Opener) -> None:
    store = opener("builtin", config=PLAIN, embedder=BuiltinEmbedder())
    store.commit("Maria adopted a spaniel from the shelter")
    store.commit("Which kind of question is it that was asked so often?")
    found = store.recall("Which kind of dog did Maria adopt?", config=ON)
    assert [hit.content[:5] for hit in found] == ["Maria", "Which"]
    assert sides(found) == {None}
