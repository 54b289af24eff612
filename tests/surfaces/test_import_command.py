"""The report of `vestig import` on a terminal."""

from __future__ import annotations

import re
from pathlib import Path

from command_answers import Vestig


def test_a_forgotten_document_is_listed_and_imported_truthfully(
    vestig: Vestig, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "pond.md").write_text("# Pond\n\nThe pond is three meters deep.\n", "utf-8")
    vestig("import", str(folder), "--scope", "garden")
    gone = vestig("forget", "--scope", "garden", "--yes")
    assert "1 document forgotten too" in gone.out
    assert vestig("document", "list").out == "No documents found.\n"
    assert "1 added" in vestig("import", str(folder), "--scope", "garden").out
    id = vestig("list", "--json").document["memories"][0]["id"]
    vestig("forget", id, "--yes")
    listed = vestig("document", "list").out
    assert listed.split(" | ")[1] == "0"
    again = vestig("import", str(folder), "--scope", "garden").out
    assert "left out: passage that was forgotten  1" in again
    assert "`vestig document forget ID` lets the next import bring it" in again
    assert "kept" not in again
    source = listed.split(" | ")[0]
    assert "Nothing to forget" not in vestig("document", "forget", source, "--yes").out
    assert "1 added" in vestig("import", str(folder), "--scope", "garden").out


def test_files_of_folders_inside_are_counted(vestig: Vestig, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    for name in ("a.md", "people/b.md", "people/far/c.md", ".hidden/d.md", "people/.e.md"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {path.stem}\n\nThe pond of {name} is deep.\n", "utf-8")
    (folder / "people" / "link.md").symlink_to(folder / "a.md")
    alone = vestig("import", str(folder)).out
    assert "left out: file in a folder inside  2" in alone
    assert "`-r` brings the files of the folders inside" in alone
    whole = vestig("import", "-r", str(folder)).out
    assert "2 imported" in whole
    assert "left out: hidden entry  2" in whole
    assert re.search(r"left out: link +1\nA link is read that", whole)
    (folder / "only").mkdir()
    (folder / "only" / "link.md").symlink_to(folder / "a.md")
    assert "a folder with 1 link alone" in vestig("import", str(folder / "only")).err


def test_hints_of_a_mirror_take_the_folders_inside(vestig: Vestig) -> None:
    for word in ("sync", "watch", "mirror"):
        assert "vestig import --mirror -r FOLDER" in vestig(word).err


def test_a_list_of_statements_is_told_how_each_becomes_a_memory(
    vestig: Vestig, tmp_path: Path
) -> None:
    facts = tmp_path / "facts.txt"
    facts.write_text("The crane is blue.\nThe lorry has nine gears.\nThe pump is old.\n")
    answer = vestig("import", str(facts))
    assert "3 lines became 1 passage; one memory a line: `jq -Rc" in answer.err
    facts.write_text("The crane is\nblue and lifts\nnine tonnes.\n")
    assert "lines became" not in vestig("import", str(facts)).err
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"content": "The crane is blue."}\n{"content": "The lorry has gears."}\n')
    assert vestig("import", "--format", "memories", str(rows)).out.endswith("2: 2 imported\n")


def test_an_export_is_not_written_under_a_name_of_another_format(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    for name in ("all.csv", "notes.md", "ALL.XLSX"):
        answer = vestig("export", str(tmp_path / name))
        assert answer.code == 2
        assert "`vestig export FOLDER --format md`" in answer.err
        assert not (tmp_path / name).exists()
    for name in ("all.jsonl", "all.json", "all"):
        assert vestig("export", str(tmp_path / name)).code == 0


def test_a_folder_of_markdown_gets_no_name_of_a_file(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    for name in ("out.md", "out.json", "OUT.ZIP"):
        answer = vestig("export", str(tmp_path / name), "--format", "md")
        assert answer.code == 2
        stem = name.partition(".")[0]
        assert f"`vestig export {tmp_path / stem} --format md`" in answer.err
        assert not (tmp_path / name).exists()
    # a folder that is there, and one whose name ends in no file's way
    (tmp_path / "kept.md").mkdir()
    for name in ("kept.md", "notes.2026"):
        assert vestig("export", str(tmp_path / name), "--format", "md").code == 0


def test_an_address_is_no_path(vestig: Vestig) -> None:
    answer = vestig("import", "https://example.org/a.csv")
    assert answer.code == 2
    assert "'https://example.org/a.csv'; `curl -L ADDRESS -o FILE`" in answer.err


def test_an_export_that_comes_in_whole_loses_no_line(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    export = str(tmp_path / "all.jsonl")
    vestig("export", export)
    answer = vestig("import", export, "--store", str(tmp_path / "other"))
    assert "2 skipped (the first and the last line of the file, and what is" in answer.out
