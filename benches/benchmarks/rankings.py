"""Metrics of one question over a ranking of distinct units, each from 0 to 1; and the rankings of
peers that recall is compared with, by cosine, by BM25 and by a hybrid of both.

Gains are binary. For a cut k: `recall@k` is the share of the relevant units among the best k,
`precision@k` the share of the k places that hold a relevant one, `hit@k` whether any is there,
`all@k` whether all are, `ndcg@k` the discounted gain 1 / log2(rank + 1) over the best possible one
(Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, 2002). `mrr` is 1 / rank
of the first relevant unit, 0 when none is found.

Peers share nothing with the recall of a store but the embedder and the stemmer. Cosine: the query's
vector against that of `author: text`. BM25 (Robertson and Zaragoza, The Probabilistic Relevance
Framework: BM25 and Beyond, 2009) over the same texts: words of two or more characters, lower-cased,
Snowball English stems, no stop words, distinct query terms, idf ln(1 + (N − n + ½)/(n + ½)), N the
units of the conversation. Hybrid: w · z(BM25) + z(cosine), population z-scores over the
conversation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from benchmarks.reader import Benchmark, Query, Unit
from benchmarks.report import AuthorUnits, Comparison
from vestig.language.words import terms
from vestig.lazy_pattern import lazy_pattern
from vestig.times import to_us

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from benchmarks.run import CachedEmbedder


CUTS: Final = (1, 5, 10, 20, 50)
# Length of the longest ranking of distinct units; `mrr` is 0 for what lies below.
DEPTH: Final = 200
PEERS: Final = ("cosine", "bm25", "hybrid")
_WORD: Final = lazy_pattern(r"\w\w+")
FAMILIES: Final = ("recall", "precision", "hit", "all", "ndcg")
MRR: Final = "mrr"


def metric_name(family: str, cut: int) -> str:
    """The name of a metric with a cut.

    Example:
        >>> metric_name("recall", 5)
        'recall@5'
    """
    return f"{family}@{cut}"


METRICS: Final = (*(metric_name(family, cut) for family in FAMILIES for cut in CUTS), MRR)


def _discount(place: int) -> float:
    return 1 / math.log2(place + 2)


def _at(ranked: Sequence[str], relevant: Collection[str], cut: int) -> dict[str, float]:
    hits = [unit in relevant for unit in ranked[:cut]]
    found = sum(hits)
    ideal = sum(_discount(place) for place in range(min(cut, len(relevant))))
    gain = sum(_discount(place) for place, hit in enumerate(hits) if hit)
    values = (
        found / len(relevant),
        found / cut,
        float(found > 0),
        float(found == len(relevant)),
        gain / ideal,
    )
    return {metric_name(family, cut): v for family, v in zip(FAMILIES, values, strict=True)}


def _reciprocal(ranked: Sequence[str], relevant: Collection[str]) -> float:
    first = next((place for place, unit in enumerate(ranked) if unit in relevant), None)
    return 0.0 if first is None else 1 / (first + 1)


def score(ranked: Sequence[str], relevant: Collection[str]) -> dict[str, float]:
    """Every metric of one ranking of distinct units.

    Args:
        ranked: ids of units, best first, none twice.
        relevant: ids of the units that answer, at least one, none twice.

    Example:
        >>> found = score(["x", "a", "y", "b"], {"a", "b", "c"})
        >>> round(found["recall@5"], 4), found["hit@1"], found["mrr"]
        (0.6667, 0.0, 0.5)
    """
    return score_by_cut(dict.fromkeys((*CUTS, DEPTH), ranked), relevant)


def score_by_cut(
    rankings: Mapping[int, Sequence[str]], relevant: Collection[str]
) -> dict[str, float]:
    """Every metric where each cut has a ranking of its own: that of a recall with this limit.

    `rankings` holds one for each of `CUTS`; `mrr` is that of the longest, and where that holds
    no relevant unit, of the one for `DEPTH` if it is there.
    """
    values: dict[str, float] = {}
    for cut in CUTS:
        values.update(_at(rankings[cut], relevant, cut))
    values[MRR] = _reciprocal(rankings[CUTS[-1]], relevant)
    if not values[MRR] and DEPTH in rankings:
        values[MRR] = _reciprocal(rankings[DEPTH], relevant)
    return {name: values[name] for name in METRICS}


class Tally:
    """The metrics of many questions, and the ranks of their relevant units.

    Example:
        >>> tally = Tally()
        >>> tally.add(dict.fromkeys(CUTS, ["x", "a"]), {"a", "b"})
        >>> tally.scores["mrr"], tally.ranks
        ([0.5], [{'a': 2, 'b': None}])
    """

    def __init__(self) -> None:
        # of each question with units that its relevant ones have replaced: whether the first
        # relevant one stands above all of these
        self.newest_first: list[bool] = []
        self.scores: dict[str, list[float]] = {metric: [] for metric in METRICS}
        self.ranks: list[dict[str, int | None]] = []

    def add(
        self,
        rankings: Mapping[int, Sequence[str]],
        relevant: Collection[str],
        outdated: Collection[str] = (),
    ) -> None:
        """One question, as in `score_by_cut`.

        Args:
            outdated: units that the relevant ones have replaced.
        """
        for metric, value in score_by_cut(rankings, relevant).items():
            self.scores[metric].append(value)
        longest = rankings.get(DEPTH, rankings[CUTS[-1]])
        places = {unit: place for place, unit in enumerate(longest, 1)}
        self.ranks.append({unit: places.get(unit) for unit in sorted(relevant)})
        if outdated:
            first = min(places.get(unit, math.inf) for unit in relevant)
            self.newest_first.append(first < min(places.get(unit, math.inf) for unit in outdated))


CUT: Final = 10
METRIC: Final = f"recall@{CUT}"


def with_losses(
    comparisons: Iterable[Comparison], benchmark: Benchmark, tallies: Mapping[str, Tally]
) -> Iterator[Comparison]:
    """The comparisons; those of recall@10 with the units lost and gained by author."""
    authors = {
        key: {unit.id: unit.author or "" for unit in units}
        for key, units in benchmark.units.items()
    }
    authors_of = [
        (query.category, {id: authors[query.conversation][id] for id in query.relevant})
        for query in benchmark.queries
    ]
    for one in comparisons:
        if one.metric == METRIC:
            ours, theirs = (tallies[name].ranks for name in (one.row, one.against))
            yield msgspec.structs.replace(
                one, by_author=_by_author(one.category, authors_of, ours, theirs)
            )
        else:
            yield one


def _by_author(
    category: str | None,
    authors_of: Sequence[tuple[str, Mapping[str, str]]],
    ours: Sequence[Mapping[str, int | None]],
    theirs: Sequence[Mapping[str, int | None]],
) -> dict[str, AuthorUnits]:
    relevant: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    gained: Counter[str] = Counter()
    for (kind, author_of), here, there in zip(authors_of, ours, theirs, strict=True):
        if category not in (None, kind):
            continue
        relevant.update(author_of.values())
        for id, author in author_of.items():
            found, other = _within(here[id]), _within(there[id])
            lost[author] += other and not found
            gained[author] += found and not other
    return {
        author: AuthorUnits(relevant=count, lost=lost[author], gained=gained[author])
        for author, count in sorted(relevant.items())
    }


def _within(place: int | None) -> bool:
    return place is not None and place <= CUT


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
