"""The text of a value as a developer prints it: what says something, in lines of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import Enum
from typing import Final, cast

_COLUMNS: Final = 80
_LINES: Final = 8
# Characters of a text, and of what stands for one field.
SNIPPET: Final = 60
_FIELD: Final = 74
_CUT: Final = "…"
_WARNINGS: Final = "warnings"


def snippet(text: str, length: int = SNIPPET) -> str:
    """The beginning of a text, on one line.

    Example:
        >>> snippet("The pump\\n failed", 100), snippet("The pump failed", 9)
        ('The pump failed', 'The pump…')
    """
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1].rstrip() + _CUT


def brief(name: str, fields: Iterable[tuple[str, object]]) -> str:
    """A value by its name and its fields, with long texts and lists cut; warnings are told whole,
    behind all else.

    Example:
        >>> brief("Page", [("total", 2), ("ids", ("a", "b"))])
        "Page(total=2, ids=('a', 'b'))"
        >>> print(brief("Page", [("total", 0), ("warnings", ("no entity is called 'Bo'",))]))
        Page(total=0,
          warning: no entity is called 'Bo')
    """
    shown = dict(fields)
    given = cast(Iterable[str], shown.pop(_WARNINGS, ()))
    warnings = [" ".join(text.split()) for text in given]
    lines, line = list[str](), f"{name}("
    end = "," if warnings else ")"
    told = [snippet(f"{field}={_told(value)}", _FIELD) for field, value in shown.items()]
    for part in [*(f"{one}," for one in told[:-1]), *(f"{one}{end}" for one in told[-1:])]:
        if len(line) + len(part) + 1 > _COLUMNS:
            lines.append(line)
            line = f"  {part}"
        else:
            line += part if line.endswith("(") else f" {part}"
    lines.append(line if told or warnings else f"{line})")
    if len(lines) > _LINES:
        lines[_LINES - 1 :] = [f"  {_CUT}to_dict() has all fields{end}"]
    lines += [f"  warning: {text}," for text in warnings[:-1]]
    lines += [f"  warning: {text})" for text in warnings[-1:]]
    return "\n".join(lines)


def _told(value: object) -> str:
    match value:
        case Enum():
            return str(value)
        case str():
            return repr(snippet(value))
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case float():
            short = f"{value:.4g}"
            return short if any(sign in short for sign in ".en") else f"{short}.0"
        case Mapping():
            return f"{{{_listed([f'{_told(one)}: {_told(item)}' for one, item in value.items()])}}}"
        case tuple() | list():
            return f"({_listed([_told(one) for one in value])}{',' * (len(value) == 1)})"
    return " ".join(repr(value).split())


def _listed(items: list[str]) -> str:
    """The first items, as many as a line takes, and how many there are."""
    shown = items[:1]
    for item in items[1:]:
        if len(", ".join([*shown, item])) > SNIPPET:
            return f"{', '.join(shown)}, {_CUT} {len(items)} in all"
        shown.append(item)
    return ", ".join(shown)
