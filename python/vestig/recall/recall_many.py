"""Many queries at one state of the store: one batch of the embedder, one pass over the arrays."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from vestig.answers import RecallResult
from vestig.arguments import listed
from vestig.calls.queries import RecallRequest
from vestig.errors import ValidationError
from vestig.recall.query import BoundQuery, Query, scan_together
from vestig.recall.ranking import read_with_scores
from vestig.recall.recall import OneRecall, checked_config, checked_request, embedded_queries
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.types import ItemError

QUERIES_MAX: Final = 1_000
# Stands for a query while the other arguments are checked.
_ANY_QUERY: Final = "-"

_FieldsAndTimes = tuple[dict[str, Any], dict[str, float]]


def recall_many(
    session: Session,
    queries: object,
    arguments: RecallRequest,
) -> list[RecallResult | ItemError]:
    """The result of each query, as its own recall gives it; an entry in the place of a query that
    is none.

    Args:
        arguments: those of all queries, without a query.

    Raises:
        ValidationError: a wrong argument of all.
    """
    texts = listed(queries)
    if not isinstance(texts, (list, tuple)):
        raise ValidationError("queries", type(queries).__name__, "a list of questions")
    if len(texts) > QUERIES_MAX:
        raise ValidationError("queries", f"{len(texts)} queries", f"at most {QUERIES_MAX} queries")
    config = checked_config(session, arguments.config, arguments.profile)
    now_us = session.now_us()
    checked_request(session, config, _with_query(arguments, _ANY_QUERY), now_us)
    found: list[RecallResult | ItemError | OneRecall] = []
    for index, text in enumerate(texts):
        try:
            request = checked_request(session, config, _with_query(arguments, text), now_us)
        except ValidationError as error:
            found.append(ItemError(index=index, code=error.code, message=str(error)))
        else:
            found.append(OneRecall(session, config, request))
    calls = [one for one in found if isinstance(one, OneRecall)]
    with session.operation("recall_many"):
        results = iter(_Batch(session, calls).results() if calls else ())
        session.metrics.add("vestig_queries_total", len(calls), source="recall")
        return [next(results) if isinstance(one, OneRecall) else one for one in found]


def _with_query(arguments: RecallRequest, query: object) -> RecallRequest:
    return msgspec.structs.replace(arguments, query=query)


class _Batch:
    """Calls with all but their text in common."""

    def __init__(self, session: Session, calls: Sequence[OneRecall]) -> None:
        self.session = session
        self.calls = calls

    def results(self) -> list[RecallResult]:
        """Of each call. What is done for all together counts the same part for each."""
        started = time.perf_counter()
        vectors = embedded_queries(self.calls)
        embed_ms = self.part_ms(started)
        mark = time.perf_counter()
        queries = [
            call.analyse(vector, pieces)
            for call, (vector, pieces) in zip(self.calls, vectors, strict=True)
        ]
        analyse_ms = self.part_ms(mark)
        found, scan_ms = self.read_at_one_state(queries)
        results = []
        for call, (fields, spent) in zip(self.calls, found, strict=True):
            timings = {
                "embed": embed_ms,
                "analyse": analyse_ms + spent.pop("analyse"),
                "score": scan_ms + spent.pop("score"),
                **spent,
            }
            timings["total"] = sum(timings.values())
            results.append(call.result(fields, timings))
        return results

    def part_ms(self, since: float) -> float:
        """The part of one call in the time since."""
        return 1e3 * (time.perf_counter() - since) / len(self.calls)

    def read_at_one_state(self, queries: Sequence[Query]) -> tuple[list[_FieldsAndTimes], float]:
        """Return what each call found, with the scores of a reranker where it needs them; and the
        milliseconds of the scans for each."""

        def read(view: LedgerView) -> tuple[list[_FieldsAndTimes], float]:
            started = time.perf_counter()
            bounds = [
                call.bound(view, query) for call, query in zip(self.calls, queries, strict=True)
            ]
            analyse_ms = self.part_ms(started)
            started = time.perf_counter()
            self.scan(bounds)
            scan_ms = self.part_ms(started)
            found = []
            for call, bound in zip(self.calls, bounds, strict=True):
                started = time.perf_counter()
                fields, spent = call.found(bound, analyse_ms)
                took_ms = 1e3 * (time.perf_counter() - started)
                spent["score"] = took_ms - sum(spent.values()) + analyse_ms
                found.append((fields, spent))
            return found, scan_ms

        timeout_s = self.calls[0].config.settings.reranker.timeout_s
        return read_with_scores(self.session, read, timeout_s)

    def scan(self, bounds: Sequence[BoundQuery]) -> None:
        """The scans of all queries together, where each is an exact one of its query alone."""
        request, ranking = self.calls[0].request, bounds[0].query.ranking
        alone = ranking.core_for_reranking is not None or bool(request.expect)
        if not alone and all(bound.is_exact for bound in bounds):
            scan_together(bounds)
