"""The program that an editor starts at an event: `python -I -S client.py hook EVENT [OPTIONS]`.

It imports nothing of the package and next to nothing of the standard library. A prompt and the
beginning of a session are asked of a server of this user that `vestig mcp` keeps for the same store
and project; where none answers, this process becomes the package's own hook, with the event before
it. What is to be read at the end of a session is handed to a process of its own.

A request is the length of its head in decimal, a line feed, the head and the event as it came. The
head is divided by NUL: the protocol, the milliseconds that are left, the working folder, the
editor's own word for the project, the number of variables, the variables, the words of the command.
An answer is `ACCEPTED` at once, then `ANSWERED`, the text to print and `END`, or `REFUSED`.
"""

from __future__ import annotations

import os
import sys
import time

try:
    # `socket` takes as long to load as the interpreter
    import _socket as socket
except ImportError:
    import socket  # type: ignore[no-redef]

PROTOCOL = "vestig hook 1"
ACCEPTED, ANSWERED, REFUSED, END = b"+", b"=", b"-", b"."
# From the start of the process to its end. Whoever types a prompt waits for it; what stands before
# an action decides on it.
TIME_LIMIT_S = 1.2
ACTION_TIME_LIMIT_S = 4.0
# A server that takes no event within this time hangs.
_ACCEPTED_S = 0.3
INPUT_BYTES_MAX = 16 * 1024 * 1024
# Before an action that is refused where the rules cannot be asked.
STRICT = "PreToolUse-strict"
# Before an action of Codex, and as Cursor calls what is before one of its own.
CODEX = "PreToolUse-codex"
CURSOR = ("beforeShellExecution", "beforeMCPExecution", "beforeReadFile")
_ACTIONS = ("PreToolUse", STRICT, CODEX, *CURSOR)
# What happens behind the editor's back.
_READ_EVENTS = ("PreCompact", "SessionEnd", "preCompact", "sessionEnd")
# What else than variables of its own decides what Vestig does.
_VARIABLES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
_PEER_BYTES = 76
_HOOK = "from vestig.surfaces.cli import main; main()"
_LATE = "from vestig.surfaces.hooks.events import tell_late; tell_late()"
# The answer where the rules could not be asked and nothing may happen without them.
REFUSAL = (
    b'{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",'
    b' "permissionDecisionReason": "Vestig could not ask its rules, and was installed with'
    b' --strict; `vestig doctor` and hooks.log in the folder of the store say why."}}\n'
)


class LateError(Exception):
    """The time of a hook is over."""


