"""What a trial found, in the columns of the table that `make torture` prints."""

from __future__ import annotations

import dataclasses

COLUMNS = (
    "trial",
    "size",
    "acknowledged",
    "lost",
    "half",
    "silent damages",
    "crashes",
    "readers blocked > 2 s",
    "seconds",
)
# First word of a finding → its column; what is not there or not as written, and was not told,
# is silent damage.
_KINDS = {"lost": "lost", "half": "half", "crash": "crashes", "blocked": "blocked"}


@dataclasses.dataclass(kw_only=True)
class Outcome:
    """Counts of one trial. `broken` has each breach in words, `also` what else is worth a look."""

    trial: str
    size: str
    acknowledged: int = 0
    lost: int = 0
    half: int = 0
    silent: int = 0
    crashes: int = 0
    blocked: int = 0
    seconds: float = 0.0
    broken: list[str] = dataclasses.field(default_factory=list)
    also: dict[str, int] = dataclasses.field(default_factory=dict)

    def breach(self, found: list[str], place: str = "") -> None:
        """Counts each of these findings in its column."""
        for what in found:
            column = _KINDS.get(what.partition(":")[0], "silent")
            setattr(self, column, getattr(self, column) + 1)
            self.broken.append(f"{place}: {what}" if place else what)

    def count(self, what: str, by: int = 1) -> None:
        """One more of something that breaks nothing."""
        self.also[what] = self.also.get(what, 0) + by

    def row(self) -> tuple[str, ...]:
        """Cells in the order of `COLUMNS`."""
        numbers = (
            self.acknowledged,
            self.lost,
            self.half,
            self.silent,
            self.crashes,
            self.blocked,
        )
        return (self.trial, self.size, *(f"{n:,}" for n in numbers), f"{self.seconds:.0f}")


def table(rows: list[tuple[str, ...]]) -> str:
    """The rows under `COLUMNS`; a row of two cells is a trial that was skipped, and why."""
    cells = [COLUMNS, *(row for row in rows if len(row) == len(COLUMNS))]
    names = [row[0] for row in rows]
    widths = [max(len(row[place]) for row in cells) for place in range(len(COLUMNS))]
    widths[0] = max(widths[0], *map(len, names))

    def line(row: tuple[str, ...]) -> str:
        if len(row) != len(COLUMNS):
            return f"| {row[0]:<{widths[0]}} | skipped: {row[1]}"
        padded = [f"{row[0]:<{widths[0]}}", f"{row[1]:<{widths[1]}}"]
        padded += [f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True)]
        return f"| {' | '.join(padded)} |"

    rule = f"|{'|'.join('-' * (width + 2) for width in widths)}|"
    return "\n".join([line(COLUMNS), rule, *map(line, rows)])
