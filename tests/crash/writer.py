"""A process that commits to a store and tells its parent what was acknowledged.

    python writer.py STORE PREFIX COUNT [FAULT]

Writes one line to standard output for each commit: `+ TEXT` once it was acknowledged, `! CODE …`
when it was refused with an error of Vestig. Anything else that is raised ends the process with
a traceback. COUNT 0 means without end. FAULT `early`, `half` and `unsynced` break the
promise on purpose, so that the checkers can be checked; `same` commits one text again and again,
`key` all of them as values of one key, and `rebuild` publishes the projection on the way and ends
without closing.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final
from unittest import mock

import apsw

import vestig
from vestig.errors import VestigError
from vestig.store.ledger import opening
from vestig.store.sqlite import connections
from vestig.testing import HashingEmbedder

DIMENSIONS: Final = 32
KEY: Final = "shared.by.all"
_out = 1


def text_of(prefix: str, number: int) -> str:
    """A text that shares no word with any other one."""
    digest = hashlib.sha256(f"{prefix} {number}".encode()).hexdigest()
    return " ".join(digest[at : at + 8] for at in range(0, 40, 8))


def open_store(path: str, **options: Any) -> vestig.Vestig:
    """The store under test."""
    return vestig.open(path, embedder=HashingEmbedder(DIMENSIONS), **options)


def say(mark: str, rest: str) -> None:
    """One line, in one system call."""
    os.write(_out, f"{mark} {rest}\n".encode())


def end_here() -> None:
    """The end of a process that had no say in it."""
    os.kill(os.getpid(), signal.SIGKILL)


def without_fsync() -> None:
    """From now on this process acknowledges what no disk was told to keep."""
    faithful = connections.open_writer

    def careless(path: Path | None, durability: str) -> apsw.Connection:
        conn = faithful(path, durability)
        conn.execute("PRAGMA synchronous = OFF")
        return conn

    for module in (connections, opening):
        mock.patch.object(module, "open_writer", careless).start()


def half_commit(store: vestig.Vestig, text: str) -> None:
    """A memory without event, source, edge and vector."""
    store.commit(text)
    with store._session.ledger.write(0) as txn:
        conn = txn.connection
        conn.execute("COMMIT")
        conn.execute('DELETE FROM events WHERE "row" = (SELECT MAX("row") FROM events)')
        conn.execute("BEGIN")


def main(path: str, prefix: str, count: int, fault: str = "") -> None:
    """Commits texts until `count`, or until somebody ends the process."""
    if fault == "unsynced":
        without_fsync()
    try:
        store = open_store(path)
    except VestigError as error:
        say("!", f"{error.code} {error}".replace("\n", " "))
        return
    say("=", "open")
    number = 0
    while number < count or count == 0:
        text = text_of(prefix, number)
        if fault == "early" and number == 3:
            say("+", text)
            end_here()
        try:
            if fault == "half" and number == 3:
                half_commit(store, text)
            elif fault == "same":
                say("~", store.commit("The very same text from everywhere").outcome.value)
                text = ""
            else:
                store.commit(text, key=KEY if fault == "key" else None)
        except VestigError as error:
            say("!", f"{error.code} {error}".replace("\n", " "))
            # Reading goes on.
            store.recall(text_of(prefix, 0))
        else:
            say("+", text)
        number += 1
        if fault == "rebuild" and number == count * 3 // 4:
            try:
                store.admin.rebuild()
            except VestigError as error:
                say("!", error.code)
    if fault and fault not in ("same", "key"):
        end_here()
    store.close()


def child(
    out: Connection, environment: dict[str, str], arguments: tuple[str, str, int, str]
) -> None:
    """`main` in a forked process; a line `x` tells of anything that should not be raised."""
    global _out  # noqa: PLW0603 - one writer, one place to write to
    os.environ.update(environment)
    _out = out.fileno()
    if os.environ.pop("VESTIG_TEST_STOPPED", ""):
        # Until somebody who wants to watch has come.
        os.kill(os.getpid(), signal.SIGSTOP)
    try:
        main(*arguments)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-2:]
        places = " < ".join(f"{frame.name} {frame.filename}:{frame.lineno}" for frame in last)
        say("x", f"{type(error).__name__} {error} at {places}".replace("\n", " "))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
