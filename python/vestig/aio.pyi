"""Types of `vestig.aio`, made by tests/aio_stub.py of those of the synchronous calls."""

import builtins
import os
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping, Sequence
from typing import IO, Any, Self, overload

from vestig.anchors.values import MemoryAnchors, StaleMemories
from vestig.answers import RecallResult
from vestig.api.store import Vestig
from vestig.arguments import Provenance
from vestig.branches.values import BranchChanges, BranchList, BranchMemories
from vestig.calls.filter import Filter, FilterFields, Time, Words
from vestig.commit.update import UpdateResult
from vestig.graph.elements import (
    EdgeChange,
    EdgeDetail,
    EdgePage,
    EntityChange,
    EntityDetail,
    EntityPage,
    PurgeReport,
)
from vestig.graph.neighbourhood import Expansion, Neighbourhood, ViaEntities, ViaRelated
from vestig.graph.rebuild import BackfillReport
from vestig.graph.search_result import SearchResult
from vestig.memories.states import StateChange
from vestig.ports import Clock, CommitHook, Embedder, LanguageModel, Progress, Reranker
from vestig.results import (
    AddedDocument,
    BackupReport,
    CognifyReport,
    CompactReport,
    DeprecateReport,
    DiffReport,
    DoctorReport,
    DocumentList,
    EdgeRebuildReport,
    EnrichReport,
    ExportReport,
    ForgetReport,
    GcReport,
    ImportReport,
    Item,
    ItemPage,
    MemoryDetail,
    MemoryPage,
    PruneReport,
    PutOutcome,
    RebuildReport,
    SecretsReport,
    StoreStats,
)
from vestig.retrieve.values import RetrieveResult
from vestig.rules.values import Rule, RuleCheck, RulePage, RuleSuggestions
from vestig.types import CommitOutcome, Event, ItemError, Memory, SupersessionRecord

__all__ = ["Awaitables", "Opening", "open", "wrap"]

class _Items:
    async def put(
        self,
        key: str,
        value: Any,
        *,
        scope: str | None = None,
        text: str | None = None,
        role: str | None = None,
        index: bool = True,
        expires: Time = None,
        expected: int | None = None,
        namespace: str | None = None,
    ) -> PutOutcome: ...
    async def put_many(
        self, items: Sequence[Mapping[str, Any]], *, namespace: str | None = None
    ) -> builtins.list[PutOutcome]: ...
    async def get(
        self, key: str, *, scope: str | None = None, namespace: str | None = None
    ) -> Item | None: ...
    async def delete(
        self,
        keys: str | Sequence[str] | None = None,
        *,
        scope: str | None = None,
        scope_prefix: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        actor: str | None = None,
        namespace: str | None = None,
    ) -> ForgetReport: ...
    async def list(
        self,
        scope_prefix: str | None = None,
        *,
        offset: int = 0,
        limit: int = 20,
        namespace: str | None = None,
    ) -> ItemPage: ...
    async def scopes(
        self, prefix: str | None = None, *, depth: int | None = None, namespace: str | None = None
    ) -> builtins.list[str]: ...

class _Rules:
    async def add(
        self,
        text: str,
        when: str,
        do: str = "remind",
        *,
        unless: str | None = None,
        scope: str | None = None,
        namespace: str | None = None,
    ) -> Rule: ...
    async def list(
        self,
        *,
        scope: str | None = None,
        ended: bool = False,
        offset: int = 0,
        limit: int = 20,
        namespace: str | None = None,
    ) -> RulePage: ...
    async def show(self, id: str, *, namespace: str | None = None) -> Rule: ...
    async def edit(
        self,
        id: str,
        *,
        text: str | None = None,
        when: str | None = None,
        do: str | None = None,
        unless: str | None = None,
        namespace: str | None = None,
    ) -> Rule: ...
    async def remove(
        self, id: str, *, reason: str | None = None, namespace: str | None = None
    ) -> StateChange: ...
    async def check(
        self,
        *,
        tool: str | None = None,
        path: Words = None,
        command: str | None = None,
        url: str | None = None,
        text: str | None = None,
        scope: str | None = None,
        namespace: str | None = None,
    ) -> RuleCheck: ...
    async def test(
        self,
        *,
        tool: str | None = None,
        path: Words = None,
        command: str | None = None,
        url: str | None = None,
        text: str | None = None,
        scope: str | None = None,
        namespace: str | None = None,
    ) -> RuleCheck: ...
    async def suggest(
        self, *, scope: str | None = None, limit: int = 20, namespace: str | None = None
    ) -> RuleSuggestions: ...

class _Anchors:
    async def show(self, id: str, *, namespace: str | None = None) -> MemoryAnchors: ...
    async def refresh(self, id: str, *, namespace: str | None = None) -> MemoryAnchors: ...
    async def stale(
        self,
        *,
        scope: str | Sequence[str] | None = None,
        deprecate: bool = False,
        limit: int = 100,
        namespace: str | None = None,
    ) -> StaleMemories: ...

