"""Documents into passages: blocks packed in order, each passage with the path of its headings.

Blocks are headings, paragraphs, list items, tables and fenced code; what is longer than a passage
is cut into chunks at blank lines, lines or words.

Invariant: the passages of a text are slices of it in order, with nothing but blank space between
them. What a passage has beside its slice is its title line and, where a table was cut, the header
row of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Final, NamedTuple

from vestig.errors import ValidationError
from vestig.language.text_forms import sentences, trimmed
from vestig.language.time.expressions import find_times
from vestig.lazy_pattern import lazy_pattern
from vestig.times import to_us
from vestig.types import Word

# --- blocks -----------------------------------------------------------------------------------


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


# --- chunks -----------------------------------------------------------------------------------

CHUNK_SIZE: Final = 4000
CHUNK_OVERLAP: Final = 400
_BLANKS: Final = " \t\r"


def chunk(text: str, size: int = CHUNK_SIZE, overlap: int = CHUNK_OVERLAP) -> list[tuple[int, int]]:
    """(start, length) of the chunks of a text, in code points and in order.

    Every code point is covered, no chunk is longer than `size`, and with
    m = max(1, ⌈(size − overlap) / 2⌉ ) there are at most 1 + ⌈max(0, len − size) / m⌉ chunks.

    Args:
        text: any text; "" gives [].
        size: longest chunk, >= 1.
        overlap: code points that neighbours share, 0 <= overlap < size.

    Raises:
        ValidationError: size or overlap out of range.

    Example:
        >>> chunk("one two three", size=8, overlap=0)
        [(0, 8), (8, 5)]
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValidationError("chunk_size", size, "an integer >= 1")
    if isinstance(overlap, bool) or not isinstance(overlap, int) or not 0 <= overlap < size:
        raise ValidationError(
            "chunk_overlap", overlap, f"an integer from 0 to {size - 1} (chunk_size - 1)"
        )
    step_min = max(1, (size - overlap + 1) // 2)
    chunks: list[tuple[int, int]] = []
    start = 0
    while len(text) - start > size:
        end = _break(text, start + overlap + step_min, start + size)
        chunks.append((start, end - start))
        start = end - overlap
    if text:
        chunks.append((start, len(text) - start))
    return chunks


def _break(text: str, low: int, high: int) -> int:
    """The best place to end a chunk within [low, high]."""
    for find in (_after_blank_line, _after_newline, _after_space):
        end = find(text, low, high)
        if end is not None:
            return end
    return high


def _after_newline(text: str, low: int, high: int) -> int | None:
    place = text.rfind("\n", low - 1, high)
    return None if place < 0 else place + 1


def _after_space(text: str, low: int, high: int) -> int | None:
    place = text.rfind(" ", low - 1, high)
    return None if place < 0 else place + 1


def _after_blank_line(text: str, low: int, high: int) -> int | None:
    """After a line that holds nothing but spaces; it may begin before `low`."""
    end = _after_newline(text, low, high)
    while end is not None:
        before = end - 2
        while before >= 0 and text[before] in _BLANKS:
            before -= 1
        if before >= 0 and text[before] == "\n":
            return end
        # the run of blanks just walked over holds no newline: go on before it
        end = _after_newline(text, low, before + 1)
    return None


# --- passages ---------------------------------------------------------------------------------

PASSAGE_CHARS: Final = 800
TITLE_CHARS_MAX: Final = 200
_BETWEEN: Final = " > "
_YEAR: Final = lazy_pattern(r"(?<!\d)(?:19|20)\d{2}(?!\d)")
_LEFT_OUT: Final = "…"
# The number with which a clause begins: of several parts, or marked as one.
_CLAUSE: Final = lazy_pattern(
    r"\s*(?P<shown>§[ \t]*(?P<a>\d{1,3})|(?P<b>\d{1,3}(?:\.\d{1,3})+)\.?|(?P<c>\d{1,3})[.)])"
    r"(?=[ \t])"
)
# Code points of a block that may hold one.
_HEAD_CHARS: Final = 40
_HEADING_NUMBER: Final = lazy_pattern(r"\D{0,12}(\d{1,3}(?:\.\d{1,3})*)(?![\d,])")
# A document link, without that of an embedded picture; code between back quotes holds none.
_DOCUMENT_LINK: Final = lazy_pattern(
    r"(?<!!)\[\[[ \t]*(\w[^\[\]|#\n]{0,199}?)[ \t]*(?:#[^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]"
)
_QUOTED_CODE: Final = lazy_pattern(r"(`+)(?!`).+?(?<!`)\1(?!`)")


class Passage(NamedTuple):
    """A part of a document.

    Args:
        number: from 1.
        title: the document's title, the headings above its beginning, and the number of a clause
            that it continues, joined by " > "; "" where there are none.
        content: title line (where it does not begin with a heading), header row of a table that was
            cut, and its text.
        links: the names in `[[Name]]` and `[[Name|shown]]`, each once.
        begins_in_code: its text begins inside fenced code, after the fence.
        day_us: the day with which the nearest heading above begins that does with one, in
            microseconds since 1970; None where none does.
    """

    number: int
    title: str
    content: str
    links: tuple[str, ...]
    begins_in_code: bool
    day_us: int | None = None


class CutDocument(NamedTuple):
    """A document's title, "" where it has none, and its passages."""

    title: str
    passages: tuple[Passage, ...]


class _Section(NamedTuple):
    """Blocks below a heading that names a day, and the day where that dates them; no heading: below
    none that does."""

    level: int = 0
    heading: str = ""
    day_us: int | None = None


class _Piece(NamedTuple):
    """A block or what is left of one, and the title and the section of a passage that begins with
    it."""

    block: Block
    title: str
    section: _Section
    is_rest: bool = False


def cut_document(
    text: str,
    size: int = PASSAGE_CHARS,
    *,
    title: str = "",
    name: str = "",
    markup: Markup = Markup.MARKDOWN,
) -> CutDocument:
    """Cuts a document into passages.

    Args:
        text: without front matter.
        size: most code points of a passage's content, >= 200. A title has at most a quarter of
            it, and at most 200.
        title: the document's; "" = its first heading where that alone has level 1, else `name`.
        name: a title for want of another, such as that of its file.

    Example:
        >>> document = cut_document("# Boats\\n\\nLarch floats.\\n\\n## Tar\\n\\nIt is black.")
        >>> document.title, [passage.title for passage in document.passages]
        ('Boats', ['Boats'])
    """
    title = " ".join(title.split()) or _only_title(blocks(text, markup)) or " ".join(name.split())
    pieces = _titled(blocks(text, markup), title, size)
    clauses = _Clauses(text, markup)
    return CutDocument(title, tuple(_Cutter(text, size, clauses).passages(pieces)))


def _only_title(found: Iterator[Block]) -> str:
    """The name of the first heading where no other has its level 1."""
    headings = (block for block in found if block.kind is BlockKind.HEADING)
    first = next(headings, None)
    if first is None or first.level > 1 or any(one.level == 1 for one in headings):
        return ""
    return first.name


def _titled(found: Iterator[Block], title: str, size: int) -> Iterator[_Piece]:
    """The blocks with the titles of passages that begin with them."""
    most = min(TITLE_CHARS_MAX, size // 4)
    path: list[Block] = []
    joined, section = _joined([title], most), _Section()
    for block in found:
        if block.kind is BlockKind.HEADING:
            while path and path[-1].level >= block.level:
                path.pop()
            path.append(block)
            names = [one.name for one in path]
            if names[0].casefold() == title.casefold():
                names = names[1:]
            joined = _joined([title, *names], most)
            section = _section_of([title, *(one.name for one in path)])
        yield _Piece(block, joined, section)


def _section_of(names: Sequence[str]) -> _Section:
    """The section of the last of some headings that names a day, which dates it where the heading
    begins with it. A year that is not named is the only one that the names above it do.

    Args:
        names: the document's title, then the headings.
    """
    for at in range(len(names) - 1, 0, -1):
        years = {int(year) for name in names[:at] for year in _YEAR.findall(name)}
        # what names no year lies before the end of one
        end = datetime(max(years, default=1970), 12, 31, 23, 59, tzinfo=UTC)
        found = find_times(names[at], to_us(end), dated=False).windows
        days = [one for one in found if one.grain == "day"]
        if not days:
            continue
        first, day_us = days[0], days[0].window_start_us
        is_one = len(years) == 1 if first.either else len(days) == 1
        dates = is_one and first.start == 0 and day_us is not None
        return _Section(at, names[at], day_us if dates else None)
    return _Section()


def _joined(names: list[str], most: int) -> str:
    """The names on one line: the inner ones are left out first, then the ends are shortened."""
    names = [name for name in names if name]
    joined = _BETWEEN.join(names)
    inner = names[1:-1]
    while len(joined) > most and inner:
        inner = inner[1:]
        joined = _BETWEEN.join([names[0], _LEFT_OUT, *inner, names[-1]])
    if len(joined) > most and len(names) > 1:
        last = _shortened(names[-1], most // 2)
        joined = _BETWEEN.join([_shortened(names[0], most - len(last) - len(_BETWEEN)), last])
    return _shortened(joined, most)


def _shortened(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1].rstrip() + _LEFT_OUT


_Number = tuple[int, ...]


def _number_of(text: str) -> tuple[str, _Number]:
    """The number with which a clause begins, as it is written and its parts; ("", ()) of none."""
    found = _CLAUSE.match(text)
    if found is None:
        return "", ()
    parts = found["a"] or found["b"] or found["c"]
    return found["shown"], tuple(map(int, parts.split(".")))


class _Clauses:
    """The clauses of a text: blocks that begin with a number which is one more or less than that of
    another one, or which begins with the number of the heading above."""

    def __init__(self, text: str, markup: Markup) -> None:
        self._text = text
        self._markup = markup
        self._numbers: frozenset[_Number] | None = None

    def number(self, block: Block, heading: str) -> str:
        """The number of a clause, as it is written; "" of what is none."""
        if block.kind is not BlockKind.TEXT:
            return ""
        shown, parts = _number_of(self._text[block.start : block.start + _HEAD_CHARS])
        if not parts:
            return ""
        above = _HEADING_NUMBER.match(heading)
        if above and len(parts) > 1:
            begins = tuple(map(int, above[1].split(".")))
            if parts[: len(begins)] == begins and len(begins) < len(parts):
                return shown
        beside = {(*parts[:-1], parts[-1] + step) for step in (-1, 1)}
        return shown if beside & self._all() else ""

    def _all(self) -> frozenset[_Number]:
        """The numbers with which blocks begin; read when a block is first cut."""
        if self._numbers is None:
            found = (
                _number_of(self._text[block.start : block.start + _HEAD_CHARS])[1]
                for block in blocks(self._text, self._markup)
                if block.kind is BlockKind.TEXT
            )
            self._numbers = frozenset(found) - {()}
        return self._numbers


class _Cutter:
    """Packs blocks into passages of at most `size` code points."""

    def __init__(self, text: str, size: int, clauses: _Clauses) -> None:
        self._text = text
        self._size = size
        self._clauses = clauses
        self._count = 0

    def passages(self, pieces: Iterator[_Piece]) -> Iterator[Passage]:
        """The passages, in order."""
        packed: list[_Piece] = []
        piece = next(pieces, None)
        while piece is not None:
            if packed and self._begins_anew(piece, packed):
                yield from self._closed(packed)
                packed = []
            room = self._room(piece, packed)
            if _width(piece) <= room:
                packed.append(piece)
                piece = next(pieces, None)
            elif not packed or (_are_headings(packed) and room >= self._size // 4):
                head, piece = self._divided(piece, room)
                yield from self._closed([*packed, head])
                packed = []
            else:
                # headings go with what stands below them
                kept = len(packed)
                while kept and _are_headings(packed[kept - 1 : kept]):
                    kept -= 1
                kept = kept or len(packed)
                yield from self._closed(packed[:kept])
                packed = packed[kept:]
        yield from self._closed(packed)

    def _room(self, piece: _Piece, packed: list[_Piece]) -> int:
        """How long a piece may be that follows others."""
        if not packed:
            return self._size - len(self._before(piece))
        return self._size - self._length(packed) - (piece.block.start - packed[-1].block.end)

    def _begins_anew(self, piece: _Piece, packed: list[_Piece]) -> bool:
        """A heading begins a passage once half of the size is used, and where the section of a
        day begins or ends."""
        above = packed[-1].section
        if piece.section != above and (above.heading or not _are_headings(packed)):
            return True
        if piece.block.kind is not BlockKind.HEADING or piece.is_rest or _are_headings(packed):
            return False
        return 2 * self._length(packed) >= self._size

    def _length(self, packed: list[_Piece]) -> int:
        slice_length = packed[-1].block.end - packed[0].block.start
        return len(self._before(packed[0])) + slice_length

    def _before(self, first: _Piece) -> str:
        """The lines before a passage's text."""
        block = first.block
        if block.kind is BlockKind.HEADING and not first.is_rest:
            return ""
        title = f"{first.title}\n" if first.title else ""
        return title + (self._header(block) if first.is_rest else "")

    def _header(self, block: Block) -> str:
        """The header row of a table, for a passage that begins behind it; "" of all else, and of
        one that would fill half of the passage."""
        if block.kind is not BlockKind.TABLE:
            return ""
        header = self._text[block.level : block.rows]
        return header if len(header) <= self._size // 2 else ""

    def _divided(self, piece: _Piece, room: int) -> tuple[_Piece, _Piece]:
        """A piece of at most `room` code points, and the rest."""
        block = piece.block
        end = block.start + self._cut(block, room, is_rest=piece.is_rest)
        # of what is left of a table, `level` is where its header row begins
        header = block.start if block.kind is BlockKind.TABLE and not piece.is_rest else block.level
        rest = block._replace(start=end, level=header)
        title = piece.title if piece.is_rest else self._with_number(piece)
        return (
            piece._replace(block=block._replace(end=end)),
            piece._replace(block=rest, title=title, is_rest=True),
        )

    def _with_number(self, piece: _Piece) -> str:
        """The title of what continues a piece."""
        number = self._clauses.number(piece.block, piece.title.rpartition(_BETWEEN)[2])
        return _joined([piece.title, number], min(TITLE_CHARS_MAX, self._size // 4))

    def _cut(self, block: Block, room: int, *, is_rest: bool) -> int:
        """The length of a block's first part: up to a row of a table or a line of code, after a
        sentence of a text, else after white space."""
        part = self._text[block.start : block.start + room + 1]
        end = 0
        if block.kind is BlockKind.TABLE:
            end = part.rfind("\n", 0, room) + 1
            if end > (0 if is_rest else block.rows - block.start):
                return end
        if block.kind in (BlockKind.TEXT, BlockKind.HEADING):
            for place, _ in sentences(part):
                end = place
            if end > room // 4:
                return end
        return chunk(part, room, 0)[0][1]

    def _closed(self, packed: list[_Piece]) -> Iterator[Passage]:
        """The passage of some pieces; none of blank ones."""
        if not packed:
            return
        first, last = packed[0], packed[-1]
        text = self._text[first.block.start : last.block.end]
        if not trimmed(text):
            return
        self._count += 1
        links: dict[str, None] = {}
        for piece in packed:
            if piece.block.kind is not BlockKind.CODE:
                said = _QUOTED_CODE.sub(" ", self._text[piece.block.start : piece.block.end])
                links |= dict.fromkeys(_DOCUMENT_LINK.findall(said))
        yield Passage(
            number=self._count,
            title=first.title,
            content=self._before(first) + text.rstrip(),
            links=tuple(links),
            begins_in_code=first.is_rest and first.block.kind is BlockKind.CODE,
            day_us=last.section.day_us,
        )


def _are_headings(packed: list[_Piece]) -> bool:
    return all(piece.block.kind is BlockKind.HEADING for piece in packed)


def _width(piece: _Piece) -> int:
    return piece.block.end - piece.block.start
