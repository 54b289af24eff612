"""What each signal means, in a few slow float64 lines: the definition that the
kernels are tested against, and that weights are learned with.

`Eligible` holds what the eligible memories are, `Eligible.raw` gives every term of L₁ for a query,
`after` those that are made from the best of L₁; `normalised` divides by the maximum. Values
of late interaction are in `oracle_late`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
from oracle_texts import (
    HOW_MANY,
    NUMBER,
    WHEN,
    WHICH,
    Window,
    content_terms,
    content_words,
    date_match,
    every_year,
    named_authors,
    names,
    placed_content,
)

from vestig._core import terms, tokens
from vestig.language.answered_questions import answered_questions

K1, B = 0.9, 0.4
AGENT_CHARS = 1_200
HOUR_US = 3_600_000_000
OFFSETS = (-2, -1, 1, 2, 3)
BEST_OF_PAIR = 5
Values = np.ndarray

FIRST_TERMS = (
    "cosine",
    "lexical",
    "topic",
    "topic_lexical",
    "bigram",
    "context.words",
    "context.vector",
    "context.soft",
    "context.wide",
    *(f"neighbours.lexical.{offset:+d}" for offset in OFFSETS),
    "role",
    "questions",
    "person",
    "date",
    "when",
    "form.question",
    "form.length",
    "form.first",
    "reply.question",
    "reply.lexical",
    "answer_type.number",
    "answer_type.name",
)
AFTER_TERMS = ("entity_walk", "pair.pair", "pair.gain", "title")


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What a memory carries. `entities`: keys of its unexpired MENTIONS; `times`: the
    windows of its temporal expressions; `questions`: those it answers, None = by the rules;
    `sitting`: the one that a note without session belongs to."""

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
    questions: Sequence[str] | None = None
    sitting: int | None = None


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


def indexed_text(memory: Memory) -> str:
    """Without the words of a chat_agent memory that begin behind the cut."""
    text = memory.content
    if memory.origin == "chat_agent" and len(text) > AGENT_CHARS:
        late = (start for _, start, _, _ in tokens(text) if start >= AGENT_CHARS)
        text = text[: next(late, len(text))]
    return text


def memory_terms(memory: Memory) -> list[str]:
    """Author first."""
    return terms(indexed_text(memory), memory.author)


def neighbours(memory: Memory) -> set[tuple[str, str]]:
    """Its terms that stand side by side without function words, author first."""
    found = [*content_words(memory.author or ""), *content_words(indexed_text(memory))]
    return set(pairwise(term for term, *_ in found))


def question_terms(memory: Memory) -> list[str]:
    """All words of the questions that a memory answers."""
    asked = memory.questions
    if asked is None:
        asked = answered_questions(memory.content, memory.author)
    return [term for question in asked for term in terms(question)]


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

    def scores(self, asked: Iterable[str]) -> Values:
        total = np.zeros(self.size)
        for term in asked:
            if term in self.rows:
                total += self.idf(term) * self.saturation(term)
        return total


def normalised(raw: Values) -> Values:
    """Divided by the maximum over the eligible; a maximum ≤ 0 gives 0."""
    most = float(raw.max()) if len(raw) else 0.0
    return raw / most if most > 0 else np.zeros_like(raw)


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


