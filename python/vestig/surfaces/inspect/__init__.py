"""The application of the inspector: a page of static files, and the routes that it reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

import msgspec
from fastapi import Request, Response

from vestig.config.service_sections import ServeSettings
from vestig.surfaces import wire
from vestig.surfaces.http.access import Access
from vestig.surfaces.http.app import app_of
from vestig.surfaces.http.gate import OPEN_PATHS, Application, Gate, Message, Receive, Scope, Send
from vestig.surfaces.http.routes import PREFIX, routes
from vestig.surfaces.http.service import Service

# The only address that is listened on.
HOST: Final = "127.0.0.1"
# Operations that the page asks for; none of them writes.
OFFERED: Final = frozenset(
    (
        "memory recall",
        "memory show",
        "memory events",
        "memory list",
        "memory history",
        "keys",
        "graph neighbourhood",
        "doctor",
    )
)
# path → (file of the page, media type)
_FILES: Final = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
# Nothing from elsewhere, nothing inline, and no text that becomes markup.
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


def settings_of(configured: ServeSettings, port: int) -> ServeSettings:
    """The settings of the inspector: those of `serve`, on the loopback, for its own page alone, and
    with no log of requests, which would be written into the store."""
    return msgspec.structs.replace(
        configured, host=HOST, port=port, allowed_hosts=(), cors_origins=(), audit=False
    )


def application(service: Service, access: Access) -> Application:
    """Return what the inspector's server runs. The files of the page are given to everybody who
    reaches it; what they ask for needs the token where there is one."""
    chosen = [route for route in routes() if route.operation.name in OFFERED]
    app = app_of(service, chosen, openapi_url=None)
    for path, (name, media_type) in _FILES.items():
        app.add_api_route(path, _file(name, media_type), methods=["GET"])
    app.add_api_route(f"{PREFIX}/overview", _overview(service), methods=["GET"])
    return _guarded(Gate(app, access, service.places, (*OPEN_PATHS, *_FILES)))


def _file(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    body = files(__package__).joinpath("page", name).read_bytes()

    async def answer(_: Request) -> Response:
        return Response(body, media_type=media_type)

    return answer


def _overview(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            found = await service.look(lambda: overview(service))
        except Exception as error:  # whatever happens, the client is answered
            return service.problem(error, request.scope["state"]["request_id"])
        return Response(wire.encode(found), media_type="application/json")

    return answer


def overview(service: Service) -> dict[str, Any]:
    """Return what the page shows of the store itself: names, counts, jobs and health."""
    config = service.stores.config
    with service.stores.lease(None) as store:
        return wire.document(
            "overview",
            {
                "version": version("vestig"),
                "namespace": service.stores.namespace,
                "profile": config.profile,
                "profiles": config.profile_names,
                "health": service.state()[1],
                "stats": store.admin.stats().to_dict(),
            },
        )


def _guarded(app: Application) -> Application:
    """An application whose every answer has the headers that keep a browser to this page."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [(k, v) for k, v in message.get("headers", ()) if k not in dict(_HEADERS)]
                message = {**message, "headers": [*kept, *_HEADERS]}
            await send(message)

        await app(scope, receive, tell)

    return call
