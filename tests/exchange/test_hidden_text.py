"""Text that a program does not show is left out of every kind of file, and counted."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

import vestig
from tables import each
from vestig.exchange.html_text import shown_html
from vestig.exchange.mail import mail_text
from vestig.testing import HashingEmbedder

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_KIND = "application/vnd.openxmlformats-officedocument.wordprocessingml"

HIDDEN = {
    "style": '<p style="color: red; display:none !important">unseen</p>',
    "visibility": '<p style="visibility: hidden">unseen</p>',
    "hidden": "<div hidden><p>unseen</p></div>",
    "aria": '<span aria-hidden="TRUE">unseen</span>',
    "class": '<style>/* x */ p.off, .none { Display : None; }</style><p class="a off">unseen</p>',
    "id": "<style>#x { visibility: collapse }</style><p id=x>unseen</p>",
    "name": "<style>aside { display: none }</style><aside>unseen</aside>",
    "later": '<style>.a { display: block } .a.b { display: none }</style><p class="b a">unseen</p>',
}
SHOWN = {
    "print": '<style>@media print { .off { display: none } }</style><p class="off">seen</p>',
    "medium": '<style media="print">.off { display: none }</style><p class="off">seen</p>',
    "below": '<style>.menu .off { display: none }</style><p class="off">seen</p>',
    "wider": "<style>.off { display: none } @media (min-width: 9em) { .off { display: block } }"
    '</style><p class="off">seen</p>',
    "own": '<style>.off { display: none }</style><p class="off" style="display: block">seen</p>',
    "comment": '<!-- <style>.off { display: none }</style> --><p class="off">seen</p>',
    "inside": '<div style="visibility: hidden"><p style="visibility: visible">seen</p></div>',
    "attribute": '<p title="display: none">seen</p>',
}


@each("name", HIDDEN)
def test_hidden_elements_are_left_out_and_counted(name: str) -> None:
    shown = shown_html(f"<p>first</p>{HIDDEN[name]}<p>last</p>")
    assert "unseen" not in shown.html + shown.text
    assert (shown.text.split(), shown.left_out) == (["first", "last"], {"hidden element": 1})


@each("name", SHOWN)
def test_what_may_be_shown_stays(name: str) -> None:
    shown = shown_html(f"<p>first</p>{SHOWN[name]}<p>last</p>")
    assert shown.text.split() == ["first", "seen", "last"]


@pytest.mark.slow
def test_a_sheet_of_many_rules_costs_no_more_than_its_length() -> None:
    rules = "".join(f".a.b{number} {{ display: none }}" for number in range(20_000))
    page = f"<style>{rules}</style>" + '<p class="a">Tar is black.</p>' * 20_000
    assert shown_html(page).left_out == {}


@each("name", HIDDEN)
def test_hidden_text_of_a_mail_is_left_out_and_counted(name: str) -> None:
    page = f"<html><body><p>first</p>{HIDDEN[name]}<p>last</p></body></html>"
    mail = mail_text(f"From: a@b.org\nSubject: x\nContent-Type: text/html\n\n{page}".encode())
    assert (mail.text.split(), mail.left_out) == (["first", "last"], {"hidden element": 1})


def package(members: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()


def book(*pages: str, sheet: str = "") -> bytes:
    """An EPUB of these pages, which link to a style sheet."""
    names = [f"c{place}" for place in range(len(pages))]
    items = "".join(
        f'<item id="{one}" href="{one}.xhtml" media-type="application/xhtml+xml"/>' for one in names
    )
    spine = "".join(f'<itemref idref="{one}"/>' for one in names)
    members = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container version="1.0"'
        ' xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile'
        ' full-path="text/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>",
        "text/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"'
        ' unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        '<dc:identifier id="id">x</dc:identifier><dc:title>Boats</dc:title>'
        "<dc:language>en</dc:language></metadata><manifest>"
        f'<item id="css" href="look/s.css" media-type="text/css"/>{items}</manifest>'
        f"<spine>{spine}</spine></package>",
        "text/look/s.css": sheet,
    }
    head = '<head><title/><script src="x.js"/><link rel="stylesheet" href="look/s.css"/></head>'
    for name, page in zip(names, pages, strict=True):
        members[f"text/{name}.xhtml"] = (
            f'<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml">'
            f"{head}<body><div/>{page}</body></html>"
        )
    return package(members)


def word(body: str, styles: str = "") -> bytes:
    """A document of a word processor."""
    return package(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default'
            ' Extension="xml" ContentType="application/xml"/><Default Extension="rels"'
            ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{_KIND}.document.main+xml"/>'
            f'<Override PartName="/word/styles.xml" ContentType="{_KIND}.styles+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1"'
            f' Type="{_RELATIONS}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
            f'<Relationship Id="r1" Type="{_RELATIONS}/styles" Target="styles.xml"/>'
            "</Relationships>",
            "word/styles.xml": f'<w:styles xmlns:w="{_WORD}">{styles}</w:styles>',
            "word/document.xml": f'<?xml version="1.0"?><w:document xmlns:w="{_WORD}"><w:body>'
            f"{body}</w:body></w:document>",
        }
    )


def run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def style(
    id: str, vanish: str, *, kind: str = "character", more: str = "", default: str = "0"
) -> str:
    return (
        f'<w:style w:type="{kind}" w:styleId="{id}" w:default="{default}">{more}'
        f"<w:rPr>{vanish}</w:rPr></w:style>"
    )


VANISH = "<w:vanish/>"
STYLES = (
    style("Off", VANISH)
    + style("Below", "", more='<w:basedOn w:val="Off"/>')
    + style("On", '<w:vanish w:val="0"/>', more='<w:basedOn w:val="Off"/>')
    + style("OffPar", VANISH, kind="paragraph")
)
RUNS = [
    (run("unseen", VANISH), 1),
    (run("unseen", '<w:vanish w:val="true"/>'), 1),
    (run("unseen", '<w:rStyle w:val="Off"/>'), 1),
    (run("unseen", '<w:rStyle w:val="Below"/>'), 1),
    (f'<w:pPr><w:pStyle w:val="OffPar"/></w:pPr>{run("unseen")}{run("unseen")}', 2),
    (run("shown", '<w:vanish w:val="0"/>'), 0),
    (run("shown", '<w:vanish w:val="false"/><w:rStyle w:val="Off"/>'), 0),
    (run("shown", '<w:rStyle w:val="On"/>'), 0),
    (f"<w:pPr><w:rPr>{VANISH}</w:rPr></w:pPr>{run('shown')}", 0),
]


def imported(tmp_path: Path, name: str, data: bytes) -> tuple[str, vestig.ImportReport]:
    pytest.importorskip("xberg")
    (tmp_path / name).write_bytes(data)
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        report = store.import_(tmp_path)
        return "\n".join(one.content for one in store.list(limit=100)), report


@pytest.mark.slow
@each(("runs", "hidden"), RUNS)
def test_hidden_runs_of_word_are_left_out_and_counted(
    runs: str, hidden: int, tmp_path: Path
) -> None:
    body = f"<w:p>{run('First &amp; last.')}</w:p><w:p>{runs}</w:p><w:p>{run('Fähre')}</w:p>"
    text, report = imported(tmp_path, "a.docx", word(body, STYLES))
    assert report.left_out == ({"hidden element": hidden} if hidden else {})
    assert ("unseen" in text, "shown" in text) == (False, not hidden)
    assert "First & last." in text
    assert "Fähre" in text


@pytest.mark.slow
@each("name", HIDDEN)
def test_hidden_elements_of_a_book_are_left_out_and_counted(name: str, tmp_path: Path) -> None:
    data = book(f"<p>First &amp; last.</p>{HIDDEN[name]}<p>Fähre</p>", "<p>Page two.</p>")
    text, report = imported(tmp_path, "a.epub", data)
    assert report.left_out == {"hidden element": 1}
    assert "unseen" not in text
    assert all(one in text for one in ("First & last.", "Fähre", "Page two."))


def test_the_style_sheet_of_a_book_hides(tmp_path: Path) -> None:
    data = book('<p class="off">unseen</p><p>Larch floats.</p>', sheet=".off { display: none }")
    text, report = imported(tmp_path, "a.epub", data)
    assert report.left_out == {"hidden element": 1}
    assert ("unseen" in text, "Larch floats." in text) == (False, True)


def test_no_word_of_a_page_is_dropped(tmp_path: Path) -> None:
    page = (
        "<header><h1>Boats</h1><nav><a href=/>Home</a></nav></header><form><p>In a form.</p></form>"
        "<p>Larch floats.</p>"
    )
    text, report = imported(tmp_path, "a.html", page.encode())
    assert all(one in text for one in ("# Boats", "In a form.", "Larch floats."))
    assert report.left_out == {"menu": 1}


def test_a_page_whose_layout_cannot_be_converted_comes_in_as_lines(tmp_path: Path) -> None:
    page = "<p>Larch floats.</p><table><tr><td>1<li><td>Oak sinks.</td></li></td></tr></table>"
    text, report = imported(tmp_path, "a.html", page.encode())
    assert all(one in text for one in ("Larch floats.", "Oak sinks."))
    assert report.left_out == {"layout of a page": 1}


def test_cells_and_blocks_of_a_page_are_apart() -> None:
    page = "<table><tr><td>Plank<td>Wood</table><main>One</main>two<br>three<b>four</b>"
    assert [one for one in shown_html(page).text.split("\n") if one] == [
        "Plank Wood",
        "One",
        "two",
        "threefour",
    ]


def test_a_book_that_nests_too_deep_is_an_error(tmp_path: Path) -> None:
    text, report = imported(tmp_path, "a.epub", book("<p>a</p>" + "<div>" * 64 + "Deep"))
    assert (text, report.failed) == ("", 1)
    assert "nested too deep" in report.errors[0].message
