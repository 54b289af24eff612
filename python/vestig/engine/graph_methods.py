"""The calls of an open store that concern edges and search over the graph (G-09, G-10, G-20)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from vestig import engine
from vestig.engine.context import Context
from vestig.fields import SearchFields, Words
from vestig.ports import Progress

if TYPE_CHECKING:
    from vestig.engine.expanding import Expansion, ViaEntities, ViaRelated
    from vestig.engine.linking import EdgeChange, EdgeDetail, EdgePage
    from vestig.recall.search_result import SearchResult

__all__ = ["GraphMethods"]


class GraphMethods:
    """Base of `Vestig`. Every method delegates; none decides."""

    _context: Context

    # --- edges -------------------------------------------------------------------------------

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
        RELATION between entities (G-10). An edge that is there already stays as it is.

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
        return engine.linking.link(
            self._context,
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
        """Ends an edge; time travel still shows it as it was (G-10). A computed edge that is
        ended comes back with `rebuild_edges`.

        Raises:
            NotFoundError: an edge that this namespace does not hold.
        """
        return engine.linking.unlink(self._context, edge_id, namespace=namespace)

    def edge(self, id: str, *, snippet_len: int = 60, namespace: str | None = None) -> EdgeDetail:
        """One edge, ended or not, with what its ends are called (D-03)."""
        return engine.linking.edge(self._context, id, snippet_len=snippet_len, namespace=namespace)

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
        """Edges, newest first; those of one memory or entity when it is named (D-03)."""
        return engine.linking.edges(
            self._context,
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
        """Computes RELATED edges again, as commits would have made them (G-07): an edge that
        still holds keeps id and times, others end or begin. Edges of guards and callers stay. An
        interrupted run is safe to repeat."""
        return engine.relating.rebuild_edges(
            self._context, edge_type, progress=progress, namespace=namespace
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
    ) -> list[ViaEntities]:
        """Other memories that mention the same entities, most shared first (G-09).

        Args:
            min_confidence: of both mentions; None = `m4.graph_expansion.min_confidence`.
        """
        return engine.expanding.via_entities(
            self._context,
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
    ) -> list[ViaRelated]:
        """Other memories with a RELATED edge to these, heaviest edge first (G-09)."""
        return engine.expanding.via_related(
            self._context,
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
        """Both expansions; limits of None are those of `m4.graph_expansion` (G-09)."""
        return engine.expanding.via_both(
            self._context,
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
        """Memories and entities by meaning, by links, or by both (G-20).

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
        given = {
            "query": query,
            "type": type,
            "top_k": top_k,
            "graph_depth": graph_depth,
            "seed_node_ids": seed_node_ids,
            **fields,
        }
        return engine.searching.search(self._context, given)
