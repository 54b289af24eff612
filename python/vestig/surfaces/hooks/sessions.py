"""The records that hooks keep of an editor's sessions: their log, which holds ids, paths, counts
and errors and no text of a memory or prompt; their transcripts, read into the store in a process of
its own.

What is recorded already is skipped by the id of its line, so that a transcript is read as often as
it grows, and what a fork of a session copied is no second memory.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vestig.config.environment import state_directory, user_folder
from vestig.errors import NotFoundError, ValidationError, VestigError
from vestig.private_folder import make_private_folder
from vestig.repository.branches import checked_out
from vestig.store.sqlite.files import HOOK_LOCK, HOOK_LOG, LEDGER_FILE
from vestig.store.upkeep.hook_log import log_entries, recent_failures
from vestig.surfaces.cli.opening import configuration, open_store
from vestig.telemetry import TraceFile

if TYPE_CHECKING:
    from vestig.api.store import Vestig
    from vestig.config import Config
    from vestig.results import ImportReport

# The event of a transcript that was read.
TRANSCRIPT: Final = "transcript"
# The event of a branch whose memories became the project's.
BRANCHES: Final = "branch"
# The events that a session has in which something was said, and the one of what was read of it.
_OF_USE: Final = ("UserPromptSubmit", "beforeSubmitPrompt", "PreCompact", TRANSCRIPT)
# Of the current file and of the one before: some thousands of prompts.
_BYTES_MAX: Final = 256 * 1024
# Of a reader of transcripts, its waiting for another one included.
_SECONDS_MAX: Final = 120.0


def fault(error: Exception) -> str:
    """An error in words of the log: the message of one that is not Vestig's may hold stored text,
    so its place stands instead.

    Example:
        >>> fault(FileNotFoundError(2, "gone")), fault(VestigError("no store"))
        ('FileNotFoundError', 'VestigError: no store')
    """
    if isinstance(error, VestigError):
        return f"{type(error).__name__}: {error}"
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    place = "" if step is None else f" at {step.tb_frame.f_code.co_qualname}:{step.tb_lineno}"
    return f"{type(error).__name__}{place}"


class Journal:
    """The log beside the ledger of a store; in the user's folder of state where there is no ledger
    yet, for a store begins in a folder that is empty."""

    def __init__(self, store: str | None) -> None:
        folder = None if store is None else Path(store)
        self._state = state_directory()
        self._store = store
        if folder is None or not (folder / LEDGER_FILE).exists():
            folder = self._state
        self.path = folder / HOOK_LOG

    def add(self, event: str, **facts: Any) -> None:
        """One line; facts that are None or empty are left out.

        Raises:
            OSError: it cannot be written.
        """
        if self.path.parent == self._state:
            facts["store"] = self._store
        entry = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": event}
        entry |= {name: value for name, value in facts.items() if value not in (None, [], "")}
        log = TraceFile(self.path, max_bytes=_BYTES_MAX, keep=1)
        try:
            log.write(json.dumps(entry).encode())
        finally:
            log.close()

    def entries(self, text: str = "") -> list[dict[str, Any]]:
        """The lines that hold a text, oldest first; what is no line of the log is passed over."""
        return log_entries(self.path.parent, text)

    def failures(self) -> list[dict[str, Any]]:
        """The failures of the last seven days, those from before there was a ledger included."""
        folder = self._state if self._store is None else Path(self._store)
        return recent_failures(folder, self._state, user_folder("data"))

    def untold(self) -> int:
        """How many failures no session was told of yet; since a line of the log says `told`."""
        failed = self.failures()
        told = [one["time"] for one in self.entries() if one.get("told")]
        new = [one for one in failed if not told or str(one.get("time")) > max(told)]
        return len(new)

    def shown(self, session: str) -> list[str]:
        """The ids of the memories that a session was shown since its context was last compacted:
        what the summary in its place has lost may be shown again."""
        ids: dict[str, None] = {}
        for entry in self.entries(session):
            if entry.get("session") != session:
                continue
            if entry["event"] == "SessionStart" and entry.get("source") == "compact":
                ids.clear()
            ids.update(dict.fromkeys(entry.get("shown", ())))
        return list(ids)


def read_transcripts(asked: Mapping[str, Any]) -> None:
    """Reads what a hook asked for, one reader at a time.

    Args:
        asked: `options` of the command line, `event`, `session` and `transcript` (None for none),
            `scope` and `folder` of the session; `grown`: the transcripts of this project that grew
            since they were read, in place of this one, and then what belongs to branches that were
            merged becomes the project's.
    """
    options, scope = asked["options"], asked["scope"]
    store = options.get("store")
    watch = threading.Timer(_SECONDS_MAX, _give_up, (store, asked["transcript"]))
    watch.daemon = True
    watch.start()
    try:
        with _turn():
            config = configuration(options)
            store = config.settings.store.path
            if asked["grown"]:
                pack_weights(config)
            journal = Journal(store)
            paths = [] if asked["transcript"] is None else [Path(asked["transcript"])]
            if paths and _is_unused(journal, asked, paths[0]):
                journal.add(TRANSCRIPT, session=asked["session"], absent=asked["transcript"])
                return
            if asked["grown"] and paths:
                paths = grown_transcripts(journal, paths[0], scope)
            if not paths and not (asked["grown"] and checked_out(Path(asked["folder"]))):
                return
            with open_store(config) as opened:
                opened._session.folder = lambda: str(asked["folder"])
                for path in paths:
                    _read_transcript(opened, store, path, scope)
                if asked["grown"]:
                    _merge_branches(opened, store, scope)
    except Exception as error:  # nobody waits for this process
        Journal(store).add(TRANSCRIPT, transcript=asked["transcript"], error=fault(error))
    finally:
        watch.cancel()


def _is_unused(journal: Journal, asked: Mapping[str, Any], transcript: Path) -> bool:
    """Return whether a session ended in which nothing was said, as far as is known: its transcript
    was never written, and the log tells of no prompt and no compaction in it."""
    session = asked["session"]
    if asked["event"] != "SessionEnd" or session is None or transcript.exists():
        return False
    known = [*journal.entries(session), *journal.entries(str(transcript))]
    return not any(
        entry["event"] in _OF_USE
        and (entry.get("session") == session or entry.get("transcript") == str(transcript))
        and "absent" not in entry
        for entry in known
    )


def pack_weights(config: Config) -> None:
    """Packs the weights that a prompt is answered with into the user's cache folder, where it has
    them not: a hook that is ended before it has done so leaves nothing for the next one."""
    if config.settings.embedding.provider != "builtin":
        return
    from vestig.rerankers import judge
    from vestig.rerankers.version_reader import VersionReader

    with suppress(VestigError, OSError):  # who answers a prompt says what is wrong
        for adapter in (judge.QUESTIONS, judge.LISTS, judge.PROMPTS):
            judge.Judge(adapter=adapter).load()
        VersionReader().load()


def _read_transcript(opened: Vestig, store: str | None, path: Path, scope: str) -> None:
    """Reads one transcript; what fails is a line of the log, and keeps no other one out. One that
    is unreadable counts as read until it grows."""
    size = None
    try:
        size = size_of_file(path)
        report = _imported(opened, path, scope)
    except Exception as error:  # nobody waits for this process
        Journal(store).add(
            TRANSCRIPT, transcript=str(path), scope=scope, bytes=size, error=fault(error)
        )
        return
    # anew: the first turn may have made the store
    Journal(store).add(
        TRANSCRIPT,
        transcript=str(path),
        scope=scope,
        bytes=size,
        turns=report.imported,
        error="; ".join(one.message for one in report.errors[:1]),
    )


def _merge_branches(opened: Vestig, store: str | None, scope: str) -> None:
    """Moves what belongs to branches that were merged; what fails is a line of the log."""
    repository = opened._session.repository()
    if repository is None or not repository.has_git or repository.name != scope:
        return
    try:
        found = opened.branches.merge()
    except NotFoundError:
        return  # nothing is stored yet
    except Exception as error:  # nobody waits for this process
        Journal(store).add(BRANCHES, scope=scope, error=fault(error))
        return
    for one in found:
        Journal(store).add(BRANCHES, scope=scope, moved=len(one.moved), ended=len(one.ended))


def _imported(opened: Vestig, path: Path, scope: str) -> ImportReport:
    """Reads one transcript; its turns have the anchors that are certain."""
    from msgspec.structs import replace

    from vestig.calls.declaration import checked
    from vestig.calls.files import ImportRequest
    from vestig.exchange.importer import import_files

    asked = checked(ImportRequest, {"files": path, "scope": scope})
    return import_files(opened._session, replace(asked, anchors=True))


def size_of_file(path: Path) -> int:
    """Return the bytes of a transcript.

    Raises:
        ValidationError: nothing, or a folder, a pipe or a device, of which none is opened.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        raise ValidationError("transcript", str(path), "a file: nothing is there") from None
    if not stat.S_ISREG(found.st_mode):
        raise ValidationError("transcript", str(path), "a file: this is a folder, pipe or device")
    return found.st_size