def process_age_s() -> float:
    """Return for how long this process runs; 0 where the system does not tell."""
    try:
        with open("/proc/self/stat", "rb") as file:
            # the name of the program, in brackets, may hold anything
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def socket_folder() -> str:
    """Return the folder of this user's sockets."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return f"{runtime}/vestig" if runtime else f"/tmp/vestig-{os.getuid()}"


def is_private(path: str, kind: int) -> bool:
    """Return whether a folder or socket is this user's, and closed to others.

    Args:
        kind: the bits of its mode that say what it is, such as `stat.S_IFSOCK`.
    """
    try:
        found = os.lstat(path)
    except OSError:
        return False
    same = found.st_mode & 0o170000 == kind
    return same and found.st_uid == os.getuid() and not found.st_mode & 0o077


def project_variable() -> str:
    """Return the project that the editor names to its programs; "" for none."""
    return os.environ.get("CLAUDE_PROJECT_DIR", "")


def variables() -> list[str]:
    """Return the variables of this process that decide what Vestig does, as NAME=VALUE."""
    decide = ("VESTIG_", "GIT_")
    names = (name for name in os.environ if name.startswith(decide) or name in _VARIABLES)
    return [f"{name}={os.environ[name]}" for name in sorted(names)]


def socket_prefix(options: list[str]) -> str:
    """Return how the names of sockets begin that serve a store in the project worked on.

    Args:
        options: words of the command that name the store.
    """
    root = os.path.realpath(project_variable() or os.getcwd())
    place = root
    while place != os.path.dirname(place):
        if os.path.lexists(f"{place}/.git"):
            root = place
            break
        place = os.path.dirname(place)
    number = 0xCBF29CE484222325
    for byte in os.fsencode("\0".join((*options, root))):
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{number:016x}-"


def peer(connection: socket.socket) -> int | None:
    """Return the id of the user at the other end; None where the system does not tell."""
    if hasattr(socket, "SO_PEERCRED"):
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    elif sys.platform == "darwin":
        # level SOL_LOCAL, option LOCAL_PEERCRED: a version, the user, groups
        told = connection.getsockopt(0, 1, _PEER_BYTES)
    else:
        return None
    return int.from_bytes(told[4:8], sys.byteorder)


def _servers(options: list[str]) -> list[str]:
    folder = socket_folder()
    if not hasattr(socket, "AF_UNIX") or not is_private(folder, 0o040000):
        return []
    try:
        prefix = socket_prefix(options)
        names = [name for name in os.listdir(folder) if name.startswith(prefix)]
    except OSError:
        return []
    paths = (f"{folder}/{name}" for name in names)
    return [path for path in paths if is_private(path, 0o140000)]


def _answer(path: str, words: list[str], event: bytes, end: float) -> bytes | None:
    """Return what a server says is to be printed; None where there is none that answers.

    Raises:
        LateError: it took the event, and the time is over.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    accepted = False
    try:
        connection.settimeout(_ACCEPTED_S)
        connection.connect(path)
        if peer(connection) != os.getuid():
            return None
        known = variables()
        left = str(round((end - time.monotonic()) * 1_000))
        fields = (PROTOCOL, left, os.getcwd(), project_variable(), str(len(known)), *known, *words)
        head = os.fsencode("\0".join(fields))
        connection.sendall(b"%d\n%b%b" % (len(head), head, event))
        connection.shutdown(socket.SHUT_WR)
        accepted = connection.recv(1) == ACCEPTED
        if not accepted:
            return None
        parts = []
        while True:
            connection.settimeout(max(0.001, end - time.monotonic()))
            part = connection.recv(65_536)
            if not part:
                break
            parts.append(part)
        told = b"".join(parts)
        whole = told[:1] == ANSWERED and told[-1:] == END
        return told[1:-1] if whole else None
    except TimeoutError:
        if accepted:
            raise LateError from None
        return None
    except OSError:
        return None
    finally:
        connection.close()


def _read_input() -> bytes:
    parts, size = [], 0
    while size <= INPUT_BYTES_MAX:
        part = os.read(0, 1 << 20)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _print(answer: bytes) -> None:
    try:
        while answer:
            answer = answer[os.write(1, answer) :]
    except OSError:
        pass  # an editor that is gone reads none


def _put_back(event: bytes) -> None:
    """Makes the event the standard input again, in a file without a name."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("event")
    else:
        path = f"/tmp/vestig-{os.getpid()}-{os.urandom(8).hex()}"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink(path)
    left = memoryview(event)
    while left:
        left = left[os.write(file, left) :]
    os.lseek(file, 0, os.SEEK_SET)
    os.dup2(file, 0)


def _become(code: str, words: list[str]) -> None:
    os.execv(sys.executable, [sys.executable, "-P", "-c", code, *words])


def _detach(code: str, words: list[str]) -> None:
    """Starts a process that nothing of the editor's stays open in, and no signal to the editor's
    group ends."""
    if os.fork():
        return
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.closerange(3, 65_536)
        _become(code, words)
    finally:
        os._exit(0)


def time_limit_s(event: str | None) -> float:
    """Seconds from the start of the process to the end of its answer to an event."""
    return ACTION_TIME_LIMIT_S if event in _ACTIONS else TIME_LIMIT_S


def main() -> None:
    """Answers the event, or becomes what does."""
    words = sys.argv[1:]
    end = time.monotonic() + time_limit_s(words[1] if words[1:] else None) - process_age_s()
    if words[1:2] and words[1] in _READ_EVENTS:
        _put_back(_read_input())
        _detach(_HOOK, words)
        return
    servers = _servers(words[2:])
    if servers:
        event = _read_input()
        try:
            for path in servers:
                answer = _answer(path, words, event, end)
                if answer is not None:
                    _print(answer)
                    return
        except LateError:
            if words[1:2] == [STRICT]:
                _print(REFUSAL)
            _put_back(event)
            _detach(_LATE, words)
            return
        _put_back(event)
    _become(_HOOK, words)


if __name__ == "__main__":
    try:
        try:
            main()
        except Exception:  # the package's own hook says in its log what is wrong
            _become(_HOOK, sys.argv[1:])
    except BaseException:  # an editor takes another exit of a hook for an order to drop the prompt
        if sys.argv[2:3] == [STRICT]:
            _print(REFUSAL)
        os._exit(0)
