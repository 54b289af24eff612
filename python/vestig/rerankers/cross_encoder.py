"""The common part of the judge and the version reader: weights that are read together with the
word vectors of the built-in embedder.

All cross-encoders have the same layers and each an adapter, which come with this package and are
checked against pinned hashes. At first use both are packed into a file of the user's cache folder,
which every later process maps. Nothing is read before the first text is.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Protocol, TypeVar

from vestig.embedders import packed_file
from vestig.embedders.builtin import BuiltinEmbedder, data_file
from vestig.errors import ConfigError, ProviderError

if TYPE_CHECKING:
    from vestig.embedders.packed_file import Packed

LAYERS_SHA256: Final = "3a653b687bee3f4acc8e00abf5e757cba4f3d7439cf671e930fe1196fc2e95b3"

_W = TypeVar("_W", bound="Packed")
_W_co = TypeVar("_W_co", bound="Packed", covariant=True)


class WeightsType(Protocol[_W_co]):
    """A type of weights of the core."""

    def map(self, path: str, layers: bytes, adapter: bytes) -> _W_co:
        """Maps the packed file of the files with these hashes."""
        ...

    def pack(self, layers_file: str, adapter_file: str, layers: bytes, adapter: bytes) -> _W_co:
        """Packs in memory the files with these hashes."""
        ...


class Adapter(NamedTuple):
    """The weights by which one model differs from the layers.

    Attributes:
        what: the model, as messages name it.
        file: name of the adapter among the package's data.
        sha256: of that file.
        stem: of the name of the packed file.
    """

    what: str
    file: str
    sha256: str
    stem: str

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

    def packed(self, weights: WeightsType[_W]) -> _W:
        """The weights of the installation, packed in memory.

        Raises:
            ConfigError: a file cannot be read.
            ProviderError: one is not the pinned one.
        """
        layers, adapter = self.paths()
        try:
            return weights.pack(layers, adapter, *self.hashes)
        except OSError as error:
            raise ConfigError(
                f"{self.what}: expected weights at {layers} and {adapter}, reading failed:"
                f" {error.strerror}; install vestig again"
            ) from error
        except ValueError as error:
            raise ProviderError(f"{self.what}: {error}; install vestig again") from error

    def mapped(self, weights: WeightsType[_W]) -> _W:
        """The weights in the file of the user's cache folder, which is made where there is none.

        Raises:
            ConfigError: a file cannot be read.
            ProviderError: one is not the pinned one.
        """
        return packed_file.mapped(
            self.name,
            lambda path: weights.map(path, *self.hashes),
            lambda: self.packed(weights),
        )


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
