"""Tables: a header row, then one memory a row."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any, Final

from vestig.errors import ValidationError
from vestig.exchange.file_records import RecordFile, RunningDigest, Unreadable
from vestig.exchange.formats.drafts import Draft, Found, Reading, refused
from vestig.exchange.formats.messages import (
    AUTHOR_KEYS,
    CONTENT_KEYS,
    SEQUENCE_KEYS,
    SESSION_KEYS,
    TIME_KEYS,
    message,
)

_SEPARATORS: Final = (",", ";", "\t")
_TURN_KEYS: Final = (*AUTHOR_KEYS, "role", *SESSION_KEYS, *TIME_KEYS)
# The cause of a row with other values than the header: what to look for.
_QUOTES: Final = 'a value with the separator in it stands between quotes, "a, b"'


def header_of(line: str) -> tuple[list[str], str] | None:
    """The columns of a header row and its separator; None where no column holds a text.

    Example:
        >>> header_of("id;Text;date")
        (['id', 'text', 'date'], ';')
        >>> header_of("id,name") is None
        True
    """
    best: tuple[list[str], str] | None = None
    for separator in _SEPARATORS:
        try:
            row = next(csv.reader([line], delimiter=separator, strict=True), [])
        except csv.Error:
            continue
        names = [name.strip().lower() for name in row]
        found = any(name in CONTENT_KEYS for name in names)
        if found and (best is None or len(names) > len(best[0])):
            best = names, separator
    return best


def first_line(file: RecordFile) -> str:
    """The first line that is not blank, as far as it is UTF-8."""
    for line in file.lines():
        if not isinstance(line, Unreadable) and line.data.strip():
            return line.data.decode("utf-8", "replace")
    return ""


def recognises(_record: dict[str, Any]) -> bool:
    """Return false: a table has no JSON objects; its header says what it is."""
    return False


def read(file: RecordFile, reading: Reading) -> Iterator[Found]:
    """The rows with the keys of messages; without author, role, session and time they are notes."""
    found = header_of(first_line(file))
    if found is None:
        yield Unreadable(1, "expected a header row with a column content or text")
        return
    names, separator = found
    is_chat = any(name in _TURN_KEYS for name in names)
    lines = _Lines(file)
    rows = csv.reader(lines, delimiter=separator, strict=True)
    place = -1
    while True:
        begins = lines.number + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield Unreadable(begins, f"expected a row of the table: {error}")
            if lines.ended:
                return
            continue
        except UnicodeDecodeError:
            yield Unreadable(lines.number, "expected UTF-8 text; nothing after it was read")
            return
        if row is None:
            return
        if not row or place < 0:
            place += bool(row)
            continue
        if len(row) != len(names):
            fact = f"expected {len(names)} values as in the header, got {len(row)}; {_QUOTES}"
            yield Unreadable(begins, fact)
            place += 1
            continue
        yield _draft(begins, dict(zip(names, row, strict=True)), is_chat, (place, lines, reading))
        place += 1


class _Lines:
    """The lines of a file as text, with their ends, counted."""

    def __init__(self, file: RecordFile) -> None:
        self._lines = file.lines()
        self._digest = RunningDigest()
        self.number = 0
        self.so_far = ""
        self.ended = False

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        try:
            line = next(self._lines)
        except StopIteration:
            self.ended = True
            raise
        if isinstance(line, Unreadable):
            self.number = line.line
            raise csv.Error(line.fact)
        self.number = line.number
        self.so_far = self._digest.after(line.data + b"\n")
        return line.data.decode("utf-8") + "\n"


def _draft(
    line: int, row: dict[str, str], is_chat: bool, where: tuple[int, _Lines, Reading]
) -> Draft | Unreadable:
    place, lines, reading = where
    value: dict[str, Any] = {name: text for name, text in row.items() if text.strip()}
    tags = value.get("tags")
    if tags is not None:
        value["tags"] = [tag for part in tags.split(",") if (tag := part.strip())]
    try:
        for name in SEQUENCE_KEYS:
            if name in value:
                value[name] = _number(name, value[name])
        found = message(value, place, reading)
    except ValidationError as error:
        return refused(line, error)
    assert found is not None, "a row without a text is refused"
    content, arguments = found
    if not is_chat:
        arguments.pop("sequence", None)
    return Draft(
        line=line,
        content=content,
        arguments=arguments,
        digest=lines.so_far,
        is_whole=is_chat,
    )


def _number(field: str, text: str) -> int:
    if not text.strip().isdecimal():
        raise ValidationError(field, text[:20], "a whole number from 0")
    return int(text)
