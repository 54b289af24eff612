"""A project file that was merely found: what it may set, and how it is named instead."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import vestig
from tables import each
from vestig.config import Config, InvalidConfigError, load
from vestig.config.files import found_file_may_set
from vestig.config.schema import MAPPINGS, key_specs, spec_of
from vestig.errors import ConfigError
from vestig.surfaces.cli import run

KEYS = tuple(key_specs())

Loader = Callable[..., Config]

# Sections that a file may set wherever it was found; every other one only when it is named.
ANYWHERE = (
    "usage", "links", "questions", "walk", "ranking", "reference", "signals", "judge", "recall",
    "search", "decay", "retrieve",
)  # fmt: skip
REFUSED = tuple(
    key
    for key in KEYS
    if (key.split(".")[0] not in ANYWHERE and key != "time.zone")
    or key
    in (
        "questions.model",
        "ranking.weights",
        "recall.synthesize",
        "recall.query_entities",
        "retrieve.llm",
        "retrieve.llm_max_calls",
        "retrieve.message_blacklist",
    )
)
SECRET = "s3cret-of-the-environment"
WHY = "only a file that you name may set this, and this one was merely found; look at it, then"


class Environment(dict[str, str]):
    """Variables, with the names of those that were read."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.seen: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.seen.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.seen.add(name)
        return super().get(name, default)

    def items(self) -> Any:
        self.seen.update(self)
        return super().items()

    def values(self) -> Any:
        self.seen.update(self)
        return super().values()


class Audit:
    """Files opened, modules imported and addresses looked up, while `on`."""

    def __init__(self) -> None:
        self.on = False
        self.opened: list[str] = []
        self.imported: list[str] = []
        self.asked: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open":
            self.opened.append(str(arguments[0]))
        elif event == "import":
            self.imported.append(str(arguments[0]))
        elif event.startswith("socket."):
            self.asked.append(event)


@pytest.fixture(scope="module")
def hook() -> Audit:
    audit = Audit()
    sys.addaudithook(audit)
    return audit


@pytest.fixture
def audit(hook: Audit) -> Iterator[Audit]:
    hook.opened, hook.imported, hook.asked, hook.on = [], [], [], True
    try:
        yield hook
    finally:
        hook.on = False


