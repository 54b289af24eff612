"""An open store: the state that all its operations share, the steps that every change takes around
its transaction, and secrets in the arguments of a call, masked or refused by its configuration."""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec

from vestig.config import Config
from vestig.config.weights import counting_terms
from vestig.errors import (
    ConflictError,
    EmbeddingMismatchError,
    ModelBudgetError,
    NotFoundError,
    ProviderError,
    StoreFullError,
    StoreLockedError,
    ValidationError,
    kind_of,
)
from vestig.firewall import Cleaned, SecretError, counted, without_secrets
from vestig.ids import check_id_prefix, check_namespace, id_text, is_full_id, split_ids
from vestig.ports import (
    Clock,
    CommitHook,
    Embedder,
    LanguageModel,
    Pieces,
    Reranker,
    TokenStates,
    gives_codes,
    gives_tokens,
)
from vestig.session.observer import Metrics, Observer
from vestig.session.references import unambiguous_id
from vestig.store.ledger.absent_store import WithoutStore
from vestig.store.ledger.ledger import Ledger
from vestig.store.projection.keeper import ProjectionKeeper
from vestig.store.records.readable import check_forgotten
from vestig.store.records.reads import LedgerView
from vestig.store.sqlite import files, processes
from vestig.store.sqlite.connections import id_range
from vestig.telemetry import Trace, TraceFile, current_trace, span
from vestig.times import DAY_US, duration_text, format_us, to_us
from vestig.types import Degradation, Memory

if TYPE_CHECKING:
    from vestig.repository.files import Repository
    from vestig.session.model_calls import ModelCalls
    from vestig.session.tenant import TenantCopy
    from vestig.store.records.writes import WriteTransaction


_T = TypeVar("_T")


def system_clock() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


class Cache(Protocol):
    """A value that a module keeps of one open store between calls. It is made without arguments at
    its first use, and its methods are safe in several threads."""

    def drop(self, seq: int, /) -> None:
        """Drops what was read before this seq: memories were forgotten there."""


_C = TypeVar("_C", bound=Cache)


class Worker(Protocol):
    """Background work on the queue of jobs."""

    def close(self) -> None:
        """Ends it, and waits until it has ended."""


class JobRunner(Protocol):
    """Work on jobs of the queue, for a call that waits for it."""

    def __call__(
        self, session: Session, namespace: str, ids: Sequence[str], /
    ) -> list[Degradation]:
        """Tries these jobs at once; returns what degraded."""


class _Operation:
    """See `Session.operation`. A class, because a generator costs several times as much."""

    __slots__ = ("_name", "_session", "_started", "_trace", "_without_store")

    def __init__(self, session: Session, name: str, without_store: WithoutStore) -> None:
        self._session = session
        self._name = name
        self._without_store = without_store

    def __enter__(self) -> None:
        self._started = time.perf_counter()
        # the stages of a call inside of another one are the other's
        self._trace = None if current_trace() is not None else Trace()
        if self._trace is not None:
            self._trace.__enter__()
        try:
            if self._trace is not None and self._session.tenant is not None:
                self._session.follow_tenant()
            self._session.ledger.require(self._without_store)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            seconds = time.perf_counter() - self._started
            self._session.observer.finished(self._name, seconds, self._trace, error)
            if self._trace is not None and self._session.tenant is not None:
                self._session.tenant.snapshot_when_due(self._session.ledger)
        finally:
            if self._trace is not None:
                self._trace.__exit__()


