"""An origin type that nobody gave is derived at every read."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from pathlib import Path

import pytest

from scripted import Opener
from vestig.calls import commit as commit_calls
from vestig.types import OriginType, derived_origin


def test_memories_of_an_older_store_follow_the_rule(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opener("old", profile="baseline")
    monkeypatch.setattr(commit_calls, "derived_origin", lambda *_: OriginType.NOTE)
    titled = store.commit("Port Blair is the capital of the Andamans", title="Port Blair").memory_id
    given = store.commit(
        "The harbour lies in the east", title="Harbour", provenance={"origin_type": "note"}
    ).memory_id
    assert titled is not None
    assert given is not None
    monkeypatch.undo()
    assert store.show(titled).memory.origin_type == "document"
    assert store.show(titled).memory.origin_derived
    assert store.show(given).memory.origin_type == "note"
    found = {
        origin: [memory.id for memory in store.list(where={"origin_types": [origin]})]
        for origin in ("document", "note")
    }
    assert found == {"document": [titled], "note": [given]}
    assert next(iter(store.recall("the capital"))).memory.origin_type == "document"


def test_lists_and_filters_derive_by_one_rule(opener: Opener) -> None:
    store = opener("rows", profile="baseline")
    kinds = itertools.product(
        (None, "user", "assistant", "tool", "system"), (None, "Ann"), (None, "s"), (None, "Oslo")
    )
    wanted = {}
    for at, (role, author, session, title) in enumerate(kinds):
        text = f"line {at} of the list of lines"
        store.commit(text, role=role, author=author, session_id=session, title=title)
        wanted[text] = derived_origin(role, author, session, title).value
    said = "a line that says what it is"
    store.commit(said, title="Oslo", provenance={"origin_type": "chat_peer"})
    wanted[said] = "chat_peer"
    assert {one.content: one.origin_type for one in store.list(limit=100)} == wanted
    by_origin = defaultdict(set)
    for text, origin in wanted.items():
        by_origin[origin].add(text)
    assert len(by_origin) == 4
    for origin, texts in by_origin.items():
        found = store.list(where={"origin_types": [origin]}, limit=100)
        assert {one.content for one in found} == texts


def test_import_tells_titles_from_sessions(opener: Opener, tmp_path: Path) -> None:
    lines = [
        {"text": "The capital lies on an island", "session": "Port Blair"},
        {"text": "Maria adopted a dog", "session": "s1", "timestamp": "2026-03-01T10:00:00Z"},
        {"text": "Can you plan my week?", "session": "s2", "role": "user"},
        {"text": "Good to see you", "session": "s3", "speaker": "Ann"},
        {"text": "Its harbour lies in the east", "session": "Port Blair", "title": "Harbour"},
    ]
    file = tmp_path / "corpus.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    store = opener("imported", profile="baseline")
    store.import_(file, format="messages")
    found = {
        one.content: (one.origin_type.value, one.title, one.session_id)
        for one in store.list(limit=100)
    }
    assert [found[line["text"]] for line in lines] == [
        ("document", "Port Blair", None),
        ("note", None, "s1"),
        ("chat_agent", None, "s2"),
        ("chat_peer", None, "s3"),
        ("document", "Harbour", "Port Blair"),
    ]
