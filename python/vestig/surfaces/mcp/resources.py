"""Memories as resources of the protocol: addresses, titles, texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

import msgspec

from vestig.errors import ValidationError
from vestig.language.text_forms import one_line
from vestig.printed import clean
from vestig.types import Memory

if TYPE_CHECKING:
    from vestig.surfaces.mcp.answers import OpenStore

_TITLE_CHARS: Final = 100
_LISTED_MAX: Final = 50


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as a list of resources, or of results, names it."""

    id: str
    title: str
    url: str


def memory_url(namespace: str, id: str) -> str:
    """The address of a memory as a resource.

    Example:
        >>> memory_url("default", "mem_0123abcd")
        'vestig://default/memory/mem_0123abcd'
    """
    return f"vestig://{quote(namespace, safe='')}/memory/{id}"


def title_of(memory: Memory) -> str:
    """The title of a memory, or the beginning of its text, on one line."""
    text = memory.content if memory.title is None else memory.title
    return clean(one_line(text, _TITLE_CHARS))


def listed_as(memory: Memory) -> Listed:
    """A memory as lists name it."""
    return Listed(id=memory.id, title=title_of(memory), url=memory_url(memory.namespace, memory.id))


def listed_memories(at: OpenStore) -> list[Listed]:
    """The newest memories, as resources."""
    return [listed_as(one) for one in at.store.list(at.where(None), limit=_LISTED_MAX)]


def resource_text(at: OpenStore, uri: str) -> str:
    """The text behind an address of this store, unaltered.

    Raises:
        ValidationError: no address of a memory in this namespace.
        NotFoundError: there is none.
    """
    start = memory_url(at.namespace, "")
    if not uri.startswith(start):
        raise ValidationError("uri", uri, memory_url(at.namespace, "ID"))
    return at.store.show(unquote(uri.removeprefix(start))).memory.content
