"""Values by key: a read at 10,000 items, and a put beside a commit of the same text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig

ITEMS = 10_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vestig.Vestig]:
    place: Path = tmp_path_factory.mktemp("items") / "store"
    with vestig.open(place) as opened:
        for first in range(0, ITEMS, 1_000):
            opened.items.put_many(
                [{"key": f"k{n}", "value": {"n": n}, "scope": f"user/{n % 50}"}
                 for n in range(first, first + 1_000)]
            )  # fmt: skip
        yield opened


def test_get(benchmark: Any, store: vestig.Vestig) -> None:
    numbers = itertools.cycle(range(0, ITEMS, 17))

    def get() -> object:
        number = next(numbers)
        return store.items.get(f"k{number}", scope=f"user/{number % 50}")

    assert benchmark(get) is not None


@pytest.mark.parametrize("kind", ["put", "commit"])
def test_store_a_text(benchmark: Any, store: vestig.Vestig, kind: str) -> None:
    numbers = itertools.count()

    def write() -> object:
        number = next(numbers)
        text = f"The {kind} of lamp {number * 7919} in the harbour is number {number}"
        if kind == "commit":
            return store.commit(text)
        return store.items.put(f"lamp{number}", {"n": number}, text=text)

    assert benchmark.pedantic(write, rounds=60, warmup_rounds=3) is not None
