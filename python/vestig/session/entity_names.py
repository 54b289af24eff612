"""Entities by what a caller calls them: an id, the beginning of one, a name or an alias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from vestig.errors import NotFoundError, ValidationError
from vestig.ids import ID_PREFIXES, id_text, split_ids
from vestig.language.names.forms import norm_name
from vestig.language.names.ontology import UNTYPED
from vestig.lazy_pattern import lazy_pattern
from vestig.session import nodes
from vestig.store.ledger.reads import LedgerView
from vestig.types import Entity

if TYPE_CHECKING:
    from vestig.session.session import Session

_ID: Final = lazy_pattern(r"ent_[0-9a-f-]{8,36}")
# The id of something else.
_OTHER_ID: Final = lazy_pattern(rf"(?:{'|'.join(ID_PREFIXES)})_[0-9a-f-]{{8,36}}")
# Later than every transaction.
_LATEST_US: Final = 2**62


def is_entity_id(text: str) -> bool:
    """Return whether a text is the id of an entity, whole or its beginning, and so no name.

    Example:
        >>> is_entity_id("ent_0123abcd"), is_entity_id("Ada Lovelace")
        (True, False)
    """
    return _ID.fullmatch(text) is not None


def entity_id(
    session: Session, space: str, given: str, field: str = "id", *, expired: bool = False
) -> str:
    """The id of the entity that is meant; an id, or the beginning of one, is returned as it is.

    Args:
        expired: whether a name that no unexpired entity has may be that of an expired one.

    Raises:
        ValidationError: neither an id nor a name, or the name of several entities.
        NotFoundError: nobody has this name.
    """
    text = given.strip()
    if is_entity_id(text):
        return text
    if _OTHER_ID.fullmatch(text):
        raise ValidationError(field, text, "the id (ent_…) or the name of an entity")
    return session.keeper.run(
        lambda view, core: id_of_entity(view, core, space, text, field, expired=expired)
    )


def id_of_entity(
    view: LedgerView, core: Any, space: str, name: str, field: str, *, expired: bool = False
) -> str:
    """The full id of the only entity with this name. For a callback of the keeper's `run`.

    Raises:
        ValidationError, NotFoundError: as `entity_id`.
    """
    ids = ids_with_name(view, core, space, name, _LATEST_US)
    if not ids and expired:
        ids = ids_with_name(view, core, space, name, None)
    found = only_entity(view, space, ids, field, name)
    if found is None:
        raise NotFoundError("Entity", name)
    return found.id


def ids_with_name(
    view: LedgerView, core: Any, space: str, name: str, known_at_us: int | None
) -> list[str]:
    """Ids of the entities with this name or alias that were unexpired at K, or all, ascending. A
    name without a visible character is nobody's."""
    try:
        key = norm_name(name)
    except ValidationError:
        return []
    raw = core.entities_with_name(view.seq, space, key, known_at_us)
    return [id_text("ent", one) for one in split_ids(raw)]


def only_entity(
    view: LedgerView, space: str, ids: Sequence[str], field: str, name: str
) -> Entity | None:
    """The only entity that these ids stand for, merged ones for what they were merged into; None
    when there is none. A name of unknown type may be that of the only typed one beside it.

    Raises:
        ValidationError: there are several: names up to five by id, type and name.
    """
    meant = nodes.following_merges(view, space, ids).values()
    found = list({one.id: one for one in meant if one is not None}.values())
    typed = [one for one in found if one.entity_type != UNTYPED]
    if len(typed) == 1:
        return typed[0]
    if len(found) > 1:
        raise ValidationError(
            field, name, "an id, for several entities have this name", nodes.candidates(found)
        )
    return found[0] if found else None
