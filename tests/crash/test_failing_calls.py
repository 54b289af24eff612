"""System calls that fail: an error of Vestig, nothing lost, reading goes on (STORE)."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from promise import Writer, acknowledged, broken_promises, trials

CALLS = ("fsync", "fdatasync", "pwrite64", "rename", "ftruncate", "unlink", "linkat", "link")
ERRORS = ("EIO", "ENOSPC")
COMMITS = 6


def traced(folder: Path, name: str, *options: str) -> tuple[list[str], str]:
    """A writer's lines and the calls it made; skips where strace may not attach."""
    log = folder / f"{name}.strace"
    writer = Writer(folder / "store", name, COMMITS, "stopped rebuild")
    pid = writer.process.pid
    assert pid is not None
    while Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "T":
        time.sleep(0.001)
    strace = subprocess.Popen(
        [
            "strace",
            "-f",
            "-p",
            str(pid),
            "-o",
            str(log),
            "-e",
            f"trace={','.join(CALLS)}",
            *options,
        ],
        stderr=subprocess.PIPE,
    )
    assert strace.stderr is not None
    said = strace.stderr.readline()
    os.kill(pid, signal.SIGCONT)
    lines = writer.finish()
    strace.communicate()
    if b"attached" not in said:
        pytest.skip(f"strace may not trace here: {said.decode().strip()}")
    return lines, log.read_text()


@pytest.fixture
def strace() -> None:
    if shutil.which("strace") is None:
        pytest.skip("no strace on this machine")


@pytest.mark.usefixtures("strace")
@trials(30, 500)
def test_a_call_that_fails_loses_nothing(tmp_path: Path, trials: int) -> None:
    """At creation, commit and publication."""
    plain = tmp_path / "plain"
    plain.mkdir()
    lines, log = traced(plain, "plain")
    assert len(acknowledged(lines)) == COMMITS
    made = Counter(re.findall(r"(\w+)\(", log))
    places = [(call, at) for call in CALLS for at in range(1, made[call] + 1)]
    assert len(places) > 30
    chance = random.Random(5)
    failed = refused = 0
    broken: list[str] = []
    for trial in range(trials):
        call, at = chance.choice(places)
        folder = tmp_path / f"trial-{trial}"
        folder.mkdir()
        option = f"inject={call}:error={chance.choice(ERRORS)}:when={at}"
        lines, log = traced(folder, "victim", "-e", option)
        failed += "INJECTED" in log
        refused += any(line.startswith("! ") for line in lines)
        found = [line for line in lines if line.startswith("x ")]
        if not found:
            found = broken_promises(folder / "store", acknowledged(lines))
        broken += [f"{option}: {what}" for what in found]
        shutil.rmtree(folder)
    assert broken == []
    assert failed >= trials * 0.8
    assert refused > 0
