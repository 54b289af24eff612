"""Keeps the projection at the seq of the ledger: catch-up, rebuild, publishing, and the removal of
its files.

Invariant: a callback given to `run` sees a ledger view and a projection of one and the same `seq`.
The projection only ever moves forward inside one process, under `_lock`.
"""

from __future__ import annotations

import errno
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from vestig import _core
from vestig.errors import EmbeddingMismatchError, StoreDamagedError, VestigError
from vestig.ports import Progress, ProjectionRow, ScanRequest
from vestig.store.ledger.ledger import Ledger
from vestig.store.projection import background
from vestig.store.projection.background import SEGMENTS_MAX, Merger, error_text
from vestig.store.records.reads import LedgerView
from vestig.store.records.store_rows import read_identity
from vestig.store.sqlite import files, processes
from vestig.telemetry import span
from vestig.types import Degradation

if TYPE_CHECKING:
    from vestig.store.records.writes import WriteTransaction


T = TypeVar("T")

# A cold process reads the tail from the ledger, so it must stay short.
TAIL_ROWS_MAX: Final = 2_048
# A process that ends leaves at most this many rows for the next one to read from the ledger.
CLOSING_ROWS_MIN: Final = 256
# A process that ends merges no more than this, so that it ends soon.
CLOSING_BYTES_MAX: Final = 64 << 20
# A process that publishes for the second time lives long enough to merge in the background.
_PUBLICATIONS_MIN: Final = 2
# Attempts to find ledger and projection at one seq while other threads write.
_ATTEMPTS: Final = 4
_CHUNK: Final = 4_096
_POLL_S: Final = 0.02


