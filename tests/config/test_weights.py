"""Learned weights as data, and how a configuration changes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vestig
from tables import each
from vestig.config import Config, Settings
from vestig.config.signals import KINDS, LATE_TERMS
from vestig.config.weights import (
    LEARNED,
    TERMS,
    KindWeights,
    WeightsFile,
    all_weights,
    counting_terms,
    learned,
    weights_of,
)
from vestig.errors import ConfigError

Loader = Callable[..., Config]


def changed_weights(settings: Settings) -> dict[str, dict[str, float]]:
    """The weights that differ from the learned ones: kind → term → weight."""
    changed = {
        kind: {term: weight for term, weight in given.items() if weight != learned()[kind][term]}
        for kind, given in settings.ranking.weights.items()
    }
    return {kind: given for kind, given in changed.items() if given}


def weight(config: Config, kind: str, term: str) -> float:
    return all_weights(config.settings, kind)[term]


def test_the_file_of_the_package_comes_through_a_round_trip_unchanged() -> None:
    text = LEARNED.read_text(encoding="utf-8")
    assert WeightsFile.read(LEARNED).text() == text
    assert tuple(json.loads(text)["weights"]) == KINDS


def test_only_terms_that_count_are_named(loaded: Loader) -> None:
    settings = loaded().settings
    for kind in KINDS:
        assert tuple(all_weights(settings, kind)) == tuple(TERMS)
        own = {name: weight for name, weight in learned()[kind].items() if weight}
        assert weights_of(settings, kind) == own
    assert counting_terms(settings) == {*learned()["all"]} - {"rerank"}


@each(
    ("change", "part"),
    [
        (lambda file: file.update(author="me"), "author"),
        (lambda file: file.update(version=2), "version"),
        (lambda file: file["weights"].update(mail={}), "mail"),
        (lambda file: file["weights"].pop("all"), "all"),
        (lambda file: file["weights"]["all"].update(topicc=1.0), "the nearest is topic"),
        (lambda file: file["weights"]["all"].update(topic="much"), "float"),
    ],
    ids=["member", "version", "kind", "missing kind", "term", "text"],
)
def test_a_file_with_unknown_members_is_refused(
    tmp_path: Path, change: Callable[[Any], Any], part: str
) -> None:
    document = json.loads(LEARNED.read_text(encoding="utf-8"))
    change(document)
    file = tmp_path / "weights.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ConfigError, match=part):
        WeightsFile.read(file)


def test_terms_merge_over_the_learned_ones_layer_by_layer(loaded: Loader) -> None:
    config = loaded(
        "ranking.weights: {all: {words: 0, late_window: 2}}\n",
        user="ranking: {weights: {all: {topic: 9.5, words: 8}}}\n",
        overrides={"ranking.weights.all.date": 5},
    )
    assert changed_weights(config.settings) == {
        "all": {"topic": 9.5, "words": 0.0, "late_window": 2.0, "date": 5.0}
    }
    assert weight(config, "all", "late") == learned()["all"]["late"]
    assert "words" not in weights_of(config.settings, "all"), "0 switches a term off"
    assert config.effective()["ranking.weights"].layer == "call"
    assert config.entry("ranking.weights.all.topic").layer == "user"
    assert config.entry("ranking.weights.all.person").layer == "built-in"


@pytest.mark.parametrize(
    "text",
    [
        "ranking.weights: {all: {topic: null}}\n",
        "ranking.weights.all: null\n",
        "ranking.weights: null\n",
        "ranking: null\n",
    ],
)
def test_null_gives_learned_weights_back(loaded: Loader, text: str) -> None:
    config = loaded(text, user="ranking.weights.all.topic: 9.5\n")
    assert weight(config, "all", "topic") == learned()["all"]["topic"]
    assert changed_weights(config.settings) == {}
    assert config.effective()["ranking.weights"].layer == "built-in"


def test_null_in_a_call_leaves_other_terms_as_files_have_them(loaded: Loader) -> None:
    config = loaded("ranking.weights.all: {topic: 9.5, date: 3}\n")
    config = config.with_overrides({"ranking.weights": {"all": {"topic": None}}})
    assert changed_weights(config.settings) == {"all": {"date": 3.0}}


def test_a_signal_that_is_switched_off_counts_for_no_kind(loaded: Loader) -> None:
    settings = loaded("signals.late.enabled: false\n").settings
    assert counting_terms(settings).isdisjoint(LATE_TERMS)
    assert "words" in counting_terms(settings)


@pytest.mark.parametrize("shape", ["mapping", "yaml", "package", "written"])
def test_weights_come_from_a_file_beside_the_one_that_names_it(
    loaded: Loader, home: Path, shape: str
) -> None:
    own = {"all": {"topic": 9.5, "late_window": 2.0}}
    text = {
        "mapping": json.dumps(own),
        "yaml": "all: {topic: 9.5, late_window: 2.0}\n",
        "package": json.dumps({"version": 1, "weights": own}),
        "written": WeightsFile(weights=KindWeights(chat_peer={}, **own)).text(),
    }[shape]
    (home / "project" / "deep").mkdir()
    file = home / "project" / "deep" / "own.json"
    file.write_text(text, encoding="utf-8")
    config = loaded("ranking: {weights: deep/own.json}\n")
    assert changed_weights(config.settings) == own
    assert config.origin("ranking.weights.all.topic").endswith("own.json")
    (home / "project" / "vestig.yaml").unlink()
    given = {"VESTIG_RANKING__WEIGHTS": "deep/own.json"}
    assert changed_weights(loaded(env=given).settings) == own


@pytest.mark.parametrize(
    "keys",
    [
        lambda path: {"ranking.weights": path},
        lambda path: {"ranking": {"weights": path}},
        lambda path: {"recall.profiles.own.ranking.weights": path},
        lambda path: {"recall": {"profiles": {"own": {"ranking.weights": path}}}},
    ],
    ids=["dotted", "nested", "profile", "profile, nested"],
)
@pytest.mark.parametrize("there", [True, False], ids=["a file", "no file"])
def test_a_call_names_no_file(
    home: Path, loaded: Loader, keys: Callable[[str], dict[str, Any]], there: bool
) -> None:
    file = home / "project" / "credentials"
    if there:
        file.write_text("all: {api_key: sk-1, topic: hunter2}\n", encoding="utf-8")
    said = set()
    for given in (keys(str(file)), keys("credentials")):
        for call in (
            lambda given=given: loaded(overrides=given),
            lambda given=given: loaded().with_overrides(given),
            lambda given=given: loaded().with_keys(given),
            lambda given=given: vestig.open(":memory:", config=given),
        ):
            with pytest.raises(ConfigError, match=r"expected a mapping \{kind") as caught:
                call()
            said.add(str(caught.value))
    assert len(said) == 1, "nothing of the file, not even whether there is one"
    assert "sk-1" not in said.pop()


def test_a_recall_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / "creds.yaml").write_text("all: {topic: hunter2}\n", encoding="utf-8")
    with vestig.open(":memory:") as store:
        store.commit("The harbour crane lifts forty tonnes.")
        for path in (str(tmp_path / "creds.yaml"), "/etc/passwd", "/nowhere"):
            with pytest.raises(ConfigError) as caught:
                store.recall("crane", config={"ranking.weights": path})
            assert "hunter2" not in str(caught.value)
            assert "root" not in str(caught.value)


def test_a_profile_sets_weights_too(loaded: Loader, home: Path) -> None:
    (home / "project" / "own.json").write_text('{"all": {"topic": 9.5}}', encoding="utf-8")
    config = loaded(
        "recall.profiles: {own: {ranking.weights: own.json},"
        " other: {ranking.weights: {all: {date: 3}}}}\n"
    )
    assert changed_weights(config.settings) == {}
    for name, expected in (("own", {"topic": 9.5}), ("other", {"date": 3.0})):
        chosen = config.with_overrides(profile=name)
        assert changed_weights(chosen.settings) == {"all": expected}


def test_the_default_profile_in_a_call_brings_the_learned_weights(loaded: Loader) -> None:
    config = loaded("ranking.weights.all.topic: 9.5\n")
    assert weight(config, "all", "topic") == 9.5
    assert changed_weights(config.with_overrides(profile="default").settings) == {}
    both = config.with_overrides({"ranking.weights.all.date": 3}, profile="default")
    assert changed_weights(both.settings) == {"all": {"date": 3.0}}
    assert changed_weights(config.with_overrides(profile="reference").settings) == {
        "all": {"topic": 9.5}
    }


@each(
    ("text", "part"),
    [
        (
            "ranking.weights: {note: {topic: 1}}\n",
            "unknown kind 'note'; expected one of chat_peer, all",
        ),
        ("ranking.weights.all.topicc: 1\n", "unknown term 'topicc'; the nearest is topic"),
        (
            "ranking.weights.all.late.cube: 1\n",
            "unknown term 'late.cube'; expected one of ",
        ),
        ("ranking.weights.all.topik: null\n", "unknown term 'topik'"),
        ("ranking.weights.all: 1\n", "expected a mapping of terms to numbers; its terms are bias"),
        ("ranking.weights.all.topic: much\n", "expected a finite number, got 'much'"),
        ("ranking.weights.all.topic: .inf\n", "expected a finite number, got inf"),
        ("ranking.weights: [1]\n", "the path of"),
        ("ranking.weights: gone.json\n", "file of weights not found"),
        ("ranking.weights: own.json\n", "own.json:1: ranking.weights.note.topic: unknown kind"),
        ("ranking.weights: list.json\n", "list.json: expected a mapping"),
        ("ranking.weights: more.json\n", "more.json: author: unknown member"),
        ("ranking.weights: later.json\n", "later.json: version: expected 1, got 2"),
        ("recall.profiles: {own: {ranking.weights.note.topic: 1}}\n", "unknown kind 'note'"),
    ],
)
def test_unusable_weights(loaded: Loader, home: Path, text: str, part: str) -> None:
    for name, document in {
        "own": {"note": {"topic": 1}},
        "list": [1],
        "more": {"version": 1, "weights": {}, "author": "me"},
        "later": {"version": 2, "weights": {}},
    }.items():
        file = home / "project" / f"{name}.json"
        file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        loaded(text)
    assert part in str(caught.value)


# --- weights of events -------------------------------------------------------------------------


def test_an_event_that_is_not_named_weighs_nothing_and_others_stay(loaded: Loader) -> None:
    assert loaded().settings.usage.event_weights == {"REINFORCE_EXACT": 1.0, "REINFORCE_NEAR": 1.0}
    config = loaded(
        "usage: {event_weights: {ADD: 0.5, REINFORCE_NEAR: 0}}\n",
        user="usage.event_weights.REINFORCE_NEAR: 0.7\n",
    )
    assert config.settings.usage.event_weights == {
        "REINFORCE_EXACT": 1.0,
        "REINFORCE_NEAR": 0.0,
        "ADD": 0.5,
    }
    back = config.with_overrides({"usage.event_weights": None}).settings.usage.event_weights
    assert back == {"REINFORCE_EXACT": 1.0, "REINFORCE_NEAR": 1.0}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "usage.event_weights: {REINFORCED: 1}\n",
            "unknown type of event 'REINFORCED'; expected one of ADD, ",
        ),
        ("usage.event_weights.ADD: 2\n", "expected a finite number ≥ 0 and ≤ 1, got 2"),
        ("usage.event_weights: 3\n", "a mapping {type of event: a number ≥ 0 and ≤ 1}, got 3"),
    ],
)
def test_unusable_weights_of_events(loaded: Loader, text: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(text)
    assert part in str(caught.value)
