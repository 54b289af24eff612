"""What it costs that memories of several origins lie in one store.

    python benches/mixing.py FOLDER… [--cache DIR] [--leave-out CATEGORY …]

Every folder is imported into a store of its own, and all of them into one store. Every question is
run, without scopes, against its own, against all of the common one, and against that filtered to
the origin that answers: R@10 with intervals, and p of the differences from its own store, under the
learned weights.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmark_store import BenchmarkStore, check_named_once, unit_of
from learning import Unit
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.evaluation.benchmarks import Benchmark, Query, read_benchmark, without_categories
from vestig.evaluation.bootstrap import differences, estimates
from vestig.evaluation.cached_embedder import cached_embedder
from vestig.ids import id_text

CUT = 10
# Memories fetched: several may be parts of one unit.
ROWS = 4 * CUT
# Questions of a set that take part, evenly spread.
QUESTIONS_MAX = 300


def found(ranked: Sequence[frozenset[Unit]], relevant: frozenset[Unit]) -> float:
    """Recall at the cut over distinct units."""
    units: dict[Unit, None] = {}
    for held in ranked:
        units.update(dict.fromkeys(sorted(held, key=str)))
    return len(relevant.intersection(list(units)[:CUT])) / len(relevant)


def shown(recalls: Sequence[float], against: Sequence[float] | None = None) -> str:
    """Points with 95 % interval; against others, p of the difference."""
    name = f"recall@{CUT}"
    one = estimates({name: recalls})[name]
    assert one.mean is not None
    text = f"{name} {100 * one.mean:5.1f} [{100 * one.low:.1f}, {100 * one.high:.1f}]"
    if against is not None:
        found = differences({name: recalls}, {name: against})[name]
        text += f"  {100 * found.delta:+.1f} (p {found.p:.4f})"
    return text


def chosen(benchmark: Benchmark) -> Iterator[Query]:
    """The questions that take part."""
    step = -(-len(benchmark.queries) // QUESTIONS_MAX)
    return iter(benchmark.queries[::step])


def recalls(
    own: BenchmarkStore, asked: BenchmarkStore, benchmark: Benchmark, query: Query
) -> tuple[float, float, float]:
    """R@10 in a store of its own, in the common store, and in what is there of the question's own
    origin."""
    origins = [asked.stored[benchmark.name].origin]
    relevant = frozenset(unit_of(query.conversation, unit) for unit in query.relevant)

    def recall(store: BenchmarkStore, **only: Any) -> float:
        fields = store.case(benchmark, query)
        del fields["scope"]
        named = {**fields, "where": {**fields["where"], **only}}
        scan = store.scan(query.text, store.config({}), limit=ROWS, **named)
        return found(
            [frozenset(store.units(id_text("mem", row.id))) for row in scan.rows], relevant
        )

    return recall(own), recall(asked), recall(asked, origin_types=origins)


def main() -> None:
    """Imports, runs the questions and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, help="keeps vectors between runs")
    parser.add_argument("--leave-out", nargs="+", default=[], metavar="CATEGORY")
    given = parser.parse_args()
    benchmarks = [
        without_categories(read_benchmark(folder), given.leave_out) for folder in given.folders
    ]
    check_named_once(benchmarks)
    vectors = cached_embedder(BuiltinEmbedder(), given.cache)
    with BenchmarkStore(benchmarks, vectors) as asked:
        for benchmark in benchmarks:
            with BenchmarkStore([benchmark], vectors) as own:
                each = [recalls(own, asked, benchmark, query) for query in chosen(benchmark)]
            alone, whole, filtered = zip(*each, strict=True)
            print(
                f"{benchmark.name}: alone {shown(alone)}  mixed {shown(whole, alone)}"
                f"  filtered {shown(filtered, alone)}"
            )


if __name__ == "__main__":
    main()
