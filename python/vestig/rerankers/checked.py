"""Checks of the scores of every reranker, one finite number of at least 0 for each text within a
time limit; and its contract as a test suite, `vestig.testing.RerankerContract`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from vestig.errors import ProviderError, ProviderTimeoutError
from vestig.ports import Reranker
from vestig.time_limit import within

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


class RerankerContract:
    """Tests that every reranker has to pass (`vestig.ports.Reranker`).

    To test a reranker of your own, subclass this class in a test module under a name that begins
    with `Test`, and let `reranker` return a new instance. pytest then runs each `test_…` method,
    whose docstring states the requirement.

    Example:
        >>> from vestig.embedders.checked import float32_bytes
        >>> class LengthReranker:
        ...     model = "length-1"
        ...     def score(self, query, texts):
        ...         return float32_bytes([1 / (1 + len(text)) for text in texts])
        >>> class TestLengthReranker(RerankerContract):
        ...     def reranker(self):
        ...         return LengthReranker()
        >>> contract = TestLengthReranker()  # from here on as pytest does
        >>> for name in dir(contract):
        ...     if name.startswith("test_"):
        ...         getattr(contract, name)()
    """

    QUERY: Final = "Where is the office?"
    TEXTS: Final = (
        "The office is in Oslo.",
        "Deploys run on Fridays, never on Mondays!",
        "Café, naïve, 東京, Привет",
        "a " * 2_000 + "much longer text than any model reads",
        "",
    )

    def reranker(self) -> Reranker:
        """A new instance of the reranker under test; each test calls this at least once."""
        raise NotImplementedError("override reranker()")

    def test_fits_the_port(self) -> None:
        """It has the method and the property of `vestig.ports.Reranker`: a name of the model."""
        reranker = self.reranker()
        assert isinstance(reranker, Reranker)
        assert isinstance(reranker.model, str)
        assert reranker.model

    def test_scores_are_finite_and_not_negative(self) -> None:
        """`score` gives one finite little-endian float32 of at least 0 for each text, also an
        empty or a very long one."""
        assert len(checked_scores(self.reranker(), self.QUERY, self.TEXTS)) == len(self.TEXTS)

    def test_scores_do_not_depend_on_the_batch(self) -> None:
        """The score of a text does not depend on the other texts of a call, to 1e-6, and another
        instance gives equal scores."""
        reranker = self.reranker()
        together = checked_scores(reranker, self.QUERY, self.TEXTS)
        assert checked_scores(self.reranker(), self.QUERY, self.TEXTS) == together
        for text, score in zip(self.TEXTS, together, strict=True):
            (alone,) = checked_scores(reranker, self.QUERY, [text])
            assert abs(alone - score) <= 1e-6
