"""The first two gates of a commit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vestig
from tables import each
from vestig.commit.text import content_hash, normalise, refusal_reason
from vestig.config.schema import HygieneSettings
from vestig.errors import ValidationError
from vestig.language.text_forms import unusable_reason

SENTENCE = "Vestig keeps the ledger as its single source of truth."


def section(**changes: Any) -> HygieneSettings:
    return HygieneSettings(**changes)


def test_too_short() -> None:
    assert (
        refusal_reason("ok", section())
        == "Content too short: 2 chars (minimum: 12, or two words that say something)"
    )
    assert (
        refusal_reason("okay", section())
        == "Content too short: 4 chars (minimum: 12, or two words that say something)"
    )


@pytest.mark.parametrize("char", ["a", "🙂"])
def test_bounds_are_inclusive_code_points(char: str) -> None:
    short = refusal_reason(char * 11, section())
    long = refusal_reason(char * 4001, section())
    assert short == "Content too short: 11 chars (minimum: 12, or two words that say something)"
    assert refusal_reason(char * 12, section()) is None
    assert refusal_reason(char * 4000, section()) is None
    assert long is not None
    assert long.startswith("Content too long: 4001 chars (maximum: 4000)")
    assert "summary" in long


@each("text", ["OK", "k", "....", "Thx", "haha", "nope"])
def test_non_substantive(text: str) -> None:
    reason = f"Content rejected: appears to be non-substantive ('{text}')"
    assert refusal_reason(text, section(min_chars=1)) == reason


def test_more_than_a_filler_passes() -> None:
    assert refusal_reason("okay then", section(min_chars=1)) is None


def test_filler_shows_fifty_characters() -> None:
    assert refusal_reason("." * 80, section()) == (
        f"Content rejected: appears to be non-substantive ('{'.' * 50}')"
    )


def test_empty_blank_and_nul() -> None:
    for text in ("", "   ", "\n\t\u2003"):
        assert (
            refusal_reason(normalise(text, section()), section())
            == "Memory content cannot be empty"
        )
    assert refusal_reason("a\0b", section()) == "Content contains a NUL character"
    assert (
        refusal_reason(normalise("\0", section()), section()) == "Content contains a NUL character"
    )


def test_whitespace_does_not_change_the_hash() -> None:
    golden = "a4edb32bfc9bafa840644c658b6cacf319c802b70928f2954b98d9f37e1d11a3"
    messy = f"\ufeff{SENTENCE}".removeprefix("\ufeff").replace(" ", " \t\r\n\n")
    assert content_hash(normalise(f"\n {messy}\u3000", section())) == golden
    assert content_hash(SENTENCE) == golden
    assert content_hash(SENTENCE.upper()) != golden


UNSEEN = [
    "\xad",
    "\u200b",
    "\u200c",
    "\u200d",
    "\u200f",
    "\u202e",
    "\u2060",
    "\u2066",
    "\ufeff",
    "\ufe0f",
]


@pytest.mark.parametrize("char", UNSEEN)
def test_a_character_that_is_not_seen_changes_nothing_but_the_kept_text(
    store: vestig.Vestig, char: str
) -> None:
    plain = "The harbour office opens at ten."
    marked = f"{char}The har{char}bour of{char}fice opens at ten.{char}"
    first, again = store.commit(marked), store.commit(plain)
    assert (again.outcome.value, again.memory_id) == ("EXACT_DUPE", first.memory_id)
    assert store.show(first.memory_id).memory.content == marked
    assert [hit.memory.id for hit in store.recall(f"har{char}bour")] == [first.memory_id]


def test_a_ligature_is_its_letters() -> None:
    assert normalise("the o\ufb03ce of \ufb02oor \ufb01ve", section()) == "the office of floor five"
    assert normalise("\ufedf\ufe8e", section()) == "\u0644\u0627"


def test_joined_emoji_and_flags_of_regions_stay_one() -> None:
    for kept in ("👩\u200d🚒 at work", "🏴\U000e0067\U000e0062\U000e0073\U000e007f won", "👍🏿 👍"):
        assert normalise(kept, section()) == kept
    assert normalise("❤\ufe0f\u200d🔥 and ☂\ufe0f", section()) == "❤\u200d🔥 and ☂"


def test_only_white_space_property_counts() -> None:
    kept = "ab c\x1cd\x1fe"
    assert normalise(kept, section()) == kept
    runs = "\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\x0b\x0c"
    assert normalise(f"a{runs}b", section()) == "a b"
    assert normalise(f"{runs}a\x1c{runs}b{runs}", section()) == "a\x1c b"


def test_one_unicode_form() -> None:
    assert normalise("cafe\u0301 a\u030a", section()) == "caf\u00e9 \u00e5"
    kept = section(normalize_whitespace=False)
    assert normalise(" cafe\u0301\n x ", kept) == "caf\u00e9\n x"


@each("char", ["\x01", "\x08", "\x0e", "\x1b", "\x1c", "\x1f"])
def test_control_characters_are_named(char: str) -> None:
    reason = f"Content contains the control character U+{ord(char):04X}"
    assert refusal_reason(f"a text with {char} inside of it", section()) == reason
    assert unusable_reason(f"x{char}") == reason


@each("char", ["\t", "\n", "\v", "\f", "\r", "\x7f", "\x85", "\xa0"])
def test_tabs_and_newlines_are_white_space(char: str) -> None:
    assert refusal_reason(normalise(f"a text with {char} inside", section()), section()) is None


@pytest.mark.parametrize("text", ["\u200b", "\u200b \u200d\ufeff", "\u2060" * 20, "\xad\u200f"])
def test_nothing_but_characters_without_width_is_empty(text: str) -> None:
    assert refusal_reason(normalise(text, section()), section()) == "Memory content cannot be empty"


@pytest.mark.parametrize("text", ["!?!?!?!?!?!?", "- - - - - - - -", "…………………………………"])
def test_punctuation_alone_says_nothing(text: str) -> None:
    reason = f"Content rejected: appears to be non-substantive ('{text}')"
    assert refusal_reason(text, section()) == reason
    assert refusal_reason(f"{text} 7", section()) is None
    assert refusal_reason(f"{text} €", section()) is None


def test_white_space_has_a_limit_of_its_own() -> None:
    text = "x" * 4000
    assert refusal_reason(text, section(), given_chars=16_000) is None
    reason = "Content too long: 16001 chars with white space (maximum: 16000)"
    assert refusal_reason(text, section(), given_chars=16_001) == reason
    assert refusal_reason("y" * 20, section(max_chars=100), given_chars=401) == reason.replace(
        "16001", "401"
    ).replace("16000", "400")


def test_switched_off_only_trims() -> None:
    assert normalise("  a \n b\t", section(normalize_whitespace=False)) == "a \n b"
    assert normalise("\x1ca", section(normalize_whitespace=False)) == "\x1ca"


@pytest.mark.parametrize("value", [None, 3, b"bytes", ["a"], object()])
def test_not_a_string(value: object) -> None:
    with pytest.raises(TypeError, match="content: expected str"):
        normalise(value, section())


def test_lone_surrogate_is_named_not_shown() -> None:
    with pytest.raises(ValidationError, match="content: expected text without lone") as caught:
        normalise("secret words \ud800", section())
    assert "secret" not in str(caught.value)
    assert "code point 13 of 14" in str(caught.value)


@given(st.text())
def test_normalising_twice_is_once(text: str) -> None:
    once = normalise(text, section())
    assert normalise(once, section()) == once
    assert refusal_reason(once, section()) == refusal_reason(once, section())
