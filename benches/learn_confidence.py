"""Fits the confidence and the score that come with the package, from labelled folders.

    python benches/learn_confidence.py FOLDER… [--shipped] [--cache DIR] [--weights FILE]
        [--leave-out CATEGORY …] [--out FILE]

Each question is run against its own conversation as it is, without its evidence and whatever says
nearly the same (`removed`), and of the conversation before its own (`foreign`; of other folders of
one conversation, where a folder is one): ½, ¼ and ¼ of what a set counts. Notes are also asked in
blocks of a few dozen, with as many foreign questions of other folders, and folders of people,
documents and notes in one store without scopes;
`--shipped` adds the benchmark that comes with the package, alone and there.

The confidence is fitted first, for each origin type and for stores of several; then the score in
the same way, to the ten best results of every question. Figures are cross-fitted by conversation.
Prints them, and writes them with the weights to the data file of the package. All depends on the
weights of the `default` profile: fit again when these change. `--weights` takes the `--out` of
`learn.py` instead of the weights built in. The same folders give the same file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from candidate_lists import in_place_of_learned
from confidence_examples import SMALL, Example, mixture
from learning import FOLDS, Values, rounded
from logistic import fit_logistic
from vestig.config.weights import WeightsFile
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.evaluation.benchmarks import Benchmark, read_benchmark, without_categories
from vestig.evaluation.cached_embedder import cached_embedder
from vestig.evaluation.calibration import (
    FOREIGN,
    MIXTURE,
    POPULATIONS,
    REMOVED,
    calibration_error,
    calibrations,
)
from vestig.evaluation.unanswerable_questions import ANSWERABLE
from vestig.recall.confidence import (
    BASIC_FEATURES,
    BIAS,
    FIT,
    KINDS,
    OWN_FEATURES,
    SEVERAL,
    SIGNAL_FEATURES,
    Features,
    Fit,
    ScoreWeights,
    Table,
    probability,
    score_line,
    scored,
)
from vestig.store.projection.core_math import logit

RIDGE = 0.003
DIGITS = 4
SHARES = {ANSWERABLE: 0.5, FOREIGN: 0.25, REMOVED: 0.25}
# What sets count beside 1: few notes, of which other words are asked than they hold.
FACTORS = {"shipped" + SMALL: 0.5}
THRESHOLDS = (0.1, 0.3, 0.5, 0.7)
# An origin that is first in fewer questions has the weights of stores of several.
LEAST = 40
PIECES = tuple(name for name in SIGNAL_FEATURES if ".late." in name)


def shares(found: Sequence[Example]) -> Values:
    """What each question counts: every set its factor, shared by its populations."""
    sizes = Counter((one.set, one.population) for one in found)
    return np.array(
        [
            FACTORS.get(one.set, 1.0) * SHARES[one.population] / sizes[one.set, one.population]
            for one in found
        ]
    )


# --- the confidence --------------------------------------------------------------------------


def menus(found: Sequence[Example], kind: str) -> list[tuple[str, ...]]:
    """What the fits of a kind may use, the fullest first; a store has all of one, or falls back to
    the next."""
    there = set.intersection(*(set(one.numbers) for one in found))
    own = OWN_FEATURES if kind == SEVERAL else ()
    signals = tuple(name for name in SIGNAL_FEATURES if name in there)
    plain = tuple(name for name in signals if name not in PIECES)
    chosen = dict.fromkeys((signals, plain, ()))
    return [(*BASIC_FEATURES, *own, *more) for more in chosen]


def table(found: Sequence[Example], share: Values, names: Sequence[str]) -> Table:
    """The logistics of some features: what belongs to a store among all, what is answered among
    what belongs, and that of both together."""
    x = np.array([[one.numbers[name] for name in names] for one in found])
    answered = np.array([one.population == ANSWERABLE for one in found])
    belongs = np.array([one.population != FOREIGN for one in found])
    first = fit_logistic(x, belongs.astype(float), share, RIDGE)
    second = fit_logistic(x[belongs], answered[belongs].astype(float), share[belongs], RIDGE)
    plain = Table(belongs=_named(names, *first), answered=_named(names, *second))
    both = np.array([[logit(_of_tables(one, [plain]))] for one in found])
    scale, constant = fit_logistic(both, answered.astype(float), share, 0.0)
    return msgspec.structs.replace(
        plain,
        scale=float(rounded(scale, DIGITS)[0]),
        constant=float(rounded([constant], DIGITS)[0]),
    )


def _named(names: Sequence[str], weights: Values, constant: float) -> dict[str, float]:
    values = rounded([*weights, constant], DIGITS).tolist()
    return dict(zip((*names, BIAS), values, strict=True))


def _of_tables(one: Example, tables: Sequence[Table]) -> float:
    plain = Fit(tables={one.kind: tables}, score={})
    return probability(Features(kind=one.kind, values=one.numbers), plain)


def all_tables(found: Sequence[Example], share: Values) -> dict[str, list[Table]]:
    """By kind: a table for each of its menus."""
    made: dict[str, list[Table]] = {}
    for kind in KINDS:
        chosen = [at for at, one in enumerate(found) if one.kind == kind]
        if len(chosen) < LEAST:
            chosen = list(range(len(found)))
        own = [found[at] for at in chosen]
        made[kind] = [table(own, share[chosen], names) for names in menus(own, kind)]
    return made


def cross_fitted(found: Sequence[Example], share: Values) -> Values:
    """The confidence of each question, from tables that have not seen its fold."""
    confidence = np.zeros(len(found))
    fold = np.array([one.fold for one in found])
    for judged in range(FOLDS):
        seen = np.flatnonzero(fold != judged)
        tables = all_tables([found[at] for at in seen], share[seen])
        for at in np.flatnonzero(fold == judged):
            confidence[at] = _of_tables(found[at], tables[found[at].kind])
    return confidence


# --- the score -------------------------------------------------------------------------------


class Results:
    """The best results of all questions as columns.

    Attributes:
        owner: of each result, its question.
        x: ln of the share of the best · (1 − confidence), the same · confidence, and the logit of
            the confidence.
    """

    def __init__(self, found: Sequence[Example], share: Values, confidence: Values) -> None:
        self.found, self.confidence = found, confidence
        sizes = np.array([len(one.finals) for one in found])
        self.owner = np.repeat(np.arange(len(found)), sizes)
        self.relevant = np.concatenate([np.array(one.relevant, float) for one in found])
        self.share = (share / sizes)[self.owner]
        finals = np.concatenate([np.array(one.finals) for one in found])
        whole = np.array([sum(one.finals) for one in found])[self.owner]
        part = np.log(np.maximum(finals, 1e-300) / np.maximum(whole, 1e-300))
        sure = confidence[self.owner]
        self.x = np.column_stack([part * (1 - sure), part * sure, [logit(one) for one in sure]])
        self.kind = np.array([one.kind for one in found])[self.owner]

    def fit(self, rows: NDArray[np.bool_] | None = None) -> dict[str, ScoreWeights]:
        """The weights by kind, from some of the results."""
        given = np.ones(len(self.owner), bool) if rows is None else rows
        kinds = dict.fromkeys(self.kind.tolist())
        return {kind: self._weights(given & (self.kind == kind)) for kind in kinds}

    def _weights(self, on: NDArray[np.bool_]) -> ScoreWeights:
        """A weight of the share that would be negative is 0, so that a larger share never lowers a
        score."""
        x, counted = self.x[on], np.ones(3, bool)
        while True:
            weights = np.zeros(3)
            weights[counted], a = fit_logistic(
                x[:, counted], self.relevant[on], self.share[on], 0.0
            )
            negative = (weights < 0) & (True, True, False)
            if not negative.any():
                break
            counted &= ~negative
        a, unsure, sure, c = rounded([a, *weights], DIGITS).tolist()
        return ScoreWeights(a=a, b=(unsure, sure), c=c)

    def cross_fitted(self) -> Values:
        """The score of each result, from weights that have not seen its fold."""
        fold = np.array([one.fold for one in self.found])[self.owner]
        by = {judged: self.fit(fold != judged) for judged in range(FOLDS)}
        values = []
        for place, one in enumerate(self.found):
            sure = self.confidence[place]
            line = score_line(by[one.fold][one.kind], one.finals, sure)
            values += scored(one.finals, sure, line)
        return np.array(values)


# --- figures ---------------------------------------------------------------------------------


def figures(found: Sequence[Example], confidence: Values, results: Results) -> dict[str, Any]:
    """By set, of questions that the fits have not seen."""
    score = results.cross_fitted()
    first = np.flatnonzero(np.diff(results.owner, prepend=-1))
    population = np.array([one.population for one in found])
    right = np.array([bool(one.relevant and one.relevant[0]) for one in found])
    report: dict[str, Any] = {}
    for name in dict.fromkeys(one.set for one in found):
        own = np.array([one.set == name for one in found])
        of = {one: confidence[own & (population == one)] for one in SHARES}
        made = calibrations(of[ANSWERABLE].tolist(), {one: of[one].tolist() for one in POPULATIONS})
        rows = own[results.owner]
        report[name] = {
            "kind": Counter(one.kind for one in found if one.set == name).most_common(1)[0][0],
            "questions": int((own & (population == ANSWERABLE)).sum()),
            "auroc": {one: round(made[one].auroc, 3) for one in POPULATIONS},
            "calibration_error": round(made[MIXTURE].calibration_error, 3),
            "score": {
                "calibration_error": round(
                    calibration_error(score[rows], results.relevant[rows], results.share[rows]), 3
                ),
                "right_first": round(float(np.median(score[first[own & right]])), 2),
                "foreign_first": round(
                    float(np.median(score[first[own & (population == FOREIGN)]])), 3
                ),
            },
            "thresholds": {
                str(least): {
                    "kept": round(float((confidence[own & right] >= least).mean()), 2),
                    **{one: round(float((of[one] >= least).mean()), 2) for one in POPULATIONS},
                }
                for least in THRESHOLDS
            },
        }
    return report


def shown(report: Mapping[str, Any]) -> str:
    """A line for each set."""
    lines = []
    for name, one in report.items():
        half, score = one["thresholds"]["0.5"], one["score"]
        lines.append(
            f"{name:<22} {one['questions']:>5} questions"
            f"  AUROC foreign {one['auroc'][FOREIGN]:.3f} removed {one['auroc'][REMOVED]:.3f}"
            f"  calibration error {one['calibration_error']:.3f}, score"
            f" {score['calibration_error']:.3f}  score of a right first {score['right_first']:.2f},"
            f" of a foreign first {score['foreign_first']:.3f}  at 0.5: kept {half['kept']:.2f}"
            f" foreign {half[FOREIGN]:.2f} removed {half[REMOVED]:.2f}"
        )
    return "\n".join(lines)


def settings_of(file: Path | None) -> dict[str, Any]:
    """Weights that `learn.py` wrote in place of all that are learned, as configuration."""
    if file is None:
        return {}
    weights = msgspec.structs.asdict(WeightsFile.read(file).origins)
    return {
        f"ranking.weights.{origin}.{name}": weight
        for origin, own in in_place_of_learned(weights).items()
        for name, weight in own.items()
    }


def fitted(found: Sequence[Example], benchmarks: Sequence[Benchmark]) -> Fit:
    """The fit with its figures."""
    share = shares(found)
    confidence = cross_fitted(found, share)
    results = Results(found, share, confidence)
    return Fit(
        tables=all_tables(found, share),
        score=results.fit(),
        data={benchmark.name: benchmark.digest for benchmark in benchmarks},
        figures=figures(found, confidence, results),
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="the confidence and the score of recall from labelled folders"
    )
    parser.add_argument("folder", type=Path, nargs="*")
    parser.add_argument("--shipped", action="store_true", help="the benchmark of the package too")
    parser.add_argument("--cache", type=Path, default=None, help="keeps vectors between runs")
    parser.add_argument("--weights", type=Path, default=None, help="the --out of learn.py")
    parser.add_argument("--leave-out", nargs="+", default=[], metavar="CATEGORY")
    parser.add_argument("--out", type=Path, default=FIT)
    given = parser.parse_args()
    if not given.folder and not given.shipped:
        parser.error("expected folders of labelled questions, or --shipped")
    return given


def main() -> int:
    options = arguments()
    folders = [*options.folder]
    with resources.as_file(resources.files("vestig").joinpath("data/benchmark")) as shipped:
        if options.shipped:
            folders.append(shipped)
        chosen = [without_categories(read_benchmark(one), options.leave_out) for one in folders]
        vectors = cached_embedder(BuiltinEmbedder(), options.cache)
        settings = settings_of(options.weights)
        found = list(mixture(chosen, vectors, settings))
    made = fitted(found, chosen)
    sys.stdout.write(shown(made.figures) + "\n")
    document = msgspec.to_builtins(made)
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
