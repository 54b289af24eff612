"""What the document of the API says of values beyond their type: the forms and bounds that the
engine checks, so that what fits the schema is taken.

Patterns are those of ECMA-262 without flags; times and identifiers are ASCII. A text is described
as what is always taken: some shorter ones are stored too, where they say something.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from vestig.arguments import LABEL_CHARS_MAX, LIST_ITEMS_MAX, SCOPE_CHARS_MAX, SOURCE_CHARS_MAX
from vestig.config.profiles import PROFILE_PREFIXES, PROFILES
from vestig.config.schema import Settings, default_values, spec_of
from vestig.config.signals import KINDS, TERMS
from vestig.filters import FIELDS, NARROWING, SELECTORS
from vestig.language.names.ontology import UNTYPED
from vestig.messages import SPEAKERS, TEXT_PARTS
from vestig.parameters import Parameter
from vestig.session.known_names import types_of
from vestig.surfaces.json_schema import INTEGER_MAX
from vestig.types import EventType, OriginType

__all__ = ["EXCLUSIVE_TIMES", "Facts", "filters", "strict_body", "strict_value", "where_name"]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the schemas of one server depend on.

    Attributes:
        chars: of a text that is stored, at least and at most.
        dimension: numbers of a vector.
        profiles: names of those that a recall may have.
        entity_types: names of those that an entity may have.
    """

    chars: tuple[int, int]
    dimension: int
    profiles: tuple[str, ...]
    entity_types: tuple[str, ...]

    @classmethod
    def of(cls, settings: Settings, dimension: int) -> Facts:
        """Of a server's settings, and the length of its embedder's vectors."""
        hygiene = settings.hygiene
        return cls(
            chars=(hygiene.min_chars, hygiene.max_chars),
            dimension=dimension,
            profiles=tuple(sorted({*PROFILES, *settings.recall.profiles})),
            entity_types=(*types_of(settings.entities).names, UNTYPED),
        )


_DAY: Final = (
    r"(?:[1-9][0-9]{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"|[1-9][0-9](?:0[48]|[2468][048]|[13579][26])-02-29)"
)
_CLOCK: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?"
_ZONE: Final = r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?"
_TIME: Final = {
    "type": "string",
    "pattern": rf"^(?!9999){_DAY}(?:[Tt ]{_CLOCK}{_ZONE})?$",
}
_BLANK_NOT: Final = r"^[^\u0000]*[^\s\u0000\u001c-\u001f\u0085][^\u0000]*$"
_NO_NUL: Final = r"^[^\u0000]*$"
_ID: Final = {"type": "string", "pattern": r"^(?:mem_)?[0-9a-f-]{8,36}$"}
_EDGE_ID: Final = {"type": "string", "pattern": r"^edge_[0-9a-f-]{8,36}$"}
_NAMESPACE: Final = {"type": "string", "pattern": r"^(?!\.{1,2}$)[a-z0-9._-]{1,64}$"}
_LETTERS: Final = r"[0-9A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0400-\u0481\u4e00-\u9fa5]"


def _named(chars_max: int = LABEL_CHARS_MAX) -> dict[str, Any]:
    return {"type": "string", "pattern": _BLANK_NOT, "maxLength": chars_max}


def _label(chars_max: int = LABEL_CHARS_MAX) -> dict[str, Any]:
    return {"type": "string", "pattern": _NO_NUL, "maxLength": chars_max}


def _one_or_more(item: Mapping[str, Any]) -> dict[str, Any]:
    """One value, or a list of them."""
    several = {"type": "array", "items": dict(item), "maxItems": LIST_ITEMS_MAX}
    return {"anyOf": [dict(item), several]}


def _text(least: int, most: int) -> dict[str, Any]:
    return {
        "type": "string",
        "pattern": rf"^[^\u0000-\u001f]*(?:{_LETTERS}[^\u0000-\u001f]*){{{least}}}$",
        "maxLength": most,
    }


