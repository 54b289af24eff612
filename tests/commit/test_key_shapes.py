"""What rests on keys elsewhere: a store of values, a folder of notes, upserts of an agent."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.errors import NotFoundError
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import Memory


class Values:
    """Values by a namespace of parts and a key, as graphs of agents keep them."""

    def __init__(self, store: vestig.Vestig) -> None:
        self.store = store

    def put(self, place: tuple[str, ...], key: str, value: dict[str, Any]) -> None:
        self.store.commit(
            str(value["text"]), key=key, scope="/".join(place), metadata={"value": value}
        )

    def get(self, place: tuple[str, ...], key: str) -> dict[str, Any] | None:
        try:
            return dict(self.store.get(key, scope="/".join(place)).metadata["value"])
        except NotFoundError:
            return None

    def delete(self, place: tuple[str, ...], key: str) -> None:
        self.store.forget(where={"keys": [key], "scope": ["/".join(place)]})


def test_put_get_and_delete_of_values(opener: Opener) -> None:
    values = Values(opener())
    ada, bo = ("users", "ada"), ("users", "bo")
    values.put(ada, "food", {"text": "Likes pizza with olives", "level": 1})
    values.put(bo, "food", {"text": "Likes pizza with olives", "level": 2})
    values.put(ada, "food", {"text": "Likes pasta with olives", "level": 3})
    assert values.get(ada, "food") == {"text": "Likes pasta with olives", "level": 3}
    assert values.get(bo, "food") == {"text": "Likes pizza with olives", "level": 2}
    values.delete(ada, "food")
    assert values.get(ada, "food") is None
    assert values.get(bo, "food") is not None
    assert values.store.count(where={"scope": ["users/ada"], "include_expired": True}) == 0


class Notes:
    """A folder of notes: a path is a key, and an edit is another text."""

    def __init__(self, store: vestig.Vestig) -> None:
        self.store = store

    def view(self, path: str) -> list[str]:
        if path.endswith("/"):
            rows = self.store.list(where={"key_prefix": path}, limit=1000)
            return sorted(str(row.key) for row in rows)
        return self.store.get(path).content.splitlines()

    def create(self, path: str, text: str) -> None:
        self.store.commit(text, key=path)

    def str_replace(self, path: str, old: str, new: str) -> None:
        held = self.store.get(path)
        self.store.update(held.id, content=held.content.replace(old, new, 1))

    def delete(self, path: str) -> None:
        self.store.forget(where={"keys": [path]})


def test_a_folder_of_notes(opener: Opener) -> None:
    notes = Notes(opener())
    path = "/memories/prefs, 2026.md"
    notes.create(path, "# Preferences\n\n- tea: green\n    - never after four\n")
    notes.create("/memories/todo.md", "# To do\n- call the plumber")
    notes.str_replace(path, "green", "black")
    assert notes.view(path) == ["# Preferences", "", "- tea: black", "    - never after four"]
    assert notes.view("/memories/") == [path, "/memories/todo.md"]
    assert len(notes.store.supersession_chain(notes.store.get(path).id)) == 1
    notes.delete(path)
    assert notes.view("/memories/") == ["/memories/todo.md"]
    with pytest.raises(NotFoundError):
        notes.view(path)


def test_upserts_of_an_agent(clock: FrozenClock) -> None:
    """An agent that only ever says what is so keeps one fact for each key, with its history."""
    pytest.importorskip("mcp")
    from vestig.surfaces.mcp.answers import OpenStore
    from vestig.surfaces.mcp.tools import TOOLS

    def upsert(text: str, key: str) -> str:
        clock.move(days=1)
        return TOOLS["remember"].call(at, {"text": text, "key": key})

    def current() -> Memory:
        return store.get("deploy.day")

    with vestig.open(":memory:", embedder=HashingEmbedder(64), clock=clock) as store:
        at = OpenStore(store=store, session=store._session)
        upsert("Deploys run on Fridays", "deploy.day")
        first = current()
        assert "counted as said once more" in upsert("Deploys run on Fridays", "deploy.day")
        said = upsert("Deploys run on Tuesdays", "deploy.day")
        assert f"Replaces {first.id[4:12]}" in said
        assert current().content == "Deploys run on Tuesdays"
        assert store.count() == 1
        before = store.list(where={"keys": ["deploy.day"]}, valid_at=first.t_valid)
        assert [row.content for row in before] == ["Deploys run on Fridays"]
