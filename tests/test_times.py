"""Times as words."""

from __future__ import annotations

from tables import each
from vestig.times import DAY_US, age_words

SECOND_US = 1_000_000


@each(
    ("age_us", "words"),
    [
        (59 * SECOND_US, "just now"),
        (59 * 60 * SECOND_US, "59m"),
        (23 * 3600 * SECOND_US, "23h"),
        (6 * DAY_US, "6d"),
        (29 * DAY_US, "4w"),
        (61 * DAY_US, "2mo"),
        # the ends of each range, the future, no date
        (60 * SECOND_US, "1m"),
        (3600 * SECOND_US - 1, "59m"),
        (DAY_US - 1, "23h"),
        (DAY_US, "1d"),
        (7 * DAY_US, "1w"),
        (30 * DAY_US, "1mo"),
        (-5 * DAY_US, "just now"),
        (None, "unknown"),
    ],
)
def test_age_words(age_us: int | None, words: str) -> None:
    assert age_words(age_us) == words
