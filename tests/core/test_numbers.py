"""Exact numbers: the core against the definitions of `oracle`."""

from __future__ import annotations

import array
import math

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tables import each
from vestig import _core

VALUES = st.floats(-1e6, 1e6, width=32) | st.floats(-1, 1, width=32)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    size = draw(st.integers(0, 200) | st.sampled_from([63, 64, 65, 128, 384]))
    vector = arrays(np.float32, size, elements=VALUES)
    return draw(vector), draw(vector)


def bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def test_golden_dot_product_has_the_same_bits_at_every_level() -> None:
    x = np.array([1 / (i + 1) for i in range(384)], np.float32)
    y = np.array([1 / (i % 31 + 1) for i in range(384)], np.float32)
    assert bits(_core.testing.dot(x, y)) == 0x3FFCF650
    assert [bits(_core.testing.dot_with(name, x, y)) for name in _core.testing.levels()] == [
        0x3FFCF650 for _ in _core.testing.levels()
    ]


def test_levels_end_with_portable() -> None:
    assert _core.testing.levels()[-1] == "portable"
    assert len(set(_core.testing.levels())) == len(_core.testing.levels())


@given(pairs())
def test_dot_equals_the_definition_bit_for_bit(pair: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = pair
    wanted = bits(oracle.dot(x, y)) if len(x) else 0
    assert bits(_core.testing.dot(x, y)) == wanted
    for name in _core.testing.levels():
        assert bits(_core.testing.dot_with(name, x, y)) == wanted


@given(pairs())
def test_dot_lies_within_its_error_bound(pair: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = pair
    exact = math.fsum(float(a) * float(b) for a, b in zip(x, y, strict=True))
    assert abs(_core.testing.dot(x, y) - exact) <= oracle.dot_error(x, y)


def test_vectors_come_as_any_float32_buffer() -> None:
    x = np.arange(5, dtype=np.float32)
    for same in (x.tobytes(), bytearray(x.tobytes()), memoryview(x), array.array("f", x)):
        assert _core.testing.dot(same, x) == 30.0


@each(
    ("x", "y", "fact"),
    [
        (np.zeros(3, np.float32), np.zeros(4, np.float32), "3 and 4"),
        (np.zeros(3), np.zeros(3), "item format"),
        (np.zeros(6, np.float32)[::2], np.zeros(3, np.float32), "gaps"),
        (b"abc", b"abc", "3 bytes"),
        (np.array([np.nan], np.float32), np.zeros(1, np.float32), "not finite"),
        (np.zeros(1, np.float32), np.array([-np.inf], np.float32), "y as"),
    ],
)
def test_unusable_vectors_are_refused(x: object, y: object, fact: str) -> None:
    with pytest.raises(ValueError, match=fact):
        _core.testing.dot(x, y)


def test_an_unknown_level_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"portable.*got 'sse9'"):
        _core.testing.dot_with("sse9", b"", b"")


@given(pairs())
def test_unit_equals_the_definition_bit_for_bit(pair: tuple[np.ndarray, np.ndarray]) -> None:
    v = pair[0]
    assert _core.unit(v) == oracle.unit(v).tobytes()


def test_unit_of_a_zero_vector_is_zero() -> None:
    assert _core.unit(bytes(4 * 7)) == bytes(4 * 7)


@given(st.floats(-700, 700))
def test_exp_is_within_one_ulp(x: float) -> None:
    assert _core.testing.exp(x) == pytest.approx(math.exp(x), rel=2.3e-16, abs=0)


@given(st.floats(1e-300, 1e300))
def test_ln_is_within_one_ulp(x: float) -> None:
    assert _core.ln(x) == pytest.approx(math.log(x), rel=2.3e-16, abs=1e-300)


@given(st.floats(1e-3, 1e3), st.floats(-20, 20))
def test_pow_is_within_one_ulp(x: float, y: float) -> None:
    assert _core.pow(x, y) == pytest.approx(math.pow(x, y), rel=2.3e-16, abs=0)


@given(st.floats(-30, 30))
def test_logistic(x: float) -> None:
    assert _core.logistic(x) == pytest.approx(1 / (1 + math.exp(-x)), rel=1e-15)
    assert _core.logistic(-1e4) == 0.0


def test_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert version("vestig") == _core.VERSION
