"""The command by which an editor starts a hook, and the file of hooks of Codex and of Cursor:
Vestig's are put among those of others, found again, and taken out.

They are put into the text of the file and cut out of it, so that every other byte stays. What was
there is copied beside it first, for a reader of the file is none of its writers: a copy goes once
the file holds the same again.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.arguments import is_address
from vestig.errors import ConfigError
from vestig.json_edits import Part, appended, begin, cuts, line, parts, without
from vestig.json_text import read_json
from vestig.lazy_pattern import lazy_pattern
from vestig.store.sqlite.files import replacing
from vestig.surfaces.hooks import client

_PROGRAM: Final = "vestig"
_OPTIONS: Final = ("store", "tenant", "config", "namespace", "profile")
_PYTHONS: Final = ("python", "pypy")
# Programs that start another one which stands among their words.
_RUNNERS: Final = ("hatch", "pdm", "pipx", "pixi", "poetry", "rye", "uv", "uvx")
# A redirection of standard output.
_TO_FILE: Final = lazy_pattern(r"(?<![2<])>")
_ISOLATED: Final = ("-I", "-S")
_CLIENT: Final = "vestig/surfaces/hooks/client.py"


def program() -> list[str]:
    """The words that start this installation of Vestig, whatever the editor's `PATH` is."""
    script = Path(sys.executable).with_name(_PROGRAM)
    return [str(script)] if os.access(script, os.X_OK) else [sys.executable, "-m", _PROGRAM]


def store_options(options: Mapping[str, Any]) -> list[str]:
    """The given options of every command as words, with absolute paths.

    Example:
        >>> store_options({"store": "postgresql://db/vestig", "tenant": "acme"})
        ['--store', 'postgresql://db/vestig', '--tenant', 'acme']
    """
    words = []
    for name in _OPTIONS:
        if name in options:
            value = str(options[name])
            if name in ("store", "config") and not is_address(value):
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
    """Return whether a command runs an event's hook and nothing else, as `hook_command` or a person
    writes it, wherever Vestig is installed.

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


def runs_hook(command: object, event: str) -> bool:
    """Return whether a line for a shell runs an event's hook for the editor, whatever it does
    beside: settings before it, options before or behind, another program that starts it. One whose
    output goes to a file answers nobody.

    Example:
        >>> runs_hook("cd /srv && VESTIG_STORE=s uvx vestig hook SessionEnd", "SessionEnd")
        True
        >>> runs_hook("vestig hook SessionEnd > log", "SessionEnd")
        False
    """
    if not isinstance(command, str) or _PROGRAM not in command:
        return False
    from vestig.rules.wrappers import commands_of

    return any(
        _event_of(run.words) in ("", event)
        for one in commands_of(command).found
        if not _TO_FILE.search(one.text)
        for run in one.runs
    )


def _event_of(words: Sequence[str]) -> str | None:
    """The event whose hook a command runs, "" for the one that the input says; None for another
    command."""
    name = Path(words[0]).name
    for place, word in enumerate(words):
        is_client = Path("/", word).match(_CLIENT)
        is_module = words[place - 1 : place] == ("-m",) and word == _PROGRAM
        starts = is_client or is_module if name.startswith(_PYTHONS) else not place
        if not (starts or name in _RUNNERS) or not (is_client or Path(word).name == _PROGRAM):
            continue
        found = _plain_words(words[place + 1 :])
        if found is not None and found[:1] == ["hook"] and len(found) <= 2:
            return "".join(found[1:])
    return None


def _plain_words(words: Sequence[str]) -> list[str] | None:
    """The words without the options of every command; None where another option is among them."""
    found, rest = list[str](), iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if name.removeprefix("--") in _OPTIONS and name.startswith("--"):
            if not equals:
                next(rest, None)
        elif word.startswith("-"):
            return None
        else:
            found.append(word)
    return found


def is_written_command(command: object, event: str) -> bool:
    """Return whether a hook's command is as `hook_command` writes it, in any version and wherever
    Vestig is installed: a whole path starts it, and whole paths are its options.

    Example:
        >>> is_written_command("/opt/bin/vestig hook SessionEnd --store /srv/s", "SessionEnd")
        True
        >>> is_written_command("vestig hook SessionEnd", "SessionEnd")
        False
    """
    if not isinstance(command, str) or not is_hook_command(command, event):
        return False
    words = shlex.split(command)
    start = words[: words.index("hook")]
    options = options_of_command(command)
    if options is None or not os.path.isabs(words[0]):
        return False
    return command == shlex.join([*start, "hook", event, *store_options(options)])


def options_of_command(command: object) -> dict[str, str] | None:
    """The options of every command in one that `hook_command` wrote; None for others.

    Example:
        >>> options_of_command("/opt/bin/vestig hook SessionEnd --store /srv/s")
        {'store': '/srv/s'}
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return None
    found = hook_options(words[words.index("hook") :]) if "hook" in words else None
    return None if found is None else found[1]


