"""Odd exports of ChatGPT: names that no memory may have, halves of characters, marks, nodes without
parents, and what packers put beside the conversations."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from chats import as_file, conversation, message, said, store_of, tree, zipped
from tables import each

BOAT: dict[str, Any] = conversation(
    "boat",
    "The boat",
    tree(
        ("root", None, None),
        ("q", "root", message("1", "user", "Which wood is the mast of?", create_time=10.0)),
        ("a", "q", message("2", "assistant", "Of larch.", create_time=20.0)),
        ("b", "q", message("3", "assistant", "Of spruce.", create_time=30.0)),
    ),
    "b",
)
TURNS = [("user", "Which wood is the mast of?"), ("assistant", "Of spruce.")]


def changed(**fields: Any) -> dict[str, Any]:
    return {**deepcopy(BOAT), **fields}


@pytest.mark.parametrize(
    ("title", "kept", "fact"),
    [
        ("The\0 boat", "The boat", "1 control characters were left out"),
        ("The\x1b[1m boat\x07", "The[1m boat", "2 control characters were left out"),
        ("b" * 3_000, "b" * 2_000, "1 titles were cut to 2,000 characters"),
    ],
)
def test_a_title_costs_no_conversation(title: str, kept: str, fact: str) -> None:
    store, report = store_of(as_file([changed(title=title)]))
    assert (report.imported, report.failed) == (2, 0)
    assert {one.title for one in store.list()} == {kept}
    assert report.warnings == (fact,)


HALVES: dict[str, bytes] = {
    "alone in an array": json.dumps([BOAT]).replace("spruce", "\\udc00").encode(),
    "as one object": json.dumps(BOAT, indent=1).replace("spruce", "\\uD83D").encode(),
    "on a line": json.dumps(BOAT).replace("spruce", "\\ud83d").encode() + b"\n",
    "as bytes": json.dumps([BOAT]).encode().replace(b"spruce", b"\xed\xa0\xbd"),
    "before other text": json.dumps([BOAT]).replace("spruce", "\\ud83d\\u0041").encode(),
}


@pytest.mark.parametrize("name", HALVES)
def test_half_of_a_character_is_replaced_and_counted(name: str) -> None:
    store, report = store_of(io.BytesIO(HALVES[name]))
    assert (report.format, report.imported, report.failed) == ("chatgpt", 2, 0)
    assert report.warnings == ("1 halves of surrogate pairs were replaced by U+FFFD",)
    assert said(store, "boat")[1][1].startswith("Of \ufffd")


@each("pair", [b"\\ud83d\\ude00", b"\xf0\x9f\x98\x80", b"\xed\xa0\xbd\xed\xb8\x80"])
@each("before", [0, 65_530, 65_531, 65_533, 65_535])
def test_a_whole_pair_is_its_character_wherever_blocks_end(pair: bytes, before: int) -> None:
    data = json.dumps([changed(title="", x="")]).encode().replace(b"spruce", pair)
    filler = b'[{"filler": "' + b"x" * max(0, before - data.index(pair) - 16) + b'"},'
    store, report = store_of(io.BytesIO(filler + data[1:]), format="chatgpt")
    assert said(store, "boat")[1] == ("assistant", "Of \U0001f600.")
    assert not any("halves" in one for one in report.warnings)


def test_a_first_conversation_without_nodes_hides_no_others() -> None:
    for mapping in (None, {}):
        store, report = store_of(as_file([changed(mapping=mapping, id="x"), BOAT]))
        assert (report.format, report.imported, report.failed) == ("chatgpt", 2, 0)
        assert report.left_out["empty conversation"] == 1
        assert said(store, "boat") == TURNS
    other = {"title": "x", "create_time": 1.0, "messages": None}
    _, report = store_of(as_file([other, BOAT]))
    assert (report.format, report.imported, report.failed) == ("chatgpt", 2, 1)


def test_nodes_that_name_children_alone_are_one_branch() -> None:
    nameless = deepcopy(BOAT)
    for node in nameless["mapping"].values():
        del node["parent"]
    for current in ("b", None):
        store, report = store_of(as_file([{**nameless, "current_node": current}]))
        assert said(store, "boat") == TURNS
        assert report.left_out == {"message of another branch": 1}
    gone = deepcopy(BOAT)
    gone["mapping"]["b"]["parent"] = "no such node"
    assert said(store_of(as_file([gone]))[0], "boat") == TURNS


@each(
    ("marked", "plain", "citations"),
    [
        ("Of larch \ue200cite\ue202turn0search1\ue201 and ash.", "Of larch and ash.", 1),
        ("Larch.\ue200filecite\ue202turn1file0\ue202L1-L3\ue201", "Larch.", 1),
        ('At \ue200entity\ue202["city","Brest","France"]\ue201.', "At Brest.", 0),
        ("See \ue200url\ue202the page\ue201.", "See the page.", 0),
        ("\ue203Of larch\ue204, \ue206says he", "Of larch, says he", 0),
        ("Of \ue200cite larch", "Of cite larch", 0),
    ],
)
def test_marks_are_not_text(marked: str, plain: str, citations: int) -> None:
    made = deepcopy(BOAT)
    made["mapping"]["b"]["message"]["content"]["parts"] = [marked]
    store, report = store_of(as_file([made]))
    assert said(store, "boat")[1] == ("assistant", plain)
    assert report.left_out.get("citation", 0) == citations


def test_what_lies_beside_conversations_is_counted(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "export.zip",
        {
            "conversations.json": [],
            "conversations-001.json": [BOAT],
            "__MACOSX/._conversations.json": b"\0\5\x16\7",
            "__MACOSX/conversations.json": b"\0\5\x16\7",
            "._user.json": b"\0\5",
        },
    )
    store, report = store_of(path)
    assert (report.format, report.imported, report.failed) == ("chatgpt", 2, 0)
    assert report.left_out["file of another kind"] == 3
    assert report.left_out["empty list"] == 1
    assert store.count() == 2
    _, report = store_of(zipped(tmp_path / "empty.zip", {"conversations.json": []}))
    assert (report.lines, report.failed, report.errors) == (0, 0, ())
    assert report.left_out == {"empty list": 1}


def test_zero_bytes_cost_their_line() -> None:
    lines = [json.dumps(BOAT).encode(), b"\0" * 400, json.dumps(changed(id="x")).encode(), b""]
    store, report = store_of(io.BytesIO(b"\n".join(lines)), format="chatgpt")
    assert (report.imported, report.failed) == (2, 1)
    assert said(store, "boat") == TURNS
