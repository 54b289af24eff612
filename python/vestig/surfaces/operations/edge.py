"""The operations on edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from vestig.parameters import NAMESPACE, Parameter
from vestig.surfaces.operation import Arguments, Call, Operation
from vestig.types import EdgeType

if TYPE_CHECKING:
    from vestig.graph.edges import EdgeChange, EdgeDetail, EdgePage
    from vestig.results import EdgeRebuildReport

__all__ = ["OPERATIONS"]

_EVERY: Final = "ALL"
_AFFECTS: Final = "AFFECTS"
_TYPES: Final = (*(kind.value for kind in EdgeType), _AFFECTS)

_ID: Final = Parameter(name="id", help="Id of the edge, or at least 8 characters of it.")
_SNIPPET: Final = Parameter(
    name="snippet_len",
    kind="integer",
    least=1,
    flag="--snippet-len",
    help="Characters shown of each end.",
    default=60,
)


def _list(call: Call) -> Any:
    given = dict(call.args)
    if given.get("edge_type") == _EVERY:
        del given["edge_type"]
    return call.store.graph.edges(**given)


def _link(call: Call) -> Any:
    given = dict(call.args)
    ends = given.pop("from_id"), given.pop("to_id")
    return call.store.graph.link(*ends, **given)


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


_LIST_PARAMETERS: Final = (
    Parameter(
        name="node_id",
        flag="--node",
        help="Only edges of this memory, by id, or entity, by id, name or alias.",
    ),
    Parameter(
        name="limit",
        kind="integer",
        least=1,
        flag="--limit",
        help="Most edges.",
        default=20,
    ),
    _SNIPPET,
    Parameter(
        name="include_expired", kind="flag", flag="--include-expired", help="Ended edges too."
    ),
)
_TYPE: Final = Parameter(
    name="edge_type", kind="choice", flag="--type", choices=_TYPES, help="Type of edge."
)
_STORED_TYPE: Final = replace(_TYPE, choices=tuple(kind.value for kind in EdgeType))
_LINK_PARAMETERS: Final = (
    Parameter(
        name="from_id", help="Where it starts: a memory by id, an entity by id, name or alias."
    ),
    Parameter(name="to_id", help="Where it ends."),
    replace(_TYPE, default_text="RELATED for two memories, RELATION for two entities"),
    Parameter(name="relation", flag="--relation", help="Label of a RELATION."),
    Parameter(
        name="weight",
        kind="number",
        least=0,
        flag="--weight",
        help="At least 0.",
        default_text="1.0",
    ),
    Parameter(
        name="confidence", kind="number", least=0, most=1, flag="--confidence", help="0 to 1."
    ),
    Parameter(name="evidence", flag="--evidence", help="Why the link holds."),
)
_UNLINK_ID: Final = Parameter(
    name="edge_id", help="Id of the edge, or at least 8 characters of it."
)
_REBUILT: Final = replace(_TYPE, choices=(EdgeType.RELATED.value,), default=EdgeType.RELATED.value)


def _arguments(method: str, *rows: Parameter, required: tuple[str, ...] = ()) -> Arguments:
    return Arguments(method=f"graph.{method}", parameters=(*rows, NAMESPACE), required=required)


OPERATIONS: Final = (
    Operation(
        name="edge list",
        params=(
            _LIST_PARAMETERS[0],
            replace(_TYPE, choices=(_EVERY, *_TYPES), default=_EVERY),
            *_LIST_PARAMETERS[1:],
        ),
        run=_list,
        document="edges",
        text=_listed,
        arguments=_arguments("edges", _STORED_TYPE, *_LIST_PARAMETERS),
    ),
    Operation(
        name="edge show",
        params=(_ID, _SNIPPET),
        run=lambda call: call.store.graph.edge(call.args.pop("id"), **call.args),
        document="edge",
        text=_shown,
        arguments=_arguments("edge", _ID, _SNIPPET, required=("id",)),
    ),
    Operation(
        name="edge link",
        params=_LINK_PARAMETERS,
        run=_link,
        document="edge",
        text=_linked,
        writes=True,
        arguments=_arguments("link", *_LINK_PARAMETERS, required=("from_id", "to_id")),
    ),
    Operation(
        name="edge unlink",
        params=(_UNLINK_ID,),
        run=lambda call: call.store.graph.unlink(call.args["edge_id"]),
        document="edge",
        text=_unlinked,
        writes=True,
        arguments=_arguments("unlink", _UNLINK_ID, required=("edge_id",)),
    ),
    Operation(
        name="edge rebuild",
        params=(_REBUILT,),
        run=lambda call: call.store.graph.rebuild_edges(progress=call.progress, **call.args),
        document="edges_rebuilt",
        text=_rebuilt,
        writes=True,
        arguments=_arguments("rebuild_edges", _REBUILT),
    ),
)
