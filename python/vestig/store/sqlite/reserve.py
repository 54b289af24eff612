"""Space that a store keeps for a full disk: forgetting has to write before it can free anything."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from vestig.store.sqlite import files

_BYTES: Final = 512 * 1024
_BLOCK: Final = bytes(64 * 1024)


def is_short(folder: Path) -> bool:
    """Return whether less is free than the reserve holds."""
    try:
        return shutil.disk_usage(folder).free < _BYTES
    except OSError:
        return False


def keep(folder: Path) -> None:
    """Makes the reserve where there is none, unless room is short already."""
    path = folder / files.RESERVE_FILE
    try:
        if os.path.lexists(path) or shutil.disk_usage(folder).free < 2 * _BYTES:
            return
        files.make_private(path)
        with path.open("r+b") as out:
            for _ in range(_BYTES // len(_BLOCK)):
                out.write(_BLOCK)
    except OSError:
        # The store is as good without it, until the disk is full.
        with suppress(OSError):
            path.unlink(missing_ok=True)


def release(folder: Path) -> None:
    """Gives the space back to the disk."""
    with suppress(OSError):
        (folder / files.RESERVE_FILE).unlink(missing_ok=True)
