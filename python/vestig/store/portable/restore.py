"""Taking the records of an export into a ledger, inside one write transaction.

Every restored row goes under the chain like any other. Into an empty store the original seqs
are kept: one link for each of them. Into any other store everything belongs to the one
transaction that brings it in.
"""

from __future__ import annotations

from typing import Any, Final

import apsw
import msgspec

from vestig.errors import ConflictError, EmbeddingMismatchError, ValidationError
from vestig.ids import id_bytes
from vestig.ports import EmbeddingIdentity
from vestig.store.ledger import memory_versions
from vestig.store.ledger.rows import from_json
from vestig.store.ledger.same_model import same_model
from vestig.store.ledger.schema import COLUMNS, INDEX, columns_sql
from vestig.store.ledger.settings import IDENTITY, ORIGIN, keep, setting
from vestig.store.ledger.writes import SqliteTransaction
from vestig.store.portable.forgotten_records import ForgottenRestoration
from vestig.store.portable.lines import columns_of, decode_line
from vestig.store.portable.records import (
    EdgeRecord,
    EntityRecord,
    EntityVectorRecord,
    EventRecord,
    Header,
    JobRecord,
    MemoryRecord,
    QuestionRecord,
    Record,
    SourceRecord,
    SupersessionRecord,
    TokenVectorsRecord,
    TombstoneRecord,
    VectorRecord,
)
from vestig.store.portable.restore_graph import taken, waiting_line
from vestig.store.sqlite.lookups import fetch

__all__ = ["Restoration", "RestoreReport"]


class RestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """Exact counts: `lines` = 1 header + `restored` + `present` + `duplicates` + `forgotten`.

    `present` are records that the store held already, or that belong to such a memory;
    `kept` of them are memories whose state in the store differs from the file and was kept;
    `duplicates` are memories whose text the store holds under another id; `forgotten` are
    memories that were forgotten here, and stay so; what belongs to one, or is supported by
    none but such, counts as `present`. `held`: by namespace, memories of this store that the file
    says were forgotten elsewhere. `erasing`: bytes of what was left out may be in the files until
    an erase is done.
    """

    lines: int
    restored: int
    present: int
    memories: int
    kept: int
    duplicates: int
    forgotten: int
    held: dict[str, tuple[str, ...]]
    erasing: bool
    records: dict[str, int]
    seq: int


