"""Logistic regression by Newton steps."""

from __future__ import annotations

import numpy as np

from learning import Values

STEPS = 100
# The largest step of a standardised weight at which a fit ends.
TOLERANCE = 1e-9
# Keeps the curvature of columns that do not vary above 0.
LEAST_CURVATURE = 1e-12


def logistic(values: Values) -> Values:
    """1/(1 + e^−value), also far from 0."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -values)))


def _loss(score: Values, y: Values, share: Values) -> float:
    return float(share @ (np.logaddexp(0.0, score) - y * score))


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
    penalty = np.append(np.full(x.shape[1], ridge), 0.0)
    w = np.zeros(len(penalty))
    value = _loss(z @ w, y, share)
    for _ in range(STEPS):
        p = logistic(z @ w)
        slope = z.T @ (share * (p - y)) + 2 * penalty * w
        curvature = (z * (share * p * (1 - p))[:, None]).T @ z + 2 * np.diag(penalty)
        step = np.linalg.solve(curvature + LEAST_CURVATURE * np.eye(len(w)), slope)
        if np.abs(step).max() < TOLERANCE:
            plain = w[:-1] / spread
            return plain, float(w[-1] - plain @ mean)
        length = 1.0
        while length > 1e-6:
            tried = w - length * step
            after = _loss(z @ tried, y, share) + float(penalty @ (tried * tried))
            if after <= value + 1e-15:
                break
            length /= 2
        w, value = tried, after
    raise RuntimeError(f"the fit did not end in {STEPS} steps")
