"""Arguments as JSON: the schema of what an operation takes, and the strict reader of one object.

Both are made from the rows of parameters. The filter is the object `where`, one definition for
every operation. A reader says what is no JSON of the right shape; ranges and words are the
engine's to judge, and the schema names the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.errors import ValidationError
from vestig.filters import FIELDS, nearest_argument
from vestig.hints import unknown_name_error
from vestig.json_text import read_json
from vestig.parameters import Parameter
from vestig.surfaces.operation import Arguments

__all__ = [
    "INTEGER_MAX",
    "arguments_schema",
    "decoded",
    "definitions",
    "object_schema",
    "read_arguments",
    "read_object",
]

# What a double holds exactly, and so every reader of JSON.
INTEGER_MAX: Final = 9_007_199_254_740_991
_BLANK_NOT: Final = r"\S"
# One text in the place of a list: several words with commas between them, or one name, which has
# none. A bracket at the beginning may begin a list in JSON.
_ONE_OR_WORDS: Final = r"^(?!\s*\[)[\s\S]*[^\s,]"
_ONE_NAME: Final = r"^(?!\s*\[)[^,]*[^\s,][^,]*$"


def _list_or_text(pattern: str, *kinds: str) -> dict[str, Any]:
    return {
        "anyOf": [
            {"type": "string", "pattern": pattern},
            {"type": "array", "items": {"type": list(kinds), "pattern": _BLANK_NOT}},
        ]
    }


_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "text": {"type": "string"},
    "time": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "switch": {"type": "boolean"},
    "choice": {"type": "string"},
    "words": _list_or_text(_ONE_OR_WORDS, "string"),
    "texts": _list_or_text(_ONE_NAME, "string"),
    "names": _list_or_text(_ONE_NAME, "string", "object"),
    "pairs": {"type": "object"},
    "seed": {
        "anyOf": [{"type": "integer", "minimum": 0, "maximum": INTEGER_MAX}, {"const": "random"}]
    },
    "cut": {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"const": "auto"}]},
    "object": {"type": "object"},
    "objects": {"type": "array", "items": {"type": "object"}},
    "numbers": {"type": "array", "items": {"type": "number"}},
}
_CONFIRM: Final = Parameter(
    name="confirm", kind="flag", help="true: do it. Needed unless dry_run is true."
)
_WHERE_HELP: Final = "Which memories the call considers."
_FILTER_HELP: Final = (
    'All fields must hold. A field of null, "" or {} is absent; an empty list selects nothing, and'
    " leaves nothing out where the field excludes. since < until, created_since <"
    " created_until."
)
_ABSENT: Final[dict[str, Any]] = {
    "description": "As if the field were not there.",
    "enum": [None, "", {}],
}


def decoded(data: bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValidationError: unreadable, with NaN, infinity or a number beyond a float's range, with a
            lone surrogate, with a name twice in one object, or nested too deeply. Shows nothing of
            what was given but that name.

    Example:
        >>> decoded(b'{"limit": 3}')
        {'limit': 3}
        >>> decoded(b'[NaN]')
        Traceback (most recent call last):
        ...
        vestig.errors.ValidationError: body: expected JSON text in UTF-8 with finite numbers, got \
'5 bytes'; JSON is malformed: invalid character (byte 1)
    """
    try:
        return read_json(data)
    except RecursionError:
        fault = "it is nested too deeply"
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        fault = str(error) if isinstance(error, msgspec.MsgspecError) else "it is no UTF-8"
    raise ValidationError(
        "body", f"{len(data)} bytes", "JSON text in UTF-8 with finite numbers", fault
    )


# --- schemas ---------------------------------------------------------------------------------


def object_schema(
    parameters: Sequence[Parameter],
    *,
    required: Sequence[str] = (),
    filtered: bool = False,
    refs: str = "#/$defs/",
) -> dict[str, Any]:
    """The JSON schema of an object of arguments. An optional one may be null, which is absent.

    Args:
        parameters: rows, in the order in which readers see them.
        required: names that have to be there.
        filtered: with the filter as `where`, a reference to the definition `Where`.
        refs: where `definitions` stand in the document.

    Example:
        >>> from vestig.parameters import NAMESPACE
        >>> object_schema((NAMESPACE,))["properties"]["namespace"]["type"]
        ['string', 'null']
    """
    properties = {row.name: _property(row, row.name in required) for row in parameters}
    if filtered:
        where = {"anyOf": [{"$ref": f"{refs}Where"}, {"type": "null"}], "description": _WHERE_HELP}
        properties["where"] = where
    shown: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        shown["required"] = list(required)
    return shown | {"additionalProperties": False}


