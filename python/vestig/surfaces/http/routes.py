"""The routes: which operation answers which path, and its arguments in a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from vestig.calls.argument import Argument, Flag, Integer
from vestig.calls.declaration import rows_of
from vestig.calls.files import ImportRequest
from vestig.errors import Description, ValidationError
from vestig.lazy_pattern import lazy_pattern
from vestig.surfaces.json_schema import decoded
from vestig.surfaces.operation import Arguments, Operation, operations

PREFIX: Final = "/api/memory"
_INTEGER: Final = lazy_pattern(r"-?[0-9]{1,16}")
_TRUTH: Final = {"true": True, "false": False}
_EXPLAIN: Final = Flag(
    "Say of each result why it is there, with all that its score is made of.", name="explain"
)
_IMPORTED: Final = ("format", "scope", "include_system", "merge", "partial")


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One operation as a route. `items`: a body may hold several objects of arguments under
    `items`. `fixed`: arguments that its path sets."""

    operation: Operation
    arguments: Arguments
    method: Literal["GET", "POST"]
    path: str
    items: bool = False
    fixed: Mapping[str, Any] = {}

    @property
    def name(self) -> str:
        """Its path in one word: what logs and documents call it."""
        return self.path.removeprefix(f"{PREFIX}/").partition("/{")[0].replace("/", "-")

    @property
    def is_late(self) -> bool:
        """Return whether its answer may come later than the time limit: what it does is done
        whether or not somebody waits."""
        return self.operation.slow or self.operation.writes

    @property
    def parameters(self) -> dict[str, Argument]:
        """The arguments with those that only HTTP has."""
        return self.arguments.rows | ({_EXPLAIN.name: _EXPLAIN} if self.operation.ranked else {})


def routes(*, traced: bool = False) -> Iterator[Route]:
    """A route for each operation that has one and exists; `traced`: with those of traces.

    Example:
        >>> [route.path for route in routes()][:1]
        ['/api/memory/commit']
    """
    for operation in operations():
        arguments = operation.arguments
        if not operation.path or arguments is None:
            continue
        method, _, path = operation.path.partition(" ")
        route = Route(
            operation=operation,
            arguments=arguments,
            method="GET" if method == "GET" else "POST",
            path=f"{PREFIX}/{path}",
            items=operation.name == "memory add",
        )
        yield route
        if traced and operation.limited:
            path = f"{route.path}/debug"
            yield msgspec.structs.replace(route, path=path, fixed={"debug": True})


IMPORT_PARAMETERS: Final = {
    name: row for name, row in rows_of(ImportRequest).items() if name in _IMPORTED
}


def from_query(rows: Mapping[str, Argument], pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The object that a query string stands for: texts by the kinds of their parameters, `where`
    as JSON text. Unknown names stay, for the reader to refuse.

    Raises:
        ValidationError: a name twice; a value that its kind cannot be read from.

    Example:
        >>> from vestig.calls.memories import ListRequest
        >>> from_query(rows_of(ListRequest), [("limit", "3"), ("where", '{"tags": "infra"}')])
        {'limit': 3, 'where': {'tags': 'infra'}}
    """
    found: dict[str, Any] = {}
    for name, text in pairs:
        if name in found:
            raise ValidationError(name, Description("given twice"), "one value")
        if name == "where":
            try:
                found[name] = decoded(text.encode())
            except UnicodeEncodeError:
                raise ValidationError(
                    name, Description("text"), "text without lone surrogates"
                ) from None
        else:
            found[name] = _read(rows[name], text) if name in rows else text
    return found


def _read(row: Argument, text: str) -> Any:
    if isinstance(row, Integer):
        if not _INTEGER.fullmatch(text):
            raise ValidationError(row.name, Description("text"), "an integer")
        return int(text)
    if isinstance(row, Flag):
        if text not in _TRUTH:
            raise ValidationError(row.name, Description("text"), "true or false")
        return _TRUTH[text]
    return text
