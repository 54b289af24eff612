"""A provider is the name of an entry point, whoever names it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.config import Config
from vestig.errors import ConfigError
from vestig.surfaces.cli.opening import open_store

Loader = Callable[..., Config]

LAYERS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "user": lambda key, name: {"user": f"{key}: '{name}'\n"},
    "project": lambda key, name: {"project": f"{key}: '{name}'\n"},
    "environment": lambda key, name: {"env": {"VESTIG_" + key.upper().replace(".", "__"): name}},
    "call": lambda key, name: {"overrides": {key: name}},
}


@pytest.mark.parametrize(
    "text",
    [
        "embedding: {provider: '${SECRET}'}\n",
        "embedding: {model: '${SECRET}'}\n",
        "embedding: {provider: openai, model: m, base_url: '${SECRET}'}\n",
        "reranker: {provider: '${SECRET}'}\n",
        "reranker: {provider: onnx, model: '${SECRET}'}\n",
    ],
)
def test_no_provider_prints_what_came_from_a_variable(
    loaded: Loader, home: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Neither `open` nor a command."""
    monkeypatch.setenv("SECRET", "hush-Hush-1")
    file = home / "project" / "vestig.yaml"
    config: Any = loaded(text, env={"SECRET": "hush-Hush-1"})
    for act in (
        lambda: vestig.open(str(home / "store"), config=config),
        lambda: vestig.open(str(home / "store"), config=file),
        lambda: open_store(config),
    ):
        with pytest.raises(ConfigError) as caught:
            act()
        assert "hush" not in str(caught.value)
    assert not (home / "store").exists()


@pytest.mark.parametrize("layer", sorted(LAYERS))
@pytest.mark.parametrize("key", ["embedding.provider", "reranker.provider"])
@pytest.mark.parametrize(
    "name", ["spy_module:make", "os:system", "vestig.testing:hashing_embedder", "spy_module"]
)
def test_an_import_path_is_an_unknown_provider(
    loaded: Loader,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    layer: str,
    key: str,
    name: str,
) -> None:
    (home / "spy_module.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(home))
    config: Any = loaded(**LAYERS[layer](key, name))
    with pytest.raises(ConfigError) as caught:
        vestig.open(str(home / "store"), config=config)
    assert f"{key}: expected one of " in str(caught.value)
    assert f'got "{name}"; the nearest is "' in str(caught.value)
    assert "spy_module" not in sys.modules
    assert not (home / "store").exists()
