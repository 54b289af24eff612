"""What an import of documents changes or leaves out is counted, and what it cannot read is told."""

from __future__ import annotations

import json
import os
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

import vestig
from vestig.testing import HashingEmbedder


@pytest.fixture
def store() -> vestig.Vestig:
    return vestig.open(":memory:", embedder=HashingEmbedder())


def texts(store: vestig.Vestig) -> str:
    return "\n".join(one.content for one in store.list(limit=100))


def test_control_characters_of_titles_are_left_out(store: vestig.Vestig, tmp_path: Path) -> None:
    store.add_document("The heron nests by the weir.", source="w", title="Birds")
    again = store.add_document("The heron nests by the weir.", source="w", title="Birds \x1b[1m")
    assert (again.passages, store.count()) == (1, 1)
    assert any("control character" in one for one in again.warnings)
    (tmp_path / "a\x07b.md").write_text('---\ntitle: "x\\e[1m"\n---\nLarch floats.\n')
    report = store.import_(tmp_path)
    assert (report.imported, report.failed) == (1, 0)
    assert report.left_out["control character"] == 2


def test_control_characters_of_a_commit_are_left_out_or_refused(store: vestig.Vestig) -> None:
    done = store.commit("The heron nests by the weir.", title="Bi\x1brds", author="\x07Ann")
    memory = store.get(done.memory_id or "")
    assert (memory.title, memory.author) == ("Birds", "Ann")
    assert sorted(done.warnings) == [
        "1 control characters were left out of the author",
        "1 control characters were left out of the title",
    ]
    for call in (
        lambda: store.commit("The heron is grey and tall.", key="heron\x1b"),
        lambda: store.add_document("The heron is grey and tall.", source="heron\x1b[1m"),
    ):
        with pytest.raises(vestig.ValidationError, match="without control characters"):
            call()
    assert store.count() == 1


