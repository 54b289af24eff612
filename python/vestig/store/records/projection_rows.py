"""Rows of the projection, read from the ledger, with the codes of word pieces that some of them
carry; every ledger row is checked against the chain."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from vestig._core import PieceAxes
from vestig.ids import id_bytes
from vestig.language.names import title_key
from vestig.language.words import text_flags
from vestig.ports import CODE_BYTES, PIECES_MAX, SPECIAL_PIECE, Pieces, ProjectionRow
from vestig.store.integrity import chain
from vestig.store.integrity.digest_check import DigestCheck
from vestig.store.records.graph_rows import aliases_of
from vestig.store.records.rows import STORING_EVENTS, StoredWindow, from_json, origin_of
from vestig.store.sqlite.connections import damaged, each, fetch, select_in
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS, ENTITY_NODE
from vestig.store.tables.memories import NO_QUESTION
from vestig.store.tables.schema import ALL, INDEX, NODE_TABLES, TABLE_CODES, columns_sql
from vestig.types import EventType, Kind, OriginType, Stability, Status, is_undated

# Of the mean and the axes that codes are made with.
AXES: Final = b"".join(PieceAxes.SHA256)

_SELECT: Final = f"SELECT {columns_sql('token_codes')} FROM token_codes WHERE memory = ?"
_AXES_AT: Final = INDEX["token_codes"]["axes"]
_IDS_AT: Final = INDEX["token_codes"]["ids"]
_NUMBER_BYTES: Final = 4
# A segment holds the numbers of word pieces in 16 bits, modulo this; of special pieces this itself.
_SPECIAL_IN_SEGMENT: Final = 0xFFFF
# Condition of a row whose columns do not fit each other.
_WRONG_SHAPE: Final = (
    f"length(ids) NOT BETWEEN {_NUMBER_BYTES} AND {_NUMBER_BYTES * PIECES_MAX}"
    f" OR length(ids) % {_NUMBER_BYTES} <> 0"
    f" OR length(codes) * {_NUMBER_BYTES} <> length(ids) * {CODE_BYTES}"
)


def wrong_codes(conn: apsw.Connection, model: str) -> int:
    """How many rows have columns that do not fit each other, or are of another model."""
    sql = f"SELECT COUNT(*) FROM token_codes WHERE {_WRONG_SHAPE} OR model <> ?"
    return int(fetch(conn, sql, (model,))[0][0])


def comparable_codes(conn: apsw.Connection) -> int:
    """How many memories have codes that can be compared."""
    sql = "SELECT COUNT(*) FROM token_codes WHERE axes = ?"
    return int(fetch(conn, sql, (AXES,))[0][0])


def stored_pieces(row: Sequence[Any]) -> Pieces:
    """Return what a row of the table holds."""
    return Pieces(*row[_IDS_AT:])


def compared_pieces(row: Sequence[Any]) -> Pieces | None:
    """Return what a row of the table holds; None if its codes were made along other axes."""
    return stored_pieces(row) if row[_AXES_AT] == AXES else None


def sections_of(ids: bytes, codes: bytes) -> tuple[bytes, bytes, bytes]:
    """Ids, signs and scales of word pieces as sections of a segment hold them.

    Example:
        >>> sections_of(bytes(4), bytes(range(34)))[2]
        b' !'
    """
    each = [codes[at : at + CODE_BYTES] for at in range(0, len(codes), CODE_BYTES)]
    signs, scales = [code[:-2] for code in each], [code[-2:] for code in each]
    return segment_numbers(ids), b"".join(signs), b"".join(scales)


def segment_numbers(ids: bytes) -> bytes:
    """Numbers of word pieces as a segment holds them.

    Example:
        >>> segment_numbers(b"\\1\\0\\1\\0")
        b'\\x02\\x00'
    """
    wide = array("I", ids)
    if max(set(wide) - {SPECIAL_PIECE}, default=0) < _SPECIAL_IN_SEGMENT:
        # their lower halves
        return array("H", ids)[::2].tobytes()
    numbers = [
        _SPECIAL_IN_SEGMENT if number == SPECIAL_PIECE else number % _SPECIAL_IN_SEGMENT
        for number in wide
    ]
    return array("H", numbers).tobytes()


def drop_codes(conn: apsw.Connection, link: chain.Link) -> None:
    """Removes all codes: those of another model cannot be compared. Row by row, since all at once
    might not fit into memory."""
    for (memory,) in fetch(conn, "SELECT memory FROM token_codes ORDER BY memory"):
        link.removed("token_codes", fetch(conn, _SELECT, (memory,))[0])
        link.touched.add(memory)
        conn.execute("DELETE FROM token_codes WHERE memory = ?", (memory,))


_ROW: Final = INDEX["memories"]["row"]  # and of entities
_ID: Final = INDEX["memories"]["id"]  # and of entities
# Of a row of `vectors` and of the other tables that have one for each node.
_NODE: Final = INDEX["vectors"]["memory"]
_PART_SEQ: Final = INDEX["vectors"]["seq"]
_EMBEDDING: Final = INDEX["vectors"]["embedding"]

WalkedEdge = tuple[bytes, bytes, int, float, float | None, int, int | None]
# A half-open range of rows, or a list of them.
Selection = tuple[int, int] | list[int]

_X: Final = INDEX["edges"]
_N: Final = INDEX["entities"]
_EDGE_WIDTH: Final = len(_X)
# Behind the columns of an edge: the id of its other end, and the seq of the transaction that wrote
# this version.
_OTHER_END: Final = _EDGE_WIDTH
_WRITING_SEQ: Final = _EDGE_WIDTH + 1
_other_end: Final = itemgetter(_OTHER_END)
_writing_seq: Final = itemgetter(_WRITING_SEQ)
_EDGE_COLUMNS: Final = itemgetter(
    _X["id"],
    _OTHER_END,
    *(_X[n] for n in ("edge_type", "weight", "confidence", "t_created_us", "t_expired_us")),
)
# By which of several edges came first: an import may have written them in one transaction.
_EDGE_AGE: Final = itemgetter(_X["seq"], _X["t_created_us"], _X["id"])
_ENTITY_COLUMNS: Final = itemgetter(
    *(
        _N[name]
        for name in (
            "row", "id", "namespace", "seq", "wseq", "entity_type", "canonical_name", "norm_key",
            "aliases", "created_us", "expired_us",
        )
    )
)  # fmt: skip
# Codes of edges that the projection walks, by the kind of their start.
WALKED_EDGES: Final = {
    "mem": tuple(EDGE_CODES[name] for name in ("MENTIONS", "RELATED", "SUMMARIZES")),
    "ent": (EDGE_CODES["RELATION"],),
}
# Positions of `note` and `unknown` in the enums OriginType and Stability.
_NOTE_CODE: Final = 3
_UNKNOWN_CODE: Final = 3


def _edges_sql(prefix: str) -> str:
    """Edges of the types that the projection walks, as `_EDGE_COLUMNS` takes them."""
    ends = " ".join(
        f'WHEN {code} THEN (SELECT id FROM {NODE_TABLES[EDGE_ENDS[code][1]]} WHERE "row" = to_row)'
        for code in WALKED_EDGES[prefix]
    )
    codes = ", ".join(map(str, WALKED_EDGES[prefix]))
    return (
        f"SELECT {columns_sql('edges')}, CASE edge_type {ends} END, MAX(seq, expired_seq)"
        " FROM edges"
        f" WHERE edge_type IN ({codes}) AND from_row"
    )


_SOURCES: Final = (
    f"SELECT {columns_sql('edges')}, NULL, MAX(seq, expired_seq) FROM edges"
    f" WHERE edge_type = {EDGE_CODES['PRODUCED']} AND to_row"
)
_EDGES: Final = {prefix: _edges_sql(prefix) for prefix in WALKED_EDGES}
_ENTITIES: Final = f'SELECT {columns_sql("entities")} FROM entities WHERE "row"'
_ENTITY_VECTORS: Final = f"SELECT {columns_sql('entity_vectors')} FROM entity_vectors WHERE entity"


def select(
    conn: apsw.Connection, sql: str, selection: Selection, order: str = ""
) -> Iterator[tuple[Any, ...]]:
    """Rows whose column, named at the end of `sql`, lies in the selection."""
    if isinstance(selection, tuple):
        column = sql.rsplit(" ", 1)[1]
        return each(conn, f"{sql} >= ?1 AND {column} < ?2{order}", selection)
    return select_in(conn, f"{sql} IN (?*){order}", selection)


def by_node(rows: Iterable[tuple[Any, ...]], at: int) -> dict[int, list[tuple[Any, ...]]]:
    """Node → its rows, which must come ordered by node."""
    return {node: list(group) for node, group in groupby(rows, itemgetter(at))}


class NodeEdges(NamedTuple):
    """Rows of the edges that start at nodes of one kind."""

    prefix: str
    rows: Mapping[int, Sequence[Sequence[Any]]]

    def seqs(self) -> set[int]:
        """The transactions that wrote these versions."""
        return {row[_WRITING_SEQ] for rows in self.rows.values() for row in rows}

    def starting_at(
        self, node: int, id: bytes, digests: DigestCheck
    ) -> tuple[list[WalkedEdge], int]:
        """Edges that start at a node, by id, and the newest seq that wrote one (0: none)."""
        rows = self.rows.get(node)
        if rows is None:
            return [], 0
        digests.check_all("edges", rows, _EDGE_WIDTH, id, self.prefix)
        newest: int = max(map(_writing_seq, rows))
        found: list[WalkedEdge] = sorted(map(_EDGE_COLUMNS, rows))
        if None in map(_other_end, rows):
            raise digests.missing_end("edges", id, self.prefix)
        return found, newest


def read_edges(conn: apsw.Connection, prefix: str, selection: Selection) -> NodeEdges:
    """Edges that start at these rows, in one statement."""
    rows = select(conn, _EDGES[prefix], selection, " ORDER BY from_row")
    return NodeEdges(prefix, by_node(rows, _X["from_row"]))


def read_sources(conn: apsw.Connection, rows: Sequence[int]) -> NodeEdges:
    """Edges from sources to these memories, in one statement."""
    found = select(conn, _SOURCES, list(rows), " ORDER BY to_row") if rows else iter(())
    return NodeEdges("mem", by_node(found, _X["to_row"]))


def first_source(edges: NodeEdges, node: int, id: bytes, digests: DigestCheck) -> int | None:
    """The row number of the source that produced a memory first; None = it has none."""
    rows = edges.rows.get(node)
    if rows is None:
        return None
    digests.check_all("edges", rows, _EDGE_WIDTH, id, edges.prefix)
    return int(min(rows, key=_EDGE_AGE)[_X["from_row"]])


def entity_rows(
    conn: apsw.Connection, selection: Selection, digests: DigestCheck
) -> Iterator[ProjectionRow]:
    """Entities as nodes of the projection, by row."""
    entities = list(select(conn, _ENTITIES, selection, ' ORDER BY "row"'))
    vectors = {row[_NODE]: row for row in select(conn, _ENTITY_VECTORS, selection)}
    edges = read_edges(conn, "ent", selection)
    seqs = {row[_N["wseq"]] for row in entities}
    seqs.update(row[_PART_SEQ] for row in vectors.values())
    digests.load(seqs | edges.seqs())
    for entity in entities:
        yield entity_row(entity, vectors.get(entity[_ROW]), edges, digests)


def entity_row(
    entity: Sequence[Any], vector: Sequence[Any] | None, edges: NodeEdges, digests: DigestCheck
) -> ProjectionRow:
    """The row of an entity in the projection."""
    (
        number, id, namespace, seq, wseq, entity_type, name, norm_key, aliases, created, expired,
    ) = _ENTITY_COLUMNS(entity)  # fmt: skip
    digests.check("entities", entity, wseq, id, "ent")
    touched = wseq
    embedding: bytes | None = None
    if vector is not None:
        written = vector[_PART_SEQ]
        digests.check("entity_vectors", vector, written, id, "ent")
        touched = max(touched, written)
        embedding = vector[_EMBEDDING]
    starting, newest = edges.starting_at(number, id, digests)
    names = _names(norm_key.removeprefix(f"{entity_type}:"), name, aliases)
    return ProjectionRow(
        id, seq, max(touched, newest), "", None, namespace, None, ENTITY_NODE,
        0 if expired is None else 1, entity_type, None, None, _NOTE_CODE, _UNKNOWN_CODE, False,
        created, None, created, expired, embedding, [], [], [], [], [], [], starting, [], names, 0,
        None, None, None, None,
    )  # fmt: skip


def _names(norm: str, name: str, aliases: str) -> list[tuple[str, str]]:
    """(norm name, stored name): the canonical one first, each norm name once."""
    found = {norm: name}
    if aliases != "[]":
        from vestig.language.names import norm_name

        for alias in aliases_of(aliases):
            found.setdefault(norm_name(alias.name), alias.name)
    return list(found.items())


def stored_questions(
    rows: Iterable[Sequence[Any]], id: bytes, digests: DigestCheck
) -> tuple[list[bytes], int]:
    """Vectors of a memory's questions in order, and the newest seq that wrote one (0: none)."""
    vectors: list[tuple[int, bytes]] = []
    newest = 0
    for row in rows:
        _salt, _row, _memory, position, seq, _text, _model, embedding = row
        digests.check("questions", row, seq, id)
        newest = max(newest, seq)
        if position != NO_QUESTION:
            vectors.append((position, embedding))
    return [embedding for _position, embedding in sorted(vectors)], newest


