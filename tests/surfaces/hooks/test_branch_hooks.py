"""Branches in the sessions of an editor: what a transcript says on one is kept with it, read there,
and becomes the project's when a session begins after the merge."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from editor import SCOPE, Editor

import forked
import vestig
from mcp_process import McpProcess
from mcp_process import text_of as text_of_result
from repositories import git, text_of, write
from vestig.repository.project import project_scope

FILE = "src/db.py"
EDIT = "The pool now holds forty connections"
PLAIN = "The team meets on Mondays in the kitchen"
QUESTION = "How many connections does the pool hold now?"


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    made = Editor(tmp_path)
    git(made.project, "init", "-q", "-b", "main")
    write(made.project, {FILE: text_of(1, 20)})
    git(made.project, "add", "-A")
    git(made.project, "commit", "-q", "-m", "first")
    git(made.project, "checkout", "-q", "-b", "pool")
    return made


@pytest.mark.slow
def test_memories_from_before_the_remote_are_told_of_and_brought_over(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    (editor.project / ".git" / "config").unlink()
    git(editor.project, "init", "-q", "-b", "main")
    old = project_scope(editor.project)
    with vestig.open(config=editor.config) as store:
        store.commit(PLAIN, scope=old)
        store.commit(EDIT, scope=f"{old}@main")
        store.rules.add("Nobody pushes", "command = git", "deny", scope=old)
    assert editor.hook("SessionStart", "before").stdout == ""
    assert editor.run("", "doctor").stderr == ""
    git(editor.project, "remote", "add", "origin", "git@host.example:acme/rocket.git")
    begun = json.loads(editor.hook("SessionStart", "after").stdout)
    lines = begun["hookSpecificOutput"]["additionalContext"].split("\n\n")
    assert [line.partition(" of this folder")[0] for line in lines] == [
        "Vestig: 2 memories", "Vestig: 1 memory",
    ]  # fmt: skip
    moves = [
        line.partition("To bring them over: ")[2].removesuffix(" Tell the user, who decides.")
        for line in lines
    ]
    env = editor.environment() | {"CLAUDE_PROJECT_DIR": str(editor.project)}
    with McpProcess(editor.config, "--scope", "auto", env=env) as server:
        server.initialize()
        found = text_of_result(server.call("recall", query=QUESTION))
        assert all(one in found for one in moves)
    for words in (["recall", QUESTION, "--scope", "auto"], ["list", "--scope", "auto"], ["doctor"]):
        told = forked.run([*words, "--config", str(editor.config)], env=env).stderr
        assert all(one in told for one in moves), words
    for move in moves:
        subprocess.run(move, shell=True, check=True, env=env, capture_output=True)
    assert editor.memories() == {PLAIN: SCOPE, EDIT: f"{SCOPE}@main", "Nobody pushes": SCOPE}
    assert editor.hook("SessionStart", "later").stdout == ""
    with vestig.open(config=editor.config) as store:
        assert store.rules.test(command="git push", scope=SCOPE).decision == "deny"


def edited(
    editor: Editor, session: str, text: str = EDIT, *, size: int = 40, branch: str | None = None
) -> None:
    """A turn that edits a file, and says so."""
    with (editor.project / FILE).open("a") as file:
        file.write(f"connections = {size}\n")
    editor.said(session, "Please make the pool larger than it is")
    used: dict[str, Any] = {"file_path": str(editor.project / FILE),
                            "new_string": f"connections = {size}"}  # fmt: skip
    content = [
        {"type": "tool_use", "name": "Edit", "input": used},
        {"type": "text", "text": text},
    ]
    line = {
        "type": "assistant",
        "uuid": f"{session}-edit",
        "sessionId": session,
        "timestamp": "2026-03-02T10:00:00Z",
        "cwd": str(editor.project),
        **({} if branch is None else {"gitBranch": branch}),
        "message": {"role": "assistant", "id": "m1", "content": content},
    }
    with editor.transcript(session).open("a") as file:
        file.write(json.dumps(line) + "\n")
    editor.said(session, PLAIN)


def test_a_session_on_a_branch_is_kept_with_it_until_it_is_merged(editor: Editor) -> None:
    edited(editor, "s1")
    editor.read("SessionEnd", "s1")
    kept = editor.memories()
    assert kept[EDIT] == f"{SCOPE}@pool"
    assert kept[PLAIN] == SCOPE
    git(editor.project, "commit", "-q", "-a", "-m", "forty")
    assert EDIT in editor.shown("UserPromptSubmit", "s2", prompt=QUESTION)
    git(editor.project, "checkout", "-q", "main")
    assert EDIT not in editor.shown("UserPromptSubmit", "s3", prompt=QUESTION)
    # read again on another branch, what is recorded comes no second time
    editor.said("s1", "Nothing else is to be done today, I think")
    editor.read("SessionEnd", "s1")
    assert editor.memories() == {**kept, "Nothing else is to be done today, I think": SCOPE}
    git(editor.project, "merge", "-q", "pool")
    editor.said("s4", "What is left to be done on the pool of the database?")
    editor.shown("SessionStart", "s4", source="startup")
    editor.wait_for(lambda: [one for one in editor.log() if one["event"] == "branch"])
    assert editor.memories()[EDIT] == SCOPE
    (told,) = [one for one in editor.log() if one["event"] == "branch"]
    assert (told["scope"], told["moved"], told.get("error")) == (SCOPE, 1, None)
    assert EDIT in editor.shown("UserPromptSubmit", "s5", prompt=QUESTION)


def test_a_branch_that_was_squashed_and_deleted_before_the_next_session(editor: Editor) -> None:
    edited(editor, "s1")
    editor.read("SessionEnd", "s1")
    assert editor.memories()[EDIT] == f"{SCOPE}@pool"
    git(editor.project, "commit", "-q", "-a", "-m", "forty")
    git(editor.project, "checkout", "-q", "main")
    git(editor.project, "merge", "-q", "--squash", "pool")
    git(editor.project, "commit", "-q", "-m", "pool as one")
    git(editor.project, "branch", "-q", "-D", "pool")
    editor.said("s2", "What is left to be done on the pool of the database?")
    editor.shown("SessionStart", "s2", source="startup")
    editor.wait_for(lambda: [one for one in editor.log() if one["event"] == "branch"])
    assert editor.memories()[EDIT] == SCOPE


def test_a_session_of_cursor_begins_with_the_merge_too(editor: Editor) -> None:
    edited(editor, "s1")
    editor.read("SessionEnd", "s1")
    git(editor.project, "commit", "-q", "-a", "-m", "forty")
    git(editor.project, "checkout", "-q", "main")
    git(editor.project, "merge", "-q", "pool")
    others = editor.project / "cursor.jsonl"
    others.write_text('{"role": "user", "message": "words of a transcript that is not read"}\n')
    told = {
        "conversation_id": "c1",
        "workspace_roots": [str(editor.project)],
        "transcript_path": str(others),
    }
    editor.run(json.dumps(told), "hook", "sessionStart")
    editor.wait_for(lambda: [one for one in editor.log() if one["event"] == "branch"])
    assert editor.memories()[EDIT] == SCOPE
    assert str(others) not in {one.get("transcript") for one in editor.log()}


def test_a_session_that_is_read_on_another_branch_is_of_the_branch_it_was_on(
    editor: Editor,
) -> None:
    edited(editor, "s1", branch="pool")
    git(editor.project, "commit", "-q", "-a", "-m", "forty")
    git(editor.project, "checkout", "-q", "main")
    edited(editor, "s2", text="The pool of the default branch has fifty", size=50, branch="main")
    git(editor.project, "commit", "-q", "-a", "-m", "fifty")
    git(editor.project, "checkout", "-q", "-b", "third")
    for session in ("s1", "s2"):
        editor.read("SessionEnd", session)
    assert editor.memories() == {
        EDIT: f"{SCOPE}@pool",
        "The pool of the default branch has fifty": SCOPE,
        PLAIN: SCOPE,
        "Please make the pool larger than it is": SCOPE,
    }
    with vestig.open(config=editor.config) as store:
        found = {one.content: store.anchors.show(one.id) for one in store.list()}
    head = git(editor.project, "rev-parse", "pool").strip()
    (anchor,) = found[EDIT]
    assert (anchor.target, anchor.lines, anchor.commit) == (FILE, (21, 21), head)


def test_a_session_on_a_branch_begins_with_what_is_pinned_there(editor: Editor) -> None:
    with vestig.open(config=editor.config) as store:
        for scope in (f"{SCOPE}@pool", f"{SCOPE}@other"):
            text = f"Ask before the release of {scope.rpartition('@')[2]}"
            store.pin(store.commit(text, scope=scope).memory_id)
    shown = editor.shown("SessionStart", "s1", source="startup")
    assert "Ask before the release of pool" in shown
    assert "of other" not in shown


def test_a_server_follows_the_branch_that_is_checked_out(editor: Editor) -> None:
    git(editor.project, "commit", "-q", "--allow-empty", "-m", "own")
    where = {**editor.environment(), "CLAUDE_PROJECT_DIR": str(editor.project)}
    (editor.project / FILE).write_text(text_of(1, 21))
    with McpProcess(editor.config, "--scope", "auto", env=where) as server:
        server.initialize()
        server.call("remember", text=EDIT, anchor=f"{FILE}:21")
        server.call("remember", text=PLAIN)
        seen = [text_of_result(server.call("recall", query=QUESTION, all=True))]
        git(editor.project, "stash", "-q")
        git(editor.project, "checkout", "-q", "main")
        seen.append(text_of_result(server.call("recall", query=QUESTION, all=True)))
        server.call("remember", text="The pool is checked hourly", anchor=FILE)
    assert [EDIT in one for one in seen] == [True, False]
    assert [PLAIN in one for one in seen] == [True, True]
    assert editor.memories() == {
        EDIT: f"{SCOPE}@pool",
        PLAIN: SCOPE,
        "The pool is checked hourly": SCOPE,
    }


def test_a_server_with_a_named_scope_knows_no_branch(editor: Editor) -> None:
    where = {**editor.environment(), "CLAUDE_PROJECT_DIR": str(editor.project)}
    (editor.project / FILE).write_text(text_of(1, 21))
    with McpProcess(editor.config, "--scope", SCOPE, env=where) as server:
        server.initialize()
        server.call("remember", text=EDIT, anchor=FILE)
    assert editor.memories() == {EDIT: SCOPE}
