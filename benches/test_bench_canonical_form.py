"""Deciding whether two texts state the same: time for a pair, and its growth with the text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import SMALL
from vestig.commit.canonical_form import canonical_form, differences, is_same_statement

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

# what a text is made of: words, marks that open a quotation, numbers, sentences, indented lines
UNITS = ("a ", "'a ", '"a ', "`a ", "5 ", "a. ", "a-b ", "2 March ", "Note that ", "—a", "a\n ")
SIZES = (1_000, 64_000) if SMALL else (1_000, 4_000, 16_000, 64_000)


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """The labelled pairs of the tests."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "tests" / "commit"))
    import statement_pairs

    tables = (statement_pairs.SAME, statement_pairs.DIFFERENT)
    yield [pair for table in tables for kind in table.values() for pair in kind]
    sys.modules.pop("statement_pairs", None)


def test_decide_pairs(benchmark: BenchmarkFixture, pairs: list[tuple[str, str]]) -> None:
    """All labelled pairs, each with both forms made anew."""

    def decide() -> int:
        return sum(
            is_same_statement(canonical_form(one), canonical_form(other)) for one, other in pairs
        )

    benchmark.extra_info["pairs"] = len(pairs)
    benchmark(decide)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("unit", UNITS)
def test_long_text(benchmark: BenchmarkFixture, unit: str, size: int) -> None:
    """One text of each size."""
    benchmark(canonical_form, unit * (size // len(unit)))


@pytest.mark.parametrize("size", SIZES)
def test_differences_of_long_texts(benchmark: BenchmarkFixture, size: int) -> None:
    """Two texts that differ in every second word."""
    words = size // 8
    old = canonical_form(" ".join(f"x{place} and" for place in range(words)))
    new = canonical_form(" ".join(f"y{place} and" for place in range(words)))
    benchmark(differences, old, new)