# type code, occurred_us, recorded_us, seq, row number
_Event = tuple[int, int, int, int, int]
_BATCH_ROWS: Final = 2_048
_KIND: Final = {member.value: code for code, member in enumerate(Kind)}
_STATUS: Final = {member.value: code for code, member in enumerate(Status)}
_ORIGIN: Final = {member.value: code for code, member in enumerate(OriginType)}
_STABILITY: Final = {member.value: code for code, member in enumerate(Stability)}
_EVENT: Final = {member.value: code for code, member in enumerate(EventType)}

_M: Final = INDEX["memories"]
_PROJECTED: Final = (
    "row", "id", "seq", "wseq", "content", "author", "namespace", "scope", "kind",
    "status", "role", "session_id", "sequence", "origin_type", "origin_derived",
    "temporal_stability",
    "pinned", "t_valid_us", "t_invalid_us", "t_created_us", "t_expired_us", "metadata",
    "keywords", "times", "title",
)  # fmt: skip
_MEMORY_COLUMNS: Final = itemgetter(*(_M[name] for name in _PROJECTED))
_REVISED: Final = ("wseq", "status", "t_invalid_us", "t_expired_us")
_REVISED_COLUMNS: Final = itemgetter(*(_M[name] for name in _REVISED))
# What stays where only those change.
_UNREVISED_COLUMNS: Final = itemgetter(*(_M[name] for name in _PROJECTED if name not in _REVISED))
_E: Final = INDEX["events"]
_Q: Final = INDEX["questions"]
_EVENT_COLUMNS: Final = itemgetter(
    *(_E[n] for n in ("event_type", "occurred_us", "recorded_us", "seq", "row", "source", "actor"))
)
_MEMORIES: Final = f'SELECT {columns_sql("memories")} FROM memories WHERE "row"'
_VECTORS: Final = f"SELECT {columns_sql('vectors')} FROM vectors WHERE memory"
_CODES: Final = f"SELECT {columns_sql('token_codes')} FROM token_codes WHERE memory"
_ORIGINALS: Final = f"SELECT {columns_sql('original_texts')} FROM original_texts WHERE memory"
_EVENTS: Final = f"SELECT {columns_sql('events')} FROM events WHERE memory"
_QUESTIONS: Final = f"SELECT {columns_sql('questions')} FROM questions WHERE memory"

