"""Reads a whole export before anything of it is written, and says what is wrong with it.

Each line is checked in itself, against the lines before it, and against the trailer. What the
lines say of each other is kept in a temporary database of SQLite, which goes to a file of its own
where it grows: memory does not grow with the file.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import apsw
import msgspec

from vestig.errors import ValidationError
from vestig.store.ledger.token_rows import AXES
from vestig.store.portable.declared import DECLARED, field_name, id_fields, required_fields
from vestig.store.portable.lines import Oddity, check_line, oddity_of, read_line
from vestig.store.portable.records import (
    ClaimRecord,
    EdgeRecord,
    EntityRecord,
    EntityVectorRecord,
    EventRecord,
    EvidenceRecord,
    Header,
    IdempotencyKeyRecord,
    JobRecord,
    MemoryRecord,
    ModelCallsRecord,
    QuestionRecord,
    Record,
    RequestLogRecord,
    SourceRecord,
    SupersessionRecord,
    TokenCodesRecord,
    TombstoneRecord,
    Trailer,
    VectorRecord,
    kind_of,
)
from vestig.store.sqlite.faults import store_faults
from vestig.store.sqlite.lookups import fetch
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS
from vestig.store.tables.memories import NO_QUESTION
from vestig.types import EventType, Status

NormalForms = Callable[[str], Collection[str]]

_HINT: Final = "the file was cut or changed: export it again, or take what is whole with --partial"
# The field of a line that names the memory, entity or source that it is or belongs to.
_OWNER_FIELDS: Final = {
    "memory": "id", "entity": "id", "source": "id", "vector": "memory", "event": "memory",
    "question": "memory", "token_codes": "memory", "job": "memory",
    "entity_vector": "entity", "claim": "memory", "evidence": "memory",
}  # fmt: skip
_any_line: Final = msgspec.json.Decoder()
_CACHE_KIB: Final = 16 * 1024
_TABLES: Final = """
CREATE TABLE nodes (
    id TEXT PRIMARY KEY, line INTEGER NOT NULL, namespace TEXT NOT NULL, kind TEXT NOT NULL,
    model TEXT, superseded INTEGER NOT NULL, superseded_by TEXT, revives TEXT, merged_into TEXT,
    has_vector INTEGER NOT NULL DEFAULT 0, has_added INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE keys (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE supersessions (
    superseded TEXT, superseding TEXT, PRIMARY KEY (superseded, superseding)
) WITHOUT ROWID;
CREATE TABLE odd_vectors (line INTEGER PRIMARY KEY, node TEXT NOT NULL, zero INTEGER NOT NULL);
"""


class FileDigest:
    """SHA-256 over all lines with their ends; one without counts as ended by a line feed."""

    def __init__(self) -> None:
        self._hasher = hashlib.sha256()

    def add(self, line: str | bytes) -> None:
        """The next line."""
        raw = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
        self._hasher.update(raw)
        if not raw.endswith(b"\n"):
            self._hasher.update(b"\n")

    def hex(self) -> str:
        """Of the lines so far."""
        return self._hasher.hexdigest()


class ExportCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read to its end.

    Attributes:
        header: its first line.
        lines: lines that are not blank.
        sha256: of all of them.
        left_out: line → why it cannot be taken; empty unless the file was checked as a partial one.
        left_nodes: ids of memories, entities and sources that cannot be taken.
        as_deprecated: superseded memories whose successor is missing.
        warnings: what the file cannot be checked for, and what is taken otherwise than it stands.
    """

    header: Header
    lines: int
    sha256: str
    left_out: dict[int, str]
    left_nodes: frozenset[str]
    as_deprecated: frozenset[str]
    warnings: tuple[str, ...]


def check_export(
    lines: Iterable[str | bytes], *, partial: bool, normal_forms: NormalForms | None = None
) -> ExportCheck:
    """Reads all lines.

    Args:
        lines: of the whole file, with or without their ends.
        partial: a line that cannot be taken is named in the answer, with the memory, entity or
            source that it belongs to; without it the first such line is an error.
        normal_forms: the normal forms that a text may have; None = any.

    Raises:
        ValidationError: the file has no header that is understood, or, unless `partial`, something
            in it is missing, altered or contradictory; names the line, never its text.
        VestigError: no room for the temporary database.
    """
    with store_faults("the temporary database of an import"):
        conn = apsw.Connection("")
        try:
            conn.execute("PRAGMA journal_mode = OFF")
            conn.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            conn.execute(_TABLES)
            conn.execute("BEGIN")
            check = _FileCheck(conn, partial=partial, normal_forms=normal_forms)
            for number, line in enumerate(lines, 1):
                if line.strip():
                    check.take(line, number)
                else:
                    check.blank(line)
            return check.finish()
        finally:
            conn.close()


class _FileCheck:
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
        self._left_nodes: set[str] = set()
        self._as_deprecated: dict[str, int] = {}
        self._warnings: list[str] = []
        # memories whose codes of word pieces are left out
        self._other_codes = 0

    def blank(self, line: str | bytes) -> None:
        """A line of white space."""
        self._digest.add(line)

    def take(self, line: str | bytes, number: int) -> None:
        """A line that is not blank."""
        self._lines += 1
        self._number = number
        if self._trailer is not None:
            with self._fault(number, None):
                raise ValidationError("record", "another line", "nothing after the trailer")
        else:
            with self._fault(number, None, line):
                record = read_line(line)
                if self._header is None and not isinstance(record, Header):
                    raise ValidationError("record", kind_of(record), "the header first")
                check_line(record)
                self._take(record, number)
        self._digest.add(line)

    def _take(self, record: Header | Trailer | Record, number: int) -> None:
        if isinstance(record, Header):
            self._begin(record)
        elif isinstance(record, Trailer):
            self._end(record)
        else:
            self._counts[kind_of(record)] += 1
            self._check_order(record)
            self._record(record, number)

    def _check_order(self, record: Record) -> None:
        """Lines stand in the order of their seq, so that what a line refers to is before it; jobs,
        which have none, are the last."""
        seq = getattr(record, "seq", None)
        if seq is None:
            return
        if seq < self._seq:
            raise ValidationError("seq", seq, f"at least {self._seq}, that of the line before")
        self._seq = seq

    @contextmanager
    def _fault(
        self, number: int, node: str | None, line: str | bytes | None = None
    ) -> Iterator[None]:
        """Names the line of an error; a partial reading notes it, and leaves the node out that the
        line belongs to."""
        try:
            yield
        except ValidationError as error:
            field = f"line {number}, {error.field}" if error.field else f"line {number}"
            named = ValidationError(field, error.value, error.allowed)
            if not self._partial or self._header is None:
                raise named from error.__cause__
            self._left_out[number] = str(named)
            owner = node if line is None else _owner_of(line)
            if owner is not None:
                self._leave_node(owner, number)

    def _leave_node(self, id: str, number: int) -> None:
        """The node of this id cannot be taken, for its record of line `number` cannot."""
        self._left_nodes.add(id)
        for (line,) in fetch(self._conn, "SELECT line FROM nodes WHERE id = ?", (id,)):
            if line not in self._left_out:
                self._left_out[line] = f"line {line}: {id} is not whole, see line {number}"

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
                    f"counts.{kind}", stated, f"{found}, as many as the file has ({_HINT})"
                )
        if trailer.sha256 != self._digest.hex():
            raise ValidationError(
                "sha256", trailer.sha256[:12], f"the hash of the lines before it ({_HINT})"
            )

    # --- records -------------------------------------------------------------------------------

    def _record(self, record: Record, number: int) -> None:
        self._check_seq(record)
        self._check_namespace(record)
        match record:
            case MemoryRecord():
                self._memory(record, number)
            case EntityRecord():
                self._key(record.id, "one line for each entity")
                self._node(record.id, record.namespace, number, merged_into=record.merged_into)
            case SourceRecord():
                self._key(record.id, "one line for each source")
                self._node(record.id, record.namespace, number)
            case VectorRecord():
                self._own(record.memory)
                self._key(f"vector {record.memory}", "one vector for each memory")
                self._check_model(record)
                self._vector(record.embedding, record.memory, number)
                self._memory_model(record)
            case EntityVectorRecord():
                self._own(record.entity)
                self._key(f"vector {record.entity}", "one vector for each entity")
                self._check_model(record)
                self._vector(record.embedding, record.entity, number)
            case QuestionRecord():
                self._own(record.memory)
                self._key(f"question {record.memory} {record.position}", "a position once")
                if record.position != NO_QUESTION:
                    self._check_model(record)
                    self._vector(record.embedding, record.memory, number)
            case TokenCodesRecord():
                self._own(record.memory)
                self._key(f"tokens {record.memory}", "one such line for each memory")
                self._check_name(record.model)
                self._other_codes += record.axes != AXES
            case EventRecord():
                self._event(record)
            case EdgeRecord():
                self._edge(record)
            case SupersessionRecord():
                self._supersession(record)
            case JobRecord():
                self._own(record.memory)
                self._key(record.id, "an id that no other line has")
            case TombstoneRecord():
                self._key(record.id, "the id of no memory of this file, and of no other tombstone")
            case _:
                self._record_beside(record)

    def _record_beside(self, record: Record) -> None:
        """A claim, its evidence, or a record that belongs to no node."""
        match record:
            case ClaimRecord():
                self._named(record.memory, record.subject_id, record.object_id)
                self._key(f"claim {record.memory}", "one claim for each memory")
            case EvidenceRecord():
                self._evidence(record)
            case ModelCallsRecord():
                self._key(f"calls {record.day}", "one line for each day")
            case IdempotencyKeyRecord():
                self._key(f"answer {record.namespace} {record.key}", "one line for each key")
            case RequestLogRecord():
                self._key(record.id, "an id that no other line has")
            case _:
                self._declared(record)

    def _declared(self, record: Record) -> None:
        table = DECLARED[type(record)]
        self._named(*(getattr(record, name) for name, _prefix in id_fields(table) if name != "id"))
        if table.prefix is not None:
            self._key(str(getattr(record, "id")), "an id that no other line has")  # noqa: B009
        elif table.key != ("row",):
            places = (str(getattr(record, field_name(name))) for name in table.key)
            self._key(" ".join((kind_of(record), *places)), "one such line for each node")

    def _check_seq(self, record: Record) -> None:
        assert self._header is not None
        for name in ("seq", "wseq", "expired_seq"):
            seq = getattr(record, name, 0)
            if seq > self._header.seq:
                raise ValidationError(name, seq, f"at most the header's seq {self._header.seq}")

    def _check_namespace(self, record: Record) -> None:
        assert self._header is not None
        namespace = getattr(record, "namespace", None)
        if namespace is None:
            return
        if namespace not in self._header.namespaces:
            raise ValidationError("namespace", namespace, "a namespace that the header names")

    def _named(self, *ids: str | None) -> None:
        """Nodes that one record names, the first of which it belongs to, are of one namespace."""
        if len(set(self._own(*(id for id in ids if id is not None)))) > 1:
            raise ValidationError("id", ids[0], "nodes of one namespace")

    def _evidence(self, record: EvidenceRecord) -> None:
        self._named(record.memory, record.source_id)
        sql = "SELECT 1 FROM keys WHERE key = ?"
        claimed = fetch(self._conn, sql, (f"claim {record.memory}",))
        if not claimed and record.memory not in self._left_nodes:
            raise ValidationError("memory", record.memory, "a memory whose claim is before")
        self._key(f"evidence {record.memory} {record.position}", "a position once")

    def _check_model(self, record: VectorRecord | EntityVectorRecord | QuestionRecord) -> None:
        assert self._header is not None
        known = self._header.embedding
        if known is None or (record.model, len(record.embedding)) != (
            known.model,
            4 * known.dimensions,
        ):
            shown = f"{record.model}, {len(record.embedding) // 4} dimensions"
            raise ValidationError("model", shown, "the model and dimensions of the header")

    def _check_name(self, model: str) -> None:
        assert self._header is not None
        known = self._header.embedding
        if known is None or model != known.model:
            raise ValidationError("model", model, "the model of the header")

    def _vector(self, raw: bytes, node: str, number: int) -> None:
        """Notes a vector of zeros, or of another length than 1 where the model normalises; the
        trailer says how many there are."""
        assert self._header is not None
        assert self._header.embedding is not None
        oddity = oddity_of(raw, self._header.embedding)
        if oddity is not None:
            self._odd_vectors[oddity is Oddity.ZERO] += 1
            values = (number, node, int(oddity is Oddity.ZERO))
            self._conn.execute("INSERT INTO odd_vectors VALUES (?, ?, ?)", values)

    def _key(self, key: str, allowed: str) -> None:
        try:
            self._conn.execute("INSERT INTO keys VALUES (?)", (key,))
        except apsw.ConstraintError:
            raise ValidationError("id", key, allowed) from None

    def _own(self, *ids: str) -> list[str]:
        """The namespaces of nodes that this line belongs to.

        Raises:
            ValidationError: no earlier line holds one of them, and none was left out.
        """
        namespaces = []
        for id in ids:
            found = fetch(self._conn, "SELECT namespace FROM nodes WHERE id = ?", (id,))
            if not found and id not in self._left_nodes:
                raise ValidationError("id", id, "a record that an earlier line holds")
            namespaces += [namespace for (namespace,) in found]
        return namespaces

    def _node(
        self,
        id: str,
        namespace: str,
        number: int,
        *,
        merged_into: str | None = None,
        memory: MemoryRecord | None = None,
    ) -> None:
        of_memory: tuple[object, ...] = (None, 0, None, None)
        if memory is not None:
            superseded = memory.status is Status.SUPERSEDED
            of_memory = (
                memory.embedding_model,
                int(superseded),
                memory.superseded_by,
                memory.revives,
            )
        self._conn.execute(
            "INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)",
            (id, number, namespace, id.partition("_")[0], *of_memory, merged_into),
        )

    def _memory(self, record: MemoryRecord, number: int) -> None:
        if record.normal is not msgspec.UNSET:
            forms = self._normal_forms
            if forms is not None and record.normal not in forms(record.content):
                raise ValidationError("normal", "another text", "the normal form of content")
        self._key(record.id, "one line for each memory, and no tombstone of it")
        self._node(record.id, record.namespace, number, memory=record)

    def _memory_model(self, record: VectorRecord) -> None:
        for (model,) in fetch(self._conn, "SELECT model FROM nodes WHERE id = ?", (record.memory,)):
            if model != record.model:
                raise ValidationError("model", record.model, "the model of the memory's line")
        self._conn.execute("UPDATE nodes SET has_vector = 1 WHERE id = ?", (record.memory,))

    def _event(self, record: EventRecord) -> None:
        self._own(record.memory)
        self._key(record.id, "an id that no other line has")
        if record.event_type in (EventType.ADD, EventType.IMPORT):
            self._conn.execute("UPDATE nodes SET has_added = 1 WHERE id = ?", (record.memory,))

    def _edge(self, record: EdgeRecord) -> None:
        wanted = EDGE_ENDS[EDGE_CODES[record.edge_type.value]]
        ends = (record.from_id, record.to_id)
        if tuple(end.partition("_")[0] for end in ends) != wanted:
            raise ValidationError("from_id, to_id", "other ends", " → ".join(wanted))
        if record.from_id == record.to_id:
            raise ValidationError("to_id", record.to_id, "another end than from_id")
        if len(set(self._own(*ends))) > 1:
            raise ValidationError("to_id", record.to_id, "an end in the namespace of from_id")
        self._key(record.id, "an id that no other line has")

    def _supersession(self, record: SupersessionRecord) -> None:
        pair = (record.superseded, record.superseding)
        if record.superseded == record.superseding:
            raise ValidationError("superseding", record.superseding, "another memory")
        if len(set(self._own(*pair))) > 1:
            raise ValidationError("superseding", record.superseding, "one of the same namespace")
        self._key(" ".join(("supersession", *pair)), "one line for each pair")
        self._conn.execute("INSERT INTO supersessions VALUES (?, ?)", pair)

    # --- the end -------------------------------------------------------------------------------

    def finish(self) -> ExportCheck:
        """Return what was found.

        Raises:
            ValidationError: see `check_export`.
        """
        if self._header is None:
            raise ValidationError("line 1", "nothing", "the header of an export")
        if self._trailer is None:
            with self._fault(self._number + 1, None):
                raise ValidationError(
                    "record", "the end of the file", f"more lines, the last with the record end"
                    f" ({_HINT})"
                )  # fmt: skip
        self._check_vectors()
        self._check_whole()
        self._check_references()
        self._check_successors()
        if self._other_codes:
            self._warnings.append(
                f"{self._other_codes} memories come without codes of their word pieces: those of"
                " the file were made in another way and cannot be compared; make them with"
                " `vestig rebuild --tokens`"
            )
        return ExportCheck(
            header=self._header,
            lines=self._lines,
            sha256=self._digest.hex(),
            left_out=self._left_out,
            left_nodes=frozenset(self._left_nodes),
            as_deprecated=frozenset(self._as_deprecated),
            warnings=tuple(self._warnings),
        )

    def _check_vectors(self) -> None:
        """Zero vectors and such of another length than 1 are as many as the trailer says."""
        trailer = self._trailer
        zeros, unscaled = (self._odd_vectors[zero] for zero in (True, False))
        if zeros > (0 if trailer is None else trailer.zero_vectors):
            self._refuse_vectors(True, "a length of 0", "a vector that is not zero")
        if trailer is not None and unscaled > trailer.unscaled_vectors:
            self._refuse_vectors(False, "another length", "a vector of length 1")

    def _refuse_vectors(self, zero: bool, shown: str, allowed: str) -> None:
        sql = "SELECT line, node FROM odd_vectors WHERE zero = ? ORDER BY line"
        for number, node in fetch(self._conn, sql, (int(zero),)):
            with self._fault(number, node):
                raise ValidationError("embedding", shown, allowed)

    def _check_whole(self) -> None:
        """Every memory has the event that added it, and the vector that its line names."""
        for condition, field, shown, allowed in (
            ("NOT has_added", "event", "none", "an ADD or IMPORT event of the memory"),
            (
                "model IS NOT NULL AND NOT has_vector", "embedding_model", "no vector",
                "the vector of the memory",
            ),
        ):  # fmt: skip
            sql = f"SELECT line, id FROM nodes WHERE kind = 'mem' AND {condition} ORDER BY line"
            for number, id in fetch(self._conn, sql):
                if id not in self._left_nodes:
                    with self._fault(number, id):
                        raise ValidationError(field, shown, allowed)

    def _check_references(self) -> None:
        """Nodes that a memory or an entity names are in the file, in its namespace."""
        for column in ("superseded_by", "revives", "merged_into"):
            sql = (
                f"SELECT line, {column} FROM nodes n WHERE {column} IS NOT NULL AND NOT EXISTS"
                f" (SELECT 1 FROM nodes m WHERE m.id = n.{column} AND m.namespace = n.namespace)"
                " ORDER BY line"
            )
            for number, id in fetch(self._conn, sql):
                if not self._partial:
                    allowed = "the id of a record of this file, in the same namespace"
                    raise ValidationError(f"line {number}, {column}", id, allowed)
                self._left_nodes.add(id)

    def _check_successors(self) -> None:
        """Superseded memories have their supersession records; those without are as many as the
        references that the trailer says were cut."""
        lone_sql = (
            "SELECT line, id FROM nodes n WHERE superseded AND NOT EXISTS"
            " (SELECT 1 FROM supersessions s WHERE s.superseded = n.id) ORDER BY line"
        )
        unrecorded_sql = (
            "SELECT line, id FROM nodes n WHERE superseded_by IS NOT NULL AND NOT EXISTS"
            " (SELECT 1 FROM supersessions s WHERE s.superseded = n.id"
            " AND s.superseding = n.superseded_by) ORDER BY line"
        )
        refused = fetch(self._conn, unrecorded_sql)
        lone = fetch(self._conn, lone_sql)
        cut = 0 if self._trailer is None else self._trailer.cut_references
        refused += lone if len(lone) > cut else []
        if refused and not self._partial:
            number, _id = min(refused)
            raise ValidationError(
                f"line {number}, status", "superseded", "a supersession record of the memory"
            )
        for number, id in refused:
            self._as_deprecated[id] = number
        if self._left_nodes:
            self._check_left_successors()
        for id, number in sorted(self._as_deprecated.items(), key=lambda item: item[1]):
            if id not in self._left_nodes:
                self._warnings.append(
                    f"line {number}: {id} is taken as deprecated, for its successor is missing"
                )

    def _check_left_successors(self) -> None:
        """Memories whose successor cannot be taken."""
        sql = "SELECT line, id, superseded_by FROM nodes WHERE superseded_by IS NOT NULL"
        for number, id, successor in fetch(self._conn, sql):
            if successor in self._left_nodes:
                self._as_deprecated[id] = number


def _owner_of(line: str | bytes) -> str | None:
    """The memory, entity or source that a line belongs to, as far as it can be read."""
    try:
        found = _any_line.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    kind = str(found.get("record"))
    declared = next((required_fields(t) for t in DECLARED.values() if t.record == kind), [])
    owner = found.get(_OWNER_FIELDS.get(kind, declared[0] if declared else ""))
    return owner if isinstance(owner, str) else None
