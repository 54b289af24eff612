"""Walk and trace are the same bytes whatever happened to the files."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.testing import HashingEmbedder

SEEDS = 200
FOUND = 10
MEMORIES = 120
WALK = {"walk.edge_types": ["RELATED", "MENTIONS"], "ranking.association": 0.9}

# Prints the digest, in a process of its own.
OTHER = """
import sys
sys.path.insert(0, sys.argv[2])
from test_same_walks import digest, opened
with opened(sys.argv[1]) as store:
    print(digest(store))
"""

# Commits behind another wall until it is killed.
WRITER = """
import sys, itertools
sys.path.insert(0, sys.argv[2])
from test_same_walks import opened
with opened(sys.argv[1]) as store:
    for number in itertools.count():
        store.commit(f"Shift {number} of Vera Lind at Pier {number % 9}", namespace="other")
        print(number, flush=True)
"""


def opened(path: str | Path) -> vestig.Vestig:
    """The store with an embedder that needs no model."""
    return vestig.open(path, embedder=HashingEmbedder(64))


def fill(store: vestig.Vestig) -> None:
    """Memories that share words and names, so that many links have a chance between 0 and 1."""
    places = ("Oslo", "Turin", "Porto", "Lille", "Ghent")
    for number in range(MEMORIES):
        place = places[number % len(places)]
        store.commit(
            f"Crew {number % 7} of Nora Falk repaired the pump at {place} in week {number}",
            on_near_dup="insert",
        )


def plain(result: Any) -> dict[str, Any]:
    """What may not differ: all but durations and the state's number."""
    found: dict[str, Any] = result.to_dict(explain=True)
    for name in ("timings_ms", "seq", "query_time", "degraded"):
        found.pop(name, None)
    return found


def digest(store: vestig.Vestig) -> str:
    """Of the whole answers to one question, seed by seed."""
    total = hashlib.sha256()
    for seed in range(SEEDS):
        result = store.recall(
            "who repaired the pump at Turin?",
            seed=seed,
            limit=FOUND,
            config=WALK,
            query_time="2030-01-01",
        )
        total.update(json.dumps(plain(result), sort_keys=True).encode())
    return total.hexdigest()


def in_another_process(path: Path) -> str:
    """The digest that a fresh process gets."""
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", OTHER, str(path), here], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def killed_writer(path: Path, after: int) -> None:
    """A process that commits is killed where it stands."""
    here = str(Path(__file__).parent)
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), here], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        for _ in range(after):
            assert writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)


@pytest.mark.slow
def test_walks_are_the_same_after_kill_rebuild_merge_and_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with opened(path) as store:
        fill(store)
        wanted = digest(store)
        one = store.recall(
            "who repaired the pump at Turin?",
            seed=1,
            limit=FOUND,
            config=WALK | {"walk.exploration_factor": 0.7},  # nothing is certain
        )
        steps = [step for hit in one for step in hit.reason.steps]
        assert any(step.u is not None for step in steps), "some links were drawn"
        store.admin.compact()
        assert digest(store) == wanted
        store.admin.rebuild()
        assert digest(store) == wanted
    assert in_another_process(path) == wanted
    for after in (3, 11):
        killed_writer(path, after)
        with opened(path) as store:
            assert digest(store) == wanted


def test_seeds_walk_differently(tmp_path: Path) -> None:
    """The digests above could not be equal by drawing nothing."""
    with opened(tmp_path / "store") as store:
        fill(store)
        walk = {"walk.max_nodes": 100, "walk.exploration_factor": 0.3}
        drawn = set()
        for seed in range(20):
            result = store.recall("the pump at Turin", seed=seed, limit=FOUND, config=walk)
            drawn.add(result.counts.walked)
        assert len(drawn) > 1
