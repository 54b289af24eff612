"""What anchors say along histories of git is what the differences say."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from replay import Fact, Figures, commits_of, facts, figures, pairs

import vestig
from repositories import git, repository, write
from vestig.testing import HashingEmbedder
from vestig.types import AnchorState

SEED = 7
HERE = Path(__file__).parents[2]


def replayed(folder: Path, count: int, each: int, most: int = 200) -> Figures:
    """Facts of random commits, asked at random later ones."""
    rng = random.Random(SEED)
    asked: list[tuple[Fact, AnchorState, int | None]] = []
    for number, pair in enumerate(pairs(commits_of(folder, most), rng, count)):
        git(folder, "checkout", "-q", "-f", pair[0])
        with vestig.open(
            ":memory:",
            embedder=HashingEmbedder(32),
            config={"anchors.folder": str(folder), "links.related.enabled": False},
        ) as store:
            kept = {}
            for place, fact in enumerate(facts(folder, pair, rng, each)):
                lines = f"{fact.path}:{fact.lines[0]}-{fact.lines[1]}"
                id = store.commit(
                    f"Fact {place} of pair {number}", anchor=lines, on_near_dup="insert"
                ).memory_id
                kept[str(id)] = fact
            git(folder, "checkout", "-q", "-f", pair[1])
            for id, fact in kept.items():
                (found,) = store.anchors.show(id)
                asked.append((fact, found.state, None if found.now is None else found.now[0]))
    return figures(asked)


def edited(text: list[str], rng: random.Random, stamp: str) -> list[str]:
    """Lines with some taken out, changed and added, as an author does."""
    new = list(text)
    for number in range(rng.randrange(1, 4)):
        at = rng.randrange(len(new))
        kind = rng.random()
        if kind < 0.4:
            new[at:at] = [f"    added {stamp} {number} {n}" for n in range(rng.randrange(1, 8))]
        elif kind < 0.7:
            new[at] = f"    changed {stamp} {number}"
        elif len(new) > 40:
            del new[at : at + rng.randrange(1, 6)]
    return new


def generated(folder: Path, commits: int) -> Path:
    """A history in which files are edited, and now and then removed."""
    rng = random.Random(SEED)
    texts = {}
    for file in range(12):
        blocks = [
            [f"def work_{file}_{n}(value):", f"    step = {n} + {file}", "    return step", ""]
            for n in range(30)
        ]
        texts[f"src/part{file}.py"] = [line for block in blocks for line in block]
    repository(folder, {name: "\n".join(text) + "\n" for name, text in texts.items()})
    for number in range(commits):
        for name in rng.sample(sorted(texts), 2):
            texts[name] = edited(texts[name], rng, str(number))
            write(folder, {name: "\n".join(texts[name]) + "\n"})
        if number % 20 == 19:
            name = sorted(texts)[rng.randrange(len(texts))]
            del texts[name]
            (folder / name).unlink()
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", str(number))
    return folder


def check(found: Figures, least: int) -> None:
    assert found.asked >= least, found
    assert found.states_right >= 0.99, found
    assert found.moved_found >= 0.95, found
    for state in ("same", "moved", "changed"):
        assert any(said == state for said, _ in found.counts), found


@pytest.mark.slow
def test_a_generated_history(tmp_path: Path) -> None:
    check(replayed(generated(tmp_path / "work", 25), count=12, each=12), 100)


def histories() -> list[Path]:
    """This repository, and those that the environment names."""
    named = os.environ.get("VESTIG_TEST_HISTORIES", "").split(os.pathsep)
    return [HERE, *(Path(one) for one in named if one)]


@pytest.mark.torture
@pytest.mark.slow
@pytest.mark.parametrize("source", histories(), ids=lambda path: path.name)
def test_the_last_200_commits_of_a_repository(
    tmp_path: Path, source: Path, record_property: Callable[[str, object], None]
) -> None:
    if shutil.which("git") is None or not (source / ".git").exists():
        pytest.skip("no history")
    git(tmp_path, "clone", "-q", f"file://{source}", "work")
    found = replayed(tmp_path / "work", count=100, each=15)
    record_property("figures", repr(found))
    check(found, 1_000)
