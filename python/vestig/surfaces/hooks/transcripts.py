"""Reads transcripts of an editor into the store, in a process of its own.

What is recorded already is skipped by the id of its line, so that a transcript is read as often as
it grows, and what a fork of a session copied is no second memory.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from vestig.config.environment import state_directory
from vestig.private_folder import make_private_folder
from vestig.surfaces.cli.opening import configuration, open_store
from vestig.surfaces.hooks.journal import TRANSCRIPT, Journal, fault

_LOCK_FILE: Final = "hooks.lock"


def read_transcripts(asked: Mapping[str, Any]) -> None:
    """Reads what a hook asked for, one reader at a time.

    Args:
        asked: `options` of the command line, `transcript` and `scope` of the session; `grown`: the
            transcripts of this project that grew since they were read, in place of this one.
    """
    options, scope = asked["options"], asked["scope"]
    store = options.get("store")
    try:
        with _turn():
            config = configuration(options)
            store = config.settings.store.path
            journal = Journal(store)
            paths = [Path(asked["transcript"])]
            if asked["grown"]:
                paths = grown_transcripts(journal, paths[0], scope)
            if not paths:
                return
            with open_store(config) as opened:
                for path in paths:
                    size = path.stat().st_size
                    report = opened.import_(path, scope=scope)
                    # anew: the first turn may have made the store
                    Journal(store).add(
                        TRANSCRIPT,
                        transcript=str(path),
                        scope=scope,
                        bytes=size,
                        turns=report.imported,
                        error="; ".join(one.message for one in report.errors[:1]),
                    )
    except Exception as error:  # nobody waits for this process
        Journal(store).add(TRANSCRIPT, transcript=asked["transcript"], error=fault(error))


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
    fd = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


if __name__ == "__main__":
    read_transcripts(json.loads(sys.argv[1]))
