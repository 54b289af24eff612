"""A text that comes in, without what the store itself printed of its memories."""

from __future__ import annotations

from typing import Final

from vestig.commit.text import content_hash, normalise
from vestig.firewall import Memories, Stored, Unframed, may_hold_frames, unframed
from vestig.ids import id_text, is_full_id
from vestig.language.text_forms import single_spaced
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.types import Memory

_PREFIX: Final = "mem_"


def without_echoes(session: Session, namespace: str, text: str) -> Unframed:
    """A text without frames of memories of a namespace, and without the texts in them that are
    those of the memories."""
    if not session.config.settings.firewall.echo or not may_hold_frames(text):
        return Unframed(text, ())
    with session.ledger.read() as view:
        lookup = _Lookup(session, view, namespace)
        return unframed(text, Memories(by_id=lookup.by_id, by_text=lookup.by_text))


class _Lookup:
    def __init__(self, session: Session, view: LedgerView, namespace: str) -> None:
        self._hygiene = session.config.settings.hygiene
        self._view = view
        self._namespace = namespace

    def by_id(self, id: str) -> Stored | None:
        """The memory of an id, or of the only one that begins so."""
        full = id if id.startswith(_PREFIX) else _PREFIX + id
        if not is_full_id(full, "mem"):
            found = self._view.ids_with_prefix(self._namespace, full, 2)
            if len(found) != 1:
                return None
            full = found[0]
        return self._first([full])

    def by_text(self, text: str) -> Stored | None:
        """A memory with the normal form of a text."""
        hashed = content_hash(normalise(text, self._hygiene))
        ids = self._view.ids_with_hashes(self._namespace, [hashed])
        return self._first([id_text("mem", one) for one in ids[:1]])

    def _first(self, ids: list[str]) -> Stored | None:
        found = self._view.memories(self._namespace, ids) if ids else []
        return Stored(found[0].id, found[0].content, _speaker(found[0])) if found else None


def _speaker(memory: Memory) -> str:
    named = memory.author or (memory.role and memory.role.value)
    return single_spaced(named or (f"“{memory.title}”" if memory.title else ""))
