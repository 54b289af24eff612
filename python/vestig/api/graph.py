"""`store.graph`: entities, edges, and what is found by following them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vestig import calls
from vestig.api.guards import CallsOfGroup, names_faults_of_methods
from vestig.api.views import Binding, binds_methods
from vestig.calls.declaration import checked, given
from vestig.calls.filter import Filter, FilterFields, Time, Words
from vestig.results import EdgeRebuildReport
from vestig.session.forks import apart_from_forks_of_methods
from vestig.session.session import Session, cleaned, count_secrets

if TYPE_CHECKING:
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
    from vestig.ports import Progress


@names_faults_of_methods
@apart_from_forks_of_methods
@binds_methods
class Graph(CallsOfGroup):
    """Entities and edges of one open store, as `store.graph`."""

    def __init__(self, session: Session, binding: Binding | None = None) -> None:
        self._session = session
        self._binding = binding

    # --- search ----------------------------------------------------------------------

    def search(
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
    ) -> SearchResult:
        """Memories and entities by meaning, by links, or by both; for the memories that answer a
        question use `recall`.

        Args:
            query: Question or words; needed unless it begins at seed nodes.
            type: Rank by meaning (vector), by links from seed nodes (graph), or by their sum.
            where: Which memories take part: a `vestig.Filter`, or an object of its fields.
            scope: Only these scopes; all when absent.
            tags: Memories with any of these tags.
            session_ids: Conversations it belongs to.
            since: Facts that began, or were stated again, at or after this time.
            until: Facts that began, or were stated again, before this time, or on this day.
            exclude_session_ids: None of these conversations, such as the running one; notes outside
                any stay.
            limit: Most hits; default search.limit.
            graph_depth: Hops from seed nodes or vector hits, 0 for none; default
                search.graph_depth.
            seed_nodes: Where a graph search begins: memories by id, entities by id, name or alias.
            include_memory_ids: Give each entity the ids of the memories that mention it.
            decay: Let old memories count less.
            as_of: What was known and true at this time: `known_at` and `valid_at` at once.
            known_at: Only what was recorded by this time.
            valid_at: Only facts that hold at this time.
            query_time: The moment at which the query is asked, for words such as yesterday; default
                now.
            namespace: The namespace to act in instead of the store's own.
            touch: Count this as an access of each result.
            trace: Add each stage with its time and counts.

        Returns:
            A sequence of hits. The scale of their scores differs by type and is named in
            `score_scale`: cosine, 1/(1 + hops), or their sum.

        Raises:
            ValidationError: a wrong argument.
            ProviderError: the query could not be embedded.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     id = store.commit("The pump failed on Monday").memory_id
            ...     hit = store.graph.search("which pump failed", where={"kinds": "MEMORY"})[0]
            ...     hit.node_id == id, hit.source
            (True, 'vector')
        """
        asked = checked(calls.graph.SearchRequest, given(locals()))
        from vestig.graph.search import search

        return search(self._session, asked)

    def neighbourhood(
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
    ) -> Neighbourhood:
        """The nodes that are nearest by links to those given, and all links between them, in one
        read.

        Args:
            ids: Where it begins: memories by id, entities by id, name or alias.
            depth: Links between a start and a node, at most.
            limit: Most nodes, starts among them, the nearest.
            include_expired: Superseded, deprecated and archived memories too.
            snippet_len: Characters shown of each node.
            as_of: What was known and true at this time: `known_at` and `valid_at` at once.
            known_at: Only what was recorded by this time.
            valid_at: Only facts that hold at this time.
            namespace: The namespace to act in instead of the store's own.

        Returns:
            A sequence of nodes by depth; of one depth those come first that a walk reaches most
            easily which takes each link by its weight. `edges` has the links between them.

        Raises:
            ValidationError: a wrong argument.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     pump = store.commit("Ada Lovelace repaired the pump").memory_id
            ...     lift = store.commit("The lift was painted by Ada Lovelace").memory_id
            ...     for node in store.graph.neighbourhood(pump):
            ...         print(node.depth, node.label)
            0 Ada Lovelace repaired the pump
            1 UNTYPED:Ada Lovelace
            2 The lift was painted by Ada Lovelace
        """
        asked = checked(calls.graph.NeighbourhoodRequest, given(locals()))
        from vestig.graph.neighbourhood import neighbourhood

        return neighbourhood(self._session, asked)

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
            entity_type: Only entities of this type, in any case.
            offset: Entities to skip.
            limit: Entities per page, at most 1000.
            include_expired: Expired and merged entities too.
            namespace: The namespace to act in instead of the store's own.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     _ = store.commit("The pump is looked after by Ada Lovelace")
            ...     _ = store.commit("We asked Ada Lovelace for a new gasket")
            ...     [(one.entity.canonical_name, one.mentions) for one in store.graph.entities()]
            [('Ada Lovelace', 2)]
        """
        asked = checked(calls.graph.EntitiesRequest, given(locals()))
        from vestig.graph import elements

        return elements.list_entities(self._session, asked)

    def entity(
        self,
        id: str,
        *,
        limit: int = 20,
        include_expired: bool = False,
        namespace: str | None = None,
    ) -> EntityDetail:
        """One entity and the memories that mention it, newest first. An entity that was merged is
        what it was merged into, through any chain.


        Args:
            id: The entity by its id, at least 8 characters of it, its name or an alias.
            limit: Memories at most, the newest first; `mentions` counts all.
            include_expired: The entity itself, even when it was merged or expired.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            NotFoundError: unknown in this namespace, or expired.
        """
        asked = checked(calls.graph.EntityRequest, given(locals()))
        from vestig.graph import elements

        return elements.show_entity(self._session, asked)

    def merge_entities(self, a: str, b: str, *, namespace: str | None = None) -> EntityChange:
        """Makes `a` another name of `b`: edges and names of `a` become those of `b`, and
        look-ups of `a` give `b`. Time travel shows both as they were.

        Args:
            a: The entity that becomes a name of the other, by id, name or alias.
            b: The one that stays, by id, name or alias.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ConflictError: both are one entity already, so this would be a cycle.
            NotFoundError: an id that this namespace does not hold.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     a = store.commit("Tickets are kept by ACME Incorporated").entities[0]
            ...     b = store.commit("Invoices are sent to ACME Ltd today").entities[0]
            ...     merged = store.graph.merge_entities(a, b)
            ...     merged.id == b, store.graph.entity(a).id == b, merged.entity.aliases
            (True, True, ('ACME', 'ACME Incorporated'))
        """
        asked = checked(calls.graph.MergeEntitiesRequest, given(locals()))
        from vestig.graph import elements

        return elements.merge_entities(self._session, asked)

    def expire_entity(self, id: str, *, namespace: str | None = None) -> EntityChange:
        """Hides an entity and its edges. A memory that names it again makes a new one.

        Args:
            id: The entity by its id, at least 8 characters of it, its name or an alias.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            NotFoundError: unknown in this namespace, or expired already.
        """
        asked = checked(calls.graph.ExpireEntityRequest, given(locals()))
        from vestig.graph import elements

        return elements.expire_entity(self._session, asked)

    def purge_entities(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        dry_run: bool = False,
        namespace: str | None = None,
    ) -> PurgeReport:
        """Removes expired and merged entities for good, with their edges and vectors. Time travel
        no longer shows them; the texts that named them stay, and only `forget` removes those.


        Args:
            ids: Expired entities by id, name or alias; None: all of the namespace.
            dry_run: Say what would go and keep it.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            NotFoundError: an unknown id. ConflictError: an entity that is not expired. Nothing is
                removed then.
        """
        asked = checked(calls.graph.PurgeEntitiesRequest, given(locals()))
        from vestig.graph import elements

        return elements.purge_entities(self._session, asked)

    # --- names in texts ----------------------------------------------------------------------

    def extract_entities(
        self,
        *,
        reprocess: bool = False,
        batch_size: int = 500,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> BackfillReport:
        """Finds the names in memories that mention none yet, by rules.

        Args:
            reprocess: Every memory again; what is linked stays.
            batch_size: Memories of one transaction.
            namespace: The namespace to act in instead of the store's own.
            progress: Called with what is done and how much there is, or None.
        """
        asked = checked(calls.graph.ExtractEntitiesRequest, given(locals()))
        from vestig.graph.rebuild import backfill

        return backfill(self._session, asked, every=asked.reprocess)

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

        Args:
            dry_run: Say what would happen and change nothing.
            batch_size: Memories of one transaction.
            namespace: The namespace to act in instead of the store's own.
            progress: Called with what is done and how much there is, or None.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> off = {"entities.enabled": False}
            >>> with vestig.open(":memory:", embedder=HashingEmbedder(), config=off) as store:
            ...     _ = store.commit("The pump is looked after by Ada Lovelace")
            ...     store.graph.entities().total
            0
        """
        asked = checked(calls.graph.EntityBackfillRequest, given(locals()))
        from vestig.graph.rebuild import backfill

        return backfill(self._session, asked, dry=asked.dry_run)

    # --- edges -----------------------------------------------------------------------

    def link(
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
    ) -> EdgeChange:
        """Stores an edge that the caller knows of: RELATED or SUMMARIZES between memories, or
        RELATION between entities. An edge that is there already stays as it is.


        Args:
            from_id: Where the edge starts: a memory by id, an entity by id, name or alias.
            to_id: Where it ends.
            edge_type: RELATED or SUMMARIZES between memories, RELATION between entities; absent:
                RELATED for two memories, RELATION for two entities.
            relation: Label of a RELATION, such as WORKS_AT.
            weight: Finite, at least 0; 0 is kept and never walked.
            confidence: From 0 to 1, or None.
            evidence: Why; cut to entities.max_evidence_length.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: names the field; for another type, who makes such edges.
            NotFoundError: an end that this namespace does not hold.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     a = store.commit("The pump failed on Monday").memory_id
            ...     b = store.commit("A gasket was ordered for it").memory_id
            ...     edge = store.graph.link(a, b, "RELATED", weight=0.9)
            ...     edge.changed, store.graph.link(a, b, "RELATED").id == edge.id
            (True, True)
        """
        clean = cleaned(self._session, given(locals()))
        count_secrets(self._session, clean.rules, "masked")
        asked = checked(calls.graph.LinkRequest, clean.arguments)
        from vestig.graph import elements

        return elements.link(self._session, asked)

    def unlink(self, edge_id: str, *, namespace: str | None = None) -> EdgeChange:
        """Ends an edge; time travel still shows it as it was. A computed edge that is
        ended comes back with `graph.rebuild_edges`.

        Args:
            edge_id: Id of the edge, or at least 8 characters of it.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            NotFoundError: an edge that this namespace does not hold.
        """
        asked = checked(calls.graph.UnlinkRequest, given(locals()))
        from vestig.graph import elements

        return elements.unlink(self._session, asked)

    def edge(self, id: str, *, snippet_len: int = 60, namespace: str | None = None) -> EdgeDetail:
        """One edge, ended or not, with what its ends are called.

        Args:
            id: Id of the edge, or at least 8 characters of it.
            snippet_len: Characters shown of each end.
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(calls.graph.EdgeRequest, given(locals()))
        from vestig.graph import elements

        return elements.edge(self._session, asked)

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
        """Edges, newest first; those of one memory or entity when it is named.

        Args:
            node_id: Only edges of this memory, by id, or entity, by id, name or alias.
            edge_type: Only edges of this type.
            limit: Most edges.
            include_expired: Ended edges too.
            snippet_len: Characters shown of each end.
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(calls.graph.EdgesRequest, given(locals()))
        from vestig.graph import elements

        return elements.edges(self._session, asked)

    def rebuild_edges(
        self,
        edge_type: str = "RELATED",
        *,
        progress: Progress | None = None,
        namespace: str | None = None,
    ) -> EdgeRebuildReport:
        """Computes RELATED edges again, as commits would have made them: an edge that
        still holds keeps id and times, others end or begin. Edges of guards and callers stay. An
        interrupted run is safe to repeat.

        Args:
            edge_type: RELATED; no other type is computed.
            progress: Called with what is done and how much there is, or None.
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(calls.graph.RebuildEdgesRequest, given(locals()))
        from vestig.graph.rebuild import rebuild_edges

        counts = rebuild_edges(self._session, asked)
        return EdgeRebuildReport(**{**counts, "degraded": tuple(counts["degraded"])})

    # --- expansion ---------------------------------------------------------------------------

    def expand_via_entities(
        self,
        ids: str | Sequence[str],
        limit: int = 5,
        include_expired: bool = False,
        min_confidence: float | None = None,
        *,
        namespace: str | None = None,
    ) -> list[ViaEntities]:
        """Other memories that mention the same entities, most shared first.

        Args:
            ids: Ids of the memories to start from.
            limit: Most memories.
            include_expired: Superseded and deprecated memories too.
            min_confidence: Least confidence of both mentions; default
                links.expansion.min_confidence.
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(calls.graph.ExpandRequest, given(locals()))
        from vestig.graph.neighbourhood import via_entities

        return via_entities(self._session, asked)

    def expand_via_related(
        self,
        ids: str | Sequence[str],
        limit: int = 5,
        include_expired: bool = False,
        min_confidence: float = 0.0,
        *,
        namespace: str | None = None,
    ) -> list[ViaRelated]:
        """Other memories with a RELATED edge to these, heaviest edge first.

        Args:
            ids: Ids of the memories to start from.
            limit: Most memories.
            include_expired: Superseded and deprecated memories too.
            min_confidence: Least weight of the edge.
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(calls.graph.ExpandRequest, given(locals()))
        from vestig.graph.neighbourhood import via_related

        return via_related(self._session, asked)

    def expand_with_graph(
        self,
        ids: str | Sequence[str],
        entity_limit: int | None = None,
        related_limit: int | None = None,
        *,
        namespace: str | None = None,
    ) -> Expansion:
        """Both expansions; limits of None are those of `links.expansion`.

        Args:
            ids: Ids of the memories to start from.
            entity_limit: Most memories by entities; default
                links.expansion.max_expand_via_entities.
            related_limit: Most memories by RELATED edges; default
                links.expansion.max_expand_via_related.
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(calls.graph.ExpandBothRequest, given(locals()))
        from vestig.graph.neighbourhood import via_both

        return via_both(self._session, asked)
