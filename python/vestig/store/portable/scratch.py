"""Reads a whole export into a ledger of its own before anything of it is written, and says what is
wrong with it.

The scratch ledger has the tables of every ledger, so that SQLite checks what a ledger refuses: a
value outside of its bounds, a second row of one key, a row that belongs to none. A node has the
number of its line as its row. What a ledger does not know is checked here: that lines are well
formed, in order and as many as the trailer says, that references stay in a namespace, and that a
memory comes with its event, its vector and its successor. Rows go to an unnamed file where they are
many: memory does not grow with the file.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from vestig.errors import ValidationError
from vestig.ids import id_text
from vestig.other_words import by_caller
from vestig.ports import PIECES_MAX, Pieces, Progress, are_pieces
from vestig.store.integrity import chain
from vestig.store.portable.lines import (
    EMBEDDING_MODEL,
    EVENTS,
    FORM_OF,
    FORMS,
    MEMORIES,
    NORMAL,
    SUPERSESSIONS,
    TOMBSTONES,
    VECTORS,
    FileDigest,
    Form,
    Header,
    Record,
    Target,
    Trailer,
    kind_of,
    named_by,
    owner_of_line,
    read_line,
)
from vestig.store.portable.values import Oddity, oddity_of
from vestig.store.records.memory_versions import insert_original, write_new_tags
from vestig.store.records.projection_rows import AXES
from vestig.store.records.removal import Removal, TombstoneFields, leave_out
from vestig.store.records.rows import from_json
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import fetch, known_ids, rows_of, store_faults
from vestig.store.tables.schema import ALL, CHAINED, INDEX, INSERT, NODE_TABLES, TABLES
from vestig.store.tables.table import FLOAT_MAX, Column, Shape, Table
from vestig.times import format_us

NormalForms = Callable[[str], Collection[str]]


def _hint() -> str:
    whole = by_caller("partial=True", "--partial")
    return f"the file was cut or changed: export it again, or take what is whole with {whole}"


def _edited() -> str:
    whole = by_caller("partial=True", "--partial")
    editable = by_caller('export(folder, format="md")', "`vestig export DIR --format md`")
    change = by_caller("update(id, content=…)", '`vestig update ID --content "…"`')
    return (
        f"a text was edited, and an export is restored as it was written: {editable} writes files"
        f" that may be edited, {change} changes a text that is stored, and {whole} takes what is"
        " whole"
    )


_SHOWN_DIGITS: Final = 12
PROGRESS_LINES: Final = 1_000
_CACHE_KIB: Final = 16 * 1024
_M: Final = INDEX[MEMORIES]
# What the lines say of each other beyond the rows of a ledger: their numbers, and the model that
# the line of a memory names. Part of the tables' own statements: SQLite reads its whole schema
# again for each column that is added to a table.
_COLUMNS: Final = {
    **{form.table.name: ("line INTEGER",) for form in FORMS.values()},
    MEMORIES: ("line INTEGER", "embedding_model TEXT"),
}
# With ids of nodes that may come in later lines, and unusual vectors.
_TABLES: Final = "\n".join(
    (
        *(
            table.statements(*_COLUMNS.get(table.name, ()))
            for table in ALL
            if not table.made_when_needed
        ),
        *(
            f"CREATE UNIQUE INDEX {form.table.name}_one_id ON {form.table.name} (id);"
            for form in FORMS.values()
            if form.table.prefix is not None
        ),
        "CREATE TABLE later (line INTEGER, place TEXT, field TEXT, id BLOB);",
        "CREATE TABLE odd_vectors (line INTEGER PRIMARY KEY, node TEXT, zero INTEGER);",
    )
)
# As any row, with the number of its line.
_INSERT: Final = {
    kind: INSERT[form.table.name].replace(") VALUES (", ", line) VALUES (?, ")
    for kind, form in FORMS.items()
}


class Scratch(NamedTuple):
    """A file that was read to its end.

    Args:
        conn: of the ledger that holds its rows; closed by the caller.
        header: its first line.
        lines: how many are not blank; `frame_lines` of them are header and trailer.
        left_out: line → why it cannot be taken; empty unless the file was read as a partial one.
        warnings: what the file cannot be checked for, and what is taken otherwise than it stands.
    """

    conn: apsw.Connection
    header: Header
    lines: int
    frame_lines: int
    left_out: dict[int, str]
    warnings: tuple[str, ...]


@contextmanager
def scratch_ledger(
    lines: Iterable[str | bytes],
    *,
    partial: bool,
    folder: Path | None = None,
    normal_forms: NormalForms | None = None,
    progress: Progress | None = None,
) -> Iterator[Scratch]:
    """Reads all lines into a ledger that goes when it is left.

    Args:
        lines: of the whole file, with or without their ends.
        partial: a line that cannot be taken is named in the answer, with the memory, entity or
            source that it belongs to; without it the first such line is an error.
        folder: of the store, for the file of the ledger: no text goes elsewhere.
        normal_forms: the normal forms that a text may have; None = any.
        progress: called with the lines read.

    Raises:
        ValidationError: the file has no header that is understood, or, unless `partial`, something
            in it is missing, altered or contradictory; names the line, never its text.
        VestigError: no room for the scratch ledger.
    """
    with store_faults("the scratch ledger of an import"):
        conn = _unnamed_file(folder)
    try:
        with store_faults("the scratch ledger of an import"):
            conn.execute("PRAGMA journal_mode = MEMORY")
            conn.execute("PRAGMA locking_mode = EXCLUSIVE")
            conn.execute("PRAGMA synchronous = OFF")
            conn.execute("PRAGMA temp_store = MEMORY")
            conn.execute("PRAGMA foreign_keys = ON")
            conn.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            conn.execute("BEGIN")
            conn.execute(_TABLES)
            reading = _Reading(conn, partial=partial, normal_forms=normal_forms)
            for number, line in enumerate(lines, 1):
                reading.take(line, number)
                if progress is not None and number % PROGRESS_LINES == 0:
                    progress(number, None)
            found = reading.finish()
        yield found
    finally:
        conn.close()


def _unnamed_file(folder: Path | None) -> apsw.Connection:
    """Opens an empty database in a file of this folder that has no name, so that a process that is
    killed leaves nothing of it; without a folder, one of SQLite's own."""
    if folder is None or not os.access(folder, os.W_OK):
        return apsw.Connection("")
    path = folder / f".import-{os.urandom(4).hex()}"
    files.make_private(path)
    try:
        return apsw.Connection(str(path))
    finally:
        path.unlink()


