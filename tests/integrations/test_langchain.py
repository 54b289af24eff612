"""The retriever passes LangChain's own tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import vestig
from tables import each
from vestig import aio
from vestig.testing import HashingEmbedder

pytest.importorskip("langchain_core", reason="LangChain is not installed")
standard = pytest.importorskip(
    "langchain_tests.integration_tests", reason="langchain-tests is not installed"
)

from vestig.integrations.langchain import VestigRetriever  # noqa: E402


class TestRetriever(standard.RetrieversIntegrationTests):  # type: ignore[name-defined,misc]
    @property
    def retriever_constructor(self) -> Any:
        return VestigRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        store = vestig.open(":memory:", embedder=HashingEmbedder(32))
        for day in ("Mondays", "Tuesdays", "Fridays", "Sundays"):
            store.commit(f"Deploys run on {day} at noon", tags=["infra"])
        return {"store": store, "where": {"tags": "infra"}}

    @property
    def retriever_query_example(self) -> str:
        return "when do deploys run?"


# its own mode is another; the test itself stays what it is
pytest.mark.asyncio(standard.RetrieversIntegrationTests.test_ainvoke_returns_documents)


def test_a_document_says_which_memory_it_is() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as store:
        id = store.commit("Deploys run on Fridays", key="deploys", scope="s").memory_id
        (found,) = VestigRetriever(store=store).invoke("when do deploys run?")
        assert (found.id, found.metadata["key"], found.metadata["scope"]) == (id, "deploys", "s")
        assert 0 < found.metadata["score"] <= 1


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder(32)) as opened:
        for name in ("ada", "bo"):
            opened.commit(f"Deploys of {name} run on Fridays", scope=f"users/{name}")
        yield opened


@each(
    ("name", "meant"),
    [
        ("scope", 'where={"scope": …}, or store=store.scoped(…)'),
        ("user_id", 'where={"scope": …}, or store=store.scoped(…)'),
        ("namespace", "store=vestig.open(…, namespace=…)"),
        ("session_id", 'where={"session_ids": …}'),
        ("author", 'where={"authors": …}'),
        ("filter", "where"),
        ("filters", "where"),
        ("limit", "k"),
        ("top_k", "k"),
        ("search_kwargs", 'k (search_kwargs={"k": 3} is k=3)'),
        ("vectorstore", "store"),
    ],
)
def test_an_argument_that_it_does_not_have_is_refused_with_what_is_meant(
    store: vestig.Vestig, name: str, meant: str
) -> None:
    with pytest.raises(TypeError) as error:
        VestigRetriever(store=store, **{name: "users/ada"})
    assert f"VestigRetriever has no argument {name}; did you mean {meant}? " in str(error.value)
    with pytest.raises(TypeError) as error:
        VestigRetriever(store=store).invoke("deploys", **{name: "users/ada"})
    assert f"invoke has no argument {name}; did you mean " in str(error.value)
    assert meant in str(error.value)


def test_what_nobody_means_is_refused_too(store: vestig.Vestig) -> None:
    for refused in (
        lambda: VestigRetriever(store=store, banana=1),
        lambda: VestigRetriever.model_validate({"store": store, "banana": 1}),
        lambda: VestigRetriever(store=store).invoke("deploys", banana=1),
        lambda: asyncio.run(VestigRetriever(store=store).ainvoke("deploys", banana=1)),
    ):
        with pytest.raises(TypeError, match=r"has no argument banana; it takes: "):
            refused()
    with pytest.raises(TypeError, match=r"write VestigRetriever\(store=store\)$"):
        VestigRetriever(store)


def test_what_is_no_store_or_no_filter_is_refused_when_it_is_made(store: vestig.Vestig) -> None:
    for other in ("memory", None, aio.wrap(store)):
        with pytest.raises(vestig.ValidationError, match=r"^store: expected a store as vestig"):
            VestigRetriever(store=other)
    with pytest.raises(vestig.ValidationError, match=r"^where: expected a Filter"):
        VestigRetriever(store=store, where="users/ada")
    with pytest.raises(vestig.ValidationError, match="the filter has no field user; did you mean"):
        VestigRetriever(store=store, where={"user": "users/ada"})
    with pytest.raises(vestig.ValidationError, match=r"^k: expected an integer >= 1"):
        VestigRetriever(store=store, k=0)


def test_one_user_reads_what_is_of_that_user(store: vestig.Vestig) -> None:
    for mine in (
        VestigRetriever(store=store.scoped("users/ada")),
        VestigRetriever(store=store, where={"scope": "users/ada"}),
        VestigRetriever(store=store, where=vestig.Filter(scope="users/ada")),
    ):
        (found,) = mine.invoke("when do deploys run?")
        assert found.metadata["scope"] == "users/ada"


def test_an_awaited_call_asks_for_a_number_of_its_own(store: vestig.Vestig) -> None:
    retriever = VestigRetriever(store=store)
    found = [asyncio.run(retriever.ainvoke("when do deploys run?", k=k)) for k in (1, 2)]
    assert [len(one) for one in found] == [1, 2]
