"""The context of a recall: what stands beside the results, what says the same, and how many tokens
it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.answers import ContextBlock
from vestig.commit.fact_guard import differs
from vestig.commit.near_duplicates import stored_guard
from vestig.ids import id_bytes, id_text, split_ids
from vestig.memories.read import as_known, flags_of
from vestig.ports import PieceCounter
from vestig.recall.context.block import ESTIMATE, Entry, Measure, block, estimate
from vestig.recall.context.neighbours import Found, Sessions, beside
from vestig.recall.layouts import ABSTAINED, NO_RESULTS
from vestig.recall.query import Asking
from vestig.recall.reason import Question, signals_of
from vestig.session.filter_ids import resolved
from vestig.session.session import Session
from vestig.store.projection.keeper import similar_within
from vestig.types import Kind, Memory

__all__ = ["Gathered", "context_block", "gather"]

# So many memories are looked up one by one; longer sessions are read around the results.
_LOOKED_UP_MAX: Final = 2_000
_REACH: Final = 32
_SEQUENCE_MAX: Final = 2**63 - 1
_SPANS_MAX: Final = 200
_FLOAT32_BYTES: Final = 4


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """What the store has for a block, of the state that was ranked. `twins`: pairs of ids that say
    the same."""

    entries: tuple[Entry, ...]
    twins: frozenset[frozenset[str]]


def gather(
    asking: Asking, rows: Sequence[Any], memories: Mapping[str, Memory], question: Question
) -> Gathered:
    """Results, neighbours, and which of them say the same; for a callback of the keeper's `run`.

    Args:
        rows: of the scan, best first.
        memories: their texts by id, as known at the time asked for.
    """
    results = [
        Found(memory=memories[id_text("mem", row.id)], signals=signals_of(row, None, question))
        for row in rows
    ]
    sessions = _sessions(asking, [one.memory for one in results])
    known = _around(asking, sessions, results)
    near = _similar_enough(asking, beside(results, sessions, known))
    plan = asking.asked.plan
    told = as_known(asking.view, plan.namespace, [known[id] for id, _ in near], plan.moments)
    entries = [Entry(memory=one.memory, rank=rank) for rank, one in enumerate(results)]
    entries += [
        Entry(memory=memory, rank=rank, neighbour=True)
        for memory, (_, rank) in zip(told, near, strict=True)
    ]
    flagged = tuple(
        msgspec.structs.replace(
            entry, flags=tuple(flags_of(entry.memory, question.query_time, question.known_at))
        )
        for entry in entries
    )
    return Gathered(entries=flagged, twins=_twins(asking, [one.memory for one in flagged]))


# --- neighbours ---------------------------------------------------------------------------------


def _sessions(asking: Asking, found: Sequence[Memory]) -> Sessions:
    """The sessions of the results, of what passes the filters of the call alone; of long ones no
    more than what lies around the results."""
    placed = {
        one.id: one.sequence
        for one in found
        if one.session_id is not None and one.sequence is not None
    }
    names = sorted({str(one.session_id) for one in found if one.id in placed})
    if not names:
        return Sessions({})
    plan, view = asking.asked.plan, asking.view
    packed = asking.eligible({**resolved(view, asking.core, plan.filter), "session_ids": names})
    eligible = set(split_ids(packed))
    if len(eligible) <= _LOOKED_UP_MAX:
        ids = [id_text("mem", raw) for raw in eligible]
        return Sessions(view.places(plan.namespace, ids))
    reaches = (_REACH, _SEQUENCE_MAX)
    for reach in reaches:
        turns = view.turns(plan.namespace, names, _spans(placed.values(), reach))
        sessions = Sessions({id: at for id, at in turns.items() if id_bytes(id) in eligible})
        if all(map(sessions.whole, placed)):
            break
    return sessions


def _spans(sequences: Iterable[int], reach: int) -> list[tuple[int, int]]:
    """What lies at most so far from one of these, as few spans."""
    spans = list[tuple[int, int]]()
    for sequence in sorted(sequences):
        low, high = max(0, sequence - reach), min(_SEQUENCE_MAX, sequence + reach)
        if spans and (low <= spans[-1][1] or len(spans) == _SPANS_MAX):
            spans[-1] = (spans[-1][0], high)
        else:
            spans.append((low, high))
    return spans


def _around(asking: Asking, sessions: Sessions, results: Sequence[Found]) -> dict[str, Memory]:
    near = sessions.around(one.memory.id for one in results)
    space = asking.asked.plan.namespace
    return {memory.id: memory for memory in asking.view.memories(space, near)} if near else {}


def _similar_enough(asking: Asking, near: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Those that pass `min_similarity` too, which only a scan judges."""
    if not near or asking.asked.plan.filter.columns.get("min_similarity") is None:
        return near
    exact = Asking(
        asking.session, asking.view, asking.core, asking.session.keeper.scan, asking.asked
    )
    scan = exact.run(watch=b"".join(id_bytes(id) for id, _ in near))
    passed = {id_text("mem", row.id) for row in scan.watched}
    return [(id, rank) for id, rank in near if id in passed]


