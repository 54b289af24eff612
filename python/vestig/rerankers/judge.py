"""The judge: a cross-encoder that reads a question and a memory together, in 8 bits, run by the
native core, offline.

Its weights come with this package and are checked against a pinned hash; its word vectors are those
of the built-in embedder. At first use the weights are packed into a file of the user's cache
folder, which every later process maps. Nothing is read before the first memory is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from vestig.embedders import packed_file
from vestig.embedders.builtin import BuiltinEmbedder, data_file, threads_for
from vestig.rerankers.cross_encoder import CrossEncoder, of_installation

if TYPE_CHECKING:
    from vestig import _core

WEIGHTS_SHA256: Final = "3a653b687bee3f4acc8e00abf5e757cba4f3d7439cf671e930fe1196fc2e95b3"
# Of the packed file of these weights.
NAME: Final = f"vestig-judge-1-{WEIGHTS_SHA256[:16]}"
_PINNED: Final = bytes.fromhex(WEIGHTS_SHA256)


class MemoryText(NamedTuple):
    """One memory as the judge reads it, part by part.

    Args:
        head: its day, `tuesday 3 march 2026 ·`.
        before: the last words of the turn before it; read as far as the others leave room.
        lead: who said it, or the title above it, `ada:`.
        text: what it says; of a long text the part is read that holds most of the question.
    """

    head: str
    before: str
    lead: str
    text: str


class Judge(CrossEncoder["_core.JudgeWeights"]):
    """Judgements of memories; the same bits on every machine, no network, thread-safe.

    The judgement of a memory does not depend on the other memories.

    Args:
        embedder: the one whose word vectors are read, or None for one of its own.
        threads_max: read memories at once on at most so many processors.

    Example:
        >>> day = "tuesday 3 march 2026 ·"
        >>> texts = ["I moved to Oslo in May.", "The cat sleeps all day."]
        >>> memories = [MemoryText(day, "", "ada:", text) for text in texts]
        >>> moved, sleeps = Judge().read("Where does Ada live?", memories)
        >>> moved > sleeps
        True
    """

    def __init__(self, embedder: BuiltinEmbedder | None = None, *, threads_max: int = 2) -> None:
        super().__init__(_weights, embedder, threads_max)

    def read(self, question: str, memories: Sequence[MemoryText]) -> list[tuple[float, float]]:
        """Two logits for each memory, in order; [] for [].

        The first says whether the memory answers the question, be it outdated or not; the second
        how well it answers beside others.

        Raises:
            ConfigError: weights or vocabulary are missing.
            ProviderError: weights or vocabulary are not the pinned ones.
        """
        if not memories:
            return []
        weights = self._loaded()
        threads = threads_for(len(memories), self._threads_max)

        def run(words: _core.PackedWeights, pieces: _core.WordPieces) -> list[tuple[float, float]]:
            return weights.read(words, pieces, question, memories, threads=threads)

        return self._embedder.with_weights(run)


def packed() -> _core.JudgeWeights:
    """The weights of the installation, packed in memory.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not the pinned one.
    """
    from vestig._core import JudgeWeights

    return JudgeWeights.pack(file(), _PINNED)


def _weights() -> _core.JudgeWeights:
    return packed_file.mapped(NAME, _map, _pack)


def _map(path: str) -> _core.JudgeWeights:
    from vestig._core import JudgeWeights

    return JudgeWeights.map(path, _PINNED)


def _pack() -> _core.JudgeWeights:
    return of_installation("the judge", file(), packed)


def file() -> str:
    """Path of the weights of the installation."""
    return data_file("judge_layers.bin")
