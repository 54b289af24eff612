"""On which side of the moment at which it was said an expression of time lies.

A word directly at the expression decides; else the nearest cue of its clause; else the cues of the
sentence, where they are of one side. Where nothing decides, or a decision would be a guess, the
expression is left open.

An expression belongs to the verb of its cue, or to a thing that is spoken of: "I will call on
Friday" says when; "I will fix the bug from Friday" does not, and "she asked me to call on Friday"
tells of what may still lie ahead. In doubt the time belongs to the thing, and its side is open.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from vestig.language.text_forms import word_list
from vestig.language.time.cues import Cue, Direction, Place, Sentence, cue_words
from vestig.language.time.expressions import LIST_GAP, MONTH_NAMES
from vestig.lazy_pattern import lazy_pattern

TOWARDS: Final = frozenset(
    ("to", "into", "about", "regarding", "concerning", "toward", "towards", "till", "until")
)
# Behind a verb of saying these may stand for "is" and "have".
BACKSHIFTED: Final = frozenset(("was", "were", "wasn't", "weren't", "had", "hadn't"))
SUBJECTS: Final = frozenset(("i", "we", "you", "he", "she", "they", "who", "already", "'ve"))
# With more words between, the time is that of what was said or written.
REPORT_WORDS: Final = 2
_EVENT_WORDS: Final = 4
_OF_A_THING: Final = lazy_pattern(
    r"\b(?:the|my|our|your|his|her|their|its|that|this|those|these)\s+(?:\w+\s+){1,2}"
    r"(?:from|of)\s+$"
)
_PART_BEFORE: Final = lazy_pattern(
    r"\b(?:end|start|beginning|middle|weeks?|half|days?|part|course|morning|evening|night|rest"
    r"|most)\s+of\s+$"
)
_RANGE: Final = lazy_pattern(r"\s*(?:to|through|thru|until|till|[-–—]|on\b(?!\s+the)|onwards?\b)")
_FROM_TO: Final = lazy_pattern(r"\bfrom\s+(?:\w+\s+){1,3}to\s+$")
_LINKS: Final = frozenset(("about", "for", "of", "from", "to", "with"))
_BE: Final = frozenset(
    ("is", "are", "am", "was", "were", "'s", "'m", "'re", "isn't", "aren't", "wasn't", "starts")
)
# Before a day they say that something was then.
_LEADING: Final = frozenset(("on", "in", "at", "of", "since", "by", "before", "after", "during"))
_BETWEEN_WORDS: Final = frozenset(("on", "in", "at", "the", "a", "an"))
_BEFORE_CHARS: Final = 32
# A verb behind a time, with its object, is this long.
_PREDICATE_WORDS: Final = 5


class Attachment:
    """One expression of a sentence beside the cue that is nearest to it."""

    def __init__(self, sentence: Sentence, place: Place, cue: Cue) -> None:
        self._sentence, self._place, self._cue = sentence, place, cue
        self._lists, self._words = cue_words(), sentence.words
        self._first, self._last = sentence.tokens_at(place)
        self._word = self._words[cue.first]
        self._preposition = sentence.preposition(place)
        self._before = sentence.lower[max(0, place.start - _BEFORE_CHARS) : place.start]
        self._between = self._words[cue.last : self._first] if cue.last <= self._first else []
        self._long = place.family in ("month", "quarter")

    def is_of_thing_ahead(self) -> bool:
        """Beside a cue that looks ahead: "fix the bug from Friday", "discuss the outage on Friday",
        "send the invoice for May"."""
        return (
            self._is_named_thing()
            or self._is_put_off()
            or self._comes_again()
            or self._is_of_noun()
            or self._is_looked_at()
        )

    def is_of_thing_past(self) -> bool:
        """Beside a verb in the past: what was said, asked for or arranged may lie ahead."""
        is_thing = self._is_arranged() if self._cue.first >= self._last else self._is_object()
        return is_thing or (self._word in BACKSHIFTED and self._is_reported())

    # --- beside a cue that looks ahead ------------------------------------------------------------

    def _is_named_thing(self) -> bool:
        """`the bug from Friday`, `the invoice for May`, `a talk about Friday`."""
        lists, preposition = self._lists, self._preposition
        if self._cue.first and self._word in lists.event:
            apart = len(self._between) > _EVENT_WORDS or not _LINKS.isdisjoint(self._between)
            if apart:
                return True
        if preposition in ("about", "regarding", "concerning", "with"):
            return True
        lower, end = self._sentence.lower, self._place.end
        ranged = preposition == "from" and _RANGE.match(lower, end) is not None
        part = ranged or _PART_BEFORE.search(self._before) is not None
        if not part and _OF_A_THING.search(self._before) is not None:
            return True
        return self._long and preposition == "for"

    def _is_put_off(self) -> bool:
        """`we are moving it from Tuesday to Thursday`."""
        lists, preposition = self._lists, self._preposition
        shifted = not lists.shifts.isdisjoint((self._word, *self._between))
        if shifted and (preposition == "from" or _FROM_TO.search(self._before) is not None):
            return True
        return shifted and preposition in ("to", "into", "until", "till") and self._word != "moves"

    def _comes_again(self) -> bool:
        """`the season starts in May`, `the week begins on Monday`: once a year, or a week."""
        lists, verb = self._lists, self._word.rstrip("s")
        if not (self._long or self._place.family == "weekday") or verb not in lists.timetable_base:
            return False
        return not lists.cycle.isdisjoint(self._words[: self._cue.first])

    def _is_of_noun(self) -> bool:
        """`the plan for the trip in May`, `the train we want to take is on Friday`."""
        lists, cue, preposition = self._lists, self._cue, self._preposition
        if self._word in lists.plan_noun:
            if preposition in ("from", "of"):
                return True
            if cue.first and self._words[cue.first - 1] not in SUBJECTS:
                return "to" in self._between or not lists.event.isdisjoint(self._between)
        elif self._word != "due" and not {"is", "are", "'s"}.isdisjoint(self._between):
            return True
        ends_in_to = not self._between and self._words[cue.last - 1] == "to"
        guessed = self._between == ["be"] and self._word not in ("will", "'ll")
        if (ends_in_to and preposition == "to") or (guessed and preposition == "be"):
            return True
        behind = cue.first >= self._first
        return behind and (preposition in ("from", "of", "for") or self._word == "booked")

    def _is_looked_at(self) -> bool:
        """`the minutes of the meeting on Monday`, `thank her for the help on Friday`."""
        lists = self._lists
        chain = [self._word, *self._between]
        if "follow" in chain or chain[-2:] == ["look", "at"] or chain[-1] in lists.looked_at:
            return True
        if not lists.thanks.isdisjoint(chain):
            return True
        between = self._between or self._own_words()
        if "about" in between and chain[0] not in ("remind", "reminder"):
            return True
        if lists.event.isdisjoint(between) and lists.incident.isdisjoint(between):
            return False
        looked = lists.looked_at - {"see", "read"}
        return not {"from", "of"}.isdisjoint(between) or not looked.isdisjoint(chain)

    def _own_words(self) -> list[str]:
        """The words of the cue's clause before the expression."""
        clauses = self._sentence.clauses
        clause = clauses[self._cue.first]
        return [self._words[index] for index in range(self._first) if clauses[index] == clause]

    # --- beside a verb in the past ----------------------------------------------------------------

    def _is_arranged(self) -> bool:
        """Before its verb: `the flight on Friday was cancelled`, `Friday suited everyone`."""
        lists, cue, words = self._lists, self._cue, self._words
        if self._preposition in TOWARDS | {"for"} or self._word_behind() in lists.event:
            return True
        took_place = self._word in lists.took_place
        dated = self._preposition in ("on", "in")
        own = self._own_words()
        if not dated and not own:
            return not took_place
        if dated and len(own) <= 1:
            return False
        if not (_LINKS - {"with"}).isdisjoint(own):
            return True
        if not lists.agenda.isdisjoint(words[cue.first : cue.last + _PREDICATE_WORDS]):
            return True
        return not took_place and not lists.event.isdisjoint(words[: self._first])

    def _word_behind(self) -> str:
        return self._words[self._last] if self._last < len(self._words) else ""

    def _is_reported(self) -> bool:
        """Return whether a verb of saying stands before the verb, or "if" opens its clause: "she
        said it was on Monday" tells nothing of the side."""
        lists, clauses = self._lists, self._sentence.clauses
        opening = self._words[clauses.index(clauses[self._cue.first])]
        earlier = self._words[: self._cue.first]
        return not lists.reporting.isdisjoint(earlier) or opening in ("if", "whether")

    def _is_object(self) -> bool:
        """Behind its verb: `moved it to Friday`, `agreed on Friday`, `got tickets for Friday`."""
        lists, preposition = self._lists, self._preposition
        word, between = self._word, self._between
        if preposition in TOWARDS or preposition == "for" or "about" in between:
            return True
        if word in lists.shifted and (preposition in ("from", "with") or not between):
            return True
        if self._sentence.infinitive(self._place, self._cue):
            directly = between[:1] == ["to"] or between[:2] == ["able", "to"]
            if not directly or word in lists.request:
                return True
        if preposition == word == "had":
            return True
        if word in lists.agreed_on and between == ["on"]:
            return True
        if not _BE.isdisjoint(between):
            return True
        purpose = not {"for", "regarding"}.isdisjoint(between)
        purpose = purpose or word in lists.arranging | lists.noting
        if purpose and not lists.event.isdisjoint(between):
            return True
        return self._has_as_object(word, between)

    def _has_as_object(self, word: str, between: list[str]) -> bool:
        """Return whether a verb has the time as its object, or a verb of saying or arranging has it
        in that."""
        lists = self._lists
        if word in states_days() and (not between or between[-1] not in _LEADING):
            return True
        objects = [one for one in between if one not in _BETWEEN_WORDS]
        if word in lists.proposed and objects:
            return True
        return word in lists.reporting and len(objects) > REPORT_WORDS


