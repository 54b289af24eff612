"""Checks a whole ledger against its chain, for `doctor` and export."""

from __future__ import annotations

import apsw
import msgspec

from vestig.ids import id_text
from vestig.store.integrity import chain
from vestig.store.sqlite.connections import each, fetch
from vestig.store.tables.graph import EDGE_ENDS, EDGE_TYPES
from vestig.store.tables.schema import (
    ALL,
    CHAINED,
    INDEX,
    NODE_TABLES,
    TABLE_CODES,
    TABLES,
    columns_sql,
)
from vestig.store.tables.table import Shape, Table

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
        for declared in ALL:
            findings += _followed(conn, declared) if declared.follows else []
            findings += _ends(conn, declared)
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
        previous = head if isinstance(head, bytes) else b""
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
    # Without a seq it waits for the next link.
    condition = " WHERE seq IS NOT NULL" if TABLES[table]["seq"].null else ""
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
    # each row that differs stands for one that was written
    gone = len(live) - len(findings)
    if gone > 0:
        findings.append(
            Finding(
                check="digest",
                message=f"rows of {table} that were written are missing: {gone}",
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
        number = row[INDEX[table]["row"]] if "row" in INDEX[table] else 0
        # The number of an entity that was removed stands negative.
        return id_text("ent" if isinstance(number, int) and number < 0 else prefix, raw)
    key = TABLES[table].key
    return str(row[INDEX[table][key[0]]]) if len(key) == 1 else ""


def _followed(conn: apsw.Connection, table: Table) -> list[Finding]:
    """Compares a table with what it follows from."""
    columns, name = columns_sql(table.name), table.name
    held = f"SELECT {columns} FROM {name}"
    different = [
        count
        for one, other in ((held, table.follows), (table.follows, held))
        for (count,) in fetch(conn, f"SELECT COUNT(*) FROM ({one} EXCEPT {other})")
    ]
    if not any(different):
        return []
    message = f"{sum(different)} rows of {name} differ from the rows that they follow from"
    return [Finding(check=name, message=message, table=name)]


def _ends(conn: apsw.Connection, table: Table) -> list[Finding]:
    """Edges whose ends are gone."""
    findings: list[Finding] = []
    ends_at = [column.name for column in table.columns if column.shape is Shape.END]
    for code, ends in enumerate(EDGE_ENDS) if ends_at else ():
        for column, prefix in zip(ends_at, ends, strict=True):
            node = NODE_TABLES[prefix]
            sql = (
                f"SELECT id FROM {table.name} WHERE edge_type = ? AND NOT EXISTS"
                f' (SELECT 1 FROM {node} WHERE "row" = {column}) LIMIT {_MOST_SHOWN}'
            )
            findings += [
                Finding(
                    check="ends",
                    message=f"a {EDGE_TYPES[code]} edge without its {prefix}_… end",
                    table=table.name,
                    row=id_text("edge", id),
                )
                for (id,) in each(conn, sql, (code,))
            ]
    return findings
