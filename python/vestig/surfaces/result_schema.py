"""JSON schemas of what operations answer, from the declared types of the results.

A type is declared once: by the annotation of the call that returns it, and by its own fields. Only
where a value chooses what its JSON shows (`plain_fields`), the table here says how that differs
from the fields.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import sys
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from functools import cache
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin

import msgspec

from vestig.answers import _Lazy
from vestig.surfaces.operation import Arguments

Schema = dict[str, Any]

# Where the types of results are declared.
_HOMES: Final = (
    "vestig.types",
    "vestig.answers",
    "vestig.results",
    "vestig.anchors.values",
    "vestig.branches.values",
    "vestig.commit.update",
    "vestig.graph.elements",
    "vestig.graph.neighbourhood",
    "vestig.graph.rebuild",
    "vestig.graph.search_result",
    "vestig.memories.states",
    "vestig.retrieve.values",
    "vestig.rules.values",
    "vestig.session.references",
)
_PLAIN: Final[Mapping[Any, str]] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_OPEN: Final = (Any, object)


class _Chosen(NamedTuple):
    """How the JSON of a value differs from its fields. `flat`: its first field is a value whose
    fields stand in the place of it; `left_out`: fields that may be absent, or never stand there;
    `always`: those that are always there, where most are not; `loose`: fields that show a part of
    their value; `more`: further members."""

    flat: bool = False
    left_out: Collection[str] = ()
    always: Collection[str] | None = None
    loose: Collection[str] = ()
    more: Mapping[str, Any] = {}


_CHOSEN: Final[Mapping[str, _Chosen]] = {
    "Anchor": _Chosen(always=("taken_at", "state")),
    "Described": _Chosen(flat=True),
    "DoctorReport": _Chosen(more={"exit_code": int}),
    "MemoryDetail": _Chosen(flat=True, left_out=("mentions", "related")),
    "Neighbourhood": _Chosen(loose=("edges",)),
    "Reason": _Chosen(always=("similarity",)),
    "RecallHit": _Chosen(
        flat=True, always=("id", "content", "score"), more={"tags": list[str]}, loose=("anchors",)
    ),
    "RecallResult": _Chosen(
        left_out=(
            *("why_not", "context", "trace", "formula", "analysis", "associated", "more"),
            *("more_is_exact", "before", "least_confidence", "min_score", "best_score"),
        )
    ),
    "SearchHit": _Chosen(
        always=("node_id", "kind", "score", "source", "graph_depth", "node"),
        loose=("node",),
        more={"final": float, "reason": dict[str, Any]},
    ),
    "SearchResult": _Chosen(left_out=("trace",)),
    "TraceRankBoost": _Chosen(
        left_out=("trace", "basic", "connectivity", "confidence", "unclipped")
    ),
}


@cache
def _names() -> Mapping[str, Any]:
    """The types of results by name."""
    found: dict[str, Any] = {"builtins": builtins}
    for home in _HOMES:
        module = importlib.import_module(home)
        found |= {
            name: one
            for name, one in vars(module).items()
            if inspect.isclass(one) and one.__module__ == home
        }
    return found


def result_of(arguments: Arguments) -> Any:
    """The type that the call of an operation declares to return; `None` is left out where it stands
    for what is not found."""
    from vestig.api import store

    owner: Any = store.Vestig
    *groups, method = arguments.method.split(".")
    for group in groups:
        owner = getattr(store, group.capitalize())
    if arguments.shown:
        method = "show"
    call = getattr(owner, method)
    found = _evaluated(inspect.signature(call).return_annotation, call.__module__)
    return _without(found, type(None)) if arguments.missing else found


def _without(annotation: Any, left_out: Any) -> Any:
    if not _is_union(annotation):
        return annotation
    kept = [one for one in get_args(annotation) if one is not left_out]
    return typing.Union[tuple(kept)]  # noqa: UP007 - of as many as there are


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (typing.Union, types.UnionType)


class Schemas:
    """Schemas of types, and the definitions that they refer to.

    Args:
        refs: how a reference to a definition begins.
    """

    def __init__(self, refs: str) -> None:
        self._refs = refs
        self.definitions: dict[str, Schema] = {}

    def document(self, name: str, result: Any, more: Mapping[str, Any] = {}) -> Schema:
        """The schema of a result as a document `vestig/<name>/1`: its members, or one of its name.

        Args:
            result: the type.
            more: types of members that only the document has.
        """
        kinds = get_args(result) if _is_union(result) else (result,)
        shown = [self._document(name, kind, more) for kind in kinds]
        return shown[0] if len(shown) == 1 else {"anyOf": shown}

    def _document(self, name: str, kind: Any, more: Mapping[str, Any]) -> Schema:
        head: Schema = {
            "type": "object",
            "properties": {"schema": {"type": "string", "const": f"vestig/{name}/1"}},
            "required": ["schema"],
        }
        members = dict(more)
        if not _has_members(kind):
            members = {name: kind, **members}
        head["properties"] |= {member: self.of(one) for member, one in members.items()}
        head["required"] += list(members)
        return {"allOf": [head, self.of(kind)]} if _has_members(kind) else head

    def of(self, annotation: Any) -> Schema:
        """The schema of a type as its JSON is."""
        if annotation in _OPEN:
            return {}
        if annotation in _PLAIN:
            return {"type": _PLAIN[annotation]}
        if annotation is None or annotation is type(None):
            return {"type": "null"}
        if annotation is datetime:
            return {"type": "string", "format": "date-time"}
        if annotation is date:
            return {"type": "string", "format": "date"}
        if _is_union(annotation):
            return self._union(get_args(annotation))
        origin, inner = get_origin(annotation), get_args(annotation)
        if origin is Literal:
            return {"enum": list(inner)}
        if origin in (tuple, list, Sequence):
            return self._array(inner)
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        return self._named(annotation if origin is None else origin)

    def _union(self, kinds: Sequence[Any]) -> Schema:
        shown = [self.of(kind) for kind in kinds if kind is not msgspec.UnsetType]
        return shown[0] if len(shown) == 1 else {"anyOf": shown}

    def _array(self, inner: Sequence[Any]) -> Schema:
        if len(inner) == 1 or inner[-1] is Ellipsis:
            return {"type": "array", "items": self.of(inner[0])}
        count = len(inner)
        items = [self.of(one) for one in inner]
        return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}

    def _named(self, kind: Any) -> Schema:
        """A reference to the definition of a class, which is made where it is new."""
        name = kind.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # it may refer to itself
            made = _enum(kind) if issubclass(kind, Enum) else self._members(kind)
            about = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
            self.definitions[name] = made | ({"description": about} if about else {})
        return {"$ref": f"{self._refs}{name}"}

    def _members(self, kind: Any) -> Schema:
        hints, chosen = _fields(kind), _chosen(kind)
        properties: dict[str, Schema] = {}
        required: list[str] = []
        if chosen.flat:
            first = next(iter(hints))
            for one in _flattened(hints.pop(first)):
                inner = self._members(one)
                properties |= {
                    name: {"anyOf": [properties[name], schema]}
                    if name in properties and properties[name] != schema
                    else schema
                    for name, schema in inner["properties"].items()
                }
                held = set(inner["required"])
                required = [n for n in required if n in held] if required else [*held]
        for name, annotation in (*hints.items(), *chosen.more.items()):
            properties[name] = _part(annotation) if name in chosen.loose else self.of(annotation)
            if name not in chosen.left_out and not _may_be_unset(annotation):
                required.append(name)
        if chosen.always is not None:
            required = list(chosen.always)
        return {"type": "object", "properties": properties, "required": sorted(set(required))}


def _fields(kind: Any) -> dict[str, Any]:
    """The fields of a value and their types, in order."""
    names = getattr(kind, "__struct_fields__", None) or getattr(kind, "__dataclass_fields__", {})
    hints: dict[str, Any] = {}
    for base in kind.__mro__:
        for name, declared in vars(base).get("__annotations__", {}).items():
            if name in names and name not in hints:
                hints[name] = _made(_evaluated(declared, base.__module__))
    return {name: hints[name] for name in names}


def _evaluated(declared: Any, module: str) -> Any:
    """The type that an annotation of a module stands for; a name that the module has only for type
    checkers is that of a result."""
    space = {**_names(), **vars(sys.modules[module])}
    return eval(declared, space) if isinstance(declared, str) else declared


def _made(annotation: Any) -> Any:
    """The type of a field; of one that is made when it is read, of what is made."""
    return get_args(annotation)[0] if get_origin(annotation) is _Lazy else annotation


def _chosen(kind: Any) -> _Chosen:
    return next(
        (_CHOSEN[one.__name__] for one in kind.__mro__ if one.__name__ in _CHOSEN), _Chosen()
    )


def _flattened(annotation: Any) -> tuple[Any, ...]:
    """The classes of a field whose own fields stand in its place."""
    inner = get_args(annotation)
    return inner if inner else (annotation,)


def _part(annotation: Any) -> Schema:
    """The schema of a value of which a part is shown."""
    whole = get_origin(annotation) in (tuple, list, Sequence)
    return {"type": "array", "items": {"type": "object"}} if whole else {"type": "object"}


def _may_be_unset(annotation: Any) -> bool:
    return _is_union(annotation) and msgspec.UnsetType in get_args(annotation)


def _enum(kind: type[Enum]) -> Schema:
    return {"enum": [getattr(one, "word", one.value) for one in kind]}


def _has_members(kind: Any) -> bool:
    """Return whether the JSON of a type is an object of its own."""
    return inspect.isclass(kind) and not issubclass(kind, (str, int, float, list))
