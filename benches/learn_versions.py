"""When the later of two memories that the version reader read takes the place of the earlier one,
from labelled questions.

    python benches/learn_versions.py FOLDER … --cache CACHE --out python/vestig/data

An example is a pair of results of a question about now that a recall lets the version reader read:
the later one takes its place where the labels call the earlier one outdated and the later one not
less true. Each question counts twice: with all of its results, and with those that the labels name
and a few others, as in a small store. The least sum is the smallest of a few by which no set loses
more than half a point of hit@1, each set judged by weights that have not seen the conversation.
Prints, by set, hit@1 and how often a right memory stands above all outdated ones, before and after.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np

from benchmark_store import BenchmarkStore
from benchmarks.confidence import ANSWERABLE, Case
from benchmarks.reader import Benchmark, Query, read_benchmark
from benchmarks.run import CachedEmbedder, cached_embedder
from learn_confidence import DIGITS
from learning import FOLDS, Values, rounded
from logistic import fit_logistic, logistic
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.language.words import asks_for_all
from vestig.ports import ScanRow
from vestig.recall.judged import compared
from vestig.recall.query import BoundQuery
from vestig.recall.unread import read_when_known
from vestig.recall.versions import FIT, ROWS_MOVED, asks_about_now, pairs_to_read
from vestig.store.projection.scan_objects import VERSION_SIGNALS
from vestig.store.projection.scan_objects import Filter as CoreFilter
from vestig.store.records.memory_queries import unconfirmed
from vestig.store.records.reads import LedgerView

RIDGE: Final = 1e-4
# From which probability on the later one takes the place, tried.
LEAST: Final = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7)
# Of a pair by which no place of a right memory is won or lost.
UNDECIDED: Final = 0.25
# Of the pairs of a few results, and so many at most beside those that the labels name.
FEW, FEW_OTHERS = 0.5, 3
LOSS_MAX: Final = 0.5
# Questions of a set, about.
MOST: Final = 1_000
_SETTINGS: Final = {"judge.budget_ms": 1e6, "ranking.newer_first": False}

# (place of the earlier, place of the later) → signals
Pairs = dict[tuple[int, int], list[float]]


class AboutNow(NamedTuple):
    """A question about now, and of each of its results, best first, the unit that it holds, and if
    it answers (`right`) or answered once (`outdated`)."""

    query: Query
    bound: BoundQuery
    rows: Sequence[ScanRow]
    units: list[str]
    right: list[bool]
    outdated: list[bool]


@dataclass(frozen=True, kw_only=True)
class Example:
    """One question.

    Attributes:
        right: of each result, best first, if it answers; `outdated`: if it answered.
        later: pairs of which the one behind is the later one.
        pairs: those of all results that were read; `few`: those of a few.
    """

    set: str
    fold: int
    right: Sequence[bool]
    outdated: Sequence[bool]
    later: frozenset[tuple[int, int]]
    pairs: Pairs
    few: Pairs

    def label(self, pair: tuple[int, int]) -> tuple[float, float]:
        """Whether the later one takes the place of the earlier one, and what that counts."""
        older, newer = pair
        takes = self.outdated[older] and (self.right[newer] or self.outdated[newer])
        loses = self.right[older] and not self.right[newer]
        return float(takes), 1.0 if takes or loses else UNDECIDED

    def order(self, chances: Mapping[tuple[int, int], float], least: float) -> list[int]:
        """Places of the results with the newest of several versions first among theirs."""
        order = list(range(len(self.right)))
        grouped = set[int]()

        def newest(one: int, other: int) -> int:
            low, high = min(one, other), max(one, other)
            later = high if (low, high) in self.later else low
            return -1 if later == one else 1

        for older in range(len(order)):
            if older in grouped:
                continue
            later = [
                newer
                for newer in range(older + 1, len(order))
                if newer not in grouped and chances.get((older, newer), 0.0) >= least
            ]
            if later:
                group = [older, *later]
                grouped.update(group)
                for place, row in zip(group, sorted(group, key=cmp_to_key(newest)), strict=True):
                    order[place] = row
        return order


def about_now(
    benchmark: Benchmark, vectors: CachedEmbedder, most: int = MOST
) -> Iterator[AboutNow]:
    """Questions that have an answer and ask about now, of about so many of a set; all of those of
    which something is outdated are among them."""
    every = -(-len(benchmark.queries) // most)
    chosen = [
        query
        for number, query in enumerate(benchmark.queries)
        if number % every == 0 or query.outdated
    ]
    benchmark = msgspec.structs.replace(benchmark, queries=tuple(chosen))
    with BenchmarkStore([benchmark], vectors, _SETTINGS) as store:
        stored = store.stored[benchmark.name]
        asked = [
            Case(population=ANSWERABLE, query=query, conversation=query.conversation)
            for query in benchmark.queries
        ]
        asked.sort(key=lambda case: repr(case.fields(stored)))
        for _, case, bound, ranked in store.ranked_cases(
            asked, stored, limit=ROWS_MOVED, judges=True
        ):
            query = case.query
            if not asks_about_now(query.text, bool(bound.query.windows)):
                continue
            rows = ranked.rows[:ROWS_MOVED]
            units = [frozenset(stored.units_of[row.memory_id]) for row in rows]
            right = [not own.isdisjoint(query.relevant) for own in units]
            outdated = [
                not own.isdisjoint(query.outdated) and not is_right
                for own, is_right in zip(units, right, strict=True)
            ]
            first = [min(own) for own in units]
            yield AboutNow(query, bound, rows, first, right, outdated)


def example(name: str, fold: int, one: AboutNow) -> Example:
    """One question with the pairs that a recall lets the version reader read."""
    bound, rows = one.bound, one.rows
    known = {} if bound.query.judgements is None else bound.query.judgements.known
    session, at_us = bound.session, bound.request.moments.query_time_us
    core, filter = session.keeper.core, CoreFilter(**bound.filter())
    judge = bound.query.config.settings.judge
    labelled = [at for at in range(len(rows)) if one.right[at] or one.outdated[at]]
    others = [at for at in range(len(rows)) if at not in labelled]
    drawn = random.Random(one.query.text)
    few = sorted([*labelled, *drawn.sample(others, min(len(others), drawn.randint(0, FEW_OTHERS)))])

    def read(view: LedgerView, places: Sequence[int]) -> tuple[frozenset[tuple[int, int]], Pairs]:
        ids = [rows[at].id for at in places]
        of_models = unconfirmed(view, bound.request.namespace, ids)
        placed = [
            (id, 0.0, known[id].answers if id in known else None, id in of_models, None)
            for id in ids
        ]
        by_place = core.version_pairs(view.seq, placed, at_us)
        # where several things are asked for nothing is moved
        several = asks_for_all(one.query.text)
        pairs = [] if several else pairs_to_read(by_place, placed, known)
        texts = [(rows[places[older]], rows[places[newer]]) for older, newer in pairs]
        again = BoundQuery(session, view, bound.query)
        logits = compared(again, judge, one.query.text, texts)
        together = [
            (*pair, logit) for pair, logit in zip(pairs, logits, strict=True) if logit is not None
        ]
        signals = core.version_signals(view.seq, filter, placed, together, at_us)
        return frozenset(by_place), {
            (places[older], places[newer]): own for older, newer, own in signals
        }

    later, pairs = read_when_known(session, lambda view: read(view, range(len(rows))))
    _, of_few = read_when_known(session, lambda view: read(view, few))
    return Example(
        set=name,
        fold=fold,
        right=one.right,
        outdated=one.outdated,
        later=later,
        pairs=pairs,
        few=of_few,
    )


def examples(benchmark: Benchmark, vectors: CachedEmbedder) -> Iterator[Example]:
    """The questions of a set that ask about now; each conversation is in one fold."""
    names = sorted({query.conversation or "" for query in benchmark.queries})
    for number, one in enumerate(about_now(benchmark, vectors)):
        place = names.index(one.query.conversation or "") if names[1:] else number
        yield example(benchmark.name, place % FOLDS, one)


def fitted(found: Sequence[Example]) -> tuple[Values, float]:
    """Weights of the signals, and a constant."""
    rows = [
        (signals, *one.label(pair), part)
        for one in found
        for part, pairs in ((1.0, one.pairs), (FEW, one.few))
        for pair, signals in pairs.items()
    ]
    x = np.array([signals for signals, *_ in rows])
    y = np.array([takes for _, takes, _, _ in rows])
    counts = np.array([count * part for _, _, count, part in rows])
    return fit_logistic(x, y, counts, RIDGE)


def chances(one: Example, fit: tuple[Values, float]) -> dict[tuple[int, int], float]:
    """The probability of each pair."""
    weights, constant = fit
    return {
        pair: float(logistic(np.array([signals]) @ weights + constant)[0])
        for pair, signals in one.pairs.items()
    }


def figures(
    found: Sequence[Example], known: Sequence[Mapping[tuple[int, int], float]], least: float
) -> dict[str, float]:
    """hit@1, and how often a right result stands above all outdated ones, in percent."""
    first, above = [], []
    for one, own in zip(found, known, strict=True):
        order = one.order(own, least)
        first.append(bool(order) and one.right[order[0]])
        if any(one.outdated):
            best = next((place for place, row in enumerate(order) if one.right[row]), None)
            above.append(best is not None and not any(one.outdated[row] for row in order[:best]))
    shown = {"hit@1": 100 * float(np.mean(first))}
    if above:
        shown["newest first"] = 100 * float(np.mean(above))
    return {name: round(value, 1) for name, value in shown.items()}


def least_of(tried: Mapping[float, dict[str, dict[str, float]]]) -> float:
    """The smallest probability by which no set loses more than `LOSS_MAX` of hit@1 against none
    moved, which is that of infinity.

    Raises:
        SystemExit: there is none.

    Example:
        >>> none = {"a": {"hit@1": 50.0}}
        >>> least_of({math.inf: none, 0.2: {"a": {"hit@1": 49.0}}, 0.3: {"a": {"hit@1": 49.5}}})
        0.3
    """
    before = tried[math.inf]
    for least, after in tried.items():
        loses = (after[name]["hit@1"] < before[name]["hit@1"] - LOSS_MAX for name in before)
        if math.isfinite(least) and not any(loses):
            return least
    raise SystemExit("every least probability loses hit@1 of a set")


def main() -> None:
    """Reads the folders, writes `versions.json` and prints the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    vectors = cached_embedder(BuiltinEmbedder(), asked.cache)
    benchmarks = [read_benchmark(str(folder)) for folder in asked.folders]
    found = [one for each in benchmarks for one in examples(each, vectors)]
    fits = [fitted([one for one in found if one.fold != fold]) for fold in range(FOLDS)]
    known = [chances(one, fits[one.fold]) for one in found]
    by_set = {
        name: [n for n, one in enumerate(found) if one.set == name]
        for name in dict.fromkeys(one.set for one in found)
    }
    tried = {
        least: {
            name: figures([found[n] for n in own], [known[n] for n in own], least)
            for name, own in by_set.items()
        }
        for least in (math.inf, *LEAST)
    }
    print(json.dumps({str(least): after for least, after in tried.items()}))
    least = least_of(tried)
    weights, constant = fitted(found)
    document = {
        "weights": dict(zip(VERSION_SIGNALS, rounded(weights, DIGITS).tolist(), strict=True)),
        "least": round(math.log(least / (1 - least)) - constant, DIGITS),
        "data": {one.name: one.digest for one in benchmarks},
        "figures": {
            name: {"before": tried[math.inf][name], "after": tried[least][name]} for name in by_set
        },
    }
    (asked.out / FIT.name).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
