"""An agent at work in a repository, with a store in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import vestig
from repositories import git
from vestig.repository.branches import read_scopes
from vestig.surfaces.mcp import answers
from vestig.surfaces.mcp.answers import OpenStore
from vestig.testing import HashingEmbedder
from vestig.types import Memory

FILE = "src/db.py"
OTHER = "src/web.py"
FACT = "The pool holds forty connections"


class Work:
    """Remembers and reads as the server of an editor does with `--scope auto`.

    Args:
        folder: of the repository.
        store: another one than a new store in memory.
        by_view: as a program does with `scoped("auto")` instead.
    """

    def __init__(
        self, folder: Path, store: vestig.Vestig | None = None, *, by_view: bool = False
    ) -> None:
        self.by_view = by_view
        self.folder = folder
        self.store = store or vestig.open(":memory:", embedder=HashingEmbedder(32))
        self.store._session.folder = lambda: str(self.folder)
        repository = self.store._session.repository()
        assert repository is not None
        self.project = repository.name

    @property
    def at(self) -> OpenStore:
        return OpenStore(
            store=self.store,
            session=self.store._session,
            scope=self.project,
            folder=str(self.folder),
        )

    def remember(self, text: str, *anchors: str, **more: Any) -> Memory:
        before = {one.id for one in self.store.list(limit=1000)}
        given = {"anchor": list(anchors), **more} if anchors else more
        if self.by_view:
            self.view.commit(text, **given)
        else:
            answers.remember(self.at, {"text": text, **given})
        (made,) = [one for one in self.store.list(limit=1000) if one.id not in before]
        return made

    @property
    def view(self) -> vestig.Vestig:
        return self.store.scoped("auto")

    def scope(self, branch: str | None = None) -> str:
        """The scope of the project, or of a branch of it."""
        return self.project if branch is None else f"{self.project}@{branch}"

    def seen(self) -> set[str]:
        """Texts of the memories that are read in the folder."""
        found = self.view if self.by_view else self.store.list(self.at.where(None), limit=1000)
        return {one.content for one in found}

    def memory(self, id: str) -> Memory:
        return self.store.show(id).memory

    def moved(self) -> set[str]:
        """Texts of what a merge moved unasked."""
        changes = self.store.branches.merge()
        return {self.memory(id).content for one in changes for id in one.moved}

    def states(self) -> dict[str, tuple[str, str | None, int]]:
        """Branch → its state, how git says it, and how many of its memories would move."""
        return {one.name: (one.state, one.how, one.moves) for one in self.store.branches.list()}

    def sound(self) -> None:
        assert self.store._session.ledger.verify_all() == []
        damage = [one for one in self.store.admin.doctor().findings if one.level == "damage"]
        assert not damage


def scopes(work: Work) -> tuple[str, ...]:
    return read_scopes(work.project, work.folder)


def branch(folder: Path, name: str = "pool", *, commit: bool = True) -> None:
    """A new branch that changes a file, in a commit or only in its folder."""
    git(folder, "checkout", "-q", "-b", name)
    change(folder, "forty", commit=commit)


def change(folder: Path, line: str, file: str = FILE, *, commit: bool = True) -> None:
    """Adds a line to a file."""
    with (folder / file).open("a") as opened:
        opened.write(f"{line}\n")
    if commit:
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"adds {line}")


def merged(folder: Path, *how: str) -> None:
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", *how, "pool")
