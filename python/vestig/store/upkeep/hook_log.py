"""The log of editors' hooks, one JSON object a line: ids, paths, counts and errors, and no text of
a memory or prompt."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from vestig.store.sqlite.files import HOOK_LOG


def log_entries(folder: Path, text: str = "") -> list[dict[str, Any]]:
    """Return the lines of a folder's log that hold a text, oldest first; what is no line of the
    log is passed over."""
    found = []
    sign = json.dumps(text)[1:-1].encode()
    for path in (folder / f"{HOOK_LOG}.1", folder / HOOK_LOG):
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


def recent_failures(folder: Path, state: Path, default: Path) -> list[dict[str, Any]]:
    """Return the failures of the last seven days before the newest line, oldest first. A transcript
    of which some line could not be read is none, nor is a call before the first memory.

    Args:
        folder: of the store.
        state: the user's, where hooks write that do not know their store, or have none yet. What
            names no store counts where hooks have written, and in the default store.
        default: the folder of the default store.
    """
    entries = log_entries(folder)
    if state.resolve() != folder.resolve():
        is_used = bool(entries) or folder.resolve() == default.resolve()
        known = (str(folder), *([None] if is_used else []))
        entries = [*(one for one in log_entries(state) if one.get("store") in known), *entries]
    harmless = {"turns", "without_store"}
    failed = [one for one in entries if one.get("error") and not harmless & one.keys()]
    if not failed:
        return []
    newest = max(map(_time, entries))
    return [one for one in failed if newest - _time(one) <= timedelta(days=7)]


def _time(entry: dict[str, Any]) -> datetime:
    try:
        return datetime.fromisoformat(str(entry.get("time")))
    except ValueError:
        return datetime.fromisoformat("1970-01-01T00:00:00Z")
