"""Lines beside a result: why nothing was found, and that a namespace begins."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any, Final

from vestig.answers import Certainty
from vestig.language.text_forms import count_of, first_of
from vestig.other_words import nearest
from vestig.surfaces.operation import filter_arguments
from vestig.types import CommitOutcomeKind

if TYPE_CHECKING:
    from vestig.surfaces.operation import Call, Operation

# Documents of the calls that read memories in scopes.
_READS: Final = ("recall", "memories")
# Other namespaces that a line names.
_NAMED: Final = 5
_RULES_MAX: Final = 1000
_HOLDS_FROM: Final = (
    "a fact holds from the --t-valid TIME of `vestig add`, else from when it was stored"
)


def notes(operation: Operation, call: Call, value: Any) -> list[str]:
    """Lines that stand on standard error beside a result."""
    return [
        *_on_nothing(operation, call, value),
        *_on_nothing_close(operation, call, value),
        *_on_earlier_scope(operation, call, value),
        *_on_no_tool(operation, call, value),
        *_on_counted_names(call, value),
        *_on_first(operation, call, value),
    ]


def _on_nothing(operation: Operation, call: Call, value: Any) -> list[str]:
    """Lines about why nothing was found: no such namespace, a time before all that is stored."""
    rows = {} if operation.arguments is None else operation.arguments.rows
    found = getattr(value, "memory_ids", value)
    if (len(found) if isinstance(found, Sized) else found) != 0:
        return []
    unknown = _unknown_namespace(call)
    if unknown or "where" not in rows:
        return unknown
    return [*_before_it_was_stored(call), *_before_it_held(call)]


def _on_nothing_close(operation: Operation, call: Call, value: Any) -> list[str]:
    """A line where nothing in the scopes of a question is close to it, and memories without a
    scope, which are of all, were not asked."""
    if operation.document != "recall" or not call.args.get("scope") or "unscoped" in call.args:
        return []
    if len(value) and value.certainty is not Certainty.NOTHING_CLOSE:
        return []
    count = call.store.count(where={"unscoped": True}, namespace=call.args.get("namespace"))
    said = f"{count_of(count, 'memory')} without a scope"
    return [f"{said}, not asked: --unscoped beside --scope adds what has none"] if count else []


def _on_earlier_scope(operation: Operation, call: Call, value: Any) -> list[str]:
    """Lines about memories of the folder that its scope leaves out: where the doctor looks, and
    where nothing in the scope of the project is found, or close."""
    working = call.session.working_folder()
    asks = operation.document in _READS and _scopes(call)
    if working is None or not (asks or operation.name == "doctor"):
        return []
    from vestig.config.environment import project_folder
    from vestig.repository.project import project_scope
    from vestig.surfaces.earlier_scope import left_behind

    folder = project_folder(working=working)
    if operation.name != "doctor":
        if project_scope(folder) not in _scopes(call):
            return []
        if len(value) and getattr(value, "certainty", None) is not Certainty.NOTHING_CLOSE:
            return []
    return left_behind(call.store, folder, call.options)


def _scopes(call: Call) -> tuple[str, ...]:
    given = call.args.get("scope") or ()
    return (given,) if isinstance(given, str) else tuple(given)


def _on_no_tool(operation: Operation, call: Call, value: Any) -> list[str]:
    """A line where rules were asked of an action without the tool that some of them ask for."""
    if operation.name != "rule check" or "tool" in call.args:
        return []
    from vestig.calls.condition import asks_for, parse_condition

    space, scope = call.args.get("namespace"), call.args.get("scope")
    rules = call.store.rules.list(namespace=space, scope=scope, limit=_RULES_MAX)
    fired = {one.id for one in value.fired}
    asking = [one for one in rules if asks_for("tool", parse_condition("when", one.when))]
    count = sum(one.id not in fired for one in asking)
    asks = "asks" if count == 1 else "ask"
    return [f"{count_of(count, 'rule')} {asks} for a tool: name it by --tool"] if count else []


def _on_counted_names(call: Call, value: Any) -> list[str]:
    """Warnings about the names in a filter, where the result is a number, which holds none."""
    fields = filter_arguments(call.args).get("where")
    if not isinstance(value, int) or not fields:
        return []
    from vestig.calls.filter import checked_filter
    from vestig.memories.states import selection_warnings

    space = call.args.get("namespace") or call.session.namespace
    warnings = selection_warnings(call.session, space, checked_filter(fields))
    return [f"warning: {one}" for one in warnings]


def _on_first(operation: Operation, call: Call, value: Any) -> list[str]:
    """A line where a memory is the first of a namespace that was named, beside others that are
    there."""
    named = call.options.get("namespace")
    if named is None or getattr(value, "outcome", None) is not CommitOutcomeKind.INSERTED_NEW:
        return []
    if not operation.writes or call.args.get("dry_run"):
        return []
    if call.store.count(where={"include_expired": True, "include_archived": True}) != 1:
        return []
    others = sorted({*_namespaces(call)} - {named})
    shown = first_of(others, _NAMED)
    return [f"the first memory of the namespace {named}; others are {shown}"] if others else []


def _unknown_namespace(call: Call) -> list[str]:
    """A line where the namespace has no memory, and others have some."""
    space = call.session.namespace
    others = _namespaces(call)
    if space in others or not others:
        return []
    near = nearest(space.casefold(), {one.casefold(): one for one in others})
    hint = f"nearest: {near}" if near else "`vestig stats` lists those that have"
    return [f"no memory is in the namespace {space}; {hint}"]


def _namespaces(call: Call) -> list[str]:
    """The namespaces that have memories; a view of one scope may ask for them too."""
    with call.session.ledger.read() as view:
        return view.namespaces()


def _is_empty(call: Call, **at: Any) -> bool:
    """Return whether the namespace of a call has no memory, or had none at a time."""
    return not call.store.count(namespace=call.args.get("namespace"), **at)


def _before_it_was_stored(call: Call) -> list[str]:
    """A line where nothing was stored by the time of --as-of."""
    then = call.args.get("as_of")
    if then is None or not _is_empty(call, as_of=then) or _is_empty(call):
        return []
    held = call.store.count(valid_at=then, namespace=call.args.get("namespace"))
    what = f"--valid-at {then} asks what held then, and finds {count_of(held, 'memory')}"
    if not held:
        what = f"nothing held then either: {_HOLDS_FROM}"
    return [f"nothing was stored yet by the time of --as-of; {what}"]


def _before_it_held(call: Call) -> list[str]:
    """A line where nothing that is stored held by the time of --valid-at."""
    then = call.args.get("valid_at")
    if then is None or not _is_empty(call, valid_at=then) or _is_empty(call):
        return []
    return [f"nothing stored held at the time of --valid-at: {_HOLDS_FROM}"]
