"""How long a fact will hold, by rule (T-04)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vestig.language.time.expressions import TemporalExpression, lowered
from vestig.language.time.patterns import FUTURE_CUE, PRESENT_CUE
from vestig.times import DAY_US
from vestig.types import Stability

__all__ = ["derive"]

_NEAR_DAYS: Final = 2


def derive(
    text: str,
    expressions: Sequence[TemporalExpression],
    t_ref_us: int,
    *,
    given: Stability | None = None,
) -> Stability:
    """The caller's value, else `ephemeral` when the text's only time is within two days of its
    reference and it speaks of the present or the future; else `unknown` (T-04).

    Args:
        text: the memory's text.
        expressions: its windows, as `find_windows` gave them for the same reference.
        t_ref_us: the reference, microseconds since the epoch.
        given: what the caller said, None = nothing.

    Example:
        >>> from vestig.language.time.expressions import find_windows
        >>> derive("I am tired today", find_windows("I am tired today", 0), 0).value
        'ephemeral'
        >>> derive("I am from Oslo", [], 0).value
        'unknown'
    """
    if given is not None:
        return given
    windows = [item for item in expressions if item.resolved]
    if len(windows) != 1:
        return Stability.UNKNOWN
    start, end = windows[0].window_start_us, windows[0].window_end_us
    if start is None or end is None:
        return Stability.UNKNOWN
    # Whole days: a window of the second day from the reference's own day still counts.
    if start <= t_ref_us - (_NEAR_DAYS + 1) * DAY_US or end >= t_ref_us + (_NEAR_DAYS + 1) * DAY_US:
        return Stability.UNKNOWN
    lower = lowered(text).replace("’", "'")
    if PRESENT_CUE.search(lower) is None and FUTURE_CUE.search(lower) is None:
        return Stability.UNKNOWN
    return Stability.EPHEMERAL
