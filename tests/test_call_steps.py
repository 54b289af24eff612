"""The place of a call among others: many texts are embedded a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from vestig import turns
from vestig.turns import give_way, in_steps, in_turn, is_shared, shared_or


class Noted:
    """Notes what a call does with its place."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def give_way(self) -> None:
        self.seen.append("way")

    @contextmanager
    def aside(self) -> Iterator[None]:
        self.seen.append("aside")
        yield

    def tell(self, done: int, total: int | None) -> None:
        self.seen.append((done, total))


def test_a_call_without_a_place_asks_once() -> None:
    calls: list[int] = []

    def embed(texts: list[str]) -> list[str]:
        calls.append(len(texts))
        return texts

    texts = [str(number) for number in range(1_000)]
    assert in_steps(texts, embed) == texts
    assert calls == [1_000]
    assert (is_shared(), shared_or(1_000)) == (False, 1_000)
    give_way(1, 2)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.0, [4, 16, 64, 16]), (0.125, [4, 8, 8, 8, 8]), (2.0, [4, 1, 1, 1])],
)
def test_a_step_is_as_large_as_its_time_allows(
    seconds: float, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s, calls, noted = [0.0], list[int](), Noted()
    monkeypatch.setattr(turns, "STEP_S", 1.0)
    monkeypatch.setattr(turns.time, "perf_counter", lambda: now_s[0])

    def embed(texts: list[str]) -> list[str]:
        now_s[0] += seconds * len(texts)
        calls.append(len(texts))
        return texts

    texts = [str(number) for number in range(100)]
    with in_turn(noted):
        assert (is_shared(), shared_or(1_000)) == (True, 100)
        assert in_steps(texts, embed) == texts
    assert calls[: len(expected)] == expected
    assert noted.seen == ["way"] * (len(calls) - 1)


def test_progress_is_told_where_a_call_gives_way() -> None:
    noted = Noted()
    with in_turn(noted):
        give_way()
        give_way(3, 7)
        with turns.aside():
            pass
    assert noted.seen == ["way", (3, 7), "way", "aside"]
