"""The result of `recall`: memories with their reasons, and why others are not among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from datetime import date as Day
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, Final, Generic, TypeVar, overload

from msgspec import UNSET, UnsetType

from vestig.language.text_forms import one_line
from vestig.other_words import NamesMissing
from vestig.printed import how_many, state_words
from vestig.reprs import SNIPPET
from vestig.results import SequenceResult, listing
from vestig.telemetry import Span
from vestig.times import plain_object
from vestig.types import MODEL_ROLES, Anchor, Degradation, Memory, TemporalWindow, _Value

__all__ = [
    "Analysis",
    "Change",
    "ContextBlock",
    "Counts",
    "Formula",
    "Hypothetical",
    "LeftOut",
    "QueryEntity",
    "QueryName",
    "Reason",
    "RecallHit",
    "RecallResult",
    "Repeat",
    "ScoreFormula",
    "SignalTrace",
    "Standing",
    "Step",
    "TraceRankBoost",
    "WhyNot",
    "memory_in_brief",
]


_T = TypeVar("_T")


class SignalTrace(_Value, frozen=True, kw_only=True, gc=False):
    """One term that was weighed: its value, its weight, and what of the query it met."""

    raw: float
    weight: float
    matched: tuple[str, ...] | UnsetType = UNSET


class TraceRankBoost(_Value, frozen=True, kw_only=True, gc=False):
    """Every factor of TraceRank; `multiplier` is the clipped product. The JSON leaves out the
    factors that change nothing."""

    multiplier: float
    trace: float
    basic: float
    connectivity: float
    confidence: float
    unclipped: float
    events: int
    stability: str

    def plain_fields(self) -> dict[str, Any]:
        """The fields that JSON shows."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in shown.items() if value != _NEUTRAL.get(name)}


_NEUTRAL: Final = {
    "trace": 0.0,
    "basic": 1.0,
    "connectivity": 1.0,
    "confidence": 1.0,
    "unclipped": 1.0,
}


class Hypothetical(_Value, frozen=True, kw_only=True):
    """The stored question that fits the query best, and its cosine."""

    question: str
    cosine: float


class Step(_Value, frozen=True, kw_only=True, gc=False):
    """One choice of a walk: an edge, or the two of a step over an entity joined by `|`.

    `u` is the number drawn; None where none was, because `p` was 0 or 1 or compared with a
    threshold.
    """

    edge: str
    weight: float
    p: float
    u: float | None


class Judged(_Value, frozen=True, kw_only=True):
    """Numbers of the judge for a memory that it has read.

    Attributes:
        answers: the logit that the memory answers the question, be it outdated or not.
        rank: how well it answers beside others.
        probability: that it answers.
        level: what is added to L where the best few are put in order.
    """

    answers: float
    rank: float
    probability: float
    level: float


