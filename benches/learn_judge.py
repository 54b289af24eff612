"""How the judge's numbers are weighed, from labelled questions: what it adds to L, the confidence
with it, the probability that a memory answers, and below which confidence recall is silent.

    python benches/learn_judge.py FOLDER … --cache CACHE --out python/vestig/data

Questions are those of the learned confidence (`learn_confidence.py`): of answerable ones, and of
ones that nothing stored answers. Questions for several things (`benches/lists`, and those of other
sets) and queries that ask nothing (`benches/prompts`, …) have a weight and a confidence of their
own. The weight is the one of a few steps with the
best mean of hit@1 and recall@5 over all sets among those by which no set loses more than half a
point of hit@1 or recall@10 against none; `--weight` names that of questions. Worlds count as much
as all other sets together. How much less confidence a small store needs is learned from questions
of a few memories each of the sets of several worlds, and from those of `benches/near_misses`.
Prints, by set, the figures without the judge and with it.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from benchmark_store import BenchmarkStore
from benchmarks.confidence import (
    ANSWERABLE,
    FOREIGN,
    REMOVED,
    UNANSWERABLE,
    Case,
    NearMemories,
    calibrations,
    cases,
)
from benchmarks.reader import Benchmark, read_benchmark
from benchmarks.run import CachedEmbedder, StoredUnits, cached_embedder
from candidate_lists import MOST, is_worlds
from learn_confidence import DIGITS, cross_fitted, shares, unanswered
from learning import FOLDS, Values
from logistic import fit_beside, logistic
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.recall.judgement import FEW, FIT, KINDS, QUESTIONS, closeness, few_memories, kind_of
from vestig.recall.silence import SILENCE, least_confidence
from vestig.session.session import Session

# What the judge adds to L, tried.
WEIGHTS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.6)
LOSS_MAX: Final = 0.5
MEASURES: Final = ("hit@1", "recall@5", "recall@10")
RESULTS: Final = 10
# The confidence from which on a result is called likely.
LIKELY: Final = 0.5
# Answerable queries of one kind from which on a set says what a weight costs.
QUESTIONS_MIN: Final = 50
# Questions of a set beside its worlds.
OF_SET: Final = 300
# How often a question without an answer may bring something, as it is reported.
SILENCES: Final = (0.05, 0.1, SILENCE, 0.5)
# A set of small stores; what it weighs beside those that are made of a set of worlds.
NEAR_MISSES: Final = "near_misses"
NEAR_MISSES_SHARE: Final = 0.5
# Memories of the small stores.
SIZES: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, FEW)
_SETTINGS: Final = {"judge.budget_ms": 1e6, "ranking.newer_first": False}


@dataclass(frozen=True, kw_only=True)
class Example:
    """One question.

    Attributes:
        eligible: how many memories may answer.
        kind: of the query.
        confidence: without the judge.
        levels: L of the results, best first.
        judgements: both logits of those that the judge read.
        relevant: units that answer it; `units`: those of each result.
        answering: of each result, if it answers or answered.
    """

    set: str
    fold: int
    population: str
    kind: str
    eligible: int
    confidence: float
    levels: Values
    judgements: Values
    relevant: frozenset[str]
    units: tuple[frozenset[str], ...]
    answering: Values

    def order(self, weight: float) -> list[int]:
        """Places of the results with what the judge adds."""
        read = len(self.judgements)
        levels = self.levels[:read] + weight * self.judgements.mean(1)
        return [*np.argsort(-levels, kind="stable").tolist(), *range(read, len(self.levels))]


@dataclass(frozen=True)
class Confidence:
    """A fit for one kind of queries.

    Attributes:
        weight: of the judge beside L.
        weights: of `_columns`, a constant at their end.
        few: that of `few_memories`.
        unanswered: confidences, in a large store, of queries that nothing answers, by fits that
            have not seen them, in rising order.
    """

    weight: float
    weights: Values
    few: float
    unanswered: Sequence[float]

    def document(self) -> dict[str, object]:
        """What the file holds of it."""
        names = ("confidence", "answers", "bias")
        return {
            "weight": self.weight,
            "weights": dict(zip(names, self.weights.tolist(), strict=True)),
            "unanswered": [*self.unanswered],
            "few": round(self.few, DIGITS),
        }


def examples(
    benchmark: Benchmark, vectors: CachedEmbedder, *, small: bool = False
) -> Iterator[Example]:
    """Every question of a set in each population; `small`: of a few of its memories."""
    if not is_worlds(benchmark):
        every = -(-min(len(benchmark.queries), MOST) // OF_SET)
        every *= -(-len(benchmark.queries) // MOST)
        benchmark = msgspec.structs.replace(benchmark, queries=benchmark.queries[::every])
    names = sorted({query.conversation or "" for query in benchmark.queries})
    with BenchmarkStore([benchmark], vectors, _SETTINGS) as store:
        stored = store.stored[benchmark.name]
        asked = (
            list(small_stores(store.session, benchmark, stored, vectors))
            if small
            else [
                one for one in cases(store.session, benchmark, stored) if one.population != REMOVED
            ]
        )
        asked.sort(key=lambda case: case.population)
        for number, case, bound, ranked in store.ranked_cases(
            asked, stored, limit=RESULTS, judges=True
        ):
            known = bound.query.judgements
            confidence = bound.confidence(ranked.scan)
            if known is None or not known.known or confidence is None:
                continue
            rows = sorted(ranked.rows[:RESULTS], key=lambda row: -row.start_score)
            rows.sort(key=lambda row: row.id not in known.known)
            units = tuple(frozenset(stored.units_of[row.memory_id]) for row in rows)
            place = names.index(case.query.conversation or "") if names[1:] else number
            yield Example(
                set=benchmark.name,
                fold=place % FOLDS,
                population=case.population,
                kind=kind_of(case.query.text),
                eligible=ranked.scan.eligible,
                confidence=confidence,
                levels=np.array([row.start_score for row in rows]),
                judgements=np.array([known.known[row.id] for row in rows if row.id in known.known]),
                relevant=frozenset(case.query.relevant),
                units=units,
                answering=_answering(case, units),
            )


def small_stores(
    session: Session, benchmark: Benchmark, stored: StoredUnits, vectors: CachedEmbedder
) -> Iterator[Case]:
    """Every question that has an answer, of 1 to `FEW` memories of its conversation, as many as the
    sizes have in turn: of one that answers it and others; of others alone, half of them the nearest
    to the question; and of any that do not answer it."""
    near: dict[str | None, NearMemories] = {}
    for number, query in enumerate(benchmark.queries):
        scope, size = query.conversation, SIZES[number % len(SIZES)]
        if scope not in near:
            near[scope] = NearMemories(session, stored, scope)
        vector = np.frombuffer(vectors.embed([query.text])[0], "<f4").astype(float)
        every = near[scope].nearest(vector)
        evidence = {*near[scope].evidence(query)}
        right = [id for id in every if not query.relevant.isdisjoint(stored.units_of.get(id, ()))]
        wrong = {*query.outdated, *query.relevant}
        others = [
            id
            for id in every
            if id not in evidence and wrong.isdisjoint(stored.units_of.get(id, ()))
        ]
        drawn = random.Random(query.text).sample(others, len(others))
        for population, own, close in (
            (ANSWERABLE, right[:1], (size - 1) // 2),
            (REMOVED, [], (size + 1) // 2),
            (FOREIGN, [], 0),
        ):
            kept = dict.fromkeys([*own, *others[:close], *drawn])
            shown = {*list(kept)[:size]}
            without = tuple(id for id in every if id not in shown)
            yield Case(population=population, query=query, conversation=scope, without=without)


def _answering(case: Case, units: Sequence[frozenset[str]]) -> Values:
    if case.population != ANSWERABLE:
        return np.zeros(len(units))
    right = {*case.query.relevant, *case.query.outdated}
    return np.array([float(not own.isdisjoint(right)) for own in units])


def ranking_figures(found: Sequence[Example], weights: Mapping[str, float]) -> dict[str, float]:
    """hit@1, recall@5 and recall@10 of answerable questions, in percent.

    Args:
        weights: of the judge beside L, by the kind of a query.
    """
    measured = []
    for one in found:
        if one.population != ANSWERABLE:
            continue
        units = [one.units[place] for place in one.order(weights[one.kind])]
        shares = [
            len(one.relevant & frozenset[str]().union(*units[:cut])) / len(one.relevant)
            for cut in (5, 10)
        ]
        measured.append([float(bool(units) and not units[0].isdisjoint(one.relevant)), *shares])
    values = np.array(measured).mean(0) * 100
    return {name: round(float(value), 1) for name, value in zip(MEASURES, values, strict=True)}


def chosen_weight(found: Sequence[Example]) -> float:
    """The weight with the best means by which no set loses; 0 where every one loses."""
    by_set: dict[str, list[Example]] = {}
    for one in found:
        by_set.setdefault(one.set, []).append(one)
    by_set = {
        name: own
        for name, own in by_set.items()
        if sum(one.population == ANSWERABLE for one in own) >= QUESTIONS_MIN
    }
    without = {
        name: ranking_figures(own, dict.fromkeys(KINDS, 0.0)) for name, own in by_set.items()
    }
    best, most = 0.0, _mean(without)
    for weight in WEIGHTS:
        figures = {
            name: ranking_figures(own, dict.fromkeys(KINDS, weight)) for name, own in by_set.items()
        }
        loses = any(
            own[measure] < without[name][measure] - LOSS_MAX
            for name, own in figures.items()
            for measure in ("hit@1", "recall@10")
        )
        if not loses and _mean(figures) > most:
            best, most = weight, _mean(figures)
    return best


def _mean(figures: dict[str, dict[str, float]]) -> float:
    return float(np.mean([one["hit@1"] + one["recall@5"] for one in figures.values()]))


def _columns(found: Sequence[Example]) -> Values:
    return np.array([[closeness(one.confidence), one.judgements[:, 0].max()] for one in found])


def fit_few(small: Sequence[Example], weights: Values) -> float:
    """How much surer `few_memories` makes of an answer, at the same confidence. Where nothing
    answers, the questions of `NEAR_MISSES` are harder than most: they weigh less."""
    share = shares(
        small, {one.set: NEAR_MISSES_SHARE if one.set == NEAR_MISSES else 1.0 for one in small}
    )
    return round(
        fit_beside(
            _columns(small) @ weights[:-1] + weights[-1],
            np.array([few_memories(one.eligible) for one in small]),
            np.array([float(one.population == ANSWERABLE) for one in small]),
            share,
        ),
        DIGITS,
    )


def fitted_questions(
    found: Sequence[Example],
    small: Sequence[Example],
    worlds: frozenset[str],
    weight: float | None,
) -> tuple[Confidence, Values]:
    """The fit of queries that ask, and the confidence of each by a fit that has not seen its fold.

    Args:
        small: those of small stores.
        weight: of the judge beside L; None = the best.
    """
    weights, known = cross_fitted(
        _columns(found), _answered(found), _shares(found, worlds), _folds(found)
    )
    confidence = Confidence(
        chosen_weight(found) if weight is None else weight,
        weights,
        fit_few(small, weights),
        unanswered(found, known, worlds),
    )
    return confidence, known


def fitted_of_kind(found: Sequence[Example]) -> tuple[Confidence, Values]:
    """The fit of another kind of queries, of the sets in which some are answered by nothing, and
    the confidence of each by a fit that has not seen its fold. Most are of small stores, so that
    one fit says how much surer these make; a set counts as much as it has queries."""
    sets = frozenset(one.set for one in found if one.population == UNANSWERABLE)
    own = [one for one in found if one.set in sets]
    share = shares(own, Counter(one.set for one in own))
    few = _few(found)
    columns = np.column_stack([few, _columns(found)])
    at = np.array([one.set in sets for one in found])
    weights, held = cross_fitted(columns[at], _answered(own), share, _folds(own))
    large = logistic(columns @ weights[:-1] + weights[-1])
    large[at] = held
    confidence = Confidence(
        chosen_weight(found), weights[1:], float(weights[0]), unanswered(found, large, sets)
    )
    return confidence, _surer(large, -confidence.few * few)


def _shares(found: Sequence[Example], worlds: frozenset[str]) -> Values:
    """What each question counts: worlds as much as all other sets together."""
    sizes = Counter(name in worlds for name in {one.set for one in found})
    return shares(found, {one.set: 0.5 / sizes[one.set in worlds] for one in found})


def _answered(found: Sequence[Example]) -> Values:
    return np.array([float(one.population == ANSWERABLE) for one in found])


def _folds(found: Sequence[Example]) -> Values:
    return np.array([one.fold for one in found])


def _few(found: Sequence[Example]) -> Values:
    return np.array([few_memories(one.eligible) for one in found])


def _surer(known: Values, by: Values) -> Values:
    """Probabilities with something added to their log odds."""
    return logistic(np.log(known / (1 - known)) + by)


def fitted(
    found: Sequence[Example],
    small: Sequence[Example],
    worlds: frozenset[str],
    weight: float | None = None,
) -> tuple[dict[str, object], Values, Values]:
    """The file's content, the confidence of each question by a fit that has not seen its fold, and
    the one that is as rare in a large store, by which silence goes.

    Args:
        small: questions of small stores.
        weight: of the judge beside L for questions; None = the best.
    """
    documents: dict[str, object] = {}
    known, large = np.zeros(len(found)), np.zeros(len(found))
    for kind in KINDS:
        at = np.array([one.kind == kind for one in found])
        own = [one for one in found if one.kind == kind]
        if kind == QUESTIONS:
            few = [one for one in small if one.kind == kind]
            fit, sure = fitted_questions(own, few, worlds, weight)
        else:
            fit, sure = fitted_of_kind(own)
        documents[kind], known[at] = fit.document(), sure
        large[at] = _surer(sure, fit.few * _few(own))
    reads = np.concatenate([one.judgements[:, :1] for one in found])
    right = np.concatenate([one.answering[: len(one.judgements)] for one in found])
    counts = [len(one.judgements) for one in found]
    answers, _ = cross_fitted(
        reads,
        right,
        np.repeat(_shares(found, worlds), counts),
        np.repeat(_folds(found), counts),
    )
    return (
        {
            "answers": dict(zip(("answers", "bias"), answers.tolist(), strict=True)),
            **documents,
        },
        known,
        large,
    )


def figures(
    found: Sequence[Example], known: Values, weights: Mapping[str, float]
) -> dict[str, dict[str, dict[str, float]]]:
    """By set, the ranking, how well the confidence tells answerable questions from others, and
    which share of each population it calls likely; without the judge and with it.

    Args:
        weights: of the judge beside L, by the kind of a query.
    """
    shown: dict[str, dict[str, dict[str, float]]] = {}
    for name in dict.fromkeys(one.set for one in found):
        own = [n for n, one in enumerate(found) if one.set == name]
        plain = np.array([found[n].confidence for n in own])
        shown[name] = {}
        none = dict.fromkeys(weights, 0.0)
        for label, added, values in (("without", none, plain), ("with", weights, known[own])):
            by: dict[str, list[float]] = {}
            for n, value in zip(own, values, strict=True):
                by.setdefault(found[n].population, []).append(float(value))
            others = {population: own for population, own in by.items() if population != ANSWERABLE}
            measured = calibrations(by[ANSWERABLE], others) if others else {}
            shown[name][label] = {
                **ranking_figures([found[n] for n in own], added),
                **{f"auroc {kind}": round(one.auroc, 3) for kind, one in measured.items()},
                **{
                    f"likely {kind}": round(float(np.mean(np.array(own) >= LIKELY)), 3)
                    for kind, own in by.items()
                },
            }
    return shown


def silence_figures(
    found: Sequence[Example], large: Values, worlds: frozenset[str]
) -> dict[str, dict[str, dict[str, float]]]:
    """By set and silence, the share of each population that brings something. What a silence takes
    is learned from questions of worlds, and from queries of another kind of any set, that nothing
    answers, in other folds."""
    asked = [
        (one.set in worlds or one.kind != QUESTIONS) and one.population == UNANSWERABLE
        for one in found
    ]
    shown: dict[str, dict[str, dict[str, float]]] = {}
    for name in dict.fromkeys(one.set for one in found):
        shown[name] = {}
        for silence in SILENCES:
            by: dict[str, list[bool]] = {}
            for n, one in enumerate(found):
                if one.set != name:
                    continue
                others = [
                    float(large[m])
                    for m, counts in enumerate(asked)
                    if counts
                    and found[m].kind == one.kind
                    and (found[m].set != name or found[m].fold != one.fold)
                ]
                least = least_confidence(silence, sorted(others))
                by.setdefault(one.population, []).append(float(large[n]) >= least)
            shown[name][f"{silence:g}"] = {
                population: round(float(np.mean(own)), 3) for population, own in by.items()
            }
    return shown


def main() -> None:
    """Reads the folders, writes `judge.json` and prints the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--weight", type=float, help="of the judge beside L, of questions; default: the best"
    )
    asked = parser.parse_args()
    vectors = cached_embedder(BuiltinEmbedder(), asked.cache)
    benchmarks = [read_benchmark(str(folder)) for folder in asked.folders]
    found = [one for each in benchmarks for one in examples(each, vectors)]
    worlds = frozenset(one.name for one in benchmarks if is_worlds(one))
    small = [
        one
        for each in benchmarks
        if each.name in worlds and len(each.units) > 1
        for one in examples(each, vectors, small=True)
    ]
    small += [one for one in found if one.set == NEAR_MISSES and one.population != FOREIGN]
    fit, known, large = fitted(found, small, worlds, asked.weight)
    weights = {kind: fit[kind]["weight"] for kind in KINDS}
    shown = figures(found, known, weights)
    document = {
        **fit,
        "data": {one.name: one.digest for one in benchmarks},
        "figures": shown,
        "silence": silence_figures(found, large, worlds),
    }
    (asked.out / FIT.name).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
