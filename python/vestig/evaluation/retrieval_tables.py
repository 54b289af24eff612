"""The tables of evaluated and of replayed retrievals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from vestig.evaluation.report import (
    Difference,
    Estimate,
    EvaluationReport,
    RetrievalBenchmark,
    RetrievalFigures,
    RetrievalReplay,
    RetrievalRow,
)
from vestig.evaluation.report_table import NONE, Table, change, p_value, percent

# Differences that the tables show; the JSON holds all.
_TESTED: Final = (("recall@5", "R@5"), ("recall@10", "R@10"), ("recall@30", "R@30"))
_RANKED: Final = (*_TESTED, ("ndcg@5", "nDCG@5"), ("ndcg@10", "nDCG@10"), ("ndcg@30", "nDCG@30"))
_LABELS: Final = ("high", "medium", "low")


def retrieval_facts(
    report: EvaluationReport, benchmark: RetrievalBenchmark
) -> list[tuple[str, str]]:
    """Data and seed of a benchmark: (name, value) pairs."""
    return [
        ("questions", f"{benchmark.questions:,}"),
        ("units", f"{benchmark.units:,} in {benchmark.conversations:,} conversations"),
        ("units on no memory", f"{benchmark.units_missing:,}"),
        ("seed", str(report.seed)),
        ("data", f"SHA-256 {benchmark.digest}"),
        ("vestig", report.version),
    ]


def retrieval_tables(benchmark: RetrievalBenchmark) -> Iterator[Table]:
    """Every table of one labelled folder."""
    rows = benchmark.rows
    ranked: list[tuple[str, Mapping[str, Estimate]]] = []
    for row in rows:
        ranked += [(f"retrieve, {row.name}", row.own.metrics), (f"recall, {row.name}", row.recall)]
    yield _ranks(ranked, "Macro means in per cent over the first K facts, or results of recall.")
    yield _changes([(row.name, row.against_recall) for row in rows], "Retrieve against recall")
    asked = [one for row in rows for one in _asked(row)]
    yield _searches(asked)
    yield _stops(asked)
    yield _confusion(asked)


def replay_tables(replay: RetrievalReplay) -> Iterator[Table]:
    """Every table of a replay."""
    sides = (("old", replay.old.figures), ("new", replay.new.figures))
    yield _ranks(
        [(name, figures.metrics) for name, figures in sides],
        "Macro means in per cent over the first K facts of the requests with labels.",
    )
    yield _changes([("new", replay.new_against_old)], "New against old")
    yield _searches(sides)
    yield _stops(sides)
    yield _confusion(sides)


def _asked(row: RetrievalRow) -> Iterator[tuple[str, RetrievalFigures]]:
    yield f"{row.name}, own", row.own
    if row.foreign is not None:
        yield f"{row.name}, foreign", row.foreign


def _ranks(rows: Sequence[tuple[str, Mapping[str, Estimate]]], note: str) -> Table:
    return Table(
        title="Results",
        note=note,
        columns=("row", *(label for _, label in _RANKED)),
        rows=tuple(
            (name, *(percent(metrics[metric].mean) for metric, _ in _RANKED))
            for name, metrics in rows
        ),
    )


def _changes(rows: Sequence[tuple[str, Mapping[str, Difference]]], title: str) -> Table:
    cells = []
    for name, found in rows:
        pairs = ((change(found[metric]), p_value(found[metric].p)) for metric, _ in _TESTED)
        cells.append((name, *(cell for pair in pairs for cell in pair)))
    columns = (part for _, label in _TESTED for part in (label, "p"))
    return Table(
        title=title,
        note="Points of per cent with 95 % intervals, paired by question.",
        columns=("row", *columns),
        rows=tuple(cells) if any(found["recall@5"].p is not None for _, found in rows) else (),
    )


def _searches(rows: Sequence[tuple[str, RetrievalFigures]]) -> Table:
    return Table(
        title="Searches",
        note="Means of a retrieval; the share whose first round had six queries or more beside the"
        " message; relevant units found in all; milliseconds of a retrieval, queries embedded"
        " where they were not stored.",
        columns=("row", "retrievals", "rounds", "queries", "≥ 6", "found", "p50 ms", "p95 ms"),
        rows=tuple(
            (
                name,
                f"{one.retrievals:,}",
                _number(one.iterations_mean, 2),
                _number(one.queries_mean, 1),
                percent(one.enough_queries),
                f"{one.relevant_found:,}",
                _number(one.latency_p50_ms, 1),
                _number(one.latency_p95_ms, 1),
            )
            for name, one in rows
        ),
    )


def _stops(rows: Sequence[tuple[str, RetrievalFigures]]) -> Table:
    reasons = sorted({reason for _, one in rows for reason in one.stop_reasons})
    return Table(
        title="Stop reasons",
        columns=("row", *reasons),
        rows=tuple(
            (name, *(f"{one.stop_reasons.get(reason, 0):,}" for reason in reasons))
            for name, one in rows
        ),
    )


def _confusion(rows: Sequence[tuple[str, RetrievalFigures]]) -> Table:
    """Labels by what was expected; the last line of each row counts all that came."""
    cells = []
    for name, one in rows:
        for expected, got in one.labels.items():
            cells.append((f"{name}: expected {expected}", *_counts(got)))
        cells.append((f"{name}: all", *_counts(one.got)))
    return Table(
        title="Confidence",
        note="How often each label came. Expected is high where all evidence is among the first ten"
        " facts, medium where some is, else low.",
        columns=("row", *_LABELS, "low, share"),
        rows=tuple(cells),
    )


def _counts(got: Mapping[str, int]) -> tuple[str, ...]:
    whole = sum(got.values())
    share = percent(got["low"] / whole) if whole else NONE
    return (*(f"{got[label]:,}" for label in _LABELS), share)


def _number(value: float | None, digits: int) -> str:
    return NONE if value is None else f"{value:.{digits}f}"
