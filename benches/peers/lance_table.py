"""LanceDB, in a folder: the nearest vectors by cosine, its full text, and its hybrid of both."""

from __future__ import annotations

import re

import lancedb

MODES = ("vector", "full text", "hybrid")


class Tool:
    """One table with an index of its texts; vectors are scanned, as it does without an index."""

    def __init__(
        self, folder: str, ids: list[str], texts: list[str], vectors: list[list[float]]
    ) -> None:
        rows = [
            {"id": id, "text": text, "vector": vector}
            for id, text, vector in zip(ids, texts, vectors, strict=True)
        ]
        self._units = lancedb.connect(folder).create_table("units", rows)
        self._units.create_fts_index("text")

    def search(self, mode: str, text: str, vector: list[float], limit: int) -> list[str]:
        """Ids, best first. Quotes in a question would ask for phrases."""
        text = " ".join(re.findall(r"\w+", text))
        if mode == "vector":
            query = self._units.search(vector, query_type="vector").distance_type("cosine")
        elif mode == "full text":
            query = self._units.search(text, query_type="fts")
        else:
            query = self._units.search(query_type="hybrid").vector(vector).text(text)
            query = query.distance_type("cosine")
        return [row["id"] for row in query.limit(limit).to_list()]
