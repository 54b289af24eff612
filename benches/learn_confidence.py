"""The confidence that a store answers a question, and the score of a memory, from labelled
questions.

Every question is asked of its own conversation as it is, without its evidence and whatever says
nearly the same (`removed`), and of the conversation before its own (`foreign`); worlds have
questions of their own that nothing answers (`unanswerable`) in the place of the removed ones.
Answerable questions are half of what a set counts, the other populations share the other half."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from benchmark_store import BenchmarkStore
from benchmarks.confidence import (
    ANSWERABLE,
    MIXTURE,
    POPULATIONS,
    REMOVED,
    UNANSWERABLE,
    Case,
    calibration_error,
    calibrations,
    cases,
)
from benchmarks.reader import Benchmark
from benchmarks.run import CachedEmbedder
from candidate_lists import MOST, is_worlds
from learning import FOLDS, Values, rounded
from logistic import fit_logistic, logistic
from vestig.config.weights import KindWeights
from vestig.recall.confidence import BIAS, FEATURES, FIT, LEAD_MAX, features, lead_of, log_odds

RIDGE = 0.003
DIGITS = 4
# Questions of a set beside its worlds, and results of each that are looked at.
QUESTIONS, RESULTS = 120, 20
# What a set counts that is no folder of worlds: what was taken out of one is a poor stand-in for
# what was never stored.
OTHER = 0.06
SCORE = ("level", "behind", "lead")


@dataclass(frozen=True, kw_only=True)
class Example:
    """What one recall gave: the features of its confidence, the levels of its results, best
    first, and which of them are relevant."""

    set: str
    fold: int
    population: str
    features: Mapping[str, float]
    levels: tuple[float, ...]
    relevant: tuple[bool, ...]


def score_columns(levels: Sequence[float]) -> Values:
    """Of each result its level, the root of how far it is below the first, and how far the first is
    ahead.

    Example:
        >>> score_columns([5.0, 1.0]).tolist()
        [[5.0, 0.0, 4.0], [1.0, 2.0, 4.0]]
    """
    lead = lead_of(levels[0], levels[1]) if len(levels) > 1 else LEAD_MAX
    return np.array([[level, (levels[0] - level) ** 0.5, lead] for level in levels])


def examples(
    benchmark: Benchmark, vectors: CachedEmbedder, weights: KindWeights, *, pieces: bool = True
) -> Iterator[Example]:
    """Every question of a set in each population; `pieces`: word pieces are compared."""
    settings: dict[str, Any] = {
        f"ranking.weights.{kind}.{term}": weight
        for kind, own in msgspec.structs.asdict(weights).items()
        for term, weight in own.items()
    }
    settings["signals.late.enabled"] = pieces
    if not is_worlds(benchmark):
        every = -(-min(len(benchmark.queries), MOST) // QUESTIONS)
        every *= -(-len(benchmark.queries) // MOST)
        benchmark = msgspec.structs.replace(benchmark, queries=benchmark.queries[::every])
    names = sorted({query.conversation or "" for query in benchmark.queries})
    numbers = {query.id: number for number, query in enumerate(benchmark.queries)}
    with BenchmarkStore([benchmark], vectors, settings) as store:
        stored = store.stored[benchmark.name]
        labelled = bool(benchmark.unanswerable)
        asked = [
            case
            for case in cases(store.session, benchmark, stored)
            if not (labelled and case.population == REMOVED)
        ]
        asked.sort(key=lambda case: case.population)
        for _, case, bound, ranked in store.ranked_cases(asked, stored, limit=RESULTS):
            place = (
                names.index(case.query.conversation or "") if names[1:] else numbers[case.query.id]
            )
            found = features(ranked.scan.rows, bound.confidence_input(ranked.scan))
            yield _example(benchmark.name, place % FOLDS, case, found, ranked, stored)


def _example(
    name: str, fold: int, case: Case, found: Mapping[str, float], ranked: Any, stored: Any
) -> Example:
    answerable = case.population == ANSWERABLE
    return Example(
        set=name,
        fold=fold,
        population=case.population,
        features=found,
        levels=tuple(log_odds(row.final_score) for row in ranked.rows[:RESULTS]),
        relevant=tuple(
            answerable and not case.query.relevant.isdisjoint(stored.units_of[row.memory_id])
            for row in ranked.rows[:RESULTS]
        ),
    )


class Asked(Protocol):
    """A question of a set, in one population."""

    @property
    def set(self) -> str: ...
    @property
    def population(self) -> str: ...


def shares(found: Sequence[Asked], factors: Mapping[str, float]) -> Values:
    """What each question counts: every set its factor, half of it for answerable questions."""
    sizes = Counter((one.set, one.population) for one in found)
    others = Counter(name for name, population in sizes if population != ANSWERABLE)

    def share(one: Asked) -> float:
        part = 0.5 if one.population == ANSWERABLE else 0.5 / others[one.set]
        return factors[one.set] * part / sizes[one.set, one.population]

    return np.array([share(one) for one in found])


def cross_fitted(x: Values, y: Values, share: Values, folds: Values) -> tuple[Values, Values]:
    """Weights with a constant at their end, and of each row the probability by weights that have
    not seen its fold."""
    known = np.zeros(len(y))
    for fold in range(FOLDS):
        there = folds == fold
        if there.any():
            own, constant = fit_logistic(x[~there], y[~there], share[~there], RIDGE)
            known[there] = logistic(x[there] @ own + constant)
    own, constant = fit_logistic(x, y, share, RIDGE)
    return rounded(np.append(own, constant), DIGITS), known


def unanswered(found: Sequence[Asked], known: Values, worlds: frozenset[str]) -> list[float]:
    """Confidences of the questions of worlds that nothing answers, in rising order: what silence is
    calibrated by."""
    own = [
        round(float(value), DIGITS)
        for one, value in zip(found, known, strict=True)
        if one.set in worlds and one.population == UNANSWERABLE
    ]
    return sorted(own)


def _figures(found: Sequence[Example], known: Values) -> dict[str, dict[str, Any]]:
    """By set, how well the confidence tells answerable questions from each other population, its
    calibration error, and what it keeps at one half."""
    figures: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(one.set for one in found):
        by: dict[str, list[float]] = {}
        for one, value in zip(found, known, strict=True):
            if one.set == name:
                by.setdefault(one.population, []).append(float(value))
        others = {population: by.get(population, []) for population in POPULATIONS}
        measured = calibrations(by[ANSWERABLE], others)
        figures[name] = {
            "questions": len(by[ANSWERABLE]),
            "auroc": {population: round(one.auroc, 3) for population, one in measured.items()},
            "calibration_error": round(measured[MIXTURE].calibration_error, 3),
            "above_half": {
                population: round(float(np.mean(np.array(values) >= 0.5)), 3)
                for population, values in by.items()
            },
        }
    return figures


def _falling(score: Mapping[str, float]) -> dict[str, float]:
    """The same where a larger final score is no smaller score."""
    return {**score, "level": max(0.0, score["level"]), "behind": min(0.0, score["behind"])}


def _fitted(
    found: Sequence[Example], worlds: frozenset[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """A fit as its file has it, and its figures."""
    share = shares(found, {one.set: 1.0 if one.set in worlds else OTHER for one in found})
    folds = np.array([one.fold for one in found])
    x = np.array([[one.features[name] for name in FEATURES] for one in found])
    answered = np.array([float(one.population == ANSWERABLE) for one in found])
    confidence, known = cross_fitted(x, answered, share, folds)
    figures = _figures(found, known)

    # a score is the confidence times what is fitted to answered questions; its error is
    # measured on what is asked of a store, which worlds have more of; the first places count most
    asked = [n for n, one in enumerate(found) if one.population in (ANSWERABLE, UNANSWERABLE)]
    rows = np.concatenate([score_columns(found[n].levels) for n in asked])
    right = np.array([float(own) for n in asked for own in found[n].relevant])
    owner = np.repeat(asked, [len(found[n].levels) for n in asked])
    place = np.concatenate([np.arange(len(found[n].levels)) for n in asked])
    each = np.where(answered[owner] > 0, share[owner], 0.0) / np.sqrt(1 + place)
    score, likely = cross_fitted(rows, right, each, folds[owner])
    likely = likely * known[owner]
    sets = np.array([one.set for one in found])[owner]
    for name in figures:
        own = sets == name
        error = calibration_error(likely[own], right[own], np.ones(own.sum()))
        figures[name]["score_error"] = round(error, 3)
    fit = {
        "confidence": dict(zip((*FEATURES, BIAS), confidence.tolist(), strict=True)),
        "score": _falling(dict(zip((*SCORE, BIAS), score.tolist(), strict=True))),
        "unanswered": unanswered(found, known, worlds),
    }
    return fit, figures


def learn_confidence(
    benchmarks: Sequence[Benchmark], vectors: CachedEmbedder, weights: KindWeights, out: Path
) -> dict[str, Any]:
    """Fits both with these weights, with word pieces and without, writes their file and returns
    the figures."""
    worlds = frozenset(one.name for one in benchmarks if is_worlds(one))
    fits, figures = {}, {}
    for pieces in (True, False):
        asked = (examples(each, vectors, weights, pieces=pieces) for each in benchmarks)
        found = [one for each in asked for one in each if one.levels]
        name = "with_pieces" if pieces else "without_pieces"
        fits[name], figures[name] = _fitted(found, worlds)
    document = {
        **fits,
        "data": {one.name: one.digest for one in benchmarks},
        "figures": figures["with_pieces"],
    }
    text = msgspec.json.format(msgspec.json.encode(document), indent=1).decode()
    (out / FIT.name).write_text(text + "\n", encoding="utf-8")
    return figures