def test_front_matter_is_read_field_by_field(store: vestig.Vestig, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    path.write_text(
        "---\ntitle: Keel: a story\ntags: [boats]\ndate: 2026-03-18\nbad: {{date}}\n"
        "open: [a, b\n---\nThe keel was replaced.\n"
    )
    report = store.import_(path)
    (memory,) = store.list()
    assert memory.title == "Keel: a story"
    assert memory.tags == ("boats",)
    assert memory.t_valid == datetime(2026, 3, 18, tzinfo=UTC)
    assert "bad" not in memory.content
    assert report.left_out["front matter field"] == 2
    assert report.warnings == ("left out of front matter: bad, open",)


def test_force_reads_a_file_of_the_same_size_and_time(store: vestig.Vestig, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    path.write_text("The tar is in the yard.\n")
    os.utime(path, (1_770_000_000, 1_770_000_000))
    store.import_(path)
    path.write_text("The tar is in the barn.\n")
    os.utime(path, (1_770_000_000, 1_770_000_000))
    report = store.import_(path, force=True)
    assert (report.added, report.ended) == (1, 1)
    assert "barn" in texts(store)
    assert "yard" not in texts(store)


MAIL = (
    b"From: Ann Berg <ann@example.org>\nDate: Fri, 06 Mar 2026 10:00:00 +0000\n"
    b"Subject: Berths\nContent-Type: text/plain; charset=iso-8859-1\n\n"
    b"Berth 1: Ann\nBerth 2: J\xf8rn\n\nOn 5 March 2026, Ben <b@example.org> wrote:\n"
    b"> Who lies where?\n> Tell me.\n"
)


@pytest.mark.parametrize("name", ["m.eml", "m.mbox"])
def test_a_mail_has_the_date_title_and_author_of_its_head(
    store: vestig.Vestig, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    start = b"From ann@example.org Fri Mar  6 10:00:00 2026\n" if name == "m.mbox" else b""
    path.write_bytes(start + MAIL)
    report = store.import_(path)
    (memory,) = store.list()
    assert (memory.author, memory.title) == ("Ann Berg", "Berths")
    assert memory.t_valid == datetime(2026, 3, 6, 10, tzinfo=UTC)
    assert memory.metadata["time_from"] == "header"
    assert "Berth 1: Ann\nBerth 2: Jørn" in memory.content
    assert "Who lies where" not in memory.content
    assert report.left_out == {"quoted line": 3}
    assert store.import_(path).imported == 0


def test_the_time_of_a_file_resolves_no_date(store: vestig.Vestig, tmp_path: Path) -> None:
    (tmp_path / "n.md").write_text("The dentist appointment is tomorrow.\n")
    (tmp_path / "2026-03-01 n.md").write_text("The plumber appointment is tomorrow.\n")
    store.import_(tmp_path)
    text = store.recall("appointment tomorrow", context=True).context.text
    assert "dentist" in text
    assert "[2026-03-02]" in text
    assert text.count("[2026") == 1 or "tomorrow.\n" in text


def test_a_blank_file_is_passed_over(store: vestig.Vestig, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(" \n")
    (tmp_path / "b.md").write_text("Larch floats.\n")
    report = store.import_(tmp_path)
    assert (report.imported, report.failed, report.errors) == (1, 0, ())
    assert report.left_out == {"blank file": 1}


def test_a_name_that_is_no_utf8_is_escaped(store: vestig.Vestig, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/m\xe9moire.md"
    with open(name, "w") as file:
        file.write("Larch floats.\n")
    (tmp_path / "b.md").write_text("Oak sinks.\n")
    assert store.import_(tmp_path).imported == 2
    again = store.import_(tmp_path)
    assert (again.skipped, again.missing) == (2, ())
    assert any("\\udce9" in (one.path or "") for one in store.documents())


def test_a_zip_of_notes_comes_in_whole(store: vestig.Vestig, tmp_path: Path) -> None:
    path = tmp_path / "n.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/one.md", "Larch floats.\n")
        archive.writestr("two.txt", "Oak sinks.\n")
        archive.writestr("t.csv", "content,author\nTar is black,Ann\n")
    report = store.import_(path)
    assert (report.imported, report.failed) == (3, 0)
    again = store.import_(tmp_path)
    assert (again.imported, again.missing) == (0, ())


@pytest.mark.slow
@pytest.mark.parametrize("form", ["latin", "utf-16", "section"])
def test_html_is_read_as_it_declares(store: vestig.Vestig, tmp_path: Path, form: str) -> None:
    pytest.importorskip("xberg")
    text = '<p>Die Fähre</p><p style="display: none">unseen</p><div aria-hidden="true">dim</div>'
    data = {
        "latin": f'<meta charset="iso-8859-1">{text}'.encode("latin-1"),
        "utf-16": text.encode("utf-16"),
        "section": f"<section>{text}</section>".encode(),
    }[form]
    (tmp_path / "t.html").write_bytes(data)
    report = store.import_(tmp_path)
    assert report.left_out == {"hidden element": 2}
    assert "Die Fähre" in texts(store)
    assert "unseen" not in texts(store)
    assert "section" not in texts(store)


def test_html_is_refused_where_letters_or_depth_would_be_lost(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    (tmp_path / "a.html").write_bytes(b"<p>Die F\xe4hre</p>")
    deep = "<p>a</p>" + "<div>" * 64 + "Deep text" + "</div>" * 64
    (tmp_path / "b.html").write_text(deep)
    report = store.import_(tmp_path)
    assert report.failed == 2
    assert "utf-8" in report.errors[0].message
    assert "levels" in report.errors[1].message


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_file_of_mails_is_divided_at_its_heads(
    store: vestig.Vestig, tmp_path: Path, end: bytes
) -> None:
    mail = (
        b"From a@b.org Fri Mar  6 10:00:00 2026\n%s\nSubject: Berths\n\nMail %d.\n"
        b">From here on it is quiet.\n\nFrom six, that is 18:00, it is not.\n\n"
    )
    mails = mail % (b"From: Ann <a@b.org>", 1) + mail % (b"X-Mail: yes", 2)
    (tmp_path / "m.mbox").write_bytes(mails.replace(b"\n", end))
    report = store.import_(tmp_path, author="Zoe")
    assert (report.imported, report.failed, report.left_out) == (2, 0, {})
    lines = "From here on it is quiet.\n\nFrom six, that is 18:00, it is not."
    # what a mail says of its author comes before what is given for those that say nothing
    assert {one.author: one.content for one in store.list()} == {
        "Ann": f"Berths\nMail 1.\n{lines}",
        "Zoe": f"Berths\nMail 2.\n{lines}",
    }


def test_documents_are_found_by_their_paths(
    store: vestig.Vestig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a.md", "b.md", "in/c.md"):
        (tmp_path / name).write_text(f"Larch floats, says {name}.")
    store.import_(tmp_path, recursive=True)
    store.add_document("Oak is heavy, and it sinks.", source="wiki/oak")
    monkeypatch.chdir(tmp_path / "in")

    def found(source: str) -> list[str]:
        return sorted(str(one.path) for one in store.documents(source=source))

    a, c = str(tmp_path / "a.md"), str(tmp_path / "in" / "c.md")
    assert found(a) == found("../a.md") == [a]
    assert found("c.md") == found("./c.md") == found(".") == found(str(tmp_path / "in")) == [c]
    assert len(found(str(tmp_path))) == 3
    assert found("wiki/oak") == ["wiki/oak"]
    assert found("a.md") == found("wiki") == []


def test_every_refusal_of_an_import_is_counted_with_its_reason(tmp_path: Path) -> None:
    secret = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
    texts = (f"token {secret}", "The tar is black. " * 240 + f"token {secret}")
    lines = [{"speaker": "Ann", "text": one, "turn": at} for at, one in enumerate(texts)]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(one) for one in lines))
    (tmp_path / "b.md").write_text(f"# Tar\n\ntoken {secret}")
    config = {"firewall": {"secrets": "reject"}}
    with vestig.open(":memory:", embedder=HashingEmbedder(), config=config) as store:
        report = store.import_(tmp_path)
    assert (report.lines, report.imported, report.rejected, report.failed) == (3, 1, 1, 1)
    # the long record comes in but for the part that holds the secret
    assert report.left_out["part that was refused"] == 1
    reasons = [one.message for one in report.errors]
    assert ["line 1" in reasons[0], "line 2" in reasons[1], "b.md" in reasons[2]] == [True] * 3
    assert all("contains a secret (github)" in one for one in reasons)


@pytest.mark.parametrize("text", ["notes.md", " docs/notes.MD\n", "https://x.example/a.html"])
def test_the_name_of_a_file_is_no_document(store: vestig.Vestig, text: str) -> None:
    with pytest.raises(vestig.ValidationError, match=r"store\.import_\(path\)"):
        store.add_document(text)
    assert store.count() == 0


def test_a_path_is_no_text(store: vestig.Vestig, tmp_path: Path) -> None:
    with pytest.raises(vestig.ValidationError, match=r"got a path; store.import_"):
        store.add_document(tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["The plan of the weir is in notes.md", "notes.md\nweir.md", "v1.2", "weir.de"]
)
def test_a_text_that_ends_as_a_file_does_is_a_document(store: vestig.Vestig, text: str) -> None:
    assert store.add_document(text).added == 1
