"""One table of a report, and the forms of its cells."""

from __future__ import annotations

from typing import Final

import msgspec

from vestig.evaluation.report import Difference

NONE: Final = "–"
SIGNIFICANT: Final = 0.01


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Cells as text.

    The first column names the row; the others hold figures, but for the last `sentences` columns,
    or all of them with `words`. `folded`: shown only when unfolded, where the format can.
    """

    title: str
    note: str = ""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: bool = False
    sentences: int = 0
    folded: bool = False

    def is_words(self, column: int) -> bool:
        """Return whether a column holds words, which are aligned left; figures are aligned
        right."""
        return self.words or column == 0 or column >= len(self.columns) - self.sentences


def percent(value: float | None, sign: str = "") -> str:
    """A share in per cent with one decimal.

    Example:
        >>> percent(0.475), percent(0.012, "+"), percent(None)
        ('47.5', '+1.2', '–')
    """
    # adding 0 takes the sign from a rounded -0
    return NONE if value is None else f"{round(100 * value, 1) + 0.0:{sign}.1f}"


def change(found: Difference) -> str:
    """A difference with its interval, in points of per cent.

    Example:
        >>> change(Difference(delta=0.012, low=-0.01, high=0.03, p=0.2))
        '+1.2 (-1.0 to +3.0)'
    """
    low, high = percent(found.low, "+"), percent(found.high, "+")
    return f"{percent(found.delta, '+')} ({low} to {high})"


def p_value(value: float | None) -> str:
    """A p with four decimals."""
    return NONE if value is None else f"{value:.4f}"
