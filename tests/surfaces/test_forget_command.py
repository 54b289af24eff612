"""`memory forget` and `housekeeping gc`: plans, consent, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_answers import FACTS, UNKNOWN, Vestig

from vestig.surfaces.cli.terminal import Terminal


def test_without_yes_and_terminal_nothing_goes(vestig: Vestig, ids: list[str]) -> None:
    answer = vestig("memory", "forget", ids[0])
    assert answer.code == 2
    assert f"  {ids[0]}  {FACTS[0]}\n" in answer.err, "the plan is shown"
    assert "nothing was done: without a terminal" in answer.err
    assert "--yes confirms it" in answer.err
    assert answer.out == ""
    assert vestig("memory", "forget", ids[0], "--json").problem["type"].endswith(":validation")
    assert vestig("memory", "show", ids[0]).code == 0


def test_yes_forgets_several_and_prints_the_proof(vestig: Vestig, ids: list[str]) -> None:
    answer = vestig("memory", "forget", ids[0], ids[1][:14], "--yes")
    assert answer.code == 0
    assert "2 memories forgotten" in answer.out
    assert "0 residues" in answer.out
    shown = vestig("memory", "show", ids[0])
    assert shown.code == 1
    assert "forgotten at" in shown.err
    assert vestig("doctor").code == 0


def test_json_holds_the_whole_report(vestig: Vestig, ids: list[str]) -> None:
    report = vestig("memory", "forget", ids[0], "--yes", "--actor", "ops", "--json").document
    assert report["memory_ids"] == [ids[0]]
    assert report["rows_removed"]["memories"] == 1
    assert report["residues"] == 0
    assert report["files_scanned"] > 0


def test_a_dry_run_needs_no_consent(vestig: Vestig, ids: list[str]) -> None:
    for line in (("forget", ids[0], ids[1]), ("deprecate", "--ids", ",".join(ids[:2]))):
        planned = vestig(*line, "--dry-run")
        assert planned.code == 0
        for id, text in zip(ids[:2], FACTS, strict=False):
            assert f"  {id}  {text}\n" in planned.out
    assert vestig("memory", "show", ids[0]).code == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((UNKNOWN, "--yes"), 1),
        (("--finish",), 0),
        ((), 2),
        (("--finish", "--force"), 2),
        (("--yes",), 2),
    ],
)
def test_exit_codes(vestig: Vestig, ids: list[str], words: tuple[str, ...], code: int) -> None:
    assert vestig("memory", "forget", *words).code == code
    assert vestig("memory", "list", "--json").document["total"] == len(ids)


def test_filters_and_pins(vestig: Vestig, ids: list[str]) -> None:
    vestig("memory", "update", ids[0], "--tags", "old")
    vestig("memory", "pin", ids[0])
    assert vestig("memory", "forget", "--tags", "old", "--yes").code == 1
    assert vestig("memory", "forget", "--tags", "old", "--yes", "--force").code == 0
    assert vestig("memory", "list", "--json").document["total"] == len(FACTS) - 1


def test_the_plan_names_the_fields_that_select(vestig: Vestig, ids: list[str]) -> None:
    vestig("memory", "update", ids[0], "--tags", "old")
    vestig("memory", "archive", ids[0])
    answer = vestig("memory", "forget", "--tags", "OLD", "--since", "2000-01-01", "--dry-run")
    assert "1 memory would be forgotten for good, selected by tags, since:" in answer.out
    refused = vestig("memory", "forget", "--since", "2000-01-01", "--yes")
    assert refused.code == 2
    assert "add --all: `vestig forget --since … --all`" in refused.err
    assert vestig("memory", "forget", "--all", "--yes").code == 2
    assert vestig("memory", "forget", "--tags", "old", "--yes").code == 0


@pytest.mark.parametrize(("said", "code", "left"), [(True, 0, 2), (False, 1, 3)])
def test_a_terminal_is_asked(
    vestig: Vestig,
    ids: list[str],
    monkeypatch: pytest.MonkeyPatch,
    said: bool,
    code: int,
    left: int,
) -> None:
    asked = []

    def confirm(_: Terminal, plan: str) -> bool:
        asked.append(plan)
        return said

    monkeypatch.setattr(Terminal, "confirm", confirm)
    answer = vestig("memory", "forget", ids[0])
    assert answer.code == code
    assert f"{ids[0]}  {FACTS[0]}" in asked[0]
    # what was forgotten is printed nowhere
    assert FACTS[0] not in answer.out + answer.err
    assert vestig("memory", "list", "--json").document["total"] == left


def stored(vestig: Vestig, text: str, *words: str) -> str:
    return str(vestig("add", text, *words, "--json").document["memory_id"])


@pytest.mark.parametrize("command", ["deprecate", "forget"])
def test_what_a_session_or_a_source_brought_is_taken_out(vestig: Vestig, command: str) -> None:
    kept = stored(vestig, "The office is in Bergen", "--source", "handbook")
    joke = ("--session-id", "s 9", "--sequence")
    gone = {
        stored(vestig, "The office is on the moon", *joke, "1", "--supersedes", kept),
        stored(vestig, "The office is on the sun", *joke, "2"),
    }
    both = stored(vestig, "The office has nine rooms", "--source", "crawler")
    assert stored(vestig, "The office has nine rooms", "--source", "handbook") == both
    refused = vestig(command, "--session", "s 9")
    assert refused.code == 2
    assert "2 memories would be " in refused.err
    assert "selected by session_ids" in refused.err
    assert "--yes confirms it" in refused.err
    plan = vestig(command, "--session", "s 9", "--dry-run")
    assert (plan.code, plan.out in refused.err) == (0, True)
    assert all(id in plan.out for id in (*gone, kept))
    assert vestig("count").out == "3\n"
    report = vestig(command, "--session", "s 9", "--yes", "--json").document
    assert (set(report["memory_ids"]), report["had_superseded"]) == (gone, [kept])
    again = vestig(command, "--session", "s 9", "--yes")
    assert (again.code, again.out) == (0, f"Nothing to {command}\n")
    unasked = vestig(command, "--session", "s 9")
    assert (unasked.code, unasked.out) == (0, f"Nothing to {command}\n")
    # what is withdrawn still has its session
    warned = "warning: session_ids: no memory has the session 's 9'\n"
    assert unasked.err == ("" if command == "deprecate" else warned)
    assert vestig(command, "--source", "crawler", "--only", "--yes").code == 0
    assert vestig("count").out == "1\n"
    done = vestig(command, "--source", "crawler", "--yes")
    assert (done.code, done.out.startswith("1 memory ")) == (0, True)
    assert vestig("count").out == "0\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "where: expected id, or a filter"),
        (("--yes",), "where: expected id, or a filter"),
        (("--since", "2020-01-01", "--yes"), "add --all: `vestig deprecate --since … --all`"),
        (("--session", "", "--yes"), "session_ids: expected"),
        (("--session", "s", "--only", "--yes"), "only: expected it beside `sources`"),
        ((UNKNOWN, "--session", "s", "--yes"), "id: expected either id or a filter"),
        ((UNKNOWN, "--dry-run"), "dry_run: expected it beside where"),
    ],
)
def test_a_withdrawal_that_selects_nothing_is_refused(
    vestig: Vestig, ids: list[str], words: tuple[str, ...], told: str
) -> None:
    answer = vestig("deprecate", *words)
    assert answer.code == 2
    assert told in answer.err
    assert vestig("memory", "list", "--json").document["total"] == len(ids)


@pytest.mark.parametrize(
    "words", [("deprecate", "--session", "x"), ("item", "delete", "nokey")], ids=" ".join
)
def test_what_nothing_was_done_of_is_no_dry_run(
    vestig: Vestig, ids: list[str], words: tuple[str, ...]
) -> None:
    assert ids
    assert vestig(*words, "--json").document["dry_run"] is False
    assert vestig(*words, "--dry-run", "--json").document["dry_run"] is True


@pytest.mark.parametrize(
    "flag", ["--tags", "--exclude-tags", "--ids", "--exclude-ids", "--kinds", "--authors"]
)
@pytest.mark.parametrize("value", ["", ",", " "])
def test_an_option_of_a_filter_without_a_word_is_refused(
    vestig: Vestig, ids: list[str], flag: str, value: str
) -> None:
    assert ids
    if (flag, value) == ("--authors", ","):
        return
    answer = vestig("memory", "list", flag, value)
    assert answer.code == 2
    assert "expected texts that are not blank, got" in answer.err
    assert vestig("memory", "add", "A note without a tag.", "--tags", "").code == 0


def test_gc_on_the_command_line(vestig: Vestig, ids: list[str]) -> None:
    assert ids
    report = vestig("housekeeping", "gc", "--dry-run", "--json").document
    assert (report["sources_removed"], report["edges_removed"]) == (0, 0)
    assert "0 sources" in vestig("housekeeping", "gc").out


def test_an_import_names_what_was_forgotten_elsewhere(
    vestig: Vestig, ids: list[str], tmp_path: Path
) -> None:
    first, second = str(tmp_path / "all.jsonl"), str(tmp_path / "later.jsonl")
    there = ("--store", str(tmp_path / "two"))
    assert vestig("export", first).code == 0
    assert vestig("import", first, *there).code == 0
    assert vestig("memory", "forget", ids[0], "--yes").code == 0
    assert "tombstone" in vestig("export", second).out
    answer = vestig("import", second, "--merge", *there)
    assert answer.code == 0
    assert ids[0] in answer.out
    assert "1 memories of namespace default were forgotten elsewhere" in answer.err
    report = vestig("import", second, "--merge", "--json", *there).document
    assert report["forgotten_elsewhere"] == [ids[0]]
    assert vestig("memory", "forget", *report["forgotten_elsewhere"], "--yes", *there).code == 0
    report = vestig("import", first, "--merge", "--json", *there).document
    assert (report["memories"], report["forgotten_elsewhere"]) == (0, [])
    assert vestig("memory", "list", "--json", *there).document["total"] == len(FACTS) - 1


def test_prune_on_the_command_line(vestig: Vestig, ids: list[str]) -> None:
    old = stored(vestig, "The lift is out of order", "--retention-until", "2020-01-01")
    pinned = stored(vestig, "The door is out of order", "--retention-until", "2020-01-01", "--pin")
    plan = vestig("prune", "--dry-run")
    assert plan.code == 0
    assert plan.out.splitlines() == [
        f"{len(ids) + 2} memories looked at, 1 would be removed for good, 1 due but kept"
        " (1 by pinned)",
        f"  {old}  The lift is out of order",
    ]
    assert vestig("show", old).code == 0
    report = vestig("housekeeping", "prune", "--json").document
    assert (report["schema"], report["memory_ids"]) == ("vestig/prune/1", [old])
    assert report["kept"] == {"pinned": 1, "permanent": 0, "retention_until": 0}
    assert vestig("show", pinned).code == 0
    assert vestig("prune").out == (
        f"{len(ids) + 1} memories looked at, 0 removed for good, 1 due but kept (1 by pinned)\n"
    )
    refused = vestig("prune", "--superseded-after-days", "-1")
    assert (refused.code, "superseded_after_days" in refused.err) == (2, True)
    assert vestig("prune", "--superseded-after-days", "0").code == 0


def test_diff_on_the_command_line(vestig: Vestig, ids: list[str]) -> None:
    shown = vestig("diff", "--from", "2020-01-01")
    assert shown.code == 0
    assert shown.out.splitlines()[0].endswith(f": {len(ids)} learnt")
    assert all(id in shown.out for id in ids)
    assert vestig("diff", "--from", "2020-01-01", "--to", "2020-02-01").out.endswith(": nothing\n")
    missing = vestig("diff")
    assert (missing.code, "--from: expected a date or a time" in missing.err) == (2, True)
    assert "got nothing; --from takes it" in missing.err
    backwards = vestig("diff", "--from", "2021-01-01", "--to", "2020-01-01")
    assert (backwards.code, "--from: expected a time until" in backwards.err) == (2, True)


def test_a_field_that_selects_nothing_alone_leads_to_the_line_that_does(
    vestig: Vestig, ids: list[str]
) -> None:
    for name in ("forget", "deprecate"):
        refused = vestig(name, "--until", "7d")
        assert refused.code == 2
        line = f"`vestig {name} --until … --all`"
        assert f"to {name} by until alone, add --all: {line}" in refused.err
    assert vestig("count").out == f"{len(ids)}\n"


def test_what_stays_of_a_name_is_told_before_anybody_agrees(vestig: Vestig) -> None:
    vestig("add", "Petra Hahn takes six boxes")
    vestig("add", "Ask Hahn about the wood")
    plan = vestig("forget", "--entities", "Petra Hahn")
    assert plan.code == 2
    told = plan.err[plan.err.index("would be forgotten for good") :]
    assert "warning: a word of the name stays in 1 memory" in told
    assert told.index("Ask Hahn about the wood") < told.index("--yes confirms it")
