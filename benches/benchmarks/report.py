"""The report of an evaluation: rows, intervals, comparisons, and what they were made from."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from vestig.evaluation.calibration import Calibration
from vestig.evaluation.intervals import Difference, Estimate
from vestig.evaluation.replay import RetrievalFigures
from vestig.types import _Value


class Latency(_Value, frozen=True, kw_only=True):
    """Milliseconds of recalls that ask for `limit` memories, the query's vector at hand."""

    p50_ms: float
    p95_ms: float
    limit: int


class QuestionRanks(_Value, frozen=True, kw_only=True):
    """The ranks of the relevant units of one question, from 1; null: below the depth of ranking."""

    id: str
    conversation: str | None
    category: str
    ranks: dict[str, int | None]


class ScoreFigures(_Value, frozen=True, kw_only=True):
    """How well scores tell whether a result is part of the answer, over the ten best of all
    questions of the confidence's mixture.

    `results`: how many they are. `calibration_error`: expected calibration error, 0 to 1.
    `right_first`: median score of first results that are right; null where there are none.
    `unanswered_first`: median score of first results of questions that the memories do not answer.
    """

    results: int
    calibration_error: float
    right_first: float | None
    unanswered_first: float | None


class CutFigures(_Value, frozen=True, kw_only=True):
    """Holds what a recall of 20 brings to the answerable questions where it may be silent: the
    share of it that is relevant, in the mean of those to which it brings something; the mean share
    of the relevant units that it brings; and the mean number of results."""

    precision: float | None
    recall: float
    results: float


class Row(_Value, frozen=True, kw_only=True):
    """One way to answer the questions, and its figures.

    `kind` is `peer` (parameters of its own), `profile`, `switch` (a profile under overrides) or
    `ablation` (a profile with one signal or switch off). `settings`: every effective value.
    `newest_first`: share of the questions with outdated units of which the first relevant unit
    stands above all outdated ones; only where there are such questions. `cut`: only there, and only
    where results have a confidence. `seed`: of the walk; null =
    derived from the query and the store's seq. `questions`,
    `confidence` (population → figures) and `score`: only when requested; no `confidence` and no
    `score` where the confidence is null.
    """

    name: str
    kind: Literal["peer", "profile", "switch", "ablation"]
    profile: str | None
    overrides: dict[str, Any]
    parameters: dict[str, Any]
    metrics: dict[str, Estimate]
    categories: dict[str, dict[str, Estimate]]
    latency: Latency | None
    settings: dict[str, Any]
    seed: int | None = None
    newest_first: float | UnsetType = UNSET
    cut: CutFigures | UnsetType = UNSET
    questions: tuple[QuestionRanks, ...] | UnsetType = UNSET
    confidence: dict[str, Calibration] | UnsetType = UNSET
    score: ScoreFigures | UnsetType = UNSET


class AuthorUnits(_Value, frozen=True, kw_only=True):
    """Relevant units of one author: how many there are, how many only the other row has among its
    best ten (`lost`), and how many only this row has there (`gained`)."""

    relevant: int
    lost: int
    gained: int


class Comparison(_Value, frozen=True, kw_only=True):
    """`row` − `against` in one metric, over all questions (`category` null) or one category.
    `gained` and `lost`: questions of which `row` has the higher and the lower value. `by_author`:
    author → units, "" for units without one; of recall@10 only."""

    row: str
    against: str
    metric: str
    category: str | None
    queries: int
    gained: int
    lost: int
    difference: Difference
    by_author: dict[str, AuthorUnits] = msgspec.field(default_factory=dict)


class MeasuredStore(_Value, frozen=True, kw_only=True):
    """The temporary store that a benchmark was imported into; `seq` is the state that
    was queried."""

    path: str
    seq: int
    memories: int
    units_missing: int
    import_seconds: float
    model: str
    fingerprint: str
    rejected: int
    failed: int


class BenchmarkReport(_Value, frozen=True, kw_only=True):
    """One benchmark. `digest`: SHA-256 of its unpacked files. `categories`: → questions."""

    name: str
    digest: str
    units: int
    conversations: int
    queries: int
    categories: dict[str, int]
    left_out: tuple[str, ...]
    store: MeasuredStore
    rows: tuple[Row, ...]
    comparisons: tuple[Comparison, ...]
    gate: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def row(self, name: str) -> Row:
        """The row of this name.

        Raises:
            KeyError: there is none.
        """
        return {row.name: row for row in self.rows}[name]


class RetrievalRow(_Value, frozen=True, kw_only=True):
    """One way of asking. `own`: questions where they belong; `foreign`: where they do not, null
    with one conversation alone. `recall`: a single recall of the same questions;
    `against_recall`: what retrieval has more of each metric, paired by question."""

    name: str
    own: RetrievalFigures
    foreign: RetrievalFigures | None
    recall: dict[str, Estimate]
    against_recall: dict[str, Difference]


class RetrievalBenchmark(_Value, frozen=True, kw_only=True):
    """The rows of one labelled folder; `settings`: every key of the configuration."""

    name: str
    digest: str
    units: int
    units_missing: int
    conversations: int
    questions: int
    rows: tuple[RetrievalRow, ...]
    settings: dict[str, Any]


class EvaluationReport(_Value, frozen=True, kw_only=True):
    """Holds what `evaluate` found. `seed` is that of the bootstrap; `gated`: whether
    `default` was judged against `baseline`. `retrieval`: the figures of `retrieve`, where these
    were asked for in the place of those of recall."""

    version: str
    seed: int
    interval_draws: int
    paired_draws: int
    cuts: tuple[int, ...]
    depth: int
    gated: bool
    benchmarks: tuple[BenchmarkReport, ...]
    retrieval: tuple[RetrievalBenchmark, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what a reader of the figures should know, of all benchmarks."""
        return tuple(
            f"{benchmark.name}: {line}"
            for benchmark in self.benchmarks
            for line in benchmark.warnings
        )

    @property
    def gate_failures(self) -> tuple[str, ...]:
        """Every breach of the gate: () when `default` is nowhere below `baseline`."""
        return tuple(fact for benchmark in self.benchmarks for fact in benchmark.gate)
