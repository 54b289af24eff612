"""Models of the fastembed package (extra `fastembed`)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from vestig.config.vendors import forbid_telemetry
from vestig.embedders.checked import float32_bytes, unit_bytes
from vestig.embedders.settings import EmbeddingSettings, missing_package, require_dimension
from vestig.errors import ProviderError

__all__ = ["FastEmbedEmbedder"]

DEFAULT_MODEL: Final = "BAAI/bge-small-en-v1.5"


class FastEmbedEmbedder:
    """A local fastembed model; loaded at first use.

    Raises:
        ConfigError: the package is missing (at first use), or `embedding.dimension` is not the
            model's.
    """

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._name = DEFAULT_MODEL if settings.model is None else settings.model
        self._lock = threading.Lock()
        self._loaded: Any = None
        self._dimensions = settings.dimension

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Length of a vector; loads the model when `embedding.dimension` is not set."""
        if self._dimensions is None:
            (vector,) = self._encode(["dimension"])
            self._dimensions = len(vector)
        return self._dimensions

    @property
    def fingerprint(self) -> str:
        """ "" : the package gives no hash of its weights."""
        return ""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One float32 little-endian vector per text; [] for [].

        Raises:
            ProviderError: the model failed.
        """
        if not texts:
            return []
        pack = unit_bytes if self._settings.normalize else float32_bytes
        vectors = self._encode(list(texts))
        if vectors:
            require_dimension(self._settings, self._name, len(vectors[0]))
            self._dimensions = len(vectors[0])
        return [pack(vector) for vector in vectors]

    def truncated(self, text: str) -> bool:  # noqa: ARG002 - the port's signature
        """False: the package does not say what it cuts; `embedding.max_length` cuts before."""
        return False

    def _encode(self, texts: list[str]) -> list[list[float]]:
        model = self._load()
        try:
            # one text a run: a padded batch would change the vectors of its shorter texts
            rows = list(model.embed(texts, batch_size=1))
        except (RuntimeError, ValueError, OSError) as error:
            raise ProviderError(
                f'embedder "{self._name}": the model failed: {type(error).__name__}'
                " (attempts: 1); check the installation of fastembed"
            ) from error
        return [[float(value) for value in row] for row in rows]

    def _load(self) -> Any:
        with self._lock:
            if self._loaded is None:
                forbid_telemetry()
                try:
                    from fastembed import TextEmbedding
                except ImportError:
                    raise missing_package("fastembed", "fastembed", "vestig[fastembed]") from None
                try:
                    self._loaded = TextEmbedding(model_name=self._name)
                except (OSError, ValueError) as error:
                    raise ProviderError(
                        f'embedder "{self._name}": the model could not be loaded:'
                        f" {type(error).__name__} (attempts: 1); check embedding.model"
                    ) from error
            return self._loaded
