"""The canonical form of a text: two texts are one statement only where their forms are equal.

A form keeps every word and sign of its text, in order. It takes out what never carries a fact:
typographic quotes and dashes, white space, a capital and the punctuation at the ends of a sentence,
contractions, number words and digit grouping, and what units, dates and times that mean the same
are written like. A token with signs inside (an address, a path, an option, a version, code) and
what stands in quotes or backticks is kept to the character; so is a text of several lines.
"""

from __future__ import annotations

from typing import Final

import msgspec

from vestig.language.quantities import ORDINALS, QUANTITY_WORDS, cardinal, with_quantities
from vestig.language.text_forms import KEPT, normal_form, word_list
from vestig.language.time.expressions import MONTHS
from vestig.language.words import APOSTROPHES, JOINED_NEGATIONS, expanded
from vestig.lazy_pattern import lazy_pattern
from vestig.types import Difference


class CanonicalForm(msgspec.Struct, frozen=True):
    """The tokens of a text.

    `opens`: the first token begins a sentence, so that its capital says nothing. Behind "note that"
    it does: "note that Polish takes time" is not "note that polish takes time".
    """

    tokens: tuple[str, ...]
    opens: bool


# --- marks ------------------------------------------------------------------------------------

_QUOTES: Final = APOSTROPHES | dict.fromkeys(map(ord, "“”„‟«»"), '"')
_SPACED_QUOTES: Final = lazy_pattern(r"(?<=«) | (?=»)")
_HYPHENS: Final = lazy_pattern("[‐‑–−]")  # noqa: RUF001
_LONG_DASH: Final = lazy_pattern("(?<=[^\\W_])[—―](?=[^\\W_])")
_LONG_DASHES: Final = frozenset("–—―")
_CODE: Final = lazy_pattern("(`[^`]*`)")
# A quotation opens behind a space or one of the marks that open a value.
_OPENS_QUOTE: Final = r"(?<![^\s(\[{=:,<>|/])"
_QUOTED: Final = lazy_pattern(_OPENS_QUOTE + "[\"']|`")
_CHUNK: Final = lazy_pattern(
    rf"(?:{_OPENS_QUOTE}\"[^\"]*\"|``(?!`).*?``|`[^`]*`|{_OPENS_QUOTE}'[^']*'(?!\w)|\S)+"
)
# Lines and their indentation, and words, of which a quotation and code are parts.
_LINED: Final = lazy_pattern(rf"\n[^\S\n]*|(?:{KEPT}|\S)+")


def _with_plain_quotes(text: str) -> str:
    """Typographic quotes as plain ones, but inside of code."""
    if "«" in text or "»" in text:
        text = _SPACED_QUOTES.sub("", text)
    if "`" not in text:
        return text.translate(_QUOTES)
    parts = _CODE.split(text)
    parts[::2] = [part.translate(_QUOTES) for part in parts[::2]]
    return "".join(parts)


def _with_plain_dashes(chunk: str) -> list[str]:
    """A chunk that is not quoted, with hyphens for dashes, cut at a dash between words."""
    if chunk in _LONG_DASHES:
        return ["-"]
    parts: list[str] = []
    for part in _LONG_DASH.split(chunk):
        # a dash before a letter may have been one hyphen or two
        kept = 1 if part[0] in _LONG_DASHES and part[1:2].isalpha() else 0
        parts += ["-", part[:kept] + _HYPHENS.sub("-", part[kept:])]
    return parts[1:]


def _chunks(text: str) -> list[str]:
    """Return what stands between spaces; a quotation and code are each within one chunk."""
    ascii_only = text.isascii()
    if not ascii_only:
        text = _with_plain_quotes(text)
    chunks = _CHUNK.findall(text) if _QUOTED.search(text) is not None else text.split()
    if ascii_only:
        return chunks
    parted: list[str] = []
    for chunk in chunks:
        plain = chunk.isascii() or _is_quoted(chunk) or _SIGN_OF_CODE.search(chunk) is not None
        parted += [chunk] if plain else _with_plain_dashes(chunk)
    return parted


def _is_quoted(chunk: str) -> bool:
    return '"' in chunk or "`" in chunk or chunk[0] == "'"


# --- sentences --------------------------------------------------------------------------------