class ProjectionKeeper:
    """The projection of one store, kept at the seq of its ledger."""

    def __init__(
        self,
        ledger: Ledger,
        directory: Path | None,
        *,
        dimensions: int,
        model: str,
        read_only: bool,
    ) -> None:
        self._ledger = ledger
        self._read_only = read_only
        self._model = model
        self._dimensions = dimensions
        self._lock = threading.RLock()
        # The merging thread appends too.
        self._degraded: deque[Degradation] = deque()
        self._wrote = False
        self._publications = 0
        self._last_read_s = time.monotonic()
        self.core = self._open_core(directory, read_only=read_only)
        # set before the merger exists: at exit every merger asks for it, that of a keeper whose
        # opening was interrupted too
        self.merger = Merger(
            lambda: self.core,
            lambda what: self.report("projection_stale", what),
            lambda: self._give_to_owner(self._directory),
        )
        self._begin(directory)

    def _begin(self, directory: Path | None) -> None:
        self._directory = directory
        if self.core.discarded is not None:
            self.report("projection_rebuilt", self.core.discarded)
        elif self.core.generation == 0 and directory is not None:
            self._first_manifest()
        if directory is not None:
            background.watch_idle(self)

    def _open_core(self, directory: Path | None, *, read_only: bool) -> _core.Projection:
        """A folder that cannot be made, on a full disk, is one without files.

        Raises:
            StoreLockedError: a file may not be read.
        """
        try:
            core = _core.Projection.open(
                None if directory is None else str(directory),
                self._ledger.store_uuid,
                self._dimensions,
                self._model,
                read_only,
            )
            self._give_to_owner(directory)
            return core
        except OSError as error:
            if directory is not None and isinstance(error, PermissionError):
                raise files.projection_not_permitted(directory) from error
            if error.errno not in files.FULL_ERRNOS or read_only:
                raise
            self.report("projection_stale", "could not be published: the disk is full")
            return self._open_core(directory, read_only=True)

    def _give_to_owner(self, directory: Path | None) -> None:
        """Files that the superuser wrote into a store of somebody else become theirs."""
        if directory is not None and not self._read_only:
            files.give_to_owner(directory.parent)

    def move_to(self, directory: Path) -> None:
        """The projection of an empty store in memory becomes that of the store which has been made
        in its place."""
        with self._lock:
            self.core.close()
            self.core = self._open_core(directory, read_only=self._read_only)
            self._begin(directory)

    def _first_manifest(self) -> None:
        """A store has a manifest from its creation on, so a missing one was deleted."""
        with self._ledger.read() as view:
            if view.seq > 0:
                self.report("projection_rebuilt", "no projection was found beside the ledger")
                self._fill(view, None)
        if not self._read_only:
            self._publish(True)

    # --- one state -------------------------------------------------------------------------

    def run(self, read: Callable[[LedgerView, _core.Projection], T]) -> T:
        """`read(view, projection)` with both at one seq. `read` may be called more than once."""
        with processes.inside():
            return self._run(read)

    def _run(self, read: Callable[[LedgerView, _core.Projection], T]) -> T:
        for _ in range(_ATTEMPTS):
            with self._ledger.read() as view:
                if not self.align(view):
                    continue
                try:
                    return read(view, self.core)
                except _core.SnapshotMoved:
                    continue
        # Other threads keep moving the projection: lock them out for one read.
        with self._newest_view() as view:
            return self.run_locked(view, lambda: read(view, self.core))

    def run_locked(self, view: LedgerView, read: Callable[[], T]) -> T:
        """`read()` while the projection is at the seq of this newest view and no other thread can
        move it: for a writer, whose view cannot be read again."""
        with self._lock:
            if not self.align(view):
                raise self._ledger_too_short(view)
            return read()

    @contextmanager
    def _newest_view(self) -> Iterator[LedgerView]:
        """`_lock` and the newest state. In memory a view holds the only connection, and threads
        that hold it take `_lock`: so a view comes before the lock here as well."""
        before = self._ledger.read() if self._ledger.in_memory else nullcontext()
        with before, self._lock, self._ledger.read() as view:
            yield view

    def align(self, view: LedgerView) -> bool:
        """Brings the projection to the view's seq; False when it already stands later.

        Raises:
            StoreDamagedError: the projection knows transactions that the ledger lacks.
        """
        self._last_read_s = time.monotonic()
        with self._lock:
            core = self.core
            try:
                if self._ledger.moved:
                    self.report("projection_stale", "the store was moved or removed while open")
                else:
                    core.refresh()
            except _core.ProjectionDamaged as damage:
                self._check_model(view)
                self._rebuild(view, str(damage))
                return True
            except OSError as error:
                self._not_refreshed(error)
            seq = view.seq
            if core.applied_seq > seq:
                return False
            if core.applied_seq < seq:
                self._check_model(view)
                if core.applied_seq and view.head_at(core.applied_seq) != core.chain_head:
                    raise _other_history(core.applied_seq)
                if core.applied_seq == 0:
                    with span("catch-up"):
                        self._fill(view, None)
                    if core.discarded is not None and not self._read_only:
                        self._publish(True)
                else:
                    with span("catch-up") as counts:
                        rows = list(view.projection_rows(core.applied_seq))
                        gone = view.removed_after(core.applied_seq)
                        counts.update(rows=len(rows), removed=len(gone))
                        core.apply(rows, seq, view.head, gone)
            return True

    def refresh_if_idle(self) -> None:
        """Takes over a newer manifest and lets go of the segments that it replaced, unless this
        store was read just now or is in use by another thread: a read does the same."""
        if time.monotonic() - self._last_read_s < background.IDLE_S:
            return
        if not self._lock.acquire(blocking=False):
            return
        try:
            # What fails here fails again in the next read, which reports it.
            with suppress(_core.ProjectionDamaged, OSError):
                if not self._ledger.moved:
                    self.core.refresh()
        finally:
            self._lock.release()

    def _not_refreshed(self, error: OSError) -> None:
        """Report that newer files could not be read: what is mapped and the rows of the ledger
        answer as well.

        Raises:
            StoreDamagedError: a link stands in the place of a file.
        """
        if error.errno == errno.ELOOP and self._directory is not None:
            raise files.linked(self._directory) from error
        self.report("projection_stale", f"not read again: {error.strerror or error}")

    def _check_model(self, view: LedgerView) -> None:
        """Another process may have given the store vectors of another model."""
        identity = read_identity(view.connection, view.where)
        if identity is not None and identity.model != self._model:
            raise EmbeddingMismatchError(
                f"the store was opened for vectors of {self._model}, and it holds those of"
                f" {identity.model} ({identity.dimensions} dimensions): another process has made it"
                " or embedded it again since; open it again with that model"
            )

    def check_history(self) -> None:
        """At open: the projection must not be ahead of, or beside, the ledger."""
        with self._newest_view() as view:
            if self.core.applied_seq > view.seq:
                raise self._ledger_too_short(view)
            applied = self.core.applied_seq
            if applied and view.head_at(applied) != self.core.chain_head:
                raise _other_history(applied)

    def accept_history(self) -> None:
        """Accepts the ledger as it is: a projection of another history is discarded and rebuilt."""
        with self._newest_view() as view:
            core = self.core
            applied = core.applied_seq
            if applied > view.seq or (applied and view.head_at(applied) != core.chain_head):
                self._rebuild(view, "the ledger was taken as it stands")

    def _ledger_too_short(self, view: LedgerView) -> StoreDamagedError:
        missing = self.core.applied_seq - view.seq
        return StoreDamagedError(
            f"the ledger ends at transaction {view.seq}, but the projection has seen"
            f" {self.core.applied_seq}: {missing} transactions are missing; put the newer ledger"
            " back, run `vestig doctor`, or take this one with `vestig rebuild --accept-ledger`"
        )

    # --- rebuilding and publishing ---------------------------------------------------------

    def rebuild(self, progress: Progress | None = None) -> int:
        """Discards the projection and makes it again from the ledger alone; returns its rows."""
        for _ in range(_ATTEMPTS):
            with self._newest_view() as view:
                self.core.reset()
                self._fill(view, progress)
                self._wrote = True
                try:
                    if not self._read_only:
                        self.core.publish(True)
                        self._give_to_owner(self._directory)
                    break
                except _core.SnapshotMoved:
                    # Another process published meanwhile, perhaps without what was just
                    # forgotten: what was read before that must not come back.
                    continue
                except OSError as error:
                    raise VestigError(
                        "the projection was made again but could not be written"
                        f" ({error.strerror or error}); this process goes on with it,"
                        f" {self._way(error)} and run `vestig rebuild` again"
                    ) from error
        return self.core.rows

    def _rebuild(self, view: LedgerView, reason: str) -> None:
        self.report("projection_rebuilt", reason)
        self.core.reset()
        self._fill(view, None)
        if not self._read_only:
            self._publish(True)

    def _fill(self, view: LedgerView, progress: Progress | None) -> None:
        done = 0
        # Until the last chunk is in, the projection claims nothing: an interrupted fill starts
        # again from the first row.
        for chunk in chunks_of(view.projection_rows(0)):
            self.core.apply(chunk, 0, bytes(32))
            done += len(chunk)
            if progress is not None:
                progress(done, None)
        self.core.apply([], view.seq, view.head)

    def after_commit(self, txn: WriteTransaction | None = None) -> list[Degradation]:
        """Brings this process up to its own commit and publishes a long tail. `txn`: the one
        that was committed, whose rows need not be read again.

        The commit is durable already: what fails here is a degradation, never an error.
        """
        self._wrote = True
        try:
            if txn is None or not self._apply_new_rows(txn):
                with self._ledger.read() as view:
                    self.align(view)
        except VestigError as error:
            self.report("projection_stale", f"not brought up to date ({type(error).__name__})")
        if self.core.tail_rows >= TAIL_ROWS_MAX and not self._read_only:
            self._publish(False)
            self._publications += 1
            if self._publications >= _PUBLICATIONS_MIN and self.core.segments > SEGMENTS_MAX:
                self.merger.wake()
        return self.take_degraded()

    def _apply_new_rows(self, txn: WriteTransaction) -> bool:
        """Adds what a transaction wrote to a projection that stands just before it, and reads the
        rows that it changed; False when all must be read."""
        new = txn.new_rows()
        if new is None or txn.applied is None:
            return False
        rows = new.rows
        if new.changed:
            with self._ledger.read() as view:
                if view.seq != txn.applied[0]:
                    return False
                rows = [*rows, *view.projection_rows_of(new.changed)]
        with self._lock:
            core = self.core
            # The projection of a ledger without transactions knows no head.
            first = txn.seq == 0 and core.discarded is None
            if core.applied_seq != txn.seq or not (first or core.chain_head == txn.head):
                return False
            with span("catch-up", rows=len(rows)), suppress(_core.SnapshotMoved):
                core.apply(rows, *txn.applied, [], new.revisions)
                return True
        return False

    def publish(self) -> None:
        """Brings the files to what the ledger holds now; a full disk is a degradation.

        Raises:
            StoreDamagedError: see `align`.
        """
        with self._newest_view() as view:
            self.align(view)
        self._publish(False)

    def _publish(self, compact: bool) -> None:
        try:
            with span("publish"), self._lock:
                self.core.publish(compact)
                self._give_to_owner(self._directory)
        except _core.SnapshotMoved:
            return  # another process published; the next read takes that over
        except OSError as error:
            self.report("projection_stale", f"could not be published: {error.strerror or error}")

    def compact(self) -> int:
        """The tail and all segments into one, while others read and write; bytes written.

        Raises:
            VestigError: the disk refused; what was there is as good as before.
        """
        written = 0
        try:
            for _ in range(_ATTEMPTS):
                with self._newest_view() as view:
                    self.align(view)
                    try:
                        written += self.core.publish(False)
                    except _core.SnapshotMoved:
                        continue
                written += self.core.merge(1, wait=True)
                # Others may have published, or merged the same, meanwhile.
                if self.core.segments <= 1 and not self.core.tail_rows:
                    break
        except OSError as error:
            raise VestigError(
                f"the segments could not be merged ({error_text(error)}); nothing is lost,"
                f" {self._way(error)} and run `vestig housekeeping compact` again"
            ) from error
        self._give_to_owner(self._directory)
        return written

    def _way(self, error: OSError) -> str:
        """Return what is to be done before files of the projection can be written again."""
        if error.errno in files.FULL_ERRNOS:
            return "free some space"
        return f"make {self._directory} writable for the owner of the store"

    def drop_forgotten(self, deadline: float, *, whole: bool = False) -> int:
        """Replaces every segment that holds a forgotten memory; how many of the old ones are still
        being read at the deadline (`time.monotonic`).

        Args:
            whole: all segments, which leaves no version of a row that a later one replaced.

        Raises:
            OSError: the disk refused.
        """
        # What a merge writes now may hold what was forgotten.
        self.merger.pause()
        for _ in range(_ATTEMPTS):
            with self._newest_view() as view:
                self.align(view)
                try:
                    self.core.publish(whole)
                    self._give_to_owner(self._directory)
                    break
                except _core.SnapshotMoved:
                    continue
        while left := self.core.sweep():
            if time.monotonic() >= deadline:
                return left
            time.sleep(_POLL_S)
        return 0

    def eligible(self, view: LedgerView, chosen: dict[str, Any]) -> bytes:
        """Ids that a filter lets through, 16 bytes each; for a callback of `run`."""
        return self.core.eligible(view.seq, _core.Filter(**chosen))

    def eligible_count(self, view: LedgerView, chosen: dict[str, Any]) -> int:
        """How many memories a filter lets through; for a callback of `run`."""
        return self.core.eligible_count(view.seq, _core.Filter(**chosen))

    def close(self) -> None:
        """Publishes what this process wrote, unless it is little; reading processes change
        nothing. Many small segments are merged. Closes all files, so that nobody waits for this
        process."""
        background.unwatch_idle(self)
        self.merger.stop()
        # Another store at the path has files of its own.
        keeps = self._wrote and not self._read_only and not self._ledger.moved
        if keeps:
            if self.core.tail_rows >= CLOSING_ROWS_MIN:
                self._publish(False)
            try:
                self.core.merge(SEGMENTS_MAX, CLOSING_BYTES_MAX)
            except (OSError, _core.ProjectionDamaged) as error:
                # Nothing is lost: the next process finds the segments as they were.
                self.report(
                    "projection_stale", f"segments could not be merged: {error_text(error)}"
                )
        self.core.close()
        if keeps and self._directory is not None:
            files.keep_reserve(self._directory.parent)
            self._give_to_owner(self._directory)

    # --- scans -----------------------------------------------------------------------------

    def scan(self, seq: int, request: ScanRequest) -> _core.Scan:
        """One scan. Raises `_core.SnapshotMoved`, after which `run` reads again."""
        return scan_of(self.core, seq, request)

    def scan_many(self, seq: int, requests: Sequence[ScanRequest]) -> list[_core.Scan]:
        """Return what `scan` returns,  of each of several requests, in one pass over the arrays.
        They differ in nothing but the query, and watch nothing."""
        first = requests[0]
        return self.core.recall_many(
            seq,
            [request.query for request in requests],
            first.filter,
            first.ranking,
            limit=first.limit,
            pool=first.pool,
            shown=first.shown,
        )

    # --- degradations ----------------------------------------------------------------------

    def report(self, code: str, detail: str) -> None:
        """Adds a degradation to those that the next call returns."""
        entry = Degradation(code=code, detail=detail)
        if entry not in self._degraded:
            self._degraded.append(entry)

    def withdraw(self, codes: Collection[str]) -> None:
        """Takes back degradations that no call has returned yet and that are over."""
        for entry in list(self._degraded):
            if entry.code in codes:
                with suppress(ValueError):  # another thread has taken it
                    self._degraded.remove(entry)

    def take_degraded(self) -> list[Degradation]:
        """Degradations since the last call, each once."""
        taken = []
        while self._degraded:
            taken.append(self._degraded.popleft())
        return taken


