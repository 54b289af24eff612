"""Guards of every public call: what is said of arguments and attributes that do not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import wraps
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Final, NoReturn, ParamSpec, TypeVar

from vestig.calls.filter import FIELDS, nearest_argument
from vestig.errors import ValidationError, VestigError, kind_of
from vestig.hints import nearest_name, unknown_name
from vestig.other_words import (
    GROUPS,
    attribute_of_group,
    attribute_of_store,
    group_that_is_called,
    missing_attribute,
    of_every_scope,
)
from vestig.word_tables import call_words

if TYPE_CHECKING:
    from inspect import BoundArguments, Parameter

_DEPTH_MAX: Final = 8
# Arguments that a view, which has a scope, is not asked for in another way either.
_OF_SCOPES: Final = frozenset(("unscoped", "scope", "scope_prefix"))
# The name of its class, in small letters; that of a group is the group's.
_STORE: Final = "vestig"
# What a subscript of a group of calls does → the call that does it with a key of the store.
_OF_KEYS: Final = {
    "get": "store.get",
    "put": "store.commit(text, key=…)",
    "delete": 'store.forget(where={"keys": …})',
}
# The flag of the code of a generator, as `inspect.CO_GENERATOR`.
_GENERATOR: Final = 32

_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C")


def names_faults(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, which raises `ValidationError` with the argument's name where a method of the
    argument itself raised. It costs nothing where nothing is raised.

    Example:
        >>> class Unreadable(list):
        ...     def __iter__(self):
        ...         raise OSError("gone")
        >>> names_faults(lambda tags: sorted(tags))(Unreadable())
        Traceback (most recent call last):
        ...
        vestig.errors.ValidationError: tags: expected a value whose methods work, got \
an Unreadable; its __iter__ raised OSError
    """

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except VestigError:
            raise
        except Exception as error:  # the caller's code may raise anything
            wrong = _wrong_arguments(error, function, args, kwargs)
            if wrong is not None:
                raise wrong from None
            import inspect

            fault = _fault(error, lambda: inspect.signature(function).bind(*args, **kwargs))
            if fault is None:
                raise
            raise fault from error

    return call


