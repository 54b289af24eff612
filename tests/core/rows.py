"""Rows for tests of the projection, and what recall means in slow lines."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import oracle
from oracle_signals import sittings

from vestig import _core
from vestig.ports import ProjectionRow
from vestig.store.projection.scan_objects import RankingFields, TraceFields, WalkFields
from vestig.types import EventType

STORE = bytes(range(16))
HEAD = bytes(32)
NOW = 1_773_835_200_000_000
DAY = 86_400_000_000
WEIGHTS = [
    float(kind in (EventType.REINFORCE_EXACT, EventType.REINFORCE_NEAR)) for kind in EventType
]
WORDS = [
    "cache",
    "token",
    "the",
    "deploy",
    "server",
    "paris",
    "berlin",
    "coffee",
    "v2.1",
    "auth",
    "night",
    "river",
    "Ada's",
    "it",
]


class Given(msgspec.Struct, kw_only=True):
    """`ports.ProjectionRow` with names and defaults."""

    id: bytes
    seq: int
    wseq: int = 0
    content: str = "a memory of rivers"
    author: str | None = None
    namespace: str = "default"
    scope: str | None = None
    kind: int = 0
    status: int = 0
    role: str | None = None
    session_id: str | None = None
    sequence: int | None = None
    origin: int = 3
    stability: int = 3
    pinned: bool = False
    t_valid_us: int = NOW - DAY
    t_invalid_us: int | None = None
    t_created_us: int = NOW - DAY
    t_expired_us: int | None = None
    embedding: bytes | None = None
    tags: Sequence[str] = ()
    sources: Sequence[str] = ("manual",)
    actors: Sequence[str] = ()
    events: Sequence[tuple[int, int, int, int, int]] = ()
    keywords: Sequence[str] = ()
    windows: Sequence[tuple[int | None, int | None]] = ()
    edges: Sequence[tuple[bytes, bytes, int, float, float | None, int, int | None]] = ()
    questions: Sequence[bytes] = ()
    names: Sequence[tuple[str, str]] = ()
    features: int = 0
    title: str | None = None
    pieces: tuple[bytes, bytes] | None = None
    source_row: int | None = None
    heading: str | None = None
    undated: bool = False

    def row(self) -> ProjectionRow:
        """As the ledger gives it."""
        return ProjectionRow(**(msgspec.structs.asdict(self) | {"wseq": max(self.wseq, self.seq)}))


def id_of(number: int) -> bytes:
    """An id; ids do not ascend with their numbers."""
    return (number * 0x9E3779B97F4A7C15 % 2**64).to_bytes(8, "big") + number.to_bytes(8, "big")


def vector(*values: float) -> bytes:
    """Float32 bytes."""
    return np.array(values, np.float32).tobytes()


def make(dice: random.Random, count: int, dimensions: int) -> list[Given]:
    """Random memories."""
    rows = []
    for number in range(count):
        at = NOW - dice.randrange(1, 100) * DAY
        events = [
            (dice.choice([0, 2, 3]), at + n * DAY, at + n * DAY, number + 1, n)
            for n in range(dice.randrange(4))
        ]
        values = [dice.uniform(-1, 1) for _ in range(dimensions)]
        rows.append(
            Given(
                id=id_of(number),
                seq=number + 1,
                content=" ".join(dice.choices(WORDS, k=dice.randrange(1, 14))),
                author=dice.choice([None, "Anna", "Bob"]),
                kind=int(dice.random() < 0.1),
                origin=dice.randrange(4),
                stability=dice.randrange(4),
                t_valid_us=at,
                t_created_us=at,
                embedding=vector(*values) if dice.random() < 0.9 else None,
                events=events,
            )
        )
    return rows


def opened(rows: Sequence[Given], dimensions: int, path: str | None = None) -> _core.Projection:
    """A projection with these rows."""
    projection = _core.Projection.open(path, STORE, dimensions, "test")
    projection.apply([row.row() for row in rows], len(rows), HEAD)
    return projection


def trace(**settings: Any) -> TraceFields:
    """Defaults."""
    return TraceFields(event_weights=WEIGHTS, **settings)


PLAIN: dict[str, Any] = {
    "base": "linear",
    "weights": {"bias": 0.2, "topic": 2.0, "words": 1.5},
    "tracerank_power": 0.5,
    "path_power": 1.0,
    "association": 0.0,
    "alpha": 0.0,
    "meta_weights": (0.5, 0.3, 0.2, 0.0),
    "keyword_mode": "jaccard",
    "entity_mode": "overlap",
    "recency_tau_days": 30.0,
    "open_scale_days": 30.0,
    "content_weight": 0.4,
    "question_weight": 0.6,
    "questions": True,
    "start_enabled": True,
    "start_limit": 5,
    "pool": 50,
    "walk": None,
    "summary_prior": 0.0,
    "expand_summaries": False,
    "sittings": False,
    "limit": 10,
}
WANTED = ("limit", "pool", "watch")
WALK: dict[str, Any] = {
    "deterministic": True,
    "threshold": 0.5,
    "order": "best",
    "max_nodes": 20,
    "exploration_factor": 1.0,
    "signal_decay": 1.0,
    "normalize_weights": False,
    "theta": 0.6,
    "mentions": False,
    "related": True,
    "min_signal": 0.01,
    "max_hops": None,
    "max_entity_degree": 50,
    "use_tracerank": True,
    "max_edges": 10,
}


class Ranked(NamedTuple):
    """How memories are ranked, and which of them are wanted: keywords of `Projection.recall`."""

    core: _core.Ranking
    wanted: dict[str, Any]


def ranking(**settings: Any) -> Ranked:
    """Linear, pool 50, limit 10, no walk, notes without neighbours; `walk` as fields of
    `WalkFields`, `weights` of both kinds or one for both."""
    values = PLAIN | {"trace": trace()} | settings
    if isinstance(values["walk"], dict):
        values["walk"] = WalkFields(**(WALK | values["walk"]))
    if isinstance(values["weights"], dict):
        values["weights"] = [values["weights"]] * 2
    wanted = {name: values.pop(name) for name in WANTED if name in values}
    return Ranked(_core.Ranking(RankingFields(**values)), wanted)


def recall(
    projection: _core.Projection,
    seq: int,
    query: _core.Query,
    filter: _core.Filter,
    ranked: Ranked,
    threads: int = 1,
) -> _core.Scan:
    """One crossing."""
    return projection.recall(seq, query, filter, ranked.core, **ranked.wanted, threads=threads)


def signals(row: _core.Row) -> list[float | None]:
    """The raw value of every signal, in their order."""
    return [row.signal(name) for name in _core.SIGNALS]


def core_query(vector: bytes | None, text: str | None, **more: Any) -> _core.Query:
    """A query."""
    return _core.Query(vector=vector, text=text, query_time_us=NOW, **more)


def everything(**settings: Any) -> _core.Filter:
    """The default namespace, now."""
    return _core.Filter(**({"namespace": "default", "known_at_us": NOW} | settings))


def indexed(row: Given) -> list[str]:
    """Author, title, text; words of a chat_agent memory count up to code point 1,200."""
    before = [*_core.terms(row.author or ""), *_core.terms(row.heading or "")]
    if row.origin != 1:
        return [*before, *_core.terms(row.content)]
    starts = [t for t in _core.tokens(row.content) if t[1] < 1200]
    return [*before, *_core.terms(row.content[: starts[-1][2]] if starts else "")]


def cosines(rows: Sequence[Given], query: bytes) -> list[float]:
    """Of each row with the query, in [−1, 1]; 0 without a vector."""
    unit = oracle.unit(np.frombuffer(query, np.float32))
    found = []
    for row in rows:
        if row.embedding is None:
            found.append(0.0)
            continue
        own = oracle.unit(np.frombuffer(row.embedding, np.float32))
        found.append(max(-1.0, min(1.0, float(oracle.dot(unit, own)))))
    return found


def words_scores(rows: Sequence[Given], text: str) -> tuple[list[str], list[float]]:
    """BM25 with k1 0.9 and b 0.4 as a share of the idf; sums in the order of the query's distinct
    terms."""
    terms = list(dict.fromkeys(_core.terms(text)))
    held = [indexed(row) for row in rows]
    mean = sum(map(len, held)) / len(rows)
    scores, whole = [0.0] * len(rows), 0.0
    for term in terms:
        n = sum(term in words for words in held)
        idf = _core.ln(1.0 + (len(rows) - n + 0.5) / (n + 0.5))
        whole += idf
        for i, words in enumerate(held):
            tf = float(min(words.count(term), 127))
            if tf:
                norm = 0.9 * (1.0 - 0.4 + 0.4 * (len(words) / mean))
                scores[i] += idf * (tf / (tf + norm))
    return terms, [score / whole for score in scores]


def expected(
    rows: Sequence[Given],
    query: bytes,
    text: str,
    *,
    weights: Mapping[str, float],
    pool: int | None,
    limit: int,
    base: Callable[[float, float], float],
    start: str,
    power: float,
) -> list[tuple[bytes, float, float, float]]:
    """(id, final, S, cosine) of the results, all rows being eligible."""
    cosine = cosines(rows, query)
    _, words = words_scores(rows, text)
    scored = []
    for row, c, w in zip(rows, cosine, words, strict=True):
        level = weights.get("bias", 0.0) + weights.get("words", 0.0) * w
        level += weights.get("topic", 0.0) * c
        s = level if start == "linear" else c
        counted = [(kind, at, seq, n) for kind, at, _, seq, n in row.events]
        boost = 1.0
        if row.kind == 0:
            boost = _core.testing.tracerank(counted, NOW, row.t_valid_us, row.stability, trace())[5]
        final = base(s, c) if power == 0 else base(s, c) * _core.pow(boost, power)
        scored.append((row.id, final, s, c))
    scored.sort(key=lambda r: (-r[2], -r[3], r[0]))
    direct = scored[:pool]
    direct.sort(key=lambda r: (-r[1], -r[3], r[0]))
    return (direct[:limit] + scored[len(direct) :])[:limit]


def drawn_rows(dice: random.Random, count: int, content: Callable[[], str]) -> list[Given]:
    """Rows of random origin, status and vector, with a content each."""
    return [
        Given(
            id=id_of(number),
            seq=number + 1,
            content=content(),
            origin=dice.randrange(4),
            status=int(dice.random() < 0.2),
            embedding=vector(*(dice.uniform(-1, 1) for _ in range(4))),
        )
        for number in range(count)
    ]


def in_several_segments(
    dice: random.Random, given: list[Given], path: Path | None
) -> _core.Projection:
    """These rows, in several segments and a tail."""
    projection = _core.Projection.open(None if path is None else str(path), STORE, 4, "t")
    cuts = sorted(dice.sample(range(1, len(given)), k=3))
    for start, end in zip([0, *cuts], [*cuts, len(given)], strict=True):
        projection.apply([row.row() for row in given[start:end]], end, HEAD)
        if path is not None and end != len(given):
            projection.publish()
    return projection


def seats(rows: Sequence[Given]) -> dict[bytes, int]:
    """The sittings of notes without session; rows in the order of the ledger."""
    notes = [row for row in rows if row.origin == 3 and row.session_id is None]
    groups = [(row.namespace, row.scope, row.author, row.source_row) for row in notes]
    found = sittings(list(zip(groups, (row.t_valid_us for row in notes), strict=True)))
    return dict(zip((row.id for row in notes), found, strict=True))
