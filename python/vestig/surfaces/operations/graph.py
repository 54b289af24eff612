"""The operations on entities, edges and the graph that they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.calls import graph
from vestig.calls.argument import Choice
from vestig.calls.graph import NeighbourhoodRequest, SearchRequest
from vestig.language.text_forms import one_line, row
from vestig.surfaces.cli.removal import indented
from vestig.surfaces.cli.render import table
from vestig.surfaces.operation import YES, Call, Operation, after_confirmation
from vestig.surfaces.operations.memory import EXPLAIN
from vestig.times import to_plain
from vestig.types import Edge, Entity

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
    from vestig.graph.neighbourhood import Neighbourhood
    from vestig.graph.rebuild import BackfillReport
    from vestig.graph.search_result import SearchHit, SearchResult
    from vestig.results import EdgeRebuildReport

_SNIPPET_CHARS: Final = 80


def _purge(call: Call) -> Any:
    return after_confirmation(
        call,
        call.store.graph.purge_entities,
        call.args,
        _plan,
        done="removed",
        selects=lambda plan: plan.entity_ids,
    )


def _listed(page: EntityPage, _: Mapping[str, Any]) -> str:
    """id | type | mentions | name and aliases."""
    if not page.entities:
        return "No entities found."
    return "\n".join(_line(one.entity, one.mentions) for one in page)


def _line(entity: Entity, mentions: int) -> str:
    known = f" (also {', '.join(entity.aliases)})" if entity.aliases else ""
    state = ""
    if entity.merged_into is not None:
        state = f" [merged into {entity.merged_into}]"
    elif entity.expired_at is not None:
        state = " [expired]"
    cells = (entity.id, entity.entity_type, str(mentions), f"{entity.canonical_name}{known}{state}")
    return row(*cells)


def _shown(detail: EntityDetail, _: Mapping[str, Any]) -> str:
    plain = to_plain(detail)
    rows = [
        (name, str(value) if not isinstance(value, list) else ", ".join(map(str, value)))
        for name, value in plain.items()
        if name != "memories" and value not in (None, "", [])
    ]
    texts = [row(one.id, one_line(one.content, _SNIPPET_CHARS)) for one in detail.memories]
    return "\n".join([table(rows), "", *texts])


def _extracted(report: BackfillReport, _: Mapping[str, Any]) -> str:
    would = "would be " if report.dry_run else ""
    return (
        f"{report.memories} memories read: {report.entities_added} entities and"
        f" {report.mentions_added} mentions {would}added"
    )


def _merged(change: EntityChange, _: Mapping[str, Any]) -> str:
    return (
        f"Entity {change.merged_id} merged into {change.id}: {change.edges_moved} edges moved,"
        f" {change.edges_folded} were there already"
    )


def _expired(change: EntityChange, _: Mapping[str, Any]) -> str:
    return f"Entity {change.id} expired with {change.edges_expired} edges"


def _plan(report: PurgeReport) -> str:
    ids = report.entity_ids
    head = f"{len(ids)} expired entities would be removed for good:"
    rows = f"Rows: {report.entities_removed} entities, {report.edges_removed} edges"
    return "\n".join([head, *indented(ids), rows])


def _purged(report: PurgeReport, _: Mapping[str, Any]) -> str:
    if not report.entity_ids:
        return "Nothing to remove"
    if report.dry_run:
        return _plan(report)
    return f"{report.entities_removed} entities and {report.edges_removed} edges removed"


_OF_ENTITIES: Final = (
    Operation(
        name="entity list",
        call=graph.EntitiesRequest,
        method="graph.entities",
        document="entities",
        text=_listed,
        rows=True,
    ),
    Operation(
        name="entity show",
        # a name may hold a slash
        call=graph.EntityRequest,
        method="graph.entity",
        document="entity",
        text=_shown,
    ),
    Operation(
        name="entity extract",
        slow=True,
        call=graph.ExtractEntitiesRequest,
        method="graph.extract_entities",
        document="entity_backfill",
        text=_extracted,
        writes=True,
    ),
    Operation(
        name="entity merge",
        call=graph.MergeEntitiesRequest,
        method="graph.merge_entities",
        document="entity",
        text=_merged,
        writes=True,
    ),
    Operation(
        name="entity expire",
        call=graph.ExpireEntityRequest,
        method="graph.expire_entity",
        document="entity",
        text=_expired,
        writes=True,
    ),
    Operation(
        name="entity purge",
        call=graph.PurgeEntitiesRequest,
        method="graph.purge_entities",
        options=(YES,),
        run=_purge,
        document="entities_purged",
        text=_purged,
        writes=True,
        confirmed="always",
    ),
    Operation(
        name="housekeeping entity-backfill",
        slow=True,
        call=graph.EntityBackfillRequest,
        method="graph.entity_backfill",
        document="entity_backfill",
        text=_extracted,
        writes=True,
    ),
)


_EVERY: Final = "ALL"


def _list(call: Call) -> Any:
    given = dict(call.args)
    if given.get("edge_type") == _EVERY:
        del given["edge_type"]
    return call.store.graph.edges(**given)


def _line_of_edge(detail: EdgeDetail) -> str:
    """id | type | weight | both ends."""
    edge = detail.edge
    gone = " (ended)" if edge.t_expired is not None else ""
    return row(edge.id, f"{_link(edge, detail.from_label, detail.to_label)}{gone}")


def _link(edge: Edge, from_label: str, to_label: str) -> str:
    """type | weight | both ends."""
    label = edge.edge_type if edge.relation is None else f"{edge.edge_type}:{edge.relation}"
    return row(label, f"{edge.weight:.4f}", f"{from_label} → {to_label}")


def _listed_edges(page: EdgePage, _: Mapping[str, Any]) -> str:
    if not page.edges:
        return "No edges found."
    return "\n".join(_line_of_edge(detail) for detail in page)


def _shown_edge(detail: EdgeDetail, _: Mapping[str, Any]) -> str:
    plain = to_plain(detail)
    return table((name, str(value)) for name, value in plain.items() if value is not None)


def _linked(change: EdgeChange, _: Mapping[str, Any]) -> str:
    known = "" if change.changed else " (was there already)"
    return f"Edge stored: {change.id}{known}"


def _unlinked(change: EdgeChange, _: Mapping[str, Any]) -> str:
    return f"Edge {change.id} " + ("ended" if change.changed else "had ended already")


def _rebuilt(report: EdgeRebuildReport, _: Mapping[str, Any]) -> str:
    return (
        f"{report.memories} memories compared: {report.kept} edges kept,"
        f" {report.added} added, {report.expired} ended, {report.reweighted} given"
        " another weight"
    )


_OF_EDGES: Final = (
    Operation(
        name="edge list",
        call=graph.EdgesRequest,
        method="graph.edges",
        options=(
            Choice(
                "Type of edge.",
                "--type",
                name="edge_type",
                words=(_EVERY, *graph.EDGE_TYPES),
                default=_EVERY,
            ),
        ),
        run=_list,
        document="edges",
        text=_listed_edges,
        rows=True,
    ),
    Operation(
        name="edge show",
        route="GET edge/show/{id}",
        call=graph.EdgeRequest,
        method="graph.edge",
        document="edge",
        text=_shown_edge,
    ),
    Operation(
        name="edge link",
        call=graph.LinkRequest,
        method="graph.link",
        document="edge",
        text=_linked,
        writes=True,
    ),
    Operation(
        name="edge unlink",
        call=graph.UnlinkRequest,
        method="graph.unlink",
        document="edge",
        text=_unlinked,
        writes=True,
    ),
    Operation(
        name="edge rebuild",
        slow=True,
        call=graph.RebuildEdgesRequest,
        method="graph.rebuild_edges",
        document="edges_rebuilt",
        text=_rebuilt,
        writes=True,
    ),
)


_LABEL_CHARS: Final = 100


def _label(hit: SearchHit) -> str:
    """A memory by its first characters, an entity by type and name."""
    node = hit.node
    if isinstance(node, Entity):
        return f"{node.entity_type}:{node.canonical_name}"
    return one_line(node.content, _LABEL_CHARS)


def _hit_line(hit: SearchHit, explained: bool) -> str:
    depth = f", depth={hit.graph_depth}" if hit.graph_depth else ""
    raw = f", undecayed={hit.raw_score:.4f}" if isinstance(hit.raw_score, float) else ""
    if explained and hit.similarity is not None:
        raw += f", similarity={hit.similarity:.4f}"
    return row(f"{hit.score:.4f}", f"{hit.source}{depth}{raw}", hit.node_id, _label(hit))


def _text(result: SearchResult, args: Mapping[str, Any]) -> str:
    if not result.results:
        return "Nothing found."
    lines = [f"score: {result.score_scale}" + (", decayed" if result.decayed else "")]
    return "\n".join([*lines, *(_hit_line(hit, bool(args.get(EXPLAIN.name))) for hit in result)])


def _around(found: Neighbourhood, _: Mapping[str, Any]) -> str:
    """Nodes, then the links between them."""
    if not found.nodes:
        return "Nothing found."
    labels = {node.id: node.label for node in found}
    blocks = [[row(f"depth {node.depth}", node.id, node.label) for node in found]]
    if found.edges:
        blocks.append(
            [_link(edge, labels[edge.from_id], labels[edge.to_id]) for edge in found.edges]
        )
    if found.left_out:
        blocks.append([f"{found.left_out} more within this depth; --limit shows more"])
    return "\n\n".join("\n".join(block) for block in blocks)


_OF_SEARCH: Final = (
    Operation(
        name="graph search",
        ranked=True,
        method="graph.search",
        call=SearchRequest,
        options=(EXPLAIN,),
        document="graph_search",
        text=_text,
        rows=True,
        without_store="empty",
    ),
    Operation(
        name="graph neighbourhood",
        route="POST neighbourhood",
        method="graph.neighbourhood",
        call=NeighbourhoodRequest,
        document="neighbourhood",
        text=_around,
        rows=True,
        without_store="empty",
    ),
)


OPERATIONS: Final = (*_OF_ENTITIES, *_OF_EDGES, *_OF_SEARCH)
