"""A fork of the loaded process ends as a process of its own does."""

from __future__ import annotations

import os
import subprocess
import sys

import forked
from tables import each


@each(
    "code",
    [
        "print('said', sys.argv[1:], input())",
        "sys.exit(3)",
        "sys.exit('no such thing')",
        "sys.exit(None)",
        "print('said'); 1 / 0",
        "os.kill(os.getpid(), 9)",
        "raise KeyboardInterrupt",
        "import atexit; atexit.register(print, 'at the end'); sys.exit(2)",
        "import threading; threading.Timer(0.1, print, ['later']).start()",
        "os.close(1); print('lost')",
    ],
)
def test_a_fork_ends_as_a_process_does(code: str) -> None:
    text = f"import os, sys; {code}"
    real = subprocess.run(
        [sys.executable, "-c", text, "a", "b"],
        input="typed",
        capture_output=True,
        text=True,
        check=False,
    )
    fork = forked.run(["a", "b"], env=os.environ, code=text, input="typed")
    assert (fork.returncode, fork.stdout) == (real.returncode, real.stdout)
    assert fork.stderr.splitlines()[-1:] == real.stderr.splitlines()[-1:]
