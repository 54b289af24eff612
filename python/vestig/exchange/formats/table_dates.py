"""Columns of dates in a table: the year first, or days of one order throughout the column."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from vestig.arguments import parse_time
from vestig.errors import ValidationError
from vestig.lazy_pattern import lazy_pattern

_PARTS: Final = lazy_pattern(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
_YEAR_FIRST: Final = lazy_pattern(
    r"(\d{4})(?:([./-])(\d{1,2})\2(\d{1,2})|年(\d{1,2})月(\d{1,2})日"
    r"|년 ?(\d{1,2})월 ?(\d{1,2})일)(|[T ].+)"
)
_MONTHS: Final = 12
_FORMS: Final = (
    "a date such as 2026-03-18, 2026/3/18 or 18.3.2026 (with the year last, / and - are read where"
    " a value above 12 in the column tells day from month)"
)
# Names of columns that say when a row was written, or when what it tells happened, the surest
# first. A name that may be a property of a thing (born, paid, published) is none of them.
_TIME_NAMES: Final = (
    "timestamp date created_at datetime date_time time day created created_on creation_date"
    " creation_time date_created recorded_at recorded_on logged_at logged_on log_date entry_date"
    " written_at written_on posted_at posted_on sent_at sent_on happened_at happened_on occurred_at"
    " occurred_on event_date event_time transaction_date ts date_added added_at added_on"
    " created_time created_date entry_time note_date message_date visit_date sent posted updated_at"
    " datum zeitpunkt zeitstempel erstellt erstellt_am erstellungsdatum angelegt_am erfasst_am"
    " geschrieben_am buchungstag buchungsdatum"
    " horodatage date_de_création créé_le fecha fecha_y_hora fecha_de_creación creado_el data"
    " data_e_ora data_di_creazione creato_il data_de_criação criado_em tijdstip aangemaakt_op dato"
    " opprettet oprettet skapad data_utworzenia utworzono"
)
_BORDER: Final = lazy_pattern(r"(?<=[a-z])(?=[A-Z])|[\W_]+")


def time_rank(name: str) -> int | None:
    """The place of a column's name among those that say when a row was written or happened; None =
    it says nothing of the kind.

    Example:
        >>> time_rank("Created At") == time_rank("createdAt") == time_rank("created_at") == 2
        True
        >>> time_rank("insured_until"), time_rank("Timestamp (UTC)")
        (None, 0)
    """
    words = "_".join(part for part in _BORDER.split(name) if part).lower()
    words = words.removesuffix("_utc").removesuffix("_gmt")
    known = _TIME_NAMES.split()
    return known.index(words) if words in known else None


class DateColumn:
    """Tells whether all values of a column are dates, and in which order. A date has the year
    first, or day and month before it; with dots the day comes first, otherwise a value above 12
    tells.

    Example:
        >>> column = DateColumn("paid")
        >>> for cell in ("3/4/2026", "3/25/2026", ""):
        ...     column.take(cell)
        >>> column.holds_dates, column.iso("3/4/2026")
        (True, '2026-03-04')
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._count = 0
        # values that are no dates, and the first of them
        self.others = 0
        self.first_other = ""
        self._signs: set[str] = set()
        self._day_first = self._month_first = False

    @staticmethod
    def is_date(cell: str) -> bool:
        """Return whether a text is a date of any of these forms."""
        return _PARTS.fullmatch(cell.strip()) is not None or _is_iso(cell.strip())

    def take(self, cell: str) -> None:
        """Looks at one value; a blank one says nothing."""
        text = cell.strip()
        if not text:
            return
        self._count += 1
        found = _PARTS.fullmatch(text)
        if found is None:
            self._signs.add("iso")
            if not _is_iso(text):
                self._take_other(text)
            return
        first, sign, second, year = found.groups()
        self._signs.add(sign)
        self._day_first |= sign == "." or int(first) > _MONTHS
        self._month_first |= int(second) > _MONTHS
        low, high = sorted((int(first), int(second)))
        if not _is_day(int(year), low, high) and not _is_day(int(year), high, low):
            self._take_other(text)

    def _take_other(self, text: str) -> None:
        self.first_other = self.first_other or text
        self.others += 1

    @property
    def is_iso(self) -> bool:
        """Return whether every value is a date with its year first."""
        return self._is_of_dates and self._signs == {"iso"}

    @property
    def _is_of_dates(self) -> bool:
        return bool(self._count) and not self.others and len(self._signs) == 1

    @property
    def mostly_dates(self) -> bool:
        """Return whether more of the values are dates than are none, and some are none."""
        return 0 < self.others < self._count - self.others

    @property
    def holds_dates(self) -> bool:
        """Return whether every value is a date, each of one reading."""
        return self.is_iso or (self._is_of_dates and self._day_first != self._month_first)

    @property
    def is_ambiguous(self) -> bool:
        """Return whether every value is a date whose day may be its month."""
        return self._is_of_dates and not self.holds_dates

    def iso(self, cell: str) -> str:
        """A value in ISO form."""
        found = _PARTS.fullmatch(cell.strip())
        if found is None:
            return _year_first(cell.strip())
        first, _, second, year = found.groups()
        month, day = (second, first) if self._day_first else (first, second)
        return f"{year}-{int(month):02d}-{int(day):02d}"

    def certain_iso(self, cell: str) -> str:
        """A value in ISO form, though others of the column may be no dates.

        Raises:
            ValidationError: no date, or one whose day may be its month.

        Example:
            >>> DateColumn("date").certain_iso("2026/3/4")
            '2026-03-04'
        """
        text = cell.strip()
        found = _PARTS.fullmatch(text)
        known = found is None or found[2] == "." or self._day_first != self._month_first
        iso = self.iso(text) if found is None or found[2] != "." else _day_first(found)
        try:
            parse_time(iso, self.name)
        except ValidationError:
            known = False
        if not known:
            raise ValidationError(self.name, text, _FORMS)
        return iso


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _day_first(found: re.Match[str]) -> str:
    day, _, month, year = found.groups()
    return f"{year}-{int(month):02d}-{int(day):02d}"


def _year_first(text: str) -> str:
    """A date with its year first in ISO form; any other text as it is."""
    found = _YEAR_FIRST.fullmatch(text)
    if found is None:
        return text
    year, _, *parts, time = found.groups()
    month, day = (int(part) for part in parts if part)
    return f"{int(year):04d}-{month:02d}-{day:02d}{time}"


def _is_iso(text: str) -> bool:
    text = _year_first(text)
    # a number alone is no date
    if "-" not in text[1:]:
        return False
    try:
        parse_time(text, "date")
    except ValidationError:
        return False
    return True
