"""Code of the embedders that run a model of a Python package in this process."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from vestig.embedders.checked import EmbeddingSettings, float32_bytes, require_dimension, unit_bytes
from vestig.errors import ConfigError, ProviderError
from vestig.hints import missing_package


class LocalModelEmbedder(ABC):
    """A model of the package of `embedding.provider`, which is also its extra; loaded at first use.

    Args:
        settings: the `embedding` section.
        default: the model where `embedding.model` names none.

    Raises:
        ConfigError: the package is missing (at first use), or `embedding.dimension` is not the
            model's.
    """

    def __init__(self, settings: EmbeddingSettings, default: str) -> None:
        self._settings = settings
        self._name = default if settings.model is None else settings.model
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

    @abstractmethod
    def _constructor(self) -> Callable[[str], Any]:
        """Return what makes a model from its name. ImportError: the package is not installed."""

    @abstractmethod
    def _rows(self, model: Any, texts: list[str]) -> Iterable[Iterable[Any]]:
        """The numbers of each text."""

    def _encode(self, texts: list[str]) -> list[list[float]]:
        model = self._load()
        try:
            rows = list(self._rows(model, texts))
        except (RuntimeError, ValueError, OSError) as error:
            raise ProviderError(
                f'embedder "{self._name}": the model failed: {type(error).__name__}'
                f" (attempts: 1); check the installation of {self._settings.provider}"
            ) from error
        return [[float(value) for value in row] for row in rows]

    def _load(self) -> Any:
        with self._lock:
            if self._loaded is None:
                package = self._settings.provider
                try:
                    construct = self._constructor()
                except ImportError:
                    what = f'embedding.provider: "{package}"'
                    raise ConfigError(missing_package(what, package, package)) from None
                try:
                    self._loaded = construct(self._name)
                except (OSError, ValueError) as error:
                    raise ProviderError(
                        f'embedder "{self._name}": the model could not be loaded:'
                        f" {type(error).__name__} (attempts: 1); check embedding.model"
                    ) from error
            return self._loaded
