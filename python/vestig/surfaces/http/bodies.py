"""Bodies of requests, read before a request takes a place: as they come, in bounded memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Final

from vestig.surfaces.http.access import Headers, header
from vestig.surfaces.http.refusals import ClientGone, Refusal, busy

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_HELD_BYTES_MAX: Final = 64 * 1024 * 1024


class Bodies:
    """The bodies that are being read by one event loop. Where they would hold more than `held_max`
    bytes together, the one that has been coming longest is given up: slow clients make room for
    those that are quick."""

    def __init__(self, held_max: int = _HELD_BYTES_MAX) -> None:
        self._held_max = held_max
        self._held = 0
        # in the order in which they began
        self._reading: dict[asyncio.Timeout, None] = {}

    async def read(self, receive: Receive, bytes_max: int, *, cut: bool = False) -> bytes:
        """A whole body.

        Args:
            receive: gives its pieces.
            bytes_max: of the body.
            cut: of a longer one, its first `bytes_max` + 1 bytes are the answer.

        Raises:
            Refusal: 413, longer than `bytes_max`; 503, given up for others.
            ClientGone: the client went away.
        """
        parts = bytearray()
        try:
            async with asyncio.timeout(None) as own:
                self._reading[own] = None
                try:
                    async for part in pieces(receive):
                        taken = part[: max(0, bytes_max + 1 - len(parts))]
                        parts += taken
                        self._held += len(taken)
                        if len(parts) > bytes_max and not cut:
                            raise too_large(bytes_max)
                        self._make_room()
                finally:
                    del self._reading[own]
                    self._held -= len(parts)
        except TimeoutError:
            raise busy() from None
        return bytes(parts)

    def _make_room(self) -> None:
        if self._held <= self._held_max:
            return
        longest = next(one for one in self._reading if one.when() is None)
        longest.reschedule(asyncio.get_running_loop().time())


async def pieces(receive: Receive) -> AsyncIterator[bytes]:
    """The body of a request as it comes.

    Raises:
        ClientGone: the client went away.
    """
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


def check_length(headers: Headers, bytes_max: int) -> None:
    """Refuses a body whose declared length is too much before a byte of it is read."""
    declared = header(headers, b"content-length") or ""
    if declared.isdecimal() and int(declared) > bytes_max:
        raise too_large(bytes_max)


def too_large(bytes_max: int) -> Refusal:
    """Return what a request with too long a body is told."""
    return Refusal("too-large", f"body: expected at most {bytes_max} bytes")
