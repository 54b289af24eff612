"""The background of an answer in prose, written by a language model from what a retrieval found."""

from __future__ import annotations

from collections.abc import Sequence

from vestig.errors import ConfigError, ProviderError
from vestig.retrieve.types import Message
from vestig.session.model_calls import ModelCalls, degradation_of
from vestig.session.model_costs import Costs
from vestig.types import Degradation

__all__ = ["context_summary", "conversation_text"]


def conversation_text(messages: Sequence[Message]) -> str:
    """`author: content` of each message, oldest first, with a blank line between.

    Example:
        >>> conversation_text([Message(content="Where is the key?", author="Ada")])
        'Ada: Where is the key?'
    """
    return "\n\n".join(f"{message.author}: {message.content}" for message in messages)


def context_summary(
    models: ModelCalls,
    messages: Sequence[Message],
    facts: Sequence[str],
    turns: Sequence[str],
    *,
    ends_at: float | None = None,
    costs: Costs | None = None,
) -> tuple[str, Degradation | None]:
    """A summary, and what failed where a model should have written one; "" without a model, without
    results, and where it failed. An empty answer is asked for again.

    Args:
        messages: the conversation, oldest first; the last one is what the summary serves.
        facts: lines of facts, best first.
        turns: lines of related messages, best first.
        ends_at: `time.monotonic()` at which there is no time left.
        costs: takes what the call took.
    """
    if models.provider is None or not (facts or turns):
        return "", None
    values = {
        "conversation": conversation_text(messages),
        "facts": "\n".join(facts),
        "messages": "\n".join(turns),
    }
    try:
        asked = models.ask("context_summary", values, answer=str, ends_at=ends_at, costs=costs)
    except (ProviderError, ConfigError) as error:
        return "", degradation_of(error)
    return asked.value, None
