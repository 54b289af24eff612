"""`class Vestig`: one open store. Every method delegates; none decides."""

from __future__ import annotations

import builtins
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import IO, TYPE_CHECKING, Any, NoReturn, Self, overload

from vestig import calls
from vestig.api.admin import Admin
from vestig.api.anchors import Anchors
from vestig.api.branches import Branches
from vestig.api.graph import Graph
from vestig.api.guards import (
    NamesUnknown,
    names_faults,
    names_faults_of_methods,
)
from vestig.api.items import Items
from vestig.api.notices import (
    warn_of_all,
    warn_of_errors,
    warn_of_items,
    warn_of_keys,
    warn_of_masked,
    warn_of_refusal,
    warned,
)
from vestig.api.rules import Rules
from vestig.api.views import Binding, ViewSession, binding_of, binds_methods
from vestig.calls.declaration import checked, given
from vestig.calls.filter import Filter, FilterFields, Time, Words
from vestig.calls.opening import FreshRequest, OpenRequest, ScopedRequest
from vestig.calls.queries import RecallRequest, RetrieveRequest
from vestig.errors import NotFoundError, StoreLockedError, ValidationError
from vestig.ids import memory_id_text
from vestig.results import ExportReport
from vestig.session.forks import apart_from_forks, apart_from_forks_of_methods
from vestig.session.opening import open_session
from vestig.session.session import Session, cleaned, count_secrets

if TYPE_CHECKING:
    from vestig.answers import RecallResult
    from vestig.arguments import Provenance
    from vestig.commit.update import UpdateResult
    from vestig.enrichment.jobs import Worker
    from vestig.memories.states import StateChange
    from vestig.ports import Clock, CommitHook, Embedder, LanguageModel, Progress, Reranker
    from vestig.results import (
        AddedDocument,
        CognifyReport,
        DeprecateReport,
        DiffReport,
        DocumentList,
        ForgetReport,
        ImportReport,
        MemoryDetail,
        MemoryPage,
    )
    from vestig.retrieve.values import RetrieveResult
    from vestig.types import (
        CommitOutcome,
        Degradation,
        Event,
        ItemError,
        Memory,
        SupersessionRecord,
    )


@names_faults
@apart_from_forks
def open_store(
    path: str | os.PathLike[str] | None = None,
    *,
    tenant: str | None = None,
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    profile: str | None = None,
    namespace: str | None = None,
    clock: Clock | None = None,
    on_commit: CommitHook | None = None,
    check_url: Callable[[str], str | None] | None = None,
    read_only: bool = False,
    init: bool = False,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    llm: LanguageModel | None = None,
    accept_ledger: bool = False,
    change_embedder: bool = False,
    worker: bool = False,
) -> Vestig:
    """Opens a store. On a path without one the first write makes it; until then reads answer as
    from an empty store and make nothing.

    Args:
        path: The directory of the store; ":memory:" keeps everything in memory; postgresql://… is
            the database of a tenant; default store.path of the configuration.
        tenant: The name of a tenant, where path is an address of PostgreSQL.
        config: Path of a configuration file, or an object of keys that win over every file.
        profile: Recall profile of this store.
        namespace: The namespace in which all calls act unless they name another.
        clock: A function giving the current time; for tests and replays.
        on_commit: Called with every outcome, after the write.
        check_url: Called with the address of an anchor; gives the hash of what stands there, or
            None.
        read_only: Change no file; writes raise `StoreLockedError`.
        init: Begin a store among other files, or where one was lost.
        embedder: An object of the Embedder port instead of the configured one.
        reranker: An object of the Reranker port instead of the configured one.
        llm: An object of the LanguageModel port instead of the configured one.
        accept_ledger: Take a ledger as it stands that is older than its witness or its projection,
            which are made again from it; what is missing stays missing.
        change_embedder: Open a store whose vectors are of another model, for
            `store.admin.rebuild(embeddings=True)`; until then nothing is embedded.
        worker: Work the queue of enrichment jobs in a background thread until the store is closed.

    Raises:
        ConfigError: a wrong configuration.
        EmbeddingMismatchError: the store's vectors are of another model.
        NotFoundError: there is no store, and `read_only`.
        SchemaVersionError: the ledger is of another schema version.
        StoreDamagedError: the ledger is damaged or lost.
        StoreLockedError: another process holds the write lock while the store is made; or a
            worker of a store that is read-only.

    Example:
        >>> import vestig
        >>> from vestig.testing import HashingEmbedder
        >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        ...     outcome = store.commit("Deploys run on Fridays at noon")
        ...     store.recall("when do deploys run?")[0].content
        'Deploys run on Fridays at noon'
    """
    asked = checked(OpenRequest, given(locals()))
    store = Vestig(open_session(asked), worker=asked.worker)
    if asked.worker and store._session.read_only:
        store.close()
        raise StoreLockedError(
            "worker: expected a store that can be written, this one is open read-only; open it"
            " for writing, or without a worker"
        )
    return store


def _run_jobs(session: Session, namespace: str, ids: Sequence[str]) -> list[Degradation]:
    # loaded where there are jobs: most calls leave none
    from vestig.enrichment.jobs import enrich_inline

    return enrich_inline(session, namespace, ids)