_keywords: Final = msgspec.json.Decoder(list[str]).decode
_windows: Final = msgspec.json.Decoder(list[StoredWindow]).decode


def projection_rows(
    conn: apsw.Connection, where: str, seq: int, after_seq: int, retired: chain.RetiredDigests
) -> Iterator[ProjectionRow]:
    """Return what `LedgerView.projection_rows` returns, ; reads in batches, so memory use does not
    grow."""
    if after_seq > 0:
        yield from rows_of(conn, where, seq, chain.touched_after(conn, after_seq), retired)
        return
    digests = DigestCheck(conn, where, seq, retired)
    found = yield from _rows(conn, where, _memory_rows, _all(conn, "memories"), digests)
    _check_count(conn, where, seq, found)
    yield from _rows(conn, where, entity_rows, _all(conn, "entities"), digests)


def rows_of(
    conn: apsw.Connection,
    where: str,
    seq: int,
    nodes: Collection[int],
    retired: chain.RetiredDigests,
) -> Iterator[ProjectionRow]:
    """Rows of these memories, then of these entities (negative)."""
    digests = DigestCheck(conn, where, seq, retired)
    memories = _selections(sorted(row for row in nodes if row > 0))
    yield from _rows(conn, where, _memory_rows, memories, digests)
    entities = _selections(sorted(-row for row in nodes if row < 0))
    yield from _rows(conn, where, entity_rows, entities, digests)


