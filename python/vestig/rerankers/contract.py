"""The contract of rerankers as a test suite: `vestig.testing.RerankerContract`."""

from __future__ import annotations

from typing import Final

from vestig.ports import Reranker
from vestig.rerankers.checked import checked_scores


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
