"""Versions of one statement, of which recall shows the newest first: those of one memory."""

from __future__ import annotations

from typing import Final

from vestig.ids import id_bytes, id_text
from vestig.other_words import by_caller
from vestig.results import Version
from vestig.session.session import Session
from vestig.store.projection.scan_objects import Filter
from vestig.store.records import item_rows
from vestig.store.records.reads import LedgerView
from vestig.times import format_us, from_us, to_us
from vestig.types import Memory, holds_until_successor

# How many of the nearest memories are looked at, and the cosine below which none is.
_LOOKED_AT: Final = 20
_COSINE_MIN: Final = 0.2


def versions_of(session: Session, memory: Memory, vector: bytes) -> tuple[Version, ...]:
    """Return the live memories that state anew what this one states, or that it states anew, the
    newest first. Values of two keys are no versions of each other, however alike they are."""
    now_us = session.now_us()
    space, scope, own = memory.namespace, memory.scope, id_bytes(memory.id)
    filter = Filter(namespace=space, known_at_us=now_us, scopes=[scope])

    def read(view: LedgerView) -> tuple[Version, ...]:
        core = session.keeper.core
        ((_, _, near, _),) = core.similar(
            view.seq, vector, space, [scope], [None], [own], (1.0, 0), (1.0, 0),
            (_COSINE_MIN, _LOOKED_AT),
        )  # fmt: skip
        others = [id for id, _ in near]
        places = core.versions_of(view.seq, filter, own, others, now_us)
        ids = [id_text("mem", others[place]) for place in places]
        found = {one.id: one for one in view.memories(space, ids)}
        return tuple(
            Version(
                memory_id=one.id,
                t_valid=one.t_valid,
                content=one.content,
                role=one.role,
                confirmed=one.confirmed,
            )
            for one in map(found.get, ids)
            if one is not None
            and (one.key is None or memory.key is None or one.key == memory.key)
            and not item_rows.is_hidden(view, one, now_us)
        )

    return session.keeper.run(lambda view, _: read(view))


def until_then(memory: Memory, now_us: int) -> str | None:
    """Return until when a memory holds that was to hold on when an announced one was stored, and
    what changes that, as the end of a refusal; None of others."""
    if memory.t_invalid is None or not holds_until_successor(memory, from_us(now_us)):
        return None
    given, typed = ("", "") if memory.key is None else (" key=…,", " --key KEY")
    return (
        f"and holds until {format_us(to_us(memory.t_invalid))}; "
        + by_caller(f"store.deprecate({memory.id!r})", f"`vestig deprecate {memory.id}`")
        + " withdraws it, and then "
        + by_caller(
            f"store.commit(text,{given} t_valid=…, t_invalid=…)",
            f'`vestig add "…"{typed} --t-valid T --t-invalid T`',
        )
        + " stores what is to hold in its place"
    )
