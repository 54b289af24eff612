"""A tenant's store as one stream of bytes: its ledger and its projection."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final

import apsw
import msgspec

from vestig.errors import StoreDamagedError
from vestig.private_folder import make_private_folder
from vestig.store.ledger.ledger import Ledger
from vestig.store.records import settings
from vestig.store.records.settings import same_history
from vestig.store.replication.capture import SHARED, head_of
from vestig.store.replication.rows import ID_BYTES, PART_BYTES, Place
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import changing_file
from vestig.store.upkeep.whole_store import backup

_LEVEL: Final = 1


def pack(
    ledger: Ledger, folder: Path, scratch: Path, place: Place | None = None
) -> tuple[Place, list[bytes], bytes]:
    """How far the ledger has come, and its store in parts of 1 MiB with their digest.

    Args:
        folder: of the store; its projection is packed too.
        scratch: a path that is not there, for a copy, which is gone afterwards.
        place: where it stands; by default where it says, which is 0 for a store of its own.

    Raises:
        StoreDamagedError: the ledger is not what was written.
    """
    copied = scratch / "copy"
    backup(ledger, folder / files.PROJECTION_FOLDER, copied, keeps_upstream=True)
    place = prepare(copied / files.LEDGER_FILE, place)
    parts = list(_parts(copied))
    return place, parts, digest_of(parts)


def prepare(path: Path, place: Place | None = None) -> Place:
    """Makes a copy of a ledger one that a tenant has: with the tables that are otherwise made when
    they are needed, for a change carries no new table; how far it has come."""
    with changing_file(path, compact=True) as conn:
        found = settings.read_upstream(conn)
        nobody = settings.UpstreamRow(
            address="", tenant="", position=0, last_id=bytes(ID_BYTES), cache=bytes(ID_BYTES)
        )
        if found is not None:
            nobody = msgspec.structs.replace(found, address="", tenant="", cache=nobody.cache)
        if place is not None:
            nobody = msgspec.structs.replace(nobody, position=place.position, last_id=place.last_id)
        settings.write_upstream(conn, nobody)
        settings.drop_request_log(conn)
    return Place(position=nobody.position, last_id=nobody.last_id)


def digest_of(parts: Iterable[bytes]) -> bytes:
    """Return 16 bytes over all parts."""
    state = _state()
    for part in parts:
        state.update(part)
    return state.digest()


def _parts(folder: Path) -> Iterator[bytes]:
    """A compressed tar of the files of a store, cut."""
    stream = zlib.compressobj(_LEVEL)
    held = bytearray()
    with tempfile.TemporaryFile() as scratch:
        with tarfile.open(fileobj=scratch, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    archive.add(path, path.relative_to(folder).as_posix())
        scratch.seek(0)
        while data := scratch.read(PART_BYTES):
            held += stream.compress(data)
            while len(held) >= PART_BYTES:
                yield bytes(held[:PART_BYTES])
                del held[:PART_BYTES]
    held += stream.flush()
    for at in range(0, len(held), PART_BYTES):
        yield bytes(held[at : at + PART_BYTES])


def unpack(parts: Iterable[bytes], digest: bytes, target: Path) -> None:
    """Writes the files of a snapshot into a folder that is empty.

    Raises:
        StoreDamagedError: it is not what was packed.
    """
    stream = zlib.decompressobj()
    state = _state()
    with tempfile.TemporaryFile(dir=target) as scratch:
        try:
            for part in parts:
                state.update(part)
                scratch.write(stream.decompress(part))
            scratch.write(stream.flush())
        except zlib.error:
            raise _altered() from None
        if state.digest() != digest:
            raise _altered()
        scratch.seek(0)
        with tarfile.open(fileobj=scratch) as archive:
            for member in archive:
                _extract(archive, member, target)
    files.sync_folder(target)


def difference(ledger: Path, newer: Path) -> tuple[bytes, bytes, Place]:
    """The patch that turns the rows of a copy into those of a newer one of the same
    history, the head of the chain after it, and how far the newer one has come.

    Raises:
        LookupError: the copy is of another history.
    """
    conn = apsw.Connection(str(newer))
    try:
        if not continues(conn, ledger):
            raise LookupError("of another history")
        session = apsw.Session(conn, "main")
        for table in SHARED:
            session.diff("mine", table)
        patch = session.patchset()
        session.close()
        row = settings.read_upstream(conn)
        assert row is not None, "a snapshot has its place"
        return patch, head_of(conn), Place(position=row.position, last_id=row.last_id)
    finally:
        conn.close()


def continues(conn: apsw.Connection, ledger: Path) -> bool:
    """Return whether the ledger of this connection is of the history of another one, which is
    attached as `mine`."""
    conn.execute("ATTACH ? AS mine", (str(ledger),))
    return same_history(conn)


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    """A file of a store: its ledger, its witness, or one of its projection."""
    path = Path(member.name)
    in_place = len(path.parts) == 1 or path.parts[:-1] == (files.PROJECTION_FOLDER,)
    source = archive.extractfile(member) if member.isfile() and in_place else None
    if source is None or path.is_absolute() or ".." in path.parts:
        raise _altered()
    place = target / path
    make_private_folder(place.parent)
    files.make_private(place)
    with place.open("r+b") as file:
        shutil.copyfileobj(source, file, PART_BYTES)
    place.chmod(member.mode & 0o600)


def _state() -> blake2b:
    return blake2b(digest_size=ID_BYTES, person=b"vestig-snapshot")


def _altered() -> StoreDamagedError:
    return StoreDamagedError(
        "the snapshot of the tenant was altered in PostgreSQL: expected the bytes that were"
        " packed; restore it from a backup of PostgreSQL"
    )
