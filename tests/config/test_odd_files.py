"""Files as people and programs write them: each read as it was meant, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tables import each
from vestig.config import Config, InvalidConfigError
from vestig.errors import ConfigError

Loader = Callable[..., Config]

REFUSED: list[tuple[str, str]] = [
    ("hygiene: min_chars: 3\n", "vestig.yaml:1: unreadable YAML"),
    ("hygiene:\n\tmin_chars: 3\n", "vestig.yaml:2: unreadable YAML"),
    ("hygiene:\n  min_chars: 3\n max_chars: 9\n", "unreadable YAML"),
    ("hygiene: [min_chars, 3]\n", "this is a section"),
    ("hygiene: min_chars\n", "this is a section"),
    ("hygiene: true\n", "this is a section"),
    ("- hygiene: {min_chars: 3}\n", "expected a mapping"),
    ("3\n", "expected a mapping"),
    ("'text'\n", "expected a mapping"),
    ("a: 1\n---\nb: 2\n", "expected one document"),
    ("%YAML 1.2\n", "unreadable YAML"),
    ("{walk: {max_nodes: 3}\n", "unreadable YAML"),
    ("walk: {max_nodes: 3}}\n", "unreadable YAML"),
    ("walk: {max_nodes: 'three'}\n", "walk.max_nodes: expected an integer"),
    ("walk: {max_nodes: '3'}\n", "walk.max_nodes: expected an integer"),
    ("walk: {max_nodes: 3.0}\n", "walk.max_nodes: expected an integer"),
    ("walk: {max_nodes: 3_000}\n", "walk.max_nodes: expected an integer"),
    ("walk: {max_nodes: 3,000}\n", "walk.000: unknown key"),
    ("walk: {max_nodes: -3}\n", "≥ 1"),
    ("walk: {max_nodes: 0}\n", "≥ 1"),
    ("walk: {max_nodes: 2147483648}\n", "≤ 2147483647"),
    ("walk: {max_nodes: .inf}\n", "walk.max_nodes: expected an integer"),
    ("walk: {max_nodes: [3]}\n", "walk.max_nodes: expected an integer"),
    ("walk: {max_nodes: {a: 3}}\n", "walk.max_nodes.a: unknown key"),
    ("walk: {max_nodes: true}\n", "walk.max_nodes: expected an integer"),
    ("walk: {max_nodes: 1e2}\n", "walk.max_nodes: expected an integer"),
    ("walk: {maxNodes: 3}\n", "nearest valid key is walk.max_nodes"),
    ("walk: {max-nodes: 3}\n", "nearest valid key is walk.max_nodes"),
    ("Walk: {max_nodes: 3}\n", "Walk.max_nodes: unknown key"),
    ("walk.: {max_nodes: 3}\n", "unknown key"),
    (".walk: {max_nodes: 3}\n", "unknown key"),
    ("walk..max_nodes: 3\n", "unknown key"),
    ("'walk max_nodes': 3\n", "unknown key"),
    ("'': 3\n", "unknown key"),
    ("1: 3\n", "unknown key"),
    ("true: 3\n", "unknown key"),
    ("walk: {enabled: yes}\n", "walk.enabled: expected true or false, got 'yes'"),
    ("walk: {enabled: off}\n", "walk.enabled: expected true or false, got 'off'"),
    ("walk: {enabled: 1}\n", "walk.enabled: expected true or false, got 1"),
    ("walk: {enabled: 'true'}\n", "walk.enabled: expected true or false"),
    ("walk: {enabled: []}\n", "walk.enabled: expected true or false"),
    ("walk: {mode: Deterministic}\n", "probabilistic | deterministic"),
    ("walk: {mode: [deterministic]}\n", "probabilistic | deterministic"),
    ("walk: {edge_types: RELATED}\n", "walk.edge_types: expected a list"),
    ("walk: {edge_types: [related]}\n", "walk.edge_types: expected a list"),
    ("walk: {seed: 9007199254740992}\n", "walk.seed"),
    ("walk: {min_signal: 1.5}\n", "≥ 0 and ≤ 1"),
    ("walk: {min_signal: -0.1}\n", "≥ 0 and ≤ 1"),
    ("walk: {min_signal: .nan}\n", "walk.min_signal"),
    ("walk: {min_signal: 50%}\n", "walk.min_signal"),
    ("walk: {min_signal: 0,5}\n", "unknown key"),
    ("usage: {dynamic_tau_days: 0}\n", "usage.dynamic_tau_days"),
    ("usage: {event_weights: {reinforce: 1}}\n", "unknown type of event 'reinforce'"),
    ("usage: {event_weights: {REINFORCE_NEAR: 2}}\n", "≥ 0 and ≤ 1"),
    ("usage: {event_weights: [1]}\n", "usage.event_weights"),
    ("ranking: {weights: {nobody: {date: 1}}}\n", "unknown kind 'nobody'"),
    ("ranking: {weights: {all: {wrods: 1}}}\n", "the nearest is words"),
    ("signals: {topics: {enabled: false}}\n", "nearest valid key is signals.topic.enabled"),
    ("signals: {answer: {enabled: false}}\n", "signals.answer.enabled: unknown key"),
    (
        "ranking: {weights: {all: {first_person: 1}}}\n",
        "unknown term 'first_person'; expected one of ",
    ),
    ("signals: {sitting: {enabled: false}}\n", "nearest valid key is signals.sittings.enabled"),
    ("ranking: {weights: {all: {date: heavy}}}\n", "a finite number"),
    ("ranking: {weights: {all: {date: .inf}}}\n", "a finite number"),
    ("ranking: {weights: gone.json}\n", "file of weights not found"),
    ("recall: {default_limit: null, default_limit: 3}\n", "duplicate key 'default_limit'"),
    ("recall: {format: xml}\n", "text | compact | explain | list | json"),
    ("recall: {profile: [default]}\n", "recall.profile: expected text"),
    ("recall: {profile: ''}\n", "recall.profile"),
    ("recall: {profiles: {a: {recall.profile: default}}}\n", "a profile cannot set"),
    ("recall: {profiles: {a: {store.path: x}}}\n", "a profile cannot set"),
    ("recall: {profiles: {default: {walk.enabled: false}}}\n", "shipped profile"),
    ("recall: {min_score: 1.1}\n", "≥ 0 and ≤ 1"),
    ("namespace: a/b\n", "a-z 0-9 . _ -"),
    ("namespace: 5\n", "namespace: expected"),
    ("namespace: ''\n", "namespace: expected"),
    ("store: {path: [x]}\n", "store.path: expected text"),
    ("store: {path: 5}\n", "store.path: expected text"),
    ("store: {durability: none}\n", "full | normal"),
    ("embedding: {api_key_env: 'sk-12 34'}\n", "the name of an environment variable"),
    ("embedding: {dimension: 8193}\n", "≤ 8192"),
    ("time: {zone: CEST+2}\n", "a time zone such as UTC"),
    ("keywords: {stopwords: [a, 5]}\n", "keywords.stopwords: expected a list"),
    ("keywords: {stopwords: a}\n", "keywords.stopwords: expected a list"),
    ("walk: {max_nodes: 3}\nwalk.max_nodes: 4\n", "the key is given twice; keep one"),
    ("search: {top_k: 3}\n", "search.top_k: unknown key"),
    ("include: [other.yaml]\n", "include: unknown key"),
    ("walk: {max_nodes: '${NODES}'}\n", "expected an integer ≥ 1 and ≤ 2147483647, got '${NODES}'"),
    ("walk: {max_nodes: !!int x}\n", "unreadable YAML"),
    ("walk: {max_nodes: *n}\n", "undefined alias"),
]

READ: list[tuple[str, str, Any]] = [
    ("", "walk.max_nodes", 20),
    ("---\n", "walk.max_nodes", 20),
    ("null\n", "walk.max_nodes", 20),
    ("{}\n", "walk.max_nodes", 20),
    ("\ufeffwalk: {max_nodes: 3}\n", "walk.max_nodes", 3),
    ("walk: {max_nodes: 3}", "walk.max_nodes", 3),
    ("walk:\r\n  max_nodes: 3\r\n", "walk.max_nodes", 3),
    ('{"walk": {"max_nodes": 3}}\n', "walk.max_nodes", 3),
    ("walk.max_nodes: 3\n", "walk.max_nodes", 3),
    ("walk: {max_nodes: 0x10}\n", "walk.max_nodes", 16),
    ("walk: {max_nodes: +3}\n", "walk.max_nodes", 3),
    ("walk: {max_nodes: ~}\n", "walk.max_nodes", 20),
    ("walk: &w {max_nodes: 3}\n", "walk.max_nodes", 3),
    ("walk: {min_signal: 1}\n", "walk.min_signal", 1.0),
    ("walk: {min_signal: 5e-1}\n", "walk.min_signal", 0.5),
    ("walk: {seed: 0}\n", "walk.seed", 0),
    ("namespace: '007'\n", "namespace", "007"),
    ("keywords: {stopwords: []}\n", "keywords.stopwords", []),
    ("%YAML 1.1\n---\nkeywords: {stopwords: [no]}\n", "keywords.stopwords", ["no"]),
    ("ranking.weights.all: {date: 0}\n", "ranking.weights.all.date", 0),
]


def test_thousands_of_unknown_keys_are_refused_by_the_first_twenty(loaded: Loader) -> None:
    text = "walk: {" + ", ".join(f"k{n}: 1" for n in range(8000)) + "}\n"
    with pytest.raises(InvalidConfigError) as caught:
        loaded(text)
    assert [problem.key for problem in caught.value.problems] == [f"walk.k{n}" for n in range(20)]


def test_there_are_enough_files() -> None:
    assert len({text for text, _ in REFUSED}) >= 80
    assert len({text for text, *_ in READ}) >= 20


@each(("text", "part"), REFUSED)
def test_a_file_that_is_wrong_is_refused_with_the_reason(
    loaded: Loader, text: str, part: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(text)
    assert part in str(caught.value)


@each(("text", "key", "value"), READ)
def test_a_file_that_is_right_is_read_as_it_was_meant(
    loaded: Loader, text: str, key: str, value: Any
) -> None:
    assert loaded(text).entry(key).value == value


def test_a_value_is_the_text_that_stands_there(loaded: Loader, home: Path) -> None:
    """No variable is put in, and no other file is read."""
    (home / "project" / ".env").write_text("A=from-a-file\n", encoding="utf-8")
    text = "embedding: {model: 'm-${A:-b}-$${A}'}\nkeywords: {stopwords: ['${A}']}\n"
    config = loaded(text, env={"A": "from-the-environment"})
    assert config.settings.embedding.model == "m-${A:-b}-$${A}"
    assert config.settings.keywords.stopwords == ("${A}",)
