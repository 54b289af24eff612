"""The reason of a result: every number behind its rank, enough to compute the score again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec import UNSET

from vestig.answers import (
    Hypothetical,
    Judged,
    QueryEntity,
    Reason,
    SignalTrace,
    Step,
    TraceRankBoost,
)
from vestig.config.recall_sections import ReasonSettings
from vestig.config.weights import METADATA, TABLE
from vestig.ids import id_text
from vestig.language.languages import differ, language_of
from vestig.language.text_forms import one_line, word_list
from vestig.language.words import frame_words
from vestig.ports import ScanRow
from vestig.types import Memory, Stability, TemporalWindow, flags_of, is_undated

START: Final = "START"
_EDGE_NAMES: Final = {0: "MENTIONS", 1: "RELATED", 2: "SUMMARIZES", 3: "RELATION"}
_MENTIONS: Final = 0
# The term of a cross-encoder.
RERANK: Final = "rerank"
# Group of terms, as a reader understands them → its terms. `bias` stands for the kind of memory:
# people's chats, or all else; `semantic` is S_query where terms are not summed.
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    group: tuple([term.name for term in TABLE.values() if term.group == group])
    for group in ("meaning", "words", "conversation", "names", "when", "form")
}
# Sentences of a reason → the terms that they are about.
_TOLD: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    sentences: tuple([term.name for term in TABLE.values() if term.sentences == sentences])
    for sentences in dict.fromkeys(term.sentences for term in TABLE.values() if term.sentences)
}
# What is nearer to 0 is rounding.
_LEAD_MIN: Final = 1e-9
# The similarity from which two texts are close in meaning.
_CLOSE_MIN: Final = 0.3
# A reason is told where it is at least this share of the greatest one, and at most so many are;
# words that are shared are always told.
_SHARE_MIN: Final = 0.1
_REASONS_MAX: Final = 3
# Words for the probability that a memory answers, from which on each holds.
_POSSIBLE_MIN: Final = 0.2
_WORDS: Final = ((0.5, "likely"), (_POSSIBLE_MIN, "possibly"), (0.0, "hardly"))
# Fields of a reason that `recall.reasons.include_scores` and `include_path` leave out.
_SCORES: Final = word_list(
    "semantic_score hypothetical signals leads alpha_used metadata_score start_score base"
    " start_base tracerank_boost own_final_score judged newer_than older_than"
)
_PATH: Final = ("path", "hops", "steps", "start", "signal_strength", "path_score")
# Characters of the question before a reply that a reason shows.
_QUESTION_CHARS: Final = 80


def shares(weights: Mapping[str, float], available: Sequence[str]) -> dict[str, float]:
    """Weights of the available signals, together 1; {} when none has any.

    Example:
        >>> shares({"keyword": 0.5, "temporal": 0.3, "entity": 0.2}, ["temporal", "entity"])
        {'temporal': 0.6, 'entity': 0.4}
    """
    chosen = {name: weights[name] for name in METADATA if name in available}
    whole = sum(chosen.values())
    return {name: weight / whole for name, weight in chosen.items()} if whole > 0 else {}


def in_words(probability: float) -> str:
    """The word for the probability that a memory answers.

    Example:
        >>> in_words(0.7), in_words(0.3), in_words(0.01)
        ('likely', 'possibly', 'hardly')
    """
    return next(word for least, word in _WORDS if probability >= least)


def contribution(trace: SignalTrace) -> float:
    """Return what a term adds to the sum of its formula."""
    return trace.raw * trace.weight


def _first_said(sentences: Sequence[str], values: Mapping[str, str]) -> str | None:
    """The first of these sentences whose names all have a value."""
    for sentence in sentences:
        try:
            return sentence.format_map(values)
        except KeyError:
            continue
    return None


_STABILITIES = tuple(Stability)


def _meets(own: TemporalWindow, window: TemporalWindow) -> bool:
    starts_before = own.start is None or window.end is None or own.start < window.end
    ends_after = own.end is None or window.start is None or own.end > window.start
    return starts_before and ends_after


def _flags(row: ScanRow, replaced: Sequence[str]) -> list[str]:
    """Flags of a hit among the others."""
    newer, older = _id(row.newer_than), _id(row.older_than)
    flags = [f"supersedes: {id}" for id in replaced]
    flags.extend(f"newer_than: {id}" for id in (newer,) if id)
    flags.extend(f"older_than: {id}" for id in (older,) if id)
    return [*flags, "asked_before"] if row.asks_the_same else flags


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


def _id(raw: bytes | None) -> str | None:
    return None if raw is None else id_text("mem", raw)


def _walked_to(row: ScanRow) -> bool:
    """Return whether only the walk reached the memory; a direct candidate that it reached too
    counts as direct and keeps its path."""
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
    """Values that the rows of one scan have in common, and how they are explained: plain values of
    the query and the formula, nothing of the store.

    Args:
        terms: index terms of the query; `matched_terms` of a row are places in it.
        content: those of them that say what the query is about, each with its word in the query;
            others are never named.
        entities: those that the query names, by their ids of 16 bytes.
        linear: whether terms are summed.
        pool_means: as `_core.Scan` has them.
        meta_shares: shares of the metadata's terms, read where they are not.
        has_vector: whether the query was embedded.
        language: of the query, where it is certain.
        judgements: of the judge, by id.
    """

    terms: Sequence[str]
    content: Mapping[str, str]
    windows: Sequence[TemporalWindow]
    entities: Mapping[bytes, QueryEntity]
    linear: bool
    pool_means: Mapping[str, float]
    meta_shares: dict[str, float]
    has_vector: bool
    query_time: datetime
    language: str | None = None
    # without `enabled` a reason holds no more than method and scores
    parts: ReasonSettings = ReasonSettings()
    judgements: Mapping[bytes, Judged] = {}

    def signals(self, row: ScanRow) -> dict[str, SignalTrace]:
        """The terms that have a value and a weight, greatest contribution first. The sum of
        weight · raw is L where the base is linear, the metadata's score elsewhere."""
        return self._signals(row, self._matched(row))

    def _signals(
        self, row: ScanRow, matched: Mapping[str, tuple[str, ...]]
    ) -> dict[str, SignalTrace]:
        return {
            name: SignalTrace(raw=raw, weight=weight, matched=matched.get(name, UNSET))
            for _, name, raw, weight in row.terms(self.meta_shares)
        }

    def leads(self, row: ScanRow) -> dict[str, float]:
        """How far each group adds more to the row than to the mean of the pool, greatest first,
        without those that add the same. Together they are the lead of L, or of S."""
        own = self._contributions(row)
        means = self._weighed(row, self.pool_means)
        found = {
            group: sum([own.get(name, 0.0) - means.get(name, 0.0) for name in names])
            for group, names in GROUPS.items()
        }
        ranked = sorted(found.items(), key=lambda one: -one[1])
        return {group: lead for group, lead in ranked if abs(lead) > _LEAD_MIN}

    def _contributions(self, row: ScanRow) -> Mapping[str, float]:
        """Return what each term adds to the row."""
        if self.linear:
            own = {name: added for added, name, _, _ in row.terms({})}
            # the least that word pieces add, to a memory whose pieces were not compared
            own["late"] = own.get("late", 0.0) + row.constant - row.bias
            return own | {"bias": row.bias}
        values = {name: row.signal(name) or 0.0 for name in METADATA}
        return self._weighed(row, values | {"semantic": row.semantic_score})

    def _weighed(self, row: ScanRow, values: Mapping[str, float]) -> Mapping[str, float]:
        """Values as they count; sums of L are weighed already."""
        if self.linear:
            return values
        share = row.alpha_used or 0.0
        weights = {name: share * weight for name, weight in self.meta_shares.items()}
        weights["semantic"] = 1 - share
        return {name: weights.get(name, 0.0) * value for name, value in values.items()}

    def _matched(self, row: ScanRow) -> dict[str, tuple[str, ...]]:
        """Return what of the query the memory has, by signal; without windows."""
        own = [self.terms[at] for at in row.matched_terms]
        words = [self.content[term] for term in own if term in self.content]
        keywords = row.matched_keywords
        return {
            "keyword": tuple([word for word in keywords if word not in frame_words()]),
            "entity": tuple(self._labels(row)),
            "words": tuple(dict.fromkeys(words)),
        }

    def _labels(self, row: ScanRow) -> list[str]:
        if not self.entities:
            return []
        named = [self.entities.get(id) for id in row.matched_entities]
        return [f"{entity.type}:{entity.name}" for entity in named if entity is not None]

    def _matched_windows(self, memory: Memory) -> list[str]:
        """Texts of the query's windows that hold the memory's time, where that is more than the
        time of its file, or meet one of its windows; each once, also where both windows of an
        expression do."""
        texts: list[str] = []
        dated = not is_undated(memory.metadata)
        for window in self.windows:
            at = memory.t_valid
            after = window.start is None or at >= window.start
            inside = dated and after and (window.end is None or at < window.end)
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
        before: str | None = None,
        *,
        content: str = "",
    ) -> Reason:
        """The reason of one hit.

        Args:
            memory: None = it has no flags, and the query has no windows.
            replaced: ids that this memory superseded.
            question: the stored question of the memory that is nearest to the query, where the
                row has one.
            before: the question that the memory replies to, where it has one.
            content: text of the memory, whose language is compared with that of the query.
        """
        method = "graph_traversal" if _walked_to(row) else "direct_match"
        similarity = self.similarity(row)
        if not self.parts.enabled:
            return Reason(
                retrieval_method=method, similarity=similarity, final_score=row.final_score
            )
        flags = [] if memory is None else flags_of(memory, self.query_time)
        flags.extend(_flags(row, replaced))
        flags.extend(["other_language"] if (foreign := self._foreign(content)) else [])
        hypothetical = None
        if row.nearest_question is not None and question is not None:
            hypothetical = Hypothetical(question=question, cosine=row.nearest_question[1])
        own_score = UNSET if row.own_final_score == row.final_score else row.own_final_score
        matched = self._matched(row)
        met = () if memory is None else tuple(self._matched_windows(memory))
        matched["temporal"] = matched["date"] = met
        told = self._why(row, memory, matched, before)
        told += [*self._sentences(row, memory, flags, hypothetical), *foreign]
        made = Reason(
            retrieval_method=method,
            similarity=similarity,
            final_score=row.final_score,
            semantic_score=row.semantic_score,
            hypothetical=hypothetical,
            signals=self._signals(row, matched),
            leads=self.leads(row),
            alpha_used=row.alpha_used,
            metadata_score=row.metadata_score,
            start_score=row.start_score,
            base=row.base,
            start_base=row.start_base,
            path=_path(row),
            hops=len(row.path),
            steps=tuple(_step(*step) for step in row.steps),
            start=_id(row.start),
            signal_strength=row.signal_strength,
            path_score=row.path_score,
            tracerank_boost=_boost(row),
            own_final_score=own_score,
            newer_than=_id(row.newer_than),
            older_than=_id(row.older_than),
            judged=self.judgements.get(row.id, UNSET),
            in_place_of=_id(row.in_place_of) or UNSET,
            answers=_id(row.answers) or UNSET,
            flags=tuple(flags),
            explanation=" ".join(told),
        )
        return self._shown(made)

    def _shown(self, reason: Reason) -> Reason:
        """The reason without the parts that the configuration leaves out."""
        left_out = (() if self.parts.include_scores else _SCORES) + (
            () if self.parts.include_path else _PATH
        )
        if not left_out:
            return reason
        return msgspec.structs.replace(reason, **dict.fromkeys(left_out, UNSET))

    def _why(
        self,
        row: ScanRow,
        memory: Memory | None,
        matched: Mapping[str, tuple[str, ...]],
        before: str | None,
    ) -> list[str]:
        """Why the memory answers, its own greatest reasons first; each only where it is true."""
        if _walked_to(row):
            start = "" if row.start is None else id_text("mem", row.start)
            return [
                f"Reached via {len(row.path)}-hop traversal (signal {row.signal_strength:.4f})"
                f" from {start}."
            ]
        if row.filled:
            return [f"Filled by start score ({row.start_score:.4f})."]
        values = self._values(row, memory, matched, before)
        added = self._added(row)
        told = [
            (share, text)
            for sentences, names in _TOLD.items()
            if (share := sum([added.get(name, 0.0) for name in names])) > 0
            and (text := _first_said(sentences, values)) is not None
        ]
        if not told:
            meaning = _first_said(TABLE["topic"].sentences, values)
            return [] if meaning is None else [meaning]
        least = _SHARE_MIN * max(added for added, _ in told)
        told.sort(key=lambda one: -one[0])
        words = _first_said(TABLE["words"].sentences, values)
        chosen = [text for added, text in told if added >= least and text != words][:_REASONS_MAX]
        return [text for _, text in told if text in chosen or text == words]

    def _added(self, row: ScanRow) -> Mapping[str, float]:
        """Return what each term adds to what orders the memories."""
        if self.linear:
            return {name: value for value, name, _, _ in row.terms({})}
        share = row.alpha_used or 0.0
        added = {name: share * value for value, name, _, _ in row.terms(self.meta_shares)}
        return added | {"semantic": (1 - share) * row.semantic_score}

    def _values(
        self,
        row: ScanRow,
        memory: Memory | None,
        matched: Mapping[str, tuple[str, ...]],
        before: str | None,
    ) -> Mapping[str, str]:
        """Values of the names in the sentences of terms; one that is missing has none."""
        days = matched["date" if self.linear else "temporal"]
        words = matched["words" if self.linear else "keyword"]
        session = memory is not None and memory.session_id is not None
        values = {
            "words": ", ".join(words),
            "days": ", ".join(days),
            "names": ", ".join(matched["entity"]),
            "line": "" if before is None else one_line(before, _QUESTION_CHARS),
            "around": "The lines around it have"
            if session
            else "What was noted within the hour has",
        }
        if self.has_vector:
            values["near"] = "Close" if row.similarity >= _CLOSE_MIN else "Distant"
            values["similarity"] = f"{row.similarity:.4f}"
        return {name: value for name, value in values.items() if value}

    def _foreign(self, content: str) -> list[str]:
        """A sentence, where the text is certainly in another language than the query."""
        language = None if self.language is None else language_of(content)
        if not differ(language, self.language):
            return []
        return [f"Written in {language}; the question is in {self.language}."]

    def _sentences(
        self,
        row: ScanRow,
        memory: Memory | None,
        flags: Sequence[str],
        hypothetical: Hypothetical | None,
    ) -> list[str]:
        """Sentences about the memory; each only where it is true."""
        sentences = []
        read = self.judgements.get(row.id)
        if read is not None and read.probability >= _POSSIBLE_MIN:
            sentences.append(f"Reads as an answer: {in_words(read.probability)}.")
        if row.in_place_of is not None:
            sentences.append(f"Replaced {id_text('mem', row.in_place_of)}, which would stand here.")
        if row.answers is not None:
            sentences.append(f"Answers {id_text('mem', row.answers)}, which asked the same.")
        if row.asks_the_same and memory is not None:
            sentences.append(f"Asked before on {memory.t_valid:%Y-%m-%d}; states nothing.")
        if not self.has_vector:
            sentences.append("Found by words (the query had no vector).")
        if hypothetical is not None and hypothetical.cosine > row.similarity:
            sentences.append(
                f'Through stored question "{hypothetical.question}" ({hypothetical.cosine:.4f}).'
            )
        if row.tracerank != 1.0:
            sentences.append(f"Reinforced {row.events}×; TraceRank {row.tracerank:.4f}.")
        if row.newer_than is not None:
            sentences.append(f"Newer than {id_text('mem', row.newer_than)}.")
        if row.older_than is not None:
            sentences.append(f"Older than {id_text('mem', row.older_than)}.")
        if row.own_final_score > row.final_score and "unconfirmed" in flags:
            sentences.append("Not confirmed by a user; stands behind what one stated.")
        if "no_longer_valid" in flags and memory is not None and memory.t_invalid is not None:
            sentences.append(f"No longer valid since {memory.t_invalid:%Y-%m-%d}.")
        return sentences
