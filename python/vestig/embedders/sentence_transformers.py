"""Models of the sentence-transformers package (extra `sentence-transformers`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from vestig.embedders.checked import EmbeddingSettings, LocalModelEmbedder

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"


class SentenceTransformersEmbedder(LocalModelEmbedder):
    """A local sentence-transformers model; loaded at first use.

    Raises:
        ConfigError: the package is missing (at first use), or `embedding.dimension` is not the
            model's.
    """

    def __init__(self, settings: EmbeddingSettings) -> None:
        super().__init__(settings, DEFAULT_MODEL)

    def truncated(self, text: str) -> bool:
        """Return whether the text is longer than the model's window."""
        model = self._load()
        window = getattr(model, "max_seq_length", None)
        if window is None:
            return False
        pieces: list[int] = model.tokenizer(text, truncation=False)["input_ids"]
        return len(pieces) > int(window)

    def _constructor(self) -> Callable[[str], Any]:
        from sentence_transformers import SentenceTransformer

        made: Callable[[str], Any] = SentenceTransformer
        return made

    def _rows(self, model: Any, texts: list[str]) -> Iterable[Iterable[Any]]:
        rows: Iterable[Iterable[Any]] = model.encode(
            texts, batch_size=self._settings.batch_size, show_progress_bar=False
        )
        return rows
