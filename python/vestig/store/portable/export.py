"""Export: every record of a store as a line of JSON, between a header and a trailer."""

from __future__ import annotations

import heapq
import io
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast

import apsw

from vestig.errors import StoreDamagedError, ValidationError, VestigError
from vestig.ids import id_text
from vestig.ports import EmbeddingIdentity
from vestig.store.ledger.graph_rows import stored_codes
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.settings import ORIGIN, read_setting
from vestig.store.ledger.verify import verify
from vestig.store.portable.declared import DECLARED, field_name, id_fields, required_fields
from vestig.store.portable.file_check import FileDigest
from vestig.store.portable.lines import (
    EXPORT_SCHEMA,
    EXPORT_VERSION,
    FIRST_DAY,
    Oddity,
    encode_line,
    encode_trailer,
    fields_of,
    oddity_of,
)
from vestig.store.portable.records import Header, Trailer
from vestig.store.sqlite import files
from vestig.store.sqlite.faults import store_faults
from vestig.store.sqlite.lookups import select_in
from vestig.store.tables.graph import EDGE_ENDS, EDGE_TYPES
from vestig.store.tables.schema import COLUMNS, NODE_TABLES
from vestig.store.tables.table import Table
from vestig.types import EdgeType

_VECTORS_AT_ONCE: Final = 256

# ((seq, order of the table, number within it), kind, fields); the first part orders the lines.
_Ordered = tuple[tuple[int, int, int], str, dict[str, Any]]


class _Selection(NamedTuple):
    """Which records are written: of a namespace or of all, of these memories or of all; `where`
    is the filter that chose them."""

    namespace: str | None
    memory_ids: Collection[str] | None
    where: Mapping[str, Any] | None


class ExportCounts(NamedTuple):
    """Counts of an export: `lines` = header + `records` by kind + trailer."""

    lines: int
    records: dict[str, int]
    cut_references: int


def export(
    ledger: Ledger,
    target: Path | str | IO[str] | IO[bytes],
    *,
    namespace: str | None,
    memory_ids: Collection[str] | None = None,
    where: Mapping[str, Any] | None = None,
) -> ExportCounts:
    """Writes every record of a namespace (None: of all) and returns how many of each kind.

    Args:
        memory_ids: only these memories, with their vectors, events and questions, the sources
            that produced them, the entities that they mention, and the edges between all of
            these. A memory whose successor stays behind is written without it, and the trailer
            counts that. Tombstones stay behind: a filter says nothing of what was forgotten.
        where: the filter that chose the memories, for the header.

    A path gets a file for the owner alone, which appears whole or not at all; a stream is
    written as it comes. The header names the store the records first came from.

    Raises:
        StoreDamagedError: the ledger is not what was written; altered rows must not travel.
        VestigError: the target cannot be written.

    Example:
        >>> import io
        >>> from vestig.store.ledger.opening import open_ledger
        >>> out = io.StringIO()
        >>> export(open_ledger(None), out, namespace=None).lines
        2
        >>> '"vestig/export/1"' in out.getvalue()
        True
    """
    chosen = _Selection(namespace, memory_ids, where)
    if not isinstance(target, (str, Path)):
        return _write_lines(ledger, _writer_of(target), chosen)
    path = Path(target)
    if path.is_dir():
        raise ValidationError("target", str(path), "the path of a file", "add a file name")
    if path.exists() and not path.is_file():
        return _write_into(ledger, path, chosen)
    try:
        with files.replacing(path, prefix=".") as fresh, fresh.open("wb") as out:
            counts = _write_lines(ledger, out.write, chosen)
    except OSError as error:
        raise VestigError(
            f"{path}: expected a place to write an export, got {error.strerror}; nothing was"
            " left there"
        ) from error
    return counts


def _write_into(ledger: Ledger, path: Path, chosen: _Selection) -> ExportCounts:
    """Writes to a pipe or a device, which no file may take the place of."""
    mode = path.stat().st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
        raise ValidationError("target", str(path), "the path of a file, a pipe or a terminal")
    with path.open("wb") as out:
        return _write_lines(ledger, out.write, chosen)


def _writer_of(stream: IO[str] | IO[bytes]) -> Callable[[bytes], object]:
    """Writes lines to a stream, as text unless the stream takes bytes."""
    if isinstance(stream, (io.BufferedIOBase, io.RawIOBase)):
        return stream.write
    text = cast("IO[str]", stream)
    return lambda line: text.write(line.decode())


