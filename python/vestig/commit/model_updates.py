"""Older memories that a new one may replace: what a language model is told of them, and which of
its verdicts are followed.

A verdict can do one thing: one older memory is superseded by the new one, with its text, its
history and a record of who said so. Whatever else an answer says changes no memory.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.commit.canonical_form import canonical_form, is_same_statement
from vestig.commit.model_answer import JudgedUpdate, Verdict
from vestig.config.schema import UpdateSettings
from vestig.language.text_forms import normal_form, sentences
from vestig.lazy_pattern import lazy_pattern
from vestig.store.records.reads import LedgerView
from vestig.types import Memory, Status

# Memories that one answer may replace.
SUPERSEDED_MAX: Final = 3
# Letters of scripts that put spaces between words; of the others any part may be a word.
_LETTER: Final = (
    r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_LETTERS: Final = lazy_pattern(_LETTER)
# Marks that end a sentence without a space behind them.
_FULL_STOP_WITHIN: Final = lazy_pattern(r"[。！？｡؟।]\s*\S")  # noqa: RUF001


class OlderMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that was similar when the new one was stored. `is_claim`: it carries one."""

    memory: Memory
    is_claim: bool


class FollowedVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict about one older memory. `ignored`: why a memory that the model takes for replaced
    is not; None where it is, or where the model does not take it so."""

    memory: Memory
    verdict: Verdict
    confidence: float
    ignored: str | None = None

    @property
    def supersedes(self) -> bool:
        """Return whether the older memory is superseded."""
        return self.verdict == "supersedes" and self.ignored is None


class FollowedVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts in the order of the numbers, and how many items of the answer had a number that was
    not shown (`unknown_number`) or one that was judged before (`repeated_number`)."""

    verdicts: tuple[FollowedVerdict, ...]
    left_out: Mapping[str, int]

    @property
    def superseded(self) -> list[Memory]:
        """Return the memories that are superseded."""
        return [one.memory for one in self.verdicts if one.supersedes]

    def payload(self) -> dict[str, Any]:
        """The part of an event: ids and words of ours, no word of a text, which may be
        forgotten."""
        rows = [
            {
                "memory_id": one.memory.id,
                "verdict": one.verdict,
                "confidence": one.confidence,
                "superseded": one.supersedes,
                "ignored": one.ignored,
            }
            for one in self.verdicts
        ]
        return {"verdicts": rows, "left_out": dict(self.left_out)}


def older_memories(view: LedgerView, memory: Memory) -> dict[int, OlderMemory]:
    """Return the similar memories that are stored still, by number.

    A number is the place in what the commit recorded: it means the same memory in a batch that is
    answered a day later, whatever was forgotten meanwhile.
    """
    ids = recorded_similar(view, memory)
    found = {one.id: one for one in view.memories(memory.namespace, ids)}
    claims = view.claims(memory.namespace, ids) if ids else {}
    return {
        number: OlderMemory(memory=found[id], is_claim=id in claims)
        for number, id in enumerate(ids, 1)
        if id in found
    }


def recorded_similar(view: LedgerView, memory: Memory) -> list[str]:
    """Ids of the memories that an event of a memory names as similar, nearest first; the first
    such event counts."""
    for event in view.events(memory.namespace, memory.id):
        similar = event.payload.get("similar")
        if similar:
            return [one["memory_id"] for one in similar]
    return []


def shown(older: Mapping[int, OlderMemory]) -> dict[int, Memory]:
    """Return the memories about which a model is asked: those that are active."""
    return {
        number: one.memory for number, one in older.items() if one.memory.status is Status.ACTIVE
    }


def update_values(memory: Memory, older: Mapping[int, Memory]) -> dict[str, str]:
    """Return what the prompt is given beside the new text: JSON, so that no text can be taken for
    another number."""
    lines = [
        _line({"number": number, **_origin(one), "text": one.content})
        for number, one in older.items()
    ]
    return {"origin": _line(_origin(memory)), "older": "\n".join(lines)}


