"""The scores of a cross-encoder for the best memories, a term of the ranking."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from vestig.errors import ConflictError, ProviderError
from vestig.ids import id_bytes, id_text
from vestig.ports import LedgerView, ScanRanking, ScanRequest
from vestig.recall.scan import ScanFunction
from vestig.rerankers.checked import checked_scores
from vestig.session.embedding import embedded_text
from vestig.session.session import Session
from vestig.types import Degradation

__all__ = ["RerankScores", "rerank_pool", "score_pool"]


class RerankScores:
    """The scores of one call, by memory id: each memory is read once, however often it is ranked.

    Args:
        given: those of a receipt; None = it has none.
        of_receipt: nothing else is scored.
    """

    def __init__(
        self, given: Mapping[str, float] | None = None, *, of_receipt: bool = False
    ) -> None:
        self.of_receipt = of_receipt
        self.scores = dict(given or {})
        self.missing = of_receipt and given is None
        self.degraded: Degradation | None = None

    def fail(self, error: ProviderError) -> None:
        """This call goes on without the reranker."""
        self.missing = True
        # the first scan is that of the results; scores that it had stay in them
        without = "what else was compared went" if self.scores else "ranked"
        detail = f"{error}: {without} without it"
        self.degraded = Degradation(code="partial_backend", detail=detail)


def score_pool(
    session: Session,
    view: LedgerView,
    namespace: str,
    query: str,
    pool: list[bytes],
    known: RerankScores,
) -> list[tuple[bytes, float]] | None:
    """The scores of these memories, added to `known`; None = the term is unavailable.

    Raises:
        ConflictError: a receipt holds no score of one of them.
    """
    if known.missing or not query.strip():
        return None
    ids = [id_text("mem", id) for id in pool]
    unknown = [id for id in ids if id not in known.scores]
    if unknown and known.of_receipt:
        raise ConflictError(
            f"the receipt holds no score of {unknown[0]}, which now is among the best: what the"
            " reranker read then was another set of memories"
        )
    if unknown:
        assert session.reranker is not None, "checked before the query was analysed"
        memories = view.memories(namespace, unknown)
        try:
            texts = [embedded_text(memory) for memory in memories]
            scores = checked_scores(session.reranker, query, texts)
        except ProviderError as error:
            session.metrics.add("vestig_errors_total", operation="rerank", error_type="network")
            known.fail(error)
            return None
        known.scores.update(zip((memory.id for memory in memories), scores, strict=True))
    return [(id_bytes(id), known.scores[id]) for id in ids]


def rerank_pool(
    scan: ScanFunction, seq: int, request: ScanRequest, ranking: ScanRanking, count: int
) -> list[bytes]:
    """The best memories by all other terms, in any order.

    Args:
        ranking: by these terms, without a walk and without TraceRank.
    """
    wanted = msgspec.structs.replace(
        request, ranking=ranking, limit=count, pool=count, min_score=None, watch=b""
    )
    return [row.id for row in scan(seq, wanted).rows]
