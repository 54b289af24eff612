"""The suite that every reranker has to pass, for tests of adapters."""

from __future__ import annotations

import re
from typing import Final

from vestig.ports import Reranker
from vestig.rerankers.checked import checked_scores

__all__ = ["RerankerContract"]


class RerankerContract:
    """The suite for adapter authors: subclass it in a test module and override `reranker`.

    Example:
        >>> from vestig.testing import WordReranker
        >>> class TestWords(RerankerContract):
        ...     def reranker(self):
        ...         return WordReranker()
        >>> TestWords().test_scores_do_not_depend_on_the_batch()
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
        """The reranker under test; called by each test."""
        raise NotImplementedError("override reranker()")

    def test_fits_the_port(self) -> None:
        """Name and fingerprint have their types."""
        reranker = self.reranker()
        assert isinstance(reranker, Reranker)
        assert isinstance(reranker.model, str)
        assert reranker.model
        assert re.fullmatch(r"([0-9a-f]{64})?", reranker.fingerprint)

    def test_scores_are_finite_and_not_negative(self) -> None:
        """One float32 for each text."""
        assert len(checked_scores(self.reranker(), self.QUERY, self.TEXTS)) == len(self.TEXTS)

    def test_scores_do_not_depend_on_the_batch(self) -> None:
        """To 1e-6, whatever stands beside a text, and the same again."""
        reranker = self.reranker()
        together = checked_scores(reranker, self.QUERY, self.TEXTS)
        assert checked_scores(self.reranker(), self.QUERY, self.TEXTS) == together
        for text, score in zip(self.TEXTS, together, strict=True):
            (alone,) = checked_scores(reranker, self.QUERY, [text])
            assert abs(alone - score) <= 1e-6
