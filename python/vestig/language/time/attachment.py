"""The words that an expression of time belongs to: those of the verb of its cue, or to a thing that
is spoken of.

"I will call on Friday" says when; "I will fix the bug from Friday" does not, and "she asked me to
call on Friday" tells of what may still lie ahead. In doubt the time belongs to the thing, and its
side is left open.
"""

from __future__ import annotations

from typing import Final

from vestig.language.time.cues import Cue, cue_words
from vestig.language.time.sentence import Place, Sentence
from vestig.lazy_pattern import lazy_pattern

TOWARDS: Final = frozenset(
    ("to", "into", "about", "regarding", "concerning", "toward", "towards", "till", "until")
)
# Behind a verb of saying these may stand for "is" and "have".
BACKSHIFTED: Final = frozenset(("was", "were", "wasn't", "weren't", "had", "hadn't"))
SUBJECTS: Final = frozenset(("i", "we", "you", "he", "she", "they", "who", "already", "'ve"))
# With more words between, the time is that of what was said or written.
REPORT_WORDS: Final = 2
_STATEMENT_WORDS: Final = 3
_EVENT_WORDS: Final = 4
_OF_A_THING: Final = lazy_pattern(
    r"\b(?:the|my|our|your|his|her|their|its|that|this|those|these)\s+(?:\w+\s+){1,2}"
    r"(?:from|of)\s+$"
)
_PART_OF: Final = lazy_pattern(
    r"\b(?:end|start|beginning|middle|weeks?|half|days?|part|course|morning|evening|night|rest"
    r"|most)\s+of\s+$"
)
_RANGE: Final = lazy_pattern(r"\s*(?:to|through|thru|until|till|[-–—]|on\b(?!\s+the)|onwards?\b)")
_FROM_TO: Final = lazy_pattern(r"\bfrom\s+(?:\w+\s+){1,3}to\s+$")
_LINKS: Final = frozenset(("about", "for", "of", "from", "to", "with"))
_BE: Final = frozenset(
    ("is", "are", "am", "was", "were", "'s", "'m", "'re", "isn't", "aren't", "wasn't", "starts")
)
_SMALL: Final = frozenset(("on", "in", "at", "the", "a", "an"))
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
        noun = self._words[self._first - 2] if self._first > 1 else ""
        named = noun in lists.record or noun in lists.incident or noun in lists.looked_at
        if named and preposition in ("from", "of", "for"):
            return True
        if preposition in ("about", "regarding", "concerning", "with"):
            return True
        lower, end = self._sentence.lower, self._place.end
        ranged = preposition == "from" and _RANGE.match(lower, end) is not None
        part = ranged or _PART_OF.search(self._before) is not None
        if not part and _OF_A_THING.search(self._before) is not None:
            return True
        chain = (self._word, *self._between)
        return self._long and preposition == "for" and lists.planned_for.isdisjoint(chain)

    def _is_put_off(self) -> bool:
        """`we are moving it from Tuesday to Thursday`; `the fee, due on Friday, is unpaid`."""
        lists, preposition = self._lists, self._preposition
        shifted = not lists.shifts.isdisjoint((self._word, *self._between))
        if shifted and (preposition == "from" or _FROM_TO.search(self._before) is not None):
            return True
        if shifted and preposition in ("to", "into", "until", "till"):
            return self._word != "moves"
        return self._word == "due" and not lists.late.isdisjoint(self._words)

    def _comes_again(self) -> bool:
        """`the season starts in May`, `the week begins on Monday`."""
        lists, verb = self._lists, self._word.rstrip("s")
        if not (self._long or self._place.family == "weekday") or verb not in lists.timetable_base:
            return False
        subject = self._words[: self._cue.first]
        record = verb in ("start", "begin", "end") and not lists.record.isdisjoint(subject)
        return record or not lists.cycle.isdisjoint(subject)

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
        lists, cue = self._lists, self._cue
        chain = [self._word, *self._between]
        if "follow" in chain or chain[-2:] == ["look", "at"] or chain[-1] in lists.looked_at:
            return True
        if not lists.thanks.isdisjoint(chain):
            return True
        between = self._between or self._own_words()
        if "about" in between and chain[0] not in ("remind", "reminder"):
            return True
        if not lists.studied.isdisjoint(chain if cue.last - cue.first == 1 else between):
            return True
        if "for" in between and not lists.paid.isdisjoint(chain):
            return True
        linked = not {"from", "of", "for"}.isdisjoint(between)
        if linked and not lists.record.isdisjoint(between):
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
            chosen = words[cue.last : cue.last + 1]
            return not took_place or (bool(chosen) and chosen[0] in lists.chosen)
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
        said = not (lists.reporting | lists.statement).isdisjoint(earlier)
        return said or opening in ("if", "whether")

    def _is_object(self) -> bool:
        """Behind its verb: `moved it to Friday`, `agreed on Friday`, `got tickets for Friday`."""
        lists, preposition = self._lists, self._preposition
        word, between = self._main_verb()
        if preposition in TOWARDS or preposition == "for" or "about" in between:
            return True
        if word in lists.shifted and (preposition in ("from", "with") or not between):
            return True
        if self._sentence.infinitive(self._place, self._cue):
            directly = between[:1] == ["to"] or between[:2] == ["able", "to"]
            known = word not in lists.request if directly else word in lists.with_infinitive
            if not known:
                return True
        if preposition == word and (word == "had" or not lists.date_noun.isdisjoint(self._words)):
            return True
        if word in lists.agreed_on and between == ["on"]:
            return True
        if not _BE.isdisjoint(between):
            return True
        purpose = not {"for", "regarding"}.isdisjoint(between) or word in lists.arranging
        if purpose and not lists.event.isdisjoint(between):
            return True
        return self._has_as_object(word, between)

    def _main_verb(self) -> tuple[str, list[str]]:
        """The verb, and what stands between it and the expression: behind "did" and "was" another
        one."""
        lists, between = self._lists, self._between
        if self._word in ("did", "didn't", "was", "were", "been", "had"):
            verbs = lists.arranging | lists.statement | lists.reporting | lists.request
            for index, one in enumerate(between[:3]):
                if one in verbs:
                    return one, between[index + 1 :]
        return self._word, between

    def _has_as_object(self, word: str, between: list[str]) -> bool:
        """Return whether a verb of saying or arranging has the time as its object, or in it."""
        lists = self._lists
        objects = [one for one in between if one not in _SMALL]
        if word in lists.proposed and objects:
            return True
        if word in lists.reporting:
            return not between or len(objects) > REPORT_WORDS
        if word in lists.statement:
            return not between or len(objects) > _STATEMENT_WORDS
        return word in lists.arranging and not between
