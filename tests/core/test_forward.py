"""The forward pass of the built-in embedder: its definition, to the bit, at every level."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

import numpy as np
import oracle_forward
import pytest
from numpy.typing import NDArray

import reference_model
from reference_model import packed_weights
from vestig import _core

BEST = _core.testing.levels()[0]
# Of the hidden states of the 200 texts, and of the first 10 of them.
GOLDEN = "311052553446990eed410a8736ea3f547333d568b72e6bae9cf4c37330f35c58"
GOLDEN_FIRST = "df037dc75b0518dd18a38b8763ea0181b69a9926b96ef0f09d68c8a014407836"
FIRST = 10


@pytest.fixture(scope="module")
def weights() -> _core.PackedWeights:
    return packed_weights()


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


@pytest.mark.parametrize("pieces", [1, 2, 13, 17, 70])
def test_states_equal_the_definition_bit_for_bit(weights: _core.PackedWeights, pieces: int) -> None:
    chance = random.Random(pieces)
    ids = [chance.randrange(30_522) for _ in range(pieces)]
    (found,) = states(weights, [ids])
    assert found == oracle_forward.hidden_states(ids).astype("<f4").tobytes()


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


def cosines(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    result: NDArray[np.float64] = (a * b).sum(1) / lengths
    return result


def test_300_texts_are_close_to_the_float32_reference(weights: _core.PackedWeights) -> None:
    session = reference_model.session()
    ids = texts(300, seed=3)
    least_piece = least_text = 1.0
    for one, raw in zip(ids, states(weights, ids, threads=2), strict=True):
        tokens = np.array([one], np.int64)
        feed = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        wanted = session.run(None, feed)[0][0].astype(np.float64)
        found = np.frombuffer(raw, "<f4").reshape(-1, 384).astype(np.float64)
        least_piece = min(least_piece, float(cosines(found, wanted).min()))
        means = found.mean(0, keepdims=True), wanted.mean(0, keepdims=True)
        least_text = min(least_text, float(cosines(*means)[0]))
    assert least_text >= 0.99999
    assert least_piece >= 0.9999
