"""`class Vestig`: one open store. Every method delegates; none decides."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Unpack

from msgspec import UNSET

from vestig.answers import RecallResult, Receipt, ReplayReport
from vestig.fields import (
    CommitFields,
    ForgetFilter,
    RecallFields,
    SearchFields,
    Time,
    UpdateFields,
    Words,
)
from vestig.filters import moments
from vestig.ports import Clock, CommitHook, Embedder, Progress, Reranker
from vestig.results import (
    DoctorReport,
    EnrichReport,
    ForgetReport,
    GcReport,
    ImportReport,
    MemoryDetail,
    MemoryPage,
)
from vestig.session.opening import OpenRequest, open_session
from vestig.session.session import Session
from vestig.types import CommitOutcome, Event, ItemError, SupersessionRecord

if TYPE_CHECKING:
    from vestig.commit.update import UpdateResult
    from vestig.graph.backfill import BackfillReport
    from vestig.graph.edges import EdgeChange, EdgeDetail, EdgePage
    from vestig.graph.entities import EntityChange, EntityDetail, EntityPage, PurgeReport
    from vestig.graph.expand import Expansion, ViaEntities, ViaRelated
    from vestig.graph.search_result import SearchResult
    from vestig.memories.states import StateChange

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
    """Opens a store, made when absent.

    Args:
        path: directory of the store; `":memory:"` keeps everything in memory; None takes
            `store.path` of the configuration.
        config: path of a configuration file, or an object of keys that win over every file.
        profile: recall profile of this store.
        namespace: the wall in which all calls act unless they name another.
        clock: a function giving the current time; for tests and replays.
        on_commit: called with every outcome.
        read_only: changes no file; writes raise `StoreLockedError`.
        embedder, reranker: an object instead of the configured one.
        accept_ledger: takes a ledger as it stands that is older than its witness or its
            projection, which are made again from it. What is missing stays missing.
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
    return Vestig(open_session(path, request))


