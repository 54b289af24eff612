"""The version reader: a cross-encoder that reads a question with an older and a newer memory
together, run by the native core, offline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vestig.embedders.builtin import BuiltinEmbedder
from vestig.rerankers.cross_encoder import Adapter, CrossEncoder
from vestig.rerankers.judge import MemoryText

ADAPTER: Final = Adapter(
    what="the version reader",
    file="version_adapter.bin",
    sha256="ba0039a49d62dc334491989144fc6a15c7437f79a5b2188460e4c735c85ee1e1",
    stem="vestig-versions-1",
    outputs=1,
)


class VersionReader(CrossEncoder):
    """Logits that a newer memory takes the place of an older one; the same bits on every machine,
    no network, thread-safe.

    The logit of a pair does not depend on the other pairs.

    Args:
        embedder: the one whose word vectors are read, or None for one of its own.
        threads_max: read pairs at once on at most so many processors.

    Example:
        >>> day, later = "tuesday 3 march 2026 ·", "friday 5 june 2026 ·"
        >>> lives = MemoryText(day, "", "", "Ada lives in Bergen.")
        >>> moved = MemoryText(later, "", "ada:", "I have moved to Oslo.")
        >>> sister = MemoryText(later, "", "ada:", "My sister lives in Oslo.")
        >>> pairs = [(lives, moved), (lives, sister)]
        >>> takes, stays = VersionReader().read("Where does Ada live?", pairs)
        >>> takes > 0 > stays
        True
    """

    def __init__(self, embedder: BuiltinEmbedder | None = None, *, threads_max: int = 2) -> None:
        super().__init__(ADAPTER, embedder, threads_max)

    def read(self, question: str, pairs: Sequence[tuple[MemoryText, MemoryText]]) -> list[float]:
        """The logit of each pair of an older and a newer memory, in order; [] for [].

        Raises:
            ConfigError: weights or vocabulary are missing.
            ProviderError: weights or vocabulary are not the pinned ones.
        """
        return self._read(
            pairs,
            lambda weights, words, pieces, threads: weights.compare(
                words, pieces, question, pairs, threads=threads
            ),
        )
