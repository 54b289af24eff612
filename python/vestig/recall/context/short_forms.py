"""Tools for a text for an agent: short ids, and how many tokens it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vestig.ids import PREFIX_CHARS_MIN
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import PieceCounter
from vestig.recall.context.block import ESTIMATE, Measure, estimate
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView

# More ids than this that begin with the same eight characters do not occur by chance.
_ALIKE_MAX: Final = 1_000
_LONG_WORD: Final = lazy_pattern(r"[^\s!-/:-@\[-`{-~]{101,}")


def short_ids(view: LedgerView, namespace: str, ids: Sequence[str]) -> dict[str, str]:
    """Id → its first characters without `mem_`: eight, more where the namespace has another memory
    that begins so. Every call that takes ids of memories takes these."""
    short = dict[str, str]()
    for id in ids:
        body = id.removeprefix("mem_")
        short[id] = body[:PREFIX_CHARS_MIN]
        alike = view.ids_with_prefix(namespace, f"mem_{short[id]}", _ALIKE_MAX)
        others = [other.removeprefix("mem_") for other in alike if other != id]
        if others:
            short[id] = body[: 1 + max(_shared(body, other) for other in others)]
    return short


def _shared(one: str, other: str) -> int:
    """How many characters two ids have in common at their beginning."""
    return next(place for place, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)


def measure(session: Session, budget: int) -> Measure:
    """Word pieces of the store's embedder where it counts them, else an estimate. A word of more
    than 100 characters, one unknown piece to it, counts as estimated."""
    embedder = session.embedder
    if not isinstance(embedder, PieceCounter) or embedder.count_pieces("") is None:
        return Measure(count=estimate, counted_by=ESTIMATE, budget=budget)

    def pieces(text: str) -> int:
        count = embedder.count_pieces(text)
        if count is None:
            return estimate(text)
        return count + sum(estimate(word) - 1 for word in _LONG_WORD.findall(text))

    return Measure(count=pieces, counted_by=embedder.model, budget=budget)
