"""Numbers, quantities, dates and times among the tokens of a text, each in one way of writing.

Numbers are digits without groups, and words of numbers in a text that may be English ("four" is an
oven in French); a unit, by any of its spellings, follows its number as a symbol, a currency as its
code; a date is `2026-03-02`, or `--03-02` without a year; a time of day is `15:00`. What may mean
two things stays as it is: 03/02/2026, 3:00 without am or pm, 1,5, and 1,250 in a text that is not
certainly English, for other languages have a comma before decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from vestig.language.languages import is_english, may_be_english
from vestig.language.text_forms import word_list
from vestig.language.time.expressions import AMBIGUOUS_MONTHS, MONTHS, WEEKDAYS
from vestig.lazy_pattern import lazy_pattern

# --- units and currencies ---------------------------------------------------------------------

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


# --- numbers ----------------------------------------------------------------------------------

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
# A group, or three decimals, which no amount behind the sign of a currency has.
_ONE_COMMA: Final = lazy_pattern(r"[+-]?[1-9]\d{0,2},\d{3}(?![\d.,']).*")
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


# --- tokens -----------------------------------------------------------------------------------

_WEEKDAYS: Final = {name: name.capitalize() for name in WEEKDAYS}
# Months by their names with a capital; in small letters those that are no other words.
_MONTHS: Final = {
    **{name.capitalize(): number for name, number in MONTHS.items()},
    **{
        name: number
        for name, number in MONTHS.items()
        if len(name) > 3 and name not in AMBIGUOUS_MONTHS and name != "august"
    },
}
_FULL_MONTHS: Final = {
    name.lower(): name
    for name in _MONTHS
    if name[0].isupper() and len(name) > 4 and name.lower() in _MONTHS
}
_CLOCK_WORDS: Final = {"noon": "12:00", "midnight": "00:00"}
# Words that may be, or begin, a number, a date or a time of day.
QUANTITY_WORDS: Final = frozenset(
    (*CARDINALS, *ORDINALS, *_MONTHS, *_WEEKDAYS, *_CLOCK_WORDS, "percent")
)
# Behind these words "one" is a pronoun.
_BEFORE_PRONOUN: Final = frozenset(
    ("no", "any", "every", "some", "this", "that", "the", "each", "which", "another", "only")
)

_ISO: Final = lazy_pattern(r"(\d{4})([-/])(\d{2})\2(\d{2})(?:T(\d{2}:\d{2})(?::(\d{2}))?(Z)?)?")
_FIGURES: Final = lazy_pattern(r"(\d{1,2})([/.])(\d{1,2})\2(\d{4})")
_DAY: Final = lazy_pattern(r"(3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?")
_YEAR: Final = lazy_pattern(r"[12]\d{3}")
_CLOCK: Final = lazy_pattern(r"(\d{1,2})(?::([0-5]\d)(?::([0-5]\d))?)?(?:([aApP])\.?[mM])?")
_MERIDIEM: Final = lazy_pattern(r"([aApP])\.?[mM]\.?")
_DECIMAL: Final = lazy_pattern(r"[+-]?\d{1,9}(?:\.\d{1,9})?")
_SIGNS: Final = "".join(CURRENCY_SIGNS)
_GLUED: Final = lazy_pattern(
    rf"([{_SIGNS}]?)([+-]?\d[\d,']*(?:\.\d+)?)([^\W\d_]{{1,5}}|[{_SIGNS}%]|km/h|°[CF])?"
)
_ZERO_CENTS: Final = ".00"
_MONTH_MAX: Final = 12
_HOURS: Final = 24
_HALF_DAY: Final = 12
_SYMBOL_MAX: Final = 2
_SI_GROUP: Final = 3
_SI_GROUPS_MAX: Final = 5


class _Read(NamedTuple):
    """A reading: the tokens that stand for it, and the place behind it. `joins`: the token before
    it is a part of it."""

    tokens: tuple[str, ...]
    end: int
    joins: bool = False


def with_quantities(tokens: list[str]) -> list[str]:
    """The tokens of a text with its numbers, quantities, dates and times in one way of writing.

    Args:
        tokens: words and marks in order.

    Example:
        >>> with_quantities(["it", "costs", "€1,500", "on", "March", "2", ",", "2026"])
        ['it', 'costs', '1500', 'EUR', 'on', '2026-03-02']
    """
    found: list[str] = []
    at, count = 0, len(tokens)
    # the token before, unless it is a part of a quantity
    before = ""
    # asked once, where a number needs it
    english: bool | None = None
    words_read: bool | None = None
    while at < count:
        token = tokens[at]
        read = None
        if token[0] in "0123456789+-" or token[0] in CURRENCY_SIGNS:
            unclear = _ONE_COMMA.fullmatch(token) is not None
            if unclear and english is None:
                english = is_english(" ".join(tokens))
            if not unclear or english:
                read = _from_digits(tokens, at, before)
        elif token in QUANTITY_WORDS or token == "a" or "-" in token:
            if words_read is None:
                words_read = may_be_english(tokens)
            read = _from_word(tokens, at, before) if words_read else None
        elif token == "the":
            read = _date(tokens, at)
        if read is None:
            found.append(token)
            before, at = token, at + 1
        else:
            if read.joins:
                found.pop()
            found += read.tokens
            before, at = "", read.end
    return found


def _at(tokens: list[str], place: int) -> str:
    return tokens[place] if place < len(tokens) else ""


def _from_digits(tokens: list[str], at: int, before: str) -> _Read | None:
    token = tokens[at]
    if not token[-1].isdigit() or "/" in token or "-" in token[1:] or ":" in token:
        read = _written_date(token, at)
        if read is not None:
            return read
    return _date(tokens, at) or _clock(tokens, at) or _amount(tokens, at, before)


def _from_word(tokens: list[str], at: int, before: str) -> _Read | None:
    token = tokens[at]
    if token in _CLOCK_WORDS:
        return _Read((_CLOCK_WORDS[token],), at + 1)
    date = _date(tokens, at)
    if date is not None:
        return date
    if token in _WEEKDAYS or token in _FULL_MONTHS:
        return _Read((_WEEKDAYS.get(token) or _FULL_MONTHS[token],), at + 1)
    if token in ORDINALS:
        return _Read((ORDINALS[token],), at + 1)
    if token == "one" and before in _BEFORE_PRONOUN:
        return None
    number = spelled(tokens, at, joined=before != "between")
    if number is None:
        return None
    value, end = number
    return _clock_of(str(value), tokens, end) or _quantity(str(value), tokens, end, before)


# --- dates ------------------------------------------------------------------------------------


def _iso(year: str, month: int, day: int) -> str | None:
    if not (1 <= month <= _MONTH_MAX and 1 <= day <= 31):
        return None
    return f"{year or '-'}-{month:02}-{day:02}"


def _written_date(token: str, at: int) -> _Read | None:
    """A date in figures that can be read in one way only, with the time that is joined to it."""
    match = _ISO.fullmatch(token)
    if match is not None:
        date = _iso(match[1], int(match[3]), int(match[4]))
        if date is None:
            return None
        parts = [date]
        if match[5]:
            seconds = match[6] or "00"
            parts.append(match[5] if seconds == "00" else f"{match[5]}:{seconds}")
        return _Read((*parts, *(["UTC"] if match[7] else [])), at + 1)
    match = _FIGURES.fullmatch(token)
    if match is None:
        return None
    first, second = int(match[1]), int(match[3])
    if match[2] == "." or first > _MONTH_MAX or first == second:
        date = _iso(match[4], second, first) if match[2] == "/" or first > _MONTH_MAX else None
    else:
        date = _iso(match[4], first, second) if second > _MONTH_MAX else None
    return None if date is None else _Read((date,), at + 1)


def _month(token: str) -> int | None:
    return _MONTHS.get(token) or _MONTHS.get(token.rstrip("."))


def _day(token: str) -> int | None:
    match = _DAY.fullmatch(ORDINALS.get(token, token))
    return None if match is None else int(match[1])


def _date(tokens: list[str], at: int) -> _Read | None:
    """A date with the name of its month, which begins at a place."""
    month = _month(tokens[at])
    if month is not None:
        day = _day(_at(tokens, at + 1))
        if day is not None:
            return _with_year(tokens, at + 2, month, day)
        year = _at(tokens, at + 1)
        return _Read((f"{year}-{month:02}",), at + 2) if _YEAR.fullmatch(year) else None
    place = at + 1 if tokens[at] == "the" else at
    day = _day(_at(tokens, place))
    if day is None or (tokens[at] == "the" and _at(tokens, place).isdigit()):
        return None
    place += 1
    place += _at(tokens, place) == "of"
    month = _month(_at(tokens, place))
    return None if month is None else _with_year(tokens, place + 1, month, day)


def _with_year(tokens: list[str], place: int, month: int, day: int) -> _Read:
    comma = _at(tokens, place) == ","
    year = _at(tokens, place + comma)
    if _YEAR.fullmatch(year) is None:
        return _Read((f"--{month:02}-{day:02}",), place)
    return _Read((f"{year}-{month:02}-{day:02}",), place + comma + 1)


# --- times of day -----------------------------------------------------------------------------


def _clock(tokens: list[str], at: int) -> _Read | None:
    match = _CLOCK.fullmatch(tokens[at])
    if match is None:
        return None
    if tokens[at] == "12" and _at(tokens, at + 1) in _CLOCK_WORDS:
        return _Read((_CLOCK_WORDS[tokens[at + 1]],), at + 2)
    if match[4] or match[2] is None:
        return _clock_of(tokens[at], tokens, at + 1)
    half = _MERIDIEM.fullmatch(_at(tokens, at + 1))
    if half is not None:
        return _clock_of(tokens[at], tokens, at + 1)
    whole = len(match[1]) == 2 and int(match[1]) < _HOURS
    return _Read((tokens[at],), at + 1) if whole else None


def _clock_of(text: str, tokens: list[str], end: int) -> _Read | None:
    """A time with am or pm, glued to it or in the next token."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    half = match[4]
    if half is None:
        behind = _MERIDIEM.fullmatch(_at(tokens, end))
        if behind is None:
            return None
        half, end = behind[1], end + 1
    hour = int(match[1])
    if not 1 <= hour <= _HALF_DAY:
        return None
    hour = hour % _HALF_DAY + (_HALF_DAY if half in "pP" else 0)
    seconds = f":{match[3]}" if match[3] else ""
    return _Read((f"{hour:02}:{match[2] or '00'}{seconds}",), end)


