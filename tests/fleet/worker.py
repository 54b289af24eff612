"""Workers of a tenant, as processes that may be ended at any moment.

    worker.py ADDRESS TENANT FOLDER NAME COUNT [STEP NUMBER]
    worker.py --lives KILLS SEED ADDRESS TENANT FOLDER NAME

The first commits facts and ends itself at a step of its work, the time it comes there with this
number: by SIGKILL, or by SIGSTOP where the step is preceded by `stop:`. The second has children
until so many of them have ended themselves at random steps. Lines on standard output:
`+ TEXT` was acknowledged, `? TEXT` is perhaps stored, `~ TEXT` is being forgotten, `- TEXT` is
forgotten, `! TEXT` was refused and is not stored, `x STEP` a child has ended itself there.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import vestig
from vestig.errors import ConflictError, ForgetIncompleteError, OutcomeUnknownError
from vestig.testing import HashingEmbedder

_POSTGRES: Final = "vestig.store.replication.postgres:Database."
_COPY: Final = "vestig.store.replication.copy:"
_CACHE: Final = "vestig.store.replication.cache:"
_TENANT: Final = "vestig.session.tenant:TenantCopy."
# Name → function, and whether the process ends after it.
STEPS: Final = {
    "before the lock": (f"{_POSTGRES}lock", False),
    "locked": (f"{_POSTGRES}lock", True),
    "begun": (f"{_COPY}Copy.begin", True),
    "before the append": (f"{_POSTGRES}append", False),
    "appended": (f"{_POSTGRES}append", True),
    "published": (f"{_COPY}Copy.publish", True),
    "committed here": ("vestig:Vestig.commit", True),
}
UPKEEP: Final = {
    "between changes of others": (f"{_COPY}apply_patch", False),
    "changes of others applied": (f"{_COPY}apply_changes", True),
    "snapshot packed": (f"{_TENANT}snapshot", False),
    "before the switch": (f"{_POSTGRES}replace_snapshot", False),
    "in the switch": (f"{_POSTGRES}_insert_parts", True),
    "switched": (f"{_POSTGRES}replace_snapshot", True),
    "unpacking": (f"{_CACHE}unpack", False),
    "unpacked": (f"{_CACHE}unpack", True),
    "marked": (f"{_CACHE}CacheFolders._mark", True),
    "registered": (f"{_CACHE}CacheFolders.register", True),
    "old copy away": (f"{_CACHE}CacheFolders._discard", True),
    "built": (f"{_CACHE}CacheFolders._build", True),
    "proof recorded": (f"{_TENANT}record_proof", True),
    "history erased": (f"{_TENANT}erase_history", True),
}
_LIFE: Final = 12


def text_of(name: str, number: int) -> str:
    """The fact of this worker with this number."""
    return f"Worker {name} counted {number * 7919 % 100_003} parcels on shift {number}"


def _say(mark: str, text: str) -> None:
    os.write(1, f"{mark} {text}\n".encode())


def _end_at(step: str, number: int) -> None:
    """Ends the process at this step when it comes there with this number."""
    how = signal.SIGSTOP if step.startswith("stop:") else signal.SIGKILL
    place, after = {**STEPS, **UPKEEP}[step.removeprefix("stop:")]
    module, _, path = place.partition(":")
    *owners, method = path.split(".")
    owner: Any = importlib.import_module(module)
    for one in owners:
        owner = getattr(owner, one)
    original: Callable[..., Any] = getattr(owner, method)
    seen = 0

    def wrapped(*args: Any, **options: Any) -> Any:
        nonlocal seen
        seen += 1
        mine = seen == number
        if mine and not after:
            os.kill(os.getpid(), how)
        result = original(*args, **options)
        if mine and after:
            os.kill(os.getpid(), how)
        return result

    setattr(owner, method, wrapped)


def _commit(store: vestig.Vestig, text: str) -> str:
    """Commits until it is known, and gives the id: what was refused is not there, so that a repeat
    must not find it."""
    unknown = refused = False
    deadline = time.monotonic() + 120
    while True:
        try:
            outcome = store.commit(text, on_near_dup="insert")
        except OutcomeUnknownError:
            unknown = True
            _say("?", text)
        except (vestig.StoreLockedError, ConflictError):
            if time.monotonic() > deadline:
                raise
            refused = True
            _say("!", text)
        else:
            if outcome.outcome.value == "EXACT_DUPE" and refused and not unknown:
                raise AssertionError(f"refused, and stored all the same: {text}")
            _say("+", text)
            return str(outcome.memory_id)
        time.sleep(0.02)


def _options(folder: str, **keys: object) -> dict[str, Any]:
    config = {"fleet.cache_dir": folder, "store.lock_timeout_s": 60, **keys}
    return {"config": config, "embedder": HashingEmbedder(64)}


def main(address: str, tenant: str, folder: str, name: str, count: str, *end: str) -> None:
    """Writes, and acknowledges, until it is told to end."""
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: told.append(number))
    with vestig.open(address, tenant=tenant, **_options(folder)) as store:
        if end:
            _end_at(end[0], int(end[1]))
        for number in range(int(count)):
            if not told:
                _commit(store, text_of(name, number))


def lives(kills: str, seed: str, address: str, tenant: str, folder: str, name: str) -> None:
    """Has children until so many of them were killed; one that ends by itself must end well."""
    importlib.import_module("vestig.session.tenant")
    chance, killed, number = random.Random(f"{seed} {name}"), 0, 0
    while killed < int(kills):
        step = chance.choice([*STEPS, *UPKEEP])
        child = os.fork()
        if child == 0:
            _live(
                step,
                chance,
                (address, tenant, folder),
                [text_of(name, number + one) for one in range(_LIFE)],
            )
            os._exit(0)
        number += _LIFE
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            killed += 1
            _say("x", step)
        elif status:
            raise AssertionError(f"a worker that was not killed failed: {step}")


def _live(step: str, chance: random.Random, where: tuple[str, str, str], texts: list[str]) -> None:
    """One child: commits, forgets some of it, and sometimes begins without a copy."""
    address, tenant, folder = where
    if chance.random() < 0.3:
        shutil.rmtree(folder, ignore_errors=True)
    _end_at(step, chance.choice([1, 1, 2, 3, 6]))
    options = _options(folder, **{"fleet.snapshot_bytes": 30_000})
    with vestig.open(address, tenant=tenant, **options) as store:
        for text in texts:
            id = _commit(store, text)
            if chance.random() < 0.15:
                _say("~", text)
                # where another machine's readers keep the log, the rows are gone all the same
                with contextlib.suppress(ForgetIncompleteError):
                    store.forget(id)
                _say("-", text)


if __name__ == "__main__":
    if sys.argv[1] == "--lives":
        lives(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
