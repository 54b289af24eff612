"""The part of the `embedding` section that embedders read."""

from __future__ import annotations

from typing import Protocol

from vestig.errors import ConfigError


class EmbeddingSettings(Protocol):
    """The settings from which an embedder is made. None = the default of the model."""

    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str | None: ...
    @property
    def dimension(self) -> int | None: ...
    @property
    def normalize(self) -> bool: ...
    @property
    def timeout_s(self) -> float: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def base_url(self) -> str | None: ...
    @property
    def api_key_env(self) -> str | None: ...


def require_dimension(settings: EmbeddingSettings, model: str, own: int) -> None:
    """Refuses a configured dimension that the model does not have.

    Raises:
        ConfigError: `embedding.dimension` is set and is not `own`.
    """
    if settings.dimension is not None and settings.dimension != own:
        raise ConfigError(
            f"embedding.dimension: expected {own}, the dimension of {model},"
            f" got {settings.dimension}; remove embedding.dimension or choose another model"
        )
