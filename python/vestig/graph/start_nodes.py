"""Nodes that a call names as the start of a walk: memories by id, entities by id or name."""

from __future__ import annotations

from typing import Any, Final

from vestig.ids import memory_id_text
from vestig.session import nodes
from vestig.session.entity_names import ids_with_name, is_entity_id, only_entity
from vestig.store.records.reads import LedgerView

# What a warning repeats of a name.
_NAME_CHARS_MAX: Final = 80


def node_id(
    view: LedgerView, core: Any, namespace: str, text: str, known_at_us: int, *, field: str
) -> str | None:
    """The full id of a memory by its id, of an entity by id or name, at least 8 characters of an
    id; a merged entity is what it was merged into. None: unknown.

    Raises:
        ValidationError: several nodes have the name, or ids that begin so.
    """
    memory = memory_id_text(text)
    if memory is not None and (found := view.ids_with_prefix(namespace, memory)):
        return nodes.unambiguous_id(found, field, text)
    if is_entity_id(text):
        full = nodes.entity_with_prefix(view, namespace, text, field)
        one = None if full is None else nodes.following_merges(view, namespace, [full])[full]
    else:
        ids = ids_with_name(view, core, namespace, text, known_at_us)
        one = only_entity(view, namespace, ids, field, text)
    return None if one is None else one.id


def skipped(text: str) -> str:
    """The warning about a node that takes no part."""
    return f"{text[:_NAME_CHARS_MAX]} was skipped: unknown here, or not eligible"
