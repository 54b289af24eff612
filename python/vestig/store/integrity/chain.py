"""The chain: every row has a digest, every write transaction one link.

A link holds the digests a transaction wrote and those of the row versions it replaced or
removed, the memories it touched and the row counts after it, all under
h = BLAKE2b-256(previous h, link). So no row can change, vanish or come back unnoticed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any, Final

import apsw
import msgspec

from vestig.store.sqlite.statements import damaged, each, fetch
from vestig.store.tables.schema import CHAINED, TABLE_CODES

DIGEST_BYTES: Final = 16
_SALTS_AT_ONCE: Final = 64
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder().decode
# Copied for every row: setting up a hash costs more than hashing a row.
_HASHES: Final = {
    table: blake2b(digest_size=DIGEST_BYTES, person=table.encode()) for table in CHAINED
}


def digest(table: str, values: Sequence[Any]) -> bytes:
    """BLAKE2b-128 over a row's columns in the order of `schema.COLUMNS`.

    MessagePack keeps NULL, integers, floats, text and bytes apart, so no two rows share bytes.
    """
    hash = _HASHES[table].copy()
    hash.update(_encode(values))
    return hash.digest()


def genesis(store_uuid: bytes) -> bytes:
    """The head before the first link."""
    return blake2b(store_uuid, digest_size=32, person=b"vestig-chain").digest()


class Salts:
    """16 random bytes at a time, drawn from the system for many at once."""

    def __init__(self) -> None:
        self._left: list[bytes] = []

    def take(self) -> bytes:
        """The next salt."""
        if not self._left:
            block = os.urandom(DIGEST_BYTES * _SALTS_AT_ONCE)
            places = range(0, len(block), DIGEST_BYTES)
            self._left = [block[at : at + DIGEST_BYTES] for at in places]
        return self._left.pop()


def digests_of(packed: bytes | None) -> dict[str, list[bytes]]:
    """Table → digests of a packed `written` or `retired` column."""
    if packed is None:
        return {}
    return {
        CHAINED[code]: [run[at : at + DIGEST_BYTES] for at in range(0, len(run), DIGEST_BYTES)]
        for code, run in _decode(packed)
    }


class Link:
    """One link while a write transaction collects it."""

    def __init__(self, previous: bytes, seq: int, recorded_us: int, counts: list[int]) -> None:
        self._previous = previous
        self._seq = seq
        self._recorded_us = recorded_us
        self._counts = counts
        # In order of writing, without versions that the same transaction replaced: no other
        # transaction has seen those.
        self._written: dict[str, dict[bytes, None]] = {}
        self._retired: dict[str, dict[bytes, None]] = {}
        self.touched: set[int] = set()
        # Table → the rows written, where the caller collects them, as long as nothing but new rows
        # is written; then None.
        self.new_rows: dict[str, list[Sequence[Any]]] | None = None

    def wrote(self, table: str, values: Sequence[Any]) -> None:
        """A new row."""
        self.wrote_all(table, (values,))

    def wrote_all(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """New rows."""
        written, begun = self._written.setdefault(table, {}), _HASHES[table]
        for values in rows:
            hash = begun.copy()
            hash.update(_encode(values))
            written[hash.digest()] = None
        self._counts[TABLE_CODES[table]] += len(rows)
        if self.new_rows is not None:
            self.new_rows.setdefault(table, []).extend(rows)

    def replaced(self, table: str, old: Sequence[Any], new: Sequence[Any]) -> None:
        """A row version and its successor."""
        self._retire(table, old)
        self._written.setdefault(table, {})[digest(table, new)] = None

    def removed(self, table: str, old: Sequence[Any]) -> None:
        """A row that is gone."""
        self._retire(table, old)
        self._counts[TABLE_CODES[table]] -= 1

    def _retire(self, table: str, old: Sequence[Any]) -> None:
        self.new_rows = None
        gone = digest(table, old)
        written = self._written.get(table, {})
        if gone in written:
            del written[gone]
        else:
            self._retired.setdefault(table, {})[gone] = None

    def append(self, conn: apsw.Connection) -> bytes:
        """Writes the link and returns the new head."""
        written = _pack(self._written)
        retired = _pack(self._retired) if self._retired else None
        touched = _encode(sorted(self.touched))
        counts = _encode(self._counts)
        columns = (self._seq, self._recorded_us, written, retired, touched, counts)
        head = link_hash(self._previous, columns)
        conn.execute("INSERT INTO chain VALUES (?,?,?,?,?,?,?)", (*columns, head))
        return head


def _pack(runs: dict[str, dict[bytes, None]]) -> bytes:
    return _encode([(TABLE_CODES[table], b"".join(run)) for table, run in runs.items()])


def link_hash(previous: bytes, columns: tuple[Any, ...]) -> bytes:
    """h of a link from its columns seq, recorded_us, written, retired, touched, counts."""
    return blake2b(previous + _encode(columns), digest_size=32).digest()


def touched_after(conn: apsw.Connection, seq: int) -> set[int]:
    """Rows of memories, and negative those of entities, that a later transaction touched."""
    found: set[int] = set()
    for (packed,) in each(conn, "SELECT touched FROM chain WHERE seq > ?", (seq,)):
        found.update(_decode(packed))
    return found


def unpack_counts(packed: bytes) -> list[int]:
    """Row counts by table code."""
    counts: list[int] = _decode(packed)
    return counts + [0] * (len(CHAINED) - len(counts))


class RetiredDigests:
    """Digest → seq that retired it, filled as links are seen; shared by all readers."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._upto = -1
        self._seq_of: dict[bytes, int] = {}

    def through(self, conn: apsw.Connection, seq: int) -> dict[bytes, int]:
        """Complete up to `seq`; later entries may be present, so compare the value."""
        with self._lock:
            if self._upto < seq:
                rows = each(
                    conn,
                    "SELECT seq, retired FROM chain"
                    " WHERE retired IS NOT NULL AND seq > ? AND seq <= ?",
                    (self._upto, seq),
                )
                for at, packed in rows:
                    for run in digests_of(packed).values():
                        self._seq_of.update(dict.fromkeys(run, at))
                self._upto = seq
            return self._seq_of


def check_head(conn: apsw.Connection, where: str, store_uuid: bytes) -> tuple[int, bytes]:
    """(seq, head) after recomputing the newest link only.

    Raises:
        StoreDamagedError: the newest link does not close.
    """
    rows = fetch(
        conn,
        "SELECT h, seq, recorded_us, written, retired, touched, counts FROM chain"
        " ORDER BY seq DESC LIMIT 2",
    )
    if not rows:
        raise damaged(where, "no chain")
    previous = rows[1][0] if len(rows) == 2 else genesis(store_uuid)
    head, *columns = rows[0]
    if len(rows) == 2 and rows[1][1] != columns[0] - 1:
        raise damaged(where, f"no chain row {columns[0] - 1}")
    if link_hash(previous, tuple(columns)) != head:
        raise damaged(where, f"a chain that does not close at row {columns[0]}")
    return columns[0], head
