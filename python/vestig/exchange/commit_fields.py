"""Files of `vestig import` to the arguments of `commit`, and counts of what came of them. Pure:
nothing is stored here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from vestig.arguments import LABEL_CHARS_MAX
from vestig.calls.anchors import GivenAnchor
from vestig.calls.commit import GivenEntity
from vestig.calls.files import ImportFormat
from vestig.errors import ValidationError, VestigError
from vestig.exchange.file_records import RecordFile, Unreadable
from vestig.exchange.formats.drafts import (
    FIELD_NAME,
    MEMORY_REFERENCE,
    Draft,
    Link,
    LogTurn,
    Reading,
    RecordedBelow,
)
from vestig.exchange.formats.messages import text_or_number
from vestig.exchange.formats.table import ROWS, detected, fitting
from vestig.exchange.inputs import Input, is_companion
from vestig.exchange.passages import chunk
from vestig.language.text_forms import CONTROL_CHARACTERS, count_of, first_of, normal_form
from vestig.other_words import by_caller
from vestig.results import ImportedFile, ImportReport
from vestig.types import (
    CommitOutcome,
    CommitOutcomeKind,
    Degradation,
    ItemError,
    MaskedSecret,
    Source,
    Status,
)

KEYS_NAMED_MAX: Final = 20
_REVIVED_SHOWN: Final = 5


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a file is read.

    `scope` is that of records that name none, `bound` the only one that they may name. `system`:
    turns of that role come in. `normalise` is the store's normalisation: a text is split when it is
    longer than `max_chars` after it. `is_noise`: which turns of session logs are left out.
    `shared`: arguments of `commit` that each memory gets beside its own. `anchors`: those of a turn
    of a session log. `recorded`: as of `Reading`.
    """

    format: ImportFormat = ImportFormat.AUTO
    scope: str | None = None
    bound: str | None = None
    system: bool = False
    max_chars: int = 4000
    normalise: Callable[[str], str] = normal_form
    is_noise: Callable[[str], bool] = lambda _: False
    shared: dict[str, Any] = msgspec.field(default_factory=dict)
    anchors: Callable[[LogTurn], tuple[GivenAnchor, ...]] | None = None
    recorded: RecordedBelow = lambda _: ()


class ImportItem(msgspec.Struct, frozen=True, kw_only=True):
    """One record: the commits of all its parts belong into one transaction.

    `is_whole`: near-duplicates are inserted and hygiene refuses only empty text. `line` counts
    from 1. `status`, `successor_ref`, `changed_us`, `in_file_order`, `text_key`: as of `Draft`.
    `is_known_by_id`: the reference is an id that the file gives the record. `replaces`: ids of
    memories with earlier texts of it.
    """

    line: int
    artifact_ref: str
    scope: str | None
    parts: tuple[str, ...]
    arguments: dict[str, Any]
    is_whole: bool
    status: Status | None = None
    successor_ref: str | None = None
    changed_us: int | None = None
    is_known_by_id: bool = False
    in_file_order: bool = False
    replaces: tuple[str, ...] = ()
    text_key: str | None = None

    @property
    def memory_id(self) -> str | None:
        """The id of the memory that was exported as this record; None where it names none."""
        prefix, _, id = self.artifact_ref.partition(MEMORY_REFERENCE)
        return id if not prefix and id else None

    @property
    def has_ended(self) -> bool:
        """Return whether it held no more in the store that it comes from."""
        return self.status in (Status.SUPERSEDED, Status.DEPRECATED)

    @property
    def all_arguments(self) -> dict[str, Any]:
        """Its arguments, and the key that no argument gives."""
        return self.arguments if self.text_key is None else {**self.arguments, "key": self.text_key}

    def commits(self) -> list[dict[str, Any]]:
        """Arguments of `commit`, one mapping per part."""
        made: list[dict[str, Any]] = [{"content": one, **self.arguments} for one in self.parts]
        if self.replaces and made:
            made[0]["supersedes"] = list(self.replaces)
        return made


