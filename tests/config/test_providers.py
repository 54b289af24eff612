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
        "embedding: {provider: openai, model: m, base_url: 'ftp://me:hush-Hush-1@h'}\n",
        "embedding: {provider: openai, model: m, base_url: 'http://me:hush-Hush-1@h:port'}\n",
        "llm: {provider: anthropic, base_url: 'me:hush-Hush-1@h'}\n",
    ],
)
def test_no_error_prints_the_password_of_an_address(loaded: Loader, home: Path, text: str) -> None:
    """Neither `open` nor a command."""
    file = home / "project" / "vestig.yaml"
    config: Any = loaded(text)
    for act in (
        lambda: vestig.open(str(home / "store"), config=config),
        lambda: vestig.open(str(home / "store"), config=file),
        lambda: open_store(config),
    ):
        with pytest.raises(ConfigError, match="expected a URL such as") as caught:
            act()
        assert "hush" not in str(caught.value)
    assert not (home / "store").exists()


@pytest.mark.parametrize("layer", sorted(LAYERS))
@pytest.mark.parametrize("key", ["embedding.provider", "reranker.provider", "llm.provider"])
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
    assert str(caught.value).endswith(f'got "{name}"')
    assert "spy_module" not in sys.modules
    assert not (home / "store").exists()


IMPOSTOR = """
[vestig.embedders]
hashing = impostor:make
builtin = impostor:make
quiet = impostor:make

[vestig.llms]
none = impostor:make
anthropic = vestig.llms.anthropic:AnthropicModel
"""


def test_no_package_takes_a_name_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it offers is not imported, and `doctor` says so."""
    made = tmp_path / "site" / "impostor-1.0.dist-info"
    made.mkdir(parents=True)
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: impostor\nVersion: 1.0\n")
    (made / "entry_points.txt").write_text(IMPOSTOR)
    (tmp_path / "site" / "impostor.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with vestig.open(
        tmp_path / "store", config={"embedding.provider": "hashing", "llm.provider": "none"}
    ) as store:
        store.commit("The copper kettle carries the label BKT-7")
        assert store.recall("kettle")
        found = store.admin.doctor().findings
    assert "impostor" not in sys.modules
    details = [one.detail for one in found if one.check == "providers"]
    assert sorted(detail.partition("; ")[0] for detail in details) == [
        "not used: builtin = impostor:make (vestig.embedders)",
        "not used: hashing = impostor:make (vestig.embedders)",
        "not used: none = impostor:make (vestig.llms)",
    ]
    assert {one.level for one in found if one.check == "providers"} == {"finding"}


def test_a_shipped_provider_is_found_without_reading_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> object:
        raise AssertionError("entry points are read")

    monkeypatch.setattr("importlib.metadata.entry_points", read)
    vestig.open(tmp_path / "store", config={"embedding.provider": "hashing"}).close()
    with pytest.raises(AssertionError, match="entry points are read"):
        vestig.open(tmp_path / "store", config={"embedding.provider": "recorded"})


@pytest.mark.parametrize("name", ["nothing", "embedder-as-llm"])
def test_what_is_no_language_model_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f'llm.provider: expected "{name}" to '):
        vestig.open(tmp_path / "store", config={"llm.provider": name})
    assert not (tmp_path / "store").exists()


def test_prices_and_templates_are_merged_over_the_layers(loaded: Loader) -> None:
    config = loaded(
        project="llm: {prices: {b: {input: 2, output: 20, cache_read: 0.2}, c: {input: 1,"
        " output: 1}}}\nprompts: {plan_queries: {system: Plan., user: Mine.}}\n",
        user="llm: {prices: {a: {input: 1, output: 5}, b: {input: 1, output: 10}}}\n",
        env={"VESTIG_LLM__PRICES": "{b: {input: 2, output: 30}}"},
    )
    prices = config.settings.llm.prices
    assert sorted(prices) == ["a", "b", "c"]
    assert (prices["b"].input, prices["b"].output, prices["b"].cache_read) == (2, 30, 0.2)
    template: Any = config.settings.prompts["plan_queries"]
    assert (template.system, template.user) == ("Plan.", "Mine.")
