"""Lists of candidates for each labelled question, with the terms that recall computes for them.

Each benchmark has a store of its own, in which a question sees the scope of its conversation; its
lists hold every row. A common store holds several of them without scopes, so that memories of
several origins compete; its lists hold the best of each origin and of the question's own
conversation."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np

from benchmark_store import BenchmarkStore, unit_of
from learning import FOLDS, Listed, Unit, Values
from vestig.config import Config
from vestig.config.signals import CANDIDATE_TERMS, EVIDENCE, ORIGINS, SIGNALS, TOKEN_TERMS
from vestig.config.weights import NAMES, learned
from vestig.evaluation.benchmarks import Benchmark, Query
from vestig.evaluation.cached_embedder import CachedEmbedder
from vestig.ids import id_text

MIXED = "mixed/"
# Notes without their sittings, and in sittings of so many by chance.
APART, RANDOM = "/apart", "/random"
TOGETHER = 9
# What no weight is fitted to: off by default, or constant in documents.
NOT_OFFERED = ("questions", "rerank", "recency")
OFFERED = tuple(name for name in SIGNALS if not name.startswith(NOT_OFFERED))
# Terms that are made of word pieces.
COMPARED = np.isin(OFFERED, TOKEN_TERMS)
# Terms of the sum that chooses where walks begin.
FIRST_SUM = ~COMPARED & np.array(
    [not term.startswith(("entity_walk", "pair", "title")) for term in OFFERED]
)
COSINE, LEXICAL = OFFERED.index("cosine"), OFFERED.index("lexical")
# The best of a common store, and of the question's own conversation there.
CANDIDATES = 400
OWN_CANDIDATES = 100
# Every row has late terms: with a pool the fit would learn which rows are in it.
ALL = 1_000_000
# A term that weighs nothing is not computed.
ALMOST_NOTHING = 1e-9
# What evidence counts where none is learned.
NOTHING = {name: neutral for name, (_, neutral) in EVIDENCE.items()}
# Evidence that makes the best of every origin level.
LEVEL = NOTHING | {"evidence.best": -1.0}
# Weights before the first fit: they choose the start nodes of walks.
BY_HAND = {"cosine": 4.0, "lexical": 4.0}
# Questions that name the wrong person on purpose count less.
ADVERSARIAL = "adversarial"
ADVERSARIAL_WEIGHT = 0.25

# origin → term → weight, `bias` among them
Weights = Mapping[str, Mapping[str, float]]


def settings(weights: Weights | None) -> dict[str, Any]:
    """Keys with which recall computes every offered term, ranked by these weights; None =
    `BY_HAND`."""
    keys: dict[str, Any] = {
        "walk.enabled": False,
        "ranking.tracerank_power": 0.0,
        "signals.late.pool": ALL,
    }
    for origin in ORIGINS:
        given = BY_HAND if weights is None else weights[origin]
        own = {"bias": given.get("bias", 0.0)}
        for term in SIGNALS:
            own[term] = given.get(term, 0.0) or (ALMOST_NOTHING if term in OFFERED else 0.0)
        own |= {name: own[term] for name, term in CANDIDATE_TERMS.items()}
        # the best of every origin are level, so that none keeps another one out
        keys |= {f"ranking.weights.{origin}.{name}": w for name, w in (own | LEVEL).items()}
    return keys


def in_place_of_learned(weights: Weights) -> dict[str, dict[str, float]]:
    """The same weights, and for all else that the package's file names what counts nothing: a
    configuration changes what it names alone. Candidates have the weights of their terms unless the
    origin has candidate weights.

    Example:
        >>> sorted(in_place_of_learned({"note": {"cosine": 1.0}})["note"])[:2]
        ['bias', 'bigram']
    """
    found = {}
    for origin, own in weights.items():
        candidates = {name: own[term] for name, term in CANDIDATE_TERMS.items() if term in own}
        if not CANDIDATE_TERMS.keys().isdisjoint(own):
            candidates = dict.fromkeys(candidates, 0.0)
        named = dict.fromkeys(learned()[origin], 0.0) | NOTHING | candidates | dict(own)
        found[origin] = {name: named[name] for name in NAMES if name in named}
    return found


def with_tokens(late: Collection[str]) -> dict[str, float]:
    """Keys with which texts of these origins, and of no other, are stored with their word
    pieces."""
    return {
        f"ranking.weights.{origin}.{term}": ALMOST_NOTHING if origin in late else 0.0
        for origin in ORIGINS
        for term in TOKEN_TERMS
    }


def questions(benchmark: Benchmark, every: int) -> Iterator[tuple[Query, int]]:
    """Every `every`-th question with its fold: by conversation, or by question where there is but
    one."""
    conversations = sorted({query.conversation or "" for query in benchmark.queries})
    for number, query in enumerate(benchmark.queries[::every]):
        place = conversations.index(query.conversation or "") if conversations[1:] else number
        yield query, place % FOLDS


class BenchmarkLists:
    """The lists of one benchmark in one store.

    Args:
        name: of the set.
        keys: of the configuration beside those of `settings`.
    """

    def __init__(
        self,
        store: BenchmarkStore,
        benchmark: Benchmark,
        name: str,
        keys: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self._store, self._benchmark = name, store, benchmark
        self._keys = dict(keys or {})
        self._mixed = len(store.stored) > 1
        memories = [memory for own in store.memories.values() for memory in own]
        self._count = len(memories)
        self._origin = {one.id: ORIGINS.index(str(one.origin_type)) for one in memories}
        self._units = {one.id: store.units(one.id) for one in memories}

    def lists(self, weights: Weights | None, every: int) -> Iterator[Listed]:
        """The list of each question, ranked by these weights."""
        keys = {**settings(weights), **self._keys}
        if self._mixed:
            keys["signals.late.pool"] = 128
        config = self._store.config(keys)
        for query, fold in questions(self._benchmark, every):
            yield self._listed(query, fold, config)

    def _rows(self, query: Query, config: Config) -> list[Any]:
        fields = self._store.case(self._benchmark, query)
        if not self._mixed:
            return list(self._store.scan(query.text, config, limit=self._count, **fields).rows)
        del fields["scope"]
        own = [memory.id for memory in self._store.memories[query.conversation]]
        scan = self._store.scan(query.text, config, own, limit=CANDIDATES, **fields)
        answers = [row for row in scan.watched if self._answers(row, query)]
        near = sorted(scan.watched, key=lambda row: -row.start_score)[:OWN_CANDIDATES]
        found = {row.id: row for row in (*scan.rows, *answers, *near)}
        return list(found.values())

    def _answers(self, row: Any, query: Query) -> bool:
        return not _relevant(query).isdisjoint(self._units[id_text("mem", row.id)])

    def _listed(self, query: Query, fold: int, config: Config) -> Listed:
        rows = sorted(self._rows(query, config), key=lambda row: row.id)
        ids = [id_text("mem", row.id) for row in rows]
        terms = np.array(
            [[row.signal(name)[1] or 0.0 for name in OFFERED] for row in rows], np.float32
        )
        origins = np.array([self._origin[id] for id in ids])
        adversarial = query.category == ADVERSARIAL
        return Listed(
            set=self.name,
            fold=fold,
            terms=terms,
            origins=origins,
            most=_most(rows, terms, origins),
            weight=ADVERSARIAL_WEIGHT if adversarial else 1.0,
            units=[self._units[id] for id in ids],
            relevant=_relevant(query),
        )


def _relevant(query: Query) -> frozenset[Unit]:
    return frozenset(unit_of(query.conversation, unit) for unit in query.relevant)


def _most(rows: Sequence[Any], terms: Any, origins: Any) -> Values:
    """By origin, the largest cosine and lexical score of all that were eligible."""
    most = np.zeros((len(ORIGINS), 2))
    for at, row in enumerate(rows):
        own = terms[at, [COSINE, LEXICAL]] if row.evidence is None else row.evidence[2:4]
        most[origins[at]] = np.maximum(most[origins[at]], own)
    return most


def common(
    benchmarks: Sequence[Benchmark],
) -> Iterator[tuple[list[Benchmark], list[Benchmark]]]:
    """By common store, the benchmarks that are asked there and those that it holds. Benchmarks with
    conversations in common say the same twice, of which one alone counts as right: they are not
    held together."""
    first: list[Benchmark] = []
    others: list[Benchmark] = []
    for one in benchmarks:
        apart = all(other.units.keys().isdisjoint(one.units) for other in first)
        (first if apart else others).append(one)
    yield first, first
    for one in others:
        yield (
            [one],
            [one, *(other for other in first if other.units.keys().isdisjoint(one.units))],
        )


def _at_random(
    benchmark: Benchmark, vectors: CachedEmbedder, late: Collection[str]
) -> BenchmarkLists:
    """The lists of notes that stand together by chance: facts without relation, imported at one
    moment."""
    places: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.jsonl"
        with corpus.open("w", encoding="utf-8") as lines:
            for row in sorted(records(benchmark), key=_by_chance):
                conversation = str(row.get("conversation"))
                place = places[conversation]
                places[conversation] += 1
                row |= {"session": f"{conversation} {place // TOGETHER}", "turn": place}
                lines.write(json.dumps(row) + "\n")
        changed = msgspec.structs.replace(benchmark, corpus=corpus)
        store = BenchmarkStore([changed], vectors, with_tokens(late))
    return BenchmarkLists(store, changed, benchmark.name + RANDOM, with_tokens(late))


def records(benchmark: Benchmark) -> list[dict[str, Any]]:
    """The lines of its corpus."""
    raw = benchmark.corpus.read_bytes()
    text = gzip.decompress(raw) if benchmark.corpus.suffix == ".gz" else raw
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _by_chance(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()


class CandidateLists:
    """Makes the lists from stores that are filled once.

    Args:
        late: origins that late interaction is offered to: their word pieces are compared.
    """

    def __init__(
        self, benchmarks: Sequence[Benchmark], vectors: CachedEmbedder, late: Collection[str]
    ) -> None:
        tokens = with_tokens(late)
        self._alone = []
        for one in benchmarks:
            store = BenchmarkStore([one], vectors, tokens)
            self._alone.append(BenchmarkLists(store, one, one.name, tokens))
            if store.stored[one.name].origin == "note":
                apart = {**tokens, "signals.sittings.enabled": False}
                self._alone.append(BenchmarkLists(store, one, one.name + APART, apart))
                self._alone.append(_at_random(one, vectors, late))
        self._mixed = []
        for asked, held in common(benchmarks):
            store = BenchmarkStore(held, vectors, tokens)
            self._mixed += [BenchmarkLists(store, one, MIXED + one.name, tokens) for one in asked]

    def alone(self, weights: Weights | None, every: int) -> list[Listed]:
        """Each set in a store of its own."""
        return [one for lists in self._alone for one in lists.lists(weights, every)]

    def mixed(self, weights: Weights, every: int) -> list[Listed]:
        """Every set in a store with others."""
        return [one for lists in self._mixed for one in lists.lists(weights, every)]


def question_count(benchmarks: Sequence[Benchmark], every: int) -> dict[str, Any]:
    """Data of a report: the number of questions and the hash of each benchmark."""
    return {
        one.name: {"questions": len(one.queries[::every]), "sha256": one.digest}
        for one in benchmarks
    }