class ImportFile:
    """A file of any format that can be imported; read item by item.

    For an export only `format` is of use: it is restored, not committed.

    Raises:
        FileNotFoundError: no such file.
        ValidationError: a file that no format knows.

    Example:
        >>> import io
        >>> from vestig.exchange.inputs import StreamInput
        >>> text = b'{"speaker": "Ada", "text": "Hello", "turn": 0}'
        >>> file = ImportFile(StreamInput(io.BytesIO(text)))
        >>> item, = file.items()
        >>> item.parts, item.arguments["author"], item.is_whole
        (('Hello',), 'Ada', True)
    """

    def __init__(self, source: Input, options: ImportOptions | None = None) -> None:
        self._options = ImportOptions() if options is None else options
        self._file = RecordFile(source)
        asked = self._options.format
        self._row = detected(self._file) if asked is ImportFormat.AUTO else ROWS[asked]
        self._reading = Reading(
            self._file.name,
            scope=self._options.scope,
            system=self._options.system,
            is_noise=self._options.is_noise,
            anchors=self._options.anchors,
            recorded=self._options.recorded,
        )
        self._hint = "" if asked is ImportFormat.AUTO else fitting(self._file, asked)
        self._control_characters = self._cut_titles = 0
        # of the last record: turns of one conversation share a title, which counts once
        self._last_names: dict[str, str] = {}
        # (scope, session) → the time of its last turn that has one
        self._times: dict[tuple[Any, Any], Any] = {}
        self.format = self._row.format

    @property
    def left_out(self) -> Counter[str]:
        """Counts, by kind, of what does not come in; complete once `items` is exhausted."""
        return self._reading.left_out

    @property
    def withdrawn(self) -> list[str]:
        """References of messages that are of no branch that is shown; as `left_out`."""
        return list(self._reading.withdrawn)

    def export_lines(self) -> Iterable[bytes]:
        """The unpacked lines, unchanged, to restore an export from; each iteration starts anew."""
        return self._file.export_lines()

    def warnings(self) -> list[str]:
        """Return what was noticed; complete once `items` is exhausted."""
        found = list(self._reading.said)
        keys = list(self._reading.other_keys)
        if keys:
            named = ", ".join(keys[:KEYS_NAMED_MAX])
            more = f" and {len(keys) - KEYS_NAMED_MAX} more" if len(keys) > KEYS_NAMED_MAX else ""
            found.append(f"other keys are kept in metadata: {named}{more}")
        if self._control_characters:
            found.append(f"{self._control_characters} control characters were left out")
        if self._cut_titles:
            found.append(f"{self._cut_titles} titles were cut to {LABEL_CHARS_MAX:,} characters")
        if self._file.halves:
            found.append(f"{self._file.halves} halves of surrogate pairs were replaced by U+FFFD")
        return found

    def items(self) -> Iterator[ImportItem | Link | ItemError]:
        """Items and unreadable lines in file order (`index` of an error = line − 1).

        Raises:
            ValidationError: the file is an export, or damaged.
        """
        for found in self._row.load().read(self._file, self._reading):
            if isinstance(found, Unreadable):
                yield _error(found.line, found.fact + self._hint)
            elif isinstance(found, Link):
                yield found
            else:
                try:
                    yield self._item(found)
                except ValidationError as error:
                    yield _error(found.line, str(error))

    def _item(self, draft: Draft) -> ImportItem:
        content, arguments = draft.content, self._with_plain_names(draft.arguments)
        if draft.is_cut:
            content, left_out = CONTROL_CHARACTERS.subn("", content)
            self._control_characters += left_out
        reference = text_or_number("artifact_ref", arguments.get("artifact_ref"))
        is_known_by_id = reference is not None and draft.is_by_id
        if reference is None:
            reference = f"file:{draft.digest}:{draft.line}"
        if self._options.scope is not None and arguments.get("scope") is None:
            arguments = {**arguments, "scope": self._options.scope}
        arguments = self._with_time(arguments)
        bound = self._options.bound
        if bound is not None and arguments.get("scope") != bound:
            raise ValidationError(
                "scope", arguments.get("scope"), f"none, for the view is bound to {bound!r}"
            )
        return ImportItem(
            line=draft.line,
            artifact_ref=reference,
            scope=text_or_number("scope", arguments.get("scope")),
            parts=self._split(content) if draft.is_cut else (content,),
            arguments=self._with_shared({**arguments, "artifact_ref": reference}),
            is_whole=draft.is_whole,
            status=draft.status,
            successor_ref=draft.successor_ref,
            changed_us=draft.changed_us,
            is_known_by_id=is_known_by_id,
            in_file_order=draft.in_file_order,
            text_key=draft.text_key,
        )

    def _with_time(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments; of a record without a time with that of the turn before it, and a word in
        the metadata by which no relative expression counts from there. Arguments of a commit mean
        what they mean there: said now."""
        if self.format is ImportFormat.MEMORIES:
            return arguments
        time = arguments.get("t_ref", arguments.get("t_valid"))
        place = arguments.get("scope"), arguments.get("session_id")
        if time is not None:
            self._times[place] = time
            return arguments
        metadata = arguments.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            return arguments
        before = None if place[1] is None else self._times.get(place)
        source = {"time_from": "now" if before is None else "turn_before"}
        made = {**arguments, "metadata": {**source, **(metadata or {})}}
        return made if before is None else {**made, "t_ref": before}

    def _with_plain_names(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with titles and authors that a memory may have."""
        made = dict(arguments)
        for name in ("title", "author"):
            value = made.get(name)
            if not isinstance(value, str):
                continue
            plain, left_out = CONTROL_CHARACTERS.subn("", value)
            is_cut = name == "title" and len(plain) > LABEL_CHARS_MAX
            if self._last_names.get(name) != value:
                self._last_names[name] = value
                self._control_characters += left_out
                self._cut_titles += is_cut
            made[name] = plain[:LABEL_CHARS_MAX] if is_cut else plain
        return made

    def _with_shared(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with those of the whole import, where a record has none of its own; lists
        are joined."""
        made = {"source": "import", **self._options.shared, **arguments}
        for name in ("tags", "entities"):
            shared, own = self._options.shared.get(name), arguments.get(name)
            if shared and isinstance(own, (list, tuple)):
                made[name] = [*own, *(one for one in shared if one not in own)]
        return made

    def _split(self, content: str) -> tuple[str, ...]:
        size = self._options.max_chars
        if len(content) <= size or len(self._options.normalise(content)) <= size:
            return (content,)
        parts = [content[start : start + length] for start, length in chunk(content, size, 0)]
        # a part of nothing but whitespace would be refused as empty
        return tuple(part for part in parts if self._options.normalise(part))


def forgotten_warning(count: int) -> str:
    """Return the warning about memories of an import that were forgotten in this store."""
    were = "was" if count == 1 else "were"
    return f"{count_of(count, 'memory')} that {were} forgotten here {were} left out"


def different_warning(count: int, ids: Sequence[str] = ()) -> str:
    """Return the warning about memories that an export gives otherwise than they are stored.

    Args:
        ids: theirs, where they are known.
    """
    one = count == 1
    shown = f": {first_of(ids, _REVIVED_SHOWN)}" if ids else ""
    return (
        f"{count_of(count, 'memory')} {'differs' if one else 'differ'} from the file and"
        f" {'was kept as it is' if one else 'were kept as they are'}{shown}"
    )


def rows_stay_warning(name: str, ids: Sequence[str], *, has_keys: bool) -> str:
    """Return the warning about records of an earlier import of a file that are not in it any more.

    Args:
        name: the file's.
        ids: of the memories that they became.
        has_keys: whether its records have keys or ids.
    """
    rows, shown = count_of(len(ids), "record"), first_of(ids, _REVIVED_SHOWN)
    is_no, stay = ("is no", "stays") if len(ids) == 1 else ("are no", "stay")
    end = by_caller("store.deprecate(id)", "`vestig deprecate ID`")
    keys = ", and with columns `text` and `key`, and none of who speaks, a changed row replaces"
    return (
        f"{name}: {rows} of an earlier import {is_no} longer in it and {stay}: {shown}; {end} ends"
        f" one{'' if has_keys else f'{keys} the one before'}"
    )


def withdrawn_warning(ids: Sequence[str]) -> str:
    """Return the warning about messages of an earlier import that are of another branch now."""
    count, shown = len(ids), first_of(ids, _REVIVED_SHOWN)
    end = by_caller("store.deprecate(id)", "`vestig deprecate ID`")
    is_, stay = ("is", "stays") if count == 1 else ("are", "stay")
    return (
        f"{count_of(count, 'message')} of an earlier import {is_} no longer of the branch that is"
        f" shown and {stay}: {shown}; {end} ends one"
    )


def _memories_were(count: int) -> str:
    return f"{count_of(count, 'memory')} {'was' if count == 1 else 'were'}"


def revived_warning(ids: Sequence[str]) -> str:
    """Return the warning about texts that had been replaced or withdrawn and hold again."""
    texts, holds = count_of(len(ids), "text"), "holds" if len(ids) == 1 else "hold"
    shown = first_of(ids, _REVIVED_SHOWN)
    undo = by_caller("store.deprecate(id)", "`vestig deprecate ID`")
    return (
        f"{texts} that had been replaced or withdrawn here {holds} again: {shown}; {undo} undoes it"
    )


def behind_warning(turns: Counter[str]) -> str:
    """Return the warning about turns that stand behind later ones of their session.

    Args:
        turns: session → how many.
    """
    count = turns.total()
    has, is_, stands = ("has", "is", "stands") if count == 1 else ("have", "are", "stand")
    return (
        f"{count_of(count, 'turn')} of {first_of([*turns], _REVIVED_SHOWN)} {has} no `sequence`,"
        f" {is_} older than what the session had and {stands} behind it: import the oldest file"
        " first, or give each turn its place"
    )


def _error(line: int, message: str) -> ItemError:
    return ItemError(index=line - 1, code=ValidationError.code, message=f"line {line}: {message}")


def named(entity: GivenEntity) -> str | dict[str, Any]:
    """An entity as a caller of `commit` names it."""
    if entity.is_text:
        return entity.name
    names = ("name", "type", "confidence", "evidence")
    return {name: getattr(entity, name) for name in names}


# --- counts -----------------------------------------------------------------------------------

_ERRORS_SHOWN: Final = 100
# The format of a report on files of several.
_MIXED: Final = "mixed"
OTHER_KIND: Final = "file of another kind"
_NAMES_SHOWN: Final = 5
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
        reasons: list[str] = []
        for outcome in outcomes:
            if isinstance(outcome, ItemError):
                message = f"line {item.line}: {outcome.message}"
                self.refuse(ItemError(index=item.line - 1, code=outcome.code, message=message))
                return
            kinds.add(outcome.outcome)
            if outcome.outcome is CommitOutcomeKind.REJECTED_HYGIENE:
                reasons.append("; ".join(outcome.hygiene_reasons))
            self.memories += outcome.outcome is CommitOutcomeKind.INSERTED_NEW
            replaced = [one for one in outcome.superseded if one in item.replaces]
            self.run.replaced += replaced
            self.ended += len(replaced)
            if outcome.memory_id is not None:
                # of a folder one file may say again what another one ended
                is_own = outcome.revives is None or outcome.revives in self.run.exported
                if not (is_own or item.has_ended):
                    self.run.revived.append(outcome.memory_id)
                if item.memory_id is not None:
                    self.run.exported.add(outcome.memory_id)
            self.run.degrade(outcome.degraded)
            self.secrets(outcome.masked, f"line {item.line}: ")
            self.echoes(outcome.echoes, outcome.echo_places, f"line {item.line}: ")
        for reason in reasons[:1] if len(kinds) == 1 else reasons:
            self._note(item.line - 1, "hygiene-rejected", f"line {item.line}: {reason}")
        if kinds == {CommitOutcomeKind.REJECTED_HYGIENE}:
            self.rejected += 1
            return
        if reasons:
            self.left_out["part that was refused"] += len(reasons)
        if CommitOutcomeKind.INSERTED_NEW in kinds:
            self.imported += 1
        else:
            self.duplicates += 1

    def secrets(self, masked: Sequence[MaskedSecret], where: str = "") -> None:
        """Secrets that were masked in a record."""
        for one in masked:
            self.left_out["secret"] += one.count
            places = ", ".join(one.places)
            self.run.warn(f"{self._where}{where}masked {one.count} × {one.rule}: {places}")

    def echoes(self, ids: Sequence[str], places: Sequence[str], where: str = "") -> None:
        """Memories that stood in a record as the store prints them, and were taken out."""
        if ids:
            self.left_out["echo of a memory"] += len(ids)
            named = f"{', '.join(ids)}: {', '.join(places)}"
            self.run.warn(f"{self._where}{where}left out what the store printed of {named}")

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
        self.left_out["passage that was refused"] += 1
        self._note(error.index, error.code, f"passage {error.index + 1}: {error.message}")

    def unchanged(self, source_id: str, passages: int, kept: int) -> None:
        """A document whose file is as it was; `kept`: passages that were not forgotten since."""
        self.lines += 1
        self.skipped += 1
        self.source_id = source_id
        self.passages += passages
        self.kept += kept

    def document(
        self,
        *,
        source_id: str | None,
        known: Source | None,
        passages: int,
        added: int,
        kept: int,
        ended: int,
        moved: tuple[str, str] | None = None,
    ) -> None:
        """A document that was compared; `source_id`: of its new version, `known`: of the one
        before; `moved`: the paths before and now of one whose file has moved."""
        changed = bool(source_id or added or ended or moved)
        if moved is not None:
            self.run.moved[moved[0]] = moved[1]
        self.lines += 1
        self.imported += changed
        self.skipped += not changed
        self.source_id = source_id or (None if known is None else known.id)
        # a file of mails holds several documents
        self.passages += passages
        self.added += added
        self.kept += kept
        self.ended += ended

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
        # files in folders that were not read
        self.left_out: Counter[str] = Counter()
        # files of other kinds
        self.passed_over: list[Tally] = []
        # what was noticed while files were read → their names
        self.notices: dict[str, list[str]] = {}
        # documents whose file is gone; those that have moved, from where; those that ended
        self.missing: tuple[str, ...] = ()
        self.moved: dict[str, str] = {}
        self.ended_documents: dict[str, int] = {}
        # files and folders that could not be read, in which documents may be
        self.unread: list[str] = []
        # names of fields of front matter that are left out
        self.front_matter: Counter[str] = Counter()
        # records of memories that were forgotten here
        self.forgotten = 0
        # memories whose text had been replaced or withdrawn here
        self.revived: list[str] = []
        # memories of this import that another store exported
        self.exported: set[str] = set()
        # memories whose export gives their fields or state otherwise
        self.different: dict[str, None] = {}
        # memories that a newer text of their record replaced; those that stay beside it
        self.replaced: list[str] = []
        self.beside: dict[str, None] = {}
        # id of a record with another text than before, which was not taken → its memory
        self.changed: dict[str, str] = {}
        # id of a turn whose text stands under it in another session → its memory
        self.elsewhere: dict[str, str] = {}
        # by file: lines of records with the id of an earlier one of the import and another
        # text or session
        self.repeated: dict[str, list[str]] = {}
        # references of messages of other branches
        self.withdrawn: dict[str, None] = {}
        # session → its turns that stand behind later ones
        self.behind: Counter[str] = Counter()

    def pass_over(self, source: Input) -> None:
        """Counts a file of another kind."""
        tally = Tally(source, self, lone=True)
        tally.left_out[OTHER_KIND] += 1
        self.passed_over.append(tally)

    def notice(self, source: Input, warnings: Iterable[str]) -> None:
        """Notes what was noticed while a file was read."""
        for one in warnings:
            self.notices.setdefault(one, []).append(source.name)

    def warn(self, warning: str) -> None:
        """Notes a warning once."""
        self.warnings[warning] = None

    def degrade(self, entries: Sequence[Degradation]) -> None:
        """Counts what was done less well."""
        for entry in entries:
            before = self.degraded.get(entry.code)
            count = entry.count + (0 if before is None else before.count)
            self.degraded[entry.code] = msgspec.structs.replace(entry, count=count)

    def _noticed(self) -> Iterator[str]:
        """Warnings about files, and about what is kept out or holds again."""
        several = len(self.tallies) > 1
        for notice, names in self.notices.items():
            yield f"{first_of(names, _NAMES_SHOWN)}: {notice}" if several else notice
        kinds = [one.source.name for one in self.passed_over if not is_companion(one.source.name)]
        if kinds:
            yield f"files of other kinds were passed over: {first_of(kinds, _NAMES_SHOWN)}"
        # a line without a name, or with one that is none, says nothing to who reads it
        fields = [name for name in self.front_matter if FIELD_NAME.fullmatch(name)]
        if fields:
            yield f"left out of front matter: {first_of(sorted(fields), KEYS_NAMED_MAX)}"
        if self.forgotten:
            yield forgotten_warning(self.forgotten)
        if self.revived:
            yield revived_warning(self.revived)
        if self.behind:
            yield behind_warning(self.behind)

    def _of_changed_records(self) -> Iterator[str]:
        """Warnings about records whose text is another one than when they were imported."""
        if self.replaced:
            yield (
                f"{_memories_were(len(self.replaced))} replaced by a newer text of the same record:"
                f" {first_of(self.replaced, _REVIVED_SHOWN)}"
            )
        if self.beside:
            stay = "stays" if len(self.beside) == 1 else "stay"
            ended = by_caller("store.supersede(old, new)", "`vestig supersede OLD NEW`")
            yield (
                f"{count_of(len(self.beside), 'memory')} {stay} beside a newer text of the same"
                f" record, for something else states the same:"
                f" {first_of([*self.beside], _REVIVED_SHOWN)}; {ended} ends one"
            )
        if self.changed:
            count = len(self.changed)
            shown = first_of([*self.changed.values()], _REVIVED_SHOWN)
            update = by_caller("store.update(id, content=…)", '`vestig update ID --content "…"`')
            scope = by_caller("scope=…", "--scope S")
            of_export = all(ref.startswith(MEMORY_REFERENCE) for ref in self.changed)
            other = "a file without its `id`" if of_export else f"another {scope}"
            yield (
                f"{count_of(count, 'record')} with another text than the one that is stored under"
                f" the same id {'was' if count == 1 else 'were'} not taken, and the text of before"
                f" stays: {shown}; {update} changes it, {other} takes in what is no version of it"
            )
        if self.elsewhere:
            count = len(self.elsewhere)
            shown = first_of([*self.elsewhere.values()], _REVIVED_SHOWN)
            scope = by_caller("scope=…", "--scope S")
            yield (
                f"{count_of(count, 'turn')} {'was' if count == 1 else 'were'} skipped, for the id"
                f" and the text are those of another session: {shown}; another {scope} takes in"
                " chats that number their messages alike"
            )
        if self.different:
            yield different_warning(len(self.different), [*self.different])
        for name, places in self.repeated.items():
            count = len(places)
            yield (
                f"{name}: {count_of(count, 'record')} with the id of an earlier one and another"
                f" text or session {'was' if count == 1 else 'were'} not taken, for no time of a"
                f" change says that it is newer: {first_of(places, _REVIVED_SHOWN)}; give each an"
                " id of its own, or none"
            )

    def report(self) -> ImportReport:
        """The counts of all files."""
        total: Counter[str] = Counter()
        left_out = Counter(self.left_out)
        for tally in (*self.tallies, *self.passed_over):
            counts = tally.counts()
            left_out.update(counts.pop("left_out"))
            counts.pop("source_id")
            total.update(counts)
        self.warnings.update(dict.fromkeys((*self._noticed(), *self._of_changed_records())))
        known = [tally for tally in self.tallies if tally.format is not None]
        # a file without a record says nothing about the others
        formats = {str(tally.format) for tally in [one for one in known if one.lines] or known}
        files = tuple(
            ImportedFile(
                path=tally.source.name,
                format=None if tally.format is None else tally.format.value,
                **tally.counts(),
            )
            for tally in (*self.tallies, *self.passed_over)
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
            ended=total["ended"] + sum(self.ended_documents.values()),
            source_id=self.tallies[0].source_id if len(self.tallies) == 1 else None,
            missing=self.missing,
            moved=self.moved,
            ended_documents=tuple(self.ended_documents),
            left_out=dict(sorted(left_out.items())),
            files=files if len(files) > 1 else (),
            errors=tuple(self.errors[:_ERRORS_SHOWN]),
            errors_more=max(0, len(self.errors) - _ERRORS_SHOWN),
            warnings=tuple(self.warnings),
            degraded=tuple(self.degraded.values()),
        )
