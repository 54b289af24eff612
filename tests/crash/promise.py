"""Checkers of the store's promise, and the means to break a store."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from writer import KEY, child, open_store

from vestig.errors import VestigError

WRITER = Path(__file__).with_name("writer.py")
FORKS = multiprocessing.get_context("forkserver")
# What takes long to import; modules of the tests are not on the path of the fork server.
FORKS.set_forkserver_preload(["vestig.api.store", "vestig.testing", "numpy"])


class Worker:
    """A process that writes lines to its parent, forked from one that has imported everything.

    `target` is called with the connection to write to, the environment and `arguments`.
    """

    def __init__(
        self, target: Callable[..., None], arguments: tuple[Any, ...], **environment: str
    ) -> None:
        self._in, out = FORKS.Pipe(duplex=False)
        passed = (out, dict(os.environ) | environment, arguments)
        self.process = FORKS.Process(target=target, args=passed)
        self.process.start()
        out.close()
        self._rest = b""

    def lines(self, count: int | None = None) -> list[str]:
        """The next lines; fewer when the process has ended, all of them without `count`."""
        found: list[str] = []
        while count is None or len(found) < count:
            line, end, rest = self._rest.partition(b"\n")
            if end:
                found.append(line.decode())
                self._rest = rest
                continue
            more = os.read(self._in.fileno(), 65_536)
            if not more:
                break
            self._rest += more
        return found

    def ready(self) -> list[str]:
        """Lines that have come by now."""
        while self._in.poll():
            more = os.read(self._in.fileno(), 65_536)
            if not more:
                break
            self._rest += more
        return self.lines(self._rest.count(b"\n"))

    def kill(self) -> None:
        """Ends the process at whatever it is doing."""
        self.process.kill()

    def finish(self) -> list[str]:
        """What is left to read, once the process has ended."""
        lines = self.lines()
        self.process.join()
        self._in.close()
        return lines


class Writer(Worker):
    """A process that commits; `stopped …` waits for SIGCONT before it begins."""

    def __init__(self, store: Path, prefix: str, count: int = 0, fault: str = "") -> None:
        kind = fault.removeprefix("stopped ")
        environment = {} if kind == fault else {"VESTIG_TEST_STOPPED": "1"}
        super().__init__(child, (str(store), prefix, count, kind), **environment)


@contextmanager
def writers(store: Path, *prefixes: str, count: int = 0, fault: str = "") -> Iterator[list[Writer]]:
    """Writers, one for each prefix; they are gone on leaving."""
    running = [Writer(store, prefix, count, fault) for prefix in prefixes]
    try:
        yield running
    finally:
        for writer in running:
            writer.kill()
            writer.process.join()


def run_writers(store: Path, *prefixes: str, count: int, fault: str = "") -> list[str]:
    """All lines of writers that end by themselves."""
    with writers(store, *prefixes, count=count, fault=fault) as running:
        return [line for writer in running for line in writer.finish()]


def acknowledged(lines: list[str]) -> set[str]:
    """Texts whose commit was acknowledged.

    Raises:
        AssertionError: a writer ended with something that is no error of Vestig.
    """
    assert crashes(lines) == []
    return {line[2:] for line in lines if line.startswith("+ ")}


def crashes(lines: list[str]) -> list[str]:
    """Ends of writers with something that is no error of Vestig."""
    return [f"crash: {line[2:]}" for line in lines if line.startswith("x ")]


_HALF = {
    "event ADD": "SELECT memory FROM events WHERE event_type = 'ADD'",
    "edge from its source": (
        'SELECT e.to_row FROM edges e JOIN sources s ON s."row" = e.from_row WHERE e.edge_type = 4'
    ),
    "vector": "SELECT memory FROM vectors",
}


def broken_promises(path: Path, texts: set[str]) -> list[str]:
    """What is lost, half there or not as it was written; [] when the promise was kept."""
    try:
        return _breaches(path, texts)
    except VestigError as error:
        if not texts:
            return [f"crash: the store cannot be read: {error.code} {error}"]
        return [f"lost: {text} ({error.code} {error})" for text in sorted(texts)]
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return [f"crash: {type(error).__name__} {error} at {last.filename}:{last.lineno}"]


def broken_history(path: Path) -> list[str]:
    """What is wrong with the versions of the key that writers share: one is current, the last to
    begin, and each of the others holds until the next one begins."""
    rows = []
    with open_store(str(path)) as store:
        where = {"keys": [KEY], "include_expired": True}
        while page := store.list(where=where, offset=len(rows), limit=1000, order_by="created_at"):
            rows += page
        records = store.supersession_chain(rows[0].id) if rows else []
        current = store.get(KEY).id if rows else None
    live = [row.id for row in rows if row.status.word == "ACTIVE"]
    held = sorted((r for r in rows if r.t_invalid != r.t_valid), key=lambda row: row.t_valid)
    found = []
    if rows and live != [current]:
        found.append(f"half: {len(live)} memories are current under one key")
    if rows and (held[-1].id != current or len(records) != len(rows) - 1):
        found.append(f"half: {len(records)} replacements of {len(rows)} versions")
    for one, following in pairwise(held):
        if one.t_invalid != following.t_valid:
            found.append(f"half: {one.id} ends at {one.t_invalid}, not at {following.t_valid}")
    return found


def _breaches(path: Path, texts: set[str]) -> list[str]:
    found = []
    with open_store(str(path)) as store:
        context = store._session
        with context.ledger.read() as view:
            conn = view.connection
            stored = {
                content: row for row, content in conn.execute('SELECT "row", content FROM memories')
            }
            found += [f"lost: {text}" for text in sorted(texts - stored.keys())]
            for what, sql in _HALF.items():
                having = {row for (row,) in conn.execute(sql)}
                found += [f"half: {text} has no {what}"
                          for text, row in stored.items() if row not in having]  # fmt: skip
        rows = context.keeper.run(lambda _view, core: core.rows)
        if rows != len(stored):
            found.append(f"silent: the projection has {rows} rows for {len(stored)} memories")
        for text in sorted(texts & stored.keys())[:3]:
            results = store.recall(text, limit=1, where={"include_expired": True}).results
            if not results or results[0].content != text:
                found.append(f"silent: recall does not find {text}")
        found += [f"{f.check}: {f.message}" for f in context.ledger.verify_all()]
    return found
