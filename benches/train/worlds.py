"""What a model is trained and judged on: whole stores with labelled questions, without PyTorch."""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vestig.arguments import parse_time

# a script has its own folder on the path alone
sys.path.append(str(Path(__file__).parents[1]))
from benchmarks.reader import Query, Unit, read_benchmark

Pieces: TypeAlias = list[int]
Read: TypeAlias = Callable[[str], Pieces]

VOCABULARY: Final = 30_522
# Word pieces that mark the ends of a text.
MARKS: Final = (101, 102)
# Questions of these kinds ask about a whole chain of versions: none of it is a wrong answer.
_OF_CHAINS: Final = frozenset({"date", "history"})


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that records answer.

    Attributes:
        pieces: its word pieces.
        relevant: numbers of the records that answer it.
        outdated: numbers of the records that answered it once.
        unjudged: numbers of records that are neither right nor wrong: outdated, equal in text to a
            relevant one, or of its chain.
        usable: numbers of the records that may be found; None = all.
    """

    pieces: Pieces
    category: str
    relevant: tuple[int, ...]
    outdated: frozenset[int]
    unjudged: frozenset[int]
    usable: frozenset[int] | None


@dataclass(frozen=True, kw_only=True)
class World:
    """One store.

    Attributes:
        records: word pieces of each record.
        weights: of each word piece of the vocabulary, the rarer in this store the higher.
    """

    name: str
    records: tuple[Pieces, ...]
    questions: tuple[Question, ...]
    weights: NDArray[np.float32]


def worlds(folders: Iterable[Path], read: Read) -> list[World]:
    """The worlds of labelled folders, in the order of the folders and of their names."""
    found = []
    for folder in folders:
        benchmark = read_benchmark(folder)
        for name, units in benchmark.units.items():
            asked = [query for query in benchmark.queries if query.conversation == name]
            if asked:
                found.append(world_of(name or benchmark.name, units, asked, read))
    return found


def world_of(name: str, units: Sequence[Unit], asked: Sequence[Query], read: Read) -> World:
    """One store with these of its questions, in their order."""
    records = tuple(read(unit.embedded_text) for unit in units)
    place = {unit.id: number for number, unit in enumerate(units)}
    groups = [query.relevant | query.outdated for query in asked if query.outdated]
    questions = []
    for query in asked:
        texts = {units[place[one]].text for one in query.relevant}
        outdated = frozenset(place[one] for one in query.outdated - query.relevant)
        unjudged = set(outdated)
        unjudged |= {number for number, unit in enumerate(units) if unit.text in texts}
        if query.category in _OF_CHAINS:
            chains = [group for group in groups if group & query.relevant]
            unjudged |= {place[one] for group in chains for one in group}
        relevant = tuple(sorted(place[one] for one in query.relevant))
        questions.append(
            Question(
                pieces=read(query.text),
                category=query.category,
                relevant=relevant,
                outdated=outdated,
                unjudged=frozenset(unjudged.difference(relevant)),
                usable=_usable(query, units),
            )
        )
    return World(name=name, records=records, questions=tuple(questions), weights=rarity(records))


def _usable(query: Query, units: Sequence[Unit]) -> frozenset[int] | None:
    until = query.until
    if until is None:
        return None
    ends = parse_time(until, "until")
    return frozenset(n for n, unit in enumerate(units) if unit.time is None or unit.time < ends)


def rarity(records: Sequence[Pieces]) -> NDArray[np.float32]:
    """BM25's inverse frequency of every word piece among the records; 0 of the marks of ends."""
    counts = Counter(piece for record in records for piece in set(record))
    total = len(records)
    weights = np.full(VOCABULARY, math.log(1 + (total + 0.5) / 0.5), np.float32)
    for piece, count in counts.items():
        weights[piece] = math.log(1 + (total - count + 0.5) / (count + 0.5))
    weights[list(MARKS)] = 0
    return weights


def seen(trained: Sequence[World], judged: Iterable[World]) -> list[str]:
    """Names of judged worlds of which the training read a question together with a record that
    answers it, or at least half of the records, whatever their folders and ids are called."""
    known = {pair for world in trained for pair in _pairs(world)}
    texts = {tuple(record) for world in trained for record in world.records}

    def is_seen(world: World) -> bool:
        own = {tuple(record) for record in world.records}
        return not known.isdisjoint(_pairs(world)) or 2 * len(own & texts) >= len(own)

    return [world.name for world in judged if is_seen(world)]


def _pairs(world: World) -> Iterable[tuple[tuple[int, ...], tuple[int, ...]]]:
    for question in world.questions:
        for number in question.relevant:
            yield tuple(question.pieces), tuple(world.records[number])


def refuse_seen(trained: Sequence[World], judged: Sequence[World]) -> None:
    """Raises ValueError where a judged world was trained on."""
    names = seen(trained, judged)
    if names:
        raise ValueError(
            f"expected worlds that the model was not trained on, got {', '.join(names)};"
            " take each world for one of both only"
        )


def figures(
    judged: Sequence[World], scores: Sequence[NDArray[np.float32]]
) -> dict[str, tuple[float, float, int]]:
    """Per cent of questions whose first record answers, per cent of the relevant records among the
    first five, and the number of questions; by category and of "all".

    Args:
        scores: of each world questions × records.
    """
    found = defaultdict(list)
    for world, of_world in zip(judged, scores, strict=True):
        for question, scored in zip(world.questions, of_world, strict=True):
            row = scored.copy()
            if question.usable is not None:
                unusable = np.ones(len(row), bool)
                unusable[list(question.usable)] = False
                row[unusable] = -np.inf
            best = np.argsort(-row, kind="stable")[:5].tolist()
            relevant = set(question.relevant)
            one = best[0] in relevant, len(relevant.intersection(best)) / len(relevant)
            found[question.category].append(one)
            found["all"].append(one)
    return {
        name: (*(100 * np.mean(ones, 0)).round(1).tolist(), len(ones))
        for name, ones in sorted(found.items())
    }
