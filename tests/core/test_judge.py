"""The judge in the core: its pairs, its definition to the bit at every level."""

from __future__ import annotations

import hashlib
import random
import struct

import oracle_forward
import pytest

from vestig import _core
from vestig.embedders import builtin
from vestig.rerankers.judge import QUESTIONS, MemoryText

# Of the logits of the 24 pairs.
GOLDEN = "5326687c036549fd7731434d26e041f37e5508adec41f1d7fa9d78d9a7fc61b2"
CLS, SEP = 101, 102
DAY, QUESTION = "tuesday 3 march 2026 ·", "Where does Ada live?"


@pytest.fixture(scope="module")
def pieces() -> _core.WordPieces:
    return builtin._vocabulary()


@pytest.fixture(scope="module")
def words() -> _core.PackedWeights:
    return builtin.packed()


@pytest.fixture(scope="module")
def weights() -> _core.CrossEncoderWeights:
    return QUESTIONS.packed()


def memory(text: str, *, head: str = DAY, before: str = "", lead: str = "ada:") -> MemoryText:
    return MemoryText(head, before, lead, text)


def pair(pieces: _core.WordPieces, question: str, given: MemoryText) -> tuple[list[int], list[int]]:
    """The pieces of the question and of the memory, without marks."""
    ((ids, memory_from),) = _core.testing.judge_pairs(pieces, question, [given])
    assert (ids[0], ids[memory_from - 1], ids[-1]) == (CLS, SEP, SEP)
    return ids[1 : memory_from - 1], ids[memory_from:-1]


def unmarked(pieces: _core.WordPieces, text: str) -> list[int]:
    return pieces.ids(text)[1:-1]


def random_pairs(count: int, seed: int) -> list[tuple[list[int], int]]:
    """Pairs of random pieces of many lengths."""
    chance = random.Random(seed)

    def part(most: int) -> list[int]:
        return [chance.randrange(1000, 30_000) for _ in range(chance.randint(1, most))]

    found = []
    for _ in range(count):
        question, rest = part(30), part(71)
        found.append(([CLS, *question, SEP, *rest, SEP], len(question) + 2))
    return found


def digest(found: list[tuple[float, float]]) -> str:
    return hashlib.sha256(b"".join(struct.pack("<2f", *both) for both in found)).hexdigest()


def test_a_pair_is_the_question_and_head_before_lead_and_text(pieces: _core.WordPieces) -> None:
    given = memory("I moved to Oslo.", before="so where did you end up?")
    question, found = pair(pieces, QUESTION, given)
    assert question == unmarked(pieces, QUESTION)
    assert found == [id for part in given for id in unmarked(pieces, part)]


def test_of_a_long_question_the_first_10_and_the_last_20_pieces_are_read(
    pieces: _core.WordPieces,
) -> None:
    tea = unmarked(pieces, "tea")
    for count in (30, 31, 400):
        text = " ".join(["cat"] * 10 + ["tea"] * (count - 10))
        question, _ = pair(pieces, text, memory("No."))
        assert question == unmarked(pieces, "cat") * 10 + tea * 20
    numbers = [str(number) for number in range(50)]
    question, _ = pair(pieces, " ".join(numbers), memory("No."))
    assert question == unmarked(pieces, " ".join(numbers[:10] + numbers[-20:]))


