"""What the words and times of questions and memories say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from vestig._core import terms, tokens
from vestig.language.words import STOPWORDS

DAY_US = 86_400_000_000
FRAMING = frozenset(
    ("who", "whom", "whose", "what", "which", "when", "where", "why", "how", "kind", "type", "sort",
     "many", "much", "often", "long", "old", "recently", "currently", "now", "do", "did", "does")
)  # fmt: skip
ASKING = frozenset(
    ("remind", "tell", "let", "know", "wonder", "wondering", "idea", "remember", "please", "thanks",
     "thank", "quick", "again")
)  # fmt: skip
Window = tuple[int | None, int | None]

MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b", re.I)
YEAR = re.compile(r"\b\d{4}\b")


def content_words(text: str) -> Iterator[tuple[str, str, int, int]]:
    """(term, word, start, end) of every index term whose word is no function word, in order."""
    for word, start, end, identifier in tokens(text):
        if not identifier:
            if word not in STOPWORDS:
                yield (*terms(text[start:end]), word, start, end)
            continue
        yield word, word, start, end
        for part in re.finditer(r"[^-_./:@#+]+", text[start:end]):
            for term, own, begin, stop in content_words(part[0]):
                if own.isascii() and len(own) == 1:
                    continue  # a letter is a word where it stands alone
                yield term, own, start + part.start() + begin, start + part.start() + stop


def content_terms(text: str, times: Sequence[tuple[int, int]], dates_met: bool) -> list[str]:
    """Terms that say what a query is about: no function words, none that frame the question; none
    inside temporal expressions, where a memory meets a date."""
    return [term for term, _, _ in placed_content(text, times, dates_met)]


def placed_content(
    text: str, times: Sequence[tuple[int, int]], dates_met: bool
) -> list[tuple[str, int, int]]:
    """As `content_terms`, with the places of their words."""
    return [
        (term, start, end)
        for term, word, start, end in content_words(text)
        if word not in FRAMING | ASKING
        and not (dates_met and any(low <= start and end <= high for low, high in times))
    ]


def named_authors(query: str, authors: Iterable[str]) -> set[str]:
    """Authors whose name stands in the query, as whole words, in any case."""
    return {
        author
        for author in authors
        if author and re.search(rf"(?<!\w){re.escape(author)}(?!\w)", query, re.I)
    }


# --- time ---------------------------------------------------------------------------------------


def every_year(window: tuple[int | None, int | None, str], years: Iterable[int]) -> list[Window]:
    """A month or day without a year stands for each of these years."""
    start, end, words = window
    if start is None or end is None or YEAR.search(words) or not MONTH.search(words):
        return [(start, end)]
    found = list[Window]()
    first = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=start)
    for year in years:
        try:
            begin = first.replace(year=year)
        except ValueError:  # 29 February
            continue
        moved = (begin - first) // timedelta(microseconds=1)
        found.append((start + moved, end + moved))
    return found


def date_match(instants: Sequence[Window], window: Window) -> float:
    """1 inside of a window, else e^(−gap / its length), 0 where it is open; half of that for a
    window of more than four days."""
    low = -math.inf if window[0] is None else window[0]
    high = math.inf if window[1] is None else window[1]
    is_open, share = math.isinf(high - low), 0.5 if 4 * DAY_US < high - low < math.inf else 1.0
    best = 0.0
    for own_low, own_high in instants:
        begin = -math.inf if own_low is None else own_low
        end = math.inf if own_high is None else own_high
        if end >= low and begin < high:
            best = max(best, 1.0)
        elif not is_open:
            best = max(best, math.exp(-max(low - end, begin - high) / max(1, high - low)))
    return share * best
