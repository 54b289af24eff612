"""Settings of the store as a whole, by name: its identity, its model, its origin.

A setting is written without a seq; the next write transaction takes it into the chain.
"""

from __future__ import annotations

import math
from array import array
from typing import Final

import apsw

from vestig.ports import EmbeddingIdentity
from vestig.store.integrity import chain
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
        _cosine(mine, other) >= PROBE_COSINE_MIN
        for mine, other in zip(stored.probes, given.probes, strict=True)
    )


def _cosine(left: bytes, right: bytes) -> float:
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
