"""The trials, at any size: tests run them small, `torture.py` at length."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from disks import PowerCutDisk, grow, small_disk, unmount
from outcome import Outcome
from promise import Writer, broken_history, broken_promises, crashes, writers
from writer import open_store, text_of

from vestig import Vestig
from vestig.errors import VestigError

CYCLES_A_STORE = 20


def count_acknowledged(lines: list[str], outcome: Outcome) -> set[str]:
    """Texts that writers saw acknowledged; their other ends are counted."""
    outcome.breach(crashes(lines))
    texts = {line[2:] for line in lines if line.startswith("+ ")}
    outcome.acknowledged += len(texts)
    return texts


# --- processes -------------------------------------------------------------------------------


def kills(folder: Path, cycles: int) -> Outcome:
    """Three writers on one store, all of them killed at a random point of each cycle. Now and then
    a new store is begun, so that creation is met too and the checks do not grow without end."""
    outcome = Outcome(trial="kill -9", size=f"{cycles} cycles, 3 writers")
    chance = random.Random(2)
    texts: set[str] = set()
    for cycle in range(cycles):
        store = folder / f"store-{cycle // CYCLES_A_STORE}"
        if cycle % CYCLES_A_STORE == 0:
            texts = set()
        lines: list[str] = []
        names = [f"writer {place} of cycle {cycle}" for place in range(3)]
        with writers(store, *names) as running:
            for one in running:
                lines += one.lines(chance.randint(1, 12))
            chance.shuffle(running)
            for one in running:
                one.kill()
            for one in running:
                # What came through before the end was acknowledged too.
                lines += one.finish()
        refused = [line for line in lines if line.startswith("! ")]
        outcome.breach([f"crash: a writer met {line[2:]}" for line in refused])
        texts |= count_acknowledged(lines, outcome)
        outcome.breach(broken_promises(store, texts), f"cycle {cycle}")
        if outcome.broken:
            break  # every later cycle would find it again
    return outcome


def keys(folder: Path, cycles: int) -> Outcome:
    """Four writers of one key, all of them killed at a random point of each cycle: every value
    that was acknowledged is in its history, and one is current."""
    outcome = Outcome(trial="one key", size=f"{cycles} cycles, 4 writers")
    chance = random.Random(11)
    store, texts = folder / "store", set[str]()
    for cycle in range(cycles):
        lines: list[str] = []
        names = [f"writer {place} of cycle {cycle}" for place in range(4)]
        with writers(store, *names, fault="key") as running:
            for one in running:
                lines += one.lines(chance.randint(1, 12))
            chance.shuffle(running)
            for one in running:
                one.kill()
            for one in running:
                lines += one.finish()
        refused = [line for line in lines if line.startswith("! ")]
        outcome.breach([f"crash: a writer met {line[2:]}" for line in refused])
        texts |= count_acknowledged(lines, outcome)
        outcome.breach(broken_promises(store, texts) + broken_history(store), f"cycle {cycle}")
        if outcome.broken:
            break  # every later cycle would find it again
    return outcome


def stops(folder: Path, cycles: int) -> Outcome:
    """SIGSTOP at any point, then SIGKILL: reading goes on meanwhile, writing after it."""
    outcome = Outcome(trial="stopped writer", size=f"{cycles} cycles, 2 writers")
    store = folder / "store"
    texts: set[str] = set()
    for cycle in range(cycles):
        with writers(store, f"stopped {cycle}", f"going {cycle}") as (stopped, going):
            lines = stopped.lines(4) + going.lines(2)
            assert stopped.process.pid is not None
            os.kill(stopped.process.pid, signal.SIGSTOP)
            seen = sorted(line[2:] for line in lines if line.startswith("+ "))
            outcome.breach(_read_beside(store, seen), f"cycle {cycle}")
            stopped.kill()
            lines += stopped.finish()
            # The other one goes on.
            lines += going.lines(20)
            going.kill()
            lines += going.finish()
        texts |= count_acknowledged(lines, outcome)
        outcome.breach(broken_promises(store, texts), f"cycle {cycle}")
        if outcome.broken:
            break
    return outcome


def _read_beside(store: Path, seen: list[str]) -> list[str]:
    with open_store(str(store), read_only=True) as reader:
        if not reader.count() >= len(seen) > 2:
            return [f"lost: {reader.count()} memories are read of {len(seen)}"]
        found = reader.recall(seen[0], limit=1).results
        if not found or found[0].content != seen[0]:
            return [f"lost: {seen[0]} is not read"]
    return []


# --- power -----------------------------------------------------------------------------------


@contextmanager
def power_cut_disk(folder: Path) -> Iterator[PowerCutDisk]:
    """A disk that holds all of a store, the second copy of its witness too."""
    made = PowerCutDisk(folder)
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(made.folder / "state")
    try:
        yield made
    finally:
        del os.environ["XDG_STATE_HOME"]
        if before is not None:
            os.environ["XDG_STATE_HOME"] = before
        made.close()


def power(folder: Path, cuts: int) -> Outcome:
    """Two writers are at work at each cut."""
    outcome = Outcome(trial="power cut", size=f"{cuts} cuts, 2 writers")
    chance = random.Random(4)
    texts: set[str] = set()
    with power_cut_disk(folder) as disk:
        store = disk.folder / "store"
        for cycle in range(cuts):
            lines: list[str] = []
            with writers(store, f"a {cycle}", f"b {cycle}") as running:
                for one in running:
                    lines += one.lines(chance.randint(2, 10))
                for one in running:
                    lines += one.ready()
                # Nobody hears what a machine without power says.
                disk.cut()
            disk.power_on()
            texts |= count_acknowledged(lines, outcome)
            outcome.breach(broken_promises(store, texts), f"cut {cycle}")
            if outcome.broken:
                break
    return outcome


# --- failing system calls --------------------------------------------------------------------

CALLS = ("fsync", "fdatasync", "pwrite64", "rename", "ftruncate", "unlink", "linkat", "link")
ERRORS = ("EIO", "ENOSPC")
COMMITS = 6


def traced(folder: Path, name: str, *options: str) -> tuple[list[str], str]:
    """A writer's lines and the calls it made; skips where strace may not attach."""
    log = folder / f"{name}.strace"
    victim = Writer(folder / "store", name, COMMITS, "stopped rebuild")
    pid = victim.process.pid
    assert pid is not None
    while Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "T":
        time.sleep(0.001)
    command = ["strace", "-f", "-p", str(pid), "-o", str(log), "-e", f"trace={','.join(CALLS)}"]
    strace = subprocess.Popen([*command, *options], stderr=subprocess.PIPE)
    assert strace.stderr is not None
    said = strace.stderr.readline()
    os.kill(pid, signal.SIGCONT)
    lines = victim.finish()
    strace.communicate()
    if b"attached" not in said:
        pytest.skip(f"strace may not trace here: {said.decode().strip()}")
    return lines, log.read_text()


