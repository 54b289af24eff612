"""The command by which an editor starts a hook, and how it is found again among those of others."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

_PROGRAM: Final = "vestig"
_OPTIONS: Final = ("store", "config", "namespace", "profile")


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
    """The command for an event, as a shell reads it.

    Example:
        >>> hook_command("SessionEnd", {"namespace": "my team"}).partition(" hook ")[2]
        "SessionEnd --namespace 'my team'"
    """
    return shlex.join([*program(), "hook", event, *store_options(options)])


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
    """Return whether a command starts Vestig's hook for an event, wherever Vestig is installed.

    Example:
        >>> is_hook_command("/opt/bin/vestig hook SessionEnd", "SessionEnd")
        True
        >>> is_hook_command("notify vestig hook SessionEnd", "SessionEnd")
        False
    """
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    module = words[1:3] == ["-m", _PROGRAM]
    if not module and (not words or Path(words[0]).name != _PROGRAM):
        return False
    start = 3 if module else 1
    return words[start : start + 2] == ["hook", event]
