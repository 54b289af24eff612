"""Retrieval measured on labelled benchmarks, beside a single recall of the same question.

Each conversation of a benchmark is imported as a scope. Every question is the last message of a
conversation with an agent: once alone, and once after four turns that stand together in its
conversation and hold none of its evidence. It is asked where it belongs, and in the conversation
before its own, which does not answer it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from benchmarks.reader import Benchmark, Query, Unit
from benchmarks.report import RetrievalBenchmark, RetrievalRow
from benchmarks.run import CachedEmbedder, StoredUnits, import_benchmark, stored_units
from vestig.api.store import Vestig
from vestig.calls.opening import OpenRequest
from vestig.config import Config
from vestig.evaluation.intervals import SEED, differences, estimates
from vestig.evaluation.replay import CUTS, Retrieval, columns, figures, retrieval_scores
from vestig.ids import repeatable_ids
from vestig.ports import Progress
from vestig.session.opening import MEMORY_PATH, open_session

# Turns before the question, in the second row.
TURNS_BEFORE: Final = 4
# Every fact is counted, however long.
_BUDGET: Final = 1_000_000
_ALONE: Final = "alone"
_AFTER: Final = f"after {TURNS_BEFORE} turns"


class _LabelledQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question in a conversation, and the turns before it."""

    query: Query
    conversation: str | None
    before: tuple[Unit, ...]

    @property
    def belongs(self) -> bool:
        """Return whether it is a question of this conversation."""
        return self.query.conversation == self.conversation


def evaluate_retrieval(
    benchmarks: Sequence[Benchmark],
    config: Config,
    vectors: CachedEmbedder,
    *,
    sample: int | None = None,
    progress: Progress | None = None,
) -> tuple[RetrievalBenchmark, ...]:
    """Measures `retrieve` on labelled benchmarks beside a single recall.

    Args:
        sample: so many questions of each benchmark, drawn by a fixed seed; None = all.
        progress: called with (questions asked, questions in all).
    """
    chosen = [_sampled(one, sample) for one in benchmarks]
    steps = _Steps(progress, 2 * sum(len(list(_asked(one, False))) for one in chosen))
    found = []
    for benchmark in chosen:
        request = OpenRequest(path=MEMORY_PATH, config=config, embedder=vectors)
        with Vestig(open_session(request)) as store:
            with repeatable_ids(benchmark.digest):
                import_benchmark(store, benchmark)
            run = _Run(store, benchmark, stored_units(store, benchmark), steps)
            found.append(run.report(config))
    return tuple(found)


class _Steps:
    """Progress over all questions."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def add(self) -> None:
        """Counts one question."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


def _sampled(benchmark: Benchmark, count: int | None) -> Benchmark:
    """The benchmark with so many of its questions, in their order."""
    if count is None or count >= len(benchmark.queries):
        return benchmark
    places = sorted(random.Random(SEED).sample(range(len(benchmark.queries)), count))
    return msgspec.structs.replace(
        benchmark, queries=tuple(benchmark.queries[place] for place in places)
    )


def _asked(benchmark: Benchmark, after: bool) -> Iterator[_LabelledQuestion]:
    """Every question in its own conversation, and where there are several, in the one before."""
    queries_of: dict[str | None, list[Query]] = {}
    for query in benchmark.queries:
        queries_of.setdefault(query.conversation, []).append(query)
    names = list(queries_of)
    for place, conversation in enumerate(names):
        following = names[(place + 1) % len(names)]
        for name in dict.fromkeys((conversation, following)):
            for query in queries_of[name]:
                before = _turns(benchmark, query, conversation) if after else ()
                yield _LabelledQuestion(query=query, conversation=conversation, before=before)


def _turns(benchmark: Benchmark, query: Query, conversation: str | None) -> tuple[Unit, ...]:
    """Four adjacent turns of a conversation that are no evidence, drawn by the question; fewer
    where it has no four such."""
    units = benchmark.units[conversation]
    relevant = query.relevant if query.conversation == conversation else frozenset()
    chance = random.Random(f"{SEED}/{conversation}/{query.conversation}/{query.id}")
    for length in range(min(TURNS_BEFORE, len(units)), 0, -1):
        starts = [
            start
            for start in range(len(units) - length + 1)
            if relevant.isdisjoint(unit.id for unit in units[start : start + length])
        ]
        if starts:
            start = chance.choice(starts)
            return units[start : start + length]
    return ()


