"""Stores that are made under a umask which takes rights from the owner too."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
os.umask(int(sys.argv[1], 8))
import vestig
with vestig.open(sys.argv[2], config={"telemetry.trace_file": sys.argv[3]}) as store:
    for n in range(3):
        store.commit(f"Crate {n} stands in hall {n} of the quay.")
    store.admin.backup(sys.argv[4])
with vestig.open(sys.argv[2]) as store:
    print(store.count(), len(store.recall("crate in the hall")))
with vestig.open(sys.argv[4]) as store:
    print(store.count())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="this system has no umask")
@pytest.mark.parametrize("umask", ["0777", "0177", "0577", "0277", "0022"])
def test_a_umask_takes_nothing_from_the_owner(tmp_path: Path, umask: str) -> None:
    names = ("cache", "config", "data", "state")
    folders = {f"XDG_{name.upper()}_HOME": str(tmp_path / "home" / name) for name in names}
    store, copy = tmp_path / "above" / "store", tmp_path / "copies" / "copy"
    trace = tmp_path / "traces" / "trace.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, umask, str(store), str(trace), str(copy)],
        env={**os.environ, **folders, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", "3 3\n3\n")
    found = [path for path in tmp_path.rglob("*") if path != tmp_path]
    assert {path.suffix for path in found} >= {".sqlite", ".jsonl", ".weights"}
    for path in found:
        mode = stat.S_IMODE(path.stat().st_mode)
        if path.is_dir():
            assert mode == 0o700, path
        else:
            assert mode in (0o600, 0o400), path
