"""Rows of entities, edges and claims as values, and values as rows: edges at many nodes and between
them, as they were known at a time; claims with their evidence, and what states a memory that
carries none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import apsw
import msgspec

from vestig.arguments import parse_time
from vestig.changes import AddedEvidence, NewClaim, NewEntity, NewEvidence
from vestig.errors import NotFoundError, StoreDamagedError, ValidationError
from vestig.ids import id_bytes, id_text
from vestig.language.text_forms import single_spaced
from vestig.store.integrity import chain
from vestig.store.records.rows import EntityListing, from_json, to_json
from vestig.store.sqlite.connections import (
    each,
    fetch,
    known_ids,
    next_row,
    node_keys,
    rows_of,
    select_in,
    store_faults,
)
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS, EDGE_TYPES
from vestig.store.tables.schema import INDEX, INSERT, NODE_TABLES, TABLES, columns_sql
from vestig.times import from_us
from vestig.types import Claim, Edge, EdgeType, Entity, Evidence, SupersessionRecord

if TYPE_CHECKING:
    from vestig.store.records.reads import LedgerView


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


def longer_names(view: LedgerView, namespace: str, name: str, most: int) -> list[str]:
    """Names of unexpired entities that hold the words of a normalised name and more, ascending;
    reads the index of the namespace."""
    sql = (
        "SELECT canonical_name FROM"
        " (SELECT canonical_name, substr(norm_key, instr(norm_key, ':') + 1) AS name FROM entities"
        " WHERE namespace = ? AND expired_us IS NULL) WHERE name != ?"
        " AND instr(' ' || name || ' ', ?) > 0 ORDER BY name LIMIT ?"
    )
    rows = fetch(view.connection, sql, (namespace, name, f" {name} ", most))
    return [name for (name,) in rows]


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
        if wrote_end(event_type, fields):
            found[row, id] = microseconds(fields["previous_t_invalid"])
    return found


def wrote_end(event_type: str, payload: dict[str, Any]) -> bool:
    """Return whether the event set the end of a memory; its payload then has the previous one."""
    if "previous_t_invalid" not in payload:
        return False
    # what is withdrawn as wrong has no end any more
    taken_back = event_type == "DEPRECATE" and payload["previous_t_invalid"] is not None
    return event_type == "UPDATE" or taken_back or payload.get("t_invalid") is not None


def microseconds(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return parse_time(value, "previous_t_invalid")


_UNEXPIRED: Final = "e.expired_seq = 0"
_KNOWN_THEN: Final = "e.t_created_us <= ? AND IFNULL(e.t_expired_us > ?, 1)"


def _rows(
    view: LedgerView, namespace: str, ids: Sequence[str], side: int, known_at_us: int | None
) -> Iterator[tuple[Any, ...]]:
    """Rows for `edge_of` of the edges that start (side 0) or end (side 1) at one of these nodes."""
    times = () if known_at_us is None else (known_at_us, known_at_us)
    held = _UNEXPIRED if known_at_us is None else _KNOWN_THEN
    for code in stored_codes():
        keys = known_ids(ids, EDGE_ENDS[code][side])
        if keys:
            alias = "ft"[side]
            sql = edge_sql(code, f"{held} AND +{alias}.namespace = ? AND {alias}.id IN (?*)")
            yield from select_in(view.connection, sql, tuple(keys), (*times, namespace))


def weights_around(
    view: LedgerView, namespace: str, ids: Sequence[str], known_at_us: int | None
) -> dict[str, dict[str, float]]:
    """Node → neighbour → the sum of the weights of the edges between them, in both directions.

    Args:
        known_at_us: None = as it is now.
    """
    found: dict[str, dict[str, float]] = {id: {} for id in ids}
    with store_faults(view.where):
        for side in (0, 1):
            for row in _rows(view, namespace, ids, side, known_at_us):
                _id, start, end, code, _relation, weight, *_rest = row
                ends = list(map(id_text, EDGE_ENDS[code], (start, end)))
                around = found[ends[side]]
                around[ends[1 - side]] = around.get(ends[1 - side], 0.0) + weight
    return found


def edges_between(
    view: LedgerView, namespace: str, ids: Sequence[str], known_at_us: int | None
) -> list[Edge]:
    """Edges of which both ends are among these nodes, by weight descending, then id.

    Args:
        known_at_us: None = as it is now.
    """
    wanted = set(ids)
    with store_faults(view.where):
        rows = _rows(view, namespace, ids, 0, known_at_us)
        found = [
            edge_of((id, start, end, code, *rest))
            for id, start, end, code, *rest in rows
            if id_text(EDGE_ENDS[code][1], end) in wanted
        ]
    return sorted(found, key=lambda edge: (-edge.weight, edge.id))


_SNIPPET_CHARS_MAX: Final = 500
_CLAIMS: Final = (
    "SELECT c.memory, c.subject, s.id, c.fact_type, c.object, o.id, c.object_type,"
    " c.relationship_type, c.attributes, c.confidence FROM claims c"
    ' LEFT JOIN entities s ON s."row" = c.subject_entity'
    ' LEFT JOIN entities o ON o."row" = c.object_entity WHERE c.memory IN (?*)'
)
_EVIDENCE: Final = (
    "SELECT e.memory, s.id, t.id, e.stated_us, e.author, e.snippet FROM claim_evidence e"
    ' LEFT JOIN sources s ON s."row" = e.source LEFT JOIN memories t ON t."row" = e.stated_in'
    " WHERE e.memory IN (?*) ORDER BY e.memory, e.position"
)
# The source of an event is that whose edge to the memory the same transaction wrote. One that an
# agent shares with its other commits tells nothing of this statement.
_STATEMENTS: Final = (
    "SELECT e.memory, e.artifact_ref, s.id, e.occurred_us, m.author, m.content, e.payload"
    ' FROM events e JOIN memories m ON m."row" = e.memory'
    f" LEFT JOIN edges p ON p.to_row = e.memory AND p.edge_type = {EDGE_CODES['PRODUCED']}"
    ' AND p.seq = e.seq LEFT JOIN sources s ON s."row" = p.from_row'
    " AND s.source_type <> 'agentic'"
    " WHERE e.memory IN (?*) AND e.event_type IN"
    " ('ADD', 'IMPORT', 'REINFORCE_EXACT', 'REINFORCE_NEAR')"
    ' ORDER BY e.memory, e.seq, e."row"'
)


def named_nodes(claims: Sequence[NewClaim], added: Sequence[AddedEvidence]) -> set[str]:
    """Ids of the nodes that these claims and this evidence name, those of the memories too."""
    evidence: list[tuple[str, tuple[NewEvidence, ...]]] = [
        (one.memory_id, one.evidence) for one in claims
    ]
    evidence += [(one.memory_id, one.evidence) for one in added]
    ids = [end for claim in claims for end in (claim.subject_id, claim.object_id)]
    ids += [one.source_id for _, of_claim in evidence for one in of_claim]
    return {id for id, _ in evidence} | {id for id in ids if id is not None}


class ClaimWriter:
    """The claims' part of a write transaction, under its link."""

    def __init__(
        self,
        conn: apsw.Connection,
        link: chain.Link,
        nodes: NodeRows,
        *,
        seq: int,
        salts: chain.Salts,
    ) -> None:
        self._conn = conn
        self._link = link
        self._nodes = nodes
        self._seq = seq
        self._salts = salts

    def claims(self, claims: Sequence[NewClaim]) -> None:
        """Claims of memories that have none.

        Raises:
            NotFoundError: a memory, entity or source that the namespace does not hold.
        """
        for new in claims:
            memory = self._nodes.row(new.memory_id)
            values = (
                self._salts.take(), memory, self._seq, new.subject, self._end(new.subject_id),
                new.fact_type, new.object, self._end(new.object_id), new.object_type,
                new.relationship_type, to_json(new.attributes), new.confidence,
            )  # fmt: skip
            self._conn.execute(INSERT["claims"], values)
            self._link.wrote("claims", values)
            self._evidence(memory, new.evidence, 0)

    def added(self, added: Sequence[AddedEvidence]) -> None:
        """Further evidence of stored claims.

        Raises:
            NotFoundError: as `claims`.
        """
        for one in added:
            memory = self._nodes.row(one.memory_id)
            sql = "SELECT IFNULL(MAX(position) + 1, 0) FROM claim_evidence WHERE memory = ?"
            self._evidence(memory, one.evidence, fetch(self._conn, sql, (memory,))[0][0])
            if one.confidence is not None:
                self._set_confidence(memory, one.confidence)

    def _evidence(self, memory: int, evidence: Sequence[NewEvidence], position: int) -> None:
        row, rows = next_row(self._conn, "claim_evidence"), list[tuple[Any, ...]]()
        for at, one in enumerate(evidence):
            of_memory = one.source_id is not None and one.source_id.startswith("mem_")
            source = None if of_memory else self._end(one.source_id)
            rows.append((
                self._salts.take(), row + at, memory, self._seq, position + at, source,
                self._end(one.source_id) if of_memory else None, one.stated_us, one.author,
                one.snippet,
            ))  # fmt: skip
        if rows:
            self._conn.executemany(INSERT["claim_evidence"], rows)
            self._link.wrote_all("claim_evidence", rows)

    def _set_confidence(self, memory: int, confidence: float) -> None:
        """The seq of the row stays: it says when the claim was stored."""
        sql = f"SELECT {columns_sql('claims')} FROM claims WHERE memory = ?"
        old = fetch(self._conn, sql, (memory,))[0]
        new = [*old]
        new[INDEX["claims"]["confidence"]] = confidence + 0.0
        update = "UPDATE claims SET confidence = ? WHERE memory = ?"
        self._conn.execute(update, (confidence + 0.0, memory))
        self._link.replaced("claims", old, new)

    def _end(self, id: str | None) -> int | None:
        return None if id is None else self._nodes.row(id)


