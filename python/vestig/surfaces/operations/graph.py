"""`graph search`, `graph neighbourhood`: memories and entities by meaning or by links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.calls.graph import NeighbourhoodRequest
from vestig.calls.queries import SearchRequest
from vestig.language.text_forms import one_line
from vestig.surfaces.operation import Operation
from vestig.surfaces.operations.layout import EXPLAIN
from vestig.types import Edge, Entity

if TYPE_CHECKING:
    from vestig.graph.neighbourhood import Neighbourhood
    from vestig.graph.search_result import SearchHit, SearchResult

_LABEL_CHARS: Final = 100


def _label(hit: SearchHit) -> str:
    """A memory by its first characters, an entity by type and name."""
    node = hit.node
    if isinstance(node, Entity):
        return f"{node.entity_type}:{node.canonical_name}"
    return one_line(node.content, _LABEL_CHARS)


def _line(hit: SearchHit, explained: bool) -> str:
    depth = f", depth={hit.graph_depth}" if hit.graph_depth else ""
    raw = f", undecayed={hit.raw_score:.4f}" if isinstance(hit.raw_score, float) else ""
    if explained and hit.similarity is not None:
        raw += f", similarity={hit.similarity:.4f}"
    return f"{hit.score:.4f} | {hit.source}{depth}{raw} | {hit.node_id} | {_label(hit)}"


def _text(result: SearchResult, args: Mapping[str, Any]) -> str:
    if not result.results:
        return "Nothing found."
    lines = [f"score: {result.score_scale}" + (", decayed" if result.decayed else "")]
    return "\n".join([*lines, *(_line(hit, bool(args.get(EXPLAIN.name))) for hit in result)])


def _edge_line(edge: Edge, labels: Mapping[str, str]) -> str:
    label = f"{edge.edge_type}:{edge.relation}" if edge.relation is not None else edge.edge_type
    ends = f"{labels[edge.from_id]} → {labels[edge.to_id]}"
    return f"{label} | {edge.weight:.4f} | {ends}"


def _around(found: Neighbourhood, _: Mapping[str, Any]) -> str:
    """Nodes, then the links between them."""
    if not found.nodes:
        return "Nothing found."
    labels = {node.id: node.label for node in found}
    blocks = [[f"depth {node.depth} | {node.id} | {node.label}" for node in found]]
    if found.edges:
        blocks.append([_edge_line(edge, labels) for edge in found.edges])
    if found.left_out:
        blocks.append([f"{found.left_out} more within this depth; --limit shows more"])
    return "\n\n".join("\n".join(block) for block in blocks)


OPERATIONS: Final = (
    Operation(
        name="graph search",
        method="graph.search",
        call=SearchRequest,
        options=(EXPLAIN,),
        document="graph_search",
        text=_text,
        without_store="empty",
    ),
    Operation(
        name="graph neighbourhood",
        method="graph.neighbourhood",
        call=NeighbourhoodRequest,
        document="neighbourhood",
        text=_around,
        without_store="empty",
    ),
)
