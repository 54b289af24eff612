"""Who states a text, and what that decides. Pure.

A statement of a model takes no key from what a user or a document states, and is confirmed where a
user states the same later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

from vestig.commit.canonical_form import CanonicalForm, canonical_form, is_same_statement
from vestig.commit.item import Item
from vestig.commit.near_duplicates import item_form
from vestig.commit.text import speaks_of_itself
from vestig.firewall import holds_marker
from vestig.lazy_pattern import lazy_pattern
from vestig.times import format_us, to_us
from vestig.types import Memory

# What may stand before a statement that agrees with another one.
_AGREES: Final = lazy_pattern(
    r"(?:yes|yeah|yep|right|correct|exactly|indeed|true|that(?:['’]s| is) (?:right|correct|true))"
    r"\s*[,.:!]\s+",
    re.IGNORECASE,
)


def keeps_key(item: Item, holder: Memory | None, replaced: Collection[Memory]) -> str | None:
    """The memory that has the key of a statement of a model and keeps it: a user or a document
    stated it or a user confirmed it, it says something else, and no order replaces it.

    Args:
        holder: what has the key.
        replaced: the memories that the item is ordered to replace.
    """
    if item.ordered or holder is None or not holder.confirmed:
        return None
    if any(one.id == holder.id for one in replaced):
        return None
    known = holder.content_hash == item.identity and not has_ended(item, holder)
    return None if known else holder.id


def has_ended(item: Item, known: Memory) -> bool:
    """Return whether a memory that holds the text of an item ended before that begins to hold, or
    when it began. A turn that is sent again to its place states nothing anew, nor does a passage
    that stays."""
    end, position = known.t_invalid, item.position
    if end is None or item.document is not None:
        return False
    placed = position is not None and position[1] is not None
    return not placed and to_us(end) <= max(item.begins_us, to_us(known.t_valid))


def begins_anew(item: Item, known: Memory) -> bool:
    """Return whether an item states that what ended holds again; a model alone does not state it of
    what somebody else stated."""
    return has_ended(item, known) and item.may_follow(known)


def comes_before(item: Item, known: Memory, now_us: int) -> bool:
    """Return whether an item holds from an earlier time than an announced memory with its text."""
    begins_us = to_us(known.t_valid)
    return begins_us > max(now_us, item.begins_us) and not known.pinned and item.may_follow(known)


def held_earlier(item: Item, known: Memory) -> bool:
    """Return whether an item states that the text of a version held from an earlier time on."""
    return item.begins_us < to_us(known.t_valid) and item.may_follow(known)


def stays_ended(item: Item, known: Memory) -> str:
    """Return why what ended does not hold again."""
    assert known.t_invalid is not None, "it has ended"
    return (
        f"{known.id} ended at {format_us(to_us(known.t_invalid))} and stays so: this is a statement"
        f" of the role {item.request.role} that nobody confirmed"
    )


def beside_warning(item: Item) -> str:
    """Return why an item has no key."""
    return (
        f"{item.beside} keeps the key {item.asked_key}: this is a statement of the role"
        f" {item.request.role} that nobody confirmed, and was stored beside it without a key"
    )


def is_said_again(memory: Memory, item: Item, form_of: Callable[[Memory], CanonicalForm]) -> bool:
    """Return whether an item certainly states later what a memory states that nobody confirmed. Of
    two authors "I" is not the same one."""
    request = item.request
    if memory.confirmed or memory.t_expired is not None or memory.scope != request.scope:
        return False
    if to_us(memory.t_valid) > item.begins_us or holds_marker(memory.content):
        return False
    if memory.author != request.author and speaks_of_itself(item.text):
        return False
    known = form_of(memory)
    if is_same_statement(known, item_form(item)):
        return True
    agrees = _AGREES.match(item.text)
    return agrees is not None and is_same_statement(
        known, canonical_form(item.text[agrees.end() :])
    )