class _Run:
    """The questions of one benchmark against one store."""

    def __init__(
        self, store: Vestig, benchmark: Benchmark, stored: StoredUnits, steps: _Steps
    ) -> None:
        self._store = store
        self._benchmark = benchmark
        self._stored = stored
        self._steps = steps
        self._ids_of: dict[tuple[str | None, str], list[str]] = {}
        self._units_of_text: dict[tuple[str | None, str], set[str]] = {}
        for id, units in stored.units_of.items():
            scope = stored.scope_of[id]
            for unit in units:
                self._ids_of.setdefault((scope, unit), []).append(id)
            self._units_of_text.setdefault((scope, stored.text_of[id]), set()).update(units)

    def report(self, config: Config) -> RetrievalBenchmark:
        """Both rows."""
        benchmark = self._benchmark
        return RetrievalBenchmark(
            name=benchmark.name,
            digest=benchmark.digest,
            units=benchmark.unit_count,
            units_missing=self._stored.missing,
            conversations=len(benchmark.units),
            questions=len(benchmark.queries),
            rows=(self._row(_ALONE, False), self._row(_AFTER, True)),
            settings={key: entry.value for key, entry in config.every_value().items()},
        )

    def _row(self, name: str, after: bool) -> RetrievalRow:
        own: list[Retrieval] = []
        foreign: list[Retrieval] = []
        recalled: list[dict[str, float]] = []
        for asked in _asked(self._benchmark, after):
            retrieval = self._retrieval(asked)
            if asked.belongs:
                own.append(retrieval)
                recalled.append(self._recalled(asked))
            else:
                foreign.append(retrieval)
            self._steps.add()
        ours = columns([retrieval_scores(one.ranked, one.relevant) for one in own])
        theirs = columns(recalled)
        return RetrievalRow(
            name=name,
            own=figures(own),
            foreign=figures(foreign) if foreign else None,
            recall=estimates(theirs),
            against_recall=differences(ours, theirs),
        )

    def _retrieval(self, asked: _LabelledQuestion) -> Retrieval:
        query = asked.query
        messages: list[dict[str, Any]] = [
            {"content": unit.text, "author": unit.author, "message_id": unit.id}
            for unit in asked.before
        ]
        result = self._store.retrieve(
            [*messages, {"content": query.text}],
            scope=asked.conversation,
            max_facts=CUTS[-1],
            budget=_BUDGET,
            query_time=self._stored.when(query, asked.conversation),
            debug=True,
        )
        ids = [detail.memory_id for detail in result.details or ()]
        return Retrieval.of(
            result,
            [self._units(id) for id in ids],
            query.relevant if asked.belongs else (),
            focus=query.text,
        )

    def _units(self, id: str) -> set[str]:
        """The units that a memory, or another one of its text in its scope, was made of."""
        return self._units_of_text[self._stored.scope_of[id], self._stored.text_of[id]]

    def _recalled(self, asked: _LabelledQuestion) -> dict[str, float]:
        """The metrics of a single recall of the question, at each cut with a limit of its own; the
        turns before it are left out, as they are of the retrieval."""
        query, conversation = asked.query, asked.conversation
        left_out = [
            id for unit in asked.before for id in self._ids_of.get((conversation, unit.id), ())
        ]
        found: dict[str, float] = {}
        for cut in CUTS:
            answer = self._store.recall(
                query.text,
                limit=cut,
                all=True,
                scope=conversation,
                query_time=self._stored.when(query, conversation),
                where={"exclude_ids": left_out},
                config={"recall.reasons.enabled": False},
            )
            scores = retrieval_scores([self._units(hit.id) for hit in answer], query.relevant)
            found |= {name: value for name, value in scores.items() if name.endswith(f"@{cut}")}
        return found
