"""Words of texts and queries: tokens of the core, those that are no stop words, those that say what
a query is about, those that ask about the past or about now, and contractions written out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from vestig import _core
from vestig._core import (
    ContentTerm,
    ContentWords,
    lower_words,
    placed_terms,
    terms,
    terms_among,
    text_flags,
    tokens,
)
from vestig.decoders import decoded
from vestig.language.text_forms import word_list
from vestig.language.time.expressions import MONTH_NAMES, MONTHS, WEEKDAYS
from vestig.lazy_pattern import lazy_pattern

__all__ = [
    "ContentTerm",
    "ContentWords",
    "asking_words",
    "content_terms",
    "frame_words",
    "keywords",
    "lower_words",
    "placed_terms",
    "terms",
    "terms_among",
    "text_flags",
    "tokens",
]


def keywords(text: str, *, limit: int = 64, extra_stopwords: Iterable[str] = ()) -> list[str]:
    """Lower-cased keywords, most frequent first, then by first position.

    Identifiers (`jira-9988`, `src/main.rs`) stay whole. Runs of Han, Hiragana, Katakana and Thai
    give overlapping bigrams.

    Args:
        text: any text.
        limit: the most that are returned; the default is that of memories and queries.
        extra_stopwords: further words to leave out (`keywords.stopwords`), in any case.

    Example:
        >>> keywords("The deploy of jira-9988: deploy on Fridays")
        ['deploy', 'jira-9988', 'fridays']
    """
    extra = frozenset([word.lower() for word in extra_stopwords if _is_text(word)])
    return _core.keywords(text, limit, extra)


def _is_text(word: str) -> bool:
    """Return whether it has no surrogate: no token has one."""
    return not any("\ud800" <= char <= "\udfff" for char in word)


def _read() -> frozenset[str]:
    text = (Path(__file__).parents[1] / "data" / "stopwords.txt").read_text(encoding="utf-8")
    return frozenset(
        word for line in text.splitlines() if not line.startswith("#") for word in line.split()
    )


STOPWORDS: Final = _read()


def _words_of_time() -> frozenset[str]:
    """The section `times` of `data/name_words.txt`."""
    text = (Path(__file__).parents[1] / "data" / "name_words.txt").read_text(encoding="utf-8")
    section = text.partition("\n[times]\n")[2].partition("\n#")[0]
    return frozenset(section.split())


# Words that open a chat sentence before a name, and shorthands that look like acronyms.
_GREETINGS: Final = frozenset(
    word_list(
        "hey hi hello thanks dear oh ah wow yeah yes yep nope ok okay bye goodbye congrats please"
        " sure sorry welcome fyi btw lol omg asap imo aka eg ie etc"
    )
)
# Pronouns that are no function words, for they say something as keywords.
_PRONOUNS: Final = frozenset(word_list("nobody nothing none"))
_SHORT_WEEKDAYS: Final = frozenset(word_list("mon tue tues wed thu thur thurs fri sat sun"))

_CONTRACTED: Final = frozenset(
    f"{word}{tail}"
    for word, tails in (
        ("i", ("m", "ve", "ll", "d")),
        ("you", ("re", "ve", "ll", "d")),
        ("he", ("s", "ll", "d")),
        ("she", ("s", "ll", "d")),
        ("it", ("s", "ll", "d")),
        ("we", ("re", "ve", "ll", "d")),
        ("they", ("re", "ve", "ll", "d")),
        ("that", ("s", "ll", "d")),
        ("there", ("s", "ll", "d")),
        ("what", ("s", "re", "ll", "d")),
        ("who", ("s", "re", "ll", "d")),
        ("where", ("s", "d")),
        ("how", ("s", "d")),
        ("when", ("s",)),
        ("why", ("s",)),
        ("here", ("s",)),
        ("let", ("s",)),
    )
    for tail in (f"{apostrophe}{tail}" for tail in tails for apostrophe in "'’")
) | frozenset(
    f"{word}n{apostrophe}t"
    for word in (
        *("do", "does", "did", "is", "are", "was", "were", "has", "have", "had", "ca", "could"),
        *("would", "should", "wo", "must", "need", "ai", "might", "sha"),
    )
    for apostrophe in "'’"
)

NAME_STOPWORDS: Final = (
    STOPWORDS
    | _GREETINGS
    | _PRONOUNS
    | _SHORT_WEEKDAYS
    | _CONTRACTED
    | frozenset(MONTHS)
    | frozenset(WEEKDAYS)
    | frozenset(f"{day}s" for day in WEEKDAYS)
    | _words_of_time()
)


_FILE: Final = Path(__file__).parents[1] / "data" / "newer_words.json"


class _Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lists of `data/newer_words.json`, lower case; between the words of an entry there is any
    white space."""

    past: list[str]
    previous: list[str]
    present: list[str]
    future: list[str]
    anew: list[str]
    additional: list[str]
    ended: list[str]


