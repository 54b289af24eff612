"""Checks of the scores of every reranker: one finite number of at least 0 for each text, within a
time limit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vestig.errors import ProviderError, ProviderTimeoutError
from vestig.ports import Reranker, within

_FLOAT32_BYTES = 4


def checked_scores(reranker: Reranker, query: str, texts: Sequence[str]) -> list[float]:
    """The scores of texts, in their order; [] for [].

    Raises:
        ProviderError: the reranker failed, whatever it raised, or its answer is not one finite
            float32 number of at least 0 for each text.

    Example:
        >>> from vestig.testing import WordReranker
        >>> checked_scores(WordReranker(), "Who is in Oslo?", ["Ada is in Oslo.", "Bob swims."])
        [0.75, 0.0]
    """
    if not texts:
        return []
    name = reranker.model
    try:
        packed = reranker.score(query, list(texts))
    except ProviderError:
        raise
    except Exception as error:  # code of another package may raise anything
        raise ProviderError(f'reranker "{name}": it raised {type(error).__name__}') from error
    if not isinstance(packed, bytes) or len(packed) != _FLOAT32_BYTES * len(texts):
        length = len(packed) if isinstance(packed, bytes) else type(packed).__name__
        raise ProviderError(
            f'reranker "{name}": expected {_FLOAT32_BYTES} bytes for each of {len(texts)} texts,'
            f" got {length}; check the package that offers it"
        )
    scores = list(memoryview(packed).cast("f"))
    if not all(math.isfinite(score) and score >= 0 for score in scores):
        raise ProviderError(
            f'reranker "{name}": expected finite numbers of at least 0 (such as the logistic of'
            " what a model gives), got others; check the package that offers it"
        )
    return scores


def scores_within(
    reranker: Reranker, query: str, texts: Sequence[str], left_s: float, timeout_s: float
) -> list[float]:
    """Like `checked_scores`, for at most so many seconds.

    Args:
        left_s: seconds that are left of the limit.
        timeout_s: the limit, for the message.

    Raises:
        ProviderTimeoutError: no answer in time.
        ProviderError: as `checked_scores`.
    """
    try:
        return within(left_s, lambda: checked_scores(reranker, query, texts))
    except TimeoutError as error:
        raise ProviderTimeoutError(
            f'reranker "{reranker.model}": no answer within {timeout_s:g} s; take a faster one, a'
            " smaller signals.rerank.pool, or raise reranker.timeout_s"
        ) from error
