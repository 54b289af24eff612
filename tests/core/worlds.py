"""Random memories with a graph between them, and random ways to ask and to rank."""

from __future__ import annotations

import random
from typing import Any

from rows import DAY, NOW, PLAIN, WALK, WORDS, Given, id_of, make, vector
from whole import GivenQuery

DIMENSIONS = 12
RELATED, MENTIONS, SUMMARIZES = 1, 0, 2
# Terms that need neither sessions nor what texts say; the others: test_signals.
PLAIN_TERMS = ("words", "topic", "entity_walk")


def unit_vector(dice: random.Random, dimensions: int) -> bytes:
    """Float32 bytes."""
    return vector(*(dice.uniform(-1, 1) for _ in range(dimensions)))


def edge(
    number: int,
    end: bytes,
    kind: int = RELATED,
    weight: float = 1.0,
    *,
    confidence: float | None = None,
    created: int = NOW - 50 * DAY,
    expired: int | None = None,
) -> tuple[bytes, bytes, int, float, float | None, int, int | None]:
    return (id_of(1_000_000 + number), end, kind, weight, confidence, created, expired)


def world(dice: random.Random, count: int) -> list[Given]:
    """Random memories with keywords, windows, questions, entities and edges of all types."""
    rows = make(dice, count, DIMENSIONS)
    entities = [
        Given(
            id=id_of(500_000 + n),
            seq=dice.randrange(1, count + 1),
            kind=2,
            role="PERSON",
            names=[(f"name {n}", f"Name {n}")],
            t_expired_us=NOW - DAY if dice.random() < 0.1 else None,
        )
        for n in range(max(2, count // 4))
    ]
    numbers = iter(range(10_000))
    for row in rows:
        row.keywords = sorted(set(dice.choices(WORDS, k=dice.randrange(5))))
        if dice.random() < 0.4:
            at = NOW - dice.randrange(60) * DAY
            row.windows = [dice.choice([(at, at + DAY), (None, at), (at, None)])]
        row.questions = [unit_vector(dice, DIMENSIONS) for _ in range(dice.choice([0, 0, 0, 1, 2]))]
        row.edges = _edges(dice, rows, entities, row, numbers)
    alive = [row for row in entities if row.t_expired_us is None]
    return [*rows, *alive]


def _edges(
    dice: random.Random, rows: list[Given], entities: list[Given], row: Given, numbers: Any
) -> list[Any]:
    found = []
    for _ in range(dice.randrange(4)):
        expired = NOW - DAY if dice.random() < 0.1 else None
        weight = dice.choice([0.0, 0.25, 0.6, 0.8, 0.8, 1.0, dice.random()])
        end = dice.choice(rows).id
        if end != row.id:
            found.append(edge(next(numbers), end, RELATED, weight, expired=expired))
    for entity in {row.id: row for row in dice.choices(entities, k=dice.randrange(4))}.values():
        confidence = dice.choice([None, 0.75, 0.9, 1.0])
        found.append(edge(next(numbers), entity.id, MENTIONS, confidence=confidence))
    if row.kind == 1:
        covered = {row.id: row for row in dice.choices(rows, k=2)}
        found += [edge(next(numbers), id, SUMMARIZES) for id in sorted(covered) if id != row.id]
    return found


def settings(dice: random.Random) -> dict[str, Any]:
    """A random way to rank."""
    names = ("bias", *PLAIN_TERMS)
    weights = [
        {name: dice.choice([0.0, 1.0, 2.5, -0.5]) for name in names if dice.random() < 0.8}
        for _ in range(2)
    ]
    walk = WALK | {
        "deterministic": dice.random() < 0.3,
        "threshold": dice.choice([0.1, 0.5]),
        "order": dice.choice(["best", "dfs"]),
        "max_nodes": dice.choice([1, 5, 20, 60]),
        "exploration_factor": dice.choice([0.7, 1.0, 2.0]),
        "signal_decay": dice.choice([1.0, 0.9]),
        "normalize_weights": dice.random() < 0.5,
        "mentions": dice.random() < 0.6,
        "related": dice.random() < 0.9,
        "min_signal": dice.choice([0.01, 0.3]),
        "max_hops": dice.choice([None, None, 1, 3]),
        "max_entity_degree": dice.choice([50, 2]),
        "use_tracerank": dice.random() < 0.7,
        "max_edges": dice.choice([10, 2]),
    }
    return PLAIN | {
        "base": dice.choice(["semantic", "blend", "linear", "linear", "cosine"]),
        "weights": weights,
        "tracerank_power": dice.choice([0.0, 0.5, 1.0]),
        "path_power": dice.choice([0.0, 1.0, 2.0]),
        "association": dice.choice([0.0, 0.9]),
        "tracerank_bound": dice.choice([None, 0.0, 0.5]),
        "alpha": dice.choice([0.0, 0.3, 0.6]),
        "meta_weights": (0.5, 0.3, 0.2, dice.choice([0.0, 0.1])),
        "keyword_mode": dice.choice(["jaccard", "weighted"]),
        "entity_mode": dice.choice(["overlap", "weighted"]),
        "questions": dice.random() < 0.7,
        "start_enabled": dice.random() < 0.9,
        "start_limit": dice.choice([1, 3, 5]),
        "pool": dice.choice([None, "starts", 2, 6, 50]),
        "walk": walk if dice.random() < 0.8 else None,
        "summary_prior": dice.choice([0.0, -0.05]),
        "expand_summaries": dice.random() < 0.4,
        "limit": dice.choice([1, 5, 12, 100]),
    }


def question(dice: random.Random, rows: list[Given]) -> GivenQuery:
    """A random query."""
    entities = [row for row in rows if row.kind == 2]
    at = NOW - dice.randrange(40) * DAY
    return GivenQuery(
        vector=unit_vector(dice, DIMENSIONS) if dice.random() < 0.9 else None,
        text=dice.choice([None, "the night cache", "Paris deploy v2.1"]),
        keywords=dice.choice([(), ("cache", "river"), ("token", "unheard", "paris")]),
        windows=dice.choice([(), ((at, at + 7 * DAY),), ((None, at), (at, None))]),
        entities=[
            (row.id, dice.choice([1.0, 0.8]))
            for row in dice.sample(entities, k=min(2, len(entities)))
        ]
        if dice.random() < 0.6
        else (),
        seed=dice.randrange(2**53),
    )
