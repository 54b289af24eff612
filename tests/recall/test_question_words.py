"""The signal `questions` from texts to the reason, and that it costs nothing when off."""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

import vestig
from calls import selecting
from chat_store import CHAT, PLAIN, QUESTION, commit_texts, weighed
from scripted import Opener
from vestig.errors import ConflictError
from vestig.ids import id_bytes
from vestig.language.answered_questions import answered_questions
from vestig.language.words import terms
from vestig.recall import receipts
from vestig.recall.question_words import QuestionWordsByNamespace
from vestig.testing import FrozenClock

EVERY = 50
ON = {**weighed(2.0, "lexical", "questions"), "signals.evidence.enabled": False}


@pytest.fixture
def store(opener: Opener, clock: FrozenClock) -> vestig.Vestig:
    made = opener(config=PLAIN)
    commit_texts(made, clock)
    return made


def raw(found: Any) -> dict[str, float]:
    """Text → value, of the hits that have the term."""
    traces = ((hit.content, hit.reason.signals.get("questions")) for hit in found)
    return {content: trace.raw for content, trace in traces if trace is not None}


def defined(found: Any, query: str) -> dict[str, float]:
    """BM25 over the words of made questions; the results are all that is eligible."""
    hits = list(found)
    made = [answered_questions(hit.content, hit.memory.author) for hit in hits]
    fields = [Counter(term for one in own for term in terms(one)) for own in made]
    mean = sum(field.total() for field in fields) / len(fields)
    values = [0.0] * len(fields)
    for term in dict.fromkeys(terms(query)):
        holding = sum(term in field for field in fields)
        idf = math.log(1 + (len(fields) - holding + 0.5) / (holding + 0.5))
        for at, field in enumerate(fields):
            norm = 0.9 * (1 - 0.4 + 0.4 * field.total() / mean)
            values[at] += idf * field[term] / (field[term] + norm)
    return {hit.content: value for hit, value in zip(hits, values, strict=True)}


def test_is_bm25_over_the_words_of_questions(store: vestig.Vestig) -> None:
    found = store.recall(QUESTION, limit=EVERY, config=ON)
    values = raw(found)
    assert any(values.values())
    assert values == pytest.approx(defined(found, QUESTION), abs=1e-9)
    hit = max(found, key=lambda hit: values[hit.content])
    trace = hit.reason.signals["questions"]
    assert (trace.normalised, trace.weight) == (1.0, 2.0)
    assert found.timings_ms["questions"] > 0.0


def test_statistics_are_those_of_the_eligible(store: vestig.Vestig) -> None:
    for given in ({"session_ids": ["chat"]}, {"origin_types": ["document"]}, {"authors": ["Ann"]}):
        found = store.recall(QUESTION, limit=EVERY, config=ON, **selecting(given))
        assert raw(found) == pytest.approx(defined(found, QUESTION), abs=1e-9)


def test_is_added_and_never_the_largest_of_two(store: vestig.Vestig) -> None:
    hits = store.recall(QUESTION, limit=EVERY, config=ON)
    for hit in hits:
        one = hit.reason.signals
        both = 2.0 * (one["lexical"].normalised + one["questions"].normalised)
        assert hit.reason.start_score == pytest.approx(both, abs=1e-12)


