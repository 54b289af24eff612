"""A benchmark in a store, and its run: which units recall finds for each question, and how fast.

The rank of a unit is that of the best memory that contains it; units of one memory follow the
order of the corpus. For a cut k the limit of recall is k memories, doubled until k distinct units
are found.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from vestig.api.store import Vestig
from vestig.config import Config
from vestig.config.schema import Settings
from vestig.embedders.checked import checked_embedder
from vestig.errors import ValidationError
from vestig.evaluation.benchmarks import SHIPPED, Benchmark, Query
from vestig.evaluation.cached_embedder import CachedEmbedder, cached_embedder
from vestig.evaluation.document_corpus import passages
from vestig.evaluation.metrics import CUTS, DEPTH, Tally
from vestig.evaluation.report import CutFigures, Latency
from vestig.evaluation.variants import Variant
from vestig.ports import Embedder
from vestig.registry import make_embedder


def benchmark_folders(given: Any) -> list[Any]:
    """The folders that a caller names; None = the benchmark that comes with the package.

    Raises:
        ValidationError: none, or no paths.
    """
    if given is None:
        return [SHIPPED]
    if isinstance(given, (str, os.PathLike)):
        return [given]
    folders = list(given)
    if not folders or not all(isinstance(one, (str, os.PathLike)) for one in folders):
        raise ValidationError("benchmarks", type(given).__name__, "folders of benchmarks")
    return folders


def vectors_of(
    config: Config, embedder: Embedder | None, cache: str | os.PathLike[str] | None
) -> CachedEmbedder:
    """The embedder of all benchmarks; vectors of other settings are kept apart."""
    settings = config.settings.embedding
    inner = make_embedder(settings) if embedder is None else checked_embedder(embedder)
    plain = "" if settings.normalize else "plain"
    return cached_embedder(inner, None if cache is None else Path(cache).expanduser(), plain)


def finish_jobs(store: Vestig) -> None:
    """Runs the job queue until it is empty: its results are part of what recall finds."""
    while store.admin.enrich().done:
        pass


def import_benchmark(store: Vestig, benchmark: Benchmark) -> tuple[int, int]:
    """Imports the files of a benchmark, each conversation as a scope, and runs the job queue until
    it is empty: its results are part of what recall finds.

    Returns:
        How many lines were refused, and how many failed.
    """
    rejected = failed = 0
    for conversation, corpus in benchmark.corpora:
        units = _documents(corpus) if corpus.is_dir() else corpus
        report = store.import_(units, format="messages", scope=conversation)
        rejected, failed = rejected + report.rejected, failed + report.failed
    finish_jobs(store)
    return rejected, failed


def _documents(folder: Path) -> IO[bytes]:
    """The passages of documents as lines of JSON."""
    return io.BytesIO(b"\n".join(msgspec.json.encode(row) for _, row in passages(folder)))


_PAGE: Final = 1_000
# The limit of the recalls whose latency is measured.
_TIMED_CUT: Final = 10
# Results that the automatic cut is applied to.
_CUT_OF: Final = 20


class StoredUnits(msgspec.Struct, kw_only=True):
    """Where the units of a benchmark lie in a store.

    `units_of`, `scope_of` and `text_of` (the hash of its text): by memory id. `ends`: conversation
    → latest `t_valid`. `origin`: the most frequent origin type of memories with units. `missing`:
    number of units in no memory.
    """

    units_of: dict[str, tuple[str, ...]] = {}
    scope_of: dict[str, str | None] = {}
    text_of: dict[str, str] = {}
    ends: dict[str | None, Any] = {}
    origin: str | None = None
    missing: int = 0

    def when(self, query: Query, conversation: str | None) -> Any:
        """The query time of a question: its date, else the end of the conversation."""
        return self.ends.get(conversation) if query.date is None else query.date


def _memories(store: Vestig) -> Iterator[Any]:
    offset = 0
    while page := store.list(offset=offset, limit=_PAGE).memories:
        yield from page
        offset += len(page)


def stored_units(store: Vestig, benchmark: Benchmark) -> StoredUnits:
    """Reads the references of all memories back from the event log."""
    place = {
        (conversation, unit.id): number
        for conversation, units in benchmark.units.items()
        for number, unit in enumerate(units)
    }
    stored = StoredUnits()
    found: set[tuple[str | None, str]] = set()
    origins: dict[str, int] = {}
    for memory in _memories(store):
        references = {event.artifact_ref or "" for event in store.events(memory.id)}
        units = [unit for unit in references if (memory.scope, unit) in place]
        units.sort(key=lambda unit: place[memory.scope, unit])
        stored.units_of[memory.id] = tuple(units)
        stored.scope_of[memory.id] = memory.scope
        stored.text_of[memory.id] = memory.content_hash
        found.update((memory.scope, unit) for unit in units)
        stored.ends[memory.scope] = max(
            memory.t_valid, stored.ends.get(memory.scope, memory.t_valid)
        )
        if units:
            origin = str(memory.origin_type)
            origins[origin] = origins.get(origin, 0) + 1
    stored.missing = len(place) - len(found)
    stored.origin = max(sorted(origins), key=origins.__getitem__, default=None)
    return stored


def _limit_matters(settings: Settings) -> bool:
    """Return whether the limit of a recall can change the order of its results: by walk or pool."""
    ranking = settings.ranking
    return ranking.enabled and (settings.walk.enabled or ranking.pool != "all")


class BenchmarkRun:
    """The recalls of one row; `degraded` collects the codes of weaker paths."""

    def __init__(self, store: Vestig, stored: StoredUnits, variant: Variant) -> None:
        assert variant.config is not None
        self._store = store
        self._stored = stored
        self._profile = variant.profile
        self._config = dict(variant.overrides)
        # equal results in the same order, without their reasons
        self._unexplained = {**variant.overrides, "m5.explainability.enabled": False}
        self._each_cut = _limit_matters(variant.config.settings)
        self._times_ms: list[float] = []
        self.degraded: set[str] = set()

    def tally(self, benchmark: Benchmark, done: Callable[[int], None]) -> Tally:
        """Ranks and metrics of every question; calls `done(1)` after each."""
        tally = Tally()
        for query in benchmark.queries:
            tally.add(self.rankings(query), query.relevant, query.outdated)
            done(1)
        return tally

    def latency(self) -> Latency:
        """Percentiles of the recalls so far, in ms."""
        import numpy as np

        p50, p95 = np.percentile(self._times_ms, [50, 95])
        return Latency(p50_ms=float(p50), p95_ms=float(p95), limit=_TIMED_CUT)

    def rankings(self, query: Query) -> dict[int, list[str]]:
        """Distinct units, best first, for each cut; deeper only where no cut found a relevant
        one."""
        started = time.perf_counter()
        timed = self._hits(query, _TIMED_CUT, self._config)
        self._times_ms.append(1e3 * (time.perf_counter() - started))
        if self._each_cut:
            found = {
                cut: self._ranked(query, cut, timed if cut == _TIMED_CUT else None) for cut in CUTS
            }
        else:
            found = dict.fromkeys(CUTS, self._ranked(query, CUTS[-1]))
        if query.relevant.isdisjoint(found[CUTS[-1]]):
            found[DEPTH] = self._ranked(query, DEPTH)
        return found

    def cut(self, benchmark: Benchmark) -> CutFigures | UnsetType:
        """Return what the automatic cut keeps; UNSET where results have no confidence."""
        precision, recall, results = [], [], []
        for query in benchmark.queries:
            answer = self._store.recall(
                query.text,
                limit=_CUT_OF,
                cut="auto",
                scope=query.conversation,
                query_time=self._stored.when(query, query.conversation),
                until=query.until,
                profile=self._profile,
                config=self._unexplained,
            )
            if answer.confidence is None:
                return UNSET
            units = [self._stored.units_of[hit.id] for hit in answer.results]
            right = [not query.relevant.isdisjoint(own) for own in units]
            found = query.relevant.intersection(unit for own in units for unit in own)
            recall.append(len(found) / len(query.relevant))
            results.append(len(units))
            if units:
                precision.append(sum(right) / len(right))
        return CutFigures(
            precision=sum(precision) / len(precision) if precision else None,
            recall=sum(recall) / len(recall),
            results=sum(results) / len(results),
        )

    def _hits(self, query: Query, limit: int, config: dict[str, Any]) -> list[list[str]]:
        """Ids of the results of one recall, in the query's conversation and at its time, each with
        those of its repeats."""
        conversation = query.conversation
        answer = self._store.recall(
            query.text,
            limit=limit,
            scope=conversation,
            query_time=self._stored.when(query, conversation),
            until=query.until,
            profile=self._profile,
            config=config,
        )
        self.degraded.update(entry.code for entry in answer.degraded)
        return [[hit.id, *(repeat.id for repeat in hit.repeats)] for hit in answer.results]

    def _ranked(self, query: Query, wanted: int, hits: list[list[str]] | None = None) -> list[str]:
        """The best `wanted` distinct units; fewer where the store has no more. A unit ranks where
        the result does that has its text."""
        limit = wanted
        while True:
            found = self._hits(query, limit, self._unexplained) if hits is None else hits
            ids = (id for group in found for id in group)
            units = list(dict.fromkeys(u for id in ids for u in self._stored.units_of[id]))
            if len(units) >= wanted or len(found) < limit:
                return units[:wanted]
            limit, hits = limit * 2, None
