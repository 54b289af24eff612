"""The retriever of LangChain: memories as documents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, NoReturn

from vestig.answers import RecallHit
from vestig.api.guards import argument_meant
from vestig.api.store import Vestig
from vestig.arguments import count_argument
from vestig.calls.filter import Filter, FilterFields, checked_filter
from vestig.hints import unknown_name
from vestig.integrations import check_store
from vestig.module_words import missing_name
from vestig.other_words import LEAVE_OUT

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as error:
    from vestig.hints import missing_package

    raise ImportError(
        missing_package("vestig.integrations.langchain", "langchain-core", "langchain")
    ) from error

if TYPE_CHECKING:
    _Where = Filter | FilterFields | None
else:
    # pydantic takes no TypedDict of `typing` before Python 3.12; `__init__` checks the filter
    _Where = Any

_OWN: Final = ("store", "k", "where")


if not TYPE_CHECKING:  # a type checker knows the names that there are

    def __getattr__(name: str) -> NoReturn:
        raise missing_name(name, globals())


class VestigRetriever(BaseRetriever):
    """Memories that answer a question, as documents; their metadata say which, how sure and when.

    Attributes:
        store: an open store, or a view of one: `store.scoped(…)`.
        k: most documents; one call may ask for another number.
        where: which memories take part, as in `recall`. `tags` and `metadata` are LangChain's own,
            of its traces.

    Example:
        >>> import vestig
        >>> from vestig.testing import HashingEmbedder
        >>> store = vestig.open(":memory:", embedder=HashingEmbedder())
        >>> outcome = store.commit("Deploys run on Fridays at noon", tags=["infra"])
        >>> retriever = VestigRetriever(store=store, k=3, where={"tags": "infra"})
        >>> [one.page_content for one in retriever.invoke("when do deploys run?")]
        ['Deploys run on Fridays at noon']
    """

    store: Vestig
    k: int = 5
    where: _Where = None

    if not TYPE_CHECKING:  # a type checker knows the fields
        # what no field takes would be dropped, and a filter with it
        def __init__(self, *by_place: object, **given: object) -> None:
            if by_place:
                raise TypeError(
                    "VestigRetriever takes its arguments by name; write"
                    " VestigRetriever(store=store)"
                )
            fields = type(self).model_fields
            names = [*_OWN, *(name for name in fields if name not in _OWN)]
            for name in given:
                if name not in names:
                    near = argument_meant(name, names, "VestigRetriever")
                    raise TypeError(unknown_name(name, names, "VestigRetriever", near=near))
            if "store" in given:
                check_store(given["store"])
            checked_filter(given.get("where"), query=True)
            super().__init__(**given)
            count_argument("k", self.k)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
        **unknown: object,
    ) -> list[Document]:
        for name in unknown:
            near = argument_meant(name, list(_OWN), "VestigRetriever")
            if near not in ("", "k") and not near.startswith(LEAVE_OUT):
                near = f"VestigRetriever(…) with {near}"
            raise TypeError(unknown_name(name, ["k"], "invoke", near=near))
        limit = self.k if k is None else count_argument("k", k)
        return [_document(hit) for hit in self.store.recall(query, where=self.where, limit=limit)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **asked: Any
    ) -> list[Document]:
        sync = run_manager.get_sync()
        return await asyncio.to_thread(
            self._get_relevant_documents, query, run_manager=sync, **asked
        )


def _document(hit: RecallHit) -> Document:
    memory = hit.memory
    plain = memory.to_dict()
    names = ("scope", "key", "author", "session_id", "title", "t_valid", "metadata")
    told = {name: plain[name] for name in names if plain.get(name) is not None}
    return Document(
        id=memory.id, page_content=memory.content, metadata={"score": hit.score, **told}
    )
