"""Opens SQLite connections, keeps those of processes and threads apart, runs statements on them,
and turns errors of SQLite into those of Vestig."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Final
from urllib.parse import quote

import apsw
import msgspec

from vestig.errors import (
    ConflictError,
    StoreDamagedError,
    StoreLockedError,
    VestigError,
    not_writable,
)
from vestig.ids import id_bytes, id_text, is_full_id
from vestig.store.sqlite.files import FULL_ERRNOS, Place, full, linked, make_private, place_of

_CHUNK_MAX: Final = 512
# Of `select_by_row`: so many statements may be prepared.
_ROWS_MAX: Final = 32
# The greatest row number of removed nodes, as a second column.
_FORGOTTEN: Final = {
    "memories": ', (SELECT IFNULL(MAX("row"), 0) FROM tombstones)',
    "entities": ', (SELECT -IFNULL(MIN("row"), 0) FROM tombstones)',
}


def fetch(conn: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of a statement, as tuples."""
    return conn.execute(sql, values).fetchall()


def has_table(conn: apsw.Connection, name: str) -> bool:
    """Return whether there is a table of this name."""
    sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    return bool(fetch(conn, sql, (name,)))


def each(conn: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
    """The rows of a statement one by one, as tuples."""
    return iter(conn.execute(sql, values))


def select_in(
    conn: apsw.Connection, sql: str, keys: Sequence[Any], first: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """Rows of `sql`, whose last `IN (?*)` takes the keys, in chunks.

    Chunks are padded to powers of two by repeating a key, so that few statements are prepared.
    """
    for start in range(0, len(keys), _CHUNK_MAX):
        chunk = tuple(keys[start : start + _CHUNK_MAX])
        size = 1 << (len(chunk) - 1).bit_length()
        filled = (*first, *chunk, *(chunk[-1:] * (size - len(chunk))))
        yield from conn.execute(_with_placeholders(sql, size), filled)


def select_by_row(
    conn: apsw.Connection, sql: str, rows: Sequence[int], last: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """Return what `select_in` returns, by row numbers, each once: `sql` reads `FROM (VALUES ?*) k`,
    whose rows are the numbers, ascending; SQLite makes no index of them."""
    wanted = sorted(rows)
    for start in range(0, len(wanted), _ROWS_MAX):
        chunk = wanted[start : start + _ROWS_MAX]
        yield from conn.execute(_with_values(sql, len(chunk)), (*chunk, *last))


@lru_cache(512)
def _with_values(sql: str, size: int) -> str:
    return sql.replace("?*", "(?)" + ",(?)" * (size - 1))


@lru_cache(512)
def _with_placeholders(sql: str, size: int) -> str:
    return sql.replace("?*", "?" + ",?" * (size - 1))


def next_row(conn: apsw.Connection, table: str) -> int:
    """The number of a new row. That of a forgotten memory or removed entity is never used again:
    whoever read it before would mistake the new node for it."""
    forgotten = _FORGOTTEN.get(table, "")
    last = fetch(conn, f'SELECT (SELECT IFNULL(MAX("row"), 0) FROM {table}){forgotten}')[0]
    return int(max(last)) + 1


def known_ids(ids: Sequence[str], prefix: str) -> dict[bytes, str]:
    """16 bytes → id for the well-formed ids of one kind; others cannot be in the ledger."""
    return {id_bytes(id): id for id in ids if is_full_id(id, prefix)}


def rows_of(
    conn: apsw.Connection, table: str, namespace: str, keys: dict[bytes, str]
) -> dict[str, int]:
    """id → row number, for those of these nodes that the namespace holds."""
    sql = f'SELECT id, "row" FROM {table} WHERE +namespace = ? AND id IN (?*)'
    return {keys[id]: row for id, row in select_in(conn, sql, tuple(keys), (namespace,))}


def id_range(prefix: str, kind: str) -> tuple[bytes, bytes]:
    """The lowest and the highest id that starts so; an empty range for what is no id."""
    digits = prefix.removeprefix(f"{kind}_").replace("-", "")
    if not set(digits) <= set("0123456789abcdef") or len(digits) > 32:
        return b"\1", b"\0"
    return bytes.fromhex(digits.ljust(32, "0")), bytes.fromhex(digits.ljust(32, "f"))


def node_keys(ids: Iterable[str], prefix: str) -> dict[bytes, str]:
    """16 bytes → id. A malformed id has no row; the caller refuses it if it is needed."""
    keys = {}
    for id in ids:
        if id.startswith(prefix):
            with suppress(ValueError):
                keys[id_bytes(id)] = id
    return keys


def starting(rows: Iterable[tuple[bytes]], kind: str, prefix: str, limit: int = 6) -> list[str]:
    """Full ids that start with `prefix`, at most `limit`, of the rows in their order."""
    found: list[str] = []
    for (raw,) in rows:
        if len(found) == limit:
            break
        id = id_text(kind, raw)
        if id.startswith(prefix):
            found.append(id)
    return found


# What can be done about a ledger that does not open, which no command reads then.
RESTORE: Final = "move the store away, and bring a backup to its place with `vestig restore BACKUP`"
# And about one that opens.
REPAIR: Final = (
    "`vestig restore BACKUP` brings a backup to an empty place, `vestig export FOLDER --format md`"
    " writes the memories that can still be read"
)


def damaged(where: str, fact: str, *, then: str = "run `vestig doctor`") -> StoreDamagedError:
    """The error for a failed check; `fact` completes "expected an intact ledger, found …"."""
    return StoreDamagedError(f"{where}: expected an intact ledger, found {fact}; {then}")


class _Faults:
    """A class, because there is one around every few statements, and it costs a fifth of a
    generator."""

    __slots__ = ("_then", "_where")

    def __init__(self, where: str, then: str) -> None:
        self._where = where
        self._then = then

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            translated = _translated(self._where, error, self._then)
            if translated is not None:
                raise translated from error


def store_faults(where: str, *, then: str = REPAIR) -> AbstractContextManager[None]:
    """Turns SQLite's exceptions into those of `vestig.errors`; `then`: what can be done about a
    damaged file.

    Constraint failures pass: only the writer knows which constraint means what.
    """
    return _Faults(where, then)


@contextmanager
def room_in(place: Path) -> Iterator[None]:
    """Turns what the system or SQLite says of a disk without room into `StoreFullError`."""
    try:
        yield
    except apsw.FullError as error:
        raise full(place) from error
    except OSError as error:
        if error.errno in FULL_ERRNOS:
            raise full(place) from error
        raise


def no_shared_file(error: BaseException) -> bool:
    """Return whether SQLite found no room for the file that processes share beside the ledger."""
    return getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE


def _translated(where: str, error: BaseException, then: str) -> VestigError | None:
    """The error of Vestig; None for one that is not translated."""
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.SQLError)):
        # SQLError: the statements are fixed, so it is the schema in the file that changed.
        return damaged(where, f"a damaged file ({type(error).__name__})", then=then)
    if isinstance(error, (UnicodeDecodeError, OverflowError, msgspec.MsgspecError)):
        return damaged(where, f"an unreadable value ({type(error).__name__})")
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreLockedError(
            f"{where}: expected a free store, another process keeps it locked;"
            " retry, or close the other process"
        )
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)):
        return not_writable(
            f"{where}: expected a writable store, writing is not permitted;"
            " check the owner of the folder or open it read-only"
        )
    if isinstance(error, apsw.FullError) or no_shared_file(error):
        return full(Path(where))
    if isinstance(error, apsw.CantOpenError):
        for end in ("", "-wal", "-shm"):
            if os.path.islink(f"{where}{end}"):
                return linked(Path(f"{where}{end}"))
    if isinstance(error, (apsw.IOError, apsw.CantOpenError)):
        return VestigError(
            f"{where}: expected a working disk, the system refused a file operation"
            f" ({type(error).__name__}); nothing was changed"
        )
    if isinstance(error, apsw.NoMemError):
        return VestigError(f"{where}: expected enough memory, none was left")
    return None


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
            import shutil

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
    import shutil
    import tempfile

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
        >>> import tempfile
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
    # Else SQLite compiles a statement anew for each value that might change its plan.
    conn.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


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
