"""`vestig.evaluate`: asks labelled questions of a store, as it is configured and under switches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from vestig.answers import RecallHit
from vestig.api.store import Vestig
from vestig.arguments import path_argument
from vestig.calls.opening import OpenRequest
from vestig.config import Config
from vestig.config.files import read_scalar
from vestig.errors import ValidationError
from vestig.evaluation.calibration import Calibration, calibration
from vestig.evaluation.intervals import differences, estimates
from vestig.evaluation.questions import Labels, Question, labelled_file, read_questions
from vestig.evaluation.report import CUTS, LIMIT, METRICS, EvaluationReport, QuestionRanks, Row
from vestig.ids import repeatable_ids
from vestig.ports import Embedder, Progress
from vestig.session.opening import MEMORY_PATH, load_config, open_session

# No figure depends on a language model, which would be paid for, or on how busy the machine is.
_REPEATABLE: Final = {"llm.provider": "none", "judge.budget_ms": 60_000.0}
_PAGE: Final = 1_000
# Set by an argument of recall.
_PROFILE: Final = "recall.profile"


def evaluate(
    path: str | os.PathLike[str],
    *,
    store: str | os.PathLike[str] | None = None,
    switches: Sequence[Mapping[str, Any]] = (),
    config: str | os.PathLike[str] | Mapping[str, Any] | Config | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> EvaluationReport:
    """Asks labelled questions, and measures what recall finds and how sure it is.

    Args:
        path: a file of questions to the store in use, which is only read; or a folder with
            `queries.jsonl` and the `corpus.jsonl` that they are about (`.gz` too), which is
            imported into a store in memory.
        store: path of the store that a file is about; None = that of the configuration.
        switches: keys of recall that each make a row beside the configuration in effect.
        config: as in `vestig.open`; no language model is asked.
        embedder: an embedder object instead of the configured one.
        progress: called with (questions asked, questions in all).

    Raises:
        NotFoundError: the file, or a store at this path, does not exist.
        ValidationError: a line is no question; names it.
        ConfigError: an unknown key, or a value that it cannot take.

    Example:
        >>> import json, pathlib, tempfile
        >>> from vestig.testing import HashingEmbedder
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> memory = {"id": "u1", "text": "The red key opens the shed"}
        >>> question = {"text": "which key opens the shed?", "relevant": ["u1"]}
        >>> _ = (folder / "corpus.jsonl").write_text(json.dumps(memory))
        >>> _ = (folder / "queries.jsonl").write_text(json.dumps(question))
        >>> report = evaluate(folder, embedder=HashingEmbedder())
        >>> report.rows[0].metrics["hit@1"].mean
        1.0
    """
    place = Path(path_argument("path", path))
    loaded = load_config(config, None).with_keys(_REPEATABLE)
    for keys, profile in map(_without_profile, switches):
        loaded.with_overrides(keys, profile=profile)
    questions = read_questions(labelled_file(place, "queries") if place.is_dir() else place)
    with _opened(place, store, loaded, embedder) as opened:
        asked = _Asked(opened, questions, ends=_ends(opened) if place.is_dir() else {})
        changes = list({row_name(loaded, one): dict(one) for one in ({}, *switches)}.items())
        total = len(questions) * len(changes)
        rows: list[Row] = []
        for name, overrides in changes:
            done = len(rows) * len(questions)
            answers = []
            for answer in asked.answers(overrides):
                answers.append(answer)
                if progress is not None:
                    progress(done + len(answers), total)
            rows.append(_row(name, overrides, answers, against=rows[0] if rows else None))
        return EvaluationReport(
            name=place.resolve().name,
            questions=len(questions),
            unanswerable=sum(not one.relevant for one in questions),
            memories=opened.count(),
            seq=opened.admin.stats().seq,
            rows=tuple(rows),
            settings={key: entry.value for key, entry in loaded.every_value().items()},
            warnings=tuple(asked.warnings),
        )


def read_switch(text: str) -> dict[str, Any]:
    """Return the keys of `KEY=VALUE`, or of several with spaces between them, values read as YAML.

    Raises:
        ValidationError: not of this form.

    Example:
        >>> read_switch("ranking.base=cosine ranking.tracerank_power=0.0")
        {'ranking.base': 'cosine', 'ranking.tracerank_power': 0.0}
    """
    found: dict[str, Any] = {}
    for pair in text.split():
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise ValidationError("switch", pair, "KEY=VALUE")
        try:
            found[key] = read_scalar(value, key)
        except ValueError as error:
            raise ValidationError("switch", pair, "one YAML value", str(error)) from None
    if not found:
        raise ValidationError("switch", text, "KEY=VALUE")
    return found


def row_name(config: Config, overrides: Mapping[str, Any]) -> str:
    """Return the name of a row: the profile in effect, or what a switch sets."""
    pairs = (f"{key}={msgspec.json.encode(value).decode()}" for key, value in overrides.items())
    return " ".join(pairs) or config.profile


def _without_profile(overrides: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the keys that one recall sets, and the profile."""
    keys = dict(overrides)
    return keys, keys.pop(_PROFILE, None)


