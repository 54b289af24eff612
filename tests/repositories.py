"""Folders with files and histories for tests of anchors."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from vestig.testing import HashingEmbedder

EMBEDDER = HashingEmbedder(32)
# The files of repositories that were made, those of git among them.
_made: dict[tuple[tuple[str, str], ...], dict[str, bytes]] = {}


def text_of(first: int, last: int, word: str = "line") -> str:
    """Lines of a file, each of its own."""
    return "".join(f"{word} {number}\n" for number in range(first, last + 1))


def git(folder: Path, *words: str) -> str:
    """What git says in a folder."""
    own = ("-c", "user.name=T", "-c", "user.email=t@t.invalid", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ("git", *own, *words), cwd=folder, check=True, capture_output=True, env=_environment()
    )
    return done.stdout.decode("utf-8", "replace")


def _environment() -> dict[str, str]:
    return {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository with one commit of these files. The first one of these files is made by git, and
    those after it are copies."""
    key = tuple(sorted(files.items()))
    if key in _made:
        _write(folder, _made[key])
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main", "--template=")
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    paths = (path for path in folder.rglob("*") if path.is_file())
    _made[key] = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    return folder


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Writes files below a folder."""
    _write(folder, {name: text.encode() for name, text in files.items()})


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
