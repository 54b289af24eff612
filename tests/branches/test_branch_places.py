"""Work trees, clones, detached heads and default branches: which branch it is, and what is not
known."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from branch_work import FACT, FILE, Work, branch, change, scopes

from repositories import git, text_of, write
from vestig.errors import ValidationError
from vestig.repository.branches import checked_out


def test_a_detached_head_is_no_branch(work: Work) -> None:
    branch(work.folder)
    work.remember(FACT, FILE)
    git(work.folder, "checkout", "-q", "--detach")
    assert scopes(work) == (work.project,)
    assert work.seen() == set()
    assert work.remember("The pool is shared", FILE).scope == work.project
    assert work.store.branches.list().current is None
    git(work.folder, "checkout", "-q", "main")
    git(work.folder, "merge", "-q", "pool")
    git(work.folder, "checkout", "-q", "--detach")
    assert work.moved() == {FACT}


def test_a_branch_that_is_being_rebased_is_that_branch(work: Work) -> None:
    branch(work.folder)
    work.remember(FACT, FILE)
    git(work.folder, "checkout", "-q", "main")
    change(work.folder, "other")
    git(work.folder, "checkout", "-q", "pool")
    with pytest.raises(subprocess.CalledProcessError):
        git(work.folder, "rebase", "main")
    assert checked_out(work.folder) == "pool"
    assert work.seen() == {FACT}
    git(work.folder, "rebase", "--abort")
    with pytest.raises(subprocess.CalledProcessError):
        git(work.folder, "rebase", "--apply", "main")
    assert checked_out(work.folder) == "pool"


def test_each_work_tree_has_its_branch(work: Work, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(work.folder, "worktree", "add", "-q", "-b", "pool", str(other))
    change(other, "forty")
    there = Work(other, work.store)
    assert there.project == work.project
    assert there.remember(FACT, FILE).scope == work.scope("pool")
    (other / "src").joinpath("deep").mkdir()
    assert checked_out(other / "src/deep") == "pool"
    here = Work(work.folder, work.store)
    assert scopes(here) == (work.project, work.scope("main"))
    assert here.seen() == set()
    git(work.folder, "merge", "-q", "pool")
    assert here.moved() == {FACT} == here.seen()


def cloned(origin: Path, folder: Path, *words: str) -> Path:
    """A clone of a folder that takes it for a repository at a host."""
    git(origin, "clone", "-q", *words, f"file://{origin}", str(folder))
    git(folder, "remote", "set-url", "origin", "git@host.example:acme/rocket.git")
    ssh = folder.parent / f"{folder.name}-ssh"
    ssh.write_text(f'#!/bin/sh\nfor last; do :; done\nset -- $last\nexec "$1" "{origin}"\n')
    ssh.chmod(0o755)
    git(folder, "config", "core.sshCommand", str(ssh))
    git(folder, "config", "ssh.variant", "simple")
    return folder


@pytest.fixture
def origin(folder: Path) -> Path:
    git(folder, "branch", "-m", "main", "trunk")
    change(folder, "first", "README.md")
    git(folder, "config", "receive.denyCurrentBranch", "ignore")
    return folder


def pulled_request(origin: Path, *how: str) -> None:
    """The branch is merged at the remote, and deleted there."""
    git(origin, "checkout", "-q", "-f", "trunk")
    git(origin, "merge", "-q", *how, "pool")
    if "--squash" in how:
        git(origin, "commit", "-q", "-m", "pool as one")
    git(origin, "branch", "-q", "-D", "pool")


@pytest.mark.parametrize("how", ["--no-ff", "--squash"])
def test_a_branch_that_was_merged_at_the_remote(origin: Path, tmp_path: Path, how: str) -> None:
    work = Work(cloned(origin, tmp_path / "clone"))
    assert work.store.branches.list().default == "trunk"
    branch(work.folder)
    kept = work.remember(FACT, FILE)
    git(work.folder, "push", "-q", "origin", "pool")
    pulled_request(origin, how)
    assert work.moved() == set()
    git(work.folder, "fetch", "-q", "--prune")
    git(work.folder, "checkout", "-q", "trunk")
    git(work.folder, "branch", "-q", "-D", "pool")
    # the local default branch is behind the remote's
    assert work.moved() == {FACT}
    assert work.memory(kept.id).scope == "project:host.example/acme/rocket"


def test_a_branch_that_only_the_remote_has(origin: Path, tmp_path: Path) -> None:
    one = Work(cloned(origin, tmp_path / "one"))
    branch(one.folder)
    one.remember(FACT, FILE)
    git(one.folder, "push", "-q", "origin", "pool")
    two = Work(cloned(origin, tmp_path / "two"), one.store)
    assert two.project == one.project
    assert two.seen() == set()
    assert two.states() == {"pool": ("open", None, 0)}
    git(two.folder, "checkout", "-q", "pool")
    assert two.seen() == {FACT}
    # here no log says who made the commits, but the memory names one
    git(two.folder, "checkout", "-q", "trunk")
    git(two.folder, "branch", "-q", "-D", "pool")
    git(origin, "merge", "-q", "pool")
    git(two.folder, "fetch", "-q")
    assert two.states() == {"pool": ("merged", "history", 1)}
    assert two.moved() == {FACT}


def test_no_network_is_asked_for_what_a_clone_lacks(origin: Path, tmp_path: Path) -> None:
    git(origin, "config", "uploadpack.allowFilter", "true")
    work = Work(cloned(origin, tmp_path / "clone", "--filter=blob:none"))
    branch(work.folder)
    work.remember(FACT, FILE)
    change(origin, "fifty")
    git(work.folder, "fetch", "-q", "origin")
    asked = tmp_path / "asked"
    (tmp_path / "clone-ssh").write_text(f'#!/bin/sh\ntouch "{asked}"\nexit 1\n')
    assert work.moved() == set()
    assert work.remember("The pool is checked hourly", FILE).scope is not None
    assert not asked.exists()
    with pytest.raises(subprocess.CalledProcessError):
        git(work.folder, "show", "origin/trunk")
    assert asked.exists()


def test_a_shallow_clone_says_less_and_nothing_wrong(origin: Path, tmp_path: Path) -> None:
    work = Work(cloned(origin, tmp_path / "clone", "--depth", "1"))
    branch(work.folder)
    kept = work.remember(FACT, FILE)
    assert kept.scope == work.scope("pool")
    change(origin, "other", "README.md")
    git(work.folder, "fetch", "-q", "--depth", "1", "origin")
    # no common commit is known
    git(work.folder, "reset", "-q", "--soft", "HEAD")
    again = work.remember("The pool is checked hourly", FILE)
    assert again.scope == work.scope("pool")
    assert work.moved() == set()
    git(work.folder, "fetch", "-q", "--unshallow", "origin")
    git(work.folder, "push", "-q", "origin", "pool")
    pulled_request(origin, "--no-ff")
    git(work.folder, "fetch", "-q", "origin")
    assert work.moved() == {FACT, again.content}


def test_a_shallow_clone_of_one_branch_has_no_default_branch(origin: Path, tmp_path: Path) -> None:
    git(origin, "checkout", "-q", "-b", "pool")
    change(origin, "forty")
    git(origin, "checkout", "-q", "trunk")
    work = Work(cloned(origin, tmp_path / "clone", "--depth", "1", "--branch", "pool"))
    assert work.store.branches.list().default is None
    assert work.remember(FACT, FILE).scope == work.project


DEFAULTS: dict[str, tuple[list[list[str]], str | None]] = {
    "main": ([], "main"),
    "master": ([["branch", "-m", "main", "master"]], "master"),
    "main and master": ([["branch", "master"]], None),
    "another name": ([["branch", "-m", "main", "trunk"]], None),
    "configured": (
        [["branch", "-m", "main", "trunk"], ["config", "init.defaultBranch", "trunk"]], "trunk"
    ),
    "configured, not there": ([["config", "init.defaultBranch", "trunk"]], "main"),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_default_branch(work: Work, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    commands, default = DEFAULTS[name]
    for words in commands:
        git(work.folder, *words)
    assert work.store.branches.list().default == default
    branch(work.folder)
    kept = work.remember(FACT, FILE)
    assert kept.scope == (work.project if default is None else work.scope("pool"))
    if default is not None:
        git(work.folder, "checkout", "-q", default)
        git(work.folder, "merge", "-q", "pool")
        assert work.moved() == {FACT}


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "pool")
    work = Work(folder)
    write(folder, {FILE: "one\n"})
    assert work.remember(FACT, FILE).scope == work.project
    assert work.moved() == set()


@pytest.mark.parametrize("without", ["git folder", "program", "answers"])
def test_without_git_all_is_the_projects(
    work: Work, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, without: str
) -> None:
    branch(work.folder)
    kept = work.remember(FACT, FILE)
    if without == "git folder":
        (work.folder / ".git").rename(tmp_path / "away")
        with pytest.raises(ValidationError, match="a folder in a repository of git"):
            work.store.branches.list()
    elif without == "program":
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        monkeypatch.setattr("vestig.repository.branches.git_says", lambda *_, **__: b"")
    if without != "git folder":
        assert work.states() == {"pool": ("unknown", None, 0)}
        assert work.moved() == set()
        assert work.memory(kept.id).scope == work.scope("pool")
        # which branch is checked out stands in a file
        assert FACT in work.seen()
    again = work.remember("The pool is checked hourly", FILE)
    assert again.scope in (work.project, None) or without == "git folder"


def test_a_read_asks_no_program(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    branch(work.folder)
    work.remember(FACT, FILE)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert work.seen() == {FACT}


def test_references_that_are_no_files(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    folder.mkdir()
    try:
        git(folder, "init", "-q", "-b", "main", "--ref-format=reftable")
    except subprocess.CalledProcessError:
        pytest.skip("this git keeps references in files alone")
    write(folder, {FILE: text_of(1, 20)})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    work = Work(folder)
    branch(folder)
    assert work.remember(FACT, FILE).scope == work.scope("pool")
    assert work.seen() == {FACT}
    git(folder, "checkout", "-q", "main")
    assert work.seen() == set()
    git(folder, "merge", "-q", "pool")
    assert work.moved() == {FACT}
