"""The keyword fields of `commit`, `recall` and `update`, declared once for type checkers.

What each means and allows is checked at run time, where an unknown name is answered with the
nearest valid one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypeAlias, TypedDict

from vestig.types import CommitOutcome

__all__ = [
    "CommitFields",
    "ForgetFilter",
    "RecallFields",
    "SearchFields",
    "Time",
    "UpdateFields",
    "Words",
]

Time: TypeAlias = str | datetime | date | None
Words: TypeAlias = str | Sequence[str] | None


class CommitFields(TypedDict, total=False):
    """Fields of `commit` beside the content."""

    source: str
    namespace: str | None
    scope: str | None
    tags: Sequence[str] | None
    metadata: Mapping[str, Any] | None
    actor: str | None
    agent: str | None
    author: str | None
    role: str | None
    session_id: str | None
    sequence: int | None
    title: str | None
    origin_type: str | None
    artifact_ref: str | None
    t_valid: Time
    t_invalid: Time
    t_ref: Time
    temporal_stability: str | None
    trigger: str | None
    entities: Sequence[str | Mapping[str, Any]] | None
    keywords: Sequence[str] | None
    hypothetical_queries: Sequence[str] | None
    retention_policy: str | None
    retention_until: Time
    pinned: bool
    supersedes: str | Sequence[str] | None
    on_near_dup: str | None
    enrich: bool | None
    strict: bool
    dry_run: bool
    on_commit: Callable[[CommitOutcome], None] | None


class _Chosen(TypedDict, total=False):
    """Filters that every operation on many memories has."""

    scope: str | Sequence[str | None] | None
    kinds: Words
    tags: Words
    tags_mode: str
    sources: Words
    actors: Words
    authors: Words
    roles: Words
    session_ids: Words
    origin_types: Words
    metadata: Mapping[str, Any] | None
    since: Time
    until: Time
    created_since: Time
    created_until: Time
    include_archived: bool
    exclude_ids: Words


class _Asked(_Chosen, total=False):
    """What `recall` and `search` have in common."""

    namespace: str | None
    entities: Words
    include_expired: bool | None
    ids: Words
    min_similarity: float | None
    as_of: Time
    known_at: Time
    valid_at: Time
    query_time: Time
    touch: bool


class RecallFields(_Asked, total=False):
    """Fields of `recall` beside the query."""

    messages: Sequence[Mapping[str, Any]] | None
    query_vector: Any
    limit: int | None
    min_confidence: float | None
    profile: str | None
    config: Mapping[str, Any] | None
    seed: int | str | None
    mode: str | None
    order: str | None
    expect: Words
    receipt: bool
    context: bool
    budget: int | None
    include_vectors: bool


class SearchFields(_Asked, total=False):
    """Fields of `search` beside the query and its reach."""

    include_memory_ids: bool
    decay: bool | None
    trace: bool


class ForgetFilter(_Chosen, total=False):
    """Filters of `forget`: those of `recall`, and what came from a source or a message."""

    include_expired: bool
    source_ids: Words
    message_ids: Words


class UpdateFields(TypedDict, total=False):
    """Fields of `update`: absent = keep, None = clear."""

    content: str
    metadata: Mapping[str, Any] | None
    tags: Sequence[str] | None
    scope: str | None
    retention_policy: str | None
    retention_until: Time
    t_valid: Time
    t_invalid: Time
    temporal_stability: str | None
    trigger: str | None
