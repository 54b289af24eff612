"""Flags of `memory recall` on the command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from command_answers import UNKNOWN, Vestig

import vestig as library
from vestig.calls.argument import Time
from vestig.config import Config
from vestig.surfaces.cli import commands, render
from vestig.surfaces.cli.parameters import dated
from vestig.testing import HashingEmbedder
from vestig.times import zone_named

QUERY = "which port has the staging database?"


def test_seed_mode_and_order(vestig: Vestig, ids: list[str]) -> None:
    words = ("--seed", "7", "--mode", "deterministic", "--order", "dfs")
    document = vestig("memory", "recall", QUERY, *words, "--json", "--explain").document
    assert (document["seed"], document["seed_origin"]) == (7, "call")
    assert (document["mode"], document["order"]) == ("deterministic", "dfs")
    drawn = vestig("search", QUERY, "--seed", "random", "--json").document
    assert drawn["seed_origin"] == "random"
    again = vestig("search", QUERY, "--seed", str(drawn["seed"]), "--json").document
    assert again["results"] == drawn["results"]
    assert vestig("memory", "recall", QUERY, "--seed", "-1").code == 2
    assert vestig("memory", "recall", QUERY, "--mode", "quick").code == 2


def test_profiles_on_the_command_line(vestig: Vestig, ids: list[str]) -> None:
    document = vestig(
        "memory", "recall", QUERY, "--profile", "reference", "--json", "--explain"
    ).document
    assert document["profile"] == "reference"
    assert document["formula"]["base"] == "semantic"
    shown = vestig("config", "explain", "reference.alpha_meta", "--profile", "reference")
    assert "0.6  [profile reference]" in shown.out
    answer = vestig("memory", "recall", QUERY, "--profile", "nope")
    assert answer.code == 2
    assert "baseline, default, reference" in answer.err


def test_why_not(vestig: Vestig, ids: list[str]) -> None:
    words = ("memory", "recall", QUERY, "--limit", "1", "--profile", "baseline")
    answer = vestig(*words, "--expect", f"{ids[2]},{UNKNOWN}")
    assert answer.code == 0
    shown, *blocks = answer.out.split("\n\n")
    assert ids[0] in shown
    assert blocks[0] == "at least 1 more: --offset 1"
    assert blocks[1].startswith(f"Why not {ids[2]}: ranked below the last result; rank ")
    assert "\n  Change: limit from 1 to " in blocks[1]
    assert blocks[2].startswith(f"Why not {UNKNOWN}: no memory has this id\n  No change: ")
    document = vestig(*words, "--expect", ids[2], "--json").document
    (entry,) = document["why_not"]
    assert (entry["id"], entry["stage"], entry["change"]["kind"]) == (
        ids[2],
        "ranked_below",
        "limit",
    )
    assert vestig(*words, "--expect", "x").code == 2


def test_entities_by_name(vestig: Vestig) -> None:
    vestig("memory", "add", "The keys are kept by Ada Lovelace in the cellar")
    vestig("memory", "add", "The keys of the boat are kept on the pier")
    words = ("search", "keys", "--entities")
    found = vestig(*words, "Ada Lovelace", "--json").document["results"]
    assert [hit["content"][-6:] for hit in found] == ["cellar"]
    (entity,) = vestig("entity", "list", "--json").document["entities"]
    assert vestig(*words, entity["id"], "--json").document["results"] == found
    assert vestig(*words, "Nobody Known", "--json").document["results"] == []


def test_a_turn_that_repeats_a_text(vestig: Vestig) -> None:
    text = "Yes, please do that for me."
    words = ("memory", "add", text, "--author", "Ann", "--sequence", "1", "--session-id")
    first = vestig(*words, "s1", "--json").document
    assert (first["outcome"], first["repeats"]) == ("INSERTED_NEW", None)
    told = vestig(*words, "s2")
    assert told.out.startswith("Memory stored: mem_")
    assert told.out.rstrip().endswith(f" (repeats {first['memory_id']})")
    assert "(exact duplicate detected)" in vestig(*words, "s2").out
    found = vestig("memory", "recall", text, "--json", "--explain").document
    (hit,) = found["results"]
    assert found["counts"]["folded"] == 1
    assert {hit["session_id"], *(one["session_id"] for one in hit["repeats"])} == {"s1", "s2"}
    assert ", repeats=1)" in vestig("memory", "recall", text).out
    one = vestig("memory", "recall", text, "--session-ids", "s2", "--json", "--explain").document
    assert [hit["session_id"] for hit in one["results"]] == ["s2"]
    assert "repeats" not in one["results"][0]
    assert len(vestig("memory", "list", "--json").document["memories"]) == 2


def test_what_ended_is_marked_wherever_results_are_shown(vestig: Vestig) -> None:
    ended = ("The lab partner is Synlab Nord", "--t-valid", "2020-01-01", "--t-invalid")
    vestig("add", *ended, "2021-06-01")
    old = vestig("add", "The lab partner was Labor West", "--json").document["memory_id"]
    vestig("add", "The lab partner is Labor Ost", "--supersedes", old)
    asked = ("recall", "lab partner", "--all", "--include-expired")
    for layout in ("text", "compact", "list", "explain"):
        shown = vestig(*asked, "--format", layout).out
        assert shown.count("Note: ") == 2
        assert "Note: ended 2021-06-01." in shown
        assert "Note: replaced." in shown
    assert "No longer valid since 2021-06-01." in vestig(*asked, "--explain").out
    assert "Note: ended 2021-06-01." in vestig("search", "lab partner", "--all").out
    assert "| until=2021-06-01 |" in vestig("list").out
    # what was printed is no new memory
    printed = vestig(*asked, "--format", "text").out
    assert vestig("add", printed, "--json").document["outcome"] == "EXACT_DUPE"
    assert len(vestig("list", "--json").document["memories"]) == 2


def test_a_namespace_that_nothing_has_is_named(vestig: Vestig, ids: list[str]) -> None:
    said = "no memory is in the namespace defalt; nearest: default"
    lines = ("list", "recall port", "search port", "count", "keys", "entity list", "list --tags x")
    for line in lines:
        answer = vestig(*line.split(), "--namespace", "defalt")
        assert (answer.code, said in answer.err) == (0, True), line
        assert "no memory is in" not in vestig(*line.split()).err, line


def test_the_first_memory_of_a_namespace_is_named(vestig: Vestig) -> None:
    def add(text: str, space: str = "harbour") -> str:
        return vestig("add", text, "--namespace", space).err

    assert "the first memory of" not in add("The crane is blue")
    assert "first memory of the namespace harbor; others are harbour" in add(
        "The berth is nine", "harbor"
    )
    assert "the first memory of" not in add("The quay is long", "harbor")
    assert "the first memory of" not in vestig("add", "The pump is old").err


def test_days_are_words_at_the_command_line(vestig: Vestig, ids: list[str]) -> None:
    for line in ("list --since", "list --created-since", "diff --from"):
        for day in ("today", "yesterday", "7d", "Today"):
            assert all(id[:12] in vestig(*line.split(), day).out for id in ids), line
    assert vestig("count", "--since", "yesterday").out == "3\n"
    assert vestig("count", "--until", "yesterday").out == "0\n"
    assert vestig("count", "--valid-at", "2d").out == "0\n"
    vestig("add", "The crane was oiled", "--t-valid", "yesterday")
    assert vestig("count", "--until", "yesterday").out == "1\n"
    assert vestig("count", "--until", "today").out == "4\n", "a day counts whole"
    # a number of days is no time where it may lie ahead
    for option in ("--t-valid", "--t-invalid"):
        assert vestig("add", "The crane was painted", option, "7d").code == 2
    kept = vestig("add", "The crane was painted", "--retention-until", "7d", "--json").document
    shown = vestig("show", kept["memory_id"], "--json").document
    until = datetime.fromisoformat(shown["retention_until"])
    assert timedelta(0) <= datetime.now(UTC) + timedelta(days=7) - until < timedelta(minutes=5)
    refused = vestig("list", "--since", "last week").err
    assert "today or yesterday; to look back also 7d, seven days ago, got 'last week'" in refused
    assert "today or yesterday; to look back also 7d" in " ".join(vestig("list", "-h").out.split())


def test_an_error_names_the_option_that_was_typed(vestig: Vestig, ids: list[str]) -> None:
    answer = vestig("diff", "--from", "soon")
    assert answer.err.startswith("Error: --from: expected a time")
    problem = vestig("diff", "--from", "soon", "--json").problem
    assert problem["errors"][0]["loc"] == ["start"]
    assert vestig("list", "--since", "soon").err.startswith("Error: since: expected a time")


def test_a_scope_that_nothing_has_is_named(vestig: Vestig) -> None:
    vestig("add", "The berth is number nine", "--scope", "harbour")
    vestig("add", "The shed is painted red", "--scope", "garden")
    said = "no memory has the scope 'Harbor'; known are 'harbour'"
    for words in (("list",), ("recall", "berth"), ("count",), ("forget", "--yes")):
        asked = vestig(*words, "--scope", "Harbor")
        assert (asked.code, said in asked.err) == (0, True), words
    assert "no memory" not in vestig("recall", "zzz", "--scope", "harbour").err
    other = vestig("list", "--scope", "harbour", "--tags", "none").err
    assert other == "warning: tags: no memory has the tag 'none'\n"
    shown = vestig("stats").out
    assert "harbour 1" in shown
    assert "default 2" in shown
    assert vestig("stats", "--json").document["scopes"] == {"garden": 1, "harbour": 1}


def test_a_time_before_all_that_is_stored_leads_to_what_held_then(vestig: Vestig) -> None:
    vestig("add", "Ines lived in Graz", "--t-valid", "2023-05-01")
    for line in (("recall", "where did Ines live?"), ("list",), ("count",)):
        hint = vestig(*line, "--as-of", "2024-01-01").err
        assert "--valid-at 2024-01-01 asks what held then, and finds 1 memory" in hint
        assert "--valid-at" not in vestig(*line, "--as-of", "2022-01-01").err


@pytest.mark.parametrize("command", ["recall", "search"])
def test_a_pipe_gets_nothing_where_nothing_answers(
    vestig: Vestig, ids: list[str], command: str
) -> None:
    """What is read into a prompt has no near misses."""
    line = (command, "who paints the ceiling?", "--silence", "0.02")
    silenced = vestig(*line)
    assert (silenced.code, silenced.out) == (0, "")
    assert ", needed 0." in silenced.err
    assert ids[0] in silenced.err
    assert ids[0] in vestig(*line, "--explain").out
    assert ids[0] in vestig(command, "who paints the ceiling?", "--all").out
    assert vestig(*line, "--context").out == ""
    assert vestig(*line, "--json").document["abstained"] is True


def test_a_question_for_all_says_that_some_were_left_out() -> None:
    with library.open(":memory:", embedder=HashingEmbedder(64)) as store:
        store.commit("The pump failed on Monday")
        every, one = (
            store.recall(query, all=True)
            for query in ("Tell me everything about the pump", "When did the pump fail?")
        )
    said = ["what ranks far lower was left out: --all shows it"]
    for result, shown in ((every, said), (one, [])):
        counts = msgspec.structs.replace(result.counts, cut=3)
        assert render.more(msgspec.structs.replace(result, counts=counts), {}) == shown
        assert render.more(result, {}) == []


def test_advice_names_the_option(vestig: Vestig, ids: list[str]) -> None:
    line = ("recall", "who paints the ceiling?", "--silence", "0.02", "--expect", ids[0])
    shown = vestig(*line).out
    assert "  Change: --all brings it to rank 1" in shown
    assert "false" not in shown


def test_what_has_no_scope_is_named_where_a_scope_answers_nothing(vestig: Vestig) -> None:
    vestig("add", "The berth is number nine", "--scope", "harbour")
    vestig("add", "The shed is painted red")
    said = "1 memory without a scope, not asked: --unscoped beside --scope adds what has none\n"
    asked = ("recall", "what colour is the shed?", "--scope", "harbour")
    assert vestig(*asked).err.startswith(said)
    assert said not in vestig(*asked, "--unscoped").err
    assert (
        said not in vestig("recall", "what is the number of the berth?", "--scope", "harbour").err
    )


def test_a_typed_question_waits_for_the_judge_unless_it_is_configured(
    vestig: Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = list[float]()

    def keep(config: Config, *_: object, **__: object) -> None:
        waited.append(config.settings.judge.budget_ms)
        raise library.ConflictError("enough")

    monkeypatch.delenv("VESTIG_JUDGE__BUDGET_MS", raising=False)
    monkeypatch.setattr(commands, "open_session", keep)
    vestig("recall", "who manages the workshop?")
    vestig("list")
    monkeypatch.setenv("VESTIG_JUDGE__BUDGET_MS", "70")
    vestig("search", "workshop")
    assert waited == [1500.0, 150.0, 70.0]


def test_today_is_a_day_of_the_zone_and_has_begun() -> None:
    """Where it is tomorrow already in the zone, its day has not begun in UTC."""
    now = datetime(2026, 12, 1, 12, 34, tzinfo=zone_named("Pacific/Kiritimati"))
    params = [Time("", "--t-valid", name="t_valid"), Time("", "--valid-at", name="at", day_us=1)]
    found = {
        said: dated(params, {"t_valid": said, "at": said}, lambda: now)
        for said in ("today", "yesterday")
    }
    assert found["today"] == {
        "t_valid": "2026-12-01T00:00:00+14:00",
        "at": "2026-12-01T12:34:00+14:00",
    }
    assert found["yesterday"] == {
        "t_valid": "2026-11-30T00:00:00+14:00",
        "at": "2026-11-30T23:59:59.999999+14:00",
    }
