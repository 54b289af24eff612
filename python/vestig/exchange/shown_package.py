"""Zip packages of other programs without the text that these do not show: Word and EPUB.

Pure: bytes in, bytes out. It runs where documents are converted.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple
from urllib.parse import unquote
from xml.parsers import expat

from vestig.errors import ValidationError
from vestig.exchange.html_text import decoded_html, shown_html

# Of all members of a package, unpacked.
BYTES_MAX: Final = 512 * 1024 * 1024
_HEAD_BYTES: Final = 4_096
_WORD: Final = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
_STYLES: Final = "word/styles.xml"
_OFF: Final = ("0", "false", "off")
_DEPTH_MAX: Final = 1_000


class ShownPackage(NamedTuple):
    """A package whose text is all shown; `left_out`: how many hidden elements and menus."""

    data: bytes
    left_out: dict[str, int]


def shown_package(data: bytes, ending: str) -> ShownPackage:
    """Returns a file without the text that its program does not show; one of another ending as it
    is.

    Raises:
        ValidationError: it unpacks to too much, or nests deeper than is converted.
        zipfile.BadZipFile, expat.ExpatError: it is damaged.
    """
    edit = {".docx": _word, ".epub": _epub}.get(ending)
    if edit is None:
        return ShownPackage(data, {})
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        if sum(info.file_size for info in package.infolist()) > BYTES_MAX:
            raise ValidationError(
                "document",
                "a larger one",
                f"a package within the limit of {BYTES_MAX >> 20} MiB",
                "",
            )
        changed, left_out = edit(package)
        if not changed:
            return ShownPackage(data, {})
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as out:
            for info in package.infolist():
                content = changed.get(info.filename)
                out.writestr(info, package.read(info) if content is None else content)
    return ShownPackage(made.getvalue(), left_out)


# --- EPUB -------------------------------------------------------------------------------------


def _epub(package: zipfile.ZipFile) -> tuple[dict[str, bytes], dict[str, int]]:
    """The pages as they are shown."""
    changed: dict[str, bytes] = {}
    left_out: Counter[str] = Counter()
    names = set(package.namelist())
    for name in package.namelist():
        page = package.read(name)
        if b"<html" not in page[:_HEAD_BYTES].lower().replace(b"\0", b""):
            continue
        shown = shown_html(decoded_html(page), sheets=_sheets(package, names, name))
        left_out.update(shown.left_out)
        changed[name] = shown.html.encode("utf-8", "replace")
    return changed, dict(left_out)


def _sheets(package: zipfile.ZipFile, names: set[str], page: str) -> Callable[[str], str]:
    def sheet(link: str) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(link)))
        return package.read(path).decode("utf-8", "replace") if path in names else ""

    return sheet


# --- Word -------------------------------------------------------------------------------------


def _word(package: zipfile.ZipFile) -> tuple[dict[str, bytes], dict[str, int]]:
    """The parts that hold hidden runs, without these."""
    styles = _Styles()
    if _STYLES in package.namelist():
        _parsed(styles, package.read(_STYLES))
    changed: dict[str, bytes] = {}
    hidden = 0
    for name in package.namelist():
        if not name.startswith("word/") or not name.endswith(".xml") or name == _STYLES:
            continue
        part = package.read(name)
        runs = _Runs(styles)
        _parsed(runs, part)
        if runs.hidden:
            hidden += runs.texts
            changed[name] = _without(part, runs.hidden)
    return changed, {"hidden element": hidden} if hidden else {}


def _without(part: bytes, ranges: list[tuple[int, int]]) -> bytes:
    kept = []
    place = 0
    for start, end in ranges:
        kept.append(part[place:start])
        # behind the mark that closes the run
        place = part.index(b">", end) + 1
    return b"".join((*kept, part[place:]))


class _Reader:
    """Elements of Word's own as they begin and end, by their local names."""

    def __init__(self) -> None:
        self.position: Callable[[], int] = lambda: 0
        self.depth = 0

    def start(self, name: str, given: dict[str, str]) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def text(self, data: str) -> None:
        """A part of a text."""


