"""The arguments of a graph search, checked and made plain."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vestig.calls.filter import ENTITY as ENTITY_KIND
from vestig.calls.filter import Filter
from vestig.calls.queries import SearchRequest
from vestig.errors import ValidationError
from vestig.filters import FilterParts, Moments, filter_parts, moments
from vestig.recall.request import query_argument

_DEPTH_MAX: Final = 1_000


class SearchDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """Values of the configuration and the clock."""

    limit: int
    graph_depth: int
    include_expired: bool
    namespace: str
    now_us: int


class SearchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A checked request. `memories`, `entities`: whether they come; where only entities do,
    memories still lead from one to the other."""

    query: str | None
    type: str
    limit: int
    depth: int
    seeds: tuple[str, ...]
    memories: bool
    entities: bool
    filter: FilterParts
    min_similarity: float | None
    moments: Moments
    namespace: str
    decay: bool
    memory_ids: bool
    touch: bool
    trace: bool
    warnings: tuple[str, ...]


def _kinds(where: Filter) -> tuple[bool, bool]:
    """Return whether entities come, and whether memories come."""
    kinds = where.given().get("kinds")
    if kinds is None:
        return True, True
    return ENTITY_KIND in kinds, any(kind != ENTITY_KIND for kind in kinds)


def _query(asked: SearchRequest, seeds: tuple[str, ...]) -> Any:
    """The text to embed, None where nothing is embedded; with warnings."""
    blank = asked.query is None or (isinstance(asked.query, str) and not asked.query.strip())
    if asked.type == "graph" or (asked.type == "hybrid" and seeds and blank):
        return None, ()
    if asked.query is None:
        raise ValidationError("query", None, "a question or some words")
    return query_argument(asked.query)


def _no_seeds(value: object) -> ValidationError:
    allowed = "at least one id of a memory or an entity"
    error = ValidationError("seed_nodes", value, allowed)
    error.args = (f"graph search requires seed node IDs: {error}",)
    return error


def plan(asked: SearchRequest, defaults: SearchDefaults) -> SearchPlan:
    """Checks everything before any work is done.

    Raises:
        ValidationError: names the field, what came and what is allowed.
    """
    seeds = asked.seed_nodes
    if asked.type == "graph" and not seeds:
        raise _no_seeds(asked.seed_nodes or None)
    wanted = defaults.graph_depth if asked.graph_depth is None else asked.graph_depth
    entities, memories = _kinds(asked.where)
    query, warnings = _query(asked, seeds)
    least = asked.where.given().get("min_similarity")
    if least is not None and query is None:
        raise ValidationError(
            "min_similarity", least, "nothing: without a query nothing is compared"
        )
    space = defaults.namespace if asked.namespace is None else asked.namespace
    at = moments(
        defaults.now_us,
        as_of=asked.as_of,
        known_at=asked.known_at,
        valid_at=asked.valid_at,
        query_time=asked.query_time,
    )
    parts = filter_parts(asked.where, space, at, include_expired=defaults.include_expired)
    return SearchPlan(
        query=query,
        type=asked.type,
        limit=defaults.limit if asked.limit is None else asked.limit,
        depth=min(wanted, _DEPTH_MAX),
        seeds=seeds,
        memories=memories,
        entities=entities,
        filter=parts,
        min_similarity=least,
        moments=at,
        namespace=space,
        decay=bool(asked.decay),
        memory_ids=asked.include_memory_ids,
        touch=asked.touch,
        trace=asked.trace,
        warnings=(*warnings, *at.warnings),
    )
