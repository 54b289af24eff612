"""A sentence with its words, its clauses and the cues of direction among them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import Final

import msgspec

from vestig.language.time.cues import Cue, Token, cues_of, tokens_of
from vestig.lazy_pattern import lazy_pattern

_VOCATIVE_WORDS: Final = 2
_start: Final = itemgetter(0)
_end: Final = itemgetter(1)
_CLAUSE_END: Final = lazy_pattern(
    r",(?!\d)|[;:(){}\[\]\n\"“”—–]|\s-\s"
    r"|\b(?:and|but|because|that|when|which|who|where|while|although|though|if|unless|so|whereas"
    r"|than|whether|how|what|why)\b"
)
_WORD_BEFORE: Final = lazy_pattern(r"(\w+)\s+(?:the\s+)?$")


class Place(msgspec.Struct, frozen=True):
    """Where an expression stands: its family, and the code points [start, end) without the
    preposition before it."""

    family: str
    start: int
    end: int


class Sentence:
    """A sentence with its words, clauses and cues; made when its first expression asks."""

    def __init__(
        self, text: str, lower: str, start: int, end: int, places: Sequence[Place]
    ) -> None:
        self.text, self.lower = text, lower
        self.start, self.end = start, end
        self.tokens: list[Token] = tokens_of(lower, start, end)
        ends = [found.start() for found in _CLAUSE_END.finditer(lower, start, end)]
        places = [one for one in places if one.start < end and one.end > start]
        for one in places:
            ends = [at for at in ends if not one.start < at < one.end]
        self.ends = ends
        clauses = [bisect_right(ends, low) for low, _, _ in self.tokens]
        taken = [False] * len(self.tokens)
        for place in places:
            first = bisect_left(self.tokens, place.start, key=_start)
            last = bisect_left(self.tokens, place.end, key=_start)
            taken[first:last] = [True] * (last - first)
        self.clauses = clauses
        self.words = [word for _, _, word in self.tokens]
        self.cues: list[Cue] = cues_of(text, self.tokens, clauses, taken, self._starts())

    def _starts(self) -> list[int]:
        """The words with which an order may begin: the first, those behind a colon or a
        semicolon, and the one behind a name that is spoken to."""
        starts = [0] if self.tokens else []
        for index in range(1, len(self.tokens)):
            if self.clauses[index] == self.clauses[index - 1]:
                continue
            gap = self.lower[self.tokens[index - 1][1] : self.tokens[index][0]]
            if any(mark in gap for mark in ";:\n]") or (index <= _VOCATIVE_WORDS and "," in gap):
                starts.append(index)
        return starts

    def clause(self, at: int) -> int:
        """Number of the clause of an offset."""
        return bisect_right(self.ends, at)

    def tokens_at(self, place: Place) -> tuple[int, int]:
        """Numbers of the first token of an expression and of the first behind it."""
        first = bisect_right(self.tokens, place.start, key=_end)
        last = bisect_left(self.tokens, place.end, key=_start)
        return first, max(first, last)

    def clause_span(self, at: int) -> tuple[int, int]:
        """The clause of an offset, as [start, end)."""
        number, ends = self.clause(at), self.ends
        low = ends[number - 1] if number else self.start
        return low, ends[number] if number < len(ends) else self.end

    def preposition(self, place: Place) -> str:
        """The word before an expression, an article left out; "" for none."""
        found = _WORD_BEFORE.search(self.lower, max(0, place.start - 24), place.start)
        return "" if found is None else found[1]

    def infinitive(self, place: Place, cue: Cue) -> bool:
        """Return whether "to" and a word stand between a cue and an expression."""
        first, _ = self.tokens_at(place)
        words = self.words
        return any(
            words[index] == "to" and words[index + 1].isalpha()
            for index in range(cue.last, first - 1)
        )
