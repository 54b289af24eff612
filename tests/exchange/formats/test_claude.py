"""Exports of Claude: conversations, memories, projects, and what a broken one costs."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chats import as_file, said, store_of, texts, zipped
from tables import each


def said_by(uuid: str, sender: str, text: str, *blocks: Any, **fields: Any) -> dict[str, Any]:
    """A message as Claude exports it."""
    return {
        "uuid": uuid,
        "text": text,
        "content": list(blocks) or [{"type": "text", "text": text, "citations": []}],
        "sender": sender,
        "created_at": "2026-03-05T08:15:30.125000Z",
        "updated_at": "2026-03-05T08:15:30.125000Z",
        "attachments": [],
        "files": [],
        **fields,
    }


def chat(uuid: str, name: str, *messages: dict[str, Any]) -> dict[str, Any]:
    """A conversation as Claude exports it."""
    return {
        "uuid": uuid,
        "name": name,
        "summary": "",
        "created_at": "2026-03-05T08:15:00.000000Z",
        "updated_at": "2026-03-05T09:00:00.000000Z",
        "account": {"uuid": "acc-1"},
        "chat_messages": list(messages),
    }


GARDEN = chat(
    "c-garden",
    "Tomatoes",
    said_by("g-1", "human", "When do I sow tomatoes?"),
    said_by("g-2", "assistant", "In March, indoors."),
    said_by("g-3", "human", "Here is my plan", attachments=[{"file_name": "plan.txt",
            "extracted_content": "bed one"}], files=[{"file_name": "bed.png"}]),
)  # fmt: skip
PLACEHOLDER = "```\nThis block is not supported on your current device yet.\n```"
TOOLS = chat(
    "c-tools",
    "",
    said_by("t-1", "human", "What is the weather in Bergen?"),
    said_by(
        "t-2", "assistant", f"Let me look.\n\n{PLACEHOLDER}\n\nIt rains.",
        {"type": "thinking", "thinking": "weather"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "name": "weather", "input": {}},
        {"type": "tool_result", "content": []},
        {"type": "text", "text": "It rains."},
    ),
    said_by("t-3", "assistant", ""),
)  # fmt: skip
OLD = {
    "uuid": "c-old", "name": "Old", "created_at": "2024-01-01T00:00:00Z",
    "chat_messages": [{"uuid": "o-1", "text": "Where is the spare fuse?", "sender": "human"}],
}  # fmt: skip
MEMORIES = [
    {
        "conversations_memory": "**Work context**\n\nAnn builds boats in Bergen.\n\n"
        "**Personal context**\nShe has two cats.\n\nShe sails on Sundays.",
        "project_memories": {"p-1": "The hull is of larch."},
        "account_uuid": "acc-1",
    }
]
FILES = {
    "memory_files": [
        {"path": "/profile.md", "content": "# Profile\n\nPrefers metric units.",
         "updated_at": "2026-01-02T03:04:05.000000Z"},
    ]
}  # fmt: skip
PROJECT = {
    "uuid": "p-1", "name": "Boat", "description": "", "prompt_template": "",
    "docs": [{"uuid": "d-1", "filename": "hull.md", "content": "larch"}],
}  # fmt: skip


def test_conversations_keep_all_that_belongs_to_them() -> None:
    store, report = store_of(as_file([GARDEN, TOOLS, OLD]))
    assert (report.format, report.lines, report.imported) == ("claude", 6, 6)
    assert said(store, "c-garden") == [
        ("user", "When do I sow tomatoes?"),
        ("assistant", "In March, indoors."),
        ("user", "Here is my plan"),
    ]
    assert said(store, "c-tools")[1] == ("assistant", "Let me look.\n\nIt rains.")
    assert said(store, "c-old") == [("user", "Where is the spare fuse?")]
    assert report.left_out == {
        "attachment": 1,
        "empty message": 1,
        "file": 1,
        "thinking": 1,
        "tool_result": 1,
        "tool_use": 1,
    }
    first = next(one for one in store.list() if one.sequence == 0 and one.title == "Tomatoes")
    assert first.t_valid == datetime(2026, 3, 5, 8, 15, 30, 125_000, UTC)
    assert store.events(first.id)[0].artifact_ref == "g-1"
    # a message without a time has that of its conversation
    old = next(one for one in store.list() if one.session_id == "c-old")
    assert old.t_valid == datetime(2024, 1, 1, tzinfo=UTC)


def test_memories_become_a_note_for_each_paragraph() -> None:
    store, report = store_of(as_file(MEMORIES))
    assert (report.format, report.imported) == ("claude", 4)
    notes = {one.content: one.metadata for one in store.list()}
    assert set(notes) == {
        "Ann builds boats in Bergen.",
        "She has two cats.",
        "She sails on Sundays.",
        "The hull is of larch.",
    }
    assert notes["She has two cats."]["heading"] == "Personal context"
    assert notes["The hull is of larch."]["project"] == "p-1"
    assert all(one.session_id is None and one.role is None for one in store.list())
    grown = deepcopy(MEMORIES)
    grown[0]["conversations_memory"] += "\n\nShe is learning Dutch."
    later = store.import_(as_file(grown))
    assert (later.imported, later.skipped) == (1, 4)


def test_the_archives_of_an_export(tmp_path: Path) -> None:
    one = zipped(
        tmp_path / "data-batch-0000.zip",
        {
            "conversations.json": [GARDEN, TOOLS],
            "memories.json": MEMORIES,
            "projects.json": [PROJECT],
            "users.json": [{"uuid": "acc-1", "full_name": "Ann"}],
        },
    )
    store, report = store_of(one)
    assert (report.format, report.imported) == ("claude", 9)
    assert report.left_out["document of a project"] == 1
    assert report.left_out["file of another kind"] == 1
    several = [
        zipped(tmp_path / "conversations-000.zip", {"conversations.json": [GARDEN]}),
        zipped(tmp_path / "conversations-001.zip", {"conversations.json": [TOOLS]}),
        zipped(tmp_path / "memories-000.zip", {"memories/acc-1.json": MEMORIES[0]}),
        zipped(tmp_path / "projects-000.zip", {"projects/p-1.json": PROJECT}),
    ]
    parted, report = store_of(several)
    assert texts(parted) == texts(store)
    assert report.failed == 0
    files, report = store_of(as_file(FILES))
    assert texts(files) == {"Prefers metric units."}
    (note,) = files.list()
    assert note.t_valid == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_twice_and_grown() -> None:
    store, first = store_of(as_file([GARDEN, TOOLS]))
    again = store.import_(as_file([GARDEN, TOOLS]))
    assert (again.imported, again.skipped) == (0, first.imported)
    grown = deepcopy(GARDEN)
    grown["chat_messages"].append(said_by("g-4", "assistant", "A good plan."))
    later = store.import_(as_file([TOOLS, grown]))
    assert (later.imported, later.skipped) == (1, first.imported)
    assert said(store, "c-garden")[-1] == ("assistant", "A good plan.")


def garden(**changes: Any) -> dict[str, Any]:
    changed = deepcopy(GARDEN)
    changed["chat_messages"][0].update(changes)
    return {**changed, "uuid": "c-broken", "chat_messages": changed["chat_messages"][:1]}


# (element, what the error says)
BROKEN: dict[str, tuple[Any, str]] = {
    "no list": ({**GARDEN, "chat_messages": "hello"}, "chat_messages: expected a list"),
    "other keys": ({"a": 1}, 'no text under "chat_messages"'),
    "uuid is a number": ({**GARDEN, "uuid": 4}, "uuid: expected text"),
    "name is a list": ({**GARDEN, "name": ["a"]}, "name: expected text"),
    "sender unknown": (garden(uuid="b-1", sender="robot"), "message 1: sender"),
    "sender missing": (garden(uuid="b-2", sender=None), "message 1: sender"),
    "text is a list": (garden(uuid="b-3", text=["a"], content=[]), "text: expected text"),
    "content is text": (garden(uuid="b-4", content="hello"), "content: expected a list"),
    "block is text": (garden(uuid="b-5", content=["hello"]), "a list of objects"),
    "time is a number": (garden(uuid="b-6", created_at=5), "created_at: expected text"),
    "time is no time": (garden(uuid="b-7", created_at="soon"), "t_ref"),
    "message is text": ({**GARDEN, "chat_messages": ["hello"]}, "message 1"),
    "a null": (None, "expected a JSON object"),
    "memories are a list": ({"conversations_memory": []}, "conversations_memory"),
    "projects are a list": ({"project_memories": ["a"]}, "project_memories"),
    "memory files are text": ({"memory_files": "a"}, "memory_files"),
    "too deep": ({**GARDEN, "x": json.loads("[" * 80 + "]" * 80)}, "64 levels"),
}


@each("name", BROKEN)
def test_a_broken_element_costs_what_is_broken(name: str) -> None:
    broken, fact = BROKEN[name]
    store, report = store_of(as_file([OLD, broken, TOOLS]), format="claude")
    assert (report.imported, report.failed, report.lines) == (3, 1, 4)
    assert report.errors[0].message.startswith("line 2: ")
    assert fact in report.errors[0].message
    assert "sow tomatoes" not in report.errors[0].message
    assert len(said(store, "c-tools")) == 2
