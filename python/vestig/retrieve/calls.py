"""Calls that may take long or fail, within the time of a request: searches, tried again where that
can help, and steps that a language model may take, which are planning queries, judging whether they
suffice, and summing up.

Every step of a model has a rule that does without. A model that fails is not asked again in the
same request, and the result says so.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Final, Literal, TypeVar

import msgspec

from vestig.config.recall_sections import RetrieveSettings
from vestig.errors import ConfigError, ProviderError, StoreLockedError
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import within
from vestig.retrieve.confidence import Label, Verdict
from vestig.retrieve.queries import cut_query
from vestig.retrieve.values import Message, PlannedQuery, ToolCall, folded_text
from vestig.session.model_calls import Costs, ModelCalls, degradation_of
from vestig.session.session import Session
from vestig.times import from_us
from vestig.types import Degradation

_T = TypeVar("_T")
# A search that takes longer than this hangs, and one that failed three times will fail again; the
# request as a whole has its own deadline.
_SEARCH_S_MAX: Final = 10.0
_ATTEMPTS_MAX: Final = 3


class Deadline:
    """The time of one request, which begins now.

    Args:
        seconds: as many as it may take.

    Example:
        >>> Deadline(60.0).passed, Deadline(0.0).passed
        (False, True)
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.started = monotonic()

    @property
    def used_s(self) -> float:
        """Seconds since the beginning."""
        return monotonic() - self.started

    @property
    def left_s(self) -> float:
        """Seconds until the end; none or less = it has passed."""
        return self.seconds - self.used_s

    @property
    def passed(self) -> bool:
        """Says that the time is used up."""
        return self.left_s <= 0

    def check(self) -> None:
        """Ends work that nobody waits for any more.

        Raises:
            TimeoutError: the time is used up.
        """
        if self.passed:
            raise TimeoutError("the time of the request is used up")


class Calls:
    """Every search that was tried.

    Args:
        deadline: of the request.
    """

    def __init__(self, session: Session, deadline: Deadline) -> None:
        self.session = session
        self.deadline = deadline
        self.made: list[ToolCall] = []

    @property
    def failed(self) -> int:
        """Calls that gave no answer in any attempt."""
        return sum(not one.success for one in self.made)

    @property
    def retried(self) -> int:
        """Calls that needed more than one attempt for their answer."""
        return sum(one.success and one.attempts > 1 for one in self.made)

    @property
    def empty_in_a_row(self) -> int:
        """The last calls that were of one tool and found nothing."""
        count = 0
        for one in reversed(self.made):
            if one.name != self.made[-1].name or one.result_count or not one.success:
                break
            count += 1
        return count

    def call(
        self,
        name: Literal["fact_search", "message_search"],
        queries: Sequence[str],
        search: Callable[[], _T],
        count: Callable[[_T], int],
    ) -> _T | None:
        """Return what a search gives, None where it failed: each attempt runs ten
        seconds at most and no longer than the request.

        Args:
            search: changes nothing, for what runs too long is left to end by itself.
            count: the number of its results.
        """
        started, moment = time.perf_counter(), from_us(self.session.now_us())
        attempts, error, found = 0, None, None
        while attempts < _ATTEMPTS_MAX:
            left_s = self.deadline.left_s
            if attempts and left_s <= 0:
                break
            attempts += 1
            try:
                found = within(min(_SEARCH_S_MAX, max(left_s, 0.001)), search)
                error = None
                break
            except (ProviderError, StoreLockedError, TimeoutError) as failure:
                error = type(failure).__name__
        self.made.append(
            ToolCall(
                name=name,
                queries=tuple(queries),
                result_count=0 if found is None else count(found),
                success=error is None,
                duration_ms=(time.perf_counter() - started) * 1e3,
                attempts=attempts,
                timestamp=moment,
                error=error,
            )
        )
        return found


# Most queries that a plan may have; it is asked for fewer.
_ACCEPTED: Final = 20
# The round that a model may plan first.
_FIRST_PLAN: Final = 2
_TRIED_SHOWN: Final = 15
_FACTS_SHOWN: Final = 10
_CONVERSATION_CHARS: Final = 4_000
_LABEL: Final = lazy_pattern(r"^\s*(?:[-*•]\s+|\d+[.)]\s+)?(?:query\s*:\s*)?", re.IGNORECASE)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A model's plan: what has to be known, and queries that look for it."""

    queries: list[str]
    goal: str = ""


class _Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer on stopping."""

    should_continue: bool
    confidence: Label
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
        plain = cut_query(" ".join(_LABEL.sub("", text).split()), max_length)
        if plain and folded_text(plain) not in seen:
            seen.add(folded_text(plain))
            found.append(PlannedQuery(text=plain, source="model"))
    return found


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
        made = self._ask("plan_queries", tried, facts, Plan)
        if made is None:
            return None
        clean = self.session.models.cleaned
        queries = [clean(text) for text in made.queries[:_ACCEPTED]]
        return Plan(queries=queries, goal=clean(made.goal))

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
