"""Regular expressions that are compiled when they first meet a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr, Final, cast

if TYPE_CHECKING:
    from re import Pattern

_METHODS: Final = (
    "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn",
)  # fmt: skip


class _LazyPattern:
    """The methods of a compiled pattern. They are empty slots until one is used; from then
    on they are those of the compiled pattern, so that a later use costs nothing more."""

    __slots__ = ("_flags", "_source", *_METHODS)

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(f"a lazy pattern has no attribute {name!r}")
        compiled = re.compile(self._source, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy_pattern(source: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """`re.compile` at the first use: a start compiles only what its texts need.

    Returns:
        a pattern with the methods of a compiled one (`search`, `match`, `fullmatch`, `findall`,
        `finditer`, `split`, `sub`, `subn`), and nothing else of it.

    Example:
        >>> digits = lazy_pattern(r"[0-9]+")
        >>> digits.findall("7 of 12")
        ['7', '12']
    """
    return cast("Pattern[AnyStr]", _LazyPattern(source, flags))
