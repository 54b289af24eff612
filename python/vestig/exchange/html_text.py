"""HTML before it is converted: decoded as it declares, without what a browser does not show."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Callable
from html import escape
from html.parser import HTMLParser
from typing import Final, NamedTuple

from vestig.errors import ValidationError
from vestig.exchange.style_sheets import StyleSheet
from vestig.lazy_pattern import lazy_pattern

# Elements in one another; the converter drops the text of deeper ones.
DEPTH_MAX: Final = 56
# A table counts more than once there.
_TABLES_MAX: Final = 12
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HEAD_BYTES: Final = 4_096
_DECLARED: Final = lazy_pattern(
    rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{1,40})"
)
# As browsers read them.
_AS_BROWSERS: Final = {"iso8859-1": "cp1252", "ascii": "cp1252", "latin-1": "cp1252"}
_VOID: Final = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)
_MENU: Final = "nav"
# Code, and what is a picture or stands in the place of one.
_SILENT: Final = frozenset(
    [
        "audio",
        "canvas",
        "iframe",
        "noscript",
        "object",
        "picture",
        "script",
        "style",
        "svg",
        "template",
        "video",
    ]
)
_LEFT_OUT: Final = _SILENT | {_MENU}
_WORD: Final = lazy_pattern(r"[^\W_]+")
# Elements whose end may be left out.
_OPEN_ENDED: Final = frozenset(
    ["p", "li", "dt", "dd", "tr", "td", "th", "option", "thead", "tbody", "tfoot"]
)
# The converter drops what stands in these.
_DROPPED: Final = frozenset(("form", "header"))
_CELLS: Final = frozenset(("td", "th", "tr", "thead", "tbody", "tfoot", "caption"))
_BLOCKS: Final = frozenset(
    [
        "p",
        "div",
        "br",
        "tr",
        "li",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "table",
        "ul",
        "ol",
        "dl",
        "dt",
        "dd",
        "section",
        "article",
        "blockquote",
        "pre",
        "hr",
    ]
)
# What stands on lines of its own, and what is apart from what stands beside it.
_LINES: Final = _BLOCKS | {
    "address",
    "aside",
    "button",
    "caption",
    "center",
    "details",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "main",
    "option",
    "select",
    "summary",
    "textarea",
}
_SPACED: Final = frozenset(("td", "th", "label"))


class ShownHtml(NamedTuple):
    """HTML that a browser shows. `text`: its words alone, a block a line; `left_out`: how many
    hidden elements and menus."""

    html: str
    text: str
    left_out: dict[str, int]


def decoded_html(data: bytes) -> str:
    """The text of an HTML file: by its byte order mark, else as it declares, else UTF-8.

    Raises:
        ValidationError: it is not in that encoding, or in one that is not known.
    """
    name = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    declared = _DECLARED.search(data[:_HEAD_BYTES].lower())
    if not name and declared is not None:
        name = declared[1].decode("ascii")
    try:
        known = codecs.lookup(name or "utf-8").name
        return data.decode(_AS_BROWSERS.get(known, known)).removeprefix("\ufeff")
    except (LookupError, UnicodeError):
        raise ValidationError(
            "document", f"bytes that are not {name or 'utf-8'}", "HTML in the encoding it declares",
            "save it as UTF-8",
        ) from None  # fmt: skip


def shown_html(html: str, *, sheets: Callable[[str], str] | None = None) -> ShownHtml:
    """Returns the HTML without menus and hidden elements: `hidden`, `aria-hidden`, and by their own
    style or the style sheets of the document.

    Args:
        sheets: the style sheet that a link names, of a document in XML.

    Raises:
        ValidationError: nested deeper than is converted.
    """
    sheet = StyleSheet()
    if "<style" in html.lower() or sheets is not None:
        styles = _Styles(sheet, sheets)
        styles.feed(html)
        styles.close()
    reader = _Shown(sheet, is_xml=sheets is not None)
    reader.feed(html)
    reader.close()
    words = "".join(reader.words)
    lines = [" ".join(line.split()) for line in words.split("\n")]
    body = "".join(reader.parts)
    whole = f"<!DOCTYPE html><html><body>{body}</body></html>"
    return ShownHtml(whole, "\n".join(lines).strip(), dict(reader.left_out))


def holds(text: str, words: str) -> bool:
    """Return whether a text holds all these words in their order, whatever stands between them.

    Example:
        >>> holds("# A **fer**ry [leaves](x)", "A ferry leaves"), holds("A", "A ferry")
        (True, False)
    """
    letters = "".join(_WORD.findall(text))
    place = 0
    for found in _WORD.finditer(words):
        place = letters.find(found[0], place)
        if place < 0:
            return False
        place += len(found[0])
    return True


class _Styles(HTMLParser):
    """The style sheets of a document, and those that it links to where `sheets` knows them."""

    def __init__(self, sheet: StyleSheet, sheets: Callable[[str], str] | None) -> None:
        super().__init__(convert_charrefs=True)
        self._sheet = sheet
        self._sheets = sheets
        self._medium: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "style":
            self._medium = given.get("media") or ""
        elif (
            tag == "link"
            and self._sheets is not None
            and (given.get("rel") or "").lower() == "stylesheet"
        ):
            text = self._sheets(given.get("href") or "")
            self._sheet.add(text, is_certain=_is_screen(given.get("media") or ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "style":
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag == "style":
            self._medium = None

    def handle_data(self, data: str) -> None:
        if self._medium is not None:
            self._sheet.add(data, is_certain=_is_screen(self._medium))


def _space(tag: str) -> str:
    """The space between the words of an element and those beside it."""
    return "\n" if tag in _LINES else " " if tag in _SPACED else ""


def _is_screen(media: str) -> bool:
    return media.strip().lower() in ("", "all", "screen")


class _Open(NamedTuple):
    """An open element; what it is called in the result, whether it has a box, and whether its text
    is visible."""

    tag: str
    written: str
    is_displayed: bool
    is_visible: bool

    @property
    def is_shown(self) -> bool:
        """Return whether its text is shown."""
        return self.is_displayed and self.is_visible


_OUTSIDE: Final = _Open("", "", is_displayed=True, is_visible=True)


class _Shown(HTMLParser):
    def __init__(self, sheet: StyleSheet, *, is_xml: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.words: list[str] = []
        self.left_out: Counter[str] = Counter()
        self._sheet = sheet
        self._is_xml = is_xml
        self._open: list[_Open] = []
        self._counts: Counter[str] = Counter()

    @property
    def _last(self) -> _Open:
        return self._open[-1] if self._open else _OUTSIDE

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("html", "body"):
            return
        if tag not in _VOID:
            last = self._last.tag
            if (tag in _OPEN_ENDED and last == tag) or (tag in _BLOCKS and last == "p"):
                self.handle_endtag(last)
        around, shown = self._last, self._sheet.shown(tag, dict(attrs))
        is_plain = tag in _DROPPED or (tag in _CELLS and not self._counts["table"])
        one = _Open(
            tag,
            "div" if is_plain else tag,
            is_displayed=around.is_displayed and shown.is_displayed and tag not in _LEFT_OUT,
            is_visible=around.is_visible if shown.is_visible is None else shown.is_visible,
        )
        if tag in _VOID:
            if not one.is_shown:
                return
        else:
            if around.is_shown and not one.is_shown and tag not in _SILENT:
                self.left_out["menu" if tag == _MENU else "hidden element"] += 1
            self._open.append(one)
            self._counts[tag] += 1
            self._check_depth()
        if one.is_displayed:
            self.words.append(_space(tag))
            self.parts.append("<div>" if is_plain else self.get_starttag_text() or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # HTML knows no such end: the element stays open
        self.handle_starttag(tag, attrs)
        if self._is_xml and tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._counts[tag]:
            return
        while True:
            last = self._open.pop()
            self._counts[last.tag] -= 1
            if last.is_displayed:
                self.parts.append(f"</{last.written}>")
                self.words.append(_space(last.tag))
            if last.tag == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._last.is_shown:
            if not self._counts["title"]:
                self.words.append(data)
            self.parts.append(escape(data, quote=False))

    def _check_depth(self) -> None:
        if len(self._open) > DEPTH_MAX or self._counts["table"] > _TABLES_MAX:
            raise ValidationError(
                "document", "elements nested deeper",
                f"HTML of at most {DEPTH_MAX} levels and {_TABLES_MAX} tables in one another",
                "save its text",
            )  # fmt: skip
