"""What the words and times of questions and memories say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from vestig._core import terms, tokens
from vestig.language.stopwords import STOPWORDS

DAY_US = 86_400_000_000
FRAMING = frozenset(
    ("who", "whom", "whose", "what", "which", "when", "where", "why", "how", "kind", "type", "sort",
     "many", "much", "often", "long", "old", "recently", "currently", "now", "do", "did", "does")
)  # fmt: skip
Window = tuple[int | None, int | None]

WHEN = re.compile(
    r"^\W*when\b|\bwhen (?:is|are|was|were|do|does|did|has|have|had|will|would|can|could|should)\b"
    r"|\b(?:what|which) (?:day|date|week|month|year|time)\b|\bhow long ago\b",
    re.I,
)
HOW_MANY = re.compile(r"\bhow (?:many|much|often|old|long)\b", re.I)
WHICH = re.compile(
    r"\b(?:who|whom|whose|where|which)\b|\bwhat (?!(?:is|are|was|were|do|does|did|has|have|had|will"
    r"|would|can|could|should|may|might|must|if|about|else|a|an|the|i|you|he|she|it|we|they)\b)\w",
    re.I,
)
NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred"
    r"|thousand|million|once|twice)\b",
    re.I,
)
NAME = re.compile(r"(?<=[^\W_][,;:)'’\"”]\s)[A-Z]\w+|(?<=[^\W_]\s)[A-Z]\w+")
QUOTED = re.compile(r"\"[^\"]{1,80}\"|“[^”]{1,80}”")
MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b", re.I)
YEAR = re.compile(r"\b\d{4}\b")


def names(text: str) -> int:
    """Capitalised words inside of sentences (but for the pronoun), and quoted terms."""
    return len(NAME.findall(text)) + len(QUOTED.findall(text))


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
        if word not in FRAMING
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
    """Windows of a month and longer: 1 inside, 0.4 in the 11 days after; shorter ones fall
    off on both sides, slower behind; open ones count inside only."""
    low = -math.inf if window[0] is None else window[0]
    high = math.inf if window[1] is None else window[1]
    long, is_open = (high - low) / DAY_US >= 28, math.isinf(high - low)
    best = 0.0
    for own_low, own_high in instants:
        begin = -math.inf if own_low is None else own_low
        end = math.inf if own_high is None else own_high
        before, after = max(0.0, low - end) / DAY_US, max(0.0, begin - high) / DAY_US
        inside = end >= low and begin < high
        if inside:
            return 1.0
        if is_open:
            continue
        if long:
            best = max(best, 0.4 if before == 0 and after < 11 else 0.0)
        else:
            best = max(best, math.exp(-0.5 * ((before / 5) ** 2 + (after / 10) ** 2)))
    return best
