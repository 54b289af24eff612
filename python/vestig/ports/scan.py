"""The rows of the projection, and what a scan of them is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from vestig.ports.models import Pieces

__all__ = [
    "ProjectionRow",
    "ScanFilter",
    "ScanQuery",
    "ScanRanking",
    "ScanRequest",
]


class ProjectionRow(NamedTuple):
    """One memory or entity as the projection takes it; the core checks the names of the fields.

    A code is the position of the member in its enum of `types`; times are microseconds.
    """

    # 16 bytes
    id: bytes
    # transactions: that inserted it, that wrote this version
    seq: int
    wseq: int
    content: str
    author: str | None
    namespace: str
    scope: str | None
    # code; 2 is an entity, whose type stands in `role`
    kind: int
    status: int
    role: str | None
    session_id: str | None
    sequence: int | None
    # codes
    origin: int
    stability: int
    pinned: bool
    t_valid_us: int
    t_invalid_us: int | None
    t_created_us: int
    t_expired_us: int | None
    # as the embedder gave it, float32
    embedding: bytes | None
    tags: Sequence[str]
    sources: Sequence[str]
    actors: Sequence[str]
    # (type code, occurred_us, recorded_us, seq, row number)
    events: Sequence[tuple[int, int, int, int, int]]
    keywords: Sequence[str]
    # (start_us, end_us), None = open
    windows: Sequence[tuple[int | None, int | None]]
    # that start here: (id, other end, type code, weight, confidence, created_us, expired_us)
    edges: Sequence[tuple[bytes, bytes, int, float, float | None, int, int | None]]
    # vectors of hypothetical questions
    questions: Sequence[bytes]
    # of an entity: (normal form, stored name), canonical first
    names: Sequence[tuple[str, str]]
    # of the content (`language.text_flags`)
    features: int
    # the name that the title is
    title: str | None
    # one-bit codes of at most 160 word pieces
    pieces: Pieces | None
    # row number in the ledger of the source that produced it first
    source_row: int | None
    # the title as it is given: its words are words of the memory
    heading: str | None


class ScanQuery(Protocol):
    """The core's `Query`."""

    @property
    def vector(self) -> bytes | None: ...
    def without_vector(self) -> ScanQuery: ...
    def with_rerank_scores(self, given: Sequence[tuple[bytes, float]] | None) -> ScanQuery: ...


class ScanFilter(Protocol):
    """The core's `Filter`."""

    @property
    def has_ids(self) -> bool: ...
    def with_ids(self, ids: bytes) -> ScanFilter: ...


class ScanRanking(Protocol):
    """The core's `Ranking`, one object for a configuration."""

    def without_walk(self) -> ScanRanking: ...


class ScanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One ranking scan of the projection: objects of the core, and which of the ranked memories are
    wanted.

    Args:
        limit: most results.
        pool: direct candidates; None = all, "starts" = the start nodes.
        watch: ids (16 bytes each) whose rows are wanted although they are not returned.
        shown: how many of them the caller shows, at most: the walk may admit as many.
    """

    query: ScanQuery
    filter: ScanFilter
    ranking: ScanRanking
    limit: int
    pool: int | str | None
    watch: bytes = b""
    shown: int