def failing_calls(folder: Path, count: int) -> Outcome:
    """One call fails, at creation, commit or publication; `also` counts those that did."""
    if shutil.which("strace") is None:
        pytest.skip("no program strace on this machine")
    outcome = Outcome(trial="failing call", size=f"{count} calls")
    plain = folder / "plain"
    plain.mkdir()
    lines, log = traced(plain, "plain")
    assert len(count_acknowledged(lines, outcome)) == COMMITS
    made = Counter(re.findall(r"(\w+)\(", log))
    places = [(call, at) for call in CALLS for at in range(1, made[call] + 1)]
    outcome.count("places", len(places))
    chance = random.Random(5)
    for trial in range(count):
        call, at = chance.choice(places)
        place = folder / f"trial-{trial}"
        place.mkdir()
        option = f"inject={call}:error={chance.choice(ERRORS)}:when={at}"
        lines, log = traced(place, "victim", "-e", option)
        outcome.count("failed", "INJECTED" in log)
        outcome.count("refused", any(line.startswith("! ") for line in lines))
        before = len(outcome.broken)
        texts = count_acknowledged(lines, outcome)
        if len(outcome.broken) == before:
            outcome.breach(broken_promises(place / "store", texts), option)
        shutil.rmtree(place)
    return outcome


# --- full disks ------------------------------------------------------------------------------


def fill(store: Vestig, prefix: str, texts: set[str]) -> VestigError:
    """Commits until the first error."""
    for number in range(50_000):
        try:
            store.commit(text_of(prefix, number))
        except VestigError as error:
            return error
        texts.add(text_of(prefix, number))
    raise AssertionError("the disk was never full")


def full_disk(disk: Path, outcome: Outcome, prefix: str = "full") -> None:
    """Filled to the last byte: an error, reading goes on; with room again writing too."""
    texts: set[str] = set()
    path = disk / "store"
    with open_store(str(path)) as store:
        caught = fill(store, prefix, texts)
        outcome.acknowledged += len(texts)
        if "full" not in str(caught):
            outcome.breach([f"crash: expected an error of a full disk, found {caught}"])
        if store.count() != len(texts) or store.admin.stats().seq != len(texts):
            outcome.breach([f"lost: {store.count()} are read of {len(texts)} on the full disk"])
        for text in sorted(texts)[::5]:
            found = store.recall(text).results
            if not found or found[0].content != text:
                outcome.breach([f"lost: {text} is not recalled on the full disk"])
        try:
            store.commit(text_of(f"{prefix}, still", 1))
        except VestigError:
            outcome.count("refused")
        else:
            texts.add(text_of(f"{prefix}, still", 1))
    grow(disk, 64 * 1024 * 1024)
    with open_store(str(path)) as store:
        store.commit(text_of(f"{prefix}, room again", 1))
    texts.add(text_of(f"{prefix}, room again", 1))
    outcome.breach(broken_promises(path, texts), prefix)


def full_disks(folder: Path, count: int) -> Outcome:
    """Disks of 0.6 to 3 MiB."""
    outcome = Outcome(trial="full disk", size=f"{count} disks")
    chance = random.Random(6)
    for trial in range(count):
        place = folder / f"disk-{trial}"
        place.mkdir()
        disk = small_disk(place, chance.randrange(150, 768) * 4096)
        try:
            full_disk(disk, outcome, f"disk {trial}")
        except VestigError as error:
            outcome.breach([f"crash: {error.code} {error}"], f"disk {trial}")
        finally:
            unmount(disk)
    return outcome
