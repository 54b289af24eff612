"""Which neighbours of a found memory carry its evidence.

A turn of a conversation is often found for what stands beside it: the question has the words, the
answer has the fact. Three rules, from what stands in the session and in the reason trace:

1. The result asks: the next turn, by somebody else, answers.
2. A turn directly beside the result has more of the query's words than the result, and is no
   question (`neighbours.lexical.-1` or `.+1` above the normalised `lexical`).
3. The turn before, by somebody else, asks and has more than twice the result's share of the query's
   words: the result is its answer, and hardly to be understood without it.

All other neighbours would only fill the block: a further result is worth more than they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from vestig.answers import SignalTrace
from vestig.types import Memory

__all__ = ["Found", "Sessions", "beside"]

# Places in the session that the rules look at, counted from the result's own.
_AROUND: Final = (-1, 1)
# From here on a result is found for the question before it.
_QUESTION_FACTOR: Final = 2.0


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

    def whole(self, id: str) -> bool:
        """Whether something stands at every place that the rules look at beside this one."""
        return all(self.at(id, offset) for offset in _AROUND)

    def around(self, ids: Iterable[str]) -> list[str]:
        """Ids of everything that the rules look at beside these, each once."""
        found = (near for id in ids for offset in _AROUND for near in self.at(id, offset))
        return list(dict.fromkeys(found))


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A result and the terms of its reason."""

    memory: Memory
    signals: Mapping[str, SignalTrace]


def _asks(memory: Memory) -> bool:
    """Whether a turn holds a question, as the signals see it."""
    return "?" in memory.content


def _by_others(one: Memory, other: Memory) -> bool:
    """Whether two turns are told by two: where nobody is named, they may be."""
    return (one.author, one.role) != (other.author, other.role) or one.author is one.role is None


def _share(found: Found, offset: int) -> tuple[float, float]:
    """How much of the query's words the turn there has, and the result itself; 0 where the trace
    does not tell. What a neighbour brings is its own normalised value."""
    own = found.signals.get("lexical")
    mine = 0.0 if own is None or own.normalised is None else own.normalised
    near = found.signals.get(f"neighbours.lexical.{offset:+d}")
    return 0.0 if near is None or near.raw is None else near.raw, mine


def _carries(found: Found, offset: int, turn: Memory) -> bool:
    """Whether the turn that many places after the result carries its evidence."""
    by_others, asks = _by_others(found.memory, turn), _asks(turn)
    if offset == 1 and by_others and _asks(found.memory):
        return True
    near, mine = _share(found, offset)
    if not asks:
        return near > mine
    return offset == -1 and by_others and near > _QUESTION_FACTOR * mine


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
        for offset in _AROUND:
            for id in sessions.at(found.memory.id, offset):
                turn = known.get(id)
                if turn is not None and id not in mine and _carries(found, offset, turn):
                    chosen.setdefault(id, rank)
    return list(chosen.items())
