"""A store of people's chats for benches: sessions of two, questions and replies, dates, and token
vectors, all from a seed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vestig
from conftest import NO_PASSES
from generator import FIRST, batches, chance_fields, embedded_text, vectors
from vestig.ports import TokenStates
from vestig.testing import FrozenClock, HashedTokenStates, ScriptedEmbedder

PIECES_OF_MEMORY = 40
PIECES_OF_QUERY = 13
TURNS = (16, 28)
DAYS = 700
# Before the time of a frozen clock.
LAST_DAY = datetime(2026, 3, 1, 8, tzinfo=UTC)

_SAYS = (
    "I {deed} {thing} {place} {reason}.",
    "We {deed} {thing} {reason}, and {other} helped with {thing2}.",
    "My brother {deed} {thing} {place} last week.",
    "{other} {deed} {thing} {place} on {day} {month}.",
    "Yesterday I {deed} {thing}, because {other} wanted {thing2}.",
    "{other} told me that {thing} {place} is {deed} now.",
)
_ASKS = (
    "Did you see {thing} {place}, the one that {other} {deed}?",
    "How many crowns did {other} pay for {thing} in the end, was it {n}?",
    "Why did {other} want {thing} {deed} {place}?",
    "What did {other} say when you {deed} {thing} {reason}?",
)
_ANSWERS = (
    "Yes, {other} {deed} it {reason}, and it cost {n} crowns.",
    "It was {n}, and {other} keeps the receipt {place}.",
    "I think that {other} {deed} it {place} in {month}.",
)
_DETAILS = (
    "The price was {n} crowns.",
    "The parts came from {place2}.",
    "I read all {n} pages of the manual.",
    "It weighs {n} grams and needs a lot of room.",
    "{other} said that our old one was better.",
    "My sister wants {thing2} too.",
    "We talked about it for {n} seconds, she counted them.",
)
_QUERIES = (
    "what did {author} do with {thing}?",
    "when did {author} say that {thing} was {deed}?",
    "how many crowns did {author} pay for {thing}?",
    "where is {thing} that {author} {deed} in {month}?",
    "who {deed} {thing} {place}?",
    "what did {author} tell {other} about {thing}?",
)
_MONTHS = ("January", "February", "March", "May", "June", "August", "October", "November")


def _drawn(rng: random.Random) -> dict[str, Any]:
    more = {"day": rng.randrange(1, 28), "month": rng.choice(_MONTHS)}
    return {**chance_fields(rng), **more}


def turns(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """`commit` arguments of `count` turns, session after session; texts are distinct.

    Example:
        >>> turn = turns(40)[1]
        >>> sorted(turn), turn["sequence"]
        (['author', 'content', 'sequence', 'session_id', 't_valid'], 1)
    """
    return list(_stream(count, seed))


def _stream(count: int, seed: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(f"vestig-chats-{seed}")
    seen: set[str] = set()
    session = 0
    while len(seen) < count:
        pair = rng.sample(FIRST, 2)
        began = LAST_DAY - timedelta(days=DAYS * rng.random())
        after_question = False
        for place in range(rng.randrange(*TURNS)):
            if len(seen) == count:
                return
            kind = _ANSWERS if after_question else _ASKS if rng.random() < 0.3 else _SAYS
            parts = [rng.choice(kind), *rng.sample(_DETAILS, rng.randrange(1, 4))]
            text = " ".join(part.format(**_drawn(rng)) for part in parts)
            if text in seen:
                continue
            seen.add(text)
            after_question = kind is _ASKS
            yield {
                "content": text,
                "author": pair[place % 2],
                "session_id": f"s{seed}-{session}",
                "sequence": place,
                "t_valid": began + timedelta(minutes=place),
            }
        session += 1


def queries(count: int, seed: int = 0) -> list[str]:
    """Questions about statements of the chats; some repeat."""
    rng = random.Random(f"vestig-chat-queries-{seed}")
    return [
        rng.choice(_QUERIES).format(**{**_drawn(rng), "author": rng.choice(FIRST)})
        for _ in range(count)
    ]


class ChatEmbedder(ScriptedEmbedder):
    """Random vectors seeded by the text, and token vectors: 40 for a memory, 13 for a query."""

    def __init__(self, questions: Sequence[str], dimensions: int = 384) -> None:
        super().__init__({}, default=[1.0, *[0.0] * (dimensions - 1)])
        self._questions = frozenset(questions)
        self._memory = HashedTokenStates(0, PIECES_OF_MEMORY)
        self._query = HashedTokenStates(0, PIECES_OF_QUERY)
        self._tokens: dict[str, TokenStates] = {}

    def script(self, items: Sequence[dict[str, Any]], matrix: NDArray[np.float32]) -> None:
        """Takes the vectors of these records."""
        for row, item in enumerate(items):
            self.vectors[embedded_text(item)] = matrix[row].tobytes()

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector per text."""
        for text in texts:
            if text not in self.vectors:
                raw = hashlib.blake2b(text.encode(), digest_size=8).digest()
                rng = np.random.default_rng(int.from_bytes(raw, "little"))
                made = rng.standard_normal(self.dimensions, dtype=np.float32)
                self.vectors[text] = (made / np.linalg.norm(made)).astype("<f4").tobytes()
        return super().embed(texts)

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        """One call of `embed`, with the token vectors beside it; those of queries are cached."""
        return list(zip(self.embed(texts), map(self._pieces, texts), strict=True))

    def _pieces(self, text: str) -> TokenStates:
        if text not in self._questions:
            return self._memory.of(text)
        if text not in self._tokens:
            self._tokens[text] = self._query.of(text)
        return self._tokens[text]


def fill(path: Path, size: int, questions: Sequence[str]) -> ChatEmbedder:
    """A store of so many turns, committed by batches without the checks of pairs; its embedder,
    which knows the questions and, of the turns, their vectors no more."""
    items = turns(size)
    embedder = ChatEmbedder(questions)
    embedder.script(items, vectors(size))
    with vestig.open(path, embedder=embedder, config=NO_PASSES, clock=FrozenClock()) as store:
        for batch in batches(items):
            store.commit_many(batch)
        assert store.count() == size
    embedder.vectors.clear()
    return embedder
