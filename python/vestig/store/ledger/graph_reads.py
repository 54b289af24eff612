"""Entities and edges of one consistent state: the port `GraphView`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import apsw

from vestig.errors import ValidationError
from vestig.ids import id_bytes, id_text, is_full_id
from vestig.ports import EntityListing, Mentioned, NamedEntity
from vestig.store.ledger.graph_rows import EDGE_FIELDS, ENTITY_SELECT, edge_of, entity_of
from vestig.store.ledger.schema import EDGE_CODES, EDGE_ENDS, EDGE_TYPES, NO_QUESTION, NODE_TABLES
from vestig.store.sqlite.faults import store_faults
from vestig.store.sqlite.lookups import each, fetch, id_range, known_ids, select_in
from vestig.types import Edge, Entity

__all__ = ["GraphReads", "edge_sql", "starting", "stored_codes"]

_MENTIONS: Final = EDGE_CODES["MENTIONS"]
_SUMMARIZES: Final = EDGE_CODES["SUMMARIZES"]
# A memory that a name or a summary may be shown for: unexpired, active or archived.
_LIVE: Final = "m.t_expired_us IS NULL"
_COUNT: Final = (
    'SELECT COUNT(*) FROM edges c JOIN memories m ON m."row" = c.from_row'
    f' WHERE c.to_row = e."row" AND c.edge_type = {_MENTIONS} AND c.expired_seq = 0 AND {_LIVE}'
)


def _code_of(edge_type: str) -> int:
    """The code of an edge type.

    Raises:
        ValidationError: an unknown one; lists the ten.
    """
    if edge_type not in EDGE_CODES:
        raise ValidationError("edge_type", edge_type, f"one of {', '.join(EDGE_TYPES)}, AFFECTS")
    return EDGE_CODES[edge_type]


def stored_codes(edge_type: str | None = None) -> list[int]:
    """Codes of the types, or of one, whose ends have tables."""
    codes = range(len(EDGE_TYPES)) if edge_type is None else (_code_of(edge_type),)
    return [code for code in codes if all(end in NODE_TABLES for end in EDGE_ENDS[code])]


def edge_sql(code: int, condition: str) -> str:
    """Edges `e` of a type with their ends `f` and `t`, as `edge_of` takes them."""
    start, end = (NODE_TABLES[prefix] for prefix in EDGE_ENDS[code])
    return (
        f"SELECT e.id, f.id, t.id, e.edge_type, {EDGE_FIELDS} FROM edges e"
        f' JOIN {start} f ON f."row" = e.from_row JOIN {end} t ON t."row" = e.to_row'
        f" WHERE e.edge_type = {code} AND {condition}"
    )


class GraphReads:
    """The part of a view that reads the graph."""

    _conn: apsw.Connection
    _where: str

    def namespaces(self) -> list[str]:
        """Namespaces that hold memories, ascending."""
        with store_faults(self._where):
            rows = each(self._conn, "SELECT DISTINCT namespace FROM memories ORDER BY 1")
            return [name for (name,) in rows]

    # --- entities ----------------------------------------------------------------------------

    def entities(self, namespace: str, ids: Sequence[str]) -> list[Entity]:
        """The known ones of these full ids, expired ones too, in the order given."""
        keys = known_ids(ids, "ent")
        with store_faults(self._where):
            rows = select_in(
                self._conn,
                f"{ENTITY_SELECT} WHERE +e.namespace = ? AND e.id IN (?*)",
                tuple(keys),
                (namespace,),
            )
            found = {row[1]: entity_of(row, self._where) for row in rows}
        wanted = [id_bytes(id) for id in ids if is_full_id(id, "ent")]
        return [found[key] for key in wanted if key in found]

    def entity_ids_with_prefix(self, namespace: str, prefix: str, limit: int = 6) -> list[str]:
        """Full entity ids that start with `prefix`, ascending."""
        sql = "SELECT id FROM entities WHERE id BETWEEN ? AND ? AND +namespace = ? ORDER BY id"
        with store_faults(self._where):
            rows = each(self._conn, sql, (*id_range(prefix, "ent"), namespace))
            return starting(rows, "ent", prefix, limit)

    def entities_by_key(self, namespace: str, norm_keys: Sequence[str]) -> dict[str, Entity]:
        """norm_key → the unexpired entity that has it."""
        with store_faults(self._where):
            rows = select_in(
                self._conn,
                f"{ENTITY_SELECT} WHERE e.expired_us IS NULL AND e.namespace = ?"
                " AND e.norm_key IN (?*)",
                tuple(dict.fromkeys(norm_keys)),
                (namespace,),
            )
            found = [entity_of(row, self._where) for row in rows]
        return {entity.norm_key: entity for entity in found}

    def entity_ids_by_key(self, namespace: str, norm_keys: Sequence[str]) -> dict[str, str]:
        """norm_key → id of the unexpired entity that has it."""
        with store_faults(self._where):
            rows = select_in(
                self._conn,
                "SELECT norm_key, id FROM entities"
                " WHERE expired_us IS NULL AND namespace = ? AND norm_key IN (?*)",
                tuple(dict.fromkeys(norm_keys)),
                (namespace,),
            )
            return {key: id_text("ent", id) for key, id in rows}

    def named_entities(self, namespace: str, ids: Sequence[str]) -> list[NamedEntity]:
        """The known ones of these full ids, expired ones too, in no order."""
        keys = known_ids(ids, "ent")
        with store_faults(self._where):
            rows = select_in(
                self._conn,
                "SELECT e.id, e.entity_type, e.canonical_name, e.seq, e.expired_us,"
                ' (SELECT id FROM entities WHERE "row" = e.merged_into)'
                " FROM entities e WHERE +e.namespace = ? AND e.id IN (?*)",
                tuple(keys),
                (namespace,),
            )
            return [
                (keys[id], type, name, seq, expired, None if into is None else id_text("ent", into))
                for id, type, name, seq, expired, into in rows
            ]

    def list_entities(self, namespace: str, listing: EntityListing) -> list[tuple[Entity, int]]:
        """One page with the number of memories that mention each; most mentions first, then
        id."""
        condition, values = _listed(namespace, listing)
        columns = ENTITY_SELECT.replace(" FROM entities e", f", ({_COUNT}) FROM entities e")
        sql = f"{columns} WHERE {condition} ORDER BY 17 DESC, e.id LIMIT ? OFFSET ?"
        limit = -1 if listing.limit is None else listing.limit
        with store_faults(self._where):
            rows = fetch(self._conn, sql, (*values, limit, listing.offset))
        return [(entity_of(row[:-1], self._where), row[-1]) for row in rows]

    def count_entities(self, namespace: str, listing: EntityListing) -> int:
        """How many a full listing would give."""
        condition, values = _listed(namespace, listing)
        with store_faults(self._where):
            sql = f"SELECT COUNT(*) FROM entities e WHERE {condition}"
            ((count,),) = fetch(self._conn, sql, values)
        return int(count)

    # --- who mentions, who sums up -----------------------------------------------------------

    def mentions(self, namespace: str, memory_ids: Sequence[str]) -> list[Mentioned]:
        """Unexpired MENTIONS of these memories to unexpired entities, by memory in the order
        given, then by confidence descending (null first), then entity id."""
        found: dict[str, list[Mentioned]] = {}
        with store_faults(self._where):
            for memory, entity, confidence in self._by_memory(
                memory_ids,
                "SELECT m.id, n.id, e.confidence FROM memories m"
                f' JOIN edges e ON e.from_row = m."row" AND e.edge_type = {_MENTIONS}'
                ' AND e.expired_seq = 0 JOIN entities n ON n."row" = e.to_row'
                " WHERE +m.namespace = ? AND n.expired_us IS NULL AND m.id IN (?*)"
                " ORDER BY e.confidence IS NOT NULL, e.confidence DESC, n.id",
                namespace,
            ):
                found.setdefault(memory, []).append(
                    Mentioned(
                        memory_id=memory, entity_id=id_text("ent", entity), confidence=confidence
                    )
                )
        return [one for id in dict.fromkeys(memory_ids) for one in found.get(id, ())]

    def mentioning(self, namespace: str, entity_ids: Sequence[str]) -> dict[str, list[str]]:
        """entity id → ids of unexpired (active or archived) memories that mention it, newest
        first (seq, then id descending); one batched read."""
        keys = known_ids(entity_ids, "ent")
        sql = (
            "SELECT n.id, m.id FROM entities n"
            f' JOIN edges e ON e.to_row = n."row" AND e.edge_type = {_MENTIONS}'
            f' AND e.expired_seq = 0 JOIN memories m ON m."row" = e.from_row AND {_LIVE}'
            " WHERE +n.namespace = ? AND n.id IN (?*) ORDER BY m.seq DESC, m.id DESC"
        )
        found: dict[str, list[str]] = {id: [] for id in keys.values()}
        with store_faults(self._where):
            for entity, memory in select_in(self._conn, sql, tuple(keys), (namespace,)):
                found[keys[entity]].append(id_text("mem", memory))
        return {id: memories for id, memories in found.items() if memories}

    def summaries_of(self, namespace: str, memory_ids: Sequence[str]) -> dict[str, list[str]]:
        """memory id → unexpired summaries with an unexpired SUMMARIZES edge to it, newest
        first."""
        found: dict[str, list[str]] = {}
        with store_faults(self._where):
            for memory, summary in self._by_memory(
                memory_ids,
                "SELECT o.id, m.id FROM memories o"
                f' JOIN edges e ON e.to_row = o."row" AND e.edge_type = {_SUMMARIZES}'
                f' AND e.expired_seq = 0 JOIN memories m ON m."row" = e.from_row AND {_LIVE}'
                " WHERE +o.namespace = ? AND o.id IN (?*) ORDER BY m.seq DESC, m.id DESC",
                namespace,
            ):
                found.setdefault(memory, []).append(id_text("mem", summary))
        return found

    def questions(self, namespace: str, memory_ids: Sequence[str]) -> dict[str, list[str]]:
        """memory id → its hypothetical questions in order; absent = not generated (null)."""
        found: dict[str, list[str]] = {}
        with store_faults(self._where):
            for memory, position, text in self._by_memory(
                memory_ids,
                "SELECT m.id, q.position, q.text FROM memories m JOIN questions q ON q.memory ="
                ' m."row" WHERE +m.namespace = ? AND m.id IN (?*) ORDER BY q.memory, q.position',
                namespace,
            ):
                asked = found.setdefault(memory, [])
                if position != NO_QUESTION:
                    asked.append(text)
        return found

    def _by_memory(self, ids: Sequence[str], sql: str, namespace: str) -> list[tuple[Any, ...]]:
        """Rows whose first column, the id of one of these memories, becomes its text."""
        keys = known_ids(ids, "mem")
        rows = select_in(self._conn, sql, tuple(keys), (namespace,))
        return [(keys[row[0]], *row[1:]) for row in rows]

    # --- edges -------------------------------------------------------------------------------

    def edge(self, namespace: str, edge_id: str, from_id: str | None = None) -> Edge | None:
        """One edge, expired or not; both ends lie in the namespace. May read all edges, unless it
        is known where the edge starts."""
        if not is_full_id(edge_id, "edge"):
            return None
        key = id_bytes(edge_id)
        with store_faults(self._where):
            if from_id is None:
                rows = self._between(namespace, key, key)
            else:
                rows = self._starting(namespace, from_id, key)
            for row in rows:
                return edge_of(row)
        return None

    def _starting(self, namespace: str, from_id: str, key: bytes) -> Iterator[tuple[Any, ...]]:
        """The edge with these id bytes, if it starts at this node."""
        prefix = from_id.partition("_")[0]
        for code in stored_codes():
            if EDGE_ENDS[code][0] == prefix:
                sql = edge_sql(
                    code,
                    f'e.from_row = (SELECT "row" FROM {NODE_TABLES[prefix]} WHERE id = ?1)'
                    " AND e.id = ?2 AND +f.namespace = ?3",
                )
                yield from each(self._conn, sql, (id_bytes(from_id), key, namespace))

    def edge_ids_with_prefix(self, namespace: str, prefix: str, limit: int = 6) -> list[str]:
        """Full edge ids that start with `prefix`, ascending. May read all edges."""
        with store_faults(self._where):
            found = {row[0] for row in self._between(namespace, *id_range(prefix, "edge"))}
        return starting(((id,) for id in sorted(found)), "edge", prefix, limit)

    def _between(self, namespace: str, low: bytes, high: bytes) -> Iterator[tuple[Any, ...]]:
        """Edges with ids from `low` to `high`. There is no index by id: one reading of all edges
        finds where they start, the table's key the rest."""
        starts = fetch(
            self._conn,
            "SELECT DISTINCT from_row, edge_type FROM edges WHERE id BETWEEN ? AND ?",
            (low, high),
        )
        stored = set(stored_codes())
        for start, code in starts:
            if code in stored:
                sql = edge_sql(code, "e.from_row = ? AND e.id BETWEEN ? AND ? AND +f.namespace = ?")
                yield from each(self._conn, sql, (start, low, high, namespace))

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
        with store_faults(self._where):
            rows = fetch(self._conn, sql, (namespace, -1 if limit is None else limit))
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
                for row in rows:
                    found.setdefault(keys[row[1]], []).append(edge_of(row))
        return [edge for id in dict.fromkeys(memory_ids) for edge in found.get(id, ())]


def _listed(namespace: str, listing: EntityListing) -> tuple[str, tuple[Any, ...]]:
    condition = "e.namespace = ?"
    values: tuple[Any, ...] = (namespace,)
    if not listing.include_expired:
        condition += " AND e.expired_us IS NULL"
    if listing.entity_type is not None:
        condition += " AND e.entity_type = ?"
        values = (*values, listing.entity_type)
    return condition, values


def starting(rows: Iterable[tuple[bytes]], kind: str, prefix: str, limit: int) -> list[str]:
    """Full ids that start with `prefix`, at most `limit`, of the rows in their order."""
    found: list[str] = []
    for (raw,) in rows:
        if len(found) == limit:
            break
        id = id_text(kind, raw)
        if id.startswith(prefix):
            found.append(id)
    return found
