"""The blocks of a document: headings, paragraphs, list items, tables and fenced code."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from vestig.lazy_pattern import lazy_pattern
from vestig.types import Word


class Markup(Word):
    """How the lines of a document are read. TEXT: as paragraphs only."""

    MARKDOWN = "markdown"
    RST = "rst"
    TEXT = "text"


class BlockKind(Enum):
    """`TEXT`: a paragraph or a list item."""

    HEADING = "heading"
    TEXT = "text"
    TABLE = "table"
    CODE = "code"


class Block(NamedTuple):
    """Code points [start, end) of a text, whole lines of it. Of a heading: `level` from 1, `name`.
    Of a table: `rows`, where they begin after its header row and the line below that."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    name: str = ""
    rows: int = 0


class _Line(NamedTuple):
    """Code points [start, end) with the line's end; `text` is without blank space at its end."""

    start: int
    end: int
    text: str


_BLANK: Final = lazy_pattern(r"(?:[ \t\r]*\n)+")
_FENCE: Final = lazy_pattern(r"[ \t]*(?:>[ \t]*)*(`{3,}|~{3,})([^\n]*)")
_HEADING: Final = lazy_pattern(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_ANCHOR: Final = lazy_pattern(r"\{#[^{}]*\}\Z")
_UNDERLINE: Final = lazy_pattern(r" {0,3}(=+|-+)")
_ADORNMENT: Final = lazy_pattern(r"([!-/:-@\[-`{-~])\1{2,}")
_ITEM: Final = lazy_pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)")
_CELL: Final = r"[ \t]*:?-+:?[ \t]*"
_BELOW_HEADER: Final = lazy_pattern(rf"[ \t]*\|?{_CELL}(?:\|{_CELL})*\|?")
_LINK: Final = lazy_pattern(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS: Final = lazy_pattern(r"\*\*|__|`")


def blocks(text: str, markup: Markup = Markup.MARKDOWN) -> Iterator[Block]:
    """Yields the blocks of a text in order. What lies between two of them is blank.

    Args:
        text: any text; "" has none.
        markup: TEXT knows paragraphs only.

    Example:
        >>> [block.kind.value for block in blocks("# Boats\\n\\nLarch floats.\\n- tar\\n")]
        ['heading', 'text', 'text']
    """
    walkers = {
        Markup.MARKDOWN: _markdown,
        Markup.RST: _restructured,
        Markup.TEXT: _paragraphs,
    }
    return walkers[markup](text)


def _line_with_text(text: str, start: int) -> _Line | None:
    """The next line that is not blank; None behind the last."""
    blank = _BLANK.match(text, start)
    line = _line(text, blank.end() if blank else start)
    while line is not None and not line.text:
        line = _line(text, line.end)
    return line


def _line(text: str, start: int) -> _Line | None:
    """The line that begins at a place; None behind the last."""
    if start >= len(text):
        return None
    end = text.find("\n", start) + 1 or len(text)
    return _Line(start, end, text[start:end].rstrip())


def _markdown(text: str) -> Iterator[Block]:
    end = 0
    while (line := _line_with_text(text, end)) is not None:
        block = _markdown_block(text, line)
        yield block
        end = block.end


def _markdown_block(text: str, first: _Line) -> Block:
    """The block that begins with a line that is not blank."""
    heading = _HEADING.fullmatch(first.text)
    if heading:
        name = _unclosed(heading[2] or "")
        return Block(BlockKind.HEADING, first.start, first.end, len(heading[1]), name)
    fence = _fence(first.text)
    if fence:
        return Block(BlockKind.CODE, first.start, _after_fence(text, first.end, fence))
    below = _line(text, first.end)
    if below is not None and _is_header(first, below):
        end = below.end
        while (row := _line(text, end)) is not None and "|" in row.text:
            end = row.end
        return Block(BlockKind.TABLE, first.start, end, rows=below.end)
    if below is not None and _UNDERLINE.fullmatch(below.text) and not _ITEM.match(first.text):
        level = 1 if "=" in below.text else 2
        return Block(BlockKind.HEADING, first.start, below.end, level, _plain(first.text))
    end = first.end
    while below is not None:
        following = _line(text, below.end)
        if _begins_block(below, following):
            break
        end, below = below.end, following
    return Block(BlockKind.TEXT, first.start, end)


def _begins_block(line: _Line, below: _Line | None) -> bool:
    """A line with which a paragraph is over."""
    if not line.text or _ITEM.match(line.text) or _HEADING.fullmatch(line.text):
        return True
    return bool(_fence(line.text)) or (below is not None and _is_header(line, below))


def _fence(text: str) -> str:
    """The fence that a line opens; "" where it opens none."""
    found = _FENCE.fullmatch(text)
    return found[1] if found and not (found[1][0] == "`" and "`" in found[2]) else ""


def _after_fence(text: str, start: int, fence: str) -> int:
    """Behind the line that closes a fence; without one, at the end of the text."""
    while (line := _line(text, start)) is not None:
        found = _FENCE.fullmatch(line.text)
        if found and found[1].startswith(fence) and not found[2]:
            return line.end
        start = line.end
    return len(text)


def _is_header(line: _Line, below: _Line) -> bool:
    if "|" not in line.text or "|" not in below.text:
        return False
    return bool(_BELOW_HEADER.fullmatch(below.text))


def _restructured(text: str) -> Iterator[Block]:
    """Headings by lines of one punctuation mark, whose levels follow the order in which they first
    occur; all else is paragraphs."""
    levels: dict[tuple[str, bool], int] = {}
    end = 0
    while (line := _line_with_text(text, end)) is not None:
        over = _ADORNMENT.fullmatch(line.text)
        name = _line(text, line.end) if over else line
        mark, end = _under(text, name)
        if name is not None and mark and (not over or over[1] == mark):
            level = levels.setdefault((mark, bool(over)), len(levels) + 1)
            yield Block(BlockKind.HEADING, line.start, end, level, _plain(name.text))
        else:
            end = line.end
            while (following := _line(text, end)) is not None and following.text:
                if _ITEM.match(following.text):
                    break
                end = following.end
            yield Block(BlockKind.TEXT, line.start, end)


def _under(text: str, name: _Line | None) -> tuple[str, int]:
    """The mark of the line below a heading, which is at least as long as that, and its end; ""
    where there is none."""
    below = None if name is None else _line(text, name.end)
    if name is None or below is None or not name.text or _ADORNMENT.fullmatch(name.text):
        return "", 0
    adornment = _ADORNMENT.fullmatch(below.text)
    if not adornment or len(below.text) < len(name.text.strip()):
        return "", 0
    return adornment[1], below.end


def _paragraphs(text: str) -> Iterator[Block]:
    end = 0
    while (line := _line_with_text(text, end)) is not None:
        end = line.end
        while (following := _line(text, end)) is not None and following.text:
            end = following.end
        yield Block(BlockKind.TEXT, line.start, end)


def _unclosed(heading: str) -> str:
    """The name of a heading without the marks behind it."""
    name = heading.rstrip()
    before = name.rstrip("#")
    if before != name and (not before or before[-1] in " \t"):
        name = before.rstrip()
    return _plain(_ANCHOR.sub("", name) if name.endswith("}") else name)


def _plain(name: str) -> str:
    """A heading without markup, on one line."""
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", name)).split())
