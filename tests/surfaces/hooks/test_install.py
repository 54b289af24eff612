"""`vestig install`: hooks come into an editor beside those of others, and go again."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

import forked
import vestig
from vestig.surfaces.hooks import install
from vestig.surfaces.hooks.hooks_file import program
from vestig.surfaces.hooks.sessions import read_transcripts

FOREIGN = {
    "codex": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "notify vestig"}]}],\n'
    '\t"UserPromptSubmit": [{"matcher": "x", "hooks": [{"type": "command", "command": "log"}]}],'
    ' "SessionStart": []}, "other": 1.50}',
    "cursor": '{"version": 1, "hooks": {"stop": [{"command": "vestig hookless"}],\n'
    ' "sessionStart": [{"command": "./début.sh"}]}}\n\n',
}
EVENTS = {
    "codex": ["PreCompact", "PreToolUse-codex", "SessionStart", "UserPromptSubmit"],
    "cursor": [
        "beforeMCPExecution",
        "beforeReadFile",
        "beforeShellExecution",
        "beforeSubmitPrompt",
        "sessionStart",
    ],
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home of ours"


def call(
    home: Path, *words: str, claude: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE")}
    xdg = {f"XDG_{kind}_HOME": str(home / kind) for kind in ("DATA", "STATE", "CONFIG")}
    env = kept | xdg | {"HOME": str(home), "PATH": str(claude or home)} | variables
    return forked.run(["install", *words], env=env)


def hooks_file(home: Path, editor: str) -> Path:
    path = home / f".{editor}" / "hooks.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def commands(path: Path) -> list[str]:
    """The commands of Vestig in a file of hooks."""
    found = []
    for entries in json.loads(path.read_text())["hooks"].values():
        for entry in entries:
            found += [one["command"] for one in entry.get("hooks", [entry])]
    return [one for one in found if " hook " in one]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_without_an_editor_they_are_listed_and_nothing_changes(home: Path) -> None:
    home.mkdir()
    listed = call(home)
    assert listed.returncode == 0
    assert [line.split()[:2] for line in listed.stdout.splitlines()[:3]] == [
        ["claude", "absent"],
        ["codex", "absent"],
        ["cursor", "absent"],
    ]
    assert not files_of(home)


@pytest.mark.slow
@pytest.mark.parametrize("editor", ["codex", "cursor"])
@pytest.mark.parametrize("before", ["none", "foreign", "empty"])
def test_hooks_come_once_and_go_without_a_trace(home: Path, editor: str, before: str) -> None:
    path = hooks_file(home, editor)
    if before != "none":
        path.write_text(FOREIGN[editor] if before == "foreign" else "{}")
        path.chmod(0o640)
    was = files_of(home)
    assert call(home, editor, "--check").returncode == 1
    planned = call(home, editor, "--dry-run")
    assert "would add hooks" in planned.stdout
    assert files_of(home) == was
    assert call(home, editor).returncode == 0
    assert sorted(one.split(" hook ")[1] for one in commands(path)) == EVENTS[editor]
    for event, entries in json.loads(was.get(str(path), b"{}")).get("hooks", {}).items():
        kept = json.loads(path.read_text())["hooks"].get(event, [])
        assert kept[: len(entries)] == entries
    installed = files_of(home)
    again = call(home, editor)
    assert (again.returncode, "add hooks" in again.stdout) == (0, False)
    assert files_of(home) == installed
    checked = call(home, editor, "--check")
    assert (checked.returncode, "works: a memory was stored" in checked.stdout) == (0, True)
    assert call(home, editor, "--remove").returncode == 0
    assert files_of(path.parent) == {name: was[name] for name in was if name.startswith(str(path))}
    if before != "none":
        assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("editor", ["codex", "cursor"])
def test_another_store_takes_the_place_of_the_first(home: Path, editor: str) -> None:
    path = hooks_file(home, editor)
    path.write_text(FOREIGN[editor])
    call(home, editor)
    call(home, editor, "--store", str(home / "a store"))
    assert len(commands(path)) == len(EVENTS[editor])
    assert all(one.endswith(f"--store '{home}/a store'") for one in commands(path))
    call(home, editor, "--remove")
    assert path.read_text() == FOREIGN[editor]


def test_hooks_that_came_meanwhile_stay(home: Path) -> None:
    path = hooks_file(home, "codex")
    path.write_text(FOREIGN["codex"])
    call(home, "codex")
    edited = json.loads(path.read_text())
    edited["hooks"]["SessionStart"][0]["hooks"].append({"type": "command", "command": "later"})
    path.write_text(json.dumps(edited))
    call(home, "codex", "--remove")
    left = json.loads(path.read_text())
    assert commands(path) == []
    assert left["hooks"]["SessionStart"][0]["hooks"][0]["command"] == "later"
    assert left["hooks"]["Stop"] == json.loads(FOREIGN["codex"])["hooks"]["Stop"]


def test_what_variables_say_of_the_store_is_written_into_the_hooks(home: Path) -> None:
    path = hooks_file(home, "codex")
    ours = {"VESTIG_STORE": str(home / "work"), "VESTIG_NAMESPACE": "team"}
    made = call(home, "codex", **ours, VESTIG_RECALL__SILENCE="0.3")
    wanted = f"--store '{home}/work' --namespace team"
    assert all(one.endswith(wanted) for one in commands(path))
    assert "VESTIG_RECALL__SILENCE only where the editor has" in made.stdout
    assert call(home, "codex", **ours).stdout.split()[1] == "current"
    call(home, "codex", "--store", str(home / "play"), **ours)
    assert all(f"--store '{home}/play'" in one for one in commands(path))


@pytest.mark.parametrize("editor", ["claude", "codex", "cursor"])
def test_another_store_than_before_is_told(home: Path, editor: str) -> None:
    work, default = f"the store {home}/work, by `--store '{home}/work'", f"{home}/DATA/vestig"
    ours = {"VESTIG_STORE": str(home / "work")}
    assert "The hooks had" not in call(home, editor, **ours).stdout
    assert "The hooks had" not in call(home, editor, **ours).stdout
    for words in (["--dry-run"], []):
        said = call(home, editor, *words).stdout
        assert f"The hooks had {work}`. Installed now: the store {default}, by no options" in said
    said = call(home, editor, **ours, VESTIG_NAMESPACE="team").stdout
    assert f"The hooks had the store {default}, by no options." in said
    assert f"Installed now: {work} --namespace team`." in said


@pytest.mark.parametrize("editor", ["claude", "codex"])
@pytest.mark.parametrize("said", ["variable", "option", "file"])
def test_a_store_in_memory_is_none_for_an_editor(home: Path, editor: str, said: str) -> None:
    config = home / "vestig.yaml"
    home.mkdir()
    config.write_text("store: {path: ':memory:'}")
    words = {"option": ["--store", ":memory:"], "file": ["--config", str(config)]}.get(said, [])
    variables = {"VESTIG_STORE": ":memory:"} if said == "variable" else {}
    for word in ([], ["--check"]):
        refused = call(home, editor, *words, *word, **variables)
        assert refused.returncode == 2
        assert "give --store PATH" in refused.stderr
        assert list(files_of(home)) == [str(config)]
    assert call(home, editor, *words, "--remove", **variables).returncode == 0
    if said == "variable":
        assert call(home, editor, "--store", str(home / "s"), **variables).returncode == 0


def test_the_first_prompt_finds_the_weights_packed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    called = call(home, "codex", "--dry-run", XDG_CACHE_HOME=str(cache))
    assert (called.returncode, cache.exists()) == (0, False)
    assert call(home, "codex", XDG_CACHE_HOME=str(cache)).returncode == 0
    packed = {path.name for path in cache.rglob("*.weights")}
    assert len(packed) == 5
    # and where they went meanwhile, a session packs them in the background
    again = tmp_path / "again"
    monkeypatch.setenv("XDG_CACHE_HOME", str(again))
    asked = {
        "options": {}, "event": "SessionStart", "session": None, "transcript": None, "scope": "a",
        "folder": str(home), "grown": True,
    }  # fmt: skip
    read_transcripts(asked)
    assert {path.name for path in again.rglob("*.weights")} == packed


def test_no_variable_with_a_password_is_written(home: Path) -> None:
    path = hooks_file(home, "codex")
    made = call(
        home, "codex", VESTIG_STORE="postgresql://ada:apricot@db/v", VESTIG_STORE__TENANT="a"
    )
    assert "apricot" not in path.read_text() + made.stdout
    assert "VESTIG_STORE, VESTIG_STORE__TENANT" in made.stdout


def test_a_configuration_that_is_not_there_is_not_written_into_hooks(home: Path) -> None:
    path = hooks_file(home, "codex")
    refused = call(home, "codex", "--config", str(home / "nope.yaml"))
    assert (refused.returncode, "nope.yaml" in refused.stderr) == (2, True)
    assert not path.exists()
    call(home, "codex")
    removed = call(home, "codex", "--remove", "--config", str(home / "nope.yaml"))
    assert (removed.returncode, path.exists()) == (0, False)


def test_only_a_log_that_is_there_stays(home: Path) -> None:
    call(home, "cursor")
    assert call(home, "cursor", "--remove").stdout.endswith("  The memories stay.\n")
    call(home, "cursor")
    log = home / "STATE" / "vestig" / "hooks.log"
    log.parent.mkdir(parents=True)
    log.write_text("{}\n")
    assert f"the log of the hooks, {log}." in call(home, "cursor", "--remove").stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "/opt/vestig hook {} > /tmp/log",
        "notify -m vestig hook {}",
        "echo vestig hook {}",
        "/opt/vestig hook {} --verbose",
        "vestig hook sessionEnd; echo {}",
    ],
)
def test_a_command_that_runs_no_hook_for_the_editor_is_its_owners(home: Path, command: str) -> None:
    path = hooks_file(home, "cursor")
    mine = {"command": command.format("sessionStart"), "timeout": 9}
    path.write_text(json.dumps({"version": 1, "hooks": {"sessionStart": [mine]}}))
    was = path.read_bytes()
    assert call(home, "cursor").returncode == 0
    assert json.loads(path.read_text())["hooks"]["sessionStart"][0] == mine
    assert len(commands(path)) == 1 + len(EVENTS["cursor"])
    assert call(home, "cursor", "--remove").returncode == 0
    assert path.read_bytes() == was


def hook_of(command: str, **more: object) -> dict[str, object]:
    return {"type": "command", "command": command, "timeout": 5, **more}


ANOTHER = "/opt/vestig hook SessionStart --store /mine"
OWN = {
    "a bare command": {"hooks": [hook_of("vestig hook SessionStart")]},
    "another timeout": {"hooks": [hook_of(ANOTHER, timeout=60)]},
    "a note beside": {"hooks": [hook_of(ANOTHER, note="mine")]},
    "a matcher": {"matcher": "startup", "hooks": [hook_of(ANOTHER)]},
    "a folder of here": {"hooks": [hook_of("/opt/vestig hook SessionStart --store ./mine")]},
    "quotes": {"hooks": [hook_of("/opt/vestig hook 'SessionStart'")]},
    **{
        one: {"hooks": [hook_of(one)]}
        for one in (
            "/opt/vestig hook SessionStart --store /mine && notify",
            "/opt/vestig hook SessionStart 2>/dev/null | tee /tmp/log",
            "/opt/vestig hook SessionStart; true",
            "VESTIG_STORE=$HOME/mine vestig hook SessionStart",
            "vestig --store=/mine hook SessionStart",
            "vestig hook --store $HOME/mine SessionStart",
            "vestig hook --store /mine",
            "cd / && timeout 5 vestig hook SessionStart",
            "sh -c 'exec vestig hook SessionStart'",
            "uvx vestig hook SessionStart",
            "uv run --with vestig python -m vestig hook SessionStart",
        )
    },
    "one of two": {"hooks": [hook_of("log"), hook_of("vestig hook SessionStart")]},
}


@pytest.mark.parametrize("name", OWN)
def test_a_hook_that_vestig_did_not_write_stays_and_gets_no_second(home: Path, name: str) -> None:
    path = hooks_file(home, "codex")
    path.write_text(json.dumps({"hooks": {"SessionStart": [OWN[name]]}}))
    was = files_of(path.parent)
    said = f"Hooks of your own in {path} run Vestig at SessionStart: they stay"
    for _ in range(2):
        assert said in call(home, "codex").stdout
        assert json.loads(path.read_text())["hooks"]["SessionStart"] == [OWN[name]]
        assert len(commands(path)) == len(EVENTS["codex"])
    assert call(home, "codex").stdout.split()[1] == "current"
    assert said in call(home, "codex", "--remove").stdout
    assert files_of(path.parent) == was


def test_own_hooks_alone_are_none_of_vestigs(home: Path) -> None:
    path = hooks_file(home, "cursor")
    own = {event: [{"command": f"vestig hook {event}"}] for event in EVENTS["cursor"]}
    path.write_text(json.dumps({"hooks": own}))
    was = files_of(path.parent)
    for words in ([], ["--remove"]):
        said = call(home, "cursor", *words).stdout
        assert said.split()[:2] == ["cursor", "absent"]
        assert "added hooks" not in said
        assert "took" not in said
        assert files_of(path.parent) == was


@pytest.mark.parametrize(
    "command",
    [ANOTHER, "/old/bin/python3.12 -m vestig hook SessionStart --namespace 'my team'"],
)
def test_what_was_there_is_copied_before_a_command_is_replaced(home: Path, command: str) -> None:
    path = hooks_file(home, "codex")
    path.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [hook_of(command)]}]}}))
    was = path.read_bytes()
    assert "hooks.json.before-vestig" in call(home, "codex").stdout
    assert (path.parent / "hooks.json.before-vestig").read_bytes() == was
    assert command not in path.read_text()
    assert call(home, "codex", "--remove").returncode == 0
    assert files_of(path.parent) == {}


@pytest.mark.parametrize("word", ["", "--remove", "--check"])
def test_no_pipe_is_opened(home: Path, word: str) -> None:
    path = hooks_file(home, "codex")
    os.mkfifo(path)
    refused = call(home, "codex", *[one for one in [word] if one])
    assert refused.returncode == 2
    assert f"{path}: " in refused.stderr
    assert "got a folder, pipe or device; nothing was changed" in refused.stderr


COPY = "hooks.json.before-vestig"
TWO_LINES = '{\r\n\t"hooks": {},\r\n  "n": 12345678901234567890, "u": "\\u00fc ü", "z": -0.0}'
ODD = {
    **{f"{editor} foreign": (editor, text) for editor, text in FOREIGN.items()},
    "one line": ("codex", '{ "hooks" : { "Stop": [ 1.50 ] } }'),
    "no hooks": ("codex", '{"timeout": 1e3,"ratio": 1.10}'),
    "no version": ("cursor", '{"hooks": {"stop": [{"command": "mine"}]}}\n'),
    "breaks of Windows": ("codex", TWO_LINES),
    "space": ("cursor", '\n{ "version": 1, "hooks": { "sessionStart": [ ],\n    "stop": [] }\n}\n'),
    "null": ("codex", '{"hooks": {"UserPromptSubmit": [null, 3, {"hooks": null}], "X": [null]}}'),
    "nothing": ("codex", "{}"),
}


@pytest.mark.parametrize("name", ODD)
def test_every_byte_of_a_file_comes_back(home: Path, name: str) -> None:
    editor, text = ODD[name]
    path = hooks_file(home, editor)
    path.write_bytes(text.encode())
    assert call(home, editor).returncode == 0
    assert path.read_bytes().count(b" hook ") == len(EVENTS[editor])
    # as an earlier version wrote it
    client = f"-I -S {Path(install.__file__).with_name('client.py')}"
    path.write_bytes(path.read_bytes().replace(client.encode(), b"-m vestig"))
    assert call(home, editor, "--dry-run").stdout.split()[1] == "outdated"
    assert call(home, editor).returncode == 0
    assert path.read_bytes().count(b" hook ") == len(EVENTS[editor])
    assert call(home, editor, "--remove").returncode == 0
    assert path.read_bytes() == text.encode()
    assert os.listdir(path.parent) == ["hooks.json"]


@pytest.mark.parametrize("name", ODD)
def test_what_was_edited_meanwhile_stays_as_it_was_written(home: Path, name: str) -> None:
    """Without the copy too: the hooks are cut out of the text."""
    editor, text = ODD[name]
    path = hooks_file(home, editor)
    path.write_bytes(text.encode())
    call(home, editor)
    path.write_bytes(path.read_bytes().replace(b"{", b'{ "mine": 2.50,', 1))
    said = call(home, editor, "--remove").stdout
    left = path.read_bytes().decode()
    assert '{ "mine": 2.50' in left
    assert " hook " not in left
    if name != "nothing":  # there the comma goes with the hooks
        assert left.replace(' "mine": 2.50,', "", 1) == text
    assert f"{path.with_name(COPY)} stays: " in said
    assert path.with_name(COPY).read_bytes() == text.encode()


@pytest.mark.parametrize("version", ["", ' "version": 1,'])
def test_edits_between_rounds_leave_no_version_and_one_copy_each(home: Path, version: str) -> None:
    """`version`: what the file says of its own, which stays."""
    path = hooks_file(home, "cursor")
    path.write_text(f'{{"a": 0,{version} "hooks": {{}}}}')
    seen = []
    for number in range(3):
        seen.append(path.read_text())
        for _ in range(2):
            call(home, "cursor")
        path.write_text(path.read_text().replace(f'"a": {number}', f'"a": {number + 1}'))
        call(home, "cursor", "--remove")
        assert path.read_text() == f'{{"a": {number + 1},{version} "hooks": {{}}}}'
    # nothing was edited: no copy is added
    for words in ([], ["--remove"]):
        call(home, "cursor", *words)
    assert sorted(one.read_text() for one in path.parent.glob(f"{COPY}*")) == seen


def test_without_a_copy_a_version_stays(home: Path) -> None:
    """It may be what the editor asks for."""
    path = hooks_file(home, "cursor")
    path.write_text('{"hooks": {"stop": [{"command": "mine"}]}}')
    call(home, "cursor")
    path.with_name(COPY).unlink()
    call(home, "cursor", "--remove")
    assert json.loads(path.read_text())["version"] == 1


def test_a_file_put_in_the_place_of_the_first_is_copied_too(home: Path) -> None:
    path = hooks_file(home, "codex")
    path.write_text(FOREIGN["codex"])
    call(home, "codex")
    path.write_text('{ "hooks": { } }')
    second = path.with_name(f"{COPY}-2")
    assert f"would copy what was there to {second}" in call(home, "codex", "--dry-run").stdout
    assert f"copied what was there to {second}" in call(home, "codex").stdout
    planned = call(home, "codex", "--remove", "--dry-run").stdout
    removed = call(home, "codex", "--remove").stdout
    assert planned.count("would take") == removed.count("took") == 1
    for said in (planned, removed):
        assert f"{path.with_name(COPY)} stays: " in said
        assert f"{second} stays" not in said
    assert path.read_text() == '{ "hooks": { } }'
    assert path.with_name(COPY).read_text() == FOREIGN["codex"]
    assert not second.exists()
    assert f"{COPY} stays: " in call(home, "codex", "--remove").stdout


@pytest.mark.parametrize("data", [b"my notes", b'{"precious": 1}', b"\xff", None])
def test_a_copy_that_vestig_did_not_make_is_left(home: Path, data: bytes | None) -> None:
    """`None`: a pipe, which is not opened."""
    path = hooks_file(home, "codex")
    path.write_text(FOREIGN["codex"])
    copy = path.with_name(COPY)
    if data is None:
        os.mkfifo(copy)
    else:
        copy.write_bytes(data)
    assert f"{COPY}-2" in call(home, "codex").stdout
    removed = call(home, "codex", "--remove")
    assert (removed.returncode, f"{copy} stays: " in removed.stdout) == (0, True)
    assert path.read_text() == FOREIGN["codex"]
    assert sorted(os.listdir(path.parent)) == ["hooks.json", COPY]
    assert data is None or copy.read_bytes() == data


def test_a_copy_that_is_a_link_is_not_written_through(home: Path) -> None:
    path = hooks_file(home, "codex")
    path.write_text(FOREIGN["codex"])
    path.with_name(COPY).symlink_to(home / "nowhere")
    call(home, "codex")
    call(home, "codex", "--remove")
    assert path.with_name(COPY).is_symlink()
    assert not (home / "nowhere").exists()
    assert path.read_text() == FOREIGN["codex"]


@pytest.mark.parametrize("links", [1, 2])
def test_hooks_behind_a_link_to_nothing_go_and_the_link_stays(home: Path, links: int) -> None:
    path = hooks_file(home, "codex")
    target = home / "dotfiles" / "hooks.json"
    end = home / "link"
    if links == 2:
        end.symlink_to(target)
    path.symlink_to(end if links == 2 else target)
    assert call(home, "codex").returncode == 0
    assert commands(target)
    assert f"removed {target}" in call(home, "codex", "--remove").stdout
    assert path.is_symlink()
    assert not target.exists()


@pytest.mark.parametrize("word", ["", "--remove"])
def test_a_read_only_file_is_not_replaced(home: Path, word: str) -> None:
    path = hooks_file(home, "codex")
    path.write_text(FOREIGN["codex"])
    if word:
        call(home, "codex")
    path.chmod(0o444)
    was = files_of(path.parent)
    refused = call(home, "codex", *filter(None, [word]))
    assert refused.returncode == 2
    assert f"{path}: expected a file that may be written" in refused.stderr
    assert files_of(path.parent) == was


def test_a_link_stays_a_link(home: Path) -> None:
    path = hooks_file(home, "cursor")
    target = home / "dotfiles.json"
    target.write_text(FOREIGN["cursor"])
    path.symlink_to(target)
    call(home, "cursor")
    assert path.is_symlink()
    assert commands(target)
    call(home, "cursor", "--remove")
    assert target.read_text() == FOREIGN["cursor"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"hooks": []}',
        b'{"hooks": {"Stop": {}}}',
        b'{"hooks": {}, "hooks": {}}',
        b'{"hooks": {}} // mine',
    ],
)
@pytest.mark.parametrize("word", ["", "--remove", "--check"])
def test_a_malformed_file_is_named_and_left(home: Path, data: bytes, word: str) -> None:
    path = hooks_file(home, "codex")
    path.write_bytes(data)
    was = files_of(home)
    refused = call(home, "codex", *[one for one in [word] if one])
    assert refused.returncode == 2
    assert str(path) in refused.stderr
    assert "nothing was changed" in refused.stderr
    assert files_of(home) == was


@pytest.mark.parametrize(
    "words",
    [("emacs",), ("--remove",), ("codex", "--remove", "--check"), ("cursor", "--history")],
)
def test_wrong_arguments_are_refused(home: Path, words: tuple[str, ...]) -> None:
    refused = call(home, *words)
    assert refused.returncode == 2
    assert "Error" in refused.stderr


def test_without_claude_its_commands_are_printed(home: Path) -> None:
    made = call(home, "claude", "--store", str(home / "memories"))
    assert made.returncode == 0
    plugin = home / "DATA" / "vestig-claude-plugin"
    assert f"claude plugin marketplace add '{plugin}'" in made.stdout
    assert "claude plugin install vestig@vestig" in made.stdout
    hooks = json.loads((plugin / "vestig" / "hooks" / "hooks.json").read_text())["hooks"]
    assert sorted(hooks) == [
        "PreCompact", "PreToolUse", "SessionEnd", "SessionStart", "UserPromptSubmit",
    ]  # fmt: skip
    for event, (entry,) in hooks.items():
        (hook,) = entry["hooks"]
        assert os.path.isabs(hook["command"].split()[0])
        assert hook["command"].endswith(f" hook {event} --store '{home}/memories'")
    names = {path.name for path in plugin.rglob("*") if path.is_file()}
    assert {"plugin.json", "marketplace.json", "SKILL.md", "README.md", "icon.svg"} <= names
    assert call(home, "claude", "--remove").returncode == 0
    assert not plugin.exists()


def test_a_text_that_was_changed_is_named_where_it_is_written_over(home: Path) -> None:
    assert "over another text" not in call(home, "claude").stdout
    skill = home / "DATA" / "vestig-claude-plugin" / "vestig" / "skills" / "memory" / "SKILL.md"
    was = skill.read_text()
    skill.write_text(f"{was}My own words.\n")
    said = "vestig/skills/memory/SKILL.md over another text"
    assert f"would write {said}" in call(home, "claude", "--dry-run").stdout
    assert f"wrote {said}" in call(home, "claude").stdout
    assert skill.read_text() == was


def test_a_folder_that_is_read_only_is_refused_before_anything_is_promised(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, allowed = hooks_file(home, "codex"), os.access
    monkeypatch.setenv("CODEX_HOME", str(path.parent))
    monkeypatch.setattr(os, "access", lambda one, mode: one != path.parent and allowed(one, mode))
    for dry_run in (True, False):
        with pytest.raises(vestig.ConfigError, match="is read-only"):
            install.install("codex", {"store": str(home / "s")}, dry_run=dry_run)
    assert not files_of(path.parent)


def test_commands_of_the_skill_stay_in_the_project(home: Path) -> None:
    """What is kept by them in one project is found there, and in no other one."""
    config = home / "vestig.yaml"
    home.mkdir()
    config.write_text(f"embedding: {{provider: hashing, dimension: 64}}\nstore: {{path: {home}/s}}")
    assert call(home, "claude", "--config", str(config)).returncode == 0
    skill = home / "DATA" / "vestig-claude-plugin" / "vestig" / "skills" / "memory" / "SKILL.md"
    start = shlex.join(program())
    spans = [one for one in skill.read_text().split("`") if one.startswith(start)]
    recalls, (add,) = ([one for one in spans if f" {verb} " in one] for verb in ("recall", "add"))
    kept = {"api": "The deploy bot of the api uses Redis.", "web": "The web shop sells kites."}
    everywhere = "The user speaks Danish."

    def run(span: str, project: str, text: str = "what does it use?") -> str:
        words = shlex.split(span.removeprefix(start))
        words = [text if one in ("QUESTION", "ONE SELF-CONTAINED FACT") else one for one in words]
        (home / project).mkdir(exist_ok=True)
        env = os.environ | {"HOME": str(home), "CLAUDE_PROJECT_DIR": str(home / project)}
        done = forked.run(words, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for project, text in kept.items():
        run(add, project, text)
    run(add.removesuffix(" --scope auto"), "api", everywhere)
    assert len(recalls) == 2
    for span in recalls:
        for project, own in kept.items():
            shown = run(f"{span} --all", project)
            found = [one for one in (*kept.values(), everywhere) if one in shown]
            assert found == [own, everywhere]


def test_history_reads_each_session_in_the_scope_of_its_project(home: Path) -> None:
    config = home / "vestig.yaml"
    home.mkdir()
    config.write_text(f"embedding: {{provider: hashing, dimension: 64}}\nstore: {{path: {home}/s}}")
    for number, project in enumerate(("rocket", "submarine")):
        line = {
            "type": "user",
            "uuid": f"u{number}",
            "sessionId": f"s{number}",
            "timestamp": "2026-03-02T10:00:00Z",
            "cwd": str(home / project),
            "message": {"role": "user", "content": f"The {project} is painted red."},
        }
        folder = home / ".claude" / "projects" / f"-{project}"
        folder.mkdir(parents=True)
        (folder / f"s{number}.jsonl").write_text(json.dumps(line) + "\n")
    read = call(home, "claude", "--history", "--config", str(config))
    assert "read 2 transcripts: 2 turns are new" in read.stdout, read.stderr
    import vestig

    with vestig.open(config=config) as store:
        scopes = {one.content: str(one.scope) for one in store.list()}
    assert scopes["The rocket is painted red."].startswith("project:rocket-")
    assert scopes["The submarine is painted red."].startswith("project:submarine-")
    again = call(home, "claude", "--history", "--config", str(config))
    assert "0 turns are new" in again.stdout


@pytest.mark.slow
@pytest.mark.parametrize("one_folder", [False, True])
def test_the_first_memory_comes_after_the_plugin(home: Path, one_folder: bool) -> None:
    """`one_folder`: for data, state and configuration, as on some platforms."""
    home.mkdir()
    names = ("ALL",) * 3 if one_folder else ("DATA", "STATE", "CONFIG")
    places = {
        f"XDG_{kind}_HOME": str(home / name)
        for kind, name in zip(("DATA", "STATE", "CONFIG"), names, strict=True)
    }
    config = Path(places["XDG_CONFIG_HOME"]) / "vestig" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("embedding: {provider: hashing, dimension: 64}\n")

    def run(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        env = os.environ | places | {"HOME": str(home), "PATH": str(home)}
        return forked.run(words, env=env, input=text)

    assert run("install", "claude").returncode == 0
    assert run("hook", "UserPromptSubmit", text="no event").returncode == 0
    assert run("add", "Elsewhere is another store.", "--store", str(home / "other")).returncode == 0
    added = run("add", "The blue crane lifts nine tons.")
    assert (added.returncode, added.stderr) == (0, "")
    assert "nine tons" in run("list").stdout
    assert run("destroy", str(home / places["XDG_DATA_HOME"] / "vestig"), "--yes").returncode == 0
    assert run("add", "The red crane lifts ten tons.").returncode == 0
    checked = run("install", "claude", "--check")
    assert (checked.returncode, "failed: " in checked.stdout) == (0, False)
    assert "Vestig checks its installation" not in run("list").stdout


def test_a_check_says_what_fails(home: Path) -> None:
    folder = home / "store"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("of others")
    assert call(home, "codex", "--store", str(folder)).returncode == 0
    checked = call(home, "codex", "--check", "--store", str(folder))
    assert checked.returncode == 1
    assert "failed: store: ConflictError" in checked.stdout
    removed = call(home, "codex", "--remove", "--store", str(folder))
    assert "The memories stay" in removed.stdout


@pytest.mark.parametrize("is_loop", [False, True])
def test_one_unreadable_file_hides_no_other_editor(home: Path, is_loop: bool) -> None:
    """`is_loop`: a link to itself, which the system refuses to read."""
    assert call(home, "cursor").returncode == 0
    hooks = home / ".codex" / "hooks.json"
    hooks.parent.mkdir(parents=True, exist_ok=True)
    if is_loop:
        hooks.symlink_to(hooks)
    else:
        hooks.write_text("// mine\n{}")
    listed = call(home)
    assert listed.returncode == 1
    stands = {line.split()[0]: line.split()[1] for line in listed.stdout.splitlines()
              if line and not line.startswith((" ", "vestig"))}  # fmt: skip
    assert stands == {"claude": "absent", "codex": "unreadable", "cursor": "current"}
    assert "failed: " in listed.stdout
    assert is_loop or hooks.read_text() == "// mine\n{}"
    refused = call(home, "codex")
    assert (refused.returncode, f"{hooks}: expected" in refused.stderr) == (2, True)


def test_what_was_done_and_what_would_be_read_differently(home: Path) -> None:
    assert "  would add hooks to " in call(home, "cursor", "--dry-run").stdout
    assert "  added hooks to " in call(home, "cursor").stdout
    assert "  would take hooks out of " in call(home, "cursor", "--remove", "--dry-run").stdout
    assert "  took hooks out of " in call(home, "cursor", "--remove").stdout


def test_a_plugin_that_claude_does_not_know_is_only_written(home: Path) -> None:
    made = call(home, "claude").stdout
    assert made.split()[:2] == ["claude", "written"]
    assert "  wrote " in made
    listed = call(home).stdout
    assert listed.split()[:2] == ["claude", "written"]
    assert "claude is not in PATH, so it does not know the plugin" in listed
    again = call(home, "claude").stdout
    assert "  wrote " not in again


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "find_spec", lambda _: None)
    (note,) = install._without_tools()
    assert "the extra mcp is not installed" in note
    assert "[mcp]" in note


def plugin_of(home: Path) -> Path:
    return home / "DATA" / "vestig-claude-plugin"


def test_the_plugin_goes_and_files_of_others_stay(home: Path) -> None:
    notes = plugin_of(home) / "vestig" / "my-notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    assert call(home, "claude").returncode == 0
    for words in (["--remove", "--dry-run"], ["--remove"]):
        said = call(home, "claude", *words).stdout
        assert f"{plugin_of(home)} stays: Vestig did not make vestig/my-notes.txt." in said
    assert list(files_of(plugin_of(home))) == [str(notes)]
    assert call(home, "claude", "--remove").stdout.split()[:2] == ["claude", "absent"]


def test_a_plugin_behind_a_link_goes_and_the_link_stays(home: Path) -> None:
    target = home / "elsewhere"
    target.mkdir(parents=True)
    plugin_of(home).parent.mkdir(parents=True)
    plugin_of(home).symlink_to(target)
    assert call(home, "claude").returncode == 0
    assert (
        f"{plugin_of(home)} stays: Vestig did not make the link"
        in call(home, "claude", "--remove").stdout
    )
    assert plugin_of(home).is_symlink()
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_a_plugin_writes_over_nothing_of_others(home: Path, kind: str) -> None:
    folder = plugin_of(home)
    folder.parent.mkdir(parents=True)
    if kind == "file":
        folder.write_text("mine")
    elif kind == "link":
        folder.symlink_to(home / "nowhere")
    else:
        (folder / "vestig").mkdir(parents=True)
        (folder / "vestig" / "README.md").write_text("mine")
    was = files_of(home)
    for word in ([], ["--remove"]):
        refused = call(home, "claude", *word)
        assert "Internal error" not in refused.stderr
        assert files_of(home) == was
    assert f"{folder}: expected a folder for Vestig's plugin" in call(home, "claude").stderr


def test_a_removal_runs_what_is_there_and_tells_of_no_more(home: Path, tmp_path: Path) -> None:
    call(home, "claude")
    (folder,) = (home / "DATA").glob("vestig-*")
    program, log = tmp_path / "bin" / "claude", tmp_path / "log"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {log}\necho "[]"\n')
    program.chmod(0o755)
    removed = call(home, "claude", "--remove", claude=program.parent).stdout
    assert not folder.exists()
    assert set(log.read_text().split("\n")) == {
        "plugin list --json", "plugin marketplace list --json", "",
    }  # fmt: skip
    assert "ran claude" not in removed
