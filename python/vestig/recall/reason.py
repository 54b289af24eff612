"""Why a memory came: its reason, recomputable from its own numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

import msgspec
from msgspec import UNSET

from vestig.answers import Hypothetical, QueryEntity, Reason, SignalTrace, Step, TraceRankBoost
from vestig.config.signals import SIGNALS
from vestig.ids import id_text
from vestig.memories.read import flags_of
from vestig.types import Memory, Stability, TemporalWindow

__all__ = ["META_SIGNALS", "Explained", "Question", "ScanRow", "explain", "shares", "signals_of"]


class ScanRow(Protocol):
    """One row of a scan (`_core.Row`): scores, then the walk, then TraceRank."""

    @property
    def id(self) -> bytes: ...
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
    def kind(self) -> int: ...
    @property
    def embedded(self) -> bool: ...
    @property
    def signals(self) -> list[tuple[float | None, float | None]]: ...
    @property
    def hypothetical(self) -> tuple[int, float] | None: ...
    @property
    def metadata_score(self) -> float | None: ...
    @property
    def alpha_used(self) -> float | None: ...
    @property
    def matched_terms(self) -> list[int]: ...
    @property
    def matched_keywords(self) -> list[str]: ...
    @property
    def matched_entities(self) -> list[bytes]: ...
    @property
    def filled(self) -> bool: ...
    @property
    def direct(self) -> bool: ...
    @property
    def start_rank(self) -> int | None: ...
    @property
    def pool_rank(self) -> int | None: ...
    @property
    def path(self) -> list[tuple[int, bytes]]: ...
    @property
    def steps(self) -> list[tuple[str, float, float, float | None]]: ...
    @property
    def signal_strength(self) -> float: ...
    @property
    def path_score(self) -> float: ...
    @property
    def start(self) -> bytes | None: ...
    @property
    def start_base(self) -> float | None: ...
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


# Terms of the metadata.
META_SIGNALS: Final = ("keyword", "temporal", "entity", "recency")
START: Final = "START"
_EDGE_NAMES: Final = {0: "MENTIONS", 1: "RELATED", 2: "SUMMARIZES", 8: "RELATION"}
_MENTIONS: Final = 0


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What of the query and the formula the reasons refer to.

    `weights`: per code of `OriginType`, names of `SIGNALS` and `bias`, absent = 0; read where
    `base` is linear. `meta_shares`: shares of the metadata, read everywhere else.
    """

    terms: Sequence[str]
    windows: Sequence[TemporalWindow]
    entities: Mapping[bytes, QueryEntity]
    base: str
    weights: Sequence[Mapping[str, float]]
    meta_shares: Mapping[str, float]
    has_vector: bool
    query_time: datetime
    known_at: datetime


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """Which parts of a reason to give."""

    enabled: bool = True
    include_path: bool = True
    include_scores: bool = True


def shares(weights: Mapping[str, float], available: Sequence[str]) -> dict[str, float]:
    """Weights of the available signals, together 1; {} when none has any.

    Example:
        >>> shares({"keyword": 0.5, "temporal": 0.3, "entity": 0.2}, ["temporal", "entity"])
        {'temporal': 0.6, 'entity': 0.4}
    """
    chosen = {name: weights[name] for name in META_SIGNALS if name in available}
    whole = sum(chosen.values())
    return {name: weight / whole for name, weight in chosen.items()} if whole > 0 else {}


_STABILITIES = tuple(Stability)


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


def _matched(row: ScanRow, memory: Memory | None, question: Question) -> dict[str, tuple[str, ...]]:
    """What matched, by signal."""
    found = {
        "keyword": tuple(row.matched_keywords),
        "entity": tuple(_labels(row, question)),
        "lexical": tuple(question.terms[index] for index in row.matched_terms),
    }
    if memory is not None:
        found["temporal"] = found["date"] = tuple(_matched_windows(memory, question))
    return found


def _labels(row: ScanRow, question: Question) -> list[str]:
    named = (question.entities.get(id) for id in row.matched_entities)
    return [f"{entity.type}:{entity.name}" for entity in named if entity is not None]


