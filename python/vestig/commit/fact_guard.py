"""The fact guard: whether two texts state the same fact.

A token is claimed once, in the order times, dates, units, entities, numbers, negation; `words` sees
a claimed token only as its class. The verdict depends on the two texts alone, never on the store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import attrgetter
from typing import Final

import msgspec

from vestig.commit.fact_guard_words import (
    APOSTROPHES,
    CUE_PAIRS,
    CUES,
    IGNORABLE,
    SPECIAL,
    expanded,
    is_article,
    without_asides,
)
from vestig.language.names.forms import cased_name, norm_name
from vestig.language.names.rules import Name, find_names
from vestig.language.quantities.numbers import Token, find_amounts, find_quantities, tokenise
from vestig.language.text_cache import TextCache
from vestig.language.time.expressions import TemporalExpression, find_expressions, lowered
from vestig.lazy_pattern import lazy_pattern

__all__ = ["GUARD_CLASSES", "GuardText", "differs", "prepare"]

GUARD_CLASSES: Final = ("numbers", "dates", "times", "negation", "units", "entities", "words")

# The classes that a word taken for a part of a name changes.
_BY_NAME: Final = ("entities", "words")
_compared: Final = attrgetter(*GUARD_CLASSES)
# Stands in for a claimed code point while names are looked for: it joins no pattern.
_MASK: Final = "\x1f"
# Times of day in words, with the "12" that may stand before them.
_NOON: Final = lazy_pattern(r"(?<![\w:.])(?:12\s+)?(noon|midnight)\b")
_NOON_CLOCKS: Final = {"noon": "12:00:00", "midnight": "00:00:00"}
# Words of a date that tell its side: "next Friday" is not "on Friday", even where both are one day.
_DIRECTIONS: Final = {
    **{word: word for word in ("last", "this", "next", "every")},
    "past": "last",
    "each": "every",
}
# Types of identifiers, versions, paths and files, and the marks around quoted words: what is
# compared with its capitals, for `userId` is not `userID`.
_CASED_TYPES: Final = frozenset(("SYSTEM", "FILE"))
_QUOTES: Final = frozenset("\"“«`'‘")  # noqa: RUF001
_INNER_CAPITAL: Final = lazy_pattern("[a-z0-9][A-Z]")
# Words joined by signs, such as passwords and codes.
_JOINED: Final = lazy_pattern(r"(?<!\w)[^\W_]\w*(?:[-./:@#+]\w+)+")
_DIGIT: Final = lazy_pattern("[0-9]")
# The sign first, then what stands around it: so the search skips to signs.
_JOINT: Final = lazy_pattern(r"[-./:@#+](?<=\w.)(?=\w)")


class GuardText(msgspec.Struct, frozen=True, kw_only=True):
    """What the guard compares of one text: the classes in the order of `GUARD_CLASSES`.

    `openings`: the text, its reference and zone, and where in it names begin that hold the first
    word of a sentence ("Remind Ben"); None where there are none.
    """

    numbers: tuple[str, ...]
    dates: tuple[tuple[object, ...], ...]
    times: tuple[str, ...]
    negation: tuple[str, ...]
    units: tuple[tuple[str, str], ...]
    entities: tuple[str, ...]
    words: tuple[str, ...]
    openings: tuple[str, int, str, tuple[int, ...]] | None = None


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


_DIGITS: Final = lazy_pattern(r"\d+")


def _date_key(found: TemporalExpression) -> tuple[object, ...]:
    words = found.text.lower().split()
    if not found.resolved:
        return (" ".join(words),)
    # "before" and "until" name one window and two facts
    opening = words[0] if found.window_start_us is None else ""
    sides = tuple(_DIRECTIONS[word] for word in words if word in _DIRECTIONS)
    # 03/04/2026 and 04/03/2026 leave the same two days open
    figures = tuple(map(int, _DIGITS.findall(found.text))) if found.either else ()
    return (found.window_start_us, found.window_end_us, found.clock, opening, *sides, *figures)


def _is_time(found: TemporalExpression) -> bool:
    """Whether an expression is a time of day without a day."""
    return found.clock is not None and not found.resolved


def _times(
    lower: str, expressions: Iterable[TemporalExpression], claims: _Claims
) -> tuple[str, ...]:
    """Times of day in order, as `HH:MM:SS`."""
    times = [(one.start, one.end, one.clock or "") for one in expressions if _is_time(one)]
    if "noon" in lower or "midnight" in lower:
        times += [(*found.span(), _NOON_CLOCKS[found[1]]) for found in _NOON.finditer(lower)]
        times.sort()
    return tuple(clock for start, end, clock in times if claims.add(start, end, "time"))


def _entity_key(text: str, name: Name) -> str:
    """A name as it is compared: with its capitals where they tell things apart, else without."""
    quoted = name.start > 0 and text[name.start - 1] in _QUOTES
    if name.type in _CASED_TYPES or quoted:
        return cased_name(name.name)
    return _UNCASED[name.name]


def _uncased(name: str) -> str:
    """A name in lower case but for words with a capital inside."""
    if _INNER_CAPITAL.search(name) is None:
        return norm_name(name)
    words = cased_name(name).split()
    return " ".join(word if _INNER_CAPITAL.search(word) else word.lower() for word in words)


_UNCASED: Final = TextCache(_uncased)


def _entities(text: str, claims: _Claims) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names, identifiers, paths, versions and quoted words in order, and where names begin that
    have the first word of their sentence."""
    masked = claims.masked(text)
    found, opening = list[tuple[int, str]](), list[int]()
    for name in find_names(masked):
        if claims.add(name.start, name.end, "entity"):
            found.append((name.start, _entity_key(text, name)))
            if name.opens:
                opening.append(name.start)
    joint = _JOINT.search(masked) if _DIGIT.search(masked) is not None else None
    while joint is not None:
        start, end = masked.rfind(" ", 0, joint.start()) + 1, masked.find(" ", joint.end())
        end = len(masked) if end < 0 else end
        found += [
            (match.start(), match[0])
            for match in _JOINED.finditer(masked, start, end)
            if _is_code(match[0]) and claims.add(*match.span(), "entity")
        ]
        joint = _JOINT.search(masked, end)
    found.sort()
    return tuple([key for _, key in found]), tuple(opening)


