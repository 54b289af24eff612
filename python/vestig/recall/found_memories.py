"""Hits of the rows of a scan: one read of the ledger, at the state that was ranked, for the results
and for what links lead to beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from vestig.answers import Reason, RecallHit, Repeat
from vestig.memories.read import (
    anchors_of,
    as_known,
    later_updates,
    recalled,
    repeats_of,
    replaced_as_known,
    text_keys,
)
from vestig.ports import ScanRow
from vestig.recall.query import BoundQuery, Ranked, explainer_of
from vestig.recall.reason import Explainer
from vestig.store.records.rows import RecalledMemory
from vestig.types import Memory


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
    linked = _associated_rows(bound, ranked) if beside else ()
    rows = [*ranked.results, *linked]
    raw = [row.id for row in rows]
    by_id = recalled(bound.session, view, namespace, raw)
    stored = [by_id[id] for id in raw]
    ids = [row.memory_id for row in rows]
    made = [found.make for found in stored]
    past: Sequence[Memory] = ()
    if moments.past:
        past = as_known(view, namespace, [make() for make in made], moments)
        made = [partial(_same, memory) for memory in past]
    replaced: Mapping[str, Sequence[str]] = {}
    if replacing := [id for id, found in zip(ids, stored, strict=True) if found.replaces]:
        replaced = replaced_as_known(view, namespace, replacing, moments)
    questions: Mapping[str, Sequence[str]] = {}
    if asked := [id for id, row in zip(ids, rows, strict=True) if row.nearest_question]:
        questions = view.questions(namespace, asked)
    vectors = view.vectors(namespace, ids) if request.include_vectors and ids else {}
    repeated = [id for id, found in zip(ids, stored, strict=True) if found.repeated]
    repeats = repeats_of(
        bound.session, view, namespace, repeated, moments.known_at_us, bound.filter
    )
    shown = len(ranked.results)
    seen = _RowValues(
        explained=partial(explainer_of, bound.query, bound.entities, ranked.scan),
        scores=ranked.scores(rows),
        query_time_us=moments.query_time_us,
        ids=ids,
        rows=rows,
        before=_questions_before(bound, rows, made),
        stored=stored,
        made=made,
        past=bool(past),
        has_vector=bound.query.vector is not None,
        replaced=replaced,
        questions=questions,
    )
    hits = seen.hits(repeats, vectors if request.include_vectors else None)
    for id, anchors in anchors_of(bound.session, view, namespace, ids).items():
        object.__setattr__(hits[ids.index(id)], "anchors", anchors)
    folded = [repeats[id] for id in ids[:shown] if id in repeats]
    return FoundMemories(
        hits=tuple(hits[:shown]),
        associated=tuple(hits[shown:]),
        folded=sum([len(others) + more for others, more in folded]),
        pending=sum([found.processing == "pending" for found in stored[:shown]]),
        later_updates=later_updates(view, past, moments) if past else (),
    )


def _associated_rows(bound: BoundQuery, ranked: Ranked) -> Sequence[ScanRow]:
    """The best memories that the walk reached from the results: none of them is a result or has
    the text of one, and each text is there once."""
    most, reached = bound.query.ranking.associated, ranked.scan.associated
    if not most or not reached:
        return ()
    results = [row.id for row in ranked.results]
    chosen = [row for row in reached if row.start in results and row.id not in results]
    if not chosen:
        return ()
    request = bound.request
    ids = [*results, *(row.id for row in chosen)]
    keys = text_keys(bound.session, bound.view, request.namespace, ids, request.moments.known_at_us)
    seen = {keys[id] for id in results if id in keys}
    found = list[ScanRow]()
    for row in chosen:
        key = keys.get(row.id)
        if key is None or key not in seen:
            found.append(row)
            if key is not None:
                seen.add(key)
    return found[:most]


class _RowValues(msgspec.Struct, kw_only=True):
    """Values that the read saw of the rows of a call.

    Args:
        explained: gives the explainer.
        scores: of each row.
        before: id → the question that the memory replies to.
        stored: memories as they are now.
        made: gives the memories.
        past: whether these are as they were known earlier.
        has_vector: whether the query has one.
    """

    explained: Callable[[], Explainer]
    scores: Sequence[float]
    query_time_us: int
    ids: Sequence[str]
    rows: Sequence[ScanRow]
    before: Mapping[str, str]
    stored: Sequence[RecalledMemory]
    made: Sequence[Callable[[], Memory]]
    past: bool
    has_vector: bool
    replaced: Mapping[str, Sequence[str]]
    questions: Mapping[str, Sequence[str]]
    explainer: Explainer | None = None

    def hits(
        self,
        repeats: Mapping[str, tuple[tuple[Repeat, ...], int]],
        vectors: Mapping[str, tuple[str, bytes]] | None,
    ) -> list[RecallHit]:
        """All rows as hits, with these vectors where they are wanted."""
        reason = self.reason
        shown = []
        for at, (id, row, stored) in enumerate(zip(self.ids, self.rows, self.stored, strict=True)):
            fields: dict[str, Any] = {
                "_id": id,
                "_content": stored.content,
                "score": self.scores[at],
                "final": row.final_score,
                "similarity": row.similarity if self.has_vector else None,
                "_make_memory": self.made[at],
                "_make_reason": partial(reason, at),
            }
            if vectors is not None:
                vector = vectors.get(id)
                fields["embedding"] = vector and tuple(memoryview(vector[1]).cast("f"))
            if id in repeats:
                fields["repeats"], fields["repeats_more"] = repeats[id]
            shown.append(fields)
        return RecallHit.of_fields(shown)

    def reason(self, at: int) -> Reason:
        """The reason of one row."""
        explainer = self.explainer
        if explainer is None:
            explainer = self.explainer = self.explained()
        id, row = self.ids[at], self.rows[at]
        nearest = row.nearest_question
        return explainer.reason(
            row,
            None if self._is_plain(at, explainer) else self.made[at](),
            self.replaced.get(id, ()),
            None if nearest is None else self.questions[id][nearest[0]],
            self.before.get(id),
            content=self.stored[at].content,
        )

    def _is_plain(self, at: int, explainer: Explainer) -> bool:
        """Return whether a reason has nothing to say of the memory itself."""
        if self.past or explainer.windows or self.rows[at].asks_the_same:
            return False
        stored = self.stored[at]
        return stored.plain and stored.t_valid_us <= self.query_time_us


def _questions_before(
    bound: BoundQuery, rows: Sequence[ScanRow], made: Sequence[Callable[[], Memory]]
) -> Mapping[str, str]:
    """Id → text of the question, of the rows that count as replies to one."""
    replies = [make() for row, make in zip(rows, made, strict=True) if row.signal("reply")]
    if not replies:
        return {}
    # imported here: few results are replies
    from vestig.recall.context.entries import questions_before

    return questions_before(bound, replies)


def _same(memory: Memory) -> Memory:
    return memory
