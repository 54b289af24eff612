"""Tables of figures, as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from vestig.evaluation.intervals import Difference

NONE: Final = "–"


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Cells as text. `words`: the columns that hold words, aligned left; the others hold
    figures."""

    title: str
    note: str = ""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)


def percent(value: float | None, sign: str = "") -> str:
    """Return a share in per cent with one decimal.

    Example:
        >>> percent(0.475), percent(0.012, "+"), percent(None)
        ('47.5', '+1.2', '–')
    """
    # adding 0 takes the sign from a rounded -0
    return NONE if value is None else f"{round(100 * value, 1) + 0.0:{sign}.1f}"


def change(found: Difference) -> str:
    """Return a difference with its interval, in points of per cent.

    Example:
        >>> change(Difference(delta=0.012, low=-0.01, high=0.03, p=0.2))
        '+1.2 (-1.0 to +3.0)'
    """
    low, high = percent(found.low, "+"), percent(found.high, "+")
    return f"{percent(found.delta, '+')} ({low} to {high})"


def p_value(value: float | None) -> str:
    """Return a p with four decimals."""
    return NONE if value is None else f"{value:.4f}"


def number(value: float | None, digits: int) -> str:
    """Return a number with so many decimals."""
    return NONE if value is None else f"{value:.{digits}f}"


def text_of(shown: Iterable[Table]) -> str:
    """Return tables for a terminal, those without rows left out."""
    return "\n\n".join(
        f"{f'{table.title}. {table.note}'.rstrip()}\n{_padded(table)}"
        for table in shown
        if table.rows
    )


def _padded(table: Table) -> str:
    lines = [table.columns, *table.rows]
    widths = [max(len(line[n]) for line in lines) for n in range(len(table.columns))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if n in table.words else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
