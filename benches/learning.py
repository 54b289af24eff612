"""Weights from lists of candidates: those of each origin from its own rows, then what puts the
origins on one scale, from lists in which several compete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vestig.config.signals import ORIGINS
from vestig.evaluation.metrics import score

Values = NDArray[np.float64]
# a unit of a conversation
Unit = str
# metric → one value per question, by set
Columns = dict[str, dict[str, list[float]]]

FOLDS = 5
DIGITS = 3
METRICS = ("recall@10", "recall@5", "mrr", "ndcg@5")
# Of the squares of standardised weights, by origin in the order of `ORIGINS`, and of evidence.
PENALTIES = {"chat_peer": 0.02, "chat_agent": 0.06, "document": 0.03, "note": 0.03}
PENALTY_EVIDENCE = 0.0003
LEAST_SCALE = 0.001
# A column that varies less is the same for all.
LEAST_SPREAD = 1e-9
# A term is left out if the loss of a mean question, in nats, grows by less than this without it.
# The size of a weight tells little: that of a term which few memories have, such as a title, is
# tiny where it is standardised, and decides where the term is there. Chats of people compare word
# pieces, beside which a term costs next to no time.
LEAST_GAIN = {"chat_peer": 0.001, "chat_agent": 0.003, "document": 0.003, "note": 0.003}
# Of the columns that gain less, one in so many is left out at a time.
LEFT_OUT = 3
# What the loss of an earlier sum counts beside that of the last: the earlier one chooses where
# walks begin.
EARLIER = 0.1
# Memories of an origin that its candidate weights choose.
POOL = 128
# Levels whose mean is a part of the evidence.
BEST = 5
# The share of questions whose best memory has at most this L, so that 1/(1 + e^−L) does not
# saturate.
UNSATURATED = (99, -3.0)
STEPS = 100
# The largest step of a standardised weight at which a fit ends: steps shrink quadratically, so that
# the next one would be far below the digits that are kept.
TOLERANCE = 1e-5


@dataclass(frozen=True, kw_only=True)
class Listed:
    """The candidates of one question.

    Attributes:
        terms: candidates × offered terms, normalised.
        origins: of each candidate, its place in `ORIGINS`.
        most: by origin, the largest normalised cosine and lexical score of all that were eligible.
        weight: of the question inside its set.
        units: what each candidate holds.
    """

    set: str
    fold: int
    terms: NDArray[np.float32]
    origins: NDArray[np.int64]
    most: Values
    weight: float
    units: Sequence[tuple[Unit, ...]]
    relevant: frozenset[Unit]

    @property
    def relevant_rows(self) -> NDArray[np.bool_]:
        """Those that hold a relevant unit."""
        return np.array([not self.relevant.isdisjoint(one) for one in self.units], bool)

    def of_origin(self, origin: int) -> Listed:
        """The candidates of one origin alone."""
        own = self.origins == origin
        units = [unit for unit, kept in zip(self.units, own, strict=True) if kept]
        return replace(self, terms=self.terms[own], origins=self.origins[own], units=units)


class Block:
    """Questions as one block: a list of rows each, of which at least one is relevant.

    Args:
        parts: columns and relevance of the rows of each question.
        shares: what each question counts.
    """

    def __init__(
        self,
        parts: Sequence[tuple[Values, NDArray[np.bool_]]],
        shares: Sequence[float],
    ) -> None:
        sizes = [len(rows) for rows, _ in parts]
        self.x = np.concatenate([rows for rows, _ in parts]).astype(np.float64)
        self.target = np.concatenate([own / own.sum() for _, own in parts])
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        self.shares = np.asarray(shares, float)
        self.spread: Values = self.x.std(0)
        self.varying: NDArray[np.bool_] = self.spread > LEAST_SPREAD

    def fit(
        self,
        penalty: float | Values,
        only: NDArray[np.bool_] | None = None,
        on: NDArray[np.bool_] | None = None,
        earlier: NDArray[np.bool_] | None = None,
    ) -> Values:
        """The weights with the least −Σ share · mean over the relevant of ln softmax(x · w), that
        of the earlier sum at `EARLIER`, + penalty · |w|² over standardised columns; 0 for columns
        that do not vary.

        Args:
            only: questions that take part; their shares are divided by their sum.
            on: columns that take part.
            earlier: columns of a sum that is to rank well too.

        Raises:
            RuntimeError: the steps did not end.
        """
        used, spread, of, ridge = self._losses(penalty, only, on, earlier)
        weights = np.zeros(self.x.shape[1])
        weights[used] = newton(of, ridge) / spread
        return weights

    def _losses(
        self,
        penalty: float | Values,
        only: NDArray[np.bool_] | None,
        on: NDArray[np.bool_] | None,
        earlier: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[np.int64], Values, list[tuple[float, Loss]], Values]:
        """Columns that take part, their spread, the losses of their standardised weights with what
        each counts, and the penalties."""
        shares = self.shares if only is None else np.where(only, self.shares, 0.0)
        shares = shares / shares.sum()
        spread = self.spread
        used = np.flatnonzero(self.varying & (True if on is None else on))
        x = self.x[:, used] / spread[used]
        sums = [(1.0, np.ones(len(used), bool))]
        if earlier is not None:
            sums.append((EARLIER, earlier[used]))
        of: list[tuple[float, Loss]] = [
            (share, _Softmax(x, kept, self.target, self.starts, self.owner, shares))
            for share, kept in sums
        ]
        return used, spread[used], of, np.broadcast_to(penalty, spread.shape)[used]

    def fit_few(
        self,
        penalty: float,
        only: NDArray[np.bool_] | None,
        on: NDArray[np.bool_],
        least_gain: float,
        earlier: NDArray[np.bool_] | None = None,
    ) -> Values:
        """As `fit`, of few columns: those that gain least are left out, a part of them at a time
        because they stand in for each other, until every one that is left gains at least so much.
        What is not weighed need not be computed."""
        weights = np.zeros(self.x.shape[1])
        on = on.copy()
        while True:
            used, spread, of, ridge = self._losses(penalty, only, on, earlier)
            found = newton(of, ridge, weights[used] * spread)
            weights = np.zeros(self.x.shape[1])
            weights[used] = found / spread
            gain = gains_of(of, ridge, found)
            small = np.flatnonzero(gain < least_gain)
            if not len(small):
                return weights
            order = np.argsort(gain[small], kind="stable")
            out = used[small[order[: max(1, len(small) // LEFT_OUT)]]]
            on[out], weights[out] = False, 0.0


class _Softmax:
    """The loss of a block without its penalty, with slope and curvature.

    Args:
        kept: columns that are summed.
    """

    def __init__(
        self,
        x: Values,
        kept: NDArray[np.bool_],
        target: Values,
        starts: NDArray[np.int64],
        owner: NDArray[np.int64],
        shares: Values,
    ) -> None:
        self.x, self.target, self.starts, self.owner = x[:, kept], target, starts, owner
        self.kept, self.shares = kept, shares
        self.rows = shares[owner]

    def _softmax(self, w: Values) -> tuple[Values, Values]:
        level = self.x @ w[self.kept]
        level -= np.maximum.reduceat(level, self.starts)[self.owner]
        power = np.exp(level)
        total = np.add.reduceat(power, self.starts)[self.owner]
        return power / total, level - np.log(total)

    def loss(self, w: Values) -> float:
        return -float((self.rows * self.target) @ self._softmax(w)[1])

    def derivatives(self, w: Values) -> tuple[Values, Values]:
        share, _ = self._softmax(w)
        slope, curvature = np.zeros(len(w)), np.zeros((len(w), len(w)))
        slope[self.kept] = (self.rows * (share - self.target)) @ self.x
        weighted = self.x * share[:, None]
        mean = np.add.reduceat(weighted, self.starts)
        weighted *= self.rows[:, None]
        curvature[np.ix_(self.kept, self.kept)] = (
            weighted.T @ self.x - (mean * self.shares[:, None]).T @ mean
        )
        return slope, curvature


class Loss(Protocol):
    """A convex loss of weights."""

    def loss(self, w: Values, /) -> float:
        """Its value."""

    def derivatives(self, w: Values, /) -> tuple[Values, Values]:
        """Its slope and its curvature."""


def _derivatives(
    of: Sequence[tuple[float, Loss]], ridge: Values, w: Values
) -> tuple[Values, Values]:
    """Slope and curvature of the losses with their penalty."""
    slope, curvature = 2 * ridge * w, 2 * np.diag(ridge)
    for share, one in of:
        own = one.derivatives(w)
        slope = slope + share * own[0]
        curvature = curvature + share * own[1]
    return slope, curvature


def gains_of(of: Sequence[tuple[float, Loss]], ridge: Values, w: Values) -> Values:
    """By column, how much the least loss grows where it is left out and the others are fitted
    again, to second order: w² / (2 · the inverse of the curvature there), as in the test of Wald
    (1943).

    Args:
        w: where the loss is least.
    """
    inverse = np.linalg.inv(_derivatives(of, ridge, w)[1])
    return np.asarray(w * w / (2 * np.diag(inverse)))


def newton(of: Sequence[tuple[float, Loss]], ridge: Values, start: Values | None = None) -> Values:
    """The minimum of a sum of convex losses with a penalty, by damped Newton steps.

    Args:
        of: each loss, and what it counts.
        start: None = 0.

    Raises:
        RuntimeError: the steps did not end.
    """
    w = np.zeros(len(ridge)) if start is None else start

    def whole(at: Values) -> float:
        return sum(share * one.loss(at) for share, one in of) + float(ridge @ (at * at))

    value = whole(w)
    for _ in range(STEPS):
        slope, curvature = _derivatives(of, ridge, w)
        step = np.linalg.solve(curvature, slope)
        if np.abs(step).max(initial=0.0) < TOLERANCE:
            return w - step
        length = 1.0
        while (after := whole(w - length * step)) > value and length > 1e-6:
            length /= 2
        w, value = w - length * step, after
    raise RuntimeError(f"the fit did not end in {STEPS} steps")


def shares_of(lists: Sequence[Listed], factors: Mapping[str, float]) -> list[float]:
    """What each question counts: a set counts its factor (1 where none is given), shared by its
    questions by their weights."""
    whole: Counter[str] = Counter()
    for one in lists:
        whole[one.set] += one.weight  # type: ignore[assignment]
    return [_factor(one.set, factors) * one.weight / whole[one.set] for one in lists]


def _factor(name: str, factors: Mapping[str, float]) -> float:
    """Of a set, or of a kind of sets, whose names end so after a slash."""
    return factors.get(name, factors.get("/" + name.rpartition("/")[2], 1.0))


# --- weights of an origin --------------------------------------------------------------------


@dataclass(frozen=True)
class OriginRows:
    """The lists of one origin: its rows of every question that one of them answers."""

    origin: int
    lists: Sequence[Listed]
    block: Block

    @classmethod
    def of(
        cls,
        origin: int,
        lists: Sequence[Listed],
        factors: Mapping[str, float],
    ) -> OriginRows:
        """From lists of any origins."""
        kept, parts = [], []
        for one in lists:
            own = one.origins == origin
            relevant = one.relevant_rows[own] if own.any() else own
            if relevant.any() and not relevant.all():
                kept.append(one)
                parts.append((one.terms[own], relevant))
        if not kept:
            raise SystemExit(f"expected questions about memories of origin {ORIGINS[origin]}")
        return cls(origin, kept, Block(parts, shares_of(kept, factors)))

    def fit(
        self,
        without_fold: int | None = None,
        on: NDArray[np.bool_] | None = None,
        earlier: NDArray[np.bool_] | None = None,
    ) -> Values:
        """Weights of the terms, of so many digits."""
        only = None
        if without_fold is not None:
            only = np.array([one.fold != without_fold for one in self.lists])
            if not only.any():
                only = None
        whole = np.ones(self.block.x.shape[1], bool) if on is None else on
        name = ORIGINS[self.origin]
        few = self.block.fit_few(PENALTIES[name], only, whole, LEAST_GAIN[name], earlier)
        return rounded(few)

    def chosen(self, candidates: Values) -> OriginRows:
        """The rows that these weights choose, and all that are relevant: what another sum ranks."""
        parts = []
        for one in self.lists:
            own = one.origins == self.origin
            rows, relevant = one.terms[own], one.relevant_rows[own]
            place = np.empty(len(rows), int)
            place[np.argsort(-(rows @ candidates), kind="stable")] = np.arange(len(rows))
            keep = relevant | (place < POOL)
            parts.append((rows[keep], relevant[keep]))
        return OriginRows(self.origin, self.lists, Block(parts, self.block.shares))


def rounded(values: Values | Sequence[float], digits: int = DIGITS) -> Values:
    """To so many significant digits."""
    return np.array([float(f"{value:.{digits}g}") for value in values])


# --- one scale -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """What puts levels on one scale.

    Attributes:
        bias: by origin.
        evidence: by origin scale, constant, cosine, lexical, best, mean.
    """

    bias: Values
    evidence: Values

    def score(self, one: Listed, sums: Sums) -> Values:
        """L of every candidate."""
        level = sums.levels(one) + self.bias[one.origins]
        if len(set(one.origins)) < 2:
            return level
        columns = evidence_columns(one, level)
        return np.asarray((columns * self.evidence.ravel()).sum(1))


@dataclass(frozen=True)
class Sums:
    """What the terms of each origin weigh.

    Attributes:
        weights: origins × terms.
        candidates: the same of the sum that chooses which rows these rank, and that ranks the
            others; as `weights` where an origin has one sum.
        constants: by origin, added to that sum.
    """

    weights: Values
    candidates: Values
    constants: Values

    @classmethod
    def of(
        cls,
        weights: Values,
        candidates: Values,
        lists: Sequence[Listed],
    ) -> Sums:
        """With constants that make the best memories of these lists level in both sums."""
        sums = cls(weights, candidates, np.zeros(len(weights)))
        for origin in range(len(weights)):
            if sums.has_candidates(origin):
                own = [one.terms[one.origins == origin] for one in lists]
                leads = [
                    (rows @ weights[origin]).max() - (rows @ candidates[origin]).max()
                    for rows in own
                    if len(rows)
                ]
                sums.constants[origin] = round(float(np.median(leads)), 1)
        return sums

    def has_candidates(self, origin: int) -> bool:
        """Whether an origin has candidate weights of its own."""
        return bool((self.weights[origin] != self.candidates[origin]).any())

    def replaced(self, origin: int, weights: Values) -> Sums:
        """With other weights of an origin, and of its candidates where these have none of their
        own."""
        changed = [self.weights.copy(), self.candidates.copy()]
        for one in changed[: 1 if self.has_candidates(origin) else 2]:
            one[origin] = weights
        return replace(self, weights=changed[0], candidates=changed[1])

    def levels(self, one: Listed) -> Values:
        """The sum of the terms of every candidate, by the weights of its origin; where it has
        candidate weights, for those that these choose."""
        level = np.asarray((one.terms * self.weights[one.origins]).sum(1), float)
        for origin in sorted(set(one.origins.tolist())):
            own = np.flatnonzero(one.origins == origin)
            weights = self.candidates[origin]
            if len(own) > POOL and self.has_candidates(origin):
                early = one.terms[own] @ weights + self.constants[origin]
                order = np.argsort(-early, kind="stable")
                pool, others = order[:POOL], order[POOL:]
                most = min(0.0, float((level[own[pool]] - early[pool]).min()))
                level[own[others]] = early[others] + most
        return level


def evidence_columns(one: Listed, level: Values) -> Values:
    """Candidates × (origin, level and the parts of its evidence); 0 outside of the own origin."""
    made = np.zeros((len(level), len(ORIGINS), 6))
    for origin in sorted(set(one.origins.tolist())):
        own = one.origins == origin
        best = np.sort(level[own])[::-1][:BEST]
        made[own, origin, 0] = level[own]
        made[own, origin, 1:] = (1.0, *one.most[origin], best[0], best.mean())
    return made.reshape(len(level), -1)


def fit_biases(lists: Sequence[Listed], sums: Sequence[Sums], shares: Sequence[float]) -> Values:
    """A constant by origin beside levels that stay as they are; `sums` by fold."""
    parts = []
    for one in lists:
        level = sums[one.fold].levels(one)
        parts.append(
            (np.column_stack([level, np.eye(len(ORIGINS))[one.origins]]), one.relevant_rows)
        )
    fitted = Block(parts, shares).fit(PENALTY_EVIDENCE)
    scale = fitted[0] if fitted[0] > 0 else 1.0
    bias = fitted[1:] / scale
    return np.round(bias - bias.mean(), 1)


def fit_evidence(
    lists: Sequence[Listed],
    level: Callable[[Listed], Values],
    shares: Sequence[float],
    without_fold: int | None = None,
) -> Values:
    """The evidence of every origin. A scale is above 0, so that no order inside an origin changes:
    where the fit has another one, levels of that origin tell next to nothing of the others."""
    block = Block([(evidence_columns(one, level(one)), one.relevant_rows) for one in lists], shares)
    only = None if without_fold is None else np.array([one.fold != without_fold for one in lists])
    found = block.fit(PENALTY_EVIDENCE, only)
    scales = np.arange(len(found)) % 6 == 0
    if (found[scales] <= 0).any():
        found = block.fit(PENALTY_EVIDENCE, only, ~(scales & (found <= 0)))
        found[scales] = np.maximum(found[scales], LEAST_SCALE)
    return rounded(found).reshape(len(ORIGINS), 6)


# --- what a fit brings -----------------------------------------------------------------------


def columns(lists: Sequence[Listed], score_of: Callable[[Listed], Values]) -> Columns:
    """What each question gets, by set and metric."""
    found: Columns = {}
    for one in lists:
        order = np.argsort(-score_of(one), kind="stable")
        units = list(dict.fromkeys(unit for row in order[:100] for unit in one.units[row]))
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
