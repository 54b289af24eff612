"""The reason of a result: every number behind its rank, enough to compute the score again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET

from vestig.answers import (
    EvidenceValue,
    Hypothetical,
    NewerThan,
    OriginEvidence,
    QueryEntity,
    Reason,
    SignalTrace,
    Step,
    TraceRankBoost,
)
from vestig.config.signals import ORIGINS
from vestig.ids import id_text
from vestig.language.content_words import frame_words
from vestig.memories.read import flags_of
from vestig.recall.deciding_term import KIND_OF_MEMORY, TERM_NAMES, deciding_term, summed
from vestig.recall.scan import ScanRow
from vestig.types import Memory, Stability, TemporalWindow

__all__ = ["META_SIGNALS", "Explainer", "ReasonParts", "contribution", "shares"]


# Terms of the metadata.
META_SIGNALS: Final = ("keyword", "temporal", "entity", "recency")
START: Final = "START"
_EDGE_NAMES: Final = {0: "MENTIONS", 1: "RELATED", 2: "SUMMARIZES", 8: "RELATION"}
_MENTIONS: Final = 0
BIAS: Final = "bias"
TOPIC: Final = "topic"
# The term of a cross-encoder, which origin evidence does not scale.
RERANK: Final = "rerank"
# signal → the words before what matched
_LABELS: Final = {"keyword": "Keywords:", "temporal": "Time:", "entity": "Via entity"}


# contribution, name, raw, normalised, weight
_Term = tuple[float, str, float, float | None, float]


class _Weighed(NamedTuple):
    """The terms of a row that have a value and a weight, greatest contribution first; by name what
    each adds to the sum of the formula, and what the constants of its origin do."""

    terms: Sequence[_Term]
    added: dict[str, float]
    constants: float


class ReasonParts(msgspec.Struct, frozen=True, kw_only=True):
    """Which parts of a reason are given; without `enabled` only the method and the scores."""

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


def contribution(trace: SignalTrace) -> float:
    """What a term adds to the sum of its formula."""
    value = trace.raw if trace.normalised is None else trace.normalised
    return value * trace.weight


_STABILITIES = tuple(Stability)


def _meets(own: TemporalWindow, window: TemporalWindow) -> bool:
    starts_before = own.start is None or window.end is None or own.start < window.end
    ends_after = own.end is None or window.start is None or own.end > window.start
    return starts_before and ends_after


def _path(row: ScanRow) -> tuple[str, ...]:
    """`START`, then each node of the walk; a MENTIONS step goes over an entity."""
    places, inside = [START], False
    for code, id in row.path:
        inside = code == _MENTIONS and not inside
        places.append(f"{_EDGE_NAMES[code]}:{id_text('ent' if inside else 'mem', id)}")
    return tuple(places)


def _step(edges: str, weight: float, p: float, u: float | None) -> Step:
    ids = [id_text("edge", bytes.fromhex(edge)) for edge in edges.split("|")]
    return Step(edge="|".join(ids), weight=weight, p=p, u=u)


def _walked_to(row: ScanRow) -> bool:
    """Whether only the walk reached the memory; a direct candidate that it reached too counts as
    direct and keeps its path."""
    return bool(row.path) and not row.direct and not row.filled


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


class Explainer(msgspec.Struct, frozen=True, kw_only=True):
    """What the rows of one scan have in common, and how they are explained: plain values of the
    query and the formula, nothing of the store.

    Args:
        terms: index terms of the query; `matched_terms` of a row are places in it.
        content: per code of `OriginType`, those of them that say what the query is about; others
            are never named.
        entities: those that the query names, by their ids of 16 bytes.
        weights: per code of `OriginType`, names of `SIGNALS` and `bias`, absent = 0; read where
            `base` is linear.
        candidate_weights: the same of the sum that ranks memories that it did not choose.
        evidence: per code of `OriginType`: scale, constant, and weights of cosine, lexical, best
            and mean; read where the scan says that they counted.
        meta_shares: shares of the metadata's terms, read everywhere else.
        has_vector: whether the query was embedded.
        topic_of_query: per code of `OriginType`, whether its own vector stood for its topic; None =
            nothing was compared with that.
    """

    terms: Sequence[str]
    content: Sequence[frozenset[str]]
    windows: Sequence[TemporalWindow]
    entities: Mapping[bytes, QueryEntity]
    base: str
    weights: Sequence[dict[str, float]]
    candidate_weights: Sequence[dict[str, float]]
    evidence: Sequence[Sequence[float]]
    meta_shares: dict[str, float]
    has_vector: bool
    topic_of_query: Sequence[bool | None]
    query_time: datetime
    parts: ReasonParts = ReasonParts()
    # by the id of a row; one is looked at for its own reason and for that of the row before it
    rows: dict[bytes, _Weighed] = msgspec.field(default_factory=dict)

    def signals(self, row: ScanRow) -> dict[str, SignalTrace]:
        """The terms that have a value and a weight, greatest contribution first. The sum of
        weight · normalised is L where the base is linear, that of weight · raw the metadata's
        score elsewhere."""
        return self._signals(row, self._matched(row))

    def _weighed(self, row: ScanRow) -> _Weighed:
        id = row.id
        known = self.rows.get(id)
        if known is not None:
            return known
        weights, constant = self.meta_shares, 0.0
        if self.base == "linear":
            weights = (self.weights if row.chosen else self.candidate_weights)[row.origin]
            constant = row.constant
        terms = row.weighed(weights, constant)
        made = self.rows[id] = _Weighed(terms, *self._added(row, terms))
        return made

    def _added(self, row: ScanRow, terms: Sequence[_Term]) -> tuple[dict[str, float], float]:
        """What each term adds to the sum of the formula, and what the constants of the origin
        do."""
        if self.base == "linear":
            evidence = row.evidence
            scale, constant = (1.0, 0.0) if evidence is None else evidence[:2]
            added = summed(
                [
                    (name, value if name == RERANK else scale * value)
                    for value, name, _, _, _ in terms
                ]
            )
            return added, added.pop(BIAS, 0.0) + constant
        if self.base == "blend" and row.alpha_used:
            found = {name: row.alpha_used * added for added, name, _, _, _ in terms}
            found["cosine"] = (1 - row.alpha_used) * row.semantic_score
            return summed(found.items()), 0.0
        return {"cosine": row.semantic_score}, 0.0

    def _signals(
        self, row: ScanRow, matched: Mapping[str, tuple[str, ...]]
    ) -> dict[str, SignalTrace]:
        topic = "query" if self.topic_of_query[row.origin] else UNSET
        return {
            name: SignalTrace(
                raw=raw,
                normalised=normalised,
                weight=weight,
                matched=matched.get(name, UNSET),
                of=topic if name == TOPIC else UNSET,
            )
            for _, name, raw, normalised, weight in self._weighed(row).terms
        }

    def _matched(self, row: ScanRow) -> dict[str, tuple[str, ...]]:
        """What of the query the memory has, by signal; without windows."""
        words: tuple[str, ...] = ()
        if places := row.matched_terms:
            content = self.content[row.origin]
            words = tuple([term for at in places if (term := self.terms[at]) in content])
        keywords = row.matched_keywords
        return {
            "keyword": tuple([word for word in keywords if word not in frame_words()]),
            "entity": tuple(self._labels(row)),
            "lexical": words,
            "topic_lexical": words,
        }

    def _labels(self, row: ScanRow) -> list[str]:
        if not self.entities:
            return []
        named = [self.entities.get(id) for id in row.matched_entities]
        return [f"{entity.type}:{entity.name}" for entity in named if entity is not None]

    def _matched_windows(self, memory: Memory) -> list[str]:
        """Texts of the query's windows that hold the memory's time, or meet one of its windows;
        each once, also where both windows of an expression do."""
        texts: list[str] = []
        for window in self.windows:
            at = memory.t_valid
            after = window.start is None or at >= window.start
            inside = after and (window.end is None or at < window.end)
            if inside or any(_meets(own, window) for own in memory.times):
                texts.append(window.text)
        return list(dict.fromkeys(texts))

    def similarity(self, row: ScanRow) -> float | None:
        """The plain cosine; None without a vector of the query."""
        return row.similarity if self.has_vector else None

    def reason(
        self,
        row: ScanRow,
        memory: Memory | None,
        replaced: Sequence[str],
        question: str | None,
        following: ScanRow | None = None,
    ) -> Reason:
        """The reason of one hit.

        Args:
            memory: None = it has no flags, and the query has no windows.
            following: the next memory of the ranking.
            replaced: ids that this memory superseded.
            question: the stored question of the memory that is nearest to the query, where the
                row has one.
        """
        method = "graph_traversal" if _walked_to(row) else "direct_match"
        similarity = self.similarity(row)
        parts = self.parts
        if not parts.enabled:
            return Reason(
                retrieval_method=method, similarity=similarity, final_score=row.final_score
            )
        flags = [] if memory is None else flags_of(memory, self.query_time)
        flags.extend(f"supersedes: {id}" for id in replaced)
        newer_than = None
        if row.newer_than is not None:
            newer_than = NewerThan(id=id_text("mem", row.newer_than), final=row.final_score)
            flags.append(f"newer_than: {newer_than.id}")
        hypothetical = None
        if row.nearest_question is not None and question is not None:
            hypothetical = Hypothetical(question=question, cosine=row.nearest_question[1])
        matched = self._matched(row)
        met = () if memory is None else tuple(self._matched_windows(memory))
        matched["temporal"] = matched["date"] = met
        scores, walked = parts.include_scores, parts.include_path
        return Reason(
            retrieval_method=method,
            similarity=similarity,
            final_score=row.final_score,
            semantic_score=row.semantic_score if scores else UNSET,
            hypothetical=hypothetical if scores else UNSET,
            signals=self._signals(row, matched) if scores else UNSET,
            origin_evidence=self._evidence(row) if scores else UNSET,
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
            newer_than=newer_than if scores else UNSET,
            flags=tuple(flags),
            explanation=" ".join(
                [
                    *self._decided(row, following, matched),
                    *self._sentences(row, memory, flags, hypothetical, matched),
                ]
            ),
        )

    def _evidence(self, row: ScanRow) -> OriginEvidence | None:
        if row.evidence is None or row.level is None:
            return None
        scale, total, *values = row.evidence
        weights = self.evidence[row.origin]
        cosine, lexical, best, mean = (
            EvidenceValue(value=value, weight=weight)
            for value, weight in zip(values, weights[2:], strict=True)
        )
        return OriginEvidence(
            origin=ORIGINS[row.origin],
            level=row.level,
            scale=scale,
            constant=weights[1],
            cosine=cosine,
            lexical=lexical,
            best=best,
            mean=mean,
            sum=total,
        )

    def _contributions(self, row: ScanRow, same_origin: bool) -> Mapping[str, float]:
        """What each term adds to the sum of the formula; of its constants, what differs by
        origin."""
        weighed = self._weighed(row)
        if same_origin or self.base != "linear":
            return weighed.added
        return weighed.added | {KIND_OF_MEMORY: weighed.constants}

    def _decided(
        self,
        row: ScanRow,
        following: ScanRow | None,
        matched: Mapping[str, tuple[str, ...]],
    ) -> list[str]:
        """The sentence that names what decided; a memory that only the walk reached is there by
        its links."""
        if _walked_to(row):
            return []
        same_origin = following is None or following.origin == row.origin
        own = self._contributions(row, same_origin)
        theirs = None if following is None else self._contributions(following, same_origin)
        term = deciding_term(own, theirs)
        if term is None:
            return []
        name = TERM_NAMES.get(term) or TERM_NAMES[term.partition(".")[0]]
        terms = matched.get(term)
        return [f"Mostly by {name}: {', '.join(terms)}." if terms else f"Mostly by {name}."]

    def _sentences(
        self,
        row: ScanRow,
        memory: Memory | None,
        flags: Sequence[str],
        hypothetical: Hypothetical | None,
        matched: Mapping[str, tuple[str, ...]],
    ) -> list[str]:
        """Sentences; each only where it is true."""
        sentences = [self._first_sentence(row)]
        if hypothetical is not None and hypothetical.cosine > row.similarity:
            sentences.append(
                f'Through stored question "{hypothetical.question}" ({hypothetical.cosine:.4f}).'
            )
        for name, label in _LABELS.items():
            if matched[name]:
                sentences.append(f"{label} {', '.join(matched[name])}.")
        if row.tracerank != 1.0:
            sentences.append(f"Reinforced {row.events}×; TraceRank {row.tracerank:.4f}.")
        if row.newer_than is not None:
            older = id_text("mem", row.newer_than)
            sentences.append(f"Newer than {older}, which says otherwise.")
        if "no_longer_valid" in flags and memory is not None and memory.t_invalid is not None:
            sentences.append(f"No longer valid since {memory.t_invalid:%Y-%m-%d}.")
        return sentences

    def _first_sentence(self, row: ScanRow) -> str:
        if _walked_to(row):
            start = "" if row.start is None else id_text("mem", row.start)
            return (
                f"Reached via {len(row.path)}-hop traversal (signal {row.signal_strength:.4f})"
                f" from {start}."
            )
        if row.filled:
            return f"Filled by start score ({row.start_score:.4f})."
        if self.has_vector:
            return f"Direct semantic match (similarity {row.similarity:.4f})."
        return "Direct match by words (the query had no vector)."