# --- what says the same -------------------------------------------------------------------------


def _twins(asking: Asking, memories: Sequence[Memory]) -> frozenset[frozenset[str]]:
    """Pairs of one scope and author: of one text, or near-duplicates that the fact guard lets
    pass."""
    groups: dict[tuple[str | None, str | None], list[Memory]] = {}
    for memory in memories:
        if memory.kind is Kind.MEMORY:
            groups.setdefault((memory.scope, memory.author), []).append(memory)
    pairs = set[frozenset[str]]()
    for group in groups.values():
        if len(group) > 1:
            pairs |= _same_text(group)
            pairs |= _near(asking, group, pairs)
    return frozenset(pairs)


def _same_text(group: Sequence[Memory]) -> set[frozenset[str]]:
    by_text: dict[str, list[str]] = {}
    for memory in group:
        by_text.setdefault(" ".join(memory.content.split()), []).append(memory.id)
    return {
        frozenset((first, second))
        for ids in by_text.values()
        for place, first in enumerate(ids)
        for second in ids[place + 1 :]
    }


def _near(
    asking: Asking, group: Sequence[Memory], known: set[frozenset[str]]
) -> set[frozenset[str]]:
    near = asking.session.config.settings.hygiene.near_duplicate
    if not near.enabled:
        return set()
    vectors = asking.view.vectors(asking.asked.plan.namespace, [one.id for one in group])
    found = set[frozenset[str]]()
    for model in sorted({model for model, _ in vectors.values()}):
        mine = [one for one in group if one.id in vectors and vectors[one.id][0] == model]
        packed = [vectors[one.id][1] for one in mine]
        dimensions = len(packed[0]) // _FLOAT32_BYTES
        for place, earlier in enumerate(
            similar_within(b"".join(packed), dimensions, near.threshold)
        ):
            for other, _ in earlier:
                pair = frozenset((mine[place].id, mine[other].id))
                if pair not in known and _says_the_same(asking, mine[place], mine[other]):
                    found.add(pair)
    return found


def _says_the_same(asking: Asking, one: Memory, other: Memory) -> bool:
    session, view = asking.session, asking.view
    classes = session.config.settings.hygiene.near_duplicate.guard
    mine, others = stored_guard(session, view, one), stored_guard(session, view, other)
    return not differs(mine, others, classes)


# --- the block ----------------------------------------------------------------------------------


def context_block(session: Session, found: Gathered, *, returned: int, budget: int) -> ContextBlock:
    """The block in the space that it may take.

    Args:
        returned: how many results the call gives; 0 although there are some = it abstains.
    """
    return block(
        found.entries if returned else (),
        found.twins,
        _measure(session, budget),
        zone=session.config.settings.time.zone,
        nothing=ABSTAINED if found.entries else NO_RESULTS,
    )


def _measure(session: Session, budget: int) -> Measure:
    """Word pieces of the store's embedder where it tells them, else an estimate."""
    embedder = session.embedder
    if not isinstance(embedder, PieceCounter) or embedder.count_pieces("") is None:
        return Measure(count=estimate, counted_by=ESTIMATE, budget=budget)

    def pieces(text: str) -> int:
        count = embedder.count_pieces(text)
        return estimate(text) if count is None else count

    return Measure(count=pieces, counted_by=embedder.model, budget=budget)
