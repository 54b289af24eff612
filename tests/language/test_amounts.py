"""Numbers in words, groups of digits, and the symbols of units and currencies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tables import each
from vestig.language.quantities import (
    ORDINALS,
    cardinal,
    currency_of,
    plain_digits,
    scaled,
    spelled,
    unit_of,
)


@each(
    ("text", "numbers"),
    [
        ("seventeen", [17]),
        ("twenty-one", [21]),
        ("twenty one", [21]),
        ("ninety nine", [99]),
        ("a hundred", [100]),
        ("nine hundred and ninety-nine", [999]),
        ("twelve hundred", [1200]),
        ("two million three hundred thousand and five", [2_300_005]),
        ("one two three", [1, 2, 3]),
        ("nineteen ninety", [19, 90]),
        ("one thousand two thousand", [1000, 2000]),
        ("hundred two hundred", [102, 100]),
        ("thousand thousand", [1000, 1000]),
        ("two dozen", [24]),
        ("three hundred and", [300]),
        ("three hundred and two hundred", [300, 200]),
    ],
)
def test_numbers_in_words(text: str, numbers: list[int]) -> None:
    words, found, at = text.split(), [], 0
    while at < len(words):
        number = spelled(words, at)
        if number is None:
            at += 1
        else:
            found.append(number[0])
            at = number[1]
    assert found == numbers


@given(
    st.lists(
        st.sampled_from(
            ["one", "twenty", "ninety-nine", "hundred", "thousand", "million", "and", "a"]
        )
    )
)
def test_every_number_takes_words_and_stays_small(words: list[str]) -> None:
    for at in range(len(words)):
        number = spelled(words, at)
        if number is not None:
            assert at < number[1] <= len(words)
            assert number[0] < 10**12


@each(
    ("number", "plain"),
    [
        ("1,000", "1000"),
        ("12,00,000", "1200000"),
        ("10'000", "10000"),
        ("1,000.50", "1000.50"),
        ("1,5", "1,5"),
        ("0,500", "0,500"),
        ("1,0000", "1,0000"),
        ("1_000", "1_000"),
    ],
)
def test_grouped_digits(number: str, plain: str) -> None:
    assert plain_digits(number) == plain


def test_cardinals_ordinals_and_scales() -> None:
    assert [cardinal(word) for word in ("zero", "forty-two", "ten-two", "forty-ten")] == [
        *(0, 42, None, None)
    ]
    assert [ORDINALS[word] for word in ("third", "twelfth", "twenty-first", "fortieth")] == [
        *("3rd", "12th", "21st", "40th")
    ]
    assert scaled("1.25", 1_000) == "1250"


@each(
    ("word", "symbol"),
    [
        ("km", "km"),
        ("kilometres", "km"),
        ("Kilometres", None),
        ("Mb", "Mb"),
        ("MB", "MB"),
        ("megabytes", "MB"),
        ("mV", "mV"),
        ("MV", "MV"),
        ("hours", "h"),
        ("%", "%"),
        ("percent", "%"),
        ("pm", None),
        ("cats", None),
    ],
)
def test_units_are_told_apart_by_their_capitals(word: str, symbol: str | None) -> None:
    assert unit_of(word) == symbol


@each(
    ("word", "code"),
    [("€", "EUR"), ("EUR", "EUR"), ("eur", "EUR"), ("euros", "EUR"), ("$", "$"), ("USD", "USD"),
     ("pounds", None), ("Eur", None)],
)  # fmt: skip
def test_currencies(word: str, code: str | None) -> None:
    assert currency_of(word) == code
