"""Tables: a header row, then one memory a row.

A row with a column `content`, `text`, `memory` or `fact` has this text and the keys of messages,
with `user` as its author and `user_id` as its scope, and where nobody speaks `key`, `t_valid`,
`t_invalid` and `tag` of a fact; other columns are metadata. Where no column holds a text, the text
of a row is all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from vestig.arguments import parse_time
from vestig.errors import ValidationError
from vestig.exchange.file_records import RecordFile, Unreadable
from vestig.exchange.formats.drafts import (
    FROM_FILE,
    Draft,
    Found,
    Reading,
    last_change,
    present,
    refused,
)
from vestig.exchange.formats.messages import (
    AUTHOR_KEYS,
    CONTENT_KEYS,
    SCOPE_KEYS,
    SEQUENCE_KEYS,
    SESSION_KEYS,
    TIME_KEYS,
    is_in_file_order,
    message,
    metadata_names,
)
from vestig.exchange.formats.messages import (
    KEYS as MESSAGE_KEYS,
)
from vestig.exchange.formats.table_dates import DateColumn, time_rank
from vestig.exchange.formats.table_rows import Row, Rows, header_cells
from vestig.exchange.inputs import WITHOUT_NAME
from vestig.language.text_forms import count_of
from vestig.lazy_pattern import lazy_pattern

_SEPARATORS: Final = (",", ";", "\t")
_ENDINGS: Final = (".csv", ".tsv")
_SPEAKER_KEYS: Final = (*AUTHOR_KEYS, "role", *SESSION_KEYS)
_TURN_KEYS: Final = (*_SPEAKER_KEYS, *TIME_KEYS)
_FACT_TIMES: Final = ("t_valid", "t_invalid")
_FACT_KEYS: Final = ("key", *_FACT_TIMES)
_TAG: Final = "tag"
# Columns that hold the text of a row, the likeliest first; one that names who wrote a fact, and the
# one that names of whom it is.
_TEXTS: Final = (*CONTENT_KEYS, "memory", "fact")
_USERS: Final = ("user", "user_name", "username")
_USER_ID: Final = "user_id"
# Columns that a row with a text has by name.
_KNOWN: Final = MESSAGE_KEYS | {*_FACT_KEYS, _TAG, *_TEXTS, *_USERS, _USER_ID}
# The cause of a row with other values than the header: what to look for.
_QUOTES: Final = 'a value with the separator in it stands between quotes, "a, b"'
_NUMBER: Final = lazy_pattern(r"[-+]?[\d.,]*\d[\d.,]*[%€$£]?")
_YEAR: Final = lazy_pattern(r"(?:19|20)\d\d")
_NO_TIME: Final = "it is not the time of the rows"
_YEAR_LAST: Final = "write the year first, such as 2026-03-18"
# So many rows tell what a column holds; a text has so many words.
_LOOKED_AT: Final = 50
_WORDS_MIN: Final = 3
# A longer cell of a row that is its own text stands in this text alone.
_METADATA_CHARS: Final = 1_000
_SHOWN_CHARS: Final = 40


class Header(NamedTuple):
    """The columns of a table, each name once; `doubled`: names that stood more than once; `texts`:
    the column that holds the text of a row, None where none does."""

    names: tuple[str, ...]
    separator: str
    doubled: tuple[str, ...] = ()
    texts: str | None = None

    @property
    def users(self) -> str | None:
        """The column that names the author of a row where none is named like one of a message."""
        if any(name in AUTHOR_KEYS for name in self.names):
            return None
        return next((name for name in _USERS if name in self.names), None)

    @property
    def are_turns(self) -> bool:
        """Return whether a column says who speaks, where or when."""
        return any(name in _TURN_KEYS for name in self.names)

    @property
    def has_speakers(self) -> bool:
        """Return whether a column says who speaks, or where."""
        return any(name in _SPEAKER_KEYS for name in self.names)

    @property
    def are_facts(self) -> bool:
        """Return whether a row may have the columns of a fact: it has a text, and nobody speaks."""
        return self.texts is not None and not self.has_speakers


def header_of(file: RecordFile) -> Header | None:
    """The header row of a table; None where the first row names no columns.

    A name that is a date or a number is a value, so the row is no header; a year may be a name.
    """
    best: Header | None = None
    for separator in _SEPARATORS:
        cells = header_cells(file, separator)
        if cells is None or not any(map(_has_word, cells)):
            continue
        found = _named(cells, separator)
        if best is None or (found.texts is not None, len(found.names)) > (
            best.texts is not None,
            len(best.names),
        ):
            best = found
    if best is None or any(map(_is_value, best.names)):
        return None
    if best.texts is not None and best.texts not in CONTENT_KEYS and not _says(file, best):
        return best._replace(texts=None)
    return best


def _says(file: RecordFile, header: Header) -> bool:
    """Return whether most values of the column of texts are of several words: a memory may be of a
    computer."""
    at = header.names.index(str(header.texts))
    rows = [row for row in islice(_below_header(file, header), _LOOKED_AT) if isinstance(row, Row)]
    cells = [row.cells[at].split() for row in rows if len(row.cells) == len(header.names)]
    filled = [words for words in cells if words]
    return 2 * sum(len(words) >= _WORDS_MIN for words in filled) > len(filled)


def is_table(file: RecordFile) -> bool:
    """Return whether a file without JSON is a table: a column holds texts, or its name says so."""
    header = header_of(file)
    return header is not None and (
        header.texts in CONTENT_KEYS or file.name.lower().endswith(_ENDINGS)
    )


def first_line(file: RecordFile) -> str:
    """The first line that is not blank, as far as it is UTF-8."""
    for line in file.lines():
        if not isinstance(line, Unreadable) and line.data.strip():
            return line.data.decode("utf-8", "replace")
    return ""


# Names that its records have: it has none.
KEYS: Final = frozenset[str]()


def recognises(_record: dict[str, Any]) -> bool:
    """Return false: a table has no JSON objects; its header says what it is."""
    return False


def read(file: RecordFile, reading: Reading) -> Iterator[Found]:
    """The rows as messages, or each as the text of its columns."""
    header = header_of(file)
    if header is None:
        fact = "expected a header row that names the columns, got none, or values in its place"
        yield Unreadable(1, fact)
        return
    columns = _date_columns(file, header)
    times_of_facts = _FACT_TIMES if header.are_facts else ()
    of_facts: dict[str, DateColumn] = {
        name: columns.pop(name) for name in times_of_facts if name in columns
    }
    times = _time_column([*columns.values()], header, reading)
    _say_columns(header, reading)
    rows = _Readers(header, times, columns | of_facts, reading)
    for place, row in enumerate(_below_header(file, header)):
        if isinstance(row, Unreadable):
            yield row
        elif not any(cell.strip() for cell in row.cells):
            reading.leave_out("blank row")
        elif len(row.cells) != len(header.names):
            count = f"expected {len(header.names)} values as in the header, got {len(row.cells)}"
            yield Unreadable(row.line, f"{count}; {_QUOTES}")
        else:
            yield rows.draft(row, place)


def _below_header(file: RecordFile, header: Header) -> Iterator[Row | Unreadable]:
    rows = iter(Rows(file, header.separator))
    next(rows, None)
    return rows


def _named(cells: list[str], separator: str) -> Header:
    """Columns by the names of the header: those known by name in small letters, others as they are;
    a name that is there already gets its number, one that is blank its place."""
    names: list[str] = []
    doubled: list[str] = []
    for place, cell in enumerate(cells, start=1):
        name = " ".join(cell.split()) or f"column {place}"
        name = name.lower() if name.lower() in _KNOWN else name
        made, count = name, 1
        while made in names:
            count += 1
            made = f"{name} {count}"
        if count > 1:
            doubled.append(f'"{name}" as "{made}"')
        names.append(made)
    texts = next((name for name in _TEXTS if name in names), None)
    return Header(tuple(names), separator, tuple(doubled), texts)


def _has_word(cell: str) -> bool:
    return any(map(str.isalnum, cell))


def _is_value(name: str) -> bool:
    if _NUMBER.fullmatch(name):
        return _YEAR.fullmatch(name) is None
    return DateColumn.is_date(name)


def _date_columns(file: RecordFile, header: Header) -> dict[str, DateColumn]:
    """All columns by name, each of which has seen its values."""
    columns = {name: DateColumn(name) for name in header.names}
    for row in _below_header(file, header):
        if isinstance(row, Row) and len(row.cells) == len(columns):
            for column, cell in zip(columns.values(), row.cells, strict=True):
                column.take(cell)
    return columns


def _time_column(
    columns: Sequence[DateColumn], header: Header, reading: Reading
) -> DateColumn | None:
    """The column of dates whose name says that the rows were written or happened then, by a closed
    list of names: what is dated otherwise is a property. What is decided is said in the report."""
    dates = [column for column in columns if column.holds_dates]
    ranked = [(rank, one) for one in dates if (rank := time_rank(one.name)) is not None]
    if ranked:
        _, chosen = min(ranked, key=lambda pair: pair[0])
        if header.texts is None or not (chosen.name in TIME_KEYS and chosen.is_iso):
            reading.say(f'the column "{chosen.name}" is the time of the rows')
        return chosen
    for column in dates:
        reading.say(
            f'the column "{column.name}" holds dates; {_NO_TIME}, as one named "date" would be'
        )
    for column in columns:
        is_time = header.texts is not None and column.name in TIME_KEYS
        if column.mostly_dates and not is_time and time_rank(column.name) is not None:
            first = column.first_other[:_SHOWN_CHARS]
            reading.say(
                f'the column "{column.name}": {_NO_TIME}, for {count_of(column.others, "cell")} of'
                f' it, first "{first}", {"holds" if column.others == 1 else "hold"} no date'
            )
        if column.is_ambiguous:
            reading.say(
                f'the column "{column.name}" holds dates whose day and month cannot be told apart;'
                f" {_YEAR_LAST if is_time else _NO_TIME}"
            )
    return None


def _say_columns(header: Header, reading: Reading) -> None:
    if header.doubled:
        reading.say(f"columns with the same name were renamed: {', '.join(header.doubled)}")
    if header.texts is None:
        reading.say('the text of a row is its columns, one a line as "column: value"')
    elif not header.has_speakers and not _KNOWN.issuperset(header.names):
        reading.say(
            f'the text of a row is its column "{header.texts}" alone; where that has another name,'
            " the text is the whole row"
        )


class _Readers:
    """Makes drafts of the rows of one table.

    Args:
        times: the column that is the time of the rows.
        columns: what is known of the dates of each column, by name.
    """

    def __init__(
        self,
        header: Header,
        times: DateColumn | None,
        columns: Mapping[str, DateColumn],
        reading: Reading,
    ) -> None:
        self._header = header
        self._times, self._columns = times, columns
        self._reading = reading
        # the session of rows with a role that name none
        self._whole = ""

    def draft(self, row: Row, place: int) -> Draft | Unreadable:
        """One row, which has the cells of the header."""
        self._whole = self._whole or self._reading.session_of(row.digest)
        cells = dict(zip(self._header.names, row.cells, strict=True))
        filled = {name: cell for name, cell in cells.items() if cell.strip()}
        try:
            time = self._time(filled)
            if self._header.texts is not None:
                content, arguments = self._message(filled, time, place)
            else:
                content = "\n".join(f"{name}: {cell.strip()}" for name, cell in filled.items())
                arguments = present({"t_ref": time, "metadata": _short(filled)})
        except ValidationError as error:
            return refused(row.line, error)
        is_by_id = "artifact_ref" in arguments
        if self._reading.name not in WITHOUT_NAME:
            if is_by_id:
                own = arguments.get("metadata") or {}
                arguments["metadata"] = {FROM_FILE: self._reading.name, **own}
            else:
                arguments["artifact_ref"] = self._reading.row_reference(filled)
        return Draft(
            line=row.line,
            content=content,
            arguments=arguments,
            is_by_id=is_by_id,
            digest=row.digest,
            is_whole=self._header.texts is None or self._header.are_turns,
            changed_us=last_change(filled),
            in_file_order=self._header.are_turns
            and is_in_file_order(filled, arguments, self._reading),
        )

    def _time(self, filled: dict[str, str]) -> str | None:
        """The time of a row as an ISO date.

        Raises:
            ValidationError: a day that is not in the calendar.
        """
        cell = None if self._times is None else filled.get(self._times.name)
        if self._times is None or cell is None:
            return None
        iso = self._times.iso(cell)
        parse_time(iso, self._times.name)
        return iso

    def _message(
        self, filled: dict[str, str], time: str | None, place: int
    ) -> tuple[str, dict[str, Any]]:
        value = self._by_meaning(filled)
        of_fact = self._fact(value) if self._header.are_facts else {}
        own = next((name for name in TIME_KEYS if name in value), None)
        if time is None and own is not None:
            value[own] = self._columns[own].certain_iso(value[own])
        if "tags" in value:
            parts = value["tags"].replace(";", ",").split(",")
            value["tags"] = [tag for part in parts if (tag := part.strip())]
        for name in SEQUENCE_KEYS:
            if name in value:
                value[name] = _whole_number(name, value[name])
        found = message(value, place, self._reading, self._whole)
        assert found is not None, "a row without a text is refused"
        content, arguments = found
        arguments |= of_fact
        if time is not None:
            arguments["t_ref"] = time
        if not self._header.are_turns:
            arguments.pop("sequence", None)
        return content, arguments

    def _by_meaning(self, filled: Mapping[str, str]) -> dict[str, Any]:
        """The values of a row, with the text, the author and the scope under the names that a
        message has for them."""
        value: dict[str, Any] = dict(filled)
        header = self._header
        if header.texts not in CONTENT_KEYS and header.texts in value:
            value[CONTENT_KEYS[0]] = value.pop(header.texts)
        if header.users in value:
            value[AUTHOR_KEYS[0]] = value.pop(header.users)
        scoped = any(name in SCOPE_KEYS for name in header.names)
        if _USER_ID in value and not scoped and self._reading.scope is None:
            value[SCOPE_KEYS[0]] = value.pop(_USER_ID)
        # as a key, a scope has no white space at its ends
        return value | {name: value[name].strip() for name in SCOPE_KEYS if name in value}

    def _fact(self, value: dict[str, Any]) -> dict[str, str]:
        """Takes what is of a fact alone out of the values of a row; `tag` joins its tags."""
        found: dict[str, str] = {
            name: value.pop(name).strip() for name in _FACT_KEYS if name in value
        }
        for name in found.keys() & set(_FACT_TIMES):
            found[name] = self._columns[name].certain_iso(found[name])
        if _TAG in value:
            value["tags"] = ",".join((value.pop(_TAG), value.get("tags", "")))
        return found


def _short(filled: Mapping[str, str]) -> dict[str, Any]:
    """The values that metadata keep beside the text that holds them all."""
    return metadata_names(
        {name: one for name, one in filled.items() if len(one) <= _METADATA_CHARS}
    )


def _whole_number(field: str, text: str) -> int:
    if not text.strip().isdecimal():
        raise ValidationError(field, text[:20], "a whole number from 0")
    return int(text)