class Reason(_Value, frozen=True, kw_only=True):
    """Why a memory is among the results, and every number behind its rank.

    `signals`: the terms that have a value and a weight other than 0, greatest contribution
    |raw · weight| first; a term that is missing weighed nothing or was unavailable. `leads`: by
    group of terms, how far what it adds lies above the mean of the pool, greatest first: the terms
    of all results add much the same, and this is what sets one apart. With the
    result's `formula`: `final_score` = max(base · path_score ^ path_power, association ·
    signal_strength · start_base) · tracerank_boost.multiplier ^ tracerank_power; the second part
    only where `retrieval_method` is graph_traversal, the last factor within
    e^(±tracerank_bound/2) where there is a bound. `own_final_score` is there where the judge or a
    newer version gave the memory another place among the best: then that is the formula's, and
    `final_score` the place's. `judged`: what the judge says, of those that it has read.
    `newer_than`: this was put before the memory named, as the later one of both; `older_than`: the
    memory named surely states anew what this one does. `in_place_of`: a memory that this one
    replaced and that would rank higher; L and the formula's final score are those of that memory,
    `signals` its own.
    `answers`: the stored question that this turn answers, likewise. A
    direct candidate that the walk reached too counts as direct; `path` and `steps` show the walk,
    `start` the memory that it began at.
    """

    retrieval_method: str
    similarity: float | None
    final_score: float
    semantic_score: float | UnsetType = UNSET
    hypothetical: Hypothetical | UnsetType | None = UNSET
    signals: dict[str, SignalTrace] | UnsetType = UNSET
    leads: dict[str, float] | UnsetType = UNSET
    alpha_used: float | UnsetType | None = UNSET
    metadata_score: float | UnsetType | None = UNSET
    start_score: float | UnsetType = UNSET
    base: float | UnsetType = UNSET
    start_base: float | UnsetType | None = UNSET
    path: tuple[str, ...] | UnsetType = UNSET
    hops: int | UnsetType = UNSET
    steps: tuple[Step, ...] | UnsetType = UNSET
    start: str | UnsetType | None = UNSET
    signal_strength: float | UnsetType = UNSET
    path_score: float | UnsetType = UNSET
    tracerank_boost: TraceRankBoost | UnsetType = UNSET
    own_final_score: float | UnsetType = UNSET
    judged: Judged | UnsetType = UNSET
    newer_than: str | UnsetType | None = UNSET
    older_than: str | UnsetType | None = UNSET
    in_place_of: str | UnsetType = UNSET
    answers: str | UnsetType = UNSET
    flags: tuple[str, ...] | UnsetType = UNSET
    explanation: str | UnsetType = UNSET

    def plain_fields(self) -> dict[str, Any]:
        """The fields that JSON shows: without null, but for `similarity`, and `start`,
        `start_base` and `steps` only where a walk led away from that start."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        if self.hops == 0:
            del shown["start"], shown["start_base"], shown["steps"]
        return {
            name: value
            for name, value in shown.items()
            if value is not None or name == "similarity"
        }


class _Lazy(Generic[_T]):
    """A field of a hit: given as it is, or as a function that makes it when it is first read.
    Threads that read it at once get one and the same."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._made, self._make = name, f"_{name}", f"_make_{name}"

    @overload
    def __get__(self, hit: None, owner: type) -> _Lazy[_T]: ...
    @overload
    def __get__(self, hit: object, owner: type) -> _T: ...
    def __get__(self, hit: object | None, owner: type) -> _Lazy[_T] | _T:
        if hit is None:
            # how a dataclass sees that the field has no default
            raise AttributeError(self._name)
        state = hit.__dict__
        made: _T | None = state.get(self._made)
        return state.setdefault(self._made, state[self._make]()) if made is None else made

    def __set__(self, hit: object, value: _T | Callable[[], _T]) -> None:
        hit.__dict__[self._make if callable(value) else self._made] = value


class Repeat(_Value, frozen=True, kw_only=True, gc=False):
    """Another memory with the text of a result: a turn that says it again. `t_valid`: since when
    it holds."""

    id: str
    session_id: str | None
    sequence: int | None
    t_valid: datetime


