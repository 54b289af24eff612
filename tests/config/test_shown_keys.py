"""What `config show` and `config explain` give."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tables import each
from vestig.config import Config
from vestig.config.explain import explain, occasions, show
from vestig.config.schema import MAPPINGS, KeySpec, entry_specs, key_specs
from vestig.errors import ConfigError

KEYS = tuple(key_specs())

Loader = Callable[..., Config]


def test_the_keys_that_most_people_set_are_shown(loaded: Loader) -> None:
    keys = [entry.key for entry in show(loaded(), {})]
    assert 60 <= len(keys) <= 90
    assert {"store.path", "ranking.weights", "signals.late.enabled", "search.limit"} <= set(keys)
    assert not {"walk.min_signal", "signals.late.pool", "reference.alpha_meta"} & set(keys)
    assert keys == [key for key in KEYS if key in keys], "in the order of the schema"


def test_all_shows_every_key_and_every_learned_weight(loaded: Loader) -> None:
    shown = {
        entry.key: entry for entry in show(loaded("ranking.weights.all.date: 3\n"), {}, every=True)
    }
    assert set(shown) == set(KEYS) - set(MAPPINGS) | set(entry_specs())
    assert shown["ranking.weights.all.date"].value == 3
    assert shown["ranking.weights.all.date"].layer == "project"
    assert shown["ranking.weights.all.topic"].layer == "built-in"
    assert shown["usage.event_weights.ADD"].value == 0.0


@each("spec", [*key_specs().values(), *entry_specs().values()], ids=lambda s: s.key)
def test_every_key_is_described_in_words_of_its_own(spec: KeySpec) -> None:
    meaning = spec.meaning
    assert re.fullmatch(r".{10,}\.", meaning)
    assert not re.search(r"\b[A-Z]{1,2}-[A-Z]?\d+|\bm[345]\b", meaning)


def test_each_key_has_an_occasion_to_change_it(loaded: Loader) -> None:
    missing = "say in data/occasions.json when somebody would change it, or make it a constant"
    assert sorted(set(KEYS) - set(occasions())) == [], missing
    assert sorted(set(occasions()) - set(KEYS)) == [], "these are no keys"
    for key, occasion in occasions().items():
        assert re.fullmatch(r"\S.{9,}[^.\s]", occasion), key
    [found] = explain(loaded(), "hygiene.min_chars")
    assert found.when == occasions()["hygiene.min_chars"]
    [found] = explain(loaded(), "ranking.weights.all.topic")
    assert found.when == occasions()["ranking.weights"]


def test_a_section_is_explained_key_by_key(loaded: Loader) -> None:
    keys = [found.key for found in explain(loaded(), "hygiene")]
    assert keys == [key for key in KEYS if key.startswith("hygiene.")]
    assert [found.key for found in explain(loaded(), "links.related")] == [
        key for key in KEYS if key.startswith("links.related.")
    ]
    assert [found.key for found in explain(loaded(), "ranking.weights.all")] == [
        key for key in entry_specs() if key.startswith("ranking.weights.all.")
    ]


def test_an_unknown_entry_is_answered_with_the_nearest(loaded: Loader) -> None:
    with pytest.raises(ConfigError, match="unknown term 'topi'; the nearest is topic"):
        explain(loaded(), "ranking.weights.all.topi")
    with pytest.raises(ConfigError, match="unknown type of event 'IMPROT'; the nearest is IMPORT"):
        explain(loaded(), "usage.event_weights.IMPROT")
