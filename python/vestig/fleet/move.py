"""Moves a tenant to another database. Every step may be the last one of a run that is killed: the
next run goes on from what the two rows of the tenant say.

The row here goes from `active` to `moving`, which takes no writes, and when all of it is there to
`moved`; the row there from `arriving` to `active` after that. So no two rows of a tenant ever take
writes, and what is here is removed only once the other one does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from vestig.errors import ConflictError, StoreDamagedError, VestigError
from vestig.fleet.tenants import REWRITE_LIMIT_S, report_of
from vestig.results import TenantReport
from vestig.session.tenant import tenant_name
from vestig.store.replication.capture import head_of
from vestig.store.replication.copy import apply_changes
from vestig.store.replication.postgres import Database
from vestig.store.replication.rows import Place, TenantRow
from vestig.store.replication.snapshot import continues, unpack
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import changing_file, fetch

_TABLES: Final = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"


class _Contents(msgspec.Struct, frozen=True):
    """A tenant as a ledger: its place, the head of its chain, and the rows of each table."""

    place: Place
    head: bytes
    rows: dict[str, int]


def move(database: Database, tenant: object, to: Database) -> TenantReport:
    """Moves a tenant to another database, with its tokens, or goes on with it. From its beginning
    on the tenant takes no writes; reads go on until it has moved. Its row stays here and says where
    it is; the rest is removed.

    For a user who owns the tables, in both.

    Raises:
        NotFoundError: there is no such tenant.
        ConflictError: the other database has one of this name, or this one moves elsewhere.
        StoreLockedError: one of the two does not answer, or refuses it.
        StoreDamagedError: what came there is not what is here.
    """
    name = tenant_name(tenant)
    target = to.address.without_user
    row = database.find(name)
    if row.state == "active":
        _require_room(to, name)
        row = database.set_state(name, "active", "moving", moved_to=target)
    if row.state == "arriving":
        row.check_readable(row.schema)
    if row.moved_to != target:
        raise ConflictError(
            f"tenant {name}: expected the database that it moves to, {row.moved_to}, got {target};"
            f" go on with `vestig tenant move {name} --to …` of that one"
            + (", or end it with --abandon" if row.state == "moving" else "")
        )
    if row.state == "moving":
        with _saying_that_it_moves(name):
            _copy(database, row, to)
            row = database.set_state(name, "moving", "moved", moved_to=target, place=row.place)
    if row.state != "moved":
        raise ConflictError(
            f"tenant {name}: expected it to be moving, another command made it {row.state}"
            " meanwhile; run this one again"
        )
    _finish(database, row, to)
    return report_of(row)


def abandon(database: Database, tenant: object) -> TenantReport:
    """Lets a tenant that is moving take writes where it is. What came to the other database stays
    there, unused, until it is dropped there.

    Raises:
        NotFoundError: there is no such tenant.
        ConflictError: it is not moving.
    """
    name = tenant_name(tenant)
    before = database.find(name)
    row = database.set_state(name, "moving", "active")
    if before.state != "moving" or row.state != "active":
        where = f" to {row.moved_to}; move it back from there" if row.state == "moved" else ""
        raise ConflictError(
            f"tenant {name}: expected one that is moving, it is {row.state}{where}; nothing was"
            " changed"
        )
    return report_of(row)


def _require_room(to: Database, name: str) -> None:
    """Before anything is changed: the other database answers, and has no tenant of this name."""
    there = to.rows([name]).get(name)
    if there is not None and there.state != "moved":
        raise ConflictError(
            f"tenant {name}: expected a name that is free in {to.address}, there is a tenant of"
            f" this name, which is {there.state}; nothing was changed. Where an abandoned move left"
            f" it, remove it with `vestig tenant drop {name} --store {to.address}`"
        )


@contextmanager
def _saying_that_it_moves(name: str) -> Iterator[None]:
    try:
        yield
    except VestigError as error:
        error.args = (
            f"{error}. Tenant {name} is still moving and takes no writes: run the command again, or"
            f" `vestig tenant move {name} --abandon`",
        )
        raise


def _copy(database: Database, row: TenantRow, to: Database) -> None:
    """All of the tenant is there afterwards, as it is here."""
    there = to.rows([row.name]).get(row.name)
    if there is None or there.state == "moved":
        to.receive(database, msgspec.structs.replace(row, state="arriving", moved_to=None))
    elif there.state != "arriving" or there.place != row.place:
        raise ConflictError(
            f"tenant {row.name}: expected what was copied to {to.address} as it is here, at"
            f" position {row.position}, there is another one, which is {there.state} at position"
            f" {there.position}; remove it with `vestig tenant drop {row.name} --store"
            f" {to.address}`"
        )
    with tempfile.TemporaryDirectory(prefix="vestig-") as scratch:
        here = _contents(database, row.name, Path(scratch) / "here")
        try:
            found = _contents(to, row.name, Path(scratch) / "there")
        except StoreDamagedError as error:
            got = str(error)
        else:
            if here == found:
                return
            got = _shown(found)
    to.drop(row.name, "arriving")
    raise StoreDamagedError(
        f"tenant {row.name}: expected {_shown(here)} in {to.address}, got {got}; what was copied"
        " is removed there"
    )


def _finish(database: Database, row: TenantRow, to: Database) -> None:
    """The tenant takes writes there, and leaves nothing here but its row."""
    with database.snapshot(row.name) as (_, parts):
        if next(parts, None) is None:
            return  # a run before this one came to the end
    if to.rows([row.name]).get(row.name) is None:
        _copy(database, row, to)
    there = to.set_state(row.name, "arriving", "active", place=row.place)
    if there.state != "active" or (there.place != row.place and not _continues(database, row, to)):
        raise ConflictError(
            f"tenant {row.name}: expected it in {to.address} as it moved there, found one that is"
            f" {there.state} at position {there.position}; what is here stays. Remove the other one"
            f" with `vestig tenant drop {row.name} --store {to.address}`, and run the command again"
        )
    database.drop_moved(row.name)
    database.rewrite(REWRITE_LIMIT_S)


def _contents(database: Database, tenant: str, folder: Path) -> _Contents:
    """The tenant as a ledger, in a folder that is not there yet. Every digest is checked.

    Raises:
        StoreDamagedError: the snapshot or a change is not what was written.
    """
    files.make_folder(folder)
    with database.snapshot(tenant) as (row, parts):
        unpack(parts, row.snapshot_digest, folder)
    with changing_file(folder / files.LEDGER_FILE) as conn:
        place = apply_changes(conn, database, tenant)
        names = [name for (name,) in fetch(conn, _TABLES)]
        rows = {one: fetch(conn, f'SELECT count(*) FROM "{one}"')[0][0] for one in names}
        return _Contents(place, head_of(conn), rows)


def _continues(database: Database, row: TenantRow, to: Database) -> bool:
    """Return whether the tenant there is this one, with what was written since it moved."""
    with tempfile.TemporaryDirectory(prefix="vestig-") as scratch:
        here, there = Path(scratch) / "here", Path(scratch) / "there"
        _contents(database, row.name, here)
        _contents(to, row.name, there)
        with changing_file(there / files.LEDGER_FILE) as conn:
            return continues(conn, here / files.LEDGER_FILE)


def _shown(found: _Contents) -> str:
    return (
        f"position {found.place.position}, chain head {found.head.hex()[:16]} and"
        f" {sum(found.rows.values())} rows"
    )
