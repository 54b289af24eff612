"""Learns the weights of the `default` profile from labelled folders, of all origins in one fit.

    python benches/learn.py FOLDER… [--shipped] [--mixed] [--cache DIR] [--count NAME=TIMES …]
        [--on GROUP.TERM …] [--off GROUP.TERM …] [--leave-out CATEGORY …] [--every N]
        [--gains] [--out FILE]

FOLDER holds `corpus.jsonl` and `queries.jsonl` (`.gz` too), as for `vestig eval`; `--shipped` adds
the benchmark that comes with the package. Each set is imported as a user would do it, alone and,
with `--mixed`, together with all others in one store without scopes; the core computes every term.
One softmax goes over all candidates of a question, whatever their origin: weights and biases of
`chat_peer`, `chat_agent` and `note` (documents weigh what notes do) come out together.

Each question is run twice: ranked by cosine and words with equal weights, then by what was
fitted to that, since a ranking chooses where walks begin and what late interaction compares. Sets
count alike, or `--count` times as much (`mixed/NAME` for their questions in the common store).
Terms are those that weigh something by default, with `--on`, without `--off`.

Prints cross-fitted figures (folds by conversation, or by question where there are fewer than five)
and the weights; `--gains` also what each signal brings: its weights left out, the others fitted
again. Writes the file of weights that comes with the package, or `--out`, which `ranking.weights`
takes too. The same folders give the same weights.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from benchmark_store import check_named_once
from candidate_lists import MIXED, CandidateLists, Weights, question_count
from learning import (
    FOLDS,
    GROUPS,
    METRICS,
    Batch,
    Columns,
    Form,
    Listed,
    Values,
    columns,
    cross_fitted,
    grouped,
    means,
)
from vestig.config.signals import ORIGINS, SIGNALS
from vestig.config.weights import LEARNED, OriginWeights, WeightsFile, learned
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.errors import ValidationError
from vestig.evaluation.benchmarks import Benchmark, read_benchmark, without_categories
from vestig.evaluation.bootstrap import differences
from vestig.evaluation.cached_embedder import CachedEmbedder, cached_embedder

# Questions of a set of which the first of both rounds takes every so many-th.
FIRST_ROUND = 3
# Candidates of a question among which a signal's gain is looked for.
GAIN_CANDIDATES = 120


def form_of(on: Sequence[str], off: Sequence[str]) -> Form:
    """The terms of the default profile, more and less; names are `group.term`."""
    terms = {
        group: {t for t in learned()[group] if t != "bias" and f"{group}.{t}" not in off}
        for group in GROUPS
    }
    for name in on:
        group, _, term = name.partition(".")
        terms[group].add(term)
    return Form.of(terms)


def weights_file(weights: Weights) -> WeightsFile:
    """The file of the package from what was fitted: documents weigh what notes do."""
    by_origin = {
        origin: dict(weights[GROUPS[group]])
        for origin, group in zip(ORIGINS, grouped(ORIGINS), strict=True)
    }
    return WeightsFile(origins=OriginWeights(**by_origin))


def signals(form: Form) -> list[tuple[str, list[str]]]:
    """(group and signal, its terms as `group.term`), in the order of the form."""
    found: dict[str, list[str]] = {}
    for group, term in form.columns:
        signal = f"{GROUPS[group]}.{term.partition('.')[0]}"
        found.setdefault(signal, []).append(f"{GROUPS[group]}.{term}")
    return list(found.items())


def gains(
    form: Form, lists: Sequence[Listed], counts: Mapping[str, float], folds: Sequence[Values]
) -> Iterator[Any]:
    """What each signal brings, in points with 95 % intervals and p, by set that it changes; among
    the best candidates by all signals."""
    near = [one.best(folds[one.fold], GAIN_CANDIDATES) for one in lists]
    batch = Batch(form, near, counts)
    whole = columns(near, cross_fitted(batch, starts=folds))
    for name, terms in signals(form):
        without = columns(near, cross_fitted(batch, form.on(terms), folds))
        yield {"signal": name, "terms": terms, "gain": dict(_changed(whole, without))}


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


def shown(gain: Any) -> str:
    """A line for each set, as Markdown."""
    lines = [
        f"| {gain['signal']} | {name} | "
        + " | ".join("{:+.1f} [{:+.1f}, {:+.1f}] {:.4f}".format(*rows[m]) for m in METRICS)
        + " |"
        for name, rows in gain["gain"].items()
    ]
    return "\n".join(lines)


def counted(given: Sequence[str], names: set[str], *, mixed: bool) -> dict[str, float]:
    """`NAME=TIMES` of the sets of questions.

    Raises:
        SystemExit: another name, or no number of at least 0.
    """
    known = names | {MIXED + name for name in names if mixed}
    found = {}
    for one in given:
        name, _, times = one.partition("=")
        if name not in known or not re.fullmatch(r"\d*\.?\d+", times):
            raise SystemExit(
                f"--count: expected NAME=TIMES with one of {', '.join(sorted(known))}, got {one!r}"
            )
        found[name] = float(times)
    if not any(found.get(name, 1.0) for name in known):
        raise SystemExit("--count: expected a set that counts, all of them are 0")
    return found


def reports(
    benchmarks: Sequence[Benchmark], vectors: CachedEmbedder, given: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """The report; once more with the gains."""
    counts = counted(given.count, {one.name for one in benchmarks}, mixed=given.mixed)
    form = form_of(given.on, given.off)
    listing = CandidateLists(benchmarks, vectors, mixed=given.mixed)
    weights: Weights | None = None
    for every in (FIRST_ROUND * given.every, given.every):
        lists = list(listing.lists(form, weights, every))
        batch = Batch(form, lists, counts)
        fitted = batch.fit()
        weights = form.weights(fitted)
        sys.stderr.write(f"{len(lists)} lists read and fitted\n")
    folds = cross_fitted(batch, starts=[fitted] * FOLDS)
    report: dict[str, Any] = {
        "data": question_count(benchmarks, given.every),
        "counts": counts,
        "cross_fitted": means(columns(lists, folds)),
        "weights": weights,
    }
    yield report
    if given.gains:
        report["gains"] = []
        sys.stderr.write(f"| signal | set | {' | '.join(METRICS)} |\n|---|---|{'---|' * 4}\n")
        for gain in gains(form, lists, counts, folds):
            report["gains"].append(gain)
            sys.stderr.write(shown(gain) + "\n")
        yield report


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--shipped", action="store_true", help="the benchmark of the package too")
    parser.add_argument("--mixed", action="store_true", help="also all of them in one store")
    parser.add_argument("--cache", type=Path, help="keeps vectors between runs")
    parser.add_argument("--count", nargs="+", default=[], metavar="NAME=TIMES")
    parser.add_argument("--on", nargs="+", default=[], metavar="GROUP.TERM")
    parser.add_argument("--off", nargs="+", default=[], metavar="GROUP.TERM")
    parser.add_argument("--leave-out", nargs="+", default=[], metavar="CATEGORY")
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
    known = {f"{group}.{term}" for group in GROUPS for term in SIGNALS}
    if wrong := sorted({*given.on, *given.off} - known):
        parser.error(f"expected one of {', '.join(GROUPS)} with a term, got {wrong[0]!r}")
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
    if given.mixed:
        check_named_once(benchmarks)
    for report in reports(benchmarks, cached_embedder(BuiltinEmbedder(), given.cache), given):
        text = json.dumps(report, indent=1) + "\n"
        given.out.write_text(weights_file(report["weights"]).text(), encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
