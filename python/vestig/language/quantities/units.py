"""Units and currencies: a closed list, and their canonical symbols."""

from __future__ import annotations

from typing import Final

from vestig.language.word_list import word_list

__all__ = ["CURRENCY_SIGNS", "STANDALONE_CODES", "code_of", "unit_of"]

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
    "°C": ("°c",),
    "°F": ("°f",),
}
# Symbols that spell an English word or a clock time when a number stands before them.
_NO_SYMBOLS: Final = frozenset(("pm", "Am", "As", "pl"))


def _tables() -> tuple[dict[str, str], dict[str, str]]:
    exact: dict[str, str] = {}
    words: dict[str, str] = {}
    for base, names in _BASES.items():
        exact[base] = base
        for name in names:
            words[name] = base
        for symbol, word in (*_PREFIXES.items(), *_BINARY.items()):
            if symbol + base in _NO_SYMBOLS:
                continue
            exact[symbol + base] = symbol + base
            for name in names:
                words[word + name] = symbol + base
    for symbol, names in (*_TIMES.items(), *_OTHERS.items()):
        for name in names:
            words[name] = symbol
    for base in ("s", "m", "g", "l", "W", "V", "A"):
        exact["u" + base] = "µ" + base
        exact["μ" + base] = "µ" + base
    for symbol in ("L", "mL", "dL", "cL"):
        exact[symbol] = symbol.replace("L", "l")
    # No text is about millibits: such spellings mean the common unit.
    words.update({"kb": "kb", "mb": "MB", "gb": "GB", "tb": "TB", "pb": "PB"})
    exact.update({"KB": "kB", "Kb": "kb", "kb": "kb", "kbit": "kb", "Mbit": "Mb", "Gbit": "Gb"})
    exact.pop("mb", None)
    for low, symbol in (("hz", "Hz"), ("khz", "kHz"), ("mhz", "MHz"), ("ghz", "GHz")):
        words[low] = symbol
    for low, symbol in (("kw", "kW"), ("kg", "kg"), ("ms", "ms"), ("km", "km"), ("cm", "cm")):
        words[low] = symbol
    return exact, words


_EXACT, _WORDS = _tables()

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
# Codes that are also words or names count only beside a number.
STANDALONE_CODES: Final = _CODES - frozenset(
    word_list("ALL AMD ANG BAM BOB CAD COP COU CUP GEL LAK MAD MOP PEN RON SOS TOP TRY")
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


def code_of(word: str) -> str | None:
    """The ISO 4217 code that a word is, beside a number.

    Example:
        >>> code_of("EUR"), code_of("usd"), code_of("all")
        ('EUR', 'USD', None)
    """
    if word in _CODES:
        return word
    return word.upper() if word in _LOWER_CODES else None


def unit_of(word: str) -> str | None:
    """The canonical symbol of a unit, None for any other word. Case decides where it must.

    Example:
        >>> unit_of("seconds"), unit_of("Mb"), unit_of("MB"), unit_of("replicas")
        ('s', 'Mb', 'MB', None)
    """
    unit = _EXACT.get(word)
    if unit is None:
        unit = _WORDS.get(word.lower())
    return unit if unit is not None else code_of(word)
