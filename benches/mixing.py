"""What it costs that memories of several origins lie in one store.

    python benches/mixing.py FOLDER… [--cache DIR] [--leave-out CATEGORY …]

All folders are imported into one store. Every question is run against all of it, and against the
same store filtered to the origin that answers: R@10 with intervals, and p of the difference, under
the learned weights.
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


def recalls(asked: BenchmarkStore, benchmark: Benchmark, query: Query) -> tuple[float, float]:
    """R@10 in the whole store, and in what is of the question's own origin."""
    fields = asked.case(benchmark, query)
    del fields["scope"]
    own = [asked.stored[benchmark.name].origin]
    relevant = frozenset(unit_of(query.conversation, unit) for unit in query.relevant)

    def recall(**only: Any) -> float:
        named = {**fields, "where": {**fields["where"], **only}}
        scan = asked.scan(query.text, asked.config({}), limit=ROWS, **named)
        return found(
            [frozenset(asked.units(id_text("mem", row.id))) for row in scan.rows], relevant
        )

    return recall(), recall(origin_types=own)


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
    with BenchmarkStore(benchmarks, cached_embedder(BuiltinEmbedder(), given.cache)) as asked:
        for benchmark in benchmarks:
            both = [recalls(asked, benchmark, query) for query in chosen(benchmark)]
            whole, filtered = zip(*both, strict=True)
            print(f"{benchmark.name}: filtered {shown(filtered)}  mixed {shown(whole, filtered)}")


if __name__ == "__main__":
    main()