class Restoration(ForgottenRestoration):
    """One restore, line by line. The caller rolls back when a line is refused."""

    def __init__(
        self,
        txn: SqliteTransaction,
        *,
        merge: bool,
        namespace: str | None,
        identity: EmbeddingIdentity | None,
    ) -> None:
        super().__init__(txn, merge=merge, namespace=namespace)
        self._identity = identity
        self._waiting: list[tuple[int, MemoryRecord, int]] = []
        self._kept = self._duplicates = self._lines = 0
        # Memories may name successors that come later in the file.
        self._conn.execute("PRAGMA defer_foreign_keys = ON")

    def take(self, line: str | bytes, number: int) -> None:
        """One line.

        Raises:
            ValidationError, ConflictError, EmbeddingMismatchError: see `portability.restore`.
        """
        record = decode_line(line, number)
        self._lines += 1
        try:
            if isinstance(record, Header):
                self._begin(record)
            elif self._header is None:
                raise ValidationError("record", type(record).__name__, "the header first")
            else:
                self._check_seq(record)
                self._take_record(record, number)
        except ValidationError as error:
            raise ValidationError(
                f"line {number}, {error.field}", error.value, error.allowed
            ) from None
        except apsw.ConstraintError as error:
            raise ConflictError(
                f"line {number}: expected a record that fits the store, the store refused it"
                f" ({type(error).__name__}: a second record of one id, text or pair);"
                " nothing was written"
            ) from error

    def _begin(self, header: Header) -> None:
        if self._header is not None:
            raise ValidationError("record", "header", "one header, on the first line")
        if header.namespace is None and self._namespace is not None:
            raise ValidationError("namespace", self._namespace, "none for an export of them all")
        stored = setting(self._conn, IDENTITY)
        mine = self._identity
        if mine is None and stored is not None:
            mine = msgspec.msgpack.decode(stored, type=EmbeddingIdentity)
        theirs = header.embedding
        if theirs is not None:
            if mine is not None and not same_model(mine, theirs):
                raise EmbeddingMismatchError(
                    f"the export's vectors were made by {theirs.model} with {theirs.dimensions}"
                    f" dimensions, the store works with {mine.model} with {mine.dimensions};"
                    " configure that model and import into a store of its own, then run"
                    " `vestig rebuild --embeddings`"
                )
            keep(self._conn, IDENTITY, msgspec.msgpack.encode(theirs))
        if self._keep_seq:
            keep(self._conn, ORIGIN, bytes.fromhex(header.origin))
        self._header = header

    def _check_seq(self, record: Record) -> None:
        assert self._header is not None
        for name in ("seq", "wseq", "expired_seq"):
            seq = getattr(record, name, 0)
            if seq > self._header.seq:
                raise ValidationError(name, seq, f"at most the header's seq {self._header.seq}")

    def _take_record(self, record: Record, number: int) -> None:
        if self._forgotten.of_memory(record):
            self._note(record, False)
            return
        match record:
            case MemoryRecord():
                written = self._memory(self._forgotten.pointing_nowhere(record), number)
            case SourceRecord():
                written = self._source(record)
            case VectorRecord():
                written = self._vector(record)
            case TokenVectorsRecord():
                written = self._token_vectors(record)
            case EventRecord():
                written = self._event(record)
            case EdgeRecord():
                written = self._edge(record)
            case EntityRecord():
                written = self._entity(record, number)
            case EntityVectorRecord():
                written = self._entity_vector(record)
            case QuestionRecord():
                written = self._question(record)
            case SupersessionRecord():
                written = self._supersession(record)
            case JobRecord():
                written = self._job(record)
            case TombstoneRecord():
                written = self._tombstone(record)
        self._note(record, written)

    def _note(self, record: Record, written: bool) -> None:
        if written:
            self._counts[str(record.__struct_config__.tag)] += 1
        else:
            self._present += 1

    # --- records -----------------------------------------------------------------------------

    def _source(self, record: SourceRecord) -> bool:
        space = self._space(record.namespace)
        if self._merge:
            found = fetch(
                self._conn,
                'SELECT "row", namespace FROM sources WHERE id = ?',
                (id_bytes(record.id),),
            )
            if found and found[0][1] != space:
                raise taken(record.id)
            found = found or fetch(
                self._conn,
                'SELECT "row", namespace FROM sources WHERE source_type = ? AND'
                " ? = 'agentic' AND namespace = ? AND agent IS ? AND session_id IS ?",
                (record.source_type,) * 2 + (space, record.agent, record.session_id),
            )
            if found:
                self._rows[record.id] = found[0][0]
                self._settled.add(record.id)
                return False
        row, seq = self._new_row("sources"), self._seq(record.seq)
        plain = columns_of(record, COLUMNS["sources"][5:])
        values = (self._salts.take(), row, id_bytes(record.id), space, seq, *plain)
        self._write("sources", values, seq)
        self._rows[record.id] = row
        return True

    def _memory(self, record: MemoryRecord, number: int) -> bool:
        space = self._space(record.namespace)
        if self._merge and self._holds(record, space):
            return False
        if record.id in self._rows:
            raise ValidationError("id", record.id, "one line for each memory")
        row = self._rows[record.id] = self._new_row("memories")
        named = (record.superseded_by, record.revives)
        if all(id is None or id in self._rows for id in named):
            self._insert_memory(record, row)
        else:
            self._waiting.append((number, record, row))
        return True

    def _insert_memory(self, record: MemoryRecord, row: int) -> None:
        seq, wseq = self._seq(record.seq), self._seq(record.wseq)
        values: list[Any] = [self._salts.take(), row, id_bytes(record.id)]
        values += [self._space(record.namespace), record.scope, seq, wseq]
        for column in COLUMNS["memories"][7:]:
            if column in ("superseded_by", "revives"):
                id = getattr(record, column)
                values.append(None if id is None else self._row(id))
            else:
                values += columns_of(record, (column,))
        link = self._write("memories", values, wseq)
        link.touched.add(row)
        tags = from_json(values[INDEX["memories"]["metadata"]]).get("tags", ())
        memory_versions.write_tags(self._conn, row, (), tags)
        touched = columns_of(record, ("access_count", "last_accessed_us", "processing"))
        if touched != [0, None, "ready"]:
            self._conn.execute("INSERT INTO access VALUES (?, ?, ?, ?)", (row, *touched))

    def _holds(self, record: MemoryRecord, space: str) -> bool:
        """Whether the store has this memory, by id or by its text.

        Raises:
            ConflictError: the id stands for another text.
        """
        found = fetch(
            self._conn,
            f"SELECT {columns_sql('memories')} FROM memories WHERE id = ?",
            (id_bytes(record.id),),
        )
        at = INDEX["memories"]
        if found:
            mine = found[0]
            if mine[at["namespace"]] != space:
                raise taken(record.id)
            if mine[at["content_hash"]].hex() != record.content_hash:
                raise ConflictError(
                    f"{record.id}: expected the text that the store holds under this id, the"
                    " export has another; nothing was written"
                )
            compared = [c for c in COLUMNS["memories"][7:] if c not in _STORE_ONLY]
            theirs = columns_of(record, tuple(compared))
            self._kept += [mine[at[column]] for column in compared] != theirs
        elif record.t_expired is None:
            found = fetch(
                self._conn,
                'SELECT NULL, "row" FROM memories WHERE content_hash = ? AND namespace = ?'
                " AND scope IS ? AND author IS ? AND t_expired_us IS NULL",
                (bytes.fromhex(record.content_hash), space, record.scope, record.author),
            )
            self._duplicates += len(found)
        if found:
            self._rows[record.id] = found[0][1]
            self._settled.add(record.id)
        return bool(found)

    def _vector(self, record: VectorRecord) -> bool:
        self._check_model(record)
        row = self._row(record.memory)
        if record.memory in self._settled:
            return False
        seq = self._seq(record.seq)
        values = (self._salts.take(), row, seq, record.model, record.embedding)
        self._write("vectors", values, seq).touched.add(row)
        return True

    def _token_vectors(self, record: TokenVectorsRecord) -> bool:
        self._check_name(record.model)
        row = self._row(record.memory)
        if record.memory in self._settled:
            return False
        seq = self._seq(record.seq)
        pieces = (record.ids, record.codes, record.scales)
        values = (self._salts.take(), row, seq, record.model, *pieces)
        self._write("token_vectors", values, seq).touched.add(row)
        return True

    def _event(self, record: EventRecord) -> bool:
        memory = self._row(record.memory)
        if record.memory in self._settled:
            return False
        row, seq = self._new_row("events"), self._seq(record.seq)
        plain = columns_of(record, COLUMNS["events"][5:])
        values = (self._salts.take(), row, id_bytes(record.id), memory, seq, *plain)
        self._write("events", values, seq).touched.add(memory)
        return True

    def _supersession(self, record: SupersessionRecord) -> bool:
        new, old = self._row(record.superseding), self._row(record.superseded)
        if record.superseded in self._settled:
            return False
        seq = self._seq(record.seq)
        (created,) = columns_of(record, ("created_us",))
        row = self._new_row("supersessions")
        values = (self._salts.take(), row, new, old, record.reason, created, seq)
        self._write("supersessions", values, seq)
        return True

    def _job(self, record: JobRecord) -> bool:
        memory = self._row(record.memory)
        if record.memory in self._settled:
            return False
        columns = ("kind", "state", "attempts", "next_attempt_us", "last_error")
        times = ("created_us", "updated_us")
        names = ", ".join(("id", "memory", *columns, *times))
        values = (id_bytes(record.id), memory, *columns_of(record, columns + times))
        self._conn.execute(f"INSERT INTO jobs ({names}) VALUES (?,?,?,?,?,?,?,?,?)", values)
        return True

    # --- the end -----------------------------------------------------------------------------

    def finish(self) -> RestoreReport:
        """Writes what waited and the links, and gives the counts.

        Raises:
            ValidationError: no header, or a record that refers to none.
        """
        if self._header is None:
            raise ValidationError("line 1", "nothing", "the header of an export")
        self._insert_merged()
        for number, record, row in self._waiting:
            unique = (
                "a text that no other unexpired memory of its namespace, scope and author holds"
            )
            with waiting_line(number, "a memory of this export", unique):
                self._insert_memory(record, row)
        erasing = self._leave_out_unsupported()
        last = self._txn.seq
        if self._counts or erasing:
            last = self._close_links(self._header.seq, self._lines, self._counts.total())
        return RestoreReport(
            lines=self._lines,
            restored=self._counts.total(),
            present=self._present - self._duplicates - len(self._forgotten.left_out),
            memories=self._counts["memory"],
            kept=self._kept,
            duplicates=self._duplicates,
            forgotten=len(self._forgotten.left_out),
            held={space: tuple(ids) for space, ids in self._held.items()},
            erasing=erasing,
            records=dict(self._counts),
            seq=last,
        )


_STORE_ONLY: Final = frozenset(("superseded_by", "revives"))
