"""Flags of texts for signals, and titles as names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tables import each
from vestig.language.names import find_names, norm_name, title_key
from vestig.language.words import text_flags


def parts(text: str) -> tuple[int, bool, int]:
    """(length, ends with a question mark, content words)."""
    found = text_flags(text)
    assert 0 <= found < 1 << 18
    return found & 2047, bool(found >> 11 & 1), found >> 12 & 15


@each(
    ("text", "expected"),
    [
        ("", (0, False, 0)),
        ("x" * 1999, (1999, False, 1)),
        ("é" * 5000, (2000, False, 1)),
        ("really?", (7, True, 1)),
        ("Is it? Yes.", (11, False, 1)),
        ("Who is that? \n", (14, True, 0)),
        ("本当ですか\uff1f", (6, True, 4)),
        ("of the and to", (13, False, 0)),
        ("which kind of lamp hangs there?", (31, True, 2)),
        ("one two three four five six seven eight nine ten", (48, False, 8)),
    ],
)
def test_flags_are_length_question_and_content_words(
    text: str, expected: tuple[int, bool, int]
) -> None:
    assert parts(text) == expected


@given(st.one_of(st.none(), st.text(), st.sampled_from(["Ada Lovelace (poet)", "C++", "a", "  "])))
def test_a_title_is_the_name_that_entities_are_made_of(title: str | None) -> None:
    named = find_names("", title=title)
    assert title_key(title) == (norm_name(named[0].name) if named else None)


def test_title_keys() -> None:
    assert title_key("  The Harbor  Plan. (1911 film) ") == "the harbor plan"
    assert title_key(".NET") == ".net"
    assert [title_key(t) for t in (None, "", "7", "!?", "(only this)")] == [None] * 5
