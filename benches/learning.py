"""Weights of all origins from lists of candidates, in one listwise fit on one scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vestig.config.signals import ORIGINS, SIGNALS
from vestig.evaluation.metrics import score

Values = NDArray[np.float64]
# a unit of a conversation
Unit = str
# metric → one value per question, by set
Columns = dict[str, dict[str, list[float]]]

FOLDS = 5
DIGITS = 3
METRICS = ("recall@10", "recall@5", "mrr", "ndcg@5")
PENALTY = 0.003
PENALTY_BIAS = 1e-5
# The slope at which the fit ends: weights agree in more than `DIGITS` however it begins.
TOLERANCE = 1e-7
# Where the biases stand together, which changes no order, keeps 1/(1 + e^−L) unsaturated.
BIAS_SHIFT = -13.0
GROUPS = ("chat_peer", "chat_agent", "note")  # documents weigh what notes do
PLACE = {name: place for place, name in enumerate(SIGNALS)}


def grouped(origins: Sequence[str]) -> NDArray[np.int64]:
    """Places in `GROUPS` of origin types."""
    return np.minimum([ORIGINS.index(name) for name in origins], len(GROUPS) - 1)


@dataclass(frozen=True)
class Form:
    """Column after column of the fit: the terms of a group, then a constant for each group.

    Attributes:
        columns: (group, name of a term), in the order of `GROUPS` and of `SIGNALS`.
    """

    columns: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, terms: Mapping[str, Collection[str]]) -> Form:
        """Of the terms of each group."""
        columns = ((g, t) for g, name in enumerate(GROUPS) for t in SIGNALS if t in terms[name])
        return cls(tuple(columns))

    @property
    def width(self) -> int:
        return len(self.columns) + len(GROUPS)

    def design(self, normalised: Values, groups: NDArray[np.int64]) -> Values:
        """Candidates × columns, from candidates × `SIGNALS`: 0 outside of the own group."""
        made = np.zeros((len(groups), self.width))
        for at, (own, term) in enumerate(self.columns):
            rows = groups == own
            made[rows, at] = normalised[rows, PLACE[term]]
        made[np.arange(len(groups)), len(self.columns) + groups] = 1
        return made

    def on(self, off: Collection[str] = ()) -> NDArray[np.bool_]:
        """Columns without those of these terms, given as `term` or `group.term`."""
        gone = [t in off or f"{GROUPS[g]}.{t}" in off for g, t in self.columns]
        return ~np.array([*gone, *[False] * len(GROUPS)])

    def weights(self, fitted: Values) -> dict[str, dict[str, float]]:
        """By group: bias, then what its terms weigh, in so many significant digits."""
        found = {
            name: {"bias": round(float(fitted[len(self.columns) + at]) + BIAS_SHIFT, 1)}
            for at, name in enumerate(GROUPS)
        }
        for (group, term), weight in zip(self.columns, fitted, strict=False):
            found[GROUPS[group]][term] = float(f"{weight:.{DIGITS}g}")
        return found


@dataclass(frozen=True)
class Listed:
    """The candidates of a question: a row each of `design`, the units it holds, relevant or not."""

    set: str
    fold: int
    design: Values
    units: Sequence[tuple[Unit, ...]]
    relevant: frozenset[Unit]

    @property
    def relevant_rows(self) -> Values:
        """1 for those that hold a relevant unit."""
        return np.array([float(not self.relevant.isdisjoint(one)) for one in self.units])

    def best(self, weights: Values, many: int) -> Listed:
        """So many candidates, the best by these weights, and those that are relevant."""
        rows = np.argsort(-(self.design @ weights), kind="stable")
        rows = np.union1d(rows[:many], np.flatnonzero(self.relevant_rows))
        units = [self.units[row] for row in rows]
        return replace(self, design=self.design[rows], units=units)


class Batch:
    """Lists with a relevant candidate, as one block.

    Args:
        counts: how often a set counts beside the others, 1 unless given; its questions share it.
    """

    def __init__(
        self, form: Form, lists: Sequence[Listed], counts: Mapping[str, float] | None = None
    ) -> None:
        wanted = [one.relevant_rows for one in lists]
        self.form = form
        self.lists = [one for one, rows in zip(lists, wanted, strict=True) if rows.any()]
        wanted = [rows for rows in wanted if rows.any()]
        sizes = [len(rows) for rows in wanted]
        self.x = np.concatenate([one.design for one in self.lists])
        self.target = np.concatenate([rows / rows.sum() for rows in wanted])
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        questions = Counter(one.set for one in self.lists)
        times = {name: (counts or {}).get(name, 1.0) / many for name, many in questions.items()}
        self.count = np.array([times[one.set] for one in self.lists])
        self.folds = np.array([one.fold for one in self.lists])
        # a column is divided by its standard deviation over the candidates of its own group
        self.spread = np.ones(form.width)
        for at, (group, _) in enumerate(form.columns):
            own = self.x[self.x[:, len(form.columns) + group] == 1, at]
            self.spread[at] = own.std() if own.size else 0.0
        self.penalty = np.full(form.width, PENALTY)
        self.penalty[len(form.columns) :] = PENALTY_BIAS

    def fit(
        self,
        on: NDArray[np.bool_] | None = None,
        without_fold: int | None = None,
        start: Values | None = None,
    ) -> Values:
        """Plain weights of the form's columns, 0 where they are not `on` or never vary.

        Minimises −Σ_q count · 1/|R_q| Σ_r ln softmax(r) + Σ penalty · w² over standardised w.
        """
        from scipy.optimize import minimize

        used = np.flatnonzero((self.spread > 1e-12) & (True if on is None else on))
        count = np.where(self.folds == without_fold, 0.0, self.count)
        count /= count.sum()
        x = self.x[:, used] / self.spread[used]
        penalty = self.penalty[used]

        def shares(w: Values) -> tuple[Values, Values]:
            level = x @ w
            level -= np.maximum.reduceat(level, self.starts)[self.owner]
            power = np.exp(level)
            total = np.add.reduceat(power, self.starts)[self.owner]
            return power / total, level - np.log(total)

        def loss(w: Values) -> tuple[float, Values]:
            share, log = shares(w)
            rows = count[self.owner]
            slope = (rows * (share - self.target)) @ x
            value = -float((rows * self.target) @ log)
            return value + float(penalty @ (w * w)), slope + 2 * penalty * w

        def curvature(w: Values) -> Values:
            weighted = x * shares(w)[0][:, None]
            mean = np.add.reduceat(weighted, self.starts)
            weighted *= count[self.owner][:, None]
            return weighted.T @ x - (mean * count[:, None]).T @ mean + np.diag(2 * penalty)

        begin = np.zeros(len(used)) if start is None else (start * self.spread)[used]
        found = minimize(
            loss, begin, jac=True, hess=curvature, method="trust-exact", options={"gtol": TOLERANCE}
        )
        if not found.success:
            raise RuntimeError(f"the fit did not end: {found.message}")
        weights = np.zeros(self.form.width)
        weights[used] = found.x / self.spread[used]
        return weights


def cross_fitted(
    batch: Batch, on: NDArray[np.bool_] | None = None, starts: Sequence[Values] | None = None
) -> list[Values]:
    """By fold: weights that have not seen it; `starts` by fold too."""
    return [batch.fit(on, fold, None if starts is None else starts[fold]) for fold in range(FOLDS)]


def columns(lists: Sequence[Listed], weights: Sequence[Values]) -> Columns:
    """What each question gets, by set and metric; `weights` by fold."""
    found: Columns = {}
    for one in lists:
        order = np.argsort(-(one.design @ weights[one.fold]), kind="stable")
        units = list(dict.fromkeys(unit for row in order for unit in one.units[row]))
        scores = score(units, one.relevant)
        for name in METRICS:
            found.setdefault(one.set, {}).setdefault(name, []).append(scores[name])
    return found


def means(found: Columns) -> dict[str, dict[str, float]]:
    """In per cent."""
    return {
        name: {metric: round(100 * float(np.mean(values)), 1) for metric, values in rows.items()}
        for name, rows in found.items()
    }
