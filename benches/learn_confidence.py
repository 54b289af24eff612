"""Fits the confidence that comes with the package, from labelled folders.

    python benches/learn_confidence.py FOLDER… [--cache DIR] [--weights FILE]
        [--leave-out CATEGORY …] [--out FILE]

Each question is run against its own conversation as it is, without its evidence and whatever says
nearly the same (`removed`), and of the conversation before its own (`foreign`; of other folders of
one conversation, where a folder is one). The fit is on ½ answerable, ¼ foreign and ¼ removed
questions of each origin, cross-fitted by conversation; prints AUROC and calibration error by
folder, and writes the data file of the package. The numbers depend on the weights of the `default`
profile (`level`, `lead`, `margin`): fit again when these change. `--weights` takes the `--out` of
`learn.py` instead of the weights built in.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmark_store import BenchmarkStore
from learning import FOLDS
from vestig.config.weights import WeightsFile, learned
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.evaluation.benchmarks import Benchmark, read_benchmark, without_categories
from vestig.evaluation.cached_embedder import CachedEmbedder, cached_embedder
from vestig.evaluation.calibration import FOREIGN, POPULATIONS, REMOVED, calibrations
from vestig.evaluation.unanswerable_questions import ANSWERABLE, Case, cases
from vestig.recall.confidence import (
    BASIC_FEATURES,
    BIAS,
    FIT,
    ROWS_READ,
    SIGNAL_FEATURES,
    features,
)

Values = NDArray[np.float64]
PENALTY = 0.001
DIGITS = 4
SHARES = {ANSWERABLE: 0.5, FOREIGN: 0.25, REMOVED: 0.25}
PIECES = tuple(name for name in SIGNAL_FEATURES if ".late." in name)
# What a fit may use of what an origin has, the fullest first; a store has all of one, or falls back
# to the next. How far the first of long messages stand apart says little about them.
MENUS = {
    "chat_peer": (
        (*BASIC_FEATURES, *SIGNAL_FEATURES),
        (*BASIC_FEATURES, *(name for name in SIGNAL_FEATURES if name not in PIECES)),
        BASIC_FEATURES,
    ),
    "chat_agent": (("meaning", "words", "cover"),),
    "document": (BASIC_FEATURES,),
    "note": (BASIC_FEATURES,),
}


@dataclass(frozen=True)
class Example:
    """One question: the numbers of its scan."""

    set: str
    origin: str
    population: str
    fold: int
    numbers: Mapping[str, float]


def examples(
    benchmark: Benchmark,
    others: Sequence[Benchmark],
    vectors: CachedEmbedder,
    settings: Mapping[str, Any],
) -> Iterator[Example]:
    """The questions of a folder; `others`: where foreign ones come from if it is one
    conversation."""
    with BenchmarkStore([benchmark], vectors, settings) as asked:
        held = asked.stored[benchmark.name]
        found = list(cases(asked.session, benchmark, held))
        names = list(dict.fromkeys(case.conversation for case in found))
        if len(names) == 1:
            found += [
                Case(population=FOREIGN, query=query, conversation=names[0])
                for other in others
                for query in other.queries
            ]
        config = asked.session.config
        numbers = Counter[str]()
        for case in found:
            scan = asked.scan(case.query.text, config, limit=ROWS_READ, **case.fields(held))
            what = features(scan) if scan.rows else None
            place = names.index(case.conversation)
            if len(names) == 1:
                place = numbers[case.population]
                numbers[case.population] += 1
            if what is not None:
                yield Example(
                    benchmark.name, held.origin or "", case.population, place % FOLDS, what.values
                )


class Data:
    """Examples as columns: numbers, and a constant."""

    def __init__(self, found: Sequence[Example], names: Sequence[str]) -> None:
        self.names = (*names, BIAS)
        columns = [[one.numbers.get(name, 0.0) for name in names] + [1.0] for one in found]
        self.x = np.array(columns)
        self.free = np.array([name == BIAS for name in self.names])
        self.y = np.array([float(one.population == ANSWERABLE) for one in found])
        self.population = np.array([one.population for one in found])
        sizes = Counter((one.origin, one.population) for one in found)
        self.weight = np.array(
            [SHARES[one.population] / sizes[one.origin, one.population] for one in found]
        )

    def fit(self, rows: NDArray[np.bool_]) -> tuple[Values, Values]:
        """Both logistics from these rows: each begins with the questions that it is to tell
        apart, then both together are made as likely as can be."""
        x, y = self.x[rows], self.y[rows]
        weight = self.weight[rows] / self.weight[rows].sum()
        mean = np.where(self.free, 0, weight @ x)
        spread = np.where(self.free, 1, np.sqrt(weight @ (x - mean) ** 2) + 1e-12)
        z = (x - mean) / spread
        starts = []
        for population in (FOREIGN, REMOVED):
            own = (y == 1) | (self.population[rows] == population)
            starts.append(self._one(z[own], y[own], weight[own]))
        both = self._both(z, y, weight, starts)
        plain = both / spread
        # what the means take away, the constant gives back
        plain[:, self.free] -= (plain @ mean)[:, None]
        return plain[0], plain[1]

    def _one(self, z: Values, y: Values, weight: Values) -> Values:
        from scipy.optimize import minimize

        penal = PENALTY * ~self.free

        def loss(w: Values) -> tuple[float, Values]:
            score = z @ w
            value = float((weight * (np.logaddexp(0, score) - y * score)).sum() / weight.sum())
            slope = z.T @ (weight * (1 / (1 + np.exp(-score)) - y)) / weight.sum()
            return value + float(penal @ (w * w)), slope + 2 * penal * w

        return np.asarray(minimize(loss, np.zeros(z.shape[1]), jac=True, method="L-BFGS-B").x)

    def _both(self, z: Values, y: Values, weight: Values, starts: Sequence[Values]) -> Values:
        from scipy.optimize import minimize

        penal = PENALTY * ~self.free

        def loss(flat: Values) -> tuple[float, Values]:
            w = flat.reshape(2, -1)
            logs = -np.logaddexp(0, -(w @ z.T))
            log = logs.sum(0)
            p = np.exp(log)
            rest = np.maximum(1 - p, 1e-12)
            value = -float((weight * (y * log + (1 - y) * np.log(rest))).sum())
            pull = -weight * (y - (1 - y) * p / rest) * (1 - np.exp(logs))
            slope = pull @ z + 2 * penal * w
            return value + float((penal * w * w).sum()), slope.ravel()

        found = minimize(
            loss, np.concatenate(starts), jac=True, method="L-BFGS-B", options={"maxiter": 1000}
        ).x
        return np.asarray(found).reshape(2, -1)

    def confidence(self, rows: NDArray[np.bool_], weights: tuple[Values, Values]) -> Values:
        """Confidence of these rows."""
        first, second = (1 / (1 + np.exp(-(self.x[rows] @ w))) for w in weights)
        return np.asarray(first * second)

    def table(self, weights: tuple[Values, Values]) -> dict[str, dict[str, float]]:
        """One table of the data file."""
        first, second = (
            {name: float(f"{value:.{DIGITS}g}") for name, value in zip(self.names, w, strict=True)}
            for w in weights
        )
        return {"belongs": first, "answered": second}


def of_origin(found: Sequence[Example], origin: str) -> list[Example]:
    """The examples of an origin; all, where there are none."""
    return [one for one in found if one.origin == origin] or list(found)


def figures(found: Sequence[Example]) -> dict[str, dict[str, dict[str, float]]]:
    """By folder and population, of questions that the fit has not seen."""
    confidence = np.zeros(len(found))
    population = np.array([one.population for one in found])
    for origin in MENUS:
        chosen = [at for at, one in enumerate(found) if one.origin == origin]
        if not chosen:
            continue
        data = Data([found[at] for at in chosen], MENUS[origin][0])
        fold = np.array([found[at].fold for at in chosen])
        for judged in sorted(set(fold)):
            values = data.confidence(fold == judged, data.fit(fold != judged))
            confidence[np.array(chosen)[fold == judged]] = values
    report: dict[str, dict[str, dict[str, float]]] = {}
    for name in dict.fromkeys(one.set for one in found):
        own = np.array([one.set == name for one in found])
        values = {name: list(confidence[own & (population == name)]) for name in SHARES}
        made = calibrations(values[ANSWERABLE], {one: values[one] for one in POPULATIONS})
        report[name] = {
            kind: {
                "auroc": round(one.auroc, 4),
                "calibration_error": round(one.calibration_error, 4),
                "questions": one.questions,
            }
            for kind, one in made.items()
        }
    return report


def tables(found: Sequence[Example]) -> dict[str, list[Any]]:
    """By origin: a table for each of its menus."""
    made: dict[str, list[Any]] = {}
    for origin in MENUS:
        own = of_origin(found, origin)
        there = set.intersection(*(set(one.numbers) for one in own))
        rows = []
        for menu in MENUS[origin]:
            data = Data(own, menu)
            if there.issuperset(menu):
                rows.append(data.table(data.fit(np.ones(len(own), bool))))
        made[origin] = rows
    return made


def settings_of(file: Path | None) -> dict[str, Any]:
    """Weights that `learn.py` wrote in place of all that are learned, as configuration."""
    if file is None:
        return {}
    weights = msgspec.structs.asdict(WeightsFile.read(file).origins)
    return {
        f"ranking.weights.{origin}.{term}": own.get(term, 0.0)
        for origin, own in weights.items()
        for term in {**learned()[origin], **own}
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the confidence of recall from labelled folders")
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--cache", type=Path, default=None, help="keeps vectors between runs")
    parser.add_argument("--weights", type=Path, default=None, help="the --out of learn.py")
    parser.add_argument("--leave-out", nargs="+", default=[], metavar="CATEGORY")
    parser.add_argument("--out", type=Path, default=FIT)
    return parser.parse_args()


def main() -> int:
    options = arguments()
    vectors = cached_embedder(BuiltinEmbedder(), options.cache)
    settings = settings_of(options.weights)
    chosen = [without_categories(read_benchmark(one), options.leave_out) for one in options.folder]
    found: list[Example] = []
    for place, benchmark in enumerate(chosen):
        others = [one for at, one in enumerate(chosen) if at != place]
        alone = [one for one in others if len({q.conversation for q in one.queries}) == 1]
        found += examples(benchmark, alone or others, vectors, settings)
        print(f"{benchmark.name}: {len(found)} examples so far", file=sys.stderr)
    report = figures(found)
    for name, by_population in report.items():
        for population, values in by_population.items():
            print(
                f"{name:<12} {population:<8} AUROC {values['auroc']:.3f}"
                f"  calibration error {values['calibration_error']:.3f}"
                f"  ({values['questions']} questions)"
            )
    document = {
        "tables": tables(found),
        "data": {benchmark.name: benchmark.digest for benchmark in chosen},
        "figures": report,
    }
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
