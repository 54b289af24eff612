"""Rows of a table of separated values by RFC 4180: a quoted cell goes on to the quote that ends it.

Invariant: what stands inside a quote is never read as a row, whatever is wrong with its cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from vestig.exchange.file_records import RecordFile, RunningDigest, Unreadable

CELL_CHARS_MAX: Final = 131_072
_QUOTE: Final = '"'
_NO_MORE: Final = "nothing after it was read"


class Row(NamedTuple):
    """The cells of a row. `line`: the one it begins in, from 1; `digest`: of the file up to the end
    of the row."""

    line: int
    cells: list[str]
    digest: str


class Rows:
    """The rows of a file, the header included; rows that are none by RFC 4180 are reported."""

    def __init__(self, file: RecordFile, separator: str) -> None:
        self._lines = file.lines()
        self._separator = separator
        self._digest = RunningDigest()
        self._so_far = ""
        self._number = 0

    def __iter__(self) -> Iterator[Row | Unreadable]:
        try:
            while (line := self._next()) is not None:
                if line:
                    yield self._row(line)
        except _EndedError as error:
            yield Unreadable(self._number, f"{error}; {_NO_MORE}")

    def _next(self) -> str | None:
        """The next line without its end; None at the end of the file.

        Raises:
            _EndedError: it cannot be read, so where a quote ends is not known any more.
        """
        line = next(self._lines, None)
        if line is None:
            return None
        if isinstance(line, Unreadable):
            self._number = line.line
            raise _EndedError(line.fact)
        self._number = line.number
        self._so_far = self._digest.after(line.data + b"\n")
        try:
            return line.data.decode("utf-8")
        except UnicodeDecodeError:
            raise _EndedError("expected UTF-8 text") from None

    def _row(self, line: str) -> Row | Unreadable:
        """The row that begins with a line; a quoted cell takes further lines."""
        begins = self._number
        if _QUOTE not in line:
            cells, fault = line.split(self._separator), ""
            if len(line) > CELL_CHARS_MAX and max(map(len, cells)) > CELL_CHARS_MAX:
                fault = _TOO_LONG
        else:
            cells, fault = self._quoted(line)
        if fault:
            last = self._number
            where = "" if last == begins else f", which goes on to line {last}"
            return Unreadable(begins, f"expected a row of the table{where}: {fault}")
        return Row(begins, cells, self._so_far)

    def _quoted(self, line: str) -> tuple[list[str], str]:
        """The cells of a row with quotes, and what is wrong with it."""
        cells: list[str] = []
        start, fault = 0, ""
        while start <= len(line):
            if line.startswith(_QUOTE, start):
                cell, line, start = self._quoted_cell(line, start + 1)
                if cell is None:
                    return cells, "a quote that is opened and never closed"
                if start < len(line) and not line.startswith(self._separator, start):
                    return cells, self._after_text(line, start)
            else:
                end = line.find(self._separator, start)
                end = len(line) if end < 0 else end
                cell, start = line[start:end], end
            if len(cell) > CELL_CHARS_MAX:
                fault = _TOO_LONG
            cells.append("" if fault else cell)
            start += 1
        return cells, fault

    def _quoted_cell(self, line: str, start: int) -> tuple[str | None, str, int]:
        """The cell whose text begins at `start`, the line in which it ends, and the place behind
        its quote; None where the file ends first. Of a cell that is too long only so much is held
        as tells that it is."""
        parts: list[str] = []
        length = 0
        while True:
            end, place = _closing(line, start)
            piece = line[start:end].replace(_QUOTE * 2, _QUOTE)
            if length <= CELL_CHARS_MAX:
                parts.append(piece)
                length += len(piece) + 1
            if place:
                return "\n".join(parts), line, place
            following = self._next()
            if following is None:
                return None, line, len(line)
            line, start = following, 0

    def _after_text(self, line: str, start: int) -> str:
        """Passes over the rest of a row with text behind a closing quote: to the end of the line
        in which no quote is open."""
        is_open = line.count(_QUOTE, start) % 2 == 1
        while is_open and (following := self._next()) is not None:
            is_open = following.count(_QUOTE) % 2 == 0
        return "expected a separator after a closing quote; a quote in a cell stands twice"


_TOO_LONG: Final = f"a field larger than {CELL_CHARS_MAX:,} characters"


class _EndedError(Exception):
    """Says why nothing more of a file is read."""


def _closing(line: str, start: int) -> tuple[int, int]:
    """Where the text of a quoted cell ends in a line, and the place behind its closing quote; 0
    where it goes on in the next line. Two quotes are one of its text."""
    at = start
    while (at := line.find(_QUOTE, at)) >= 0:
        if not line.startswith(_QUOTE, at + 1):
            return at, at + 1
        at += 2
    return len(line), 0


def header_cells(file: RecordFile, separator: str) -> list[str] | None:
    """The cells of the first row; None where it is none."""
    first = next(iter(Rows(file, separator)), None)
    return first.cells if isinstance(first, Row) else None