def _is_code(joined: str) -> bool:
    """Whether joined words are a code, not ordinary words ("Two-factor")."""
    return any(map(str.isdigit, joined)) and any(map(str.isupper, joined[1:]))


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
            for part in expanded(word, after, index + 2 >= len(items)):
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
        text = text.translate(APOSTROPHES)
    text = without_asides(text)
    lower = lowered(text)
    claims = _Claims(len(text))

    expressions = find_expressions(text, t_ref_us, zone=zone)
    times = _times(lower, expressions, claims)
    dates = [found for found in expressions if not _is_time(found)]
    for found in dates:
        claims.add(found.start, found.end, "date")
    tokens = tokenise(lower)
    amounts = find_amounts(lower, tokens)
    units = [
        (quantity.value, quantity.unit)
        for quantity in find_quantities(text, lower, tokens, amounts)
        if claims.add(quantity.start, quantity.end, "unit")
    ]
    entities, opening = _entities(text, claims)
    numbers = [amount.value for amount in amounts if claims.add(amount.start, amount.end, "number")]
    claims.spans.sort(key=lambda span: span.start)
    items = _with_classes(tokens, claims.spans, lower) if claims.spans else tokens
    words, cues = _words(text, items, tokens[0][0] if tokens else 0)
    return GuardText(
        numbers=tuple(numbers),
        dates=tuple(map(_date_key, dates)),
        times=times,
        negation=tuple(sorted(cues)),
        units=tuple(units),
        entities=entities,
        words=tuple(words),
        openings=(text, t_ref_us, zone, opening) if opening else None,
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
    pairs = zip(GUARD_CLASSES, _compared(a), _compared(b))  # noqa: B905  both have the classes
    different = tuple([name for name, one, other in pairs if one != other and name in classes])
    if different == _BY_NAME and (a.openings or b.openings) and _same_names(a, b):
        return ()
    return different


def _same_names(a: GuardText, b: GuardText) -> bool:
    """Whether two texts have the same names and words when the capital of a sentence's first word
    makes it no part of a name, in one of them or in both."""
    # a first word that is none of a name is a word more
    if len(a.words) == len(b.words) or a.words[-1:] != b.words[-1:]:
        return False
    if not (_holds_tails(a, b) and _holds_tails(b, a)):
        return False
    return any(
        (one.entities, one.words) == (other.entities, other.words)
        for one in _readings(a)
        for other in _readings(b)
    )


def _holds_tails(names: GuardText, other: GuardText) -> bool:
    """A cheap test: False where a name is alone in its text, with and without its first word, and
    is the end of no longer one."""
    known = {name.lower() for name in other.entities}

    def matches(name: str) -> bool:
        tail = name.partition(" ")[2]
        return (
            name in known
            or tail in known
            or tail.rpartition(" ")[2] in other.words
            or any(longer.endswith(f" {name}") for longer in known)
        )

    return all(matches(name.lower()) for name in names.entities)


def _readings(read: GuardText) -> tuple[GuardText, ...]:
    """A text as it is, and with the first words of its sentences in lower case."""
    if read.openings is None:
        return (read,)
    text, t_ref_us, zone, starts = read.openings
    chars = list(text)
    for start in starts:
        chars[start] = lowered(chars[start])
    return read, prepare("".join(chars), t_ref_us, zone)