@pytest.fixture
def below(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, two folders below the one with the project file."""
    folder = home / "project" / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    return folder


def _write(home: Path, text: str, name: str = "vestig.yaml") -> Path:
    file = home / "project" / name
    file.write_text(text, encoding="utf-8")
    return file.resolve()


def _value(key: str) -> Any:
    spec = key_specs()[key]
    if key == "entities.ontology":
        return "insight"
    if spec.default is not None:
        return spec.default
    return 7 if "integer" in spec.allowed else "other"


def test_the_keys_that_only_a_named_file_may_set() -> None:
    assert {key for key in KEYS if not found_file_may_set(key)} == set(REFUSED)
    for key in ("questions.model", "recall.synthesize", "recall.query_entities", "ranking.weights"):
        section = key.partition(".")[0]
        assert not found_file_may_set(key)
        assert not found_file_may_set(section), "null resets all of it"
    assert not found_file_may_set("ranking.weights.note.cosine")
    assert found_file_may_set("walk"), "all of it may be set"
    assert not found_file_may_set("llm.provider")
    assert not found_file_may_set("recallx.profile")


@each("key", [key for key in REFUSED if key not in MAPPINGS])
def test_a_refused_key_is_named_with_its_line_and_what_to_do(
    loaded: Loader, home: Path, key: str
) -> None:
    text = f"# a comment\nwalk: {{max_nodes: 3}}\n{key}: {json.dumps(_value(key))}\n"
    file = home / "project" / "vestig.yaml"
    with pytest.raises(InvalidConfigError) as caught:
        loaded(text, found=True)
    [problem] = caught.value.problems
    named = shlex.quote(str(file))
    assert problem.text() == (
        f"{file}:3: {key}: {WHY} name it with --config {named}, VESTIG_CONFIG={named} or config="
    )
    # the same file does as it says where the caller names it
    assert loaded(text).effective()[key].layer == "project"


@pytest.mark.parametrize(
    "text",
    [
        "ranking: {weights: {note: {cosine: -9}}}",
        "ranking.weights.note.cosine: 2",
        "recall: {profiles: {own: {ranking.weights: {note: {cosine: 2}}}}}",
        "recall.profiles.own.ranking.weights: own.json",
        "ranking.weights: own.json",
        "hygiene: {near_duplicate: {threshold: 0, enabled: true}}",
        "hygiene:",
        "hygiene.max_chars: 1",
        "recall.synthesize:",
        "recall: {query_entities: null}",
        "keywords: {stopwords: [peanuts]}",
        "entities: {enabled: false}",
        "prompts: {plan_queries: Mine}",
        "prompts.plan_queries: {user: Mine}",
        "lifecycle: {retention: {standard_half_life_days: 1}}",
    ],
)
def test_what_a_found_file_may_not_say_is_refused_in_every_spelling(
    loaded: Loader, text: str
) -> None:
    with pytest.raises(InvalidConfigError, match=WHY):
        loaded(f"{text}\n", found=True)


# Values at the ends of their ranges, of everything that a found file may set.
EXTREMES: dict[str, tuple[Any, ...]] = {
    "true or false": (True, False),
    "number": (0, 1, 0.001, 1_000),
    "integer": (0, 1, 1_000),
}


@pytest.mark.slow
def test_no_file_that_was_found_loses_a_text(loaded: Loader, tmp_path: Path) -> None:
    """Each key that it may set, at the ends of its range: what is committed is there."""
    texts = (
        "The pier in Oslo is 17 metres long.",
        "My daughter is allergic to peanuts.",
        "The spare key hangs behind the boiler.",
        "The pier in Oslo is 18 metres long.",
    )
    accepted = 0
    for key, spec in key_specs().items():
        if not found_file_may_set(key) or key == "signals.rerank.enabled":  # needs a reranker
            continue
        values = next((v for name, v in EXTREMES.items() if name in spec.allowed), ())
        for value in values:
            try:
                loaded(f"{key}: {json.dumps(value)}\n", found=True)
            except ConfigError:  # out of its range
                continue
            accepted += 1
            config = {"embedding.provider": "hashing", "embedding.dimension": 8, key: value}
            with vestig.open(":memory:", config=config) as store:
                for text in texts:
                    assert store.commit(text).outcome.value == "INSERTED_NEW", (key, value)
                assert {one.content for one in store.list()} == set(texts), (key, value)
    assert accepted > 100


@pytest.mark.parametrize(
    ("section", "kept", "reset"),
    [
        ("recall", "recall.query_entities: llm", "recall.default_limit: 3"),
        ("retrieve", "retrieve.llm_max_calls: 1", "retrieve.max_facts: 7"),
    ],
)
def test_an_empty_section_of_a_found_file_resets_what_it_may_set(
    loaded: Loader, section: str, kept: str, reset: str
) -> None:
    user = f"{kept}\n{reset}\n"
    own, found = loaded(user=user), loaded(f"{section}:\n", found=True)
    (kept_key, reset_key) = (one.partition(":")[0] for one in (kept, reset))
    assert found.entry(kept_key) == own.entry(kept_key)
    assert found.entry(reset_key).value == spec_of(reset_key).default
    assert (found.entry(kept_key).layer, found.entry(reset_key).layer) == ("user", "built-in")


HOSTILE = """\
include: evil.yaml
namespace: theirs
store: {path: their-store}
embedding:
  provider: spy_module
  base_url: http://203.0.113.7:9/
  api_key_env: SECRET
reranker: {provider: 'spy_module:make', model: /etc}
keywords: {stopwords: [fine]}
entities:
  ontology: [{name: A, description: theirs}]
ranking: {weights: evil.json}
recall:
  profile: theirs
  profiles:
    theirs: {ranking.weights: evil.json, ranking.base: '${SECRET:-x}'}
hooks: {strict: true}
enrichment:
lifecycle: &l {default_policy: permanent}
hygiene: {min_chars: 1}
"""
LINES = {
    "namespace": 2,
    "store.path": 3,
    "embedding.provider": 5,
    "embedding.base_url": 6,
    "embedding.api_key_env": 7,
    "reranker.provider": 8,
    "reranker.model": 8,
    "keywords.stopwords": 9,
    "entities.ontology": 11,
    "ranking.weights": 12,
    "recall.profiles.theirs.ranking.weights": 16,
    "hooks.strict": 17,
    "enrichment.mode": 18,
    "lifecycle.default_policy": 19,
    "hygiene.min_chars": 20,
}


@pytest.fixture
def hostile(home: Path, below: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that somebody else filled, above the working directory."""
    _write(home, "namespace: evil\n", "evil.yaml")
    _write(home, "{}", "evil.json")
    _write(home, "SECRET=no\n", ".env")
    _write(home, "raise SystemExit('imported')\n", "spy_module.py")
    monkeypatch.syspath_prepend(str(home / "project"))
    return _write(home, HOSTILE)


@pytest.mark.parametrize(
    "act",
    [
        vestig.open,
        lambda: vestig.open("mine"),
        lambda: vestig.open("mine", config={"recall.default_limit": 3}),
        load,
        lambda: run(["memory", "add", "The office is in Oslo", "--store", "mine"]),
        lambda: run(["memory", "recall", "office", "--namespace", "mine"]),
        lambda: run(["config", "show", "--all"]),
        lambda: run(["config", "explain", "namespace"]),
        lambda: run(["doctor", "--store", "mine"]),
    ],
    ids=["open", "open path", "open keys", "load", "add", "recall", "show", "explain", "doctor"],
)
def test_a_hostile_folder_leads_nowhere(
    hostile: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    audit: Audit,
    act: Callable[[], Any],
) -> None:
    home = hostile.parents[1]
    environ = Environment({**os.environ, "SECRET": SECRET})
    before = set(home.rglob("*"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "environ", environ)
        try:
            assert act() == 2
            text = capfd.readouterr().err
        except ConfigError as error:
            text = str(error)
    audit.on = False
    for key, line in LINES.items():
        assert f"{hostile}:{line}: {key}: {WHY} name it with --config" in text, key
    assert text.count(f"VESTIG_CONFIG={shlex.quote(str(hostile))} or config=") == text.count("- /")
    assert SECRET not in text
    assert "SECRET" not in environ.seen
    inside = {Path(name).name for name in audit.opened if str(home / "project") in name}
    assert inside == {"vestig.yaml"}
    assert "spy_module" not in {*audit.imported, *sys.modules}
    assert audit.asked == []
    assert set(home.rglob("*")) == before


ALLOWED = """\
time: {zone: Europe/Oslo}
usage: {k: 0.5}
links: {related: {enabled: false}}
questions: {enabled: false}
walk: {max_nodes: 7}
ranking: {base: blend}
reference: {alpha_meta: 0.1}
signals: {late: {enabled: false}}
recall: {profile: own, profiles: {own: {ranking.pool: 9}}}
search: {limit: 3}
decay: {basis: creation}
"""


def test_what_shapes_ranking_and_layout_acts_wherever_it_was_found(
    loaded: Loader, home: Path
) -> None:
    config = loaded(ALLOWED, found=True)
    settings = config.settings
    assert (settings.time.zone, settings.ranking.base) == ("Europe/Oslo", "blend")
    assert (settings.walk.max_nodes, settings.ranking.pool) == (7, 9)
    assert len({key for key, e in config.effective().items() if e.layer == "project"}) >= 11
    assert not (home / "state").exists()


@each("text", ["recall: 5\n", "usage: x\n", "recall: [1]\n"])
def test_a_value_in_the_place_of_an_open_section_is_of_a_wrong_type(
    loaded: Loader, text: str
) -> None:
    for found in (True, False):
        with pytest.raises(ConfigError, match="expected a mapping, this is a section") as caught:
            loaded(text, found=found)
        assert WHY not in str(caught.value)


def test_unknown_keys_of_a_found_file_are_unknown(loaded: Loader) -> None:
    with pytest.raises(ConfigError, match=r"hygene\.min_chars: unknown key"):
        loaded("hygene: {min_chars: 3}\n", found=True)


def test_named_files_and_the_users_own_set_everything(
    home: Path, below: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _write(home, "namespace: named\n")
    with pytest.raises(ConfigError, match=WHY):
        load()
    assert load(file).settings.namespace == "named"
    assert vestig.open(":memory:", config=file)._session.namespace == "named"
    monkeypatch.setenv("VESTIG_CONFIG", str(file))
    assert load().settings.namespace == "named"
    monkeypatch.delenv("VESTIG_CONFIG")
    file.unlink()
    own = home / "config" / "vestig" / "config.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("namespace: own\n", encoding="utf-8")
    assert load().settings.namespace == "own"
