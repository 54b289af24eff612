"""Pairs of memories, read by the version reader: which ones, what follows, and when it fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest

import vestig
from scripted import Opener
from vestig.config.weights import SIGNALS
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.errors import ProviderError
from vestig.recall import judged
from vestig.recall.text_pairs import is_about_another
from vestig.recall.versions import PAIRS_MAX
from vestig.rerankers.judge import MemoryText
from vestig.session.session import Session
from vestig.testing import vector_at

NOW, THEN = "where does Tom live?", "where did Tom live before?"
PORTO = "Tom lives in Porto, near the river"
MOVED = "The van left for Oslo and Tom sat in front"
TEA = "Ann drinks green tea at noon"
PLAIN = {
    "links": {"related": {"enabled": False}},
    "entities": {"enabled": False},
    "hygiene": {"near_duplicate": {"enabled": False}},
}
WEIGHTS = {**dict.fromkeys(("bias", *SIGNALS), 0.0), "topic": 4.0, "words": 0.01}


class ScriptedReader:
    """Says of these pairs of texts that the newer one takes the place, of others that it does not;
    keeps what it was given."""

    def __init__(self) -> None:
        self.takes: set[tuple[str, str]] = set()
        self.given: list[tuple[str, str]] = []
        self.fault: Callable[[], None] | None = None

    def load(self) -> None:
        """Nothing."""

    def read(self, _: str, pairs: Sequence[tuple[MemoryText, MemoryText]]) -> list[float]:
        texts = [(older.text, newer.text) for older, newer in pairs]
        self.given += texts
        if self.fault is not None:
            self.fault()
        return [30.0 if pair in self.takes else -30.0 for pair in texts]


class ScriptedJudge:
    """Gives *answers* by text, 1 to others, and no rank."""

    def __init__(self) -> None:
        self.answers: dict[str, float] = {}

    def load(self) -> None:
        """Nothing."""

    def read(self, _: str, memories: Sequence[MemoryText]) -> list[tuple[float, float]]:
        return [
            (self.answers.get(one.text, 1.0), -self.answers.get(one.text, 1.0)) for one in memories
        ]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> ScriptedJudge:
    made = ScriptedJudge()
    monkeypatch.setattr(judged, "_judge", lambda _: made)
    return made


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch, judge: ScriptedJudge) -> ScriptedReader:
    made = ScriptedReader()
    monkeypatch.setattr(judged, "_version_reader", lambda: made)
    return made


def opened(opener: Opener, *texts: str, budget_ms: float = 60_000.0) -> vestig.Vestig:
    """A store of texts, the first one nearest to every query and the oldest."""
    vectors = {text: vector_at(0.5 - at / 100, 8, at + 1) for at, text in enumerate(texts)}
    settings = {**PLAIN, "judge": {"enabled": True, "budget_ms": budget_ms}}
    store = opener(vectors=vectors, config=settings)
    for at, text in enumerate(texts):
        assert store.commit(text, t_valid=f"2026-03-0{at + 1}").memory_id is not None
    return store


def found(store: vestig.Vestig, query: str = NOW, **config: bool) -> vestig.RecallResult:
    weights = {"ranking.weights": {"all": WEIGHTS, "chat_peer": WEIGHTS}}
    return store.recall(query, query_vector=vector_at(1.0), all=True, config=weights | config)


def test_the_later_one_takes_the_place_where_the_reader_says_so(
    opener: Opener, reader: ScriptedReader
) -> None:
    store = opened(opener, PORTO, TEA, MOVED)
    assert [hit.content for hit in found(store)] == [PORTO, TEA, MOVED]
    assert reader.given == [(PORTO, TEA), (PORTO, MOVED), (TEA, MOVED)]
    reader.takes = {(PORTO, MOVED)}
    first, tea, last = found(store)
    assert [first.content, tea.content, last.content] == [MOVED, TEA, PORTO]
    assert (first.reason.newer_than, last.reason.older_than) == (last.id, first.id)
    assert tea.reason.newer_than is tea.reason.older_than is None


@pytest.mark.parametrize(
    ("query", "config"),
    [(THEN, {}), (NOW, {"ranking.newer_first": False}), (NOW, {"judge.enabled": False})],
)
def test_nothing_is_compared_where_no_newest_is_asked_for_or_none_is_judged(
    opener: Opener, reader: ScriptedReader, query: str, config: dict[str, bool]
) -> None:
    reader.takes = {(PORTO, MOVED)}
    store = opened(opener, PORTO, TEA, MOVED)
    assert found(store, query, **config)[0].content == PORTO
    assert reader.given == []


def test_pairs_next_to_the_top_are_read_of_which_the_later_one_may_answer(
    opener: Opener, reader: ScriptedReader, judge: ScriptedJudge
) -> None:
    texts = [f"fact number {word} of the list" for word in ("one", "two", "three", "four")]
    store = opened(opener, *texts)
    judge.answers = {texts[1]: -3.1}
    found(store)
    read = [(texts.index(older), texts.index(newer)) for older, newer in reader.given]
    assert len(read) == PAIRS_MAX
    assert read == [(0, 2), (0, 3), (1, 2), (1, 3)]


def _raise() -> None:
    raise ProviderError("weights are gone")


@pytest.mark.parametrize(
    ("fault", "detail"),
    [
        (lambda: time.sleep(2), "judge: no answer within 300 ms: the best 3 were read"),
        (_raise, "judge: weights are gone: the best 3 were read"),
    ],
)
def test_what_was_not_compared_keeps_its_place_and_the_result_says_so(
    opener: Opener, reader: ScriptedReader, fault: Callable[[], None], detail: str
) -> None:
    store = opened(opener, PORTO, TEA, MOVED, budget_ms=300.0)
    reader.takes, reader.fault = {(PORTO, MOVED)}, fault
    result = found(store)
    assert [hit.content for hit in result] == [PORTO, TEA, MOVED]
    (degradation,) = result.degraded
    assert degradation.code == "partial_backend"
    assert degradation.detail.startswith(detail)


def test_pairs_that_were_read_in_time_count(opener: Opener, reader: ScriptedReader) -> None:
    store = opened(opener, PORTO, MOVED, TEA, "The bakery opens at seven", budget_ms=300.0)
    reader.takes = {(PORTO, MOVED)}
    reader.fault = lambda: time.sleep(2) if len(reader.given) > 2 else None
    result = found(store)
    assert result[0].content == MOVED
    assert "2 pairs of them compared" in result.degraded[0].detail


def test_a_memory_that_states_nothing_any_more_is_compared_with_none(
    opener: Opener, reader: ScriptedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is changed between the two reads; white space alone is put in place."""
    no_words = "I do not know where Tom\nlives at the moment"
    store = opened(opener, PORTO, no_words, MOVED)
    found(store)
    assert (PORTO, no_words) in reader.given, "the test changes what a read has seen"
    reader.given.clear()
    ask = judged.Judgements.ask

    def ask_and_change(self: judged.Judgements, session: Session, wanted: judged.ToJudge) -> None:
        ask(self, session, wanted)
        (one,) = [hit.id for hit in store.list() if hit.content == no_words]
        monkeypatch.setattr(judged.Judgements, "ask", ask)
        store.update(one, content=" ".join(no_words.split()))

    monkeypatch.setattr(judged.Judgements, "ask", ask_and_change)
    assert {hit.content for hit in found(store)} >= {PORTO, MOVED}
    assert reader.given == [(PORTO, MOVED)]


