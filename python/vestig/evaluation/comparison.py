"""Comparisons of rows: paired bootstrap tests, and the gate that `default` passes when it is
nowhere below `baseline`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from vestig.evaluation.bootstrap import differences
from vestig.evaluation.report import Comparison, Row
from vestig.evaluation.variants import BASELINE, DEFAULT, SHIPPED

COMPARED: Final = (
    "recall@1",
    "recall@5",
    "recall@10",
    "recall@20",
    "recall@50",
    "ndcg@5",
    "ndcg@10",
    "mrr",
)
# Metrics that are compared within a category.
IN_CATEGORIES: Final = ("recall@10",)
GATED: Final = ("recall@5", "ndcg@5")

Scores = Mapping[str, Sequence[float]]


def _pairs(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """(row, against): each main profile against every peer and profile, a changed profile
    against the unchanged one."""
    profiles = {row.profile: row.name for row in rows if row.kind == "profile"}
    others = [row.name for row in rows if row.kind in ("peer", "profile")]
    for main in main_profiles(rows):
        yield from ((main, other) for other in others if other != main)
    for row in rows:
        if row.kind in ("switch", "ablation") and row.profile in profiles:
            yield row.name, profiles[row.profile]


def main_profiles(rows: Sequence[Row]) -> list[str]:
    """The profiles that an evaluation is about: `default` and those of one's own, else the last
    that is measured."""
    profiles = [row for row in rows if row.kind == "profile"]
    found = [row.name for row in profiles if row.profile == DEFAULT or row.profile not in SHIPPED]
    return found or [row.name for row in profiles[-1:]]


def compare(
    scores: Mapping[str, Scores], rows: Sequence[Row], categories: Sequence[str]
) -> Iterator[Comparison]:
    """Every comparison, over all questions and by category.

    Args:
        scores: row → metric → one value per question.
        categories: the category of each question.
    """
    members: dict[str, list[int]] = {}
    for number, category in enumerate(categories):
        members.setdefault(category, []).append(number)
    for row, against in _pairs(rows):
        yield from _compared(scores, row, against, None, range(len(categories)))
        for category, chosen in sorted(members.items()):
            yield from _compared(scores, row, against, category, chosen)


def _compared(
    scores: Mapping[str, Scores],
    row: str,
    against: str,
    category: str | None,
    chosen: Sequence[int],
) -> Iterator[Comparison]:
    metrics = COMPARED if category is None else IN_CATEGORIES
    ours, theirs = (
        {metric: [scores[name][metric][n] for n in chosen] for metric in metrics}
        for name in (row, against)
    )
    for metric, difference in differences(ours, theirs).items():
        pairs = list(zip(ours[metric], theirs[metric], strict=True))
        yield Comparison(
            row=row,
            against=against,
            metric=metric,
            category=category,
            queries=len(chosen),
            gained=sum(here > there for here, there in pairs),
            lost=sum(here < there for here, there in pairs),
            difference=difference,
        )


def named_difference(row: str, against: str) -> str:
    """Return what a difference is called; a changed profile is compared with the unchanged one.

    Example:
        >>> named_difference("default", "cosine"), named_difference("default k=1", "default")
        ('default against cosine', 'default k=1')
    """
    return row if row.startswith(f"{against} ") else f"{row} against {against}"


def gate_breaches(benchmark: str, rows: Sequence[Row]) -> list[str]:
    """A line for each metric of `GATED` in which `default` is below `baseline`; [] = none."""
    by_name = {row.name: row for row in rows}
    ours, theirs = by_name[DEFAULT].metrics, by_name[BASELINE].metrics
    found = []
    for metric in GATED:
        here, there = ours[metric].mean, theirs[metric].mean
        if here is None or there is None or here < there:
            shown = ["null" if mean is None else f"{100 * mean:.2f}" for mean in (here, there)]
            found.append(f"{benchmark}: {metric} of default is {shown[0]}, of baseline {shown[1]}")
    return found
