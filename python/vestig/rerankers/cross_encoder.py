"""The common part of the judge and the version reader: weights that are read together with the
word vectors of the built-in embedder.

All cross-encoders have the same layers and each an adapter, which come with this package and are
checked against pinned hashes. At first use both are packed into a file of the user's cache folder,
which every later process maps. Nothing is read before the first text is.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from vestig.embedders import packed_file
from vestig.embedders.builtin import BuiltinEmbedder, data_file, threads_for
from vestig.errors import ConfigError, ProviderError

if TYPE_CHECKING:
    from vestig import _core

LAYERS_SHA256: Final = "3a653b687bee3f4acc8e00abf5e757cba4f3d7439cf671e930fe1196fc2e95b3"

_T = TypeVar("_T")


class Adapter(NamedTuple):
    """The weights by which one model differs from the layers.

    Attributes:
        what: the model, as messages name it.
        file: name of the adapter among the package's data.
        sha256: of that file.
        stem: of the name of the packed file.
        outputs: numbers that it gives for what it reads.
    """

    what: str
    file: str
    sha256: str
    stem: str
    outputs: int

    @property
    def name(self) -> str:
        """Name of the packed file."""
        return f"{self.stem}-{self.sha256[:16]}"

    @property
    def hashes(self) -> tuple[bytes, bytes]:
        """SHA-256 of the layers and of the adapter."""
        return bytes.fromhex(LAYERS_SHA256), bytes.fromhex(self.sha256)

    def paths(self) -> tuple[str, str]:
        """Where the layers and the adapter of the installation lie."""
        return data_file("cross_encoder_layers.bin"), data_file(self.file)

    def packed(self) -> _core.CrossEncoderWeights:
        """The weights of the installation, packed in memory.

        Raises:
            ConfigError: a file cannot be read.
            ProviderError: one is not the pinned one.
        """
        from vestig._core import CrossEncoderWeights

        layers, adapter = self.paths()
        try:
            return CrossEncoderWeights.pack(layers, adapter, *self.hashes, self.outputs)
        except OSError as error:
            raise ConfigError(
                f"{self.what}: expected weights at {layers} and {adapter}, reading failed:"
                f" {error.strerror}; install vestig again"
            ) from error
        except ValueError as error:
            raise ProviderError(f"{self.what}: {error}; install vestig again") from error

    def mapped(self) -> _core.CrossEncoderWeights:
        """The weights in the file of the user's cache folder, which is made where there is none.

        Raises:
            ConfigError: a file cannot be read.
            ProviderError: one is not the pinned one.
        """
        from vestig._core import CrossEncoderWeights

        return packed_file.mapped(
            self.name,
            lambda path: CrossEncoderWeights.map(path, *self.hashes, self.outputs),
            self.packed,
        )


class CrossEncoder:
    """A model of the core that reads two texts together; its weights are read at first use.

    Args:
        adapter: which model it is.
        embedder: the one whose word vectors are read, or None for one of its own.
        threads_max: read texts at once on at most so many processors.
    """

    def __init__(
        self, adapter: Adapter, embedder: BuiltinEmbedder | None, threads_max: int
    ) -> None:
        self._embedder = embedder or BuiltinEmbedder()
        self._threads_max = threads_max
        self._lock = allocate_lock()
        self._adapter = adapter
        self._weights: _core.CrossEncoderWeights | None = None

    def load(self) -> None:
        """Reads the weights and the vocabulary, where they are not read yet.

        Raises:
            ConfigError: they are missing.
            ProviderError: they are not the pinned ones.
        """
        self._loaded()
        self._embedder.with_weights(lambda *_: None)

    def _loaded(self) -> _core.CrossEncoderWeights:
        with self._lock:
            if self._weights is None:
                self._weights = self._adapter.mapped()
            return self._weights

    def _read(
        self,
        texts: Sequence[object],
        run: Callable[
            [_core.CrossEncoderWeights, _core.PackedWeights, _core.WordPieces, int], list[_T]
        ],
    ) -> list[_T]:
        """Return what `run` makes of the weights, the word vectors, the pieces and a number of
        threads; [] for no texts."""
        if not texts:
            return []
        weights = self._loaded()
        threads = threads_for(len(texts), self._threads_max)
        return self._embedder.with_weights(
            lambda words, pieces: run(weights, words, pieces, threads)
        )
