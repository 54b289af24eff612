"""The scores of a cross-encoder for the best memories, a term of the ranking."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import msgspec

from vestig.errors import ProviderError
from vestig.ids import id_bytes, id_text
from vestig.ports import ScanFunction, ScanRanking, ScanRequest
from vestig.rerankers.checked import scores_within
from vestig.session.embedding import embedded_texts
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.telemetry.error_types import error_type
from vestig.types import Degradation

_T = TypeVar("_T")


class TextsToScoreError(Exception):
    """Ends a read whose ranking needs scores that are not known yet: a reranker is asked outside
    of every view, so that one that takes long holds back neither forgetting nor merging.

    Args:
        query: what they are scored for.
        ids: of the memories.
        texts: of them, as they are embedded.
        known: where their scores are missing.
    """

    def __init__(self, query: str, ids: list[str], texts: list[str], known: RerankScores) -> None:
        super().__init__("the reranker has not scored these memories yet")
        self.query = query
        self.ids = ids
        self.texts = texts
        self.known = known


class RerankScores:
    """The scores of one call, by memory id: each memory is read once, however often it is ranked.

    Args:
        beside: those of the call's own question, where this is another that is compared with it:
            both share the time, and what fails here is said there.
    """

    def __init__(self, beside: RerankScores | None = None) -> None:
        self.scores: dict[str, float] = {}
        self.missing = False
        self.degraded: Degradation | None = None
        self.spent_ms = 0.0
        self.beside = beside
        self._others: dict[str, RerankScores] = {}

    def of_text(self, text: str) -> RerankScores:
        """Those of another question that is compared with the call's own; kept, so that a read that
        begins again finds what was scored before."""
        if text not in self._others:
            self._others[text] = RerankScores(beside=self)
        # a reranker that failed reads no more in a call
        self._others[text].missing |= self.missing
        return self._others[text]

    def ask(self, session: Session, wanted: TextsToScoreError, timeout_s: float) -> None:
        """Adds the reranker's scores of these memories; where it fails, or has taken `timeout_s`
        seconds in all, the call goes on without it (`degraded`)."""
        assert session.reranker is not None, "checked before the query was analysed"
        started = time.perf_counter()
        timed = self if self.beside is None else self.beside
        left_s = timeout_s - timed.spent_ms / 1e3
        try:
            scores = scores_within(session.reranker, wanted.query, wanted.texts, left_s, timeout_s)
        except ProviderError as error:
            kind = error_type(error)
            session.metrics.add(
                "vestig_errors_total",
                operation="rerank",
                error_type="timeout" if kind == "timeout" else "network",
            )
            self._fail(error)
        else:
            self.scores.update(zip(wanted.ids, scores, strict=True))
        timed.spent_ms += (time.perf_counter() - started) * 1e3

    def _fail(self, error: ProviderError) -> None:
        told = self if self.beside is None else self.beside
        self.missing = told.missing = True
        # the first scan is that of the results; scores that it had stay in them
        without = "what else was compared went" if told.scores else "ranked"
        detail = f"{error}: {without} without it"
        told.degraded = Degradation(code="partial_backend", detail=detail)


def read_with_scores(session: Session, read: Callable[[LedgerView], _T], timeout_s: float) -> _T:
    """`read` at one state of the store, begun again each time that the reranker has to score
    memories first.

    Args:
        timeout_s: seconds that the reranker may take for one query in all.
    """
    while True:
        try:
            return session.keeper.run(lambda view, _: read(view))
        except TextsToScoreError as wanted:
            wanted.known.ask(session, wanted, timeout_s)


def score_pool(
    view: LedgerView,
    namespace: str,
    query: str,
    pool: list[bytes],
    known: RerankScores,
) -> list[tuple[bytes, float]] | None:
    """The scores of these memories; None = the term is unavailable.

    Raises:
        TextsToScoreError: the reranker has to read some of them first.
    """
    if not query.strip():
        return None
    ids = [id_text("mem", id) for id in pool]
    unknown = [id for id in ids if id not in known.scores]
    if known.missing and (unknown or not ids):
        return None
    if unknown:
        memories = view.memories(namespace, unknown)
        texts = embedded_texts(view, memories)
        raise TextsToScoreError(query, [one.id for one in memories], texts, known)
    return [(id_bytes(id), known.scores[id]) for id in ids]


def rerank_pool(
    scan: ScanFunction, seq: int, request: ScanRequest, ranking: ScanRanking, count: int
) -> list[bytes]:
    """The best memories by all other terms, in any order.

    Args:
        ranking: by these terms, without a walk and without TraceRank.
    """
    wanted = msgspec.structs.replace(request, ranking=ranking, limit=count, pool=count, watch=b"")
    return [row.id for row in scan(seq, wanted).rows]
