"""Documents that are made to break a converter: each is an entry, and nothing of it is stored."""

from __future__ import annotations

import io
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import vestig
from tables import each
from vestig.testing import HashingEmbedder

pytest.importorskip("xberg")

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
_MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def pdf(content: bytes, *, trailer: bytes = b"", filters: bytes = b"", extra: bytes = b"") -> bytes:
    """A page with this content stream; objects from 5 on are `extra`."""
    stream = b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), filters, content)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources"
        b" << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        stream,
        *([extra] if extra else []),
    ]
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\n" % (len(objects) + 1, trailer)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def readable_pdf() -> bytes:
    return pdf(b"BT /F1 12 Tf 20 200 Td (The harbour is deep.) Tj ET")


def encrypted_pdf() -> bytes:
    locked = b"<< /Filter /Standard /V 1 /R 2 /P -44 /O <%s> /U <%s> >>" % (b"1f" * 32, b"a7" * 32)
    ids = b"<%s>" % (b"00" * 16)
    return pdf(
        bytes(range(40, 90)), trailer=b"/Encrypt 5 0 R /ID [%s %s]" % (ids, ids), extra=locked
    )


def scan() -> bytes:
    """A page that is a picture."""
    return pdf(b"q 300 0 0 300 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \x7f EI Q")


def flate_bomb() -> bytes:
    """A content stream of 600 MB in less than one."""
    packer = zlib.compressobj(9)
    piece = b"BT /F1 9 Tf 9 9 Td (bomb) Tj ET\n" * 32_768
    packed = b"".join(packer.compress(piece) for _ in range(600)) + packer.flush()
    return pdf(packed, filters=b"/Filter /FlateDecode")


def word(paragraphs: int, text: str) -> bytes:
    file = io.BytesIO()
    head = '<?xml version="1.0"?>'
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'{head}<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml"'
            f' ContentType="application/xml"/><Override PartName="/word/document.xml"'
            f' ContentType="{_MAIN}"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'{head}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1"'
            f' Type="{_OFFICE}" Target="word/document.xml"/></Relationships>',
        )
        with archive.open("word/document.xml", "w", force_zip64=True) as body:
            body.write(f'{head}<w:document xmlns:w="{_WORD}"><w:body>'.encode())
            line = f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>".encode()
            for _ in range(paragraphs):
                body.write(line)
            body.write(b"</w:body></w:document>")
    return file.getvalue()


def truncated_word() -> bytes:
    whole = word(2_000, "The harbour is deep.")
    return whole[: len(whole) // 2]


def zip_bomb() -> bytes:
    """A document of 600 MB in less than one."""
    return word(600, "bomb " * 200_000)


HOSTILE: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "encrypted": (".pdf", encrypted_pdf, "encrypted"),
    "scan": (".pdf", scan, "holds no text"),
    "flate bomb": (".pdf", flate_bomb, "memory|beyond what|takes longer|holds no text"),
    "truncated": (".docx", truncated_word, "damaged"),
    "zip bomb": (".docx", zip_bomb, "memory|beyond what|takes longer"),
    "large": (".pdf", lambda: readable_pdf() + b" " * (51 << 20), "50 MiB|52,428,800"),
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not bound memory so")
@each("name", HOSTILE)
def test_it_is_refused_and_the_others_come_in(name: str, tmp_path: Path) -> None:
    ending, make, said = HOSTILE[name]
    (tmp_path / f"a{ending}").write_bytes(make())
    (tmp_path / "b.pdf").write_bytes(readable_pdf())
    config = {"documents": {"timeout_s": 10, "memory_mb": 512}}
    with vestig.open(":memory:", embedder=HashingEmbedder(), config=config) as store:
        report = store.import_(tmp_path)
        assert (report.imported, report.failed) == (1, 1)
        [error] = report.errors
        assert any(part in error.message for part in said.split("|")), error.message
        [memory] = store.list()
        assert "The harbour is deep." in memory.content
        assert [one.path for one in store.documents().documents] == [str(tmp_path / "b.pdf")]