# What may stand before a statement without a part in it.
_LEAD_IN: Final = lazy_pattern(
    r"(?i:(?:please\s+)?(?:note|remember|keep\s+in\s+mind)\s+that\s+"
    r"|please\s+remember\s+(?!to\b)"
    r"|(?:fyi|btw|by\s+the\s+way|for\s+the\s+record|just\s+so\s+you\s+know"
    r"|for\s+your\s+information)(?:\s*,|(\s*:))\s+"
    r"|(?:(?:please\s+)?(?:note|remember)|(?:a\s+)?reminder)(\s*:)\s+)"
)
_LEAD_IN_INITIALS: Final = frozenset("pPnNrRkKfFbBjJaA")
_LEAD_INS_MAX: Final = 4

_MARKS: Final = ".!?…。！？।"  # noqa: RUF001
_QUESTION: Final = frozenset("?？")  # noqa: RUF001
_ELLIPSES: Final = frozenset(("...", "…"))
_OPENING: Final = "([{"
_CLOSING: Final = ")]},;:"
_BULLETS: Final = frozenset("-*•")
# A full stop behind these ends no sentence.
_ABBREVIATIONS: Final = frozenset(
    word_list(
        "dr mr mrs ms prof st jr sr mt ft no nr vs cf ca approx fig figs vol pp ed eds dept est"
        " inc ltd co corp gen col capt lt sgt rev hon jan feb mar apr jun jul aug sep sept oct nov"
        " dec mon tue wed thu fri sat sun"
    )
)
_DOTTED: Final = lazy_pattern(r"(?:[^\W\d_]\.)+[^\W\d_]\.?")
_SIGN_OF_CODE: Final = lazy_pattern(r"[_/\\@#$=<>{}|~^&*]|\.[^\W\d_]")
_CAPITALISED: Final = lazy_pattern(r"[^\W\d_][^\W\d_A-Z]*(?:[-'][^\W\d_A-Z]+)*")
# Before these words a lone "A" at a sentence's start is a letter, not the article.
_BEHIND_LETTER: Final = frozenset(
    word_list("is was are were and or to vs versus has had will can must of in on at with does did")
)
_MONTHS: Final = frozenset(map(str.capitalize, MONTHS))


def _uncapitalised(word: str, following: str) -> str:
    """A sentence's first word without the capital that it has as such; names with another capital
    ("IT", "GitHub") keep theirs."""
    first = word[0]
    if not first.isupper():
        return word
    if len(word) == 1:
        article = word == "A" and following[:1].islower() and following not in _BEHIND_LETTER
        return word.lower() if article or word == "I" else word
    if word in _MONTHS and following[:1].isdigit():
        return word
    rest = word[1:]
    if rest.isalpha() and rest.islower() and rest.isascii():
        return first.lower() + rest
    if _CAPITALISED.fullmatch(word) is None or not rest.replace("'", "").islower():
        # "I'm" has no small letter in its stem
        return f"i{rest}" if word.startswith("I'") else word
    return first.lower() + rest


# Words that may not stand as they are.
_LOOKED_AT: Final = QUANTITY_WORDS | JOINED_NEGATIONS
_LETTER_OR_DIGIT: Final = lazy_pattern(r"[^\W_]")
_LETTER_AND_DIGIT: Final = lazy_pattern(r"[^\W\d_]\S*\d")


