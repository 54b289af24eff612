"""The version reader in the core: its triples, its definition at every level."""

from __future__ import annotations

import hashlib
import random
import struct

import oracle_forward
import pytest

from vestig import _core
from vestig.embedders import builtin
from vestig.rerankers.judge import MemoryText
from vestig.rerankers.version_reader import ADAPTER

# Of the logits of the 24 triples.
GOLDEN = "55e05623f4d24d39b86d0986bfc52dad0c58ed20b320e3892049318f790a6b4a"
CLS, SEP = 101, 102
EARLY, LATE, QUESTION = "tuesday 3 march 2026 ·", "friday 5 june 2026 ·", "Where does Ada live?"


@pytest.fixture(scope="module")
def pieces() -> _core.WordPieces:
    return builtin._vocabulary()


@pytest.fixture(scope="module")
def words() -> _core.PackedWeights:
    return builtin.packed()


@pytest.fixture(scope="module")
def weights() -> _core.CrossEncoderWeights:
    return ADAPTER.packed()


def memory(text: str, head: str = EARLY, before: str = "", lead: str = "ada:") -> MemoryText:
    return MemoryText(head, before, lead, text)


def unmarked(pieces: _core.WordPieces, text: str) -> list[int]:
    return pieces.ids(text)[1:-1]


def random_triples(count: int, seed: int) -> list[tuple[list[int], int, int]]:
    """Triples of random pieces of many lengths."""
    chance = random.Random(seed)

    def part(most: int) -> list[int]:
        return [chance.randrange(1000, 30_000) for _ in range(chance.randint(1, most))]

    found = []
    for _ in range(count):
        question, older, newer = part(30), part(56), part(56)
        ids = [CLS, *question, SEP, *older, SEP, *newer, SEP]
        found.append((ids, len(question) + 2, len(question) + len(older) + 3))
    return found


def digest(found: list[float]) -> str:
    return hashlib.sha256(struct.pack(f"<{len(found)}f", *found)).hexdigest()


def test_a_triple_is_the_question_and_both_memories_of_at_most_56_pieces(
    pieces: _core.WordPieces,
) -> None:
    pair = memory("I moved to Oslo.", before="and then?"), memory("tea " * 90, head=LATE)
    ((ids, older_from, newer_from),) = _core.testing.version_triples(pieces, QUESTION, [pair])
    assert ids[:older_from] == [CLS, *unmarked(pieces, QUESTION), SEP]
    older = [id for part in pair[0] for id in unmarked(pieces, part)]
    assert ids[older_from:newer_from] == [*older, SEP]
    label = unmarked(pieces, LATE) + unmarked(pieces, "ada:")
    tea = unmarked(pieces, "tea") * (56 - len(label))
    assert ids[newer_from:] == [*label, *tea, SEP]


@pytest.mark.slow
def test_logits_equal_the_definition_bit_for_bit(
    pieces: _core.WordPieces, words: _core.PackedWeights, weights: _core.CrossEncoderWeights
) -> None:
    lives, moved, empty = (
        memory("Ada lives in Rome."),
        memory("Off to Oslo!"),
        MemoryText(*[""] * 4),
    )
    pairs = [(lives, moved), (empty, lives)]
    triples = _core.testing.version_triples(pieces, QUESTION, pairs)
    found = _core.testing.version_logits_with(_core.testing.levels()[0], weights, words, triples, 1)
    assert found == [float(oracle_forward.compared(*one)[0]) for one in triples]
    assert weights.compare(words, pieces, QUESTION, pairs, threads=2) == found


@pytest.mark.slow
def test_every_level_gives_the_same_bits(
    words: _core.PackedWeights, weights: _core.CrossEncoderWeights
) -> None:
    triples = random_triples(24, seed=1)
    best = _core.testing.levels()[0]
    for level in _core.testing.levels():
        if level in ("portable", "neon"):  # plain code is slow
            few = _core.testing.version_logits_with(level, weights, words, triples[:2], 2)
            assert few == _core.testing.version_logits_with(best, weights, words, triples[:2], 1)
        else:
            found = _core.testing.version_logits_with(level, weights, words, triples, 2)
            assert digest(found) == GOLDEN, level
