"""Recall against the hybrid of cosine and BM25, category by category.

A profile that is better over all questions may be worse in one category: the report shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from vestig.evaluation.comparison import main_profiles, named_difference
from vestig.evaluation.peers import PEERS
from vestig.evaluation.report import BenchmarkReport, Comparison, Estimate, Row
from vestig.evaluation.report_table import SIGNIFICANT, Table, change, p_value, percent

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
