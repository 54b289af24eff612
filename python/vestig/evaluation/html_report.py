"""A report as one HTML page with its drawings: no script, nothing from outside, light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

import msgspec

from vestig.evaluation.report import BenchmarkReport, Comparison, Estimate, EvaluationReport, Row
from vestig.evaluation.rows import main_profiles, named_difference
from vestig.evaluation.tables import (
    BETTER,
    SIGNIFICANT,
    WORSE,
    Table,
    facts,
    retrieval_facts,
    retrieval_tables,
    tables,
    verdict,
)

_CHAR: Final = 7.0
_LABEL_CHARS_MAX: Final = 48
_LINE: Final = 24
_BAR: Final = 12
_TOP: Final = 30
_BOTTOM: Final = 22
_PLOT: Final = 170
_VALUE: Final = 44
_GAP: Final = 10
# Half of an axis of differences, in points of per cent.
_SPANS: Final = (2.0, 4.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0)


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a plot, values in per cent. `look` is a class of the page."""

    label: str
    look: str
    value: float
    low: float
    high: float
    tooltip: str = ""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Points joined to one line, both coordinates from 0 to 1. `tooltips`: by point."""

    label: str
    look: str
    points: tuple[tuple[float, float], ...]
    tooltips: tuple[str, ...]


def _shown(label: str) -> str:
    return label if len(label) <= _LABEL_CHARS_MAX else label[: _LABEL_CHARS_MAX - 1] + "…"


def _gutter(marks: Sequence[Mark]) -> int:
    return int(max(len(_shown(mark.label)) for mark in marks) * _CHAR) + _GAP


def _text(x: float, y: float, words: str, look: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{look}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{look}"/>'


def _frame(title: str, width: float, height: float, body: Sequence[str]) -> str:
    inner = "\n".join(body)
    return (
        f'<svg role="img" aria-label="{escape(title, quote=True)}" width="{width:.0f}"'
        f' height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">\n{inner}\n</svg>'
    )


def _whisker(left: float, right: float, y: float) -> list[str]:
    ends = [_line(x, y - 3, x, y + 3, "whisker") for x in (left, right)]
    return [_line(left, y, right, y, "whisker"), *ends]


def bars(title: str, marks: Sequence[Mark]) -> str:
    """Bars from 0 to 100 per cent with their intervals, one under the other.

    Example:
        >>> mark = Mark(label="<a>", look="peer", value=47.5, low=44.0, high=51.0)
        >>> drawn = bars("R@10", [mark])
        >>> "&lt;a&gt;" in drawn, drawn.count("<rect")
        (True, 1)
    """
    gutter = _gutter(marks)
    bottom = _TOP + _LINE * len(marks)
    body = [_text(0, 14, title, "title")]
    for percent in (0, 25, 50, 75, 100):
        x = gutter + _PLOT * percent / 100
        body.append(_line(x, _TOP - 4, x, bottom, "grid" if percent else "axis"))
        if percent % 50 == 0:
            body.append(_text(x, bottom + 15, str(percent), "tick", "middle"))
    for number, mark in enumerate(marks):
        y = _TOP + _LINE * number + _LINE / 2
        length = max(1.0, _PLOT * mark.value / 100)
        left, right = (gutter + _PLOT * end / 100 for end in (mark.low, mark.high))
        body += [
            f"<g><title>{escape(f'{mark.label}: {mark.tooltip}')}</title>",
            f'<rect x="0" y="{y - _LINE / 2:.1f}" width="{gutter + _PLOT + _VALUE}"'
            f' height="{_LINE}" class="hit"/>'
            if mark.tooltip
            else "",
            _text(gutter - _GAP, y + 4, _shown(mark.label), "label", "end"),
            f'<rect x="{gutter}" y="{y - _BAR / 2:.1f}" width="{length:.1f}" height="{_BAR}"'
            f' rx="2" class="bar {escape(mark.look, quote=True)}"/>',
            *_whisker(left, right, y),
            _text(gutter + _PLOT + _VALUE, y + 4, f"{mark.value:.1f}", "value", "end"),
            "</g>",
        ]
    return _frame(title, gutter + _PLOT + _VALUE, bottom + _BOTTOM, [part for part in body if part])


def forest(title: str, marks: Sequence[Mark]) -> str:
    """Differences in points of per cent with their intervals around a line at 0."""
    gutter, width = _gutter(marks) + _GAP, 2 * _PLOT
    furthest = max(abs(end) for mark in marks for end in (mark.low, mark.high))
    span = next(span for span in _SPANS if span >= furthest or span == _SPANS[-1])
    bottom = _TOP + _LINE * len(marks)

    def place(value: float) -> float:
        return gutter + width * (value + span) / (2 * span)

    body = [_text(0, 14, title, "title")]
    for value in (-span, -span / 2, 0.0, span / 2, span):
        x = place(value)
        body.append(_line(x, _TOP - 4, x, bottom, "grid" if value else "axis"))
        body.append(_text(x, bottom + 15, f"{value:+.0f}" if value else "0", "tick", "middle"))
    for number, mark in enumerate(marks):
        y = _TOP + _LINE * number + _LINE / 2
        body += [
            f"<g><title>{escape(f'{mark.label}: {mark.tooltip}')}</title>",
            _text(gutter - 2 * _GAP, y + 4, _shown(mark.label), "label", "end"),
            *_whisker(place(mark.low), place(mark.high), y),
            f'<circle cx="{place(mark.value):.1f}" cy="{y:.1f}" r="4.5"'
            f' class="bar {escape(mark.look, quote=True)}"/>',
            _text(gutter + width + _VALUE + _GAP, y + 4, f"{mark.value:+.1f}", "value", "end"),
            "</g>",
        ]
    return _frame(title, gutter + width + _VALUE + _GAP, bottom + _BOTTOM, body)


_SQUARE: Final = 200
_LEFT: Final = 34
_LEGEND: Final = 150
# Room for the title and, under it, the name of the upright axis.
_HEAD: Final = 48
# More points than these would hide their line.
_DOTS_MOST: Final = 25


def lines(title: str, axes: tuple[str, str], drawn: Sequence[Line], *, even: bool = False) -> str:
    """Lines over a square from 0 to 1; `even`: with the diagonal, where both coordinates agree.

    Example:
        >>> points, texts = ((0.0, 0.0), (1.0, 0.5)), ("", "x")
        >>> line = Line(label="a<b", look="peer", points=points, tooltips=texts)
        >>> drawn = lines("Risk", ("coverage", "risk"), [line], even=True)
        >>> drawn.count("<polyline"), "a&lt;b" in drawn
        (1, True)
    """
    bottom, right = _HEAD + _SQUARE, _LEFT + _SQUARE

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return _LEFT + _SQUARE * point[0], bottom - _SQUARE * point[1]

    body = [_text(0, 14, title, "title")]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = at((share, share))
        look = "grid" if share else "axis"
        body += [_line(x, _HEAD, x, bottom, look), _line(_LEFT, y, right, y, look)]
        if share in (0.0, 0.5, 1.0):
            body.append(_text(x, bottom + 15, f"{share:g}", "tick", "middle"))
            body.append(_text(_LEFT - 6, y + 4, f"{share:g}", "tick", "end"))
    if even:
        body.append(_line(_LEFT, bottom, right, _HEAD, "axis even"))
    for number, one in enumerate(drawn):
        places = [at(point) for point in one.points]
        look = escape(one.look, quote=True)
        dot = f"bar {look}" if len(places) <= _DOTS_MOST else "hit"
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        body.append(f'<polyline points="{joined}" class="curve {look}"/>')
        for (x, y), tooltip in zip(places, one.tooltips, strict=True):
            inner = f"<title>{escape(f'{one.label}: {tooltip}')}</title>" if tooltip else ""
            body.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="{dot}">{inner}</circle>')
        y = _HEAD + 10 + 18 * number
        body.append(_line(right + 14, y, right + 30, y, f"curve {look}"))
        body.append(_text(right + 36, y + 4, _shown(one.label), "label"))
    body.append(_text(_LEFT + _SQUARE / 2, bottom + 32, axes[0], "tick", "middle"))
    body.append(_text(0, _HEAD - 12, axes[1], "tick"))
    return _frame(title, right + _LEGEND, bottom + 40, body)


_PLOTTED: Final = (
    ("recall@5", "R@5"),
    ("recall@10", "R@10"),
    ("ndcg@10", "nDCG@10"),
    ("mrr", "MRR"),
)
_STYLE: Final = """
:root {
  color-scheme: light dark;
  --ground: #fcfcfb; --ink: #1a1a19; --soft: #63625e; --rule: #dddcd8; --grid: #ecebe7;
  --main: #2a78d6; --profile: #7fa9dc; --peer: #b3b1ab; --change: #c9b27a;
  --better: #1b8a5a; --worse: #c8443c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #1a1a19; --ink: #f2f1ee; --soft: #a9a8a2; --rule: #3d3c39; --grid: #2c2b29;
    --main: #4a93ea; --profile: #36618f; --peer: #6a6862; --change: #86703a;
    --better: #3fb983; --worse: #ea6b62;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 84rem; background: var(--ground);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
}
h1 { font-size: 1.6rem; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: 1rem; }
h2 { border-top: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 1.75rem 0 .25rem; }
p.note { margin: 0 0 .5rem; color: var(--soft); }
p.verdict { font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.plots { display: flex; flex-wrap: wrap; gap: 1.5rem 2.5rem; margin: 1rem 0; }
.wide { overflow-x: auto; }
svg { max-width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg .title { font-weight: 600; font-size: 13px; fill: var(--ink); }
svg .label, svg .value { fill: var(--ink); }
svg .value { font-variant-numeric: tabular-nums; }
svg .tick { fill: var(--soft); font-size: 11px; }
svg .grid { stroke: var(--grid); }
svg .axis { stroke: var(--soft); }
svg .whisker { stroke: var(--ink); stroke-width: 1.25; }
svg .hit { fill: transparent; }
svg .curve { fill: none; stroke-width: 2; }
svg .even { stroke-dasharray: 4 4; }
svg .curve.foreign { stroke: var(--better); }
svg .curve.removed { stroke: var(--worse); }
svg .curve.mixture { stroke: var(--main); }
svg .bar.foreign { fill: var(--better); }
svg .bar.removed { fill: var(--worse); }
svg .bar.mixture { fill: var(--main); }
svg .bar.main { fill: var(--main); }
svg .bar.profile { fill: var(--profile); }
svg .bar.peer { fill: var(--peer); }
svg .bar.change { fill: var(--change); }
svg .bar.better { fill: var(--better); }
svg .bar.worse { fill: var(--worse); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: .25rem .6rem; text-align: right; white-space: nowrap; }
th, td { border-bottom: 1px solid var(--rule); }
th.words, td.words { text-align: left; }
td.long { white-space: normal; min-width: 22rem; max-width: 40rem; }
td.better { color: var(--better); }
td.worse { color: var(--worse); font-weight: 600; }
table.words td { white-space: normal; overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; }
p.key { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0; color: var(--soft); }
p.key { font-size: 12px; }
.swatch { display: inline-block; width: .9em; height: .7em; margin-right: .45em; }
.swatch { border-radius: 2px; }
.swatch.main { background: var(--main); }
.swatch.profile { background: var(--profile); }
.swatch.peer { background: var(--peer); }
.swatch.change { background: var(--change); }
.swatch.better { background: var(--better); }
.swatch.worse { background: var(--worse); }
.swatch.whisker { height: 1.25px; border-radius: 0; background: var(--ink); }
.swatch.whisker { vertical-align: middle; }
summary { cursor: pointer; margin-top: 1.5rem; font-weight: 600; }
"""


def _look(row: Row, main: Sequence[str]) -> str:
    if row.kind == "profile":
        return "main" if row.name in main else "profile"
    return "peer" if row.kind == "peer" else "change"


def _mark(row: Row, estimate: Estimate, main: Sequence[str]) -> Mark | None:
    if estimate.mean is None or estimate.low is None or estimate.high is None:
        return None
    value, low, high = (100 * part for part in (estimate.mean, estimate.low, estimate.high))
    return Mark(
        label=row.name,
        look=_look(row, main),
        value=value,
        low=low,
        high=high,
        tooltip=f"{value:.1f} (95 %: {low:.1f} to {high:.1f})",
    )


def _metric_plots(report: BenchmarkReport) -> Iterator[str]:
    """Bars of every row but ablations, which the plot of differences shows."""
    main = main_profiles(report.rows)
    rows = [row for row in report.rows if row.kind != "ablation"]
    for metric, label in _PLOTTED:
        found = (_mark(row, row.metrics[metric], main) for row in rows)
        marks = [mark for mark in found if mark is not None]
        if marks:
            yield bars(f"{label}, per cent", marks)


def _category_plots(report: BenchmarkReport) -> Iterator[str]:
    """R@10 in each category; rows of switches stay in the table."""
    main = main_profiles(report.rows)
    rows = [row for row in report.rows if row.kind in ("peer", "profile")]
    for name, count in report.categories.items():
        found = (_mark(row, row.categories[name]["recall@10"], main) for row in rows)
        marks = [mark for mark in found if mark is not None]
        if marks:
            yield bars(f"{name} ({count})", marks)


def _difference_mark(one: Comparison) -> Mark | None:
    change = one.difference
    if change.delta is None or change.low is None or change.high is None or change.p is None:
        return None
    look = "peer"
    if change.p < SIGNIFICANT:
        look = "better" if change.delta > 0 else "worse"
    value, low, high = (100 * part for part in (change.delta, change.low, change.high))
    tooltip = f"{value:+.1f} (95 %: {low:+.1f} to {high:+.1f}), p = {change.p:.4f}"
    label = named_difference(one.row, one.against)
    return Mark(label=label, look=look, value=value, low=low, high=high, tooltip=tooltip)


def _difference_plot(report: BenchmarkReport) -> Iterator[str]:
    chosen = (
        _difference_mark(one)
        for one in report.comparisons
        if one.category is None and one.metric == "recall@10"
    )
    marks = [mark for mark in chosen if mark is not None]
    if marks:
        yield forest("Differences in R@10, points of per cent", marks)


def _confidence_plots(report: BenchmarkReport) -> Iterator[str]:
    """Reliability and risk–coverage of every row that has a confidence."""
    for row in report.rows:
        found = row.confidence or {}
        reliable, curves = [], []
        for population, one in found.items():
            met = [
                (bin.confidence, bin.answerable, bin.share)
                for bin in one.bins
                if bin.confidence is not None and bin.answerable is not None
            ]
            reliable.append(
                Line(
                    label=population,
                    look=population,
                    points=tuple((confidence, true) for confidence, true, _ in met),
                    tooltips=tuple(
                        f"confidence {confidence:.2f}, true {true:.2f} ({share:.1%} of questions)"
                        for confidence, true, share in met
                    ),
                )
            )
            curves.append(
                Line(
                    label=population,
                    look=population,
                    points=tuple((at.coverage, at.risk) for at in one.curve),
                    tooltips=tuple(
                        f"min_confidence {at.threshold:.3f} answers {at.coverage:.1%},"
                        f" {at.risk:.1%} of that wrongly"
                        for at in one.curve
                    ),
                )
            )
        if found:
            yield lines(
                f"{row.name}: reliability", ("confidence", "answerable"), reliable, even=True
            )
            yield lines(f"{row.name}: risk and coverage", ("answered", "risk"), curves)


def _cell(table: Table, column: int, cell: str) -> str:
    looks = [_side(table, column)]
    if table.sentences > 1 and column == len(table.columns) - 1:
        looks.append("long")
    if cell.startswith((BETTER, WORSE)):
        looks.append("better" if cell.startswith(BETTER) else "worse")
    return f'<td class="{" ".join(looks)}">{escape(cell)}</td>'


def _side(table: Table, column: int) -> str:
    return "words" if table.is_words(column) else "figure"


def _table(table: Table) -> str:
    head = "".join(
        f'<th scope="col" class="{_side(table, n)}">{escape(cell)}</th>'
        for n, cell in enumerate(table.columns)
    )
    body = "\n".join(
        "<tr>" + "".join(_cell(table, n, cell) for n, cell in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    look = ' class="words"' if table.words else ""
    return (
        f'<div class="wide"><table{look}>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _titled(table: Table) -> str:
    note = f'<p class="note">{escape(table.note)}</p>\n' if table.note else ""
    if table.folded:
        title = escape(table.title)
        return f"<details><summary>{title}</summary>\n{note}{_table(table)}\n</details>"
    return f"<h3>{escape(table.title)}</h3>\n{note}{_table(table)}"


def _figure(plots: Iterator[str], key: Sequence[tuple[str, str]]) -> str:
    drawn = "\n".join(plots)
    return f'<div class="plots">\n{drawn}\n</div>{_key(key)}' if drawn else ""


def _key(key: Sequence[tuple[str, str]]) -> str:
    """Return what the colours of plots mean."""
    signs = "".join(
        f'<span><i class="swatch {look}"></i>{escape(words)}</span>' for look, words in key
    )
    return f'\n<p class="key">{signs}</p>' if key else ""


_DIFFERENT: Final = (
    ("better", "better, p < .01"),
    ("worse", "worse, p < .01"),
    ("peer", "not significant"),
    ("whisker", "95 % interval"),
)


def _looks(report: BenchmarkReport, kinds: Sequence[str]) -> list[tuple[str, str]]:
    """The colours of rows of these kinds, as far as they are there."""
    main = main_profiles(report.rows)
    there = {_look(row, main) for row in report.rows if row.kind in kinds}
    words = {
        "main": ", ".join(main),
        "profile": "other profiles",
        "peer": "peers",
        "change": "with switches",
    }
    return [*((look, meaning) for look, meaning in words.items() if look in there), _DIFFERENT[-1]]


def _head(name: str, named: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield f"<h2>{escape(name)}</h2>"
    pairs = "".join(f"<dt>{escape(one)}</dt><dd>{escape(value)}</dd>" for one, value in named)
    yield f"<dl>{pairs}</dl>"


def _benchmark(report: EvaluationReport, benchmark: BenchmarkReport) -> Iterator[str]:
    yield from _head(benchmark.name, facts(report, benchmark))
    for line in benchmark.warnings:
        yield f'<p class="note">{escape(line)}</p>'
    made = list(tables(benchmark, all_keys=True))
    compared = _looks(benchmark, ("peer", "profile"))
    measured = _looks(benchmark, ("peer", "profile", "switch"))
    figures: dict[str, tuple[Iterator[str], Sequence[tuple[str, str]]]] = {
        "Results": (_metric_plots(benchmark), measured),
        "Differences": (_difference_plot(benchmark), _DIFFERENT),
        "R@10 by category": (_category_plots(benchmark), compared),
        "Confidence": (_confidence_plots(benchmark), ()),
    }
    for table in made:
        yield _titled(table)
        if table.title in figures:
            yield _figure(*figures[table.title])


def html(report: EvaluationReport) -> str:
    """The whole page."""
    body = ["<h1>Evaluation of recall</h1>"]
    body += [f'<p class="verdict">{escape(line)}</p>' for line in verdict(report)]
    for benchmark in report.benchmarks:
        body += _benchmark(report, benchmark)
    for retrieved in report.retrieval:
        body += _head(retrieved.name, retrieval_facts(report, retrieved))
        body += [_titled(table) for table in retrieval_tables(retrieved) if table.rows]
    inner = "\n".join(part for part in body if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Evaluation of recall</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{inner}\n</body>\n</html>\n"
    )
