"""Rows of a scan made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vestig.answers import QueryEntity
from vestig.config.signals import SIGNALS
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


Value = tuple[float | None, float | None]


class MadeRow(msgspec.Struct, kw_only=True):
    """What `_core.Row` has."""

    id: bytes = OTHER
    final_score: float = 0.5
    similarity: float = 0.5
    semantic_score: float = 0.5
    start_score: float = 0.5
    level: float | None = None
    constant: float = 0.0
    chosen: bool = False
    evidence: tuple[float, float, float, float, float, float] | None = None
    base: float = 0.5
    origin: int = 3
    kind: int = 0
    embedded: bool = True
    # (raw, normalised) by name; those that are not named are unavailable
    values: Mapping[str, Value] = {}
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
    newer_than: bytes | None = None

    @property
    def memory_id(self) -> str:
        """The id as text."""
        return id_text("mem", self.id)

    def weighed(
        self, weights: Mapping[str, float], constant: float
    ) -> list[tuple[float, str, float, float | None, float]]:
        """Its terms with these weights, greatest contribution first."""
        terms = list[tuple[float, str, float, float | None, float]]()
        if constant:
            terms.append((constant, "bias", 1.0, 1.0, constant))
        for name in SIGNALS:
            raw, share = self.values.get(name, (None, None))
            weight = weights.get(name, 0.0)
            if raw is not None and weight:
                added = weight * (raw if share is None else share)
                terms.append((added, name, raw, share, weight))
        return sorted(terms, key=lambda term: -abs(term[0]))

    def signal(self, name: str) -> Value:
        """One of them."""
        return self.values.get(name, (None, None))


def explainer(**fields: Any) -> Explainer:
    """Of a query of which nothing was understood, ranked by the reference formula."""
    given: dict[str, Any] = {
        "terms": (),
        "windows": (),
        "entities": {},
        "base": "semantic",
        "weights": [{}] * 4,
        "candidate_weights": [{}] * 4,
        "evidence": [()] * 4,
        "meta_shares": {},
        "has_vector": True,
        "topic_of_query": [None] * 4,
        "query_time": from_us(NOW_US),
        **fields,
    }
    if "candidate_weights" not in fields:
        given["candidate_weights"] = given["weights"]
    given.setdefault("content", [frozenset(given["terms"])] * 4)
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