# --- amounts ----------------------------------------------------------------------------------


def _amount(tokens: list[str], at: int, before: str) -> _Read | None:
    """A number in digits with what is glued to it and what stands behind it."""
    match = _GLUED.fullmatch(tokens[at])
    if match is None:
        return _measure(tokens[at], at)
    sign, number, tail = match[1], match[2], match[3]
    if number[-1] in ",'":
        return None
    value, end = plain_digits(number), at + 1
    if tail:
        unit = currency_of(tail) if tail in CURRENCY_SIGNS else unit_of(tail)
        if unit is None or sign:
            return None
        is_money = tail in CURRENCY_SIGNS
        return _Read((_cents(value) if is_money else value, unit), end)
    grouped = _spaced(value, tokens, end) if not sign else None
    if grouped is not None:
        value, end = grouped
    if _at(tokens, end) in SCALES and _DECIMAL.fullmatch(value) is not None:
        value, end = scaled(value, SCALES[tokens[end]]), end + 1
    if sign:
        return _Read((_cents(value), CURRENCY_SIGNS[sign]), end)
    return _quantity(value, tokens, end, before)


def _measure(token: str, at: int) -> _Read | None:
    """A number that a hyphen joins to the name of a unit: "5-minute"."""
    number, hyphen, name = token.partition("-")
    unit = unit_of(name) if hyphen and len(name) > _SYMBOL_MAX and number.isdigit() else None
    return None if unit is None else _Read((number, unit), at + 1)