_COPY_END: Final = ".before-vestig"
_TIMEOUT_S: Final = 5
# What a file that Vestig makes begins as.
_NEW: Final = "{\n}\n"
_HOOKS: Final = "hooks"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The next state of a file of hooks, and of the copies beside it.

    `text`: what it is to hold, None: it goes; `copied`: where what it holds is copied first;
    `gone`: copies that hold nothing else than it does then; `kept`: those that do.
    """

    text: str | None
    copied: Path | None = None
    gone: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()


class HooksFile(msgspec.Struct, frozen=True, kw_only=True):
    """Where an editor's hooks stand, and in which form.

    `grouped`: an entry holds a list of commands beside a matcher, as in Codex; else it is a
    command. `empty`: a file without hooks. `names`: what an event is called where the hook is to
    know the editor by it.

    A link stays one: what it names is read and written.
    """

    path: Path
    events: tuple[str, ...]
    grouped: bool
    empty: Mapping[str, Any]
    names: Mapping[str, str] = {}

    def state(self, options: Mapping[str, Any]) -> str:
        """`current`, `outdated` or `absent`.

        Raises:
            ConfigError: the file cannot be read as one of hooks.
        """
        text = self._text(self.path)
        if text is None or not self._has_ours(text):
            return "absent"
        return "current" if self._is_current(text, options) else "outdated"

    def own(self) -> list[str]:
        """The events for which a hook of the file's owner runs Vestig: none is put beside it.

        Raises:
            ConfigError: the file cannot be read as one of hooks.
        """
        text = self._text(self.path)
        return [] if text is None else self._own(text)

    def options(self) -> dict[str, str] | None:
        """The options of the first hook of Vestig's; None without one.

        Raises:
            ConfigError: the file cannot be read as one of hooks.
        """
        text = self._text(self.path) or _NEW
        for event, entries in self._entries(text).items():
            for part in chain.from_iterable(self._ours(text, one, event) for one in entries):
                hook = read_json(text[part.value : part.end])
                return options_of_command(hook.get(_HOOKS, [hook])[0]["command"])
        return None

    def installed(self, options: Mapping[str, Any]) -> Change | None:
        """The file with the hooks among those of others; None where none is to be put in. What was
        there is copied, unless a copy has it.

        Raises:
            ConfigError: the file cannot be read as one of hooks, or not be written.
        """
        text = self._text(self.path)
        if text is not None and self._is_current(text, options):
            return None
        self._check_writable()
        if text is None:
            return Change(text=self._with_ours(_NEW, options))
        copies = self._copies()
        # with hooks of Vestig in it, it is what an earlier installation has copied
        known = bool(copies) if self._has_ours(text) else text in copies.values()
        copied = None if known else self._free_place()
        return Change(text=self._with_ours(text, options), copied=copied)

    def removed(self) -> Change:
        """The file without the hooks. A copy goes that holds what the file holds then, or the same
        and hooks of Vestig.

        Raises:
            ConfigError: the file cannot be read as one of hooks, or not be written.
        """
        text = self._text(self.path)
        copies = self._copies()
        there = {path: self._without_ours(copy, self._stays) for path, copy in copies.items()}
        left = text if text is None else self._remaining_text(text, copies, there)
        if text is not None and left != text:
            self._check_writable()
        gone = [
            path
            for path, copy in there.items()
            if copy == left or (left is None and self._is_nothing(copy))
        ]
        kept = [path for path in self._copy_places() if path not in gone]
        return Change(text=left, gone=tuple(gone), kept=tuple(kept))

    def apply(self, change: Change) -> None:
        """Makes a change.

        Raises:
            ConfigError: nothing may be written there; nothing is changed.
        """
        place = Path(os.path.realpath(self.path))
        try:
            if change.copied is not None:
                self._write(change.copied, place.read_bytes())
            if change.text is None:
                place.unlink(missing_ok=True)
            else:
                self._write(place, change.text.encode())
        except OSError as error:
            if change.copied is not None:
                change.copied.unlink(missing_ok=True)
            raise self._unwritable(error.strerror or type(error).__name__) from None
        for path in change.gone:
            path.unlink(missing_ok=True)

    def _remaining_text(
        self, text: str, copies: Mapping[Path, str], there: Mapping[Path, str]
    ) -> str | None:
        """The text without Vestig's hooks; None for a file that goes, for it was made for them.

        Args:
            there: the copies without Vestig's hooks.
        """
        if not self._has_ours(text):
            return text
        known = {path: self._named(copy) for path, copy in there.items()}
        exact = (path for path in there if self._without_ours(text, known[path]) == there[path])
        source = next(exact, None)
        if source is not None:
            left = there[source]
            was_there = copies[source] == left
        else:
            # edited since, or of another origin: only copies tell what Vestig put in beside hooks
            left = self._without_ours(
                text, frozenset().union(*known.values()) if known else self._stays
            )
            was_there = left != _NEW and any(there[path] == copies[path] for path in copies)
        return None if self._is_nothing(left) and not was_there else left

    @property
    def _stays(self) -> frozenset[str]:
        """Members that an editor may need beside the hooks."""
        return frozenset(self.empty) - {_HOOKS}

    def _is_nothing(self, text: str) -> bool:
        """Return whether a file of hooks says nothing."""
        return all(self.empty.get(name) == value for name, value in self._read(text).items())

    def _copy_places(self) -> list[Path]:
        """The names of copies that are taken, by whomever."""
        start = self.path.name + _COPY_END
        try:
            names = sorted(os.listdir(self.path.parent))
        except OSError:
            return []
        numbered = (name for name in names if name.startswith(f"{start}-"))
        found = [start] if start in names else []
        found += [name for name in numbered if name.removeprefix(f"{start}-").isdecimal()]
        return [self.path.with_name(name) for name in found]

    def _copies(self) -> dict[Path, str]:
        """The copies that can be read as files of hooks; no link is one."""
        found = {}
        for path in self._copy_places():
            with suppress(ConfigError):
                text = None if path.is_symlink() else self._text(path)
                if text is not None:
                    found[path] = text
        return found

    def _free_place(self) -> Path:
        first = self.path.with_name(self.path.name + _COPY_END)
        numbered = (first.with_name(f"{first.name}-{number}") for number in count(2))
        return next(path for path in chain([first], numbered) if not os.path.lexists(path))

    def _text(self, path: Path) -> str | None:
        """The text of a file of hooks; None where there is none. No pipe and no device is
        opened."""
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise self._refused("a folder, pipe or device", path)
            text = path.read_bytes().decode()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._refused(f"one that cannot be read ({error.strerror})", path) from None
        except UnicodeDecodeError as error:
            raise self._refused(f"unreadable JSON ({error})", path) from None
        self._read(text, path)
        return text

    def _read(self, text: str, path: Path | None = None) -> dict[str, Any]:
        try:
            found = read_json(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise self._refused(f"unreadable JSON ({error})", path) from None
        if not isinstance(found, dict):
            raise self._refused(f"a {type(found).__name__}", path)
        hooks = found.get(_HOOKS, {})
        if not isinstance(hooks, dict):
            raise self._refused(f"a {type(hooks).__name__} under hooks", path)
        for event, entries in hooks.items():
            if not isinstance(entries, list):
                raise self._refused(f"a {type(entries).__name__} under hooks.{event}", path)
        return found

    def _refused(self, came: str, path: Path | None = None) -> ConfigError:
        return ConfigError(
            f"{path or self.path}: expected a JSON object with a list of hooks for each event, got"
            f" {came}; nothing was changed: mend the file, or move it away"
        )

    def _unwritable(self, why: str) -> ConfigError:
        return ConfigError(
            f"{self.path}: expected a file that may be written, got one that may not ({why});"
            " nothing was changed: make it writable, or change it where it is made"
        )

    def _check_writable(self) -> None:
        """A file is replaced, which asks its folder: its own mode is its owner's word.

        Raises:
            ConfigError: it or its folder is read-only.
        """
        place = Path(os.path.realpath(self.path))
        if place.exists() and (
            not place.stat().st_mode & stat.S_IWUSR or not os.access(place, os.W_OK)
        ):
            raise self._unwritable("it is read-only")
        folder = next(one for one in place.parents if one.exists())
        if not os.access(folder, os.W_OK):
            raise self._unwritable(f"the folder {folder} is read-only")

    def _with_ours(self, text: str, options: Mapping[str, Any]) -> str:
        """Vestig's entry stands where it stood, else last."""
        text = self._without_ours(text, self._named(text))
        events = [event for event in self.events if event not in self._own(text)]
        if not events:
            return text
        for name in self.empty:
            if name not in _named_parts(text, begin(text)):
                value = json.dumps(self.empty[name])
                if name == _HOOKS:
                    value = f"{{{line(text, 1)}}}"
                text = appended(text, begin(text), f"{json.dumps(name)}: {value}", 1)
        for event in events:
            entry = json.dumps(self._entry(event, options), ensure_ascii=False)
            hooks = _named_parts(text, begin(text))[_HOOKS].value
            there = _named_parts(text, hooks).get(event)
            if there is None:
                text = appended(text, hooks, f"{json.dumps(event)}: [{entry}]", 2)
            else:
                text = appended(text, there.value, entry, 3)
        return text

    def _entries(self, text: str) -> dict[str, list[Part]]:
        """The entries of each event that is Vestig's too."""
        top = _named_parts(text, begin(text)).get(_HOOKS)
        events = {} if top is None else _named_parts(text, top.value)
        return {name: parts(text, events[name].value) for name in self.events if name in events}

    def _is_current(self, text: str, options: Mapping[str, Any]) -> bool:
        """Return whether each event has one entry of Vestig's, as it is to be, or its owner's."""
        entries, own = self._entries(text), self._own(text)
        for event in self.events:
            ours = [one for one in entries.get(event, ()) if self._ours(text, one, event)]
            wanted = [] if event in own else [self._entry(event, options)]
            if [read_json(text[one.value : one.end]) for one in ours] != wanted:
                return False
        return True

    def _own(self, text: str) -> list[str]:
        """The events for which a command that is none of Vestig's runs the hook."""
        return [
            event
            for event, entries in self._entries(text).items()
            if any(self._runs(text, one, event) for one in entries)
        ]

    def _runs(self, text: str, entry: Part, event: str) -> bool:
        """Return whether a command of an entry runs the hook, beside what is Vestig's part."""
        found, ours = read_json(text[entry.value : entry.end]), self._ours(text, entry, event)
        if not isinstance(found, dict) or entry in ours:
            return False
        commands = found.get(_HOOKS) if self.grouped else None
        each = (
            [one for one in commands if isinstance(one, dict)]
            if isinstance(commands, list)
            else [found]
        )
        names = (event, self.names.get(event, event))
        running = [
            one for one in each if any(runs_hook(one.get("command"), name) for name in names)
        ]
        return len(running) > len(ours)

    def _has_ours(self, text: str) -> bool:
        return any(
            self._ours(text, one, event)
            for event, entries in self._entries(text).items()
            for one in entries
        )

    def _entry(self, event: str, options: Mapping[str, Any]) -> dict[str, Any]:
        name = self.names.get(event, event)
        hook = self._hook(hook_command(name, options))
        return {_HOOKS: [hook]} if self.grouped else hook

    def _hook(self, command: str) -> dict[str, Any]:
        written = {"command": command, "timeout": _TIMEOUT_S}
        return {"type": "command", **written} if self.grouped else written

    def _named(self, text: str) -> frozenset[str]:
        """The members of a file and the events in it."""
        top = _named_parts(text, begin(text))
        events = _named_parts(text, top[_HOOKS].value) if _HOOKS in top else {}
        return frozenset((*top, *events))

    def _without_ours(self, text: str, named: frozenset[str] = frozenset()) -> str:
        """The text without Vestig's commands; an entry, an event and all hooks go with the last
        one in it.

        Args:
            named: members of the file and events that stay, empty as they may be.
        """
        if not self._has_ours(text):
            return text
        top = _named_parts(text, begin(text))
        hooks = top[_HOOKS]
        events = _named_parts(text, hooks.value)
        emptied, found = [], []
        for event, entries in self._entries(text).items():
            whole = [one for one in entries if self._ours(text, one, event) == [one]]
            if whole and len(whole) == len(entries) and event not in named:
                emptied.append(events[event])
                continue
            found += cuts(text, events[event].value, whole)
            for entry in entries:
                if entry not in whole and (ours := self._ours(text, entry, event)):
                    place = _named_parts(text, entry.value)[_HOOKS].value
                    found += cuts(text, place, ours)
        gone = [
            part
            for name, part in top.items()
            if name in self._stays - named
            and text[part.value : part.end] == json.dumps(self.empty[name])
        ]
        if len(emptied) == len(events) and _HOOKS not in named:
            gone.append(hooks)
        else:
            found += cuts(text, hooks.value, emptied)
        return without(text, [*found, *cuts(text, begin(text), gone)])

    def _ours(self, text: str, entry: Part, event: str) -> list[Part]:
        """Vestig's part of an entry: all of it, some of its commands, or nothing. What differs in
        anything from what Vestig writes is its owner's, a group with more in it than commands
        too."""
        found = read_json(text[entry.value : entry.end])
        if not self.grouped:
            return [entry] if self._is_written(found, event) else []
        if not isinstance(found, dict) or found.keys() != {_HOOKS}:
            return []
        commands = found[_HOOKS]
        if not isinstance(commands, list):
            return []
        places = parts(text, _named_parts(text, entry.value)[_HOOKS].value)
        ours = [
            place
            for place, one in zip(places, commands, strict=True)
            if self._is_written(one, event)
        ]
        return [entry] if ours and len(ours) == len(commands) else ours

    def _is_written(self, hook: object, event: str) -> bool:
        if not isinstance(hook, dict):
            return False
        command = hook.get("command")
        name = self.names.get(event, event)
        return is_written_command(command, name) and hook == self._hook(str(command))

    def _write(self, path: Path, data: bytes) -> None:
        """Another file in its place at once, with the mode of the one that was there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
        with replacing(path) as fresh:
            fresh.write_bytes(data)
            fresh.chmod(mode)


def _named_parts(text: str, place: int) -> dict[str, Part]:
    return {part.name: part for part in parts(text, place)}
