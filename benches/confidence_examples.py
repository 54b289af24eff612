"""Questions that memories answer and do not answer, with what a scan says of them.

Every set is asked in a store of its own; notes also in small blocks of a conversation, and several
sets in one store without scopes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import msgspec

from benchmark_store import BenchmarkStore
from learning import FOLDS
from vestig.evaluation.benchmark_run import StoredUnits
from vestig.evaluation.benchmarks import Benchmark, Query
from vestig.evaluation.cached_embedder import CachedEmbedder
from vestig.evaluation.calibration import FOREIGN, REMOVED
from vestig.evaluation.unanswerable_questions import (
    ANSWERABLE,
    RESULTS,
    Case,
    NearMemories,
    cases,
)
from vestig.ids import id_text
from vestig.recall.confidence import SEVERAL, features

SMALL = "/small"
MIXED = "mixed"
# Origins of which one set each is part of the common store.
TOGETHER = ("chat_peer", "document", "note", SEVERAL)
# Blocks of each conversation of notes, and how many notes each holds.
BLOCKS = 8
BLOCK_SIZES = (20, 60)
FOREIGN_MIN = 8
# Of a mixed store, every so many-th question.
EVERY = 3
# Questions that are asked together.
AT_ONCE = 64


@dataclass(frozen=True)
class Example:
    """One question and the results that it gets.

    Attributes:
        kind: of the features.
        finals: final scores of the best results.
        relevant: whether each of them answers the question.
    """

    set: str
    population: str
    fold: int
    kind: str
    numbers: Mapping[str, float]
    finals: Sequence[float]
    relevant: Sequence[bool]


class ExampleQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question with its population, the arguments of `recall` beside it, and its fold."""

    population: str
    query: Query
    fields: Mapping[str, Any]
    fold: int


def by_chance(*named: object) -> int:
    """A whole number that follows from names alone."""
    text = "\0".join(map(str, named))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def some_of(queries: Sequence[Query], count: int, *named: object) -> list[Query]:
    """`count` of these questions, drawn by the hash of `named` and their ids."""
    return sorted(queries, key=lambda query: by_chance(*named, query.id))[:count]


def examples(
    name: str, store: BenchmarkStore, held: StoredUnits, asked: Sequence[ExampleQuestion]
) -> Iterator[Example]:
    """What the questions get; those without any eligible memory are left out."""

    def together(one: ExampleQuestion) -> str:
        return f"{one.population} {sorted(one.fields.items())}"

    for _, alike in groupby(sorted(asked, key=together), together):
        group = list(alike)
        for start in range(0, len(group), AT_ONCE):
            some = group[start : start + AT_ONCE]
            texts = [one.query.text for one in some]
            found = store.ranked(texts, limit=RESULTS, **some[0].fields)
            for one, (bound, ranked) in zip(some, found, strict=True):
                scan = ranked.scan
                what = features(scan, bound.confidence_input(scan))
                if what is None:
                    continue
                rows = ranked.rows[:RESULTS]
                answers = [
                    one.population == ANSWERABLE
                    and not one.query.relevant.isdisjoint(
                        held.units_of.get(id_text("mem", row.id), ())
                    )
                    for row in rows
                ]
                yield Example(
                    set=name,
                    population=one.population,
                    fold=one.fold,
                    kind=what.kind,
                    numbers=what.values,
                    finals=[row.final_score for row in rows],
                    relevant=answers,
                )


def own_store(
    benchmark: Benchmark, others: Sequence[Benchmark], store: BenchmarkStore
) -> Iterator[ExampleQuestion]:
    """Every question of a set as it is, without its evidence, and in the next conversation.

    Args:
        others: where foreign questions come from if the set is one conversation.
    """
    held = store.stored[benchmark.name]
    found = list(cases(store.session, benchmark, held))
    names = list(dict.fromkeys(case.conversation for case in found))
    if len(names) == 1:
        found += [
            Case(population=FOREIGN, query=query, conversation=names[0])
            for other in others
            for query in other.queries
        ]
    numbers = Counter[str]()
    for case in found:
        place = names.index(case.conversation)
        if len(names) == 1:
            place = numbers[case.population]
            numbers[case.population] += 1
        yield ExampleQuestion(
            population=case.population,
            query=case.query,
            fields=case.fields(held),
            fold=place % FOLDS,
        )


