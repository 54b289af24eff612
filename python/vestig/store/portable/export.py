"""Export: every record of a store as a line of JSON, between a header and a trailer."""

from __future__ import annotations

import heapq
import io
import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast

import apsw

from vestig.calls.items import key_of_part
from vestig.errors import ConflictError, StoreDamagedError, ValidationError, VestigError
from vestig.ids import id_text
from vestig.language.text_forms import count_of
from vestig.ports import EmbeddingIdentity
from vestig.store.integrity.verify import verify
from vestig.store.ledger.ledger import Ledger
from vestig.store.portable.lines import (
    EMBEDDING_MODEL,
    EXPORT_SCHEMA,
    EXPORT_VERSION,
    FORMS,
    MEMORIES,
    NORMAL,
    SUPERSESSIONS,
    VECTORS,
    FileDigest,
    Form,
    Header,
    Trailer,
    encode,
    writer_of,
)
from vestig.store.portable.values import Oddity, oddity_of
from vestig.store.records.graph_writes import COMPUTED, label_of
from vestig.store.records.memory_versions import original_sql
from vestig.store.records.store_rows import ORIGIN, read_setting
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import REPAIR, known_ids, select_in, store_faults
from vestig.store.tables.graph import EDGE_ENDS
from vestig.store.tables.schema import NODE_TABLES
from vestig.types import EdgeType

_ROWS_AT_ONCE: Final = 256
_HEADER_START: Final = f'{{"record":"header","schema":"{EXPORT_SCHEMA}"'.encode()
_Fields = dict[str, Any]
# namespace, scope, key
_Slot = tuple[str, str | None, str]


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
    warnings: tuple[str, ...] = ()


def is_export(path: Path) -> bool:
    """Return whether a file is an export, whole or not, or empty."""
    try:
        with path.open("rb") as file:
            first = file.read(len(_HEADER_START))
    except OSError:
        return False
    return not first or first == _HEADER_START


