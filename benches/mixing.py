"""One scale for origins that lie in one store (Q-03).

Weights are learned per origin, from lists of one origin each; that fixes how memories of an origin
rank among each other, not how they stand to those of another. Here all folders are imported into
one store and every question is asked of all of it: each origin gets one scale for its weights and
one bias. They begin with the listwise loss over the mixed lists, each origin's questions weighing
the same, and are then moved until the store loses least: the squares of what each set loses in R@10
against the same store filtered to its origin. Last, all biases move together so that the best L
stays below 0: above it the logistic of R-12 is flat, and use would outrank meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asked import AskedStore
from learning import FOLDS, Batch, Values, rounded
from vestig.config.signals import ORIGINS, SIGNALS, WEIGHTS
from vestig.evaluation.benchmarks import Benchmark, Query
from vestig.ids import id_text

Weights = Mapping[str, Mapping[str, float]]
CUT = 10
# Rows of a list: enough that none of another scale comes from below them.
ROWS = 200
# Questions of a set that take part, evenly spread.
QUESTIONS_MAX = 300
ROUNDS = 2
STEPS = 400
SCALE_LEAST = 0.2
# The best L of all but one question in a hundred is at most this.
LEVEL_MOST = -0.5
SHARE_BELOW = 99.0
# Origins that share weights.
SAME = {"document": "note"}


@dataclass(frozen=True)
class Scale:
    """By origin."""

    scale: Mapping[str, float]
    bias: Mapping[str, float]


@dataclass(frozen=True)
class Listed:
    """The best memories for a question in the mixed store. `own`: L of each without scale and
    bias; `alone`: what the filtered store finds, `best`: the own L of its first."""

    set: str
    fold: int
    origin: str
    origins: NDArray[np.int64]
    own: Values
    units: Sequence[frozenset[tuple[str | None, str]]]
    relevant: frozenset[tuple[str | None, str]]
    alone: float
    best: float = 0.0


def settings(weights: Weights, scale: Scale) -> dict[str, Any]:
    """Configuration of weights on one scale; what is not named weighs 0."""
    found: dict[str, Any] = {}
    for origin in ORIGINS:
        own = SAME.get(origin, origin)
        if own not in weights:
            continue
        names = dict.fromkeys([*WEIGHTS[origin], *weights[own]])
        for name in names:
            value = weights[own].get(name, 0.0) * scale.scale[own]
            if name == "bias":
                value = scale.bias[own]
            found[f"m5.signals.weights.{origin}.{name}"] = float(rounded(np.array([value]))[0])
    return found


class Mixed:
    """All folders in one store.

    Args:
        weights: by origin, name → weight, without a common scale.
    """

    def __init__(
        self, asked: AskedStore, benchmarks: Sequence[Benchmark], weights: Weights
    ) -> None:
        self._asked = asked
        self._weights = weights
        self._benchmarks = benchmarks
        self.names = sorted(weights)

    def lists(self, scale: Scale) -> list[Listed]:
        """Every question under these weights."""
        return [
            self._listed(benchmark, query, fold, settings(self._weights, scale))
            for benchmark in self._benchmarks
            for query, fold in _chosen(benchmark)
        ]

    def _listed(
        self, benchmark: Benchmark, query: Query, fold: int, chosen: dict[str, Any]
    ) -> Listed:
        config = self._asked.config(
            {**chosen, "m5.traversal.enabled": False, "m5.start_node.direct_pool": "all"}
        )
        held = self._asked.held[benchmark.name]
        origin = held.origin or ""
        fields = self._asked.case(benchmark, query)
        del fields["scope"]
        own = [one for one in ORIGINS if SAME.get(one, one) == SAME.get(origin, origin)]
        rows = self._asked.scan(query.text, config, limit=ROWS, **fields).rows
        alone = self._asked.scan(query.text, config, limit=4 * CUT, origin_types=own, **fields)
        relevant = frozenset((query.conversation, unit) for unit in query.relevant)
        codes = [SAME.get(ORIGINS[row.origin], ORIGINS[row.origin]) for row in rows]
        return Listed(
            set=benchmark.name,
            fold=fold,
            origin=SAME.get(origin, origin),
            origins=np.array([self.names.index(code) for code in codes]),
            own=np.array([self._own(row, code) for row, code in zip(rows, codes, strict=True)]),
            units=[self._units(row) for row in rows],
            relevant=relevant,
            alone=_found([self._units(row) for row in alone.rows], relevant),
            best=self._own(alone.rows[0], SAME.get(origin, origin)) if alone.rows else 0.0,
        )

    def _own(self, row: Any, origin: str) -> float:
        told = dict(zip(SIGNALS, row.signals, strict=True))
        return sum(
            weight * (told[name][1] or 0.0)
            for name, weight in self._weights[origin].items()
            if name != "bias"
        )

    def _units(self, row: Any) -> frozenset[tuple[str | None, str]]:
        id = id_text("mem", row.id)
        return frozenset(
            (held.scope_of[id], unit)
            for held in self._asked.held.values()
            for unit in held.units_of.get(id, ())
        )

    def calibrated(self, start: Scale) -> tuple[Scale, list[Listed]]:
        """The scale, and the lists under it."""
        level = self._levelled(self.lists(start), start)
        lists = self.lists(level)
        found = self._scale(_listwise(lists, len(self.names)))
        for _ in range(ROUNDS):
            lists = self.lists(found)
            found = self._scale(_searched(lists, self._flat(found)))
        lists = self.lists(found)
        best = [float(_level(one, self._flat(found)).max()) for one in lists]
        shift = LEVEL_MOST - float(np.percentile(best, SHARE_BELOW))
        return Scale(found.scale, {name: b + shift for name, b in found.bias.items()}), lists

    def _levelled(self, lists: Sequence[Listed], start: Scale) -> Scale:
        """Biases that bring the best of each origin to one level: an origin that is not in the
        lists at all cannot be moved into them."""
        best = {name: [one.best for one in lists if one.origin == name] for name in self.names}
        bias = {
            name: -start.scale[name] * float(np.mean(best[name]))
            if best[name]
            else start.bias[name]
            for name in self.names
        }
        return Scale(start.scale, bias)

    def _flat(self, scale: Scale) -> Values:
        return np.array(
            [*(scale.scale[name] for name in self.names), *(scale.bias[n] for n in self.names)]
        )

    def _scale(self, flat: Values) -> Scale:
        many = len(self.names)
        scales = dict(zip(self.names, map(float, flat[:many]), strict=True))
        biases = dict(zip(self.names, map(float, flat[many:]), strict=True))
        return Scale(scales, biases)

    def cross_fitted(self, lists: Sequence[Listed], scale: Scale) -> list[float]:
        """R@10 of every question under a scale that has not seen it, in the lists of this one."""
        found = [0.0] * len(lists)
        for fold in range(FOLDS):
            seen = [one for one in lists if one.fold != fold]
            flat = _searched(seen, self._flat(scale))
            for place, one in enumerate(lists):
                if one.fold == fold:
                    found[place] = _ranked(one, flat)
        return found


def _chosen(benchmark: Benchmark) -> Iterator[tuple[Query, int]]:
    """Questions with the fold of each."""
    step = -(-len(benchmark.queries) // QUESTIONS_MAX)
    places = {name: place for place, name in enumerate(benchmark.units)}
    for number, query in enumerate(benchmark.queries):
        if number % step == 0:
            place = number // step if len(places) == 1 else places[query.conversation]
            yield query, place % FOLDS


def _found(
    ranked: Sequence[frozenset[tuple[str | None, str]]], relevant: frozenset[tuple[str | None, str]]
) -> float:
    """Recall at the cut over distinct units."""
    units: dict[tuple[str | None, str], None] = {}
    for held in ranked:
        units.update(dict.fromkeys(sorted(held, key=str)))
        if len(units) >= CUT:
            break
    return len(relevant.intersection(list(units)[:CUT])) / len(relevant)


def _level(one: Listed, flat: Values) -> Values:
    many = len(flat) // 2
    return one.own * flat[:many][one.origins] + flat[many:][one.origins]


def _ranked(one: Listed, flat: Values) -> float:
    best = np.argsort(-_level(one, flat), kind="stable")[: 4 * CUT]
    return _found([one.units[row] for row in best], one.relevant)


def _listwise(lists: Sequence[Listed], many: int) -> Values:
    """Scales and biases by the loss of Q-06; a question counts by its origin's number of them."""
    sizes = {one.origin: 0 for one in lists}
    for one in lists:
        sizes[one.origin] += 1
    most = max(sizes.values())
    columns, wanted = [], []
    for one in lists:
        relevant = np.array([float(not one.relevant.isdisjoint(held)) for held in one.units])
        if not relevant.any():
            continue
        own = one.origins[:, None] == np.arange(many)
        for _ in range(max(1, round(most / sizes[one.origin]))):
            columns.append(np.hstack([own * one.own[:, None], own]).astype(float))
            wanted.append(relevant)
    least = np.append(np.full(many, SCALE_LEAST), np.full(many, -np.inf))
    flat = Batch(columns, wanted).fit(least, np.append(np.ones(many), np.zeros(many)))
    # an origin that no list has stays as it is
    flat[:many] = np.where(flat[:many] > 0, flat[:many], 1.0)
    return flat


def _loss(lists: Sequence[Listed], flat: Values) -> float:
    """Squares of what each set loses in R@10, in points."""
    change: dict[str, list[float]] = {}
    for one in lists:
        change.setdefault(one.set, []).append(_ranked(one, flat) - one.alone)
    return sum(min(0.0, 100 * float(np.mean(values))) ** 2 for values in change.values())


def _searched(lists: Sequence[Listed], start: Values, steps: int = STEPS) -> Values:
    """Small random steps that are kept while they lose less; the same lists give the same."""
    dice = np.random.default_rng(0)
    many = len(start) // 2
    best, loss = start.copy(), _loss(lists, start)
    for _ in range(steps):
        step = np.zeros(len(start))
        step[dice.integers(many)] = dice.normal() * 0.1
        step[many + dice.integers(many)] = dice.normal() * 0.4
        tried = best + step
        if (tried[:many] < SCALE_LEAST).any():
            continue
        lost = _loss(lists, tried)
        if lost < loss:
            best, loss = tried, lost
    return best
