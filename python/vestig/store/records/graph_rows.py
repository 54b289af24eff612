"""Converts rows of entities and edges to values, and values to rows; edges as SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import apsw
import msgspec

from vestig.arguments import parse_time
from vestig.changes import NewEntity
from vestig.errors import NotFoundError, StoreDamagedError, ValidationError
from vestig.ids import id_bytes, id_text
from vestig.store.records.rows import from_json, to_json
from vestig.store.records.values import EntityListing
from vestig.store.sqlite.lookups import each, fetch, known_ids, node_keys, rows_of, select_in
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS, EDGE_TYPES
from vestig.store.tables.schema import NODE_TABLES
from vestig.times import from_us
from vestig.types import Edge, EdgeType, Entity, SupersessionRecord


class StoredAlias(msgspec.Struct, frozen=True, kw_only=True):
    """Another name of an entity and when it was added."""

    name: str
    added_us: int


_aliases: Final = msgspec.json.Decoder(tuple[StoredAlias, ...]).decode
_TYPES: Final = tuple(EdgeType(name) for name in EDGE_TYPES)

# An entity with what other tables say of it.
ENTITY_SELECT: Final = (
    'SELECT e."row", e.id, e.namespace, e.seq, e.entity_type, e.canonical_name, e.norm_key,'
    " e.description, e.aliases, e.type_certain, e.origin, e.created_us, e.expired_us,"
    ' (SELECT id FROM entities WHERE "row" = e.merged_into),'
    " IFNULL(a.access_count, 0), a.last_accessed_us"
    ' FROM entities e LEFT JOIN entity_access a ON a.entity = e."row"'
)

# Columns of an edge `e` between the ids of its ends and its type.
EDGE_FIELDS: Final = (
    "e.relation, e.weight, e.confidence, e.evidence, e.origin, e.t_created_us, e.t_expired_us,"
    " e.t_valid_us, e.t_invalid_us"
)


def aliases_of(text: str) -> tuple[StoredAlias, ...]:
    """The column `aliases`."""
    return () if text == "[]" else _aliases(text)


def merged_aliases(
    old: Iterable[StoredAlias], names: Iterable[str], added_us: int
) -> tuple[StoredAlias, ...]:
    """These names but blank ones, once each and in this order; one that was there keeps its
    time."""
    known = {alias.name: alias for alias in old}
    return tuple(
        known.get(name, StoredAlias(name=name, added_us=added_us))
        for name in dict.fromkeys(names)
        if name.strip()
    )


def entity_of(row: Sequence[Any], where: str) -> Entity:
    """A row of `ENTITY_SELECT`.

    Raises:
        StoreDamagedError: a value that was never written.
    """
    (
        _row, id, namespace, seq, entity_type, canonical_name, norm_key, description, aliases,
        certain, origin, created, expired, merged_into, access_count, last_accessed,
    ) = row  # fmt: skip
    try:
        return Entity(
            id=id_text("ent", id),
            namespace=namespace,
            seq=seq,
            entity_type=entity_type,
            canonical_name=canonical_name,
            norm_key=norm_key,
            description=description,
            aliases=tuple(alias.name for alias in aliases_of(aliases)),
            type_certain=certain == 1,
            origin=origin,
            created_at=from_us(created),
            expired_at=None if expired is None else from_us(expired),
            merged_into=None if merged_into is None else id_text("ent", merged_into),
            access_count=access_count,
            last_accessed_at=None if last_accessed is None else from_us(last_accessed),
        )
    except (OverflowError, msgspec.MsgspecError) as error:
        raise StoreDamagedError(
            f"{where}: expected a readable row for {id_text('ent', id)}, found a value that was"
            " never written; run `vestig doctor`"
        ) from error


def entity_row(
    new: NewEntity, *, row: int, salt: bytes, seq: int, created_us: int
) -> tuple[Any, ...]:
    """The columns of a new entity in the order of `COLUMNS`."""
    aliases = merged_aliases((), new.aliases, created_us)
    return (
        salt, row, id_bytes(new.id), new.namespace, seq, seq, new.entity_type,
        new.canonical_name, new.norm_key, new.description, to_json(aliases),
        int(new.type_certain), new.origin, created_us, None, None,
    )  # fmt: skip


def edge_of(row: Sequence[Any]) -> Edge:
    """A row (id, id of the start, id of the end, type code, `EDGE_FIELDS`)."""
    (
        id, start, end, code, relation, weight, confidence, evidence, origin, created, expired,
        valid, invalid,
    ) = row  # fmt: skip
    return Edge(
        id=id_text("edge", id),
        from_id=id_text(EDGE_ENDS[code][0], start),
        to_id=id_text(EDGE_ENDS[code][1], end),
        edge_type=_TYPES[code],
        relation=relation if _TYPES[code] is EdgeType.RELATION else None,
        weight=weight,
        confidence=confidence,
        evidence=evidence,
        origin=origin,
        t_created=from_us(created),
        t_expired=None if expired is None else from_us(expired),
        t_valid=None if valid is None else from_us(valid),
        t_invalid=None if invalid is None else from_us(invalid),
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


def listing_condition(namespace: str, listing: EntityListing) -> tuple[str, tuple[Any, ...]]:
    """The condition and its values of a listing of entities."""
    condition = "e.namespace = ?"
    values: tuple[Any, ...] = (namespace,)
    if not listing.include_expired:
        condition += " AND e.expired_us IS NULL"
    if listing.entity_type is not None:
        condition += " AND e.entity_type = ?"
        values = (*values, listing.entity_type)
    return condition, values


_KINDS: Final = {"mem": "Memory", "source": "Source", "ent": "Entity"}


class NodeRows:
    """Id → row number, in one namespace.

    `by_id`: what is known so far; who writes a node adds it. `new_memories`: rows of the memories
    that the transaction wrote, to which nothing in the ledger can refer yet.
    """

    def __init__(self, conn: apsw.Connection, namespace: str) -> None:
        self._conn = conn
        self.namespace = namespace
        self.by_id: dict[str, int] = {}
        self.new_memories: set[int] = set()

    def load(self, ids: Collection[str]) -> None:
        """Reads the rows of those of these ids that the namespace holds."""
        for prefix, table in NODE_TABLES.items():
            keys = node_keys(ids, f"{prefix}_")
            if keys:
                self.by_id.update(rows_of(self._conn, table, self.namespace, keys))

    def row(self, id: str) -> int:
        """The row of a node that was loaded or written.

        Raises:
            NotFoundError: the namespace does not hold it.
        """
        row = self.by_id.get(id)
        if row is None:
            raise NotFoundError(_KINDS.get(id.partition("_")[0], "Record"), id)
        return row


def edges_of(conn: apsw.Connection, prefix: str, row: int, edge_type: str | None) -> list[Edge]:
    """Unexpired edges at a node, by weight descending, then id.

    Raises:
        ValidationError: an unknown edge type.
    """
    found: dict[bytes, Edge] = {}
    for code in stored_codes(edge_type):
        for mine, column in zip(EDGE_ENDS[code], ("from_row", "to_row"), strict=True):
            if mine == prefix:
                sql = edge_sql(code, f"e.{column} = ? AND e.expired_seq = 0")
                found.update((edge[0], edge_of(edge)) for edge in each(conn, sql, (row,)))
    return sorted(found.values(), key=lambda edge: (-edge.weight, edge.id))


def supersession_chain(conn: apsw.Connection, row: int) -> list[SupersessionRecord]:
    """Every record connected with the memory, oldest first."""
    records: dict[int, tuple[Any, ...]] = {}
    seen = {row}
    open_ends = [row]
    while open_ends:
        member = open_ends.pop()
        for record in fetch(
            conn,
            'SELECT "row", superseding, superseded, reason, created_us FROM supersessions'
            " WHERE superseded = ?1 OR superseding = ?1",
            (member,),
        ):
            records[record[0]] = record
            for other in record[1:3]:
                if other not in seen:
                    seen.add(other)
                    open_ends.append(other)
    sql = 'SELECT "row", id FROM memories WHERE "row" IN (?*)'
    ids = {number: id_text("mem", id) for number, id in select_in(conn, sql, sorted(seen))}
    return [
        SupersessionRecord(
            superseding_id=ids[superseding],
            superseded_id=ids[superseded],
            reason=reason,
            created_at=from_us(created),
        )
        for _row, superseding, superseded, reason, created in (
            records[number] for number in sorted(records)
        )
    ]


def expired_by(
    conn: apsw.Connection, namespace: str, ids: Sequence[str], known_at_us: int
) -> set[str]:
    """Those of these memories whose withdrawal was recorded by then."""
    keys = known_ids(ids, "mem")
    sql = "SELECT id FROM memories WHERE t_expired_us <= ? AND +namespace = ? AND id IN (?*)"
    rows = select_in(conn, sql, tuple(keys), (known_at_us, namespace))
    return {keys[id] for (id,) in rows}


def ends_before(
    conn: apsw.Connection, namespace: str, known_at_us: int
) -> dict[tuple[int, bytes], int | None]:
    """(row, id) → `t_invalid` as known then, from the first later event that wrote an end."""
    # Newest first: the entry of the earliest later event is the one that stays.
    found: dict[tuple[int, bytes], int | None] = {}
    for event_type, payload, row, id in each(
        conn,
        'SELECT e.event_type, e.payload, m."row", m.id FROM events e INDEXED BY events_ends'
        ' JOIN memories m ON m."row" = e.memory'
        " WHERE e.event_type IN ('DEPRECATE', 'SUPERSEDE', 'UPDATE') AND e.recorded_us > ?"
        " AND m.namespace = ? AND instr(e.payload, 't_invalid') > 0"
        ' ORDER BY e.seq DESC, e."row" DESC',
        (known_at_us, namespace),
    ):
        fields = from_json(payload)
        if _wrote_end(event_type, fields):
            found[row, id] = _microseconds(fields["previous_t_invalid"])
    return found


def _wrote_end(event_type: str, payload: dict[str, Any]) -> bool:
    """Return whether the event set the end of a memory; its payload then has the previous one."""
    if "previous_t_invalid" not in payload:
        return False
    return event_type == "UPDATE" or payload.get("t_invalid") is not None


def _microseconds(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return parse_time(value, "previous_t_invalid")
