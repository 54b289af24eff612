"""Learns what the `default` profile ranks by, and how sure it is, from labelled folders.

    python benches/learn.py FOLDER… [--shipped] [--cache DIR] [--factor NAME=TIMES …]
        [--leave-out CATEGORY …] [--off TERM …] [--gains] [--out DIR]

FOLDER holds `corpus.jsonl` or `documents`, and `queries.jsonl` (`.gz` too), or a folder of both for
each of several whole stores (worlds), as for `benches/evaluate.py`; `--shipped` adds
`benches/shipped`. Each set is imported as a user would do it; the core computes every term.

First the weights, one vector for all kinds of memories and one for people's chats, fitted together:
worlds count most. Then, with these, the confidence that a store answers a question,
and the score of a memory. Figures are cross-fitted by conversation, or by question where there is
but one. Writes `weights.json` and `confidence.json` into the package's data, or into `--out`. The
same folders give the same files.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reader import SHIPPED, Benchmark, read_benchmark, without_categories
from benchmarks.run import CachedEmbedder, cached_embedder
from candidate_lists import OF_PEOPLE, OFFERED, is_worlds, lists, with_neighbours
from learn_confidence import learn_confidence
from learning import FOLDS, Listed, Mask, Values, Weights, fit, means, shares_of
from vestig.config.signals import LATE_TERMS
from vestig.config.weights import LEARNED, KindWeights, WeightsFile
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.errors import ValidationError

# What a set counts that is no folder of worlds: about a quarter for each of a hundred questions.
OTHER = 0.06
# Sets that count otherwise: long assistant turns, second steps and turns that were kept as notes
# are displaced where they count less; questions to documents displace those where they count more.
FACTORS = {"beam100k": 0.12, "musique200": 0.1, "locomo_notes_dev": 0.12, "documents_dev": 0.06}
# What sums are multiplied by where two steps lead to an answer: the second step stands far from the
# first place, and a steep loss looks at that place alone.
FLAT = {"musique200": 0.5, "hotpot200": 0.5}
LATE: Mask = np.isin(OFFERED, LATE_TERMS)
# Of documents alone.
DOCUMENTS: Mask = np.isin(OFFERED, ("entity_walk", "pair", "title"))
# Of people's chats alone.
PEOPLE: Mask = np.isin(OFFERED, OF_PEOPLE)
# The share of questions whose best memory has at most this L, so that 1/(1 + e^−L) does not
# saturate.
UNSATURATED = (99, -3.0)


@dataclass(frozen=True)
class Fitted:
    """Weights of all questions, and those of each fold's others."""

    whole: Weights
    folds: Sequence[Weights]

    @classmethod
    def to(cls, found: Sequence[Listed], factors: Mapping[str, float]) -> Fitted:
        """Fits to these lists."""
        shares = shares_of(found, factors)
        fits = [fit(found, shares, LATE, FLAT, fold) for fold in (None, *range(FOLDS))]
        return cls(fits[0], fits[1:])

    def cross_fitted(self, one: Listed) -> Values:
        """L by weights that have not seen the question's fold."""
        return self.folds[one.fold].levels(one, LATE)

    def by_kind(self, found: Sequence[Listed]) -> dict[str, dict[str, float]]:
        """What the file holds."""
        share, level = UNSATURATED
        best = [float(self.whole.levels(one, LATE).max()) for one in found]
        bias = round(level - float(np.percentile(best, share)), 1)
        peer = np.where(DOCUMENTS, 0.0, self.whole.peer)
        others = np.where(PEOPLE, 0.0, self.whole.all)
        return {
            "chat_peer": {"bias": round(bias + self.whole.bias, 2), **_named(peer)},
            "all": {"bias": bias, **_named(others)},
        }


def _named(weights: Values) -> dict[str, float]:
    terms = dict(zip(OFFERED, weights.tolist(), strict=True))
    return with_neighbours({name: weight for name, weight in terms.items() if weight != 0})


def without(found: Sequence[Listed], terms: Sequence[str]) -> list[Listed]:
    """The lists without the values of some terms."""
    kept = ~np.isin(OFFERED, terms)
    return [
        Listed(
            set=one.set,
            fold=one.fold,
            terms=one.terms * kept,
            peer=one.peer,
            weight=one.weight,
            units=one.units,
            relevant=one.relevant,
        )
        for one in found
    ]


