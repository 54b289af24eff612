"""Learns the weights of all origins in one listwise fit, on one scale (Q-03, Q-06).

    python benches/learn_together.py FOLDER… [--shipped] [--cache DIR] [--count NAME=TIMES …]
        [--every N] [--leave-out CATEGORY …] [--out FILE]

Each folder (and with `--shipped` the benchmark that comes with the package, whose memories are of
three origins) is imported as a user would do it, and the core tells every term that weighs
something in the `default` profile. One softmax goes over all candidates of a question, whatever
their origin: weights and biases of `chat_peer`, `chat_agent` and of documents with notes come out
together. Folders count alike, or `--count` times as much. Prints cross-fitted figures (folds by
conversation, or by question where there are fewer than five), then weights and biases; the biases
are shifted together, which changes no order (R-12).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asked import AskedStore, by_id
from learning import CANDIDATES, FOLDS, PENALTY, Batch, Values, rounded
from vestig.config.signals import ORIGINS, SIGNALS, WEIGHTS
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.evaluation.benchmarks import Benchmark, read_benchmark, without_categories
from vestig.evaluation.metrics import score
from vestig.evaluation.vectors import RememberingEmbedder, remembering

GROUPS = ("chat_peer", "chat_agent", "note")  # documents weigh what notes do
PENALTY_BIAS = 1e-5
BIAS_SHIFT = -13.0
METRICS = ("recall@10", "recall@5", "mrr", "ndcg@5")
PLACE = {name: place for place, name in enumerate(SIGNALS)}
# Column after column: the terms of a group, then a constant for each group.
COLUMNS = [(g, term) for g in range(3) for term in WEIGHTS[GROUPS[g]] if term != "bias"]
WIDTH = len(COLUMNS) + len(GROUPS)


@dataclass(frozen=True)
class Listed:
    """The candidates of a question: a row each of `design`, the units it holds, relevant or not."""

    set: str
    fold: int
    design: Values
    units: Sequence[tuple[str, ...]]
    relevant: frozenset[str]

    @property
    def relevant_rows(self) -> Values:
        """1 for those that hold a relevant unit."""
        return np.array([float(not self.relevant.isdisjoint(one)) for one in self.units])


def _design(normalised: Values, origins: Sequence[int]) -> Values:
    made = np.zeros((len(origins), WIDTH))
    group = np.minimum(origins, 2)
    for at, (own, term) in enumerate(COLUMNS):
        rows = group == own
        made[rows, at] = normalised[rows, PLACE[term]]
    made[np.arange(len(group)), len(COLUMNS) + group] = 1
    return made


def _best(terms: Values) -> NDArray[np.bool_]:
    """Those that the fit sees: the best by cosine with words, by cosine, and by the entity walk."""
    cosine, lexical = terms[:, PLACE["cosine"]], terms[:, PLACE["lexical"]]
    chosen = np.zeros(len(terms), bool)
    for key in (cosine + lexical, cosine, terms[:, PLACE["entity_walk"]]):
        chosen[np.argsort(-key, kind="stable")[:CANDIDATES]] = True
    return chosen


def asked(benchmark: Benchmark, vectors: RememberingEmbedder, every: int) -> list[Listed]:
    """Every so many-th question of a benchmark with its candidates."""
    settings = {
        f"m5.signals.weights.{origin}.{term}": 1e-9
        for origin in ORIGINS
        for term in ("cosine", "lexical", "entity_walk")
        if term not in WEIGHTS[origin]
    }
    conversations = sorted({query.conversation or "" for query in benchmark.queries})
    found = []
    with AskedStore([benchmark], vectors, settings) as store:
        held, memories = store.held[benchmark.name], store.memories
        config = store.config({})
        for number, query in enumerate(benchmark.queries):
            if number % every:
                continue
            own = memories[query.conversation]
            told = by_id(
                store.scan(query.text, config, [m.id for m in own], **store.case(benchmark, query))
            )
            rows = [memory for memory in own if memory.id in told]
            terms = np.array(
                [[value or 0.0 for _, value in told[memory.id].signals] for memory in rows]
            )
            units = [held.units_of[memory.id] for memory in rows]
            relevant = frozenset(query.relevant)
            chosen = np.flatnonzero(_best(terms) | [bool(relevant & set(one)) for one in units])
            origins = [ORIGINS.index(str(rows[at].origin_type)) for at in chosen]
            many = len(conversations) >= FOLDS
            fold = conversations.index(query.conversation or "") if many else len(found)
            found.append(
                Listed(
                    benchmark.name, fold % FOLDS, _design(terms[chosen], origins),
                    [units[at] for at in chosen], relevant,
                )
            )  # fmt: skip
    return found


def fit(lists: Sequence[Listed], counts: dict[str, float]) -> Values:
    """Weights of `COLUMNS`, then the biases."""
    seen = [one for one in lists if one.relevant_rows.any()]
    size = Counter(one.set for one in seen)
    count = np.array([counts.get(one.set, 1.0) / size[one.set] for one in seen])
    rows = np.concatenate([one.design for one in seen])
    spread = np.ones(WIDTH)
    for at, (group, _) in enumerate(COLUMNS):
        own = rows[rows[:, len(COLUMNS) + group] == 1, at]
        spread[at] = own.std() if own.size else 0.0
    penalty = np.where(np.arange(WIDTH) < len(COLUMNS), PENALTY, PENALTY_BIAS)
    batch = Batch(
        [one.design for one in seen],
        [one.relevant_rows for one in seen],
        count / count.sum(),
        spread,
    )
    return batch.fit(penalty=penalty)


def figures(lists: Sequence[Listed], weights: Sequence[Values]) -> dict[str, dict[str, float]]:
    """Mean metrics by set in per cent; `weights` by fold."""
    found: dict[str, list[list[float]]] = {}
    for one in lists:
        order = np.argsort(-(one.design @ weights[one.fold]), kind="stable")
        units = list(dict.fromkeys(unit for row in order for unit in one.units[row]))
        scores = score(units, one.relevant)
        found.setdefault(one.set, []).append([100 * scores[name] for name in METRICS])
    return {
        name: dict(zip(METRICS, np.mean(rows, axis=0).round(1), strict=True))
        for name, rows in found.items()
    }


def as_settings(weights: Values) -> dict[str, dict[str, float]]:
    """By group: bias, then what its terms weigh, three digits."""
    digits = rounded(weights[: len(COLUMNS)])
    found: dict[str, dict[str, float]] = {
        name: {"bias": round(float(weights[len(COLUMNS) + at]) + BIAS_SHIFT, 1)}
        for at, name in enumerate(GROUPS)
    }
    for (group, term), weight in zip(COLUMNS, digits, strict=True):
        found[GROUPS[group]][term] = float(weight)
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--shipped", action="store_true", help="the benchmark of the package too")
    parser.add_argument("--cache", type=Path, help="keeps vectors between runs")
    parser.add_argument("--count", nargs="*", default=[], metavar="NAME=TIMES")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th question")
    parser.add_argument("--leave-out", nargs="*", default=[], metavar="CATEGORY")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if not given.folders and not given.shipped:
        parser.error("expected folders of labelled questions, or --shipped")
    return given


def main() -> None:
    """Asks, fits and prints."""
    given = _arguments()
    counts = {name: float(times) for name, _, times in (one.partition("=") for one in given.count)}
    vectors = remembering(BuiltinEmbedder(), given.cache)
    benchmarks = [read_benchmark(folder) for folder in given.folders]
    if given.shipped:
        with resources.as_file(resources.files("vestig").joinpath("data/benchmark")) as folder:
            benchmarks.append(read_benchmark(folder))
    lists: list[Listed] = []
    for benchmark in benchmarks:
        lists += asked(without_categories(benchmark, given.leave_out), vectors, given.every)
        sys.stderr.write(f"{benchmark.name}: asked\n")
    folds = [fit([one for one in lists if one.fold != fold], counts) for fold in range(FOLDS)]
    told: dict[str, Any] = {"cross_fitted": figures(lists, folds)}
    told["weights"] = as_settings(fit(lists, counts))
    told["data"] = {benchmark.name: benchmark.digest for benchmark in benchmarks}
    text = json.dumps(told, indent=1)
    sys.stdout.write(text + "\n")
    if given.out is not None:
        given.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
