"""Working folders that may not be read, or that are gone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import vestig
from command_lines import Answer
from isolation import as_nobody
from vestig.config import load
from vestig.errors import ConfigError, ValidationError
from vestig.surfaces.cli import run
from vestig.testing import HashingEmbedder

LOCKED = r"project/vestig\.yaml: cannot be looked for: Permission denied; work in a folder"
GONE = "the working folder cannot be used: No such file or directory; change to one that exists"


@pytest.fixture
def locked(home: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working folder, which may not be searched. What a file is read with is loaded before:
    modules of the interpreter may not be readable for that user."""
    named = home / "named.yaml"
    named.write_text("namespace: work\n", encoding="utf-8")
    load(named)
    isolated.chmod(0o755)
    monkeypatch.chdir(home / "project")
    (home / "project").chmod(0)
    with as_nobody(home / "project"):
        yield home / "project"
    (home / "project").chmod(0o755)


@pytest.fixture
def gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, which has been deleted."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    return folder


def test_a_folder_that_may_not_be_read_may_hold_a_file(locked: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=LOCKED):
        load()
    with pytest.raises(ConfigError, match=LOCKED):
        vestig.open(tmp_path / "s", embedder=HashingEmbedder(8))
    with pytest.raises(ConfigError, match=r"project/own\.yaml: cannot be read: Permission denied"):
        load("own.yaml")


def test_a_file_that_is_named_is_used_there(
    home: Path, locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = home / "named.yaml"
    assert load(named).settings.namespace == "work"
    monkeypatch.setenv("VESTIG_CONFIG", str(named))
    assert load().settings.namespace == "work"


def test_files_of_another_user_may_not_be_read(
    home: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a command runs with the rights of one user and the home of another."""
    request.getfixturevalue("locked")
    monkeypatch.chdir("/")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "project"))
    with pytest.raises(ConfigError, match=r"vestig/config\.yaml: cannot be read: Permission"):
        load()


def test_a_folder_that_is_gone(gone: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=GONE):
        load()
    with pytest.raises(ConfigError, match=GONE):
        vestig.open(tmp_path / "s", embedder=HashingEmbedder(8))
    config = load(cwd=tmp_path)
    with pytest.raises(ValidationError, match="path: expected an absolute path"):
        vestig.open("s", config=config, embedder=HashingEmbedder(8))
    with vestig.open(tmp_path / "s", config=config, embedder=HashingEmbedder(8)) as store:
        assert store.count() == 0


@pytest.mark.parametrize("state", ["locked", "gone"])
def test_commands_say_so(
    state: str, request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = (["recall", "noon"], ["config", "show"], ["--help"])

    def answer(*words: str) -> Answer:
        capfd.readouterr()
        return Answer(run(words), *capfd.readouterr())

    # what a command is made of is loaded before, as in `locked`
    for words in lines:
        answer(*words, "--json")
    request.getfixturevalue(state)
    expected = "vestig.yaml: cannot be looked for" if state == "locked" else GONE
    for words in lines[:2]:
        said = answer(*words)
        assert (said.code, said.out, said.err[:7]) == (2, "", "Error: ")
        assert expected in said.err
        problem = answer(*words, "--json").problem
        assert problem["type"] == "urn:vestig:problem:config"
        assert expected in problem["detail"]
    said = answer("--help")
    assert (said.code, said.err, said.out[:13]) == (0, "", "Usage: vestig")


def dangling(path: Path) -> None:
    path.symlink_to("../away/config.yaml")


def looped(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize("make", [dangling, looped, Path.mkdir, os.mkfifo])
@pytest.mark.parametrize("name", ["project/vestig.yaml", "user/vestig/config.yaml", "user/vestig"])
def test_a_name_that_leads_to_no_file_is_not_passed_over(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    """The file that is away may name the store: another one is not used in its place."""
    (tmp_path / "project").mkdir()
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    make(tmp_path / name)
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "user")}
    if name == "user/vestig" and make in (Path.mkdir, os.mkfifo):
        assert load(environ=environ, cwd=tmp_path / "project").settings.namespace == "default"
        return
    wanted = "expected a (link to what is there|file, found)"
    with pytest.raises(ConfigError, match=f"{re.escape(str(tmp_path / name))}: {wanted}"):
        load(environ=environ, cwd=tmp_path / "project")


def test_a_link_to_a_file_is_read_and_a_device_or_no_file_is_none(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "user")}
    assert load(environ=environ, cwd=tmp_path).settings.namespace == "default"
    (tmp_path / "dot").mkdir()
    (tmp_path / "dot" / "config.yaml").write_text("namespace: work\n")
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "vestig").symlink_to(tmp_path / "dot")
    assert load(environ=environ, cwd=tmp_path).settings.namespace == "work"
    (tmp_path / "dot" / "config.yaml").unlink()
    (tmp_path / "dot" / "config.yaml").symlink_to(os.devnull)
    (tmp_path / "vestig.yaml").symlink_to(os.devnull)
    assert load(environ=environ, cwd=tmp_path).settings.namespace == "default"
