"""The question of a conversation: its last message, and of the messages before it no more than it
leans on.

A message leans on what was said before where its words show it (`data/follow_up_words.json`, by
language): it begins like a continuation and asks nothing by itself ("and Juno's?"), it puts a name
right ("no, I meant Juno"), it has a pronoun that nothing before it in the message could stand for
("where does she live?"), or it has no word of its own ("since when?"). Thanks before it count for
nothing. Every other message stands by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from vestig.language.languages import ENGLISH, is_function_word, language_of
from vestig.language.names import find_names
from vestig.language.text_forms import word_list
from vestig.language.words import APOSTROPHES, STOPWORDS, content_terms, is_question
from vestig.lazy_pattern import lazy_pattern

# Turns that a follow-up may lean on stand among so many.
TURNS_READ: Final = 5
# Code points: a longer message is no follow-up, and no more is taken of what it leans on.
_FOLLOW_UP_CHARS_MAX: Final = 200
_TAKEN_CHARS_MAX: Final = 300
# Words behind a beginning such as "and" that make a follow-up without a question mark.
_BARE_WORDS_MAX: Final = 2
# An answer of so few words says nothing beside whom it names ("That is Dana Reyes.").
_PLAIN_ANSWER_WORDS_MAX: Final = 5
_ANSWER_NAMES_MAX: Final = 3
_WORD: Final = lazy_pattern(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE: Final = lazy_pattern(r"[^.!?\n]+[.!?]*")
_ASKS_FOR_NOUNS: Final = frozenset(("whose", "which", "what", "how"))
_POSSESSIVE: Final = ("'s", "’s")
_DATA: Final = Path(__file__).resolve().parents[1] / "data"
# Nouns and endings of nouns that mean people.
_PEOPLE: Final = frozenset(
    word_list(
        "mother father mum mom dad sister brother son daughter wife husband uncle aunt cousin"
        " niece nephew friend boss child kid boy girl man woman guy person guest client patient"
        " student neighbour baby nurse"
    )
)
_OF_PEOPLE: Final = ("er", "or", "ist", "man", "woman", "ee", "ant")
# Words with such an ending that mean none.
_OF_THINGS: Final = frozenset(
    word_list(
        "after another boiler chapter coffee colour computer corner cover degree dinner"
        " either error ever factor filter flavor flavour floor folder harbor harbour heater"
        " later letter list matter meter mirror monitor motor never number offer order other"
        " outer over paper plant power printer rather restaurant river router scanner sensor"
        " server shower summer supper tower tractor trailer under water weather whether winter"
    )
)


class Turn(NamedTuple):
    """A message: its text, and whether an assistant said it."""

    text: str
    assistant: bool = False


class Question(NamedTuple):
    """The question of a conversation.

    `first`: the place of the first turn that it is made of, `last`: of the one that asks.
    `says_nothing`: it only thanks, greets, assents or declines.
    """

    text: str
    first: int
    last: int
    says_nothing: bool = False


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words that show a follow-up in one language, in lower case."""

    openings: tuple[str, ...]
    # what puts a name right that stood in a question
    corrections: tuple[str, ...]
    asking: frozenset[str]
    who: frozenset[str]
    articles: frozenset[str]
    persons: frozenset[str]
    # of the pronouns
    possessive: frozenset[str]
    things: tuple[str, ...]
    # of these, only at the end of a message, and only in these runs of words
    last: frozenset[str]
    behind: tuple[str, ...]
    # of an order to go on, or to stop, and of the part of the work that it is about
    onward: frozenset[str]
    parts: frozenset[str]
    idioms: tuple[str, ...]


@cache
def _words() -> Mapping[str, _Words]:
    raw = (_DATA / "follow_up_words.json").read_bytes()
    return msgspec.json.decode(raw, type=dict[str, _Words])


