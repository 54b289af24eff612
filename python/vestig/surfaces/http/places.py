"""Places for requests, shared among clients.

A client is a tenant, or the address that asks a server of one store. Its short requests are one
flow, its long ones another. A place that becomes free goes to the flow that has had places for the
least time, that of long requests counted fourfold, so that no client waits behind all that another
one has sent. A flow that begins has had as much as the one that was last given a place: what it did
not use is not saved. A request that has had its place for `SLICE_S` is a long one, and gives way at
each of its steps; long ones have one place less than there are, so that one is left for the short.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from vestig.surfaces.http.access import Refusal, busy

SLICE_S: Final = 0.2
# The time of a long request counts so many times: somebody waits for the short ones.
LONG_WEIGHT: Final = 4
# Long requests that are begun and not ended: each holds what it was given, and a thread.
BEGUN_PER_PLACE: Final = 4
BEGUN_PER_CLIENT: Final = 2


def _ending() -> Refusal:
    return Refusal(
        "not-ready",
        "the server ends: what is written stays, and the rest was not done; ask again later",
        headers={"Retry-After": "1"},
    )


class Progress:
    """How far a request has come: `done` of `total` parts; None: it says nothing of that."""

    def __init__(self) -> None:
        self.done: int | None = None
        self.total: int | None = None

    def tell(self, done: int, total: int | None) -> None:
        """Notes how far it has come."""
        self.done, self.total = done, total


class Place:
    """The place of one request, which it has, or waits for. `wake` is called, without a lock of
    the places, when it has it, or will have none: `refused`."""

    def __init__(self, places: Places, client: str, progress: Progress, *, long: bool) -> None:
        self.client = client
        self.is_long = long
        self.is_begun = False
        self.refused = False
        self.since_s = 0.0
        self.wake: Callable[[], None] = lambda: None
        self._places = places
        self._progress = progress

    def give_way(self) -> None:
        """See `Turn`."""
        if self.is_long or time.monotonic() - self.since_s >= SLICE_S:
            self._places.give_way(self)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """See `Turn`; a short request keeps its place."""
        if not self.is_long:
            yield
            return
        self._places.pause(self)
        try:
            yield
        finally:
            self._places.go_on(self)

    def tell(self, done: int, total: int | None) -> None:
        """See `Turn`."""
        self._progress.tell(done, total)


class _Flow:
    """Requests of one client, short or long: those that wait, how many have not ended, and for how
    long places were had."""

    def __init__(self, had_s: float) -> None:
        self.waiting: deque[Place] = deque()
        self.open = 0
        self.had_s = had_s


class Places:
    """Places for `running_max` requests; `waiting_max` more wait until they are begun, `wait_s` at
    most. Used by one event loop and the threads of its requests."""

    def __init__(self, running_max: int, waiting_max: int, wait_s: float) -> None:
        self._lock = threading.Lock()
        self._free = running_max
        self._free_long = max(1, running_max - 1)
        self._begun_max = BEGUN_PER_PLACE * running_max
        # with a place, or long and begun
        self.threads_max = running_max + self._begun_max
        self._waiting_max = waiting_max
        self._wait_s = wait_s
        # by client and whether they are long; where two have had the same, the first has its turn
        self._flows: dict[tuple[str, bool], _Flow] = {}
        # what the flow has had that was last given a place
        self._had_s = 0.0
        # requests of each client that are not begun
        self._waiting: Counter[str] = Counter()
        # long requests of each client that are begun
        self._begun: Counter[str] = Counter()
        self._is_closed = False

    def has_room(self, client: str) -> bool:
        """Return whether a request that comes now would wait at least for a moment."""
        with self._lock:
            if self._free or self._waiting.total() < self._waiting_max:
                return True
            return self._waiting[client] < max(self._waiting.values(), default=0)

    async def enter(self, client: str, progress: Progress, *, long: bool) -> Place:
        """A place; `leave` gives it back.

        Raises:
            Refusal: none became free in time, or more wait already than may.
        """
        loop = asyncio.get_running_loop()
        place = Place(self, client, progress, long=long)
        had: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not had.done():
                had.set_result(None)

        def wake_there() -> None:
            # nobody waits in a loop that has ended
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(wake)

        place.wake = wake_there
        self._ask(place)
        if place.is_begun:
            return place
        try:
            async with asyncio.timeout(self._wait_s):
                await had
        except (TimeoutError, asyncio.CancelledError) as error:
            if not self._withdrawn(place) and not place.refused:
                # it was given in the same moment
                self.leave(place)
            if isinstance(error, TimeoutError):
                raise busy() from None
            raise
        if place.refused:
            raise busy()
        return place

    def leave(self, place: Place) -> None:
        """Gives a place back for good."""
        with self._lock:
            self._release(place)
            self._left(place)
            if place.is_long:
                _count(self._begun, place.client, -1)
            woken = self._granted()
        _wake(woken)

    def give_way(self, place: Place) -> None:
        """A request's place goes to whose turn it is, and it waits for its own. One that was short
        keeps its place where no more long ones may be begun.

        Raises:
            Refusal: the server ends.
        """
        with self._lock:
            if not place.is_long and not self._may_begin_long(place):
                return
            self._release(place)
            if not place.is_long:
                self._left(place)
                place.is_long = True
                self._flow(place).open += 1
                _count(self._begun, place.client, 1)
            again = self._queued_again(place)
            woken = self._granted()
        _wake(woken)
        self._await(place, again)

    def pause(self, place: Place) -> None:
        """A long request needs its place for nothing until it goes on."""
        with self._lock:
            self._release(place)
            woken = self._granted()
        _wake(woken)

    def go_on(self, place: Place) -> None:
        """A request that has paused waits for its turn.

        Raises:
            Refusal: the server ends.
        """
        with self._lock:
            again = self._queued_again(place)
            woken = self._granted()
        _wake(woken)
        self._await(place, again)

    def close(self) -> None:
        """Refuses all that wait, and each that would give way."""
        with self._lock:
            self._is_closed = True
            woken = [place for flow in self._flows.values() for place in flow.waiting]
            for place in woken:
                if place.is_begun:
                    self._flow(place).waiting.remove(place)
                else:
                    self._drop(place)
                place.refused = True
        _wake(woken)

    # --- within the lock ---------------------------------------------------------------------

    def _queued_again(self, place: Place) -> threading.Event:
        again = threading.Event()
        place.wake = again.set
        if self._is_closed:
            place.refused = True
            again.set()
        else:
            self._flow(place).waiting.append(place)
        return again

    def _flow(self, place: Place) -> _Flow:
        key = place.client, place.is_long
        found = self._flows.get(key)
        if found is None:
            found = self._flows[key] = _Flow(self._had_s)
        return found

    def _left(self, place: Place) -> None:
        flow = self._flow(place)
        flow.open -= 1
        if not flow.open:
            del self._flows[place.client, place.is_long]

    def _release(self, place: Place) -> None:
        self._free += 1
        self._free_long += place.is_long
        weight = LONG_WEIGHT if place.is_long else 1
        self._flow(place).had_s += weight * (time.monotonic() - place.since_s)

    def _take(self, place: Place) -> None:
        self._free -= 1
        self._free_long -= place.is_long
        if not place.is_begun:
            place.is_begun = True
            _count(self._waiting, place.client, -1)
            if place.is_long:
                _count(self._begun, place.client, 1)
        place.since_s = time.monotonic()

    def _may_begin_long(self, place: Place) -> bool:
        if self._begun.total() >= self._begun_max:
            return False
        return self._begun[place.client] < BEGUN_PER_CLIENT

    def _granted(self) -> list[Place]:
        """Gives what is free to those whose turn it is."""
        found: list[Place] = []
        while (place := self._next()) is not None:
            self._take(place)
            found.append(place)
        return found

    def _next(self) -> Place | None:
        """The one whose turn it is; where others have had as much, the next turn of its flow comes
        last."""
        if not self._free:
            return None
        first: tuple[_Flow, Place] | None = None
        for flow in self._flows.values():
            place = next(filter(self._may_run, flow.waiting), None)
            if place is not None and (first is None or flow.had_s < first[0].had_s):
                first = flow, place
        if first is None:
            return None
        flow, place = first
        flow.waiting.remove(place)
        self._flows[place.client, place.is_long] = self._flows.pop((place.client, place.is_long))
        self._had_s = max(self._had_s, flow.had_s)
        return place

    def _may_run(self, place: Place) -> bool:
        if not place.is_long:
            return True
        return self._free_long > 0 and (place.is_begun or self._may_begin_long(place))

    # --- with the lock taken here ------------------------------------------------------------

    def _ask(self, place: Place) -> None:
        """Queues a request. Where more wait than may, one of the client with most is refused."""
        with self._lock:
            if self._is_closed:
                raise _ending()
            flow = self._flow(place)
            flow.waiting.append(place)
            flow.open += 1
            _count(self._waiting, place.client, 1)
            woken = self._granted()
            if self._waiting.total() > self._waiting_max:
                pushed = self._one_of_most(place)
                self._drop(pushed)
                pushed.refused = True
                woken.append(pushed)
        _wake(woken)

    def _one_of_most(self, newest: Place) -> Place:
        most = max(self._waiting.values())
        if self._waiting[newest.client] == most:
            return newest
        client = next(one for one, count in self._waiting.items() if count == most)
        waiting = [
            place
            for (owner, _), flow in self._flows.items()
            for place in flow.waiting
            if owner == client and not place.is_begun
        ]
        return waiting[-1]

    def _drop(self, place: Place) -> None:
        self._flow(place).waiting.remove(place)
        self._left(place)
        _count(self._waiting, place.client, -1)

    def _withdrawn(self, place: Place) -> bool:
        """Return whether a request still waited, and does so no more."""
        with self._lock:
            waits = not place.is_begun and not place.refused
            if waits:
                self._drop(place)
            return waits

    def _await(self, place: Place, again: threading.Event) -> None:
        again.wait()
        if place.refused:
            # whoever leaves gives a place back
            with self._lock:
                self._free -= 1
                self._free_long -= place.is_long
                place.since_s = time.monotonic()
            raise _ending()


def _count(counts: Counter[str], client: str, change: int) -> None:
    counts[client] += change
    if not counts[client]:
        del counts[client]


def _wake(places: list[Place]) -> None:
    for place in places:
        place.wake()
