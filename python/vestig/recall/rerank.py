"""What a cross-encoder says of the best memories, as a term of the score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from vestig.errors import ConflictError, ProviderError
from vestig.ids import id_bytes, id_text
from vestig.ports import LedgerView, ScanRequest
from vestig.rerankers.checked import checked_scores
from vestig.session.embedding import embedded_text
from vestig.session.session import Session
from vestig.types import Degradation

__all__ = ["Reranked", "best", "reranked"]

TERM = "rerank"


class Reranked:
    """The scores of one call, by memory id: each memory is read once, however often is ranked.

    Args:
        given: those of a receipt; then no reranker is asked. None = the receipt has none.
    """

    def __init__(self, given: Mapping[str, float] | None = None, *, asks: bool = True) -> None:
        self.asks = asks
        self.scores = dict(given or {})
        self.missing = not asks and given is None
        self.degraded: Degradation | None = None

    def fails(self, error: ProviderError) -> None:
        """Nothing is asked any more in this call."""
        self.missing = True
        # the ranking is the first that asks; what it was given stays its own
        without = "what else was compared went" if self.scores else "ranked"
        detail = f"{error}: {without} without it"
        self.degraded = Degradation(code="partial_backend", detail=detail)


def reranked(
    session: Session,
    view: LedgerView,
    namespace: str,
    query: str,
    pool: list[bytes],
    known: Reranked,
) -> list[tuple[bytes, float]] | None:
    """What is said of these memories; None = nobody says anything, and the term is unavailable.

    Raises:
        ConflictError: a receipt holds no score of one of them.
    """
    if known.missing or not query.strip():
        return None
    ids = [id_text("mem", id) for id in pool]
    unknown = [id for id in ids if id not in known.scores]
    if unknown and not known.asks:
        raise ConflictError(
            f"the receipt holds no score of {unknown[0]}, which now is among the best: what the"
            " reranker read then was another set of memories"
        )
    if unknown:
        assert session.reranker is not None, "checked before anything was asked"
        memories = view.memories(namespace, unknown)
        try:
            texts = [embedded_text(memory) for memory in memories]
            scores = checked_scores(session.reranker, query, texts)
        except ProviderError as error:
            session.metrics.add("vestig_errors_total", operation="rerank", error_type="network")
            known.fails(error)
            return None
        known.scores.update(zip((memory.id for memory in memories), scores, strict=True))
    return [(id_bytes(id), known.scores[id]) for id in ids]


def best(
    scan: Callable[[int, ScanRequest], Any], seq: int, request: ScanRequest, count: int
) -> list[bytes]:
    """The best memories by all other terms, in any order; nobody walks, use does not count."""
    ranking = {
        **request.ranking,
        "weights": [
            {name: weight for name, weight in own.items() if name != TERM}
            for own in request.ranking["weights"]
        ],
        "limit": count,
        "pool": count,
        "min_score": None,
        "start_enabled": True,
        "tracerank_power": 0.0,
        "association": 0.0,
        "summary_prior": 0.0,
        "expand_summaries": False,
        "watch": b"",
    }
    found = scan(seq, msgspec.structs.replace(request, ranking=ranking, walk=None))
    return [row.id for row in found.rows]