def arguments_schema(arguments: Arguments, *, refs: str = "#/$defs/") -> dict[str, Any]:
    """The JSON schema of what an operation takes.

    Example:
        >>> from vestig.surfaces.table import operation
        >>> sorted(arguments_schema(operation("count").arguments)["properties"])
        ['as_of', 'known_at', 'namespace', 'valid_at', 'where']
    """
    return object_schema(
        _rows(arguments), required=arguments.required, filtered=arguments.filtered, refs=refs
    )


def definitions(*, refs: str = "#/$defs/") -> dict[str, Any]:
    """The definitions that schemas with `where` refer to: `Where`, the filter with all its fields,
    and `Absent`, what stands for a field that is not there.

    Example:
        >>> sorted(definitions())
        ['Absent', 'Where']
    """
    absent = {"$ref": f"{refs}Absent"}
    fields = {
        row.name: {"anyOf": [_plain(row), absent], "description": row.help}
        for row in FIELDS.values()
    }
    where = {
        "type": "object",
        "description": _FILTER_HELP,
        "properties": fields,
        "additionalProperties": False,
    }
    return {"Where": where, "Absent": _ABSENT}


def _plain(row: Parameter) -> dict[str, Any]:
    """The schema of a value of one parameter, without its description."""
    shown = dict(_SCHEMAS[row.kind])
    choices = [*row.choices, *(["ENTITY"] if row.name == "kinds" else [])]
    if choices and row.kind == "choice":
        shown["enum"] = choices
    elif choices:
        word = {"type": "string", "enum": choices}
        shown = {"anyOf": [word, {"type": "array", "items": word}]}
    for key, bound in (("minimum", row.least), ("maximum", row.most)):
        if bound is not None:
            shown[key] = bound
    return shown


def _property(row: Parameter, required: bool) -> dict[str, Any]:
    shown = _plain(row)
    if not required:
        if "anyOf" in shown:
            shown["anyOf"] = [*shown["anyOf"], {"type": "null"}]
        else:
            shown["type"] = [shown["type"], "null"]
        if "enum" in shown:
            shown["enum"] = [*shown["enum"], None]
    note = f" Default: {row.default_text}." if row.default_text else ""
    return shown | {"description": row.help + note}


def _rows(arguments: Arguments) -> tuple[Parameter, ...]:
    return (*arguments.parameters, *((_CONFIRM,) if arguments.confirmed else ()))


# --- reading ---------------------------------------------------------------------------------


def read_arguments(arguments: Arguments, given: object) -> dict[str, Any]:
    """The keyword arguments of the call from a decoded JSON object. Null is absent; a `where` is
    left to the call.

    Raises:
        ValidationError: no object; an unknown name, with the nearest; a missing name; a value of
            another type (true is no integer); nothing confirmed.

    Example:
        >>> from vestig.surfaces.table import operation
        >>> count = operation("count").arguments
        >>> read_arguments(count, {"where": {"tags": "infra"}, "as_of": None})
        {'where': {'tags': 'infra'}}
        >>> read_arguments(count, {"tags": "infra"})
        Traceback (most recent call last):
        ...
        vestig.errors.ValidationError: count has no argument tags; did you mean where.tags? It \
takes: as_of, known_at, valid_at, namespace, where
    """
    found = read_object(
        _rows(arguments),
        given,
        operation=arguments.method.rpartition(".")[2],
        required=arguments.required,
        filtered=arguments.filtered,
    )
    if arguments.confirmed:
        sure = found.pop("confirm", False)
        if not (sure or found.get("dry_run", False)):
            raise ValidationError("confirm", sure, "true", "or dry_run: true, which shows the plan")
    return found


def read_object(
    parameters: Sequence[Parameter],
    given: object,
    *,
    operation: str,
    required: Sequence[str] = (),
    filtered: bool = False,
) -> dict[str, Any]:
    """A decoded JSON object by the rows of its fields, without those that are null.

    Args:
        parameters: rows of the fields that it may have.
        given: what was decoded.
        operation: whose arguments they are.
        required: names that have to be there.
        filtered: whether it may have `where`.

    Raises:
        ValidationError: as `read_arguments`.
    """
    if not isinstance(given, Mapping):
        raise ValidationError("body", type(given).__name__, "a JSON object of arguments")
    rows = {row.name: row for row in parameters}
    names = (*rows, *(("where",) if filtered else ()))
    for name in given:
        if name not in names:
            near = nearest_argument(name, names) if filtered else None
            raise unknown_name_error(name, names, operation, "argument", near)
    found = {
        name: where_of_text(value) if name == "where" else value_of_text(rows[name], value)
        for name, value in given.items()
        if value is not None
    }
    for name in required:
        if name not in found:
            raise ValidationError(name, "nothing", _EXPECTED[rows[name].kind][0])
    for name, value in found.items():
        if name == "where":
            if not isinstance(value, Mapping):
                raise ValidationError("where", type(value).__name__, "an object of filter fields")
            continue
        kind = rows[name].kind
        if kind in ("integer", "seed", "object"):
            found[name] = _with_integers(value)
        expected, fits = _EXPECTED[kind]
        if not fits(found[name]):
            large = kind == "integer" and type(value) is int
            raise ValidationError(name, "a larger one" if large else type(value).__name__, expected)
    return found


