"""Labelled data sets and the metrics over them.

A set is a folder with `corpus.jsonl.gz` (units: id, text, timestamp, session, speaker,
conversation, turn) and `queries.jsonl.gz` (id, text, date, relevant, category, conversation).
A query is asked against its own conversation; ids repeat between conversations.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vestig.ports import Embedder

METRICS = ("R@10", "R@5", "MRR", "NDCG@10")
DEPTH = 200
# Categories that the tables leave out, by the name of the set.
LEFT_OUT = {"beam100k": frozenset({"summarization", "event_ordering"})}


class EmptyBenchmark(Exception):
    """No queries, or relevant ids that do not exist."""


@dataclass(frozen=True)
class LabelledSet:
    """Units and queries by conversation, in corpus order."""

    name: str
    corpus_path: Path
    units: dict[str, list[dict[str, Any]]]
    queries: dict[str, list[dict[str, Any]]]


def load(folder: Path) -> LabelledSet:
    """Reads a set.

    Raises:
        EmptyBenchmark: nothing to measure, or labels that point nowhere.
    """
    corpus_path = folder / "corpus.jsonl.gz"
    units = _by_conversation(corpus_path)
    queries = _by_conversation(folder / "queries.jsonl.gz")
    for conversation, asked in queries.items():
        known = {unit["id"] for unit in units.get(conversation, ())}
        for query in asked:
            if not query["relevant"] or not known.issuperset(query["relevant"]):
                raise EmptyBenchmark(f"{folder.name}: query {query['id']} has unknown labels")
    left_out = LEFT_OUT.get(folder.name, frozenset())
    kept = {
        conversation: [query for query in asked if query["category"] not in left_out]
        for conversation, asked in queries.items()
    }
    if not any(kept.values()):
        raise EmptyBenchmark(f"{folder.name}: no queries")
    return LabelledSet(folder.name, corpus_path, units, kept)


def _by_conversation(path: Path) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            rows[row["conversation"]].append(row)
    return dict(rows)


def score(ranked: Sequence[str], relevant: Sequence[str]) -> dict[str, float]:
    """Metrics of one query over ranked distinct unit ids; labels may repeat."""
    wanted = set(relevant)
    hits = [unit in wanted for unit in ranked]
    first = next((place for place, hit in enumerate(hits) if hit), None)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(wanted))))
    gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits[:10]) if hit)
    return {
        "R@10": sum(hits[:10]) / len(wanted),
        "R@5": sum(hits[:5]) / len(wanted),
        "MRR": 0.0 if first is None else 1 / (first + 1),
        "NDCG@10": gain / ideal,
    }


def summary(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Macro means in per cent, and half the width of the 95 % bootstrap interval of R@10."""
    means = {metric: 100 * float(np.mean([row[metric] for row in rows])) for metric in METRICS}
    values = np.array([row["R@10"] for row in rows])
    picks = np.random.default_rng(0).integers(0, len(values), (2000, len(values)))
    low, high = np.percentile(values[picks].mean(axis=1), [2.5, 97.5])
    return {**means, "R@10 ±": 50 * float(high - low)}


class CachedEmbedder:
    """An embedder that remembers vectors, in a folder too when one is given.

    The port of the engine, so that profiles and reference rows share one computation.
    """

    def __init__(self, inner: Embedder, folder: Path | None) -> None:
        self._inner = inner
        self._file = None if folder is None else folder / f"{inner.fingerprint[:16]}.vectors"
        self._known: dict[bytes, bytes] = {}
        self._bytes = inner.dimensions * 4
        if self._file is not None and self._file.exists():
            raw = self._file.read_bytes()
            step = 16 + self._bytes
            for place in range(0, len(raw) - step + 1, step):
                self._known[raw[place : place + 16]] = raw[place + 16 : place + step]

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    def truncated(self, text: str) -> bool:
        return self._inner.truncated(text)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        keys = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]
        unknown = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in self._known
        }
        for start in range(0, len(unknown), 256):
            part = list(unknown.items())[start : start + 256]
            made = self._inner.embed([text for _, text in part])
            found = dict(zip((key for key, _ in part), made, strict=True))
            self._known.update(found)
            if self._file is not None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                with self._file.open("ab") as out:
                    out.write(b"".join(key + vector for key, vector in found.items()))
        return [self._known[key] for key in keys]

    def matrix(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors as rows."""
        return np.frombuffer(b"".join(self.embed(texts)), dtype="<f4").reshape(len(texts), -1)
