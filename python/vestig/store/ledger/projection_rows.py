"""Rows of the projection, read from the ledger; every ledger row is checked against the chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from vestig.changes import StoredWindow
from vestig.language.text_flags import text_flags, title_key
from vestig.ports import Pieces, ProjectionRow
from vestig.store.ledger import chain
from vestig.store.ledger.digest_check import DigestCheck
from vestig.store.ledger.projection_rows_graph import (
    NodeEdges,
    Selection,
    by_node,
    entity_rows,
    first_source,
    read_edges,
    read_sources,
    select,
    stored_questions,
)
from vestig.store.ledger.rows import from_json, origin_of
from vestig.store.ledger.token_rows import compared_pieces
from vestig.store.sqlite.faults import damaged
from vestig.store.sqlite.lookups import fetch
from vestig.store.tables.schema import INDEX, TABLE_CODES, columns_sql
from vestig.types import EventType, Kind, OriginType, Stability, Status

# type code, occurred_us, recorded_us, seq, row number
_Event = tuple[int, int, int, int, int]
_BATCH_ROWS: Final = 2_048
_KIND: Final = {member.value: code for code, member in enumerate(Kind)}
_STATUS: Final = {member.value: code for code, member in enumerate(Status)}
_ORIGIN: Final = {member.value: code for code, member in enumerate(OriginType)}
_STABILITY: Final = {member.value: code for code, member in enumerate(Stability)}
_EVENT: Final = {member.value: code for code, member in enumerate(EventType)}

_M: Final = INDEX["memories"]
_MEMORY_COLUMNS: Final = itemgetter(
    *(
        _M[name]
        for name in (
            "row", "id", "seq", "wseq", "content", "author", "namespace", "scope", "kind",
            "status", "role", "session_id", "sequence", "origin_type", "origin_derived",
            "temporal_stability",
            "pinned", "t_valid_us", "t_invalid_us", "t_created_us", "t_expired_us", "metadata",
            "keywords", "times", "title",
        )
    )
)  # fmt: skip
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

# Events that store a text. The filters `sources` and `actors` compare the source and the actor of
# these: who withdrew or pinned a memory did not store it.
STORING_EVENTS: Final = frozenset(("ADD", "IMPORT", "REINFORCE_EXACT", "REINFORCE_NEAR"))


def projection_rows(
    conn: apsw.Connection, where: str, seq: int, after_seq: int, retired: chain.RetiredDigests
) -> Iterator[ProjectionRow]:
    """Return what `LedgerView.projection_rows` returns, ; reads in batches, so memory use does not
    grow."""
    digests = DigestCheck(conn, where, seq, retired)
    memories, entities = _touched(conn, after_seq)
    for batch, selections in ((_memory_rows, memories), (entity_rows, entities)):
        found = 0
        for selection in selections:
            try:
                rows = list(batch(conn, selection, digests))
            except (KeyError, TypeError, ValueError, msgspec.MsgspecError) as error:
                raise damaged(where, "a row with values that were never written") from error
            found += len(rows)
            yield from rows
        if after_seq <= 0 and batch is _memory_rows:
            _check_count(conn, where, seq, found)


def _check_count(conn: apsw.Connection, where: str, seq: int, found: int) -> None:
    """Raises where the table of memories has more or fewer rows than were written."""
    ((packed,),) = fetch(conn, "SELECT counts FROM chain WHERE seq = ?", (seq,))
    written = chain.unpack_counts(packed)[TABLE_CODES["memories"]]
    if found != written:
        raise damaged(where, f"{found} memories where {written} were written")


def _touched(
    conn: apsw.Connection, after_seq: int
) -> tuple[Iterator[Selection], Iterator[Selection]]:
    """Rows of memories and of entities that a transaction after `after_seq` touched."""
    if after_seq <= 0:
        return _all(conn, "memories"), _all(conn, "entities")
    touched = chain.touched_after(conn, after_seq)
    return (
        _selections(sorted(row for row in touched if row > 0)),
        _selections(sorted(-row for row in touched if row < 0)),
    )


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
        {row[1]: row for row in select(conn, _VECTORS, selection)},
        {row[1]: row for row in select(conn, _CODES, selection)},
        {row[1]: row for row in select(conn, _ORIGINALS, selection)},
        by_node(select(conn, _EVENTS, selection, order), _E["memory"]),
        by_node(select(conn, _QUESTIONS, selection, order), _Q["memory"]),
        read_edges(conn, "mem", selection),
        read_sources(conn, [row[_M["row"]] for row in memories if _may_sit(row)]),
    )
    seqs = {row[_M["wseq"]] for row in memories}
    for one_each in (parts.vectors, parts.codes, parts.originals):
        seqs.update(row[2] for row in one_each.values())
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
        digests.check("vectors", vector, vector[2], id)
        touched = max(touched, vector[2])
        embedding = vector[4]
    pieces: Pieces | None = None
    codes = parts.codes.get(number)
    if codes is not None:
        digests.check("token_codes", codes, codes[2], id)
        touched = max(touched, codes[2])
        pieces = compared_pieces(codes)
    original = parts.originals.get(number)
    if original is not None:
        # The projection has the terms of the normal form: this row is only checked.
        digests.check("original_texts", original, original[2], id)
        touched = max(touched, original[2])
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
    source_row: int | None = None
    if session_id is None and origin is OriginType.NOTE:
        source_row = first_source(parts.sources, number, id, digests)
    return ProjectionRow(
        id, seq, touched, content, author, namespace, scope, _KIND[kind], _STATUS[status], role,
        session_id, sequence, _ORIGIN[origin], _STABILITY[stability], pinned == 1, t_valid,
        t_invalid, t_created, t_expired, embedding, _tags(metadata), list(sources), list(actors),
        events, [] if keywords == "[]" else _keywords(keywords), _time_windows(times), edges,
        questions, [], text_flags(content), title_key(title), pieces, source_row,
        title,
    )  # fmt: skip


def _tags(metadata: str) -> list[str]:
    # Decoding is dear, and most memories have no tags.
    return from_json(metadata).get("tags", []) if '"tags"' in metadata else []


def _time_windows(times: str) -> list[tuple[int | None, int | None]]:
    return [] if times == "[]" else [(w.start_us, w.end_us) for w in _windows(times)]
