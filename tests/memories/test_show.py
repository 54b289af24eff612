"""`show`: what a memory is linked with, now and earlier, and its versions."""

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
    store = opener(config={"links.related.enabled": False})
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


def test_versions_are_listed_newest_first(opener: Opener, clock: FrozenClock) -> None:
    text = "The staging server of the boat club listens on port {}"
    store = opener(config={"hygiene.near_duplicate.enabled": False})
    days = ("2026-01-05", "2026-03-05", "2026-02-05")
    ports = (7070, 7443, 7171)
    first, newest, between = (
        str(store.commit(text.format(port), t_valid=day).memory_id)
        for port, day in zip(ports, days, strict=True)
    )
    store.commit("Somebody waters the plants on Mondays")
    other = str(store.commit(text.format(9), scope="elsewhere").memory_id)
    assert [one.memory_id for one in store.show(first).versions] == [newest, between]
    assert [one.memory_id for one in store.show(newest).versions] == [between, first]
    assert [one.content for one in store.show(between).versions] == [
        text.format(7443),
        text.format(7070),
    ]
    assert store.show(other).versions == ()
    store.deprecate(newest)
    assert [one.memory_id for one in store.show(first).versions] == [between]
    assert store.show(newest).versions != (), "what is withdrawn had versions"
    stored = store.show(first).memory.t_created
    clock.move(days=1)
    assert store.show(first, known_at=stored).versions == (), "of a read of the past"


def test_values_of_other_keys_are_no_versions(opener: Opener) -> None:
    text = "The staging server of the boat club listens on port {}"
    store = opener(config={"hygiene.near_duplicate.enabled": False})
    first = store.commit(text.format(7070), t_valid="2026-01-05", key="staging.port")
    store.commit(text.format(7443), t_valid="2026-02-05", key="production.port")
    plain = store.commit(text.format(7171), t_valid="2026-03-05")
    store.commit("Somebody waters the plants on Mondays")
    found = store.show(str(first.memory_id)).versions
    assert [one.memory_id for one in found] == [plain.memory_id]
