"""What somebody types first works, and help says how to go on."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command_answers import FACTS, Vestig

from vestig.surfaces.cli import run
from vestig.surfaces.table import operations

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
    for word in ("VESTIG_STORE", "store.path", "~/.local/share/vestig/vestig", "_VESTIG_COMPLETE"):
        assert word in text
    listed = text.partition("Commands:")[2].split("\n")[1:]
    first = [line.split()[0] for line in listed[:7]]
    assert first == ["add", "recall", "show", "list", "count", "forget", "stats"]
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


def test_search_says_when_to_use_recall(capfd: pytest.CaptureFixture[str]) -> None:
    run(["search", "--help"])
    text = " ".join(capfd.readouterr().out.split())
    assert "Explore memories and entities by meaning or by links" in text
    assert "For the memories that answer a question use `recall`" in text


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
