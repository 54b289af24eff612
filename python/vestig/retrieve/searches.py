"""The searches of a retrieval: every planned query is a recall, and what is known of a memory and
of a query is what recall says of it.

Models read for the focus alone, the message that is to be answered: a request costs as much of them
as one recall.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from vestig.answers import RecallHit, RecallResult
from vestig.calls.queries import RecallRequest
from vestig.commit.text import content_hash, normalise
from vestig.config import Config
from vestig.filters import FilterParts
from vestig.ids import id_text
from vestig.recall.query import Query, request_of
from vestig.recall.recall import OneRecall, analysed_together, read_together
from vestig.recall.request import query_argument
from vestig.retrieve.calls import Deadline
from vestig.retrieve.values import PlannedQuery, Request
from vestig.session.session import Session
from vestig.types import Degradation

# Results of the focus at least: what is read does not depend on how much is returned.
READ: Final = 30
# Results of every other query, and how far down one counts as a match of its query.
PER_QUERY: Final = 10
# Share of the confidence that recall needs, below which nothing is near.
_NEAR_MIN: Final = 1 / 3


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A planned query, how recall understood it, and the result of its recall."""

    planned: PlannedQuery
    query: Query
    result: RecallResult

    @property
    def is_focus(self) -> bool:
        """Says that it is the message which is to be answered."""
        return self.planned.source == "focus"

    @property
    def hits(self) -> Sequence[RecallHit]:
        """The memories that recall found, best first."""
        return self.result.results

    @property
    def read(self) -> Sequence[RecallHit]:
        """Return those of them that are there however many facts were asked for."""
        return self.hits[:READ]

    def holds(self, hit: RecallHit) -> bool:
        """Return whether a hit is one of this result."""
        return any(hit is own for own in self.hits)

    @property
    def is_doubtful(self) -> bool:
        """Return whether recall would bring nothing."""
        return self._lacks(1.0)

    @property
    def is_silent(self) -> bool:
        """Return whether it is far from bringing anything."""
        return self._lacks(_NEAR_MIN)

    def _lacks(self, share: float) -> bool:
        certain, least = self.result.confidence, self.result.least_confidence
        return certain is not None and least is not None and certain < share * least

    def above_cut(self) -> frozenset[str] | None:
        """Ids of the memories that recall would keep beside the best; None = it cuts nothing."""
        probable = self.result.formula.score is not None
        scores = [hit.score for hit in self.read] if probable else []
        least = self.query.least_score(self.query.ranking, scores)
        if least is None:
            return None
        return frozenset(hit.id for hit in self.read if hit.score >= least)


def _models_s(answer: Answer) -> float:
    """Seconds for which models read its memories."""
    spent = answer.result.timings_ms
    return sum(spent.get(name, 0.0) for name in ("judge", "rerank")) / 1e3


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Answers of the queries that there was time for, and what degraded."""

    answers: tuple[Answer, ...]
    degraded: tuple[Degradation, ...]


class Searches:
    """The searches of one request. None changes anything, so that one which is given up does no
    harm, and each ends by itself (`TimeoutError`) where it looks at the deadline next."""

    def __init__(
        self, session: Session, config: Config, request: Request, deadline: Deadline
    ) -> None:
        self.session = session
        self.config = config
        self.request = request
        self.deadline = deadline
        # a recall of this request; each query takes the place of its text
        given = RecallRequest(query="-", namespace=request.namespace, all=True)
        self._call = msgspec.structs.replace(
            request_of(session, config, given),
            moments=request.moments,
            silence=config.settings.recall.silence,
            tells_least=True,
        )
        # seconds that a query took, without what models read
        self._query_s = 0.0

    def cut(self, text: str) -> str:
        """As much of a text as recall reads of a query."""
        return query_argument(text)[0]

    def run(self, planned: Sequence[PlannedQuery]) -> Found:
        """The recall of each query, embedded in one batch; of queries that there is no time for,
        the first ones, at least one.

        Raises:
            ProviderError: the embedder failed, under a ranking that needs vectors.
        """
        filter = self._without_own(self.request.filter)
        calls = [self._recall(one, filter) for one in planned]
        queries = analysed_together(calls)
        self.deadline.check()
        asked = list(zip(planned, calls, queries, strict=True))
        found = list[Answer]()
        for group in (
            [one for one in asked if one[0].source == "focus"],
            [one for one in asked if one[0].source != "focus"],
        ):
            fitting = group[: self._fitting(len(group), least=0 if found else 1)]
            if fitting:
                began_s = self.deadline.used_s
                read = self._read(fitting)
                took_s = self.deadline.used_s - began_s - sum(map(_models_s, read))
                self._query_s = max(0.0, took_s) / len(fitting)
                found += read
        degraded = [one for answer in found if answer.is_focus for one in answer.result.degraded]
        return Found(answers=tuple(found), degraded=(*calls[0].degraded, *degraded))

    def again(self, answers: Sequence[Answer], filter: FilterParts, limit: int) -> Sequence[Answer]:
        """Answers of the same queries under another filter, with as many results of each; no model
        reads."""
        self.deadline.check()
        filter = self._without_own(filter)
        group = []
        for one in answers:
            request = msgspec.structs.replace(one.query.request, filter=filter, limit=limit)
            query = msgspec.structs.replace(
                one.query.without_reranker(), request=request, judgements=None
            )
            call = OneRecall(self.session, self.config, request, models=False)
            group.append((one.planned, call, query))
        return self._read(group)

    def _recall(self, planned: PlannedQuery, filter: FilterParts) -> OneRecall:
        focus = planned.source == "focus"
        request = msgspec.structs.replace(
            self._call,
            query=self.cut(planned.text),
            filter=filter,
            limit=max(READ, self.request.max_facts) if focus else PER_QUERY,
        )
        return OneRecall(self.session, self.config, request, models=focus)

    def _read(self, group: Sequence[tuple[PlannedQuery, OneRecall, Query]]) -> list[Answer]:
        """The answers of queries with all but their text in common."""
        planned, calls, queries = zip(*group, strict=True)
        found = read_together(self.session, calls, queries)
        return [
            Answer(planned=one, query=query, result=result)
            for one, query, result in zip(planned, queries, found, strict=True)
        ]

    def _fitting(self, waiting: int, least: int) -> int:
        """How many of the queries that wait there is time for."""
        left_s = self.deadline.left_s
        if waiting * self._query_s <= left_s:
            return waiting
        # before the first query nothing is known of how long one takes
        return max(least, int(left_s / self._query_s)) if self._query_s else least

    def _without_own(self, filter: FilterParts) -> FilterParts:
        """The filter without the memories that are messages of the request, by their text or by
        their reference: agents store a turn before they ask."""
        request, settings = self.request, self.config.settings.hygiene
        texts = {content_hash(normalise(one.content, settings)) for one in request.messages}
        named = [one.message_id for one in request.messages if one.message_id is not None]
        with self.session.ledger.read() as view:
            own = view.ids_with_hashes(request.namespace, tuple(texts))
            found = {id_text("mem", id) for id in own}
            if named:
                found.update(view.recorded_by(request.namespace, named))
        return filter.without(sorted(found))