@dataclass(frozen=True, kw_only=True)
class RecallHit(NamesMissing):
    """One memory of a result.

    `score` is the probability that this memory is part of the answer, made of `final`, the final
    score of the formula, and the result's `confidence`; it is `final` where there is no confidence.
    Both order the results of a query alike. `similarity` is the plain cosine, None only when the
    query had no vector (`partial_backend`). `repeats`: the other memories of its namespace, scope
    and author with this text that passed the filter, oldest first; `repeats_more` counts those
    beyond 50. `anchors`: the sources that it speaks of, and those of what it was made of, as they
    stand.
    `memory` and `reason` are made when they are first looked at, of what the recall saw: they need
    no open store, and what is changed or forgotten later does not change them. Each may be given
    as a function that makes it.
    """

    memory: _Lazy[Memory] = _Lazy()
    score: float
    final: float
    similarity: float | None
    reason: _Lazy[Reason] = _Lazy()
    embedding: tuple[float, ...] | UnsetType | None = UNSET
    repeats: tuple[Repeat, ...] = ()
    repeats_more: int = 0
    anchors: tuple[Anchor, ...] = ()

    @classmethod
    def of_fields(cls, given: Iterable[dict[str, Any]]) -> list[RecallHit]:
        """Hits of fields that need no check, by their names; `memory` and `reason` as functions,
        under `_make_memory` and `_make_reason`; beside them `_id` and `_content`, those of the
        memory. A tenth of the constructor's time."""
        new, put = cls.__new__, object.__setattr__
        hits = []
        for own in given:
            hit = new(cls)
            put(hit, "__dict__", own)
            hits.append(hit)
        return hits

    def __reduce__(self) -> tuple[Any, ...]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return partial(RecallHit, **values), ()

    def __hash__(self) -> int:
        """That of the id, which equal hits share."""
        return hash(self.id)

    def __repr__(self) -> str:
        flags = self.reason.flags
        words = [] if flags is UNSET else state_words(self.memory, flags, "UTC")
        state = f" ({', '.join(words)})" if words else ""
        return f"<RecallHit {self.id} {self.score:.3f} {one_line(self.content, SNIPPET)!r}{state}>"

    @property
    def id(self) -> str:
        """The memory's id."""
        known: str | None = self.__dict__.get("_id")
        return self.memory.id if known is None else known

    @property
    def content(self) -> str:
        """The memory's text."""
        known: str | None = self.__dict__.get("_content")
        return self.memory.content if known is None else known

    @property
    def memory_id(self) -> str:
        """The memory's id, by the name that it has in the outcome of a commit."""
        return self.id

    @property
    def text(self) -> str:
        """The memory's text."""
        return self.content

    @property
    def author(self) -> str | None:
        """Who said or wrote it."""
        return self.memory.author

    @property
    def tags(self) -> tuple[str, ...]:
        """The memory's tags."""
        return self.memory.tags

    @property
    def metadata(self) -> dict[str, Any]:
        """The memory's metadata, tags among it."""
        return self.memory.metadata

    @property
    def t_valid(self) -> datetime:
        """Since when its statement holds."""
        return self.memory.t_valid

    @property
    def date(self) -> Day:
        """The day, in UTC, since which its statement holds: that of `t_valid`."""
        return self.memory.t_valid.date()

    @property
    def created_at(self) -> datetime:
        """When it was stored."""
        return self.memory.t_created

    def plain_fields(self, *, explain: bool = False) -> dict[str, Any]:
        """Return what JSON shows: id, text, score, scope, times, author, session and tags; with
        `explain` every field of the memory but those that only the store needs (`show` has them),
        similarity, final score, reason and repeats. Null is left out."""
        if not explain:
            shown = {"id": self.id, "content": self.content, "score": self.score}
            shown |= memory_in_brief(self.memory)
            if self.anchors:
                shown["anchors"] = [one.in_brief() for one in self.anchors]
        else:
            memory = {name: getattr(self.memory, name) for name in self.memory.__struct_fields__}
            shown = {name: value for name, value in memory.items() if value is not None}
            for name in ("content_hash", "embedding_model"):
                shown.pop(name, None)
            shown |= {"score": self.score, "final": self.final, "similarity": self.similarity}
            more = {"tags": self.tags, "repeats": self.repeats, "repeats_more": self.repeats_more}
            shown |= {name: value for name, value in more.items() if value}
            shown["reason"] = self.reason
            if self.anchors:
                shown["anchors"] = self.anchors
        if self.embedding is not UNSET:
            shown["embedding"] = self.embedding
        return shown

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """Plain JSON types; times as `YYYY-MM-DDTHH:MM:SS.ffffffZ`.

        Args:
            explain: with every field of the memory, the reason and all numbers behind its rank.
        """
        return plain_object(self.plain_fields(explain=explain))


