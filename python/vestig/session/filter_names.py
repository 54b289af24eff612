"""Names in a filter that the store does not have, and names beside them that may be meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from vestig.calls.filter import BOUNDS, Filter
from vestig.errors import ValidationError
from vestig.filters import FilterParts, filter_parts, moments
from vestig.ids import id_text, split_ids
from vestig.language.names import norm_name
from vestig.other_words import by_caller, nearest
from vestig.repository.branches import branch_part
from vestig.session.references import (
    NAME_CHARS_MAX,
    entity_ids,
    is_entity_id,
    paths_as_sources,
    resolved,
)
from vestig.session.session import Session
from vestig.store.records import item_rows, keyed_memories
from vestig.store.records.graph_rows import longer_names
from vestig.store.records.memory_queries import values_of
from vestig.store.records.reads import LedgerView

_NAMES_MAX: Final = 4
# Of the values of a field so many are looked up.
_VALUES_MAX: Final = 20
# Fields whose values a memory has → what is said of one that none has. Those of scopes come first:
# within a scope that nothing has, nothing has anything.
_SAID: Final[Mapping[str, str]] = {
    "scope": "no memory has the scope {}",
    "scope_prefix": "no scope is {} or goes on from it with a slash",
    "tags": "no memory has the tag {}",
    "authors": "no memory has the author {}",
    "session_ids": "no memory has the session {}",
    "sources": "no memory was stated by the source {}",
    "actors": "no memory was committed by the actor {}",
    "message_ids": "no memory has the message id {}",
    "keys": "no memory has the key {}",
    "key_prefix": "no key begins with {}",
}
# A field → the column of memories, or the tags, that has its values, where others are looked up.
_COLUMNS: Final[Mapping[str, str]] = {
    "scope": "scope",
    "scope_prefix": "scope",
    "tags": "tag",
    "authors": "author",
    "session_ids": "session_id",
    "keys": "key",
    "key_prefix": "key",
}


def has_names(parts: FilterParts) -> bool:
    """Return whether a filter has names that the store may not know."""
    return not parts.fields.keys().isdisjoint(("entities", *_SAID))


def unknown_names(
    session: Session, view: LedgerView, core: Any, parts: FilterParts, *, empty: bool | None = None
) -> tuple[str, ...]:
    """Warnings about names of a filter that the store does not have: entities, scopes, tags,
    authors, sessions, sources, actors, messages and keys, of which also those that read as
    patterns. For a callback of the keeper's `run`.

    Args:
        empty: whether the filter lets nothing through; None = it is looked up where it matters.

    Raises:
        ValidationError: several entities have one of the names.
    """
    if not has_names(parts):
        return ()
    space, at = parts.namespace, parts.moments.known_at_us
    patterns = [
        key
        for key in parts.fields.get("keys", ())
        if key.rstrip("*%") not in ("", key)
        and next(keyed_memories.ids_with_keys(view, space, [key]), None) is None
    ]
    paths = paths_as_sources(view, parts)
    return (
        *(
            f"keys: {key!r} is one whole key, which nothing has; key_prefix takes"
            f" {key.rstrip('*%')!r}"
            for key in patterns
        ),
        *(
            f"entities: no entity is called {text[:NAME_CHARS_MAX]!r};"
            f" {_those_known(view, core, parts, text)}"
            for text in (() if session.scope is not None else parts.fields.get("entities", ()))
            if not entity_ids(view, core, space, (text,), at)
        ),
        *_unmentioned(session, view, core, parts),
        *_unknown_values(session, view, core, parts, (*patterns, *paths), empty),
        *paths.values(),
    )


def _unmentioned(
    session: Session, view: LedgerView, core: Any, parts: FilterParts
) -> Iterator[str]:
    """Warnings about entities that no memory of a view mentions. Entities have no scope, so a view
    is told neither that another scope has one nor which there are."""
    if session.scope is None:
        return
    bounds = {name: value for name, value in parts.fields.items() if name in BOUNDS}
    for text in parts.fields.get("entities", ()):
        if not _count(session, view, core, parts, {**bounds, "entities": (text,)}):
            yield f"entities: no memory mentions {text[:NAME_CHARS_MAX]!r}"


def _unknown_values(
    session: Session,
    view: LedgerView,
    core: Any,
    parts: FilterParts,
    told: Sequence[str],
    empty: bool | None,
) -> Iterator[str]:
    """Warnings about values that no memory has: one value, where the filter lets nothing through;
    each of several that a field has. `told`: those of which a warning says more."""
    fields = {name: parts.fields[name] for name in _SAID if name in parts.fields}
    if session.scope is not None or parts.fields.get("unscoped"):
        # a scope that a view has, or that stands beside what has none, may have nothing yet
        fields = {name: value for name, value in fields.items() if name not in BOUNDS}
    several = {name for name, value in fields.items() if not isinstance(value, str) and value[1:]}
    if fields and empty is None:
        empty = not session.keeper.eligible_count(view, resolved(view, core, parts))
    if not empty:
        fields = {name: value for name, value in fields.items() if name in several}
    elif not _count(session, view, core, parts, {}):
        return
    within = {name: value for name, value in parts.fields.items() if name in BOUNDS}
    for name, value in fields.items():
        bounds = {} if name in BOUNDS else within
        if empty and bounds and not _count(session, view, core, parts, bounds):
            return
        for one in (value,) if isinstance(value, str) else value[:_VALUES_MAX]:
            if one in told or (name in BOUNDS and _may_be_empty(view, parts, name, one)):
                continue
            if not _count(session, view, core, parts, {**bounds, name: _of_form(value, one)}):
                known = _known_values(view, parts, name, one)
                said = _SAID[name].format(repr(one[:NAME_CHARS_MAX]))
                yield f"{name}: {said}{known}"


def _of_form(value: Any, one: str) -> Any:
    return one if isinstance(value, str) else (one,)


def _may_be_empty(view: LedgerView, parts: FilterParts, name: str, scope: str) -> bool:
    """Return whether a scope has items, or is that of a branch beside its project: most branches
    have no memory."""
    if name == "scope_prefix":
        return bool(item_rows.below(view, parts.namespace, scope))
    beside = any(branch_part(other, scope) for other in parts.fields[name])
    return beside or bool(item_rows.of_scope(view, parts.namespace, scope))


def _count(
    session: Session, view: LedgerView, core: Any, parts: FilterParts, fields: Mapping[str, Any]
) -> int:
    """How many memories these fields let through, in whatever state they are now."""
    of_now = filter_parts(
        Filter(**fields),
        parts.namespace,
        moments(parts.moments.now_us),
        include_expired=True,
        include_archived=True,
    )
    return session.keeper.eligible_count(view, resolved(view, core, of_now))


def _known_values(view: LedgerView, parts: FilterParts, name: str, text: str) -> str:
    """The clause that names the values that may be meant, of the newest memories; else where those
    of scopes and keys are listed."""
    if name not in _COLUMNS or ("scope_prefix" in parts.fields and name not in BOUNDS):
        scopes = None  # which they are is not looked up here
    else:
        scopes = () if name in BOUNDS else parts.fields.get("scope", ())
    known = [] if scopes is None else values_of(view, parts.namespace, _COLUMNS[name], scopes)
    if name == "scope":  # a branch of a project is no other spelling of it
        known = [one for one in known if branch_part(text, one) is None]
    plain = text.casefold().rstrip("*%")
    meant = [one for one in known if plain and plain in one.casefold()]
    if not meant:
        by_letters = {one.casefold(): one for one in known if _letters(one) != _letters(text)}
        near = nearest(plain, by_letters)
        meant = [by_letters[near]] if near else []
    if meant:
        return f"; known are {_shown(meant[:_NAMES_MAX])}"
    several = [one for one in map(str.strip, text.split(",")) if one]
    if len(several) > 1 and {*several} <= {*known}:
        # imported here: a recall mostly names none
        from shlex import quote

        words = " ".join(f"--{name.replace('_', '-')} {quote(one)}" for one in several)
        return f"; {by_caller(f'name each by itself: {name}={several}', f'name each: {words}')}"
    lists = {
        "scope": by_caller("store.admin.stats().scopes", "`vestig stats`"),
        "keys": by_caller("store.keys()", "`vestig keys`"),
    }
    return f"; all are in {lists[name]}" if name in lists else ""


def _letters(name: str) -> str:
    """A name without its digits: one that differs in these alone is another one, and no slip."""
    return "".join(char for char in name.casefold() if not char.isdigit())


def names_of_entities(view: LedgerView, core: Any, parts: FilterParts) -> list[str]:
    """The names of the entities that a filter names. For a callback of the keeper's `run`."""
    given, space = parts.fields.get("entities", ()), parts.namespace
    if not given:
        return []
    found = split_ids(entity_ids(view, core, space, given, parts.moments.known_at_us))
    known = view.named_entities(space, [id_text("ent", one) for one in found])
    return [name for _, _, name, *_ in known]


