"""Removes memories from the ledger, and what nothing supports any more.

The chain retires each removed row. Salt and columns are deleted, so no guess of a text can be
tested against a digest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import apsw

from vestig.errors import ConflictError, NotFoundError
from vestig.ids import id_bytes, id_text, new_id
from vestig.other_words import by_caller
from vestig.store.integrity import chain
from vestig.store.records import erase_patterns, item_rows, jobs
from vestig.store.records.graph_writes import (
    delete_edges,
    relations_of,
    remove_unstated,
    touched_node,
)
from vestig.store.records.rows import from_json, to_json
from vestig.store.sqlite.connections import each, fetch, has_table, known_ids, select_in
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS
from vestig.store.tables.schema import (
    ALL,
    INDEX,
    INSERT,
    NODE_TABLES,
    TABLES,
    columns_sql,
    referring,
)
from vestig.store.tables.store import NEW_VECTORS, entity_key, question_key
from vestig.store.tables.table import Forgetting, Table

_X: Final = INDEX["edges"]
_N: Final = INDEX["entities"]
_S: Final = INDEX["sources"]
# Of the versions of a document that has a path and a size, the newest.
_KNOWN_FILE: Final = (
    "s.\"row\" = ? AND s.source_type = 'file' AND s.path IS NOT NULL"
    " AND json_extract(s.metadata, '$.size') IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sources n"
    " WHERE n.namespace = s.namespace AND n.source_type = 'file' AND n.path = s.path"
    ' AND n."row" > s."row" AND json_extract(n.metadata, \'$.scope\')'
    " IS json_extract(s.metadata, '$.scope'))"
)
_MENTIONS: Final = EDGE_CODES["MENTIONS"]
_RELATION: Final = EDGE_CODES["RELATION"]
# What a version of a document notes of its passages, in their order: how long each is, and the
# number of its memory.
PLACES: Final = ("passage_chars", "passage_numbers")
# Supported is an entity that was made by hand, that a memory mentions, that a claim names,
# or that an entity made by hand has a relation with or was merged into.
_UNSUPPORTED: Final = (
    "e.origin <> 'manual'"
    f' AND NOT EXISTS (SELECT 1 FROM edges WHERE to_row = e."row" AND edge_type = {_MENTIONS})'
    ' AND NOT EXISTS (SELECT 1 FROM claims WHERE subject_entity = e."row")'
    ' AND NOT EXISTS (SELECT 1 FROM claims WHERE object_entity = e."row")'
    " AND NOT EXISTS (SELECT 1 FROM entities o WHERE o.origin = 'manual'"
    ' AND o.merged_into = e."row")'
    ' AND NOT EXISTS (SELECT 1 FROM edges r JOIN entities o ON o."row" = r.to_row'
    f" WHERE r.from_row = e.\"row\" AND r.edge_type = {_RELATION} AND o.origin = 'manual')"
    ' AND NOT EXISTS (SELECT 1 FROM edges r JOIN entities o ON o."row" = r.from_row'
    f" WHERE r.to_row = e.\"row\" AND r.edge_type = {_RELATION} AND o.origin = 'manual')"
)


class TombstoneFields(NamedTuple):
    """Fields that all tombstones of one removal have in common; `seq` and `recorded_us` are those
    of its transaction."""

    namespace: str
    actor: str | None
    seq: int
    recorded_us: int


class Removal:
    """Removes rows under one link.

    `counts`: rows per table. `removed_rows`: (table, columns) of each. `lost_edge`: nodes of which
    an edge that started there was removed, as the chain names touched nodes (entities negative).
    """

    def __init__(self, conn: apsw.Connection, link: chain.Link) -> None:
        self.conn = conn
        self.link = link
        self.counts: Counter[str] = Counter()
        self.removed_rows: list[tuple[str, tuple[Any, ...]]] = []
        self.lost_edge: set[int] = set()

    def remove_rows(self, table: str, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Removes these rows of a table under the chain, each once, and returns them."""
        key = _key_of(table)
        found = list({row[INDEX[table][key]]: row for row in rows}.values())
        for row in found:
            self.link.removed(table, row)
            self.removed_rows.append((table, row))
        if table == "edges":
            delete_edges(self.conn, found)
            for row in found:
                node = touched_node(row[_X["edge_type"]], row[_X["from_row"]])
                if node is not None:
                    self.lost_edge.add(node)
        else:
            place = INDEX[table][key]
            self.conn.executemany(
                f'DELETE FROM {table} WHERE "{key}" = ?', [(row[place],) for row in found]
            )
        self.counts[table] += len(found)
        return found

    def select(self, table: str, column: str, keys: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Rows of a table under the chain."""
        sql = f'SELECT {columns_sql(table)} FROM {table} WHERE "{column}" IN (?*)'
        return select_in(self.conn, sql, keys)

    def remove_belongings(self, node_table: str, numbers: Sequence[int]) -> None:
        """Removes the rows that belong to these nodes of a table, and clears what refers to them in
        rows without versions: those of nodes are written anew by who knows what else changes."""
        for table, column in referring(node_table, Forgetting.REMOVED):
            if table.code is not None:
                self.remove_whole(table.name, self.select(table.name, column.name, numbers))
                continue
            sql = f'DELETE FROM {table.name} WHERE "{column.name}" = ?'
            for number in numbers:
                self.conn.execute(sql, (number,))
                self.counts[table.name] += self.conn.changes()
        for table, column in referring(node_table, Forgetting.CLEARED):
            if "wseq" not in table.names:
                self._clear(table, column.name, numbers)

    def remove_whole(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Removes these rows with what belongs to them, and with what lived by them alone."""
        found = self.remove_rows(table, rows)
        if not found:
            return
        place = INDEX[table][_key_of(table)]
        self.remove_belongings(table, [row[place] for row in found])
        for other in (one for one in ALL if one.lives_by == table):
            column = next(one.name for one in TABLES[table].columns if one.refers == other.name)
            owners = {row[INDEX[table][column]] for row in found}
            sql = f"SELECT DISTINCT {column} FROM {table} WHERE {column} IN (?*)"
            left = {owner for (owner,) in select_in(self.conn, sql, sorted(owners))}
            self.remove_whole(
                other.name, self.select(other.name, other.key[0], sorted(owners - left))
            )

    def removed_of(self, table: str) -> list[tuple[Any, ...]]:
        """The removed rows of a table."""
        return [row for name, row in self.removed_rows if name == table]

    def _clear(self, table: Table, column: str, numbers: Sequence[int]) -> None:
        """Sets a column to NULL where it has one of these numbers. The seq of a row stays: it says
        when the row was stored."""
        sql = f'UPDATE {table.name} SET "{column}" = NULL WHERE "{column}" = ?'
        if table.code is not None:
            at = INDEX[table.name][column]
            for old in self.select(table.name, column, numbers):
                self.link.replaced(table.name, old, (*old[:at], None, *old[at + 1 :]))
        self.conn.executemany(sql, [(number,) for number in numbers])

    def rewrite(self, table: str, old: Sequence[Any], seq: int, columns: Mapping[str, Any]) -> None:
        """Writes a new version of a node that stays, with these values of columns."""
        at = INDEX[table]
        new = list(old)
        for column, value in columns.items():
            new[at[column]] = value
        new[at["wseq"]] = seq
        sets = "".join(f"{column} = ?, " for column in columns)
        self.conn.execute(
            f'UPDATE {table} SET {sets}wseq = ? WHERE "row" = ?',
            (*columns.values(), seq, old[at["row"]]),
        )
        self.link.replaced(table, old, new)
        row = old[at["row"]]
        self.link.touched.add(-row if table == "entities" else row)

    def write_tombstone(
        self, row: int, id: bytes, fields: TombstoneFields, counts: dict[str, int]
    ) -> None:
        """Writes a tombstone. `row` is negative for an entity."""
        values = (
            chain.Salts().take(), row, id, fields.namespace, fields.seq,
            fields.recorded_us, fields.actor, to_json(counts),
        )  # fmt: skip
        self.conn.execute(INSERT["tombstones"], values)
        self.link.wrote("tombstones", values)


def _key_of(table: str) -> str:
    """The column that names a row; edges are named by their id."""
    key = TABLES[table].key
    return key[0] if len(key) == 1 else "id"


def remove_edges_at(removal: Removal, prefix: str, numbers: Sequence[int]) -> list[tuple[Any, ...]]:
    """Removes all edges at these nodes of one kind and returns them."""
    found: list[tuple[Any, ...]] = []
    for code, ends in enumerate(EDGE_ENDS):
        for end, column in zip(ends, ("from_row", "to_row"), strict=True):
            if end == prefix:
                sql = (
                    f"SELECT {columns_sql('edges')} FROM edges WHERE {column} = ? AND edge_type = ?"
                )
                for number in numbers:
                    found += fetch(removal.conn, sql, (number, code))
    return removal.remove_rows("edges", found)


def remove_dangling_edges(removal: Removal) -> None:
    """Removes edges that lost an end."""
    found: list[tuple[Any, ...]] = []
    for code, ends in enumerate(EDGE_ENDS):
        for column, prefix in zip(("from_row", "to_row"), ends, strict=True):
            table = NODE_TABLES.get(prefix)
            if table is not None:
                found += each(
                    removal.conn,
                    f"SELECT {columns_sql('edges')} FROM edges WHERE edge_type = ? AND NOT EXISTS"
                    f' (SELECT 1 FROM {table} WHERE "row" = {column})',
                    (code,),
                )
    removal.remove_rows("edges", found)


def unsupported_entities(
    conn: apsw.Connection, namespace: str, rows: Sequence[int] | None = None
) -> list[int]:
    """Rows of the entities, of these or of all, that nothing supports any more."""
    sql = f'SELECT e."row" FROM entities e WHERE +e.namespace = ? AND {_UNSUPPORTED}'
    found = (
        each(conn, sql, (namespace,))
        if rows is None
        else select_in(conn, f'{sql} AND e."row" IN (?*)', rows, (namespace,))
    )
    return sorted({row for (row,) in found})


def remove_entities(removal: Removal, numbers: Sequence[int], fields: TombstoneFields) -> None:
    """Removes these entities with their vectors and edges; entities that were merged into
    them stay, merged into none, and claims that name them keep the names alone."""
    if not numbers:
        return
    removal.remove_belongings("entities", numbers)
    remove_edges_at(removal, "ent", numbers)
    removed = set(numbers)
    for old in list(removal.select("entities", "merged_into", numbers)):
        if old[_N["row"]] not in removed:
            removal.rewrite("entities", old, fields.seq, {"merged_into": None})
            removal.lost_edge.discard(-old[_N["row"]])
    for row in removal.remove_rows("entities", removal.select("entities", "row", numbers)):
        removal.write_tombstone(-row[_N["row"]], row[_N["id"]], fields, {})
        removal.lost_edge.discard(-row[_N["row"]])


_C: Final = INDEX["claims"]
_EVIDENCE: Final = INDEX["claim_evidence"]
# Quotes that are shorter stand in other texts by chance.
_QUOTED_BYTES_MIN: Final = erase_patterns.FRAGMENT_BYTES
# What was taken from texts: a table, and the rows of the namespace ?1 whose text stands in ?2, and
# not in that of the memory that they name.
_QUOTED: Final = tuple(
    (
        table.name,
        f"SELECT {columns_sql(table.name, 'q')} FROM {table.name} q"
        ' JOIN memories m ON m."row" = q.memory WHERE m.namespace = ?1'
        f" AND length(CAST(q.{column.name} AS BLOB)) >= {_QUOTED_BYTES_MIN}"
        f" AND instr(?2, q.{column.name})"
        f' AND NOT EXISTS (SELECT 1 FROM memories t WHERE t."row" = q.{column.quoted}'
        f" AND instr(t.content, q.{column.name}))",
    )
    for table in ALL
    for column in table.columns
    if column.quoted
)
# What was asked and answered: the table, the column that says it, and what is erased with it.
_ANSWERS: Final = tuple(
    (table.name, column.name, ", ".join(f"{name} = NULL" for name in column.quotes))
    for table in ALL
    for column in table.columns
    if column.quotes
)
# Claims that a language model read out of memories, and that nobody stated since: the memory was
# made from its evidence alone.
_READ_OUT: Final = (
    'SELECT m.id, m."row" FROM memories m WHERE m."row" IN (?*) AND EXISTS (SELECT 1 FROM events a'
    " WHERE a.memory = m.\"row\" AND a.event_type IN ('ADD', 'IMPORT')"
    " AND json_extract(a.payload, '$.model_name') IS NOT NULL)"
    ' AND NOT EXISTS (SELECT 1 FROM events r WHERE r.memory = m."row"'
    " AND r.event_type IN ('REINFORCE_EXACT', 'REINFORCE_NEAR'))"
)
_STATED_IN: Final = (
    "SELECT memory, stated_in FROM claim_evidence WHERE memory IN"
    " (SELECT memory FROM claim_evidence WHERE stated_in IN (?*))"
)


def _remove_quotes(removal: Removal, namespace: str, texts: Iterable[str]) -> None:
    """Removes what was taken from these texts (in normal form)."""
    for text in texts:
        for table, sql in _QUOTED:
            removal.remove_whole(table, fetch(removal.conn, sql, (namespace, text)))


def claims_made_of(conn: apsw.Connection, rows: Mapping[str, int]) -> dict[str, int]:
    """Memories (id → row) that a language model made of these memories alone, or of such memories:
    no evidence of their claims is from elsewhere, and nobody stated them since."""
    found: dict[str, int] = {}
    gone, latest = set(rows.values()), sorted(rows.values())
    while latest:
        evidence: dict[int, set[int | None]] = {}
        for memory, stated_in in select_in(conn, _STATED_IN, latest):
            evidence.setdefault(memory, set()).add(stated_in)
        lost = sorted(row for row, origins in evidence.items() if origins <= gone)
        new = {
            id_text("mem", id): row
            for id, row in list(select_in(conn, _READ_OUT, lost))
            if row not in gone
        }
        found.update(new)
        latest = sorted(new.values())
        gone.update(latest)
    return found


def _lost_evidence(removal: Removal) -> set[int]:
    """Rows of the memories whose claims lost evidence in this removal."""
    return {row[_EVIDENCE["memory"]] for row in removal.removed_of("claim_evidence")}


def _remove_relations(removal: Removal, fields: TombstoneFields) -> set[int]:
    """Removes the relations that removed claims alone stated; rows of the entities that these
    claims named."""
    removed = removal.removed_of("claims")
    stated = relations_of(removal.conn, removed)
    remove_unstated(removal, stated, fields.seq, fields.recorded_us)
    named = {row[_C[end]] for row in removed for end in ("subject_entity", "object_entity")}
    return named - {None}


def erase_answers(
    removal: Removal, namespace: str, ids: Iterable[str], texts: Iterable[str]
) -> None:
    """Erases stored answers and logged payloads that name one of these memories or quote a piece of
    these texts. The key of an answer stays taken, so that its request is not done again."""
    wanted: dict[int, set[bytes]] = {}
    for table, column, erased in _ANSWERS:
        rows: list[tuple[Any, ...]] = fetch(
            removal.conn,
            f'SELECT "row", {column} FROM {table} WHERE namespace = ? AND {column} IS NOT NULL',
            (namespace,),
        )
        if rows and not wanted:
            for piece in {id.encode() for id in ids} | erase_patterns.fragments_of(texts):
                wanted.setdefault(len(piece), set()).add(piece)
        for found, text in rows:
            if _holds(text.encode(), wanted):
                removal.conn.execute(f'UPDATE {table} SET {erased} WHERE "row" = ?', (found,))
                removal.counts[table] += 1


def _holds(data: bytes, wanted: Mapping[int, Collection[bytes]]) -> bool:
    """Return whether one of these pieces, by their lengths, stands in the data: one look-up at each
    place, however many pieces there are."""
    return any(
        data[at : at + length] in pieces
        for length, pieces in wanted.items()
        for at in range(len(data) - length + 1)
    )


_M: Final = INDEX["memories"]
_E: Final = INDEX["events"]
_O: Final = INDEX["original_texts"]
_INSERTING: Final = ("ADD", "IMPORT")
_REINFORCING: Final = ("REINFORCE_EXACT", "REINFORCE_NEAR")
_PRODUCED: Final = EDGE_CODES["PRODUCED"]
_SUMMARIZES: Final = EDGE_CODES["SUMMARIZES"]
# Edges that say how alike the vectors of two memories are.
_COMPUTED: Final = (
    f"SELECT {columns_sql('edges')} FROM edges WHERE edge_type = {EDGE_CODES['RELATED']}"
    " AND origin = 'computed'"
)
_TO_ENTITY: Final = tuple(code for code, ends in enumerate(EDGE_ENDS) if ends[1] == "ent")
# What is made of the text that a memory is embedded as.
_EMBEDDED: Final = ("vectors", "token_codes")


class Removed(NamedTuple):
    """Counts of one forgetting.

    Args:
        rows: how many, by table.
        summaries: ids of the summaries among the memories.
        holders: ids of summaries that cover the memories and were kept.
        derived: ids of the claims that were read out of the others alone.
        undescribed: by the id of an entity that stays and lost its description, its name.
        embed_jobs: by the id of a memory that stays and lost its vector, the id of the job that
            makes it anew.
        runs: what the files are to be searched for.
    """

    rows: dict[str, int]
    summaries: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    undescribed: Mapping[str, str] = MappingProxyType({})
    embed_jobs: Mapping[str, str] = MappingProxyType({})
    runs: Mapping[bytes, erase_patterns.PlainRun] = MappingProxyType({})


def covering_summaries(conn: apsw.Connection, rows: Mapping[str, int]) -> dict[str, int]:
    """Summaries (id → row) that cover these memories, or such a summary; expired ones too, since
    they quote the text as well."""
    sql = (
        'SELECT m.id, m."row" FROM edges e JOIN memories m ON m."row" = e.from_row'
        f" WHERE e.edge_type = {_SUMMARIZES} AND e.to_row IN (?*)"
    )
    found: dict[str, int] = {}
    reached, latest = set(rows.values()), sorted(rows.values())
    while latest:
        above = {id_text("mem", id): row for id, row in select_in(conn, sql, latest)}
        new = {id: row for id, row in above.items() if row not in reached}
        found.update(new)
        latest = sorted(new.values())
        reached.update(latest)
    return found


def remove(
    conn: apsw.Connection,
    link: chain.Link,
    rows: Mapping[str, int],
    fields: TombstoneFields,
    keep: Callable[[str, int], bool] = lambda _table, _row: False,
    *,
    items: Sequence[item_rows.ItemRow] = (),
    documents: Collection[int] | None = None,
    values: Sequence[tuple[item_rows.ItemRow, str]] = (),
    keep_summaries: bool = False,
    pieces: Collection[str] = (),
) -> Removed:
    """Removes these memories (id → row), the claims that a language model read out of them alone,
    the summaries that cover any of these unless they are kept, and everything that is about them
    alone but for the entities and sources (table, row) that are to be kept; and the values of these
    items. `values`: what stands in the place of the values of further items. `pieces`: parts of
    texts that no answer is to quote and no file to hold, however short the text is.

    Of documents whose passages are all gone, the path, size and time of the file stay, so that the
    next import knows the file; not so of the versions (rows) in `documents`. None: no document
    stays.

    The patterns to search the files for are stored in `erasures` until the erase is proved.
    """
    conn.execute("PRAGMA defer_foreign_keys = ON")  # until COMMIT: parents may go first
    removal = Removal(conn, link)
    derived = claims_made_of(conn, rows)
    rows = {**rows, **derived}
    summaries, holders = covering_summaries(conn, rows), dict[str, int]()
    if keep_summaries:
        summaries, holders = {}, summaries
    rows = {**rows, **summaries}
    numbers = sorted(rows.values())
    removal.remove_belongings("memories", numbers)
    texts = _texts(removal, numbers) | item_rows.empty(removal, items, fields.seq)
    texts |= item_rows.replace(removal, values, fields.seq, fields.recorded_us)
    _remove_quotes(removal, fields.namespace, texts)
    repeated = _take_back_repetitions(removal, rows)
    edges = remove_edges_at(removal, "mem", numbers)
    sources = _ends(edges, (_PRODUCED,), "from_row") | set(documents or ())
    sources = {row for row in unsupported_sources(conn, sources) if not keep("sources", row)}
    if documents is not None:
        known = {row for row in sources.difference(documents) if _is_known_file(conn, row)}
        _remove_texts(removal, sorted(known), places=bool(documents))
        sources -= known
    _remove_nodes(removal, "sources", sorted(sources))
    named = _remove_relations(removal, fields)
    named |= _ends(edges, _TO_ENTITY, "to_row")
    embed_jobs = _remove_outdated_vectors(removal, numbers, fields.recorded_us)
    unsupported = unsupported_entities(conn, fields.namespace, sorted(named))
    unsupported = [row for row in unsupported if not keep("entities", row)]
    bare = _remove_descriptions(removal, named.difference(unsupported), fields.seq)
    pieces = {*pieces, *(old[_N["description"]] for old in bare)}
    scopes = item_rows.unused_scopes(removal, fields.namespace, items, numbers)
    erase_answers(removal, fields.namespace, rows, {*texts, *scopes, *pieces})
    remove_entities(removal, unsupported, fields)
    affected = {row: repeated.get(row, {}) for row in (*repeated, *embed_jobs)}
    _rewrite_affected(removal, set(numbers), fields.seq, affected)
    removal.remove_rows("memories", removal.select("memories", "row", numbers))
    vectors = _remove_new_vectors(removal)
    _write_tombstones(removal, rows, fields)
    runs = erase_patterns.store_patterns(conn, fields.seq, removal.removed_rows, vectors, pieces)
    return Removed(
        rows=dict(removal.counts),
        summaries=tuple(sorted(summaries)),
        holders=tuple(sorted(holders)),
        derived=tuple(sorted(derived)),
        undescribed={id_text("ent", old[_N["id"]]): old[_N["canonical_name"]] for old in bare},
        embed_jobs=dict(embed_jobs.values()),
        runs=runs,
    )


def _remove_descriptions(
    removal: Removal, entities: Collection[int], seq: int
) -> list[tuple[Any, ...]]:
    """Removes from these entities, which stay, what a language model wrote of them, with the
    vectors that were made of it; the rows as they were of those that had something. It may have
    been read out of a memory that goes."""
    merged = removal.select("entities", "merged_into", sorted(entities))
    known = {old[_N["row"]]: old for old in merged}
    known |= {old[_N["row"]]: old for old in removal.select("entities", "row", sorted(entities))}
    found = [old for _, old in sorted(known.items()) if old[_N["description"]]]
    numbers = [old[_N["row"]] for old in found]
    removal.remove_rows("entity_vectors", list(removal.select("entity_vectors", "entity", numbers)))
    for old in found:
        removal.rewrite("entities", old, seq, {"description": ""})
        removal.lost_edge.discard(-old[_N["row"]])
    return found


def _texts(removal: Removal, numbers: Sequence[int]) -> set[str]:
    """All texts of these memories, after their events and original texts were removed."""
    texts = {row[_M["content"]] for row in removal.select("memories", "row", numbers)}
    texts.update(row[_O["content"]] for row in removal.removed_of("original_texts"))
    for row in removal.removed_of("events"):
        texts.update(erase_patterns.texts_of(from_json(row[_E["payload"]])))
    return texts


def _ends(edges: Iterable[Sequence[Any]], codes: Sequence[int], column: str) -> set[int]:
    """Ends of edges of these types."""
    return {edge[_X[column]] for edge in edges if edge[_X["edge_type"]] in codes}


def unsupported_sources(conn: apsw.Connection, sources: Iterable[int]) -> list[int]:
    """Those of these sources that have no product."""
    sql = "SELECT 1 FROM edges WHERE from_row = ? AND edge_type = ? LIMIT 1"
    return [row for row in sources if not fetch(conn, sql, (row, _PRODUCED))]


def _is_known_file(conn: apsw.Connection, source: int) -> bool:
    """Return whether a source is the newest version of a document of a file."""
    return bool(fetch(conn, f"SELECT 1 FROM sources s WHERE {_KNOWN_FILE}", (source,)))


def _remove_texts(removal: Removal, sources: Sequence[int], *, places: bool) -> None:
    """Takes title and tags, parts of the text, from these versions of documents; `places`: and what
    they note of their passages, by which a copy is known."""
    gone = {"title", "tags", *(PLACES if places else ())}
    for old in list(removal.select("sources", "row", sources)):
        metadata = from_json(old[_S["metadata"]])
        metadata = {name: value for name, value in metadata.items() if name not in gone}
        at = _S["metadata"]
        new = (*old[:at], to_json(metadata), *old[at + 1 :])
        removal.conn.execute(
            'UPDATE sources SET metadata = ? WHERE "row" = ?', (new[at], old[_S["row"]])
        )
        removal.link.replaced("sources", old, new)


def _remove_nodes(removal: Removal, table: str, numbers: Sequence[int]) -> None:
    removal.remove_whole(table, removal.select(table, "row", numbers))


def leave_out(
    removal: Removal, nodes: Mapping[str, Sequence[int]], fields: TombstoneFields
) -> None:
    """Removes these nodes (table → rows) with what belongs to them, and what nothing supports
    then. No memory leaves a tombstone."""
    for table, numbers in nodes.items():
        if table != "entities":
            _remove_nodes(removal, table, numbers)
    _remove_relations(removal, fields)
    remove_entities(removal, nodes["entities"], fields)
    collect(removal.conn, removal.link, fields, known_files=False)


def _is_evidence(conn: apsw.Connection, source: int) -> bool:
    """Return whether a claim was stated there."""
    return bool(fetch(conn, "SELECT 1 FROM claim_evidence WHERE source = ? LIMIT 1", (source,)))


def _take_back_repetitions(
    removal: Removal, rows: Mapping[str, int]
) -> dict[int, dict[str, int | None]]:
    """Removes the reinforcements that removed turns gave to memories which stay; row of each of
    these → its counters without them."""
    named = {
        from_json(row[_E["payload"]]).get("repeats")
        for row in removal.removed_of("events")
        if row[_E["event_type"]] in _INSERTING
    }
    keys = known_ids([id for id in named if isinstance(id, str) and id not in rows], "mem")
    sql = 'SELECT "row" FROM memories WHERE id IN (?*)'
    counters: dict[int, dict[str, int | None]] = {}
    for (number,) in list(select_in(removal.conn, sql, tuple(keys))):
        given, seen = [], list[int]()
        for event in removal.select("events", "memory", [number]):
            if from_json(event[_E["payload"]]).get("repeated_by") in rows:
                given.append(event)
            elif event[_E["event_type"]] in _REINFORCING:
                seen.append(event[_E["occurred_us"]])
        removal.remove_rows("events", given)
        if given:
            (memory,) = removal.select("memories", "row", [number])
            counters[number] = {
                "reinforce_count": max(0, memory[_M["reinforce_count"]] - len(given)),
                "last_seen_us": max(seen, default=None),
            }
    return counters


def _remove_outdated_vectors(
    removal: Removal, numbers: Sequence[int], now_us: int
) -> dict[int, tuple[str, str]]:
    """Removes what was made of the evidence that memories which stay have lost: their vectors, word
    pieces, and edges that compare the vectors with others. Row → ids of the memory and of the job
    that makes them anew; a job in progress may have read the old text, and writes nothing."""
    outdated = sorted(_lost_evidence(removal) - set(numbers))
    for table in _EMBEDDED:
        removal.remove_rows(table, removal.select(table, "memory", outdated))
    for end in ("from_row", "to_row"):
        sql = f"{_COMPUTED} AND {end} IN (?*)"
        removal.remove_rows("edges", list(select_in(removal.conn, sql, outdated)))
    made: dict[int, tuple[str, str]] = {}
    for row in removal.select("memories", "row", outdated):
        number, job = row[_M["row"]], new_id("job")
        jobs.renew(removal.conn, number, "embed", id_bytes(job), now_us)
        made[number] = (id_text("mem", row[_M["id"]]), job)
    return made


def _rewrite_affected(
    removal: Removal,
    removed: set[int],
    seq: int,
    counters: Mapping[int, Mapping[str, int | None]] = {},
) -> None:
    """Writes new versions of nodes that stay: references to removed memories become null, counters
    are those given (row → columns), and a node that lost an edge is touched, so that the projection
    reads it again."""
    changed: dict[int, tuple[Any, ...]] = {}
    for column in ("superseded_by", "revives"):
        for row in removal.select("memories", column, sorted(removed)):
            changed[row[_M["row"]]] = row
    lost = sorted(node for node in removal.lost_edge if node > 0)
    for row in removal.select("memories", "row", sorted({*lost, *counters})):
        changed[row[_M["row"]]] = row
    for number, old in sorted(changed.items()):
        if number not in removed:
            nulled = [c for c in ("superseded_by", "revives") if old[_M[c]] in removed]
            columns = dict.fromkeys(nulled, None) | dict(counters.get(number, {}))
            removal.rewrite("memories", old, seq, columns)
    lost = sorted(-node for node in removal.lost_edge if node < 0)
    for old in list(removal.select("entities", "row", lost)):
        removal.rewrite("entities", old, seq, {})


def _remove_new_vectors(removal: Removal) -> list[bytes]:
    """Removes and returns the vectors that an unfinished re-embedding made for the removed rows
    and for memories whose claims lost evidence."""
    if not has_table(removal.conn, NEW_VECTORS.name):
        return []
    key_of: dict[str, Callable[[int], int]] = {
        "memories": int, "entities": entity_key, "questions": question_key,
    }  # fmt: skip
    keys = [
        key_of[table](row[INDEX[table]["row"]])
        for table, row in removal.removed_rows
        if table in key_of
    ]
    keys += _lost_evidence(removal)
    sql = f"SELECT embedding FROM {NEW_VECTORS.name} WHERE memory IN (?*)"
    found = [vector for (vector,) in select_in(removal.conn, sql, keys)]
    removal.conn.executemany(
        f"DELETE FROM {NEW_VECTORS.name} WHERE memory = ?", [(key,) for key in keys]
    )
    return found


def _write_tombstones(removal: Removal, rows: Mapping[str, int], fields: TombstoneFields) -> None:
    events = Counter(row[_E["memory"]] for row in removal.removed_of("events"))
    for id, number in rows.items():
        removal.write_tombstone(number, id_bytes(id), fields, {"events": events[number]})


def collect(
    conn: apsw.Connection, link: chain.Link, fields: TombstoneFields, *, known_files: bool
) -> dict[str, int]:
    """Removes sources and entities of the namespace that nothing supports, and edges that lost an
    end; rows per table. `known_files`: newest versions of documents stay."""
    conn.execute("PRAGMA defer_foreign_keys = ON")
    removal = Removal(conn, link)
    remove_dangling_edges(removal)
    rows = fetch(conn, 'SELECT "row" FROM sources WHERE namespace = ?', (fields.namespace,))
    unsupported = unsupported_sources(conn, [row for (row,) in rows if not _is_evidence(conn, row)])
    if known_files:
        unsupported = [row for row in unsupported if not _is_known_file(conn, row)]
    _remove_nodes(removal, "sources", unsupported)
    remove_entities(removal, unsupported_entities(conn, fields.namespace), fields)
    _rewrite_affected(removal, set(), fields.seq)
    return {name: removal.counts[name] for name in ("sources", "entities", "edges")}


def purge(
    conn: apsw.Connection, link: chain.Link, rows: Sequence[int], fields: TombstoneFields
) -> dict[str, int]:
    """Removes these entities for good, with all edges at them; rows per table."""
    conn.execute("PRAGMA defer_foreign_keys = ON")
    removal = Removal(conn, link)
    remove_entities(removal, sorted(rows), fields)
    _rewrite_affected(removal, set(), fields.seq)
    return {name: removal.counts[name] for name in ("entities", "edges")}


def expired_entities(conn: apsw.Connection, namespace: str, ids: Sequence[str] | None) -> list[int]:
    """Rows of these entities, or of all expired ones.

    Raises:
        NotFoundError: an id that the namespace does not hold.
        ConflictError: an entity that is not expired.
    """
    if ids is None:
        sql = 'SELECT "row" FROM entities WHERE namespace = ? AND expired_us IS NOT NULL'
        return [row for (row,) in fetch(conn, sql, (namespace,))]
    keys = known_ids(ids, "ent")
    sql = 'SELECT id, "row", expired_us FROM entities WHERE +namespace = ? AND id IN (?*)'
    found = {
        keys[id]: (row, expired)
        for id, row, expired in select_in(conn, sql, tuple(keys), (namespace,))
    }
    for id in ids:
        if id not in found:
            raise NotFoundError("Entity", id)
        if found[id][1] is None:
            raise ConflictError(
                f"{id}: expected an expired entity to remove for good, it is in use;"
                f" run {by_caller('`vestig entity expire`')} first"
            )
    return [row for row, _expired in found.values()]
