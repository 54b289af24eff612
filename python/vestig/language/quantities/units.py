"""Units and currencies: a closed list, and their canonical symbols."""

from __future__ import annotations

from typing import Final

from vestig.language.word_list import word_list

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
