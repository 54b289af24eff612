"""Qdrant's local mode, in a folder: the nearest vectors by cosine."""

from __future__ import annotations

from qdrant_client import QdrantClient
from qdrant_client.models import Distance, PointStruct, VectorParams

MODES = ("vector",)


class Tool:
    """One collection; a point's number is the place of its text."""

    def __init__(
        self, folder: str, ids: list[str], texts: list[str], vectors: list[list[float]]
    ) -> None:
        self._ids = ids
        self._client = QdrantClient(path=folder)
        size = VectorParams(size=len(vectors[0]), distance=Distance.COSINE)
        self._client.create_collection("units", vectors_config=size)
        self._client.upsert(
            "units",
            [
                PointStruct(id=number, vector=vector, payload={"text": text})
                for number, (text, vector) in enumerate(zip(texts, vectors, strict=True))
            ],
        )

    def search(self, mode: str, text: str, vector: list[float], limit: int) -> list[str]:
        """Ids, best first."""
        found = self._client.query_points("units", query=vector, limit=limit).points
        return [self._ids[point.id] for point in found]
