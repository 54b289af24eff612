"""The store of LangGraph (`BaseStore`): its namespaces are scopes, its items are items."""

from __future__ import annotations

import asyncio
import operator as operators
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from vestig.calls.filter import FilterFields
from vestig.calls.items import key_of_part
from vestig.errors import ValidationError, kind_of
from vestig.integrations import check_store, count_masked
from vestig.items.put import extend
from vestig.module_words import missing_name
from vestig.results import Item as StoredItem
from vestig.times import from_us

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        PutOp,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        tokenize_path,
    )
except ImportError as error:
    from vestig.hints import missing_package

    raise ImportError(
        missing_package("vestig.integrations.langgraph", "langgraph", "langgraph")
    ) from error

if TYPE_CHECKING:
    from vestig.api.store import Vestig

_PAGE: Final = 1_000
_WHOLE: Final = ("$",)
# Characters that a part of a scope cannot have.
_ESCAPED: Final = (("%", "%25"), ("/", "%2F"), ("\x1f", "%1F"))
_ORDERED: Final = {
    "$gt": operators.gt,
    "$gte": operators.ge,
    "$lt": operators.lt,
    "$lte": operators.le,
}
_Namespace = tuple[str, ...]


if not TYPE_CHECKING:  # a type checker knows the names that there are

    def __getattr__(name: str) -> NoReturn:
        raise missing_name(name, globals())