def claims_of(conn: apsw.Connection, namespace: str, memory_ids: Sequence[str]) -> dict[str, Claim]:
    """Return what `LedgerView.claims` returns."""
    rows = rows_of(conn, "memories", namespace, known_ids(memory_ids, "mem"))
    found = claims_at(conn, list(rows.values()))
    return {id: found[row] for id, row in rows.items() if row in found}


def active_claims(
    view: LedgerView, namespace: str, scope: str | None, fact_types: Collection[str]
) -> dict[str, Claim]:
    """id → claim, of the active memories of a scope whose claims are of one of these types."""
    sql = (
        'SELECT m."row", m.id FROM claims c JOIN memories m ON m."row" = c.memory'
        " WHERE m.namespace = ? AND m.scope IS ? AND m.status = 'active' AND c.fact_type IN (?*)"
    )
    with store_faults(view.where):
        found = select_in(view.connection, sql, tuple(fact_types), (namespace, scope))
        rows = {row: id_text("mem", id) for row, id in found}
        claims = claims_at(view.connection, sorted(rows))
    return {rows[row]: claim for row, claim in claims.items()}


def claims_at(conn: apsw.Connection, rows: Sequence[int]) -> dict[int, Claim]:
    """Row of a memory → its claim, for those of these that carry one."""
    found = {row: claim for row, *claim in select_in(conn, _CLAIMS, rows)}
    evidence: dict[int, list[Evidence]] = {}
    for row, source, stated_in, stated, author, snippet in select_in(conn, _EVIDENCE, list(found)):
        of = id_text("source", source) if source is not None else None
        evidence.setdefault(row, []).append(
            Evidence(
                source_id=id_text("mem", stated_in) if stated_in is not None else of,
                timestamp=None if stated is None else from_us(stated),
                author=author,
                snippet=snippet,
            )
        )
    return {row: _claim(claim, tuple(evidence.get(row, ()))) for row, claim in found.items()}


