"""The contracts of embedders, rerankers and language models as test suites, which `vestig.testing`
offers."""

from __future__ import annotations

import math
import re
import threading
import time
from typing import Final

from vestig.errors import ModelCallError, ProviderTimeoutError
from vestig.ports import (
    BatchLanguageModel,
    Embedder,
    LanguageModel,
    ModelRequest,
    Reranker,
    are_states,
    gives_codes,
    gives_tokens,
)
from vestig.rerankers.checked import checked_scores


class EmbedderContract:
    """Tests that every embedder has to pass (`vestig.ports.Embedder`).

    To test an embedder of your own, subclass this class in a test module under a name that begins
    with `Test`, and let `embedder` return a new instance. pytest then runs each `test_…` method,
    whose docstring states the requirement. Neither pytest nor a store is needed otherwise.

    Where the embedder also has a method `embed_tokens` (`vestig.ports.TokenEmbedder`), its token
    vectors are tested too.

    Example:
        >>> from vestig.embedders.checked import unit_bytes
        >>> class LetterEmbedder:
        ...     model, dimensions, fingerprint = "letters-1", 64, ""
        ...     def embed(self, texts):
        ...         return [self._vector(text) for text in texts]
        ...     def truncated(self, text):
        ...         return False
        ...     def _vector(self, text):
        ...         counts = [0.0] * self.dimensions
        ...         for letter in text:
        ...             counts[ord(letter) % self.dimensions] += 1
        ...         return unit_bytes(counts)
        >>> class TestLetterEmbedder(EmbedderContract):
        ...     def embedder(self):
        ...         return LetterEmbedder()
        >>> contract = TestLetterEmbedder()  # from here on as pytest does
        >>> for name in dir(contract):
        ...     if name.startswith("test_"):
        ...         getattr(contract, name)()
    """

    TEXTS: Final = (
        "The office is in Oslo.",
        "Deploys run on Fridays, never on Mondays!",
        "Café, naïve, 東京, Привет",
        "a " * 40 + "much longer text than its neighbours in the batch",
        "The office is in Oslo.",
    )

    def embedder(self) -> Embedder:
        """A new instance of the embedder under test; each test calls this at least once."""
        raise NotImplementedError("override embedder()")

    def test_fits_the_port(self) -> None:
        """It has the methods and properties of `vestig.ports.Embedder`: the name of a model, 1 to
        8192 dimensions, a fingerprint of 64 hexadecimal digits or ""."""
        embedder = self.embedder()
        assert isinstance(embedder, Embedder)
        assert isinstance(embedder.model, str)
        assert embedder.model
        assert 1 <= embedder.dimensions <= 8192
        assert re.fullmatch(r"([0-9a-f]{64})?", embedder.fingerprint)

    def test_vectors_are_whole_and_finite(self) -> None:
        """`embed` gives one vector per text: `dimensions` finite float32 numbers, not all
        zero, little-endian."""
        embedder = self.embedder()
        vectors = embedder.embed(self.TEXTS)
        assert len(vectors) == len(self.TEXTS)
        for vector in vectors:
            assert isinstance(vector, bytes)
            values = _unpacked(vector)
            assert len(values) == embedder.dimensions
            assert all(math.isfinite(value) for value in values)
            assert any(values)

    def test_empty_batch(self) -> None:
        """`embed` gives [] for []."""
        assert self.embedder().embed([]) == []

    def test_batch_and_single_agree(self) -> None:
        """The vector of a text does not depend on its batch, to 1e-6 in each value."""
        embedder = self.embedder()
        batch = embedder.embed(self.TEXTS)
        for text, together in zip(self.TEXTS, batch, strict=True):
            (alone,) = embedder.embed([text])
            gap = max(
                abs(a - b) for a, b in zip(_unpacked(alone), _unpacked(together), strict=True)
            )
            assert gap <= 1e-6

    def test_same_text_same_vector(self) -> None:
        """Equal texts have equal vectors, bit by bit: within a batch and in another instance."""
        batch = self.embedder().embed(self.TEXTS)
        assert batch[0] == batch[-1]
        assert self.embedder().embed(self.TEXTS) == batch

    def test_different_texts_differ(self) -> None:
        """No two different texts of the suite share a vector."""
        distinct = list(dict.fromkeys(self.TEXTS))
        assert len(set(self.embedder().embed(distinct))) == len(distinct)

    def test_word_pieces_have_vectors_of_their_own(self) -> None:
        """With `embed_tokens`: the vector equals that of `embed`; the pieces of a text do not
        depend on its batch, their states to 1e-4; with `embed_codes`, codes are those of the
        states. Without either, nothing is tested."""
        embedder = self.embedder()
        if not gives_tokens(embedder):
            return
        assert embedder.embed_tokens([]) == []
        batch = embedder.embed_tokens(self.TEXTS)
        assert [vector for vector, _ in batch] == embedder.embed(self.TEXTS)
        for text, (_vector, states) in zip(self.TEXTS, batch, strict=True):
            assert are_states(states)
            ((_vector, alone),) = embedder.embed_tokens([text])
            assert alone.ids == states.ids
            values = zip(_unpacked(alone.states), _unpacked(states.states), strict=True)
            assert max(abs(a - b) for a, b in values) <= 1e-4
        if gives_codes(embedder):
            from vestig.embedders.checked import piece_codes

            wanted = [(vector, piece_codes(states)) for vector, states in batch]
            assert embedder.embed_codes(self.TEXTS) == wanted

    def test_truncated_answers(self) -> None:
        """`truncated` is False for a short text."""
        assert self.embedder().truncated("The office is in Oslo.") is False


