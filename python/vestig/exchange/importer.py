"""`import`: exports restored, all other files committed, with what they name; resumable."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final, NamedTuple

import msgspec

from vestig.calls.files import CONVERTED_ENDINGS, TEXT_ENDINGS, ImportFormat, ImportRequest
from vestig.changes import ChangeSet, NewEdge, NewEntity
from vestig.commit.branches import branch_scopes, placed
from vestig.commit.names import new_entity
from vestig.commit.pipeline import Part, commit_part, prepare_part
from vestig.commit.text import normalise, says_nothing
from vestig.commit.vectors_ahead import VectorsAhead
from vestig.errors import ValidationError, VestigError
from vestig.exchange.changed_records import ChangedRecords, TableRows
from vestig.exchange.commit_fields import (
    ImportFile,
    ImportItem,
    ImportOptions,
    Run,
    Tally,
    named,
    withdrawn_warning,
)
from vestig.exchange.converter import Converter
from vestig.exchange.document_text import FILE_BYTES_MAX, document_text, mail_document
from vestig.exchange.documents import DocumentFile, DocumentOptions, import_documents
from vestig.exchange.file_records import RecordFile, a_store, unknown
from vestig.exchange.formats.drafts import Link, RecordedBelow
from vestig.exchange.formats.table import is_document
from vestig.exchange.inputs import (
    Archive,
    Input,
    all_of,
    files_below,
    given_inputs,
    is_archive,
    is_companion,
    shell_word,
)
from vestig.exchange.mail import mails_of
from vestig.exchange.mirror import (
    check_mirror,
    end_documents,
    folders_of,
    gone_documents,
)
from vestig.exchange.turn_anchors import TurnAnchors
from vestig.exchange.turn_places import TurnPlaces
from vestig.ids import new_id
from vestig.language.names import embedded_name, norm_key
from vestig.language.text_forms import count_of
from vestig.memories.states import successor_changes
from vestig.other_words import by_caller
from vestig.results import FILE_BELOW, ImportReport
from vestig.session.embedding import embed_memories, remember_identity
from vestig.session.session import Session, catch_up
from vestig.store.records.memory_queries import recorded_places, references_below
from vestig.store.records.reads import LedgerView
from vestig.store.sqlite.files import LEDGER_FILE
from vestig.telemetry import span
from vestig.turns import give_way, shared_or
from vestig.types import Degradation, EdgeType, ItemError, Memory, Status

# Commits of one transaction; the parts of one record are never separated.
_GROUP_COMMITS: Final = 1_000
_ENDINGS_SHOWN: Final = 8
_UNREAD_SHOWN: Final = 5
_ENDINGS: Final = (".json", ".jsonl", ".ndjson", ".csv", ".tsv")


def import_files(session: Session, asked: ImportRequest) -> ImportReport:
    """Reads files into the store's namespace; running it again skips what is recorded."""
    settings = session.config.settings
    options = ImportOptions(
        format=asked.format,
        scope=asked.scope,
        bound=session.scope,
        system=asked.include_system,
        max_chars=settings.hygiene.max_chars,
        normalise=lambda text: normalise(text, settings.hygiene),
        is_noise=lambda text: says_nothing(normalise(text, settings.hygiene), settings.hygiene),
        shared=_shared(asked),
        anchors=TurnAnchors(session).of if asked.anchors else None,
        recorded=_recorded_before(session),
    )
    with session.operation("import", without_store="make"):
        if asked.mirror:
            check_mirror(asked.files)
        passed_over = Counter[str]()
        inputs, alone = given_inputs(asked.files, recursive=asked.recursive, left_out=passed_over)
        if alone and not is_document(inputs[0], asked.format) and not is_archive(inputs[0]):
            file = ImportFile(inputs[0], options)
            if file.format is ImportFormat.EXPORT:
                from vestig.exchange.restore import restore_export

                return restore_export(session, file, asked)
        if asked.merge:
            raise ValidationError("merge", True, "an export", "other files add to a store")
        if asked.partial:
            raise ValidationError(
                "partial", True, "an export", "of other files every readable record is taken"
            )
        with _Files(inputs, options, Converter(settings.documents), alone=alone) as files:
            files.run.left_out.update(passed_over)
            deeper = 0 if asked.recursive else files_below(asked.files)
            if deeper:
                files.run.left_out[FILE_BELOW] = deeper
            report = _commit(session, files, asked)
            return msgspec.structs.replace(report, dry_run=asked.dry_run)


