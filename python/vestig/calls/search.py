"""Walking through memories and entities."""

from typing import Annotated, ClassVar

from vestig.calls.argument import Choice, Integer, Switch, Text
from vestig.calls.declaration import Request
from vestig.calls.filter import NO_FILTER, Filter, Where
from vestig.calls.graph import StartNodes
from vestig.calls.shared import (
    WHERE,
    AsOf,
    InNamespace,
    KnownAt,
    QueryTime,
    Touch,
    Trace,
    ValidAt,
)


class SearchRequest(Request, frozen=True, kw_only=True):
    """Start and reach of a walk; None = the configured value."""

    call: ClassVar = "search"
    # by links alone, it begins at nodes
    rules: ClassVar = (
        {
            "anyOf": [
                {
                    "required": ["query"],
                    "properties": {
                        "query": Text("", blank=False).schema(),
                        "type": {"not": {"const": "graph"}},
                    },
                },
                {
                    "required": ["type", "seed_nodes"],
                    "properties": {
                        "type": {"const": "graph"},
                        "seed_nodes": {"not": {"type": "null"}, "minItems": 1},
                    },
                },
            ]
        },
    )

    query: Annotated[
        str | None,
        Text("Question or words; needed but for graph search.", stdin=True, required=False),
    ] = None
    type: Annotated[
        str,
        Choice(
            "Rank by meaning (vector), by links from seed nodes (graph), or by their sum.",
            "--type",
            words=("vector", "graph", "hybrid"),
            default_text="hybrid",
        ),
    ] = "hybrid"
    where: Annotated[Filter, Where(WHERE, query=True, nodes=True, beside=True)] = NO_FILTER
    limit: Annotated[
        int | None,
        Integer("Most hits; default search.limit.", "--limit", default_text="search.limit, 10"),
    ] = None
    graph_depth: Annotated[
        int | None,
        Integer(
            "Hops from seed nodes or vector hits, 0 for none; default search.graph_depth.",
            "--depth",
            least=0,
            default_text="search.graph_depth, 1",
        ),
    ] = None
    seed_nodes: Annotated[
        tuple[str, ...],
        StartNodes(
            "Where a graph search begins: memories by id, entities by id, name or alias.",
            "--seed-node",
        ),
    ] = ()
    include_memory_ids: Annotated[
        bool, Switch("Give each entity the ids of the memories that mention it.", "--memory-ids")
    ] = True
    decay: Annotated[bool | None, Switch("Let old memories count less.", "--decay")] = None
    as_of: AsOf = None
    known_at: KnownAt = None
    valid_at: ValidAt = None
    query_time: QueryTime = None
    namespace: InNamespace = None
    touch: Touch = False
    trace: Trace = False