class _LeftOut(Exception):
    """A line belongs to what is left out."""


class _Reading:
    """One reading of a file."""

    def __init__(
        self, conn: apsw.Connection, *, partial: bool, normal_forms: NormalForms | None
    ) -> None:
        self._conn = conn
        self._partial = partial
        self._normal_forms = normal_forms
        self._digest = FileDigest()
        self._header: Header | None = None
        self._trailer: Trailer | None = None
        self._counts: Counter[str] = Counter()
        self._lines = self._number = self._seq = 0
        # Vectors by whether they are zero; the others have another length than 1.
        self._odd_vectors: Counter[bool] = Counter()
        self._left_out: dict[int, str] = {}
        # Nodes that cannot be taken.
        self._left_nodes: set[str] = set()
        self._warnings: list[str] = []
        # memories whose codes of word pieces are left out
        self._other_codes = 0

    def take(self, line: str | bytes, number: int) -> None:
        """A line of the file; a blank one counts for the digest alone."""
        if line.strip():
            self._lines += 1
            self._number = number
            last = self._trailer is not None
            with self._fault(number, None if last else line):
                if last:
                    raise ValidationError("record", "another line", "nothing after the trailer")
                self._take(read_line(line), number)
        self._digest.add(line)

    def _take(self, record: Header | Trailer | Record, number: int) -> None:
        if isinstance(record, Header):
            self._begin(record)
        elif self._header is None:
            raise ValidationError("record", kind_of(record), "the header first")
        elif isinstance(record, Trailer):
            self._end(record)
        else:
            self._counts[kind_of(record)] += 1
            self._record(FORM_OF[type(record)], record, number, self._header)

    @contextmanager
    def _fault(
        self, number: int, line: str | bytes | None = None, node: str = ""
    ) -> Iterator[None]:
        """Names the line of an error; a partial reading notes it, and leaves the node out that the
        line is or belongs to."""
        try:
            yield
        except _LeftOut as left:
            self._left_out[number] = f"line {number}: {left}"
        except ValidationError as error:
            field = f"line {number}, {error.field}" if error.field else f"line {number}"
            named = ValidationError(field, error.value, error.allowed)
            if not self._partial or self._header is None:
                raise named from error.__cause__
            self._left_out[number] = str(named)
            owner = node if line is None else owner_of_line(line)
            if owner:
                self._left_nodes.add(owner)

    # --- header and trailer --------------------------------------------------------------------

    def _begin(self, header: Header) -> None:
        if self._header is not None:
            raise ValidationError("record", "header", "one header, on the first line")
        if header.namespace is not None and header.namespace not in header.namespaces:
            raise ValidationError("namespace", header.namespace, "one of namespaces, or null")
        self._header = header

    def _end(self, trailer: Trailer) -> None:
        self._trailer = trailer
        for kind in sorted(trailer.counts.keys() | self._counts.keys()):
            stated, found = trailer.counts.get(kind, 0), self._counts[kind]
            if stated != found and not self._left_out:
                raise ValidationError(
                    f"counts.{kind}", stated, f"{found}, as many as the file has ({_hint()})"
                )
        if trailer.sha256 != self._digest.hex():
            raise ValidationError(
                "sha256", trailer.sha256[:12], f"the hash of the lines before it ({_hint()})"
            )

    # --- records -------------------------------------------------------------------------------

    def _record(self, form: Form, record: Record, number: int, header: Header) -> None:
        self._check_place(record, header)
        values = form.values(record)
        at = INDEX[form.table.name]
        if form.texts:
            values[_M["content"]] = self._normal_text(record)
        for name, value in (("row", number), ("salt", b""), ("seq", None)):
            if name in at and values[at[name]] is None:
                values[at[name]] = value
        spaces = self._resolve(form, record, values, number)
        self._check_vectors(form, values, next(iter(spaces), ""), number)
        if form.kind == "token_codes" and not self._is_compared(values[at["axes"] :]):
            return
        self._insert(form.table, _INSERT[form.kind], (*values, number))
        self._insert_beside(form, record, values, number)

    def _is_compared(self, codes: Sequence[bytes]) -> bool:
        """Check the axes, numbers and codes of word pieces. Those along other axes cannot be
        compared, and are left out."""
        axes, ids, raw = codes
        if not are_pieces(Pieces(ids, raw)):
            shown = f"{len(ids)} and {len(raw)} bytes"
            raise ValidationError("ids, codes", shown, f"those of 1 to {PIECES_MAX} word pieces")
        self._other_codes += axes != AXES
        return axes == AXES

    def _check_place(self, record: Record, header: Header) -> None:
        """Lines stand in the order of their seq, so that what a line refers to is before it; those
        without one are the last."""
        for name in ("seq", "wseq", "expired_seq"):
            seq = getattr(record, name, 0)
            if seq > header.seq:
                raise ValidationError(name, seq, f"at most the header's seq {header.seq}")
        seq = getattr(record, "seq", None)
        if seq is not None and seq < self._seq:
            raise ValidationError("seq", seq, f"at least {self._seq}, that of the line before")
        self._seq = self._seq if seq is None else seq
        namespace = getattr(record, "namespace", None)
        if namespace is not None and namespace not in header.namespaces:
            raise ValidationError("namespace", namespace, "a namespace that the header names")
        model = getattr(record, "model", None)
        known = None if header.embedding is None else header.embedding.model
        empty = model == "" and getattr(record, "embedding", None) == b""
        if model is not None and model != known and not empty:
            raise ValidationError("model", model, "the model of the header")

    def _normal_text(self, record: Any) -> str:
        """The normal form of the text of a memory."""
        normal, given = record.normal, record.content
        text = given if normal is msgspec.UNSET else normal
        if hashlib.sha256(text.encode()).hexdigest() != record.content_hash:
            name = "content" if normal is msgspec.UNSET else NORMAL
            got = record.content_hash[:_SHOWN_DIGITS]
            raise ValidationError("content_hash", got, f"the hash of {name} ({_edited()})")
        if normal == given:
            raise ValidationError(NORMAL, "the content", "no such field where it is the content")
        forms = self._normal_forms
        if normal is not msgspec.UNSET and forms is not None and normal not in forms(given):
            raise ValidationError(NORMAL, "another text", "the normal form of content")
        return str(text)

    def _resolve(
        self, form: Form, record: Record, values: list[Any], number: int
    ) -> dict[str, str]:
        """Puts rows in place of ids; the nodes that the line names, with their namespaces.

        Raises:
            ValidationError: an id that no earlier line holds, or that lies elsewhere.
            _LeftOut: the line belongs to a node that is left out.
        """
        at, spaces = INDEX[form.table.name], dict[str, str]()
        for field, reference, (target, id) in named_by(form, record, values):
            if reference is not None and reference.later and form.table.node:
                place = (number, form.table.name, target.column, id)
                self._conn.execute("INSERT INTO later VALUES (?, ?, ?, ?)", place)
                continue
            text = id_text(target.prefix, id)
            if text in self._left_nodes:
                if reference is not None and reference.cleared:
                    continue
                raise _LeftOut(f"{form.kind} of {text}, which was left out")
            row, space = self._node(target, id, field, text)
            if spaces and space not in spaces.values():
                raise ValidationError(field, text, "the id of a node in the same namespace")
            values[at[target.column]], spaces[text] = row, space
        return spaces

    def _node(self, target: Target, id: bytes, field: str, text: str) -> tuple[int, str]:
        sql = f'SELECT "row", namespace FROM {target.table} WHERE id = ?'
        for row, namespace in self._conn.execute(sql, (id,)):
            return row, namespace
        raise ValidationError(field, text, "the id of a record that an earlier line holds")

    def _check_vectors(self, form: Form, values: Sequence[Any], node: str, number: int) -> None:
        """Notes a vector of zeros, or of another length than 1 where the model normalises; the
        trailer says how many there are."""
        assert self._header is not None
        known, at = self._header.embedding, INDEX[form.table.name]
        for name in form.vectors:
            raw = values[at[name]]
            if not raw and values[at["model"]] == "":
                continue  # no vector, and none is said to be there
            if known is None or len(raw) != 4 * known.dimensions:
                shown = f"{len(raw) // 4} dimensions"
                raise ValidationError(f"{name}, model", shown, "as many as the header's model has")
            oddity = oddity_of(raw, known)
            if oddity is not None:
                zero = oddity is Oddity.ZERO
                self._odd_vectors[zero] += 1
                sql = "INSERT INTO odd_vectors VALUES (?, ?, ?)"
                self._conn.execute(sql, (number, node, int(zero)))

    def _insert(self, table: Table, sql: str, values: Sequence[Any]) -> None:
        try:
            self._conn.execute(sql, values)
        except apsw.ConstraintError as error:
            raise _refused(table, values, error) from None

    def _insert_beside(self, form: Form, record: Any, values: Sequence[Any], number: int) -> None:
        """Rows of other tables that the same line says."""
        beside = form.beside_values(record)
        if form.within is not None and beside is not None:
            self._insert(form.within, INSERT[form.within.name], (number, *beside))
        if not form.texts:
            return
        sql = f'UPDATE {MEMORIES} SET embedding_model = ? WHERE "row" = ?'
        self._conn.execute(sql, (getattr(record, EMBEDDING_MODEL), number))
        write_new_tags(self._conn, [(number, from_json(values[_M["metadata"]]).get("tags", ()))])
        if record.normal is not msgspec.UNSET:
            insert_original(self._conn, number, values[_M["wseq"]], record.content)

    # --- the end -------------------------------------------------------------------------------

    def finish(self) -> Scratch:
        """Return what was found.

        Raises:
            ValidationError: see `scratch_ledger`.
        """
        if self._header is None:
            raise ValidationError("line 1", "nothing", "the header of an export")
        frame = 1 + (self._trailer is not None)
        if self._trailer is None:
            with self._fault(self._number + 1):
                raise ValidationError(
                    "record", "the end of the file", f"more lines, the last with the record end"
                    f" ({_hint()})"
                )  # fmt: skip
        self._check_odd_vectors()
        self._check_memories()
        lost = self._refer_to_later()
        deprecated = self._check_successors(lost)
        if self._left_out:
            self._leave_out(deprecated)
        for line, id in sorted(deprecated.items()):
            if id not in self._left_nodes:
                self._warnings.append(
                    f"line {line}: {id} is taken as deprecated, for its successor is missing"
                )
        if self._other_codes:
            self._warnings.append(
                f"{self._other_codes} memories come without codes of their word pieces: those of"
                " the file were made in another way and cannot be compared; make them with"
                " `vestig rebuild --tokens`"
            )
        return Scratch(
            self._conn, self._header, self._lines, frame, self._left_out, tuple(self._warnings)
        )

    def _each(self, sql: str, field: str, shown: str, allowed: str) -> None:
        """A fault at each of these lines (line, id of the node)."""
        for line, id in fetch(self._conn, sql):
            node = id if isinstance(id, str) else id_text("mem", id)
            if node not in self._left_nodes:
                with self._fault(line, node=node):
                    raise ValidationError(field, shown, allowed)

    def _check_odd_vectors(self) -> None:
        """Zero vectors and such of another length than 1 are as many as the trailer says."""
        trailer = self._trailer
        sql = "SELECT line, node FROM odd_vectors WHERE zero = {} ORDER BY line"
        if self._odd_vectors[True] > (0 if trailer is None else trailer.zero_vectors):
            allowed = "a vector that is not zero"
            self._each(sql.format(1), "embedding", "a length of 0", allowed)
        if trailer is not None and self._odd_vectors[False] > trailer.unscaled_vectors:
            self._each(sql.format(0), "embedding", "another length", "a vector of length 1")

    def _check_memories(self) -> None:
        """Every memory has the event that added it, the vector that its line names, and no
        tombstone."""
        for condition, field, shown, allowed in (
            (
                f'NOT EXISTS (SELECT 1 FROM {EVENTS} e WHERE e.memory = m."row"'
                " AND e.event_type IN ('ADD', 'IMPORT'))",
                "event", "none", "an ADD or IMPORT event of the memory",
            ),
            (
                f"m.embedding_model IS NOT (SELECT model FROM {VECTORS} v"
                ' WHERE v.memory = m."row")',
                EMBEDDING_MODEL, "another, or none",
                "the model of the memory's vector, null without one",
            ),
        ):  # fmt: skip
            sql = f"SELECT line, id FROM {MEMORIES} m WHERE {condition} ORDER BY line"
            self._each(sql, field, shown, allowed)
        both = f"SELECT t.line, m.id FROM {TOMBSTONES} t JOIN {MEMORIES} m ON m.id = t.id"
        for line, id in fetch(self._conn, both):
            with self._fault(line):
                raise ValidationError("id", id_text("mem", id), "the id of no memory of this file")

    def _refer_to_later(self) -> set[int]:
        """Sets the references to nodes that may stand in later lines; the lines that refer to none,
        where the file is read as a partial one."""
        lost = set[int]()
        for line, name, column, id in fetch(self._conn, "SELECT * FROM later ORDER BY line"):
            prefix = TABLES[name].prefix or ""
            found = fetch(
                self._conn,
                f'SELECT t."row", n.namespace, t.namespace, n.id FROM {name} n'
                f' LEFT JOIN {name} t ON t.id = ? WHERE n."row" = ?',
                (id, line),
            )
            if not found:
                continue  # the line itself is left out
            row, space, other, own = found[0]
            if space != other:
                if not self._partial:
                    allowed = "the id of a record of this file, in the same namespace"
                    raise ValidationError(f"line {line}, {column}", id_text(prefix, id), allowed)
                lost |= {line} if column == "superseded_by" else set()
                continue
            with self._fault(line, node=id_text(prefix, own)):
                try:
                    sql = f'UPDATE {name} SET "{column}" = ? WHERE "row" = ?'
                    self._conn.execute(sql, (row, line))
                except apsw.ConstraintError as error:
                    values = fetch(self._conn, f'SELECT * FROM {name} WHERE "row" = ?', (line,))[0]
                    raise _refused(TABLES[name], values, error) from None
        return lost

    def _check_successors(self, lost: set[int]) -> dict[int, str]:
        """Superseded memories have their supersession records; those without are as many as the
        references that the trailer says were cut. The others (line → id) become deprecated, as do
        those whose successor is not taken.

        Args:
            lost: lines of memories that name a successor which the file does not hold.
        """
        recorded = f'SELECT 1 FROM {SUPERSESSIONS} s WHERE s.superseded = m."row"'
        lone = fetch(
            self._conn,
            f"SELECT line, id FROM {MEMORIES} m WHERE status = 'superseded'"
            f" AND NOT EXISTS ({recorded})",
        )
        refused = fetch(
            self._conn,
            f"SELECT line, id FROM {MEMORIES} m WHERE superseded_by IS NOT NULL"
            f" AND NOT EXISTS ({recorded} AND s.superseding = m.superseded_by)",
        )
        cut = 0 if self._trailer is None else self._trailer.cut_references
        refused += lone if len(lone) > cut else []
        if refused and not self._partial:
            raise ValidationError(
                f"line {min(refused)[0]}, status",
                "superseded",
                "a supersession record of the memory",
            )
        refused += [
            row
            for row in fetch(
                self._conn,
                f"SELECT m.line, m.id, s.id FROM {MEMORIES} m LEFT JOIN {MEMORIES} s"
                " ON s.\"row\" = m.superseded_by WHERE m.status = 'superseded'",
            )
            if row[0] in lost or (row[2] and id_text("mem", row[2]) in self._left_nodes)
        ]
        return {line: id_text("mem", id) for line, id, *_ in refused}

    def _leave_out(self, deprecated: dict[int, str]) -> None:
        """Takes the nodes that cannot be taken out of the ledger, with what belongs to them, and
        entities and sources that nothing supports then; names the lines that go with them.
        Memories whose successor is not taken (line → id) become deprecated."""
        assert self._header is not None
        before, named = self._lines_held(), dict[int, str]()
        self._conn.execute("PRAGMA defer_foreign_keys = ON")
        for line in deprecated:
            sql = f"UPDATE {MEMORIES} SET status = 'deprecated', superseded_by = NULL"
            self._conn.execute(f'{sql} WHERE "row" = ?', (line,))
            self._conn.execute(f"DELETE FROM {SUPERSESSIONS} WHERE superseded = ?", (line,))
        link = chain.Link(b"", 0, 0, [0] * len(CHAINED))
        newest_us = fetch(self._conn, f"SELECT IFNULL(MAX(recorded_us), 0) FROM {EVENTS}")[0][0]
        for space in self._header.namespaces:
            fields = TombstoneFields(space, None, self._header.seq, newest_us)
            rows = dict[str, list[int]]()
            for prefix, table in NODE_TABLES.items():
                keys = known_ids(sorted(self._left_nodes), prefix)
                found = rows_of(self._conn, table, space, keys)
                rows[table] = sorted(found.values())
                named |= {row: id for id, row in found.items()}
            leave_out(Removal(self._conn, link), rows, fields)
        self._conn.execute(
            f"UPDATE {MEMORIES} SET revives = NULL"
            f' WHERE revives NOT IN (SELECT "row" FROM {MEMORIES})'
        )
        for line in before.keys() - self._lines_held().keys() - self._left_out.keys():
            kind, *nodes = before[line]
            node = next((named[row] for row in nodes if row in named), "")
            why = (
                f"{kind} of {node}, which was left out"
                if node
                else f"{kind} of nothing that is taken"
            )
            if line in named:  # the row of a node is its line
                why = f"{named[line]} is not whole, see the other lines of it that are left out"
            self._left_out[line] = f"line {line}: {why}"

    def _lines_held(self) -> dict[int, tuple[Any, ...]]:
        """Line → its kind, and the rows of the nodes that it names."""
        held: dict[int, tuple[Any, ...]] = {}
        for form in FORMS.values():
            named = [target.column for one in form.references for target in one.targets]
            columns = ", ".join(("line", *named, *(one.name for one, _field in form.ends)))
            for line, *nodes in fetch(self._conn, f"SELECT {columns} FROM {form.table.name}"):
                held[line] = (form.kind, *nodes)
        return held