def also_known(view: LedgerView, core: Any, parts: FilterParts) -> tuple[str, ...]:
    """Warnings about entities beside those that a filter names, whose names hold one of these and
    more, and which may be the same. For a callback of the keeper's `run`."""
    given = parts.fields.get("entities", ())
    at = parts.moments.known_at_us
    named = {norm_name(text) for text in names_of_entities(view, core, parts)}
    found = []
    for text in given:
        if entity_ids(view, core, parts.namespace, (text,), at):
            others = [one for one in _longer(view, parts, text) if norm_name(one) not in named]
            if others:
                found.append(
                    f"entities: beside {text[:NAME_CHARS_MAX]!r}, also known: {_shown(others)}"
                )
    return tuple(found)


def _longer(view: LedgerView, parts: FilterParts, text: str) -> list[str]:
    """Names of entities that hold this one and more. Entities have no scope: a call that
    names one, as those of a view do, is told none that others may have brought."""
    if is_entity_id(text) or not parts.fields.keys().isdisjoint(BOUNDS):
        return []
    with suppress(ValidationError):
        return longer_names(view, parts.namespace, norm_name(text), _NAMES_MAX)
    return []


def _shown(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:NAME_CHARS_MAX]) for name in names)
    return shown if len(names) < _NAMES_MAX else f"{shown}, …"


def _those_known(view: LedgerView, core: Any, parts: FilterParts, text: str) -> str:
    """The entities whose names hold this one, or how several are named that stand in one text, else
    where all of them are listed."""
    if names := _longer(view, parts, text):
        return f"known are {_shown(names)}"
    at = parts.moments.known_at_us
    several = [one for one in map(str.strip, text.split(",")) if one]
    if len(several) > 1 and all(
        entity_ids(view, core, parts.namespace, (one,), at) for one in several
    ):
        # imported here: a recall mostly names none
        from shlex import quote

        words = " ".join(f"--entities {quote(one)}" for one in several)
        return by_caller(f"name each by itself: entities={several}", f"name each: {words}")
    listed = by_caller("store.graph.entities()", "`vestig entity list`")
    return f"{listed} gives those that there are"
