"""One consistent state of the ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final
from unicodedata import normalize

import apsw

from vestig.changes import TurnPosition
from vestig.ids import id_bytes, id_text, is_full_id
from vestig.ports import ProjectionRow
from vestig.store.integrity import chain
from vestig.store.integrity.digest_check import CheckedMemories
from vestig.store.records import graph_rows, memory_queries, store_rows
from vestig.store.records.graph_rows import (
    ENTITY_SELECT,
    edge_of,
    edge_sql,
    entity_of,
    listing_condition,
    stored_codes,
)
from vestig.store.records.rows import (
    MEMORY_SELECT,
    RECALL_SELECT,
    RECALL_SELECT_BY_ROW,
    EntityListing,
    Listing,
    Mentioned,
    NamedEntity,
    RecalledMemory,
    check_text,
    event_of,
    from_json,
    holds,
    memory_of,
    recalled_of,
    source_of,
    stored_id,
    stored_row,
    to_json,
)
from vestig.store.sqlite.connections import (
    damaged,
    each,
    fetch,
    id_range,
    known_ids,
    select_by_row,
    select_in,
    starting,
    store_faults,
)
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS
from vestig.store.tables.memories import NO_QUESTION
from vestig.store.tables.schema import NODE_TABLES
from vestig.types import Claim, Edge, Entity, Event, Evidence, Memory, Source, SupersessionRecord

_MENTIONS: Final = EDGE_CODES["MENTIONS"]
# An unexpired memory: active or archived.
_LIVE: Final = "m.t_expired_us IS NULL"
_COUNT: Final = (
    'SELECT COUNT(*) FROM edges c JOIN memories m ON m."row" = c.from_row'
    f' WHERE c.to_row = e."row" AND c.edge_type = {_MENTIONS} AND c.expired_seq = 0'
    f" AND {_LIVE}"
)
_LAST: Final = "SELECT seq, h, recorded_us FROM chain ORDER BY seq DESC LIMIT 1"
# Both at once: there is one of them around every read.
_BEGIN_AT_LAST: Final = f"BEGIN; {_LAST}"
_RECALLED_BY_ROW: Final = f"{RECALL_SELECT_BY_ROW} WHERE +m.namespace = ?"


class LedgerView:
    """Reads on one connection inside one transaction: everything read through it belongs to `seq`.
    Valid until its `with` block ends. Ids of another namespace are unknown everywhere."""

    def __init__(
        self,
        conn: apsw.Connection,
        where: str,
        retired: chain.RetiredDigests,
        checked: CheckedMemories,
        *,
        begin: bool = False,
    ) -> None:
        self._conn = conn
        self._where = where
        self._retired = retired
        # shared by all views of a ledger
        self.checked = checked
        self._by_row: dict[str, dict[int, RecalledMemory]] = {}
        rows = fetch(conn, _BEGIN_AT_LAST if begin else _LAST)
        self._seq: int
        self._head: bytes
        self._last_us: int
        ((self._seq, self._head, self._last_us),) = rows

    @property
    def connection(self) -> apsw.Connection:
        """The connection, for the modules of `store` that read through this view."""
        return self._conn

    @property
    def where(self) -> str:
        """How error messages name this store."""
        return self._where

    @property
    def retired(self) -> chain.RetiredDigests:
        """Digests of row versions that are no longer current; shared by all views of a ledger."""
        return self._retired

    @property
    def seq(self) -> int:
        """Number of the last committed write transaction, from 0."""
        return self._seq

    @property
    def head(self) -> bytes:
        """Head of the chain at `seq` (32 bytes)."""
        return self._head

    def memories(self, namespace: str, ids: Sequence[str]) -> list[Memory]:
        """The known ones of these full ids, in the order given. Verifies `content_hash` of each
        text and raises `StoreDamagedError` when it differs."""
        keys = known_ids(ids, "mem")
        sql = f"{MEMORY_SELECT} WHERE +m.namespace = ? AND m.id IN (?*)"
        found = {stored_id(row): row for row in self.fetch_in(sql, keys, namespace)}
        wanted = keys if len(keys) == len(ids) else map(id_bytes, _full(ids))
        return [memory_of(found[key], self._where) for key in wanted if key in found]

    def recalled(self, namespace: str, ids: Sequence[bytes]) -> dict[bytes, RecalledMemory]:
        """id → the memories with these ids of 16 bytes, which the projection has.

        Raises:
            StoreDamagedError: one is missing.
        """
        sql = f"{RECALL_SELECT} WHERE +m.namespace = ? AND m.id IN (?*)"
        found = self._recalled(select_in(self._conn, sql, ids, (namespace,)))
        gone = next((id for id in ids if id not in found), None)
        if gone is not None:
            raise damaged(self._where, f"no {id_text('mem', gone)}, which was written")
        return found

    def recalled_rows(self, namespace: str, rows: Sequence[int]) -> dict[bytes, RecalledMemory]:
        """Return what `recalled` returns, by the row numbers that `text_rows` gives. A view reads
        each once: queries of one state find much the same."""
        known = self._by_row.setdefault(namespace, {})
        if unread := [row for row in rows if row not in known]:
            found = select_by_row(self._conn, _RECALLED_BY_ROW, unread, (namespace,))
            known.update((one.row, one) for one in self._recalled(found).values())
        return {known[row].id: known[row] for row in rows if row in known}

    def _recalled(self, found: Iterator[tuple[Any, ...]]) -> dict[bytes, RecalledMemory]:
        with store_faults(self._where):
            rows = list(found)
        return {memory.id: memory for memory in recalled_of(rows, self._where)}

    def places(
        self, namespace: str, ids: Sequence[str]
    ) -> dict[str, tuple[str | None, str | None, int | None]]:
        """id → (scope, session, sequence) of the known ones."""
        sql = (
            "SELECT id, scope, session_id, sequence FROM memories"
            " WHERE +namespace = ? AND id IN (?*)"
        )
        keys = known_ids(ids, "mem")
        rows = self.fetch_in(sql, keys, namespace)
        return {keys[id]: (scope, session, place) for id, scope, session, place in rows}

    def turns(
        self, namespace: str, sessions: Sequence[str], spans: Sequence[tuple[int, int]]
    ) -> dict[str, tuple[str | None, str | None, int | None]]:
        """Return what `places` returns, for memories of these sessions with a sequence in one of
        the spans (both ends in, at most 200). May read all memories."""
        wanted = " OR ".join(["sequence BETWEEN ? AND ?"] * len(spans))
        bounds = tuple(bound for span in spans for bound in span)
        sql = (
            "SELECT id, scope, session_id, sequence FROM memories"
            f" WHERE namespace = ? AND ({wanted or 'FALSE'}) AND session_id IN (?*)"
        )
        rows = self.fetch_in(sql, sessions, namespace, *bounds)
        return {id_text("mem", id): (scope, session, at) for id, scope, session, at in rows}

    def ids_with_prefix(
        self, namespace: str, prefix: str, limit: int = 6, *, kind: str = "mem"
    ) -> list[str]:
        """Full ids of memories, or of entities (`ent`), that start with `prefix`, ascending."""
        table = NODE_TABLES[kind]
        sql = f"SELECT id FROM {table} WHERE id BETWEEN ? AND ? AND +namespace = ? ORDER BY id"
        with store_faults(self._where):
            rows = each(self._conn, sql, (*id_range(prefix, kind), namespace))
            return starting(rows, kind, prefix, limit)

    def known_hashes(self, namespace: str, hashes: Sequence[str]) -> set[str]:
        """Those of these content hashes that some memory of the namespace has, expired or not."""
        sql = "SELECT content_hash FROM memories WHERE namespace = ? AND content_hash IN (?*)"
        wanted = {bytes.fromhex(one) for one in hashes}
        return {digest.hex() for (digest,) in self.fetch_in(sql, wanted, namespace)}

    def ids_with_hashes(self, namespace: str, hashes: Sequence[str]) -> list[bytes]:
        """Ids (16 bytes) of the memories with one of these content hashes, expired or not,
        ascending."""
        sql = "SELECT id FROM memories WHERE namespace = ? AND content_hash IN (?*)"
        wanted = {bytes.fromhex(one) for one in hashes}
        return sorted(id for (id,) in self.fetch_in(sql, wanted, namespace))

    def same_text(
        self,
        namespace: str,
        scope: str | None,
        author: str | None,
        content_hash: str,
        position: TurnPosition | None,
    ) -> list[Memory]:
        """Memories with this text and no key at a position of a session; None = notes, and expired
        turns. Unexpired (active, archived) first, then by newest seq."""
        key = (namespace, scope, author, content_hash)
        return self._select(*memory_queries.at_position(key, position))

    def first_with_text(
        self, namespace: str, scope: str | None, author: str | None, content_hash: str
    ) -> Memory | None:
        """The oldest unexpired memory with this text and no key, at whatever position; None when
        there is none."""
        key = (namespace, scope, author, content_hash)
        found = self._select(*memory_queries.first_unexpired(key))
        return found[0] if found else None

    def text_rows(self, namespace: str, ids: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
        """id of 16 bytes → (row number, content hash of 32 bytes) of the known ones. Neither ever
        changes, and no other memory gets the number of a forgotten one."""
        sql = 'SELECT id, "row", content_hash FROM memories WHERE +namespace = ? AND id IN (?*)'
        return {id: (row, digest) for id, row, digest in self.fetch_in(sql, ids, namespace)}

    def text_owners(
        self, namespace: str, ids: Sequence[bytes]
    ) -> dict[bytes, tuple[str | None, str | None, int | None, int | None, int]]:
        """id of 16 bytes → (scope, author, when its statement ended and when it expired in µs,
        whether it is confirmed) of the known ones."""
        sql = (
            "SELECT id, scope, author, t_invalid_us, t_expired_us, confirmed FROM memories"
            " WHERE +namespace = ? AND id IN (?*)"
        )
        return {row[0]: row[1:] for row in self.fetch_in(sql, ids, namespace)}

    def vectors(self, namespace: str, ids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """id → (model, float32 bytes) for those that have a vector."""
        sql = (
            "SELECT m.id, v.model, v.embedding FROM memories m"
            ' JOIN vectors v ON v.memory = m."row" WHERE +m.namespace = ? AND m.id IN (?*)'
        )
        keys = known_ids(ids, "mem")
        rows = self.fetch_in(sql, keys, namespace)
        return {keys[id]: (model, embedding) for id, model, embedding in rows}

    def normal_texts(self, namespace: str, ids: Sequence[str]) -> dict[str, str]:
        """id → normal form of the text, which hashes, vectors and terms are made of."""
        sql = "SELECT id, content, content_hash FROM memories WHERE +namespace = ? AND id IN (?*)"
        keys = known_ids(ids, "mem")
        found: dict[str, str] = {}
        for id, content, digest in self.fetch_in(sql, keys, namespace):
            check_text(content, digest, id, self._where)
            found[keys[id]] = content
        return found

    def events(self, namespace: str, memory_id: str, limit: int | None = None) -> list[Event]:
        """Events of a memory, oldest first (by seq, then row)."""
        row = self._row("mem", namespace, memory_id)
        if row is None:
            return []
        sql = (
            "SELECT id, event_type, occurred_us, recorded_us, seq, source, actor,"
            ' artifact_ref, payload FROM events WHERE memory = ? ORDER BY seq, "row" LIMIT ?'
        )
        with store_faults(self._where):
            events = fetch(self._conn, sql, (row, -1 if limit is None else limit))
            return [event_of(event, memory_id) for event in events]

    def sources(self, namespace: str, memory_id: str) -> list[Source]:
        """Sources with an unexpired PRODUCED edge to the memory, oldest first."""
        row = self._row("mem", namespace, memory_id)
        if row is None:
            return []
        sql = (
            "SELECT s.id, s.source_type, s.created_us, s.ingested_us, s.path,"
            " s.agent, s.session_id, s.metadata FROM edges e"
            ' JOIN sources s ON s."row" = e.from_row'
            " WHERE e.to_row = ? AND e.edge_type = ? AND e.expired_seq = 0"
            ' ORDER BY s."row"'
        )
        with store_faults(self._where):
            sources = fetch(self._conn, sql, (row, EDGE_CODES["PRODUCED"]))
            return [source_of(source) for source in sources]

    def edges(self, namespace: str, node_id: str, edge_type: str | None = None) -> list[Edge]:
        """Unexpired edges that start or end at the node, by weight descending, then id."""
        prefix = node_id.partition("_")[0]
        row = self._row(prefix, namespace, node_id)
        if row is None:
            return []
        with store_faults(self._where):
            return graph_rows.edges_of(self._conn, prefix, row, edge_type)

    def supersessions(self, namespace: str, memory_id: str) -> list[SupersessionRecord]:
        """All records of the chain that this memory belongs to, oldest to newest."""
        row = self._row("mem", namespace, memory_id)
        if row is None:
            return []
        with store_faults(self._where):
            return graph_rows.supersession_chain(self._conn, row)

    def replaced_by(self, namespace: str, ids: Sequence[str]) -> dict[str, list[str]]:
        """id → ids of the memories that it directly replaced, ascending; only those that did."""
        sql = (
            "SELECT m.id, o.id FROM memories m"
            ' JOIN supersessions s ON s.superseding = m."row"'
            ' JOIN memories o ON o."row" = s.superseded'
            " WHERE +m.namespace = ? AND m.id IN (?*) ORDER BY o.id"
        )
        return self._memories_by(sql, namespace, ids)

    def head_at(self, seq: int) -> bytes | None:
        """Head of the chain after transaction `seq`; None when there is none."""
        rows = self.fetch("SELECT h FROM chain WHERE seq = ?", (seq,))
        return rows[0][0] if rows else None

    def list_memories(self, namespace: str, listing: Listing) -> list[Memory]:
        """One page. Ties by id ascending.

        Raises:
            StoreDamagedError: a memory was never written so.
        """
        ends = self._known_ends(namespace, listing)
        rows = self.fetch(*memory_queries.page_sql(namespace, listing, ends))
        with store_faults(self._where):
            self.checked.check(self._conn, self._where, list(map(stored_row, rows)))
        return [memory_of(row, self._where) for row in rows]

    def count_memories(self, namespace: str, listing: Listing) -> int:
        """How many a full listing would give; offset and limit are ignored."""
        ends = self._known_ends(namespace, listing)
        ((count,),) = self.fetch(*memory_queries.count_sql(namespace, listing, ends))
        return int(count)

    def listed_ids(self, namespace: str, listing: Listing) -> list[str]:
        """Ids of a full listing, ascending; offset, limit and order are ignored."""
        ends = self._known_ends(namespace, listing)
        rows = self.fetch(*memory_queries.ids_sql(namespace, listing, ends))
        return [id_text("mem", id) for (id,) in rows]

    def ids_with_metadata(self, namespace: str, wanted: dict[str, Any]) -> list[str]:
        """Ids whose metadata equals `wanted` in every key given; JSON's types are kept apart,
        composed and decomposed characters are one."""
        wanted = from_json(normalize("NFC", to_json(wanted)))
        with store_faults(self._where):
            rows = each(
                self._conn,
                "SELECT id, metadata FROM memories WHERE namespace = ? ORDER BY id",
                (namespace,),
            )
            return [
                id_text("mem", id)
                for id, text in rows
                if holds(from_json(normalize("NFC", text)), wanted)
            ]

    @property
    def last_recorded_us(self) -> int:
        """The time of the last transaction, in microseconds."""
        return self._last_us

    def expired_by(self, namespace: str, ids: Sequence[str], known_at_us: int) -> set[str]:
        """Those of these ids whose withdrawal was recorded by that moment."""
        sql = "SELECT id FROM memories WHERE t_expired_us <= ? AND +namespace = ? AND id IN (?*)"
        keys = known_ids(ids, "mem")
        return {keys[id] for (id,) in self.fetch_in(sql, keys, known_at_us, namespace)}

    def ends_before(self, namespace: str, known_at_us: int) -> dict[str, int | None]:
        """id → `t_invalid_us` as known at that moment, for memories whose end was written by an
        event recorded after it: what was recorded later is not known yet."""
        with store_faults(self._where):
            found = graph_rows.ends_before(self._conn, namespace, known_at_us)
        return {id_text("mem", id): end for (_row, id), end in found.items()}

    def reinforcements_at(
        self, namespace: str, ids: Sequence[str], known_at_us: int
    ) -> dict[str, tuple[int, int | None]]:
        """id → (reinforce_count, last_seen_us) counting events recorded until then."""
        sql = (
            "SELECT m.id, COUNT(e.seq), MAX(e.occurred_us) FROM memories m"
            ' LEFT JOIN events e ON e.memory = m."row" AND e.recorded_us <= ?'
            " AND e.event_type IN ('REINFORCE_EXACT', 'REINFORCE_NEAR')"
            ' WHERE +m.namespace = ? AND m.id IN (?*) GROUP BY m."row"'
        )
        keys = known_ids(ids, "mem")
        rows = self.fetch_in(sql, keys, known_at_us, namespace)
        return {keys[id]: (count, seen) for id, count, seen in rows}

    def recorded_refs(
        self, namespace: str, scope: str | None, refs: Sequence[str]
    ) -> dict[str, str]:
        """artifact_ref → id of the oldest memory that recorded it in that scope."""
        sql = (
            'SELECT e."row", e.artifact_ref, m.id FROM events e'
            ' JOIN memories m ON m."row" = e.memory'
            " WHERE +m.namespace = ? AND m.scope IS ? AND e.artifact_ref IN (?*)"
        )
        rows = self.fetch_in(sql, dict.fromkeys(refs), namespace, scope)
        found: dict[str, str] = {}
        for _event, ref, id in sorted(rows):
            found.setdefault(ref, id_text("mem", id))
        return found

    def removed_after(self, after_seq: int) -> list[tuple[bytes, int]]:
        """(id, seq that removed it) of memories and entities of all namespaces that were removed
        after `after_seq`."""
        return self.fetch("SELECT id, seq FROM tombstones WHERE seq > ? ORDER BY seq", (after_seq,))

    def touched_after(self, after_seq: int) -> set[str]:
        """Ids of the memories of all namespaces that a transaction after `after_seq` wrote or
        touched."""
        sql = 'SELECT id FROM memories WHERE "row" IN (?*)'
        with store_faults(self._where):
            touched = chain.touched_after(self._conn, after_seq)
        rows = sorted(row for row in touched if row > 0)
        return {id_text("mem", id) for (id,) in self.fetch_in(sql, rows)}

    def forgotten_at(self, namespace: str, id: str) -> int | None:
        """When the memory with this id, or this prefix of one, was forgotten, in µs; or None."""
        low, high = id_range(id, "mem")
        with store_faults(self._where):
            rows = each(
                self._conn,
                "SELECT id, forgotten_us FROM tombstones WHERE id BETWEEN ? AND ?"
                ' AND +namespace = ? AND "row" > 0 ORDER BY seq DESC',
                (low, high, namespace),
            )
            return next((when for raw, when in rows if id_text("mem", raw).startswith(id)), None)

    def forgotten(self, ids: Sequence[str]) -> set[str]:
        """Those of these ids whose memory was forgotten, in any namespace."""
        sql = 'SELECT id FROM tombstones WHERE "row" > 0 AND id IN (?*)'
        keys = known_ids(ids, "mem")
        return {keys[id] for (id,) in self.fetch_in(sql, keys)}

    def products_of(
        self, namespace: str, source_ids: Sequence[str], *, ever: bool = False
    ) -> list[str]:
        """Ids of the memories that these sources produced, ascending; `ever`: also those that only
        others state by now."""
        return self._ids(
            'SELECT m.id FROM sources s JOIN edges e ON e.from_row = s."row" AND e.edge_type ='
            f' {EDGE_CODES["PRODUCED"]} JOIN memories m ON m."row" = e.to_row'
            f" WHERE {'' if ever else 'e.expired_seq = 0 AND '}m.namespace = ? AND s.id IN (?*)",
            namespace,
            known_ids(source_ids, "source"),
        )

    def recorded_by(self, namespace: str, refs: Sequence[str]) -> list[str]:
        """Ids of the memories of which an event carries one of these references, ascending."""
        return self._ids(
            'SELECT m.id FROM events e JOIN memories m ON m."row" = e.memory'
            " WHERE m.namespace = ? AND e.artifact_ref IN (?*)",
            namespace,
            refs,
        )

    def _ids(self, sql: str, namespace: str, keys: Iterable[Any]) -> list[str]:
        rows = self.fetch_in(sql, keys, namespace)
        return [id_text("mem", id) for id in sorted({id for (id,) in rows})]

    # --- entities ----------------------------------------------------------------------------

    def entities(self, namespace: str, ids: Sequence[str]) -> list[Entity]:
        """The known ones of these full ids, expired ones too, in the order given."""
        sql = f"{ENTITY_SELECT} WHERE +e.namespace = ? AND e.id IN (?*)"
        rows = self.fetch_in(sql, known_ids(ids, "ent"), namespace)
        found = {one.id: one for one in (entity_of(row, self._where) for row in rows)}
        return [found[id] for id in ids if id in found]

    def entities_by_key(self, namespace: str, norm_keys: Sequence[str]) -> dict[str, Entity]:
        """norm_key → the unexpired entity that has it."""
        sql = (
            f"{ENTITY_SELECT} WHERE e.expired_us IS NULL AND e.namespace = ? AND e.norm_key IN (?*)"
        )
        rows = self.fetch_in(sql, dict.fromkeys(norm_keys), namespace)
        found = [entity_of(row, self._where) for row in rows]
        return {entity.norm_key: entity for entity in found}

    def entity_ids_by_key(self, namespace: str, norm_keys: Sequence[str]) -> dict[str, str]:
        """norm_key → id of the unexpired entity that has it."""
        sql = (
            "SELECT norm_key, id FROM entities"
            " WHERE expired_us IS NULL AND namespace = ? AND norm_key IN (?*)"
        )
        rows = self.fetch_in(sql, dict.fromkeys(norm_keys), namespace)
        return {key: id_text("ent", id) for key, id in rows}

    def named_entities(self, namespace: str, ids: Sequence[str]) -> list[NamedEntity]:
        """The known ones of these full ids, expired ones too, in no order."""
        sql = (
            "SELECT e.id, e.entity_type, e.canonical_name, e.seq, e.expired_us,"
            ' (SELECT id FROM entities WHERE "row" = e.merged_into)'
            " FROM entities e WHERE +e.namespace = ? AND e.id IN (?*)"
        )
        keys = known_ids(ids, "ent")
        return [
            (keys[id], type, name, seq, expired, None if into is None else id_text("ent", into))
            for id, type, name, seq, expired, into in self.fetch_in(sql, keys, namespace)
        ]

    def list_entities(self, namespace: str, listing: EntityListing) -> list[tuple[Entity, int]]:
        """One page with the number of memories that mention each; most mentions first, then
        id."""
        condition, values = listing_condition(namespace, listing)
        columns = ENTITY_SELECT.replace(" FROM entities e", f", ({_COUNT}) FROM entities e")
        sql = f"{columns} WHERE {condition} ORDER BY 17 DESC, e.id LIMIT ? OFFSET ?"
        limit = -1 if listing.limit is None else listing.limit
        rows = self.fetch(sql, (*values, limit, listing.offset))
        return [(entity_of(row[:-1], self._where), row[-1]) for row in rows]

    def count_entities(self, namespace: str, listing: EntityListing) -> int:
        """How many a full listing would give."""
        condition, values = listing_condition(namespace, listing)
        sql = f"SELECT COUNT(*) FROM entities e WHERE {condition}"
        ((count,),) = self.fetch(sql, values)
        return int(count)

    # --- what belongs to memories ------------------------------------------------------------

    def mentions(self, namespace: str, memory_ids: Sequence[str]) -> list[Mentioned]:
        """Unexpired MENTIONS of these memories to unexpired entities, by memory in the order
        given, then by confidence descending (null first), then entity id."""
        sql = (
            "SELECT m.id, n.id, e.confidence FROM memories m"
            f' JOIN edges e ON e.from_row = m."row" AND e.edge_type = {_MENTIONS}'
            ' AND e.expired_seq = 0 JOIN entities n ON n."row" = e.to_row'
            " WHERE +m.namespace = ? AND n.expired_us IS NULL AND m.id IN (?*)"
            " ORDER BY e.confidence IS NOT NULL, e.confidence DESC, n.id"
        )
        keys = known_ids(memory_ids, "mem")
        found: dict[str, list[Mentioned]] = {}
        for id, entity, confidence in self.fetch_in(sql, keys, namespace):
            one = Mentioned(
                memory_id=keys[id], entity_id=id_text("ent", entity), confidence=confidence
            )
            found.setdefault(keys[id], []).append(one)
        return [one for id in dict.fromkeys(memory_ids) for one in found.get(id, ())]

    def mentioned_names(self, rows: Sequence[int]) -> dict[int, list[str]]:
        """Row number of a memory → canonical names of the entities that it mentions, as `mentions`
        has them, in no order; rows that mention none are left out."""
        sql = (
            'SELECT e.from_row, n.canonical_name FROM edges e JOIN entities n ON n."row" = e.to_row'
            f" WHERE e.edge_type = {_MENTIONS} AND e.expired_seq = 0 AND n.expired_us IS NULL"
            " AND e.from_row IN (?*)"
        )
        found: dict[int, list[str]] = {}
        for row, name in self.fetch_in(sql, rows):
            found.setdefault(row, []).append(name)
        return found

    def mentioning(self, namespace: str, entity_ids: Sequence[str]) -> dict[str, list[str]]:
        """entity id → ids of unexpired (active or archived) memories that mention it, newest
        first (seq, then id descending); one batched read."""
        sql = (
            "SELECT n.id, m.id FROM entities n"
            f' JOIN edges e ON e.to_row = n."row" AND e.edge_type = {_MENTIONS}'
            f' AND e.expired_seq = 0 JOIN memories m ON m."row" = e.from_row AND {_LIVE}'
            " WHERE +n.namespace = ? AND n.id IN (?*) ORDER BY m.seq DESC, m.id DESC"
        )
        keys = known_ids(entity_ids, "ent")
        found: dict[str, list[str]] = {id: [] for id in keys.values()}
        for entity, memory in self.fetch_in(sql, keys, namespace):
            found[keys[entity]].append(id_text("mem", memory))
        return {id: memories for id, memories in found.items() if memories}

    def summaries_of(self, namespace: str, memory_ids: Sequence[str]) -> dict[str, list[str]]:
        """memory id → unexpired summaries with an unexpired SUMMARIZES edge to it, newest
        first."""
        sql = (
            "SELECT o.id, m.id FROM memories o"
            f' JOIN edges e ON e.to_row = o."row" AND e.edge_type = {EDGE_CODES["SUMMARIZES"]}'
            f' AND e.expired_seq = 0 JOIN memories m ON m."row" = e.from_row AND {_LIVE}'
            " WHERE +o.namespace = ? AND o.id IN (?*) ORDER BY m.seq DESC, m.id DESC"
        )
        return self._memories_by(sql, namespace, memory_ids)

    def questions(self, namespace: str, memory_ids: Sequence[str]) -> dict[str, list[str]]:
        """memory id → its hypothetical questions in order; absent = not generated (null)."""
        sql = (
            "SELECT m.id, q.position, q.text FROM memories m JOIN questions q ON q.memory ="
            ' m."row" WHERE +m.namespace = ? AND m.id IN (?*) ORDER BY q.memory, q.position'
        )
        keys = known_ids(memory_ids, "mem")
        found: dict[str, list[str]] = {}
        for id, position, text in self.fetch_in(sql, keys, namespace):
            texts = found.setdefault(keys[id], [])
            if position != NO_QUESTION:
                texts.append(text)
        return found

    def holds(self, namespace: str, id: str) -> bool:
        """Return whether the namespace holds the memory, entity or source with this full id."""
        return self._row(id.partition("_")[0], namespace, id) is not None

    def claims(self, namespace: str, memory_ids: Sequence[str]) -> dict[str, Claim]:
        """memory id → its claim with all evidence, in the order in which it was given; only those
        that carry one."""
        with store_faults(self._where):
            return graph_rows.claims_of(self._conn, namespace, memory_ids)

    def claims_at(self, rows: Sequence[int]) -> dict[int, Claim]:
        """Return what `claims` returns, by the row numbers of memories."""
        with store_faults(self._where):
            return graph_rows.claims_at(self._conn, rows)

    def evidence_at(self, rows: Sequence[int]) -> dict[int, list[Evidence]]:
        """Row number of a memory → where its text was stated, oldest first: one item for each event
        that added, imported or reinforced it. `source_id` is the artifact that the event names,
        else the file that it came from, else None; `snippet` the text, or the variant of it that
        was given then."""
        with store_faults(self._where):
            return graph_rows.statements_at(self._conn, rows)

    # --- edges -------------------------------------------------------------------------------

    def edge(self, namespace: str, edge_id: str) -> Edge | None:
        """One edge, expired or not; both ends lie in the namespace."""
        if not is_full_id(edge_id, "edge"):
            return None
        key = id_bytes(edge_id)
        with store_faults(self._where):
            for row in self._between(namespace, key, key):
                return edge_of(row)
        return None

    def edge_ids_with_prefix(self, namespace: str, prefix: str) -> list[str]:
        """Full edge ids that start with `prefix`, ascending."""
        with store_faults(self._where):
            found = {id for id, *_edge in self._between(namespace, *id_range(prefix, "edge"))}
        return starting(((id,) for id in sorted(found)), "edge", prefix)

    def _between(self, namespace: str, low: bytes, high: bytes) -> Iterator[tuple[Any, ...]]:
        """Edges with ids from `low` to `high`."""
        sql = "SELECT DISTINCT edge_type FROM edges WHERE id BETWEEN ? AND ?"
        found = self.fetch(sql, (low, high))
        stored = set(stored_codes())
        for (code,) in found:
            if code in stored:
                sql = edge_sql(code, "e.id BETWEEN ? AND ? AND +f.namespace = ?")
                yield from each(self._conn, sql, (low, high, namespace))

    def list_edges(
        self,
        namespace: str,
        *,
        edge_type: str | None = None,
        limit: int | None = 20,
        include_expired: bool = False,
    ) -> list[Edge]:
        """Newest first (t_created descending, then id).

        Raises:
            ValidationError: an unknown edge type.
        """
        condition = "f.namespace = ?1" + ("" if include_expired else " AND e.expired_seq = 0")
        every = " UNION ALL ".join(edge_sql(code, condition) for code in stored_codes(edge_type))
        if not every:
            return []
        sql = f"SELECT * FROM ({every}) ORDER BY t_created_us DESC, 1 LIMIT ?2"
        rows = self.fetch(sql, (namespace, -1 if limit is None else limit))
        return [edge_of(row) for row in rows]

    def outgoing(self, namespace: str, edge_type: str, memory_ids: Sequence[str]) -> list[Edge]:
        """Unexpired edges of a type that start at these memories, by start in the order given,
        then end id.

        Raises:
            ValidationError: an unknown edge type.
        """
        keys = known_ids(memory_ids, "mem")
        found: dict[str, list[Edge]] = {}
        with store_faults(self._where):
            for code in stored_codes(edge_type):
                if EDGE_ENDS[code][0] != "mem":
                    continue
                sql = edge_sql(code, "e.expired_seq = 0 AND +f.namespace = ? AND f.id IN (?*)")
                rows = select_in(self._conn, f"{sql} ORDER BY t.id", tuple(keys), (namespace,))
                for edge in map(edge_of, rows):
                    found.setdefault(edge.from_id, []).append(edge)
        return [edge for id in dict.fromkeys(memory_ids) for edge in found.get(id, ())]

    # --- the whole store ---------------------------------------------------------------------

    def namespaces(self) -> list[str]:
        """Namespaces that hold memories, ascending."""
        return [
            name for (name,) in self.fetch("SELECT DISTINCT namespace FROM memories ORDER BY 1")
        ]

    def projection_rows(self, after_seq: int) -> Iterator[ProjectionRow]:
        """Whole rows of every memory, then of every entity (of all namespaces) that a transaction
        after `after_seq` wrote or touched, by seq. Verifies each ledger row against the chain."""
        # imported here: the projection mostly stands at this state already
        from vestig.store.records.projection_rows import projection_rows

        with store_faults(self._where):
            yield from projection_rows(self._conn, self._where, self._seq, after_seq, self._retired)

    def projection_rows_of(self, nodes: Collection[int]) -> list[ProjectionRow]:
        """Whole rows of these memories, then of these entities (negative), as `projection_rows`
        gives them."""
        from vestig.store.records.projection_rows import rows_of

        with store_faults(self._where):
            return list(rows_of(self._conn, self._where, self._seq, nodes, self._retired))

    def stats(self, namespace: str) -> dict[str, Any]:
        """Counts of the namespace by name; `bytes` is the size of the whole ledger, `seq` that of
        the store."""
        with store_faults(self._where):
            return store_rows.stats(self._conn, namespace, self._seq)

    def _select(self, tail: str, values: tuple[Any, ...]) -> list[Memory]:
        rows = self.fetch(MEMORY_SELECT + tail, values)
        return [memory_of(row, self._where) for row in rows]

    def fetch(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        with store_faults(self._where):
            return fetch(self._conn, sql, values)

    def fetch_in(
        self, sql: str, keys: Iterable[Any], *values: str | int | None
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement that takes these values and then, in `IN (?*)`, the keys."""
        with store_faults(self._where):
            return list(select_in(self._conn, sql, tuple(keys), values))

    def _memories_by(self, sql: str, namespace: str, ids: Sequence[str]) -> dict[str, list[str]]:
        """id → ids of other memories, in the order of a statement that gives the pairs of memories
        whose first one is in `IN (?*)`."""
        keys = known_ids(ids, "mem")
        found: dict[str, list[str]] = {}
        for id, other in self.fetch_in(sql, keys, namespace):
            found.setdefault(keys[id], []).append(id_text("mem", other))
        return found

    def _row(self, prefix: str, namespace: str, id: str) -> int | None:
        table = NODE_TABLES.get(prefix)
        if table is None or not known_ids([id], prefix):
            return None
        sql = f'SELECT "row" FROM {table} WHERE id = ? AND namespace = ?'
        rows = self.fetch(sql, (id_bytes(id), namespace))
        return int(rows[0][0]) if rows else None

    def _known_ends(self, namespace: str, listing: Listing) -> dict[int, int | None]:
        """Row → end of a memory as known at the listing's moment, where it was written after it."""
        known = listing.known_at_us
        # an announced end counts as one that holds
        if known is None or (listing.valid_at_us is None and listing.announced_at_us is None):
            return {}
        with store_faults(self._where):
            found = graph_rows.ends_before(self._conn, namespace, known)
        return {row: end for (row, _id), end in found.items()}


def _full(ids: Sequence[str]) -> list[str]:
    return [id for id in ids if is_full_id(id, "mem")]
