"""The turns of conversations that belong to an answer, beside its facts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

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
    by_relevance,
    distinct_messages,
    message_blacklist,
    message_queries,
)
from vestig.retrieve.rank import FOCUS
from vestig.retrieve.request import Request
from vestig.retrieve.types import PlannedQuery
from vestig.store.records.reads import LedgerView
from vestig.types import Degradation, Memory, OriginType

_CHATS = (OriginType.CHAT_PEER.value, OriginType.CHAT_AGENT.value)
# Turns that are read at once, as a multiple of those that are returned: facts are left out of them.
_PAGE_OF_LIMIT: Final = 3


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

        limit = self.request.max_messages

        def chosen(pages: Iterable[Sequence[FoundMessage]]) -> Sequence[FoundMessage]:
            return distinct_messages(pages, limit, left_out=left_out, blacklist=listed)

        def run() -> tuple[Sequence[FoundMessage], Degradation | None]:
            vectors, lost = (successful, None) if successful else self.search.embed(planned)
            found = best_messages(lambda most: self._found(where, vectors, most, chosen), limit)
            return found, lost

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
        self,
        chats: FilterParts,
        queries: Sequence[EmbeddedQuery],
        most: int,
        choose: Callable[[Iterable[Sequence[FoundMessage]]], Sequence[FoundMessage]],
    ) -> tuple[Sequence[FoundMessage], int]:
        """Return what is chosen of the best turns of each query, and how many these are."""

        def load(
            view: LedgerView, relevance: Mapping[str, float]
        ) -> tuple[Sequence[FoundMessage], int]:
            return choose(self._pages(view, relevance)), len(relevance)

        return self.search.best(queries, chats, most, load)

    def _pages(
        self, view: LedgerView, relevance: Mapping[str, float]
    ) -> Iterator[list[FoundMessage]]:
        """The turns of these ids in pages, read when they are looked at."""
        space, at = self.request.namespace, self.request.moments
        for ids in by_relevance(relevance, _PAGE_OF_LIMIT * self.request.max_messages):
            self.search.deadline.check()
            stored = view.recalled(space, [id_bytes(id) for id in ids])
            known = as_known(view, space, [one.make() for one in stored.values()], at)
            yield [FoundMessage(memory=one, relevance=relevance[one.id]) for one in known]
