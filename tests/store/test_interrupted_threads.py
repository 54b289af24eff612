"""An interrupt of an opening does not spoil the end of the process: who waits for the background
threads does not wait for one that never ran, and finds no half made store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

STARTS = {
    "vestig-idle": "import vestig; vestig.open({path!r}).commit('Bread is sold out.')",
    "vestig-merge": (
        "from vestig.store.projection.background import Merger;"
        " Merger(lambda: NO_CORE, print).wake()"
    ),
}
INTERRUPTED = """
import threading

class NO_CORE:
    @staticmethod
    def stop_merging():
        pass

def start(thread, own=threading.Thread.start):
    if thread.name == {name!r}:
        raise KeyboardInterrupt
    own(thread)

threading.Thread.start = start
try:
    kept = {start}
except KeyboardInterrupt:
    print("interrupted")
"""


HALF_MADE = """
import gc, vestig
from vestig import _core

def interrupted(*_):
    raise KeyboardInterrupt

_core.Projection = type("Projection", (), {{"open": staticmethod(interrupted)}})
gc.disable()
try:
    vestig.open({path!r})
except KeyboardInterrupt as error:
    kept = error
    print("interrupted")
"""


def result(code: str) -> tuple[str, str, int]:
    """Of a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout, done.stderr, done.returncode


@pytest.mark.parametrize("name", STARTS)
def test_a_thread_that_never_ran_is_not_waited_for(name: str, tmp_path: Path) -> None:
    opening = STARTS[name].format(path=str(tmp_path / "store"))
    *before, last = opening.split("; ")
    code = INTERRUPTED.format(name=name, start=last)
    assert result("\n".join([*before, code])) == ("interrupted\n", "", 0)


def test_a_half_made_projection_is_not_waited_for(tmp_path: Path) -> None:
    code = HALF_MADE.format(path=str(tmp_path / "store"))
    assert result(code) == ("interrupted\n", "", 0)