@contextmanager
def _opened(
    place: Path,
    path: str | os.PathLike[str] | None,
    config: Config,
    embedder: Embedder | None,
) -> Iterator[Vestig]:
    """The store that the questions are about."""
    if not place.is_dir():
        request = OpenRequest(
            path=config.settings.store.path if path is None else path,
            config=config,
            embedder=embedder,
            must_exist=True,
            read_only=True,
        )
        with Vestig(open_session(request)) as store:
            yield store
        return
    if path is not None:
        raise ValidationError("store", str(path), "none beside a folder, which is imported")
    corpus = labelled_file(place, "corpus")
    request = OpenRequest(path=MEMORY_PATH, config=config, embedder=embedder)
    with Vestig(open_session(request)) as store:
        # walks draw by id, so that two runs agree only when the ids do
        with repeatable_ids(sha256(corpus.read_bytes()).hexdigest()):
            store.import_(corpus, format="messages")
            while store.admin.enrich().done:
                pass
        yield store


def _ends(store: Vestig) -> dict[str | None, Any]:
    """Return when each scope ends."""
    found: dict[str | None, Any] = {}
    offset = 0
    while page := store.list(offset=offset, limit=_PAGE).memories:
        for memory in page:
            found[memory.scope] = max(memory.t_valid, found.get(memory.scope, memory.t_valid))
        offset += len(page)
    found[None] = max(found.values(), default=None)
    return found


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one question: of each memory that ranks, best first, the labels that it
    answers to, relevant and outdated; and how many of the results, those that recall brings
    without being asked for all, answer to a relevant label."""

    question: Question
    relevant: tuple[frozenset[str], ...]
    outdated: tuple[bool, ...]
    results: int
    right: int
    confidence: float | None

    @property
    def ranks(self) -> dict[str, int | None]:
        """The rank of each label."""
        return {
            label: next((n for n, own in enumerate(self.relevant, 1) if label in own), None)
            for label in self.question.relevant
        }

    @property
    def newest_first(self) -> bool:
        """True when a relevant result stands above all outdated ones."""
        first = next((n for n, own in enumerate(self.relevant) if own), None)
        return first is not None and not any(self.outdated[:first])


class _Asked:
    """The questions with what their labels mean."""

    def __init__(
        self, store: Vestig, questions: Sequence[Question], ends: Mapping[str | None, Any]
    ) -> None:
        self._store = store
        self._ends = ends
        self._questions = []
        self.warnings: list[str] = []
        unknown = 0
        for one in questions:
            scopes = None if one.scope is None else (one.scope,)
            relevant, outdated = (
                Labels(store._session, labels, scopes) for labels in (one.relevant, one.outdated)
            )
            unknown += len(relevant.unknown) + len(outdated.unknown)
            self._questions.append((one, relevant, outdated))
        if unknown:
            self.warnings.append(f"{unknown} labels name no memory: they cannot be found")

    def answers(self, overrides: dict[str, Any]) -> Iterator[_Answer]:
        """Ask every question under these keys."""
        degraded: set[str] = set()
        keys, profile = _without_profile(overrides)
        for question, relevant, outdated in self._questions:
            ask = partial(
                self._store.recall,
                question.text,
                limit=LIMIT,
                scope=question.scope,
                query_time=question.date or self._ends.get(question.scope),
                until=question.until,
                profile=profile,
                config=keys,
            )
            answer, brought = ask(all=True), ask()
            places = [_ids(hit) for hit in answer.results]
            degraded.update(entry.code for entry in answer.degraded)
            yield _Answer(
                question=question,
                relevant=tuple(
                    frozenset(label for id in ids for label in relevant.of(id)) for ids in places
                ),
                outdated=tuple(any(outdated.of(id) for id in ids) for ids in places),
                results=len(brought),
                right=sum(any(relevant.of(id) for id in _ids(hit)) for hit in brought),
                confidence=answer.confidence,
            )
        if degraded:
            self.warnings.append(f"{', '.join(sorted(degraded))}: see docs/errors.md")


def _ids(hit: RecallHit) -> list[str]:
    """Return the ids of a hit and of what repeats it."""
    return [hit.id, *(one.id for one in hit.repeats)]


def _row(
    name: str, overrides: dict[str, Any], answers: Sequence[_Answer], *, against: Row | None
) -> Row:
    asked = [one for one in answers if one.question.relevant]
    categories = sorted({one.question.category for one in asked} - {""})
    wrong = [one.results > 0 for one in answers if not one.question.relevant]
    newest = [one.newest_first for one in asked if one.question.outdated]
    ranks = tuple(
        QuestionRanks(
            id=one.question.id,
            category=one.question.category,
            confidence=one.confidence,
            ranks=one.ranks,
        )
        for one in answers
    )
    row = Row(
        name=name,
        overrides=overrides,
        metrics=estimates(_columns(asked)),
        categories={
            category: estimates(
                _columns([one for one in asked if one.question.category == category])
            )
            for category in categories
        },
        newest_first=sum(newest) / len(newest) if newest else UNSET,
        answered=sum(one.right > 0 for one in asked) / len(asked) if asked else UNSET,
        unanswered=sum(wrong) / len(wrong) if wrong else UNSET,
        confidence=_confidence(answers),
        questions=ranks,
    )
    if against is None:
        return row
    found = differences(_columns(asked), _of_ranks(against))
    return msgspec.structs.replace(row, differences=found)


def _columns(answers: Sequence[_Answer]) -> dict[str, list[float]]:
    """Return each metric with one value a question."""
    return columns([one.ranks for one in answers])


def _of_ranks(row: Row) -> dict[str, list[float]]:
    return columns([one.ranks for one in row.questions if one.ranks])


def columns(ranks: Sequence[Mapping[str, int | None]]) -> dict[str, list[float]]:
    """Return each metric with one value for each question.

    Args:
        ranks: of each question, the rank of each relevant label.

    Example:
        >>> found = columns([{"a": 2, "b": None}])
        >>> found["hit@1"], found["recall@5"], found["mrr"]
        ([0.0], [0.5], [0.5])
    """
    found: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for own in ranks:
        there = [rank for rank in own.values() if rank is not None]
        first = min(there, default=None)
        found["hit@1"].append(float(first == 1))
        for cut in CUTS:
            found[f"recall@{cut}"].append(sum(rank <= cut for rank in there) / len(own))
        found["mrr"].append(0.0 if first is None else 1 / first)
    return found


def _confidence(answers: Sequence[_Answer]) -> Calibration | UnsetType:
    """Return how well the confidence knows the questions that nothing answers; UNSET where there
    are none, or no confidence."""
    sure: dict[bool, list[float]] = {True: [], False: []}
    for one in answers:
        if one.confidence is None:
            return UNSET
        sure[bool(one.question.relevant)].append(one.confidence)
    return calibration(sure[True], [sure[False]]) if all(sure.values()) else UNSET
