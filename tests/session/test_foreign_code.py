"""An embedder or a clock of the caller that raises, or returns something else than it should."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.testing import HashingEmbedder, TokenHashingEmbedder

TEXT = "The lift stops at floor two."


def raises(error: BaseException) -> Callable[..., Any]:
    def call(*_: Any) -> Any:
        raise error

    return call


class NoOffset(tzinfo):
    """A zone whose offset cannot be computed."""

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        raise RuntimeError("no table of zones")


class Answering(HashingEmbedder):
    """Answers as it is told; None = as a sound embedder does."""

    def __init__(self) -> None:
        super().__init__(8)
        self.answer: Callable[[Sequence[str]], Any] | None = None

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        made: Any = super().embed(texts) if self.answer is None else self.answer(texts)
        return made


class AnsweringTokens(TokenHashingEmbedder):
    """As `Answering`, for the vectors of word pieces."""

    def __init__(self) -> None:
        super().__init__(8)
        self.answer: Callable[[Sequence[str]], Any] | None = None

    def embed_tokens(self, texts: Sequence[str]) -> Any:
        return super().embed_tokens(texts) if self.answer is None else self.answer(texts)


ANSWERS: list[tuple[str, Callable[[Sequence[str]], Any]]] = [
    ("it raised OSError", raises(OSError("the disk is on fire"))),
    ("it raised KeyError", raises(KeyError("x"))),
    ("expected a list of 1 vectors, got NoneType", lambda _: None),
    ("expected a list of 1 vectors, got int", lambda _: 5),
    ("expected a list of 1 vectors, got generator", lambda texts: (b"" for _ in texts)),
    ("vector 0 of the call is NoneType", lambda texts: [None for _ in texts]),
    ("vector 0 of the call is list", lambda texts: [[0.0] * 8 for _ in texts]),
    ("vector 0 of the call is str", lambda texts: ["x" for _ in texts]),
]


@pytest.mark.parametrize(("message", "answer"), ANSWERS, ids=[name for name, _ in ANSWERS])
@pytest.mark.parametrize("make", [Answering, AnsweringTokens])
def test_an_embedder_of_nonsense_is_a_provider_error(
    opener: Opener, make: Callable[[], Any], message: str, answer: Callable[[Any], Any]
) -> None:
    embedder = make()
    store = opener(embedder=embedder)
    store.commit(TEXT, author="Ann", session_id="s", sequence=1)
    embedder.answer = answer
    with pytest.raises(vestig.ProviderError, match=message) as caught:
        store.commit("Bread is sold out.", author="Ann", session_id="s", sequence=2)
    assert "fire" not in str(caught.value), "a foreign message may hold stored text"
    assert store.count() == 1
    found = store.recall("lift")
    assert [hit.content for hit in found] == [TEXT]
    assert [entry.code for entry in found.degraded] == ["partial_backend"]


def interrupted(*_: Any) -> Any:
    """Python 3.11 makes a RuntimeError of an interrupt that comes while a member gets its name."""
    raise RuntimeError("a name was given") from KeyboardInterrupt()


def test_an_interrupt_inside_of_foreign_code_is_no_fault_of_it(opener: Opener) -> None:
    embedder = Answering()
    store = opener(embedder=embedder)
    store.commit(TEXT)
    embedder.answer = interrupted
    for call in (lambda: store.commit("Bread is sold out."), lambda: store.recall("lift")):
        with pytest.raises(KeyboardInterrupt):
            call()
    embedder.answer = None
    with pytest.raises(KeyboardInterrupt):
        store.commit("Bread is sold out.", on_commit=interrupted)
    assert store.count() == 2, "a hook is called when the memory is stored"


CLOCKS: list[tuple[str, Callable[[], Any]]] = [
    ("OSError", raises(OSError("no clock"))),
    ("None", lambda: None),
    ("int", lambda: 5),
    ("str", lambda: "2026-01-01"),
    ("date", lambda: date(2026, 1, 1)),
    ("RuntimeError", lambda: datetime(2026, 1, 1, tzinfo=NoOffset())),
]


@pytest.mark.parametrize(("got", "answer"), CLOCKS, ids=[name for name, _ in CLOCKS])
def test_a_clock_of_nonsense_is_named(opener: Opener, got: str, answer: Callable[[], Any]) -> None:
    times: list[Callable[[], Any]] = [lambda: datetime(2026, 3, 1, tzinfo=UTC)]

    def clock() -> Any:
        return times[-1]()

    store = opener(clock=clock)
    store.commit(TEXT)
    times.append(answer)
    for call in (lambda: store.commit("Bread is sold out."), lambda: store.recall("lift")):
        with pytest.raises(vestig.ValidationError, match=f"^clock: .*{got}"):
            call()
    times.pop()
    assert store.count() == 1
