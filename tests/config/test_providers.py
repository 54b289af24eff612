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

Loader = Callable[..., Config]

LAYERS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "user": lambda key, name: {"user": f"{key}: '{name}'\n"},
    "project": lambda key, name: {"project": f"{key}: '{name}'\n"},
    "environment": lambda key, name: {"env": {"VESTIG_" + key.upper().replace(".", "__"): name}},
    "call": lambda key, name: {"overrides": {key: name}},
}


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
