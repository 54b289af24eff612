"""Makes tenants of stores and stores of tenants, lists and drops them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from vestig.api.store import Vestig
from vestig.arguments import parse_time
from vestig.calls.opening import OpenRequest
from vestig.config import Config
from vestig.errors import ConflictError, StoreDamagedError, ValidationError
from vestig.results import Finding, FleetReport, TenantReport
from vestig.session.opening import keeper_for, open_session
from vestig.session.session import system_clock
from vestig.session.tenant import poller_of, tenant_name
from vestig.store.ledger import migrations
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import accept_ledger, open_ledger
from vestig.store.replication.cache import detach, drop_lost, machines_behind, machines_of
from vestig.store.replication.postgres import Database, SnapshotIsNewerError
from vestig.store.replication.rows import ID_BYTES, Place, TenantRow
from vestig.store.replication.snapshot import pack, unpack
from vestig.store.sqlite import files
from vestig.times import format_us, to_us

# How long a table may take whose pages are written anew.
REWRITE_LIMIT_S: Final = 3_600.0


def database_of(config: Config, path: str | None = None) -> Database:
    """The database that `store.path` names, or this address in its place.

    Raises:
        ConfigError: the address cannot be read.
        ValidationError: it is none, but a folder.
    """
    return poller_of(config.settings, path).database


def init(database: Database) -> FleetReport:
    """Makes the tables and the role of workers.

    Raises:
        StoreLockedError: PostgreSQL does not answer, or this user may not make them.
    """
    made = database.create_tables()
    detail = "made, with the role vestig_worker" if made else "they are there"
    return FleetReport(
        address=str(database.address),
        findings=(Finding(check="tables", level="ok", detail=detail),),
    )


def doctor(database: Database, *, lost_before: object = None) -> FleetReport:
    """Checks the tables, the tenants and their copies, for a user who owns the tables.

    Args:
        lost_before: a time; machines that have proved nothing since are gone for good, and the
            records of their copies are dropped first.

    Raises:
        ValidationError: no time, or one that is to come.
        StoreLockedError: PostgreSQL does not answer, or this user does not own them.
    """
    found = [Finding(check="tables", level="ok", detail="they are there")]
    database.require_owner()
    if lost_before is not None:
        before_us = parse_time(lost_before, "lost_before")
        if before_us > to_us(system_clock()):
            raise ValidationError("lost_before", format_us(before_us), "a time that has gone by")
        detail = f"records of lost machines dropped: {drop_lost(database, before_us)}"
        found.append(Finding(check="copies", level="ok", detail=detail))
    rows = database.tenants()
    found.append(Finding(check="tenants", level="ok", detail=f"{len(rows)}"))
    newest = migrations.newest_version(migrations.MIGRATIONS)
    for row in rows:
        if row.schema != newest:
            detail = (
                f"{row.name}: expected a ledger of schema version {newest}, found version"
                f" {row.schema}; {row.advice(newest)}"
            )
            found.append(Finding(check="schema", level="finding", detail=detail))
        if row.state in ("moving", "arriving"):
            detail = f"{row.name} is {row.state}: repeat its move, or end it with --abandon"
            found.append(Finding(check="state", level="finding", detail=detail))
        behind = machines_behind(database, row.name, row.snapshot)
        if behind:
            detail = f"{row.name}: {', '.join(behind)} lie before its snapshot"
            found.append(Finding(check="copies", level="finding", detail=detail))
    for detail in database.rewrite(REWRITE_LIMIT_S):
        found.append(Finding(check="pages", level="finding", detail=detail))
    return FleetReport(address=str(database.address), findings=tuple(found))


def list_tenants(database: Database) -> list[TenantReport]:
    """Every tenant by name, for a user who owns the tables.

    Raises:
        StoreLockedError: PostgreSQL does not answer, or this user does not own them.
    """
    return [report_of(row) for row in database.tenants()]


def show(database: Database, tenant: object) -> TenantReport:
    """One tenant.

    Raises:
        NotFoundError: there is none of this name.
    """
    name = tenant_name(tenant)
    row = database.find(name)
    return report_of(row, machines=machines_of(database, name))


def create(database: Database, tenant: object, folder: Path | None = None) -> TenantReport:
    """A new tenant: an empty one, or with what the store in a folder holds; that stays as it is.

    Raises:
        ConflictError: there is one of this name, or the folder is a copy of a tenant.
        NotFoundError: there is no store in the folder.
        StoreDamagedError: the store is not what was written.
    """
    name = tenant_name(tenant)
    with tempfile.TemporaryDirectory(prefix="vestig-") as scratch:
        place = Path(scratch) / "store" if folder is None else folder
        with open_ledger(place, without_store="make" if folder is None else "refuse") as ledger:
            return report_of(_create(database, name, ledger, place, Path(scratch)))


def _create(
    database: Database, tenant: str, ledger: Ledger, folder: Path, scratch: Path
) -> TenantRow:
    place, parts, digest = pack(ledger, folder, scratch)
    row = TenantRow(
        name=tenant,
        identity=os.urandom(ID_BYTES),
        position=place.position,
        last_id=place.last_id,
        schema=migrations.newest_version(migrations.MIGRATIONS),
        state="active",
        snapshot=place.position,
        snapshot_digest=digest,
        change_bytes=0,
    )
    database.create(row, parts)
    return row


def down(
    database: Database,
    tenant: object,
    folder: Path,
    confirm: Callable[[TenantReport], bool] = lambda _: True,
) -> TenantReport:
    """A plain store of a tenant in a folder, which is not there yet or empty. The tenant stays, and
    so does in the folder what it forgets later.

    Args:
        confirm: is asked before anything is made.

    Raises:
        NotFoundError: there is no such tenant.
        ConflictError: the folder holds something, or it was not confirmed.
        StoreDamagedError: the snapshot or a change is not what was written.
    """
    name = tenant_name(tenant)
    target = Path(os.path.realpath(folder))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConflictError(
            f"{folder}: expected no folder, or an empty one, it holds something; nothing was"
            " changed, choose another place"
        )
    if not confirm(show(database, name)):
        raise ConflictError(f"tenant {name}: nothing was copied")
    files.make_folder(target.parent)
    with tempfile.TemporaryDirectory(prefix=".vestig-", dir=target.parent) as scratch:
        fresh = Path(scratch) / "store"
        place = _unpack_newest(database, name, fresh)
        with open_ledger(fresh, without_store="refuse") as ledger:
            found = ledger.verify_all()
            if found:
                problem = f"tenant {name}: {found[0].message}; nothing was left at {folder}"
                raise ConflictError(problem)
            identity = ledger.embedding_identity()
            if identity is not None:
                with closing(keeper_for(ledger, fresh, identity)) as keeper:
                    keeper.publish()
        accept_ledger(fresh)
        if target.exists():
            target.rmdir()
        os.rename(fresh, target)
    files.sync_folder(target.parent)
    return report_of(database.find(name), path=str(target), copied=place.position)


def _unpack_newest(database: Database, tenant: str, fresh: Path) -> Place:
    """Makes a plain store of all that the tenant holds; how far it had come."""
    while True:
        files.make_folder(fresh)
        with database.snapshot(tenant) as (row, parts):
            unpack(parts, row.snapshot_digest, fresh)
        # The witness of the snapshot is older than the changes; the store makes its own.
        (fresh / files.WITNESS_FILE).unlink(missing_ok=True)
        try:
            return detach(fresh / files.LEDGER_FILE, database, tenant)
        except SnapshotIsNewerError:  # another one was made meanwhile
            shutil.rmtree(fresh)


def migrate(database: Database, tenant: object) -> TenantReport:
    """Brings the ledger of a tenant to the schema that this version writes: whole, or not at all.
    One that has it stays as it is. Workers of the earlier version are refused from then on.

    Raises:
        NotFoundError: there is no such tenant.
        StoreLockedError: it is moving, or PostgreSQL does not answer.
        SchemaVersionError: it is of a newer schema.
        StoreDamagedError: it is not what was written.
    """
    name = tenant_name(tenant)
    with tempfile.TemporaryDirectory(prefix="vestig-") as scratch:
        return report_of(database.raise_schema(name, partial(_migrated, database, Path(scratch))))


def _migrated(
    database: Database, scratch: Path, row: TenantRow
) -> tuple[TenantRow, list[bytes]] | None:
    """The row and the snapshot of a tenant, brought to the newest schema."""
    newest = migrations.newest_version(migrations.MIGRATIONS)
    row.check_writable(min(row.schema, newest))
    if row.schema == newest:
        return None
    fresh = scratch / "store"
    _unpack_newest(database, row.name, fresh)
    # A position of its own: no copy of the earlier schema takes itself for a newest one.
    place = Place(position=row.position + 1, last_id=os.urandom(ID_BYTES))
    with open_ledger(fresh, without_store="refuse") as ledger:
        found = ledger.verify_all()
        if found:
            raise StoreDamagedError(f"tenant {row.name}: {found[0].message}; nothing was changed")
        _, parts, digest = pack(ledger, fresh, scratch, place)
    newer = msgspec.structs.replace(
        row, position=place.position, last_id=place.last_id, schema=newest,
        snapshot=place.position, snapshot_digest=digest, change_bytes=0,
    )  # fmt: skip
    return newer, parts


def drop(
    database: Database, tenant: object, confirm: Callable[[TenantReport], bool]
) -> TenantReport:
    """Removes a tenant for good; copies on machines go when those look for it.

    Args:
        confirm: is asked with the plan.

    Raises:
        NotFoundError: there is none of this name.
        ConflictError: it was not confirmed.
        StoreLockedError: PostgreSQL does not answer, or this user does not own the tables.
    """
    name = tenant_name(tenant)
    found = show(database, name)
    if not confirm(found):
        raise ConflictError(f"tenant {name}: nothing was removed")
    database.drop(name)
    database.rewrite(REWRITE_LIMIT_S)
    return found


def report_of(
    row: TenantRow,
    *,
    machines: tuple[str, ...] = (),
    path: str | None = None,
    copied: int | None = None,
) -> TenantReport:
    return TenantReport(
        tenant=row.name,
        state=row.state,
        position=row.position if copied is None else copied,
        ledger_schema=row.schema,
        snapshot=row.snapshot,
        change_bytes=row.change_bytes,
        machines=machines,
        path=path,
        moved_to=row.moved_to,
    )


def snapshot(config: Config, tenant: object) -> TenantReport:
    """Makes the snapshot of a tenant anew, and drops the changes before it.

    Raises:
        NotFoundError: there is no such tenant.
    """
    name = tenant_name(tenant)
    database = database_of(config)
    session = open_session(OpenRequest(path=config.settings.store.path, tenant=name, config=config))
    with Vestig(session) as store:
        store.fresh()
        assert session.tenant is not None
        session.tenant.snapshot(session.ledger)
    return show(database, name)
