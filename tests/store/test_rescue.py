"""Reading a damaged ledger: what is missing is named, and all that can be read is read."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import apsw
import pytest

import vestig
from vestig.errors import StoreDamagedError
from vestig.surfaces.cli import run

COUNT = 160
PAGE = 4096


def opened(path: Path) -> vestig.Vestig:
    return vestig.open(path, config={"embedding.provider": "hashing"})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store with its texts by id."""
    path = tmp_path_factory.mktemp("whole") / "store"
    with opened(path) as store:
        texts = [
            f"Shelf {n} holds {n * 7 % 97} vials of drug {n * 31 % 1009}" for n in range(COUNT)
        ]
        done = store.commit_many([{"content": text} for text in texts])
        store.admin.compact()
        store.update(done[3].memory_id, content="Shelf 3 was emptied by Maria")
        return path, {
            one.id: one.content for one in store.list(limit=1000, where={"include_expired": True})
        }


@pytest.fixture
def copy(written: tuple[Path, dict[str, str]], tmp_path: Path) -> Path:
    shutil.copytree(written[0], tmp_path / "store")
    return tmp_path / "store"


def texts_in(folder: Path) -> set[str]:
    return {path.read_text("utf-8").rpartition("---\n")[2].strip() for path in folder.iterdir()}


def change(store: Path, sql: str) -> None:
    conn = apsw.Connection(str(store / "ledger.sqlite"))
    conn.execute(sql)
    conn.close()


def test_a_whole_ledger_is_exported_as_ever(
    copy: Path, written: tuple[Path, dict[str, str]]
) -> None:
    with opened(copy) as store:
        assert store.export(copy.parent / "md", format="md").records["memory"] == len(written[1])


def test_lost_memories_are_named_and_the_others_written(
    copy: Path, written: tuple[Path, dict[str, str]]
) -> None:
    lost, gone = sorted(written[1])[5:8], sorted(written[1])[0]
    with opened(copy) as store:
        store.forget(gone)
    ids = ", ".join(f"x'{one.removeprefix('mem_').replace('-', '')}'" for one in lost)
    change(copy, f"DELETE FROM memories WHERE id IN ({ids})")
    with opened(copy) as store:
        with pytest.raises(StoreDamagedError, match=f"3 are missing: {', '.join(lost)};"):
            store.export(copy.parent / "md", format="md")
        assert len(texts_in(copy.parent / "md")) == len(written[1]) - 4
        with pytest.raises(StoreDamagedError):
            assert all(one.content for one in store)
        for name in (lost[1], lost[1][:12]):
            with pytest.raises(StoreDamagedError, match=lost[1]):
                store.show(name)
        with pytest.raises(vestig.NotFoundError):
            store.show("mem_00000000-0000-4000-8000-000000000000")
        with pytest.raises(vestig.NotFoundError, match="forgotten at"):
            store.show(gone)


def test_what_is_not_as_it_was_written_is_written_and_named(
    copy: Path, written: tuple[Path, dict[str, str]]
) -> None:
    id = sorted(written[1])[9]
    raw = id.removeprefix("mem_").replace("-", "")
    change(copy, f"UPDATE memories SET scope = 'user/eve' WHERE id = x'{raw}'")
    with opened(copy) as store, pytest.raises(StoreDamagedError, match=f"1 are not as .*{id}"):
        store.export(copy.parent / "md", format="md")
    assert texts_in(copy.parent / "md") == set(written[1].values())


def test_no_damaged_page_loses_a_memory_silently(
    copy: Path,
    written: tuple[Path, dict[str, str]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VESTIG_EMBEDDING__PROVIDER", "hashing")
    ledger, folder = copy / "ledger.sqlite", copy.parent / "md"
    whole, chance, fewer = ledger.read_bytes(), random.Random(5), 0
    pages = [(page, at) for page in range(1, len(whole) // PAGE) for at in (5, 9)]
    for page, at in chance.sample(pages, 60):
        damaged = bytearray(whole)
        damaged[page * PAGE + at] ^= 4
        ledger.write_bytes(bytes(damaged))
        shutil.rmtree(folder, ignore_errors=True)
        code = run(["--store", str(copy), "export", str(folder), "--format", "md"])
        said = capsys.readouterr().err
        found = texts_in(folder) if folder.exists() else set[str]()
        assert found <= set(written[1].values())
        if set(written[1].values()) == found:
            continue
        assert "every memory was read" not in said
        fewer += 1
        assert code == 3, (page, at, code, said)
        missing = sum(map(int, re.findall(r"(\d+) (?:are missing|memor\w+ missing)", said)))
        if found:
            assert missing >= len(written[1]) - len(found), said
    assert fewer, "some damage concerned memories"


def test_what_a_filter_selects_of_a_damaged_ledger_is_not_called_all(copy: Path) -> None:
    change(copy, "UPDATE events SET source = 'other' WHERE rowid = 3")
    with opened(copy) as store:
        with pytest.raises(StoreDamagedError, match="filter may have selected too few"):
            store.export(copy.parent / "some", format="md", where={"unscoped": True})
        with pytest.warns(UserWarning, match="every memory was read"):
            store.export(copy.parent / "md", format="md")
