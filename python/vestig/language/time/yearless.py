"""Expressions of time that name no year."""

from __future__ import annotations

import re
from typing import Final

from vestig.lazy_pattern import lazy_pattern

_MONTH: Final = lazy_pattern(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b", re.IGNORECASE
)
_YEAR: Final = lazy_pattern(r"\b\d{4}\b")


def is_yearless(words: str) -> bool:
    """Return whether an expression of time names a month, or a day of one, and no year.

    Example:
        >>> is_yearless("on 3 May"), is_yearless("in May 2024"), is_yearless("last week")
        (True, False, False)
    """
    return _MONTH.search(words) is not None and _YEAR.search(words) is None