def test_a_long_text_is_read_where_it_holds_most_of_the_question(pieces: _core.WordPieces) -> None:
    lead = unmarked(pieces, DAY) + unmarked(pieces, "ada:")
    room = 71 - len(lead)
    live, tea = unmarked(pieces, "live")[0], unmarked(pieces, "tea")[0]
    for places, start in (([], 0), ([5], 0), ([room + 3], 8), ([200, 201, 202], 203 - room)):
        ids = [tea] * 300
        for place in places:
            ids[place] = live
        text = " ".join("live" if id == live else "tea" for id in ids)
        first = -(-start // 8) * 8
        _, found = pair(pieces, QUESTION, memory(text, before="not read"))
        assert found == lead + ids[first : first + room]
    # of windows that hold as much the first
    ids = [tea] * 40 + [live] + [tea] * 259
    _, found = pair(pieces, QUESTION, memory(" ".join("live" if i == live else "tea" for i in ids)))
    assert found == lead + ids[:room]


def test_the_turn_before_fills_what_is_left_where_that_is_more_than_4_places(
    pieces: _core.WordPieces,
) -> None:
    lead = len(unmarked(pieces, DAY) + unmarked(pieces, "ada:"))
    before = " ".join(str(number) for number in range(20))
    for free in (0, 4, 5, 9, 19, 20, 30):
        text = " ".join(["tea"] * (71 - lead - free))
        _, found = pair(pieces, QUESTION, memory(text, before=before))
        read = unmarked(pieces, before)[-free:] if free > 4 else []
        assert found == (
            unmarked(pieces, DAY) + read + unmarked(pieces, "ada:") + unmarked(pieces, text)
        )


def test_head_and_lead_leave_room_for_40_pieces_of_a_text(pieces: _core.WordPieces) -> None:
    text = " ".join(["tea"] * 90)
    for head, lead, of_head, of_lead in (
        ("cat " * 99, "dog " * 99, 15, 16),
        ("", "dog " * 99, 0, 31),
    ):
        _, found = pair(pieces, QUESTION, memory(text, head=head, lead=lead))
        parts = ("cat ", of_head), ("dog ", of_lead), ("tea ", 71 - of_head - of_lead)
        assert found == [id for word, count in parts for id in unmarked(pieces, word * count)]


@pytest.mark.slow
def test_judgements_equal_the_definition_bit_for_bit(
    pieces: _core.WordPieces, words: _core.PackedWeights, weights: _core.CrossEncoderWeights
) -> None:
    given = [memory("I moved to Oslo in May.", before="and then?"), MemoryText("", "", "", "")]
    pairs = _core.testing.judge_pairs(pieces, QUESTION, given)
    pairs += _core.testing.judge_pairs(pieces, "", given)
    found = _core.testing.judge_with(_core.testing.levels()[0], weights, words, pairs, 1)
    for one, (ids, memory_from) in zip(found, pairs, strict=True):
        assert one == tuple(oracle_forward.judged(ids, memory_from).tolist())
    assert weights.judge(words, pieces, QUESTION, given, threads=1) == found[:2]


def test_every_level_gives_the_same_bits(
    words: _core.PackedWeights, weights: _core.CrossEncoderWeights
) -> None:
    pairs = random_pairs(24, seed=1)
    for level in _core.testing.levels():
        if level in ("portable", "neon"):  # plain code is slow
            few = _core.testing.judge_with(level, weights, words, pairs[:2], 2)
            assert few == _core.testing.judge_with(
                _core.testing.levels()[0], weights, words, pairs[:2], 1
            )
        else:
            assert digest(_core.testing.judge_with(level, weights, words, pairs, 2)) == GOLDEN, (
                level
            )


def test_neither_threads_nor_other_pairs_change_a_bit(
    words: _core.PackedWeights, weights: _core.CrossEncoderWeights
) -> None:
    level, pairs = _core.testing.levels()[0], random_pairs(12, seed=2)
    alone = [_core.testing.judge_with(level, weights, words, [one], 1)[0] for one in pairs]
    for threads in (1, 2, 8):
        assert _core.testing.judge_with(level, weights, words, pairs, threads) == alone
    backwards = _core.testing.judge_with(level, weights, words, pairs[::-1], 2)
    assert backwards[::-1] == alone
    assert _core.testing.judge_with(level, weights, words, [], 2) == []


def test_what_is_no_pair_is_refused(
    pieces: _core.WordPieces, words: _core.PackedWeights, weights: _core.CrossEncoderWeights
) -> None:
    for ids in ([], [7] * 257, [30_522]):
        with pytest.raises(ValueError, match=r"expected .*got"):
            _core.testing.judge_with(_core.testing.levels()[0], weights, words, [(ids, 0)], 1)
    with pytest.raises(ValueError, match="at least one thread"):
        weights.judge(words, pieces, QUESTION, [memory("No.")], threads=0)
