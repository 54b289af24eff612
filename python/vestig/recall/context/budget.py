"""The budget of a text for an agent: how many tokens it has, short ids, and long texts that share
it, so that the best results all have some of their text.

A text that does not fit its share is cut where a sentence or a word ends, and says how the whole of
it is shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Final

import msgspec

from vestig.answers import ContextBlock
from vestig.ids import PREFIX_CHARS_MIN
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import PieceCounter
from vestig.printed import clean
from vestig.recall.context.block import (
    ESTIMATE,
    FURTHER_LINE,
    Counted,
    Entry,
    Measure,
    block,
    estimate,
)
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView

# So many of the best results have a share each; what these leave goes to the others.
_BEST: Final = 5
# A share has at least so many tokens, or fewer results have one.
_SHARE_TOKENS_MIN: Final = 20
# A sentence that ends behind this share of what fits is where a text is cut.
_SENTENCE_SHARE: Final = 0.6
_UNBOUNDED: Final = 2**40
# What a block may need beside its lines, where these together cost more than one by one.
_STEP: Final = 4
_WORD: Final = lazy_pattern(r"\S+")
_SENTENCE_END: Final = lazy_pattern(r"[.!?…。！？][\"'”’)\]]*$")  # noqa: RUF001
# More ids than this that begin with the same eight characters do not occur by chance.
_ALIKE_MAX: Final = 1_000
_LONG_WORD: Final = lazy_pattern(r"[^\s!-/:-@\[-`{-~]{101,}")

Count = Callable[[str], int]


def shared_block(
    entries: Sequence[Entry],
    twins: AbstractSet[frozenset[str]],
    measure: Measure,
    short_ids: Mapping[str, str],
    *,
    zone: str = "UTC",
    counted: Counted | None = None,
) -> ContextBlock:
    """Return what `block` returns, but that texts are cut where whole ones would leave one of the
    best results out.

    Args:
        entries, twins, measure, short_ids, zone, counted: as `block`.
    """
    measure = msgspec.structs.replace(measure, count=cache(measure.count))
    whole = block(entries, twins, measure, short_ids, zone=zone, counted=counted)
    results = sorted(
        (one for one in entries if not (one.neighbour or one.linked)), key=lambda one: one.rank
    )
    best = [one for one in results if one.memory.id not in whole.folded][:_BEST]
    left_out = {one.id for one in whole.left_out}
    unbounded = msgspec.structs.replace(measure, budget=_UNBOUNDED)
    if left_out.isdisjoint(one.memory.id for one in best):
        first = block(best[:1], frozenset(), unbounded, short_ids, zone=zone, counted=counted)
        if first.tokens <= measure.budget:
            return whole
    count = _of_lines(measure.count)
    needs = [count(clean(one.memory.content)) for one in best]
    for shown in range(len(best), 0, -1):
        chosen = [one.memory.id for one in best[:shown]]
        found = _shared(
            entries,
            chosen,
            needs[:shown],
            twins,
            measure=measure,
            short_ids=short_ids,
            zone=zone,
            counted=counted,
        )
        if found is not None:
            return found
    return whole


def _of_lines(count: Count) -> Count:
    """Counts a text as the lines of a block have it."""
    return lambda text: count(text.replace("\n", FURTHER_LINE))


def _shared(
    entries: Sequence[Entry],
    chosen: Sequence[str],
    needs: Sequence[int],
    twins: AbstractSet[frozenset[str]],
    *,
    measure: Measure,
    short_ids: Mapping[str, str],
    zone: str,
    counted: Counted | None,
) -> ContextBlock | None:
    """The block with a share for each of the chosen memories; None where they do not fit."""
    least = sum(min(need, _SHARE_TOKENS_MIN) for need in needs)
    unbounded = msgspec.structs.replace(measure, budget=_UNBOUNDED)
    room = measure.budget
    while room >= least:
        shares = dict(zip(chosen, _shares(needs, room), strict=True))
        most = room // _BEST
        cut = [
            _cut(one, shares.get(one.memory.id, most), short_ids, _of_lines(measure.count))
            for one in entries
        ]
        own = [one for one in cut if one.memory.id in shares]
        whole = block(own, twins, unbounded, short_ids, zone=zone, counted=counted)
        excess = whole.tokens - measure.budget
        if excess <= 0:
            found = block(cut, twins, measure, short_ids, zone=zone, counted=counted)
            left_out = {one.id for one in found.left_out}
            if left_out.isdisjoint(shares):
                return found
        room -= max(excess, _STEP)
    return None


def _cut(entry: Entry, share: int, short_ids: Mapping[str, str], count: Count) -> Entry:
    """The entry with so much of its text as has at most `share` tokens."""
    memory = entry.memory
    mark = f"… (show {short_ids[memory.id]})"
    text = clean(memory.content)
    if count(text) > share:
        text = fitting_text(entry.cut_text, share, mark, count)
    shown = msgspec.structs.replace(memory, content=text)
    return msgspec.structs.replace(entry, memory=shown)


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


def fitting_text(text: str, share: int, mark: str, count: Count) -> str:
    """The text, or so much of its beginning as has at most `share` tokens with its mark.

    Example:
        >>> words = lambda text: len(text.split())
        >>> fitting_text("One is here. Two is there. Three is nowhere.", 7, "…", words)
        'One is here. Two is there. …'
    """
    if count(text) <= share:
        return text
    ends = [word.end() for word in _WORD.finditer(text)]

    def tokens(end: int) -> int:
        return count(text[:end] + mark)

    fitting = bisect_right(ends, share, key=tokens)
    if fitting == 0:
        # a word without end, such as an address, or a script that writes no spaces
        first = range(1, ends[0] if ends else 1)
        return text[: bisect_right(first, share, key=tokens)] + mark
    end = ends[fitting - 1]
    for earlier in reversed(ends[:fitting]):
        if earlier < _SENTENCE_SHARE * end:
            break
        if _SENTENCE_END.search(text[:earlier]):
            end = earlier
            break
    shown = text[:end] + (f" {mark}" if _SENTENCE_END.search(text[:end]) else mark)
    return shown if count(shown) <= share else text[: ends[fitting - 1]] + mark


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
            short[id] = body[: 1 + max(_common_chars(body, other) for other in others)]
    return short


def _common_chars(one: str, other: str) -> int:
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
