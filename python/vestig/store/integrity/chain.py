"""The chain, in which every row has a digest and every write transaction one link, and the witness,
a file that says how long the chain was after the last commit seen here.

A link holds the digests a transaction wrote and those of the row versions it replaced or removed,
the memories it touched and the row counts after it, all under h = BLAKE2b-256(previous h, link). So
no row can change, vanish or come back unnoticed.

The witness has two slots of 512 bytes, of which each commit writes the older one, not synced: an
older state after a power cut is fine, and a torn slot leaves the other whole. The file itself is
made durably, so that a cut finds both slots on the disk. A ledger that is shorter than the newest
whole slot, or whose chain differs at that place, has lost transactions.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from vestig.errors import StoreDamagedError
from vestig.private_folder import make_private_folder
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import RESTORE, damaged, each, fetch
from vestig.store.sqlite.files import WITNESS_FILE
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
        # Table → the rows written, where the caller collects them; None once rows are replaced or
        # removed, but for those of the nodes in `changed`.
        self.new_rows: dict[str, list[Sequence[Any]]] | None = None
        # Node → its row before this transaction and now.
        self.changed: dict[int, tuple[Sequence[Any], Sequence[Any]]] = {}

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

    def replaced(
        self, table: str, old: Sequence[Any], new: Sequence[Any], *, node: int | None = None
    ) -> None:
        """A row version and its successor; `node`: the only one whose row of the projection is
        another then."""
        collected = self.new_rows
        self._retire(table, old)
        if node is not None:
            self.new_rows = collected
            before, _ = self.changed.get(node, (old, new))
            self.changed[node] = before, new
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
        raise damaged(where, "no chain", then=RESTORE)
    previous = rows[1][0] if len(rows) == 2 else genesis(store_uuid)
    head, *columns = rows[0]
    if not isinstance(previous, bytes):
        raise damaged(where, f"no hash in chain row {columns[0] - 1}", then=RESTORE)
    if len(rows) == 2 and rows[1][1] != columns[0] - 1:
        raise damaged(where, f"no chain row {columns[0] - 1}", then=RESTORE)
    if link_hash(previous, tuple(columns)) != head:
        raise damaged(where, f"a chain that does not close at row {columns[0]}", then=RESTORE)
    return columns[0], head


_MAGIC: Final = b"VSTGWIT2"
_LAYOUT: Final = struct.Struct("<8sQq32s")
_SLOT_BYTES: Final = 512
_SLOTS: Final = 2
_FILE_BYTES: Final = _SLOTS * _SLOT_BYTES
# The one slot of an older store, without a time; the first write makes two of it.
_OLD_MAGIC: Final = b"VSTGWIT1"
_OLD_LAYOUT: Final = struct.Struct("<8sQ32s")


class Witness(NamedTuple):
    """Number of chain rows, the newest h, and when it was written (µs, before 1970: unknown)."""

    rows: int
    head: bytes
    written_us: int = 0


def encode_witness(witness: Witness) -> bytes:
    """The bytes of a file whose other slot is empty."""
    return _slot(witness).ljust(_FILE_BYTES, b"\0")


def decode_witness(raw: bytes) -> Witness | None:
    """The newest whole slot; None for anything but a witness."""
    slots = [slot for slot in _slots(raw) if slot is not None]
    return max(slots, default=None, key=lambda slot: slot.rows)


def _slot(witness: Witness) -> bytes:
    body = _LAYOUT.pack(_MAGIC, witness.rows, witness.written_us, witness.head)
    return (body + struct.pack("<I", zlib.crc32(body))).ljust(_SLOT_BYTES, b"\0")


def _slots(raw: bytes) -> list[Witness | None]:
    if len(raw) == _OLD_LAYOUT.size + 4 and _whole(raw, _OLD_LAYOUT.size):
        magic, rows, head = _OLD_LAYOUT.unpack(raw[:-4])
        return [Witness(rows, head) if magic == _OLD_MAGIC else None]
    found: list[Witness | None] = []
    for at in range(0, _FILE_BYTES, _SLOT_BYTES):
        slot = raw[at : at + _SLOT_BYTES]
        if not _whole(slot, _LAYOUT.size):
            found.append(None)
            continue
        magic, rows, written_us, head = _LAYOUT.unpack(slot[: _LAYOUT.size])
        found.append(Witness(rows, head, written_us) if magic == _MAGIC else None)
    return found


def _whole(raw: bytes, length: int) -> bool:
    crc = raw[length : length + 4]
    return len(crc) == 4 and struct.unpack("<I", crc)[0] == zlib.crc32(raw[:length])


def witness_files(folder: Path, store_uuid: bytes, state_dir: Path | None) -> list[Path]:
    """Where the witness lies: in the store, and under the user's state folder by store and real
    path, so that a backup opened elsewhere is a store of its own."""
    paths = [folder / WITNESS_FILE]
    if state_dir is not None:
        key = blake2b(store_uuid + os.fsencode(folder), digest_size=16).hexdigest()
        paths.append(state_dir / f"witness-{key}")
    return paths


def witness_bytes(path: Path) -> bytes:
    """The bytes of a copy. A link is not followed.

    Raises:
        OSError: there is none, or it may not be read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return os.pread(fd, _FILE_BYTES + 1, 0)
    finally:
        os.close(fd)


