"""The result of a graph search, and how hits of meaning and of links become its one list: by score,
with half-life decay and heat.

Pure: the caller brings hits of the core and loads nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.answers import Repeat, memory_in_brief
from vestig.language.text_forms import one_line
from vestig.reprs import SNIPPET
from vestig.results import SequenceResult, listing
from vestig.telemetry import Span
from vestig.times import DAY_US, plain_object, to_us
from vestig.types import Degradation, Entity, Memory, RetentionPolicy, _Value

MEMORY: Final = "memory"
ENTITY: Final = "entity"
# type → the scale of its scores
SCALES: Final = {
    "vector": "cosine",
    "graph": "1/(1+depth)",
    "hybrid": "cosine + 1/(1+depth)",
}
_FETCH_MIN: Final = 20
# (id, kind, cosine), best first
Hit = tuple[str, str, float]
# (id, kind, depth)
Reached = tuple[str, str, int]


class SearchHit(_Value, frozen=True, kw_only=True):
    """One node. `similarity` is its plain cosine, null where none was compared. `repeats`: the
    other memories of its scope and author with its text, oldest first, at most 50; `repeats_more`
    counts the rest. `raw_score` is None unless scores were decayed, `memory_ids` where they were
    left out."""

    node_id: str
    kind: str
    score: float
    source: str
    graph_depth: int
    similarity: float | None
    node: Memory | Entity
    repeats: tuple[Repeat, ...] = ()
    repeats_more: int = 0
    memory_ids: tuple[str, ...] | None = None
    raw_score: float | None = None

    def __repr__(self) -> str:
        node = self.node
        text = node.content if isinstance(node, Memory) else node.canonical_name
        return f"<SearchHit {self.id} {self.score:.3f} {one_line(text, SNIPPET)!r}>"

    @property
    def id(self) -> str:
        """The node's id."""
        return self.node_id

    def plain_fields(self, *, explain: bool = False) -> dict[str, Any]:
        """Return what JSON shows: the node in brief, its score and how it was reached; with
        `explain` the whole node, its similarity, repeats, and what was asked for."""
        if not explain:
            names = ("node_id", "kind", "score", "source", "graph_depth")
            return {name: getattr(self, name) for name in names} | {"node": _in_brief(self.node)}
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        absent = {name for name in ("repeats", "repeats_more") if not shown[name]}
        absent |= {name for name in ("memory_ids", "raw_score") if shown[name] is None}
        shown = {name: value for name, value in shown.items() if name not in absent}
        reason = {
            "retrieval_method": "graph_traversal" if self.graph_depth else "direct_match",
            "similarity": self.similarity,
            "hops": self.graph_depth,
            "final_score": self.score,
        }
        return shown | {"final": self.score, "reason": reason}

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """Plain JSON types; times as `YYYY-MM-DDTHH:MM:SS.ffffffZ`.

        Args:
            explain: with the whole node, and what its score is made of.
        """
        return plain_object(self.plain_fields(explain=explain))


def _in_brief(node: Memory | Entity) -> dict[str, Any]:
    if isinstance(node, Memory):
        return {"content": node.content, **memory_in_brief(node)}
    return {"canonical_name": node.canonical_name, "entity_type": node.entity_type}


