"""Weights from labelled questions: a listwise loss for each origin, folded to plain numbers (Q-06).

A question knows the terms of its eligible memories; where they come from is not looked at. Terms
stand in three stages, as recall computes them (Q-03): the first for all memories, those made from
the best by L₁, and those of the pool of the best by L₂.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

CANDIDATES = 120
POOL = 128
PENALTY = 0.003
DIGITS = 3
FOLDS = 5
# L₁ counts at least so much, in standard deviations, beside the terms made from its best.
LEVEL_LEAST = 0.05
# The pool is chosen by weights that depend on it: they settle after a few rounds.
ROUNDS = 2


@dataclass(frozen=True)
class Terms:
    """Names of the terms by stage, and which make the candidates."""

    first: tuple[str, ...]
    after: tuple[str, ...]
    late: tuple[str, ...]
    by_hand: dict[str, float] = field(
        default_factory=lambda: {"cosine": 1.0, "lexical": 1.0, "context.words": 0.6}
    )

    @property
    def all(self) -> tuple[str, ...]:
        return self.first + self.after + self.late

    def chosen(self, off: Sequence[str]) -> NDArray[np.bool_]:
        """Which terms are on; `off` names terms, or signals with all their parts."""
        gone = [any(name == one or name.startswith(f"{one}.") for one in off) for name in self.all]
        return ~np.array(gone)


@dataclass(frozen=True, kw_only=True)
class Question:
    """A labelled question against its eligible memories.

    Attributes:
        fold: which part of its set it is judged with.
        units: what each memory holds; `relevant`: the units that answer.
        first: memories × first terms, each divided by its maximum.
        after: L₁ → memories × after terms, each divided by its maximum.
        late: memories × late terms, raw; None where the embedder gives no token vectors.
    """

    id: str
    set: str
    fold: int
    origin: str
    category: str
    units: Sequence[Sequence[str]]
    relevant: frozenset[str]
    first: NDArray[np.float32]
    after: Callable[[Values], Values]
    late: NDArray[np.float32] | None


def stages(terms: Terms, question: Question, weights: Values) -> tuple[Values, Values]:
    """(all terms as recall has them under these weights, L)."""
    ends = len(terms.first), len(terms.first) + len(terms.after)
    first, after, late = np.split(weights, ends)
    level = question.first @ first
    made = [question.first.astype(float)]
    made.append(question.after(level) if after.any() else np.zeros((len(level), len(terms.after))))
    level = level + made[1] @ after
    pooled = np.zeros((len(level), len(terms.late)))
    if late.any() and question.late is not None:
        pool = np.argsort(-level, kind="stable")[:POOL]
        most = question.late[pool].max(0).astype(float)
        pooled[pool] = np.where(most > 0, question.late[pool] / np.where(most > 0, most, 1), 0)
    made.append(pooled)
    return np.hstack(made), level + pooled @ late


def candidates(terms: Terms, question: Question) -> tuple[NDArray[np.int64], Values]:
    """Rows that the loss compares, and which of them are relevant. Of a relevant unit's parts
    the best one stands for it, the others are left out."""
    by_hand = np.array([terms.by_hand.get(name, 0.0) for name in terms.first])
    score = question.first @ by_hand
    wanted, spare = set[int](), set[int]()
    for unit in question.relevant:
        rows = [row for row, held in enumerate(question.units) if unit in held]
        if rows:
            wanted.add(max(rows, key=lambda row: score[row]))
            spare.update(rows)
    best = [int(row) for row in np.argsort(-score, kind="stable")[:CANDIDATES]]
    rows = np.array(sorted(wanted.union(row for row in best if row not in spare)), int)
    return rows, np.isin(rows, sorted(wanted)).astype(float)


class Batch:
    """Candidates of many questions, standardised, as one padded block.

    Args:
        counts: how much each question counts, 1 unless given.
        spread: what columns are divided by; their standard deviations unless given.
    """

    def __init__(
        self,
        lists: Sequence[Values],
        relevant: Sequence[Values],
        counts: Values | None = None,
        spread: Values | None = None,
    ) -> None:
        self.count = np.ones((len(lists), 1)) if counts is None else counts[:, None]
        width = max(map(len, relevant))
        self.x = np.zeros((len(lists), width, lists[0].shape[1]))
        self.target = np.zeros((len(lists), width))
        self.real = np.zeros((len(lists), width), bool)
        for at, (values, wanted) in enumerate(zip(lists, relevant, strict=True)):
            self.x[at, : len(wanted)] = values
            self.target[at, : len(wanted)] = wanted / wanted.sum()
            self.real[at, : len(wanted)] = True
        flat = self.x[self.real]
        self.spread = flat.std(0) if spread is None else spread
        self.varies = self.spread > 1e-12
        self.x = (self.x - flat.mean(0)) / np.where(self.varies, self.spread, 1)
        self.x[~self.real] = 0

    def _loss(self, x: Values, w: Values) -> tuple[float, Values]:
        """−Σ_q 1/|R_q| Σ_r ln softmax, and its slope."""
        score = np.where(self.real, (x @ w).reshape(self.real.shape), -1e30)
        score -= score.max(1, keepdims=True)
        power = np.exp(score)
        total = power.sum(1, keepdims=True)
        log = np.where(self.real, score - np.log(total), 0)
        slope = (self.count * (power / total - self.target)).ravel() @ x
        return -float((self.count * self.target * log).sum()), slope

    def fit(
        self,
        least: Values | None = None,
        start: Values | None = None,
        penalty: Values | None = None,
    ) -> Values:
        """Plain weights; `least`: lower bounds of the standardised ones, `penalty`: of the square
        of each, `PENALTY` unless given."""
        from scipy.optimize import minimize

        used = np.flatnonzero(self.varies)
        x = self.x[:, :, used].reshape(-1, len(used))
        cost = np.full(len(used), PENALTY) if penalty is None else penalty[used]

        def loss(w: Values) -> tuple[float, Values]:
            value, slope = self._loss(x, w)
            return value + float(cost @ (w * w)), slope + 2 * cost * w

        low = np.full(len(used), -np.inf) if least is None else least[used]
        begin = np.zeros(len(used)) if start is None else (start * self.spread)[used]
        found = minimize(
            loss,
            np.maximum(begin, low),
            jac=True,
            method="L-BFGS-B",
            bounds=[(one, np.inf) for one in low],
            options={"maxiter": 1000, "ftol": 1e-10, "gtol": 1e-6},
        ).x
        weights = np.zeros(len(self.spread))
        weights[used] = found / self.spread[used]
        return weights


def learn(
    terms: Terms, questions: Sequence[Question], on: NDArray[np.bool_], rounds: int = ROUNDS
) -> Values:
    """Plain weights for questions of one origin.

    L₁ is fitted alone first. Where terms are made from its best, it keeps its direction and gets
    one weight beside them: fitted freely, it gives up what those terms repeat, and then chooses
    worse beginnings for them. Late terms are made from the pool only, so that L₁ and they are
    fitted together.
    """
    picked = [candidates(terms, question) for question in questions]
    wanted = [relevant for _, relevant in picked]
    parts = len(terms.first), len(terms.first) + len(terms.after)
    first, after, late = (np.flatnonzero(one) for one in np.split(on, parts))
    after, late = after + parts[0], late + parts[1]
    weights = np.zeros(len(on))
    pairs = list(zip(questions, (rows for rows, _ in picked), strict=True))
    weights[first] = Batch([q.first[rows][:, first] for q, rows in pairs], wanted).fit()
    later = np.append(after, late)
    # without a pool nothing is made from more than the direction of L₁
    for _ in range(rounds if len(late) else len(later[:1])):
        # a stage is computed for weights that are not all 0
        seeded = np.where(on & (weights == 0), 1e-9, weights)
        made = [stages(terms, q, seeded)[0][rows] for q, rows in pairs]
        if len(after):
            level = weights * (np.arange(len(on)) < parts[0])
            columns = [np.column_stack([one @ level, one[:, later]]) for one in made]
            batch = Batch(columns, wanted)
            least = np.append(LEVEL_LEAST, np.full(len(later), -np.inf))
            scale, *found = batch.fit(least, np.append(1.0, weights[later]))
            weights = level * scale
            weights[later] = found
        else:
            used = np.append(first, later)
            weights[used] = Batch([one[:, used] for one in made], wanted).fit(None, weights[used])
    return weights


def rounded(weights: Values, digits: int = DIGITS) -> Values:
    """To so many significant digits."""
    return np.array([float(f"{weight:.{digits}g}") for weight in weights])


def calibrated(levels: Sequence[Values], relevant: Sequence[Values]) -> tuple[float, float]:
    """(slope, bias) with 1/(1 + e^−(slope·L + bias)) as the probability that a candidate is
    relevant: what makes weights of several origins stand on one scale."""
    from scipy.optimize import minimize

    level, wanted = np.concatenate(levels), np.concatenate(relevant)

    def loss(parameters: Values) -> tuple[float, Values]:
        score = parameters[0] * level + parameters[1]
        value = float(np.logaddexp(0, score).sum() - (wanted * score).sum())
        error = 1 / (1 + np.exp(-score)) - wanted
        return value, np.array([float(error @ level), float(error.sum())])

    slope, bias = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B").x
    return float(slope), float(bias)


def held_out(questions: Sequence[Question]) -> list[tuple[list[int], list[int]]]:
    """(training, judged) places: a fold of one set is judged by weights from everything else of
    the origin."""
    parts: dict[tuple[str, int], list[int]] = {}
    for place, question in enumerate(questions):
        parts.setdefault((question.set, question.fold), []).append(place)
    every = range(len(questions))
    return [([at for at in every if at not in set(judged)], judged) for judged in parts.values()]


def without_set(questions: Sequence[Question]) -> list[tuple[list[int], list[int]]]:
    """(training, judged) places: a whole set is judged by the others; [] for one set alone."""
    sets = dict.fromkeys(question.set for question in questions)
    if len(sets) < 2:
        return []
    return [
        (
            [at for at, question in enumerate(questions) if question.set != name],
            [at for at, question in enumerate(questions) if question.set == name],
        )
        for name in sets
    ]


def ranking(question: Question, level: Values, depth: int) -> list[str]:
    """Distinct units, best first."""
    units: dict[str, None] = {}
    for row in np.argsort(-level, kind="stable"):
        units.update(dict.fromkeys(question.units[row]))
        if len(units) >= depth:
            break
    return list(units)[:depth]


def cross_fitted(
    terms: Terms,
    questions: Sequence[Question],
    on: NDArray[np.bool_],
    splits: Sequence[tuple[list[int], list[int]]],
    depth: int,
) -> list[list[str]]:
    """Rankings, each by weights that have not seen the question."""
    found: list[list[str]] = [[] for _ in questions]
    for training, judged in splits:
        weights = rounded(learn(terms, [questions[at] for at in training], on))
        for at in judged:
            found[at] = ranking(questions[at], stages(terms, questions[at], weights)[1], depth)
    return found
