"""Who stands for a memory: over the tools a model speaks, and what it states takes the place of
what a user or a document states only in the user's name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from vestig.errors import NotFoundError, ValidationError
from vestig.types import MODEL_ROLES, Memory, Role

if TYPE_CHECKING:
    from vestig.surfaces.mcp.answers import OpenStore


def replaced_by(at: OpenStore, fields: Mapping[str, Any]) -> Iterator[Memory]:
    """The memories in whose place a text would come that is no user's: those that it names, and the
    one that has its key, beside which a model's statement stands. What is not there is refused by
    the commit."""
    named = fields.get("supersedes") or ()
    for id in (named,) if isinstance(named, str) else named:
        with suppress(NotFoundError, ValidationError):
            yield at.store.show(id).memory
    if "key" in fields and "role" not in fields:
        with suppress(NotFoundError, ValidationError):
            holder = at.store.get(fields["key"], scope=fields["scope"])
            if holder.content != fields["text"].strip():
                yield holder


def check_speaker(at: OpenStore, replaced: Iterable[Memory], role: Role | None) -> None:
    """Refuses a text in the place of what a user or a document states, if no user states it.

    Raises:
        ValidationError: names the role.
    """
    for memory in replaced:
        if whose := said_by_whom(memory, role):
            old = at.short((memory.id,))[memory.id]
            raise ValidationError(
                "role",
                role,
                "user, if the user said this",
                f"it would replace {old}, which {whose}. Keep what you infer yourself beside it:"
                " call remember with role assistant, and without supersedes",
            )


def said_by_whom(memory: Memory, role: Role | None) -> str:
    """Return who stands for a memory, in whose place a statement of this role does not come; "" if
    it may. What has no role is a document's or a note's, and may be replaced without one too."""
    if role == Role.USER or not memory.confirmed:
        return ""
    if memory.role is None:
        return "" if role is None else "a document or a note states"
    return "a user confirmed" if memory.role in MODEL_ROLES else f"a {memory.role.value} stated"


def check_stated(at: OpenStore, old: str, new: str) -> None:
    """Refuses to put what no user stands for in the place of what a user or a document states.

    Raises:
        ValidationError: names the new memory.
    """
    memory = at.store.show(new).memory
    role = Role.USER if memory.role and memory.confirmed else memory.role
    whose = said_by_whom(at.store.show(old).memory, role)
    if whose:
        instead = f"call confirm with id {new} first" if memory.role else "give text and role user"
        raise ValidationError(
            "new",
            f"{new} of {'no role' if memory.role is None else f'the role {memory.role}'}",
            "a memory that a user stated or confirmed",
            f"{old} is what {whose}; {instead}, if the user has said that it is so",
        )
