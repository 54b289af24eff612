"""Numbers and units in canonical form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestig.language.quantities.numbers import find_amounts, find_quantities, tokenise
from vestig.language.quantities.units import code_of, unit_of
from vestig.language.time.expressions import lowered


def amounts(text: str) -> list[str]:
    lower = lowered(text)
    return [amount.value for amount in find_amounts(lower, tokenise(lower))]


def quantities(text: str) -> list[tuple[str, str]]:
    lower = lowered(text)
    tokens = tokenise(lower)
    found = find_quantities(text, lower, tokens, find_amounts(lower, tokens))
    return [(quantity.value, quantity.unit) for quantity in found]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,000 users", ["1000"]),
        ("1,00,000 rows", ["100000"]),
        ("1'000 or 1_000", ["1000", "1000"]),
        ("2.1 and 2.10", ["2.1", "2.10"]),
        ("-300 but 5-300", ["-300", "5", "300"]),
        ("at (-2.5)", ["-2.5"]),
        (".5", ["0.5"]),
        ("007", ["007"]),
        ("zero, one, twenty", ["0", "1", "20"]),
        ("twenty-one", ["21"]),
        ("ninety nine", ["99"]),
        ("a hundred", ["100"]),
        ("two hundred and five", ["205"]),
        ("three thousand two hundred", ["3200"]),
        ("one million", ["1000000"]),
        ("1.5 million", ["1500000"]),
        ("two dozen, a dozen", ["24", "12"]),
        ("five and six", ["5", "6"]),
        ("nineteen eighty", ["19", "80"]),
        ("half or double", ["half", "double"]),
        ("the first, 2nd and twentieth", ["1th", "2th", "20th"]),
        ("all every each both most", ["all", "every", "each", "both", "most"]),
        ("some few many several only", ["some", "few", "many", "several", "only"]),
        ("no numbers here", []),
    ],
)  # fmt: skip
def test_numbers_in_digits_and_words(text: str, values: list[str]) -> None:
    assert amounts(text) == values


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("500 EUR", [("500", "EUR")]),
        ("€500.00", [("500", "EUR")]),
        ("EUR 500", [("500", "EUR")]),
        ("$5, 5 usd", [("5", "$"), ("5", "USD")]),
        ("-$5", [("-5", "$")]),
        ("paid in EUR", [("", "EUR")]),
        ("ALL TESTS PASS", []),
        ("5 MB is not 5 Mb", [("5", "MB"), ("5", "Mb")]),
        ("5mb or 5MB", [("5", "MB"), ("5", "MB")]),
        ("10 GiB", [("10", "GiB")]),
        ("30s, 30 seconds", [("30", "s"), ("30", "s")]),
        ("five minutes or 5 min", [("5", "min"), ("5", "min")]),
        ("a 90-day trial", [("90", "d")]),
        ("95% or 95 percent", [("95", "%"), ("95", "%")]),
        ("20 °C, 20°F", [("20", "°C"), ("20", "°F")]),
        ("100 km/h", [("100", "km/h")]),
        ("2.50 kg", [("2.5", "kg")]),
        ("3 replicas", []),
        ("3 a week", []),
    ],
)
def test_units_and_their_symbols(text: str, pairs: list[tuple[str, str]]) -> None:
    assert quantities(text) == pairs


def test_other_words_are_neither_unit_nor_currency() -> None:
    for word in ("ms", "µs", "kHz", "GB", "TiB", "kbit", "mA", "kW", "ml", "weeks", "years", "px"):
        assert unit_of(word) is not None, word
    for word in ("replicas", "users", "try", "all", "am", "as", "pm", "in"):
        assert unit_of(word) is None, word
    assert (code_of("TRY"), code_of("try")) == ("TRY", None)


@given(st.text())
def test_tokens_of_any_text_lie_in_it(text: str) -> None:
    lower = lowered(text)
    for start, end, word in tokenise(lower):
        assert lower[start:end] == word
    amounts(text)
    quantities(text)


@given(st.integers(0, 10**9))
def test_grouping_of_digits_does_not_change_a_number(number: int) -> None:
    assert amounts(f"{number:,} rows") == [str(number)]
