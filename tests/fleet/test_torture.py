"""Workers that die, servers that crash, answers that are lost, many times over. A small sample of
each runs with the other tests, the whole by `make torture`."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from test_faults import Worker, check_all, contents, opened, start
from worker import STEPS, UPKEEP, text_of

import vestig
from postgres_server import Cut, PostgresServer

Machines = Callable[..., vestig.Vestig]
NAMES = ("ada", "ben", "cyd")


def whole(*values: object) -> object:
    """Values of the whole run."""
    return pytest.param(*values, marks=pytest.mark.torture)


def lines_of(running: list[Worker], timeout_s: float) -> dict[str, list[str]]:
    """Mark → what the workers said with it; all of them ended well."""
    found: dict[str, list[str]] = {}
    for process in running:
        out, _ = process.communicate(timeout=timeout_s)
        assert process.returncode == 0
        for line in out.splitlines():
            found.setdefault(line[0], []).append(line[2:])
    return found


def first_line(process: Worker) -> str:
    """The first line of a worker, read a byte at a time: `communicate` reads on from the pipe, and
    knows nothing of what a buffer has taken out of it."""
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(process.stdout.fileno(), 1)
    return line.decode().rstrip("\n")


def say(text: str) -> None:
    """Figures of a run, shown by `-s`."""
    sys.stderr.write(f"\n{text}\n")


@pytest.mark.slow
@pytest.mark.parametrize("count", [25, whole(200)])
def test_writers_on_three_machines_lose_nothing(
    count: int, server: PostgresServer, tenant: str, tmp_path: Path, machine: Machines
) -> None:
    running = [start(server.address, tenant, tmp_path / one, one, count) for one in NAMES]
    texts = lines_of(running, 600)["+"]
    assert sorted(texts) == sorted(text_of(name, one) for name in NAMES for one in range(count))
    check_all([machine(name) for name in NAMES], texts)
    say(f"{len(texts)} of {3 * count} of three writers")


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, whole(167)])
def test_workers_that_are_killed_at_random_steps(
    kills: int, server: PostgresServer, tenant: str, tmp_path: Path, machine: Machines
) -> None:
    """They forget, make snapshots and build copies too; whatever was acknowledged holds."""
    running = [
        start("--lives", kills, 33, server.address, tenant, tmp_path / one, one) for one in NAMES
    ]
    said = lines_of(running, 7_200)
    assert len(said["x"]) == 3 * kills
    in_doubt, gone = set(said.get("~", ())), set(said.get("-", ()))
    kept = [text for text in said["+"] if text not in in_doubt]
    stores = [machine(name) for name in (*NAMES, "another")]
    check_all(stores, kept)
    found = contents(stores[0])
    assert not gone & set(found)
    written = {text_of(name, number) for name in NAMES for number in range(20_000)}
    assert set(found) <= written
    steps = Counter(said["x"])
    say(f"{len(said['x'])} kills, {len(said['+'])} acknowledged, {len(gone)} forgotten: {steps}")
    if kills > 100:
        assert set(steps) == {*STEPS, *UPKEEP}


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, whole(50)])
def test_a_server_that_crashes_under_load(kills: int, own: PostgresServer, tmp_path: Path) -> None:
    running = [start(own.address, "acme", tmp_path / one, one, 1_000_000) for one in NAMES]
    chance = random.Random(33)
    first = [first_line(one) for one in running]
    try:
        for _ in range(kills):
            time.sleep(chance.uniform(0.3, 1.5 if kills < 50 else 4.5))
            if chance.random() < 0.5:
                own.stop(signal.SIGQUIT)
                own.start()
            else:
                own.kill_a_session(chance)
        time.sleep(1.5)
    finally:
        for one in running:
            one.send_signal(signal.SIGTERM)
    said = lines_of(running, 300)
    for line in first:
        said[line[0]].append(line[2:])
    stores = [opened(own, tmp_path / name) for name in NAMES]
    check_all(stores, said["+"])
    assert len(contents(stores[0])) == len(set(said["+"]))
    for store in stores:
        store.close()
    unknown, refused = len(said.get("?", ())), len(said.get("!", ()))
    assert kills < 50 or len(said["+"]) >= 5_000
    say(f"{kills} crashes, {len(said['+'])} acknowledged, {refused} refused, {unknown} unknown")


@pytest.mark.slow
@pytest.mark.parametrize(("count", "share"), [(30, 0.1), whole(300, 0.03)])
def test_answers_that_are_lost_are_all_known_in_the_end(
    count: int,
    share: float,
    cut: Cut,
    tenant: str,
    tmp_path: Path,
    machine: Machines,
) -> None:
    cut.share = share
    running = [start(cut.address, tenant, tmp_path / one, one, count) for one in NAMES]
    said = lines_of(running, 900)
    assert cut.lost
    assert "?" not in said
    assert sorted(said["+"]) == sorted(text_of(name, one) for name in NAMES for one in range(count))
    stores = [machine(name) for name in NAMES]
    check_all(stores, said["+"])
    assert stores[0].count() == 3 * count
    say(f"{cut.lost} of {3 * count} cut, {len(said.get('!', ()))} conflicts, none unknown")


@pytest.mark.slow
@pytest.mark.parametrize(
    "step",
    [
        "before the append",
        *(whole(one) for one in ("locked", "begun", "appended")),
        *(whole(f"{one}, alone") for one in ("locked", "before the append")),
    ],
)
def test_a_worker_that_is_stopped_while_it_holds_the_tenant(
    step: str, server: PostgresServer, tenant: str, tmp_path: Path, machine: Machines
) -> None:
    others_write = step in STEPS
    stopped = start(
        server.address, tenant, tmp_path / "a", "ada", 3, f"stop:{step.removesuffix(', alone')}", 3
    )
    assert first_line(stopped) == f"+ {text_of('ada', 0)}"
    store = machine("b", config={"store.lock_timeout_s": 30})
    wait_until_stopped(stopped)
    waited = 0.0
    if others_write:
        started = time.monotonic()
        store.commit(text_of("ben", 1), on_near_dup="insert")
        waited = time.monotonic() - started
        assert waited <= 10
        assert store.count() == 2 + (step == "appended")
    else:
        time.sleep(9)
    stopped.send_signal(signal.SIGCONT)
    said = lines_of([stopped], 60)
    # What the stopped worker wrote before others did is refused; its second attempt is a new one.
    assert bool(said.get("!")) == (others_write and step != "appended")
    texts = [text_of("ada", one) for one in range(3)]
    check_all([store, machine("a")], [*texts, *([text_of("ben", 1)] if others_write else [])])
    say(f"stopped {step}: the tenant was held for {waited:.1f} s")


def wait_until_stopped(process: Worker) -> None:
    """Returns when the process stands still."""
    for _ in range(600):
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "T":
            return
        time.sleep(0.05)
    raise AssertionError("the worker did not stop")
