"""Numbers in words and in grouped digits as plain digits, and units by any of their spellings."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from vestig.language.text_forms import word_list
from vestig.lazy_pattern import lazy_pattern

_PREFIXES: Final = {
    "Y": "yotta",
    "Z": "zetta",
    "E": "exa",
    "P": "peta",
    "T": "tera",
    "G": "giga",
    "M": "mega",
    "k": "kilo",
    "d": "deci",
    "c": "centi",
    "m": "milli",
    "µ": "micro",
    "n": "nano",
    "p": "pico",
}
_BINARY: Final = {"Ki": "kibi", "Mi": "mebi", "Gi": "gibi", "Ti": "tebi", "Pi": "pebi"}
# base symbol → its names
_BASES: Final = {
    "B": ("byte", "bytes"),
    "b": ("bit", "bits"),
    "s": ("second", "seconds", "sec", "secs"),
    "m": ("metre", "metres", "meter", "meters"),
    "g": ("gram", "grams", "gramme", "grammes"),
    "l": ("litre", "litres", "liter", "liters"),
    "Hz": ("hertz",),
    "W": ("watt", "watts"),
    "V": ("volt", "volts"),
    "A": ("amp", "amps", "ampere", "amperes"),
    "J": ("joule", "joules"),
}
_TIMES: Final = {
    "min": ("minute", "minutes", "min", "mins"),
    "h": ("hour", "hours", "h", "hr", "hrs"),
    "d": ("day", "days"),
    "wk": ("week", "weeks"),
    "mo": ("month", "months"),
    "yr": ("year", "years", "yr", "yrs"),
}
_OTHERS: Final = {
    "%": ("%", "percent", "pct"),
    "km/h": ("km/h", "kmh", "kph"),
    "mph": ("mph",),
    "px": ("px",),
    "rpm": ("rpm",),
    "dpi": ("dpi",),
    "°C": ("°C",),
    "°F": ("°F",),
}
# Symbols that spell an English word or a clock time when a number stands before them.
_NO_SYMBOLS: Final = frozenset(("pm", "Am", "As", "pl"))


def _table() -> dict[str, str]:
    """Symbols and names, with their capitals, and the symbol of each."""
    units: dict[str, str] = {}
    for base, names in _BASES.items():
        units[base] = base
        units |= dict.fromkeys(names, base)
        for symbol, word in (*_PREFIXES.items(), *_BINARY.items()):
            if symbol + base not in _NO_SYMBOLS:
                units[symbol + base] = symbol + base
                units |= {word + name: symbol + base for name in names}
    for symbol, names in (*_TIMES.items(), *_OTHERS.items()):
        units |= dict.fromkeys(names, symbol)
    for base in ("s", "m", "g", "l", "W", "V", "A"):
        units["u" + base] = units["μ" + base] = "µ" + base
    return units


_UNITS: Final = _table()

_CODES: Final = frozenset(
    word_list(
        "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV"
        " BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK"
        " DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL"
        " HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT"
        " LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR"
        " MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF"
        " SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP"
        " TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF XAG XAU"
        " XCD XCG XDR XOF XPD XPF XPT XSU XUA YER ZAR ZMW ZWG"
    )
)
_LOWER_CODES: Final = frozenset(
    word_list("usd eur gbp jpy chf cny inr aud cad sek nok dkk pln czk huf brl mxn krw sgd hkd nzd")
)
# A sign that stands for one currency is that currency's code; "$" and "¥" are shared.
CURRENCY_SIGNS: Final = {
    "$": "$",
    "¥": "¥",
    "€": "EUR",
    "£": "GBP",
    "₹": "INR",
    "₽": "RUB",
    "₩": "KRW",
    "₺": "TRY",
    "₴": "UAH",
    "₦": "NGN",
    "₪": "ILS",
    "₫": "VND",
    "฿": "THB",
    "₱": "PHP",
    "¢": "¢",
}


# Pounds and cents are left out: the one is a weight too, the other of many currencies.
_CURRENCY_NAMES: Final = {"euro": "EUR", "euros": "EUR", "dollar": "$", "dollars": "$"}


def currency_of(word: str) -> str | None:
    """The currency that a word, a sign or an ISO 4217 code means beside a number; None for any
    other word.

    Example:
        >>> currency_of("EUR"), currency_of("€"), currency_of("dollars"), currency_of("all")
        ('EUR', 'EUR', '$', None)
    """
    if word in _CODES:
        return word
    if word in _LOWER_CODES:
        return word.upper()
    return CURRENCY_SIGNS.get(word) or _CURRENCY_NAMES.get(word)


def unit_of(word: str) -> str | None:
    """The symbol of a unit behind a number, None for any other word. Symbols are told apart by
    their capitals: a megabit (Mb) is no megabyte (MB).

    Example:
        >>> unit_of("seconds"), unit_of("Mb"), unit_of("MB"), unit_of("replicas")
        ('s', 'Mb', 'MB', None)
    """
    return _UNITS.get(word)


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
_ORDINAL_ONES: Final = word_list("first second third fourth fifth sixth seventh eighth ninth")
_ORDINAL_WORDS: Final = (
    *_ORDINAL_ONES,
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
        for value, unit in enumerate(_ORDINAL_ONES, 1)
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
