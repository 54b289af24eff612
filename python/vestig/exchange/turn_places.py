"""Places of the turns to which their files give none, in sessions that go on from file to file.

A turn that stands again as it is recorded is that one. A turn beside some that are recorded stands
where the file has it if that place is free; every other one behind what its session has, and the
report says where that is later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec

from vestig.arguments import is_day, parse_time
from vestig.commit.text import content_hash
from vestig.errors import ValidationError
from vestig.exchange.commit_fields import ImportItem, ImportOptions, Run, Tally
from vestig.session.session import Session
from vestig.store.records.memory_queries import SaidTurn, SessionEnd, session_ends, turns_of_texts
from vestig.store.records.reads import LedgerView
from vestig.types import is_undated

_Records = list[tuple[Tally, ImportItem]]
_NO_END: Final = SessionEnd(-1, None)


class _Stream(NamedTuple):
    """The turns of one session in one file."""

    tally: Tally
    scope: str | None
    session: str


class TurnPlaces:
    """Gives turns their places; once for an import, in the order of its records."""

    def __init__(self, session: Session, options: ImportOptions, run: Run) -> None:
        self._session = session
        self._options = options
        self._run = run
        # (scope, session) → its end, what is not written yet included; None: not read yet
        self._ends: dict[tuple[str | None, str], SessionEnd] | None = None
        self._first_ends: dict[tuple[str | None, str], SessionEnd] = {}
        # the places that were taken before the import, or are since, up to those ends
        self._taken: dict[tuple[str | None, str], set[int]] = {}
        # by how much places lie behind the order in the file, and the end of the session before it
        self._shifts: dict[_Stream, int] = {}
        self._before: dict[_Stream, SessionEnd] = {}
        # how often each turn stood in one file, and in any
        self._said: dict[tuple[Tally, SaidTurn], int] = {}
        self._most: Counter[SaidTurn] = Counter()

    def placed(self, group: _Records, fresh: _Records) -> _Records:
        """The records that are not recorded, each turn at its place, without those that stand again
        as they are recorded.

        Args:
            group: the records as they were read.
            fresh: those of them whose reference is not recorded.
        """
        if not any(item.in_file_order for _, item in fresh):
            return fresh
        with self._session.ledger.read() as view:
            again = self._said_again(view, fresh)
            fresh = [pair for pair in fresh if id(pair[1]) not in again]
            if self._ends is None:
                self._ends = session_ends(view, self._session.namespace)
                self._first_ends = dict(self._ends)
            stored = self._stored(view, group, fresh, again)
            streams: dict[_Stream, list[ImportItem]] = {}
            for tally, item in group:
                if item.in_file_order:
                    streams.setdefault(_stream(tally, item), []).append(item)
            new = {id(item) for _, item in fresh}
            places: dict[int, int] = {}
            for stream, own in streams.items():
                places.update(self._places(view, stream, own, new, stored))
        # a newer text of a record stands where the one before it does
        kept = {_recorded_as(item): stored[id(item)] for _, item in group if id(item) in stored}
        return [
            (tally, _at(item, places.get(id(item), kept.get(_recorded_as(item)))))
            for tally, item in fresh
        ]

    def _said_again(self, view: LedgerView, fresh: _Records) -> dict[int, str]:
        """The turns that are recorded under another reference: without an id, of the same session,
        speaker, text and time of day. By the identity of their item, the memory.

        Of several such turns of one file each is another one.
        """
        own: list[tuple[Tally, ImportItem, SaidTurn]] = []
        for tally, item in fresh:
            said = self._said_turn(item)
            if said is not None:
                own.append((tally, item, said))
        known: dict[SaidTurn, list[str]] = {}
        for scope in dict.fromkeys(item.scope for _, item, _ in own):
            hashes = [said.content_hash for _, item, said in own if item.scope == scope]
            known.update(turns_of_texts(view, self._session.namespace, scope, hashes))
        again: dict[int, str] = {}
        for tally, item, said in own:
            count = self._said[tally, said] = self._said.get((tally, said), 0) + 1
            ids = known.get(said, [])
            if count <= max(len(ids), self._most[said]):
                tally.skipped += 1
                again[id(item)] = ids[min(count, len(ids)) - 1] if ids else ""
            self._most[said] = max(self._most[said], count)
        return again

    def _said_turn(self, item: ImportItem) -> SaidTurn | None:
        """A turn without an id as it is told from others; None without a time of day."""
        given = item.arguments
        time = given.get("t_ref")
        if not item.in_file_order or item.is_known_by_id or time is None or is_day(time):
            return None
        if is_undated(given.get("metadata") or {}):
            return None
        role, author = given.get("role"), given.get("author")
        with suppress(ValidationError):
            return SaidTurn(
                content_hash(self._options.normalise(item.parts[0])) if item.parts else "",
                item.scope,
                str(given["session_id"]).strip(),
                None if author is None else str(author).strip(),
                None if role is None else str(role).strip().lower(),
                parse_time(time, "t_ref"),
            )
        return None

    def _stored(
        self, view: LedgerView, group: _Records, fresh: _Records, again: dict[int, str]
    ) -> dict[int, int]:
        """Places of the turns of a group that are recorded in their session, by the identity of
        their item."""
        new = {id(item) for _, item in fresh}
        known = [item for _, item in group if item.in_file_order and id(item) not in new]
        ids = {id(item): again[id(item)] for item in known if again.get(id(item))}
        space = self._session.namespace
        for scope in dict.fromkeys(item.scope for item in known):
            rest = [item for item in known if item.scope == scope and id(item) not in ids]
            refs = view.recorded_refs(space, scope, [item.artifact_ref for item in rest])
            ids.update(
                {id(item): refs[item.artifact_ref] for item in rest if item.artifact_ref in refs}
            )
        places = view.places(space, sorted(set(ids.values())))
        found: dict[int, int] = {}
        for item in known:
            place = places.get(ids.get(id(item), ""))
            if place is None or place[2] is None:
                continue
            if place[:2] == (item.scope, str(item.arguments["session_id"]).strip()):
                found[id(item)] = place[2]
        return found

    def _places(
        self,
        view: LedgerView,
        stream: _Stream,
        own: Sequence[ImportItem],
        new: AbstractSet[int],
        stored: Mapping[int, int],
    ) -> dict[int, int]:
        """Places of the new turns of a session in a file, by the identity of their item.

        Args:
            own: all that were read, in their order.
        """
        assert self._ends is not None, "ends are read before places are given"
        key = (stream.scope, stream.session)
        # of the turns that are recorded, those before this one, else those after it
        known = (stored[id(item)] - _order(item) for item in own if id(item) in stored)
        shift = self._shifts.get(stream, next(known, None))
        places: dict[int, int] = {}
        for item in own:
            order, end = _order(item), self._ends.get(key, _NO_END)
            if id(item) in stored:
                shift = stored[id(item)] - order
            if id(item) not in new:
                continue
            place = order + (shift or 0)
            if shift is not None and place <= end.place and self._is_free(view, key, place):
                places[id(item)] = place
                self._taken[key].add(place)
                continue
            place = max(place, end.place + 1)
            shift = place - order
            before = self._before.setdefault(stream, end)
            time_us = _time_us(item)
            if time_us is not None and before.time_us is not None and time_us < before.time_us:
                self._run.behind[stream.session] += 1
            times = [us for us in (time_us, end.time_us) if us is not None]
            self._ends[key] = SessionEnd(place, max(times, default=None))
            places[id(item)] = place
        if shift is not None:
            self._shifts[stream] = shift
        return places

    def _is_free(self, view: LedgerView, key: tuple[str | None, str], place: int) -> bool:
        """Return whether no turn stands at a place of what a session had before the import."""
        scope, session = key
        end = self._first_ends.get(key, _NO_END).place
        if not 0 <= place <= end:
            return False
        if key not in self._taken:
            found = view.turns(self._session.namespace, [session], [(0, end)])
            self._taken[key] = {
                at for own, _, at in found.values() if own == scope and at is not None
            }
        return place not in self._taken[key]


def _stream(tally: Tally, item: ImportItem) -> _Stream:
    return _Stream(tally, item.scope, str(item.arguments["session_id"]).strip())


def _order(item: ImportItem) -> int:
    return int(item.arguments["sequence"])


def _time_us(item: ImportItem) -> int | None:
    time = item.arguments.get("t_ref")
    with suppress(ValidationError):
        return None if time is None else parse_time(time, "t_ref")
    return None


def _recorded_as(item: ImportItem) -> tuple[str | None, str]:
    return item.scope, item.artifact_ref


def _at(item: ImportItem, place: int | None) -> ImportItem:
    if place is None or not item.in_file_order:
        return item
    return msgspec.structs.replace(item, arguments={**item.arguments, "sequence": place})
