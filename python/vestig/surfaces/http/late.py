"""Answers that come later than the time limit of a request: the client is told that it goes on, and
asks for the answer at a path of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, Literal

import msgspec
from fastapi import Response
from fastapi.responses import StreamingResponse

from vestig.ids import new_id
from vestig.surfaces import wire
from vestig.surfaces.http.access import Refusal
from vestig.surfaces.http.places import Progress
from vestig.surfaces.http.routes import PREFIX
from vestig.surfaces.operation import Right

LATE_PATH: Final = f"{PREFIX}/request/{{id}}"
# Answers that wait to be asked for, and for how long.
_KEPT_MAX: Final = 64
_KEPT_S: Final = 600.0


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A request that goes on: `location` is the path of its answer, `done` of `total` how far it
    has come; None: nobody knows."""

    request: str
    route: str
    state: Literal["running"] = "running"
    location: str
    done: int | None
    total: int | None
    detail: str


class LateAnswer:
    """A request that is under way, or has ended.

    Args:
        client: who may ask for the answer.
        name: of the route.
        right: that the request needed.
        work: makes the answer; it goes on whether or not somebody waits.
    """

    def __init__(
        self,
        client: str,
        name: str,
        right: Right,
        progress: Progress,
        work: Coroutine[Any, Any, Response],
    ) -> None:
        self.id = new_id("req")
        self.client, self.name, self.right = client, name, right
        self.progress = progress
        self.task = asyncio.create_task(work)


class LateAnswers:
    """The requests of a server whose answers are late; used by one event loop.

    Args:
        limit_s: how long a client waits at most until it is told that its request goes on.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        # by id; those that have ended in the order in which they did, behind all others
        self._all: dict[str, LateAnswer] = {}
        self._under_way: set[asyncio.Task[Response]] = set()

    async def first(self, late: LateAnswer) -> Response:
        """The answer of a request where it comes in time, else that it goes on."""
        # a task that nobody refers to may be collected before its end
        self._under_way.add(late.task)
        late.task.add_done_callback(self._under_way.discard)
        await asyncio.wait({late.task}, timeout=self._limit_s)
        if late.task.done():
            return late.task.result()
        self._all[late.id] = late
        late.task.add_done_callback(lambda _: self._ended(late))
        return self._goes_on(late)

    def found(self, id: str, client: str) -> LateAnswer:
        """The request of this id.

        Raises:
            Refusal: this client has none.
        """
        late = self._all.get(id)
        if late is None or late.client != client:
            raise Refusal(
                "not-found",
                "no such request, or its answer was kept for ten minutes, or the server has begun"
                " anew since: ask the same again, which goes on from what is done",
            )
        return late

    async def next(self, late: LateAnswer) -> Response:
        """The answer of a request that was late, as soon as it comes, else that it goes on."""
        await asyncio.wait({late.task}, timeout=self._limit_s)
        if not late.task.done():
            return self._goes_on(late)
        response = late.task.result()
        if isinstance(response, StreamingResponse):
            # it can be read once
            self._all.pop(late.id, None)
        return response

    def _ended(self, late: LateAnswer) -> None:
        if self._all.pop(late.id, None) is None or late.task.cancelled():
            return
        self._all[late.id] = late
        ended = [one.id for one in self._all.values() if one.task.done()]
        for id in ended[: len(ended) - _KEPT_MAX]:
            del self._all[id]
        asyncio.get_running_loop().call_later(_KEPT_S, self._all.pop, late.id, None)

    def _goes_on(self, late: LateAnswer) -> Response:
        path = LATE_PATH.format(id=late.id)
        shown = Running(
            request=late.id,
            route=late.name,
            location=path,
            done=late.progress.done,
            total=late.progress.total,
            detail=f"it goes on, and what it has written stays: GET {path} has its answer",
        )
        headers = {"Location": path, "Retry-After": "1"}
        document = wire.encode(wire.document("running", shown))
        return Response(document, 202, headers, media_type="application/json")
