"""How long a memory holds: its span, what its events tell of it, and what goes on behind another
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestig.store.records.graph_rows import microseconds, wrote_end
from vestig.store.records.reads import LedgerView
from vestig.times import format_us, from_us, to_us
from vestig.types import EventType, Memory, Status

# In the event with which a memory begins that holds again behind an exception: since when its text
# was stated to hold.
CONTINUES: Final = "continues"
# Of the event that stores what holds again: when its text was stated after that.
STATED_AGAIN: Final = "stated_again"


# From when a commit begins to when its memory is stored.
COMMIT_US_MAX: Final = 600_000_000


class Span(NamedTuple):
    """A version of a key among the others.

    `begins_us`, `ends_us`: when it holds. `since_us`: since when its text was stated to hold, which
    is earlier where it holds again behind an exception. `told_end_us`: until when it was stated to
    hold, whatever came between; None = nobody said. `said_us`: when its text was stated again.
    """

    version: Memory
    begins_us: int
    ends_us: int | None
    since_us: int
    told_end_us: int | None
    said_us: tuple[int, ...] = ()


class Stretch(NamedTuple):
    """A part of the time of a key, in which `span` holds, or a new text where that is None. `new`:
    a memory is to be made of it, that holds until `ends_us` by itself."""

    span: Span | None
    begins_us: int
    ends_us: int | None
    since_us: int
    new: bool


def continuation(known: Memory, stretch: Stretch, text: str, id: str, now_us: int) -> Memory:
    """A new memory by which what another one states holds again.

    Args:
        text: its normal form.
        id: of the new one.
    """
    return msgspec.structs.replace(
        known,
        id=id,
        # of the transaction
        seq=0,
        content=text,
        t_valid=from_us(stretch.begins_us),
        t_invalid=None if stretch.ends_us is None else from_us(stretch.ends_us),
        t_created=from_us(now_us),
        t_expired=None,
        last_seen_at=None,
        reinforce_count=0,
        status=Status.ARCHIVED if known.status is Status.ARCHIVED else Status.ACTIVE,
        pinned=False,
        pinned_at=None,
        pinned_reason=None,
        access_count=0,
        last_accessed_at=None,
        superseded_by=None,
        revives=known.id,
        version=1,
    )


def told_times(stretch: Stretch) -> dict[str, Any]:
    """Since when a text that holds again was stated to hold, until when where that is another end
    than it has, and when it was stated again later, as `span_of` reads them."""
    told: dict[str, Any] = {CONTINUES: format_us(stretch.since_us)}
    span, ends_us = stretch.span, stretch.ends_us
    again = () if span is None else (one for one in span.said_us if one > stretch.begins_us)
    if stated := [format_us(one) for one in again]:
        told[STATED_AGAIN] = stated
    if span is not None and ends_us is not None and ends_us != span.told_end_us:
        known = None if span.told_end_us is None else format_us(span.told_end_us)
        told |= {"t_invalid": format_us(ends_us), "previous_t_invalid": known}
    return told


class Happening(NamedTuple):
    """An event of a version, stored or not yet."""

    kind: EventType
    occurred_us: int
    recorded_us: int
    payload: dict[str, Any]


def happenings(view: LedgerView, version: Memory) -> list[Happening]:
    """The stored events of a version, oldest first."""
    return [
        Happening(one.event_type, to_us(one.occurred_at), to_us(one.recorded_at), one.payload)
        for one in view.events(version.namespace, version.id)
    ]


def span_of(version: Memory, events: Callable[[], Sequence[Happening]]) -> Span:
    """A version with what its events say of it; they are read where they may say something."""
    begins_us = since_us = to_us(version.t_valid)
    ends_us = told_us = None if version.t_invalid is None else to_us(version.t_invalid)
    said = tuple[int, ...]()
    seen, holds_again = version.last_seen_at, version.revives is not None
    again = seen is not None and (
        seen > version.t_valid or (holds_again and seen == version.t_valid)
    )
    if version.revives is None and ends_us is None and not again:
        return Span(version, begins_us, ends_us, since_us, told_us)
    happened = events()
    if happened and CONTINUES in happened[0].payload:
        since_us = microseconds(happened[0].payload[CONTINUES]) or since_us
        stated = happened[0].payload.get(STATED_AGAIN, ())
        said = tuple([us for one in stated if (us := microseconds(one)) is not None])
    for one in happened:
        if wrote_end(one.kind, one.payload):
            told_us = microseconds(one.payload["previous_t_invalid"])
            break
    if version.status is Status.DEPRECATED:
        told_us = None
    if again:
        said += tuple([one.occurred_us for one in happened if _is_dated(one)])
        # a return that was told for the time at which it holds again is a beginning of its own
        since_us = begins_us if begins_us in said else since_us
    return Span(version, begins_us, ends_us, since_us, told_us, said)


def _is_dated(event: Happening) -> bool:
    """Return whether an event states a text again at a time that somebody told: else it counts from
    the commit, and a later word about that time is the newer one."""
    stated = event.kind in (EventType.REINFORCE_EXACT, EventType.REINFORCE_NEAR)
    return stated and not 0 <= event.recorded_us - event.occurred_us <= COMMIT_US_MAX
