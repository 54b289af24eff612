"""Generated histories of git: nothing is visible off its ancestry, nothing is lost, and what was
merged beyond doubt is the project's.

Each memory speaks of a line that stands nowhere else, so that git itself says which commits have
what it speaks of.
"""

from __future__ import annotations

import itertools
import os
import random
import subprocess
from pathlib import Path

import pytest
from branch_work import Work

from repositories import git, repository, text_of
from vestig.repository.branches import checked_out

FILES = ("a.py", "b.py", "c.py")
NAMES = ("one", "two/x", "three", "four@y")
SEEDS = 4
SEEDS_TORTURE = int(os.environ.get("VESTIG_TEST_BRANCHES", "40"))


class History:
    """A repository in which branches come and go, and an agent that remembers lines of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.folder = repository(folder, {name: text_of(1, 30, name) for name in FILES})
        self.work = Work(self.folder, by_view=bool(seed % 2))
        self.number = itertools.count()
        # line → (id of its memory, its file, the branch on which it was kept)
        self.kept: dict[str, tuple[str, str, str | None]] = {}
        # heads that were merged beyond doubt, by branch
        self.certain: list[str] = []
        # no log is left of what a branch was called that was renamed where it was not checked out
        self.renamed: set[str] = set()
        self.steps: list[str] = []

    def step(self) -> None:
        act = self.dice.choice(
            [
                self.edit, self.edit, self.edit, self.edit, self.switch, self.switch, self.create,
                self.merge, self.squash, self.rebase, self.pick, self.delete, self.rename,
                self.loose, self.detach,
            ]
        )  # fmt: skip
        self.steps.append(act.__name__)
        act()

    # --- git -----------------------------------------------------------------------------------

    def try_git(self, *words: str) -> bool:
        """Whether git did it; what it leaves half done is taken back."""
        try:
            git(self.folder, *words)
        except subprocess.CalledProcessError:
            for half in ("merge", "rebase", "cherry-pick"):
                subprocess.run(("git", half, "--abort"), cwd=self.folder, check=False,
                               capture_output=True)  # fmt: skip
            git(self.folder, "reset", "-q", "--hard")
            return False
        return True

    @property
    def branches(self) -> list[str]:
        lines = git(self.folder, "for-each-ref", "--format=%(refname)", "refs/heads").split()
        return [name for one in lines if (name := one.removeprefix("refs/heads/")) != "main"]

    def some(self) -> str | None:
        return self.dice.choice(self.branches) if self.branches else None

    def on(self, name: str) -> None:
        git(self.folder, "checkout", "-q", "-f", name)

    # --- acts ----------------------------------------------------------------------------------

    def create(self) -> None:
        free = [one for one in NAMES if one not in self.branches]
        # a branch is its name: one that comes again reads what was kept with it
        held = {self.work.memory(id).scope for id, _, _ in self.kept.values()}
        free = [one for one in free if self.work.scope(one) not in held]
        if free:
            start = self.dice.choice(["main", *self.branches])
            self.try_git("checkout", "-q", "-b", self.dice.choice(free), start)

    def switch(self) -> None:
        self.on(self.dice.choice(["main", *self.branches]))

    def detach(self) -> None:
        self.try_git("checkout", "-q", "--detach")

    def edit(self, *, commit: bool = True) -> None:
        """A new line somewhere in a file, and a memory of it."""
        file, line = self.dice.choice(FILES), f"value{next(self.number)} = {self.dice.random()}"
        path = self.folder / file
        lines = path.read_text().splitlines()
        place = self.dice.randint(0, len(lines))
        path.write_text("\n".join([*lines[:place], line, *lines[place:]]) + "\n")
        first = self.dice.random() < 0.5
        if commit and not first:
            git(self.folder, "commit", "-q", "-a", "-m", line)
        made = self.work.remember(f"The file {file} holds {line}", f"{file}:{place + 1}")
        if commit and first:
            git(self.folder, "commit", "-q", "-a", "-m", line)
        branch = checked_out(self.folder)
        own = branch if made.scope != self.work.project else None
        assert (own is None) == (branch in (None, "main")), (branch, made.scope)
        self.kept[line] = (made.id, file, own)

    def loose(self) -> None:
        """A change that is thrown away: its memory speaks of no commit."""
        if checked_out(self.folder) not in (None, "main"):
            self.edit(commit=False)
            git(self.folder, "reset", "-q", "--hard")

    def merge(self) -> None:
        name = self.some()
        if name is not None:
            self.on("main")
            own = git(self.folder, "rev-list", f"main..{name}").split()
            how = self.dice.choice(["--ff", "--no-ff"])
            if self.try_git("merge", "-q", how, name) and own:
                self.certain.append(name)

    def squash(self) -> None:
        name = self.some()
        if name is not None:
            self.on("main")
            if self.try_git("merge", "-q", "--squash", name):
                self.try_git("commit", "-q", "-m", f"{name} as one")

    def rebase(self) -> None:
        name = self.some()
        if name is not None:
            self.try_git("rebase", "-q", "main", name)

    def pick(self) -> None:
        name = self.some()
        commits = [] if name is None else git(self.folder, "rev-list", f"main..{name}").split()
        if commits:
            self.on("main")
            self.try_git("cherry-pick", self.dice.choice(commits))

    def delete(self) -> None:
        name = self.some()
        if name is not None and self.dice.random() < 0.5:
            self.on("main")
            git(self.folder, "branch", "-q", "-D", name)

    def rename(self) -> None:
        name, free = self.some(), [one for one in NAMES if one not in self.branches]
        held = {self.work.memory(id).scope for id, _, _ in self.kept.values()}
        free = [one for one in free if self.work.scope(one) not in held]
        if name is not None and free:
            new = self.dice.choice(free)
            git(self.folder, "branch", "-q", "-m", name, new)
            self.renamed.add(new)
            self.certain = [new if one == name else one for one in self.certain]

    # --- what must hold -------------------------------------------------------------------------

    def settle(self) -> None:
        # what was kept under an earlier name goes to the branch first
        self.work.store.branches.merge()
        self.work.store.branches.merge()
        self.check_merged()
        self.certain.clear()
        self.check_visible()

    def check_merged(self) -> None:
        """The committed lines of a branch that was merged are the project's, also where it was
        deleted since."""
        for name in self.certain:
            gone = name not in self.branches
            if gone and name in self.renamed:
                continue
            for line, (id, file, _) in self.kept.items():
                memory = self.work.memory(id)
                head = "main" if gone else name
                if memory.scope == self.work.scope(name) and line in self.text(head, file):
                    assert not gone, (line, name, self.steps)
                    ahead = git(self.folder, "rev-list", f"main..{name}").split()
                    assert ahead, (line, name, self.steps)

    def text(self, commit: str, file: str) -> str:
        return git(self.folder, "show", f"{commit}:{file}")

    def check_visible(self) -> None:
        """Each memory is where its line is, or was, on the way to what is checked out."""
        seen = self.work.seen()
        branch = checked_out(self.folder)
        main = git(self.folder, "log", "-p", "--format=", "-m", "main")
        for line, (id, file, own) in self.kept.items():
            memory = self.work.memory(id)
            assert memory.status == "ACTIVE", "nothing is lost"
            assert memory.content == f"The file {file} holds {line}"
            visible = memory.content in seen
            if own is None:
                assert memory.scope == self.work.project
                assert visible
            elif memory.scope == self.work.project:
                assert visible, (line, self.steps)
                assert line in main, (line, self.steps)
            else:
                assert memory.scope is not None
                at = memory.scope.removeprefix(f"{self.work.project}@")
                assert visible == (branch == at), (line, at, branch, self.steps)


def run(folder: Path, seed: int, steps: int) -> History:
    history = History(folder, seed)
    for number in range(steps):
        history.step()
        if number % 3 == 2:
            history.settle()
    history.settle()
    for name in ("main", *history.branches):
        history.on(name)
        history.check_visible()
    history.work.sound()
    return history


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_visible_off_its_ancestry_and_nothing_is_lost(tmp_path: Path, seed: int) -> None:
    history = run(tmp_path / "work", seed, 40)
    assert len(history.kept) > 5


@pytest.mark.torture
def test_long_histories(tmp_path: Path) -> None:
    kept = moved = 0
    for seed in range(100, 100 + SEEDS_TORTURE):
        history = run(tmp_path / str(seed), seed, 60)
        own = [id for id, _, own in history.kept.values() if own is not None]
        kept += len(own)
        moved += sum(history.work.memory(id).scope == history.work.project for id in own)
        history.work.store.close()
    assert 0 < moved < kept