@cache
def _remarks() -> frozenset[str]:
    lines = (_DATA / "remarks.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _lower(text: str) -> str:
    return text.lower().translate(APOSTROPHES)


def says_nothing(text: str) -> bool:
    """Return whether a message only thanks, greets, assents or declines.

    Example:
        >>> [says_nothing(one) for one in ("ok great, thank you!", "Danke dir", "👍")]
        [True, True, True]
        >>> [says_nothing(one) for one in ("Thanks! Where is the key?", "ok by noon", "Oslo", "7")]
        [False, False, False, False]
    """
    if "?" in text:
        return False
    words = _WORD.findall(_lower(text))
    if not words:
        return True
    remarks = _remarks()
    # of a contraction the part before its apostrophe
    return not remarks.isdisjoint(words) and all(
        word in remarks or word.partition("'")[0] in STOPWORDS for word in words
    )


def only_goes_on(text: str) -> bool:
    """Return whether a message only tells to go on or to stop, or which part of what was said
    before it is meant: it has an order of that kind and no word that asks, and beside it function
    words and names of parts alone, with their letter or number. By itself it is about nothing.

    Example:
        >>> [only_goes_on(one) for one in ("carry on please", "use option B", "mach weiter")]
        [True, True, True]
        >>> [only_goes_on(one) for one in ("use the port", "next steps", "continue with Oslo")]
        [False, False, False]
        >>> only_goes_on("when do we go on?")
        False
    """
    if "?" in text or len(text) > _FOLLOW_UP_CHARS_MAX:
        return False
    words = _WORD.findall(_lower(text))
    # "use Go": of these languages, one alone begins words with a capital that are no names
    named = any(len(one) > 1 and one[0].isupper() for one in _WORD.findall(text)[1:])
    return any(
        _is_onward(words, language, own)
        for language, own in _words().items()
        if not named or language == "German"
    )


def _is_onward(words: Sequence[str], language: str, own: _Words) -> bool:
    """Return whether words are those of `only_goes_on` in one language."""
    if own.onward.isdisjoint(words) or not (own.asking - own.onward).isdisjoint(words):
        return False
    known = own.onward | own.parts | own.articles | own.last | _remarks()
    return all(
        word in known
        or is_function_word(word, language)
        or (language == ENGLISH and word.partition("'")[0] in STOPWORDS)
        or (before in own.parts and (len(word) == 1 or word.isdigit()))
        for before, word in zip(("", *words), words, strict=False)
    )


def question_of(turns: Sequence[Turn]) -> Question:
    """The question of a conversation: the last turn that is no assistant's, with what it leans on.

    A turn that asks nothing, behind a question that nobody answered yet, is asked with that.

    Args:
        turns: oldest first, at least one.

    Example:
        >>> talk = [Turn("When is Max's birthday?"), Turn("On 3 May.", True), Turn("and Juno's?")]
        >>> question_of(talk).text
        "When is Juno's birthday?"
        >>> talk[2:] = [Turn("How many days does it have?")]
        >>> question_of(talk).text
        "How many days does it have? When is Max's birthday?"
        >>> talk[2:] = [Turn("What is the capital of Peru?")]
        >>> question_of(talk).text
        'What is the capital of Peru?'
    """
    spoken = [at for at, turn in enumerate(turns) if not turn.assistant]
    last = spoken[-1] if spoken else len(turns) - 1
    text = turns[last].text.strip()
    silent = says_nothing(text)
    open_question = last > 0 and not turns[last - 1].assistant and is_question(turns[last - 1].text)
    if open_question and not is_question(text):
        before = _resolved(turns, last - 1)
        whole = before.text if silent else f"{before.text} {text}"
        return Question(whole, before.first, last - 1)
    if silent:
        return Question(text, last, last, says_nothing=True)
    return _resolved(turns, last)


def _resolved(turns: Sequence[Turn], at: int) -> Question:
    """A turn with what it leans on."""
    text = turns[at].text.strip()
    alone = Question(text, at, at)
    if len(text) > _FOLLOW_UP_CHARS_MAX:
        return alone
    within = range(max(0, len(turns) - TURNS_READ), at)
    before = [place for place in reversed(within) if not says_nothing(turns[place].text)]
    own = next((place for place in before if not turns[place].assistant), None)
    answer = before[0] if before and turns[before[0]].assistant else None
    base = answer if own is None else own
    if base is None:
        return alone
    words = _of_language(text, " ".join(turns[place].text[:_TAKEN_CHARS_MAX] for place in before))
    if words is None:
        return alone
    how = _leans(text, words)
    if how is None:
        # a pronoun behind thanks was seen already
        text = _without_remarks(text)
        how = None if text == alone.text else _leans(text, words, pronouns=False)
    if how is None:
        return alone
    earlier = _resolved(turns, base)
    said = "" if answer is None or answer == base else turns[answer].text
    if how == _CONTINUES:
        swapped = _swapped(_asking_part(earlier.text), text, words)
        whole = swapped or f"{text} {_asking_part(earlier.text)}"
    else:
        whole = _with_referent(text, earlier.text, said, words, person=how == _PERSON)
    return Question(whole, earlier.first, at)


def _without_remarks(text: str) -> str:
    """A message without the sentences before all others that say nothing.

    Example:
        >>> _without_remarks("Thanks! And Mia?"), _without_remarks("Thanks!")
        ('And Mia?', 'Thanks!')
    """
    for found in _SENTENCE.finditer(text):
        if not says_nothing(found[0]):
            return text[found.start() :].strip()
    return text


def _of_language(text: str, before: str) -> _Words | None:
    """The words of the language of a follow-up; it may be too short to show it without the turns
    before it or a first word that one language alone has. None = a language without such words."""
    language = language_of(text) or language_of(f"{before} {text}")
    if language is None:
        first = _lower(text).split()[0].strip("¿?!.,")
        own = [name for name, one in _words().items() if first in (*one.openings, *one.asking)]
        language = own[0] if len(own) == 1 else ENGLISH
    return _words().get(language)


_CONTINUES, _PERSON, _THING = "continues", "person", "thing"


def _leans(text: str, words: _Words, *, pronouns: bool = True) -> str | None:
    """How a message leans on those before it; None where it stands by itself. `pronouns`: by one
    too."""
    lower = " ".join(_WORD.findall(_lower(text)))
    opening = next((one for one in words.openings if f"{lower} ".startswith(f"{one} ")), None)
    said = lower.split()
    rest = said if opening is None else lower[len(opening) :].split()
    if opening is not None and rest:
        several = " " in opening
        short = text.rstrip().endswith("?") or len(rest) <= _BARE_WORDS_MAX
        if several or (short and words.asking.isdisjoint(rest)):
            return _CONTINUES
    if _puts_right(lower, text, words):
        return _CONTINUES
    how = _pronoun(text, lower, words) if pronouns else None
    if how is not None:
        return how
    bare = not find_names(text) and not any(word in words.articles for word in said)
    if bare and (_has_no_content(text, said) or (opening is not None and is_question(text))):
        return _THING
    return None


def _puts_right(lower: str, text: str, words: _Words) -> bool:
    """Return whether a message does no more than to name another one ("no, I meant Juno's")."""
    found = next((one for one in words.corrections if f" {one} " in f" {lower} "), None)
    if found is None or len(_names(text)) != 1:
        return False
    before, _, behind = f" {lower} ".partition(f" {found} ")
    return _remarks().issuperset(before.split()) and 0 < len(behind.split()) <= _BARE_WORDS_MAX


def _has_no_content(text: str, said: Sequence[str]) -> bool:
    language = language_of(text)
    if any(is_function_word(word, language) for word in said):
        return all(is_function_word(word, language) for word in said)
    # behind a preposition ("since when?") the sign of a question tells that one is meant
    asking = said if text.rstrip().endswith("?") else said[:1]
    asks = any(word in own.asking for own in _words().values() for word in asking)
    return asks and not content_terms(text, ())


def _pronoun(text: str, lower: str, words: _Words) -> str | None:
    """The kind of the first pronoun of a message that nothing before it could stand for."""
    plain = f" {lower} "
    for idiom in words.idioms:
        plain = plain.replace(f" {idiom} ", " . ")
    said = plain.split()
    names = [_lower(word) for name in find_names(text) for word in _WORD.findall(name.name)]
    # "Rehbein's offer, when did it come": what stands before a comma, or has something, is meant
    topic = _lower(text).partition(",")[0] if "," in text else ""
    topical = set(_WORD.findall(topic)) if content_terms(topic, ()) else set()
    for at, word in enumerate(said):
        before = said[:at]
        determined = any(
            one in words.articles or (one.endswith("'s") and one not in words.asking)
            for one in before
        ) or (bool(topical) and topical <= set(before))
        named = any(one in names or one.partition("'")[0] in names for one in before)
        person = word in words.persons
        two = " ".join(said[max(0, at - 1) : at + 1])
        is_object = at > 0 and bool(content_terms(said[at - 1], ()))
        nouns = () if _is_asked_of(said, at, words) else before
        if person and not (named or topical or any(map(_means_person, nouns))):
            return _PERSON
        thing = word in words.things or two in words.things or two in words.behind
        thing = thing or (at == len(said) - 1 and word in words.last)
        subject = word in words.things and not is_object
        if (word in words.possessive or subject) and _has_owner(before, words):
            continue
        if thing and not determined and not (named and not is_object):
            return _THING
    return None


def _is_asked_of(said: Sequence[str], at: int, words: _Words) -> bool:
    """Return whether the pronoun at a place is the subject of a question for a noun, which it does
    not stand for then ("whose friend is he", "which teacher did she like")."""
    asked = said[: at - 1]
    return (
        len(asked) > 1
        and asked[0] in _ASKS_FOR_NOUNS
        and said[at - 1] in words.asking
        and words.articles.isdisjoint(asked)
    )


def _has_owner(before: Sequence[str], words: _Words) -> bool:
    """Return whether a possessive or a subject may stand for what these words before it name: who
    does it, or two words of a topic, such as a subject and its verb."""
    return not words.who.isdisjoint(before) or len(content_terms(" ".join(before), ())) > 1


def _means_person(word: str) -> bool:
    if word in _OF_THINGS:
        return False
    return word in _PEOPLE or (len(word) > 4 and word.endswith(_OF_PEOPLE))


def _asking_part(text: str) -> str:
    """The last sentence of a text that asks; else its beginning."""
    sentences = [found[0].strip() for found in _SENTENCE.finditer(text)]
    asking = [one for one in sentences if one.endswith("?")]
    part = asking[-1] if asking and len(text) > _TAKEN_CHARS_MAX else text
    return part if len(part) <= _TAKEN_CHARS_MAX else part[:_TAKEN_CHARS_MAX].rpartition(" ")[0]


def _names(text: str) -> list[str]:
    """The names of a text, without an ending of possession."""
    found = (re.sub(r"['’]s$", "", name.name) for name in find_names(text))
    return list(dict.fromkeys(found))


def _swapped(earlier: str, text: str, words: _Words) -> str | None:
    """An earlier question with the one name of a follow-up in the place of its one name."""
    old, new = _names(earlier), _names(text)
    if len(old) != 1 or len(new) != 1 or old == new:
        return None
    begins = {word for one in (*words.openings, *words.corrections) for word in one.split()}
    begins |= _remarks()
    plain = (re.sub(r"['’]s$", "", word) for word in _WORD.findall(text))
    rest = [one for one in plain if one not in new[0].split() and _lower(one) not in begins]
    if content_terms(" ".join(rest), ()):
        return None
    return earlier.replace(old[0], new[0])


def _named_alone(answer: str, names: Sequence[str]) -> Sequence[str]:
    """The names of an answer of few words, none of them as whose somebody is."""
    if len(_WORD.findall(answer)) > _PLAIN_ANSWER_WORDS_MAX or re.search(r"['’]s\b", answer):
        return ()
    return names


def _with_referent(text: str, earlier: str, answer: str, words: _Words, *, person: bool) -> str:
    """A follow-up with what its pronoun may stand for: the question before it and the names of its
    answer, or, of a person, one name alone.

    That is the name that question and answer share, else the one that the question has, else, of a
    question without a name, the one of its answer. A question that asks who, or has a word for
    people beside a name ("Ben's friend"), may mean another one than it names: who asks for somebody
    means whom an answer of few words names alone.
    """
    asked, answered = _names(earlier), _names(answer[:_TAKEN_CHARS_MAX])
    if person:
        own = {word for name in asked for word in _WORD.findall(_lower(name))}
        said = [word for word in _WORD.findall(_lower(earlier)) if word not in own]
        asks_who = not words.who.isdisjoint(said)
        both = [name for name in asked if name in answered]
        found: Sequence[str] = ()
        if not asked or not (asks_who or any(map(_means_person, said))):
            found = both if len(both) == 1 else asked or answered
        elif asks_who and content_terms(" ".join(said), ()):
            found = _named_alone(answer, answered)
        if len(found) == 1 and found[0] not in text:
            return f"{found[0]}: {text}"
    added = [name for name in answered if name not in earlier][:_ANSWER_NAMES_MAX]
    return " ".join((text, _asking_part(earlier), *added))