def read_witness(path: Path) -> Witness | None:
    """The newest state that a copy knows; None where there is none or both slots are torn."""
    try:
        return decode_witness(witness_bytes(path))
    except OSError:
        return None


class WitnessFiles:
    """Writes all copies. A copy that cannot be written is left out and named in `missing`:
    the witness helps to find a loss and must never cause one."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = tuple(paths)
        self._fds: dict[Path, int] = {}
        self.missing: list[Path] = []

    def __del__(self) -> None:
        self.close()

    def read(self) -> list[tuple[Path, Witness]]:
        """All whole copies."""
        found = ((path, read_witness(path)) for path in self.paths)
        return [(path, witness) for path, witness in found if witness is not None]

    def write(self, witness: Witness, *, lower: bool = False) -> None:
        """All copies, each with one write; never lowers a copy unless asked."""
        for path in self.paths:
            if path in self.missing:
                continue
            try:
                self._write(path, witness, lower=lower)
            except OSError:
                self.missing.append(path)

    def _write(self, path: Path, witness: Witness, *, lower: bool) -> None:
        fd = self._fds.get(path)
        if fd is None or os.fstat(fd).st_nlink == 0:  # another process has made the file anew
            if fd is not None:
                os.close(self._fds.pop(path))
            fd = self._fds[path] = _open(path, witness)
        if lower:
            os.pwrite(fd, encode_witness(witness), 0)
            return
        slots = _slots(os.pread(fd, _FILE_BYTES, 0))
        rows = [-1 if slot is None else slot.rows for slot in slots]
        if max(rows) < witness.rows:
            os.pwrite(fd, _slot(witness), rows.index(min(rows)) * _SLOT_BYTES)

    def close(self) -> None:
        """Closes the files."""
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()


def _open(path: Path, witness: Witness) -> int:
    """A file with two slots. Where there is none, or one of another kind, it is made with what is
    to be written, or with what the other one says where that is newer."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        return _make(path, witness)
    if os.fstat(fd).st_size == _FILE_BYTES:
        os.fchmod(fd, 0o600)
        return fd
    try:
        before = decode_witness(os.pread(fd, _FILE_BYTES, 0))
        return _make(path, witness if before is None or before.rows < witness.rows else before)
    finally:
        os.close(fd)


def _make(path: Path, witness: Witness) -> int:
    make_private_folder(path.parent)
    with files.replacing(path) as fresh:
        fd = os.open(fresh, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        os.pwrite(fd, encode_witness(witness), 0)
    return fd


def check_witness(
    conn: apsw.Connection, where: Path, seen: list[tuple[Path, Witness]], seq: int
) -> None:
    """Compares the chain with copies read *before* the chain, so that a commit in between
    cannot look like a loss.

    Raises:
        StoreDamagedError: the chain is shorter than a witness, or another one.
    """
    for path, witness in seen:
        missing = witness.rows - (seq + 1)
        if missing > 0:
            raise StoreDamagedError(
                f"{where}: expected {witness.rows} transactions as recorded in {path},"
                f" the ledger holds {seq + 1}: {missing} are missing (an older ledger was put"
                " back, or its end is lost); run `vestig doctor`, put the newer ledger back, or"
                " take this one as it stands with `vestig rebuild --accept-ledger`"
            )
        rows = conn.execute("SELECT h FROM chain WHERE seq = ?", (witness.rows - 1,)).fetchall()
        if not rows or rows[0][0] != witness.head:
            raise StoreDamagedError(
                f"{where}: expected the history recorded in {path}, transaction"
                f" {witness.rows - 1} differs (another ledger was put here); run `vestig doctor`,"
                " or take this one as it stands with `vestig rebuild --accept-ledger`"
            )
