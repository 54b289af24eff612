"""The ledger in one SQLite file, or in memory: all records of a store, the truth."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, TypeVarTuple

import apsw
import msgspec

from vestig.changes import AccessTouch, RequestRecord
from vestig.errors import ConflictError, StoreLockedError, VestigError, not_writable
from vestig.other_words import by_caller
from vestig.ports import EmbeddingIdentity
from vestig.store.integrity import chain
from vestig.store.integrity.chain import Witness, WitnessFiles
from vestig.store.integrity.digest_check import CheckedMemories
from vestig.store.ledger import migrations
from vestig.store.ledger.absent_store import AbsentStore, WithoutStore, moved_error
from vestig.store.ledger.options import LedgerFiles, LedgerOptions, PendingLedger
from vestig.store.records import jobs, store_rows
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import Job, JobResult, StoredAnswer
from vestig.store.sqlite import connections, files, processes
from vestig.store.sqlite.connections import RESTORE, damaged, fetch, store_faults
from vestig.telemetry import span

# what writes, and what checks every row, is imported when it is used: a reader needs neither
if TYPE_CHECKING:
    from vestig.store.integrity.verify import Finding
    from vestig.store.ledger.options import Upstream, UpstreamWrite
    from vestig.store.records.writes import WriteTransaction

_T = TypeVar("_T")
_Given = TypeVarTuple("_Given")

# A WAL grows further inside batches, so that their pages are moved once, not many times.
_CHECKPOINT_PAGES: Final = 1_000
_BATCH_CHECKPOINT_PAGES: Final = 16_384
_BATCH_ROWS: Final = 100


class _Connected:
    """See `Ledger._connection`. It and `_Reading` are classes, because there is one around
    every read, and generators cost several times as much."""

    __slots__ = ("_anywhere", "_conn", "_inside", "_ledger", "_only")

    def __init__(self, ledger: Ledger, *, anywhere: bool = False) -> None:
        self._ledger = ledger
        self._anywhere = anywhere

    def __enter__(self) -> apsw.Connection:
        ledger = self._ledger
        ledger.look_again()
        # A copy of a tenant is made anew before the next call.
        if not self._anywhere and ledger.upstream is None:
            ledger.check_place()
        self._inside = processes.inside()
        self._inside.__enter__()
        try:
            self._conn, self._only = ledger._take_connection()
        except BaseException:
            self._inside.__exit__(None, None, None)
            raise
        return self._conn

    def __exit__(self, *error: object) -> None:
        try:
            self._ledger._give_back(self._conn, self._only)
        finally:
            self._inside.__exit__(None, None, None)


class _Reading:
    """One read transaction, begun unless one of this thread holds the only connection."""

    __slots__ = ("_began", "_conn", "_connected", "_ledger")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __enter__(self) -> LedgerView:
        ledger = self._ledger
        self._connected = ledger._connection()
        conn = self._conn = self._connected.__enter__()
        self._began = False
        try:
            with store_faults(ledger.where):
                self._began = not conn.in_transaction
                return ledger.view_of(conn, begin=self._began)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        try:
            if self._began and self._conn.in_transaction:
                self._conn.execute("ROLLBACK")
        finally:
            self._connected.__exit__()


class Ledger:
    """The ledger of one store, made by `open_ledger`. Thread-safe; survives a fork.

    Where there is no store yet it stands for an empty one in memory, until somebody makes it:
    then every call acts on the file.
    """

    def __init__(
        self,
        path: Path | None,
        source: LedgerFiles | PendingLedger | LedgerOptions,
    ) -> None:
        self._path = path
        self._pending = source if isinstance(source, PendingLedger) else None
        self._plan: connections.ReadPlan | None = None
        self._witness: WitnessFiles | None = None
        self._place: files.Place | None = None
        self._replaced = ""
        self._options = source if isinstance(source, LedgerOptions) else source.options
        self._where = ":memory:" if path is None else str(path)
        self._folder = os.path.dirname(self._where)
        self._closed = False
        self._when_there: Callable[[], None] = lambda: None
        if isinstance(source, LedgerFiles):
            self._adopt(source)
        self._begin_process()
        processes.watch(self)
        self._uuid = self._read_uuid()

    def _adopt(self, source: LedgerFiles) -> None:
        self._plan, self._witness = source.plan, source.witness
        self._options, self._place = source.options, source.place
        self._replaced = source.replaced

    def _read_uuid(self) -> bytes:
        with self._connection() as conn, store_faults(self._where):
            store_uuid = store_rows.read_setting(conn, store_rows.UUID)
        if store_uuid is None:
            raise damaged(self._where, "no store identity", then=RESTORE)
        return store_uuid

    def _begin_process(self) -> None:
        """Makes the state that belongs to one process."""
        self._pid = os.getpid()  # of the process that `_writer` of a memory store belongs to
        self._retired = chain.RetiredDigests()
        self._checked = CheckedMemories()
        self._write_lock = threading.RLock()
        self._write_depth = 0
        self._busy = connections.Busy()
        self._queue = processes.WriteQueue(Path(self._folder))
        self._readers = connections.Connections(
            self._plan, self._options.lock_timeout_s, self._place
        )
        self._writer: apsw.Connection | None = None
        self._log: int | None = None
        # of the transaction that is open, where it goes to a database first
        self._writing: UpstreamWrite | None = None
        if self.in_memory:
            self._writer = connections.open_writer(None, self._options.durability)
            migrations.create_tables(self._writer, migrations.MIGRATIONS)

    @property
    def _log_file(self) -> str:
        return f"{self._where}-wal"

    @property
    def in_memory(self) -> bool:
        """Return whether there is no file: one connection is all there is."""
        return self._path is None or self._pending is not None

    # --- a store that is not there yet --------------------------------------------------------

    @property
    def missing(self) -> AbsentStore | None:
        """Why there is no store yet at the path; None where there is one."""
        pending = self._pending
        return None if pending is None or pending.missing.is_over() else pending.missing

    @property
    def is_pending(self) -> bool:
        """Return whether this object still stands for an empty store."""
        return self._pending is not None

    def require(self, call: WithoutStore) -> None:
        """Before a call: what it does where there is no store.

        Raises:
            NotFoundError, ConflictError, StoreDamagedError: see `AbsentStore.error`.
        """
        missing = self.missing
        error = None if missing is None else missing.error(call)
        if error is not None:
            raise error

    @property
    def replaced(self) -> str:
        """Which store was at the path before, where this one was begun in place of a lost one."""
        return self._replaced

    def when_there(self, follow: Callable[[], None]) -> None:
        """`follow` is called once when a store that was missing is there."""
        self._when_there = follow

    def look_again(self, *, make: bool = False) -> None:
        """Goes over to the file once it is there, and makes it where asked.

        Raises:
            ConflictError: a closed store, or one of another process.
        """
        self._check_process()
        if self._pending is None:
            return
        with processes.inside(), self._write_lock:
            pending = self._pending
            if pending is None or not (make or pending.missing.is_over()):
                return
            self._adopt(pending.open_files(make))
            self._readers = connections.Connections(
                self._plan, self._options.lock_timeout_s, self._place
            )
            # Not closed: a view of the empty store may be open in this thread.
            self._writer = None
            self._pending = None
            self._uuid = self._read_uuid()
            self._when_there()

    def _check_process(self) -> None:
        """Refuses a closed store, and one of another process.

        Raises:
            ConflictError: says which.
        """
        if self._closed:
            raise ConflictError(f"{self._where}: expected an open store, it was closed")
        processes.require_usable(self._where)
        if self._path is None and self._pid != os.getpid():
            raise ConflictError(
                ":memory:: expected the process that made this store, found a child of it;"
                " open a store of its own there"
            )

    def leave_queue_of_parent(self) -> None:
        """In any child of a fork: what it has inherited would keep the places of its parent."""
        self._queue.close()

    def after_fork_in_child(self) -> None:
        """Closes what the parent opened; the child opens its own at first use."""
        if self._path is None:
            return
        inherited = [*self._readers.take_idle()]
        if self._writer is not None:
            inherited.append(self._writer)
        for conn in inherited:
            processes.close_inherited(conn)
        self._begin_process()

    # --- reading -----------------------------------------------------------------------------

    @property
    def store_uuid(self) -> bytes:
        """16 random bytes made at creation."""
        return self._uuid

    @property
    def path(self) -> Path | None:
        """The ledger file; None in memory."""
        return self._path

    @property
    def where(self) -> str:
        """How error messages name this store: the path of the ledger, or `:memory:`."""
        return self._where

    @property
    def read_only(self) -> bool:
        """Return whether writes are refused: by option, or because the folder cannot be written."""
        return self._options.read_only

    @property
    def upstream(self) -> Upstream | None:
        """The database that this ledger is a copy of; None for a store of its own."""
        return self._options.upstream

    @property
    def options(self) -> LedgerOptions:
        """How it is open."""
        return self._options

    @property
    def witness_paths(self) -> tuple[Path, ...]:
        """Copies of the witness; none in memory or read-only."""
        return () if self._witness is None else self._witness.paths

    @property
    def unwritten_witnesses(self) -> tuple[Path, ...]:
        """Copies of the witness that could not be written."""
        return () if self._witness is None else tuple(self._witness.missing)

    def _connection(self) -> _Connected:
        """A connection to read with; in memory there is only one, used by one thread at a time."""
        return _Connected(self)

    def _take_connection(self) -> tuple[apsw.Connection, bool]:
        """A connection, and whether it is the only one of a store in memory: then `_write_lock` is
        held."""
        self._check_process()
        if self.in_memory:
            self._write_lock.acquire()
            try:
                self._check_process()  # it may have been closed meanwhile
                # Another thread may have made the store while this one waited.
                if self.in_memory:
                    assert self._writer is not None
                    return self._writer, True
            except BaseException:
                self._write_lock.release()
                raise
            self._write_lock.release()
        return self._readers.take(), False

    def _give_back(self, conn: apsw.Connection, only: bool) -> None:
        if only:
            self._write_lock.release()
        else:
            self._readers.give_back(conn)

    def read(self) -> AbstractContextManager[LedgerView]:
        """One read transaction. In memory there is one connection: inside a write transaction
        of the same thread the view shows what is being written.

        Raises:
            StoreDamagedError: the file cannot be read as a ledger.
        """
        return _Reading(self)

    def view_of(self, conn: apsw.Connection, *, begin: bool = False) -> LedgerView:
        """The state that a transaction of this connection sees; `begin`: it is begun."""
        return LedgerView(conn, self._where, self._retired, self._checked, begin=begin)

    def embedding_identity(self) -> EmbeddingIdentity | None:
        """Which model made the vectors; None until the first vector."""
        return self._ask(store_rows.read_identity, self._where)

    def verify_all(self) -> list[Finding]:
        """Recomputes every digest and every link; [] when all is as it was written."""
        from vestig.store.integrity.verify import verify

        with self.read() as view:
            return verify(view.connection, self._uuid)

    def copy_to(self, target: Path) -> None:
        """A consistent, private, synced copy of the ledger while in use, even if it was removed.

        Raises:
            VestigError: the target cannot be written.
        """
        with _Connected(self, anywhere=True) as conn, store_faults(str(target)):
            try:
                migrations.copy_to(conn, target)
            except OSError as error:
                raise VestigError(
                    f"{target}: no copy can be written there: {error.strerror}"
                ) from error

    # --- writing -----------------------------------------------------------------------------

    def write(self, now_us: int, *, make: bool = True) -> AbstractContextManager[WriteTransaction]:
        """One write transaction: BEGIN IMMEDIATE, waits at most `lock_timeout_s`, commits
        durably on leaving, rolls back on an exception. `now_us` is the wall clock; the
        transaction's time is max(now, last recorded); see `clock_behind_us`.

        Raises:
            StoreLockedError: no lock in time, or a read-only store.
        """
        return self._write(now_us, make=make)

    @contextmanager
    def _write(self, now_us: int, *, make: bool = True) -> Iterator[WriteTransaction]:
        from vestig.store.records.writes import WriteTransaction

        with span("write") as counts, self.writer(make=make) as conn:
            with store_faults(self._where):
                txn = WriteTransaction(conn, self._where, self._retired, self._checked, now_us)
            yield txn
            if txn.applied is None:
                if txn.keeps_answer:
                    with store_faults(self._where):
                        self.commit(conn)
                return
            if self._pending is not None:
                raise ConflictError(f"{self._where}: expected a change of something stored")
            counts["rows"] = txn.rows_written
            with store_faults(self._where):
                self._commit(conn, txn.rows_written)
            # What was committed to a file that is no longer at the path is not acknowledged; that
            # of a copy is stored all the same.
            if self.upstream is None:
                self.check_place()
            seq, head = txn.applied
            if self._witness is not None:
                self._witness.write(Witness(seq + 1, head, txn.recorded_us))

    @property
    def moved(self) -> bool:
        """Return whether folder, ledger or log at the path are not those that were opened: moved,
        deleted or replaced. Two or three system calls. Nothing else is taken for them: they are
        open here, so that no other file has their numbers."""
        if self._place is None:
            return False
        if files.place_of(self._where, self._folder) != self._place:
            return True
        # While the writer is open nobody else may remove its log.
        return self._log is not None and files.inode_of(self._log_file) != self._log

    def reopen_readers(self) -> None:
        """Closes connections at rest, so that the next ones share a file with the writer again."""
        for conn in self._readers.take_idle():
            conn.close()

    def check_place(self) -> None:
        """Refuses to go on where the files at the path are no longer those that were opened.

        Raises:
            StoreDamagedError: see `moved`. Nothing was read, and nothing is acknowledged.
        """
        if self._place is not None and self.moved:
            raise moved_error(self._where, self._place)

    @contextmanager
    def writer(self, *, make: bool = True, local: bool = False) -> Iterator[apsw.Connection]:
        """The writing connection inside BEGIN IMMEDIATE, for bookkeeping that takes no seq; what is
        not committed on leaving is undone. `make`: a store that is missing is made first; without
        it, for calls that only change what is stored, the connection is to an empty one in memory.
        `local`: what is written concerns these files alone, and no upstream takes it.

        Raises:
            StoreLockedError: no lock in time, or a read-only store.
        """
        self.look_again(make=make)
        if self._options.read_only:
            raise not_writable(
                f"{self._where}: expected a writable store, this one is open read-only"
                " (asked for, or its folder cannot be written);"
                f" {by_caller('open it again for writing', 'let this user write there')}"
            )
        self.check_place()
        with processes.inside():
            yield from self._locked_writer(None if local else self._options.upstream)

    def _locked_writer(self, upstream: Upstream | None) -> Iterator[apsw.Connection]:
        started = time.monotonic()
        deadline = started + self._options.lock_timeout_s
        if not self._write_lock.acquire(timeout=max(0.0, self._options.lock_timeout_s)):
            raise self._locked(started, "another thread of this process")
        try:
            self._check_process()  # it may have been closed meanwhile
            if self._write_depth:
                raise ConflictError(
                    f"{self._where}: expected one write transaction per thread, one is open"
                )
            self._write_depth += 1
            try:
                if upstream is None:
                    yield from self._immediate(started, deadline)
                else:
                    yield from self._upstream_first(upstream, started, deadline)
            finally:
                self._write_depth -= 1
        finally:
            self._write_lock.release()

    def _upstream_first(
        self, upstream: Upstream, started: float, deadline: float
    ) -> Iterator[apsw.Connection]:
        """The writer of `_immediate` at the newest state of the upstream, whose lock is held."""
        with upstream.locked(deadline) as write:
            for conn in self._immediate(started, deadline):
                with store_faults(self._where):
                    write.begin(conn)
                self._writing = write
                try:
                    yield conn
                finally:
                    self._writing = None

    def _immediate(self, started: float, deadline: float) -> Iterator[apsw.Connection]:
        try:
            with store_faults(self._where):
                try:
                    conn = self._begin_in_turn(deadline)
                except apsw.ReadOnlyError as error:
                    if self._path is None or not files.is_short_of_space(self._path.parent):
                        raise
                    raise files.full(self._path) from error
                except apsw.BusyError as error:
                    holder = "" if self._path is None else files.lock_holder(self._path)
                    raise self._locked(started, holder) from error
            if self._log is None and self._place is not None:
                self._log = files.inode_of(self._log_file)
            self.check_place()
            yield conn
        finally:
            # An interrupt may come when the transaction has just begun.
            if self._writer is not None and self._writer.in_transaction:
                self._writer.execute("ROLLBACK")

    def _begin_in_turn(self, deadline: float) -> apsw.Connection:
        """The writer inside a transaction.

        Raises:
            apsw.BusyError: not before the deadline.
        """
        if self.in_memory:
            return self._begin()
        busy = apsw.BusyError("no turn before the deadline")
        with closing(self._queue.turns(deadline)) as turns:
            for _ in turns:
                self._busy.deadline = 0.0
                try:
                    conn = self._begin()
                except apsw.BusyError as error:
                    busy = error
                else:
                    self._busy.deadline = deadline
                    return conn
        raise busy

    def _begin(self) -> apsw.Connection:
        """The writer inside a transaction, if the lock is free."""
        if self._writer is not None:
            self._writer.execute("BEGIN IMMEDIATE")
            return self._writer
        try:
            return self._first_begin()
        except apsw.ReadOnlyError:
            # Readers of this process that found the disk full share no file with a writer.
            self.reopen_readers()
            return self._first_begin()

    def _first_begin(self) -> apsw.Connection:
        self._writer = conn = connections.open_writer(self._path, self._options.durability)
        try:
            conn.set_busy_handler(self._busy)
            conn.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            raise  # the next try needs no other connection
        except BaseException:
            self._writer = None
            conn.close()
            raise
        return conn

    def _locked(self, started: float, holder: str) -> StoreLockedError:
        waited = time.monotonic() - started
        by = f", held by {holder}" if holder else ""
        return StoreLockedError(
            f"{self._where}: expected the write lock within {self._options.lock_timeout_s:g} s,"
            f" waited {waited:.2f} s{by}; retry, or raise store.lock_timeout_s"
        )

    def _commit(self, conn: apsw.Connection, rows: int) -> None:
        batch = rows >= _BATCH_ROWS
        conn.wal_autocheckpoint(_BATCH_CHECKPOINT_PAGES if batch else _CHECKPOINT_PAGES)
        self.commit(conn)

    def commit(self, conn: apsw.Connection) -> None:
        """Ends the transaction of `writer` with all that it wrote: first where the truth is, if
        this ledger is a copy of it."""
        if self._writing is not None:
            self._writing.commit(conn)
        else:
            conn.execute("COMMIT")

    def _change(self, change: Callable[[apsw.Connection, *_Given], _T], *given: *_Given) -> _T:
        """Runs a change of what is stored in one write without a seq, and returns what it does."""
        with self.writer(make=False) as conn, store_faults(self._where):
            changed = change(conn, *given)
            self.commit(conn)
        return changed

    def _ask(self, ask: Callable[[apsw.Connection, *_Given], _T], *given: *_Given) -> _T:
        """Return what a function reads from a connection."""
        with self._connection() as conn, store_faults(self._where):
            return ask(conn, *given)

    def touch(self, namespace: str, touch: AccessTouch) -> None:
        """Access counters in one write without a seq.

        Raises:
            NotFoundError: an unknown id; nothing was written.
        """
        if touch.memory_ids or touch.entity_ids or touch.rules:
            self._change(jobs.touch, namespace, touch)

    def due_jobs(
        self,
        namespace: str,
        now_us: int,
        kinds: Sequence[str],
        limit: int,
        ids: Sequence[str] | None = None,
    ) -> list[Job]:
        """Takes due jobs: state running, lease set. Expired leases are due again. `ids`: only
        these; None = all."""
        if not kinds:
            return []
        due = jobs.Due(namespace, kinds, now_us, limit, ids)
        return self._change(jobs.take_due, due, self._options.jobs)

    def due_jobs_by_memory(
        self,
        namespace: str,
        now_us: int,
        kinds: Sequence[str],
        limit: int,
        ids: Sequence[str] | None = None,
    ) -> list[list[Job]]:
        """Return what `due_jobs` returns, all due kinds of a memory together, for `limit`
        memories."""
        if not kinds:
            return []
        due = jobs.Due(namespace, kinds, now_us, limit, ids)
        return self._change(jobs.take_due_by_memory, due, self._options.jobs)

    def finish_jobs(self, results: Sequence[JobResult], now_us: int) -> list[str]:
        """Ends several jobs of one namespace in one transaction: what those that succeeded write is
        one change set, each of the others is one failed attempt. Ids of the jobs that were ended: a
        job that is gone or done is left out with all that it would have written, and what a
        decision raises undoes everything."""
        with self._write(now_us, make=False) as txn, store_faults(self._where):
            conn = txn.connection
            found = [(one, jobs.find(conn, one.job_id)) for one in results]
            open_ = [(one, job) for one, job in found if job is not None and job[2] != "done"]
            if not open_:
                return []
            changes = jobs.merged_changes([one for one, _ in open_], txn)
            if changes is not None:
                txn.apply(changes)
            for one, job in open_:
                jobs.end(conn, job, now_us, one.error, self._options.jobs)
            if txn.applied is None:
                self.commit(conn)
        return [one.job_id for one, _ in open_]

    def due_job_counts(self, now_us: int, kinds: Sequence[str]) -> dict[str, int]:
        """Namespace → number of its due jobs; only those that have some. Takes no lock."""
        return self._ask(jobs.due_counts, kinds, now_us)

    def release_jobs(
        self,
        job_ids: Sequence[str],
        now_us: int,
        *,
        until_us: int | None = None,
        reason: str | None = None,
    ) -> int:
        """Running and submitted jobs are pending again without an attempt: due at once, or at
        `until_us`. `reason` becomes their last error. How many."""
        return self._change(jobs.release, job_ids, now_us, until_us, reason)

    def submit_jobs(self, job_ids: Sequence[str], batch_id: str, now_us: int) -> int:
        """Running and submitted jobs are part of a batch; how many. Leases do not apply to them.

        Called with a marker of the caller before the batch is submitted, and again with the id that
        it was given: of a marker that stays nobody knows if there is a batch, until it is listed.
        """
        return self._change(jobs.submit, job_ids, batch_id, now_us)

    def submitted_batches(self, namespace: str) -> dict[str, list[Job]]:
        """Batch or marker → its submitted jobs, oldest first."""
        return self._ask(jobs.submitted, namespace)

    def reserve_model_calls(self, day: int, count: int, limit: int | None) -> bool:
        """Reserves calls of a model before they are sent, for all processes of the store; False,
        and nothing reserved, when the day would have more than `limit` (None = no limit).

        Args:
            day: days since 1970-01-01 (UTC).
        """
        return self._change(store_rows.reserve_calls, day, count, limit)

    def reserved_model_calls(self, day: int) -> int:
        """How many calls of that day were reserved."""
        return self._ask(store_rows.reserved_calls, day)

    def answer_of(self, namespace: str, key: str, *, since_us: int) -> StoredAnswer | None:
        """The answer that was kept for this key at `since_us` or later."""
        return self._ask(store_rows.answer_of, namespace, key, since_us)

    def log_requests(self, requests: Sequence[RequestRecord]) -> None:
        """Appends to the log of requests; takes no seq."""
        with self.writer(make=False, local=True) as conn, store_faults(self._where):
            store_rows.log_requests(conn, requests)
            self.commit(conn)

    def retry_failed(self, namespace: str, kinds: Sequence[str], now_us: int) -> int:
        """Makes failed jobs of these kinds pending again; how many."""
        return self._change(jobs.retry_failed, namespace, kinds, now_us)

    def set_embedding_identity(self, identity: EmbeddingIdentity) -> None:
        """Remembered without a seq; the next write transaction takes it into the chain."""
        raw = msgspec.msgpack.encode(identity)
        with self.writer() as conn, store_faults(self._where):
            store_rows.write_setting(conn, store_rows.IDENTITY, raw)
            self.commit(conn)

    @contextmanager
    def _idle_writer(self) -> Iterator[apsw.Connection]:
        """The writer with no transaction open."""
        with self.writer(make=False, local=True) as conn, store_faults(self._where):
            conn.execute("ROLLBACK")
            yield conn

    def checkpoint(self) -> bool:
        """Moves the WAL into the file and empties it; False when others are reading or writing."""
        with self._idle_writer() as conn:
            self._busy.deadline = 0.0  # waiting for a long reader would block writers
            try:
                ((busy, _frames, _moved),) = fetch(conn, "PRAGMA wal_checkpoint(TRUNCATE)")
            except apsw.BusyError:
                return False
            return int(busy) == 0

    def rewrite(self) -> None:
        """Makes the file anew from its live rows (VACUUM), so that no page keeps old bytes.

        Raises:
            StoreLockedError: others write.
        """
        with self._idle_writer() as conn:
            # In memory a large ledger might not fit twice.
            conn.execute("PRAGMA temp_store = FILE")
            try:
                conn.execute("VACUUM")
            finally:
                conn.execute("PRAGMA temp_store = MEMORY")

    def close(self) -> None:
        """Idempotent. Waits for a write transaction of another thread."""
        if self._closed:
            return
        if self._pid != os.getpid():
            self._closed = True  # what is open here belongs to the parent
            return
        with processes.inside(), self._write_lock:
            self._closed = True
            self._readers.close()
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            self._queue.close()
            if self._witness is not None:
                self._witness.close()
            if self._plan is not None:
                self._plan.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
