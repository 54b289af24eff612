"""Documents come in as passages, and come again passage by passage."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

import vestig
from tables import each
from vestig.results import ImportedFile, ImportReport
from vestig.testing import HashingEmbedder
from vestig.types import Status


@pytest.fixture
def store() -> vestig.Vestig:
    return vestig.open(":memory:", embedder=HashingEmbedder())


def section(name: str, word: str, sentences: int = 16) -> str:
    text = " ".join(f"The {word} of plank {number} is sound." for number in range(sentences))
    return f"## {name}\n\n{text}\n"


def boats(*sections: str) -> str:
    return "# Boats\n\nAll that floats.\n\n" + "\n".join(sections)


HULL, MAST, SAIL = section("Hull", "tar"), section("Mast", "oak"), section("Sail", "linen")


def written(path: Path, text: str, at: int = 1_770_000_000) -> Path:
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at, at))
    return path


def counts(report: ImportReport | ImportedFile) -> tuple[int, int, int, int]:
    return report.passages, report.added, report.kept, report.ended


def texts(store: vestig.Vestig) -> list[str]:
    return [memory.content for memory in store.list(limit=1_000)]


def test_a_document_becomes_passages_of_one_source(store: vestig.Vestig, tmp_path: Path) -> None:
    path = written(tmp_path / "boats.md", boats(HULL, MAST, SAIL))
    report = store.import_(path, tags="book", entities="TOOL:Adze", scope="yard")
    assert (report.format, report.lines, report.imported) == ("document", 1, 1)
    assert counts(report) == (3, 3, 0, 0)
    memories = store.list(scope="yard")
    assert {one.origin_type.value for one in memories} == {"document"}
    by_number = sorted(memories, key=lambda one: int(one.metadata["passage"]))
    assert [one.title for one in by_number] == ["Boats", "Boats > Mast", "Boats > Sail"]
    for memory in memories:
        shown = store.show(memory.id)
        (source,) = shown.sources
        assert (source.id, source.source_type) == (report.source_id, "file")
        assert (source.path, source.metadata["title"]) == (str(path), "Boats")
        (event,) = shown.events
        assert (event.event_type.value, event.payload["source_id"]) == ("IMPORT", source.id)
        assert memory.tags == ("book",)
        assert memory.metadata["time_from"] == "file_time"
        assert memory.t_valid == datetime.fromtimestamp(1_770_000_000, UTC)
    assert store.count(where={"source_ids": [report.source_id]}) == 3
    assert store.count(where={"entities": ["Adze"]}) == 3


def test_an_unchanged_document_writes_nothing(store: vestig.Vestig, tmp_path: Path) -> None:
    path = written(tmp_path / "boats.md", boats(HULL, MAST))
    first = store.import_(path)
    before = store.admin.stats()
    again = store.import_(path)
    assert (again.skipped, again.imported, again.source_id) == (1, 0, first.source_id)
    forced = store.import_(path, force=True)
    assert (forced.skipped, counts(forced)) == (1, (2, 0, 2, 0))
    assert store.admin.stats() == before


def test_a_touched_document_keeps_all_its_passages(store: vestig.Vestig, tmp_path: Path) -> None:
    path = written(tmp_path / "boats.md", boats(HULL, MAST))
    store.import_(path)
    events = store.admin.stats().events
    written(path, boats(HULL, MAST), at=1_780_000_000)
    assert counts(store.import_(path)) == (2, 0, 2, 0)
    assert store.admin.stats().events == events
    assert store.import_(path).skipped == 1


def test_a_changed_paragraph_ends_its_passage_alone(store: vestig.Vestig, tmp_path: Path) -> None:
    path = written(tmp_path / "boats.md", boats(HULL, MAST, SAIL))
    first = store.import_(path)
    written(path, boats(HULL, MAST.replace("oak", "larch"), SAIL), at=1_780_000_000)
    second = store.import_(path)
    assert counts(second) == (3, 1, 2, 1)
    assert any("larch" in text for text in texts(store))
    assert not any("oak" in text for text in texts(store))
    (old,) = store.list(where={"statuses": "SUPERSEDED"})
    assert old.t_invalid == datetime.fromtimestamp(1_780_000_000, UTC)
    (larch,) = [one.id for one in store.list() if "larch" in one.content]
    assert (old.superseded_by, len(store.history(old.id))) == (larch, 2)
    assert store.count(where={"source_ids": [second.source_id]}) == 3
    (sail,) = [one.id for one in store.list() if "linen" in one.content]
    kept = store.show(sail)
    assert [one.id for one in kept.sources] == [first.source_id, second.source_id]
    assert kept.sources[1].metadata["previous_source"] == first.source_id
    written(path, boats(HULL, MAST, SAIL), at=1_790_000_000)
    assert counts(store.import_(path)) == (3, 1, 2, 1)
    (back,) = [one for one in store.list() if "oak" in one.content]
    assert back.revives == old.id


def test_an_end_lies_not_before_the_beginning(store: vestig.Vestig, tmp_path: Path) -> None:
    text = f"---\ndate: 2030-01-01\n---\n{boats(HULL, MAST)}"
    path = written(tmp_path / "boats.md", text)
    store.import_(path)
    written(path, boats(HULL), at=1_780_000_000)
    assert store.import_(path).ended == 1
    (old,) = store.list(where={"statuses": "DEPRECATED"})
    assert old.t_invalid == old.t_valid == datetime(2030, 1, 1, tzinfo=UTC)


def test_a_renamed_document_says_nothing_twice(store: vestig.Vestig, tmp_path: Path) -> None:
    path = written(tmp_path / "boats.md", boats(HULL, MAST))
    store.import_(tmp_path)
    before = texts(store)
    path.rename(tmp_path / "ships.md")
    report = store.import_(tmp_path)
    assert counts(report) == (2, 0, 2, 0)
    assert report.missing == (str(path),)
    assert texts(store) == before
    # what the name before still said stays, for the new name says it
    written(tmp_path / "ships.md", boats(HULL), at=1_790_000_000)
    assert store.import_(tmp_path).ended == 0


def test_a_renamed_document_without_a_title_has_other_texts(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    path = written(tmp_path / "keel.md", "Oak is heavy, and it sinks.")
    store.import_(tmp_path)
    renamed = path.rename(tmp_path / "frames.md")
    report = store.import_(tmp_path)
    assert (report.added, report.missing) == (1, (str(path),))
    by_title = {one.title: one.content for one in store.list()}
    assert by_title == {
        "keel": "keel\nOak is heavy, and it sinks.",
        "frames": "frames\nOak is heavy, and it sinks.",
    }
    # with a title of its own the name of its file is no part of its text
    text = "---\ntitle: Keel\n---\nOak is heavy, and it sinks."
    written(renamed, text, at=1_790_000_000)
    store.import_(tmp_path)
    renamed.rename(tmp_path / "ribs.md")
    assert counts(store.import_(tmp_path)) == (1, 0, 1, 0)


def test_a_shared_passage_ends_with_the_last_that_says_it(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    one = written(tmp_path / "one.md", boats(HULL, MAST))
    two = written(tmp_path / "two.md", boats(SAIL, MAST))
    report = store.import_([one, two])
    assert [counts(file) for file in report.files] == [(2, 2, 0, 0), (2, 1, 1, 0)]
    written(one, boats(HULL), at=1_780_000_000)
    assert store.import_(one).ended == 0
    assert any("oak" in text for text in texts(store))
    written(two, boats(SAIL), at=1_780_000_000)
    assert store.import_(two).ended == 1
    assert not any("oak" in text for text in texts(store))


def test_a_note_with_the_text_of_a_passage_stays(store: vestig.Vestig, tmp_path: Path) -> None:
    note = store.commit("boats\nLarch floats for a hundred years.")
    path = written(tmp_path / "boats.md", "Larch floats for a hundred years.")
    assert counts(store.import_(path)) == (1, 0, 1, 0)
    events = len(store.show(note.memory_id).events)
    written(path, "Larch floats for a hundred years.", at=1_780_000_000)
    assert counts(store.import_(path)) == (1, 0, 1, 0)
    assert len(store.show(note.memory_id).events) == events
    written(path, "Larch floats no longer.", at=1_790_000_000)
    assert counts(store.import_(path)) == (1, 1, 0, 0)
    assert store.get(note.memory_id).status is Status.ACTIVE


def test_scopes_are_apart(store: vestig.Vestig, tmp_path: Path) -> None:
    path = written(tmp_path / "boats.md", boats(HULL, MAST))
    store.import_(path, scope="one")
    assert store.import_(path, scope="two").added == 2
    written(path, boats(HULL), at=1_780_000_000)
    assert store.import_(path, scope="two").ended == 1
    assert store.count(scope="one") == 2


def test_a_forgotten_passage_comes_back_with_another_text_alone(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    path = written(tmp_path / "boats.md", boats(HULL, MAST, SAIL))
    store.import_(path)
    (mast,) = [one.id for one in store.list() if "oak" in one.content]
    store.forget(mast)
    assert store.import_(path).skipped == 1
    assert store.import_(path, force=True).added == 0
    edits = (
        boats(HULL, MAST, SAIL),
        boats(HULL, MAST, SAIL.replace("linen", "hemp cloth")),
        boats(HULL.replace("tar", "pitch"), MAST, SAIL),
        boats(SAIL, HULL.replace("tar", "pitch"), MAST),
    )
    for at, text in enumerate(edits):
        written(path, text, at=1_780_000_000 + at)
        report = store.import_(path)
        assert report.left_out == {"passage that was forgotten": 1}
        assert not any("oak" in one for one in texts(store))
        assert store.import_(path).skipped == 1
    written(path, boats(HULL, MAST.replace("oak", "larch"), SAIL), at=1_790_000_000)
    assert store.import_(path).left_out == {}
    assert any("larch" in one for one in texts(store))


def test_another_length_of_passages_needs_force(tmp_path: Path) -> None:
    path = written(tmp_path / "boats.md", boats(HULL, MAST))
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder()) as store:
        first = store.import_(path)
    options = {"documents": {"passage_chars": 300}}
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(), config=options) as store:
        assert store.import_(path).skipped == 1
        report = store.import_(path, force=True)
        assert report.passages > first.passages
        assert report.ended == 2
        assert all(len(text) <= 300 for text in texts(store))


def test_front_matter_and_links(store: vestig.Vestig, tmp_path: Path) -> None:
    text = (
        '---\ntitle: The tar\ntags: [boat, "#sea"]\ncreated: 2026-03-18\nauthor: Ann\n---\n'
        "Tar is black, says [[Ann Berg|Ann]].\n"
    )
    report = store.import_(written(tmp_path / "tar.md", text), tags="yard")
    assert report.left_out == {"front matter field": 1}
    assert report.warnings == ("left out of front matter: author",)
    (memory,) = store.list()
    assert memory.content == "The tar\nTar is black, says [[Ann Berg|Ann]]."
    assert memory.tags == ("boat", "sea", "yard")
    assert memory.t_valid == datetime(2026, 3, 18, tzinfo=UTC)
    assert memory.metadata["time_from"] == "front_matter"
    assert store.list(where={"entities": ["Ann Berg"]})


@pytest.mark.parametrize(
    "text",
    ["---\nno mapping\n---\nTar is black.", "---\na: [\n---\nTar is black.", "---\nTar is black."],
)
def test_what_only_looks_like_front_matter_is_text(
    text: str, store: vestig.Vestig, tmp_path: Path
) -> None:
    store.import_(written(tmp_path / "tar.md", text))
    assert "---" in "".join(texts(store))


@pytest.mark.parametrize(
    ("name", "moment", "said_by"),
    [
        ("log 2026-03-18.md", datetime(2026, 3, 18, tzinfo=UTC), "file_name"),
        ("20260318-log.md", datetime(2026, 3, 18, tzinfo=UTC), "file_name"),
        ("log 20261399.md", datetime.fromtimestamp(1_770_000_000, UTC), "file_time"),
        ("120260318.md", datetime.fromtimestamp(1_770_000_000, UTC), "file_time"),
        ("IMG_20260318_101500.md", datetime(2026, 3, 18, tzinfo=UTC), "file_name"),
        ("20260318T101500.md", datetime(2026, 3, 18, tzinfo=UTC), "file_name"),
        ("2026-03-18 and 20260318.md", datetime(2026, 3, 18, tzinfo=UTC), "file_name"),
        ("2026-03-17 to 2026-03-18.md", datetime.fromtimestamp(1_770_000_000, UTC), "file_time"),
        ("part A20260318.md", datetime.fromtimestamp(1_770_000_000, UTC), "file_time"),
        ("plan for 2099-03-19.md", datetime.fromtimestamp(1_770_000_000, UTC), "file_time"),
    ],
)
def test_the_time_of_a_document(
    name: str, moment: datetime, said_by: str, store: vestig.Vestig, tmp_path: Path
) -> None:
    store.import_(written(tmp_path / name, "Tar is black, and larch floats."))
    (memory,) = store.list()
    assert (memory.t_valid, memory.metadata["time_from"]) == (moment, said_by)


def test_a_folder_takes_documents_beside_chats_and_leaves_out_the_rest(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / ".hidden.md").write_text("Hidden tar.")
    written(tmp_path / "a.md", "Tar is black, and larch floats.")
    written(inner / "b.rst", "Keel\n====\n\nOak is heavy, and it sinks.")
    written(tmp_path / "c.txt", "Linen dries fast in the wind.")
    written(tmp_path / "talk.txt", '{"speaker": "Ann", "text": "The boat leaves", "turn": 0}')
    written(tmp_path / "hull.png", "no picture")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    flat = store.import_(tmp_path)
    assert (flat.imported, flat.left_out) == (
        3,
        {"file of another kind": 1, "file in a folder inside": 1, "hidden entry": 1, "link": 1},
    )
    deep = store.import_(tmp_path, recursive=True)
    assert (deep.imported, deep.skipped, deep.added) == (1, 3, 1)
    by_path = {Path(file.path).name: file.format for file in flat.files}
    assert by_path == {
        "a.md": "document",
        "c.txt": "document",
        "talk.txt": "messages",
        "hull.png": None,
    }
    told = f"files of other kinds were passed over: {tmp_path / 'hull.png'}"
    assert told in flat.warnings
    assert told in deep.warnings


def test_faulty_documents_are_entries_and_the_others_come_in(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_bytes(b"Tar is bl\xffack.")
    (tmp_path / "b.md").write_bytes(b"\x7fELF\0\0\0")
    written(tmp_path / "c.md", " \n\n")
    written(tmp_path / "d.md", "Larch floats for a hundred years.")
    report = store.import_(tmp_path)
    assert (report.failed, report.imported, report.lines) == (2, 1, 4)
    assert "byte 9 in line 1, which is no UTF-8" in report.errors[0].message
    assert "binary" in report.errors[1].message
    assert report.left_out == {"blank file": 1}
    assert texts(store) == ["d\nLarch floats for a hundred years."]
    assert store.import_(tmp_path / "a.md").failed == 1


def test_a_secret_is_masked_before_a_document_is_cut(store: vestig.Vestig, tmp_path: Path) -> None:
    secret = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
    filler = "Tar is black. " * 56
    path = written(tmp_path / "notes.md", f"{filler}token {secret} {filler}")
    store.import_(path)
    stored = "".join(texts(store))
    assert secret[:12] not in stored
    assert secret[-12:] not in stored
    assert "[secret:" in stored


def test_a_document_that_was_emptied_ends(store: vestig.Vestig, tmp_path: Path) -> None:
    path = written(tmp_path / "boats.md", boats(HULL, MAST))
    store.import_(path)
    written(path, "\n", at=1_780_000_000)
    assert counts(store.import_(path)) == (0, 0, 0, 2)
    assert texts(store) == []


def test_a_dry_run_counts_as_the_import_does(store: vestig.Vestig, tmp_path: Path) -> None:
    path = written(tmp_path / "boats.md", boats(HULL, MAST, SAIL))
    assert counts(store.import_(path, dry_run=True)) == (3, 3, 0, 0)
    assert store.count() == 0
    store.import_(path)
    written(path, boats(HULL, MAST.replace("oak", "larch"), SAIL), at=1_780_000_000)
    before = store.admin.stats()
    dry = store.import_(path, dry_run=True)
    assert store.admin.stats() == before
    assert counts(dry) == counts(store.import_(path)) == (3, 1, 2, 1)


@pytest.mark.slow
def test_a_document_of_many_transactions(store: vestig.Vestig, tmp_path: Path) -> None:
    parts = [f"## Part {number}\n\n{'x' * 500} {number}\n" for number in range(2_300)]
    path = written(tmp_path / "long.md", "\n".join(parts))
    report = store.import_(path)
    assert counts(report) == (2_300, 2_300, 0, 0)
    assert store.count(where={"source_ids": [report.source_id]}) == 2_300
    forced = store.import_(path, force=True)
    assert (forced.skipped, forced.source_id) == (1, report.source_id)
    written(path, "\n".join(parts[1_500:]), at=1_780_000_000)
    assert counts(store.import_(path)) == (800, 0, 800, 1_500)
    assert store.count() == 800
    assert store.admin.doctor().exit_code == 0


CHATS = (
    "12/04/2026, 19:03 - Anke Friis: the berth is free\n12/04/2026, 19:05 - Bo: I take\nit\n",
    "[12.04.26, 19:03:11] Anke Friis: the berth is free\n[12.04.26, 19:05:40] Bo: I take it\n",
    "2026-04-12 7:03 PM Anke: the berth is free\n2026-04-12 7:05 PM Bo: I take it\n",
)
NO_CHATS = (
    "12/04/2026, 19:03 - Anke Friis: the berth is free\n",
    "The berth is free: Anke said so.\nBo: I take it.\n",
    "2026-04-12 10:15:22 INFO: the pump started\n2026-04-12 10:15:23 Error: it stopped\n",
    "2026-04-12 the crane was oiled\n2026-04-13 the keel was laid: at last\n",
    "12/04/2026, 19:03 - Anke: yes\n12/04/2026, 19:05 - Bo: no\n" + "A line of a log.\n" * 3,
)


@each(("text", "said"), [*((one, True) for one in CHATS), *((one, False) for one in NO_CHATS)])
def test_a_chat_that_is_read_as_a_text_is_named(
    store: vestig.Vestig, tmp_path: Path, text: str, said: bool
) -> None:
    report = store.import_(written(tmp_path / "talk.txt", text))
    found = [one for one in report.warnings if "a day, a time and a name" in one]
    assert bool(found) is said
    assert not said or "2 lines begin" in found[0]


class _Failing(HashingEmbedder):
    """Fails once it has embedded so many texts."""

    def __init__(self, texts: int) -> None:
        super().__init__()
        self.left = texts

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.left -= len(texts)
        if self.left < 0:
            raise vestig.ProviderError("the embedder is down")
        return super().embed(texts)


@pytest.mark.slow
def test_an_interrupted_import_leaves_the_version_before_and_no_trace(tmp_path: Path) -> None:
    old, new = boats(HULL, MAST), [f"## Part {n}\n\n{'y' * 500} {n}\n" for n in range(1_500)]
    path = written(tmp_path / "long.md", old)
    place = tmp_path / "store"
    with vestig.open(place, embedder=HashingEmbedder()) as store:
        store.import_(path)
    written(path, boats(HULL) + "\n".join(new), at=1_780_000_000)
    with vestig.open(place, embedder=_Failing(2_400)) as store:
        with pytest.raises(vestig.ProviderError):
            store.import_(path)
        assert store.count() > 1_000
        # what the file says no longer is found until all is written
        assert any("oak" in one.memory.content for one in store.recall("oak plank", limit=10))
    # the file has changed once more before the import is repeated
    written(path, old + new[0], at=1_790_000_000)
    with vestig.open(place, embedder=HashingEmbedder()) as store:
        report = store.import_(path)
        assert counts(report) == (3, 0, 3, store.count(where={"statuses": "DEPRECATED"}))
        assert report.ended > 990
        assert store.count() == 3