def memory_in_brief(memory: Memory) -> dict[str, Any]:
    """When, by whom, where and under which tags a memory was said: what JSON shows of a result
    beside its id and text. What it does not have is left out."""
    shown = {
        "scope": memory.scope,
        "t_valid": memory.t_valid,
        "t_invalid": memory.t_invalid,
        "t_created": memory.t_created,
        "t_expired": memory.t_expired,
        "author": memory.author,
        **(_of_model(memory) if memory.role in MODEL_ROLES else {}),
        "session_id": memory.session_id,
        "tags": memory.tags or None,
    }
    return {name: value for name, value in shown.items() if value is not None}


def _of_model(memory: Memory) -> dict[str, Any]:
    return {"role": memory.role, "confirmed": memory.confirmed}


class QueryEntity(_Value, frozen=True, kw_only=True, gc=False):
    """An entity that the query names; `score` is 1 for its name, else the cosine."""

    id: str
    type: str
    name: str
    score: float


class Analysis(_Value, frozen=True, kw_only=True):
    """The words, times and names found in the query.

    `available`: metadata signals that the query has something for. `weights`: their shares of the
    metadata; {} where metadata has no share of its own (`linear`, `cosine`).
    """

    keywords: tuple[str, ...]
    windows: tuple[TemporalWindow, ...]
    entities: tuple[QueryEntity, ...]
    available: tuple[str, ...]
    weights: dict[str, float]


class Counts(_Value, frozen=True, kw_only=True):
    """How many memories took part; `walked`: admitted by the walk beside its starts; `folded`:
    stand behind a result of the same text (its `repeats`); `cut`: left out by the argument of that
    name. `approximate`: an index proposed what
    was scored."""

    stored: int
    eligible: int
    folded: int
    scored: int
    walked: int
    returned: int
    below_min_score: int
    approximate: bool
    cut: int = 0


class ScoreFormula(_Value, frozen=True, kw_only=True, gc=False):
    """The numbers that make a score of a final score: `score` = confidence/(1 + e^−(bias + level·x
    + behind·√(best − x))) with x = ln(final/(1 − final)), 0 where the final score is 0. `best` is x
    of the first, and `bias` holds what its lead adds."""

    confidence: float
    bias: float
    level: float
    behind: float
    best: float


class Formula(_Value, frozen=True, kw_only=True):
    """The numbers from which a reader computes final scores and scores again.

    `bias` (of people's chats and of all else) and `tracerank_bound`: None unless `base` is linear.
    `score`: None where there is no confidence, so that the score is the final score.
    """

    base: str
    bias: dict[str, float] | None
    pool: int | str | None
    path_power: float
    tracerank_power: float
    tracerank_bound: float | None
    association: float
    content_weight: float
    query_weight: float
    summary_prior: float
    score: ScoreFormula | None = None


class Standing(_Value, frozen=True, kw_only=True):
    """Where one memory stood: rank from 1, score and the terms behind it."""

    id: str
    rank: int
    score: float
    signals: dict[str, SignalTrace]


class Change(_Value, frozen=True, kw_only=True):
    """One change that brings a memory in; a run with it has confirmed that.

    `kind` is filter, date, threshold, folded, newer, word or limit; `key` an argument of `recall`
    or a key of the configuration; `rank` the place that the memory then has, from 1. For folded,
    `after` is the id of the result that has the text, and `rank` its place; for newer, that of the
    memory that says otherwise, and `rank` is None where it superseded the expected one.
    """

    kind: str
    key: str
    before: Any
    after: Any
    rank: int | None


