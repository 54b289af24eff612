"""SQLite's FTS5, in a file: BM25 over stems, any word of the question."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

MODES = ("full text",)


class Tool:
    """One table with the Porter stemmer."""

    def __init__(
        self, folder: str, ids: list[str], texts: list[str], vectors: list[list[float]]
    ) -> None:
        self._ids = ids
        self._file = sqlite3.connect(Path(folder) / "units.db")
        self._file.execute("create virtual table units using fts5(text, tokenize='porter')")
        self._file.executemany("insert into units (text) values (?)", [(text,) for text in texts])
        self._file.commit()

    def search(self, mode: str, text: str, vector: list[float], limit: int) -> list[str]:
        """Ids, best first."""
        words = dict.fromkeys(re.findall(r"\w+", text.lower()))
        if not words:
            return []
        rows = self._file.execute(
            "select rowid from units where units match ? order by bm25(units), rowid limit ?",
            (" OR ".join(f'"{word}"' for word in words), limit),
        )
        return [self._ids[number - 1] for (number,) in rows]