def _recorded_before(session: Session) -> RecordedBelow:
    """Tells what was recorded below a reference when it was first asked for."""

    @cache
    def below(prefix: str) -> Sequence[tuple[str | None, str]]:
        with session.ledger.read() as view:
            return references_below(view, session.namespace, prefix)

    return below


def _shared(asked: ImportRequest) -> dict[str, Any]:
    """The arguments of `commit` that all memories of an import have in common."""
    given = {
        "source": asked.source,
        "tags": asked.tags,
        "author": asked.author,
        "entities": [named(one) for one in asked.entities] or None,
        "dry_run": asked.dry_run or None,
    }
    return {name: value for name, value in given.items() if value is not None}


class _Files:
    """The files of an import, read one after the other: those in archives in their place, those
    of other kinds passed over. A context: archives are closed at its end."""

    def __init__(
        self, inputs: list[Input], options: ImportOptions, converter: Converter, *, alone: bool
    ) -> None:
        self.run = Run()
        self.options = options
        self._converter = converter
        self._archives: list[Archive] = []
        self._done = 0
        self._current: Input | None = None
        self._alone = alone
        self._inputs: list[Input] = []
        # read once all records are written
        self.documents: list[DocumentFile] = []
        self._refused: list[tuple[Input, VestigError | OSError]] = []
        for one in inputs:
            self._add(one)
        self.bytes_total = all_of(self._inputs)
        # paths of what is read, and of the archives and files of mails that hold some of it
        paths = [one.path for one in self._inputs] + [one.path for one in self._archives]
        self.read = {path for path in paths if path is not None}

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        self._converter.close()
        for archive in self._archives:
            archive.close()

    @property
    def bytes_done(self) -> int:
        """How far reading has come."""
        return self._done + (0 if self._current is None else self._current.position())

    def records(self) -> Iterator[tuple[Tally, ImportItem | Link]]:
        """The records of all files, each with the counts of its file; what cannot be read is
        counted there.

        Raises:
            ValidationError: the only file is of no known format.
        """
        for source, error in self._refused:
            self._tally(source).fail(error)
            self.run.unread.append(source.name)
        for source in self._inputs:
            self._current = source
            yield from self._of_file(source)
            self._done, self._current = self._done + source.size, None
        if not self.run.tallies:
            self._check_no_store()
            raise self._nothing_known()

    def _nothing_known(self) -> ValidationError:
        """The refusal of a folder or an archive none of whose files a format knows."""
        endings = {os.path.splitext(one.name)[1].lower()[:12] or "none" for one in self._inputs}
        seen = ", ".join(sorted(endings)[:_ENDINGS_SHOWN]) or "no file"
        names = [one.name for one in self._archives] or [
            os.path.dirname(one.name) for one in self._inputs
        ]
        where = (names or ["."])[0]
        below, hint = self.run.left_out[FILE_BELOW], ""
        if below:
            way = by_caller("recursive=True", f"`vestig import -r {shell_word(where)}`")
            hint = f"{count_of(below, 'file')} in folders inside: {way} reads them."
        return unknown(where, f"none of its files ({seen}) is of a format", hint)

    def _check_no_store(self) -> None:
        """Refuses files none of which can be read and one of which is the ledger of a store."""
        paths = (one.path or "" for one in self._inputs)
        ledger = next((one for one in paths if os.path.basename(one) == LEDGER_FILE), None)
        if ledger is not None:
            raise a_store(os.path.dirname(ledger))

    def _add(self, source: Input) -> None:
        try:
            ending = os.path.splitext(source.name.lower())[1]
            if ending in CONVERTED_ENDINGS or not is_archive(source):
                self._inputs.append(source)
                return
            archive = Archive(source)
            self._archives.append(archive)
            self._inputs += archive.members
        except (VestigError, OSError) as error:
            if self._alone:
                raise
            self._refused.append((source, error))

    def _add_mails(self, source: Input, tally: Tally) -> None:
        """Notes each mail of a file of mails as a document below its path."""
        try:
            data = RecordFile(source, is_text=False).whole(FILE_BYTES_MAX)
            mails = list(mails_of(data))
            if not mails and data.strip():
                raise ValidationError("document", "no line that begins a mail", "an mbox file", "")
        except (VestigError, OSError) as error:
            tally.fail(error)
            self.run.unread.append(source.name)
            return
        seen: Counter[str] = Counter()
        for mail in mails:
            # known by what it holds, for others come and go before it
            name = hashlib.sha256(mail).hexdigest()[:16]
            seen[name] += 1
            path = None if source.path is None else f"{source.path}/{name}-{seen[name]}"
            read = partial(mail_document, mail, source, path)
            self.documents.append(DocumentFile(tally, path, len(mail), source.file_us, read))
            if path is not None:
                self.read.add(path)

    def _tally(self, source: Input) -> Tally:
        lone = self._alone and not self._archives
        tally = Tally(source, self.run, lone=lone)
        self.run.tallies.append(tally)
        return tally

    def _of_file(self, source: Input) -> Iterator[tuple[Tally, ImportItem | Link]]:
        if not source.is_named and is_companion(source.name):
            self.run.pass_over(source)
            return
        if is_document(source, self.options.format):
            tally = self._tally(source)
            tally.format = ImportFormat.DOCUMENT
            if source.name.lower().removesuffix(".gz").endswith(".mbox"):
                self._add_mails(source, tally)
                return
            read = partial(document_text, source, self._converter)
            self.documents.append(
                DocumentFile(tally, source.path, source.size, source.file_us, read)
            )
            return
        name = source.name.rsplit("/", 1)[-1].lower().removesuffix(".gz")
        # a file of the file system may be text that holds records
        endings = _ENDINGS if source.path is None else (*_ENDINGS, *TEXT_ENDINGS)
        if not source.is_named and not name.endswith(endings):
            self.run.pass_over(source)
            return
        try:
            file = ImportFile(source, self.options)
            if file.format is ImportFormat.EXPORT:
                raise ValidationError(
                    "files", "an export among other files", "an export alone",
                    "import it by itself",
                )  # fmt: skip
        except (VestigError, OSError) as error:
            if self._alone and source.is_named:
                raise
            self._tally(source).fail(error)
            return
        tally = self._tally(source)
        tally.format = file.format
        try:
            for item in file.items():
                tally.lines += 1
                if isinstance(item, ItemError):
                    tally.refuse(item)
                else:
                    yield tally, item
        except (VestigError, OSError) as error:
            tally.fail(error)
        tally.left_out.update(file.left_out)
        self.run.withdrawn.update(dict.fromkeys(file.withdrawn))
        self.run.notice(source, file.warnings())


