"""Answers in the document of the API: the schema of each, the headers that are read and sent, and
the token that is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from vestig.results import ImportReport
from vestig.surfaces.http.calls import Outcomes
from vestig.surfaces.http.health import FleetHealth, Health
from vestig.surfaces.http.imports import EVENTS
from vestig.surfaces.http.late import LATE_PATH, Running
from vestig.surfaces.http.routes import PREFIX, Route
from vestig.surfaces.http.service import LINES
from vestig.surfaces.result_schema import Schemas, result_of
from vestig.types import CommitOutcome

_SCHEMAS: Final = "#/components/schemas/"
_JSON: Final = "application/json"
_TEXT: Final = {"type": "string"}
_EVENTS_SHOWN: Final = (
    "Events: `progress` with `done` and `total`, then `done` with the report, as JSON answers have"
    " it, or `error` with a problem."
)
_VISIBLE: Final = {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"}
_PARAMETERS: Final[Mapping[str, dict[str, Any]]] = {
    "Idempotency-Key": {
        "description": "The write is done once: the same request with this key gets the same"
        " answer.",
        "schema": _VISIBLE,
    },
    "X-Request-Id": {
        "description": "Names the request in its answer and in the log.",
        "schema": _VISIBLE,
    },
    "X-Vestig-Position": {
        "description": "The position of an earlier answer: at least what that one saw is read.",
        "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
    },
    "X-Vestig-Tenant": {
        "description": "The tenant that the token is of; another one is refused.",
        "schema": _TEXT,
    },
}
_HEADERS: Final[Mapping[str, dict[str, Any]]] = {
    "Allow": {"description": "The methods of this path.", "schema": _TEXT},
    "Idempotency-Replayed": {
        "description": "The answer is that of an earlier request with this key.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Location": {"description": "The path of the answer.", "schema": _TEXT},
    "Retry-After": {
        "description": "Seconds to wait.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {"description": "How a token is sent.", "schema": _TEXT},
    "X-Request-Id": {"description": "The id of the request.", "schema": _TEXT},
    "X-Vestig-Position": {
        "description": "How far the tenant has come.",
        "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
    },
}
# headers by the status of the answer, beside X-Request-Id
_SENT: Final[Mapping[int, tuple[str, ...]]] = {
    202: ("Location", "Retry-After"),
    401: ("WWW-Authenticate",),
    403: ("WWW-Authenticate",),
    405: ("Allow",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_BEARER: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "The token of the server, or of a tenant.",
}


def describe_answers(
    document: dict[str, Any], routes: Iterable[Route], *, secured: bool, of_tenants: bool
) -> None:
    """Add to the document what requests carry and what answers hold.

    Args:
        secured: requests carry a token.
        of_tenants: the server has tenants.
    """
    schemas = Schemas(_SCHEMAS)
    paths, parts = document["paths"], document["components"]
    _describe_own(paths, schemas, of_tenants=of_tenants)
    writes = {f"{PREFIX}/import": False, LATE_PATH: False}
    for route in routes:
        writes[route.path] = route.operation.writes
        _describe(paths[route.path][route.method.lower()]["responses"], route, schemas)
    for path, methods in paths.items():
        for shown in methods.values():
            _add_headers(shown, writes.get(path), of_tenants=of_tenants)
            if secured and path == f"{PREFIX}/health":
                shown["security"] = []
    problem = parts["schemas"]["Problem"]["properties"]
    problem["outcome"] = schemas.of(CommitOutcome)
    problem["health"] = schemas.document("health", Health)
    parts["schemas"] |= schemas.definitions
    parts["parameters"] = {
        name: {"name": name, "in": "header", "required": False, **one}
        for name, one in _PARAMETERS.items()
    }
    parts["headers"] = dict(_HEADERS)
    if secured:
        parts["securitySchemes"] = {"bearer": _BEARER}
        document["security"] = [{"bearer": []}]


def _describe(responses: dict[str, Any], route: Route, schemas: Schemas) -> None:
    """Add the schemas of what a route answers where it does what is asked."""
    if route.name == "export":
        return
    name = route.operation.document
    more = {"warnings": tuple[str, ...]} if name == "count" else {}
    shown = schemas.document(name, result_of(route.arguments), more)
    for status in ("200", "201"):
        if status in responses:
            responses[status]["content"] = {_JSON: {"schema": shown}}
    if "207" in responses:
        several = schemas.document("outcomes", Outcomes)
        responses["207"]["content"] = {_JSON: {"schema": several}}


def _describe_own(paths: dict[str, Any], schemas: Schemas, *, of_tenants: bool) -> None:
    """Add the schemas of the answers of routes that are no operations, and of late ones."""
    running = {_JSON: {"schema": schemas.document("running", Running)}}
    for methods in paths.values():
        for shown in methods.values():
            if "202" in shown["responses"]:
                shown["responses"]["202"]["content"] = running
    kind, name = (FleetHealth, "fleet_health") if of_tenants else (Health, "health")
    health = paths[f"{PREFIX}/health"]["get"]["responses"]
    health["200"]["content"] = {_JSON: {"schema": schemas.document(name, kind)}}
    metrics = paths[f"{PREFIX}/metrics"]["get"]["responses"]
    metrics["200"]["content"] = {"text/plain": {"schema": _TEXT}}
    taken = paths[f"{PREFIX}/import"]["post"]["responses"]
    taken["200"]["content"] = {
        _JSON: {"schema": schemas.document("import", ImportReport)},
        EVENTS: {"schema": {**_TEXT, "description": _EVENTS_SHOWN}},
    }
    late = paths[LATE_PATH]["get"]["responses"]
    late["200"]["content"] |= {LINES: {"schema": _TEXT}}


def _add_headers(shown: dict[str, Any], writes: bool | None, *, of_tenants: bool) -> None:
    """Add the headers that a route reads and sends.

    Args:
        writes: None: it runs no operation.
    """
    read = list(_read_headers(writes, of_tenants=of_tenants))
    shown["parameters"] = [
        *shown.get("parameters", ()),
        *({"$ref": f"#/components/parameters/{name}"} for name in read),
    ]
    for status, answer in shown["responses"].items():
        sent = ["X-Request-Id", *_SENT.get(int(status), ())]
        if int(status) in (200, 201, 207) and writes is not None:
            sent += ["Idempotency-Replayed"] if writes else []
            sent += ["X-Vestig-Position"] if of_tenants else []
        answer["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in sent}


def _read_headers(writes: bool | None, *, of_tenants: bool) -> Iterator[str]:
    yield "X-Request-Id"
    if writes:
        yield "Idempotency-Key"
    if of_tenants:
        yield "X-Vestig-Tenant"
    if of_tenants and writes is not None:
        yield "X-Vestig-Position"
