"""Recorded requests of `retrieve`, run again under two configurations on one store and compared."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from vestig.api.store import Vestig
from vestig.arguments import path_argument, texts_argument
from vestig.calls.declaration import checked, rows_of
from vestig.calls.opening import OpenRequest
from vestig.calls.queries import RetrieveRequest
from vestig.config import Config
from vestig.errors import ValidationError
from vestig.evaluation.intervals import Difference, Estimate, differences, estimates
from vestig.evaluation.questions import Labels, at_place, read_lines
from vestig.hints import check_names
from vestig.ports import Embedder, Progress
from vestig.retrieve.confidence import Label
from vestig.retrieve.values import MEMORY_FACT, FactDetail, request_of, scoped
from vestig.session.opening import load_config, open_session
from vestig.session.session import Session
from vestig.types import _Value

if TYPE_CHECKING:
    from vestig.retrieve.values import RetrieveResult


CUTS: Final = (5, 10, 30)
LABELS: Final[tuple[Label, ...]] = ("high", "medium", "low")
# Facts among which all evidence makes an answer certain.
_CERTAIN_WITHIN: Final = 10
# Queries that rules should make of a question.
QUERIES_WANTED: Final = 6
_LABELS: Final = get_args(Label)
_LABELLED: Final = ("relevant", "expected_confidence")
_FIELDS: Final = (*rows_of(RetrieveRequest), *_LABELLED)


class RetrievalFigures(_Value, frozen=True, kw_only=True):
    """Figures of many retrievals.

    `metrics`: recall and nDCG of the questions with labels. `relevant_found`: labels that any
    returned fact answers to, in all. `labels`: expected label → label that came → how often.
    `enough_queries`: share of the retrievals whose first round had at least six
    queries beside the message.
    """

    retrievals: int
    labelled: int
    metrics: dict[str, Estimate]
    relevant_found: int
    iterations_mean: float | None
    queries_mean: float | None
    enough_queries: float | None
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    stop_reasons: dict[str, int]
    labels: dict[str, dict[str, int]]
    got: dict[str, int]
    score_mean: float | None


class ReplaySide(_Value, frozen=True, kw_only=True):
    """One side of a replay. `config`: the file that was named, null for what was in effect; `seq`:
    the state of the store; `settings`: every key of the configuration."""

    config: str | None
    seq: int | None
    figures: RetrievalFigures
    settings: dict[str, Any]


class RetrievalReplay(_Value, frozen=True, kw_only=True):
    """Holds what `vestig.replay_requests` found. `new_against_old`: what the new side has more of
    each metric, paired by request."""

    cuts: tuple[int, ...]
    requests: int
    old: ReplaySide
    new: ReplaySide
    new_against_old: dict[str, Difference]
    warnings: tuple[str, ...] = ()


def _discount(place: int) -> float:
    return 1 / math.log2(place + 2)


def ranked_gains(gains: Sequence[int], relevant: int, cuts: Sequence[int]) -> dict[str, float]:
    """`recall@k` and `ndcg@k` of a ranking in which one place may answer several labels.

    Args:
        gains: labels that each place is the first to answer.
        relevant: how many labels there are, >= 1.

    Example:
        >>> ranked_gains([0, 2], 2, (1, 5))["recall@5"]
        1.0
    """
    values: dict[str, float] = {}
    for cut in cuts:
        ideal = sum(_discount(place) for place in range(min(cut, relevant)))
        gain = sum(min(count, 1) * _discount(place) for place, count in enumerate(gains[:cut]))
        values[f"recall@{cut}"] = sum(gains[:cut]) / relevant
        values[f"ndcg@{cut}"] = gain / ideal
    return values


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
        labels = _labels_of(session, line)
        unknown += len(labels.unknown)
        result = retrieve(session, line.request)
        details = result.details if isinstance(result.details, tuple) else ()
        seqs.add(result.metadata.seq)
        found.append(
            Retrieval.of(
                result,
                [labels.of(one.memory_id, _text_of(one)) for one in details],
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


def _labels_of(session: Session, line: _Line) -> Labels:
    scopes = scoped(line.request).given().get("scope")
    return Labels(session, line.relevant or (), scopes, line.request.namespace)


def _text_of(detail: FactDetail) -> str:
    """Return the digest of the text of a fact that is a memory; "" for others."""
    _, kind, text, _ = detail.fact_key
    return (text or "") if kind == MEMORY_FACT else ""


def _read(file: Path) -> list[_Line]:
    """The requests of a file.

    Raises:
        NotFoundError: there is no such file.
        ValidationError: a line is no request.
    """
    found = [_line(place, row) for place, row in read_lines(file)]
    if not found:
        raise ValidationError("file", file.name, "at least one line with a request")
    return found


def _line(place: str, row: Mapping[str, Any]) -> _Line:
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
        raise at_place(place, error) from None


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
        raise at_place(line.place, error) from None
