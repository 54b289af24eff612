"""The numbers that walks draw."""

from __future__ import annotations

import math

import pytest

from vestig import _core
from vestig.calls.argument import SEED_MAX


@pytest.mark.parametrize(
    ("seed", "edge", "expected"),
    [
        (7, "edge_1", 0.256754842799),
        (7, "edge_2", 0.869195390843),
        (0, "edge_1", 0.545385399329),
    ],
)
def test_golden_numbers(seed: int, edge: str, expected: float) -> None:
    assert _core.testing.walk_uniform(seed, "mem_s", edge) == pytest.approx(expected, abs=5e-13)


def test_ten_thousand_seeds() -> None:
    drawn = [_core.testing.walk_uniform(seed, "mem_s", "edge_1") for seed in range(10_000)]
    assert sum(u < 0.3 for u in drawn) == 3052
    for p in (0.05, 0.3, 0.5, 0.8):
        taken = sum(u < p for u in drawn)
        assert abs(taken - 10_000 * p) <= 3 * math.sqrt(10_000 * p * (1 - p))


def test_the_number_decides() -> None:
    u = _core.testing.walk_uniform(7, "mem_s", "edge_1")
    assert 0.25 <= u < 0.26


def test_a_step_over_two_edges_and_the_ends_of_the_range() -> None:
    joined = _core.testing.walk_uniform(7, "mem_s", "edge_1|edge_2")
    assert joined not in (
        _core.testing.walk_uniform(7, "mem_s", "edge_1"),
        _core.testing.walk_uniform(7, "mem_s", "edge_2|edge_1"),
    )
    for seed in (0, SEED_MAX):
        assert 0 <= _core.testing.walk_uniform(seed, "mem_s", "edge_1") < 1