def _write_lines(
    ledger: Ledger, write: Callable[[bytes], object], chosen: _Selection
) -> ExportCounts:
    where = ledger.where
    identity = ledger.embedding_identity()
    with ledger.read() as view, store_faults(where):
        conn = view.connection
        findings = verify(conn, ledger.store_uuid)
        if findings:
            raise StoreDamagedError(
                f"{where}: expected an intact ledger to export, found {len(findings)} damaged"
                " places; run `vestig doctor`"
            )
        origin = read_setting(conn, ORIGIN)
        header = Header(
            schema=EXPORT_SCHEMA,
            format_version=EXPORT_VERSION,
            origin=(ledger.store_uuid if origin is None else origin).hex(),
            seq=view.seq,
            namespace=chosen.namespace,
            embedding=identity,
            namespaces=_namespaces(conn, chosen.namespace),
            where=None if chosen.where is None else dict(chosen.where),
        )
        out = _Writer(write, identity)
        out.line(encode_line(header))
        records: Iterable[tuple[str, dict[str, Any]]] = _records(conn, chosen.namespace)
        if chosen.memory_ids is not None:
            nodes = _nodes_of(conn, chosen.namespace, chosen.memory_ids)
            records = _of_nodes(records, nodes, out)
        for kind, fields in records:
            out.record(kind, fields)
        cut = out.cut_references + _without_record(conn, chosen)
        return out.end(cut)


class _Writer:
    """Writes lines, and counts what the trailer says of them."""

    def __init__(
        self, write: Callable[[bytes], object], identity: EmbeddingIdentity | None
    ) -> None:
        self._write = write
        self._identity = identity
        self._digest = FileDigest()
        self._counts: Counter[str] = Counter()
        self._oddities: Counter[Oddity] = Counter()
        self.cut_references = 0

    def line(self, raw: bytes) -> None:
        """A line without its end."""
        raw += b"\n"
        self._digest.add(raw)
        self._write(raw)

    def record(self, kind: str, fields: dict[str, Any]) -> None:
        """A record."""
        self._counts[kind] += 1
        vector = fields.get("embedding")
        if vector and self._identity is not None:
            oddity = oddity_of(vector, self._identity)
            if oddity is not None:
                self._oddities[oddity] += 1
        self.line(encode_line((kind, fields)))

    def end(self, cut_references: int) -> ExportCounts:
        """The trailer."""
        trailer = Trailer(
            counts=dict(sorted(self._counts.items())),
            sha256=self._digest.hex(),
            cut_references=cut_references,
            zero_vectors=self._oddities[Oddity.ZERO],
            unscaled_vectors=self._oddities[Oddity.UNSCALED],
        )
        self.line(encode_trailer(trailer))
        return ExportCounts(self._counts.total() + 2, dict(self._counts), cut_references)


def _namespaces(conn: apsw.Connection, namespace: str | None) -> tuple[str, ...]:
    """The namespaces of records with one, sorted."""
    if namespace is not None:
        return (namespace,)
    tables = (*NODE_TABLES.values(), "tombstones", "idempotency_keys", "requests")
    sql = " UNION ".join(f"SELECT namespace FROM {table}" for table in tables)
    return tuple(sorted(name for (name,) in conn.execute(sql)))


def _without_record(conn: apsw.Connection, chosen: _Selection) -> int:
    """How many of the superseded memories that are written have no supersession record in the
    store: their successors were forgotten, or came with no export."""
    rows = conn.execute(
        "SELECT m.id FROM memories m WHERE m.status = 'superseded'"
        " AND (?1 IS NULL OR m.namespace = ?1)"
        ' AND NOT EXISTS (SELECT 1 FROM supersessions s WHERE s.superseded = m."row")',
        (chosen.namespace,),
    )
    known = None if chosen.memory_ids is None else set(chosen.memory_ids)
    return sum(known is None or id_text("mem", id) in known for (id,) in rows)


