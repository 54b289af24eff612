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
def handed(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """How many rows each commit handed over, None = they were read; each is compared."""
    seen: list[int | None] = []
    take = ProjectionKeeper._apply_new_rows

    def compared(keeper: ProjectionKeeper, txn: Any) -> bool:
        rows = txn.new_rows()
        seen.append(None if rows is None else len(rows))
        if rows is not None:
            with keeper._ledger.read() as view:
                read = list(view.projection_rows(txn.seq))
            assert rows == read
            assert [list(map(type, row)) for row in rows] == [list(map(type, row)) for row in read]
        monkeypatch.setattr(txn, "new_rows", lambda: rows)
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
    opener: Opener, handed: list[int | None], commit: Callable[..., None]
) -> None:
    store = opener(embedder=TokenHashingEmbedder(64))
    commit(store, ITEMS)
    with store._session.ledger.read() as view:
        assert any(row.pieces is not None for row in view.projection_rows(0)), "codes too"
    assert None not in handed
    assert sum(rows or 0 for rows in handed) > len(ITEMS)


def test_what_changes_old_rows_is_read(opener: Opener, handed: list[int | None]) -> None:
    store = opener()
    first = store.commit("The gasket of the pump is worn")
    again = store.commit("The gasket of the pump is worn")
    assert again.outcome is Outcome.EXACT_DUPE
    new = store.commit("The gasket of the pump is new", supersedes=[first.memory_id])
    assert new.outcome is Outcome.INSERTED_NEW
    assert [rows is None for rows in handed] == [False, True, True]
    assert [one.memory.id for one in store.recall("gasket pump").results] == [new.memory_id]


def test_a_commit_after_that_of_another_process_reads(
    opener: Opener, handed: list[int | None]
) -> None:
    store, other = opener(), opener()
    store.commit("Deploys run on Fridays")
    other.commit("The harbour is closed on Sundays")
    store.commit("The oak table was painted")
    assert None not in handed
    for one in (store, other):
        assert len(one.recall("harbour table deploys").results) == 3
