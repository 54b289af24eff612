"""Making a tenant of a store, and a store of a tenant."""

from __future__ import annotations

import tempfile
from pathlib import Path

from vestig.store.ledger import migrations
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.replication.postgres import Database, TenantRow
from vestig.store.replication.snapshot import pack


def create_tenant(database: Database, tenant: str, folder: Path | None = None) -> TenantRow:
    """A new tenant: an empty one, or with what the store in a folder holds.

    Raises:
        ConflictError: there is one of this name, or the folder is a copy of a tenant.
        NotFoundError: there is no store in the folder.
        StoreDamagedError: the store is not what was written.
    """
    with tempfile.TemporaryDirectory(prefix="vestig-") as scratch:
        place = Path(scratch) / "store" if folder is None else folder
        with open_ledger(place, without_store="make" if folder is None else "refuse") as ledger:
            return _create(database, tenant, ledger, place, Path(scratch))


def _create(
    database: Database, tenant: str, ledger: Ledger, folder: Path, scratch: Path
) -> TenantRow:
    place, parts, digest = pack(ledger, folder, scratch)
    row = TenantRow(
        name=tenant,
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
