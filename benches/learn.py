"""Learns the weights of the `default` profile from labelled folders (Q-06).

    python benches/learn.py FOLDER… [--cache DIR] [--on NAME …] [--off NAME …] [--default]
        [--no-late] [--leave-out CATEGORY …] [--eliminate] [--out FILE]

FOLDER holds `corpus.jsonl` and `queries.jsonl` (`.gz` too), as for `vestig eval`. Folders whose
memories have one origin type are learned from together. Prints cross-fitted figures beside plain
cosine, BM25 and hybrid, then the weights as configuration; `--out` keeps everything as JSON. The
same folders give the same weights. `--on` and `--off` name signals or parts of them (`context`,
`late.idf`), `--default` learns those that weigh something in the `default` profile, by origin;
`--eliminate` takes signals away one by one (Q-03).

Each origin's weights stand on a scale of their own; `learn_together.py` fits all origins on one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning import (
    Question,
    Values,
    calibrated,
    candidates,
    cross_fitted,
    held_out,
    learn,
    rounded,
    stages,
    without_set,
)
from signal_source import TERMS, questions
from vestig.config.signals import WEIGHTS
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.evaluation.benchmarks import Benchmark, read_benchmark, without_categories
from vestig.evaluation.metrics import DEPTH, score
from vestig.evaluation.peers import PEERS, parameters_for, peer_rankings
from vestig.evaluation.resampling import differences, estimates
from vestig.evaluation.vectors import RememberingEmbedder, remembering

METRICS = ("recall@10", "recall@5", "mrr")
# A signal is off when no set loses more, in points.
LOSS_MAX = 0.3
Columns = dict[str, list[float]]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Origin:
    """All questions about memories of one origin, set by set, and how peers do on them."""

    name: str
    questions: list[Question]
    peers: dict[str, dict[str, Columns]]

    @property
    def sets(self) -> list[str]:
        return list(dict.fromkeys(question.set for question in self.questions))

    def columns(self, rankings: Sequence[Sequence[str]]) -> dict[str, Columns]:
        """By set: metric → one value per question."""
        found: dict[str, Columns] = {name: {m: [] for m in METRICS} for name in self.sets}
        for question, ranked in zip(self.questions, rankings, strict=True):
            values = score(ranked, question.relevant)
            for metric in METRICS:
                found[question.set][metric].append(values[metric])
        return found


def peers(benchmark: Benchmark, vectors: RememberingEmbedder, origin: str) -> dict[str, Columns]:
    """Plain cosine, BM25 and hybrid."""
    found: dict[str, Columns] = {name: {m: [] for m in METRICS} for name in PEERS}
    for query, rankings in peer_rankings(benchmark, vectors, parameters_for(origin)):
        for name, ranked in rankings.items():
            values = score(ranked, query.relevant)
            for metric in METRICS:
                found[name][metric].append(values[metric])
    return found


def means(columns: Columns) -> dict[str, float]:
    return {metric: 100 * float(np.mean(values)) for metric, values in columns.items()}


def shown(columns: Columns, against: Columns | None = None) -> str:
    """Points with 95 % intervals; against others, p of the difference."""
    parts = []
    for metric, one in estimates(columns).items():
        assert one.mean is not None
        parts.append(f"{metric} {100 * one.mean:5.1f} [{100 * one.low:.1f}, {100 * one.high:.1f}]")
    if against is not None:
        for metric, difference in differences(columns, against).items():
            parts.append(f"{metric} {100 * difference.delta:+.1f} (p {difference.p:.4f})")
    return "  ".join(parts)


def fitted(origin: Origin, on: Mask) -> dict[str, Columns]:
    """Cross-fitted figures by set."""
    splits = held_out(origin.questions)
    return origin.columns(cross_fitted(TERMS, origin.questions, on, splits, DEPTH))


def worst(before: dict[str, Columns], now: dict[str, Columns]) -> float:
    """The largest loss of any set in any metric, in points."""
    return max(
        means(before[name])[metric] - means(now[name])[metric]
        for name in before
        for metric in METRICS
    )


def eliminated(origin: Origin, on: Mask, say: Callable[[str], None]) -> tuple[Mask, list[Any]]:
    """Backward elimination (Q-03): weights refitted without each term that is on; then terms go
    one by one, the least missed first, while nothing is missed by more than `LOSS_MAX`."""
    now = fitted(origin, on)
    losses: list[tuple[float, int]] = []
    table = []
    for at in np.flatnonzero(on):
        without = fitted(origin, on & (np.arange(len(on)) != at))
        losses.append((worst(now, without), int(at)))
        change = {
            name: {m: means(without[name])[m] - means(now[name])[m] for m in METRICS}
            for name in now
        }
        table.append({"without": TERMS.all[at], "change": change})
        parts = (f"{n} " + " ".join(f"{v:+.2f}" for v in c.values()) for n, c in change.items())
        say(f"    without {TERMS.all[at]:<24} {'  '.join(parts)}")
    for _, at in sorted(losses):
        without = fitted(origin, on & (np.arange(len(on)) != at))
        if worst(now, without) <= LOSS_MAX:
            on, now = on & (np.arange(len(on)) != at), without
            say(f"    off: {TERMS.all[at]}")
    return on, table


def scaled(origin: Origin, weights: Values) -> tuple[Values, float]:
    """Weights and bias on the scale on which 1/(1 + e^−L) is the share of relevant candidates:
    the scale that origins have in common."""
    levels, wanted = [], []
    for question in origin.questions:
        rows, relevant = candidates(TERMS, question)
        levels.append(stages(TERMS, question, weights)[1][rows])
        wanted.append(relevant)
    slope, bias = calibrated(levels, wanted)
    return rounded(weights * slope), float(rounded(np.array([bias]))[0])


def measured(origin: Origin, on: Mask, say: Callable[[str], None]) -> dict[str, Any]:
    """Figures and weights of one origin."""
    on = on & np.array([_varies(origin, at) for at in range(len(on))])
    found = fitted(origin, on)
    left_out = cross_fitted(TERMS, origin.questions, on, without_set(origin.questions), DEPTH)
    whole = origin.columns(left_out) if all(left_out) else {}
    for name in origin.sets:
        for peer, columns in origin.peers[name].items():
            say(f"  {name} {peer:<12} {shown(columns)}")
        say(f"  {name} cross-fitted {shown(found[name], origin.peers[name]['hybrid'])}")
        if name in whole:
            say(f"  {name} set left out {shown(whole[name])}")
    weights, bias = scaled(origin, learn(TERMS, origin.questions, on))
    chosen = {name: float(weights[at]) for at, name in enumerate(TERMS.all) if weights[at]}
    return {
        "weights": {"bias": bias, **chosen},
        "cross_fitted": {name: means(columns) for name, columns in found.items()},
        "set_left_out": {name: means(columns) for name, columns in whole.items()},
        "peers": {
            name: {peer: means(columns) for peer, columns in rows.items()}
            for name, rows in origin.peers.items()
        },
    }


def _varies(origin: Origin, at: int) -> bool:
    """Whether a term of the first stage is ever anything but 0; later ones are taken as given."""
    if at >= len(TERMS.first):
        late = at >= len(TERMS.first) + len(TERMS.after)
        return not late or all(question.late is not None for question in origin.questions)
    return any(question.first[:, at].any() for question in origin.questions)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="weights from labelled folders")
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--cache", type=Path, default=None, help="keeps vectors between runs")
    parser.add_argument("--on", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument("--off", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--default", action="store_true", help="what the default profile uses")
    parser.add_argument("--late", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--leave-out", nargs="+", default=[], metavar="CATEGORY")
    parser.add_argument("--eliminate", action="store_true")
    parser.add_argument("--out", type=Path, default=None)
    return parser.parse_args()


def learned(
    options: argparse.Namespace, benchmarks: Sequence[Benchmark], vectors: RememberingEmbedder
) -> dict[str, Any]:
    """Weights and figures by origin."""
    by_origin: dict[str, Origin] = {}
    for benchmark in benchmarks:
        print(f"{benchmark.name}: {len(benchmark.queries)} questions", file=sys.stderr)
        asked = questions(benchmark, vectors, late=options.late)
        name = asked[0].origin
        origin = by_origin.setdefault(name, Origin(name, [], {}))
        origin.questions.extend(asked)
        origin.peers[benchmark.name] = peers(benchmark, vectors, name)
    found = {}
    for name, origin in sorted(by_origin.items()):
        print(f"{name}:")
        chosen, table = _on(options, name), []
        if options.eliminate:
            chosen = chosen & np.array([_varies(origin, at) for at in range(len(chosen))])
            chosen, table = eliminated(origin, chosen, print)
        found[name] = {**measured(origin, chosen, print), "elimination": table}
        print(f"  weights: {json.dumps(found[name]['weights'])}", flush=True)
    return found


def _on(options: argparse.Namespace, origin: str) -> Mask:
    """Which terms are learned."""
    on = TERMS.chosen(options.off)
    if options.on:
        on &= ~TERMS.chosen(options.on)
    if options.default:
        on &= np.array([WEIGHTS[origin].get(name, 0.0) != 0 for name in TERMS.all])
    return on


def main() -> int:
    options = arguments()
    vectors = remembering(BuiltinEmbedder(), options.cache)
    benchmarks = [
        without_categories(read_benchmark(folder), options.leave_out) for folder in options.folder
    ]
    report: dict[str, Any] = {"data": {one.name: one.digest for one in benchmarks}, "origins": {}}
    report["origins"] = learned(options, benchmarks, vectors)
    if options.out is not None:
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
