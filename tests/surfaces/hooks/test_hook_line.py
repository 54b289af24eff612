"""The line by which an editor starts a hook: read without the command line's own machinery."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from editor import Editor

import vestig
from tables import each
from vestig.surfaces.hooks import client
from vestig.surfaces.hooks.hooks_file import hook_command, hook_options, is_hook_command

PORT = "The staging database of the lighthouse listens on port 6543."
QUESTION = "Which port does the staging database listen on?"
# what a busy machine needs to start is no part of these tests
_MAIN = (
    "from vestig.surfaces.hooks import client\n"
    "from vestig.surfaces.cli import main\n"
    "client.TIME_LIMIT_S = client.ACTION_TIME_LIMIT_S = 60\n"
    "main()"
)


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    made = Editor(tmp_path)
    with vestig.open(config=made.config) as store:
        store.commit(PORT)
    return made


def started(
    editor: Editor, told: Any, *words: str, flags: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """The line as an editor starts it."""
    return subprocess.run(
        [sys.executable, *flags, "-c", _MAIN, *words],
        input=told if isinstance(told, str) else json.dumps(told),
        capture_output=True,
        text=True,
        env=editor.environment(),
        check=False,
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"store": "/a place/of its own"},
        {"config": "/etc/vestig.yaml", "namespace": "my team", "profile": "default"},
    ],
)
def test_every_line_that_is_installed_is_read(options: dict[str, str]) -> None:
    words = shlex.split(hook_command("PreCompact", options))
    assert hook_options(words[words.index("hook") :]) == ("PreCompact", options)


def test_the_installed_line_starts_the_client_alone() -> None:
    start = [sys.executable, "-I", "-S", client.__file__]
    assert shlex.split(hook_command("SessionEnd", {})) == [*start, "hook", "SessionEnd"]


@each(
    ("command", "is_ours"),
    [
        (hook_command("SessionEnd", {}), True),
        (hook_command("PreCompact", {}), False),
        ("/old/bin/python3.12 -I -S /old/vestig/surfaces/hooks/client.py hook SessionEnd", True),
        ("python -I -S vestig/surfaces/hooks/client.py hook SessionEnd --store /srv/s", True),
        ("/opt/bin/vestig hook SessionEnd", True),
        ("/opt/bin/python -m vestig hook SessionEnd", True),
        ("python -I -S /srv/other/client.py hook SessionEnd", False),
        ("python -S /old/vestig/surfaces/hooks/client.py hook SessionEnd", False),
        ("python -I -S /old/vestig/surfaces/hooks/client.py SessionEnd", False),
        ("python -I -S", False),
        ("perl -I -S /old/vestig/surfaces/hooks/client.py hook SessionEnd", False),
        (hook_command("SessionEnd", {}) + " && notify", False),
    ],
)
def test_a_line_of_vestig_is_known_wherever_it_is_installed(command: str, is_ours: bool) -> None:
    assert is_hook_command(command, "SessionEnd") is is_ours


@each(
    "words",
    [
        [],
        ["hook"],
        ["hook", "--help"],
        ["hook", "SessionEnd", "--json"],
        ["hook", "SessionEnd", "--store"],
        ["hook", "SessionEnd", "--store=/x"],
        ["hook", "SessionEnd", "--stroe", "/x"],
        ["hook", "SessionEnd", "--store", "/x", "--store", "/y"],
        ["hook", "--store", "/x", "SessionEnd"],
        ["install", "claude"],
    ],
)
def test_other_lines_are_left_to_the_command(words: list[str]) -> None:
    assert hook_options(words) is None


def test_both_ways_answer_alike(editor: Editor) -> None:
    told = {"cwd": str(editor.project), "prompt": QUESTION}
    config = ("--config", str(editor.config))
    direct = started(editor, told, "hook", "UserPromptSubmit", *config)
    by_command = editor.run(json.dumps(told), "hook", "UserPromptSubmit")
    assert (direct.returncode, direct.stderr) == (0, "")
    assert PORT in direct.stdout
    assert direct.stdout == by_command.stdout
    assert direct.stdout.count("\n") == 1


@pytest.mark.parametrize("told", ["{", "[]", '"x"', '{"prompt": 7}'])
def test_wrong_input_is_no_fault_of_the_editor(editor: Editor, told: str) -> None:
    ended = started(editor, told, "hook", "UserPromptSubmit", "--config", str(editor.config))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_it_loads_no_command_line(editor: Editor) -> None:
    told = {"cwd": str(editor.project), "prompt": QUESTION}
    words = ("hook", "UserPromptSubmit", "--config", str(editor.config))
    ended = started(editor, told, *words, flags=("-X", "importtime"))
    loaded = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert "vestig.surfaces.hooks.events" in loaded
    assert not loaded & {"click", "vestig.surfaces.cli.commands", "vestig.surfaces.operation"}