# --- what SQLite refused -------------------------------------------------------------------------


def _refused(table: Table, values: Sequence[Any], error: apsw.ConstraintError) -> ValidationError:
    """Return what a constraint says of a row."""
    rule, _colon, place = str(error).partition(" constraint failed: ")
    if rule == "CHECK":
        return _unchecked(table, values, place)
    if rule == "UNIQUE":
        for index, allowed in table.unique:
            if index in place:
                return ValidationError("", "one that is there already", allowed)
        names = [one.rpartition(".")[2] for one in place.split(", ")]
        fields = ", ".join(table[name].field_name for name in names)
        return ValidationError(
            fields, "those of another line" if len(names) > 1 else "that of another line",
            f"one such line for each {fields}",
        )  # fmt: skip
    lost = next((one for one in table.columns if one.refers and not TABLES[one.refers].node), None)
    if lost is not None:
        kind = TABLES[lost.refers or ""].record
        return ValidationError(lost.field_name, "one without", f"one with a {kind} before it")
    return ValidationError("", str(error), "a record that a ledger takes")


def _unchecked(table: Table, values: Sequence[Any], name: str) -> ValidationError:
    """Return what the check of this name says: of one column, or of several."""
    said = next((one.expected for one in table.checks if one.field == name), "another value")
    column = table[name]
    value = values[table.names.index(name)]
    low, high = column.low, column.high
    if column.words and value not in column.words:
        said = f"one of {', '.join(column.words)}"
    elif low is not None and high is not None and not low <= value <= high:
        said = f"a number from {low}" + ("" if high == FLOAT_MAX else f" to {high}")
    return ValidationError(column.field_name, _shown(column, value), said)


def _shown(column: Column, value: Any) -> Any:
    """Return a value for a message: a text by its length alone, unless it is a known word."""
    if value is not None and column.shape is Shape.TIME:
        return format_us(value)
    if isinstance(value, str) and value not in column.words:
        return f"{len(value)} characters"
    return f"{len(value)} bytes" if isinstance(value, bytes) else value
