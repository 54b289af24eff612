"""Unified search: how hits of meaning and of links become one list.

Pure: the caller brings hits of the core and loads nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

MEMORY: Final = "memory"
ENTITY: Final = "entity"
# type → the scale of its scores
SCALES: Final = {
    "vector": "cosine",
    "graph": "1/(1+depth)",
    "hybrid": "cosine + 1/(1+depth)",
}
_FETCH_MIN: Final = 20


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


# (id, kind, cosine), best first
Hit = tuple[str, str, float]
# (id, kind, depth)
Reached = tuple[str, str, int]


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
