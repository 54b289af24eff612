"""Creates a ledger, and brings one of an earlier schema to the newest.

There is one schema so far, so no step stands here yet: a later one is an entry of `MIGRATIONS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import apsw

from vestig.errors import SchemaVersionError
from vestig.store.integrity import chain
from vestig.store.records import store_rows
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import fetch
from vestig.store.tables.schema import CHAINED, CREATE_TABLES, VERSION

APPLICATION_ID: Final = 0x56535447  # "VSTG" in the file header
# Year 1: the recorded time never decreases, so that of the first link must be before every clock.
EARLIEST_US: Final = -62_135_596_800_000_000


class Migration(NamedTuple):
    """Brings a ledger from `version - 1` to `version`, inside an open transaction."""

    version: int
    apply: Callable[[apsw.Connection], None]


# Ascending, without gaps, up to the version of the declared tables.
MIGRATIONS: Final[tuple[Migration, ...]] = ()


def newest_version(migrations: Sequence[Migration]) -> int:
    """The schema version this program writes."""
    return migrations[-1].version if migrations else VERSION


def create_tables(conn: apsw.Connection, migrations: Sequence[Migration]) -> None:
    """All tables with an identity and the first link, in one transaction."""
    store_uuid = os.urandom(16)
    conn.execute("BEGIN IMMEDIATE")
    conn.execute(CREATE_TABLES)
    conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    conn.execute(f"PRAGMA user_version = {VERSION}")
    link = chain.Link(chain.genesis(store_uuid), 0, EARLIEST_US, [0] * len(CHAINED))
    store_rows.write_setting(conn, store_rows.UUID, store_uuid)
    store_rows.take_into_chain(conn, link, 0)
    link.append(conn)
    _apply(conn, VERSION, migrations)
    conn.execute("COMMIT")


def create_file(ledger: Path, migrations: Sequence[Migration]) -> None:
    """A complete ledger appears under its name at once, so an empty one is always damage.

    Of two processes that create one store, the first wins and both go on with its ledger.
    """
    fresh = ledger.with_name(f"{ledger.name}.new-{os.urandom(4).hex()}")
    files.make_private(fresh)
    try:
        conn = apsw.Connection(str(fresh))
        try:
            conn.execute("PRAGMA synchronous = FULL")
            create_tables(conn, migrations)
            conn.execute("PRAGMA journal_mode = WAL")
        finally:
            conn.close()
        try:
            os.link(fresh, ledger)
        except FileExistsError:
            return
        files.sync_folder(ledger.parent)
    finally:
        fresh.unlink(missing_ok=True)


def version_of(conn: apsw.Connection) -> int:
    """The schema version stored in the file."""
    (version,) = fetch(conn, "PRAGMA user_version")[0]
    return int(version)


def check_version(version: int, where: str, migrations: Sequence[Migration]) -> None:
    """Refuses a ledger of a schema that no step leads from.

    Raises:
        SchemaVersionError: names both versions.
    """
    newest = newest_version(migrations)
    oldest = migrations[0].version - 1 if migrations else newest
    if not oldest <= version <= newest:
        # a ledger has a version from its first byte on
        by = "the version of vestig" if version else "the program"
        raise SchemaVersionError(
            where,
            found=version,
            expected=newest,
            advice=f"nothing was changed, open it with {by} that wrote it",
        )


def migrate(
    conn: apsw.Connection, ledger: Path, migrations: Sequence[Migration], *, read_only: bool
) -> None:
    """Brings the ledger to the newest version after a copy `ledger.bak-<version>`.

    Raises:
        SchemaVersionError: of a version that no step leads from, or older and read-only.
    """
    version = version_of(conn)
    check_version(version, str(ledger), migrations)
    if version == newest_version(migrations):
        return
    if read_only:
        raise SchemaVersionError(
            str(ledger),
            found=version,
            expected=newest_version(migrations),
            advice="a read-only store cannot be migrated, open it writable once",
        )
    copy_to(conn, ledger.with_name(f"ledger.bak-{version}"))
    conn.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated between the look and the lock.
        _apply(conn, version_of(conn), migrations)
        conn.execute("COMMIT")
    except BaseException:
        conn.execute("ROLLBACK")
        raise


def copy_to(conn: apsw.Connection, target: Path) -> None:
    """A consistent, private, synced copy of the ledger; replaces an older copy of that name."""
    with files.replacing(target) as fresh:
        copy = apsw.Connection(str(fresh))
        try:
            with copy.backup("main", conn, "main") as backup:
                backup.step(-1)
            copy.execute("PRAGMA journal_mode = WAL")
        finally:
            copy.close()


def _apply(conn: apsw.Connection, version: int, migrations: Sequence[Migration]) -> None:
    for step in migrations:
        if step.version > version:
            step.apply(conn)
            conn.execute(f"PRAGMA user_version = {step.version}")
