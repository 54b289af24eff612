"""The turns beside a memory in its session: those that the filters of the call let through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from vestig.ids import id_bytes, id_text, split_ids
from vestig.language.words import asks
from vestig.recall.context.neighbours import Sessions
from vestig.recall.query import BoundQuery
from vestig.types import Memory

# So many memories are looked up one by one; longer sessions are read around the results.
_LOOKED_UP_MAX: Final = 2_000
_REACH: Final = 32
_SEQUENCE_MAX: Final = 2**63 - 1
_SPANS_MAX: Final = 200


def sessions_of(bound: BoundQuery, results: Sequence[Memory]) -> Sessions:
    """The sessions of the results, only the memories that pass the filters of the call; of long
    sessions no more than what lies around the results."""
    placed = {
        one.id: one.sequence
        for one in results
        if one.session_id is not None and one.sequence is not None
    }
    names = sorted({str(one.session_id) for one in results if one.id in placed})
    if not names:
        return Sessions({})
    namespace, view = bound.request.namespace, bound.view
    eligible = set(split_ids(bound.eligible({**bound.filter(), "session_ids": names})))
    if len(eligible) <= _LOOKED_UP_MAX:
        ids = [id_text("mem", raw) for raw in eligible]
        return Sessions(view.places(namespace, ids))
    reaches = (_REACH, _SEQUENCE_MAX)
    for reach in reaches:
        turns = view.turns(namespace, names, _spans(placed.values(), reach))
        sessions = Sessions({id: at for id, at in turns.items() if id_bytes(id) in eligible})
        if all(map(sessions.whole, placed)):
            break
    return sessions


def _spans(sequences: Iterable[int], reach: int) -> list[tuple[int, int]]:
    """The sequences at most `reach` from one of these, as few spans."""
    spans = list[tuple[int, int]]()
    for sequence in sorted(sequences):
        low, high = max(0, sequence - reach), min(_SEQUENCE_MAX, sequence + reach)
        if spans and (low <= spans[-1][1] or len(spans) == _SPANS_MAX):
            spans[-1] = (spans[-1][0], high)
        else:
            spans.append((low, high))
    return spans


def turns_around(
    bound: BoundQuery, sessions: Sessions, results: Sequence[Memory]
) -> dict[str, Memory]:
    """The memories around these, by id."""
    near = sessions.around(one.id for one in results)
    namespace = bound.request.namespace
    return {memory.id: memory for memory in bound.view.memories(namespace, near)} if near else {}


def questions_before(bound: BoundQuery, replies: Sequence[Memory]) -> dict[str, str]:
    """Of memories that reply to a question, id → its text, of those that have a session."""
    sessions = sessions_of(bound, replies)
    turns = turns_around(bound, sessions, replies)
    found = dict[str, str]()
    for reply in replies:
        for id in sessions.at(reply.id, -1):
            if id in turns and asks(turns[id].content):
                found[reply.id] = turns[id].content
    return found
