"""Session logs of coding agents: what is a turn, how a log grows, and what a broken line costs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from chats import as_lines, said, store_of
from tables import each
from vestig.exchange.commit_fields import OTHER_KIND
from vestig.exchange.file_records import RecordFile
from vestig.exchange.formats import claude_code, codex
from vestig.exchange.formats.drafts import START, LogPlace, LogTurn, Reading
from vestig.exchange.inputs import StreamInput

SESSION = "5f0c2a58-1111-4c1e-9a57-0d6f0a3b7c11"


def row(uuid: str, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    """A line as Claude Code writes it."""
    message = {"role": kind, "content": content, **fields.pop("message", {})}
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/srv/boats",
        "sessionId": SESSION,
        "version": "2.1.0",
        "gitBranch": "main",
        "type": kind,
        "message": message,
        "uuid": uuid,
        "timestamp": "2026-10-01T09:00:00.000Z",
        **fields,
    }


def text(said_there: str) -> dict[str, Any]:
    return {"type": "text", "text": said_there}


LOG: list[Any] = [
    {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}, "isSnapshotUpdate": False},
    {"type": "ai-title", "aiTitle": "Old title", "sessionId": SESSION},
    row("u-1", "user", "Why does the build fail?"),
    row("a-1", "assistant", [{"type": "thinking", "thinking": "hm", "signature": "s"}],
        message={"id": "msg_1"}),
    row("a-2", "assistant", [text("I look at the log first.")], message={"id": "msg_1"}),
    row("a-3", "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}],
        message={"id": "msg_1"}),
    row("u-2", "user", [{"type": "tool_result", "tool_use_id": "t", "content": "error: no rope"}],
        toolUseResult={"stdout": "error: no rope"}),
    row("a-4", "assistant", [text("And then at the flags.")], message={"id": "msg_1"}),
    row("a-5", "assistant", [text("The rope is missing.")], message={"id": "msg_2"}),
    row("u-3", "user", "<command-name>/clear</command-name>"),
    row("u-4", "user", "<local-command-stdout>done</local-command-stdout>"),
    row("u-5", "user", "Caveat: the messages below", isMeta=True),
    row("u-6", "user", "This session is being continued", isCompactSummary=True),
    row("u-7", "user", "Look for ropes", isSidechain=True),
    {"type": "system", "subtype": "turn_duration", "sessionId": SESSION, "content": "x"},
    {"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-10-01T09:00:00.000Z",
     "sessionId": SESSION, "content": "queued"},
    row("u-8", "user", [text("Then add a rope.")]),
    {"type": "ai-title", "aiTitle": "Missing rope", "sessionId": SESSION},
]  # fmt: skip
TURNS = [
    ("user", "Why does the build fail?"),
    ("assistant", "I look at the log first.\n\nAnd then at the flags."),
    ("assistant", "The rope is missing."),
    ("user", "Then add a rope."),
]
LEFT_OUT = {
    "injected context": 3,
    "line of a side chain": 1,
    "line of type file-history-snapshot": 1,
    "line of type queue-operation": 1,
    "line of type system": 1,
    "summary of a compaction": 1,
    "thinking": 1,
    "tool_result": 1,
    "tool_use": 1,
}
THREAD = "0199a7e2-2222-7000-8000-5a0c3f9b1d20"


def item(kind: str, payload: Any) -> dict[str, Any]:
    """A line as Codex writes it."""
    return {"timestamp": "2026-10-02T10:00:00.000Z", "type": kind, "payload": payload}


def spoken(role: str, *texts: str, **fields: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": one} for one in texts]
    return item("response_item", {"type": "message", "role": role, "content": content, **fields})


CODEX: list[Any] = [
    item("session_meta", {"id": THREAD, "cwd": "/srv/boats", "cli_version": "0.80.0"}),
    spoken("developer", "You may use the shell."),
    spoken(
        "user",
        "# AGENTS.md instructions for /srv/boats\n\n<INSTRUCTIONS>\nTar is black.\n</INSTRUCTIONS>",
    ),
    spoken("user", "<environment_context>\n<cwd>/srv/boats</cwd>\n</environment_context>"),
    spoken("user", "Which planks are rotten?"),
    item("event_msg", {"type": "user_message", "message": "Which planks are rotten?"}),
    item("turn_context", {"cwd": "/srv/boats", "model": "gpt-5-codex"}),
    item("response_item", {"type": "reasoning", "summary": []}),
    item("response_item", {"type": "function_call", "name": "shell", "arguments": "{}"}),
    item("response_item", {"type": "function_call_output", "call_id": "c", "output": "7"}),
    spoken("assistant", "Number seven.", "And number nine.", id="msg_9"),
    spoken("user", "Thanks, that helps a lot."),
]
CODEX_TURNS = [
    ("user", "Which planks are rotten?"),
    ("assistant", "Number seven.\n\nAnd number nine."),
    ("user", "Thanks, that helps a lot."),
]


def test_a_log_of_claude_code() -> None:
    store, report = store_of(as_lines(*LOG))
    assert (report.format, report.lines, report.imported) == ("claude-code", 4, 4)
    assert said(store, SESSION) == TURNS
    assert report.left_out == LEFT_OUT
    turns = {one.content: one for one in store.list()}
    first = turns["Why does the build fail?"]
    assert (first.title, first.metadata["cwd"]) == ("Missing rope", "/srv/boats")
    assert store.events(first.id)[0].artifact_ref == "u-1"
    assert sorted(one.sequence or 0 for one in turns.values()) == [0, 1, 2, 3]


def test_a_log_of_codex() -> None:
    store, report = store_of(as_lines(*CODEX))
    assert (report.format, report.lines, report.imported) == ("codex", 3, 3)
    assert said(store, THREAD) == CODEX_TURNS
    assert report.left_out == {
        "developer message": 1,
        "function_call": 1,
        "function_call_output": 1,
        "injected context": 2,
        "line of type event_msg": 1,
        "line of type turn_context": 1,
        "reasoning": 1,
    }
    refs = {store.events(one.id)[0].artifact_ref for one in store.list()}
    assert refs == {f"{THREAD}:0", "msg_9", f"{THREAD}:2"}


def test_title_given_by_the_user_wins_and_a_summary_counts() -> None:
    named = {"type": "custom-title", "customTitle": "Ropes", "sessionId": SESSION}
    store, _ = store_of(as_lines(named, *LOG))
    assert {one.title for one in store.list()} == {"Ropes"}
    summary = {"type": "summary", "summary": "Of ropes", "leafUuid": "u-1"}
    store, report = store_of(as_lines(summary, row("u-1", "user", "Which rope is the best one?")))
    assert ({one.title for one in store.list()}, report.failed) == ({"Of ropes"}, 0)


def test_forks_and_resumed_sessions_bring_in_what_is_new() -> None:
    store, _ = store_of(as_lines(*LOG))
    again = store.import_(as_lines(*LOG))
    assert (again.imported, again.skipped, again.duplicates) == (0, 4, 0)
    fork = [{**one, "sessionId": "fork"} if "sessionId" in one else one for one in LOG]
    fork.append({**row("u-9", "user", "And a second rope."), "sessionId": "fork"})
    forked = store.import_(as_lines(*fork))
    assert (forked.imported, forked.skipped) == (1, 4)
    assert said(store, "fork") == [("user", "And a second rope.")]
    assert {one.reinforce_count for one in store.list(limit=50)} == {0}


@pytest.mark.parametrize(("log", "whole"), [(LOG, TURNS), (CODEX, CODEX_TURNS)])
def test_a_log_cut_anywhere_ends_as_the_whole(log: list[Any], whole: list[Any]) -> None:
    data = as_lines(*log).getvalue()
    session = SESSION if log is LOG else THREAD
    form = "claude-code" if log is LOG else "codex"
    for cut in range(1, len(data), 211):
        store, report = store_of(io.BytesIO(data[:cut]), format=form)
        assert report.failed == 0
        assert report.left_out.get("line that is still being written", 0) <= 1
        later = store.import_(io.BytesIO(data), format=form)
        assert later.failed == 0
        turns = said(store, session)
        # a message that was cut between its blocks keeps those that it had
        assert [one for one, _ in turns] == [one for one, _ in whole]
        assert turns[-1] == whole[-1]


@pytest.mark.parametrize(("log", "reader"), [(LOG, claude_code), (CODEX, codex)])
def test_reading_goes_on_from_any_turn(log: list[Any], reader: Any) -> None:
    data = as_lines(*log).getvalue().replace(b"\n", b"\r\n")

    def turns(place: LogPlace) -> list[LogTurn]:
        found = list(reader.turns(RecordFile(StreamInput(io.BytesIO(data))), Reading(), place))
        assert all(isinstance(one, LogTurn) for one in found)
        return found

    whole = turns(START)
    for place, turn in enumerate(whole):
        assert turn.number == place
        assert turns(turn.after) == whole[place + 1 :]


def test_a_folder_of_logs(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-srv-boats"
    project.mkdir(parents=True)
    (project / f"{SESSION}.jsonl").write_bytes(as_lines(*LOG).getvalue())
    (project / "rollout.jsonl").write_bytes(as_lines(*CODEX).getvalue())
    (project / "sessions-index.json").write_text('{"version": 1}')
    (project / "broken.jsonl").write_text("no JSON at all\n")
    (project / "notes.md").write_text("# Notes")
    (project / ".hidden.jsonl").write_text("no JSON at all\n")
    store, report = store_of(tmp_path / "projects", recursive=True)
    assert (report.format, report.imported, report.failed) == ("mixed", 8, 1)
    assert [Path(one.path).name for one in report.files if not one.left_out.get(OTHER_KIND)] == [
        f"{SESSION}.jsonl", "broken.jsonl", "notes.md", "rollout.jsonl",
    ]  # fmt: skip
    assert "broken.jsonl" in report.errors[0].message
    assert report.left_out[OTHER_KIND] == 1
    assert Path(report.files[-1].path).name == "sessions-index.json"
    assert said(store, SESSION) == TURNS


GOOD = row("u-1", "user", "Which rope is the best one?")
LAST = row("u-99", "user", "Then the grey one it is.")
BROKEN: dict[str, Any] = {
    "cut in the middle": json.dumps(GOOD)[:80],
    "no UTF-8": json.dumps(GOOD).encode().replace(b"rope", b"r\xf6pe"),
    "words": "hello there",
    "an array": [GOOD],
    "message is text": {**GOOD, "message": "hello"},
    "message is missing": {key: GOOD[key] for key in GOOD if key != "message"},
    "content is a number": row("b-1", "user", 7),
    "content is missing": {**GOOD, "message": {"role": "user"}},
    "session is missing": {key: GOOD[key] for key in GOOD if key != "sessionId"},
    "uuid is a list": {**GOOD, "uuid": ["a"]},
    "time is a number": {**GOOD, "timestamp": 5},
    "time is no time": {**GOOD, "uuid": "b-2", "timestamp": "soon"},
    "too deep": {**GOOD, "x": json.loads("[" * 80 + "]" * 80)},
    "a surrogate half": json.dumps(GOOD).replace("rope", "\\ud83d"),
}


@each("name", BROKEN)
def test_a_broken_line_costs_itself(name: str) -> None:
    store, report = store_of(as_lines(LOG[2], BROKEN[name], LAST), format="claude-code")
    assert (report.imported, report.failed, report.lines) == (2, 1, 3), report.errors
    assert report.errors[0].message.startswith("line 2: ")
    assert "best one" not in report.errors[0].message
    assert said(store, SESSION)[-1] == ("user", "Then the grey one it is.")


BROKEN_ITEMS: dict[str, Any] = {
    "cut in the middle": json.dumps(CODEX[4])[:60],
    "no UTF-8": json.dumps(CODEX[4]).encode().replace(b"planks", b"pl\xe4nks"),
    "words": "hello there",
    "a number": 7,
    "payload is text": item("response_item", "hello"),
    "payload is missing": {"type": "response_item"},
    "content is text": item("response_item", {"type": "message", "role": "user", "content": 7}),
    "content is missing": item("response_item", {"type": "message", "role": "user"}),
    "id is a list": spoken("user", "hello", id=["a"]),
    "time is a list": {**spoken("user", "hello"), "timestamp": ["a"]},
    "time is no time": {**spoken("user", "hello to all of you"), "timestamp": "soon"},
    "too deep": {**spoken("user", "hello"), "x": json.loads("[" * 80 + "]" * 80)},
}


@each("name", BROKEN_ITEMS)
def test_a_broken_line_of_codex_costs_itself(name: str) -> None:
    store, report = store_of(as_lines(CODEX[0], BROKEN_ITEMS[name], CODEX[4]), format="codex")
    assert (report.imported, report.failed, report.lines) == (1, 1, 2), report.errors
    assert report.errors[0].message.startswith("line 2: ")
    assert said(store, THREAD) == [("user", "Which planks are rotten?")]


MACHINE = {
    "output of a command": row("m", "user", "<bash-stdout>412 lines</bash-stdout>"),
    "a command and its output": row(
        "m", "user", "<bash-input>wc -l x.log</bash-input>\n<bash-stdout>412</bash-stdout>"
    ),
    "an interruption": row("m", "user", [text("[Request interrupted by user]")]),
    "an end of a task": row("m", "user", "<task-notification>\n<id>1</id>\n</task-notification>"),
    "a mate": row("m", "user", '<teammate-message teammate_id="a">hello there</teammate-message>'),
    "an error of the service": row(
        "m", "assistant", "API Error: 529 of it", isApiErrorMessage=True
    ),
    "an answer of no model": row(
        "m", "assistant", "No response requested.", message={"model": "<synthetic>"}
    ),
    "an origin": row("m", "user", "The task is over now.", origin={"kind": "task-notification"}),
    "for display": row("m", "user", "Shown alone, not said.", isVisibleInTranscriptOnly=True),
    "noise": row("m", "user", "ok"),
}


@each("name", MACHINE)
def test_what_the_editor_wrote_is_left_out_and_counted(name: str) -> None:
    spoken_too = row("u", "user", "The crane lifts nine tons.")
    store, report = store_of(as_lines(spoken_too, MACHINE[name]))
    assert said(store, SESSION) == [("user", "The crane lifts nine tons.")]
    assert sum(report.left_out.values()) == 1


@each(
    ("given", "kept"),
    [
        ("What does <bash-stdout> mean in a log?", None),
        ("I see this:\n<system-reminder>Keep quiet.</system-reminder>", None),
        ("Why <bash-stdout>412</bash-stdout> and no more lines?", None),
        ("<bash-stdout>412</bash-stdout> is what I see, why is that?", None),
        ("```\n<system-reminder>Keep quiet.</system-reminder>\n```\nWhat is this?", None),
        ("[Request interrupted by user] is what it says, why?", None),
        ("An element without an end: <system-reminder> and more", None),
        (
            "Where is the port set?\n\n<system-reminder>Keep quiet.</system-reminder>",
            "Where is the port set?",
        ),
        (
            "<ide_opened_file>The user opened x.py</ide_opened_file>\nWhere is the port set?",
            "Where is the port set?",
        ),
    ],
)
def test_what_a_person_quotes_stays_whole(given: str, kept: str | None) -> None:
    store, _ = store_of(as_lines(row("u", "user", given)))
    assert said(store, SESSION) == [("user", kept or given)]


def test_what_codex_wrote_is_left_out() -> None:
    lines = [
        CODEX[0],
        spoken("user", "<turn_aborted>\nThe user interrupted.\n</turn_aborted>"),
        spoken("user", "<user_shell_command>\n<command>ls</command>\n</user_shell_command>"),
        spoken("user", "<skill>\n<name>x</name>\nbody\n</skill>"),
        spoken("user", "What does <turn_aborted> mean in the log?"),
        spoken("user", "# AGENTS.md\nPlease write one."),
    ]
    store, report = store_of(as_lines(*lines))
    assert [one for _, one in said(store, THREAD)] == [
        "What does <turn_aborted> mean in the log?",
        "# AGENTS.md\nPlease write one.",
    ]
    assert report.left_out["injected context"] == 3


@pytest.mark.parametrize("before", [b"\x00" * 64, b"\x00" * 64 + b"\n", b'{"type":"user","se\n'])
def test_what_a_crash_left_costs_its_place_alone(before: bytes) -> None:
    spoken_too = row("u", "user", "The crane lifts nine tons.")
    store, report = store_of(io.BytesIO(before + as_lines(spoken_too).read()))
    assert said(store, SESSION) == [("user", "The crane lifts nine tons.")]
    assert report.left_out.get("zeros in the place of text", 0) + report.failed == 1