_REASON: Final = _label(500)
# A longer one is cut.
_QUERY: Final = {"type": "string", "pattern": r"[^\s\u001c-\u001f\u0085]"}
# Arguments whose form the name tells, whatever the operation.
_BY_NAME: Final[Mapping[str, Mapping[str, Any]]] = {
    "namespace": _NAMESPACE,
    "ids": _one_or_more(_ID),
    "expect": _one_or_more(_ID),
    "supersedes": _one_or_more(_ID),
    "old": _ID,
    "new": _ID,
    "edge_id": _EDGE_ID,
    "reason": _REASON,
    "scope": _label(SCOPE_CHARS_MAX),
    "source": _named(SOURCE_CHARS_MAX),
    "query": _QUERY,
    "a": _named(),
    "b": _named(),
    "from_id": _named(),
    "to_id": _named(),
    "node_id": _named(),
    "request_id": _named(128),
    "entity_type": {"type": "string", "pattern": _BLANK_NOT},
    "relation": {"type": "string", "pattern": _BLANK_NOT, "maxLength": SCOPE_CHARS_MAX},
    "dest": {"type": "string", "pattern": r"^(?!\.)[A-Za-z0-9._-]{1,64}$"},
}
_IDS_OF_OPERATIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "entity show": _named(),
    "entity expire": _named(),
    "edge show": _EDGE_ID,
}
_SHARE: Final = {"type": "number", "minimum": 0, "maximum": 1}
_ENTITY_ID: Final = {"type": "string", "pattern": r"^ent_[0-9a-f-]{8,36}$"}


def _object(
    properties: Mapping[str, Mapping[str, Any]], required: tuple[str, ...] = ()
) -> dict[str, Any]:
    """An object of these members; those that need not be there may be null."""
    shown = {
        name: dict(one) if name in required else _or_null(one) for name, one in properties.items()
    }
    found: dict[str, Any] = {"type": "object", "properties": shown, "additionalProperties": False}
    return found | ({"required": list(required)} if required else {})


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}


_SCALAR: Final = {
    "anyOf": [
        {"type": ["string", "boolean", "null"]},
        {"type": "integer", "minimum": -(2**53), "maximum": 2**53},
        {"type": "number"},
    ]
}
_VALUES: Final = {
    "anyOf": [
        *_SCALAR["anyOf"],
        {"type": "array", "items": _SCALAR},
        {"type": "object", "additionalProperties": _SCALAR},
    ]
}
_METADATA: Final = {
    "type": "object",
    "propertyNames": {"not": {"enum": ["source", "tags"]}},
    "additionalProperties": _VALUES,
}
_PROVENANCE: Final = _object(
    {
        "agent": _label(),
        "artifact_ref": _label(),
        "origin_type": {"enum": [one.value for one in OriginType]},
    }
)
_TEXT_PART: Final = {
    "type": "object",
    "properties": {"type": {"enum": list(TEXT_PARTS)}, "text": {"type": "string"}},
    "required": ["text"],
}
_OTHER_PART: Final = {
    "type": "object",
    "properties": {"type": {"not": {"enum": list(TEXT_PARTS)}}},
    "required": ["type"],
}
_CONTENT: Final = {
    "anyOf": [
        {"type": "string"},
        _TEXT_PART,
        _OTHER_PART,
        {"type": "array", "items": {"anyOf": [{"type": "string"}, _TEXT_PART, _OTHER_PART]}},
    ]
}
_LABELS_OF_MESSAGES: Final = ("author", "author_id", "message_id", "reference_message_id")
_MESSAGE: Final = {
    **_object(
        {
            "content": _CONTENT,
            "role": _label(),
            "timestamp": _TIME,
            **{name: _label() for name in _LABELS_OF_MESSAGES},
        },
        ("content",),
    ),
    "additionalProperties": True,
}
# In the place of a query: of all else, nothing is read.
_ASKING_MESSAGE: Final = {
    "type": "object",
    "properties": {"content": _CONTENT, "author": {"type": ["string", "null"]}},
    "required": ["content"],
}
# One that somebody said.
_SPOKEN: Final = {
    "type": "object",
    "properties": {
        "content": {"type": "string", "pattern": _BLANK_NOT},
        "role": {"enum": list(SPEAKERS)},
    },
    "required": ["content", "role"],
}
_CLAIM: Final = _object(
    {
        "subject": _named(SCOPE_CHARS_MAX),
        "subject_id": _ENTITY_ID,
        "fact_type": _named(SCOPE_CHARS_MAX),
        "object": _named(),
        "object_id": _ENTITY_ID,
        "object_type": _named(SCOPE_CHARS_MAX),
        "relationship_type": _named(SCOPE_CHARS_MAX),
        "attributes": {"type": "object", "additionalProperties": _VALUES},
        "confidence": _SHARE,
        "evidence": {
            "type": "array",
            "items": _object(
                {
                    "snippet": _named(SCOPE_CHARS_MAX),
                    "source_id": {
                        "type": "string",
                        "pattern": r"^(?:source|mem)_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
                    },
                    "timestamp": _TIME,
                    "author": _named(SCOPE_CHARS_MAX),
                },
                ("snippet",),
            ),
            "maxItems": LIST_ITEMS_MAX,
        },
    },
    ("subject", "fact_type"),
)
# Keys that a call sets, whose values are mappings of names that the type does not tell.
_NUMBER: Final = {"type": "number"}
_MAPPINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "usage.event_weights": _object({one.value: _SHARE for one in EventType}),
    "ranking.weights": _object(
        {one: _object({name: _NUMBER for name in TERMS}) for one in KINDS}  # noqa: C420
    ),
}