def _claim(row: Sequence[Any], evidence: tuple[Evidence, ...]) -> Claim:
    (
        subject, subject_id, fact_type, object, object_id, object_type, relationship_type,
        attributes, confidence,
    ) = row  # fmt: skip
    return Claim(
        subject=subject,
        subject_id=None if subject_id is None else id_text("ent", subject_id),
        fact_type=fact_type,
        object=object,
        object_id=None if object_id is None else id_text("ent", object_id),
        object_type=object_type,
        relationship_type=relationship_type,
        attributes=from_json(attributes),
        confidence=confidence,
        evidence=evidence,
    )


def statements_at(conn: apsw.Connection, rows: Sequence[int]) -> dict[int, list[Evidence]]:
    """Return what `LedgerView.evidence_at` returns."""
    found: dict[int, list[Evidence]] = {}
    for row, artifact_ref, source, occurred, author, content, payload in select_in(
        conn, _STATEMENTS, rows
    ):
        # few payloads have one, and all are dear to read
        variant = from_json(payload).get("variant") if '"variant"' in payload else None
        text = variant if isinstance(variant, str) else content
        of = None if source is None else id_text("source", source)
        found.setdefault(row, []).append(
            Evidence(
                source_id=of if artifact_ref is None else artifact_ref,
                timestamp=from_us(occurred),
                author=author,
                snippet=single_spaced(text)[:_SNIPPET_CHARS_MAX],
            )
        )
    return found


_BY_CALLERS: Final = {
    table: [
        one.name for one in TABLES[table].columns if one.kind == "TEXT" and (one.erase or one.value)
    ]
    for table in ("entities", "sources", "edges")
}


def texts_by_callers(
    conn: apsw.Connection, namespace: str
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The texts of entities, sources and edges that a caller can give: table, id, and texts by
    column. What is read from a memory is left out of the edges."""

    def found(table: str, prefix: str, rest: str) -> Iterator[tuple[str, str, dict[str, str]]]:
        names = _BY_CALLERS[table]
        listed = ", ".join(f't."{name}"' for name in ("id", *names))
        for id, *texts in each(conn, f"SELECT {listed} FROM {table} t {rest}", (namespace,)):
            given = {name: text for name, text in zip(names, texts, strict=True) if text}
            yield table, id_text(prefix, id), given

    for table, prefix in (("entities", "ent"), ("sources", "source")):
        yield from found(table, prefix, "WHERE t.namespace = ?")
    for name in ("RELATED", "SUMMARIZES", "RELATION"):
        code = EDGE_CODES[name]
        node = NODE_TABLES[EDGE_ENDS[code][0]]
        owned = f'JOIN {node} n ON n."row" = t.from_row WHERE n.namespace = ?'
        yield from found("edges", "edge", f"{owned} AND t.edge_type = {code}")
