"""Opens SQLite connections, and keeps those of processes and threads apart."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Lock
from typing import Final
from urllib.parse import quote

import apsw

from vestig.errors import ConflictError, VestigError
from vestig.store.sqlite.files import Place, make_private, place_of
from vestig.store.sqlite.statements import damaged, no_shared_file, store_faults

_SQLITE_MIN: Final = (3, 51, 3)  # older ones can corrupt a WAL with several writing processes
_WRITE_CACHE_KIB: Final = 65_536
_READ_CACHE_KIB: Final = 16_384
_IDLE_READERS_MAX: Final = 8
_OPENING_MS: Final = 5_000


def require_sqlite() -> None:
    """Refuses an SQLite that is known to lose data.

    Raises:
        VestigError: names both versions.
    """
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version < _SQLITE_MIN:
        wanted = ".".join(map(str, _SQLITE_MIN))
        raise VestigError(
            f"apsw: expected SQLite {wanted} or newer, found {apsw.sqlite_lib_version()};"
            " upgrade the package apsw"
        )


class ReadPlan:
    """How a store that cannot be written is read: the file to open and its URI parameters."""

    def __init__(self, ledger: Path, parameters: str, temporary: Path | None = None) -> None:
        self.ledger = ledger
        self.parameters = parameters
        self._temporary = temporary
        self._pid = os.getpid()

    @property
    def is_copy(self) -> bool:
        """Return whether a private copy is read."""
        return self._temporary is not None

    def close(self) -> None:
        """Removes the private copy, if this process made one."""
        if self._temporary is not None and self._pid == os.getpid():
            shutil.rmtree(self._temporary, ignore_errors=True)


def has_wal(ledger: Path) -> bool:
    """Return whether something is written beside the ledger. One system call: whoever closes the
    store last removes the file, at any moment."""
    try:
        return os.stat(f"{ledger}-wal").st_size > 0
    except FileNotFoundError:
        return False


def plan_reading(ledger: Path, *, read_only: bool) -> ReadPlan:
    """How to read the ledger. In a writable folder readers may remove the WAL when they close last.

    A WAL beside a ledger in a folder that cannot be written would be ignored silently by
    `immutable`, so both are copied to a private place then."""
    if os.access(ledger.parent, os.W_OK):
        return ReadPlan(ledger, "mode=ro" if read_only else "mode=rw")
    if not has_wal(ledger):
        return ReadPlan(ledger, "immutable=1")
    temporary = Path(tempfile.mkdtemp(prefix="vestig-"))
    for part in (ledger, Path(f"{ledger}-wal")):
        shutil.copyfile(part, temporary / part.name)
    return ReadPlan(temporary / ledger.name, "mode=ro", temporary)


def open_reader(ledger: Path, parameters: str, timeout_s: float) -> apsw.Connection:
    """A connection that writes no row.

    On a full disk SQLite cannot make the file that processes share beside the ledger. Then it
    reads the log without one: with that file there, empty and read-only, it looks through the log
    at each transaction.
    """
    try:
        return _open_reader(ledger, parameters, timeout_s)
    except apsw.IOError as error:
        if not no_shared_file(error):
            raise
    shared = Path(f"{ledger}-shm")
    if not os.path.lexists(shared):
        make_private(shared)
    return _open_reader(ledger, f"{parameters}&readonly_shm=1", timeout_s)


def _open_reader(ledger: Path, parameters: str, timeout_s: float) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
    conn = apsw.Connection(f"file:{quote(os.fsencode(ledger))}?{parameters}", flags=flags)
    try:
        conn.set_busy_timeout(max(1, round(timeout_s * 1000)))
        _limit(conn, _READ_CACHE_KIB)
        conn.execute("PRAGMA query_only = ON")
        conn.execute("PRAGMA schema_version").fetchall()  # opens the log
    except BaseException:
        conn.close()
        raise
    return conn


def open_writer(ledger: Path | None, durability: str) -> apsw.Connection:
    """A connection with the guarantees of the store; None keeps everything in memory."""
    if ledger is None:
        conn = apsw.Connection(":memory:")
    else:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        conn = apsw.Connection(str(ledger), flags=flags)
        # The settings below read the file: they wait while others recover or close its log.
        conn.set_busy_timeout(_OPENING_MS)
    try:
        _limit(conn, _WRITE_CACHE_KIB)
        conn.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        conn.execute("PRAGMA secure_delete = ON")
        conn.execute("PRAGMA fullfsync = ON")
        conn.execute("PRAGMA checkpoint_fullfsync = ON")
    except BaseException:
        conn.close()
        raise
    return conn


@contextmanager
def changing_file(
    ledger: Path, *, compact: bool = False, synced: bool = True
) -> Iterator[apsw.Connection]:
    """One transaction on a ledger that nobody has open. No log is left beside it.

    Args:
        compact: the file is then made anew from its live rows, so that no page keeps old bytes.
        synced: it survives loss of power; else the caller syncs the file.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "ledger"
        >>> with changing_file(path) as conn:
        ...     conn.execute("PRAGMA user_version = 1").fetchall()
        []
        >>> has_wal(path)
        False
    """
    conn = apsw.Connection(str(ledger))
    try:
        if not synced:
            conn.execute("PRAGMA synchronous = OFF")
        with conn:
            yield conn
        if compact:
            conn.execute("VACUUM")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        conn.close()


def _limit(conn: apsw.Connection, cache_kib: int) -> None:
    conn.execute("PRAGMA foreign_keys = ON")
    conn.execute("PRAGMA mmap_size = 0")
    conn.execute(f"PRAGMA cache_size = -{cache_kib}")
    conn.execute("PRAGMA temp_store = MEMORY")
    conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)


class Busy:
    """SQLite's busy handler: waits with jitter until a deadline; 0 = not at all."""

    def __init__(self) -> None:
        self.deadline = 0.0

    def __call__(self, attempt: int) -> bool:
        left = self.deadline - time.monotonic()
        if left <= 0:
            return False
        longest = min(0.025, 0.001 * (attempt + 1))
        time.sleep(min(left, longest * (0.25 + os.urandom(1)[0] / 340)))
        return True


