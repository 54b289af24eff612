"""Reference retrievers that share nothing with Vestig but the embedder: plain cosine, BM25, hybrid.

BM25: words of two or more characters, lower-cased, Snowball English stems, no stop words,
distinct query terms, idf ln(1 + (N − n + ½)/(n + ½)). Hybrid: w·z(BM25) + z(cosine), z over
the units of the conversation.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import Stemmer
from numpy.typing import NDArray

from labelled import DEPTH, CachedEmbedder, LabelledSet, score

_WORD = re.compile(r"\w\w+")


@dataclass(frozen=True)
class Words:
    """Parameters of BM25; `text_chars`: only a beginning of each unit's text is read."""

    k1: float = 0.9
    b: float = 0.4
    text_chars: int | None = None
    hybrid_weight: float = 0.5


# By the name of the set; every other set takes the defaults.
PARAMETERS = {
    "locomo_dev": Words(hybrid_weight=1.0),
    "beam100k": Words(k1=1.2, b=0.75, text_chars=1200),
}


def spoken(unit: dict[str, Any]) -> str:
    """`author: text`, or the text of a unit without author."""
    return f"{unit['speaker']}: {unit['text']}" if unit["speaker"] else str(unit["text"])


class Bm25:
    """Scores of all texts for one query."""

    def __init__(self, texts: Sequence[str], words: Words) -> None:
        self._stem = Stemmer.Stemmer("english")
        counted = [Counter(self._terms(text)) for text in texts]
        lengths = np.array([sum(counts.values()) for counts in counted], dtype=float)
        self._norm = words.k1 * (1 - words.b + words.b * lengths / lengths.mean())
        self._k1 = words.k1
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        for number, counts in enumerate(counted):
            for term, count in counts.items():
                rows, counts_of_term = self._postings.setdefault(term, ([], []))
                rows.append(number)
                counts_of_term.append(count)
        self._n = len(texts)

    def _terms(self, text: str) -> list[str]:
        return list(self._stem.stemWords(_WORD.findall(text.lower())))

    def scores(self, query: str) -> NDArray[np.float64]:
        total = np.zeros(self._n)
        for term in dict.fromkeys(self._terms(query)):
            if term not in self._postings:
                continue
            rows, counts = self._postings[term]
            idf = math.log(1 + (self._n - len(rows) + 0.5) / (len(rows) + 0.5))
            tf = np.array(counts, dtype=float)
            total[rows] += idf * tf * (self._k1 + 1) / (tf + self._norm[rows])
        return total


def z(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Population z-scores; zeros when all values are equal."""
    spread = values.std()
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)


def reference_rows(
    data: LabelledSet, embedder: CachedEmbedder
) -> dict[str, list[dict[str, float]]]:
    """Metrics of every query for the rows `cosine`, `bm25`, `hybrid`."""
    words = PARAMETERS.get(data.name, Words())
    rows: dict[str, list[dict[str, float]]] = {"cosine": [], "bm25": [], "hybrid": []}
    for conversation, queries in data.queries.items():
        units = data.units[conversation]
        vectors = embedder.matrix([spoken(unit) for unit in units])
        cut = [{**unit, "text": unit["text"][: words.text_chars]} for unit in units]
        lexical = Bm25([spoken(unit) for unit in cut], words)
        asked = embedder.matrix([query["text"] for query in queries])
        for query, vector in zip(queries, asked, strict=True):
            cosine = (vectors @ vector).astype(float)
            bm25 = lexical.scores(query["text"])
            found = {
                "cosine": cosine,
                "bm25": bm25,
                "hybrid": words.hybrid_weight * z(bm25) + z(cosine),
            }
            for name, values in found.items():
                best = np.argsort(-values, kind="stable")[:DEPTH]
                rows[name].append(score([units[i]["id"] for i in best], query["relevant"]))
    return rows


Row = Callable[[LabelledSet, CachedEmbedder], dict[str, list[dict[str, float]]]]
