"""The lists of words that tell on which side a date lies, and single rules of where they count."""

from __future__ import annotations

import msgspec

from tables import each
from vestig.arguments import parse_time
from vestig.language.time.cues import Direction, cue_words, has_cue
from vestig.language.time.expressions import find_windows
from vestig.times import from_us

NOW = parse_time("2026-03-18T12:00:00Z", "t_ref")  # a Wednesday
SIDES = {(13,): "past", (20,): "future", (13, 20): "open", (): "none"}


def side(text: str) -> str:
    """On which side the Friday of a text lies."""
    found = find_windows(text, NOW)
    ends = [
        one.window_end_us if one.window_start_us is None else one.window_start_us for one in found
    ]
    return SIDES[tuple(from_us(end).day for end in ends if end is not None)]


def test_the_lists_have_a_version_and_name_each_word_once() -> None:
    lists = msgspec.structs.asdict(cue_words())
    assert lists.pop("version") == 1
    for words in lists.values():
        assert words
        assert all(word == word.strip().lower() for word in words)
        assert len(set(words)) == len(words)


@each(
    ("text", "expected"),
    [
        # the nearest cue of the own clause
        ("I was ill but will come on Friday", "future"),
        ("I will tell you what happened on Friday", "past"),
        ("Tom called, and Ann comes on Friday", "future"),
        # the sentence, where the clause has no verb
        ("On Friday, we signed the lease", "past"),
        ("The launch, I heard, is on Friday", "open"),
        # a name, a noun and an adjective are no cue
        ("They read his will on Friday", "past"),
        ("the planned talk on Friday", "future"),
        ("the updated plan is due on Friday", "future"),
        # a passive, a perfect, a modal
        ("It is published on Friday", "open"),
        ("It will be published on Friday", "future"),
        ("It has been published on Friday", "past"),
        ("It should have been published on Friday", "open"),
        ("It was to be published on Friday", "open"),
        # limits
        ("Finish it by Friday", "future"),
        ("It was gone by Friday", "open"),
        ("He asked me to finish it by Friday", "future"),
        ("We waited until Friday", "open"),
        # what was said, asked, arranged, put off
        ("She told me on Friday", "past"),
        ("She told me the talk is on Friday", "open"),
        ("She asked me to come on Friday", "open"),
        ("We talked about Friday", "open"),
        ("The talk on Friday was cancelled", "open"),
        ("They pushed the deadline to Friday", "open"),
        # a day without a preposition may be what was said, noted or agreed …
        ("Noted, Friday", "open"),
        ("Okay, noted - Friday at nine", "open"),
        ("We noted Friday for the shoot", "open"),
        ("She has confirmed Friday", "open"),
        ("I wrote down the date Friday", "open"),
        ("I told Ann Friday", "open"),
        ("We agreed Friday works best", "open"),
        ("I changed it, Friday", "open"),
        ("Friday, confirmed by Ann", "open"),
        ("Agreed, on Friday", "open"),
        ("I noted the shoot on Friday", "open"),
        ("I entered the meeting on Friday", "open"),
        # … and is when anything else was done
        ("We met Friday", "past"),
        ("Friday, we signed the lease", "past"),
        ("He told me, on Friday, that it is off", "past"),
        # what was sent for a day may be about it
        ("I sent the numbers for Friday", "open"),
        ("We got the results for Friday", "open"),
        ("We got tickets for Friday", "future"),
        # orders
        ("Call the bank on Friday", "future"),
        ("Call with the bank on Friday", "open"),
        ("Ann, please call the bank on Friday", "future"),
        ("Pay day is on Friday", "open"),
        ("Order paper and have it delivered on Friday", "open"),
        ("He had it delivered on Friday", "past"),
        # a name, not a day
        ("He named his dog Friday", "open"),
        ("She called her cat Friday when it came", "open"),
        ("I called Ann on Friday", "past"),
        # habits
        ("The café closes at noon on Friday", "none"),
        ("The vote closes on Friday", "future"),
        ("She always leaves early on Friday", "none"),
        ("Good Friday is quiet", "none"),
    ],
)
def test_where_a_word_counts(text: str, expected: str) -> None:
    assert side(text) == expected


def test_in_a_list_a_day_lies_where_the_one_before_it_does() -> None:
    found = find_windows("We met on Monday, Friday and Saturday", NOW)
    assert [from_us(one.window_start_us or 0).day for one in found] == [16, 13, 14]


def test_a_cue_anywhere_in_a_text() -> None:
    assert has_cue("Ann may come", "ann may come", Direction.FUTURE)
    assert not has_cue("Ann came", "ann came", Direction.FUTURE)
    assert has_cue("Ann came", "ann came", Direction.PAST)
