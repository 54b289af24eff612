"""Rules that find names in a text by capitals, quotation marks, titles and patterns, without a
store."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final

import msgspec
from oracle_markup import prose
from oracle_name_forms import cased_name
from oracle_name_leads import INNER, SECOND, head_of, is_particle, lead_of
from oracle_name_lists import LISTS, is_given_name
from oracle_name_patterns import UPPER, addresses, identifiers, name_at
from oracle_unspaced_names import unspaced

from vestig.language.names import LEGAL_FORMS, TITLES, Name
from vestig.language.text_forms import word_list
from vestig.language.words import NAME_STOPWORDS
from vestig.lazy_pattern import lazy_pattern

__all__ = [
    "candidates",
    "find_names",
    "is_specific",
    "quoted",
    "starts_sentence",
    "title_name",
    "without_first",
    "without_overlaps",
]


_TICKET: Final = lazy_pattern(r"[A-Z][A-Z0-9]*-\d+(?:-\d+)*(?![\w])")
_CAPITAL_REST = r"(?:[\w&]|['’.-](?=[^\W_]))*"
_ONE = "|".join(map(re.escape, sorted(INNER)))
_PREFIX = "(?:d['’]|(?:al|el)-)?"
# What stands between two words of a run. A dot belongs to an initial, a title or another
# abbreviation before a capital; any other ends the sentence.
_BETWEEN = (
    rf"(?:\.(?:(?<=\b[{UPPER}]\.)|(?<=\b(?:Dr|Mr|Ms|St|Mt|Ft|Co|Lt)\.)|(?<=\bProf\.)|(?<=\bCapt\.)"
    r"|(?<=\b(?:Mrs|Ste|Gen|Sgt|Col|Rev|Sen|Gov)\.))\s"
    rf"|(?:(?<=\bVan)|(?<=\bVon)|(?<=\bDe))\s+(?:{'|'.join(sorted(SECOND))})\s+(?:(?:{_ONE})\s+)?{_PREFIX}"
    rf"|\s+(?:(?:van|von|de)\s+(?:{'|'.join(sorted(SECOND))})\s+|(?:(?:{_ONE})\s+){{0,2}}){_PREFIX})"
)
_RUN: Final = lazy_pattern(rf"[{UPPER}]{_CAPITAL_REST}(?:{_BETWEEN}[{UPPER}]{_CAPITAL_REST})*")
_NEXT_WORD: Final = lazy_pattern(r"\s+(\w+)")
_LEGAL: Final = lazy_pattern(rf",\s([{UPPER}]{_CAPITAL_REST})")
_WORD: Final = lazy_pattern(r"\S+")
_QUOTED: Final = lazy_pattern(
    r"\"([^\"]{1,80})\"|“([^”]{1,80})”|«([^»]{1,80})»|`([^`]{1,80})`"
    r"|(?<!\w)'([^']{1,80})'(?!\w)|(?<!\w)‘([^’]{1,80})’(?!\w)"  # noqa: RUF001
)
_QUOTES: Final = frozenset("\"“«`'‘")  # noqa: RUF001
_POSSESSIVE: Final = lazy_pattern(r"['’]s?$")
_SENTENCE_END: Final = frozenset(".!?…:|")
_OPENERS: Final = " \t\r\n\"'“‘«([{*-–—>•#+`"  # noqa: RUF001
# what stands before a line's first word: nothing on a blank line, or the sign of a heading or item
_BLOCK: Final = lazy_pattern(r"[ \t\r>]*(?:\n|#+\s|[-*+•]\s)")
_HEADING: Final = lazy_pattern(r"#+ ")
_EXPRESSION: Final = frozenset("{}[]()<>=;|$*\\")
_INNER: Final = INNER | SECOND
_SAINTS: Final = frozenset(("st", "saint", "ste", "sainte"))
_BODIES: Final = frozenset(("university", "institute", "ministry"))
_PLACES: Final = frozenset(
    word_list(
        "airport avenue bay beach boulevard bridge castle city coast county creek district"
        " falls forest garden gardens harbor harbour hill hills island islands lake lane"
        " mountain mountains park peninsula plaza province river road square station street"
        " valley village"
    )
)
_PLACE_CUES: Final = frozenset(("in", "at", "from", "to"))
_RUN_WORDS_MAX: Final = 6
_QUOTED_WORDS_MAX: Final = 5
_SINGLE_LETTERS_MIN: Final = 3


def starts_sentence(text: str, start: int) -> bool:
    """Whether a word at this place is the first of a sentence, a paragraph, a heading and what is
    under it, an item of a list, or a cell of a table.

    Example:
        >>> starts_sentence("Well. (Ada came)", 7), starts_sentence("so Ada came", 3)
        (True, False)
    """
    at = start
    while at and text[at - 1] in _OPENERS:
        at -= 1
        if text[at] == "\n":
            if _BLOCK.match(text[at + 1 : start]) is not None:
                return True
            before = text[text.rfind("\n", 0, at) + 1 : at]
            if _HEADING.match(before) is not None:
                return True
    return at == 0 or text[at - 1] in _SENTENCE_END


def quoted(text: str) -> Iterator[Name]:
    """Quotations of at most five words, without their marks.

    Example:
        >>> [name.name for name in quoted('it is called "Blue Harbor"')]
        ['Blue Harbor']
    """
    for match in _QUOTED.finditer(text):
        inner = match[match.lastindex or 0]
        if 1 <= len(inner.split()) <= _QUOTED_WORDS_MAX and any(map(str.isalnum, inner)):
            start = match.start(match.lastindex or 0)
            yield name_at(text, start, start + len(inner), "UNTYPED", 0.75)


def _terms(text: str) -> Iterator[Name]:
    """Quotations that are terms: no expressions of code, without the arguments of a call, and not
    the text between two quotations."""
    for name in quoted(text):
        if name.name != name.name.strip():
            continue
        called = re.match(r"([^(]*\w)\(.*\)\Z", name.name, re.S)
        end = name.end if called is None else name.start + len(called[1])
        barred = _EXPRESSION | {","} if text[name.start - 1] == "`" else _EXPRESSION
        if barred.isdisjoint(text[name.start : end]):
            yield name_at(text, name.start, end, name.type, name.confidence)


def _runs(text: str) -> Iterator[Name]:
    """Adjacent capitalised words, one such word, and acronyms."""
    at = 0
    while (match := _RUN.search(text, at)) is not None:
        start = match.start()
        run = text[start : _block_end(text, *match.span())]
        head = head_of(text, start)
        if head is None:
            at = start + 1
            continue
        at = start + len(run)
        # most capitals only begin a sentence
        if run.isalpha() and run.lower() in NAME_STOPWORDS:
            continue
        # and numbers are at the end of identifiers
        if run[-1].isdigit() and _TICKET.fullmatch(run) is not None:
            continue
        yield from _parts(text, head, (start, at))


def _block_end(text: str, start: int, end: int) -> int:
    """Where the heading or paragraph that begins here ends, or `end`."""
    for at in (start + line.start() for line in re.finditer("\n", text[start:end])):
        heading = _HEADING.match(text[text.rfind("\n", 0, at) + 1 : at])
        if heading is not None or _BLOCK.match(text, at + 1) is not None:
            return start + len(text[start:at].rstrip())
    return end


def _parts(text: str, head: int, span: tuple[int, int]) -> Iterator[Name]:
    """The names in a run whose first word begins at `head`."""
    initial = starts_sentence(text, span[0])
    words = [(*word.span(), word[0]) for word in _WORD.finditer(text, *span)]
    if _is_stop(words[0][2]):
        head = -1
    while words and _is_stop(words[0][2]):
        words.pop(0)
        initial = False
    while words:
        while words and words[0][2] in _INNER:
            words.pop(0)
        if not words:
            return
        start, end, first = words[0]
        begins = start if head < 0 else head
        head, at = -1, begins - lead_of(text, begins, first)
        words[0] = (at, end, text[at:end])
        part, words = _cut(words)
        if part:
            yield from _part(text, part, initial and at == start)
        initial = False


def _bare(word: str) -> str:
    if "'" in word or "’" in word:
        word = _POSSESSIVE.sub("", word)
    return word.rstrip(".").lower()


def _is_stop(word: str) -> bool:
    """Whether a capitalised word is no part of a name; an initial ("A. Turing") is one."""
    bare = _bare(word)
    if bare in NAME_STOPWORDS:
        return not (len(bare) == 1 and word[-1] == ".")
    # "Let's" is a contraction, "Ada's" is not
    return word.lower() in NAME_STOPWORDS


_Spans = list[tuple[int, int, str]]


def _cut(words: _Spans) -> tuple[_Spans, _Spans]:
    """The first name of a run: at most six capitalised words, ended by a possessive or a stop
    word; and what is left. An identifier is a name of its own."""
    taken: _Spans = []
    count = 0
    for index, word in enumerate(words):
        inner = word[2] in _INNER
        # a lone "A" inside a run is a letter ("Plan A"), not the article
        stop = word[2] != "A" and not inner and _is_stop(word[2])
        if not inner and (count == _RUN_WORDS_MAX or stop):
            skip = index + stop
            return _without_tail(taken), words[skip:]
        if _TICKET.match(word[2]) is not None:
            return _without_tail(taken), words[index + 1 :]
        taken.append(word)
        count += not inner
        if _POSSESSIVE.search(word[2]) and not _is_saint(taken):
            return taken, words[index + 1 :]
    return _without_tail(taken), []


def _without_tail(words: _Spans) -> _Spans:
    while words and words[-1][2] in _INNER:
        words.pop()
    while words and words[0][2] in _INNER:
        words.pop(0)
    return words


def _is_saint(words: _Spans) -> bool:
    """Whether the last word is a saint's name, whose `'s` is part of what is called by it."""
    return len(words) > 1 and _bare(words[-2][2]) in _SAINTS


def _next_word(text: str, end: int) -> str:
    """The word of small letters behind this place."""
    match = _NEXT_WORD.match(text, end)
    if match is None:
        return ""
    small = "".join(itertools.takewhile(str.islower, match[1]))
    return small if len(small) == len(match[1]) else ""


def _name_end(text: str, words: _Spans) -> int:
    """Where the name of these words ends: before a final `'s`, but for one that is part of it."""
    _, end, last = words[-1]
    own = end - len(last) + len(_POSSESSIVE.sub("", last))
    if own + 2 != end:
        return own
    after = _next_word(text, end)
    joined = any(word == "&" for _, _, word in words)
    kept = (
        _is_saint(words)
        or (joined and (not text[end + 1 : end + 2].islower() or after in NAME_STOPWORDS))
        or (after in LISTS["finite"] and not is_given_name(_bare(last)))
    )
    return end if kept else own


