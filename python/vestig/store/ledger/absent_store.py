"""A path without a store: what calls are told there, and which first write makes one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final, Literal

import msgspec

from vestig.config.environment import user_folder
from vestig.decoders import decoded
from vestig.errors import ConflictError, NotFoundError, StoreDamagedError, VestigError
from vestig.other_words import by_caller
from vestig.private_folder import make_private_folder
from vestig.store.integrity.chain import Witness, read_witness, witness_files
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
        return decoded(file.read_bytes(), PathRecord)
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


# What a call does on a path without a store: answers as an empty one, makes it, or is refused.
WithoutStore = Literal["empty", "make", "refuse"]


_INIT: Final = '`vestig add "…" --init`'


def _what_next(*, in_the_way: bool, left: bool) -> str:
    """Return what can be done about a lost store.

    Args:
        in_the_way: something lies in its folder, which a backup takes the place of only when it is
            empty.
        left: some of that is of a store, so that dropping the record changes nothing.
    """
    restore = by_caller("vestig.restore", "`vestig restore`")
    begin = by_caller("vestig.open(path, init=True)", _INIT, _INIT)
    away = "move what is left there away and " if in_the_way else ""
    ways = [
        "mount or move it back",
        f"{away}bring a backup there with {restore}",
        f"begin a new store there with {begin}",
    ]
    if not left:
        ways.append("drop the record of it with `vestig doctor --forget-lost`")
    return f"{', '.join(ways[:-1])}, or {ways[-1]}"


class AbsentStore(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no store at a path.

    `foreign`: the folder holds things of others. `lost`: what says that a store was there;
    `removed`: its whole folder is gone and nothing hints at an unmounted disk, so that a write may
    begin another. `in_the_way`, `left`: as `_what_next`.
    """

    ledger: Path
    foreign: bool = False
    lost: str = ""
    removed: bool = False
    in_the_way: bool = False
    left: bool = False

    @property
    def notice(self) -> str:
        """One line for whoever read an empty store there."""
        makes = by_caller("the first write", 'vestig add "…"', "the first write")
        return f"no store at {self.ledger.parent} yet: {makes} makes it"

    def is_over(self) -> bool:
        """Return whether a ledger has come meanwhile."""
        return os.path.lexists(self.ledger)

    def error(self, call: WithoutStore) -> VestigError | None:
        """Return what a call of this kind raises; None where it may go on.

        `StoreDamagedError`: a store was lost. `NotFoundError`: the call reads, and there is
        nothing to read. `ConflictError`: the call would write among things of others.
        """
        folder = self.ledger.parent
        if self.lost:
            if self.removed and call == "make":
                return None
            next = _what_next(in_the_way=self.in_the_way, left=self.left)
            error = StoreDamagedError(f"{folder}: {self.lost}; {next}")
            error.is_of_place = True
            return error
        if self.foreign and call == "make":
            return ConflictError(
                f"{folder}: expected a store or an empty folder, found other files and no store;"
                " choose another folder, or make a store among them with"
                f" {by_caller('vestig.open(path, init=True)', _INIT, _INIT)}"
            )
        if self.foreign:
            return NotFoundError("Store", str(folder), "the folder holds other files and no store")
        if call == "refuse":
            return NotFoundError("Store", str(folder), message=self.notice)
        return None


def moved_error(ledger: str, place: files.Place) -> StoreDamagedError:
    """The error where not all lies at the path that was opened there; it says what does."""
    found = files.place_of(ledger)
    if found is None:
        fact = (
            "it was moved or deleted while open; put it back, and it is used again as soon as it"
            " lies here, or open it where it lies now"
        )
    elif found != place:
        again = by_caller("open the path again", "run it again", "start the server again")
        fact = (
            "it was replaced while open; put the one that was opened back, and it is used again,"
            f" or {again} to use the one that lies here now"
        )
    else:
        save = by_caller("store.admin.backup(folder)")
        fact = (
            f"its log {os.path.basename(ledger)}-wal was moved, deleted or replaced while open; put"
            f" the log back, or save all with {save} before it is closed"
        )
    error = StoreDamagedError(f"{ledger}: expected the store that was opened here, {fact}")
    error.is_of_place = True
    return error


def find_absent(ledger: Path, *, init: bool, state_dir: Path | None) -> AbsentStore | None:
    """Why there is no store; None where there is a ledger. With `init` a store may begin whatever
    is or was there."""
    if _is_there(ledger, init=init):
        return None
    if init:
        return AbsentStore(ledger=ledger)
    absent = _why_absent(ledger, state_dir)
    # Another process may have made it while its folder was looked at.
    return None if _is_there(ledger, init=init) else absent


def _why_absent(ledger: Path, state_dir: Path | None) -> AbsentStore:
    folder = ledger.parent
    lost, left = _lost(folder, state_dir), files.leftovers(folder)
    if lost is None and left is not None:
        lost = f"expected the ledger that {left} belongs to, it is missing", False
    if lost is None:
        return AbsentStore(ledger=ledger, foreign=_is_foreign(folder, state_dir))
    return AbsentStore(
        ledger=ledger,
        lost=lost[0],
        removed=lost[1],
        in_the_way=folder.is_dir() and any(folder.iterdir()),
        left=left is not None,
    )


def _is_there(ledger: Path, *, init: bool) -> bool:
    """An empty file is a ledger that was lost: `init` begins anew in its place."""
    if not os.path.lexists(ledger):
        return False
    return not init or ledger.is_symlink() or ledger.stat().st_size > 0


def _lost(folder: Path, state_dir: Path | None) -> tuple[str, bool] | None:
    """Return what was at the path and what is found there, and whether its folder was just
    removed."""
    record = find_record(state_dir, folder)
    if record is None or state_dir is None:
        return None
    before = f"expected {record.text(state_dir)}"
    if folder.exists():
        return f"{before}, found its folder without the ledger", False
    parent = folder.parent
    if not parent.exists():
        return f"{before}, found neither its folder nor the one above", False
    if parent.stat().st_dev != record.parent_device:
        return f"{before}, found {parent} on another device (is the disk mounted?)", False
    if record.device != record.parent_device:
        return f"{before} on a disk of its own, found no folder (is the disk mounted?)", False
    return f"{before}, found no folder: it was moved or removed", True


def _is_foreign(folder: Path, state_dir: Path | None) -> bool:
    """Return whether a folder holds things of others. What Vestig put there is none, nor are the
    user's folders of state and configuration, which some platforms put at the place of the data."""
    if folder in {own.resolve() for own in (state_dir, user_folder("config")) if own is not None}:
        return False
    try:
        with os.scandir(folder) as entries:
            return any(not files.may_precede_store(entry.name) for entry in entries)
    except FileNotFoundError:
        return False
