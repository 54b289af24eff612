"""How the judge's two numbers of a memory are weighed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from vestig.answers import CLOSE_MIN, Judged
from vestig.decoders import decoded
from vestig.language import words
from vestig.store.projection.scan_objects import ln, logistic

FIT: Final = Path(__file__).resolve().parent.parent / "data" / "judge.json"
# From so many memories on, a further one makes no closer best one that answers nothing.
FEW: Final = 64
# Nearer to 0 and 1 than this no confidence counts.
_CERTAIN: Final = 1e-3


class KindFit(msgspec.Struct, frozen=True, kw_only=True):
    """The weight of the judge in one kind of queries, and the confidence with it.

    `weight`: of half the sum of both logits, beside L.
    `weights`: the logit is bias + confidence · `closeness` + answers · the greatest *answers*.
    `unanswered`: confidences, in a large store, of queries that nothing stored answers, by fits
    that have not seen them, in rising order. `few`: how much lower the log odds of theirs are in a
    small store, for each unit of `few_memories`.
    """

    weight: float
    weights: dict[str, float]
    unanswered: tuple[float, ...]
    few: float


# Questions, those for several things, of which a memory holds one, and queries that ask nothing.
QUESTIONS, LISTS, PROMPTS = "questions", "lists", "prompts"
KINDS: Final = (QUESTIONS, LISTS, PROMPTS)


class JudgeFit(msgspec.Struct, frozen=True, kw_only=True):
    """How the judge's numbers are weighed; `benches/learn_judge.py` writes the file.

    `answers`: the probability that a memory answers has the logit bias + answers · its *answers*.
    `questions`, `lists`, `prompts`: of each kind of queries.
    `data`: name of a labelled folder → SHA-256 of it; `figures`: by set, without the judge and with
    it; `silence`: by set and silence, the share of questions that bring something.
    """

    answers: dict[str, float]
    questions: KindFit
    lists: KindFit
    prompts: KindFit
    data: dict[str, str] = {}
    figures: dict[str, Any] = {}
    silence: dict[str, Any] = {}


@cache
def fit() -> JudgeFit:
    """The file's content."""
    return decoded(FIT.read_bytes(), JudgeFit)


def kind_of(query: str) -> str:
    """Return which of `KINDS` a query is of.

    Example:
        >>> [kind_of(one) for one in ("who runs it?", "which ports are open?", "restart it")]
        ['questions', 'lists', 'prompts']
    """
    if not words.is_read_as_question(query):
        return PROMPTS
    return LISTS if words.asks_for_all(query) else QUESTIONS


def kind_fit(query: str) -> KindFit:
    """The fit for the kind of a query: what helps with a task, or is one of several things, reads
    less like an answer than what answers a question.

    Example:
        >>> kind_fit("restart the gateway") is fit().prompts
        True
    """
    fits = {QUESTIONS: fit().questions, LISTS: fit().lists, PROMPTS: fit().prompts}
    return fits[kind_of(query)]


class Judgement(NamedTuple):
    """Two logits: that a memory answers the question, and how well beside others."""

    answers: float
    rank: float

    def for_reason(self, by: KindFit) -> Judged:
        """Return what a reason holds of it."""
        return Judged(
            answers=self.answers,
            rank=self.rank,
            probability=self.probability,
            level=self.level(by),
        )

    @property
    def probability(self) -> float:
        """The probability that it answers, be it outdated or not."""
        weights = fit().answers
        return logistic(weights["bias"] + weights["answers"] * self.answers)

    @property
    def mean(self) -> float:
        """The mean of both logits."""
        return (self.answers + self.rank) / 2

    def level(self, by: KindFit) -> float:
        """Return what it adds to L."""
        return by.weight * self.mean


def confidence_with(confidence: float, answers: float, by: KindFit) -> float:
    """The probability that the memories answer the query, with what the judge says of the best.

    Args:
        confidence: without the judge.
        answers: the greatest *answers*.

    Example:
        >>> by = fit().questions
        >>> confidence_with(0.5, 3.0, by) > confidence_with(0.5, -3.0, by)
        True
    """
    weights = by.weights
    close = weights["confidence"] * closeness(confidence)
    return logistic(weights["bias"] + close + weights["answers"] * answers)


def closeness(confidence: float) -> float:
    """Log odds of the confidence without the judge, 0 from ½ on: a question that shares more words
    with a memory is not for that more of one that it answers.

    Example:
        >>> closeness(0.9), closeness(0.5), closeness(0.1) < 0
        (0.0, 0.0, True)
    """
    return min(log_odds(confidence), 0.0)


def few_memories(eligible: int) -> float:
    """How few memories may answer: ln of `FEW` over their number, 0 from `FEW` on. The best of many
    reads as an answer by chance, that of a few seldom does.

    Example:
        >>> few_memories(FEW), round(few_memories(1), 3)
        (0.0, 4.159)
    """
    return ln(FEW / min(max(eligible, 1), FEW))


def least_of_few(least: float, eligible: int, few: float) -> float:
    """The confidence that is as rare among questions without an answer as another one is in a large
    store; never less than is close at all.

    Args:
        least: of a large store.
        eligible: how many memories may answer.
        few: of the fit.

    Example:
        >>> [round(least_of_few(0.6, n, 0.3), 2) for n in (1_000, 8, 1)], least_of_few(0.4, 1, 0.3)
        ([0.6, 0.45, 0.3], 0.25)
    """
    if not CLOSE_MIN < least < 1:
        return least
    lower = logistic(log_odds(least) - few * few_memories(eligible))
    return min(least, max(lower, CLOSE_MIN))


def log_odds(confidence: float) -> float:
    """Log odds of a confidence, within those of 0.001 and 0.999.

    Example:
        >>> log_odds(0.5), log_odds(0.0) == log_odds(0.001)
        (0.0, True)
    """
    inside = min(max(confidence, _CERTAIN), 1 - _CERTAIN)
    return ln(inside / (1 - inside))