def _legal_form_follows(text: str, end: int) -> bool:
    match = _LEGAL.match(text, end)
    return match is not None and _bare(match[1]) in LEGAL_FORMS


def _part(text: str, words: _Spans, initial: bool) -> list[Name]:
    """These words of a run as a name, if they are one."""
    start, end = words[0][0], _name_end(text, words)
    if text[end - 1] == "." and words[-1][2].rstrip(".").lower() not in LEGAL_FORMS | TITLES:
        end -= 1
    first, last = _bare(words[0][2]), _bare(words[-1][2])
    follows = _legal_form_follows(text, words[-1][1])
    if len(words) > 1:
        type, confidence = "UNTYPED", 0.80
        opens = initial and words[0][2][1:].islower() and not is_particle(first)
        of_body = first in _BODIES and words[1][2] == "of"
        if first in TITLES:
            type, confidence, opens = "PERSON", 0.90, False
        elif last in LEGAL_FORMS or follows or last in _BODIES or of_body:
            type, confidence = "ORG", 0.90
        elif last in _PLACES and _word_before(text, start) in _PLACE_CUES:
            type, confidence = "PLACE", 0.90
        return [_opening(name_at(text, start, end, type, confidence), opens)]
    if last in LEGAL_FORMS:
        return []
    if follows:
        return [name_at(text, start, end, "ORG", 0.90)]
    word = text[start:end]
    letters = sum(map(str.isalpha, word))
    ordinary = not _is_acronym(word) and (initial or letters < _SINGLE_LETTERS_MIN)
    possessive = _POSSESSIVE.search(word) is not None
    if not ordinary or possessive or is_given_name(first):
        return [name_at(text, start, end, "UNTYPED", 0.75)]
    acts = _next_word(text, words[-1][1]) in LISTS["person_verbs"]
    if acts and words[0][2][1:].islower():
        return [_opening(name_at(text, start, end, "UNTYPED", 0.75), True)]
    return []


