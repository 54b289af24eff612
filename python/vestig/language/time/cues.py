"""Cues of direction: which words of a sentence say that a time lies behind, ahead, or is a habit.

The lists of words are data (`data/date_cues.json`); the rules here say where a word of a list
counts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Final

import msgspec

from vestig.decoders import decoded
from vestig.language.text_forms import word_list
from vestig.lazy_pattern import lazy_pattern

Token = tuple[int, int, str]


class Direction(Enum):
    """Where an expression of time lies, seen from the moment at which it was said. `OPEN`: on
    either side; `HABIT`: no single time is meant."""

    PAST = "past"
    FUTURE = "future"
    OPEN = "open"
    HABIT = "habit"


class CueWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lists of `data/date_cues.json`. Clitics are words of their own: `'ll`, `'d`."""

    version: int
    # phrases that look ahead, and those that lie on either side
    future: tuple[str, ...]
    open: tuple[str, ...]
    # verbs of a timetable: in the third person (phrases), in the plural, as a running form
    timetable: tuple[str, ...]
    timetable_base: frozenset[str]
    progressive: frozenset[str]
    past: frozenset[str]
    irregular_past: frozenset[str]
    # a past tense behind "have" only, and one that looks like the base form
    participle: frozenset[str]
    same_past: frozenset[str]
    # words in -ed that are no verb in the past
    not_past: frozenset[str]
    # behind "was": what lay ahead then
    past_of_future: frozenset[str]
    habit: frozenset[str]
    # "moved … to Friday", "asked … to call on Friday", "said … on Friday", "got a ticket … on
    # Friday"
    shifted: frozenset[str]
    request: frozenset[str]
    reporting: frozenset[str]
    arranging: frozenset[str]
    event: frozenset[str]
    # "the flight on Friday was cancelled", "agreed on Friday": what is arranged, not what happened
    agenda: frozenset[str]
    agreed_on: frozenset[str]
    # "discuss the outage on Friday", "thank her for Friday": what has been; "the season starts in
    # May" comes again
    incident: frozenset[str]
    looked_at: frozenset[str]
    thanks: frozenset[str]
    proposed: frozenset[str]
    # "wrote 24 March", "sent the report for Friday": the day may be what was written, or that of
    # the report
    noting: frozenset[str]
    handled: frozenset[str]
    cycle: frozenset[str]
    # "the meeting on Friday went well": it was held
    took_place: frozenset[str]
    # who is open and closed by habit
    place: frozenset[str]
    # "Good Friday": the name of a day
    feast: frozenset[str]
    # "move the call to Friday"; "the deadline"; "born in May"
    shifts: frozenset[str]
    plan_noun: frozenset[str]
    recurring: frozenset[str]
    # base forms that begin an order; of these the nouns need an object that is clear
    verb: frozenset[str]
    noun_verb: frozenset[str]
    # "show me the offsite in September": asks for what is stored, whenever it was
    retrieval: frozenset[str]


class Cue(msgspec.Struct, frozen=True):
    """Tokens [first, last) of a sentence that are a cue."""

    first: int
    last: int
    direction: Direction


@lru_cache(maxsize=1)
def cue_words() -> CueWords:
    """The lists, read once."""
    path = Path(__file__).parents[2] / "data" / "date_cues.json"
    return decoded(path.read_bytes(), CueWords)


_TOKEN: Final = lazy_pattern(r"[^\W\d_]+n't\b|'(?:ll|d|m|re|ve|s)\b|[^\W\d_]+(?:-[^\W\d_]+)*|\d\w*")


def tokens_of(lower: str, start: int, end: int) -> list[Token]:
    """(start, end, word) of the words in a part of a lower-cased text; clitics stand alone.

    Example:
        >>> [word for _, _, word in tokens_of("she'll come, won't she?", 0, 23)]
        ['she', "'ll", 'come', "won't", 'she']
    """
    return [(m.start(), m.end(), m[0]) for m in _TOKEN.finditer(lower, start, end)]


