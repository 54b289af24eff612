"""The forward pass of the built-in embedder: its definition, to the bit, at every level."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

import oracle_forward
import pytest

from vestig import _core
from vestig.embedders import builtin

BEST = _core.testing.levels()[0]
# Of the hidden states of the 200 texts, and of the first 10 of them.
GOLDEN = "9cda1f07662b402d616d335d5059a81c24fbeac192db13185d550c500cd9291d"
GOLDEN_FIRST = "57d73a654c5768fadcfc5431148f0c2d26b56d83f139dc704b54988828ab3f48"
FIRST = 10


@pytest.fixture(scope="module")
def weights() -> _core.PackedWeights:
    return builtin.packed()


def texts(count: int, seed: int, longest: int = 40) -> list[list[int]]:
    """Ids of texts of random words between the marks of their ends; most of them are short."""
    chance = random.Random(seed)
    lengths = [min(longest, 3 + int(chance.expovariate(0.1))) for _ in range(count)]
    return [
        [101, *(chance.randrange(1000, 30_000) for _ in range(length - 2)), 102]
        for length in lengths
    ]


def states(
    weights: _core.PackedWeights, ids: Sequence[Sequence[int]], level: str = BEST, threads: int = 1
) -> list[bytes]:
    return _core.testing.hidden_states(level, weights, ids, threads)


def digest(found: list[bytes]) -> str:
    return hashlib.sha256(b"".join(found)).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [1, 2, 13, 17, 70])
def test_states_equal_the_definition_bit_for_bit(weights: _core.PackedWeights, pieces: int) -> None:
    chance = random.Random(pieces)
    ids = [chance.randrange(30_522) for _ in range(pieces)]
    (found,) = states(weights, [ids])
    assert found == oracle_forward.hidden_states(ids).astype("<f4").tobytes()


@pytest.mark.slow
def test_200_texts_have_the_golden_states_at_every_level(weights: _core.PackedWeights) -> None:
    ids = texts(200, seed=1)
    for level in _core.testing.levels():
        if level in ("portable", "neon"):
            # Plain code is slow: it takes as long for the first texts as the others for all.
            assert digest(states(weights, ids[:FIRST], level, 2)) == GOLDEN_FIRST, level
        else:
            found = states(weights, ids, level, 2)
            assert digest(found) == GOLDEN, level
            assert digest(found[:FIRST]) == GOLDEN_FIRST, level


def test_batches_and_threads_change_no_bit(weights: _core.PackedWeights) -> None:
    ids = [*texts(20, seed=2), [101] * 256, [102]]
    alone = [states(weights, [one])[0] for one in ids]
    for threads in (1, 2, 8):
        assert states(weights, ids, threads=threads) == alone


@pytest.mark.parametrize("ids", [[], [7] * 257, [30_522], [2**32 - 1]])
def test_what_is_no_text_is_refused(weights: _core.PackedWeights, ids: list[int]) -> None:
    with pytest.raises(ValueError, match=r"expected .*got"):
        states(weights, [[101, 102], ids])
