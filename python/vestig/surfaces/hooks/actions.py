"""Rules at the moment of an action: what an editor is about to do, what it is told of that, and the
counts, which a process of their own adds, for the editor waits for the answer alone."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from vestig.rules.reasons import reasons
from vestig.rules.values import RuleCheck
from vestig.surfaces.cli.opening import configuration, open_store

# Members of the input of a tool that name a file, and those that are written or sent.
_PATHS: Final = ("file_path", "notebook_path", "path")
_TEXTS: Final = ("content", "new_string", "new_source", "text", "prompt", "query")
_EDITS: Final = "edits"


def action_of(told: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments of `rules.check` for the call of a tool; None where it names nothing.

    Example:
        >>> action_of({"tool_name": "Bash", "tool_input": {"command": "git push"}})
        {'tool': 'Bash', 'command': 'git push'}
        >>> action_of({"tool_name": "Write", "tool_input": {"file_path": "/a", "content": "b"}})
        {'tool': 'Write', 'path': ['/a'], 'text': 'b'}
    """
    given = told.get("tool_input")
    given = given if isinstance(given, dict) else {}
    command = given.get("command")
    if isinstance(command, list) and all(isinstance(one, str) for one in command):
        command = shlex.join(command)
    edits = given.get(_EDITS)
    parts = [given, *(edits if isinstance(edits, list) else ())]
    found: dict[str, list[Any]] = {
        "tool": [told.get("tool_name")],
        "path": [given.get(name) for name in _PATHS],
        "command": [command],
        "url": [given.get("url")],
        "text": [part.get(name) for part in parts if isinstance(part, dict) for name in _TEXTS],
    }
    action: dict[str, Any] = {}
    for name, values in found.items():
        texts = [_whole(value) for value in values if isinstance(value, str) and value.strip()]
        if texts:
            action[name] = texts if name == "path" else "\n".join(texts)
    return action or None


def _whole(text: str) -> str:
    """A text with U+FFFD in the place of NUL and of halves of surrogate pairs, which none may
    hold."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\ufffd")


def answer_of(found: RuleCheck) -> dict[str, Any] | None:
    """The answer to the call of a tool, as Claude Code reads it; None where no rule fires. Nothing
    is ever allowed by it: what no rule holds up goes the way it would without Vestig."""
    if found.decision is None:
        return None
    said = "\n".join(reasons(found))
    if found.decision == "remind":
        return _answer({"additionalContext": said})
    return _answer({"permissionDecision": found.decision, "permissionDecisionReason": said})


def refused(reason: str) -> dict[str, Any]:
    """The answer where the rules cannot be asked and nothing may happen without them."""
    return _answer({"permissionDecision": "deny", "permissionDecisionReason": reason})


def _answer(members: Mapping[str, str]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **members}}


def count_later(options: Mapping[str, Any], found: RuleCheck, folder: str | None) -> None:
    """Starts a process that counts the rules which fired and gave way."""
    counted = msgspec.structs.replace(
        found,
        fired=tuple(msgspec.structs.replace(one, text="", command=None) for one in found.fired),
    )
    asked = {"options": dict(options), "found": msgspec.to_builtins(counted)}
    subprocess.Popen(
        [sys.executable, "-m", "vestig.surfaces.hooks.actions", json.dumps(asked)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _count(asked: Mapping[str, Any]) -> None:
    from vestig.rules.check import count

    with open_store(configuration(asked["options"])) as store:
        count(store._session, None, msgspec.convert(asked["found"], RuleCheck))


if __name__ == "__main__":
    _count(json.loads(sys.argv[1]))