class _Recorded(NamedTuple):
    """Where a record stands in the store: its scope and its `artifact_ref`."""

    scope: str | None
    ref: str


class _NextGroup(NamedTuple):
    """The records of a transaction that the store lacked when they were read, ready to be
    committed, and how far the files were read by then; `error`: why there is none."""

    records: list[tuple[Tally, ImportItem]]
    links: list[tuple[Tally, Link]]
    part: Part
    bytes_done: int
    error: Exception | None = None


class _Reader:
    """Reads the records of files a group ahead of what is written.

    Args:
        project: the scope of the project on which the sessions worked; None: it is not known.
    """

    def __init__(self, session: Session, files: _Files, project: str | None) -> None:
        self._session = session
        self._files = files
        self._project = project
        self._changes = ChangedRecords(session, files.options, files.run)
        self._places = TurnPlaces(session, files.options, files.run)
        self.tables = TableRows(session)
        # records that were passed over as recorded
        self.skipped: set[_Recorded] = set()
        # references of what superseded records
        self.successors: dict[_Recorded, str] = {}
        self._groups = self._grouped()

    def next(self) -> _NextGroup | None:
        """The next records, read and cut into parts; None after the last. What cannot be read is
        raised by `confirmed`, when all before it is written."""
        try:
            with span("chunk") as counts:
                found = next(self._groups, None)
                group, links = found or ([], [])
                counts.update(records=len(group), parts=sum(len(item.parts) for _, item in group))
            if found is None:
                return None
            fresh = self._places.placed(group, self._unrecorded(group))
            return self._prepared(fresh, links)
        except Exception as error:  # raised again in its turn
            return _NextGroup([], [], Part([], [], 0), self._files.bytes_done, error)

    def confirmed(self, group: _NextGroup) -> _NextGroup:
        """A group whose turn has come, without what was recorded since it was read."""
        if group.error is not None:
            raise group.error
        records = self._unrecorded(group.records)
        if records == group.records:
            return group
        return self._prepared(records, group.links)._replace(bytes_done=group.bytes_done)

    def _grouped(
        self,
    ) -> Iterator[tuple[list[tuple[Tally, ImportItem]], list[tuple[Tally, Link]]]]:
        group: list[tuple[Tally, ImportItem]] = []
        links: list[tuple[Tally, Link]] = []
        size, most = 0, shared_or(_GROUP_COMMITS)
        held: dict[_Recorded, ImportItem] = {}
        for tally, item in self._files.records():
            length = 1 if isinstance(item, Link) else len(item.parts)
            if size and (size + length > most or self._is_newer(item, held)):
                yield group, links
                group, links, size = [], [], 0
                held.clear()
            if isinstance(item, Link):
                links.append((tally, item))
            else:
                group.append((tally, item))
                place = _Recorded(item.scope, item.artifact_ref)
                held.setdefault(place, item)
                self.tables.note(tally, item)
                if item.successor_ref is not None:
                    self.successors[place] = item.successor_ref
            size += length
        if size:
            yield group, links

    def _is_newer(self, item: ImportItem | Link, held: Mapping[_Recorded, ImportItem]) -> bool:
        """Return whether a record has a newer text than one of a group: it replaces that text once
        the group is written."""
        if isinstance(item, Link):
            return False
        first = held.get(_Recorded(item.scope, item.artifact_ref))
        return first is not None and self._changes.is_newer(item, first)

    def _prepared(
        self, records: list[tuple[Tally, ImportItem]], links: list[tuple[Tally, Link]]
    ) -> _NextGroup:
        requests: list[dict[str, Any]] = []
        whole: set[int] = set()
        for _, item in records:
            commits = item.commits()
            if item.is_whole:
                whole.update(range(len(requests), len(requests) + len(commits)))
            requests += commits
        if self._project is not None:
            self._place(self._project, requests)
        part = prepare_part(self._session, requests, whole=whole)
        record_of = [item for _, item in records for _ in item.parts]
        for place, made in part.items:
            made.status = record_of[place].status
            made.key = record_of[place].text_key or made.key
            made.needs_vector = made.is_history
        return _NextGroup(records, links, part, self._files.bytes_done)

    def changed_back(self) -> Iterator[_NextGroup]:
        """The rows that state anew what their key had before, once all others are written."""
        found = self.tables.changed_back(self.skipped, self._changes, self._files.run)
        most = shared_or(_GROUP_COMMITS)
        for start in range(0, len(found), most):
            group = found[start : start + most]
            for tally, _ in group:
                tally.skipped -= 1
            yield self._prepared(group, [])

    def _place(self, project: str, requests: list[dict[str, Any]]) -> None:
        """Gives those of a project that speak of what a branch changed the scope of that."""
        own = [one for one in requests if one.get("scope") == project and one.get("anchor")]
        places = placed(self._session, project, [one["anchor"] for one in own])
        for one, place in zip(own, places, strict=True):
            one.update(scope=place.scope, anchor=place.anchors)

    def _unrecorded(self, group: list[tuple[Tally, ImportItem]]) -> list[tuple[Tally, ImportItem]]:
        """Records whose reference is new to this namespace and scope, and to this group, but for
        those of memories that were forgotten here."""
        by_scope: dict[str | None, list[str]] = {}
        for _, item in group:
            by_scope.setdefault(item.scope, []).append(item.artifact_ref)
        space = self._session.namespace
        with self._session.ledger.read() as view:
            known = {
                scope: view.recorded_refs(space, scope, refs) for scope, refs in by_scope.items()
            }
            # a turn of a project may be kept with a branch
            project = self._project
            if project is not None and project in by_scope:
                for scope in branch_scopes(view, space, project):
                    known[project].update(view.recorded_refs(space, scope, by_scope[project]))
            named = [item.memory_id for _, item in group if item.memory_id is not None]
            forgotten = view.forgotten(named) if named else set()
            own = self._exported_here(view, named)
            stated = self._changes.texts(view, [item for _, item in group])
            fresh: list[tuple[Tally, ImportItem]] = []
            first: dict[_Recorded, ImportItem] = {}
            copy_ids: dict[str, ImportItem] = {}
            for tally, item in group:
                place, newer = _Recorded(item.scope, item.artifact_ref), item
                if item.memory_id in forgotten:
                    self._files.run.forgotten += 1
                    tally.skipped += 1
                    continue
                if place in first:
                    self._changes.repeats(tally, item, first[place])
                    tally.skipped += 1
                    continue
                if (mine := own.get(item.memory_id or "")) is not None:
                    self._changes.compare(item, mine)
                    tally.skipped += 1
                    continue
                if place.ref in known[place.scope]:
                    found = self._changes.newer(view, item, stated.get(place, ()))
                    if found is None:
                        if item.memory_id is not None:
                            copy_ids[known[place.scope][place.ref]] = item
                        tally.skipped += 1
                        self.skipped.add(place)
                        continue
                    newer = found
                first[place] = item
                fresh.append((tally, newer))
            for memory in view.memories(space, sorted(copy_ids)):
                self._changes.compare_state(copy_ids[memory.id], memory)
        return fresh

    def _exported_here(self, view: LedgerView, ids: Sequence[str]) -> dict[str, Memory]:
        """The memories of the namespace among those that files are exports of, whatever became of
        them; of a call that is bound to a scope those in it."""
        bound = self._session.scope
        found = view.memories(self._session.namespace, sorted(set(ids))) if ids else ()
        return {one.id: one for one in found if bound is None or one.scope == bound}


