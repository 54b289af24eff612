"""The witness: a file that says how long the chain was after the last commit seen here.

52 bytes written in one piece after each commit and not synced: an older state after a power
cut is fine, a torn one counts as absent. A ledger that is shorter, or whose chain differs at
that place, has lost transactions.
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
from vestig.store.sqlite.files import WITNESS_FILE

__all__ = ["Witness", "WitnessFiles", "check_witness", "witness_files"]

_MAGIC: Final = b"VSTGWIT1"
_LAYOUT: Final = struct.Struct("<8sQ32s")
_BYTES: Final = _LAYOUT.size + 4


class Witness(NamedTuple):
    """Number of chain rows and the newest h."""

    rows: int
    head: bytes


def encode(witness: Witness) -> bytes:
    """The bytes of the file."""
    body = _LAYOUT.pack(_MAGIC, witness.rows, witness.head)
    return body + struct.pack("<I", zlib.crc32(body))


def decode(raw: bytes) -> Witness | None:
    """None for anything but a whole witness."""
    if len(raw) != _BYTES or struct.unpack("<I", raw[-4:])[0] != zlib.crc32(raw[:-4]):
        return None
    magic, rows, head = _LAYOUT.unpack(raw[:-4])
    return Witness(rows, head) if magic == _MAGIC else None


def witness_files(folder: Path, store_uuid: bytes, state_dir: Path | None) -> list[Path]:
    """Where the witness lies: in the store, and under the user's state folder by store and real
    path, so that a backup opened elsewhere is a store of its own."""
    paths = [folder / WITNESS_FILE]
    if state_dir is not None:
        key = blake2b(store_uuid + os.fsencode(folder), digest_size=16).hexdigest()
        paths.append(state_dir / f"witness-{key}")
    return paths


class WitnessFiles:
    """Writes all copies. A copy that cannot be written is left out and named in `missing`:
    the witness helps to find a loss and must never cause one."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = tuple(paths)
        self._fds: dict[Path, int] = {}
        self.missing: list[Path] = []

    def read(self) -> list[tuple[Path, Witness]]:
        """All whole copies."""
        found = []
        for path in self.paths:
            try:
                witness = decode(path.read_bytes())
            except OSError:
                continue
            if witness is not None:
                found.append((path, witness))
        return found

    def write(self, witness: Witness, *, lower: bool = False) -> None:
        """All copies, each with one write; never lowers a copy unless asked."""
        raw = encode(witness)
        for path in self.paths:
            if path in self.missing:
                continue
            try:
                fd = self._fds.get(path)
                if fd is None:
                    fd = self._fds[path] = _open(path)
                seen = None if lower else decode(os.pread(fd, _BYTES + 1, 0))
                if seen is None or seen.rows < witness.rows:
                    os.pwrite(fd, raw, 0)
            except OSError:
                self.missing.append(path)

    def close(self) -> None:
        """Closes the files."""
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()


def _open(path: Path) -> int:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    os.fchmod(fd, 0o600)
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
