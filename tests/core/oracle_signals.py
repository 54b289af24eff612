"""What each signal means, in a few slow float64 lines: the definition that the
kernels are tested against, and that weights are learned with.

`Eligible` holds what the eligible memories are, `Eligible.raw` gives every term of L₁ for a query,
`oracle_graph.after` those that are made from the best of L₁. Values of late interaction are in
`oracle_late`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
from oracle_statements import stance
from oracle_texts import (
    FRAMING,
    Window,
    date_match,
    every_year,
    named_authors,
    placed_content,
    short_starts,
)

from vestig._core import terms, tokens
from vestig.language.words import STOPWORDS

K1, B = 0.9, 0.4
AGENT_CHARS = 1_200
HOUR_US = 3_600_000_000
# The least value of `date` inside of a window.
MET = 0.25
BEST_OF_PAIR = 5
Values = np.ndarray

FIRST_TERMS = ("words", "date", "question", "reply", "long", "person", "topic")
AFTER_TERMS = ("entity_walk", "pair", "title")


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What a memory carries. `entities`: keys of its unexpired MENTIONS; `times`: the
    windows of its temporal expressions; `sitting`: the one that a note without session belongs
    to; `written_us`: when what stored it occurred; `undated`: its times are those of its file."""

    content: str
    vector: Values | None = None
    author: str | None = None
    role: str | None = None
    session: str | None = None
    sequence: int | None = None
    title: str | None = None
    origin: str = "note"
    t_valid_us: int = 0
    times: Sequence[Window] = ()
    entities: Sequence[str] = ()
    sitting: int | None = None
    written_us: int | None = None
    undated: bool = False

    @property
    def moments(self) -> tuple[int | None, int | None]:
        """When it happened and when it was written; of neither is the time of its file."""
        return (None, None) if self.undated else (self.t_valid_us, self.written_us)


def sittings(notes: Sequence[tuple[Hashable, int]]) -> list[int]:
    """The sitting of each note: numbers that those share which follow each other within an hour, in
    the order of the ledger. `notes`: (namespace, scope, author and source; t_valid in µs)."""
    found, last = list[int](), dict[Hashable, tuple[int, int]]()
    for at, (group, valid) in enumerate(notes):
        before, number = last.get(group, (None, at))
        if before is not None and abs(valid - before) > HOUR_US:
            number = at
        last[group] = (valid, number)
        found.append(number)
    return found


@dataclass(frozen=True, kw_only=True)
class Query:
    """A question. `windows`: (start, end, words that name it); `times`: where its temporal
    expressions stand; `entities`: matched ones; `pieces`: hidden state and place of each word
    piece."""

    text: str
    vector: Values | None = None
    windows: Sequence[tuple[int | None, int | None, str]] = ()
    times: Sequence[tuple[int, int]] = ()
    entities: Sequence[str] = ()
    pieces: Sequence[tuple[Values, int, int]] = ()


def memory_terms(memory: Memory) -> list[str]:
    """Author, title, text; of a chat_agent memory without the words that begin behind the cut."""
    text = memory.content
    if memory.origin == "chat_agent" and len(text) > AGENT_CHARS:
        late = (start for _, start, _, _ in tokens(text) if start >= AGENT_CHARS)
        text = text[: next(late, len(text))]
    return [*terms(memory.author or ""), *terms(memory.title or ""), *terms(text)]


def shortness(memory: Memory) -> float:
    """1 − content words / 8, at least 0: words that are no function words and frame no question."""
    found = [word for word, *_ in tokens(memory.content) if word not in STOPWORDS | FRAMING]
    return max(0.0, 1 - len(found) / 8)


def asks(memory: Memory) -> bool:
    """Whether it ends with a question mark."""
    return memory.content.rstrip().endswith(("?", "\uff1f", "\u061f"))


def question(memory: Memory) -> float:
    """The shortness of a question, at least ½ where it states nothing beside; 0 of all else."""
    if stance(memory.content) == "asks":
        return max(shortness(memory), 0.5)
    return shortness(memory) if asks(memory) else 0.0


class Words:
    """BM25 over fields given as term → frequency (which may be broken numbers)."""

    def __init__(self, fields: Sequence[Mapping[str, float]]) -> None:
        self.size = len(fields)
        self.length = np.array([float(sum(field.values())) for field in fields])
        mean = float(self.length.mean()) if self.size and self.length.any() else 1.0
        self.norm = K1 * (1 - B + B * self.length / mean)
        rows: dict[str, list[int]] = defaultdict(list)
        often: dict[str, list[float]] = defaultdict(list)
        for row, counts in enumerate(fields):
            for term, count in counts.items():
                rows[term].append(row)
                often[term].append(count)
        self.rows = {term: np.array(found) for term, found in rows.items()}
        self.often = {term: np.array(found, float) for term, found in often.items()}

    def idf(self, term: str) -> float:
        holding = len(self.rows.get(term, ()))
        return math.log(1 + (self.size - holding + 0.5) / (holding + 0.5))

    def saturation(self, term: str) -> Values:
        """tf / (tf + norm), 0 where the term is not."""
        found = np.zeros(self.size)
        if term in self.rows:
            rows, often = self.rows[term], self.often[term]
            found[rows] = often / (often + self.norm[rows])
        return found

    def scores(self, asked: Iterable[str], rarity: Words | None = None) -> Values:
        """`rarity`: the fields whose idf counts, where they are not these."""
        total = np.zeros(self.size)
        for term in asked:
            if term in self.rows:
                idf = (self if rarity is None else rarity).idf(term)
                total += idf * self.saturation(term)
        return total


# --- sessions -----------------------------------------------------------------------------------


