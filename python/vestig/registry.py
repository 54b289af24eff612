"""The registry: makes the embedder, reranker or language model that a provider's name stands for,
shipped ones and those of other packages alike.

A package offers an embedder under the entry-point group `vestig.embedders`; the object it
names is called with the `embedding` settings. A provider is the name of such an entry point and
never a path to import: what a configuration says must not decide which code runs.

The names of this package are its own: they are known here, and entry points are looked up for
other names only. What another package offers under one of them is not used, and `doctor` names it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from vestig.embedders.checked import CheckedEmbedder, EmbeddingSettings, checked_embedder
from vestig.errors import ConfigError
from vestig.other_words import nearest
from vestig.ports import (
    Embedder,
    LanguageModel,
    LanguageModelSettings,
    Reranker,
    RerankerSettings,
    lacking,
)

GROUP: Final = "vestig.embedders"

RERANKERS: Final = "vestig.rerankers"
SHIPPED_RERANKERS: Final[Mapping[str, str]] = MappingProxyType(
    {"onnx": "vestig.rerankers.onnx:OnnxReranker"}
)

LLMS: Final = "vestig.llms"
SHIPPED_LLMS: Final[Mapping[str, str]] = MappingProxyType(
    {"anthropic": "vestig.llms.anthropic:AnthropicModel"}
)
_NO_MODEL: Final = "none"

# The entry points of this package, known without reading the metadata of every installed
# package (which takes longer than opening a store). A test holds them equal to pyproject.toml.
SHIPPED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "builtin": "vestig.embedders.builtin:BuiltinEmbedder",
        "openai": "vestig.embedders.openai:OpenAIEmbedder",
        "sentence-transformers": (
            "vestig.embedders.sentence_transformers:SentenceTransformersEmbedder"
        ),
        "fastembed": "vestig.embedders.fastembed:FastEmbedEmbedder",
        "hashing": "vestig.testing:hashing_embedder",
    }
)


def make_embedder(settings: EmbeddingSettings) -> Embedder:
    """The embedder that `embedding.provider` names, its answers checked.

    No model is loaded and no request is made here.

    Args:
        settings: the `embedding` section.

    Raises:
        ConfigError: unknown provider, or settings it cannot use.

    Example:
        >>> from vestig.config.schema import EmbeddingSettings
        >>> make_embedder(EmbeddingSettings()).model
        'vestig-minilm-1'
    """
    return checked(_made(_EMBEDDERS, settings.provider, settings), settings)


def make_reranker(settings: RerankerSettings) -> Reranker | None:
    """The reranker that `reranker.provider` names; None for null. No model is read here.

    A package offers one under the entry-point group `vestig.rerankers`; the object it names is
    called with the `reranker` settings.

    Raises:
        ConfigError: unknown provider, or settings it cannot use.

    Example:
        >>> from vestig.config.schema import RerankerSettings
        >>> print(make_reranker(RerankerSettings()))
        None
    """
    if settings.provider is None:
        return None
    made: Reranker = _made(_RERANKERS, settings.provider, settings)
    return made


def make_language_model(settings: LanguageModelSettings) -> LanguageModel | None:
    """The language model that `llm.provider` names; None for `none`. Nothing of its package is
    imported and nothing is sent here.

    A package offers one under the entry-point group `vestig.llms`; the object it names is called
    with the `llm` settings.

    Raises:
        ConfigError: unknown provider, or settings it cannot use.

    Example:
        >>> from vestig.config.service_sections import LlmSettings
        >>> print(make_language_model(LlmSettings()))
        None
    """
    if settings.provider == _NO_MODEL:
        return None
    made: LanguageModel = _made(_LANGUAGE_MODELS, settings.provider, settings)
    return made


def checked(embedder: Embedder, settings: EmbeddingSettings | None = None) -> Embedder:
    """Any embedder with its vectors checked; a checked one as it is.

    With `settings`, batches are cut to `embedding.batch_size`.

    Example:
        >>> from vestig.testing import FailingEmbedder
        >>> checked(FailingEmbedder("nan")).embed(["text"])
        Traceback (most recent call last):
            ...
        vestig.errors.ProviderError: embedder "failing": expected finite numbers, vector 0 of \
