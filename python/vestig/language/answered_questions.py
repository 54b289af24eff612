"""Questions that a text answers, made by rules from its statements.

The rules know the grammar of English statements: a subject, its verb, and what follows. A statement
is asked for its subject (who, what), and for those of its other parts that it has: the object
(what), a time (when), a place (where), a number (how many), a reason (why). Verbs stay as they are
written, but for irregular ones: what reads the words of the questions brings both to one stem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from vestig.language.word_list import word_list

__all__ = ["RULES_VERSION", "answered_questions", "sentences"]

# Another number wherever a text may come to answer other questions.
RULES_VERSION: Final = "questions-1"

# Sentences that begin behind this many code points make no questions.
_CHARS_READ: Final = 1_200
_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=\S)")

_BE: Final = word_list("am is are was were")
_MODALS: Final = word_list("have has had will would can could should must may might")
# "went": the question has "did … go"
_PAST: Final = dict(
    pair.split("/")
    for pair in word_list(
        "became/become began/begin broke/break brought/bring built/build bought/buy came/come"
        " chose/choose did/do drew/draw drank/drink drove/drive ate/eat fell/fall felt/feel"
        " fought/fight found/find flew/fly forgot/forget gave/give got/get went/go grew/grow"
        " heard/hear held/hold kept/keep knew/know led/lead left/leave lost/lose made/make"
        " meant/mean met/meet paid/pay put/put ran/run read/read rode/ride said/say saw/see"
        " sent/send set/set sang/sing slept/sleep spent/spend spoke/speak stood/stand stole/steal"
        " swam/swim took/take taught/teach told/tell thought/think threw/throw"
        " understood/understand woke/wake wore/wear won/win wrote/write"
    )
)
# Verbs of statements about now; their third person ends in s.
_NOW: Final = word_list(
    "believe buy come cost do eat enjoy feel find get give go hate have hear help hold hope keep"
    " know leave like live look lose love make mean meet miss move need own pay plan play prefer"
    " put read remember run say see sell start stay stop study take teach tell think travel try"
    " use visit walk want watch wear wish work write"
)
_MONTH: Final = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_DAY: Final = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_SPAN: Final = r"(?:minute|hour|day|week|weekend|month|year|summer|winter|spring|autumn|fall|night)"
_TIME: Final = re.compile(
    rf"\b(?:(?:in|on|at|since|until|by|during|around)\s+(?:early\s+|late\s+|the\s+)?"
    rf"(?:{_MONTH}|{_DAY}|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}|\d{{4}}|noon|midnight)\b"
    rf"(?:\s+\d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,?\s+\d{{4}}\b)?"
    rf"|(?:last|next|this|every)\s+(?:{_SPAN}|{_DAY}|{_MONTH})s?\b"
    rf"|(?:\w+\s+){{1,2}}{_SPAN}s?\s+ago\b"
    r"|(?:yesterday|today|tonight|tomorrow|recently|(?:these|those)\s+days)\b"
    rf"|for\s+(?:\w+\s+){{1,2}}{_SPAN}s?\b)",
    re.IGNORECASE,
)
_PLACE: Final = re.compile(
    rf"\b(?:in|at|from|to|near|into|across)\s+(?:(?:the|a|my|our|his|her|their)\s+)?"
    rf"(?!{_MONTH}\b|{_DAY}\b)[A-Z]\w[\w'’-]*(?:\s+[A-Z]\w[\w'’-]*)*"
)
_NUMBER: Final = re.compile(
    r"\b(?:\d[\d.,]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozens?|hundreds?)"
    rf"\s+(?!{_MONTH}\b)([a-z]\w+)"
)
_REASON: Final = re.compile(r",?\s+(?:because|since|so that|in order to|due to)\b.*", re.I | re.S)
_FIRST: Final = re.compile(r"\b(?:I|me|myself)\b")
_OWN: Final = re.compile(r"\b(?:[Mm]y|mine)\b")
_OPENING: Final = re.compile(
    r"^(?:(?:yes|yeah|no|well|so|oh|ok|okay|and|but|also|then|thanks|hi|hey|wow|actually)\b[\s,!.]*)+",
    re.IGNORECASE,
)
_SHORT: Final = re.compile(
    r"\b(ca|wo)n['’]t\b|(?<=[a-z])(n['’]t|['’](?:m|re|ve|ll|d))\b", re.IGNORECASE
)
_LONG: Final = {"m": " am", "re": " are", "ve": " have", "ll": " will", "d": " would"}

_NAME: Final = r"[A-Z][\w'’.-]*(?:\s+(?:of\s+)?[A-Z][\w'’-]*)*"
_NOUN: Final = (
    r"(?:[Tt]he|[Mm]y|[Oo]ur|[Yy]our|[Hh]is|[Hh]er|[Ii]ts|[Tt]heir|[Tt]h(?:is|at|ese|ose)|[Aa]n?"
    r"|[Ss]ome|[Mm]any|[Ee]very)\s+(?:[\w'’-]+\s+){0,3}?[\w'’-]+"
)
_PRONOUN: Final = r"(?:I|[Ww]e|[Hh]e|[Ss]he|[Tt]hey|[Yy]ou|[Ii]t)"
_SUBJECT: Final = rf"(?P<subject>{_PRONOUN}\b|{_NOUN}|{_NAME})"
_ADVERB: Final = r"(?:\s+(?:just|also|really|always|never|often|recently|finally|\w+ly))*"
_AUXILIARY: Final = re.compile(
    rf"{_SUBJECT}{_ADVERB}\s+(?P<verb>{'|'.join((*_BE, *_MODALS))})\b(?P<rest>.*)", re.S
)
_ACTING: Final = re.compile(
    rf"{_SUBJECT}{_ADVERB}\s+(?P<verb>{'|'.join(_PAST)}|[a-z]{{2,}}ed|(?:{'|'.join(_NOW)})(?:e?s)?)"
    r"\b(?P<rest>.*)",
    re.S,
)
_PEOPLE: Final = frozenset(word_list("i we he she they you"))
_THINGS: Final = frozenset(word_list("it the this that these those a an its some many every"))


class _Clause(NamedTuple):
    """A statement: who acts, its verb as it stands and in two parts as it is asked, the rest."""

    subject: str
    stated: str
    asked: str
    verb: str
    rest: str


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """(place of its beginning, sentence) of a text; blank ones are left out.

    Example:
        >>> list(sentences("It rained. Who came?"))
        [(0, 'It rained.'), (11, 'Who came?')]
    """
    start = 0
    for end in _END.finditer(text):
        if text[start : end.start()].strip():
            yield start, text[start : end.start()]
        start = end.end()
    if text[start:].strip():
        yield start, text[start:]


def answered_questions(text: str, author: str | None = None) -> list[str]:
    """Questions that the statements of a text answer, each once, in order; [] where no rule fits.

    Args:
        text: only sentences that begin within its first 1,200 code points are asked.
        author: who stands in the questions for the first person.

    Example:
        >>> answered_questions("I met two friends in Oslo last week.", "Ada")
        ['Who met two friends in Oslo last week?', 'What did Ada meet?', \
'When did Ada meet two friends in Oslo?', 'Where did Ada meet two friends last week?', \
'How many friends did Ada meet in Oslo last week?']
        >>> answered_questions("The key is under the mat.")
        ['What is under the mat?', 'Is the key under the mat?']
        >>> answered_questions("Really?")
        []
    """
    found: dict[str, None] = {}
    for start, sentence in sentences(text):
        if start >= _CHARS_READ:
            break
        clause = None if sentence.rstrip("\"')]").endswith("?") else _clause(sentence, author)
        if clause is not None:
            found.update(dict.fromkeys(_questions(clause)))
    return list(found)


def _clause(sentence: str, author: str | None) -> _Clause | None:
    """The statement that a sentence begins with; None where it is none that the rules know."""
    plain = _SHORT.sub(_in_full, _OPENING.sub("", sentence.strip())).rstrip(" .!;:,\"')")
    for pattern in (_AUXILIARY, _ACTING):
        match = pattern.match(plain)
        if match is None:
            continue
        verb, rest = match["verb"], " ".join(match["rest"].split())
        subject = _third(_lowered(match["subject"]), author)
        if pattern is _AUXILIARY:
            return _Clause(subject, verb, verb, "", _third(rest, author))
        if verb in _PAST or verb.endswith("ed"):
            auxiliary = "did"
        else:
            auxiliary = "does" if verb.endswith("s") else "do"
        base = _PAST.get(verb, verb)
        return _Clause(subject, verb, auxiliary, base, _third(rest, author))
    return None


def _in_full(match: re.Match[str]) -> str:
    if match[1] is not None:
        return "can not" if match[1].lower() == "ca" else "will not"
    short = match[2].lower().replace("’", "'")
    return " not" if short == "n't" else _LONG[short[1:]]


def _third(part: str, author: str | None) -> str:
    """The first person named, where it is known who speaks."""
    if author is None:
        return part
    return _OWN.sub(lambda _: f"{author}'s", _FIRST.sub(lambda _: author, part))


def _lowered(subject: str) -> str:
    """A subject as it stands within a question: the capital of an ordinary first word goes."""
    first = subject.split(None, 1)[0]
    ordinary = first != "I" and (first.lower() in _THINGS | _PEOPLE or not first[0].isupper())
    own = first.lower() in ("my", "our", "your", "his", "her", "their")
    return subject[0].lower() + subject[1:] if ordinary or own else subject


def _questions(clause: _Clause) -> Iterator[str]:
    subject, rest = clause.subject, clause.rest
    who = "What" if subject.split(None, 1)[0].islower() and subject not in _PEOPLE else "Who"
    if not rest:
        return
    yield f"{who} {clause.stated} {rest}?"
    asked = f"{clause.asked} {subject} {clause.verb}".rstrip()
    if clause.verb:
        yield f"What {asked}?"
    else:
        yield f"{asked[0].upper()}{asked[1:]} {rest}?"
    for word, part in (("When", _TIME), ("Where", _PLACE), ("Why", _REASON)):
        match = part.search(rest)
        if match is not None:
            without = " ".join((rest[: match.start()] + " " + rest[match.end() :]).split())
            yield f"{word} {asked} {without}".rstrip(" ,") + "?"
    for match in _NUMBER.finditer(rest):
        if _TIME.match(rest, match.start()) is None:
            without = " ".join((rest[: match.start()] + " " + rest[match.end() :]).split())
            yield f"How many {match[1]} {asked} {without}".rstrip(" ,") + "?"
