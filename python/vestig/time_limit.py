"""A call into code of another package that gets so many seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def within(seconds: float, call: Callable[[], _T]) -> _T:
    """Return what a call returns or raises, if it ends in time.

    It runs in a thread of its own. What still runs after its time is left to end by itself, and
    does not keep the process from ending; its answer is not looked at.

    Args:
        seconds: 0 or less = no time is left.

    Raises:
        TimeoutError: it did not end in time.

    Example:
        >>> within(5.0, lambda: 7)
        7
        >>> within(0.0, threading.Event().wait)
        Traceback (most recent call last):
        ...
        TimeoutError: no answer within 0 s
    """
    answers: list[_T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # raised again in the caller's thread
            failures.append(error)

    thread = threading.Thread(target=run, name="vestig-time-limit", daemon=True)
    thread.start()
    thread.join(max(0.0, seconds))
    if failures:
        raise failures[0]
    if not answers:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return answers[0]
