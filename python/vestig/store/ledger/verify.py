"""Checks a whole ledger against its chain, for `doctor` and export."""

from __future__ import annotations

from collections import Counter

import apsw
import msgspec

from vestig.ids import id_text
from vestig.store.ledger import chain
from vestig.store.ledger.rows import from_json
from vestig.store.sqlite.lookups import each, fetch
from vestig.store.tables.graph import EDGE_ENDS, EDGE_TYPES
from vestig.store.tables.schema import (
    CHAINED,
    INDEX,
    NODE_TABLES,
    TABLE_CODES,
    TABLES,
    columns_sql,
)

_MOST_SHOWN = 100


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it was written. `row` is an id where the table has one."""

    check: str
    message: str
    table: str | None = None
    row: str | None = None


class _ChainTotals:
    """Totals of all links: current digests and row counts by table, and findings."""

    def __init__(self) -> None:
        self.live: dict[str, set[bytes]] = {table: set() for table in CHAINED}
        self.counts = [0] * len(CHAINED)
        self.findings: list[Finding] = []


def verify(conn: apsw.Connection, store_uuid: bytes) -> list[Finding]:
    """All findings, [] when the ledger is exactly what was written; changes nothing."""
    findings: list[Finding] = []
    try:
        findings += _pages(conn)
        links = _links(conn, store_uuid)
        findings += links.findings
        for table in CHAINED:
            findings += _rows(conn, table, links)
        findings += _tags(conn)
        findings += _ends(conn)
    except (apsw.Error, UnicodeDecodeError) as error:
        findings.append(
            Finding(check="integrity", message=f"an unreadable page ({type(error).__name__})")
        )
    return findings


def _pages(conn: apsw.Connection) -> list[Finding]:
    findings = [
        Finding(check="integrity", message=str(text))
        for (text,) in each(conn, f"PRAGMA integrity_check({_MOST_SHOWN})")
        if text != "ok"
    ]
    findings += [
        Finding(
            check="foreign_keys",
            message=f"row {row} of {table} refers to a missing row of {parent}",
            table=table,
            row=str(row),
        )
        for table, row, parent, _key in each(conn, "PRAGMA foreign_key_check")
    ]
    return findings


def _links(conn: apsw.Connection, store_uuid: bytes) -> _ChainTotals:
    """Recomputes every h and collects which digests are current."""
    result = _ChainTotals()
    previous = chain.genesis(store_uuid)
    expected = 0
    for seq, recorded, written, retired, touched, counts, head in each(
        conn,
        "SELECT seq, recorded_us, written, retired, touched, counts, h FROM chain ORDER BY seq",
    ):
        if seq != expected:
            result.findings.append(
                Finding(check="chain", message=f"chain rows {expected} to {seq - 1} are missing")
            )
        expected = seq + 1
        columns = (seq, recorded, written, retired, touched, counts)
        if chain.link_hash(previous, columns) != head:
            result.findings.append(
                Finding(check="chain", message=f"the chain does not close at row {seq}")
            )
        previous = head
        try:
            for table, digests in chain.digests_of(written).items():
                result.live[table].update(digests)
            for table, digests in chain.digests_of(retired).items():
                result.live[table].difference_update(digests)
            result.counts = chain.unpack_counts(counts)
        except (msgspec.MsgspecError, ValueError, TypeError, IndexError):
            result.findings.append(Finding(check="chain", message=f"chain row {seq} is unreadable"))
    return result


def _rows(conn: apsw.Connection, table: str, links: _ChainTotals) -> list[Finding]:
    """Recomputes every digest of a table, finds it in the chain and compares counts."""
    findings: list[Finding] = []
    live = links.live[table]
    found = 0
    condition = " WHERE seq IS NOT NULL" if table == "meta" else ""
    for row in each(conn, f"SELECT {columns_sql(table)} FROM {table}{condition}"):
        found += 1
        digest = chain.digest(table, row)
        if digest in live:
            live.remove(digest)
        else:
            findings.append(
                Finding(
                    check="digest",
                    message=f"a row of {table} differs from what was written",
                    table=table,
                    row=_name(table, row),
                )
            )
    if live:
        findings.append(
            Finding(
                check="digest",
                message=f"{len(live)} rows of {table} that were written are not there",
                table=table,
            )
        )
    counted = links.counts[TABLE_CODES[table]]
    if counted != found:
        findings.append(
            Finding(
                check="counts",
                message=f"the chain counts {counted} rows of {table}, the table holds {found}",
                table=table,
            )
        )
    return findings


def _name(table: str, row: tuple[object, ...]) -> str:
    prefix = TABLES[table].prefix
    raw = row[INDEX[table]["id"]] if prefix is not None else None
    if prefix is not None and isinstance(raw, bytes) and len(raw) == 16:
        removed_entity = table == "tombstones" and isinstance(row[1], int) and row[1] < 0
        return id_text("ent" if removed_entity else prefix, raw)
    key = TABLES[table].key
    return str(row[INDEX[table][key[0]]]) if len(key) == 1 else ""


def _tags(conn: apsw.Connection) -> list[Finding]:
    """The index of tags against the metadata it was made from."""
    wanted: Counter[tuple[str, int]] = Counter()
    for row, metadata in each(
        conn, 'SELECT "row", metadata FROM memories WHERE instr(metadata, \'"tags"\') > 0'
    ):
        try:
            wanted.update((tag, row) for tag in set(from_json(metadata).get("tags", ())))
        except (msgspec.MsgspecError, AttributeError, TypeError):
            continue  # the row itself is reported by its digest
    stored: Counter[tuple[str, int]] = Counter(fetch(conn, "SELECT tag, memory FROM tags"))
    different = len((wanted - stored) + (stored - wanted))
    if not different:
        return []
    message = f"{different} entries of the index of tags differ from the memories"
    return [Finding(check="tags", message=message, table="tags")]


def _ends(conn: apsw.Connection) -> list[Finding]:
    """Edges whose ends are gone."""
    findings: list[Finding] = []
    for code, ends in enumerate(EDGE_ENDS):
        for column, prefix in zip(("from_row", "to_row"), ends, strict=True):
            table = NODE_TABLES.get(prefix)
            exists = (
                "0" if table is None else f'EXISTS (SELECT 1 FROM {table} WHERE "row" = {column})'
            )
            for (id,) in each(
                conn,
                f"SELECT id FROM edges WHERE edge_type = ? AND NOT {exists} LIMIT {_MOST_SHOWN}",
                (code,),
            ):
                findings.append(
                    Finding(
                        check="ends",
                        message=f"a {EDGE_TYPES[code]} edge without its {prefix}_… end",
                        table="edges",
                        row=id_text("edge", id),
                    )
                )
    return findings
