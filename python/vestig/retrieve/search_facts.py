"""`search_facts`: one list of memories for several queries, by meaning and by words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from vestig.arguments import as_integer, as_number
from vestig.errors import ProviderError, ValidationError
from vestig.filters import Filter, FilterParts, filter_parts, moments
from vestig.memories.equal_texts import text_keys
from vestig.recall.request import query_argument
from vestig.retrieve.fused_search import (
    FUSIONS,
    Fusion,
    Voter,
    Votes,
    adaptive_threshold,
    fused,
    votes_of,
)
from vestig.retrieve.request import FACTS_MAX
from vestig.retrieve.result import FactHit, FactSearchResult
from vestig.retrieve.rounds import RELEVANCE_FLOOR
from vestig.session.embedding import all_query_vectors, check_identity
from vestig.session.filter_ids import resolved, unknown_entities
from vestig.session.session import Session
from vestig.store.ledger.reads import LedgerView
from vestig.store.projection.scan_objects import Projection
from vestig.types import Degradation

__all__ = ["FactSearchRequest", "search_facts"]

QUERIES_MAX: Final = 20
LIMIT_DEFAULT: Final = 10
_FIXED: Final = 0.6


class FactSearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `search_facts`. `where` is a checked filter."""

    queries: Any
    limit: Any = LIMIT_DEFAULT
    where: Filter = Filter()
    similarity_threshold: Any = None
    adaptive_threshold: Any = True
    fusion: Any = "rrf"
    multi_query_boost: Any = 0.0
    namespace: Any = None


class _Checked(msgspec.Struct, frozen=True, kw_only=True):
    queries: tuple[str, ...]
    limit: int
    namespace: str
    filter: FilterParts
    threshold: float | None
    fusion: Fusion
    boost: float
    warnings: tuple[str, ...]


def _share(field: str, value: object) -> float:
    number = as_number(value)
    if number is None or not 0 <= number <= 1:
        raise ValidationError(field, value, "a number from 0 to 1")
    return float(number)