def _entities(types: tuple[str, ...]) -> dict[str, Any]:
    """One name, or a list of names and of objects that describe one."""
    name = _named(SCOPE_CHARS_MAX)
    described = _object(
        {"name": name, "type": {"enum": list(types)}, "confidence": _SHARE, "evidence": name},
        ("name",),
    )
    several = {"type": "array", "items": {"anyOf": [name, described]}, "maxItems": LIST_ITEMS_MAX}
    return {"anyOf": [name, several]}


def _config() -> dict[str, Any]:
    """Keys of the configuration that one call may set."""
    found: dict[str, Any] = {}
    for key in default_values():
        spec = spec_of(key)
        if spec is None or not key.startswith(PROFILE_PREFIXES) or key == "recall.profiles":
            continue
        plain = _MAPPINGS.get(key) or msgspec.json.schema(spec.type)
        found[key] = _or_null({name: value for name, value in plain.items() if name != "$defs"})
    return {"type": "object", "properties": found, "additionalProperties": False}


# Operations that answer one question.
_ASKING: Final = ("memory recall", "search")


def _of_kind(operation: str, row: Parameter, facts: Facts) -> Mapping[str, Any] | None:
    """The schema of an argument that is an object, or a list of them."""
    if row.name == "messages":
        size = {"minItems": 1, "maxItems": LIST_ITEMS_MAX}
        item = _ASKING_MESSAGE if operation in _ASKING else _MESSAGE
        return {"type": "array", "items": item, "contains": _SPOKEN, **size}
    if row.name == "query_vector":
        number = {"type": "number", "minimum": -1e6, "maximum": 1e6}
        size = {"minItems": facts.dimension, "maxItems": facts.dimension}
        return {"type": "array", "items": number, **size}
    if row.name == "profile":
        return {"enum": list(facts.profiles)}
    named: Mapping[str, Mapping[str, Any]] = {
        "metadata": _METADATA,
        "entities": _entities(facts.entity_types),
        "provenance": _PROVENANCE,
        "claim": _CLAIM,
    }
    return _config() if row.name == "config" else named.get(row.name)


# At most one of each pair.
EXCLUSIVE_TIMES: Final = (("as_of", "known_at"), ("as_of", "valid_at"))


