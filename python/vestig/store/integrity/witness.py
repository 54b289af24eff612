"""The witness: a file that says how long the chain was after the last commit seen here.

Two slots of 512 bytes, of which each commit writes the older one, not synced: an older state after
a power cut is fine, and a torn slot leaves the other whole. The file itself is made durably, so
that a cut finds both slots on the disk. A ledger that is shorter than the newest whole slot, or
whose chain differs at that place, has lost transactions.
"""

from __future__ import annotations

import os
import struct
import zlib
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

import apsw

from vestig.errors import StoreDamagedError
from vestig.private_folder import make_private_folder
from vestig.store.sqlite import files
from vestig.store.sqlite.files import WITNESS_FILE

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


def encode(witness: Witness) -> bytes:
    """The bytes of a file whose other slot is empty."""
    return _slot(witness).ljust(_FILE_BYTES, b"\0")


def decode(raw: bytes) -> Witness | None:
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


def read_bytes(path: Path) -> bytes:
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
        return decode(read_bytes(path))
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
            os.pwrite(fd, encode(witness), 0)
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
        before = decode(os.pread(fd, _FILE_BYTES, 0))
        return _make(path, witness if before is None or before.rows < witness.rows else before)
    finally:
        os.close(fd)


def _make(path: Path, witness: Witness) -> int:
    make_private_folder(path.parent)
    with files.replacing(path) as fresh:
        fd = os.open(fresh, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        os.pwrite(fd, encode(witness), 0)
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
