"""The routes: which operation answers which path, and its arguments in a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from vestig.calls.argument import Argument, Flag, Integer
from vestig.calls.declaration import rows_of
from vestig.calls.files import ImportRequest
from vestig.errors import ValidationError
from vestig.lazy_pattern import lazy_pattern
from vestig.surfaces.json_schema import decoded
from vestig.surfaces.operation import Arguments, Operation, operations

PREFIX: Final = "/api/memory"
_INTEGER: Final = lazy_pattern(r"-?[0-9]{1,16}")
_TRUTH: Final = {"true": True, "false": False}
_EXPLAIN: Final = Flag(
    "Say of each result why it is there, with all that its score is made of.", name="explain"
)
# operation → method and path below PREFIX; a part in braces is an argument
_PATHS: Final[dict[str, tuple[Literal["GET", "POST"], str]]] = {
    "retrieve": ("POST", "retrieve"),
    "memory add": ("POST", "commit"),
    "memory add-structured": ("POST", "commit-structured"),
    "memory recall": ("POST", "recall"),
    "search": ("POST", "search"),
    "graph search": ("POST", "graph/search"),
    "graph neighbourhood": ("POST", "neighbourhood"),
    "memory show": ("GET", "show/{id}"),
    # a key may hold a slash
    "memory get": ("GET", "get"),
    "memory list": ("GET", "list"),
    "count": ("GET", "count"),
    "diff": ("GET", "diff"),
    "memory events": ("GET", "events/{id}"),
    "memory pin": ("POST", "pin"),
    "memory unpin": ("POST", "unpin"),
    "memory archive": ("POST", "archive"),
    "memory restore": ("POST", "restore"),
    "memory update": ("POST", "update"),
    "memory deprecate": ("POST", "deprecate"),
    "memory supersede": ("POST", "supersede"),
    "memory forget": ("POST", "forget"),
    "item put": ("POST", "item/put"),
    "item put-many": ("POST", "item/put-many"),
    "item get": ("GET", "item/get"),
    "item delete": ("POST", "item/delete"),
    "item list": ("GET", "item/list"),
    "item scopes": ("GET", "item/scopes"),
    "document add": ("POST", "document/add"),
    "document list": ("GET", "document/list"),
    "document forget": ("POST", "document/forget"),
    "entity list": ("GET", "entity/list"),
    # a name may hold a slash
    "entity show": ("GET", "entity/show"),
    "entity extract": ("POST", "entity/extract"),
    "entity merge": ("POST", "entity/merge"),
    "entity expire": ("POST", "entity/expire"),
    "entity purge": ("POST", "entity/purge"),
    "edge list": ("GET", "edge/list"),
    "edge show": ("GET", "edge/show/{id}"),
    "edge link": ("POST", "edge/link"),
    "edge unlink": ("POST", "edge/unlink"),
    "edge rebuild": ("POST", "edge/rebuild"),
    "housekeeping gc": ("POST", "housekeeping/gc"),
    "housekeeping secrets": ("POST", "housekeeping/secrets"),
    "housekeeping prune": ("POST", "housekeeping/prune"),
    "housekeeping enrich": ("POST", "housekeeping/enrich"),
    "cognify": ("POST", "cognify"),
    "housekeeping compact": ("POST", "housekeeping/compact"),
    "housekeeping entity-backfill": ("POST", "housekeeping/entity-backfill"),
    "export": ("POST", "export"),
    "backup": ("POST", "backup"),
    "rebuild": ("POST", "rebuild"),
    "stats": ("GET", "stats"),
    "doctor": ("GET", "doctor"),
}
_RANKED: Final = ("memory recall", "search", "graph search")
# Their time grows with the store or with what they are given.
_LONG: Final = (
    "document add",
    "entity extract",
    "edge rebuild",
    "housekeeping gc",
    "housekeeping secrets",
    "housekeeping prune",
    "housekeeping enrich",
    "cognify",
    "housekeeping compact",
    "housekeeping entity-backfill",
    "export",
    "backup",
    "rebuild",
    "doctor",
)
_LIMITED: Final = ("retrieve",)
# Operations whose trace is asked for at a path of its own.
_TRACED: Final = ("retrieve",)
_IMPORTED: Final = ("format", "scope", "include_system", "merge", "partial")


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One operation as a route. `explains`: results may come with their reasons. `items`: a body
    may hold several objects of arguments under `items`. `limited`: clients may only ask so often.
    `fixed`: arguments that its path sets. `is_long`: its time grows with the store or its input."""

    operation: Operation
    arguments: Arguments
    method: Literal["GET", "POST"]
    path: str
    explains: bool = False
    items: bool = False
    limited: bool = False
    fixed: Mapping[str, Any] = {}
    is_long: bool = False

    @property
    def name(self) -> str:
        """Its path in one word: what logs and documents call it."""
        return self.path.removeprefix(f"{PREFIX}/").partition("/{")[0].replace("/", "-")

    @property
    def is_late(self) -> bool:
        """Return whether its answer may come later than the time limit: what it does is done
        whether or not somebody waits."""
        return self.is_long or self.operation.writes

    @property
    def parameters(self) -> dict[str, Argument]:
        """The arguments with those that only HTTP has."""
        return self.arguments.rows | ({_EXPLAIN.name: _EXPLAIN} if self.explains else {})


def routes(*, traced: bool = False) -> Iterator[Route]:
    """A route for each operation that has one and exists; `traced`: with those of traces.

    Example:
        >>> [route.path for route in routes()][:1]
        ['/api/memory/commit']
    """
    for operation in operations():
        arguments = operation.arguments
        if operation.name not in _PATHS or arguments is None:
            continue
        method, path = _PATHS[operation.name]
        route = Route(
            operation=operation,
            arguments=arguments,
            method=method,
            path=f"{PREFIX}/{path}",
            explains=operation.name in _RANKED,
            items=operation.name == "memory add",
            limited=operation.name in _LIMITED,
            is_long=operation.name in _LONG,
        )
        yield route
        if traced and operation.name in _TRACED:
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
            raise ValidationError(name, "given twice", "one value")
        if name == "where":
            try:
                found[name] = decoded(text.encode())
            except UnicodeEncodeError:
                raise ValidationError(name, "text", "text without lone surrogates") from None
        else:
            found[name] = _read(rows[name], text) if name in rows else text
    return found


def _read(row: Argument, text: str) -> Any:
    if isinstance(row, Integer):
        if not _INTEGER.fullmatch(text):
            raise ValidationError(row.name, "text", "an integer")
        return int(text)
    if isinstance(row, Flag):
        if text not in _TRUTH:
            raise ValidationError(row.name, "text", "true or false")
        return _TRUTH[text]
    return text
