"""The store of LangGraph does what the framework's own store does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Any

import pytest

import vestig
from vestig.testing import FrozenClock, HashingEmbedder

base = pytest.importorskip("langgraph.store.base", reason="LangGraph is not installed")
from langgraph.store.memory import InMemoryStore  # noqa: E402

from vestig.integrations.langgraph import VestigStore  # noqa: E402

OPERATIONS = 1_200
LABELS = ["a", "b", "a/b", "c%2F", "é", "x y"]
KEYS = ["k", "mem_1", " k ", "k/1", "line\nbreak", "long" * 100]
VALUES = [
    {"n": 1}, {"n": 2, "t": "Ada likes tea"}, {"n": 3, "in": {"deep": [1, None]}}, {"t": "ok"}, {},
]  # fmt: skip
FILTERS = [None, {"n": 1}, {"n": {"$eq": 1}}, {"n": {"$ne": 2}}, {"in": {"deep": [1, None]}}]


@pytest.fixture
def opened() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder(16)) as store:
        yield store


def namespace(rng: random.Random, least: int = 1) -> tuple[str, ...]:
    return tuple(rng.choice(LABELS) for _ in range(rng.randint(least, 3)))


def operation(rng: random.Random) -> Any:
    kind = rng.choice(["put", "put", "put", "delete", "get", "get", "search", "namespaces"])
    if kind == "put":
        index = rng.choice([None, False, ["t"]])
        return base.PutOp(namespace(rng), rng.choice(KEYS), dict(rng.choice(VALUES)), index)
    if kind == "delete":
        return base.PutOp(namespace(rng), rng.choice(KEYS), None)
    if kind == "get":
        return base.GetOp(namespace(rng), rng.choice(KEYS))
    if kind == "search":
        wanted = rng.choice(FILTERS)
        return base.SearchOp(
            namespace(rng, 0), wanted, limit=1_000, query=rng.choice([None, "tea"])
        )
    conditions = [
        base.MatchCondition(rng.choice(["prefix", "suffix"]), (rng.choice([*LABELS, "*"]),))
        for _ in range(rng.randint(0, 2))
    ]
    return base.ListNamespacesOp(tuple(conditions), rng.choice([None, 1, 2]), limit=100)


def told(result: Any) -> Any:
    """What a result says, without times; a search as a set, for namespaces have no order."""
    if isinstance(result, base.Item):
        return result.namespace, result.key, result.value
    if isinstance(result, list) and result and isinstance(result[0], base.Item):
        return sorted(map(repr, map(told, result)))
    return result


@pytest.mark.parametrize("seed", range(3))
def test_it_does_what_the_store_in_memory_does(opened: vestig.Vestig, seed: int) -> None:
    rng = random.Random(seed)
    theirs, mine = InMemoryStore(), VestigStore(opened)
    count = 0
    while count < OPERATIONS // 3:
        ops = [operation(rng) for _ in range(rng.randint(1, 4))]
        count += len(ops)
        answers = [[told(one) for one in store.batch(ops)] for store in (theirs, mine)]
        for op, wanted, got in zip(ops, *answers, strict=True):
            if not isinstance(op, base.ListNamespacesOp):
                assert wanted == got, op
            elif not any(isinstance(one, base.PutOp) for one in ops):
                # theirs remembers namespaces without items
                live = {name for name, items in theirs._data.items() if items}
                assert _listed(op, live) == got, op
    assert opened._session.ledger.verify_all() == []


def _listed(op: Any, namespaces: set[tuple[str, ...]]) -> Any:
    fresh = InMemoryStore()
    for one in namespaces:
        fresh.put(one, "k", {})
    return fresh.batch([op])[0]


def test_order_pages_and_scores(opened: vestig.Vestig) -> None:
    theirs, mine = InMemoryStore(), VestigStore(opened)
    for store in (theirs, mine):
        for number, key in enumerate("dbeac"):
            store.put(("n",), key, {"number": number})
        store.put(("n",), "b", {"number": 9})
        store.delete(("n",), "e")
        store.put(("n",), "e", {"number": 10})
    for offset, limit in ((0, 10), (1, 2), (3, 10), (9, 1)):
        wanted = [one.key for one in theirs.search(("n",), offset=offset, limit=limit)]
        assert [one.key for one in mine.search(("n",), offset=offset, limit=limit)] == wanted
    mine.put(("n",), "tea", {"text": "Ada likes green tea"}, index=["text"])
    mine.put(("n",), "hidden", {"text": "Ada likes green tea"}, index=False)
    first, *rest = mine.search(("n",), query="what does Ada like?", limit=10)
    assert first.key == "tea"
    assert first.score is not None
    assert {one.key: one.score for one in rest}["hidden"] is None
    assert len(mine.search(("n",), query="what does Ada like?", limit=2)) == 2


def test_ttl_ends_an_item_and_a_read_extends_it() -> None:
    clock = FrozenClock("2026-01-01T00:00:00Z")
    with vestig.open(":memory:", embedder=HashingEmbedder(16), clock=clock) as opened:
        store = VestigStore(opened, ttl={"default_ttl": 10, "refresh_on_read": True})
        store.put(("n",), "default", {"t": "words of the default"})
        store.put(("n",), "longer", {"t": "words of another"}, ttl=30)
        store.put(("n",), "never", {"t": "words that stay"}, ttl=None)
        clock.set("2026-01-01T00:09:00Z")
        assert store.get(("n",), "default") is not None
        assert store.get(("n",), "longer", refresh_ttl=False) is not None
        clock.set("2026-01-01T00:18:00Z")
        assert store.get(("n",), "default", refresh_ttl=False) is not None
        assert opened.count() == 3
        clock.set("2026-01-01T00:20:00Z")
        assert store.get(("n",), "default") is None
        clock.set("2026-01-01T00:31:00Z")
        assert [one.key for one in store.search(("n",), query="words")] == ["never"]
        assert opened.admin.gc().items_removed == 2


def test_a_filter_passes_over_items_without_a_number_there(opened: vestig.Vestig) -> None:
    store = VestigStore(opened)
    values: dict[str, Any] = {
        "old": {"age": 30}, "young": {"age": 20}, "words": {"age": "many"}, "null": {"age": None},
        "list": {"age": [30]}, "none": {"name": "Ada"}, "text": {"age": "31"},
    }  # fmt: skip
    for key, value in values.items():
        store.put(("d",), key, value)

    def found(**wanted: Any) -> set[str]:
        return {one.key for one in store.search(("d",), filter=wanted)}

    assert found(age={"$gt": 25}) == {"old", "text"}
    assert found(age={"$gte": 20}) == {"old", "young", "text"}
    assert found(age={"$lt": 25}) == {"young"}
    assert found(age={"$lte": 20, "$gt": 1}) == {"young"}
    assert found(age={"$ne": 30}) == set(values) - {"old"}
    assert found(age={"$eq": 20}) == {"young"}
    with pytest.raises(ValueError, match=r"\$gt: expected a number, got str"):
        found(age={"$gt": "soon"})


def test_awaited_calls_and_other_scopes(opened: vestig.Vestig) -> None:
    store = VestigStore(opened, scope="agents/one")
    opened.items.put("k", {"other": 1}, scope="agents")

    async def run() -> Any:
        await store.aput(("users", "ada"), "k", {"a": 1})
        return await store.aget(("users", "ada"), "k"), await store.asearch(())

    found, every = asyncio.run(run())
    assert found.value == {"a": 1}
    assert [one.namespace for one in every] == [("users", "ada")]
    assert opened.items.scopes() == ["agents", "agents/one/users/ada"]


def test_a_namespace_is_a_tuple_and_no_text(opened: vestig.Vestig) -> None:
    store = VestigStore(opened)
    for refused in (
        lambda: store.put("users", "k", {"a": 1}),
        lambda: store.get("users", "k"),
        lambda: store.delete("users", "k"),
        lambda: store.search("users"),
        lambda: store.list_namespaces(prefix="users"),
        lambda: store.list_namespaces(suffix="users"),
        lambda: asyncio.run(store.aput("users", "k", {"a": 1})),
        lambda: store.batch([base.PutOp("users", "k", {"a": 1})]),
    ):
        with pytest.raises(
            vestig.ValidationError,
            match=r"^namespace: expected a tuple of texts, got 'users'; write \('users',\)$",
        ):
            refused()
    assert opened.items.scopes() == []
    # what a graph read from JSON
    store.put(["users", "ada"], "k", {"a": 1})
    assert store.get(("users", "ada"), "k").namespace == ("users", "ada")


def test_a_text_that_stands_for_a_list_is_no_list_of_its_letters(opened: vestig.Vestig) -> None:
    VestigStore(opened, fields="likes").put(("n",), "k", {"likes": "Ada likes tea", "l": "no"})
    assert [one.content for one in opened.list()] == ["Ada likes tea"]
    with pytest.raises(vestig.ValidationError, match=r"^value: expected an object"):
        VestigStore(opened).put(("n",), "k", "Ada likes tea")


def test_what_it_cannot_keep_items_in_is_refused_when_it_is_made(opened: vestig.Vestig) -> None:
    with pytest.raises(vestig.ValidationError, match=r"^store: expected a store as vestig"):
        VestigStore("memory")
    with pytest.raises(vestig.ValidationError, match=r"^scope: expected text, got 'tuple'"):
        VestigStore(opened, scope=("users", "ada"))
    with pytest.raises(vestig.ValidationError, match=r"the store itself, and scope='users/ada'$"):
        VestigStore(opened.scoped("users/ada"))
