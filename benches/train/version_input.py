"""What the version reader is trained on: a question, an older and a newer memory, and whether the
newer one takes the place of the older one.

Examples come from labelled worlds, where a question about now brings both of them, from the scenes
that the judge reads, and from pairs that were written for this (`version_pairs.jsonl`). JAX is not
needed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from adapter_input import Text, written_memory
from judge_input import Memory, memory_pieces, question_pieces
from judge_recipe import OUTDATED, RIGHT, WRONG
from judge_scenes import Common, Scene
from worlds import MARKS, Pieces, Read

PAIRS_FILE: Final = Path(__file__).with_name("version_pairs.jsonl")
# Of each memory with all that stands before its text.
MEMORY_PIECES: Final = 56
# Of a question's pairs of results about so many are read in a pass, by what older and newer are.
_TAKES, _RIGHT_WRONG, _OUTDATED_WRONG, _WRONG_RIGHT, _BOTH_WRONG, _BOTH_RIGHT = 3, 2, 1, 1, 0.3, 0.5
# Pairs near the top are drawn the more often: e times at this many places higher, both together.
_DECAY: Final = 6


class Example(NamedTuple):
    """A question and two memories; `takes`: the newer one takes the place of the older one."""

    question: Pieces
    older: Memory
    newer: Memory
    takes: bool

    @property
    def text(self) -> Text:
        """Its word pieces."""
        return triple(self.question, self.older, self.newer)


class Result(NamedTuple):
    """A memory that a question brings, what it is to it, and since when it holds, in an order."""

    memory: Memory
    what: int
    since: tuple[int, int]


class Asked(NamedTuple):
    """A question about now with its results, best first."""

    question: Pieces
    results: tuple[Result, ...]


def triple(question: Pieces, older: Memory, newer: Memory) -> Text:
    """`[CLS] question [SEP] older [SEP] newer [SEP]`, of a question cut by `question_pieces`."""
    start, end = MARKS
    pieces = [start, *question, end]
    first = len(pieces)
    pieces += [*memory_pieces(question, older, MEMORY_PIECES), end]
    second = len(pieces)
    pieces += [*memory_pieces(question, newer, MEMORY_PIECES), end]
    return Text(pieces, first, slice(first, second - 1), slice(second, len(pieces) - 1))


def written_pairs(read: Read, path: Path = PAIRS_FILE) -> Iterator[Example]:
    """The examples of a file of pairs, in its order."""

    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        older, newer = (
            written_memory(read, row[f"{which}_date"], row[f"{which}_by"], row[which])
            for which in ("older", "newer")
        )
        yield Example(question_pieces(read(row["question"])), older, newer, row["update"])


def answered_in(scene: Scene, common: Common) -> list[Asked]:
    """The questions of a scene that something answers, with its records: those that answer first,
    then those with most in common with the question. Records stand in the order of their days. The
    more of its questions ask for what changed, the more often each is there."""
    found = list[Asked]()
    for question, whats in scene.questions:
        if RIGHT not in whats:
            continue
        results = [
            Result(memory, what, (number, 0))
            for number, (memory, what) in enumerate(zip(scene.memories, whats, strict=True))
        ]
        results.sort(key=lambda one: (one.what == WRONG, -common.weight(question, one.memory)))
        found.append(Asked(question, tuple(results)))
    changes = sum(OUTDATED in whats for _, whats in scene.questions)
    return found * max(1, changes)


def drawn(asked: Asked, draw: np.random.Generator) -> list[Example]:
    """Some pairs of the results of a question, those of which the newer one takes the place
    first."""
    groups: dict[tuple[int, int] | None, list[tuple[int, int]]] = {}
    results = asked.results
    for older, one in enumerate(results):
        for newer, other in enumerate(results):
            if other.since > one.since:
                groups.setdefault(_group(one.what, other.what), []).append((older, newer))
    found = []
    for group, share in (
        (None, _TAKES),
        ((RIGHT, WRONG), _RIGHT_WRONG),
        ((OUTDATED, WRONG), _OUTDATED_WRONG),
        ((WRONG, RIGHT), _WRONG_RIGHT),
        ((WRONG, WRONG), _BOTH_WRONG),
        ((RIGHT, RIGHT), _BOTH_RIGHT),
    ):
        pairs = groups.get(group, [])
        count = min(len(pairs), int(share) + int(draw.random() < share % 1))
        if not count:
            continue
        weights = np.exp(-np.array([older + newer for older, newer in pairs]) / _DECAY)
        for place in draw.choice(len(pairs), count, replace=False, p=weights / weights.sum()):
            older, newer = (results[at].memory for at in pairs[place])
            found.append(Example(asked.question, older, newer, group is None))
    return found


def _group(older: int, newer: int) -> tuple[int, int] | None:
    """The kind of a pair; None where the newer one takes the place of the older one."""
    if older == OUTDATED and newer != WRONG:
        return None
    return older, RIGHT if newer == OUTDATED and older == WRONG else newer


def counted(examples: Sequence[Example]) -> tuple[int, int]:
    """How many examples there are, and of how many the newer one takes the place."""
    return len(examples), sum(one.takes for one in examples)