def _unpacked(vector: bytes) -> list[float]:
    return list(memoryview(vector).cast("f"))


class LanguageModelContract:
    """Tests that every language model has to pass (`vestig.ports.LanguageModel`).

    To test an adapter of your own, subclass this class in a test module under a name that begins
    with `Test`, and let `model` return a new instance that will answer `ANSWER`. Where the
    adapter's provider can be played, override `silent_model` and `broken_model` too. pytest then
    runs each `test_…` method, whose docstring states the requirement.

    Example:
        >>> from vestig.testing import ScriptedModel
        >>> class TestMyModel(LanguageModelContract):
        ...     def model(self):
        ...         return ScriptedModel({"contract": self.ANSWER})
        >>> contract = TestMyModel()  # from here on as pytest does
        >>> for name in dir(contract):
        ...     if name.startswith("test_"):
        ...         getattr(contract, name)()
    """

    ANSWER: Final = '{"word": "Ærøskøbing 東京 🙂"}'
    REQUEST: Final = ModelRequest(
        purpose="contract",
        model="a-model",
        system="Answer with the word.",
        user="Which word?",
        schema={
            "type": "object",
            "properties": {"word": {"type": "string"}},
            "required": ["word"],
            "additionalProperties": False,
        },
        max_tokens=100,
        timeout_s=30.0,
    )

    def model(self) -> LanguageModel:
        """A new instance that answers `ANSWER` to every request."""
        raise NotImplementedError("override model()")

    def silent_model(self) -> LanguageModel | None:
        """One whose provider never answers; None = not tested."""
        return None

    def broken_model(self) -> LanguageModel | None:
        """One whose provider cannot be reached; None = not tested."""
        return None

    def test_fits_the_port(self) -> None:
        """It has the methods and properties of `vestig.ports.LanguageModel`."""
        model = self.model()
        assert isinstance(model, LanguageModel)
        assert isinstance(model.provider, str)
        assert model.provider

    def test_answers_with_text_model_and_usage(self) -> None:
        """`complete` gives the text as it came, the requested model, and tokens >= 0."""
        answer = self.model().complete(self.REQUEST)
        assert answer.text == self.ANSWER
        assert answer.model == self.REQUEST.model
        usage = answer.usage
        for tokens in (
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
        ):
            assert isinstance(tokens, int)
            assert tokens >= 0
        assert answer.cut is None

    def test_plain_text_needs_no_schema(self) -> None:
        """A request without a schema, and one without instructions, are answered too."""
        plain = ModelRequest(
            purpose="contract", model="a-model", system="", user="Which word?", schema=None,
            max_tokens=100, timeout_s=30.0,
        )  # fmt: skip
        assert self.model().complete(plain).text == self.ANSWER

    def test_threads_share_a_model(self) -> None:
        """Calls in several threads are all answered."""
        model = self.model()
        texts: list[str] = []

        def ask() -> None:
            texts.append(model.complete(self.REQUEST).text)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert texts == [self.ANSWER] * len(threads)

    def test_a_call_ends_in_time(self) -> None:
        """`ProviderTimeoutError` at `timeout_s`, and at most a second later."""
        model = self.silent_model()
        if model is None:
            return
        request = ModelRequest(
            purpose="contract", model="a-model", system="", user="Which word?", schema=None,
            max_tokens=100, timeout_s=0.5,
        )  # fmt: skip
        started = time.monotonic()
        try:
            model.complete(request)
        except ProviderTimeoutError:
            assert time.monotonic() - started < 1.5
        else:
            raise AssertionError("expected ProviderTimeoutError")

    def test_a_provider_out_of_reach_may_be_tried_again(self) -> None:
        """`ModelCallError` that is retryable and has no status."""
        model = self.broken_model()
        if model is None:
            return
        failure: ModelCallError | None = None
        try:
            model.complete(self.REQUEST)
        except ModelCallError as error:
            failure = error
        assert failure is not None, "expected ModelCallError"
        assert failure.retryable
        assert failure.status is None

    def test_batches_are_found_and_answered(self) -> None:
        """Where it takes batches: the batch is found by a request's own id, and each request has
        one outcome. Otherwise nothing is tested."""
        model = self.model()
        if not isinstance(model, BatchLanguageModel):
            return
        batch = model.submit([("job_1", self.REQUEST), ("job_2", self.REQUEST)])
        outcomes = None
        for _ in range(10):
            outcomes = model.answers(batch)
            if outcomes is not None:
                break
        assert outcomes is not None
        assert sorted(outcome.id for outcome in outcomes) == ["job_1", "job_2"]
        for outcome in outcomes:
            assert outcome.state == "succeeded"
            assert outcome.answer is not None
            assert outcome.answer.text == self.ANSWER
        assert model.find("job_2") == batch
        assert model.find("job_3") is None


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
