"""The application: routes made from the table of operations, behind the gate."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.telemetry import TelemetryConfig

from vestig.surfaces import wire
from vestig.surfaces.http import openapi
from vestig.surfaces.http.access import Access, Refusal
from vestig.surfaces.http.described_answers import describe_answers
from vestig.surfaces.http.gate import Application, Gate
from vestig.surfaces.http.imports import Imports
from vestig.surfaces.http.late import LATE_PATH
from vestig.surfaces.http.routes import PREFIX, Route, routes
from vestig.surfaces.http.service import Service, problem_response
from vestig.surfaces.http.wrong_paths import missing_route, other_method

_TELEMETRY: Final[TelemetryConfig] = {"tracing": False, "metrics": False, "logs": False}
_CODES: Final = {404: "not-found", 405: "validation"}


def application(service: Service, access: Access) -> Application:
    """Return what a server runs."""
    return Gate(make_app(service, access), access, service.places)


def app_of(service: Service, chosen: Iterable[Route], *, openapi_url: str | None) -> FastAPI:
    """These routes, and refusals of all others. `openapi_url`: where they are described, or
    None."""
    app = FastAPI(
        title="Vestig",
        version=version("vestig"),
        telemetry=_TELEMETRY,
        openapi_url=openapi_url,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    stores = service.stores
    facts = openapi.facts_of(stores.config.settings, stores.dimensions)
    for route in chosen:
        _add(
            app,
            route.path,
            route.method,
            _endpoint(service, route),
            extra=openapi.route_extra(route, facts),
            successes=openapi.successes(route),
        )
    for status in _CODES:
        app.add_exception_handler(status, _refused)
    return app


def make_app(service: Service, access: Access) -> FastAPI:
    """The routes and their document, without the checks in front."""
    chosen = tuple(routes(traced=service.settings.debug_endpoint))
    app = app_of(service, chosen, openapi_url="/openapi.json")
    imports = Imports(service)
    _add(
        app,
        f"{PREFIX}/import",
        "POST",
        imports.answer,
        extra=openapi.import_extra(),
        successes={200: "What was taken in: exact counts.", **openapi.RUNNING},
    )
    _add(
        app,
        LATE_PATH,
        "GET",
        service.late,
        extra=openapi.late_extra(),
        successes={
            200: "The answer of the request, with the status that it would have had.",
            201: "The same.",
            207: "The same.",
            **openapi.RUNNING,
        },
    )
    _add_looks(app, service)
    for path in ("/", "/docs"):
        app.add_api_route(path, _index, methods=["GET"], include_in_schema=False)
    app.openapi = lambda: _document(app, chosen, access)  # type: ignore[method-assign]
    return app


def _add(
    app: FastAPI,
    path: str,
    method: str,
    endpoint: Callable[[Request], Awaitable[Response]],
    *,
    extra: dict[str, Any],
    successes: Any,
) -> None:
    app.add_api_route(
        path,
        endpoint,
        methods=[method],
        operation_id=path.removeprefix(f"{PREFIX}/").partition("/{")[0].replace("/", "-"),
        responses=openapi.responses(successes, lines=path.endswith("/export")),
        status_code=min(successes),
        response_class=Response,
        openapi_extra=extra,
    )


def _endpoint(service: Service, route: Route) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        if route.name == "export":
            return await service.export(route, request)
        return await service.answer(route, request)

    return answer


def _add_looks(app: FastAPI, service: Service) -> None:
    """Health and metrics: they need no place."""
    healthy = {200: "Healthy, or degraded and in which part."}
    _add(app, f"{PREFIX}/health", "GET", service.health, extra={}, successes=healthy)
    app.add_api_route("/health", service.health, methods=["GET"], include_in_schema=False)
    app.add_api_route("/metrics", service.metrics, methods=["GET"], include_in_schema=False)
    _add(
        app,
        f"{PREFIX}/metrics",
        "GET",
        service.metrics,
        extra={},
        successes={200: "The counters as text for Prometheus."},
    )


async def _index(_: Request) -> Response:
    """Where the routes are described."""
    shown = wire.document("index", {"version": version("vestig"), "openapi": "/openapi.json"})
    return Response(wire.encode(shown), media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    """No such route, or another method."""
    status: int = getattr(error, "status_code", 404)
    allowed: dict[str, str] = dict(getattr(error, "headers", None) or {})
    if allowed.get("Allow") == "GET":
        allowed["Allow"] = "GET, HEAD"
    method, path = request.scope["method"], request.url.path
    if status == 404:
        described = request.app.openapi_url is not None
        detail = missing_route(method, path) if described else "no such route"
    else:
        detail = other_method(method, path, allowed.get("Allow", ""))
    refusal = Refusal(_CODES[status], detail, status=status, headers=allowed)
    return problem_response(refusal, request.scope["state"]["request_id"])


def _document(app: FastAPI, chosen: Iterable[Route], access: Access) -> dict[str, Any]:
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, routes=app.routes)
        made.setdefault("components", {}).setdefault("schemas", {}).update(openapi.components())
        for name in ("HTTPValidationError", "ValidationError"):
            made["components"]["schemas"].pop(name, None)
        describe_answers(made, chosen, secured=access.needs_token, of_tenants=access.of_tenants)
        app.openapi_schema = made
    return app.openapi_schema