def current_folder() -> str | None:
    """The folder that this process works in; None where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None


def no_folder() -> None:
    """No folder: what is asked of a server says nothing of where that was started."""


class Session:
    """Ledger, projection, embedder, clock and counters of one open store."""

    def __init__(
        self,
        *,
        config: Config,
        ledger: Ledger,
        keeper: ProjectionKeeper,
        embedder: Embedder,
        clock: Clock,
        namespace: str,
        directory: Path | None,
        hook: CommitHook | None,
        read_only: bool,
        mismatch: EmbeddingMismatchError | None = None,
        reranker: Reranker | None = None,
        language_model: LanguageModel | None = None,
        trace_file: TraceFile | None = None,
        tenant: TenantCopy | None = None,
        check_url: Callable[[str], str | None] | None = None,
    ) -> None:
        self.config = config
        self.tenant = tenant
        self.ledger = ledger
        self.keeper = keeper
        self.embedder = embedder
        self.reranker = reranker
        self.clock = clock
        self.namespace = namespace
        self.directory = directory
        self.hook = hook
        # gives the hash of what stands at the address of an anchor
        self.check_url = check_url
        self.read_only = read_only
        # set while the store waits for `rebuild(embeddings=True)`: no text may be embedded
        self.mismatch = mismatch
        self.metrics = Metrics()
        self.observer = Observer(self.metrics, trace_file, system_clock)
        self._language_model = language_model
        self._models: ModelCalls | None = None
        self._models_lock = threading.Lock()
        self.closed = False
        self.identity_known = False
        self.hook_depth = threading.local()
        # set where a call queues jobs: a worker of this store wakes up
        self.jobs_queued = threading.Event()
        # works jobs for a call that waits for them; the store's owner sets it
        self.job_runner: JobRunner | None = None
        self._caches: dict[type[Cache], Cache] = {}
        self._overridden: dict[tuple[str | None, str], Config] = {}
        # where relative paths begin; None: nowhere, as in a server
        self.folder: Callable[[], str | None] = current_folder

    @cached_property
    def counting_terms(self) -> frozenset[str]:
        """Terms of the ranking that count for any kind; the configuration of an open store stays as
        it is, so they are looked up once."""
        return counting_terms(self.config.settings)

    def run_jobs(self, namespace: str, ids: Sequence[str]) -> list[Degradation]:
        """Tries jobs that a call leaves, at once; returns what degraded. Without a runner they stay
        in the queue."""
        if not ids or self.job_runner is None:
            return []
        return self.job_runner(self, namespace, ids)

    def working_folder(self) -> str | None:
        """The folder in which files are looked at; None where there is none."""
        return self.config.settings.anchors.folder or self.folder()

    def repository(self) -> Repository | None:
        """The repository in which files are looked at; None where there is none."""
        # loaded where there are anchors: most stores have none
        from vestig.repository.files import repository_at

        folder = self.working_folder()
        return None if folder is None else repository_at(folder)

    @property
    def has_model(self) -> bool:
        """Return whether a language model is configured. It may still fail."""
        return self._language_model is not None

    @property
    def models(self) -> ModelCalls:
        """Calls of the language model, made at the first use: most processes have none."""
        if self._models is None:
            from vestig.session.model_calls import ModelCalls

            with self._models_lock:
                if self._models is None:
                    self._models = ModelCalls(
                        self.config.settings,
                        self._language_model,
                        metrics=self.metrics,
                        reserve=self._reserve_calls,
                    )
                    if self.closed:
                        self._models.close()
        return self._models

    def close(self, worker: Worker | None = None) -> None:
        """Releases what is open, once `worker` has ended; idempotent."""
        if self.closed:
            return
        self.closed = True
        if not processes.is_usable():
            return  # what is open here is the parent's
        self._end_waits()
        if worker is not None:
            worker.close()
        with processes.inside():
            if self.tenant is not None:
                self.tenant.end_following()
            self.keeper.close()
            self.ledger.close()
            if self.tenant is not None:
                self.tenant.close()
            self.observer.close()

    def _end_waits(self) -> None:
        """Breaks off every wait for a language model; no further call is sent."""
        with self._models_lock:
            if self._models is not None:
                self._models.close()

    def now_us(self) -> int:
        """Microseconds by the injected clock.

        Raises:
            ValidationError: the clock raised, or gave no time.
        """
        try:
            moment = self.clock()
        except Exception as error:  # the caller's code may raise anything
            raise ValidationError(
                "clock", kind_of(error), "a function that returns a datetime", "it raised"
            ) from error
        if not isinstance(moment, datetime):
            raise ValidationError("clock", kind_of(moment), "a function that returns a datetime")
        try:
            return to_us(moment)
        except Exception as error:  # a time zone is code of the caller too
            raise ValidationError(
                "clock", kind_of(error), "a datetime whose zone gives an offset"
            ) from error

    def _reserve_calls(self, count: int) -> bool:
        """Takes calls of the language model out of today's budget; False = it does not hold them.
        Without a limit nothing is written.

        Raises:
            ModelBudgetError: it cannot be written.
        """
        limit = self.config.settings.llm.max_calls_per_day
        if limit is None:
            return True
        day = self.now_us() // DAY_US
        try:
            return self.ledger.reserve_model_calls(day, count, limit)
        except (StoreLockedError, StoreFullError) as error:
            raise ModelBudgetError(
                f"llm.max_calls_per_day: a call cannot be counted: {error}"
            ) from error

    def follow_tenant(self, min_position: int | None = None) -> None:
        """Brings the copy of a tenant up to date; one that had to be built anew takes the place of
        the old one, which calls under way go on to read.

        Raises:
            StoreLockedError: PostgreSQL has not answered for too long, or has no such position.
            NotFoundError: the tenant is gone.
        """
        assert self.tenant is not None
        fresh = self.tenant.refresh(self.ledger, min_position)
        if fresh is not None:
            self.ledger, self.keeper = fresh
            self._caches = {}
        if self.tenant.copy.take_unproved():
            self._caches = {}
            self.tenant.erase_forgotten_elsewhere(self.ledger, self.keeper)

    def cache(self, kind: type[_C]) -> _C:
        """The cache of this kind."""
        found = self._caches.get(kind)
        if not isinstance(found, kind):
            found = kind()
            # another thread may have been first
            first = self._caches.setdefault(kind, found)
            return first if isinstance(first, kind) else found
        return found

    def drop_cached(self, seq: int) -> None:
        """Every cache drops what was read before this seq."""
        for cache in list(self._caches.values()):
            cache.drop(seq)

    def check_open(self) -> None:
        """Raises:
        ConflictError: the store is closed.
        """
        if self.closed:
            raise ConflictError("this store is closed: open it again with vestig.open(…)")

    def operation(
        self, name: str, *, without_store: WithoutStore = "empty"
    ) -> AbstractContextManager[None]:
        """Counts and times one public call; errors pass through. `without_store`: what it does on
        a path without a store."""
        self.check_open()
        return _Operation(self, name, without_store)

    @contextmanager
    def freeing_space(self) -> Iterator[None]:
        """Around a call that frees space: on a full disk it is lent what the store keeps in
        reserve."""
        folder = None if self.read_only else self.directory
        if folder is not None and files.is_short_of_space(folder):
            files.release_reserve(folder)
            self.ledger.reopen_readers()
        try:
            yield
        finally:
            if folder is not None and self.ledger.missing is None:
                files.keep_reserve(folder)

    def in_namespace(self, namespace: object) -> str:
        """The call's namespace, else the store's."""
        return self.namespace if namespace is None else check_namespace(namespace)

    def effective(self, overrides: Mapping[str, Any] | None, profile: str | None) -> Config:
        """Configuration of one call; equal overrides are resolved once."""
        if overrides is None and profile is None:
            return self.config
        if overrides is not None and not isinstance(overrides, Mapping):
            raise ValidationError("config", overrides, "an object of configuration keys")
        try:
            key = (profile, repr(sorted(overrides.items(), key=str)) if overrides else "")
        except RecursionError:
            raise ValidationError(
                "config", kind_of(overrides), "an object that is not nested so deeply"
            ) from None
        found = self._overridden.get(key)
        if found is None:
            if len(self._overridden) >= 64:
                self._overridden.clear()
            found = self.config.with_overrides(overrides or {}, profile=profile)
            self._overridden[key] = found
        return found

    def embed(self, texts: list[str]) -> list[bytes]:
        """Vectors of texts, by the store's embedder.

        Raises:
            ProviderError: the embedder failed; counted.
            EmbeddingMismatchError: the store's vectors are of another model.
        """
        return self._embedded(self.embedder.embed, texts)

    def embed_tokens(self, texts: list[str]) -> list[tuple[bytes, TokenStates]]:
        """Vectors of texts with hidden states of their word pieces, by an embedder that gives them.

        Raises:
            ProviderError, EmbeddingMismatchError: as `embed`.
        """
        assert gives_tokens(self.embedder), "called only with an embedder that has them"
        return self._embedded(self.embedder.embed_tokens, texts)

    def embed_codes(self, texts: list[str]) -> list[tuple[bytes, Pieces]]:
        """Vectors of texts with codes of their word pieces, by an embedder that gives states.

        Raises:
            ProviderError, EmbeddingMismatchError: as `embed`.
        """
        assert gives_codes(self.embedder), "called only with an embedder that has them"
        return self._embedded(self.embedder.embed_codes, texts)

    def _embedded(self, embed: Callable[[list[str]], list[_T]], texts: list[str]) -> list[_T]:
        if self.mismatch is not None:
            raise self.mismatch
        try:
            with span("embed", texts=len(texts)):
                return embed(texts)
        except ProviderError:
            self.metrics.add("vestig_errors_total", operation="embed", error_type="network")
            raise

    def memory(self, view: LedgerView, namespace: str, id: object, field: str = "id") -> Memory:
        """The memory of a full id or an unambiguous prefix.

        Raises:
            ValidationError: no id, or ambiguous (with up to five candidates).
            NotFoundError: unknown in this namespace.
        """
        found = view.memories(namespace, [self.full_id(view, namespace, id, field)])
        if not found or not self.may_name(found[0].scope):
            raise self.not_found(view, namespace, str(id))
        return found[0]

    @property
    def scope(self) -> str | None:
        """The scope outside of which an id is unknown to its calls; None: ids of all scopes are
        known."""
        return None

    def may_name(self, scope: str | None) -> bool:
        """Return whether a call may name a memory or a document of this scope by its id."""
        return self.scope is None or self.scope == scope

    def named_ids(self, view: LedgerView, namespace: str, prefix: str, limit: int = 6) -> list[str]:
        """Ids of memories that a call may name and that start with `prefix`, ascending."""
        if self.scope is None:
            return view.ids_with_prefix(namespace, prefix, limit)
        found = view.ids_with_prefix(namespace, prefix, _ALL_IDS)
        places = view.places(namespace, found)
        return [id for id in found if self.may_name(places[id][0])][:limit]

    def not_found(self, view: LedgerView, namespace: str, id: str) -> NotFoundError:
        """The error for an id that is unknown in this namespace; says when it was forgotten, where
        its scope, which a tombstone does not have, is of no account.

        Raises:
            StoreDamagedError: the projection knows it, so that the ledger has lost it.
        """
        self._check_lost(view, namespace, id)
        when = view.forgotten_at(namespace, id) if self.scope is None else None
        return NotFoundError(
            "Memory", id, "" if when is None else f"forgotten at {format_us(when)}"
        )

    def _check_lost(self, view: LedgerView, namespace: str, prefix: str) -> None:
        low, high = id_range(prefix, "mem")
        applied = self.keeper.core.applied_seq
        packed = self.keeper.core.ids() if low <= high else b""
        at = bisect_left(range(len(packed) // 16), low, key=lambda n: packed[16 * n : 16 * n + 16])
        for raw in split_ids(packed[16 * at : 16 * (at + _LOST_MAX)]):
            row = self.keeper.core.row(raw) if raw <= high else None
            # one that is stored since the view was taken is none of its
            if row is not None and row["namespace"] == namespace and view.seq >= applied:
                ids = [id_text("mem", raw)]
                if not view.memories(namespace, ids):
                    check_forgotten(view, ids)

    def full_id(self, view: LedgerView, namespace: str, id: object, field: str = "id") -> str:
        """The full id of an id or prefix; a whole id is returned as it is."""
        text = check_id_prefix(field, id, "mem")
        if is_full_id(text, "mem"):
            return text
        found = unambiguous_id(self.named_ids(view, namespace, text), field, text)
        if found is None:
            raise self.not_found(view, namespace, text)
        return found


_ALL_IDS: Final = 2**62
# Of the ids that begin with a prefix, so many are looked for.
_LOST_MAX: Final = 8

# Writes what a call will return into the call's own transaction.
AnswerKeeper = Callable[["WriteTransaction", object], None]
_keeper: ContextVar[AnswerKeeper | None] = ContextVar("vestig_answer_keeper", default=None)


class RollBack(Exception):
    """Leaves a transaction without writing; caught outside of it."""


# Clocks of one machine's processes may differ by so much, and a writer waits for the lock.
CLOCKS_APART_US: Final = 30 * 60 * 1_000_000
# A read says so where new times stand still for longer.
LEDGER_AHEAD_US: Final = DAY_US
_HINT: Final = (
    "times go on at the clock's in a new store: `vestig export FILE`, then `vestig import FILE`"
    " there"
)


def clock_notice(behind_us: int) -> list[Degradation]:
    """The degradation of a transaction that kept the last recorded time, for times never go back.

    Args:
        behind_us: how far the clock lies behind the ledger; up to half an hour is not reported.
    """
    if behind_us <= CLOCKS_APART_US:
        return []
    detail = (
        f"the clock is {duration_text(behind_us)} behind the ledger: the last recorded time was"
        f" used, also for a new value where the one before began or ended after the clock; {_HINT}"
    )
    return [Degradation(code="clock_stepped_back", detail=detail)]


def ahead_notice(recorded_us: int, now_us: int) -> list[Degradation]:
    """The degradation of a read from a ledger whose last time lies more than a day ahead."""
    ahead_us = recorded_us - now_us
    if ahead_us <= LEDGER_AHEAD_US:
        return []
    detail = f"the ledger lies {duration_text(ahead_us)} ahead of the clock; {_HINT}"
    return [Degradation(code="clock_stepped_back", detail=detail)]


def catch_up(session: Session, degraded: list[Degradation]) -> tuple[Degradation, ...]:
    """After a durable change: the projection follows; all that degraded is counted and given."""
    degraded.extend(session.keeper.after_commit())
    session.metrics.degraded(degraded)
    return tuple(degraded)


@contextmanager
def answers_kept_by(keep: AnswerKeeper) -> Iterator[None]:
    """Within it the first change of this thread hands `keep` its transaction, before it is
    durable, and the result as it will be returned: what is written there exists exactly when the
    change does."""
    token = _keeper.set(keep)
    try:
        yield
    finally:
        _keeper.reset(token)


def keep_answer(txn: WriteTransaction, result: Callable[[], object]) -> None:
    """At the end of a change's transaction: the result is kept, where somebody asked for that."""
    keep = _keeper.get()
    if keep is not None:
        # a hook may commit within the same call
        _keeper.set(None)
        keep(txn, result())


