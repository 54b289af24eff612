"""The check of an installation from end to end: a memory is stored in a scope of its own, asked for
through the commands that the editor starts, and forgotten."""

from __future__ import annotations

import json
import secrets
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final

from vestig.config.environment import project_folder
from vestig.errors import VestigError
from vestig.repository.project import project_scope
from vestig.surfaces.cli.opening import configuration, open_store
from vestig.surfaces.hooks.events import LATE
from vestig.surfaces.hooks.hooks_file import hook_command, program, store_options
from vestig.surfaces.hooks.sessions import Journal, fault

_SECONDS_MAX: Final = 30
# The first start of a program reads its files from the disk.
_TRIES: Final = 3


def faults_of_installation(
    options: Mapping[str, Any], events: Sequence[str], *, with_server: bool
) -> tuple[str, ...]:
    """Return what fails between an editor and the store, one line each; none where a memory was
    stored, recalled by the prompt's hook and by the server of tools, and forgotten.

    Args:
        events: of the editor; the one of a prompt is tried.
        with_server: whether the editor was given the server of tools too.
    """
    word = secrets.token_hex(4)
    text = f"Vestig checks its installation with the harbour word {word}."
    event = next(one for one in events if one.lower().endswith("prompt") or "Prompt" in one)
    with tempfile.TemporaryDirectory(prefix="vestig-check-") as folder:
        scope = project_scope(project_folder({}, working=folder))
        try:
            config = configuration(options)
            with open_store(config) as store:
                made = store.commit(text, scope=scope)
                if made.memory_id is None:
                    return (f"store: a memory was refused: {made.outcome.value}",)
            found = list(_not_recalled(options, event, folder, text, with_server=with_server))
            with open_store(config) as store:
                store.forget(made.memory_id)
        except (VestigError, OSError) as error:
            return (f"store: {fault(error)}",)
    return tuple(found)


def _not_recalled(
    options: Mapping[str, Any], event: str, folder: str, text: str, *, with_server: bool
) -> Iterator[str]:
    yield from _not_by_hook(options, event, folder, text)
    if with_server and find_spec("mcp") is not None:
        command = [*program(), *store_options(options), "mcp", "--scope", "auto"]
        answer = _output(command, _requests(text), folder)
        if text not in _plain(answer):
            yield f"mcp: expected the memory that was stored, got {answer[-200:] or 'nothing'!r}"


def _not_by_hook(options: Mapping[str, Any], event: str, folder: str, text: str) -> Iterator[str]:
    told = {"session_id": "vestig-check", "cwd": folder, "prompt": text, "hook_event_name": event}
    seen = ""
    for _ in range(_TRIES):
        seen = _output(hook_command(event, options), json.dumps(told), folder)
        if text in _plain(seen):
            break
    else:
        # a busy machine is no fault of the installation; the failures that are listed tell of it
        if not seen and _was_late(options, event):
            return
        yield f"hook {event}: expected the memory that was stored, got {seen[-200:] or 'nothing'!r}"


def _was_late(options: Mapping[str, Any], event: str) -> bool:
    """Return whether the last call for an event gave up for the time that it took."""
    failed = Journal(configuration(options).settings.store.path).failures()
    last = failed[-1] if failed else {}
    return last.get("event") in (event, "hook") and str(last.get("error")).startswith(LATE)


def _requests(text: str) -> str:
    """The lines of a client that recalls one text."""
    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "vestig-check", "version": "1"},
    }
    call = {"name": "recall", "arguments": {"query": text}}
    requests: tuple[dict[str, Any], ...] = (
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    )
    return "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in requests)


def _output(command: str | list[str], text: str, folder: str) -> str:
    """Return what a command writes: its answer, else its errors."""
    try:
        done = subprocess.run(
            command,
            shell=isinstance(command, str),
            input=text,
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {_SECONDS_MAX} s"
    return done.stdout or done.stderr.strip()


def _plain(output: str) -> str:
    return output.replace("\\", "")


def failures_of_hooks(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a line about the failures of hooks within seven days; none where none failed."""
    failed = Journal(configuration(options).settings.store.path).failures()
    if not failed:
        return ()
    last = failed[-1]
    return (
        f"{len(failed)} calls of hooks failed within seven days, the last at {last.get('time')}"
        f" ({last['event']}): {last['error']}",
    )
