"""Which store lay at which path: records in the user's state folder, by the path alone.

They tell a store that is gone from a path that never held one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from vestig.private_folder import make_private_folder
from vestig.store.ledger.witness import Witness, read_witness, witness_files
from vestig.store.sqlite import files
from vestig.times import format_us

_PREFIX: Final = "store-"
_SUFFIX: Final = ".json"


class PathRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A store at a path, and the devices of its folder and of the folder above."""

    folder: bytes
    store_uuid: bytes
    device: int
    parent_device: int

    @property
    def path(self) -> Path:
        """The folder of the store."""
        return Path(os.fsdecode(self.folder))

    def witness(self, state_dir: Path) -> Witness | None:
        """How far the store was, as far as the state folder knows."""
        return read_witness(witness_files(self.path, self.store_uuid, state_dir)[-1])

    def text(self, state_dir: Path) -> str:
        """Which store it was: identity, transactions, last commit."""
        seen = self.witness(state_dir)
        line = f"store {self.store_uuid.hex()}"
        if seen is None:
            return line
        when = f", the last at {format_us(seen.written_us)}" if seen.written_us > 0 else ""
        return f"{line} with {seen.rows} transactions{when}"


def _file(state_dir: Path, folder: Path) -> Path:
    key = blake2b(os.fsencode(folder), digest_size=16).hexdigest()
    return state_dir / f"{_PREFIX}{key}{_SUFFIX}"


def find_record(state_dir: Path | None, folder: Path) -> PathRecord | None:
    """The record of a path; None where there is none, or none that can be read."""
    return None if state_dir is None else _read(_file(state_dir, folder))


def all_records(state_dir: Path) -> Iterator[PathRecord]:
    """Every record, in the order of file names."""
    for file in sorted(state_dir.glob(f"{_PREFIX}*{_SUFFIX}")):
        record = _read(file)
        if record is not None:
            yield record


def _read(file: Path) -> PathRecord | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=PathRecord)
    except (OSError, msgspec.MsgspecError):
        return None


def remember_path(state_dir: Path, folder: Path, store_uuid: bytes) -> None:
    """The store that lies at a path, written where it differs from the record.

    Raises:
        OSError: the state folder cannot be written.
    """
    record = PathRecord(
        folder=os.fsencode(folder),
        store_uuid=store_uuid,
        device=folder.stat().st_dev,
        parent_device=folder.parent.stat().st_dev,
    )
    if find_record(state_dir, folder) == record:
        return
    make_private_folder(state_dir)
    with files.replacing(_file(state_dir, folder)) as fresh:
        fresh.write_bytes(msgspec.json.encode(record))


def drop_record(state_dir: Path, record: PathRecord) -> None:
    """Removes the record of a path with the witness of its store."""
    witness_files(record.path, record.store_uuid, state_dir)[-1].unlink(missing_ok=True)
    _file(state_dir, record.path).unlink(missing_ok=True)