@dataclass
class Places:
    """Positions of sessions; parts of one long text share one. Notes of a sitting have places in
    it, each its own."""

    position: list[tuple[Hashable, int] | None] = field(default_factory=list)
    parts: dict[tuple[Hashable, int], list[int]] = field(default_factory=dict)

    @staticmethod
    def of(memories: Sequence[Memory]) -> Places:
        numbers: dict[str, set[int]] = defaultdict(set)
        for memory in memories:
            if memory.session is not None and memory.sequence is not None:
                numbers[memory.session].add(memory.sequence)
        rank = {
            session: {number: place for place, number in enumerate(sorted(found))}
            for session, found in numbers.items()
        }
        places, seated = Places(), Counter[int]()
        for row, memory in enumerate(memories):
            at: tuple[Hashable, int]
            if memory.session is not None and memory.sequence is not None:
                at = (memory.session, rank[memory.session][memory.sequence])
            elif memory.sitting is not None:
                at = (memory.sitting, seated[memory.sitting])
                seated[memory.sitting] += 1
            else:
                places.position.append(None)
                continue
            places.position.append(at)
            places.parts.setdefault(at, []).append(row)
        return places

    def beside(self, row: int, offset: int) -> list[int]:
        """Memories that stand so many positions behind (before: negative); [] outside."""
        at = self.position[row]
        return [] if at is None else self.parts.get((at[0], at[1] + offset), [])


def counted(terms: Sequence[str]) -> Counter[str]:
    """How often each term counts: up to 127 times. Words beyond that count for the length alone, in
    the place of "", which is no term."""
    often = Counter({term: min(count, 127) for term, count in Counter(terms).items()})
    often[""] = len(terms) - sum(often.values())
    return +often


# --- terms of L₁ --------------------------------------------------------------------------------


class Eligible:
    """The eligible memories, by seq."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self.memories = list(memories)
        self.size = len(memories)
        self.places = Places.of(memories)
        fields = [counted(memory_terms(memory)) for memory in memories]
        self.words, self.windows = Words(fields), Words(self._windows(fields))
        self.authors = {memory.author for memory in memories if memory.author}
        self.vectors = self._vectors()
        self.short = self._each(lambda row: shortness(self.memories[row]))
        self.asks = self._each(lambda row: asks(self.memories[row]))
        self.years = sorted(
            {
                (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)).year
                for m in memories
                for at in (m.t_valid_us, *short_starts(m.times))
            }
        )

    def _windows(self, fields: Sequence[Counter[str]]) -> list[Mapping[str, float]]:
        """Each with its neighbours up to two positions away, counted 1, 1/2 and 1/4."""
        found = []
        for row in range(self.size):
            total: dict[str, float] = defaultdict(float)
            for offset, weight in ((0, 1.0), (-1, 0.5), (1, 0.5), (-2, 0.25), (2, 0.25)):
                for other in self.places.beside(row, offset) if offset else (row,):
                    for term, count in fields[other].items():
                        total[term] += weight * count
            found.append(total)
        return found

    def _vectors(self) -> Values | None:
        some = [memory.vector for memory in self.memories if memory.vector is not None]
        if not some:
            return None
        empty = np.zeros(len(some[0]))
        return np.array([empty if m.vector is None else m.vector for m in self.memories], float)

    def _each(self, value: Callable[[int], float]) -> Values:
        return np.array([float(value(row)) for row in range(self.size)])

    def raw(self, query: Query) -> dict[str, Values]:
        """Every term of `FIRST_TERMS`."""
        asked = list(dict.fromkeys(terms(query.text)))
        nothing = np.zeros(self.size)
        whole = sum(self.words.idf(term) for term in asked)
        words = self.words.scores(asked) / whole if asked else nothing
        topic = self.topic(query)
        before = self._each(
            lambda row: max(
                (words[at] for at in self.places.beside(row, -1) if self.asks[at]), default=0.0
            )
        )
        lengths = self._each(lambda row: min(len(self.memories[row].content), 2000))
        return {
            "words": self.windows.scores(asked, self.words) / whole if asked else nothing,
            "date": self._dates(query),
            "question": self._each(lambda row: question(self.memories[row])),
            "reply": before,
            "long": np.maximum(0, np.log((1 + lengths) / 300)),
            "person": self._persons(query),
            "topic": nothing if topic is None or self.vectors is None else self.vectors @ topic,
        }

    def topic(self, query: Query) -> Values | None:
        """unit(Σ weight · state) over the word pieces, each as rare as the rarest content term of
        its word; the vector of the query where nothing weighs."""
        dates_met = bool((self._dates(query) >= MET).any())
        placed = placed_content(query.text, query.times, dates_met)
        total, length = 0.0, 0.0
        for state, start, end in query.pieces:
            if re.search(r"[^\W_]", query.text[start:end]):
                near = [self.words.idf(t) for t, low, high in placed if low < end and start < high]
                total = total + max(near, default=0.0) * np.asarray(state, float)
        if np.any(total):
            for value in total:
                length += value * value
            return total / math.sqrt(length)
        return query.vector

    def _persons(self, query: Query) -> Values:
        named = named_authors(query.text, self.authors)
        value = {author: 1 if author in named else -(len(named) == 1) for author in self.authors}
        return self._each(lambda row: value.get(self.memories[row].author or "", 0))

    def _dates(self, query: Query) -> Values:
        own = self.memories
        windows = [one for window in query.windows for one in every_year(window, self.years)]
        if not windows:
            return np.zeros(self.size)
        return self._each(
            lambda row: max(
                date_match(own[row].times, *own[row].moments, window) for window in windows
            )
        )
