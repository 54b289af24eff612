"""Names by rule and their normal form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each
from vestig.errors import ValidationError
from vestig.language.names import analyse, find_names, norm_key, resolve_names


def names(text: str) -> list[str]:
    return [name.name for name in find_names(text)]


@each(
    ("name", "type", "key"),
    [
        ("PostgreSQL.", "SYSTEM", "SYSTEM:postgresql"),
        ("  Dr. Lovelace  ", "PERSON", "PERSON:dr. lovelace"),
        ('"C++"', "SKILL", "SKILL:c++"),
        ("C#", "SKILL", "SKILL:c#"),
        ("C", "skill", "SKILL:c"),
        (".NET", "TOOL", "TOOL:.net"),
        ("(Ada   Lovelace)", "PERSON", "PERSON:ada lovelace"),
        ("...", "CONCEPT", "CONCEPT:..."),
        ("+++", "CONCEPT", "CONCEPT:+++"),
        ("#release", "CONCEPT", "CONCEPT:release"),
    ],
)
def test_norm_key(name: str, type: str, key: str) -> None:
    assert norm_key(name, type) == key


def test_an_empty_name_has_no_key() -> None:
    with pytest.raises(ValidationError, match="name"):
        norm_key(" \t", "PERSON")


def test_patterns_without_a_store() -> None:
    text = "Ticket ABC-123 touched src/main.rs, said Ada Lovelace with NATO on Monday in March"
    assert names(text) == ["ABC-123", "src/main.rs", "Ada Lovelace", "NATO"]
    assert names("Deploys fail often") == []


@each(
    ("text", "expected"),
    [
        ("write to ada@lovelace.org now", [("ada@lovelace.org", "PERSON", 0.95)]),
        ("see https://docs.rs/apsw?x=1 there", [("docs.rs", "ORG", 0.95)]),
        ("open config.yaml and ./run/all.sh", [("config.yaml", "FILE", 0.95),
                                               ("./run/all.sh", "FILE", 0.95)]),
        ("he met Dr. Ada Lovelace's aunt", [("Dr. Ada Lovelace", "PERSON", 0.90)]),
        ("bought by Acme Corp. in spring", [("Acme Corp", "ORG", 0.90)]),
        ("studied at the University of Oslo", [("University of Oslo", "ORG", 0.90)]),
        ("she works at Stanford University", [("Stanford University", "ORG", 0.90)]),
        ("they met in Hyde Park", [("Hyde Park", "PLACE", 0.90)]),
        ("rename find_names and FindNames", [("find_names", "SYSTEM", 0.90),
                                             ("FindNames", "SYSTEM", 0.90)]),
        ("runs on Python 3.11 only", [("Python 3.11", "SYSTEM", 0.90)]),
        ("released as v1.2.3 then", [("v1.2.3", "SYSTEM", 0.90)]),
        ("ask @dana about #billing", [("@dana", "PERSON", 0.90), ("#billing", "CONCEPT", 0.90)]),
        ("met Ludwig van Beethoven", [("Ludwig van Beethoven", "UNTYPED", 0.80)]),
        ("then Dana left", [("Dana", "UNTYPED", 0.75)]),
        ("the so-called \"dark roast\" plan", [("dark roast", "UNTYPED", 0.75)]),
    ],
)  # fmt: skip
def test_each_pattern_gives_its_type_and_confidence(
    text: str, expected: list[tuple[str, str, float]]
) -> None:
    found = find_names(text)
    assert [(name.name, name.type, name.confidence) for name in found] == expected
    for name in found:
        assert name.name in text[name.start : name.end]


@each(
    "text",
    [
        "Hello there, thanks. Dear all",
        "It's fine. I'm here. Don't worry",
        "and/or 3/4 of it",
        "see you on Friday in June",
        'she said "one two three four five six seven"',
        "12345 and 1.5",
    ],
)
def test_ordinary_text_has_no_names(text: str) -> None:
    assert names(text) == []


def test_runs_of_capitalised_words_end_at_six_words_and_stop_words() -> None:
    assert names("met Aa Bb Cc Dd Ee Ff Gg Hh") == ["Aa Bb Cc Dd Ee Ff", "Gg Hh"]
    assert names("When The Ada Lovelace arrived") == ["Ada Lovelace"]
    assert names("that Dana's Porsche is red") == ["Dana", "Porsche"]
    assert names("we chose Plan A today") == ["Plan A"]


def test_sentence_ends_and_initials_in_runs() -> None:
    assert names("He met Alice Smith. Bob Jones left") == ["Alice Smith", "Bob Jones"]
    assert names("by Gilbert P. Hamilton and L. A. Moore") == ["Gilbert P. Hamilton", "L. A. Moore"]
    assert names("he thanked Sam. Then he left with Ann. Nobody saw") == ["Sam", "Ann"]
    assert names("Wow Maria, I ran a 5K on Fri") == ["Maria"]


def test_the_longer_of_two_overlapping_names_wins() -> None:
    assert names("see the United States Navy report") == ["United States Navy"]
    assert names("at docs/Ada-Lovelace.md") == ["docs/Ada-Lovelace.md"]


def test_a_title_loses_its_final_parenthesis() -> None:
    found = find_names("born in 1815", title="Ada Lovelace (mathematician)")
    assert [(name.name, name.start, name.confidence) for name in found] == [
        ("Ada Lovelace", -1, 0.95)
    ]


def test_a_word_of_more_than_a_hundred_characters_is_no_name() -> None:
    word = "Zx9Q" * 25
    for found, text in (([word], f"the key {word} of it"), ([], f"the key {word}a of it")):
        assert [name.name for name in resolve_names(analyse(text))] == found


@given(st.text())
def test_names_of_any_text_lie_in_it_without_overlaps(text: str) -> None:
    """Never raises; spans are apart, in order, and inside the text."""
    end = 0
    for name in find_names(text):
        assert end <= name.start < name.end <= len(text)
        end = name.end
        assert norm_key(name.name, name.type)


@each("unit", ["a+", "a.", "a/", "Aa ", '"a ', "ABC-1-", "@a", "://a.", "_a"])
def test_time_of_name_rules_grows_with_the_length_of_the_text(unit: str) -> None:
    """The longest text of any one shape is read through, not tried over and over."""
    text = (unit * 4000)[:4000]
    for name in find_names(text):
        assert 0 <= name.start < name.end <= 4000
