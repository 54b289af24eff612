"""What somebody types in Python before reading: it works, or the error names what does."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import vestig
from tables import each
from vestig import Vestig, aio
from vestig.testing import HashingEmbedder

TEXT = "The spare key lies under the blue pot"


@pytest.fixture
def store() -> Iterator[Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as opened:
        opened.commit(TEXT, tags=["house"], author="Ada", metadata={"room": 4})
        yield opened


# A guess that works → what it gives.
WORKS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "len(store)": (len, 1),
    "bool(store)": (bool, True),
    "store.count()": (lambda s: s.count(), 1),
    "store.get(id)": (lambda s: s.get(s.list()[0].id).content, TEXT),
    "unknown id in store": (lambda s: "mem_00000000" in s, False),
    "unknown key in store": (lambda s: ("a.city" in s, " " in s, "x" * 999 in s), (False,) * 3),
    "key in store": (
        lambda s: bool(s.commit("Ana lives in Porto", key="a.city")) and "a.city" in s,
        True,
    ),
    "id in store": (lambda s: s.list()[0].id in s, True),
    "tags as text": (lambda s: s.count(tags="house"), 1),
    "hit.text": (lambda s: s.recall("key")[0].text, TEXT),
    "hit.content": (lambda s: s.recall("key")[0].content, TEXT),
    "hit.memory_id": (lambda s: s.recall("key")[0].memory_id == s.list()[0].id, True),
    "hit.id": (lambda s: s.recall("key")[0].id in s, True),
    "hit.tags": (lambda s: s.recall("key")[0].tags, ("house",)),
    "hit.author": (lambda s: s.recall("key")[0].author, "Ada"),
    "hit.metadata": (lambda s: s.recall("key")[0].metadata["room"], 4),
    "hit.score": (lambda s: s.recall("key")[0].score > 0, True),
    "hit.date": (lambda s: s.recall("key")[0].date == s.list()[0].t_valid.date(), True),
    "hit.created_at": (lambda s: s.recall("key")[0].created_at == s.list()[0].t_created, True),
    "result.results": (lambda s: len(s.recall("key").results), 1),
    "result.to_dict()": (lambda s: s.recall("key").to_dict()["results"][0]["content"], TEXT),
    "update(id, text)": (lambda s: s.update(s.list()[0].id, TEXT + " too").outcome is None, False),
    "show(id).memory": (lambda s: s.show(s.list()[0].id).memory.content, TEXT),
    "deprecate(id)": (lambda s: s.deprecate(s.list()[0].id).action, "deprecate"),
    "forget(id)": (lambda s: len(s.forget(s.list()[0].id).memory_ids), 1),
    "admin.stats()": (lambda s: s.admin.stats().memories, 1),
}

# A guess that fails → what its error names.
NAMED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "add": (lambda s: s.add(TEXT), "store.commit"),
    "remember": (lambda s: s.remember(TEXT), "store.commit"),
    "save": (lambda s: s.save(TEXT), "store.commit"),
    "insert": (lambda s: s.insert(TEXT), "store.commit"),
    "add_many": (lambda s: s.add_many([TEXT]), "store.commit_many"),
    "query": (lambda s: s.query("key"), "store.recall"),
    "ask": (lambda s: s.ask("key"), "store.recall"),
    "similarity_search": (lambda s: s.similarity_search("key"), "store.recall"),
    "similar": (lambda s: s.similar("key"), "store.recall"),
    "versions": (lambda s: s.versions("x"), "store.history"),
    "for_user": (lambda s: s.for_user("ada"), "store.scoped"),
    "retract": (lambda s: s.retract("x"), "store.deprecate"),
    "delete": (lambda s: s.delete("x"), "store.forget"),
    "remove": (lambda s: s.remove("x"), "store.forget"),
    "all": (lambda s: s.all(), "store.list"),
    "stats": (lambda s: s.stats(), "store.admin.stats"),
    "doctor": (lambda s: s.doctor(), "store.admin.doctor"),
    "backup": (lambda s: s.backup("x"), "store.admin.backup"),
    "restore": (lambda s: s.restore("x"), "vestig.restore"),
    "entities": (lambda s: s.entities(), "store.graph.entities"),
    "link": (lambda s: s.link("x", "y"), "store.graph.link"),
    "hits": (lambda s: s.recall("key").hits, "use results"),
    "connect": (lambda _: vestig.connect("x"), "vestig.open"),  # type: ignore[attr-defined]
    "Store": (lambda _: vestig.Store("x"), "vestig.open"),  # type: ignore[attr-defined]
    "Client": (lambda _: vestig.Client("x"), "vestig.open"),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("guess", WORKS)
def test_a_guess_works(store: Vestig, guess: str) -> None:
    call, wanted = WORKS[guess]
    assert call(store) == wanted


@each("guess", NAMED)
def test_a_guess_is_answered_with_the_name(store: Vestig, guess: str) -> None:
    call, named = NAMED[guess]
    with pytest.raises(AttributeError, match=named.replace(".", r"\.")):
        call(store)
    assert store.count() == 1


def test_a_list_of_texts_and_a_text_for_an_id_are_told_what_takes_them(store: Vestig) -> None:
    texts: Any = [TEXT, "The blue pot stands by the door"]
    with pytest.raises(TypeError, match="content: expected str, got list; commit_many stores"):
        store.commit(texts)
    with pytest.raises(vestig.ValidationError, match=r"update\(id, text\) and commit\(text, supe"):
        store.supersede(store.list()[0].id, "The spare key lies under the mat")
    assert store.count() == 1


def test_a_store_is_opened_by_each_process_and_not_pickled() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        for value in (store, store.scoped("ada"), store.items, aio.wrap(store), {"store": store}):
            for copied in (pickle.dumps, copy.deepcopy):
                with pytest.raises(TypeError, match=r"by its path, with vestig\.open\(path\)$"):
                    copied(value)
