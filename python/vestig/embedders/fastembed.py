"""Models of the fastembed package (extra `fastembed`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from vestig.config.environment import forbid_telemetry
from vestig.embedders.checked import EmbeddingSettings, LocalModelEmbedder

DEFAULT_MODEL: Final = "BAAI/bge-small-en-v1.5"


class FastEmbedEmbedder(LocalModelEmbedder):
    """A local fastembed model; loaded at first use.

    Raises:
        ConfigError: the package is missing (at first use), or `embedding.dimension` is not the
            model's.
    """

    def __init__(self, settings: EmbeddingSettings) -> None:
        super().__init__(settings, DEFAULT_MODEL)

    def truncated(self, text: str) -> bool:  # noqa: ARG002 - the port's signature
        """False: the package does not say what it cuts."""
        return False

    def _constructor(self) -> Callable[[str], Any]:
        forbid_telemetry()
        from fastembed import TextEmbedding

        made: Callable[[str], Any] = TextEmbedding
        return made

    def _rows(self, model: Any, texts: list[str]) -> Iterable[Iterable[Any]]:
        # one text a run: a padded batch would change the vectors of its shorter texts
        rows: Iterable[Iterable[Any]] = model.embed(texts, batch_size=1)
        return rows
