"""Arguments as JSON: the schema of what an operation takes, and the strict reader of one object.

Both follow from the declaration of the call. The filter is the object `where`, a definition for
each kind of call that takes one. The engine checks what was read once more, for other callers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.calls.argument import NO_FACTS, Argument, Facts, or_null
from vestig.calls.declaration import given_all, not_both, schema_of
from vestig.calls.filter import BOUNDS, FIELDS, Where, nearest_argument
from vestig.errors import Description, ValidationError, kind_of
from vestig.hints import nearest_name, unknown_name_error
from vestig.json_text import read_json
from vestig.surfaces.operation import Arguments

# At most one of each pair.
EXCLUSIVE_TIMES: Final = (("as_of", "known_at"), ("as_of", "valid_at"))
_WHERE_HELP: Final = "Which memories the call considers."
_WINDOWS_HELP: Final = " since < until, created_since < created_until."
_FILTER_HELP: Final = (
    'All fields must hold. A field of null, "" or {} is absent, of scope and scope_prefix null'
    " alone; an empty list selects nothing, and leaves nothing out where the field excludes."
    + _WINDOWS_HELP
)
_SELECTION_HELP: Final = "All fields must hold, and each that is named has a value." + _WINDOWS_HELP
_ABSENT: Final[dict[str, Any]] = {
    "description": "As if the field were not there.",
    "enum": [None, "", {}],
}
_WHERES: Final[Mapping[str, Where]] = {
    "Where": Where(""),
    "RecallWhere": Where("", query=True),
    "SearchWhere": Where("", query=True, nodes=True),
    "Selection": Where("", selects=True),
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
5 bytes; JSON is malformed: invalid character (byte 1)
    """
    try:
        return read_json(data)
    except RecursionError:
        fault = "it is nested too deeply"
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        fault = str(error) if isinstance(error, msgspec.MsgspecError) else "it is no UTF-8"
    raise ValidationError(
        "body", Description(f"{len(data)} bytes"), "JSON text in UTF-8 with finite numbers", fault
    )


# --- schemas ---------------------------------------------------------------------------------


def arguments_schema(
    arguments: Arguments, *, refs: str = "#/$defs/", facts: Facts = NO_FACTS
) -> dict[str, Any]:
    """The JSON schema of what an operation takes, argument by argument.

    Args:
        refs: where `definitions` stand in the document.
        facts: of the server.

    Example:
        >>> from vestig.surfaces.operation import operation
        >>> sorted(arguments_schema(operation("count").arguments)["properties"])
        ['as_of', 'known_at', 'namespace', 'valid_at', 'where']
    """
    schema = schema_of(arguments.rows, arguments.required, facts)
    if arguments.where is not None:
        reference = {"$ref": f"{refs}{where_name(arguments.where)}"}
        schema["properties"]["where"] = or_null(reference) | {"description": _WHERE_HELP}
    return schema


def body_schema(schema: Mapping[str, Any], arguments: Arguments | None = None) -> dict[str, Any]:
    """The schema of an object of arguments, with what holds between them."""
    names = schema["properties"]
    rules: list[Mapping[str, Any]] = [
        not_both(*pair) for pair in EXCLUSIVE_TIMES if set(pair) <= set(names)
    ]
    if arguments is not None:
        rules += arguments.call.rules
        if arguments.confirmed:
            sure = [{"required": [n], "properties": {n: _TRUE}} for n in ("confirm", "dry_run")]
            if arguments.confirmed == "where":
                sure.append({"not": given_all("where")})
            rules.append({"anyOf": sure})
    return {**schema, "allOf": rules} if rules else dict(schema)


_TRUE: Final = {"const": True}


def where_name(where: Where) -> str:
    """The name of a filter's definition.

    Example:
        >>> where_name(Where("", selects=True)), where_name(Where("", beside=True))
        ('Selection', 'Where')
    """
    kind = (where.query, where.nodes, where.selects)
    return next(n for n, one in _WHERES.items() if (one.query, one.nodes, one.selects) == kind)


