"""Codes of word pieces are those of the definition, on every instruction level."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import numpy as np
import oracle_late
import pytest

from vestig import _core
from vestig._core import testing
from vestig.embedders.checked import piece_axes
from vestig.ports import CODE_BYTES, PIECES_MAX, STATE_DIMENSIONS

FILES = ("piece_mean.txt", "piece_axes.txt")


def test_sizes_are_those_of_the_definition() -> None:
    sizes = (STATE_DIMENSIONS, CODE_BYTES, PIECES_MAX)
    assert sizes == (oracle_late.STATE, oracle_late.BITS // 8 + 2, oracle_late.PIECES_MAX)


def test_mean_and_axes_are_the_pinned_ones_and_orthonormal() -> None:
    hashes = [hashlib.sha256((oracle_late.DATA / name).read_bytes()).digest() for name in FILES]
    assert tuple(hashes) == _core.PieceAxes.SHA256
    mean, axes = (oracle_late.numbers(name).astype(float) for name in FILES)
    assert (mean.shape, axes.shape) == ((1, STATE_DIMENSIONS), (oracle_late.BITS, 384))
    assert np.abs(axes @ axes.T - np.eye(oracle_late.BITS)).max() <= 1e-5


@pytest.mark.parametrize("place", [0, 1])
def test_a_flipped_byte_is_refused(place: int, tmp_path: Path) -> None:
    paths = []
    for name in FILES:
        raw = bytearray((oracle_late.DATA / name).read_bytes())
        if name == FILES[place]:
            raw[500] ^= 1
        (tmp_path / name).write_bytes(raw)
        paths.append(str(tmp_path / name))
    with pytest.raises(ValueError, match="SHA-256"):
        _core.PieceAxes(paths[0], paths[1])
    with pytest.raises(OSError, match="No such file"):
        _core.PieceAxes(str(tmp_path / "none"), paths[1])


def test_codes_are_those_of_the_definition() -> None:
    chance = np.random.default_rng(5)
    mean, axes = (oracle_late.numbers(name) for name in FILES)
    for count in (1, 7, PIECES_MAX + 3):
        hidden = chance.normal(size=(count, STATE_DIMENSIONS)).astype(np.float32)
        along = oracle_late.coordinates(hidden[:PIECES_MAX], mean[0], axes)
        wanted = b"".join(oracle_late.code(y) for y in along)
        assert piece_axes().codes(hidden.tobytes()) == wanted
        ids = np.arange(count, dtype="<u4").tobytes()
        query = piece_axes().query(ids, hidden.tobytes())
        codes, steps = zip(*(oracle_late.query_code(y) for y in along), strict=True)
        assert query[0] == ids[: 4 * PIECES_MAX]
        assert query[1] == np.array(codes).tobytes()
        assert query[2] == struct.pack(f"<{len(steps)}d", *steps)


def test_the_definition_gives_the_values_worked_out_by_hand() -> None:
    memory = np.array([3, -1, 2, 0, -2, 1, -1, 4], np.float32)
    assert oracle_late.code(memory) == bytes.fromhex("a5ab34")
    asked = np.array([2, -2, 1, 1, -1, 0, 0, 5], np.float32)
    code, step = oracle_late.query_code(asked)
    assert code.tolist() == [3, -3, 1, 1, -1, 0, 0, 7]
    assert step == pytest.approx(0.119047619, abs=1e-9)
    signs = np.where(memory > 0, 1, -1)
    whole = int(code @ signs)
    assert whole == 14
    similar = (float(np.float16(0.291666667)) * step) * whole
    assert similar == pytest.approx(0.486246745, abs=1e-9)
    zero = np.zeros(8, np.float32)
    assert oracle_late.code(zero) == bytes(3)
    assert oracle_late.query_code(zero)[1] == 0.0


def test_idf_term_and_cube_of_values_worked_out_by_hand() -> None:
    z, idf = np.array([0.5, -0.2]), np.array([2.0, 1.0])
    assert idf @ z / idf.sum() == pytest.approx(0.266666667, abs=1e-9)
    assert idf @ np.maximum(0, z) ** 3 / idf.sum() == pytest.approx(0.083333333, abs=1e-9)


def packed(count: int, chance: np.random.Generator) -> tuple[bytes, bytes]:
    """Pieces of a memory, some with all signs equal, some without scale."""
    signs = chance.integers(0, 256, (count, 32), np.uint8)
    signs[::5], signs[::7] = 0, 255
    scales = chance.uniform(0.004, 0.0625, count).astype("<f2")
    scales[::6] = 0
    codes = b"".join(
        row.tobytes() + scale.tobytes() for row, scale in zip(signs, scales, strict=True)
    )
    return bytes(4 * count), codes


def test_every_level_gives_the_similarities_of_the_definition() -> None:
    """10⁵ pairs of pieces with the extremes of both sides, to the bit."""
    chance = np.random.default_rng(9)
    for count in (1, 15, 16, 17, 40, PIECES_MAX):
        memory = packed(count, chance)
        codes = chance.integers(-7, 8, (PIECES_MAX, 256), np.int8)
        codes[0], codes[1], codes[2] = 7, -7, 0
        steps = chance.uniform(0, 0.2, PIECES_MAX)
        steps[3] = 0
        query = (bytes(4 * PIECES_MAX), codes.tobytes(), steps.tobytes())
        similar = oracle_late.similarities(oracle_late.asked(*query), oracle_late.unpacked(*memory))
        wanted = (similar.max(1) + 0.0).tolist()
        for level in testing.levels():
            assert testing.most_similar(level, query, memory) == wanted, level


@pytest.mark.parametrize("values", [383, 385])
def test_hidden_states_of_another_width_are_refused(values: int) -> None:
    with pytest.raises(ValueError, match=f"384 numbers each, got {values} numbers"):
        piece_axes().codes(bytes(4 * values))
    with pytest.raises(ValueError, match="a hidden state for each of 2 word pieces, got 1"):
        piece_axes().query(bytes(8), bytes(4 * 384))
