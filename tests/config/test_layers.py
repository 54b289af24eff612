"""Layers, files, environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rows import weighing
from tables import each
from vestig.config import Config, InvalidConfigError, load
from vestig.config.explain import explain, explanations, show
from vestig.config.schema import key_specs
from vestig.config.signals import LATE_TERMS
from vestig.config.weights import learned, weights_of
from vestig.errors import ConfigError, ConfigNotFoundError

KEYS = tuple(key_specs())

Loader = Callable[..., Config]


def test_no_file_at_all_gives_the_built_in_values(loaded: Loader, home: Path) -> None:
    config = loaded()
    assert config.settings.recall.default_limit == 5
    assert config.settings.store.path == os.path.normpath(home / "data" / "vestig")
    origins = {entry.layer for entry in config.effective().values()}
    assert origins == {"built-in", "profile"}
    assert tuple(config.effective()) == KEYS


def test_misspelt_key_names_key_and_file(loaded: Loader, home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded("hygene:\n  min_chars: 3\n")
    text = str(caught.value)
    assert "hygene.min_chars: unknown key" in text
    assert "nearest valid key is hygiene.min_chars" in text
    assert str(home / "project" / "vestig.yaml") + ":2" in text


def test_all_faults_are_reported_together(loaded: Loader) -> None:
    with pytest.raises(InvalidConfigError) as caught:
        loaded(
            "hygene: {min_chars: 3}\nrecall:\n  default_limit: 0\n",
            env={"VESTIG_NOPE": "1", "VESTIG_HYGIENE__MAX_CHARS": "[1]"},
            overrides={"ranking.base": "lineal"},
        )
    text = str(caught.value)
    assert "5 problems" in text
    assert len(caught.value.problems) == 5
    for part in (
        "hygene.min_chars",
        "recall.default_limit: expected an integer ≥ 1 and ≤ 2147483647, got 0",
        "VESTIG_NOPE",
        "hygiene.max_chars: expected an integer ≥ 1 and ≤ 2147483647, got [1]",
        "ranking.base: expected linear | semantic | blend | cosine, got 'lineal'",
    ):
        assert part in text


def test_each_layer_overrides_the_one_below(loaded: Loader, home: Path) -> None:
    key = "ranking.tracerank_power"
    seen = []
    config = loaded()
    seen.append((config.settings.ranking.tracerank_power, config.effective()[key].layer))
    for options in (
        {"user": "ranking: {tracerank_power: 0.6}"},
        {"project": "ranking: {tracerank_power: 0.7}"},
        {"env": {"VESTIG_RANKING__TRACERANK_POWER": "0.8"}},
        {
            "env": {"VESTIG_RANKING__TRACERANK_POWER": "0.8"},
            "overrides": {"ranking": {"tracerank_power": 0.9}},
        },
    ):
        config = loaded(**options)  # type: ignore[arg-type]
        seen.append((config.settings.ranking.tracerank_power, config.effective()[key].layer))
    assert seen == [
        (0.5, "profile"),
        (0.6, "user"),
        (0.7, "project"),
        (0.8, "environment"),
        (0.9, "call"),
    ]
    assert loaded().origin(key) == f"project {(home / 'project' / 'vestig.yaml').resolve()}"


def test_mappings_merge_deeply_and_lists_replace(loaded: Loader) -> None:
    config = loaded(
        "hygiene: {max_chars: 50}\nkeywords: {stopwords: [c]}\n",
        user="hygiene: {min_chars: 2}\nkeywords: {stopwords: [a, b]}\n",
    )
    hygiene = config.settings.hygiene
    assert (hygiene.min_chars, hygiene.max_chars) == (2, 50)
    assert config.settings.keywords.stopwords == ("c",)


def test_null_resets_to_the_default(loaded: Loader) -> None:
    config = loaded(
        "hygiene:\n  min_chars: null\nranking: {base: ~}\n",
        user="hygiene: {min_chars: 2, max_chars: 99}\nranking: {base: semantic}\n",
        env={"VESTIG_HYGIENE__MAX_CHARS": "null"},
    )
    assert config.settings.hygiene.min_chars == 12
    assert config.settings.hygiene.max_chars == 4000
    assert config.settings.ranking.base == "linear"
    assert config.effective()["hygiene.min_chars"].layer == "built-in"


def test_null_section_resets_each_of_its_keys(loaded: Loader) -> None:
    config = loaded(
        "hygiene:\n", user="hygiene: {min_chars: 2, near_duplicate: {threshold: 0.5}}\n"
    )
    assert config.settings.hygiene.min_chars == 12
    assert config.settings.hygiene.near_duplicate.threshold == 0.92


def test_profile_of_a_file_stands_below_files(loaded: Loader) -> None:
    config = loaded("ranking: {tracerank_power: 0.25}\n", user="recall: {profile: baseline}\n")
    final = config.settings.ranking
    assert (final.base, final.tracerank_power) == ("cosine", 0.25)
    assert config.origin("ranking.base") == "profile baseline"


def test_profile_in_a_call_beats_files_and_its_keys_beat_it(loaded: Loader) -> None:
    project = "recall: {profile: default}\nranking: {base: semantic, tracerank_power: 1}\n"
    for config in (
        loaded(project, profile="baseline", overrides={"ranking.tracerank_power": 0.75}),
        loaded(
            project,
            overrides={"recall": {"profile": "baseline"}, "ranking.tracerank_power": 0.75},
        ),
        loaded(project).with_overrides({"ranking.tracerank_power": 0.75}, profile="baseline"),
    ):
        assert config.settings.ranking.base == "cosine"
        assert config.settings.ranking.tracerank_power == 0.75
        assert config.settings.recall.profile == "baseline"
        assert config.settings.ranking.pool == "all"


def test_profile_of_a_later_call_replaces_that_of_an_earlier_one(loaded: Loader) -> None:
    config = loaded(profile="baseline").with_overrides(profile="default")
    assert config.settings.ranking.base == "linear"
    assert config.settings.ranking.tracerank_power == 0.5
    assert config.settings.recall.profile == "default"


def test_profiles_can_be_added_and_merge_over_layers(loaded: Loader) -> None:
    config = loaded(
        "recall: {profile: words, profiles: {words: {signals.topic.enabled: false}}}\n",
        user="recall: {profiles: {words: {ranking: {tracerank_power: 0}}, other: {}}}\n",
    )
    assert config.settings.signals.topic.enabled is False
    assert config.settings.ranking.tracerank_power == 0
    assert config.profile_names == ("baseline", "default", "other", "reference", "words")
    assert config.settings.recall.profiles == {
        "words": {"signals.topic.enabled": False, "ranking.tracerank_power": 0},
        "other": {},
    }


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("recall: {profile: nope}", "unknown profile 'nope'; expected one of baseline, default"),
        ("recall: {profiles: {baseline: {ranking.enabled: false}}}", "shipped profile"),
        ("recall: {profiles: {x: {hygiene.min_chars: 1}}}", "a profile cannot set"),
        ("recall: {profiles: {x: {ranking.base: mix}}}", "linear | semantic | blend | cosine"),
        ("recall: {profiles: {x: {ranking.bass: linear}}}", "ranking.base"),
        ("recall: {profiles: {x: 3}}", "expected a mapping"),
        ("recall: {profiles: [x]}", "expected a mapping"),
    ],
)
def test_bad_profiles(loaded: Loader, text: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(text)
    assert part in str(caught.value)


def test_one_call_sets_only_keys_of_recall(loaded: Loader) -> None:
    with pytest.raises(ConfigError, match=r"store\.path.*only keys of usage, questions"):
        loaded().with_overrides({"store.path": "x"})
    with pytest.raises(ConfigError, match=r"nearest valid key is ranking\.base"):
        loaded().with_overrides({"ranking": {"bas": "cosine"}})


def test_project_file_is_the_nearest_upward_and_can_be_replaced(home: Path) -> None:
    (home / "project" / "a" / "b").mkdir(parents=True)
    (home / "project" / "vestig.yaml").write_text("time: {zone: Asia/Tokyo}\n")
    other = home / "other.yaml"
    other.write_text("time: {zone: Asia/Seoul}\n")
    environ = {"XDG_CONFIG_HOME": str(home / "user")}
    deep = home / "project" / "a" / "b"
    assert load(environ=environ, cwd=deep).settings.time.zone == "Asia/Tokyo"
    assert load(other, environ=environ, cwd=deep).settings.time.zone == "Asia/Seoul"
    environ["VESTIG_CONFIG"] = str(other)
    assert load(environ=environ, cwd=deep).settings.time.zone == "Asia/Seoul"


def test_a_named_file_must_exist(loaded: Loader, home: Path) -> None:
    with pytest.raises(ConfigNotFoundError, match=r"gone\.yaml"):
        loaded(path=home / "gone.yaml")
    with pytest.raises(FileNotFoundError):
        loaded(env={"VESTIG_CONFIG": str(home / "gone.yaml")})
    with pytest.raises(ConfigError, match="VESTIG_CONFIG"):
        loaded(env={"VESTIG_CONFIG": ""})


@each(
    ("text", "part"),
    [
        ("- a\n", "expected a mapping"),
        ("just text\n", "expected a mapping"),
        ("hygiene: {min_chars: 1\n", "vestig.yaml:2: unreadable YAML"),
        ("hygiene:\n  min_chars: 1\n  min_chars: 2\n", "vestig.yaml:3: unreadable YAML: duplicate"),
        ("hygiene: {min_chars: 1}\nhygiene.min_chars: 2\n", "given twice"),
        ("? [a]\n: 1\n", "a key that is text"),
        ("hygiene: 5\n", "this is a section"),
        ("a: &a {b: *a}\n", "vestig.yaml:1: unreadable YAML: the alias *a stands inside of"),
        ("hygiene: &a {x: *a}\n", "the alias *a stands inside of what it names"),
        ("namespace: !!python/object:os.system x\n", "unreadable YAML"),
        ("namespace: \x00\n", "unreadable YAML"),
        ("namespace: Work\n", "a-z 0-9"),
        ("usage: {k: -1}\n", "usage.k"),
        ("usage: {tau_days: 0}\n", "a finite number > 0"),
        ("usage: {tau_days: .nan}\n", "a finite number > 0"),
        ("recall: {min_score: .inf}\n", "finite"),
        ("recall: {min_score: 1.1}\n", "≥ 0 and ≤ 1"),
        ("recall: {silence: 1.1}\n", "≥ 0.02 and ≤ 1"),
        ("hygiene: {min_chars: true}\n", "an integer"),
        ("hygiene: {min_chars: 1.0}\n", "an integer"),
        ("hygiene: {min_chars: 99999999999999999999}\n", "an integer"),
        ("hygiene: {min_chars: " + "9" * 5000 + "}\n", "unreadable YAML"),
        ("hygiene: {min_chars: " + "[" * 5000 + "]" * 5000 + "}\n", "at most 64 deep"),
        ("keywords: {stopwords: &a [*a]}\n", "the alias *a stands inside of what it names"),
        ("store: {lock_timeout_s: 1e300}\n", "lock_timeout_s"),
        ("store: {path: ''}\n", "text that is not empty"),
        ("hygiene: {min_chars: 50, max_chars: 40}\n", "at least hygiene.min_chars (50)"),
        ("time: {zone: Mars/Olympus}\n", "time zone"),
        ("ranking: {pool: some}\n", "auto | all | starts, or an integer ≥ 1"),
    ],
)
def test_unusable_files(loaded: Loader, text: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(text)
    assert part in str(caught.value)


def test_not_utf8_is_refused_with_the_file(loaded: Loader, home: Path) -> None:
    (home / "project" / "vestig.yaml").write_bytes(b"namespace: \xff\xfe\n")
    with pytest.raises(ConfigError, match=r"vestig\.yaml: expected UTF-8"):
        loaded()


def test_empty_main_file_is_no_keys(loaded: Loader) -> None:
    assert loaded("# nothing\n").settings.recall.default_limit == 5


def test_words_of_yaml_1_1_stay_words(loaded: Loader) -> None:
    config = loaded("enrichment: {mode: off}\nkeywords: {stopwords: [yes, no, on, 1:30, 1e3x]}\n")
    assert config.settings.enrichment.mode == "off"
    assert config.settings.keywords.stopwords == ("yes", "no", "on", "1:30", "1e3x")


def test_store_path_is_relative_to_what_names_it(loaded: Loader, home: Path) -> None:
    assert loaded("store: {path: mem}\n").settings.store.path == str(
        (home / "project").resolve() / "mem"
    )
    user = "store: {path: mem}\n"
    (home / "project" / "vestig.yaml").unlink()
    assert loaded(user=user).settings.store.path == str((home / "user/vestig").resolve() / "mem")
    assert loaded(env={"VESTIG_STORE": "e"}).settings.store.path == str(home / "project" / "e")
    assert loaded(overrides={"store.path": ":memory:"}).settings.store.path == ":memory:"


def test_the_list_of_trivial_messages_is_relative_to_what_names_it(
    loaded: Loader, home: Path
) -> None:
    def path(*args: Any, **fields: Any) -> str | None:
        return loaded(*args, **fields).settings.retrieve.message_blacklist

    project = (home / "project").resolve()
    assert path("retrieve: {message_blacklist: terms.txt}\n") == str(project / "terms.txt")
    assert path(env={"VESTIG_RETRIEVE__MESSAGE_BLACKLIST": "e"}) == str(home / "project" / "e")
    assert path("recall: {default_limit: 3}\n") is None


def test_a_variable_holds_several_parameters_of_a_stage(loaded: Loader) -> None:
    env = {"VESTIG_WALK": "{max_nodes: 7, start.limit: 2}", "VESTIG_WALK__SEED": "9"}
    walk = loaded("walk.max_nodes: 3\nwalk.max_hops: 4\n", env=env).settings.walk
    assert (walk.max_nodes, walk.start.limit, walk.seed, walk.max_hops) == (7, 2, 9, 4)
    near = {"VESTIG_HYGIENE__NEAR_DUPLICATE": "{threshold: 0.7}"}
    assert loaded(env=near).settings.hygiene.near_duplicate.threshold == 0.7
    for env, said in (
        ({"VESTIG_WALK": "7"}, "VESTIG_WALK: walk: expected a mapping"),
        ({"VESTIG_LINKS": "{relatd: 1}"}, "VESTIG_LINKS: links.relatd: unknown key"),
        ({"VESTIG_USAGES": "{}"}, "the nearest valid one is VESTIG_USAGE"),
        (
            {"VESTIG_RECALL_LIMIT": "1"},
            "recall.default_limit is set by VESTIG_RECALL__DEFAULT_LIMIT",
        ),
        (
            {"VESTIG_RECALL_BANANA": "1"},
            "recall.silence is set by VESTIG_RECALL__SILENCE, and every",
        ),
    ):
        with pytest.raises(ConfigError, match=said):
            loaded(env=env)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("early_stop_min_iterations", -1),
        ("novelty_min_new_facts", -1),
        ("novelty_patience", 0),
        ("stop_confidence_required", "sure"),
        ("fallback_max_queries", 0),
        ("fallback_max_query_length", 9),
        ("max_facts", 501),
        ("max_messages", 0),
        ("max_iterations", 51),
        ("confidence", {"high": 0.8}),
    ],
    ids=str,
)
def test_what_keys_of_retrieval_refuse(loaded: Loader, key: str, value: object) -> None:
    with pytest.raises(ConfigError, match="retrieve"):
        loaded(overrides={f"retrieve.{key}": value})


_FALSY = [
    ("store.lock_timeout_s", 0),
    ("hygiene.near_duplicate.enabled", False),
    ("ranking.tracerank_power", 0),
    ("recall.min_score", 0),
]


@pytest.mark.parametrize(("key", "value"), _FALSY)
@pytest.mark.parametrize("layer", ["user", "project", "environment", "call"])
def test_falsy_values_survive_with_origin(loaded: Loader, key: str, value: Any, layer: str) -> None:
    text = "false" if value is False else str(value)
    options: dict[str, Any] = {
        "user": {"user": f"{key}: {text}\n"},
        "project": {"project": f"{key}: {text}\n"},
        "environment": {"env": {"VESTIG_" + key.upper().replace(".", "__"): text}},
        "call": {"overrides": {key: value}},
    }[layer]
    entry = loaded(**options).effective()[key]
    assert entry.value == value
    assert isinstance(entry.value, bool) == isinstance(value, bool)
    assert entry.layer == layer


@pytest.mark.parametrize(
    ("variable", "part"),
    [
        ("VESTIG_STORE_", "VESTIG_STORE"),
        ("VESTIG_HYGENE__MIN_CHARS", "VESTIG_HYGIENE__MIN_CHARS"),
        ("VESTIG_STORES", "VESTIG_STORE"),
    ],
)
def test_unknown_variable(loaded: Loader, variable: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(env={variable: "1"})
    assert variable in str(caught.value)
    assert f"nearest valid one is {part}" in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("VESTIG_TOKEN", "serve.token_env is set by VESTIG_SERVE__TOKEN_ENV, to the name of the"),
        ("VESTIG_PORT", "serve.port is set by VESTIG_SERVE__PORT"),
        ("VESTIG_MODEL", "of this name are VESTIG_EMBEDDING__MODEL, VESTIG_ENTITIES__MODEL"),
    ],
)
def test_a_variable_without_its_section(loaded: Loader, variable: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(env={variable: "1"})
    assert f"{variable}: unknown variable; {said}" in str(caught.value)


def test_variables_of_tests_and_reserved_ones(loaded: Loader) -> None:
    config = loaded(
        env={
            "VESTIG_TEST_DATA": "x",
            "VESTIG_NAMESPACE": "007",
            "VESTIG_PROFILE": "baseline",
            "VESTIG_USAGE__EVENT_WEIGHTS__REINFORCE_NEAR": "0.5",
            "VESTIG_RECALL__PROFILES": "{p: {ranking.enabled: false}}",
        }
    )
    assert config.settings.namespace == "007"
    assert config.settings.ranking.base == "cosine"
    assert config.settings.usage.event_weights["REINFORCE_NEAR"] == 0.5
    assert config.profile_names == ("baseline", "default", "p", "reference")
    assert config.origin("namespace") == "environment VESTIG_NAMESPACE"


def test_show_names_secrets_but_never_prints_them(loaded: Loader) -> None:
    project = "embedding: {api_key_env: MY_KEY, base_url: 'https://me:pw@host/v1'}\n"
    shown = {e.key: e for e in show(loaded(project), {"MY_KEY": "hush"})}
    assert shown["embedding.api_key_env"].value == "MY_KEY"
    assert shown["embedding.api_key_env"].secret == "set"
    assert show(loaded(project), {})[0].key == "store.path"
    assert {e.key: e for e in show(loaded(project), {})}["embedding.api_key_env"].secret == "unset"
    assert shown["embedding.base_url"].value == "https://***@host/v1"
    assert "hush" not in repr(shown)


def test_every_key_is_explained(loaded: Loader) -> None:
    found = explanations(loaded())
    assert tuple(e.key for e in found) == KEYS
    assert all(e.meaning and e.allowed for e in found)
    with pytest.raises(ConfigError, match=r"hygiene\.min_chars"):
        explain(loaded(), "hygiene.min_char")
    assert [e.key for e in explain(loaded(), "decay")] == [
        "decay.basis",
    ]


def test_weights_by_environment_and_call(loaded: Loader) -> None:
    key = "ranking.weights.all.late_window"
    config = loaded(env={"VESTIG_RANKING__WEIGHTS__ALL__LATE_WINDOW": "1.5"})
    assert (config.entry(key).value, config.origin(key)[:11]) == (1.5, "environment")
    config = config.with_overrides({key: -2.5})
    assert weights_of(config.settings, "all")["late_window"] == -2.5
    [found] = explain(config, key)
    assert (found.value, found.default) == (-2.5, learned()["all"]["late_window"])


def test_what_is_off_or_weighs_nothing_is_absent(loaded: Loader) -> None:
    config = loaded("ranking.weights.all: {late: 2, late_window: 0}\n")
    settings = config.settings
    assert weights_of(settings, "all").keys() & {"late", "late_window"} == {"late"}
    assert {"late", "reply", "words"} <= set(weighing(settings))
    assert "rerank" not in weighing(settings)
    quiet = config.with_overrides({"signals.late.enabled": False}).settings
    assert weights_of(quiet, "all").keys().isdisjoint(LATE_TERMS), "all that compares word pieces"
    assert "late" in weighing(quiet), "what could be switched on"
