"""The names of a claim, found in the store: entities, and where its evidence is from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from vestig.errors import NotFoundError
from vestig.session.entity_names import entity_id
from vestig.session.nodes import entity
from vestig.store.records.reads import LedgerView
from vestig.types import Claim

if TYPE_CHECKING:
    from vestig.session.session import Session

_ENTITIES: Final = ("subject_id", "object_id")


def named_claim(session: Session, space: str, claim: Claim) -> Claim:
    """The claim with entities that were named by name or alias by their ids.

    Raises:
        ValidationError, NotFoundError: as `entity_id`.
    """
    found = {
        field: entity_id(session, space, getattr(claim, field), f"claim.{field}")
        for field in _ENTITIES
        if getattr(claim, field) is not None
    }
    return msgspec.structs.replace(claim, **found) if found else claim


def stored_claim(view: LedgerView, space: str, claim: Claim) -> Claim:
    """The claim with full ids of entities in use, all of it in this state of the store.

    Raises:
        NotFoundError: an entity, source or memory that the namespace does not hold.
    """
    for one in claim.evidence:
        if one.source_id is not None and not view.holds(space, one.source_id):
            kind = "Memory" if one.source_id.startswith("mem_") else "Source"
            raise NotFoundError(kind, one.source_id)
    found = {
        field: entity(view, space, getattr(claim, field), f"claim.{field}").id
        for field in _ENTITIES
        if getattr(claim, field) is not None
    }
    return msgspec.structs.replace(claim, **found) if found else claim
