"""Whether the eligible memories answer a query at all: features of one scan, and two logistics of
them that were fitted together offline.

The first tells whether the question belongs to these memories, the second whether what it asks for
is among them; confidence is their product, which one logistic alone cannot fit: questions about
other people look unlike all others, questions whose answer is missing look much like those that
have one. The weights are plain data beside the package's other data, with the digests of the
labelled folders they were learned from; `benches/learn_confidence.py` writes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.config.signals import SIGNALS
from vestig.recall.scan import Scan
from vestig.types import OriginType

__all__ = [
    "BASIC_FEATURES",
    "BIAS",
    "FIT",
    "ROWS_READ",
    "SIGNAL_FEATURES",
    "Features",
    "Fit",
    "Table",
    "confidence",
    "features",
    "fit",
    "probability",
]

# So many of the best rows are read, whatever the limit of the call.
ROWS_READ: Final = 5
FIT: Final = Path(__file__).resolve().parent.parent / "data" / "confidence.json"
BIAS: Final = "bias"

# Of the best direct rows of any origin: `meaning` is the largest cosine, `cover` the largest part
# of the query's idf that the words of one of them hold, `level` the largest L, `lead` and `margin`
# how far it is above the second and the last; `words` is the best lexical score of all eligible
# memories as a part of the query's idf.
BASIC_FEATURES: Final = ("meaning", "words", "cover", "level", "lead", "margin")
# Where these signals are computed: the largest raw value over the eligible memories, and that of
# the first row.
_MOST: Final = (
    "context.vector",
    "context.wide",
    "reply.lexical",
    "late.w1_idf",
)
_FIRST: Final = ("date", "neighbours.lexical.-1", "neighbours.lexical.+1")
# Sums of idf, which count as parts of all that the query has.
_OF_WORDS: Final = frozenset(("context.wide",))
SIGNAL_FEATURES: Final = (
    *(f"most.{name}" for name in _MOST),
    *(f"first.{name}" for name in _FIRST),
)

_PLACE: Final = {name: place for place, name in enumerate(SIGNALS)}
_WORDS: Final = _PLACE["lexical"]
# Name of a number, where it stands in a scan, and whether it is a sum of idf.
_MOST_AT: Final = tuple((f"most.{name}", _PLACE[name], name in _OF_WORDS) for name in _MOST)
_FIRST_AT: Final = tuple((f"first.{name}", name) for name in _FIRST)
_ORIGINS: Final = tuple(origin.value for origin in OriginType)
_FURTHEST: Final = 700.0


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Weights by name, `bias` among them, of the two logistics."""

    belongs: Mapping[str, float]
    answered: Mapping[str, float]


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted confidence. `tables`: by origin type of the first row; the first whose features are
    all there counts. `data`: name of a labelled folder → SHA-256 of it; `figures`: by folder, the
    quality of the fit on questions that it had not seen."""

    tables: Mapping[str, Sequence[Table]]
    data: Mapping[str, str] = {}
    figures: Mapping[str, Any] = {}


class Features(msgspec.Struct, frozen=True, kw_only=True):
    """The features that a scan has, by name, and the origin type of its first row."""

    origin: str
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


def features(scan: Scan) -> Features | None:
    """The features of a scan with rows; None where words or meaning were not compared."""
    rows = scan.rows[:ROWS_READ]
    # a memory that the walk reached is ranked by its start, not by its own L
    rows = [row for row in rows if row.direct] or rows
    maxima = scan.maxima
    words = maxima[_WORDS]
    cosines = [row.similarity for row in rows if row.embedded]
    if words is None or not cosines:
        return None
    idfs = scan.idfs
    whole = sum(idfs)
    share = 1 / whole if whole > 0 else 0.0
    levels = sorted([level(row.base) for row in rows], reverse=True)
    covers = [sum([idfs[at] for at in row.matched_terms]) for row in rows]
    found = {
        "meaning": max(cosines),
        "words": words * share,
        "cover": max(covers) * share,
        "level": levels[0],
        "lead": levels[0] - levels[min(1, len(levels) - 1)],
        "margin": levels[0] - levels[-1],
    }
    for name, place, in_idf in _MOST_AT:
        most = maxima[place]
        if most is not None:
            found[name] = most * share if in_idf else most
    for name, signal in _FIRST_AT:
        raw, _ = rows[0].signal(signal)
        if raw is not None:
            found[name] = raw
    return Features(origin=_ORIGINS[rows[0].origin], values=found)


def probability(found: Features, fitted: Fit) -> float:
    """The confidence of these features under a fit.

    Example:
        >>> table = Table(belongs={"bias": 0.0}, answered={"bias": -1.0, "meaning": 2.0})
        >>> made = Fit(tables={"note": [table]})
        >>> probability(Features(origin="note", values={"meaning": 0.5}), made)
        0.25
    """
    known = found.values
    tables = fitted.tables[found.origin]
    table = next(
        one for one in tables if all(name in known for name in one.belongs if name != BIAS)
    )
    return _logistic(table.belongs, known) * _logistic(table.answered, known)


def _logistic(weights: Mapping[str, float], known: Mapping[str, float]) -> float:
    value = weights[BIAS]
    for name, weight in weights.items():
        if name != BIAS:
            value += weight * known[name]
    return 1 / (1 + math.exp(-min(max(value, -_FURTHEST), _FURTHEST)))


def confidence(scan: Scan) -> float | None:
    """The probability that the eligible memories answer the query: 0 where there are none,
    None where words or meaning were not compared."""
    if not scan.rows:
        return 0.0
    found = features(scan)
    return None if found is None else probability(found, fit())