class WhyNot(_Value, frozen=True, kw_only=True):
    """Why an expected memory is not among the results.

    `stage` is the first that stopped it: unknown, other_namespace, filtered (`filters` names each
    that excludes it), folded (a result has the same text), not_in_pool, ranked_below,
    below_min_score, abstained (it would have been a result, but the confidence was below
    `min_confidence`). `rank` counts from 1, by start score where it was not in the pool; where it
    is folded, that of the result. `change` is None where no single change was found: then
    `no_change` says why. `runs`: how many scans that took.
    """

    id: str
    stage: str
    filters: tuple[str, ...] = ()
    rank: int | None
    score: float | None
    signals: dict[str, SignalTrace] | None
    last_returned: Standing | None
    change: Change | None
    no_change: str | None = None
    runs: int


class QueryName(_Value, frozen=True, kw_only=True):
    """A name in a query with its type, as a language model found it."""

    type: str
    name: str


class LeftOut(_Value, frozen=True, kw_only=True):
    """A memory for which the budget of a context had no room, and the tokens that its line has.
    `neighbour`: it is no result, but a turn beside one, or what links lead to from one."""

    id: str
    neighbour: bool
    tokens: int


class ContextBlock(_Value, frozen=True, kw_only=True):
    """Results as one block for a prompt, in the order of sessions and time.

    `ids`: results whose text is in it; `neighbours`: turns beside them that carry the evidence;
    `associated`: what links lead to from the results.
    `folded`: id → id of the line that says the same and names both. `left_out`: the rest, best
    first. `tokens` of the text, never more than `budget`, counted by the word pieces of
    the embedder named in `counted_by`, or by an `estimate`. Without results `text` is "" and
    `note` says which threshold left none. A block without a text is false; `str` of one is it.
    """

    text: str
    note: str = ""
    ids: tuple[str, ...]
    neighbours: tuple[str, ...]
    associated: tuple[str, ...]
    folded: dict[str, str]
    left_out: tuple[LeftOut, ...]
    tokens: int
    budget: int
    counted_by: str

    def __bool__(self) -> bool:
        """Return whether there is a text for a prompt."""
        return bool(self.text)

    def __str__(self) -> str:
        return self.text

    def __add__(self, behind: str) -> str:
        """Return the text with another one behind it."""
        return self.text + behind

    def __radd__(self, before: str) -> str:
        """Return the text with another one before it."""
        return before + self.text


class Certainty(StrEnum):
    """A confidence in words."""

    LIKELY = "likely"
    DOUBTFUL = "doubtful"
    NOTHING_CLOSE = "nothing close"


# Confidences from which on a store is likely to answer, and from which on something is close.
LIKELY_MIN: Final = 0.5
CLOSE_MIN: Final = 0.25


def certainty_of(confidence: float) -> Certainty:
    """Return a confidence in words: likely from ½ on, nothing close below ¼.

    Example:
        >>> [str(certainty_of(one)) for one in (0.5, 0.49, 0.25, 0.24)]
        ['likely', 'doubtful', 'doubtful', 'nothing close']
    """
    if confidence >= LIKELY_MIN:
        return Certainty.LIKELY
    return Certainty.DOUBTFUL if confidence >= CLOSE_MIN else Certainty.NOTHING_CLOSE


