"""The operations on edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.calls import graph
from vestig.calls.argument import Choice
from vestig.surfaces.operation import Call, Operation

if TYPE_CHECKING:
    from vestig.graph.edges import EdgeChange, EdgeDetail, EdgePage
    from vestig.results import EdgeRebuildReport

_EVERY: Final = "ALL"


def _list(call: Call) -> Any:
    given = dict(call.args)
    if given.get("edge_type") == _EVERY:
        del given["edge_type"]
    return call.store.graph.edges(**given)


def _line(detail: EdgeDetail) -> str:
    """id | type | weight | both ends."""
    edge = detail.edge
    label = f"{edge.edge_type}:{edge.relation}" if edge.relation is not None else edge.edge_type
    gone = " (ended)" if edge.t_expired is not None else ""
    ends = f"{detail.from_label} → {detail.to_label}"
    return f"{edge.id} | {label} | {edge.weight:.4f} | {ends}{gone}"


def _listed(page: EdgePage, _: Mapping[str, Any]) -> str:
    if not page.edges:
        return "No edges found."
    return "\n".join(_line(detail) for detail in page)


def _shown(detail: EdgeDetail, _: Mapping[str, Any]) -> str:
    from vestig.times import to_plain

    plain = to_plain(detail)
    rows = [(name, value) for name, value in plain.items() if value is not None]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


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


OPERATIONS: Final = (
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
        text=_listed,
    ),
    Operation(
        name="edge show",
        call=graph.EdgeRequest,
        method="graph.edge",
        document="edge",
        text=_shown,
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
        call=graph.RebuildEdgesRequest,
        method="graph.rebuild_edges",
        document="edges_rebuilt",
        text=_rebuilt,
        writes=True,
    ),
)
