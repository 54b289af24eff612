"""sentence-transformers and fastembed, with stand-ins for the packages (extras)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from vestig.config.schema import EmbeddingSettings
from vestig.errors import ConfigError, ProviderError
from vestig.registry import make_embedder

VECTORS = {"a": [3.0, 4.0], "b": [0.0, 2.0], "dimension": [1.0, 0.0]}
seen: list[tuple[Any, ...]] = []


class SentenceTransformer:
    max_seq_length = 4

    def __init__(self, name: str) -> None:
        if name == "absent":
            raise OSError("no such model")
        seen.append(("load", name))

    def encode(self, texts: list[str], **options: Any) -> Any:
        if "fail" in texts:
            raise RuntimeError("out of memory")
        seen.append(("encode", tuple(texts), options["batch_size"]))
        return np.array([VECTORS[text] for text in texts], dtype=np.float32)

    def tokenizer(self, text: str, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": list(range(len(text.split()) + 2))}


class TextEmbedding:
    def __init__(self, model_name: str) -> None:
        if model_name == "absent":
            raise ValueError("no such model")
        seen.append(("load", model_name))

    def embed(self, texts: list[str], batch_size: int) -> Iterator[Any]:
        if "fail" in texts:
            raise RuntimeError("out of memory")
        seen.append(("encode", tuple(texts), batch_size))
        return (np.array(VECTORS[text], dtype=np.float32) for text in texts)


PACKAGES = {
    "sentence-transformers": ("sentence_transformers", SentenceTransformer),
    "fastembed": ("fastembed", TextEmbedding),
}


@pytest.fixture(params=sorted(PACKAGES))
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    module_name, model = PACKAGES[name]
    module = ModuleType(module_name)
    setattr(module, model.__name__, model)
    monkeypatch.setitem(sys.modules, module_name, module)
    seen.clear()
    return name


def test_embeds_and_normalises(provider: str) -> None:
    embedder = make_embedder(EmbeddingSettings(provider=provider, model="m"))
    assert seen == []
    a, b = embedder.embed(["a", "b"])
    assert memoryview(a).cast("f").tolist() == pytest.approx([0.6, 0.8])
    assert memoryview(b).cast("f").tolist() == [0.0, 1.0]
    assert embedder.dimensions == 2
    assert embedder.fingerprint == ""
    assert seen[0] == ("load", "m")
    assert embedder.embed([]) == []


def test_normalize_false(provider: str) -> None:
    embedder = make_embedder(EmbeddingSettings(provider=provider, normalize=False))
    assert memoryview(embedder.embed(["a"])[0]).cast("f").tolist() == [3.0, 4.0]


def test_other_dimension_is_refused(provider: str) -> None:
    embedder = make_embedder(EmbeddingSettings(provider=provider, dimension=3))
    with pytest.raises(ConfigError, match=r"embedding\.dimension: expected 2.*got 3"):
        embedder.embed(["a"])


def test_failures_are_provider_errors(provider: str) -> None:
    with pytest.raises(ProviderError, match=r"RuntimeError \(attempts: 1\)"):
        make_embedder(EmbeddingSettings(provider=provider, dimension=2)).embed(["fail"])
    with pytest.raises(ProviderError, match="could not be loaded"):
        make_embedder(EmbeddingSettings(provider=provider, model="absent")).embed(["a"])


def test_a_missing_package_names_the_command(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, PACKAGES[provider][0], None)
    embedder = make_embedder(EmbeddingSettings(provider=provider))
    with pytest.raises(ConfigError, match=rf"-m pip install -e '.*\[{provider}\]'$"):
        embedder.embed(["a"])


def test_window_of_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    embedder = make_embedder(EmbeddingSettings(provider="sentence-transformers"))
    assert [embedder.truncated(text) for text in ("a b", "a b c")] == [False, True]
