"""The texts of `recall` and `retrieve` within a budget of tokens.

Each begins with the line that says how sure the store is; below it stands a block of quoted
memories, as `recall(context=True)` makes it. A text that does not fit its share of the budget is
cut where a sentence or word ends, and says how the whole of it is shown. What degraded, and
warnings, come last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Final

import msgspec
from msgspec import UNSET

from vestig.answers import RecallHit, RecallResult
from vestig.recall.context.block import ESTIMATE, Entry, Measure, clean
from vestig.recall.context.shares import fitting_text, shared_block
from vestig.recall.layouts import confidence_line, first_line, line_without_results
from vestig.recall.reason import contribution
from vestig.retrieve.result import RetrieveResult
from vestig.types import Degradation

__all__ = [
    "BUDGET_EXPLAINED",
    "BUDGET_MIN",
    "ESTIMATED",
    "Layout",
    "quoted",
    "recall_text",
    "retrieve_text",
]

# Tokens of an explained result where the caller gives no budget.
BUDGET_EXPLAINED: Final = 2_500
# What the first line and the head of one memory need, with some of its text.
BUDGET_MIN: Final = 100
# Of an explained result so much is for the memories, unless a result without reasons has less.
_EXPLAINED_SHARE: Final = 0.5
# What degraded is named without its sentences where these take more of the budget.
_NOTES_SHARE: Final = 0.2
# A summary by a model takes no more of the budget.
_SUMMARY_SHARE: Final = 0.35
_STEP: Final = 2
_QUOTE: Final = "> "
_PARAGRAPH: Final = "\n\n"
_DECIMALS: Final = 4
ESTIMATED: Final = Degradation(code="tokens_estimated", detail="the embedder counts none")

Count = Callable[[str], int]


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Means with which the texts are made.

    Args:
        entries: memories for the block, each once.
        twins: pairs of ids that say the same.
        short_ids: id → the short form that stands for it, of every entry.
        measure: how tokens are counted, and how many there may be.
        zone: time zone in which days begin.
    """

    entries: Sequence[Entry]
    twins: AbstractSet[frozenset[str]]
    short_ids: Mapping[str, str]
    measure: Measure
    zone: str = "UTC"


def recall_text(result: RecallResult, layout: Layout, *, explained: int | None = None) -> str:
    """A result as a text of at most `layout.measure.budget` tokens. Where recall abstained, its
    nearest misses are shown.

    Args:
        explained: None, or how many tokens a result without reasons has: what is left above these
            is for the score, the sentence and the signals of each memory. The smallest
            contributions are left out first.
    """
    hits = result.nearest_misses if result.abstained else result.results
    if not hits:
        notes = _notes(result.degraded, result.warnings, layout.measure)
        return _joined(line_without_results(result), notes)
    budget = layout.measure.budget
    fit = _Fit(layout, first_line(result), (result.degraded, result.warnings))
    if explained is None:
        return fit.text(budget)
    memories = max(BUDGET_MIN, min(explained, int(budget * _EXPLAINED_SHARE)))
    text = fit.text(memories)
    head = f"Why (seq {result.seq}):"
    room = budget - fit.count(f"{text}{_PARAGRAPH}{head}")
    while room > 0:
        lines = _reasons(hits, layout.short_ids, room, fit.count)
        whole = _joined(text, "\n".join([head, *lines]))
        excess = fit.count(whole) - budget
        if not lines:
            break
        if excess <= 0:
            return whole
        room -= excess
    return text


def retrieve_text(result: RetrieveResult, layout: Layout) -> str:
    """Facts and turns of a retrieval as a text of at most `layout.measure.budget` tokens, a model's
    summary in it."""
    found = result.metadata
    budget = layout.measure.budget
    fit = _Fit(layout, confidence_line(found.confidence_score), (found.degraded, found.warnings))
    summary = ""
    if result.context_summary:
        room = int(budget * _SUMMARY_SHARE)
        whole = clean(result.context_summary)
        text = fitting_text(whole, room, "…", lambda one: fit.count(quoted(one)))
        summary = f"Summary by a model of such data:\n{quoted(text)}"
    return fit.text(budget, summary)


