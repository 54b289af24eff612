"""The fact guard: whether two texts state the same fact (C-08).

A token is claimed once, in the order dates, units, entities, numbers, negation; `words` sees a
claimed token only as its class. The verdict depends on the two texts alone, never on the store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from vestig.commit.guard_words import (
    IGNORABLE,
    expanded,
    is_article,
    negation_cue,
    without_asides,
)
from vestig.language.entities import find_names, norm_name
from vestig.language.numbers import Token, find_amounts, find_quantities, tokenise
from vestig.language.temporal import TemporalExpression, find_expressions, lowered

__all__ = ["GUARD_CLASSES", "GuardText", "differs", "prepare"]

GUARD_CLASSES: Final = ("numbers", "dates", "negation", "units", "entities", "words")

# Stands in for a claimed code point while names are looked for: it joins no pattern.
_MASK: Final = "\x1f"
_APOSTROPHES: Final = {ord("’"): "'", ord("‘"): "'", ord("ʼ"): "'"}  # noqa: RUF001


class GuardText(msgspec.Struct, frozen=True, kw_only=True):
    """What the guard compares of one text. Fields are the classes of C-08, in table order."""

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
    """Spans already claimed, each with its class."""

    def __init__(self) -> None:
        self.spans: list[_Claim] = []

    def add(self, start: int, end: int, kind: str) -> bool:
        """Claims a span unless a part of it is claimed already."""
        for span in self.spans:
            if start < span.end and span.start < end:
                return False
        self.spans.append(_Claim(start, end, kind))
        return True

    def masked(self, text: str) -> str:
        for span in self.spans:
            text = text[: span.start] + _MASK * (span.end - span.start) + text[span.end :]
        return text


def _date_key(found: TemporalExpression) -> tuple[object, ...]:
    if found.resolved:
        return (found.window_start_us, found.window_end_us, found.clock)
    if found.clock is not None:
        return (found.clock,)
    return (" ".join(found.text.lower().split()),)


def _gap_tokens(tokens: list[Token], spans: list[_Claim], lower: str) -> Iterator[Token | str]:
    """Tokens in order; a claimed span stands as its class, once."""
    index = 0
    for span in spans:
        while index < len(tokens) and tokens[index].start < span.start:
            token = tokens[index]
            index += 1
            if token.end > span.start:
                token = Token(token.start, span.start, lower[token.start : span.start])
            yield token
        yield f"<{span.kind}>"
        while index < len(tokens) and tokens[index].start < span.end:
            if tokens[index].end > span.end:
                rest = Token(span.end, tokens[index].end, lower[span.end : tokens[index].end])
                if rest.text != "'":
                    yield rest
            index += 1
    yield from tokens[index:]


def _words(text: str, parts: list[Token | str], initial: int | None) -> tuple[list[str], list[str]]:
    """(words, negation cues) of what is left when the other classes have claimed theirs."""
    words: list[str] = []
    cues: list[str] = []
    flat: list[tuple[str, Token | None]] = []
    for index, part in enumerate(parts):
        if isinstance(part, str):
            flat.append((part, None))
            continue
        following = parts[index + 1] if index + 1 < len(parts) else ""
        after = following if isinstance(following, str) else following.text
        flat.extend((word, part) for word in expanded(part.text, after))
    index = 0
    while index < len(flat):
        word, token = flat[index]
        after = flat[index + 1][0] if index + 1 < len(flat) else ""
        index += 1
        if token is None:
            words.append(word)
            continue
        cue, taken = negation_cue(word, after)
        if cue is not None:
            cues.append(cue)
            words.append("<negation>")
            index += taken
        elif word not in IGNORABLE or (
            word == "a"
            and text[token.start] == "A"
            and token.end - token.start == 1
            and not is_article(token.start == initial, after)
        ):
            words.append(word)
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
    claims = _Claims()

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
    initial = tokens[0].start if tokens else None
    parts = list(_gap_tokens(tokens, claims.spans, lower))
    words, cues = _words(text, parts, initial)
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
    """The classes in which two texts differ, in table order; () = they state the same fact.

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
