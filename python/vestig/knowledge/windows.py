"""Windows: neighbouring memories that a language model reads in one call. Pure.

Invariant: which memories make a window follows from what is stored and which of them were read, so
a window that failed is made again from the same memories, alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import msgspec

from vestig.config.schema import CognifySettings
from vestig.store.records.jobs import Readable
from vestig.types import Memory

# Turns before a window that are shown with it.
CONTEXT_TURNS: Final = 4
_OPEN: Final = (None, "pending", "running")


class WindowPlan(NamedTuple):
    """Ids of memories that are read together, and of those that are shown before them."""

    ids: tuple[str, ...]
    context: tuple[str, ...]
    newest_us: int


def planned_windows(
    readable: Sequence[Readable], chosen: Collection[str] | None, settings: CognifySettings
) -> list[WindowPlan]:
    """The windows of memories that were not read yet, newest first.

    Args:
        readable: in their order, those that were read too.
        chosen: ids of those that may be read; None = all.
    """
    found: list[WindowPlan] = []
    for (_, _, is_turn), group in groupby(
        readable, lambda one: (one.scope, one.part_of, one.is_turn)
    ):
        members = list(group)
        for start, end in _runs(members, chosen):
            for first, last in _cuts(members[start:end], settings, turns=is_turn):
                begin = start + first
                before = members[max(0, begin - CONTEXT_TURNS) : begin] if is_turn else []
                part = members[begin : start + last]
                found.append(
                    WindowPlan(
                        tuple(one.id for one in part),
                        tuple(one.id for one in before),
                        max(one.created_us for one in part),
                    )
                )
    return sorted(found, key=lambda one: -one.newest_us)


def _runs(members: Sequence[Readable], chosen: Collection[str] | None) -> Iterator[tuple[int, int]]:
    """Where runs of neighbours begin and end that are to be read and were tried equally often."""
    at = 0
    for key, group in groupby(members, lambda one: _tried(one, chosen)):
        size = len(list(group))
        if key is not None:
            yield at, at + size
        at += size


def _tried(one: Readable, chosen: Collection[str] | None) -> int | None:
    """How often it was tried; None where it is not to be read."""
    if one.state not in _OPEN or (chosen is not None and one.id not in chosen):
        return None
    return one.attempts or 0


def _cuts(
    run: Sequence[Readable], settings: CognifySettings, *, turns: bool
) -> Iterator[tuple[int, int]]:
    """Where windows of a run begin and end."""
    start = chars = 0
    for at, one in enumerate(run):
        full = at - start >= settings.turns if turns else chars + one.chars > settings.window_chars
        if full and at > start:
            yield start, at
            start, chars = at, 0
        chars += one.chars
    if start < len(run):
        yield start, len(run)


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Memories that are read in one call by number, and those before them, whose numbers follow."""

    memories: dict[int, Memory]
    context: dict[int, Memory]

    @property
    def is_blank(self) -> bool:
        """Return whether there is nothing to read: no text has a letter or a digit."""
        return not any(char.isalnum() for one in self.memories.values() for char in one.content)

    @property
    def prompt_values(self) -> dict[str, str]:
        """Return what the prompt is given: JSON, so that no text is taken for another number."""
        title = next((one.title for one in self.memories.values() if one.title), "")
        return {
            "title": title,
            "context": _lines(self.context),
            "memories": _lines(self.memories),
        }


def _lines(memories: dict[int, Memory]) -> str:
    return "\n".join(
        msgspec.json.encode(
            {
                "number": number,
                "date": one.t_valid.date().isoformat(),
                "author": one.author,
                "role": None if one.role is None else one.role.value,
                "text": one.content,
            }
        ).decode()
        for number, one in memories.items()
    )