@names_faults_of_methods
@apart_from_forks_of_methods
@binds_methods
class Vestig(NamesUnknown):
    """One open store; thread-safe. Made by `vestig.open`.

    `store.items` has values by key, `store.rules` what binds actions, `store.graph` entities, edges
    and expansions, `store.admin` upkeep and checks.
    """

    def __init__(
        self, session: Session, *, worker: bool = False, binding: Binding | None = None
    ) -> None:
        self._session = session
        self._binding = binding
        self._worker: Worker | None = None
        session.job_runner = _run_jobs
        self.graph = Graph(session, binding)
        self.admin = Admin(session, binding)
        self.items = Items(session, binding)
        self.rules = Rules(session, binding)
        self.anchors = Anchors(session, binding)
        self.branches = Branches(session, binding)
        if worker:
            self._start_worker()

    def __enter__(self) -> Vestig:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    if not TYPE_CHECKING:  # `async with` asks for both

        def __aenter__(self) -> NoReturn:
            raise TypeError("this store is not awaited; use async with vestig.aio.open(path)")

        def __aexit__(self, *_: object) -> None: ...

        def __aiter__(self) -> NoReturn:
            raise TypeError(
                "this store is not awaited; use for memory in store, or async for with"
                " vestig.aio.open(path)"
            )

    def __repr__(self) -> str:
        session = self._session
        place = ":memory:" if session.directory is None else str(session.directory)
        if session.tenant is not None:
            place = session.tenant.text
        state = ", closed" if session.closed else ""
        scope = "" if self._binding is None else f" scope={self._binding.scope}"
        return f"<vestig.Vestig {place} namespace={session.namespace}{scope}{state}>"

    if not TYPE_CHECKING:  # a type checker knows what it takes

        def __new__(cls, session: object = None, *_: object, **__: object) -> Self:
            if not isinstance(session, Session):
                raise TypeError(
                    "a Vestig is a store that is open; use vestig.open(path), or in an event loop"
                    " await vestig.aio.open(path)"
                )
            return super().__new__(cls)

    def __len__(self) -> int:
        """The number of active memories, as `count()` gives it."""
        return self.count()

    def __bool__(self) -> bool:
        """True, also for a store without memories: it is an open store, not its content."""
        return True

    def __iter__(self) -> Iterator[Memory]:
        """The active memories that `count()` counts, in no order that says anything; what is
        stored meanwhile is not among them."""
        from vestig.memories import read

        where = None if self._binding is None else {"scope": self._binding.scopes}
        return read.every(
            self._session, checked(calls.memories.CountRequest, given({"where": where}))
        )

    def __contains__(self, name: object) -> bool:
        """True where `show` finds a memory of this id, whatever its status, or `get` a value of
        this key, which is one without a scope."""
        if not isinstance(name, str):
            return False
        try:
            if memory_id_text(name) is None:
                self.get(name)
            else:
                self.show(name)
        except (NotFoundError, ValidationError):
            return False
        return True

    def close(self) -> None:
        """Releases the store; idempotent. Calls after it raise `ConflictError`. A view closes
        nothing: it ends with its store."""
        if self._binding is None:
            self._session.close(self._worker)

    def scoped(
        self, scope: str, *, author: str | None = None, namespace: str | None = None
    ) -> Vestig:
        """A view of this store for one user, project or conversation: what its calls write has the
        scope, and what they find is of it. A call that names another scope is refused; an id of
        another is not found, as one that nothing has. `branches`, what `graph` has beside `search`,
        and what `admin` has beside `prune` act on all scopes and are refused. `graph.search` and
        `diff` leave out what has no scope: entities, and what was merged or forgotten. The entities
        that a memory mentions, and rules without a scope, are those of the namespace.

        `auto` is the scope of the project of the working folder: reads see what is kept with the
        branch that is checked out too, and a commit with an anchor in a file that the branch
        changed is kept with that.

        Args:
            scope: The scope in which it reads and writes.
            author: Who said or wrote what is stored through it and names nobody.
            namespace: The namespace to act in instead of the store's own.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     ada, bo = store.scoped("user/ada", author="Ada"), store.scoped("user/bo")
            ...     _ = ada.commit("I live in Porto", key="city")
            ...     _ = bo.commit("I live in Bergen", key="city")
            ...     ada.get("city").content, ada.get("city").author, bo.count(), store.count()
            ('I live in Porto', 'Ada', 1, 2)
        """
        asked = checked(ScopedRequest, given(locals()))
        bound = binding_of(self._session, asked.scope, asked.author)
        space = self._session.in_namespace(asked.namespace)
        return Vestig(ViewSession(self._session, space, bound), binding=bound)

    @property
    def position(self) -> int | None:
        """How many changes of its tenant this copy holds; None for a store of one machine. After a
        write it is a token: `fresh` on another machine reads at least that."""
        tenant = self._session.tenant
        return None if tenant is None else tenant.copy.position

    def fresh(self, *, min_position: int | None = None) -> int | None:
        """Reads what other machines wrote, at once and not within `fleet.max_staleness_s`.

        Args:
            min_position: A position that is there afterwards, as `position` gave it.

        Returns:
            The position that reads have from now on; None for a store of one machine, which is
            always fresh.

        Raises:
            ValidationError: no position.
            StoreLockedError: PostgreSQL does not answer, or has no such position.
        """
        asked = checked(FreshRequest, given(locals()))
        session = self._session
        session.check_open()
        tenant = session.tenant
        if tenant is None:
            return None
        tenant.copy.read_as_of_now()
        session.follow_tenant(asked.min_position)
        return tenant.copy.position

    def _start_worker(self) -> None:
        """Works the queue of jobs in the background until `close`."""
        from vestig.enrichment.jobs import Worker

        if not self._session.read_only:
            self._worker = Worker(self._session)
            self._worker.start()
            # a store that is dropped without `close` leaves no thread behind
            weakref.finalize(self, self._worker.stop)

    # --- writing ---------------------------------------------------------------------------

    def commit(
        self,
        content: str,
        *,
        author: str | None = None,
        role: str | None = None,
        session_id: str | None = None,
        sequence: int | None = None,
        source: str = "manual",
        actor: str | None = None,
        scope: str | None = None,
        namespace: str | None = None,
        provenance: Provenance | None = None,
        tags: str | Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        title: str | None = None,
        t_valid: Time = None,
        t_invalid: Time = None,
        t_ref: Time = None,
        temporal_stability: str | None = None,
        trigger: str | None = None,
        entities: str | Sequence[str | Mapping[str, Any]] | None = None,
        keywords: str | Sequence[str] | None = None,
        hypothetical_queries: str | Sequence[str] | None = None,
        claim: Mapping[str, Any] | None = None,
        key: str | None = None,
        anchor: str | Sequence[str] | None = None,
        retention_policy: str | None = None,
        retention_until: Time = None,
        pinned: bool = False,
        supersedes: str | Sequence[str] | None = None,
        on_near_dup: str | None = None,
        enrich: bool | None = None,
        strict: bool = False,
        dry_run: bool = False,
        on_commit: Callable[[CommitOutcome], None] | None = None,
    ) -> CommitOutcome:
        """Stores one memory, or says why not: new, repeat, near repeat or refused.

        Args:
            content: The text to remember, best one self-contained fact. Line breaks and indentation
                are kept.
            author: Who said or wrote it.
            role: Part in a dialogue.
            session_id: The conversation it belongs to.
            sequence: Its position in that conversation, from 0; only there is its text a duplicate.
            source: A word for where it comes from.
            actor: Who stores it; kept in the event.
            scope: A label inside the namespace, by which reads select.
            namespace: The namespace to act in instead of the store's own.
            provenance: The rest of where it comes from: an object with agent, artifact_ref,
                origin_type.
            tags: Tags, by which reads select: a list, or one text with commas.
            metadata: JSON values of the caller's own, by name.
            title: The title of the document or section it comes from.
            t_valid: When the fact began to hold; default t_ref.
            t_invalid: When the fact ended, if it did.
            t_ref: When it was said, for words such as today; default now, unknown beside t_valid.
            temporal_stability: How long such a fact holds; derived when absent.
            trigger: Why it is worth remembering.
            entities: Entities that it mentions: names, TYPE:Name, or objects with name, type,
                confidence and evidence.
            keywords: Keywords beside those found in the text.
            hypothetical_queries: Questions that it answers, stored for some triggers.
            claim: What it states of whom: an object with subject, fact_type, and any of subject_id,
                object, object_id, object_type, relationship_type, attributes, confidence, evidence.
            key: What the text is the value of, such as maria.city: it takes the place of the text
                that has the key.
            anchor: Its source, or a list of them: src/db.py:10-30, an address with a hash, or a
                memory's id; recall says when that changed.
            retention_policy: How long it is worth keeping; default lifecycle.default_policy.
            retention_until: Keep it until then; the next prune after it removes it.
            pinned: Protect it from decay and from being forgotten.
            supersedes: Ids of memories that this fact replaces.
            on_near_dup: What to do with a text that restates a known fact; default
                hygiene.near_duplicate.on_near_dup.
            enrich: Work its jobs now, or leave them to the queue; default enrichment.mode.
            strict: Raise `HygieneError` where the text is refused.
            dry_run: Say what would happen and write nothing.
            on_commit: Called with the outcome after the write, in place of open's.

        Returns:
            What became of it: `INSERTED_NEW`, `EXACT_DUPE`, `NEAR_DUPE` or `REJECTED_HYGIENE`,
            with the id of the memory that now holds the text. A refusal is false, and gives a
            `UserWarning` with its reason.

        Raises:
            ValidationError: a wrong argument.
            HygieneError: the text is refused, with `strict=True`.
            NotFoundError, ConflictError: an id in `supersedes` that cannot be replaced, or one in
                `claim` that the namespace does not hold; a key whose memory is pinned.
            ProviderError: the embedder failed.
            StoreLockedError: another process holds the write lock. Nothing is written in any of
                these cases.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     first = store.commit("Deploys run on Fridays", provenance={"agent": "ci"})
            ...     again = store.commit("Deploys run on Fridays")
            ...     first.outcome.value, again.outcome.value, again.memory_id == first.memory_id
            ('INSERTED_NEW', 'EXACT_DUPE', True)
        """
        asked = given(locals()) | {"content": content}
        from vestig.commit import pipeline

        return self._stored("commit", pipeline.commit(self._session, asked), asked)

    def commit_structured(
        self,
        topic: str,
        context: str,
        decisions: str | Sequence[str] = (),
        rationale: str | Sequence[str] = (),
        *,
        author: str | None = None,
        role: str | None = None,
        session_id: str | None = None,
        sequence: int | None = None,
        source: str = "manual",
        actor: str | None = None,
        scope: str | None = None,
        namespace: str | None = None,
        provenance: Provenance | None = None,
        tags: str | Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        title: str | None = None,
        t_valid: Time = None,
        t_invalid: Time = None,
        t_ref: Time = None,
        temporal_stability: str | None = None,
        trigger: str | None = None,
        entities: str | Sequence[str | Mapping[str, Any]] | None = None,
        keywords: str | Sequence[str] | None = None,
        hypothetical_queries: str | Sequence[str] | None = None,
        claim: Mapping[str, Any] | None = None,
        key: str | None = None,
        anchor: str | Sequence[str] | None = None,
        retention_policy: str | None = None,
        retention_until: Time = None,
        pinned: bool = False,
        supersedes: str | Sequence[str] | None = None,
        on_near_dup: str | None = None,
        enrich: bool | None = None,
        strict: bool = False,
        dry_run: bool = False,
        on_commit: Callable[[CommitOutcome], None] | None = None,
    ) -> CommitOutcome:
        """Stores one memory whose text is made of fields, so that all of them are searched and
        recalled: `Topic: T. Context. Decisions: a; b. Rationale: c; d.` The fields stay beside the
        text, in `memory.structured`; `update(id, decisions=…)` makes the text anew.

        Args:
            topic: What it is about.
            context: What was the case.
            decisions: What was decided, an item each.
            rationale: Why, an item each.
            author: Who said or wrote it.
            role: Part in a dialogue.
            session_id: The conversation it belongs to.
            sequence: Its position in that conversation, from 0; only there is its text a duplicate.
            source: A word for where it comes from.
            actor: Who stores it; kept in the event.
            scope: A label inside the namespace, by which reads select.
            namespace: The namespace to act in instead of the store's own.
            provenance: The rest of where it comes from: an object with agent, artifact_ref,
                origin_type.
            tags: Tags, by which reads select: a list, or one text with commas.
            metadata: JSON values of the caller's own, by name.
            title: The title of the document or section it comes from.
            t_valid: When the fact began to hold; default t_ref.
            t_invalid: When the fact ended, if it did.
            t_ref: When it was said, for words such as today; default now, unknown beside t_valid.
            temporal_stability: How long such a fact holds; derived when absent.
            trigger: Why it is worth remembering.
            entities: Entities that it mentions: names, TYPE:Name, or objects with name, type,
                confidence and evidence.
            keywords: Keywords beside those found in the text.
            hypothetical_queries: Questions that it answers, stored for some triggers.
            claim: What it states of whom: an object with subject, fact_type, and any of subject_id,
                object, object_id, object_type, relationship_type, attributes, confidence, evidence.
            key: What the text is the value of, such as maria.city: it takes the place of the text
                that has the key.
            anchor: Its source, or a list of them: src/db.py:10-30, an address with a hash, or a
                memory's id; recall says when that changed.
            retention_policy: How long it is worth keeping; default lifecycle.default_policy.
            retention_until: Keep it until then; the next prune after it removes it.
            pinned: Protect it from decay and from being forgotten.
            supersedes: Ids of memories that this fact replaces.
            on_near_dup: What to do with a text that restates a known fact; default
                hygiene.near_duplicate.on_near_dup.
            enrich: Work its jobs now, or leave them to the queue; default enrichment.mode.
            strict: Raise `HygieneError` where the text is refused.
            dry_run: Say what would happen and write nothing.
            on_commit: Called with the outcome after the write, in place of open's.

        Returns:
            As of `commit`. The same fields again are an `EXACT_DUPE`.

        Raises:
            ValidationError: a wrong argument; a blank topic or context. Others as `commit`.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     made = store.commit_structured(
            ...         "Queue", "Jobs were lost", ["use acks"], "it has acks"
            ...     )
            ...     memory = store.show(made.memory_id).memory
            ...     print(memory.content, memory.structured.decisions)
            Topic: Queue. Jobs were lost. Decisions: use acks. Rationale: it has acks. ('use acks',)
        """
        asked = given(locals())
        from vestig.calls.commit import CommitStructuredRequest
        from vestig.commit import pipeline

        outcome = pipeline.commit(self._session, asked, kind=CommitStructuredRequest)
        return self._stored("commit_structured", outcome, asked)

    @staticmethod
    def _stored(call: str, outcome: CommitOutcome, asked: Mapping[str, Any]) -> CommitOutcome:
        """The outcome of a commit; with a warning of a text that was refused, of secrets that were
        masked, of what a named memory leaves behind that it replaced, of a key that keeps another
        value, and of a known text that keeps other times."""
        if asked.get("dry_run"):
            return outcome
        if outcome.masked:
            warn_of_masked(call, [outcome])
        timed = asked.get("t_valid") is not None or asked.get("t_invalid") is not None
        named = asked.get("supersedes") or outcome.key is not None
        named = named or (timed and outcome.deduplicated)
        if not outcome or (named and outcome.warnings):
            warn_of_refusal(call, outcome)
            warn_of_all(call, outcome.warnings)
        return outcome

    def commit_many(
        self, items: Iterable[str | Mapping[str, Any]]
    ) -> builtins.list[CommitOutcome | ItemError]:
        """One outcome or error per item, in order; a transaction per 1,000 items, and the next
        1,000 are embedded while it is written. Earlier items exist for later ones. An entry for
        what was not stored is false, and a `UserWarning` says how many there are.

        Args:
            items: Texts, or objects of the parameters of `commit`. An iterable that is no sequence
                is read no further than what is being written.
        """
        from vestig.commit import pipeline

        results = pipeline.commit_many(self._session, items)
        if not all(results):
            warn_of_items(results)
        warn_of_masked("commit_many", results)
        warn_of_keys(results)
        return results

    def update(
        self,
        id: str,
        content: str | None = None,
        *,
        topic: str | None = None,
        context: str | None = None,
        decisions: str | Sequence[str] | None = None,
        rationale: str | Sequence[str] | None = None,
        tags: str | Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        scope: str | None = None,
        retention_policy: str | None = None,
        retention_until: Time = None,
        t_valid: Time = None,
        t_invalid: Time = None,
        temporal_stability: str | None = None,
        trigger: str | None = None,
        clear: str | Sequence[str] = (),
        namespace: str | None = None,
    ) -> UpdateResult:
        """Changes fields of a memory; another content is a new memory that supersedes it. None
        keeps a field, a name in `clear` empties it.

        Args:
            id: Id of the memory, or at least 8 characters of it.
            content: Another text: it is committed as a memory that supersedes this one and ends
                when it was to end, with keywords and entities that were given beside it; the same
                text with other white space takes the place of the memory's.
            topic: Of a structured memory: another topic.
            context: Of a structured memory: another context.
            decisions: Of a structured memory: other decisions, all of them.
            rationale: Of a structured memory: another rationale, all of it.
            tags: Tags that replace all it has.
            metadata: Other JSON values of the caller's own, all of them, by name.
            scope: A label inside the namespace, by which reads select.
            retention_policy: How long it is worth keeping; default lifecycle.default_policy.
            retention_until: Keep it until then; the next prune after it removes it.
            t_valid: When the fact began to hold; default t_ref.
            t_invalid: When the fact ended, if it did.
            temporal_stability: How long such a fact holds; derived when absent.
            trigger: Why it is worth remembering.
            clear: Names of fields to empty.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: a wrong value; a name in `clear` that is unknown, cannot be cleared,
                or also has a value.
            NotFoundError: unknown in this namespace.
            ConflictError: the memory is superseded or deprecated.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     id = store.commit("Deploys run on Fridays", tags=["infra"]).memory_id
            ...     changed = store.update(id, trigger="learning-success", clear=["tags"])
            ...     changed.fields, store.show(id).memory.tags
            (('tags', 'trigger'), ())
        """
        arguments = given(locals())
        clean = cleaned(self._session, arguments)
        # a refused text goes on to the commit, which says why
        asked = checked(calls.commit.UpdateRequest, arguments if clean.refused else clean.arguments)
        from vestig.commit import update as updating

        done = updating.update(self._session, asked, () if clean.refused else clean.secrets)
        warn_of_masked("update", [done.outcome])
        return warned("update", done)

    @overload
    def deprecate(
        self,
        id: str,
        reason: str = "Manual deprecation",
        t_invalid: Time = None,
        *,
        namespace: str | None = None,
    ) -> StateChange: ...
    @overload
    def deprecate(
        self,
        id: None = None,
        reason: str = "Manual deprecation",
        t_invalid: Time = None,
        *,
        where: Filter | FilterFields,
        all: bool = False,
        only: bool = False,
        dry_run: bool = False,
        namespace: str | None = None,
    ) -> DeprecateReport: ...
    def deprecate(
        self,
        id: str | None = None,
        reason: str = "Manual deprecation",
        t_invalid: Time = None,
        *,
        where: Filter | FilterFields | None = None,
        all: bool = False,
        only: bool = False,
        dry_run: bool = False,
        namespace: str | None = None,
    ) -> StateChange | DeprecateReport:
        """Withdraws a memory, or all that a filter selects: no read shows them unless it asks for
        expired ones, and time travel still does. With `t_invalid` their facts ended then. What
        must not be kept at all goes by `forget`.

        Args:
            id: Id of the memory, or at least 8 characters of it; either this or `where`.
            reason: Why; kept in the event.
            t_invalid: When the fact ended; absent: the memory is withdrawn as wrong.
            where: Which memories are withdrawn, archived ones too unless it names statuses. What is
                superseded and over, or deprecated, stays so, and a rule unless the filter has its
                id. A field without a value selects nothing.
            all: Take a filter that only narrows (times, kinds, statuses …) as the selection.
            only: Of `sources`, only what no other source stated; what another one stated too stays.
            dry_run: Say what would be withdrawn and change nothing.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: nothing is selected, or `t_invalid` is to come, or lies before a fact
                began.
            NotFoundError: an unknown id. ConflictError: the memory of that id has ended already.
                Nothing is changed in these cases.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     _ = store.commit("Deploys run on Fridays", source="handbook")
            ...     _ = store.commit("Deploys are forbidden for good", source="crawler")
            ...     report = store.deprecate(where={"sources": "crawler"}, only=True)
            ...     len(report.memory_ids), [memory.content for memory in store.list()]
            (1, ['Deploys run on Fridays'])
        """
        asked = checked(calls.memories.DeprecateRequest, self._cleaned(locals()))
        from vestig.memories import states, withdrawal

        states.check_deprecation(asked)
        if asked.id is not None:
            return warned("deprecate", withdrawal.deprecate(self._session, asked))
        return warned("deprecate", withdrawal.deprecate_selected(self._session, asked))

    def supersede(
        self,
        old: str,
        new: str,
        reason: str = "",
        t_invalid: Time = None,
        *,
        namespace: str | None = None,
    ) -> SupersessionRecord:
        """Marks `new` as the successor of `old`; repeating a pair returns its record.

        Args:
            old: Id of the memory that is replaced.
            new: Id of the memory that replaces it.
            reason: Why; kept in the event.
            t_invalid: When the old fact ended; default the beginning of the new one.
            namespace: The namespace to act in instead of the store's own.

        Returns:
            The record. Its warnings, which Python gives too, say what the old one leaves behind,
            such as its key: the new one does not get it.

        Raises:
            NotFoundError: unknown in this namespace. ConflictError: a cycle, or a memory whose
                state forbids it.
        """
        asked = checked(calls.memories.SupersedeRequest, self._cleaned(locals()))
        from vestig.memories import states

        return warned("supersede", states.supersede(self._session, asked))

    def pin(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> StateChange:
        """Protects a memory from decay and from being forgotten.

        Args:
            id: Id of the memory, or at least 8 characters of it.
            reason: Why; kept in the event.
            namespace: The namespace to act in instead of the store's own.
        """
        return self._simple("pin", given(locals()))

    def unpin(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> StateChange:
        """Takes the pin away.

        Args:
            id: Id of the memory, or at least 8 characters of it.
            reason: Why; kept in the event.
            namespace: The namespace to act in instead of the store's own.
        """
        return self._simple("unpin", given(locals()))

    def archive(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> StateChange:
        """Hides a memory from ordinary reads; it is still found as a duplicate.

        Args:
            id: Id of the memory, or at least 8 characters of it.
            reason: Why; kept in the event.
            namespace: The namespace to act in instead of the store's own.
        """
        return self._simple("archive", given(locals()))

    def unarchive(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> StateChange:
        """Brings an archived memory back.

        Args:
            id: Id of the memory, or at least 8 characters of it.
            reason: Why; kept in the event.
            namespace: The namespace to act in instead of the store's own.
        """
        return self._simple("unarchive", given(locals()))

    def confirm(self, id: str, *, by: str, namespace: str | None = None) -> StateChange:
        """Stands for a statement of an assistant or a tool, which then counts as a user's.

        Args:
            id: Id of the memory, or at least 8 characters of it.
            by: Who stands for it; the actor of the event.
            namespace: The namespace to act in instead of the store's own.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     said = store.commit("The lease ends in May 2031", role="assistant")
            ...     before = store.count({"confirmed": True})
            ...     store.confirm(said.memory_id, by="Ada").changed, before, store.count()
            (True, 0, 1)
        """
        clean = self._cleaned(locals())
        from vestig.memories import confirmation

        asked = checked(calls.memories.ConfirmRequest, clean)
        return warned("confirm", confirmation.confirm(self._session, asked))

    def _cleaned(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that are given, without secrets."""
        clean = cleaned(self._session, given(arguments))
        count_secrets(self._session, clean.rules, "masked")
        return clean.arguments

    def _simple(self, action: str, arguments: Mapping[str, Any]) -> StateChange:
        from vestig.memories import states

        asked = checked(calls.memories.StateRequest, self._cleaned(arguments))
        return warned(action, states.simple(self._session, action, asked))

    def forget(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        where: Filter | FilterFields | None = None,
        all: bool = False,
        only: bool = False,
        force: bool = False,
        summaries: str = "delete",
        dry_run: bool = False,
        actor: str | None = None,
        namespace: str | None = None,
    ) -> ForgetReport:
        """Removes memories for good: rows, events, links, and every byte of them in every file of
        the store, which is searched to prove it. Backups and exports are other files. Where a claim
        of another memory loses evidence, what was made of that goes too, and is made again: at once
        if the embedder answers, else by `admin.enrich`.

        Args:
            ids: One id, or a list of ids; either these or `where`.
            where: Which memories go, superseded, deprecated and archived ones too unless it names
                statuses, and a rule if the filter has its id. A field without a value selects
                nothing.
            all: Take a filter that only narrows (times, kinds, statuses …) as the selection.
            only: Of `sources`, only what no other source stated; what another one stated too stays.
            force: Pinned memories too.
            summaries: What becomes of the summaries that cover what goes: delete, or keep, which
                the report lists.
            dry_run: Say what would go and keep it.
            actor: Who forgets; kept in the tombstone.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: nothing is selected. NotFoundError: an unknown id.
            ConflictError: a pinned memory. Nothing is removed in these cases.
            ForgetIncompleteError: the memories are deleted, but bytes of them are still in a file,
                or others still read an older state; `admin.forget_finish` repeats the erase.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     id = store.commit("The spare key lies under the pot").memory_id
            ...     report = store.forget(id)
            ...     len(report.memory_ids), report.residues, store.count()
            (1, 0, 0)
        """
        asked = checked(calls.memories.ForgetRequest, given(locals()))
        from vestig.memories import forget as forgetting

        return warned("forget", forgetting.forget(self._session, asked))

    def record_access(self, ids: str | Sequence[str], *, namespace: str | None = None) -> int:
        """One access of each of these memories; how many.

        Args:
            ids: Ids of memories; a repeated one counts once.
            namespace: The namespace to act in instead of the store's own.
        """
        from vestig.memories import states

        return states.record_access(self._session, ids, namespace)

    # --- finding ---------------------------------------------------------------------------

    def recall(
        self,
        query: str | None = None,
        *,
        where: Filter | FilterFields | None = None,
        scope: Words = None,
        tags: Words = None,
        session_ids: Words = None,
        since: Time = None,
        until: Time = None,
        exclude_session_ids: Words = None,
        limit: int | None = None,
        offset: int = 0,
        messages: Sequence[Mapping[str, Any]] | None = None,
        query_vector: Any = None,
        silence: float | None = None,
        all: bool = False,
        profile: str | None = None,
        namespace: str | None = None,
        as_of: Time = None,
        known_at: Time = None,
        valid_at: Time = None,
        query_time: Time = None,
        seed: int | str | None = None,
        config: Mapping[str, Any] | None = None,
        expect: Words = None,
        context: bool = False,
        budget: int | None = None,
        touch: bool = False,
        include_vectors: bool = False,
        trace: bool = False,
    ) -> RecallResult:
        """The memories that answer a question, each with its reason.

        Args:
            query: The question, or words; a JSON or JSONL conversation stands for its end.
            where: Which memories take part: a `vestig.Filter`, or an object of its fields.
            scope: Only these scopes; all when absent.
            tags: Memories with any of these tags.
            session_ids: Conversations it belongs to.
            since: Facts that began, or were stated again, at or after this time.
            until: Facts that began, or were stated again, before this time, or on this day.
            exclude_session_ids: None of these conversations, such as the running one; notes outside
                any stay.
            limit: Most results; default recall.default_limit.
            offset: Results to skip.
            messages: A conversation in the place of a query: objects with content.
            query_vector: Numbers that stand in for embedding the query, as many as the store's
                vectors have.
            silence: How often a question that nothing stored answers may bring something, 0.02 to
                1.
            all: Give the best whatever they are: leave none out as no answer.
            profile: A recall profile in place of the store's.
            namespace: The namespace to act in instead of the store's own.
            as_of: What was known and true at this time: `known_at` and `valid_at` at once.
            known_at: Only what was recorded by this time.
            valid_at: Only facts that hold at this time.
            query_time: The moment at which the query is asked, for words such as yesterday; default
                now.
            seed: Seed of the walk, 0 to 9007199254740991, or "random"; default from query and
                state.
            config: Keys of the configuration for this call, of ranking and layout.
            expect: Ids expected in the result: for those missing, why, and what would bring them
                in.
            context: Add what was found as one block of text for a prompt, by session and time.
            budget: Most tokens of that block.
            touch: Count this as an access of each result.
            include_vectors: Give each result its stored vector.
            trace: Add each stage with its time and counts.

        Returns:
            A sequence of hits, best first, with the query as it was analysed, how sure the store
            is, and what degraded. A hit's score is the probability that it is part of the
            answer. `hit.reason` says why it came.

        Raises:
            ValidationError: a wrong argument, or a blank query.
            ConfigError: a wrong key in `config`, or an unknown profile.
            ProviderError: the query could not be embedded, under a profile that needs its vector.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     id = store.commit("The spare key lies under the pot").memory_id
            ...     found = store.recall("where is the spare key?", context=True, budget=300)
            ...     found[0].id == id, found.context.ids == (id,)
            (True, True)
        """
        return _recall_road()(self._session, checked(RecallRequest, given(locals())))

    def recall_many(
        self,
        queries: Sequence[str],
        *,
        where: Filter | FilterFields | None = None,
        scope: Words = None,
        tags: Words = None,
        session_ids: Words = None,
        since: Time = None,
        until: Time = None,
        exclude_session_ids: Words = None,
        limit: int | None = None,
        offset: int = 0,
        silence: float | None = None,
        all: bool = False,
        profile: str | None = None,
        namespace: str | None = None,
        as_of: Time = None,
        known_at: Time = None,
        valid_at: Time = None,
        query_time: Time = None,
        seed: int | str | None = None,
        config: Mapping[str, Any] | None = None,
        expect: Words = None,
        context: bool = False,
        budget: int | None = None,
        touch: bool = False,
        include_vectors: bool = False,
    ) -> builtins.list[RecallResult | ItemError]:
        """The memories that answer each of several questions, at one state of the store: as
        `recall` of each, with one batch of the embedder and one pass over the memories.

        Args:
            queries: The questions, at most 1,000.
            where: Which memories take part: a `vestig.Filter`, or an object of its fields.
            scope: Only these scopes; all when absent.
            tags: Memories with any of these tags.
            session_ids: Conversations it belongs to.
            since: Facts that began, or were stated again, at or after this time.
            until: Facts that began, or were stated again, before this time.
            exclude_session_ids: None of these conversations, such as the running one; notes
                outside any stay.
            limit: Most results of each; default recall.default_limit.
            offset: Results to skip of each.
            silence: How often a question that nothing stored answers may bring something, 0.02 to
                1.
            all: Give the best whatever they are: leave none out as no answer.
            profile: A recall profile in place of the store's.
            namespace: The namespace to act in instead of the store's own.
            as_of: What was known and true at this time: `known_at` and `valid_at` at once.
            known_at: Only what was recorded by this time.
            valid_at: Only facts that hold at this time.
            query_time: The moment at which they are asked, for words such as yesterday; default
                now.
            seed: Seed of the walks, 0 to 9007199254740991, or "random"; default from each query
                and state.
            config: Keys of the configuration for this call, of ranking and layout.
            expect: Ids expected in each result: for those missing, why, and what would bring them
                in.
            context: Add to each what was found as one block of text for a prompt.
            budget: Most tokens of such a block.
            touch: Count this as an access of each result.
            include_vectors: Give each result its stored vector.

        Returns:
            A result for each question, in their order; an `ItemError` for one that is blank or no
            text.

        Raises:
            ValidationError: a wrong argument beside the questions.
            ConfigError: a wrong key in `config`, or an unknown profile.
            ProviderError: they could not be embedded, under a profile that needs vectors.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     _ = store.commit("The spare key lies under the pot")
            ...     _ = store.commit("The boat is painted in spring")
            ...     asked = ["where is the spare key?", "when is the boat painted?"]
            ...     [found[0].content for found in store.recall_many(asked, limit=1)]
            ['The spare key lies under the pot', 'The boat is painted in spring']
        """
        asked = given(locals())
        from vestig.recall.recall import recall_many

        asked.pop("queries", None)
        return recall_many(self._session, queries, checked(RecallRequest, asked))

    # The name that other tools use; on the command line and for agents it prints a plain list. For
    # entities, and what is linked with what, there is `graph.search`.
    search = recall

    def retrieve(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        where: Filter | FilterFields | None = None,
        scope: str | None = None,
        channel_id: str | None = None,
        max_facts: int | None = None,
        max_messages: int | None = None,
        max_iterations: int | None = None,
        budget: int | None = None,
        request_id: str | None = None,
        deadline_ms: int | None = None,
        as_of: Time = None,
        known_at: Time = None,
        valid_at: Time = None,
        query_time: Time = None,
        namespace: str | None = None,
        debug: bool = False,
    ) -> RetrieveResult:
        """Return what an agent needs to know to answer the end of a conversation: facts, turns of
        other conversations, and how sure the store is. Searches in several rounds, until a round
        brings nothing new.

        Args:
            messages: The end of a conversation, oldest first: objects with content, and author,
                timestamp, message_id where they are known. The last one is to be answered.
            where: Which memories take part: a `vestig.Filter`, or an object of its fields.
            scope: Only this scope, as where.scope: the spelling of older clients.
            channel_id: Another spelling of scope.
            max_facts: Most facts, 1 to 500; default retrieve.max_facts.
            max_messages: Most turns of conversations beside them, 1 to 100; default
                retrieve.max_messages.
            max_iterations: Most rounds of searches, 1 to 50; default retrieve.max_iterations.
            budget: Most tokens of facts and turns together, at least 40; default retrieve.budget.
            request_id: An id of the caller's for the request, at most 128 characters; made when
                absent.
            deadline_ms: Milliseconds after which nothing more is begun; default
                retrieve.deadline_ms.
            as_of: What was known and true at this time: `known_at` and `valid_at` at once.
            known_at: Only what was recorded by this time.
            valid_at: Only facts that hold at this time.
            query_time: The moment at which the query is asked, for words such as yesterday; default
                now.
            namespace: The namespace to act in instead of the store's own.
            debug: Add why each fact is there, and the steps that led to it.

        Returns:
            Facts and turns as lines of text, best first, with what was done for them. Memories that
            are messages of the conversation themselves are not among them.

        Raises:
            ValidationError: a wrong argument, or no message.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     id = store.commit("The spare key lies under the pot").memory_id
            ...     found = store.retrieve([{"content": "Where is the spare key?"}], debug=True)
            ...     found.details[0].memory_id == id, found.metadata.facts_returned
            (True, 1)
        """
        asked = checked(RetrieveRequest, given(locals()))
        from vestig.retrieve.retrieve import retrieve

        return retrieve(self._session, asked)

    # --- reading ---------------------------------------------------------------------------

    def show(
        self,
        id: str,
        *,
        namespace: str | None = None,
        include_expired: bool = True,
        expand: int = 0,
        as_of: Time = None,
        known_at: Time = None,
        valid_at: Time = None,
        touch: bool = False,
    ) -> MemoryDetail:
        """One memory with its vector's head, sources, events and chain.

        Args:
            id: Id of the memory, or at least 8 characters of it.
            namespace: The namespace to act in instead of the store's own.
            include_expired: Show it even when it is superseded or deprecated.
            expand: 1: with the entities that it mentions and the memories related to it.
            as_of: What was known and true at this time: `known_at` and `valid_at` at once.
            known_at: Only what was recorded by this time.
            valid_at: Only facts that hold at this time.
            touch: Count this as an access of each result.

        Raises:
            NotFoundError: unknown in this namespace, not known at that time, or forgotten.
        """
        asked = checked(calls.memories.ShowRequest, given(locals()))
        from vestig.memories import read

        return read.show(self._session, asked)

    def get(
        self,
        key: str,
        *,
        scope: str | None = None,
        valid_at: Time = None,
        namespace: str | None = None,
    ) -> Memory:
        """The active memory that has a key, or the memory of an id, whatever its status.

        Args:
            key: The key, or the id of a memory (mem_…).
            scope: The scope in which the key stands; none when absent.
            valid_at: The value that the key had at this time; default now.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            NotFoundError: there is none.
            ValidationError: it can be neither, or several memories begin with it; or `valid_at`
                beside an id.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     _ = store.commit("Maria lives in Porto", key="maria.city")
            ...     id = store.commit("Maria lives in Lisbon", key="maria.city").memory_id
            ...     store.get("maria.city").content, store.get(id).key, id in store, len(store)
            ('Maria lives in Lisbon', 'maria.city', True, 1)
        """
        asked = checked(calls.memories.GetRequest, given(locals()))
        from vestig.memories import read

        return read.get(self._session, asked)

    def keys(
        self,
        prefix: str | None = None,
        *,
        scope: str | Sequence[str] | None = None,
        namespace: str | None = None,
    ) -> builtins.list[str]:
        """The keys that have an active memory, each once, ascending. As every read it sees all
        scopes; `get`, `history` and `key in store` ask for a key of one scope, or of none.

        Args:
            prefix: Only keys that begin so; absent: all.
            scope: Only keys of these scopes; of all when absent.
            namespace: The namespace to act in instead of the store's own.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     _ = store.commit("Maria lives in Porto", key="maria.city")
            ...     _ = store.commit("The theme of the site is dark", key="site.theme")
            ...     store.keys(), store.keys("maria.")
            (['maria.city', 'site.theme'], ['maria.city'])
        """
        asked = checked(calls.memories.KeysRequest, given(locals()))
        from vestig.memories import read

        return read.keys(self._session, asked)

    def history(
        self, key: str, *, scope: str | None = None, namespace: str | None = None
    ) -> builtins.list[Memory]:
        """Every value that a key has had, by the time from which it holds, withdrawn and announced
        ones too, and what they replaced or were replaced by; of an id, those of its memory.
        `status`, `t_valid` and `t_invalid` say what became of each; `events` has the log of one.

        Args:
            key: The key, or the id of one of its memories (mem_…).
            scope: The scope in which the key stands; none when absent.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            NotFoundError: there is none.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     _ = store.commit("Maria lives in Porto", key="city", t_valid="2024-05-01")
            ...     _ = store.commit("Maria lives in Lisbon", key="city", t_valid="2026-05-01")
            ...     [(one.content, one.t_valid.year) for one in store.history("city")]
            [('Maria lives in Porto', 2024), ('Maria lives in Lisbon', 2026)]
        """
        asked = checked(calls.memories.HistoryRequest, given(locals()))
        from vestig.memories import read

        return read.history(self._session, asked)

    def events(
        self, id: str, *, namespace: str | None = None, limit: int | None = None
    ) -> builtins.list[Event]:
        """The log of one memory, oldest first.

        Args:
            id: Id of the memory, or at least 8 characters of it.
            namespace: The namespace to act in instead of the store's own.
            limit: Most events.
        """
        asked = checked(calls.memories.EventsRequest, given(locals()))
        from vestig.memories import read

        return read.events(self._session, asked)

    def diff(
        self,
        start: Time,
        end: Time = None,
        *,
        where: Filter | FilterFields | None = None,
        namespace: str | None = None,
    ) -> DiffReport:
        """Everything that was recorded between two times: learnt, changed, withdrawn, ended, merged
        and forgotten. The ids of `list(known_at=…)` at both differ by what the lists say, and by
        what an announced value replaced: that is listed until its day.

        Args:
            start: Only what was recorded after this time.
            end: Only what was recorded until this time; absent: until now.
            where: Of which memories. What is archived takes part with `include_archived`. What was
                forgotten, and merged entities, are those of the namespace.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: `start` after `end`; a filter by status.

        Example:
            >>> import vestig
            >>> from vestig.testing import FrozenClock, HashingEmbedder
            >>> clock = FrozenClock()
            >>> with vestig.open(":memory:", embedder=HashingEmbedder(), clock=clock) as store:
            ...     old = store.commit("The office is in Bergen").memory_id
            ...     monday = clock()
            ...     _ = clock.move(days=1)
            ...     _ = store.commit("The office is in Oslo", supersedes=[old])
            ...     found = store.diff(monday)
            ...     [memory.content for memory in found.learnt], found.changed[0].old == old
            (['The office is in Oslo'], True)
        """
        asked = checked(calls.memories.DiffRequest, given(locals()))
        from vestig.memories import diff as differing

        return differing.diff(self._session, asked)

    def supersession_chain(
        self, id: str, *, namespace: str | None = None
    ) -> builtins.list[SupersessionRecord]:
        """Records of the chain that a memory belongs to, oldest to newest.

        Args:
            id: Id of the memory, or at least 8 characters of it.
            namespace: The namespace to act in instead of the store's own.
        """
        from vestig.memories import read

        return read.chain(self._session, id, namespace=namespace)

    def list(
        self,
        where: Filter | FilterFields | None = None,
        *,
        scope: Words = None,
        tags: Words = None,
        session_ids: Words = None,
        since: Time = None,
        until: Time = None,
        exclude_session_ids: Words = None,
        offset: int = 0,
        limit: int = 20,
        order_by: str | None = None,
        descending: bool | None = None,
        as_of: Time = None,
        known_at: Time = None,
        valid_at: Time = None,
        namespace: str | None = None,
    ) -> MemoryPage:
        """One page of memories and how many there are in all; active ones unless the filter says
        otherwise.

        Args:
            where: Which memories take part: a `vestig.Filter`, or an object of its fields.
            scope: Only these scopes; all when absent.
            tags: Memories with any of these tags.
            session_ids: Conversations it belongs to.
            since: Facts that began, or were stated again, at or after this time.
            until: Facts that began, or were stated again, before this time, or on this day.
            exclude_session_ids: None of these conversations, such as the running one; notes outside
                any stay.
            offset: Memories to skip.
            limit: Memories per page, at most 1000.
            order_by: The field to sort by; session: as conversations went, by session, position and
                time.
            descending: Largest first; default true, but for session order.
            as_of: What was known and true at this time: `known_at` and `valid_at` at once.
            known_at: Only what was recorded by this time.
            valid_at: Only facts that hold at this time.
            namespace: The namespace to act in instead of the store's own.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     _ = store.commit("Deploys run on Fridays", author="Omar", tags=["infra"])
            ...     page = store.list({"authors": "Omar"}, limit=5)
            ...     page.total, page[0].content
            (1, 'Deploys run on Fridays')
        """
        asked = checked(calls.memories.ListRequest, given(locals()))
        from vestig.memories import read

        found = read.page(self._session, asked)
        return found if found.total else warned("list", found)

    def count(
        self,
        where: Filter | FilterFields | None = None,
        *,
        scope: Words = None,
        tags: Words = None,
        session_ids: Words = None,
        since: Time = None,
        until: Time = None,
        exclude_session_ids: Words = None,
        as_of: Time = None,
        known_at: Time = None,
        valid_at: Time = None,
        namespace: str | None = None,
    ) -> int:
        """How many memories a full listing with this filter has.

        Args:
            where: Which memories take part: a `vestig.Filter`, or an object of its fields.
            scope: Only these scopes; all when absent.
            tags: Memories with any of these tags.
            session_ids: Conversations it belongs to.
            since: Facts that began, or were stated again, at or after this time.
            until: Facts that began, or were stated again, before this time, or on this day.
            exclude_session_ids: None of these conversations, such as the running one; notes outside
                any stay.
            as_of: What was known and true at this time: `known_at` and `valid_at` at once.
            known_at: Only what was recorded by this time.
            valid_at: Only facts that hold at this time.
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(calls.memories.CountRequest, given(locals()))
        from vestig.memories import read

        found = read.count(self._session, asked)
        if not found and asked.where.given():
            from vestig.memories.states import selection_warnings

            space = self._session.in_namespace(asked.namespace)
            warn_of_all("count", selection_warnings(self._session, space, asked.where))
        return found

    # --- reading by a language model -------------------------------------------------------

    def cognify(
        self,
        where: Filter | FilterFields | None = None,
        *,
        scope: Words = None,
        tags: Words = None,
        session_ids: Words = None,
        since: Time = None,
        until: Time = None,
        exclude_session_ids: Words = None,
        limit: int | None = None,
        retry_failed: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> CognifyReport:
        """Lets the language model read the turns and passages that none has read, newest first, and
        stores what it finds: entities, claims with their evidence, relations between entities.
        Neighbours are read in one call; one that fails is retried alone by the next run.

        Args:
            where: Which of the turns and passages that no model has read are read: a
                `vestig.Filter`, or an object of its fields.
            scope: Only these scopes; all when absent.
            tags: Memories with any of these tags.
            session_ids: Conversations it belongs to.
            since: Facts that began, or were stated again, at or after this time.
            until: Facts that began, or were stated again, before this time, or on this day.
            exclude_session_ids: None of these conversations, such as the running one; notes outside
                any stay.
            limit: Most windows, that is calls of the model, in this run.
            retry_failed: Windows that failed for good too.
            dry_run: Count the windows and say what they would send, and its price; ask nothing.
            progress: Called with the windows done and how many there are, or None.

        Raises:
            ProviderError: there is no model, or it refuses every call.
            ConfigError: the model's key or package is missing.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder, ScriptedModel
            >>> claim = {"content": "Ann lives in Oslo", "subject": "Ann", "fact_type": "LIVES_IN",
            ...          "object": "Oslo", "attributes": {"location": "Oslo"}, "from": [1]}
            >>> model = ScriptedModel({"extract_claims": {"entities": [], "claims": [claim]}})
            >>> with vestig.open(":memory:", embedder=HashingEmbedder(), llm=model) as store:
            ...     _ = store.commit("I moved to Oslo", author="Ann", session_id="a", sequence=1)
            ...     report = store.cognify()
            ...     store.get("Ann.LIVES_IN").content, report.windows_read
            ('Ann lives in Oslo', 1)
        """
        asked = checked(calls.upkeep.CognifyRequest, given(locals()))
        from vestig.enrichment.cognify import cognify

        return cognify(self._session, asked)

    # --- files -----------------------------------------------------------------------------

    def export(
        self,
        target: str | os.PathLike[str] | IO[str],
        *,
        where: Filter | FilterFields | None = None,
        all_namespaces: bool = False,
        format: str = "jsonl",
    ) -> ExportReport:
        """Every record as JSON lines, vectors included; or the memories as a folder of Markdown.

        Args:
            target: A file's path, or a file that is open for writing; of md a folder's path.
            where: Only these memories, with what belongs to them: vectors, events, sources, the
                entities that they mention, and the edges between these.
            all_namespaces: Of every namespace, not only the store's own.
            format: jsonl: every record, as lines of JSON; md: a folder with a Markdown file a
                memory.
        """
        asked = checked(calls.files.ExportRequest, given(locals()))
        from vestig.exchange import export

        written = export.export(self._session, asked)
        report = ExportReport(
            lines=written.lines,
            records=written.records,
            cut_references=written.cut_references,
            warnings=(*written.warnings, *export.warnings_of(self._session, asked)),
        )
        return warned("export", report)

    def import_(
        self,
        files: str | os.PathLike[str] | IO[Any] | Sequence[str | os.PathLike[str] | IO[Any]],
        *,
        format: str = "auto",
        scope: str | None = None,
        source: str = "import",
        tags: str | Sequence[str] | None = None,
        author: str | None = None,
        entities: str | Sequence[str | Mapping[str, Any]] | None = None,
        recursive: bool = False,
        include_system: bool = False,
        force: bool = False,
        mirror: bool = False,
        dry_run: bool = False,
        merge: bool = False,
        partial: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Reads files of other programs, transcripts, memories or an export; resumable.

        Args:
            files: A path, a folder, a pattern such as logs/*.jsonl, an open file, or a list.
            format: What the files hold, in place of what their keys say.
            scope: The scope of records that name none.
            source: A word for where memories come from that do not say it.
            tags: Tags of every memory beside its own.
            author: Who said or wrote what names nobody.
            entities: Entities that every memory mentions: names, or TYPE:Name.
            recursive: Read the folders in a folder too.
            include_system: Take turns of the role system of a chat too.
            force: Read documents whose file has its size and time of before too.
            mirror: Make the documents of folders those that are in them: one whose file is gone
                ends, and one whose file has moved goes with it.
            dry_run: Read and count, and write nothing.
            merge: Merge an export by id into what is there.
            partial: Take what is whole of a cut or changed export; the report names the rest.
            progress: Called with the bytes done and how many there are, or None.

        Raises:
            ValidationError: a wrong argument, or a file that no format knows.
            FileNotFoundError: no such file.
            ConflictError: an export whose records differ from those that are here.
        """
        asked = checked(calls.files.ImportRequest, given(locals()))
        from vestig.exchange import importer

        report = importer.import_files(self._session, asked)
        if not asked.dry_run:
            warn_of_errors("import_", report.errors, report.errors_more)
        return report

    # --- documents -------------------------------------------------------------------------

    def add_document(
        self,
        text: str,
        *,
        title: str | None = None,
        source: str | None = None,
        format: str = "markdown",
        scope: str | None = None,
        tags: str | Sequence[str] | None = None,
        entities: str | Sequence[str | Mapping[str, Any]] | None = None,
    ) -> AddedDocument:
        """Stores a document, cut into passages that are recalled like any memory.

        Args:
            text: The whole text; it is cut into passages.
            title: Its title; default its first heading.
            source: What it is known by: a text with the same source takes its place. Without one it
                is known by its text.
            format: How it is read; text has no headings.
            scope: A label inside the namespace, by which reads select.
            tags: Tags of every passage.
            entities: Entities that every passage mentions: names, or TYPE:Name.

        Raises:
            ValidationError: a wrong argument, or a text that is blank or too long.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     first = store.add_document("# Tar\\n\\nTar is black.", source="wiki/tar")
            ...     second = store.add_document("# Tar\\n\\nTar is brown.", source="wiki/tar")
            ...     (first.added, second.added, second.ended), store.count()
            ((1, 1, 1), 1)
        """
        asked = checked(calls.files.AddDocumentRequest, given(locals()))
        from vestig.exchange import documents

        added = documents.add_document(self._session, asked)
        warn_of_errors("add_document", added.errors)
        return added

    def documents(
        self, *, scope: str | None = None, source: str | None = None, limit: int | None = None
    ) -> DocumentList:
        """The newest version of each document, the newest first.

        Args:
            scope: Only documents of this scope.
            source: Only the document of this source, or those of this file or folder, by its path.
            limit: Documents at most; default all.
        """
        asked = checked(calls.files.DocumentsRequest, given(locals()))
        from vestig.exchange import document_list

        return document_list.list_documents(self._session, asked)

    def forget_document(
        self,
        id: str,
        *,
        force: bool = False,
        dry_run: bool = False,
        actor: str | None = None,
        namespace: str | None = None,
    ) -> ForgetReport:
        """Removes all versions of a document and their passages for good, as `forget` does, also
        passages that another document holds. When its file is imported again, it comes in anew.

        Args:
            id: Id of a version of the document, or at least 8 characters of it.
            force: Pinned passages too.
            dry_run: Say what would go and keep it.
            actor: Who forgets; kept in the tombstone.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            NotFoundError: no document has this id.
            ConflictError: a pinned passage; nothing is removed.
            ForgetIncompleteError: as `forget`.
        """
        asked = checked(calls.files.ForgetDocumentRequest, given(locals()))
        from vestig.exchange import document_list

        return warned("forget_document", document_list.forget_document(self._session, asked))


@cache
def _recall_road() -> Callable[[Session, RecallRequest], RecallResult]:
    """Imported at the first recall, for a start needs none of it; an import in `recall` itself
    would look for it in each call."""
    from vestig.recall.recall import recall

    return recall