def strict_value(operation: str, row: Parameter, facts: Facts) -> dict[str, Any] | None:
    """The schema of a value that is always taken; None: the plain one says all.

    Args:
        operation: the name of the operation.
        row: the parameter.
        facts: of the server.
    """
    found = _of_kind(operation, row, facts)
    if found is not None:
        return dict(found)
    if row.name == "id":
        return dict(_IDS_OF_OPERATIONS.get(operation, _ID))
    if row.name == "ids" and operation == "memory forget":
        return _filled(_one_or_more(_ID))
    if row.name == "ids" and operation == "entity purge":
        return _one_or_more(_named())
    if row.name == "content":
        return _text(*facts.chars)
    if operation == "memory forget" and row.name == "actor":
        return _named(SCOPE_CHARS_MAX)
    if operation == "graph search" and row.name == "query":
        return {"type": "string"}
    if row.name == "seed_nodes":
        return _one_or_more({"type": "string", "pattern": _BLANK_NOT})
    if operation == "retrieve" and row.name in ("scope", "channel_id"):
        return {"type": "string"}
    if row.name in _BY_NAME:
        return dict(_BY_NAME[row.name])
    if row.kind == "time":
        return dict(_TIME)
    if row.kind == "text":
        return _label()
    if row.kind == "integer":
        least = -INTEGER_MAX if row.least is None else row.least
        most = INTEGER_MAX if row.most is None else row.most
        return {"type": "integer", "minimum": least, "maximum": most}
    if row.kind in ("words", "texts") and not row.choices:
        return _one_or_more(_named(SCOPE_CHARS_MAX))
    return None


def _selected(fields: Collection[str]) -> dict[str, Any]:
    """An object whose filter has one of these fields; `unscoped: false` restricts nothing."""
    one = [
        {"required": [name], "properties": {name: {"const": True} if name == "unscoped" else {}}}
        for name in FIELDS
        if name in fields
    ]
    where = {"type": "object", "anyOf": one}
    return {"required": ["where"], "properties": {"where": where}}


def _given(*names: str) -> dict[str, Any]:
    """An object that has all of these, none of them null."""
    there = {"not": {"type": "null"}}
    return {"required": list(names), "properties": dict.fromkeys(names, there)}


def _not_both(one: str, other: str) -> dict[str, Any]:
    return {"not": _given(one, other)}


_IS_TRUE: Final = {"const": True}
_SURE: Final = {
    "anyOf": [
        {"required": [name], "properties": {name: _IS_TRUE}} for name in ("confirm", "dry_run")
    ]
}
_MEMORIES_LINKED: Final = {
    "required": ["edge_type"],
    "properties": {
        "edge_type": {"enum": ["RELATED", "SUMMARIZES"]},
        "from_id": _ID,
        "to_id": _ID,
    },
    "not": _given("relation"),
}
_ENTITY: Final = {"not": {"pattern": r"^(?:mem_.*|[0-9a-f-]{8,36})$"}}
_ENTITIES_RELATED: Final = {
    **_given("relation"),
    "allOf": [
        {
            "properties": {
                "edge_type": {"enum": ["RELATION", None]},
                "from_id": _ENTITY,
                "to_id": _ENTITY,
            }
        }
    ],
}
_ONE_QUESTION: Final = (
    {"anyOf": [_given(name) for name in ("query", "messages", "query_vector")]},
    _not_both("query", "messages"),
    {
        "anyOf": [
            {"properties": {"budget": {"type": "null"}}},
            {"required": ["context"], "properties": {"context": _IS_TRUE}},
        ]
    },
)
# operation → what holds between the fields of its body
_RULES: Final[Mapping[str, tuple[dict[str, Any], ...]]] = {
    # by links alone, it begins at nodes
    "graph search": (
        {
            "anyOf": [
                {
                    "required": ["query"],
                    "properties": {"query": _QUERY, "type": {"not": {"const": "graph"}}},
                },
                {
                    "required": ["type", "seed_nodes"],
                    "properties": {
                        "type": {"const": "graph"},
                        "seed_nodes": {"not": {"type": "null"}, "minItems": 1},
                    },
                },
            ]
        },
    ),
    "edge link": ({"anyOf": [_MEMORIES_LINKED, _ENTITIES_RELATED]},),
    # one of both is without a value
    "export": (
        {
            "anyOf": [
                {"properties": {"all_namespaces": {"enum": [False, None]}}},
                {"properties": {"where": {"type": "null"}}},
            ]
        },
    ),
    **dict.fromkeys(_ASKING, _ONE_QUESTION),
    "entity purge": (_SURE,),
    "memory forget": (
        _SURE,
        _not_both("ids", "where"),
        {
            "anyOf": [
                _given("ids"),
                _selected(SELECTORS),
                {
                    **_selected(SELECTORS | NARROWING),
                    "allOf": [{"required": ["all"], "properties": {"all": _IS_TRUE}}],
                },
            ]
        },
    ),
}


