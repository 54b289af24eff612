"""`import`: exports restored, transcripts and memories committed; resumable."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from vestig.arguments import path_argument
from vestig.calls.files import ImportRequest
from vestig.commit.pipeline import BatchOptions, Part, commit_part, prepare_part
from vestig.commit.text import normalise
from vestig.commit.vectors_ahead import VectorsAhead
from vestig.config.schema import HygieneSettings
from vestig.errors import ValidationError
from vestig.exchange.commit_fields import ImportFile, ImportItem, ImportOptions
from vestig.exchange.file_records import Format
from vestig.ports import Progress
from vestig.results import ImportReport
from vestig.session.embedding import probed_identity
from vestig.session.session import Session
from vestig.store.portable.restore import restore
from vestig.telemetry.spans import span
from vestig.types import CommitOutcome, CommitOutcomeKind, Degradation, ItemError

# Commits of one transaction; the parts of one record are never separated.
_GROUP_COMMITS: Final = 1_000
_ERRORS_SHOWN: Final = 100


class _Tally:
    """Exact counts of records, and the first errors."""

    def __init__(self) -> None:
        self.lines = self.imported = self.skipped = self.duplicates = 0
        self.rejected = self.failed = self.memories = 0
        self.errors: list[ItemError] = []
        self.degraded: dict[str, Degradation] = {}

    def fail(self, line: int, code: str, message: str) -> None:
        self.failed += 1
        self.note(line, code, message)

    def note(self, line: int, code: str, message: str) -> None:
        self.errors.append(ItemError(index=line - 1, code=code, message=message))

    def record(self, item: ImportItem, outcomes: list[CommitOutcome | ItemError]) -> None:
        """One record by the outcomes of its parts."""
        kinds = set()
        for outcome in outcomes:
            if isinstance(outcome, ItemError):
                self.fail(item.line, outcome.code, f"line {item.line}: {outcome.message}")
                return
            kinds.add(outcome.outcome)
            self.memories += outcome.outcome is CommitOutcomeKind.INSERTED_NEW
            for entry in outcome.degraded:
                before = self.degraded.get(entry.code)
                count = entry.count + (0 if before is None else before.count)
                self.degraded[entry.code] = msgspec.structs.replace(entry, count=count)
        if CommitOutcomeKind.INSERTED_NEW in kinds:
            self.imported += 1
        elif kinds == {CommitOutcomeKind.REJECTED_HYGIENE}:
            self.rejected += 1
            first = outcomes[0]
            assert isinstance(first, CommitOutcome)
            reason = "; ".join(first.hygiene_reasons)
            self.note(item.line, "hygiene-rejected", f"line {item.line}: {reason}")
        else:
            self.duplicates += 1


def import_file(
    session: Session,
    asked: ImportRequest,
) -> ImportReport:
    """Reads a file into the store's namespace; running it again skips what is recorded."""
    source, progress = asked.source, asked.progress
    merge, partial = asked.merge, asked.partial
    if not isinstance(source, (str, os.PathLike)) and not hasattr(source, "read"):
        raise ValidationError("source", type(source).__name__, "a file's path, or an open file")
    if isinstance(source, (str, os.PathLike)):
        source = path_argument("source", source)
    settings = session.config.settings
    options = ImportOptions(
        format=asked.format,
        scope=asked.scope,
        max_chars=settings.hygiene.max_chars,
        normalise=lambda text: normalise(text, settings.hygiene),
    )
    with session.operation("import", without_store="make"):
        file = ImportFile(source, options)
        try:
            if file.format is Format.EXPORT:
                return _restore(session, file, merge=merge, partial=partial, progress=progress)
            if merge:
                raise ValidationError("merge", True, "an export", "other files add to a store")
            if partial:
                raise ValidationError(
                    "partial", True, "an export", "of other files every readable record is taken"
                )
            return _commit(session, file, progress)
        finally:
            file.close()


def _one_namespace(session: Session, file: ImportFile) -> str | None:
    """The namespace that takes in an export of one namespace; None = each goes where it was."""
    first = next(iter(file.export_lines()), b"")
    try:
        header = msgspec.json.decode(first)
    except (msgspec.DecodeError, RecursionError):
        return None  # `restore` names the bad line
    single = isinstance(header, dict) and header.get("namespace") is not None
    return session.namespace if single else None


def _normal_forms(text: str) -> tuple[str, ...]:
    """The normal forms of a text: with single spaces, and with its own."""
    both = (HygieneSettings(normalize_whitespace=one) for one in (True, False))
    return tuple(normalise(text, settings) for settings in both)


