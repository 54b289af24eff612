"""Whether the eligible memories answer a query at all: features of one scan, and logistics of them
that were fitted offline.

One tells whether the question belongs to these memories, another whether what it asks for is among
them: questions about other people look unlike all others, questions whose answer is missing look
much like those that have one. Confidence is a logistic of the logit of their product. The weights
are plain data beside the package's other data, with the digests of the labelled folders they were
learned from; `benches/learn_confidence.py` writes them, and those of the score with them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.answers import ScoreFormula
from vestig.config.signals import SIGNALS
from vestig.recall.scan import Scan, ScanRow
from vestig.types import OriginType

__all__ = [
    "BASIC_FEATURES",
    "BIAS",
    "FIT",
    "KINDS",
    "OWN_FEATURES",
    "ROWS_READ",
    "SEVERAL",
    "SIGNAL_FEATURES",
    "Features",
    "Fit",
    "Table",
    "confidence",
    "features",
    "fit",
    "level",
    "logit",
    "probability",
    "score_line",
    "scored",
]

# So many of the best rows are read, whatever the limit of the call.
ROWS_READ: Final = 10
FIT: Final = Path(__file__).resolve().parent.parent / "data" / "confidence.json"
BIAS: Final = "bias"
# In the place of an origin type: the best rows are of several.
SEVERAL: Final = "several"

# Of the best direct rows: `cosine` is the largest one, `cover` the largest part of the idf of the
# query's content terms that one of them holds, `names` the largest part of the query's entities
# that one of them mentions, `level` the largest L, `lead` and `margin` how far it is above the
# second and the fifth. `words` is the best lexical score of eligible memories as a part of the
# query's idf, `size` the logarithm of their number. idf and largest values of a memory are those
# that it is scored with; where the best rows are of several origins, the largest counts.
BASIC_FEATURES: Final = ("cosine", "cover", "names", "words", "level", "lead", "margin", "size")
# Where the best rows are of several origins: of those of the first one's own.
OWN_FEATURES: Final = ("first.cosine", "own.lead", "own.margin")
# Where these signals are weighed: the largest raw value over the eligible memories.
_MOST: Final = ("context.vector", "late.w1_idf", "topic", "topic_lexical", "bigram")
SIGNAL_FEATURES: Final = tuple(f"most.{name}" for name in _MOST)
# Sums of idf, which count as parts of all that the query has.
_OF_WORDS: Final = frozenset(("topic_lexical",))

_PLACE: Final = {name: place for place, name in enumerate(SIGNALS)}
# Name of a number, where it stands among the largest values, and whether it is a sum of idf.
_MOST_AT: Final = (
    ("words", _PLACE["lexical"], True),
    *((f"most.{name}", _PLACE[name], name in _OF_WORDS) for name in _MOST),
)
_ORIGINS: Final = tuple(origin.value for origin in OriginType)
KINDS: Final = (*_ORIGINS, SEVERAL)
# Sizes beyond these say no more than they: no larger store was part of the fit.
_SIZES: Final = (20, 10_000)
_FURTHEST: Final = 700.0
# How near a confidence comes to 0 and 1 where its logit is taken.
_NEAREST: Final = 1e-6


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Weights by name, `bias` among them, of two logistics; and `scale` and `constant` of the
    logistic of the logit of their product."""

    belongs: Mapping[str, float]
    answered: Mapping[str, float]
    scale: float = 1.0
    constant: float = 0.0


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted confidence. `tables`: by the origin type of the best rows, or `several`; the first
    whose features are all there counts. `score`: of ln(final ÷ the sum of the best finals) in the
    place of ln(final). `data`: name of a labelled folder → SHA-256 of it; `figures`: by set, the
    quality of the fit on questions that it had not seen."""

    tables: Mapping[str, Sequence[Table]]
    score: ScoreFormula
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


def level(base: float) -> float:
    """L from its logistic.

    Example:
        >>> level(0.5), round(level(1 / (1 + math.exp(7))), 9)
        (0.0, -7.0)
    """
    # a logistic that was rounded to 0 or 1 is as far as numbers tell
    inside = min(max(base, 5e-324), 1 - 2**-53)
    return math.log(inside) - math.log1p(-inside)


def features(scan: Scan, content: Collection[str], names: int) -> Features | None:
    """The features of a scan with rows; None where words or meaning were not compared.

    Args:
        content: terms that say what the query is about.
        names: how many entities the query names.
    """
    rows = scan.rows[:ROWS_READ]
    # a memory that the walk reached is ranked by its start, not by its own L
    rows = [row for row in rows if row.direct] or rows
    cosines = [row.similarity for row in rows if row.embedded]
    scorings = {row.origin: scan.scorings[row.origin] for row in rows}
    most = dict[str, float]()
    for scoring in scorings.values():
        maxima, whole = scoring.maxima, sum(scoring.idfs)
        share = 1 / whole if whole > 0 else 0.0
        for name, place, in_idf in _MOST_AT:
            value = maxima[place]
            if value is not None:
                value = value * share if in_idf else value
                most[name] = max(most.get(name, value), value)
    if "words" not in most or not cosines:
        return None
    bases = [row.base for row in rows]
    first, lead, margin = _leads(bases)
    found = {
        "cosine": max(cosines),
        "cover": _cover(rows, scan, content),
        "names": max([len(row.matched_entities) for row in rows]) / names if names else 0.0,
        "level": first,
        "lead": lead,
        "margin": margin,
        "size": math.log(min(max(scan.eligible, _SIZES[0]), _SIZES[1])),
    }
    found |= most
    origins = [row.origin for row in rows]
    if len(set(origins)) == 1:
        return Features(kind=_ORIGINS[origins[0]], values=found)
    own = [one for one, origin in zip(bases, origins, strict=True) if origin == origins[0]]
    found["first.cosine"] = rows[0].similarity if rows[0].embedded else 0.0
    _, found["own.lead"], found["own.margin"] = _leads(own)
    return Features(kind=SEVERAL, values=found)


def _leads(bases: Sequence[float]) -> tuple[float, float, float]:
    """The largest L, and how far it is above the second and the fifth, or the last of fewer."""
    best = sorted(bases, reverse=True)
    last = len(best) - 1
    first = level(best[0])
    return first, first - level(best[min(1, last)]), first - level(best[min(4, last)])


def _cover(rows: Sequence[ScanRow], scan: Scan, content: Collection[str]) -> float:
    """The largest part of the idf of the content terms that one row holds, idf by its origin."""
    most = 0.0
    for origin in {row.origin for row in rows}:
        pairs = zip(scan.terms, scan.scorings[origin].idfs, strict=True)
        weights = [idf if term in content else 0.0 for term, idf in pairs]
        whole = sum(weights)
        if whole > 0:
            weight = weights.__getitem__
            held = [sum(map(weight, row.matched_terms)) for row in rows if row.origin == origin]
            most = max(most, max(held) / whole)
    return most


def probability(found: Features, fitted: Fit) -> float:
    """The confidence of these features under a fit.

    Example:
        >>> table = Table(belongs={"bias": 0.0}, answered={"bias": -1.0, "cosine": 2.0})
        >>> made = Fit(tables={"note": [table]}, score=ScoreFormula(a=0, b=1, c=1))
        >>> round(probability(Features(kind="note", values={"cosine": 0.5}), made), 9)
        0.25
    """
    known = {**found.values, BIAS: 1.0}
    there = known.keys()
    table = next(one for one in fitted.tables[found.kind] if there >= one.belongs.keys())
    both = _logistic(_sum(table.belongs, known)) * _logistic(_sum(table.answered, known))
    return _logistic(table.constant + table.scale * logit(both))


def _sum(weights: Mapping[str, float], known: Mapping[str, float]) -> float:
    return sum([weight * known[name] for name, weight in weights.items()])


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-min(max(value, -_FURTHEST), _FURTHEST)))


def logit(probability: float) -> float:
    """ln of its odds; as near to 0 and 1 as 1e-6 and no nearer.

    Example:
        >>> logit(0.5), round(logit(0.0), 3), round(logit(1.0), 3)
        (0.0, -13.816, 13.816)
    """
    inside = min(max(probability, _NEAREST), 1 - _NEAREST)
    return math.log(inside / (1 - inside))


def confidence(scan: Scan, content: Collection[str], names: int) -> float | None:
    """The probability that the eligible memories answer the query: 0 where there are none,
    None where words or meaning were not compared; `content` and `names` as of `features`."""
    if not scan.rows:
        return 0.0
    found = features(scan, content, names)
    return None if found is None else probability(found, fit())


def score_line(fitted: ScoreFormula, finals: Sequence[float]) -> ScoreFormula:
    """The weights for ln(final) itself, where the fit is of the share that a final score has of
    these, the best of a query: a final score alone says little about other queries.

    Example:
        >>> score_line(ScoreFormula(a=0.5, b=2.0, c=1.0), [0.75, 0.25]).a
        0.5
    """
    whole = sum(finals[:ROWS_READ])
    a = fitted.a - fitted.b * math.log(whole) if whole > 0 else fitted.a
    return ScoreFormula(a=a, b=fitted.b, c=fitted.c)


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
    a, b, certain = by.a, by.b, by.c * logit(confidence)
    return [_logistic(a + b * math.log(final) + certain) if final > 0 else 0.0 for final in finals]
