"""Numbers in words and in grouped digits, as plain digits."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from vestig.language.word_list import word_list
from vestig.lazy_pattern import lazy_pattern

_SMALL: Final = {
    word: value
    for value, word in enumerate(
        word_list(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen"
            " fourteen fifteen sixteen seventeen eighteen nineteen"
        )
    )
}
_TENS: Final = {
    word: 10 * value
    for value, word in enumerate(
        word_list("twenty thirty forty fifty sixty seventy eighty ninety"), 2
    )
}
SCALES: Final = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
}
CARDINALS: Final = {**_SMALL, **_TENS, **SCALES}
_UNITS: Final = word_list("first second third fourth fifth sixth seventh eighth ninth")
_ORDINAL_WORDS: Final = (
    *_UNITS,
    *word_list(
        "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth"
        " eighteenth nineteenth twentieth"
    ),
)


def _ordinal(value: int) -> str:
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}th" if value in (11, 12, 13) else f"{value}{suffix}"


# Ordinals in words, as digits: "third" is "3rd".
ORDINALS: Final = {
    **{word: _ordinal(value) for value, word in enumerate(_ORDINAL_WORDS, 1)},
    **{
        f"{ten}-{unit}": _ordinal(tens + value)
        for ten, tens in _TENS.items()
        for value, unit in enumerate(_UNITS, 1)
    },
    **{f"{ten[:-1]}ieth": _ordinal(tens) for ten, tens in _TENS.items()},
}
# In groups of three, or of two before the last three ("12,00,000"); never with a leading zero.
_GROUPED: Final = lazy_pattern(r"[+-]?[1-9]\d{0,2}(?:(?:,\d{2,3})*,\d{3}|(?:'\d{3})+)(?:\.\d+)?")
_TENS_MIN: Final = 20
_HUNDRED: Final = 100
_THOUSAND: Final = 1_000
_BEYOND: Final = 10**12


def cardinal(word: str) -> int | None:
    """The number that one lower-case word is; None for any other word.

    Example:
        >>> cardinal("seven"), cardinal("twenty-one"), cardinal("seventh")
        (7, 21, None)
    """
    value = CARDINALS.get(word)
    if value is None and "-" in word:
        ten, _, unit = word.partition("-")
        tens, units = _TENS.get(ten), _SMALL.get(unit, 0)
        if tens is not None and 0 < units < 10:
            return tens + units
    return value


def spelled(words: Sequence[str], at: int, *, joined: bool = True) -> tuple[int, int] | None:
    """The number in words that begins at a place: its value, and the place behind it.

    Args:
        words: the words of a text.
        at: where it begins.
        joined: whether "and" may stand behind "hundred"; not in "between one hundred and two".

    Example:
        >>> spelled("two hundred and five of them".split(), 0)
        (205, 4)
        >>> spelled("no number".split(), 0) is None
        True
    """
    total = current = previous = 0
    # millions stand before thousands, and each once
    below = _BEYOND
    place, end, whole = at, at, at
    if words[at] == "a" and at + 1 < len(words) and words[at + 1] in SCALES:
        place = at + 1
    while place < len(words):
        word = words[place]
        if word == "and" and joined and previous >= _HUNDRED and place == end:
            if _ends_number(words, place + 1):
                place += 1
                continue
            break
        value = cardinal(word)
        if value is None:
            break
        if word in SCALES:
            if value >= _THOUSAND:
                if value >= below or (previous and not current):
                    # what stands before it begins another number
                    return None if whole == at else (total, whole)
                total, current, below = total + max(1, current) * value, 0, value
                whole = place + 1
            elif current >= _HUNDRED:
                break
            else:
                current = max(1, current) * value
        elif previous == 0 or previous >= _HUNDRED or (previous >= _TENS_MIN and 0 < value < 10):
            # behind "twenty-one" and behind "five" begins another number
            if _TENS_MIN <= previous < _HUNDRED and previous % 10:
                break
            current += value
        else:
            break
        previous = value or 1
        place += 1
        end = place
    return None if end == at else (total + current, end)


def _ends_number(words: Sequence[str], at: int) -> bool:
    """Return whether what stands behind "and" is less than a hundred."""
    if at >= len(words) or words[at] in SCALES or cardinal(words[at]) is None:
        return False
    return at + 1 >= len(words) or words[at + 1] not in SCALES


def plain_digits(number: str) -> str:
    """A number without the marks between groups of its digits; any other text as it is.

    Example:
        >>> plain_digits("1,000,000.5"), plain_digits("1,5")
        ('1000000.5', '1,5')
    """
    if _GROUPED.fullmatch(number) is None:
        return number
    return number.replace(",", "").replace("'", "")


def scaled(number: str, scale: int) -> str:
    """A number in digits times a scale ("1.5 million"), without an exponent.

    Example:
        >>> scaled("1.5", 1_000_000)
        '1500000'
    """
    product = Decimal(number) * scale
    return format(product.normalize(), "f")