def _rows(
    conn: apsw.Connection,
    where: str,
    batch: Callable[[apsw.Connection, Selection, DigestCheck], Iterator[ProjectionRow]],
    selections: Iterator[Selection],
    digests: DigestCheck,
) -> Generator[ProjectionRow, None, int]:
    """Rows of these selections, and how many they were."""
    found = 0
    for selection in selections:
        try:
            rows = list(batch(conn, selection, digests))
        except (KeyError, TypeError, ValueError, msgspec.MsgspecError) as error:
            raise damaged(where, "a row with values that were never written") from error
        found += len(rows)
        yield from rows
    return found


def _check_count(conn: apsw.Connection, where: str, seq: int, found: int) -> None:
    """Raises where the table of memories has more or fewer rows than were written."""
    ((packed,),) = fetch(conn, "SELECT counts FROM chain WHERE seq = ?", (seq,))
    written = chain.unpack_counts(packed)[TABLE_CODES["memories"]]
    if found != written:
        raise damaged(where, f"{found} memories where {written} were written")


def _all(conn: apsw.Connection, table: str) -> Iterator[Selection]:
    (last,) = fetch(conn, f'SELECT IFNULL(MAX("row"), 0) FROM {table}')[0]
    for start in range(1, last + 1, _BATCH_ROWS):
        yield start, start + _BATCH_ROWS


