"""The log of the hooks: what they showed, read, and could not do. It holds ids, paths, counts and
errors, and no text of a memory or prompt."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Final

from vestig.config.environment import state_directory
from vestig.errors import VestigError
from vestig.store.sqlite.files import HOOK_LOG, LEDGER_FILE
from vestig.telemetry import TraceFile

# The event of a transcript that was read.
TRANSCRIPT: Final = "transcript"
# Of the current file and of the one before: some thousands of prompts.
_BYTES_MAX: Final = 256 * 1024


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
        if folder is None or not (folder / LEDGER_FILE).exists():
            folder = state_directory()
        self.path = folder / HOOK_LOG

    def add(self, event: str, **facts: Any) -> None:
        """One line; facts that are None or empty are left out.

        Raises:
            OSError: it cannot be written.
        """
        entry = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": event}
        entry |= {name: value for name, value in facts.items() if value not in (None, [], "")}
        log = TraceFile(self.path, max_bytes=_BYTES_MAX, keep=1)
        try:
            log.write(json.dumps(entry).encode())
        finally:
            log.close()

    def entries(self, text: str = "") -> list[dict[str, Any]]:
        """The lines that hold a text, oldest first; what is no line of the log is passed over."""
        found = []
        sign = json.dumps(text)[1:-1].encode()
        for path in (self.path.with_name(f"{HOOK_LOG}.1"), self.path):
            try:
                lines = path.read_bytes().splitlines()
            except FileNotFoundError:
                continue
            for line in lines:
                if sign not in line:
                    continue
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if isinstance(entry, dict) and isinstance(entry.get("event"), str):
                    found.append(entry)
        return found

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