@lru_cache(maxsize=1)
def _phrases() -> dict[str, list[tuple[tuple[str, ...], Direction]]]:
    """Phrases by their first word, the longest first."""
    words = cue_words()
    found: dict[str, list[tuple[tuple[str, ...], Direction]]] = {}
    for list_, direction in (
        (words.future, Direction.FUTURE),
        (words.timetable, Direction.FUTURE),
        (words.open, Direction.OPEN),
    ):
        for phrase in list_:
            parts = tuple(token[2] for token in tokens_of(phrase, 0, len(phrase)))
            found.setdefault(parts[0], []).append((parts, direction))
    for choices in found.values():
        choices.sort(key=lambda choice: -len(choice[0]))
    return found


_WAS: Final = frozenset(("was", "were", "wasn't", "weren't"))
_BE: Final = frozenset(("is", "are", "am", "isn't", "aren't", "'s", "'re", "'m"))
_PASSIVE: Final = _BE | {"be", "being", "get", "gets", "getting"}
_HAVE: Final = frozenset(("have", "has", "had", "'ve", "haven't", "hasn't", "hadn't", "having"))
_DO: Final = frozenset(("do", "does", "did", "don't", "doesn't", "didn't"))
_MODAL: Final = frozenset(
    ("will", "'ll", "won't", "would", "'d", "wouldn't", "shall", "should", "shouldn't", "can")
) | frozenset(("can't", "cannot", "could", "couldn't", "may", "might", "must", "mustn't"))
_PRONOUNS: Final = frozenset(("i", "we", "you", "he", "she", "they", "it", "who"))
_CLITIC_SUBJECTS: Final = _PRONOUNS | {"that", "there", "what", "everyone", "somebody", "nobody"}
_DETERMINERS: Final = frozenset(
    ("the", "a", "an", "my", "our", "your", "his", "her", "their", "its", "this", "that", "these")
) | frozenset(("those", "any", "some", "no", "all", "every", "each", "another", "'s", "new", "of"))
_ARTICLES: Final = frozenset(
    ("a", "an", "my", "our", "his", "her", "their", "your", "another", "some", "two", "three")
)
_NOW: Final = frozenset(("is", "are", "am", "'m", "'re", "know", "knows"))
_STAYS: Final = frozenset(("is", "are", "have", "has", "turn"))
_OBJECTS: Final = frozenset(
    ("it", "this", "that", "these", "those", "them", "him", "her", "us", "me")
)
# "" is the beginning of the sentence.
_BEFORE_AN_ORDER: Final = frozenset(("", "to", "and", "or", "then", "please", "don't"))
_LINKS: Final = frozenset(("about", "for", "of", "from", "to", "on", "in", "with"))
_PAST_DO: Final = frozenset(("did", "didn't", "had", "would", "could"))
_ADVERBS: Final = frozenset(
    ("not", "also", "already", "just", "now", "only", "still", "never", "first", "all", "both")
) | frozenset(("so", "even", "ever", "soon", "n't", "then", "once", "again"))
# Nouns that look like a verb of the third person.
_NAMES_OF_THINGS: Final = frozenset(("plan", "plans", "deadline", "deadlines", "due"))
_OPENING: Final = frozenset(("open", "closed", "opens", "closes", "close", "shut", "shuts"))
_OPENS: Final = frozenset(("opens", "closes", "shuts", "reopens"))
_ACTIVE: Final = frozenset(("planned", "scheduled", "booked", "expected", "slated"))


@lru_cache(maxsize=1)
def _beginnings() -> frozenset[str]:
    """Every word that may be a cue or begin one, but regular pasts."""
    lists = cue_words()
    return frozenset().union(
        _OPENING,
        _phrases(),
        ("used", "gets"),
        lists.habit,
        lists.event,
        lists.progressive,
        lists.timetable_base,
        lists.past,
        lists.irregular_past,
        lists.participle,
        lists.same_past,
    )