def cleaned(session: Session, arguments: Mapping[str, Any]) -> Cleaned:
    """The arguments without secrets, as `without_secrets` has them; refusals are counted.

    Raises:
        SecretError: an argument that may not hold a secret.
    """
    mode = session.config.settings.firewall.secrets
    try:
        return without_secrets(arguments, mode)
    except SecretError as error:
        count_secrets(session, [error.rule], "refused")
        raise


_R = TypeVar("_R", bound=msgspec.Struct)


def cleaned_query(session: Session, asked: _R) -> tuple[_R, tuple[str, ...]]:
    """A call that asks something, without secrets in its `query` and `messages`, and a warning
    where there were some.

    Raises:
        SecretError: secrets are rejected.
    """
    given = {name: getattr(asked, name, None) for name in ("query", "messages")}
    clean = cleaned(session, {name: one for name, one in given.items() if one is not None})
    if not clean.rules:
        return asked, ()
    count_secrets(session, clean.rules, "masked")
    found = ", ".join(f"{one.count} × {one.rule}" for one in counted(clean.secrets))
    warning = f"secrets in the query were masked before it was used: {found}"
    return msgspec.structs.replace(asked, **clean.arguments), (warning,)


def count_secrets(session: Session, rules: Iterable[str], action: str) -> None:
    """Counts secrets by what became of them: masked, rejected with their text, or refused."""
    for rule in rules:
        session.metrics.add("vestig_secrets_total", rule=rule, action=action)