def _commit(session: Session, files: _Files, asked: ImportRequest) -> ImportReport:
    progress = asked.progress
    reader = _Reader(session, files, asked.scope if asked.anchors else None)
    with VectorsAhead(session) as ahead:
        group = reader.next()
        while group is not None:
            group, following = reader.confirmed(group), reader.next()
            if group.links:
                # before the memories that mention them
                links = [link for _, link in group.links]
                written, degraded = write_links(session, links, dry_run=asked.dry_run)
                files.run.degrade(degraded)
                for (tally, _), is_new in zip(group.links, written, strict=True):
                    tally.imported += is_new
                    tally.skipped += not is_new
            _write(session, group, following, ahead)
            if progress is not None:
                progress(group.bytes_done, files.bytes_total)
            give_way()
            group = following
        for group in reader.changed_back():
            _write(session, group, None, ahead)
    if reader.successors and not asked.dry_run:
        _name_successors(session, reader.successors)
    if not asked.dry_run:
        reader.tables.tell(files.run)
    if files.run.withdrawn:
        _tell_withdrawn(session, files.run, asked.scope)
    options = DocumentOptions(
        scope=asked.scope,
        shared={"source": asked.source, **_shared(asked)},
        passage_chars=session.config.settings.documents.passage_chars,
        force=asked.force,
        dry_run=asked.dry_run,
    )
    _import_documents(session, files, asked, options)
    if progress is not None:
        progress(files.bytes_total, files.bytes_total)
    return files.run.report()


