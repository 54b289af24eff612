"""A document as text: its bytes decoded, with its front matter and the date in its file's name."""

from __future__ import annotations

import os
import re
from typing import Any, Final, NamedTuple

import msgspec

from vestig.arguments import SCOPE_CHARS_MAX, parse_time
from vestig.calls.files import CONVERTED_ENDINGS, DOCUMENT_ENDINGS, MAIL_ENDINGS
from vestig.config.documents import parse
from vestig.errors import ValidationError
from vestig.exchange.converter import Converter
from vestig.exchange.file_records import RecordFile
from vestig.exchange.html_text import decoded_html, holds, shown_html
from vestig.exchange.inputs import Input
from vestig.exchange.mail import mail_text
from vestig.exchange.passages import Markup
from vestig.language.text_forms import CONTROL_CHARACTERS
from vestig.lazy_pattern import lazy_pattern

FILE_BYTES_MAX: Final = 50 * 1024 * 1024
TEXT_CHARS_MAX: Final = 20_000_000
_DATE: Final = lazy_pattern(
    r"(?<![^\W_])((?:19|20)\d\d)(?:-(\d\d)-(\d\d)|(\d\d)(\d\d))(?:(?![^\W_])|(?=T\d))"
)
_HTML: Final = (".html", ".htm")
_BOM: Final = "\ufeff"


class DocumentText(msgspec.Struct, frozen=True, kw_only=True):
    """A document before it is cut.

    Args:
        text: without control characters.
        label: its title for want of another.
        title: that which is given; "" = that of the text.
        format: the ending of its file without a dot, or its markup.
        size: bytes of its file.
        path: what it is known by; None = by its passages.
        file_us: when its file was changed; None where there is no file.
        control_characters: how many were left out, of its title too.
        author, date_us: of the head of a mail.
        left_out: what its text lacks, by kind.
    """

    text: str
    label: str
    format: str
    markup: Markup
    size: int
    title: str = ""
    path: str | None = None
    file_us: int | None = None
    control_characters: int = 0
    author: str | None = None
    date_us: int | None = None
    left_out: dict[str, int] = msgspec.field(default_factory=dict)


def document_text(source: Input, converter: Converter) -> DocumentText:
    """Reads a file of text, or one that is converted to text.

    Raises:
        ValidationError: too large, binary, no UTF-8, or what `Converter.markdown` raises.
    """
    ending = os.path.splitext(source.name.lower().removesuffix(".gz"))[1]
    if ending in MAIL_ENDINGS:
        return mail_document(RecordFile(source, is_text=False).whole(FILE_BYTES_MAX), source)
    is_text = ending not in CONVERTED_ENDINGS
    file = RecordFile(source, is_text=is_text)
    data = file.whole(FILE_BYTES_MAX)
    left_out = dict[str, int]()
    if is_text:
        text = decoded(data)
    elif ending in _HTML:
        shown = shown_html(decoded_html(data))
        left_out = shown.left_out
        text = converter.markdown(shown.html.encode("utf-8", "replace"), ending).text
        if not holds(text, shown.text):
            # the converter cannot read its layout, and would drop some of it
            text, left_out = shown.text, {**left_out, "layout of a page": 1}
    else:
        text, left_out = converter.markdown(data, ending)
    found = document_of(
        text,
        label=_label(file.name),
        format=ending.removeprefix(".") or Markup.MARKDOWN.value,
        markup=Markup.RST if ending == ".rst" else Markup.MARKDOWN,
        size=source.size,
        path=source.path,
        file_us=source.file_us,
    )
    return msgspec.structs.replace(found, left_out=left_out)


def mail_document(data: bytes, source: Input, path: str | None = None) -> DocumentText:
    """A mail as a document; `path`: that of one in a file of several."""
    mail = mail_text(data)
    found = document_of(
        mail.text,
        label=os.path.splitext(os.path.basename(source.name))[0],
        title=mail.title,
        format="eml",
        markup=Markup.TEXT,
        size=len(data),
        path=path or source.path,
        file_us=source.file_us,
    )
    author = None if mail.author is None else _name(mail.author)[0]
    return msgspec.structs.replace(
        found, author=author, date_us=mail.date_us, left_out=mail.left_out
    )


def document_of(
    text: str,
    *,
    label: str,
    format: str,
    markup: Markup,
    size: int,
    title: str = "",
    path: str | None = None,
    file_us: int | None = None,
) -> DocumentText:
    """A document of a text that may hold control characters.

    Raises:
        ValidationError: too long.
    """
    if len(text) > TEXT_CHARS_MAX:
        raise ValidationError(
            "document",
            f"{len(text):,} characters",
            f"at most {TEXT_CHARS_MAX:,}",
            "import it in parts",
        )
    text, left_out = CONTROL_CHARACTERS.subn("", text.removeprefix(_BOM))
    label, in_label = _name(label)
    title, in_title = _name(title)
    return DocumentText(
        text=text,
        label=label,
        title=title,
        format=format,
        markup=markup,
        size=size,
        path=path,
        file_us=file_us,
        control_characters=left_out + in_label + in_title,
    )


def document_at(text: DocumentText, path: str) -> DocumentText:
    """A document as if its file had another path."""
    return msgspec.structs.replace(text, label=_name(_label(os.path.basename(path)))[0])


def _label(name: str) -> str:
    """The name of a file without its endings, where these are of documents."""
    whole = name.removesuffix(".gz")
    stem, ending = os.path.splitext(whole)
    return stem if ending.lower() in DOCUMENT_ENDINGS else whole


def _name(text: str) -> tuple[str, int]:
    """A title on one line, and how many control characters it lacks."""
    clean, left_out = CONTROL_CHARACTERS.subn("", text)
    return " ".join(clean.split()), left_out