@pytest.mark.parametrize(
    ("facts", "names", "query"),
    [
        (("Rex weighs 34 kg.", "luna weighs 4.2 kg."), ("Rex", "luna"), "how heavy is {}?"),
        (
            ("Maja's rent is 415 euros.", "Priya's rent is 640 euros."),
            ("Maja", "Priya"),
            "how much rent does {} pay?",
        ),
        (
            ("The password of the NAS is heron.", "The password of the router is stork."),
            ("NAS", "router"),
            "What is the password of the {}?",
        ),
        (("My sister lives in Kiel", "My brother lives in Ulm"), ("sister", "brother"),
         "Where does my {} live?"),
        (("The blue car is a Fiat", "The red car is a Volvo"), ("blue", "red"),
         "What is the {} car?"),
    ],
)  # fmt: skip
def test_what_is_said_of_something_else_is_no_newer_version(
    facts: tuple[str, str], names: tuple[str, str], query: str
) -> None:
    patient = {"judge.budget_ms": 60_000}
    for order in (facts, facts[::-1]):
        with vestig.open(":memory:", embedder=BuiltinEmbedder(), config=patient) as store:
            for text in (*order, "Visits can be cancelled up to 24 hours before."):
                store.commit(text)
            for name, text in zip(names, facts, strict=True):
                found = store.recall(query.format(name), context=True)
                assert found[0].content == text
                assert "older" not in found.context.text


@pytest.mark.parametrize(
    ("older", "newer", "query"),
    [
        ("Gateway listens on 8080", "Port changed to 9090", "Which port does the gateway use?"),
        ("Anna lives in Oslo", "Correction: she lives in Bergen", "Where does Anna live?"),
        ("Anna works at Shell", "Anna started at BP", "Where does Anna work?"),
        ("Lunch is at noon", "Kitchen now serves food at 12:30", "When is lunch?"),
    ],
)
def test_what_begins_with_another_word_may_be_of_the_same(
    older: str, newer: str, query: str
) -> None:
    assert not is_about_another(query, older, newer)