class RecallResult(SequenceResult[RecallHit], frozen=True, kw_only=True):
    """The result of `recall`: the sequence of its hits, best first. `to_dict()` has it in plain
    types, for `json.dumps`.

    `confidence`: the probability that the eligible memories answer the query at all, None
    where a profile has none; `certainty`: the same in words; `missing`: names and words of the
    query that none of them holds. `abstained`: it was below `least_confidence`, so that `results`
    is empty. `nearest`: where a threshold left no result, the best of what it left out, at most 3.
    `associated`: memories beside the results that a walk along links reaches from them, the best
    by signal · base of the start first; none of them is a result, and none repeats the text of
    one. `least_confidence` and `min_score` are the
    thresholds of the call; `best_score` is the best one where `min_score` left no result. Layouts
    print these three, the JSON leaves them out. `why_not`, `context` and `trace` are None, and not
    in the JSON, unless they were asked for. `more`: how many
    memories that pass the cut too, or rank where nothing is cut, were not returned, for `offset`
    brings them; unless `more_is_exact` there may be more than these. `before`: how many there are
    where `offset` lies behind all of them, else 0.
    """

    results: tuple[RecallHit, ...]
    query: str | None
    namespace: str
    profile: str
    mode: str
    order: str
    seed: int
    seed_origin: str
    seq: int
    as_of: datetime | None
    known_at: datetime | None
    valid_at: datetime | None
    query_time: datetime
    analysis: Analysis
    counts: Counts
    formula: Formula
    timings_ms: dict[str, float]
    confidence: float | None = None
    certainty: Certainty | None = None
    missing: tuple[str, ...] = ()
    abstained: bool = False
    nearest: tuple[RecallHit, ...] = ()
    associated: tuple[RecallHit, ...] = ()
    why_not: tuple[WhyNot, ...] | None = None
    context: ContextBlock | None = None
    trace: tuple[Span, ...] | None = None
    degraded: tuple[Degradation, ...] = ()
    warnings: tuple[str, ...] = ()
    least_confidence: float | None = None
    min_score: float | None = None
    best_score: float | None = None
    more: int = 0
    more_is_exact: bool = True
    before: int = 0

    def __repr__(self) -> str:
        # replaced ones may be brought that the filter alone lets through
        parts = [f"{len(self)} of {max(len(self), self.counts.eligible)} eligible"]
        if self.confidence is not None:
            parts.append(f"confidence {self.confidence:.2f}")
        if self.abstained:
            parts.append("abstained")
        if self.more:
            parts.append(f"{count_of_more(self)} more")
        if self.before:
            parts.append(f"offset behind all {self.before}")
        if self.counts.cut:
            parts.append(f"{self.counts.cut} cut")
        parts += [f"degraded {entry.code}" for entry in self.degraded]
        return listing(f"<RecallResult {', '.join(parts)}>", self.results)

    def _says_missing(self, place: object) -> str:
        said = super()._says_missing(place)
        if not self.abstained:
            return said
        near = f"nearest names {len(self.nearest)}, all=True gives everything that ranks"
        return f"{said}, for nothing stored answers it surely ({self.confidence:.2f}); {near}"

    def plain_fields(self, *, explain: bool = False) -> dict[str, Any]:
        """The fields that JSON shows: what was not asked for is absent; `formula`, `analysis` and
        `associated` come with `explain`."""
        hidden = _OF_LAYOUTS if explain else _OF_LAYOUTS | _EXPLAINING
        if not self.more and self.more_is_exact:
            hidden |= _OF_MORE
        if not self.before:
            hidden |= {"before"}
        shown = {n: getattr(self, n) for n in self.__struct_fields__ if n not in hidden}
        for name in _HITS & shown.keys():
            shown[name] = [hit.plain_fields(explain=explain) for hit in shown[name]]
        return {k: v for k, v in shown.items() if v is not None or k not in _ON_REQUEST}

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """Plain JSON types; times as `YYYY-MM-DDTHH:MM:SS.ffffffZ`.

        Args:
            explain: with the reason of each hit, how the query was understood, the formula and what
                links lead to: all that is needed to compute each score again.
        """
        return plain_object(self.plain_fields(explain=explain))


def count_of_more(result: RecallResult) -> str:
    """How many memories further pages bring, in words: none for certain where a model had no time
    to read all, for another read may order them otherwise."""
    if any(entry.code == "partial_backend" for entry in result.degraded):
        return "perhaps some"
    return how_many(result.more, exact=result.more_is_exact)


_ON_REQUEST: Final = frozenset(("why_not", "context", "trace"))
_EXPLAINING: Final = frozenset(("formula", "analysis", "associated"))
_HITS: Final = frozenset(("results", "nearest", "associated"))
_OF_MORE: Final = frozenset(("more", "more_is_exact"))
_OF_LAYOUTS: Final = frozenset(("least_confidence", "min_score", "best_score"))