class _Words:
    """The words of one sentence, and the cues among them."""

    def __init__(self, text: str, tokens: list[Token], clauses: list[int]) -> None:
        self.text = text
        self.tokens = tokens
        self.words = [word for _, _, word in tokens]
        # number of the clause of each token
        self.clauses = clauses
        self.lists = cue_words()

    def word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def before(self, index: int) -> int:
        """The token before this one, adverbs left out; -1 = none."""
        index -= 1
        while index >= 0 and (self.words[index] in _ADVERBS or self.words[index].endswith("ly")):
            index -= 1
        return index

    def capital(self, index: int) -> bool:
        """A capital inside the sentence: a name."""
        return index > 0 and self.text[self.tokens[index][0]].isupper()

    def has_word(self, index: int) -> bool:
        """Return whether a word of letters stands in the clause of this token, behind it."""
        clause = self.clauses[index]
        behind = range(index + 1, len(self.words))
        return any(self.clauses[one] == clause and self.words[one].isalpha() for one in behind)

    def in_clause(self, index: int) -> list[int]:
        """The tokens before this one that are of the same clause as the last of them."""
        clause = self.clauses[min(index, len(self.words) - 1)]
        return [other for other in range(index) if self.clauses[other] == clause]

    def cue(self, index: int) -> Cue | None:
        """The cue that begins at a token."""
        word = self.words[index]
        if word not in _beginnings() and not word.endswith("ed"):
            return None
        if word in _OPENING and (direction := self._opening(index)) is not None:
            return Cue(index, index + 1, direction)
        for parts, direction in _phrases().get(word, ()):
            last = index + len(parts)
            if tuple(self.words[index:last]) == parts:
                found = self._of_phrase(index, last, direction)
                if found is None:
                    break
                return Cue(index, last, found)
        single = self._of_word(index, word)
        return None if single is None else Cue(index, index + 1, single)

    def _of_phrase(self, index: int, last: int, direction: Direction) -> Direction | None:
        """A phrase of a list, where it stands."""
        word, at = self.words[index], self.before(index)
        previous = self.word(at)
        if direction is Direction.FUTURE:
            if previous in _WAS or (previous == "been" and self.word(at - 1) == "had"):
                return Direction.OPEN if word in self.lists.past_of_future else direction
            if word in _ACTIVE and previous == "had":
                return Direction.OPEN
            if word in ("expected", "planned", "scheduled") and previous in ("than", "as"):
                return None
            if self.words[last - 1] == "to" and word.endswith("d"):
                after = self.word(last)
                if after in _DETERMINERS or after in ("what", "it", "him", "her", "them", "us"):
                    return None
            if word == "due" and self.word(last) == "to":
                return direction if self.word(last + 1) in self.lists.verb else None
            if last - index == 1 and word in _MODAL:
                return None if previous in _DETERMINERS else self._modal(index, word)
            clitic = previous == "'s" and self.word(at - 1) in _CLITIC_SUBJECTS
            determined = previous in _DETERMINERS - {"that"} and not clitic
            if determined and word not in _NAMES_OF_THINGS | _ACTIVE:
                return None
        return direction

    def _modal(self, index: int, word: str) -> Direction | None:
        if self.capital(index):
            return None
        if self.word(index + 1) in ("have", "'ve") and word not in (
            "will",
            "'ll",
            "won't",
            "shall",
        ):
            return Direction.OPEN
        return Direction.FUTURE

    def _opening(self, index: int) -> Direction | None:
        """`opens`, `is closed`: of a place a habit; of anything else ahead, or open."""
        word = self.words[index]
        words = [self.words[other] for other in self.in_clause(index)]
        if word not in _OPENS:
            stands = {"stays", "stay", "remains", "remain"} | _BE
            verbal = word in ("open", "close", "shut") and any(w in _DO - {"did"} for w in words)
            plural = word in ("open", "close") and words and words[-1] in self.lists.place
            if not (verbal or plural or any(w in stands for w in words)):
                return None
            if any(w in _MODAL or w in _WAS or w in ("be", "been", "didn't") for w in words):
                return None
        subjects = self.words[:index]
        if any(w in self.lists.place or w.rstrip("s") in self.lists.place for w in subjects):
            return Direction.HABIT
        return Direction.FUTURE if word in _OPENS else Direction.OPEN

    def _of_word(self, index: int, word: str) -> Direction | None:
        lists, at = self.lists, self.before(index)
        previous = self.word(at)
        if word in lists.habit or (word == "used" and self.word(index + 1) == "to"):
            adjective = previous in (_PASSIVE if word == "used" else _DETERMINERS)
            return None if adjective else Direction.HABIT
        if word in lists.event and self._is_had(index):
            return Direction.FUTURE
        if word in lists.progressive:
            return self._progressive(at, previous)
        if word == "gets" and self.word(index + 1).endswith("ed"):
            return Direction.FUTURE
        if word in lists.timetable_base and self._of_plural(index):
            return Direction.FUTURE
        if word in lists.past:
            return self._past_word(index, word)
        return self._past_verb(index, word, at, previous)

    def _is_had(self, index: int) -> bool:
        """Return whether there is such an event, or somebody has it: "I have a test"."""
        for verb in range(max(0, index - 5), index - 1):
            if self.clauses[verb] != self.clauses[index]:
                continue
            if not _LINKS.isdisjoint(self.words[verb:index]):
                continue
            if not _PAST_DO.isdisjoint(self.words[max(0, verb - 3) : verb]):
                continue
            word, after = self.words[verb], self.words[verb + 1]
            there = word in ("is", "are", "'s") and self.word(verb - 1) == "there"
            got = word == "got" and self.word(verb - 1) in ("have", "has", "'ve", "'s")
            if (there or got or word in ("have", "has")) and (
                after in _ARTICLES or after.isdigit()
            ):
                return True
        return False

    def _progressive(self, at: int, previous: str) -> Direction | None:
        """A running form behind "is" is an arrangement, behind "was" one of then."""
        if previous in _WAS:
            return Direction.OPEN
        if previous not in _BE:
            return None
        if previous == "'s" and self.word(at - 1) not in _CLITIC_SUBJECTS:
            return None
        return Direction.FUTURE

    def _of_plural(self, index: int) -> bool:
        """Return whether a base form has a subject right before it: we, they, or a plural noun."""
        previous = self.word(index - 1)
        if previous in ("we", "they", "i", "you"):
            asked = self.word(index - 2) in _DO | _MODAL
            return not asked and self.words[index] not in ("open", "close", "set", "reopen")
        plural = len(previous) > 3 and previous.endswith("s") and not previous.endswith("ss")
        known = previous in _DETERMINERS or previous in self.lists.habit or previous in _WAS
        return plural and not known and self.word(index - 2) not in _DO

    def _past_word(self, index: int, word: str) -> Direction | None:
        if word == "already" and any(self.words[one] in _NOW for one in self.in_clause(index + 1)):
            return None
        if word == "been":
            at = self.before(index)
            perfect = self.word(at) in _HAVE or self.word(at) == "'s"
            return Direction.PAST if perfect and not self._modal_near(at) else None
        if word in _WAS:
            after = index + 1
            while self.word(after) in _ADVERBS or self.word(after).endswith("ly"):
                after += 1
            if self.word(after) == "to" or self.word(after) in self.lists.past_of_future:
                return Direction.OPEN
        return Direction.PAST

    def _modal_near(self, index: int) -> bool:
        return any(word in _MODAL for word in self.words[max(0, index - 3) : index])

    def _past_verb(self, index: int, word: str, at: int, previous: str) -> Direction | None:
        lists = self.lists
        regular = len(word) > 3 and word.endswith("ed") and word not in lists.not_past
        if regular and self.capital(index):
            return None
        irregular = word in lists.irregular_past
        if not (regular or irregular or word in lists.participle or word in lists.same_past):
            return None
        if (
            self.word(index - 1) in _DETERMINERS - {"that"}
            or previous in _PASSIVE
            or previous == "to"
        ):
            return None
        if self._is_caused(index):
            return None
        if previous in _HAVE or previous == "been":
            if not self._modal_near(at):
                return Direction.PAST
            ahead = any(w in ("will", "'ll") for w in self.words[max(0, at - 3) : at])
            return None if ahead else Direction.OPEN
        if previous in _MODAL | _DO or (word in lists.participle and previous not in _WAS):
            return None
        if word == "left" and any(self.words[one] in _STAYS for one in self.in_clause(index)):
            return None
        if word == "closed" and not previous:
            return None
        if word in lists.same_past and (
            self._modal_near(index) or not (previous in _PRONOUNS or self._is_name(at))
        ):
            return None
        return Direction.PAST

    def _is_caused(self, index: int) -> bool:
        """Return whether a participle says what somebody will have done: "I'll have my car washed",
        "and have it delivered"."""
        for verb in range(max(0, index - 6), index - 1):
            follows = self.words[verb + 1]
            if self.words[verb] in ("have", "get") and (
                follows in _DETERMINERS or follows in _OBJECTS or self.capital(verb + 1)
            ):
                before = self.word(self.before(verb))
                return before in _MODAL or before in _BEFORE_AN_ORDER
        return False

    def _is_name(self, index: int) -> bool:
        return index >= 0 and self.text[self.tokens[index][0]].isupper()


