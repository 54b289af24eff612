"""From the rows of a scan to hits: one read of the ledger, at the state that was ranked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from vestig.answers import Reason, RecallHit
from vestig.ids import id_text
from vestig.memories.equal_texts import recalled, repeats_of
from vestig.memories.read import as_known, later_updates, replaced_as_known
from vestig.recall.associated import associated_rows
from vestig.recall.query import BoundQuery, Ranked
from vestig.recall.reason import Explainer
from vestig.recall.scan import ScanRow
from vestig.types import Memory

__all__ = ["FoundMemories", "found_memories"]


class FoundMemories(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a call. `associated`: what the walk reached beside them; `folded`: how many
    more have a result's text; `pending`: how many results have unfinished jobs; `later_updates`:
    warnings of what changed after the time of the request."""

    hits: tuple[RecallHit, ...]
    associated: tuple[RecallHit, ...]
    folded: int
    pending: int
    later_updates: tuple[str, ...]


def found_memories(bound: BoundQuery, ranked: Ranked, *, beside: bool) -> FoundMemories:
    """The results as hits. Everything that they show is read here; their values are made when they
    are looked at.

    Args:
        beside: with what the walk reached beside them.

    Raises:
        StoreDamagedError: the text of a memory is not the one that was hashed.
    """
    request, view = bound.request, bound.view
    namespace, moments = request.namespace, request.moments
    linked = associated_rows(bound, ranked) if beside else ()
    rows = [*ranked.results, *linked]
    behind = _behind(ranked, len(rows))
    raw = [row.id for row in rows]
    by_id = recalled(bound.session, view, namespace, raw)
    stored = [by_id[id] for id in raw]
    ids = [id_text("mem", id) for id in raw]
    nearest = [row.nearest_question for row in rows]
    past = dict[str, Memory]()
    if moments.past:
        made = [found.make() for found in stored]
        past = {memory.id: memory for memory in as_known(view, namespace, made, moments)}
    replaced = dict[str, Sequence[str]]()
    if replacing := [id for id, found in zip(ids, stored, strict=True) if found.replaces]:
        replaced |= replaced_as_known(view, namespace, replacing, moments)
    questions = dict[str, Sequence[str]]()
    if asked := [id for id, one in zip(ids, nearest, strict=True) if one is not None]:
        questions |= view.questions(namespace, asked)
    vectors = view.vectors(namespace, ids) if request.include_vectors and ids else {}
    repeated = [id for id, found in zip(ids, stored, strict=True) if found.repeated]
    repeats = repeats_of(
        bound.session, view, namespace, repeated, moments.known_at_us, bound.filter
    )
    explainer = bound.explainer(ranked.scan)
    has_vector = explainer.has_vector
    hits = []
    for id, row, found, asking, following in zip(ids, rows, stored, nearest, behind, strict=True):
        make = partial(_same, past[id]) if past else found.make
        question = None if asking is None else questions[id][asking[0]]
        fields: dict[str, Any] = {
            "_id": id,
            "_content": found.content,
            "score": ranked.score(row),
            "final": row.final_score,
            "similarity": row.similarity if has_vector else None,
            "_make_memory": make,
            "_make_reason": partial(
                _reason, explainer, row, make, (replaced.get(id, ()), question, following)
            ),
        }
        if request.include_vectors:
            vector = vectors.get(id)
            fields["embedding"] = None if vector is None else tuple(memoryview(vector[1]).cast("f"))
        if id in repeats:
            fields["repeats"], fields["repeats_more"] = repeats[id]
        hits.append(RecallHit.of_fields(fields))
    shown = len(ranked.results)
    folded = (repeats[id] for id in ids[:shown] if id in repeats)
    return FoundMemories(
        hits=tuple(hits[:shown]),
        associated=tuple(hits[shown:]),
        folded=sum(len(others) + more for others, more in folded),
        pending=sum([found.processing == "pending" for found in stored[:shown]]),
        later_updates=later_updates(view, past.values(), moments) if past else (),
    )


def _behind(ranked: Ranked, count: int) -> list[ScanRow | None]:
    """The next one of the ranking for each result, filled up with None."""
    results = len(ranked.results)
    behind = [*ranked.rows[1 : results + 1], None][:results]
    return behind + [None] * (count - results)


def _reason(
    explainer: Explainer,
    row: ScanRow,
    make: Callable[[], Memory],
    known: tuple[Sequence[str], str | None, ScanRow | None],
) -> Reason:
    return explainer.reason(row, make(), *known)


def _same(memory: Memory) -> Memory:
    return memory