def _selections(rows: list[int]) -> Iterator[Selection]:
    for start in range(0, len(rows), _BATCH_ROWS):
        part = rows[start : start + _BATCH_ROWS]
        dense = part[-1] - part[0] + 1 == len(part)
        yield (part[0], part[-1] + 1) if dense else part


class MemoryParts(NamedTuple):
    """Rows of other tables that belong to the memories of a batch, by the memory's row number."""

    vectors: Mapping[int, Sequence[Any]]
    codes: Mapping[int, Sequence[Any]]
    originals: Mapping[int, Sequence[Any]]
    events: Mapping[int, Sequence[Sequence[Any]]]
    questions: Mapping[int, Sequence[Sequence[Any]]]
    edges: NodeEdges
    # of notes without session
    sources: NodeEdges


def _memory_rows(
    conn: apsw.Connection, selection: Selection, digests: DigestCheck
) -> Iterator[ProjectionRow]:
    memories = list(select(conn, _MEMORIES, selection, ' ORDER BY "row"'))
    order = ' ORDER BY memory, "row"'
    parts = MemoryParts(
        {row[_NODE]: row for row in select(conn, _VECTORS, selection)},
        {row[_NODE]: row for row in select(conn, _CODES, selection)},
        {row[_NODE]: row for row in select(conn, _ORIGINALS, selection)},
        by_node(select(conn, _EVENTS, selection, order), _E["memory"]),
        by_node(select(conn, _QUESTIONS, selection, order), _Q["memory"]),
        read_edges(conn, "mem", selection),
        read_sources(conn, [row[_M["row"]] for row in memories if _may_sit(row)]),
    )
    seqs = {row[_M["wseq"]] for row in memories}
    for one_each in (parts.vectors, parts.codes, parts.originals):
        seqs.update(row[_PART_SEQ] for row in one_each.values())
    for seq_at, groups in ((_E["seq"], parts.events), (_Q["seq"], parts.questions)):
        seqs.update(row[seq_at] for rows in groups.values() for row in rows)
    digests.load(seqs | parts.edges.seqs() | parts.sources.seqs())
    for memory in memories:
        yield memory_row(memory, parts, digests)


