"""Learned weights as data, and how a configuration changes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.config import Config
from vestig.config.signals import CANDIDATE_TERMS, ORIGINS, TERMS, TOKEN_TERMS
from vestig.config.weights import (
    LEARNED,
    OriginWeights,
    WeightsFile,
    all_weights,
    candidate_weights_of,
    changed_weights,
    learned,
    learned_value,
    weights_of,
)
from vestig.errors import ConfigError

Loader = Callable[..., Config]
TOKENS = frozenset(TOKEN_TERMS)


def weight(config: Config, origin: str, term: str) -> float:
    return all_weights(config.settings, origin)[term]


def test_the_file_of_the_package_comes_through_a_round_trip_unchanged() -> None:
    text = LEARNED.read_text(encoding="utf-8")
    assert WeightsFile.read(LEARNED).text() == text
    assert list(json.loads(text)["origins"]) == list(ORIGINS)
    assert learned()["note"] != learned()["document"]


def test_only_terms_that_count_are_named(loaded: Loader) -> None:
    settings = loaded().settings
    for origin in ORIGINS:
        assert tuple(all_weights(settings, origin)) == tuple(TERMS)
        own = {name: weight for name, weight in learned()[origin].items() if name in TERMS}
        assert weights_of(settings, origin) == own


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda file: file.update(author="me"), "author"),
        (lambda file: file.update(version=2), "version"),
        (lambda file: file["origins"].update(mail={}), "mail"),
        (lambda file: file["origins"].pop("document"), "document"),
        (lambda file: file["origins"]["note"].update(cosin=1.0), "the nearest is cosine"),
        (lambda file: file["origins"]["note"].update(cosine="much"), "float"),
    ],
    ids=["member", "version", "origin", "missing origin", "term", "text"],
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
        "ranking.weights: {note: {bigram: 0, neighbours: {lexical: {-1: 2}}}}\n",
        user="ranking: {weights: {note: {cosine: 9, bigram: 8}}}\n",
        overrides={"ranking.weights.note.date": 5},
    )
    assert changed_weights(config.settings) == {
        "note": {"cosine": 9.0, "bigram": 0.0, "neighbours.lexical.-1": 2.0, "date": 5.0}
    }
    assert weight(config, "note", "topic") == learned()["note"]["topic"]
    assert "bigram" not in weights_of(config.settings, "note"), "0 switches a term off"
    assert config.effective()["ranking.weights"].layer == "call"
    assert config.entry("ranking.weights.note.cosine").layer == "user"
    assert config.entry("ranking.weights.note.person").layer == "built-in"


@pytest.mark.parametrize(
    "text",
    [
        "ranking.weights: {note: {topic: null}}\n",
        "ranking.weights.note: null\n",
        "ranking.weights: null\n",
        "ranking: null\n",
        "m5.signals.weights.note: null\n",
    ],
)
def test_null_gives_learned_weights_back(loaded: Loader, text: str) -> None:
    config = loaded(text, user="ranking.weights.note.topic: 9\n")
    assert weight(config, "note", "topic") == learned()["note"]["topic"]
    assert changed_weights(config.settings) == {}
    assert config.effective()["ranking.weights"].layer == "built-in"


def test_null_in_a_call_leaves_other_terms_as_files_have_them(loaded: Loader) -> None:
    config = loaded("ranking.weights.note: {cosine: 9, date: 3}\n")
    config = config.with_overrides({"ranking.weights": {"note": {"cosine": None}}})
    assert changed_weights(config.settings) == {"note": {"date": 3.0}}


def test_candidates_have_weights_of_their_own_in_all_but_notes(loaded: Loader) -> None:
    settings = loaded().settings
    for origin in ("chat_peer", "chat_agent", "document"):
        chosen = candidate_weights_of(settings, origin)
        named = {
            CANDIDATE_TERMS[name]: weight
            for name, weight in learned()[origin].items()
            if name in CANDIDATE_TERMS
        }
        assert chosen == named
        assert chosen != weights_of(settings, origin)
        assert TOKENS.isdisjoint(chosen)
    assert candidate_weights_of(settings, "note") == weights_of(settings, "note")


def test_weights_of_ones_own_count_without_word_pieces(loaded: Loader) -> None:
    silent = {f"ranking.weights.chat_peer.{term}": 0.0 for term in TOKEN_TERMS}
    own = {"ranking.weights.chat_peer.topic": 5.0, "ranking.weights.chat_peer.candidate.topic": 1.0}
    found = loaded(overrides=silent | own).settings
    assert weights_of(found, "chat_peer")["topic"] == 5.0
    assert candidate_weights_of(found, "chat_peer")["topic"] == 1.0


@pytest.mark.parametrize(
    "overrides",
    [
        {"signals.late.enabled": False},
        {f"ranking.weights.chat_peer.{term}": 0.0 for term in TOKEN_TERMS},
    ],
)
def test_without_word_pieces_weights_learned_beside_them_do_not_count(
    loaded: Loader, overrides: dict[str, Any]
) -> None:
    found = loaded(overrides=overrides).settings
    chosen = candidate_weights_of(found, "chat_peer")
    assert weights_of(found, "chat_peer") == chosen
    assert chosen == candidate_weights_of(loaded().settings, "chat_peer")
    assert weights_of(found, "document") == weights_of(loaded().settings, "document")


@pytest.mark.parametrize(
    ("given", "weighs", "chooses"),
    [
        ({"topic": 9}, 9.0, 9.0),
        ({"candidate.topic": 4}, None, 4.0),
        ({"topic": 9, "candidate.topic": 4}, 9.0, 4.0),
        ({"topic": 0}, 0.0, 0.0),
        ({"candidate.topic": 0}, None, 0.0),
    ],
)
def test_a_weight_counts_in_both_sums_unless_candidates_have_one(
    loaded: Loader, given: dict[str, float], weighs: float | None, chooses: float
) -> None:
    config = loaded(
        overrides={f"ranking.weights.chat_peer.{name}": value for name, value in given.items()}
    )
    expected = learned()["chat_peer"]["topic"] if weighs is None else weighs
    assert weights_of(config.settings, "chat_peer").get("topic", 0.0) == expected
    assert candidate_weights_of(config.settings, "chat_peer").get("topic", 0.0) == chooses
    assert changed_weights(config.settings) == {"chat_peer": given}


def test_a_learned_weight_of_candidates_beside_another_of_the_term_is_kept(loaded: Loader) -> None:
    """It says something: without it the weight of the term would count for candidates."""
    value = learned_value("chat_peer", "candidate.topic")
    both = {"topic": 9.0, "candidate.topic": value}
    config = loaded(overrides={f"ranking.weights.chat_peer.{n}": w for n, w in both.items()})
    assert candidate_weights_of(config.settings, "chat_peer")["topic"] == value
    assert changed_weights(config.settings) == {"chat_peer": both}


def test_a_signal_that_is_switched_off_counts_in_neither_sum(loaded: Loader) -> None:
    settings = loaded("signals.context.enabled: false\n").settings
    for weights in (weights_of, candidate_weights_of):
        assert not [name for name in weights(settings, "chat_peer") if name.startswith("context")]


@pytest.mark.parametrize("shape", ["mapping", "yaml", "package", "written"])
def test_weights_come_from_a_file_beside_the_one_that_names_it(
    loaded: Loader, home: Path, shape: str
) -> None:
    own = {"note": {"cosine": 9.0, "neighbours": {"lexical": {"-1": 2.0}}}}
    text = {
        "mapping": json.dumps(own),
        "yaml": "note: {cosine: 9, neighbours.lexical.-1: 2.0}\n",
        "package": json.dumps({"version": 1, "origins": own}),
        "written": WeightsFile(
            origins=OriginWeights(
                chat_peer={},
                chat_agent={},
                document={},
                note={"cosine": 9.0, "neighbours.lexical.-1": 2.0},
            )
        ).text(),
    }[shape]
    (home / "project" / "deep").mkdir()
    file = home / "project" / "deep" / "own.json"
    file.write_text(text, encoding="utf-8")
    expected = {"note": {"cosine": 9.0, "neighbours.lexical.-1": 2.0}}
    config = loaded("ranking: {weights: deep/own.json}\n")
    assert changed_weights(config.settings) == expected
    assert config.origin("ranking.weights.note.cosine").endswith("own.json")
    (home / "project" / "vestig.yaml").unlink()
    for given in (
        {"env": {"VESTIG_RANKING__WEIGHTS": "deep/own.json"}},
        {"env": {"VESTIG_M5__SIGNALS__WEIGHTS": str(file)}},
    ):
        assert changed_weights(loaded(**given).settings) == expected


@pytest.mark.parametrize(
    "keys",
    [
        lambda path: {"ranking.weights": path},
        lambda path: {"ranking": {"weights": path}},
        lambda path: {"m5.signals.weights": path},
        lambda path: {"recall.profiles.own.ranking.weights": path},
        lambda path: {"recall": {"profiles": {"own": {"m5.signals.weights": path}}}},
    ],
    ids=["dotted", "nested", "old name", "profile", "profile, old name"],
)
@pytest.mark.parametrize("there", [True, False], ids=["a file", "no file"])
def test_a_call_names_no_file(
    home: Path, loaded: Loader, keys: Callable[[str], dict[str, Any]], there: bool
) -> None:
    file = home / "project" / "credentials"
    if there:
        file.write_text("note: {api_key: sk-1, cosine: hunter2}\n", encoding="utf-8")
    said = set()
    for given in (keys(str(file)), keys("credentials")):
        for call in (
            lambda given=given: loaded(overrides=given),
            lambda given=given: loaded().with_overrides(given),
            lambda given=given: loaded().with_keys(given),
            lambda given=given: vestig.open(":memory:", config=given),
        ):
            with pytest.raises(ConfigError, match=r"expected a mapping \{origin") as caught:
                call()
            said.add(str(caught.value))
    assert len(said) == 1, "nothing of the file, not even whether there is one"
    assert "sk-1" not in said.pop()


def test_a_recall_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / "creds.yaml").write_text("note: {cosine: hunter2}\n", encoding="utf-8")
    with vestig.open(":memory:") as store:
        store.commit("The harbour crane lifts forty tonnes.")
        for path in (str(tmp_path / "creds.yaml"), "/etc/passwd", "/nowhere"):
            for name in ("ranking.weights", "m5.signals.weights"):
                with pytest.raises(ConfigError) as caught:
                    store.recall("crane", config={name: path})
                assert "hunter2" not in str(caught.value)
                assert "root" not in str(caught.value)


def test_a_profile_sets_weights_too(loaded: Loader, home: Path) -> None:
    (home / "project" / "own.json").write_text('{"note": {"cosine": 9}}', encoding="utf-8")
    config = loaded(
        "recall.profiles: {own: {ranking.weights: own.json},"
        " other: {m5.signals.weights: {note: {date: 3}}}}\n"
    )
    assert changed_weights(config.settings) == {}
    for name, expected in (("own", {"cosine": 9.0}), ("other", {"date": 3.0})):
        chosen = config.with_overrides(profile=name)
        assert changed_weights(chosen.settings) == {"note": expected}


def test_the_default_profile_in_a_call_brings_the_learned_weights(loaded: Loader) -> None:
    config = loaded("ranking.weights.note.cosine: 9\n")
    assert weight(config, "note", "cosine") == 9
    assert changed_weights(config.with_overrides(profile="default").settings) == {}
    both = config.with_overrides({"ranking.weights.note.date": 3}, profile="default")
    assert changed_weights(both.settings) == {"note": {"date": 3.0}}
    assert changed_weights(config.with_overrides(profile="reference").settings) == {
        "note": {"cosine": 9.0}
    }


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("ranking.weights: {nota: {cosine: 1}}\n", "unknown origin 'nota'; the nearest is note"),
        ("ranking.weights.note.cosin: 1\n", "unknown term 'cosin'; the nearest is cosine"),
        (
            "ranking.weights.note.candidate.cosin: 1\n",
            "unknown term 'candidate.cosin'; the nearest is candidate.cosine",
        ),
        (
            "ranking.weights.note.late.windo: 1\n",
            "unknown term 'late.windo'; the nearest is late.w",
        ),
        (
            "ranking.weights.note.candidate.late.own_idf: 1\n",
            "late.own_idf has no weight among candidates; the terms that have one are bias, cosine",
        ),
        (
            "ranking.weights.note.candidate.evidence.best: 1\n",
            "unknown term 'candidate.evidence.best'; the nearest is candidate.",
        ),
        ("ranking.weights.note.late.y: 1\n", "unknown term 'late.y'; the nearest is late."),
        ("ranking.weights.note.cosin: null\n", "unknown term 'cosin'"),
        ("ranking.weights.note: 1\n", "expected a mapping of terms to numbers"),
        ("ranking.weights.note.late: 1\n", "its terms are own_idf, w1_idf, w2_idf, w2_cube"),
        ("ranking.weights.note.cosine: much\n", "expected a finite number, got 'much'"),
        ("ranking.weights.note.cosine: .inf\n", "expected a finite number, got inf"),
        ("ranking.weights: [1]\n", "a mapping {origin: {term: a finite number}}, or the path of"),
        ("ranking.weights: gone.json\n", "file of weights not found"),
        ("ranking.weights: own.json\n", "own.json:1: ranking.weights.nota.cosine: unknown origin"),
        ("ranking.weights: list.json\n", "list.json: expected a mapping"),
        ("ranking.weights: more.json\n", "more.json: author: unknown member"),
        ("ranking.weights: later.json\n", "later.json: version: expected 1, got 2"),
        ("recall.profiles: {own: {ranking.weights.nota.cosine: 1}}\n", "unknown origin 'nota'"),
        ("m5.signals.weights.nota.cosine: 1\n", "unknown origin 'nota'"),
    ],
)
def test_unusable_weights(loaded: Loader, home: Path, text: str, part: str) -> None:
    for name, document in {
        "own": {"nota": {"cosine": 1}},
        "list": [1],
        "more": {"version": 1, "origins": {}, "author": "me"},
        "later": {"version": 2, "origins": {}},
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
            "unknown type of event 'REINFORCED'; the nearest is REINFORCE_",
        ),
        ("m3.event_weights.ADD: 2\n", "expected a finite number ≥ 0 and ≤ 1, got 2"),
        ("usage.event_weights: 3\n", "a mapping {type of event: a number ≥ 0 and ≤ 1}, got 3"),
    ],
)
def test_unusable_weights_of_events(loaded: Loader, text: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(text)
    assert part in str(caught.value)