def _check_own(path: Path) -> None:
    """An export takes the place of an export, or of an empty file.

    Raises:
        ConflictError: the file holds something else.
    """
    if not is_export(path):
        raise ConflictError(
            f"{path}: expected no file, or an earlier export of Vestig, to write to, it holds"
            " something else; nothing was changed, choose another place"
        )


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

    A path gets a file for the owner alone, which appears whole or not at all, in the place of
    nothing else than an earlier export; a stream is written as it comes. The header names the store
    the records first came from.

    Raises:
        StoreDamagedError: the ledger is not what was written; altered rows must not travel.
        ConflictError: the target is a file that is no export.
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
    if path.exists():
        _check_own(path)
    try:
        with files.copy_in_the_making(path, is_export, folder=False) as fresh:
            with fresh.open("wb") as out:
                counts = _write_lines(ledger, out.write, chosen)
            files.sync(fresh)
            os.replace(fresh, path)
            files.sync_folder(path.parent)
    except OSError as error:
        raise VestigError(
            f"{path}: the export cannot be written there: {error.strerror}; nothing was left"
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
                f"{where}: expected an intact ledger to export, found"
                f" {count_of(len(findings), 'damaged place')}; `vestig doctor` lists them,"
                f" {REPAIR}"
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
        out.line(encode(header))
        records = _records(conn, chosen.namespace)
        if chosen.memory_ids is not None:
            merged = _merged(conn, chosen.namespace)
            nodes = _nodes_of(conn, chosen.namespace, chosen.memory_ids, merged)
            relations = _Relations(conn, chosen.namespace, nodes, merged)
            records = _of_nodes(records, nodes, _slots_of(conn, chosen.memory_ids), relations, out)
        for form, fields in records:
            out.record(form.kind, fields)
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
        self.line(encode({"record": kind, **fields}))

    def end(self, cut_references: int) -> ExportCounts:
        """The trailer."""
        trailer = Trailer(
            counts=dict(sorted(self._counts.items())),
            sha256=self._digest.hex(),
            cut_references=cut_references,
            zero_vectors=self._oddities[Oddity.ZERO],
            unscaled_vectors=self._oddities[Oddity.UNSCALED],
        )
        self.line(encode(trailer))
        return ExportCounts(self._counts.total() + 2, dict(self._counts), cut_references)


def _namespaces(conn: apsw.Connection, namespace: str | None) -> tuple[str, ...]:
    """The namespaces of records with one, sorted."""
    if namespace is not None:
        return (namespace,)
    sql = " UNION ".join(
        f"SELECT namespace FROM {form.table.name}"
        for form in FORMS.values()
        if "namespace" in form.table.names
    )
    return tuple(sorted(name for (name,) in conn.execute(sql)))


def _without_record(conn: apsw.Connection, chosen: _Selection) -> int:
    """How many of the superseded memories that are written have no supersession record in the
    store: their successors were forgotten, or came with no export."""
    rows = conn.execute(
        f"SELECT m.id FROM {MEMORIES} m WHERE m.status = 'superseded'"
        " AND (?1 IS NULL OR m.namespace = ?1)"
        f' AND NOT EXISTS (SELECT 1 FROM {SUPERSESSIONS} s WHERE s.superseded = m."row")',
        (chosen.namespace,),
    )
    known = None if chosen.memory_ids is None else set(chosen.memory_ids)
    return sum(known is None or id_text("mem", id) in known for (id,) in rows)


def _records(conn: apsw.Connection, namespace: str | None) -> Iterator[tuple[Form, _Fields]]:
    """Records by the seq that wrote them, then in the order of their kinds; those without a seq
    last."""
    chained = [form for form in FORMS.values() if "seq" in form.table.names]
    order = {form.kind: at for at, form in enumerate(chained)}
    rows = [_of_form(conn, form, namespace) for form in chained]
    yield from heapq.merge(*rows, key=lambda one: (one[1]["seq"], order[one[0].kind]))
    for form in FORMS.values():
        if form.kind not in order:
            yield from _of_form(conn, form, namespace)


def _of_form(
    conn: apsw.Connection, form: Form, namespace: str | None
) -> Iterator[tuple[Form, _Fields]]:
    for fields in _rows(conn, form, namespace):
        yield form, fields


def _rows(conn: apsw.Connection, form: Form, namespace: str | None) -> Iterator[_Fields]:
    """Lines of a table, by seq and key. Rows are fetched in pieces, since sorting them whole would
    take their size."""
    select = _Select(form)
    keys = conn.execute(select.keys, (namespace,))
    while piece := [key for (key,) in islice(keys, _ROWS_AT_ONCE)]:
        found = {row[-1]: row for row in select_in(conn, select.rows, piece)}
        for key in piece:
            yield select.fields(found[key])


class _Select:
    """How the rows of one table are read: their keys in the order of their lines, and rows by
    these."""

    def __init__(self, form: Form) -> None:
        table = form.table
        key = f't."{table.key[0] if len(table.key) == 1 else "id"}"'
        self._plain = [
            (name, writer_of(one))
            for one, name in (*form.plain, *((one, one.field_name) for one in form.beside))
        ]
        self._ids: list[tuple[str, str, str]] = []
        if table.prefix is not None:
            self._ids.append(("id", table.prefix, "t.id"))
        for reference in form.references:
            for column, prefix, node in reference.targets:
                of_row = f'(SELECT id FROM {node} WHERE "row" = t."{column}")'
                self._ids.append((reference.field, prefix, of_row))
        self._ends = [name for _column, name in form.ends]
        self._texts = form.texts
        columns = [one.exported or f't."{one.name}"' for one, _name in form.plain]
        columns += [f"IFNULL(w.{one.name}, {one.untouched!r})" if one.untouched is not None
                    else f"w.{one.name}" for one in form.beside]  # fmt: skip
        columns += [sql for _name, _prefix, sql in self._ids]
        columns += [_of_end("id", column.name) for column, _name in form.ends]
        if form.ends:
            columns.append("t.edge_type")
        if form.texts:
            columns += [
                f'(SELECT model FROM {VECTORS} v WHERE v.memory = t."row")',
                f"({original_sql('t')})",
            ]
        within = form.within
        beside = "" if within is None else (
            f' LEFT JOIN {within.name} w ON w.{within.key[0]} = t."row"'
        )  # fmt: skip
        source = f"FROM {table.name} t"
        self.rows = f"SELECT {', '.join(columns)}, {key} {source}{beside} WHERE {key} IN (?*)"
        seq = "t.seq, " if "seq" in table.names else ""
        where = f"{_in_namespace(form)} AND {table.exported or 'TRUE'}"
        self.keys = f"SELECT {key} {source} WHERE {where} ORDER BY {seq}{key}"

    def fields(self, row: tuple[Any, ...]) -> _Fields:
        """Fields of a line."""
        values, fields = iter(row), {}
        for name, write in self._plain:
            value = next(values)
            fields[name] = value if value is None or write is None else write(value)
        for name, prefix, _sql in self._ids:
            id = next(values)
            if id is not None or name not in fields:
                fields[name] = None if id is None else id_text(prefix, id)
        if self._ends:
            start, end, code, _key = values
            for name, prefix, id in zip(self._ends, EDGE_ENDS[code], (start, end), strict=True):
                fields[name] = id_text(prefix, id)
        if self._texts:
            fields[EMBEDDING_MODEL] = next(values)
            original = next(values)
            if original is not None:
                fields["content"], fields[NORMAL] = original, fields["content"]
        return fields


def _of_end(column: str, end: str) -> str:
    """A column of the node at an end of an edge, in SQL."""
    at = 0 if end == "from_row" else 1
    cases = " ".join(
        f'WHEN {code} THEN (SELECT {column} FROM {NODE_TABLES[ends[at]]} WHERE "row" = t.{end})'
        for code, ends in enumerate(EDGE_ENDS)
    )
    return f"CASE t.edge_type {cases} END"


def _in_namespace(form: Form) -> str:
    """The condition that a row is of the namespace ?1, or of any; one without a namespace is of
    each."""
    owner = next((one.targets[0] for one in form.references if one.required), None)
    space = "?1"
    if "namespace" in form.table.names:
        space = "t.namespace"
    elif form.ends:
        space = _of_end("namespace", form.ends[1][0].name)
    elif owner is not None:
        space = f'(SELECT namespace FROM {owner.table} WHERE "row" = t."{owner.column}")'
    return f"(?1 IS NULL OR {space} = ?1)"


# --- selections ------------------------------------------------------------------------------


def _merged(conn: apsw.Connection, namespace: str | None) -> dict[str, str]:
    """Id of each merged entity → what it was merged into."""
    return {
        fields["id"]: fields["merged_into"]
        for fields in _rows(conn, FORMS["entity"], namespace)
        if fields["merged_into"] is not None
    }


class _Relations:
    """The relations that claims of a selection state: the others say what stays behind."""

    def __init__(
        self,
        conn: apsw.Connection,
        namespace: str | None,
        nodes: Collection[str],
        merged: Mapping[str, str],
    ) -> None:
        self._merged = merged
        self._stated = {
            self._key(one["subject_id"], one["object_id"], label)
            for one in _rows(conn, FORMS["claim"], namespace)
            if all(one[name] in nodes for name in FORMS["claim"].owners)
            for label in [label_of(one["fact_type"], one["relationship_type"])]
        }

    def leaves_out(self, edge: _Fields) -> bool:
        """Return whether an edge follows from claims none of which is selected."""
        if edge["edge_type"] != EdgeType.RELATION.value or edge["origin"] != COMPUTED:
            return False
        return self._key(edge["from_id"], edge["to_id"], edge["relation"]) not in self._stated

    def _key(self, *parts: str | None) -> tuple[str | None, ...]:
        return tuple(self._stands_for(part) for part in parts)

    def _stands_for(self, id: str | None) -> str | None:
        while id is not None and id in self._merged:
            id = self._merged[id]
        return id


def _nodes_of(
    conn: apsw.Connection,
    namespace: str | None,
    memory_ids: Collection[str],
    merged: Mapping[str, str],
) -> frozenset[str]:
    """Ids of these memories, of the sources that produced them, and of the entities that they
    mention or that what belongs to them names, with what those were merged into."""
    chosen = set(memory_ids)
    nodes = set(chosen)
    for edge in _rows(conn, FORMS["edge"], namespace):
        if edge["edge_type"] == EdgeType.PRODUCED.value and edge["to_id"] in chosen:
            nodes.add(edge["from_id"])
        elif edge["edge_type"] == EdgeType.MENTIONS.value and edge["from_id"] in chosen:
            nodes.add(edge["to_id"])
    for form in FORMS.values():
        cleared = [one.field for one in form.references if one.cleared]
        if cleared and not form.table.node:
            for fields in _rows(conn, form, namespace):
                if all(fields[name] in chosen for name in form.owners):
                    nodes.update(fields[name] for name in cleared if fields[name] is not None)
    for id in list(nodes):
        while (id := merged.get(id, "")) and id not in nodes:
            nodes.add(id)
    return frozenset(nodes)


def _slots_of(conn: apsw.Connection, memory_ids: Collection[str]) -> frozenset[_Slot]:
    """Where the items stand whose texts are among these memories."""
    sql = (
        f'SELECT namespace, scope, "key" FROM {MEMORIES} WHERE "key" IS NOT NULL'
        " AND t_expired_us IS NULL AND id IN (?*)"
    )
    found = select_in(conn, sql, tuple(known_ids(list(memory_ids), "mem")))
    return frozenset((space, scope, key_of_part(key)) for space, scope, key in found)


def _of_nodes(
    records: Iterable[tuple[Form, _Fields]],
    nodes: frozenset[str],
    slots: Collection[_Slot],
    relations: _Relations,
    out: _Writer,
) -> Iterator[tuple[Form, _Fields]]:
    """Records that belong to these nodes alone, and items of these keys; `out` counts the
    references that are cut."""
    for form, fields in records:
        if form.kind == "item":
            if (fields["namespace"], fields["scope"], fields["key"]) in slots:
                yield form, fields
            continue
        inside = [fields[name] in nodes for name in form.owners]
        if not inside or not all(inside):
            # a link between two memories, one of which stays behind
            out.cut_references += any(inside) and not form.ends
            continue
        if form.kind == "edge" and relations.leaves_out(fields):
            continue
        for reference in form.references:
            if (
                not reference.required
                and fields[reference.field] is not None
                and fields[reference.field] not in nodes
            ):
                fields[reference.field] = None
                out.cut_references += 1
        # Evidence without a source and without a snippet says nothing.
        if form.kind != "evidence" or fields["source_id"] is not None or fields["snippet"]:
            yield form, fields
