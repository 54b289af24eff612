"""What a commit hands to the projection without reading it is what reading would give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import vestig
from calls import committing
from scripted import Opener
from vestig.store.projection.keeper import ProjectionKeeper
from vestig.testing import TokenHashingEmbedder
from vestig.types import CommitOutcomeKind as Outcome


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int] | None]:
    """How many rows each commit handed over, how many ends of memories, and how many rows it had
    read; None = all were read. Each that was handed over is compared."""
    seen: list[tuple[int, int, int] | None] = []
    take = ProjectionKeeper._apply_new_rows

    def compared(keeper: ProjectionKeeper, txn: Any) -> bool:
        new = txn.new_rows()
        seen.append(None if new is None else (len(new.rows), len(new.revisions), len(new.changed)))
        if new is not None:
            with keeper._ledger.read() as view:
                read = list(view.projection_rows(txn.seq))
                changed = {row[0] for row in view.projection_rows_of(new.changed)}
            now = {row.id: row for row in read}
            for end in new.revisions:
                row = now.pop(end.id)
                assert end[:5] == (row.id, row.wseq, row.status, row.t_invalid_us, row.t_expired_us)
                assert end.events == row.events[len(row.events) - len(end.events) :]
            read = [row for id, row in now.items() if id not in changed]
            assert new.rows == read
            assert len(changed) == len(new.changed)
            types = [list(map(type, row)) for row in new.rows]
            assert types == [list(map(type, row)) for row in read]
        monkeypatch.setattr(txn, "new_rows", lambda: new)
        return take(keeper, txn)

    monkeypatch.setattr(ProjectionKeeper, "_apply_new_rows", compared)
    return seen


def _single(store: vestig.Vestig, items: list[dict[str, Any]]) -> None:
    for item in items:
        store.commit(**committing(item))


def _together(store: vestig.Vestig, items: list[dict[str, Any]]) -> None:
    store.commit_many(items)


ITEMS: list[dict[str, Any]] = [
    {"content": "We met Ada Lovelace on Monday at 5 pm", "author": "Bo", "session_id": "t",
     "tags": ["a", "b"]},
    {"content": "Ada Lovelace wrote to Grace Hopper about AB-1", "session_id": "s", "sequence": 1,
     "role": "user"},
    {"content": "A note", "title": "Harbor plan", "entities": [{"name": "Zed", "type": "PERSON"}],
     "metadata": {"tags_like": 1}},
    {"content": "Do not touch the 12 pumps", "trigger": "learning-failure", "keywords": ["pumps"],
     "hypothetical_queries": ["What must not be touched?"], "pinned": True},
    {"content": "The same pumps, later", "t_valid": "2026-01-01", "t_invalid": "2026-02-01",
     "scope": "x", "actor": "me", "agent": "bot", "artifact_ref": "git:1"},
]  # fmt: skip


@pytest.mark.parametrize("commit", [_single, _together])
def test_new_rows_are_handed_over_as_they_would_be_read(
    opener: Opener, handed: list[tuple[int, int, int] | None], commit: Callable[..., None]
) -> None:
    store = opener(embedder=TokenHashingEmbedder(64))
    commit(store, ITEMS)
    with store._session.ledger.read() as view:
        assert any(row.pieces is not None for row in view.projection_rows(0)), "codes too"
    assert None not in handed
    assert sum(one[0] for one in handed if one is not None) > len(ITEMS)
    assert all(one is None or one[1:] == (0, 0) for one in handed)


def test_a_repeat_is_read_alone_and_a_memory_that_ends_is_not_read(
    opener: Opener, handed: list[tuple[int, int, int] | None]
) -> None:
    store = opener()
    first = store.commit("The gasket of the pump is worn")
    again = store.commit("The gasket of the pump is worn")
    assert again.outcome is Outcome.EXACT_DUPE
    new = store.commit("The gasket of the pump is new", supersedes=[first.memory_id])
    assert new.outcome is Outcome.INSERTED_NEW
    assert handed == [(1, 0, 0), (0, 0, 1), (1, 1, 0)]
    assert [one.memory.id for one in store.recall("gasket pump").results] == [new.memory_id]


def test_the_former_value_of_a_key_is_not_read(
    opener: Opener, handed: list[tuple[int, int, int] | None]
) -> None:
    store = opener()
    for day, state in ((1, "worn"), (3, "new"), (2, "being changed"), (4, "worn again")):
        store.commit(
            f"The gasket of pump 7 is {state}", key="pump.7", t_valid=f"2026-03-0{day}T08:00:00Z"
        )
    # the third one is history as soon as it is stored: it ends the first, and is changed itself
    assert handed == [(1, 0, 0), (1, 1, 0), (0, 1, 1), (1, 1, 0)]
    found = store.recall("gasket of pump 7").results
    assert [one.memory.content for one in found] == ["The gasket of pump 7 is worn again"]
    found = store.recall("gasket of pump 7", valid_at="2026-03-02T12:00:00Z").results
    assert [one.memory.content for one in found] == ["The gasket of pump 7 is being changed"]


def test_a_commit_after_that_of_another_process_reads(
    opener: Opener, handed: list[tuple[int, int, int] | None]
) -> None:
    store, other = opener(), opener()
    store.commit("Deploys run on Fridays")
    other.commit("The harbour is closed on Sundays")
    store.commit("The oak table was painted")
    assert None not in handed
    for one in (store, other):
        assert len(one.recall("harbour table deploys").results) == 3
