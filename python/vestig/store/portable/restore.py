"""Restore: the records of an export go into a ledger, inside one write transaction.

Every restored row goes under the chain like any other. In an empty store records keep their
seqs, and there is one link for each seq. In any other store all records belong to the one
transaction that restores them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

import apsw
import msgspec

from vestig.errors import ConflictError, EmbeddingMismatchError, ValidationError
from vestig.ids import id_bytes, new_id
from vestig.ports import EmbeddingIdentity, Progress
from vestig.store.ledger import jobs, memory_versions
from vestig.store.ledger.graph_writes import touched_node
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.rows import from_json
from vestig.store.ledger.same_model import same_model
from vestig.store.ledger.settings import IDENTITY, ORIGIN, read_setting, write_setting
from vestig.store.ledger.token_rows import AXES
from vestig.store.ledger.writes import NO_CLOCK, WriteTransaction
from vestig.store.portable.declared import field_name, required_fields
from vestig.store.portable.file_check import (
    ExportCheck,
    FileDigest,
    NormalForms,
    check_export,
)
from vestig.store.portable.forgotten_records import CLAIM_NAMES, ForgottenRecords, owners_of
from vestig.store.portable.lines import columns_of, read_line
from vestig.store.portable.placement import Placement
from vestig.store.portable.records import (
    ClaimRecord,
    EdgeRecord,
    EntityRecord,
    EvidenceRecord,
    Header,
    IdempotencyKeyRecord,
    JobRecord,
    MemoryRecord,
    ModelCallsRecord,
    Record,
    RequestLogRecord,
    SourceRecord,
    SupersessionRecord,
    TokenCodesRecord,
    TombstoneRecord,
    Trailer,
    kind_of,
)
from vestig.store.portable.restored_records import (
    RestoredClaims,
    restore_answer,
    restore_calls,
    restore_request,
)
from vestig.store.portable.stored_nodes import (
    stored_entity,
    stored_memory,
    stored_source,
    stored_text,
)
from vestig.store.sqlite.lookups import fetch, select_in
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS
from vestig.store.tables.schema import COLUMNS, INDEX, RECORDS
from vestig.telemetry.spans import span
from vestig.types import Status

_PROGRESS_LINES: Final = 1_000


class RestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """Exact counts of one restore: `lines` = header + `restored` + `present` + `duplicates` +
    `forgotten` + `left_lines` + trailer.

    Attributes:
        lines: lines of the file.
        restored: records that were written; `records` counts them by kind, `memories` is the
            number of memories among them.
        present: records that the store had already, or that belong to such a memory.
        different: memories among those whose state in the store differs from the file; the state
            in the store stays.
        duplicates: memories whose text the store has under another id.
        forgotten: memories that were forgotten in this store, and stay so; what belongs to one,
            or is supported by none but such, counts as `present`.
        forgotten_elsewhere: namespace → memories of this store that the file says were forgotten;
            they stay until somebody forgets them here.
        left_lines: lines that were left out of a partial restore.
        left_out: (line, why) of each of them, and of what the file lacks.
        frame_lines: header and trailer, as far as there are.
        warnings: what could not be checked, and what was taken otherwise than it stands.
        seq: of the store after the restore.
    """

    lines: int
    restored: int
    present: int
    memories: int
    different: int
    duplicates: int
    forgotten: int
    forgotten_elsewhere: dict[str, tuple[str, ...]]
    left_lines: int
    left_out: tuple[tuple[int, str], ...]
    frame_lines: int
    warnings: tuple[str, ...]
    records: dict[str, int]
    seq: int


@contextmanager
def _named_line(number: int) -> Iterator[None]:
    """Names the line of an error."""
    try:
        yield
    except ValidationError as error:
        field = f"line {number}, {error.field}" if error.field else f"line {number}"
        raise ValidationError(field, error.value, error.allowed) from None


@contextmanager
def _deferred_line(number: int, reference: str, unique: str) -> Iterator[None]:
    """Writes a line that refers to a later one.

    Raises:
        ValidationError: it refers to something else than `reference`.
        ConflictError: what it brings is not `unique`.
    """
    try:
        yield
    except ValidationError as error:
        raise ValidationError(f"line {number}, {error.field}", error.value, reference) from None
    except apsw.ConstraintError as error:
        raise ConflictError(f"line {number}: expected {unique}; nothing was written") from error


def restore(
    ledger: Ledger,
    lines: Iterable[str | bytes],
    *,
    merge: bool = False,
    partial: bool = False,
    namespace: str | None = None,
    identity: EmbeddingIdentity | None = None,
    normal_forms: NormalForms | None = None,
    progress: Progress | None = None,
) -> RestoreReport:
    """Restores an export, verbatim and with its original times, in one transaction. The whole file
    is read and checked before that begins.

    Without `merge` the namespaces of the file must be empty; into an empty store the seqs are
    kept too. With `merge` records are added by id: a memory that the store holds already stays
    as it is, with all that belongs to it. What was forgotten here stays so. Memories that the file
    says were forgotten are not restored by later imports either; those that this store has stay,
    and the report names them. The clock of the store does not move. A restore that brings nothing
    writes nothing.

    Args:
        lines: of the whole file; read two or three times.
        partial: what is whole is taken, and the rest is named in the report.
        namespace: puts the records of an export of one namespace there; None: where they were.
        identity: the embedder in use; an export of another model is refused.
        normal_forms: the normal forms that a text may have; None = any.
        progress: called with the lines done.

    Raises:
        ValidationError: a bad line; names its number. Nothing is written.
        ConflictError: a namespace that is not empty, or an id that the store has for another
            record.
        EmbeddingMismatchError: the vectors are of another model than the store's.
    """
    with span("check") as counts:
        check = check_export(lines, partial=partial, normal_forms=normal_forms)
        counts["lines"] = check.lines
    with ledger.write(NO_CLOCK) as txn:
        work = _Restoration(txn, check, merge=merge, namespace=namespace, identity=identity)
        work.begin(lines)
        digest = FileDigest()
        for number, line in enumerate(lines, 1):
            if line.strip():
                work.take(line, number)
            digest.add(line)
            if progress is not None and number % _PROGRESS_LINES == 0:
                progress(number, check.lines)
        if digest.hex() != check.sha256:
            raise ValidationError(
                "source", "other lines", "a file that nobody changes while it is read"
            )
        report = work.finish()
    if progress is not None:
        progress(report.lines, report.lines)
    return report


class _Restoration:
    """One restore, line by line. The caller rolls back when a line is refused."""

    def __init__(
        self,
        txn: WriteTransaction,
        check: ExportCheck,
        *,
        merge: bool,
        namespace: str | None,
        identity: EmbeddingIdentity | None,
    ) -> None:
        self._txn = txn
        self._conn = txn.connection
        self._check = check
        self._namespace = namespace
        self._identity = identity
        self._placement = Placement(txn, merge=merge, namespace=namespace)
        self._forgotten = ForgottenRecords(self._conn, self._placement)
        self._claims = RestoredClaims(self._placement)
        # (line number, record, row) of nodes that refer to one of a later line.
        self._deferred_memories: list[tuple[int, MemoryRecord, int]] = []
        self._deferred_entities: list[tuple[int, EntityRecord, int]] = []
        # Expired edges so far by (from_row, type code, to_row, relation).
        self._expired_edges: Counter[tuple[int, int, int, str]] = Counter()
        # Written records by kind.
        self._counts: Counter[str] = Counter()
        self._present = self._different = self._duplicates = 0
        self._left_lines = self._frame_lines = 0
        self._left_out = dict(check.left_out)
        # Memories may name successors that come later in the file.
        self._conn.execute("PRAGMA defer_foreign_keys = ON")

    def begin(self, lines: Iterable[str | bytes]) -> None:
        """The header, and what nothing of the file would support.

        Raises:
            ValidationError, ConflictError, EmbeddingMismatchError: see `restore`.
        """
        header = self._check.header
        if header.namespace is None and self._namespace is not None:
            raise ValidationError(
                "line 1, namespace", self._namespace, "none for an export of them all"
            )
        theirs = header.embedding
        if theirs is not None:
            self._check_identity(theirs)
            write_setting(self._conn, IDENTITY, msgspec.msgpack.encode(theirs))
        if self._placement.keeps_seqs:
            write_setting(self._conn, ORIGIN, bytes.fromhex(header.origin))
        if self._forgotten.any() or self._check.left_nodes:
            self._forgotten.skip_unsupported(self._records(lines), self._check.left_nodes)

    def _check_identity(self, theirs: EmbeddingIdentity) -> None:
        stored = read_setting(self._conn, IDENTITY)
        mine = self._identity
        if mine is None and stored is not None:
            mine = msgspec.msgpack.decode(stored, type=EmbeddingIdentity)
        if mine is not None and not same_model(mine, theirs):
            raise EmbeddingMismatchError(
                f"the export's vectors were made by {theirs.model} with {theirs.dimensions}"
                f" dimensions, the store works with {mine.model} with {mine.dimensions};"
                " configure that model and import into a store of its own, then run"
                " `vestig rebuild --embeddings`"
            )

    def _records(self, lines: Iterable[str | bytes]) -> Iterator[Record]:
        """The records that can be taken."""
        for number, line in enumerate(lines, 1):
            if line.strip() and number not in self._check.left_out:
                with _named_line(number):
                    record = read_line(line)
                    if not isinstance(record, (Header, Trailer)):
                        yield record

    def take(self, line: str | bytes, number: int) -> None:
        """One line that is not blank.

        Raises:
            ValidationError, ConflictError: see `restore`.
        """
        if number in self._check.left_out:
            self._left_lines += 1
            return
        try:
            with _named_line(number):
                record = read_line(line)
                if isinstance(record, (Header, Trailer)):
                    self._frame_lines += 1
                elif not self._leaves_out(record, number):
                    self._take_record(self._as_taken(record), number)
        except apsw.ConstraintError as error:
            raise ConflictError(
                f"line {number}: expected a record that fits the store, the store refused it"
                f" ({type(error).__name__}: a second record of one id, text or pair);"
                " nothing was written"
            ) from error

    def _leaves_out(self, record: Record, number: int) -> bool:
        """Return whether the line belongs to a node that a partial restore leaves out."""
        left, deprecated = self._check.left_nodes, self._check.as_deprecated
        found = [id for id in owners_of(record) if id in left]
        if isinstance(record, SupersessionRecord) and record.superseded in deprecated:
            found.append(record.superseding)
        if found:
            self._left_lines += 1
            self._left_out[number] = (
                f"line {number}: {kind_of(record)} of {found[0]}, which was left out"
            )
        return bool(found)

    def _as_taken(self, record: Record) -> Record:
        """The record without references to nodes that a partial restore leaves out."""
        left = self._check.left_nodes
        if isinstance(record, EntityRecord):
            record = self._forgotten.without_merge(record)
            if record.merged_into in left:
                record = msgspec.structs.replace(record, merged_into=None)
        elif isinstance(record, ClaimRecord):
            record = self._forgotten.without_names(record)
            gone = [name for name in CLAIM_NAMES if getattr(record, name) in left]
            if gone:
                record = msgspec.structs.replace(record, **dict.fromkeys(gone))
        elif isinstance(record, MemoryRecord):
            record = self._forgotten.without_references(record)
            if record.revives in left:
                record = msgspec.structs.replace(record, revives=None)
            if record.id in self._check.as_deprecated:
                record = msgspec.structs.replace(
                    record, status=Status.DEPRECATED, superseded_by=None
                )
        return record

    def _take_record(self, record: Record, number: int) -> None:
        if self._forgotten.skips(record):
            self._present += 1
            return
        match record:
            case MemoryRecord():
                written = self._memory(record, number)
            case SourceRecord():
                written = self._source(record)
            case TokenCodesRecord():
                # those along other axes cannot be compared
                written = record.axes == AXES and self._belonging(record)
            case EdgeRecord():
                written = self._edge(record)
            case EntityRecord():
                written = self._entity(record, number)
            case SupersessionRecord():
                written = self._supersession(record)
            case JobRecord():
                written = self._job(record)
            case TombstoneRecord():
                written = self._forgotten.tombstone(record)
            case ClaimRecord():
                written = self._claims.claim(record)
            case EvidenceRecord():
                written = self._claims.evidence(record)
            case ModelCallsRecord():
                written = restore_calls(self._conn, record)
            case IdempotencyKeyRecord():
                written = restore_answer(self._conn, self._placement, self._forgotten, record)
            case RequestLogRecord():
                written = restore_request(self._conn, self._placement, self._forgotten, record)
            case _:
                written = self._belonging(record)
        if written:
            self._counts[kind_of(record)] += 1
        else:
            self._present += 1

    def _belonging(self, record: Record) -> bool:
        """A row that its table's declaration says all of; it goes with the nodes it belongs to."""
        place, table = self._placement, RECORDS[kind_of(record)]
        owners = [getattr(record, name) for name in required_fields(table)]
        rows = [place.row(id) for id in owners]
        if owners and all(id in place.existing for id in owners):
            return False
        seq = place.seq(getattr(record, "seq"))  # noqa: B009
        given: dict[str, Any] = {"seq": seq}
        if "salt" in table.names:
            given["salt"] = place.salt()
        if "row" in table.names:
            given["row"] = place.new_row(table.name)
        if table.prefix is not None:
            given["id"] = id_bytes(getattr(record, "id"))  # noqa: B009
        for column in table.columns:
            if column.refers is not None:
                id = getattr(record, field_name(column.name))
                left = id is None or id in self._check.left_nodes or id not in place.rows
                given[column.name] = None if left and column.null else place.row(id)
        plain = tuple(name for name in table.names if name not in given)
        given |= dict(zip(plain, columns_of(record, plain), strict=True))
        link = place.write(table.name, [given[name] for name in table.names], seq)
        if table.projected:
            ends = zip(owners, rows, strict=True)
            link.touched.update(-row if id.startswith("ent_") else row for id, row in ends)
        return True

    # --- memories -----------------------------------------------------------------------------

    def _source(self, record: SourceRecord) -> bool:
        space = self._placement.namespace(record.namespace)
        if self._placement.merge:
            found = stored_source(self._conn, record, space)
            if found is not None:
                self._placement.rows[record.id] = found
                self._placement.existing.add(record.id)
                return False
        row, seq = self._placement.new_row("sources"), self._placement.seq(record.seq)
        plain = columns_of(record, COLUMNS["sources"][5:])
        values = (self._placement.salt(), row, id_bytes(record.id), space, seq, *plain)
        self._placement.write("sources", values, seq)
        self._placement.rows[record.id] = row
        return True

    def _memory(self, record: MemoryRecord, number: int) -> bool:
        space = self._placement.namespace(record.namespace)
        if self._placement.merge and self._has_memory(record, space):
            return False
        row = self._placement.rows[record.id] = self._placement.new_row("memories")
        named = (record.superseded_by, record.revives)
        if all(id is None or id in self._placement.rows for id in named):
            self._insert_memory(record, row)
        else:
            self._deferred_memories.append((number, record, row))
        return True

    def _insert_memory(self, record: MemoryRecord, row: int) -> None:
        seq, wseq = self._placement.seq(record.seq), self._placement.seq(record.wseq)
        values: list[Any] = [self._placement.salt(), row, id_bytes(record.id)]
        values += [self._placement.namespace(record.namespace), record.scope, seq, wseq]
        for column in COLUMNS["memories"][7:]:
            if column in ("superseded_by", "revives"):
                id = getattr(record, column)
                values.append(None if id is None else self._placement.row(id))
            else:
                values += columns_of(record, (column,))
        link = self._placement.write("memories", values, wseq)
        link.touched.add(row)
        tags = from_json(values[INDEX["memories"]["metadata"]]).get("tags", ())
        memory_versions.write_tags(self._conn, row, (), tags)
        if isinstance(record.normal, str):
            digest = sha256(record.content.encode()).digest()
            original = (self._placement.salt(), row, wseq, record.content, digest)
            self._placement.write("original_texts", original, wseq)
        touched = columns_of(record, ("access_count", "last_accessed_us", "processing"))
        if touched != [0, None, "ready"]:
            self._conn.execute("INSERT INTO access VALUES (?, ?, ?, ?)", (row, *touched))

    def _has_memory(self, record: MemoryRecord, space: str) -> bool:
        """Return whether the store has this memory already, by id or by its text.

        Raises:
            ConflictError: the store has another text under this id.
        """
        mine = stored_memory(self._conn, record, space)
        if mine is not None:
            at = INDEX["memories"]
            compared = [c for c in COLUMNS["memories"][7:] if c not in _STORE_ONLY]
            theirs = columns_of(record, tuple(compared))
            row = mine[at["row"]]
            sql = "SELECT content FROM original_texts WHERE memory = ?"
            original = [(record.content,)] if isinstance(record.normal, str) else []
            same_text = fetch(self._conn, sql, (row,)) == original
            same = same_text and [mine[at[column]] for column in compared] == theirs
            self._different += not same
        else:
            row = stored_text(self._conn, record, space)
            if row is None:
                return False
            self._duplicates += 1
        self._placement.rows[record.id] = row
        self._placement.existing.add(record.id)
        return True

    def _supersession(self, record: SupersessionRecord) -> bool:
        new, old = self._placement.row(record.superseding), self._placement.row(record.superseded)
        if record.superseded in self._placement.existing:
            return False
        seq = self._placement.seq(record.seq)
        (created,) = columns_of(record, ("created_us",))
        row = self._placement.new_row("supersessions")
        values = (self._placement.salt(), row, new, old, record.reason, created, seq)
        self._placement.write("supersessions", values, seq)
        return True

    def _job(self, record: JobRecord) -> bool:
        memory = self._placement.row(record.memory)
        if record.memory in self._placement.existing:
            return False
        columns = ("kind", "state", "attempts", "next_attempt_us", "last_error")
        times = ("created_us", "updated_us")
        names = ", ".join(("id", "memory", "batch_id", *columns, *times))
        values = (
            id_bytes(record.id),
            memory,
            record.batch_id,
            *columns_of(record, columns + times),
        )
        self._conn.execute(f"INSERT INTO jobs ({names}) VALUES (?,?,?,?,?,?,?,?,?,?)", values)
        return True

    # --- entities ----------------------------------------------------------------------------

    def _entity(self, record: EntityRecord, number: int) -> bool:
        space = self._placement.namespace(record.namespace)
        if self._placement.merge and self._has_entity(record, space):
            return False
        row = self._placement.rows[record.id] = self._placement.new_row("entities")
        if record.merged_into is None or record.merged_into in self._placement.rows:
            self._insert_entity(record, row)
        else:
            self._deferred_entities.append((number, record, row))
        return True

    def _has_entity(self, record: EntityRecord, space: str) -> bool:
        """Return whether the store has this entity already, by id or by its key.

        Raises:
            ConflictError: the store has another name under this id.
        """
        found = stored_entity(self._conn, record, space)
        if found is not None:
            self._placement.rows[record.id] = found[0]
            self._placement.existing.add(record.id)
        return found is not None

    def _insert_entity(self, record: EntityRecord, row: int) -> None:
        seq, wseq = self._placement.seq(record.seq), self._placement.seq(record.wseq)
        into = None if record.merged_into is None else self._placement.row(record.merged_into)
        plain = columns_of(record, COLUMNS["entities"][6:-1])
        space = self._placement.namespace(record.namespace)
        values = (
            self._placement.salt(), row, id_bytes(record.id), space, seq, wseq, *plain, into,
        )  # fmt: skip
        self._placement.write("entities", values, wseq).touched.add(-row)
        counted = columns_of(record, ("access_count", "last_accessed_us"))
        if counted != [0, None]:
            self._conn.execute("INSERT INTO entity_access VALUES (?, ?, ?)", (row, *counted))

    # --- questions and edges -----------------------------------------------------------------

    def _edge(self, record: EdgeRecord) -> bool:
        code = EDGE_CODES[record.edge_type.value]
        ends = (record.from_id, record.to_id)
        start, end = (self._placement.row(id) for id in ends)
        # An edge between nodes that the store had before stays as it is there; its memories
        # decide where it has one. Two names of the file may be one entity here: no edge.
        decisive = [id for id in ends if id.startswith("mem_")] or list(ends)
        same_node = start == end and EDGE_ENDS[code][0] == EDGE_ENDS[code][1]
        if same_node or all(id in self._placement.existing for id in decisive):
            return False
        seq, expired = self._placement.seq(record.seq), record.expired_seq
        key = (start, code, end, record.relation)
        if expired and not self._placement.keeps_seqs:
            # Expired edges of one place stay apart by the seq that ended them.
            expired = self._placement.seq(expired) + self._expired_edges[key]
            self._expired_edges[key] += 1
        plain = columns_of(record, COLUMNS["edges"][8:])
        values = (
            id_bytes(record.id), None if record.evidence is None else self._placement.salt(), *key,
            expired, seq, *plain,
        )  # fmt: skip
        if self._placement.merge and not expired:
            present = fetch(
                self._conn,
                "SELECT 1 FROM edges WHERE from_row = ? AND edge_type = ? AND to_row = ?"
                " AND relation = ? AND expired_seq = 0",
                key,
            )
            if present:
                return False
        link = self._placement.write("edges", values, max(seq, expired))
        node = touched_node(code, start)
        if node is not None:
            link.touched.add(node)
        return True

    # --- the end -----------------------------------------------------------------------------

    def finish(self) -> RestoreReport:
        """Writes the nodes that refer to later lines, and the links of the chain; the counts.

        Raises:
            ValidationError: a record that refers to none.
        """
        self._insert_deferred()
        unembedded = self._queue_embedding()
        last = self._txn.seq
        if self._counts:
            header, lines = self._check.header, self._check.lines
            last = self._placement.close_links(header.seq, lines, self._counts.total())
        return RestoreReport(
            lines=self._check.lines,
            restored=self._counts.total(),
            present=self._present - self._duplicates - len(self._forgotten.skipped),
            memories=self._counts["memory"],
            different=self._different,
            duplicates=self._duplicates,
            forgotten=len(self._forgotten.skipped),
            forgotten_elsewhere={
                space: tuple(ids) for space, ids in self._forgotten.elsewhere.items()
            },
            left_lines=self._left_lines,
            left_out=tuple(sorted(self._left_out.items())),
            frame_lines=self._frame_lines,
            warnings=(*self._check.warnings, *unembedded),
            records=dict(self._counts),
            seq=last,
        )

    def _queue_embedding(self) -> tuple[str, ...]:
        """Jobs for memories whose vector was made of evidence that is forgotten here; a warning if
        there are such."""
        found = self._reembedded()
        for row, created_us in found.items():
            jobs.renew(self._conn, row, "embed", id_bytes(new_id("job")), created_us)
        if not found:
            return ()
        made = "`vestig housekeeping enrich` makes them"
        return (f"{len(found)} memories came without a vector; {made}",)

    def _reembedded(self) -> dict[int, int]:
        """Row → when it was stored, of the memories that were restored without their vector."""
        place = self._placement
        restored = self._forgotten.reembedded & (place.rows.keys() - place.existing)
        rows = [place.row(id) for id in sorted(restored)]
        sql = 'SELECT "row", t_created_us FROM memories WHERE "row" IN (?*)'
        return dict(select_in(self._conn, sql, rows))

    def _insert_deferred(self) -> None:
        """Writes the nodes that refer to one of a later line."""
        unique = "a name that no other unexpired entity of its namespace has"
        for number, entity, row in self._deferred_entities:
            with _deferred_line(number, "an entity of this export", unique):
                self._insert_entity(entity, row)
        unique = "a text that no other unexpired memory of its namespace, scope and author holds"
        for number, memory, row in self._deferred_memories:
            with _deferred_line(number, "a memory of this export", unique):
                self._insert_memory(memory, row)


_STORE_ONLY: Final = frozenset(("superseded_by", "revives"))
