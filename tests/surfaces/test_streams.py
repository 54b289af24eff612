"""Standard streams that are full, closed or broken, interrupts, and text that would steer a
terminal: each ends in one plain line and its exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tables import each

MAIN = "from vestig.surfaces.cli import main; main()"
# Tells that main has begun, for a test that interrupts it: the first call of main writes a mark.
MARKED = (
    "import gc, os; from vestig.surfaces.cli import main;"
    "gc.set_threshold = lambda _: os.write(2, b'.'); main()"
)
# Runs a command that is interrupted at an odd moment.
ODD_COMMAND = """
import signal, sys, time, weakref
from vestig.surfaces.cli import commands, main

def callback(interrupt):
    "Python ignores what a callback of a weak reference raises."
    seen = {1}
    watched = weakref.ref(seen, lambda _: interrupt())
    del seen
    time.sleep(60)

def twice(interrupt):
    "The next one comes while the first is dealt with: as a lock is taken or a thread is started."
    def trace(frame, event, called):
        if event == "c_call" and called.__name__ in ("acquire", "start_new_thread"):
            sys.setprofile(None)
            interrupt()
    def both():
        sys.setprofile(trace)
        interrupt()
    callback(both)

def member(interrupt):
    "Python makes a RuntimeError of what is raised while a member of a class gets its name."
    class Named:
        def __set_name__(self, owner, name):
            interrupt()
    class Holder:
        named = Named()

def main_only(args):
    PLACE(lambda: signal.raise_signal(signal.SIGINT))

commands.cli.main = lambda **_: main_only(None)
commands.run = WITH
main()
"""
QUIET = b"Interrupted; the store is consistent.\n"
STEERING = "\x9b31m red \x85 and \x7f gone"

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def command(tmp_path: Path) -> Run:
    """Runs one command line in a process of its own, with a store that holds a memory."""
    environment = {
        **os.environ,
        "VESTIG_STORE": str(tmp_path / "store"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }

    def run(args: Sequence[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run(
            [sys.executable, "-c", MAIN, *args],
            stderr=subprocess.PIPE,
            env={**environment, **options.pop("env", {})},
            cwd=tmp_path,
            check=False,
            **options,
        )

    assert run(["memory", "add", f"The lift {STEERING} stops at floor two."]).returncode == 0
    return run


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("args", [["memory", "list"], ["--json", "memory", "list"], ["--help"]])
def test_full_standard_output_is_one_line(command: Run, args: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = command(args, stdout=full)
    assert done.returncode == 1
    assert b"No space left" in done.stderr
    assert b"Internal error" not in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("args", [["memory", "list"], ["--json", "memory", "list"]])
def test_closed_standard_output_is_one_line(command: Run, args: list[str]) -> None:
    done = command(args, stdout=None, preexec_fn=lambda: os.close(1))
    assert done.returncode == 1
    assert b"standard output is closed" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("args", [["import", "-"], ["memory", "add", "-"], ["item", "put-many"]])
def test_closed_standard_input_is_one_line(command: Run, args: list[str]) -> None:
    done = command(args, preexec_fn=lambda: os.close(0))
    assert done.returncode == 2
    assert b"Internal error" not in done.stderr


def test_a_locale_without_the_letters_of_a_text(command: Run, tmp_path: Path) -> None:
    ascii = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert command(["memory", "add", "Jiří Šťastný has a ferret"]).returncode == 0
    done = command(["export", "md", "--format", "md"], env=ascii)
    assert (done.returncode, len(list((tmp_path / "md").iterdir()))) == (0, 2)
    assert any("Jiří" in path.read_text("utf-8") for path in (tmp_path / "md").iterdir())
    done = command(["memory", "add", "Jiří Šťastný has a parrot"], env=ascii)
    assert done.returncode == 2
    assert b"PYTHONUTF8=1" in done.stderr
    assert b"replace" not in done.stderr
    assert (
        command(["memory", "add", "Jiří has a wolf"], env={**ascii, "PYTHONUTF8": "1"}).returncode
        == 0
    )


def test_no_file_of_the_store_gets_the_number_of_a_closed_stream(command: Run) -> None:
    def close_all() -> None:
        os.close(0)
        os.close(1)

    assert command(["memory", "add", "-"], stdout=None, preexec_fn=close_all).returncode == 2
    done = command(["memory", "add", "Bread is sold out."], stdout=None, preexec_fn=close_all)
    assert done.returncode == 1
    assert command(["doctor"]).returncode == 0
    assert b"Bread" in command(["memory", "list"]).stdout


def test_a_reader_that_went_away_is_no_fault(command: Run) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as gone:
        done = command(["memory", "list"], stdout=gone)
    assert (done.returncode, done.stderr) == (0, b"")


def test_stored_text_does_not_steer_what_reads_a_pipe(command: Run) -> None:
    for args in (["memory", "list"], ["memory", "recall", "lift"], ["--json", "memory", "list"]):
        out = command(args).stdout.decode()
        assert "floor two" in out
        assert not [c for c in out if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)]
    (memory,) = json.loads(command(["--json", "memory", "list"]).stdout)["memories"]
    assert STEERING.split(maxsplit=1)[0] in memory["content"], "JSON holds the same text"


# The first interrupt is dropped in a finaliser, and starting a thread takes its time.
DROPPED = """
import _thread, sys, time
import vestig.surfaces.cli as cli
started = _thread.start_new_thread
def start(*given):
    started(*given)
    time.sleep(0.2)
_thread.start_new_thread = start
sys.unraisablehook = cli._raise_dropped_interrupt_again
class Dropped:
    def __del__(self):
        raise KeyboardInterrupt
try:
    Dropped()
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_an_interrupt_that_was_dropped_comes_once_more_however_slow_the_machine() -> None:
    done = subprocess.run(
        [sys.executable, "-c", DROPPED],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_an_interrupt_at_any_moment_ends_quietly(tmp_path: Path) -> None:
    environment = {**os.environ, "VESTIG_STORE": str(tmp_path / "store")}
    codes = []
    for moment in range(20):
        started = subprocess.Popen(
            [sys.executable, "-c", MARKED, "memory", "add", f"Line {moment} goes to Oslo."],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=tmp_path,
            # a job in the background ignores interrupts, and so would what it starts
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        assert started.stderr is not None
        started.stderr.read(1)
        time.sleep(moment * 0.02)
        started.send_signal(signal.SIGINT)
        _, err = started.communicate(timeout=60)
        assert b"Traceback" not in err
        assert b"Error" not in err
        codes.append(started.returncode)
    # an extension module may lose an interrupt while it is loaded
    assert set(codes) <= {130, 0}
    assert codes.count(130) >= 5


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@each("place", ["callback", "twice", "member"])
@each(("run", "said"), [("main_only", b""), ("commands.run", QUIET)])
def test_an_interrupt_that_python_drops_or_changes_is_one(
    place: str, run: str, said: bytes
) -> None:
    code = ODD_COMMAND.replace("PLACE", place).replace("WITH", run)
    done = subprocess.run(
        [sys.executable, "-c", code],
        stderr=subprocess.PIPE,
        check=False,
        timeout=50,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stderr) == (130, said)
