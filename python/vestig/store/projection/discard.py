"""Removes the files of a projection; it is made again from the ledger."""

from __future__ import annotations

import shutil
from pathlib import Path

from vestig.errors import VestigError


def discard_projection(directory: Path) -> None:
    """Removes all files of a projection. Processes that have them mapped keep what they see.

    Raises:
        VestigError: the disk refused; the ledger is untouched.
    """
    if not directory.exists():
        return
    try:
        shutil.rmtree(directory)
    except OSError as error:
        raise VestigError(
            f"{directory}: expected a projection that can be removed, got {error.strerror};"
            " mend the permissions and run `vestig rebuild` again"
        ) from error