class _Branches:
    async def list(self, *, namespace: str | None = None) -> BranchList: ...
    async def show(self, name: str, *, namespace: str | None = None) -> BranchMemories: ...
    async def merge(
        self, name: str | None = None, *, namespace: str | None = None
    ) -> BranchChanges: ...
    async def drop(self, name: str, *, namespace: str | None = None) -> BranchChanges: ...

class _Graph:
    async def search(
        self,
        query: str | None = None,
        type: str = "hybrid",
        *,
        where: Filter | FilterFields | None = None,
        scope: Words = None,
        tags: Words = None,
        session_ids: Words = None,
        since: Time = None,
        until: Time = None,
        exclude_session_ids: Words = None,
        limit: int | None = None,
        graph_depth: int | None = None,
        seed_nodes: Words = None,
        include_memory_ids: bool = True,
        decay: bool | None = None,
        as_of: Time = None,
        known_at: Time = None,
        valid_at: Time = None,
        query_time: Time = None,
        namespace: str | None = None,
        touch: bool = False,
        trace: bool = False,
    ) -> SearchResult: ...
    async def neighbourhood(
        self,
        ids: str | Sequence[str],
        depth: int = 2,
        limit: int = 40,
        *,
        include_expired: bool = False,
        snippet_len: int = 60,
        as_of: Time = None,
        known_at: Time = None,
        valid_at: Time = None,
        namespace: str | None = None,
    ) -> Neighbourhood: ...
    async def entities(
        self,
        entity_type: str | None = None,
        *,
        offset: int = 0,
        limit: int = 20,
        include_expired: bool = False,
        namespace: str | None = None,
    ) -> EntityPage: ...
    async def entity(
        self,
        id: str,
        *,
        limit: int = 20,
        include_expired: bool = False,
        namespace: str | None = None,
    ) -> EntityDetail: ...
    async def merge_entities(
        self, a: str, b: str, *, namespace: str | None = None
    ) -> EntityChange: ...
    async def expire_entity(self, id: str, *, namespace: str | None = None) -> EntityChange: ...
    async def purge_entities(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        dry_run: bool = False,
        namespace: str | None = None,
    ) -> PurgeReport: ...
    async def extract_entities(
        self,
        *,
        reprocess: bool = False,
        batch_size: int = 500,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> BackfillReport: ...
    async def entity_backfill(
        self,
        *,
        dry_run: bool = False,
        batch_size: int = 500,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> BackfillReport: ...
    async def link(
        self,
        from_id: str,
        to_id: str,
        edge_type: str | None = None,
        *,
        relation: str | None = None,
        weight: float = 1.0,
        confidence: float | None = None,
        evidence: str | None = None,
        namespace: str | None = None,
    ) -> EdgeChange: ...
    async def unlink(self, edge_id: str, *, namespace: str | None = None) -> EdgeChange: ...
    async def edge(
        self, id: str, *, snippet_len: int = 60, namespace: str | None = None
    ) -> EdgeDetail: ...
    async def edges(
        self,
        node_id: str | None = None,
        *,
        edge_type: str | None = None,
        limit: int = 20,
        include_expired: bool = False,
        snippet_len: int = 60,
        namespace: str | None = None,
    ) -> EdgePage: ...
    async def rebuild_edges(
        self,
        edge_type: str = "RELATED",
        *,
        progress: Progress | None = None,
        namespace: str | None = None,
    ) -> EdgeRebuildReport: ...
    async def expand_via_entities(
        self,
        ids: str | Sequence[str],
        limit: int = 5,
        include_expired: bool = False,
        min_confidence: float | None = None,
        *,
        namespace: str | None = None,
    ) -> list[ViaEntities]: ...
    async def expand_via_related(
        self,
        ids: str | Sequence[str],
        limit: int = 5,
        include_expired: bool = False,
        min_confidence: float = 0.0,
        *,
        namespace: str | None = None,
    ) -> list[ViaRelated]: ...
    async def expand_with_graph(
        self,
        ids: str | Sequence[str],
        entity_limit: int | None = None,
        related_limit: int | None = None,
        *,
        namespace: str | None = None,
    ) -> Expansion: ...

class _Admin:
    async def enrich(
        self, limit: int | None = None, *, retry_failed: bool = False, dry_run: bool = False
    ) -> EnrichReport: ...
    async def gc(self, dry_run: bool = False) -> GcReport: ...
    async def prune(
        self,
        superseded_after_days: float | None = None,
        where: Filter | FilterFields | None = None,
        dry_run: bool = False,
        *,
        namespace: str | None = None,
    ) -> PruneReport: ...
    async def secrets(
        self, fix: bool = False, dry_run: bool = False, *, namespace: str | None = None
    ) -> SecretsReport: ...
    async def stats(self, *, namespace: str | None = None) -> StoreStats: ...
    async def metrics(self) -> Mapping[str, float]: ...
    async def doctor(self) -> DoctorReport: ...
    async def rebuild(
        self, *, embeddings: bool = False, tokens: bool = False, progress: Progress | None = None
    ) -> RebuildReport: ...
    async def compact(self) -> CompactReport: ...
    async def forget_finish(self) -> ForgetReport: ...
    async def backup(self, dest: str | os.PathLike[str]) -> BackupReport: ...

class _Store:
    items: _Items
    rules: _Rules
    anchors: _Anchors
    branches: _Branches
    graph: _Graph
    admin: _Admin
    async def close(self) -> None: ...
    def scoped(
        self, scope: str, *, author: str | None = None, namespace: str | None = None
    ) -> Awaitables: ...
    @property
    def position(self) -> int | None: ...
    async def fresh(self, *, min_position: int | None = None) -> int | None: ...
    async def commit(
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
    ) -> CommitOutcome: ...
    async def commit_structured(
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
    ) -> CommitOutcome: ...
    async def commit_many(
        self, items: Iterable[str | Mapping[str, Any]]
    ) -> builtins.list[CommitOutcome | ItemError]: ...
    async def update(
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
    ) -> UpdateResult: ...
    @overload
    async def deprecate(
        self,
        id: str,
        reason: str = "Manual deprecation",
        t_invalid: Time = None,
        *,
        namespace: str | None = None,
    ) -> StateChange: ...
    @overload
    async def deprecate(
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
    async def supersede(
        self,
        old: str,
        new: str,
        reason: str = "",
        t_invalid: Time = None,
        *,
        namespace: str | None = None,
    ) -> SupersessionRecord: ...
    async def pin(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> StateChange: ...
    async def unpin(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> StateChange: ...
    async def archive(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> StateChange: ...
    async def unarchive(
        self, id: str, reason: str | None = None, *, namespace: str | None = None
    ) -> StateChange: ...
    async def confirm(self, id: str, *, by: str, namespace: str | None = None) -> StateChange: ...
    async def forget(
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
    ) -> ForgetReport: ...
    async def record_access(
        self, ids: str | Sequence[str], *, namespace: str | None = None
    ) -> int: ...
    async def recall(
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
    ) -> RecallResult: ...
    async def recall_many(
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
    ) -> builtins.list[RecallResult | ItemError]: ...
    async def retrieve(
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
    ) -> RetrieveResult: ...
    async def show(
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
    ) -> MemoryDetail: ...
    async def get(
        self,
        key: str,
        *,
        scope: str | None = None,
        valid_at: Time = None,
        namespace: str | None = None,
    ) -> Memory: ...
    async def keys(
        self,
        prefix: str | None = None,
        *,
        scope: str | Sequence[str] | None = None,
        namespace: str | None = None,
    ) -> builtins.list[str]: ...
    async def history(
        self, key: str, *, scope: str | None = None, namespace: str | None = None
    ) -> builtins.list[Memory]: ...
    async def events(
        self, id: str, *, namespace: str | None = None, limit: int | None = None
    ) -> builtins.list[Event]: ...
    async def diff(
        self,
        start: Time,
        end: Time = None,
        *,
        where: Filter | FilterFields | None = None,
        namespace: str | None = None,
    ) -> DiffReport: ...
    async def supersession_chain(
        self, id: str, *, namespace: str | None = None
    ) -> builtins.list[SupersessionRecord]: ...
    async def list(
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
    ) -> MemoryPage: ...
    async def count(
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
    ) -> int: ...
    async def cognify(
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
    ) -> CognifyReport: ...
    async def export(
        self,
        target: str | os.PathLike[str] | IO[str],
        *,
        where: Filter | FilterFields | None = None,
        all_namespaces: bool = False,
        format: str = "jsonl",
    ) -> ExportReport: ...
    async def import_(
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
    ) -> ImportReport: ...
    async def add_document(
        self,
        text: str,
        *,
        title: str | None = None,
        source: str | None = None,
        format: str = "markdown",
        scope: str | None = None,
        tags: str | Sequence[str] | None = None,
        entities: str | Sequence[str | Mapping[str, Any]] | None = None,
    ) -> AddedDocument: ...
    async def documents(
        self, *, scope: str | None = None, source: str | None = None, limit: int | None = None
    ) -> DocumentList: ...
    async def forget_document(
        self,
        id: str,
        *,
        force: bool = False,
        dry_run: bool = False,
        actor: str | None = None,
        namespace: str | None = None,
    ) -> ForgetReport: ...
    search = recall

class Awaitables(_Store):
    def __init__(self, target: Vestig) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
    def __aiter__(self) -> AsyncIterator[Memory]: ...

def wrap(store: Vestig) -> Awaitables: ...

class Opening:
    def __init__(self, open_it: Callable[[], Vestig]) -> None: ...
    def __await__(self) -> Generator[Any, None, Awaitables]: ...
    async def __aenter__(self) -> Awaitables: ...
    async def __aexit__(self, *_: object) -> None: ...

def open(
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
) -> Opening: ...
