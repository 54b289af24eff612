"""Two texts are one statement only where their canonical forms are equal."""

from __future__ import annotations

import itertools

import pytest
import statement_pairs
from hypothesis import given
from hypothesis import strategies as st

from scripted import Opener, pair
from tables import each
from vestig.commit.canonical_form import canonical_form, differences, is_same_statement
from vestig.language.text_forms import normal_form, word_list
from vestig.testing import vector_at
from vestig.types import CommitOutcome, CommitOutcomeKind

SAME = list(itertools.chain(*statement_pairs.SAME.values()))
DIFFERENT = list(itertools.chain(*statement_pairs.DIFFERENT.values()))


def is_same(one: str, other: str) -> bool:
    """The verdict, which must not depend on the order, and agrees with the differences."""
    first, second = canonical_form(one), canonical_form(other)
    same = is_same_statement(first, second)
    assert is_same_statement(second, first) == same
    assert (differences(first, second) == ()) == same
    return same


def test_the_table_has_enough_pairs_of_both_kinds() -> None:
    assert len(set(SAME)) >= 200
    assert len(set(DIFFERENT)) >= 200
    one_sign = ("addresses", "signs", "capitals", "digits")
    assert sum(len(statement_pairs.DIFFERENT[kind]) for kind in one_sign) >= 100


@pytest.mark.parametrize("kind", statement_pairs.DIFFERENT)
def test_no_two_statements_are_one(kind: str) -> None:
    assert [two for two in statement_pairs.DIFFERENT[kind] if is_same(*two)] == []


@each("kind", statement_pairs.SAME)
def test_ways_of_writing_one_statement_are_one(kind: str) -> None:
    pairs = statement_pairs.SAME[kind]
    apart = [two for two in pairs if not is_same(*two)]
    assert len(apart) <= 0.1 * len(pairs), apart


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_commit_decides_by_the_canonical_form(opener: Opener, order: tuple[int, int]) -> None:
    pairs = SAME + DIFFERENT
    vectors = {normal_form(text): vector_at(1.0) for two in pairs for text in two}
    store = opener(vectors=vectors, config={"hygiene.min_chars": 1})
    made: list[object] = []
    for side in order:
        made = list(
            store.commit_many(
                [
                    {"content": two[side], "scope": f"pair {place}"}
                    for place, two in enumerate(pairs)
                ]
            )
        )
    for place, (two, outcome) in enumerate(zip(pairs, made, strict=True)):
        assert isinstance(outcome, CommitOutcome)
        inserted = outcome.outcome is CommitOutcomeKind.INSERTED_NEW
        if place >= len(SAME):
            assert inserted, two
        assert inserted != is_same(*two), two
        if inserted:
            update = outcome.possible_update_of
            assert update is not None, two
            assert 1 <= len(update.differs) <= 8


def test_what_stands_near_is_named_with_the_words_that_differ(opener: Opener) -> None:
    one, other = "The rent is 900 EUR a month.", "The rent was 950 EUR a month."
    store = opener(vectors=pair(0.95, one, other))
    known = store.commit(one).memory_id
    update = store.commit(other).possible_update_of
    assert update is not None
    assert (update.memory_id, update.score) == (known, pytest.approx(0.95))
    assert [(run.old, run.new) for run in update.differs] == [("is 900", "was 950")]


@pytest.mark.parametrize(
    ("old", "new", "runs"),
    [
        ("Ana sails.", "Ana does not sail.", [("sails", "does not sail")]),
        ("Tea at noon.", "Tea at noon?", [("", "?")]),
        ("Note that Rose climbs.", "Note that rose climbs.", [("Rose", "rose")]),
        ("See https://a.example/1 today.", "See https://a.example/2 now.",
         [("https://a.example/1 today", "https://a.example/2 now")]),
        ("It is red, big and old.", "It is blue, big and new.",
         [("red", "blue"), ("old", "new")]),
    ],
)  # fmt: skip
def test_differences_are_runs_of_words(old: str, new: str, runs: list[tuple[str, str]]) -> None:
    found = differences(canonical_form(old), canonical_form(new))
    assert [(run.old, run.new) for run in found] == runs


def test_at_most_eight_runs_are_named() -> None:
    old = " ".join(f"x{n} and" for n in range(20))
    new = " ".join(f"y{n} and" for n in range(20))
    found = differences(canonical_form(old), canonical_form(new))
    assert len(found) == 8
    assert (found[0].old, found[0].new) == ("x0", "y0")
    assert found[-1].old.startswith("x7 and x8")


def test_the_capital_behind_a_lead_in_counts() -> None:
    assert is_same("Note that Rose climbs.", "Rose climbs.")
    assert is_same("Note that rose climbs.", "Rose climbs.")
    assert not is_same("Note that Rose climbs.", "Note that rose climbs.")
    assert not is_same("Note that IT is down.", "It is down.")


def test_a_lead_in_alone_is_a_text() -> None:
    assert canonical_form("Note that ").tokens == ("note", "that")
    assert canonical_form("By the way").tokens == ("by", "the", "way")


WORDS = st.lists(
    st.sampled_from(
        word_list(
            "Dana sam the a A is was not 5 five MB EUR $ $5 1,000 -3 2.10 14:00 9 am noon in May 5"
            " March ' 's \" dana's can't . , ! ? ABC-123 src/main.rs by the way note that fyi 👍"
            " half dozen hundred and ` ( ) — – -v :) twenty-one million of 2026 it's"
        )
    ),
    max_size=14,
)
ANY = st.one_of(st.text(), WORDS.map(" ".join), WORDS.map("".join))


@given(ANY, ANY)
def test_symmetrical_for_any_texts(one: str, other: str) -> None:
    is_same(one, other)


@given(ANY)
def test_a_text_states_itself(text: str) -> None:
    assert is_same(text, str(text))
    assert is_same(f"  {text}\r\n", text)


@given(WORDS.map(" ".join), st.sampled_from(["almost", "unless", "maybe", "not", "without"]))
def test_an_added_word_differs(text: str, word: str) -> None:
    assert not is_same(f"So {text} end", f"So {word} {text} end")


@each(
    ("one", "other"),
    [
        (
            "The page is example.org/wiki/Bohr–Sommerfeld",
            "The page is example.org/wiki/Bohr-Sommerfeld",
        ),
        ("It is the file rent–2026.pdf there.", "It is the file rent-2026.pdf there."),
        ("The password is Heron42!", "The password is Heron42"),
        ("Tram 7 300 metres on.", "Tram 7300 metres on."),
        ("The shelf holds 12 500 ml bags.", "The shelf holds 12500 ml bags."),
        ("Buy 10 000 500 g bags.", "Buy 10000500 g bags."),
        ("FYI desk is closed on Fridays.", "Desk is closed on Fridays."),
        ("For the record label he sings.", "Label he sings."),
    ],
)
def test_signs_of_addresses_files_and_values_are_kept(one: str, other: str) -> None:
    assert not is_same_statement(canonical_form(one), canonical_form(other))


def test_a_lead_in_has_its_mark() -> None:
    said = canonical_form("The desk is closed on Fridays.")
    assert is_same_statement(canonical_form("FYI, the desk is closed on Fridays."), said)
    assert is_same_statement(canonical_form("By the way: the desk is closed on Fridays."), said)
