"""Keywords of a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vestig.language.words import STOPWORDS, keywords


def test_identifiers_stay_whole() -> None:
    text = "Fix jira-9988 in src/main.rs for v1.2 of the well-known tool"
    assert keywords(text) == ["fix", "jira-9988", "src/main.rs", "v1.2", "well", "known", "tool"]


def test_the_most_frequent_keyword_comes_first_then_the_earliest() -> None:
    assert keywords("beta alpha gamma alpha gamma alpha") == ["alpha", "gamma", "beta"]
    assert keywords("beta alpha gamma alpha", limit=2) == ["alpha", "beta"]


def test_stop_words_and_short_words_are_no_keywords() -> None:
    assert keywords("The x of it is y, and they would have been there") == []
    assert keywords("Deploy the Alpha", extra_stopwords=["ALPHA"]) == ["deploy"]


def test_scripts_without_spaces_give_bigrams() -> None:
    assert keywords("日本語") == ["日本", "本語"]


def test_stop_words_are_function_words() -> None:
    assert 150 <= len(STOPWORDS) <= 230
    for word in ("system", "problem", "test", "ai", "team", "data", "may5", "march"):
        assert word not in STOPWORDS
    assert all(word == word.lower() and word.isalpha() for word in STOPWORDS)


@given(st.text(), st.integers(1, 8))
def test_keywords_of_any_text_are_distinct_and_limited(text: str, limit: int) -> None:
    found = keywords(text, limit=limit)
    assert len(found) <= limit
    assert len(set(found)) == len(found)


def test_a_stop_word_that_no_text_can_hold_leaves_nothing_out() -> None:
    assert keywords("Ada bought a lantern", extra_stopwords=["\ud800", "LANTERN"]) == [
        "ada",
        "bought",
    ]
