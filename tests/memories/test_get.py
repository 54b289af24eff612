"""One memory by its id, and a store as a collection of ids."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import vestig
from vestig import Vestig
from vestig.testing import HashingEmbedder


@pytest.fixture
def store() -> Iterator[Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as opened:
        yield opened


def stored(store: Vestig, text: str) -> str:
    id = store.commit(text).memory_id
    assert id is not None
    return id


def test_get_gives_the_memory_of_an_id(store: Vestig) -> None:
    id = stored(store, "The spare key lies under the blue pot")
    for name in (id, id[:12], id[4:14]):
        assert store.get(name) == store.show(id).memory
    for unknown in ("mem_00000000", "00000000", "nonsense-of-a-key"):
        with pytest.raises(vestig.NotFoundError, match=unknown):
            store.get(unknown)
    store.deprecate(id)
    assert store.get(id).status.word == "DEPRECATED"
    with pytest.raises(vestig.NotFoundError):
        store.get(id, namespace="elsewhere")
    for wrong in (7, "mem_0000000-none", " "):
        with pytest.raises(vestig.ValidationError):
            store.get(wrong)  # type: ignore[arg-type]


def test_a_store_has_a_length_and_holds_ids(store: Vestig) -> None:
    assert len(store) == 0
    assert store, "an open store without memories is no false value"
    ids = [stored(store, f"Lamp {n} hangs in the hall") for n in range(3)]
    assert len(store) == store.count() == 3
    assert ids[0] in store
    assert "mem_00000000" not in store
    assert None not in store
    assert 7 not in store
    store.forget(ids[0])
    assert ids[0] not in store
    assert len(store) == 2


def test_update_takes_the_text_in_second_place(store: Vestig) -> None:
    id = stored(store, "The lamp in the hall is green")
    changed = store.update(id, "The lamp in the hall is yellow")
    assert changed.memory_id != id
    assert store.show(changed.memory_id).memory.content == "The lamp in the hall is yellow"