class _Tokens:
    """The tokens of a text, gathered chunk by chunk. `start`: the next word begins a sentence."""

    def __init__(self, chunks: list[str], *, start: bool) -> None:
        self.chunks = chunks
        self.found: list[str] = []
        self.start = start
        # whether one of them may be part of a number, a date or a time
        self.numeric = False

    def gather(self) -> list[str]:
        """All tokens, in order."""
        last, add = len(self.chunks) - 1, self.found.append
        for place, chunk in enumerate(self.chunks):
            if chunk.isalpha():
                if self.start or chunk in _LOOKED_AT:
                    self._add_word(chunk, place)
                else:
                    add(chunk)
            elif chunk[-1] in _MARKS:
                self._add_ending(chunk, place, ends=place == last)
            else:
                self._add(chunk, place)
        return with_quantities(self.found) if self.numeric else self.found

    def _following(self, place: int) -> str:
        """The next word, without marks."""
        return self.chunks[place + 1].rstrip(".,;:!?") if place + 1 < len(self.chunks) else ""

    def _add_word(self, word: str, place: int) -> None:
        if self.start:
            self.start = False
            word = _uncapitalised(word, self._following(place))
        if word in JOINED_NEGATIONS:
            self.found += expanded(word, "")
            return
        self.numeric |= word in QUANTITY_WORDS
        self.found.append(word)

    def _add_ending(self, chunk: str, place: int, *, ends: bool) -> None:
        """A chunk with a full stop, an exclamation mark or a question mark at its end."""
        if ends and chunk[-1] not in _QUESTION and chunk[:-1].isalpha():
            self._add_word(chunk[:-1], place)
            return
        body = chunk.rstrip(_MARKS)
        marks = chunk[len(body) :]
        if not _QUESTION.isdisjoint(marks):
            if body:
                self._add(body, place)
            self.found.append("?")
            self.start = True
            return
        if not set(marks) <= {"!"} and marks not in _ELLIPSES:
            # of ".." only the last one can be a full stop
            body, marks = chunk[:-1], chunk[-1]
        if _LETTER_OR_DIGIT.search(body) is None and not _is_quoted(chunk):
            self._add(chunk if body.strip(_MARKS) == "" else body if ends else chunk, place)
        elif body[-1] in "/\\" or (marks[0] == "!" and self._may_be_part(body)):
            self._add(chunk, place)
        elif ends:
            self._add(body, place)
        elif _DOTTED.fullmatch(chunk) is not None or not self._ends_sentence(body, marks, place):
            self._add(chunk, place)
        else:
            self._add(body, place)
            self.found.append(".")
            self.start = True

    def _may_be_part(self, body: str) -> bool:
        """Return whether an exclamation mark may belong to what it stands behind, as in `save_all!`
        and `Tulip7!`."""
        if _is_quoted(body):
            return False
        return _SIGN_OF_CODE.search(body) is not None or _LETTER_AND_DIGIT.search(body) is not None

    def _ends_sentence(self, body: str, marks: str, place: int) -> bool:
        if not self.chunks[place + 1].lstrip("([\"'¡¿")[:1].isalpha():
            return False
        return marks != "." or (len(body) > 1 and body.lower() not in _ABBREVIATIONS)

    def _add(self, chunk: str, place: int) -> None:
        """A chunk without the mark that ends a sentence."""
        found, numeric = self.found, chunk[0].isdigit()
        if not numeric and _is_quoted(chunk):
            found.append(chunk)
            self.start = False
            return
        core = chunk.lstrip(_OPENING)
        if _LETTER_OR_DIGIT.search(core) is None:
            found.append(chunk)
            if not (chunk in _BULLETS and len(found) == 1):
                self.start = False
            return
        if len(core) < len(chunk):
            found.extend(chunk[: len(chunk) - len(core)])
        inner = core.rstrip(_CLOSING)
        self._add_core(inner, place if inner == core else len(self.chunks))
        if len(inner) < len(core):
            found.extend(core[len(inner) :])

    def _add_core(self, core: str, place: int) -> None:
        """Adds a chunk without the marks around it. `place`: that of the chunk; where a mark stands
        behind it, that behind the last one, for no word follows directly."""
        found = self.found
        start, self.start = self.start, False
        if start:
            core = _uncapitalised(core, self._following(place))
        if core.isalpha():
            self.numeric |= core in QUANTITY_WORDS
            found += expanded(core, "") if core in JOINED_NEGATIONS else (core,)
        elif _DOTTED.fullmatch(core) is not None:
            self.numeric = True
            found.append(core.rstrip("."))
        elif "'" in core and core[0].isalpha():
            found.extend(expanded(core, self._following(place).lower()))
        elif not core[0].isalpha():
            self.numeric = True
            found.append(core)
        elif "-" in core:
            self.numeric = True
            found.append(_with_number(core))
        elif core[-1] == "." and core[:-1] in QUANTITY_WORDS:
            self.numeric = True
            found.append(core[:-1])
        else:
            found.append(core)


