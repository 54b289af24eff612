"""Settings made from the values of keys: equal to what a whole conversion makes, and without
reading the types of keys that nothing sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from docs_blocks import stage_of
from tables import each
from test_import import loaded_by
from vestig.config import Settings, load
from vestig.config.merge import PROFILES
from vestig.config.schema import (
    KeySpec,
    default_values,
    key_specs,
    settings_from,
    spec_of,
    stages,
)

# JSON values, one for each form that a type gives another one
FORMS: Mapping[str, Any] = {
    "store.lock_timeout_s": 7,
    "walk.max_nodes": 12,
    "keywords.stopwords": ["a", "b"],
    "walk.edge_types": ["RELATED", "MENTIONS"],
    "llm.prices": {"m": {"input": 1, "output": 2}},
    "usage.event_weights": {"ADD": 1},
    "ranking.weights": {"all": {"topic": 1}},
    "prompts": {"plan_queries": {"user": "x"}, "stop_verdict": "x"},
    "lifecycle.retention": {"session_half_life_days": 2},
    "retrieve.synonyms": {"a": ["b"]},
    "walk.seed": 7,
    "walk.max_hops": None,
    "ranking.enabled": False,
}


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        *path, name = key.split(".")
        place = found
        for part in path:
            place = place.setdefault(part, {})
        place[name] = value
    return found


def types_of(value: Any) -> Any:
    """The types of a value and of all within it: 1 and 1.0 are told apart."""
    if isinstance(value, msgspec.Struct):
        return type(value), [types_of(getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, (tuple, list)):
        return type(value), [types_of(part) for part in value]
    if isinstance(value, dict):
        return dict, {name: types_of(part) for name, part in value.items()}
    return type(value)


@each("key", FORMS)
def test_a_value_takes_the_form_of_its_type(key: str) -> None:
    values = {**default_values(), key: FORMS[key]}
    whole = msgspec.convert(nested(values), Settings)
    assert settings_from(values) == whole
    assert types_of(settings_from(values)) == types_of(whole)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_takes_the_form_of_its_types(profile: str) -> None:
    settings = load(environ={}, profile=profile).settings
    whole = msgspec.convert(msgspec.to_builtins(settings), Settings)
    assert settings == whole
    assert types_of(settings) == types_of(whole)


@each("spec", key_specs().values(), ids=lambda spec: spec.key)
def test_a_default_has_the_form_of_its_type(spec: KeySpec) -> None:
    assert types_of(msgspec.convert(spec.default, spec.type)) == types_of(spec.default)


def test_built_in_values_are_those_of_the_declarations() -> None:
    assert settings_from(default_values()) is not None
    assert settings_from(default_values()) == Settings()
    assert list(default_values()) == list(key_specs())


def test_the_keys_fit_on_a_page() -> None:
    keys = {stage_of(key) or key for key in key_specs()}
    assert len(keys) <= 110
    assert set(stages()) <= keys


def test_a_parameter_of_a_stage_is_no_key_beside_it() -> None:
    for stage in stages():
        assert stage not in key_specs()
        assert any(stage_of(key) == stage for key in key_specs())
        assert stage_of(stage) is None
    assert {stage_of(key) for key in ("recall.profile", "walks.seed", "walk", "")} == {None}


@each("name", ["", ".", "walk", "walk.", "walk.start", "walk.max_nodes.x", "__x"])
def test_what_is_no_key_has_no_declaration(name: str) -> None:
    assert spec_of(name) is None


def test_a_start_reads_the_types_of_what_is_set_alone() -> None:
    report = """
from vestig.config import load
from vestig.config.schema import _hints, key_specs
load(environ={})
none = _hints.cache_info().currsize
load(environ={"VESTIG_HYGIENE__MIN_CHARS": "3"})
print(none, _hints.cache_info().currsize)
"""
    loaded, printed = loaded_by(report)
    assert printed.split() == ["0", "2"], "Settings and its section hygiene"
    assert "yaml" not in loaded
    assert not loaded & {
        "yaml",
        "hashlib",
        "shlex",
        "vestig.config.explain",
    }
