"""The command line: documents, problems, exit codes, streams."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_answers import FACTS, UNKNOWN, Vestig

from tables import each
from vestig.errors import (
    ConfigError,
    ConflictError,
    EmbeddingMismatchError,
    NotFoundError,
    ProviderError,
    ProviderTimeoutError,
    SchemaVersionError,
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
    ValidationError,
    VestigError,
)
from vestig.surfaces import wire
from vestig.surfaces.cli import commands


@each(
    ("words", "code", "problem"),
    [
        (("memory", "show", UNKNOWN), 1, "not-found"),
        (("memory", "show", "nonsense"), 2, "validation"),
        (("memory", "recall", "  "), 2, "validation"),
        (("memory", "recall", "x", "--limit", "0"), 2, "validation"),
        (("memory", "recall", "x", "--as-of", "soon"), 2, "validation"),
        (("memory", "recall", "x", "--tags-mode", "most"), 2, "validation"),
        (("memory", "recall", "x", "--kinds", "DREAM"), 2, "validation"),
        (("memory", "add", "ok"), 1, "hygiene-rejected"),
        (("memory", "list", "--limit", "many"), 2, "validation"),
        (("memory", "update", UNKNOWN), 2, "validation"),
        (("memory", "frobnicate"), 2, "validation"),
        (("memory",), 2, "validation"),
        (("frobnicate",), 2, "validation"),
        (("memory", "add"), 2, "validation"),
        (("memory", "add", "x", "--nope"), 2, "validation"),
        (("config", "explain", "hygene.min_chars"), 2, "config"),
        (("memory", "list", "--profile", "nope"), 2, "config"),
        (("memory", "list", "--namespace", "Not Good"), 2, "config"),
        (("export", "-"), 2, "validation"),
        (("import", "gone.jsonl"), 2, "validation"),
    ],
)
def test_problems_and_exit_codes(
    vestig: Vestig, ids: list[str], words: tuple[str, ...], code: int, problem: str
) -> None:
    answer = vestig(*words, "--json")
    assert answer.code == code, answer
    found = answer.problem
    assert found["type"] == f"urn:vestig:problem:{problem}"
    assert set(found) >= {"type", "title", "status", "detail", "instance", "errors"}
    assert found["instance"].startswith("req_")
    if problem != "hygiene-rejected" and words != ("export", "-"):
        text = vestig(*words)
        assert text.code == code
        assert text.out == ""
        assert text.err.strip()


def test_rejected_text_carries_its_outcome_and_reason(vestig: Vestig) -> None:
    found = vestig("memory", "add", "ok", "--json").problem
    assert found["outcome"]["outcome"] == "REJECTED_HYGIENE"
    answer = vestig("memory", "add", "ok")
    assert (answer.code, answer.out) == (1, "")
    assert "Content too short: 2 chars (minimum: 12, or two words that say something)" in answer.err


def test_short_texts_that_say_something_are_stored(vestig: Vestig) -> None:
    for words in (("no nuts",), ("我对花生过敏。",), ("yes", "--role", "user")):
        assert vestig("memory", "add", *words).code == 0
    assert vestig("memory", "add", "good point").code == 1


def test_conflicts_exit_1(vestig: Vestig, ids: list[str]) -> None:
    assert vestig("memory", "deprecate", ids[0]).out == (
        f"Memory {ids[0]} deprecated successfully\n"
    )
    answer = vestig("memory", "deprecate", ids[0], "--json")
    assert answer.code == 1
    assert answer.problem["type"] == "urn:vestig:problem:conflict"


ERRORS: list[tuple[VestigError, int, int]] = [
    (ValidationError("x", 0, "y"), 2, 422),
    (NotFoundError("Memory", "mem_x"), 1, 404),
    (ConflictError("x"), 1, 409),
    (ConfigError("x"), 2, 500),
    (EmbeddingMismatchError("x"), 2, 500),
    (StoreLockedError("x"), 3, 503),
    (StoreFullError("x"), 3, 507),
    (SchemaVersionError("x", found=2, expected=1, advice="y"), 3, 503),
    (StoreDamagedError("x"), 3, 500),
    (ProviderError("x"), 4, 502),
    (ProviderTimeoutError("x"), 4, 504),
]


@each(("error", "code", "status"), ERRORS, ids=lambda v: type(v).__name__)
def test_each_error_has_its_exit_code_and_problem(
    error: VestigError,
    code: int,
    status: int,
    vestig: Vestig,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(commands, "configuration", fail)
    answer = vestig("memory", "list", "--json")
    assert answer.code == code
    assert answer.problem["type"] == f"urn:vestig:problem:{error.code}"
    assert answer.problem["status"] == status
    assert vestig("memory", "list").err == f"Error: {error}\n"


def test_a_defect_tells_its_place_and_no_text(
    vestig: Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("the secret text of a memory")

    monkeypatch.setattr(commands, "configuration", fail)
    answer = vestig("memory", "list", "--json")
    assert answer.code == 1
    assert answer.problem["type"] == "urn:vestig:problem:internal"
    assert "secret" not in answer.err
    answer = vestig("memory", "list")
    assert "RuntimeError" in answer.err
    assert "secret" not in answer.err


def test_json_names_the_cause_that_the_plain_answer_names(vestig: Vestig, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert vestig("memory", "add", "The fee is 72 euro.").code == 0
    for words in (
        ("export", str(tmp_path / "nosuch" / "e.jsonl")),
        ("export", str(tmp_path / "file" / "e"), "--format", "md"),
        ("backup", str(tmp_path / "file" / "b")),
    ):
        plain, json = vestig(*words), vestig(*words, "--json")
        assert "can be written there: " in plain.err.replace("cannot", "can")
        assert plain.err == f"Error: {json.problem['detail']}\n"
        assert plain.code == json.code == 1


def test_a_defect_whose_causes_go_in_a_circle_is_told(
    vestig: Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        one, other = ValueError("one"), KeyError("other")
        one.__cause__, other.__cause__ = other, one
        raise one

    monkeypatch.setattr(commands, "configuration", fail)
    answer = vestig("memory", "list", "--json")
    assert (answer.code, answer.problem["type"]) == (1, "urn:vestig:problem:internal")


@pytest.mark.parametrize("kind", [RuntimeError, ProviderError, OSError])
def test_an_error_of_any_kind_that_an_interrupt_caused_is_one(
    vestig: Vestig, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def fail(*_: Any) -> None:
        raise kind("of an interrupt") from KeyboardInterrupt()

    monkeypatch.setattr(commands, "configuration", fail)
    assert vestig("memory", "list").code == 130


def test_interruption_is_130(vestig: Vestig, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "configuration", stop)
    assert vestig("memory", "list").code == 130


def test_group_alone_prints_help_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["memory"], ["config"], ["housekeeping"], ["--namespace", "a", "memory"]):
        assert commands.run(words) == 2
        out, err = capfd.readouterr()
        assert out == ""
        assert err.startswith("Usage: vestig")
        assert "Commands:" in err


def test_show_has_no_expansion_yet(vestig: Vestig, ids: list[str]) -> None:
    assert vestig("memory", "show", ids[0], "--expand", "2").code == 2


def test_bare_command_prints_version_and_help(capfd: pytest.CaptureFixture[str]) -> None:
    assert commands.run([]) == 0
    out, err = capfd.readouterr()
    assert out.startswith("vestig ")
    assert "Commands:" in out
    assert err == ""


def test_unknown_names_get_the_nearest(vestig: Vestig) -> None:
    assert "`vestig memory recall`" in vestig("memory", "recal", "x").err
    assert "--limit" in vestig("memory", "recall", "x", "--limt", "3").err


def test_global_options_stand_before_or_after(tmp_path: Path, vestig: Vestig) -> None:
    for words in (
        ("--namespace", "work", "memory", "list"),
        ("memory", "--namespace", "work", "list"),
        ("memory", "list", "--namespace", "work"),
    ):
        vestig("memory", "add", "A fact of the namespace work", "--namespace", "work")
        assert "A fact of the namespace work" in vestig(*words).out
    assert vestig("memory", "list").out == "No memories found.\n"
    other = str(tmp_path / "elsewhere")
    vestig("--store", other, "memory", "add", "Another store holds this fact")
    assert (tmp_path / "elsewhere").is_dir()
    shown = {
        e["key"]: e for e in vestig("config", "show", "--json", "--store", other).document["config"]
    }
    assert shown["store.path"] == {
        "key": "store.path",
        "value": other,
        "layer": "call",
        "file": None,
        "secret": None,
    }


def test_text_from_standard_input(vestig: Vestig, monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    feed("The café opens at nine\n".encode())
    assert vestig("memory", "add", "-").code == 0
    assert "The café opens at nine" in vestig("memory", "list").out
    feed(b"caf\xe9 opens at nine o'clock")
    answer = vestig("memory", "add", "-")
    assert answer.code == 2
    assert "UTF-8" in answer.err


def test_what_add_says(vestig: Vestig) -> None:
    first = vestig("memory", "add", FACTS[0])
    memory_id = first.out.removeprefix("Memory stored: ").strip()
    assert memory_id.startswith("mem_")
    again = vestig("memory", "add", FACTS[0])
    assert again.out == f"Memory known already: {memory_id} (exact duplicate detected)\n"
    for word in ([], ["--dry-run"]):
        near = vestig("memory", "add", f"{FACTS[0].rstrip('.')}!", *word)
        assert near.out.startswith(f"Memory known already: {memory_id} (near duplicate detected, ")
    listed = vestig("memory", "list", "--json").document
    before = listed["total"]
    dry = vestig("memory", "add", "A wholly other statement about ships", "--dry-run")
    assert dry.code == 0
    assert vestig("memory", "list", "--json").document["total"] == before


def test_defaults_of_this_surface(vestig: Vestig, ids: list[str]) -> None:
    shown = vestig("memory", "show", ids[0], "--json").document
    assert shown["metadata"]["source"] == "manual"
    assert shown["sources"][0]["agent"] == "cli"
    assert shown["events"][0]["source"] == "manual"


def test_list_layout(vestig: Vestig, ids: list[str]) -> None:
    lines = vestig("memory", "list", "--snippet-len", "11", "--ascending").out.splitlines()
    assert len(lines) == len(ids)
    cells = lines[0].split(" | ")
    assert cells[0] == ids[0]
    assert cells[1].endswith(" UTC")
    assert cells[2:] == ["manual", "ACTIVE", "The staging..."]
    assert (
        "1 of 3; --limit and --offset show others" in vestig("memory", "list", "--limit", "1").err
    )


def test_recall_layouts_and_timing(vestig: Vestig, ids: list[str]) -> None:
    recall = vestig("memory", "recall", "staging database port", "--limit", "1")
    sure, _, first, *_ = recall.out.split("\n")
    assert sure.startswith("likely (confidence 0.")
    assert first.startswith(f"[{ids[0]}] (score=")
    assert "Reason:" not in recall.out
    assert "Reason:" in vestig("memory", "recall", "staging database port", "--explain").out
    search = vestig("search", "staging database port", "--limit", "1")
    assert search.out.startswith(f"{sure}\n\nID: {ids[0]}\nScore: ")
    timed = vestig("search", "staging", "--timing", "--json")
    assert "total" in timed.err
    assert timed.document["results"]
    same = vestig("search", "staging", "--format", "json")
    assert same.document["schema"] == "vestig/recall/1"


def test_no_results_is_exit_0(vestig: Vestig) -> None:
    answer = vestig("memory", "recall", "anything")
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.endswith("No memories found.\n")
    assert vestig("memory", "recall", "anything", "--json").document["results"] == []


def test_an_offset_behind_all_is_no_empty_store(vestig: Vestig, ids: list[str]) -> None:
    said = f"No memories here: the offset lies behind all {len(ids)}."
    assert vestig("memory", "list", "--offset", "50").out == f"{said}\n"
    answer = vestig("memory", "recall", "staging", "--all", "--offset", "50")
    assert (answer.code, answer.out) == (0, "")
    assert f"{said}\n" in answer.err
    vestig("rule", "add", "Never push on a Friday", "--when", "text ~ *push*")
    vestig("item", "put", "city", '"Ghent"')
    for things in ("rule", "item"):
        out = vestig(things, "list", "--offset", "9").out
        assert out == f"No {things}s here: the offset lies behind all 1.\n"


def test_a_tag_with_a_comma_is_given_as_json(vestig: Vestig) -> None:
    vestig("memory", "add", "The fact with a comma in its tag", "--tags", '["v,w", "x"]')
    vestig("memory", "add", "The fact with two plain tags", "--tags", "x,y")

    def found(tags: str) -> int:
        return int(vestig("count", "--tags", tags, "--json").document["count"])

    assert [found(one) for one in ('["v,w"]', "v,w", '["x"]', "v,x")] == [1, 0, 2, 2]


def test_filters_reach_the_engine(vestig: Vestig, ids: list[str]) -> None:
    vestig("memory", "add", "The tagged fact of the scope red", "--tags", "x,y", "--scope", "red")

    def found(*words: str) -> int:
        return len(vestig("memory", "recall", "fact", "--json", *words).document["results"])

    assert found() == 4
    assert found("--tags", "x") == 1
    assert found("--tags", "x,z", "--tags-mode", "all") == 0
    assert found("--scope", "red") == 1
    assert found("--unscoped") == 3
    assert found("--scope", "red", "--unscoped") == 4
    assert found("--sources", "manual") == 4
    assert found("--sources", "other") == 0
    assert found("--ids", ",".join(ids[:2])) == 2
    assert found("--exclude-ids", ids[0]) == 3
    assert found("--as-of", "1999-01-01") == 0


def test_update_sets_and_clears(vestig: Vestig, ids: list[str]) -> None:
    vestig("memory", "update", ids[0], "--tags", "a,b", "--metadata", "n=3", "--metadata", "w=x")
    shown = vestig("memory", "show", ids[0], "--json").document
    assert shown["metadata"]["tags"] == ["a", "b"]
    assert (shown["metadata"]["n"], shown["metadata"]["w"]) == (3, "x")
    cleared = vestig("memory", "update", ids[0], "--clear", "tags")
    assert "replaced tags: a, b → none" in cleared.out
    assert "tags" not in vestig("memory", "show", ids[0], "--json").document["metadata"]
    both = vestig("memory", "update", ids[0], "--clear", "tags", "--tags", "c", "--json")
    assert both.code == 2


@pytest.mark.parametrize(
    ("text", "which"), [("Plot 8 is large.", "exact"), ("plot 8 is large", "near")]
)
def test_an_update_to_a_known_text_says_which_takes_the_place(
    vestig: Vestig, text: str, which: str
) -> None:
    first = vestig("add", "Plot 7 is large.", "--json").document["memory_id"]
    known = vestig("add", "Plot 8 is large.", "--json").document["memory_id"]
    said = vestig("update", first, "--content", text).out
    assert said == f"Memory replaced by a known one: {known} ({which} duplicate detected)\n"
    said = vestig("update", known, "--content", "Plot 9 is small.").out
    assert said.startswith("Memory updated by a new text: ")


def test_what_came_is_said_in_words_of_the_command_line(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    none = vestig("rule", "remove", ids[0]).err
    assert "(the memory binds nothing; `vestig rule list` has the ids)" in none
    flat = vestig("update", ids[0], "--topic", "x").err
    assert "`vestig memory add-structured` makes one; set content here" in flat
    tenant = vestig("--tenant", "x", "count", "--store", str(tmp_path / "two")).err
    assert tenant.endswith("where a tenant is named, got another path\n")


@pytest.mark.parametrize("words", ["inspect", "serve", "mcp --transport http"])
@pytest.mark.parametrize("port", ["-1", "65536", "99999"])
def test_a_port_that_is_none_is_refused(vestig: Vestig, words: str, port: str) -> None:
    refused = vestig(*words.split(), f"--port={port}")
    assert refused.code == 2
    assert refused.err == f"Error: port: expected an integer from 0 to 65535, got {port}\n"


def test_export_to_standard_output_and_back(vestig: Vestig, ids: list[str], tmp_path: Path) -> None:
    whole = vestig("export", "-")
    lines = [json.loads(line) for line in whole.out.splitlines()]
    assert len(lines) > len(ids)
    assert whole.err
    (tmp_path / "all.jsonl").write_text(whole.out)
    report = vestig(
        "import", str(tmp_path / "all.jsonl"), "--store", str(tmp_path / "two"), "--json"
    )
    assert report.code == 0
    two = vestig("memory", "list", "--store", str(tmp_path / "two"), "--json").document
    assert {m["id"] for m in two["memories"]} == set(ids)


def test_a_cut_export_is_refused_and_taken_in_part(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    lines = vestig("export", "-").out.splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[:-1]))
    there = ("--store", str(tmp_path / "two"))
    refused = vestig("import", str(cut), *there)
    assert refused.code == 2
    assert f"line {len(lines)}, record: expected more lines" in refused.err
    assert "--partial" in refused.err
    assert vestig("memory", "list", *there, "--json").document["memories"] == []
    part = vestig("import", str(cut), "--partial", *there, "--json")
    assert part.code == 1
    assert f"line {len(lines)}, record" in part.document["errors"][0]["message"]
    held = vestig("memory", "list", *there, "--json").document["memories"]
    assert {memory["id"] for memory in held} == set(ids)


def test_an_export_takes_the_fields_of_the_filter(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    vestig("memory", "update", ids[0], "--tags", "chosen")
    part = tmp_path / "part.jsonl"
    assert vestig("export", str(part), "--tags", "chosen").code == 0
    report = vestig("import", str(part), "--store", str(tmp_path / "two"), "--json")
    assert report.code == 0
    two = vestig("memory", "list", "--store", str(tmp_path / "two"), "--json").document
    assert [m["id"] for m in two["memories"]] == ids[:1]
    both = vestig("export", "-", "--tags", "chosen", "--all-namespaces")
    assert both.code == 2
    assert "where: expected a filter or all_namespaces, got both" in both.err


def test_a_reader_that_goes_away_ends_quietly(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    config = tmp_path / "vestig.yaml"
    script = "from vestig.surfaces.cli import main; main()"
    words = ["memory", "list", "--config", str(config)]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert b"Traceback" not in err
    assert b"BrokenPipe" not in err
    assert ids


def test_control_characters_of_stored_text_do_not_reach_a_terminal() -> None:
    from vestig.surfaces.cli.terminal import _harmless

    assert _harmless("a\x1b]0;title\x07b\n\tc\x9b") == "a\\x1b]0;title\\x07b\n\tc\\x9b"


def test_documents_never_hold_nan() -> None:
    assert wire.encode({"a": [float("nan"), float("inf")]}) == b'{"a":[null,null]}'
