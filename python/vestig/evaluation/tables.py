"""The tables of a report, and a report as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from vestig.evaluation.bootstrap import PAIRED_DRAWS
from vestig.evaluation.calibration import MIXTURE
from vestig.evaluation.comparison import named_difference
from vestig.evaluation.hybrid_comparison import against_hybrid, category_differences
from vestig.evaluation.report import BenchmarkReport, Calibration, EvaluationReport, Row
from vestig.evaluation.report_table import NONE, Table, change, p_value, percent
from vestig.evaluation.retrieval_tables import retrieval_facts, retrieval_tables

SHOWN: Final = (
    ("recall@1", "R@1"),
    ("recall@5", "R@5"),
    ("recall@10", "R@10"),
    ("recall@20", "R@20"),
    ("recall@50", "R@50"),
    ("precision@5", "P@5"),
    ("hit@5", "hit@5"),
    ("all@10", "all@10"),
    ("ndcg@5", "nDCG@5"),
    ("ndcg@10", "nDCG@10"),
    ("mrr", "MRR"),
)
# Differences that the tables show; the JSON holds all.
TESTED: Final = (("recall@5", "R@5"), ("recall@10", "R@10"), ("ndcg@10", "nDCG@10"))
# Keys that can change what recall finds in a store.
RECALL_PREFIXES: Final = (
    "embedding.", "hygiene.", "keywords.", "usage.", "entities.", "links.", "questions.", "walk.",
    "ranking.", "reference.", "signals.", "recall.",
)  # fmt: skip
# Shares of all questions at which risk is shown; the JSON holds the whole curve.
COVERAGES: Final = (0.1, 0.25, 0.5, 0.75, 1.0)


def _interval(low: float | None, high: float | None) -> str:
    return NONE if low is None else f"{percent(low)} to {percent(high)}"


def _milliseconds(value: float) -> str:
    return f"{value:.2f}"


def results(report: BenchmarkReport) -> Table:
    """Metrics of every row over all questions."""
    rows = []
    for row in report.rows:
        ends = row.metrics["recall@10"]
        times = (NONE, NONE)
        if row.latency is not None:
            times = (_milliseconds(row.latency.p50_ms), _milliseconds(row.latency.p95_ms))
        figures = (percent(row.metrics[metric].mean) for metric, _ in SHOWN)
        rows.append((row.name, *figures, _interval(ends.low, ends.high), *times))
    return Table(
        title="Results",
        note="Macro means in per cent; 95 % bootstrap interval of R@10; milliseconds of a recall"
        " of 10, the query's vector at hand.",
        columns=("row", *(label for _, label in SHOWN), "R@10, 95 %", "p50 ms", "p95 ms"),
        rows=tuple(rows),
    )


def comparisons(report: BenchmarkReport) -> Table:
    """Paired differences over all questions."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in report.comparisons:
        if one.category is None:
            found.setdefault((one.row, one.against), {})[one.metric] = one.difference
    rows = []
    for (row, against), by_metric in found.items():
        cells = [named_difference(row, against)]
        for metric, _ in TESTED:
            found_here = by_metric[metric]
            cells += [change(found_here), p_value(found_here.p)]
        rows.append(tuple(cells))
    return Table(
        title="Differences",
        note="Points of per cent with 95 % interval, paired by question; two-sided bootstrap p,"
        f" {p_value(1 / PAIRED_DRAWS)} at the least. A changed profile is compared with the"
        " unchanged one.",
        columns=("rows", *(cell for _, label in TESTED for cell in (label, "p"))),
        rows=tuple(rows),
    )


def by_category(report: BenchmarkReport) -> Table:
    """R@10 of every row in every category; the longer names are row names."""
    names = [f"{name} ({count})" for name, count in report.categories.items()]
    lines = [("row", *names)]
    for row in report.rows:
        means = (row.categories[name]["recall@10"].mean for name in report.categories)
        lines.append((row.name, *map(percent, means)))
    if sum(map(len, names)) > sum(len(row.name) for row in report.rows):
        lines[0] = ("category", *names)
        lines = list(zip(*lines, strict=True))
    return Table(
        title="R@10 by category",
        note="In brackets: questions.",
        columns=lines[0],
        rows=tuple(lines[1:]),
    )


def versions(report: BenchmarkReport) -> Table:
    """Return whether rows put what is current first, where questions name what is outdated."""
    rows = tuple(
        (
            row.name,
            percent(row.metrics["hit@1"].mean),
            percent(row.newest_first),
            *_cut(row),
            *(percent(row.categories[name]["hit@1"].mean) for name in report.categories),
        )
        for row in report.rows
        if row.newest_first is not UNSET
    )
    return Table(
        title="Current before outdated",
        note="In per cent: hit@1; questions of which the first answer stands above everything that"
        " it replaced; what the automatic cut keeps; hit@1 by category.",
        columns=(
            *("row", "hit@1", "newest first"),
            *("cut: precision", "cut: recall", "cut: results"),
            *report.categories,
        ),
        rows=rows,
    )


