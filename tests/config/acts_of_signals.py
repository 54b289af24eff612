"""Switches and weights of the signals, each with what can be seen of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from world import Act, World

from vestig.config.signals import CANDIDATE_TERMS, EVIDENCE, ORIGINS, SIGNALS, SWITCHES
from vestig.embedders.checked import float32_bytes
from vestig.testing import TokenHashingEmbedder, WordReranker

__all__ = ["SIGNALLED"]

ASKED: Final = "When and where did Bob spend how many weeks with Ada Lovelace in May last year?"
# (content, author, role, title) of one session, in which every term finds something
SESSION: Final = (
    ("Where did you all spend the summer, and when was it?", "Ann", "user", None),
    ("I spent three weeks with Ada Lovelace in Oslo on 3 May 2025.", "Bob", "assistant", None),
    ("My brother stayed at home and read about ships.", "Ann", "user", "Ada Lovelace"),
    ("Nobody saw the harbour of Oslo that year.", "Bob", "assistant", None),
    ("Did Ada Lovelace like the harbour?", "Cid", "user", None),
    ("She did, and so did we.", "Bob", "assistant", None),
)
# nothing is ranked by anything but what is looked at
SILENT: Final = {
    "store.path": ":memory:",
    "hygiene.near_duplicate.enabled": False,
    "signals.questions.enabled": True,
    "signals.rerank.enabled": True,
    "reranker.provider": "words",
    **{f"ranking.weights.{o}.{name}": 0.0 for o in ORIGINS for name in ("bias", *SIGNALS)},
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


def who_read(world: World) -> Any:
    """The model that a receipt names."""
    store = world.open()
    store.commit(SESSION[1][0], provenance={"origin_type": "chat_peer"})
    return store.recall(ASKED, receipt=True).receipt.reranked.model


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


def parts(signal: str) -> list[str]:
    return [name for name in SIGNALS if name.partition(".")[0] == signal]


def weighing(names: list[str], weight: float = 1.5) -> dict[str, Any]:
    return {**SILENT, **{f"ranking.weights.chat_peer.{name}": weight for name in names}}


def compared(*but: str) -> dict[str, Any]:
    """Every origin weighs words and meaning alone, and all but these have evidence."""
    terms = ("cosine", "lexical")
    return {
        **SILENT,
        **{f"ranking.weights.{o}.{name}": 1.5 for o in ORIGINS for name in terms},
        **{f"ranking.weights.{o}.evidence.best": 0.5 for o in ORIGINS if o not in but},
    }


def seen_together(world: World, origin: str = "chat_peer") -> Any:
    """Scores of memories of two origins."""
    store = world.open(embedder=TokenHashingEmbedder(64))
    other = next(name for name in ORIGINS if name != origin)
    for place, (text, author, _, _) in enumerate(SESSION):
        named = origin if place % 2 else other
        store.commit(text, author=author, provenance={"origin_type": named})
    found = store.recall(ASKED, limit=len(SESSION))
    return [(hit.content, round(hit.score, 9)) for hit in found]


def seen_in_a_sitting(world: World) -> Any:
    """Scores of notes that were written one after the other."""
    store = world.open(embedder=TokenHashingEmbedder(64))
    for text, *_ in SESSION:
        store.commit(text)
        world.clock.move(minutes=5)
    found = store.recall(ASKED, limit=len(SESSION))
    return [(hit.content, round(hit.score, 9)) for hit in found]


SIGNALLED: Final[dict[str, Act]] = {
    **{
        f"signals.{name}.enabled": Act(False, seen, weighing(parts(name)))
        for name in SWITCHES
        if name not in ("evidence", "sittings")
    },
    "signals.sittings.enabled": Act(
        False, seen_in_a_sitting, {**SILENT, "ranking.weights.note.context.soft": 1.5}
    ),
    "signals.evidence.enabled": Act(False, seen_together, compared()),
    "signals.rerank.pool": Act(1, seen, weighing(["rerank", "lexical"])),
    "reranker.provider": Act("longest-first", seen, weighing(["rerank"])),
    "reranker.model": Act("another", who_read, weighing(["rerank"])),
    "reranker.timeout_s": Act(0.01, degraded_when_slow, weighing(["rerank"])),
    "signals.late.pool": Act(1, seen, weighing([*parts("late"), "lexical"])),
    **{
        f"ranking.weights.{origin}.{name}": Act(1.5, partial(seen, origin=origin), SILENT)
        for origin in ORIGINS
        for name in ("bias", *SIGNALS)
    },
    **{
        f"ranking.weights.{origin}.{name}": Act(
            -1.5, partial(seen, origin=origin), {**SILENT, "signals.late.pool": 1}
        )
        for origin in ORIGINS
        for name in CANDIDATE_TERMS
    },
    **{
        f"ranking.weights.{origin}.{name}": Act(
            2.5, partial(seen_together, origin=origin), compared(origin)
        )
        for origin in ORIGINS
        for name in EVIDENCE
    },
}
