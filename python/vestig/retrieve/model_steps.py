"""Steps of a retrieval that a language model may take: plan queries, judge whether they suffice,
sum up.

Every step has a rule that does without. A model that fails is not asked again in the same request,
and the result says so.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

import msgspec

from vestig.config.recall_sections import RetrieveSettings
from vestig.errors import ConfigError, ProviderError
from vestig.lazy_pattern import lazy_pattern
from vestig.retrieve.calls import Deadline
from vestig.retrieve.stop import Certainty, Verdict
from vestig.retrieve.types import Message, PlannedQuery, folded_text
from vestig.session.model_calls import Costs, ModelCalls, degradation_of
from vestig.session.session import Session
from vestig.types import Degradation

_T = TypeVar("_T")

# Most queries that a plan may have; it is asked for fewer.
_ACCEPTED: Final = 20
# The round that a model may plan first.
_FIRST_PLAN: Final = 2
_TRIED_SHOWN: Final = 15
_FACTS_SHOWN: Final = 10
_GOAL_CHARS: Final = 200
_CONVERSATION_CHARS: Final = 4_000
_LABEL: Final = lazy_pattern(r"^\s*(?:[-*•]\s+|\d+[.)]\s+)?(?:query\s*:\s*)?", re.IGNORECASE)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A model's plan: what has to be known, and queries that look for it."""

    queries: list[str]
    goal: str = ""


class _Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer on stopping."""

    should_continue: bool
    confidence: Certainty
    reasoning: str = ""


def cleaned_queries(
    given: Sequence[str], tried: Collection[str], max_length: int
) -> list[PlannedQuery]:
    """The usable queries of a plan: without labels, blanks, repeats and what was tried, cut at the
    end of a word; at most 20.

    Example:
        >>> found = cleaned_queries(["query: Oslo office", " oslo  office", "x" * 9, ""], (), 8)
        >>> [one.text for one in found]
        ['Oslo', 'xxxxxxxx']
    """
    seen = {folded_text(text) for text in tried}
    found: list[PlannedQuery] = []
    for text in given[:_ACCEPTED]:
        plain = _cut(" ".join(_LABEL.sub("", text).split()), max_length)
        if plain and folded_text(plain) not in seen:
            seen.add(folded_text(plain))
            found.append(PlannedQuery(text=plain, source="model"))
    return found


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    whole = text[: most + 1].rpartition(" ")[0]
    return whole or text[:most]


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


class ModelSteps:
    """The calls of a model in one request, together at most `retrieve.llm_max_calls`: one is left
    for the summary, and where there are more, one for the verdict.

    Args:
        messages: the window of the conversation.
        deadline: of the request; all calls together take at most half of its time.
    """

    def __init__(
        self,
        session: Session,
        settings: RetrieveSettings,
        messages: Sequence[Message],
        deadline: Deadline,
    ) -> None:
        self.session = session
        self.settings = settings
        self.deadline = deadline
        self.left_s = deadline.seconds / 2
        self.degraded: list[Degradation] = []
        wanted = settings.llm and session.has_model
        self.left = settings.llm_max_calls if wanted else 0
        self.messages = messages

    def plan(self, iteration: int, tried: Mapping[str, int], facts: Sequence[str]) -> Plan | None:
        """The goal and queries for a round; None: by rules, as in the first one."""
        if iteration == 1 or self.left <= (1 if iteration == _FIRST_PLAN else 2):
            return None
        return self._ask("plan_queries", tried, facts, Plan)

    def verdict(self, tried: Mapping[str, int], facts: Sequence[str]) -> Verdict | None:
        """Return whether the facts suffice; None: nobody was asked, or the answer was
        unreadable."""
        if self.left <= 1:
            return None
        found = self._ask("stop_verdict", tried, facts, _Judgement)
        if found is None:
            return None
        return Verdict(should_continue=found.should_continue, confidence=found.confidence)

    def summary(self, facts: Sequence[str], turns: Sequence[str]) -> str:
        """Return what was found in prose; "" where nobody was asked, or nothing was found."""
        if self.left < 1 or self.deadline.passed:
            return ""
        self.left -= 1
        with self._timed() as ends_at:
            text, failed = context_summary(
                self.session.models, self.messages, facts, turns, ends_at=ends_at
            )
        self.degraded += [] if failed is None else [failed]
        return text

    @contextmanager
    def _timed(self) -> Iterator[float]:
        """When the work within has to end, by `time.monotonic`; it uses up time of all calls."""
        began = time.monotonic()
        try:
            yield began + max(0.0, min(self.left_s, self.deadline.left_s))
        finally:
            self.left_s -= time.monotonic() - began

    def _ask(
        self, prompt: str, tried: Mapping[str, int], facts: Sequence[str], answer: type[_T]
    ) -> _T | None:
        latest = list(tried.items())[-_TRIED_SHOWN:]
        values = {
            "conversation": conversation_text(self.messages)[-_CONVERSATION_CHARS:],
            "tried": "\n".join(f"{query} ({count} facts)" for query, count in latest),
            "facts": "\n".join(facts[:_FACTS_SHOWN]),
        }
        self.left -= 1
        try:
            with self._timed() as ends_at:
                models = self.session.models
                return models.ask(prompt, values, answer=answer, ends_at=ends_at).value
        except (ProviderError, ConfigError) as error:
            self.left = 0
            self.degraded.append(degradation_of(error))
            return None