def _may_sit(memory: Sequence[Any]) -> bool:
    """Return whether it is a note without session: sittings need to know its source."""
    if memory[_M["session_id"]] is not None:
        return False
    author, role, title = (memory[_M[name]] for name in ("author", "role", "title"))
    stored, derived = memory[_M["origin_type"]], memory[_M["origin_derived"]]
    return origin_of(stored, derived, (role, author, None, title)) is OriginType.NOTE


def memory_row(memory: Sequence[Any], parts: MemoryParts, digests: DigestCheck) -> ProjectionRow:
    """The row of a memory in the projection."""
    (
        number, id, seq, wseq, content, author, namespace, scope, kind, status, role,
        session_id, sequence, origin, derived, stability, pinned, t_valid, t_invalid, t_created,
        t_expired, metadata, keywords, times, title,
    ) = _MEMORY_COLUMNS(memory)  # fmt: skip
    digests.check("memories", memory, wseq, id)
    touched = wseq
    embedding: bytes | None = None
    vector = parts.vectors.get(number)
    if vector is not None:
        written = vector[_PART_SEQ]
        digests.check("vectors", vector, written, id)
        touched = max(touched, written)
        embedding = vector[_EMBEDDING]
    pieces: Pieces | None = None
    codes = parts.codes.get(number)
    if codes is not None:
        written = codes[_PART_SEQ]
        digests.check("token_codes", codes, written, id)
        touched = max(touched, written)
        pieces = compared_pieces(codes)
    original = parts.originals.get(number)
    if original is not None:
        # The projection has the terms of the normal form: this row is only checked.
        written = original[_PART_SEQ]
        digests.check("original_texts", original, written, id)
        touched = max(touched, written)
    sources: dict[str, None] = {}
    actors: dict[str, None] = {}
    events: list[_Event] = []
    for event in parts.events.get(number, ()):
        event_type, occurred, recorded, event_seq, place, source, actor = _EVENT_COLUMNS(event)
        digests.check("events", event, event_seq, id)
        touched = max(touched, event_seq)
        events.append((_EVENT[event_type], occurred, recorded, event_seq, place))
        if event_type in STORING_EVENTS:
            sources[source] = None
            if actor is not None:
                actors[actor] = None
    edges, newest_edge = parts.edges.starting_at(number, id, digests)
    questions, newest_question = stored_questions(parts.questions.get(number, ()), id, digests)
    touched = max(touched, newest_edge, newest_question)
    origin = origin_of(origin, derived, (role, author, session_id, title))
    tags, undated = _of_metadata(metadata)
    source_row: int | None = None
    if session_id is None and origin is OriginType.NOTE:
        source_row = first_source(parts.sources, number, id, digests)
    return ProjectionRow(
        id, seq, touched, content, author, namespace, scope, _KIND[kind], _STATUS[status], role,
        session_id, sequence, _ORIGIN[origin], _STABILITY[stability], pinned == 1, t_valid,
        t_invalid, t_created, t_expired, embedding, tags, list(sources), list(actors),
        events, [] if keywords == "[]" else _keywords(keywords), _time_windows(times), edges,
        questions, [], text_flags(content), title_key(title), pieces, source_row,
        title, undated,
    )  # fmt: skip


