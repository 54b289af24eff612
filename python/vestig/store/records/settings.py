"""Settings of the store as a whole, by name: its identity, its model, its origin.

A setting is written without a seq; the next write transaction takes it into the chain.
"""

from __future__ import annotations

import math
from array import array
from typing import Final

import apsw
import msgspec

from vestig.ports import EmbeddingIdentity
from vestig.store.integrity import chain
from vestig.store.sqlite.statements import fetch, has_table
from vestig.store.tables.schema import columns_sql
from vestig.store.tables.store import NEW_VECTORS, UPSTREAM

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


# Processors differ in the last bits of a vector; models differ far more.
PROBE_COSINE_MIN: Final = 0.999


def same_model(stored: EmbeddingIdentity, given: EmbeddingIdentity) -> bool:
    """Return whether vectors of both may lie in one store.

    Name, dimensions and normalisation are equal, and so are the fingerprints where both have
    one. Where one has none, the vectors of the fixed sentences are compared: each pair must
    have a cosine of at least 0.999. Without either, the name decides.

    Example:
        >>> one = EmbeddingIdentity(model="m", dimensions=2, normalized=True)
        >>> same_model(one, one)
        True
        >>> same_model(one, EmbeddingIdentity(model="m", dimensions=3, normalized=True))
        False
    """
    if (stored.model, stored.dimensions, stored.normalized) != (
        given.model,
        given.dimensions,
        given.normalized,
    ):
        return False
    if stored.fingerprint and given.fingerprint:
        return stored.fingerprint == given.fingerprint
    if not stored.probes or not given.probes:
        return True
    return len(stored.probes) == len(given.probes) and all(
        cosine(mine, other) >= PROBE_COSINE_MIN
        for mine, other in zip(stored.probes, given.probes, strict=True)
    )


def cosine(left: bytes, right: bytes) -> float:
    """Cosine in float64; 1 for equal bytes, 0 where a zero vector meets another."""
    if left == right:
        return 1.0
    if len(left) != len(right):
        return 0.0
    x, y = array("f", left), array("f", right)
    norms = math.hypot(*x) * math.hypot(*y)
    if norms == 0:
        return 0.0
    return math.fsum(a * b for a, b in zip(x, y, strict=True)) / norms


class UpstreamRow(msgspec.Struct, frozen=True, kw_only=True):
    """Which tenant of which database a ledger is a copy of, and how far it has come.

    Attributes:
        position: the number of changes of the tenant that it holds.
        last_id: of the newest of them.
        cache: 16 random bytes, of this copy.
    """

    address: str
    tenant: str
    position: int
    last_id: bytes
    cache: bytes


def read_upstream(conn: apsw.Connection) -> UpstreamRow | None:
    """The tenant that the ledger is a copy of; None for a store of its own."""
    if not has_table(conn, UPSTREAM.name):
        return None
    rows = fetch(conn, "SELECT address, tenant, position, last_id, cache FROM upstream")
    if not rows:
        return None
    address, tenant, position, last_id, cache = rows[0]
    return UpstreamRow(
        address=address, tenant=tenant, position=position, last_id=last_id, cache=cache
    )


def write_upstream(conn: apsw.Connection, row: UpstreamRow | None) -> None:
    """Makes the ledger a copy of a tenant, or with None a store of its own. The tables that others
    make when they need them are made for a copy, since a change carries no new table."""
    if row is None:
        conn.execute("DELETE FROM upstream")
        return
    for table in (NEW_VECTORS, UPSTREAM):
        if not has_table(conn, table.name):
            conn.execute(table.statements())
    values = (row.address, row.tenant, row.position, row.last_id, row.cache)
    conn.execute("INSERT OR REPLACE INTO upstream VALUES (1, ?, ?, ?, ?, ?)", values)


def move_upstream(conn: apsw.Connection, position: int, last_id: bytes) -> None:
    """Records how far the ledger has come, in the open transaction."""
    conn.execute("UPDATE upstream SET position = ?, last_id = ?", (position, last_id))


def drop_request_log(conn: apsw.Connection) -> None:
    """Empties the log of requests: it is of one machine."""
    conn.execute("DELETE FROM requests")


def unproved_count(conn: apsw.Connection) -> int:
    """How many forgettings the files of this ledger are still to be searched for."""
    count: int = fetch(conn, "SELECT count(*) FROM erasures")[0][0]
    return count


def same_history(conn: apsw.Connection) -> bool:
    """Return whether the chain of the ledger that is attached as `mine` is the beginning of that of
    the main one."""
    sql = (
        "SELECT (SELECT h FROM main.chain WHERE seq = own.seq) = own.h FROM mine.chain AS own"
        " ORDER BY own.seq DESC LIMIT 1"
    )
    return fetch(conn, sql) == [(1,)]
