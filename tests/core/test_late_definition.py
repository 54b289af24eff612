"""The embedder makes the token vectors that the definition makes."""

from __future__ import annotations

from array import array

import numpy as np
import oracle_late
import pytest

from vestig.embedders.token_vectors import quantised, signs
from vestig.ports import PIECE_DIMENSIONS, PIECES_MAX

HIDDEN = 384


def test_sizes_are_those_of_the_definition() -> None:
    assert (PIECE_DIMENSIONS, PIECES_MAX) == (oracle_late.DIMENSIONS, oracle_late.PIECES_MAX)


@pytest.mark.parametrize("rows", [1, 384, 1024])
def test_the_sign_matrix_is_the_one_of_the_definition(rows: int) -> None:
    assert np.array_equal(signs(rows), oracle_late.signs(rows))


def test_codes_and_scales_are_those_of_the_definition() -> None:
    chance = np.random.default_rng(5)
    for count in (1, 7, PIECES_MAX, PIECES_MAX + 40):
        hidden = chance.normal(size=(count, HIDDEN)).astype(np.float32)
        ids = chance.integers(0, 30_000, count).tolist()
        wanted = oracle_late.quantised(ids, hidden, oracle_late.signs(HIDDEN))
        made = quantised(ids, hidden)
        assert array("I", made.ids).tolist() == wanted.ids.tolist()
        assert made.codes == wanted.vectors.tobytes()
        assert made.scales == wanted.scales.astype("<f4").tobytes()
