"""Values that no caller should give, each with what must never happen to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any, Final, NamedTuple

__all__ = ["VALUES", "HostileValue"]


class HostileValue(NamedTuple):
    """A value and whether some argument may take it.

    `make` gives a fresh one, for a call may use it up. `never`: no argument of any call takes it.
    """

    name: str
    make: Callable[[], Any]
    never: bool


class Unreadable:
    """Raises wherever it is looked at."""

    def _fail(self, *_: Any) -> Any:
        raise RuntimeError("do not look at me")

    __repr__ = __str__ = __iter__ = __len__ = __bool__ = __eq__ = __lt__ = _fail
    __getitem__ = __contains__ = __index__ = __float__ = __fspath__ = _fail
    __hash__ = None  # type: ignore[assignment]


class UnreadableText(str):
    """A text whose methods raise."""

    def _fail(self, *_: Any) -> Any:
        raise RuntimeError("do not read me")

    __str__ = strip = encode = lower = split = _fail  # type: ignore[assignment]


class UnreadableList(list[Any]):
    """A list that cannot be walked through."""

    def __iter__(self) -> Any:
        raise RuntimeError("do not walk through me")


class UnreadableMapping(dict[str, Any]):
    """A mapping that cannot be walked through."""

    def __iter__(self) -> Any:
        raise RuntimeError("do not walk through me")

    keys = values = items = __iter__


class NoOffset(tzinfo):
    """A zone whose offset cannot be computed."""

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        raise RuntimeError("no table of zones")


def _deep(levels: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


def _failing() -> Any:
    yield "a"
    raise RuntimeError("no more")


def _circle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


SURROGATE: Final = "a lone \ud800 surrogate"
_UNREADABLE: Final[dict[str, Callable[[], Any]]] = {
    "unreadable object": Unreadable,
    "list of an unreadable object": lambda: [Unreadable()],
    "mapping of an unreadable object": lambda: {"a": Unreadable()},
    "unreadable list": lambda: UnreadableList(["a"]),
    "unreadable mapping": lambda: UnreadableMapping(a=1),
    "generator that fails": _failing,
    "zone without offset": lambda: datetime(2026, 1, 1, tzinfo=NoOffset()),
}
_NEVER: Final[dict[str, Any]] = {
    "surrogate": SURROGATE,
    "list of a surrogate": [SURROGATE],
    "key with a surrogate": {SURROGATE: 1},
    "value with a surrogate": {"a": SURROGATE},
    "nested surrogate": {"a": [{"b": SURROGATE}]},
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "list of NaN": [math.nan],
    "mapping of NaN": {"a": math.nan},
    "nested infinity": {"a": [{"b": math.inf}]},
    "bytes": b"bytes",
    "bytearray": bytearray(b"bytes"),
    "memoryview": memoryview(b"bytes"),
    "object": object(),
    "module": math,
    "Ellipsis": ...,
    "NotImplemented": NotImplemented,
    "complex": 1j,
    "slice": slice(1),
    "range": range(3),
    "exception": ValueError("x"),
    "list of an object": [object()],
    "mapping of an object": {"a": object()},
    "mapping with a number as key": {1: "a"},
    "mapping with None as key": {None: "a"},
    "mapping with a tuple as key": {("a",): 1},
    "list of bytes": [b"a"],
    "list of lists": [["a"]],
    "list of None": [None],
    "list of a blank": [" "],
    "list of an empty text": [""],
    "list that holds itself": _circle(),
    "set of tuples": {("a", 1)},
    "timedelta": timedelta(days=1),
    "zone": UTC,
    "time without a day": datetime(2026, 1, 1).time(),
}
_SOMEWHERE: Final[dict[str, Any]] = {
    "None": None,
    "empty text": "",
    "blank": " \t\n ",
    "zero-width text": "\u200b\u200b",
    "no-break space": "\u00a0",
    "empty list": [],
    "empty tuple": (),
    "empty set": set(),
    "empty mapping": {},
    "true": True,
    "false": False,
    "zero": 0,
    "minus zero": -0.0,
    "one": 1,
    "minus one": -1,
    "half": 0.5,
    "above one": 1.5,
    "tiny": 5e-324,
    "large float": 1e308,
    "minus large float": -1e308,
    "2 ** 31": 2**31,
    "2 ** 53 + 1": 2**53 + 1,
    "2 ** 63": 2**63,
    "minus 2 ** 63 - 1": -(2**63) - 1,
    "2 ** 200": 2**200,
    "figure as text": "5",
    "negative as text": "-1",
    "true as text": "true",
    "null as text": "null",
    "comma list": "a,b",
    "asterisk": "*",
    "percent": "%",
    "quote": "'",
    "SQL": "'; DROP TABLE memories; --",
    "path upwards": "../../../etc/passwd",
    "URL": "http://127.0.0.1:9/x",
    "template": "${HOME}",
    "format": "{0.__class__}",
    "JSON": '{"a": 1}',
    "markup": "<script>alert(1)</script>",
    "escape": "\x1b]0;title\x07",
    "CSI": "\x9b31m",
    "line breaks": "a\nb\r\nc",
    "right to left": "\u202eabc",
    "tag characters": "\U000e0041\U000e0042",
    "combining": "e\u0301" * 20,
    "emoji": "👩‍👩‍👧‍👦",
    "CJK": "我对花生过敏。",
    "Arabic": "مرحبا",
    "NFD": "Jose\u0301",
    "upper case": "ACTIVE",
    "dotted capital I": "İ",
    "sharp s": "ß",
    "long word": "a" * 300,
    "long text": "word " * 3_000,
    "very long text": "x" * 200_000,
    "many lines": "\n".join("ab" for _ in range(2_000)),
    "NUL": "nul \0 inside",
    "list of a NUL": ["nul \0 inside"],
    "list of many": [f"t{n}" for n in range(1_001)],
    "list of a long text": ["x" * 5_000],
    "list of figures": [1, 2],
    "list of true": [True],
    "tuple": ("a", "b"),
    "set": {"a", "b"},
    "frozenset": frozenset({"a"}),
    "iterator": iter(["a"]),
    "keys": {"a": 1}.keys(),
    "mapping": {"a": 1},
    "mapping of a list": {"a": [1, 2]},
    "unknown field": {"nonsense": 1},
    "mapping with an empty key": {"": 1},
    "wide mapping": {f"k{n}": n for n in range(5_000)},
    "large value": {"a": "x" * 70_000},
    "deep mapping": _deep(33, lambda value: {"k": value}),
    "very deep mapping": _deep(2_000, lambda value: {"k": value}),
    "very deep list": _deep(2_000, lambda value: [value]),
    "id of nothing": "mem_00000000-0000-4000-8000-000000000000",
    "id of another kind": "ent_00000000-0000-4000-8000-000000000000",
    "short id": "mem_0",
    "prefix of an id": "mem_",
    "upper-case id": "MEM_00000000-0000-4000-8000-000000000000",
    "list of an id of nothing": ["mem_00000000-0000-4000-8000-000000000000"],
    "date": date(2026, 1, 1),
    "naive time": datetime(2026, 1, 1),
    "first year": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    "last moment": datetime.max,
    "year zero": "0000-01-01",
    "year 10000": "10000-01-01",
    "30 February": "2026-02-30",
    "hour 25": "2026-01-01T25:00",
    "zone of 99 hours": "2026-01-01T00:00:00+99:00",
    "time as a figure": 1_700_000_000,
    "words of a time": "next Friday",
    "namespace in capitals": "UPPER",
    "namespace with a slash": "a/b",
    "profile": "baseline",
    "ids": ["mem_", "ent_"],
    "path object": Path("nowhere/at/all"),
    "type": dict,
    "function": len,
    "function of nothing": lambda: None,
    "function that raises": lambda *_: 1 / 0,
}

VALUES: Final[tuple[HostileValue, ...]] = (
    *(HostileValue(name, make, False) for name, make in _UNREADABLE.items()),
    HostileValue("unreadable text", lambda: UnreadableText("a text that cannot be read"), False),
    *(HostileValue(name, lambda value=value: value, True) for name, value in _NEVER.items()),
    *(HostileValue(name, lambda value=value: value, False) for name, value in _SOMEWHERE.items()),
)