def _opening(name: Name, opens: bool) -> Name:
    return msgspec.structs.replace(name, opens=opens)


def _is_acronym(word: str) -> bool:
    inner = re.sub(r"(?<=.)&(?=.)", "", word)
    return (
        len(word) >= 2
        and inner.isalnum()
        and sum(map(str.isupper, word)) >= 2
        and (word.upper() == word or word[:-1].isupper())
    )


def _word_before(text: str, start: int) -> str:
    before = text[max(0, start - 12) : start].split()
    return before[-1].lower() if before else ""


def without_first(text: str, name: Name) -> list[Name]:
    """What is left of a run when its first word is an ordinary one; the name itself when
    nothing specific is left.

    Example:
        >>> name = candidates("Deploy Grand Harbor today")[0]
        >>> [left.name for left in without_first("Deploy Grand Harbor today", name)]
        ['Grand Harbor']
    """
    words = [(*word.span(), word[0]) for word in _WORD.finditer(text, name.start, name.end)][1:]
    if not words:
        return []
    while words and (words[0][2] in _INNER or _is_stop(words[0][2])):
        words.pop(0)
    # "Acme Ltd" is no "Ltd", whatever else is called acme
    if all(_bare(word[2]) in LEGAL_FORMS | _BODIES | _PLACES for word in words):
        return [name]
    return _part(text, words, False)


