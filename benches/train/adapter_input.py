"""Texts as a cross-encoder with an adapter reads them, without JAX."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from judge_input import Memory, memory_of
from worlds import Pieces, Read


class Text(NamedTuple):
    """Word pieces with their marks, where token type 1 begins, and which pieces the two parts
    are."""

    pieces: Pieces
    types_from: int
    first: slice
    second: slice


def written_memory(read: Read, day: str, by: str, text: str, before: str = "") -> Memory:
    """A memory of a file that was written for a training.

    Args:
        day: as `2026-03-03`.
        by: who said it, or the title above it; empty for none.
        before: the turn before it.
    """

    def pieces(words: Iterable[str]) -> Pieces:
        return [piece for word in words for piece in read(word)[1:-1]]

    return memory_of(pieces, date.fromisoformat(day), by, text, before)
