"""Learns the weights of the `default` profile from labelled folders.

    python benches/learn.py FOLDER… [--shipped] [--cache DIR] [--factor NAME=TIMES …]
        [--leave-out CATEGORY …] [--off TERM …] [--late ORIGIN …] [--every N] [--gains]
        [--out FILE]

FOLDER holds `corpus.jsonl` and `queries.jsonl` (`.gz` too), as for `vestig eval`; `--shipped` adds
the benchmark that comes with the package. Each set is imported as a user would do it, alone and
together with others in one store without scopes; the core computes every term.

First the weights of each origin, from the rows of that origin alone; where word pieces, walks,
pairs or titles tell something, weights of a sum that chooses candidates, then weights that rank
those. Then, on lists in which several origins compete (the common store, and sets that hold
several), the biases and the evidence that put them on one scale. A ranking chooses where walks
begin: a part of the questions is run ranked by cosine and words with equal weights, again ranked by
what was fitted to that, and all of them by what was fitted then.

Prints cross-fitted figures (folds by conversation, or by question where there is but one; what
puts origins on one scale is fitted to weights that have not seen the fold either) and the weights;
`--gains` also what each signal brings: its terms left out, the others fitted again. Writes the file
of weights that comes with the package, or `--out`, which `ranking.weights` takes too. The same
folders give the same weights.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from candidate_lists import (
    COMPARED,
    FIRST_SUM,
    MIXED,
    OFFERED,
    RANDOM,
    CandidateLists,
    Weights,
    in_place_of_learned,
    question_count,
)
from learning import (
    FOLDS,
    METRICS,
    UNSATURATED,
    Columns,
    Listed,
    OriginRows,
    Scale,
    Sums,
    Values,
    columns,
    fit_biases,
    fit_evidence,
    means,
    shares_of,
)
from vestig.config.signals import EVIDENCE, ORIGINS
from vestig.config.weights import LEARNED, OriginWeights, WeightsFile
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.errors import ValidationError
from vestig.evaluation.benchmarks import Benchmark, read_benchmark, without_categories
from vestig.evaluation.bootstrap import differences
from vestig.evaluation.cached_embedder import cached_embedder

# Rounds that fit what the questions of the last one are ranked by: every so many-th question of a
# set that they take.
EARLIER_ROUNDS = (6, 2)
# Questions asked of a common store, every so many-th: few numbers are fitted to them.
COMMON = 3
# What sets count beside 1, alone and where several origins compete; a name after a slash is that of
# a kind of sets.
ALONE = {"hotpot200": 0.5, "shipped": 0.25, RANDOM: 0.5}
COMPETING = {"shipped": 1.5}


# Word pieces of other origins cost more than they bring.
LATE = ("chat_peer",)
# What costs more than it brings: links between names, and keywords beside words, where word pieces
# are compared or memories are short. A document has neither a session nor an author: there the
# terms of both are constant, or repeat others.
NOT_OFFERED_TO = {
    "chat_peer": ("entity_walk", "pair", "keyword"),
    "chat_agent": ("pair",),
    "note": ("entity_walk", "pair", "title"),
    "document": ("context", "neighbours", "reply", "role", "person"),
}


class Fitted:
    """What was fitted: weights of the terms by origin, with and without each fold, and the scale.

    Args:
        alone: lists of single sets.
        competing: lists in which several origins compete.
        on: terms that take part.
    """

    def __init__(
        self,
        alone: Sequence[Listed],
        competing: Sequence[Listed],
        factors: Mapping[str, float],
        on: Values | None = None,
    ) -> None:
        own = [rows_of(origin, alone, factors) for origin in range(len(ORIGINS))]
        chosen = np.ones(len(OFFERED), bool) if on is None else on.astype(bool)

        def sums(fold: int | None) -> Sums:
            found = [fit_sums(rows, chosen, fold) for rows in own]
            weights, candidates = (np.stack(of) for of in zip(*found, strict=True))
            return Sums.of(weights, candidates, alone)

        self.sums = sums(None)
        self.folds = [sums(fold) for fold in range(FOLDS)]
        self._shares = shares_of(competing, {**COMPETING, **factors})
        self._competing = competing
        bias = fit_biases(competing, self.folds, self._shares)
        self.bias = bias + _shift([self.sums.levels(one) + bias[one.origins] for one in alone])
        evidence = fit_evidence(competing, lambda one: self._level(one, self.sums), self._shares)
        plain = Scale(self.bias, evidence)
        shift = _shift([plain.score(one, self.sums) for one in competing])
        evidence[:, 1] = np.round(evidence[:, 1] + shift, 3)
        self.scale = plain
        self.fold_scales = [
            Scale(
                self.bias,
                fit_evidence(
                    competing,
                    lambda one: self._level(one, self.folds[one.fold]),
                    self._shares,
                    fold,
                ),
            )
            for fold in range(FOLDS)
        ]

    def _level(self, one: Listed, sums: Sums) -> Values:
        return sums.levels(one) + self.bias[one.origins]

    def cross_fitted(self, one: Listed) -> Values:
        """L of the candidates of a question by weights that have not seen its fold."""
        return self.fold_scales[one.fold].score(one, self.folds[one.fold])

    def by_origin(self) -> dict[str, dict[str, float]]:
        """What the file holds."""
        found = {}
        for place, origin in enumerate(ORIGINS):
            bias, sums = float(self.bias[place]), self.sums
            own = {"bias": round(bias, 1), **named(sums.weights[place])}
            if sums.has_candidates(place):
                chooses = {"bias": round(bias + float(sums.constants[place]), 1)}
                chooses |= named(sums.candidates[place])
                own |= {f"candidate.{name}": weight for name, weight in chooses.items()}
            evidence = dict(zip(EVIDENCE, self.scale.evidence[place].tolist(), strict=True))
            found[origin] = {**own, **evidence}
        return found


def _shift(scores: Sequence[Values]) -> float:
    """What brings the best candidate of most questions below where the logistic saturates."""
    share, level = UNSATURATED
    best = [float(one.max()) for one in scores]
    return round(level - float(np.percentile(best, share)) - 0.05, 1)


def named(weights: Values) -> dict[str, float]:
    """Those that are not 0."""
    terms = dict(zip(OFFERED, weights.tolist(), strict=True))
    return {name: weight for name, weight in terms.items() if weight != 0}


def rows_of(origin: int, alone: Sequence[Listed], factors: Mapping[str, float]) -> OriginRows:
    """What the weights of an origin are fitted to."""
    return OriginRows.of(origin, alone, {**ALONE, **factors})


def offered(origin: int, on: Any) -> Any:
    """Those of these terms that are offered to an origin."""
    withheld = NOT_OFFERED_TO.get(ORIGINS[origin], ())
    return on & np.array([term.partition(".")[0] not in withheld for term in OFFERED])


def fit_sums(rows: OriginRows, on: Any, without_fold: int | None) -> tuple[Values, Values]:
    """The weights of an origin, and those that choose the rows that these rank; the same where
    every term is known before the walks begin."""
    on = offered(rows.origin, on)
    if not (on & ~FIRST_SUM & rows.block.varying).any():
        weights = rows.fit(without_fold, on)
        return weights, weights
    candidates = rows.fit(without_fold, on & ~COMPARED, FIRST_SUM)
    return rows.chosen(candidates).fit(without_fold, on), candidates


def first_weights(alone: Sequence[Listed], factors: Mapping[str, float]) -> Weights:
    """Weights of an earlier round, to ask questions with: those that choose candidates."""
    found = {}
    for place, origin in enumerate(ORIGINS):
        rows = rows_of(place, alone, factors)
        found[origin] = named(rows.fit(None, offered(place, ~COMPARED), FIRST_SUM))
    return found


def signals() -> dict[str, list[str]]:
    """Every offered signal with its terms."""
    found: dict[str, list[str]] = {}
    for term in OFFERED:
        found.setdefault(term.partition(".")[0], []).append(term)
    return found


def gains(
    alone: Sequence[Listed], fitted: Fitted, factors: Mapping[str, float], on: Values
) -> Iterator[dict[str, Any]]:
    """What each signal brings to an origin, among its rows: points with 95 % intervals and p, by
    set that it changes. Its terms are left out and the others fitted again, each fold without its
    questions; the rows that candidate weights choose stay."""
    for place, origin in enumerate(ORIGINS):
        rows = rows_of(place, alone, factors)
        own = [one.of_origin(place) for one in rows.lists]
        chosen = [
            rows.chosen(of.candidates[place]) if of.has_candidates(place) else rows
            for of in fitted.folds
        ]
        offers = offered(place, on.astype(bool))
        whole = columns(own, _refitted(fitted, chosen, offers))
        for name, terms in signals().items():
            left_out = np.isin(OFFERED, terms)
            if fitted.sums.weights[place][left_out].any():
                without = columns(own, _refitted(fitted, chosen, offers & ~left_out))
                gain = dict(_changed(whole, without))
                yield {"origin": origin, "signal": name, "gain": gain}


def _refitted(fitted: Fitted, chosen: Sequence[OriginRows], on: Any) -> Callable[[Listed], Values]:
    """Levels by weights of an origin of these terms, which have not seen the question's fold."""
    sums = [
        of.replaced(rows.origin, rows.fit(fold, on))
        for fold, (of, rows) in enumerate(zip(fitted.folds, chosen, strict=True))
    ]
    return lambda one: sums[one.fold].levels(one)


