"""The result of the tool `recall` within a budget of tokens: a text for an agent to read, and
numbers for a program. No text stands in both. What links lead to from the results comes behind
them, as far as there is room.

The text has a line that says how sure the store is, then one block for each memory: its short id,
day, author or role and what limits it, and below that the stored text, each line behind `> `, so
that no stored line can pass for one of Vestig's. A text that does not fit its share of the budget
is cut where a sentence or word ends, and says how the whole of it is shown.

Tokens of text and JSON are counted together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import UNSET

from vestig.answers import RecallHit, RecallResult
from vestig.lazy_pattern import lazy_pattern
from vestig.recall.context.block import ESTIMATE, Entry, Measure, clean, estimate, limits, on_line
from vestig.recall.context.dates import day_of
from vestig.recall.layouts import first_line, line_without_results
from vestig.recall.reason import contribution
from vestig.surfaces import wire
from vestig.types import Degradation

__all__ = [
    "BUDGET_EXPLAINED",
    "BUDGET_MIN",
    "ESTIMATED",
    "RecallLayout",
    "quoted",
    "recall_layout",
    "replaced_ids",
]

# Tokens of an explained result where the caller gives no budget.
BUDGET_EXPLAINED: Final = 2_500
# What the numbers and the head of one memory need, with some of its text.
BUDGET_MIN: Final = 200
# A text has at least so many tokens, or its memory is left out.
_TEXT_TOKENS_MIN: Final = 20
# A head has neither day nor author where it would be longer than this share of the budget.
_HEAD_SHARE: Final = 1 / 16
_HEAD_TOKENS: Final = (24, 48)
# A sentence that ends behind this share of what fits is where a text is cut.
_SENTENCE_SHARE: Final = 0.6
_QUOTE: Final = "> "
_REPLACES: Final = "supersedes: "
_BLOCK: Final = "\n\n"
_DECIMALS: Final = 4
_WORD: Final = lazy_pattern(r"\S+")
_LONG_WORD: Final = lazy_pattern(r"[^\s!-/:-@\[-`{-~]{101,}")
_SENTENCE_END: Final = lazy_pattern(r"[.!?…。！？][\"'”’)\]]*$")  # noqa: RUF001
ESTIMATED: Final = Degradation(code="tokens_estimated", detail="the embedder counts none")

Count = Callable[[str], int]


class RecallLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The text, the structured content, and the tokens of both together."""

    text: str
    content: dict[str, Any]
    tokens: int


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """One memory: its head without the text, its text without hidden characters, its numbers."""

    hit: RecallHit
    head: str
    text: str
    mark: str
    numbers: dict[str, Any]


def recall_layout(
    result: RecallResult,
    measure: Measure,
    short_ids: Mapping[str, str],
    *,
    zone: str = "UTC",
    explained: bool = False,
) -> RecallLayout:
    """A result as text and numbers that together have at most `measure.budget` tokens, at least
    `BUDGET_MIN` of them.

    Args:
        result: what recall returned; where it abstained, its nearest misses are shown.
        measure: how tokens are counted, and how many there may be.
        short_ids: id → the short form that stands for it, for every hit.
        zone: time zone in which days begin.
        explained: with the sentence and signals of each reason, as far as they fit: the smallest
            contributions are left out first.
    """
    hits = result.nearest_misses if result.abstained else result.results
    return _Fit(result, hits, measure, short_ids, zone=zone, explained=explained).layout()