the call holds NaN or infinity; check the provider
    """
    if isinstance(embedder, CheckedEmbedder):
        return embedder
    if settings is None:
        return checked_embedder(embedder)
    return checked_embedder(embedder, batch_size=settings.batch_size)


def unused_entry_points() -> list[str]:
    """Return what installed packages offer under a name of this package, as `name = value (group)`.

    Example:
        >>> unused_entry_points()
        []
    """
    kinds = {kind.group: kind for kind in (_EMBEDDERS, _RERANKERS, _LANGUAGE_MODELS)}
    return [
        f"{name} = {value} ({group})"
        for group, name, value in _entry_points(*kinds)
        if name in kinds[group].absent or kinds[group].shipped.get(name, value) != value
    ]


class _Kind(NamedTuple):
    """A kind of provider: its entry-point group, the shipped ones, its configuration key."""

    group: str
    shipped: Mapping[str, str]
    key: str
    what: str
    port: type
    # names that stand for nothing
    absent: tuple[str, ...] = ()


_EMBEDDERS: Final = _Kind(
    GROUP,
    SHIPPED,
    "embedding.provider",
    "an embedder",
    Embedder,
)
_RERANKERS: Final = _Kind(RERANKERS, SHIPPED_RERANKERS, "reranker.provider", "a reranker", Reranker)
_LANGUAGE_MODELS: Final = _Kind(
    LLMS,
    SHIPPED_LLMS,
    "llm.provider",
    "a language model",
    LanguageModel,
    (_NO_MODEL,),
)


def _made(kind: _Kind, provider: str, settings: object) -> Any:
    """The object that a provider makes of these settings, which has what the port asks for."""
    made = _factory(kind, provider)(settings)
    if missing := lacking(made, kind.port):
        raise ConfigError(
            f'{kind.key}: expected "{provider}" to make {kind.what}, got {type(made).__name__},'
            f" which lacks {', '.join(missing)}; correct the package that offers it"
        )
    return made


def _factory(kind: _Kind, provider: str) -> Callable[[Any], Any]:
    if provider in kind.shipped:
        return _attribute(kind, kind.shipped[provider], provider)
    installed = _installed(kind.group)
    if provider not in installed:
        raise _unknown(kind, provider, sorted({*kind.absent, *kind.shipped, *installed}))
    return _attribute(kind, installed[provider], provider)


def _installed(group: str) -> dict[str, str]:
    return {name: value for _, name, value in _entry_points(group)}


def _entry_points(*groups: str) -> list[tuple[str, str, str]]:
    """(group, name, value) of what installed packages offer. Slow: the metadata of all of them is
    read."""
    from importlib.metadata import entry_points

    found = entry_points()
    return [(group, one.name, one.value) for group in groups for one in found.select(group=group)]


def _attribute(kind: _Kind, target: str, provider: str) -> Callable[[Any], Any]:
    module_name, _, path = target.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f'{kind.key}: expected "{provider}" to name {kind.what}, {target} could not'
            f" be loaded: {type(error).__name__}; install the package that offers it"
        ) from error
    if not callable(found):
        raise ConfigError(
            f'{kind.key}: expected "{provider}" to name something that makes {kind.what},'
            f" {target} is {type(found).__name__}"
        )
    factory: Callable[[Any], Any] = found
    return factory


def _unknown(kind: _Kind, provider: str, known: list[str]) -> ConfigError:
    near = nearest(provider, known)
    hint = f'; the nearest is "{near}"' if near else ""
    return ConfigError(f'{kind.key}: expected one of {", ".join(known)}, got "{provider}"{hint}')