def _changed(whole: Columns, without: Columns) -> Iterator[tuple[str, Any]]:
    for name, ours in whole.items():
        found = differences(ours, without[name])
        if any(difference.delta for difference in found.values()):
            yield (
                name,
                {
                    metric: [round(100 * v, 2) for v in (d.delta, d.low, d.high)] + [round(d.p, 4)]
                    for metric, d in found.items()
                },
            )


def shown(gain: Mapping[str, Any]) -> str:
    """A line for each set, as Markdown."""
    lines = [
        f"| {gain['origin']} | {gain['signal']} | {name} | "
        + " | ".join("{:+.1f} [{:+.1f}, {:+.1f}] {:.4f}".format(*rows[m]) for m in METRICS)
        + " |"
        for name, rows in gain["gain"].items()
    ]
    return "\n".join(lines)


def factors_of(given: Sequence[str], names: set[str]) -> dict[str, float]:
    """`NAME=TIMES` of the sets of questions.

    Raises:
        SystemExit: another name, or no number of at least 0.
    """
    known = names | {MIXED + name for name in names}
    found = {}
    for one in given:
        name, _, times = one.partition("=")
        if name not in known or not re.fullmatch(r"\d*\.?\d+", times):
            raise SystemExit(
                f"--factor: expected NAME=TIMES with one of {', '.join(sorted(known))}, got {one!r}"
            )
        found[name] = float(times)
    return found


