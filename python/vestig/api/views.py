"""Views of a store: the scope in which their calls read and write, and who wrote it.

A view is a store with a `Binding`; each public call that has a place for the scope is given it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, ParamSpec, TypeVar

from vestig.calls.filter import Filter
from vestig.errors import ValidationError
from vestig.session.session import Session

if TYPE_CHECKING:
    from inspect import BoundArguments, Signature

_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C")

# Calls whose `scope` is a field that they change.
_CHANGES_SCOPE: Final = frozenset(("update",))
# Calls that act on a selection, which a scope alone must not become.
_SELECTION: Final[Mapping[str, tuple[str, ...]]] = {
    "forget": ("where",),
    "deprecate": ("where",),
    "delete": ("keys",),
}
# Calls of several writes at once, each with arguments of its own.
_ITEMS: Final[Mapping[str, str]] = {"commit_many": "content", "put_many": ""}
# Names of a scope beside `scope`; `prefix` is one where a call has no scope.
_OTHER_NAMES: Final = ("channel_id", "scope_prefix", "prefix")


class Binding(NamedTuple):
    """The scope of a view, and the author of what is written through it and names none."""

    scope: str
    author: str | None


class ViewSession(Session):
    """A session whose calls act in another namespace; all else is that of the session it views."""

    __slots__ = ("_space",)

    def __init__(self, session: Session, namespace: str) -> None:
        self.__dict__ = session.__dict__
        self._space = namespace

    @property
    def namespace(self) -> str:  # type: ignore[override]
        """The namespace in which its calls act."""
        return self._space


def binds_methods(cls: type[_C]) -> type[_C]:
    """A class whose public methods give what its `_binding` binds, where it has one."""
    for name, method in list(vars(cls).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(cls, name, _binds(method))
    return cls


def _binds(function: Callable[_P, _R]) -> Callable[_P, _R]:
    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        binding: Binding | None = args[0]._binding  # type: ignore[attr-defined]
        if binding is None:
            return function(*args, **kwargs)
        try:
            given = _signature(function).bind_partial(*args, **kwargs)
        except TypeError:
            # the call says itself what is wrong
            return function(*args, **kwargs)
        _bind(binding, function.__name__, given)
        return function(*given.args, **given.kwargs)

    return call


@cache
def _signature(function: Callable[..., Any]) -> Signature:
    # it loads the modules of the compiler, which a call of a store itself does not need
    from inspect import signature

    return signature(function)


def _bind(binding: Binding, call: str, given: BoundArguments) -> None:
    """Puts what the view binds among the arguments of a call.

    Raises:
        ValidationError: they name another scope.
    """
    names, found = given.signature.parameters, given.arguments
    if call in _ITEMS:
        found["items"] = _bound_items(binding, found.get("items"), _ITEMS[call])
        return
    if call in _CHANGES_SCOPE:
        return
    _check(binding, found, ("scope", *_OTHER_NAMES) if "scope" in names else _OTHER_NAMES)
    _check(binding, _fields(found.get("where")), ("scope", "scope_prefix", "unscoped"), "where.")
    if "author" in names and found.get("author") is None:
        found["author"] = binding.author
    if call in _SELECTION and not any(_fields(found.get(name)) for name in _SELECTION[call]):
        return
    if "scope" in names:
        found["scope"] = binding.scope
    elif "where" in names:
        found["where"] = {**_fields(found.get("where")), "scope": binding.scope}
    else:
        place = next((name for name in _OTHER_NAMES if name in names), None)
        if place is not None and found.get(place) is None:
            found[place] = binding.scope


def _check(
    binding: Binding, given: Mapping[str, Any], names: Iterable[str], path: str = ""
) -> None:
    """Refuses a scope that is neither the one of the view nor, as a prefix, below it."""
    for name in names:
        value = given.get(name)
        if value is None or value in (binding.scope, [binding.scope], (binding.scope,)):
            continue
        below = isinstance(value, str) and value.startswith(f"{binding.scope}/")
        if not (below and name.endswith("prefix")):
            raise ValidationError(
                f"{path}{name}",
                value,
                f"none, for this view is bound to the scope {binding.scope!r}",
                "the store that it is a view of takes every scope",
            )


def _fields(value: Any) -> Any:
    """The fields of a filter by name; what is no filter as it is, absent as {}."""
    if isinstance(value, Filter):
        return {name: getattr(value, name) for name in value.named()}
    return {} if value is None else value


def _bound_items(binding: Binding, items: Any, content: str) -> Any:
    """The arguments of each write with what the view binds; what is none is left for its check.

    Args:
        content: the argument that an item is which is a text; "" = none is.
    """

    def bound(item: Any) -> Any:
        if isinstance(item, str) and content:
            item = {content: item}
        if not isinstance(item, Mapping):
            return item
        _check(binding, item, ("scope",), "items.")
        authored = {} if binding.author is None or not content else {"author": binding.author}
        return {**authored, **item, "scope": binding.scope}

    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        return items
    found = map(bound, items)
    return list(found) if isinstance(items, Sequence) else found
