"""The contract of language models as a test suite: `vestig.testing.LanguageModelContract`."""

from __future__ import annotations

import threading
import time
from typing import Final

from vestig.errors import ModelCallError, ProviderTimeoutError
from vestig.ports import BatchLanguageModel, LanguageModel, ModelRequest


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
