"""`export`: the records of a namespace, or of all, as JSON lines; or memories as Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.arguments import parse_time, path_argument
from vestig.calls.files import ExportFormat, ExportRequest
from vestig.calls.filter import Filter
from vestig.errors import StoreDamagedError, ValidationError, VestigError
from vestig.exchange.formats.markdown import file_name, text_of
from vestig.exchange.inputs import shell_word
from vestig.filters import filter_parts, moments
from vestig.ids import id_text, split_ids
from vestig.language.text_forms import count_of, first_of
from vestig.language.time.expressions import find_times
from vestig.language.words import keywords
from vestig.memories.states import ids_of, selection_warnings
from vestig.other_words import by_caller
from vestig.private_folder import make_private_folder
from vestig.session.session import Session
from vestig.store.integrity.verify import verify
from vestig.store.portable.export import ExportCounts
from vestig.store.portable.export import export as write_export
from vestig.store.records import readable
from vestig.store.records.memory_queries import as_stored
from vestig.store.records.reads import LedgerView
from vestig.store.sqlite import files
from vestig.times import format_us, to_us
from vestig.types import EventType, Memory, Status, is_undated

_AT_ONCE: Final = 1_000
# Which memories are written as Markdown without a filter.
_WRITTEN: Final = (Status.ACTIVE, Status.SUPERSEDED)
# Events with the moment from which the times of a text count.
_STATING: Final = (EventType.ADD, EventType.IMPORT)
# The first bytes of an export.
_BEGINNING: Final = b'{"record":"header"'
# Ends of names of files that hold something else than lines of JSON.
_OF_OTHERS: Final = (
    ".csv .tsv .md .markdown .parquet .xls .xlsx .html .htm .xml .yaml .yml .toml .db .sqlite .zip"
    " .pdf .docx .gz"
)
_OF_FILES: Final = frozenset((*_OF_OTHERS.split(), ".json", ".jsonl", ".ndjson", ".txt"))


def export(session: Session, asked: ExportRequest) -> ExportCounts:
    """Writes the store's namespace, or all; how many records of each kind were written.

    Raises:
        ValidationError: a target that is neither a path nor an open file.
        StoreDamagedError: the ledger is not what was written.
    """
    target = asked.target
    is_path = isinstance(target, (str, os.PathLike))
    if not is_path and not hasattr(target, "write"):
        raise ValidationError("target", type(target).__name__, "a file's path, or an open file")
    if asked.all_namespaces and asked.where.given():
        raise ValidationError("where", "both", "a filter or all_namespaces")
    if is_path:
        files.check_outside("target", Path(path_argument("target", target)), session.directory)
    if asked.format is ExportFormat.MARKDOWN:
        if not is_path:
            raise ValidationError("format", "md", "jsonl for an open file, or a folder's path")
        if asked.all_namespaces:
            raise ValidationError(
                "all_namespaces", True, "one namespace for the format md", "export each by itself"
            )
        with session.operation("export"):
            return _write_markdown(session, Path(path_argument("target", target)), asked.where)
    with session.operation("export"):
        namespace = None if asked.all_namespaces else session.namespace
        place = _file_of_lines(target) if is_path else target
        given = asked.where.given()
        if not given:
            return write_export(session.ledger, place, namespace=namespace)
        chosen = _chosen(session, asked.where)
        fields = {name: _plain(value) for name, value in given.items()}
        return write_export(
            session.ledger, place, namespace=namespace, memory_ids=chosen, where=fields
        )


def warnings_of(session: Session, asked: ExportRequest) -> tuple[str, ...]:
    """Warnings of a name that promises one JSON document, and of names that its filter has and the
    store has not."""
    named = asked.target if isinstance(asked.target, (str, os.PathLike)) else ""
    is_json = (
        os.fspath(named).lower().endswith(".json") and asked.format is not ExportFormat.MARKDOWN
    )
    lines = "target: the file holds a JSON object a line, for which names end in .jsonl"
    notes = selection_warnings(session, session.namespace, asked.where)
    return (lines, *notes) if is_json else notes


def _file_of_lines(target: str | os.PathLike[str]) -> Path:
    """The path of a file for lines of JSON: a new one, or an export in whose place this one goes.

    Raises:
        ValidationError: its name says that it holds something else, or it does.
    """
    path = Path(path_argument("target", target))
    if path.suffix.lower() in _OF_OTHERS.split() and not path.is_dir():
        md = by_caller('format="md" writes', "`vestig export FOLDER --format md` writes")
        raise ValidationError(
            "target",
            path.name,
            "the name of a file for lines of JSON, such as all.jsonl",
            f"{md} a folder of Markdown files, and there is no other format",
        )
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as file:
            start = file.read(len(_BEGINNING))
        if start != _BEGINNING:
            raise ValidationError(
                "target",
                str(path),
                "a new file, or an export in whose place this one goes",
                "the file holds something else; move it away, or choose another name",
            )
    return path


def _write_markdown(session: Session, folder: Path, where: Filter) -> ExportCounts:
    """Writes a file for each memory, in a folder that appears whole or not at all. Without a
    filter: those that are active or superseded.

    Raises:
        StoreDamagedError: the ledger is not what was written; what can be read is in the folder,
            and the error names what is missing.
    """
    if folder.suffix.lower() in _OF_FILES and not folder.exists():
        name = str(folder.with_suffix(""))
        way = by_caller(
            f'store.export({name!r}, format="md")',
            f"`vestig export {shell_word(name)} --format md`",
        )
        raise ValidationError(
            "target", str(folder), "the name of a folder", f"it gets a file for each memory: {way}"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValidationError("target", str(folder), "a folder that is missing or empty")
    with session.ledger.read() as view:
        rescue = None
        if findings := verify(view.connection, session.ledger.store_uuid):
            rescue = _Rescue(session, view, where, len(findings))
            memories = rescue.memories()
        else:
            wanted = where if where.given() else Filter(statuses=[one.word for one in _WRITTEN])
            ids = as_stored(view, session.namespace, _chosen(session, wanted))
            memories = _memories(view, session.namespace, ids)
        try:
            make_private_folder(folder.parent)
            with files.copy_in_the_making(folder, _is_markdown, folder=True) as fresh:
                number = 0
                for memory in memories:
                    number += 1
                    file = fresh / file_name(number, memory)
                    beside = (rescue.beside if rescue else partial(_beside, session, view))(memory)
                    file.write_bytes(text_of(memory, beside).encode())
                    file.chmod(0o600)
                if number or not rescue:
                    fresh.replace(folder)
        except OSError as error:
            raise VestigError(
                f"{folder}: the export cannot be written there: {error.strerror}; nothing was left"
            ) from error
    if rescue is not None and not rescue.is_whole:
        raise rescue.error(folder, number)
    return ExportCounts(
        lines=number,
        records={"memory": number},
        cut_references=0,
        warnings=() if rescue is None else (rescue.warning(),),
    )


def _is_markdown(folder: Path) -> bool:
    """Return whether a folder holds nothing but Markdown files."""
    return folder.is_dir() and all(path.suffix == ".md" for path in folder.iterdir())


# Ids of one kind that an error names.
_NAMED_MAX: Final = 100


class _Rescue:
    """Reads what can be read of a damaged ledger, and gathers what cannot.

    Args:
        damages: places of the ledger that are not as they were written.
    """

    def __init__(self, session: Session, view: LedgerView, where: Filter, damages: int) -> None:
        self._session = session
        self._view = view
        self._where = where
        self._damages = damages
        self._missing: list[str] = []
        self._altered: list[str] = []
        self._poorer: list[str] = []
        self._nameless = 0
        self._counted = False
        # what a filter selects is read of the ledger too, and may be too little
        self._filtered = bool(where.given())

    @property
    def is_whole(self) -> bool:
        """Return whether all memories were read, as they were written."""
        lost = self._missing or self._altered or self._poorer or self._nameless
        return self._counted and not lost and not self._filtered

    def warning(self) -> str:
        """Return that other rows than those of memories are damaged."""
        damages = count_of(self._damages, "damaged place")
        return f"the ledger has {damages}, and every memory was read; `vestig doctor` lists them"

    def memories(self) -> Iterator[Memory]:
        """The memories of the namespace that a filter selects, by default the active and the
        superseded.

        Raises:
            StoreDamagedError: the index is damaged too, without which no filter selects.
        """
        space = self._session.namespace
        chosen = set(_chosen(self._session, self._where)) if self._filtered else None
        # ids by whether they are of this namespace
        found, of_others, unread = set[str](), set[str](), set[str]()
        for one in readable.rows(self._view):
            if one.id is not None and one.namespace != space:
                of_others.add(one.id)
            if one.memory is None:
                unread.update(filter(None, [one.id]))
                continue
            found.add(one.memory.id)
            wanted = one.memory.status in _WRITTEN if chosen is None else one.memory.id in chosen
            if one.namespace == space and wanted:
                self._altered += [one.memory.id] if one.altered else []
                yield one.memory
        known = unread | readable.indexed_ids(self._view) | self._projected() | (chosen or set())
        known -= found | of_others
        with suppress(StoreDamagedError):
            known -= self._view.forgotten(sorted(known))
        self._missing = sorted(known)
        written = readable.written_count(self._view)
        self._counted = written is not None
        self._nameless = max(0, (written or 0) - len(found.union(of_others, self._missing)))

    def _projected(self) -> set[str]:
        """Ids of the namespace that the projection has."""
        core, space = self._session.keeper.core, self._session.namespace
        rows = ((one, core.row(one)) for one in split_ids(core.ids()))
        return {id_text("mem", one) for one, row in rows if row and row["namespace"] == space}

    def beside(self, memory: Memory) -> dict[str, Any]:
        """Return what `_beside` returns; of what cannot be read nothing."""
        try:
            return _beside(self._session, self._view, memory)
        except StoreDamagedError:
            self._poorer.append(memory.id)
            return {}

    def error(self, folder: Path, number: int) -> StoreDamagedError:
        """Return the error that says what was written and names what is missing."""
        written = f"{count_of(number, 'memory')} that can be read went to {folder}"
        said = [written if number else "no memory can be read, and nothing was left"]
        for ids, fact in (
            (self._missing, "missing"),
            (self._altered, "not as they were written in all but their text"),
            (self._poorer, "without their entities and the time that they were said"),
        ):
            if ids:
                said.append(f"{len(ids)} are {fact}: {first_of(ids, _NAMED_MAX)}")
        if self._nameless:
            said.append(f"{count_of(self._nameless, 'memory')} missing of unknown id")
        if self._filtered:
            said.append("the filter may have selected too few; without one all are read")
        if not self._counted:
            said.append("how many there were cannot be read")
        return StoreDamagedError(
            f"{self._session.ledger.where}: expected an intact ledger to export, found"
            f" {count_of(self._damages, 'damaged place')}; {'; '.join(said)}; `vestig doctor` lists"
            " the damage, `vestig import` reads the folder"
        )


def _beside(session: Session, view: LedgerView, memory: Memory) -> dict[str, Any]:
    """The arguments of a commit that a memory itself does not have: its keywords and entities that
    are not those of its words, and when it was said, where its times are those that count from
    there."""
    settings, space = session.config.settings, session.namespace
    own = keywords(memory.content, extra_stopwords=settings.keywords.stopwords)
    said = [one for one in view.events(space, memory.id) if one.event_type in _STATING]
    t_ref_us = to_us(said[0].occurred_at) if said and memory.times else None
    dated = not is_undated(memory.metadata)
    if t_ref_us is not None:
        found = find_times(memory.content, t_ref_us, zone=settings.time.zone, dated=dated).windows
        times = [(one.text, one.window_start_us, one.window_end_us) for one in found]
        if times != [(one.text, _us(one.start), _us(one.end)) for one in memory.times]:
            t_ref_us = None
    named = [one.entity_id for one in view.mentions(space, [memory.id])]
    text = memory.content.casefold()
    return {
        "t_ref": None if t_ref_us is None else format_us(t_ref_us),
        "keywords": [word for word in memory.keywords if word not in own] or None,
        "entities": [
            f"{one.entity_type}:{one.canonical_name}"
            for one in view.entities(space, named)
            if one.origin == "forced" or one.canonical_name.casefold() not in text
        ]
        or None,
    }


def _us(moment: datetime | None) -> int | None:
    return None if moment is None else to_us(moment)


def _memories(view: LedgerView, space: str, ids: Sequence[str]) -> Iterator[Memory]:
    for start in range(0, len(ids), _AT_ONCE):
        yield from view.memories(space, ids[start : start + _AT_ONCE])


def _plain(value: Any) -> Any:
    """A field of a checked filter as JSON."""
    if isinstance(value, date):
        return format_us(parse_time(value, "where"))
    return msgspec.to_builtins(value, order="deterministic")


def _chosen(session: Session, where: Filter) -> list[str]:
    """Ids of the memories that the filter lets through."""
    return ids_of(session, filter_parts(where, session.namespace, moments(session.now_us())))
