"""Rows of a scan made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vestig.answers import QueryEntity
from vestig.ids import id_text
from vestig.recall.reason import Explainer
from vestig.times import from_us
from vestig.types import Kind, Memory, OriginType, RetentionPolicy, Stability, Status

NOW_US = 1_773_835_200_000_000
START = bytes(range(16))
OTHER = bytes(range(16, 32))
ENTITY = bytes(range(32, 48))
EDGE = "00" * 15 + "0a"
EDGE_2 = "00" * 15 + "0b"


class MadeRow(msgspec.Struct, kw_only=True):
    """What `_core.Row` has."""

    id: bytes = OTHER
    final_score: float = 0.5
    similarity: float = 0.5
    semantic_score: float = 0.5
    start_score: float = 0.5
    constant: float = 0.0
    bias: float = 0.0
    base: float = 0.5
    origin: int = 3
    kind: int = 0
    embedded: bool = True
    # raw by name; those that are not named are unavailable
    values: Mapping[str, float] = {}
    # of the linear score; None = terms are not summed
    weights: Mapping[str, float] | None = None
    nearest_question: tuple[int, float] | None = None
    metadata_score: float | None = None
    alpha_used: float | None = None
    matched_terms: list[int] = []
    matched_keywords: list[str] = []
    matched_entities: list[bytes] = []
    filled: bool = False
    direct: bool = True
    start_rank: int | None = 0
    pool_rank: int | None = 0
    path: list[tuple[int, bytes]] = []
    steps: list[tuple[str, float, float, float | None]] = []
    signal_strength: float = 1.0
    path_score: float = 1.0
    start: bytes | None = None
    start_base: float | None = None
    trace: float = 0.0
    basic: float = 1.0
    connectivity: float = 1.0
    confidence: float = 1.0
    unclipped: float = 1.0
    tracerank: float = 1.0
    events: int = 0
    stability: int = 3
    own_final_score: float = 0.5
    newer_than: bytes | None = None
    older_than: bytes | None = None
    in_place_of: bytes | None = None
    answers: bytes | None = None
    asks_the_same: bool = False

    @property
    def memory_id(self) -> str:
        """The id as text."""
        return id_text("mem", self.id)

    def terms(self, shares: Mapping[str, float]) -> list[tuple[float, str, float, float]]:
        """What adds something, greatest contribution first."""
        weights = shares if self.weights is None else self.weights
        terms = [
            (raw * weights[name], name, raw, weights[name])
            for name, raw in {"bias": 1.0, **self.values}.items()
            if raw * weights.get(name, 0.0)
        ]
        return sorted(terms, key=lambda term: -abs(term[0]))

    def signal(self, name: str) -> float | None:
        """One of them."""
        return self.values.get(name)


def explainer(**fields: Any) -> Explainer:
    """Of a query of which nothing was understood, ranked by the reference formula."""
    given: dict[str, Any] = {
        "terms": (),
        "windows": (),
        "entities": {},
        "linear": False,
        "pool_means": {},
        "meta_shares": {},
        "has_vector": True,
        "query_time": from_us(NOW_US),
        **fields,
    }
    given.setdefault("content", {term: term for term in given["terms"]})
    return Explainer(**given)


def ada(score: float = 1.0) -> dict[bytes, QueryEntity]:
    """The query names a person."""
    found = QueryEntity(id="ent_x", type="PERSON", name="Ada Lovelace", score=score)
    return {ENTITY: found}


def memory(id: bytes = OTHER, **fields: Any) -> Memory:
    """A memory as the ledger holds it."""
    text = "The analytical engine weaves algebraical patterns"
    values: dict[str, Any] = dict.fromkeys(Memory.__struct_fields__)
    values |= {
        "id": id_text("mem", id),
        "namespace": "default",
        "seq": 1,
        "kind": Kind.MEMORY,
        "content": text,
        "content_hash": "00",
        "origin_type": OriginType.NOTE,
        "origin_derived": True,
        "keywords": (),
        "times": (),
        "t_valid": from_us(NOW_US),
        "t_created": from_us(NOW_US),
        "temporal_stability": Stability.UNKNOWN,
        "reinforce_count": 0,
        "status": Status.ACTIVE,
        "processing": "ready",
        "pinned": False,
        "retention_policy": RetentionPolicy.STANDARD,
        "access_count": 0,
        "version": 1,
        "metadata": {},
    }
    return Memory(**{**values, **fields})
