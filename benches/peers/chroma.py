"""Chroma, in a folder: the nearest vectors by cosine."""

from __future__ import annotations

import chromadb
from chromadb.config import Settings

MODES = ("vector",)
_BATCH = 1_000


class Tool:
    """One collection of one client."""

    def __init__(
        self, folder: str, ids: list[str], texts: list[str], vectors: list[list[float]]
    ) -> None:
        settings = Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=folder, settings=settings)
        self._units = client.create_collection(
            "units", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        for start in range(0, len(ids), _BATCH):
            part = slice(start, start + _BATCH)
            self._units.add(ids=ids[part], documents=texts[part], embeddings=vectors[part])

    def search(self, mode: str, text: str, vector: list[float], limit: int) -> list[str]:
        """Ids, best first."""
        return self._units.query(query_embeddings=[vector], n_results=limit, include=[])["ids"][0]
