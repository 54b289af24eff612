"""`hook` and `install`: an editor recalls and keeps by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from vestig.calls.argument import Choice, Flag, Text
from vestig.surfaces.operation import Call, Operation


def _hook(call: Call) -> Any:
    from vestig.surfaces.hooks.events import answer_event

    return answer_event(call.args.get("event"), call.options)


def _answer(value: Any, _: Mapping[str, Any]) -> str:
    import json

    return json.dumps(value)


def _install(call: Call) -> Any:
    from vestig.config.environment import options_of_variables
    from vestig.errors import ValidationError
    from vestig.surfaces.hooks import install

    # the editor need not have the variables of this shell
    editor, options = call.args.get("editor"), {**options_of_variables(), **call.options}
    asked = {name for name in ("remove", "check", "history") if call.args.get(name)}
    if len(asked) > 1:
        raise ValidationError("install", " and ".join(sorted(asked)), "one of them")
    if editor is None:
        if call.args:
            raise ValidationError("editor", None, "claude, codex or cursor")
        return install.installations(options)
    dry_run = bool(call.args.get("dry_run", False))
    if "check" in asked:
        return [install.check(editor, options)]
    if "remove" in asked:
        return [install.remove(editor, options, dry_run=dry_run)]
    made = install.install(
        editor, options, dry_run=dry_run, strict=bool(call.args.get("strict", False))
    )
    if "history" in asked:
        read = install.read_history(editor, options, dry_run=dry_run, progress=call.progress)
        made = replace(made, done=(*made.done, *read))
    return [made]


def _installed(found: Any, asked: Mapping[str, Any]) -> str:
    lines = []
    for one in found:
        lines.append(f"{one.editor:<8} {one.state:<9} {one.place}")
        lines += [f"  {step}" for step in one.done]
        lines += [f"  failed: {fault}" for fault in one.faults]
        if one.checked and not _is_wrong(one):
            lines.append("  works: a memory was stored, recalled and forgotten")
        lines += [f"  {note}" for note in one.notes]
    if not asked:
        lines += ["", "vestig install EDITOR adds the hooks, --remove takes them out."]
    return "\n".join(lines)


def _is_wrong(one: Any) -> bool:
    return bool(one.faults or (one.checked and one.state not in ("current", "written")))


def _exit(found: Any) -> int:
    return int(any(map(_is_wrong, found)))


_INSTALL: Final = Operation(
    name="install",
    options=(
        Choice(
            "The editor; without one they are listed, and nothing is changed.",
            name="editor",
            required=False,
            words=("claude", "codex", "cursor"),
        ),
        Flag("Take the hooks out again.", "--remove", name="remove"),
        Flag("Say what would be done.", "--dry-run", name="dry_run"),
        Flag(
            "Try it with a memory that is forgotten again; exit 1 unless all is well.",
            "--check",
            name="check",
        ),
        Flag("Read the transcripts that are there already.", "--history", name="history"),
        Flag(
            "Refuse an action where the rules cannot be asked; else it goes on.",
            "--strict",
            name="strict",
        ),
    ),
    run=_install,
    document="installations",
    text=_installed,
    exit_code=_exit,
    needs_config=False,
    needs_store=False,
    offered=False,
)

_HOOK: Final = Operation(
    name="hook",
    options=(
        Text(
            "UserPromptSubmit, SessionStart, PreCompact, SessionEnd or PreToolUse, or as Cursor"
            " calls it; default: as the input says.",
            name="event",
            required=False,
        ),
    ),
    run=_hook,
    document="hook",
    text=_answer,
    needs_config=False,
    needs_store=False,
    offered=False,
)

OPERATIONS: Final = (_INSTALL, _HOOK)
