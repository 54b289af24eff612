"""What the document of the API says of each route, from the rows of the operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vestig.parameters import Parameter
from vestig.surfaces import wire
from vestig.surfaces.http.calls import ITEMS_MAX
from vestig.surfaces.http.imports import IMPORT_TYPES
from vestig.surfaces.http.routes import IMPORT_PARAMETERS, Route
from vestig.surfaces.http.service import LINES
from vestig.surfaces.http.strict_schemas import (
    EXCLUSIVE_TIMES,
    Facts,
    filters,
    strict_body,
    strict_value,
    where_name,
)
from vestig.surfaces.json_schema import arguments_schema, definitions, object_schema

__all__ = ["components", "import_extra", "responses", "route_extra"]

_REFS: Final = "#/components/schemas/"
_PROBLEM: Final = "application/problem+json"
# in words: a request with a key that another one has used is refused, which no schema can say
_KEY: Final = (
    " With the header `Idempotency-Key` (1 to 128 visible ASCII characters) the write is done once:"
    " the same request with this key gets the same answer."
)
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


def responses(
    successes: Mapping[int, str], *, lines: bool = False
) -> dict[int | str, dict[str, Any]]:
    """Every answer of a route; each 4xx and 5xx is a problem object. `lines`: a success is lines of
    JSON."""
    document = {"application/json": {"schema": {"$ref": f"{_REFS}Document"}}}
    content = {LINES: {"schema": {"type": "string"}}} if lines else document
    shown: dict[int | str, dict[str, Any]] = {
        status: {"description": text, "content": content} for status, text in successes.items()
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


def _strict(route: Route, facts: Facts) -> dict[str, Any]:
    """The schema of a route's arguments, with the forms that the engine checks."""
    schema = arguments_schema(route.arguments, refs=_REFS)
    properties = dict(schema["properties"])
    for row in route.arguments.parameters:
        value = strict_value(route.operation.name, row, facts)
        if value is None:
            continue
        if row.name not in route.arguments.required:
            value = {"anyOf": [*value.get("anyOf", [value]), {"type": "null"}]}
        properties[row.name] = value | {"description": properties[row.name]["description"]}
    if "where" in properties:
        where = {"$ref": f"{_REFS}{where_name(route.operation.name)}"}
        properties["where"] = {**properties["where"], "anyOf": [where, {"type": "null"}]}
    return strict_body(route.operation.name, {**schema, "properties": properties})


def route_extra(route: Route, facts: Facts) -> dict[str, Any]:
    """Parameters, body and description of an operation's route."""
    schema = _strict(route, facts)
    if route.explains:
        own = object_schema(route.parameters[-1:])["properties"]
        schema["properties"] = {**schema["properties"], **own}
    help_text = route.operation.help + (_SCORES if route.explains else "")
    extra: dict[str, Any] = {"summary": route.operation.help, "description": help_text}
    if route.method == "GET":
        return extra | {"parameters": list(_in_url(route, schema, facts))}
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
        extra["description"] += _KEY
    return extra


def successes(route: Route) -> Mapping[int, str]:
    """The answers of a route that is no problem."""
    return _SUCCESSES.get(route.name, {200: route.operation.help})


def _in_url(route: Route, schema: Mapping[str, Any], facts: Facts) -> Iterator[dict[str, Any]]:
    exclusive = {name for pair in EXCLUSIVE_TIMES for name in pair}
    times = []
    for row in route.arguments.parameters:
        shown = _url_parameter(
            row,
            in_path=f"{{{row.name}}}" in route.path,
            required=row.name in route.arguments.required,
            strict=strict_value(route.operation.name, row, facts),
        )
        if row.name in exclusive:
            times.append(shown)
        else:
            yield shown
    if times:
        yield _times_parameter(times)
    if "where" in schema["properties"]:
        yield {
            "name": "where",
            "in": "query",
            "required": False,
            "description": "The filter, as JSON text.",
            "content": {"application/json": {"schema": {"$ref": f"{_REFS}Where"}}},
        }


def _times_parameter(times: list[dict[str, Any]]) -> dict[str, Any]:
    """Times that exclude each other, as one parameter: each of its members stands in the query by
    its own name."""
    schema = {
        "type": "object",
        "properties": {
            one["name"]: {**one["schema"], "description": one["description"]} for one in times
        },
        "additionalProperties": False,
    }
    return {
        "name": "times",
        "in": "query",
        "required": False,
        "style": "form",
        "explode": True,
        "description": "The times that are looked at.",
        "schema": strict_body("", schema),
    }


def _url_parameter(
    row: Parameter,
    *,
    in_path: bool = False,
    required: bool = False,
    strict: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """In a URL every value is a text that stands for one; null cannot be said there."""
    schema = object_schema((row,), required=(row.name,))["properties"][row.name]
    described = schema.pop("description")
    schema = schema if strict is None else dict(strict)
    return {
        "name": row.name,
        "in": "path" if in_path else "query",
        "required": in_path or required,
        "description": described,
        "schema": schema,
    }


def import_extra() -> dict[str, Any]:
    """Parameters and body of the route of imports."""
    return {
        "summary": "Read an export, a transcript or memories from lines of JSON.",
        "description": "The file is the body. Sent again, it goes on where it stopped. With"
        " `Accept: text/event-stream` progress comes as events: progress, then done or error.",
        "parameters": [_url_parameter(row) for row in IMPORT_PARAMETERS],
        "requestBody": {
            "required": True,
            "content": {kind: {} for kind in IMPORT_TYPES},
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
        "properties": {"schema": {"type": "string", "pattern": "^vestig/[a-z_]+/1$"}},
        "required": ["schema"],
    }
    shared = definitions(refs=_REFS)
    return {
        "Problem": problem,
        "Document": document,
        **filters(shared["Where"]),
        "Absent": shared["Absent"],
    }