def _restore(
    session: Session,
    file: ImportFile,
    *,
    merge: bool,
    partial: bool,
    progress: Progress | None,
) -> ImportReport:
    report = restore(
        session.ledger,
        file.export_lines(),
        merge=merge,
        partial=partial,
        namespace=_one_namespace(session, file),
        identity=session.ledger.embedding_identity() or probed_identity(session),
        normal_forms=_normal_forms,
        progress=progress,
    )
    degraded = session.keeper.after_commit()
    warnings = list(report.warnings)
    if report.different:
        warnings.append(
            f"{report.different} memories differ from the file and were kept as they are"
        )
    if report.forgotten:
        warnings.append(f"{report.forgotten} memories were forgotten here and were left out")
    for space, ids in report.forgotten_elsewhere.items():
        warnings.append(
            f"{len(ids)} memories of namespace {space} were forgotten elsewhere and are kept here;"
            " `vestig memory forget` forgets them here too"
        )
    return ImportReport(
        format=Format.EXPORT.value,
        lines=report.lines,
        imported=report.restored,
        skipped=report.present + report.forgotten + report.frame_lines,
        duplicates=report.duplicates,
        rejected=0,
        failed=report.left_lines,
        memories=report.memories,
        errors=tuple(
            ItemError(index=line - 1, code=ValidationError.code, message=why)
            for line, why in report.left_out
        ),
        forgotten_elsewhere=tuple(id for ids in report.forgotten_elsewhere.values() for id in ids),
        warnings=tuple(warnings),
        degraded=tuple(degraded),
    )


def _groups(file: ImportFile, tally: _Tally) -> Iterator[list[ImportItem]]:
    group: list[ImportItem] = []
    size = 0
    for item in file.items():
        tally.lines += 1
        if isinstance(item, ItemError):
            tally.failed += 1
            tally.errors.append(item)
            continue
        if size + len(item.parts) > _GROUP_COMMITS and group:
            yield group
            group, size = [], 0
        group.append(item)
        size += len(item.parts)
    tally.lines += file.unspoken
    tally.skipped += file.unspoken
    if group:
        yield group


class _NextGroup(NamedTuple):
    """The records of a transaction that the store lacked when they were read, ready to be
    committed, and how far the file was read by then; `error`: why there is none."""

    records: list[ImportItem]
    part: Part
    bytes_done: int
    error: Exception | None = None


class _Reader:
    """Reads the records of a file a group ahead of what is written."""

    def __init__(self, session: Session, file: ImportFile, tally: _Tally) -> None:
        self._session = session
        self._file = file
        self._tally = tally
        self._groups = _groups(file, tally)
        self._options = BatchOptions(transcript=file.format is Format.MESSAGES)

    def next(self) -> _NextGroup | None:
        """The next records, read and cut into parts; None after the last. What cannot be read is
        raised by `confirmed`, when all before it is written."""
        try:
            with span("chunk") as counts:
                group = next(self._groups, [])
                counts.update(records=len(group), parts=sum(len(item.parts) for item in group))
            return self._prepared(self._unrecorded(group)) if group else None
        except Exception as error:  # raised again in its turn
            return _NextGroup([], Part([], [], 0), self._file.bytes_done, error)

    def confirmed(self, group: _NextGroup) -> _NextGroup:
        """A group whose turn has come, without what was recorded since it was read."""
        if group.error is not None:
            raise group.error
        records = self._unrecorded(group.records)
        if len(records) == len(group.records):
            return group
        return self._prepared(records)._replace(bytes_done=group.bytes_done)

    def _prepared(self, records: list[ImportItem]) -> _NextGroup:
        requests = [arguments for item in records for arguments in item.commits()]
        part = prepare_part(self._session, requests, self._options)
        return _NextGroup(records, part, self._file.bytes_done)

    def _unrecorded(self, group: list[ImportItem]) -> list[ImportItem]:
        """Records whose reference is new to this namespace and scope; the one of older versions,
        which held for an unchanged file, counts too."""
        by_scope: dict[str | None, list[str]] = {}
        for item in group:
            refs = by_scope.setdefault(item.scope, [])
            own = [item.artifact_ref]
            refs += own if item.older_ref is None else [*own, item.older_ref]
        with self._session.ledger.read() as view:
            known = {
                scope: set(view.recorded_refs(self._session.namespace, scope, refs))
                for scope, refs in by_scope.items()
            }
        fresh = [
            item
            for item in group
            if known[item.scope].isdisjoint((item.artifact_ref, item.older_ref))
        ]
        self._tally.skipped += len(group) - len(fresh)
        return fresh


def _commit(session: Session, file: ImportFile, progress: Progress | None) -> ImportReport:
    tally = _Tally()
    reader = _Reader(session, file, tally)
    with VectorsAhead(session) as ahead:
        group = reader.next()
        while group is not None:
            group, following = reader.confirmed(group), reader.next()
            outcomes = commit_part(
                session, group.part, None if following is None else following.part, ahead
            )
            place = 0
            for item in group.records:
                tally.record(item, outcomes[place : place + len(item.parts)])
                place += len(item.parts)
            if progress is not None:
                progress(group.bytes_done, file.bytes_total)
            group = following
    if progress is not None:
        progress(file.bytes_total, file.bytes_total)
    return ImportReport(
        format=file.format.value,
        lines=tally.lines,
        imported=tally.imported,
        skipped=tally.skipped,
        duplicates=tally.duplicates,
        rejected=tally.rejected,
        failed=tally.failed,
        memories=tally.memories,
        errors=tuple(tally.errors[:_ERRORS_SHOWN]),
        errors_more=max(0, len(tally.errors) - _ERRORS_SHOWN),
        warnings=tuple(file.warnings()),
        degraded=tuple(tally.degraded.values()),
    )
