"""Arguments whose own methods raise: texts, lists, mappings, time zones of a caller's own class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import wraps
from types import FrameType, GeneratorType
from typing import Final, ParamSpec, TypeVar

from vestig.errors import ValidationError, VestigError

__all__ = ["names_faults", "names_faults_of_methods"]

_DEPTH_MAX: Final = 8

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
'Unreadable'; its __iter__ raised OSError
    """

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except VestigError:
            raise
        except Exception as error:  # the caller's code may raise anything
            fault = _fault(error, lambda: inspect.signature(function).bind(*args, **kwargs))
            if fault is None:
                raise
            raise fault from error

    return call


def names_faults_of_methods(cls: type[_C]) -> type[_C]:
    """A class with `names_faults` around its public methods."""
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, names_faults(method))
    return cls


def _fault(error: Exception, bind: Callable[[], inspect.BoundArguments]) -> ValidationError | None:
    """None: no argument's own method is among what was running."""
    step = error.__traceback__
    while step is not None:
        frame = step.tb_frame
        name = frame.f_code.co_name
        # what is called is a hook, and what a hook raises is the caller's own affair
        if frame.f_code.co_filename != __file__ and name != "__call__":
            owner = _owner(frame)
            if owner is not None and (named := _argument(owner, frame, bind())):
                hint = f"its {name} raised {type(error).__name__}"
                return ValidationError(
                    named, type(owner).__name__, "a value whose methods work", hint
                )
        step = step.tb_next
    return None


def _owner(frame: FrameType) -> object | None:
    """The object whose method runs in a frame; the frame itself stands for a generator's."""
    code = frame.f_code
    if code.co_flags & inspect.CO_GENERATOR:
        return frame
    owner = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    functions = (vars(kind).get(code.co_name) for kind in type(owner).__mro__)
    own = any(getattr(function, "__code__", None) is code for function in functions)
    return owner if own else None


def _argument(owner: object, frame: FrameType, bound: inspect.BoundArguments) -> str | None:
    """Name of the argument that is or holds an object."""
    for name, value in bound.arguments.items():
        if name != "self" and _holds(value, owner, frame, _DEPTH_MAX):
            return name
    return None


def _holds(value: object, owner: object, frame: FrameType, depth: int) -> bool:
    if value is owner:
        return True
    if isinstance(value, GeneratorType):
        return owner is frame and value.gi_code is frame.f_code
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
    return any(_holds(item, owner, frame, depth - 1) for item in inner)
