"""Questions and memories as the judge reads them, and the memories that it is given to a question.

A pair is `[CLS] question [SEP] day · words before lead text [SEP]`: the day that the memory is of
("Tuesday 3 March 2026"), the last words of the turn before, its speaker or else its title with a
colon, and its text. PyTorch is not needed here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from worlds import MARKS, Pieces, Question, Read, World, world_of

from benchmarks.rankings import PeerParameters, peer_rankings
from benchmarks.reader import Unit, read_benchmark
from benchmarks.run import CachedEmbedder
from vestig.ports import Embedder
from vestig.times import from_us

# Of a longer question the first ten and the last twenty are read.
QUESTION_PIECES: Final = 30
_QUESTION_HEAD: Final = 10
# Of a memory with all that stands before its text; day and lead alone.
MEMORY_PIECES: Final = 71
_LABEL_PIECES: Final = 31
# A window of a longer text starts at a multiple of this.
_STRIDE: Final = 8
_WORDS_BEFORE: Final = 20
# Fewer pieces of the turn before say nothing.
_BEFORE_MIN: Final = 5
# Longest pair, with its marks.
PAIR_PIECES: Final = QUESTION_PIECES + MEMORY_PIECES + 3
# Memories of the first stage.
CANDIDATES: Final = 20


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Word pieces of the parts of a memory, without marks."""

    day: Pieces
    before: Pieces
    lead: Pieces
    text: Pieces


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Word pieces of a question and a memory with their marks. `first`: how many belong to the
    question, both of its marks included."""

    pieces: Pieces
    first: int


@dataclass(frozen=True, kw_only=True)
class CandidateWorld:
    """A world whose questions, the unanswerable ones last, have their candidates.

    Attributes:
        memories: of each record its parts.
        candidates: of each question the first of BM25 and cosine, best first.
        sha256: of the records and the questions.
    """

    world: World
    memories: tuple[Memory, ...]
    candidates: tuple[tuple[int, ...], ...]
    sha256: str


def question_pieces(pieces: Pieces) -> Pieces:
    """The pieces of a question that are read, without marks.

    Example:
        >>> question_pieces([101, *range(1000, 1040), 102])[9:12]
        [1009, 1020, 1021]
    """
    own = [piece for piece in pieces if piece not in MARKS]
    if len(own) <= QUESTION_PIECES:
        return own
    return own[:_QUESTION_HEAD] + own[_QUESTION_HEAD - QUESTION_PIECES :]


def window(text: Pieces, question: frozenset[int], most: int) -> Pieces:
    """A text, or of a longer one the `most` pieces of which most are pieces of the question: the
    first such window.

    Example:
        >>> window([*range(1000, 1020)], frozenset({1019}), 10)
        [1008, 1009, 1010, 1011, 1012, 1013, 1014, 1015, 1016, 1017]
    """
    if len(text) <= most:
        return text
    starts = range(0, len(text) - most + 1, _STRIDE)
    best = max(starts, key=lambda start: sum(p in question for p in text[start : start + most]))
    return text[best : best + most]


def memory_pieces(question: Pieces, memory: Memory, most: int = MEMORY_PIECES) -> Pieces:
    """The pieces of a memory that are read beside a question, `most` at most. The turn before fills
    what its text leaves free, with its last pieces."""
    label = _LABEL_PIECES - len(memory.day)
    lead = memory.lead[: max(0, label)]
    room = most - len(memory.day) - len(lead)
    text = window(memory.text, frozenset(question), room)
    free = room - len(text)
    before = memory.before[-free:] if free >= _BEFORE_MIN else []
    return [*memory.day, *before, *lead, *text]


def pair(question: Pieces, memory: Memory) -> Pair:
    """A question, cut by `question_pieces`, and a memory."""
    start, end = MARKS
    pieces = [start, *question, end, *memory_pieces(question, memory), end]
    return Pair(pieces=pieces, first=len(question) + 2)


def memories(units: Sequence[Unit], read: Read) -> tuple[Memory, ...]:
    """The parts of each unit; the turn before is that of its session with the number before."""

    @cache
    def word(text: str) -> Pieces:
        return read(text)[1:-1]

    def pieces(words: Iterable[str]) -> Pieces:
        return [piece for one in words for piece in word(one)]

    turns = {(unit.session, unit.sequence): unit.text for unit in units}
    found = []
    for unit in units:
        before = ""
        if unit.session is not None and unit.sequence is not None:
            before = turns.get((unit.session, unit.sequence - 1), "")
        day = None if unit.time is None else from_us(unit.time)
        label = unit.author or unit.title or ""
        found.append(memory_of(pieces, day, label, unit.text, before))
    return tuple(found)


def memory_of(
    pieces: Callable[[Iterable[str]], Pieces],
    day: date | None,
    label: str,
    text: str,
    before: str = "",
) -> Memory:
    """The parts of a memory.

    Args:
        pieces: of words, one behind the other.
        day: that it is of.
        label: who said it, or the title above it; empty for none.
        before: the turn before it.
    """
    of_day = "" if day is None else f"{day:%A} {day.day} {day:%B} {day.year} ·"
    return Memory(
        day=pieces(of_day.split()),
        before=pieces(before.split()[-_WORDS_BEFORE:]),
        lead=pieces(f"{label}:".split() if label else ()),
        text=pieces(text.split()),
    )


def candidate_worlds(
    folders: Iterable[Path], read: Read, embedder: Embedder
) -> Iterator[CandidateWorld]:
    """The worlds of labelled folders, in the order of the folders and of their names. Candidates
    are those of the hybrid that `benches/evaluate.py` compares recall with."""
    vectors = CachedEmbedder(embedder)
    for folder in folders:
        benchmark = read_benchmark(folder)
        whole = msgspec.structs.replace(
            benchmark, queries=(*benchmark.queries, *benchmark.unanswerable)
        )
        ranked = list(peer_rankings(whole, vectors, PeerParameters()))
        for name, units in whole.units.items():
            own = [(query, of["hybrid"]) for query, of in ranked if query.conversation == name]
            if not own:
                continue
            place = {unit.id: number for number, unit in enumerate(units)}
            asked = [query for query, _ in own]
            content = msgspec.json.encode((units, asked), order="deterministic")
            yield CandidateWorld(
                world=world_of(name or benchmark.name, units, asked, read),
                memories=memories(units, read),
                candidates=tuple(
                    tuple(place[id] for id in ranking[:CANDIDATES]) for _, ranking in own
                ),
                sha256=hashlib.sha256(content).hexdigest(),
            )


class Asked(NamedTuple):
    """A question: its world, and its number there."""

    world: CandidateWorld
    number: int

    @property
    def question(self) -> Question:
        """Its labels."""
        return self.world.world.questions[self.number]

    @property
    def candidates(self) -> tuple[int, ...]:
        """Numbers of the records of the first stage."""
        return self.world.candidates[self.number]

    def pairs(self, records: Iterable[int]) -> list[Pair]:
        """The question with each of these records."""
        own = question_pieces(self.question.pieces)
        return [pair(own, self.world.memories[record]) for record in records]


def all_asked(worlds: Iterable[CandidateWorld]) -> list[Asked]:
    """The questions of all worlds."""
    return [Asked(one, number) for one in worlds for number in range(len(one.candidates))]
