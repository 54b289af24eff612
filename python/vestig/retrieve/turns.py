"""The turns of conversations that belong to an answer, beside its facts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from vestig.config import Config
from vestig.filters import FilterParts, filter_parts
from vestig.ids import id_bytes
from vestig.memories.read import as_known
from vestig.retrieve.calls import Calls
from vestig.retrieve.fact_search import EmbeddedQuery, FactSearch, QueryResults
from vestig.retrieve.message_search import (
    FoundMessage,
    best_messages,
    message_blacklist,
    message_queries,
)
from vestig.retrieve.rank import FOCUS
from vestig.retrieve.request import Request
from vestig.retrieve.types import PlannedQuery
from vestig.store.records.reads import LedgerView
from vestig.types import Degradation, Memory, OriginType

_CHATS = (OriginType.CHAT_PEER.value, OriginType.CHAT_AGENT.value)


class TurnSearch:
    """The search for turns of one request: that for facts, over what was said in conversations.
    Runs once, at the end."""

    def __init__(self, search: FactSearch, config: Config, request: Request) -> None:
        self.search = search
        self.config = config
        self.request = request
        self.warnings: list[str] = []
        self.degraded: list[Degradation] = []

    def best(
        self, calls: Calls, found: QueryResults | None, left_out: Collection[str]
    ) -> list[Memory]:
        """The best turns that are not among the returned facts.

        Args:
            left_out: ids of the memories that are.
        """
        where = self._chats()
        if where is None:
            return []
        listed, warning = message_blacklist(self.config.settings.retrieve.message_blacklist)
        self.warnings += [] if warning is None else [warning]
        successful = self._successful(found)
        texts = message_queries([one.planned.text for one in successful], self.request.messages)
        if not texts:
            return []
        planned = [PlannedQuery(text=text, source="focus") for text in texts]

        def run() -> tuple[list[FoundMessage], Degradation | None]:
            vectors, lost = (successful, None) if successful else self.search.embed(planned)
            return (
                best_messages(
                    lambda most: self._found(where, vectors, most),
                    self.request.max_messages,
                    left_out=left_out,
                    blacklist=listed,
                ),
                lost,
            )

        answer = calls.call("message_search", texts, run, lambda one: len(one[0]))
        if answer is None:
            detail = f"turns could not be searched ({calls.made[-1].error})"
            self.degraded.append(Degradation(code="partial_backend", detail=detail))
            return []
        if answer[1] is not None:
            self.degraded.append(answer[1])
        return [one.memory for one in answer[0]]

    @staticmethod
    def _successful(found: QueryResults | None) -> Sequence[EmbeddedQuery]:
        """The focus and the other queries that found a fact above the cut of recall; none where no
        query found any fact."""
        if found is None or not any(found.best):
            return ()
        above, pairs = found.above_cut(), zip(found.queries, found.best, strict=True)
        return tuple(
            one for at, (one, best) in enumerate(pairs) if at == FOCUS or not above.isdisjoint(best)
        )

    def _chats(self) -> FilterParts | None:
        """The filter of the request for turns alone; None where it lets none of them through."""
        request = self.request
        origins = [
            one for one in request.where.given().get("origin_types", _CHATS) if one in _CHATS
        ]
        if not origins:
            return None
        return filter_parts(
            msgspec.structs.replace(request.where, origin_types=origins),
            request.namespace,
            request.moments,
            include_expired=self.config.settings.recall.include_expired,
        )

    def _found(
        self, chats: FilterParts, queries: Sequence[EmbeddedQuery], most: int
    ) -> list[FoundMessage]:
        """The best turns of each query."""
        space, at = self.request.namespace, self.request.moments

        def load(view: LedgerView, relevance: Mapping[str, float]) -> list[FoundMessage]:
            self.search.deadline.check()
            stored = view.recalled(space, [id_bytes(id) for id in relevance])
            known = as_known(view, space, [one.make() for one in stored.values()], at)
            return [FoundMessage(memory=one, relevance=relevance[one.id]) for one in known]

        return self.search.best(queries, chats, most, load)
