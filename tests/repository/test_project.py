"""The scope of a project."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tables import each
from vestig.repository.project import project_scope, remote_name


def git(folder: Path, *words: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    own = ("-c", "user.name=T", "-c", "user.email=t@t.invalid", "-c", "protocol.file.allow=always")
    subprocess.run(("git", *own, *words), cwd=folder, check=True, capture_output=True)


def cloned(folder: Path, *remotes: tuple[str, str]) -> Path:
    git(folder, "init", "-q")
    for name, url in remotes:
        git(folder, "remote", "add", name, url)
    return folder


ADDRESSES = {
    "github.com/acme/rocket": [
        "git@github.com:acme/rocket.git",
        "github.com:acme/rocket",
        "git@github.com:/Acme/Rocket.git/",
        "https://github.com/acme/rocket.git",
        "https://user:pw@GitHub.com:443/acme//rocket/",
        "ssh://git@ssh.github.com:443/acme/rocket.git",
        "git+ssh://git@github.com/acme/rocket",
        "org-12@github.com:acme/rocket.git",
    ],
    "host.example:2222/acme/rocket": ["ssh://git@host.example:2222/acme/rocket.git"],
    "host.example/acme/rocket": [
        "ssh://host.example:22/acme/rocket",
        "http://host.example/acme/rocket",
    ],
    "gitlab.com/north/crew/web": [
        "https://gitlab.com/north/crew/web.git",
        "git@gitlab.com:north/crew/web",
    ],
    "gitlab.com/south/crew/web": ["https://gitlab.com/south/crew/web.git"],
    "evil.example/acme/rocket": ["https://evil.example/acme/rocket.git"],
    "evil.example/rocket": ["git@evil.example:rocket.git"],
    "[::1]/acme/rocket": ["ssh://git@[::1]/acme/rocket", "git@[::1]:acme/rocket"],
    "ann@host.example/web": ["ann@host.example:web.git"],
    "host.example/acme/rocket%40fix": [
        "git@host.example:acme/rocket@fix.git",
        "https://host.example/acme/rocket%40fix",
    ],
    "host.example/acme/rocket%2540fix": ["https://host.example/acme/rocket%2540fix"],
    "host.example/a%2Fb%40c": ["https://host.example/a%2Fb@c"],
    "host.example/100%25": ["https://host.example/100%25"],
    "ben@host.example/web": ["ben@host.example:web.git"],
    "dev.azure.com/north/my harbour/web": [
        "https://dev.azure.com/north/My%20Harbour/_git/web",
        "https://north@dev.azure.com/north/My%20Harbour/_git/web/",
        "git@ssh.dev.azure.com:v3/north/My%20Harbour/web",
        "https://north.visualstudio.com/My%20Harbour/_git/web",
        "https://north.visualstudio.com/DefaultCollection/My%20Harbour/_git/web",
        "north@vs-ssh.visualstudio.com:v3/north/My%20Harbour/web",
        "ssh://north@vs-ssh.visualstudio.com:22/My%20Harbour/_ssh/web",
    ],
    "dev.azure.com/south/other/web": ["https://dev.azure.com/south/Other/_git/web"],
    "dev.azure.com/north/web/web": [
        "https://dev.azure.com/north/_git/web",
        "git@ssh.dev.azure.com:v3/north/web/web",
    ],
}


@each(("name", "url"), [(name, url) for name, urls in ADDRESSES.items() for url in urls])
def test_a_remote_is_named_by_its_host_and_whole_path(name: str, url: str) -> None:
    assert remote_name(url) == name


@each(
    "url",
    [
        "/srv/git/rocket.git",
        "../rocket",
        "file:///srv/git/north/rocket",
        "file://server/north/rocket",
        "C:\\x",
        "c:/code/rocket",
        "ext::ssh host %S acme",
        "codecommit::eu-west-1://web",
        "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/web",
        "https://host.example/",
        "https://host.example/a/../b",
        "https://host.example/.git",
        "git@host.example:acme/roc\x1bket",
        "https://host.example/" + "a/" * 400,
        "",
    ],
)
def test_an_address_that_does_not_say_which_repository_it_is_names_none(url: str) -> None:
    assert remote_name(url) is None


def test_an_address_that_git_rewrites_is_named_as_git_uses_it(tmp_path: Path) -> None:
    here = cloned(tmp_path / "here", ("origin", "gh:acme/rocket"))
    git(here, "config", "url.https://git.wrong.example/.insteadOf", "g")
    git(here, "config", "url.git@github.com:.insteadOf", "gh:")
    assert project_scope(here) == "project:github.com/acme/rocket"


def test_a_long_name_of_a_folder_gives_a_scope_that_a_store_takes(tmp_path: Path) -> None:
    folder = tmp_path / ("n" * 250)
    folder.mkdir()
    assert len(project_scope(folder)) <= 200


def test_no_name_of_a_folder_reads_as_a_branch_of_another(tmp_path: Path) -> None:
    folder = tmp_path / "rocket@fix"
    folder.mkdir()
    assert project_scope(folder).startswith("project:rocket%40fix-")


def test_work_trees_of_a_clone_without_remote_are_one_project(tmp_path: Path) -> None:
    main = cloned(tmp_path / "main")
    git(main, "commit", "-q", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", "-q", "../other")
    assert project_scope(tmp_path / "other") == project_scope(main)
    assert project_scope(main).startswith("project:main-")
    (tmp_path / "link").symlink_to(main)
    assert project_scope(tmp_path / "link") == project_scope(main)


def test_every_folder_of_a_work_tree_is_one_project(tmp_path: Path) -> None:
    main = cloned(tmp_path / "main", ("origin", "git@h.example:acme/rocket.git"))
    git(main, "commit", "-q", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", "-q", "../other")
    inside = main / "src" / "deep"
    inside.mkdir(parents=True)
    assert {project_scope(one) for one in (main, inside, tmp_path / "other")} == {
        "project:h.example/acme/rocket"
    }


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    part = cloned(tmp_path / "part")
    git(part, "commit", "-q", "--allow-empty", "-m", "x")
    main = cloned(tmp_path / "main", ("origin", "git@h.example:acme/rocket.git"))
    git(main, "submodule", "add", "-q", str(part), "part")
    git(main / "part", "remote", "set-url", "origin", "git@h.example:acme/engine.git")
    assert project_scope(main / "part") == "project:h.example/acme/engine"


def test_origin_goes_first_and_another_counts_alone(tmp_path: Path) -> None:
    fork, base = ("fork", "git@h.example:me/rocket"), ("origin", "git@h.example:acme/rocket")
    assert project_scope(cloned(tmp_path / "a", fork, base)) == "project:h.example/acme/rocket"
    assert project_scope(cloned(tmp_path / "b", fork)) == "project:h.example/me/rocket"
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
    assert all(len(scope) == len("project:notes-") + 16 for scope in scopes)
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
