"""Texts without what is no prose: fenced code, link targets, images, HTML, a repeated title."""

from __future__ import annotations

import re
from typing import Final

from vestig.lazy_pattern import lazy_pattern

__all__ = ["prose"]

_FENCE: Final = lazy_pattern(r"^[ \t>]*(`{3,}(?=[^`\n]*$)|~{3,})(.*)$", re.M)
_COMMENT: Final = lazy_pattern(r"<!--(?:.*?-->|.*)", re.S)
_TAG: Final = lazy_pattern(r"</?[a-z][a-z0-9-]*(?=[ \t\n/>])[^<>]*>")
_EMPHASIS: Final = lazy_pattern(r"(?<!\w)(_{1,3})(?!_)(?=\S)")
_EMPHASIS_MAX: Final = 200
_BRACKETS_MAX: Final = 1000


def prose(text: str, title: str | None = None) -> str:
    """A text of the same length in which only prose is left."""
    if title is not None and text.startswith((title + "\n", title + "\r")):
        text = "…" * len(title) + text[len(title) :]
    return _inline(_fenced(text))


def _fenced(text: str) -> str:
    ended = 0
    hidden = []
    open: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        labelled = bool(fence[2].strip())
        if open is None:
            open = fence
        elif labelled and not open[2].strip():
            hidden.append((ended, open.end()))
            ended, open = open.end(), fence
        elif not labelled and fence[1][0] == open[1][0] and len(fence[1]) >= len(open[1]):
            hidden.append((open.start(), fence.end()))
            ended, open = fence.end(), None
    if open is not None:
        hidden.append((open.start(), len(text)))
    for start, end in hidden:
        text = text[:start] + "…" * (end - start) + text[end:]
    return text


def _inline(text: str) -> str:
    at = 0
    while at < len(text):
        char = text[at]
        if char == "`":
            at = _behind_code(text, at)
            continue
        start, end = at, at
        if char == "<":
            found = _COMMENT.match(text, at) or _TAG.match(text, at)
            end = at if found is None else found.end()
        elif text.startswith("![", at):
            end = _target(text, _closed(text, at + 1) + 1)
            at += 1
        elif char == "[" and _first_of_line(text, at) and text[at + 1 : at + 2] != "^":
            close = _closed(text, at)
            if text.startswith(": ", close + 1):
                end = (text + "\n").index("\n", close)
        elif char == "]":
            start, end = at + 2, _target(text, at + 1) - 1
            if end >= start:
                text = text[:start] + "*" * (end - start) + text[end:]
                at = end
        elif char == "_":
            text, at = _emphasis(text, at)
            continue
        if char != "]" and end > start:
            text = text[:start] + "*" * (end - start) + text[end:]
            at = end
        else:
            at += 1
    return text


def _behind_code(text: str, at: int) -> int:
    stop = at + len(text[at:]) - len(text[at:].lstrip("`"))
    marks = stop - at
    for close in re.finditer(r"`+|\n\n", text[stop:]):
        if close[0] == "\n\n":
            break
        if len(close[0]) == marks:
            return stop + close.end()
    return stop


def _first_of_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip(" ")


def _closed(text: str, at: int) -> int:
    """Where the bracket that opens here is closed; -2 where it is not."""
    pair, depth = {"[": "[]", "(": "()"}[text[at]], 0
    for place in range(at, min(len(text), at + _BRACKETS_MAX)):
        if text[place] == "\n":
            break
        depth += (text[place] == pair[0]) - (text[place] == pair[1])
        if depth == 0:
            return place
    return -2


def _target(text: str, at: int) -> int:
    """Behind the `(target)` or `[reference]` here; -1 where there is none."""
    if at < 0 or text[at : at + 1] not in ("(", "[") or text.startswith("[[", at):
        return -1
    return _closed(text, at) + 1


def _emphasis(text: str, at: int) -> tuple[str, int]:
    behind = at + _run(r"_*", text, at)
    marks = behind - at
    if _EMPHASIS.match(text, at) is None:
        return text, max(at + _run(r"\w*", text, at), behind)
    for close in re.finditer(r"_+|`|\n\n", text[behind : behind + _EMPHASIS_MAX]):
        start = behind + close.start()
        end = start + _run(r"_*", text, start)
        if close[0][0] != "_":
            break
        if end - start == marks and not _run(r"\w*", text, end) and not text[start - 1].isspace():
            hidden = "*" * marks
            return text[:at] + hidden + text[behind:start] + hidden + text[end:], end
    return text, behind


def _run(pattern: str, text: str, at: int) -> int:
    found = re.compile(pattern).match(text, at)
    return 0 if found is None else len(found[0])
