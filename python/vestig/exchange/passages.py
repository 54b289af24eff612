"""Documents into passages: blocks packed in order, each passage with the path of its headings.

Invariant: the passages of a text are slices of it in order, with nothing but blank space between
them. What a passage has beside its slice is its title line and, where a table was cut, the header
row of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from vestig.exchange.blocks import Block, BlockKind, Markup, blocks
from vestig.exchange.chunks import chunk
from vestig.language.text_forms import sentences, trimmed
from vestig.lazy_pattern import lazy_pattern

PASSAGE_CHARS: Final = 800
TITLE_CHARS_MAX: Final = 200
_BETWEEN: Final = " > "
_LEFT_OUT: Final = "…"
# A document link, without that of an embedded picture; code between back quotes holds none.
_DOCUMENT_LINK: Final = lazy_pattern(
    r"(?<!!)\[\[[ \t]*(\w[^\[\]|#\n]{0,199}?)[ \t]*(?:#[^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]"
)
_QUOTED_CODE: Final = lazy_pattern(r"(`+)(?!`).+?(?<!`)\1(?!`)")


class Passage(NamedTuple):
    """A part of a document.

    Args:
        number: from 1.
        title: the document's title and the headings above its beginning, joined by " > "; "" where
            there are none.
        content: title line (where it does not begin with a heading), header row of a table that was
            cut, and its text.
        links: the names in `[[Name]]` and `[[Name|shown]]`, each once.
        begins_in_code: its text begins inside fenced code, after the fence.
    """

    number: int
    title: str
    content: str
    links: tuple[str, ...]
    begins_in_code: bool


class CutDocument(NamedTuple):
    """A document's title, "" where it has none, and its passages."""

    title: str
    passages: tuple[Passage, ...]


class _Piece(NamedTuple):
    """A block or what is left of one, and the title of a passage that begins with it."""

    block: Block
    title: str
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
    return CutDocument(title, tuple(_Cutter(text, size).passages(pieces)))


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
    joined = _joined([title], most)
    for block in found:
        if block.kind is BlockKind.HEADING:
            while path and path[-1].level >= block.level:
                path.pop()
            path.append(block)
            names = [one.name for one in path]
            if names[0].casefold() == title.casefold():
                names = names[1:]
            joined = _joined([title, *names], most)
        yield _Piece(block, joined)


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


class _Cutter:
    """Packs blocks into passages of at most `size` code points."""

    def __init__(self, text: str, size: int) -> None:
        self._text = text
        self._size = size
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
        """A heading begins a passage once half of the size is used."""
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
        return (
            _Piece(block._replace(end=end), piece.title, piece.is_rest),
            _Piece(block._replace(start=end, level=header), piece.title, is_rest=True),
        )

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
        )


def _are_headings(packed: list[_Piece]) -> bool:
    return all(piece.block.kind is BlockKind.HEADING for piece in packed)


def _width(piece: _Piece) -> int:
    return piece.block.end - piece.block.start
