"""Nodes of the graph by id or prefix, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from vestig.errors import NotFoundError, ValidationError
from vestig.ids import check_id_prefix, is_full_id
from vestig.language.text_forms import one_line
from vestig.store.records.reads import LedgerView
from vestig.types import Edge, EdgeType, Entity, _Value

_CANDIDATES_MAX: Final = 5


class Described(_Value, frozen=True, kw_only=True):
    """A node or edge (the first field) and facts about it (the others)."""

    @property
    def id(self) -> str:
        """The id of the node or edge."""
        return str(self._first().id)

    def plain_fields(self) -> dict[str, Any]:
        """The fields of the node or edge beside the others."""
        others = {name: getattr(self, name) for name in self.__struct_fields__[1:]}
        return msgspec.structs.asdict(self._first()) | others

    def _first(self) -> Any:
        return getattr(self, self.__struct_fields__[0])


def unambiguous_id(found: Sequence[str], field: str, text: str) -> str | None:
    """The only one of the ids that a prefix fits; None when there is none.

    Raises:
        ValidationError: there are several (names up to five).
    """
    if len(found) > 1:
        shown = ", ".join(found[:5])
        raise ValidationError(field, text, "an unambiguous id", f"it fits {shown}")
    return found[0] if found else None


def candidates(entities: Sequence[Entity]) -> str:
    """Up to five entities by id, type and name, for a message."""
    shown = ", ".join(
        f"{one.id} {one.entity_type} {one.canonical_name}" for one in entities[:_CANDIDATES_MAX]
    )
    more = len(entities) - _CANDIDATES_MAX
    return f"{shown} and {more} more" if more > 0 else shown


def entity_with_prefix(view: LedgerView, namespace: str, prefix: str, field: str) -> str | None:
    """The id of the only entity whose id begins so; None when there is none.

    Raises:
        ValidationError: there are several (names up to five).
    """
    found = view.entity_ids_with_prefix(namespace, prefix)
    if len(found) > 1:
        fits = candidates(view.entities(namespace, found))
        raise ValidationError(field, prefix, "an unambiguous id", f"it fits {fits}")
    return found[0] if found else None


def full_edge_id(view: LedgerView, namespace: str, id: object, field: str = "id") -> str:
    """The full id of an edge's id or unambiguous prefix."""
    text = check_id_prefix(field, id, "edge")
    if is_full_id(text, "edge"):
        return text
    found = unambiguous_id(view.edge_ids_with_prefix(namespace, text), field, text)
    if found is None:
        raise NotFoundError("Edge", text)
    return found


def following_merges(
    view: LedgerView, namespace: str, ids: Sequence[str]
) -> dict[str, Entity | None]:
    """id → the entity it stands for: a merged one through any chain; None = unknown."""
    known: dict[str, Entity] = {}
    wanted = list(dict.fromkeys(ids))
    while wanted:
        known.update({one.id: one for one in view.entities(namespace, wanted)})
        into = (known[id].merged_into for id in wanted if id in known)
        wanted = [id for id in dict.fromkeys(into) if id is not None and id not in known]
    found: dict[str, Entity | None] = {}
    for id in ids:
        one = known.get(id)
        while one is not None and one.merged_into is not None:
            one = known.get(one.merged_into)
        found[id] = one
    return found


def entity(view: LedgerView, namespace: str, id: object, field: str = "id") -> Entity:
    """The unexpired entity of a full id or an unambiguous prefix; a merged one is what it was
    merged into.

    Raises:
        ValidationError: no id, or ambiguous. NotFoundError: unknown here, or expired.
    """
    text = check_id_prefix(field, id, "ent")
    if not is_full_id(text, "ent"):
        found = entity_with_prefix(view, namespace, text, field)
        if found is None:
            raise NotFoundError("Entity", text)
        text = found
    one = following_merges(view, namespace, [text])[text]
    if one is None:
        raise NotFoundError("Entity", text)
    if one.expired_at is not None:
        raise NotFoundError("Entity", text, "expired")
    return one


def node_labels(
    view: LedgerView, namespace: str, ids: Sequence[str], length: int
) -> dict[str, str]:
    """id → what a node is called: a memory by its first words, an entity by type and name; anything
    else by its id."""
    named = {id: id for id in ids}
    memories = [id for id in ids if id.startswith("mem_")]
    for memory in view.memories(namespace, memories) if memories else ():
        named[memory.id] = one_line(memory.content, length)
    entities = [id for id in ids if id.startswith("ent_")]
    for one in view.entities(namespace, entities) if entities else ():
        named[one.id] = one_line(f"{one.entity_type}:{one.canonical_name}", length)
    return named


def labels(view: LedgerView, namespace: str, edges: Iterable[Edge], length: int) -> dict[str, str]:
    """id → what an end of these edges is called: as `node_labels`, a source by what it was."""
    found = list(edges)
    ids = list(dict.fromkeys(id for edge in found for id in (edge.from_id, edge.to_id)))
    named = node_labels(view, namespace, ids, length)
    for made in {e.to_id for e in found if e.edge_type is EdgeType.PRODUCED}:
        for source in view.sources(namespace, made):
            parts = (source.source_type, source.path, source.agent, source.session_id)
            named[source.id] = one_line(" · ".join(part for part in parts if part), length)
    return named