def _checked(session: Session, given: FactSearchRequest) -> _Checked:
    """`threshold`: None = adaptive."""
    settings = session.config.settings
    listed = [given.queries] if isinstance(given.queries, str) else given.queries
    if isinstance(listed, (bytes, Mapping)) or not isinstance(listed, Sequence):
        raise ValidationError("queries", type(listed).__name__, "a list of texts")
    if not 1 <= len(listed) <= QUERIES_MAX:
        raise ValidationError("queries", f"{len(listed)} queries", f"1 to {QUERIES_MAX} queries")
    texts: list[str] = []
    warnings: list[str] = []
    for query in listed:
        text, cut = query_argument(query)
        texts.append(text)
        warnings += cut
    limit = as_integer(given.limit)
    if limit is None or not 1 <= limit <= FACTS_MAX:
        raise ValidationError("limit", given.limit, f"an integer from 1 to {FACTS_MAX}")
    if given.fusion not in FUSIONS:
        raise ValidationError("fusion", given.fusion, "one of " + ", ".join(FUSIONS))
    if not isinstance(given.adaptive_threshold, bool):
        raise ValidationError("adaptive_threshold", given.adaptive_threshold, "true or false")
    threshold = None if given.adaptive_threshold else _FIXED
    if given.similarity_threshold is not None:
        threshold = _share("similarity_threshold", given.similarity_threshold)
    space = session.in_namespace(given.namespace)
    parts = filter_parts(
        given.where,
        space,
        moments(session.now_us()),
        include_expired=settings.recall.include_expired,
    )
    return _Checked(
        queries=tuple(dict.fromkeys(texts)),
        limit=limit,
        namespace=space,
        filter=parts,
        threshold=threshold,
        fusion=cast("Fusion", given.fusion),
        boost=_share("multi_query_boost", given.multi_query_boost),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def search_facts(session: Session, given: FactSearchRequest) -> FactSearchResult:
    """Memories that two voters, meaning and words, rank for several queries."""
    with session.operation("search_facts"):
        asked = _checked(session, given)
        degraded: list[Degradation] = []
        try:
            check_identity(session)
            found = all_query_vectors(session, asked.queries, late=False)
            vectors: list[bytes | None] = [vector for vector, _ in found]
        except ProviderError as error:
            vectors = [None] * len(asked.queries)
            detail = f"no vectors of queries ({type(error).__name__}): words alone voted"
            degraded.append(Degradation(code="partial_backend", detail=detail))
        result = session.keeper.run(lambda view, core: _read(session, view, core, asked, vectors))
        degraded += session.keeper.take_degraded()
        session.metrics.degraded(degraded)
        session.metrics.add("vestig_queries_total", len(asked.queries), source="search_facts")
        return msgspec.structs.replace(result, degraded=tuple(degraded))


def _read(
    session: Session,
    view: LedgerView,
    core: Projection,
    asked: _Checked,
    vectors: Sequence[bytes | None],
) -> FactSearchResult:
    """The result at the state of one view."""
    chosen = resolved(view, core, asked.filter)
    pairs = list(zip(asked.queries, vectors, strict=True))
    votes = votes_of(core, view.seq, chosen, pairs, max(1, core.rows))
    votes = _of_distinct_texts(session, view, asked, votes)
    threshold = _threshold(session, asked, votes)
    if threshold is not None:
        votes = [_above(own, threshold) for own in votes]
    hits = fused(asked.queries, votes, asked.fusion, asked.boost)[: asked.limit]
    stored = view.recalled(asked.namespace, [hit.memory_id for hit in hits])
    return FactSearchResult(
        results=tuple(
            FactHit(
                memory=stored[hit.memory_id].make(),
                similarity=hit.similarity,
                keyword_score=hit.keyword_score,
                fusion_score=hit.fusion_score,
                fusion=asked.fusion,
                query_scores=hit.query_scores,
                appeared_in_query_count=hit.appeared_in_query_count,
            )
            for hit in hits
        ),
        queries=asked.queries,
        fusion=asked.fusion,
        threshold=threshold,
        namespace=asked.namespace,
        seq=view.seq,
        warnings=(*asked.warnings, *unknown_entities(view, core, asked.filter)),
    )


def _of_distinct_texts(
    session: Session,
    view: LedgerView,
    asked: _Checked,
    votes: list[dict[Voter, Votes]],
) -> list[dict[Voter, Votes]]:
    """The votes with each text once: its best one, of the memory that stands for it."""
    ids = sorted({id for own in votes for ranked in own.values() for id, _ in ranked})
    at = asked.filter.moments.known_at_us
    keys = text_keys(session, view, asked.namespace, ids, at) if ids else {}
    if not keys:
        return votes
    first: dict[object, bytes] = {}
    for id in ids:
        if id in keys:
            first.setdefault(keys[id], id)

    def once(ranked: Votes) -> Votes:
        best: dict[bytes, float] = {}
        for id, score in ranked:
            best.setdefault(first[keys[id]] if id in keys else id, score)
        return list(best.items())

    return [{voter: once(ranked) for voter, ranked in own.items()} for own in votes]


def _threshold(
    session: Session, asked: _Checked, votes: Sequence[Mapping[Voter, Votes]]
) -> float | None:
    """The least similarity of a vector's vote; None where none was compared."""
    if not any("vector" in own for own in votes):
        return None
    if asked.threshold is not None:
        return asked.threshold
    best: dict[bytes, float] = {}
    for own in votes:
        for id, cosine in own.get("vector", ()):
            best[id] = max(cosine, best.get(id, -1.0))
    least = session.config.settings.retrieve.adaptive_min
    return adaptive_threshold(
        list(best.values()), asked.limit, RELEVANCE_FLOOR if least is None else least
    )


def _above(own: Mapping[Voter, Votes], threshold: float) -> dict[Voter, Votes]:
    kept = {**own}
    if "vector" in own:
        kept["vector"] = [(id, cosine) for id, cosine in own["vector"] if cosine >= threshold]
    return kept