def quoted(text: str) -> str:
    """Every line of a stored text behind a mark."""
    return "\n".join(f"{_QUOTE}{line}" for line in text.splitlines() or [""])


class _Fit:
    """The first line, the block and the notes of one result."""

    def __init__(
        self,
        layout: Layout,
        first: str | None,
        notes: tuple[Sequence[Degradation], Sequence[str]],
    ) -> None:
        self._layout = msgspec.structs.replace(
            layout,
            measure=msgspec.structs.replace(layout.measure, count=cache(layout.measure.count)),
        )
        self._first = first
        self._notes = notes
        self.count: Count = self._layout.measure.count

    def text(self, budget: int, beside: str = "") -> str:
        """The text within a budget.

        Args:
            beside: what stands between the block and the notes.
        """
        layout = self._layout
        measure = msgspec.structs.replace(layout.measure, budget=budget)
        notes = _notes(*self._notes, measure)
        frame = _joined(self._first, beside, notes)
        room = budget - self.count(frame)
        while room > 0:
            measure = msgspec.structs.replace(layout.measure, budget=room)
            found = shared_block(
                layout.entries, layout.twins, measure, layout.short_ids, zone=layout.zone
            )
            text = _joined(self._first, found.text, beside, notes)
            excess = self.count(text) - budget
            if excess <= 0:
                return text
            room -= max(excess, _STEP)
        return frame


def _joined(*parts: str | None) -> str:
    return _PARAGRAPH.join(part for part in parts if part)


def _notes(degraded: Sequence[Degradation], warnings: Sequence[str], measure: Measure) -> str:
    """Return what made the answer weaker, and warnings; codes alone where a budget has little
    room."""
    if measure.counted_by == ESTIMATE:
        degraded = [*degraded, ESTIMATED]
    codes = [f"Degraded: {', '.join(one.code for one in degraded)}."] if degraded else []
    whole = [f"Degraded: {one.code} ({one.detail})." for one in degraded]
    text = "\n".join([*whole, *(f"Warning: {one}" for one in warnings)])
    if measure.count(text) <= measure.budget * _NOTES_SHARE:
        return text
    return "\n".join([*codes, *([f"{len(warnings)} warnings."] if warnings else [])])


def _reasons(
    hits: Sequence[RecallHit], short_ids: Mapping[str, str], room: int, count: Count
) -> list[str]:
    """Lines with the score and sentence of each hit, then the greatest contributions of all hits
    as value × weight, as long as they fit."""
    heads, left = list[str](), room
    for hit in hits:
        similarity = "" if hit.similarity is None else f", similarity {_number(hit.similarity)}"
        sentence = hit.reason.explanation
        said = "" if sentence is UNSET else f": {clean(' '.join(sentence.split()))}"
        line = f"[{short_ids[hit.id]}] score {_number(hit.score)}{similarity}{said}"
        left -= count(f"\n{line}")
        if left < 0:
            return heads
        heads.append(line)
    weighed = [
        (abs(contribution(signal)), place, name, signal)
        for place, hit in enumerate(hits)
        if hit.reason.signals is not UNSET
        for name, signal in hit.reason.signals.items()
        if contribution(signal) != 0
    ]
    signals: list[list[str]] = [[] for _ in hits]
    for _, place, name, signal in sorted(weighed, key=lambda one: (-one[0], one[1], one[2])):
        value = signal.raw
        term = f"{name} {_number(value)} × {_number(signal.weight)}"
        left -= count(f", {term}") + (0 if signals[place] else count("\n  "))
        if left < 0:
            break
        signals[place].append(term)
    lines = list[str]()
    for head, terms in zip(heads, signals, strict=True):
        lines += [head, *([f"  {', '.join(terms)}"] if terms else [])]
    return lines


def _number(value: float) -> str:
    return f"{round(value, _DECIMALS):g}"
