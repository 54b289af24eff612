"""Imports benchmarks into temporary stores and runs every question on every row.

Each conversation is imported as a scope, once for all rows: only recall differs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from benchmarks.confidence import (
    ANSWERABLE,
    POPULATIONS,
    Case,
    answered,
    cases,
    confidences,
    scores,
)
from benchmarks.rankings import (
    CUTS,
    DEPTH,
    PEERS,
    Tally,
    parameters_for,
    peer_rankings,
    with_losses,
)
from benchmarks.reader import Benchmark, read_benchmark, without_categories
from benchmarks.report import (
    BenchmarkReport,
    EvaluationReport,
    Latency,
    MeasuredStore,
    QuestionRanks,
    Row,
)
from benchmarks.rows import Variant, compare, gate_breaches, planned_rows
from benchmarks.run import (
    BenchmarkRun,
    CachedEmbedder,
    StoredUnits,
    benchmark_folders,
    import_benchmark,
    stored_units,
    vectors_of,
)
from vestig.api.store import Vestig
from vestig.arguments import count_argument
from vestig.calls.opening import OpenRequest
from vestig.config import Config
from vestig.errors import ValidationError
from vestig.evaluation.intervals import (
    INTERVAL_DRAWS,
    PAIRED_DRAWS,
    SEED,
    estimates,
)
from vestig.ids import repeatable_ids
from vestig.ports import Embedder, Progress
from vestig.session.opening import MEMORY_PATH, load_config, open_session


def evaluate(
    benchmarks: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    *,
    profiles: Sequence[str] | None = None,
    switches: Sequence[Mapping[str, Any]] = (),
    ablate: bool = False,
    gate: bool = False,
    peers: bool = True,
    questions: bool = False,
    confidence: bool = False,
    leave_out: Sequence[str] = (),
    retrieve: bool = False,
    sample: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | Mapping[str, Any] | Config | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> EvaluationReport:
    """Measures recall on labelled benchmarks.

    Args:
        benchmarks: folders with `corpus.jsonl` and `queries.jsonl` (`.gz` too); None = the
            shipped one.
        profiles: names of recall profiles; None = all shipped ones.
        switches: keys of recall that each make a row beside their profile.
        ablate: a row for each signal and switch of the profile off, one by one.
        gate: judge `default` against `baseline`; both are measured then.
        peers: plain cosine, BM25 and their hybrid as rows.
        questions: every row also holds the ranks of the relevant units of each question.
        confidence: every profile and switch also measures how well its confidence knows questions
            that the memories do not answer; runs three times as many questions.
        leave_out: categories whose questions are left out.
        retrieve: measure `retrieve` instead, each question as the last message of a conversation,
            alone and after four turns, beside a single recall.
        sample: with `retrieve`, so many questions of each benchmark, drawn by a fixed seed; None =
            all.
        cache: folder that keeps vectors between runs.
        config: as in `vestig.open`; the store it names is not touched, and no language model is
            asked.
        embedder: an embedder object instead of the configured one.
        progress: called with (work done, work in all).

    Raises:
        ValidationError: no queries, or relevant ids that do not exist; not a benchmark.
        ConfigError: unknown profile or key.
        ProviderError: the embedder failed.

    Example:
        >>> import json, pathlib, tempfile
        >>> from vestig.testing import HashingEmbedder
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> unit = {"id": "u1", "text": "The red key opens the shed", "conversation": "c"}
        >>> query = {"id": "q1", "text": "which key opens the shed?", "relevant": ["u1"]}
        >>> _ = (folder / "corpus.jsonl").write_text(json.dumps(unit))
        >>> _ = (folder / "queries.jsonl").write_text(json.dumps({**query, "conversation": "c"}))
        >>> report = evaluate(folder, profiles=["baseline"], embedder=HashingEmbedder())
        >>> report.benchmarks[0].row("baseline").metrics["recall@5"].mean
        1.0
    """
    # no figure depends on a language model, which would be paid for, or on how busy the machine is
    loaded = load_config(config, None).with_keys(_REPEATABLE)
    if retrieve:
        rows = (profiles, switches, ablate, gate, questions, confidence, not peers)
        _only_with_recall(dict(zip(_ROW_ARGUMENTS, rows, strict=True)))
        count = None if sample is None else count_argument("sample", sample)
        chosen = [_read(folder, leave_out) for folder in benchmark_folders(benchmarks)]
        return _retrieval(chosen, loaded, vectors_of(loaded, embedder, cache), count, progress)
    if sample is not None:
        raise ValidationError("sample", sample, "it only with retrieve")
    plan = planned_rows(loaded, profiles=profiles, switches=switches, ablate=ablate, gate=gate)
    chosen = [_read(folder, leave_out) for folder in benchmark_folders(benchmarks)]
    vectors = vectors_of(loaded, embedder, cache)
    steps = _Steps(progress, sum(_size(one, plan, peers, confidence) for one in chosen))
    vectors.on_made = steps.add
    wanted = _Wanted(peers=peers, gate=gate, questions=questions, confidence=confidence)
    reports = tuple(
        _benchmark(benchmark, loaded, plan, vectors, steps, wanted) for benchmark in chosen
    )
    return _report(CUTS, DEPTH, gated=gate, benchmarks=reports)


_REPEATABLE: Final = {
    "llm.provider": "none",
    "retrieve.llm": False,
    "judge.budget_ms": 60_000.0,
}
# Arguments that make rows of recall.
_ROW_ARGUMENTS: Final = (
    *("profiles", "switches", "ablate", "gate", "questions", "confidence", "peers"),
)


def _only_with_recall(given: Mapping[str, Any]) -> None:
    """Refuses what measures recall in an evaluation of `retrieve`.

    Raises:
        ValidationError: one of these is given.
    """
    for name, value in given.items():
        if value:
            raise ValidationError(name, value, "nothing with retrieve: it makes rows of recall")


def _retrieval(
    chosen: Sequence[Benchmark],
    config: Config,
    vectors: CachedEmbedder,
    sample: int | None,
    progress: Progress | None,
) -> EvaluationReport:
    from benchmarks.retrieval import evaluate_retrieval
    from vestig.evaluation.replay import CUTS as RETRIEVED

    measured = evaluate_retrieval(chosen, config, vectors, sample=sample, progress=progress)
    return _report(RETRIEVED, RETRIEVED[-1], gated=False, retrieval=measured)


def _report(cuts: tuple[int, ...], depth: int, **fields: Any) -> EvaluationReport:
    return EvaluationReport(
        version=_version(),
        seed=SEED,
        interval_draws=INTERVAL_DRAWS,
        paired_draws=PAIRED_DRAWS,
        cuts=cuts,
        depth=depth,
        **{"benchmarks": (), **fields},
    )


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a report that the caller wants."""

    peers: bool
    gate: bool
    questions: bool
    confidence: bool


