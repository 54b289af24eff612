"""Models of the sentence-transformers package (extra `sentence-transformers`)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from vestig.embedders.checked import float32_bytes, unit_bytes
from vestig.embedders.settings import EmbeddingSettings, missing_package, require_dimension
from vestig.errors import ProviderError

__all__ = ["SentenceTransformersEmbedder"]

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"


class SentenceTransformersEmbedder:
    """A local sentence-transformers model; loaded at first use.

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

    def truncated(self, text: str) -> bool:
        """Whether the text is longer than the model's window."""
        model = self._load()
        window = getattr(model, "max_seq_length", None)
        if window is None:
            return False
        pieces: list[int] = model.tokenizer(text, truncation=False)["input_ids"]
        return len(pieces) > int(window)

    def _encode(self, texts: list[str]) -> list[list[float]]:
        model = self._load()
        try:
            rows = model.encode(
                texts, batch_size=self._settings.batch_size, show_progress_bar=False
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise ProviderError(
                f'embedder "{self._name}": the model failed: {type(error).__name__}'
                " (attempts: 1); check the installation of sentence-transformers"
            ) from error
        return [[float(value) for value in row] for row in rows]

    def _load(self) -> Any:
        with self._lock:
            if self._loaded is None:
                try:
                    from sentence_transformers import SentenceTransformer
                except ImportError:
                    raise missing_package(
                        "sentence-transformers",
                        "sentence-transformers",
                        "vestig[sentence-transformers]",
                    ) from None
                try:
                    self._loaded = SentenceTransformer(self._name)
                except (OSError, ValueError) as error:
                    raise ProviderError(
                        f'embedder "{self._name}": the model could not be loaded:'
                        f" {type(error).__name__} (attempts: 1); check embedding.model"
                    ) from error
            return self._loaded
