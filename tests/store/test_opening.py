"""What opening a store does to its folder, and what it refuses."""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import apsw
import pytest

import ledger_rows as made
from tables import each
from vestig.errors import (
    ConflictError,
    NotFoundError,
    SchemaVersionError,
    StoreLockedError,
    ValidationError,
    VestigError,
)
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.migrations import MIGRATIONS, Migration, newest_version
from vestig.store.ledger.opening import open_ledger
from vestig.store.records.rows import Listing
from vestig.store.sqlite import files

NOW = made.NOW


def add(ledger: Ledger, text: str) -> str:
    new = made.memory(text)
    with ledger.write(NOW) as txn:
        txn.apply(made.added(new))
    return str(new.id)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def crashed_copy(source: Path, target: Path) -> Path:
    """The folder as a kill would leave it, with its WAL."""
    target.mkdir()
    for path in source.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "a" / "store"


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
def test_files_are_private_whatever_the_umask(store: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        with open_ledger(store, state_dir=store.parent / "state") as ledger:
            add(ledger, "one")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.iterdir()}
            folder = stat.S_IMODE(store.stat().st_mode)
            state = [stat.S_IMODE(p.stat().st_mode) for p in (store.parent / "state").iterdir()]
    finally:
        os.umask(old)
    assert set(modes) == {"ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "witness"}
    assert set(modes.values()) == {0o600}
    assert folder == 0o700
    assert state == [0o600, 0o600]


@pytest.mark.parametrize("mode", [0o1777, 0o755, 0o2770, 0o700])
def test_a_folder_of_somebody_else_keeps_its_mode(store: Path, mode: int) -> None:
    store.mkdir(parents=True)
    store.chmod(mode)
    with open_ledger(store) as ledger:
        add(ledger, "one")
        modes = {stat.S_IMODE(path.stat().st_mode) for path in store.iterdir()}
    assert stat.S_IMODE(store.stat().st_mode) == mode
    assert modes == {0o600}


def test_an_open_ledger_is_tightened(store: Path) -> None:
    open_ledger(store).close()
    (store / "ledger.sqlite").chmod(0o644)
    with open_ledger(store) as ledger:
        add(ledger, "one")
        assert {stat.S_IMODE(path.stat().st_mode) for path in store.iterdir()} == {0o600}


def test_pragmas(store: Path) -> None:
    for durability, level in (("full", 2), ("normal", 1)):
        with open_ledger(store, durability=durability) as ledger, ledger.write(NOW) as txn:
            values = {
                name: txn.connection.execute(f"PRAGMA {name}").fetchall()[0][0]
                for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
            }
        assert values == {
            "journal_mode": "wal",
            "synchronous": level,
            "foreign_keys": 1,
            "secure_delete": 1,
        }
    with pytest.raises(ValidationError, match="full or normal"):
        open_ledger(store, durability="none")


def test_no_statement_is_compiled_anew_for_a_value(store: Path) -> None:
    asked = apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1
    with open_ledger(store) as ledger:
        with ledger.write(NOW) as txn:
            assert txn.connection.config(*asked) == 1
        with ledger.read() as view:
            assert view.connection.config(*asked) == 1


def test_memory_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_ledger(None, state_dir=tmp_path / "state") as ledger:
        add(ledger, "one")
        assert ledger.path is None
    assert list(tmp_path.iterdir()) == []


def test_closing_leaves_one_file_and_the_witness(store: Path) -> None:
    ledger = open_ledger(store)
    add(ledger, "one")
    with ledger.read() as view:
        assert view.seq == 1
    ledger.close()
    ledger.close()
    assert sorted(path.name for path in store.iterdir()) == ["ledger.sqlite", "witness"]
    with pytest.raises(ConflictError, match="closed"), ledger.read():
        pass
    with pytest.raises(ConflictError, match="closed"), ledger.write(NOW):
        pass


def test_a_wal_that_another_process_takes_away_meanwhile(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was seen of it a moment ago: what counts is what the one look finds."""
    with open_ledger(store) as ledger:
        add(ledger, "one")
    seen = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: path.suffix == ".sqlite-wal" or seen(path))
    with open_ledger(store) as ledger, ledger.read() as view:
        assert view.seq == 1


def test_read_only_changes_no_file(store: Path) -> None:
    with open_ledger(store) as ledger:
        id = add(ledger, "one")
    before = contents(store)
    with open_ledger(store, read_only=True) as ledger:
        assert ledger.read_only
        with ledger.read() as view:
            assert [m.id for m in view.list_memories("default", Listing())] == [id]
            assert len(list(view.projection_rows(0))) == 1
        with pytest.raises(StoreLockedError, match="read-only"), ledger.write(NOW):
            pass
    after = contents(store)
    assert {name: raw for name, raw in after.items() if name in before} == before
    assert not any(after[name] for name in after.keys() - before.keys() if "-wal" in name)


def test_read_only_makes_no_store(store: Path) -> None:
    with pytest.raises(NotFoundError, match="no store at"):
        open_ledger(store, read_only=True)
    assert not store.exists()


def unwritable(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a read-only mount: the superuser of a test run may write anywhere else."""
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode & os.W_OK == 0 and real(path, mode))


def test_an_unwritable_folder_is_read_without_a_file(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(store) as ledger:
        id = add(ledger, "one")
    unwritable(monkeypatch)
    before = contents(store)
    with open_ledger(store) as ledger:
        assert ledger.read_only
        with ledger.read() as view:
            assert [m.id for m in view.memories("default", [id])] == [id]
        with pytest.raises(StoreLockedError, match="cannot be written"), ledger.write(NOW):
            pass
    assert contents(store) == before


def test_a_wal_in_an_unwritable_folder_is_not_ignored(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`immutable=1` would show the store without the commits that are still in the WAL."""
    with open_ledger(store) as ledger:
        id = add(ledger, "one")
        copy = crashed_copy(store, tmp_path / "copy")
    assert (copy / "ledger.sqlite-wal").stat().st_size > 0
    unwritable(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = contents(copy)
    with open_ledger(copy) as ledger:
        private = [p for p in tmp_path.iterdir() if p.name.startswith("vestig-")]
        assert [stat.S_IMODE(p.stat().st_mode) for p in private] == [0o700]
        with ledger.read() as view:
            assert [m.id for m in view.memories("default", [id])] == [id]
    assert contents(copy) == before
    assert not any(p.name.startswith("vestig-") for p in tmp_path.iterdir())


def test_a_path_that_sqlite_cannot_open_is_refused_with_the_limit(tmp_path: Path) -> None:
    long = tmp_path
    while len(os.fsencode(long)) < 480:
        long = long / ("d" * min(200, 480 - len(os.fsencode(long))))
    with pytest.raises(ValidationError, match="at most 490 bytes"):
        open_ledger(long)
    assert not long.exists()
    longest = tmp_path / "a"
    longest /= "d" * 200
    longest /= "e" * (490 - len("/ledger.sqlite") - len(os.fsencode(longest)) - 1)
    with open_ledger(longest) as ledger:
        add(ledger, "one")
        assert len(os.fsencode(ledger.path)) == 490  # type: ignore[arg-type]


@each("name", ["with space", "ünï 漢字", "a?b=c&d#e%20f", "'\"", "-x", ";"])
def test_odd_names(tmp_path: Path, name: str) -> None:
    with open_ledger(tmp_path / name) as ledger:
        id = add(ledger, "one")
    with open_ledger(tmp_path / name, read_only=True) as ledger, ledger.read() as view:
        assert len(view.memories("default", [id])) == 1
    assert (tmp_path / name / "ledger.sqlite").exists()


def test_a_network_file_system_is_refused(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "network_kind", lambda folder: "nfs4")
    with pytest.raises(StoreLockedError, match="nfs4"):
        open_ledger(store)
    assert not store.exists()


def test_mounts_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = f"disk / ext4 rw 0 0\nhost:/x {tmp_path}/net nfs4 rw 0 0\n"
    monkeypatch.setattr(Path, "read_text", lambda *_args, **_options: mounts)
    assert files.network_kind(tmp_path / "net" / "store") == "nfs4"
    assert files.network_kind(tmp_path / "network") is None


def test_an_old_sqlite_is_refused(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(VestigError, match=r"3\.51\.3"):
        open_ledger(store)


# --- schema versions -------------------------------------------------------------------------


def add_table(conn: apsw.Connection) -> None:
    conn.execute("CREATE TABLE extra (x INTEGER) STRICT")


def fail(conn: apsw.Connection) -> None:
    conn.execute("CREATE TABLE half (x INTEGER) STRICT")
    raise RuntimeError


NOW_AT = newest_version(MIGRATIONS)
NEXT = (*MIGRATIONS, Migration(NOW_AT + 1, add_table))


def test_an_older_store_is_migrated_after_a_copy(store: Path) -> None:
    with open_ledger(store) as ledger:
        id = add(ledger, "one")
    with open_ledger(store, schema=NEXT) as ledger:
        with ledger.read() as view:
            assert len(view.memories("default", [id])) == 1
            assert view.connection.execute("SELECT COUNT(*) FROM extra").fetchall() == [(0,)]
        add(ledger, "two")
        assert ledger.verify_all() == []
    backup = store / f"ledger.bak-{NOW_AT}"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    old = apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)
    assert old.execute("PRAGMA user_version").fetchall() == [(NOW_AT,)]
    assert old.execute("SELECT COUNT(*) FROM memories").fetchall() == [(1,)]
    old.close()


def test_a_new_store_has_the_newest_schema_and_no_copy(store: Path) -> None:
    with open_ledger(store, schema=NEXT) as ledger, ledger.read() as view:
        assert view.connection.execute("PRAGMA user_version").fetchall() == [(NOW_AT + 1,)]
    assert not list(store.glob("ledger.bak-*"))


@pytest.mark.parametrize("with_wal", [False, True])
def test_a_newer_store_is_refused_and_untouched(
    store: Path, tmp_path: Path, with_wal: bool
) -> None:
    ledger = open_ledger(store, schema=NEXT)
    add(ledger, "one")
    copy = crashed_copy(store, tmp_path / "copy") if with_wal else store
    ledger.close()
    before = contents(copy)
    with pytest.raises(
        SchemaVersionError, match=rf"schema version {NOW_AT}, found version {NOW_AT + 1}"
    ):
        open_ledger(copy)
    after = contents(copy)
    before.pop("ledger.sqlite-shm", None)  # marks of readers, no data
    after.pop("ledger.sqlite-shm", None)
    assert after == before


@pytest.mark.parametrize("version", [0, 6, -1])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_ledger_of_another_schema_is_refused_and_untouched(
    store: Path, version: int, read_only: bool
) -> None:
    """As one that a state before the first release wrote, or another program."""
    with open_ledger(store) as ledger:
        add(ledger, "one")
    conn = apsw.Connection(str(store / "ledger.sqlite"))
    conn.execute(f"PRAGMA user_version = {version}")
    conn.close()
    before = contents(store)
    with pytest.raises(
        SchemaVersionError,
        match=rf"expected a ledger of schema version {NOW_AT}, found version {version};"
        rf" nothing was changed, open it with the {'version of vestig' if version else 'program'}"
        " that wrote it",
    ):
        open_ledger(store, read_only=read_only)
    assert contents(store) == before


def test_a_failed_migration_changes_nothing(store: Path) -> None:
    with open_ledger(store) as ledger:
        add(ledger, "one")
    with pytest.raises(RuntimeError):
        open_ledger(store, schema=(*MIGRATIONS, Migration(NOW_AT + 1, fail)))
    with open_ledger(store) as ledger:
        assert ledger.verify_all() == []
        with ledger.read() as view:
            names = view.connection.execute("SELECT name FROM sqlite_schema").fetchall()
    assert ("half",) not in names


KILLED_STEP = """
import os, signal, sys
from pathlib import Path
from vestig.store.ledger.migrations import Migration
from vestig.store.ledger.opening import open_ledger

def step(conn):
    conn.execute("CREATE TABLE extra (x INTEGER) STRICT")
    os.kill(os.getpid(), signal.SIGKILL)

open_ledger(Path(sys.argv[1]), schema=[Migration(int(sys.argv[2]), step)])
"""


def test_a_migration_that_is_killed_is_made_again(store: Path) -> None:
    with open_ledger(store) as ledger:
        id = add(ledger, "one")
    words = [sys.executable, "-c", KILLED_STEP, str(store), str(NOW_AT + 1)]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    with open_ledger(store) as ledger:
        assert ledger.verify_all() == []
    with open_ledger(store, schema=NEXT) as ledger, ledger.read() as view:
        assert len(view.memories("default", [id])) == 1
        assert view.connection.execute("SELECT COUNT(*) FROM extra").fetchall() == [(0,)]


def test_an_older_store_is_not_migrated_read_only(store: Path) -> None:
    open_ledger(store).close()
    with pytest.raises(
        SchemaVersionError,
        match=f"of schema version {NOW_AT + 1}, found version {NOW_AT}; a read-only store",
    ):
        open_ledger(store, schema=NEXT, read_only=True)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no list of open files")
def test_a_ledger_that_is_dropped_leaves_no_open_file(tmp_path: Path) -> None:
    def held() -> list[str]:
        links = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
        targets = [os.readlink(link) for link in links if os.path.lexists(link)]
        return [target for target in targets if target.startswith(str(tmp_path))]

    ledger = open_ledger(tmp_path / "store")
    add(ledger, "one")
    assert held() != []
    del ledger
    gc.collect()
    assert held() == []
