"""LangGraph's InMemoryStore: the nearest vectors by cosine, in memory."""

from __future__ import annotations

from langgraph.store.memory import InMemoryStore

MODES = ("vector",)


class Tool:
    """One namespace; its embedder looks vectors up."""

    def __init__(
        self, folder: str, ids: list[str], texts: list[str], vectors: list[list[float]]
    ) -> None:
        self._known = dict(zip(texts, vectors, strict=True))
        index = {"dims": len(vectors[0]), "embed": self._embed, "fields": ["text"]}
        self._store = InMemoryStore(index=index)
        # one by one: it counts the texts of a batch that repeat only once, and refuses the batch
        for id, text in zip(ids, texts, strict=True):
            self._store.put(("units",), id, {"text": text})

    def _embed(self, texts: list[str]) -> list[list[float]]:
        return [self._known[text] for text in texts]

    def search(self, mode: str, text: str, vector: list[float], limit: int) -> list[str]:
        """Ids, best first."""
        self._known[text] = vector
        return [item.key for item in self._store.search(("units",), query=text, limit=limit)]
