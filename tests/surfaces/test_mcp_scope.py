"""`vestig mcp --scope`: what an agent remembers in a project, and what it reads there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import vestig
from mcp_process import McpProcess, text_of, written_config

OURS = "Rocket deploys run on Fridays at noon."
THEIRS = "Submarine deploys run on Mondays at dawn."
EVERYWHERE = "Deploys are announced in the morning."


def filled(config: Path) -> None:
    """A fact of each of two scopes and one of none, and a turn of a session."""
    with vestig.open(config=config) as store:
        store.commit(OURS, scope="project:github.com/acme/rocket")
        store.commit(THEIRS, scope="project:acme/submarine")
        store.commit(EVERYWHERE)
        said = {"scope": "project:github.com/acme/rocket", "role": "user", "session_id": "running"}
        store.commit("When do deploys of the rocket run again?", **said)


def shown(server: McpProcess, tool: str = "recall", **arguments: Any) -> str:
    question = {"query": "when do deploys run?"}
    if tool == "retrieve":
        question = {"messages": [{"role": "user", "content": "when do deploys run?"}]}  # type: ignore[dict-item]
    return text_of(server.call(tool, **question, **arguments))


def test_reads_see_the_scope_and_what_has_none(tmp_path: Path) -> None:
    config = written_config(tmp_path)
    filled(config)
    with McpProcess(config, "--scope", "project:github.com/acme/rocket") as server:
        server.initialize()
        for tool, more in (("recall", {"all": True}), ("search", {}), ("retrieve", {})):
            found = shown(server, tool, **more)
            assert OURS in found, tool
            assert EVERYWHERE in found, tool
            assert THEIRS not in found, tool
        listed = json.dumps(server.request("resources/list")["result"])
        assert OURS in listed
        assert THEIRS not in listed
        theirs = shown(server, all=True, where={"scope": "project:acme/submarine"})
        assert THEIRS in theirs
        assert EVERYWHERE not in theirs
        tagged = shown(server, all=True, where={"authors": ["nobody"]})
        assert OURS not in tagged


def test_what_is_remembered_has_the_scope(tmp_path: Path) -> None:
    config = written_config(tmp_path)
    with McpProcess(config, "--scope", "project:github.com/acme/rocket") as server:
        server.initialize()
        server.call("remember", text="The launch pad was painted white.")
        server.call("remember", text="The harbour crane was painted red.", scope="harbour")
        said = text_of(server.call("remember", text="The launch pad has two gates."))
        old = re.findall(r"Stored as ([0-9a-f-]+)", said)[0]
        server.call("supersede", old=old, text="The launch pad has three gates.")
    with vestig.open(config=config) as store:
        scopes = {one.content: one.scope for one in store.list()}
    assert scopes == {
        "The launch pad was painted white.": "project:github.com/acme/rocket",
        "The harbour crane was painted red.": "harbour",
        "The launch pad has three gates.": "project:github.com/acme/rocket",
    }


def test_a_new_text_for_a_fact_stays_in_its_scope(tmp_path: Path) -> None:
    config = written_config(tmp_path)
    with McpProcess(config) as server:
        server.initialize()
        said = text_of(server.call("remember", text="The mast has two lamps.", scope="harbour"))
        old = re.findall(r"Stored as ([0-9a-f-]+)", said)[0]
        server.call("supersede", old=old, text="The mast has three lamps.")
    with vestig.open(config=config) as store:
        assert [(one.content, one.scope) for one in store.list()] == [
            ("The mast has three lamps.", "harbour")
        ]


@pytest.mark.slow
def test_auto_is_the_project_of_the_folder_and_leaves_the_running_session_out(
    tmp_path: Path,
) -> None:
    config = written_config(tmp_path)
    filled(config)
    project = tmp_path / "work"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "config").write_text(
        '[remote "origin"]\n\turl = git@github.com:acme/rocket.git\n', encoding="utf-8"
    )
    editor = {"CLAUDE_PROJECT_DIR": str(project), "CLAUDE_CODE_SESSION_ID": "running"}
    with McpProcess(config, "--scope", "auto", env=editor) as server:
        server.initialize()
        found = shown(server, all=True)
        assert OURS in found
        assert THEIRS not in found
        assert "again?" not in found
        others = shown(server, all=True, where={"exclude_session_ids": ["other"]})
        assert "again?" not in others
        assert "again?" in shown(server, all=True, where={"session_ids": ["running"]})
    with McpProcess(config, "--scope", "auto", env=editor | {"CLAUDE_CODE_SESSION_ID": ""}) as one:
        one.initialize()
        assert "again?" in shown(one, all=True)


@pytest.mark.parametrize("scope", [" ", "Auto"])
def test_what_names_no_scope_is_refused(tmp_path: Path, scope: str) -> None:
    with McpProcess(written_config(tmp_path), "--scope", scope) as server:
        assert server.ends()[0] == 2
        assert "scope" in server.errors()


def test_no_tool_ends_a_rule(tmp_path: Path) -> None:
    config = written_config(tmp_path)
    with vestig.open(config=config) as store:
        rule = store.rules.add("Never push to the lighthouse", "command = 'git push'", "deny").id
        other = str(store.commit("Pushes are free from May on").memory_id)
    with McpProcess(config) as server:
        server.initialize()
        for tool, given in (
            ("supersede", {"old": rule, "new": other}),
            ("supersede", {"old": rule[4:12], "text": "Pushes are free"}),
            ("remember", {"text": "Pushes are free now", "supersedes": [other, rule]}),
            ("remember", {"text": "Pushes are free now", "supersedes": rule}),
            ("forget", {"id": rule, "confirm": True}),
        ):
            said = text_of(server.call(tool, **given))
            assert "is a rule of the user" in said
            assert f"vestig rule remove {rule}" in said
        assert "Decision: deny." in text_of(server.call("check", command="git push"))


def test_a_fact_for_all_projects_and_one_that_reads_here_leave_out(tmp_path: Path) -> None:
    config = written_config(tmp_path)
    with McpProcess(config, "--scope", "project:acme/rocket") as server:
        server.initialize()
        said = text_of(server.call("remember", text=EVERYWHERE, unscoped=True))
        assert re.fullmatch(r"Stored as [0-9a-f]+\.", said)
        told = text_of(server.call("remember", text=THEIRS, scope="global"))
        assert "Its scope 'global' is not that of this project" in told
        assert "With unscoped true a fact holds everywhere" in told
        assert "scope" not in text_of(server.call("remember", text=OURS))
        both = server.call("remember", text=OURS, scope="x", unscoped=True)
        assert both["isError"] is True
        found = shown(server, all=True)
        assert EVERYWHERE in found
        assert THEIRS not in found
    with vestig.open(config=config) as store:
        assert {one.content: one.scope for one in store} == {
            EVERYWHERE: None, THEIRS: "global", OURS: "project:acme/rocket",
        }  # fmt: skip
