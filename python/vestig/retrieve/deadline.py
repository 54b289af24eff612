"""When a request has to end."""

from __future__ import annotations

from time import monotonic

__all__ = ["Deadline"]


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
