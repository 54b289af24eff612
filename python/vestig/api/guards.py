"""Guards of every public call: what is said of arguments and attributes that do not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import wraps
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Final, NoReturn, ParamSpec, TypeVar

from vestig.calls.filter import nearest_argument
from vestig.errors import ValidationError, VestigError
from vestig.hints import nearest_name, unknown_name

if TYPE_CHECKING:
    from inspect import BoundArguments

_DEPTH_MAX: Final = 8
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
'Unreadable'; its __iter__ raised OSError
    """

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except VestigError:
            raise
        except Exception as error:  # the caller's code may raise anything
            unknown = _unknown_argument(error, function, kwargs)
            if unknown is not None:
                raise unknown from None
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


def _unknown_argument(
    error: Exception, function: Callable[..., object], given: Mapping[str, object]
) -> TypeError | None:
    """A call with a name that the function does not have, which never began to run."""
    if not isinstance(error, TypeError):
        return None
    import inspect

    own = getattr(inspect.unwrap(function), "__code__", None)
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code is own:
            return None
        step = step.tb_next
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    for name in given:
        if name not in names:
            # `open_store` is public as `vestig.open`
            owner = function.__name__.removesuffix("_store")
            return TypeError(unknown_name(name, names, owner, near=_near(name, names)))
    return None


def _near(name: str, names: list[str]) -> str:
    """The argument that was meant, or the field of the filter."""
    if "where" in names:
        return nearest_argument(name, names)
    return nearest_name(name, names)


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
                return ValidationError(
                    named, type(owner).__name__, "a value whose methods work", hint
                )
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


_STORE: Final[Mapping[str, str]] = {
    "commit": "add remember save store note insert write create learn add_memory memorize upsert"
    " append",
    "commit_many": "add_many add_all save_all insert_many bulk_add bulk_insert extend add_texts"
    " add_documents add_messages remember_all upsert_texts",
    "recall": "query ask find lookup retrieve_memories similarity_search similar find_similar"
    " search_memories get_context context answer as_retriever recall_all retriever",
    "list": "all get_all list_all memories values get_memories to_list peek",
    "get": "exists fetch",
    "show": "get_memory get_by_id",
    "count": "size length len",
    "scoped": "user for_user with_scope view",
    "forget": "delete remove erase purge discard delete_all clear drop reset delete_memory",
    "deprecate": "retract withdraw invalidate expire revoke undo",
    "supersede": "replace",
    "unarchive": "restore unhide",
    "update": "edit modify set change update_memory tag",
    "events": "log audit",
    "history": "versions revisions history_of",
    "diff": "timeline changes",
    "import_": "load ingest import_json",
    "export": "dump export_json",
    "items.put": "put set_item kv put_item",
    "rules.add": "add_rule rule",
    "rules.check": "check_rules check_action",
    "anchors.stale": "stale",
    "anchors.refresh": "refresh_anchor",
    "branches.merge": "merge_branch",
    "admin.stats": "stats status info",
    "admin.doctor": "doctor check verify health",
    "admin.backup": "backup snapshot clone copy",
    "admin.prune": "prune",
    "admin.rebuild": "rebuild reindex",
    "admin.compact": "compact vacuum optimize",
    "pin": "star pin_memory",
    "items.scopes": "scopes",
    "graph.search": "graph_search",
    "graph.neighbourhood": "neighbours neighbors",
    "graph.entities": "entities",
    "graph.link": "link relate connect",
    "graph.edges": "edges links relations",
}


def no_attribute(name: str) -> NoReturn:
    """Raises the error of an attribute that a store does not have.

    Raises:
        AttributeError: always; with the method that does it, where there is one.

    Example:
        >>> no_attribute("remember")
        Traceback (most recent call last):
        ...
        AttributeError: a store has no attribute 'remember'; use store.commit
    """
    ours = next((ours for ours, others in _STORE.items() if name in others.split()), "")
    hint = f"; use store.{ours}" if ours else ""
    raise AttributeError(f"a store has no attribute {name!r}{hint}")
