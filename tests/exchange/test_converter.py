"""Documents of other programs are converted in a process that can do nothing else."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.exchange import converter
from vestig.testing import HashingEmbedder

pytest.importorskip("xberg")

PAGE = (
    "<html><head><script>alert(1)</script></head><body><h1>Boats</h1><p>Larch a_b *floats*.</p>"
    "<table><tr><th>Plank</th><th>Wood</th></tr><tr><td>1</td><td>larch</td></tr></table>"
    "<pre><code>x = 1\n  y</code></pre><img src='http://127.0.0.1:9/hull.png'></body></html>"
)
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def word(*paragraphs: str) -> bytes:
    """A document of a word processor: the first paragraph is a heading."""
    heading = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
    body = "".join(
        f"<w:p>{'' if place else heading}<w:r><w:t>{text}</w:t></w:r></w:p>"
        for place, text in enumerate(paragraphs)
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    members = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml"'
        f' ContentType="application/xml"/><Override PartName="/word/document.xml"'
        f' ContentType="{kind}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1"'
        f' Type="{relation}" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, f'<?xml version="1.0"?>{text}')
    return file.getvalue()


def store_of(**documents: Any) -> vestig.Vestig:
    config = {"documents": documents} if documents else None
    return vestig.open(":memory:", embedder=HashingEmbedder(), config=config)


@pytest.mark.slow
def test_a_folder_of_documents_and_faulty_ones(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "b.docx").write_bytes(word("Hull", "Tar is black."))
    (tmp_path / "c.pdf").write_bytes(b"%PDF-1.4 cut")
    (tmp_path / "d.docx").write_bytes(b"PK\x03\x04")
    (tmp_path / "e.html").write_text("<p> </p>")
    (tmp_path / "f.md").write_text("Oak is heavy, and it sinks.")
    store = store_of()
    report = store.import_(tmp_path)
    assert (report.imported, report.failed) == (3, 3)
    said = [error.message for error in report.errors]
    assert ["damaged" in one for one in said] == [True, True, False]
    assert "holds no text" in said[2]
    by_title = {one.title: one.content for one in store.list()}
    assert by_title["Boats"].startswith("# Boats\n\nLarch a_b *floats*.")
    assert "| 1 | larch |" in by_title["Boats"]
    assert "x = 1\n  y" in by_title["Boats"]
    assert "alert" not in by_title["Boats"]
    assert by_title["Hull"] == "# Hull\n\nTar is black."
    assert store.import_(tmp_path).skipped == 3


_SLOW = "import sys, time; time.sleep(60)"
_GREEDY = (
    "import resource, sys; sys.path[:] = sys.argv[3:]\n"
    "from vestig.exchange import converter_process as it\n"
    "class Greedy:\n"
    "    def markdown(self, data, ending):\n"
    "        return 'x' if data == it._WARM_UP else str(len(bytearray(1 << 30)))\n"
    "it._Xberg = Greedy\n"
    "it.serve(sys.stdin.buffer, sys.stdout.buffer, int(sys.argv[1]), int(sys.argv[2]))\n"
)
_REACHING = _GREEDY.replace(
    "str(len(bytearray(1 << 30)))",
    "' '.join(str(one(lambda: __import__('socket').socket()) or one(lambda: open('/etc/hostname')))"
    " for one in [it.tried])",
).replace(
    "it._Xberg = Greedy\n",
    "def tried(call):\n"
    "    try:\n"
    "        call()\n"
    "    except OSError:\n"
    "        return 'refused'\n"
    "it.tried = tried\n"
    "import socket\n"
    "it._Xberg = Greedy\n",
)


def test_a_converter_that_sleeps_is_ended_and_the_others_come_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "b.md").write_text("Oak is heavy, and it sinks.")
    monkeypatch.setattr(converter, "_PROGRAM", _SLOW)
    report = store_of(timeout_s=1).import_(tmp_path)
    assert (report.imported, report.failed) == (1, 1)
    assert "takes longer than 1 s" in report.errors[0].message


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not bound memory so")
def test_a_converter_that_grows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converter, "_PROGRAM", _GREEDY)
    settings = store_of(memory_mb=256)._session.config.settings.documents
    refused = pytest.raises(vestig.ValidationError, match="more than 256 MiB of memory")
    with converter.Converter(settings) as process, refused:
        process.markdown(b"one", ".html")


def test_a_converter_opens_neither_files_nor_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converter, "_PROGRAM", _REACHING)
    with converter.Converter(store_of()._session.config.settings.documents) as process:
        assert process.markdown(b"one", ".html").text == "refused"


def test_without_the_package_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    monkeypatch.setattr(converter, "find_spec", lambda _: None)
    report = store_of().import_(tmp_path / "a.pdf")
    assert "extra docs" in report.errors[0].message
