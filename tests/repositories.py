"""Folders with files and histories for tests of anchors."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from vestig.testing import HashingEmbedder

EMBEDDER = HashingEmbedder(32)


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
    """A repository with one commit of these files."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Writes files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
