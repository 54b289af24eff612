"""What a report says of each category against the hybrid of cosine and BM25."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from benchmarks import tables
from benchmarks.evaluate import evaluate
from benchmarks.labelled_life import Bench, queries, units
from benchmarks.rankings import CUTS, METRICS, Tally, with_losses
from benchmarks.reader import read_benchmark
from benchmarks.report import AuthorUnits, BenchmarkReport, EvaluationReport, Row
from benchmarks.rows import compare
from benchmarks.tables import JUDGED_LEAST, Table, against_hybrid, category_differences
from vestig.evaluation.intervals import estimates
from vestig.testing import HashingEmbedder

# Category → questions.
SIZES = {"dates": 60, "even": 50, "names": 60, "tiny": JUDGED_LEAST - 1}
CATEGORIES = [name for name, size in SIZES.items() for _ in range(size)]


def _values(by_category: Mapping[str, float]) -> list[float]:
    """So large a share of the questions of a category has 1, the first ones."""
    return [
        float(n < by_category[name] * size) for name, size in SIZES.items() for n in range(size)
    ]


def _scores(at_10: Mapping[str, float], at_50: Mapping[str, float]) -> dict[str, list[float]]:
    found = dict.fromkeys(METRICS, _values(at_10))
    return {**found, "recall@20": _values(at_50), "recall@50": _values(at_50)}


def _row(name: str, kind: Any, scores: Mapping[str, Sequence[float]]) -> Row:
    categories = {}
    for category in SIZES:
        chosen = [n for n, one in enumerate(CATEGORIES) if one == category]
        categories[category] = estimates(
            {metric: [column[n] for n in chosen] for metric, column in scores.items()}
        )
    return Row(
        name=name,
        kind=kind,
        profile=None if kind == "peer" else name,
        overrides={},
        parameters={},
        metrics=estimates(scores),
        categories=categories,
        latency=None,
        settings={},
    )


HALF = dict.fromkeys(SIZES, 0.5)
# dates: far below hybrid, among 50 too; even: a little below, and not among 50.
OURS = {"dates": 0.1, "even": 0.48, "names": 1.0, "tiny": 0.1}
OURS_50 = {"dates": 0.2, "even": 0.5, "names": 1.0, "tiny": 0.45}


def _found(bench: Bench, ours: Mapping[str, float] = OURS) -> BenchmarkReport:
    """A report of made-up rows on the facts of a small one."""
    real = evaluate(
        bench(units(), queries()), profiles=["baseline"], embedder=HashingEmbedder(), peers=False
    )
    scores = {
        "cosine": _scores({**HALF, "dates": 0.05}, HALF),
        "bm25": _scores({**HALF, "dates": 0.4}, HALF),
        "hybrid": _scores(HALF, HALF),
        "default": _scores(ours, OURS_50),
    }
    rows = tuple(
        _row(name, "profile" if name == "default" else "peer", found)
        for name, found in scores.items()
    )
    return msgspec.structs.replace(
        real.benchmarks[0],
        categories=SIZES,
        queries=len(CATEGORIES),
        rows=rows,
        comparisons=tuple(compare(scores, rows, CATEGORIES)),
    )


def _table(report: BenchmarkReport) -> Table:
    (table,) = against_hybrid(report)
    return table


def test_every_category_is_judged_against_the_hybrid(bench: Bench) -> None:
    table = _table(_found(bench))
    assert table.title == "default against hybrid"
    lines = {row[0]: row for row in table.rows}
    assert list(lines) == ["all", *SIZES]
    assert [lines[name][1] for name in SIZES] == [str(size) for size in SIZES.values()]
    assert lines["dates"][2:4] == ("50.0", "10.0")
    assert re.fullmatch(r"-40\.0 \(-\d+\.\d to -\d+\.\d\)", lines["dates"][4])
    assert lines["dates"][5] == "0.0002"
    verdicts = {name: row[6] for name, row in lines.items()}
    assert verdicts == {
        "all": "= not significant",
        "dates": "▼ worse",
        "even": "= not significant",
        "names": "▲ better",
        "tiny": "▼ worse, few questions",
    }


def test_the_note_names_categories_that_are_worse(bench: Bench) -> None:
    assert "default is significantly worse in: dates. " in _table(_found(bench)).note


def test_a_category_of_few_questions_is_not_judged(bench: Bench) -> None:
    note = _table(_found(bench, {**OURS, "dates": 0.5})).note
    assert "default is significantly worse nowhere. " in note


def test_all_questions_together_are_judged_too(bench: Bench) -> None:
    note = _table(_found(bench, dict.fromkeys(SIZES, 0.1))).note
    assert "worse in: all questions, dates, even, names. " in note


def test_a_lower_mean_is_explained_by_its_figures(bench: Bench) -> None:
    explanations = {row[0]: row[7] for row in _table(_found(bench)).rows}
    assert explanations["names"] == ""
    assert explanations["dates"] == (
        "questions lower: 24, higher: 0; R@20 -30.0, R@50 -30.0: the gap stays;"
        " words alone find more (40.0)"
    )
    assert explanations["even"].startswith(
        "questions lower: 1, higher: 0; R@20 +0.0, R@50 +0.0: the gap is "
    )
    assert "gone at 50" in explanations["even"]
    assert "most of the gap is gone at 50" in explanations["tiny"]


def test_nothing_is_explained_where_nothing_is_lower(bench: Bench) -> None:
    table = _table(_found(bench, dict.fromkeys(SIZES, 0.9)))
    assert table.columns[-1] == "verdict"
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_questions_gained_and_lost_are_counted(bench: Bench) -> None:
    found = {
        one.category: (one.gained, one.lost)
        for one in _found(bench).comparisons
        if one.against == "hybrid" and one.metric == "recall@10"
    }
    assert found["dates"] == (0, 24)
    assert found["names"] == (30, 0)
    assert found[None] == (30, 24 + 1 + 16)


def test_the_hybrid_has_a_table_of_its_own(bench: Bench) -> None:
    report = _found(bench)
    assert report.comparisons
    assert not [row for row in category_differences(report).rows if "hybrid" in row[0]]
    assert [
        row
        for row in category_differences(report).rows
        if "default against bm25: dates (60)" in row[0]
    ]
    unmeasured = msgspec.structs.replace(
        report, rows=tuple(row for row in report.rows if row.name != "hybrid")
    )
    assert list(against_hybrid(unmeasured)) == []


def test_the_text_of_a_report_shows_the_verdicts(bench: Bench) -> None:
    report = EvaluationReport(
        version="0",
        seed=0,
        interval_draws=1,
        paired_draws=1,
        cuts=(),
        depth=1,
        gated=False,
        benchmarks=(_found(bench),),
    )
    shown = tables.text(report)
    assert "default against hybrid" in shown
    assert "significantly worse in: dates" in shown
    assert "▼ worse, few questions" in shown
    assert "questions lower: 24, higher: 0" in shown


def test_lost_units_are_counted_by_author(bench: Bench) -> None:
    """Ada said 0, 2, 4 of the garden; the tenth place counts, the eleventh does not."""
    labelled = [
        {**queries()[0], "relevant": ["0", "1"], "category": "keys"},
        {**queries()[1], "relevant": ["2", "4", "9"], "category": "chores"},
    ]
    folder = bench([*units(), {**units()[0], "id": "9", "speaker": None}], labelled)
    benchmark = read_benchmark(folder)
    others = [f"x{n}" for n in range(20)]
    tallies = {"default": Tally(), "hybrid": Tally()}
    rankings = {
        "default": [[*others[:9], "1", "0"], ["x"]],
        "hybrid": [["0", "x", *others[:9], "1"], ["2"]],
    }
    for name, answers in rankings.items():
        for query, ranked in zip(benchmark.queries, answers, strict=True):
            tallies[name].add(dict.fromkeys(CUTS, ranked), query.relevant)
    rows = [_made(name) for name in ("hybrid", "default")]
    scores = {name: tally.scores for name, tally in tallies.items()}
    compared = compare(scores, rows, [query.category for query in benchmark.queries])
    found = {
        (one.metric, one.category): one.by_author
        for one in with_losses(compared, benchmark, tallies)
    }
    assert found["recall@10", None] == {
        "": AuthorUnits(relevant=1, lost=0, gained=0),
        "Ada": AuthorUnits(relevant=3, lost=2, gained=0),
        "Ben": AuthorUnits(relevant=1, lost=0, gained=1),
    }
    assert found["recall@10", "chores"] == {
        "": AuthorUnits(relevant=1, lost=0, gained=0),
        "Ada": AuthorUnits(relevant=2, lost=1, gained=0),
    }
    assert found["mrr", None] == {}


def _made(name: str) -> Row:
    scores = _scores(HALF, HALF)
    return _row(name, "profile" if name == "default" else "peer", scores)


def _explanation(bench: Bench, ada: AuthorUnits, ben: AuthorUnits) -> str:
    """The explanation of `dates` where these units were lost."""
    report = _found(bench)
    changed = tuple(
        msgspec.structs.replace(one, by_author={"Ada": ada, "Ben": ben})
        if one.category == "dates"
        else one
        for one in report.comparisons
    )
    table = _table(msgspec.structs.replace(report, comparisons=changed))
    return next(row[7] for row in table.rows if row[0] == "dates")


def test_an_author_is_named_who_loses_more_than_their_share(bench: Bench) -> None:
    ada = AuthorUnits(relevant=30, lost=9, gained=0)
    ben = AuthorUnits(relevant=50, lost=1, gained=0)
    explanation = _explanation(bench, ada, ben)
    assert explanation.endswith("; by Ada: 9 of 10 units lost, 30 of 80 relevant")
    assert "Ben" not in explanation


@pytest.mark.parametrize(("lost", "relevant"), [((2, 2), (10, 70)), ((5, 5), (40, 40))])
def test_no_author_is_named_for_few_units_or_their_own_share(
    bench: Bench, lost: tuple[int, int], relevant: tuple[int, int]
) -> None:
    ada, ben = (
        AuthorUnits(relevant=many, lost=few, gained=0)
        for many, few in zip(relevant, lost, strict=True)
    )
    assert "; by " not in _explanation(bench, ada, ben)


def test_an_evaluation_counts_units_by_author(bench: Bench) -> None:
    report = evaluate(bench(units(), queries()), profiles=["baseline"], embedder=HashingEmbedder())
    (whole,) = (
        one
        for one in report.benchmarks[0].comparisons
        if (one.against, one.metric, one.category) == ("hybrid", "recall@10", None)
    )
    assert {name: said.relevant for name, said in whole.by_author.items()} == {
        "Ada": 1,
        "Ben": 3,
        "Kofi": 2,
        "Lena": 1,
    }
