"""`server.json`, from which registries of MCP servers take what a client starts."""

from __future__ import annotations

import copy
import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tables import each
from vestig.surfaces.cli import run
from vestig.surfaces.operation import operation

ROOT = Path(__file__).parent.parent.parent
SERVER = json.loads((ROOT / "server.json").read_text("utf-8"))

_TEXT = {"type": "string", "minLength": 1}
_VERSION = {"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.-]+)?$"}
_INPUT: dict[str, Any] = {
    "description": _TEXT,
    "value": _TEXT,
    "default": _TEXT,
    "format": {"enum": ["string", "number", "boolean", "filepath"]},
    "isRequired": {"type": "boolean"},
    "isSecret": {"type": "boolean"},
}


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }


_ARGUMENT = {
    "oneOf": [
        _closed(["type", "value"], type={"const": "positional"}, **_INPUT),
        _closed(
            ["type", "name"],
            type={"const": "named"},
            name={"type": "string", "pattern": "^--[a-z-]+$"},
            **_INPUT,
        ),
    ]
}
# The part of the registry's format that this file uses, with the rules of the official registry:
# a name of a reverse domain, a short description, exact versions, known fields alone.
FORMAT = _closed(
    ["$schema", "name", "description", "version", "packages"],
    **{
        "$schema": {
            "type": "string",
            "pattern": r"^https://static\.modelcontextprotocol\.io/schemas/"
            r"[0-9]{4}-[0-9]{2}-[0-9]{2}/server\.schema\.json$",
        },
        "name": {
            "type": "string",
            "minLength": 3,
            "maxLength": 200,
            "pattern": r"^[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+/[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?$",
        },
        "title": {**_TEXT, "maxLength": 100},
        "description": {**_TEXT, "maxLength": 100},
        "version": _VERSION,
        "packages": {
            "type": "array",
            "minItems": 1,
            "items": _closed(
                ["registryType", "identifier", "version", "transport"],
                registryType={"const": "pypi"},
                identifier=_TEXT,
                version=_VERSION,
                runtimeHint={"enum": ["uvx"]},
                runtimeArguments={"type": "array", "items": _ARGUMENT},
                packageArguments={"type": "array", "items": _ARGUMENT},
                environmentVariables={
                    "type": "array",
                    "items": _closed(
                        ["name"], name={"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"}, **_INPUT
                    ),
                },
                transport=_closed(["type"], type={"const": "stdio"}),
            ),
        },
    },
)


def test_it_has_the_form_that_registries_take() -> None:
    jsonschema.Draft202012Validator.check_schema(FORMAT)
    jsonschema.validate(SERVER, FORMAT)


@each(
    ("place", "value"),
    [
        (("name",), "vestig"),
        (("name",), "io.github.x/y/z"),
        (("description",), "x" * 101),
        (("version",), "latest"),
        (("version",), "^0.1.0"),
        (("repository",), {}),
        (("packages", 0, "transport"), {"type": "socket"}),
        (("packages", 0, "version"), ">=0.1"),
        (("packages", 0, "packageArguments", 0), {"type": "positional"}),
        (("packages", 0, "package_arguments"), []),
    ],
)
def test_the_form_refuses_what_registries_refuse(place: tuple[Any, ...], value: object) -> None:
    changed = copy.deepcopy(SERVER)
    target = changed
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed, FORMAT)


def test_its_versions_are_that_of_the_package() -> None:
    (package,) = SERVER["packages"]
    own = version("vestig")
    assert SERVER["version"] == package["version"] == own
    (runtime,) = package["runtimeArguments"]
    assert runtime["value"] == f"{package['identifier']}[mcp]=={own}"


def test_the_readme_names_it_for_the_registry_to_find() -> None:
    """An index shows the file; the registry looks there for whose server it is."""
    readme = (ROOT / "README.md").read_text("utf-8")
    assert re.findall(r"mcp-name: ([\w./-]+)", readme) == [SERVER["name"]]


def test_what_it_starts_is_a_command_with_these_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (package,) = SERVER["packages"]
    command, *options = package["packageArguments"]
    served = operation(command["value"])
    flags = {flag for option in served.options for flag in [option.flag]}
    assert {option["name"] for option in options} <= flags
    assert run([command["value"], "--help"]) == 0
    assert all(option["name"] in capsys.readouterr().out for option in options)


def test_its_variables_are_read() -> None:
    (package,) = SERVER["packages"]
    config = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    for variable in package["environmentVariables"]:
        assert f"`{variable['name']}`" in config
