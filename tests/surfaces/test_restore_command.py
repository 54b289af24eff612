"""`vestig restore`, `vestig.restore` and what is said where a memory was meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_answers import FACTS, Vestig

from vestig import restore
from vestig.errors import ConflictError, ValidationError


def test_a_backup_comes_back_where_the_store_was(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    assert vestig("backup", str(tmp_path / "copy")).code == 0
    assert vestig("destroy", str(tmp_path / "store"), "--yes").code == 0
    answer = vestig("restore", str(tmp_path / "copy"), "--json")
    assert (answer.code, answer.document["memories"]) == (0, len(FACTS))
    assert answer.document["path"] == str(tmp_path / "store")
    assert vestig("count").out == f"{len(ids)}\n"
    assert vestig("doctor").code == 0


def test_a_copy_says_how_many_of_its_memories_are_current(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    """What `count` counts is not all that is copied."""
    vestig("supersede", ids[0], ids[1])
    for line in (("backup",), ("--store", str(tmp_path / "again"), "restore")):
        answer = vestig(*line, str(tmp_path / "copy"))
        assert answer.code == 0
        assert f"ACTIVE {len(ids) - 1}, SUPERSEDED 1\n" in answer.out
        assert "`count` and `list` have those that are ACTIVE, and" in answer.out
    assert vestig("count").out == f"{len(ids) - 1}\n"


def test_it_goes_to_the_store_that_is_named(vestig: Vestig, ids: list[str], tmp_path: Path) -> None:
    vestig("backup", str(tmp_path / "copy"))
    place = ("--store", str(tmp_path / "other"))
    assert vestig("restore", str(tmp_path / "copy"), *place).code == 0
    assert vestig("list", *place).out.count("\n") == len(ids)


def test_a_store_in_the_way_stays(vestig: Vestig, ids: list[str], tmp_path: Path) -> None:
    vestig("backup", str(tmp_path / "copy"))
    vestig("add", "The ferry to Skye leaves at seven")
    answer = vestig("restore", str(tmp_path / "copy"))
    assert answer.code == 1
    assert "it holds a store; nothing was changed" in answer.err
    assert "`vestig --store DEST restore BACKUP`" in answer.err
    assert vestig("count").out == f"{len(ids) + 1}\n"


@pytest.mark.parametrize("name", ["bk.tar.gz", "bk.ZIP", "bk.tgz", "bk.sqlite", "bk.jsonl"])
def test_a_backup_is_called_as_no_file(
    vestig: Vestig, ids: list[str], tmp_path: Path, name: str
) -> None:
    answer = vestig("backup", str(tmp_path / name))
    assert answer.code == 2
    base = tmp_path / "bk"
    assert (
        f"`vestig backup {base}` makes it, `tar -czf {base}.tar.gz {base}` packs it" in answer.err
    )
    assert not (tmp_path / name).exists()
    (tmp_path / name).write_bytes(b"packed")
    assert "a packed one is unpacked first" in vestig("restore", str(tmp_path / name)).err
    assert vestig("backup", str(tmp_path / "bk.2026-03-18")).code == 0


def test_an_archived_memory_comes_back_by_another_name(vestig: Vestig, ids: list[str]) -> None:
    vestig("archive", ids[0])
    assert "`vestig unarchive ID`" in vestig("restore", ids[0]).err
    assert "`vestig memory unarchive`" in vestig("memory", "restore", ids[0]).err
    assert "unarchived" in vestig("unarchive", ids[0]).out


def test_from_python(vestig: Vestig, ids: list[str], tmp_path: Path) -> None:
    vestig("backup", str(tmp_path / "copy"))
    assert restore(tmp_path / "copy", tmp_path / "again").memories == len(ids)
    configured = restore(tmp_path / "copy", config={"store.path": str(tmp_path / "third")})
    assert configured.path == str(tmp_path / "third")
    with pytest.raises(ConflictError, match="it holds a store"):
        restore(tmp_path / "copy", tmp_path / "again")
    with pytest.raises(ValidationError, match="path: expected the path of a store on disk"):
        restore(tmp_path / "copy", ":memory:")
