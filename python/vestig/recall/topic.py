"""The topic of a query: which word pieces belong to which of its content terms."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from vestig.language.words import ContentTerm
from vestig.ports import TokenStates

# Hidden states of word pieces, and by piece the content terms of its word, as places among them.
TopicPieces = tuple[bytes, list[list[int]]]


def topic_pieces(
    text: str, content: Sequence[ContentTerm], states: TokenStates
) -> TopicPieces | None:
    """The word pieces of a query that belong to a content word; None where there is none.

    Without places no piece belongs to any.

    A piece belongs to the terms whose words it lies in: to an identifier as a whole and to the part
    of it. Special pieces and punctuation belong to none.

    Args:
        content: of the text.
    """
    numbers = struct.unpack(f"<{len(states.places) // 4}I", states.places)
    places = list(zip(numbers[::2], numbers[1::2], strict=True))
    size = len(states.states) // max(1, len(places))
    kept, terms = list[bytes](), list[list[int]]()
    for at, (start, end) in enumerate(places):
        if not any(map(str.isalnum, text[start:end])):
            continue
        own = [n for n, one in enumerate(content) if start < one.end and one.start < end]
        if own:
            kept.append(states.states[at * size : (at + 1) * size])
            terms.append(own)
    return (b"".join(kept), terms) if kept else None
