"""The tables of a report, and a report as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from benchmarks.confidence import MIXTURE
from benchmarks.rankings import PEERS
from benchmarks.report import (
    BenchmarkReport,
    Comparison,
    EvaluationReport,
    RetrievalBenchmark,
    RetrievalRow,
    Row,
)
from benchmarks.rows import main_profiles, named_difference
from vestig.evaluation.calibration import Calibration
from vestig.evaluation.intervals import PAIRED_DRAWS, Estimate
from vestig.evaluation.replay import RetrievalFigures
from vestig.evaluation.replay_tables import changes, confusion, ranks, searches, stops
from vestig.evaluation.tables import NONE, Table, change, p_value, percent, text_of

SIGNIFICANT: Final = 0.01
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
        " it replaced; what a recall of 20 brings; hit@1 by category.",
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


def settings(report: BenchmarkReport) -> Table:
    """Effective values that differ between profiles; other rows differ from theirs by what their
    names say."""
    measured = [row for row in report.rows if row.kind == "profile"]
    rows = []
    for key in measured[0].settings if measured else ():
        values = [_value(row.settings[key]) for row in measured]
        if key.startswith(RECALL_PREFIXES) and len(set(values)) > 1:
            rows.append((key, *values))
    return Table(
        title="Effective values that differ",
        note="All values: --json.",
        columns=("key", *(row.name for row in measured)),
        rows=tuple(rows),
        words=tuple(range(1 + len(measured))),
    )


def _value(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def tables(report: BenchmarkReport) -> Iterator[Table]:
    """Every table of a benchmark."""
    yield results(report)
    yield versions(report)
    yield comparisons(report)
    yield by_category(report)
    yield from against_hybrid(report)
    yield category_differences(report)
    yield confidence(report)
    yield settings(report)


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


def text(report: EvaluationReport) -> str:
    """The report for a terminal."""
    parts = []
    for benchmark in report.benchmarks:
        parts += _chapter(benchmark.name, facts(report, benchmark), tables(benchmark))
    for retrieved in report.retrieval:
        own = retrieval_facts(report, retrieved)
        parts += _chapter(retrieved.name, own, retrieval_tables(retrieved))
    return "\n\n".join([*parts, *verdict(report)])


def _chapter(
    name: str, found: Sequence[tuple[str, str]], shown: Iterable[Table]
) -> tuple[str, str, str]:
    width = max(len(fact) for fact, _ in found)
    lines = "\n".join(f"{fact:<{width}}  {value}" for fact, value in found)
    return name, lines, text_of(shown)


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
    yield ranks(ranked, "Macro means in per cent over the first K facts, or results of recall.")
    yield changes([(row.name, row.against_recall) for row in rows], "Retrieve against recall")
    asked = [one for row in rows for one in _asked(row)]
    yield searches(asked)
    yield stops(asked)
    yield confusion(asked)


def _asked(row: RetrievalRow) -> Iterator[tuple[str, RetrievalFigures]]:
    yield f"{row.name}, own", row.own
    if row.foreign is not None:
        yield f"{row.name}, foreign", row.foreign


COSINE, BM25, HYBRID = PEERS
METRIC: Final = "recall@10"
# Categories with fewer questions are shown, but not judged.
JUDGED_LEAST: Final = 40
# Smaller categories say little.
SHOWN_LEAST: Final = 25
BETTER: Final = "▲"
WORSE: Final = "▼"
# An author is named who loses at least this many units, and this many times the share that is
# theirs among the relevant units.
_LOST_LEAST: Final = 5
_CLEARLY: Final = 1.5
_EVEN: Final = "="
_FEW: Final = "few questions"


def verdict_of(one: Comparison) -> str:
    """A mark and its meaning.

    Example:
        >>> from benchmarks.report import Difference
        >>> lost = Difference(delta=-0.1, low=-0.2, high=-0.05, p=0.001)
        >>> one = Comparison(row="default", against="hybrid", metric="recall@10",
        ...     category="dates", queries=60, gained=1, lost=9, difference=lost)
        >>> verdict_of(one)
        '▼ worse'
    """
    found = one.difference
    if found.delta is None or found.p is None or found.p >= SIGNIFICANT:
        verdict = f"{_EVEN} not significant"
    else:
        verdict = f"{BETTER} better" if found.delta > 0 else f"{WORSE} worse"
    return verdict if _judged(one) else f"{verdict}, {_FEW}"


def _judged(one: Comparison) -> bool:
    return one.category is None or one.queries >= JUDGED_LEAST


def against_hybrid(report: BenchmarkReport) -> Iterator[Table]:
    """A table for each profile that the evaluation is about; none where hybrid is not measured."""
    rows = {row.name: row for row in report.rows}
    if HYBRID not in rows or rows[HYBRID].kind != "peer":
        return
    for main in main_profiles(report.rows):
        found = [
            one
            for one in report.comparisons
            if (one.row, one.against, one.metric) == (main, HYBRID, METRIC)
        ]
        explained = [_explained(rows, one) for one in found]
        last = ("where it is lower",) if any(explained) else ()
        yield Table(
            title=f"{main} against {HYBRID}",
            note=_note(main, found),
            columns=("questions", "n", HYBRID, main, "R@10", "p", "verdict", *last),
            rows=tuple(
                (*_line(rows, one), *((why,) if last else ()))
                for one, why in zip(found, explained, strict=True)
            ),
            words=(0, *range(6, 7 + len(last))),
        )


def _note(main: str, found: list[Comparison]) -> str:
    worse = [
        "all questions" if one.category is None else one.category
        for one in found
        if _judged(one) and verdict_of(one).startswith(WORSE)
    ]
    where = f"in: {', '.join(worse)}" if worse else "nowhere"
    return (
        f"{main} is significantly worse {where}. R@10 in per cent, difference in points with 95 %"
        f" interval, paired by question, p < {SIGNIFICANT}; categories of fewer than"
        f" {JUDGED_LEAST} questions are shown, but not judged."
    )


def _line(rows: Mapping[str, Row], one: Comparison) -> tuple[str, ...]:
    ours, theirs = (_figures(rows[name], one.category) for name in (one.row, one.against))
    return (
        "all" if one.category is None else one.category,
        str(one.queries),
        percent(theirs[METRIC].mean),
        percent(ours[METRIC].mean),
        change(one.difference),
        p_value(one.difference.p),
        verdict_of(one),
    )


def _figures(row: Row, category: str | None) -> Mapping[str, Estimate]:
    return row.metrics if category is None else row.categories[category]


def _explained(rows: Mapping[str, Row], one: Comparison) -> str:
    """How a lower mean comes about: how many questions lose, whether the gap closes further
    down, which peer alone finds more, and whose units are lost; "" where the mean is not lower."""
    delta = one.difference.delta
    if delta is None or delta >= 0:
        return ""
    parts = [f"questions lower: {one.lost}, higher: {one.gained}"]
    ours, theirs = (_figures(rows[name], one.category) for name in (one.row, one.against))
    further = [
        (label, _gap(ours[metric], theirs[metric]))
        for metric, label in (("recall@20", "R@20"), ("recall@50", "R@50"))
    ]
    gaps = ", ".join(f"{label} {percent(gap, '+')}" for label, gap in further)
    parts.append(f"{gaps}: {_depth(delta, further[-1][1])}")
    here = ours[METRIC].mean
    for name, kind in ((COSINE, "vectors"), (BM25, "words")):
        alone = _figures(rows[name], one.category)[METRIC].mean if name in rows else None
        if alone is not None and here is not None and alone > here:
            parts.append(f"{kind} alone find more ({percent(alone)})")
    return "; ".join([*parts, *_authors(one)])


def _authors(one: Comparison) -> Iterator[str]:
    """Authors whose share of the lost units is clearly above their share of the relevant ones."""
    lost = sum(units.lost for units in one.by_author.values())
    relevant = sum(units.relevant for units in one.by_author.values())
    for author, units in one.by_author.items():
        if lost < _LOST_LEAST or units.lost * relevant < _CLEARLY * units.relevant * lost:
            continue
        yield (
            f"by {author or 'no author'}: {units.lost} of {lost} units lost,"
            f" {units.relevant} of {relevant} relevant"
        )


def _gap(ours: Estimate, theirs: Estimate) -> float:
    return (ours.mean or 0.0) - (theirs.mean or 0.0)


def _depth(at_10: float, at_50: float) -> str:
    if at_50 >= 0:
        return "the gap is gone at 50"
    if at_50 >= at_10 / 2:
        return "most of the gap is gone at 50"
    return "the gap stays"


def category_differences(report: BenchmarkReport) -> Table:
    """Categories in which R@10 of a row differs significantly from that of another row, the hybrid
    left out: `against_hybrid` shows it."""
    rows = []
    for one in report.comparisons:
        found = one.difference
        if one.category is None or one.queries < SHOWN_LEAST or one.against == HYBRID:
            continue
        if found.p is not None and found.p < SIGNIFICANT:
            name = named_difference(one.row, one.against)
            rows.append(
                (f"{name}: {one.category} ({one.queries})", change(found), p_value(found.p))
            )
    return Table(
        title="Categories that differ",
        note=f"R@10, p < {SIGNIFICANT}, categories of at least {SHOWN_LEAST} questions.",
        columns=("rows", "R@10", "p"),
        rows=tuple(rows),
    )
