"""Logistic regression."""

from __future__ import annotations

import numpy as np

from learning import Values, newton

# Keeps the curvature of columns that do not vary above 0.
LEAST_RIDGE = 1e-12


def logistic(values: Values) -> Values:
    """1/(1 + e^−value), also far from 0."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -values)))


class _Logistic:
    """The weighted mean of −ln p(y), with slope and curvature.

    Args:
        x: examples × columns.
        y: 0 or 1.
        share: of each example; together 1.
        start: of each example, what is added to its weighted sum.
    """

    def __init__(self, x: Values, y: Values, share: Values, start: Values | float = 0.0) -> None:
        self.x, self.y, self.share, self.start = x, y, share, start

    def loss(self, w: Values) -> float:
        score = self.x @ w + self.start
        return float(self.share @ (np.logaddexp(0.0, score) - self.y * score))

    def derivatives(self, w: Values) -> tuple[Values, Values]:
        p = logistic(self.x @ w + self.start)
        slope = self.x.T @ (self.share * (p - self.y))
        return slope, (self.x * (self.share * p * (1 - p))[:, None]).T @ self.x


def fit_logistic(x: Values, y: Values, weight: Values, ridge: float) -> tuple[Values, float]:
    """Weights of the columns and a constant with the least weighted mean of −ln p(y), plus ridge ·
    |w|² over weights of standardised columns, which the constant is not.

    Args:
        x: examples × columns.
        y: 0 or 1.
        weight: what each example counts.

    Raises:
        RuntimeError: the steps did not end.
    """
    share = weight / weight.sum()
    mean = share @ x
    spread = np.sqrt(share @ (x - mean) ** 2) + 1e-12
    z = np.column_stack([(x - mean) / spread, np.ones(len(x))])
    penalty = np.append(np.full(x.shape[1], ridge), 0.0) + LEAST_RIDGE
    w = newton(_Logistic(z, y, share), penalty)
    plain = w[:-1] / spread
    return plain, float(w[-1] - plain @ mean)


def fit_beside(start: Values, x: Values, y: Values, weight: Values) -> float:
    """The weight of one column beside a sum that stays as it is, with the least weighted mean of
    −ln p(y).

    Args:
        start: of each example, the sum.
        x: of each example, the column.
        y: 0 or 1.
        weight: what each example counts.
    """
    fit = _Logistic(x[:, None], y, weight / weight.sum(), start)
    return float(newton(fit, np.array([LEAST_RIDGE]))[0])
