"""The forms of a text: as it was given, the normal form by which texts are compared, sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from vestig.lazy_pattern import lazy_pattern

# The code points with the property White_Space. `str.split` also cuts at U+001C-U+001F,
# which do not have it.
_WHITE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + ("\u2028\u2029\u202f\u205f\u3000")
)
_RUN: Final = lazy_pattern(f"[{_WHITE}]+")
_LINE_ENDS: Final = "\n\v\f\r\x85\u2028\u2029"
# White space that ends no line.
_INDENT: Final = "".join(char for char in _WHITE if char not in _LINE_ENDS)
_FENCE: Final = rf"(?P<fence>`{{3,}}|~{{3,}})[^`~\n]*\n(?s:.*?)(?:\n[{_INDENT}]*(?P=fence)[`~]*|\Z)"
# A run of white space before an indented line, and its indentation.
_INDENTED: Final = lazy_pattern(
    f"(?<![{_WHITE}])[{_WHITE}]*[{_LINE_ENDS}]([{_INDENT}]+)(?=[^{_WHITE}])"
)
# A code span and a quotation lie within one line; one of white space alone may hold line breaks.
# A quotation opens behind a space or one of the marks that open a value.
_QUOTATION: Final = (
    r"(?<!`)(?P<ticks>`{1,2})(?!`)[^`\n]+(?P=ticks)(?!`)"
    r"|(?<![^\s(\[{=:,<>|/])(?:\"[^\"\n]*\"|'[^'\n]*'(?!\w)"
    rf"|(?P<mark>[\"'])[{_WHITE}]+(?P=mark)(?!\w))"
    r"|“[^“”\n]*”|„[^„“”\n]*[“”]|«[^«»\n]*»"
)
# What white space is kept in: fenced code, code spans, quotations.
KEPT: Final = f"(?P<kept>{_FENCE}|{_QUOTATION})"
_SIGN_OF_KEPT: Final = lazy_pattern("[`~\"'“„«]")
# What is kept; a run of white space before an indented line, with its indentation; another run.
_RUNS: Final = lazy_pattern(
    f"{KEPT}|[{_WHITE}]*[{_LINE_ENDS}](?P<indent>[{_INDENT}]+)(?=[^{_WHITE}])|[{_WHITE}]+"
)
# Line ends of other systems.
_CRLF: Final = lazy_pattern("\r\n?")
_STATEMENT_CHARS: Final = 200
_STATEMENTS_MIN: Final = 3
_ENDS: Final = (".", "!", "?", "\u3002", "\uff01", "\uff1f")
_SEPARATORS: Final = lazy_pattern("[\x1c-\x1f]")
# C0 without tab and the characters that end a line.
# What ends a line for Python or for a terminal.
_BREAKS: Final = lazy_pattern("[\n-\r\x1c-\x1e\x85\u2028\u2029]")
CONTROL_CHARACTERS: Final = lazy_pattern("[\x00-\x08\x0e-\x1f]")


def count_of(count: int, one: str) -> str:
    """So many of something, in words.

    Args:
        one: the word for one.

    Example:
        >>> count_of(1, "memory"), count_of(2, "memory"), count_of(0, "damaged place")
        ('1 memory', '2 memories', '0 damaged places')
    """
    if count == 1:
        return f"1 {one}"
    return f"{count} {one.removesuffix('y')}ies" if one.endswith("y") else f"{count} {one}s"


def first_of(words: Sequence[str], most: int) -> str:
    """The first of some words, and a sign that there are more.

    Example:
        >>> first_of(["a", "b"], 2), first_of(["a", "b", "c"], 2)
        ('a, b', 'a, b, …')
    """
    return ", ".join([*words[:most], *(["…"] if len(words) > most else [])])


def sentences_by_line(text: str) -> int:
    """How many lines a text has, where it is a list of statements: at least three lines without a
    blank one between them, each at most 200 characters and with the end of a sentence; else 0.

    Example:
        >>> [sentences_by_line(text) for text in ("A hat.\\nA cat.\\nA bat.", "A hat\\nis red.")]
        [3, 0]
    """
    lines = text.strip().splitlines()
    own = all(len(line) <= _STATEMENT_CHARS and line.rstrip().endswith(_ENDS) for line in lines)
    return len(lines) if own and len(lines) >= _STATEMENTS_MIN else 0


def lines_alone(text: str) -> int:
    """How many lines a text has, where each seems to be said by itself: at least two without a
    blank one between them, each at most 200 characters, of two words or more, and begun with a
    capital letter or a digit, which a line that goes on with a sentence seldom is; else 0.

    Example:
        >>> [lines_alone(text) for text in ("The hat is red\\nA cat sleeps", "A hat\\nis red.")]
        [2, 0]
    """
    lines = text.strip().splitlines()
    alone = all(
        len(line) <= _STATEMENT_CHARS
        and (line[:1].isupper() or line[:1].isdigit())
        and len(line.split()) > 1
        for line in lines
    )
    return len(lines) if alone and len(lines) > 1 else 0


def trimmed(text: str) -> str:
    """The text as it is kept: without white space at its ends, else unchanged.

    Example:
        >>> trimmed("\\n  if so:\\n    stop\\n")
        'if so:\\n    stop'
    """
    return text.strip(_WHITE)


def normal_form(text: str, *, single_spaces: bool = True, quotations: bool = True) -> str:
    """The form that line breaks, spaces and Unicode spelling do not change: trimmed, in NFC, every
    run of white space one space, ligatures as their letters, without characters that are not seen
    (soft hyphens, zero-width characters, marks of direction and byte order, variation selectors)
    but for those that join emoji. The indentation of a line stays, with the line break before it:
    it is meaning in code, YAML and lists. So do fenced code, and code spans and quotations within a
    line, to the character. Case and punctuation stay.

    Args:
        text: any text.
        single_spaces: False keeps white space inside of the text.
        quotations: False makes single spaces in code and quotations too.

    Example:
        >>> normal_form("  two\\t words\\nin two lines\\n")
        'two words in two lines'
        >>> normal_form("if so:\\r\\n    stop  now\\nend")
        'if so:\\n    stop now end'
        >>> normal_form("it  prints 'a  b'"), normal_form("```sh\\nls  -l\\n\\n```\\nends")
        ("it prints 'a  b'", '```sh\\nls  -l\\n\\n``` ends')
        >>> normal_form("cafe\\u0301") == "caf\\u00e9"
        True
        >>> normal_form("co\\u00adopera\\u200bte in the o\\ufb03ce")
        'cooperate in the office'
    """
    composed = text
    if not text.isascii():
        # imported here: help and version print words without the core
        from vestig._core import visible

        composed = unicodedata.normalize("NFC", visible(text))
    if not single_spaces:
        return composed.strip(_WHITE)
    # of printable characters only the space is white
    if composed.isprintable() and "  " not in composed:
        return composed.strip(" ")
    trimmed_text = composed.strip(_WHITE)
    if quotations and _SIGN_OF_KEPT.search(trimmed_text) is not None:
        return _RUNS.sub(_in_form, trimmed_text)
    pieces = _INDENTED.split(trimmed_text)
    if len(pieces) == 1:
        return _spaced(trimmed_text)
    lines = [_spaced(line) for line in pieces[::2]]
    indented = (f"\n{indent}{line}" for indent, line in zip(pieces[1::2], lines[1:], strict=True))
    return lines[0] + "".join(indented)


def _in_form(found: re.Match[str]) -> str:
    """The part of a normal form for what is kept, or for a run of white space."""
    if found["kept"] is not None:
        return _CRLF.sub("\n", found["kept"])
    return " " if found["indent"] is None else f"\n{found['indent']}"


def _spaced(text: str) -> str:
    if _SEPARATORS.search(text) is None:
        return " ".join(text.split())
    return _RUN.sub(" ", text).strip(" ")


def plain_characters(text: str) -> str:
    """The text with its characters as the ones that they are forms of (NFKC), such as wide letters.

    Example:
        >>> plain_characters("\uff4c\uff45\uff4e\uff53 of 10 \u339e")
        'lens of 10 km'
    """
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def plain_figures(text: str) -> str:
    """The text with its digits of other scripts, and wide ones, as 0 to 9.

    Example:
        >>> plain_figures("\uff12 \u0661\u0661\u0660\u0662")
        '2 1102'
    """
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(one)) if one.isdecimal() else one for one in text)


def as_it_stands(part: str, text: str) -> str:
    """The part of a text whose plain characters are these; where there is none, these.

    Example:
        >>> as_it_stands("lens", "a \uff4c\uff45\uff4e\uff53") == "\uff4c\uff45\uff4e\uff53"
        True
    """
    if text.isascii() or part in text:
        return part
    places = [place for place, char in enumerate(text) for _ in plain_characters(char)]
    at = "".join(map(plain_characters, text)).find(part)
    return part if at < 0 else text[places[at] : places[at + len(part) - 1] + 1]


def single_spaced(text: str) -> str:
    """The text in NFC on one line: trimmed, every run of white space one space.

    Example:
        >>> single_spaced("if so:\\n    stop")
        'if so: stop'
    """
    return _spaced(text if text.isascii() else unicodedata.normalize("NFC", text))


def one_line(text: str, length: int) -> str:
    """The first `length` characters of the text on one line, `...` only if cut.

    Example:
        >>> one_line("one line", 8), one_line("one\\nline more", 8)
        ('one line', 'one line...')
    """
    line = single_spaced(text)
    return line if len(line) <= length else line[:length] + "..."


def row(*cells: str) -> str:
    """The cells of a line of a list; a line break in one is shown as its escape, so that no stored
    name makes a line of its own.

    Example:
        >>> row("a\\nb", "c")
        'a\\\\nb | c'
    """
    return " | ".join(map(escaped_breaks, cells))


def escaped_breaks(text: str) -> str:
    """A name on one line: each character that ends a line as its escape.

    Example:
        >>> escaped_breaks("a\\nb\\u2028c"), escaped_breaks("a b")
        ('a\\\\nb\\\\u2028c', 'a b')
    """
    return _BREAKS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def unusable_reason(text: str) -> str | None:
    """Why a normalised text is refused wherever it comes from: it is empty, or holds a control
    character. None when it may pass.

    Example:
        >>> unusable_reason("\\x1b[2J")
        'Content contains the control character U+001B'
    """
    if not text:
        return "Memory content cannot be empty"
    # printable text has no character of category Cc
    if text.isprintable():
        return None
    if "\0" in text:
        return "Content contains a NUL character"
    control = CONTROL_CHARACTERS.search(text)
    if control is not None:
        return f"Content contains the control character U+{ord(control.group()):04X}"
    return None


_CUT: Final = "..."


def evidence_text(text: str, chars_max: int) -> str:
    """Return the words of a memory as an edge stores them: what is longer than `chars_max` code
    points (`entities.max_evidence_length`) is cut and ends in `...`.

    Example:
        >>> len(evidence_text("a" * 201, 200)), evidence_text("a" * 201, 200)[-4:]
        (200, 'a...')
    """
    if len(text) <= chars_max:
        return text
    return text[: max(0, chars_max - len(_CUT))] + _CUT[:chars_max]


T = TypeVar("T")

# Longer texts are not cached: they hardly ever repeat.
CHARS_MAX: Final = 64
_TEXTS_MAX: Final = 8_192


class TextCache(dict[str, T]):
    """A mapping from text to the value of a pure function, filled when a text is looked up.

    Holds at most 8,192 texts of at most 64 code points; when full, it begins anew.

    Example:
        >>> lower = TextCache(str.lower)
        >>> lower["Ada"], len(lower)
        ('ada', 1)
    """

    def __init__(self, function: Callable[[str], T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, text: str) -> T:
        """Computes the value, and stores that of a short text."""
        found = self._function(text)
        if len(text) <= CHARS_MAX:
            if len(self) >= _TEXTS_MAX:
                self.clear()
            self[text] = found
        return found


# Chinese and Japanese have no space between sentences.
_CLOSING: Final = "\"')\\]\u201d\u2019\u300d\u300f\uff09"
_END: Final = lazy_pattern(
    rf"(?<=[.!?\u061f\u06d4\u0964\u0965])[{_CLOSING}]*\s+(?=\S)"
    rf"|(?<=[\u3002\uff01\uff1f\uff61])[{_CLOSING}]*\s*"
    rf"(?=[^\s{_CLOSING}\u3002\uff01\uff1f\uff61])"
)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """(place of its beginning, sentence) of a text; blank ones are left out.

    Example:
        >>> list(sentences("It rained. Who came?"))
        [(0, 'It rained.'), (11, 'Who came?')]
        >>> [place for place, _ in sentences("\u4e00\u3002\u4e8c\uff1f\u4e09")]
        [0, 2, 4]
    """
    start = 0
    for end in _END.finditer(text):
        if text[start : end.start()].strip():
            yield start, text[start : end.start()]
        start = end.end()
    if text[start:].strip():
        yield start, text[start:]


def word_list(words: str) -> tuple[str, ...]:
    """The words of a text, in order.

    Example:
        >>> word_list("one two")
        ('one', 'two')
    """
    return tuple(words.split())
