"""The signal `rerank`: a cross-encoder reads the best, and its score is added."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import vestig
from chat_store import CHAT, PLAIN, QUESTION, commit_texts, weighed
from scripted import Opener
from vestig.config.signals import KINDS
from vestig.embedders.checked import float32_bytes
from vestig.errors import ConfigError, ValidationError
from vestig.testing import FrozenClock, WordReranker

EVERY = 50
ON = weighed(2.0, "words", "rerank")
FIRST = weighed(2.0, "words")


class Reading(WordReranker):
    """Records the texts that it reads; answers as it is given."""

    def __init__(self, answer: Callable[[Sequence[str]], Any] | None = None) -> None:
        super().__init__()
        self.read: list[list[str]] = []
        self.questions: list[str] = []
        self.answer = answer

    def score(self, query: str, texts: Sequence[str]) -> bytes:
        self.read.append(list(texts))
        self.questions.append(query)
        made: Any = super().score(query, texts) if self.answer is None else self.answer(texts)
        return made


def filled(opener: Opener, clock: FrozenClock, reranker: Any, **config: Any) -> vestig.Vestig:
    made = opener(config={**PLAIN, **config}, reranker=reranker)
    commit_texts(made, clock)
    return made


def raw(found: Any) -> dict[str, float]:
    """Text → value, of the hits that have the term."""
    traces = ((hit.content, hit.reason.signals.get("rerank")) for hit in found)
    return {content: trace.raw for content, trace in traces if trace is not None}


def scores(found: Any) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in found]


def test_the_best_are_read_once_and_the_score_is_added(opener: Opener, clock: FrozenClock) -> None:
    reranker = Reading()
    store = filled(opener, clock, reranker)
    keys = {**ON, "signals.rerank.pool": 3}
    before = store.recall(QUESTION, limit=EVERY, config=FIRST)
    found = store.recall(QUESTION, limit=EVERY, config=keys)
    best = list(before)[:3]
    (read,) = reranker.read
    spoken = [
        h.content if h.memory.author is None else f"{h.memory.author}: {h.content}" for h in best
    ]
    assert sorted(read) == sorted(spoken)
    values = raw(found)
    assert {c for c, value in values.items() if value} <= {hit.content for hit in best}
    first = {hit.id: hit.reason.start_score for hit in before}
    assert max(values.values()) == 1.0, "as a share of the largest"
    for hit in found:
        one = hit.reason.signals.get("rerank")
        assert one is None or one.weight == 2.0
        wanted = first[hit.id] + 2.0 * (0.0 if one is None else one.raw)
        assert hit.reason.start_score == pytest.approx(wanted, abs=1e-12)
    assert found.timings_ms["rerank"] > 0.0
    assert found.degraded == ()


@pytest.mark.parametrize("limit", [1, 3, EVERY])
def test_the_limit_does_not_choose_who_is_read(
    opener: Opener, clock: FrozenClock, limit: int
) -> None:
    reranker = Reading()
    store = filled(opener, clock, reranker)
    found = store.recall(QUESTION, limit=limit, config=ON)
    assert [len(read) for read in reranker.read] == [store.count()]
    whole = store.recall(QUESTION, limit=EVERY, config=ON)
    assert scores(found) == scores(whole)[:limit]


def test_switched_off_no_reranker_is_asked(opener: Opener, clock: FrozenClock) -> None:
    def never(_: Any) -> Any:
        raise AssertionError("no text is read")

    store = filled(opener, clock, Reading(never))
    light = {**ON, **{f"ranking.weights.{o}.rerank": 0.0 for o in KINDS}}
    switched = {**ON, "signals.rerank.enabled": False}
    plain = scores(store.recall(QUESTION, limit=EVERY, config=FIRST))
    for keys in (light, switched):
        found = store.recall(QUESTION, limit=EVERY, config=keys)
        assert scores(found) == plain
        assert raw(found) == {}
        assert "rerank" not in found.timings_ms
        assert found.degraded == ()
    assert store.recall(QUESTION, config={**ON, "ranking.base": "blend"}).degraded == ()


@pytest.mark.parametrize(
    "answer",
    [
        lambda texts: float32_bytes([1.0] * (len(texts) + 1)),
        lambda texts: float32_bytes([1.0] * (len(texts) - 1)),
        lambda texts: [1.0] * len(texts),
        lambda texts: float32_bytes([math.nan] * len(texts)),
        lambda texts: float32_bytes([math.inf] * len(texts)),
        lambda texts: float32_bytes([-1.0] * len(texts)),
        lambda texts: 1 // 0,
    ],
    ids=["more", "fewer", "a list", "NaN", "infinity", "negative", "raises"],
)
def test_a_reranker_that_fails_is_reported_and_left_out(
    opener: Opener, clock: FrozenClock, answer: Any
) -> None:
    reranker = Reading(answer)
    store = filled(opener, clock, reranker)
    found = store.recall(QUESTION, limit=EVERY, config=ON)
    (entry,) = found.degraded
    assert entry.code == "partial_backend"
    assert "words" in entry.detail
    assert "ranked without" in entry.detail
    assert CHAT[0][1] not in entry.detail
    assert scores(found) == scores(store.recall(QUESTION, limit=EVERY, config=FIRST))
    assert raw(found) == {}
    last = list(found)[-1].id
    reranker.read.clear()
    store.recall(QUESTION, limit=1, config=ON, expect=last)
    assert len(reranker.read) == 1, "a reranker that failed reads no more in a call"


class Waiting(WordReranker):
    """Answers when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.let_go = threading.Event(), threading.Event()

    def score(self, query: str, texts: Sequence[str]) -> bytes:
        self.began.set()
        self.let_go.wait(60)
        return super().score(query, texts)


