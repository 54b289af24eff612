"""A worker of a tenant: `worker.py ADDRESS TENANT FOLDER NAME COUNT [STEP NUMBER]`.

It commits facts and prints `+ text` after each acknowledgement. With a step it kills itself at that
step of its write with this number.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import vestig
from vestig.store.replication.copy import Copy
from vestig.store.replication.postgres import Database
from vestig.testing import HashingEmbedder

STEPS = ("before the lock", "locked", "begun", "before the append", "appended", "committed here")


def text_of(name: str, number: int) -> str:
    """The fact of this worker with this number."""
    return f"Worker {name} counted {number * 7919 % 100_003} parcels on shift {number}"


def _kill_at(step: str, number: int) -> None:
    """Ends the process like kill -9 at this step of its write with this number."""
    seen = 0

    def ends(owner: Any, method: str, *, after: bool) -> None:
        original: Callable[..., Any] = getattr(owner, method)

        def wrapped(*args: Any, **options: Any) -> Any:
            nonlocal seen
            seen += 1
            if not after and seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
            result = original(*args, **options)
            if after and seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(owner, method, wrapped)

    place: dict[str, tuple[Any, str, bool]] = {
        "before the lock": (Database, "lock", False),
        "locked": (Database, "lock", True),
        "begun": (Copy, "begin", True),
        "before the append": (Database, "append", False),
        "appended": (Database, "append", True),
        "committed here": (vestig.Vestig, "commit", True),
    }
    owner, method, after = place[step]
    ends(owner, method, after=after)


def main(address: str, tenant: str, folder: str, name: str, count: str, *kill: str) -> None:
    """Writes, and acknowledges."""
    config = {"fleet.cache_dir": folder, "store.lock_timeout_s": 60}
    with vestig.open(address, tenant=tenant, config=config, embedder=HashingEmbedder(64)) as store:
        if kill:
            _kill_at(kill[0], int(kill[1]))
        for number in range(int(count)):
            store.commit(text_of(name, number), on_near_dup="insert")
            sys.stdout.write(f"+ {text_of(name, number)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
