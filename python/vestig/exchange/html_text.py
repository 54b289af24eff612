"""HTML before it is converted: decoded as it declares, without what a browser does not show."""

from __future__ import annotations

import codecs
from html import escape
from html.parser import HTMLParser
from typing import Final, NamedTuple

from vestig.errors import ValidationError
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
_HIDDEN_STYLE: Final = lazy_pattern(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b")
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
_SILENT: Final = frozenset(("script", "style", "template", "noscript"))
# Elements whose end may be left out.
_OPEN_ENDED: Final = frozenset(
    ["p", "li", "dt", "dd", "tr", "td", "th", "option", "thead", "tbody", "tfoot"]
)
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


class ShownHtml(NamedTuple):
    """HTML that a browser shows. `text`: its words alone, a block a line; `hidden`: how many
    elements were left out."""

    html: str
    text: str
    hidden: int


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


def shown_html(html: str) -> ShownHtml:
    """Returns the HTML without hidden elements: `hidden`, `aria-hidden`, and by their own style.

    Raises:
        ValidationError: nested deeper than is converted.
    """
    reader = _Shown()
    reader.feed(html)
    reader.close()
    words = "".join(reader.words)
    lines = [" ".join(line.split()) for line in words.split("\n")]
    body = "".join(reader.parts)
    whole = f"<!DOCTYPE html><html><body>{body}</body></html>"
    return ShownHtml(whole, "\n".join(lines).strip(), reader.hidden)


class _Shown(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.words: list[str] = []
        self.hidden = 0
        self._open: list[str] = []
        # how many elements are open where the outermost hidden one begins
        self._hidden_at: int | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("html", "body"):
            return
        given = dict(attrs)
        if tag not in _VOID:
            last = self._open[-1] if self._open else ""
            if (tag in _OPEN_ENDED and last == tag) or (tag in _BLOCKS and last == "p"):
                self.handle_endtag(last)
            if self._hidden_at is None and (tag in _SILENT or _is_hidden(given)):
                self._hidden_at = len(self._open)
                self.hidden += tag not in _SILENT
            self._open.append(tag)
            self._check_depth()
        elif _is_hidden(given):
            return
        if self._hidden_at is None:
            if tag in _BLOCKS:
                self.words.append("\n")
            self.parts.append(self.get_starttag_text() or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # HTML knows no such end: the element stays open
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._open:
            return
        while True:
            last = self._open.pop()
            if self._hidden_at is None:
                self.parts.append(f"</{last}>")
                if last in _BLOCKS:
                    self.words.append("\n")
            elif len(self._open) <= self._hidden_at:
                self._hidden_at = None
            if last == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._hidden_at is None:
            if "title" not in self._open:
                self.words.append(data)
            self.parts.append(escape(data, quote=False))

    def _check_depth(self) -> None:
        if len(self._open) > DEPTH_MAX or self._open.count("table") > _TABLES_MAX:
            raise ValidationError(
                "document", "elements nested deeper",
                f"HTML of at most {DEPTH_MAX} levels and {_TABLES_MAX} tables in one another",
                "save its text",
            )  # fmt: skip


def _is_hidden(given: dict[str, str | None]) -> bool:
    if "hidden" in given or (given.get("aria-hidden") or "").lower() == "true":
        return True
    return _HIDDEN_STYLE.search((given.get("style") or "").lower()) is not None
