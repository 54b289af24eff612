"""`vestig install`: hooks come into an editor, and go."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.config.environment import editor_folder, project_folder, user_folder
from vestig.errors import ValidationError
from vestig.surfaces.cli.opening import configuration, open_store
from vestig.surfaces.hooks.hooks_file import HooksFile
from vestig.surfaces.hooks.journal import TRANSCRIPT, Journal
from vestig.surfaces.hooks.plugin import Plugin
from vestig.surfaces.hooks.project import project_scope

EDITORS: Final = ("claude", "codex", "cursor")
_TRUST: Final = {
    "claude": "Restart Claude Code, or /reload-plugins.",
    "codex": "Codex runs new and changed hooks only once you trusted them: type /hooks in it.",
    "cursor": "Cursor shows its hooks under Settings, Hooks; your own are trusted.",
}
_LOGS: Final = {"claude": "projects/*/*.jsonl", "codex": "sessions/**/*.jsonl"}
_HEAD_LINES: Final = 50


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """How an editor stands to Vestig.

    `state`: current, outdated or absent, after what was done; `place`: what holds the hooks;
    `done`: what was done, or with `dry_run` what would be; `notes`: what is left to do by hand.
    `checked`: it was asked whether it is current.
    """

    editor: str
    state: str
    place: str
    done: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    checked: bool = False


def installations(options: Mapping[str, Any]) -> list[Installation]:
    """Every editor, and how it stands; nothing is changed."""
    return [_stands(editor, options) for editor in EDITORS]


def check(editor: str, options: Mapping[str, Any]) -> Installation:
    """How one editor stands; nothing is changed."""
    return msgspec.structs.replace(_stands(editor, options), checked=True)


def install(editor: str, options: Mapping[str, Any], *, dry_run: bool = False) -> Installation:
    """Hooks come into an editor; where they are there as they would be, nothing is done."""
    state, place = _state(editor, options)
    done: list[str] = []
    notes = [_TRUST[editor]]
    if editor == "claude":
        plugin = _plugin(options)
        commands = [shlex.join(one) for one in plugin.commands]
        if plugin.missing:
            notes = ["claude is not in PATH. Where it is, run:", *commands]
        if state != "current":
            done = [f"write {place}", *(() if plugin.missing else commands)]
            if not dry_run:
                plugin.install()
    elif state != "current":
        file = _hooks_file(editor)
        kept = f", copy it to {file.backup.name}" if file.path.exists() else ""
        done = [f"add hooks to {place}{kept}"]
        if not dry_run:
            file.install(options)
    if not done:
        notes = [one for one in notes if one != _TRUST[editor] or editor == "codex"]
    after = state if dry_run else "current"
    return Installation(
        editor=editor, state=after, place=str(place), done=tuple(done), notes=tuple(notes)
    )


def remove(editor: str, options: Mapping[str, Any], *, dry_run: bool = False) -> Installation:
    """Hooks go from an editor; those of others stay."""
    state, place = _state(editor, options)
    done: list[str] = []
    notes: list[str] = []
    if state != "absent":
        done = [f"take hooks out of {place}"]
        if editor == "claude":
            plugin = _plugin(options)
            commands = [shlex.join(one) for one in plugin.removals]
            done = [*(() if plugin.missing else commands), f"remove {place}"]
            if plugin.missing:
                notes = ["claude is not in PATH. Where it is, run:", *commands]
            if not dry_run:
                plugin.remove()
        elif not dry_run:
            _hooks_file(editor).remove()
    after = state if dry_run else "absent"
    return Installation(
        editor=editor, state=after, place=str(place), done=tuple(done), notes=tuple(notes)
    )


def read_history(
    editor: str,
    options: Mapping[str, Any],
    *,
    dry_run: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> str:
    """Reads all transcripts that an editor has, each in the scope of its project.

    Raises:
        ValidationError: an editor whose transcripts cannot be read.
    """
    if editor not in _LOGS:
        raise ValidationError(
            "history", editor, "claude or codex: there is no reader of its transcripts"
        )
    paths = sorted(editor_folder(editor).glob(_LOGS[editor]))
    total = sum(path.stat().st_size for path in paths)
    if dry_run:
        return f"read {len(paths)} transcripts, {total} bytes"
    config = configuration(options)
    turns = done = 0
    if paths:
        with open_store(config) as store:
            for path in paths:
                size = path.stat().st_size
                scope = project_scope(project_folder({}, working=_folder_of(path)))
                turns += store.import_(path, scope=scope).imported
                Journal(config.settings.store.path).add(
                    TRANSCRIPT, transcript=str(path), scope=scope, bytes=size
                )
                done += size
                if progress is not None:
                    progress(done, total)
    return f"read {len(paths)} transcripts: {turns} turns are new"


def _stands(editor: str, options: Mapping[str, Any]) -> Installation:
    state, place = _state(editor, options)
    return Installation(editor=editor, state=state, place=str(place))


def _state(editor: str, options: Mapping[str, Any]) -> tuple[str, Path]:
    if editor == "claude":
        plugin = _plugin(options)
        return plugin.state(), plugin.folder
    file = _hooks_file(editor)
    return file.state(options), file.path


def _plugin(options: Mapping[str, Any]) -> Plugin:
    return Plugin(user_folder("data") / "claude-plugin", options)


def _hooks_file(editor: str) -> HooksFile:
    path = editor_folder(editor) / "hooks.json"
    if editor == "codex":
        events = ("UserPromptSubmit", "SessionStart", "PreCompact")
        return HooksFile(path=path, events=events, grouped=True, empty={"hooks": {}})
    return HooksFile(
        path=path,
        events=("beforeSubmitPrompt", "sessionStart"),
        grouped=False,
        empty={"version": 1, "hooks": {}},
    )


def _folder_of(transcript: Path) -> str | None:
    """The folder that a session worked in, from its first lines."""
    for told in _head(transcript):
        payload = told.get("payload")
        for place in (told, payload if isinstance(payload, dict) else {}):
            if isinstance(place.get("cwd"), str):
                return str(place["cwd"])
    return None


def _head(transcript: Path) -> Iterator[dict[str, Any]]:
    with transcript.open("rb") as file:
        for _, line in zip(range(_HEAD_LINES), file, strict=False):
            try:
                told = json.loads(line)
            except (ValueError, RecursionError):
                continue  # reading the turns counts it
            if isinstance(told, dict):
                yield told
