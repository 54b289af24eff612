"""The steps that every change of an open store takes around its transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from vestig.session.session import Session
from vestig.times import DAY_US, duration_text
from vestig.types import Degradation

if TYPE_CHECKING:
    from vestig.store.records.writes import WriteTransaction

# Writes what a call will return into the call's own transaction.
AnswerKeeper = Callable[["WriteTransaction", object], None]
_keeper: ContextVar[AnswerKeeper | None] = ContextVar("vestig_answer_keeper", default=None)


class RollBack(Exception):
    """Leaves a transaction without writing; caught outside of it."""


# Clocks of one machine's processes may differ by so much, and a writer waits for the lock.
CLOCKS_APART_US: Final = 30 * 60 * 1_000_000
# A read says so where new times stand still for longer.
LEDGER_AHEAD_US: Final = DAY_US
_HINT: Final = (
    "times go on at the clock's in a new store: `vestig export FILE`, then `vestig import FILE`"
    " there"
)


def clock_notice(behind_us: int) -> list[Degradation]:
    """The degradation of a transaction that kept the last recorded time, for times never go back.

    Args:
        behind_us: how far the clock lies behind the ledger; up to half an hour is not reported.
    """
    if behind_us <= CLOCKS_APART_US:
        return []
    detail = (
        f"the clock is {duration_text(behind_us)} behind the ledger: the last recorded time was"
        f" used; {_HINT}"
    )
    return [Degradation(code="clock_stepped_back", detail=detail)]


def ahead_notice(recorded_us: int, now_us: int) -> list[Degradation]:
    """The degradation of a read from a ledger whose last time lies more than a day ahead."""
    ahead_us = recorded_us - now_us
    if ahead_us <= LEDGER_AHEAD_US:
        return []
    detail = f"the ledger lies {duration_text(ahead_us)} ahead of the clock; {_HINT}"
    return [Degradation(code="clock_stepped_back", detail=detail)]


def catch_up(session: Session, degraded: list[Degradation]) -> tuple[Degradation, ...]:
    """After a durable change: the projection follows; all that degraded is counted and given."""
    degraded.extend(session.keeper.after_commit())
    session.metrics.degraded(degraded)
    return tuple(degraded)


@contextmanager
def answers_kept_by(keep: AnswerKeeper) -> Iterator[None]:
    """Within it the first change of this thread hands `keep` its transaction, before it is
    durable, and the result as it will be returned: what is written there exists exactly when the
    change does."""
    token = _keeper.set(keep)
    try:
        yield
    finally:
        _keeper.reset(token)


def keep_answer(txn: WriteTransaction, result: Callable[[], object]) -> None:
    """At the end of a change's transaction: the result is kept, where somebody asked for that."""
    keep = _keeper.get()
    if keep is not None:
        # a hook may commit within the same call
        _keeper.set(None)
        keep(txn, result())
