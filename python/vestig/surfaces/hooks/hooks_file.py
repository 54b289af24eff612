"""The command by which an editor starts a hook, and the file of hooks of Codex and of Cursor:
Vestig's are put among those of others, found again, and taken out.

A file that was there is copied beside it first, and taking the hooks out gives its bytes back
unless something else was changed meanwhile.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.errors import ConfigError
from vestig.json_text import read_json
from vestig.lazy_pattern import lazy_pattern
from vestig.store.sqlite.files import replacing
from vestig.surfaces.hooks import client

_PROGRAM: Final = "vestig"
_OPTIONS: Final = ("store", "config", "namespace", "profile")
_PYTHONS: Final = ("python", "pypy")
_ISOLATED: Final = ("-I", "-S")
_CLIENT: Final = "vestig/surfaces/hooks/client.py"


def program() -> list[str]:
    """The words that start this installation of Vestig, whatever the editor's `PATH` is."""
    script = Path(sys.executable).with_name(_PROGRAM)
    return [str(script)] if os.access(script, os.X_OK) else [sys.executable, "-m", _PROGRAM]


def store_options(options: Mapping[str, Any]) -> list[str]:
    """The given options of every command as words, with absolute paths."""
    words = []
    for name in _OPTIONS:
        if name in options:
            value = str(options[name])
            if name in ("store", "config"):
                value = os.path.abspath(os.path.expanduser(value))
            words += [f"--{name}", value]
    return words


def hook_command(event: str, options: Mapping[str, Any]) -> str:
    """The command for an event, as a shell reads it: the client of the hooks, run by the
    interpreter of this installation without its `site` and without what variables add.

    Example:
        >>> hook_command("SessionEnd", {"namespace": "my team"}).partition(" hook ")[2]
        "SessionEnd --namespace 'my team'"
    """
    start = [sys.executable, *_ISOLATED, client.__file__]
    return shlex.join([*start, "hook", event, *store_options(options)])


def hook_options(words: Sequence[str]) -> tuple[str, dict[str, str]] | None:
    """(event, options of every command) of the words that `hook_command` writes behind the program;
    None for any others.

    Example:
        >>> hook_options(["hook", "SessionEnd", "--namespace", "my team"])
        ('SessionEnd', {'namespace': 'my team'})
        >>> hook_options(["hook", "--help"])
    """
    if len(words) < 2 or len(words) % 2 or words[0] != "hook" or words[1].startswith("-"):
        return None
    names, values = words[2::2], words[3::2]
    known = {f"--{name}": name for name in _OPTIONS}
    if len(set(names)) < len(names) or not set(names) <= known.keys():
        return None
    return words[1], {known[name]: value for name, value in zip(names, values, strict=True)}


def is_hook_command(command: object, event: str) -> bool:
    """Return whether a command is one that `hook_command` writes for an event, wherever Vestig is
    installed, or starts `vestig hook` as a person writes it. One that does anything else beside is
    its owner's.

    Example:
        >>> is_hook_command("/opt/bin/vestig hook SessionEnd --store /srv/s", "SessionEnd")
        True
        >>> is_hook_command("/opt/bin/vestig hook SessionEnd && notify", "SessionEnd")
        False
    """
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    name = Path(words[0]).name if words else ""
    if name == _PROGRAM:
        start = 1
    elif not name.startswith(_PYTHONS):
        return False
    elif words[1:3] == ["-m", _PROGRAM]:
        start = 3
    elif words[1:3] == [*_ISOLATED] and Path("/", *words[3:4]).match(_CLIENT):
        start = 4
    else:
        return False
    found = hook_options(words[start:])
    return found is not None and found[0] == event


_BACKUP_END: Final = ".before-vestig"
_TIMEOUT_S: Final = 5
_INDENT: Final = lazy_pattern(r"\n([ \t]+)")


class HooksFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where an editor's hooks stand, and in which form.

    `grouped`: an entry holds a list of commands beside a matcher, as in Codex; else it is a
    command. `empty`: a file without hooks. `names`: what an event is called where the hook is to
    know the editor by it.
    """

    path: Path
    events: tuple[str, ...]
    grouped: bool
    empty: Mapping[str, Any]
    names: Mapping[str, str] = {}

    @property
    def backup(self) -> Path:
        """The file as it was before."""
        return self.path.with_name(self.path.name + _BACKUP_END)

    def state(self, options: Mapping[str, Any]) -> str:
        """`current`, `outdated` or `absent`.

        Raises:
            ConfigError: the file cannot be read as one of hooks.
        """
        found = self._read(self._data(self.path))
        if found == self._with_ours(found, options):
            return "current"
        return "absent" if found == self._without_ours(found) else "outdated"

    def install(self, options: Mapping[str, Any]) -> None:
        """Puts the hooks among those of others.

        Raises:
            ConfigError: the file cannot be read as one of hooks; nothing is changed.
        """
        data = self._data(self.path)
        found = self._read(data)
        if data is not None and not self.backup.exists():
            self._write(self.backup, data)
        self._write(self.path, self._text(self._with_ours(found, options), data))

    def remove(self) -> None:
        """Takes the hooks out.

        Raises:
            ConfigError: the file cannot be read as one of hooks; nothing is changed.
        """
        data, before = self._data(self.path), self._data(self.backup)
        left = self._without_ours(self._read(data))
        if before is not None and self._has_ours(before):
            before = None
        if before is not None and self._plain(self._read(before)) == self._plain(left):
            self._write(self.path, before)
        elif before is None and self._plain(left) == self.empty:
            self.path.unlink(missing_ok=True)
        else:
            self._write(self.path, self._text(left, data))
        self.backup.unlink(missing_ok=True)

    def _data(self, path: Path) -> bytes | None:
        """The bytes of a file; None where there is none. No pipe and no device is opened."""
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise self._refused("a folder, pipe or device", path)
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def _has_ours(self, data: bytes) -> bool:
        found = self._read(data)
        return found != self._without_ours(found)

    def _read(self, data: bytes | None) -> dict[str, Any]:
        if data is None:
            return dict(self.empty)
        try:
            found = read_json(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._refused(f"unreadable JSON ({error})") from None
        if not isinstance(found, dict):
            raise self._refused(f"a {type(found).__name__}")
        hooks = found.get("hooks", {})
        if not isinstance(hooks, dict):
            raise self._refused(f"a {type(hooks).__name__} under hooks")
        for event, entries in hooks.items():
            if not isinstance(entries, list):
                raise self._refused(f"a {type(entries).__name__} under hooks.{event}")
        return found

    def _refused(self, came: str, path: Path | None = None) -> ConfigError:
        return ConfigError(
            f"{path or self.path}: expected a JSON object with a list of hooks for each event, got"
            f" {came}; nothing was changed: mend the file, or move it away"
        )

    def _with_ours(self, found: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Vestig's entry stands where it stood, else last."""
        if all(self._count(found, event, options) == (1, 1) for event in self.events):
            return found
        made = self._without_ours(found)
        hooks = dict(made.get("hooks", {}))
        for event in self.events:
            hooks[event] = [*hooks.get(event, []), self._entry(event, options)]
        return {**self.empty, **made, "hooks": hooks}

    def _count(
        self, found: Mapping[str, Any], event: str, options: Mapping[str, Any]
    ) -> tuple[int, int]:
        """How many entries are Vestig's, and how many of them are as they are to be."""
        entries = found.get("hooks", {}).get(event, [])
        entry = self._entry(event, options)
        ours = sum(1 for one in entries if self._left_of(one, event) != one)
        return ours, sum(1 for one in entries if one == entry)

    def _entry(self, event: str, options: Mapping[str, Any]) -> dict[str, Any]:
        name = self.names.get(event, event)
        command = {"command": hook_command(name, options), "timeout": _TIMEOUT_S}
        return {"hooks": [{"type": "command", **command}]} if self.grouped else command

    def _without_ours(self, found: dict[str, Any]) -> dict[str, Any]:
        hooks = {}
        for event, entries in found.get("hooks", {}).items():
            left = [self._left_of(one, event) for one in entries]
            kept = [one for one in left if one is not None]
            if kept or not entries:
                hooks[event] = kept
        return {**found, "hooks": hooks} if "hooks" in found else found

    def _left_of(self, entry: Any, event: str) -> Any:
        """An entry without Vestig's command; None where nothing is left."""
        if not isinstance(entry, dict) or event not in self.events:
            return entry
        commands, event = entry.get("hooks"), self.names.get(event, event)
        if not self.grouped or not isinstance(commands, list):
            return None if is_hook_command(entry.get("command"), event) else entry
        kept = [
            one
            for one in commands
            if not (isinstance(one, dict) and is_hook_command(one.get("command"), event))
        ]
        if len(kept) == len(commands):
            return entry
        return {**entry, "hooks": kept} if kept else None

    def _text(self, found: Mapping[str, Any], data: bytes | None) -> bytes:
        """With the indentation and the end of the file that was there."""
        match = None if data is None else _INDENT.search(data.decode())
        indent = "  " if match is None else match.group(1)
        end = "\n" if data is None or data.endswith(b"\n") else ""
        return (json.dumps(found, indent=indent, ensure_ascii=False) + end).encode()

    def _write(self, path: Path, data: bytes) -> None:
        """Another file in its place at once, with the mode of the one that was there; a link stays
        one."""
        place = Path(os.path.realpath(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o600
        with replacing(place) as fresh:
            fresh.write_bytes(data)
            fresh.chmod(mode)

    def _plain(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """With what a file without hooks has, and without events that have none."""
        hooks = {event: entries for event, entries in found.get("hooks", {}).items() if entries}
        return {**self.empty, **found, "hooks": hooks}
