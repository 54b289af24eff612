"""Words: tokens against `oracle`, terms, stems, any text."""

from __future__ import annotations

import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each
from vestig import _core

# symbols apart: the definition has no table of pictographs
ALPHABET = st.characters(exclude_categories=["Cs", "Cn", "Co", "So"]).filter(
    lambda c: not (0x203C <= ord(c) <= 0x3299 or 0x1F000 <= ord(c) <= 0x1FAFF)
)
PROSE = st.text(
    st.sampled_from("aZé\u0301ßİΣ9²٣ -_./:@#+'’,東京あァー々กแ่\u1100\U0001d400\U00020000Ⅳ")
    | ALPHABET,
    max_size=40,
)


def texts(text: str) -> list[str]:
    return [token for token, *_ in _core.tokens(text)]


@each(
    "text",
    ["jira-9988", "v1.2", "src/main.rs", "user_name", "ada@example.org", "camelCase-x", "10:30"],
)
def test_identifiers_stay_whole(text: str) -> None:
    found = _core.tokens(f"see {text}, please")
    assert (text.lower(), 4, 4 + len(text), True) in found
    assert texts(f"see {text}, please") == ["see", text.lower(), "please"]


@each(
    ("text", "wanted"),
    [
        ("Well-known state-of-the-art", ["well", "known", "state", "of", "the", "art"]),
        ("NATO-led Spider-Man", ["nato", "led", "spider", "man"]),
        ("a b I ok", ["b", "ok"]),
        ("C, c++/C# or F#-like; it's d'or", ["c", "c++/c#", "or", "f#", "like", "it", "or"]),
        ("grade A+, a+b, 5+, up!", ["grade", "a+", "5", "up"]),
        ("\u0130ZM\u0130R IĞDIR \u0131ğd\u0131r", ["izmir", "iğdir", "iğdir"]),
        ("done ✅ 🧑🏿\u200d🚀!🇧🇷 50 °C ™", ["done", "✅", "🧑🏿\u200d🚀", "🇧🇷", "50", "c"]),
        ("one--two three..four five/ six", ["one", "two", "three", "four", "five", "six"]),
        ("Anna's don’t", ["anna", "don"]),
        ("東京都 山 tower東京", ["東京", "京都", "山", "tower", "東京"]),
        ("コーヒー", ["コー", "ーヒ", "ヒー"]),
        ("กาแฟ", ["กา", "าแ", "แฟ"]),
        ("ΟΔΟΣ STRASSE Straße", ["οδος", "strasse", "straße"]),
        ("", []),
        ("... -- !", []),
    ],
)
def test_tokens(text: str, wanted: list[str]) -> None:
    assert texts(text) == wanted


def test_offsets_are_code_points() -> None:
    assert _core.tokens("🙂 Über 🙂 x cafe\u0301s") == [
        ("🙂", 0, 1, False),
        ("über", 2, 6, False),
        ("🙂", 7, 8, False),
        ("x", 9, 10, False),
        ("cafe\u0301s", 11, 17, False),
    ]


@given(PROSE)
def test_tokens_equal_the_definition(text: str) -> None:
    lonely = any(
        oracle.is_mark(c) and not (oracle.is_letter(before) or oracle.is_mark(before))
        for before, c in zip(" " + text, text, strict=False)
    )
    if not lonely:
        assert _core.tokens(text) == oracle.tokens(text)


@given(PROSE, st.none() | PROSE)
def test_any_text_has_terms_and_its_author_comes_first(text: str, author: str | None) -> None:
    own = _core.terms(text)
    assert all(own)
    assert _core.terms(text, author) == (_core.terms(author) if author is not None else []) + own


def test_terms_stems_identifiers_whole_and_in_parts_author_first() -> None:
    text = "Anna's caches were flushed twice, see src/parsers.rs and JIRA-9988; caches"
    assert _core.terms(text, "Bob Stone") == [
        *("bob", "stone", "anna", "cach", "were", "flush", "twice", "see"),
        *("src/parsers.rs", "src", "parser", "rs", "and", "jira-9988", "jira", "9988", "cach"),
    ]


@each(
    ("text", "wanted"),
    [
        ("loadUserById", ["loaduserbyid", "load", "user", "by", "id"]),
        ("XMLReader2Go", ["xmlreader2go", "xml", "reader2", "go"]),
        ("URLs iPad GmbH", ["url", "ipad", "gmbh", "gmb"]),
        ("order_totalSum", ["order_totalsum", "order", "totalsum", "total", "sum"]),
        ("🤝🏾 👩🏾\u200d🌾", ["🤝🏾", "🤝", "👩🏾\u200d🌾", "👩", "🌾"]),
        ("Obj++ C++", ["obj++", "obj", "c++"]),
    ],
)
def test_parts_of_a_word_follow_it(text: str, wanted: list[str]) -> None:
    assert _core.terms(text) == wanted


@pytest.mark.parametrize(
    ("words", "stem"),
    [
        ("connect connected connecting connection connections", "connect"),
        ("generously generous", "generous"),
        ("deploy deploys deployed deploying", "deploy"),
        ("happiness happy", "happi"),
        ("skies sky", "sky"),
    ],
)
def test_snowball_english(words: str, stem: str) -> None:
    assert set(_core.terms(words)) == {stem}


def test_possessive_is_cut_and_stop_words_stay() -> None:
    assert _core.terms("the dog's bowl") == _core.terms("the dog bowl") == ["the", "dog", "bowl"]
    assert _core.terms("the dog’s") == ["the", "dog"]


@given(st.lists(PROSE, max_size=6))
def test_no_term_reaches_across_a_space(parts: list[str]) -> None:
    apart = [_core.terms(part) for part in parts]
    together = _core.terms(" ".join(parts))
    assert together == [term for terms in apart for term in terms]
    wanted = set(together[::2])
    placed = [(place, term) for place, terms in enumerate(apart) for term in terms]
    assert _core.terms_among(wanted, parts) == [pair for pair in placed if pair[1] in wanted]


def test_a_lone_surrogate_is_no_text() -> None:
    with pytest.raises(UnicodeEncodeError):
        _core.tokens("a\ud800b")


def test_analyser_version_names_rules_stemmer_and_unicode() -> None:
    rules, stemmer, letters, left_out, stances, marks = _core.ANALYSER_VERSION.split("/")
    assert rules.startswith("en-")
    assert stemmer.startswith("rust-stemmers-")
    assert letters.startswith("unicode-")
    assert left_out.startswith("function-words-")
    assert stances.startswith("statements-")
    assert marks.startswith("marks-")
