"""Old spellings of keys, in every place where a key is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vestig.config import Config
from vestig.config.explain import explain
from vestig.config.files import OLD_NAMES, current_name, old_name
from vestig.config.schema import entry_specs, key_specs
from vestig.config.weights import SWITCHES
from vestig.errors import ConfigError

KEYS = tuple(key_specs())

Loader = Callable[..., Config]

OLD = "m5.traversal.max_nodes"
NEW = "walk.max_nodes"


def test_every_old_spelling_stands_for_one_key() -> None:
    named = list(OLD_NAMES.values())
    assert len(set(named)) == len(named)
    assert set(named) <= set(KEYS)
    assert {f"signals.{name}.enabled" for name in SWITCHES} <= set(named)
    assert not set(OLD_NAMES) & set(KEYS)
    for old, new in OLD_NAMES.items():
        assert current_name(old) == new
        assert old_name(new) == old


def test_the_models_of_entities_and_questions_have_old_spellings() -> None:
    assert old_name("entities.model") == "m4.entity_extraction.llm.model"
    assert old_name("questions.model") == "m5.hyde.model"


@pytest.mark.parametrize(
    "given",
    [
        {"user": f"{OLD}: 7\n"},
        {"project": "m5: {traversal: {max_nodes: 7}}\n"},
        {"env": {"VESTIG_M5__TRAVERSAL__MAX_NODES": "7"}},
        {"overrides": {OLD: 7}},
        {"project": "recall: {profile: own, profiles: {own: {m5.traversal: {max_nodes: 7}}}}\n"},
    ],
    ids=["user file", "project file", "environment", "call", "profile"],
)
def test_an_old_spelling_sets_the_key(loaded: Loader, given: dict[str, Any]) -> None:
    config = loaded(**given)
    assert config.settings.walk.max_nodes == 7
    assert OLD not in config.effective()
    assert config.origin(OLD) == config.origin(NEW)
    assert (
        config.with_overrides({"m5": {"traversal": {"max_nodes": 8}}}).settings.walk.max_nodes == 8
    )


@pytest.mark.parametrize(
    "given",
    [
        {"user": f"{OLD}: 7\n{NEW}: 7\n"},
        {"project": f"{NEW}: 8\nm5: {{traversal: {{max_nodes: 7}}}}\n"},
        {"env": {"VESTIG_M5__TRAVERSAL__MAX_NODES": "7", "VESTIG_WALK__MAX_NODES": "8"}},
        {"overrides": {OLD: 7, "walk": {"max_nodes": 8}}},
        {"project": f"recall.profiles: {{own: {{{OLD}: 7, {NEW}: 8}}}}\n"},
    ],
    ids=["user file", "project file", "environment", "call", "profile"],
)
def test_both_spellings_in_one_layer_are_refused(loaded: Loader, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(**given)
    assert f"{OLD} is the old spelling of " in str(caught.value)
    assert f"{NEW}, and both are given" in str(caught.value)


def test_the_higher_layer_wins_whatever_its_spelling(loaded: Loader) -> None:
    below, above = f"{NEW}: 7\n", f"{OLD}: 8\n"
    assert loaded(above, user=below).settings.walk.max_nodes == 8
    assert loaded(below, user=above).settings.walk.max_nodes == 7
    assert loaded(overrides={OLD: 9}).settings.walk.max_nodes == 9


def test_null_under_an_old_section_resets_its_keys(loaded: Loader) -> None:
    config = loaded(
        "m5: {traversal: null, start_node: ~}\n", user="walk: {max_nodes: 7, start.limit: 2}\n"
    )
    assert config.settings.walk.max_nodes == 20
    assert config.settings.walk.start.limit == 5


def test_a_wrong_value_is_reported_under_both_spellings(loaded: Loader) -> None:
    with pytest.raises(ConfigError, match=r"walk\.max_nodes: expected an integer ≥ 1") as caught:
        loaded(f"{OLD}: 0\n")
    assert f"given as {OLD}" in str(caught.value)
    with pytest.raises(ConfigError, match=r"nearest valid key is walk\.max_nodes"):
        loaded("m5.traversal.max_node: 3\n")
    with pytest.raises(ConfigError, match=r"nearest valid one is VESTIG_WALK__MAX_NODES"):
        loaded(env={"VESTIG_M5__TRAVERSAL__MAX_NODE": "3"})


def test_entries_of_mappings_have_old_spellings_too(loaded: Loader) -> None:
    config = loaded(
        "m3: {event_weights: {ADD: 0.5}}\n",
        env={"VESTIG_M5__SIGNALS__WEIGHTS__ALL__TOPIC": "1.5"},
    )
    assert config.entry("usage.event_weights.ADD").value == 0.5
    assert config.entry("m5.signals.weights.all.topic").value == 1.5


def test_old_and_new_spelling_are_explained_alike(loaded: Loader) -> None:
    config = loaded()
    for key in (*KEYS, *entry_specs()):
        old = old_name(key)
        if old is not None:
            assert explain(config, old) == explain(config, key)
            assert explain(config, key)[0].old == old
    assert [one.key for one in explain(config, "m5.start_node")] == [
        "walk.start.enabled",
        "reference.alpha_meta",
        *(key for key in KEYS if key.startswith("reference.") and key != "reference.alpha_meta"),
        "walk.start.limit",
        "ranking.pool",
    ]
