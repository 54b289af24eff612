"""Long texts into chunks at blank lines, lines or words."""

from __future__ import annotations

from typing import Final

from vestig.errors import ValidationError

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