def signals_of(row: ScanRow, memory: Memory | None, question: Question) -> dict[str, SignalTrace]:
    """Every term with its weight; the sum of weight · normalised is L where the base is linear,
    that of the metadata's terms S_meta elsewhere."""
    return _signals(row, _matched(row, memory, question), question)


_NO_SIGNALS: Final = dict.fromkeys(SIGNALS, SignalTrace(raw=None, normalised=None, weight=None))
_PLACES: Final = {name: place for place, name in enumerate(SIGNALS)}
# Terms of which more is told than numbers.
_TOLD: Final = frozenset(("keyword", "entity", "lexical", "temporal", "date"))


class _Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What the traces of one origin have in common: `traces` of terms that say nothing, and place,
    name, weight and the trace of a value of 0 of the others; None where more is told than
    numbers."""

    traces: dict[str, SignalTrace]
    terms: tuple[tuple[int, str, float | None, SignalTrace | None], ...]


_Weights = Sequence[Mapping[str, float]]
# id of weights by origin → (they, what is shown of each origin)
_SHOWN: Final[dict[int, tuple[_Weights, tuple[_Shown, ...]]]] = {}
_SHOWN_MAX: Final = 64


def _shown(weights: Mapping[str, float | None], bias: float | None) -> _Shown:
    traces = _NO_SIGNALS
    if bias is not None:
        traces = {"bias": SignalTrace(raw=1.0, normalised=1.0, weight=bias), **_NO_SIGNALS}

    def nothing(name: str) -> SignalTrace | None:
        if name in _TOLD:
            return None
        return SignalTrace(raw=0.0, normalised=0.0, weight=weights[name])

    terms = (
        (place, name, weights[name], nothing(name))
        for name, place in _PLACES.items()
        if name in weights
    )
    return _Shown(traces=traces, terms=tuple(terms))


def _linear(weights: _Weights) -> tuple[_Shown, ...]:
    """By origin, made once: 0 stands beside a weight elsewhere; without any the term says nothing
    of this score."""
    found = _SHOWN.get(id(weights))
    if found is None or found[0] is not weights:
        if len(_SHOWN) >= _SHOWN_MAX:
            _SHOWN.clear()
        weighed = set[str]().union(*weights)
        made = tuple(
            _shown({name: own.get(name, 0.0) for name in weighed}, own.get("bias"))
            for own in weights
        )
        found = _SHOWN[id(weights)] = (weights, made)
    return found[1]


def _signals(
    row: ScanRow, matched: Mapping[str, tuple[str, ...]], question: Question
) -> dict[str, SignalTrace]:
    if question.base == "linear":
        shown = _linear(question.weights)[row.origin]
    else:
        shown = _shown({name: question.meta_shares.get(name) for name in SIGNALS}, None)
    signals = shown.traces.copy()
    values = row.signals
    for place, name, weight, nothing in shown.terms:
        raw, normalised = values[place]
        if raw is None:
            continue
        if nothing is None:
            signals[name] = SignalTrace(
                raw=raw, normalised=normalised, weight=weight, matched=matched.get(name, UNSET)
            )
        elif raw == 0.0 == normalised:
            signals[name] = nothing
        else:
            signals[name] = SignalTrace(raw=raw, normalised=normalised, weight=weight)
    return signals


def _path(row: ScanRow) -> tuple[str, ...]:
    """`START`, then each place the walk came by; a MENTIONS step goes over an entity."""
    places, inside = [START], False
    for code, id in row.path:
        inside = code == _MENTIONS and not inside
        places.append(f"{_EDGE_NAMES[code]}:{id_text('ent' if inside else 'mem', id)}")
    return tuple(places)


def _step(edges: str, weight: float, p: float, u: float | None) -> Step:
    ids = [id_text("edge", bytes.fromhex(edge)) for edge in edges.split("|")]
    return Step(edge="|".join(ids), weight=weight, p=p, u=u)


def _walked_to(row: ScanRow) -> bool:
    """Whether the walk brought the memory in; one that is a direct candidate too counts as
    direct, and its path stays in the trace."""
    return bool(row.path) and not row.direct and not row.filled


def _first_sentence(row: ScanRow, question: Question) -> str:
    if _walked_to(row):
        start = "" if row.start is None else id_text("mem", row.start)
        return (
            f"Reached via {len(row.path)}-hop traversal (signal {row.signal_strength:.4f})"
            f" from {start}."
        )
    if row.filled:
        return f"Filled by start score ({row.start_score:.4f})."
    if question.has_vector:
        return f"Direct semantic match (similarity {row.similarity:.4f})."
    return "Direct match by words (the query had no vector)."


# signal → how what matched is told
_SAID: Final = {"keyword": "Keywords:", "temporal": "Time:", "entity": "Via entity"}


def _sentences(
    row: ScanRow,
    memory: Memory,
    flags: Sequence[str],
    hypothetical: Hypothetical | None,
    matched: Mapping[str, tuple[str, ...]],
    question: Question,
) -> str:
    parts = [_first_sentence(row, question)]
    if hypothetical is not None and hypothetical.cosine > row.similarity:
        parts.append(
            f'Through stored question "{hypothetical.question}" ({hypothetical.cosine:.4f}).'
        )
    for name, said in _SAID.items():
        if matched[name]:
            parts.append(f"{said} {', '.join(matched[name])}.")
    if row.tracerank != 1.0:
        parts.append(f"Reinforced {row.events}×; TraceRank {row.tracerank:.4f}.")
    if "no_longer_valid" in flags and memory.t_invalid is not None:
        parts.append(f"No longer valid since {memory.t_invalid:%Y-%m-%d}.")
    return " ".join(parts)


def _boost(row: ScanRow) -> TraceRankBoost:
    return TraceRankBoost(
        multiplier=row.tracerank,
        trace=row.trace,
        basic=row.basic,
        connectivity=row.connectivity,
        confidence=row.confidence,
        unclipped=row.unclipped,
        events=row.events,
        stability=_STABILITIES[row.stability].value,
    )


def explain(
    row: ScanRow,
    memory: Memory,
    replaced: Sequence[str],
    questions: Sequence[str],
    question: Question,
    parts: Explained,
) -> Reason:
    """The reason of one hit.

    Args:
        replaced: ids that this memory superseded.
        questions: the memory's stored questions, in order.
    """
    method = "graph_traversal" if _walked_to(row) else "direct_match"
    similarity = row.similarity if question.has_vector else None
    if not parts.enabled:
        return Reason(retrieval_method=method, similarity=similarity, final_score=row.final_score)
    flags = flags_of(memory, question.query_time, question.known_at)
    flags.extend(f"supersedes: {id}" for id in replaced)
    hypothetical = None
    if row.hypothetical is not None:
        index, cosine = row.hypothetical
        hypothetical = Hypothetical(question=questions[index], cosine=cosine)
    matched = _matched(row, memory, question)
    scores, walked = parts.include_scores, parts.include_path
    return Reason(
        retrieval_method=method,
        similarity=similarity,
        final_score=row.final_score,
        semantic_score=row.semantic_score if scores else UNSET,
        hypothetical=hypothetical if scores else UNSET,
        signals=_signals(row, matched, question) if scores else UNSET,
        alpha_used=row.alpha_used if scores else UNSET,
        metadata_score=row.metadata_score if scores else UNSET,
        start_score=row.start_score if scores else UNSET,
        base=row.base if scores else UNSET,
        start_base=row.start_base if scores else UNSET,
        path=_path(row) if walked else UNSET,
        hops=len(row.path) if walked else UNSET,
        steps=tuple(_step(*step) for step in row.steps) if walked else UNSET,
        signal_strength=row.signal_strength if walked else UNSET,
        path_score=row.path_score if walked else UNSET,
        tracerank_boost=_boost(row) if scores else UNSET,
        flags=tuple(flags),
        explanation=_sentences(row, memory, flags, hypothetical, matched, question),
    )
