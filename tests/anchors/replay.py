"""Facts taken at a commit of a history and asked at a later one, beside what `git diff` says."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from repositories import git
from vestig.repository.files import lines_of
from vestig.types import AnchorState

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
LENGTHS = (1, 3, 5, 10, 20, 30)


class Fact(NamedTuple):
    """Lines of a file at a commit, and what the difference to a later one says of them."""

    path: str
    lines: tuple[int, int]
    state: AnchorState
    now: int | None


class Figures(NamedTuple):
    """How often state and lines are those that the difference says."""

    asked: int
    states_right: float
    moved_found: float
    counts: Counter[tuple[str, str]]


def commits_of(folder: Path, most: int) -> list[str]:
    """The last commits of the branch, the oldest first."""
    return git(folder, "rev-list", "--first-parent", "-n", str(most), "HEAD").split()[::-1]


def pairs(commits: Sequence[str], rng: random.Random, count: int) -> Iterator[tuple[str, str]]:
    """Commits and later ones."""
    for _ in range(count):
        first = rng.randrange(len(commits) - 1)
        yield commits[first], commits[rng.randrange(first + 1, len(commits))]


def facts(folder: Path, pair: tuple[str, str], rng: random.Random, count: int) -> list[Fact]:
    """Spans at a commit with words in them, most of them in files that the later one changed."""
    taken, asked = pair
    names = "diff", "--name-only", "--no-renames", "--diff-filter=MD", "-z", taken, asked
    changed = git(folder, *names).split("\0")[:-1]
    every = git(folder, "ls-tree", "-r", "-z", "--name-only", taken).split("\0")[:-1]
    found = []
    for _ in range(count):
        path = rng.choice(changed if changed and rng.random() < 0.8 else every)
        text = (folder / path).read_bytes() if (folder / path).is_file() else b""
        lines = lines_of(text)
        if b"\0" in text or not lines or not path.isprintable() or (folder / path).is_symlink():
            continue
        first = rng.randrange(1, len(lines) + 1)
        last = min(len(lines), first + rng.choice(LENGTHS) - 1)
        if any(re.search(rb"\w", line) for line in lines[first - 1 : last]):
            found.append(_labelled(folder, pair, path, (first, last), len(lines)))
    return found


def _labelled(
    folder: Path, pair: tuple[str, str], path: str, lines: tuple[int, int], count: int
) -> Fact:
    if not git(folder, "ls-tree", "--name-only", pair[1], "--", path).strip():
        return Fact(path, lines, AnchorState.GONE, None)
    first, last = lines
    options = "--ignore-space-at-eol", "-U0", "--no-renames", "--no-color", "--no-ext-diff"
    places = _places(git(folder, "diff", *options, *pair, "--", path), count)
    begin, end = places[first - 1], places[last - 1]
    whole = None not in places[first - 1 : last]
    if not whole or begin is None or end is None or end - begin != last - first:
        return Fact(path, lines, AnchorState.CHANGED, None)
    state = AnchorState.SAME if begin == first else AnchorState.MOVED
    return Fact(path, lines, state, begin)


def _places(difference: str, count: int) -> list[int | None]:
    """The line that each line became; None where it was changed."""
    found: list[int | None] = []
    shift = 0
    for match in _HUNK.finditer(difference):
        at, old, _, new = (1 if part is None else int(part) for part in match.groups())
        begin = at if old else at + 1
        found += [line + shift for line in range(len(found) + 1, begin)]
        found += [None] * old
        shift += new - old
    return found + [line + shift for line in range(len(found) + 1, count + 1)]


def figures(asked: Sequence[tuple[Fact, AnchorState, int | None]]) -> Figures:
    """How often recall says what the difference does."""
    right = sum(fact.state is state for fact, state, _ in asked)
    moved = [(fact, now) for fact, _, now in asked if fact.state is AnchorState.MOVED]
    return Figures(
        len(asked),
        right / max(1, len(asked)),
        sum(fact.now == now for fact, now in moved) / max(1, len(moved)),
        Counter((fact.state.value, state.value) for fact, state, _ in asked),
    )
