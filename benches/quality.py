"""Quality on a labelled set: import it, ask its questions, print recall beside reference rows.

    python benches/quality.py FOLDER… [--cache DIR] [--profile NAME …] [--no-references]
        [--switch KEY=VALUE …] [--gate]

FOLDER holds `corpus.jsonl.gz` and `queries.jsonl.gz` (see labelled.py). Each conversation is
imported as a scope and asked only about itself. A unit ranks where the best memory that holds
it does; units on one memory stand in corpus order. `--switch` sets configuration keys of every
recall. Exit 2: nothing to measure. Exit 1 with `--gate`: `baseline` is more than 0.3 points
away from plain cosine, or `default` below `baseline`, in R@10.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

import vestig
from labelled import (
    DEPTH,
    METRICS,
    CachedEmbedder,
    EmptyBenchmark,
    LabelledSet,
    load,
    score,
    summary,
)
from vestig.embedders.builtin import BuiltinEmbedder

PAGE = 500
BASELINE_GAP_MAX = 0.3


@dataclass
class Holdings:
    """Which memory holds which units, and when each conversation ended."""

    units_of: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    ends: dict[str | None, datetime] = field(default_factory=dict)


def memories(store: Any) -> Iterator[Any]:
    """Every memory of the store."""
    offset = 0
    while page := store.list(limit=PAGE, offset=offset).memories:
        yield from page
        offset += len(page)


def holdings(store: Any, data: LabelledSet) -> Holdings:
    """Reads the references of all memories back from the event log."""
    place = {
        (conversation, unit["id"]): number
        for conversation, units in data.units.items()
        for number, unit in enumerate(units)
    }
    held: set[tuple[str | None, str]] = set()
    found = Holdings()
    for memory in memories(store):
        units = {event.artifact_ref for event in store.events(memory.id) if event.artifact_ref}
        ordered = sorted(units, key=lambda unit: place[memory.scope, unit])
        found.units_of[memory.id] = ordered
        held.update((memory.scope, unit) for unit in units)
        found.ends[memory.scope] = max(memory.t_valid, found.ends.get(memory.scope, memory.t_valid))
    missing = len(place.keys() - held)
    if missing:
        print(f"  {missing} of {len(place)} units are on no memory", file=sys.stderr)
    return found


def ranked_units(
    store: Any, query: dict[str, Any], held: Holdings, options: dict[str, Any]
) -> list[str]:
    """Distinct units, best first; asks on until DEPTH are found or nothing is left."""
    conversation = query["conversation"]
    limit = DEPTH
    while True:
        answer = store.recall(
            query["text"],
            limit=limit,
            scope=conversation,
            query_time=query["date"] or held.ends[conversation],
            **options,
        )
        hits: Iterable[Any] = answer.results
        units = dict.fromkeys(unit for hit in hits for unit in held.units_of[hit.id])
        if len(units) >= DEPTH or len(answer.results) < limit:
            return list(units)[:DEPTH]
        limit *= 2


def profile_rows(
    store: Any, data: LabelledSet, held: Holdings, options: dict[str, Any]
) -> tuple[list[dict[str, float]], float]:
    """Metrics of every query, and the median time of a recall in ms."""
    rows, times = [], []
    for queries in data.queries.values():
        for query in queries:
            start = time.perf_counter()
            units = ranked_units(store, query, held, options)
            times.append(time.perf_counter() - start)
            rows.append(score(units, query["relevant"]))
    return rows, 1000 * sorted(times)[len(times) // 2]


def imported(store: Any, data: LabelledSet) -> None:
    """The whole set through `import`; every unit must be accounted for."""
    start = time.perf_counter()
    result = store.import_(data.corpus_path)
    total = sum(len(units) for units in data.units.values())
    print(
        f"  imported {result.imported} of {total} units as {result.memories} memories,"
        f" {result.duplicates} duplicates, {result.rejected} rejected, {result.failed} failed"
        f" in {time.perf_counter() - start:.1f} s",
        file=sys.stderr,
    )
    assert result.imported + result.duplicates + result.rejected + result.failed == total


def print_row(name: str, means: dict[str, float], note: str = "") -> None:
    values = "  ".join(f"{metric} {means[metric]:5.1f}" for metric in METRICS)
    print(f"  {name:<10} {values}  (R@10 ± {means['R@10 ±']:.1f}){note}", flush=True)


def measure(data: LabelledSet, arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """All rows of one set, printed as they come."""
    queries = sum(len(asked) for asked in data.queries.values())
    units = sum(len(found) for found in data.units.values())
    print(f"{data.name}: {queries} queries, {units} units, {len(data.units)} conversations")
    embedder = CachedEmbedder(BuiltinEmbedder(), arguments.cache)
    table: dict[str, dict[str, float]] = {}
    if arguments.references:
        from reference import reference_rows

        for name, rows in reference_rows(data, embedder).items():
            table[name] = summary(rows)
            print_row(name, table[name])
    with (
        tempfile.TemporaryDirectory() as folder,
        vestig.open(Path(folder) / "store", embedder=embedder) as store,
    ):
        imported(store, data)
        held = holdings(store, data)
        for profile in arguments.profile:
            options = {"profile": profile, "config": dict(arguments.switch)}
            rows, milliseconds = profile_rows(store, data, held, options)
            table[profile] = summary(rows)
            print_row(profile, table[profile], f"  {milliseconds:.2f} ms a recall of {DEPTH}")
    return table


def switch(text: str) -> tuple[str, Any]:
    """`m5.final.tracerank_power=0.5` → key and value, read as YAML."""
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, got {text}")
    return key, yaml.safe_load(value)


def gate(table: dict[str, dict[str, float]]) -> list[str]:
    """What a table breaks, [] when nothing."""
    found = []
    at_10 = {name: means["R@10"] for name, means in table.items()}
    if {"cosine", "baseline"} <= at_10.keys():
        gap = abs(at_10["cosine"] - at_10["baseline"])
        if gap > BASELINE_GAP_MAX:
            found.append(f"baseline is {gap:.2f} points away from plain cosine")
    if {"default", "baseline"} <= at_10.keys() and at_10["default"] < at_10["baseline"]:
        found.append("default is below baseline")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="recall on labelled data beside reference rows")
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--cache", type=Path, default=None, help="keeps vectors between runs")
    parser.add_argument("--profile", nargs="+", default=["baseline", "default"])
    parser.add_argument("--references", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--switch", nargs="+", type=switch, default=[], metavar="KEY=VALUE")
    parser.add_argument("--gate", action="store_true")
    arguments = parser.parse_args()
    broken = []
    for folder in arguments.folder:
        try:
            table = measure(load(folder), arguments)
        except EmptyBenchmark as error:
            print(error, file=sys.stderr)
            return 2
        broken += [f"{folder.name}: {fact}" for fact in gate(table)]
    for fact in broken:
        print(fact, file=sys.stderr)
    return 1 if broken and arguments.gate else 0


if __name__ == "__main__":
    sys.exit(main())
