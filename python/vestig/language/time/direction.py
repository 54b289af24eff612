"""On which side of the moment at which it was said an expression of time lies.

A word directly at the expression decides; else the nearest cue of its clause; else the cues of the
sentence, where they are of one side. Where nothing decides, or a decision would be a guess, the
expression is left open.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from vestig.language.time.attachment import (
    BACKSHIFTED,
    REPORT_WORDS,
    SUBJECTS,
    TOWARDS,
    Attachment,
)
from vestig.language.time.cues import Cue, Direction, cue_words
from vestig.language.time.sentence import Place, Sentence
from vestig.lazy_pattern import lazy_pattern

__all__ = ["Direction", "Directions"]


_SENTENCE_END: Final = lazy_pattern(r"[.!?…]+[\"')\]]*(?=\s+\S)|\n+")
# "p.m. on Friday" and "Dr. Ray" end no sentence.
_ABBREVIATION_CHARS: Final = 8
# Of a sentence without an end, such as a pasted table, an expression is read with half as many
# characters before it and behind it, so that no expression costs more than a page of words.
_SENTENCE_CHARS: Final = 1_000
_ABBREVIATION: Final = lazy_pattern(
    r"(?:\b[ap]\.m|\b(?:dr|mr|mrs|ms|st|no|vs|etc|e\.g|i\.e|approx))\.$"
)
_AHEAD: Final = lazy_pattern(
    r"\b(?:next|(?:this\s+)?coming|upcoming|no\s+later\s+than|not\s+later\s+than)\s+$"
)
_PART_OF: Final = (
    r"(?:(?:the\s+)?(?:very\s+)?(?:end|start|beginning|middle|(?:first|second|last)\s+(?:week|half|days?))"
    r"\s+of\s+|(?:early|mid|late)[\s-]+)?(?:the\s+)?$"
)
_BEHIND: Final = lazy_pattern(r"\b(?:last|(?:this\s+)?past|since|way\s+back\s+in)\s+" + _PART_OF)
# They look ahead, unless the clause is about what was.
_LIMIT: Final = lazy_pattern(
    r"\b(?:by|until|till|til|starting|beginning|commencing|effective|as\s+of)\s+(?:on\s+|in\s+|from\s+)?"
    + _PART_OF
)
_EVERY: Final = lazy_pattern(
    r"\b(?:every|each)\s+(?:(?:other|second|third|fourth|single|last|first|week\s+on|month\s+on"
    r"|year\s+(?:in|on))\s+|(?:\w+day(?:s)?(?:\s*,\s*|\s+(?:and|or)\s+))+)?(?:on\s+|in\s+)?$"
)
_EVERY_UNIT: Final = lazy_pattern(
    r"\b(?:every|each|any)\s+(?:other\s+|second\s+|single\s+)?"
    r"(?:day|week|month|quarter|year|morning|afternoon|evening|night|time|\w+day)\b"
    r"|\b(?:once|twice|(?:two|three|four|\d+)\s+times)\s+an?\s+(?:week|month|year)\b"
    r"|\bon\s+\w+days\b"
)
_EVERY_YEAR: Final = lazy_pattern(r"\b(?:every|each)\s+(?:year|spring|summer|autumn|fall|winter)\b")
_SOME: Final = lazy_pattern(r"\b(?:a|an|any|some|one|most|alternate)\s+$")
_ONE_OF: Final = lazy_pattern(
    r"\b(?:the|my|our|your|his|her|its|their|that|another|those|these)\s+$"
)
_NTH: Final = lazy_pattern(
    r"\b(?:first|second|third|fourth|fifth|last|final|1st|2nd|3rd|4th|5th)\s+$"
)
_OF_MONTH: Final = lazy_pattern(
    r"\s+(?:of|in)\s+(?:(?:the|each|every|this|next|last)\s+)?(?:month|quarter|year|term|season"
    r"|january|february|march|april|may|june|july|august|september|october|november|december)\b"
)
_PARTS: Final = lazy_pattern(r"\s+(?:mornings|afternoons|evenings|nights|lunchtimes)\b")
_LATER_OR_EARLIER: Final = lazy_pattern(
    r"\s+(?:after\s+next|before\s+last|but\s+one|week\b|fortnight\b)"
)
_LIKE: Final = lazy_pattern(r"\b(?:as|than|like)\s+(?:on\s+|in\s+|for\s+|at\s+)?$")
_COUNTED: Final = lazy_pattern(
    r"\b(?:weeks?|days?|fortnight|months?)\s+(?:from|on|after|before)\s+$"
)
# "named his companion Friday": a name, which no preposition leads.
_NAMED: Final = lazy_pattern(
    r"\b(?:(?:named|names|naming|nicknamed|christened|titled|entitled)\s+(?:\w+\s+){0,3}"
    r"|(?:called|calls)\s+(?:his|her|its|their|my|our|the)\s+(?:\w+\s+){1,2})$"
)
_LED: Final = lazy_pattern(
    r"\b(?:on|by|in|for|until|till|since|to|from|next|last|this)\s+(?:the\s+)?$"
)
_FEAST: Final = lazy_pattern(r"\b(\w+)\s+$")
_POSSESSIVE: Final = lazy_pattern(r"'s?(?!\w)")
# Months that are names of people too need a preposition or "the end of" before them.
_MONTH_PLACE: Final = lazy_pattern(
    r"\b(?:(?:in|by|since|until|till|before|after|during|through|throughout|late|early|mid|due|between"
    r"|last|next|this|every|each|starting|coming|past|(?:end|start|beginning|middle)\s+of)[\s-]+"
    r"|(?:january|february|march|april|may|june|july|august|september|october|november|december)"
    r"\s*(?:,|and|or|to|[-–])\s*)$"
)
_ARTICLES: Final = frozenset(("the", "a", "an", "his", "her", "my", "our", "their", "another"))
_NAMES: Final = frozenset(("april", "may", "june", "august"))
_PRESENT: Final = frozenset(
    (
        "is",
        "are",
        "am",
        "isn't",
        "aren't",
        "'m",
        "'re",
        "has",
        "have",
        "does",
        "do",
        "doesn't",
        "can",
    )
)
_ACTIVE: Final = frozenset(("planned", "scheduled", "booked", "expected"))
_OF_A_DAY: Final = frozenset(("dmy", "mdy"))
# A clause this short, as in "and 5 km on Monday", takes its verb from another one.
_ELLIPSIS_WORDS: Final = 2
_SMALL: Final = frozenset(
    (
        "on",
        "in",
        "at",
        "the",
        "a",
        "an",
        "and",
        "then",
        "also",
        "again",
        "too",
        "not",
        "only",
        "back",
        "early",
        "late",
        "most",
        "there",
        "here",
        "or",
    )
)


def _has_verb(words: Sequence[str]) -> bool:
    """Return whether a clause may have a verb in the present of its own, such as "goes"."""
    lists = cue_words()
    return any(
        word in _PRESENT
        or word in ("if", "whether")
        or (len(word) > 3 and word[-1] == "s")
        or word in lists.verb
        or word in lists.timetable_base
        for word in words
    )


class Directions:
    """Directions of the expressions of one text.

    Args:
        text, lower: the text, and lower-cased with its length and straight apostrophes.
        places: all expressions of it, so that their words are no cues.
    """

    def __init__(self, text: str, lower: str, places: Sequence[Place]) -> None:
        self._text, self._lower, self._places = text, lower, places
        self._sentences: dict[int, Sentence] = {}
        # where the marks that end sentences begin and end, in one pass
        self._marks: tuple[list[int], list[int]] = ([], [])
        for found in _SENTENCE_END.finditer(lower):
            low = max(0, found.end() - _ABBREVIATION_CHARS)
            if _ABBREVIATION.search(lower, low, found.end()) is None:
                self._marks[0].append(found.start())
                self._marks[1].append(found.end())

    def sentence_of(self, at: int) -> tuple[int, int]:
        """The sentence that an offset lies in, as [start, end); of one that goes on for pages, the
        part around the offset."""
        begins, ends = self._marks
        before, behind = bisect_right(ends, at), bisect_left(begins, at)
        start = ends[before - 1] if before else 0
        end = begins[behind] if behind < len(begins) else len(self._lower)
        if end - start <= 2 * _SENTENCE_CHARS:
            return start, end
        low = at - (at - start) % _SENTENCE_CHARS
        reach = _SENTENCE_CHARS // 2
        return max(start, low - reach), min(end, low + _SENTENCE_CHARS + reach)

    def same_clause(self, one: int, other: int) -> bool:
        """Return whether two offsets lie in one clause."""
        sentence = self._sentence(one)
        inside = sentence.start <= other < sentence.end
        return inside and sentence.clause(one) == sentence.clause(other)

    def of(self, place: Place) -> Direction:
        """The direction of one expression."""
        at_it = self._at_expression(place)
        return self._by_cues(place) if at_it is None else at_it

    def of_present(self, place: Place) -> Direction | None:
        """The direction of an expression whose window holds the reference: a habit, open where it
        may be no such time at all ("June called", "born in June"), else None."""
        if self._habit_at_expression(place):
            return Direction.HABIT
        before = self._lower[max(0, place.start - 32) : place.start]
        if place.family == "month" and not self._is_month(place, before):
            return Direction.OPEN
        sentence = self._sentence(place.start)
        cue = self._nearest(sentence, place)
        if cue is not None and cue.direction is Direction.HABIT:
            return Direction.HABIT
        recurs = not cue_words().recurring.isdisjoint(sentence.words)
        return Direction.OPEN if recurs and place.family != "weekday" else None

    def _sentence(self, at: int) -> Sentence:
        start, end = self.sentence_of(at)
        if start not in self._sentences:
            self._sentences[start] = Sentence(self._text, self._lower, start, end, self._places)
        return self._sentences[start]

    def _habit_at_expression(self, place: Place) -> bool:
        lower, start, end = self._lower, place.start, place.end
        before = lower[max(0, start - 64) : start]
        weekday = place.family == "weekday"
        if _EVERY.search(before) or (weekday and _PARTS.match(lower, end)):
            return True
        if weekday:
            if _SOME.search(before):
                return True
            feast = _FEAST.search(before)
            if feast is not None and feast[1] in cue_words().feast:
                return True
            nth = _NTH.search(before) or lower.startswith("last", start)
            if nth and _OF_MONTH.match(lower, end):
                return True
        sentence = self._sentence(start)
        low, high = sentence.clause_span(start)
        clause = lower[low:high]
        return (_EVERY_UNIT if weekday else _EVERY_YEAR).search(clause) is not None

    def _at_expression(self, place: Place) -> Direction | None:
        """Return what the words directly at the expression decide."""
        if self._habit_at_expression(place):
            return Direction.HABIT
        lower, start, end = self._lower, place.start, place.end
        before = lower[max(0, start - 32) : start]
        if _LATER_OR_EARLIER.match(lower, end) or _COUNTED.search(before):
            return Direction.OPEN
        if _AHEAD.search(before):
            return Direction.FUTURE
        if _BEHIND.search(before):
            return Direction.PAST
        if _LIKE.search(before) or _POSSESSIVE.match(lower, end):
            return Direction.OPEN
        if _NAMED.search(before) and _LED.search(before) is None:
            return Direction.OPEN
        if place.family not in ("dmy", "quarter") and _ONE_OF.search(before):
            return Direction.OPEN
        if place.family == "month" and not self._is_month(place, before):
            return Direction.OPEN
        return None

    def _is_month(self, place: Place, before: str) -> bool:
        """Return whether a word that is a name too is a month here."""
        word = self._lower[place.start : place.end].split()[0]
        return word not in _NAMES or _MONTH_PLACE.search(before) is not None

    def _nearest(self, sentence: Sentence, place: Place) -> Cue | None:
        """The nearest cue of the expression's own clause; where two sides are equally near,
        an open one."""
        first, last = sentence.tokens_at(place)
        clause = sentence.clause(place.start)
        best: Cue | None = None
        least = len(sentence.tokens) + 1
        for found in sentence.cues:
            cue = found
            if sentence.clauses[cue.first] != clause:
                continue
            if sentence.words[cue.first] in cue_words().plan_noun and self._has_past(
                sentence, clause
            ):
                continue
            if sentence.words[cue.first] in BACKSHIFTED and not cue_words().plan_noun.isdisjoint(
                sentence.words
            ):
                cue = Cue(cue.first, cue.last, Direction.OPEN)
            if cue.direction is Direction.HABIT and sentence.words[cue.first] in cue_words().habit:
                return cue
            begin = first
            while begin > 0 and sentence.words[begin - 1] in ("on", "in", "at", "the"):
                begin -= 1
            gap = begin - cue.last if cue.last <= first else cue.first - last
            if gap < least:
                best, least = cue, gap
            elif gap == least and best is not None and best.direction is not cue.direction:
                best = Cue(cue.first, cue.last, Direction.OPEN)
        return best

    def _has_past(self, sentence: Sentence, clause: int) -> bool:
        return any(
            cue.direction is Direction.PAST and sentence.clauses[cue.first] == clause
            for cue in sentence.cues
        )

    def _by_cues(self, place: Place) -> Direction:
        sentence = self._sentence(place.start)
        before = self._lower[max(0, place.start - 32) : place.start]
        limit = _LIMIT.search(before) is not None
        cue = self._nearest(sentence, place)
        found = self._of_sentence(sentence, place) if cue is None else self._of_cue(
            sentence, place, cue
        )  # fmt: skip
        if limit:
            return self._limited(sentence, place, cue, found)
        return found

    def _limited(
        self, sentence: Sentence, place: Place, cue: Cue | None, found: Direction
    ) -> Direction:
        """`by Friday` and `until Friday` look ahead; of what was they say nothing, but where an
        order or a wish has the infinitive between them."""
        if cue is None:
            return Direction.OPEN if found is Direction.PAST else Direction.FUTURE
        if found is Direction.HABIT or cue.direction is Direction.HABIT:
            return Direction.HABIT
        if cue.direction is Direction.FUTURE:
            return Direction.FUTURE
        asked = sentence.words[cue.first] in cue_words().request
        if asked and sentence.infinitive(place, cue):
            return Direction.FUTURE
        return Direction.OPEN

    def _of_sentence(self, sentence: Sentence, place: Place) -> Direction:
        """Return what the cues of the other clauses say together. The past is taken over by a
        clause without a verb only."""
        lists, clause = cue_words(), sentence.clause(place.start)
        own = [
            word
            for (low, _, word), number in zip(sentence.tokens, sentence.clauses, strict=True)
            if number == clause and not place.start <= low < place.end
        ]
        sides = set[Direction]()
        for cue in sentence.cues:
            word = sentence.words[cue.first]
            says = word in lists.reporting or word in lists.statement or word in lists.request
            if says and cue.direction is Direction.PAST and len(own) > REPORT_WORDS:
                continue
            sides.add(cue.direction)
        side = sides.pop() if len(sides) == 1 else Direction.OPEN
        if side is Direction.FUTURE:
            low, _ = sentence.clause_span(place.start)
            announced = self._lower[low : low + 1] == ":"
            if self._lower.startswith("?", sentence.end):
                return Direction.OPEN
            if announced or own[:1] == ["from"] or self._is_ellipsis(sentence, place, own):
                return side
            return Direction.OPEN
        if side is Direction.PAST and not self._is_ellipsis(sentence, place, own):
            return Direction.OPEN
        return side

    def _is_ellipsis(self, sentence: Sentence, place: Place, own: Sequence[str]) -> bool:
        """Return whether a clause takes its verb from another one: "and 5 km on Monday"."""
        low, _ = sentence.clause_span(place.start)
        quoted = self._lower[low : low + 1] in (":", "(", "[", '"', "“")
        event = any(word in cue_words().event for word in own)
        if quoted or event or sentence.preposition(place) in TOWARDS | {"for"} or _has_verb(own):
            return False
        content = [word for word in own if word not in _SMALL and not word.isdigit()]
        # a lone word may be a verb: "and present on Monday"
        noun = any(word.isdigit() or word in _ARTICLES for word in own)
        return not content or (noun and len(content) <= _ELLIPSIS_WORDS)

    def _of_cue(self, sentence: Sentence, place: Place, cue: Cue) -> Direction:
        words, word = sentence.words, sentence.words[cue.first]
        if (
            cue.direction is Direction.FUTURE
            and Attachment(sentence, place, cue).is_of_thing_ahead()
        ):
            return Direction.OPEN
        if cue.direction is Direction.PAST:
            first, _ = sentence.tokens_at(place)
            arranged = word in cue_words().arranging and sentence.preposition(place) == "for"
            arranged = arranged and _PRESENT.isdisjoint(words[cue.last : first])
            if arranged:
                return Direction.FUTURE
            of_thing = Attachment(sentence, place, cue).is_of_thing_past()
            return Direction.OPEN if of_thing else Direction.PAST
        if cue.direction is Direction.HABIT and place.family in _OF_A_DAY:
            if word in cue_words().habit:
                return Direction.HABIT
            return Direction.FUTURE if word in ("opens", "closes", "reopens") else Direction.OPEN
        if cue.direction is Direction.FUTURE and word in _ACTIVE:
            previous = words[cue.first - 1] if cue.first else ""
            active = previous in SUBJECTS
            past = any(one.direction is Direction.PAST for one in sentence.cues)
            if past and not active and previous not in _PRESENT:
                return Direction.OPEN
            towards = sentence.preposition(place) in ("for", "to", "by")
            follows = words[cue.last : cue.last + 1] == ["to"]
            return Direction.FUTURE if towards or follows or not active else Direction.OPEN
        return cue.direction