class SearchResult(SequenceResult[SearchHit], frozen=True, kw_only=True):
    """The sequence of the nodes, best first; `score_scale` names what their scores are, `trace` is
    None unless it was asked for."""

    results: tuple[SearchHit, ...]
    query: str | None
    type: str
    score_scale: str
    decayed: bool
    namespace: str
    seq: int
    trace: tuple[Span, ...] | None = None
    degraded: tuple[Degradation, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = [f"{len(self)} by {self.type}"]
        parts += [f"degraded {entry.code}" for entry in self.degraded]
        return listing(f"<SearchResult {', '.join(parts)}>", self.results)

    def plain_fields(self, *, explain: bool = False) -> dict[str, Any]:
        """Return what JSON shows: the trace where it was asked for."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        shown["results"] = [hit.plain_fields(explain=explain) for hit in self.results]
        if self.trace is None:
            del shown["trace"]
        return shown

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """Plain JSON types; times as `YYYY-MM-DDTHH:MM:SS.ffffffZ`.

        Args:
            explain: with whole nodes, and what their scores are made of.
        """
        return plain_object(self.plain_fields(explain=explain))


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A node that may be returned. `similarity` is None where no vector was compared."""

    id: str
    kind: str
    score: float
    source: str
    depth: int
    similarity: float | None = None


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the ledger with the factor by which decay lowers its score (1 = not at all)."""

    node: Any
    factor: float = 1.0


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate that is returned: `raw` is its score before decay."""

    candidate: Candidate
    node: Any
    score: float
    raw: float


def graph_score(depth: int) -> float:
    """1 for a seed, then 1/2, 1/3, …

    Example:
        >>> [graph_score(depth) for depth in (0, 1, 3)]
        [1.0, 0.5, 0.25]
    """
    return 1.0 / (1.0 + depth)


def fetch_size(top_k: int) -> int:
    """How many vector hits a hybrid search begins with.

    Example:
        >>> fetch_size(3), fetch_size(15)
        (20, 30)
    """
    return max(2 * top_k, _FETCH_MIN)


def _best_first(candidates: list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda one: (-one.score, one.id))


def vector_candidates(hits: Sequence[Hit]) -> list[Candidate]:
    """Vector hits as candidates, in the order of the index."""
    return [
        Candidate(id=id, kind=kind, score=cosine, source="vector", depth=0, similarity=cosine)
        for id, kind, cosine in hits
    ]


def graph_candidates(reached: Sequence[Reached]) -> list[Candidate]:
    """Nodes at their shortest depth from the seeds.

    Example:
        >>> reached = [("b", "memory", 1), ("a", "memory", 0)]
        >>> [(one.id, one.score) for one in graph_candidates(reached)]
        [('a', 1.0), ('b', 0.5)]
    """
    return _best_first(
        [
            Candidate(id=id, kind=kind, score=graph_score(depth), source="graph", depth=depth)
            for id, kind, depth in reached
        ]
    )


def hybrid_candidates(
    hits: Sequence[Hit], reached: Sequence[Reached], seeds: Collection[tuple[str, str]] = ()
) -> list[Candidate]:
    """Vector and link scores added.

    Args:
        hits: vector hits, best first.
        reached: nodes with their depth from the nearest origin that is not the node itself.
        seeds: (id, kind) of origins that the caller named: link score 1 whatever reaches them.

    Example:
        >>> one, = hybrid_candidates([("a", "memory", 0.6)], [("a", "memory", 1)])
        >>> one.score, one.source, one.depth
        (1.1, 'hybrid', 0)
    """
    cosines = {id: cosine for id, _, cosine in hits}
    depths = {id: depth for id, _, depth in reached}
    kinds = {id: kind for id, kind, _ in (*reached, *hits)} | dict(seeds)
    depths.update({id: 0 for id, _ in seeds})
    candidates = []
    for id, kind in kinds.items():
        cosine, depth = cosines.get(id), depths.get(id)
        linked = 0.0 if depth is None else graph_score(depth)
        source = "graph" if cosine is None else "vector" if depth is None else "hybrid"
        candidates.append(
            Candidate(
                id=id,
                kind=kind,
                score=linked if cosine is None else cosine + linked,
                source=source,
                depth=depth if cosine is None and depth is not None else 0,
                similarity=cosine,
            )
        )
    return _best_first(candidates)


def best_stored(
    fetch: Callable[[int], Sequence[Candidate]],
    load: Callable[[Sequence[Candidate]], Mapping[str, Loaded]],
    distinct: Callable[[list[Ranked]], list[Ranked]],
    top_k: int,
    floor: float | None = None,
) -> tuple[list[Ranked], int]:
    """The best `top_k` of different text that exist, and how many candidates were gone from the
    ledger.

    `fetch(n)` gives the n best candidates, fewer when there are no more; `load` gives those that
    exist; `distinct` leaves the best one of each text. One that is gone, or decays below `floor`,
    is replaced by the next. Decay only lowers scores, so what is not fetched has at most the last
    raw score: the result is the one that decay of all candidates would give.
    """
    wanted = top_k
    seen: dict[str, Loaded | None] = {}
    while True:
        candidates = fetch(wanted)
        fresh = [one for one in candidates if one.id not in seen]
        found = load(fresh)
        seen.update({one.id: found.get(one.id) for one in fresh})
        taken = distinct(_decayed(candidates, seen, floor))
        if len(candidates) < wanted or _is_complete(taken, top_k, candidates[-1].score, floor):
            return taken[:top_k], sum(node is None for node in seen.values())
        wanted *= 2


def _decayed(
    candidates: Sequence[Candidate], seen: Mapping[str, Loaded | None], floor: float | None
) -> list[Ranked]:
    taken = []
    for one in candidates:
        loaded = seen[one.id]
        if loaded is None:
            continue
        score = one.score * loaded.factor
        if floor is None or score >= floor:
            taken.append(Ranked(candidate=one, node=loaded.node, score=score, raw=one.score))
    if floor is not None:
        taken.sort(key=lambda item: (-item.score, item.candidate.id))
    return taken


def _is_complete(taken: Sequence[Ranked], top_k: int, last: float, floor: float | None) -> bool:
    """Return whether no candidate that was not fetched can be among the best."""
    if floor is None:
        return len(taken) >= top_k
    # Below the floor a score stays below it; at equal scores the id would decide.
    return last < floor or (len(taken) >= top_k and taken[top_k - 1].score > last)


# --- decay and heat ---------------------------------------------------------------------------


class DecayRules(msgspec.Struct, frozen=True, kw_only=True):
    """How the scores of items decay. `half_lives`: days by policy, None = never. `power` and `ln`:
    the functions of the core, whose results ranking equals to the last bit."""

    half_lives: Mapping[str, float | None]
    default_policy: str
    by_access: bool
    reference: int
    power: Callable[[float, float], float]
    ln: Callable[[float], float]


def half_life_decay(
    age_days: float, half_life_days: float | None, power: Callable[[float, float], float]
) -> float:
    """0.5 ^ (age / half-life); 1 for what is new, or never decays.

    Example:
        >>> half_life_decay(60, 30, pow), half_life_decay(-1, 30, pow)
        (0.25, 1.0)
    """
    if half_life_days is None or age_days <= 0:
        return 1.0
    return power(0.5, age_days / half_life_days)


def heat(count: int, reference: int, ln: Callable[[float], float]) -> float:
    """How much an item is used, 0 to 1; `reference` accesses or more are 1.

    Example:
        >>> from math import log
        >>> heat(0, 10, log), heat(20, 10, log)
        (0.0, 1.0)
    """
    return min(1.0, ln(max(0, count) + 1.0) / ln(reference + 1.0))


def _frequency(count: int, rules: DecayRules) -> float:
    return 0.5 + 0.5 * heat(count, rules.reference, rules.ln)


def _age_days(item: Memory | Entity, now_us: int, rules: DecayRules) -> float:
    begun = item.t_created if isinstance(item, Memory) else item.created_at
    seen = item.last_accessed_at if rules.by_access else None
    return (now_us - to_us(begun if seen is None else seen)) / DAY_US


def memory_factor(memory: Memory, now_us: int, rules: DecayRules) -> float:
    """Decay times frequency of a memory; the decay of a pinned one is 1."""
    half_life = None if memory.pinned else rules.half_lives[memory.retention_policy.value]
    decayed = half_life_decay(_age_days(memory, now_us, rules), half_life, rules.power)
    return decayed * _frequency(memory.access_count, rules)


def entity_factor(
    entity: Entity, memories: Iterable[Memory], now_us: int, rules: DecayRules
) -> float:
    """An entity lasts as long as the most lasting of its memories: a permanent or pinned one
    keeps it from decaying. Without memories its own dates alone count."""
    age = _age_days(entity, now_us, rules)
    mentioned = list(memories)
    if not mentioned:
        return half_life_decay(age, rules.half_lives[rules.default_policy], rules.power)
    lasting = RetentionPolicy.PERMANENT
    if any(memory.pinned or memory.retention_policy is lasting for memory in mentioned):
        half_life = None
    else:
        known = (rules.half_lives[memory.retention_policy.value] for memory in mentioned)
        half_life = max(days for days in known if days is not None)
    decayed = half_life_decay(age, half_life, rules.power)
    return decayed * _frequency(entity.access_count, rules)