def added(fields: Sequence[Counter[str]], rows: Iterable[tuple[int, float]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for row, weight in rows:
        for term, count in fields[row].items():
            total[term] += weight * count  # type: ignore[assignment]
    return total


# --- terms of L₁ --------------------------------------------------------------------------------


class Eligible:
    """The eligible memories, by seq."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self.memories = list(memories)
        self.size = len(memories)
        self.places = Places.of(memories)
        fields = [counted(memory_terms(memory)) for memory in memories]
        self.words = Words(fields)
        self.questions = Words([Counter(question_terms(memory)) for memory in self.memories])
        self.window = self._windows(fields, {0: 1.0, 1: 1.0})
        self.soft = self._windows(fields, {0: 1.0, 1: 0.5, 2: 0.25})
        self.wide = self._windows(fields, {0: 1.0, 1: 1.0, 2: 1.0})
        self.vectors = self._vectors()
        self.near = self._near_vectors()
        self.beside = {offset: self._beside(offset) for offset in OFFSETS}
        self.authors = {memory.author for memory in memories if memory.author}
        self.years = sorted(
            {
                (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=m.t_valid_us)).year
                for m in memories
            }
        )
        self.fixed = self._fixed()

    def _windows(self, fields: Sequence[Counter[str]], weights: Mapping[int, float]) -> Words:
        return Words(
            [
                added(
                    fields,
                    [(row, 1.0)]
                    + [
                        (other, weight)
                        for distance, weight in weights.items()
                        if distance
                        for sign in (-1, 1)
                        for other in self.places.beside(row, sign * distance)
                    ],
                )
                for row in range(self.size)
            ]
        )

    def _vectors(self) -> Values | None:
        some = [memory.vector for memory in self.memories if memory.vector is not None]
        if not some:
            return None
        empty = np.zeros(len(some[0]))
        return np.array([empty if m.vector is None else m.vector for m in self.memories], float)

    def _near_vectors(self) -> Values | None:
        if self.vectors is None:
            return None
        near = [
            [*self.places.beside(row, -1), row, *self.places.beside(row, 1)]
            for row in range(self.size)
        ]
        sums = np.array([self.vectors[rows].sum(0) for rows in near])
        lengths = np.sqrt((sums * sums).sum(1, keepdims=True))
        return sums / np.where(lengths > 0, lengths, 1)

    def _fixed(self) -> dict[str, Values]:
        """What does not depend on the query."""
        own = self.memories
        made: dict[str, Callable[[int], float]] = {
            "role": lambda row: own[row].role == "user",
            "form.question": lambda row: "?" in own[row].content,
            "form.length": lambda row: math.log(1 + min(len(own[row].content), 2000)),
            "form.first": lambda row: (
                own[row].session is not None and (self.places.position[row] or ("", -1))[1] == 0
            ),
            "reply.question": self._answers,
            # of these only the part that the query does not decide
            "when": lambda row: min(2, len(own[row].times)) / 2,
            "answer_type.number": lambda row: NUMBER.search(own[row].content) is not None,
            "answer_type.name": lambda row: min(3, names(own[row].content)) / 3,
        }
        return {name: self._each(value) for name, value in made.items()}

    def _answers(self, row: int) -> float:
        """1 if the previous memory of the session is another's and contains a question mark."""
        own = self.memories[row]
        return float(
            any(
                other.author != own.author and "?" in other.content
                for other in (self.memories[at] for at in self.places.beside(row, -1))
            )
        )

    def _each(self, value: Callable[[int], float]) -> Values:
        return np.array([float(value(row)) for row in range(self.size)])

    def _beside(self, offset: int) -> Values:
        """The parts at that offset, a row for each memory, filled up with −1."""
        found = [self.places.beside(row, offset) for row in range(self.size)]
        width = max(map(len, found), default=0)
        return np.array([one + [-1] * (width - len(one)) for one in found], int)

    def most_beside(self, values: Values, offset: int) -> Values:
        """The largest value among the parts at that offset; 0 outside the session."""
        at = self.beside[offset]
        if not at.size:
            return np.zeros(self.size)
        found = np.append(values, -np.inf)[at].max(1)
        return np.where(np.isinf(found), 0.0, found)

    def raw(self, query: Query) -> dict[str, Values]:
        """Every term of `FIRST_TERMS`, before it is divided by its maximum."""
        asked = list(dict.fromkeys(terms(query.text)))
        nothing = np.zeros(self.size)
        found = {
            "cosine": nothing if query.vector is None else self.vectors @ query.vector,
            "lexical": self.words.scores(asked),
            "questions": self.questions.scores(asked),
            **self._of_content(query),
            "context.words": self.window.scores(asked),
            "context.vector": nothing if query.vector is None else self.near @ query.vector,
            "context.soft": self.soft.scores(asked),
            "context.wide": self.wide.scores(asked),
            **self.fixed,
        }
        lexical = normalised(found["lexical"])
        for offset in OFFSETS:
            found[f"neighbours.lexical.{offset:+d}"] = self.most_beside(lexical, offset)
        found["reply.lexical"] = self.fixed["reply.question"] * self.most_beside(lexical, -1)
        found |= self._of_question(query)
        return {name: found[name] for name in FIRST_TERMS}

    def _of_content(self, query: Query) -> dict[str, Values]:
        dates_met = bool(self._dates(query).any())
        content = content_terms(query.text, query.times, dates_met)
        pairs = set(pairwise(content))
        topic = self.topic(query)
        none = np.zeros(self.size)
        return {
            "topic": none if topic is None or self.vectors is None else self.vectors @ topic,
            "topic_lexical": self.words.scores(dict.fromkeys(content)),
            "bigram": self._each(lambda row: len(pairs & neighbours(self.memories[row]))),
        }

    def topic(self, query: Query) -> Values | None:
        """unit(Σ weight · state) over the word pieces, each as rare as the rarest content term of
        its word; the vector of the query where nothing weighs."""
        dates_met = bool(self._dates(query).any())
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

    def _dates(self, query: Query) -> Values:
        own = self.memories
        windows = [one for window in query.windows for one in every_year(window, self.years)]
        if not windows:
            return np.zeros(self.size)
        return self._each(
            lambda row: max(
                date_match([(own[row].t_valid_us,) * 2, *own[row].times], window)
                for window in windows
            )
        )

    def _of_question(self, query: Query) -> dict[str, Values]:
        own = self.memories
        named = named_authors(query.text, self.authors)
        value = {author: 1 if author in named else -(len(named) == 1) for author in self.authors}
        person = np.array([float(value.get(memory.author or "", 0)) for memory in own])
        return {
            "person": person,
            "date": self._dates(query),
            "when": self.fixed["when"] * bool(WHEN.search(query.text)),
            "answer_type.number": self.fixed["answer_type.number"]
            * bool(HOW_MANY.search(query.text)),
            "answer_type.name": self.fixed["answer_type.name"] * bool(WHICH.search(query.text)),
        }
