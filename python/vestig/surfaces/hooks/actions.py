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
from vestig.surfaces.hooks.client import CODEX, CURSOR

# Members of the input of a tool that name a file, and those that are written or sent.
_PATHS: Final = ("file_path", "notebook_path", "path")
_TEXTS: Final = ("content", "new_string", "new_source", "text", "prompt", "query")
_EDITS: Final = "edits"
# The tool of Codex that writes files, whose command is a patch, and what names a file in one.
_PATCHES: Final = "apply_patch"
_FILES_OF_PATCH: Final = (
    "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ",
)  # fmt: skip
_READS: Final = "beforeReadFile"
_CANNOT_ASK: Final = (
    "The user decides on this, and cannot be asked here: tell the user, who can do it by hand, or"
    " change the rule."
)


def action_of(event: str, told: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments of `rules.check` for what is about to happen; None where it names nothing.

    Args:
        event: the name of the hook.

    Example:
        >>> action_of("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "git push"}})
        {'tool': 'Bash', 'command': 'git push'}
        >>> written = {"file_path": "/a", "content": "b"}
        >>> action_of("PreToolUse", {"tool_name": "Write", "tool_input": written})
        {'tool': 'Write', 'path': ['/a'], 'text': 'b'}
        >>> action_of("beforeShellExecution", {"command": "git push", "cwd": ""})
        {'tool': 'Bash', 'command': 'git push'}
    """
    tool, given = told.get("tool_name"), told.get("tool_input")
    if event == "beforeShellExecution":
        tool, given = "Bash", {"command": told.get("command")}
    elif event == "beforeReadFile":
        tool, given = "Read", {"file_path": told.get("file_path")}
    elif isinstance(given, str):
        given = _object(given)
    return _named(tool, given)


def _object(text: str) -> Any:
    """The input of a tool that comes as JSON in a text; {} for other texts."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}


def _named(tool: Any, given: Any) -> dict[str, Any] | None:
    given = given if isinstance(given, dict) else {}
    command = given.get("command")
    if isinstance(command, list) and all(isinstance(one, str) for one in command):
        command = shlex.join(command)
    edits = given.get(_EDITS)
    parts = [given, *(edits if isinstance(edits, list) else ())]
    found: dict[str, list[Any]] = {
        "tool": [tool],
        "path": [given.get(name) for name in _PATHS],
        "command": [command],
        "url": [given.get("url")],
        "text": [part.get(name) for part in parts if isinstance(part, dict) for name in _TEXTS],
    }
    if tool == _PATCHES:
        _read_patch(found)
    action: dict[str, Any] = {}
    for name, values in found.items():
        texts = [_whole(value) for value in values if isinstance(value, str) and value.strip()]
        if texts:
            action[name] = texts if name == "path" else "\n".join(texts)
    return action or None


def _read_patch(found: dict[str, list[Any]]) -> None:
    """Puts the files that a patch names, and the lines that it adds, in the place of its text."""
    lines = [
        line for text in found["command"] if isinstance(text, str) for line in text.split("\n")
    ]
    found["command"] = []
    for line in lines:
        marks = (mark for mark in _FILES_OF_PATCH if line.strip().startswith(mark))
        if (mark := next(marks, None)) is not None:
            found["path"].append(line.strip().removeprefix(mark).strip())
        elif line.startswith("+"):
            found["text"].append(line[1:])


def _whole(text: str) -> str:
    """A text with U+FFFD in the place of NUL and of halves of surrogate pairs, which none may
    hold."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\ufffd")


def answer_of(event: str, found: RuleCheck) -> dict[str, Any] | None:
    """The answer to what is about to happen, in the form of the editor; None where no rule fires.
    Nothing is ever allowed by it: what no rule holds up goes the way it would without Vestig.

    Args:
        event: the name of the hook.
    """
    if found.decision is None:
        return None
    decision, said = found.decision, "\n".join(reasons(found))
    if decision == "ask" and event in (CODEX, _READS):
        # who cannot be asked decides otherwise, where it is certain that there is a question
        certain = any(one.certain and one.do == "ask" for one in found.fired)
        decision = "deny" if certain else "remind"
        said = f"{_CANNOT_ASK}\n{said}" if certain else said
    if event in CURSOR:
        if decision == "remind":
            return None
        agent = {} if event == _READS else {"agent_message": said}
        return {"permission": decision, "user_message": said, **agent}
    if decision == "remind":
        return _answer({"additionalContext": said})
    return _answer({"permissionDecision": decision, "permissionDecisionReason": said})


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
