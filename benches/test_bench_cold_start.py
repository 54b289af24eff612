"""Cold processes, in processor time: what a shell waits for when nothing is warm.

Napkin: the interpreter 10 ms, click 22, msgspec 9, apsw 2; the package's own modules, one
manifest, one map, one scan the rest. Bars are multiples of the bare interpreter of the same run,
taken in turns, so that they hold on a slow or busy machine. Measure from an installed wheel: a
source tree has other places to look for modules.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from vestig.surfaces.hooks.hooks_file import hook_command

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
# 220 ms where the hook answers by itself and no judge reads; 60 ms, and 80 ms that pass, where a
# server answers.
PROMPT_ALONE_FACTOR: Final = 18.3
SERVED_FACTOR: Final = 5.0
SERVED_WALL_FACTOR: Final = 6.7
# Programs that keep processors busy beside prompts, and the time that an editor waits for these.
LOAD: Final = 12
PROMPTS: Final = fewer(100, 20)
LIMIT_MS: Final = 1_200.0
BUSY: Final = "while True: pass"
START_S: Final = 60.0
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


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A project, in whose parent a folder `run` has a name that is short enough for sockets."""
    runtime = Path(tempfile.mkdtemp(prefix="v", dir="/tmp"))
    (tmp_path / "run").symlink_to(runtime)
    made = tmp_path / "project"
    (made / ".git").mkdir(parents=True)
    yield made
    shutil.rmtree(runtime)


def hook_variables(filled: Path, project: Path, *, judge: bool) -> dict[str, str]:
    """Of an editor and of its server. `judge`: whether memories are read."""
    return environment(
        CLAUDE_PROJECT_DIR=str(project),
        XDG_RUNTIME_DIR=os.path.realpath(project.parent / "run"),
        VESTIG_RECALL__SILENCE="1",
        VESTIG_STORE=str(filled),
        VESTIG_JUDGE__ENABLED=str(judge).lower(),
    )


def event_file(project: Path, session: str) -> str:
    """The file of an event: what was shown in a session is not shown again in it."""
    told = {"session_id": session, "cwd": str(project), "prompt": QUERY}
    told["transcript_path"] = str(project / "none.jsonl")
    path = project / "event.json"
    path.write_text(json.dumps(told))
    return str(path)


def installed(event: str) -> Arguments:
    """The line that `vestig install` writes for an event, behind the interpreter."""
    return tuple(shlex.split(hook_command(event, {}))[1:])


@contextmanager
def server(variables: Mapping[str, str], project: Path) -> Iterator[None]:
    """The server of tools that an editor starts, listening."""
    line = [sys.executable, "-c", COMMAND, "mcp", "--scope", "auto"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    with subprocess.Popen(line, env=dict(variables), cwd=project, **pipes) as process:
        sockets = Path(variables["XDG_RUNTIME_DIR"]) / "vestig"
        end = time.monotonic() + START_S
        while not (sockets.is_dir() and list(sockets.iterdir())):
            assert time.monotonic() < end
            time.sleep(0.05)
        yield
        assert process.stdin is not None
        process.stdin.close()


def hook_times(
    cases: Mapping[str, Arguments], variables: Mapping[str, str], project: Path, journal: Path
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Median (processor time, time) of each case, taken in turns; and who answered prompts."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    for number in range(ROUNDS + 1):
        for name, arguments in cases.items():
            event = event_file(project, f"{name}-{number}")
            used = process_ms(arguments, variables, event)
            if number:
                taken[name].append(used)
    lines = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    journal.unlink()
    by = [one["by"] for one in lines if one.get("shown")]
    assert len(by) > ROUNDS, lines
    found = {name: np.median(np.array(times), axis=0) for name, times in taken.items()}
    return {name: (float(cpu), float(wall)) for name, (cpu, wall) in found.items()}, by


def say_times(name: str, found: float, bare: float, factor: float) -> None:
    """One line of the summary, about time that passed."""
    met = "met" if found <= factor * bare else "MISSED"
    note_line(
        f"{name}: {found:.0f} ms · {found / bare:.1f} × bare Python {bare:.1f} ms"
        f" · bar {factor} × {met}"
    )


def test_hooks(filled: Path, project: Path) -> None:
    """Of an editor, at `MEMORIES`, by the line that is installed: a prompt that is answered with a
    block, with the judge's reading and without, and the end of a session, whose transcript is read
    by a process that nobody waits for."""
    cases: dict[str, Arguments] = {"bare": BARE, "prompt": installed("UserPromptSubmit")}
    journal = filled / "hooks.log"
    for judge, bar in ((True, PROMPT_FACTOR), (False, PROMPT_ALONE_FACTOR)):
        variables = hook_variables(filled, project, judge=judge)
        found, by = hook_times(cases, variables, project, journal)
        assert set(by) == {"process"}
        bare = found["bare"][0]
        reads = "with" if judge else "without"
        name = f"hook UserPromptSubmit by itself, {MEMORIES}, {reads} the judge"
        say(name, found["prompt"][0], bare, bar * bare)
    ends = {name: installed("SessionEnd") if name == "end" else BARE for name in ("bare", "end")}
    taken: dict[str, list[float]] = {name: [] for name in ends}
    for number in range(ROUNDS + 1):
        for name, arguments in ends.items():
            used = process_ms(arguments, variables, event_file(project, f"end-{number}"))
            if number:
                taken[name].append(used[1])
    wall, bare = (float(np.median(taken[name])) for name in ("end", "bare"))
    say_times("hook SessionEnd", wall, bare, SESSION_END_FACTOR)


def test_served_hooks(filled: Path, project: Path) -> None:
    """A prompt that the editor's server of tools answers, without the judge's reading: alone, and
    beside programs that keep all processors busy."""
    pytest.importorskip("mcp")
    cases: dict[str, Arguments] = {"bare": BARE, "prompt": installed("UserPromptSubmit")}
    variables = hook_variables(filled, project, judge=False)
    journal = filled / "hooks.log"
    with server(variables, project):
        found, by = hook_times(cases, variables, project, journal)
        assert set(by) == {"server"}
        bare, bare_wall = found["bare"]
        cpu, wall = found["prompt"]
        say(f"served hook UserPromptSubmit, {MEMORIES}", cpu, bare, SERVED_FACTOR * bare)
        say_times(f"served hook UserPromptSubmit, {MEMORIES}", wall, bare_wall, SERVED_WALL_FACTOR)
        # what runs already is a part of it
        more = max(0, LOAD - round(os.getloadavg()[0]))
        busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(more)]
        try:
            late = 0
            for number in range(PROMPTS):
                event = event_file(project, f"load-{number}")
                late += process_ms(cases["prompt"], variables, event)[1] > LIMIT_MS
        finally:
            for one in busy:
                one.kill()
                one.wait()
    lines = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    journal.unlink()
    shown = sum(1 for one in lines if one.get("shown"))
    answered = min(shown, PROMPTS - late)
    met = "met" if answered >= 0.95 * PROMPTS else "MISSED"
    note_line(
        f"served hook at a load of {LOAD} on {os.cpu_count()} processors: {answered} of {PROMPTS}"
        f" prompts answered within {LIMIT_MS / 1e3} s · bar 95 % {met}"
    )