def _of_metadata(metadata: str) -> tuple[list[str], bool]:
    """Return the tags, and whether a text's time is only that of its file."""
    # Decoding is dear, and most memories have neither.
    if '"tags"' not in metadata and '"time_from"' not in metadata:
        return [], False
    fields = from_json(metadata)
    return fields.get("tags", []), is_undated(fields)


def _time_windows(times: str) -> list[tuple[int | None, int | None]]:
    return [] if times == "[]" else [(w.start_us, w.end_us) for w in _windows(times)]


_Rows = Sequence[Sequence[Any]]
# Tables that a row of the projection is made of, and those that it does not depend on.
_TABLES: Final = frozenset(
    (*(table.name for table in ALL if table.projected), "meta", "sources", "supersessions")
)
_EVENT_OF: Final = INDEX["events"]["memory"]
_QUESTION_OF: Final = INDEX["questions"]["memory"]
_PRODUCED: Final = EDGE_CODES["PRODUCED"]
_TYPE: Final = INDEX["edges"]["edge_type"]
_FROM: Final = INDEX["edges"]["from_row"]
_TO: Final = INDEX["edges"]["to_row"]


class _NoCheck(DigestCheck):
    """For rows that the transaction itself wrote: they need no check."""

    def __init__(self) -> None:
        """No links."""

    def check(
        self, table: str, row: Sequence[Any], seq: int, id: bytes, prefix: str = "mem"
    ) -> None:
        """No check."""

    def check_all(
        self, table: str, rows: Sequence[Any], width: int, id: bytes, prefix: str
    ) -> None:
        """No check."""


class Revision(NamedTuple):
    """The end of a memory: all that is other in its row of the projection."""

    id: bytes
    wseq: int
    status: int
    t_invalid: int | None
    t_expired: int | None
    # those that are new
    events: list[_Event]


class NewRows(NamedTuple):
    """Rows of new nodes, memories before entities, memories that ended or came back, and the nodes
    that the transaction changed otherwise (of entities negative), whose rows must be read."""

    rows: list[ProjectionRow]
    revisions: list[Revision]
    changed: set[int]


