"""The scope of a project."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from vestig.surfaces.hooks.sessions import project_scope


def git(folder: Path, *words: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    own = ("-c", "user.name=T", "-c", "user.email=t@t.invalid", "-c", "protocol.file.allow=always")
    subprocess.run(("git", *own, *words), cwd=folder, check=True, capture_output=True)


def cloned(folder: Path, *remotes: tuple[str, str]) -> Path:
    git(folder, "init", "-q")
    for name, url in remotes:
        git(folder, "remote", "add", name, url)
    return folder


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:acme/rocket.git",
        "github.com:acme/rocket",
        "https://github.com/acme/rocket.git",
        "https://user:pw@github.com/acme/rocket/",
        "ssh://git@host.example:2222/acme/rocket.git",
        "git://host.example/~srv/acme/rocket.git",
        "https://gitlab.example/groups/acme/rocket",
    ],
)
def test_a_remote_gives_owner_and_name(tmp_path: Path, url: str) -> None:
    assert project_scope(cloned(tmp_path, ("origin", url))) == "project:acme/rocket"


def test_every_folder_of_a_work_tree_is_one_project(tmp_path: Path) -> None:
    main = cloned(tmp_path / "main", ("origin", "git@h.example:acme/rocket.git"))
    git(main, "commit", "-q", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", "-q", "../other")
    inside = main / "src" / "deep"
    inside.mkdir(parents=True)
    assert {project_scope(one) for one in (main, inside, tmp_path / "other")} == {
        "project:acme/rocket"
    }


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    part = cloned(tmp_path / "part")
    git(part, "commit", "-q", "--allow-empty", "-m", "x")
    main = cloned(tmp_path / "main", ("origin", "git@h.example:acme/rocket.git"))
    git(main, "submodule", "add", "-q", str(part), "part")
    git(main / "part", "remote", "set-url", "origin", "git@h.example:acme/engine.git")
    assert project_scope(main / "part") == "project:acme/engine"


def test_origin_goes_first_and_another_counts_alone(tmp_path: Path) -> None:
    fork, base = ("fork", "git@h.example:me/rocket"), ("origin", "git@h.example:acme/rocket")
    assert project_scope(cloned(tmp_path / "a", fork, base)) == "project:acme/rocket"
    assert project_scope(cloned(tmp_path / "b", fork)) == "project:me/rocket"
    two = cloned(tmp_path / "c", fork, ("upstream", "git@h.example:acme/rocket"))
    assert project_scope(two).startswith("project:c-")


@pytest.mark.parametrize(
    "url", ["/srv/git/rocket.git", "../rocket", "file:///srv/x/rocket", "C:\\x"]
)
def test_a_remote_without_a_host_names_no_project(tmp_path: Path, url: str) -> None:
    assert project_scope(cloned(tmp_path / "here", ("origin", url))).startswith("project:here-")


def test_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "notes", tmp_path / "b" / "notes"
    for folder in (first, second):
        folder.mkdir(parents=True)
    scopes = {project_scope(first), project_scope(second)}
    assert len(scopes) == 2
    assert all(len(scope) == len("project:notes-") + 6 for scope in scopes)
    assert project_scope(tmp_path / "a" / "." / "notes") == project_scope(first)


def test_a_work_tree_without_remote_is_named_by_its_root(tmp_path: Path) -> None:
    root = cloned(tmp_path / "tree")
    (root / "src").mkdir()
    assert project_scope(root / "src") == project_scope(root)
    assert project_scope(root).startswith("project:tree-")


def test_a_damaged_configuration_of_git_is_no_error(tmp_path: Path) -> None:
    root = cloned(tmp_path / "tree", ("origin", "git@h.example:acme/rocket"))
    (root / ".git" / "config").write_bytes(b"no section\n\xff[[[")
    assert project_scope(root).startswith("project:tree-")
    (root / ".git" / "config").unlink()
    assert project_scope(root).startswith("project:tree-")