def gains(
    found: Sequence[Listed], factors: Mapping[str, float], whole: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, dict[str, dict[str, float]]]]:
    """What each term brings, in points: it is left out and the others are fitted again."""
    for term in OFFERED:
        rest = without(found, [term])
        there = means(rest, Fitted.to(rest, factors).cross_fitted)
        yield (
            term,
            {
                name: {
                    metric: round(value - there[name][metric], 1)
                    for metric, value in row.items()
                    if metric != "questions"
                }
                for name, row in whole.items()
            },
        )


def factors_of(given: Sequence[str], benchmarks: Sequence[Benchmark]) -> dict[str, float]:
    """What each set counts.

    Raises:
        SystemExit: not `NAME=TIMES` of a set and a number of at least 0.
    """
    found = {
        one.name: FACTORS.get(one.name, 1.0 if is_worlds(one) else OTHER) for one in benchmarks
    }
    for one in given:
        name, _, times = one.partition("=")
        if name not in found or not re.fullmatch(r"\d*\.?\d+", times):
            raise SystemExit(
                f"--factor: expected NAME=TIMES with one of {', '.join(sorted(found))}, got {one!r}"
            )
        found[name] = float(times)
    return found


def learn_weights(
    benchmarks: Sequence[Benchmark], vectors: CachedEmbedder, given: argparse.Namespace
) -> dict[str, Any]:
    """Fits the weights, writes their file and returns the report."""
    factors = factors_of(given.factor, benchmarks)
    found = [one for benchmark in benchmarks for one in lists(benchmark, vectors)]
    if given.off:
        found = without(found, given.off)
    sys.stderr.write(f"{len(found)} lists\n")
    fitted = Fitted.to(found, factors)
    figures = means(found, fitted.cross_fitted)
    file = WeightsFile(
        weights=KindWeights(**fitted.by_kind(found)),
        data={one.name: one.digest for one in benchmarks},
        figures=figures,
    )
    (given.out / LEARNED.name).write_text(file.text(), encoding="utf-8")
    report: dict[str, Any] = {"factors": factors, "cross_fitted": figures}
    if given.gains:
        report["gains"] = dict(gains(found, factors, figures))
    return report


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--shipped", action="store_true", help="benches/shipped too")
    parser.add_argument("--cache", type=Path, help="keeps vectors between runs")
    parser.add_argument("--factor", nargs="+", default=[], metavar="NAME=TIMES")
    parser.add_argument("--leave-out", nargs="+", default=[], metavar="CATEGORY")
    parser.add_argument("--off", nargs="+", default=[], metavar="TERM", help="not offered")
    parser.add_argument("--gains", action="store_true", help="what each term brings")
    parser.add_argument("--out", type=Path, default=LEARNED.parent, metavar="DIR")
    given = parser.parse_args()
    if not given.folders and not given.shipped:
        parser.error("expected folders of labelled questions, or --shipped")
    if not given.out.is_dir():
        parser.error(f"--out: expected a folder that is there, got {given.out}")
    if wrong := sorted({*given.off} - set(OFFERED)):
        parser.error(f"--off: expected one of {', '.join(OFFERED)}, got {wrong[0]!r}")
    return given


def learn(
    given: argparse.Namespace,
    embedder: Callable[[], CachedEmbedder] | None = None,
) -> dict[str, Any]:
    """Reads the folders, fits weights, then confidence and score; the report."""
    try:
        benchmarks = [read_benchmark(folder) for folder in given.folders]
        if given.shipped:
            benchmarks.append(read_benchmark(SHIPPED))
        benchmarks = [without_categories(one, given.leave_out) for one in benchmarks]
    except ValidationError as error:
        raise SystemExit(str(error)) from error
    vectors = cached_embedder(BuiltinEmbedder(), given.cache) if embedder is None else embedder()
    report = learn_weights(benchmarks, vectors, given)
    weights = WeightsFile.read(given.out / LEARNED.name).weights
    return report | {"confidence": learn_confidence(benchmarks, vectors, weights, given.out)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(learn(_arguments()), indent=1) + "\n")
