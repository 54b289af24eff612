"""Which neighbours of a found memory carry its evidence (Q-11, Q-12).

A turn of a conversation is often found for what stands beside it: a question whose answer has none
of its words, an answer that only its question explains. Such neighbours belong into a context; all
others would only fill it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from vestig.answers import SignalTrace
from vestig.types import Memory

__all__ = ["OFFSETS", "Found", "Sessions", "beside"]

# Places in the session that a signal looks at, counted from the memory's own.
OFFSETS: Final = (-2, -1, 1, 2, 3)
_ASKS: Final = re.compile(r"\?[\s\"'”’)\]*_]*$")


class Sessions:
    """Where eligible memories stand: the rank of their sequence among those of their session. Parts
    of one text share a place; what has no session or no sequence has none.

    Args:
        places: id → (scope, session, sequence).

    Example:
        >>> sessions = Sessions({"a": (None, "s", 4), "b": (None, "s", 7), "c": (None, None, 1)})
        >>> sessions.at("a", 1), sessions.at("b", 1), sessions.at("c", 0)
        (('b',), (), ())
    """

    def __init__(self, places: Mapping[str, tuple[str | None, str | None, int | None]]) -> None:
        held: dict[tuple[str | None, str], dict[int, list[str]]] = {}
        for id, (scope, session, sequence) in places.items():
            if session is not None and sequence is not None:
                held.setdefault((scope, session), {}).setdefault(sequence, []).append(id)
        self._where: dict[str, tuple[tuple[str | None, str], int]] = {}
        self._at: dict[tuple[tuple[str | None, str], int], tuple[str, ...]] = {}
        for key, rows in held.items():
            for place, sequence in enumerate(sorted(rows)):
                ids = tuple(sorted(rows[sequence]))
                self._at[key, place] = ids
                self._where.update(dict.fromkeys(ids, (key, place)))

    def at(self, id: str, offset: int) -> tuple[str, ...]:
        """Ids at the place that many after the memory's own."""
        where = self._where.get(id)
        return () if where is None else self._at.get((where[0], where[1] + offset), ())

    def around(self, ids: Iterable[str]) -> list[str]:
        """Ids of everything that a signal looks at beside these, each once."""
        found = (near for id in ids for offset in OFFSETS for near in self.at(id, offset))
        return list(dict.fromkeys(found))


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A result and the terms of its reason."""

    memory: Memory
    signals: Mapping[str, SignalTrace]


def _asks(memory: Memory) -> bool:
    """Whether a turn ends in a question."""
    return _ASKS.search(memory.content) is not None


def _raw(found: Found, name: str) -> float | None:
    trace = found.signals.get(name)
    return None if trace is None else trace.raw


def _by_others(one: Memory, other: Memory) -> bool:
    """Whether two turns are told by two: where nobody is named, they may be."""
    return (one.author, one.role) != (other.author, other.role) or one.author is one.role is None


def _explained(found: Found, offset: int) -> bool:
    """Whether the trace says that the neighbour has more of the question's words."""
    own, beside = _raw(found, "lexical"), _raw(found, f"neighbours.lexical.{offset:+d}")
    return beside is not None and beside > 0 and (own is None or beside > own)


def beside(
    results: Sequence[Found], sessions: Sessions, known: Mapping[str, Memory]
) -> list[tuple[str, int]]:
    """(id, place of the result) of the neighbours that carry evidence, each once, for the best
    result that they stand beside.

    Args:
        results: best first.
        known: texts of what stands around them.
    """
    mine = {one.memory.id for one in results}
    chosen: dict[str, int] = {}
    for rank, found in enumerate(results):
        memory = found.memory
        for offset in OFFSETS:
            for id in sessions.at(memory.id, offset):
                near = known.get(id)
                if near is None or id in mine or id in chosen:
                    continue
                answers = offset == 1 and _asks(memory) and _by_others(memory, near)
                asked = offset == -1 and _asks(near) and _by_others(memory, near)
                if answers or asked or _explained(found, offset):
                    chosen[id] = rank
    return list(chosen.items())