def _cut(row: Row) -> tuple[str, str, str]:
    if row.cut is UNSET:
        return NONE, NONE, NONE
    return percent(row.cut.precision), percent(row.cut.recall), f"{row.cut.results:.1f}"


def confidence(report: BenchmarkReport) -> Table:
    """AUROC, calibration error and risk of the confidence of each row, and the calibration error
    of its scores."""
    rows = []
    for row in report.rows:
        for population, found in (row.confidence or {}).items():
            by_coverage = (_risk(found, at) for at in COVERAGES)
            rows.append(
                (
                    f"{row.name}: {population}",
                    str(found.questions),
                    f"{found.auroc:.3f}",
                    f"{found.calibration_error:.3f}",
                    f"{row.score.calibration_error:.3f}"
                    if row.score is not UNSET and population == MIXTURE
                    else NONE,
                    *map(percent, by_coverage),
                )
            )
    return Table(
        title="Confidence",
        note="Questions that the memories answer against questions of the next conversation"
        " (foreign), questions without their evidence (removed), and both; each side weighs half."
        " Risk: per cent of the answers that are none, when so much of all questions is answered."
        " Error of the score: of the probability that a result is part of the answer, over the ten"
        " best of each question.",
        columns=(
            "row",
            "questions",
            "AUROC",
            "calibration error",
            "error of the score",
            *(f"risk at {at:.0%}" for at in COVERAGES),
        ),
        rows=tuple(rows),
    )


def _risk(found: Calibration, coverage: float) -> float | None:
    """The risk of the highest threshold that answers so much."""
    return next((at.risk for at in found.curve if at.coverage >= coverage - 1e-9), None)


def reliability(report: BenchmarkReport) -> Table:
    """Confidence and truth, bin by bin."""
    rows = []
    for row in report.rows:
        for population, found in (row.confidence or {}).items():
            rows += [
                (
                    f"{row.name}: {population}, {one.low:.1f} to {one.high:.1f}",
                    percent(one.share),
                    percent(one.confidence),
                    percent(one.answerable),
                )
                for one in found.bins
            ]
    return Table(
        title="Reliability",
        note="Questions by their confidence, in per cent: how many, their mean confidence, and"
        " how many of them the memories answer.",
        columns=("bin", "share", "mean confidence", "answerable"),
        rows=tuple(rows),
        folded=True,
    )


def settings(report: BenchmarkReport, *, all_keys: bool) -> Table:
    """Effective values: a line for each key, a column for each profile; other rows differ from
    theirs by what their names say.

    `all_keys` false: only keys whose values differ between profiles.
    """
    measured = [row for row in report.rows if row.kind == "profile"]
    keys = list(measured[0].settings) if measured else []
    rows = []
    for key in keys:
        values = [_value(row.settings[key]) for row in measured]
        if all_keys or (key.startswith(RECALL_PREFIXES) and len(set(values)) > 1):
            rows.append((key, *values))
    return Table(
        title="Effective values" if all_keys else "Effective values that differ",
        note="" if all_keys else "All values: --format json, markdown or html.",
        columns=("key", *(row.name for row in measured)),
        rows=tuple(rows),
        words=True,
        folded=all_keys,
    )


