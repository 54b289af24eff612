"""How probable it is that the eligible memories answer a query at all, what of it they lack, and
the score of a result.

The core makes the features of one scan; the weights are plain data beside the package's other data,
with the digests of the labelled folders they were learned from. `make learn` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from vestig.answers import ScoreFormula
from vestig.decoders import decoded
from vestig.language.languages import (
    begins_with_function_word,
    is_function_word,
    language_of,
)
from vestig.language.words import (
    ContentTerm,
    is_joined,
    orders_at,
    stands_as_a_whole,
    stands_otherwise,
)
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import Scan, ScanRow
from vestig.store.projection.scan_objects import (
    FEATURES,
    ROWS_READ,
    absent_names,
    confidence_features,
    ln,
    logistic,
)

if TYPE_CHECKING:
    pass

__all__ = [
    "BIAS",
    "FEATURES",
    "FIT",
    "LEAD_MAX",
    "ROWS_READ",
    "ConfidenceInput",
    "Fit",
    "FitFile",
    "ScoreWeights",
    "confidence",
    "confidence_of",
    "features",
    "fit",
    "fits",
    "holds_a_word",
    "holds_its_words",
    "lead_of",
    "log_odds",
    "missing",
    "probability",
    "score_formula",
    "scored",
]

FIT: Final = Path(__file__).resolve().parent.parent / "data" / "confidence.json"
BIAS: Final = "bias"
# Beyond it the first is not further ahead: what has nothing to do with the query changes no score.
LEAD_MAX: Final = 4.0
# The term of word pieces.
_PIECES: Final = "late"


class ConfidenceInput(NamedTuple):
    """Numbers of a query and a scan that count beside the rows, as the core takes it.

    Args:
        terms: index terms of the query, each once; beside them how many eligible memories hold
            each.
        eligible: number of eligible memories.
        content_terms: those that say what it is about.
        dates_met: an eligible memory meets a date of the query.
        entity_count: how many entities it names.
        unknown_names: its names that no entity has.
    """

    terms: Sequence[str]
    document_frequencies: Sequence[int]
    eligible: int
    content_terms: Sequence[ContentTerm]
    dates_met: bool
    entity_count: int
    unknown_names: Sequence[str]


class ScoreWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fit of scores where the store answers: the logit is bias + level · x + behind · √(x₁ − x) +
    lead · min(x₁ − x₂, `LEAD_MAX`), of the log odds x of final scores at their places in the
    result.

    Raises:
        ValueError: a larger final score would be a smaller score.

    Example:
        >>> ScoreWeights(bias=0.0, level=0.5, behind=1.0, lead=0.0)
        Traceback (most recent call last):
        ...
        ValueError: expected level >= 0 >= behind, got 0.5 and 1.0
    """

    bias: float
    level: float
    behind: float
    lead: float

    def __post_init__(self) -> None:
        if not self.level >= 0 >= self.behind:
            raise ValueError(f"expected level >= 0 >= behind, got {self.level} and {self.behind}")


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted confidence, and the fit of scores.

    `confidence`: weights of the features by name, `bias` among them. `unanswered`: confidences of
    questions that nothing stored answers, by fits that have not seen them, in rising order.
    """

    confidence: Mapping[str, float]
    score: ScoreWeights
    unanswered: Sequence[float]


class FitFile(msgspec.Struct, frozen=True, kw_only=True):
    """The fits that come with the package: where word pieces are compared, and where they are not,
    as with an embedder that has none. What they add to L is missing there.

    `data`: name of a labelled folder → SHA-256 of it; `figures`: by set, the quality of the fit
    with pieces on questions that it had not seen.
    """

    with_pieces: Fit
    without_pieces: Fit
    data: Mapping[str, str] = {}
    figures: Mapping[str, Any] = {}


@cache
def fits() -> FitFile:
    """The file's content."""
    return decoded(FIT.read_bytes(), FitFile)


def fit(scan: Scan) -> Fit:
    """The fit for the memories of a scan."""
    pieces = any(row.signal(_PIECES) is not None for row in scan.rows)
    return fits().with_pieces if pieces else fits().without_pieces


def features(rows: Sequence[ScanRow], input: ConfidenceInput) -> dict[str, float]:
    """The features of the rows of a scan by name."""
    return dict(zip(FEATURES, confidence_features(rows, input), strict=True))