def definitions(*, refs: str = "#/$defs/") -> dict[str, Any]:
    """The definitions that schemas with `where` refer to: `Where` of reads without a query,
    `RecallWhere` with one, `SearchWhere` for memories and entities, `Selection` of what goes, in
    which a field that is named has a value; and `Absent`, what stands for a field that is not
    there.

    Example:
        >>> sorted(definitions())
        ['Absent', 'RecallWhere', 'SearchWhere', 'Selection', 'Where']
    """
    absent = {"$ref": f"{refs}Absent"}
    found: dict[str, Any] = {"Absent": _ABSENT}
    for name, where in _WHERES.items():
        found[name] = {
            "type": "object",
            "description": _SELECTION_HELP if where.selects else _FILTER_HELP,
            "properties": {
                field: (
                    _filled(row.schema())
                    if where.selects
                    else or_null(row.schema())
                    if field in BOUNDS
                    else {"anyOf": [row.schema(), absent]}
                )
                | {"description": row.help}
                for field, row in where.fields.items()
            },
            "additionalProperties": False,
        }
    return found


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


# --- reading ---------------------------------------------------------------------------------


def read_arguments(
    arguments: Arguments, given: object, beside: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The keyword arguments of the call from a decoded JSON object. Null is absent.

    Args:
        beside: names that the surface takes beside them, of which none is here.

    Raises:
        ValidationError: no object; an unknown name, with the nearest; a missing name; a wrong value
            (true is no integer); nothing confirmed.

    Example:
        >>> from vestig.surfaces.operation import operation
        >>> count = operation("count").arguments
        >>> read_arguments(count, {"where": {"tags": "infra"}, "as_of": None})
        {'where': {'tags': 'infra'}}
        >>> read_arguments(count, {"tags": "infra"})
        Traceback (most recent call last):
        ...
        vestig.errors.ValidationError: count has no argument tags; did you mean where.tags? It \
takes: where, as_of, known_at, valid_at, namespace
    """
    found = read_object(
        arguments.rows,
        given,
        operation=arguments.method.rpartition(".")[2],
        required=arguments.required,
        beside=beside,
    )
    if arguments.confirmed:
        sure = found.pop("confirm", Description("nothing"))
        needed = arguments.confirmed == "always" or arguments.confirmed in found
        if needed and not (sure is True or found.get("dry_run", False)):
            raise ValidationError("confirm", sure, "true", "or dry_run: true, which shows the plan")
    return found


def _unknown(name: str, names: Sequence[str], operation: str) -> ValidationError:
    """The error of a name that is no argument, with the one that was meant."""
    field = name.removeprefix("where.")
    if "where" not in names:
        near = nearest_name(name, names, operation)
    elif field != name and field in FIELDS:  # as errors name a field
        near = f'where: {{"{field}": …}}'
    else:
        near = nearest_argument(name, names, operation)
    return unknown_name_error(name, names, operation, "argument", near)


def _such_as(names: Sequence[str]) -> str:
    """An object with the first of these arguments, as a hint; "" where there are none."""
    if not names:
        return ""
    value = "[…]" if names[0] in ("items", "messages") else "…"
    return f'such as {{"{names[0]}": {value}}}'


def read_object(
    rows: Mapping[str, Argument],
    given: object,
    *,
    operation: str,
    required: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
) -> dict[str, Any]:
    """A decoded JSON object by the arguments that it may have, without those that are null.

    Args:
        given: what was decoded.
        operation: whose arguments they are.
        required: names that have to be there.
        beside: as for `read_arguments`.

    Raises:
        ValidationError: as `read_arguments`.
    """
    names = (*rows, *beside)
    if not isinstance(given, Mapping):
        first = [name for name in beside if name == "items" and isinstance(given, list)]
        hint = _such_as((*first, *required, *names))
        raise ValidationError("body", kind_of(given), "a JSON object of arguments", hint)
    found: dict[str, Any] = {}
    for name, value in given.items():
        row = rows.get(name)
        if row is None:
            raise _unknown(name, names, operation)
        if value is None and not row.takes_null:
            continue
        found[name] = row.of_json(name, value)
        # what its own argument has checked is checked here; the filter is the call's
        if not isinstance(row, Where):
            row.check(name, found[name])
    for name in required:
        if name not in found:
            raise ValidationError(name, Description("nothing"), rows[name].expected)
    return found
