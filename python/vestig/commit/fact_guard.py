"""The fact guard: whether two texts state the same fact.

A token is claimed once, in the order dates, units, entities, numbers, negation; `words` sees a
claimed token only as its class. The verdict depends on the two texts alone, never on the store.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from vestig.commit.fact_guard_words import (
    CUE_PAIRS,
    CUES,
    IGNORABLE,
    SPECIAL,
    expanded,
    is_article,
    without_asides,
)
from vestig.language.names.forms import norm_name
from vestig.language.names.rules import find_names
from vestig.language.quantities.numbers import Token, find_amounts, find_quantities, tokenise
from vestig.language.time.expressions import TemporalExpression, find_expressions, lowered

__all__ = ["GUARD_CLASSES", "GuardText", "differs", "prepare"]

GUARD_CLASSES: Final = ("numbers", "dates", "negation", "units", "entities", "words")

# Stands in for a claimed code point while names are looked for: it joins no pattern.
_MASK: Final = "\x1f"
_APOSTROPHES: Final = {ord("’"): "'", ord("‘"): "'", ord("ʼ"): "'"}  # noqa: RUF001


class GuardText(msgspec.Struct, frozen=True, kw_only=True):
    """What the guard compares of one text. Fields are the classes in the order of
    `GUARD_CLASSES`."""

    numbers: tuple[str, ...]
    dates: tuple[tuple[object, ...], ...]
    negation: tuple[str, ...]
    units: tuple[tuple[str, str], ...]
    entities: tuple[str, ...]
    words: tuple[str, ...]


class _Claim(msgspec.Struct, frozen=True):
    start: int
    end: int
    kind: str


class _Claims:
    """Spans of a text already claimed, each with its class."""

    def __init__(self, length: int) -> None:
        self.spans: list[_Claim] = []
        self._taken = bytearray(length)

    def add(self, start: int, end: int, kind: str) -> bool:
        """Claims a span unless a part of it is claimed already."""
        if self._taken.find(1, start, end) >= 0:
            return False
        self._taken[start:end] = b"\1" * (end - start)
        self.spans.append(_Claim(start, end, kind))
        return True

    def masked(self, text: str) -> str:
        """The text with every claimed code point hidden."""
        pieces: list[str] = []
        position = 0
        for span in sorted(self.spans, key=lambda span: span.start):
            pieces += (text[position : span.start], _MASK * (span.end - span.start))
            position = span.end
        return "".join(pieces) + text[position:]


def _date_key(found: TemporalExpression) -> tuple[object, ...]:
    if found.resolved:
        # "before" and "until" name one window and two facts
        opening = found.text.split(maxsplit=1)[0].lower() if found.window_start_us is None else ""
        return (found.window_start_us, found.window_end_us, found.clock, opening)
    if found.clock is not None:
        return (found.clock,)
    return (" ".join(found.text.lower().split()),)


def _with_classes(tokens: list[Token], spans: list[_Claim], lower: str) -> list[Token]:
    """Tokens in order; a claimed span stands once, as its class, with negative offsets."""
    items: list[Token] = []
    index, count = 0, len(tokens)
    for span in spans:
        while index < count and tokens[index][0] < span.start:
            start, end, word = tokens[index]
            items.append((start, end, word) if end <= span.start else
                         (start, span.start, lower[start : span.start]))  # fmt: skip
            index += 1
        items.append((-1, -1, f"<{span.kind}>"))
        while index < count and tokens[index][0] < span.end:
            end = tokens[index][1]
            if end > span.end and (rest := lower[span.end : end]) != "'":
                items.append((span.end, end, rest))
            index += 1
    items.extend(tokens[index:])
    return items


def _words(text: str, items: list[Token], first: int) -> tuple[list[str], list[str]]:
    """(words, negation cues) of what no other class has claimed.

    `first` is the offset of the first token.
    """
    words: list[str] = []
    cues: list[str] = []
    skip = False
    for index, (start, end, word) in enumerate(items):
        if skip:
            skip = False
            continue
        if word not in SPECIAL:
            if "'" not in word:
                words.append(word)
                continue
        elif word in IGNORABLE and not (word == "a" and end - start == 1 and text[start] == "A"):
            continue
        after = items[index + 1][2] if index + 1 < len(items) else ""
        pair = f"{word} {after}"
        if pair in CUE_PAIRS:
            cues.append(pair)
            words.append("<negation>")
            skip = True
        elif word == "a":
            if not is_article(start == first, after):
                words.append(word)
        else:
            for part in expanded(word, after):
                if part in CUES:
                    cues.append(part)
                    words.append("<negation>")
                elif part not in IGNORABLE:
                    words.append(part)
    return words, cues


def prepare(text: str, t_ref_us: int, zone: str = "UTC") -> GuardText:
    """Everything the guard compares of one text; depends on nothing else, so it can be kept.

    Args:
        text: a normalised text.
        t_ref_us: the moment its relative times are measured from.
        zone: name of the time zone in which days begin.

    Example:
        >>> prepare("the office is in Oslo", 0).entities
        ('oslo',)
    """
    if not text.isascii():
        text = text.translate(_APOSTROPHES)
    text = without_asides(text)
    lower = lowered(text)
    claims = _Claims(len(text))

    dates = find_expressions(text, t_ref_us, zone=zone, is_memory=True)
    for found in dates:
        claims.add(found.start, found.end, "date")
    tokens = tokenise(lower)
    amounts = find_amounts(lower, tokens)
    units = [
        (quantity.value, quantity.unit)
        for quantity in find_quantities(text, lower, tokens, amounts)
        if claims.add(quantity.start, quantity.end, "unit")
    ]
    entities = [
        norm_name(name.name)
        for name in find_names(claims.masked(text))
        if claims.add(name.start, name.end, "entity")
    ]
    numbers = [amount.value for amount in amounts if claims.add(amount.start, amount.end, "number")]
    claims.spans.sort(key=lambda span: span.start)
    items = _with_classes(tokens, claims.spans, lower) if claims.spans else tokens
    words, cues = _words(text, items, tokens[0][0] if tokens else 0)
    return GuardText(
        numbers=tuple(numbers),
        dates=tuple(map(_date_key, dates)),
        negation=tuple(sorted(cues)),
        units=tuple(units),
        entities=tuple(entities),
        words=tuple(words),
    )


def differs(
    a: GuardText, b: GuardText, classes: Collection[str] = GUARD_CLASSES
) -> tuple[str, ...]:
    """The classes in which two texts differ, in the order of `GUARD_CLASSES`; () = they state
    the same fact.

    Args:
        a, b: prepared texts; the order does not matter.
        classes: which classes count (`hygiene.near_duplicate.guard`).

    Example:
        >>> differs(prepare("the limit is 500 EUR", 0), prepare("the limit is 500 USD", 0))
        ('units',)
    """
    return tuple(
        name for name in GUARD_CLASSES if name in classes and getattr(a, name) != getattr(b, name)
    )