def _line(values: Mapping[str, object]) -> str:
    return json.dumps(values, ensure_ascii=False)


def _origin(memory: Memory) -> dict[str, str | None]:
    return {"since": memory.t_valid.date().isoformat(), "author": memory.author}


def followed_verdicts(
    judged: Sequence[JudgedUpdate],
    memory: Memory,
    older: Mapping[int, OlderMemory],
    settings: UpdateSettings,
) -> FollowedVerdicts:
    """Decides which older memories are superseded by a new one: the surest first, at most three.

    Args:
        judged: the answer.
        memory: the new memory, as it is now.
        older: by number, as they are now.
    """
    left_out: Counter[str] = Counter()
    found: dict[int, FollowedVerdict] = {}
    superseded = 0
    for one in sorted(judged, key=_confidence, reverse=True):
        other = older.get(one.number)
        if other is None or one.number in found:
            left_out["unknown_number" if other is None else "repeated_number"] += 1
            continue
        ignored = None
        if one.verdict == "supersedes":
            ignored = ignored_because(one, memory, other, settings)
            if ignored is None and superseded == SUPERSEDED_MAX:
                ignored = "too_many"
            superseded += ignored is None
        found[one.number] = FollowedVerdict(
            memory=other.memory,
            verdict=one.verdict,
            confidence=_confidence(one),
            ignored=ignored,
        )
    return FollowedVerdicts(
        verdicts=tuple(found[number] for number in sorted(found)), left_out=left_out
    )


def ignored_because(
    judged: JudgedUpdate, memory: Memory, other: OlderMemory, settings: UpdateSettings
) -> str | None:
    """Return why a verdict that an older memory is replaced is not followed; None = it is."""
    old = other.memory
    if (old.namespace, old.scope) != (memory.namespace, memory.scope):
        return "other_scope"
    if old.status is not Status.ACTIVE or memory.status is not Status.ACTIVE:
        return "not_active"
    if old.pinned:
        return "pinned"
    if old.key is not None and old.key != memory.key:
        return "other_key"
    if old.t_valid >= memory.t_valid:
        return "not_older"
    if _confidence(judged) < settings.min_confidence:
        return "uncertain"
    if not stands_in(judged.old_value, old.content):
        return "old_value_not_found"
    if not stands_in(judged.new_value, memory.content):
        return "new_value_not_found"
    if is_same_statement(canonical_form(judged.old_value), canonical_form(judged.new_value)):
        return "equal_values"
    if not other.is_claim and not is_one_sentence(old.content):
        return "says_more"
    return None


def _confidence(judged: JudgedUpdate) -> float:
    given = 0.0 if judged.confidence is None else judged.confidence
    return min(1.0, max(0.0, given))


def stands_in(value: str, text: str) -> bool:
    """Return whether a passage stands in a text word for word, as whole words; layout does not
    matter.

    Example:
        >>> stands_in("Porto", "Maria lives in Porto."), stands_in("or", "Maria lives in Porto.")
        (True, False)
    """
    passage, whole = normal_form(value).strip(), normal_form(text)
    if not passage:
        return False
    at = whole.find(passage)
    while at >= 0:
        end = at + len(passage)
        if not _within_word(whole, at) and not _within_word(whole, end):
            return True
        at = whole.find(passage, at + 1)
    return False


def _within_word(text: str, at: int) -> bool:
    """Return whether a place is between two letters or digits of one word."""
    return 0 < at < len(text) and all(_LETTERS.match(one) for one in text[at - 1 : at + 1])


def is_one_sentence(text: str) -> bool:
    """Return whether a text says one thing: a single sentence on a single line.

    Example:
        >>> is_one_sentence("Maria lives in Porto."), is_one_sentence("It rained. Who came?")
        (True, False)
    """
    whole = text.strip()
    if len(whole.splitlines()) > 1 or _FULL_STOP_WITHIN.search(whole):
        return False
    return sum(1 for _ in sentences(whole)) == 1
