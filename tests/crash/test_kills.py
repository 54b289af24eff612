"""Processes that end without warning: kill -9, many at once, fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from promise import WRITER, acknowledged, broken_history, broken_promises, run_writers
from trials import keys, kills, stops
from writer import open_store, text_of

from vestig.types import CommitOutcomeKind


@pytest.mark.slow
def test_kill_at_any_point_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Three writers on one store, all of them killed in each cycle."""
    outcome = kills(tmp_path, 10)
    assert outcome.broken == []
    assert outcome.acknowledged > 10


@pytest.mark.slow
def test_kills_leave_one_current_value_of_a_key(tmp_path: Path) -> None:
    outcome = keys(tmp_path, 4)
    assert outcome.broken == []
    assert outcome.acknowledged > 10


def test_four_processes_write_the_values_of_one_key(tmp_path: Path) -> None:
    """All are written, one is current, and each but that one was replaced once."""
    store, count = tmp_path / "store", 50
    open_store(str(store)).close()
    names = [f"process {place}" for place in range(4)]
    lines = run_writers(store, *names, count=count, fault="key")
    assert [line for line in lines if line.startswith("! ")] == [], "refused"
    texts = acknowledged(lines)
    assert len(texts) == 4 * count
    assert broken_promises(store, texts) + broken_history(store) == []
    with open_store(str(store)) as opened:
        assert opened.count() == 1
        assert opened.count(where={"include_expired": True}) == 4 * count


@pytest.mark.slow
def test_a_stopped_writer_is_no_blocked_reader(tmp_path: Path) -> None:
    """SIGSTOP at any point, then SIGKILL: reading goes on meanwhile, writing after it."""
    outcome = stops(tmp_path, 5)
    assert outcome.broken == []
    assert outcome.acknowledged > 100


def test_the_checker_sees_a_commit_acknowledged_too_early(tmp_path: Path) -> None:
    texts = acknowledged(run_writers(tmp_path / "store", "liar", count=9, fault="early"))
    assert len(texts) == 4
    assert broken_promises(tmp_path / "store", texts) == [f"lost: {text_of('liar', 3)}"]


def test_the_checker_sees_half_a_commit(tmp_path: Path) -> None:
    lines = run_writers(tmp_path / "store", "sloven", count=5, fault="half")
    found = broken_promises(tmp_path / "store", acknowledged(lines))
    assert f"half: {text_of('sloven', 3)} has no event ADD" in found
    assert any(line.startswith(("digest", "counts")) for line in found)


@pytest.mark.slow
def test_three_processes_with_200_commits_each_make_600(tmp_path: Path) -> None:
    store, count = tmp_path / "store", 200
    open_store(str(store)).close()
    names = [f"process {place}" for place in range(3)]
    lines = run_writers(store, *names, count=count)
    assert [line for line in lines if line.startswith("! ")] == [], "refused"
    texts = acknowledged(lines)
    assert len(texts) == 600
    assert broken_promises(store, texts) == []
    with open_store(str(store)) as opened:
        assert opened.count() == 600
        assert opened.admin.stats().seq == 600


def test_two_processes_commit_the_same_100_times_each(tmp_path: Path) -> None:
    open_store(str(tmp_path / "store")).close()
    lines = run_writers(tmp_path / "store", "one", "two", count=100, fault="same")
    outcomes = [line[2:] for line in lines if line.startswith("~ ")]
    assert sorted(set(outcomes)) == ["EXACT_DUPE", "INSERTED_NEW"]
    assert (outcomes.count("EXACT_DUPE"), len(outcomes)) == (199, 200)
    with open_store(str(tmp_path / "store")) as store:
        assert store.count() == 1
        (memory,) = store.list()
        assert memory.reinforce_count == 199
        assert len(store.events(memory.id)) == 200


def test_threads_share_one_store(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "store")) as store:
        errors: list[BaseException] = []

        def work(name: str) -> None:
            try:
                for number in range(25):
                    store.commit(text_of(name, number))
                    store.recall(text_of(name, number), limit=1)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(f"thread {n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
    texts = {text_of(f"thread {n}", number) for n in range(4) for number in range(25)}
    assert broken_promises(tmp_path / "store", texts) == []


def test_a_fork_with_an_open_store_harms_neither_side(tmp_path: Path) -> None:
    """Run apart from pytest: a child of pytest would carry pytest on."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[2]); from writer import *\n"
        "store = open_store(sys.argv[1])\n"
        "for n in range(5): store.commit(text_of('before', n))\n"
        "child = os.fork()\n"
        "name = 'parent' if child else 'child'\n"
        "for n in range(20):\n"
        "    store.commit(text_of(name, n)); say('+', text_of(name, n))\n"
        "    assert store.recall(text_of('before', 1), limit=1).results\n"
        "if child:\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
        "store.close()\n"
        "os._exit(0) if not child else None"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "s"), str(WRITER.parent)],
        capture_output=True,
        check=False,
        env=dict(os.environ),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()[-2_000:]
    texts = acknowledged(done.stdout.decode().splitlines())
    assert len(texts) == 40
    texts |= {text_of("before", number) for number in range(5)}
    assert broken_promises(tmp_path / "s", texts) == []


def test_outcomes_of_one_process_are_all_new(tmp_path: Path) -> None:
    """Texts of the writers are far apart, so that no commit is taken for a repeat."""
    with open_store(str(tmp_path / "store")) as store:
        kinds = {store.commit(text_of("alone", number)).outcome for number in range(50)}
    assert kinds == {CommitOutcomeKind.INSERTED_NEW}