def strict_body(operation: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A body's schema with what holds between its fields."""
    properties = schema["properties"]
    rules = [_not_both(*pair) for pair in EXCLUSIVE_TIMES if set(pair) <= set(properties)]
    rules += _RULES.get(operation, ())
    if operation == "memory update":
        # what is cleared cannot be set too: one call does the one or the other
        fields = properties["clear"]["anyOf"][0]["enum"]
        unset = {name: {"type": "null"} for name in fields}
        rules.append(
            {"anyOf": [{"properties": {"clear": {"type": "null"}}}, {"properties": unset}]}
        )
    return {**schema, "allOf": rules} if rules else dict(schema)


# --- the filter ------------------------------------------------------------------------------

_SELECTION_HELP: Final = (
    "All fields must hold, and each that is named has a value. since < until,"
    " created_since < created_until."
)
_WITH_QUERY: Final = {
    **dict.fromkeys((*_ASKING, "retrieve"), "RecallWhere"),
    "graph search": "SearchWhere",
}


def where_name(operation: str) -> str:
    """The name of the filter's schema for an operation.

    Example:
        >>> where_name("count"), where_name("graph search"), where_name("memory forget")
        ('Where', 'SearchWhere', 'Selection')
    """
    if operation == "memory forget":
        return "Selection"
    return _WITH_QUERY.get(operation, "Where")


def filters(where: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of the filter: `Where` of reads without a query, `RecallWhere` with one,
    `SearchWhere` for memories and entities, `Selection` of what is forgotten, in which a field that
    is named has a value.

    Args:
        where: that of `json_schema.definitions`.
    """
    found = {}
    for name in ("Where", "RecallWhere", "SearchWhere", "Selection"):
        properties = {}
        for row in FIELDS.values():
            if row.name == "min_similarity" and not name.endswith(("RecallWhere", "SearchWhere")):
                continue
            shown = dict(where["properties"][row.name])
            value = _field(row, nodes=name == "SearchWhere")
            plain, absent = shown["anyOf"]
            plain = plain if value is None else value
            if name == "Selection":
                shown = {**_filled(plain), "description": shown["description"]}
            else:
                shown["anyOf"] = [plain, absent]
            properties[row.name] = shown
        found[name] = {**where, "properties": properties}
    found["Selection"] |= {"minProperties": 1, "description": _SELECTION_HELP}
    return found


def _field(row: Parameter, *, nodes: bool) -> dict[str, Any] | None:
    if row.kind == "time":
        return dict(_TIME)
    if row.name in ("ids", "exclude_ids"):
        return _any_number({"anyOf": [_ID, _ENTITY_ID]} if nodes else _ID)
    if row.choices and row.kind != "choice":
        words = [*row.choices, *(["ENTITY"] if nodes and row.name == "kinds" else [])]
        return _any_number({"type": "string", "enum": words})
    return None


def _any_number(item: Mapping[str, Any]) -> dict[str, Any]:
    """One value, or a list of any length."""
    return {"anyOf": [dict(item), {"type": "array", "items": dict(item)}]}


def _filled(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a value that is there: no empty list, no empty object."""
    found = dict(schema)
    if "anyOf" in found:
        found["anyOf"] = [_filled(one) for one in found["anyOf"]]
    if found.get("type") == "array":
        found["minItems"] = 1
    if found.get("type") == "object":
        found["minProperties"] = 1
    return found
