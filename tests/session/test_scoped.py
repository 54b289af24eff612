"""A view of a store: its calls write into one scope and find what is of it."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig
from tables import each
from vestig import aio
from vestig.api import views
from vestig.api.admin import Admin
from vestig.api.graph import Graph
from vestig.api.items import Items
from vestig.testing import HashingEmbedder

ADA, BO = "user/ada", "user/bo"
PORTO, BERGEN = "The boat lies in Porto", "The boat lies in Bergen"


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as opened:
        opened.commit(BERGEN, scope=BO, key="boat", author="Bo")
        opened.items.put("theme", "light", scope=BO)
        yield opened


@pytest.fixture
def ada(store: vestig.Vestig) -> vestig.Vestig:
    view = store.scoped(ADA, author="Ada")
    view.commit(PORTO, key="boat")
    return view


def test_what_a_view_writes_has_its_scope_and_author(store: vestig.Vestig, tmp_path: Path) -> None:
    view = store.scoped(ADA, author="Ada")
    view.commit("The boat is red")
    view.commit("The boat is slow", author="Bo")
    view.commit_many(["The boat is old", {"content": "The boat is small"}])
    view.commit_many(iter(["The boat is wide"]))
    view.commit_structured("boat", "We looked at it", decisions="sell")
    view.items.put_many([{"key": "size", "value": 3}])
    view.items.put("theme", "dark")
    view.add_document("# Boat\n\nThe boat has two masts.")
    file = tmp_path / "lines.jsonl"
    file.write_text('{"content": "The boat has a stove"}\n')
    view.import_(file)
    found = list(view)
    assert len(found) == view.count() == len(view) == store.count() - 1 == 8
    assert {one.scope for one in found} == {ADA}
    written = {one.content: one.author for one in found if one.author is not None}
    assert written.pop("The boat is slow") == "Bo"
    assert set(written.values()) == {"Ada"}
    assert view.items.get("theme").value == "dark"
    assert {one.scope for one in view.items.list()} == {ADA}
    assert view.items.scopes() == [ADA]
    assert [one.scope for one in view.documents()] == [ADA]


READS: dict[str, Callable[[vestig.Vestig, Path], Any]] = {
    "recall": lambda s, _: [hit.content for hit in s.recall("where does the boat lie?", all=True)],
    "recall with a filter": lambda s, _: [
        hit.content for hit in s.recall("boat", where={"statuses": "ACTIVE"}, all=True)
    ],
    "recall_many": lambda s, _: [hit.content for hit in s.recall_many(["boat"], all=True)[0]],
    "search": lambda s, _: [hit.content for hit in s.search("boat", all=True)],
    "retrieve": lambda s, _: [
        one.memory_id and s.get(one.memory_id).content
        for one in s.retrieve([{"content": "Where does the boat lie?"}], debug=True).details
    ],
    "list": lambda s, _: [one.content for one in s.list()],
    "list by a Filter": lambda s, _: [one.content for one in s.list(vestig.Filter(keys="boat"))],
    "get": lambda s, _: [s.get("boat").content],
    "history": lambda s, _: [one.content for one in s.history("boat")],
    "keys that begin so": lambda s, _: [s.get(key).content for key in s.keys("bo")],
    "diff": lambda s, _: [one.content for one in s.diff("2020-01-01").learnt],
    "iteration": lambda s, _: [one.content for one in s],
    "export": lambda s, folder: [
        text for text in (PORTO, BERGEN) if _exported(s, folder / "out.jsonl", text)
    ],
    "graph.search": lambda s, _: [
        hit.node.content for hit in s.graph.search("boat", where={"kinds": "MEMORY"})
    ],
}


def _exported(store: vestig.Vestig, target: Path, text: str) -> bool:
    store.export(target)
    return text in target.read_text()


@each("name", READS)
def test_what_a_view_finds_is_of_its_scope(ada: vestig.Vestig, tmp_path: Path, name: str) -> None:
    assert READS[name](ada, tmp_path) == [PORTO]


OTHERS: dict[str, Callable[[vestig.Vestig], Any]] = {
    "commit": lambda s: s.commit("The boat is lost", scope=BO),
    "commit_many": lambda s: s.commit_many([{"content": "The boat is lost", "scope": BO}]),
    "recall": lambda s: s.recall("boat", scope=BO),
    "recall of a list": lambda s: s.recall("boat", scope=[ADA, BO]),
    "recall where": lambda s: s.recall("boat", where={"scope": BO}),
    "recall unscoped": lambda s: s.recall("boat", where={"unscoped": True}),
    "count": lambda s: s.count(vestig.Filter(scope_prefix="user")),
    "retrieve": lambda s: s.retrieve([{"content": "Which boat is it?"}], channel_id=BO),
    "forget": lambda s: s.forget(where={"scope": BO}),
    "forget below": lambda s: s.forget(where={"scope_prefix": "user"}),
    "deprecate": lambda s: s.deprecate(where={"scope": BO}),
    "items.put": lambda s: s.items.put("theme", 1, scope=BO),
    "items.put_many": lambda s: s.items.put_many([{"key": "theme", "value": 1, "scope": BO}]),
    "items.delete": lambda s: s.items.delete(scope_prefix="user"),
    "items.list": lambda s: s.items.list("user"),
    "items.scopes": lambda s: s.items.scopes("user"),
    "admin.prune": lambda s: s.admin.prune(where={"scope": BO}),
    "scoped": lambda s: s.scoped(BO),
}


@each("name", OTHERS)
def test_another_scope_is_refused(store: vestig.Vestig, ada: vestig.Vestig, name: str) -> None:
    before = sorted(one.id for one in store)
    with pytest.raises(vestig.ValidationError, match=f"this view is bound to the scope '{ADA}'"):
        OTHERS[name](ada)
    assert sorted(one.id for one in store) == before
    assert store.items.get("theme", scope=BO).value == "light"


def test_nothing_goes_because_it_is_of_the_scope_alone(ada: vestig.Vestig) -> None:
    ada.items.put("theme", "dark")
    empty: list[Callable[[], Any]] = [
        ada.forget, lambda: ada.forget(where={}), lambda: ada.forget(all=True),
        lambda: ada.forget(where=vestig.Filter()), lambda: ada.forget(where={"tags": None}),
        lambda: ada.deprecate(where={}), ada.items.delete,
    ]  # fmt: skip
    for call in empty:
        with pytest.raises(vestig.ValidationError):
            call()
    assert ada.count() == 1
    assert ada.items.get("theme").value == "dark"


def test_a_selection_takes_what_is_of_the_scope(store: vestig.Vestig, ada: vestig.Vestig) -> None:
    report = ada.forget(where={"keys": ["boat"]})
    assert len(report.memory_ids) == 1
    assert (ada.count(), store.get("boat", scope=BO).content) == (0, BERGEN)
    ada.items.put("theme", "dark")
    assert ada.items.delete("theme").rows_removed["items"] == 1
    assert store.items.get("theme", scope=BO).value == "light"


def test_a_view_learns_nothing_of_what_other_scopes_hold_as_well(tmp_path: Path) -> None:
    """The texts, the entities and the edges of others show in no answer to a view."""
    told = []
    for others in (False, True):
        path = tmp_path / f"store {others}"
        with vestig.open(path, embedder=HashingEmbedder(64)) as store:
            if others:
                store.commit("Jonas Meier lives in Porto", scope=BO, entities=["Jonas Meier"])
                store.commit("Jonas Meier lives in Bergen", scope=BO, entities=["Karl Meier"])
            view = store.scoped(ADA)
            text, names = "Jonas Meier lives in Porto", ["Jonas Meier"]
            dry = view.commit(text, entities=names, dry_run=True)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                view.list(where={"entities": ["Karl Meier"]})
            kept = view.commit(text, entities=names)
            gone = view.forget(kept.memory_id)
            told.append(
                (
                    dry.outcome, dry.entities, dry.similar, kept.outcome, kept.similar,
                    [str(one.message) for one in warned],
                    gone.shared_occurrences, gone.same_text, gone.entities_removed,
                    gone.edges_removed, gone.rows_removed, gone.warnings,
                )
            )  # fmt: skip
    assert told[0] == told[1]
    assert told[0][5] == ["list: entities: no memory mentions 'Karl Meier'"]


def test_a_view_counts_the_texts_of_its_own_scope(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(64)) as store:
        view = store.scoped(ADA)
        one = view.commit(PORTO, session_id="s", sequence=0).memory_id
        view.commit(PORTO, session_id="s", sequence=1)
        assert view.forget(one).shared_occurrences == 1


def test_a_view_in_another_namespace(store: vestig.Vestig) -> None:
    view = store.scoped(ADA, namespace="elsewhere")
    view.commit(PORTO)
    view.add_document("# Boat\n\nThe boat has two masts.")
    assert (view.count(), len(view.documents()), store.count()) == (2, 1, 1)
    assert {one.namespace for one in view} == {"elsewhere"}
    assert repr(view) == "<vestig.Vestig :memory: namespace=elsewhere scope=user/ada>"


def test_a_view_ends_with_its_store(store: vestig.Vestig) -> None:
    with store.scoped(ADA) as view:
        view.commit(PORTO)
    assert (view.count(), store.count()) == (1, 2)
    assert view.scoped(ADA).count() == 1
    store.close()
    with pytest.raises(vestig.ConflictError, match="closed"):
        view.count()


def test_a_view_of_an_event_loop_is_awaited_too() -> None:
    async def main() -> int:
        async with aio.open(":memory:", embedder=HashingEmbedder(64)) as opened:
            view = opened.scoped(ADA)
            await view.commit(PORTO)
            return int(await view.count())

    assert asyncio.run(main()) == 1


def test_every_call_that_takes_a_scope_is_bound_or_named_here() -> None:
    """A new call with a scope under another name is found."""
    known = {"scope", "where", "items", *views._OTHER_NAMES}
    for owner in (vestig.Vestig, Graph, Admin, Items):
        for name, method in inspect.getmembers(owner, inspect.isfunction):
            if not name.startswith("_"):
                names = set(inspect.signature(method).parameters)
                assert {n for n in names if "scope" in n or "channel" in n} <= known, name
