"""An export is read line by line: memory does not grow with its size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ledger_rows as made
from filled_store import IDENTITY
from vestig.changes import ChangeSet, NewEvent
from vestig.store.ledger.opening import open_ledger
from vestig.store.portable.export import export

EVENTS = 40_000
PAYLOAD = 1_000
# The file has 50 MB in 40,000 events of one memory. Allowed are the cache of the check (16 MiB) and
# slack.
MOST = 40 << 20

LIMITED = """
import resource, sys
from vestig.store.portable.scratch import scratch_ledger
with open(sys.argv[1], "rb") as file:
    head = [file.readline() for _ in range(20)]
class Lines:
    def __iter__(self):
        with open(sys.argv[1], "rb") as file:
            yield from file
with scratch_ledger(head, partial=True):
    with open("/proc/self/status") as status:
        held = next(int(line.split()[1]) for line in status if line.startswith("VmData:"))
resource.setrlimit(resource.RLIMIT_DATA, (held * 1024 + int(sys.argv[2]),) * 2)
with scratch_ledger(Lines(), partial=False) as scratch:
    print(scratch.lines)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA is limited on Linux only")
def test_a_large_export_is_checked_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with open_ledger(tmp_path / "store") as ledger:
        ledger.set_embedding_identity(IDENTITY)
        new = made.memory("A memory that was often seen")
        with ledger.write(made.NOW) as txn:
            txn.apply(made.added(new))
        with ledger.write(made.NOW) as txn:
            txn.apply(ChangeSet(namespace="default", events=tuple(_events(new.id))))
        written = export(ledger, path, namespace=None)
    assert path.stat().st_size > 40 << 20
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), str(MOST)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, f"{written.lines}\n"), done.stderr[-500:]


def _events(id: str) -> list[NewEvent]:
    kind = made.EventType.REINFORCE_EXACT
    payload = {"variant": "x" * PAYLOAD}
    return [made.event(id, kind, payload=payload) for _ in range(EVENTS)]
