"""A path without a store: what calls are told there, and which first write makes one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Literal

import msgspec

from vestig.errors import ConflictError, NotFoundError, StoreDamagedError, VestigError
from vestig.store.ledger.path_records import find_record
from vestig.store.sqlite import files

# What a call does on a path without a store: answers as an empty one, makes it, or is refused.
WithoutStore = Literal["empty", "make", "refuse"]

_WHAT_NEXT: Final = (
    "mount or move it back, restore a backup, begin a new store there with"
    " `vestig add --init` (open(init=True)), or drop the record of it with"
    " `vestig doctor --forget-lost`"
)


class AbsentStore(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no store at a path.

    `foreign`: the folder holds things of others. `lost`: what says that a store was there;
    `removed`: its whole folder is gone and nothing hints at an unmounted disk, so that a write may
    begin another.
    """

    ledger: Path
    foreign: bool = False
    lost: str = ""
    removed: bool = False

    @property
    def notice(self) -> str:
        """One line for whoever read an empty store there."""
        return f'no store at {self.ledger.parent} yet: vestig add "…" makes it'

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
            return StoreDamagedError(f"{folder}: {self.lost}; {_WHAT_NEXT}")
        if self.foreign and call == "make":
            return ConflictError(
                f"{folder}: expected a store or an empty folder, found other files and no store;"
                " choose another folder, or make a store among them with `vestig add --init`"
                " (open(init=True))"
            )
        if self.foreign:
            return NotFoundError("Store", str(folder), "the folder holds other files and no store")
        if call == "refuse":
            return NotFoundError("Store", str(folder), message=self.notice)
        return None


def find_absent(ledger: Path, *, init: bool, state_dir: Path | None) -> AbsentStore | None:
    """Why there is no store; None where there is a ledger. With `init` a store may begin whatever
    is or was there."""
    if _is_there(ledger, init=init):
        return None
    folder = ledger.parent
    if init:
        return AbsentStore(ledger=ledger)
    lost = _lost(folder, state_dir)
    if lost is not None:
        what, removed = lost
        return AbsentStore(ledger=ledger, lost=what, removed=removed)
    left = files.leftovers(folder)
    if left is not None:
        return AbsentStore(
            ledger=ledger, lost=f"expected the ledger that {left} belongs to, it is missing"
        )
    return AbsentStore(ledger=ledger, foreign=_holds_anything(folder))


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


def _holds_anything(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(not files.is_unfinished(entry.name) for entry in entries)
    except FileNotFoundError:
        return False