def _value(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def peers(report: BenchmarkReport) -> Table:
    """Parameters of the peers."""
    found = [row for row in report.rows if row.parameters]
    names = list(found[0].parameters) if found else []
    return Table(
        title="Parameters of the peers",
        columns=("row", *names),
        rows=tuple((row.name, *(_value(row.parameters[n]) for n in names)) for row in found),
        words=True,
        folded=True,
    )


def tables(report: BenchmarkReport, *, all_keys: bool) -> Iterator[Table]:
    """Every table of a benchmark that has rows."""
    made = [results(report), versions(report), comparisons(report), by_category(report)]
    made += [*against_hybrid(report), category_differences(report), confidence(report)]
    if all_keys:
        made += [reliability(report), peers(report)]
    made.append(settings(report, all_keys=all_keys))
    return (table for table in made if table.rows)


def _seeds(rows: Sequence[Row]) -> str:
    seeds = {row.seed for row in rows if row.seed is not None}
    return "derived from query and seq" if not seeds else ", ".join(map(str, sorted(seeds)))


def facts(report: EvaluationReport, benchmark: BenchmarkReport) -> list[tuple[str, str]]:
    """Data, store, model and seeds of a benchmark: (name, value) pairs."""
    store = benchmark.store
    profiles = [row.name for row in benchmark.rows if row.kind == "profile"]
    found = [
        ("questions", f"{benchmark.queries:,}"),
        ("units", f"{benchmark.units:,} in {benchmark.conversations:,} conversations"),
        ("store", f"{store.path}, {store.memories:,} memories, seq {store.seq}"),
        ("embedder", f"{store.model} {store.fingerprint[:12]}".rstrip()),
        ("profiles", ", ".join(profiles) or NONE),
        ("seed of walks", _seeds(benchmark.rows)),
        (
            "seed of resampling",
            f"{report.seed} ({report.interval_draws:,} draws for intervals,"
            f" {report.paired_draws:,} for differences)",
        ),
        ("data", f"SHA-256 {benchmark.digest}"),
        ("vestig", report.version),
    ]
    if benchmark.left_out:
        found.append(("left out", ", ".join(benchmark.left_out)))
    return found


def verdict(report: EvaluationReport) -> list[str]:
    """Lines about the gate; [] in a report without one."""
    if not report.gated:
        return []
    failures = report.gate_failures
    if failures:
        return [f"Gate failed: {fact}" for fact in failures]
    return ["Gate passed: default is nowhere below baseline in R@5 and nDCG@5."]


def _padded(table: Table) -> str:
    lines = [table.columns, *table.rows]
    widths = [max(len(line[n]) for line in lines) for n in range(len(table.columns))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if table.is_words(n) else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


class Chapter(msgspec.Struct, frozen=True, kw_only=True):
    """A labelled folder in a report: facts as (name, value), what to know, tables."""

    name: str
    facts: Sequence[tuple[str, str]]
    warnings: Sequence[str] = ()
    tables: Sequence[Table]


def chapters(report: EvaluationReport, *, all_keys: bool) -> Iterator[Chapter]:
    """Each folder of a report, those of recall first."""
    for benchmark in report.benchmarks:
        yield Chapter(
            name=benchmark.name,
            facts=facts(report, benchmark),
            warnings=benchmark.warnings,
            tables=tuple(tables(benchmark, all_keys=all_keys)),
        )
    for retrieved in report.retrieval:
        yield Chapter(
            name=retrieved.name,
            facts=retrieval_facts(report, retrieved),
            tables=tuple(retrieval_tables(retrieved)),
        )


def text(report: EvaluationReport) -> str:
    """The report for a terminal."""
    parts = []
    for chapter in chapters(report, all_keys=False):
        parts.append(chapter.name)
        width = max(len(name) for name, _ in chapter.facts)
        parts.append("\n".join(f"{name:<{width}}  {value}" for name, value in chapter.facts))
        parts.append(text_of(chapter.tables))
    parts += verdict(report)
    return "\n\n".join(parts)


def text_of(shown: Iterable[Table]) -> str:
    """Tables for a terminal, those without rows left out."""
    return "\n\n".join(
        f"{f'{table.title}. {table.note}'.rstrip()}\n{_padded(table)}"
        for table in shown
        if table.rows
    )


def _cell(value: str) -> str:
    """A Markdown cell that stays one."""
    plain = " ".join(value.split())
    for sign in ("\\", "|", "`", "*", "_", "<", ">", "[", "]"):
        plain = plain.replace(sign, f"\\{sign}")
    return plain


def _markdown_table(table: Table) -> str:
    sides = (":--" if table.is_words(n) else "--:" for n in range(len(table.columns)))
    lines = [table.columns, tuple(sides)]
    shown = ["| " + " | ".join(_cell(c) for c in lines[0]) + " |", "|" + "|".join(lines[1]) + "|"]
    shown += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in table.rows]
    return "\n".join(shown)


def markdown(report: EvaluationReport) -> str:
    """The report as Markdown: every table, effective values folded."""
    parts = ["# Evaluation", *verdict(report)]
    for chapter in chapters(report, all_keys=True):
        parts.append(f"## {_cell(chapter.name)}")
        parts.append("\n".join(f"- {name}: {_cell(value)}" for name, value in chapter.facts))
        parts += [f"> {_cell(line)}" for line in chapter.warnings]
        for table in chapter.tables:
            body = [table.note, _markdown_table(table)] if table.note else [_markdown_table(table)]
            if table.folded:
                inner = "\n\n".join(body)
                parts.append(f"<details><summary>{table.title}</summary>\n\n{inner}\n\n</details>")
            else:
                parts += [f"### {table.title}", *body]
    return "\n\n".join(parts) + "\n"
