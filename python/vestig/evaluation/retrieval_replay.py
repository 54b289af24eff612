"""Recorded requests of `retrieve`, run again under two configurations on one store and compared."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import msgspec

from vestig.api.store import Vestig
from vestig.arguments import path_argument, texts_argument
from vestig.calls.declaration import checked, rows_of
from vestig.calls.opening import OpenRequest
from vestig.calls.queries import RetrieveRequest
from vestig.config import Config
from vestig.errors import NotFoundError, ValidationError
from vestig.evaluation.comparison import differences
from vestig.evaluation.labelled_retrieval import (
    CUTS,
    Retrieval,
    columns,
    figures,
    retrieval_scores,
)
from vestig.evaluation.report import ReplaySide, RetrievalReplay
from vestig.hints import check_names
from vestig.ids import is_full_id
from vestig.json_text import read_json
from vestig.ports import Embedder, Progress
from vestig.retrieve.confidence import Label
from vestig.retrieve.values import MEMORY_FACT, FactDetail, request_of, scoped
from vestig.session.opening import load_config, open_session
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView

_LABELS: Final = get_args(Label)
_LABELLED: Final = ("relevant", "expected_confidence")
_FIELDS: Final = (*rows_of(RetrieveRequest), *_LABELLED)


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
