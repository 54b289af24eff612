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
        ("window opens at 14:00", "window opens at 15:00", ("dates",)),
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


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Dana leads the release", "Dana almost leads the release"),
        ("Dana leads the release", "Dana leads the release and the audit"),
        ("Dana leads the release", "Dana leads the release if Sam agrees"),
        ("300", "-300"),
        ("2.1", "2.10"),
        ("9 am", "9 pm"),
        ("port A", "port B"),
    ],
)
def test_other_facts(a: str, b: str) -> None:
    assert compared(a, b)


RESTATED = [
    ("The deploy window opens at 2 pm.", "the deploy window opens at 14:00"),
    ("It's Dana's laptop", "This is Dana's laptop"),
    ("Sam doesn't eat meat", "Sam does not eat meat"),
    ("We can't deploy", "We cannot deploy"),
    ("Note that the limit is 500 EUR", "The limit is €500!"),
    ("I'm allergic to peanuts", "I am really allergic to peanuts"),
    ("Remember that backups run at 3:00 am", "Backups run at 03:00"),
    ("The cache holds 1,000,000 entries", "The cache holds one million entries"),
    ("It costs $1,500.00", "It costs $1500"),
    ("They've moved to Oslo", "They have moved to Oslo"),
    ("The meeting is on Monday", "The meeting is on 2026-03-16"),
    ("The meeting is Monday", "The meeting is on Monday"),
    ("twenty-one nodes failed", "21 nodes failed"),
    ("FYI the build is green", "The build is green"),
    ("The build is green, by the way.", "The build is green"),
    ("“Dark Roast” is liked", '"Dark Roast" is liked'),
    ("Dana won’t attend", "Dana will not attend"),
    ("The timeout is 30 seconds", "The timeout is 30s"),
    ("a 90-day trial", "a 90 day trial"),
    ("Disk at 95 percent", "disk at 95%"),
    ("A dog barked", "a dog barked"),
    ("Dana hasn't left", "Dana has not left"),
    ("There's a bug in it", "there is a bug in it"),
    ("used over the last 7 days", "used over the past 7 days"),
    ("the call is on March 5", "the call is on 5 March"),
    ("takes two hundred and five steps", "takes 205 steps"),
]


@pytest.mark.parametrize(("a", "b"), RESTATED)
def test_restatements_are_one_fact(a: str, b: str) -> None:
    assert compared(a, b) == ()


OTHER = [
    ("Dana reports to Sam", "Sam reports to Dana"),
    ("Dana might lead the release", "Dana leads the release"),
    ("Deploy if tests pass", "Deploy"),
    ("The API allows retries", "The API denies retries"),
    ("latency is 5 ms", "latency is 5 s"),
    ("quota of 5 MB", "quota of 5 Mb"),
    ("before lunch", "after lunch"),
    ("likes tea and coffee", "likes tea or coffee"),
    ("in Oslo", "near Oslo"),
    ("Dana's sister lives in Oslo", "Dana lives in Oslo"),
    ("Use tabs not spaces", "Use spaces not tabs"),
    ("see you this morning", "see you this evening"),
    ("src/main.rs", "src/lib.rs"),
    ("v1.2.3", "v1.2.4"),
    ("x < 5", "x > 5"),
    ("option A is best", "option is best"),
    ("A is better than B", "B is better than A"),
    ("Great 👍", "Great 👎"),
    ("knows C++", "knows C"),
    ("he ran for the record", "he ran"),
    ("half the users", "double the users"),
    ("The first node", "The last node"),
    ("UTC+2", "UTC-2"),
    ("I think Dana leads", "Dana leads"),
    ("no longer smokes", "smokes"),
    ("used to smoke", "smokes"),
    ("the ex-manager left", "the manager left"),
    ("costs 5 € per user", "costs 5 $ per user"),
    ("each test", "every test"),
    ("room 12a", "room 12b"),
    ("section 2.1", "section 2.2"),
    ("Alice's manager is Bob", "Bob's manager is Alice"),
    ("Deploy before Monday", "Deploy until Monday"),
    ("Deploy after Monday", "Deploy since Monday"),
    ("Deploy by Monday", "Deploy on Monday"),
    ("closed from 9:00 to 17:00", "closed from 17:00 to 9:00"),
    ("moved on Monday and left on Tuesday", "moved on Tuesday and left on Monday"),
    ("Dana hasn't left", "Dana has left"),
    ("a quota of 10k EUR", "a quota of 20k EUR"),
    ("never deploy twice", "always deploy twice"),
    ("the first backup failed", "the second backup failed"),
    ("only Dana may deploy", "Dana may deploy"),
    ("Dana says the build is red", "the build is red"),
    ("the build is red because of Sam", "the build is red"),
]


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_texts_that_differ_in_meaning_are_two_facts(a: str, b: str) -> None:
    assert compared(a, b)


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
    assert GUARD_CLASSES == ("numbers", "dates", "negation", "units", "entities", "words")


def test_a_token_is_claimed_once() -> None:
    text = prepare("Ada Lovelace paid 500 EUR on 5 March 2026 for 3 seats, not 4", NOW)
    assert text.numbers == ("3", "4")
    assert text.units == (("500", "EUR"),)
    assert text.entities == ("ada lovelace",)
    assert text.negation == ("not",)
    assert len(text.dates) == 1
    assert text.words == (
        *("<entity>", "paid", "<unit>", "<date>", "for", "<number>", "seats"),
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
