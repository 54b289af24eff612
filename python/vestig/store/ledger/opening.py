"""Opens a ledger: creates, migrates and checks it, and never puts a new one in the place of a lost
one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import apsw
import msgspec

from vestig.errors import ConflictError, StoreDamagedError, StoreLockedError, ValidationError
from vestig.store.integrity import chain
from vestig.store.integrity.chain import Witness, WitnessFiles, check_witness, witness_files
from vestig.store.ledger import migrations
from vestig.store.ledger.absent_store import (
    AbsentStore,
    WithoutStore,
    drop_record,
    find_absent,
    find_record,
    remember_path,
)
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.migrations import Migration
from vestig.store.ledger.options import LedgerFiles, LedgerOptions, PendingLedger, Upstream
from vestig.store.records import store_rows
from vestig.store.records.jobs import JobRules
from vestig.store.sqlite import files, processes
from vestig.store.sqlite.connections import (
    RESTORE,
    damaged,
    has_wal,
    open_reader,
    open_writer,
    plan_reading,
    require_sqlite,
    store_faults,
)


def open_ledger(
    path: Path | None,
    *,
    read_only: bool = False,
    lock_timeout_s: float = 5.0,
    durability: str = "full",
    state_dir: Path | None = None,
    accept: bool = False,
    job_rules: JobRules | None = None,
    schema: Sequence[Migration] | None = None,
    without_store: WithoutStore = "make",
    init: bool = False,
    upstream: Upstream | None = None,
) -> Ledger:
    """The ledger of the store in folder `path`; None = in memory.

    A store that cannot be written is opened read-only: it reads, and writes raise
    `StoreLockedError`. `state_dir` takes a second copy of the witness. `accept` accepts a ledger
    that is older than its witness (`vestig rebuild --accept-ledger`). `schema`
    replaces the list of migrations. `without_store`: on a path without a store it is made now,
    stands for an empty one until something is written, or is refused. `init`: a store may
    begin among other files, or where one was lost. `upstream`: the ledger is a copy of what it has;
    without it a copy is refused.

    Raises:
        ValidationError: a folder name that is too long, or a bad option.
        NotFoundError: no store, and `read_only` or `without_store="refuse"`.
        ConflictError: the folder holds other files and no store, or a copy of a tenant.
        StoreLockedError: a network file system, or no permission.
        SchemaVersionError: the ledger is of another schema version.
        StoreDamagedError: it is lost, damaged, or older than its witness.

    Example:
        >>> ledger = open_ledger(None)
        >>> with ledger.read() as view:
        ...     view.seq
        0
        >>> ledger.close()
    """
    require_sqlite()
    if durability not in ("full", "normal"):
        raise ValidationError("durability", durability, "full or normal")
    options = LedgerOptions(
        read_only=read_only,
        lock_timeout_s=lock_timeout_s,
        durability=durability,
        jobs=JobRules() if job_rules is None else job_rules,
        upstream=upstream,
    )
    if path is None:
        return Ledger(None, options)
    opening = _Opening(
        ledger=files.ledger_path(path),
        options=options,
        steps=migrations.MIGRATIONS if schema is None else tuple(schema),
        state_dir=state_dir,
        accept=accept,
        init=init,
    )
    processes.require_usable(str(opening.ledger))
    with processes.inside():
        return opening.open("refuse" if read_only else without_store)


def accept_ledger(path: Path, *, state_dir: Path | None = None) -> None:
    """Accepts the ledger as it is: lowers the witness to it, or makes one where there is none.

    Raises:
        StoreDamagedError: there is no ledger, or its newest link does not close.
    """
    open_ledger(path, state_dir=state_dir, accept=True).close()


class _Opening(msgspec.Struct, frozen=True, kw_only=True):
    """How the ledger of a path is opened. `open_files` and `make_files` may be called again."""

    ledger: Path
    options: LedgerOptions
    steps: Sequence[Migration]
    state_dir: Path | None
    accept: bool
    init: bool

    def open(self, without_store: WithoutStore) -> Ledger:
        files.refuse_links(self.ledger.parent)
        missing = self._find_absent()
        if missing is None:
            return Ledger(self.ledger, self.open_files())
        if without_store != "empty" or (missing.lost and not missing.removed):
            error = missing.error(without_store)
            if error is not None:
                raise error
        files.check_disk(self.ledger.parent)
        if without_store == "make":
            return Ledger(self.ledger, self.make_files())
        return Ledger(
            self.ledger,
            PendingLedger(
                missing=missing,
                options=self.options,
                open_files=lambda make: self.make_files() if make else self.open_files(),
            ),
        )

    def make_files(self) -> LedgerFiles:
        """Makes the ledger when nothing says that there was one, and opens it.

        Raises:
            ConflictError, StoreDamagedError: see `AbsentStore.error`.
        """
        missing = self._find_absent()
        if missing is None:
            return self.open_files()
        error = missing.error("make")
        if error is not None:
            raise error
        self._create()
        return msgspec.structs.replace(self.open_files(), replaced=missing.lost)

    def _find_absent(self) -> AbsentStore | None:
        return find_absent(self.ledger, init=self.init, state_dir=self.state_dir)

    def _create(self) -> None:
        folder = self.ledger.parent
        files.make_folder(folder)
        before = find_record(self.state_dir, folder)
        if before is not None and self.state_dir is not None:
            drop_record(self.state_dir, before)
        with store_faults(str(self.ledger)):
            try:
                if self.init:
                    files.set_aside(folder)
                migrations.create_file(self.ledger, self.steps)
            except OSError as error:
                if error.errno in files.FULL_ERRNOS:
                    raise files.full(folder) from error
                raise StoreLockedError(
                    f"{folder}: expected a folder to write a new store to, got {error.strerror}"
                ) from error

    def open_files(self) -> LedgerFiles:
        """Checks the ledger before anything is changed, and opens it."""
        ledger, options = self.ledger, self.options
        files.check_disk(ledger.parent)
        files.refuse_links(ledger.parent)
        if not os.access(ledger, os.R_OK):
            raise files.not_permitted(ledger)
        if ledger.stat().st_size == 0:
            raise damaged(str(ledger), "an empty file where a ledger was", then=RESTORE)
        if not options.read_only and not files.writable(ledger):
            options = msgspec.structs.replace(options, read_only=True, unwritable=True)
        older = _is_older(ledger, self.steps)
        where = str(ledger)
        if older and options.upstream is not None:
            raise damaged(where, "a copy of an earlier schema, which is not migrated")
        if not options.read_only:
            files.tighten(ledger)
            if older:  # a full disk must not keep others from reading
                self._migrate()
        plan = plan_reading(ledger, read_only=options.read_only)
        try:
            with store_faults(where, then=RESTORE):
                conn = open_reader(plan.ledger, plan.parameters, options.lock_timeout_s)
                try:
                    migrations.migrate(conn, ledger, self.steps, read_only=True)
                    witness = self._examine(conn, write=not options.read_only)
                finally:
                    conn.close()
        except BaseException:
            plan.close()
            raise
        return LedgerFiles(
            plan=plan,
            witness=None if options.read_only else witness,
            options=options,
            place=files.place_of(ledger),
        )

    def _examine(self, conn: apsw.Connection, *, write: bool) -> WitnessFiles | None:
        """Checks the head of the chain, compares it with the witness, and remembers the path. A
        copy of a tenant has no witness: its end may be lost, for it is compared with PostgreSQL."""
        ledger = self.ledger
        where = str(ledger)
        store_uuid = store_rows.read_setting(conn, store_rows.UUID)
        if store_uuid is None:
            raise damaged(where, "no store identity", then=RESTORE)
        self._refuse_another(store_uuid)
        copies = None
        if self.options.upstream is None:
            _refuse_copy(conn, ledger.parent)
            copies = WitnessFiles(witness_files(ledger.parent, store_uuid, self.state_dir))
        seen = [] if copies is None else copies.read()
        conn.execute("BEGIN")
        seq, head = chain.check_head(conn, where, store_uuid)
        if copies is not None and self.accept:
            copies.write(Witness(seq + 1, head), lower=True)
        else:
            check_witness(conn, ledger, seen, seq)
        conn.execute("ROLLBACK")
        if copies is not None and write and self.state_dir is not None:
            try:
                remember_path(self.state_dir, ledger.parent, store_uuid)
            except OSError:
                # Named by `doctor`, as a copy of the witness there would be.
                copies.missing.append(copies.paths[-1])
        return copies

    def _migrate(self) -> None:
        with store_faults(str(self.ledger)):
            conn = open_writer(self.ledger, self.options.durability)
            try:
                conn.set_busy_timeout(max(1, round(self.options.lock_timeout_s * 1000)))
                migrations.migrate(conn, self.ledger, self.steps, read_only=False)
            finally:
                conn.close()

    def _refuse_another(self, store_uuid: bytes) -> None:
        """Another store on another device is what lies below the mount point of this one.

        Raises:
            StoreDamagedError: names the store that was there.
        """
        folder = self.ledger.parent
        record = find_record(self.state_dir, folder)
        if record is None or self.state_dir is None or self.init:
            return
        if record.store_uuid != store_uuid and record.device != folder.stat().st_dev:
            raise StoreDamagedError(
                f"{folder}: expected {record.text(self.state_dir)}, found another store on another"
                " device (is the disk mounted?); mount it, or take the one that is there with"
                " `vestig doctor --forget-lost`"
            )


def _refuse_copy(conn: apsw.Connection, folder: Path) -> None:
    """A copy of a tenant takes no writes of its own: the tenant would never see them.

    Raises:
        ConflictError: names the tenant.
    """
    found = store_rows.read_upstream(conn)
    if found is not None:
        raise ConflictError(
            f"{folder}: expected a store, this is a copy of tenant {found.tenant} that a worker"
            f" keeps; open the tenant: vestig.open({found.address!r}, tenant={found.tenant!r})"
        )


def _is_older(ledger: Path, steps: Sequence[Migration]) -> bool:
    """Return whether the ledger has to be migrated; looked at in a way that changes no file, before
    anything else is opened.

    Raises:
        SchemaVersionError: it is of a version that no step leads from.
    """
    clean = not has_wal(ledger)
    if not clean and not os.access(ledger.parent, os.W_OK):
        return False  # read from a private copy, and looked at there
    with store_faults(str(ledger), then=RESTORE):
        conn = open_reader(ledger, "immutable=1" if clean else "mode=ro", 5.0)
        try:
            conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            version = migrations.version_of(conn)
            migrations.check_version(version, str(ledger), steps)
            return version < migrations.newest_version(steps)
        finally:
            conn.close()
