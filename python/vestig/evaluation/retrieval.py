"""Retrieval measured on labelled benchmarks, beside a single recall of the same question; and
recorded requests of `retrieve`, run again under two configurations on one store and compared.

Each conversation of a benchmark is imported as a scope. Every question is the last message of a
conversation with an agent: once alone, and once after four turns that stand together in its
conversation and hold none of its evidence. It is asked where it belongs, and in the conversation
before its own, which does not answer it.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from vestig.api.store import Vestig
from vestig.arguments import path_argument, texts_argument
from vestig.calls.declaration import checked, rows_of
from vestig.calls.opening import OpenRequest
from vestig.calls.queries import RetrieveRequest
from vestig.config import Config
from vestig.errors import NotFoundError, ValidationError
from vestig.evaluation.benchmark_run import (
    CachedEmbedder,
    StoredUnits,
    import_benchmark,
    stored_units,
)
from vestig.evaluation.benchmarks import Benchmark, Query, Unit
from vestig.evaluation.rankings import ranked_gains
from vestig.evaluation.report import (
    ReplaySide,
    RetrievalBenchmark,
    RetrievalFigures,
    RetrievalReplay,
    RetrievalRow,
)
from vestig.evaluation.rows import SEED, differences, estimates
from vestig.hints import check_names
from vestig.ids import is_full_id, repeatable_ids
from vestig.json_text import read_json
from vestig.ports import Embedder, Progress
from vestig.retrieve.confidence import Label
from vestig.retrieve.values import MEMORY_FACT, FactDetail, request_of, scoped
from vestig.session.opening import MEMORY_PATH, load_config, open_session
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView

if TYPE_CHECKING:
    from vestig.retrieve.values import RetrieveResult


CUTS: Final = (5, 10, 30)
LABELS: Final[tuple[Label, ...]] = ("high", "medium", "low")
# Facts among which all evidence makes an answer certain.
_CERTAIN_WITHIN: Final = 10
# Queries that rules should make of a question.
QUERIES_WANTED: Final = 6
# Turns before the question, in the second row.
TURNS_BEFORE: Final = 4
# Every fact is counted, however long.
_BUDGET: Final = 1_000_000
_ALONE: Final = "alone"
_AFTER: Final = f"after {TURNS_BEFORE} turns"
_LABELS: Final = get_args(Label)
_LABELLED: Final = ("relevant", "expected_confidence")
_FIELDS: Final = (*rows_of(RetrieveRequest), *_LABELLED)


class Retrieval(msgspec.Struct, frozen=True, kw_only=True):
    """One retrieval of a question with labels.

    `ranked`: of each returned fact, best first, the labels that it answers to. `relevant`: the
    labels of the question, none for one that the store does not answer. `first_queries`: queries
    of the first round beside the message itself.
    """

    ranked: tuple[frozenset[str], ...]
    relevant: frozenset[str]
    expected: Label | None
    got: Label
    score: float
    iterations: int
    stop_reason: str
    first_queries: int
    queries: int
    milliseconds: float

    @classmethod
    def of(
        cls,
        result: RetrieveResult,
        ranked: Sequence[Collection[str]],
        relevant: Collection[str],
        *,
        focus: str,
        expected: Label | None = None,
        labelled: bool = True,
    ) -> Retrieval:
        """A result as it is counted.

        Args:
            ranked: labels of each fact of the result.
            focus: the message that was to be answered.
            expected: None = what the labels say.
            labelled: whether it is known which labels are relevant, none among them.
        """
        made, wanted = result.metadata, frozenset(relevant)
        groups = tuple(frozenset(group) for group in ranked)
        first = made.tool_calls[0].queries if made.tool_calls else ()
        if expected is None and labelled:
            expected = expected_label(groups, wanted)
        return cls(
            ranked=groups,
            relevant=wanted,
            expected=expected,
            got=result.confidence,
            score=made.confidence_score,
            iterations=made.iterations_used,
            stop_reason=made.stop_reason,
            first_queries=sum(query.strip() != focus.strip() for query in first),
            queries=made.queries_executed,
            milliseconds=made.processing_time_ms,
        )


def expected_label(ranked: Sequence[Collection[str]], relevant: Collection[str]) -> Label:
    """`high` where all evidence is among the first ten facts, `medium` where some is, else `low`.

    Example:
        >>> expected_label([{"a"}, {"b"}], {"a", "b"}), expected_label([{"a"}], {"a", "b"})
        ('high', 'medium')
        >>> expected_label([{"a"}], set())
        'low'
    """
    wanted = set(relevant)
    found = wanted.intersection(set[str]().union(*ranked[:_CERTAIN_WITHIN]))
    if not found:
        return "low"
    return "high" if found == wanted else "medium"


def retrieval_scores(
    ranked: Sequence[Collection[str]], relevant: Collection[str]
) -> dict[str, float]:
    """`recall@k` and `ndcg@k` of one ranking for each of `CUTS`: each label counts where the first
    fact stands that answers to it.

    Example:
        >>> found = retrieval_scores([{"x"}, {"a"}], {"a", "b"})
        >>> found["recall@5"], round(found["ndcg@5"], 4)
        (0.5, 0.3869)
    """
    seen: set[str] = set()
    gains = []
    for group in ranked:
        fresh = set(relevant).intersection(group) - seen
        seen |= fresh
        gains.append(len(fresh))
    return ranked_gains(gains, len(set(relevant)), CUTS)


def figures(retrievals: Sequence[Retrieval]) -> RetrievalFigures:
    """All figures; null where there is nothing to take a mean of."""
    import numpy as np

    labelled = [one for one in retrievals if one.relevant]
    rows = [retrieval_scores(one.ranked, one.relevant) for one in labelled]
    times = [one.milliseconds for one in retrievals]
    expected = Counter((one.expected, one.got) for one in retrievals if one.expected is not None)
    p50, p95 = np.percentile(times, [50, 95]) if times else (None, None)
    return RetrievalFigures(
        retrievals=len(retrievals),
        labelled=len(labelled),
        metrics=estimates(columns(rows)),
        relevant_found=sum(
            len(one.relevant.intersection(frozenset[str]().union(*one.ranked))) for one in labelled
        ),
        iterations_mean=_mean([one.iterations for one in retrievals]),
        queries_mean=_mean([one.queries for one in retrievals]),
        enough_queries=_mean([one.first_queries >= QUERIES_WANTED for one in retrievals]),
        latency_p50_ms=None if p50 is None else float(p50),
        latency_p95_ms=None if p95 is None else float(p95),
        stop_reasons=dict(sorted(Counter(one.stop_reason for one in retrievals).items())),
        labels={
            label: {got: expected[label, got] for got in LABELS}
            for label in LABELS
            if any(expected[label, got] for got in LABELS)
        },
        got={label: sum(one.got == label for one in retrievals) for label in LABELS},
        score_mean=_mean([one.score for one in retrievals]),
    )


def columns(rows: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Metric → one value for each row."""
    names = retrieval_scores((), {""}) if not rows else rows[0]
    return {name: [row[name] for row in rows] for name in names}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


