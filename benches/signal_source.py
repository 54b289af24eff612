"""Where the terms of labelled questions come from: a folder is imported as any user would do it,
and the core tells every term of every memory of a conversation.

Terms that are made from the best by L₁ are asked for again and again while weights are learned;
those are computed here by their definitions in tests/core.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asked import PAGE, AskedStore, by_id
from learning import FOLDS, Question, Terms
from vestig.config.signals import ORIGINS, SIGNALS
from vestig.engine.asking import Holdings
from vestig.engine.context import Context
from vestig.engine.matching import query_entities
from vestig.evaluation.benchmarks import Benchmark
from vestig.evaluation.benchmarks import Query as Labelled
from vestig.evaluation.vectors import RememberingEmbedder
from vestig.language import temporal
from vestig.times import parse_time, to_us

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "core"))

from oracle_graph import Mentions, after
from oracle_late import LATE_TERMS
from oracle_signals import AFTER_TERMS, FIRST_TERMS, Eligible, Memory, Query, normalised

# More than any conversation has: late interaction with every memory.
POOL_OF_ALL = 1_000_000
PLACE = {name: place for place, name in enumerate(SIGNALS)}
TERMS = Terms(first=FIRST_TERMS, after=AFTER_TERMS, late=("reply.late", *LATE_TERMS))


def _windows(windows: Sequence[Any]) -> list[tuple[int | None, int | None]]:
    return [
        (
            None if one.start is None else to_us(one.start),
            None if one.end is None else to_us(one.end),
        )
        for one in windows
    ]


def _definitions(view: Any, rows: Sequence[Any]) -> dict[str, Memory]:
    found: dict[str, Memory] = {}
    for start in range(0, len(rows), PAGE):
        part = rows[start : start + PAGE]
        ids, namespace = [row.id for row in part], part[0].namespace
        vectors = view.vectors(namespace, ids)
        mentions = view.mentions(namespace, ids)
        keys = _keys(view, namespace, {one.entity_id for one in mentions})
        of: dict[str, list[str]] = {}
        for one in mentions:
            of.setdefault(one.memory_id, []).append(keys[one.entity_id])
        for row in part:
            stored = vectors.get(row.id)
            found[row.id] = Memory(
                content=row.content,
                vector=None if stored is None else np.frombuffer(stored[1], "<f4").astype(float),
                author=row.author,
                role=None if row.role is None else str(row.role),
                session=row.session_id,
                sequence=row.sequence,
                title=row.title,
                origin=str(row.origin_type),
                t_valid_us=to_us(row.t_valid),
                times=_windows(row.times),
                entities=of.get(row.id, ()),
            )
    return found


def _keys(view: Any, namespace: str, ids: set[str]) -> Mapping[str, str]:
    return {one.id: one.norm_key for one in view.entities(namespace, sorted(ids))}


def _queries(
    context: Context,
    view: Any,
    benchmark: Benchmark,
    held: Holdings,
    vectors: RememberingEmbedder,
) -> dict[str, Query]:
    namespace = context.namespace
    embedded = vectors.matrix([query.text for query in benchmark.queries])
    found = {}
    for query, vector in zip(benchmark.queries, embedded, strict=True):
        at = (
            to_us(held.ends[query.conversation])
            if query.date is None
            else parse_time(query.date, "date")
        )
        meant = [id for id, _ in query_entities(context, view, query.text)]
        keys = _keys(view, namespace, set(meant))
        found[query.id] = Query(
            text=query.text,
            vector=vector.astype(float),
            windows=[
                (one.window_start_us, one.window_end_us, one.text)
                for one in temporal.find_windows(query.text, at)
            ],
            entities=[keys[id] for id in meant],
        )
    return found


class Source:
    """The questions of a benchmark; `late` false: without late interaction."""

    def __init__(
        self, benchmark: Benchmark, vectors: RememberingEmbedder, *, late: bool = True
    ) -> None:
        self._benchmark = benchmark
        self._vectors = vectors
        self._late = late
        self._graphs: dict[str | None, tuple[Eligible, Mentions]] = {}
        self._queries: dict[str, Query] = {}

    def questions(self) -> list[Question]:
        """All of them, in the order of the benchmark."""
        with AskedStore([self._benchmark], self._vectors, self._weighing()) as asked:
            self._read(asked)
            config = asked.config({})
            places = {name: place for place, name in enumerate(self._benchmark.units)}
            return [
                self._question(asked, config, query, number, places)
                for number, query in enumerate(self._benchmark.queries)
            ]

    def _weighing(self) -> dict[str, Any]:
        """Every term weighs something, so that the core computes it; nobody walks."""
        names = [*FIRST_TERMS, *(TERMS.late if self._late else ())]
        weights = {
            f"m5.signals.weights.{origin}.{name}": 1.0
            for origin in ORIGINS
            for name in names
            if origin == "chat_peer" or name not in TERMS.late
        }
        whole = {
            "m5.signals.late.pool": POOL_OF_ALL,
            "m5.traversal.enabled": False,
            "m5.start_node.direct_pool": "all",
        }
        return {**weights, **whole}

    def _read(self, asked: AskedStore) -> None:
        """What the definitions of the later terms need."""
        rows = [row for found in asked.memories.values() for row in found]
        held = asked.held[self._benchmark.name]

        def reading(view: Any, _core: Any) -> tuple[dict[str, Memory], dict[str, Query]]:
            return _definitions(view, rows), _queries(
                asked.context, view, self._benchmark, held, self._vectors
            )

        self._memories, self._queries = asked.context.keeper.run(reading)

    def _graph(self, asked: AskedStore, conversation: str | None) -> tuple[Eligible, Mentions]:
        found = self._graphs.get(conversation)
        if found is None:
            own = [self._memories[row.id] for row in asked.memories[conversation]]
            found = Eligible(own), Mentions([memory.entities for memory in own])
            self._graphs[conversation] = found
        return found

    def _question(
        self,
        asked: AskedStore,
        config: Any,
        query: Labelled,
        number: int,
        places: Mapping[str | None, int],
    ) -> Question:
        rows = asked.memories[query.conversation]
        ids = [row.id for row in rows]
        fields = asked.case(self._benchmark, query)
        scan = asked.scan(query.text, config, watch=ids, limit=1, **fields)
        told = by_id(scan)
        signals = [told[id].signals for id in ids]
        own = self._queries[query.id]

        def made_after(level: NDArray[np.float64]) -> NDArray[np.float64]:
            eligible, mentions = self._graph(asked, query.conversation)
            made = after(eligible, mentions, level, own)
            return np.array([normalised(made[name]) for name in AFTER_TERMS]).T

        late = None
        if self._late and scan.maxima[PLACE["late.mean"]] is not None:
            late = columns(signals, TERMS.late, 0)
        held = asked.held[self._benchmark.name]
        origins = [str(row.origin_type) for row in rows]
        return Question(
            id=query.id,
            set=self._benchmark.name,
            fold=(number if len(places) == 1 else places[query.conversation]) % FOLDS,
            origin=max(sorted(set(origins)), key=origins.count),
            category=query.category,
            units=[held.units_of[id] for id in ids],
            relevant=query.relevant,
            first=columns(signals, FIRST_TERMS, 1),
            after=made_after,
            late=late,
        )


def columns(
    signals: Sequence[Sequence[tuple[float | None, float | None]]],
    names: Sequence[str],
    part: int,
) -> NDArray[np.float32]:
    """Memories × terms, raw (part 0) or normalised (part 1); what is unavailable is 0."""
    places = [PLACE[name] for name in names]
    return np.array([[row[at][part] or 0.0 for at in places] for row in signals], np.float32)


def questions(
    benchmark: Benchmark, vectors: RememberingEmbedder, *, late: bool = True
) -> list[Question]:
    """The questions of a benchmark; `late` false: without late interaction."""
    return Source(benchmark, vectors, late=late).questions()
