"""The arguments of a graph search, checked and made plain."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vestig.arguments import check_unicode, count_argument, flag_argument
from vestig.errors import ValidationError
from vestig.filters import ENTITY as ENTITY_KIND
from vestig.filters import Filter, FilterParts, Moments, filter_parts, moments
from vestig.graph.search_scores import TYPES
from vestig.ids import check_namespace
from vestig.recall.request import query_argument

__all__ = ["SearchDefaults", "SearchPlan", "SearchRequest", "plan"]

_DEPTH_MAX: Final = 1_000


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a graph search; None = the configured value. `where` is a checked filter."""

    query: Any = None
    type: Any = "hybrid"
    where: Filter = Filter()
    limit: Any = None
    graph_depth: Any = None
    seed_nodes: Any = None
    include_memory_ids: Any = True
    decay: Any = None
    as_of: Any = None
    known_at: Any = None
    valid_at: Any = None
    query_time: Any = None
    namespace: Any = None
    touch: Any = False
    trace: Any = False


class SearchDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """What the configuration and the clock say."""

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
    """Whether entities come, and whether memories come."""
    kinds = where.given().get("kinds")
    if kinds is None:
        return True, True
    return ENTITY_KIND in kinds, any(kind != ENTITY_KIND for kind in kinds)


def _texts_of_ids(field: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple, set, frozenset)):
        raise ValidationError(field, value, "a list of memories by id, entities by id or name")
    for id in listed:
        if not isinstance(id, str) or not id.strip():
            raise ValidationError(field, id, "the id of a memory, or the id or name of an entity")
        check_unicode(field, id)
    return tuple(dict.fromkeys(id.strip() for id in listed))


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
    if asked.type not in TYPES:
        raise ValidationError("type", asked.type, "one of " + ", ".join(TYPES))
    seeds = _texts_of_ids("seed_nodes", asked.seed_nodes)
    if asked.type == "graph" and not seeds:
        raise _no_seeds(asked.seed_nodes)
    wanted = defaults.graph_depth if asked.graph_depth is None else asked.graph_depth
    entities, memories = _kinds(asked.where)
    query, warnings = _query(asked, seeds)
    least = asked.where.given().get("min_similarity")
    if least is not None and query is None:
        raise ValidationError(
            "min_similarity", least, "nothing: without a query nothing is compared"
        )
    space = defaults.namespace
    if asked.namespace is not None:
        space = check_namespace(asked.namespace)
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
        type=str(asked.type),
        limit=count_argument("limit", defaults.limit if asked.limit is None else asked.limit),
        depth=min(count_argument("graph_depth", wanted, least=0), _DEPTH_MAX),
        seeds=seeds,
        memories=memories,
        entities=entities,
        filter=parts,
        min_similarity=least,
        moments=at,
        namespace=space,
        decay=flag_argument("decay", asked.decay is not None and asked.decay),
        memory_ids=flag_argument("include_memory_ids", asked.include_memory_ids),
        touch=flag_argument("touch", asked.touch),
        trace=flag_argument("trace", asked.trace),
        warnings=(*warnings, *at.warnings),
    )
