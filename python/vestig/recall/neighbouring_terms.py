"""Which neighbouring content terms of a query are neighbours in a memory too.

The projection knows which memories hold both terms of a pair, and not where: the texts of these,
and of no others, are read from the ledger when a ranking weighs the term. Nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from vestig.ids import id_bytes, id_text, split_ids
from vestig.language.content_words import ContentTerm
from vestig.language.stopwords import STOPWORDS
from vestig.language.words import neighbouring_terms
from vestig.ports import LedgerView
from vestig.session.session import Session
from vestig.types import OriginType

__all__ = ["NeighboursOfMemories", "neighbours_of_memories"]

_PAGE: Final = 500

# Id (16 bytes) of a memory, and the pairs that it holds, as places in the distinct content terms.
NeighboursOfMemories = list[tuple[bytes, list[tuple[int, int]]]]


def _pairs(content: Sequence[ContentTerm]) -> Iterator[tuple[str, str]]:
    """Neighbouring terms, with those inside temporal expressions and without them: which of the two
    counts depends on the memories."""
    for counted in (content, [one for one in content if not one.in_time]):
        yield from pairwise(one.term for one in counted)


def neighbours_of_memories(
    session: Session,
    view: LedgerView,
    namespace: str,
    filter: dict[str, Any],
    content: Sequence[ContentTerm],
) -> NeighboursOfMemories:
    """`neighbours` of a query of the core: of the memories that a filter lets through.

    Args:
        filter: keyword arguments of `_core.Filter`.
        content: of the query.
    """
    terms = list(dict.fromkeys(one.term for one in content))
    pairs = list(dict.fromkeys(_pairs(content)))
    holders = split_ids(session.keeper.pair_holders(view, filter, pairs)) if pairs else []
    found: NeighboursOfMemories = []
    for start in range(0, len(holders), _PAGE):
        ids = [id_text("mem", id) for id in holders[start : start + _PAGE]]
        memories, normal = view.memories(namespace, ids), view.normal_texts(namespace, ids)
        texts = [
            (normal[one.id], one.author, one.origin_type == OriginType.CHAT_AGENT)
            for one in memories
        ]
        held = neighbouring_terms(texts, terms, STOPWORDS)
        found += [
            (id_bytes(memory.id), pairs)
            for memory, pairs in zip(memories, held, strict=True)
            if pairs
        ]
    return found
