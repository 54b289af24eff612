"""Comparisons of rows: the bootstrap, paired tests by it, and the gate that `default` passes when
it is nowhere below `baseline`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from vestig.evaluation.report import Comparison, Difference, Estimate, Row
from vestig.evaluation.variants import BASELINE, DEFAULT, SHIPPED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


SEED: Final = 0
INTERVAL_DRAWS: Final = 2_000
PAIRED_DRAWS: Final = 5_000
_TAILS: Final = (2.5, 97.5)
# Indices drawn at once: bounds the memory that large benchmarks take.
_BLOCK: Final = 4_000_000


def _picks(size: int, draws: int) -> Iterator[NDArray[np.int64]]:
    """The resamples as rows of indices: `default_rng(SEED).integers(0, size, (draws, size))`."""
    import numpy as np

    generator = np.random.default_rng(SEED)
    step = max(1, _BLOCK // size)
    for start in range(0, draws, step):
        yield generator.integers(0, size, (min(step, draws - start), size))


def _means(columns: Sequence[NDArray[np.float64]], draws: int) -> NDArray[np.float64]:
    """The mean of every resample, a row for each column."""
    import numpy as np

    found: list[list[Any]] = [[] for _ in columns]
    for picks in _picks(len(columns[0]), draws):
        for place, column in enumerate(columns):
            found[place].append(column[picks].mean(1))
    return np.array([np.concatenate(parts) for parts in found])


def estimates(values: Mapping[str, Sequence[float]]) -> dict[str, Estimate]:
    """Macro means with 95 % bootstrap intervals; null over no questions at all.

    Args:
        values: metric → one value per question, the same questions for every metric.

    Example:
        >>> found = estimates({"hit@1": [1.0, 1.0, 0.0, 1.0], "mrr": [0.5, 0.5, 0.5, 0.5]})
        >>> found["hit@1"].mean, found["mrr"].low, found["mrr"].high
        (0.75, 0.5, 0.5)
        >>> estimates({"mrr": []})["mrr"].mean is None
        True
    """
    import numpy as np

    columns = [np.asarray(column, dtype=float) for column in values.values()]
    if not columns or not len(columns[0]):
        return {name: Estimate(mean=None, low=None, high=None) for name in values}
    means = _means(columns, INTERVAL_DRAWS)
    ends = np.percentile(means, _TAILS, axis=1)
    return {
        name: Estimate(
            mean=float(column.mean()), low=float(ends[0][place]), high=float(ends[1][place])
        )
        for place, (name, column) in enumerate(zip(values, columns, strict=True))
    }


def differences(
    ours: Mapping[str, Sequence[float]], theirs: Mapping[str, Sequence[float]]
) -> dict[str, Difference]:
    """Mean of ours − theirs with its 95 % interval and two-sided p, paired by question.

    p is twice the smaller share of resamples on either side of 0, at least 1 / draws.

    Example:
        >>> found = differences({"mrr": [1.0, 1.0, 1.0]}, {"mrr": [0.5, 0.5, 0.5]})["mrr"]
        >>> found.delta, found.p
        (0.5, 0.0002)
    """
    import numpy as np

    columns = [
        np.asarray(column, dtype=float) - np.asarray(theirs[name], dtype=float)
        for name, column in ours.items()
    ]
    if not columns or not len(columns[0]):
        return {name: Difference(delta=None, low=None, high=None, p=None) for name in ours}
    means = _means(columns, PAIRED_DRAWS)
    found = {}
    for name, column, drawn in zip(ours, columns, means, strict=True):
        low, high = np.percentile(drawn, _TAILS)
        p = 2 * min(float((drawn <= 0).mean()), float((drawn >= 0).mean()))
        found[name] = Difference(
            delta=float(column.mean()),
            low=float(low),
            high=float(high),
            p=min(1.0, max(p, 1 / PAIRED_DRAWS)),
        )
    return found


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