def _parsed(reader: _Reader, data: bytes) -> None:
    """Reads XML.

    Raises:
        expat.ExpatError: it is damaged.
        ValidationError: it nests too deep, or declares entities.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    reader.position = lambda: parser.CurrentByteIndex

    def local(name: str) -> str:
        space, _, plain = name.rpartition(" ")
        return plain if space in _WORD else ""

    def start(name: str, given: dict[str, str]) -> None:
        reader.depth += 1
        if reader.depth > _DEPTH_MAX:
            raise ValidationError(
                "document",
                "elements nested deeper",
                f"at most {_DEPTH_MAX} levels",
                "save its text",
            )
        reader.start(local(name), {local(key): value for key, value in given.items()})

    def end(name: str) -> None:
        reader.depth -= 1
        reader.end(local(name))

    def doctype(*_: object) -> None:
        raise ValidationError(
            "document", "a document type", "a package without one", "save it anew"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = doctype
    parser.Parse(data, True)


def _is_on(given: dict[str, str]) -> bool:
    return given.get("val", "1").lower() not in _OFF


class _Styles(_Reader):
    """The styles of a document, and which of them hide text."""

    def __init__(self) -> None:
        super().__init__()
        self._own: dict[str, bool] = {}
        self._based: dict[str, str] = {}
        self._defaults: dict[str, str] = {}
        self.default = False
        self._id: str | None = None
        self._path: list[str] = []

    def start(self, name: str, given: dict[str, str]) -> None:
        self._path.append(name)
        if name == "style":
            self._id = given.get("styleId", "")
            if _is_on({"val": given.get("default", "0")}):
                self._defaults[given.get("type", "")] = self._id
        elif name == "basedOn" and self._id is not None:
            self._based[self._id] = given.get("val", "")
        elif name == "vanish" and self._path[-2:-1] == ["rPr"]:
            if self._path[-3:-2] == ["style"] and self._id is not None:
                self._own[self._id] = _is_on(given)
            elif self._path[-3:-2] == ["rPrDefault"]:
                self.default = _is_on(given)

    def end(self, name: str) -> None:
        self._path.pop()
        if name == "style":
            self._id = None

    def hides(self, kind: str, id: str | None) -> bool:
        """Return whether the text of a style is hidden; None = the style of those without one."""
        seen: set[str] = set()
        at = self._defaults.get(kind) if id is None else id
        while at is not None and at not in seen:
            if at in self._own:
                return self._own[at]
            seen.add(at)
            at = self._based.get(at)
        return False


class _Runs(_Reader):
    """The runs of a part that are hidden, by their bytes; `texts`: how many of them hold text."""

    def __init__(self, styles: _Styles) -> None:
        super().__init__()
        self.hidden: list[tuple[int, int]] = []
        self.texts = 0
        self._styles = styles
        self._path: list[str] = []
        # of the paragraphs that are open, a paragraph may stand in a run of another
        self._paragraphs: list[str | None] = []
        self._runs: list[_Run] = []

    def start(self, name: str, given: dict[str, str]) -> None:
        self._path.append(name)
        above = self._path[-2:-1]
        if name == "p":
            self._paragraphs.append(None)
        elif name == "pStyle" and self._paragraphs:
            self._paragraphs[-1] = given.get("val")
        elif name == "r":
            self._runs.append(_Run(self.position()))
        elif self._runs and above == ["rPr"] and self._path[-3:-2] == ["r"]:
            if name == "rStyle":
                self._runs[-1].style = given.get("val")
            elif name == "vanish":
                self._runs[-1].own = _is_on(given)

    def text(self, data: str) -> None:
        if self._runs and self._path and self._path[-1] == "t" and data.strip():
            self._runs[-1].has_text = True

    def end(self, name: str) -> None:
        self._path.pop()
        if name == "p" and self._paragraphs:
            self._paragraphs.pop()
        elif name == "r" and self._runs:
            run = self._runs.pop()
            if self._is_hidden(run):
                # those inside it go with it
                self.hidden = [one for one in self.hidden if one[0] < run.start]
                self.hidden.append((run.start, self.position()))
                self.texts += run.has_text

    def _is_hidden(self, run: _Run) -> bool:
        if run.own is not None:
            return run.own
        paragraph = self._paragraphs[-1] if self._paragraphs else None
        by_paragraph = self._styles.hides("paragraph", paragraph)
        by_character = self._styles.hides("character", run.style)
        # what two styles say of a property that is on or off takes each other back
        return self._styles.default or by_paragraph != by_character


class _Run:
    def __init__(self, start: int) -> None:
        self.start = start
        self.style: str | None = None
        self.own: bool | None = None
        self.has_text = False
