"""The retriever of LangChain: memories as documents."""

from __future__ import annotations

from typing import Any

from vestig.answers import RecallHit

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as error:
    from vestig.hints import missing_package

    raise ImportError(
        missing_package("vestig.integrations.langchain", "langchain-core", "langchain")
    ) from error


class VestigRetriever(BaseRetriever):
    """Memories that answer a question, as documents; their metadata say which, how sure and when.

    Attributes:
        store: an open store.
        k: most documents; one call may ask for another number.
        where: which memories take part, as in `recall`.

    Example:
        >>> import vestig
        >>> from vestig.testing import HashingEmbedder
        >>> store = vestig.open(":memory:", embedder=HashingEmbedder())
        >>> outcome = store.commit("Deploys run on Fridays at noon", tags=["infra"])
        >>> retriever = VestigRetriever(store=store, k=3, where={"tags": "infra"})
        >>> [one.page_content for one in retriever.invoke("when do deploys run?")]
        ['Deploys run on Fridays at noon']
    """

    store: Any
    k: int = 5
    where: Any = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        found = self.store.recall(query, where=self.where, limit=self.k if k is None else k)
        return [_document(hit) for hit in found]


def _document(hit: RecallHit) -> Document:
    memory = hit.memory
    plain = memory.to_dict()
    names = ("scope", "key", "author", "session_id", "title", "t_valid", "metadata")
    told = {name: plain[name] for name in names if plain.get(name) is not None}
    return Document(
        id=memory.id, page_content=memory.content, metadata={"score": hit.score, **told}
    )
