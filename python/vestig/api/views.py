"""Views of a store: the scope in which their calls read and write, and who wrote it.

A view is a store with a `Binding`. A public call that has a place for the scope is given it; one
that takes ids knows those of the scope alone, by its `ViewSession`; every other is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, ParamSpec, TypeVar

from vestig.calls.filter import Filter, no_filter
from vestig.calls.scope import AUTO, check_scope
from vestig.errors import ConflictError, NotFoundError, ValidationError
from vestig.other_words import of_every_scope
from vestig.session.session import Session

if TYPE_CHECKING:
    from inspect import BoundArguments, Signature

_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C")

# Calls that take ids of memories or documents and have no other place for a scope: the session
# knows those of the scope alone. The scope of `update` is the one that it writes.
_BY_ID: Final = frozenset(
    f"Vestig.{name}"
    for name in (
        "update", "supersede", "pin", "unpin", "archive", "unarchive", "confirm", "record_access",
        "show", "events", "supersession_chain", "forget_document",
    )
) | {"Anchors.show", "Anchors.refresh", "Rules.show", "Rules.edit", "Rules.remove"}  # fmt: skip
# Calls without memories.
_OF_ALL: Final = frozenset(("Vestig.close", "Vestig.fresh"))
# Calls that act on a selection, which a scope alone must not become.
_SELECTION: Final[Mapping[str, tuple[str, ...]]] = {
    "forget": ("where",),
    "deprecate": ("where",),
    "delete": ("keys",),
}
# Calls of several writes at once, each with arguments of its own.
_ITEMS: Final[Mapping[str, str]] = {"commit_many": "content", "put_many": ""}
# Calls that find the current memory of a key.
_OF_A_KEY: Final = frozenset(("get", "history"))
# Calls whose `scope` may be several.
_OF_SCOPES: Final = frozenset(("keys", "stale"))
# Names of a scope beside `scope`; `prefix` is one where a call has no scope.
_OTHER_NAMES: Final = ("channel_id", "scope_prefix", "prefix")


class Binding(NamedTuple):
    """The scope of a view, and the author of what is written through it and names none. `folder`:
    that of the project whose scope it is, where a branch may be checked out; None: the scope was
    named."""

    scope: str
    author: str | None
    folder: str | None = None

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that its reads see."""
        if self.folder is None:
            return (self.scope,)
        from vestig.repository.branches import read_scopes

        return read_scopes(self.scope, self.folder)


def binding_of(session: Session, scope: str, author: str | None) -> Binding:
    """The binding of a view; `auto` is the project of the working folder.

    Raises:
        ValidationError: there is no such folder; `auto` in other letters.
    """
    if scope != AUTO:
        check_scope("scope", scope)
        return Binding(scope, author)
    from vestig.config.environment import project_folder
    from vestig.repository.project import project_scope

    working = session.working_folder()
    if working is None:
        raise ValidationError("scope", scope, "the name of a scope", "there is no working folder")
    folder = project_folder(working=working)
    return Binding(project_scope(folder), author, str(folder))


class ViewSession(Session):
    """A session whose calls act in a namespace and know the ids of what the view reads; all else is
    that of the session it views."""

    __slots__ = ("_bound", "_space")

    def __init__(self, session: Session, namespace: str, bound: Binding) -> None:
        self.__dict__ = session.__dict__
        self._space = namespace
        self._bound = bound

    @property
    def namespace(self) -> str:  # type: ignore[override]
        """The namespace in which its calls act."""
        return self._space

    @property
    def scope(self) -> str:
        """The scope in which its calls write."""
        return self._bound.scope

    def may_name(self, scope: str | None) -> bool:
        """Return whether the view reads this scope."""
        # which branch is checked out stands in a file
        return scope == self._bound.scope or scope in self._bound.scopes


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
        session: Session = args[0]._session  # type: ignore[attr-defined]
        _bind(binding, session, function.__qualname__, given)
        if function.__name__ in _OF_A_KEY:
            # a value of the branch stands for that of the project
            for scope in binding.scopes[:0:-1]:
                with suppress(NotFoundError):
                    return function(*given.args, **{**given.kwargs, "scope": scope})
        return function(*given.args, **given.kwargs)

    return call


@cache
def _signature(function: Callable[..., Any]) -> Signature:
    # it loads the modules of the compiler, which a call of a store itself does not need
    from inspect import signature

    return signature(function)


def _bind(binding: Binding, session: Session, path: str, given: BoundArguments) -> None:
    """Puts what the view binds among the arguments of a call.

    Args:
        path: the class and name of the call.

    Raises:
        ConflictError: the call has no place for a scope.
        ValidationError: its arguments name another scope.
    """
    group, _, call = path.rpartition(".")
    names, found = given.signature.parameters, given.arguments
    if call in _ITEMS:
        found["items"] = _bound_items(binding, session, found.get("items"), _ITEMS[call])
        return
    places = {"scope", "where", *_OTHER_NAMES} & names.keys()
    if not places and path not in _BY_ID | _OF_ALL:
        named = call if group == "Vestig" else f"{group.lower()}.{call}"
        raise ConflictError(
            f"{named} acts on all scopes, and this view is bound to the scope {binding.scope!r}:"
            " the store that it is a view of has the call"
        )
    others = [one for one in _OTHER_NAMES if one != "prefix" or "scope" not in names]
    _check(binding, found, ("scope", *others))
    where = _fields(found.get("where"))
    if not isinstance(where, Mapping):
        raise no_filter(where)
    _check(binding, where, ("scope", "scope_prefix", "unscoped"), "where.")
    if "author" in names and found.get("author") is None:
        found["author"] = binding.author
    if path in _BY_ID:
        cleared = found.get("clear")
        if isinstance(cleared, Collection) and "scope" in cleared:
            _check(binding, {"scope": "none"}, ("scope",))
        return
    if call in _SELECTION and not any(_fields(found.get(name)) for name in _SELECTION[call]):
        return
    if "where" in names:
        fields = _fields(found.get("where"))
        # what is no filter is left for its check
        if isinstance(fields, Mapping):
            found["where"] = {**fields, "scope": binding.scopes}
            for name in ("scope", "channel_id"):
                found.pop(name, None)
    elif "anchor" in names:
        found.update(_placed(binding, session, [found])[0])
    elif "scope" in names:
        found["scope"] = binding.scopes if call in _OF_SCOPES else binding.scope
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
                of_every_scope(binding.scope, name),
            )


def _fields(value: Any) -> Any:
    """The fields of a filter by name; what is no filter as it is, absent as {}."""
    if isinstance(value, Filter):
        return {name: getattr(value, name) for name in value.named()}
    return {} if value is None else value


def _placed(
    binding: Binding, session: Session, commits: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The arguments of commits, each with its scope."""
    if binding.folder is None:
        return [{**one, "scope": binding.scope} for one in commits]
    from vestig.commit.branches import in_project

    return in_project(session, binding.scope, commits)


def _bound_items(binding: Binding, session: Session, items: Any, content: str) -> Any:
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

    def is_commit(item: Any) -> bool:
        return bool(content) and isinstance(item, Mapping)

    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        return items
    found = map(bound, items)
    if not isinstance(items, Sequence):
        # each by itself, for nothing is read ahead of what is stored
        return (_placed(binding, session, [one])[0] if is_commit(one) else one for one in found)
    given = list(found)
    places = iter(_placed(binding, session, [one for one in given if is_commit(one)]))
    return [next(places) if is_commit(one) else one for one in given]
