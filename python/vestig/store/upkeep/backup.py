"""A copy of a whole store while it is in use."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from vestig.errors import ConflictError, VestigError
from vestig.private_folder import make_private_folder
from vestig.store.integrity import witness as witnesses
from vestig.store.integrity.verify import verify
from vestig.store.ledger.ledger import Ledger
from vestig.store.records import settings
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import changing_file, open_reader
from vestig.store.sqlite.files import LEDGER_FILE
from vestig.store.sqlite.statements import damaged, fetch

_MANIFEST = "manifest"
_PROJECTION = "projection"
_ATTEMPTS = 3


def backup(
    ledger: Ledger, projection_dir: Path | None, dest: Path, *, keeps_upstream: bool = False
) -> dict[str, int | str]:
    """Copies ledger and projection to `dest`, which appears whole or not at all.

    The copy is a store of its own: it can be opened, passes `doctor`, and writes to it do not
    concern the original. Files are synced and for the owner alone. `keeps_upstream`: that of a
    tenant goes on to say whose copy it is, so that an ordinary open refuses it.

    Returns:
        `path`, `ledger_bytes`, `projection_bytes`, `files`, `seq` (the state that was copied).

    Raises:
        ConflictError: `dest` holds something already.
        StoreDamagedError: the ledger is not what was written; nothing is left at `dest`.
        VestigError: `dest` cannot be written.
    """
    target = Path(os.path.realpath(dest))
    files.ledger_path(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConflictError(
            f"{dest}: expected no file, or an empty folder, to copy to, it holds something;"
            " nothing was changed, choose another place"
        )
    fresh = target.with_name(f".{target.name[:80]}.new-{os.urandom(4).hex()}")
    try:
        make_private_folder(target.parent)
        files.make_folder(fresh)
        # First the projection: it may be behind the ledger, and never ahead of it.
        projection = 0
        if projection_dir is not None and projection_dir.is_dir():
            projection = _copy_projection(projection_dir, fresh / _PROJECTION)
        ledger.copy_to(fresh / LEDGER_FILE)
        if ledger.upstream is not None and not keeps_upstream:
            with changing_file(fresh / LEDGER_FILE) as conn:
                settings.write_upstream(conn, None)
        _check(fresh / LEDGER_FILE, ledger)
        seq = _write_witness(fresh)
        copied = sum(1 for path in fresh.rglob("*") if path.is_file())
        size = (fresh / LEDGER_FILE).stat().st_size
        files.sync_folder(fresh)
        os.rename(fresh, target)
        files.sync_folder(target.parent)
    except OSError as error:
        raise VestigError(
            f"{dest}: expected a place to write a copy, got {error.strerror}; nothing was left"
            " there"
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return {
        "path": str(target),
        "ledger_bytes": size,
        "projection_bytes": projection,
        "files": copied,
        "seq": seq,
    }


def _check(copy: Path, ledger: Ledger) -> None:
    """Whoever needs a copy has no other one: it is checked against its chain, row by row.

    Raises:
        StoreDamagedError: the ledger is not what was written.
    """
    conn = open_reader(copy, "immutable=1", 1.0)
    try:
        found = verify(conn, ledger.store_uuid)
    finally:
        conn.close()
    if found:
        raise damaged(ledger.where, f"{found[0].message}; nothing was copied")


def _write_witness(folder: Path) -> int:
    """The copy's own witness, from its own chain."""
    conn = open_reader(folder / LEDGER_FILE, "immutable=1", 1.0)
    try:
        ((seq, head),) = fetch(conn, "SELECT seq, h FROM chain ORDER BY seq DESC LIMIT 1")
    finally:
        conn.close()
    witness = folder / files.WITNESS_FILE
    files.make_private(witness)
    witness.write_bytes(witnesses.encode(witnesses.Witness(seq + 1, head)))
    return int(seq)


def _copy_projection(source: Path, target: Path) -> int:
    """Copies the published files of one generation; bytes. 0 when every attempt met a newer one: a
    copy without a projection makes its own when it is opened."""
    for _ in range(_ATTEMPTS):
        make_private_folder(target)
        try:
            before = (source / _MANIFEST).read_bytes()
            # A segment that it does not name waits for its last reader and is not copied.
            names = [p.name for p in source.iterdir() if _is_segment(p.name, before)]
            copied = sum(_copy(source / name, target / name) for name in names)
            if (source / _MANIFEST).read_bytes() == before:
                # Segments never change and go only after a newer manifest has come.
                copied += _write(target / _MANIFEST, before)
                files.sync_folder(target)
                return copied
        except FileNotFoundError:
            pass
        shutil.rmtree(target)
    return 0


def _is_segment(name: str, manifest: bytes) -> bool:
    return name.startswith("seg-") and ".damaged-" not in name and name.encode() in manifest


def _write(target: Path, raw: bytes) -> int:
    files.make_private(target)
    with target.open("r+b") as write:
        write.write(raw)
        write.flush()
        os.fsync(write.fileno())
    return len(raw)


def _copy(source: Path, target: Path) -> int:
    mode = source.stat().st_mode & 0o700
    files.make_private(target)
    with source.open("rb") as read, target.open("r+b") as write:
        shutil.copyfileobj(read, write, 1 << 20)
        size = write.tell()
        write.flush()
        os.fchmod(write.fileno(), mode & 0o600)
        os.fsync(write.fileno())
    return size