def probability(found: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The logistic of the weighted sum of some features.

    Example:
        >>> round(probability({"cosine": 0.5}, {"bias": -1.0, "cosine": 2.0}), 9)
        0.5
    """
    terms = (weight * found[name] for name, weight in weights.items() if name != BIAS)
    return logistic(sum(terms, weights[BIAS]))


def confidence(scan: Scan, input: ConfidenceInput) -> float:
    """The probability that the eligible memories answer the query: 0 where there are none."""
    return confidence_of(scan, scan.rows, input)


def confidence_of(scan: Scan, rows: Sequence[ScanRow], input: ConfidenceInput) -> float:
    """The probability that these rows of a scan answer the query: 0 where there are none."""
    if not rows:
        return 0.0
    return probability(features(rows, input), fit(scan).confidence)


def missing(
    query: str, input: ConfidenceInput, texts: Sequence[str] = (), *, times_read: bool
) -> tuple[str, ...]:
    """Names and content words of a query that no eligible memory holds, as they stand in it, each
    once in their order; not the verb that orders an answer.

    Args:
        query: the text that the terms are of.
        texts: of memories, in which a word may stand in another form that is another term.
        times_read: its expressions of time are read as times, and no words that a memory lacks.
    """
    held, begin = held_terms(input), orders_at(query)
    names = absent_names(input) if input.unknown_names else []
    if begin:
        ordered = query[:begin]
        names = [name for name in names if name.partition(" ")[0] != ordered]
    # a question in another language begins with a capital too
    names = [name for name in names if not begins_with_function_word(name)]
    names = [name for name in names if not _is_written_otherwise(name, texts)]
    words = [
        query[one.start : one.end]
        for one in input.content_terms
        if one.start >= begin
        and one.term not in held
        and not (one.in_time and (times_read or input.dates_met))
        and not _is_half_a_pair(one.term)
    ]
    # the parts of a name or a code stand in it, and are no other form of it
    wholes = {*names, *filter(is_joined, words)}
    words = [word for word in words if not _is_written_otherwise(word, texts)]
    words = [word for word in words if is_joined(word) or not stands_otherwise(word, texts)]
    language = language_of(query) if words else None
    words = [word for word in words if not is_function_word(word, language)]
    words = [word for word in words if not any(word in one for one in wholes - {word})]
    return tuple(dict.fromkeys([*names, *words]))


_MONEY: Final = lazy_pattern(r"[^\W\d_]+|[^\w\s]")


def _is_written_otherwise(word: str, texts: Sequence[str]) -> bool:
    """Return whether one of some texts has a code, however its parts are joined, or a currency by
    another of its names."""
    if is_joined(word):
        return stands_as_a_whole(word, texts)
    # imported here: most queries name no word that is missing
    from vestig.language.quantities import currency_of

    currency = currency_of(word)
    return currency is not None and any(
        currency == currency_of(one) for text in texts for one in _MONEY.findall(text)
    )


def _is_half_a_pair(term: str) -> bool:
    """Return whether a term is one character of a script without spaces: texts have pairs of them,
    and whether one holds it is not known."""
    return len(term) == 1 and not term.isascii() and term.isalpha()


def holds_a_word(input: ConfidenceInput) -> bool:
    """Return whether an eligible memory holds one of the query's content words."""
    held = held_terms(input)
    return any(one.term in held for one in input.content_terms)


def holds_its_words(input: ConfidenceInput, begin: int) -> bool:
    """Return whether each of the query's content words from a place on is held by an eligible
    memory, of one at least."""
    held, words = held_terms(input), [one for one in input.content_terms if one.start >= begin]
    return bool(words) and all(one.term in held for one in words)


def held_terms(input: ConfidenceInput) -> set[str]:
    """Return the terms of the query that eligible memories hold."""
    counts = zip(input.terms, input.document_frequencies, strict=True)
    return {term for term, count in counts if count > 0}


def log_odds(final: float) -> float:
    """Log odds of a final score, which may lie above 1 by its use; L where the use changes nothing.

    Example:
        >>> log_odds(0.5), round(log_odds(1e-9), 3)
        (0.0, -20.723)
    """
    inside = min(final, 1 - 2**-53)
    return ln(inside / (1 - inside))


def score_formula(
    weights: ScoreWeights, confidence: float, finals: Sequence[float]
) -> ScoreFormula:
    """Return what makes the scores of one query.

    Args:
        confidence: that the store answers it at all.
        finals: final scores of the results, best first.

    Example:
        >>> weights = ScoreWeights(bias=1.0, level=0.5, behind=-1.0, lead=0.25)
        >>> score_formula(weights, 0.9, [0.5, 0.0])
        ScoreFormula(confidence=0.9, bias=2.0, level=0.5, behind=-1.0, best=0.0)
    """
    best, second = (log_odds(one) if one > 0 else None for one in (*finals, 0.0, 0.0)[:2])
    lead = LEAD_MAX if best is None or second is None else lead_of(best, second)
    return ScoreFormula(
        confidence=confidence,
        bias=weights.bias + weights.lead * lead,
        level=weights.level,
        behind=weights.behind,
        best=0.0 if best is None else best,
    )


def lead_of(best: float, second: float) -> float:
    """How far the first is ahead, as far as it counts.

    Example:
        >>> lead_of(-15.0, -16.5), lead_of(-15.0, -30.0)
        (1.5, 4.0)
    """
    return min(best - second, LEAD_MAX)


def scored(finals: Sequence[float], by: ScoreFormula) -> list[float]:
    """The probability that a memory with each of these final scores is part of the answer: that the
    store answers, times that the memory does where it does; 0 for a final score of 0.

    Example:
        >>> by = ScoreFormula(confidence=1.0, bias=0.0, level=1.0, behind=-1.0, best=0.0)
        >>> [round(score, 9) for score in scored([0.5, 0.0], by)]
        [0.5, 0.0]
    """
    return [_scored(log_odds(one), by) if one > 0 else 0.0 for one in finals]


def _scored(x: float, by: ScoreFormula) -> float:
    behind = max(0.0, by.best - x) ** 0.5
    return by.confidence * logistic(by.bias + by.level * x + by.behind * behind)
