"""Two voters for each query, meaning and words, fused into one list.

Each voter ranks all eligible memories. Their scores are on scales of their own, so what the fusion
makes of them stands beside them and is called neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

from vestig.language.stopwords import STOPWORDS
from vestig.language.words import terms, tokens
from vestig.retrieve.types import FusedHit, QueryScore
from vestig.store.projection.scan_objects import Filter as CoreFilter
from vestig.store.projection.scan_objects import Projection

__all__ = [
    "FUSIONS",
    "Fusion",
    "Voter",
    "Votes",
    "adaptive_threshold",
    "fused",
    "votes_of",
    "wanted_terms",
]

Fusion = Literal["rrf", "score_sum", "score_max"]
Voter = Literal["vector", "keyword"]
# (id of 16 bytes, score), best first
Votes = Sequence[tuple[bytes, float]]

FUSIONS: Final[tuple[str, ...]] = get_args(Fusion)
_RRF_K: Final = 60
# Fewest characters of a word that another one may stand for, and for which two edits are allowed.
_ONE_EDIT_FROM: Final = 4
_TWO_EDITS_FROM: Final = 8
_HIGHEST: Final = 95
_STEP: Final = 5
_WANTED_SHARE: Final = (4, 5)


def wanted_terms(text: str) -> list[tuple[str, int]]:
    """Index terms of a query without stop words, each with the edits within which another word may
    stand for it; identifiers are taken as they are.

    Example:
        >>> wanted_terms("the Pyton of JIRA-9988 deployments")
        [('pyton', 1), ('jira-9988', 0), ('jira', 0), ('9988', 0), ('deploy', 2)]
    """
    found: dict[str, int] = {}
    for word, start, end, identifier in tokens(text):
        if word in STOPWORDS and not identifier:
            continue
        length = end - start
        edits = 2 if length >= _TWO_EDITS_FROM else 1 if length >= _ONE_EDIT_FROM else 0
        for term in terms(word):
            found.setdefault(term, 0 if identifier or not word.isalpha() else edits)
    return list(found.items())


def votes_of(
    core: Projection,
    seq: int,
    filter: Mapping[str, Any],
    queries: Sequence[tuple[str, bytes | None]],
    limit: int,
) -> list[dict[Voter, Votes]]:
    """Of each query the best memories of both voters. For a callback of the keeper's `run`.

    Args:
        filter: keyword arguments of the core's filter.
        queries: text and vector; without a vector words alone vote.
        limit: most votes of a voter.
    """
    chosen = CoreFilter(**filter)
    least = filter.get("min_similarity")
    depth = core.rows if least is not None else limit
    words = core.keyword_votes(seq, [wanted_terms(text) for text, _ in queries], chosen, depth)
    found: list[dict[Voter, Votes]] = []
    for (_, vector), own in zip(queries, words, strict=True):
        keyword = own
        if vector is None:
            found.append({"keyword": [] if least is not None else keyword[:limit]})
            continue
        near = [
            (id, cosine) for id, _, cosine in core.search(seq, vector, chosen, True, False, depth)
        ]
        if least is not None:
            similar = {id for id, _ in near}
            keyword = [vote for vote in keyword if vote[0] in similar]
        found.append({"vector": near[:limit], "keyword": keyword[:limit]})
    return found


def adaptive_threshold(similarities: Sequence[float], limit: int, least: float) -> float:
    """From 0.95 down by 0.05 to the first value that ⌈0.8 · limit⌉ of these reach, at lowest
    `least`.

    Example:
        >>> found = [0.91, 0.83, 0.77, 0.62, 0.58, 0.51, 0.44, 0.41, 0.36, 0.20]
        >>> adaptive_threshold(found, 10, 0.35), adaptive_threshold(found, 10, 0.5)
        (0.4, 0.5)
    """
    numerator, denominator = _WANTED_SHARE
    wanted = -(-numerator * limit // denominator)
    for hundredths in range(_HIGHEST, 0, -_STEP):
        value = hundredths / 100
        if value <= least:
            return least
        if sum(one >= value for one in similarities) >= wanted:
            return value
    return least


def fused(
    queries: Sequence[str],
    votes: Sequence[Mapping[Voter, Votes]],
    fusion: Fusion,
    boost: float = 0.0,
) -> list[FusedHit]:
    """The memories that have a vote, best first, ties by id.

    Args:
        votes: of each query.
        boost: of `score_max`, for each voter after the first.

    Example:
        >>> votes = [{"vector": [(b"a", 0.9), (b"b", 0.5)], "keyword": [(b"b", 3.0)]}]
        >>> [(hit.memory_id, round(hit.fusion_score, 4)) for hit in fused(["q"], votes, "rrf")]
        [(b'b', 0.0325), (b'a', 0.0164)]
    """
    scores: dict[bytes, list[QueryScore]] = {}
    for query, own in zip(queries, votes, strict=True):
        for voter, ranked in own.items():
            for rank, (id, score) in enumerate(ranked, start=1):
                vote = QueryScore(query=query, voter=voter, rank=rank, score=score)
                scores.setdefault(id, []).append(vote)
    hits = [_hit(id, found, fusion, boost) for id, found in scores.items()]
    return sorted(hits, key=lambda hit: (-hit.fusion_score, hit.memory_id))


def _hit(id: bytes, found: Sequence[QueryScore], fusion: Fusion, boost: float) -> FusedHit:
    values = {
        voter: max((one.score for one in found if one.voter == voter), default=None)
        for voter in get_args(Voter)
    }
    if fusion == "rrf":
        score = sum(1 / (_RRF_K + one.rank) for one in found)
    elif fusion == "score_sum":
        score = sum(one.score for one in found)
    else:
        score = max(one.score for one in found) * (1 + boost * (len(found) - 1))
    return FusedHit(
        memory_id=id,
        similarity=values["vector"],
        keyword_score=values["keyword"],
        fusion_score=score,
        query_scores=tuple(found),
        appeared_in_query_count=len({one.query for one in found}),
    )
