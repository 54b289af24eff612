"""The tables of a report, and a report as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from vestig.evaluation.confidence import MIXTURE
from vestig.evaluation.rankings import PEERS
from vestig.evaluation.report import (
    BenchmarkReport,
    Calibration,
    Comparison,
    Difference,
    Estimate,
    EvaluationReport,
    RetrievalBenchmark,
    RetrievalFigures,
    RetrievalReplay,
    RetrievalRow,
    Row,
)
from vestig.evaluation.rows import PAIRED_DRAWS, main_profiles, named_difference

NONE: Final = "–"
SIGNIFICANT: Final = 0.01


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Cells as text.

    The first column names the row; the others hold figures, but for the last `sentences` columns,
    or all of them with `words`. `folded`: shown only when unfolded, where the format can.
    """

    title: str
    note: str = ""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: bool = False
    sentences: int = 0
    folded: bool = False

    def is_words(self, column: int) -> bool:
        """Return whether a column holds words, which are aligned left; figures are aligned
        right."""
        return self.words or column == 0 or column >= len(self.columns) - self.sentences


def percent(value: float | None, sign: str = "") -> str:
    """A share in per cent with one decimal.

    Example:
        >>> percent(0.475), percent(0.012, "+"), percent(None)
        ('47.5', '+1.2', '–')
    """
    # adding 0 takes the sign from a rounded -0
    return NONE if value is None else f"{round(100 * value, 1) + 0.0:{sign}.1f}"


def change(found: Difference) -> str:
    """A difference with its interval, in points of per cent.

    Example:
        >>> change(Difference(delta=0.012, low=-0.01, high=0.03, p=0.2))
        '+1.2 (-1.0 to +3.0)'
    """
    low, high = percent(found.low, "+"), percent(found.high, "+")
    return f"{percent(found.delta, '+')} ({low} to {high})"


def p_value(value: float | None) -> str:
    """A p with four decimals."""
    return NONE if value is None else f"{value:.4f}"


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
        >>> from vestig.evaluation.report import Difference
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
            sentences=1 + len(last),
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
        folded=True,
    )
