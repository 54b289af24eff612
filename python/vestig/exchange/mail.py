"""Mail as text: what its head says, and its own words without what they quote."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from email import policy
from email.message import Message
from email.parser import BytesParser
from email.utils import parseaddr, parsedate_to_datetime
from typing import Final, NamedTuple, cast

from vestig.errors import ValidationError
from vestig.exchange.html_text import decoded_html, shown_html
from vestig.lazy_pattern import lazy_pattern
from vestig.times import to_us

# A mail of an mbox begins with such a line, behind an empty one and before a field of its head.
_FROM_LINE: Final = lazy_pattern(
    rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]*"
    rb"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d{1,2}|\d{4}-\d\d-\d\d)"
    rb"[^\n]*\d\d:\d\d[^\n]*\n(?=[!-9;-~]+:)"
)
_ESCAPED_FROM: Final = lazy_pattern(rb"(?m)^>(>*From )")
# Behind it stands the mail that is answered.
_ORIGINAL: Final = lazy_pattern(
    r"-{2,} ?(?:Original Message|Ursprüngliche Nachricht|Message d'origine"
    r"|Mensaje original) ?-{2,}",
    re.IGNORECASE,
)
_DEPTH_MAX: Final = 16


class MailText(NamedTuple):
    """A mail. `title`: its subject; `date_us`: by its head, None where there is none that can be
    read; `left_out`: quoted lines, hidden elements and attachments."""

    text: str
    title: str
    author: str | None
    date_us: int | None
    left_out: dict[str, int]


def mails_of(data: bytes) -> Iterator[bytes]:
    """Yields the mails of an mbox file in order, as they were sent."""
    starts = list(_FROM_LINE.finditer(data))
    for place, found in enumerate(starts):
        end = starts[place + 1].start() if place + 1 < len(starts) else len(data)
        yield _ESCAPED_FROM.sub(rb"\1", data[found.end() : end])


def mail_text(data: bytes) -> MailText:
    """Reads a mail.

    Raises:
        ValidationError: it has no head of a mail, or nests too deep.
    """
    message = BytesParser(policy=policy.default).parsebytes(data)
    if not any(name in message for name in ("From", "Date", "Subject", "Message-ID")):
        raise ValidationError(
            "document", "no From, Date, Subject or Message-ID", "a mail with its head", ""
        )
    left_out: Counter[str] = Counter()
    text = "\n\n".join(part for part in _texts(message, left_out, 0) if part)
    name, address = parseaddr(_head(message, "From"))
    return MailText(
        text=text,
        title=_head(message, "Subject"),
        author=name or address or None,
        date_us=_date_us(message),
        left_out=dict(left_out),
    )


def _head(message: Message, name: str) -> str:
    """A field of the head on one line; "" where there is none that can be read."""
    try:
        return " ".join(str(message.get(name, "")).split())
    except (ValueError, IndexError, AttributeError):  # of the parser of fields, on damaged ones
        return ""


def _date_us(message: Message) -> int | None:
    try:
        return to_us(parsedate_to_datetime(_head(message, "Date")).astimezone())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _texts(part: Message, left_out: Counter[str], depth: int) -> Iterator[str]:
    """The texts of a part and of those in it; of several forms of one text the plain one."""
    if depth > _DEPTH_MAX:
        raise ValidationError("document", "parts nested deeper", f"at most {_DEPTH_MAX} levels", "")
    kind = part.get_content_type()
    if kind == "message/rfc822":
        for inner in cast("list[Message]", part.get_payload()):
            head = [f"{name}: {_head(inner, name)}" for name in ("From", "Date", "Subject")]
            yield "\n".join(head)
            yield from _texts(inner, left_out, depth + 1)
    elif part.is_multipart():
        inside = cast("list[Message]", part.get_payload())
        if kind == "multipart/alternative":
            plain = [one for one in inside if one.get_content_type() == "text/plain"]
            inside = plain[:1] or inside[-1:]
        for one in inside:
            yield from _texts(one, left_out, depth + 1)
    elif part.get_content_disposition() != "attachment" and kind in ("text/plain", "text/html"):
        yield _unquoted(_words(part, kind, left_out), left_out)
    else:
        left_out["attachment"] += 1


def _words(part: Message, kind: str, left_out: Counter[str]) -> str:
    """The text of a part in the encoding that it declares.

    Raises:
        ValidationError: it is not in that encoding.
    """
    data = cast("bytes", part.get_payload(decode=True) or b"")
    charset = part.get_content_charset()
    if kind == "text/html" and charset is None:
        text = decoded_html(data)
    else:
        try:
            text = data.decode(charset or "utf-8")
        except (LookupError, UnicodeDecodeError):
            raise ValidationError(
                "document", f"bytes that are not {charset or 'utf-8'}",
                "a mail in the encoding it declares", "save it anew",
            ) from None  # fmt: skip
    if kind == "text/html":
        shown = shown_html(text)
        left_out.update(shown.left_out)
        text = shown.text
    return text.replace("\r\n", "\n")


def _unquoted(text: str, left_out: Counter[str]) -> str:
    """A text without lines behind ">" and the line that says whose they are, and without what
    stands below the line of an original message."""
    kept: list[str] = []
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if _ORIGINAL.fullmatch(line.strip()):
            left_out["quoted line"] += len([one for one in lines[place:] if one.strip()])
            break
        if not line.startswith(">"):
            kept.append(line)
            continue
        if place and not lines[place - 1].startswith(">"):
            while len(kept) > 1 and not kept[-1].strip() and not kept[-2].strip():
                kept.pop()
            above = next((at for at in (-1, -2) if len(kept) >= -at and kept[at].strip()), None)
            if above is not None and _names_writer(kept[above]):
                del kept[above:]
                left_out["quoted line"] += 1
        left_out["quoted line"] += 1
    return "\n".join(kept).strip()


def _names_writer(line: str) -> bool:
    """Return whether a line says who wrote what is quoted below: a date or an address, a colon."""
    line = line.rstrip()
    return line.endswith(":") and ("@" in line or any(mark.isdigit() for mark in line))
