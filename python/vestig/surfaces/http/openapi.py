"""What the document of the API says of each route, from the rows of the operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vestig.parameters import Parameter
from vestig.surfaces import wire
from vestig.surfaces.http.calls import ITEMS_MAX
from vestig.surfaces.http.imports import IMPORT_TYPES
from vestig.surfaces.http.routes import IMPORT_PARAMETERS, Route
from vestig.surfaces.json_schema import arguments_schema, definitions, object_schema

__all__ = ["components", "import_extra", "responses", "route_extra"]

_REFS: Final = "#/components/schemas/"
_PROBLEM: Final = "application/problem+json"
_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Does the write once: the same request with this key gets the same answer.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,128}$"},
}
# what a route may answer beside its success, and why
_STATUSES: Final[dict[int, str]] = {
    400: "A body that is no JSON, or no request of HTTP.",
    401: "No token, or another one.",
    403: "A Host or an Origin of others.",
    404: "No such memory, or no such route.",
    405: "Another method than that of the route.",
    408: "The body did not come in time.",
    409: "The state forbids it, or a request with this key is in progress.",
    413: "A longer body than is allowed.",
    415: "Another media type than that of the route.",
    422: "A wrong argument, or a text that was refused (with `outcome`).",
    429: "Too many requests of this client; see Retry-After.",
    500: "A defect, or a damaged store.",
    502: "The model or the embedder failed.",
    503: "Busy, or locked by another process; see Retry-After.",
    504: "The model or the embedder did not answer in time.",
    507: "The disk is full; nothing was changed.",
}
_SUCCESSES: Final[dict[str, dict[int, str]]] = {
    "commit": {
        200: "The text is known already; what became of it.",
        201: "A new memory.",
        207: "What became of each of `items`.",
    },
}
_SCORES: Final = (
    " Results of recall are ordered by `final`, the final score, and so by `score`, the probability"
    " that this memory is part of the answer; it equals `final` where `confidence` is null."
)


def responses(successes: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """Every answer of a route; each 4xx and 5xx is a problem object."""
    shown: dict[int | str, dict[str, Any]] = {
        status: {
            "description": text,
            "content": {"application/json": {"schema": {"$ref": f"{_REFS}Document"}}},
        }
        for status, text in successes.items()
    }
    for status, text in _STATUSES.items():
        content = {_PROBLEM: {"schema": {"$ref": f"{_REFS}Problem"}}}
        shown[status] = {"description": text, "content": content}
        if status in (429, 503):
            shown[status]["headers"] = {
                "Retry-After": {
                    "description": "Seconds to wait.",
                    "schema": {"type": "integer", "minimum": 1},
                }
            }
    return shown


def route_extra(route: Route) -> dict[str, Any]:
    """Parameters, body and description of an operation's route."""
    schema = arguments_schema(route.arguments, refs=_REFS)
    if route.explains:
        own = object_schema(route.parameters[-1:])["properties"]
        schema["properties"] = {**schema["properties"], **own}
    help_text = route.operation.help + (_SCORES if route.explains else "")
    extra: dict[str, Any] = {"summary": route.operation.help, "description": help_text}
    if route.method == "GET":
        return extra | {"parameters": list(_in_url(route, schema))}
    if route.items:
        several = {
            "type": "object",
            "properties": {
                "items": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": ITEMS_MAX,
                    "items": {},
                    "description": "Objects of arguments. One that is wrong is an entry in"
                    " `errors` and takes no other down.",
                }
            },
            "required": ["items"],
            "additionalProperties": False,
        }
        schema = {"anyOf": [schema, several]}
    extra["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    if route.operation.writes:
        extra["parameters"] = [_KEY]
    return extra


def successes(route: Route) -> Mapping[int, str]:
    """The answers of a route that is no problem."""
    return _SUCCESSES.get(route.name, {200: route.operation.help})


def _in_url(route: Route, schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for row in route.arguments.parameters:
        in_path = f"{{{row.name}}}" in route.path
        yield _url_parameter(row, in_path=in_path)
    if "where" in schema["properties"]:
        yield {
            "name": "where",
            "in": "query",
            "required": False,
            "description": "The filter, as JSON text.",
            "content": {"application/json": {"schema": {"$ref": f"{_REFS}Where"}}},
        }


def _url_parameter(row: Parameter, *, in_path: bool) -> dict[str, Any]:
    """In a URL every value is a text that stands for one; null cannot be said there."""
    schema = object_schema((row,), required=(row.name,))["properties"][row.name]
    described = schema.pop("description")
    return {
        "name": row.name,
        "in": "path" if in_path else "query",
        "required": in_path,
        "description": described,
        "schema": schema,
    }


def import_extra() -> dict[str, Any]:
    """Parameters and body of the route of imports."""
    return {
        "summary": "Read an export, a transcript or memories from lines of JSON.",
        "description": "The file is the body. Sent again, it goes on where it stopped. With"
        " `Accept: text/event-stream` progress comes as events: progress, then done or error.",
        "parameters": [_url_parameter(row, in_path=False) for row in IMPORT_PARAMETERS],
        "requestBody": {
            "required": True,
            "content": {kind: {"schema": {"type": "string"}} for kind in IMPORT_TYPES},
        },
    }


def components() -> dict[str, Any]:
    """The schemas that routes refer to."""
    problem = {
        "type": "object",
        "properties": {
            "type": {
                "type": "string",
                "enum": [f"urn:vestig:problem:{code}" for code in wire.STATUS],
            },
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "instance": {"type": "string", "description": "The id of the request."},
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "loc": {"type": "array", "items": {"type": "string"}},
                        "msg": {"type": "string"},
                        "allowed": {"type": "string"},
                    },
                },
            },
            "outcome": {"type": "object", "description": "What became of a text that was refused."},
        },
        "required": ["type", "title", "status", "detail", "instance", "errors"],
    }
    document = {
        "type": "object",
        "properties": {"schema": {"type": "string", "pattern": "^vestig/[a-z]+/1$"}},
        "required": ["schema"],
    }
    return {"Problem": problem, "Document": document, **definitions(refs=_REFS)}
