"""What lies at a path decides what reading and writing do there: nothing is accepted wrongly or
lost."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

import vestig
from vestig.errors import VestigError
from vestig.testing import HashingEmbedder

TEXT = "The vault key lies with Ines in the harbour office"
OTHER = "Kofi owns the search cluster and is on call"
LEDGER = "ledger.sqlite"

Prepare = Callable[[Path], object]


def made(folder: Path, text: str = TEXT) -> None:
    with vestig.open(folder, embedder=HashingEmbedder(64)) as store:
        store.commit(text)
        store.admin.compact()


def kept(harm: Prepare) -> Prepare:
    """A store that is harmed once it is closed."""

    def prepare(folder: Path) -> None:
        made(folder)
        shutil.copytree(folder, folder.parent.parent / "aside")
        harm(folder)

    return prepare


def linked(name: str) -> Prepare:
    def harm(folder: Path) -> None:
        target = folder.parent.parent / "target"
        if (folder / name).exists():
            (folder / name).rename(target)
        (folder / name).symlink_to(target)

    return kept(harm)


def emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def replaced_by_another(folder: Path) -> None:
    shutil.rmtree(folder)
    made(folder, OTHER)


def older_put_back(folder: Path) -> None:
    older = (folder / LEDGER).read_bytes()
    made(folder, OTHER)
    (folder / LEDGER).write_bytes(older)


def truncated(folder: Path) -> None:
    raw = (folder / LEDGER).read_bytes()
    (folder / LEDGER).write_bytes(raw[: len(raw) // 2])


def as_folder(name: str) -> Prepare:
    def harm(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return kept(harm)


def projection_a_file(folder: Path) -> None:
    shutil.rmtree(folder / "projection")
    (folder / "projection").write_bytes(b"x")


def beside(name: str) -> Prepare:
    """A folder that holds only this file."""

    def prepare(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(b"of somebody")

    return prepare


def mode(bits: int) -> Prepare:
    def prepare(folder: Path) -> None:
        folder.mkdir()
        folder.chmod(bits)

    return prepare


def nothing(_: Path) -> None:
    pass


# How many memories a read finds, or its error; the same for a write of one more.
EMPTY: Final = (0, 1)
HELD: Final = (1, 2)
NO_STORE: Final = ("NotFoundError", "ConflictError")
DAMAGED: Final = ("StoreDamagedError", "StoreDamagedError")
GONE: Final = ("StoreDamagedError", 1)

PATHS: Final[dict[str, tuple[Prepare, tuple[object, object]]]] = {
    "missing": (nothing, EMPTY),
    "missing parents": (lambda f: shutil.rmtree(f.parent), EMPTY),
    "empty": (lambda f: f.mkdir(), EMPTY),
    "empty, open to all": (mode(0o1777), EMPTY),
    "empty, of a group": (mode(0o2770), EMPTY),
    "a link to an empty folder": (
        lambda f: ((f.parent / "real").mkdir(), f.symlink_to("real")), EMPTY),
    "a link to nothing": (lambda f: f.symlink_to(f.parent / "nowhere"), EMPTY),
    "a link to itself": (lambda f: f.symlink_to(f), ("ConflictError", "ConflictError")),
    "a file": (lambda f: f.write_text("x"), ("ConflictError", "ConflictError")),
    "below a file": (
        lambda f: (shutil.rmtree(f.parent), f.parent.write_text("x")),
        ("ConflictError", "ConflictError")),
    "an unfinished ledger": (beside(f"{LEDGER}.new-00ff"), EMPTY),
    "a file of others": (beside("notes.txt"), NO_STORE),
    "a hidden file": (beside(".git/config"), NO_STORE),
    "a manifest of others": (beside("manifest.json"), NO_STORE),
    "a database of others": (beside("data.sqlite"), NO_STORE),
    "segments of others": (beside("videos/seg-1.ts"), NO_STORE),
    "a dangling link": (lambda f: (f.mkdir(), (f / "x").symlink_to("y")), NO_STORE),
    "a witness alone": (beside("witness"), DAMAGED),
    "a log alone": (beside(f"{LEDGER}-wal"), DAMAGED),
    "a copy of a migration alone": (beside("ledger.bak-3"), DAMAGED),
    "a segment alone": (beside("projection/seg-1-0000000000000000"), DAMAGED),
    "a manifest alone": (beside("projection/manifest"), DAMAGED),
    "a store": (made, HELD),
    "a store open to others": (kept(lambda f: f.chmod(0o755)), HELD),
    "a ledger open to others": (kept(lambda f: (f / LEDGER).chmod(0o644)), HELD),
    "a store with a file of others": (kept(lambda f: (f / "notes.txt").write_text("x")), HELD),
    "a link to a store": (
        lambda f: (made(f.parent / "real"), f.symlink_to(f.parent / "real")), HELD),
    "no witness": (kept(lambda f: (f / "witness").unlink()), HELD),
    "a witness of nonsense": (kept(lambda f: (f / "witness").write_bytes(b"x" * 52)), HELD),
    "no reserve": (kept(lambda f: (f / "reserve").unlink(missing_ok=True)), HELD),
    "no projection": (kept(lambda f: shutil.rmtree(f / "projection")), HELD),
    "a projection of nonsense": (
        kept(lambda f: (f / "projection" / "manifest").write_bytes(b"x" * 99)), HELD),
    "an unfinished witness": (kept(lambda f: (f / "witness.new-00").write_bytes(b"")), HELD),
    "an empty ledger": (kept(lambda f: (f / LEDGER).write_bytes(b"")), DAMAGED),
    "half a ledger": (kept(truncated), DAMAGED),
    "a ledger of nonsense": (kept(lambda f: (f / LEDGER).write_bytes(b"x" * 9999)), DAMAGED),
    "an older ledger put back": (kept(older_put_back), DAMAGED),
    "a linked ledger": (linked(LEDGER), DAMAGED),
    "a linked log": (linked(f"{LEDGER}-wal"), DAMAGED),
    "a linked shared file": (linked(f"{LEDGER}-shm"), DAMAGED),
    "a linked witness": (linked("witness"), DAMAGED),
    "a linked reserve": (linked("reserve"), DAMAGED),
    "a linked projection": (linked("projection"), DAMAGED),
    "a linked manifest": (linked("projection/manifest"), DAMAGED),
    "a linked lock": (linked("projection/lock"), DAMAGED),
    "a folder for a ledger": (as_folder(LEDGER), DAMAGED),
    "a file for a projection": (kept(projection_a_file), DAMAGED),
    "lost: emptied": (kept(emptied), DAMAGED),
    "lost: no ledger": (kept(lambda f: (f / LEDGER).unlink()), DAMAGED),
    "lost: with its parent": (kept(lambda f: shutil.rmtree(f.parent)), DAMAGED),
    "lost: a file in its place": (
        kept(lambda f: (shutil.rmtree(f), f.write_text("x"))), ("ConflictError", "ConflictError")),
    "lost: moved": (kept(lambda f: f.rename(f.parent / "moved")), GONE),
    "lost: removed": (kept(shutil.rmtree), GONE),
    "another store in its place": (kept(replaced_by_another), HELD),
}  # fmt: skip


@pytest.fixture(autouse=True)
def lasting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files lie elsewhere, so that stores below tmp_path are meant to last."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def outcome(folder: Path, call: Callable[[vestig.Vestig], object]) -> object:
    try:
        with vestig.open(folder, embedder=HashingEmbedder(64)) as store:
            call(store)
            return store.count()
    except VestigError as error:
        return type(error).__name__


def snapshot(folder: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def test_there_are_enough_paths() -> None:
    assert len(PATHS) >= 40


@pytest.mark.parametrize("name", PATHS)
def test_what_lies_at_a_path_decides(tmp_path: Path, name: str) -> None:
    prepare, (read, written) = PATHS[name]
    folder = tmp_path / "above" / "store"
    folder.parent.mkdir()
    prepare(folder)
    before = snapshot(folder.parent) if folder.parent.is_dir() else {}
    assert outcome(folder, lambda store: store.list()) == read
    if read != 1:
        after = snapshot(folder.parent) if folder.parent.is_dir() else {}
        assert after == before, "a read that finds no store changes nothing"
    assert outcome(folder, lambda store: store.commit("Deploys run on Tuesdays")) == written
    if not isinstance(written, int):
        after = snapshot(folder.parent) if folder.parent.is_dir() else {}
        assert after == before, "a refusal changes nothing"
    if (tmp_path / "aside").exists():
        assert outcome(tmp_path / "aside", lambda store: store.list()) == 1
