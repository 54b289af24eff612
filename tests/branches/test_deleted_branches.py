"""Branches that were deleted before anything was merged here, and merges that were taken back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from branch_work import FACT, FILE, OTHER, Work, branch, change, merged
from test_branches import MERGES, squashed

from repositories import git, write
from vestig.repository.head_log import LeftBranch, left_branches


def kept_before_the_commit(work: Work) -> str:
    """Id of a memory of a line that is committed on a branch afterwards."""
    branch(work.folder, commit=False)
    kept = work.remember(FACT, f"{FILE}:21")
    git(work.folder, "commit", "-q", "-a", "-m", "forty")
    return kept.id


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("name", MERGES)
def test_what_was_kept_before_the_commit_comes_with_a_merged_branch_that_is_gone(
    work: Work, name: str, ahead: bool
) -> None:
    kept_before_the_commit(work)
    change(work.folder, "fifty", OTHER)
    git(work.folder, "checkout", "-q", "main")
    if ahead:
        change(work.folder, "other", "README.md")
    merge, _ = MERGES[name]
    merge(work.folder)
    git(work.folder, "branch", "-q", "-D", "pool")
    ((state, _, moves),) = work.states().values()
    assert (state, moves) == ("gone", 1)
    assert work.moved() == {FACT} == work.seen()
    work.sound()


@pytest.mark.parametrize("how", ["--no-ff", "--squash"])
def test_lines_that_a_later_commit_of_the_branch_changed_come_with_it(work: Work, how: str) -> None:
    kept_before_the_commit(work)
    text = (work.folder / FILE).read_text().replace("forty", "sixty")
    write(work.folder, {FILE: text})
    git(work.folder, "commit", "-q", "-a", "-m", "sixty")
    merged(work.folder, how)
    if how == "--squash":
        git(work.folder, "commit", "-q", "-m", "as one")
    git(work.folder, "branch", "-q", "-D", "pool")
    assert work.moved() == {FACT}


@pytest.mark.parametrize("place", ["not merged", "not committed", "squash edited"])
def test_a_deleted_branch_that_git_does_not_say_was_merged_keeps_its_memories(
    work: Work, place: str
) -> None:
    if place == "not committed":
        branch(work.folder, commit=False)
        work.remember(FACT, f"{FILE}:21")
        git(work.folder, "checkout", "-q", "-f", "main")
        change(work.folder, "other", "README.md")
    else:
        kept_before_the_commit(work)
        git(work.folder, "checkout", "-q", "main")
    if place == "squash edited":
        git(work.folder, "merge", "-q", "--squash", "pool")
        change(work.folder, "fifty", OTHER)
    git(work.folder, "branch", "-q", "-D", "pool")
    assert work.moved() == set() == work.seen()
    assert work.states() == {"pool": ("gone", None, 0)}
    assert len(work.store.branches.merge("pool")[0].moved) == 1


def test_a_branch_that_another_work_tree_left_is_known(work: Work, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(work.folder, "worktree", "add", "-q", "-b", "pool", str(other))
    there = Work(other, work.store)
    change(other, "forty", commit=False)
    there.remember(FACT, f"{FILE}:21")
    git(other, "commit", "-q", "-a", "-m", "forty")
    git(other, "checkout", "-q", "--detach")
    here = Work(work.folder, work.store)
    git(work.folder, "merge", "-q", "--no-ff", "pool")
    git(work.folder, "branch", "-q", "-D", "pool")
    assert here.moved() == {FACT}


def test_what_the_log_of_head_says() -> None:
    log = [
        ("1", "commit: before any checkout"),
        ("0", "checkout: moving from old to main"),
        ("0", "checkout: moving from main to fix"),
        ("2", "commit: on fix"),
        ("9", "rebase (start): checkout main"),
        ("3", "rebase (pick): on fix"),
        ("3", "rebase (finish): returning to refs/heads/fix"),
        ("9", "rebase (start): checkout main"),
        ("4", "rebase (pick): on fix"),
        ("3", "rebase (abort): returning to refs/heads/fix"),
        ("3", "Branch: renamed refs/heads/fix to refs/heads/fix/2"),
        ("5", "pull: Fast-forward"),
        ("5", "checkout: moving from fix/2 to HEAD"),
        ("6", "commit: on no branch"),
        ("0", "checkout: moving from 6 to main"),
        ("9", "rebase (start): checkout main"),
        ("7", "rebase (pick): of a branch that was not checked out"),
        ("7", "rebase (finish): returning to refs/heads/late"),
        ("0", "checkout: moving from late to main"),
    ]
    found = left_branches(log)
    assert found["old"] == LeftBranch("1", ("1",))
    assert found["fix/2"] == LeftBranch("5", ("2", "3"))
    assert found["late"] == LeftBranch("7", ("7",))
    assert "fix" not in found
    assert left_branches([]) == {}


# --- merges that were taken back ----------------------------------------------------------------


def reverted_squash(folder: Path) -> None:
    squashed(folder)
    git(folder, "revert", "--no-edit", "HEAD")


def reverted_without_a_word(folder: Path) -> None:
    """As a site does that names the number of the request alone."""
    squashed(folder)
    git(folder, "revert", "--no-commit", "HEAD")
    git(folder, "commit", "-q", "-m", "Reverts acme/rocket#12")


def reverted_near_others(folder: Path) -> None:
    squashed(folder)
    made = git(folder, "rev-parse", "HEAD").strip()
    text = (folder / FILE).read_text()
    write(folder, {FILE: text.replace("line 19\n", "line nineteen\n")})
    git(folder, "commit", "-q", "-a", "-m", "near it")
    git(folder, "revert", "--no-edit", made)


def reverted_merge(folder: Path) -> None:
    merged(folder, "--no-ff")
    git(folder, "revert", "--no-edit", "-m", "1", "HEAD")


def reverted_merge_without_a_word(folder: Path) -> None:
    merged(folder, "--no-ff")
    git(folder, "revert", "--no-commit", "-m", "1", "HEAD")
    git(folder, "commit", "-q", "-m", "no pool")


def reverted_fast_forward(folder: Path) -> None:
    merged(folder)
    git(folder, "revert", "--no-edit", "HEAD", "HEAD~1")


REVERTS: dict[str, Callable[[Path], None]] = {
    "squash": reverted_squash,
    "squash, without a word": reverted_without_a_word,
    "squash, near others": reverted_near_others,
    "merge": reverted_merge,
    "merge, without a word": reverted_merge_without_a_word,
    "fast-forward": reverted_fast_forward,
}


@pytest.mark.slow
@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("name", REVERTS)
def test_what_the_default_branch_took_back_stays(
    work: Work, name: str, early: bool, gone: bool
) -> None:
    if early:
        kept_before_the_commit(work)
    else:
        branch(work.folder)
        work.remember(FACT, f"{FILE}:21")
    change(work.folder, "fifty", OTHER)
    REVERTS[name](work.folder)
    if gone:
        git(work.folder, "branch", "-q", "-D", "pool")
    assert work.moved() == set() == work.seen()
    (row,) = work.store.branches.show("pool")
    assert row.stays == "the default branch took back what it speaks of"
    # the revert is taken back in its turn
    git(work.folder, "revert", "--no-edit", "HEAD")
    if name == "fast-forward":
        git(work.folder, "revert", "--no-edit", "HEAD~2")
    assert work.moved() == {FACT}


def test_what_of_a_merge_was_not_taken_back_comes(work: Work) -> None:
    branch(work.folder)
    work.remember(FACT, f"{FILE}:21")
    change(work.folder, "fifty", OTHER)
    work.remember("The web has fifty", f"{OTHER}:21")
    merged(work.folder)
    git(work.folder, "revert", "--no-edit", "HEAD")
    assert work.moved() == {FACT}


def test_lines_that_were_changed_after_a_merge_come_with_it(work: Work) -> None:
    branch(work.folder)
    work.remember(FACT, f"{FILE}:21")
    merged(work.folder, "--no-ff")
    write(work.folder, {FILE: (work.folder / FILE).read_text().replace("forty", "sixty")})
    git(work.folder, "commit", "-q", "-a", "-m", "sixty")
    assert work.moved() == {FACT}
