"""A call, declared once: what may be given, and the checked request that comes of it.

`…Arguments` are as a caller gave them: a mapping by name, in which None is absent. A `…Request`
declares them and is what they become: a field each, of the type that the engine works with,
annotated with its `Argument`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

import msgspec

from vestig.arguments import SCOPE_CHARS_MAX
from vestig.calls.argument import (
    NO_FACTS,
    Argument,
    Facts,
    Flag,
    Id,
    Label,
    Namespace,
    Object,
    Time,
    or_null,
)
from vestig.calls.filter import KEYWORDS, Where, nearest_argument
from vestig.errors import ValidationError, kind_of
from vestig.hints import nearest_name, unknown_name_error
from vestig.times import LAST_OF_DAY_US


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all declarations. `call`: what an error calls it; `rules`: JSON schemas of what
    holds between its arguments."""

    call: ClassVar[str]
    rules: ClassVar[tuple[Mapping[str, Any], ...]] = ()


def given_all(*names: str) -> dict[str, Any]:
    """The schema of an object that has all of these, none of them null."""
    there = {"not": {"type": "null"}}
    return {"required": list(names), "properties": dict.fromkeys(names, there)}


def not_both(one: str, other: str) -> dict[str, Any]:
    """The schema of an object that has one of these at most."""
    return {"not": given_all(one, other)}


_R = TypeVar("_R", bound=Request)


class _Plan(NamedTuple):
    """How a call is checked, made once: its arguments, the check of each, and its filter."""

    rows: Mapping[str, Argument]
    checks: Mapping[str, Callable[[str, Any], Any]]
    where: Where | None


@cache
def _plan(declaration: type[Request]) -> _Plan:
    rows = {row.name: row for row in _annotated(declaration)}
    where = rows.get("where")
    assert where is None or isinstance(where, Where)
    checks = {name: row.check for name, row in rows.items() if row is not where}
    return _Plan(rows=rows, checks=checks, where=where)


def _annotated(declaration: type[Request]) -> Iterator[Argument]:
    """Its own arguments, then those of the call that it is a kind of; a field that it has without
    an annotation of its own takes the argument of that name away."""
    seen: set[str] = set()
    for kind in declaration.__mro__[: declaration.__mro__.index(Request)]:
        for name, annotation in kind.__annotations__.items():
            if name in seen:
                continue
            seen.add(name)
            assert not isinstance(annotation, str), "a module of declarations keeps its annotations"
            row = next(iter(getattr(annotation, "__metadata__", ())), None)
            if isinstance(row, Argument):
                yield msgspec.structs.replace(row, name=name)


def rows_of(declaration: type[Request]) -> Mapping[str, Argument]:
    """The arguments of a call by name, in the order of their declaration.

    Example:
        >>> from vestig.calls.memories import CountRequest
        >>> list(rows_of(CountRequest))
        ['where', 'as_of', 'known_at', 'valid_at', 'namespace']
    """
    return _plan(declaration).rows


@cache
def required_of(declaration: type[Request]) -> tuple[str, ...]:
    """The names of the arguments that have to be there."""
    rows = _plan(declaration).rows
    fields = msgspec.structs.fields(declaration)
    return tuple(one.name for one in fields if one.required and one.name in rows)


