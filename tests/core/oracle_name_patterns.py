"""Names that are recognised by their characters: addresses, paths, files, identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from vestig.language.names import Name
from vestig.language.words import NAME_STOPWORDS
from vestig.lazy_pattern import lazy_pattern

__all__ = ["UPPER", "addresses", "identifiers", "name_at"]

# Capitals, as part of a pattern.
UPPER: Final = "".join(chr(code) for code in range(0x530) if chr(code).isupper())

_EMAIL: Final = lazy_pattern(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_URL: Final = lazy_pattern(
    r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://([\w.-]*\w)(?::\d+)?(?:[/?#][^\s\"<>]*)?", re.I
)
_HOST: Final = lazy_pattern(
    r"(?<![\w@./-])(?:www\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|io|dev|ai|edu|gov)\b"
    r"(?![\w/]|\.\w)",
    re.I,
)
_PATH: Final = lazy_pattern(
    r"(?<![\w./~@+-])(?:~?/|\.{1,2}/|[A-Za-z]:\\)?(?:[\w.@+-]+[/\\])+[\w.@+-]*\w"
    r"|(?<![\w./])/(?:[\w.@+-]+/)*[\w.@+-]*\w"
)
_FILE: Final = lazy_pattern(
    r"(?<![\w./@-])[\w-]+(?:\.[\w-]+)*\."
    r"(?:py|pyi|rs|js|ts|tsx|jsx|json|jsonl|ya?ml|toml|md|rst|txt|csv|tsv|html?|css|scss|sh|bash"
    r"|c|h|cc|cpp|hpp|java|kt|go|rb|php|sql|xml|ini|cfg|conf|env|lock|log|pdf|docx?|xlsx?|pptx?"
    r"|png|jpe?g|gif|svg|zip|tar|gz|whl|so|dll|exe|db|sqlite|parquet|proto|ipynb|swift|vue)\b"
    r"(?!\.\w)"
)
_INNER_DOT: Final = lazy_pattern(r"\.[a-z]", re.I)
_INNER_CAPITAL: Final = lazy_pattern(rf"[a-z0-9][{UPPER}]")
_DIGIT: Final = lazy_pattern(r"[0-9]")
# What every identifier has: a digit, `_`, or a capital inside
_SIGN: Final = lazy_pattern(rf"[\d_{UPPER}](?:(?<=[\d_])|(?<=[a-z0-9].))")
# What every version has, each beginning with a letter of its own, so that the search is short
_DECIMAL: Final = lazy_pattern(r"\.\d")
_NUMBERED_V: Final = lazy_pattern(r"v\d")
_SPACE: Final = lazy_pattern(r"\s")
_HANDLE: Final = lazy_pattern(r"(?<![\w@.])@([A-Za-z_][\w-]*)")
_TAG: Final = lazy_pattern(r"(?<![\w#&/])#([A-Za-z_][\w-]*)")
_IDENTIFIER: Final = lazy_pattern(
    r"(?<![\w-])(?:[A-Z][A-Z0-9]*-\d+(?:-\d+)*"
    rf"|(?=[^\W\d_])[^\W_]*[a-z0-9][{UPPER}]\w*"
    r"|[A-Z]{2,}[a-z]+[A-Z]\w*"
    r"|_*[^\W_]+(?:_+[^\W_]+)+_*"
    r"|v\d+(?:\.\d+)*(?:-[\w.]+)?|\d+(?:\.\d+){2,}(?:-[\w.]+)?)(?![\w])"
)
_VERSIONED: Final = lazy_pattern(rf"(?<![\w-])[{UPPER}][\w+#]*\s+v?(?:\d+(?:\.\d+)+|(?<=v)\d+)\b")


def name_at(text: str, start: int, end: int, type: str, confidence: float) -> Name:
    """The name of a span of the text."""
    return Name(name=text[start:end], start=start, end=end, type=type, confidence=confidence)


def addresses(text: str) -> Iterator[Name]:
    """E-mails, hosts, handles, tags, paths and files."""
    if "@" in text:
        for match in _EMAIL.finditer(text):
            yield name_at(text, *match.span(), "PERSON", 0.95)
        for match in _HANDLE.finditer(text):
            yield name_at(text, *match.span(), "PERSON", 0.90)
    if "#" in text:
        for match in _TAG.finditer(text):
            yield name_at(text, *match.span(), "CONCEPT", 0.90)
    slashed = "/" in text or "\\" in text
    if slashed:
        if "://" in text:
            for match in _URL.finditer(text):
                host = Name(
                    name=match[1], start=match.start(), end=match.end(), type="ORG", confidence=0.95
                )
                yield host
        for match in _PATH.finditer(text):
            if _is_path(match[0]):
                yield name_at(text, *match.span(), "FILE", 0.95)
    if _INNER_DOT.search(text) is not None:
        for match in _FILE.finditer(text):
            yield name_at(text, *match.span(), "FILE", 0.95)
        for match in _HOST.finditer(text):
            yield name_at(text, *match.span(), "ORG", 0.95)


def _is_path(found: str) -> bool:
    """`and/or` and `3/4` are no paths: a path is rooted, deep, or ends in an extension."""
    if found[0] in "/~." or "\\" in found:
        return any(char.isalpha() for char in found)
    last = found.rsplit("/", 1)[-1]
    deep = found.count("/") > 1 and any(char.isalpha() for char in found)
    return deep or ("." in last and last[-1].isalpha() and not last[0].isdigit())


def identifiers(text: str) -> Iterator[Name]:
    """Tickets, words of code, and versions, alone or behind a name."""
    numbered = _DIGIT.search(text) is not None
    if numbered or "_" in text or _has_inner_capital(text):
        # a word without any of the signs is no identifier, and most words have none
        sign = _SIGN.search(text)
        while sign is not None:
            start, end = _word_around(text, *sign.span())
            for match in _IDENTIFIER.finditer(text, start, end):
                yield name_at(text, *match.span(), "SYSTEM", 0.90)
            sign = _SIGN.search(text, end)
    if not numbered or (_DECIMAL.search(text) is None and _NUMBERED_V.search(text) is None):
        return
    for match in _VERSIONED.finditer(text):
        first = match[0].split(maxsplit=1)[0]
        if first.lower() not in NAME_STOPWORDS:
            yield name_at(text, *match.span(), "SYSTEM", 0.90)


def _has_inner_capital(text: str) -> bool:
    return not text.islower() and _INNER_CAPITAL.search(text) is not None


def _word_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The run of characters without whitespace around a span."""
    while start and not text[start - 1].isspace():
        start -= 1
    space = _SPACE.search(text, end)
    return start, len(text) if space is None else space.start()
