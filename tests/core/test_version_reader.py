"""The version reader in the core: its triples, its definition at every level, its weights."""

from __future__ import annotations

import hashlib
import random
import struct
from pathlib import Path

import oracle_forward
import pytest

from vestig import _core
from vestig.embedders import builtin
from vestig.rerankers import judge, version_reader
from vestig.rerankers.judge import MemoryText

HASHES = tuple(bytes.fromhex(one) for one in (judge.WEIGHTS_SHA256, version_reader.CHANGE_SHA256))
CHANGE = Path(builtin.data_file("version_change.bin"))
# Of the packed file: a function of both files of the package and of the layout.
PACKED_SHA256 = "842ccf65d6d85f660edd7a7dbc1180582dd03366b1718aa37b416072c5fc90bd"
# Of the logits of the 24 triples.
GOLDEN = "2fa63eed0371770b4e4ae9f2cbfa88567f44cf778ac07d35c1c5b577e3a00580"
CLS, SEP = 101, 102
EARLY, LATE, QUESTION = "tuesday 3 march 2026 ·", "friday 5 june 2026 ·", "Where does Ada live?"


@pytest.fixture(scope="module")
def pieces() -> _core.WordPieces:
    return builtin._vocabulary()


@pytest.fixture(scope="module")
def words() -> _core.PackedWeights:
    return builtin.packed()


@pytest.fixture(scope="module")
def weights() -> _core.VersionWeights:
    return version_reader.packed()


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory, weights: _core.VersionWeights) -> Path:
    path = tmp_path_factory.mktemp("cache") / "versions.weights"
    assert weights.write(path)
    return path


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
    pieces: _core.WordPieces, words: _core.PackedWeights, weights: _core.VersionWeights
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
    assert weights.read(words, pieces, QUESTION, pairs, threads=2) == found


def test_every_level_gives_the_same_bits(
    words: _core.PackedWeights, weights: _core.VersionWeights
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


def test_the_packed_file_is_a_function_of_both_files(packed: Path) -> None:
    assert hashlib.sha256(packed.read_bytes()).hexdigest() == PACKED_SHA256


def test_a_mapped_file_reads_as_weights_in_memory(
    packed: Path, words: _core.PackedWeights, weights: _core.VersionWeights
) -> None:
    mapped = _core.VersionWeights.map(packed, *HASHES)
    (triple,) = random_triples(1, seed=2)
    level = _core.testing.levels()[0]
    found = [
        _core.testing.version_logits_with(level, one, words, [triple], 1)
        for one in (mapped, weights)
    ]
    assert found[0] == found[1]


def test_a_packed_file_of_other_weights_or_a_damaged_one_is_refused(
    packed: Path, tmp_path: Path
) -> None:
    with pytest.raises(_core.WeightsUnusable, match="packed from other weights"):
        _core.VersionWeights.map(packed, HASHES[0], bytes(32))
    whole = bytearray(packed.read_bytes())
    whole[-9] ^= 1
    damaged = tmp_path / "damaged"
    damaged.write_bytes(whole)
    with pytest.raises(_core.WeightsUnusable, match="checksum"):
        _core.VersionWeights.map(damaged, *HASHES)


def test_files_that_are_not_the_pinned_ones_are_named(tmp_path: Path) -> None:
    other = tmp_path / "change.bin"
    other.write_bytes(CHANGE.read_bytes()[:-4])
    with pytest.raises(ValueError, match="expected a change of the judge with SHA-256"):
        _core.VersionWeights.pack(judge.file(), other, *HASHES)
    own = hashlib.sha256(other.read_bytes()).digest()
    with pytest.raises(ValueError, match="ends early"):
        _core.VersionWeights.pack(judge.file(), other, HASHES[0], own)
    with pytest.raises(FileNotFoundError):
        _core.VersionWeights.pack(judge.file(), tmp_path / "nothing", *HASHES)
