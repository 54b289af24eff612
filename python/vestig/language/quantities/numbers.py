"""Numbers, quantifiers and quantities of a token sequence, in canonical form."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from vestig.language.quantities.units import CURRENCY_SIGNS, STANDALONE_CODES, code_of, unit_of
from vestig.language.word_list import word_list
from vestig.lazy_pattern import lazy_pattern

__all__ = [
    "Amount",
    "Quantity",
    "Token",
    "find_amounts",
    "find_quantities",
    "tokenise",
]


# A token: start and end in code points, and the lower-cased text. A plain tuple, because there
# is one for every word of every text.
Token = tuple[int, int, str]


class Amount(NamedTuple):
    """A number (canonical text), over the tokens [first, last] of the sequence."""

    first: int
    last: int
    start: int
    end: int
    value: str


class Quantity(NamedTuple):
    """A number with a unit, or a currency alone (then `value` is "")."""

    start: int
    end: int
    value: str
    unit: str


# A number, a word with its apostrophes, or one symbol. Punctuation that only separates is left
# out; a dot, comma, quote or underscore inside digits belongs to the number.
_TOKEN: Final = lazy_pattern(
    r"\d+(?:[.,'_]\d+)*|\.\d+|[^\W\d_]\w*(?:'[^\W\d_]+)*"
    r"|[^\w\s.,;:!?()\[\]{}\"“”„«»‘’'`…—–-]"  # noqa: RUF001
)
_GROUPED: Final = lazy_pattern(
    r"(\d{1,3}(?:,\d{2,3})*,\d{3}|\d{1,3}(?:'\d{3})+|\d+(?:_\d+)+)(\.\d+)?"
)
_DECIMAL: Final = lazy_pattern(r"-?\d+(?:\.\d+)?")
_SIGNS: Final = frozenset("-−")
_BEFORE_SIGN: Final = frozenset("([{=<>~:\"'“‘$€£¥,/")  # noqa: RUF001
_RANKS: Final = frozenset(("st", "nd", "rd", "th"))

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
_SCALES: Final = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 1_000_000}
_FIXED: Final = {
    **{
        word: f"{value}th"
        for value, word in enumerate(
            word_list(
                "first second third fourth fifth sixth seventh eighth ninth tenth eleventh"
                " twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth"
                " nineteenth twentieth"
            ),
            1,
        )
    },
    **{
        word: word
        for word in word_list("all every each both most some few many several only half double")
    },
}
_CARDINALS: Final = {**_SMALL, **_TENS, **_SCALES}
_STARTERS: Final = frozenset((*_CARDINALS, *_FIXED))


def tokenise(lower: str) -> list[Token]:
    """The tokens of a lower-cased text.

    Example:
        >>> [word for _, _, word in tokenise("it's 1,000 x-rays, no?")]
        ["it's", '1,000', 'x', 'rays', 'no']
    """
    tokens: list[Token] = []
    find, end = lower.find, 0
    for word in _TOKEN.findall(lower):
        start = find(word, end)
        end = start + len(word)
        tokens.append((start, end, word))
    return tokens


def _signed(lower: str, start: int) -> bool:
    """Whether a leading minus stands before the number that begins at `start`."""
    if start == 0 or lower[start - 1] not in _SIGNS:
        return False
    before = lower[start - 2] if start > 1 else " "
    return before.isspace() or before in _BEFORE_SIGN


def _plain(number: str) -> str:
    """Digit grouping removed."""
    match = _GROUPED.fullmatch(number)
    if match is None:
        return f"0{number}" if number[0] == "." else number
    whole = match[1].replace(",", "").replace("'", "").replace("_", "")
    return whole + (match[2] or "")


def _trimmed(value: str) -> str:
    """Without trailing zeros after the point, nor leading ones: before a unit 2.10 is 2.1."""
    if _DECIMAL.fullmatch(value) is None:
        return value
    try:
        number = Decimal(value).normalize()
    except InvalidOperation:
        return value
    return "0" if number == 0 else format(number, "f")


def _adjacent(lower: str, left: Token, right: Token) -> bool:
    gap = lower[left[1] : right[0]]
    return gap.isspace() or gap == "-"


def _spelled(lower: str, tokens: Sequence[Token], first: int) -> tuple[int, str]:
    """The number in words from a token on: its last token and its value."""
    total = current = 0
    last, index, previous = first, first, 0
    while index < len(tokens):
        word = tokens[index][2]
        if index > first and not _adjacent(lower, tokens[index - 1], tokens[index]):
            break
        if word == "and" and previous >= 100 and index + 1 < len(tokens):
            if tokens[index + 1][2] not in _SMALL and tokens[index + 1][2] not in _TENS:
                break
            index += 1
            continue
        value = _CARDINALS.get(word)
        if value is None:
            break
        if word in _SCALES:
            current = max(1, current) * value
            if value >= 1000:
                total, current = total + current, 0
        elif previous == 0 or previous >= 100 or (20 <= previous < 100 and 0 < value < 10):
            current += value
        else:
            break
        previous, last = value or 1, index
        index += 1
    return last, str(total + current)


def _scaled(lower: str, tokens: Sequence[Token], index: int, value: str) -> tuple[int, str]:
    """`1.5 million` as one number."""
    scale = 1
    while (
        index + 1 < len(tokens)
        and (factor := _SCALES.get(tokens[index + 1][2])) is not None
        and _adjacent(lower, tokens[index], tokens[index + 1])
        and _DECIMAL.fullmatch(value) is not None
    ):
        scale *= factor
        index += 1
    return index, value if scale == 1 else _trimmed(str(Decimal(value) * scale))


def find_amounts(lower: str, tokens: Sequence[Token]) -> list[Amount]:
    """All numbers, ordinals and quantifiers in order, digits and words alike.

    Example:
        >>> text = "two hundred of 1,000 users, 3rd try, all fine"
        >>> [amount.value for amount in find_amounts(text, tokenise(text))]
        ['200', '1000', '3th', 'all']
    """
    found: list[Amount] = []
    done = -1
    for first in [
        at for at, token in enumerate(tokens) if token[2] in _STARTERS or not token[2][0].isalpha()
    ]:
        if first <= done:
            continue
        start, end, word = tokens[first]
        done = first
        if word[0].isdecimal() or (word[0] == "." and len(word) > 1):
            value = _plain(word)
            after = tokens[first + 1] if first + 1 < len(tokens) else None
            if after is not None and after[0] == end and after[2] in _RANKS and value.isdigit():
                done = first + 1
                value = f"{int(value)}th"
            else:
                if _signed(lower, start):
                    start, value = start - 1, f"-{value}"
                done, value = _scaled(lower, tokens, first, value)
        elif word in _CARDINALS:
            done, value = _spelled(lower, tokens, first)
        elif word in _FIXED:
            value = _FIXED[word]
        else:
            continue
        found.append(Amount(first, done, start, tokens[done][1], value))
    return found


def _unit_after(text: str, tokens: Sequence[Token], amount: Amount) -> tuple[int, str] | None:
    """The unit behind a number: where it ends, and its symbol."""
    index = amount.last + 1
    if index >= len(tokens):
        return None
    start, end, word = tokens[index]
    gap = text[amount.end : start]
    if gap not in ("", " ", "-"):
        return None
    if word in CURRENCY_SIGNS:
        return end, CURRENCY_SIGNS[word]
    if word == "%":
        return end, "%"
    if word in ("km", "°", "per"):
        joined = text[start : start + 8].lower()
        for spelled, symbol in (("km/h", "km/h"), ("°c", "°C"), ("°f", "°F"), ("per cent", "%")):
            if joined.startswith(spelled) and not joined[len(spelled) :][:1].isalnum():
                return start + len(spelled), symbol
    unit = unit_of(text[start:end])
    return None if unit is None else (end, unit)


def _currency_before(text: str, tokens: Sequence[Token], amount: Amount) -> tuple[int, str] | None:
    """The currency before a number: where it starts, and its symbol or code."""
    if amount.first == 0:
        return None
    start, end, word = tokens[amount.first - 1]
    if text[end : amount.start] not in ("", " "):
        return None
    if word in CURRENCY_SIGNS:
        return start, CURRENCY_SIGNS[word]
    code = code_of(text[start:end])
    return None if code is None else (start, code)


def find_quantities(
    text: str, lower: str, tokens: Sequence[Token], amounts: Sequence[Amount]
) -> list[Quantity]:
    """Numbers with a unit or currency, and currencies without a number, in order.

    Example:
        >>> text = "limit 500.00 EUR or 2 hours"
        >>> tokens = tokenise(text.lower())
        >>> found = find_quantities(text, text.lower(), tokens, find_amounts(text.lower(), tokens))
        >>> [(quantity.value, quantity.unit) for quantity in found]
        [('500', 'EUR'), ('2', 'h')]
    """
    found: list[Quantity] = []
    for amount in amounts:
        if not (amount.value[0] in "-.0123456789" and amount.value[-1].isdigit()):
            continue
        after = _unit_after(text, tokens, amount)
        if after is not None:
            found.append(Quantity(amount.start, after[0], _trimmed(amount.value), after[1]))
            continue
        before = _currency_before(text, tokens, amount)
        if before is not None:
            start, unit = before
            value = _trimmed(amount.value)
            if value[0] != "-" and _signed(lower, start):
                start, value = start - 1, f"-{value}"
            found.append(Quantity(start, amount.end, value, unit))
    alone = [
        (start, end, word)
        for start, end, word in tokens
        if word in CURRENCY_SIGNS or (end - start == 3 and text[start:end] in STANDALONE_CODES)
    ]
    if alone:
        taken = bytearray(len(text))
        for quantity in found:
            taken[quantity.start : quantity.end] = b"\1" * (quantity.end - quantity.start)
        for start, end, word in alone:
            if taken.find(1, start, end) < 0:
                found.append(Quantity(start, end, "", CURRENCY_SIGNS.get(word) or text[start:end]))
    found.sort()
    return found
