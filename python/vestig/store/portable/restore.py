"""Restore: the records of an export go into a ledger, inside one write transaction.

Every restored row goes under the chain like any other. In an empty store records keep their seqs,
and there is one link for each seq. In any other store all records belong to the one transaction
that restores them; of a merge that is also when the store learns of them.

An export that was made before a forgetting still holds the memory, and the names that no other
memory mentions. Neither is restored: the scratch ledger that the file was read into forgets what
was forgotten in the store before its rows are taken over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, Final

import apsw
import msgspec

from vestig.errors import ConflictError, EmbeddingMismatchError, ValidationError
from vestig.ids import id_bytes, id_text, new_id
from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import by_caller
from vestig.ports import EmbeddingIdentity, Progress
from vestig.store.integrity import chain
from vestig.store.ledger.ledger import Ledger
from vestig.store.portable.lines import (
    EDGES,
    ENTITIES,
    FORMS,
    ITEMS,
    MEMORIES,
    TOMBSTONES,
    node_table,
)
from vestig.store.portable.scratch import PROGRESS_LINES, NormalForms, Scratch, scratch_ledger
from vestig.store.records import graph_writes, item_rows, kept_records, store_rows
from vestig.store.records.graph_writes import touched_node
from vestig.store.records.keyed_memories import Moment, VersionChange, order_versions
from vestig.store.records.memory_versions import same_memory, stored_item, stored_node
from vestig.store.records.removal import (
    Removal,
    TombstoneFields,
    remove,
    remove_entities,
    unsupported_entities,
)
from vestig.store.records.store_rows import (
    IDENTITY,
    ORIGIN,
    read_setting,
    same_model,
    write_setting,
)
from vestig.store.records.writes import NO_CLOCK, WriteTransaction
from vestig.store.sqlite.connections import each, fetch, known_ids, next_row, rows_of, select_in
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS
from vestig.store.tables.schema import ALL, CHAINED, INDEX, INSERT, NODE_TABLES, TABLES, columns_sql
from vestig.store.tables.table import Table
from vestig.telemetry import span

# Links without rows are cheap but not free: the seqs of a file are limited by its lines.
_LINKS_FREE: Final = 1_000_000
_LINKS_PER_LINE: Final = 1_000


class _Link(chain.Link):
    """A link whose rows are collected before its place in the chain is known."""

    def __init__(self, seq: int, recorded_us: int) -> None:
        super().__init__(b"", seq, recorded_us, [0] * len(CHAINED))

    def close(self, conn: apsw.Connection, previous: bytes, counts: list[int]) -> bytes:
        """Adds its rows to the counts so far and appends itself after `previous`."""
        self._previous = previous
        for at, number in enumerate(self._counts):
            counts[at] += number
        self._counts = counts
        return self.append(conn)


class Links:
    """The links of one restore, inside its write transaction.

    `keeps_seqs`: whether records keep the seqs of the file, which they do in an empty store.
    `next_seq`: that of the transaction of the restore, where they do not.
    """

    def __init__(self, txn: WriteTransaction) -> None:
        self._txn = txn
        self._links: dict[int, _Link] = {}
        self.keeps_seqs = txn.seq == 0
        self.next_seq = txn.seq + 1

    def seq(self, seq: int) -> int:
        """The transaction that a record of this seq belongs to."""
        return seq if self.keeps_seqs else self.next_seq

    def link(self, seq: int) -> _Link:
        """The link of a transaction, begun at the first call."""
        found = self._links.get(seq)
        if found is None:
            found = self._links[seq] = _Link(seq, self._txn.recorded_us)
        return found

    def close(self, seq_of_file: int, lines: int, rows: int) -> int:
        """Appends all links, through `seq_of_file` where seqs are kept, and gives the last seq.

        Raises:
            ValidationError: a seq that a file of so many lines cannot have.
        """
        txn, first = self._txn, self.next_seq
        last = max(seq_of_file if self.keeps_seqs else first, *self._links, first)
        if last > _LINKS_FREE + _LINKS_PER_LINE * lines + first:
            raise ValidationError("seq", last, "a seq in keeping with the number of lines")
        store_rows.take_into_chain(txn.connection, self.link(last), last)
        counts, head = txn.counts, txn.head
        for seq in range(first, last + 1):
            head = self.link(seq).close(txn.connection, head, counts)
            del self._links[seq]
        txn.rows_written = rows
        txn.applied = last, head
        return last


_MEMORY_ID: Final = lazy_pattern(r"mem_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_M: Final = INDEX[MEMORIES]
_X: Final = INDEX[EDGES]
_I: Final = INDEX[ITEMS]
_ENDS: Final = ("from_row", "to_row")
# Sources keep the order in which they produced a memory, which nothing shows before that is known.
_PRODUCED: Final = EDGE_CODES["PRODUCED"]
# Tables whose rows are taken over, nodes first; those of tombstones are looked at one by one.
_TAKEN: Final = sorted(
    (
        table
        for table in ALL
        if table.name != TOMBSTONES and (table.record or any(one.refers for one in table.columns))
    ),
    key=lambda table: not table.node,
)


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
        superseded: ids of memories that the store held and whose key has a value of the file now.
        shortened: ids of earlier values of keys that end where a value of the file begins.
        beside: memories of the file that did not take their key from what has it.
        ended: ids of memories that the file states and that were replaced or withdrawn here since;
            they are among the duplicates.
        outdated: (id, id of the file) of memories that hold here and were replaced there.
        kept_items: items of which the file has another value, which stays out.
        forgotten: memories that were forgotten in this store, and stay so; what belongs to one,
            or is supported by none but such, counts as `present`.
        forgotten_elsewhere: namespace → memories and items of this store that the file says were
            forgotten; they stay until somebody forgets them here.
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
    superseded: tuple[str, ...]
    shortened: tuple[str, ...]
    beside: tuple[kept_records.Beside, ...]
    ended: tuple[str, ...]
    outdated: tuple[tuple[str, str], ...]
    kept_items: tuple[kept_records.KeptItem, ...]
    forgotten: int
    forgotten_elsewhere: dict[str, tuple[str, ...]]
    left_lines: int
    left_out: tuple[tuple[int, str], ...]
    frame_lines: int
    warnings: tuple[str, ...]
    records: dict[str, int]
    seq: int


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
    now_us: int = NO_CLOCK,
) -> RestoreReport:
    """Restores an export, verbatim and with its original times, in one transaction. The whole file
    is read into a scratch ledger and checked before that begins.

    Without `merge` the namespaces of the file must be empty; into an empty store the seqs are
    kept too. With `merge` records are added by id: a memory that the store holds already stays
    as it is, with all that belongs to it, and so does an item; versions of a key become one history
    by `t_valid`, and the report names what was replaced by it. What was forgotten here stays so.
    Memories that the file says were forgotten are not restored by later imports either; those that
    this store has stay, and the report names them. A store that held something learns at `now_us`
    of what is merged into it: what it knew before that stays what it was. Any other restore leaves
    its clock where it is. A restore that brings nothing writes nothing.

    Args:
        lines: of the whole file.
        partial: what is whole is taken, and the rest is named in the report.
        namespace: puts the records of an export of one namespace there; None: where they were.
        identity: the embedder in use; an export of another model is refused.
        normal_forms: the normal forms that a text may have; None = any.
        progress: called with the lines done: read first, then written.

    Raises:
        ValidationError: a bad line; names its number. Nothing is written.
        ConflictError: a namespace that is not empty, or an id that the store has for another
            record.
        EmbeddingMismatchError: the vectors are of another model than the store's.
    """
    folder = None if ledger.path is None else ledger.path.parent
    read = scratch_ledger(
        lines, partial=partial, folder=folder, normal_forms=normal_forms, progress=progress
    )
    with ExitStack() as opened:
        with span("check") as counts:
            scratch = opened.enter_context(read)
            counts["lines"] = scratch.lines
        with ledger.write(now_us if merge and _holds_something(ledger) else NO_CLOCK) as txn:
            work = _Restoration(txn, scratch, merge=merge, namespace=namespace)
            report = work.run(identity, progress)
    if progress is not None:
        progress(report.lines, report.lines)
    return report


def _holds_something(ledger: Ledger) -> bool:
    with ledger.read() as view:
        return view.seq > 0


class _Restoration:
    """One restore. The caller rolls back when a row is refused."""

    def __init__(
        self, txn: WriteTransaction, scratch: Scratch, *, merge: bool, namespace: str | None
    ) -> None:
        self._txn = txn
        self._conn = txn.connection
        self._scratch = scratch
        self._from = scratch.conn
        self._merge = merge
        self._namespace = namespace
        self._links = Links(txn)
        self._salts = chain.Salts()
        # Row in the scratch ledger → row in the store, of the nodes of each table; and those of
        # them that the store held before: they and what belongs to them stay as they are.
        self._rows: dict[str, dict[int, int]] = {table: {} for table in NODE_TABLES.values()}
        self._existing: dict[str, set[int]] = {table: set() for table in NODE_TABLES.values()}
        # Ids of what the store has forgotten: (of a memory, 16 bytes).
        self._forgotten = set(fetch(self._conn, f'SELECT "row" > 0, id FROM {TOMBSTONES}'))
        self._expired_edges: Counter[tuple[Any, ...]] = Counter()
        self._next_rows: dict[str, int] = {}
        self._counts: Counter[str] = Counter()
        self._different = self._duplicates = self._skipped = self._unembedded = 0
        self._elsewhere: dict[str, dict[str, None]] = {}
        # Whether the store learns of what is restored in the transaction that restores it.
        self._learns = merge and not self._links.keeps_seqs
        self._kept_items: list[kept_records.KeptItem] = []
        # Rows of the file that stay out, and those that stand beside what has their key.
        self._left = set[int]()
        self._beside: dict[int, kept_records.Beside] = {}
        self._ended: dict[str, None] = {}
        # Row of the store → row of the file that replaced that there.
        self._outdated: dict[int, int] = {}
        self._changes: list[VersionChange] = []
        for conn in (self._conn, self._from):  # rows may name others that come later
            conn.execute("PRAGMA defer_foreign_keys = ON")

    def run(self, identity: EmbeddingIdentity | None, progress: Progress | None) -> RestoreReport:
        """Takes the rows over; the counts.

        Raises:
            ValidationError, ConflictError, EmbeddingMismatchError: see `restore`.
        """
        self._begin(identity)
        if self._merge:
            self._keep_items()
            self._match()
            self._drop_belongings([table for table in ALL if not _is_made_of_rows(table)])
        # Claims of memories that stay tell which of these lose evidence.
        named = self._forget_memories() if self._forgotten else set[int]()
        self._leave_out()
        if self._merge:
            self._drop_belongings(ALL)
        if self._forgotten:
            self._forget_entities(named)
        for name, rows in self._rows.items():
            for (row,) in each(self._from, f'SELECT "row" FROM {name} ORDER BY "row"'):
                if row not in rows:
                    rows[row] = self._new_row(name)
        for table in _TAKEN:
            self._take(table, progress)
        self._order_versions()
        self._settle_relations()
        self._take_tombstones()
        return self._report()

    # --- before the first row ------------------------------------------------------------------

    def _begin(self, identity: EmbeddingIdentity | None) -> None:
        header = self._scratch.header
        if header.namespace is None and self._namespace is not None:
            raise ValidationError(
                "line 1, namespace", self._namespace, "none for an export of them all"
            )
        if header.embedding is not None:
            self._check_identity(header.embedding, identity)
            write_setting(self._conn, IDENTITY, msgspec.msgpack.encode(header.embedding))
        if self._links.keeps_seqs:
            write_setting(self._conn, ORIGIN, bytes.fromhex(header.origin))
        spaces = " UNION ".join(
            f"SELECT namespace FROM {form.table.name}"
            for form in FORMS.values()
            if "namespace" in form.table.names
        )
        for (namespace,) in () if self._merge else each(self._from, spaces):
            space = self._space(namespace)
            for table in (*NODE_TABLES.values(), ITEMS):
                sql = f"SELECT 1 FROM {table} WHERE namespace = ? LIMIT 1"
                if fetch(self._conn, sql, (space,)):
                    raise ConflictError(
                        f"namespace {space}: expected an empty one to restore into, it holds"
                        " records; import into another store, or add by id with"
                        f" {by_caller('merge=True', '--merge')}"
                    )

    def _check_identity(self, theirs: EmbeddingIdentity, mine: EmbeddingIdentity | None) -> None:
        stored = read_setting(self._conn, IDENTITY)
        if mine is None and stored is not None:
            mine = msgspec.msgpack.decode(stored, type=EmbeddingIdentity)
        if mine is not None and not same_model(mine, theirs):
            raise EmbeddingMismatchError(
                f"the export's vectors were made by {theirs.model} with {theirs.dimensions}"
                f" dimensions, the store works with {mine.model} with {mine.dimensions};"
                " configure that model and import into a store of its own, then run"
                " `vestig rebuild --embeddings`"
            )

    def _space(self, namespace: str) -> str:
        """Where a record of this namespace goes."""
        return namespace if self._namespace is None else self._namespace

    def _new_row(self, table: str) -> int:
        row = self._next_rows.get(table)
        if row is None:
            row = next_row(self._conn, table)
        self._next_rows[table] = row + 1
        return row

    # --- what the store has, and what it has forgotten -----------------------------------------

    def _match(self) -> None:
        """Finds the nodes of the file that the store has.

        Raises:
            ConflictError: the store has something else under the id of one.
        """
        for name in NODE_TABLES.values():
            at = INDEX[name]
            for row in each(self._from, f"SELECT {columns_sql(name)} FROM {name}"):
                number, space = row[at["row"]], self._space(row[at["namespace"]])
                if name == MEMORIES:
                    if (1, row[at["id"]]) in self._forgotten or number in self._left:
                        continue
                    found = self._memory_here(row, space)
                else:
                    found = stored_node(self._conn, name, row, space)
                if found is None:
                    continue
                self._rows[name][number], by_id = found
                self._existing[name].add(number)
                if name == MEMORIES and by_id:
                    self._different += not same_memory(self._conn, self._from, found[0], row)
                self._duplicates += name == MEMORIES and not by_id
        for number, beside in self._beside.items():
            if not kept_records.stand_beside(self._from, number, beside):
                self._left.add(number)

    def _memory_here(self, row: tuple[Any, ...], space: str) -> tuple[int, bool] | None:
        """The row of the memory that one of the file is, and whether it has its id; one that does
        not take its key from what has it loses it in the scratch ledger."""
        found = stored_node(self._conn, MEMORIES, row, space)
        if found is None and (beside := kept_records.beside(self._conn, row, space)) is not None:
            row = tuple(None if at == _M["key"] else one for at, one in enumerate(row))
            found = stored_node(self._conn, MEMORIES, row, space)
            if found is None:
                self._beside[row[_M["row"]]] = beside
        if (
            found is None
            and (ended := kept_records.ended_since(self._conn, row, space)) is not None
        ):
            found = ended, False
            self._ended[self._id_of(ended)] = None
        self._note_outdated(row, space, found)
        return found

    def _note_outdated(
        self, row: tuple[Any, ...], space: str, found: tuple[int, bool] | None
    ) -> None:
        """Notes what holds here and was replaced in the store of the file."""
        successor = row[_M["superseded_by"]]
        here = kept_records.still_active(self._conn, row, space) if found is None else found[0]
        if successor is not None and here is not None:
            self._outdated[here] = successor

    def _id_of(self, row: int) -> str:
        """The id of a memory of the store."""
        sql = f'SELECT id FROM {MEMORIES} WHERE "row" = ?'
        return id_text("mem", fetch(self._conn, sql, (row,))[0][0])

    def _keep_items(self) -> None:
        """Finds the items that stay as they are: neither another value of the file is taken, nor
        its text."""
        now_us = self._txn.recorded_us
        self._kept_items = kept_records.kept_items(self._conn, self._from, self._space, now_us)
        for item in self._kept_items:
            self._left.update(item.texts)

    def _leave_out(self) -> None:
        """Removes from the scratch ledger the memories that stay out, with what they alone
        support."""
        sql = f'SELECT "row", id, namespace FROM {MEMORIES} WHERE "row" IN (?*)'
        memories: dict[str, dict[str, int]] = {}
        for row, id, space in select_in(self._from, sql, sorted(self._left)):
            memories.setdefault(space, {})[id_text("mem", id)] = row
        seq = self._scratch.header.seq
        for space, gone in memories.items():
            fields = TombstoneFields(space, None, seq, self._txn.recorded_us)
            remove(self._from, _no_link(), gone, fields, keep=self._has, keep_summaries=True)

    def _drop_belongings(self, tables: Iterable[Table]) -> None:
        """Drops the rows of these tables that belong to nodes which stay as they are: the store has
        its own."""
        for table in tables:
            owner = owner_of(table)
            if owner is not None and not table.node:
                rows = [(row,) for row in self._existing[node_table(table[owner]).name]]
                self._from.executemany(f'DELETE FROM {table.name} WHERE "{owner}" = ?', rows)
        memories = [(row,) for row in self._existing[MEMORIES]]
        for code, ends in enumerate(EDGE_ENDS):
            if ends.count("mem") == 1:
                end = "from_row" if ends[0] == "mem" else "to_row"
                sql = f"DELETE FROM {EDGES} WHERE edge_type = {code} AND {end} = ?"
                self._from.executemany(sql, memories)

    def _forget_memories(self) -> set[int]:
        """Forgets in the scratch ledger the memories that the store has forgotten, with all that
        they alone support; rows of the entities that claims of memories which stay name."""
        memories: dict[str, dict[str, int]] = {}
        for row, id, space in each(self._from, f'SELECT "row", id, namespace FROM {MEMORIES}'):
            if (1, id) in self._forgotten:
                memories.setdefault(space, {})[id_text("mem", id)] = row
        for number, (space, gone) in enumerate(sorted(memories.items()), 1):
            seq = self._scratch.header.seq + number
            fields = TombstoneFields(space, None, seq, self._txn.recorded_us)
            removed = remove(self._from, _no_link(), gone, fields, keep=self._has)
            self._skipped += removed.rows[MEMORIES]
            keys = known_ids(list(removed.embed_jobs), "mem")
            rows = rows_of(self._from, MEMORIES, space, keys).values()
            self._unembedded += sum(not self._has(MEMORIES, row) for row in rows)
        named: set[int] = set()
        for table in ALL:
            for column in table.columns:
                if column.refers == ENTITIES and column.null and not table.node:
                    sql = (
                        f"SELECT {column.name} FROM {table.name} WHERE {owner_of(table)} IN (?*)"
                        f" AND {column.name} IS NOT NULL"
                    )
                    found = select_in(self._from, sql, sorted(self._existing[MEMORIES]))
                    named.update(entity for (entity,) in found)
        return named

    def _forget_entities(self, named: set[int]) -> None:
        """Removes entities that the store has removed, or that lost a claim which named them
        (rows), where nothing supports them."""
        entities: dict[str, list[int]] = {}
        for row, id, space in each(self._from, f'SELECT "row", id, namespace FROM {ENTITIES}'):
            if (row in named or (0, id) in self._forgotten) and not self._has(ENTITIES, row):
                entities.setdefault(space, []).append(row)
        for space, rows in entities.items():
            fields = TombstoneFields(space, None, self._scratch.header.seq, self._txn.recorded_us)
            lone = unsupported_entities(self._from, space, rows)
            remove_entities(Removal(self._from, _no_link()), lone, fields)

    def _has(self, table: str, row: int) -> bool:
        """Return whether the store held a node of the file before."""
        return row in self._existing[table]

    # --- rows ----------------------------------------------------------------------------------

    def _take(self, table: Table, progress: Progress | None) -> None:
        """Takes the rows of a table over, with the rows of the store in place of those of the
        scratch ledger."""
        line = ", line" if table.record is not None else ", NULL"
        key = ", ".join(f'"{name}"' for name in table.key)
        sql = f"SELECT {columns_sql(table.name)}{line} FROM {table.name} ORDER BY {key}"
        references = [
            (at, self._rows[node_table(one).name])
            for at, one in enumerate(table.columns)
            if one.refers is not None
        ]
        total = self._scratch.lines
        for *values, number in each(self._from, sql):
            if table.node and self._has(table.name, values[table.names.index("row")]):
                continue
            for at, rows in references:
                if values[at] is not None:
                    values[at] = rows[values[at]]
            try:
                written = self._write(table, values)
            except apsw.ConstraintError as error:
                if table.node:
                    # says which id another namespace holds
                    stored_node(
                        self._conn, table.name, values, values[table.names.index("namespace")]
                    )
                raise ConflictError(
                    f"line {number}: expected a record that fits the store, the store refused it"
                    f" ({type(error).__name__}: a second record of one id, text or pair);"
                    " nothing was written"
                ) from error
            if written and table.record is not None and number is not None:
                self._counts[table.record] += 1
                done = self._counts.total()
                if progress is not None and done % PROGRESS_LINES == 0:
                    progress(done, total)

    def _write(self, table: Table, values: list[Any]) -> bool:
        """Writes a row; False where the store has it."""
        at = INDEX[table.name]
        if "namespace" in at:
            values[at["namespace"]] = self._space(values[at["namespace"]])
        for column in table.columns:
            if column.quotes and self._names_forgotten(values[at[column.name]]):
                for name in column.quotes:
                    values[at[name]] = None
        if table.code is None:
            if "row" in at:
                values[at["row"]] = None
            self._conn.execute(f"{INSERT[table.name]} ON CONFLICT {table.on_conflict}", values)
            return self._conn.changes() > 0
        if table.name == EDGES:
            return self._write_edge(values)
        if table.name == ITEMS:
            return self._write_item(values)
        if "row" in at:
            known = self._rows.get(table.name, {})
            row = values[at["row"]]
            values[at["row"]] = known[row] if table.node else self._new_row(table.name)
        self._write_chained(table, values)
        return True

    def _write_chained(self, table: Table, values: list[Any]) -> None:
        at = INDEX[table.name]
        values[at["salt"]] = self._salts.take()
        for name in ("seq", "wseq"):
            if name in at:
                values[at[name]] = self._links.seq(values[at[name]])
        self._learn(table.name, values)
        link = self._links.link(values[at["wseq" if "wseq" in at else "seq"]])
        self._conn.execute(INSERT[table.name], values)
        link.wrote(table.name, values)
        if table.node and table.projected:
            link.touched.add(_as_touched(table.name, values[at["row"]]))
        elif table.projected:
            for column in table.columns:
                if column.refers is not None and not column.null:
                    node = node_table(column).name
                    link.touched.add(_as_touched(node, values[at[column.name]]))

    def _learn(self, table: str, values: list[Any]) -> None:
        """Puts when the store learns of a record in the place of when that of the file did."""
        if self._learns:
            kept_records.put_learnt(table, values, self._txn.recorded_us)

    def _write_item(self, values: list[Any]) -> bool:
        """Writes an item. What the store has stays, unless nothing shows it any more; one that was
        deleted here does not come back, and one that the file says was deleted stays until somebody
        deletes it here."""
        old = stored_item(self._conn, values)
        if old is not None:
            deleted = values[_I["key"]] is None
            if deleted and old[_I["key"]] is not None:
                id = id_text("item", values[_I["id"]])
                self._elsewhere.setdefault(values[_I["namespace"]], {})[id] = None
            if deleted or not kept_records.is_expired(old, self._txn.recorded_us):
                return False
            values[_I["row"]], values[_I["id"]] = old[_I["row"]], old[_I["id"]]
            values[_I["version"]] = max(values[_I["version"]], old[_I["version"]] + 1)
        else:
            values[_I["row"]] = self._new_row(ITEMS)
        values[_I["salt"]] = self._salts.take()
        values[_I["seq"]] = self._links.seq(values[_I["seq"]])
        item_rows.put(self._conn, self._links.link(values[_I["seq"]]), tuple(values), old)
        return True

    def _order_versions(self) -> None:
        """Brings the versions of the keys that restored memories have into one order."""
        if self._counts["memory"]:
            seq = self._links.seq(self._scratch.header.seq)
            moment = Moment(seq, self._txn.recorded_us, self._links.link(seq))
            self._changes = order_versions(self._conn, self._taken(), moment, self._salts.take)

    def _settle_relations(self) -> None:
        """Begins and ends the relations of claims that came to stand beside others."""
        if not self._merge or self._links.keeps_seqs:
            return
        seq = self._links.next_seq
        rows = graph_writes.stating_at(self._conn, seq)
        if rows:
            moment = graph_writes.Moment(self._links.link(seq), seq, self._txn.recorded_us)
            graph_writes.settle(self._conn, graph_writes.relations_at(self._conn, rows), moment)

    def _write_edge(self, values: list[Any]) -> bool:
        """Writes an edge. One between nodes that the store had stays as it is there; its memories
        decide where it has one. Two names of the file may be one entity here: no edge. Where an end
        was another one here, the store may have the edge's id for that end: it gets its own."""
        code, expired = values[_X["edge_type"]], values[_X["expired_seq"]]
        ends = [
            (NODE_TABLES[one], column) for one, column in zip(EDGE_ENDS[code], _ENDS, strict=True)
        ]
        decisive = [one for one in ends if one[0] == MEMORIES] or ends
        if all(self._has(table, values[_X[column]]) for table, column in decisive):
            return False
        for table, column in ends:
            values[_X[column]] = self._rows[table][values[_X[column]]]
        if ends[0][0] == ends[1][0] and values[_X["from_row"]] == values[_X["to_row"]]:
            return False
        if expired and not self._links.keeps_seqs:
            # Expired edges of one place stay apart by the seq that ended them.
            key = tuple(values[_X[name]] for name in TABLES[EDGES].key[:-1])
            expired = self._links.next_seq + self._expired_edges[key]
            self._expired_edges[key] += 1
        seq = self._links.seq(values[_X["seq"]])
        values[_X["expired_seq"]], values[_X["seq"]] = expired, seq
        if code != _PRODUCED:
            self._learn(EDGES, values)
        values[_X["salt"]] = None if values[_X["evidence"]] is None else self._salts.take()
        taken = f"SELECT 1 FROM {EDGES} WHERE id = ?"
        if self._merge and fetch(self._conn, taken, (values[_X["id"]],)):
            values[_X["id"]] = id_bytes(new_id("edge"))
        present = " ON CONFLICT DO NOTHING" if self._merge and not expired else ""
        self._conn.execute(INSERT[EDGES] + present, values)
        if self._conn.changes() == 0:
            return False
        link = self._links.link(max(seq, expired))
        link.wrote(EDGES, values)
        node = touched_node(code, values[_X["from_row"]])
        if node is not None:
            link.touched.add(node)
        return True

    def _names_forgotten(self, text: str | None) -> bool:
        """Return whether a text has the id of a memory that was forgotten."""
        return text is not None and any(
            (1, bytes.fromhex(id[4:].replace("-", ""))) in self._forgotten
            for id in _MEMORY_ID.findall(text)
        )

    def _take_tombstones(self) -> None:
        """Writes the tombstones of memories that this store never had. A memory that it has stays,
        and is added to `elsewhere`.

        Raises:
            ConflictError: another namespace of the store holds the id.
        """
        table = TABLES[TOMBSTONES]
        at = INDEX[table.name]
        columns = columns_sql(table.name)
        sql = f'SELECT {columns} FROM {TOMBSTONES} WHERE line IS NOT NULL ORDER BY "row"'
        for row in each(self._from, sql):
            values = list(row)
            id, space = values[at["id"]], self._space(values[at["namespace"]])
            if (1, id) in self._forgotten:
                continue
            if stored_node(self._conn, TOMBSTONES, row, space) is not None:
                self._elsewhere.setdefault(space, {})[id_text("mem", id)] = None
                continue
            values[at["namespace"]], values[at["row"]] = space, self._new_row(MEMORIES)
            self._write_chained(table, values)
            self._counts["tombstone"] += 1

    # --- the end -------------------------------------------------------------------------------

    def _report(self) -> RestoreReport:
        scratch, restored = self._scratch, self._counts.total()
        last = self._txn.seq
        if restored:
            last = self._links.close(scratch.header.seq, scratch.lines, restored)
        warnings = list(scratch.warnings)
        if self._unembedded:
            made = by_caller("`vestig housekeeping enrich` makes them")
            warnings.append(f"{self._unembedded} memories came without a vector; {made}")
        superseded, shortened = self._changed_here()
        # a missing trailer is named like a line, and is none
        left_lines = len(scratch.left_out) - (2 - scratch.frame_lines)
        others = restored + self._duplicates + self._skipped + left_lines + scratch.frame_lines
        return RestoreReport(
            lines=scratch.lines,
            restored=restored,
            present=scratch.lines - others,
            memories=self._counts["memory"],
            different=self._different,
            duplicates=self._duplicates,
            superseded=superseded,
            shortened=shortened,
            beside=tuple(one for row, one in self._beside.items() if row not in self._left),
            ended=tuple(self._ended),
            outdated=self._outdated_here(),
            kept_items=tuple(self._kept_items),
            forgotten=self._skipped,
            forgotten_elsewhere={space: tuple(ids) for space, ids in self._elsewhere.items()},
            left_lines=left_lines,
            left_out=tuple(sorted(scratch.left_out.items())),
            frame_lines=scratch.frame_lines,
            warnings=tuple(warnings),
            records=dict(self._counts),
            seq=last,
        )

    def _taken(self) -> set[int]:
        """Rows of the memories that the store has from the file."""
        rows = self._rows[MEMORIES].items()
        return {row for file, row in rows if not self._has(MEMORIES, file)}

    def _changed_here(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Ids of the memories that the store held and that were superseded, and of those that end
        earlier."""
        taken = self._taken()
        mine = [one for one in self._changes if one.row not in taken]
        ids = [(one.replaced, self._id_of(one.row)) for one in mine]
        superseded = tuple(id for replaced, id in ids if replaced)
        return superseded, tuple(id for replaced, id in ids if not replaced)

    def _outdated_here(self) -> tuple[tuple[str, str], ...]:
        """(id, id of what replaced it there) of the memories that hold here beside that."""
        pairs = [(one, self._rows[MEMORIES].get(new)) for one, new in self._outdated.items()]
        rows = sorted({row for pair in pairs for row in pair if row is not None})
        sql = f'SELECT "row", id FROM {MEMORIES} WHERE status = \'active\' AND "row" IN (?*)'
        ids = {row: id_text("mem", id) for row, id in select_in(self._conn, sql, rows)}
        return tuple((ids[old], ids[new]) for old, new in pairs if old in ids and new in ids)


def _no_link() -> chain.Link:
    """A link that is appended to no chain."""
    return chain.Link(b"", 0, 0, [0] * len(CHAINED))


def owner_of(table: Table) -> str | None:
    """Return the reference that decides whether a merge brings a row; None where there is none."""
    required = (one.name for one in table.columns if one.refers is not None and not one.null)
    return table.owner or next(required, None)


def _is_made_of_rows(table: Table) -> bool:
    """Return whether rows of other tables make those of this one, or of what it belongs to."""
    owner = owner_of(table)
    parent = None if owner is None else TABLES[table[owner].refers or ""]
    return bool(table.lives_by or (parent is not None and parent.lives_by))


def _as_touched(table: str, row: int) -> int:
    """Return a node as the chain names it: entities are negative."""
    return -row if table == ENTITIES else row