def names_faults_of_methods(cls: type[_C]) -> type[_C]:
    """A class with `names_faults` around its public methods."""
    for name, method in list(vars(cls).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(cls, name, names_faults(method))
    return cls


def _wrong_arguments(
    error: Exception,
    function: Callable[..., object],
    places: tuple[object, ...],
    given: Mapping[str, object],
) -> TypeError | None:
    """A call with a name that the function does not have, with more arguments by place than it
    takes so, or without one that it needs; it never began to run."""
    if not isinstance(error, TypeError):
        return None
    import inspect

    own = getattr(inspect.unwrap(function), "__code__", None)
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code is own:
            return None
        step = step.tb_next
    rows = inspect.signature(function).parameters
    names = [name for name in rows if name != "self"]
    # `open_store` is public as `vestig.open`
    owner = function.__name__.removesuffix("_store")
    for name in given:
        if name not in names:
            if name in _OF_SCOPES and getattr(places[0] if places else None, "_binding", None):
                scope = places[0]._binding.scope  # type: ignore[attr-defined]
                return TypeError(
                    f"{owner} has no argument {name}, for this view reads its own scope alone;"
                    f" {of_every_scope(scope, name)}"
                )
            near = argument_meant(name, names, owner)
            return TypeError(unknown_name(name, names, owner, near=near, brief=True))
    by_place = [name for name, row in rows.items() if row.kind is not row.KEYWORD_ONLY]
    if any(row.kind is row.VAR_POSITIONAL for row in rows.values()):
        return None
    if twice := [name for name in by_place[: len(places)] if name in given]:
        by_name = "; scope is given by name" if "scope" in names else ""
        return TypeError(f"{owner} got {twice[0]} twice, by place and by name{by_name}")
    if len(places) <= len(by_place):
        needed = [name for name, row in rows.items() if row.default is row.empty]
        missing = [
            name for name in needed if name not in given and name not in by_place[: len(places)]
        ]
        return _missing(function, [rows[name] for name in needed], missing) if missing else None
    first = [name for name in by_place if name != "self"]
    rest = ", ".join(name for name in names if name not in first)
    if not names:
        return TypeError(f"{owner} takes no arguments")
    by_name = call_words()["by_name"].get(function.__qualname__, "")
    takes = f"{', '.join(first)} by place{by_name}; by name: " if first else "arguments by name: "
    more = "" if by_name else call_words()["more_of_calls"].get(function.__qualname__, "")
    return TypeError(f"{owner} takes {takes}{rest or 'none'}{more}")


def _missing(
    function: Callable[..., object], needed: list[Parameter], missing: list[str]
) -> TypeError:
    """The error of a call without arguments that it needs, with a call that has them.

    Example:
        >>> def diff(start, end=None): ...
        >>> diff.__qualname__ = "Vestig.diff"
        >>> import inspect
        >>> str(_missing(diff, [inspect.signature(diff).parameters["start"]], ["start"]))
        'diff needs start; write store.diff(start)'
    """
    group = function.__qualname__.rpartition(".")[0].lower()
    owner = {_STORE: "store", "": "vestig"}.get(group, f"store.{group}")
    shown = [
        f"{row.name}=…" if row.kind is row.KEYWORD_ONLY else row.name
        for row in needed
        if row.name != "self"
    ]
    name = function.__name__.removesuffix("_store")
    return TypeError(
        f"{name} needs {' and '.join(missing)}; write {owner}.{name}({', '.join(shown)})"
        f"{call_words()['more_of_calls'].get(function.__qualname__, '')}"
    )


def argument_meant(name: str, names: list[str], call: str) -> str:
    """The argument that was meant, or that of the filter with its field.

    Example:
        >>> argument_meant("k", ["limit"], ""), argument_meant("author", ["where"], "")
        ('limit', 'where={"authors": …}')
    """
    if "where" not in names:
        return nearest_name(name, names, call)
    near = nearest_argument(name, names, call)
    holder, _, field = near.partition(".")
    return f'where={{"{field}": …}}' if holder == "where" and field in FIELDS else near


def _fault(error: Exception, bind: Callable[[], BoundArguments]) -> ValidationError | None:
    """None: no argument's own method is among what was running."""
    step = error.__traceback__
    while step is not None:
        frame = step.tb_frame
        name = frame.f_code.co_name
        # what is called is a hook, and what a hook raises is the caller's own affair
        if frame.f_code.co_filename != __file__ and name != "__call__":
            owner = _owner(frame)
            if owner is not None and (named := _argument(owner, bind())):
                hint = f"its {name} raised {type(error).__name__}"
                return ValidationError(named, kind_of(owner), "a value whose methods work", hint)
        step = step.tb_next
    return None


def _owner(frame: FrameType) -> object | None:
    """The object whose method runs in a frame. A generator, or an iterator of a class of the
    caller, is where items come from: what fails there is for the caller to see."""
    code = frame.f_code
    if code.co_flags & _GENERATOR or code.co_name == "__next__":
        return None
    owner = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    functions = (vars(kind).get(code.co_name) for kind in type(owner).__mro__)
    own = any(getattr(function, "__code__", None) is code for function in functions)
    return owner if own else None


def _argument(owner: object, bound: BoundArguments) -> str | None:
    """Name of the argument that is or holds an object."""
    for name, value in bound.arguments.items():
        if name != "self" and _holds(value, owner, _DEPTH_MAX):
            return name
    return None


def _holds(value: object, owner: object, depth: int) -> bool:
    if value is owner:
        return True
    if isinstance(value, datetime):
        return value.tzinfo is owner
    if depth == 0:
        return False
    # the iterators of the built-in types, for a class of the caller may have others that raise
    inner: Iterable[object] = ()
    if isinstance(value, list):
        inner = list.__iter__(value)
    elif isinstance(value, tuple):
        inner = tuple.__iter__(value)
    elif isinstance(value, dict):
        inner = (*dict.keys(value), *dict.values(value))
    return any(_holds(item, owner, depth - 1) for item in inner)


class NamesUnknown:
    """The base of a store and of its groups of calls: an attribute that they do not have is an
    error with the call that does what was meant, where there is one."""

    if not TYPE_CHECKING:  # a type checker knows the attributes that there are

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute(name, *_meant(type(self).__name__.lower(), name))

        def __getitem__(self, key: object) -> NoReturn:
            raise _no_subscript(type(self), "get")

        def __setitem__(self, key: object, value: object) -> NoReturn:
            raise _no_subscript(type(self), "put")

        def __delitem__(self, key: object) -> NoReturn:
            raise _no_subscript(type(self), "delete")

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a store that is open goes into no other process and has no copy; each process opens"
            " it by its path, with vestig.open(path)"
        )


class CallsOfGroup(NamesUnknown):
    """The base of the groups of calls, which are neither called nor read one by one themselves."""

    if not TYPE_CHECKING:

        def __call__(self, *_: object, **__: object) -> NoReturn:
            raise group_that_is_called(type(self).__name__.lower())

        def __iter__(self) -> NoReturn:
            raise group_that_is_called(type(self).__name__.lower())


def _meant(kind: str, name: str) -> tuple[str, str]:
    """The name of an object in an error, and the call that does what an attribute of it should, or
    "".

    Args:
        kind: the name of its class, in small letters.
    """
    if name.startswith("_"):
        return _called(kind), ""
    kinds = (*NamesUnknown.__subclasses__(), *CallsOfGroup.__subclasses__())
    known = {one.__name__.lower(): _public(one) for one in kinds}
    own = known.get(kind, [])
    if kind != _STORE:
        return _called(kind), attribute_of_group(kind, name, own, known.get(_STORE, []))
    holders = [group for group in GROUPS if name in known[group]]
    group = holders[0] if len(holders) == 1 else ""
    return _called(kind), attribute_of_store(name, [*own, *GROUPS], group)


def _public(cls: type) -> list[str]:
    return [name for name in dir(cls) if not name.startswith("_")]


def _called(kind: str) -> str:
    return "a store" if kind == _STORE else f"store.{kind}"


def _no_subscript(cls: type, verb: str) -> TypeError:
    kind = cls.__name__.lower()
    own = f"store.{kind}.{verb}" if hasattr(cls, verb) else ""
    meant = _OF_KEYS.get(verb, "") if kind == _STORE else own
    hint = f"; use {meant}" if meant else ""
    return TypeError(f"{_called(kind)} takes no [key]{hint}")
