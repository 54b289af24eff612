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


def short_starts(windows: Iterable[Window]) -> list[int]:
    """Where the windows of at most a month begin."""
    return [
        start
        for start, end in windows
        if start is not None and end is not None and end - start <= VERY_LONG_DAYS * DAY_US
    ]


HAPPENED, WRITTEN = 0.8, 0.5
LONG_DAYS, VERY_LONG_DAYS = 4, 31


def date_match(
    stated: Sequence[Window], happened: int | None, written: int | None, window: Window
) -> float:
    """The best of what the text states, 0.8 of when it happened, 0.5 of when it was written."""
    found = [window_match(own, window) for own in stated]
    for at, share in ((happened, HAPPENED), (written, WRITTEN)):
        if at is not None:
            found.append(share * window_match((at, at), window))
    return max(found, default=0.0)


def window_match(own: Window, window: Window) -> float:
    """1 inside of a window, 0.5 where it is long or open or the own one is longer than four days,
    0.25 where that is longer than 31; outside e^(−2 − gap / its length), 0 where it is open. What
    states the end of an open window lies inside."""
    low, high = (-math.inf if window[0] is None else window[0]), window[1]
    high = math.inf if high is None else high
    begin, end = (-math.inf if own[0] is None else own[0]), own[1]
    end = math.inf if end is None else end
    asked, length = high - low, end - begin
    bounds = {bound for bound in (low, high) if math.isfinite(bound)}
    states_end = len(bounds) == 1 and asked == math.inf and length and bounds & {begin, end}
    if states_end or (begin < high and (end > low or (not length and end == low))):
        if length > max(asked, VERY_LONG_DAYS * DAY_US):
            return 0.25
        long = asked > LONG_DAYS * DAY_US or length > max(asked, LONG_DAYS * DAY_US)
        return 0.5 if long else 1.0
    if math.isinf(asked):
        return 0.0
    return math.exp(-2 - max(low - end, begin - high) / max(1, asked))
