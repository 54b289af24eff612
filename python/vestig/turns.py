"""The place of a call among others: a server that runs many calls in few places sets it, and work
that takes long offers it at each step to those that wait.

Invariant: it is offered only where the call holds no lock and reads no state of the store.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Final, Protocol, TypeVar

_T = TypeVar("_T")
# A step takes about so long; its first guess is so many texts.
STEP_S: Final = 0.15
_FIRST_TEXTS: Final = 4
# Items of a transaction that takes less than half a second.
_SHARED_ITEMS: Final = 100
# A step is at most so many times as large as the one before it.
_GROWTH_MAX: Final = 4


class Turn(Protocol):
    """The place of one call."""

    def give_way(self) -> None:
        """Lets others have the place whose turn it is, and returns when it is this call's again."""

    def aside(self) -> AbstractContextManager[None]:
        """Within it the call waits for something outside the process, and others may have its
        place."""

    def tell(self, done: int, total: int | None) -> None:
        """Notes how far the call has come."""


_turn: ContextVar[Turn | None] = ContextVar("vestig_turn", default=None)


@contextmanager
def in_turn(turn: Turn) -> Iterator[None]:
    """Within it the calls of this thread have this place."""
    token = _turn.set(turn)
    try:
        yield
    finally:
        _turn.reset(token)


def is_shared() -> bool:
    """Return whether this thread's call has a place that others wait for."""
    return _turn.get() is not None


def shared_or(whole: int) -> int:
    """Return how many items one transaction takes: so many, fewer where others wait for the place
    of this call."""
    return min(whole, _SHARED_ITEMS) if is_shared() else whole


def give_way(done: int | None = None, total: int | None = None) -> None:
    """Offers the place of this thread's call, if it has one. `done`: how far it has come."""
    turn = _turn.get()
    if turn is None:
        return
    if done is not None:
        turn.tell(done, total)
    turn.give_way()


def aside() -> AbstractContextManager[None]:
    """See `Turn.aside`; of a call without a place nothing."""
    turn = _turn.get()
    return nullcontext() if turn is None else turn.aside()


def in_steps(texts: Sequence[str], embed: Callable[[list[str]], list[_T]]) -> list[_T]:
    """Return what `embed` gives for all texts. A call with a place asks for as many at once as
    take `STEP_S`, and gives way between two of these."""
    if not is_shared():
        return embed(list(texts))
    made: list[_T] = []
    size = _FIRST_TEXTS
    while len(made) < len(texts):
        if made:
            give_way()
        part = list(texts[len(made) : len(made) + size])
        began_s = time.perf_counter()
        made += embed(part)
        enough = len(part) * STEP_S / max(time.perf_counter() - began_s, 1e-6)
        size = max(1, min(int(enough), _GROWTH_MAX * size))
    return made