def test_a_reranker_that_hangs_is_left_out_after_its_time(
    opener: Opener, clock: FrozenClock
) -> None:
    reranker = Waiting()
    store = filled(opener, clock, reranker, **{"reranker.timeout_s": 0.05})
    found = store.recall(QUESTION, limit=EVERY, config=ON)
    reranker.let_go.set()
    (entry,) = found.degraded
    assert entry.code == "partial_backend"
    assert "no answer within 0.05 s" in entry.detail
    assert "reranker.timeout_s" in entry.detail
    assert scores(found) == scores(store.recall(QUESTION, limit=EVERY, config=FIRST))
    name = 'vestig_errors_total{error_type="timeout",operation="rerank"}'
    assert store.admin.metrics()[name] == 1


def test_forgetting_does_not_wait_for_a_reranker(opener: Opener, clock: FrozenClock) -> None:
    reranker = Waiting()
    store = filled(opener, clock, reranker, **{"store.lock_timeout_s": 0.5})
    gone = store.recall(QUESTION, config=FIRST)[0].id
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(store.recall, QUESTION, limit=EVERY, config=ON)
        try:
            assert reranker.began.wait(30)
            assert store.forget([gone]).residues == 0
        finally:
            reranker.let_go.set()
        found = running.result()
    assert gone not in [hit.id for hit in found]
    assert found.degraded == ()
    assert max(raw(found).values()) == 1.0


def test_threads_do_not_wait_for_each_others_reranker(opener: Opener, clock: FrozenClock) -> None:
    together = threading.Barrier(8, timeout=30)

    class Meeting(WordReranker):
        """Answers when all eight are here."""

        def score(self, query: str, texts: Sequence[str]) -> bytes:
            together.wait()
            return super().score(query, texts)

    store = filled(opener, clock, Meeting())
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: store.recall(QUESTION, config=ON), range(8)))
    assert [result.degraded for result in found] == [()] * 8


def test_why_not_reads_each_memory_once_for_a_question(opener: Opener, clock: FrozenClock) -> None:
    reranker = Reading()
    store = filled(opener, clock, reranker)
    last = list(store.recall(QUESTION, limit=EVERY, config=ON))[-1].id
    reranker.read.clear()
    reranker.questions.clear()
    keys = {**ON, "signals.rerank.pool": 2}
    entry = store.recall(QUESTION, limit=1, config=keys, expect=last).why_not[0]
    asked = zip(reranker.questions, reranker.read, strict=True)
    read = [(question, text) for question, texts in asked for text in texts]
    assert len(read) == len(set(read)) >= 2
    assert entry.runs > 1
    assert {one.weight for name, one in entry.signals.items() if name == "rerank"} <= {2.0}


def test_on_without_a_reranker_is_an_error(opener: Opener, clock: FrozenClock) -> None:
    with pytest.raises(ConfigError, match=r"signals\.rerank\.enabled"):
        opener(config={**PLAIN, **ON})
    store = filled(opener, clock, None)
    with pytest.raises(ConfigError, match=r"reranker\.provider"):
        store.recall(QUESTION, config=ON)
    weighs = {**ON, "signals.rerank.enabled": False}
    last = list(store.recall(QUESTION, limit=EVERY, config=weighs))[-1].id
    (entry,) = store.recall(QUESTION, limit=1, config=weighs, expect=last).why_not
    assert entry.change is None or "rerank" not in entry.change.key
    with pytest.raises(ValidationError, match="Reranker"):
        opener("wrong", reranker=object())


def test_a_provider_by_name(opener: Opener, clock: FrozenClock) -> None:
    named = {"reranker.provider": "words", "reranker.model": "mine"}
    store = filled(opener, clock, None, **named)
    read = store.recall(QUESTION, config=ON)
    assert None not in raw(read).values()
    assert len(raw(read)) > 0
    for provider, message in (
        ("onnxx", 'the nearest is "onnx"'),
        ("absent", "could not be loaded"),
        ("embedder", "to make a reranker"),
        ("no-maker", "something that makes a reranker"),
    ):
        with pytest.raises(ConfigError, match=message):
            opener("other", config={"reranker.provider": provider})


def test_a_query_without_words_has_nothing_to_read(opener: Opener, clock: FrozenClock) -> None:
    reranker = Reading()
    store = filled(opener, clock, reranker, **ON)
    found = store.recall(QUESTION, scope="nowhere")
    assert len(found) == 0
    assert reranker.read == []


def test_a_failure_of_what_is_compared_later_does_not_deny_the_ranking(
    opener: Opener, clock: FrozenClock
) -> None:
    class Once(Reading):
        def score(self, query: str, texts: Sequence[str]) -> bytes:
            if self.read:
                raise RuntimeError("busy")
            return super().score(query, texts)

    store = filled(opener, clock, Once())
    keys = {**ON, "signals.rerank.pool": 2}
    last = list(store.recall(QUESTION, limit=EVERY, config=FIRST))[-1].id
    found = store.recall(QUESTION, limit=1, config=keys, expect=last)
    assert None not in raw(found).values()
    assert len(raw(found)) > 0
    assert [entry.detail for entry in found.degraded if "ranked without" in entry.detail] == []
    assert [entry.code for entry in found.degraded] == ["partial_backend"]
