"""The common part of the judge and the version reader: weights that are read together with the
word vectors of the built-in embedder."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable
from typing import Generic, TypeVar

from vestig.embedders.builtin import BuiltinEmbedder
from vestig.errors import ConfigError, ProviderError

_W = TypeVar("_W")


class CrossEncoder(Generic[_W]):
    """A model of the core that reads two texts together; its weights are read at first use.

    Args:
        weights: reads them.
        embedder: the one whose word vectors are read, or None for one of its own.
        threads_max: read texts at once on at most so many processors.
    """

    def __init__(
        self, weights: Callable[[], _W], embedder: BuiltinEmbedder | None, threads_max: int
    ) -> None:
        self._embedder = embedder or BuiltinEmbedder()
        self._threads_max = threads_max
        self._lock = allocate_lock()
        self._read_weights = weights
        self._weights: _W | None = None

    def load(self) -> None:
        """Reads the weights and the vocabulary, where they are not read yet.

        Raises:
            ConfigError: they are missing.
            ProviderError: they are not the pinned ones.
        """
        self._loaded()
        self._embedder.with_weights(lambda *_: None)

    def _loaded(self) -> _W:
        with self._lock:
            if self._weights is None:
                self._weights = self._read_weights()
            return self._weights


def of_installation(what: str, files: str, packed: Callable[[], _W]) -> _W:
    """Return the weights of the installation, packed in memory.

    Args:
        what: the model, as messages name it.
        files: where they lie.
        packed: packs them.

    Raises:
        ConfigError: a file cannot be read.
        ProviderError: one is not the pinned one.
    """
    try:
        return packed()
    except OSError as error:
        raise ConfigError(
            f"{what}: expected weights at {files}, reading failed: {error.strerror}; install"
            " vestig again"
        ) from error
    except ValueError as error:
        raise ProviderError(f"{what}: {error}; install vestig again") from error
