"""The report of an evaluation, and its text."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from vestig.evaluation.calibration import Calibration
from vestig.evaluation.intervals import Difference, Estimate
from vestig.evaluation.tables import NONE, Table, change, p_value, percent, text_of
from vestig.types import _Value

# Results of a recall; a label that none of them answers is not found.
LIMIT: Final = 10
CUTS: Final = (1, 5, LIMIT)
METRICS: Final = ("hit@1", *(f"recall@{cut}" for cut in CUTS), "mrr")


class QuestionRanks(_Value, frozen=True, kw_only=True):
    """The rank of each label of a question, from 1; null: not among the results."""

    id: str
    category: str
    confidence: float | None
    ranks: dict[str, int | None]


class Row(_Value, frozen=True, kw_only=True):
    """The figures of one configuration.

    `overrides`: keys that a switch sets. `metrics`, `categories`: of the questions with relevant
    memories, all and by category. `newest_first`: share of the questions with outdated memories of
    which the first relevant one stands above all outdated ones; only where there are such.
    `answered`: share of the questions with relevant memories to which recall brings one of them,
    where it may be silent; `unanswered`: of those that nothing answers, to which it brings
    something.
    `confidence`: only where there are such, and recall has a confidence.
    `differences`: what a switch has more of each metric, paired by question.
    """

    name: str
    overrides: dict[str, Any]
    metrics: dict[str, Estimate]
    categories: dict[str, dict[str, Estimate]]
    newest_first: float | UnsetType = UNSET
    answered: float | UnsetType = UNSET
    unanswered: float | UnsetType = UNSET
    confidence: Calibration | UnsetType = UNSET
    differences: dict[str, Difference] = msgspec.field(default_factory=dict)
    questions: tuple[QuestionRanks, ...] = ()


class EvaluationReport(_Value, frozen=True, kw_only=True):
    """Holds what `vestig.evaluate` found: the row of the configuration in effect, then one for each
    switch. `unanswerable`: questions that nothing answers; `seq`: the state of the store;
    `settings`: every key of the configuration."""

    name: str
    questions: int
    unanswerable: int
    memories: int
    seq: int
    rows: tuple[Row, ...]
    settings: dict[str, Any]
    warnings: tuple[str, ...] = ()

    def row(self, name: str) -> Row:
        """Return the row of this name.

        Raises:
            KeyError: there is none.
        """
        return {row.name: row for row in self.rows}[name]


_SHOWN: Final = (
    ("hit@1", "hit@1"),
    *((f"recall@{cut}", f"R@{cut}") for cut in CUTS[1:]),
    ("mrr", "MRR"),
)


def text(report: EvaluationReport) -> str:
    """Return the report for a terminal."""
    head = (
        f"{report.name}: {report.questions:,} questions, {report.unanswerable:,} of them without an"
        f" answer; {report.memories:,} memories, seq {report.seq}"
    )
    return f"{head}\n\n{text_of((_results(report), _by_category(report), _changes(report)))}"


def _results(report: EvaluationReport) -> Table:
    rows = []
    for row in report.rows:
        means = (percent(row.metrics[metric].mean) for metric, _ in _SHOWN)
        newest = NONE if row.newest_first is UNSET else percent(row.newest_first)
        right = NONE if row.answered is UNSET else percent(row.answered)
        wrong = NONE if row.unanswered is UNSET else percent(row.unanswered)
        sure = (NONE, NONE)
        if row.confidence is not UNSET:
            sure = (f"{row.confidence.auroc:.3f}", f"{row.confidence.calibration_error:.3f}")
        rows.append((row.name, *means, newest, right, wrong, *sure))
    return Table(
        title="Results",
        note=f"Macro means in per cent of the {LIMIT} memories that rank first; questions of which"
        " the first answer stands above all that it replaced; answered questions that bring an"
        " answer where recall may be silent, and others that bring something; AUROC and calibration"
        " error of the confidence.",
        columns=(
            *("row", *(label for _, label in _SHOWN)),
            *("newest first", "answered", "unanswered", "AUROC", "error"),
        ),
        rows=tuple(rows),
    )


def _by_category(report: EvaluationReport) -> Table:
    names = list(report.rows[0].categories)
    return Table(
        title=f"R@{LIMIT} by category",
        columns=("category", *(row.name for row in report.rows)),
        rows=tuple(
            (name, *(percent(row.categories[name][f"recall@{LIMIT}"].mean) for row in report.rows))
            for name in names
        ),
    )


def _changes(report: EvaluationReport) -> Table:
    rows = []
    for row in report.rows[1:]:
        pairs = (
            (change(row.differences[metric]), p_value(row.differences[metric].p))
            for metric, _ in _SHOWN
        )
        rows.append((row.name, *(cell for pair in pairs for cell in pair)))
    return Table(
        title=f"Against {report.rows[0].name}",
        note="Points of per cent with 95 % intervals, paired by question; two-sided p.",
        columns=("row", *(cell for _, label in _SHOWN for cell in (label, "p"))),
        rows=tuple(rows),
    )