class _LabelledQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question in a conversation, and the turns before it."""

    query: Query
    conversation: str | None
    before: tuple[Unit, ...]

    @property
    def belongs(self) -> bool:
        """Return whether it is a question of this conversation."""
        return self.query.conversation == self.conversation


def evaluate_retrieval(
    benchmarks: Sequence[Benchmark],
    config: Config,
    vectors: CachedEmbedder,
    *,
    sample: int | None = None,
    progress: Progress | None = None,
) -> tuple[RetrievalBenchmark, ...]:
    """Measures `retrieve` on labelled benchmarks beside a single recall.

    Args:
        sample: so many questions of each benchmark, drawn by a fixed seed; None = all.
        progress: called with (questions asked, questions in all).
    """
    chosen = [_sampled(one, sample) for one in benchmarks]
    steps = _Steps(progress, 2 * sum(len(list(_asked(one, False))) for one in chosen))
    found = []
    for benchmark in chosen:
        request = OpenRequest(path=MEMORY_PATH, config=config, embedder=vectors)
        with Vestig(open_session(request)) as store:
            with repeatable_ids(benchmark.digest):
                import_benchmark(store, benchmark)
            run = _Run(store, benchmark, stored_units(store, benchmark), steps)
            found.append(run.report(config))
    return tuple(found)


class _Steps:
    """Progress over all questions."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def add(self) -> None:
        """Counts one question."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


def _sampled(benchmark: Benchmark, count: int | None) -> Benchmark:
    """The benchmark with so many of its questions, in their order."""
    if count is None or count >= len(benchmark.queries):
        return benchmark
    places = sorted(random.Random(SEED).sample(range(len(benchmark.queries)), count))
    return msgspec.structs.replace(
        benchmark, queries=tuple(benchmark.queries[place] for place in places)
    )


def _asked(benchmark: Benchmark, after: bool) -> Iterator[_LabelledQuestion]:
    """Every question in its own conversation, and where there are several, in the one before."""
    queries_of: dict[str | None, list[Query]] = {}
    for query in benchmark.queries:
        queries_of.setdefault(query.conversation, []).append(query)
    names = list(queries_of)
    for place, conversation in enumerate(names):
        following = names[(place + 1) % len(names)]
        for name in dict.fromkeys((conversation, following)):
            for query in queries_of[name]:
                before = _turns(benchmark, query, conversation) if after else ()
                yield _LabelledQuestion(query=query, conversation=conversation, before=before)


def _turns(benchmark: Benchmark, query: Query, conversation: str | None) -> tuple[Unit, ...]:
    """Four adjacent turns of a conversation that are no evidence, drawn by the question; fewer
    where it has no four such."""
    units = benchmark.units[conversation]
    relevant = query.relevant if query.conversation == conversation else frozenset()
    chance = random.Random(f"{SEED}/{conversation}/{query.conversation}/{query.id}")
    for length in range(min(TURNS_BEFORE, len(units)), 0, -1):
        starts = [
            start
            for start in range(len(units) - length + 1)
            if relevant.isdisjoint(unit.id for unit in units[start : start + length])
        ]
        if starts:
            start = chance.choice(starts)
            return units[start : start + length]
    return ()


class _Run:
    """The questions of one benchmark against one store."""

    def __init__(
        self, store: Vestig, benchmark: Benchmark, stored: StoredUnits, steps: _Steps
    ) -> None:
        self._store = store
        self._benchmark = benchmark
        self._stored = stored
        self._steps = steps
        self._ids_of: dict[tuple[str | None, str], list[str]] = {}
        self._units_of_text: dict[tuple[str | None, str], set[str]] = {}
        for id, units in stored.units_of.items():
            scope = stored.scope_of[id]
            for unit in units:
                self._ids_of.setdefault((scope, unit), []).append(id)
            self._units_of_text.setdefault((scope, stored.text_of[id]), set()).update(units)

    def report(self, config: Config) -> RetrievalBenchmark:
        """Both rows."""
        benchmark = self._benchmark
        return RetrievalBenchmark(
            name=benchmark.name,
            digest=benchmark.digest,
            units=benchmark.unit_count,
            units_missing=self._stored.missing,
            conversations=len(benchmark.units),
            questions=len(benchmark.queries),
            rows=(self._row(_ALONE, False), self._row(_AFTER, True)),
            settings={key: entry.value for key, entry in config.every_value().items()},
        )

    def _row(self, name: str, after: bool) -> RetrievalRow:
        own: list[Retrieval] = []
        foreign: list[Retrieval] = []
        recalled: list[dict[str, float]] = []
        for asked in _asked(self._benchmark, after):
            retrieval = self._retrieval(asked)
            if asked.belongs:
                own.append(retrieval)
                recalled.append(self._recalled(asked))
            else:
                foreign.append(retrieval)
            self._steps.add()
        ours = columns([retrieval_scores(one.ranked, one.relevant) for one in own])
        theirs = columns(recalled)
        return RetrievalRow(
            name=name,
            own=figures(own),
            foreign=figures(foreign) if foreign else None,
            recall=estimates(theirs),
            against_recall=differences(ours, theirs),
        )

    def _retrieval(self, asked: _LabelledQuestion) -> Retrieval:
        query = asked.query
        messages: list[dict[str, Any]] = [
            {"content": unit.text, "author": unit.author, "message_id": unit.id}
            for unit in asked.before
        ]
        result = self._store.retrieve(
            [*messages, {"content": query.text}],
            scope=asked.conversation,
            max_facts=CUTS[-1],
            budget=_BUDGET,
            query_time=self._stored.when(query, asked.conversation),
            debug=True,
        )
        ids = [detail.memory_id for detail in result.details or ()]
        return Retrieval.of(
            result,
            [self._units(id) for id in ids],
            query.relevant if asked.belongs else (),
            focus=query.text,
        )

    def _units(self, id: str) -> set[str]:
        """The units that a memory, or another one of its text in its scope, was made of."""
        return self._units_of_text[self._stored.scope_of[id], self._stored.text_of[id]]

    def _recalled(self, asked: _LabelledQuestion) -> dict[str, float]:
        """The metrics of a single recall of the question, at each cut with a limit of its own; the
        turns before it are left out, as they are of the retrieval."""
        query, conversation = asked.query, asked.conversation
        left_out = [
            id for unit in asked.before for id in self._ids_of.get((conversation, unit.id), ())
        ]
        found: dict[str, float] = {}
        for cut in CUTS:
            answer = self._store.recall(
                query.text,
                limit=cut,
                all=True,
                scope=conversation,
                query_time=self._stored.when(query, conversation),
                where={"exclude_ids": left_out},
                config={"recall.reasons.enabled": False},
            )
            scores = retrieval_scores([self._units(hit.id) for hit in answer], query.relevant)
            found |= {name: value for name, value in scores.items() if name.endswith(f"@{cut}")}
        return found


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """A request of the file. `relevant`: None = it has no labels."""

    place: str
    request: RetrieveRequest
    relevant: tuple[str, ...] | None
    expected: Label | None


class _Side(msgspec.Struct, frozen=True, kw_only=True):
    """Holds what one configuration gave, in the order of the requests."""

    seqs: frozenset[int]
    unknown: int
    retrievals: tuple[Retrieval, ...]
    described: ReplaySide


def replay_requests(
    file: str | os.PathLike[str],
    *,
    store: str | os.PathLike[str] | None = None,
    old: str | os.PathLike[str] | Mapping[str, Any] | Config | None = None,
    new: str | os.PathLike[str] | Mapping[str, Any] | Config | None = None,
    llm: bool = True,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> RetrievalReplay:
    """Runs requests of `retrieve` under two configurations and compares what they find.

    Args:
        file: a request in JSON on each line, with the fields of `retrieve`, and where they are
            known `relevant` (ids of memories, or references of what they were made of, in the scope
            of the request) and `expected_confidence`.
        store: path of the store; None = that of the configuration `old`.
        old, new: as `config` of `vestig.open`; None = the configuration in effect.
        llm: False = no language model is asked.
        embedder: an embedder object instead of the configured one.
        progress: called with (requests done, requests in all).

    Raises:
        NotFoundError: the file, or a store at this path, does not exist.
        ValidationError: a line is no request; names it.
        ConfigError: a configuration that cannot be used.

    Example:
        >>> import json, pathlib, tempfile, vestig
        >>> from vestig.testing import HashingEmbedder
        >>> folder, embedder = pathlib.Path(tempfile.mkdtemp()), HashingEmbedder()
        >>> with vestig.open(folder / "store", embedder=embedder) as store:
        ...     id = store.commit("The red key opens the shed").memory_id
        >>> line = {"messages": [{"content": "Which key opens the shed?"}], "relevant": [id]}
        >>> _ = (folder / "requests.jsonl").write_text(json.dumps(line))
        >>> found = replay_requests(
        ...     folder / "requests.jsonl", store=folder / "store",
        ...     new={"retrieve.max_iterations": 1}, embedder=embedder,
        ... )
        >>> found.new.figures.metrics["recall@5"].mean, found.new.figures.iterations_mean
        (1.0, 1.0)
    """
    lines = _read(Path(path_argument("file", file)))
    first = load_config(old, None)
    path = first.settings.store.path if store is None else store
    sides = []
    for number, (given, config) in enumerate(((old, first), (new, load_config(new, None)))):
        chosen = config if llm else config.with_keys({"retrieve.llm": False})
        request = OpenRequest(
            path=path, config=chosen, embedder=embedder, must_exist=True, read_only=True
        )
        with Vestig(open_session(request)) as opened:
            for line in lines:
                _check(opened._session, line)
            sides.append(_run(opened, lines, given, (progress, number)))
    return _compared(lines, *sides)


def _compared(lines: Sequence[_Line], old: _Side, new: _Side) -> RetrievalReplay:
    ours, theirs = (
        columns(
            [retrieval_scores(one.ranked, one.relevant) for one in side.retrievals if one.relevant]
        )
        for side in (new, old)
    )
    warnings = []
    if len(old.seqs | new.seqs) > 1:
        warnings.append("the store changed while requests ran: the two sides saw different states")
    if old.unknown:
        warnings.append(f"{old.unknown} labels name no memory of the store: they cannot be found")
    return RetrievalReplay(
        cuts=CUTS,
        requests=len(lines),
        old=old.described,
        new=new.described,
        new_against_old=differences(ours, theirs),
        warnings=tuple(warnings),
    )


def _run(
    store: Vestig, lines: Sequence[_Line], given: Any, progress: tuple[Progress | None, int]
) -> _Side:
    """All requests under one configuration."""
    from vestig.retrieve.retrieve import retrieve

    session = store._session
    report, before = progress
    found: list[Retrieval] = []
    seqs, unknown = set[int](), 0
    for line in lines:
        labels = _Labels(session, line)
        unknown += labels.unknown
        result = retrieve(session, line.request)
        details = result.details if isinstance(result.details, tuple) else ()
        seqs.add(result.metadata.seq)
        found.append(
            Retrieval.of(
                result,
                [labels.of(detail) for detail in details],
                line.relevant or (),
                focus=line.request.messages[-1]["content"],
                expected=line.expected,
                labelled=line.relevant is not None,
            )
        )
        if report is not None:
            report(before * len(lines) + len(found), 2 * len(lines))
    config = session.config
    named = given if isinstance(given, (str, os.PathLike)) else None
    described = ReplaySide(
        config=None if named is None else os.fspath(named),
        seq=max(seqs, default=None),
        figures=figures(found),
        settings={key: entry.value for key, entry in config.every_value().items()},
    )
    return _Side(
        seqs=frozenset(seqs), unknown=unknown, retrievals=tuple(found), described=described
    )


class _Labels:
    """Which facts the labels of a request mean."""

    def __init__(self, session: Session, line: _Line) -> None:
        self._of_id: dict[str, set[str]] = {}
        self._of_text: dict[str, set[str]] = {}
        self.unknown = 0
        namespace = line.request.namespace or session.namespace
        scopes = scoped(line.request).given().get("scope")
        with session.ledger.read() as view:
            for label in line.relevant or ():
                memories = [
                    memory
                    for memory in view.memories(namespace, _ids(view, namespace, label))
                    if scopes is None or memory.scope in scopes
                ]
                self.unknown += not memories
                for memory in memories:
                    self._of_id.setdefault(memory.id, set()).add(label)
                    self._of_text.setdefault(memory.content_hash, set()).add(label)

    def of(self, detail: FactDetail) -> set[str]:
        """The labels that a fact answers to: by its memory, or by a memory of the same text."""
        _, kind, text, _ = detail.fact_key
        same = self._of_text.get(text or "", set()) if kind == MEMORY_FACT else set()
        return self._of_id.get(detail.memory_id, set()) | same


def _ids(view: LedgerView, namespace: str, label: str) -> list[str]:
    """Ids of the memories that a label means."""
    return [label] if is_full_id(label, "mem") else view.recorded_by(namespace, [label])


def _read(file: Path) -> list[_Line]:
    """The requests of a file.

    Raises:
        NotFoundError: there is no such file.
        ValidationError: a line is no request.
    """
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        raise NotFoundError("file", str(file)) from None
    found = [
        _line(f"{file.name}:{number}", text)
        for number, text in enumerate(raw.split(b"\n"), 1)
        if text.strip()
    ]
    if not found:
        raise ValidationError("file", file.name, "at least one line with a request")
    return found


def _line(place: str, text: bytes) -> _Line:
    try:
        row = read_json(text)
    except (msgspec.DecodeError, RecursionError):
        raise ValidationError(place, "a line", "a JSON object", "it cannot be read") from None
    if not isinstance(row, dict):
        raise ValidationError(place, type(row).__name__, "a JSON object")
    try:
        check_names(row, _FIELDS, "a request")
        labels = row.get("relevant")
        expected = row.get("expected_confidence")
        if expected is not None and expected not in _LABELS:
            raise ValidationError("expected_confidence", expected, " | ".join(_LABELS))
        asked = {name: value for name, value in row.items() if name not in _LABELLED}
        return _Line(
            place=place,
            request=checked(RetrieveRequest, {**asked, "debug": True}),
            relevant=None if labels is None else tuple(texts_argument("relevant", labels)),
            expected=expected,
        )
    except ValidationError as error:
        raise _at(place, error) from None


def _check(session: Session, line: _Line) -> None:
    """Checks a request as the call does, before any is run."""
    settings = session.config.settings
    try:
        request_of(
            line.request,
            settings.retrieve,
            now_us=session.now_us(),
            namespace=session.namespace,
            include_expired=settings.recall.include_expired,
        )
    except ValidationError as error:
        raise _at(line.place, error) from None


def _at(place: str, error: ValidationError) -> ValidationError:
    """The error, with the place of its line in front."""
    error.args = (f"{place}: {error}",)
    return error
