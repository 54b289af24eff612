"""The outermost layer: every request gets an id, is checked for where it comes from, and is
answered, whatever happens behind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any, Final

from vestig.ids import new_id
from vestig.other_words import AT_COMMAND_LINE, IN_REQUESTS
from vestig.surfaces.http.access import (
    Access,
    ClientGone,
    busy,
    client_in,
    header,
    request_id_of,
    send_problem,
    values,
)
from vestig.surfaces.http.places import Places
from vestig.surfaces.http.words import IMPORT_PATH, in_query, in_requests

# an application as servers call it
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
# Paths that answer without a token and without a place.
OPEN_PATHS: Final = ("/health", "/api/memory/health")
METRICS_PATHS: Final = ("/metrics", "/api/memory/metrics")

# Headers that pages of other origins may read.
_SHOWN: Final = (
    b"Allow, Idempotency-Replayed, Location, Retry-After, WWW-Authenticate, X-Request-Id,"
    b" X-Vestig-Position"
)


class Gate:
    """Checks Host, Origin and token in front of an application, and refuses what finds no place
    before anything of it is read."""

    def __init__(
        self,
        app: Application,
        access: Access,
        places: Places,
        open_paths: Collection[str] = OPEN_PATHS,
    ) -> None:
        self._app = app
        self._access = access
        self._places = places
        self._open_paths = open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = request_id_of(scope["headers"]) or new_id("req")
        scope.setdefault("state", {})["request_id"] = request_id
        added = [(b"x-request-id", request_id.encode()), *self._cors(scope)]
        started = False
        # the names of a query are read otherwise than those of a body
        has_body = scope["method"] == "POST" and scope["path"] != IMPORT_PATH
        spoken = IN_REQUESTS.set(in_requests if has_body else in_query)
        # who started the server at a command line does not read the answers
        typed = AT_COMMAND_LINE.set(False)

        async def tell(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        try:
            self._access.check_place(scope["headers"])
            if self._is_preflight(scope):
                await self._answer_preflight(tell)
                return
            if scope["path"] not in self._open_paths:
                self._access.check_choice(scope["headers"])
                scope["state"]["grant"] = await self._access.grant(scope["headers"])
                looks = scope["path"] in METRICS_PATHS
                if not looks and not self._places.has_room(client_in(scope)):
                    raise busy()
            # the connection leaves the body of its answer out
            read = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
            await self._app(read, receive, tell)
        except ClientGone:
            return
        except Exception as error:  # whatever happens, the client is answered
            if started:
                raise
            await send_problem(tell, error, request_id)
        finally:
            IN_REQUESTS.reset(spoken)
            AT_COMMAND_LINE.reset(typed)

    def _cors(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        if not self._access.cors_origins:
            return []
        origins = values(scope["headers"], b"origin")
        vary = [(b"vary", b"Origin")]
        if len(origins) != 1 or origins[0] not in self._access.cors_origins:
            return vary
        return [
            *vary,
            (b"access-control-allow-origin", origins[0].encode("latin-1")),
            (b"access-control-expose-headers", _SHOWN),
        ]

    def _is_preflight(self, scope: Scope) -> bool:
        headers = scope["headers"]
        return (
            scope["method"] == "OPTIONS"
            and header(headers, b"access-control-request-method") is not None
            and header(headers, b"origin") in self._access.cors_origins
        )

    async def _answer_preflight(self, send: Send) -> None:
        allowed = (
            b"Authorization, Content-Type, Idempotency-Key, X-Request-Id, X-Vestig-Position,"
            b" X-Vestig-Tenant"
        )
        headers = [
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", allowed),
            (b"access-control-max-age", b"600"),
        ]
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
