"""The time of a request and its searches, each within a time limit, tried again where that can
help."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final, Literal, TypeVar

from vestig.errors import ProviderError, StoreLockedError
from vestig.retrieve.result import ToolCall
from vestig.session.session import Session
from vestig.time_limit import within
from vestig.times import from_us

_T = TypeVar("_T")
# A search that takes longer than this hangs, and one that failed three times will fail again; the
# request as a whole has its own deadline.
_SEARCH_S_MAX: Final = 10.0
_ATTEMPTS_MAX: Final = 3


class Deadline:
    """The time of one request, which begins now.

    Args:
        seconds: as many as it may take.

    Example:
        >>> Deadline(60.0).passed, Deadline(0.0).passed
        (False, True)
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.started = monotonic()

    @property
    def used_s(self) -> float:
        """Seconds since the beginning."""
        return monotonic() - self.started

    @property
    def left_s(self) -> float:
        """Seconds until the end; none or less = it has passed."""
        return self.seconds - self.used_s

    @property
    def passed(self) -> bool:
        """Says that the time is used up."""
        return self.left_s <= 0

    def check(self) -> None:
        """Ends work that nobody waits for any more.

        Raises:
            TimeoutError: the time is used up.
        """
        if self.passed:
            raise TimeoutError("the time of the request is used up")


class Calls:
    """Every search that was tried.

    Args:
        deadline: of the request.
    """

    def __init__(self, session: Session, deadline: Deadline) -> None:
        self.session = session
        self.deadline = deadline
        self.made: list[ToolCall] = []

    @property
    def failed(self) -> int:
        """Calls that gave no answer in any attempt."""
        return sum(not one.success for one in self.made)

    @property
    def retried(self) -> int:
        """Calls that needed more than one attempt for their answer."""
        return sum(one.success and one.attempts > 1 for one in self.made)

    @property
    def empty_in_a_row(self) -> int:
        """The last calls that were of one tool and found nothing."""
        count = 0
        for one in reversed(self.made):
            if one.name != self.made[-1].name or one.result_count or not one.success:
                break
            count += 1
        return count

    def call(
        self,
        name: Literal["fact_search", "message_search"],
        queries: Sequence[str],
        search: Callable[[], _T],
        count: Callable[[_T], int],
    ) -> _T | None:
        """Return what a search gives, None where it failed: each attempt runs ten
        seconds at most and no longer than the request.

        Args:
            search: changes nothing, for what runs too long is left to end by itself.
            count: the number of its results.
        """
        started, moment = time.perf_counter(), from_us(self.session.now_us())
        attempts, error, found = 0, None, None
        while attempts < _ATTEMPTS_MAX:
            left_s = self.deadline.left_s
            if attempts and left_s <= 0:
                break
            attempts += 1
            try:
                found = within(min(_SEARCH_S_MAX, max(left_s, 0.001)), search)
                error = None
                break
            except (ProviderError, StoreLockedError, TimeoutError) as failure:
                error = type(failure).__name__
        self.made.append(
            ToolCall(
                name=name,
                queries=tuple(queries),
                result_count=0 if found is None else count(found),
                success=error is None,
                duration_ms=(time.perf_counter() - started) * 1e3,
                attempts=attempts,
                timestamp=moment,
                error=error,
            )
        )
        return found