def _spaced(value: str, tokens: list[str], end: int) -> tuple[str, int] | None:
    """A number in groups of three digits with spaces between, only before a unit or a currency, and
    where each further group begins with 0, as no number does: "12 500 ml bags" has two numbers."""
    if not (value.isdigit() and len(value) <= _SI_GROUP and value[0] != "0"):
        return None
    start = end
    while end - start < _SI_GROUPS_MAX and len(group := _at(tokens, end)) == _SI_GROUP:
        if not (group.isdigit() and group[0] == "0"):
            break
        value, end = value + group, end + 1
    after = _at(tokens, end)
    if end == start or (unit_of(after) is None and currency_of(after) is None):
        return None
    return value, end


def _quantity(value: str, tokens: list[str], end: int, before: str) -> _Read:
    """A number with the unit or currency behind it, or the currency before it."""
    after = _at(tokens, end)
    currency = currency_of(after)
    if currency is not None:
        return _Read((_cents(value), currency), end + 1)
    unit = unit_of(after)
    if unit is not None:
        return _Read((value, unit), end + 1)
    pair = f"{after} {_at(tokens, end + 1)}"
    unit = _TWO_WORDS.get(pair)
    if unit is not None:
        return _Read((value, unit), end + 2)
    currency = currency_of(before) if before in CURRENCY_SIGNS or before.isupper() else None
    if currency is not None:
        return _Read((_cents(value), currency), end, joins=True)
    return _Read((value,), end)


_TWO_WORDS: Final = {
    "per cent": "%",
    "degrees Celsius": "°C",
    "degrees celsius": "°C",
    "degrees Fahrenheit": "°F",
    "degrees fahrenheit": "°F",
}


def _cents(value: str) -> str:
    """An amount of money without cents that are zero."""
    return value.removesuffix(_ZERO_CENTS)
