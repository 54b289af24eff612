"""Exports of ChatGPT: which messages come in as what, and what a broken one costs."""

from __future__ import annotations

import io
import json
import zipfile
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from chats import as_file, conversation, message, said, store_of, texts, tree, zipped
from tables import each
from vestig.errors import ValidationError

T = 1_767_225_600
TIDES = conversation(
    "conv-tides",
    "Tides at Brest",
    tree(
        ("root", None, None),
        ("s", "root", message("s", "system", "", metadata={"is_visually_hidden": True})),
        ("u1", "s", message("m-1", "user", "When is high water at Brest?", create_time=T + 1.25)),
        ("a1", "u1", message("m-2", "assistant", "At 6 and at 18 hours.", create_time=T + 5)),
        ("a1b", "u1", message("m-2b", "assistant", "I do not know.", create_time=T + 4)),
        ("u2", "a1", message("m-3", "user", "And how high does it get?", create_time=T + 100)),
        ("a2", "u2", message("m-4", "assistant", "About seven metres.", create_time=T + 105)),
    ),
    "a2",
)  # fmt: skip
KITCHEN = conversation(
    "conv-kitchen",
    "Bread",
    tree(
        ("r", None, None),
        ("c", "r", message("k-0", "user", {
            "content_type": "user_editable_context", "user_profile": "…", "user_instructions": "…",
        })),
        ("1", "c", message("k-1", "user", {
            "content_type": "multimodal_text",
            "parts": [
                {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file-1"},
                "What went wrong with this loaf?",
                {"content_type": "audio_transcription", "text": "It is flat.", "direction": "in"},
            ],
        }, create_time=1_767_300_000.0)),
        ("2", "1", message("k-2", "assistant", {"content_type": "thoughts", "thoughts": []})),
        ("3", "2", message("k-3", "assistant", {
            "content_type": "code", "language": "python", "text": "print(1)",
        }, recipient="python")),
        ("4", "3", message("k-4", "tool", {"content_type": "execution_output", "text": "1"})),
        ("5", "4", message("k-5", "assistant", "Bakes with rye flour on Sundays.",
                           recipient="bio", create_time=1_767_300_010.0)),
        ("6", "5", message("k-6", "tool", "Model set context updated.")),
        ("7", "6", message("k-7", "assistant", "The dough did not rise long enough.")),
        ("8", "7", message("k-8", "user", {"content_type": "text", "parts": [""]})),
    ),
    "8",
)  # fmt: skip
# without a current node the newest leaf counts
OLD = conversation(
    "conv-old",
    "",
    tree(
        ("r", None, None),
        ("1", "r", message("o-1", "user", "Which rope is for the anchor?", create_time=10.0)),
        ("2a", "1", message("o-2a", "assistant", "The grey one.", create_time=20.0)),
        ("2b", "1", message("o-2b", "assistant", "The orange one.", create_time=30.0)),
    ),
    None,
)
ALL = [TIDES, KITCHEN, OLD]


def test_the_shown_branch_becomes_turns_with_all_that_belongs_to_them() -> None:
    store, report = store_of(as_file([TIDES]))
    assert (report.format, report.lines, report.imported, report.memories) == ("chatgpt", 4, 4, 4)
    assert report.left_out == {"message of another branch": 1, "system message": 1}
    assert said(store, "conv-tides") == [
        ("user", "When is high water at Brest?"),
        ("assistant", "At 6 and at 18 hours."),
        ("user", "And how high does it get?"),
        ("assistant", "About seven metres."),
    ]
    first = min(store.list(session_ids="conv-tides"), key=lambda one: one.sequence or 0)
    assert (first.title, first.sequence) == ("Tides at Brest", 0)
    assert first.t_valid == datetime(2026, 1, 1, 0, 0, 1, 250_000, UTC)
    assert store.events(first.id)[0].artifact_ref == "m-1"


def test_what_was_remembered_is_a_note_and_the_rest_is_counted() -> None:
    store, report = store_of(as_file([KITCHEN], indent=2))
    assert said(store, "conv-kitchen") == [
        ("user", "What went wrong with this loaf?\n\nIt is flat."),
        ("assistant", "The dough did not rise long enough."),
    ]
    (note,) = [one for one in store.list() if one.session_id is None]
    assert note.content == "Bakes with rye flour on Sundays."
    assert note.metadata["conversation"] == "conv-kitchen"
    assert (note.role, note.author) == (None, None)
    assert report.left_out == {
        "empty message": 1,
        "image_asset_pointer": 1,
        "thoughts": 1,
        "tool call": 1,
        "tool message": 2,
        "user_editable_context": 1,
    }
    # a message without a time has that of the one before it
    reply = next(one for one in store.list() if one.content.startswith("The dough"))
    assert reply.t_valid == note.t_valid


def test_without_a_current_node_the_newest_leaf_is_shown() -> None:
    for current in (None, "gone"):
        store, report = store_of(as_file({**OLD, "current_node": current}))
        assert [text for _, text in said(store, "conv-old")][-1] == "The orange one."
        assert report.left_out == {"message of another branch": 1}


def test_messages_that_an_edit_took_from_the_shown_branch_are_told() -> None:
    store, report = store_of(as_file([{**OLD, "current_node": "2a"}]))
    assert report.warnings == ()
    again = store.import_(as_file([{**OLD, "current_node": "2b"}]))
    (old,) = [one.id for one in store.list() if "grey" in one.content]
    assert (again.imported, again.left_out) == (1, {"message of another branch": 1})
    assert any(
        f"1 message of an earlier import is no longer of the branch that is shown and stays: {old}"
        in one
        for one in again.warnings
    )
    # what is ended is told no more, nor what another scope has
    assert store.import_(as_file([{**OLD, "current_node": "2b"}]), scope="s").warnings == ()
    store.deprecate(old)
    assert store.import_(as_file([{**OLD, "current_node": "2b"}])).warnings == ()


def test_a_loop_ends_the_branch() -> None:
    looped = deepcopy(TIDES)
    looped["mapping"]["u1"]["parent"] = "a2"
    store, report = store_of(as_file([looped]))
    assert (report.imported, report.failed) == (4, 0)
    assert len(said(store, "conv-tides")) == 4


def test_it_is_read_as_array_as_one_object_by_name_and_in_shards(tmp_path: Path) -> None:
    whole, _ = store_of(as_file(ALL))
    shards = zipped(
        tmp_path / "export.zip",
        {
            "conversations-000.json": [TIDES],
            "conversations-001.json": [KITCHEN, OLD],
            "user.json": {"id": "user-1", "email": "ann@example.org"},
            "message_feedback.json": [],
            "chat.html": "<html>The grey one.</html>",
            "dalle-generations/file-1.webp": b"RIFF\0\0",
        },
    )
    store, report = store_of(shards)
    assert texts(store) == texts(whole)
    assert report.format == "chatgpt"
    assert [(one.path.rsplit("/")[-1], one.imported) for one in report.files] == [
        ("conversations-000.json", 4),
        ("conversations-001.json", 5),
        *((name, 0) for name in ("user.json", "message_feedback.json", "chat.html", "file-1.webp")),
    ]
    assert report.left_out["file of another kind"] == 4
    # what belongs to an export is passed over without a word
    (told,) = [one for one in report.warnings if "passed over" in one]
    assert told.endswith("passed over: " + str(shards) + "/dalle-generations/file-1.webp")
    named, report = store_of(as_file(ALL), format="chatgpt")
    assert texts(named) == texts(whole)


def test_twice_and_grown(tmp_path: Path) -> None:
    store, first = store_of(as_file(ALL))
    again = store.import_(as_file(ALL))
    assert (again.imported, again.skipped, again.lines) == (0, first.imported, first.lines)
    grown = deepcopy(ALL)
    grown[0]["mapping"]["u3"] = {
        "id": "u3", "parent": "a2", "children": [],
        "message": message("m-5", "user", "Thank you", create_time=T + 200),
    }  # fmt: skip
    grown[0]["current_node"] = "u3"
    later = store.import_(as_file(grown))
    assert (later.imported, later.skipped) == (1, first.imported)
    assert said(store, "conv-tides")[-1] == ("user", "Thank you")
    assert {memory.reinforce_count for memory in store.list(limit=100)} == {0}


def without(path: str, value: Any = ...) -> Any:
    """The first conversation with a value at a path changed, or left out."""
    changed = deepcopy(TIDES)
    *way, last = path.split(".")
    place = changed
    for name in way:
        place = place[name]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return changed


# (conversation, turns that come in, the error)
BROKEN: dict[str, tuple[Any, int, str]] = {
    "mapping is a list": (without("mapping", []), 0, 'no object under "mapping"'),
    "a node is text": (without("mapping.u1", "hello"), 0, "expected objects of message"),
    "no author": (without("mapping.u1.message.author"), 3, 'message 3: no "author"'),
    "author is text": (without("mapping.u1.message.author", "user"), 3, 'no "author"'),
    "no content": (without("mapping.u1.message.content"), 3, 'no object under "content"'),
    "content is text": (without("mapping.u1.message.content", "hello"), 3, '"content"'),
    "parts is text": (without("mapping.u1.message.content.parts", "hello"), 3, "expected a list"),
    "time is text": (without("mapping.u1.message.create_time", "yesterday"), 3, "t_ref"),
    "time is far": (without("mapping.u1.message.create_time", 1e18), 3, "create_time"),
    "time is a list": (without("mapping.u1.message.create_time", []), 3, "create_time"),
    "title is a number": (without("title", 7), 0, "title: expected text"),
    "id is a list": (without("conversation_id", ["a"]), 0, "id: expected text"),
    "message is text": (without("mapping.u1.message", "hello"), 3, 'no "author"'),
    "no object": ("hello", 0, "expected a JSON object, got text"),
    "too deep": ({**TIDES, "x": json.loads("[" * 70 + "]" * 70)}, 0, "64 levels"),
}


@each("name", BROKEN)
def test_a_broken_conversation_costs_what_is_broken(name: str) -> None:
    broken, kept, fact = BROKEN[name]
    store, report = store_of(as_file([OLD, broken, KITCHEN]), format="chatgpt")
    assert (report.imported, report.failed) == (5 + kept, 1)
    assert report.lines == report.imported + report.failed
    (error,) = report.errors
    assert error.message.startswith("line 2: ")
    assert fact in error.message
    assert "high water" not in error.message
    assert len(said(store, "conv-old")) == 2
    assert len(said(store, "conv-kitchen")) == 2


@pytest.mark.parametrize(
    ("data", "kept", "fact"),
    [
        (json.dumps(ALL)[:-200].encode(), 7, "the file ends here"),
        (json.dumps(ALL).replace('"Bread"', "Bread").encode(), 4, "unreadable JSON"),
        (json.dumps(ALL).encode().replace(b"Bread", b"Br\xe9ad"), 4, "expected UTF-8 text"),
        (json.dumps(ALL).replace('"title": "Bread"', '"id": 1, "title": "B"').encode(), 6, "twice"),
    ],
    ids=["cut", "no JSON", "no UTF-8", "a name twice"],
)  # fmt: skip
def test_a_broken_file_is_one_error_and_what_stands_before_it_comes_in(
    tmp_path: Path, data: bytes, kept: int, fact: str
) -> None:
    members = {"conversations.json": data, "conversations-001.json": ALL}
    good = zipped(tmp_path / "good.zip", members)
    _, report = store_of(good)
    assert report.failed == 1
    assert fact in report.errors[0].message
    assert "conversations.json: " in report.errors[0].message
    assert report.imported == 9
    _, report = store_of(io.BytesIO(data))
    assert (report.imported, report.failed) == (kept, 1)


def test_an_archive_beyond_its_limits_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b'[{"title":"' + b"a" * (40 << 20))
        archive.writestr("conversations-000.json", json.dumps(ALL))
    _, report = store_of(bomb)
    assert report.imported == 9
    assert "grows to at most 200 times its size" in report.errors[0].message
    members = zipped(tmp_path / "many.zip", {f"{n}.json": "{}" for n in range(10_001)})
    with pytest.raises(ValidationError, match="at most 10,000 members"):
        store_of(members)
    whole = zipped(tmp_path / "whole.zip", {"conversations.json": ALL}).read_bytes()
    for cut in (whole[:-10], whole[: len(whole) // 2], b"PK\x03\x04"):
        path = tmp_path / "cut.zip"
        path.write_bytes(cut)
        with pytest.raises(ValidationError, match="cut or damaged zip"):
            store_of(path)
    # one byte of the packed member changed, and one marked as encrypted
    middle = bytearray(whole)
    middle[60] ^= 0xFF
    (tmp_path / "flipped.zip").write_bytes(middle)
    _, report = store_of(tmp_path / "flipped.zip")
    assert report.failed == 1
    locked = bytearray(whole)
    locked[6] |= 1
    locked[whole.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(locked)
    _, report = store_of(tmp_path / "locked.zip")
    assert "encrypted" in report.errors[0].message


def test_names_in_an_archive_are_no_paths(tmp_path: Path) -> None:
    names = ["../../evil.json", "/etc/evil.json", "C:\\evil.json", "a/../../../b.json"]
    path = zipped(tmp_path / "names.zip", {name: [TIDES] for name in names})
    before = sorted(tmp_path.rglob("*"))
    _, report = store_of(path)
    assert (report.imported, report.skipped) == (4, 12)
    assert sorted(tmp_path.rglob("*")) == before