def _tell_withdrawn(session: Session, run: Run, scope: str | None) -> None:
    """Notes the messages of other branches that an earlier import brought and that hold."""
    with session.ledger.read() as view:
        known = view.recorded_refs(session.namespace, scope, list(run.withdrawn))
        found = view.memories(session.namespace, sorted(set(known.values())))
    ids = [one.id for one in found if one.t_expired is None]
    if ids:
        run.warn(withdrawn_warning(ids))


def _write(
    session: Session, group: _NextGroup, following: _NextGroup | None, ahead: VectorsAhead
) -> None:
    """Commits the records of a group and counts them."""
    next_part = None if following is None else following.part
    outcomes = commit_part(session, group.part, next_part, ahead)
    place = 0
    for tally, item in group.records:
        tally.record(item, outcomes[place : place + len(item.parts)])
        place += len(item.parts)


def _name_successors(session: Session, successors: Mapping[_Recorded, str]) -> None:
    """Names in superseded memories what superseded them in the store that they come from, which
    may stand in a later file."""
    space, now_us = session.namespace, session.now_us()
    with session.ledger.write(now_us) as txn:
        refs = [*(one.ref for one in successors), *successors.values()]
        found = recorded_places(txn, space, refs)
        after: dict[str, str] = {}
        for old, ref in successors.items():
            new = found.get(ref, {})
            # of the folder's own scope, where several have it
            id = new.get(old.scope) or next(iter(new.values()), None)
            if id is not None and old.scope in found.get(old.ref, {}):
                after[found[old.ref][old.scope]] = id
        rows = [
            successor_changes(old, after[old.id], now_us)
            for old in txn.memories(space, sorted(after))
            if old.status is Status.SUPERSEDED
            and old.superseded_by is None
            and not _leads_to(txn, after, after[old.id], old)
        ]
        if rows:
            txn.apply(
                ChangeSet(
                    namespace=space,
                    patches=tuple(one.patch for one in rows),
                    events=tuple(one.event for one in rows),
                    supersessions=tuple(one.record for one in rows),
                )
            )
    if rows:
        catch_up(session, [])


