"""What somebody types first works, and help says how to go on."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from command_answers import FACTS, Vestig

import guessed_lines
import guesses
from command_lines import Answer
from tables import each
from vestig.calls.argument import Choice
from vestig.surfaces.cli import cli, other_words, run
from vestig.surfaces.cli.option_words import command_words
from vestig.surfaces.cli.other_words import commands
from vestig.surfaces.operation import operations
from vestig.surfaces.outlines import GROUPS, OUTLINES

_ID = re.compile(r"(?:mem|evt|source|ent)_[0-9a-f-]{36}|\d{4}-\d\d-\d\d[T ][\d:.]+(?: UTC|Z)")


def alike(text: str) -> str:
    """Without ids and times, which differ from store to store."""
    return _ID.sub("…", text)


def test_short_forms_print_and_exit_as_the_long_ones(vestig: Vestig, tmp_path: Path) -> None:
    stores = [("--store", str(tmp_path / name)) for name in ("long", "short")]

    def both(short: str, *words: str) -> str:
        long = vestig("memory", short, *words, *stores[0])
        answer = vestig(short, *words, *stores[1])
        assert answer.code == long.code
        assert alike(answer.out) == alike(long.out)
        assert alike(answer.err) == alike(long.err)
        return answer.out

    assert both("add", FACTS[0], "--tags", "infra").startswith("Memory stored: mem_")
    assert "exact duplicate" in both("add", FACTS[0])
    both("add", "ok")
    assert FACTS[0] in both("recall", "which port does staging use?")
    assert FACTS[0] in both("recall", "which port?", "--format", "compact", "--tags", "INFRA")
    both("recall", " ")
    assert FACTS[0] in both("list")
    both("list", "--limit", "0")
    both("show", "mem_00000000")
    both("forget", "--tags", "infra", "--dry-run")
    both("forget")
    assert "1 memory forgotten" in both("forget", "--tags", "infra", "--yes")
    assert both("list") == "No memories found.\n"


def test_show_by_a_short_id(vestig: Vestig, ids: list[str]) -> None:
    for id in (ids[0], ids[0][:12], ids[0][4:12]):
        assert FACTS[0] in vestig("show", id).out
    assert vestig("forget", ids[1][4:12], "--yes").code == 0
    assert vestig("count").out == f"{len(ids) - 1}\n"


def test_count_prints_the_number_of_a_listing(vestig: Vestig, ids: list[str]) -> None:
    vestig("memory", "update", ids[0], "--tags", "infra")
    vestig("memory", "archive", ids[1])
    assert vestig("count").out == "2\n"
    assert vestig("count", "--tags", "INFRA").out == "1\n"
    assert vestig("count", "--statuses", "active,archived").out == "3\n"
    assert vestig("count", "--exclude-tags", "infra").out == "1\n"
    document = vestig("count", "--include-archived", "--json").document
    assert document == {"schema": "vestig/count/1", "count": 3}
    assert vestig("count", "--min-similarity", "0.5").code == 2


def test_stats_prints_what_python_has(vestig: Vestig, ids: list[str]) -> None:
    document = vestig("stats", "--json").document
    assert document["schema"] == "vestig/stats/1"
    assert (document["memories"], document["statuses"]["ACTIVE"]) == (len(ids), len(ids))
    out = vestig("stats").out
    for name in document.keys() - {"schema", "jobs", "edges"}:
        assert name.replace("_", " ") in out
    assert re.search(r"^memories +3$", out, re.MULTILINE)
    assert re.search(r"^statuses +ACTIVE 3", out, re.MULTILINE)


def test_help_names_the_store_completion_and_three_examples(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert run(["--help"]) == 0
    text = capfd.readouterr().out
    for word in ("VESTIG_STORE", "store.path", "_VESTIG_COMPLETE"):
        assert word in text
    listed = text.partition("Commands:")[2].split("\n")[1:]
    first = [line.split()[0] for line in listed[:8]]
    assert first == ["add", "recall", "show", "list", "count", "supersede", "forget", "stats"]
    head, _, examples = text.partition("Examples:\n")
    assert head
    lines = [line.strip() for line in examples.strip().splitlines()]
    assert len(lines) == 3
    config = tmp_path / "vestig.yaml"
    config.write_text("embedding: {provider: hashing, dimension: 64}\nstore: {path: store}\n")
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "vestig"
        assert run([*words, "--config", str(config)]) == 0
        assert capfd.readouterr().out
    assert "Deploys run on Fridays" in run_text(capfd, words, config)


def run_text(capfd: pytest.CaptureFixture[str], words: list[str], config: Path) -> str:
    assert run([*words, "--config", str(config)]) == 0
    return capfd.readouterr().out


def test_graph_search_says_when_to_use_recall(capfd: pytest.CaptureFixture[str]) -> None:
    run(["graph", "search", "--help"])
    text = " ".join(capfd.readouterr().out.split())
    assert "Explore memories and entities by meaning or by links" in text
    assert "For the memories that answer a question use `search` or `recall`" in text


def test_a_short_form_is_named_by_the_long_one(capfd: pytest.CaptureFixture[str]) -> None:
    for operation in operations():
        if operation.short:
            for words in (operation.name.split(), [operation.short]):
                run([*words, "--help"])
                text = " ".join(capfd.readouterr().out.split())
                assert f"`vestig {operation.short}` and `vestig {operation.name}`" in text


@pytest.mark.parametrize(
    ("typed", "at", "wanted"),
    [
        ("vestig rec", 1, "plain,recall"),
        ("vestig memory sup", 2, "plain,supersede"),
        ("vestig list --exclude-", 2, "plain,--exclude-session-ids"),
        ("vestig add x --role ", 4, "plain,assistant"),
    ],
)
def test_the_shell_completes_commands_options_and_words(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    at: int,
    wanted: str,
) -> None:
    monkeypatch.setenv("_VESTIG_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(at))
    with pytest.raises(SystemExit):
        run([])
    assert wanted in capfd.readouterr().out.splitlines()


def test_completion_is_switched_on_by_what_help_says(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for shell in ("zsh", "fish"):
        monkeypatch.setenv("_VESTIG_COMPLETE", f"{shell}_source")
        with pytest.raises(SystemExit):
            run([])
        assert "_VESTIG_COMPLETE" in capfd.readouterr().out


def test_what_commit_takes_can_be_typed(vestig: Vestig, ids: list[str]) -> None:
    """Every flag of `add` reaches the memory."""
    words = (
        *("--author", "Omar", "--role", "user", "--session-id", "standup", "--sequence", "3"),
        *("--source", "notes", "--actor", "bot", "--scope", "lab", "--agent", "ci"),
        *("--artifact-ref", "msg-9", "--origin-type", "note", "--tags", "infra,harbour"),
        *("--metadata", "level=3", "--metadata", "place=quay", "--title", "Harbour"),
        *("--t-valid", "2026-01-05", "--t-invalid", "2026-09-01", "--t-ref", "2026-01-06"),
        *("--stability", "static", "--retention", "decision", "--retention-until", "2027-01-01"),
        *("--entity", "PERSON:Ada", "--entity", "Grace Hopper", "--keyword", "crane", "--pin"),
        *(
            "--trigger",
            "learning-success",
            "--question",
            "who oils it?",
            "--supersedes",
            ids[0][4:12],
        ),
        *("--on-near-dup", "insert", "--strict", "--no-enrich"),
    )
    added = vestig("add", "The crane of the harbour is oiled by hand", *words, "--json")
    assert added.code == 0, added.err
    assert added.document["superseded"] == [ids[0]]
    shown = vestig("show", added.document["memory_id"], "--expand", "1", "--json").document
    wanted = {
        "author": "Omar",
        "role": "user",
        "session_id": "standup",
        "sequence": 3,
        "scope": "lab",
        "title": "Harbour",
        "t_valid": "2026-01-05T00:00:00.000000Z",
        "t_invalid": "2026-09-01T00:00:00.000000Z",
        "retention_policy": "decision",
        "retention_until": "2027-01-01T00:00:00.000000Z",
        "temporal_stability": "static",
        "trigger": "learning-success",
        "pinned": True,
    }
    assert {name: shown[name] for name in wanted} == wanted
    metadata = {name: shown["metadata"][name] for name in ("tags", "level", "place")}
    assert metadata == {"tags": ["infra", "harbour"], "level": 3, "place": "quay"}
    assert "crane" in shown["keywords"]
    assert shown["events"][0]["actor"] == "bot"
    assert shown["events"][0]["source"] == "notes"
    assert {"Ada", "Grace Hopper"} <= {one["name"] for one in shown["mentions"]}
    assert vestig("add", "ok", "--strict").code == 1


def test_without_a_store_there_is_nothing_to_count(vestig: Vestig, tmp_path: Path) -> None:
    place = ("--store", str(tmp_path / "nowhere"))
    for words, out in ((("count",), "0\n"), (("list",), "No memories found.\n")):
        answer = vestig(*words, *place)
        assert (answer.code, answer.out) == (0, out)
        assert 'yet: vestig add "…" makes it' in answer.err
    assert vestig("stats", *place).code == 1
    assert not (tmp_path / "nowhere").exists()


def test_help_names_the_folder_where_the_store_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def place(*words: str) -> str:
        assert run(list(words)) == 0
        return " ".join(capfd.readouterr().out.split()).partition("The store is ")[2].split()[0]

    config = tmp_path / "vestig.yaml"
    config.write_text("store: {path: attic}\n", encoding="utf-8")
    assert place("--config", str(config), "-h") == f"{tmp_path}/attic."
    assert place("--store", str(tmp_path / "cellar"), "--help") == f"{tmp_path}/cellar."
    for words in (("--help", "--config"), ("-h", "--config"), ("help", "--config")):
        assert place(*words, str(config)) == f"{tmp_path}/attic."
    assert place("--help", f"--store={tmp_path}/cellar") == f"{tmp_path}/cellar."
    monkeypatch.setenv("VESTIG_STORE", str(tmp_path / "shed"))
    assert place() == f"{tmp_path}/shed."
    monkeypatch.setenv("VESTIG_STORE", str(Path.home() / "loft"))
    assert place("help") == "~/loft."
    assert run(["--config", str(tmp_path / "none.yaml"), "--help"]) == 0
    assert "The configuration cannot be read: " in capfd.readouterr().out


def test_who_would_empty_the_store_is_told_where_it_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VESTIG_STORE", str(tmp_path / "shed"))
    assert run(["clear"]) == 2
    assert f"The store is {tmp_path}/shed." in " ".join(capfd.readouterr().err.split())
    # an option behind an unknown command is not read, and may name another store
    assert run(["clear", "--store", str(tmp_path / "attic")]) == 2
    assert "The store is" not in capfd.readouterr().err


def test_a_memory_that_was_replaced_is_told_how_its_text_comes_back(vestig: Vestig) -> None:
    old = vestig("add", "The pump is in hall one", "--key", "pump", "--json").document["memory_id"]
    vestig("add", "The pump is in hall two", "--key", "pump")
    assert '`vestig add "…" --key KEY`' in vestig("deprecate", old).err


# What an error says before its hint, and the hint that is none.
_REFUSAL = re.compile(
    r"(?:\S+: No such file or directory|No such (?:command|option) '[^']*'\."
    r"|Unexpected '[^']*': it takes [^.]*\.) ?"
    r"(?:`vestig[^`]* --help` lists the commands\.)?"
)
LEFT_SILENT_MOST = 0.03


def verdict(answer: Answer, meant: str) -> str:
    """`right`, `wrong` or `silent`, of a hint."""
    said = answer.err.partition("Error: ")[2].strip()
    hint = _REFUSAL.sub("", said, count=1).strip()
    if answer.code == 0:
        return "right" if meant == guesses.WORKS else "wrong"
    if not hint:
        return "right" if meant == "" else "silent"
    return "right" if any(one and one in hint for one in meant.split("|")) else "wrong"


def test_nearly_all_first_lines_are_led_right_and_none_wrong(
    vestig: Vestig, ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    before = vestig("list", "--json").out
    found = []
    for line, meant in guesses.each(guessed_lines.LINES, ";"):
        answer = vestig(*(ids[0] if word == "ID" else word for word in shlex.split(line)))
        found.append((verdict(answer, meant), line, meant, answer.err[-300:] or answer.out[:99]))
    assert [one for one in found if one[0] == "wrong"] == []
    silent = [one for one in found if one[0] == "silent"]
    assert len(silent) <= LEFT_SILENT_MOST * len(found), silent
    assert vestig("list", "--json").out == before


def test_lines_of_a_pipe_that_become_one_memory_are_told(
    vestig: Vestig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts = {
        "The shed has two saws\nThe cellar holds ten barrels\n": True,
        "The shed has two saws, and\nthe cellar holds ten barrels\n": False,
    }
    for text, told in texts.items():
        path = tmp_path / "piped.txt"
        path.write_text(text, encoding="utf-8")
        with path.open(encoding="utf-8") as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            answer = vestig("add")
        assert answer.code == 0
        assert ("2 lines become one memory; one memory a line" in answer.err) == told


def test_a_time_before_all_facts_is_told_with_what_dates_one(vestig: Vestig) -> None:
    assert "--t-valid" not in vestig("recall", "stall fee", "--valid-at", "2020-01-01").err
    vestig("add", "The stall fee is 18 euros a day")
    said = "nothing stored held at the time of --valid-at: a fact holds from the --t-valid TIME"
    for words in ("recall fee", "list"):
        assert said in vestig(*words.split(), "--valid-at", "2020-01-01").err
        assert said not in vestig(*words.split()).err
    vestig("add", "The fee of old was 12 euros", "--t-valid", "2019-01-01")
    assert said not in vestig("recall", "saw", "--valid-at", "2020-01-01").err


def test_a_time_before_all_was_stored_is_told(vestig: Vestig) -> None:
    said = "nothing was stored yet by the time of --as-of; nothing held then either: a fact"
    assert "--as-of" not in vestig("recall", "fee", "--as-of", "2020-01-01").err
    vestig("add", "The stall fee is 18 euros a day")
    for words in ("recall fee", "list"):
        assert said in vestig(*words.split(), "--as-of", "2020-01-01").err
        assert said not in vestig(*words.split()).err


def test_a_mask_names_the_setting_that_keeps_a_text_as_it_is(
    vestig: Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("add", "The wifi password is stargazer77xQ", "--json")
    assert "VESTIG_FIREWALL__SECRETS=off" in vestig(*words[:2]).out
    assert vestig(*words).document["masked"]
    monkeypatch.setenv("VESTIG_FIREWALL__SECRETS", "off")
    kept = vestig(*words).document
    assert "stargazer77xQ" in vestig("show", kept["memory_id"]).out


def test_what_reads_alike_is_not_called_a_version_of_a_key(vestig: Vestig) -> None:
    text = "The staging server of the boat club listens on port {}"
    vestig("add", text.format(7070), "--key", "staging.port")
    plain = vestig("add", text.format(7171), "--on-near-dup", "insert", "--json").document
    shown = vestig("get", "staging.port").out
    assert "version" not in shown
    assert f"reads alike {plain['memory_id']}" in " ".join(shown.split())


def test_a_document_that_is_named_by_its_path_is_told_where_its_id_is(vestig: Vestig) -> None:
    vestig("add", "The shed has two saws")
    answer = vestig("document", "forget", "notes.txt", "--yes")
    assert answer.code == 2
    assert "`vestig document list` shows the ids" in answer.err


def test_several_scopes_or_names_in_one_text_are_told_how_each_is_named(vestig: Vestig) -> None:
    for name in ("greta", "tomasz"):
        vestig("add", f"The smoker of {name} is blue", "--scope", name, "--entity", name.title())
    answer = vestig("list", "--scope", "greta,tomasz")
    assert "name each: --scope greta --scope tomasz" in answer.err
    assert len(vestig(*["list", "--scope", "greta", "--scope", "tomasz"]).out.splitlines()) == 2
    answer = vestig("forget", "--entities", "Greta,Tomasz", "--yes")
    assert "name each: --entities Greta --entities Tomasz" in answer.err
    assert (
        len(vestig(*["list", "--entities", "Greta", "--entities", "Tomasz"]).out.splitlines()) == 2
    )
    assert "name each" not in vestig("list", "--scope", "greta,nobody").err
    vestig("add", "The gloves of Greta Falk are white", "--entity", "Greta Falk")
    for words in ("list", "count", "forget --dry-run"):
        said = vestig(*words.split(), "--entities", "Greta").err
        assert said.count("beside 'Greta', also known: 'Greta Falk'") == 1, words


def test_a_word_of_nobody_gets_no_hint(vestig: Vestig) -> None:
    found = []
    for word in guessed_lines.NO_COMMANDS.split():
        for group in ("", *GROUPS):
            answer = vestig(*group.split(), word)
            found.append((verdict(answer, ""), group, word, answer.err[-200:]))
        for line in ("add x", "recall x", "list", "export f", "import f", "install claude"):
            answer = vestig(*line.split(), f"--{word}")
            found.append((verdict(answer, ""), line, word, answer.err[-200:]))
        answer = vestig("list", word)
        meant = f"`vestig search {word}` finds"
        found.append((verdict(answer, meant), "list", word, answer.err[-200:]))
    assert [one for one in found if one[0] != "right"] == []


# What is typed → what the answer names.
WORDS = {
    "delete": "forget", "remove": "forget", "rm": "forget", "erase": "forget",
    "cat": "show", "view": "show", "ask": "recall", "query": "recall",
    "find": "recall", "lookup": "recall", "grep": "search", "why": "recall --explain",
    "watch": "import --mirror",
    "sync": "import --mirror", "context": "recall --context",
    "remember": "add", "store": "add", "save": "add", "note": "add", "commit": "add",
    "create": "add", "new": "add", "log": "diff --from", "timeline": "diff",
    "ls": "list", "all": "list", "tags": "list --tags", "edit": "update", "modify": "update",
    "tag": "update", "replace": "supersede", "retract": "deprecate", "undo": "deprecate",
    "status": "stats", "info": "stats", "check": "doctor", "health": "doctor", "verify": "doctor",
    "entities": "entity list", "relations": "edge list", "links": "edge list", "ingest": "import",
    "load": "import", "dump": "export", "snapshot": "backup", "reindex": "rebuild",
    "vacuum": "housekeeping compact", "server": "serve", "start": "serve", "bench": "eval",
    "tour": "demo", "init": "add", "setup": "add", "completion": "--help", "merge": "entity merge",
    "ui": "inspect", "gui": "inspect",
    "link": "edge link", "gc": "housekeeping gc", "explain": "recall --explain",
    "recal": "recall", "serch": "search", "imprt": "import", "RM": "forget",
}  # fmt: skip


@each(("typed", "ours"), WORDS.items())
def test_a_word_of_another_tool_is_answered_with_ours(
    vestig: Vestig, ids: list[str], typed: str, ours: str
) -> None:
    answer = vestig(typed, "x")
    assert answer.code == 2
    assert f"`vestig {ours}" in answer.err
    assert vestig("count").out == f"{len(ids)}\n"


def test_every_word_names_a_command_that_exists() -> None:
    for typed, ours in commands().items():
        words = [word for word in ours.partition("--")[0].split() if word.islower()]
        assert not words or command_at(words), (typed, ours)
        assert command_at([typed]) is None, f"{typed} is a command itself"


def test_every_command_that_a_hint_names_or_is_for_exists() -> None:
    tables = command_words()
    assert {*tables["in_groups"]} <= {*GROUPS}
    own = {name for named in tables["verbs"] for name in named.split()}
    assert own <= {name.split()[-1] for name in OUTLINES if " " in name}
    for named in (one for rows in tables["in_groups"].values() for one in rows):
        assert command_at([word for word in named.split() if word.isalpha() and word.islower()])
    for named, _, _ in tables["otherwise"]:
        for command in named.split(", "):
            assert command_at(command.split())
    assert {*tables["further"]} <= {*OUTLINES}
    install = next(one for one in operations() if one.name == "install")
    editor = next(one for one in install.params if one.name == "editor")
    assert isinstance(editor, Choice)
    assert (*other_words._EDITORS,) == (*editor.choices,)


def test_a_folder_that_is_named_as_a_command_is_used_where_it_is_there(
    vestig: Vestig, ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "./list" in vestig("backup", "list").err
    assert not (tmp_path / "list").exists()
    (tmp_path / "list").mkdir()
    assert vestig("backup", "list").code == 0
    assert vestig("export", "./new").code == 0
    assert vestig("export", "--format", "md", "md").code == 0
    assert (tmp_path / "md").is_dir()
    (tmp_path / "document").write_text("# Crane\n\nThe crane lifts nine tonnes.\n")
    assert vestig("import", "document", "--format", "document").code == 0


def command_at(words: list[str]) -> click.Command | None:
    command: click.Command | None = cli
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    return command


@pytest.mark.parametrize(
    "typed", ["destory", "destry", "forgte", "froget", "forgett", "forge", "destro"]
)
def test_no_spelling_is_near_what_destroys(vestig: Vestig, typed: str) -> None:
    for group in ((), ("memory",)):
        answer = vestig(*group, typed)
        assert answer.code == 2
        assert "`vestig destroy" not in answer.err
        assert "forget`" not in answer.err
        assert "--help` lists the commands" in answer.err


@each(
    ("words", "named"),
    [
        (("recall", "x", "-k", "3"), "--limit"),
        (("recall", "x", "--top-k", "3"), "--limit"),
        (("recall", "x", "--user", "Ada"), "--scope"),
        (("recall", "x", "--after", "2026-01-01"), "--since"),
        (("recall", "x", "--before", "2026-01-01"), "--until"),
        (("add", "x", "--date", "2026-01-01"), "--t-valid"),
        (("add", "x", "--created-at", "2026-01-01"), "--t-valid"),
        (("add", "x", "--user", "Ada"), "--scope"),
        (("add", "x", "--session", "s1"), "--session-id"),
        (("add", "x", "--meta", "a=1"), "--metadata"),
        (("forget", "x", "-y"), "--yes"),
        (("list", "--db", "x"), "--store"),
    ],
)
def test_an_option_of_another_tool_is_answered_with_ours(
    vestig: Vestig, words: tuple[str, ...], named: str
) -> None:
    answer = vestig(*words)
    assert f"In Vestig it is {named}." in answer.err
    assert answer.code == 2


def test_groups_answer_in_their_own_words(vestig: Vestig) -> None:
    assert "`vestig entity list`" in vestig("entity", "ls").err
    assert "`vestig memory show`" in vestig("memory", "cat", "x").err
    assert "`vestig memory update`" in vestig("memory", "edit", "x").err
    assert "`vestig config show`" in vestig("config", "list").err
    assert "`vestig config explain`" in vestig("config", "get", "x").err
    assert "vestig.yaml" in vestig("config", "set", "a", "b").err


def test_help_and_version_are_words_too(capfd: pytest.CaptureFixture[str]) -> None:
    def printed(*words: str) -> str:
        assert run(list(words)) == 0
        return capfd.readouterr().out

    assert printed("version") == printed("--version")
    document = json.loads(printed("version", "--json"))
    assert f"vestig {document['version']}" == printed("version").strip()
    assert json.loads(printed("--json", "version")) == document
    assert printed("help") == printed("--help") == printed("-h")
    assert printed("help", "recall") == printed("recall", "--help") == printed("recall", "-h")
    assert printed("help", "memory", "show") == printed("memory", "show", "--help")
    assert printed("memory", "help") == printed("memory", "--help")


def test_short_options(vestig: Vestig) -> None:
    for n, text in enumerate(("The red lorry has nine gears", "The blue lorry has six gears")):
        vestig("add", text, "-t", "fleet", "--tag", f"lorry-{n}")
    assert vestig("count", "-t", "fleet").out == "2\n"
    assert vestig("count", "--tag", "lorry-1").out == "1\n"
    assert vestig("list", "-n", "1").out.count("\n") == 1
    assert vestig("recall", "gears", "-n", "1").out.count("Content: ") == 1


@pytest.mark.parametrize("command", ["add", "recall", "search"])
def test_a_text_without_quotes_is_told_to_have_some(vestig: Vestig, command: str) -> None:
    answer = vestig(command, "hello", "wide", "world")
    assert answer.code == 2
    assert (
        f'Expected one text, got 3 words; in quotes: vestig {command} "hello wide world"'
        in answer.err
    )
    assert vestig("count").out == "0\n"
    careful = vestig(command, "pay", "$5", "today").err
    assert "Expected one text, got 3 words: put them in quotes." in careful


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("versoin", "version"),
        ("hlep", "help"),
        ("recal", "recall"),
        ("lsit", "list"),
        ("updaet", "update"),
    ],
)
def test_a_slip_is_answered_with_the_command(vestig: Vestig, typed: str, meant: str) -> None:
    assert f"Did you mean `vestig {meant}`?" in vestig(typed).err


@pytest.mark.parametrize("typed", ["plot", "draw", "sql"])
def test_a_word_that_is_near_nothing_names_no_command(vestig: Vestig, typed: str) -> None:
    assert "`vestig --help` lists the commands" in vestig(typed).err


def test_a_new_text_in_the_place_of_an_id_is_told_how(vestig: Vestig, ids: list[str]) -> None:
    answer = vestig("supersede", ids[0], "Deploys run on Mondays now.")
    assert answer.code == 2
    assert f'`vestig update {ids[0]} --content "…"` gives it a new text' in answer.err
    vestig("update", ids[0], "--tags", "infra", "--scope", "work")
    new = vestig("update", ids[0], "--content", "Deploys run on Mondays now.", "--json").document
    kept = vestig("show", new["memory_id"], "--json").document
    assert (kept["scope"], kept["metadata"]["tags"]) == ("work", ["infra"])


def test_two_texts_are_told_which_memory_has_the_first(vestig: Vestig, ids: list[str]) -> None:
    vestig("add", "Tea is at four.", "--key", "tea time")
    for old, way in (
        (FACTS[0], f'`vestig update {ids[0]} --content "…"`'),
        ("The staging database moved", '`vestig search "…"` finds the id'),
        ("tea time", "`vestig add \"…\" --key 'tea time'`"),
        ("tea", '`vestig add "…" --key tea`'),
    ):
        answer = vestig("supersede", old, "A new text for it.")
        assert (answer.code, way in answer.err) == (2, True), answer.err
    assert vestig("count").out == f"{len(ids) + 1}\n"


NOTHINGS = {
    "scope": ("none", "NULL", "", " "),
    "tags": ("none", "nil"),
    "t_invalid": ("none", "never", ""),
    "retention_until": ("never",),
    "trigger": ("",),
}


@each(("field", "words"), NOTHINGS.items())
def test_a_word_for_nothing_is_told_how_a_field_is_emptied(
    vestig: Vestig, ids: list[str], field: str, words: tuple[str, ...]
) -> None:
    flag = f"--{field.replace('_', '-')}"
    for word in words:
        answer = vestig("update", ids[0], flag, word)
        assert (answer.code, f"`--clear {field}`" in answer.err) == (2, True), answer.err
    for typed in (f"--no{flag[1:]}", f"--clear{flag[1:]}"):
        assert f"--clear {field}." in vestig("update", ids[0], typed).err
    assert vestig("update", ids[0], "--clear", field).code == 0


def test_a_word_for_nothing_that_a_memory_has_is_its_own(vestig: Vestig, ids: list[str]) -> None:
    vestig("add", "The tide is out", "--scope", "none", "--tags", "null")
    vestig("update", ids[0], "--scope", "none", "--tags", "null")
    assert vestig("count", "--scope", "none", "--tags", "null").out == "2\n"


def test_tags_are_counted_by_the_line_that_is_named(vestig: Vestig) -> None:
    for n in range(23):
        vestig("add", f"The crane of bay {n} lifts {n + 2} tonnes", "--tags", "crane")
    said = vestig("tags").err
    selects = re.search(r"jq -r 'select\((.*?)\) \| (\S+)'", said)
    assert selects is not None
    assert selects.groups() == ('.status == "active"', ".metadata.tags[]?")
    lines = map(json.loads, vestig("export", "-").out.splitlines())
    active = [one for one in lines if one.get("status") == "active"]
    assert sum("crane" in one["metadata"].get("tags", ()) for one in active) == 23


def test_a_store_that_is_imported_is_told_how_its_memories_come(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    backup, lines = tmp_path / "bk", str(tmp_path / "all.jsonl")
    vestig("backup", str(backup))
    for named in (backup, tmp_path / "store"):
        error = vestig("import", str(named)).err
        assert "`vestig import --merge FILE`" in error
        assert len(error) < 400
    assert f"`vestig --store {backup} export FILE`" in vestig("import", str(backup)).err
    vestig("forget", ids[0], "--yes")
    assert vestig("export", lines, "--store", str(backup)).code == 0
    assert vestig("import", "--merge", lines).code == 0
    other = ("--store", str(tmp_path / "other"))
    assert vestig("restore", str(backup), *other).code == 0
    assert vestig("count", *other).out == f"{len(ids)}\n"


def test_words_too_many_for_an_id(vestig: Vestig, ids: list[str]) -> None:
    assert "Unexpected 'also': it takes ID." in vestig("show", ids[0], "also").err
    assert "it takes options alone" in vestig("stats", "now").err


def test_a_pipe_is_read_and_a_terminal_is_not_waited_for(
    vestig: Vestig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "note.txt"
    file.write_text("The ferry to Skye leaves at seven.\n", encoding="utf-8")
    with file.open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert vestig("add").out.startswith("Memory stored: ")
    read, write = os.pipe()
    os.write(write, b"when does the ferry leave?")
    os.close(write)
    with os.fdopen(read) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert "The ferry to Skye" in vestig("recall").out
    with open(os.devnull) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        for command, name in (("add", "CONTENT"), ("recall", "QUERY")):
            answer = vestig(command)
            assert answer.code == 2
            assert f"Missing argument {name}: type it in quotes, or - to read" in answer.err


def test_a_word_that_is_missing_beside_another_is_not_read_from_a_pipe(
    vestig: Vestig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert vestig("item", "put", "key.3", "with Noor").code == 0
    file = tmp_path / "keys.txt"
    for rest in ("", "key.13 Dries\nkey.31 lost\n"):
        file.write_text(rest, encoding="utf-8")
        with file.open(encoding="utf-8") as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            answer = vestig("item", "put", "key.3")
            assert answer.code == 2
            assert "Missing argument VALUE: type it in quotes, or - to read" in answer.err
            assert stream.read() == rest
    assert vestig("item", "get", "key.3").out == '"with Noor"\n'
    file.write_text("Dries", encoding="utf-8")
    with file.open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert vestig("item", "put", "key.3", "-").code == 0
    assert vestig("item", "get", "key.3").out == '"Dries"\n'


def test_a_text_that_names_a_file_is_told_how_it_is_read(
    vestig: Vestig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "harbour-notes.txt").write_text("The crane lifts nine tonnes.\n")
    for command in ("add @", "recall @", "add "):
        answer = vestig(*f"{command}harbour-notes.txt".split(" "))
        assert answer.code == 2
        assert f"`vestig {command.split()[0]} - < FILE` reads a file" in answer.err
    assert vestig("recall", "harbour-notes.txt").code == 0
    assert vestig("count").out == "0\n"
    assert vestig("add", "@harbour-notes.md").code == 0


def test_python_runs_it_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vestig", "version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("vestig ")


def test_states_have_commands_of_their_own(vestig: Vestig, ids: list[str]) -> None:
    assert "pinned" in vestig("pin", ids[0]).out
    assert "unpinned" in vestig("unpin", ids[0]).out
    assert "archived" in vestig("archive", ids[0]).out
    assert "unarchived" in vestig("unarchive", ids[0]).out
    assert "updated: tags" in vestig("update", ids[0], "--tags", "infra").out
    assert "superseded by" in vestig("supersede", ids[0], ids[1], "--reason", "a new tower").out
    assert "deprecated" in vestig("deprecate", ids[2]).out
    again = vestig("deprecate", ids[2])
    assert again.code == 1
    assert '`vestig add "…"` stores its text again, in a new memory' in again.err
    assert "a new tower" in vestig("events", ids[0]).out
    assert [line.split(" | ")[2:4] for line in vestig("history", ids[0]).out.splitlines()] == [
        ["SUPERSEDED", ids[0]],
        ["ACTIVE", ids[1]],
    ]


def test_the_short_spelling_of_recursive(vestig: Vestig, tmp_path: Path) -> None:
    inside = tmp_path / "notes" / "harbour"
    inside.mkdir(parents=True)
    (inside / "crane.md").write_text("# Crane\n\nThe crane lifts nine tonnes.\n")
    assert vestig("import", str(tmp_path / "notes"), "-r").code == 0
    assert "nine tonnes" in vestig("recall", "how much does the crane lift?").out


def test_an_error_at_the_command_line_names_flags_and_commands(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    export = str(tmp_path / "all.jsonl")
    assert vestig("export", export).code == 0
    assert "or add by id with --merge" in vestig("import", export).err
    (tmp_path / "rows.dat").write_text("id,body\n1,x\n", encoding="utf-8")
    rows = f"{tmp_path}/rows.dat"
    assert f"`vestig import --format csv {rows}` takes" in vestig("import", rows).err
    (tmp_path / "empty").mkdir()
    assert "--recursive brings" in vestig("import", f"{tmp_path}/empty").err
    assert "`vestig forget --keys KEY`" in vestig("forget", "price", "--yes").err
    assert "`vestig get KEY` shows the memory" in vestig("pin", "price").err


def test_a_similar_memory_of_the_same_text_is_called_so_with_its_author(vestig: Vestig) -> None:
    text = "The monthly drill takes place every first Thursday."
    assert vestig("add", text, "--author", "jonas").code == 0
    assert f"{text} (the same text, by jonas)\n" in vestig("add", text).out
    assert f"{text} (the same text)\n" in vestig("add", text, "--author", "resi").out


def test_rules_that_ask_for_a_tool_are_told_where_none_is_named(vestig: Vestig) -> None:
    condition = 'tool = "sms" and text ~ "*Resi*"'
    assert vestig("rule", "add", "No messages", "--when", condition, "--do", "deny").code == 0
    without = vestig("rule", "check", "--text", "Resi, a drill is tonight")
    assert without.out == "No rule fires.\n"
    assert without.err == "1 rule asks for a tool: name it by --tool\n"
    other = 'not tool = "sms" and text ~ "*Resi*"'
    vestig("rule", "add", "Nothing else", "--when", other, "--do", "remind")
    again = vestig("rule", "check", "--text", "Resi, a drill is tonight")
    assert again.err == without.err, "what fired without a tool asks for none"
    with_tool = vestig("rule", "check", "--text", "Resi, a drill is tonight", "--tool", "sms")
    assert (with_tool.out.splitlines()[0], with_tool.err) == ("Decision: deny", "")
