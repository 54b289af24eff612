"""All tables together: their columns, statements and codes under the chain.

A row of a chained table is digested as the MessagePack array of its columns, under the table's name
(see `store.integrity.chain`). Times are integers, microseconds since the epoch (UTC); ids are their
16 bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from importlib import import_module
from os import listdir
from typing import Final

from vestig.store import tables
from vestig.store.tables.table import Column, Forgetting, Table

# The version of the tables that are declared here, which every ledger carries, and their
# fingerprint. A change of the one is a change of the other.
VERSION: Final = 1
FINGERPRINT: Final = "9c66e8f4f08b33047ffdb63da34c91da"

_NOT_FAMILIES: Final = frozenset(("__init__", "__pycache__", "schema", "table"))


def _declared() -> Iterable[Table]:
    """The tables of all families: every module of this folder that declares some."""
    for folder in tables.__path__:
        for name in sorted(file.removesuffix(".py") for file in listdir(folder)):
            if name.isidentifier() and name not in _NOT_FAMILIES:
                yield from import_module(f"{tables.__name__}.{name}").TABLES


def _by_code(chained: Iterable[Table]) -> tuple[Table, ...]:
    found = sorted(chained, key=lambda table: table.code or 0)
    codes = [table.code for table in found]
    if codes != list(range(len(codes))):
        raise TypeError(
            f"tables under the chain: expected the codes 0 to {len(codes) - 1}, each once, got"
            f" {codes}; give a new table the next one"
        )
    return tuple(found)


ALL: Final = tuple(_declared())
TABLES: Final = {table.name: table for table in ALL}
# Under the chain, by their codes.
_CHAINED: Final = _by_code(table for table in ALL if table.code is not None)
CHAINED: Final = tuple(table.name for table in _CHAINED)
TABLE_CODES: Final = {name: code for code, name in enumerate(CHAINED)}
COLUMNS: Final = {table.name: table.names for table in _CHAINED}
INDEX: Final = {
    table: {column: at for at, column in enumerate(one.names)} for table, one in TABLES.items()
}
# Tables of the nodes of the graph, by id prefix.
NODE_TABLES: Final = {table.prefix: table.name for table in ALL if table.node and table.prefix}
# Tables with lines in an export, by the word of the line.
RECORDS: Final = {table.record: table for table in ALL if table.record is not None}
CREATE_TABLES: Final = "\n".join(table.statements() for table in ALL if not table.made_when_needed)


def fingerprint(tables: Iterable[Table] = ALL) -> str:
    """Return a digest of what a ledger of these tables holds: their statements and codes under the
    chain, and how a value of each column is read. What is said of them, and what a call does with
    them, is no part of it."""
    state = blake2b(digest_size=16)
    for table in sorted(tables, key=lambda one: one.name):
        read = [(one.name, one.refers, one.shape.name, one.untouched) for one in table.columns]
        state.update(repr((table.statements(), table.code, table.prefix, read)).encode())
    return state.hexdigest()


def columns_sql(table: str, alias: str = "") -> str:
    """Return the columns of a table for a SELECT, quoted, in digest order."""
    dot = f"{alias}." if alias else ""
    return ", ".join(f'{dot}"{column}"' for column in TABLES[table].names)


INSERT: Final = {
    table: f"INSERT INTO {table} ({columns_sql(table)}) VALUES ({', '.join('?' * len(one.names))})"
    for table, one in TABLES.items()
}


def referring(to: str, forgetting: Forgetting) -> list[tuple[Table, Column]]:
    """Return the columns that refer to a table and what a forgetting there does with them so."""
    return [
        (table, column)
        for table in ALL
        for column in table.columns
        if column.refers == to and column.forgetting is forgetting
    ]
