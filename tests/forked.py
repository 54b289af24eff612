"""Processes that begin with the package loaded, for tests that start many.

What a command or a server needs takes longer to load than most of them run. One process of each
worker loads it, and the others are forks of that one, with their own streams, environment, folder
and exit code. A test of how a process starts or ends, of its flags or of what it loads starts a
real one.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

__all__ = ["Process", "run", "script"]

_COMMAND = "import sys; from vestig.surfaces.cli import run; sys.exit(run(sys.argv[1:]))"
# The files that go to the server with a request: the one that says what to run, standard input,
# output and error, and the one that takes the number of the process and its exit code.
_FILES = 5


@cache
def _server() -> socket.socket:
    """Start the process that is forked, which ends with this one, and return the way to it."""
    near, far = socket.socketpair()
    with far:
        subprocess.Popen(
            [sys.executable, __file__, str(far.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[far.fileno()],
        )
    return near


class Process:
    """`python -c CODE WORDS…` with pipes, as `subprocess.Popen` would start it.

    Args:
        stdin: a file to read from in place of a pipe.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        code: str = _COMMAND,
        cwd: Path | None = None,
        stdin: int | None = None,
    ) -> None:
        self.args = [*words]
        self.returncode: int | None = None
        told, given, out, err, state = (os.pipe() for _ in range(_FILES))
        theirs = [told[0], given[0], out[1], err[1], state[1]]
        sent = theirs if stdin is None else [told[0], stdin, *theirs[2:]]
        socket.send_fds(_server(), [b"."], sent)
        for one in theirs:
            os.close(one)
        self.stdin: BinaryIO = os.fdopen(given[1], "wb")
        self.stdout: BinaryIO = os.fdopen(out[0], "rb")
        self.stderr: BinaryIO = os.fdopen(err[0], "rb")
        self._state: BinaryIO = os.fdopen(state[0], "rb", buffering=0)
        request = {"code": code, "words": self.args, "env": {**env}, "cwd": str(cwd or Path.cwd())}
        with os.fdopen(told[1], "w", encoding="utf-8") as file:
            json.dump(request, file)
        self.pid = int(self._state.readline())

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._state], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._state.readline())
            self._state.close()
        return self.returncode

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def end(self) -> None:
        """Kill it where it runs, and close its streams."""
        self.kill()
        self.wait()
        for stream in (self.stdin, self.stdout, self.stderr):
            with suppress(BrokenPipeError):
                stream.close()


def run(
    words: Sequence[str],
    *,
    env: Mapping[str, str],
    code: str = _COMMAND,
    input: str = "",
    stdin: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `python -c CODE WORDS…` to its end, as `subprocess.run` would."""
    started = Process(words, env=env, code=code, stdin=stdin)

    def give() -> None:
        with suppress(BrokenPipeError), started.stdin as file:
            file.write(input.encode())

    with ThreadPoolExecutor() as pool, started.stdout, started.stderr:
        pool.submit(give)
        read = [pool.submit(one.read) for one in (started.stdout, started.stderr)]
        out, err = (one.result().decode() for one in read)
    return subprocess.CompletedProcess(started.args, started.wait(), out, err)


def script(path: Path, *folders: Path) -> str:
    """Code that runs a file as `python FILE` does, with modules of these folders beside it."""
    places = [str(one) for one in (path.parent, *folders)]
    return (
        f"import runpy, sys; sys.path[:0] = {places!r};"
        f" runpy.run_path({str(path)!r}, run_name='__main__')"
    )


def _load() -> None:
    """Load what most commands and servers need."""
    import vestig
    import vestig.surfaces.cli.commands
    import vestig.surfaces.hooks.events
    import vestig.surfaces.http.server
    import vestig.surfaces.mcp.server
    from vestig.testing import HashingEmbedder

    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "vestig.yaml"
        config.write_text("store: {path: ':memory:'}\n")
        with vestig.open(config=config, embedder=HashingEmbedder()) as store:
            store.commit("The crane is red.")
            store.recall("crane")
    assert threading.active_count() == 1, "a fork has no other thread"
    gc.freeze()


def _process(link: socket.socket) -> str:
    """Fork for each request; return, in the fork, the code that it runs."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, files, _, _ = socket.recv_fds(link, 1, _FILES)
        if not data:
            os._exit(0)
        if os.fork():
            for one in files:
                os.close(one)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        told, *streams, state = files
        # this one waits for the process, while the server goes on
        if child := os.fork():
            for one in (told, *streams):
                os.close(one)
            os.write(state, b"%d\n" % child)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os.write(state, b"%d\n" % code)
            os._exit(0)
        with os.fdopen(told, encoding="utf-8") as file:
            request: dict[str, Any] = json.load(file)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, one in enumerate(streams):
            os.dup2(one, number)
        os.closerange(3, max(*files, link.fileno()) + 1)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        time.tzset()
        sys.argv = ["-c", *request["words"]]
        return str(request["code"])


def _end(code: int) -> NoReturn:
    """End as an interpreter does, but for taking down what is loaded: a fork would copy all of it
    to do so."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120
    os._exit(code)


if __name__ == "__main__":
    _load()
    text = _process(socket.socket(fileno=int(sys.argv[1])))
    try:
        exec(text, {"__name__": "__main__"})
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            sys.stderr.write(f"{end.code}\n")
        _end(end.code if isinstance(end.code, int) else int(end.code is not None))
    except KeyboardInterrupt:
        raise
    except BaseException:
        traceback.print_exc()
        _end(1)
    _end(0)
