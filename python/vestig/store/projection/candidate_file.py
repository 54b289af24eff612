"""The file of an index of candidates, under a checksum.

It says which memories the index's numbers stand for and which state of the ledger it was made
from. It is made by rebuild and compaction, never changed, and dropped when it is damaged, when it
belongs to another ledger, and when a memory is forgotten.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from vestig.errors import VestigError
from vestig.ids import id_text
from vestig.store.records.reads import LedgerView
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import each, fetch

FILE: Final = "candidates"
_MAGIC: Final = b"VSTGCND1"
_ID_BYTES: Final = 16
_HASH_BYTES: Final = 32
_LENGTH_BYTES: Final = 8
_BATCH: Final = 8_192


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """Where an index comes from: the ledger's state, the model, and how many memories."""

    store_uuid: bytes
    seq: int
    head: bytes
    model: str
    dimensions: int
    rows: int


class CandidateFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file whose checksum is right. `ids`: 16 bytes per number; `packed`: the mapped index."""

    header: Header
    ids: memoryview
    packed: memoryview

    def id(self, number: int) -> str:
        """The memory that a number of the index stands for."""
        at = number * _ID_BYTES
        return id_text("mem", bytes(self.ids[at : at + _ID_BYTES]))


def all_vectors(view: LedgerView) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """(ids, vectors) of all memories that have one, in batches, in the order of the ledger."""
    ids: list[bytes] = []
    vectors: list[bytes] = []
    sql = (
        'SELECT m.id, v.embedding FROM vectors v JOIN memories m ON m."row" = v.memory'
        " ORDER BY v.memory"
    )
    for id, vector in each(view.connection, sql):
        ids.append(id)
        vectors.append(vector)
        if len(ids) == _BATCH:
            yield ids, vectors
            ids, vectors = [], []
    if ids:
        yield ids, vectors


def write(folder: Path, header: Header, ids: bytes, packed: bytes) -> int:
    """The whole file, durably, in the place of an older one; its bytes.

    Raises:
        OSError: the disk refused; the older one stays.
    """
    head = msgspec.msgpack.encode(header)
    head = len(head).to_bytes(_LENGTH_BYTES, "little") + head
    digest = sha256(head)
    digest.update(ids)
    digest.update(packed)
    target = folder / FILE
    fresh = folder / f"{FILE}.new"
    fresh.unlink(missing_ok=True)  # of a process that was killed
    try:
        files.make_private(fresh)
        with fresh.open("r+b") as out:
            out.write(_MAGIC + digest.digest())
            out.write(head)
            out.write(ids)
            out.write(packed)
            out.flush()
            os.fsync(out.fileno())
            size = out.tell()
        os.rename(fresh, target)
        files.sync_folder(folder)
    finally:
        fresh.unlink(missing_ok=True)
    return size


def read(folder: Path) -> CandidateFile:
    """The file, every byte checked before any is used.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is damaged; says how.
    """
    with (folder / FILE).open("rb") as source:
        start = len(_MAGIC) + _HASH_BYTES
        if os.fstat(source.fileno()).st_size < start + _LENGTH_BYTES:
            raise ValueError("it is shorter than its header")
        whole = memoryview(mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ))
    if bytes(whole[: len(_MAGIC)]) != _MAGIC:
        raise ValueError("it is of another kind")
    if sha256(whole[start:]).digest() != bytes(whole[start - _HASH_BYTES : start]):
        raise ValueError("its checksum is wrong")
    first = start + _LENGTH_BYTES
    first += int.from_bytes(whole[start:first], "little")
    try:
        header = msgspec.msgpack.decode(whole[start + _LENGTH_BYTES : first], type=Header)
    except msgspec.MsgspecError as error:
        raise ValueError("its header cannot be read") from error
    last = first + header.rows * _ID_BYTES
    if last > len(whole):
        raise ValueError("it is shorter than its header says")
    return CandidateFile(header=header, ids=whole[first:last], packed=whole[last:])


def stamp(folder: Path) -> tuple[int, int, int] | None:
    """Changes whenever the file does; None when there is none. One system call."""
    try:
        found = os.stat(folder / FILE)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def drop(folder: Path) -> None:
    """Removes the file. Who has it mapped can still read it.

    Raises:
        VestigError: the system refused; the file stays.
    """
    try:
        (folder / FILE).unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise VestigError(
            f"{folder / FILE}: expected to remove the index of candidates, the system refused"
            f" ({error.strerror or error}); run `vestig housekeeping compact` again"
        ) from error


def is_of_ledger(view: LedgerView, store_uuid: bytes, header: Header) -> bool:
    """Return whether the index was made from an earlier state of this ledger."""
    return header.store_uuid == store_uuid and view.head_at(header.seq) == header.head


def count_memories(view: LedgerView) -> int:
    """How many memories of all namespaces the ledger holds."""
    return int(fetch(view.connection, "SELECT COUNT(*) FROM memories")[0][0])