def _leads_to(view: LedgerView, after: Mapping[str, str], start: str, goal: Memory) -> bool:
    """Return whether the successors of a memory, those in `after` too, lead to another."""
    seen, id = set[str](), start
    while id not in seen:
        if id == goal.id:
            return True
        seen.add(id)
        known = [one.superseded_by for one in view.memories(goal.namespace, [id])]
        id = after.get(id) or next(iter(known), None) or id
    return False


def _import_documents(
    session: Session, files: _Files, asked: ImportRequest, options: DocumentOptions
) -> None:
    """Imports the documents among the files, and ends those whose files are gone, if asked to."""
    run = files.run
    folders = folders_of(asked.files, recursive=asked.recursive)
    gone = gone_documents(session, folders, asked.scope, files.read)
    looked_for = [one for one in gone if asked.mirror and folders.read(str(one.path))]
    texts = import_documents(session, files.documents, options, looked_for)
    left = [one for one in looked_for if one.path not in run.moved]
    if left and run.unread:
        run.warn(
            f"mirror: no document ended, for {len(run.unread)} files or folders could not be read:"
            f" {', '.join(run.unread[:_UNREAD_SHOWN])}"
        )
    elif left:
        run.ended_documents = dict(end_documents(session, left, dry_run=asked.dry_run, texts=texts))
    done = {*run.moved, *run.ended_documents}
    run.missing = tuple(sorted(str(one.path) for one in gone if one.path not in done))


# --- entities and relations that a file names -------------------------------------------------


def write_links(
    session: Session, links: Sequence[Link], *, dry_run: bool
) -> tuple[list[bool], list[Degradation]]:
    """Writes what the store lacks, in one transaction; for each whether it did, and what degraded.
    With `dry_run` it writes nothing and says the same.

    Raises:
        ProviderError: the embedder failed.
    """
    named = {norm_key(name, kind): (name, kind) for one in links for name, kind in _ends(one)}
    with session.ledger.read() as view:
        known = view.entity_ids_by_key(session.namespace, list(named))
    wanted = {key: end for key, end in named.items() if key not in known}
    vectors: list[bytes] = []
    if wanted and dry_run:
        vectors = [b""] * len(wanted)
    elif wanted:
        remember_identity(session)
        names = [embedded_name(name) for name, _ in wanted.values()]
        _, vectors = embed_memories(session, [], names)
    entities = {
        key: new_entity(
            session.namespace, name, kind, origin="manual",
            model=session.embedder.model, embedding=vector,
        )
        for (key, (name, kind)), vector in zip(wanted.items(), vectors, strict=True)
    }  # fmt: skip
    ids = known | {key: entity.id for key, entity in entities.items()}
    written, edges = _edges(session, links, ids, entities)
    degraded: list[Degradation] = []
    if any(written) and not dry_run:
        changes = ChangeSet(
            namespace=session.namespace, entities=tuple(entities.values()), edges=edges
        )
        with session.ledger.write(session.now_us()) as txn:
            txn.apply(changes)
        catch_up(session, degraded)
    return written, degraded


def _edges(
    session: Session, links: Sequence[Link], ids: dict[str, str], entities: dict[str, NewEntity]
) -> tuple[list[bool], tuple[NewEdge, ...]]:
    """For each link whether it is new, and the relations that are."""
    written: list[bool] = []
    edges: dict[tuple[str, str, str], NewEdge] = {}
    made: set[str] = set()
    with session.ledger.read() as view:
        for link in links:
            keys = [norm_key(name, kind) for name, kind in _ends(link)]
            if link.relation is None:
                written.append(keys[0] in entities and keys[0] not in made)
                made.add(keys[0])
                continue
            start, end = (ids[key] for key in keys)
            place = (start, end, link.relation)
            stored = [] if keys[0] in entities else view.edges(session.namespace, start, "RELATION")
            is_new = place not in edges and all(
                (edge.from_id, edge.to_id, edge.relation) != place for edge in stored
            )
            written.append(is_new)
            if is_new:
                edges[place] = NewEdge(
                    id=new_id("edge"),
                    from_id=start,
                    to_id=end,
                    edge_type=EdgeType.RELATION,
                    origin="caller",
                    relation=link.relation,
                )
    return written, tuple(edges.values())


def _ends(link: Link) -> list[tuple[str, str]]:
    first = (link.name, link.type)
    return [first] if link.other is None else [first, (link.other, link.other_type)]
