"""Unified search on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestig.surfaces.memory_params import FILTERS, MENTIONING, TIME_TRAVEL, scoped
from vestig.surfaces.operations import Call, Operation, Param

__all__ = ["SEARCH"]

_TYPES: Final = ("vector", "graph", "hybrid")
_KINDS: Final = ("entity", "memory", "MEMORY", "SUMMARY")
_LABEL_CHARS: Final = 100


def _search(call: Call) -> Any:
    given = scoped(call.args)
    return call.store.search(given.pop("query", None), **given)


def _label(hit: Any) -> str:
    """A memory by its first characters, an entity by type and name."""
    if hit.kind == "entity":
        return f"{hit.node.entity_type}:{hit.node.canonical_name}"
    line = " ".join(hit.node.content.split())
    return line if len(line) <= _LABEL_CHARS else line[:_LABEL_CHARS] + "..."


def _line(hit: Any) -> str:
    depth = f", depth={hit.graph_depth}" if hit.graph_depth else ""
    raw = f", undecayed={hit.raw_score:.4f}" if isinstance(hit.raw_score, float) else ""
    return f"{hit.score:.4f} | {hit.source}{depth}{raw} | {hit.node_id} | {_label(hit)}"


def _found(result: Any, _: Mapping[str, Any]) -> str:
    if not result.results:
        return "Nothing found."
    lines = [f"score: {result.score_scale}" + (", decayed" if result.decayed else "")]
    return "\n".join([*lines, *(_line(hit) for hit in result)])


SEARCH: Final = Operation(
    name="search",
    help="Memories and entities by meaning, by links, or by both.",
    params=(
        Param(
            name="query",
            help="Question or words; - reads standard input. Not needed by a graph search.",
            required=False,
            stdin=True,
        ),
        Param(
            name="type",
            kind="choice",
            flag="--type",
            choices=_TYPES,
            help="What decides the rank.",
            default_text="hybrid",
        ),
        Param(
            name="top_k",
            kind="integer",
            flag="--top-k",
            help="Most results.",
            default_text="search.limit, 10",
        ),
        Param(
            name="graph_depth",
            kind="integer",
            flag="--depth",
            help="Hops from seeds or vector hits; 0 = none.",
            default_text="search.graph_depth, 1",
        ),
        Param(
            name="seed_node_ids",
            kind="words",
            flag="--seed-node",
            help="Ids of memories and entities to begin at; repeatable.",
        ),
        Param(name="kinds", kind="words", flag="--kind", choices=_KINDS, help="Kinds of node."),
        Param(
            name="decay",
            kind="switch",
            flag="--decay",
            help="Let old and unused nodes fade, or not.",
        ),
        Param(
            name="include_memory_ids",
            kind="switch",
            flag="--memory-ids",
            help="Name the memories behind each result.",
        ),
        Param(name="trace", kind="flag", flag="--trace", help="Say what each stage did, in JSON."),
        *TIME_TRAVEL,
        *(param for param in FILTERS if param.name != "kinds"),
        MENTIONING,
        Param(
            name="touch",
            kind="flag",
            flag="--touch",
            help="Count this as an access of each result.",
        ),
    ),
    run=_search,
    document="search",
    text=_found,
)
