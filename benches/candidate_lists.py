"""Lists of memories for labelled questions, with the terms that recall computes for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmark_store import BenchmarkStore, unit_of
from benchmarks.reader import Benchmark, Query
from benchmarks.run import CachedEmbedder
from learning import FOLDS, Listed
from vestig.config.signals import KINDS
from vestig.config.weights import SIGNALS
from vestig.ids import id_text

# What weights are fitted to: every term but that of a cross-encoder.
OFFERED = tuple(name for name in SIGNALS if name != "rerank")
# Every row has terms of word pieces: with a pool the fit would learn which rows are in it.
ALL = 1_000_000
# A term that weighs nothing is not computed.
ALMOST_NOTHING = 1e-9
# What the questions are asked with: walks begin at the best of this sum.
BY_HAND = {"topic": 9.0, "words": 7.0, "date": 4.0, "question": -5.0}
# What counts in people's chats alone.
OF_PEOPLE = ("reply", "person")
# What word pieces of neighbours count beside those of the memory. It is not fitted: in chats half
# of what is asked for stands beside what has its words, so that a fit would let a note come for
# what was noted beside it.
NEIGHBOURS = 0.5
# Questions of a set that take part; of a folder of worlds all.
MOST = 250
# Questions that name the wrong person on purpose count less.
ADVERSARIAL = "adversarial"
ADVERSARIAL_WEIGHT = 0.25


def settings() -> dict[str, Any]:
    """Keys with which recall computes every offered term of every memory."""
    keys: dict[str, Any] = {
        "walk.enabled": False,
        "ranking.tracerank_power": 0.0,
        "ranking.newer_first": False,
        "signals.late.pool": ALL,
    }
    for kind in KINDS:
        for term in OFFERED:
            weight = BY_HAND.get(term, ALMOST_NOTHING)
            keys[f"ranking.weights.{kind}.{term}"] = weight
    return keys


def is_worlds(benchmark: Benchmark) -> bool:
    """Whether it is a folder of whole stores."""
    return benchmark.corpora[0][0] is not None


def questions(benchmark: Benchmark) -> Iterator[tuple[Query, int]]:
    """Those that take part, each with its fold: by conversation, or by question where there is but
    one."""
    conversations = sorted({query.conversation or "" for query in benchmark.queries})
    every = 1 if is_worlds(benchmark) else -(-len(benchmark.queries) // MOST)
    for number, query in enumerate(benchmark.queries[::every]):
        place = conversations.index(query.conversation or "") if conversations[1:] else number
        yield query, place % FOLDS


def lists(benchmark: Benchmark, vectors: CachedEmbedder) -> list[Listed]:
    """The list of each question: all that its conversation holds."""
    with BenchmarkStore([benchmark], vectors) as store:
        memories = [one for own in store.memories.values() for one in own]
        peer = {one.id: str(one.origin_type) == "chat_peer" for one in memories}
        units = {one.id: store.units(one.id) for one in memories}
        sizes = Counter(one.scope for one in memories)
        config = store.config(settings())
        found = []
        for query, fold in questions(benchmark):
            fields = store.case(benchmark, query)
            scan = store.scan(query.text, config, limit=sizes[query.conversation], **fields)
            ids = [id_text("mem", row.id) for row in scan.rows]
            found.append(
                Listed(
                    set=benchmark.name,
                    fold=fold,
                    terms=terms_of(scan.rows, peers := np.array([peer[id] for id in ids])),
                    peer=peers,
                    weight=ADVERSARIAL_WEIGHT if query.category == ADVERSARIAL else 1.0,
                    units=[units[id] for id in ids],
                    relevant=frozenset(unit_of(query.conversation, one) for one in query.relevant),
                )
            )
    return found


def terms_of(
    rows: Sequence[Any], peer: np.ndarray[Any, np.dtype[np.bool_]]
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Rows × offered terms; what was not computed, or counts nothing for the row's kind, is 0."""
    values = [[row.signal(name) or 0.0 for name in OFFERED] for row in rows]
    found = np.array(values, np.float32)
    found[np.ix_(~peer, np.isin(OFFERED, OF_PEOPLE))] = 0.0
    own, near = OFFERED.index("late"), OFFERED.index("late_window")
    found[:, own] += NEIGHBOURS * found[:, near]
    found[:, near] = 0.0
    return found


def with_neighbours(weights: Mapping[str, float]) -> dict[str, float]:
    """Fitted weights with that of what neighbours add.

    Example:
        >>> with_neighbours({"late": 16.0, "words": 7.0})
        {'late': 16.0, 'words': 7.0, 'late_window': 8.0}
    """
    return (
        {**weights, "late_window": NEIGHBOURS * weights["late"]}
        if "late" in weights
        else {**weights}
    )
