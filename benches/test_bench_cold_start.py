"""Cold processes, in processor time: what a shell waits for when nothing is warm.

Napkin: the interpreter 10 ms, click 22, msgspec 9, apsw 2; the package's own modules, one
manifest, one map, one scan the rest. Bars are multiples of the bare interpreter of the same run,
taken in turns, so that they hold on a slow or busy machine. Measure from an installed wheel: a
source tree has other places to look for modules.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pytest

import vestig
from conftest import World, note_line
from generator import texts
from vestig.config.schema import EmbeddingSettings
from vestig.ports import Embedder
from vestig.registry import make_embedder

BARE: Final = ("-c", "pass")
LIBRARIES: Final = ("-c", "import apsw, msgspec, click")
FIRST_RESULT: Final = """
import sys, vestig
class Named:
    model, dimensions, fingerprint = sys.argv[2], int(sys.argv[3]), sys.argv[4]
    def embed(self, texts): raise AssertionError
    def truncated(self, text): return False
with vestig.open(sys.argv[1], embedder=Named(), read_only=True) as store:
    vector = open(sys.argv[5], "rb").read()
    found = store.recall("which label does the kettle carry?", query_vector=vector, limit=10)
assert len(found.results) == 10
"""
COMMAND: Final = "from vestig.surfaces.cli import main; main()"
QUERY: Final = "which label does the kettle carry?"
ROUNDS: Final = 15
# what a start may take where the bare interpreter takes 1
IMPORT_FACTOR: Final = 3.0
HELP_FACTOR: Final = 6.0
RECALL_FACTOR: Final = 15.0
FIRST_RESULT_OVER_LIBRARIES: Final = 15.0

Arguments = Sequence[str]


def environment(**variables: str) -> dict[str, str]:
    """That of this process, but modules are kept compiled and nothing else configures Vestig."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("VESTIG_")}
    own.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**own, **variables}


def cpu_ms(arguments: Arguments, variables: Mapping[str, str]) -> float:
    """User and system time of one Python process from its start to its end."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    words = [sys.executable, *arguments]
    child = os.posix_spawn(sys.executable, words, dict(variables), file_actions=silent)
    _, status, used = os.wait4(child, 0)
    assert status == 0, arguments
    return (used.ru_utime + used.ru_stime) * 1e3


def medians(cases: Mapping[str, Arguments], variables: Mapping[str, str]) -> dict[str, float]:
    """Median processor time of each case, taken in turns."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(ROUNDS + 1):
        for name, arguments in cases.items():
            used = cpu_ms(arguments, variables)
            # the first round compiles modules
            if number:
                taken[name].append(used)
    return {name: float(np.median(times)) for name, times in taken.items()}


def say(name: str, found: float, bare: float, bar: float) -> None:
    """One line of the summary."""
    note_line(
        f"{name}: {found:.0f} ms of processor time · {found / bare:.1f} × bare Python"
        f" {bare:.1f} ms · bar {bar / bare:.1f} × {'met' if found <= bar else 'MISSED'}"
    )


class GivenVectors:
    """Names itself as the built-in embedder and gives random vectors, so that a store of many
    memories is filled in seconds."""

    def __init__(self, named: Embedder) -> None:
        self.model, self.dimensions = named.model, named.dimensions
        self.fingerprint = named.fingerprint
        self._chance = np.random.default_rng(7)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Unit vectors."""
        found = self._chance.standard_normal((len(texts), self.dimensions)).astype(np.float32)
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        return [row.tobytes() for row in found]

    def truncated(self, _: str) -> bool:
        """No text is cut."""
        return False


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 10,000 memories for the built-in embedder."""
    path = tmp_path_factory.mktemp("cold") / "store"
    embedder = GivenVectors(make_embedder(EmbeddingSettings()))
    with vestig.open(path, embedder=embedder) as store:
        store.commit_many(texts(10_000))
        store.admin.compact()
    return path


def test_commands(filled: Path) -> None:
    """From the shell, with the built-in embedder, at 10,000 memories."""
    cases: dict[str, Arguments] = {
        "bare": BARE,
        "import": ("-c", "import vestig"),
        "help": ("-c", COMMAND, "--help"),
        "recall": ("-c", COMMAND, "recall", QUERY),
    }
    found = medians(cases, environment(VESTIG_STORE=str(filled)))
    for name, title, factor in (
        ("import", "import vestig", IMPORT_FACTOR),
        ("help", "vestig --help", HELP_FACTOR),
        ("recall", "vestig recall, 10000, built-in embedder", RECALL_FACTOR),
    ):
        say(title, found[name], found["bare"], factor * found["bare"])


def test_cold_process_embedding_excluded(world: World, tmp_path: Path) -> None:
    """A library's first result, its query's vector given."""
    vector = tmp_path / "vector"
    vector.write_bytes(world.query_vectors[0].tobytes())
    named = world.embedder
    first = (str(world.path), named.model, str(named.dimensions), named.fingerprint, str(vector))
    cases: dict[str, Arguments] = {
        "bare": BARE,
        "libraries": LIBRARIES,
        "first": ("-c", FIRST_RESULT, *first),
    }
    found = medians(cases, environment())
    bare = found["bare"]
    bar = found["libraries"] + FIRST_RESULT_OVER_LIBRARIES * bare
    say(f"cold process → first result, {world.size}", found["first"], bare, bar)
