"""A tenant's store as one stream of bytes: its ledger and its projection."""

from __future__ import annotations

import fcntl
import os
import shutil
import weakref
import zlib
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final, Self

import apsw
import msgspec

from vestig.errors import StoreDamagedError
from vestig.private_folder import make_private_folder
from vestig.store.ledger.ledger import Ledger
from vestig.store.records import store_rows
from vestig.store.records.store_rows import same_history
from vestig.store.replication.capture import SHARED, head_of
from vestig.store.replication.rows import ID_BYTES, PART_BYTES, Place
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import changing_file
from vestig.store.upkeep.whole_store import backup

_LEVEL: Final = 1
_STALE: Final = "stale"
# That decompress; as many parts are held in memory beside those that were read.
_THREADS: Final = 3


class FolderLock:
    """A lock on a file or folder that is there, until it is closed or given up.

    Raises:
        OSError: it is not there, or not free where `wait` is false.
    """

    def __init__(self, path: Path, kind: int, *, wait: bool = True) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        self.close = weakref.finalize(self, os.close, fd)
        try:
            fcntl.flock(fd, kind if wait else kind | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def scratch_folder(around: Path) -> Iterator[Path]:
    """A private folder that is gone at the end. It is locked, so that another process can tell it
    from one whose process was killed."""
    folder = around / f".scratch-{os.urandom(8).hex()}"
    make_private_folder(folder)
    try:
        with FolderLock(folder, fcntl.LOCK_SH):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pack(
    ledger: Ledger, folder: Path, scratch: Path, place: Place | None = None, *, proved: int = 0
) -> tuple[Place, list[bytes], bytes]:
    """How far the ledger has come, and its store in parts of at most 1 MiB with
    their digest.

    Args:
        folder: of the store; its projection is packed too, unless it may hold what was forgotten.
        scratch: a path that is not there, for a copy, which is gone afterwards.
        place: where it stands; by default where it says, which is 0 for a store of its own.
        proved: so many of the forgettings that are recorded as open are proved in its files.

    Raises:
        StoreDamagedError: the ledger is not what was written.
    """
    copied = scratch / "copy"
    with ledger.read() as view:
        before = store_rows.forgettings(view.connection)
    backup(ledger, folder / files.PROJECTION_FOLDER, copied, keeps_upstream=True)
    with changing_file(copied / files.LEDGER_FILE) as conn:
        after = store_rows.forgettings(conn)
    # The projection was copied first: it may be older than a forgetting that the ledger shows.
    if before != after or after.waiting > proved:
        shutil.rmtree(copied / files.PROJECTION_FOLDER, ignore_errors=True)
    place = prepare(copied / files.LEDGER_FILE, place)
    parts = list(_parts(copied))
    return place, parts, digest_of(parts)


def prepare(path: Path, place: Place | None = None) -> Place:
    """Makes a copy of a ledger one that a tenant has: with the tables that are otherwise made when
    they are needed, for a change carries no new table; how far it has come."""
    with changing_file(path, compact=True) as conn:
        found = store_rows.read_upstream(conn)
        nobody = store_rows.UpstreamRow(
            address="",
            tenant="",
            identity=bytes(ID_BYTES),
            position=0,
            # a copy of another tenant that had the name before is told by it
            last_id=os.urandom(ID_BYTES),
            cache=bytes(ID_BYTES),
        )
        if found is not None:
            nobody = msgspec.structs.replace(nobody, position=found.position, last_id=found.last_id)
        if place is not None:
            nobody = msgspec.structs.replace(nobody, position=place.position, last_id=place.last_id)
        store_rows.write_upstream(conn, nobody)
        store_rows.drop_request_log(conn)
        # What is written anew holds nothing of it.
        store_rows.drop_open_forgettings(conn)
    return Place(position=nobody.position, last_id=nobody.last_id)


def digest_of(parts: Iterable[bytes]) -> bytes:
    """Return 16 bytes over all parts."""
    state = _state()
    for part in parts:
        state.update(part)
    return state.digest()


def _parts(folder: Path) -> Iterator[bytes]:
    """The names and lengths of the files of a store, and their bytes in this order, cut; each part
    is compressed on its own, so that several are at once."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    listed = [(path.relative_to(folder).as_posix(), path.stat().st_size) for path in paths]
    yield zlib.compress(msgspec.msgpack.encode(listed), _LEVEL)
    held = bytearray()
    for path in paths:
        with path.open("rb") as file:
            while data := file.read(PART_BYTES):
                held += data
                if len(held) >= PART_BYTES:
                    yield zlib.compress(held[:PART_BYTES], _LEVEL)
                    del held[:PART_BYTES]
    if held:
        yield zlib.compress(held, _LEVEL)


def unpack(parts: Iterable[bytes], digest: bytes, target: Path) -> None:
    """Writes the files of a snapshot into a folder that is empty. They are not synced.

    Raises:
        StoreDamagedError: it is not what was packed; the folder may hold some of it.
    """
    state = _state()
    data = _decompressed(parts, state)
    try:
        listed = msgspec.msgpack.decode(next(data, b""), type=list[tuple[str, int]])
        held = memoryview(b"")
        for name, length in listed:
            with _new_file(target, name) as file:
                while file.tell() < length:
                    held = held or memoryview(next(data, b""))
                    if not held:
                        raise _altered()
                    written = file.write(held[: length - file.tell()])
                    held = held[written:]
        rest = bool(held) or any(data)
    except (zlib.error, msgspec.MsgspecError, FileExistsError):
        raise _altered() from None
    finally:
        data.close()
    if rest or state.digest() != digest:
        raise _altered()


def _decompressed(parts: Iterable[bytes], state: blake2b) -> Generator[bytes]:
    """The parts as they were before they were compressed, while the next ones are read; their
    digest goes into `state`."""
    with ThreadPoolExecutor(_THREADS, "vestig-snapshot") as threads:
        ahead: deque[Future[bytes]] = deque()
        for part in parts:
            state.update(part)
            ahead.append(threads.submit(_decompress, part))
            if len(ahead) > _THREADS:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _decompress(part: bytes) -> bytes:
    stream = zlib.decompressobj()
    data = stream.decompress(part, PART_BYTES)
    if not stream.eof or stream.unused_data:
        raise zlib.error("another length than any part has")
    return data


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
        row = store_rows.read_upstream(conn)
        assert row is not None, "a snapshot has its place"
        return patch, head_of(conn), Place(position=row.position, last_id=row.last_id)
    finally:
        conn.close()


def continues(conn: apsw.Connection, ledger: Path) -> bool:
    """Return whether the ledger of this connection is of the history of another one, which is
    attached as `mine`."""
    conn.execute("ATTACH ? AS mine", (str(ledger),))
    return same_history(conn)


def mark_stale(folder: Path) -> None:
    """Remembers that the files of a copy are to be made anew, whichever process opens it next."""
    (folder / _STALE).touch(0o600)
    files.sync_folder(folder)


def is_stale(folder: Path) -> bool:
    """Return whether the files of a copy are to be made anew."""
    return (folder / _STALE).exists()


def _new_file(target: Path, name: str) -> BinaryIO:
    """A file of a store in the making: its ledger, its witness, or one of its projection."""
    path = Path(name)
    in_place = len(path.parts) == 1 or path.parts[:-1] == (files.PROJECTION_FOLDER,)
    if path.is_absolute() or ".." in path.parts or not in_place:
        raise _altered()
    place = target / path
    make_private_folder(place.parent)
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(place, flags, 0o600)
    os.fchmod(fd, 0o600)
    return os.fdopen(fd, "wb")


def _state() -> blake2b:
    return blake2b(digest_size=ID_BYTES, person=b"vestig-snapshot")


def _altered() -> StoreDamagedError:
    return StoreDamagedError(
        "the snapshot of the tenant was altered in PostgreSQL: expected the bytes that were"
        " packed; restore it from a backup of PostgreSQL"
    )
