"""Whether the eligible memories answer a query at all (R-24): a logistic of plain numbers of one
scan, with weights that were fitted offline.

The weights are the data file beside this package's other data: names of the numbers below and what
each weighs, by which kind of memory stands first, and the digests of the labelled folders they were
learned from. `benches/learn_confidence.py` writes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from vestig.config.signals import SIGNALS
from vestig.recall.rows import ScanRow
from vestig.types import OriginType

__all__ = [
    "EVERYWHERE",
    "FIT",
    "LOOKED_AT",
    "MAXIMA",
    "NUMBERS",
    "Fit",
    "Seen",
    "confidence",
    "seen",
    "told",
]

# So many of the best rows are read, whatever the limit of the call.
LOOKED_AT: Final = 5
FIT: Final = Path(__file__).resolve().parent.parent / "data" / "confidence.json"

# What the best memories are, for all kinds of them: `meaning` is the largest cosine, `words` the
# best lexical score and `cover` the largest share of the query's terms that one memory holds, both
# of all idf that the query has, `margin` by how much L of the first is above that of the last.
EVERYWHERE: Final = ("meaning", "words", "cover", "margin")
# Largest raw values over all eligible memories, where the signals are computed; those of words as
# a share of the query's idf.
MAXIMA: Final = {
    "near_meaning": "context.vector",
    "near_words": "context.wide",
    "pieces": "late.window",
    "pieces_idf": "late.window_idf",
}
NUMBERS: Final = (*EVERYWHERE, *MAXIMA)

_PLACE: Final = {name: place for place, name in enumerate(SIGNALS)}
_OF_WORDS: Final = frozenset(("near_words",))
_ORIGINS: Final = tuple(origin.value for origin in OriginType)


class ScanLike(Protocol):
    """What of a `_core.Scan` is read here."""

    @property
    def rows(self) -> Sequence[ScanRow]: ...
    @property
    def idfs(self) -> Sequence[float]: ...
    @property
    def maxima(self) -> Sequence[float | None]: ...


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted confidence. `weights`: origin type of the first row → tables of name → weight,
    `bias` among them; the first table counts whose numbers are all there. `data`: name of a
    labelled folder → SHA-256 of it; `figures`: what the fit came to, cross-fitted."""

    weights: Mapping[str, Sequence[Mapping[str, float]]]
    data: Mapping[str, str] = {}
    figures: Mapping[str, Any] = {}


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one scan, those that it has, and the origin type of its first row."""

    origin: str
    numbers: dict[str, float]


@cache
def fit() -> Fit:
    """The fit that comes with the package."""
    return msgspec.json.decode(FIT.read_bytes(), type=Fit)


def level(base: float) -> float:
    """L from its logistic (R-12).

    Example:
        >>> round(level(0.5), 9), round(level(1 / (1 + math.exp(7))), 9)
        (0.0, -7.0)
    """
    # a logistic that was rounded to 0 or 1 is as far as numbers tell
    inside = min(max(base, 5e-324), 1 - 2**-53)
    return math.log(inside) - math.log1p(-inside)


def seen(scan: ScanLike) -> Seen | None:
    """What a scan tells; None where nothing was eligible, or words or meaning were not compared."""
    if not hasattr(scan, "idfs"):
        return None
    rows = scan.rows[:LOOKED_AT]
    words = scan.maxima[_PLACE["lexical"]]
    met = [row.similarity for row in rows if row.embedded]
    if words is None or not met:
        return None
    whole = sum(scan.idfs)
    share = 1 / whole if whole > 0 else 0.0
    levels = [level(row.base) for row in rows]
    found = {
        "meaning": max(met),
        "words": words * share,
        "cover": max(sum(scan.idfs[at] for at in row.matched_terms) for row in rows) * share,
        "margin": max(levels) - min(levels),
    }
    for name, term in MAXIMA.items():
        most = scan.maxima[_PLACE[term]]
        if most is not None:
            found[name] = most * share if name in _OF_WORDS else most
    return Seen(origin=_ORIGINS[rows[0].origin], numbers=found)


def told(what: Seen, weights: Fit) -> float:
    """The confidence of these numbers under a fit.

    Example:
        >>> made = Fit(weights={"note": [{"bias": -1.0, "meaning": 2.0}]})
        >>> told(Seen(origin="note", numbers={"meaning": 0.5}), made)
        0.5
    """
    known = what.numbers
    for table in weights.weights[what.origin]:
        if all(name in known for name in table if name != "bias"):
            value = sum(
                weight if name == "bias" else weight * known[name] for name, weight in table.items()
            )
            return 1 / (1 + math.exp(-min(max(value, -700.0), 700.0)))
    raise KeyError(what.origin)


def confidence(scan: ScanLike) -> float | None:
    """The probability that the eligible memories answer the query (R-24): 0 where there are none,
    None where words or meaning were not compared."""
    if not scan.rows:
        return 0.0
    what = seen(scan)
    return None if what is None else told(what, fit())
