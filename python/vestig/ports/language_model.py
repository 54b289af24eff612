"""The port of language models: one request, one answer; and, where it can, batches of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol, runtime_checkable

import msgspec

__all__ = [
    "ANSWER_BYTES_MAX",
    "BatchAnswer",
    "BatchLanguageModel",
    "LanguageModel",
    "LanguageModelSettings",
    "ModelAnswer",
    "ModelRequest",
    "ModelUsage",
]

# An answer is read up to this many bytes; what is longer has failed.
ANSWER_BYTES_MAX: Final = 1_048_576


class ModelUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one or more calls, as the provider counts them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a language model.

    Args:
        purpose: what the answer is for (`entities`, `plan_queries`, …): a label of counters and
            logs, no text.
        model: the provider's name of the model.
        system: instructions, the same for every request of a purpose: what a provider may cache.
        user: the material, stored text delimited as data.
        schema: JSON schema of the answer, None = plain text.
        max_tokens: most tokens of the answer, >= 1.
        timeout_s: seconds from start to last byte, > 0.
    """

    purpose: str
    model: str
    system: str
    user: str
    schema: Mapping[str, Any] | None
    max_tokens: int
    timeout_s: float


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a model: the text as the model gave it, unread, and what it cost. `cut` says
    why it is not the whole answer: it reached `max_tokens`, or the model refused; None = it is
    whole."""

    text: str
    model: str
    usage: ModelUsage
    cut: Literal["length", "refusal"] | None = None


class BatchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one request of a batch. `answer` is None unless it succeeded; `error` says
    why, without stored text. An expired request was never worked on."""

    id: str
    state: Literal["succeeded", "failed", "expired"]
    answer: ModelAnswer | None = None
    error: str | None = None


class LanguageModelSettings(Protocol):
    """The section `llm` of the configuration, as an adapter reads it."""

    @property
    def provider(self) -> str: ...
    @property
    def api_key_env(self) -> str: ...
    @property
    def base_url(self) -> str | None: ...
    @property
    def timeout_s(self) -> float: ...


@runtime_checkable
class LanguageModel(Protocol):
    """Text in, text out. One call is one try: repeating, budgets and reading the answer are the
    caller's. Thread-safe. Nothing is imported or sent before the first call."""

    @property
    def provider(self) -> str:
        """Name of the provider, for messages and counters."""
        ...

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """One try.

        Raises:
            ProviderTimeoutError: no whole answer within `timeout_s`.
            ModelCallError: anything else; it says whether another try can help, after how many
                seconds, and with which status the provider answered.
        """
        ...


@runtime_checkable
class BatchLanguageModel(LanguageModel, Protocol):
    """A language model that also takes many requests at once, answered within a day."""

    def submit(self, requests: Sequence[tuple[str, ModelRequest]]) -> str:
        """Sends (own id, request) pairs; the id of the batch.

        Raises:
            ModelCallError: nothing is known to have been taken; `find` tells.
        """
        ...

    def find(self, own_id: str) -> str | None:
        """The batch that holds this request, among the provider's recent ones; None = none.

        Raises:
            ModelCallError: it cannot be told; retryable where a batch that is still worked on may
                hold it, for some providers say only at its end what a batch holds.
        """
        ...

    def answers(self, batch_id: str) -> list[BatchAnswer] | None:
        """Outcomes of a batch in any order; None while it is worked on.

        Raises:
            ModelCallError: it cannot be asked, or is unknown.
        """
        ...