@lru_cache(maxsize=1)
def states_days() -> frozenset[str]:
    """Verbs beside which a day without a preposition may be what was said, noted or agreed."""
    lists = cue_words()
    return frozenset().union(
        lists.noting,
        lists.proposed,
        lists.reporting,
        lists.request,
        lists.arranging,
        lists.agreed_on,
        lists.shifted,
    )


__all__ = ["Direction", "Directions"]


_MONTH: Final = "|".join(MONTH_NAMES)
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
    r"\s+(?:of|in)\s+(?:(?:the|each|every|this|next|last)\s+)?"
    rf"(?:month|quarter|year|term|season|{_MONTH})\b"
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
    rf"|(?:{_MONTH})\s*(?:,|and|or|to|[-–])\s*)$"
)
_ARTICLES: Final = frozenset(("the", "a", "an", "his", "her", "my", "our", "their", "another"))
_NAMES: Final = frozenset(("april", "may", "june", "august"))
_PRESENT: Final = frozenset(word_list("is are am isn't aren't 'm 're has have does do doesn't can"))
_ACTIVE: Final = frozenset(("planned", "scheduled", "booked", "expected"))
_OF_A_DAY: Final = frozenset(("dmy", "mdy"))
# A clause this short, as in "and 5 km on Monday", takes its verb from another one.
_ELLIPSIS_WORDS: Final = 2
_SMALL: Final = frozenset(
    word_list(
        "on in at the a an and then also again too not only back early late most there here or"
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
            says = word in lists.reporting or word in lists.request
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
        if side is Direction.PAST and (
            self._is_apposition(sentence, place, own) or not self._is_ellipsis(sentence, place, own)
        ):
            return Direction.OPEN
        return side

    def _is_apposition(self, sentence: Sentence, place: Place, own: Sequence[str]) -> bool:
        """Return whether a time that stands alone may be what a verb in the past says: "noted, 24
        March", "I changed it, Friday", "agreed, in March", for nobody is named who agreed then. In
        a list, a time goes with the one before it."""
        clauses = sentence.clauses
        first = sentence.tokens_at(place)[0]
        named = not any(
            cue.first == clauses.index(clauses[cue.first])
            and sentence.words[cue.first] in states_days()
            for cue in sentence.cues
        )
        behind = any(cue.last <= first for cue in sentence.cues)
        if not behind or not _LEADING.isdisjoint(own):
            return not named and (behind or not own)
        return not own and not any(
            LIST_GAP.fullmatch(self._lower, one.end, place.start)
            for one in self._places
            if one.end <= place.start
        )

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
            between = words[cue.last : first]
            if word in cue_words().handled:
                arranged = arranged and not cue_words().event.isdisjoint(between)
            if arranged and _PRESENT.isdisjoint(between):
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
