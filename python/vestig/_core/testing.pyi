"""Single kernels, for tests that compare them with their definitions; the product calls none."""

from collections.abc import Sequence

from typing_extensions import Buffer

from vestig._core import CrossEncoderWeights, PackedWeights, WordPieces, _ConfidenceInput
from vestig.store.projection.scan_objects import TraceFields

__all__ = [
    "dot",
    "dot_with",
    "exp",
    "features_by_hand",
    "hidden_states",
    "judge_pairs",
    "judge_with",
    "levels",
    "most_similar",
    "name_classes",
    "temporal_match",
    "tracerank",
    "version_logits_with",
    "version_triples",
    "walk_uniform",
]

def dot(x: Buffer, y: Buffer) -> float:
    """Float32 dot product with 64 lanes, as float64. ValueError when lengths differ."""

def dot_with(level: str, x: Buffer, y: Buffer) -> float:
    """`dot` computed by one instruction level of `levels()`; every level gives the same bits."""

def features_by_hand(
    rows: Sequence[tuple[float, float, bool, Sequence[int], int]], input: _ConfidenceInput
) -> list[float]:
    """`confidence_features` of rows (`late`, `topic`, whether direct, matched terms, number of
    the query's entities), in the order of `FEATURES`."""

def hidden_states(
    level: str, weights: PackedWeights, texts: Sequence[Sequence[int]], threads: int
) -> list[bytes]:
    """Last hidden states of texts of 1 to 256 word pieces, 384 float32 for each piece, computed by
    one instruction level of `levels()`; every level and number of threads gives the same bits."""

def judge_pairs(
    pieces: WordPieces, question: str, memories: Sequence[tuple[str, str, str, str]]
) -> list[tuple[list[int], int]]:
    """Of a question with each memory (head, last words of the turn before, lead, text) the word
    pieces that the judge reads, and where the memory begins in them."""

def judge_with(
    level: str,
    weights: CrossEncoderWeights,
    words: PackedWeights,
    pairs: Sequence[tuple[Sequence[int], int]],
    threads: int,
) -> list[tuple[float, float]]:
    """Both logits of pairs as `judge_pairs` gives them, computed by one instruction level of
    `levels()`; every level and number of threads gives the same bits."""

def version_triples(
    pieces: WordPieces,
    question: str,
    pairs: Sequence[tuple[tuple[str, str, str, str], tuple[str, str, str, str]]],
) -> list[tuple[list[int], int, int]]:
    """Of a question with each pair of an older and a newer memory the word pieces that the version
    reader reads, and where each memory begins in them."""

def version_logits_with(
    level: str,
    weights: CrossEncoderWeights,
    words: PackedWeights,
    triples: Sequence[tuple[Sequence[int], int, int]],
    threads: int,
) -> list[float]:
    """The logit of triples as `version_triples` gives them, computed by one instruction level of
    `levels()`; every level and number of threads gives the same bits."""

def most_similar(
    level: str, query: tuple[bytes, bytes, bytes], memory: tuple[bytes, bytes]
) -> list[float]:
    """For each word piece of a query (ids, codes, steps) the largest similarity with one of a
    memory (ids, codes), by one instruction level; every level gives the same bits."""

def levels() -> list[str]:
    """Instruction levels of this machine, best first; always ends with "portable"."""

def exp(x: float) -> float: ...
def tracerank(
    events: Sequence[tuple[int, int, int, int]],
    query_time_us: int,
    valid_from_us: int,
    stability: int,
    params: TraceFields,
    connectivity_n: int = 0,
) -> tuple[float, float, float, float, float, float, int]:
    """(trace, basic, connectivity, confidence, unclipped, clipped, counted events).

    events: (type code, occurred_us, seq, row) in any order.
    """

def temporal_match(
    instants_us: Sequence[int],
    windows: Sequence[tuple[int | None, int | None]],
    query_windows: Sequence[tuple[int | None, int | None]],
    open_scale_days: float = 30.0,
) -> float:
    """How well instants and windows of a memory meet query windows, in [0, 1]. ValueError when
    there is no query window, or nothing to match."""

def walk_uniform(seed: int, start: str, edge: str) -> float:
    """Random number u of the walk in [0, 1): of an edge, or of a step over two edges joined by `|`.

    Ids are texts: `mem_8-4-4-4-12`, `edge_8-4-4-4-12`."""

def name_classes() -> list[int]:
    """Of every code point the classes that the rules for names tell apart, as bits: letter,
    letter or number, word character, white space, upper case, lower case, title case, decimal,
    digit, capital of a run of words. Surrogates: 0."""