def decoded(data: bytes) -> str:
    """The text of a file.

    Raises:
        ValidationError: no UTF-8; names the byte.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValidationError(
            "document", f"byte {error.start} in line {line}, which is no UTF-8", "UTF-8 text",
            "save it as UTF-8",
        ) from None  # fmt: skip


def dated(date_us: int | None, text: DocumentText, now_us: int) -> tuple[int, str]:
    """When a document was written, and what says so."""
    if date_us is not None:
        return date_us, "front_matter"
    if text.date_us is not None:
        return text.date_us, "header"
    named = date_in(text.label)
    # a day to come is what the document is about
    if named is not None and named <= now_us:
        return named, "file_name"
    return (now_us, "now") if text.file_us is None else (text.file_us, "file_time")


def date_in(name: str) -> int | None:
    """The date in the name of a file, in microseconds since 1970; None where there is none, or
    several. Digits within a word or a longer number are no date.

    Example:
        >>> date_in("log-20260318.md") == date_in("2026-03-18 log.md") == 1773792000_000_000
        True
        >>> date_in("2026-03-18 to 2026-03-20.md"), date_in("part-A20260318.md")
        (None, None)
    """
    found = {date for match in _DATE.finditer(name) if (date := _date(match)) is not None}
    return found.pop() if len(found) == 1 else None


def _date(match: re.Match[str]) -> int | None:
    try:
        return parse_time("-".join(filter(None, match.groups())), "date")
    except ValidationError:
        return None


# --- front matter -----------------------------------------------------------------------------

_CHARS_MAX: Final = 64 * 1024
_BLOCK: Final = lazy_pattern(r"\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", 24)
_FIELD: Final = lazy_pattern(r"([\w-][\w .-]{0,63}?)[ \t]*:(?:[ \t]+(.*))?")
_OPEN: Final = ("[", "{", '"', "'", "&", "*", "!", "|", ">")
_TITLE, _TAGS, _DATES = "title", ("tags", "tag"), ("date", "created")


class FrontMatter(NamedTuple):
    """The fields that stand before a text.

    Args:
        body: where the text begins; 0 where there is no front matter.
        title: "" where there is none.
        date_us: of the document, in microseconds since 1970; None where there is none.
        left_out: the names of other fields, of tags and dates that are none, and "" for a line
            that is no field.
        control_characters: how many the title lacks.
    """

    body: int = 0
    title: str = ""
    tags: tuple[str, ...] = ()
    date_us: int | None = None
    left_out: tuple[str, ...] = ()
    control_characters: int = 0


def front_matter(text: str) -> FrontMatter:
    """The front matter of a document. One that YAML refuses is read field by field; what begins
    like one and has no field is text.

    Example:
        >>> found = front_matter("---\\ntitle: Boats\\ntags: [sea]\\n---\\nLarch floats.")
        >>> found.title, found.tags, found.body
        ('Boats', ('sea',), 33)
    """
    block = _BLOCK.match(text, 0, _CHARS_MAX)
    if block is None:
        return FrontMatter()
    try:
        fields, _ = parse(block[1])
    except ValueError:
        fields, unread = _by_field(block[1])
        if not fields:
            return FrontMatter()
        found = _read(fields, block.end())
        return found._replace(left_out=(*found.left_out, *unread))
    if fields is None:
        return FrontMatter(body=block.end())
    if not isinstance(fields, dict):
        return FrontMatter()
    return _read({str(name).lower(): value for name, value in fields.items()}, block.end())


def _by_field(block: str) -> tuple[dict[str, Any], list[str]]:
    """The fields of a block that is no YAML as a whole, the first of each name, and the names of
    those that cannot be read, "" of what has none. A field is a line `name: value` and what is
    indented below it."""
    fields: dict[str, Any] = {}
    unread: list[str] = []
    parts: list[list[str]] = []
    for line in block.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if parts and line[0] in " \t-":
            parts[-1].append(line)
        else:
            parts.append([line])
    for first, *rest in parts:
        found = _FIELD.fullmatch(first)
        if found is None or found[1].lower() in fields:
            unread.append("" if found is None else found[1].lower())
            continue
        name, value = found[1].lower(), found[2].strip()
        try:
            fields[name] = parse("\n".join((first, *rest)).expandtabs(2))[0][found[1]]
        except (ValueError, KeyError, TypeError):
            if name != _TITLE or rest or value[:1] in _OPEN:
                unread.append(name)
            else:
                # a title is its line, whatever marks of YAML stand in it
                fields[name] = value
    return fields, unread


def _read(fields: dict[str, Any], body: int) -> FrontMatter:
    left_out, controls = list[str](), 0
    title, tags, date_us = "", dict[str, None](), None
    for name, value in fields.items():
        if value is None:
            continue
        if name == _TITLE and isinstance(value, (str, int, float)):
            title, controls = _name(str(value))
        elif name in _TAGS:
            given = value if isinstance(value, list) else str(value).split(",")
            found = [_tag(one) for one in given]
            tags |= dict.fromkeys(one for one in found if one)
            left_out += [name] * found.count("")
        elif name in _DATES and (us := _time(value)) is not None:
            date_us = us if date_us is None or name == _DATES[0] else date_us
        else:
            left_out.append(name)
    return FrontMatter(body, title, tuple(tags), date_us, tuple(left_out), controls)


def _tag(value: object) -> str:
    """A tag without its mark; "" of what is none."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    tag = str(value).strip().removeprefix("#")
    return tag if len(tag) <= SCOPE_CHARS_MAX and tag.isprintable() and "," not in tag else ""


def _time(value: object) -> int | None:
    try:
        return parse_time(value, "date")
    except ValidationError:
        return None
