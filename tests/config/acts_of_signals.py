"""Switches and weights of the signals, each with what can be seen of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from world import Act, World

from vestig.config.signals import KINDS, SWITCHES, switch_of
from vestig.config.weights import SIGNALS
from vestig.embedders.checked import float32_bytes
from vestig.recall import judged
from vestig.rerankers.judge import MemoryText
from vestig.testing import TokenHashingEmbedder, WordReranker

__all__ = ["OF_DOCUMENTS", "SIGNALLED"]

ASKED: Final = "When and where did Bob spend how many weeks with Ada Lovelace in May last year?"
# (content, author, role, title) of one session, in which every term finds something
SESSION: Final = (
    ("Where did you all spend the summer, and when was it?", "Ann", "user", None),
    ("I spent three weeks with Ada Lovelace in Oslo on 3 May 2025.", "Bob", "assistant", None),
    ("My brother stayed at home and read about ships.", "Ann", "user", "Ada Lovelace"),
    ("Nobody saw the harbour of Oslo that year. " * 9, "Bob", "assistant", None),
    ("Did Ada Lovelace like the harbour?", "Cid", "user", None),
    ("She did, and so did we.", "Bob", "assistant", None),
)
# nothing is ranked by anything but what is looked at
SILENT: Final = {
    "store.path": ":memory:",
    "hygiene.near_duplicate.enabled": False,
    "signals.rerank.enabled": True,
    "reranker.provider": "words",
    **{f"ranking.weights.{k}.{name}": 0.0 for k in KINDS for name in ("bias", *SIGNALS)},
}


def seen(world: World, origin: str = "chat_peer") -> Any:
    """Scores of a session's memories."""
    store = world.open(embedder=TokenHashingEmbedder(64))
    for place, (text, author, role, title) in enumerate(SESSION):
        store.commit(
            text,
            author=author,
            role=role,
            title=title,
            provenance={"origin_type": origin},
            session_id="s",
            sequence=place,
            t_valid=f"2025-05-{place + 1:02}",
        )
        world.clock.move(hours=1)
    found = store.recall(ASKED, limit=len(SESSION))
    return [(hit.content, round(hit.score, 9)) for hit in found]


class LongestFirst(WordReranker):
    """Sees in a text how long it is."""

    def score(self, query: str, texts: Sequence[str]) -> bytes:
        return float32_bytes([len(text) for text in texts])


def named_when_it_fails(world: World) -> Any:
    """The message that names the model of a reranker that failed."""
    world.monkeypatch.setattr(WordReranker, "score", lambda *_: b"")
    store = world.open()
    store.commit(SESSION[1][0], provenance={"origin_type": "chat_peer"})
    return [entry.detail for entry in store.recall(ASKED).degraded]


class SlowReranker(WordReranker):
    """Takes a while."""

    def score(self, query: str, texts: Sequence[str]) -> bytes:
        time.sleep(0.2)
        return super().score(query, texts)


def degraded_when_slow(world: World) -> Any:
    """What a recall with a slow reranker goes without."""
    store = world.open(reranker=SlowReranker())
    store.commit(SESSION[1][0], provenance={"origin_type": "chat_peer"})
    return [entry.code for entry in store.recall(ASKED).degraded]


class SlowJudge:
    """Says the same of every memory after a while, and keeps what it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def load(self) -> None:
        """Nothing."""

    def read(self, _: str, memories: Sequence[MemoryText]) -> list[tuple[float, float]]:
        time.sleep(0.05)
        self.texts += [one.text for one in memories]
        return [(0.0, 0.0)] * len(memories)


def read_by_the_judge(world: World) -> Any:
    """What the judge reads of two memories, and what a recall goes without."""
    judge = SlowJudge()
    world.monkeypatch.setattr(judged, "_judge", lambda _: judge)
    store = world.open()
    for text, *_ in SESSION[1:3]:
        store.commit(text)
    return [entry.code for entry in store.recall(ASKED).degraded], len(judge.texts)


JUDGED: Final = {"judge.enabled": True, "judge.budget_ms": 60_000.0}


def parts(signal: str) -> list[str]:
    return [name for name in SIGNALS if switch_of(name) == signal]


def weighing(names: list[str], weight: float = 1.5) -> dict[str, Any]:
    return {**SILENT, **{f"ranking.weights.{k}.{name}": weight for k in KINDS for name in names}}


def seen_in_a_sitting(world: World) -> Any:
    """Scores of notes that were written one after the other."""
    store = world.open(embedder=TokenHashingEmbedder(64))
    for text, *_ in SESSION:
        store.commit(text)
        world.clock.move(minutes=5)
    found = store.recall(ASKED, limit=len(SESSION))
    return [(hit.content, round(hit.score, 9)) for hit in found]


# Names say something of documents alone.
OF_DOCUMENTS: Final = ("entity_walk", "pair", "title")


def act_of(value: float | bool, kind: str, name: str, given: dict[str, Any]) -> Act:
    """What is seen of memories of a kind when the key is set."""
    origin = "document" if name in OF_DOCUMENTS else "note"
    return Act(value, partial(seen, origin="chat_peer" if kind == "chat_peer" else origin), given)


SIGNALLED: Final[dict[str, Act]] = {
    **{
        f"signals.{name}.enabled": act_of(False, "chat_peer", name, weighing(parts(name)))
        for name in SWITCHES
        if name != "sittings"
    },
    "signals.sittings.enabled": Act(False, seen_in_a_sitting, weighing(["words"])),
    "signals.rerank.pool": Act(1, seen, weighing(["rerank", "words"])),
    "reranker.provider": Act("longest-first", seen, weighing(["rerank"])),
    "reranker.model": Act("another", named_when_it_fails, weighing(["rerank"])),
    "reranker.timeout_s": Act(0.01, degraded_when_slow, weighing(["rerank"])),
    "judge.enabled": Act(True, read_by_the_judge, {"judge.budget_ms": 60_000.0}),
    "judge.pool": Act(1, read_by_the_judge, JUDGED),
    "judge.budget_ms": Act(1.0, read_by_the_judge, JUDGED),
    "signals.late.pool": Act(1, seen, weighing([*parts("late"), "words"])),
    **{
        f"ranking.weights.{kind}.{name}": act_of(1.5, kind, name, SILENT)
        for kind in KINDS
        for name in ("bias", *SIGNALS)
        if kind == "all" or name not in OF_DOCUMENTS
    },
}
