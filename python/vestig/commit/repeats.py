"""Further wishes of a caller whose text is known: what adds to the memory is done, what would
replace something that it holds is named."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import msgspec

from vestig.calls.commit import CommitRequest
from vestig.language.names import norm_name
from vestig.times import format_us, to_us
from vestig.types import Memory, RetentionPolicy, Stability

# From the first forgotten to the last.
_LASTING: Final = (
    RetentionPolicy.SESSION,
    RetentionPolicy.EPHEMERAL,
    RetentionPolicy.STANDARD,
    RetentionPolicy.DECISION,
    RetentionPolicy.PERMANENT,
)


class RepeatWishes(msgspec.Struct, kw_only=True):
    """`columns`: new values of the memory's row. `old`, `new`: of the fields among them, as an
    UPDATE event has them. `kept`: fields of the memory that are not what the caller asked, with
    the reason."""

    columns: dict[str, Any] = msgspec.field(default_factory=dict)
    old: dict[str, Any] = msgspec.field(default_factory=dict)
    new: dict[str, Any] = msgspec.field(default_factory=dict)
    kept: list[str] = msgspec.field(default_factory=list)

    def change(self, name: str, old: Any, new: Any) -> None:
        """A field gets a value."""
        self.columns[name], self.old[name], self.new[name] = new, old, new

    def change_time(self, name: str, new_us: int) -> None:
        """A time that was absent, or a later one, gets a value."""
        self.columns[f"{name}_us"] = new_us
        self.old[name], self.new[name] = None, format_us(new_us)

    def keep(self, name: str, value: object) -> None:
        """A field stays as it is."""
        self.kept.append(f"{name} stays {'absent' if value is None else value}")


def repeat_wishes(
    known: Memory, request: CommitRequest, mentioned: Collection[str]
) -> RepeatWishes:
    """Return what becomes of the arguments of a commit whose text `known` holds.

    What adds is done: a pin, a longer retention, an end or a title or a trigger where there is
    none, a stability where it is unknown, more keywords, names that `metadata` lacks. Anything else
    that was asked and differs is in `kept`. Tags and `supersedes` act elsewhere.

    Args:
        known: the memory that holds the text.
        request: the arguments of the repeat.
        mentioned: names of the entities that the memory mentions.
    """
    wishes = RepeatWishes()
    if request.pinned and not known.pinned:
        wishes.columns["pinned"] = True
    _retention(wishes, known, request)
    _times(wishes, known, request)
    _words(wishes, known, request)
    keywords = [word for word in request.keywords if word not in known.keywords]
    if keywords:
        wishes.change("keywords", list(known.keywords), [*known.keywords, *keywords])
    _metadata(wishes, known, request)
    names = {norm_name(name) for name in mentioned}
    missing = [one.name for one in request.entities if norm_name(one.name) not in names]
    if missing:
        wishes.kept.append(f"entities are not added ({', '.join(missing)})")
    if request.hypothetical_queries:
        wishes.kept.append("hypothetical_queries are not added")
    return wishes


def _retention(wishes: RepeatWishes, known: Memory, request: CommitRequest) -> None:
    policy, held = request.retention_policy, known.retention_policy
    if policy is not None and policy is not held:
        if _LASTING.index(policy) > _LASTING.index(held):
            wishes.change("retention_policy", held.value, policy.value)
        else:
            wishes.keep("retention_policy", held.value)
    until = request.retention_until
    if until is None:
        return
    before = None if known.retention_until is None else to_us(known.retention_until)
    if before is None or until > before:
        wishes.change_time("retention_until", until)
        wishes.old["retention_until"] = None if before is None else format_us(before)
    elif until < before:
        wishes.keep("retention_until", format_us(before))


def _times(wishes: RepeatWishes, known: Memory, request: CommitRequest) -> None:
    begins, ends = to_us(known.t_valid), known.t_invalid
    if request.t_valid not in (None, begins):
        wishes.keep("t_valid", format_us(begins))
    asked = request.t_invalid
    if asked is None:
        return
    if ends is not None:
        if to_us(ends) != asked:
            wishes.keep("t_invalid", format_us(to_us(ends)))
    elif asked > begins:
        wishes.change_time("t_invalid", asked)
    else:
        wishes.kept.append(f"t_invalid stays open, for t_valid is {format_us(begins)}")


def _words(wishes: RepeatWishes, known: Memory, request: CommitRequest) -> None:
    stability = request.temporal_stability
    if stability is not None and stability is not known.temporal_stability:
        if known.temporal_stability is Stability.UNKNOWN:
            wishes.change("temporal_stability", known.temporal_stability.value, stability.value)
        else:
            wishes.keep("temporal_stability", known.temporal_stability.value)
    held = {
        "title": known.title,
        "trigger": None if known.trigger is None else known.trigger.value,
    }
    for name, value in held.items():
        asked = getattr(request, name)
        if asked is not None and value is None:
            wishes.change(name, None, asked)
        elif asked not in (None, value):
            wishes.keep(name, repr(value))
    role = None if known.role is None else known.role.value
    if request.role not in (None, role):
        wishes.keep("role", role)
    if request.origin_type not in (None, known.origin_type):
        wishes.keep("origin_type", known.origin_type.value)


def _metadata(wishes: RepeatWishes, known: Memory, request: CommitRequest) -> None:
    added = {
        name: one for name, one in (request.metadata or {}).items() if name not in known.metadata
    }
    if added:
        wishes.change("metadata", known.metadata, known.metadata | added)
    if request.structured is not None and request.structured != known.structured:
        wishes.kept.append("the structured fields are not added")
    for name, value in (request.metadata or {}).items():
        if name not in added and known.metadata[name] != value:
            wishes.keep(f"metadata.{name}", repr(known.metadata[name]))
