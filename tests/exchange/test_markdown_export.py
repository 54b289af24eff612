"""A store as a folder of Markdown: what is in it, and that it comes back."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.errors import ValidationError
from vestig.testing import FrozenClock, HashingEmbedder

CODE = "To restart the pump:\n\n    systemctl restart pump\n\nand wait for a minute"
RED, BLUE = "The lamp in the hall is red", "The lamp in the hall is blue"


def opened(folder: Path) -> vestig.Vestig:
    return vestig.open(folder, embedder=HashingEmbedder(16), clock=FrozenClock())


@pytest.fixture
def filled(tmp_path: Path) -> Any:
    with opened(tmp_path / "store") as store:
        store.commit(RED, key="lamp.colour", t_valid="2020-01-01")
        store.commit(BLUE, key="lamp.colour", t_valid="2024-05-06T07:08:09.123456Z")
        store.commit("Ada takes her coffee black", scope="user/ada", tags=["taste", "a: b"],
                     author="Ada", metadata={"shelf": {"row": 2, "note": "\u2028\t"}})  # fmt: skip
        store.commit(CODE, title='Restart: "how"', provenance={"origin_type": "note"},
                     pinned=True)  # fmt: skip
        store.commit("How do I open the shed?", role="user", session_id="s1", sequence=0,
                     retention_policy="permanent")  # fmt: skip
        old = store.commit("The shed opens with a red key", t_valid="2021-01-01").memory_id
        store.commit("The shed opens with a green key", supersedes=[str(old)], t_valid="2022-02-02")
        yield store


def told(store: vestig.Vestig) -> list[tuple[Any, ...]]:
    """All that an export in Markdown promises to bring back."""
    listed = store.list(where={"statuses": ["active", "superseded"]}, limit=1000)
    return sorted(
        (
            (one.content, one.scope, one.key, one.tags, one.author, str(one.role), one.session_id,
             one.sequence, one.title, one.t_valid, one.t_invalid, str(one.origin_type), one.pinned,
             str(one.retention_policy), str(one.temporal_stability), one.metadata)
            for one in listed
        ),
        key=repr,
    )  # fmt: skip


def test_a_folder_of_markdown_brings_the_same_memories_back(
    filled: vestig.Vestig, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    report = filled.export(folder, format="md")
    assert report.records == {"memory": 7}
    with opened(tmp_path / "copy") as other:
        assert other.import_(folder).imported == 7
        assert told(other) == told(filled)
        assert other.get("lamp.colour").content == BLUE
        assert other.get("lamp.colour", valid_at="2021-01-01").content == RED
        assert [one.content for one in other.list(valid_at="2021-06-01") if "shed" in one.content] \
            == ["The shed opens with a red key"]  # fmt: skip
        assert other.import_(folder).skipped == 7
        assert other.admin.doctor().exit_code == 0


def test_dates_keywords_and_entities_come_back(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as store, opened(tmp_path / "copy") as copy:
        store.commit("We paid the organ builder on 30 May", t_ref="2025-06-01")
        store.commit("The choir met yesterday", t_ref="2025-06-01", t_valid="2024-01-01")
        # nobody said when it was said
        store.commit("The choir sings tomorrow", t_valid="2024-01-01")
        store.commit("Somebody brings the scores", keywords=["Querflöte"],
                     entities=["PERSON:Jörg Weiß"])  # fmt: skip
        store.export(tmp_path / "notes", format="md")
        assert copy.import_(tmp_path / "notes").imported == 4
        both = [
            [(one.content, one.t_valid, one.times, one.keywords) for one in each.list()]
            for each in (store, copy)
        ]
        assert sorted(both[0], key=repr) == sorted(both[1], key=repr)
        assert [one[2] == () for one in sorted(both[1])] == [True, False, True, False]
        for each in (store, copy):
            assert each.count({"entities": "Jörg Weiß"}) == 1


def test_a_file_is_named_by_order_and_words_and_begins_with_its_fields(
    filled: vestig.Vestig, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    filled.export(folder, format="md")
    names = sorted(one.name for one in folder.iterdir())
    assert names[:2] == ["0000001-lamp-colour.md", "0000002-lamp-colour.md"]
    first = (folder / names[1]).read_text("utf-8")
    id = filled.list(where={"keys": ["lamp.colour"]})[0].id
    assert first.startswith(f'---\nvestig: memory/1\nid: "{id}"\nt_created: "')
    assert (
        '\nkey: "lamp.colour"\nsource: "manual"\nt_valid: "2024-05-06T07:08:09.123456Z"\n' in first
    )
    assert first.endswith(f"\n---\n\n{BLUE}\n")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / names[0]).stat().st_mode & 0o777 == 0o600


def test_values_of_one_transaction_stay_in_order(tmp_path: Path) -> None:
    texts = [f"The lamp in room {number} is lit" for number in range(20)]
    with opened(tmp_path / "store") as store:
        store.commit_many([{"content": text, "t_valid": "2024-01-01"} for text in texts])
        store.export(tmp_path / "notes", format="md")
    files = sorted((tmp_path / "notes").iterdir())
    assert [file.read_text().splitlines()[-1] for file in files] == texts


def test_a_filter_selects_what_is_written(filled: vestig.Vestig, tmp_path: Path) -> None:
    folder = tmp_path / "ada"
    assert filled.export(folder, format="md", where={"scope": "user/ada"}).lines == 1
    assert [one.name for one in folder.iterdir()] == ["0000001-ada-takes-her-coffee-black.md"]


def test_what_was_put_aside_or_found_wrong_stays_behind(
    filled: vestig.Vestig, tmp_path: Path
) -> None:
    aside = filled.commit("A sentence for the archive").memory_id
    filled.archive(str(aside))
    assert filled.export(tmp_path / "notes", format="md").records == {"memory": 7}


@pytest.mark.parametrize(
    ("target", "more"),
    [("stream", {}), ("full", {}), ("notes", {"all_namespaces": True})],
    ids=["stream", "folder with files", "several namespaces"],
)
def test_what_markdown_cannot_hold_is_refused(
    filled: vestig.Vestig, tmp_path: Path, target: str, more: Any
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "own.md").write_text("mine")
    place: Any = io.StringIO() if target == "stream" else tmp_path / target
    with pytest.raises(ValidationError):
        filled.export(place, format="md", **more)
    assert [one.name for one in (tmp_path / "full").iterdir()] == ["own.md"]
    assert not (tmp_path / "notes").exists()


@pytest.mark.parametrize(
    "text",
    [
        "---\nvestig: memory/1\nnothing ends this",
        "---\nvestig: memory/1\ntags: [\n---\nA text that says something",
        "---\nvestig: memory/1\ncolour: red\n---\nA text that says something",
    ],
    ids=["without an end", "broken YAML", "a field that is no argument"],
)
def test_a_broken_memory_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "broken.md").write_text(text)
    with opened(tmp_path / "store") as store:
        report = store.import_(tmp_path / "broken.md")
        assert (report.memories, len(report.errors)) == (0, 1)


def test_other_markdown_stays_a_document(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("---\ntitle: Boats\n---\nLarch floats well in the harbour.")
    with opened(tmp_path / "store") as store:
        assert store.import_(tmp_path / "note.md").format == "document"


@pytest.mark.parametrize("is_copy", [False, True], ids=["its own store", "a copy"])
def test_an_older_export_makes_no_old_fact_current(tmp_path: Path, is_copy: bool) -> None:
    folder, every = tmp_path / "notes", {"include_expired": True, "include_archived": True}
    texts = [
        f"The {one} of the mill is of oak" for one in ("gate", "wheel", "roof", "door", "wall")
    ]
    with opened(tmp_path / "store") as store, opened(tmp_path / "copy") as copy:
        for text in texts:
            store.commit(text)
        store.export(folder, format="md")
        copy.import_(folder)
        now = copy if is_copy else store
        gate, wheel, roof, door, wall = [
            next(one.id for one in now.list() if one.content == text) for text in texts
        ]
        now.deprecate(gate)
        now.archive(wheel)
        now.update(roof, content="The roof of the mill is of slate")
        now.commit("The door of the mill is of iron", supersedes=[door])
        now.pin(wall)
        before = [(one.id, one.status, one.version) for one in now.list(every)]
        report = now.import_(folder)
        assert [(one.id, one.status, one.version) for one in now.list(every)] == before
        assert (report.skipped, report.imported, report.duplicates) == (5, 0, 0)
        (warning,) = report.warnings
        assert warning.startswith("5 memories differ from the file and were kept as they are: mem_")


def test_an_edited_file_of_a_memory_that_is_here_is_told_and_not_taken(
    filled: vestig.Vestig, tmp_path: Path
) -> None:
    before = told(filled)
    filled.export(tmp_path / "notes", format="md")
    for file in (tmp_path / "notes").glob("*-lamp-colour.md"):
        file.write_text(file.read_text("utf-8").replace("The lamp", "A lamp"), "utf-8")
    (coffee,) = (tmp_path / "notes").glob("*coffee*")
    text = coffee.read_text("utf-8")
    coffee.write_text(text.replace('author: "Ada"', 'author: "Berta"'), "utf-8")
    report = filled.import_(tmp_path / "notes")
    assert (report.skipped, told(filled)) == (7, before)
    changed, different = report.warnings
    assert changed.startswith("2 records with another text than the one that is stored under")
    assert "a file without its `id` takes in what is no version of it" in changed
    assert different.startswith("1 memory differs from the file and was kept as it is: mem_")
    # as it says
    coffee.write_text("".join(one for one in text.splitlines(True) if not one.startswith("id:")))
    assert filled.import_(coffee).duplicates == 1


def test_what_another_store_says_again_is_told(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as store, opened(tmp_path / "other") as other:
        other.commit(RED)
        other.export(tmp_path / "notes", format="md")
        store.deprecate(str(store.commit(RED).memory_id))
        (warning,) = store.import_(tmp_path / "notes").warnings
        assert warning.startswith("1 text that had been replaced or withdrawn here holds again")


def test_a_view_learns_nothing_of_the_memory_of_another_scope(
    filled: vestig.Vestig, tmp_path: Path
) -> None:
    filled.export(tmp_path / "notes", format="md", where={"scope": "user/ada"})
    (file,) = (tmp_path / "notes").iterdir()
    file.write_text(file.read_text("utf-8").replace("user/ada", "user/ben"), "utf-8")
    report = filled.scoped("user/ben").import_(file)
    assert (report.imported, report.skipped, report.warnings) == (1, 0, ())


def test_what_was_forgotten_does_not_come_back(filled: vestig.Vestig, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    filled.export(folder, format="md")
    gone = filled.forget(where={"scope": "user/ada"}).memory_ids
    report = filled.import_(folder)
    assert len(gone) == 1
    assert report.warnings == ("1 memory that was forgotten here was left out",)
    assert filled.count(where={"scope": "user/ada"}) == 0
    assert report.lines == 7
    assert report.imported + report.skipped + report.duplicates == 7
    # in another namespace, too, and in a store that forgot nothing they come in
    other = filled.scoped("user/ada", namespace="other")
    assert other.import_(next(folder.glob("*coffee*"))).skipped == 1
    with opened(tmp_path / "copy") as copy:
        assert copy.import_(folder).warnings == ()
        assert copy.count(where={"scope": "user/ada"}) == 1
