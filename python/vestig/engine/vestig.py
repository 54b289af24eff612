"""`class Vestig`: one open store. Every method delegates; none decides."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any, Unpack

from msgspec import UNSET

from vestig import engine
from vestig.engine.context import Context
from vestig.engine.entity_methods import EntityMethods
from vestig.engine.graph_methods import GraphMethods
from vestig.engine.opening import OpenRequest, open_context
from vestig.engine.recall_methods import RecallMethods
from vestig.fields import CommitFields, ForgetFilter, Time, UpdateFields, Words
from vestig.ports import Clock, CommitHook, Embedder, Progress, Reranker
from vestig.recall.filters import moments
from vestig.results import (
    DoctorReport,
    EnrichReport,
    ForgetReport,
    GcReport,
    ImportReport,
    MemoryDetail,
    MemoryPage,
)
from vestig.types import CommitOutcome, Event, ItemError, SupersessionRecord

__all__ = ["Vestig", "open_store"]


def open_store(
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    profile: str | None = None,
    namespace: str | None = None,
    clock: Clock | None = None,
    on_commit: CommitHook | None = None,
    read_only: bool = False,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    accept_ledger: bool = False,
    change_embedder: bool = False,
) -> Vestig:
    """Opens a store, made when absent (S-01).

    Args:
        path: directory of the store; `":memory:"` keeps everything in memory; None takes
            `store.path` of the configuration.
        config: path of a configuration file, or an object of keys that win over every file.
        profile: recall profile of this store (R-15).
        namespace: the wall in which all calls act unless they name another (D-11).
        clock: a function giving the current time; for tests and replays.
        on_commit: called with every outcome (C-11).
        read_only: changes no file; writes raise `StoreLockedError`.
        embedder, reranker: an object instead of the configured one.
        accept_ledger: takes a ledger as it stands that is older than its witness or its
            projection, which are made again from it (D-10). What is missing stays missing.
        change_embedder: opens a store whose vectors are of another model, for
            `rebuild(embeddings=True)`; until then nothing is embedded.

    Raises:
        ConfigError, EmbeddingMismatchError, StoreDamagedError, StoreLockedError.

    Example:
        >>> import vestig
        >>> from vestig.testing import HashingEmbedder
        >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        ...     outcome = store.commit("Deploys run on Fridays at noon")
        ...     store.recall("when do deploys run?").results[0].content
        'Deploys run on Fridays at noon'
    """
    request = OpenRequest(
        config=config,
        profile=profile,
        namespace=namespace,
        clock=clock,
        on_commit=on_commit,
        read_only=read_only,
        embedder=embedder,
        reranker=reranker,
        accept_ledger=accept_ledger,
        change_embedder=change_embedder,
    )
    return Vestig(open_context(path, request))


class Vestig(RecallMethods, EntityMethods, GraphMethods):
    """One open store; thread-safe. Made by `vestig.open`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __enter__(self) -> Vestig:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the store; idempotent. Calls after it raise `ConflictError`."""
        context = self._context
        if not context.closed:
            context.closed = True
            context.keeper.close()
            context.ledger.close()

    # --- writing ---------------------------------------------------------------------------

    def commit(self, content: str, **fields: Unpack[CommitFields]) -> CommitOutcome:
        """Stores one memory, or says why not: new, repeat, near repeat or refused (spec C).

        Raises:
            ValidationError, HygieneError (with `strict=True`), NotFoundError and ConflictError
            (`supersedes`), ProviderError (embedder), StoreLockedError. Nothing is written then.
        """
        return engine.committing.commit(self._context, content, dict(fields))

    def commit_many(
        self, items: Iterable[str | Mapping[str, Any]]
    ) -> list[CommitOutcome | ItemError]:
        """One outcome or error per item, in order; one embedding batch, a transaction per 1,000
        items (C-01). An item is a text or an object of `commit`'s fields."""
        return engine.committing.commit_many(self._context, items)

    def deprecate(
        self,
        id: str,
        reason: str = "Manual deprecation",
        t_invalid: Time = None,
        *,
        namespace: str | None = None,
    ) -> engine.changing.StateChange:
        """Withdraws a memory; with `t_invalid` its fact ended then (L-02)."""
        return engine.changing.deprecate(
            self._context, id, reason=reason, t_invalid=t_invalid, namespace=namespace
        )

    def supersede(
        self,
        old: str,
        new: str,
        reason: str = "",
        t_invalid: Time = None,
        *,
        namespace: str | None = None,
    ) -> SupersessionRecord:
        """Marks `new` as the successor of `old` (L-03)."""
        return engine.changing.supersede(
            self._context, old, new, reason=reason, t_invalid=t_invalid, namespace=namespace
        )

    def pin(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> engine.changing.StateChange:
        """Marks a memory as never to be lost (L-06)."""
        return engine.changing.simple(self._context, id, "pin", reason=reason, namespace=namespace)

    def unpin(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> engine.changing.StateChange:
        """Takes the pin away (L-06)."""
        return engine.changing.simple(
            self._context, id, "unpin", reason=reason, namespace=namespace
        )

    def archive(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> engine.changing.StateChange:
        """Hides a memory from ordinary reads (L-05)."""
        return engine.changing.simple(
            self._context, id, "archive", reason=reason, namespace=namespace
        )

    def restore(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> engine.changing.StateChange:
        """Brings an archived memory back (L-05)."""
        return engine.changing.simple(
            self._context, id, "restore", reason=reason, namespace=namespace
        )

    def update(
        self, id: str, *, namespace: str | None = None, **fields: Unpack[UpdateFields]
    ) -> engine.updating.UpdateResult:
        """Changes fields of a memory; another content is a new memory that supersedes it (L-13)."""
        return engine.updating.update(self._context, id, dict(fields), namespace=namespace)

    def forget(
        self,
        ids: str | Sequence[str] | Mapping[str, Any] | None = None,
        *,
        force: bool = False,
        dry_run: bool = False,
        actor: str | None = None,
        namespace: str | None = None,
        **filter: Unpack[ForgetFilter],
    ) -> ForgetReport:
        """Removes memories for good: rows, events, links, and every byte of them in every file of
        the store, which is searched to prove it (L-10). Backups and exports are other files.

        Args:
            ids: one id, a list of ids, or an object of filters; filters may also be named.
            force: pinned memories too.
            dry_run: reports what would go and keeps it.
            actor: who forgets; kept in the tombstone.

        Raises:
            NotFoundError: an unknown id; nothing is removed.
            ConflictError: a pinned memory; nothing is removed.
            ForgetIncompleteError: the memories are deleted, but bytes of them are still in a file,
                or others still read an older state; `forget_finish` repeats the erase.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     id = store.commit("The spare key lies under the pot").memory_id
            ...     report = store.forget(id)
            ...     len(report.memory_ids), report.residues, store.count()
            (1, 0, 0)
        """
        return engine.forgetting.forget(
            self._context,
            ids,
            dict(filter),
            force=force,
            dry_run=dry_run,
            actor=actor,
            namespace=namespace,
        )

    def forget_finish(self) -> ForgetReport:
        """Erases and proves again what was forgotten but not proved to be gone (L-10, L-17)."""
        return engine.forgetting.forget_finish(self._context)

    def record_access(self, ids: Sequence[str], *, namespace: str | None = None) -> int:
        """One access of each of these memories (L-12); how many."""
        return engine.changing.record_access(self._context, ids, namespace)

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
        """One memory with its vector's head, sources, events and chain; `expand=1` adds the
        entities that it mentions and the memories related to it."""
        at = moments(self._context.now_us(), as_of=as_of, known_at=known_at, valid_at=valid_at)
        return engine.reading.show(
            self._context,
            id,
            at,
            namespace=namespace,
            include_expired=include_expired,
            expand=expand,
            touch=touch,
        )

    def events(
        self, id: str, *, namespace: str | None = None, limit: int | None = None
    ) -> list[Event]:
        """The log of one memory, oldest first (D-04)."""
        return engine.reading.events(self._context, id, namespace=namespace, limit=limit)

    def supersession_chain(
        self, id: str, *, namespace: str | None = None
    ) -> list[SupersessionRecord]:
        """Records of the chain that a memory belongs to, oldest to newest (L-04)."""
        return engine.reading.chain(self._context, id, namespace=namespace)

    def list(
        self,
        offset: int = 0,
        limit: int = 20,
        *,
        status: Words = None,
        kind: str | None = None,
        retention_policy: str | None = None,
        pinned: bool | None = None,
        tags: Words = None,
        scope: Any = UNSET,
        include_expired: bool = False,
        order_by: str = "created_at",
        descending: bool = True,
        namespace: str | None = None,
        as_of: Time = None,
        known_at: Time = None,
        valid_at: Time = None,
    ) -> MemoryPage:
        """One page of memories and how many there are in all (L-15)."""
        at = moments(self._context.now_us(), as_of=as_of, known_at=known_at, valid_at=valid_at)
        listing = engine.reading.listing_of(
            at,
            offset=offset,
            limit=limit,
            status=status,
            kind=kind,
            retention_policy=retention_policy,
            pinned=pinned,
            tags=tags,
            scope=scope,
            include_expired=include_expired,
            order_by=order_by,
            descending=descending,
        )
        return engine.reading.page(self._context, namespace, at, listing)

    def count(self, **filters: Any) -> int:
        """How many memories a full listing with these filters gives (L-15)."""
        for name in ("offset", "limit"):
            filters.pop(name, None)
        return self.list(limit=1, **filters).total

    # --- upkeep ----------------------------------------------------------------------------

    def enrich(self, limit: int | None = None, *, retry_failed: bool = False) -> EnrichReport:
        """Works due jobs of this namespace (C-12)."""
        return engine.enriching.enrich(self._context, limit, retry_failed=retry_failed)

    def gc(self, dry_run: bool = False) -> GcReport:
        """Removes sources that produced nothing and edges without ends (L-11)."""
        return engine.forgetting.gc(self._context, dry_run=dry_run)

    def stats(self, *, namespace: str | None = None) -> dict[str, Any]:
        """Counts, seq and bytes of the store (S-01)."""
        return engine.maintaining.stats(self._context, namespace)

    def metrics(self) -> dict[str, float]:
        """Counters since open (S-08)."""
        return engine.maintaining.metrics(self._context)

    def doctor(self) -> DoctorReport:
        """Every check of the store; changes nothing (S-08)."""
        return engine.maintaining.doctor(self._context)

    def rebuild(
        self,
        *,
        embeddings: bool = False,
        tokens: bool = False,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Makes the projection again from the ledger alone (D-10); `embeddings=True` embeds every
        text again with the configured embedder (D-13), `tokens=True` makes token vectors for the
        memories that lack them where late interaction counts (Q-05). Either goes on where it was
        interrupted."""
        return engine.maintaining.rebuild(
            self._context, embeddings=embeddings, tokens=tokens, progress=progress
        )

    def compact(self) -> dict[str, Any]:
        """Merges all segments of the projection into one, while others read and write (D-10)."""
        return engine.maintaining.compact(self._context)

    def export(
        self, target: str | os.PathLike[str] | IO[str], *, all_namespaces: bool = False
    ) -> dict[str, Any]:
        """Every record as JSON lines, vectors included (D-14)."""
        return engine.maintaining.export(self._context, target, all_namespaces=all_namespaces)

    def import_(
        self,
        source: str | os.PathLike[str] | IO[str],
        *,
        format: str = "auto",
        scope: Any = UNSET,
        merge: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Reads an export, a transcript or memories from a file; resumable (D-14, I-02)."""
        return engine.importing.import_file(
            self._context, source, format=format, scope=scope, merge=merge, progress=progress
        )

    def backup(self, dest: str | os.PathLike[str]) -> dict[str, Any]:
        """A consistent copy of the store while it is in use (D-14)."""
        return engine.maintaining.backup(self._context, dest)
