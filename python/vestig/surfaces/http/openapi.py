"""Routes in the document of the API, from the rows of the operations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from vestig.calls.argument import NO_FACTS, Argument, Facts, or_null
from vestig.calls.declaration import schema_of
from vestig.calls.filter import Where
from vestig.config.merge import PROFILE_PREFIXES, PROFILES
from vestig.config.schema import Settings, default_values, spec_of
from vestig.config.signals import KINDS
from vestig.config.weights import TERMS
from vestig.language.ontology import UNTYPED
from vestig.session.references import types_of
from vestig.surfaces import wire
from vestig.surfaces.http.calls import ITEMS_MAX
from vestig.surfaces.http.imports import IMPORT_TYPES
from vestig.surfaces.http.routes import IMPORT_PARAMETERS, Route
from vestig.surfaces.http.service import LINES
from vestig.surfaces.json_schema import (
    EXCLUSIVE_TIMES,
    arguments_schema,
    body_schema,
    definitions,
)
from vestig.types import EventType

_REFS: Final = "#/components/schemas/"
_PROBLEM: Final = "application/problem+json"
# what a route may answer beside its success, and why
_STATUSES: Final[dict[int, str]] = {
    400: "A body that is no JSON, or no request of HTTP.",
    401: "No token, or another one.",
    403: "A Host or an Origin of others, or a token without the right.",
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
RUNNING: Final = {202: "It goes on: `Location` says where its answer will be."}
_COMMITTED: Final = {200: "The text is known already; what became of it.", 201: "A new memory."}
_SUCCESSES: Final[dict[str, dict[int, str]]] = {
    "commit": _COMMITTED | {207: "What became of each of `items`."},
    "commit-structured": _COMMITTED,
}
_SCORES: Final = (
    " Results of recall are ordered by `final`, the final score, and so by `score`, the probability"
    " that this memory is part of the answer; it equals `final` where `confidence` is null."
)


def facts_of(settings: Settings, dimension: int) -> Facts:
    """Return what the schemas say of a server: of its settings, and the length of its embedder's
    vectors."""
    return Facts(
        dimension=dimension,
        profiles=tuple(sorted({*PROFILES, *settings.recall.profiles})),
        entity_types=(*types_of(settings.entities).names, UNTYPED),
        keys=_keys(),
    )


def _members(names: Collection[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = {name: or_null(schema) for name in names}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _keys() -> dict[str, Any]:
    """Schemas of the keys of the configuration that one call may set."""
    weight = {"type": "number"}
    # mappings of names that the type does not tell
    named = {
        "usage.event_weights": _members(
            [one.value for one in EventType], {"type": "number", "minimum": 0, "maximum": 1}
        ),
        "ranking.weights": _members(KINDS, _members(TERMS, weight)),
    }
    found: dict[str, Any] = {}
    for key in default_values():
        spec = spec_of(key)
        if spec is None or not key.startswith(PROFILE_PREFIXES) or key == "recall.profiles":
            continue
        plain = named.get(key) or msgspec.json.schema(spec.type)
        found[key] = or_null({name: value for name, value in plain.items() if name != "$defs"})
    return found


def responses(
    successes: Mapping[int, str], *, lines: bool = False
) -> dict[int | str, dict[str, Any]]:
    """Every answer of a route; each 4xx and 5xx is a problem object. `lines`: a success is lines of
    JSON."""
    document = {"application/json": {"schema": {"$ref": f"{_REFS}AnyDocument"}}}
    content = {LINES: {"schema": {"type": "string"}}} if lines else document
    shown: dict[int | str, dict[str, Any]] = {
        status: {"description": text, "content": document if status == 202 else content}
        for status, text in successes.items()
    }
    for status, text in _STATUSES.items():
        content = {_PROBLEM: {"schema": {"$ref": f"{_REFS}Problem"}}}
        shown[status] = {"description": text, "content": content}
    return shown


def route_extra(route: Route, facts: Facts) -> dict[str, Any]:
    """Parameters, body and description of an operation's route."""
    schema = arguments_schema(route.arguments, refs=_REFS, facts=facts)
    if route.operation.ranked:
        own = schema_of(route.parameters)["properties"]
        schema["properties"] |= {n: one for n, one in own.items() if n not in route.arguments.rows}
    schema = body_schema(schema, route.arguments)
    help_text = route.operation.help + (_SCORES if route.operation.ranked else "")
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
    return extra


def successes(route: Route) -> Mapping[int, str]:
    """The answers of a route that is no problem."""
    found = _SUCCESSES.get(route.name, {200: route.operation.help})
    return found | RUNNING if route.is_late else found


def _in_url(route: Route, schema: Mapping[str, Any], facts: Facts) -> Iterator[dict[str, Any]]:
    exclusive = {name for pair in EXCLUSIVE_TIMES for name in pair}
    times = []
    for row in route.arguments.rows.values():
        if isinstance(row, Where):
            continue
        shown = _url_parameter(
            row,
            facts,
            in_path=f"{{{row.name}}}" in route.path,
            required=row.name in route.arguments.required,
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
            "description": "The filter, as JSON text. Its fields may stand one by one instead, as"
            " `where.scope=user/mia&where.tags=infra`.",
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
        "schema": body_schema(schema),
    }


def _url_parameter(
    row: Argument, facts: Facts = NO_FACTS, *, in_path: bool = False, required: bool = False
) -> dict[str, Any]:
    """In a URL every value is a text that stands for one; null cannot be said there."""
    note = f" Default: {row.default_text}." if row.default_text else ""
    return {
        "name": row.name,
        "in": "path" if in_path else "query",
        "required": in_path or required,
        "description": row.help + note,
        "schema": row.schema(facts),
    }


def import_extra() -> dict[str, Any]:
    """Parameters and body of the route of imports."""
    return {
        "summary": "Read an export, a transcript or memories from lines of JSON.",
        "description": "The file is the body. Sent again, it goes on where it stopped. With"
        " `Accept: text/event-stream` progress comes as events: progress, then done or error.",
        "parameters": [_url_parameter(row) for row in IMPORT_PARAMETERS.values()],
        "requestBody": {
            "required": True,
            "content": {kind: {} for kind in IMPORT_TYPES},
        },
    }


def late_extra() -> dict[str, Any]:
    """Parameter and description of the route of late answers."""
    text = "The answer of a request that goes on, as soon as it is there."
    id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    id["description"] = "As `Location` of the answer 202 has it."
    return {"summary": text, "description": text, "parameters": [id]}


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
        },
        "required": ["type", "title", "status", "detail", "instance", "errors"],
    }
    document = {
        "type": "object",
        "properties": {"schema": {"type": "string", "pattern": "^vestig/[a-z_]+/1$"}},
        "required": ["schema"],
        "additionalProperties": True,
    }
    return {"Problem": problem, "AnyDocument": document, **definitions(refs=_REFS)}