def value_of_text(row: Parameter, value: object, field: str = "") -> object:
    """A value as its parameter takes it: a list or an object that stands in a text as JSON, as
    language models send it, is one; a text with commas is several words.

    Args:
        field: what an error names, where that is not the parameter.

    Raises:
        ValidationError: a text with a comma where it may be one name or several.

    Example:
        >>> from vestig.parameters import COMMIT
        >>> value_of_text(COMMIT["tags"], "ops, hall"), value_of_text(COMMIT["tags"], '["a,b"]')
        (['ops', 'hall'], ['a,b'])
    """
    if not isinstance(value, str) or row.kind not in _HELD_IN_TEXT:
        return value
    inner = _json_in_text(value, _HELD_IN_TEXT[row.kind])
    if inner is not None:
        return inner
    if "," not in value or row.kind not in _LISTS_OF_TEXTS:
        return value
    if row.kind == "words":
        return [word for part in value.split(",") if (word := part.strip())]
    raise ValidationError(
        field or row.name,
        "a text with a comma",
        "a list",
        "it may be one or several: give a list of one, or of each",
    )


def where_of_text(value: object) -> object:
    """A filter whose fields are read as `value_of_text`; it may stand in a text as JSON itself.

    Example:
        >>> where_of_text('{"tags": "ops,hall"}')
        {'tags': ['ops', 'hall']}
    """
    inner = _json_in_text(value, dict) if isinstance(value, str) else None
    fields = value if inner is None else inner
    if not isinstance(fields, Mapping):
        return fields
    return {
        name: value_of_text(FIELDS[name], item, f"where.{name}") if name in FIELDS else item
        for name, item in fields.items()
    }


def _json_in_text(text: str, kind: type) -> Any:
    """The list or object that a text is as JSON; None for other texts."""
    if text.strip()[:1] not in ("[", "{"):
        return None
    try:
        value = read_json(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return value if isinstance(value, kind) else None


# kind of a parameter → what a text may hold in its place
_HELD_IN_TEXT: Final[Mapping[str, type]] = {
    "words": list,
    "texts": list,
    "names": list,
    "objects": list,
    "numbers": list,
    "pairs": dict,
    "object": dict,
}
_LISTS_OF_TEXTS: Final = ("words", "texts", "names")


def _with_integers(value: Any) -> Any:
    """The value with whole numbers as integers: JSON has one kind of number, and 3.0 is 3."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _with_integers(item) for name, item in value.items()}
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, str) or _is_list(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and -INTEGER_MAX <= value <= INTEGER_MAX


def _is_list(value: object, *kinds: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kinds) for item in value)


_TRUTH: Final = ("true or false", lambda value: isinstance(value, bool))
_LIST: Final = ("text or a list of texts", _is_texts)
_FIELDS: Final = ("an object", lambda value: isinstance(value, dict))
# kind → what is expected, and whether a value is that
_EXPECTED: Final[Mapping[str, tuple[str, Callable[[object], bool]]]] = {
    "text": ("text", _is_text),
    "time": ("a time as text", _is_text),
    "integer": ("an integer of at most 53 bits", _is_integer),
    "number": ("a number", _is_number),
    "flag": _TRUTH,
    "switch": _TRUTH,
    "choice": ("text", _is_text),
    "words": _LIST,
    "texts": _LIST,
    "names": (
        "text, or a list of texts and objects",
        lambda value: isinstance(value, str) or _is_list(value, str, dict),
    ),
    "pairs": _FIELDS,
    "seed": ('an integer or "random"', lambda value: _is_integer(value) or value == "random"),
    "cut": ('a number or "auto"', lambda value: _is_number(value) or value == "auto"),
    "object": _FIELDS,
    "objects": ("a list of objects", lambda value: _is_list(value, dict)),
    "numbers": (
        "a list of numbers",
        lambda value: isinstance(value, list) and all(_is_number(item) for item in value),
    ),
}