_STARTERS: Final = frozenset(
    word_list("please also then so ok okay and just now never todo reminder")
) | frozenset(("don't", "do", "not", "note", "to", "self", "hey", "again", "first", "next"))


# A long text is looked at in pages, because a word is compared with all before it.
_PAGE_WORDS: Final = 200
_LEADS: Final = frozenset(("please", "don't", "not", "never"))


def _begins_order(sentence: _Words, index: int, *, led: bool) -> bool:
    """Return whether a base form at this token orders something; `led`: "please" or "don't" leads
    to it."""
    word, after = sentence.words[index], sentence.word(index + 1)
    if word not in sentence.lists.verb or not after:
        return False
    if after in _BE | _WAS | _MODAL or after in ("of", "has", "had", "was"):
        return False
    if after in sentence.lists.event:
        return False
    if word in sentence.lists.retrieval:
        return False
    if after.isdigit() and not sentence.has_word(index + 1):
        return False
    if word in ("do", "have"):
        return after not in _PRONOUNS and after not in ("not", "people", "any")
    if led or word not in sentence.lists.noun_verb:
        return True
    clear = _DETERMINERS - {"'s", "of", "new"} | {"me", "him", "them", "us", "it", "up"}
    return after in clear or after.isdigit() or sentence.capital(index + 1)


