"""The retriever passes LangChain's own tests."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
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
