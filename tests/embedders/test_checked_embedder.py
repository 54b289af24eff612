"""Checks of every embedder's vectors, and the registry that makes embedders."""

from __future__ import annotations

import math
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tables import each
from vestig import registry
from vestig.config.schema import EmbeddingSettings
from vestig.embedders.checked import CheckedEmbedder, float32_bytes, unit_bytes
from vestig.errors import ConfigError, ProviderError, ProviderTimeoutError, ValidationError
from vestig.registry import SHIPPED, make_embedder
from vestig.testing import FailingEmbedder, HashingEmbedder, ScriptedEmbedder


@each(
    ("mode", "message"),
    [
        ("nan", "vector 0 of the call holds NaN or infinity"),
        ("inf", "vector 0 of the call holds NaN or infinity"),
        ("short", "expected 256 dimensions, vector 0 of the call has 255"),
        ("long", "expected 256 dimensions, vector 0 of the call has 257"),
        ("count", "expected 2 vectors for 2 texts, got 1"),
        ("error", "the provider failed"),
    ],
)
def test_bad_vectors_are_provider_errors(mode: str, message: str) -> None:
    with pytest.raises(ProviderError, match=message):
        CheckedEmbedder(FailingEmbedder(mode)).embed(["first secret text", "second"])


def test_messages_hold_no_text() -> None:
    for mode in FailingEmbedder.MODES:
        with pytest.raises(ProviderError) as caught:
            CheckedEmbedder(FailingEmbedder(mode)).embed(["marker-text", "second"])
        assert "marker" not in str(caught.value)


def test_a_later_bad_value_is_found() -> None:
    vectors = {"good": [0.5, 0.5], "bad": [1.0, -math.inf], "worse": [math.inf, -math.inf]}
    for text in ("bad", "worse"):
        with pytest.raises(ProviderError, match="vector 1"):
            CheckedEmbedder(ScriptedEmbedder(vectors)).embed(["good", text])


def test_timeout_keeps_its_type() -> None:
    with pytest.raises(ProviderTimeoutError):
        CheckedEmbedder(FailingEmbedder("timeout")).embed(["text"])


def test_batch_size_bounds_a_call() -> None:
    inner = ScriptedEmbedder({}, default=[1.0])
    assert len(CheckedEmbedder(inner, batch_size=2).embed(list("abcde"))) == 5
    assert inner.calls == [("a", "b"), ("c", "d"), ("e",)]


def test_an_empty_batch_makes_no_call() -> None:
    inner = FailingEmbedder("error")
    assert CheckedEmbedder(inner).embed([]) == []
    assert inner.call_count == 0


def test_lone_surrogate_is_refused() -> None:
    with pytest.raises(ValidationError, match="lone surrogate"):
        CheckedEmbedder(HashingEmbedder()).embed(["fine", "broken \ud800"])


def test_dimension_above_8192_is_refused() -> None:
    with pytest.raises(ConfigError, match="8193"):
        _ = CheckedEmbedder(HashingEmbedder(8193)).dimensions
    assert CheckedEmbedder(HashingEmbedder(8192)).dimensions == 8192


def test_unit_bytes() -> None:
    assert unit_bytes([0.0, 0.0]) == float32_bytes([0.0, 0.0])
    assert memoryview(unit_bytes([1e300, 1e300])).cast("f").tolist() != [0.0, 0.0]
    assert len(float32_bytes([])) == 0


# --- registry ------------------------------------------------------------------------------


def test_shipped_names_equal_the_entry_points() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    points = tomllib.loads(project.read_text())["project"]["entry-points"][registry.GROUP]
    assert points == dict(SHIPPED)


@pytest.mark.parametrize("provider", sorted(SHIPPED))
def test_every_shipped_provider_is_made(provider: str) -> None:
    model = None if provider == "builtin" else "some-model"
    made = make_embedder(EmbeddingSettings(provider=provider, model=model, dimension=384))
    assert made.dimensions == 384
    assert made.model in (model, "vestig-minilm-1", "hashing-384-0")


def test_unknown_provider_names_the_known_and_the_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "_installed", lambda _group: {})
    with pytest.raises(ConfigError) as caught:
        make_embedder(EmbeddingSettings(provider="fastembd"))
    message = str(caught.value)
    assert message.startswith(
        "embedding.provider: expected one of builtin, fastembed, hashing, openai"
    )
    assert message.endswith('got "fastembd"; the nearest is "fastembed"')


def test_entry_point_of_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        registry, "_installed", lambda _group: {"theirs": "vestig.testing:hashing_embedder"}
    )
    assert make_embedder(EmbeddingSettings(provider="theirs", dimension=8)).dimensions == 8
    with pytest.raises(ConfigError, match=r'expected one of .*theirs.*the nearest is "theirs"'):
        make_embedder(EmbeddingSettings(provider="their"))


@pytest.mark.parametrize(
    "target", ["no.such.module:X", "vestig.testing:Missing", "vestig.testing:__all__", ":x", "a:"]
)
def test_an_entry_point_that_leads_nowhere(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setattr(registry, "_installed", lambda _group: {"theirs": target})
    with pytest.raises(ConfigError, match=r'embedding\.provider: expected "theirs"'):
        make_embedder(EmbeddingSettings(provider="theirs"))


def test_something_that_is_no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_installed", lambda _group: {"list": "builtins:list"})

    def named(_: Any) -> list[int]:
        return []

    monkeypatch.setattr(registry, "_attribute", lambda *_: named)
    with pytest.raises(ConfigError, match="got list"):
        make_embedder(EmbeddingSettings(provider="list"))


def test_settings_reach_the_checks() -> None:
    made = make_embedder(EmbeddingSettings(provider="hashing", dimension=8, batch_size=1))
    made.embed(["one", "two"])
    assert made.inner.call_count == 2  # type: ignore[attr-defined]


def test_shipped_provider_scans_no_metadata_and_loads_no_vendor() -> None:
    code = (
        "import sys; from vestig.registry import make_embedder;"
        "from vestig.config.schema import EmbeddingSettings;"
        "make_embedder(EmbeddingSettings());"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'importlib.metadata', 'http.client'}"
        " & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pieces_are_counted_where_the_embedder_can() -> None:
    class Counting(HashingEmbedder):
        def count_pieces(self, text: str) -> int:
            return len(text.split())

    assert CheckedEmbedder(Counting()).count_pieces("one two three") == 3
    assert CheckedEmbedder(HashingEmbedder()).count_pieces("one two three") is None
