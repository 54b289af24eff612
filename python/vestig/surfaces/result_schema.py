"""JSON schemas of results, made of the types that calls return.

An object has the fields of its type, with the names and forms of `to_plain`. A type that chooses
which of them JSON shows (`plain_fields`) requires none, and neither do the objects in it.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import types
import typing
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Final

import msgspec

_PLAIN: Final[Mapping[object, dict[str, Any]]] = {
    Any: {},
    object: {},
    None: {"type": "null"},
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},
    str: {"type": "string"},
    datetime: {"type": "string", "format": "date-time"},
}
_LISTS: Final = (tuple, list, Sequence)
_OBJECTS: Final = (dict, Mapping)


def result_of(method: str) -> object:
    """Return the type that a call of the store returns, as its signature has it.

    Args:
        method: dotted from the store.

    Example:
        >>> result_of("count"), result_of("graph.edges")
        (<class 'int'>, <class 'vestig.graph.results.EdgePage'>)
    """
    group, _, name = method.rpartition(".")
    module = importlib.import_module(f"vestig.api.{group or 'store'}")
    owner = getattr(module, group.title() if group else "Vestig")
    returned = inspect.unwrap(getattr(owner, name)).__annotations__["return"]
    return _read(returned, module)


def _read(annotation: str, module: types.ModuleType) -> object:
    """The type that an annotation of a module stands for; its names may be imported there for
    type checkers alone."""
    tree = ast.parse(annotation)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    origins = {
        name.asname or name.name: node.module or ""
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    known = {**vars(module)}
    for name in names & origins.keys() - known.keys():
        known[name] = getattr(importlib.import_module(origins[name]), name)
    return typing.get_type_hints(types.SimpleNamespace(__annotations__={"it": annotation}), known)[
        "it"
    ]


class ResultSchemas:
    """Makes the schemas of documents; `definitions` has those of the objects in them.

    Args:
        refs: what stands before the name of a definition in a reference.

    Example:
        >>> schemas = ResultSchemas("#/$defs/")
        >>> schemas.of_document("count", int)["properties"]["count"]
        {'type': 'integer'}
    """

    def __init__(self, refs: str) -> None:
        self._refs = refs
        self.definitions: dict[str, dict[str, Any]] = {}

    def of_document(self, name: str, kind: object) -> dict[str, Any]:
        """The schema of a document of `wire.document`."""
        head = {"schema": {"const": f"vestig/{name}/1"}}
        several = [one for one in typing.get_args(kind) if _is_struct(one)]
        if _is_struct(kind) or (several and typing.get_origin(kind) not in (*_LISTS, *_OBJECTS)):
            whole = {"type": "object", "properties": head, "required": ["schema"]}
            return {"allOf": [whole, self._of(kind, whole=True)]}
        return self.of_members(name, {name: kind})

    def of_members(self, name: str, kinds: Mapping[str, object]) -> dict[str, Any]:
        """The schema of a document with these members, by the types of their values."""
        members = {one: self._of(kind, whole=True) for one, kind in kinds.items()}
        head = {"schema": {"const": f"vestig/{name}/1"}}
        return {
            "type": "object",
            "properties": head | members,
            "required": ["schema", *members],
        }

    def _of(self, kind: object, *, whole: bool) -> dict[str, Any]:
        """The schema of a value of a type. `whole`: objects have all fields."""
        plain = _PLAIN.get(kind) if isinstance(kind, typing.Hashable) else None
        if plain is not None:
            return plain
        origin, args = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            chosen = [self._of(one, whole=whole) for one in args if one is not msgspec.UnsetType]
            return chosen[0] if len(chosen) == 1 else {"anyOf": chosen}
        if origin is typing.Literal:
            return {"enum": list(args)}
        if origin in _OBJECTS or kind in _OBJECTS:
            item = self._of(args[1], whole=whole) if args else {}
            return {"type": "object", "additionalProperties": item}
        if origin in _LISTS or kind in _LISTS:
            return {"type": "array"} | self._items(origin, args, whole=whole)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return {"enum": [getattr(one, "word", one.value) for one in kind]}
        if _is_struct(kind):
            return {"$ref": f"{self._refs}{self._defined(kind, whole=whole)}"}
        if len(args) == 1:  # a value that is made when it is looked at
            return self._of(args[0], whole=whole)
        raise TypeError(f"no JSON form for {kind!r}")

    def _items(self, origin: object, args: tuple[object, ...], *, whole: bool) -> dict[str, Any]:
        if origin is tuple and args and args[-1] is not Ellipsis:
            items = [self._of(one, whole=whole) for one in args]
            return {"prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        return {"items": self._of(args[0], whole=whole)} if args else {}

    def _defined(self, kind: type, *, whole: bool) -> str:
        """The name of the definition of a type, which is made if it is not there yet."""
        whole = whole and not hasattr(kind, "plain_fields")
        name = kind.__name__ if whole or hasattr(kind, "plain_fields") else f"PartOf{kind.__name__}"
        if name in self.definitions:
            return name
        schema: dict[str, Any] = {"type": "object"}
        self.definitions[name] = schema
        fields = _fields(kind)
        if getattr(kind, "FIRST_BESIDE", False):
            first = fields.pop(next(iter(fields)))
            fields = _fields(*(typing.get_args(first) or [first])) | fields
        schema["properties"] = {one: self._of(of, whole=whole) for one, of in fields.items()}
        optional = {one for one, of in fields.items() if msgspec.UnsetType in typing.get_args(of)}
        if whole:
            schema["required"] = [one for one in fields if one not in optional]
        return name


def _is_struct(kind: object) -> typing.TypeGuard[type]:
    structs = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return structs or (isinstance(kind, type) and dataclasses.is_dataclass(kind))


def _fields(kind: Any) -> dict[str, Any]:
    """The fields of a type, each with its own."""
    if not issubclass(kind, msgspec.Struct):
        names = [one.name for one in dataclasses.fields(kind)]
    else:
        names = kind.__struct_fields__
    known = typing.get_type_hints(kind)
    return {name: known[name] for name in names}
