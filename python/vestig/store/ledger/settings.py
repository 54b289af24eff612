"""Settings of the store as a whole, by name: its identity, its model, its origin.

A setting is written without a seq; the next write transaction takes it into the chain.
"""

from __future__ import annotations

from typing import Final

import apsw

from vestig.store.ledger import chain
from vestig.store.sqlite.lookups import fetch
from vestig.store.tables.schema import columns_sql

UUID: Final = "uuid"
# The model that made the vectors.
IDENTITY: Final = "embedding"
# The store that an export first came from.
ORIGIN: Final = "origin"
_LOOSE: Final = f"SELECT {columns_sql('meta')} FROM meta WHERE seq IS NULL"


def read_setting(conn: apsw.Connection, name: str) -> bytes | None:
    """The value of a setting; None where there is none."""
    rows = fetch(conn, "SELECT value FROM meta WHERE name = ?", (name,))
    value: bytes | None = rows[0][0] if rows else None
    return value


def write_setting(conn: apsw.Connection, name: str, value: bytes) -> None:
    """Writes a setting that is not there yet."""
    conn.execute(
        "INSERT INTO meta (salt, name, value) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING",
        (chain.Salts().take(), name, value),
    )


def take_into_chain(conn: apsw.Connection, link: chain.Link, seq: int) -> None:
    """Settings that were written since the last link become part of this one."""
    rows = fetch(conn, _LOOSE)
    for salt, name, value, _seq in rows:
        conn.execute("UPDATE meta SET seq = ? WHERE name = ?", (seq, name))
        link.wrote("meta", (salt, name, value, seq))
