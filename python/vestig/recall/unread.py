"""Reads that end because a model has to read memories first, and begin again when it has.

A model is asked outside of every view of the store, so that one that takes long holds back neither
forgetting nor merging.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from vestig.session.session import Session
from vestig.store.records.reads import LedgerView

_T = TypeVar("_T")


class Unread(Protocol):
    """Memories that a model has not read yet."""

    def ask(self, session: Session) -> None:
        """Lets it read them; where it fails or takes too long, the call goes on without it."""
        ...


class UnreadError(Exception):
    """Ends a read that needs what a model says of memories which it has not read yet."""

    def __init__(self, wanted: Sequence[Unread]) -> None:
        super().__init__("a model has not read these memories yet")
        self.wanted = wanted


def read_when_known(session: Session, read: Callable[[LedgerView], _T]) -> _T:
    """`read` at one state of the store, begun again each time that a model has to read memories
    first."""
    while True:
        try:
            return session.keeper.run(lambda view, _: read(view))
        except UnreadError as error:
            for one in error.wanted:
                one.ask(session)


def each_known(calls: Iterable[Callable[[], _T]]) -> list[_T]:
    """Return what each call returns.

    Raises:
        UnreadError: what has to be read first, of all calls together.

    Example:
        >>> each_known([lambda: 1, lambda: 2])
        [1, 2]
    """
    found, wanted = list[_T](), list[Unread]()
    for call in calls:
        try:
            found.append(call())
        except UnreadError as error:
            wanted += error.wanted
    if wanted:
        raise UnreadError(wanted)
    return found
