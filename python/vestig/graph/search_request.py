"""The arguments of `search`, checked and made plain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from vestig.errors import ValidationError
from vestig.fields import SearchFields
from vestig.filters import (
    Moments,
    RecallRequest,
    build_filter,
    count_argument,
    flag_argument,
    moments,
)
from vestig.graph.search_scores import ENTITY, MEMORY, TYPES
from vestig.hints import check_names
from vestig.ids import check_namespace
from vestig.recall.request import query_argument
from vestig.types import Kind

__all__ = ["NODE_KINDS", "SearchDefaults", "SearchPlan", "SearchRequest", "check_fields", "plan"]

# `memory` stands for both kinds of memory.
NODE_KINDS: Final = (ENTITY, MEMORY, *(kind.value for kind in Kind))
_DEPTH_MAX: Final = 1_000


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `search` beside the filters; None = the configured value."""

    query: Any = None
    type: Any = "hybrid"
    top_k: Any = None
    graph_depth: Any = None
    seed_node_ids: Any = None
    kinds: Any = (ENTITY, MEMORY)
    include_memory_ids: Any = True
    decay: Any = None
    touch: Any = False
    trace: Any = False


class SearchDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """What the configuration and the clock say."""

    top_k: int
    graph_depth: int
    decay: bool
    include_expired: bool
    query_chars_max: int
    namespace: str
    now_us: int


class SearchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A checked request. `filter`: keyword arguments of `_core.Filter` that need no ledger."""

    query: str | None
    type: str
    top_k: int
    depth: int
    seeds: tuple[str, ...]
    memories: bool
    entities: bool
    filters: RecallRequest
    filter: dict[str, Any]
    moments: Moments
    namespace: str
    decay: bool
    memory_ids: bool
    touch: bool
    trace: bool
    warnings: tuple[str, ...]


def _kinds(value: object) -> tuple[bool, bool, list[str] | None]:
    """Whether entities are returned, whether memories are, and which kinds of memory take part at
    all: where only entities are wanted, memories still lead from one to the other."""
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, (list, tuple, set, frozenset)):
        raise ValidationError("kinds", value, "a list of " + ", ".join(NODE_KINDS))
    for word in words:
        if word not in NODE_KINDS:
            raise ValidationError("kinds", word, "one of " + ", ".join(NODE_KINDS))
    named = [kind.value for kind in Kind if kind.value in words]
    every = MEMORY in words or not named
    return ENTITY in words, MEMORY in words or bool(named), None if every else named


def _texts_of_ids(field: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple, set, frozenset)):
        raise ValidationError(field, value, "a list of ids of memories and entities")
    for id in listed:
        if not isinstance(id, str):
            raise ValidationError(field, id, "the text of an id (mem_… or ent_…)")
    return tuple(dict.fromkeys(listed))


def _query(asked: SearchRequest, seeds: tuple[str, ...], chars_max: int) -> Any:
    """The text to embed, None where none is embedded; with warnings."""
    blank = asked.query is None or (isinstance(asked.query, str) and not asked.query.strip())
    if asked.type == "graph" or (asked.type == "hybrid" and seeds and blank):
        return None, ()
    if asked.query is None:
        raise ValidationError("query", None, "a question or some words")
    return query_argument(asked.query, chars_max)


def _no_seeds(value: object) -> ValidationError:
    allowed = "at least one id of a memory or an entity"
    error = ValidationError("seed_node_ids", value, allowed)
    error.args = (f"graph search requires seed node IDs: {error}",)
    return error


def check_fields(given: Mapping[str, Any]) -> tuple[SearchRequest, dict[str, Any]]:
    """The arguments of a call, and its filters.

    Raises:
        ValidationError: an unknown field; names the nearest valid one.
    """
    own = SearchRequest.__struct_fields__
    check_names(given, (*own, *SearchFields.__annotations__), "a field of search")
    request = SearchRequest(**{name: given[name] for name in own if name in given})
    return request, {name: value for name, value in given.items() if name not in own}


def plan(asked: SearchRequest, filters: Mapping[str, Any], defaults: SearchDefaults) -> SearchPlan:
    """Checks everything before any work is done.

    Raises:
        ValidationError: names the field, what was given and what is allowed.
    """
    if asked.type not in TYPES:
        raise ValidationError("type", asked.type, "one of " + ", ".join(TYPES))
    seeds = _texts_of_ids("seed_node_ids", asked.seed_node_ids)
    if asked.type == "graph" and not seeds:
        raise _no_seeds(asked.seed_node_ids)
    wanted = defaults.graph_depth if asked.graph_depth is None else asked.graph_depth
    entities, memories, kinds = _kinds(asked.kinds)
    query, warnings = _query(asked, seeds, defaults.query_chars_max)
    for field in ("ids", "exclude_ids"):
        _texts_of_ids(field, filters.get(field))
    request = RecallRequest(**filters, kinds=kinds)
    if request.include_expired is None:
        request = msgspec.structs.replace(request, include_expired=defaults.include_expired)
    if request.min_similarity is not None and query is None:
        raise ValidationError(
            "min_similarity", request.min_similarity, "nothing: without a query nothing is compared"
        )
    space = defaults.namespace
    if request.namespace is not None:
        space = check_namespace(request.namespace)
    at = moments(
        defaults.now_us,
        as_of=request.as_of,
        known_at=request.known_at,
        valid_at=request.valid_at,
        query_time=request.query_time,
    )
    return SearchPlan(
        query=query,
        type=str(asked.type),
        top_k=count_argument("top_k", defaults.top_k if asked.top_k is None else asked.top_k),
        depth=min(count_argument("graph_depth", wanted, least=0), _DEPTH_MAX),
        seeds=seeds,
        memories=memories,
        entities=entities,
        filters=request,
        filter=build_filter(request, space, at),
        moments=at,
        namespace=space,
        decay=flag_argument("decay", defaults.decay if asked.decay is None else asked.decay),
        memory_ids=flag_argument("include_memory_ids", asked.include_memory_ids),
        touch=flag_argument("touch", asked.touch),
        trace=flag_argument("trace", asked.trace),
        warnings=(*warnings, *at.warnings),
    )
