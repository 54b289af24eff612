"""Which turns stand beside a result in its session.

Half of the turns that a question wants and that are no results lie at most two turns from one that
is: the answer after a question, the question before an answer, what was said just before. They fill
what the results leave of a budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from vestig.types import Memory, OriginType

# Places in the session that count, from the result's own, the nearest first.
OFFSETS: Final = (-1, 1, -2, 2)
_CHATS: Final = (OriginType.CHAT_PEER, OriginType.CHAT_AGENT)


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
        """Return whether something stands at every place that the rules look at beside this one."""
        return all(self.at(id, offset) for offset in OFFSETS)

    def around(self, ids: Iterable[str]) -> list[str]:
        """Ids of everything that the rules look at beside these, each once."""
        found = (near for id in ids for offset in OFFSETS for near in self.at(id, offset))
        return list(dict.fromkeys(found))


def neighbours_of(results: Sequence[Memory], sessions: Sessions) -> list[str]:
    """Ids of the turns beside the results that are turns of a chat, each once: those directly
    beside the best one first, then those of the others, then those one further.

    Args:
        results: best first.
    """
    own = {one.id for one in results}
    chats = [one.id for one in results if one.origin_type in _CHATS]
    found = (
        near
        for offsets in (OFFSETS[:2], OFFSETS[2:])
        for id in chats
        for offset in offsets
        for near in sessions.at(id, offset)
    )
    return [id for id in dict.fromkeys(found) if id not in own]
