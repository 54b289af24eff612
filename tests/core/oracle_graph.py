"""What the signals of the graph mean: entity walk, pairs of evidence, titles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from oracle_signals import BEST_OF_PAIR, Eligible, Query, Values

from vestig._core import terms
from vestig.language.names import norm_name, title_name

RESTART = 0.3
THRESHOLD = 1e-4
PUSHES_MAX = 33_333
STARTS = 4
CONTRAST = 1e4


class Mentions:
    """Memory–entity edges; hubs (df > max(3, 0.1·N)) are not part of the graph."""

    def __init__(self, entities: Sequence[Sequence[str]]) -> None:
        self.size = len(entities)
        self.number: dict[str, int] = {}
        pairs = [
            (row, self.number.setdefault(entity, len(self.number)))
            for row, found in enumerate(entities)
            for entity in dict.fromkeys(found)
        ]
        df = np.bincount([entity for _, entity in pairs] or [0], minlength=len(self.number))
        df = df[: len(self.number)] if pairs else np.zeros(0, int)
        kept = df <= max(3, 0.1 * self.size)
        self.weight = np.where(kept, np.log(1 + self.size / np.maximum(df, 1)), 0.0)
        edges = [pair for pair in pairs if kept[pair[1]]]
        self.row = np.array([row for row, _ in edges], int)
        self.entity = np.array([entity for _, entity in edges], int)
        self.degree = np.bincount(self.row, minlength=self.size)
        self.spread = np.bincount(self.entity, minlength=len(self.number))
        self.total = np.bincount(self.row, self.weight[self.entity], self.size)

    def to_entities(self, held: Values) -> Values:
        """What memories give, by weight."""
        total = np.where(self.total > 0, self.total, 1)
        given = (held / total)[self.row] * self.weight[self.entity]
        return np.bincount(self.entity, given, len(self.number))

    def to_memories(self, held: Values) -> Values:
        """What entities give, to each the same."""
        given = (held / np.maximum(self.spread, 1))[self.entity]
        return np.bincount(self.row, given, self.size)

    def sharing(self, row: int) -> Values:
        """Other memories that share an entity with this one."""
        shared = np.isin(self.entity, self.entity[self.row == row])
        near = np.unique(self.row[shared])
        return near[near != row]


def best(level: Values, count: int) -> list[int]:
    """Rows by L₁ descending, ties in order."""
    return [int(row) for row in np.argsort(-level, kind="stable")[:count]]


def entity_rank(
    mentions: Mentions, level: Values, asked: Sequence[str], threshold: float = THRESHOLD
) -> Values:
    """π of the memories. `threshold` 0: the limit."""
    memory, entity = np.zeros(mentions.size), np.zeros(len(mentions.weight))
    known = [mentions.number[one] for one in dict.fromkeys(asked) if one in mentions.number]
    known = [one for one in known if mentions.weight[one] > 0]
    starts = best(level, STARTS)
    share = 0.5 if starts and known else 1.0
    if known:
        entity[known] = share * mentions.weight[known] / mentions.weight[known].sum()
    if starts:
        above = level[starts] - level[starts].min() + 1e-6
        memory[starts] = share * above / above.sum()
    rank, pushes = np.zeros(mentions.size), 0
    least = threshold if threshold > 0 else 1e-16
    while True:
        # within a half of a round nobody gives to whom is still to push: their order is free
        pushed = memory > least * mentions.degree
        held = np.where(pushed, memory, 0.0)
        rank += RESTART * held
        memory -= held
        entity += (1 - RESTART) * mentions.to_entities(held)
        popular = entity > least * mentions.spread
        held = np.where(popular, entity, 0.0)
        entity -= held
        memory += (1 - RESTART) * mentions.to_memories(held)
        pushes += int(pushed.sum() + popular.sum())
        if not pushed.any() and not popular.any():
            return rank
        assert threshold == 0 or pushes <= PUSHES_MAX, "the last round may be cut short"


def contrast(rank: Values) -> Values:
    most = float(rank.max()) if len(rank) else 0.0
    if most <= 0:
        return np.zeros_like(rank)
    return np.log(1 + CONTRAST * rank / most) / math.log(1 + CONTRAST)


def pairs(eligible: Eligible, mentions: Mentions, level: Values, text: str) -> Values:
    """For each memory that shares an entity with one of the best five, the part of the query's
    words that the two hold together."""
    words = eligible.words
    asked = list(dict.fromkeys(terms(text)))
    idf = np.array([words.idf(term) for term in asked])
    pair = np.zeros(eligible.size)
    if not asked:
        return pair
    held = np.array([words.saturation(term) for term in asked])
    for start in best(level, BEST_OF_PAIR):
        near = mentions.sharing(start)
        if not len(near):
            continue
        both = idf @ np.maximum(held[:, near], held[:, [start]]) / idf.sum()
        pair[near] = np.maximum(pair[near], both)
    return pair


def titles(eligible: Eligible, level: Values, query: Query) -> Values:
    """1/(1 + rank) of the best of the five memories that name this one's title, 1 if the
    query names it."""
    of_title: dict[str, list[int]] = {}
    for row, memory in enumerate(eligible.memories):
        title = title_of(memory.title)
        if title is not None:
            of_title.setdefault(title, []).append(row)
    found = np.zeros(eligible.size)

    def give(entities: Sequence[str], strength: float, to_all_but: int | None = None) -> None:
        for entity in entities:
            for row in of_title.get(entity.partition(":")[2], ()):
                if row != to_all_but:
                    found[row] = max(found[row], strength)

    give(query.entities, 1.0)
    for rank, start in enumerate(best(level, BEST_OF_PAIR)):
        give(eligible.memories[start].entities, 1 / (1 + rank), start)
    return found


@cache
def title_of(title: str | None) -> str | None:
    """The name that a title is."""
    named = title_name(title)
    return None if named is None else norm_name(named.name)


def after(eligible: Eligible, mentions: Mentions, level: Values, query: Query) -> dict[str, Values]:
    """The terms that are made from the best of L₁; documents alone have them, as far as the best
    five are documents, where the query names an entity that is no hub."""
    documents = np.array([float(memory.origin == "document") for memory in eligible.memories])
    first = best(level, BEST_OF_PAIR)
    documents *= documents[first].sum() / max(1, len(first))
    numbers = [mentions.number[one] for one in query.entities if one in mentions.number]
    documents *= any(mentions.weight[number] > 0 for number in numbers)
    return {
        "entity_walk": documents * contrast(entity_rank(mentions, level, query.entities)),
        "pair": documents * pairs(eligible, mentions, level, query.text),
        "title": documents * titles(eligible, level, query),
    }
