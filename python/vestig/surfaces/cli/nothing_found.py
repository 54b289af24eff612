"""Why nothing was found: what a filter names and nothing has."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any

from vestig.language.text_forms import count_of
from vestig.other_words import nearest

if TYPE_CHECKING:
    from vestig.calls.filter import FilterFields
    from vestig.surfaces.operation import Call, Operation


def notes_on_nothing(operation: Operation, call: Call, value: Any) -> list[str]:
    """Lines about why nothing was found: scopes that no memory has, a time before all that is
    stored."""
    rows = {} if operation.arguments is None else operation.arguments.rows
    found = getattr(value, "memory_ids", value)
    if "where" not in rows or (len(found) if isinstance(found, Sized) else found) != 0:
        return []
    return [*_unknown_scopes(call), *_before_it_was_stored(call)]


def _before_it_was_stored(call: Call) -> list[str]:
    """A line where nothing was stored by the time of --as-of, and something held then."""
    then, space = call.args.get("as_of"), call.args.get("namespace")
    if then is None or call.store.count(as_of=then, namespace=space):
        return []
    held = call.store.count(valid_at=then, namespace=space)
    what = f"--valid-at {then} asks what held then, and finds {count_of(held, 'memory')}"
    return [f"nothing was stored yet by the time of --as-of; {what}"] if held else []


def _unknown_scopes(call: Call) -> list[str]:
    """Lines about scopes that a filter names and no memory has."""
    named = call.args.get("scope")
    if not isinstance(named, (list, tuple)):
        return []
    from vestig.repository.branches import branch_part

    space = call.args.get("namespace")
    known = call.store.admin.stats(namespace=space).scopes
    others = [one for one in known if not any(branch_part(scope, one) for scope in named)]
    by_word = {scope.casefold(): scope for scope in others}
    lines = []
    for scope in named:
        if any(branch_part(other, scope) for other in named):
            continue  # most branches have no memory
        where: FilterFields = {
            "scope": [scope], "include_expired": True, "include_archived": True,
        }  # fmt: skip
        if call.store.count(where=where, namespace=space):
            continue
        near = nearest(scope.casefold(), by_word)
        hint = f"; nearest: {by_word[near]}" if near else "; `vestig stats` lists them"
        lines.append(f"no memory has the scope {scope}{hint}")
    return lines
