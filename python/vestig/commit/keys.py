"""The versions of a key: which memory is current, and between which others a new text belongs.

At most one unexpired memory of a namespace and scope has a key. Of its versions each holds until
the next one begins; of those that begin at one time the last committed holds.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from vestig.calls.argument import key_name
from vestig.changes import ChangeSet, MemoryPatch, NewEvent
from vestig.commit.item import Item, Slot
from vestig.errors import ConflictError
from vestig.language.text_forms import word_list
from vestig.memories.spans import (
    COMMIT_US_MAX,
    Span,
    Stretch,
)
from vestig.memories.states import Successor, ended, event
from vestig.store.records import keyed_memories
from vestig.store.records.reads import LedgerView
from vestig.times import format_us, from_us, to_us
from vestig.types import Claim, EventType, Memory, Status

# Facts of which a subject has one at a time.
ONE_AT_A_TIME: Final = frozenset(
    word_list(
        "AGE BIRTHDAY BORN_IN BORN_ON EMPLOYED_BY HAS_AGE HAS_BIRTHDAY HAS_JOB HAS_JOB_TITLE"
        " HAS_NAME HAS_PHONE_NUMBER HAS_ROLE HAS_STATUS JOB_TITLE LIVES_IN LOCATED_IN MARRIED_TO"
        " NATIVE_LANGUAGE PHONE_NUMBER REPORTS_TO RESIDES_IN WORKS_AS WORKS_AT WORKS_FOR"
    )
)


def key_of_claim(claim: Claim) -> str | None:
    """The key of a claim of whose fact type a subject has one at a time: `subject.FACT_TYPE`; None
    for other claims.

    Raises:
        ValidationError: that is no name of a key.

    Example:
        >>> key_of_claim(Claim(subject="Maria", fact_type="lives in", object="Porto"))
        'Maria.LIVES_IN'
        >>> key_of_claim(Claim(subject="Maria", fact_type="LIKES", object="fado")) is None
        True
    """
    fact_type = "_".join(claim.fact_type.upper().replace("-", " ").replace("_", " ").split())
    if fact_type not in ONE_AT_A_TIME:
        return None
    return key_name("claim", f"{claim.subject}.{fact_type}")


def check_replaceable_by_key(current: Memory) -> None:
    """Another text cannot take the place of a pinned memory.

    Raises:
        ConflictError: names the memory.
    """
    if current.pinned:
        raise ConflictError(
            f"key: {current.id} has the key and is pinned, so that no other text can be stored"
            " under it; unpin it first, or name it in `supersedes`"
        )


def tells_more(item: Item, current: Memory, stored_us: Callable[[], int]) -> bool:
    """Return whether an item says since when it holds, and nobody did of the current version: it
    counts from the commit that stored it, and the later word is the newer one.

    Args:
        stored_us: when that was, in whatever store.
    """
    if item.request.t_valid is None:
        return False
    return 0 <= stored_us() - to_us(current.t_valid) <= COMMIT_US_MAX


def changes_end(item: Item, span: Span) -> bool:
    """Return whether an item says that a version which has an end of its own has another one, or
    none: nobody says so who tells no time."""
    end_us, told = item.request.t_invalid, item.request.t_valid is not None
    if span.told_end_us is None or end_us == span.told_end_us:
        return False
    return told if end_us is None else end_us > item.begins_us


def successor_of(item: Item, id: str, t_valid_us: int) -> Successor:
    """A memory in the place of an older one, by whoever committed the item."""
    request = item.request
    return Successor(
        id=id,
        t_valid_us=t_valid_us,
        source=request.source,
        actor=request.actor,
        key=item.key,
        scope=request.scope,
    )


def held_then(item: Item, current: Memory, versions: Iterable[Memory]) -> Memory | None:
    """The superseded one of these memories that held when an item begins, which is before the
    current one does."""
    if item.begins_us >= to_us(current.t_valid):
        return None
    for one in versions:
        end = None if one.status is not Status.SUPERSEDED else one.t_invalid
        if end is not None and to_us(one.t_valid) <= item.begins_us < to_us(end):
            return one
    return None


class Neighbours(NamedTuple):
    """The versions of a key beside a new text, by the time from which they hold; those after it are
    read as they are asked for, the earliest first."""

    before: Memory | None
    after: Iterator[Memory]


def neighbours(
    view: LedgerView,
    slot: Slot,
    t_valid_us: int,
    inserted: Sequence[Memory],
    as_left: Callable[[Memory], Memory],
    replaced: Collection[str],
) -> Neighbours:
    """The versions between which a text belongs that begins to hold at this time.

    Args:
        inserted: versions that the group stores, in its order.
        as_left: a stored memory as the group leaves it.
        replaced: ids of the memories that the text replaces, which are no neighbours.
    """

    def left(found: Iterator[Memory]) -> Iterator[Memory]:
        return filter(_held, (as_left(one) for one in found if one.id not in replaced))

    held = [one for one in inserted if _held(one)]
    before = next(left(keyed_memories.held_before(view, *slot, t_valid_us)), None)
    # a later commit stands after an earlier one of the same time
    for one in held:
        if to_us(one.t_valid) <= t_valid_us and (before is None or one.t_valid >= before.t_valid):
            before = one
    later = [one for one in held if to_us(one.t_valid) > t_valid_us]
    later.sort(key=lambda one: one.t_valid)
    after = left(keyed_memories.held_after(view, *slot, t_valid_us))
    return Neighbours(before, heapq.merge(later, after, key=lambda one: one.t_valid))


class Place(NamedTuple):
    """The place of a new text among the versions of its key. `stretches`: from its beginning on, in
    order; `cuts`: versions that end where it takes their place, with that time."""

    stretches: tuple[Stretch, ...]
    cuts: tuple[tuple[Span, int], ...]


def place_of(begins_us: int, ends_us: int | None, spans: Iterator[Span]) -> Place:
    """The place of a text that holds from one time to another: at each time that version holds
    which was stated to hold since the latest time, and whose own end has not come.

    So a text with an end is an exception: what held before it holds again behind it, whichever of
    the two is stored first, and a version whose text was stated again holds again from then on.

    Args:
        ends_us: None = open.
        spans: of the versions that hold behind `begins_us`, without overlap, the earliest first.
    """
    found, cuts = list[Stretch](), list[tuple[Span, int]]()
    start_us, until_us = begins_us, ends_us
    left, told_us = None, None
    for span in spans:
        if until_us is not None and span.begins_us >= until_us:
            spans = itertools.chain((span,), spans)
            break
        if span.since_us > begins_us:
            if start_us < span.begins_us:
                found.append(Stretch(None, start_us, ends_us, begins_us, True))
            found.append(Stretch(span, span.begins_us, span.ends_us, span.since_us, False))
            if span.told_end_us is None or span.ends_us is None:
                return Place(tuple(found), tuple(cuts))
            start_us = max(start_us, span.told_end_us, span.ends_us)
            continue
        at_us = max(start_us, span.begins_us)
        if span.ends_us is not None and span.ends_us <= at_us:
            continue
        cuts.append((span, at_us))
        said_us = min((one for one in span.said_us if one > at_us), default=None)
        stops = [one for one in (until_us, said_us) if one is not None]
        if stops and (span.ends_us is None or min(stops) < span.ends_us):
            until_us = min(stops)
            told_us = span.told_end_us
            stated_us = span.since_us if until_us != said_us else said_us
            left = Stretch(span, until_us, span.ends_us, stated_us, True)
            break
    if until_us is None or start_us < until_us:
        found.append(Stretch(None, start_us, ends_us, begins_us, True))
    # what held beside a version that holds again ends nothing of it
    since_us = begins_us if left is None else left.begins_us
    behind = next((span for span in spans if span.begins_us >= since_us), None)
    if left is not None:
        # what comes behind it ends it; by itself it holds as long as was told
        follows = behind is not None and behind.begins_us == left.ends_us
        longer = told_us is None or (left.ends_us is not None and told_us > left.ends_us)
        found.append(left._replace(ends_us=told_us) if follows and longer else left)
    if behind is not None:
        found.append(Stretch(behind, behind.begins_us, behind.ends_us, behind.since_us, False))
    return Place(tuple(found), tuple(cuts))


def without(stated: Span, begins_us: int, spans: Iterator[Span]) -> Iterator[Span]:
    """These versions where what one of them states has another end from a time on: what was to hold
    again behind it may do so from then on.

    Args:
        spans: of the versions that hold behind `begins_us`, the earliest first.
    """
    text, gone_us = stated.version.content_hash, None
    for span in spans:
        if span.version.content_hash == text and span.since_us == stated.since_us:
            gone_us = max(begins_us, span.begins_us)
            yield span._replace(ends_us=gone_us + 1, said_us=())
            continue
        fills_us = gone_us if span.since_us < stated.since_us else None
        yield span if fills_us is None else span._replace(begins_us=fills_us)
        gone_us = None


def is_placed(item: Item, current: Memory | None) -> bool:
    """Return whether an inserted version gets its place among the others of its key: one that comes
    from another store ended, and so did what it followed, as it did there.

    Args:
        current: what has the key beside it.
    """
    return item.status is None or not (item.is_history or current is None)


def _is_history(current: Memory, after: Memory, now_us: int) -> str:
    """Return that a text held only until a later version of its key began, as the beginning of a
    sentence about that text."""
    if to_us(current.t_valid) <= now_us:
        stays = f"{current.id} stays current under the key, for it holds"
        begins = current.t_valid
    else:
        stays, begins = f"{after.id} took its place under the key, for it held", after.t_valid
    return f"{stays} from {format_us(to_us(begins))} on: this text is older and"


def _holds_until(text: Memory, after: Memory) -> str:
    """Return until when a text holds, and what has its key from then on."""
    assert text.t_invalid is not None, "another one follows"
    end, begins = format_us(to_us(text.t_invalid)), format_us(to_us(after.t_valid))
    return f"this text holds until {end}: {after.id} has the key from {begins} on"


def place_warning(memory: Memory, after: Memory, current: Memory, now_us: int) -> str:
    """Return that a new text gives way to a later version of its key.

    Args:
        current: what has the key then.
    """
    assert memory.t_invalid is not None, "it gives way"
    if to_us(memory.t_invalid) > now_us or current.revives == memory.id:
        return _holds_until(memory, after)
    end = format_us(to_us(memory.t_invalid))
    return f"{_is_history(current, after, now_us)} was stored as history, until {end}"


def known_warning(span: Span, current: Memory, now_us: int) -> str:
    """Return that a text is that of a version of its key which is not the current one."""
    known, told_us = span.version, span.told_end_us
    assert known.t_invalid is not None, "it was replaced"
    if to_us(known.t_invalid) > now_us:
        end = to_us(known.t_invalid)
        longer = f"; with t_valid={format_us(end)} it stays" if end == told_us else ""
        return _holds_until(known, current) + longer
    return f"{_is_history(current, current, now_us)} is history"


def again_warning(known: Memory, stretch: Stretch, ends_us: int | None, id: str | None) -> str:
    """Return that a version holds again behind a text.

    Args:
        ends_us: when the text ends by itself.
        id: of the memory by which it holds again; None = it is not stored.
    """
    why = "when this text ends" if stretch.begins_us == ends_us else "when it was stated again"
    named = "" if id is None else f", as {id}"
    return f"{known.id} holds again from {format_us(stretch.begins_us)} on, {why}{named}"


def goes_on_warning(stretch: Stretch, id: str | None) -> str:
    """Return that a text holds again behind a version that has an end.

    Args:
        id: of the memory by which it holds again; None = it is not stored.
    """
    named = "" if id is None else f", as {id}"
    return (
        f"this text holds again from {format_us(stretch.begins_us)} on, when what has the key"
        f" before ends{named}"
    )


def said_meanwhile(cuts: Iterable[tuple[Span, int]], text: Memory) -> Iterator[str]:
    """Return which versions were stated again, at a time that counts from the commit, while a text
    holds that takes their place."""
    for span, _ in cuts:
        known, seen = span.version, span.version.last_seen_at
        if seen is None or seen <= text.t_valid or to_us(seen) in span.said_us:
            continue
        if text.t_invalid is None or seen < text.t_invalid:
            at = format_us(to_us(seen))
            yield (
                f"{known.id} was stated again at {at}, and this later text takes its place then"
                f" too; where that holds, commit the text of {known.id} with t_valid={at}"
            )


def overlap_warning(item: Item, after: Memory) -> str | None:
    """Return that a version which is replaced or withdrawn held within the time of an inserted
    one; None where it did not."""
    begins, end = after.t_valid, item.request.t_invalid
    if after.t_invalid is None or (end is not None and end <= to_us(begins)):
        return None
    return (
        f"{after.id} held under the key from {format_us(to_us(begins))} to"
        f" {format_us(to_us(after.t_invalid))}, and this text then too"
    )


def version_end(version: Memory, end_us: int, now_us: int) -> tuple[MemoryPatch, NewEvent]:
    """The rows by which a version ends at another time."""
    known = version.t_invalid
    payload = {
        "old": {"t_invalid": None if known is None else format_us(to_us(known))},
        "new": {"t_invalid": format_us(end_us)},
    }
    patch = MemoryPatch(
        memory_id=version.id, fields={"t_invalid": from_us(end_us)}, bump_version=True
    )
    return patch, event(version, EventType.UPDATE, now_us, payload | ended(version, end_us))


def with_begin_moved(
    view: LedgerView, memory: Memory, begins_us: int, now_us: int, changes: ChangeSet
) -> ChangeSet:
    """The changes of a memory that has a key and begins to hold at another time: the version before
    it ends then.

    Raises:
        ConflictError: that version begins later.
    """
    if memory.key is None:
        return changes
    slot, since_us = (memory.namespace, memory.scope, memory.key), to_us(memory.t_valid)
    earlier = keyed_memories.held_before(view, *slot, since_us)
    before = next((one for one in earlier if one.id != memory.id), None)
    if before is None:
        return changes
    if begins_us < to_us(before.t_valid):
        raise ConflictError(
            f"t_valid: {before.id} has the key of {memory.id} from"
            f" {format_us(to_us(before.t_valid))} on, so that it cannot begin at"
            f" {format_us(begins_us)}; forget {before.id} first if that never held"
        )
    end = before.t_invalid
    if end is not None and end != memory.t_valid and to_us(end) <= begins_us:
        return changes
    patch, ends = version_end(before, begins_us, now_us)
    return msgspec.structs.replace(
        changes, patches=(*changes.patches, patch), events=(*changes.events, ends)
    )


def _held(memory: Memory) -> bool:
    """Return whether it held at some time: one that was withdrawn did not, nor one that ended, or
    was replaced, when it began."""
    if memory.t_invalid is None:
        return memory.t_expired is None
    return memory.t_invalid > memory.t_valid