def cross_fitted(lists: Sequence[Listed], fitted: Fitted) -> dict[str, dict[str, float]]:
    """By set, the number of its questions and means of their metrics."""
    asked = Counter(one.set for one in lists)
    found = means(columns(lists, fitted.cross_fitted))
    return {name: {"questions": float(asked[name]), **rows} for name, rows in found.items()}


def report(
    benchmarks: Sequence[Benchmark], listing: CandidateLists, given: argparse.Namespace
) -> dict[str, Any]:
    """Runs the questions and fits."""
    factors = factors_of(given.factor, {one.name for one in benchmarks})
    ranked: Weights | None = None
    for every in EARLIER_ROUNDS:
        alone = listing.alone(ranked, every * given.every)
        ranked = first_weights(alone, factors)
    sys.stderr.write("earlier rounds fitted\n")
    alone = listing.alone(ranked, given.every)
    mixed = listing.mixed(ranked, COMMON * given.every)
    sys.stderr.write(f"{len(alone)} lists of single sets and {len(mixed)} of the common store\n")
    competing = [*mixed, *(one for one in alone if len(set(one.origins.tolist())) > 1)]
    on = (~np.isin(OFFERED, given.off)).astype(float)
    fitted = Fitted(alone, competing, factors, on)
    found: dict[str, Any] = {
        "questions": question_count(benchmarks, given.every),
        "factors": factors,
        "cross_fitted": cross_fitted([*alone, *mixed], fitted),
        "weights": fitted.by_origin(),
    }
    if given.gains:
        found["gains"] = []
        head = ["origin", "signal", "set", *METRICS]
        sys.stderr.write(f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n")
        for gain in gains(alone, fitted, factors, on):
            found["gains"].append(gain)
            sys.stderr.write(shown(gain) + "\n")
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--shipped", action="store_true", help="the benchmark of the package too")
    parser.add_argument("--cache", type=Path, help="keeps vectors between runs")
    parser.add_argument("--factor", nargs="+", default=[], metavar="NAME=TIMES")
    parser.add_argument("--leave-out", nargs="+", default=[], metavar="CATEGORY")
    parser.add_argument("--off", nargs="+", default=[], metavar="TERM", help="not offered to any")
    parser.add_argument(
        "--late",
        nargs="*",
        choices=ORIGINS,
        default=LATE,
        metavar="ORIGIN",
        help="origins that late interaction is offered to",
    )
    parser.add_argument("--every", type=int, default=1, help="only every so many-th question")
    parser.add_argument("--gains", action="store_true")
    parser.add_argument("--out", type=Path, default=LEARNED)
    given = parser.parse_args()
    if not given.folders and not given.shipped:
        parser.error("expected folders of labelled questions, or --shipped")
    if given.every < 1:
        parser.error(f"--every: expected at least 1, got {given.every}")
    if not given.out.parent.is_dir():
        parser.error(f"--out: expected a file in a folder that is there, got {given.out}")
    if wrong := sorted({*given.off} - set(OFFERED)):
        parser.error(f"--off: expected one of {', '.join(OFFERED)}, got {wrong[0]!r}")
    return given


def main() -> None:
    """Runs the questions, fits, writes the file and prints the report."""
    given = _arguments()
    try:
        benchmarks = [read_benchmark(folder) for folder in given.folders]
    except ValidationError as error:
        raise SystemExit(str(error)) from error
    if given.shipped:
        with resources.as_file(resources.files("vestig").joinpath("data/benchmark")) as folder:
            benchmarks.append(read_benchmark(folder))
    benchmarks = [without_categories(one, given.leave_out) for one in benchmarks]
    listing = CandidateLists(
        benchmarks, cached_embedder(BuiltinEmbedder(), given.cache), given.late
    )
    found = report(benchmarks, listing, given)
    weights = found["weights"]
    if given.out.resolve() != LEARNED:
        weights = in_place_of_learned(weights)
    file = WeightsFile(
        origins=OriginWeights(**weights),
        data={name: one["sha256"] for name, one in found["questions"].items()},
        figures=found["cross_fitted"],
    )
    given.out.write_text(file.text(), encoding="utf-8")
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
