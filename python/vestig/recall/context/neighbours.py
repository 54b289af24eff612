"""Which neighbours of a result carry its evidence.

A turn of a conversation is often a result because of the turn beside it: the question has the
words, the answer has the fact. Three rules, from the texts of the session and from values of
signals, which are read whether they weigh anything or not:

1. The result asks a question: the next turn, by another speaker, answers it.
2. A turn directly beside the result has more of the query's words than the result, and is no
   question (`neighbours.lexical.-1` or `.+1` above the normalised `lexical`).
3. The turn before, by another speaker, is a question and has more than twice the result's share of
   the query's words: the result is its answer, and hardly to be understood without it.

All other neighbours would only fill the block: a further result is worth more than they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from vestig.types import Memory

__all__ = ["OFFSETS", "RankedTurn", "Sessions", "evidence_neighbours"]

# Places in the session that the rules look at, counted from the result's own.
OFFSETS: Final = (-1, 1)
# From here on a result owes its rank to the question before it.
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
        by_session: dict[tuple[str | None, str], dict[int, list[str]]] = {}
        for id, (scope, session, sequence) in places.items():
            if session is not None and sequence is not None:
                by_session.setdefault((scope, session), {}).setdefault(sequence, []).append(id)
        self._where: dict[str, tuple[tuple[str | None, str], int]] = {}
        self._at: dict[tuple[tuple[str | None, str], int], tuple[str, ...]] = {}
        for key, rows in by_session.items():
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
        return all(self.at(id, offset) for offset in OFFSETS)

    def around(self, ids: Iterable[str]) -> list[str]:
        """Ids of everything that the rules look at beside these, each once."""
        found = (near for id in ids for offset in OFFSETS for near in self.at(id, offset))
        return list(dict.fromkeys(found))


class RankedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A result with the share of the query's words that it has (`lexical`, normalised; 0 where it
    is unavailable) and those that the turns beside it have, by offset."""

    memory: Memory
    words: float
    words_beside: Mapping[int, float]


def _asks(memory: Memory) -> bool:
    """Whether a turn holds a question, as the signals see it."""
    return "?" in memory.content


def _by_others(one: Memory, other: Memory) -> bool:
    """Whether two turns are by two speakers; they may be where nobody is named."""
    return (one.author, one.role) != (other.author, other.role) or one.author is one.role is None


def _carries_evidence(result: RankedTurn, offset: int, turn: Memory) -> bool:
    """Whether the turn that many places after the result carries its evidence."""
    by_others, asks = _by_others(result.memory, turn), _asks(turn)
    if offset == 1 and by_others and _asks(result.memory):
        return True
    beside = result.words_beside.get(offset, 0.0)
    if not asks:
        return beside > result.words
    return offset == -1 and by_others and beside > _QUESTION_FACTOR * result.words


def evidence_neighbours(
    results: Sequence[RankedTurn], sessions: Sessions, turns: Mapping[str, Memory]
) -> list[tuple[str, int]]:
    """(id, rank of the result from 0) of the neighbours that carry evidence, each once, for the
    best result that they stand beside.

    Args:
        results: best first.
        turns: memories around them, by id.
    """
    own = {one.memory.id for one in results}
    chosen: dict[str, int] = {}
    for rank, result in enumerate(results):
        for offset in OFFSETS:
            for id in sessions.at(result.memory.id, offset):
                turn = turns.get(id)
                if turn is not None and id not in own and _carries_evidence(result, offset, turn):
                    chosen.setdefault(id, rank)
    return list(chosen.items())