class VestigStore(BaseStore):
    """A store of LangGraph in a store of Vestig; of one process or several.

    Values are kept as they are, and found by the words of the fields that are indexed.

    Args:
        store: an open store.
        scope: the scope below which all namespaces lie.
        fields: paths of the fields by which searches find an item, where a put names none; default
            the whole value.
        ttl: `default_ttl` in minutes and `refresh_on_read`, as LangGraph defines them.

    Example:
        >>> import vestig
        >>> from vestig.testing import HashingEmbedder
        >>> opened = vestig.open(":memory:", embedder=HashingEmbedder())
        >>> store = VestigStore(opened, fields=["likes"])
        >>> store.put(("users", "ada"), "tea", {"likes": "Ada likes green tea"})
        >>> store.get(("users", "ada"), "tea").value
        {'likes': 'Ada likes green tea'}
        >>> [one.key for one in store.search(("users",), query="what does Ada like?")]
        ['tea']
    """

    supports_ttl = True

    def __init__(
        self,
        store: Vestig,
        *,
        scope: str = "langgraph",
        fields: Iterable[str] = _WHOLE,
        ttl: TTLConfig | None = None,
    ) -> None:
        check_store(store, scope, below=True)
        self._store = store
        self._root = scope
        self._fields = tuple(_texts(fields))
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Answers reads from the state before the call, then does its puts, of which the last of a
        key counts: all values in one transaction, then deletions."""
        results: list[Any] = []
        puts: dict[tuple[_Namespace, str], PutOp] = {}
        for op in ops:
            if isinstance(op, GetOp):
                results.append(self._get(op))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(self._namespaces(op))
            elif isinstance(op, PutOp):
                puts[_tuple(op.namespace), op.key] = op
                results.append(None)
            else:
                raise ValueError(f"Unknown operation type: {type(op)}")
        self._put(puts)
        return results

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """Does what `batch` does, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    # --- writing -------------------------------------------------------------------------------

    def _put(self, ops: Mapping[tuple[_Namespace, str], PutOp]) -> None:
        gone: dict[str, list[str]] = {}
        puts: list[dict[str, Any]] = []
        for (namespace, _), op in ops.items():
            scope = self._scope(namespace)
            if op.value is None:
                gone.setdefault(scope, []).append(op.key)
            elif not isinstance(op.value, Mapping):
                allowed = "an object (names to JSON values)"
                raise ValidationError("value", kind_of(op.value), allowed)
            else:
                puts.append(
                    {
                        "key": op.key,
                        "scope": scope,
                        "value": dict(op.value),
                        "text": self._text(op),
                        "expires": self._end(op.ttl),
                    }
                )
        for start in range(0, len(puts), _PAGE):
            count_masked(self._store.items.put_many(puts[start : start + _PAGE]))
        for scope, keys in gone.items():
            self._store.items.delete(keys, scope=scope)

    def _text(self, op: PutOp) -> str | None:
        if op.index is False:
            return None
        paths = self._fields if op.index is None else _texts(op.index)
        found = [
            text
            for path in paths
            for text in get_text_at_path(op.value, path if path == "$" else tokenize_path(path))
        ]
        return "\n".join(found) or None

    def _end(self, minutes: float | None) -> Any:
        if minutes is None:
            return None
        return from_us(self._store._session.now_us()) + timedelta(minutes=minutes)

    # --- reading -------------------------------------------------------------------------------

    def _get(self, op: GetOp) -> Item | None:
        found = self._store.items.get(op.key, scope=self._scope(op.namespace))
        if found is None:
            return None
        if op.refresh_ttl:
            self._refresh([found])
        return Item(**self._fields_of(found))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        found = sorted(
            (one for one in self._below(op.namespace_prefix) if _passes(one.value, op.filter)),
            key=lambda one: one.created_at,
        )
        scored = [(one, None) for one in found] if not op.query else self._ranked(op, found)
        chosen = scored[op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            self._refresh([one for one, _ in chosen])
        return [SearchItem(**self._fields_of(one), score=score) for one, score in chosen]

    def _ranked(
        self, op: SearchOp, found: list[StoredItem]
    ) -> list[tuple[StoredItem, float | None]]:
        """Items by how well they answer the query, then those that do not, in their order."""
        wanted = {(one.scope, one.key): one for one in found}
        where: FilterFields = {"scope_prefix": self._scope(op.namespace_prefix)}
        # a page may begin anywhere among all that ranks
        hits = self._store.recall(op.query, where=where, limit=_PAGE, all=True)
        scored: dict[tuple[str | None, str], float | None] = {}
        for hit in hits:
            place = hit.memory.scope, key_of_part(hit.memory.key or "")
            if place in wanted:
                scored.setdefault(place, hit.score)
        rest = [place for place in wanted if place not in scored]
        return [(wanted[place], scored.get(place)) for place in (*scored, *rest)]

    def _below(self, prefix: _Namespace) -> Iterator[StoredItem]:
        scope, offset = self._scope(prefix), 0
        while page := self._store.items.list(scope, offset=offset, limit=_PAGE):
            yield from page
            offset += len(page)

    def _namespaces(self, op: ListNamespacesOp) -> list[_Namespace]:
        found = [self._namespace(one) for one in self._store.items.scopes(self._root)]
        for condition in op.match_conditions or ():
            path = _tuple(condition.path)
            found = [one for one in found if _matches(condition.match_type, path, one)]
        if op.max_depth is not None:
            found = list({one[: op.max_depth] for one in found})
        return sorted(found)[op.offset : op.offset + op.limit]

    def _refresh(self, items: Iterable[StoredItem]) -> None:
        """Items that end do so later: as long after now as they did after they were put."""
        extend(self._store._session, items)

    # --- names ---------------------------------------------------------------------------------

    def _scope(self, namespace: _Namespace) -> str:
        """The scope of a namespace.

        Example:
            >>> store = VestigStore.__new__(VestigStore)
            >>> store._root = "langgraph"
            >>> store._scope(("a/b", "c")), store._namespace(store._scope(("a/b", "c")))
            ('langgraph/a%2Fb/c', ('a/b', 'c'))
        """
        return "/".join((self._root, *map(_escaped, _tuple(namespace))))

    def _namespace(self, scope: str | None) -> _Namespace:
        inner = cast("str", scope)[len(self._root) + 1 :]
        return tuple(map(_plain, inner.split("/"))) if inner else ()

    def _fields_of(self, item: StoredItem) -> dict[str, Any]:
        return {
            "namespace": self._namespace(item.scope),
            "key": item.key,
            "value": item.value,
            "created_at": item.created_at,
            "updated_at": item.updated_at,
        }


def _tuple(namespace: Any) -> _Namespace:
    """The labels of a namespace; a text is no tuple of its letters.

    Raises:
        ValidationError: it is no tuple, or a label of it is no text.
    """
    labels = namespace if isinstance(namespace, (tuple, list)) else (None,)
    if not all(isinstance(one, str) for one in labels):
        hint = f"write ({namespace!r},)" if isinstance(namespace, str) else ""
        raise ValidationError("namespace", namespace, "a tuple of texts", hint)
    return tuple(labels)


def _texts(fields: Iterable[str]) -> Iterable[str]:
    """Paths of fields; one text stands for a list of one."""
    return (fields,) if isinstance(fields, str) else fields


def _escaped(label: str) -> str:
    for char, code in _ESCAPED:
        label = label.replace(char, code)
    return label


def _plain(part: str) -> str:
    for char, code in reversed(_ESCAPED):
        part = part.replace(code, char)
    return part


def _matches(kind: str, path: _Namespace, namespace: _Namespace) -> bool:
    if len(namespace) < len(path):
        return False
    if kind == "prefix":
        part = namespace[: len(path)]
    elif kind == "suffix":
        part = namespace[len(namespace) - len(path) :]
    else:
        raise ValueError(f"Unsupported match type: {kind}")
    return all(wanted in ("*", one) for wanted, one in zip(path, part, strict=True))


def _passes(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    return not wanted or all(_equals(value.get(name), one) for name, one in wanted.items())


def _equals(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        if any(name.startswith("$") for name in wanted):
            return all(_holds(value, name, one) for name, one in wanted.items())
        inner = isinstance(value, dict)
        return inner and all(_equals(value.get(name), one) for name, one in wanted.items())
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(wanted)
            and all(map(_equals, value, wanted))
        )
    return bool(value == wanted)


def _holds(value: Any, operator: str, wanted: Any) -> bool:
    """Return whether a value compares so; one that is missing, or none of its kind, is neither
    above nor below."""
    if operator == "$eq":
        return bool(value == wanted)
    if operator == "$ne":
        return bool(value != wanted)
    compare = _ORDERED.get(operator)
    if compare is None:
        raise ValueError(f"Unsupported operator: {operator}")
    limit = _number(wanted)
    if limit is None:
        raise ValueError(f"{operator}: expected a number, got {type(wanted).__name__}")
    number = _number(value)
    return number is not None and compare(number, limit)


def _number(value: Any) -> float | None:
    """A number, or a text that is one; None for others."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