def _give_up(store: str | None, transcript: str | None) -> None:
    """Ends the process: a reader that hangs would keep all later ones waiting. What it stored
    stays, and the next reading goes on behind it."""
    try:
        error = f"not read within {_SECONDS_MAX:g} s"
        Journal(store).add(TRANSCRIPT, transcript=transcript, error=error)
    finally:
        os._exit(1)


def grown_transcripts(journal: Journal, current: Path, scope: str) -> list[Path]:
    """The transcripts of a project that grew since they were read: those beside the current one,
    and others that hooks of this project named. What is older than the log was there before
    the hooks, and is read by `vestig install --history`.

    Args:
        current: the transcript of the session that begins.
    """
    entries = journal.entries()
    if not entries:
        return []
    read: dict[str, int] = {}
    known: dict[Path, None] = {current: None}
    for entry in entries:
        path = entry.get("transcript")
        if not isinstance(path, str):
            continue
        if isinstance(entry.get("bytes"), int):
            read[path] = entry["bytes"]
        if entry.get("scope") == scope:
            known[Path(path)] = None
    if _is_of_one_project(current):
        known.update(dict.fromkeys(sorted(current.parent.glob("*.jsonl"))))
    return list(_unread(known, read, datetime.fromisoformat(entries[0]["time"]).timestamp()))


def _unread(known: Iterable[Path], read: Mapping[str, int], since: float) -> Iterable[Path]:
    for path in known:
        try:
            found = path.stat()
        except OSError:
            continue  # the editor removes old ones
        if not stat.S_ISREG(found.st_mode):
            continue  # no transcript
        if found.st_size != read.get(str(path), 0) and found.st_mtime >= since:
            yield path


def _is_of_one_project(transcript: Path) -> bool:
    """Claude Code keeps one folder a project; Codex one a day, for all."""
    return not transcript.name.startswith("rollout-")


@contextmanager
def _turn() -> Iterator[None]:
    """Waits until no other reader of this user runs."""
    folder = state_directory()
    make_private_folder(folder)
    fd = os.open(folder / HOOK_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


if __name__ == "__main__":
    read_transcripts(json.loads(sys.argv[1]))
