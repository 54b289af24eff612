"""Word pieces of the core against the package `tokenizers`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from vestig import _core
from vestig.embedders.builtin import VOCABULARY_SHA256
from word_piece_reference import (
    SURROGATES,
    VOCABULARY,
    hostile_texts,
    reference,
    word_pieces,
)


def differing(texts: Iterable[str]) -> list[str]:
    pieces, wanted = word_pieces(), reference()
    found = []
    for text in texts:
        encoded = wanted.encode(text)
        if (encoded.ids, bool(encoded.overflowing)) != (pieces.ids(text), pieces.truncated(text)):
            found.append(text)
    return found


def of_characters(numbers: Iterable[int]) -> Iterable[str]:
    """Each character alone, in a word, and behind one; many a text, or few would fit."""
    row: list[str] = []
    for number in numbers:
        if number not in SURROGATES:
            row.append(f"a{chr(number)}b {chr(number)}")
        if len(row) == 24:
            yield " ".join(row)
            row = []
    yield " ".join(row)


@pytest.mark.slow
def test_ids_of_hostile_texts_are_those_of_the_reference() -> None:
    assert differing(hostile_texts(5_000, seed=15)) == []


def test_ids_of_characters_are_those_of_the_reference() -> None:
    assert differing(of_characters(range(0x3400))) == []
    assert differing(of_characters(range(0x3400, 0x11_0000, 61))) == []


@pytest.mark.torture
def test_ids_of_every_character_are_those_of_the_reference() -> None:
    assert differing(of_characters(range(0x11_0000))) == []
    assert differing(hostile_texts(40_000, seed=16)) == []


def labelled(folder: Path) -> Iterable[str]:
    for path in sorted(folder.glob("*/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from (json.loads(line)["text"] for line in lines)


def test_ids_of_labelled_texts_are_those_of_the_reference(labelled_data: Path) -> None:
    texts = list(labelled(labelled_data))
    assert len(texts) > 1_000
    assert differing(texts[::17]) == []


@pytest.mark.torture
def test_ids_of_all_labelled_texts_are_those_of_the_reference(labelled_data: Path) -> None:
    assert differing(labelled(labelled_data)) == []


def test_the_comparison_sees_a_difference() -> None:
    """Lone surrogates aside, the reference is asked for the same text."""
    wanted = reference()
    assert wanted.encode("The café").ids == word_pieces().ids("the CAFE")
    assert wanted.encode("tea").ids != word_pieces().ids("tee")


def test_pieces_are_counted_however_many_there_are() -> None:
    pieces = word_pieces()
    assert pieces.count("") == 0
    assert pieces.count("tea " * 9_000) == 9_000
    assert pieces.count("q7" * 150) == 3 * pieces.count("q7" * 50) > 30
    for text in hostile_texts(300, seed=17):
        if not pieces.truncated(text) and max(map(len, text.split()), default=0) < 30:
            assert pieces.count(text) == len(pieces.ids(text)) - 2


def test_a_file_that_is_no_pinned_vocabulary_is_refused(tmp_path: Path) -> None:
    pinned = bytes.fromhex(VOCABULARY_SHA256)
    with pytest.raises(FileNotFoundError):
        _core.WordPieces(tmp_path / "none", pinned)
    changed = tmp_path / "changed"
    changed.write_bytes(VOCABULARY.read_bytes() + b"\n")
    with pytest.raises(ValueError, match=f"a vocabulary with SHA-256 {VOCABULARY_SHA256}, got"):
        _core.WordPieces(changed, pinned)