def without_overlaps(found: list[Name]) -> list[Name]:
    """Names without overlaps, in order of position: the longer span wins, then the higher
    confidence, then the earlier position."""
    if len(found) < 2:
        return found
    found.sort(key=lambda name: (name.start - name.end, -name.confidence, name.start))
    kept: list[Name] = []
    taken = bytearray(max(name.end for name in found))
    for name in found:
        if taken.find(1, name.start, name.end) < 0:
            taken[name.start : name.end] = b"\1" * (name.end - name.start)
            kept.append(name)
    kept.sort(key=lambda name: name.start)
    return kept


def candidates(text: str) -> list[Name]:
    """Names that the patterns find in prose, with overlaps and in no order."""
    found = list(addresses(text))
    found += identifiers(text)
    found += _runs(text)
    found += unspaced(text)
    if not _QUOTES.isdisjoint(text):
        found += _terms(text)
    return [name for name in found if says_which(name.name)]


def says_which(name: str) -> bool:
    """Whether a name, as it is stored, is more than function words and more than one ordinary
    word.

    Example:
        >>> [says_which(name) for name in ("_and_", "after", "eventual consistency", "lock-file")]
        [False, False, True, True]
    """
    plain = cased_name(name)
    if not is_specific(plain) or _is_function(plain):
        return False
    return name[0] in "@#" or any(_is_mark(char) for char in plain)


def _is_mark(char: str) -> bool:
    return (
        char in "_.:/-"
        or char.isspace()
        or char.isdigit()
        or (char.isalpha() and not char.islower())
    )


def _is_function(name: str) -> bool:
    return all(word in NAME_STOPWORDS for word in name.lower().split())


def title_name(title: str | None) -> Name | None:
    """The title of a note or document as a name: of a path of headings the last part, without a
    final parenthesis.

    Example:
        >>> title_name("Guide > Harbor plan (draft)").name
        'Harbor plan'
    """
    if title is None:
        return None
    last = re.sub(r"\s*\([^()]*\)\s*$", " ", title).rpartition(" > ")[2].strip()
    if not last or not is_specific(cased_name(last)) or _is_function(cased_name(last)):
        return None
    return Name(name=last, start=-1, end=-1, type="UNTYPED", confidence=0.95)


def find_names(text: str, *, title: str | None = None) -> list[Name]:
    """Names in order of position, without overlaps.

    Args:
        text: any text.
        title: the note's or document's title; its last part is a name too, without a final
            parenthesis.

    Example:
        >>> [name.name for name in find_names("Ticket ABC-123 is with Ada Lovelace at NATO")]
        ['ABC-123', 'Ada Lovelace', 'NATO']
    """
    names = without_overlaps(candidates(prose(text)))
    given = title_name(title)
    return names if given is None else [*names, given]


def is_specific(name: str) -> bool:
    """Whether a name has at least two characters and a letter, or is a number with dots such as a
    version."""
    return (len(name) >= 2 and any(map(str.isalpha, name))) or (
        any(char == "." for char in name[1:-1]) and any(map(str.isdigit, name))
    )
