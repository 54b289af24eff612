"""Texts as a cross-encoder with an adapter reads them, without JAX."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from judge_input import WORDS_BEFORE, Memory
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

    def words(text: str) -> Pieces:
        return [piece for word in text.split() for piece in read(word)[1:-1]]

    when = date.fromisoformat(day)
    return Memory(
        day=words(f"{when:%A} {when.day} {when:%B} {when.year} ·"),
        before=words(" ".join(before.split()[-WORDS_BEFORE:])),
        lead=words(f"{by}:") if by else [],
        text=words(text),
    )
