"""The contract of language models on every one that needs nothing but this installation."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from loopback_messages import LoopbackMessages
from vestig.config.service_sections import LlmSettings
from vestig.errors import ProviderError
from vestig.ports import LanguageModel, ModelAnswer, ModelRequest, ModelUsage
from vestig.registry import make_language_model
from vestig.testing import LanguageModelContract, ScriptedModel


class TestScriptedModel(LanguageModelContract):
    def model(self) -> LanguageModel:
        return ScriptedModel({"contract": self.ANSWER})


class TestAnthropic(LanguageModelContract):
    @pytest.fixture(autouse=True)
    def served(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-test")
        with (
            LoopbackMessages(self.ANSWER) as good,
            LoopbackMessages(failures=["silence"] * 9) as silent,
        ):
            self._good, self._silent = good, silent
            yield

    def _made(self, base_url: str) -> LanguageModel:
        made = make_language_model(LlmSettings(provider="anthropic", base_url=base_url))
        assert made is not None
        return made

    def model(self) -> LanguageModel:
        return self._made(self._good.base_url)

    def silent_model(self) -> LanguageModel:
        made = self._made(self._silent.base_url)
        made._loaded()  # type: ignore[attr-defined]  # the package takes a while to import
        return made

    def broken_model(self) -> LanguageModel:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            port = unused.getsockname()[1]
        return self._made(f"http://127.0.0.1:{port}")


class _Wrong:
    provider = "wrong"

    def __init__(self, **answer: Any) -> None:
        self._answer = answer

    def complete(self, request: ModelRequest) -> ModelAnswer:
        plain = {
            "text": LanguageModelContract.ANSWER,
            "model": request.model,
            "usage": ModelUsage(),
        }
        return ModelAnswer(**{**plain, **self._answer})


@pytest.mark.parametrize(
    "answer",
    [{"text": "other"}, {"model": "other"}, {"usage": ModelUsage(output_tokens=-1)}],
    ids=["text", "model", "usage"],
)
def test_the_suite_turns_red_on_a_bad_model(answer: dict[str, Any]) -> None:
    class Bad(LanguageModelContract):
        def model(self) -> LanguageModel:
            return _Wrong(**answer)

    with pytest.raises(AssertionError):
        Bad().test_answers_with_text_model_and_usage()


def test_the_suite_turns_red_where_time_and_reach_do_not_count() -> None:
    class Bad(LanguageModelContract):
        def model(self) -> LanguageModel:
            return _Wrong()

        silent_model = model
        broken_model = model

    with pytest.raises(AssertionError):
        Bad().test_a_call_ends_in_time()
    with pytest.raises(AssertionError):
        Bad().test_a_provider_out_of_reach_may_be_tried_again()


def test_the_suite_turns_red_on_a_model_that_raises_something_else() -> None:
    class Bad(LanguageModelContract):
        def model(self) -> LanguageModel:
            return _Wrong()

        def broken_model(self) -> LanguageModel:
            return ScriptedModel({}, failures=[ProviderError("no")])

    with pytest.raises(ProviderError):
        Bad().test_a_provider_out_of_reach_may_be_tried_again()
