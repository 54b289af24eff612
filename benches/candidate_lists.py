"""Lists of candidates for each labelled question, with the signals that recall computes for them.

Each benchmark has a store of its own, in which a question sees the scope of its conversation. A
mixed store holds all of them without scopes, so that memories of several origins compete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_store import BenchmarkStore, by_id, unit_of
from learning import FOLDS, GROUPS, PLACE, Form, Listed, Values, grouped
from vestig.config import Config
from vestig.config.signals import ORIGINS, SIGNALS
from vestig.evaluation.benchmark_run import StoredUnits
from vestig.evaluation.benchmarks import Benchmark, Query
from vestig.evaluation.cached_embedder import CachedEmbedder

MIXED = "mixed/"
# Candidates by each of cosine with words, cosine, and the entity walk; and of a mixed store.
CANDIDATES = 120
CANDIDATES_MIXED = 240
# The pool of late interaction holds every candidate: outside of it the signal is 0, and the fit
# would learn which candidates are in the pool.
LATE_POOL = 1_000
# A term that weighs nothing is not computed.
ALMOST_NOTHING = 1e-9
# Weights before the first fit: they choose the start nodes of walks and the pool of late
# interaction.
BY_HAND = {"cosine": 4.0, "lexical": 4.0}

Weights = Mapping[str, Mapping[str, float]]


def settings(form: Form, weights: Weights | None) -> dict[str, Any]:
    """Keys with which recall computes every term of the form, ranked by these weights."""
    keys: dict[str, Any] = {
        f"signals.{term.partition('.')[0]}.enabled": True for _, term in form.columns
    }
    keys["signals.late.pool"] = LATE_POOL
    for origin, group in zip(ORIGINS, grouped(ORIGINS), strict=True):
        given = BY_HAND if weights is None else weights[GROUPS[group]]
        own = {"cosine", "lexical", "entity_walk"}.union(t for g, t in form.columns if g == group)
        for term in own:
            key = f"ranking.weights.{origin}.{term}"
            keys[key] = given.get(term, 0.0) or ALMOST_NOTHING
        if weights is not None:
            keys[f"ranking.weights.{origin}.bias"] = given["bias"]
    return keys


def folds(benchmark: Benchmark, every: int) -> Iterator[tuple[Query, int]]:
    """Every `every`-th question with its fold: by conversation, or by question where there are
    fewer conversations than folds."""
    conversations = sorted({query.conversation or "" for query in benchmark.queries})
    for number, query in enumerate(benchmark.queries[::every]):
        many = len(conversations) >= FOLDS
        place = conversations.index(query.conversation or "") if many else number
        yield query, place % FOLDS


class CandidateLists:
    """Makes the lists from stores that are filled once.

    Args:
        mixed: also a store of all benchmarks; their conversations have distinct names.
    """

    def __init__(
        self, benchmarks: Sequence[Benchmark], vectors: CachedEmbedder, mixed: bool
    ) -> None:
        self._benchmarks = benchmarks
        self._alone = {one.name: BenchmarkStore([one], vectors) for one in benchmarks}
        self._mixed = BenchmarkStore(benchmarks, vectors) if mixed else None

    def lists(self, form: Form, weights: Weights | None, every: int) -> Iterator[Listed]:
        """The lists of all questions; `weights`: None = `BY_HAND`."""
        keys = settings(form, weights)
        for benchmark in self._benchmarks:
            for store in (self._alone[benchmark.name], self._mixed):
                if store is None:
                    continue
                config = store.config(keys)
                one = _BenchmarkLists(store, benchmark, config, form, mixed=store is self._mixed)
                for query, fold in folds(benchmark, every):
                    yield one.listed(query, fold)


class _BenchmarkLists:
    """The lists of one benchmark in one store."""

    def __init__(
        self,
        store: BenchmarkStore,
        benchmark: Benchmark,
        config: Config,
        form: Form,
        *,
        mixed: bool,
    ) -> None:
        self._store, self._benchmark, self._config, self._form = store, benchmark, config, form
        self._mixed = mixed
        self._origin = {
            memory.id: str(memory.origin_type) for own in store.memories.values() for memory in own
        }

    @property
    def _stored(self) -> StoredUnits:
        return self._store.stored[self._benchmark.name]

    @staticmethod
    def _terms(rows: Mapping[str, Any], ids: Sequence[str]) -> Values:
        return np.array([[rows[id].signal(name)[1] or 0.0 for name in SIGNALS] for id in ids])

    def listed(self, query: Query, fold: int) -> Listed:
        fields = self._store.case(self._benchmark, query)
        if self._mixed:
            del fields["scope"]
            fields["limit"] = CANDIDATES_MIXED
        own = [memory.id for memory in self._store.memories[query.conversation]]
        wanted = frozenset(query.relevant)
        answers = {id for id in own if not wanted.isdisjoint(self._stored.units_of.get(id, ()))}
        rows = by_id(self._store.scan(query.text, self._config, own, **fields))
        own = [id for id in own if id in rows]
        # a memory of the conversation is a candidate by the same rule in both stores
        best = _best(self._terms(rows, own))
        chosen = {id for id, one in zip(own, best, strict=True) if one}
        ids = sorted(chosen | answers | (rows.keys() - set(own)))
        terms = self._terms(rows, ids)
        return Listed(
            set=MIXED * self._mixed + self._benchmark.name,
            fold=fold,
            design=self._form.design(terms, grouped([self._origin[id] for id in ids])),
            units=[self._store.units(id) for id in ids],
            relevant=frozenset(unit_of(query.conversation, unit) for unit in wanted),
        )


def _best(terms: Values) -> NDArray[np.bool_]:
    cosine, lexical = terms[:, PLACE["cosine"]], terms[:, PLACE["lexical"]]
    chosen = np.zeros(len(terms), bool)
    for key in (cosine + lexical, cosine, terms[:, PLACE["entity_walk"]]):
        chosen[np.argsort(-key, kind="stable")[:CANDIDATES]] = True
    return chosen


def question_count(benchmarks: Sequence[Benchmark], every: int) -> dict[str, Any]:
    """Data of a report: the number of questions and the hash of each benchmark."""
    return {
        one.name: {"questions": len(one.queries[::every]), "sha256": one.digest}
        for one in benchmarks
    }