@cache
def _lists() -> _Lists:
    return decoded(_FILE.read_bytes(), _Lists)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Finds any entry of a list, as whole words."""
    entries = [r"\s+".join(map(re.escape, one.split())) for one in getattr(_lists(), name)]
    return re.compile(rf"(?<!\w)(?:{'|'.join(entries)})(?!\w)")


_TIME: Final = (
    r"(?:times?|night|weeks?|weekend|months?|years?|quarter|season|spring|summer|autumn|fall|winter"
    rf"|{'|'.join((*WEEKDAYS, *MONTH_NAMES))}|christmas|easter|century|decade"
    r"|few|couple|two|three|four|five|six|ten|\d+)"
)
# Words of the past that mean none here: an age, the last of several, an end, a name; a change that
# is yet to be made.
_NOT_PAST: Final = lazy_pattern(
    rf"\bhow old\b|\blast\b(?!\s+{_TIME}\b)|\buntil\s+(?:when|what|which)\b"
    r"|\bfirst\s+(?:names?|aid|aiders?)\b"
    r"|\b(?:do|does|to|can|may|must|should|shall|will)(?:\s+\w+){0,2}\s+change\b"
)
_DUTY: Final = lazy_pattern(r"\b(?:must|should|may|can|needs?|ha(?:ve|s)\s+to)\b")
_BEFORE: Final = lazy_pattern(r"\bbefore\b")


def speaks_of_past(query: str) -> bool:
    """Return whether a question asks about what was: by its verbs, or by a word of time.

    Example:
        >>> [speaks_of_past(one) for one in ("Where did Tom live?", "Where does Tom live?")]
        [True, False]
        >>> [speaks_of_past(one) for one in ("What came last week?", "When is the last ferry?")]
        [True, False]
    """
    past, lower = _pattern("past"), query.lower()
    if past.search(lower) is None:
        return False
    read = _NOT_PAST.sub(" ", lower)
    # what must be done before something must be done now
    read = _BEFORE.sub(" ", read) if _DUTY.search(read) else read
    return past.search(read) is not None


# At its end, "before" names no time before which; who has done something before asks of now.
_BEFORE_NOW: Final = lazy_pattern(r"^(?!.*\b(?:have|has|ever|never)\b).*\bbefore\W*$")


def speaks_of_previous(query: str) -> bool:
    """Return whether a question asks for what was before that which holds now.

    Example:
        >>> [speaks_of_previous(one) for one in ("His previous car?", "Where did he live before?")]
        [True, True]
        >>> [speaks_of_previous(one) for one in ("Before the war?", "As in the previous task")]
        [False, False]
    """
    lower = query.lower()
    found = _pattern("previous").search(lower) or _BEFORE_NOW.search(lower)
    return bool(found) and is_question(query)


_SAID: Final = lazy_pattern(
    r"^\W*(?:(?:hey|hi|so|ok|okay|and|well|please)\W+)?"
    r"what(?:\s+(?:did|have)|['’]d)\s+(?:i|you|we|the\s+(?:user|assistant))\s+"
    r"(?:ever\s+|already\s+|just\s+)?"
    r"(?:(?:say|said|tell|told|mention(?:ed)?|write|written|wrote|note|noted|talk(?:ed)?|ask(?:ed)?)"
    r"(?:\s+(?:to\s+)?(?:me|you|us))?\s+(?:about|on|regarding|concerning)"
    r"|(?:recommend(?:ed)?|suggest(?:ed)?|advise|advised)\s+(?:about|on|for|regarding))\b"
)


def said_about(query: str) -> int | None:
    """Return where the topic of a question for what was said about it begins; None for another.

    Example:
        >>> [said_about(one) for one in ("What did I say about Elsa?", "What did Elsa say?")]
        [20, None]
    """
    found = _SAID.search(query.lower())
    return None if found is None else found.end()


def states_anew(text: str) -> bool:
    """Return whether a statement says that what it tells holds since a change.

    Example:
        >>> [states_anew(one) for one in ("The key is now with Ada.", "The key is with Ada.")]
        [True, False]
    """
    return _pattern("anew").search(text.lower()) is not None


def says_additional(text: str) -> bool:
    """Return whether a statement says that what it tells holds beside something else.

    Example:
        >>> [says_additional(one) for one in ("Ann also speaks Welsh.", "Ann speaks Welsh.")]
        [True, False]
    """
    return _pattern("additional").search(text.lower()) is not None


def says_ended(text: str) -> bool:
    """Return whether a statement says that something ended, was moved or was never so.

    Example:
        >>> [says_ended(one) for one in ("The drill is called off.", "The drill is at noon.")]
        [True, False]
    """
    return _pattern("ended").search(text.lower()) is not None


_CLAUSE: Final = lazy_pattern(
    r"[,;:!?]\s|\.(?:\s|$)|\b(?:and|but|because|since|so|while|und|aber|sondern|weil|denn|seit)\b"
)


def ended_clause(text: str) -> str:
    """Return the part of a statement in which it says that something ended (`says_ended`), "" for
    none.

    Example:
        >>> ended_clause("In May we moved; Ann is no longer the cook, Bo took her place.")
        'Ann is no longer the cook'
    """
    clauses = (one.strip() for one in _CLAUSE.split(text))
    return next((one for one in clauses if says_ended(one)), "")


@cache
def ending_terms() -> frozenset[str]:
    """Return the content terms of the words by which `says_ended` goes."""
    return frozenset(one.term for words in _lists().ended for one in content_terms(words, ()))


def speaks_of_present(query: str) -> bool:
    """Return whether a question asks about what holds now.

    Example:
        >>> speaks_of_present("Does Tom still live in Oslo?")
        True
    """
    return _pattern("present").search(query.lower()) is not None


def speaks_of_future(query: str) -> bool:
    """Return whether a question has a word of what is to come.

    Example:
        >>> speaks_of_future("Where will Tom live?"), speaks_of_future("Where does Tom live?")
        (True, False)
    """
    return _pattern("future").search(query.lower()) is not None


_DATA: Final = Path(__file__).parents[1] / "data"


@cache
def frame_words() -> frozenset[str]:
    """Return the lower-cased words that frame a question: who, which, kind, many, recently …

    Example:
        >>> "kind" in frame_words(), "dog" in frame_words()
        (True, False)
    """
    return _listed("frame_words.txt")


@cache
def asking_words() -> frozenset[str]:
    """Return the lower-cased words with which one asks: remind, tell, please …

    Example:
        >>> "please" in asking_words(), "dog" in asking_words()
        (True, False)
    """
    return _listed("asking_words.txt")


def _listed(name: str) -> frozenset[str]:
    lines = (_DATA / name).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@cache
def _content_words() -> ContentWords:
    return ContentWords(STOPWORDS | frame_words() | asking_words())


def content_terms(text: str, times: Sequence[tuple[int, int]]) -> list[ContentTerm]:
    """The content terms of a query in order, repeats kept. An identifier gives its whole and its
    parts, each judged by itself.

    Args:
        text: any text.
        times: its temporal expressions, code point offsets, half-open.

    Example:
        >>> found = content_terms("Which kind of dogs did Maria adopt in March?", [(38, 43)])
        >>> [(one.term, one.in_time) for one in found]
        [('dog', False), ('maria', False), ('adopt', False), ('march', True)]
    """
    return _content_words().terms(text, times)


_QUESTION: Final = 1 << 11


def asks(text: str) -> bool:
    """Return whether a text ends with a question mark.

    Example:
        >>> asks("Who is that? "), asks("Is it? Yes.")
        (True, False)
    """
    return bool(text_flags(text) & _QUESTION)


_ASKS: Final = 1 << 16


# A query that begins with one of these asks; in a memory, more has to show it.
_ASKING_FIRST: Final = word_list(
    "what which who whom whose where when why how is are was were does did has"
)


def is_question(query: str) -> bool:
    """Return whether a query asks something: like a question of a conversation, or by its first
    word, where neither a comma nor a mark at the end tells a statement.

    Example:
        >>> [is_question(one) for one in ("who runs the gateway", "Really?", "gateway, Lisbon")]
        [True, True, False]
        >>> is_question("When I deploy, the gateway fails")
        False
    """
    if text_flags(query) & (_QUESTION | _ASKS):
        return True
    if "," in query or query.rstrip().endswith((".", "!")):
        return False
    first = query.lower().translate(APOSTROPHES).split(maxsplit=1)[:1]
    return any(word.partition("'")[0] in _ASKING_FIRST for word in first)


# What may stand before a question or an order.
_OPENINGS: Final = frozenset(
    word_list(
        "please kindly can could would will you tell remind me us and so also now okay ok hey hi"
        " do know bitte por favor"
    )
)
# Orders to list, and what they list then: "name every boat", "show me all boats".
_ORDERS: Final = word_list("list name show give enumerate mention")
_TO_WHOM: Final = ("me", "us")
_ALL: Final = word_list("all every each everything everyone everybody")
_WORDS: Final = lazy_pattern(r"\w+'?")
# A query that begins with one of these, or behind an opening, asks for everything that answers it.
_OF_ALL: Final = tuple(
    tuple(one.split())
    for one in (
        "all", "every", "everything", "how many", "which of", "what all", "who all",
        "what are all", "who are all", "where are all", "list the", "list my",
        "list our", "show my", "show our",
        "enumerate the", "enumerate my", "enumerate our", "count all", "count every",
        "count the", "count my", "count our",
        "wie viele", "wie vielen", "wieviele", "welche", "nenne alle", "nenne jede", "zeige alle",
        "zeig alle", "zeig mir alle", "liste alle", "zähle alle", "zähle die", "alle",
        "combien de", "combien d'", "quels", "quelles", "tous les", "toutes les",
        "cite tous", "cite toutes", "liste tous", "liste toutes", "compte les", "énumère",
        "cuántos", "cuántas", "cuáles", "todos los", "todas las",
        "enumera", "nombra todos", "nombra todas", "lista todos", "lista todas", "muestra todos",
        "muestra todas", "cuenta los", "cuenta las",
        "quanti", "quante", "quali", "tutti i", "tutte le", "tutti gli",
        "elenca", "nomina tutti", "nomina tutte", "mostra tutti", "mostra tutte", "conta i",
        "conta gli", "conta le",
        "quantos", "quantas", "quais", "todos os", "todas as",
        "enumere", "nomeie todos", "nomeie todas", "liste todos", "liste todas", "mostre todos",
        "mostre todas", "conte os", "conte as",
        "hoeveel", "welke", "alle", "noem alle", "noem elke", "toon alle", "geef alle", "tel alle",
        "tel de",
    )
)  # fmt: skip
# Between "in" and "which towns", in all these languages.
_BEFORE_WHICH: Final = frozenset(
    word_list(
        "in at on from to with for by of through under over during since"
        " an auf von mit bei zu aus für dans à de pour avec chez par da di con per a em com para"
        " por op van met bij voor uit"
    )
)
# In languages whose word for "which" tells one from several, or, behind a preposition, does mostly.
_SEVERAL: Final = frozenset(
    word_list("welche welchen quels quelles cuáles quali quais welke hoeveel quanti quante")
)
_PLURALS: Final = frozenset(word_list("people children men women teeth feet mice data"))
_NO_PLURALS: Final = frozenset(
    word_list(
        "was does has its this news series species gas lens atlas alias canvas bias chaos always"
        " kubernetes postgres aws dns tls ios macos https nfs sms gps ids os"
    )
)
_AUXILIARIES: Final = frozenset(
    word_list("is are was were do does did has have had can could will would should must may might")
)
# Words of a noun before its verb: "which open tickets are".
_NOUN_WORDS_MAX: Final = 4


def asks_for_all(query: str) -> bool:
    """Return whether a query begins as one does that asks for everything that answers it; "which"
    and "what" ask for several things where their noun is a plural.

    Example:
        >>> [asks_for_all(one) for one in ("How many boats?", "Which boats leak?", "Whose boat?")]
        [True, True, False]
        >>> asks_for_all("Which port does it use?"), asks_for_all("Please name every port")
        (False, True)
    """
    given = _WORDS.findall(query.translate(APOSTROPHES))
    words = [one.lower() for one in given]
    while words and words[0] in _OPENINGS:
        words.pop(0)
    if not words:
        return False
    if any(tuple(words[: len(one)]) == one for one in _OF_ALL):
        return True
    if words[0] in _ORDERS:
        behind = words[2 if words[1:2] and words[1] in _TO_WHOM else 1 :]
        return bool(behind) and behind[0] in _ALL
    if len(words) > 1 and words[0] in _BEFORE_WHICH:
        words.pop(0)
        if words[0] in _SEVERAL or tuple(words[:2]) in _OF_ALL:
            return True
    return _asks_for_several(words, frozenset(given))


# Behind an order: everything that answers it is wanted, and not what is about a topic.
_LIST_ORDER: Final = lazy_pattern(
    r"^\W*(?:please\s+)?(?:list|name|enumerate|count)\s+(?:all|every|each)\b"
    r"(?!.*\b(?:about|on|of|for|with|regarding|concerning)\b)"
)


_OPEN: Final = lazy_pattern(
    r"(?i)^\W*(?:(?:so|and|ok|okay|hey|please|well)\b\W*)*(?:"
    r"how (?:do|does|did|to|should|can|could|would|is|are)"
    r"|what (?:about|do|does|should|can|must|if)"
    r"|can|could|may|might|should|shall|must|do|does|did|is|are|was|were|am|will|would|has|have|had"
    r"|tell|explain|describe|why"
    r"|wie (?:kann|können|soll|sollen|muss|müssen|geht|funktioniert)|was ist mit"
    r"|kann|können|darf|dürfen|soll|sollen|muss|müssen|ist|sind|war|hat|haben|warum|erkläre?"
    r"|comment|pourquoi|est-ce|peut-on|puis-je|explique|cómo|por qué|puedo|podemos|explica"
    r"|come|perché|posso|possiamo|spiega|como|por que|podemos|hoe|waarom|mag|moet|leg)\b"
)


def asks_openly(query: str) -> bool:
    """Return whether a question asks for no single value: how something is done, what is told of a
    topic, why, or one that is answered by yes or no. Several memories may answer it together.

    Example:
        >>> [asks_openly(one) for one in ("How do we deploy?", "May I merge?", "Who deploys?")]
        [True, True, False]
    """
    return _OPEN.search(query) is not None


def is_read_as_question(query: str) -> bool:
    """Return whether a query is a question, or orders all that answers one ("name every port"); an
    order for all about a topic is none.

    Example:
        >>> [is_read_as_question(one) for one in ("Where is it?", "List all ports", "All on Ada")]
        [True, True, False]
    """
    return is_question(query) or _LIST_ORDER.search(query.lower()) is not None


def _asks_for_several(words: Sequence[str], given: Collection[str]) -> bool:
    """Return whether a question with "which" or "what" has a plural: the word before its first
    auxiliary verb, or behind a "which" without one, if it is no name.

    Args:
        words: in lower case.
        given: words as they were given, where names have a capital.
    """
    if words[0] not in ("which", "what"):
        return False
    nouns = words[1 : 2 + _NOUN_WORDS_MAX]
    verb = next((at for at, one in enumerate(nouns) if one in _AUXILIARIES), None)
    if verb:
        return _is_plural(nouns[verb - 1])
    if words[0] == "what" or not nouns:
        return False
    return nouns[0] in ("are", "were") if verb == 0 else nouns[0] in given and _is_plural(nouns[0])


# Plurals that no ending tells.
_OTHER_PLURALS: Final = {
    "child": "children",
    "foot": "feet",
    "goose": "geese",
    "man": "men",
    "mouse": "mice",
    "person": "people",
    "tooth": "teeth",
    "woman": "women",
}
_SINGULARS: Final = {plural: one for one, plural in _OTHER_PLURALS.items()}


def other_forms(word: str) -> set[str]:
    """Return what may be the plural or the singular of a word, in lower case; some are no words.

    Example:
        >>> sorted(other_forms("lenses")), sorted(other_forms("Knife"))
        (['lens', 'lense'], ['knifees', 'knifes', 'knives'])
    """
    lower = word.lower()
    known = _OTHER_PLURALS.get(lower) or _SINGULARS.get(lower)
    if known is not None:
        return {known}
    if lower.endswith("ves"):
        return {f"{lower[:-3]}f", f"{lower[:-3]}fe", lower[:-1]}
    if lower.endswith("es"):
        return {lower[:-2], lower[:-1]}
    found = {f"{lower}s", f"{lower}es"}
    if lower.endswith("s"):
        found = {f"{lower}es", lower[:-1]}
    if lower.endswith(("f", "fe")):
        found.add(f"{lower.removesuffix('e')[:-1]}ves")
    return found


def stands_otherwise(word: str, texts: Sequence[str]) -> bool:
    """Return whether another form of a word stands in one of some texts.

    Example:
        >>> stands_otherwise("lenses", ["a 35mm lens"]), stands_otherwise("lens", ["a knife"])
        (True, False)
    """
    return bool(_core.terms_among(set(_core.terms(" ".join(other_forms(word)))), texts))


_PARTS: Final = lazy_pattern(r"[^\W_]+")
_JOINED: Final = lazy_pattern(r"(?=.*\d)\w+(?:[-_./#]\w+)+")
# A fraction, a span, and a number with a word: "3.5mm", "5-10", "8-hour".
COUNTED: Final = lazy_pattern(r"\d+\.\d+[^\W\d]*|\d{1,2}[-/]\d{1,2}|\d+(?:[-_/][^\W\d_]{2,})+")


def is_joined(word: str) -> bool:
    """Return whether a word is a code of several parts that counts nothing.

    Example:
        >>> [is_joined(one) for one in ("B2.16", "4711/2-3", "2.4.2", "AB-19", "67-56-1")]
        [True, True, True, True, True]
        >>> [is_joined(one) for one in ("48.50", "5-10", "8-hour", "B216", "well-read")]
        [False, False, False, False, False]
    """
    return bool(_JOINED.fullmatch(word)) and not COUNTED.fullmatch(word)


def stands_as_a_whole(word: str, texts: Sequence[str]) -> bool:
    """Return whether one of some texts has the parts of a code behind each other, however they are
    joined there.

    Example:
        >>> [stands_as_a_whole("B2.16", [one]) for one in ("room b2-16", "B216", "B2.15 at 16:00")]
        [True, True, False]
    """
    code = "".join(_PARTS.findall(word.casefold()))
    return any(
        code == joined
        for text in texts
        for joined in _runs(_PARTS.findall(text.casefold()), len(code))
    )


def _runs(words: Sequence[str], length: int) -> Iterator[str]:
    """Words that follow each other, as one of so many characters."""
    for first in range(len(words)):
        joined = ""
        for word in words[first:]:
            joined += word
            if len(joined) >= length:
                break
        if len(joined) == length:
            yield joined


# Verbs with which an order to answer begins.
_ASKED_FOR: Final = frozenset(
    word_list(
        "compare count describe enumerate explain find give list name show summarise summarize"
    )
)
_NO_ORDER: Final = frozenset(word_list("of is are was were does do did has for in on"))


def orders_at(query: str) -> int:
    """Return how many characters the verb has with which a query orders an answer; 0 for others.

    Example:
        >>> orders_at("Name every camera"), orders_at("Name of the camera"), orders_at("name")
        (4, 0, 0)
    """
    first, _, rest = query.partition(" ")
    ordered = first.lower() in _ASKED_FOR and rest.strip() != ""
    return len(first) if ordered and rest.split()[0].lower() not in _NO_ORDER else 0


def _is_plural(word: str) -> bool:
    """Return whether a word in lower case has the form of an English plural."""
    if word in _PLURALS:
        return True
    return (
        len(word) > 3
        and word.endswith("s")
        and not word.endswith(("ss", "us", "is"))
        and word not in _NO_PLURALS
    )


_SILENT: Final = 3 << 16


def states(text: str) -> bool:
    """Return whether a text states something: it does not merely ask, decline or remark.

    Example:
        >>> states("The key hangs in the hall."), states("Where is it?"), states("I do not know.")
        (True, False, False)
    """
    return not text_flags(text) & _SILENT


# --- contractions -----------------------------------------------------------------------------

# Marks that stand for an apostrophe, for `str.translate`.
APOSTROPHES: Final = dict.fromkeys(map(ord, "’‘ʼ‛‹›"), "'")  # noqa: RUF001

_NOT_AFTER: Final = word_list(
    "do does did is are was were has have had would should could must need might"
)
_WHOLE: Final = {
    "cannot": ("can", "not"),
    "can't": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "let's": ("let", "us"),
    **{f"{word}n't": (word, "not") for word in _NOT_AFTER},
    # without the apostrophe, where that is no other word
    **{f"{word}nt": (word, "not") for word in _NOT_AFTER},
}
# Contractions that have no apostrophe.
JOINED_NEGATIONS: Final = frozenset(word for word in _WHOLE if word.isalpha())
_TAILS: Final = {"re": "are", "ve": "have", "ll": "will"}
# Behind these words `'s` is a verb, never a possessive.
_SUBJECTS: Final = frozenset(
    word_list(
        "he she it that this there here what who where when how why everything everyone"
        " everybody something someone somebody nothing nobody"
    )
)
_NAMED_SUBJECTS: Final = frozenset(word_list("i you he she it we they that there who what this"))
# `'s` is "has" before these words; before another participle it may be either.
_HAS_BEFORE: Final = frozenset(("been", "got", "had"))
_HAD_BEFORE: Final = frozenset(("been", "better"))
_WOULD_BEFORE: Final = frozenset(
    word_list("like love prefer rather be have say go want need hate buy take do not")
)
_PARTICIPLES: Final = frozenset(
    word_list(
        "gone done come become seen taken given known made found left lost won paid sold told"
        " said put set cut hit let read run begun broken chosen driven eaten fallen forgotten"
        " grown hidden kept led met sent spent stood taught thought written worn built bought"
        " brought caught felt held"
    )
)


def expanded(word: str, following: str) -> tuple[str, ...]:
    """A word with its contraction written out; the word alone where it has none, or where it may
    mean two things ("he's finished"). The 's of a noun stays.

    Args:
        word: with plain apostrophes; in lower case but for "I".
        following: the next word in lower case, "" at the end.

    Example:
        >>> expanded("won't", "go"), expanded("it's", "late"), expanded("it's", "been")
        (('will', 'not'), ('it', 'is'), ('it', 'has'))
        >>> expanded("ann's", "in"), expanded("he's", "finished")
        (("ann's",), ("he's",))
    """
    whole = _WHOLE.get(word)
    if whole is not None:
        return whole
    stem, apostrophe, tail = word.rpartition("'")
    if not apostrophe:
        return (word,)
    lower = stem.lower()
    if tail == "s" and lower in _SUBJECTS:
        verb = _is_or_has(following)
    elif lower not in _NAMED_SUBJECTS:
        return (word,)
    elif tail == "m" and lower == "i":
        verb = "am"
    elif tail == "d":
        verb = _would_or_had(following)
    else:
        verb = _TAILS.get(tail, "")
    return (stem, verb) if verb else (word,)


def _is_or_has(following: str) -> str:
    if following in _HAS_BEFORE:
        return "has"
    return "" if following.endswith("ed") or following in _PARTICIPLES else "is"


def _would_or_had(following: str) -> str:
    if following in _HAD_BEFORE:
        return "had"
    return "would" if following in _WOULD_BEFORE else ""
