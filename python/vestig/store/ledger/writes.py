"""One write transaction: the port `WriteTransaction`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import apsw

from vestig.changes import (
    ChangeSet,
    MemoryPatch,
    NewEvent,
    NewJob,
    NewMemory,
    NewSource,
    NewSupersession,
    NewTokenVectors,
    NewVector,
)
from vestig.errors import NotFoundError
from vestig.ids import id_bytes
from vestig.ports import Pieces, ProjectionRow
from vestig.store.ledger import chain, memory_versions, removal, settings
from vestig.store.ledger.graph_writes import GraphWriter
from vestig.store.ledger.projection_rows_new import fresh_rows
from vestig.store.ledger.reads import SqliteView
from vestig.store.ledger.rows import from_json, memory_row, to_json
from vestig.store.ledger.schema import COLUMNS, INSERT, NODE_TABLES, columns_sql
from vestig.store.ledger.token_rows import write_tokens
from vestig.store.sqlite import lookups
from vestig.store.sqlite.faults import store_faults
from vestig.store.sqlite.lookups import fetch, rows_of

__all__ = ["NO_CLOCK", "SqliteTransaction"]

# A time before all others: the transaction keeps the last one that the ledger recorded.
NO_CLOCK: Final = -(2**62)
_KINDS: Final = {"mem": "Memory", "source": "Source", "ent": "Entity", "chunk": "Chunk"}


class SqliteTransaction(SqliteView):
    """A view that can write once. Rows are digested as they are written (see `chain`)."""

    def __init__(
        self, conn: apsw.Connection, where: str, retired: chain.RetiredDigests, now_us: int
    ) -> None:
        super().__init__(conn, where, retired)
        recorded, counts = fetch(
            conn, "SELECT recorded_us, counts FROM chain WHERE seq = ?", (self._seq,)
        )[0]
        self.clock_stepped_back = now_us < recorded
        self.recorded_us = max(now_us, recorded)
        self.applied: tuple[int, bytes] | None = None
        self.rows_written = 0
        self._counts = counts
        self._salts = chain.Salts()
        self._new_seq = self._seq + 1
        self._namespace = ""
        self._rows: dict[str, int] = {}
        self._fresh: set[int] = set()
        self._link: chain.Link | None = None

    def apply(self, changes: ChangeSet) -> int:
        """Writes one change set and returns the new seq. May be called once.

        Raises:
            UniquenessCollision: another unexpired memory holds the same text.
            NotFoundError: an id that the namespace does not hold.
            ValidationError: an edge that cannot be.
        """
        assert self.applied is None, "apply may be called once"
        self._namespace = changes.namespace
        link = self.new_link()
        link.fresh = {}
        with store_faults(self._where):
            self._sources(link, changes.sources)
            self._find_rows(changes)
            self._memories(link, changes.memories)
            graph = self._graph(link)
            graph.entities(changes.entities)
            self._vectors(link, changes.vectors)
            self._token_vectors(link, changes.token_vectors)
            self._patches(link, changes.patches)
            graph.entity_patches(changes.entity_patches)
            graph.questions(changes.questions, changes.questions_tried)
            self._events(link, changes.events)
            graph.expire_edges(changes.expired_edges, changes.expired_from)
            graph.patch_edges(changes.edge_patches)
            graph.edges(changes.edges)
            self._supersessions(link, changes.supersessions)
            self._jobs(changes.jobs)
            self.close_link(link)
        self._link = link
        return self._new_seq

    def fresh_rows(self) -> list[ProjectionRow] | None:
        """What `apply` wrote, as the projection holds it; None when it did more than write new
        memories and entities, so that they must be read."""
        link, self._link = self._link, None
        if link is None or link.fresh is None:
            return None
        return fresh_rows(link.fresh, link.touched, self._rows, self._new_seq)

    def forget(self, namespace: str, ids: Sequence[str], *, actor: str | None) -> removal.Removed:
        """Removes these memories and all that hangs on them. Instead of `apply`, once.

        Raises:
            NotFoundError: an id that the namespace does not hold; nothing is removed.
        """
        assert self.applied is None, "apply may be called once"
        self._namespace = namespace
        with store_faults(self._where):
            rows = self._look_up(*ids)
            for id in ids:
                if id not in rows:
                    raise NotFoundError("Memory", id)
            link = self.new_link()
            removed = removal.remove(self._conn, link, rows, self._act(namespace, actor))
            self.close_link(link)
        self.rows_written = sum(removed.rows.values())
        return removed

    def collect(self, namespace: str) -> dict[str, int]:
        """Removes sources, entities and edges that support nothing; how many. Instead of
        `apply`."""
        assert self.applied is None, "apply may be called once"
        with store_faults(self._where):
            link = self.new_link()
            counts = removal.collect(self._conn, link, self._act(namespace, None))
            self._close(link, counts)
        return counts

    def purge_entities(
        self, namespace: str, ids: Sequence[str] | None = None, *, actor: str | None = None
    ) -> dict[str, int]:
        """Removes expired entities, these or all of the namespace, for good with their vectors
        and edges; how many rows of `entities` and `edges`. Instead of `apply`.

        Raises:
            NotFoundError: an id that the namespace does not hold; nothing is removed.
            ConflictError: an entity that is not expired; nothing is removed.
        """
        assert self.applied is None, "apply may be called once"
        with store_faults(self._where):
            rows = removal.expired_entities(self._conn, namespace, ids)
            link = self.new_link()
            counts = removal.purge(self._conn, link, rows, self._act(namespace, actor))
            self._close(link, counts)
        return counts

    def _act(self, namespace: str, actor: str | None) -> removal.Act:
        return removal.Act(namespace, actor, self._new_seq, self.recorded_us)

    def _close(self, link: chain.Link, counts: dict[str, int]) -> None:
        """The link, when anything went."""
        if any(counts.values()):
            self.close_link(link)
        self.rows_written = sum(counts.values())

    @property
    def counts(self) -> list[int]:
        """Rows of each table under the chain before this transaction."""
        return chain.unpack_counts(self._counts)

    def new_link(self) -> chain.Link:
        """The link that this transaction fills, for the other files of this room."""
        return chain.Link(self._head, self._new_seq, self.recorded_us, self.counts)

    def close_link(self, link: chain.Link) -> None:
        """Nothing is written after it."""
        settings.take_into_chain(self._conn, link, self._new_seq)
        self.applied = self._new_seq, link.append(self._conn)

    def _graph(self, link: chain.Link) -> GraphWriter:
        return GraphWriter(
            self._conn,
            link,
            namespace=self._namespace,
            seq=self._new_seq,
            recorded_us=self.recorded_us,
            salts=self._salts,
            rows=self._rows,
            fresh=self._fresh,
            row_of=self._row_of,
        )

    # --- ids ---------------------------------------------------------------------------------

    def _find_rows(self, changes: ChangeSet) -> None:
        """Rows of all nodes that the change set names and that exist."""
        wanted = {new.revives for new in changes.memories if new.revives is not None}
        for named in (
            changes.vectors, changes.patches, changes.events, changes.jobs, changes.questions,
            changes.token_vectors,
        ):  # fmt: skip
            wanted.update([item.memory_id for item in named])
        wanted.update(changes.questions_tried)
        wanted.update(changes.expired_from)
        for patch in changes.entity_patches:
            into = patch.columns.get("merged_into")
            wanted.update((patch.entity_id,) if into is None else (patch.entity_id, into))
        for linked in (changes.edges, changes.edge_patches):
            wanted.update([edge.from_id for edge in linked])
            wanted.update([edge.to_id for edge in linked])
        wanted.update([pair.superseding_id for pair in changes.supersessions])
        wanted.update([pair.superseded_id for pair in changes.supersessions])
        wanted.difference_update([new.id for new in changes.memories], self._rows)
        for prefix, table in NODE_TABLES.items():
            keys = lookups.node_keys(wanted, f"{prefix}_")
            if keys:
                self._rows.update(rows_of(self._conn, table, self._namespace, keys))

    def _row_of(self, id: str) -> int:
        row = self._rows.get(id)
        if row is None:
            raise NotFoundError(_KINDS.get(id.partition("_")[0], "Record"), id)
        return row

    def _next_row(self, table: str) -> int:
        return lookups.next_row(self._conn, table)

    # --- tables ------------------------------------------------------------------------------

    def _sources(self, link: chain.Link, sources: Sequence[NewSource]) -> None:
        if not sources:
            return
        row: int | None = None
        for new in sources:
            if new.source_type == "agentic":
                found = fetch(
                    self._conn,
                    'SELECT "row" FROM sources WHERE namespace = ? AND (agent IS NULL) = ?'
                    " AND IFNULL(agent, '') = ? AND (session_id IS NULL) = ?"
                    " AND IFNULL(session_id, '') = ? AND source_type = 'agentic'",
                    (
                        new.namespace,
                        int(new.agent is None),
                        "" if new.agent is None else new.agent,
                        int(new.session_id is None),
                        "" if new.session_id is None else new.session_id,
                    ),
                )
                if found:
                    self._rows[new.id] = found[0][0]
                    continue
            row = self._next_row("sources") if row is None else row + 1
            values = (
                self._salts.take(), row, id_bytes(new.id), new.namespace, self._new_seq,
                new.source_type, new.created_us, self.recorded_us, new.source_hash, new.path,
                new.agent, new.session_id, to_json(new.metadata),
            )  # fmt: skip
            self._conn.execute(INSERT["sources"], values)
            link.wrote("sources", values)
            self._rows[new.id] = row

    def _memories(self, link: chain.Link, memories: Sequence[NewMemory]) -> None:
        if not memories:
            return
        row = self._next_row("memories")
        rows: list[tuple[Any, ...]] = []
        for new in memories:
            revives = None if new.revives is None else self._row_of(new.revives)
            values = memory_row(
                new,
                row=row,
                salt=self._salts.take(),
                seq=self._new_seq,
                t_created_us=self.recorded_us,
                revives=revives,
            )
            rows.append(values)
            self._rows[new.id] = row
            self._fresh.add(row)
            row += 1
        with memory_versions.unique_texts():
            self._conn.executemany(INSERT["memories"], rows)
        link.wrote_all("memories", rows)
        for new in memories:
            row = self._rows[new.id]
            link.touched.add(row)
            if "tags" in new.metadata:
                memory_versions.write_tags(self._conn, row, (), new.metadata["tags"])
            if new.processing != "ready":
                memory_versions.write_processing(self._conn, row, new.processing)
        self.rows_written += len(memories)

    def _vectors(self, link: chain.Link, vectors: Sequence[NewVector]) -> None:
        fresh: list[tuple[Any, ...]] = []
        for new in vectors:
            row = self._row_of(new.memory_id)
            values = (self._salts.take(), row, self._new_seq, new.model, new.embedding)
            link.touched.add(row)
            if row in self._fresh:
                fresh.append(values)
                continue
            found = fetch(
                self._conn,
                f"SELECT {columns_sql('vectors')} FROM vectors WHERE memory = ?",
                (row,),
            )
            old = found[0] if found else None
            if old is None:
                self._conn.execute(INSERT["vectors"], values)
                link.wrote("vectors", values)
            else:
                self._conn.execute(
                    "UPDATE vectors SET salt = ?, seq = ?, model = ?, embedding = ?"
                    " WHERE memory = ?",
                    (values[0], *values[2:], row),
                )
                link.replaced("vectors", old, values)
        if fresh:
            self._conn.executemany(INSERT["vectors"], fresh)
            link.wrote_all("vectors", fresh)

    def _token_vectors(self, link: chain.Link, tokens: Sequence[NewTokenVectors]) -> None:
        for new in tokens:
            row = self._row_of(new.memory_id)
            pieces = Pieces(new.ids, new.codes, new.scales)
            values = (self._salts.take(), row, self._new_seq, new.model, *pieces)
            write_tokens(self._conn, link, values, fresh=row in self._fresh)

    def _patches(self, link: chain.Link, changes: Sequence[MemoryPatch]) -> None:
        for patch in changes:
            row = self._row_of(patch.memory_id)
            old = fetch(
                self._conn,
                f'SELECT {columns_sql("memories")} FROM memories WHERE "row" = ?',
                (row,),
            )[0]
            superseded_by = patch.columns.get("superseded_by")
            if superseded_by is not None and superseded_by not in self._rows:
                self._rows.update(self._look_up(superseded_by))
            new = memory_versions.patched(
                old, patch, seq=self._new_seq, recorded_us=self.recorded_us, row_of=self._row_of
            )
            changed = [at for at in range(len(old)) if old[at] != new[at]]
            if changed:
                sets = ", ".join(f'"{COLUMNS["memories"][at]}" = ?' for at in changed)
                values = (*(new[at] for at in changed), row)
                with memory_versions.unique_texts():
                    self._conn.execute(f'UPDATE memories SET {sets} WHERE "row" = ?', values)
                link.replaced("memories", old, new)
            link.touched.add(row)
            if "metadata" in patch.columns:
                tags_at = COLUMNS["memories"].index("metadata")
                before = from_json(old[tags_at]).get("tags", ())
                memory_versions.write_tags(
                    self._conn, row, before, from_json(new[tags_at]).get("tags", ())
                )
            if "processing" in patch.columns:
                memory_versions.write_processing(self._conn, row, patch.columns["processing"])

    def _look_up(self, *ids: str) -> dict[str, int]:
        return rows_of(self._conn, "memories", self._namespace, lookups.node_keys(ids, "mem_"))

    def _events(self, link: chain.Link, events: Sequence[NewEvent]) -> None:
        if not events:
            return
        row = self._next_row("events")
        rows: list[tuple[Any, ...]] = []
        for new in events:
            memory = self._row_of(new.memory_id)
            values = (
                self._salts.take(), row, id_bytes(new.id), memory, self._new_seq,
                self.recorded_us, new.event_type.value, new.occurred_us, new.source, new.actor,
                new.artifact_ref, to_json(new.payload),
            )  # fmt: skip
            rows.append(values)
            link.touched.add(memory)
            row += 1
        self._conn.executemany(INSERT["events"], rows)
        link.wrote_all("events", rows)

    def _supersessions(self, link: chain.Link, pairs: Iterable[NewSupersession]) -> None:
        for new in pairs:
            values = (
                self._salts.take(), self._next_row("supersessions"),
                self._row_of(new.superseding_id), self._row_of(new.superseded_id), new.reason,
                self.recorded_us, self._new_seq,
            )  # fmt: skip
            self._conn.execute(f"{INSERT['supersessions']} ON CONFLICT DO NOTHING", values)
            if self._conn.changes():
                link.wrote("supersessions", values)

    def _jobs(self, jobs: Iterable[NewJob]) -> None:
        for new in jobs:
            row = self._row_of(new.memory_id)
            self._conn.execute(
                "INSERT INTO jobs (id, memory, kind, state, attempts, created_us, updated_us)"
                " VALUES (?, ?, ?, 'pending', 0, ?, ?)",
                (id_bytes(new.id), row, new.kind, self.recorded_us, self.recorded_us),
            )
            memory_versions.write_processing(self._conn, row, "pending")