class _Fit:
    """Divides the budget between numbers, heads, reasons and texts."""

    def __init__(
        self,
        result: RecallResult,
        hits: Sequence[RecallHit],
        measure: Measure,
        short_ids: Mapping[str, str],
        *,
        zone: str,
        explained: bool,
    ) -> None:
        self.result = result
        self.count: Count = cache(lambda text: measure.count(text) + _uncounted(text))
        self.budget = measure.budget
        self.estimated = measure.counted_by == ESTIMATE
        self.explained = explained
        # notices without their sentences, where a small budget has no room for these
        self.terse = False
        self.short_ids = short_ids
        self.rows = [self._row(hit, zone) for hit in hits]
        self.associated = [
            msgspec.structs.replace(row, head=f"Related: {row.head}")
            for row in (self._row(hit, zone) for hit in result.associated)
        ]

    def _row(self, hit: RecallHit, zone: str) -> _Row:
        short = self.short_ids[hit.id]
        numbers = {
            "id": short,
            "score": round(hit.score, _DECIMALS),
            "similarity": None if hit.similarity is None else round(hit.similarity, _DECIMALS),
            "t_valid": hit.memory.t_valid,
        }
        head = self._head(hit, short, zone)
        return _Row(
            hit=hit,
            head=head,
            text=clean(hit.content),
            mark=f"… (show {short})",
            numbers=numbers,
        )

    def _head(self, hit: RecallHit, short: str, zone: str) -> str:
        memory = hit.memory
        flags = hit.reason.flags
        entry = Entry(memory=memory, rank=0, flags=() if flags is UNSET else flags)
        speaker = on_line(memory.author) if memory.author is not None else ""
        if not speaker and memory.role is not None:
            speaker = memory.role.value
        replaced = [self.short_ids[id] for id in replaced_ids(hit)]
        states = (limits(entry, zone), f"(replaces {', '.join(replaced)})" if replaced else "")
        head = " ".join(
            word for word in (f"[{short}]", day_of(memory.t_valid, zone), speaker, *states) if word
        )
        least, most = _HEAD_TOKENS
        if self.count(head) <= min(most, max(least, int(self.budget * _HEAD_SHARE))):
            return f"{head}:"
        return " ".join(word for word in (f"[{short}]", states[0]) if word) + ":"

    def layout(self) -> RecallLayout:
        """As many of the best memories as have room for some of their text."""
        noted = bool(self.result.degraded or self.result.warnings or self.estimated)
        for shown in range(len(self.rows), -1, -1):
            for terse in (False, True)[: 1 + noted]:
                self.terse = terse
                found = self._with(self.rows[:shown])
                if found is not None:
                    return found if shown < len(self.rows) else self._with_associated(found)
        return self._measured([], [], [])

    def _with_associated(self, found: RecallLayout) -> RecallLayout:
        """With what links lead to from the results, whole texts, as many of the best as fit."""
        for row in self.associated:
            text = f"{found.text}{_BLOCK}{row.head}\n{quoted(row.text)}"
            known = found.content.get("associated", [])
            numbers = msgspec.json.decode(wire.encode(row.numbers))
            content = {**found.content, "associated": [*known, numbers]}
            tokens = self.count(text) + self.count(wire.encode(content).decode())
            if tokens > self.budget:
                break
            found = RecallLayout(text=text, content=content, tokens=tokens)
        return found

    def _with(self, rows: Sequence[_Row]) -> RecallLayout | None:
        """The layout of these rows; None where they do not fit."""
        needs = [self.count(quoted(row.text)) for row in rows]
        reasons: list[dict[str, Any]] = [{} for _ in rows]
        frame = self._measured(rows, [""] * len(rows), reasons).tokens
        room = self.budget - frame
        least = sum(min(need, _TEXT_TOKENS_MIN) for need in needs)
        if room < least and rows:
            return None
        for_reasons = max(room - sum(needs), room // 2) if self.explained else 0
        while True:
            if self.explained:
                reasons = _reasons([row.hit for row in rows], for_reasons, self.count)
            used = self._measured(rows, [""] * len(rows), reasons).tokens - frame
            shares = _shares(needs, max(room - used, 0))
            texts = [
                _fitting(row, share, self.count) for row, share in zip(rows, shares, strict=True)
            ]
            found = self._measured(rows, texts, reasons)
            excess = found.tokens - self.budget
            if excess <= 0:
                return found
            if for_reasons > 0:
                for_reasons -= excess
            elif room > least:
                room -= excess
            else:
                return None

    def _measured(
        self, rows: Sequence[_Row], texts: Sequence[str], reasons: Sequence[dict[str, Any]]
    ) -> RecallLayout:
        text, content = self._text(rows, texts), self._content(rows, reasons)
        tokens = self.count(text) + self.count(wire.encode(content).decode())
        return RecallLayout(text=text, content=content, tokens=tokens)

    def _text(self, rows: Sequence[_Row], texts: Sequence[str]) -> str:
        if not self.rows:
            return line_without_results(self.result)
        blocks = [f"{row.head}\n{text}" for row, text in zip(rows, texts, strict=True)]
        first = first_line(self.result)
        left_out = len(self.rows) - len(rows)
        note = f"{left_out} more left out: raise budget or lower limit." if left_out else None
        return _BLOCK.join(part for part in (first, *blocks, note) if part is not None)

    def _content(self, rows: Sequence[_Row], reasons: Sequence[dict[str, Any]]) -> dict[str, Any]:
        result = self.result
        confidence = result.confidence
        numbers = [
            {**row.numbers, **({"reason": reason} if reason else {})}
            for row, reason in zip(rows, reasons, strict=True)
        ]
        content: dict[str, Any] = {
            "confidence": None if confidence is None else round(confidence, _DECIMALS),
            "abstained": result.abstained,
            "seq": result.seq,
            "results": [] if result.abstained else numbers,
        }
        if result.abstained:
            content["nearest_misses"] = numbers
        degraded = [*result.degraded, *([ESTIMATED] if self.estimated else [])]
        if degraded:
            content["degraded"] = [one.code for one in degraded] if self.terse else degraded
        if result.warnings and not self.terse:
            content["warnings"] = result.warnings
        plain: dict[str, Any] = msgspec.json.decode(wire.encode(content))
        return plain


def replaced_ids(hit: RecallHit) -> list[str]:
    """Ids of the memories in whose place a hit stands."""
    flags = hit.reason.flags
    named = () if flags is UNSET else flags
    return [flag.removeprefix(_REPLACES) for flag in named if flag.startswith(_REPLACES)]


def quoted(text: str) -> str:
    """Every line of a stored text behind a mark."""
    return "\n".join(f"{_QUOTE}{line}" for line in text.splitlines() or [""])


def _uncounted(text: str) -> int:
    """What word pieces leave out: a word of more than 100 characters is one unknown piece to them,
    and many tokens to a language model."""
    return sum(estimate(word) - 1 for word in _LONG_WORD.findall(text))


def _shares(needs: Sequence[int], room: int) -> list[int]:
    """How many tokens each text gets: what it needs where all fit; else what the shorter ones
    leave is divided evenly.

    Example:
        >>> _shares([10, 100, 100], 110), _shares([10, 20], 100)
        ([10, 50, 50], [10, 20])
    """
    shares = [0] * len(needs)
    left, open_texts = room, len(needs)
    for place in sorted(range(len(needs)), key=lambda place: needs[place]):
        shares[place] = min(needs[place], left // open_texts)
        left -= shares[place]
        open_texts -= 1
    return shares


def _fitting(row: _Row, share: int, count: Count) -> str:
    """The quoted text of a row, or so much of it as has at most `share` tokens with its mark."""
    whole = quoted(row.text)
    if count(whole) <= share:
        return whole
    ends = [word.end() for word in _WORD.finditer(row.text)]

    def tokens(end: int) -> int:
        return count(quoted(row.text[:end] + row.mark))

    fitting = bisect_right(ends, share, key=tokens)
    if fitting == 0:
        # a word without end, such as an address, or a script that writes no spaces
        first = range(1, ends[0] if ends else 1)
        end = bisect_right(first, share, key=tokens)
        return quoted(row.text[:end] + row.mark)
    end = ends[fitting - 1]
    for earlier in reversed(ends[:fitting]):
        if earlier < _SENTENCE_SHARE * end:
            break
        if _SENTENCE_END.search(row.text[:earlier]):
            end = earlier
            break
    mark = row.mark if not _SENTENCE_END.search(row.text[:end]) else f" {row.mark}"
    shown = quoted(row.text[:end] + mark)
    return shown if count(shown) <= share else quoted(row.text[: ends[fitting - 1]] + row.mark)


def _reasons(hits: Sequence[RecallHit], room: int, count: Count) -> list[dict[str, Any]]:
    """The sentence and signals of each hit: sentences first, then the greatest contributions of
    all hits, as long as they fit."""
    found: list[dict[str, Any]] = [{} for _ in hits]
    left = room
    for reason, hit in zip(found, hits, strict=True):
        sentence = hit.reason.explanation
        if sentence is UNSET:
            continue
        cost = count(f',"reason":{{"explanation":{wire.encode(sentence).decode()}}}')
        if cost > left:
            return found
        reason["explanation"] = sentence
        left -= cost
    weighed = [
        (abs(contribution(signal)), place, name, signal)
        for place, hit in enumerate(hits)
        if hit.reason.signals is not UNSET
        for name, signal in hit.reason.signals.items()
        if contribution(signal) != 0
    ]
    for _, place, name, signal in sorted(weighed, key=lambda one: (-one[0], one[1], one[2])):
        value = signal.raw if signal.normalised is None else signal.normalised
        pair = [round(value, _DECIMALS), round(signal.weight, _DECIMALS)]
        cost = count(f',"{name}":{wire.encode(pair).decode()}')
        cost += 0 if "signals" in found[place] else count(',"signals":{}')
        if cost > left:
            break
        found[place].setdefault("signals", {})[name] = pair
        left -= cost
    return found
