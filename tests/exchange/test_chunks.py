"""The character chunker."""

from __future__ import annotations

import random

import pytest

from tables import each
from vestig.errors import ValidationError
from vestig.exchange.passages import chunk


def test_a_blank_line_too_early_is_no_break() -> None:
    text = "a" * 300 + "\n\n" + "b" * 30_000
    chunks = chunk(text)
    assert len(chunks) == 9
    assert chunks[0] == (0, 4000)
    assert chunks[1] == (3600, 4000)
    assert chunks[-1] == (28_800, 1502)


@pytest.mark.parametrize(
    ("length", "expected"),
    [(0, []), (1, [(0, 1)]), (4000, [(0, 4000)]), (4001, [(0, 4000), (3600, 401)])],
)
def test_lengths(length: int, expected: list[tuple[int, int]]) -> None:
    assert chunk("x" * length) == expected


def test_overlap_zero_is_honoured() -> None:
    assert chunk("x" * 10, 4, 0) == [(0, 4), (4, 4), (8, 2)]


@each(
    ("size", "overlap", "field"),
    [
        (0, 0, "chunk_size"),
        (-1, 0, "chunk_size"),
        (True, 0, "chunk_size"),
        (1.5, 0, "chunk_size"),
        (10, 10, "chunk_overlap"),
        (10, 11, "chunk_overlap"),
        (10, -1, "chunk_overlap"),
        (10, False, "chunk_overlap"),
    ],
)
def test_out_of_range(size: int, overlap: int, field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        chunk("text", size, overlap)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("aaaaaa\n\nbb c\nd e fffff", "aaaaaa\n\n"),  # a blank line before a later newline
        ("aaaaaa\n \t\r\nbb c ffffff", "aaaaaa\n \t\r\n"),
        ("aaaaaa\nbb ccccccccccc", "aaaaaa\n"),  # a newline before a later space
        ("aaaaaa bb cccccccccccc", "aaaaaa bb "),
        ("aaaaaabbccccccccccccc", "aaaaaabbcccc"),
    ],
)
def test_breaks_in_order_of_preference(text: str, first: str) -> None:
    start, length = chunk(text, 12, 0)[0]
    assert (start, text[:length]) == (0, first)


def test_random_texts_are_covered_within_the_bounds() -> None:
    rng = random.Random(5)
    for _ in range(3000):
        alphabet = rng.choice(["ab ", "a \n", "\n", "x", "word \n\n\t", "😀é \r\n"])
        text = "".join(rng.choices(alphabet, k=rng.randrange(0, 400)))
        size = rng.randrange(1, 60)
        overlap = rng.randrange(0, size)
        chunks = chunk(text, size, overlap)
        step_min = max(1, -(-(size - overlap) // 2))
        assert len(chunks) <= 1 + -(-max(0, len(text) - size) // step_min)
        covered = 0
        for start, length in chunks:
            assert 1 <= length <= size
            assert start <= covered
            covered = start + length
        assert covered == len(text)
        if overlap == 0:
            assert "".join(text[s : s + n] for s, n in chunks) == text
