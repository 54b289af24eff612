"""Names and purposes of all operations, in the order of help texts.

A list of commands needs this and nothing of the operations themselves; `operations/` declares what
each takes and does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, NamedTuple


class Outline(NamedTuple):
    """One operation in a list, or a group of them.

    Attributes:
        home: the module of `operations/` that declares it; "": it is a group.
        short: another name of a command of a group, outside of it.
        help: what it does.
        frequent: whether help names it first.
    """

    home: str
    short: str
    help: str
    frequent: bool


def _read() -> dict[str, Outline]:
    """The lines of `data/operations.txt`. They are no JSON: help is printed without its decoder."""
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "operations.txt")
    with open(path, encoding="utf-8") as file:
        lines = [line[:-1].split(" | ") for line in file if not line.startswith("#")]
    return {
        name.removeprefix("*"): Outline(home, short, help, name.startswith("*"))
        for name, home, short, help in lines
    }


_ROWS: Final = _read()
GROUPS: Final[Mapping[str, str]] = {name: one.help for name, one in _ROWS.items() if not one.home}
OUTLINES: Final[Mapping[str, Outline]] = {name: one for name, one in _ROWS.items() if one.home}
