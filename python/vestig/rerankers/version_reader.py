"""The version reader: a cross-encoder that reads a question with an older and a newer memory
together, run by the native core, offline.

Its weights are those of the judge with a change of low rank, which comes with this package; all
files are checked against pinned hashes. At first use both are packed into a file of the user's
cache folder, which every later process maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from vestig.embedders import packed_file
from vestig.embedders.builtin import BuiltinEmbedder, data_file, threads_for
from vestig.rerankers import judge
from vestig.rerankers.cross_encoder import CrossEncoder, of_installation
from vestig.rerankers.judge import MemoryText

if TYPE_CHECKING:
    from vestig import _core

CHANGE_SHA256: Final = "a3948b5ba96835f9bb8cce81a0a93b6d2541e609410ca15c040e02af8eb7cedb"
# Of the packed file of these weights.
NAME: Final = f"vestig-versions-1-{CHANGE_SHA256[:16]}"
_PINNED: Final = bytes.fromhex(judge.WEIGHTS_SHA256), bytes.fromhex(CHANGE_SHA256)


class VersionReader(CrossEncoder["_core.VersionWeights"]):
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
        super().__init__(_weights, embedder, threads_max)

    def read(self, question: str, pairs: Sequence[tuple[MemoryText, MemoryText]]) -> list[float]:
        """The logit of each pair of an older and a newer memory, in order; [] for [].

        Raises:
            ConfigError: weights or vocabulary are missing.
            ProviderError: weights or vocabulary are not the pinned ones.
        """
        if not pairs:
            return []
        weights = self._loaded()
        threads = threads_for(len(pairs), self._threads_max)

        def run(words: _core.PackedWeights, pieces: _core.WordPieces) -> list[float]:
            return weights.read(words, pieces, question, pairs, threads=threads)

        return self._embedder.with_weights(run)


def packed() -> _core.VersionWeights:
    """The weights of the installation, packed in memory.

    Raises:
        OSError: a file cannot be read.
        ValueError: one is not the pinned one.
    """
    from vestig._core import VersionWeights

    return VersionWeights.pack(judge.file(), _path(), *_PINNED)


def _weights() -> _core.VersionWeights:
    return packed_file.mapped(NAME, _map, _pack)


def _map(path: str) -> _core.VersionWeights:
    from vestig._core import VersionWeights

    return VersionWeights.map(path, *_PINNED)


def _pack() -> _core.VersionWeights:
    return of_installation("the version reader", f"{judge.file()} and {_path()}", packed)


def _path() -> str:
    return data_file("version_change.bin")
