"""Opens a ledger: creates, migrates and checks it, and never puts a new one in the place of a lost
one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import apsw
import msgspec

from vestig.errors import StoreDamagedError, StoreLockedError, ValidationError
from vestig.store.ledger import chain, migrations, settings
from vestig.store.ledger.jobs import JobRules
from vestig.store.ledger.ledger import LedgerOptions, SqliteLedger
from vestig.store.ledger.migrations import Migration
from vestig.store.ledger.witness import Witness, WitnessFiles, check_witness, witness_files
from vestig.store.sqlite import files, forks
from vestig.store.sqlite.connections import (
    has_wal,
    open_reader,
    open_writer,
    plan_reading,
    require_sqlite,
)
from vestig.store.sqlite.faults import damaged, store_faults

__all__ = ["accept_ledger", "open_ledger"]


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
) -> SqliteLedger:
    """The ledger of the store in folder `path`, made when there is none; None = in memory.

    A store that cannot be written is opened read-only: it reads, and writes raise
    `StoreLockedError`. `state_dir` takes a second copy of the witness. `accept` accepts a ledger
    that is older than its witness (`vestig rebuild --accept-ledger`). `schema`
    replaces the list of migrations.

    Raises:
        ValidationError: a folder name that is too long, or a bad option.
        StoreLockedError: a network file system, or no permission.
        StoreDamagedError: the ledger is lost, damaged, older than its witness, or newer than
            this program.

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
    steps = migrations.MIGRATIONS if schema is None else tuple(schema)
    options = LedgerOptions(
        read_only=read_only,
        lock_timeout_s=lock_timeout_s,
        durability=durability,
        jobs=JobRules() if job_rules is None else job_rules,
    )
    if path is None:
        return SqliteLedger(None, None, None, options)
    ledger = files.ledger_path(path)
    forks.require_usable(str(ledger))
    with forks.inside():
        return _open_file(ledger, options, steps, state_dir, accept=accept)


def accept_ledger(path: Path, *, state_dir: Path | None = None) -> None:
    """Accepts the ledger as it is: lowers the witness to it.

    Raises:
        StoreDamagedError: there is no ledger, or its newest link does not close.
    """
    open_ledger(path, state_dir=state_dir, accept=True).close()


def _open_file(
    ledger: Path,
    options: LedgerOptions,
    steps: Sequence[Migration],
    state_dir: Path | None,
    *,
    accept: bool,
) -> SqliteLedger:
    """Finds or makes the file and checks it before anything is changed."""
    if ledger.exists():
        files.check_disk(ledger.parent)
        if ledger.stat().st_size == 0:
            raise damaged(str(ledger), "an empty file where a ledger was")
        if not options.read_only and not files.writable(ledger):
            options = msgspec.structs.replace(options, read_only=True)
    else:
        _create(ledger, steps, read_only=options.read_only)
    _refuse_newer(ledger, steps)
    if not options.read_only:
        files.make_folder(ledger.parent)
    return _open(ledger, options, steps, state_dir, accept=accept)


def _create(ledger: Path, steps: Sequence[Migration], *, read_only: bool) -> None:
    """Makes the ledger when nothing says that there was one."""
    folder = ledger.parent
    left = files.leftovers(folder)
    if left is not None:
        raise StoreDamagedError(
            f"{ledger}: expected the ledger that {left} belongs to, it is missing; put it back"
            " from a backup, or move the folder away to start a new store (`vestig doctor`)"
        )
    if read_only:
        raise StoreLockedError(
            f"{ledger}: expected a store to read, there is none; open it for writing once"
        )
    files.check_disk(folder)
    files.make_folder(folder)
    with store_faults(str(ledger)):
        try:
            migrations.create_file(ledger, steps)
        except OSError as error:
            raise StoreLockedError(
                f"{folder}: expected a folder to write a new store to, got {error.strerror}"
            ) from error


def _refuse_newer(ledger: Path, steps: Sequence[Migration]) -> None:
    """Looks at the version in a way that changes no file, before anything else is opened."""
    clean = not has_wal(ledger)
    if not clean and not os.access(ledger.parent, os.W_OK):
        return  # read from a private copy, and looked at there
    with store_faults(str(ledger)):
        conn = open_reader(ledger, "immutable=1" if clean else "mode=ro", 5.0)
        try:
            conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            migrations.check_version(migrations.version_of(conn), str(ledger), steps)
        finally:
            conn.close()


def _open(
    ledger: Path,
    options: LedgerOptions,
    steps: Sequence[Migration],
    state_dir: Path | None,
    *,
    accept: bool,
) -> SqliteLedger:
    where = str(ledger)
    if not options.read_only:
        with store_faults(where):
            conn = open_writer(ledger, options.durability)
            try:
                conn.set_busy_timeout(max(1, round(options.lock_timeout_s * 1000)))
                migrations.migrate(conn, ledger, steps, read_only=False)
            finally:
                conn.close()
    plan = plan_reading(ledger, read_only=options.read_only)
    try:
        with store_faults(where):
            conn = open_reader(plan.ledger, plan.parameters, options.lock_timeout_s)
            try:
                migrations.migrate(conn, ledger, steps, read_only=True)
                witness = _examine(conn, ledger, state_dir, accept=accept)
            finally:
                conn.close()
        return SqliteLedger(ledger, plan, None if options.read_only else witness, options)
    except BaseException:
        plan.close()
        raise


def _examine(
    conn: apsw.Connection, ledger: Path, state_dir: Path | None, *, accept: bool
) -> WitnessFiles:
    """Checks the head of the chain and compares it with the witness."""
    where = str(ledger)
    store_uuid = settings.read_setting(conn, settings.UUID)
    if store_uuid is None:
        raise damaged(where, "no store identity")
    files_ = WitnessFiles(witness_files(ledger.parent, store_uuid, state_dir))
    seen = files_.read()
    conn.execute("BEGIN")
    seq, head = chain.check_head(conn, where, store_uuid)
    if accept:
        files_.write(Witness(seq + 1, head), lower=True)
    else:
        check_witness(conn, ledger, seen, seq)
    conn.execute("ROLLBACK")
    return files_
