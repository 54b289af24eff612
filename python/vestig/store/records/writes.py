"""One write transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import apsw

from vestig.changes import (
    ChangeSet,
    MemoryPatch,
    NewEvent,
    NewJob,
    NewSource,
    NewSupersession,
    NewTokenCodes,
    NewVector,
)
from vestig.errors import NotFoundError
from vestig.ids import id_bytes
from vestig.store.integrity import chain
from vestig.store.integrity.digest_check import CheckedMemories
from vestig.store.records import (
    anchor_rows,
    graph_writes,
    item_rows,
    memory_versions,
    removal,
    rule_rows,
    store_rows,
)
from vestig.store.records.graph_rows import ClaimWriter, NodeRows, named_nodes
from vestig.store.records.graph_writes import GraphWriter
from vestig.store.records.memory_versions import write_originals
from vestig.store.records.projection_rows import AXES, NewRows, new_rows
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import StoredAnswer, from_json, memory_row, to_json
from vestig.store.sqlite import connections
from vestig.store.sqlite.connections import fetch, store_faults
from vestig.store.tables.schema import COLUMNS, INDEX, INSERT, columns_sql
from vestig.types import Memory

# A time before all others: the transaction keeps the last one that the ledger recorded.
NO_CLOCK: Final = -(2**62)
_ROW: Final = INDEX["memories"]["row"]
_MEMORY: Final = f'SELECT {columns_sql("memories")} FROM memories WHERE "row" = ?'


def _freed_texts(changes: ChangeSet) -> list[MemoryPatch]:
    """Patches that expire what a new memory states anew, whose text it may have only then; what
    replaces it is named once that is there."""
    anew = {new.revives for new in changes.memories} - {new.id for new in changes.memories}
    return [
        MemoryPatch(
            memory_id=patch.memory_id, fields={"status": patch.fields["status"]}, expired=True
        )
        for patch in changes.patches
        if patch.expired and patch.memory_id in anew
    ]


class WriteTransaction(LedgerView):
    """A view that can write once; `seq` is still the one before its own. Rows are digested as they
    are written (see `chain`). `applied`: seq and head of what was written; None before.
    `clock_behind_us`: how far the clock lies before the last recorded time, which is used
    instead."""

    def __init__(
        self,
        conn: apsw.Connection,
        where: str,
        retired: chain.RetiredDigests,
        checked: CheckedMemories,
        now_us: int,
    ) -> None:
        super().__init__(conn, where, retired, checked)
        recorded, counts = fetch(
            conn, "SELECT recorded_us, counts FROM chain WHERE seq = ?", (self._seq,)
        )[0]
        self.clock_behind_us = max(0, recorded - now_us)
        self.recorded_us = max(now_us, recorded)
        self.applied: tuple[int, bytes] | None = None
        self.rows_written = 0
        self.keeps_answer = False
        self._counts = counts
        self._salts = chain.Salts()
        self._new_seq = self._seq + 1
        self._nodes = NodeRows(conn, "")
        # What `apply` wrote, until `new_rows` gives it out.
        self._applied_link: chain.Link | None = None

    def apply(self, changes: ChangeSet) -> int:
        """Writes one change set and returns the new seq. May be called once.

        Raises:
            UniquenessCollision: another unexpired memory holds the same text.
            NotFoundError: an id that the namespace does not hold.
            ValidationError: an edge that cannot be.
        """
        assert self.applied is None, "apply may be called once"
        nodes = self._nodes = NodeRows(self._conn, changes.namespace)
        link = self.new_link()
        link.new_rows = {}
        graph = GraphWriter(
            self._conn,
            link,
            nodes,
            seq=self._new_seq,
            recorded_us=self.recorded_us,
            salts=self._salts,
        )
        with store_faults(self._where):
            self._sources(link, changes.sources)
            self._load_nodes(changes)
            self._patches(link, _freed_texts(changes))
            self._memories(link, changes.memories)
            graph.entities(changes.entities)
            self._vectors(link, changes.vectors)
            self._token_codes(link, changes.token_codes)
            write_originals(
                self._conn, link, nodes, changes.original_texts,
                seq=self._new_seq, salts=self._salts,
            )  # fmt: skip
            self._patches(link, changes.patches)
            graph.entity_patches(changes.entity_patches)
            graph.questions(changes.questions, changes.questions_tried)
            stated = ClaimWriter(self._conn, link, nodes, seq=self._new_seq, salts=self._salts)
            stated.claims(changes.claims)
            stated.added(changes.added_evidence)
            self._events(link, changes.events)
            graph.expire_edges(changes.expired_edges)
            graph.patch_edges(changes.edge_patches)
            graph.edges(changes.edges)
            self._relations(link, changes)
            self._supersessions(link, changes.supersessions)
            self._jobs(changes.jobs)
            item_rows.write(
                self._conn, link, changes.items,
                seq=self._new_seq, now_us=self.recorded_us, salts=self._salts,
            )  # fmt: skip
            rule_rows.write(
                self._conn, link, nodes, changes.rules, seq=self._new_seq, salts=self._salts
            )
            anchor_rows.write(
                self._conn, link, nodes, changes.anchors, seq=self._new_seq, salts=self._salts
            )
            self.close_link(link)
        self._applied_link = link
        return self._new_seq

    def new_rows(self) -> NewRows | None:
        """The rows of the projection for what `apply` wrote; None when all of them must be read.
        Answers once."""
        link, self._applied_link = self._applied_link, None
        if link is None or link.new_rows is None:
            return None
        return new_rows(link.new_rows, link, self._nodes.by_id, self._new_seq)

    def forget(
        self,
        namespace: str,
        ids: Sequence[str],
        *,
        actor: str | None,
        items: Sequence[item_rows.ItemRow] = (),
        documents: Sequence[str] = (),
        values: Sequence[tuple[item_rows.ItemRow, str]] = (),
        keep_summaries: bool = False,
        pieces: Collection[str] = (),
    ) -> removal.Removed:
        """Removes these memories and all that belongs to them, with the summaries that cover them
        unless these are kept, and the values of these items; of others the values, in the place of
        which `values` has what is to stand there. Instead of `apply`, once. `pieces`: parts of
        texts that no answer is to quote and no file to hold.

        Of a document whose passages are all gone, it stays known that its file was read, but for
        that of the versions (ids of sources) in `documents`.

        Raises:
            NotFoundError: an id that the namespace does not hold; nothing is removed.
        """
        assert self.applied is None, "apply may be called once"
        with store_faults(self._where):
            keys = connections.node_keys(ids, "mem_")
            rows = connections.rows_of(self._conn, "memories", namespace, keys)
            for id in ids:
                if id not in rows:
                    raise NotFoundError("Memory", id)
            link = self.new_link()
            fields = self._tombstone_fields(namespace, actor)
            sources = connections.rows_of(
                self._conn, "sources", namespace, connections.node_keys(documents, "source_")
            )
            removed = removal.remove(
                self._conn,
                link,
                rows,
                fields,
                items=items,
                documents=set(sources.values()),
                values=values,
                keep_summaries=keep_summaries,
                pieces=pieces,
            )
            self.close_link(link)
        self.rows_written = sum(removed.rows.values())
        return removed

    def collect(self, namespace: str) -> dict[str, int]:
        """Removes sources and entities that nothing supports, and edges that lost an end; rows per
        table. Instead of `apply`."""
        assert self.applied is None, "apply may be called once"
        with store_faults(self._where):
            link = self.new_link()
            fields = self._tombstone_fields(namespace, None)
            counts = removal.collect(self._conn, link, fields, known_files=True)
            self._close_removal(link, counts)
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
            counts = removal.purge(self._conn, link, rows, self._tombstone_fields(namespace, actor))
            self._close_removal(link, counts)
        return counts

    def keep_answer(self, namespace: str, answer: StoredAnswer, *, since_us: int) -> None:
        """Keeps the answer to a request with a key, with what else this transaction writes or
        alone; takes no seq. Answers from before `since_us` are dropped.

        Raises:
            ConflictError: an answer is kept for the key already; leaving the transaction with this
                error undoes all of it.
        """
        with store_faults(self._where):
            store_rows.keep_answer(self._conn, namespace, answer, since_us)
        self.keeps_answer = True

    def _tombstone_fields(self, namespace: str, actor: str | None) -> removal.TombstoneFields:
        return removal.TombstoneFields(namespace, actor, self._new_seq, self.recorded_us)

    def _close_removal(self, link: chain.Link, counts: dict[str, int]) -> None:
        """Closes the link if a row was removed."""
        if any(counts.values()):
            self.close_link(link)
        self.rows_written = sum(counts.values())

    @property
    def counts(self) -> list[int]:
        """Rows of each table under the chain before this transaction."""
        return chain.unpack_counts(self._counts)

    def new_link(self) -> chain.Link:
        """A link for this transaction, for modules of `store` that write rows by themselves."""
        return chain.Link(self._head, self._new_seq, self.recorded_us, self.counts)

    def close_link(self, link: chain.Link) -> None:
        """Appends the link to the chain; nothing is written after it."""
        store_rows.take_into_chain(self._conn, link, self._new_seq)
        self.applied = self._new_seq, link.append(self._conn)

    # --- ids ---------------------------------------------------------------------------------

    def _load_nodes(self, changes: ChangeSet) -> None:
        """Rows of all nodes that the change set names and that exist."""
        wanted = {new.revives for new in changes.memories if new.revives is not None}
        for named in (
            changes.vectors, changes.patches, changes.events, changes.jobs, changes.questions,
            changes.token_codes, changes.original_texts, changes.rules, changes.anchors,
        ):  # fmt: skip
            wanted.update([item.memory_id for item in named])
        wanted.update(changes.questions_tried)
        wanted.update(named_nodes(changes.claims, changes.added_evidence))
        for patch in changes.entity_patches:
            into = patch.columns.get("merged_into")
            wanted.update((patch.entity_id,) if into is None else (patch.entity_id, into))
        for linked in (changes.edges, changes.edge_patches):
            wanted.update([edge.from_id for edge in linked])
            wanted.update([edge.to_id for edge in linked])
        wanted.update([new.target for new in changes.anchors if new.kind == "memory"])
        wanted.update([pair.superseding_id for pair in changes.supersessions])
        wanted.update([pair.superseded_id for pair in changes.supersessions])
        wanted.difference_update([new.id for new in changes.memories], self._nodes.by_id)
        self._nodes.load(wanted)

    def _next_row(self, table: str) -> int:
        return connections.next_row(self._conn, table)

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
                    self._nodes.by_id[new.id] = found[0][0]
                    continue
            row = self._next_row("sources") if row is None else row + 1
            values = (
                self._salts.take(), row, id_bytes(new.id), new.namespace, self._new_seq,
                new.source_type, new.created_us, self.recorded_us, new.path, new.agent,
                new.session_id, to_json(new.metadata),
            )  # fmt: skip
            self._conn.execute(INSERT["sources"], values)
            link.wrote("sources", values)
            self._nodes.by_id[new.id] = row

    def _memories(self, link: chain.Link, memories: Sequence[Memory]) -> None:
        if not memories:
            return
        row = self._next_row("memories")
        rows: list[tuple[Any, ...]] = []
        for new in memories:
            values = memory_row(
                new,
                row=row,
                salt=self._salts.take(),
                seq=self._new_seq,
                t_created_us=self.recorded_us,
                row_of=self._nodes.row,
            )
            rows.append(values)
            self._nodes.by_id[new.id] = row
            self._nodes.new_memories.add(row)
            row += 1
        with memory_versions.unique_texts():
            self._conn.executemany(INSERT["memories"], rows)
        link.wrote_all("memories", rows)
        numbers = [values[_ROW] for values in rows]
        link.touched.update(numbers)
        written = list(zip(numbers, memories, strict=True))
        memory_versions.write_new_tags(
            self._conn,
            [(row, new.metadata["tags"]) for row, new in written if "tags" in new.metadata],
        )
        for row, new in written:
            if new.processing != "ready":
                memory_versions.write_processing(self._conn, row, new.processing)
        self.rows_written += len(memories)

    def _vectors(self, link: chain.Link, vectors: Sequence[NewVector]) -> None:
        rows = [
            (self._salts.take(), self._nodes.row(new.memory_id), self._new_seq, new.model,
             new.embedding)
            for new in vectors
        ]  # fmt: skip
        memory_versions.put_rows(self._conn, link, "vectors", rows, self._nodes.new_memories)

    def _token_codes(self, link: chain.Link, codes: Sequence[NewTokenCodes]) -> None:
        rows = [
            (self._salts.take(), self._nodes.row(new.memory_id), self._new_seq, new.model, AXES,
             new.ids, new.codes)
            for new in codes
        ]  # fmt: skip
        memory_versions.put_rows(self._conn, link, "token_codes", rows, self._nodes.new_memories)

    def _patches(self, link: chain.Link, changes: Sequence[MemoryPatch]) -> None:
        for patch in changes:
            row = self._nodes.row(patch.memory_id)
            (old,) = fetch(self._conn, _MEMORY, (row,))
            superseded_by = patch.fields.get("superseded_by")
            if superseded_by is not None and superseded_by not in self._nodes.by_id:
                self._nodes.load((superseded_by,))
            new = memory_versions.patched_row(
                old, patch, seq=self._new_seq, recorded_us=self.recorded_us, row_of=self._nodes.row
            )
            changed = [at for at in range(len(old)) if old[at] != new[at]]
            if changed:
                sets = ", ".join(f'"{COLUMNS["memories"][at]}" = ?' for at in changed)
                values = (*(new[at] for at in changed), row)
                with memory_versions.unique_texts():
                    self._conn.execute(f'UPDATE memories SET {sets} WHERE "row" = ?', values)
                link.replaced("memories", old, new, node=row)
            link.touched.add(row)
            if "metadata" in patch.fields:
                tags_at = INDEX["memories"]["metadata"]
                before = from_json(old[tags_at]).get("tags", ())
                memory_versions.write_tags(
                    self._conn, row, before, from_json(new[tags_at]).get("tags", ())
                )
            if "processing" in patch.fields:
                memory_versions.write_processing(self._conn, row, patch.fields["processing"])

    def _events(self, link: chain.Link, events: Sequence[NewEvent]) -> None:
        if not events:
            return
        row = self._next_row("events")
        rows: list[tuple[Any, ...]] = []
        for new in events:
            memory = self._nodes.row(new.memory_id)
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

    def _relations(self, link: chain.Link, changes: ChangeSet) -> None:
        """RELATION edges of new claims, and of those whose memories are active no longer or
        again."""
        changed = [patch for patch in changes.patches if patch.expired or "status" in patch.fields]
        ids = {claim.memory_id for claim in changes.claims}
        ids.update(patch.memory_id for patch in changed)
        if ids:
            rows = sorted(self._nodes.row(id) for id in ids)
            moment = graph_writes.Moment(link, self._new_seq, self.recorded_us)
            graph_writes.settle(self._conn, graph_writes.relations_at(self._conn, rows), moment)

    def _supersessions(self, link: chain.Link, pairs: Iterable[NewSupersession]) -> None:
        for new in pairs:
            values = (
                self._salts.take(), self._next_row("supersessions"),
                self._nodes.row(new.superseding_id), self._nodes.row(new.superseded_id), new.reason,
                self.recorded_us, self._new_seq,
            )  # fmt: skip
            self._conn.execute(f"{INSERT['supersessions']} ON CONFLICT DO NOTHING", values)
            if self._conn.changes():
                link.wrote("supersessions", values)

    def _jobs(self, jobs: Iterable[NewJob]) -> None:
        for new in jobs:
            row = self._nodes.row(new.memory_id)
            self._conn.execute(
                "INSERT INTO jobs (id, memory, kind, state, attempts, created_us, updated_us)"
                " SELECT ?1, ?2, ?3, 'pending', 0, ?4, ?4 WHERE NOT EXISTS"
                " (SELECT 1 FROM jobs WHERE memory = ?2 AND kind = ?3 AND state = 'pending')",
                (id_bytes(new.id), row, new.kind, self.recorded_us),
            )
            memory_versions.write_processing(self._conn, row, "pending")
