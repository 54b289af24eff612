"""The connections of a server: how many there are, from whom, and how long each may take to ask.

A server stays reachable while others hold connections open: where there is no room for a new one,
the one that has kept the server waiting longest makes room.
"""

from __future__ import annotations

import resource
from typing import Final, Protocol

import msgspec

from vestig.config.service_sections import ServeSettings

# Descriptors that are left for the store, for logs, and for what one turn of the loop accepts.
_DESCRIPTORS_LEFT: Final = 96
_CONNECTIONS_LEAST: Final = 8
_HEAD_S: Final = 10.0
# Connections at once, also where more descriptors are free: each costs a little memory, and a store
# answers far fewer at a time. One address takes a quarter of them at most.
CONNECTIONS_MAX: Final = 512
CONNECTIONS_PER_CLIENT_MAX: Final = 128


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How many connections there may be, and how long a client may take.

    Attributes:
        connections: at once.
        per_client: of one address.
        head_s: seconds from a connection, or from an answer, to the end of the next head.
        body_s: seconds for a body, beside those that it may take for its size; also those in which
            a client has to take more of an answer.
    """

    connections: int
    per_client: int
    head_s: float
    body_s: float

    @classmethod
    def of(cls, settings: ServeSettings) -> Limits:
        """Those of the configuration, within the descriptors that the process may open."""
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        room = CONNECTIONS_MAX
        if descriptors != resource.RLIM_INFINITY:
            room = min(room, max(_CONNECTIONS_LEAST, descriptors - _DESCRIPTORS_LEFT))
        return cls(
            connections=room,
            per_client=min(room, CONNECTIONS_PER_CLIENT_MAX),
            head_s=min(_HEAD_S, settings.request_timeout_s),
            body_s=settings.request_timeout_s,
        )


class Connection(Protocol):
    """A connection as those see it that share the server with it."""

    address: str

    def drop(self) -> None:
        """Ends it at once, without an answer."""


class Connections:
    """All connections of one server; used by one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._count: dict[str, int] = {}
        self._all = 0
        # those whose client has to send more, the longest first
        self._waiting: dict[Connection, None] = {}

    def enter(self, new: Connection) -> bool:
        """Counts a connection that waits for its first request; false: there is no room for it,
        for every other one is being answered."""
        own = self._count.get(new.address, 0)
        if own >= self.limits.per_client and not self._make_room(new.address):
            return False
        if self._all >= self.limits.connections and not self._make_room(None):
            return False
        self._all += 1
        self._count[new.address] = self._count.get(new.address, 0) + 1
        self._waiting[new] = None
        return True

    def leave(self, gone: Connection) -> None:
        """Takes a counted connection out."""
        self._waiting.pop(gone, None)
        self._all -= 1
        self._count[gone.address] -= 1
        if not self._count[gone.address]:
            del self._count[gone.address]

    def waits(self, one: Connection) -> None:
        """Its client has to send more, from now on."""
        self._waiting.pop(one, None)
        self._waiting[one] = None

    def works(self, one: Connection) -> None:
        """Its request has come whole."""
        self._waiting.pop(one, None)

    def make_room(self, count: int) -> None:
        """Ends so many of those that have kept the server waiting longest."""
        for _ in range(count):
            if not self._make_room(None):
                return

    def _make_room(self, address: str | None) -> bool:
        for one in self._waiting:
            if address is None or one.address == address:
                one.drop()
                return True
        return False
