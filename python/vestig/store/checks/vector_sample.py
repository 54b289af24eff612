"""Comparison of stored vectors with those that the model in use makes, on a sample of texts."""

from __future__ import annotations

import hashlib
import heapq
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from vestig.errors import ProviderError
from vestig.ids import id_text
from vestig.language.claim_text import claim_text
from vestig.store.records.graph_rows import claims_at
from vestig.store.records.memory_queries import embedded_rows, embedded_texts
from vestig.store.records.reads import LedgerView

SAMPLE_MAX: Final = 100
# Vectors that another implementation made of the same weights lie above.
COSINE_MIN: Final = 0.9999

Embed = Callable[[list[str]], list[bytes]]


def other_vectors(view: LedgerView, store_uuid: bytes, embed: Embed) -> tuple[int, list[str]]:
    """How many memories were compared, and the ids of those whose stored vector has a cosine under
    0.9999 to the one that `embed` makes of their text.

    The sample is a function of the store's uuid and of the memories that have a vector.

    Raises:
        ProviderError: the embedder failed.
    """
    rows = embedded_rows(view.connection)

    def drawn(row: int) -> bytes:
        return hashlib.sha256(store_uuid + row.to_bytes(8, "little")).digest()

    sample = sorted(heapq.nsmallest(SAMPLE_MAX, rows, key=drawn))
    stored = list(_stored(view, sample))
    made = embed([text for _id, text, _vector in stored]) if stored else []
    if len(made) != len(stored):
        raise ProviderError(f"expected {len(stored)} vectors, got {len(made)}; check the embedder")
    others = [
        id_text("mem", id)
        for (id, _text, vector), again in zip(stored, made, strict=True)
        if not _cosine(vector, again) >= COSINE_MIN
    ]
    return len(stored), others


def _stored(view: LedgerView, rows: Sequence[int]) -> Iterator[tuple[bytes, str, bytes]]:
    """Id, text as it is embedded, and vector."""
    conn = view.connection
    claims = claims_at(conn, rows)
    for row, id, author, content, vector in embedded_texts(conn, rows):
        text = content if author is None else f"{author}: {content}"
        yield id, claim_text(claims[row]) if row in claims else text, vector


def _cosine(x: bytes, y: bytes) -> float:
    """0 where one of them is zero, or their lengths differ."""
    a, b = array("f", x), array("f", y)
    squares = math.fsum(v * v for v in a) * math.fsum(v * v for v in b)
    if len(a) != len(b) or not squares > 0:
        return 0.0
    return math.fsum(v * w for v, w in zip(a, b, strict=True)) / math.sqrt(squares)