def _with_number(compound: str) -> str:
    """A compound with the number word before its hyphen in digits: "five-minute" is "5-minute"."""
    if cardinal(compound) is not None or compound in ORDINALS:
        return compound
    parts = compound.split("-")
    for count in (2, 1):
        value = cardinal("-".join(parts[:count])) if len(parts) > count else None
        if value is not None:
            return "-".join((str(value), *parts[count:]))
    return compound


# --- forms ------------------------------------------------------------------------------------


def canonical_form(text: str) -> CanonicalForm:
    """The canonical form of a text. It depends on the text alone.

    Args:
        text: any text.

    Example:
        >>> canonical_form("Note that it's 5km to “Pier 4”!").tokens
        ('it', 'is', '5', 'km', 'to', '"Pier 4"')
    """
    text = normal_form(text)
    if "\n" in text:
        tokens = tuple([found[0] for found in _LINED.finditer(text)])
        return CanonicalForm(tokens, opens=False)
    opens = True
    for _ in range(_LEAD_INS_MAX):
        match = _LEAD_IN.match(text) if text[:1] in _LEAD_IN_INITIALS else None
        if match is None or match.end() == len(text):
            break
        text, opens = text[match.end() :], match.lastindex is not None
    return CanonicalForm(tuple(_Tokens(_chunks(text), start=opens).gather()), opens=opens)


def is_same_statement(one: CanonicalForm, other: CanonicalForm) -> bool:
    """Return whether two forms are equal; the order does not matter.

    Example:
        >>> is_same_statement(canonical_form("Tea at 3 pm."), canonical_form("tea at 15:00"))
        True
        >>> is_same_statement(canonical_form("Tea at noon?"), canonical_form("Tea at noon."))
        False
    """
    if one.opens == other.opens:
        return one.tokens == other.tokens
    return one.tokens[1:] == other.tokens[1:] and _opening(one) == _opening(other)


def _opening(form: CanonicalForm) -> str:
    """The first token as one that begins a sentence."""
    tokens = form.tokens
    if form.opens or not tokens:
        return "".join(tokens[:1])
    return _uncapitalised(tokens[0], "".join(tokens[1:2]))


# --- differences ------------------------------------------------------------------------------

_DIFFERENCES_MAX: Final = 8
# Two texts are taken as one again where a token of the one is so near to its like in the other.
_REACH: Final = 24


def differences(old: CanonicalForm, new: CanonicalForm) -> tuple[Difference, ...]:
    """The runs of tokens in which two forms differ, in order, at most eight; () for equal forms.
    The last of eight holds all that follows it.

    Example:
        >>> a, b = canonical_form("The fee is 500 EUR."), canonical_form("The fee was 500 USD.")
        >>> [(one.old, one.new) for one in differences(a, b)]
        [('is', 'was'), ('EUR', 'USD')]
    """
    if is_same_statement(old, new):
        return ()
    first, second = list(old.tokens), list(new.tokens)
    if old.opens != new.opens:
        first[:1], second[:1] = [_opening(old)] * bool(first), [_opening(new)] * bool(second)
    end, other_end = len(first), len(second)
    while end and other_end and first[end - 1] == second[other_end - 1]:
        end, other_end = end - 1, other_end - 1
    found: list[Difference] = []
    at = other_at = 0
    while at < end or other_at < other_end:
        if at < end and other_at < other_end and first[at] == second[other_at]:
            at, other_at = at + 1, other_at + 1
            continue
        skip, other_skip = end - at, other_end - other_at
        if len(found) < _DIFFERENCES_MAX - 1:
            skip, other_skip = _next_equal(first[at:end], second[other_at:other_end])
        found.append(
            Difference(
                old=" ".join(first[at : at + skip]),
                new=" ".join(second[other_at : other_at + other_skip]),
            )
        )
        at, other_at = at + skip, other_at + other_skip
    return tuple(found)


def _next_equal(first: list[str], second: list[str]) -> tuple[int, int]:
    """How many tokens of each lie before the next that both have, the nearest such; all of them
    where there is none within reach."""
    for distance in range(1, 2 * _REACH + 1):
        for skip in range(max(0, distance - _REACH), min(distance, _REACH) + 1):
            other = distance - skip
            if skip < len(first) and other < len(second) and first[skip] == second[other]:
                return skip, other
    return len(first), len(second)
