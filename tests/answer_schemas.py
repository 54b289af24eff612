"""Checks that what routes answer is what the document of the API says of it."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from vestig.surfaces.http.routes import routes
from vestig.surfaces.result_schema import ResultSchemas, result_of


def check_answer(method: str, path: str, status: int, body: bytes) -> None:
    """Fails where a document that a route answers with success has other fields than its schema."""
    if status not in (200, 201):
        return
    for pattern, validator in _validators().get(method, ()):
        if pattern.fullmatch(path.partition("?")[0]):
            document = json.loads(body)
            error = next(validator.iter_errors(document), None)
            assert error is None, f"{path}: {error.json_path}: {error.message[:500]}"


@cache
def _validators() -> dict[str, list[tuple[re.Pattern[str], Any]]]:
    schemas = ResultSchemas("#/$defs/")
    made: dict[str, list[tuple[re.Pattern[str], dict[str, Any]]]] = {}
    for route in routes(traced=True):
        if route.name == "export":
            continue
        pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", route.path))
        method = "show" if route.operation.shown else route.arguments.method
        schema = schemas.of_document(route.operation.document, result_of(method))
        made.setdefault(route.method, []).append((pattern, schema))
    defined = {name: _closed(one) for name, one in schemas.definitions.items()}
    return {
        method: [
            (pattern, Draft202012Validator({**schema, "$defs": defined}))
            for pattern, schema in found
        ]
        for method, found in made.items()
    }


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that has no other fields but the document's own, where all of its
    type are shown."""
    if "required" not in schema:
        return schema
    properties = {**schema["properties"], "schema": {}}
    return {**schema, "properties": properties, "additionalProperties": False}
