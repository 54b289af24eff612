"""Removes claims and evidence with the memories and sources that they come from, and what stored
answers and logged requests say of those."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from vestig.store.ledger import erase_patterns
from vestig.store.ledger.graph_removal import Removal
from vestig.store.ledger.relations import relations_of, remove_unstated
from vestig.store.sqlite.lookups import fetch, select_in
from vestig.store.tables.schema import ALL, INDEX, columns_sql

_C: Final = INDEX["claims"]
_E: Final = INDEX["claim_evidence"]
# Snippets that are shorter stand in other texts by chance.
_SNIPPET_BYTES_MIN: Final = erase_patterns.FRAGMENT_BYTES
_QUOTED: Final = (
    f"SELECT {columns_sql('claim_evidence', 'e')} FROM claim_evidence e"
    ' JOIN memories m ON m."row" = e.memory WHERE m.namespace = ?'
    f" AND length(CAST(e.snippet AS BLOB)) >= {_SNIPPET_BYTES_MIN} AND instr(?, e.snippet)"
)
# What was asked and answered: the table, the column that says it, and what is erased with it.
_ANSWERS: Final = tuple(
    (table.name, column.name, ", ".join(f"{name} = NULL" for name in column.quotes))
    for table in ALL
    for column in table.columns
    if column.quotes
)


def remove_evidence(
    removal: Removal, namespace: str, memories: Sequence[int], texts: Iterable[str]
) -> None:
    """Removes the evidence of these memories' claims, and all that was taken from these memories:
    it names one of them, or its snippet stands in their texts (in normal form)."""
    if not fetch(removal.conn, "SELECT 1 FROM claim_evidence LIMIT 1"):
        return
    found = [
        row
        for column in ("memory", "stated_in")
        for row in removal.select("claim_evidence", column, memories)
    ]
    for text in texts:
        found += fetch(removal.conn, _QUOTED, (namespace, text))
    removal.remove_rows("claim_evidence", found)


def remove_evidence_of_sources(removal: Removal, sources: Sequence[int]) -> None:
    """Removes the evidence that was taken from these sources."""
    removal.remove_rows("claim_evidence", removal.select("claim_evidence", "source", sources))


def memories_that_lost_evidence(removal: Removal) -> set[int]:
    """Rows of the memories whose claims lost evidence in this removal."""
    return {row[_E["memory"]] for table, row in removal.removed_rows if table == "claim_evidence"}


def remove_claims(
    removal: Removal, memories: Sequence[int], seq: int, recorded_us: int
) -> set[int]:
    """Removes the claims of these memories, and those that lost all of their evidence, with the
    relations that they alone stated; rows of the entities that they named. The evidence was removed
    before."""
    lost = memories_that_lost_evidence(removal)
    sql = "SELECT DISTINCT memory FROM claim_evidence WHERE memory IN (?*)"
    left = {memory for (memory,) in select_in(removal.conn, sql, sorted(lost))}
    gone = sorted({*memories, *(lost - left)})
    removed = removal.remove_rows("claims", removal.select("claims", "memory", gone))
    remove_unstated(removal, relations_of(removal.conn, removed), seq, recorded_us)
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
