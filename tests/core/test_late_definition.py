"""The embedder makes the token vectors that the definition makes."""

from __future__ import annotations

import numpy as np
import oracle_late
import pytest

from vestig._core import testing
from vestig.ports import PIECE_DIMENSIONS, PIECES_MAX

HIDDEN = 384


def test_sizes_are_those_of_the_definition() -> None:
    assert (PIECE_DIMENSIONS, PIECES_MAX) == (oracle_late.DIMENSIONS, oracle_late.PIECES_MAX)


def test_codes_and_scales_are_those_of_the_definition() -> None:
    chance = np.random.default_rng(5)
    for count in (1, 7, PIECES_MAX, PIECES_MAX + 40):
        hidden = chance.normal(size=(count, HIDDEN)).astype(np.float32)
        wanted = oracle_late.quantised(range(count), hidden, oracle_late.signs(HIDDEN))
        assert testing.token_codes(hidden) == (
            wanted.vectors.tobytes(),
            wanted.scales.astype("<f4").tobytes(),
        )


def test_a_row_of_zeros_has_codes_and_scale_zero() -> None:
    hidden = np.zeros((2, HIDDEN), np.float32)
    hidden[1, 5] = 2.0
    codes, scales = testing.token_codes(hidden)
    assert codes[:64] == bytes(64)
    assert np.frombuffer(scales, "<f4")[0] == 0.0
    assert set(np.frombuffer(codes, np.int8)[64:].tolist()) == {127, -127}


def test_hidden_states_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match="rows of 384 values, got 383 values"):
        testing.token_codes(np.zeros(383, np.float32))