class Vestig:
    """One open store; thread-safe. Made by `vestig.open`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Vestig:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the store; idempotent. Calls after it raise `ConflictError`."""
        context = self._session
        if not context.closed:
            context.closed = True
            context.keeper.close()
            context.ledger.close()

    # --- writing ---------------------------------------------------------------------------

    def commit(self, content: str, **fields: Unpack[CommitFields]) -> CommitOutcome:
        """Stores one memory, or says why not: new, repeat, near repeat or refused.

        Raises:
            ValidationError, HygieneError (with `strict=True`), NotFoundError and ConflictError
            (`supersedes`), ProviderError (embedder), StoreLockedError. Nothing is written then.
        """
        from vestig.commit import pipeline

        return pipeline.commit(self._session, content, dict(fields))

    def commit_many(
        self, items: Iterable[str | Mapping[str, Any]]
    ) -> list[CommitOutcome | ItemError]:
        """One outcome or error per item, in order; one embedding batch, a transaction per 1,000
        items. An item is a text or an object of `commit`'s fields."""
        from vestig.commit import pipeline

        return pipeline.commit_many(self._session, items)

    def deprecate(
        self,
        id: str,
        reason: str = "Manual deprecation",
        t_invalid: Time = None,
        *,
        namespace: str | None = None,
    ) -> StateChange:
        """Withdraws a memory; with `t_invalid` its fact ended then."""
        from vestig.memories import states

        return states.deprecate(
            self._session, id, reason=reason, t_invalid=t_invalid, namespace=namespace
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
        """Marks `new` as the successor of `old`."""
        from vestig.memories import states

        return states.supersede(
            self._session, old, new, reason=reason, t_invalid=t_invalid, namespace=namespace
        )

    def pin(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> StateChange:
        """Marks a memory as never to be lost."""
        from vestig.memories import states

        return states.simple(self._session, id, "pin", reason=reason, namespace=namespace)

    def unpin(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> StateChange:
        """Takes the pin away."""
        from vestig.memories import states

        return states.simple(self._session, id, "unpin", reason=reason, namespace=namespace)

    def archive(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> StateChange:
        """Hides a memory from ordinary reads."""
        from vestig.memories import states

        return states.simple(self._session, id, "archive", reason=reason, namespace=namespace)

    def restore(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> StateChange:
        """Brings an archived memory back."""
        from vestig.memories import states

        return states.simple(self._session, id, "restore", reason=reason, namespace=namespace)

    def update(
        self, id: str, *, namespace: str | None = None, **fields: Unpack[UpdateFields]
    ) -> UpdateResult:
        """Changes fields of a memory; another content is a new memory that supersedes it."""
        from vestig.commit import update as updating

        return updating.update(self._session, id, dict(fields), namespace=namespace)

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
        the store, which is searched to prove it. Backups and exports are other files.

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
        from vestig.memories import forget as forgetting

        return forgetting.forget(
            self._session,
            ids,
            dict(filter),
            force=force,
            dry_run=dry_run,
            actor=actor,
            namespace=namespace,
        )

    def forget_finish(self) -> ForgetReport:
        """Erases and proves again what was forgotten but not proved to be gone."""
        from vestig.memories import forget as forgetting

        return forgetting.forget_finish(self._session)

    def record_access(self, ids: Sequence[str], *, namespace: str | None = None) -> int:
        """One access of each of these memories; how many."""
        from vestig.memories import states

        return states.record_access(self._session, ids, namespace)

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
        from vestig.memories import read

        at = moments(self._session.now_us(), as_of=as_of, known_at=known_at, valid_at=valid_at)
        return read.show(
            self._session,
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
        """The log of one memory, oldest first."""
        from vestig.memories import read

        return read.events(self._session, id, namespace=namespace, limit=limit)

    def supersession_chain(
        self, id: str, *, namespace: str | None = None
    ) -> list[SupersessionRecord]:
        """Records of the chain that a memory belongs to, oldest to newest."""
        from vestig.memories import read

        return read.chain(self._session, id, namespace=namespace)

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
        """One page of memories and how many there are in all."""
        from vestig.memories import read

        at = moments(self._session.now_us(), as_of=as_of, known_at=known_at, valid_at=valid_at)
        listing = read.listing_of(
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
        return read.page(self._session, namespace, at, listing)

    def count(self, **filters: Any) -> int:
        """How many memories a full listing with these filters gives."""
        for name in ("offset", "limit"):
            filters.pop(name, None)
        return self.list(limit=1, **filters).total

    # --- upkeep ----------------------------------------------------------------------------

    def enrich(self, limit: int | None = None, *, retry_failed: bool = False) -> EnrichReport:
        """Works due jobs of this namespace."""
        from vestig.commit import enrich as enriching

        return enriching.enrich(self._session, limit, retry_failed=retry_failed)

    def gc(self, dry_run: bool = False) -> GcReport:
        """Removes sources that produced nothing and edges without ends."""
        from vestig.memories import forget as forgetting

        return forgetting.gc(self._session, dry_run=dry_run)

    def stats(self, *, namespace: str | None = None) -> dict[str, Any]:
        """Counts, seq and bytes of the store."""
        from vestig.admin import upkeep

        return upkeep.stats(self._session, namespace)

    def metrics(self) -> dict[str, float]:
        """Counters since open."""
        from vestig.admin import upkeep

        return upkeep.metrics(self._session)

    def doctor(self) -> DoctorReport:
        """Every check of the store; changes nothing."""
        from vestig.admin import upkeep

        return upkeep.doctor(self._session)

    def rebuild(
        self,
        *,
        embeddings: bool = False,
        tokens: bool = False,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Makes the projection again from the ledger alone; `embeddings=True` embeds every
        text again with the configured embedder, `tokens=True` makes token vectors for the
        memories that lack them where late interaction counts. Either goes on where it was
        interrupted."""
        from vestig.admin import upkeep

        return upkeep.rebuild(
            self._session, embeddings=embeddings, tokens=tokens, progress=progress
        )

    def compact(self) -> dict[str, Any]:
        """Merges all segments of the projection into one, while others read and write."""
        from vestig.admin import upkeep

        return upkeep.compact(self._session)

    def export(
        self, target: str | os.PathLike[str] | IO[str], *, all_namespaces: bool = False
    ) -> dict[str, Any]:
        """Every record as JSON lines, vectors included."""
        from vestig.exchange.export import export

        return export(self._session, target, all_namespaces=all_namespaces)

    def import_(
        self,
        source: str | os.PathLike[str] | IO[str],
        *,
        format: str = "auto",
        scope: Any = UNSET,
        merge: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Reads an export, a transcript or memories from a file; resumable."""
        from vestig.exchange import importer

        return importer.import_file(
            self._session, source, format=format, scope=scope, merge=merge, progress=progress
        )

    def backup(self, dest: str | os.PathLike[str]) -> dict[str, Any]:
        """A consistent copy of the store while it is in use."""
        from vestig.admin import upkeep

        return upkeep.backup(self._session, dest)

    # --- recall ----------------------------------------------------------------------

    def recall(self, query: str | None = None, **fields: Unpack[RecallFields]) -> RecallResult:
        """The memories that answer a question, each with its reason.

        Args:
            query: the question; a JSON or JSONL conversation stands for its end.
            messages: a conversation in the place of a query.
            seed: of the walk, 0 … 2⁵³ − 1, or `random`; the one used is in the result.
            expect: ids that should come; `why_not` tells of those that do not.
            receipt: adds a receipt, by which `replay_receipt` derives the ranking again.
            context: adds a block of text for a prompt, by session and time, with the neighbours
                that carry evidence.
            budget: most tokens of that block, 1,000 when absent.

        Raises:
            ValidationError, ConfigError, ProviderError.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     id = store.commit("The spare key lies under the pot").memory_id
            ...     found = store.recall("where is the spare key?", context=True, budget=300)
            ...     found.results[0].id == id, found.context.ids == (id,)
            (True, True)
        """
        from vestig.recall import recall as recalling

        found: RecallResult = recalling.recall(self._session, query, dict(fields))
        return found

    def replay_receipt(self, receipt: Receipt | Mapping[str, Any] | str) -> ReplayReport:
        """The ranking of a receipt derived again at its state of this store.

        Args:
            receipt: as `recall(receipt=True)` gave it, as an object, or as JSON.

        Raises:
            ConflictError: it comes out otherwise or cannot be derived; says why.
            ValidationError: no receipt.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     id = store.commit("The spare key lies under the pot").memory_id
            ...     receipt = store.recall("where is the key?", receipt=True).receipt
            ...     id = store.commit("The pot stands beside the back door").memory_id
            ...     store.replay_receipt(receipt).equal
            True
        """
        from vestig.recall import receipts

        report: ReplayReport = receipts.replay(self._session, receipt)
        return report

    # --- entities --------------------------------------------------------------------

    def entities(
        self,
        entity_type: str | None = None,
        *,
        offset: int = 0,
        limit: int = 20,
        include_expired: bool = False,
        namespace: str | None = None,
    ) -> EntityPage:
        """One page of the names that memories mention, the most mentioned first.

        Args:
            entity_type: only entities of this type, in any case; None = all.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     _ = store.commit("The pump is looked after by Ada Lovelace")
            ...     _ = store.commit("We asked Ada Lovelace for a new gasket")
            ...     [(one.entity.canonical_name, one.mentions) for one in store.entities()]
            [('Ada Lovelace', 2)]
        """
        from vestig.graph import entities

        return entities.list_entities(
            self._session,
            entity_type=entity_type,
            offset=offset,
            limit=limit,
            include_expired=include_expired,
            namespace=namespace,
        )

    def entity(
        self,
        id: str,
        *,
        expand: bool = False,
        include_expired: bool = False,
        namespace: str | None = None,
    ) -> EntityDetail:
        """One entity and the memories that mention it, newest first. An entity that was merged is
        what it was merged into, through any chain.

        Args:
            id: whole, or at least 8 characters after the underscore.
            expand: with the memories themselves, not only their ids.
            include_expired: the entity itself, even when it was merged or expired.

        Raises:
            NotFoundError: unknown in this namespace, or expired.
        """
        from vestig.graph import entities

        return entities.show_entity(
            self._session, id, expand=expand, include_expired=include_expired, namespace=namespace
        )

    def merge_entities(self, a: str, b: str, *, namespace: str | None = None) -> EntityChange:
        """Makes `a` another name of `b`: edges and names of `a` become those of `b`, and
        look-ups of `a` give `b`. Time travel shows both as they were.

        Raises:
            ConflictError: both are one entity already, so this would be a cycle.
            NotFoundError: an id that this namespace does not hold.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     a = store.commit("Tickets are kept by ACME Incorporated").entities[0]
            ...     b = store.commit("Invoices are sent to ACME Ltd today").entities[0]
            ...     merged = store.merge_entities(a, b)
            ...     merged.id == b, store.entity(a).id == b, merged.entity.aliases
            (True, True, ('ACME', 'ACME Incorporated'))
        """
        from vestig.graph import entities

        return entities.merge_entities(self._session, a, b, namespace=namespace)

    def expire_entity(self, id: str, *, namespace: str | None = None) -> EntityChange:
        """Hides an entity and its edges. A memory that names it again makes a new one.

        Raises:
            NotFoundError: unknown in this namespace, or expired already.
        """
        from vestig.graph import entities

        return entities.expire_entity(self._session, id, namespace=namespace)

    def purge_entities(
        self,
        ids: Sequence[str] | None = None,
        *,
        dry_run: bool = False,
        namespace: str | None = None,
    ) -> PurgeReport:
        """Removes expired and merged entities for good, with their edges and vectors. Time travel
        no longer shows them; the texts that named them stay, and only `forget` removes those.

        Args:
            ids: these; None = all of the namespace.
            dry_run: reports what would go and keeps it.

        Raises:
            NotFoundError: an unknown id. ConflictError: an entity that is not expired. Nothing is
                removed then.
        """
        from vestig.graph import entities

        return entities.purge_entities(self._session, ids, dry_run=dry_run, namespace=namespace)

    # --- names in texts ----------------------------------------------------------------------

    def extract_entities(
        self,
        *,
        reprocess: bool = False,
        batch_size: int = 500,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> BackfillReport:
        """Finds the names in memories that mention none yet, by the rules of G-03.

        Args:
            reprocess: every memory again; what is linked stays.
            batch_size: memories of one transaction.
        """
        from vestig.graph import backfill

        return backfill.backfill(
            self._session,
            reprocess=reprocess,
            batch_size=batch_size,
            dry_run=False,
            namespace=namespace,
            progress=progress,
        )

    def entity_backfill(
        self,
        *,
        dry_run: bool = False,
        batch_size: int = 500,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> BackfillReport:
        """Entities of a store that was filled without them: first the names of all memories, then
        the links. Running it again changes nothing.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> off = {"m4": {"entity_extraction": {"enabled": False}}}
            >>> with vestig.open(":memory:", embedder=HashingEmbedder(), config=off) as store:
            ...     _ = store.commit("The pump is looked after by Ada Lovelace")
            ...     store.entities().total
            0
        """
        from vestig.graph import backfill

        return backfill.backfill(
            self._session,
            reprocess=True,
            batch_size=batch_size,
            dry_run=dry_run,
            namespace=namespace,
            progress=progress,
        )

    # --- edges -----------------------------------------------------------------------

    def link(
        self,
        from_id: str,
        to_id: str,
        edge_type: str,
        *,
        relation: str | None = None,
        weight: float = 1.0,
        confidence: float | None = None,
        evidence: str | None = None,
        namespace: str | None = None,
    ) -> EdgeChange:
        """Stores an edge that the caller knows of: RELATED or SUMMARIZES between memories, or
        RELATION between entities. An edge that is there already stays as it is.

        Args:
            relation: label of a RELATION, such as WORKS_AT.
            weight: finite, at least 0; 0 is kept and never walked.
            confidence: from 0 to 1, or None.
            evidence: why; cut to `m4.entity_extraction.max_evidence_length` characters.

        Raises:
            ValidationError: names the field; for another type, who makes such edges.
            NotFoundError: an end that this namespace does not hold.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     a = store.commit("The pump failed on Monday").memory_id
            ...     b = store.commit("A gasket was ordered for it").memory_id
            ...     edge = store.link(a, b, "RELATED", weight=0.9)
            ...     edge.changed, store.link(a, b, "RELATED").id == edge.id
            (True, True)
        """
        from vestig.graph import edges as linking

        return linking.link(
            self._session,
            from_id,
            to_id,
            edge_type,
            relation=relation,
            weight=weight,
            confidence=confidence,
            evidence=evidence,
            namespace=namespace,
        )

    def unlink(self, edge_id: str, *, namespace: str | None = None) -> EdgeChange:
        """Ends an edge; time travel still shows it as it was. A computed edge that is
        ended comes back with `rebuild_edges`.

        Raises:
            NotFoundError: an edge that this namespace does not hold.
        """
        from vestig.graph import edges as linking

        return linking.unlink(self._session, edge_id, namespace=namespace)

    def edge(self, id: str, *, snippet_len: int = 60, namespace: str | None = None) -> EdgeDetail:
        """One edge, ended or not, with what its ends are called."""
        from vestig.graph import edges as linking

        return linking.edge(self._session, id, snippet_len=snippet_len, namespace=namespace)

    def edges(
        self,
        node_id: str | None = None,
        *,
        edge_type: str | None = None,
        limit: int = 20,
        include_expired: bool = False,
        snippet_len: int = 60,
        namespace: str | None = None,
    ) -> EdgePage:
        """Edges, newest first; those of one memory or entity when it is named."""
        from vestig.graph import edges as linking

        return linking.edges(
            self._session,
            node_id,
            edge_type=edge_type,
            limit=limit,
            include_expired=include_expired,
            snippet_len=snippet_len,
            namespace=namespace,
        )

    def rebuild_edges(
        self,
        edge_type: str = "RELATED",
        *,
        progress: Progress | None = None,
        namespace: str | None = None,
    ) -> dict[str, Any]:
        """Computes RELATED edges again, as commits would have made them: an edge that
        still holds keeps id and times, others end or begin. Edges of guards and callers stay. An
        interrupted run is safe to repeat."""
        from vestig.graph import related

        return related.rebuild_edges(
            self._session, edge_type, progress=progress, namespace=namespace
        )

    # --- expansion ---------------------------------------------------------------------------

    def expand_via_entities(
        self,
        ids: Sequence[str],
        limit: int = 5,
        include_expired: bool = False,
        min_confidence: float | None = None,
        *,
        namespace: str | None = None,
    ) -> builtins.list[ViaEntities]:
        """Other memories that mention the same entities, most shared first.

        Args:
            min_confidence: of both mentions; None = `m4.graph_expansion.min_confidence`.
        """
        from vestig.graph import expand as expanding

        return expanding.via_entities(
            self._session,
            ids,
            limit=limit,
            include_expired=include_expired,
            min_confidence=min_confidence,
            namespace=namespace,
        )

    def expand_via_related(
        self,
        ids: Sequence[str],
        limit: int = 5,
        include_expired: bool = False,
        min_confidence: float = 0.0,
        *,
        namespace: str | None = None,
    ) -> builtins.list[ViaRelated]:
        """Other memories with a RELATED edge to these, heaviest edge first."""
        from vestig.graph import expand as expanding

        return expanding.via_related(
            self._session,
            ids,
            limit=limit,
            include_expired=include_expired,
            min_confidence=min_confidence,
            namespace=namespace,
        )

    def expand_with_graph(
        self,
        ids: Sequence[str],
        entity_limit: int | None = None,
        related_limit: int | None = None,
        *,
        namespace: str | None = None,
    ) -> Expansion:
        """Both expansions; limits of None are those of `m4.graph_expansion`."""
        from vestig.graph import expand as expanding

        return expanding.via_both(
            self._session,
            ids,
            entity_limit=entity_limit,
            related_limit=related_limit,
            namespace=namespace,
        )

    # --- search ------------------------------------------------------------------------------

    def search(
        self,
        query: str | None = None,
        type: str = "hybrid",
        top_k: int | None = None,
        graph_depth: int | None = None,
        seed_node_ids: Words = None,
        **fields: Unpack[SearchFields],
    ) -> SearchResult:
        """Memories and entities by meaning, by links, or by both.

        Args:
            type: "vector" ranks by cosine, "graph" by 1/(1 + depth) from the seeds, "hybrid" by
                the sum. The scale is named in `score_scale`.
            top_k: most hits; None = `search.top_k`.
            graph_depth: hops from seeds or vector hits; 0 = none; None = `search.graph_depth`.
            seed_node_ids: ids of memories and entities where a graph search begins.
            fields: filters of `recall`; `kinds` of "entity" and "memory" (or MEMORY, SUMMARY);
                `decay`, `include_memory_ids`, `touch`, `trace`.

        Raises:
            ValidationError, ProviderError (the query could not be embedded).

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     id = store.commit("The pump failed on Monday").memory_id
            ...     hit = store.search("which pump failed", kinds="memory")[0]
            ...     hit.node_id == id, hit.source
            (True, 'vector')
        """
        from vestig.graph import search as searching

        given = {
            "query": query,
            "type": type,
            "top_k": top_k,
            "graph_depth": graph_depth,
            "seed_node_ids": seed_node_ids,
            **fields,
        }
        return searching.search(self._session, given)
