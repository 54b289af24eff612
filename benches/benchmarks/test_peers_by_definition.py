"""The rows cosine, BM25 and hybrid against their definitions, written out once more."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.labelled_life import Bench
from benchmarks.rankings import PeerParameters, parameters_for, peer_rankings, score
from benchmarks.reader import read_benchmark
from benchmarks.run import CachedEmbedder
from vestig.testing import HashingEmbedder

# Units of two conversations: ids repeat between them, authors are words like others.
UNITS = {
    "one": (
        ("u1", "Mara", "The lamps in the old harbour shine. Lamps again"),
        ("u2", "Tomas", "A ship came to the harbour with a crew"),
        ("u3", "Mara", "Nothing to see"),
        ("u4", None, "The ship, the crew, the lamps: all was painted in a day"),
        ("u5", "Tomas", "Lamps"),
        ("u6", "Mara", "So it goes " * 3 + "and then a ship"),
    ),
    "two": (
        ("u1", "Tomas", "A ship"),
        ("u2", None, "The lamps, the lamps, the lamps"),
        ("u3", "Mara", "An old crew"),
    ),
}
STEMS = {"lamps": "lamp", "painted": "paint", "nothing": "noth", "goes": "goe"}
# `lamps` twice: which units lead depends on whether a term counts once.
QUESTION = "Lamps or the lamps, which ship and crew did Mara see?"


def _corpus() -> list[dict[str, Any]]:
    return [
        {"id": id, "text": text, "speaker": author, "conversation": conversation}
        for conversation, units in UNITS.items()
        for id, author, text in units
    ]


def _asked() -> list[dict[str, Any]]:
    return [
        {"id": f"q-{name}", "text": QUESTION, "relevant": ["u1"], "conversation": name}
        for name in UNITS
    ]


def _words(text: str) -> list[str]:
    return [STEMS.get(word, word) for word in re.findall(r"\w\w+", text.lower())]


def _spoken(author: str | None, text: str) -> str:
    return f"{author}: {text}" if author else text


def _bm25(name: str, parameters: PeerParameters, *, once: bool = True) -> list[float]:
    cut = parameters.text_chars
    texts = [_words(_spoken(author, text[:cut])) for _, author, text in UNITS[name]]
    mean = sum(map(len, texts)) / len(texts)
    query_words = _words(QUESTION)
    found = []
    for words in texts:
        norm = parameters.k1 * (1 - parameters.b + parameters.b * len(words) / mean)
        total = 0.0
        for term in sorted(set(query_words)) if once else query_words:
            holders = sum(term in other for other in texts)
            idf = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
            often = words.count(term)
            total += idf * often * (parameters.k1 + 1) / (often + norm)
        found.append(total)
    return found


def _cosine(name: str) -> list[float]:
    embedder = CachedEmbedder(HashingEmbedder())
    (query,) = embedder.matrix([QUESTION])
    units = embedder.matrix([_spoken(author, text) for _, author, text in UNITS[name]])
    return [float(value) for value in units @ query]


def _z(values: list[float]) -> list[float]:
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
    return [(v - mean) / spread for v in values]


def _ranked(name: str, values: list[float]) -> list[str]:
    ids = [id for id, _, _ in UNITS[name]]
    return [ids[n] for n in sorted(range(len(ids)), key=lambda n: (-round(values[n], 9), n))]


def _weighted(words: list[float], cosine: list[float], weight: float) -> list[float]:
    return [weight * w + c for w, c in zip(_z(words), _z(cosine), strict=True)]


def _measured(bench: Bench, parameters: PeerParameters) -> dict[str, dict[str, list[str]]]:
    benchmark = read_benchmark(bench(_corpus(), _asked()))
    embedder = CachedEmbedder(HashingEmbedder())
    found = peer_rankings(benchmark, embedder, parameters)
    return {str(query.conversation): ranked for query, ranked in found}


@pytest.mark.parametrize(
    "parameters",
    [
        parameters_for("document"),
        parameters_for("chat_peer"),
        parameters_for("chat_agent"),
        PeerParameters(k1=1.2, b=0.75, text_chars=20),
    ],
)
def test_peers_rank_as_their_definitions_say(bench: Bench, parameters: PeerParameters) -> None:
    measured = _measured(bench, parameters)
    for name in UNITS:
        words, cosine = _bm25(name, parameters), _cosine(name)
        both = _weighted(words, cosine, parameters.hybrid_weight)
        assert measured[name] == {
            "cosine": _ranked(name, cosine),
            "bm25": _ranked(name, words),
            "hybrid": _ranked(name, both),
        }


def test_a_term_that_is_twice_in_a_query_counts_once(bench: Bench) -> None:
    parameters = parameters_for("document")
    once, twice = (_ranked("one", _bm25("one", parameters, once=one)) for one in (True, False))
    assert once != twice, "the question tells the two apart"
    assert _measured(bench, parameters)["one"]["bm25"] == once


def test_parameters_follow_what_most_units_are() -> None:
    kept = {
        origin: parameters_for(origin)
        for origin in ("chat_peer", "chat_agent", "document", "note", None)
    }
    plain = PeerParameters(k1=0.9, b=0.4, text_chars=None, hybrid_weight=0.5)
    assert kept["document"] == kept["note"] == kept[None] == plain
    assert kept["chat_peer"] == PeerParameters(k1=0.9, b=0.4, text_chars=None, hybrid_weight=1.0)
    assert kept["chat_agent"] == PeerParameters(k1=1.2, b=0.75, text_chars=1200, hybrid_weight=0.5)


@pytest.mark.parametrize(
    ("folder", "origin", "wanted"),
    [
        ("locomo_dev", "chat_peer", 59.5),
        ("beam100k", "chat_agent", 46.6),
        ("musique200", "document", 57.6),
        ("hotpot200", "document", 91.0),
    ],
)
def test_bm25_reaches_its_known_figures_on_development_data(
    labelled_data: Path, folder: str, origin: str, wanted: float
) -> None:
    """Words alone: vectors of a hash stand in, so that no model is needed."""
    benchmark = read_benchmark(labelled_data / folder)
    embedder = CachedEmbedder(HashingEmbedder(8))
    found = [
        score(rankings["bm25"], query.relevant)["recall@10"]
        for query, rankings in peer_rankings(benchmark, embedder, parameters_for(origin))
    ]
    assert 100 * sum(found) / len(found) == pytest.approx(wanted, abs=0.3)
