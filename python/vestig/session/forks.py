"""Calls of a store and forks of its process, kept apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import ParamSpec, TypeVar

from vestig.store.sqlite import processes

_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C")


def apart_from_forks(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, during which no fork happens. In a child of a fork that did not wait it raises
    `ConflictError`: locks that it would need may never be free."""

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with processes.inside():
            processes.require_usable(function.__name__)
            return function(*args, **kwargs)

    return call


def apart_from_forks_of_methods(cls: type[_C]) -> type[_C]:
    """A class with `apart_from_forks` around its public methods but `close`."""
    for name, method in list(vars(cls).items()):
        if isinstance(method, FunctionType) and not name.startswith("_") and name != "close":
            setattr(cls, name, apart_from_forks(method))
    return cls