def given(names: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a method from its `locals()`: those that are not absent.

    Example:
        >>> given({"self": 1, "limit": 3, "scope": None})
        {'limit': 3}
    """
    return {name: value for name, value in names.items() if value is not None and name != "self"}


def checked(declaration: type[_R], arguments: Mapping[str, Any], path: str = "") -> _R:
    """The request that arguments make.

    Args:
        path: the argument that holds them; "" = they are arguments themselves.

    Raises:
        ValidationError: the first bad value, with its place; an unknown name, with the nearest and
            all that there are; a missing one.

    Example:
        >>> from vestig.calls.memories import ListRequest
        >>> checked(ListRequest, {"limit": 3, "tags": "infra"}).where.tags
        ('infra',)
        >>> checked(ListRequest, {"limit": 0})
        Traceback (most recent call last):
        ...
        vestig.errors.ValidationError: limit: expected an integer from 1 to 1000, got 0
    """
    _, checks, where = _plan(declaration)
    found: dict[str, Any] = {}
    beside: dict[str, Any] | None = None
    for name, value in arguments.items():
        if value is None:
            continue
        check = checks.get(name)
        if check is not None:
            found[name] = check(f"{path}.{name}" if path else name, value)
        elif where is not None and where.beside and name in KEYWORDS:
            beside = {name: value} if beside is None else beside | {name: value}
        elif name != "where" or where is None:
            _check_name(declaration, str(name), path)
    if where is not None:
        found["where"] = where.filter(arguments.get("where"), beside)
    try:
        return declaration(**found)
    except TypeError:
        rows = rows_of(declaration)
        missing = next((name for name in required_of(declaration) if name not in found), None)
        if missing is None:
            raise
        field = f"{path}.{missing}" if path else missing
        raise ValidationError(field, None, rows[missing].expected) from None


def _check_name(declaration: type[Request], name: str, path: str) -> None:
    """Refuses a name that a call does not have. `path`: as for `checked`.

    Raises:
        ValidationError: names the nearest, and all that there are.
    """
    plan = _plan(declaration)
    names = (*plan.rows, *(KEYWORDS if plan.where and plan.where.beside else ()))
    if name not in names:
        find = nearest_name if plan.where is None else nearest_argument
        kind = "field" if path else "argument"
        owner = path or declaration.call
        raise unknown_name_error(
            name, names, owner, kind, find(name, names, declaration.call), path=path
        )


# --- objects within arguments ------------------------------------------------------------------


class Nested(Object, frozen=True, kw_only=True):
    """An object that is declared as a call is."""

    of: type[Request]

    def check(self, field: str, value: Any) -> Any:
        if not isinstance(value, Mapping):
            names = ", ".join(rows_of(self.of))
            raise ValidationError(field, kind_of(value), f"an object with any of {names}")
        return checked(self.of, value, field)

    def schema(self, facts: Facts = NO_FACTS) -> dict[str, Any]:
        return schema_of(rows_of(self.of), required_of(self.of), facts)


def schema_of(
    rows: Mapping[str, Argument], required: Collection[str] = (), facts: Facts = NO_FACTS
) -> dict[str, Any]:
    """The JSON schema of an object of arguments. An optional one may be null, which is absent.

    Example:
        >>> from vestig.calls.memories import CountRequest
        >>> schema_of({"namespace": rows_of(CountRequest)["namespace"]})["properties"].keys()
        dict_keys(['namespace'])
    """
    properties = {name: _described(row, name in required, facts) for name, row in rows.items()}
    shown: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        shown["required"] = list(required)
    return shown | {"additionalProperties": False}


def _described(row: Argument, required: bool, facts: Facts) -> dict[str, Any]:
    plain = row.schema(facts)
    note = f" Default: {row.default_text}." if row.default_text else ""
    return (plain if required else or_null(plain)) | {"description": row.help + note}


WHERE = "Which memories take part: a `vestig.Filter`, or an object of its fields."

NAMESPACE = Namespace("The namespace to act in instead of the store's own.", "--namespace")
InNamespace = Annotated[str | None, NAMESPACE]
MemoryId = Annotated[str, Id("Id of the memory, or at least 8 characters of it.")]
Reason = Annotated[str | None, Label("Why; kept in the event.", "--reason", chars_max=500)]
Actor = Annotated[
    str | None,
    Label("Who forgets; kept in the tombstone.", "--actor", chars_max=SCOPE_CHARS_MAX, blank=False),
]
AsOf = Annotated[
    int | None,
    Time(
        "What was known and true at this time: `known_at` and `valid_at` at once.",
        "--as-of",
        day_us=LAST_OF_DAY_US,
    ),
]
KnownAt = Annotated[
    int | None,
    Time("Only what was recorded by this time.", "--known-at", day_us=LAST_OF_DAY_US),
]
ValidAt = Annotated[
    int | None, Time("Only facts that hold at this time.", "--valid-at", day_us=LAST_OF_DAY_US)
]
QueryTime = Annotated[
    int | None,
    Time("The moment at which the query is asked, for words such as yesterday; default now."),
]
Touch = Annotated[bool, Flag("Count this as an access of each result.", "--touch")]
Trace = Annotated[bool, Flag("Add each stage with its time and counts.", "--trace")]
