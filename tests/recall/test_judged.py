"""The best memories, read by the judge: their order, what it is given, and when it is not asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.config.weights import SIGNALS
from vestig.errors import ProviderError
from vestig.recall import judged
from vestig.recall.judgement import confidence_with, fit
from vestig.recall.layouts import render
from vestig.recall.reason import in_words
from vestig.rerankers.judge import MemoryText
from vestig.testing import vector_at

ASKED = "where does Tom live?"
OSLO = "Tom lives in Oslo, near the harbour"
TEA = "Ann drinks green tea at noon"
BREAD = "The bakery opens at seven"
PLAIN = {
    "links": {"related": {"enabled": False}},
    "entities": {"enabled": False},
    "hygiene": {"near_duplicate": {"enabled": False}},
}


class ScriptedJudge:
    """Gives these logits by text, (-4, -4) to others, and keeps what it was given."""

    def __init__(self, logits: dict[str, tuple[float, float]]) -> None:
        self.logits = logits
        self.given: list[tuple[str, list[MemoryText]]] = []
        self.fault: Callable[[], None] | None = None

    def load(self) -> None:
        """Nothing."""

    def read(self, question: str, memories: Sequence[MemoryText]) -> list[tuple[float, float]]:
        self.given.append((question, list(memories)))
        if self.fault is not None:
            self.fault()
        return [self.logits.get(one.text, (-4.0, -4.0)) for one in memories]

    def texts(self) -> list[str]:
        return [one.text for _, memories in self.given for one in memories]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> ScriptedJudge:
    made = ScriptedJudge({OSLO: (4.0, 4.0)})
    monkeypatch.setattr(judged, "_judge", lambda _: made)
    return made


def opened(opener: Opener, *texts: str, alike: int = 1, **config: Any) -> vestig.Vestig:
    """A store of texts, the first one nearest to every query; the first `alike` of them are near
    one another, none of the others."""
    vectors = {
        text: vector_at(0.5 - at / 100, 8, 1 if at < alike else at + 1)
        for at, text in enumerate(texts)
    }
    judged = {"judge": {"enabled": True, "budget_ms": 60_000.0}}
    store = opener(vectors=vectors, config={**PLAIN, **judged, **config})
    for at, text in enumerate(texts):
        assert store.commit(text, t_valid=f"2026-03-0{at + 1}").memory_id is not None
    return store


def found(store: vestig.Vestig, query: str = ASKED, **fields: Any) -> vestig.RecallResult:
    # only meaning ranks, so that what the judge adds decides among texts that are as near
    own = {**dict.fromkeys(("bias", *SIGNALS), 0.0), "topic": 4.0, "words": 0.01}
    fields.setdefault("config", {})
    fields["config"] |= {"ranking.weights": {"all": own, "chat_peer": own}}
    return store.recall(query, query_vector=vector_at(1.0), **fields)


def test_the_best_few_stand_in_the_order_of_the_judge(opener: Opener, judge: ScriptedJudge) -> None:
    store = opened(opener, TEA, BREAD, OSLO)
    without = found(store, config={"judge.enabled": False})
    assert [hit.content for hit in without] == [TEA, BREAD, OSLO]
    assert judge.given == []
    result = found(store)
    assert [hit.content for hit in result] == [OSLO, TEA, BREAD]
    finals = [hit.final for hit in result]
    assert finals[0] == without[0].final
    assert finals == sorted(finals, reverse=True)
    reason = result[0].reason
    assert reason.judged.answers == reason.judged.rank == 4.0
    assert reason.judged.level == pytest.approx(4.0 * fit().questions.weight)
    assert reason.own_final_score == without[2].final
    assert "Reads as an answer: likely." in reason.explanation
    assert "Reads" not in result[1].reason.explanation, "a reason says why something came"
    assert result.timings_ms["judge"] > 0


def test_what_lies_beyond_the_pool_is_not_read_and_stays(
    opener: Opener, judge: ScriptedJudge
) -> None:
    store = opened(opener, TEA, BREAD, OSLO, judge={"enabled": True, "pool": 2})
    result = found(store, all=True)
    assert [hit.content for hit in result] == [TEA, BREAD, OSLO]
    assert judge.texts() == [TEA, BREAD]
    assert result[2].reason.judged is not result[1].reason.judged
    assert "Reads" not in result[2].reason.explanation


def test_a_limit_below_the_pool_shows_what_the_judge_puts_first(
    opener: Opener, judge: ScriptedJudge
) -> None:
    store = opened(opener, TEA, BREAD, OSLO)
    assert [hit.content for hit in found(store, limit=1)] == [OSLO]


def test_it_reads_by_itself_only_beside_the_built_in_embedder(
    opener: Opener, judge: ScriptedJudge
) -> None:
    store = opened(opener, TEA, OSLO, judge={"budget_ms": 60_000.0})
    assert [hit.content for hit in found(store)] == [TEA, OSLO]
    assert judge.given == []
    found(store, profile="baseline", config={"judge.enabled": True})
    assert judge.given == [], "a ranking by cosine alone is not changed"


def test_the_built_in_embedder_brings_the_judge(
    opener: Opener, judge: ScriptedJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(opener, TEA, OSLO, judge={"budget_ms": 60_000.0})
    monkeypatch.setattr(judged, "MODEL", store._session.embedder.model)
    assert [hit.content for hit in found(store)] == [OSLO, TEA]


def test_it_reads_day_author_and_the_turn_before(opener: Opener, judge: ScriptedJudge) -> None:
    store = opened(opener)
    before = "Which town is it that he moved to in the end, after all that talk?"
    long = " ".join(f"word{number}" for number in range(30))
    for sequence, (text, author) in enumerate([(long, "Ann"), (before, "Ann"), (OSLO, "Bob")]):
        store.commit(
            text, session_id="s", sequence=sequence, author=author, t_valid="2026-03-03T10:00Z"
        )
    found(store)
    ((question, given),) = judge.given
    assert question == ASKED
    read = {one.text: one for one in given}
    assert read[OSLO].head == "tuesday 3 march 2026 ·"
    assert read[OSLO].lead == "Bob:"
    assert read[OSLO].before == before
    assert read[long].before == ""
    judge.given.clear()
    found(store, where={"authors": ["Bob"]})
    ((_, (alone,)),) = judge.given
    assert alone.before == "", "what the filters leave out is not read"


def too_slow() -> None:
    time.sleep(0.5)


def broken() -> None:
    raise ProviderError("no weights")


@pytest.mark.parametrize(
    ("fault", "budget_ms", "told"),
    [(too_slow, 20.0, "no answer within 20 ms"), (broken, 60_000.0, "no weights")],
)
def test_without_an_answer_the_order_is_the_first_one_and_the_result_says_so(
    opener: Opener, judge: ScriptedJudge, fault: Callable[[], None], budget_ms: float, told: str
) -> None:
    store = opened(opener, TEA, BREAD, OSLO, judge={"enabled": True, "budget_ms": budget_ms})
    judge.fault = fault
    result = found(store)
    assert [hit.content for hit in result] == [TEA, BREAD, OSLO]
    (degraded,) = result.degraded
    assert degraded.code == "partial_backend"
    assert told in degraded.detail
    assert len(judge.given) == 1, "one that failed is not asked again in a call"


def test_what_was_read_in_time_counts(opener: Opener, judge: ScriptedJudge) -> None:
    texts = [f"Text {number} says nothing" for number in range(5)]
    store = opened(opener, *texts, judge={"enabled": True, "budget_ms": 1_000.0})
    judge.logits = {texts[3]: (4.0, 4.0), texts[4]: (9.0, 9.0)}
    judge.fault = lambda: time.sleep(1.5) if len(judge.given) > 1 else None
    result = found(store)
    assert [hit.content for hit in result][:2] == [texts[3], texts[0]]
    (degraded,) = result.degraded
    assert "the best 4 were read" in degraded.detail


def test_what_states_nothing_is_not_read_and_keeps_its_place(
    opener: Opener, judge: ScriptedJudge
) -> None:
    silent = "Where does Tom live these days?", "I do not know."
    store = opened(opener, TEA, silent[1], BREAD, OSLO, silent[0])
    without = found(store, config={"judge.enabled": False})
    result = found(store)
    assert judge.texts() == [TEA, BREAD, OSLO]
    assert [hit.content for hit in result] == [OSLO, silent[1], TEA, BREAD, silent[0]]
    finals = [hit.final for hit in result]
    assert finals == sorted(finals, reverse=True)
    assert finals[1] in [hit.final for hit in without if hit.content == silent[1]]
    judge.fault = broken
    failed = found(store)
    assert failed.confidence == without.confidence


def test_many_questions_are_read_before_any_begins_again(
    opener: Opener, judge: ScriptedJudge
) -> None:
    store = opened(opener, TEA, BREAD, OSLO)
    questions = [ASKED, "who drinks tea?", "when does the bakery open?"]
    results = store.recall_many(questions)
    assert [question for question, _ in judge.given] == questions
    for question, result in zip(questions, results, strict=True):
        alone = store.recall(question)
        assert [hit.id for hit in result] == [hit.id for hit in alone]
        assert result.confidence == alone.confidence


def test_confidence_counts_how_the_best_reads(opener: Opener, judge: ScriptedJudge) -> None:
    store = opened(opener, TEA, OSLO)
    sure = store.recall(ASKED).confidence
    judge.logits[OSLO] = (-4.0, 4.0)
    unsure = store.recall(ASKED).confidence
    plain = store.recall(ASKED, config={"judge.enabled": False}).confidence
    assert plain is not None
    assert sure is not None
    assert unsure is not None
    by = fit().questions
    assert sure == confidence_with(plain, 4.0, by)
    assert unsure == confidence_with(plain, -4.0, by)
    assert unsure < plain < sure


def test_the_confidence_of_a_prompt_is_fitted_apart(opener: Opener, judge: ScriptedJudge) -> None:
    """What helps with a task reads less like an answer than what answers a question."""
    store = opened(opener, TEA, OSLO)
    judge.logits[OSLO] = (0.5, 4.0)
    for query, by in ((ASKED, fit().questions), ("book a train to Oslo", fit().prompts)):
        plain = store.recall(query, all=True, config={"judge.enabled": False}).confidence
        assert plain is not None
        assert store.recall(query, all=True).confidence == confidence_with(plain, 0.5, by)


def test_a_newer_version_that_reads_as_an_answer_comes_first(
    opener: Opener, judge: ScriptedJudge
) -> None:
    """It may lack a word of the question that the older one has."""
    old = "Tom lives in Bergen near the fjord and the harbour"
    new = "Tom has moved: Bergen, by the fjord, above the harbour"
    others = [f"Text {number} says nothing of it" for number in range(4)]
    store = opened(opener, old, new, *others, alike=2)
    question = "where does Tom live in Bergen, near fjord and harbour?"
    judge.logits |= {old: (2.0, 3.0), new: (-6.0, 6.0)}
    assert [hit.content for hit in found(store, question)][:2] == [old, new]
    judge.logits[new] = (2.0, -2.0)
    result = found(store, question)
    assert [hit.content for hit in result][:2] == [new, old]
    assert result[0].reason.newer_than == result[1].id


@pytest.mark.parametrize(
    "query", ["Tom", "Wo ist der Schlüssel von Tom und wer hat ihn?", "где живёт Tom?"]
)
def test_a_topic_of_one_word_or_of_another_language_is_not_read(
    opener: Opener, judge: ScriptedJudge, query: str
) -> None:
    store = opened(opener, TEA, OSLO)
    assert [hit.content for hit in found(store, query)] == [TEA, OSLO]
    assert judge.given == []


def test_a_question_of_one_word_is_ordered_and_never_silenced(
    opener: Opener, judge: ScriptedJudge
) -> None:
    store = opened(opener, OSLO, TEA)
    judge.logits |= {OSLO: (-9.0, -9.0), TEA: (-8.0, 6.0)}
    result = found(store, "where is Tom?")
    assert [hit.content for hit in result] == [TEA, OSLO]
    assert (len(judge.given), result.abstained) == (1, False)


@pytest.mark.parametrize("day", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Oslo"])
def test_the_first_and_the_last_day_are_read(
    opener: Opener, judge: ScriptedJudge, day: str, zone: str
) -> None:
    store = opened(opener, time={"zone": zone})
    store.commit(OSLO, t_valid=day)
    assert [hit.content for hit in found(store)] == [OSLO]
    assert judge.given[0][1][0].head.split()[0] in ("monday", "sunday", "friday", "saturday")


def test_what_would_bring_a_memory_in_is_tried_with_the_judge(
    opener: Opener, judge: ScriptedJudge
) -> None:
    store = opened(opener, TEA, BREAD, OSLO)
    missing = store.list(limit=10).memories
    (tea,) = [one.id for one in missing if one.content == TEA]
    (told,) = found(store, limit=1, expect=tea).why_not
    assert (told.stage, told.rank) == ("ranked_below", 2)
    assert told.change is not None
    if told.change.kind == "word":
        assert tea in [hit.id for hit in found(store, told.change.after, limit=1)]


def test_a_reason_that_comes_back_is_an_echo(opener: Opener, judge: ScriptedJudge) -> None:
    store = opened(opener, OSLO, TEA)
    shown = render(found(store), "explain")
    assert "Reads as an answer: likely." in shown
    outcome = store.commit(shown)
    assert outcome.echoes


def test_words_for_a_probability() -> None:
    assert [in_words(one) for one in (1.0, 0.5, 0.49, 0.2, 0.1, 0.0)] == [
        "likely", "likely", "possibly", "possibly", "hardly", "hardly",
    ]  # fmt: skip


def test_the_shipped_judge_tells_an_answer_from_what_shares_its_words(tmp_path: Any) -> None:
    config = {"judge.budget_ms": 60_000.0}
    with vestig.open(tmp_path / "store", config=config) as store:
        for text in (
            "Tom asked where the harbour office of Oslo is",
            "Tom rents a flat at the harbour in Oslo since May",
            "Ann rents a boat in Bergen",
        ):
            store.commit(text)
        result = store.recall("where does Tom live?", all=True)
    assert result[0].content.startswith("Tom rents a flat")
    assert result[0].reason.judged.probability > result[1].reason.judged.probability