def _orders(sentence: _Words, starts: list[int]) -> list[Cue]:
    """The orders that begin at some of these words."""
    words, found = sentence.words, list[Cue]()
    for start in starts:
        index = start
        while index < len(words) - 1 and words[index] in _STARTERS:
            if words[index] == "do" and words[index + 1] != "not":
                break
            index += 1
        if _begins_order(sentence, index, led=not _LEADS.isdisjoint(words[start:index])):
            found.append(Cue(index, index + 1, Direction.FUTURE))
    return found


def cues_of(
    text: str,
    tokens: list[Token],
    clauses: list[int],
    taken: list[bool],
    starts: list[int],
) -> list[Cue]:
    """The cues of one sentence, in order.

    Args:
        text: the text with its capitals.
        tokens: the words of the sentence, lower-cased.
        clauses: number of the clause of each.
        taken: whether a word is part of an expression of time, and thus no cue ("May").
        starts: numbers of the words with which an order may begin.
    """
    sentence = _Words(text, tokens, clauses)
    found: list[Cue] = []
    index = 0
    while index < len(tokens):
        cue = None if taken[index] else sentence.cue(index)
        if cue is not None:
            found.append(cue)
        index = index + 1 if cue is None else cue.last
    found.extend(cue for cue in _orders(sentence, starts) if not taken[cue.first])
    return found


def has_cue(text: str, lower: str, direction: Direction) -> bool:
    """Return whether any word of a text is a cue of a direction.

    Args:
        text, lower: the text as written, and lower-cased with its length.

    Example:
        >>> has_cue("We'll see", "we'll see", Direction.FUTURE)
        True
    """
    every = tokens_of(lower, 0, len(lower))
    for low in range(0, len(every), _PAGE_WORDS):
        tokens = every[low : low + _PAGE_WORDS]
        found = cues_of(text, tokens, [0] * len(tokens), [False] * len(tokens), [0])
        if any(cue.direction is direction for cue in found):
            return True
    return False


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
