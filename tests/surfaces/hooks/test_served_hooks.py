"""Hooks that a server of tools answers, and what happens where it cannot."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from editor import SCOPE, Editor

import vestig
from mcp_process import START_S, McpProcess
from vestig.surfaces.cli.opening import configuration
from vestig.surfaces.hooks import client
from vestig.surfaces.hooks.server import HookServer

PORT = "The staging database of the lighthouse listens on port 6543."
QUESTION = "Which port does the staging database listen on?"
# what a busy machine needs is no part of these tests
SECONDS = 60


class Project:
    """An editor's project whose hooks run by the client.

    Args:
        runtime: the folder of the user's sockets: their names are short.
    """

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.editor = Editor(folder)
        self.runtime = runtime
        self.sockets = runtime / "vestig"
        self.variables = {
            **self.editor.environment(),
            "XDG_RUNTIME_DIR": str(runtime),
            "XDG_CONFIG_HOME": str(folder),
            "CLAUDE_PROJECT_DIR": str(self.editor.project),
        }
        with vestig.open(config=self.editor.config) as store:
            store.commit(PORT)

    def server(self, **variables: str) -> McpProcess:
        """A server of the project that listens."""
        before = set(self.names())
        made = self.started("--scope", "auto", **variables)
        wait_for(lambda: set(self.names()) - before)
        return made

    def started(self, *words: str, **variables: str) -> McpProcess:
        """A server that has answered its client."""
        made = McpProcess(self.editor.config, *words, env={**self.variables, **variables})
        made.initialize()
        return made

    def names(self) -> list[str]:
        """Sockets that are there."""
        return sorted(os.listdir(self.sockets)) if self.sockets.is_dir() else []

    def fake(self, answer: Callable[[socket.socket], None]) -> socket.socket:
        """A server of the project that does something else with a connection."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CLAUDE_PROJECT_DIR", str(self.editor.project))
            prefix = client.socket_prefix(["--config", str(self.editor.config)])
        self.sockets.mkdir(mode=0o700, exist_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = self.sockets / f"{prefix}fake"
        listening.bind(str(path))
        path.chmod(0o600)
        listening.listen()

        def accept() -> None:
            try:
                while True:
                    answer(listening.accept()[0])
            except OSError:
                pass

        threading.Thread(target=accept, daemon=True).start()
        return listening

    def hook(
        self,
        event: str = "UserPromptSubmit",
        session: str = "one",
        *,
        seconds: float = SECONDS,
        variables: Mapping[str, str] | None = None,
        folder: Path | None = None,
        flags: tuple[str, ...] = (),
        text: str | None = None,
        **told: Any,
    ) -> subprocess.CompletedProcess[str]:
        """The client at one event, ended."""
        known = {
            "session_id": session,
            "transcript_path": str(self.editor.transcript(session)),
            "cwd": str(self.editor.project),
            "prompt": QUESTION,
        }
        limits = f"client.TIME_LIMIT_S = client.ACTION_TIME_LIMIT_S = {SECONDS}"
        limit = f"{limits}; from vestig.surfaces.cli"
        source = Path(client.__file__).read_text()
        for given in ("TIME_LIMIT_S = 1.2", "ACTION_TIME_LIMIT_S = 4.0"):
            source = source.replace(given, f"{given.split()[0]} = {seconds}")
        source = source.replace(
            '_HOOK = "from vestig.surfaces.cli',
            f'_HOOK = "from vestig.surfaces.hooks import client; {limit}',
        )
        program = self.editor.folder / "client.py"
        program.write_text(source)
        words = ["hook", event, "--config", str(self.editor.config)]
        return subprocess.run(
            [sys.executable, "-I", "-S", *flags, str(program), *words],
            input=json.dumps(known | told) if text is None else text,
            capture_output=True,
            text=True,
            env=self.variables if variables is None else dict(variables),
            cwd=folder or self.editor.project,
            check=False,
        )

    def by(self, session: str) -> list[str]:
        """Who answered in a session, as the log says."""
        wanted = [one for one in self.editor.log() if one.get("session") == session]
        return [str(one.get("by")) for one in wanted]

    def answers(self, session: str, **more: Any) -> str:
        """Who shows the memory of a prompt."""
        ended = self.hook(session=session, **more)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert PORT in ended.stdout, self.editor.log()
        (by,) = self.by(session)
        return by


def wait_for(holds: Callable[[], Any], seconds: float = START_S) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    runtime = Path(tempfile.mkdtemp(prefix="v", dir="/tmp"))
    yield Project(tmp_path, runtime)
    shutil.rmtree(runtime)


def test_a_server_answers_as_the_hook_itself_does(project: Project) -> None:
    alone = project.hook(session="alone")
    with project.server():
        served = project.hook(session="served")
        assert served.stdout == alone.stdout
        assert PORT in served.stdout
        assert served.stdout.count("\n") == 1
        # once a session, and nothing for a prompt that is too short
        assert project.hook(session="served").stdout == ""
        assert project.hook(session="served", prompt="port?").stdout == ""
    assert (project.by("alone"), project.by("served")) == (["process"], ["server"])


def before_a_tool(project: Project, event: str = "PreToolUse", **more: Any) -> Any:
    """The answer to the call of a tool, None for none, and who gave it."""
    given = {"tool_name": "Bash", "tool_input": {"command": "cd x && sudo git push"}}
    # the client reads no variable of the interpreter, the process that it becomes does
    told = {**project.variables, "PYTHONPROFILEIMPORTTIME": "1"}
    ended = project.hook(event, variables=told, **{**given, **more})
    assert ended.returncode == 0
    by = "process" if "vestig.rules" in ended.stderr else "server"
    answer = json.loads(ended.stdout)["hookSpecificOutput"] if ended.stdout else None
    return answer, by


@pytest.mark.parametrize("event", ["PreToolUse", client.STRICT])
def test_a_server_answers_before_a_tool_as_the_hook_itself_does(
    project: Project, event: str
) -> None:
    with vestig.open(config=project.editor.config) as store:
        id = store.rules.add("Nobody pushes", "command = 'git push'", "deny", scope=SCOPE).id
    alone = before_a_tool(project, event)
    assert alone[1] == "process"
    with project.server():
        served = before_a_tool(project, event)
        assert served == (alone[0], "server")
        assert served[0]["permissionDecision"] == "deny"
        assert id in served[0]["permissionDecisionReason"]
        assert before_a_tool(project, event, tool_input={"command": "ls"}) == (None, "server")
        long = {"url": f"https://example.org/{'x' * 100_000}"}
        assert before_a_tool(project, event, tool_input=long) == (None, "server")

        def counted() -> bool:
            with vestig.open(config=project.editor.config) as store:
                return store.rules.show(id).denied == 2

        project.editor.wait_for(counted)


@pytest.mark.parametrize("event", ["PreToolUse", client.STRICT])
def test_a_server_that_is_late_before_a_tool(project: Project, event: str) -> None:
    def never(connection: socket.socket) -> None:
        connection.sendall(client.ACCEPTED)
        kept.append(connection)

    with project.fake(never):
        answer, by = before_a_tool(project, event, seconds=1.0)
    assert by == "server"
    if event == "PreToolUse":
        assert answer is None
    else:
        assert answer["permissionDecision"] == "deny"
        assert "--strict" in answer["permissionDecisionReason"]


def test_the_client_loads_nothing_of_the_package(project: Project) -> None:
    with project.server():
        ended = project.hook(flags=("-X", "importtime"))
    loaded = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert "_socket" in loaded
    assert PORT in ended.stdout
    assert not [name for name in loaded if name.startswith("vestig")]
    assert not loaded & {"json", "typing", "re", "site", "socket", "subprocess"}


def test_a_session_begins_by_a_server(project: Project) -> None:
    with vestig.open(config=project.editor.config) as store:
        pinned = store.commit("Answers are written in British English.", scope=SCOPE).memory_id
        store.pin(str(pinned))
    # what is older than the log is no business of a hook
    project.hook(session="before")
    project.editor.said("left", "The crane is red.")
    with project.server():
        ended = project.hook("SessionStart", "next", source="startup")
        assert "British English" in ended.stdout
        project.editor.wait_for(lambda: "The crane is red." in project.editor.memories())
    assert set(project.by("next")) == {"server"}


@pytest.mark.parametrize("event", ["SessionEnd", "PreCompact"])
def test_what_is_to_be_read_is_handed_over_at_once(project: Project, event: str) -> None:
    project.editor.said("one", "The crane is red.")
    # whoever holds the turn of the readers keeps this one waiting, and nobody else
    ended = project.hook(event, "one", seconds=0.01)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    project.editor.wait_for(lambda: "The crane is red." in project.editor.memories())


def test_a_killed_server_leaves_the_hook_to_itself(project: Project) -> None:
    with project.server() as server:
        server.process.kill()
        server.process.wait()
    (left,) = project.names()
    assert project.answers("one") == "process"
    with project.server():
        assert left not in project.names()
        assert project.answers("two") == "server"


def test_each_of_two_servers_answers_when_the_other_is_gone(project: Project) -> None:
    with project.server() as first, project.server() as second:
        assert len(project.names()) == 2
        first.process.stdin.close()
        assert first.ends()[0] == 0
        assert len(project.names()) == 1
        assert project.answers("one") == "server"
        second.process.send_signal(signal.SIGTERM)
        assert second.ends()[0] == 0
    assert project.names() == []
    assert project.answers("two") == "process"


def test_the_sockets_are_of_their_owner_alone(project: Project) -> None:
    with project.server():
        (name,) = project.names()
        assert stat.S_IMODE((project.sockets / name).stat().st_mode) == 0o600
        assert stat.S_IMODE(project.sockets.stat().st_mode) == 0o700


def keeps_silent(connection: socket.socket) -> None:
    kept.append(connection)


def hangs_up(connection: socket.socket) -> None:
    connection.close()


def dies_after_taking(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass
    connection.sendall(client.ACCEPTED + client.ANSWERED + b'{"half')
    connection.close()


def refuses(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass
    connection.sendall(client.ACCEPTED + client.REFUSED)
    connection.close()


def speaks_otherwise(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.0 400\r\n\r\n")
    connection.close()


kept: list[socket.socket] = []


@pytest.mark.parametrize(
    "answer", [keeps_silent, hangs_up, dies_after_taking, refuses, speaks_otherwise]
)
def test_a_server_that_does_not_answer_leaves_the_hook_to_itself(
    project: Project, answer: Callable[[socket.socket], None]
) -> None:
    with project.fake(answer):
        assert project.answers("one") == "process"


def test_a_server_that_takes_the_event_is_waited_for_to_the_end(project: Project) -> None:
    def never(connection: socket.socket) -> None:
        connection.sendall(client.ACCEPTED)
        kept.append(connection)

    with project.fake(never):
        began = time.monotonic()
        ended = project.hook(seconds=1.5)
        assert time.monotonic() - began > 1
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
        project.editor.wait_for(lambda: project.by("one"))
    (line,) = (one for one in project.editor.log() if one.get("session") == "one")
    assert (line["event"], line["by"]) == ("UserPromptSubmit", "server")
    assert line["error"].startswith("no answer within")


def open_folder(project: Project, _: Path) -> None:
    project.sockets.chmod(0o755)


def open_socket(_: Project, path: Path) -> None:
    path.chmod(0o666)


def foreign_socket(_: Project, path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("the superuser gives files away")
    os.chown(path, 65_534, 65_534)


def no_socket(_: Project, path: Path) -> None:
    path.unlink()
    path.touch(mode=0o600)


@pytest.mark.parametrize("spoil", [open_folder, open_socket, foreign_socket, no_socket])
def test_what_is_not_this_users_alone_is_not_asked(
    project: Project, spoil: Callable[[Project, Path], None]
) -> None:
    with project.server():
        (name,) = project.names()
        spoil(project, project.sockets / name)
        assert project.answers("one") == "process"
        project.sockets.chmod(0o700)


def test_a_hook_under_other_variables_answers_by_itself(project: Project) -> None:
    with project.server():
        more = {**project.variables, "VESTIG_HOOKS__BUDGET": "500"}
        assert project.answers("one", variables=more) == "process"
        assert project.answers("two") == "server"


def test_a_server_of_another_project_does_not_answer(project: Project) -> None:
    plain = {k: v for k, v in project.variables.items() if k != "CLAUDE_PROJECT_DIR"}
    project.variables = plain
    # the server works in the folder above, and the event is of the project
    with project.server(CLAUDE_PROJECT_DIR=""):
        assert project.answers("one", folder=project.editor.folder) == "process"


def test_a_server_of_another_store_does_not_answer(project: Project) -> None:
    with project.server():
        text = project.editor.config.read_text()
        # the server has read its configuration; the hook reads the file as it is
        project.editor.config.write_text(text.replace('store"', 'moved"'))
        assert project.hook().stdout == ""
    lines = list((project.editor.state / "vestig").glob("hooks.log"))
    assert any('"by": "process"' in one.read_text() for one in lines)


@pytest.fixture
def local(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The socket of a server in this process."""
    for name, value in project.variables.items():
        monkeypatch.setenv(name, value)
    options = {"config": str(project.editor.config)}
    settings = configuration(options).settings
    with (
        vestig.open(config=project.editor.config) as store,
        HookServer(options, settings, store, SCOPE),
    ):
        (name,) = project.names()
        yield project.sockets / name


def asked(path: Path, head: tuple[str, ...], event: bytes = b"{}") -> bytes:
    """What a server says to a request."""
    data = os.fsencode("\0".join(head))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(START_S)
        connection.connect(str(path))
        told = b""
        # one that is not answered is closed before it is read
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(b"%d\n%b%b" % (len(data), data, event))
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(4_096):
                told += part
        return told


def heads(path: Path) -> dict[str, tuple[str, ...]]:
    known = client.variables()
    start = (str(len(known)), *known, "hook", "UserPromptSubmit")
    folder, project = os.getcwd(), os.environ["CLAUDE_PROJECT_DIR"]
    return {
        "another protocol": ("vestig hook 2", "900", folder, project, *start),
        "too late": (client.PROTOCOL, "-1", folder, project, *start),
        "no number": (client.PROTOCOL, "soon", folder, project, *start),
        "other words": (client.PROTOCOL, "900", folder, project, *start[:-2], "forget", "x"),
        "other variables": (client.PROTOCOL, "900", folder, project, "0", *start[-2:]),
        "nothing": ("",),
    }


def test_a_server_takes_requests_of_its_own_protocol_alone(local: Path) -> None:
    for name, head in heads(local).items():
        assert asked(local, head) == b"", name
    for junk in (b"", b"x" * 70_000, b"99999999\n", b"-1\n\n"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(START_S)
            connection.connect(str(local))
            connection.sendall(junk)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""


def test_another_user_is_not_answered(local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["hook", "UserPromptSubmit", "--config", "none"]
    monkeypatch.setattr(client, "peer", lambda _: os.getuid() + 1)
    assert asked(local, heads(local)["too late"]) == b""
    end = time.monotonic() + START_S
    assert client._answer(str(local), words, b"{}", end) is None


def test_the_other_end_of_a_socket_has_a_user() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert client.peer(one) == os.getuid()


def test_without_a_scope_nothing_listens(project: Project) -> None:
    with project.started():
        assert project.names() == []


def test_a_starting_server_keeps_the_socket_of_one_that_listens(project: Project) -> None:
    with project.server():
        (name,) = project.names()
        with project.server():
            assert name in project.names()


@pytest.mark.parametrize("told", ["{", "[]", "[1]", '{"prompt": 7}'])
def test_wrong_input_is_no_fault_of_the_editor(project: Project, told: str) -> None:
    with project.server():
        ended = project.hook(text=told)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_large_event_arrives_whole(project: Project) -> None:
    long = QUESTION.ljust(5_000_000, ".")
    with project.server():
        assert PORT in project.hook(session="served", prompt=long).stdout
    assert PORT in project.hook(session="alone", prompt=long).stdout
    assert (project.by("served"), project.by("alone")) == (["server"], ["process"])