class _Reader:
    """Takes a connection from the pool and gives it back."""

    __slots__ = ("_conn", "_pool")

    def __init__(self, pool: Connections) -> None:
        self._pool = pool

    def __enter__(self) -> apsw.Connection:
        self._conn = self._pool.take()
        return self._conn

    def __exit__(self, *error: object) -> None:
        self._pool.give_back(self._conn)


class Connections:
    """A pool of readers of the process that opened them."""

    def __init__(self, plan: ReadPlan | None, timeout_s: float, place: Place | None = None) -> None:
        self._plan = plan
        self._place = place
        self._timeout_s = timeout_s
        self._lock = Lock()
        self._idle: list[apsw.Connection] = []
        self._closed = False

    def reader(self) -> AbstractContextManager[apsw.Connection]:
        """A connection for one read transaction."""
        return _Reader(self)

    def take(self) -> apsw.Connection:
        """A connection at rest; to be given back.

        Raises:
            ConflictError: the store was closed.
            StoreDamagedError: another file lies at the path by now.
        """
        assert self._plan is not None
        with self._lock:
            if self._closed:
                raise ConflictError("store: expected an open store, it was closed; open it again")
            if self._idle:
                return self._idle.pop()
        where = str(self._plan.ledger)
        with store_faults(where):
            conn = open_reader(self._plan.ledger, self._plan.parameters, self._timeout_s)
        if self._place is not None and not self._plan.is_copy:
            now = place_of(self._plan.ledger)
            if now is None or now.ledger != self._place.ledger:
                conn.close()
                raise damaged(where, "another file than the one that was opened")
        return conn

    def give_back(self, conn: apsw.Connection) -> None:
        """Keeps a connection that is at rest, closes any other."""
        keep = not conn.in_transaction
        with self._lock:
            keep = keep and not self._closed and len(self._idle) < _IDLE_READERS_MAX
            if keep:
                self._idle.append(conn)
        if not keep:
            conn.close()

    def close(self) -> None:
        """Closes idle readers now and busy ones when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for conn in idle:
            conn.close()

    def take_idle(self) -> list[apsw.Connection]:
        """Hands over the idle connections, for a child of a fork to close."""
        idle, self._idle = self._idle, []
        return idle
