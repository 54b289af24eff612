"""Reports: numbers, escaped texts, nothing from outside; comparisons and the gate."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest
from labelled_life import Bench, queries, units

import vestig
from vestig.evaluation import html_report, tables
from vestig.evaluation.rankings import METRICS
from vestig.evaluation.report import Estimate, EvaluationReport, Row
from vestig.evaluation.rows import COMPARED, compare, gate_breaches, main_profiles
from vestig.testing import HashingEmbedder

HOSTILE = "<script>alert(1)</script>|`*_[x](http://example.org)\u2028"


def _report(bench: Bench, **options: Any) -> EvaluationReport:
    labelled = [{**queries()[0], "category": HOSTILE}, *queries()[1:]]
    return vestig.evaluate(
        bench(units(), labelled, name="a <b> & c"),
        profiles=["baseline", "default"],
        embedder=HashingEmbedder(),
        **options,
    )


class _Page(HTMLParser):
    """Tags in balance, and what they would load."""

    VOID = ("meta", "line", "rect", "circle", "!doctype")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: dict[str, int] = {}
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attrs}
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(bench: Bench) -> None:
    page = html_report.html(_report(bench, gate=True, ablate=True))
    parser = _Page()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    assert not {"script", "link", "img", "iframe", "object", "base"} & parser.seen.keys()
    assert not {"src", "href", "onload", "style"} & parser.attributes
    assert "url(" not in page
    assert "@import" not in page
    assert "prefers-color-scheme: dark" in page
    # four metrics, one plot of differences, one for each category
    assert parser.seen["svg"] == 4 + 1 + 5
    assert "&lt;script&gt;alert(1)" in page
    assert "a &lt;b&gt; &amp; c" in page


def test_every_plotted_number_is_that_of_the_report(bench: Bench) -> None:
    report = _report(bench)
    page = html_report.html(report)
    for row in report.benchmarks[0].rows:
        mean = row.metrics["recall@5"].mean
        assert mean is not None
        assert f"<title>{row.name}: {100 * mean:.1f} (95 %" in page


def test_bars_have_the_length_of_their_value() -> None:
    marks = [
        html_report.Mark(
            label=f"row {value}", look="peer", value=value, low=value, high=value, tooltip="x"
        )
        for value in (0.0, 50.0, 100.0)
    ]
    drawn = html_report.bars("title", marks)
    widths = re.findall(r'width="([\d.]+)" height="12"', drawn)
    assert [float(width) for width in widths] == [1.0, 85.0, 170.0]


def test_markdown_tables_keep_their_columns(bench: Bench) -> None:
    text = tables.markdown(_report(bench, gate=True))
    assert "<script>" not in text
    width = None
    for line in text.splitlines():
        if not line.startswith("|"):
            width = None
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        assert width in (None, cells), line
        width = cells
    assert "Gate passed" in text
    assert text.count("<details>") == text.count("</details>") == 2


def test_text_and_markdown_echo_seq_profile_values_and_seeds(bench: Bench) -> None:
    report = _report(bench)
    for text in (tables.text(report), tables.markdown(report), html_report.html(report)):
        assert f"seq {report.benchmarks[0].store.seq}" in text
        assert "baseline, default" in text
        assert "derived from query and seq" in text
        assert "0 (2,000 draws for intervals, 5,000 for differences)" in text
        assert report.benchmarks[0].digest in text
    for text in (tables.markdown(report).replace("\\", ""), html_report.html(report)):
        for key in report.benchmarks[0].row("default").settings:
            assert key in text
    assert "ranking.base" in tables.text(report)
    seeded = _seeded(report, 7)
    assert re.search(r"seed of walks +7", tables.text(seeded))


def _seeded(report: EvaluationReport, seed: int) -> EvaluationReport:
    (one,) = report.benchmarks
    rows = tuple(msgspec.structs.replace(row, seed=seed) for row in one.rows)
    changed = msgspec.structs.replace(one, rows=rows)
    return msgspec.structs.replace(report, benchmarks=(changed,))


def _row(name: str, mean: float | None, kind: Any = "profile") -> Row:
    estimate = Estimate(mean=mean, low=mean, high=mean)
    return Row(
        name=name,
        kind=kind,
        profile=name,
        overrides={},
        parameters={},
        metrics=dict.fromkeys(METRICS, estimate),
        categories={},
        latency=None,
        settings={},
    )


@pytest.mark.parametrize(
    ("default", "baseline", "breaches"),
    [(0.5, 0.5, 0), (0.6, 0.5, 0), (0.4999, 0.5, 2), (None, 0.5, 2)],
)
def test_the_gate_is_default_not_worse_than_baseline(
    default: float | None, baseline: float, breaches: int
) -> None:
    found = gate_breaches("set", [_row("baseline", baseline), _row("default", default)])
    assert len(found) == breaches
    assert all(fact.startswith("set: ") for fact in found)


def _same(values: list[float]) -> dict[str, list[float]]:
    return dict.fromkeys(METRICS, values)


def test_comparisons_are_paired_by_question_and_category() -> None:
    rows = [_row("bm25", 0, "peer"), _row("baseline", 0), _row("default", 0)]
    scores = {
        "bm25": _same([0.0, 0.0, 1.0]),
        "baseline": _same([0.0, 1.0, 1.0]),
        "default": _same([1.0, 1.0, 0.0]),
    }
    found = list(compare(scores, rows, ["x", "x", "y"]))
    assert {(c.row, c.against) for c in found} == {("default", "bm25"), ("default", "baseline")}
    whole = {(c.against, c.metric): c for c in found if c.category is None}
    assert {metric for _, metric in whole} == set(COMPARED)
    assert whole["bm25", "mrr"].difference.delta == pytest.approx(1 / 3)
    assert whole["baseline", "mrr"].difference.delta == 0.0
    assert whole["baseline", "mrr"].difference.p == 1.0
    parts = {(c.against, c.category): c for c in found if c.category is not None}
    assert parts["bm25", "x"].difference.delta == 1.0
    assert parts["bm25", "x"].difference.p == 0.0002
    assert parts["bm25", "x"].queries == 2
    assert parts["bm25", "y"].difference.delta == -1.0


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("baseline", "reference", "default"), ["default"]),
        (("default", "mine"), ["default", "mine"]),
        (("mine", "baseline"), ["mine"]),
        (("baseline", "reference"), ["reference"]),
        ((), []),
    ],
)
def test_an_evaluation_is_about_default_and_profiles_of_ones_own(
    names: tuple[str, ...], wanted: list[str]
) -> None:
    assert main_profiles([_row("bm25", 0, "peer"), *(_row(name, 0) for name in names)]) == wanted


def test_a_metric_without_questions_is_shown_as_a_dash() -> None:
    assert tables.percent(None) == "–"
    assert tables.percent(-0.0001, "+") == "+0.0"
