"""Whether the eligible memories answer a query at all, and what score a result has.

The core makes the features of one scan and their logistics; the weights are plain data beside the
package's other data, with the digests of the labelled folders they were learned from.
`benches/learn_confidence.py` writes them, and those of the score with them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec

from vestig.answers import ScoreFormula
from vestig.language.content_words import ContentTerm
from vestig.recall.scan import Scan
from vestig.store.projection.scan_objects import (
    BASIC_FEATURES,
    OWN_FEATURES,
    ROWS_READ,
    SIGNAL_FEATURES,
    ConfidenceTables,
    confidence_features,
    scores,
)
from vestig.types import OriginType

if TYPE_CHECKING:
    from vestig.store.projection.scan_objects import Row, Scoring

__all__ = [
    "BASIC_FEATURES",
    "BIAS",
    "FIT",
    "KINDS",
    "OWN_FEATURES",
    "ROWS_READ",
    "SEVERAL",
    "SIGNAL_FEATURES",
    "Confidence",
    "ConfidenceInput",
    "Features",
    "Fit",
    "ScoreWeights",
    "Table",
    "confidence",
    "features",
    "fit",
    "fit_version",
    "probability",
    "score_line",
    "scored",
]

FIT: Final = Path(__file__).resolve().parent.parent / "data" / "confidence.json"
BIAS: Final = "bias"
# In the place of an origin type: the best rows are of several.
SEVERAL: Final = "several"
KINDS: Final = (*(origin.value for origin in OriginType), SEVERAL)


class ConfidenceInput(NamedTuple):
    """What of a query and a scan counts beside the rows, as the core takes it.

    Args:
        terms: index terms of the query, each once.
        content_terms: those that say what it is about.
        entity_count: how many entities it names.
        unknown_names: its names that no entity has.
        eligible: number of eligible memories.
    """

    terms: Sequence[str]
    content_terms: Sequence[ContentTerm]
    entity_count: int
    unknown_names: Sequence[str]
    eligible: int


class Confidence(NamedTuple):
    """How probable it is that the eligible memories answer a query.

    Args:
        value: the probability.
        kind: of the best rows, an origin type or `several`; None without rows.
    """

    value: float
    kind: str | None


class ScoreWeights(msgspec.Struct, frozen=True, kw_only=True):
    """A fit of scores: the logit of a score is a + b · ln(share) + c · logit(confidence), share the
    final score as a part of the sum of the ten best.

    Args:
        b: at confidence 0 and at confidence 1, on a line between.

    Raises:
        ValueError: a larger final score would be a smaller score.

    Example:
        >>> ScoreWeights(a=0.0, b=(-0.5, 1.0), c=1.0)
        Traceback (most recent call last):
        ...
        ValueError: expected two numbers >= 0 as b, got (-0.5, 1.0)
    """

    a: float
    b: tuple[float, float]
    c: float

    def __post_init__(self) -> None:
        if min(self.b) < 0:
            raise ValueError(f"expected two numbers >= 0 as b, got {self.b}")


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Weights by name, `bias` among them, of two logistics; and `scale` and `constant` of the
    logistic of the logit of their product."""

    belongs: Mapping[str, float]
    answered: Mapping[str, float]
    scale: float = 1.0
    constant: float = 0.0


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted confidence. `tables`, `score`: by the origin type of the best rows, or `several`; of
    the tables the first whose features are all there counts. `data`: name of a labelled folder →
    SHA-256 of it; `figures`: by set, the quality of the fit on questions that it had not seen."""

    tables: Mapping[str, Sequence[Table]]
    score: Mapping[str, ScoreWeights]
    data: Mapping[str, str] = {}
    figures: Mapping[str, Any] = {}


class Features(msgspec.Struct, frozen=True, kw_only=True):
    """The features that a scan has, by name, and of what kind its best rows are: an origin type,
    or `several`."""

    kind: str
    values: Mapping[str, float]


@cache
def fit() -> Fit:
    """The fit that comes with the package."""
    return msgspec.json.decode(FIT.read_bytes(), type=Fit)


@cache
def fit_version() -> str:
    """Names the fit that comes with the package: scores and confidence depend on it."""
    return f"confidence-{hashlib.sha256(FIT.read_bytes()).hexdigest()[:8]}"


@cache
def _fitted() -> ConfidenceTables:
    return _tables(fit())


def _tables(fitted: Fit) -> ConfidenceTables:
    def weights(named: Mapping[str, float]) -> tuple[list[tuple[str, float]], float]:
        return [(name, one) for name, one in named.items() if name != BIAS], named[BIAS]

    return ConfidenceTables(
        [
            [
                (weights(one.belongs), weights(one.answered), one.scale, one.constant)
                for one in fitted.tables.get(kind, ())
            ]
            for kind in KINDS
        ]
    )


def features(scan: Scan, input: ConfidenceInput) -> Features | None:
    """The features of a scan; None without rows, or where words or meaning were not compared."""
    rows, scorings = _of_core(scan)
    made = confidence_features(rows, scorings, input)
    if made is None:
        return None
    kind, values = made
    return Features(kind=KINDS[kind], values=dict(values))


def probability(found: Features, fitted: Fit) -> float:
    """The confidence of these features under a fit.

    Raises:
        ValueError: no table of their kind has its features among these.

    Example:
        >>> table = Table(belongs={"bias": 0.0}, answered={"bias": -1.0, "cosine": 2.0})
        >>> made = Fit(tables={"note": [table]}, score={})
        >>> round(probability(Features(kind="note", values={"cosine": 0.5}), made), 9)
        0.25
    """
    kind = KINDS.index(found.kind)
    value = _tables(fitted).probability(kind, list(found.values.items()))
    if value is None:
        raise ValueError(
            f"expected the features of a table of {found.kind}, got {', '.join(found.values)}"
        )
    return value


def confidence(scan: Scan, input: ConfidenceInput) -> Confidence | None:
    """The probability that the eligible memories answer the query: 0 where there are none,
    None where words or meaning were not compared."""
    if not scan.rows:
        return Confidence(0.0, None)
    rows, scorings = _of_core(scan)
    made = _fitted().of_scan(rows, scorings, input)
    if made is None:
        return None
    kind, value = made
    return Confidence(value, KINDS[kind])


def _of_core(scan: Scan) -> tuple[Sequence[Row], Sequence[Scoring]]:
    """Rows and statistics of a scan; those of a changed one come from the core too."""
    return cast("Sequence[Row]", scan.rows), cast("Sequence[Scoring]", scan.scorings)


def score_line(fitted: ScoreWeights, finals: Sequence[float], confidence: float) -> ScoreFormula:
    """The weights of one query for ln(final) itself, where the fit is of the share that a final
    score has of these, the best: a final score alone says little about other queries.

    Example:
        >>> score_line(ScoreWeights(a=0.5, b=(1.0, 2.0), c=1.0), [0.75, 0.25], 0.5)
        ScoreFormula(a=0.5, b=1.5, c=1.0)
    """
    whole = sum(finals[:ROWS_READ])
    b_at_0, b_at_1 = fitted.b
    b = b_at_0 * (1 - confidence) + b_at_1 * confidence
    a = fitted.a - b * math.log(whole) if whole > 0 else fitted.a
    return ScoreFormula(a=a, b=b, c=fitted.c)


def scored(finals: Sequence[float], confidence: float, by: ScoreFormula) -> list[float]:
    """The probability that a memory with each of these final scores is part of the answer; 0 for a
    final score of 0.

    Args:
        finals: of memories of one query.

    Example:
        >>> line = ScoreFormula(a=0.0, b=1.0, c=1.0)
        >>> [round(score, 9) for score in scored([1.0, 0.0], 0.8, line)]
        [0.8, 0.0]
    """
    return scores(finals, confidence, by.a, by.b, by.c)
