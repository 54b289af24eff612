"""What hypothetical questions are worth: recall@5 of the shipped benchmark, with the questions of
`hypothetical_questions.jsonl` against without.

    python benches/hypothetical_questions.py [profile …]

A scripted model answers with the file, through the same jobs as any model. Printed for each profile
(default: reference and default), apart for queries about the memories that have questions and for
the others: recall@5 of both, the difference with its 95 % interval and p value (paired bootstrap).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import vestig
from benchmarks.reader import SHIPPED, Benchmark, Query, read_benchmark
from benchmarks.rows import Variant, differences
from benchmarks.run import (
    BenchmarkRun,
    StoredUnits,
    cached_embedder,
    import_benchmark,
    stored_units,
)
from vestig.config import load
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.ids import repeatable_ids
from vestig.ports import ModelRequest
from vestig.testing import ScriptedModel

QUESTIONS = Path(__file__).parent / "hypothetical_questions.jsonl"
METRIC = "recall@5"
RUN_WORDS = 4


def stored_questions() -> dict[str, list[str]]:
    """Unit → the questions that the scripted model gives for it."""
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    return {row["id"]: row["queries"] for row in map(json.loads, lines)}


def scripted(benchmark: Benchmark, questions: Mapping[str, list[str]]) -> ScriptedModel:
    """A model that knows the texts of these units and their questions, and nothing else."""
    by_text = {
        unit.text: questions[unit.id]
        for units in benchmark.units.values()
        for unit in units
        if unit.id in questions
    }

    def answer(request: ModelRequest) -> dict[str, Any]:
        found = [queries for text, queries in by_text.items() if text in request.user]
        return {
            "entities": [],
            "stability": "unknown",
            "queries": found[0] if found else [],
        }

    return ScriptedModel(answer)


def recalls(
    store: vestig.Vestig, stored: StoredUnits, benchmark: Benchmark, profile: str, *, used: bool
) -> list[float]:
    """recall@5 of every query; `used`: whether stored questions count."""
    overrides = {} if used else {"questions.enabled": False}
    config = load(profile=profile, overrides=overrides, environ={}, cwd=QUESTIONS.parent)
    variant = Variant(
        name=profile, kind="profile", profile=profile, overrides=overrides, config=config
    )
    return list(BenchmarkRun(store, stored, variant).tally(benchmark, _ignore).scores[METRIC])


def _ignore(_: int) -> None:
    """Takes the progress of a run."""


def is_about(query: Query, units: Mapping[str, object]) -> bool:
    """Whether a memory that has questions answers this query."""
    return not query.relevant.isdisjoint(units)


def shared_runs(queries: Sequence[str], questions: Mapping[str, list[str]]) -> dict[str, int]:
    """Unit → how many of its questions share a run of four words with some query."""
    known = {run for query in queries for run in runs_of_words(query)}
    found = {
        unit: sum(not known.isdisjoint(runs_of_words(one)) for one in own)
        for unit, own in questions.items()
    }
    return {unit: count for unit, count in found.items() if count}


def runs_of_words(text: str) -> set[tuple[str, ...]]:
    """Every four words that follow each other, case aside."""
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1)}


def line(name: str, with_: Sequence[float], without: Sequence[float]) -> str:
    """The figures of some queries."""
    found = differences({METRIC: with_}, {METRIC: without})[METRIC]
    pairs = list(zip(with_, without, strict=True))
    mean, before = (100 * sum(column) / len(column) for column in (with_, without))
    assert found.delta is not None
    assert found.low is not None
    assert found.high is not None
    return (
        f"  {name:<7}{len(pairs):4} queries: {before:5.1f} % -> {mean:5.1f} %,"
        f" {100 * found.delta:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}],"
        f" p {found.p}, {sum(a > b for a, b in pairs)} gained,"
        f" {sum(a < b for a, b in pairs)} lost"
    )


def main(profiles: Sequence[str]) -> None:
    """Fills a store as `benches/evaluate.py` does, and measures."""
    benchmark, questions = read_benchmark(SHIPPED), stored_questions()
    shared = shared_runs([query.text for query in benchmark.queries], questions)
    assert not shared, f"questions that repeat a query: {shared}"
    about = [is_about(query, questions) for query in benchmark.queries]
    model = scripted(benchmark, questions)
    embedder = cached_embedder(BuiltinEmbedder(), None, "")
    with vestig.open(":memory:", embedder=embedder, llm=model) as store:
        with repeatable_ids(benchmark.digest):
            import_benchmark(store, benchmark)
        print(f"{len(questions)} memories with questions, {len(model.requests)} calls")
        stored = stored_units(store, benchmark)
        for profile in profiles:
            used, unused = (
                recalls(store, stored, benchmark, profile, used=used) for used in (True, False)
            )
            print(profile)
            for name, wanted in (("about", True), ("other", False)):
                chosen = [n for n, one in enumerate(about) if one is wanted]
                print(line(name, [used[n] for n in chosen], [unused[n] for n in chosen]))


if __name__ == "__main__":
    main(sys.argv[1:] or ["reference", "default"])
