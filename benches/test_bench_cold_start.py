"""Cold processes, in processor time: what a shell waits for when nothing is warm.

Napkin: the interpreter 10 ms, click 22, msgspec 9, apsw 2; the package's own modules, one
manifest, one map, one scan the rest. Bars are multiples of the bare interpreter of the same run,
taken in turns, so that they hold on a slow or busy machine. Measure from an installed wheel: a
source tree has other places to look for modules.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pytest

import vestig
from conftest import World, fewer, note_line
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
ROUNDS: Final = fewer(15, 5)
MEMORIES: Final = fewer(10_000, 1_000)
# what a start may take where the bare interpreter takes 1
IMPORT_FACTOR: Final = 3.0
HELP_FACTOR: Final = 6.0
RECALL_FACTOR: Final = 15.0
# An editor waits for both: 200 ms of processor time and 250 ms where the bare interpreter takes 12.
PROMPT_FACTOR: Final = 16.7
SESSION_END_FACTOR: Final = 20.8
FIRST_RESULT_OVER_LIBRARIES: Final = 15.0

Arguments = Sequence[str]


def environment(**variables: str) -> dict[str, str]:
    """That of this process, but modules are kept compiled and nothing else configures Vestig."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("VESTIG_")}
    own.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**own, **variables}


def cpu_ms(arguments: Arguments, variables: Mapping[str, str], stdin: str = os.devnull) -> float:
    """User and system time of one Python process from its start to its end."""
    return process_ms(arguments, variables, stdin)[0]


def process_ms(
    arguments: Arguments, variables: Mapping[str, str], stdin: str = os.devnull
) -> tuple[float, float]:
    """(processor time, time) of one Python process from its start to its end."""
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    words = [sys.executable, *arguments]
    began = time.perf_counter()
    child = os.posix_spawn(sys.executable, words, dict(variables), file_actions=streams)
    _, status, used = os.wait4(child, 0)
    assert status == 0, arguments
    return (used.ru_utime + used.ru_stime) * 1e3, (time.perf_counter() - began) * 1e3


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
    """A store of `MEMORIES` for the built-in embedder."""
    path = tmp_path_factory.mktemp("cold") / "store"
    embedder = GivenVectors(make_embedder(EmbeddingSettings()))
    with vestig.open(path, embedder=embedder) as store:
        store.commit_many(texts(MEMORIES))
        store.admin.compact()
    return path


def test_commands(filled: Path) -> None:
    """From the shell, with the built-in embedder, at `MEMORIES`."""
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
        ("recall", f"vestig recall, {MEMORIES}, built-in embedder", RECALL_FACTOR),
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


def test_hooks(filled: Path, tmp_path: Path) -> None:
    """Of an editor, at `MEMORIES`: a prompt that is answered with a block, and the end of a
    session, whose transcript is read by a process that nobody waits for."""
    told = {"session_id": "s1", "cwd": str(tmp_path), "prompt": QUERY}
    told["transcript_path"] = str(tmp_path / "none.jsonl")
    stdin = tmp_path / "event.json"
    stdin.write_text(json.dumps(told))
    answered = {"VESTIG_RECALL__SILENCE": "1", "VESTIG_STORE": str(filled)}
    variables = environment(**answered)
    cases: dict[str, Arguments] = {
        "bare": BARE,
        "prompt": ("-c", COMMAND, "hook", "UserPromptSubmit"),
        "end": ("-c", COMMAND, "hook", "SessionEnd"),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    journal = filled / "hooks.log"
    for number in range(ROUNDS + 1):
        for name, arguments in cases.items():
            used = process_ms(arguments, variables, str(stdin))
            if number:
                taken[name].append(used)
        # what was shown in a session is not shown again in it
        lines = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
        assert any(line.get("shown") for line in lines), lines
        journal.unlink()
    found = {name: np.median(np.array(times), axis=0) for name, times in taken.items()}
    bare, bare_wall = found["bare"]
    say(f"hook UserPromptSubmit, {MEMORIES}", found["prompt"][0], bare, PROMPT_FACTOR * bare)
    wall = found["end"][1]
    met = "met" if wall <= SESSION_END_FACTOR * bare_wall else "MISSED"
    note_line(
        f"hook SessionEnd: {wall:.0f} ms · {wall / bare_wall:.1f} × bare Python {bare_wall:.1f} ms"
        f" · bar {SESSION_END_FACTOR} × {met}"
    )
