"""Measures recall, or what else stands below, on labelled benchmarks.

    python benches/evaluate.py [FOLDER …] [--profile NAME …] [--switch "KEY=VALUE …" …] [--ablate]
        [--gate] [--no-peers] [--confidence] [--questions] [--leave-out CATEGORY …]
        [--cache DIR] [--config FILE] [--json]
    python benches/evaluate.py [FOLDER …] --retrieve [--sample N] [--cache DIR] [--json]
    python benches/evaluate.py --firewall [--seed N] [--json]

FOLDER holds `corpus.jsonl` or `documents`, and `queries.jsonl` (`.gz` too), or such a folder for
each of several whole stores (worlds); without one the benchmark of this repository is measured. The
store in use is not touched. Exit status 1: `default` is below `baseline`, with `--gate`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks import tables
from benchmarks.evaluate import evaluate
from benchmarks.firewall import evaluate_firewall
from benchmarks.report import EvaluationReport
from vestig.errors import VestigError
from vestig.evaluation.evaluate import read_switch
from vestig.surfaces import wire


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--profile", nargs="+", metavar="NAME", help="default: all shipped ones")
    parser.add_argument("--switch", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--ablate", action="store_true", help="each signal and switch off")
    parser.add_argument("--gate", action="store_true", help="judge default against baseline")
    parser.add_argument("--no-peers", action="store_true", help="no cosine, BM25 and hybrid")
    parser.add_argument("--confidence", action="store_true", help="three times as many queries")
    parser.add_argument("--questions", action="store_true", help="ranks of every question")
    parser.add_argument("--leave-out", nargs="+", default=[], metavar="CATEGORY")
    parser.add_argument("--retrieve", action="store_true", help="measure retrieve instead")
    parser.add_argument("--sample", type=int, metavar="N", help="with --retrieve, N questions")
    parser.add_argument("--firewall", action="store_true", help="secrets and echoes instead")
    parser.add_argument("--seed", type=int, default=1, help="of the texts of --firewall")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keeps vectors between runs")
    parser.add_argument("--config", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true")
    return parser


def _measured(given: argparse.Namespace) -> EvaluationReport:
    return evaluate(
        given.folders or None,
        profiles=given.profile,
        switches=[read_switch(text) for text in given.switch],
        ablate=given.ablate,
        gate=given.gate,
        peers=not given.no_peers,
        questions=given.questions,
        confidence=given.confidence,
        leave_out=given.leave_out,
        retrieve=given.retrieve,
        sample=given.sample,
        cache=given.cache,
        config=given.config,
    )


def main(words: list[str]) -> int:
    """Prints what a command line asks for, and returns the exit status."""
    given = _parser().parse_args(words)
    failures: tuple[str, ...]
    report: Any
    if given.firewall:
        report = evaluate_firewall(given.seed)
        text, failures = report.text(), report.gate_failures
    else:
        try:
            report = _measured(given)
        except VestigError as error:
            raise SystemExit(str(error)) from error
        text, failures = tables.text(report), report.gate_failures
        for line in report.warnings:
            sys.stderr.write(f"{line}\n")
    print(wire.encode(wire.document("evaluation", report)).decode() if given.json else text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
