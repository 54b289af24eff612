"""The axes of the codes: what they are learned from, and what is written."""

from __future__ import annotations

import numpy as np
import pytest

import learn_codes


def test_no_benchmark_and_no_labelled_text_is_read() -> None:
    files = [path.relative_to(learn_codes.ROOT).as_posix() for path in learn_codes.sources()]
    assert "README.md" in files
    assert "docs/ranking.md" in files
    assert not [name for name in files if "benchmark/" in name or "/data/" in name]
    assert {name.rpartition(".")[2] for name in files} == {"md", "py"}


def test_blocks_are_paragraphs_and_rows_without_fenced_code() -> None:
    text = "# Head\none\ntwo\n\n| a | b |\n| c |\n```\ncode\n```\nthree"
    assert list(learn_codes._blocks(text)) == ["# Head", "one two", "| a | b |", "| c |", "three"]


def test_axes_are_orthonormal_and_the_same_every_time() -> None:
    chance = np.random.default_rng(3)
    held = chance.normal(size=(900, 384)) * np.linspace(1, 3, 384)
    held /= np.linalg.norm(held, axis=1, keepdims=True)
    mean, axes = learn_codes.mean_and_axes(held)
    again = learn_codes.mean_and_axes(held)
    assert learn_codes.encoded(axes.T) == learn_codes.encoded(again[1].T)
    assert (mean == again[0]).all()
    assert learn_codes.check(axes) <= 1e-5
    assert np.abs(axes.T @ axes - np.eye(256)).max() < 1e-12
    # the rotation shares the variance among the coordinates
    spread = ((held - mean) @ axes).std(0)
    assert spread.max() / spread.min() < 2


def test_numbers_are_written_in_three_digits() -> None:
    assert learn_codes.encoded(np.array([[0.0, -0.5, 0.5 - 2**-18]])) == "gAAAAA///\n"
    with pytest.raises(SystemExit, match="within a half of 0"):
        learn_codes.encoded(np.array([[0.5]]))
