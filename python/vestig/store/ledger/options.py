"""How a ledger is opened, and what a copy of one asks before it writes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

import apsw
import msgspec

from vestig.store.integrity.chain import WitnessFiles
from vestig.store.ledger.absent_store import AbsentStore
from vestig.store.records.jobs import JobRules
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import ReadPlan


class UpstreamWrite(Protocol):
    """The right to write, of one transaction."""

    def begin(self, conn: apsw.Connection) -> None:
        """The transaction of the copy has begun: it is brought to the newest state, and what is
        written from here on is recorded."""

    def commit(self, conn: apsw.Connection) -> None:
        """Commits what was recorded there, and then the transaction of the copy.

        Raises:
            OutcomeUnknownError: it is not known to be stored.
            StoreLockedError: it is not.
            StoreFullError: no room for it in the copy; the message says where it is stored.
        """


class Upstream(Protocol):
    """The database that a ledger is a copy of. Every transaction of the copy is committed there
    first, by one writer at a time."""

    def locked(self, deadline: float) -> AbstractContextManager[UpstreamWrite]:
        """The right to write, taken before the lock of the copy and given back on leaving.

        Args:
            deadline: by `time.monotonic`.

        Raises:
            StoreLockedError: not before the deadline, or the database does not answer.
        """


class LedgerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a ledger is opened. `unwritable`: read-only because its files cannot be written, and not
    because that was asked for."""

    read_only: bool = False
    unwritable: bool = False
    lock_timeout_s: float = 5.0
    durability: str = "full"
    jobs: JobRules = JobRules()
    upstream: Upstream | None = None


class LedgerFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The open files of a store: how the ledger is read, and the copies of its witness (None:
    read-only)."""

    plan: ReadPlan
    witness: WitnessFiles | None
    options: LedgerOptions
    place: files.Place | None
    # which store was here before, where its folder is gone and this one was begun in its place
    replaced: str = ""


class PendingLedger(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger that is not there yet. `open_files(make)` opens it, and makes it where asked."""

    missing: AbsentStore
    options: LedgerOptions
    open_files: Callable[[bool], LedgerFiles]