def test_off_costs_nothing(store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Off by default, by its switch, by its weights, and where terms are not summed."""

    def never(*_: Any) -> Any:
        raise AssertionError("no question is made")

    monkeypatch.setattr("vestig.language.answered_questions.answered_questions", never)
    switched = {**ON, "signals.questions.enabled": False}
    light = {**ON, **{key: 0.0 for key in ON if key.endswith(".questions")}}
    for keys in ({}, switched, light, {**ON, "ranking.base": "blend"}):
        found = store.recall(QUESTION, limit=EVERY, config=keys)
        assert raw(found) == {}
        assert "questions" not in found.timings_ms
    assert store._session.cache(QuestionWordsByNamespace).words == {}
    alone = {**weighed(2.0, "lexical"), "signals.evidence.enabled": False}
    without = store.recall(QUESTION, limit=EVERY, config=alone)
    quiet = store.recall(QUESTION, limit=EVERY, config=switched)
    assert [(h.id, h.score) for h in quiet] == [(h.id, h.score) for h in without]


def test_new_and_forgotten_memories_since_the_last_recall(store: vestig.Vestig) -> None:
    store.recall(QUESTION, config=ON)
    gone = store.commit("Ann met Grace Hopper on a boat in March.", author="Ann").memory_id
    found = store.recall(QUESTION, limit=EVERY, config=ON)
    assert gone in {hit.id for hit in found}
    assert raw(found) == pytest.approx(defined(found, QUESTION), abs=1e-9)
    cached = store._session.cache(QuestionWordsByNamespace).words["default"]
    before = len(cached._lengths)
    store.forget(gone)
    found = store.recall(QUESTION, limit=EVERY, config=ON)
    assert raw(found) == pytest.approx(defined(found, QUESTION), abs=1e-9)
    assert len(cached._lengths) == before - 1, "no words of a forgotten memory stay"


def test_texts_are_read_once(store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def counted(text: str, author: str | None = None) -> list[str]:
        read.append(text)
        return answered_questions(text, author)

    monkeypatch.setattr("vestig.language.answered_questions.answered_questions", counted)
    store.recall(QUESTION, config=ON, session_ids=["chat"])
    assert sorted(read) == sorted(text for _, text in CHAT)
    store.recall("who talks about boats", config=ON)
    store.recall("who talks about boats", config=ON)
    assert len(read) == len(set(read)) == store.count()


def test_namespaces_know_nothing_of_each_other(store: vestig.Vestig) -> None:
    store.commit("Ann met many friends of Grace Hopper in February.", namespace="other")
    found = store.recall(QUESTION, limit=EVERY, config=ON)
    assert raw(found) == pytest.approx(defined(found, QUESTION), abs=1e-9)
    (hit,) = store.recall(QUESTION, config=ON, namespace="other")
    assert hit.reason.signals["questions"].normalised == 1.0


def test_why_not_and_receipts_count_it(
    store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = store.recall(QUESTION, limit=EVERY, config=ON)
    last = list(best)[-1].id
    entry = store.recall(QUESTION, limit=1, config=ON, expect=last).why_not[0]
    assert entry.signals["questions"].weight == 2.0
    receipt = store.recall(QUESTION, config=ON, receipt=True).receipt
    store.commit("Grace Hopper met many friends in February.")
    assert store.replay_receipt(receipt).equal
    monkeypatch.setattr(receipts, "RULES_VERSION", "questions-0")
    with pytest.raises(ConflictError, match="the receipt was made with"):
        store.replay_receipt(receipt)
    plain = store.recall(QUESTION, receipt=True).receipt
    assert "questions" not in plain.analyser


def test_without_a_single_question_it_is_nothing(opener: Opener) -> None:
    store = opener(config={**PLAIN, **ON})
    store.commit("Boats and colours, boats and colours")
    (hit,) = store.recall("which boats?")
    assert hit.reason.signals["questions"].raw == 0.0
    assert math.isfinite(hit.score)


def test_a_forgetting_leaves_no_words_behind(store: vestig.Vestig) -> None:
    first = next(iter(store.recall(QUESTION, config=ON)))
    cached = store._session.cache(QuestionWordsByNamespace).words["default"]
    assert cached._ids
    store.forget(first.id)
    assert not cached._ids
    assert not cached._postings
    older: Any = SimpleNamespace(
        seq=0,
        memories=lambda *_: [first.memory],
        normal_texts=lambda *_: {first.id: first.memory.content},
    )
    ids, lengths, _ = cached.postings(older, "default", [id_bytes(first.id)], QUESTION)
    assert (ids, len(lengths)) == (id_bytes(first.id), 1)
    assert not cached._ids, "of an older view nothing stays"


def test_threads_recall_while_others_commit_and_forget(
    opener: Opener, clock: FrozenClock, store: vestig.Vestig
) -> None:
    """Results of one state are equal in all threads, hold nothing that was forgotten before, and
    equal those of a handle that reads everything anew; no word of a forgotten text stays."""
    forgotten: dict[str, int] = {}
    results: dict[int, set[tuple[Any, ...]]] = defaultdict(set)
    done = threading.Event()

    def write() -> None:
        try:
            for number in range(12):
                text = f"Zarquon{number} gave a boat to Grace Hopper in room {number}."
                gone = store.commit(text, author="Ann").memory_id
                assert gone is not None
                store.commit(f"Ann met a friend of number {number} in May.", author="Bob")
                store.forget(gone)
                forgotten[gone] = store.admin.stats().seq
        finally:
            done.set()

    def read() -> None:
        while not done.is_set():
            found = store.recall(QUESTION, limit=EVERY, config=ON)
            scored = tuple((hit.id, hit.score) for hit in found)
            results[found.seq].add(scored)

    with ThreadPoolExecutor(9) as pool:
        writing = pool.submit(write)
        for reading in [pool.submit(read) for _ in range(8)]:
            reading.result()
        writing.result()
    assert len(results) > 1
    for seq, seen in results.items():
        assert len(seen) == 1, f"threads disagree at seq {seq}"
        ids = {id for id, _ in next(iter(seen))}
        assert not ids & {id for id, gone in forgotten.items() if gone <= seq}
    last = store.recall(QUESTION, limit=EVERY, config=ON)
    anew = opener(config=PLAIN).recall(QUESTION, limit=EVERY, config=ON)
    assert [(hit.id, hit.score) for hit in last] == [(hit.id, hit.score) for hit in anew]
    words = store._session.cache(QuestionWordsByNamespace).of("default")._postings
    assert not [word for word in words if "zarquon" in word]
