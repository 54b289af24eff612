"""Means with their intervals and paired differences, by the bootstrap from a fixed seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from vestig.types import _Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED: Final = 0
INTERVAL_DRAWS: Final = 2_000
PAIRED_DRAWS: Final = 5_000
_TAILS: Final = (2.5, 97.5)
# Indices drawn at once: bounds the memory that large benchmarks take.
_BLOCK: Final = 4_000_000


class Estimate(_Value, frozen=True, kw_only=True):
    """A macro mean in [0, 1] with its 95 % bootstrap interval; null over no questions."""

    mean: float | None
    low: float | None
    high: float | None


class Difference(_Value, frozen=True, kw_only=True):
    """A mean difference in [−1, 1], its 95 % interval, and the two-sided p of a paired
    bootstrap; null over no questions."""

    delta: float | None
    low: float | None
    high: float | None
    p: float | None


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
