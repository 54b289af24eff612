"""The filters of recall that only the ledger or the names can resolve, as ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from vestig.filters import FilterParts
from vestig.ids import id_bytes, is_full_id
from vestig.session.entity_names import ids_with_name, is_entity_id, only_entity
from vestig.store.records import item_rows, keyed_memories
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import EntityListing, Listing
from vestig.types import Status

_IDS_MAX: Final = 1_000
# What a warning repeats of a name.
_NAME_CHARS_MAX: Final = 80


def resolved(
    view: LedgerView, core: Any, parts: FilterParts, *, nodes: bool = False
) -> dict[str, Any]:
    """Keyword arguments of the core's filter, complete.

    Args:
        core: the projection at the view's seq; for a callback of the keeper's `run`.
        nodes: whether entities take part too. What only memories can have (metadata, statuses,
            a source) then leaves every entity in.
    """
    namespace, chosen = parts.namespace, dict(parts.columns)
    limits = _of_memories(view, parts)
    if limits and nodes:
        listed = view.list_entities(namespace, EntityListing(limit=None, include_expired=True))
        every = {entity.id for entity, _ in listed}
        limits = [ids | every for ids in limits]
    if parts.ids is not None:
        limits.append(_known(view, namespace, parts.ids))
    if parts.scope_prefix is not None:
        scopes = _scopes_below(view, parts, parts.scope_prefix)
        if not scopes:
            limits.append(set())
        chosen["scopes"] = scopes or [parts.scope_prefix]
    if limits:
        chosen["ids"] = _joined(set.intersection(*limits))
    excluded = set(item_rows.hidden_ids(view, namespace, parts.moments.now_us))
    if parts.exclude_ids:
        excluded |= _known(view, namespace, parts.exclude_ids)
    if excluded:
        chosen["exclude_ids"] = _joined(excluded)
    if parts.entities is not None:
        chosen["entities"] = entity_ids(
            view, core, namespace, parts.entities, parts.moments.known_at_us
        )
    if parts.moments.past:
        ends = view.ends_before(namespace, parts.moments.known_at_us)
        chosen["ends"] = [(id_bytes(id), end) for id, end in ends.items()]
    return chosen


def _of_memories(view: LedgerView, parts: FilterParts) -> list[set[str]]:
    """Ids of memories, for each field of which only the ledger knows who has it."""
    namespace, found = parts.namespace, []
    if parts.metadata is not None:
        found.append(set(view.ids_with_metadata(namespace, parts.metadata)))
    if parts.source_ids is not None:
        found.append(set(view.products_of(namespace, parts.source_ids)))
    if parts.message_ids is not None:
        found.append(set(view.recorded_by(namespace, parts.message_ids)))
    if parts.keys is not None:
        found.append(set(keyed_memories.ids_with_keys(view, namespace, parts.keys)))
    if parts.key_prefix is not None:
        found.append(set(keyed_memories.ids_with_key_prefix(view, namespace, parts.key_prefix)))
    if parts.needs_ledger:
        found.append(set(view.listed_ids(namespace, row_listing(parts))))
    return found


def _scopes_below(view: LedgerView, parts: FilterParts, prefix: str) -> list[str | None]:
    """The scopes that pass: of those that `scope` names, where it does, those below the prefix; and
    none at all beside them, where `unscoped` says so."""
    below = item_rows.memory_scopes(view, parts.namespace, prefix)
    named = parts.columns.get("scopes")
    if named is None:
        return list[str | None](below)
    only = [one for one in named if one is not None]
    passed = [one for one in below if not only or one in only]
    return [*passed, *([None] if None in named else [])]


def row_listing(parts: FilterParts) -> Listing:
    """The fields that the ledger's table of memories decides, as a listing of all of them."""
    at = parts.moments
    statuses = parts.statuses
    if statuses is None:
        expired, archived = parts.columns["include_expired"], parts.columns["include_archived"]
        statuses = (
            Status.ACTIVE,
            *((Status.SUPERSEDED, Status.DEPRECATED) if expired else ()),
            *((Status.ARCHIVED,) if archived else ()),
        )
    return Listing(
        limit=None,
        statuses=None if len(statuses) == len(Status) else statuses,
        pinned=parts.pinned,
        retention_policies=parts.retention_policies,
        known_at_us=at.known_at_us if at.past else None,
        valid_at_us=at.valid_at_us,
    )


def entity_ids(
    view: LedgerView, core: Any, namespace: str, named: tuple[str, ...], known_at_us: int
) -> bytes:
    """Ids of the entities with these ids, beginnings of ids, or names; a merged one stands for
    what it was merged into. What nobody knows matches nothing.

    Raises:
        ValidationError: several entities have one of the names.
    """
    found: set[str] = set()
    for text in named:
        if is_entity_id(text):
            found.update(_entities(view, namespace, text))
        else:
            ids = ids_with_name(view, core, namespace, text, known_at_us)
            only_entity(view, namespace, ids, "entities", text)
            found.update(one for id in ids for one in _entities(view, namespace, id))
    return _joined(found)


def unknown_entities(view: LedgerView, core: Any, parts: FilterParts) -> tuple[str, ...]:
    """Warnings about the entities of a filter that the store does not have, for which no memory
    passes. For a callback of the keeper's `run`.

    Raises:
        ValidationError: several entities have one of the names.
    """
    space, at = parts.namespace, parts.moments.known_at_us
    return tuple(
        f"entities: no entity is called {text[:_NAME_CHARS_MAX]!r}; `entity list` (in Python:"
        " `graph.entities`) gives those that there are"
        for text in parts.entities or ()
        if not entity_ids(view, core, space, (text,), at)
    )


def _entities(view: LedgerView, namespace: str, id: str) -> list[str]:
    """Return what an id or a beginning of one stands for, through merges."""
    ids = [id] if is_full_id(id, "ent") else view.entity_ids_with_prefix(namespace, id, _IDS_MAX)
    seen: set[str] = set()
    while fresh := [one for one in ids if one not in seen]:
        seen.update(fresh)
        entities = view.entities(namespace, fresh)
        ids = [one.merged_into for one in entities if one.merged_into is not None]
    return sorted(seen)


def _known(view: LedgerView, namespace: str, ids: Sequence[str]) -> set[str]:
    """Full ids of what these ids and beginnings of ids stand for; an unknown one is none."""
    found: set[str] = set()
    for id in ids:
        if id.startswith("ent_"):
            found.update(view.entity_ids_with_prefix(namespace, id, _IDS_MAX))
        else:
            found.update(view.ids_with_prefix(namespace, id, _IDS_MAX))
    return found


def _joined(ids: set[str]) -> bytes:
    return b"".join(id_bytes(id) for id in sorted(ids))
