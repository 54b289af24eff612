"""What recall means as a whole, in slow lines: every signal, the walk, the pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import oracle
from rows import NOW, Given, cosines, trace, words_scores

from vestig import _core
from vestig._core import METADATA, logistic
from vestig._core.testing import exp, temporal_match, tracerank

MENTIONS, RELATED, SUMMARIZES = 0, 1, 2
SUMMARY, ENTITY = 1, 2
DAY = 86_400_000_000
PEER, DOCUMENT = 0, 2
# What is compared here; the other signals: test_signals, test_late.
NAMES = ("words", "topic", "entity_walk")


class GivenQuery(msgspec.Struct, kw_only=True):
    """A query in plain values."""

    vector: bytes | None
    text: str | None
    keywords: Sequence[str] = ()
    windows: Sequence[tuple[int | None, int | None]] = ()
    entities: Sequence[tuple[bytes, float]] = ()
    seed: int = 0

    def query(self) -> _core.Query:
        """For the core."""
        return _core.Query(query_time_us=NOW, **msgspec.structs.asdict(self))


class Result(NamedTuple):
    """The numbers that are compared."""

    id: bytes
    final: float
    start: float
    semantic: float
    base: float
    signals: tuple[float | None, ...]
    metadata: float | None
    filled: bool
    direct: bool
    pool_rank: int | None
    path: tuple[tuple[int, bytes], ...]
    steps: tuple[tuple[str, float, float, float | None], ...]
    signal: float
    walked_from: bytes | None


def of_row(row: _core.Row) -> Result:
    """What the core says."""
    return Result(
        row.id,
        row.final_score,
        row.start_score,
        row.semantic_score,
        row.base,
        tuple(row.signal(name) for name in (*NAMES, *METADATA)),
        row.metadata_score,
        row.filled,
        row.direct,
        row.pool_rank,
        tuple(row.path),
        tuple(row.steps),
        row.signal_strength,
        row.start,
    )


class Net:
    """Eligible memories, entities and the edges that hold between them at K."""

    def __init__(self, memories: Sequence[Given], entities: Sequence[Given], known_at: int) -> None:
        self.memories = {row.id: row for row in memories}
        self.entities = {row.id: row for row in entities}
        self.edges = [
            (row.id, *edge)
            for row in [*memories, *entities]
            for edge in row.edges
            if edge[5] <= known_at and (edge[6] is None or known_at < edge[6])
        ]

    def mentions(self) -> list[tuple[bytes, bytes, float, bytes]]:
        """(memory, entity, confidence, edge)."""
        return [
            (memory, entity, 1.0 if confidence is None else confidence, id)
            for memory, id, entity, kind, _, confidence, _, _ in self.edges
            if kind == MENTIONS and memory in self.memories and entity in self.entities
        ]

    def related(self) -> list[tuple[bytes, bytes, float, bytes]]:
        """(one, other, weight, edge) in both directions."""
        found = []
        for one, id, other, kind, weight, _, _, _ in self.edges:
            if kind == RELATED and one in self.memories and other in self.memories and one != other:
                found += [(one, other, weight, id), (other, one, weight, id)]
        return found

    def ways(self, node: bytes, degree_max: int, kinds: tuple[bool, bool]) -> Any:
        """RELATED and MENTIONS ways of a node."""
        related = [
            oracle.Way(to, (-w, to, id), w, ((RELATED, to),), (id,))
            for at, to, w, id in self.related()
            if at == node
        ]
        over = []
        mentions = self.mentions()
        for memory, entity, own, first in mentions:
            there = [(m, c, id) for m, e, c, id in mentions if e == entity]
            degree = len({m for m, _, _ in there})
            if memory != node or degree > degree_max:
                continue
            over += [
                oracle.Way(
                    to,
                    (degree, to, entity, -(own * theirs), first, second),
                    own * theirs,
                    ((MENTIONS, entity), (MENTIONS, to)),
                    (first, second),
                )
                for to, theirs, second in there
                if to != node
            ]
        return (related if kinds[0] else []), (over if kinds[1] else [])


class Whole:
    """One call: `ranking` and `walk` are keywords of the core's classes."""

    def __init__(
        self,
        rows: Sequence[Given],
        given_query: GivenQuery,
        ranking: Mapping[str, Any],
        known_at: int = NOW,
        past: bool = False,
    ) -> None:
        self.rows = [row for row in rows if row.kind != ENTITY]
        self.given_query, self.ranking = given_query, ranking
        self.past, self.known_at = past, known_at
        self.net = Net(self.rows, [row for row in rows if row.kind == ENTITY], known_at)
        linear = ranking["base"] == "linear"
        self.linear = linear
        self.content = [0.0] * len(self.rows)
        if given_query.vector is not None:
            self.content = cosines(self.rows, given_query.vector)
        self.questions = [self.question(row) for row in self.rows]
        self.semantic = [
            c if q is None else ranking["content_weight"] * c + ranking["question_weight"] * q
            for c, q in zip(self.content, self.questions, strict=True)
        ]
        self.raw = self.columns()
        self.score()
        if (
            linear
            and self.weighs("entity_walk")
            and any(row.origin == DOCUMENT for row in self.rows)
            and self.names_one()
        ):
            self.raw["entity_walk"] = self.entity_walk()
            self.score()

    def question(self, row: Given) -> float | None:
        if self.given_query.vector is None or not self.ranking["questions"] or not row.questions:
            return None
        rows = [msgspec.structs.replace(row, embedding=q) for q in row.questions]
        return max(cosines(rows, self.given_query.vector))

    def weighs(self, name: str) -> bool:
        return any(own.get(name, 0.0) for own in self.ranking["weights"])

    def columns(self) -> dict[str, list[float]]:
        """Raw values of what is available and weighs something."""
        given_query, ranking = self.given_query, self.ranking
        given = {
            "keyword": bool(given_query.keywords),
            "temporal": bool(given_query.windows),
            "entity": bool(given_query.entities),
            "recency": True,
        }
        blending = ranking["start_enabled"] and ranking["alpha"] > 0
        for (name, there), weight in zip(given.items(), ranking["meta_weights"], strict=True):
            given[name] = there and not self.linear and blending and weight > 0
        found: dict[str, list[float]] = {}
        if given_query.vector is not None:
            found["topic"] = self.semantic
        if given["keyword"]:
            found["keyword"] = self.keyword()
        if given["temporal"]:
            scale = ranking["open_scale_days"]
            found["temporal"] = [
                temporal_match([r.t_valid_us], r.windows, given_query.windows, scale)
                for r in self.rows
            ]
        if given["entity"]:
            found["entity"] = self.entity()
        if given["recency"]:
            ages = [max(0, NOW - r.t_valid_us) / DAY for r in self.rows]
            found["recency"] = [exp(-age / ranking["recency_tau_days"]) for age in ages]
        weighed = ranking["base"] == "linear" and any(w.get("words") for w in ranking["weights"])
        if weighed and given_query.text is not None and _core.terms(given_query.text):
            found["words"] = words_scores(self.rows, given_query.text)[1]
        return found

    def keyword(self) -> list[float]:
        query = list(dict.fromkeys(self.given_query.keywords))
        if self.ranking["keyword_mode"] == "jaccard":
            return [oracle.jaccard(set(query), set(r.keywords)) for r in self.rows]
        n = len(self.rows)
        idf = {}
        for word in query:
            having = sum(word in r.keywords for r in self.rows)
            idf[word] = _core.ln(1.0 + (n - having + 0.5) / (having + 0.5))
        return [
            sum((idf[w] for w in query if w in r.keywords), 0.0) / sum(idf[w] for w in query)
            for r in self.rows
        ]

    def entity(self) -> list[float]:
        best: dict[bytes, float] = {}
        for id, score in self.given_query.entities:
            best[id] = max(score, best.get(id, 0.0))
        values = []
        mentions = self.net.mentions()
        for row in self.rows:
            total = 0.0
            for id, score in best.items():
                own = [c for m, e, c, _ in mentions if m == row.id and e == id]
                if own:
                    total += max(score * c for c in own) if self.weighted else 1.0
            values.append(total / len(best))
        return values

    @property
    def weighted(self) -> bool:
        return bool(self.ranking["entity_mode"] == "weighted")

    def names_one(self) -> bool:
        """Whether the query names an entity that some rows mention, and no more than three or a
        tenth of them."""
        rows = {row.id for row in self.rows}
        most = max(3, len(rows) // 10)
        degree = {
            id: len({m for m, e, _, _ in self.net.mentions() if e == id and m in rows})
            for id, _ in self.given_query.entities
        }
        return any(1 <= count <= most for count in degree.values())

    def entity_walk(self) -> list[float]:
        order = sorted(self.rows, key=lambda r: (r.seq, r.id))
        entities = sorted(self.net.entities.values(), key=lambda r: (r.seq, r.id))
        number = {row.id: n for n, row in enumerate(entities)}
        mentions = self.net.mentions()
        mentioned = [[number[e] for m, e, _, _ in mentions if m == row.id] for row in order]
        places = {row.id: n for n, row in enumerate(order)}
        best = sorted(range(len(self.rows)), key=lambda i: self.key(i, self.level))[:4]
        starts = [(places[self.rows[i].id], self.level[i]) for i in best]
        query_entities = [number[id] for id, _ in self.given_query.entities if id in number]
        signal = oracle.entity_signal(oracle.entity_walk(mentioned, starts, query_entities))
        first = [self.rows[i].origin for i in self.best(5)]
        share = first.count(DOCUMENT) / len(first)
        return [
            share * signal[places[row.id]] if row.origin == DOCUMENT else 0.0 for row in self.rows
        ]

    def best(self, count: int) -> list[int]:
        """Places of the best by L."""
        order = sorted(range(len(self.rows)), key=lambda i: self.key(i, self.level))
        return order[:count]

    def score(self) -> None:
        """L or blend, S and base of every row."""
        ranking = self.ranking
        self.level, self.meta = [], []
        for i, row in enumerate(self.rows):
            weights = ranking["weights"][row.origin != PEER]
            total = weights.get("bias", 0.0)
            meta = [
                (w, self.raw[name][i])
                for name, w in zip(METADATA, ranking["meta_weights"], strict=True)
                if name in self.raw
            ]
            if self.linear:
                self.meta.append(None)
                for name in _core.SIGNALS:
                    if name in weights and name in self.raw:
                        total += weights[name] * self.raw[name][i]
            elif meta:
                value = sum(w * v for w, v in meta) / sum(w for w, _ in meta)
                self.meta.append(value)
                total = ranking["alpha"] * value + (1.0 - ranking["alpha"]) * self.semantic[i]
            else:
                self.meta.append(None)
                total = self.semantic[i]
            self.level.append(total)
        self.rebase()

    def rebase(self) -> None:
        """S and base from L."""
        self.start = self.level if self.ranking["start_enabled"] else self.content
        self.base = [self.based(i) for i in range(len(self.rows))]

    def based(self, i: int) -> float:
        prior = self.ranking["summary_prior"] if self.rows[i].kind == SUMMARY else 0.0
        base = self.ranking["base"]
        if base == "linear":
            return logistic(self.level[i] + prior)
        if base == "semantic":
            return max(0.0, self.semantic[i] + prior)
        if base == "blend":
            return max(0.0, self.start[i] + prior)
        return self.content[i]

    def key(self, i: int, level: Sequence[float]) -> tuple[float, float, bytes]:
        return (-level[i], -self.content[i], self.rows[i].id)

    def boost(self, id: bytes) -> float:
        row = self.net.memories[id]
        if row.kind == SUMMARY:
            return 1.0
        counted = [
            (kind, at, seq, n)
            for kind, at, recorded, seq, n in row.events
            if not self.past or recorded <= self.known_at
        ]
        return tracerank(counted, NOW, row.t_valid_us, row.stability, trace())[5]

    def results(self) -> list[Result]:
        """The ranking: direct and reached memories by final score, `limit` of them."""
        ranking, limit = self.ranking, self.ranking["limit"]
        order = sorted(range(len(self.rows)), key=lambda i: self.key(i, self.start))
        place = {row.id: i for i, row in enumerate(self.rows)}
        count = ranking["start_limit"] if ranking["pool"] == "starts" else ranking["pool"]
        direct = order[:count]
        reached = {one.node: one for one in self.walk(order)}
        if ranking["expand_summaries"]:
            pooled = {*direct, *(place[id] for id in reached if self.mixed)}
            covers = [
                place[end]
                for at, _, end, kind, *_ in self.net.edges
                if kind == SUMMARIZES and place.get(at) in pooled and end in place
                if self.rows[place[at]].kind == SUMMARY
            ]
            direct = list(dict.fromkeys([*direct, *covers]))
        competing = [place[id] for id in reached] if self.mixed else []
        pool = list(dict.fromkeys([*direct, *competing]))
        finals = {i: self.final(i, i in direct, reached) for i in pool}
        ranked = sorted(pool, key=lambda i: (-finals[i], *self.tie(i)))
        shown = ranked[:limit]
        filled = [i for i in order if i not in finals][: limit - len(shown)]
        finals |= {i: self.final(i, True, reached) for i in filled}
        return [
            self.result(i, finals[i], i in filled, i in direct, n, reached)
            for n, i in enumerate([*shown, *filled])
        ]

    @property
    def mixed(self) -> bool:
        """Whether walked memories are ranked with the others."""
        return not self.linear or self.ranking["association"] > 0

    def tie(self, i: int) -> tuple[float, float, bytes]:
        """What orders equal finals."""
        return (-self.start[i] if self.linear else 0.0, -self.content[i], self.rows[i].id)

    def associated(self) -> list[Result]:
        """What the walk reached, where that is not ranked with the others."""
        if self.mixed:
            return []
        order = sorted(range(len(self.rows)), key=lambda i: self.key(i, self.start))
        place = {row.id: i for i, row in enumerate(self.rows)}
        walked = self.walk(order)
        reached = {one.node: one for one in walked}

        def strength(one: oracle.Reached) -> float:
            return one.signal * self.base[place[self.starts[one.start]]]

        beside = [one for one in walked if one.path]
        beside.sort(key=lambda one: (-strength(one), one.node))
        places = [place[one.node] for one in beside]
        return [self.result(i, self.final(i, False, reached), False, False, None, reached)
                for i in places]  # fmt: skip

    def walk(self, order: Sequence[int]) -> list[oracle.Reached]:
        settings, top_k = self.ranking["walk"], self.ranking["start_limit"]
        if settings is None:
            return []
        self.starts = [self.rows[i].id for i in order[:top_k]]
        cap = max(settings["max_nodes"], self.ranking["limit"], len(self.starts))
        kinds = (settings["related"], settings["mentions"])
        ways = {
            id: self.net.ways(id, settings["max_entity_degree"], kinds) for id in self.net.memories
        }
        return oracle.walk(
            self.starts, lambda id: ways[id], self.boost, self.given_query.seed, cap, settings
        )

    def final(self, i: int, direct: bool, reached: Mapping[bytes, oracle.Reached]) -> float:
        ranking, score = self.ranking, self.base[i]
        one = reached.get(self.rows[i].id)
        if one is not None and not direct:
            score = self.base[i] * _power(one.signal, ranking["path_power"])
            if ranking["association"] > 0:
                place = [row.id for row in self.rows].index(self.starts[one.start])
                score = max(score, ranking["association"] * one.signal * self.base[place])
        if ranking["tracerank_power"] == 0:
            return score
        factor = _power(self.boost(self.rows[i].id), ranking["tracerank_power"])
        bound = ranking.get("tracerank_bound")
        if self.linear and bound is not None:
            factor = min(max(factor, exp(-bound / 2)), exp(bound / 2))
        return score * factor

    def result(
        self,
        i: int,
        final: float,
        filled: bool,
        direct: bool,
        rank: int | None,
        reached: Mapping[bytes, oracle.Reached],
    ) -> Result:
        one = reached.get(self.rows[i].id)
        signals = [self.raw[name][i] if name in self.raw else None for name in (*NAMES, *METADATA)]
        steps = () if one is None else one.steps
        return Result(
            self.rows[i].id,
            final,
            self.start[i],
            self.semantic[i],
            self.base[i],
            tuple(signals),
            self.meta[i],
            filled,
            direct,
            None if filled else rank,
            () if one is None else one.path,
            tuple(("|".join(e.hex() for e in edges), w, p, u) for edges, w, p, u in steps),
            1.0 if one is None else one.signal,
            None if one is None else self.starts[one.start],
        )


def _power(x: float, y: float) -> float:
    return x if y == 1 else _core.pow(x, y)
