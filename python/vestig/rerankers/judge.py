"""The judge: a cross-encoder that reads a question and a memory together, in 8 bits, run by the
native core, offline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from vestig.embedders.builtin import BuiltinEmbedder
from vestig.rerankers.cross_encoder import Adapter, CrossEncoder

QUESTIONS: Final = Adapter(
    what="the judge",
    file="judge_adapter.bin",
    sha256="711ee746e7410c29cb2ec57fc5074c68d656611277112abe41f43944bfef2811",
    stem="vestig-judge-1",
    outputs=2,
)
# What is one of several things that are asked for, or helps with a task, reads unlike what answers
# a question.
LISTS: Final = Adapter(
    what="the judge of lists",
    file="list_judge_adapter.bin",
    sha256="562b68133fe08fb5bd5f05a069cb96676b9a9216822a6616812ea23492a8612a",
    stem="vestig-list-judge-1",
    outputs=2,
)
PROMPTS: Final = Adapter(
    what="the judge of prompts",
    file="prompt_judge_adapter.bin",
    sha256="b071d502b747b6b1d7f049c4ee6ef5d301af8ccd4c91b6cc74fbfa6908c8f70a",
    stem="vestig-prompt-judge-1",
    outputs=2,
)


class MemoryText(NamedTuple):
    """One memory as the judge reads it, part by part.

    Args:
        head: its day, `tuesday 3 march 2026 ·`.
        before: the last words of the turn before it; read as far as the others leave room.
        lead: who said it, or the title above it, `ada:`; beside a prompt, else the role.
        text: what it says; of a long text the part is read that holds most of the question.
    """

    head: str
    before: str
    lead: str
    text: str


class Judge(CrossEncoder):
    """Judgements of memories; the same bits on every machine, no network, thread-safe.

    The judgement of a memory does not depend on the other memories.

    Args:
        embedder: the one whose word vectors are read, or None for one of its own.
        adapter: `QUESTIONS`, or `LISTS` where they ask for several things, or `PROMPTS` for queries
            that ask nothing.
        threads_max: read memories at once on at most so many processors.

    Example:
        >>> day = "tuesday 3 march 2026 ·"
        >>> texts = ["I moved to Oslo in May.", "The cat sleeps all day."]
        >>> memories = [MemoryText(day, "", "ada:", text) for text in texts]
        >>> moved, sleeps = Judge().read("Where does Ada live?", memories)
        >>> moved > sleeps
        True
    """

    def __init__(
        self,
        embedder: BuiltinEmbedder | None = None,
        *,
        adapter: Adapter = QUESTIONS,
        threads_max: int = 2,
    ) -> None:
        super().__init__(adapter, embedder, threads_max)

    def read(self, question: str, memories: Sequence[MemoryText]) -> list[tuple[float, float]]:
        """Two logits for each memory, in order; [] for [].

        The first says whether the memory answers the question, be it outdated or not; the second
        how well it answers beside others.

        Raises:
            ConfigError: weights or vocabulary are missing.
            ProviderError: weights or vocabulary are not the pinned ones.
        """
        return self._read(
            memories,
            lambda weights, words, pieces, threads: weights.judge(
                words, pieces, question, memories, threads=threads
            ),
        )
