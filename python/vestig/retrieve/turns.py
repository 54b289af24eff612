"""The turns of conversations that belong to an answer, beside its facts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from vestig.config import Config
from vestig.filters import Filter, filter_parts
from vestig.ids import id_text
from vestig.memories.read import as_known
from vestig.retrieve.calls import Calls
from vestig.retrieve.fact_search import EmbeddedQuery, FactSearch, Found, own_messages
from vestig.retrieve.fused_search import fused, votes_of
from vestig.retrieve.message_search import (
    FoundMessage,
    best_messages,
    message_blacklist,
    message_queries,
)
from vestig.retrieve.request import Request
from vestig.retrieve.types import PlannedQuery
from vestig.session.filter_ids import resolved
from vestig.store.ledger.reads import LedgerView
from vestig.store.projection.scan_objects import Projection
from vestig.types import Degradation, Memory, OriginType

__all__ = ["TurnSearch"]

_CHATS = (OriginType.CHAT_PEER.value, OriginType.CHAT_AGENT.value)


class TurnSearch:
    """The search for turns of one request: as `search_facts`, over what was said in
    conversations. Runs once, at the end."""

    def __init__(self, search: FactSearch, config: Config, request: Request) -> None:
        self.search = search
        self.config = config
        self.request = request
        self.warnings: list[str] = []
        self.degraded: list[Degradation] = []

    def best(self, calls: Calls, found: Found | None, left_out: Collection[str]) -> list[Memory]:
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
    def _successful(found: Found | None) -> Sequence[EmbeddedQuery]:
        """The queries that found facts."""
        if found is None:
            return ()
        return tuple(one for one, best in zip(found.queries, found.best, strict=True) if best)

    def _chats(self) -> Filter | None:
        """The filter of the request for turns alone; None where it lets none of them through."""
        where = self.request.where
        origins = [one for one in where.given().get("origin_types", _CHATS) if one in _CHATS]
        return msgspec.structs.replace(where, origin_types=origins) if origins else None

    def _found(
        self, where: Filter, queries: Sequence[EmbeddedQuery], most: int
    ) -> list[FoundMessage]:
        """The best turns of each query, fused."""
        request = self.request
        hygiene = self.config.settings.hygiene
        include_expired = self.config.settings.recall.include_expired
        parts = filter_parts(
            where, request.namespace, request.moments, include_expired=include_expired
        )

        def read(view: LedgerView, core: Projection) -> list[FoundMessage]:
            self.search.deadline.check()
            mine = own_messages(view, request, hygiene)
            own = msgspec.structs.replace(parts, exclude_ids=(*parts.exclude_ids, *mine))
            chosen: dict[str, Any] = resolved(view, core, own)
            pairs = [(one.planned.text, one.vector) for one in queries]
            votes = votes_of(core, view.seq, chosen, pairs, most)
            self.search.deadline.check()
            hits = fused([text for text, _ in pairs], votes, "rrf")
            stored = view.recalled(request.namespace, [hit.memory_id for hit in hits])
            found = [one.make() for one in stored.values()]
            known = as_known(view, request.namespace, found, request.moments)
            memories = {memory.id: memory for memory in known}
            return [
                FoundMessage(memory=memories[id], fusion_score=hit.fusion_score)
                for hit in hits
                if (id := id_text("mem", hit.memory_id)) in memories
            ]

        return self.search.session.keeper.run(read)
