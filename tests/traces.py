"""Looking for bytes in the files of a store, from outside the process that holds them open."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest


def holding(folder: Path, *needles: bytes) -> list[str]:
    """Names of files in which one of these stands.

    Another process makes the copy that is read: closing a file of SQLite here would drop the
    locks of the stores that the test has open.
    """
    copier = shutil.which("cp")
    if copier is None:
        pytest.skip("no cp to copy files with from another process")
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([copier, "-r", str(folder), f"{place}/copy"], check=True)
        copy = Path(place, "copy")
        return sorted(
            str(path.relative_to(copy))
            for path in copy.rglob("*")
            if path.is_file() and any(needle in path.read_bytes() for needle in needles)
        )
