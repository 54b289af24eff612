"""Facts and messages as lines for a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from vestig.language.claim_text import claim_attributes, claim_words
from vestig.language.text_forms import single_spaced
from vestig.retrieve.types import MEMORY_FACT, Fact
from vestig.times import from_us
from vestig.types import Claim, Evidence, Memory

_SNIPPET_CHARS_MAX: Final = 500
_MESSAGE_CHARS_MAX: Final = 300


def fact_text(fact: Fact) -> str:
    """A fact as a line that begins with its day: what its claim says, with confidence and evidence,
    or the content of a plain memory behind who said it."""
    statement, day = fact.claim, from_us(fact.t_valid_us)
    if statement is None:
        author = next((one.author for one in fact.evidence if one.author), None)
        said = fact.content if author is None else f"{author}: {fact.content}"
        return f"{_day(day)} {single_spaced(said)}"
    return fact_line(day, _stated(statement), statement.confidence, fact.evidence)


def fact_line(
    day: datetime, words: str, confidence: float | None, evidence: Sequence[Evidence]
) -> str:
    """`[YYYY-MM-DD] words (confidence: 0.90, evidence: Author: "snippet" | …)`. A confidence that
    is not known is left out; of a snippet at most 500 characters are shown.

    Example:
        >>> seen = Evidence(source_id=None, timestamp=None, author="Ada", snippet="I moved")
        >>> fact_line(datetime(2026, 3, 18, 9), "Ada lives in Oslo", 0.9, [seen])
        '[2026-03-18] Ada lives in Oslo (confidence: 0.90, evidence: Ada: "I moved")'
        >>> fact_line(datetime(2026, 3, 18, 9), "Ada lives in Oslo", None, [])
        '[2026-03-18] Ada lives in Oslo (evidence: unknown)'
    """
    told = " | ".join(_quoted(one) for one in evidence) or "unknown"
    sure = "" if confidence is None else f"confidence: {confidence:.2f}, "
    return f"{_day(day)} {single_spaced(words)} ({sure}evidence: {told})"


def _day(moment: datetime) -> str:
    return f"[{moment.date().isoformat()}]"


def _stated(statement: Claim) -> str:
    relation = statement.relationship_type
    if relation is None and statement.fact_type != MEMORY_FACT:
        relation = statement.fact_type
    words = claim_words(statement.subject, relation, statement.object)
    return f"{words} {claim_attributes(statement.attributes)}".strip()


def _quoted(evidence: Evidence) -> str:
    snippet = f'"{single_spaced(evidence.snippet)[:_SNIPPET_CHARS_MAX]}"'
    return f"{evidence.author}: {snippet}" if evidence.author else snippet


def message_text(memory: Memory) -> str:
    """A turn as a line, as in `message_line`; its time is when its statement began to hold."""
    return message_line(memory.t_valid, memory.author, memory.content)


def message_line(time: datetime, author: str | None, content: str) -> str:
    """`[YYYY-MM-DD] author: content`, cut to 300 characters.

    Example:
        >>> message_line(datetime(2026, 3, 18, 9), "Ada", "The key is under the mat")
        '[2026-03-18] Ada: The key is under the mat'
    """
    said = f"{author}: {content}" if author else content
    return f"{_day(time)} {single_spaced(said)}"[:_MESSAGE_CHARS_MAX]