def small_stores(
    benchmark: Benchmark, others: Sequence[Benchmark], store: BenchmarkStore
) -> Iterator[ExampleQuestion]:
    """Blocks of the notes of a conversation, with the questions that each answers. Foreign are
    those of the next conversation, and as many of other sets."""
    held = store.stored[benchmark.name]
    names = list(benchmark.units)
    for place, name in enumerate(names):
        ids = [one.id for one in store.memories[name] if one.origin_type == "note"]
        near = NearMemories(store.session, held, name)
        own = [query for query in benchmark.queries if query.conversation == name]
        following = names[(place + 1) % len(names)]
        next_ones = [query for query in benchmark.queries if query.conversation == following]
        elsewhere = [query for other in others for query in other.queries]
        for number in range(BLOCKS):
            least, most = BLOCK_SIZES
            size = least + by_chance("size", name, number) % (most - least + 1)
            drawn = {id: by_chance(name, number, held.units_of[id]) for id in ids}
            block = sorted(ids, key=drawn.__getitem__)[:size]
            units = {unit for id in block for unit in held.units_of[id]}
            answered = [query for query in own if query.relevant <= units]
            foreign = [
                query
                for queries in (next_ones, elsewhere)
                for query in some_of(queries, max(FOREIGN_MIN, len(answered)), name, number)
            ]
            for population, queries in (
                (ANSWERABLE, answered),
                (REMOVED, answered),
                (FOREIGN, foreign),
            ):
                for query in queries:
                    left_out = near.evidence(query) if population == REMOVED else ()
                    kept = tuple(id for id in block if id not in left_out)
                    if not kept:
                        continue
                    yield ExampleQuestion(
                        population=population,
                        query=query,
                        fields={
                            "scope": name,
                            "query_time": held.when(query, name),
                            "where": {"ids": kept},
                        },
                        fold=place % FOLDS,
                    )


def mixed_store(benchmark: Benchmark, store: BenchmarkStore) -> Iterator[ExampleQuestion]:
    """Questions of one of several sets, asked without scopes: as they are, without their evidence,
    and without their conversation. Of a conversation that another set tells too, only the own
    memories are there: the others answer the questions as well."""
    held = store.stored[benchmark.name]
    scopes = {scope for one in store.stored.values() for scope in one.scope_of.values()}
    names = list(benchmark.units)
    for place, name in enumerate(names):
        here = [memory.id for memory in store.memories[name]]
        twins = [id for id in here if not held.units_of.get(id)]
        near = NearMemories(store.session, held, name)
        own = [query for query in benchmark.queries if query.conversation == name]
        for number, query in enumerate(own[::EVERY]):
            removed = sorted({*twins, *near.evidence(query)})
            elsewhere = sorted(scope for scope in scopes if scope not in (None, name))
            for population, fields in (
                (ANSWERABLE, {"where": {"exclude_ids": tuple(twins)}}),
                (REMOVED, {"where": {"exclude_ids": tuple(removed)}}),
                (FOREIGN, {"scope": tuple(elsewhere)}),
            ):
                yield ExampleQuestion(
                    population=population,
                    query=query,
                    fields={**fields, "query_time": held.when(query, name)},
                    fold=(place if len(names) > 1 else number) % FOLDS,
                )


def mixture(
    benchmarks: Sequence[Benchmark], vectors: CachedEmbedder, settings: Mapping[str, Any]
) -> Iterator[Example]:
    """All examples: each set in a store of its own, notes in small ones, and in one store the first
    set of people, of documents, of notes and of several origins."""
    together: dict[str, Benchmark] = {}
    for place, benchmark in enumerate(benchmarks):
        others = [one for at, one in enumerate(benchmarks) if at != place]
        alone = [one for one in others if len({q.conversation for q in one.queries}) == 1]
        with BenchmarkStore([benchmark], vectors, settings) as store:
            held = store.stored[benchmark.name]
            found = list(
                examples(
                    benchmark.name, store, held, list(own_store(benchmark, alone or others, store))
                )
            )
            yield from found
            several = any(one.kind == SEVERAL for one in found)
            if several or held.origin == "note":
                asked = list(small_stores(benchmark, others, store))
                yield from examples(benchmark.name + SMALL, store, held, asked)
        kind = SEVERAL if several else held.origin
        if kind in TOGETHER:
            together.setdefault(kind, benchmark)
    if len(together) > 1:
        with BenchmarkStore(list(together.values()), vectors, settings) as store:
            for benchmark in together.values():
                asked = list(mixed_store(benchmark, store))
                yield from examples(MIXED, store, store.stored[benchmark.name], asked)
