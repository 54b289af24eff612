"""Configuration errors, collected and reported together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from vestig.errors import ConfigError


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One fault: where (file or layer), which key, what is wrong, what is allowed."""

    place: str
    key: str
    message: str
    allowed: str = ""

    def text(self) -> str:
        """One line for a human."""
        where = f"{self.place}: " if self.place else ""
        subject = f"{self.key}: " if self.key else ""
        return f"{where}{subject}{self.message}"


class InvalidConfigError(ConfigError):
    """A `ConfigError` that lists every fault found in `problems`."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [problem.text() for problem in self.problems]
        if len(lines) > 1:
            head = f"{len(lines)} problems in the configuration:"
            super().__init__("\n".join([head, *(f"- {line}" for line in lines)]))
        else:
            super().__init__(lines[0])


# To find the nearest valid key of each of thousands would take minutes.
_ENOUGH: Final = 20
_KEY_CHARS_MAX: Final = 100
_MESSAGE_CHARS_MAX: Final = 2_000


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"


class Problems:
    """Collects faults; `raise_if_any` ends the work once, with all of them."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, place: str, key: str, message: str, allowed: str = "") -> None:
        """Notes one fault; the same fault twice is noted once."""
        problem = Problem(
            place=place,
            key=_cut(key, _KEY_CHARS_MAX),
            message=_cut(message, _MESSAGE_CHARS_MAX),
            allowed=allowed,
        )
        if problem not in self._found:
            self._found.append(problem)

    @property
    def enough(self) -> bool:
        """Return whether so many were found that no more are looked for."""
        return len(self._found) >= _ENOUGH

    def raise_if_any(self) -> None:
        """Raises `InvalidConfigError` when a fault was noted."""
        if self._found:
            raise InvalidConfigError(self._found)
