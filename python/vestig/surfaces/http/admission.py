"""How many requests run at once: a pool with a short queue, and a limit per client."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from vestig.surfaces.http.refusals import Refusal, busy

_CLIENTS_MAX: Final = 10_000


class Admission:
    """Places for `running_max` requests; `waiting_max` more wait for one, `wait_s` at most. Used
    by one event loop."""

    def __init__(self, running_max: int, waiting_max: int, wait_s: float) -> None:
        self._free = running_max
        self._waiting_max = waiting_max
        self._wait_s = wait_s
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def is_full(self) -> bool:
        """Return whether a request that comes is refused at once."""
        return self._free == 0 and len(self._queue) >= self._waiting_max

    async def enter(self) -> None:
        """Takes a place; `leave` gives it back.

        Raises:
            Refusal: none became free in time.
        """
        if self._free:
            self._free -= 1
            return
        if self.is_full:
            raise busy()
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            async with asyncio.timeout(self._wait_s):
                await place
        except (TimeoutError, asyncio.CancelledError) as error:
            if place.done() and not place.cancelled():
                # the place was handed over in the same moment
                self.leave()
            elif place in self._queue:
                # `leave` takes out what was given up
                self._queue.remove(place)
            if isinstance(error, TimeoutError):
                raise busy() from None
            raise

    def leave(self) -> None:
        """Gives a place back: to the one that waits longest."""
        while self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._free += 1


class RateLimiter:
    """At most `requests` per client in each window of `window_s`, counted from the window's first
    request."""

    def __init__(self, requests: int, window_s: float) -> None:
        self._requests = requests
        self._window_s = window_s
        self._windows: dict[str, tuple[float, int]] = {}

    def check(self, client: str, now_s: float) -> None:
        """Counts one request.

        Raises:
            Refusal: the client has had its share; says when the window ends.
        """
        began, count = self._windows.get(client, (now_s, 0))
        if now_s - began >= self._window_s:
            began, count = now_s, 0
        if count >= self._requests:
            wait = max(1, round(began + self._window_s - now_s + 0.5))
            raise Refusal(
                "rate-limited",
                f"expected at most {self._requests} requests in {self._window_s:g} seconds",
                headers={"Retry-After": str(wait)},
            )
        if len(self._windows) >= _CLIENTS_MAX:
            self._drop_ended(now_s)
        self._windows[client] = (began, count + 1)

    def _drop_ended(self, now_s: float) -> None:
        ended = [name for name, (at, _) in self._windows.items() if now_s - at >= self._window_s]
        for name in ended or list(self._windows)[: _CLIENTS_MAX // 2]:
            del self._windows[name]
