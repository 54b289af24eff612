"""Names in scripts without capitals, by surname and what stands around them, or by a list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from oracle_name_lists import LISTS, of
from oracle_name_patterns import name_at

from vestig.language.names import Name
from vestig.lazy_pattern import lazy_pattern

__all__ = ["unspaced"]

_HAN: Final = lazy_pattern("[\u3400-\u4dbf\u4e00-\u9fff]+")
_KATAKANA: Final = lazy_pattern("[\u30a1-\u30fa\u30fc]+")
_HANGUL: Final = lazy_pattern("[\uac00-\ud7a3]+")
_CASELESS: Final = lazy_pattern("[\u0590-\u0dff]+")
_CASELESS_WORD: Final = lazy_pattern("[^\\s\u060c\u061b\u061f\u06d4\u05be\u05c3\u0964\u0965]+")
_SURNAME: Final = lazy_pattern(rf"(?!{of('ordinary')})({of('surnames')})")
_BEHIND: Final = lazy_pattern(of("behind"))
_JAPANESE: Final = lazy_pattern(of("japanese_honorifics"))
_KOREAN: Final = lazy_pattern(rf"({of('korean_surnames')})..\s?({of('korean_honorifics')})")


def unspaced(text: str) -> list[Name]:
    """All of them, in order of position."""
    return sorted(_found(text), key=lambda name: (name.start, name.end))


def _found(text: str) -> Iterator[Name]:
    for run in _HAN.finditer(text):
        for start, end in _chinese(run[0], _is_alone(text, *run.span())):
            yield _name(text, run.start() + start, run.start() + end)
    for pattern, most in ((_HAN, 4), (_KATAKANA, 8)):
        for run in pattern.finditer(text):
            own = re.sub(rf"^(?:{of('japanese_times')})", "", run[0])
            ordinary = re.match(of("ordinary"), own) is not None
            if _JAPANESE.match(text, run.end()) and 2 <= len(own) <= most and not ordinary:
                yield _name(text, run.end() - len(own), run.end())
    for run in _HANGUL.finditer(text):
        # white space only behind a run of three
        found = _KOREAN.match(text, run.start())
        if (
            len(run[0]) == 3
            and run[0][0] in LISTS["korean_surnames"]
            and _is_alone(text, *run.span())
        ):
            yield _name(text, *run.span())
            continue
        spaced = found is not None and text[run.start() + 3].isspace()
        if found is not None and (len(run[0]) == 3 if spaced else len(run[0]) > 3):
            yield _name(text, run.start(), run.start() + 3)
    for run in _CASELESS.finditer(text):
        for word in _CASELESS_WORD.finditer(run[0]):
            if word[0] in LISTS["given"]:
                yield _name(text, run.start() + word.start(), run.start() + word.end())


def _name(text: str, start: int, end: int) -> Name:
    return name_at(text, start, end, "UNTYPED", 0.75)


def _is_alone(text: str, start: int, end: int) -> bool:
    """Return whether a run stands among words with capitals."""
    before, after = text[:start].rstrip(), text[end:].lstrip()
    neighbours = [before[-1:], after[:1]]
    return all(not one or one.isupper() or one.islower() for one in neighbours) and (
        len(before) + len(after) + end - start < len(text)
    )


def _chinese(run: str, alone: bool) -> Iterator[tuple[int, int]]:
    """Spans of Chinese names in a run of Han characters."""
    at = 0
    while at < len(run):
        end = _chinese_end(run, at, alone)
        if end is not None:
            yield at, end
        at = at + 1 if end is None else end


def _chinese_end(run: str, at: int, alone: bool) -> int | None:
    surname = _SURNAME.match(run, at)
    if surname is None or (at > 0 and not run[:at].endswith(tuple(LISTS["before"]))):
        return None
    for count in (2, 1):
        end = surname.end() + count
        given = run[surname.end() : end]
        if len(given) < count or not LISTS["inside"].isdisjoint(given):
            continue
        # a second character that begins a cue is none of the name
        if count == 2 and _BEHIND.match(run, end - 1):
            continue
        if _BEHIND.match(run, end) or (end == len(run) and (at > 0 or alone)):
            return end
    return None
