"""Lists of messages without an id that are imported again: what is new comes in, and no more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import vestig
from vestig.results import ImportReport
from vestig.testing import HashingEmbedder

HELLO, ADA, BEN, TAR = "Hello", "I repot the ficus", "My tent is green", "Where is the tar?"


@pytest.fixture
def store() -> Iterator[vestig.Store]:
    with vestig.open(":memory:", embedder=HashingEmbedder(16)) as opened:
        yield opened


def give(store: vestig.Store, path: Path, *chats: list[str], array: bool = False) -> ImportReport:
    rows = [{"messages": [{"role": "user", "content": one} for one in chat]} for chat in chats]
    path.write_text(json.dumps(rows) if array else "\n".join(map(json.dumps, rows)))
    return store.import_(path)


def chats_of(store: vestig.Store) -> list[list[str]]:
    """The texts of each session in their order."""
    found: dict[str, list[str]] = {}
    for one in store.list(order_by="session", limit=100):
        found.setdefault(str(one.session_id), []).append(one.content)
    return sorted(found.values())


@pytest.mark.parametrize("array", [False, True])
def test_what_was_appended_to_conversations_comes_in_alone(
    array: bool, store: vestig.Store, tmp_path: Path
) -> None:
    path = tmp_path / "chats.json"
    give(store, path, [HELLO, ADA], [BEN], array=array)
    again = give(store, path, [HELLO, ADA, TAR], [BEN, ADA], [TAR], array=array)
    assert (again.imported, again.skipped) == (3, 3)
    now = [[HELLO, ADA, TAR], [BEN, ADA], [TAR]]
    assert chats_of(store) == sorted(now)
    # the same again, in another order, as it was before: nothing is new
    for given in (now, now[::-1], [[HELLO, ADA], [BEN]], [[BEN, ADA]]):
        assert give(store, path, *given, array=array).imported == 0
    assert chats_of(store) == sorted(now)


def test_conversations_that_begin_alike_stay_whole(store: vestig.Store, tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    give(store, path, [HELLO, ADA], [HELLO, BEN], [HELLO])
    assert chats_of(store) == [[HELLO], [HELLO, ADA], [HELLO, BEN]]
    # each goes on where it was, though the first of the file is gone
    give(store, path, [HELLO, BEN, TAR], [HELLO])
    assert chats_of(store) == [[HELLO], [HELLO, ADA], [HELLO, BEN, TAR]]
    # another one that begins with the same word, also one that goes on from it
    give(store, path, [HELLO, TAR], [HELLO, TAR, BEN], [HELLO])
    assert chats_of(store) == [
        [HELLO], [HELLO, ADA], [HELLO, BEN, TAR], [HELLO, TAR], [HELLO, TAR, BEN],
    ]  # fmt: skip


def test_the_same_conversation_twice_in_a_file_stays_twice(
    store: vestig.Store, tmp_path: Path
) -> None:
    path = tmp_path / "chats.jsonl"
    give(store, path, [HELLO, ADA], [HELLO, ADA])
    assert give(store, path, [HELLO, ADA], [HELLO, ADA]).imported == 0
    assert give(store, path, [HELLO, ADA, TAR], [HELLO, ADA]).imported == 1
    assert chats_of(store) == [[HELLO, ADA], [HELLO, ADA, TAR]]


def test_a_conversation_of_another_scope_or_file_is_another(
    store: vestig.Store, tmp_path: Path
) -> None:
    give(store, tmp_path / "a.jsonl", [HELLO, ADA])
    assert give(store, tmp_path / "b.jsonl", [HELLO, ADA, TAR]).imported == 3
    assert store.import_(tmp_path / "b.jsonl", scope="shed").imported == 3
    assert store.import_(tmp_path / "b.jsonl", scope="shed").imported == 0
