"""How well a confidence separates questions that the memories answer from those that they do not.

Answerable questions weigh half of everything, the others the other half, so that no figure depends
on how many questions of each kind there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from vestig.types import _Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BINS: Final = 10
# Points of a risk–coverage curve, evenly spread over coverage.
_POINTS: Final = 100


class Bin(_Value, frozen=True, kw_only=True):
    """Questions whose confidence lies in [`low`, `high`): their share of all weights, their mean
    confidence, and the share of them that the memories answer; null in an empty bin."""

    low: float
    high: float
    share: float
    confidence: float | None
    answerable: float | None


class Coverage(_Value, frozen=True, kw_only=True):
    """Holds what a least confidence, `threshold`, answers, a share of all weights, and the share
    of that which the memories do not answer."""

    threshold: float
    coverage: float
    risk: float


class Calibration(_Value, frozen=True, kw_only=True):
    """How well confidence separates questions that the memories answer from those that they do
    not; each of both groups has half of the weight.

    `auroc`: area under the ROC curve, 0.5 = no better than chance. `calibration_error`: expected
    calibration error, 0 to 1.
    """

    questions: int
    auroc: float
    calibration_error: float
    bins: tuple[Bin, ...]
    curve: tuple[Coverage, ...]


def calibration(answerable: Sequence[float], others: Sequence[Sequence[float]]) -> Calibration:
    """The figures of one mixture: half answerable, the rest in equal shares of `others`.

    `calibration_error`: expected calibration error (Naeini and others, 2015), the weighted mean
    distance of confidence and share of answerable questions in bins of equal width. `auroc`:
    probability that an answerable question has the higher confidence, ties count half.

    Example:
        >>> found = calibration([1.0, 0.8], [[0.25, 0.8]])
        >>> round(found.calibration_error, 4), found.auroc, found.questions
        (0.2125, 0.875, 4)
    """
    import numpy as np

    values = np.concatenate([np.asarray(part, dtype=float) for part in (answerable, *others)])
    truth = np.zeros(len(values))
    truth[: len(answerable)] = 1.0
    shares = [0.5 / len(answerable)] * len(answerable)
    for part in others:
        shares += [0.5 / len(others) / len(part)] * len(part)
    weights = np.array(shares)
    return Calibration(
        questions=len(values),
        auroc=_auroc(values, truth, weights),
        calibration_error=calibration_error(values, truth, weights),
        bins=tuple(_reliability(values, truth, weights)),
        curve=tuple(_curve(values, truth, weights)),
    )


def calibration_error(
    values: NDArray[np.float64], truth: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    """Expected calibration error of probabilities: the weighted mean distance of probability and
    truth in ten bins of equal width.

    Example:
        >>> import numpy as np
        >>> round(calibration_error(np.array([0.9, 0.1]), np.array([1.0, 0.0]), np.ones(2)), 9)
        0.1
    """
    whole = float(weights.sum())
    return sum(
        one.share * abs(one.confidence - one.answerable) / whole
        for one in _reliability(values, truth, weights)
        if one.confidence is not None and one.answerable is not None
    )


def _auroc(
    values: NDArray[np.float64], truth: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    """Both classes weigh the same, so that four times the weighted pairs is their share."""
    import numpy as np

    _, group = np.unique(values, return_inverse=True)
    yes = np.bincount(group, weights * truth)
    no = np.bincount(group, weights * (1 - truth))
    below = np.concatenate([[0.0], np.cumsum(no)[:-1]])
    return min(1.0, float((yes * (below + no / 2)).sum() / (yes.sum() * no.sum())))


def _reliability(
    values: NDArray[np.float64],
    truth: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> list[Bin]:
    """Bins of equal width, 1 in the last; an empty one has neither confidence nor share."""
    import numpy as np

    place = np.minimum((values * BINS).astype(int), BINS - 1)
    share, confidence, true = (
        np.bincount(place, part, BINS) for part in (weights, weights * values, weights * truth)
    )
    return [
        Bin(
            low=at / BINS,
            high=(at + 1) / BINS,
            share=float(share[at]),
            confidence=float(confidence[at] / share[at]) if share[at] > 0 else None,
            answerable=float(true[at] / share[at]) if share[at] > 0 else None,
        )
        for at in range(BINS)
    ]


def _curve(
    values: NDArray[np.float64], truth: NDArray[np.float64], weights: NDArray[np.float64]
) -> list[Coverage]:
    """Return what a threshold answers (coverage), and how much of that has no answer (risk): from
    the highest threshold to the lowest; equal confidences are answered together."""
    import numpy as np

    levels, group = np.unique(-values, return_inverse=True)
    covered = np.cumsum(np.bincount(group, weights))
    wrong = np.cumsum(np.bincount(group, weights * (1 - truth)))
    wanted = np.arange(1, _POINTS + 1) / _POINTS
    # a sum of weights may miss a round share by its last bits
    places = np.minimum(np.searchsorted(covered, wanted - 1e-9), len(levels) - 1)
    return [
        Coverage(
            threshold=float(-levels[at]),
            coverage=min(1.0, float(covered[at])),
            risk=min(1.0, float(wrong[at] / covered[at])),
        )
        for at in dict.fromkeys(int(place) for place in places)
    ]