class _Steps:
    """Progress over all benchmarks, in texts embedded and recalls made."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._end = 0

    @contextmanager
    def stage(self, size: int) -> Iterator[None]:
        """A part of the whole of this size; leaving it counts it as done."""
        self._end = self._done + size
        yield
        self.add(size)

    def add(self, count: int) -> None:
        """Counts further steps; never beyond the end of the stage."""
        self._done = min(self._done + count, self._end)
        if self._progress is not None:
            self._progress(self._done, self._total)


# Recalls of a question for its confidence: as it is, and in each population.
_RECALLS_EACH: Final = 1 + len(POPULATIONS)


def _size(benchmark: Benchmark, plan: Sequence[Variant], peers: bool, confidence: bool) -> int:
    """Steps of a benchmark: its import, its peers, and every question of every row."""
    recalls = _RECALLS_EACH * len(_with_measured_confidence(plan)) if confidence else 0
    questions = len(benchmark.queries) * (len(plan) + recalls)
    return benchmark.unit_count * (1 + peers) + questions


def _with_measured_confidence(plan: Sequence[Variant]) -> list[Variant]:
    """Rows whose confidence is measured."""
    return [variant for variant in plan if variant.kind != "ablation"]


def _version() -> str:
    from importlib.metadata import version

    return version("vestig")


def _read(folder: Any, leave_out: Sequence[str]) -> Benchmark:
    benchmark = read_benchmark(folder)
    return without_categories(benchmark, leave_out) if leave_out else benchmark


def _benchmark(
    benchmark: Benchmark,
    config: Config,
    plan: Sequence[Variant],
    vectors: CachedEmbedder,
    steps: _Steps,
    wanted: _Wanted,
) -> BenchmarkReport:
    """One import, then every row."""
    tallies: dict[str, Tally] = {}
    rows: list[Row] = []
    degraded: dict[str, set[str]] = {}
    request = OpenRequest(path=MEMORY_PATH, config=config, embedder=vectors)
    context = open_session(request)
    with Vestig(context) as store:
        started = time.perf_counter()
        with steps.stage(benchmark.unit_count), repeatable_ids(benchmark.digest):
            refused = import_benchmark(store, benchmark)
        seconds = time.perf_counter() - started
        stored = stored_units(store, benchmark)
        vectors.embed([query.text for query in benchmark.queries])
        if wanted.peers:
            with steps.stage(benchmark.unit_count):
                found = _peer_tallies(benchmark, vectors, stored.origin)
            parameters = msgspec.to_builtins(parameters_for(stored.origin))
            for name, tally in found.items():
                tallies[name] = tally
                rows.append(_row(benchmark, Variant.peer(name), tally, parameters=parameters))
        for variant in plan:
            run = BenchmarkRun(store, stored, variant)
            with steps.stage(len(benchmark.queries)):
                tally = tallies[variant.name] = run.tally(benchmark, steps.add)
            row = _row(benchmark, variant, tally, latency=run.latency())
            if row.newest_first is not UNSET:
                row = msgspec.structs.replace(row, cut=run.cut(benchmark))
            rows.append(row)
            degraded[variant.name] = run.degraded
        if wanted.confidence:
            all_cases = list(cases(context, benchmark, stored))
            rows = _with_confidence(store, stored, all_cases, plan, rows, steps)
        measured = _measured(store, refused, stored, vectors, seconds)
    scored = {name: tally.scores for name, tally in tallies.items()}
    if wanted.questions:
        rows = [_with_questions(benchmark, row, tallies[row.name]) for row in rows]
    compared = compare(scored, rows, [query.category for query in benchmark.queries])
    return BenchmarkReport(
        name=benchmark.name,
        digest=benchmark.digest,
        units=benchmark.unit_count,
        conversations=len(benchmark.units),
        queries=len(benchmark.queries),
        categories=benchmark.categories,
        left_out=benchmark.left_out,
        store=measured,
        rows=tuple(rows),
        comparisons=tuple(with_losses(compared, benchmark, tallies)),
        gate=tuple(gate_breaches(benchmark.name, rows)) if wanted.gate else (),
        warnings=tuple(_warnings(measured, degraded)),
    )


def _with_confidence(
    store: Vestig,
    stored: StoredUnits,
    all_cases: Sequence[Case],
    plan: Sequence[Variant],
    rows: Sequence[Row],
    steps: _Steps,
) -> list[Row]:
    """The rows, those of profiles and switches with the figures of confidence and score."""
    found: dict[str, Any] = {}
    size = _RECALLS_EACH * sum(case.population == ANSWERABLE for case in all_cases)
    for variant in _with_measured_confidence(plan):
        with steps.stage(size):
            answers = answered(store, stored, variant, all_cases, steps.add)
        if answers:
            figures = confidences(answers) or UNSET
            found[variant.name] = {"confidence": figures, "score": scores(answers)}
    return [msgspec.structs.replace(row, **found.get(row.name, {})) for row in rows]


def _warnings(measured: MeasuredStore, degraded: Mapping[str, set[str]]) -> Iterator[str]:
    """Reasons to doubt the figures: units that are not in the store, weaker paths."""
    if measured.units_missing:
        yield (
            f"{measured.units_missing} units are on no memory ({measured.rejected} refused,"
            f" {measured.failed} failed): questions about them cannot be answered"
        )
    for name, codes in degraded.items():
        if codes:
            yield f"{name}: {', '.join(sorted(codes))}"


def _measured(
    store: Vestig,
    refused: tuple[int, int],
    stored: StoredUnits,
    vectors: CachedEmbedder,
    seconds: float,
) -> MeasuredStore:
    return MeasuredStore(
        path=MEMORY_PATH,
        seq=store.admin.stats().seq,
        memories=store.count({"include_expired": True, "include_archived": True}),
        units_missing=stored.missing,
        import_seconds=seconds,
        model=vectors.model,
        fingerprint=vectors.fingerprint,
        rejected=refused[0],
        failed=refused[1],
    )


def _peer_tallies(
    benchmark: Benchmark, vectors: CachedEmbedder, origin: str | None
) -> dict[str, Tally]:
    tallies = {name: Tally() for name in PEERS}
    for query, rankings in peer_rankings(benchmark, vectors, parameters_for(origin)):
        for name, ranked in rankings.items():
            tallies[name].add(dict.fromkeys((*CUTS, DEPTH), ranked), query.relevant, query.outdated)
    return tallies


def _with_questions(benchmark: Benchmark, row: Row, tally: Tally) -> Row:
    """The row with every question beside its figures."""
    ranked = (
        QuestionRanks(
            id=query.id, conversation=query.conversation, category=query.category, ranks=ranks
        )
        for query, ranks in zip(benchmark.queries, tally.ranks, strict=True)
    )
    return msgspec.structs.replace(row, questions=tuple(ranked))


def _share(values: Sequence[bool]) -> float | UnsetType:
    return sum(values) / len(values) if values else UNSET


def _row(
    benchmark: Benchmark,
    variant: Variant,
    tally: Tally,
    *,
    parameters: Mapping[str, Any] | None = None,
    latency: Latency | None = None,
) -> Row:
    values, categories = tally.scores, {}
    for name in benchmark.categories:
        chosen = [n for n, query in enumerate(benchmark.queries) if query.category == name]
        categories[name] = estimates(
            {metric: [column[n] for n in chosen] for metric, column in values.items()}
        )
    settings = variant.settings
    return Row(
        name=variant.name,
        kind=variant.kind,
        profile=variant.profile,
        overrides=dict(variant.overrides),
        parameters=dict(parameters or {}),
        metrics=estimates(values),
        categories=categories,
        newest_first=_share(tally.newest_first),
        latency=latency,
        settings=settings,
        seed=settings.get("walk.seed"),
    )
