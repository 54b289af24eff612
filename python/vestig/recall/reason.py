"""Why a memory came: its reason, recomputable from its own numbers (R-14, R-18)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec
from msgspec import UNSET

from vestig.results import Reason, SignalTrace, TraceRankBoost
from vestig.times import from_us
from vestig.types import Memory, Stability, Status, TemporalWindow

__all__ = ["Explained", "Question", "ScanRow", "at_known_time", "explain", "flags_of"]


class ScanRow(Protocol):
    """What the scan brought home for one memory (`_core.Row`)."""

    @property
    def final_score(self) -> float: ...
    @property
    def similarity(self) -> float: ...
    @property
    def semantic_score(self) -> float: ...
    @property
    def start_score(self) -> float: ...
    @property
    def base(self) -> float: ...
    @property
    def origin(self) -> int: ...
    @property
    def signals(self) -> list[tuple[float | None, float | None]]: ...
    @property
    def matched_terms(self) -> list[int]: ...
    @property
    def filled(self) -> bool: ...
    @property
    def trace(self) -> float: ...
    @property
    def basic(self) -> float: ...
    @property
    def connectivity(self) -> float: ...
    @property
    def confidence(self) -> float: ...
    @property
    def unclipped(self) -> float: ...
    @property
    def tracerank(self) -> float: ...
    @property
    def events(self) -> int: ...
    @property
    def stability(self) -> int: ...


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What of the query the reasons refer to."""

    # query keyword → its index terms; a keyword matched when all of them did
    keywords: Mapping[str, frozenset[str]]
    terms: Sequence[str]
    windows: Sequence[TemporalWindow]
    weights: Sequence[Mapping[str, float]]
    has_vector: bool
    query_time: datetime
    known_at: datetime


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """Which parts of a reason to give (R-16)."""

    enabled: bool = True
    include_path: bool = True
    include_scores: bool = True


_STABILITIES = tuple(Stability)
# places in `_core.SIGNALS`
_COSINE, _LEXICAL = 0, 5


def flags_of(memory: Memory, query_time: datetime, known_at: datetime) -> list[str]:
    """State worth a caller's eye (T-03, R-14)."""
    flags = []
    expired = memory.t_expired is not None and memory.t_expired <= known_at
    if memory.t_invalid is not None and memory.t_invalid <= query_time and not expired:
        flags.append("no_longer_valid")
    if memory.t_valid > query_time:
        flags.append("not_yet_valid")
    if expired:
        flags.append("expired")
    if memory.status is Status.ARCHIVED:
        flags.append("archived")
    if memory.pinned:
        flags.append("pinned")
    return flags


def _matched_keywords(row: ScanRow, question: Question) -> tuple[str, ...]:
    hit = {question.terms[index] for index in row.matched_terms}
    return tuple(word for word, parts in question.keywords.items() if parts and parts <= hit)


def _meets(own: TemporalWindow, window: TemporalWindow) -> bool:
    starts_before = own.start is None or window.end is None or own.start < window.end
    ends_after = own.end is None or window.start is None or own.end > window.start
    return starts_before and ends_after


def _matched_windows(memory: Memory, question: Question) -> list[str]:
    """Texts of the query's windows that hold the memory's time, or meet one of its windows."""
    texts = []
    for window in question.windows:
        at = memory.t_valid
        after = window.start is None or at >= window.start
        inside = after and (window.end is None or at < window.end)
        if inside or any(_meets(own, window) for own in memory.times):
            texts.append(window.text)
    return texts


def _signals(row: ScanRow, question: Question) -> dict[str, SignalTrace]:
    weights = question.weights[row.origin]
    cosine = weights.get("cosine")
    raw, normalised = row.signals[_COSINE]
    words, words_share = row.signals[_LEXICAL]
    signals = {"bias": SignalTrace(raw=1.0, normalised=1.0, weight=weights["bias"])}
    signals["cosine"] = SignalTrace(
        raw=raw,
        normalised=None if cosine is None else normalised,
        weight=None if raw is None else cosine,
    )
    signals["lexical"] = SignalTrace(
        raw=words,
        normalised=words_share,
        weight=None if words is None else weights.get("lexical"),
        matched=tuple(question.terms[index] for index in row.matched_terms),
    )
    return signals


def _sentence(row: ScanRow, memory: Memory, flags: Sequence[str], question: Question) -> str:
    parts = []
    if row.filled:
        parts.append(f"Filled by start score ({row.start_score:.4f}).")
    elif question.has_vector:
        parts.append(f"Direct semantic match (similarity {row.similarity:.4f}).")
    else:
        parts.append("Direct match by words (the query had no vector).")
    keywords = _matched_keywords(row, question)
    if keywords:
        parts.append(f"Keywords: {', '.join(keywords)}.")
    windows = _matched_windows(memory, question)
    if windows:
        parts.append(f"Time: {', '.join(windows)}.")
    if row.tracerank != 1.0:
        parts.append(f"Reinforced {row.events}×; TraceRank {row.tracerank:.4f}.")
    if "no_longer_valid" in flags and memory.t_invalid is not None:
        parts.append(f"No longer valid since {memory.t_invalid:%Y-%m-%d}.")
    return " ".join(parts)


def explain(
    row: ScanRow,
    memory: Memory,
    replaced: Sequence[str],
    question: Question,
    parts: Explained,
) -> Reason:
    """The reason of one hit. `replaced`: ids that this memory superseded."""
    method, similarity = "direct_match", row.similarity if question.has_vector else None
    if not parts.enabled:
        return Reason(retrieval_method=method, similarity=similarity, final_score=row.final_score)
    flags = flags_of(memory, question.query_time, question.known_at)
    flags.extend(f"supersedes: {id}" for id in replaced)
    scores = parts.include_scores
    return Reason(
        retrieval_method=method,
        similarity=similarity,
        final_score=row.final_score,
        semantic_score=row.semantic_score if scores else UNSET,
        signals=_signals(row, question) if scores else UNSET,
        start_score=row.start_score if scores else UNSET,
        base=row.base if scores else UNSET,
        path=("START",) if parts.include_path else UNSET,
        hops=0 if parts.include_path else UNSET,
        path_score=1.0 if parts.include_path else UNSET,
        tracerank_boost=TraceRankBoost(
            multiplier=row.tracerank,
            trace=row.trace,
            basic=row.basic,
            connectivity=row.connectivity,
            confidence=row.confidence,
            unclipped=row.unclipped,
            events=row.events,
            stability=_STABILITIES[row.stability].value,
        )
        if scores
        else UNSET,
        flags=tuple(flags),
        explanation=_sentence(row, memory, flags, question),
    )


def at_known_time(
    memory: Memory,
    *,
    ends: Mapping[str, int | None],
    reinforced: Mapping[str, tuple[int, int | None]],
    known_at: datetime,
) -> Memory:
    """The memory with its end, counters and withdrawal as they were known at K (T-13)."""
    changed: dict[str, object] = {}
    if memory.t_expired is not None and memory.t_expired > known_at:
        changed = {"status": Status.ACTIVE, "t_expired": None, "superseded_by": None}
    if memory.id in ends:
        end = ends[memory.id]
        changed["t_invalid"] = None if end is None else from_us(end)
    if memory.id in reinforced:
        count, seen = reinforced[memory.id]
        changed["reinforce_count"] = count
        changed["last_seen_at"] = None if seen is None else from_us(seen)
    return msgspec.structs.replace(memory, **changed) if changed else memory