def new_rows(
    written: Mapping[str, _Rows], link: chain.Link, known: Mapping[str, int], seq: int
) -> NewRows | None:
    """Rows of the projection; None when the transaction wrote tables beyond these rows.

    Args:
        written: table → its new rows, in the order of writing.
        link: names the nodes that the transaction touched and changed.
        known: ids of all nodes at the ends of edges → their rows.
        seq: of the transaction.
    """
    memories, entities = written.get("memories", ()), written.get("entities", ())
    nodes = {row[_ROW] for row in memories} | {-row[_ROW] for row in entities}
    if not written.keys() <= _TABLES:
        return None
    edges = _by(_TYPE, written.get("edges", ()))
    revisions = _revisions(written, edges, link)
    changed = ((link.touched - nodes) | link.changed.keys()) - revisions.keys()
    memories = [row for row in memories if row[_ROW] not in changed]
    entities = [row for row in entities if -row[_ROW] not in changed]
    # the rows of entities are negative here, as in the chain
    ends: dict[int, bytes] = {row[_ROW]: row[_ID] for row in memories}
    ends.update((-row[_ROW], row[_ID]) for row in entities)
    for id, row in known.items():
        node = -row if id.startswith("ent_") else row
        if node not in ends and not id.startswith("source_"):
            ends[node] = id_bytes(id)
    parts = MemoryParts(
        vectors={row[_NODE]: row for row in written.get("vectors", ())},
        codes={row[_NODE]: row for row in written.get("token_codes", ())},
        originals={row[_NODE]: row for row in written.get("original_texts", ())},
        events=_by(_EVENT_OF, written.get("events", ())),
        questions=_by(_QUESTION_OF, written.get("questions", ())),
        edges=_edges("mem", edges, ends, seq),
        sources=NodeEdges("mem", _by(_TO, edges.get(_PRODUCED, ()))),
    )
    digests = _NoCheck()
    found = [memory_row(row, parts, digests) for row in memories]
    if entities:
        vectors = {row[_NODE]: row for row in written.get("entity_vectors", ())}
        starting = _edges("ent", edges, ends, seq)
        found += [entity_row(row, vectors.get(row[_ROW]), starting, digests) for row in entities]
    return NewRows(found, list(revisions.values()), changed)


def _revisions(
    written: Mapping[str, _Rows], edges: Mapping[int, _Rows], link: chain.Link
) -> dict[int, Revision]:
    """The changed memories, by row, of which nothing is other but what a revision has."""
    if not link.changed:
        return {}
    events = written.get("events", ())
    added = {row[_ROW] for row in written.get("memories", ())}
    for table in ("vectors", "token_codes", "original_texts"):
        added.update(row[_NODE] for row in written.get(table, ()))
    added.update(row[_QUESTION_OF] for row in written.get("questions", ()))
    # the source and the actor of such an event are the memory's too
    added.update(row[_EVENT_OF] for row in events if row[_E["event_type"]] in STORING_EVENTS)
    added.update(row[_FROM] for code in WALKED_EDGES["mem"] for row in edges.get(code, ()))
    added.update(row[_TO] for row in edges.get(_PRODUCED, ()))
    found = {}
    for node, (old, new) in link.changed.items():
        if node in added or _UNREVISED_COLUMNS(old) != _UNREVISED_COLUMNS(new):
            continue
        wseq, status, invalid, expired = _REVISED_COLUMNS(new)
        own = [
            (_EVENT[kind], occurred, recorded, seq, place)
            for kind, occurred, recorded, seq, place, _source, _actor in map(
                _EVENT_COLUMNS, (row for row in events if row[_EVENT_OF] == node)
            )
        ]
        found[node] = Revision(new[_ID], wseq, _STATUS[status], invalid, expired, own)
    return found


def _by(at: int, rows: _Rows) -> dict[int, list[Sequence[Any]]]:
    found: dict[int, list[Sequence[Any]]] = {}
    for row in rows:
        found.setdefault(row[at], []).append(row)
    return found


def _edges(
    prefix: str, by_type: Mapping[int, _Rows], ends: Mapping[int, bytes], seq: int
) -> NodeEdges:
    """Edges with the two columns that `NodeEdges` has behind those of the table."""
    found: dict[int, list[Sequence[Any]]] = {}
    for code in WALKED_EDGES[prefix]:
        sign = -1 if EDGE_ENDS[code][1] == "ent" else 1
        for edge in by_type.get(code, ()):
            row = (*edge, ends.get(sign * edge[_TO]), seq)
            found.setdefault(edge[_FROM], []).append(row)
    return NodeEdges(prefix, found)
