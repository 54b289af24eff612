"""Peers: rankings that recall is compared with, by cosine, by BM25 and by a hybrid of both.

They share nothing with the recall of a store but the embedder and the stemmer. Cosine: the query's
vector against that of `author: text`. BM25 (Robertson and Zaragoza, The Probabilistic Relevance
Framework: BM25 and Beyond, 2009) over the same texts: words of two or more characters, lower-cased,
Snowball English stems, no stop words, distinct query terms, idf ln(1 + (N − n + ½)/(n + ½)), N the
units of the conversation. Hybrid: w · z(BM25) + z(cosine), population z-scores over the
conversation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from vestig.evaluation.benchmarks import Benchmark, Query, Unit
from vestig.evaluation.metrics import DEPTH
from vestig.language.words import terms
from vestig.lazy_pattern import lazy_pattern
from vestig.times import to_us

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vestig.evaluation.cached_embedder import CachedEmbedder

PEERS: Final = ("cosine", "bm25", "hybrid")
_WORD: Final = lazy_pattern(r"\w\w+")


class PeerParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Saturation and length parameters of BM25, how much of a unit's text it reads (null =
    all), and the weight w of BM25 in the hybrid."""

    k1: float = 0.9
    b: float = 0.4
    text_chars: int | None = None
    hybrid_weight: float = 0.5


# The best parameters known for units of an `origin_type`: a peer is compared at its best.
_BY_ORIGIN: Final[Mapping[str, PeerParameters]] = {
    "chat_peer": PeerParameters(hybrid_weight=1.0),
    "chat_agent": PeerParameters(k1=1.2, b=0.75, text_chars=1200),
}


def parameters_for(origin: str | None) -> PeerParameters:
    """Parameters for a benchmark most of whose units have this origin type.

    Example:
        >>> parameters_for("chat_peer").hybrid_weight, parameters_for("note").hybrid_weight
        (1.0, 0.5)
    """
    return _BY_ORIGIN.get(origin or "", PeerParameters())


class _Stems:
    """Stems of words, each computed once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, text: str) -> list[str]:
        return [self._stem(word) for word in _WORD.findall(text.lower())]

    def _stem(self, word: str) -> str:
        found = self._known.get(word)
        if found is None:
            stems = terms(word)
            # a word that the analyser takes apart has no stem of its own
            found = self._known[word] = stems[0] if len(stems) == 1 else word
        return found


class _Bm25:
    """BM25 of all texts of one conversation."""

    def __init__(self, texts: Sequence[str], parameters: PeerParameters, stems: _Stems) -> None:
        import numpy as np

        self._stems = stems
        counted = [Counter(stems.of(text)) for text in texts]
        lengths = np.array([sum(counts.values()) for counts in counted], dtype=float)
        mean = float(lengths.mean()) or 1.0
        self._norm = parameters.k1 * (1 - parameters.b + parameters.b * lengths / mean)
        self._k1 = parameters.k1
        self._n = len(texts)
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        for number, counts in enumerate(counted):
            for term, count in counts.items():
                rows, often = self._postings.setdefault(term, ([], []))
                rows.append(number)
                often.append(count)

    def scores(self, query: str) -> NDArray[np.float64]:
        import numpy as np

        total = np.zeros(self._n)
        for term in dict.fromkeys(self._stems.of(query)):
            if term not in self._postings:
                continue
            rows, counts = self._postings[term]
            idf = math.log(1 + (self._n - len(rows) + 0.5) / (len(rows) + 0.5))
            often = np.array(counts, dtype=float)
            total[rows] += idf * often * (self._k1 + 1) / (often + self._norm[rows])
        return total


def _z(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Population z-scores; zeros when all values are equal."""
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 0 else values * 0.0


def _ranked(units: Sequence[Unit], values: NDArray[np.float64], query: Query) -> Iterator[Unit]:
    """The units that a question may use, best first."""
    import numpy as np

    until = None if query.until is None else to_us(query.until)
    for place in np.argsort(-values, kind="stable"):
        unit = units[place]
        if until is None or unit.time is None or unit.time < until:
            yield unit


def _beginning(unit: Unit, chars: int | None) -> str:
    return msgspec.structs.replace(unit, text=unit.text[:chars]).embedded_text


def peer_rankings(
    benchmark: Benchmark, embedder: CachedEmbedder, parameters: PeerParameters
) -> Iterator[tuple[Query, dict[str, list[str]]]]:
    """For each question, the ids that each of `PEERS` ranks, best first, at most `DEPTH`.

    Equal scores stand in the order of the corpus.
    """

    queries_of: dict[str | None, list[Query]] = {}
    for query in benchmark.queries:
        queries_of.setdefault(query.conversation, []).append(query)
    found: dict[int, dict[str, list[str]]] = {}
    stems = _Stems()
    for conversation, queries in queries_of.items():
        units = benchmark.units[conversation]
        vectors = embedder.matrix([unit.embedded_text for unit in units])
        beginnings = [_beginning(unit, parameters.text_chars) for unit in units]
        lexical = _Bm25(beginnings, parameters, stems)
        for query, vector in zip(
            queries, embedder.matrix([query.text for query in queries]), strict=True
        ):
            cosine = (vectors @ vector).astype(float)
            words = lexical.scores(query.text)
            hybrid = parameters.hybrid_weight * _z(words) + _z(cosine)
            found[id(query)] = {
                name: [one.id for one in _ranked(units, values, query)][:DEPTH]
                for name, values in zip(PEERS, (cosine, words, hybrid), strict=True)
            }
    for query in benchmark.queries:
        yield query, found[id(query)]
