"""The fact guard: two texts are one fact only when no class differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestig.arguments import parse_time
from vestig.commit.fact_guard import GUARD_CLASSES, differs, prepare
from vestig.language.word_list import word_list
from vestig.times import DAY_US

NOW = parse_time("2026-03-18T12:00:00Z", "t_ref")


def compared(a: str, b: str) -> tuple[str, ...]:
    """The verdict, which must not depend on the order."""
    left, right = prepare(a, NOW), prepare(b, NOW)
    verdict = differs(left, right)
    assert differs(right, left) == verdict
    return verdict


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ("limit is 500 EUR", "limit is 500 USD", ("units",)),
        ("window opens at 14:00", "window opens at 15:00", ("times",)),
        ("meet next Friday at 10", "meet on Friday at 10", ("dates",)),
        ("it ends 03/04/2026", "it ends 04/03/2026", ("dates",)),
        ("it is on March 5", "it is on 5 March", ()),
        ("it is on March 5", "it is on March 6", ("dates",)),
        ("we will meet next Friday", "we will meet on Friday", ("dates",)),
        ("meet on Friday at 9:00", "meet on Friday at 9:30", ("times",)),
        ("meet on Friday at 9 am", "meet on Friday at 09:00", ()),
        ("lunch at noon", "lunch at 12:00", ()),
        ("lunch at noon", "lunch at midnight", ("times",)),
        ("the key is userId", "the key is userID", ("entities",)),
        ("look in src/Main.rs", "look in src/main.rs", ("entities",)),
        ("it is called `Alpha`", "it is called `alpha`", ("entities",)),
        ("the code is kiwi-42-Lake", "the code is kiwi-42-LAKE", ("entities",)),
        ("I met ADA Lovelace", "I met Ada Lovelace", ()),
        ("Use MAX_RETRIES here", "please use MAX_RETRIES here", ()),
        ("Remind Ben of it", "remind Ben of it", ()),
        ("Remind Ben of it", "remind Ann of it", ("entities", "words")),
        ("3 replicas", "4 replicas", ("numbers",)),
        ("1,000 users", "1000 users", ()),
        (
            "Ada Lovelace wrote to Charles Babbage",
            "Charles Babbage wrote to Ada Lovelace",
            ("entities",),
        ),
        ("ticket ABC-123", "ticket ABC-124", ("entities",)),
        ("prefers dark roast in the morning", "prefers light roast in the morning", ("words",)),
        ("All tests pass", "Some tests pass", ("numbers",)),
        ("By the way, Dana is really leading the release.", "dana's leading the release", ()),
    ],
)
def test_the_classes_that_differ_are_named(a: str, b: str, verdict: tuple[str, ...]) -> None:
    assert compared(a, b) == verdict


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("supports retries", "does not support retries"),
        ("office is in Oslo", "office was in Oslo"),
    ],
)
def test_negation_and_tense(a: str, b: str) -> None:
    assert "negation" in compared(a, b)


def test_relative_times_use_each_texts_own_reference() -> None:
    text = "the release is today"
    assert differs(prepare(text, NOW), prepare(text, NOW + 7 * DAY_US)) == ("dates",)
    yesterday = prepare("the release was yesterday", NOW + DAY_US)
    assert differs(prepare("the release was today", NOW), yesterday) == ()


def test_zone_decides_the_day() -> None:
    late = parse_time("2026-03-18T23:30:00Z", "t_ref")
    today = "the call is today"
    assert differs(prepare(today, late), prepare(today, late, "Europe/Oslo")) == ("dates",)


def test_classes_can_be_chosen() -> None:
    left, right = prepare("3 replicas in Oslo", NOW), prepare("4 replicas near Oslo", NOW)
    assert differs(left, right) == ("numbers", "negation", "words")
    assert differs(left, right, ("words", "numbers")) == ("numbers", "words")
    assert differs(left, right, ("dates",)) == ()
    assert GUARD_CLASSES == ("numbers", "dates", "times", "negation", "units", "entities", "words")


def test_a_token_is_claimed_once() -> None:
    text = prepare("Ada Lovelace paid 500 EUR on 5 March 2026 at 9 am for 3 seats, not 4", NOW)
    assert text.numbers == ("3", "4")
    assert text.units == (("500", "EUR"),)
    assert text.entities == ("ada lovelace",)
    assert text.negation == ("not",)
    assert len(text.dates) == 1
    assert text.times == ("09:00:00",)
    assert text.words == (
        *("<entity>", "paid", "<unit>", "<date>", "at", "<time>", "for", "<number>", "seats"),
        *("<negation>", "<number>"),
    )


def test_possessive_and_is() -> None:
    assert prepare("dana's laptop", 0).words == ("dana", "'s", "laptop")
    assert prepare("dana's leading", 0).words == ("dana", "leading")
    assert prepare("see Ada Lovelace's laptop", 0).words == ("see", "<entity>", "'s", "laptop")


WORDS = st.lists(
    st.sampled_from(word_list(
"Dana Sam Ada the a A is was not no longer used to 5 five MB EUR $ 1,000 -3 2.10 14:00 9 am"
        " yesterday on Monday in May 5 March ' 's \" dana's can't . , ! ABC-123 src/main.rs by way"
        " note that fyi really 👍 half dozen hundred and"
)),
    max_size=14,
).map(" ".join)  # fmt: skip
ANY = st.one_of(st.text(), WORDS)


@given(ANY, ANY)
def test_symmetrical_for_any_texts(a: str, b: str) -> None:
    left, right = prepare(a, NOW), prepare(b, NOW)
    assert differs(left, right) == differs(right, left)


@given(ANY, st.integers(-(10**15), 10**15))
def test_equal_texts_never_differ(text: str, ref: int) -> None:
    assert differs(prepare(text, ref), prepare(str(text), ref)) == ()


@given(WORDS, st.sampled_from(["almost", "unless", "maybe", "not", "seven", "without"]))
def test_an_added_word_differs(text: str, word: str) -> None:
    assert differs(prepare(f"so {text} end", NOW), prepare(f"so {word} {text} end", NOW))
