"""Hooks of this user's editor are answered by the server of tools that the editor has started: what
a process of its own would load for each event is here already.

Another program answers as a hook does, with the options, the working folder and the variables of
the client: what is answered, and what stands in the log, is the same. What this server cannot vouch
for it refuses, and the client answers by itself.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from vestig.errors import NotFoundError, VestigError
from vestig.private_folder import make_private_folder
from vestig.surfaces.hooks import client
from vestig.surfaces.hooks.events import BY_SERVER, Hook, Place, read_input
from vestig.surfaces.hooks.hooks_file import hook_options, store_options
from vestig.surfaces.hooks.sessions import fault

if TYPE_CHECKING:
    from vestig.api.store import Vestig
    from vestig.config import Settings

_HEAD_BYTES_MAX: Final = 1 << 20
_DIGITS_MAX: Final = 8
# Of a client that says nothing.
_SILENT_S: Final = 5.0
# More events at a time are left to their clients.
_EVENTS_MAX: Final = 8
_TRIED_S: Final = 0.2
# Stands in the names of all sockets.
_DIVIDER: Final = "-"


class _Request(NamedTuple):
    """A client's question. `end`: when its time is over, of the monotonic clock."""

    name: str
    options: Mapping[str, str]
    place: Place
    event: bytes
    end: float


class HookServer:
    """Answers hooks while it is entered, where the system has sockets that tell who is at the other
    end; else, and where no socket can be made, it does nothing, and hooks answer by themselves.

    Args:
        options: of the command line, which name the store as those of the hooks do.
        settings: of the store.
        store: the open store.
        scope: that of the project worked on; None: no hook asks here.
    """

    def __init__(
        self, options: Mapping[str, Any], settings: Settings, store: Vestig, scope: str | None
    ) -> None:
        self._options = options
        self._settings = settings
        self._store = store
        self._scope = scope
        self._path: Path | None = None
        self._listening: socket.socket | None = None
        self._answering = 0
        self._count = threading.Lock()

    def __enter__(self) -> Self:
        if self._scope is not None and hasattr(socket, "AF_UNIX"):
            with suppress(OSError):
                self._listen()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        if self._listening is not None:
            # a thread that waits for the next client ends
            with suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()

    @property
    def is_answering(self) -> bool:
        """Return whether an event is being answered."""
        return self._answering > 0

    def _listen(self) -> None:
        folder = Path(client.socket_folder())
        make_private_folder(folder)
        if not client.is_private(str(folder), stat.S_IFDIR):
            return
        for left in folder.glob(f"*{_DIVIDER}*"):
            if _is_stale(left):
                left.unlink(missing_ok=True)
        number = os.getpid()
        path = folder / f"{client.socket_prefix(store_options(self._options))}{number}"
        # under its own name once it listens, for another server removes those that nobody hears
        fresh = folder / f"{number}.new"
        fresh.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(str(fresh))
            fresh.chmod(0o600)
            listening.listen()
            fresh.rename(path)
        except OSError:
            listening.close()
            fresh.unlink(missing_ok=True)
            raise
        self._path, self._listening = path, listening
        threading.Thread(target=self._accept, args=(listening,), daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:  # closed
                return
            if client.peer(connection) != os.getuid() or self._answering >= _EVENTS_MAX:
                connection.close()
                continue
            with self._count:
                self._answering += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):
                connection.settimeout(_SILENT_S)
                request = _read(connection)
                if request is None or time.monotonic() > request.end:
                    return
                # a client that has gone on by itself refuses this byte, and nothing is done twice
                connection.sendall(client.ACCEPTED)
                answer = self._answer(request)
                connection.sendall(client.REFUSED if answer is None else answer)
        finally:
            with self._count:
                self._answering -= 1

    def _answer(self, request: _Request) -> bytes | None:
        """Return the answer to an event as its client reads it; None where this is not the server
        of its store and project."""
        hook = Hook(
            request.options, place=request.place, by=BY_SERVER, end=request.end, store=self._store
        )
        try:
            event = hook.know(request.name, read_input(request.event))
            if event.scope != self._scope or hook.configuration.settings != self._settings:
                return None
        except (VestigError, OSError, ValueError):
            return None  # what is wrong is told by the client's own hook
        answer = None
        try:
            answer = hook.answer(event)
        except client.LateError:
            pass  # the client tells
        except Exception as error:  # an editor must not be held up
            hook.fail(fault(error), without_store=isinstance(error, NotFoundError))
            answer = hook.without_answer()
        text = "" if answer is None else f"{json.dumps(answer)}\n"
        return client.ANSWERED + text.encode() + client.END


def _is_stale(path: Path) -> bool:
    """Return whether nobody listens at a socket."""
    trial = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with trial:
        trial.settimeout(_TRIED_S)
        try:
            trial.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return True
        except OSError:
            return False
    return False


def _read(connection: socket.socket) -> _Request | None:
    """Return what a client asks; None for what is no request of this protocol, or where a variable
    that decides what Vestig does is another one here."""
    data = bytearray()
    while part := connection.recv(1 << 16):
        data += part
        if len(data) > _HEAD_BYTES_MAX + client.INPUT_BYTES_MAX:
            return None
    digits, _, rest = bytes(data).partition(b"\n")
    if not digits.isdigit() or len(digits) > _DIGITS_MAX or len(rest) < int(digits):
        return None
    return _request(os.fsdecode(rest[: int(digits)]).split("\0"), rest[int(digits) :])


def _request(head: Sequence[str], event: bytes) -> _Request | None:
    if len(head) < 5 or head[0] != client.PROTOCOL:
        return None
    left, folder, project, count = head[1:5]
    if not left.lstrip("-").isdecimal() or not count.isdecimal():
        return None
    known, words = list(head[5 : 5 + int(count)]), head[5 + int(count) :]
    found = hook_options(words)
    if found is None or known != client.variables():
        return None
    name, options = found
    end = time.monotonic() + int(left) / 1_000
    place = Place(folder, {"CLAUDE_PROJECT_DIR": project} if project else {})
    return _Request(name, options, place, event, end)
