"""Patterns that are compiled at their first use: equal to compiled ones, and all of them valid."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.lazy_pattern import lazy_pattern

PACKAGE = Path(vestig.__file__).parent
# modules that need an extra
EXTRAS = ("vestig.surfaces.http", "vestig.surfaces.mcp", "vestig.integrations.")


def modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages([str(PACKAGE)], "vestig."):
        if not found.name.startswith((*EXTRAS, "vestig.__main__")):
            yield importlib.import_module(found.name)


def patterns() -> list[tuple[str, Any]]:
    """Every pattern at the top of a module, as (module:name, pattern)."""
    kind = type(lazy_pattern(""))
    found = []
    for module in modules():
        for name, value in vars(module).items():
            inner = value.values() if isinstance(value, dict) else (value,)
            flat = [
                part
                for item in inner
                for part in (item if isinstance(item, (tuple, list)) else (item,))
            ]
            found += [(f"{module.__name__}:{name}", part) for part in flat if type(part) is kind]
    return found


def test_every_pattern_of_the_package_compiles() -> None:
    found = patterns()
    assert len(found) > 100
    for name, pattern in found:
        text = b"" if isinstance(pattern._source, bytes) else ""
        assert [m.span() for m in pattern.finditer(text)] in ([], [(0, 0)]), name


@pytest.mark.parametrize("text", ["", "one 12 and 345", "ß12"])
def test_it_answers_as_a_compiled_pattern(text: str) -> None:
    plain = re.compile(r"([0-9])\d", re.I)

    def answers(pattern: re.Pattern[str]) -> list[Any]:
        spans = [m and m.span() for m in (pattern.search(text), pattern.match(text, 4))]
        whole = pattern.fullmatch(text, 4, 6)
        return [
            *spans,
            whole and whole.group(1),
            [m.span() for m in pattern.finditer(text)],
            pattern.findall(text),
            pattern.split(text, maxsplit=1),
            pattern.sub("x", text, count=1),
            pattern.subn(lambda m: m[1], text),
        ]

    assert answers(lazy_pattern(r"([0-9])\d", re.I)) == answers(plain)


def test_bytes_are_matched_too() -> None:
    assert lazy_pattern(rb"\d").sub(b"x", b"a1") == b"ax"


def test_it_is_compiled_once_and_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    compile_ = re.compile

    def spy(source: Any, flags: int = 0) -> Any:
        compiled.append(source)
        return compile_(source, flags)

    monkeypatch.setattr(re, "compile", spy)
    pattern = lazy_pattern("once|again")
    assert compiled == []
    assert pattern.search("again")
    assert pattern.search("once")
    assert pattern.sub("", "once") == ""
    assert compiled == ["once|again"]


def test_what_a_lazy_pattern_lacks_is_named() -> None:
    pattern: Any = lazy_pattern("a")
    with pytest.raises(AttributeError, match="a lazy pattern has no attribute 'groupindex'"):
        _ = pattern.groupindex