def _records(conn: apsw.Connection, namespace: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Records by the seq that wrote them; those without a seq last."""
    tables = (
        _rows(conn, "source", _SOURCES, namespace, 0),
        _rows(conn, "memory", _MEMORIES, namespace, 1),
        _rows(conn, "entity", _ENTITIES, namespace, 2),
        _vectors(conn, "vector", _VECTORS, namespace, 3),
        _vectors(conn, "entity_vector", _ENTITY_VECTORS, namespace, 4),
        _rows(conn, "question", _QUESTIONS, namespace, 5),
        _rows(conn, "event", _EVENTS, namespace, 6),
        _edges(conn, namespace, 7),
        _rows(conn, "supersession", _SUPERSESSIONS, namespace, 8),
        _vectors(conn, "token_codes", _TOKEN_CODES, namespace, 9),
        _tombstones(conn, namespace, 10),
        _claims(conn, namespace, 11),
        _evidence(conn, namespace, 12),
        *(_declared(conn, t, namespace, 13 + n) for n, t in enumerate(DECLARED.values())),
    )
    for _key, kind, fields in heapq.merge(*tables, key=lambda line: line[0]):
        yield kind, fields
    yield from _jobs(conn, namespace)
    yield from _model_calls(conn)
    yield from _answers(conn, namespace)
    yield from _requests(conn, namespace)


def _nodes_of(
    conn: apsw.Connection, namespace: str | None, memory_ids: Collection[str]
) -> frozenset[str]:
    """Ids of these memories, of the sources that produced them, and of the entities that they
    mention or their claims name, with what those were merged into."""
    chosen = set(memory_ids)
    nodes = set(chosen)
    for _key, _kind, edge in _edges(conn, namespace, 0):
        if edge["edge_type"] == EdgeType.PRODUCED.value and edge["to_id"] in chosen:
            nodes.add(edge["from_id"])
        elif edge["edge_type"] == EdgeType.MENTIONS.value and edge["from_id"] in chosen:
            nodes.add(edge["to_id"])
    for _key, _kind, claim in _claims(conn, namespace, 0):
        if claim["memory"] in chosen:
            nodes.update(id for id in (claim["subject_id"], claim["object_id"]) if id is not None)
    merged = {
        fields["id"]: fields["merged_into"]
        for _key, _kind, fields in _rows(conn, "entity", _ENTITIES, namespace, 0)
        if fields["merged_into"] is not None
    }
    for id in list(nodes):
        while (id := merged.get(id, "")) and id not in nodes:
            nodes.add(id)
    return frozenset(nodes)


# What a record belongs to, by its kind: every node named here has to be among those written.
_BELONGS_TO: Final[dict[str, tuple[str, ...]]] = {
    "source": ("id",),
    "memory": ("id",),
    "entity": ("id",),
    "vector": ("memory",),
    "entity_vector": ("entity",),
    "question": ("memory",),
    "event": ("memory",),
    "edge": ("from_id", "to_id"),
    "supersession": ("superseding", "superseded"),
    "token_codes": ("memory",),
    "job": ("memory",),
    "claim": ("memory",),
    "evidence": ("memory",),
    **{cast("str", table.record): tuple(required_fields(table)) for table in DECLARED.values()},
}


def _of_nodes(
    records: Iterable[tuple[str, dict[str, Any]]], nodes: frozenset[str], out: _Writer
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Records that belong to these nodes alone; `out` counts the references that are cut."""
    for kind, fields in records:
        owners = _BELONGS_TO.get(kind)
        if owners is None or not all(fields[name] in nodes for name in owners):
            if kind == "supersession" and any(fields[name] in nodes for name in owners or ()):
                out.cut_references += 1
            continue
        for name in ("superseded_by", "revives", "source_id"):
            if fields.get(name) is not None and fields[name] not in nodes:
                fields[name] = None
                out.cut_references += 1
        # Evidence without a source and without a snippet says nothing.
        if kind != "evidence" or fields["source_id"] is not None or fields["snippet"]:
            yield kind, fields


class _Select:
    """How rows of one table are read: columns as they are, then columns that become ids. `beside`:
    fields from elsewhere, name and SQL."""

    def __init__(
        self,
        plain: tuple[str, ...],
        ids: tuple[tuple[str, str, str], ...],
        source: str,
        beside: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.plain = (*plain, *(name for name, _sql in beside))
        self.ids = ids
        columns = [f't."{name}"' for name in plain] + [sql for _name, sql in beside]
        columns += [sql for _name, _prefix, sql in ids]
        self.sql = f"SELECT {', '.join(columns)} FROM {source}"

    def fields(self, row: tuple[Any, ...]) -> dict[str, Any]:
        """Fields of a line."""
        found = fields_of(self.plain, row[: len(self.plain)])
        for (name, prefix, _sql), raw in zip(self.ids, row[len(self.plain) :], strict=True):
            found[name] = None if raw is None else id_text(prefix, raw)
        return found


def _plain(table: str, *without: str) -> tuple[str, ...]:
    left_out = {"salt", "row", "id", *without}
    return tuple(column for column in COLUMNS[table] if column not in left_out)


_OF_MEMORY: Final = 'JOIN memories m ON m."row" = t.memory'
_SOURCES: Final = _Select(_plain("sources"), (("id", "source", "t.id"),), "sources t")
_MEMORIES: Final = _Select(
    _plain("memories", "superseded_by", "revives"),
    (
        ("id", "mem", "t.id"),
        ("superseded_by", "mem", '(SELECT id FROM memories WHERE "row" = t.superseded_by)'),
        ("revives", "mem", '(SELECT id FROM memories WHERE "row" = t.revives)'),
    ),
    "memories t",
    (
        ("embedding_model", '(SELECT model FROM vectors v WHERE v.memory = t."row")'),
        ("original", '(SELECT content FROM original_texts o WHERE o.memory = t."row")'),
    ),
)
_EVENTS: Final = _Select(
    _plain("events", "memory"),
    (("id", "evt", "t.id"), ("memory", "mem", "m.id")),
    f"events t {_OF_MEMORY}",
)
_VECTORS: Final = _Select(
    _plain("vectors", "memory"), (("memory", "mem", "m.id"),), f"vectors t {_OF_MEMORY}"
)
_TOKEN_CODES: Final = _Select(
    _plain("token_codes", "memory"),
    (("memory", "mem", "m.id"),),
    f"token_codes t {_OF_MEMORY}",
)
_ENTITIES: Final = _Select(
    _plain("entities", "merged_into"),
    (
        ("id", "ent", "t.id"),
        ("merged_into", "ent", '(SELECT id FROM entities WHERE "row" = t.merged_into)'),
    ),
    "entities t",
)
_ENTITY_VECTORS: Final = _Select(
    _plain("entity_vectors", "entity"),
    (("entity", "ent", "m.id"),),
    'entity_vectors t JOIN entities m ON m."row" = t.entity',
)
_QUESTIONS: Final = _Select(
    _plain("questions", "memory"), (("memory", "mem", "m.id"),), f"questions t {_OF_MEMORY}"
)
_SUPERSESSIONS: Final = _Select(
    _plain("supersessions", "superseding", "superseded"),
    (("superseding", "mem", "n.id"), ("superseded", "mem", "m.id")),
    'supersessions t JOIN memories m ON m."row" = t.superseded'
    ' JOIN memories n ON n."row" = t.superseding',
)
_TOMBSTONES: Final = _Select(_plain("tombstones"), (("id", "mem", "t.id"),), "tombstones t")
_JOBS: Final = _Select(
    (
        "kind",
        "state",
        "attempts",
        "next_attempt_us",
        "last_error",
        "batch_id",
        "created_us",
        "updated_us",
    ),
    (("id", "job", "t.id"), ("memory", "mem", "m.id")),
    f"jobs t {_OF_MEMORY}",
)


_CLAIMS: Final = _Select(
    _plain("claims", "memory", "subject_entity", "object_entity"),
    (
        ("memory", "mem", "m.id"),
        ("subject_id", "ent", '(SELECT id FROM entities WHERE "row" = t.subject_entity)'),
        ("object_id", "ent", '(SELECT id FROM entities WHERE "row" = t.object_entity)'),
    ),
    f"claims t {_OF_MEMORY}",
)
_EVIDENCE: Final = _Select(
    _plain("claim_evidence", "memory", "source", "stated_in"),
    (
        ("memory", "mem", "m.id"),
        ("source_id", "source", '(SELECT id FROM sources WHERE "row" = t.source)'),
        ("stated_in", "mem", '(SELECT id FROM memories WHERE "row" = t.stated_in)'),
    ),
    f"claim_evidence t {_OF_MEMORY}",
)
_ANSWER: Final = ("namespace", "key", "request_hash", "status", "response", "created_us")
_REQUEST: Final = (
    "namespace", "route", "began_us", "duration", "status", "counts", "confidence", "reason",
)  # fmt: skip


def _in_namespace(select: _Select) -> str:
    return f"(?1 IS NULL OR {'m' if ' m ' in select.sql else 't'}.namespace = ?1)"


def _rows(
    conn: apsw.Connection, kind: str, select: _Select, namespace: str | None, order: int
) -> Iterator[_Ordered]:
    """Rows are numbered as transactions write them, so the order of rows is that of seq."""
    rows = conn.execute(
        f'{select.sql} WHERE {_in_namespace(select)} ORDER BY t."row"', (namespace,)
    )
    access, untouched = _access(conn, kind)
    for number, row in enumerate(rows):
        fields = select.fields(row)
        if untouched:
            fields.update(access.get(fields["id"], untouched))
        if kind == "memory":
            original = fields.pop("original")
            if original is not None:
                fields["content"], fields["normal"] = original, fields["content"]
        yield (fields["seq"], order, number), kind, fields


# Counters of a node outside the chain: kind → (prefix of its ids, tables, columns, fields of a node
# that was never accessed).
_ACCESS: Final[dict[str, tuple[str, str, tuple[str, ...], dict[str, Any]]]] = {
    "memory": (
        "mem",
        f"access t {_OF_MEMORY}",
        ("access_count", "last_accessed_us", "processing"),
        {"access_count": 0, "last_accessed_at": None, "processing": "ready"},
    ),
    "entity": (
        "ent",
        'entity_access t JOIN entities m ON m."row" = t.entity',
        ("access_count", "last_accessed_us"),
        {"access_count": 0, "last_accessed_at": None},
    ),
}


def _access(conn: apsw.Connection, kind: str) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """id → its counters, and those of a node that has none; two empty ones for other records."""
    if kind not in _ACCESS:
        return {}, {}
    prefix, source, columns, untouched = _ACCESS[kind]
    names = ", ".join(f"t.{column}" for column in columns)
    rows = conn.execute(f"SELECT m.id, {names} FROM {source}")
    return (
        {id_text(prefix, id): fields_of(columns, tuple(values)) for id, *values in rows},
        untouched,
    )


def _vectors(
    conn: apsw.Connection, kind: str, select: _Select, namespace: str | None, order: int
) -> Iterator[_Ordered]:
    """By seq and node; fetched in pieces, since sorting them whole would take their size."""
    ((node, _prefix, _sql),) = select.ids
    source = select.sql.partition(" FROM ")[2]
    keys = sorted(
        conn.execute(
            f"SELECT t.seq, t.{node} FROM {source} WHERE {_in_namespace(select)}", (namespace,)
        )
    )
    number = 0
    for start in range(0, len(keys), _VECTORS_AT_ONCE):
        piece = keys[start : start + _VECTORS_AT_ONCE]
        numbers = [row for _seq, row in piece]
        sql = f"{select.sql.replace(' FROM', f', t.{node} FROM', 1)} WHERE t.{node} IN (?*)"
        found = {row[-1]: row[:-1] for row in select_in(conn, sql, numbers)}
        for seq, row in piece:
            yield (seq, order, number), kind, select.fields(found[row])
            number += 1


_EDGE: Final = _plain("edges", "from_row", "edge_type", "to_row")
_EDGE_SEQ: Final = 3 + _EDGE.index("seq")


def _edges(conn: apsw.Connection, namespace: str | None, order: int) -> Iterator[_Ordered]:
    """Edges whose ends have tables; both lie in one namespace. By seq and id."""
    types = [_edges_of(conn, namespace, code) for code in stored_codes()]
    merged = heapq.merge(*types, key=lambda item: (item[1][_EDGE_SEQ], item[1][0]))
    for number, (code, row) in enumerate(merged):
        fields = fields_of(_EDGE, row[3:])
        fields["edge_type"] = EDGE_TYPES[code]
        fields["id"] = id_text("edge", row[0])
        fields["from_id"] = id_text(EDGE_ENDS[code][0], row[1])
        fields["to_id"] = id_text(EDGE_ENDS[code][1], row[2])
        yield (row[_EDGE_SEQ], order, number), "edge", fields


def _edges_of(
    conn: apsw.Connection, namespace: str | None, code: int
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    start, end = (NODE_TABLES[prefix] for prefix in EDGE_ENDS[code])
    columns = ", ".join(f't."{name}"' for name in _EDGE)
    for row in conn.execute(
        f"SELECT t.id, f.id, m.id, {columns} FROM edges t"
        f' JOIN {start} f ON f."row" = t.from_row JOIN {end} m ON m."row" = t.to_row'
        " WHERE t.edge_type = ?2 AND (?1 IS NULL OR m.namespace = ?1) ORDER BY t.seq, t.id",
        (namespace, code),
    ):
        yield code, row


def _tombstones(conn: apsw.Connection, namespace: str | None, order: int) -> Iterator[_Ordered]:
    """Those of memories, by seq and id: their rows are those of what was forgotten."""
    where = f'{_in_namespace(_TOMBSTONES)} AND t."row" > 0'
    rows = conn.execute(f"{_TOMBSTONES.sql} WHERE {where} ORDER BY t.seq, t.id", (namespace,))
    for number, row in enumerate(rows):
        fields = _TOMBSTONES.fields(row)
        yield (fields["seq"], order, number), "tombstone", fields


def _claims(conn: apsw.Connection, namespace: str | None, order: int) -> Iterator[_Ordered]:
    """By seq and memory."""
    rows = conn.execute(
        f"{_CLAIMS.sql} WHERE {_in_namespace(_CLAIMS)} ORDER BY t.seq, t.memory", (namespace,)
    )
    for number, row in enumerate(rows):
        fields = _CLAIMS.fields(row)
        yield (fields["seq"], order, number), "claim", fields


def _evidence(conn: apsw.Connection, namespace: str | None, order: int) -> Iterator[_Ordered]:
    """By seq, in the order in which it was given."""
    rows = conn.execute(
        f'{_EVIDENCE.sql} WHERE {_in_namespace(_EVIDENCE)} ORDER BY t.seq, t."row"',
        (namespace,),
    )
    for number, row in enumerate(rows):
        fields = _EVIDENCE.fields(row)
        stated_in = fields.pop("stated_in")
        if stated_in is not None:
            fields["source_id"] = stated_in
        yield (fields["seq"], order, number), "evidence", fields


def _declared(
    conn: apsw.Connection, table: Table, namespace: str | None, order: int
) -> Iterator[_Ordered]:
    """Rows of a table that is declared in full, by seq and row, or node."""
    select = _declared_select(table)
    last = 't."row"' if "row" in table.names else ", ".join(f't."{name}"' for name in table.key)
    rows = conn.execute(
        f"{select.sql} WHERE {_in_namespace(select)} ORDER BY t.seq, {last}", (namespace,)
    )
    for number, row in enumerate(rows):
        fields = select.fields(row)
        yield (fields["seq"], order, number), cast("str", table.record), fields


def _declared_select(table: Table) -> _Select:
    """Its columns, with ids in place of row numbers; `m` is the first node it belongs to."""
    source, ids = f"{table.name} t", list[tuple[str, str, str]]()
    if table.prefix is not None:
        ids.append(("id", table.prefix, "t.id"))
    fields = dict(id_fields(table))
    for column in table.columns:
        if column.refers is None:
            continue
        name, sql = field_name(column.name), ""
        if not column.null and " m " not in source:
            source += f' JOIN {column.refers} m ON m."row" = t."{column.name}"'
            sql = "m.id"
        else:
            sql = f'(SELECT id FROM {column.refers} WHERE "row" = t."{column.name}")'
        ids.append((name, fields[name], sql))
    references = [column.name for column in table.columns if column.refers is not None]
    return _Select(_plain(table.name, *references), tuple(ids), source)


def _model_calls(conn: apsw.Connection) -> Iterator[tuple[str, dict[str, Any]]]:
    """Those of the whole store."""
    for day, reserved in conn.execute("SELECT day, reserved FROM model_calls ORDER BY day"):
        yield "model_calls", {"day": FIRST_DAY + timedelta(days=day), "reserved": reserved}


def _answers(conn: apsw.Connection, namespace: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in conn.execute(
        f"SELECT {', '.join(_ANSWER)} FROM idempotency_keys"
        ' WHERE ?1 IS NULL OR namespace = ?1 ORDER BY "row"',
        (namespace,),
    ):
        yield "idempotency_key", fields_of(_ANSWER, row)


def _requests(conn: apsw.Connection, namespace: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    for id, payload, *row in conn.execute(
        f"SELECT id, payload, {', '.join(_REQUEST)} FROM requests"
        ' WHERE ?1 IS NULL OR namespace = ?1 ORDER BY "row"',
        (namespace,),
    ):
        fields = fields_of(_REQUEST, tuple(row))
        yield "request", {**fields, "payload": payload, "id": id_text("req", id)}


def _jobs(conn: apsw.Connection, namespace: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in conn.execute(
        f'{_JOBS.sql} WHERE {_in_namespace(_JOBS)} ORDER BY t."row"', (namespace,)
    ):
        fields = _JOBS.fields(row)
        if fields["state"] == "running":
            fields["state"] = "pending"
        yield "job", fields
