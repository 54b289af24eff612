"""Rules at the moment of an action, as the editor is told of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from editor import SCOPE, Editor

import vestig
from vestig.rules.values import Rule
from vestig.surfaces.hooks import client, events

TEXT = "Never push to the lighthouse by hand"
STRICT = "PreToolUse-strict"


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    return Editor(tmp_path)


def add(editor: Editor, when: str, do: str, **more: Any) -> str:
    with vestig.open(config=editor.config) as store:
        return store.rules.add(TEXT, when, do, **more).id


def told(editor: Editor, tool: str, event: str = "PreToolUse", **given: Any) -> dict[str, str]:
    """What the editor is told before a tool is used; {} for nothing."""
    ended = editor.hook(event, "one", tool_name=tool, tool_input=given)
    assert (ended.returncode, ended.stderr) == (0, "")
    if not ended.stdout:
        return {}
    answer = json.loads(ended.stdout)["hookSpecificOutput"]
    assert answer.pop("hookEventName") == "PreToolUse"
    return dict(answer)


def shown(editor: Editor, id: str) -> Rule:
    with vestig.open(config=editor.config) as store:
        return store.rules.show(id)


@pytest.mark.parametrize("do", ["deny", "ask"])
def test_an_action_is_denied_or_asked_for_with_the_rule_as_the_reason(
    editor: Editor, do: str
) -> None:
    id = add(editor, "command = 'git push'", do, unless="command ~ --dry-run", scope=SCOPE)
    answer = told(editor, "Bash", command="cd x && sudo sh -c 'git push'")
    assert answer["permissionDecision"] == do
    assert TEXT in answer["permissionDecisionReason"]
    assert id in answer["permissionDecisionReason"]
    assert told(editor, "Bash", command="git push --dry-run") == {}
    editor.wait_for(lambda: shown(editor, id).gave_way == 1)
    editor.wait_for(lambda: shown(editor, id).fired == 1)
    assert shown(editor, id).denied == (do == "deny")


def test_a_reminder_is_read_by_the_model_and_allows_nothing(editor: Editor) -> None:
    add(editor, "tool in (Edit, Write) path ~ 'db/*'", "remind")
    answer = told(editor, "Edit", file_path="/srv/app/db/1.sql", new_string="x")
    assert list(answer) == ["additionalContext"]
    assert TEXT in answer["additionalContext"]


def test_what_no_rule_names_is_left_to_the_editor(editor: Editor) -> None:
    assert told(editor, "Bash", command="git push") == {}
    add(editor, "command = 'git push'", "deny", scope="another project")
    assert told(editor, "Bash", command="git push") == {}
    assert told(editor, "Bash", command=7, file_path=["x"]) == {}


def test_what_cannot_be_read_is_asked_for_and_says_why(editor: Editor) -> None:
    add(editor, "command = 'git push'", "deny")
    answer = told(editor, "Bash", command="curl x | sh")
    assert answer["permissionDecision"] == "ask"
    assert "a shell that reads its commands from its input" in answer["permissionDecisionReason"]


def test_the_reason_names_what_decides_first_and_three_rules_at_most(editor: Editor) -> None:
    with vestig.open(config=editor.config) as store:
        for name in ("one", "two", "three", "four", "five"):
            store.rules.add(f"{TEXT}, {name}", f"command = {name}", "deny")
        plain = store.rules.add("All is told to the keeper", "tool = Bash", "remind").id
        denied = store.rules.add("Nobody pushes", "command = 'git push'", "deny").id
    lines = told(editor, "Bash", command="curl x | sh")["permissionDecisionReason"].splitlines()
    assert lines[0].startswith("What the line runs is not certain: a shell that reads its commands")
    assert lines[1] == f"Rule of the user ({plain}): All is told to the keeper"
    assert (len(lines), lines[-1]) == (5, "and 4 more")
    answer = told(editor, "Bash", command="git push; curl x | sh")
    assert answer["permissionDecision"] == "deny"
    lines = answer["permissionDecisionReason"].splitlines()
    assert lines[0] == f"Rule of the user ({denied}): Nobody pushes"
    assert "What else the line runs is not certain" in lines[-1]


@pytest.mark.parametrize(
    ("given", "when"),
    [
        ({"url": "https://prod.example/x"}, "url ~ '*prod.example*'"),
        ({"content": "the password"}, "text ~ password"),
        ({"edits": [{"new_string": "a"}, {"new_string": "the password"}]}, "text ~ password"),
        ({"notebook_path": "/a/b.ipynb"}, "path ~ *.ipynb"),
        ({"command": ["bash", "-lc", "git push"]}, "command = 'git push'"),
    ],
)
def test_the_members_of_a_tool(editor: Editor, given: dict[str, Any], when: str) -> None:
    add(editor, when, "deny")
    assert told(editor, "Any", **given)["permissionDecision"] == "deny"


def test_half_a_character_hides_nothing(editor: Editor) -> None:
    add(editor, "command = 'git push'", "deny")
    answer = told(editor, "Bash", command="git push; echo \ud800")
    assert answer["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    ("tool", "given", "when"),
    [
        (
            "Fetch",
            {"url": f"https://prod.example/{'x' * 70_000}"},
            "url ~ 'https://prod.example/*'",
        ),
        ("Write", {"file_path": f"/a/{'x/' * 40_000}prod.env"}, "path = prod.env"),
        ("x" * 50_000, {"text": "a"}, "tool ~ 'xxx*'"),
        ("Write", {"file_path": "/a/\0/prod.env", "text": "\0"}, "path = prod.env"),
        ("Write", {"file_path": "/a/prod.env", "path": " ", "url": " "}, "path = prod.env"),
        ("Any", {"edits": [{"edits": "x"}, 7, {"text": "prod"}], "x": [[[[]]]]}, "text ~ prod"),
    ],
)
def test_no_form_of_a_value_lets_an_action_through(
    editor: Editor, tool: str, given: dict[str, Any], when: str
) -> None:
    add(editor, when, "deny")
    assert told(editor, tool, **given)["permissionDecision"] == "deny"


def test_a_strict_hook_refuses_where_the_store_is_gone(editor: Editor) -> None:
    add(editor, "command = 'git push'", "deny")
    editor.store.rename(editor.store.with_name("elsewhere"))
    assert told(editor, "Bash", command="ls") == {}
    answer = told(editor, "Bash", STRICT, command="ls")
    assert answer["permissionDecision"] == "deny"
    assert f"the store {editor.store}, which is not there" in answer["permissionDecisionReason"]
    assert not editor.store.exists()


def test_a_strict_hook_that_is_late_before_it_has_read_refuses(editor: Editor) -> None:
    add(editor, "command = 'git push'", "deny")
    hook = events.Hook({"config": str(editor.config)}, name=STRICT)
    answer = hook.without_answer()
    assert answer is not None
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert client.time_limit_s(STRICT) == client.time_limit_s("PreToolUse") > 2
    assert client.time_limit_s("UserPromptSubmit") < 2


def test_a_broken_store_holds_nothing_up_unless_it_was_installed_so(editor: Editor) -> None:
    add(editor, "command = 'git push'", "deny")
    assert told(editor, "Bash", STRICT, command="ls") == {}
    assert told(editor, "Bash", STRICT, command="git push")["permissionDecision"] == "deny"
    ledger = next(path for path in editor.store.iterdir() if path.suffix in (".db", ".sqlite"))
    ledger.write_bytes(b"no database" * 1_000)
    assert told(editor, "Bash", command="git push") == {}
    assert "error" in editor.log()[-1]
    answer = told(editor, "Bash", STRICT, command="ls")
    assert answer["permissionDecision"] == "deny"
    assert "--strict" in answer["permissionDecisionReason"]


def test_an_answer_that_is_late_holds_nothing_up_unless_it_was_installed_so(
    editor: Editor,
) -> None:
    add(editor, "command = 'git push'", "deny")
    given = {"tool_name": "Bash", "tool_input": {"command": "git push"}}
    assert editor.hook("PreToolUse", "one", limit=0.0, **given).stdout == ""
    late = editor.hook(STRICT, "one", limit=0.0, **given)
    assert json.loads(late.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_the_plugin_asks_before_each_tool_and_strictly_where_that_was_said(
    editor: Editor,
) -> None:
    for words, command in (((), "PreToolUse"), (("--strict",), STRICT)):
        installed = editor.run("", "install", "claude", *words)
        assert installed.returncode == 0, installed.stderr
        assert ("--strict denies all" in installed.stdout) == bool(words), installed.stdout
        place = Path(installed.stdout.splitlines()[0].split(maxsplit=2)[2])
        path = place / "vestig" / "hooks" / "hooks.json"
        (entry,) = json.loads(path.read_text())["hooks"]["PreToolUse"]
        assert f"hook {command}" in entry["hooks"][0]["command"]
        assert "written" in editor.run("", "install").stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("name", "said"), [("codex", "It cannot ask"), ("cursor", "rules do not remind")]
)
def test_the_installation_says_how_far_rules_bind(editor: Editor, name: str, said: str) -> None:
    assert said in editor.run("", "install", name).stdout
    assert said in editor.run("", "install", name).stdout
    assert editor.run("", "install", name, "--strict").returncode == 2
    path = editor.folder / f".{name}" / "hooks.json"
    hooks = json.loads(path.read_text())["hooks"]
    if name == "codex":
        (entry,) = hooks["PreToolUse"]
        assert " hook PreToolUse-codex " in entry["hooks"][0]["command"]
    assert editor.run("", "install", name, "--remove").returncode == 0
    assert not path.exists()


PATCH = """*** Begin Patch
*** Update File: src/a.py
*** Move to: db/b.py
@@ x
-old
+the password
*** Add File: notes.md
+git push
*** End Patch
"""


@pytest.mark.parametrize(
    ("when", "do", "given", "members"),
    [
        ("command = 'git push'", "deny", ("Bash", "sudo git push"), ["permissionDecision"]),
        ("command = 'git push'", "ask", ("Bash", "git push"), ["permissionDecision"]),
        ("command = 'git push'", "ask", ("Bash", "git $X"), ["additionalContext"]),
        ("command = 'git push'", "deny", ("Bash", "git $X"), ["additionalContext"]),
        ("command = 'git push'", "remind", ("Bash", "git push"), ["additionalContext"]),
        ("command = 'git push'", "deny", ("Bash", "ls"), []),
        ("tool = apply_patch and path ~ 'db/*'", "deny", ("apply_patch", PATCH), ["deny"]),
        ("path in (notes.md)", "deny", ("apply_patch", PATCH), ["deny"]),
        ("path = a.py and text ~ password", "deny", ("apply_patch", PATCH), ["deny"]),
        ("command ~ '*'", "deny", ("apply_patch", PATCH), []),
    ],
)
def test_before_a_tool_of_codex(
    editor: Editor, when: str, do: str, given: tuple[str, str], members: list[str]
) -> None:
    """It knows no question: what would be asked is denied where it is certain, else told."""
    add(editor, when, do)
    tool, command = given
    answer = told(editor, tool, "PreToolUse-codex", command=command)
    assert "allow" not in answer.values()
    if members == ["additionalContext"]:
        assert list(answer) == members
    elif members:
        assert answer["permissionDecision"] == "deny"
        assert TEXT in answer["permissionDecisionReason"]
        assert ("cannot be asked here" in answer["permissionDecisionReason"]) == (do == "ask")
    else:
        assert answer == {}


@pytest.mark.parametrize(
    ("event", "given", "when", "do", "permission"),
    [
        ("beforeShellExecution", {"command": "nice git push"}, "command = git", "deny", "deny"),
        ("beforeShellExecution", {"command": "git push"}, "tool = Bash", "ask", "ask"),
        ("beforeShellExecution", {"command": "git $X"}, "command = 'git push'", "deny", "ask"),
        ("beforeShellExecution", {"command": "git push"}, "tool = Bash", "remind", None),
        ("beforeShellExecution", {"command": "ls"}, "command = 'git push'", "deny", None),
        ("beforeReadFile", {"file_path": "/a/.env", "content": "x"}, "path = .env", "deny", "deny"),
        ("beforeReadFile", {"file_path": "/a/.env", "content": "x"}, "path = .env", "ask", "deny"),
        ("beforeReadFile", {"file_path": "/a/b", "content": "x"}, "text ~ x", "deny", None),
        (
            "beforeMCPExecution",
            {"tool_name": "fetch", "tool_input": '{"url": "https://prod.example"}', "command": "x"},
            "tool = fetch and url ~ 'https://prod*'",
            "ask",
            "ask",
        ),
        (
            "beforeMCPExecution",
            {"tool_name": "fetch", "tool_input": "{", "command": "npx git push"},
            "command ~ git",
            "deny",
            None,
        ),
    ],
)  # fmt: skip
def test_before_an_action_of_cursor(
    editor: Editor, event: str, given: dict[str, Any], when: str, do: str, permission: str | None
) -> None:
    id = add(editor, when, do, scope=SCOPE)
    base = {"conversation_id": "c", "workspace_roots": [str(editor.project)]}
    ended = editor.run(json.dumps(base | {"hook_event_name": event} | given), "hook", event)
    assert (ended.returncode, ended.stderr) == (0, "")
    if permission is None:
        assert ended.stdout == ""
        return
    answer = json.loads(ended.stdout)
    assert answer["permission"] == permission
    assert id in answer["user_message"]
    agent = {} if event == "beforeReadFile" else {"agent_message": answer["user_message"]}
    assert answer == {"permission": permission, "user_message": answer["user_message"], **agent}
    editor.wait_for(lambda: shown(editor, id).fired == 1)
