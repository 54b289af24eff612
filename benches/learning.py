"""Weights from lists of memories: one softmax over the memories of a question (a listwise loss as
in ListNet), by Newton steps, in which people's chats have weights of their own beside those of all
other kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.rankings import score

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]

FOLDS = 5
DIGITS = 3
METRICS = ("hit@1", "recall@5", "recall@10", "mrr")
# Of the squares of standardised weights.
PENALTY = 0.01
# What the loss of the sum without word pieces counts beside that of the whole: the first chooses
# whose word pieces are compared.
EARLIER = 0.2
# Memories whose word pieces are compared.
POOL = 128
# Of a list, the rows that are in the loss: the best by the sum that they were asked with, and so
# many of the others drawn at random, each of which counts for those that were not drawn.
BEST_ROWS, DRAWN_ROWS = 60, 150
SEED = 0
STEPS = 100
# A fit ends where a step would change the loss by less than this.
TOLERANCE = 1e-10
LEAST_SPREAD = 1e-9


@dataclass(frozen=True, kw_only=True)
class Listed:
    """The memories of one question.

    Attributes:
        terms: memories × offered terms, in the order that they were ranked in.
        peer: those of people's chats.
        weight: of the question inside its set.
        units: what each memory holds.
    """

    set: str
    fold: int
    terms: NDArray[np.float32]
    peer: Mask
    weight: float
    units: Sequence[tuple[str, ...]]
    relevant: frozenset[str]

    @property
    def relevant_rows(self) -> Mask:
        """Those that hold a relevant unit."""
        return np.array([not self.relevant.isdisjoint(one) for one in self.units], bool)

    @property
    def columns(self) -> Values:
        """Terms, then those of people's chats alone, then 1 for these."""
        own = self.terms * self.peer[:, None]
        return np.column_stack([self.terms, own, self.peer]).astype(np.float64)


class Loss(Protocol):
    """A convex loss of weights."""

    def loss(self, w: Values, /) -> float:
        """Its value."""

    def derivatives(self, w: Values, /) -> tuple[Values, Values]:
        """Its slope and its curvature."""


class Softmax:
    """The mean over questions of the mean over relevant rows of −ln softmax(x · w).

    Args:
        parts: of each question its rows, which of them are relevant, and the logarithm of what
            each stands for.
        shares: what each question counts; together 1.
    """

    def __init__(self, parts: Sequence[tuple[Values, Mask, Values]], shares: Values) -> None:
        sizes = [len(rows) for rows, _, _ in parts]
        self.x = np.concatenate([rows for rows, _, _ in parts])
        self._target = np.concatenate([own / own.sum() for _, own, _ in parts])
        self._offset = np.concatenate([offset for _, _, offset in parts])
        self._starts = np.cumsum([0, *sizes[:-1]])
        self._owner = np.repeat(np.arange(len(sizes)), sizes)
        self._shares = shares
        self._rows = shares[self._owner]

    def _softmax(self, w: Values) -> tuple[Values, Values]:
        level = self.x @ w + self._offset
        level -= np.maximum.reduceat(level, self._starts)[self._owner]
        power = np.exp(level)
        total = np.add.reduceat(power, self._starts)[self._owner]
        return power / total, level - np.log(total)

    def loss(self, w: Values) -> float:
        return -float((self._rows * self._target) @ self._softmax(w)[1])

    def derivatives(self, w: Values) -> tuple[Values, Values]:
        share, _ = self._softmax(w)
        slope = (self._rows * (share - self._target)) @ self.x
        weighted = self.x * share[:, None]
        mean = np.add.reduceat(weighted, self._starts)
        weighted *= self._rows[:, None]
        return slope, weighted.T @ self.x - (mean * self._shares[:, None]).T @ mean


def newton(loss: Loss, ridge: Values) -> Values:
    """The minimum of a convex loss plus ridge · w², by damped Newton steps.

    Raises:
        RuntimeError: the steps did not end.
    """
    w = np.zeros(len(ridge))
    value = loss.loss(w)
    for _ in range(STEPS):
        slope, curvature = loss.derivatives(w)
        slope, curvature = slope + 2 * ridge * w, curvature + 2 * np.diag(ridge)
        step, length = np.linalg.solve(curvature, slope), 1.0

        def at(length: float, w: Values = w, step: Values = step) -> tuple[Values, float]:
            there = w - length * step
            return there, loss.loss(there) + float(ridge @ (there * there))

        while at(length)[1] > value and length > 1e-6:
            length /= 2
        w, after = at(length)
        if value - after < TOLERANCE:
            return w
        value = after
    raise RuntimeError(f"the fit did not end in {STEPS} steps")


