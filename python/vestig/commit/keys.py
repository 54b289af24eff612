"""The versions of a key: which memory is current, and between which others a new text belongs.

At most one unexpired memory of a namespace and scope has a key. Of its versions each holds until
the next one begins; of those that begin at one time the last committed holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from vestig.calls.argument import key_name
from vestig.changes import ChangeSet, MemoryPatch, NewEvent
from vestig.commit.item import Item, Slot
from vestig.errors import ConflictError
from vestig.memories.states import Successor, ended, event
from vestig.store.records import keyed_memories
from vestig.store.records.reads import LedgerView
from vestig.times import format_us, from_us, to_us
from vestig.types import Claim, EventType, Memory, Status

# Facts of which a subject has one at a time.
_ONE_AT_A_TIME: Final = frozenset(
    (
        "AGE", "BIRTHDAY", "BORN_IN", "BORN_ON", "EMPLOYED_BY", "HAS_AGE", "HAS_BIRTHDAY",
        "HAS_JOB", "HAS_JOB_TITLE", "HAS_NAME", "HAS_PHONE_NUMBER", "HAS_ROLE", "HAS_STATUS",
        "JOB_TITLE", "LIVES_IN", "LOCATED_IN", "MARRIED_TO", "NATIVE_LANGUAGE", "PHONE_NUMBER",
        "REPORTS_TO", "RESIDES_IN", "WORKS_AS", "WORKS_AT", "WORKS_FOR",
    )
)  # fmt: skip

# From when a commit begins to when its memory is stored.
_COMMIT_US_MAX: Final = 600_000_000


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
    if fact_type not in _ONE_AT_A_TIME:
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


def tells_more(item: Item, current: Memory) -> bool:
    """Return whether an item says since when it holds, and nobody did of the current version: it
    counts from the commit that stored it, and the later word is the newer one."""
    before_us = to_us(current.t_created) - to_us(current.t_valid)
    return item.request.t_valid is not None and 0 <= before_us <= _COMMIT_US_MAX


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
    """The versions of a key beside a new text, by the time from which they hold."""

    before: Memory | None
    after: Memory | None


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

    def first(found: Iterator[Memory]) -> Memory | None:
        left = (as_left(one) for one in found if one.id not in replaced)
        return next((one for one in left if _held(one)), None)

    held = [one for one in inserted if _held(one)]
    before = first(keyed_memories.held_before(view, *slot, t_valid_us))
    after = first(keyed_memories.held_after(view, *slot, t_valid_us))
    earlier = [one for one in held if to_us(one.t_valid) <= t_valid_us]
    later = [one for one in held if to_us(one.t_valid) > t_valid_us]
    # a later commit stands after an earlier one of the same time
    for one in earlier:
        if before is None or one.t_valid >= before.t_valid:
            before = one
    for one in later:
        if after is None or one.t_valid <= after.t_valid:
            after = one
    return Neighbours(before, after)


def is_placed(item: Item, current: Memory | None) -> bool:
    """Return whether an inserted version gets its place among the others of its key: one that comes
    from another store ended, and so did what it followed, as it did there.

    Args:
        current: what has the key beside it.
    """
    return item.status is None or not (item.is_history or current is None)


def stays_current(current: Memory) -> str:
    """Return that a memory keeps its key beside a text that is older, as the beginning of a
    sentence about that text."""
    return (
        f"{current.id} stays current under the key, for it holds from"
        f" {format_us(to_us(current.t_valid))} on: this text is older and"
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
