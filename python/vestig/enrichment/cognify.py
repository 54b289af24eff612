"""Reading of stored turns and documents by a language model: window by window, those that none has
read; what it finds is stored.

Invariant: what a window adds and the end of its jobs are one transaction. Neither an embedder nor a
model is called while the write lock is held.

Invariant: which memories make a window follows from what is stored and which of them were read, so
a window that failed is made again from the same memories, alone.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from itertools import groupby
from typing import Any, Final, NamedTuple

import msgspec

from vestig.calls.upkeep import CognifyRequest
from vestig.config.schema import CognifySettings, SummarySettings
from vestig.enrichment.claim_answer import WindowAnswer
from vestig.enrichment.claim_changes import PROMPT, AnswerWriting, WrittenAnswer
from vestig.enrichment.queue_run import PAUSING
from vestig.enrichment.summary_changes import PROMPT as SUMMARY_PROMPT
from vestig.enrichment.summary_changes import SummaryAnswer, SummaryWriting
from vestig.errors import (
    ConfigError,
    ModelBudgetError,
    ModelCallError,
    ProviderError,
    VestigError,
)
from vestig.filters import filter_parts, moments
from vestig.ids import id_text, split_ids
from vestig.results import CognifyReport
from vestig.session.model_calls import ParsedAnswer, degradation_of, without_model
from vestig.session.references import resolved
from vestig.session.session import Session, catch_up
from vestig.store.records import jobs
from vestig.store.records.jobs import Readable
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import Job, JobResult
from vestig.turns import aside, give_way
from vestig.types import Degradation, ItemError, Memory, Status

_COUNTS: Final = tuple(name for name in WrittenAnswer.__struct_fields__ if name != "unknown_types")
_PURPOSE: Final = "; import, recall and the names that rules find need none"


def cognify(session: Session, asked: CognifyRequest) -> CognifyReport:
    """Reads what is to be read; a window that fails is an entry in the report.

    Raises:
        ProviderError: there is no model, or it refuses every call.
        ConfigError: the model's key or package is missing, or a template is wrong.
    """
    if not session.has_model:
        raise ProviderError(f"{without_model()}{_PURPOSE}")
    with session.operation("cognify"):
        if asked.retry_failed and not asked.dry_run and session.ledger.missing is None:
            session.ledger.retry_failed(
                session.namespace, (jobs.CLAIMS, jobs.SUMMARY), session.now_us()
            )
        plans = session.keeper.run(lambda view, core: _plans(session, view, core, asked))
        run = _Run(session, asked)
        if asked.dry_run:
            run.expect(plans)
            run.expect_summaries(_documents(session, asked))
        else:
            run.read(plans)
            run.sum_up(_documents(session, asked))
        return run.report()


def _plans(
    session: Session, view: LedgerView, core: Any, asked: CognifyRequest
) -> list[WindowPlan]:
    """The windows that are to be read."""
    chosen = _chosen(session, view, core, asked)
    readable = jobs.readable(view, session.namespace)
    return planned_windows(readable, chosen, session.config.settings.cognify)


def _documents(session: Session, asked: CognifyRequest) -> list[Document]:
    """The documents that are to be summed up."""
    settings, space = session.config.settings.summaries, session.namespace
    if not settings.enabled:
        return []

    def read(view: LedgerView, core: Any) -> list[Document]:
        chosen = _chosen(session, view, core, asked)
        return [*documents_due(view, space, jobs.readable(view, space), chosen, settings)]

    return session.keeper.run(read)


def _chosen(
    session: Session, view: LedgerView, core: Any, asked: CognifyRequest
) -> set[str] | None:
    """Ids of the memories that the filter lets through; None where there is no filter."""
    if not asked.where.given():
        return None
    parts = filter_parts(asked.where, session.namespace, moments(session.now_us()))
    raw = session.keeper.eligible(view, resolved(view, core, parts))
    return {id_text("mem", one) for one in split_ids(raw)}


class _Run:
    """One reading."""

    def __init__(self, session: Session, asked: CognifyRequest) -> None:
        self._session = session
        self._asked = asked
        self._meter = session.models.meter()
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._read = self._failed = self._left = self._summaries = self._asked_windows = 0
        self._errors: list[ItemError] = []
        self._degraded: dict[str, Degradation] = {}
        self._unknown_types: dict[str, None] = {}
        # why no window is asked about any more; None = nothing stands against it
        self._paused: Exception | None = None

    def report(self) -> CognifyReport:
        """Return what was done; where nothing could be asked, raise why.

        Raises:
            ProviderError, ConfigError: see `cognify`.
        """
        refused = self._paused is not None and not isinstance(self._paused, ModelBudgetError)
        done = self._read or self._summaries
        if refused and not done and self._paused is not None:
            raise self._paused
        return CognifyReport(
            windows_read=self._read,
            windows_failed=self._failed,
            windows_left=self._left,
            summaries_created=self._summaries,
            dry_run=self._asked.dry_run,
            costs=self._meter.report(),
            errors=tuple(self._errors),
            warnings=tuple(
                f"an entity of the type {type} was stored as a CONCEPT: the ontology has no such"
                " type, add it to entities"
                for type in self._unknown_types
            ),
            degraded=tuple(self._degraded.values()),
            **self._counts,
        )

    # --- what it would cost ------------------------------------------------------------------

    def expect(self, plans: Sequence[WindowPlan]) -> None:
        """Counts what would be asked, and what that takes without the answers."""
        for plan in plans[: self._asked.limit]:
            with self._session.ledger.read() as view:
                window = self._window(view, plan, plan.ids)
            self._left += 1
            self._asked_windows += 1
            if window.memories and not window.is_blank:
                request, _ = self._session.models.request(
                    PROMPT, window.prompt_values, answer=WindowAnswer
                )
                self._session.models.expect(request, self._meter)

    def _window(self, view: LedgerView, plan: WindowPlan, ids: Sequence[str]) -> Window:
        """The memories of these ids (of a plan), and those before them."""
        stored = view.memories(self._session.namespace, [*ids, *plan.context])
        found = {one.id: one for one in stored if one.status is Status.ACTIVE}
        memories = [found[id] for id in ids if id in found]
        context = [found[id] for id in plan.context if id in found]
        return Window(
            memories=dict(enumerate(memories, 1)),
            context=dict(enumerate(context, len(memories) + 1)),
        )

    # --- reading -----------------------------------------------------------------------------

    def read(self, plans: Sequence[WindowPlan]) -> None:
        """Asks about a few windows at once, and stores the answers in the order of the windows."""
        waiting = iter(enumerate(plans[: self._asked.limit]))
        workers = min(self._session.config.settings.enrichment.workers, max(1, len(plans)))
        asked: deque[tuple[_Taken, Future[ParsedAnswer[WindowAnswer]] | None]] = deque()
        done = 0
        try:
            while True:
                while len(asked) < workers and self._paused is None:
                    taken = self._next(waiting)
                    if taken is None:
                        break
                    asked.append((taken, None if taken.window.is_blank else self._asking(taken)))
                if not asked:
                    break
                self._end(*asked[0])
                self._asked_windows += 1
                asked.popleft()
                done += 1
                give_way(done, len(plans[: self._asked.limit]))
                if self._asked.progress is not None:
                    self._asked.progress(done, len(plans[: self._asked.limit]))
        finally:
            self._release([job for taken, _ in asked for job in taken.jobs])
        self._left = len(plans) - self._read - self._failed
        degraded = list(self._degraded.values())
        if self._read:
            catch_up(self._session, degraded)
        self._degraded = {one.code: one for one in degraded}

    def _next(self, waiting: Iterator[tuple[int, WindowPlan]]) -> _Taken | None:
        """The next window that nobody else reads; None = there is none."""
        for number, plan in waiting:
            session = self._session
            taken = jobs.take_or_make(session.ledger, session.namespace, plan.ids, session.now_us())
            if not taken:
                continue
            with session.ledger.read() as view:
                window = self._window(view, plan, [job.memory_id for job in taken])
            known = {one.id for one in window.memories.values()}
            if not known:
                self._release(taken)
                continue
            own = [job for job in taken if job.memory_id in known]
            self._release([job for job in taken if job.memory_id not in known])
            return _Taken(number=number, window=window, jobs=own)
        return None

    def _asking(self, taken: _Taken) -> Future[ParsedAnswer[WindowAnswer]]:
        """The answer about a window, asked for in a thread that keeps no process alive."""
        answer: Future[ParsedAnswer[WindowAnswer]] = Future()

        def ask() -> None:
            try:
                values = taken.window.prompt_values
                models, costs = self._session.models, self._meter
                answer.set_result(models.ask(PROMPT, values, answer=WindowAnswer, costs=costs))
            except BaseException as error:  # raised again where the answer is read
                answer.set_exception(error)

        threading.Thread(target=ask, name="vestig-cognify", daemon=True).start()
        return answer

    def _end(self, taken: _Taken, asked: Future[ParsedAnswer[WindowAnswer]] | None) -> None:
        """Stores the answer about a window and ends its jobs, or one attempt of each."""
        if asked is None:
            self._finish([JobResult(job_id=job.id) for job in taken.jobs])
            self._read += 1
            return
        with self._attempt(taken.number, taken.jobs) as failed:
            with aside():
                answer = asked.result()
            ended, counts = AnswerWriting(
                self._session, taken.window.memories, taken.jobs, answer
            ).write()
            self._read += bool(ended)
            for name in _COUNTS:
                self._counts[name] += getattr(counts, name)
            self._unknown_types.update(dict.fromkeys(counts.unknown_types))
        self._failed += bool(failed)

    @contextmanager
    def _attempt(self, number: int, jobs: Sequence[Job]) -> Iterator[list[Exception]]:
        """Around one attempt of these jobs: one that fails is an entry of the report. A fault of
        every call ends the run, and these jobs have made no attempt. What failed is in the list."""
        failed: list[Exception] = []
        try:
            yield failed
        except (ModelBudgetError, ConfigError) as error:
            self._pause(jobs, error)
        except ProviderError as error:
            if isinstance(error, ModelCallError) and error.status in PAUSING:
                self._pause(jobs, error)
                return
            failed.append(error)
            self._errors.append(ItemError(index=number, code=error.code, message=str(error)))
            self._note(error)
            self._finish([JobResult(job_id=job.id, error=str(error)) for job in jobs])

    def _pause(self, jobs: Sequence[Job], error: Exception) -> None:
        self._note(error)
        self._paused = error
        self._release(jobs)

    # --- summaries ---------------------------------------------------------------------------

    def expect_summaries(self, documents: Sequence[Document]) -> None:
        """Adds what summaries of these documents would send."""
        for document in documents[: self._calls_left]:
            passages, title = self._passages(document)
            request, _ = self._session.models.request(
                SUMMARY_PROMPT, prompt_values(title, passages), answer=SummaryAnswer
            )
            self._session.models.expect(request, self._meter)

    def sum_up(self, documents: Sequence[Document]) -> None:
        """Asks for a summary of each of these documents, and stores it."""
        session, first = self._session, self._read + self._failed
        for number, document in enumerate(documents[: self._calls_left], first):
            if self._paused is not None:
                return
            passages, title = self._passages(document)
            taken = jobs.take_or_make(
                session.ledger,
                session.namespace,
                document.ids[:1],
                session.now_us(),
                jobs.SUMMARY,
            )
            if not taken:
                continue
            with self._attempt(number, taken):
                asked = session.models.ask(
                    SUMMARY_PROMPT,
                    prompt_values(title, passages),
                    answer=SummaryAnswer,
                    costs=self._meter,
                )
                writing = SummaryWriting(
                    session, shown_passages(passages), document.source, document.older, taken[0]
                )
                self._counts["items_dropped"] += writing.write(asked, title)
                self._summaries += writing.is_written
        if self._summaries:
            catch_up(session, list[Degradation]())

    @property
    def _calls_left(self) -> int | None:
        """How many calls may follow; None = as many as there are documents."""
        limit = self._asked.limit
        return None if limit is None else max(0, limit - self._asked_windows)

    def _passages(self, document: Document) -> tuple[dict[int, Memory], str]:
        """The passages of a document by number, and its title."""
        with self._session.ledger.read() as view:
            found = {one.id: one for one in view.memories(self._session.namespace, document.ids)}
            passages = {n: found[id] for n, id in enumerate(document.ids, 1) if id in found}
            sources = [
                one
                for one in view.sources(self._session.namespace, document.ids[0])
                if one.id == document.source
            ]
        title = sources[0].metadata.get("title") if sources else None
        return passages, title if isinstance(title, str) else ""

    def _note(self, error: Exception) -> None:
        entry = degradation_of(error)
        known = self._degraded.get(entry.code)
        self._degraded[entry.code] = (
            entry if known is None else msgspec.structs.replace(known, count=known.count + 1)
        )

    def _finish(self, results: Sequence[JobResult]) -> None:
        self._session.ledger.finish_jobs(results, self._session.now_us())

    def _release(self, jobs: Sequence[Job]) -> None:
        """These jobs are due again; where the ledger cannot be written their lease frees them."""
        if jobs:
            with suppress(VestigError):
                ids = [job.id for job in jobs]
                self._session.ledger.release_jobs(ids, self._session.now_us())


class _Taken(msgspec.Struct, frozen=True, kw_only=True):
    """A window whose jobs this reading holds; `number`: among those that are to be read."""

    number: int
    window: Window
    jobs: list[Job]


# --- documents that are to be summed up -------------------------------------------------------

_CHARS_MAX: Final = 24_000


class Document(NamedTuple):
    """A document by its source, with the ids of its passages, and of the summaries that a new one
    takes the place of."""

    source: str
    ids: tuple[str, ...]
    older: tuple[str, ...]


def documents_due(
    view: LedgerView,
    namespace: str,
    readable: Sequence[Readable],
    chosen: Collection[str] | None,
    settings: SummarySettings,
) -> Iterator[Document]:
    """Documents that were read completely and have no summary of this version.

    Args:
        chosen: ids of passages, of which a document has one; None = all.
    """
    passages = [one for one in readable if not one.is_turn]
    for (scope, part_of), group in groupby(passages, lambda one: (one.scope, one.part_of)):
        members = list(group)
        ids = tuple(one.id for one in members)
        if len(ids) < settings.min_passages or any(one.state != "done" for one in members):
            continue
        if chosen is not None and not any(id in chosen for id in ids):
            continue
        source = id_text("source", bytes.fromhex(part_of))
        known = jobs.summaries(view, namespace, scope, source)
        if not any(one.is_current for one in known):
            yield Document(source, ids, tuple(one.id for one in known))


def shown_passages(passages: Mapping[int, Memory]) -> dict[int, Memory]:
    """The passages that are shown, at most 24,000 characters of them, evenly chosen."""
    total = sum(len(one.content) for one in passages.values())
    if total <= _CHARS_MAX:
        return dict(passages)
    numbers = list(passages)
    wanted = max(1, len(numbers) * _CHARS_MAX // total)
    while True:
        step = len(numbers) / wanted
        chosen = [numbers[int(at * step)] for at in range(wanted)]
        if wanted == 1 or sum(len(passages[n].content) for n in chosen) <= _CHARS_MAX:
            return {n: passages[n] for n in chosen}
        wanted -= 1


def prompt_values(title: str, passages: Mapping[int, Memory]) -> dict[str, str]:
    """Return what the prompt is given."""
    shown = shown_passages(passages)
    return {
        "title": title,
        "passages": "\n\n".join(f"[{n}] {one.content[:_CHARS_MAX]}" for n, one in shown.items()),
    }


# --- windows ----------------------------------------------------------------------------------

# Turns before a window that are shown with it.
CONTEXT_TURNS: Final = 4
_OPEN: Final = (None, "pending", "running")


class WindowPlan(NamedTuple):
    """Ids of memories that are read together, and of those that are shown before them."""

    ids: tuple[str, ...]
    context: tuple[str, ...]
    newest_us: int


def planned_windows(
    readable: Sequence[Readable], chosen: Collection[str] | None, settings: CognifySettings
) -> list[WindowPlan]:
    """The windows of memories that were not read yet, newest first.

    Args:
        readable: in their order, those that were read too.
        chosen: ids of those that may be read; None = all.
    """
    found: list[WindowPlan] = []
    for (_, _, is_turn), group in groupby(
        readable, lambda one: (one.scope, one.part_of, one.is_turn)
    ):
        members = list(group)
        for start, end in _runs(members, chosen):
            for first, last in _cuts(members[start:end], settings, turns=is_turn):
                begin = start + first
                before = members[max(0, begin - CONTEXT_TURNS) : begin] if is_turn else []
                part = members[begin : start + last]
                found.append(
                    WindowPlan(
                        tuple(one.id for one in part),
                        tuple(one.id for one in before),
                        max(one.created_us for one in part),
                    )
                )
    return sorted(found, key=lambda one: -one.newest_us)


def _runs(members: Sequence[Readable], chosen: Collection[str] | None) -> Iterator[tuple[int, int]]:
    """Where runs of neighbours begin and end that are to be read and were tried equally often."""
    at = 0
    for key, group in groupby(members, lambda one: _tried(one, chosen)):
        size = len(list(group))
        if key is not None:
            yield at, at + size
        at += size


def _tried(one: Readable, chosen: Collection[str] | None) -> int | None:
    """How often it was tried; None where it is not to be read."""
    if one.state not in _OPEN or (chosen is not None and one.id not in chosen):
        return None
    return one.attempts or 0


def _cuts(
    run: Sequence[Readable], settings: CognifySettings, *, turns: bool
) -> Iterator[tuple[int, int]]:
    """Where windows of a run begin and end."""
    start = chars = 0
    for at, one in enumerate(run):
        full = at - start >= settings.turns if turns else chars + one.chars > settings.window_chars
        if full and at > start:
            yield start, at
            start, chars = at, 0
        chars += one.chars
    if start < len(run):
        yield start, len(run)


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Memories that are read in one call by number, and those before them, whose numbers follow."""

    memories: dict[int, Memory]
    context: dict[int, Memory]

    @property
    def is_blank(self) -> bool:
        """Return whether there is nothing to read: no text has a letter or a digit."""
        return not any(char.isalnum() for one in self.memories.values() for char in one.content)

    @property
    def prompt_values(self) -> dict[str, str]:
        """Return what the prompt is given: JSON, so that no text is taken for another number."""
        title = next((one.title for one in self.memories.values() if one.title), "")
        return {
            "title": title,
            "context": _lines(self.context),
            "memories": _lines(self.memories),
        }


def _lines(memories: dict[int, Memory]) -> str:
    return "\n".join(
        msgspec.json.encode(
            {
                "number": number,
                "date": one.t_valid.date().isoformat(),
                "author": one.author,
                "role": None if one.role is None else one.role.value,
                "text": one.content,
            }
        ).decode()
        for number, one in memories.items()
    )
