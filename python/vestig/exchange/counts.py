"""How much of each file of an import was taken, and what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from vestig.calls.files import ImportFormat
from vestig.errors import ValidationError, VestigError
from vestig.exchange.commit_fields import ImportItem
from vestig.exchange.inputs import Input
from vestig.results import ImportedFile, ImportReport
from vestig.types import CommitOutcome, CommitOutcomeKind, Degradation, ItemError, Source

_ERRORS_SHOWN: Final = 100
# The format of a report on files of several.
_MIXED: Final = "mixed"
_COUNTS: Final = (
    "lines",
    "imported",
    "skipped",
    "duplicates",
    "rejected",
    "failed",
    "memories",
    "passages",
    "added",
    "kept",
    "ended",
)


class Tally:
    """Exact counts of the records of one file. `lone`: no other file is imported."""

    def __init__(self, source: Input, run: Run, *, lone: bool) -> None:
        self.source = source
        self.format: ImportFormat | None = None
        self.lines = self.imported = self.skipped = self.duplicates = 0
        self.rejected = self.failed = self.memories = 0
        self.left_out: Counter[str] = Counter()
        self.run = run
        # of a document
        self.source_id: str | None = None
        self.passages = self.added = self.kept = self.ended = 0
        self._where = "" if lone else f"{source.name}: "

    def refuse(self, error: ItemError) -> None:
        """A record that could not be read."""
        self.failed += 1
        self._note(error.index, error.code, error.message)

    def record(self, item: ImportItem, outcomes: Sequence[CommitOutcome | ItemError]) -> None:
        """One record by the outcomes of its parts."""
        kinds = set()
        for outcome in outcomes:
            if isinstance(outcome, ItemError):
                message = f"line {item.line}: {outcome.message}"
                self.refuse(ItemError(index=item.line - 1, code=outcome.code, message=message))
                return
            kinds.add(outcome.outcome)
            self.memories += outcome.outcome is CommitOutcomeKind.INSERTED_NEW
            self.run.degrade(outcome.degraded)
        if CommitOutcomeKind.INSERTED_NEW in kinds:
            self.imported += 1
        elif kinds == {CommitOutcomeKind.REJECTED_HYGIENE}:
            self.rejected += 1
            first = outcomes[0]
            assert isinstance(first, CommitOutcome)
            reason = "; ".join(first.hygiene_reasons)
            self._note(item.line - 1, "hygiene-rejected", f"line {item.line}: {reason}")
        else:
            self.duplicates += 1

    def fail(self, error: VestigError | OSError) -> None:
        """The file, or the rest of it, cannot be read."""
        self.lines += 1
        if isinstance(error, OSError):
            why = error.strerror or type(error).__name__
            code, message = ValidationError.code, f"the file cannot be read: {why}"
        else:
            code, message = error.code, str(error)
        self.refuse(ItemError(index=max(0, self.lines - 1), code=code, message=message))

    def refuse_part(self, error: ItemError) -> None:
        """A passage that is not stored."""
        self._note(error.index, error.code, f"passage {error.index + 1}: {error.message}")

    def unchanged(self, source_id: str, passages: int) -> None:
        """A document whose file is as it was."""
        self.lines += 1
        self.skipped += 1
        self.source_id, self.passages, self.kept = source_id, passages, passages

    def document(
        self,
        *,
        source_id: str | None,
        known: Source | None,
        passages: int,
        added: int,
        kept: int,
        ended: int,
    ) -> None:
        """A document that was compared; `source_id`: of its new version, `known`: of the one
        before."""
        self.lines += 1
        self.imported += bool(source_id or added or ended)
        self.skipped += not (source_id or added or ended)
        self.source_id = source_id or (None if known is None else known.id)
        self.passages, self.added, self.kept, self.ended = passages, added, kept, ended

    def counts(self) -> dict[str, Any]:
        """The fields of a report."""
        counts = {name: getattr(self, name) for name in _COUNTS}
        left_out = dict(sorted(self.left_out.items()))
        return {**counts, "source_id": self.source_id, "left_out": left_out}

    def _note(self, index: int, code: str, message: str) -> None:
        error = ItemError(index=index, code=code, message=f"{self._where}{message}")
        self.run.errors.append(error)


class Run:
    """The common ground of all files of an import: errors, warnings, and the counts of each."""

    def __init__(self) -> None:
        self.tallies: list[Tally] = []
        self.errors: list[ItemError] = []
        self.warnings: dict[str, None] = {}
        self.degraded: dict[str, Degradation] = {}
        # files of other kinds, which are passed over
        self.left_out: Counter[str] = Counter()
        # documents whose file is gone
        self.missing: tuple[str, ...] = ()

    def warn(self, warning: str) -> None:
        """Notes a warning once."""
        self.warnings[warning] = None

    def degrade(self, entries: Sequence[Degradation]) -> None:
        """Counts what was done less well."""
        for entry in entries:
            before = self.degraded.get(entry.code)
            count = entry.count + (0 if before is None else before.count)
            self.degraded[entry.code] = msgspec.structs.replace(entry, count=count)

    def report(self) -> ImportReport:
        """The counts of all files."""
        total: Counter[str] = Counter()
        left_out = Counter(self.left_out)
        for tally in self.tallies:
            counts = tally.counts()
            left_out.update(counts.pop("left_out"))
            counts.pop("source_id")
            total.update(counts)
        formats = {tally.format.value for tally in self.tallies if tally.format is not None}
        files = tuple(
            ImportedFile(
                path=tally.source.name,
                format=None if tally.format is None else tally.format.value,
                **tally.counts(),
            )
            for tally in self.tallies
        )
        return ImportReport(
            format=formats.pop() if len(formats) == 1 else _MIXED,
            lines=total["lines"],
            imported=total["imported"],
            skipped=total["skipped"],
            duplicates=total["duplicates"],
            rejected=total["rejected"],
            failed=total["failed"],
            memories=total["memories"],
            passages=total["passages"],
            added=total["added"],
            kept=total["kept"],
            ended=total["ended"],
            source_id=self.tallies[0].source_id if len(self.tallies) == 1 else None,
            missing=self.missing,
            left_out=dict(sorted(left_out.items())),
            files=files if len(files) > 1 else (),
            errors=tuple(self.errors[:_ERRORS_SHOWN]),
            errors_more=max(0, len(self.errors) - _ERRORS_SHOWN),
            warnings=tuple(self.warnings),
            degraded=tuple(self.degraded.values()),
        )
