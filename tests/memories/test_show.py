"""`show(expand=1)`: what a memory is linked with, now and earlier."""

from __future__ import annotations

import pytest

import vestig
from scripted import Opener
from vestig.results import MemoryDetail
from vestig.testing import FrozenClock


def linked(detail: MemoryDetail) -> tuple[list[str], list[str]]:
    """Names mentioned, and ids related."""
    assert isinstance(detail.mentions, tuple)
    assert isinstance(detail.related, tuple)
    return [one.name for one in detail.mentions], [one.id for one in detail.related]


def test_show_expanded_in_the_past(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    one = str(store.commit("The keys are with Ada Lovelace", entities=["Ada Lovelace"]).memory_id)
    two = str(store.commit("The boat is moored at the old pier").memory_id)
    before = clock.move(days=1)
    clock.move(days=1)
    edge = store.graph.link(one, two, "RELATED", weight=0.5)
    assert linked(store.show(one, expand=1)) == (["Ada Lovelace"], [two])
    assert linked(store.show(one, expand=1, known_at=before)) == (["Ada Lovelace"], [])
    between = clock.move(days=1)
    clock.move(days=1)
    store.graph.unlink(edge.id)
    assert linked(store.show(one, expand=1)) == (["Ada Lovelace"], [])
    assert linked(store.show(one, expand=1, known_at=between)) == (["Ada Lovelace"], [two])


def test_expired_memories_are_not_related(opener: Opener, clock: FrozenClock) -> None:
    store = opener(config={"m4.edge_creation.related.enabled": False})
    ids = [str(store.commit(f"Note about the {word} pier").memory_id) for word in ("old", "new")]
    other = str(store.commit("Something else entirely is written here").memory_id)
    store.graph.link(ids[0], other, "RELATED", weight=0.9)
    store.graph.link(ids[1], ids[0], "RELATED", weight=1.0)
    assert linked(store.show(ids[0], expand=1))[1] == [ids[1], other]
    moment = clock.move(days=1)
    clock.move(days=1)
    store.deprecate(other)
    assert other not in linked(store.show(ids[0], expand=1))[1]
    assert other in linked(store.show(ids[0], expand=1, known_at=moment))[1]


def test_other_depths_are_refused(opener: Opener) -> None:
    store = opener()
    one = str(store.commit("The boat is moored at the old pier").memory_id)
    assert store.show(one).mentions is store.show(one, expand=0).related
    for depth in (2, -1, True, "1"):
        with pytest.raises(vestig.ValidationError, match="expand: expected an integer from 0 to 1"):
            store.show(one, expand=depth)  # type: ignore[arg-type]
