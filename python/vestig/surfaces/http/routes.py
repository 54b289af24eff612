"""The routes: which operation answers which path, and its arguments in a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal
from urllib.parse import unquote_to_bytes

import msgspec

from vestig.calls.argument import Argument, Flag, Integer, Number, Texts
from vestig.calls.declaration import rows_of
from vestig.calls.files import ImportRequest
from vestig.calls.filter import Where
from vestig.errors import Description, ValidationError
from vestig.lazy_pattern import lazy_pattern
from vestig.surfaces.http.access import Refusal
from vestig.surfaces.json_schema import decoded
from vestig.surfaces.operation import Arguments, Operation, operations

PREFIX: Final = "/api/memory"
_INTEGER: Final = lazy_pattern(r"-?[0-9]{1,16}")
# How the name of a parameter begins that is a field of the filter.
_OF_FILTER: Final = "where."
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
    def beside(self) -> tuple[str, ...]:
        """Names that a body may have in the place of arguments, or beside them."""
        names = {"items": self.items, _EXPLAIN.name: self.operation.ranked}
        return tuple(name for name, has_it in names.items() if has_it)

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
        if arguments is None:
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


def query_pairs(query: bytes) -> list[tuple[str, str]]:
    """Names and values of a query string.

    Raises:
        Refusal: 400, it is no UTF-8.

    Example:
        >>> query_pairs(b"scope=user/mia&key=caf%C3%A9")
        [('scope', 'user/mia'), ('key', 'café')]
    """
    try:
        return [
            (_text(name), _text(value))
            for name, _, value in (part.partition(b"=") for part in query.split(b"&") if part)
        ]
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise Refusal(
            "validation", f"query: expected percent-encoded UTF-8, got the byte %{byte:02X}",
            status=400,
        ) from None  # fmt: skip


def _text(part: bytes) -> str:
    return unquote_to_bytes(part.replace(b"+", b" ")).decode()


def from_query(rows: Mapping[str, Argument], pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The object that a query string stands for: texts by the kinds of their parameters; the
    filter as JSON text under `where`, or its fields one by one, `where.tags=infra`, once for each
    value of a list. Unknown names stay, for the reader to refuse.

    Raises:
        ValidationError: a name twice; a value that its kind cannot be read from.

    Example:
        >>> from vestig.calls.memories import ListRequest
        >>> from_query(rows_of(ListRequest), [("limit", "3"), ("where", '{"tags": "infra"}')])
        {'limit': 3, 'where': {'tags': 'infra'}}
        >>> from_query(rows_of(ListRequest), [("where.tags", "a"), ("where.tags", "b")])
        {'where': {'tags': ['a', 'b']}}
    """
    found: dict[str, Any] = {}
    of_filter: dict[str, list[str]] = {}
    where = rows.get("where")
    for name, text in pairs:
        field = name.removeprefix(_OF_FILTER)
        if field != name and isinstance(where, Where):
            of_filter.setdefault(field, []).append(text)
        elif name in found:
            raise ValidationError(name, Description("two"), "one value")
        else:
            found[name] = _read(name, rows[name], text) if name in rows else text
    if not of_filter or not isinstance(where, Where):
        return found
    if "where" in found:
        raise ValidationError("where", Description("both"), "JSON, or its fields one by one")
    return found | {"where": {n: _of_field(where, n, texts) for n, texts in of_filter.items()}}


def _of_field(where: Where, field: str, texts: Sequence[str]) -> Any:
    """A field of the filter from its values in a query; of an unknown one these."""
    row = where.fields.get(field)
    if row is None or isinstance(row, Texts):
        return texts[0] if len(texts) == 1 else texts
    if len(texts) > 1:
        raise ValidationError(f"{_OF_FILTER}{field}", Description("several"), "one value")
    return _read(f"{_OF_FILTER}{field}", row, texts[0])


def _read(name: str, row: Argument, text: str) -> Any:
    if isinstance(row, Where):
        try:
            return decoded(text.encode())
        except (UnicodeEncodeError, ValidationError) as error:
            hint = "or each field by itself: where.scope=user/mia&where.tags=infra"
            if text.lstrip().startswith("{") and isinstance(error, ValidationError):
                hint = error.brief.partition("; ")[2]
            raise ValidationError(
                name, text, 'JSON text such as {"scope": "user/mia"}', hint
            ) from None
    if isinstance(row, Integer):
        if not _INTEGER.fullmatch(text):
            raise ValidationError(name, text, "an integer")
        return int(text)
    if isinstance(row, Flag):
        if text not in _TRUTH:
            raise ValidationError(name, text, "true or false")
        return _TRUTH[text]
    if isinstance(row, Number):
        try:
            return float(text)
        except ValueError:
            raise ValidationError(name, text, "a number") from None
    return text