@dataclass(frozen=True)
class Weights:
    """What the terms weigh.

    Attributes:
        all: of every kind but people's chats.
        peer: of people's chats.
        bias: added to the sum of people's chats.
    """

    all: Values
    peer: Values
    bias: float

    def levels(self, one: Listed, late: Mask) -> Values:
        """The sum of every memory; word pieces count in the best `POOL` without them.

        Args:
            late: terms that are made of word pieces.
        """
        each = np.where(one.peer[:, None], self.peer, self.all)
        early = (one.terms[:, ~late] * each[:, ~late]).sum(1) + self.bias * one.peer
        level = np.asarray(early + (one.terms[:, late] * each[:, late]).sum(1), float)
        if len(level) > POOL:
            order = np.argsort(-early, kind="stable")
            pool, others = order[:POOL], order[POOL:]
            level[others] = early[others] + (level[pool] - early[pool]).min()
        return level


def fit(
    lists: Sequence[Listed],
    shares: Sequence[float],
    late: Mask,
    flat: Mapping[str, float],
    without_fold: int | None = None,
) -> Weights:
    """The weights with the least loss over these lists.

    Args:
        shares: what each question counts.
        late: terms that are made of word pieces.
        flat: set → what its sums are multiplied by in the loss (1 where none is given). Below 1
            the places far from the first count more.
        without_fold: a fold that takes no part.
    """
    rng = np.random.default_rng(SEED)
    parts, counts = [], []
    early = np.concatenate([~late, ~late, [True]])
    for one, share in zip(lists, shares, strict=True):
        relevant = one.relevant_rows
        rows, offset = _drawn(relevant, rng)
        if one.fold == without_fold or not 0 < relevant.sum() < len(relevant):
            continue
        x = one.columns[rows] * flat.get(one.set, 1.0)
        parts += [(x, relevant[rows], offset), (x * early, relevant[rows], offset)]
        counts += [share, EARLIER * share]
    loss = Softmax(parts, np.array(counts) / sum(counts))
    spread = loss.x.std(0)
    used = np.flatnonzero(spread > LEAST_SPREAD)
    loss.x = loss.x[:, used] / spread[used]
    weights = np.zeros(len(spread))
    weights[used] = newton(loss, np.full(len(used), PENALTY)) / spread[used]
    terms = len(late)
    return Weights(
        rounded(weights[:terms]),
        rounded(weights[:terms] + weights[terms:-1]),
        float(rounded(weights[-1:])[0]),
    )


def _drawn(relevant: Mask, rng: np.random.Generator) -> tuple[NDArray[np.int64], Values]:
    """Rows of a list that are in the loss, and the logarithm of how many each stands for."""
    near = np.flatnonzero(relevant | (np.arange(len(relevant)) < BEST_ROWS))
    rest = np.setdiff1d(np.arange(len(relevant)), near)
    drawn = rest
    if len(rest) > DRAWN_ROWS:
        drawn = rng.choice(rest, DRAWN_ROWS, replace=False)
    each = np.log(len(rest) / max(len(drawn), 1)) if len(rest) else 0.0
    offset = np.concatenate([np.zeros(len(near)), np.full(len(drawn), each)])
    return np.concatenate([near, drawn]), offset


def shares_of(lists: Sequence[Listed], factors: Mapping[str, float]) -> list[float]:
    """What each question counts: a set counts its factor, shared by its questions by their
    weights."""
    whole: Counter[str] = Counter()
    for one in lists:
        whole[one.set] += one.weight  # type: ignore[assignment]
    return [factors[one.set] * one.weight / whole[one.set] for one in lists]


def rounded(values: Values | Sequence[float], digits: int = DIGITS) -> Values:
    """To so many significant digits."""
    return np.array([float(f"{value:.{digits}g}") for value in values])


def means(
    lists: Sequence[Listed], levels: Callable[[Listed], Values]
) -> dict[str, dict[str, float]]:
    """By set, the number of its questions and the mean of each metric in per cent."""
    found: dict[str, list[list[float]]] = {}
    for one in lists:
        order = np.argsort(-levels(one), kind="stable")
        units = list(dict.fromkeys(unit for row in order[:100] for unit in one.units[row]))
        scores = score(units, one.relevant)
        found.setdefault(one.set, []).append([scores[name] for name in METRICS])
    return {
        name: {
            "questions": float(len(rows)),
            **{
                metric: round(100 * float(value), 1)
                for metric, value in zip(METRICS, np.mean(rows, 0), strict=True)
            },
        }
        for name, rows in found.items()
    }