def chunks_of(rows: Iterator[ProjectionRow]) -> Iterator[list[ProjectionRow]]:
    """The rows in lists of limited length, so that memory use does not grow."""
    while chunk := list(itertools.islice(rows, _CHUNK)):
        yield chunk


def scan_of(core: _core.Projection, seq: int, request: ScanRequest) -> _core.Scan:
    """One scan of a projection that stands at this seq."""
    return core.recall(
        seq,
        request.query,
        request.filter,
        request.ranking,
        limit=request.limit,
        pool=request.pool,
        watch=request.watch,
        shown=request.shown,
    )


def _other_history(seq: int) -> StoreDamagedError:
    return StoreDamagedError(
        f"the ledger's transaction {seq} is not the one the projection was made from: another"
        " ledger was put in its place; run `vestig doctor`, or take this one with"
        " `vestig rebuild --accept-ledger`"
    )


def discard_projection(directory: Path) -> None:
    """Removes all files of a projection. Processes that have them mapped keep what they see.

    Raises:
        VestigError: the disk refused; the ledger is untouched.
    """
    if not directory.exists():
        return
    import shutil

    try:
        shutil.rmtree(directory)
    except OSError as error:
        raise VestigError(
            f"{directory}: expected a projection that can be removed, got {error.strerror};"
            " mend the permissions and run `vestig rebuild` again"
        ) from error
